// crossthread.c - on a GPU, a reduction with few results: the items of a block share the sum of one
// (Ansor: CrossThreadReduction). Each adds up every so many-th element, and what they come to is
// added up in their memory by a tree (lower/tree.c). An elementwise reader is computed there, too.
#include "space/rule.h"

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  const seer_dag_stage *s = &plan->dag->stage[stage];
  bool is_plain = s->combiner == SEER_COMBINE_SUM || s->combiner == SEER_COMBINE_PROD ||
      s->combiner == SEER_COMBINE_MAX || s->combiner == SEER_COMBINE_MIN;
  // Not what cache-write made, nor what reads fetches, nor parts: that is a tile.
  const seer_plan_stage *p = &plan->stage[stage];
  bool is_tile = p->is_rewritten || p->is_read_cached || p->part != SEER_PART_NONE;
  if (!is_plain || s->n_values != 1 || is_tile) return SEER_RULE_SKIP;
  const seer_target_gpu *gpu = &context->target->gpu;
  int64_t space = seer_plan_space(plan, stage), reduce = seer_plan_reduce(plan, stage);
  bool applies = seer_plan_needs_tiling(plan, stage)
      ? space <= gpu->max_block_items && space < reduce
      : reduce > gpu->warp_items;
  if (!applies) return SEER_RULE_SKIP;
  seer_plan *next = seer_plan_simple(context, plan, stage, "crossthread");
  int reader = seer_plan_fusable_reader(plan, stage);
  next->stage[reader >= 0 ? (uint32_t)reader : stage].is_tree = true;
  if (reader >= 0) {
    seer_plan_stage *shared = &next->stage[stage];
    shared->role = SEER_ROLE_SHARED;
    shared->may_inline = false;
    shared->partner = (uint8_t)reader;
    next->stage[reader].partner = (uint8_t)stage;
  }
  next->rank -= 1;
  seer_plan_push(context, next);
  return SEER_RULE_GO_ON;
}

extern const seer_rule seer_rule_crossthread;
const seer_rule seer_rule_crossthread = {
    "crossthread", "the items of a block share the sum of one result", true, SEER_RULE_GPU, apply};
