// plan.c - what rules ask of a half-made sketch, and how they go on with it.
#include "space/rule.h"

bool seer_plan_is_output(const seer_plan *plan, uint32_t stage) {
  const seer_dag_stage *s = &plan->dag->stage[stage];
  for (uint32_t v = 0; v < s->n_values; v++) {
    if (plan->dag->buf[s->out[v]].is_output) return true;
  }
  return false;
}

static void follow_readers(
    const seer_plan *plan, uint32_t stage, uint64_t *readers, bool *is_elementwise) {
  for (uint32_t c = stage + 1; c < plan->dag->n_stage; c++) {
    if (!(plan->dag->access->readers[stage] >> c & 1)) continue;
    if (!seer_access_is_elementwise(plan->dag, stage, c)) *is_elementwise = false;
    if (plan->stage[c].is_decided && plan->stage[c].role == SEER_ROLE_INLINE) {
      follow_readers(plan, c, readers, is_elementwise);
    } else {
      *readers |= (uint64_t)1 << c;
    }
  }
}

uint64_t seer_plan_readers(const seer_plan *plan, uint32_t stage, bool *out_elementwise) {
  uint64_t readers = 0;
  bool is_elementwise = true;
  follow_readers(plan, stage, &readers, &is_elementwise);
  if (out_elementwise) *out_elementwise = is_elementwise;
  return readers;
}

int seer_plan_fusable_reader(const seer_plan *plan, uint32_t stage) {
  bool is_elementwise;
  uint64_t readers = seer_plan_readers(plan, stage, &is_elementwise);
  if (seer_plan_is_output(plan, stage) || !is_elementwise || readers == 0 ||
      (readers & (readers - 1)) != 0)
    return -1;
  int reader = __builtin_ctzll(readers);
  const seer_plan_stage *s = &plan->stage[reader];
  bool is_free = s->is_decided && s->role == SEER_ROLE_SIMPLE && s->partner == SEER_NO_STAGE;
  return is_free && plan->dag->stage[reader].n_reduce == 0 ? reader : -1;
}

bool seer_plan_needs_tiling(const seer_plan *plan, uint32_t stage) {
  return seer_dag_needs_tiling(plan->dag, stage);
}

int seer_plan_result(const seer_plan *plan, uint32_t stage) {
  // Walk all ways to the results: they must meet in one stage beyond which nothing reads.
  uint64_t seen = (uint64_t)1 << stage, todo = seen, results = 0;
  while (todo) {
    uint32_t s = (uint32_t)__builtin_ctzll(todo);
    todo &= todo - 1;
    bool is_result = seer_plan_is_output(plan, s) || plan->dag->access->readers[s] == 0;
    if (is_result) {
      results |= (uint64_t)1 << s;
      continue;
    }
    uint64_t fresh = plan->dag->access->readers[s] & ~seen;
    seen |= fresh;
    todo |= fresh;
  }
  bool is_one = results != 0 && (results & (results - 1)) == 0;
  int result = is_one ? __builtin_ctzll(results) : -1;
  return result >= 0 && plan->stage[result].place == SEER_PLAN_ROOT && (uint32_t)result != stage
      ? result
      : -1;
}

static int64_t product(const seer_dag_axis *axis, uint32_t n) {
  int64_t product = 1;
  for (uint32_t k = 0; k < n; k++) product *= axis[k].extent;
  return product;
}

int64_t seer_plan_space(const seer_plan *plan, uint32_t stage) {
  return product(plan->dag->stage[stage].axis, plan->dag->stage[stage].n_space);
}

int64_t seer_plan_reduce(const seer_plan *plan, uint32_t stage) {
  const seer_dag_stage *s = &plan->dag->stage[stage];
  return product(s->axis + s->n_space, s->n_reduce);
}

bool seer_plan_is_weight(const seer_plan *plan, uint32_t buf) {
  const seer_dag_buf *b = &plan->dag->buf[buf];
  bool is_made = b->kind == SEER_BUF_STAGE && plan->dag->stage[b->stage].is_const;
  return b->kind == SEER_BUF_WEIGHT || (is_made && !b->is_output);
}

bool seer_plan_is_transform(const seer_plan *plan, uint32_t stage) {
  seer_stage_role role = plan->dag->stage[stage].role;
  return role == SEER_STAGE_TRANSFORM_IN || role == SEER_STAGE_TRANSFORM_OUT;
}

seer_plan *seer_plan_next(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage, const char *rule) {
  seer_plan *next = (seer_plan *)seer_arena_memdup(context->arena, plan, sizeof *plan);
  next->cursor = stage;
  if (rule) {
    next->signature = seer_arena_printf(
        context->arena, "%s/%s(%s)", plan->signature, rule, plan->stage[stage].prefix);
  }
  return next;
}

void seer_plan_push(const seer_rule_context *context, const seer_plan *plan) {
  context->go_on(context, plan);
}

seer_plan *seer_plan_simple(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage, const char *rule) {
  bool is_output = seer_plan_is_output(plan, stage);
  seer_plan *next = seer_plan_next(context, plan, stage, rule);
  seer_plan_stage *s = &next->stage[stage];
  s->is_decided = true;
  s->role = SEER_ROLE_SIMPLE;
  s->place =
      is_output || seer_plan_readers(plan, stage, NULL) == 0 ? SEER_PLAN_ROOT : SEER_PLAN_FREE;
  s->may_inline = s->place == SEER_PLAN_FREE && plan->dag->stage[stage].n_reduce == 0;
  return next;
}

void seer_plan_unroll_transform(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage, const char *rule) {
  seer_plan *next = seer_plan_next(context, plan, stage, rule);
  seer_plan_stage *p = &next->stage[stage];
  p->is_decided = true;
  p->role = SEER_ROLE_SIMPLE;
  p->unrolls_small = true;
  p->place = seer_plan_is_output(plan, stage) || plan->dag->access->readers[stage] == 0
      ? SEER_PLAN_ROOT
      : SEER_PLAN_FREE;
  seer_plan_push(context, next);
}
