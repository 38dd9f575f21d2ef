// fuse.c - multi-level tiling with the elementwise reader fused (Ansor:
// MultiLevelTilingWithFusion). The reader becomes FOLLOW: it takes over the outer levels, and the
// tiled stage is computed inside them, at level 1 or 2:
//   level 2   reader  S0.. S1.. | T0.. T1..      tiled stage inside S1:  R0.. S2.. R1.. S3..
//   level 1   reader  S0..      | T0.. T1..      tiled stage inside S0:  S1.. R0.. S2.. R1.. S3..
// T is the region of one visit. With S2 = 1 the whole tile stays in registers from one stage to the
// other.
#include "space/rule.h"

static void push(const seer_rule_context *context, const seer_plan *plan, uint32_t stage,
    uint32_t reader, uint8_t level) {
  seer_plan *next = seer_plan_next(context, plan, stage, level == 2 ? "fuse@2" : "fuse@1");
  next->rank += level == 2 ? 0 : 1;
  seer_plan_stage *tiled = &next->stage[stage], *follow = &next->stage[reader];
  tiled->is_decided = true;
  tiled->role = SEER_ROLE_TILED;
  tiled->place = SEER_PLAN_FUSED;
  tiled->partner = (uint8_t)reader;
  tiled->fuse_level = level;
  follow->role = SEER_ROLE_FOLLOW;
  follow->partner = (uint8_t)stage;
  if (follow->place == SEER_PLAN_FREE) follow->place = SEER_PLAN_ROOT;
  seer_plan_push(context, next);
}

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  if (!seer_plan_needs_tiling(plan, stage)) return SEER_RULE_SKIP;
  int reader = seer_plan_fusable_reader(plan, stage);
  if (reader < 0) return SEER_RULE_SKIP;
  push(context, plan, stage, (uint32_t)reader, 2);
  push(context, plan, stage, (uint32_t)reader, 1);
  // A stage that cache-write gave its reader for this is not tiled without it: the copy would serve
  // nothing.
  return plan->stage[stage].is_rewritten ? SEER_RULE_STOP : SEER_RULE_GO_ON;
}

extern const seer_rule seer_rule_fuse;
const seer_rule seer_rule_fuse = {
    "fuse", "multi-level tiling inside the elementwise reader's loops, two levels", true, apply};
