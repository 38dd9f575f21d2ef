// const_index.c - the small matrix products of a transform (Winograd's: stage roles transform_in,
// transform_out) are unrolled whole: their matrices are expressions of the index axes, which become
// constants, zeros vanish and ones cost no multiplication (Ansor: SimplifyConstTensor). The other
// axes as in simple.c.
#include "space/rule.h"

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  const seer_dag_stage *s = &plan->dag->stage[stage];
  bool is_transform = s->role == SEER_STAGE_TRANSFORM_IN || s->role == SEER_STAGE_TRANSFORM_OUT;
  if (!is_transform || s->n_reduce == 0 || seer_plan_reduce(plan, stage) > SEER_PLAN_SMALL)
    return SEER_RULE_SKIP;
  seer_plan *next = seer_plan_next(context, plan, stage, "constindex");
  seer_plan_stage *p = &next->stage[stage];
  p->is_decided = true;
  p->role = SEER_ROLE_SIMPLE;
  p->unrolls_small = true;
  p->place = seer_plan_is_output(plan, stage) || plan->dag->access->readers[stage] == 0
      ? SEER_PLAN_ROOT
      : SEER_PLAN_FREE;
  seer_plan_push(context, next);
  return SEER_RULE_STOP;
}

extern const seer_rule seer_rule_const_index;
const seer_rule seer_rule_const_index = {
    "constindex", "transforms by small constant matrices are unrolled", true, apply};
