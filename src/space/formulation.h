// formulation.h - several DAGs with the same result for one task; they compete inside it. A table,
// one file an entry.
// Entries are pure but for the arena: safe from any thread. What does not apply is no failure.
#ifndef SEER_SPACE_FORMULATION_H
#define SEER_SPACE_FORMULATION_H

#include "dag/dag.h"
#include "setup/target.h"

typedef struct {
  const char *name;
  const char *doc;
  // NULL if it does not apply. The result keeps the ids of the inputs and outputs of `dag`;
  // *out_tolerance is the relative error that it may add (0: as direct).
  const seer_dag *(*make)(
      const seer_dag *dag, const seer_target *target, seer_arena *arena, double *out_tolerance);
  // Whether it is in the space ansor too, for this DAG; NULL: never.
  bool (*is_ansor)(const seer_dag *dag);
  bool is_for_gpus;  // the rules of GPUs know its transforms
  // The analytic estimate does not tell when it is faster than the others: not without trials.
  bool needs_trials;
} seer_formulation;

extern const seer_formulation *const seer_formulation_table[];
extern const size_t seer_formulation_table_count;

#endif
