// estimate.c - a schedule -> what can be said of it without building it. The contract: choose.h.
#include "choose/choose.h"
#include "learn/feature.h"
#include "space/nest.h"

#define SMALL_BYTES 65536

uint64_t seer_choose_max_packed_bytes(double max_weights, const seer_dag *dag) {
  return (uint64_t)(max_weights * seer_dag_weight_bytes(dag)) + SMALL_BYTES;
}

seer_estimate seer_choose_estimate(
    const seer_target *target, const seer_sketch_list *sketches, const seer_schedule *schedule) {
  seer_arena *arena = seer_arena_create("estimate");
  const seer_nest *nest = seer_summarise(seer_summariser_create(sketches, arena), schedule);
  seer_estimate estimate = {seer_analytic_seconds(nest, target), nest->packed_bytes};
  seer_arena_destroy(arena);
  return estimate;
}
