// mask.c - operators that compare indices: Trilu, OneHot.
#include <math.h>

#include "front/sized.h"

// `...`: the text, and what else the entry says.
#define MASK(id, onnx, from, in_min, in_max, kind, attributes, ...)                              \
  SEER_OP_ENTRY(id, onnx, from, in_min, in_max, 1, kind, attributes, .rtol = 1e-5, .atol = 1e-5, \
      .infer = infer_##id, .emit = emit_##id, .doc = __VA_ARGS__)

// ---- Trilu: what lies on and above (below) diagonal k of the last two dimensions

static seer_status infer_trilu(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  int64_t k;
  SEER_TRY(seer_op_const_int(graph, node, 1, "k", 0, &k));
  SEER_TRY(seer_op_infer_same(graph, node, arena, out_values));
  if (out_values[0].rank >= 2) return SEER_OK;
  return SEER_FAIL(INVALID, "input 0 has rank %u, must have 2 or more", out_values[0].rank);
}

static seer_status emit_trilu(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  int64_t k = 0, n_row = x->dim[x->rank - 2], n_column = x->dim[x->rank - 1];
  SEER_TRY(seer_op_const_int(emit->graph, node, 1, "k", 0, &k));
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  // k beyond the corners is as good as the corner's neighbour, and keeps sums of indices small.
  k = seer_max_i64(-n_row, seer_min_i64(n_column, k));
  seer_expr first = seer_op_2(emit, SEER_EXPR_ADD, at[x->rank - 2], seer_op_int(emit, k));
  bool is_upper = seer_node_attr_i(node, "upper", 1) != 0;
  seer_expr stays = seer_op_2(emit, is_upper ? SEER_EXPR_GE : SEER_EXPR_LE, at[x->rank - 1], first);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE,
      seer_expr_select(&emit->dag->expr, stays, seer_emit_load(emit, node, 0, at),
          seer_op_num(emit, x->dtype, 0)));
  return SEER_OK;
}
MASK(trilu, "Trilu", 14, 1, 2, SEER_FUSE_ELEMENTWISE, "upper", "constant k")

// ---- OneHot: values[1] where the new dimension's index is the input's element, values[0]
// elsewhere

static seer_status one_hot_shape(
    const seer_graph *graph, const seer_node *node, uint32_t *out_axis, int64_t *out_depth) {
  const seer_value *index = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &index));
  const seer_tensor *depth = seer_op_const(graph, node, 1);
  if (depth && seer_dtype_is_float(depth->dtype) && seer_tensor_elems(depth) == 1)
    *out_depth = (int64_t)fmax(-1, fmin(1e15, seer_dtype_load_f64(depth->dtype, depth->data, 0)));
  else  // of any type here, of integers where an axis or a diagonal is meant
    SEER_TRY(seer_op_const_int(graph, node, 1, "depth", 0, out_depth));
  if (*out_depth < 1)
    return SEER_FAIL(INVALID, "'depth' is %" PRId64 ", must be at least 1", *out_depth);
  return seer_op_axis(
      seer_node_attr_i(node, "axis", -1), index->rank + 1u, "attribute 'axis'", out_axis);
}

static seer_status infer_one_hot(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *index = NULL, *values = NULL;
  uint32_t axis = 0, n = 0;
  int64_t depth = 0, dim[SEER_MAX_RANK + 1];
  SEER_TRY(seer_op_in(graph, node, 0, &index));
  SEER_TRY(seer_op_in(graph, node, 2, &values));
  SEER_TRY(one_hot_shape(graph, node, &axis, &depth));
  if (values->rank != 1 || values->dim[0] != 2)
    return SEER_FAIL(INVALID, "input 2 is %s, must be [2]", seer_op_shape_text(values, arena));
  for (uint32_t d = 0; d <= index->rank; d++) dim[d] = d == axis ? depth : index->dim[n++];
  return seer_op_set(&out_values[0], values->dtype, dim, index->rank + 1u);
}

static seer_status emit_one_hot(seer_emit *emit, const seer_node *node) {
  const seer_value *index = seer_emit_in(emit, node, 0);
  uint32_t axis = 0, n = 0;
  int64_t depth = 0;
  SEER_TRY(one_hot_shape(emit->graph, node, &axis, &depth));
  seer_expr at[SEER_MAX_RANK], from[SEER_MAX_RANK], value[2];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  for (uint32_t d = 0; d <= index->rank; d++)
    if (d != axis) from[n++] = at[d];
  seer_expr k = seer_op_to_i64(emit, seer_emit_load(emit, node, 0, from));
  for (uint32_t v = 0; v < 2; v++) {
    seer_expr which = seer_op_int(emit, v);
    value[v] = seer_emit_load(emit, node, 2, &which);
  }
  // Negative indices count from the end: two positions may be meant, never both in range.
  seer_expr is_it = seer_op_2(emit, SEER_EXPR_OR, seer_op_2(emit, SEER_EXPR_EQ, k, at[axis]),
      seer_op_2(emit, SEER_EXPR_EQ, seer_op_2(emit, SEER_EXPR_ADD, k, seer_op_int(emit, depth)),
          at[axis]));
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE,
      seer_expr_select(&emit->dag->expr, is_it, value[1], value[0]));
  return SEER_OK;
}
MASK(one_hot, "OneHot", 9, 3, 3, SEER_FUSE_INJECTIVE, "axis", "constant depth")
