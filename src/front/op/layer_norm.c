// layer_norm.c - normalisations by statistics of the input itself: LayerNormalization,
// InstanceNormalization, GroupNormalization, MeanVarianceNormalization, LpNormalization. Mean and
// variance are two reductions into helper stages (of x, then of its squared distance from the mean:
// stable for any mean); the last stage applies them.
#include "front/onnx/dtype.h"
#include "front/sized.h"

typedef struct {
  uint32_t mean, scale;  // stages: mean, and what the distance from it is multiplied with
} statistics;

// scale = 1 / (sqrt(variance + epsilon) + more)
static statistics emit_statistics(
    seer_emit *emit, const seer_node *node, const seer_op_rows *r, double epsilon, double more) {
  seer_expr at[SEER_MAX_RANK], row[SEER_MAX_RANK];
  seer_dtype dtype = r->x->dtype;
  // Divided, not multiplied by its inverse: the mean of equal numbers is to be that number, or what
  // is left of them is divided by next to nothing.
  seer_expr count = seer_op_num(emit, dtype, (double)seer_op_row_elems(r));
  seer_expr share = seer_op_num(emit, dtype, 1.0 / (double)seer_op_row_elems(r));
  statistics s;
  uint32_t sum = seer_op_row_stage(emit, r, "sum", at, row);
  seer_emit_temp_body(emit, sum, SEER_COMBINE_SUM, seer_emit_load(emit, node, 0, at));
  s.mean = seer_op_row_stage(emit, r, "mean", NULL, row);
  seer_emit_temp_body(emit, s.mean, SEER_COMBINE_NONE,
      seer_op_2(emit, SEER_EXPR_DIV, seer_emit_load_temp(emit, sum, row), count));
  uint32_t squares = seer_op_row_stage(emit, r, "squares", at, row);
  seer_expr distance = seer_op_2(emit, SEER_EXPR_SUB, seer_emit_load(emit, node, 0, at),
      seer_emit_load_temp(emit, s.mean, row));
  seer_emit_temp_body(
      emit, squares, SEER_COMBINE_SUM, seer_op_2(emit, SEER_EXPR_MUL, distance, distance));
  s.scale = seer_op_row_stage(emit, r, "scale", NULL, row);
  seer_expr variance =
      seer_op_2(emit, SEER_EXPR_MUL, seer_emit_load_temp(emit, squares, row), share);
  seer_expr deviation = seer_op_1(emit, SEER_EXPR_SQRT,
      seer_op_2(emit, SEER_EXPR_ADD, variance, seer_op_num(emit, dtype, epsilon)));
  if (more != 0)
    deviation = seer_op_2(emit, SEER_EXPR_ADD, deviation, seer_op_num(emit, dtype, more));
  seer_emit_temp_body(emit, s.scale, SEER_COMBINE_NONE,
      seer_op_2(emit, SEER_EXPR_DIV, seer_op_num(emit, dtype, 1), deviation));
  return s;
}

static seer_expr normalised(seer_emit *emit, const seer_node *node, const seer_op_rows *r,
    const statistics *s, const seer_expr *at) {
  seer_expr row[SEER_MAX_RANK];
  seer_op_row_at(emit, r, at, row);
  seer_expr distance = seer_op_2(emit, SEER_EXPR_SUB, seer_emit_load(emit, node, 0, at),
      seer_emit_load_temp(emit, s->mean, row));
  return seer_op_2(emit, SEER_EXPR_MUL, distance, seer_emit_load_temp(emit, s->scale, row));
}

static uint32_t start(seer_emit *emit, const seer_node *node, uint32_t k, seer_expr *at) {
  return seer_emit_stage(emit, node, k, SEER_STAGE_EPILOGUE, NULL, NULL, 0, at, NULL);
}

// ---- LayerNormalization: over the dimensions from `axis` on

static uint32_t mask_from(uint32_t axis, uint32_t rank) {
  return ((1u << rank) - 1) & ~((1u << axis) - 1);
}

static seer_status layer_axis(const seer_node *node, uint32_t rank, uint32_t *out_axis) {
  return seer_op_axis(seer_node_attr_i(node, "axis", -1), rank, "attribute 'axis'", out_axis);
}

static seer_status infer_layer_norm(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  uint32_t axis = 0;
  SEER_TRY(seer_op_infer_same_float(graph, node, arena, out_values));
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(layer_axis(node, x->rank, &axis));
  int64_t dim[SEER_MAX_RANK];
  for (uint32_t k = 1; k < node->n_in; k++) {
    const seer_value *factor = NULL;
    if (!seer_op_has_in(node, k)) continue;
    SEER_TRY(seer_op_in(graph, node, k, &factor));
    SEER_TRY(seer_op_same_dtype(x, factor, k));
    uint32_t rank = x->rank;
    for (uint32_t d = 0; d < rank; d++) dim[d] = x->dim[d];
    SEER_TRY(seer_op_broadcast(factor, k, dim, &rank));
    bool is_same = rank == x->rank;
    for (uint32_t d = 0; d < rank && is_same; d++) is_same = dim[d] == x->dim[d];
    if (!is_same)
      return SEER_FAIL(INVALID, "input %u is %s, must broadcast to input 0's %s", k,
          seer_op_shape_text(factor, arena), seer_op_shape_text(x, arena));
  }
  for (uint32_t d = 0; d < x->rank; d++) dim[d] = d >= axis ? 1 : x->dim[d];
  // The statistics are of the type that they are taken in, not of x's.
  seer_dtype stash = seer_onnx_dtype((int32_t)seer_node_attr_i(node, "stash_type", 1));
  if (!seer_dtype_is_float(stash))
    return SEER_FAIL(INVALID, "attribute 'stash_type' is no type of floats");
  for (uint32_t k = 1; k < node->n_out; k++) {
    if (node->out[k].i != 0) SEER_TRY(seer_op_set(&out_values[k], stash, dim, x->rank));
  }
  return SEER_OK;
}

static seer_status emit_layer_norm(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  uint32_t axis = 0;
  SEER_TRY(layer_axis(node, x->rank, &axis));
  seer_op_rows r = {x, mask_from(axis, x->rank), 0};
  statistics s = emit_statistics(emit, node, &r, seer_node_attr_f(node, "epsilon", 1e-5), 0);
  seer_expr at[SEER_MAX_RANK], row[SEER_MAX_RANK];
  uint32_t stage = start(emit, node, 0, at);
  seer_expr body = normalised(emit, node, &r, &s, at);
  body = seer_op_2(emit, SEER_EXPR_MUL, body, seer_op_load_broadcast(emit, node, 1, at, x->rank));
  if (seer_emit_has_in(emit, node, 2))
    body = seer_op_2(emit, SEER_EXPR_ADD, body, seer_op_load_broadcast(emit, node, 2, at, x->rank));
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, body);
  for (uint32_t k = 1; k < node->n_out; k++) {  // Mean, InvStdDev
    if (node->out[k].i == 0) continue;
    stage = start(emit, node, k, at);
    seer_op_row_at(emit, &r, at, row);
    seer_dtype stash = seer_dtype_computed(seer_emit_out(emit, node, k)->dtype);
    seer_emit_body(emit, node, k, stage, SEER_COMBINE_NONE,
        seer_expr_cast(
            &emit->dag->expr, stash, seer_emit_load_temp(emit, k == 1 ? s.mean : s.scale, row)));
  }
  return SEER_OK;
}

// ---- InstanceNormalization, GroupNormalization: over the space of a channel or of some channels

static seer_status infer_channel_norm(const seer_graph *graph, const seer_node *node,
    seer_arena *arena, int64_t n_factor, seer_value *out_values) {
  const seer_value *x = NULL;
  SEER_TRY(seer_op_infer_same_float(graph, node, arena, out_values));
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  for (uint32_t k = 1; k < 3; k++) {
    const seer_value *factor = NULL;
    SEER_TRY(seer_op_in(graph, node, k, &factor));
    SEER_TRY(seer_op_same_dtype(x, factor, k));
    if (factor->rank != 1 || factor->dim[0] != n_factor)
      return SEER_FAIL(INVALID, "input %u is %s, must be [%" PRId64 "]", k,
          seer_op_shape_text(factor, arena), n_factor);
  }
  return SEER_OK;
}

static seer_status want_channels(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, const seer_value **out_x) {
  SEER_TRY(seer_op_in(graph, node, 0, out_x));
  if ((*out_x)->rank >= 3) return SEER_OK;
  return SEER_FAIL(
      INVALID, "input 0 is %s, must have rank 3 or more", seer_op_shape_text(*out_x, arena));
}

static seer_status infer_instance_norm(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  SEER_TRY(want_channels(graph, node, arena, &x));
  return infer_channel_norm(graph, node, arena, x->dim[1], out_values);
}

static seer_status infer_group_norm(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  SEER_TRY(want_channels(graph, node, arena, &x));
  int64_t groups = seer_node_attr_i(node, "num_groups", 0);
  if (groups < 1 || x->dim[1] % groups != 0)
    return SEER_FAIL(INVALID,
        "attribute 'num_groups' is %" PRId64 ", must divide the %" PRId64 " channels", groups,
        x->dim[1]);
  // Opset 18 has a factor per group, opset 21 one per channel.
  return infer_channel_norm(graph, node, arena, node->opset < 21 ? groups : x->dim[1], out_values);
}

static seer_status emit_channel_norm(
    seer_emit *emit, const seer_node *node, int64_t group, bool has_factor_per_group) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  seer_op_rows r = {x, mask_from(2, x->rank), group};
  statistics s = emit_statistics(emit, node, &r, seer_node_attr_f(node, "epsilon", 1e-5), 0);
  seer_expr at[SEER_MAX_RANK], row[SEER_MAX_RANK];
  uint32_t stage = start(emit, node, 0, at);
  seer_op_row_at(emit, &r, at, row);
  seer_expr *factor_at = has_factor_per_group ? &row[1] : &at[1];
  seer_expr body = normalised(emit, node, &r, &s, at);
  body = seer_op_2(emit, SEER_EXPR_MUL, body, seer_emit_load(emit, node, 1, factor_at));
  body = seer_op_2(emit, SEER_EXPR_ADD, body, seer_emit_load(emit, node, 2, factor_at));
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, body);
  return SEER_OK;
}

static seer_status emit_instance_norm(seer_emit *emit, const seer_node *node) {
  return emit_channel_norm(emit, node, 0, false);
}

static seer_status emit_group_norm(seer_emit *emit, const seer_node *node) {
  int64_t groups = seer_node_attr_i(node, "num_groups", 1);
  int64_t channels = seer_emit_in(emit, node, 0)->dim[1];
  return emit_channel_norm(emit, node, channels / groups, node->opset < 21);
}

// ---- MeanVarianceNormalization: (x - mean) / deviation over `axes`

static seer_status mvn_mask(const seer_node *node, uint32_t rank, uint32_t *out_mask) {
  static const int64_t usual[3] = {0, 2, 3};
  const seer_attr *attr = seer_node_attr_ints(node, "axes");
  if (!attr) return seer_op_axes_mask(usual, 3, rank, out_mask);
  if (attr->n == 0) return SEER_FAIL(INVALID, "attribute 'axes' is empty");
  return seer_op_axes_mask(attr->ints, (uint32_t)attr->n, rank, out_mask);
}

static seer_status infer_mvn(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  uint32_t mask;
  SEER_TRY(seer_op_infer_same_float(graph, node, arena, out_values));
  return mvn_mask(node, out_values[0].rank, &mask);
}

#define MVN_MORE 1e-9  // what the standard adds to the deviation

static seer_status emit_mvn(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  uint32_t mask = 0;
  SEER_TRY(mvn_mask(node, x->rank, &mask));
  seer_op_rows r = {x, mask, 0};
  statistics s = emit_statistics(emit, node, &r, 0, MVN_MORE);
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage = start(emit, node, 0, at);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, normalised(emit, node, &r, &s, at));
  return SEER_OK;
}

// ---- LpNormalization: x / norm along `axis`; 0 where the norm is 0

static seer_status infer_lp_norm(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  uint32_t axis;
  int64_t p = seer_node_attr_i(node, "p", 2);
  SEER_TRY(seer_op_infer_same_float(graph, node, arena, out_values));
  if (p != 1 && p != 2)
    return SEER_FAIL(INVALID, "attribute 'p' is %" PRId64 ", must be 1 or 2", p);
  return layer_axis(node, out_values[0].rank, &axis);
}

static seer_status emit_lp_norm(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  uint32_t axis = 0;
  SEER_TRY(layer_axis(node, x->rank, &axis));
  bool is_l1 = seer_node_attr_i(node, "p", 2) == 1;
  seer_op_rows r = {x, 1u << axis, 0};
  seer_expr at[SEER_MAX_RANK], row[SEER_MAX_RANK];
  uint32_t sum = seer_op_row_stage(emit, &r, "sum", at, row);
  seer_expr one = seer_emit_load(emit, node, 0, at);
  seer_emit_temp_body(emit, sum, SEER_COMBINE_SUM,
      is_l1 ? seer_op_1(emit, SEER_EXPR_ABS, one) : seer_op_2(emit, SEER_EXPR_MUL, one, one));
  uint32_t stage = start(emit, node, 0, at);
  seer_op_row_at(emit, &r, at, row);
  seer_expr norm = seer_emit_load_temp(emit, sum, row);
  if (!is_l1) norm = seer_op_1(emit, SEER_EXPR_SQRT, norm);
  seer_expr zero = seer_op_num(emit, seer_op_dtype(emit, norm), 0);
  seer_expr quotient = seer_op_2(emit, SEER_EXPR_DIV, seer_emit_load(emit, node, 0, at), norm);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE,
      seer_expr_select(
          &emit->dag->expr, seer_op_2(emit, SEER_EXPR_EQ, norm, zero), zero, quotient));
  return SEER_OK;
}

static seer_status carry_layer_norm(seer_expand *e) {
  uint32_t axis, rank = seer_expand_in(e, 0)->rank;
  SEER_TRY(seer_op_axis(seer_node_attr_i(&e->node, "axis", -1), rank, "attribute 'axis'", &axis));
  SEER_SIZED_EACH(e, at) {
    if (at.k > 0 || at.d >= axis) return seer_sized_refuse(e, at, "the operator reduces it");
    for (uint32_t k = 0; k < e->node.n_out; k++) SEER_TRY(seer_sized_give(e, at, k, at.d));
  }
  return SEER_OK;
}

// `...`: the text, and what else the entry says.
#define NORM(id, onnx, from, n_in_, most_in, most_out, attributes, ...)                    \
  SEER_OP_ENTRY(id, onnx, from, n_in_, most_in, most_out, SEER_FUSE_REDUCTION, attributes, \
      .rtol = 1e-4, .atol = 1e-5, .infer = infer_##id, .emit = emit_##id, .doc = __VA_ARGS__)
NORM(layer_norm, "LayerNormalization", 1, 2, 3, 3, "axis epsilon stash_type", "all of it",
    .carry_sizes = carry_layer_norm)
NORM(instance_norm, "InstanceNormalization", 6, 3, 3, 1, "epsilon", "all of it",
    .wants_channels_last = true)
NORM(group_norm, "GroupNormalization", 18, 3, 3, 1, "epsilon num_groups stash_type",
    "factors per group (before opset 21) and per channel", .wants_channels_last = true)
NORM(mvn, "MeanVarianceNormalization", 9, 1, 1, 1, "axes", "all of it")
NORM(lp_norm, "LpNormalization", 1, 1, 1, 1, "axis p", "all of it")
