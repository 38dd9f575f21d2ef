// simple.c - every other stage: its axes in order, the last one split into (outer, lanes), the one
// before it into (outer, rows), reductions between; outputs at the root, others where their
// location knob says (Ansor's compute location; beyond it, padding and arithmetic prologues of a
// tiled stage: inline, at any of its outer loops, or at the root).
// Of a result whose lanes go from row to row of what it loads, u may be the axis along those rows
// as well ("turn"), where that is not the one before v: squares are then loaded as vectors
// (code/access/square.c). Channels last to channels first: the axis before v is the image's other.
#include "space/rule.h"

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  seer_plan_push(context, seer_plan_simple(context, plan, stage, "simple"));
  return SEER_RULE_STOP;
}

// The axis that the rows of something lie along, by a load whose lanes (axis `last`) go from row to
// row; -1: there is none. Seen through what is made element by element, which is inlined.
static int rows_of(const seer_dag *dag, uint32_t stage, int last) {
  const seer_access_table *table = dag->access;
  int axis = -1;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1] && axis < 0; k++) {
    const seer_access *load = &table->load[k];
    if (load->maker != SEER_ACCESS_INPUT && dag->stage[load->maker].n_reduce == 0 &&
        seer_access_is_elementwise(dag, load->maker, stage)) {
      axis = rows_of(dag, load->maker, last);
      continue;
    }
    bool moves = false;
    for (uint32_t d = 0; d + 1 < load->rank; d++)
      moves |= seer_access_index(table, load, d)->axis == last;
    if (moves) axis = seer_access_index(table, load, load->rank - 1u)->axis;
  }
  return axis == last ? -1 : axis;
}

static seer_rule_answer apply_turn(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  const seer_dag_stage *s = &plan->dag->stage[stage];
  int moving[2] = {-1, -1};  // the last axes that have loops, the very last first
  for (int a = s->n_space; a-- > 0 && moving[1] < 0;) {
    if (s->axis[a].extent > 1) moving[moving[0] >= 0] = a;
  }
  if (s->n_reduce > 0 || moving[1] < 0 || seer_plan_is_transform(plan, stage) ||
      !seer_plan_is_output(plan, stage) || plan->stage[stage].has_block)
    return SEER_RULE_SKIP;
  int axis = rows_of(plan->dag, stage, moving[0]);
  if (axis < 0 || axis == moving[1]) return SEER_RULE_SKIP;
  seer_plan *next = seer_plan_simple(context, plan, stage, "turn");
  next->stage[stage].rows_axis = (uint8_t)(axis + 1);
  seer_plan_push(context, next);
  return SEER_RULE_GO_ON;
}

extern const seer_rule seer_rule_simple, seer_rule_turn;
const seer_rule seer_rule_simple = {"simple",
    "axes in order, last one in lanes; a location knob unless output", true, SEER_RULE_ALL, apply};
const seer_rule seer_rule_turn = {"turn",
    "as simple; the tile's rows go along those of what is loaded", false, SEER_RULE_CPU,
    apply_turn};
