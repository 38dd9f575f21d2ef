// tile.c - multi-level tiling (sketch/levels.c) of a stage at the root ("tile"; Ansor:
// MultiLevelTiling), and with the elementwise reader fused ("fuse"; MultiLevelTilingWithFusion).
// There the reader becomes FOLLOW: it takes over the outer levels, and the
// tiled stage is computed inside them (the level tables: sketch/levels.c). On CPUs:
//   2 levels  reader  S0.. S1.. | T0.. T1..      tiled stage inside S1:  R0.. S2.. R1.. S3..
//   1 level   reader  S0..      | T0.. T1..      tiled stage inside S0:  S1.. R0.. S2.. R1.. S3..
// T is the region of one visit. With S2 = 1 the whole tile stays in registers from one stage to the
// other. On GPUs S0 is the grid:
//   1 level   reader  S0..      | T..            tiled stage inside S0:  R0.. S2.. R1.. R2.. S1.. S3.. S4..
#include "space/rule.h"

static void push(const seer_rule_context *context, const seer_plan *plan, uint32_t stage,
    uint32_t reader, uint8_t level) {
  seer_plan *next = seer_plan_next(context, plan, stage, level == 2 ? "fuse@2" : "fuse@1");
  next->rank += level == 2 || seer_plan_is_gpu(context) ? 0 : 1;
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
  const seer_levels *levels = seer_levels_of(context->target->kind);
  for (uint32_t k = 0; k < levels->n_follow; k++)
    push(context, plan, stage, (uint32_t)reader, levels->follow[k].n_outer);
  // A stage that cache-write gave its reader for this is not tiled without it: the copy would serve
  // nothing. Nor is any on a GPU, where its tile is to be in registers.
  bool is_all = plan->stage[stage].is_rewritten || seer_plan_is_gpu(context);
  return is_all ? SEER_RULE_STOP : SEER_RULE_GO_ON;
}

extern const seer_rule seer_rule_fuse;
const seer_rule seer_rule_fuse = {"fuse",
    "multi-level tiling inside the elementwise reader's loops, two levels", true, SEER_RULE_ALL,
    apply};

static seer_rule_answer apply_alone(
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
const seer_rule seer_rule_tile = {
    "tile", "multi-level tiling SSRSRS", true, SEER_RULE_CPU, apply_alone};
