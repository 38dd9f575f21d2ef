// const_index.c - the small matrix products of a transform (Winograd's: stage roles transform_in,
// transform_out) are unrolled whole: their matrices are expressions of the index axes, which become
// constants, zeros vanish and ones cost no multiplication (Ansor: SimplifyConstTensor). The other
// axes as in simple.c.
#include "space/rule.h"

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  if (!seer_plan_is_transform(plan, stage) || plan->dag->stage[stage].n_reduce == 0 ||
      seer_plan_reduce(plan, stage) > SEER_PLAN_SMALL)
    return SEER_RULE_SKIP;
  seer_plan_unroll_transform(context, plan, stage, "constindex");
  return SEER_RULE_STOP;
}

extern const seer_rule seer_rule_const_index;
const seer_rule seer_rule_const_index = {
    "constindex", "transforms by small constant matrices are unrolled", true, SEER_RULE_CPU, apply};
