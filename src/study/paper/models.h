// models.h - cost models that are fitted on some of a table's schedules and asked about others:
// one for all tasks, one a family, one a task.
//
// Of each task of a network, by seed, some schedules that have a time are drawn to fit on, and at
// most 512 of the others are held out; no more than half are fitted on. Models are the published
// policies' (features and settings `ansor`): what they are worth as they were.
//
// Results in `arena`. Threads: one call at a time for each context. Errors: of the models.
#ifndef SEER_STUDY_PAPER_MODELS_H
#define SEER_STUDY_PAPER_MODELS_H

#include "measure/times/times.h"

#define SEER_ACCURACY_PEAK 16  // as many as are looked at for a peak

// Of one task's model, on the task's own schedules.
typedef struct {
  double held_out, seen;  // pairs in the right order (statistics.h)
  double peak;  // of what is held out
} seer_accuracy;

typedef struct {
  uint32_t n_task, n_grouping;
  const char **task_name;
  uint32_t *n_fitted, *n_held_out;  // by task
  uint32_t *n_family;  // by grouping (seer_family_table)
  uint32_t **family_of;  // [grouping][task]
  seer_accuracy **of;  // [grouping][task]
  // [fitted on][asked about], each task its own model: on what is held out
  double *cross;
  double seconds;
} seer_accuracies;

// context: of the table's target (seer_tuning_context). all_groupings false: only the two
// extremes and the default, the others have n_family 0.
SEER_MUST_USE seer_status seer_accuracies_measure(seer_context *context, const seer_times *times,
    const char *network, uint32_t n_samples, uint64_t seed, bool all_groupings, seer_arena *arena,
    seer_accuracies *out);

#endif
