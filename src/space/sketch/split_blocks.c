// split_blocks.c - split K: a product's reduction in parts that blocks of a GPU's grid have, and
// the parts added up by a kernel behind it. The parts are neighbours in one reduction axis, the
// others are in each of them as they were, so that all indices stay sums and operands are fetched.
// The last part is shorter where their number does not divide the axis: what is beyond its end is
// guarded. As extents are the DAG's there is a DAG for each number of parts (split.c).
//   C[i] = sum k<K: x   ->   C.part[p<P, i] = sum k<K/P: x at p*K/P + k;   C[i] = C.part[0, i] + ..
// The sum is written out: all its loads are on their way at the same time, and as it is no
// reduction its elementwise reader takes it in.
#include <string.h>

#include "dag/edit.h"
#include "space/sketch/split.h"

// Parts: these where they divide the axis, and powers of two where no other number near them does.
#define MAX_PARTS 16
// Elements of a reduction, all axes together, that are worth a part: fewer are a step or two.
#define MIN_PART 16

static bool divides(int64_t extent, int64_t n) { return extent % n == 0; }

static uint32_t list_parts(int64_t extent, int64_t inside, uint16_t *out) {
  static const uint16_t some[] = {2, 3, 4, 6, 8, 12, 16};
  uint32_t n = 0;
  for (uint32_t k = 0; k < SEER_COUNT_OF(some); k++) {
    int64_t parts = some[k], length = seer_ceil_div(extent, parts);
    if (length < 2 || length * inside < MIN_PART) break;
    bool is_power = (parts & (parts - 1)) == 0, has_near = false;
    for (int64_t p = parts + 1; p < 2 * parts && p <= MAX_PARTS; p++)
      has_near |= divides(extent, p) && (p % 3 == 0 || p % 4 == 0);
    // Beyond the end there is no part as a whole.
    bool is_cut = is_power && !has_near && (parts - 1) * length < extent;
    if (divides(extent, parts) || is_cut) out[n++] = (uint16_t)parts;
  }
  return n;
}

static uint32_t parts_of(const seer_plan *plan, uint32_t stage, uint32_t axis, uint16_t *out) {
  int64_t extent = plan->dag->stage[stage].axis[axis].extent;
  return list_parts(extent, seer_plan_reduce(plan, stage) / extent, out);
}

bool seer_plan_may_split_blocks(const seer_plan *plan, uint32_t stage, uint32_t axis) {
  const seer_dag_stage *s = &plan->dag->stage[stage];
  uint16_t parts[SEER_FACTORISE_MAX_INNERMOST];
  uint32_t n = parts_of(plan, stage, axis, parts);
  return n > 0 && seer_split_has_room(plan, n) && s->combiner == SEER_COMBINE_SUM &&
      s->n_values == 1 && s->n_space < SEER_MAX_RANK &&
      (uint32_t)s->n_space + s->n_reduce < SEER_DAG_MAX_AXES;
}

// ---- the stages

static void part_axes(
    const seer_plan_split *split, int64_t n_part, seer_dag_axis out[SEER_DAG_MAX_AXES]) {
  const seer_dag_stage *was = &split->was;
  out[0] = (seer_dag_axis){"part", n_part, SEER_AXIS_OTHER};
  memcpy(out + 1, was->axis, ((size_t)was->n_space + was->n_reduce) * sizeof out[0]);
  out[1 + split->axis].extent = seer_ceil_div(split->extent, n_part);
}

// The body of what computes the parts; it has its axes.
static seer_expr part_body(
    seer_dag *dag, const seer_plan_split *split, uint32_t stage, int64_t n_part) {
  const seer_dag_stage *was = &split->was;
  seer_expr_pool *pool = &dag->expr;
  int64_t length = seer_ceil_div(split->extent, n_part);
  seer_expr *map = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var);
  for (uint32_t a = 0; a < (uint32_t)was->n_space + was->n_reduce; a++)
    map[was->var0 + a] = seer_dag_var(dag, stage, a + 1);
  seer_expr start =
      seer_expr_binary(pool, SEER_EXPR_MUL, seer_dag_var(dag, stage, 0), seer_expr_i(pool, length));
  seer_expr at = seer_expr_binary(pool, SEER_EXPR_ADD, start, map[was->var0 + split->axis]);
  map[was->var0 + split->axis] = at;
  seer_expr predicate = {0};
  if (length * n_part != split->extent)
    predicate = seer_expr_binary(pool, SEER_EXPR_LT, at, seer_expr_i(pool, split->extent));
  return seer_split_body(dag, was, map, predicate);
}

// Loads of what is fetched read the fetch in its place, as those of plan->dag's stage do.
static void read_fetches(const seer_plan *plan, seer_dag *dag, uint32_t stage) {
  const seer_access_table *table = plan->dag->access;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    const seer_dag_buf *buf = &dag->buf[table->load[k].buf];
    if (buf->kind != SEER_BUF_STAGE || dag->stage[buf->stage].role != SEER_STAGE_FETCH) continue;
    const seer_dag_stage *fetch = &dag->stage[buf->stage];
    const seer_expr_node *load = seer_expr_at(&dag->expr, fetch->body[0]);
    uint8_t order[SEER_MAX_RANK];
    for (uint32_t d = 0; d < load->n_index; d++) {
      const seer_expr_node *axis = seer_expr_at(&dag->expr, dag->expr.index[load->index0 + d]);
      order[axis->ref - fetch->var0] = (uint8_t)d;
    }
    // A second load of the same buffer finds nothing left to be redirected.
    seer_dag_redirect_loads(dag, stage, load->ref, table->load[k].buf, order);
  }
}

static void fill_sum(
    seer_dag *dag, const seer_plan_split *split, uint32_t stage, uint32_t parts, int64_t n_part) {
  const seer_dag_stage *was = &split->was;
  seer_dag_reopen_stage(dag, stage, SEER_STAGE_EPILOGUE, was->axis, was->n_space, 0);
  seer_expr index[SEER_DAG_MAX_AXES], sum = {0};
  for (uint32_t a = 0; a < was->n_space; a++) index[a + 1] = seer_dag_var(dag, stage, a);
  for (int64_t p = 0; p < n_part; p++) {
    index[0] = seer_expr_i(&dag->expr, p);
    seer_expr part = seer_dag_load(dag, parts, index);
    sum = p == 0 ? part : seer_expr_binary(&dag->expr, SEER_EXPR_ADD, sum, part);
  }
  seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &sum, 1);
}

void seer_split_fill_blocks(const seer_plan *plan, seer_dag *dag, const seer_plan_split *split,
    uint32_t writer, int64_t n_part) {
  const seer_dag_stage *was = &split->was;
  const seer_access_table *table = plan->dag->access;
  uint32_t parts = dag->stage[writer].out[0], n_space = was->n_space + 1u, maker = writer;
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  part_axes(split, n_part, axes);
  bool is_copy = plan->dag->stage[writer].n_reduce == 0;
  if (is_copy) maker = table->load[table->first_load[writer]].maker;
  seer_dag_reopen_stage(dag, maker, was->role, axes, n_space, was->n_reduce);
  seer_expr body = part_body(dag, split, maker, n_part);
  seer_dag_set_body(dag, maker, was->combiner, &body, 1);
  read_fetches(plan, dag, maker);
  if (is_copy) {
    seer_dag_reopen_stage(dag, writer, SEER_STAGE_EPILOGUE, axes, n_space, 0);
    seer_expr index[SEER_DAG_MAX_AXES];
    for (uint32_t a = 0; a < n_space; a++) index[a] = seer_dag_var(dag, writer, a);
    body = seer_dag_load(dag, dag->stage[maker].out[0], index);
    seer_dag_set_body(dag, writer, SEER_COMBINE_NONE, &body, 1);
  }
  fill_sum(dag, split, writer + 1, parts, n_part);
}

// ---- the plan

void seer_plan_split_blocks(
    const seer_rule_context *context, seer_plan *plan, uint32_t stage, uint32_t axis) {
  SEER_ASSERT(seer_plan_may_split_blocks(plan, stage, axis), "stage %u of %s, axis %u", stage,
      plan->dag->name, axis);
  seer_plan_split *split = SEER_NEW(context->arena, seer_plan_split);
  *split = (seer_plan_split){
      .was = plan->dag->stage[stage], .part = SEER_PART_BLOCKS, .axis = (uint8_t)axis};
  split->extent = split->was.axis[axis].extent;
  split->n_length = parts_of(plan, stage, axis, split->length);
  seer_dag *dag = seer_plan_open_slot(context, plan, stage);
  const seer_dag_stage *was = &split->was;
  int64_t n_part = split->length[0];
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  part_axes(split, n_part, axes);
  seer_dag_insert_stage(dag, stage, seer_arena_printf(context->arena, "%s.part", was->name),
      was->role, axes, was->n_space + 1u, was->n_reduce);
  seer_expr body = part_body(dag, split, stage, n_part);
  uint32_t parts = seer_dag_set_body(dag, stage, was->combiner, &body, 1);
  fill_sum(dag, split, stage + 1, parts, n_part);
  seer_plan_stage *part = &plan->stage[stage], *whole = &plan->stage[stage + 1];
  // What computes keeps the names of the knobs.
  part->prefix = whole->prefix;
  whole->prefix = seer_arena_printf(context->arena, "%s.sum", part->prefix);
  whole->is_rewritten = true;
  part->part = SEER_PART_BLOCKS;
  part->grid_axes = 1;
  seer_split_add(plan, stage, split);
  seer_dag_finish(dag);
}
