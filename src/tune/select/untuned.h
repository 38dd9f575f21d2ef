// untuned.h - the choices without trials of a network's tasks: what compile -O1 ships, and what a
// tuning starts from and holds its winners against.
//
// A choice is right by construction, not by a check: no code of it was run before it ships. Its
// sketches may be of formulations that add an error, within what the list allows
// (seer_sketch_keep_within); what checks compare with is not this choice, but the default schedule
// of the first sketch, which is exact always (measure.h).
//
// Threads: any; tasks are worked on by several. Errors: those of untuned searches; then none of the
// choices counts.
#ifndef SEER_TUNE_SELECT_UNTUNED_H
#define SEER_TUNE_SELECT_UNTUNED_H

#include "tune/search/untuned.h"

// A task whose choice is asked for.
typedef struct {
  uint32_t task;  // id
  const seer_sketch_list *sketches;
  uint64_t max_packed_bytes;  // as for seer_untuned_find
  seer_schedule schedule;  // out
  double seconds;  // out: by the analytic model
} seer_untuned_task;

//   n_threads  0: as many as this process may use; the choices do not depend on it
SEER_MUST_USE seer_status seer_untuned_choose(const seer_target *target, uint64_t seed,
    uint32_t n_threads, seer_untuned_task *tasks, uint32_t n);

#endif
