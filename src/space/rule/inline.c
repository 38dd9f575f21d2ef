// inline.c - stages that have no loops of their own.
// "const": a stage that depends on weights only is evaluated when compiling and read like a packed
// weight. "inline": cheap stages are substituted into their readers (Ansor: AlwaysInline). Beyond
// Ansor, a stage whose every element is used once by one reader is inlined whatever it computes:
// nothing is computed twice. Not inlined here: stages that a tiled stage would recompute per tile,
// and padding; they get a location knob (simple.c), where inline is one of the values. On GPUs all
// that can be is inlined (as Ansor does): into what fetches a tiled stage's operands, too
// (fetch.c).
#include "space/rule.h"

static bool feeds_tiled(const seer_plan *plan, uint64_t readers) {
  for (uint32_t c = 0; c < plan->dag->n_stage; c++) {
    if ((readers >> c & 1) && plan->stage[c].role == SEER_ROLE_TILED) return true;
  }
  return false;
}

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  const seer_dag_stage *s = &plan->dag->stage[stage];
  if (s->n_reduce > 0 || seer_plan_is_output(plan, stage)) return SEER_RULE_SKIP;
  bool is_elementwise;
  uint64_t readers = seer_plan_readers(plan, stage, &is_elementwise);
  bool is_gpu = seer_plan_is_gpu(context);
  if (readers == 0 || (s->role == SEER_STAGE_PAD && !is_gpu)) return SEER_RULE_SKIP;
  bool is_ansor = context->space == SEER_SPACE_ANSOR;
  bool is_strict = seer_dag_is_inlineable(plan->dag, stage);
  bool is_used_once =
      is_elementwise && (readers & (readers - 1)) == 0 && !seer_dag_needs_tiling(plan->dag, stage);
  // A transform's elements are computed together (transform.c), by its reader if that is no fetch.
  bool may_repeat = is_gpu && !seer_plan_is_transform(plan, stage);
  if (is_gpu && s->role == SEER_STAGE_TRANSFORM_IN) return SEER_RULE_SKIP;
  if (!is_strict && !may_repeat && (is_ansor || !is_used_once)) return SEER_RULE_SKIP;
  // A copy or a broadcast costs nothing to repeat; arithmetic does.
  if (!is_ansor && !is_gpu && feeds_tiled(plan, readers) &&
      seer_dag_stage_flops(plan->dag, stage) > 0)
    return SEER_RULE_SKIP;
  seer_plan *next = seer_plan_next(context, plan, stage, "inline");
  next->stage[stage].is_decided = true;
  next->stage[stage].role = SEER_ROLE_INLINE;
  seer_plan_push(context, next);
  return SEER_RULE_STOP;
}

extern const seer_rule seer_rule_inline;
const seer_rule seer_rule_inline = {
    "inline", "cheap stages are substituted into their readers", true, SEER_RULE_ALL, apply};

static seer_rule_answer apply_const(
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
    "const", "weights-only stages are computed at compile time", true, SEER_RULE_ALL, apply_const};
