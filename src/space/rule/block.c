// block.c - block fusion: a tiled stage that is not the result's own partner is computed block by
// block inside the outermost loops of the result, tiled inside the region that the block needs.
// Depthwise + pointwise, the chain of a Winograd convolution, attention. The block loops are the
// result's S0 loops where it is tiled itself at level 2; else they are added (skeleton.c). Whether
// the stage really stands there is a location knob (block, or root).
#include "space/rule.h"

static void place_in_block(seer_plan *plan, uint32_t stage, uint32_t result) {
  plan->stage[stage].place = SEER_PLAN_BLOCK;
  plan->stage[stage].block = (uint8_t)result;
  plan->stage[result].has_block = true;
}

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  if (!seer_plan_needs_tiling(plan, stage)) return SEER_RULE_SKIP;
  int result = seer_plan_result(plan, stage), reader = seer_plan_fusable_reader(plan, stage);
  if (result < 0 || result == reader) return SEER_RULE_SKIP;
  seer_plan *next = seer_plan_next(context, plan, stage, "block");
  next->rank += 2;
  seer_plan_stage *tiled = &next->stage[stage];
  tiled->is_decided = true;
  tiled->role = SEER_ROLE_TILED;
  if (reader >= 0) {
    tiled->place = SEER_PLAN_FUSED;
    tiled->partner = (uint8_t)reader;
    tiled->fuse_level = 2;
    next->stage[reader].role = SEER_ROLE_FOLLOW;
    next->stage[reader].partner = (uint8_t)stage;
    place_in_block(next, (uint32_t)reader, (uint32_t)result);
  } else {
    place_in_block(next, stage, (uint32_t)result);
  }
  seer_plan_push(context, next);
  return SEER_RULE_GO_ON;
}

extern const seer_rule seer_rule_block;
const seer_rule seer_rule_block = {"block",
    "tiled producers are computed inside blocks of the result", false, SEER_RULE_CPU, apply};
