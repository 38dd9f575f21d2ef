// const.c - a stage that depends on weights only is evaluated when compiling and read like a packed
// weight.
#include "space/rule.h"

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  if (!plan->dag->stage[stage].is_const || seer_plan_is_output(plan, stage)) return SEER_RULE_SKIP;
  seer_plan *next = seer_plan_next(context, plan, stage, NULL);
  next->stage[stage].is_decided = true;
  next->stage[stage].role = SEER_ROLE_CONST;
  seer_plan_push(context, next);
  return SEER_RULE_STOP;
}

extern const seer_rule seer_rule_const;
const seer_rule seer_rule_const = {
    "const", "weights-only stages are computed at compile time", true, SEER_RULE_ALL, apply};
