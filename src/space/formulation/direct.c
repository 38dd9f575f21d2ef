// direct.c - the task's DAG as the operators wrote it.
#include "space/formulation.h"

static const seer_dag *make(
    const seer_dag *dag, const seer_target *target, seer_arena *arena, double *out_tolerance) {
  (void)target;
  (void)arena;
  *out_tolerance = 0;
  return dag;
}

static bool is_always(const seer_dag *dag) {
  (void)dag;
  return true;
}

extern const seer_formulation seer_formulation_direct;
const seer_formulation seer_formulation_direct = {.name = "direct",
    .doc = "the DAG as it is",
    .make = make,
    .is_ansor = is_always,
    .is_for_gpus = true};
