// norm.c - normalisations: BatchNormalization (inference), LRN, Softmax and LogSoftmax. Row
// statistics are reductions into helper stages; the last stage applies them.
#include "front/sized.h"

// ---- BatchNormalization: (x - mean) * (scale / sqrt(var + epsilon)) + bias, along dimension 1.
// Statistics, scale and bias may be of float types of their own (a network in bf16 keeps them in
// f32): it is computed in the widest.

static seer_status infer_batch_norm(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  static const char *const names[5] = {"X", "scale", "B", "mean", "var"};
  const seer_value *x = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_want_float(x, 0));
  if (x->rank < 2) {
    return SEER_FAIL(
        INVALID, "input 0 is %s, must have rank 2 or more", seer_op_shape_text(x, arena));
  }
  uint32_t n_dim = seer_node_attr_i(node, "spatial", 1) != 0 ? 1 : x->rank - 1u;
  for (uint32_t k = 1; k < 5; k++) {
    const seer_value *stat = NULL;
    SEER_TRY(seer_op_in(graph, node, k, &stat));
    SEER_TRY(seer_op_want_float(stat, k));
    // One for each channel, or (spatial = 0, before opset 9) for each element but of the batch.
    bool fits = stat->rank == n_dim;
    for (uint32_t d = 0; fits && d < n_dim; d++) fits = stat->dim[d] == x->dim[1 + d];
    if (!fits) {
      return SEER_FAIL(INVALID, "input %u (%s) is %s, must have %u dimensions, of %" PRId64 "%s", k,
          names[k], seer_op_shape_text(stat, arena), n_dim, x->dim[1],
          n_dim > 1 ? " and those behind" : "");
    }
  }
  for (uint32_t k = 1; k < node->n_out; k++) {
    if (node->out[k].i == 0) continue;
    if (seer_graph_n_uses(graph, node->out[k]) > 0)
      return SEER_FAIL(INVALID, "output %u is used, and only training mode has it", k);
    SEER_TRY(seer_op_set(&out_values[k], x->dtype, &x->dim[1], n_dim));
  }
  return seer_op_infer_same(graph, node, arena, out_values);
}

static seer_status emit_batch_norm(seer_emit *emit, const seer_node *node) {
  seer_dtype dtype = seer_emit_out(emit, node, 0)->dtype;
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_expr x = seer_emit_load(emit, node, 0, at), stat[5];
  bool has_f64 = dtype == SEER_DTYPE_F64;
  for (uint32_t k = 1; k < 5; k++) {
    stat[k] = seer_emit_load(emit, node, k, &at[1]);
    has_f64 |= seer_emit_in(emit, node, k)->dtype == SEER_DTYPE_F64;
  }
  seer_dtype wide = has_f64 ? SEER_DTYPE_F64 : SEER_DTYPE_F32;
  x = seer_expr_cast(&emit->dag->expr, wide, x);
  for (uint32_t k = 1; k < 5; k++) stat[k] = seer_expr_cast(&emit->dag->expr, wide, stat[k]);
  seer_expr epsilon = seer_op_num(emit, wide, seer_node_attr_f(node, "epsilon", 1e-5));
  seer_expr deviation =
      seer_op_1(emit, SEER_EXPR_SQRT, seer_op_2(emit, SEER_EXPR_ADD, stat[4], epsilon));
  seer_expr factor = seer_op_2(emit, SEER_EXPR_DIV, stat[1], deviation);
  seer_expr body =
      seer_op_2(emit, SEER_EXPR_MUL, seer_op_2(emit, SEER_EXPR_SUB, x, stat[3]), factor);
  seer_expr y = seer_op_2(emit, SEER_EXPR_ADD, body, stat[2]);
  y = seer_expr_cast(&emit->dag->expr, seer_dtype_computed(dtype), y);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, y);
  return SEER_OK;
}

SEER_OP_ENTRY(batch_norm, "BatchNormalization", 1, 5, 5, 5, SEER_FUSE_ELEMENTWISE,
    "epsilon momentum spatial training_mode is_test consumed_inputs", .rtol = 1e-5, .atol = 1e-5,
    .infer = infer_batch_norm, .emit = emit_batch_norm, .expand = seer_batch_norm_expand,
    .is_composite = seer_batch_norm_is_training, .computes = true, .wants_channels_last = true,
    .doc = "training mode: statistics of the input")

// ---- LRN: x / (bias + alpha / size * sum of squares over `size` channels) ^ beta

static seer_status infer_lrn(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_want_float(x, 0));
  int64_t size = seer_node_attr_i(node, "size", 0);
  if (size < 1 || size > 1 << 20) {
    return SEER_FAIL(INVALID, "attribute 'size' is %" PRId64 ", must be at least 1", size);
  }
  if (x->rank < 2) {
    return SEER_FAIL(
        INVALID, "input 0 is %s, must have rank 2 or more", seer_op_shape_text(x, arena));
  }
  return seer_op_infer_same(graph, node, arena, out_values);
}

// base ^ -beta. Networks use 0.75, which two square roots give at a fraction of pow's cost.
static seer_expr inverse_power(
    seer_emit *emit, seer_dtype dtype, seer_expr base, double beta, seer_expr x) {
  if (beta == 0.75) {
    seer_expr root = seer_op_1(emit, SEER_EXPR_SQRT, base);
    return seer_op_2(emit, SEER_EXPR_DIV, x,
        seer_op_2(emit, SEER_EXPR_MUL, root, seer_op_1(emit, SEER_EXPR_SQRT, root)));
  }
  if (beta == 0.5) return seer_op_2(emit, SEER_EXPR_DIV, x, seer_op_1(emit, SEER_EXPR_SQRT, base));
  if (beta == 1.0) return seer_op_2(emit, SEER_EXPR_DIV, x, base);
  return seer_op_2(
      emit, SEER_EXPR_DIV, x, seer_op_2(emit, SEER_EXPR_POW, base, seer_op_num(emit, dtype, beta)));
}

static seer_status emit_lrn(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0), *out = seer_emit_out(emit, node, 0);
  double alpha = seer_node_attr_f(node, "alpha", 1e-4), beta = seer_node_attr_f(node, "beta", 0.75);
  double bias = seer_node_attr_f(node, "bias", 1.0);
  int64_t size = seer_node_attr_i(node, "size", 1), before = (size - 1) / 2;
  seer_dag_axis dims[SEER_MAX_RANK], window = {"k", size, SEER_AXIS_OTHER};
  uint8_t order[SEER_MAX_RANK], out_order[SEER_MAX_RANK];
  seer_expr at[SEER_MAX_RANK], k;
  seer_op_order(x, order);
  seer_op_order(out, out_order);

  // Channels padded with zeros, size - 1 more of them.
  for (uint32_t d = 0; d < x->rank; d++)
    dims[d] = (seer_dag_axis){NULL, x->dim[d], SEER_AXIS_OTHER};
  dims[1].extent += size - 1;
  uint32_t padded = 0;
  if (size > 1) {
    padded = seer_emit_temp(emit, "pad", SEER_STAGE_PAD, dims, x->rank, order, NULL, 0, at, NULL);
    at[1] = seer_op_2(emit, SEER_EXPR_ADD, at[1], seer_op_int(emit, -before));
    seer_expr inside = seer_op_within(
        emit, (seer_expr){0}, at[1], -before, x->dim[1] + size - 2 - before, 0, x->dim[1]);
    seer_emit_temp_body(emit, padded, SEER_COMBINE_NONE,
        seer_emit_load_guarded(emit, node, 0, at, inside, seer_op_num(emit, x->dtype, 0)));
  }
  dims[1].extent = x->dim[1];
  uint32_t sum =
      seer_emit_temp(emit, "sum", SEER_STAGE_ANCHOR, dims, x->rank, out_order, &window, 1, at, &k);
  at[1] = seer_op_2(emit, SEER_EXPR_ADD, at[1], size > 1 ? k : seer_op_int(emit, 0));
  seer_expr one =
      size > 1 ? seer_emit_load_temp(emit, padded, at) : seer_emit_load(emit, node, 0, at);
  seer_emit_temp_body(emit, sum, SEER_COMBINE_SUM, seer_op_2(emit, SEER_EXPR_MUL, one, one));

  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, NULL, NULL, 0, at, NULL);
  seer_expr squares = seer_emit_load_temp(emit, sum, at);
  seer_expr base = seer_op_2(emit, SEER_EXPR_ADD,
      seer_op_2(emit, SEER_EXPR_MUL, squares, seer_op_num(emit, x->dtype, alpha / (double)size)),
      seer_op_num(emit, x->dtype, bias));
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE,
      inverse_power(emit, x->dtype, base, beta, seer_emit_load(emit, node, 0, at)));
  return SEER_OK;
}

SEER_OP_ENTRY(lrn, "LRN", 1, 1, 1, 1, SEER_FUSE_REDUCTION, "alpha beta bias size", .rtol = 1e-5,
    .atol = 1e-6, .infer = infer_lrn, .emit = emit_lrn, .wants_channels_last = true,
    .doc = "across channels")

// ---- Softmax: before opset 13 over all dimensions from `axis` on, since then over `axis` alone

static seer_status softmax_dims(const seer_node *node, uint32_t rank, uint32_t *out_mask) {
  uint32_t axis = 0;
  bool is_flat = node->opset < 13;
  if (rank == 0) return SEER_FAIL(INVALID, "input 0 is a scalar, must have rank 1 or more");
  int64_t given = seer_node_attr_i(node, "axis", is_flat ? 1 : -1);
  if (is_flat && given == (int64_t)rank)
    return SEER_FAIL(UNSUPPORTED, "attribute 'axis' equals the rank %u", rank);
  SEER_TRY(seer_op_axis(given, rank, "attribute 'axis'", &axis));
  *out_mask = is_flat ? ((1u << rank) - 1) & ~((1u << axis) - 1) : 1u << axis;
  return SEER_OK;
}

static seer_status infer_softmax(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  uint32_t mask;
  SEER_TRY(seer_op_infer_same_float(graph, node, arena, out_values));
  return softmax_dims(node, out_values[0].rank, &mask);
}

static seer_expr load_row(
    seer_emit *emit, uint32_t stage, const seer_op_rows *rows, const seer_expr *at) {
  seer_expr row[SEER_MAX_RANK];
  seer_op_row_at(emit, rows, at, row);
  return seer_emit_load_temp(emit, stage, row);
}

static seer_status emit_softmax_kind(seer_emit *emit, const seer_node *node, bool is_log) {
  const seer_value *out = seer_emit_out(emit, node, 0);
  uint32_t mask = 0, rank = out->rank, exps = 0;
  SEER_TRY(softmax_dims(node, rank, &mask));
  seer_op_rows rows = {out, mask, 0};
  seer_expr at[SEER_MAX_RANK];
  uint32_t max = seer_op_row_stage(emit, &rows, "max", at, NULL);
  seer_emit_temp_body(emit, max, SEER_COMBINE_MAX, seer_emit_load(emit, node, 0, at));

  if (!is_log) {  // e^(x - max) is read twice: a stage of its own
    seer_dag_axis dims[SEER_MAX_RANK];
    uint8_t order[SEER_MAX_RANK];
    seer_op_order(out, order);
    for (uint32_t d = 0; d < rank; d++)
      dims[d] = (seer_dag_axis){NULL, out->dim[d], SEER_AXIS_OTHER};
    exps = seer_emit_temp(emit, "exp", SEER_STAGE_EPILOGUE, dims, rank, order, NULL, 0, at, NULL);
    seer_expr shifted = seer_op_2(
        emit, SEER_EXPR_SUB, seer_emit_load(emit, node, 0, at), load_row(emit, max, &rows, at));
    seer_emit_temp_body(emit, exps, SEER_COMBINE_NONE, seer_op_1(emit, SEER_EXPR_EXP, shifted));
  }
  uint32_t sum = seer_op_row_stage(emit, &rows, "sum", at, NULL);
  if (is_log) {
    seer_expr shifted = seer_op_2(
        emit, SEER_EXPR_SUB, seer_emit_load(emit, node, 0, at), load_row(emit, max, &rows, at));
    seer_emit_temp_body(emit, sum, SEER_COMBINE_SUM, seer_op_1(emit, SEER_EXPR_EXP, shifted));
  } else {
    seer_emit_temp_body(emit, sum, SEER_COMBINE_SUM, seer_emit_load_temp(emit, exps, at));
  }
  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, NULL, NULL, 0, at, NULL);
  seer_expr total = load_row(emit, sum, &rows, at), body;
  if (is_log) {
    seer_expr shifted = seer_op_2(
        emit, SEER_EXPR_SUB, seer_emit_load(emit, node, 0, at), load_row(emit, max, &rows, at));
    body = seer_op_2(emit, SEER_EXPR_SUB, shifted, seer_op_1(emit, SEER_EXPR_LOG, total));
  } else {
    // The sum is 1 or more, or NaN: its reciprocal loses nothing, and is one division a row.
    seer_expr share = seer_op_2(emit, SEER_EXPR_DIV, seer_op_num(emit, out->dtype, 1.0), total);
    body = seer_op_2(emit, SEER_EXPR_MUL, seer_emit_load_temp(emit, exps, at), share);
  }
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, body);
  return SEER_OK;
}

static seer_status emit_softmax(seer_emit *emit, const seer_node *node) {
  return emit_softmax_kind(emit, node, false);
}
static seer_status emit_log_softmax(seer_emit *emit, const seer_node *node) {
  return emit_softmax_kind(emit, node, true);
}

SEER_OP_ENTRY(softmax, "Softmax", 1, 1, 1, 1, SEER_FUSE_REDUCTION, "axis", .rtol = 1e-5,
    .atol = 1e-6, .infer = infer_softmax, .emit = emit_softmax, .carry_sizes = seer_sized_softmax,
    .doc = "both definitions (before and since opset 13)")
SEER_OP_ENTRY(log_softmax, "LogSoftmax", 1, 1, 1, 1, SEER_FUSE_REDUCTION, "axis", .rtol = 1e-5,
    .atol = 1e-5, .infer = infer_softmax, .emit = emit_log_softmax,
    .carry_sizes = seer_sized_softmax, .doc = "both definitions (before and since opset 13)")
