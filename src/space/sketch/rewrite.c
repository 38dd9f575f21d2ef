// rewrite.c - rules that add stages: cache-write, rfactor, cache-read. The plan gets its own copy
// of the DAG; the new stage is put before the one it serves, new buffers are appended, so that the
// ids of all others stay what they were (arguments are bound by them).
#include <string.h>

#include "dag/edit.h"
#include "space/sketch/split.h"

bool seer_plan_has_room(const seer_plan *plan) {
  return plan->dag->n_stage < SEER_DAG_MAX_STAGES &&
      plan->dag->n_buf + SEER_DAG_MAX_VALUES <= SEER_DAG_MAX_BUFFERS;
}

seer_dag *seer_plan_open_slot(const seer_rule_context *context, seer_plan *plan, uint32_t stage) {
  SEER_ASSERT(seer_plan_has_room(plan), "dag %s: %u stages", plan->dag->name, plan->dag->n_stage);
  uint32_t n = plan->dag->n_stage;
  memmove(&plan->stage[stage + 1], &plan->stage[stage], (n - stage) * sizeof plan->stage[0]);
  for (uint32_t s = 0; s <= n; s++) {
    seer_plan_stage *p = &plan->stage[s];
    if (p->partner != SEER_NO_STAGE && p->partner >= stage) p->partner++;
    if (p->place == SEER_PLAN_BLOCK && p->block >= stage) p->block++;
  }
  for (uint32_t k = 0; k < plan->n_split; k++)
    if (plan->split_stage[k] >= stage) plan->split_stage[k]++;
  plan->stage[stage] = (seer_plan_stage){.partner = SEER_NO_STAGE};
  seer_dag *dag = seer_dag_clone(plan->dag, context->arena);
  plan->dag = dag;
  return dag;
}

void seer_plan_cache_write(const seer_rule_context *context, seer_plan *plan, uint32_t stage) {
  seer_dag *dag = seer_plan_open_slot(context, plan, stage);
  seer_dag_insert_copy(
      dag, stage, seer_arena_printf(context->arena, "%s.acc", dag->stage[stage].name));
  // What computes keeps the names of the knobs.
  plan->stage[stage].prefix = plan->stage[stage + 1].prefix;
  plan->stage[stage + 1].prefix =
      seer_arena_printf(context->arena, "%s.out", plan->stage[stage].prefix);
  plan->stage[stage].is_rewritten = plan->stage[stage + 1].is_rewritten = true;
  seer_dag_finish(dag);
}

// ---- rfactor

typedef struct {
  seer_dag *dag;
  seer_expr predicate;  // 0: none
  bool as_zero;  // every load becomes 0: what does the body come to?
} guard;

static seer_expr zero(seer_expr_pool *pool, seer_dtype dtype) {
  return seer_expr_scalar(pool, dtype, seer_combiner_identity(SEER_COMBINE_SUM, 0, dtype));
}

static seer_expr guard_load(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  const guard *g = user;
  if (g->as_zero) return zero(to, (seer_dtype)load->dtype);
  if (g->predicate.i) {
    predicate =
        predicate.i ? seer_expr_binary(to, SEER_EXPR_AND, g->predicate, predicate) : g->predicate;
    if (!otherwise.i) otherwise = zero(to, (seer_dtype)load->dtype);
  }
  return seer_expr_load_guarded(
      to, (seer_dtype)load->dtype, load->ref, index, load->n_index, predicate, otherwise);
}

seer_expr seer_split_body(
    seer_dag *dag, const seer_dag_stage *was, const seer_expr *map, seer_expr predicate) {
  seer_expr_pool *pool = &dag->expr;
  guard g = {.dag = dag, .predicate = predicate};
  seer_expr body = seer_expr_copy(pool, pool, was->body[0], map, dag->n_var, guard_load, &g);
  if (!predicate.i) return body;
  seer_dtype dtype = dag->buf[was->out[0]].dtype;
  seer_expr neutral =
      seer_expr_scalar(pool, dtype, seer_combiner_identity(was->combiner, 0, dtype));
  g.as_zero = true;
  seer_expr at_zero = seer_expr_copy(pool, pool, was->body[0], map, dag->n_var, guard_load, &g);
  // Guarded loads give 0 outside; if that makes the body neutral by itself, nothing is to be
  // selected.
  return at_zero.i == neutral.i ? body : seer_expr_select(pool, predicate, body, neutral);
}

void seer_plan_rfactor(const seer_rule_context *context, seer_plan *plan, uint32_t stage,
    uint32_t axis, int64_t factor, bool is_inner, const char *name) {
  seer_dag *dag = seer_plan_open_slot(context, plan, stage);
  const seer_dag_stage old = dag->stage[stage];
  seer_expr_pool *pool = &dag->expr;
  int64_t extent = old.axis[axis].extent, rest = seer_ceil_div(extent, factor);
  uint32_t n_space = old.n_space, n_axis = n_space + old.n_reduce, lane = is_inner ? n_space : 0;
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  uint32_t moved[SEER_DAG_MAX_AXES] = {0};  // by old axis: the part's
  axes[lane] = (seer_dag_axis){is_inner ? "lane" : "chunk", factor, SEER_AXIS_OTHER};
  for (uint32_t a = 0; a < n_axis; a++) {
    moved[a] = a < lane ? a : a + 1;
    axes[moved[a]] = old.axis[a];
  }
  axes[moved[axis]].extent = rest;
  seer_dag_insert_stage(dag, stage, seer_arena_printf(context->arena, "%s.%s", old.name, name),
      SEER_STAGE_REDUCE_LOCAL, axes, n_space + 1, old.n_reduce);
  seer_expr *map = SEER_NEW_ARRAY(context->arena, seer_expr, dag->n_var);
  for (uint32_t a = 0; a < n_axis; a++) map[old.var0 + a] = seer_dag_var(dag, stage, moved[a]);
  // The old index: rest * factor + lane, or chunk * rest + rest's index.
  seer_expr outer = seer_dag_var(dag, stage, is_inner ? moved[axis] : lane),
            inner = seer_dag_var(dag, stage, is_inner ? lane : moved[axis]);
  seer_expr step = seer_expr_i(pool, is_inner ? factor : rest);
  seer_expr at = seer_expr_binary(
      pool, SEER_EXPR_ADD, seer_expr_binary(pool, SEER_EXPR_MUL, outer, step), inner);
  map[old.var0 + axis] = at;
  seer_expr predicate = {0};
  if (rest * factor != extent)
    predicate = seer_expr_binary(pool, SEER_EXPR_LT, at, seer_expr_i(pool, extent));
  seer_expr body = seer_split_body(dag, &old, map, predicate);
  uint32_t parts = seer_dag_set_body(dag, stage, old.combiner, &body, 1);
  memcpy(axes, old.axis, n_space * sizeof axes[0]);
  axes[n_space] = dag->stage[stage].axis[lane];
  seer_dag_reopen_stage(dag, stage + 1, old.role, axes, n_space, 1);
  seer_expr index[SEER_DAG_MAX_AXES];
  for (uint32_t a = 0; a < n_space; a++) index[moved[a]] = seer_dag_var(dag, stage + 1, a);
  index[lane] = seer_dag_var(dag, stage + 1, n_space);
  body = seer_dag_load(dag, parts, index);
  seer_dag_set_body(dag, stage + 1, old.combiner, &body, 1);
  plan->stage[stage].prefix =
      seer_arena_printf(context->arena, "%s.%s", plan->stage[stage + 1].prefix, name);
  plan->stage[stage].is_rewritten = plan->stage[stage + 1].is_rewritten = true;
  seer_dag_finish(dag);
}

// ---- cache-read

void seer_plan_cache_read(const seer_rule_context *context, seer_plan *plan, uint32_t stage,
    uint32_t buf, const uint8_t *order, seer_stage_role role) {
  seer_dag *dag = seer_plan_open_slot(context, plan, stage);
  bool is_fetch = role == SEER_STAGE_FETCH;
  const seer_dag_buf from = dag->buf[buf];
  seer_dag_axis axes[SEER_MAX_RANK];
  for (uint32_t d = 0; d < from.rank; d++) {
    axes[d] = (seer_dag_axis){
        seer_arena_printf(dag->arena, "d%u", order[d]), from.dim[order[d]], SEER_AXIS_OTHER};
  }
  seer_dag_insert_stage(dag, stage,
      seer_arena_printf(context->arena, "%s.%s", from.name, is_fetch ? "fetch" : "pack"), role,
      axes, from.rank, 0);
  seer_expr index[SEER_MAX_RANK];
  for (uint32_t d = 0; d < from.rank; d++) index[order[d]] = seer_dag_var(dag, stage, d);
  seer_expr body = seer_dag_load(dag, buf, index);
  uint32_t copy = seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
  seer_dag_redirect_loads(dag, stage + 1, buf, copy, order);
  plan->stage[stage].prefix = dag->stage[stage].name;
  plan->stage[stage + 1].is_read_cached = true;
  seer_dag_finish(dag);
}
