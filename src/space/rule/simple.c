// simple.c - every other stage: its axes in order, the last one split into (outer, lanes), the one
// before it into (outer, rows), reductions between; outputs at the root, others where their
// location knob says (Ansor's compute location; beyond it, padding and arithmetic prologues of a
// tiled stage: inline, at any of its outer loops, or at the root).
#include "space/rule.h"

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  bool is_output = seer_plan_is_output(plan, stage);
  seer_plan *next = seer_plan_next(context, plan, stage, "simple");
  seer_plan_stage *s = &next->stage[stage];
  s->is_decided = true;
  s->role = SEER_ROLE_SIMPLE;
  s->place =
      is_output || seer_plan_readers(plan, stage, NULL) == 0 ? SEER_PLAN_ROOT : SEER_PLAN_FREE;
  s->may_inline = s->place == SEER_PLAN_FREE && plan->dag->stage[stage].n_reduce == 0;
  seer_plan_push(context, next);
  return SEER_RULE_STOP;
}

extern const seer_rule seer_rule_simple;
const seer_rule seer_rule_simple = {
    "simple", "axes in order, last one in lanes; a location knob unless output", true, apply};
