// choose.h - which schedule each task is compiled with, without measuring anything.
//   -O0  untiled code, for checking
//   -O1  of at most --untuned-drafts, of the formulations that need no trials, the one that the analytic
//        model likes best, or, where there are cost models of other networks, that they do of those
//        that it likes best (untuned.h): zero trials
//   -O2  the winner of exactly this task on this target (record.h), else -O1
//   -O3  and, where there is none and the task was not measured on this target (else its tuning has
//        ended with the untuned one): what was heard of this task and target from elsewhere, records
//        of machines with the same features and threads, and those of the nearest shapes, in this
//        order the first that is taken: what a similar machine's records have measured themselves
//        always, all else where the analytic model likes it no less than -O1's choice
// Then tasks that read the same weights are brought to one packed form of them (share.h), at every
// level but 0: what a tuning has measured of that form, else what the analytic model likes best.
// Records that are not sound (record/sound.h) are passed over.
//
// Threads: any, but for the records, which are one thread's. Errors: those of the records and of
// making sketches; nothing is chosen then.
#ifndef SEER_CHOOSE_CHOOSE_H
#define SEER_CHOOSE_CHOOSE_H

#include "choose/plain.h"
#include "record/record.h"

typedef struct {
  // Tasks by the source of their schedule; n_sibling: all that -O3 adds.
  uint32_t n_record, n_sibling, n_untuned;
  uint32_t n_apart;  // tasks for whose sake weights are stored once more (share.h)
} seer_choose_counts;

typedef struct {
  double seconds;  // by the analytic model
  uint64_t packed_bytes;  // of its packed weights
} seer_estimate;

// `records` may be NULL (level 2 and 3 are then as 1). choice[task id], in `arena`. With
// --random-schedules each is drawn at random, whatever the level above 0.
SEER_MUST_USE seer_status seer_choose(const seer_context *context, const seer_network *network,
    seer_records *records, int64_t opt_level, seer_arena *arena, seer_choice **out_choices,
    seer_choose_counts *out_counts);
// The same with the records and the level that the options name, and by the speeds of those records
// (record/speeds.h). NOT_FOUND with --strict if a task has no accepted record.
SEER_MUST_USE seer_status seer_choose_by_options(seer_context *context, const seer_network *network,
    seer_arena *arena, seer_choice **out_choices, seer_choose_counts *out_counts);
// Bytes that `max_weights` (the option: a multiple of its weights in the model) leaves a task's
// packed weights, small ones rounded up to whole pages.
uint64_t seer_choose_max_packed_bytes(double max_weights, const seer_dag *dag);
// What can be said of a schedule without building it.
seer_estimate seer_choose_estimate(
    const seer_target *target, const seer_sketch_list *sketches, const seer_schedule *schedule);
// The choice for one task without trials, records, cost models of other networks or a limit on
// packed weights, on n_threads (0: as many as this process may use): -O1's with --no-pretrained,
// where that is within --max-weights.
SEER_MUST_USE seer_status seer_choose_untuned(const seer_target *target,
    const seer_sketch_list *sketches, uint32_t task, uint64_t seed, uint32_t n_threads,
    seer_schedule *out_schedule, double *out_seconds);

#endif
