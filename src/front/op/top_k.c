// top_k.c - TopK: the first k along an axis, sorted. NaN is larger than all numbers, and of equals
// the lower index comes first, so that there is one order, whoever finds it.
// As DAG an element's place is the number of those that come before it: work grows with the square
// of the axis, but every element can be computed alone. What is too much for that is a host
// operator (runtime/host/top.c), which looks at each element once; so is what has a k or sizes that
// only a run knows.
#include <string.h>

#include "front/sized.h"
#include "runtime/host.h"

enum {
  MAX_DAG_EXTENT = 32,  // of the axis: beyond it the host is faster (decision 64)
  MAX_SORTED = 1 << 28
};

// ---- as DAG

static seer_status read_top_k(const seer_graph *graph, const seer_node *node,
    const seer_value **out_x, uint32_t *out_axis, int64_t *out_k) {
  SEER_TRY(seer_op_in(graph, node, 0, out_x));
  SEER_TRY(seer_op_want_compared(*out_x, 0));
  SEER_TRY(seer_op_axis(
      seer_node_attr_i(node, "axis", -1), (*out_x)->rank, "attribute 'axis'", out_axis));
  // an attribute before opset 10, and of the host operator
  *out_k = seer_node_attr_i(node, "k", -1);
  if (*out_k < 0) SEER_TRY(seer_op_const_int(graph, node, 1, "k", -1, out_k));
  if (*out_k >= 0 && *out_k <= (*out_x)->dim[*out_axis]) return SEER_OK;
  return SEER_FAIL(
      INVALID, "'k' is %" PRId64 ", must be 0 to %" PRId64, *out_k, (*out_x)->dim[*out_axis]);
}

static seer_status infer_top_k(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL;
  uint32_t axis = 0;
  int64_t k = 0, dim[SEER_MAX_RANK];
  SEER_TRY(read_top_k(graph, node, &x, &axis, &k));
  for (uint32_t d = 0; d < x->rank; d++) dim[d] = d == axis ? k : x->dim[d];
  for (uint32_t o = 0; o < 2 && o < node->n_out; o++) {
    if (node->out[o].i == 0) continue;
    SEER_TRY(seer_op_set(&out_values[o], o == 0 ? x->dtype : SEER_DTYPE_I64, dim, x->rank));
    memcpy(out_values[o].size, x->size, sizeof x->size);
    out_values[o].size[axis] = (seer_val){0};
  }
  return SEER_OK;
}
#define infer_host_top_k infer_top_k

// `other` comes before `mine`; `is_earlier`: it does if they are equal.
static seer_expr is_before(
    seer_emit *emit, bool is_largest, seer_expr other, seer_expr mine, seer_expr is_earlier) {
  seer_expr is_better = seer_op_2(emit, is_largest ? SEER_EXPR_GT : SEER_EXPR_LT, other, mine);
  seer_expr is_equal = seer_op_2(emit, SEER_EXPR_EQ, other, mine);
  if (seer_dtype_is_float(seer_op_dtype(emit, mine))) {
    seer_expr nan[2] = {
        seer_op_1(emit, SEER_EXPR_ISNAN, other), seer_op_1(emit, SEER_EXPR_ISNAN, mine)};
    seer_expr first = nan[is_largest ? 0 : 1], second = nan[is_largest ? 1 : 0];
    is_better = seer_op_2(emit, SEER_EXPR_OR, is_better,
        seer_op_2(emit, SEER_EXPR_AND, first, seer_op_1(emit, SEER_EXPR_NOT, second)));
    is_equal =
        seer_op_2(emit, SEER_EXPR_OR, is_equal, seer_op_2(emit, SEER_EXPR_AND, nan[0], nan[1]));
  }
  return seer_op_2(
      emit, SEER_EXPR_OR, is_better, seer_op_2(emit, SEER_EXPR_AND, is_equal, is_earlier));
}

static seer_status emit_top_k(seer_emit *emit, const seer_node *node) {
  const seer_value *x = NULL;
  uint32_t axis = 0;
  int64_t k = 0;
  SEER_TRY(read_top_k(emit->graph, node, &x, &axis, &k));
  bool is_largest = seer_node_attr_i(node, "largest", 1) != 0;
  seer_dag_axis dims[SEER_MAX_RANK], reduce = {"j", x->dim[axis], SEER_AXIS_OTHER};
  uint8_t order[SEER_MAX_RANK];
  seer_expr at[SEER_MAX_RANK], from[SEER_MAX_RANK], j;
  for (uint32_t d = 0; d < x->rank; d++)
    dims[d] = (seer_dag_axis){NULL, x->dim[d], SEER_AXIS_OTHER};
  seer_op_order(x, order);
  uint32_t rank =
      seer_emit_temp(emit, "rank", SEER_STAGE_ANCHOR, dims, x->rank, order, &reduce, 1, at, &j);
  memcpy(from, at, sizeof from);
  from[axis] = j;
  seer_expr comes_before = is_before(emit, is_largest, seer_emit_load(emit, node, 0, from),
      seer_emit_load(emit, node, 0, at), seer_op_2(emit, SEER_EXPR_LT, j, at[axis]));
  seer_emit_temp_body(
      emit, rank, SEER_COMBINE_SUM, seer_expr_cast(&emit->dag->expr, SEER_DTYPE_I32, comes_before));
  for (uint32_t o = 0; o < node->n_out; o++) {
    if (node->out[o].i == 0) continue;
    uint32_t stage = seer_emit_stage(emit, node, o, SEER_STAGE_EPILOGUE, NULL, &reduce, 1, at, &j);
    memcpy(from, at, sizeof from);
    from[axis] = j;
    seer_expr is_it = seer_op_2(
        emit, SEER_EXPR_EQ, seer_op_to_i64(emit, seer_emit_load_temp(emit, rank, from)), at[axis]);
    seer_dtype dtype = o == 0 ? x->dtype : SEER_DTYPE_I64;
    seer_emit_body(emit, node, o, stage, SEER_COMBINE_SUM,
        seer_expr_select(&emit->dag->expr, is_it, o == 0 ? seer_emit_load(emit, node, 0, from) : j,
            seer_op_num(emit, dtype, 0)));
  }
  return SEER_OK;
}

// ---- on the host

static bool is_k_unknown(const seer_graph *graph, const seer_node *node) {
  return seer_node_attr_i(node, "k", -1) < 0 && !seer_op_const(graph, node, 1);
}

static bool is_for_host(const seer_graph *graph, const seer_node *node) {
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  int64_t axis = seer_node_attr_i(node, "axis", -1);
  if (axis < 0) axis += x->rank;
  if (!x->has_shape || axis < 0 || axis >= x->rank) return false;
  if (is_k_unknown(graph, node) || seer_value_is_sized(x)) return true;
  return !x->constant && x->dim[axis] > MAX_DAG_EXTENT;
}

// i64[1] of a whole number of any shape.
static seer_val as_size(seer_expand *e, seer_val v) {
  int64_t one = 1;
  return seer_expand_reshape(e, seer_expand_cast(e, v, SEER_DTYPE_I64), &one, 1);
}

// How many there are: `*out_bound` at most; `*out_k` holds it, where only a run knows.
static seer_status count_of(seer_expand *e, uint32_t axis, int64_t *out_bound, seer_val *out_k) {
  const seer_value x = *seer_expand_in(e, 0);
  int64_t extent = x.dim[axis], most = extent;
  *out_k = (seer_val){0};
  if (is_k_unknown(e->graph, &e->node)) {
    if (!seer_op_has_in(&e->node, 1) || seer_op_elems(seer_expand_in(e, 1)) != 1)
      return SEER_FAIL(UNSUPPORTED, "input 1 (k) must be one number");
    if (!seer_sized_at_most(e->graph, e->node.in[1], &most) || most > extent) most = extent;
    *out_bound = seer_max_i64(most, 1);
    *out_k = as_size(e, e->node.in[1]);
  } else {
    const seer_value *given = NULL;
    SEER_TRY(read_top_k(e->graph, &e->node, &given, &axis, out_bound));
    if (x.size[axis].i) *out_k = seer_expand_ints(e, out_bound, 1);
  }
  if (x.size[axis].i) *out_k = seer_expand_2(e, "Min", *out_k, x.size[axis]);
  return SEER_OK;
}

static seer_status expand_top_k(seer_expand *e) {
  uint32_t axis;
  int64_t bound;
  seer_val in[2] = {e->node.in[0]}, out[2];
  const seer_value *x = seer_expand_in(e, 0);
  SEER_TRY(seer_op_want_compared(x, 0));
  SEER_TRY(
      seer_op_axis(seer_node_attr_i(&e->node, "axis", -1), x->rank, "attribute 'axis'", &axis));
  if (x->dim[axis] < 1 || x->dim[axis] > MAX_SORTED)
    return SEER_FAIL(UNSUPPORTED, "dimension %u has %" PRId64 " elements, must have 1 to %d", axis,
        x->dim[axis], MAX_SORTED);
  SEER_TRY(count_of(e, axis, &bound, &in[1]));
  SEER_TRY(e->resolve(e));
  const seer_attr attrs[3] = {seer_expand_int("axis", axis),
      seer_expand_int("largest", seer_node_attr_i(&e->node, "largest", 1) != 0),
      seer_expand_int("k", bound)};
  seer_expand_inner(e, "TopK", in, 2, attrs, 3, out, 2);
  SEER_TRY(e->resolve(e));
  const int64_t sorted = axis;
  for (uint32_t o = 0; o < 2; o++) {
    if (!seer_expand_wants(e, o)) continue;
    seer_expand_output(e, o, in[1].i ? seer_expand_sized(e, out[o], &sorted, &in[1], 1) : out[o]);
  }
  return SEER_OK;
}

SEER_OP_ENTRY(top_k, "TopK", 1, 1, 2, 2, SEER_FUSE_REDUCTION, "axis k largest sorted", .rtol = 0,
    .atol = 0, .infer = infer_top_k, .emit = emit_top_k, .is_composite = is_for_host,
    .expand = expand_top_k, .expands_sized = true, .counts = 1u << 1,
    .doc = "NaN is larger than all numbers; of equals the lower index comes first; always sorted")
SEER_OP_INNER(host_top_k, "TopK", 1, 1, 2, SEER_FUSE_OPAQUE, "axis largest k", SEER_HOST_TOP, 2,
    .infer = infer_host_top_k, .emit = emit_top_k, .counts = 1u << 1, .doc = "")
