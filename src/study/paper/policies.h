// policies.h - tunings on a table as the paper's studies look at them: the latency after each
// trial, the trials until one is reached, and what every task got.
//
// Latency is the sum over tasks of count times the true time of the best so far. A policy that
// begins with the untuned choice (seer_policy_traits.tries_untuned) has that from the beginning;
// any other one, as published, has no latency until each task has been measured.
//
// Results in `arena`. Threads: one call at a time for each context. Errors: of tunings.
#ifndef SEER_STUDY_PAPER_POLICIES_H
#define SEER_STUDY_PAPER_POLICIES_H

#include "study/tuning.h"

typedef struct {
  uint32_t trial;
  double measuring_s;  // of all trials up to it
  double latency_s;  // INFINITY: none yet
} seer_latency_point;

typedef struct {
  const char *name;
  const seer_times_task *of;
  double count, untuned_s, best_s, known_s;  // best_s 0: it was not measured
  uint32_t n_trial;
} seer_run_task;

typedef struct {
  uint32_t n_task, n_trial, n_point;
  size_t cap_point;
  seer_run_task *task;
  seer_latency_point *point;  // where the latency has fallen, from trial 0 on
  uint32_t warm_trial;  // at the end of the round after which each task had a time
  uint32_t first_trial;  // at the end of the first round: nothing is known sooner
  double latency_s, known_s;  // in the end; of the table's best
  double seconds;  // wall time
} seer_run;

// One tuning. context, options: as for seer_tuning_create.
SEER_MUST_USE seer_status seer_run_measure(
    seer_context *context, const seer_tuning_options *options, seer_arena *arena, seer_run *out);

// The trials after which a run is at or below a latency, UINT32_MAX: never. For tests.
uint32_t seer_run_reaches(const seer_run *run, double latency_s);
double seer_run_latency_after(const seer_run *run, uint32_t n_trial);  // INFINITY: none yet

// How many times sooner than `reference` a run is where that one's own result is reached to a
// share (0.8: at or below its last latency / 0.8), in trials.
typedef struct {
  uint32_t reference, own;  // trials, as they are counted; own UINT32_MAX: never
  double speedup;  // never: as if with the last trial, so that it is at most that; NAN: no result
} seer_sooner;
// Counted are trials from the start, at least a first round. from_warm: those behind the warm-up,
// each run's own, at least as many as its first round has.
seer_sooner seer_run_sooner(
    const seer_run *run, const seer_run *reference, double share, bool from_warm);

#endif
