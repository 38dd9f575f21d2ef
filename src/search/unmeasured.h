// unmeasured.h - the choice without trials: of many drafts the one that the analytic estimate likes
// best, or, where there are learned models, of those that it likes best the one that they do.
// Batches of drafts are drawn from all sketches, more from those that promise more, and bred from
// the best so far: of each formulation, and of several sketches, so that one that is found early
// does not keep the others from being refined. It ends when nothing gets better any more.
//
// Formulations that need trials take no part. What other sketches there are is the caller's to say
// (seer_sketch_keep_within). Repeatable: the same
// options give the same choice, on any number of threads.
// Threads: any, each with options of its own; the bank is only read. Errors: RESOURCE, and those of
// the models.
#ifndef SEER_SEARCH_UNMEASURED_H
#define SEER_SEARCH_UNMEASURED_H

#include "learn/bank.h"
#include "search/counts.h"

typedef struct {
  const seer_sketch_list *sketches;  // borrowed, as all here
  const seer_target *target;
  uint32_t task;  // as the bank knows it; also a stream of random numbers
  uint64_t seed;
  uint32_t n_drafts;  // tries, beside the defaults of all sketches; 0: these alone
  uint32_t n_stale;  // tries in a row without a gain that end it; 0: all are made
  uint32_t n_threads;  // 0: as many as this process may use
  // Of packed weights; 0: any number. The default schedule of the first sketch may have as many as
  // it needs, and then so may others.
  uint64_t max_packed_bytes;
  const seer_bank *bank;  // trained for the task; NULL: the estimate alone
} seer_unmeasured_options;

typedef struct {
  seer_schedule schedule;
  double estimate_s;
  uint32_t n_drafts;  // tries that were made
  seer_search_counts counts;
} seer_unmeasured;

SEER_MUST_USE seer_status seer_unmeasured_find(
    const seer_unmeasured_options *options, seer_unmeasured *out);

#endif
