// rewrite.c - rules that add stages: cache-write, rfactor, cache-read. The plan gets its own copy
// of the DAG; the new stage is put before the one it serves, new buffers are appended, so that the
// ids of all others stay what they were (arguments are bound by them).
#include <string.h>

#include "space/rule.h"

static bool is_taken(const seer_dag *dag, const char *name) {
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    if (strcmp(dag->stage[s].name, name) == 0) return true;
  }
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (strcmp(dag->buf[b].name, name) == 0) return true;
  }
  return false;
}

static const char *fresh_name(const seer_dag *dag, const char *base, const char *suffix) {
  const char *name = seer_arena_printf(dag->arena, "%s.%s", base, suffix), *tried = name;
  for (uint32_t k = 2; is_taken(dag, tried); k++)
    tried = seer_arena_printf(dag->arena, "%s_%u", name, k);
  return tried;
}

bool seer_plan_has_room(const seer_plan *plan) {
  return plan->dag->n_stage < SEER_DAG_MAX_STAGES &&
      plan->dag->n_buf + SEER_DAG_MAX_VALUES <= SEER_DAG_MAX_BUFFERS;
}

// Copies the DAG and makes room for a stage at index `stage`.
static seer_dag *open_slot(const seer_rule_context *context, seer_plan *plan, uint32_t stage) {
  SEER_ASSERT(seer_plan_has_room(plan), "dag %s: %u stages", plan->dag->name, plan->dag->n_stage);
  seer_dag *dag = seer_dag_clone(plan->dag, context->arena);
  uint32_t n_after = dag->n_stage - stage;
  memmove(&dag->stage[stage + 1], &dag->stage[stage], n_after * sizeof dag->stage[0]);
  dag->n_stage++;
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind == SEER_BUF_STAGE && dag->buf[b].stage >= stage) dag->buf[b].stage++;
  }
  memmove(&plan->stage[stage + 1], &plan->stage[stage], n_after * sizeof plan->stage[0]);
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    seer_plan_stage *p = &plan->stage[s];
    if (p->partner != SEER_NO_STAGE && p->partner >= stage) p->partner++;
    if (p->place == SEER_PLAN_BLOCK && p->block >= stage) p->block++;
  }
  plan->stage[stage] = (seer_plan_stage){.partner = SEER_NO_STAGE};
  plan->dag = dag;
  return dag;
}

// Gives stage `s` new buffers for its values, over its spatial axes.
static void add_buffers(seer_dag *dag, uint32_t s, const seer_dtype *dtype) {
  seer_dag_stage *stage = &dag->stage[s];
  for (uint32_t v = 0; v < stage->n_values; v++) {
    seer_dag_buf buf = {.name = stage->name,
        .dtype = dtype[v],
        .kind = SEER_BUF_STAGE,
        .rank = stage->n_space,
        .value = (uint8_t)v,
        .stage = s,
        .pitch = 1};
    if (v > 0) buf.name = fresh_name(dag, stage->name, seer_arena_printf(dag->arena, "%u", v));
    for (uint32_t d = 0; d < stage->n_space; d++) buf.dim[d] = buf.pitch = stage->axis[d].extent;
    stage->out[v] = dag->n_buf;
    dag->buf[dag->n_buf++] = buf;
  }
}

static seer_expr own_var(seer_dag *dag, const seer_dag_stage *stage, uint32_t axis) {
  return seer_expr_var(&dag->expr, stage->var0 + axis);
}

void seer_plan_cache_write(const seer_rule_context *context, seer_plan *plan, uint32_t stage) {
  seer_dag *dag = open_slot(context, plan, stage);
  seer_dag_stage *compute = &dag->stage[stage], *copy = &dag->stage[stage + 1];
  *compute = *copy;
  compute->name = fresh_name(dag, copy->name, "acc");
  seer_dtype dtype[SEER_DAG_MAX_VALUES];
  for (uint32_t v = 0; v < compute->n_values; v++) dtype[v] = dag->buf[copy->out[v]].dtype;
  add_buffers(dag, stage, dtype);
  copy->role = SEER_STAGE_EPILOGUE;
  copy->n_reduce = 0;
  copy->combiner = SEER_COMBINE_NONE;
  copy->var0 = dag->n_var;
  dag->n_var += copy->n_space;
  seer_expr index[SEER_DAG_MAX_AXES];
  for (uint32_t a = 0; a < copy->n_space; a++) index[a] = own_var(dag, copy, a);
  for (uint32_t v = 0; v < copy->n_values; v++)
    copy->body[v] = seer_dag_load(dag, compute->out[v], index);
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
  return seer_dtype_is_float(dtype) ? seer_expr_f(pool, dtype, 0) : seer_expr_int(pool, dtype, 0);
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

void seer_plan_rfactor(const seer_rule_context *context, seer_plan *plan, uint32_t stage,
    uint32_t axis, int64_t factor, bool is_inner) {
  seer_dag *dag = open_slot(context, plan, stage);
  seer_dag_stage *part = &dag->stage[stage], *whole = &dag->stage[stage + 1];
  const seer_dag_stage old = *whole;
  seer_expr_pool *pool = &dag->expr;
  int64_t extent = old.axis[axis].extent, rest = seer_ceil_div(extent, factor);
  uint32_t n_space = old.n_space, lane = is_inner ? n_space : 0, shift = is_inner ? 0 : 1;
  *part = old;
  part->name = fresh_name(dag, old.name, "part");
  part->role = SEER_STAGE_REDUCE_LOCAL;
  part->n_space = (uint8_t)(n_space + 1);
  part->var0 = dag->n_var;
  dag->n_var += n_space + 1u + old.n_reduce;
  seer_expr *map = SEER_NEW_ARRAY(context->arena, seer_expr, dag->n_var);
  for (uint32_t a = 0; a < n_space; a++) {
    part->axis[a + shift] = old.axis[a];
    map[old.var0 + a] = own_var(dag, part, a + shift);
  }
  part->axis[lane] = (seer_dag_axis){is_inner ? "lane" : "chunk", factor, SEER_AXIS_OTHER};
  for (uint32_t a = n_space; a < n_space + old.n_reduce; a++) {
    part->axis[a + 1] = old.axis[a];
    map[old.var0 + a] = own_var(dag, part, a + 1);
  }
  part->axis[axis + 1].extent = rest;
  // The old index: rest * factor + lane, or chunk * rest + rest's index.
  seer_expr outer = own_var(dag, part, is_inner ? axis + 1 : lane),
            inner = own_var(dag, part, is_inner ? lane : axis + 1);
  seer_expr step = seer_expr_i(pool, is_inner ? factor : rest);
  seer_expr at = seer_expr_binary(
      pool, SEER_EXPR_ADD, seer_expr_binary(pool, SEER_EXPR_MUL, outer, step), inner);
  map[old.var0 + axis] = at;
  guard g = {.dag = dag};
  seer_dtype dtype = dag->buf[old.out[0]].dtype;
  if (rest * factor != extent) {
    g.predicate = seer_expr_binary(pool, SEER_EXPR_LT, at, seer_expr_i(pool, extent));
  }
  seer_expr body = seer_expr_copy(pool, pool, old.body[0], map, dag->n_var, guard_load, &g);
  if (g.predicate.i) {
    double identity = seer_combiner_identity(old.combiner, dtype);
    seer_expr neutral = seer_dtype_is_float(dtype) ? seer_expr_f(pool, dtype, identity)
                                                   : seer_expr_int(pool, dtype, (int64_t)identity);
    g.as_zero = true;
    seer_expr at_zero = seer_expr_copy(pool, pool, old.body[0], map, dag->n_var, guard_load, &g);
    // Guarded loads give 0 outside; if that makes the body neutral by itself, nothing is to be
    // selected.
    if (at_zero.i != neutral.i) body = seer_expr_select(pool, g.predicate, body, neutral);
  }
  part->body[0] = body;
  add_buffers(dag, stage, &dtype);
  whole->n_reduce = 1;
  whole->axis[n_space] = part->axis[lane];
  whole->var0 = dag->n_var;
  dag->n_var += n_space + 1;
  seer_expr index[SEER_DAG_MAX_AXES];
  for (uint32_t a = 0; a < n_space; a++) index[a + shift] = own_var(dag, whole, a);
  index[lane] = own_var(dag, whole, n_space);
  whole->body[0] = seer_dag_load(dag, part->out[0], index);
  plan->stage[stage].prefix =
      seer_arena_printf(context->arena, "%s.part", plan->stage[stage + 1].prefix);
  plan->stage[stage].is_rewritten = plan->stage[stage + 1].is_rewritten = true;
  seer_dag_finish(dag);
}

// ---- cache-read

typedef struct {
  seer_dag *dag;
  uint32_t from, to;
  const uint8_t *order;
} redirect;

static seer_expr redirect_load(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  const redirect *r = user;
  seer_expr moved[SEER_MAX_RANK];
  bool is_it = load->ref == r->from;
  for (uint32_t d = 0; d < load->n_index; d++) moved[d] = index[is_it ? r->order[d] : d];
  return seer_expr_load_guarded(to, (seer_dtype)load->dtype, is_it ? r->to : load->ref, moved,
      load->n_index, predicate, otherwise);
}

void seer_plan_cache_read(const seer_rule_context *context, seer_plan *plan, uint32_t stage,
    uint32_t buf, const uint8_t *order) {
  seer_dag *dag = open_slot(context, plan, stage);
  seer_dag_stage *copy = &dag->stage[stage], *reader = &dag->stage[stage + 1];
  const seer_dag_buf from = dag->buf[buf];
  *copy = (seer_dag_stage){.name = fresh_name(dag, from.name, "pack"),
      .role = SEER_STAGE_PACK,
      .n_space = from.rank,
      .var0 = dag->n_var,
      .n_values = 1};
  dag->n_var += from.rank;
  seer_expr index[SEER_MAX_RANK];
  for (uint32_t d = 0; d < from.rank; d++) {
    copy->axis[d] = (seer_dag_axis){
        seer_arena_printf(dag->arena, "d%u", order[d]), from.dim[order[d]], SEER_AXIS_OTHER};
    index[order[d]] = own_var(dag, copy, d);
  }
  copy->body[0] = seer_dag_load(dag, buf, index);
  add_buffers(dag, stage, &from.dtype);
  redirect r = {dag, buf, copy->out[0], order};
  for (uint32_t v = 0; v < reader->n_values; v++) {
    reader->body[v] =
        seer_expr_copy(&dag->expr, &dag->expr, reader->body[v], NULL, 0, redirect_load, &r);
  }
  plan->stage[stage].prefix = copy->name;
  plan->stage[stage + 1].is_read_cached = true;
  seer_dag_finish(dag);
}
