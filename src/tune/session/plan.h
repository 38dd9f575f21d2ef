// plan.h - what the end of a session takes: which tasks have finals, and the time that is kept for
// these. One thread, the session's.
#ifndef SEER_TUNE_SESSION_PLAN_H
#define SEER_TUNE_SESSION_PLAN_H

#include "tune/finals.h"
#include "tune/session.h"

// Tasks that have finals, heaviest first, and what their finals are planned with.
typedef struct {
  uint32_t n, *task;  // [n]
  seer_finals_entry *entry;  // [n]
  double build_s;  // of one kernel, as the builders get on together
} seer_finals_list;
// In `arena`.
seer_finals_list seer_session_list_finals(const seer_session *session, seer_arena *arena);

// What the end of a session is planned to take: holding winners against untuned ones.
double seer_session_acceptance_s(const seer_session *session);

#endif
