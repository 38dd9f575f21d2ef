// cache_write.c - a tiled stage without an elementwise reader gets one: it computes into a cache,
// and a copy stage writes it out (Ansor: AddCacheWrite). The copy is then fused (tile.c): the tile
// is local while it is accumulated.
#include "space/rule.h"

// What a transform reads is addressed by its index axes: a copy of it would serve nothing. On a GPU
// it takes the tile out of registers.
static bool feeds_transform(const seer_plan *plan, uint32_t stage) {
  for (uint32_t c = stage + 1; c < plan->dag->n_stage; c++) {
    bool reads = plan->dag->access->readers[stage] >> c & 1;
    if (reads && plan->dag->stage[c].role == SEER_STAGE_TRANSFORM_OUT) return true;
  }
  return false;
}

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  bool applies = seer_plan_needs_tiling(plan, stage) && !plan->stage[stage].is_rewritten &&
      seer_plan_has_room(plan) && seer_plan_fusable_reader(plan, stage) < 0 &&
      (!feeds_transform(plan, stage) || seer_plan_is_gpu(context));
  if (!applies) return SEER_RULE_SKIP;
  seer_plan *next = seer_plan_next(context, plan, stage, "cachewrite");
  next->cursor = stage + 1;  // the computing stage is next
  next->rank += 1;
  bool is_output = seer_plan_is_output(plan, stage);
  seer_plan_cache_write(context, next, stage);
  seer_plan_stage *copy = &next->stage[stage + 1];
  copy->is_decided = true;
  copy->role = SEER_ROLE_SIMPLE;
  copy->place = is_output ? SEER_PLAN_ROOT : SEER_PLAN_FREE;
  seer_plan_push(context, next);
  return seer_plan_is_gpu(context) ? SEER_RULE_STOP : SEER_RULE_GO_ON;
}

extern const seer_rule seer_rule_cache_write;
const seer_rule seer_rule_cache_write = {"cachewrite",
    "a cache for a tiled stage without an elementwise reader", true, SEER_RULE_ALL, apply};
