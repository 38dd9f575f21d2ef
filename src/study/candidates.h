// candidates.h - which schedules of a task a table of times is to have: the untuned choice, every
// sketch's default, some drawn uniformly of all sketches, some that the analytic model likes of
// many, and what a search visits that learns from all times so far. Repeatable: the same seed and
// times give the same ones.
//
// Memory: owned, by create and destroy; the sketches are kept. Threads: one at a time. Errors:
// RESOURCE, and those of the models.
#ifndef SEER_STUDY_CANDIDATES_H
#define SEER_STUDY_CANDIDATES_H

#include "measure/times/times.h"

typedef struct {
  seer_schedule schedule;
  seer_time_origin origin;
} seer_candidate_choice;

typedef struct seer_candidates seer_candidates;
// `task`: for its key and DAG; borrowed. What it has already is told by seer_candidates_learn.
SEER_MUST_USE seer_status seer_candidates_create(seer_context *context,
    const seer_sketch_list *sketches, const seer_times_task *task, seer_arena *arena,
    seer_candidates **out);
void seer_candidates_destroy(seer_candidates *candidates);  // NULL: nothing
// What came of one, normalised: it is not chosen again. seconds 0: it has failed.
void seer_candidates_learn(
    seer_candidates *candidates, const seer_schedule *schedule, double seconds);
// The next ones to be timed, at most `room`, none that is known: of a task that shall have as many
// as it has now and `room` more. In parts: those of a search come in rounds, since it learns from
// each. *out_n 0: there are no more.
SEER_MUST_USE seer_status seer_candidates_next(seer_candidates *candidates,
    const seer_times_task *task, uint32_t room, seer_candidate_choice *out, uint32_t *out_n);

#endif
