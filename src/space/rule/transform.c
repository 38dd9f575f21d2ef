// transform.c - a transform that is written out as sums (formulation/winograd.c), chosen by its
// index axes: these loops are unrolled whole, so that the choices fold and equal parts of
// neighbouring elements are computed once; its last axis in lanes. It is never computed inside its
// reader's inner loops: there it would be repeated.
#include "space/rule.h"

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  const seer_dag_stage *s = &plan->dag->stage[stage];
  bool is_transform = s->role == SEER_STAGE_TRANSFORM_IN || s->role == SEER_STAGE_TRANSFORM_OUT;
  if (!is_transform || s->n_reduce > 0) return SEER_RULE_SKIP;
  seer_plan *next = seer_plan_next(context, plan, stage, "transform");
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

extern const seer_rule seer_rule_transform;
const seer_rule seer_rule_transform = {
    "transform", "transforms that choose among sums are unrolled", true, apply};
