// store.h - how a session writes its records: all at once or nothing, and after the first failure
// nothing any more. One thread, the session's.
#ifndef SEER_TUNE_SESSION_STORE_H
#define SEER_TUNE_SESSION_STORE_H

#include "tune/session/inside.h"

// By seer_records_write; while another process has the file, listeners hear of the wait. Without
// records nothing is done. After an error the session has no records any more: what has failed once
// to be written would be missing from what is written later.
SEER_MUST_USE seer_status seer_session_write(
    seer_session *session, seer_records_writer write, void *user);

// Does it begin as if the records had nothing of its tasks?
bool seer_session_starts_anew(const seer_session *session);

// A schedule that took turns with others, and how it did.
typedef struct {
  seer_schedule schedule;
  seer_measure_ab ab;
} seer_contender;
// What is stored of one that took turns with `baseline`. Texts in session->round.
seer_record seer_contender_record(const seer_session *session, uint32_t task,
    const seer_contender *contender, const seer_schedule *baseline);

#endif
