// transform.c - a transform that is written out as sums (formulation/winograd.c), chosen by its
// index axes: these loops are unrolled whole, so that the choices fold and equal parts of
// neighbouring elements are computed once; its last axis in lanes, or dealt out to a GPU's items,
// with the others. It is never computed inside its reader's inner loops: there it would be
// repeated.
#include "space/rule.h"

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  if (!seer_plan_is_transform(plan, stage) || plan->dag->stage[stage].n_reduce > 0)
    return SEER_RULE_SKIP;
  seer_plan_unroll_transform(context, plan, stage, "transform");
  return SEER_RULE_STOP;
}

extern const seer_rule seer_rule_transform;
const seer_rule seer_rule_transform = {
    "transform", "transforms that choose among sums are unrolled", true, SEER_RULE_ALL, apply};
