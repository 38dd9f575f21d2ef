// variant.c - the DAGs of a plan whose reductions are in two: one for each choice of lengths. They
// differ in the stages of the splits alone, which are made anew from what the reductions were.
#include "space/sketch/split.h"

uint32_t seer_plan_split_lengths(const seer_plan_split *split, const uint16_t **out_length) {
  *out_length = split->length;
  return split->n_length;
}

const seer_dag *seer_plan_variant(
    const seer_rule_context *context, const seer_plan *plan, const uint16_t *value) {
  seer_arena *scratch = seer_arena_create("variant");
  seer_dag *dag = seer_dag_clone(plan->dag, scratch);
  for (uint32_t k = 0; k < plan->n_split; k++) {
    const seer_plan_split *split = plan->split[k];
    int64_t length = split->length[value[k]];
    if (split->part == SEER_PART_BLOCKS)
      seer_split_fill_blocks(plan, dag, split, plan->split_stage[k], length);
    else
      seer_split_fill(dag, split, plan->split_stage[k], length);
  }
  seer_dag_finish(dag);
  const seer_dag *sealed = seer_dag_seal(dag, context->arena);
  seer_arena_destroy(scratch);
  return sealed;
}
