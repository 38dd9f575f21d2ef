// tile.c - multi-level tiling SSRSRS of a stage at the root (Ansor: MultiLevelTiling).
#include "space/rule.h"

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  if (!seer_plan_needs_tiling(plan, stage)) return SEER_RULE_SKIP;
  seer_plan *next = seer_plan_next(context, plan, stage, "tile");
  next->rank += seer_plan_fusable_reader(plan, stage) >= 0 ? 2 : 0;
  next->stage[stage].is_decided = true;
  next->stage[stage].role = SEER_ROLE_TILED;
  next->stage[stage].place = SEER_PLAN_ROOT;
  seer_plan_push(context, next);
  return SEER_RULE_STOP;
}

extern const seer_rule seer_rule_tile;
const seer_rule seer_rule_tile = {"tile", "multi-level tiling SSRSRS", true, apply};
