// split.c - a reduction in two whose lengths are a knob's (Ansor's rfactor: its reduction axes are
// fused, and the one that comes of it is split by a factor). Extents are the DAG's, so there is a
// DAG for each factor. They differ in the two stages alone, which are made from what the reduction
// was: its body, whose axes become quotients and remainders of the fused index. As many of those as
// the factor allows are none: where it divides the inner axes' product, or that divides it, each
// axis is the outer index's or the inner one's alone, or a sum of both.
#include <string.h>

#include "dag/edit.h"
#include "space/sketch/split.h"

// Of one sketch: each is a copy of a DAG of some 16 KiB.
#define MAX_VARIANTS 512

// ---- the fused index

typedef struct {
  seer_expr_pool *pool;
  seer_expr outer, inner;  // the fused index is outer * length + inner
  int64_t length;
} fused;

static seer_expr by(seer_expr_pool *pool, seer_expr_op op, seer_expr x, int64_t c) {
  if (c == 1) return op == SEER_EXPR_MOD ? seer_expr_i(pool, 0) : x;
  return seer_expr_binary(pool, op, x, seer_expr_i(pool, c));
}

static seer_expr sum(const fused *f, seer_expr outer, int64_t times, seer_expr inner) {
  return seer_expr_binary(f->pool, SEER_EXPR_ADD, by(f->pool, SEER_EXPR_MUL, outer, times), inner);
}

// floor(fused / step) % extent; `is_first`: of the most significant axis, where it is below it.
static seer_expr axis_of(const fused *f, int64_t step, int64_t extent, bool is_first) {
  seer_expr_pool *pool = f->pool;
  if (step % f->length == 0) {
    seer_expr at = by(pool, SEER_EXPR_DIV, f->outer, step / f->length);
    return is_first ? at : by(pool, SEER_EXPR_MOD, at, extent);
  }
  if (f->length % step != 0) {
    seer_expr at = by(pool, SEER_EXPR_DIV, sum(f, f->outer, f->length, f->inner), step);
    return is_first ? at : by(pool, SEER_EXPR_MOD, at, extent);
  }
  int64_t steps = f->length / step;  // of this axis, in each of the inner length
  seer_expr at = by(pool, SEER_EXPR_DIV, f->inner, step);
  if (is_first) return sum(f, f->outer, steps, at);
  if (steps % extent == 0) return steps == extent ? at : by(pool, SEER_EXPR_MOD, at, extent);
  if (extent % steps == 0)
    return sum(f, by(pool, SEER_EXPR_MOD, f->outer, extent / steps), steps, at);
  return by(pool, SEER_EXPR_MOD, sum(f, f->outer, steps, at), extent);
}

// ---- the two stages

void seer_split_fill(seer_dag *dag, const seer_plan_split *split, uint32_t parts, int64_t length) {
  const seer_dag_stage *was = &split->was;
  seer_expr_pool *pool = &dag->expr;
  uint32_t n = was->n_space, n_old = n + was->n_reduce;
  bool is_inner = split->part == SEER_PART_INNER;
  const seer_dag_axis both[2] = {
      {"outer", split->extent / length, SEER_AXIS_OTHER}, {"inner", length, SEER_AXIS_OTHER}};
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  memcpy(axes, was->axis, n * sizeof axes[0]);
  axes[n] = both[is_inner];
  axes[n + 1] = both[!is_inner];
  seer_dag_reopen_stage(dag, parts, SEER_STAGE_REDUCE_LOCAL, axes, n + 1, 1);
  seer_expr *map = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var);
  for (uint32_t a = 0; a < n; a++) map[was->var0 + a] = seer_dag_var(dag, parts, a);
  fused f = {.pool = pool, .length = length};
  f.outer = seer_dag_var(dag, parts, is_inner ? n + 1 : n);
  f.inner = seer_dag_var(dag, parts, is_inner ? n : n + 1);
  if (both[0].extent == 1) f.outer = seer_expr_i(pool, 0);
  if (both[1].extent == 1) f.inner = seer_expr_i(pool, 0);
  int64_t step = 1;
  for (uint32_t a = n_old; a-- > n; step *= was->axis[a].extent) {
    int64_t extent = was->axis[a].extent;
    bool is_first = step * extent == split->extent;
    map[was->var0 + a] = extent == 1 ? seer_expr_i(pool, 0) : axis_of(&f, step, extent, is_first);
  }
  seer_expr body[SEER_DAG_MAX_VALUES], index[SEER_DAG_MAX_AXES];
  for (uint32_t v = 0; v < was->n_values; v++)
    body[v] = seer_expr_copy(pool, pool, was->body[v], map, dag->n_var, NULL, NULL);
  seer_dag_set_body(dag, parts, was->combiner, body, was->n_values);
  axes[n] = both[is_inner];
  seer_dag_reopen_stage(dag, parts + 1, was->role, axes, n, 1);
  for (uint32_t a = 0; a <= n; a++) index[a] = seer_dag_var(dag, parts + 1, a);
  for (uint32_t v = 0; v < was->n_values; v++)
    body[v] = seer_dag_load(dag, dag->stage[parts].out[v], index);
  seer_dag_set_body(dag, parts + 1, was->combiner, body, was->n_values);
}

// ---- plans

static uint32_t list_lengths(int64_t extent, uint16_t *out) {
  uint32_t n = 0;
  for (int64_t d = 1; d <= SEER_FACTORISE_MAX_INNERMOST && d <= extent; d++)
    if (extent % d == 0) out[n++] = (uint16_t)d;
  return n;
}

bool seer_split_has_room(const seer_plan *plan, uint32_t n_length) {
  for (uint32_t k = 0; k < plan->n_split; k++) n_length *= plan->split[k]->n_length;
  return n_length <= MAX_VARIANTS && plan->n_split < SEER_SKETCH_MAX_SPLITS &&
      seer_plan_has_room(plan);
}

void seer_split_add(seer_plan *plan, uint32_t stage, const seer_plan_split *split) {
  plan->split_stage[plan->n_split] = (uint8_t)stage;
  plan->split[plan->n_split++] = split;
}

bool seer_plan_may_split(const seer_plan *plan, uint32_t stage) {
  const seer_dag_stage *s = &plan->dag->stage[stage];
  uint16_t length[SEER_FACTORISE_MAX_INNERMOST];
  uint32_t n = list_lengths(seer_plan_reduce(plan, stage), length);
  return seer_split_has_room(plan, n) && s->n_space < SEER_MAX_RANK &&
      s->n_space + 2 <= SEER_DAG_MAX_AXES;
}

void seer_plan_split_reduction(
    const seer_rule_context *context, seer_plan *plan, uint32_t stage, seer_plan_part part) {
  SEER_ASSERT(seer_plan_may_split(plan, stage), "stage %u of %s", stage, plan->dag->name);
  seer_plan_split *split = SEER_NEW(context->arena, seer_plan_split);
  *split = (seer_plan_split){.was = plan->dag->stage[stage], .part = part};
  split->extent = seer_plan_reduce(plan, stage);
  split->n_length = list_lengths(split->extent, split->length);
  seer_dag *dag = seer_plan_open_slot(context, plan, stage);
  uint32_t n = split->was.n_space;
  seer_dag_axis axes[SEER_DAG_MAX_AXES];  // until it is filled
  memcpy(axes, split->was.axis, n * sizeof axes[0]);
  axes[n] = axes[n + 1] = (seer_dag_axis){"part", 1, SEER_AXIS_OTHER};
  seer_dag_insert_stage(dag, stage, seer_arena_printf(context->arena, "%s.part", split->was.name),
      SEER_STAGE_REDUCE_LOCAL, axes, n + 1, 1);
  seer_split_fill(dag, split, stage, split->length[0]);
  seer_plan_stage *p = &plan->stage[stage], *whole = &plan->stage[stage + 1];
  p->prefix = seer_arena_printf(context->arena, "%s.part", whole->prefix);
  p->is_rewritten = whole->is_rewritten = true;
  p->part = part;
  p->open_axes = (uint16_t)(3u << n);
  whole->open_axes = (uint16_t)(1u << n);
  seer_split_add(plan, stage, split);
  seer_dag_finish(dag);
}
