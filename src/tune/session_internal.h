// session_internal.h - a session's inside, shared by session.c, round.c and the two accept files
// only.
//
// Memory: what has no other owner is in the session's arena, or in `round`, which each round
// empties.
#ifndef SEER_TUNE_SESSION_INTERNAL_H
#define SEER_TUNE_SESSION_INTERNAL_H

#include <signal.h>

#include "base/recover.h"
#include "tune/session.h"

#define SEER_SESSION_MAX_ROUND 1024  // as --round-size has it

typedef struct {
  seer_sketch_list *sketches;
  seer_search *search;
  seer_schedule untuned;  // what ships if nothing beats it
  double carried_s;  // the best, when it was last carried to relatives; 0: never
  int64_t workload;
  size_t cap_history, cap_best_after;
  double *best_after;  // the state's
  bool is_tuned;  // selected by the user
  // The winner of the records, while it has not lost its place (accept.h).
  bool has_holder, is_holder_trusted;  // trusted: its pairs are another machine's
  seer_schedule holder;
  seer_measure_ab holder_ab;
  bool is_accepted, is_judged;
  seer_schedule winner;
  seer_measure_ab winner_ab;  // n_pairs 0: not against the untuned one
} seer_session_task;

struct seer_session {
  seer_recover_owned owned;  // while it is made
  seer_context *context;
  const seer_network *network;
  const seer_target *target;
  seer_records *records;  // NULL: nothing is stored, or not any more
  seer_arena *arena, *round;
  const seer_scheduler_desc *policy;
  seer_families families;  // whose tasks are relatives
  seer_families models;  // whose tasks share a cost model: those, or one of all
  seer_guest_luck *luck;  // by family
  seer_space_kind space;
  seer_budget budget;
  seer_session_task *task;
  seer_schedule_state state;
  seer_bank *bank;
  const char *loaded_note;  // what --load-model brought; NULL: nothing was loaded
  uint32_t model_to_train;  // of the last round's task
  const seer_measure_desc *measure;
  const char *measure_argument;
  double delay_s;  // that a measurement takes at least
  seer_measurer *measurer;
  int64_t target_id, session_id;
  // end_ns: 0 while it runs; drift_ns: when the drift was measured last
  uint64_t start_ns, end_ns, drift_ns;
  double drift_wait_s;  // until it is measured again
  // that count as gone by and were not waited for (seer_measure_desc.is_instant)
  double reckoned_s;
  double reference_s, drift;
  uint32_t trials_of_best;
  volatile sig_atomic_t is_stopped;
  seer_status fault;  // the first one that was survived
  bool is_device_lost, is_judged;
  seer_session_totals totals;
  size_t n_listener;
  struct {
    seer_listener call;
    void *user;
  } listener[8];
};

// A schedule that took turns with others, and how it did.
typedef struct {
  seer_schedule schedule;
  seer_measure_ab ab;
} seer_contender;
int seer_contender_by_speedup(const void *a, const void *b);  // for qsort: best first
// What is stored of one that took turns with `baseline`. Texts in session->round.
seer_record seer_contender_record(const seer_session *session, uint32_t task,
    const seer_contender *contender, const seer_schedule *baseline);

// How a session writes records (seer_records_write); without records nothing is done. After an
// error the session has no records any more.
SEER_MUST_USE seer_status seer_session_write(
    seer_session *session, seer_records_writer write, void *user);

// One round of pick->task (pick->n is cut to what the budget leaves).
SEER_MUST_USE seer_status seer_session_round(seer_session *session, seer_pick *pick);
// seconds 0: failed; is_full: neither raced out nor a twin, so it may be the task's best.
SEER_MUST_USE seer_status seer_session_learn(seer_session *session, uint32_t task,
    const seer_schedule *schedule, double seconds, bool is_full);
// A schedule waits to be measured before anything else, or as a guest of proposals (search.h),
// unless the analytic model thinks it hopeless.
void seer_session_queue(
    seer_session *session, uint32_t task, const seer_schedule *schedule, seer_origin origin);
// Are carried-over schedules guests (search/strategy.h)? Else they are measured first.
static inline bool seer_session_has_guests(const seer_session *s) {
  return s->policy->traits->search->n_guests > 0;
}
void seer_session_invite(
    seer_session *session, uint32_t task, const seer_schedule *schedule, seer_origin origin);
// The task's best, as its search knows it now, into the state that the scheduler sees.
void seer_session_refresh_best(seer_session *session, uint32_t task);
void seer_session_update_estimate(seer_session *session);
// The task's state after a round, into its history.
void seer_session_remember(seer_session *session, uint32_t task);
// Takes `status` (SEER_OK: nothing). What was found is worth more than a clean end: the search
// ends, but the session goes on to its end without what failed: without workers where they are lost
// (DEVICE), without the records where those could not be written (seer_session_write), which hold
// what was announced.
void seer_session_survive(seer_session *session, seer_status status);
// What the end of a session is planned to take: holding winners against untuned ones.
double seer_session_acceptance_s(const seer_session *session);
// What finals of what was measured so far take, with the contenders that each task usually has and
// with the least (finals.h).
void seer_session_finals_s(const seer_session *session, double *out_usual_s, double *out_least_s);
void seer_session_emit(seer_session *session, seer_event *event);
void seer_session_note(seer_session *session, const char *text);

#endif
