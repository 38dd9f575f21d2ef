// reduce.c - reductions over named axes: sums, means, extremes, norms, ArgMax and ArgMin.
#include <float.h>

#include "front/sized.h"

typedef enum {
  REDUCE_SUM,
  REDUCE_MEAN,
  REDUCE_MAX,
  REDUCE_MIN,
  REDUCE_PROD,
  REDUCE_SQUARES,
  REDUCE_L1,
  REDUCE_L2,
  REDUCE_LOG_SUM,
  REDUCE_LOG_SUM_EXP
} kind;

// Axes: attribute before opset 18 (13 for ReduceSum), input since; none means all, or nothing at
// all.
static seer_status reduce_mask(const seer_graph *graph, const seer_node *node, seer_arena *arena,
    uint32_t rank, uint32_t *out_mask) {
  int64_t *axes = NULL;
  uint32_t n = 0;
  SEER_TRY(seer_op_ints(graph, node, "axes", 1, arena, &axes, &n));
  if (n == UINT32_MAX || n == 0) {
    bool is_noop = seer_node_attr_i(node, "noop_with_empty_axes", 0) != 0;
    *out_mask = is_noop ? 0 : (1u << rank) - 1;
    return SEER_OK;
  }
  return seer_op_axes_mask(axes, n, rank, out_mask);
}

static seer_status set_reduced(
    const seer_value *x, uint32_t mask, bool keeps_dims, seer_dtype dtype, seer_value *out_value) {
  int64_t dim[SEER_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t d = 0; d < x->rank; d++) {
    bool is_reduced = (mask >> d) & 1u;
    if (!is_reduced || keeps_dims) dim[rank++] = is_reduced ? 1 : x->dim[d];
  }
  return seer_op_set(out_value, dtype, dim, rank);
}

static seer_status infer_reduce(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  uint32_t mask;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(reduce_mask(graph, node, arena, x->rank, &mask));
  return set_reduced(x, mask, seer_node_attr_i(node, "keepdims", 1) != 0, x->dtype, &out_values[0]);
}

// What adds or multiplies: numbers. (Extremes are of bools, too.)
static seer_status infer_reduce_numbers(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  SEER_TRY(infer_reduce(graph, node, arena, out_values));
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  if (x->dtype != SEER_DTYPE_BOOL) return SEER_OK;
  return SEER_FAIL(INVALID, "input 0 ('%s') is bool, must be numbers", x->name);
}

// Index of x for output index `at` and reduction variables `var`.
static void reduced_index(seer_emit *emit, const seer_value *x, uint32_t mask, bool keeps_dims,
    const seer_expr *at, const seer_expr *var, seer_expr *out_index) {
  uint32_t o = 0, r = 0;
  for (uint32_t d = 0; d < x->rank; d++) {
    if (!((mask >> d) & 1u)) {
      out_index[d] = at[o++];
      continue;
    }
    out_index[d] = x->dim[d] == 1 && !var ? seer_op_int(emit, 0) : var[r++];
    if (keeps_dims) o++;
  }
}

static seer_combiner combiner_of(kind k) {
  switch (k) {
    case REDUCE_MAX:
      return SEER_COMBINE_MAX;
    case REDUCE_MIN:
      return SEER_COMBINE_MIN;
    case REDUCE_PROD:
      return SEER_COMBINE_PROD;
    case REDUCE_SUM:
    case REDUCE_MEAN:
    case REDUCE_SQUARES:
    case REDUCE_L1:
    case REDUCE_L2:
    case REDUCE_LOG_SUM:
    case REDUCE_LOG_SUM_EXP:
      break;
  }
  return SEER_COMBINE_SUM;
}

// Where all are -infinity, or one is infinity, so is the logarithm of their sum: their differences
// must not be NaN.
static seer_expr load_finite_max(
    seer_emit *emit, uint32_t stage, seer_dtype dtype, const seer_expr *at) {
  double largest = dtype == SEER_DTYPE_F64 ? DBL_MAX : (double)FLT_MAX;
  seer_expr max = seer_op_2(emit, SEER_EXPR_MAX, seer_emit_load_temp(emit, stage, at),
      seer_op_num(emit, dtype, -largest));
  return seer_op_2(emit, SEER_EXPR_MIN, max, seer_op_num(emit, dtype, largest));
}

// What terms and their sum are computed in: of integers, roots and logarithms in f64.
static seer_dtype term_dtype(seer_dtype dtype, kind k) {
  bool is_real = k == REDUCE_L2 || k == REDUCE_LOG_SUM || k == REDUCE_LOG_SUM_EXP;
  return is_real && !seer_dtype_is_float(dtype) ? SEER_DTYPE_F64 : seer_dtype_computed(dtype);
}

// sum / count, of integers toward zero. (Times 1 / count it would not be exact: 41 times 1 / 41 is
// less than 1.)
static seer_expr mean_of(seer_emit *emit, seer_expr sum, int64_t count) {
  seer_dtype dtype = seer_op_dtype(emit, sum);
  if (seer_dtype_is_float(dtype))
    return seer_op_2(emit, SEER_EXPR_DIV, sum, seer_op_num(emit, dtype, (double)count));
  // count may be 0 only where there is no element of the result
  seer_expr n = seer_op_num(emit, dtype, (double)seer_max_i64(count, 1));
  seer_expr up = seer_op_2(emit, SEER_EXPR_DIV, sum, n);
  if (!seer_dtype_is_signed(dtype)) return up;
  seer_expr down = seer_op_1(
      emit, SEER_EXPR_NEG, seer_op_2(emit, SEER_EXPR_DIV, seer_op_1(emit, SEER_EXPR_NEG, sum), n));
  seer_expr is_negative = seer_op_2(emit, SEER_EXPR_LT, sum, seer_op_num(emit, dtype, 0));
  return seer_expr_select(&emit->dag->expr, is_negative, down, up);
}

static seer_status emit_reduce(seer_emit *emit, const seer_node *node, kind k) {
  const seer_value *x = seer_emit_in(emit, node, 0), *out = seer_emit_out(emit, node, 0);
  bool keeps_dims = seer_node_attr_i(node, "keepdims", 1) != 0;
  uint32_t mask = 0, n_reduce = 0;
  SEER_TRY(reduce_mask(emit->graph, node, emit->arena, x->rank, &mask));
  seer_dag_axis reduce[SEER_MAX_RANK];
  int64_t count = 1;
  for (uint32_t d = 0; d < x->rank; d++) {
    if (!((mask >> d) & 1u)) continue;
    reduce[n_reduce++] = (seer_dag_axis){NULL, x->dim[d], SEER_AXIS_OTHER};
    count *= x->dim[d];
  }
  if (out->rank + n_reduce > SEER_DAG_MAX_AXES) {
    return SEER_FAIL(UNSUPPORTED, "%u dimensions, %u of them reduced", x->rank, n_reduce);
  }
  bool has_epilogue = n_reduce > 0 &&
      (k == REDUCE_MEAN || k == REDUCE_L2 || k == REDUCE_LOG_SUM || k == REDUCE_LOG_SUM_EXP);
  seer_expr at[SEER_MAX_RANK], var[SEER_MAX_RANK], index[SEER_MAX_RANK];
  uint32_t stage, max = 0;
  seer_dtype term = term_dtype(x->dtype, k), made = seer_dtype_computed(out->dtype);
  seer_expr_pool *pool = &emit->dag->expr;
  if (has_epilogue) {
    seer_dag_axis dims[SEER_MAX_RANK];
    uint8_t order[SEER_MAX_RANK];
    seer_op_order(out, order);
    for (uint32_t d = 0; d < out->rank; d++)
      dims[d] = (seer_dag_axis){NULL, out->dim[d], SEER_AXIS_OTHER};
    if (k == REDUCE_LOG_SUM_EXP) {  // the largest is taken off, so that no power overflows
      max = seer_emit_temp(
          emit, "max", SEER_STAGE_ANCHOR, dims, out->rank, order, reduce, n_reduce, at, var);
      reduced_index(emit, x, mask, keeps_dims, at, var, index);
      seer_emit_temp_body(emit, max, SEER_COMBINE_MAX,
          seer_expr_cast(pool, term, seer_emit_load(emit, node, 0, index)));
    }
    stage = seer_emit_temp(
        emit, "sum", SEER_STAGE_ANCHOR, dims, out->rank, order, reduce, n_reduce, at, var);
  } else {
    stage = seer_emit_stage(emit, node, 0, n_reduce ? SEER_STAGE_ANCHOR : seer_op_stage_role(emit),
        NULL, reduce, n_reduce, at, var);
  }
  reduced_index(emit, x, mask, keeps_dims, at, var, index);
  seer_expr body = seer_expr_cast(pool, term, seer_emit_load(emit, node, 0, index));
  if (k == REDUCE_SQUARES || k == REDUCE_L2) body = seer_op_2(emit, SEER_EXPR_MUL, body, body);
  if (k == REDUCE_L1) body = seer_op_1(emit, SEER_EXPR_ABS, body);
  if (k == REDUCE_LOG_SUM_EXP && has_epilogue)
    body = seer_op_1(emit, SEER_EXPR_EXP,
        seer_op_2(emit, SEER_EXPR_SUB, body, load_finite_max(emit, max, term, at)));
  if (!has_epilogue) {
    // Over no axes a sum is its only term: of L2 the root of its square is left, of LogSum its
    // logarithm, and LogSumExp is the element itself.
    if (k == REDUCE_L2) body = seer_op_1(emit, SEER_EXPR_SQRT, body);
    if (k == REDUCE_LOG_SUM) body = seer_op_1(emit, SEER_EXPR_LOG, body);
    seer_emit_body(emit, node, 0, stage, n_reduce ? combiner_of(k) : SEER_COMBINE_NONE,
        seer_expr_cast(pool, made, body));
    return SEER_OK;
  }
  seer_emit_temp_body(emit, stage, SEER_COMBINE_SUM, body);
  uint32_t last = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, NULL, NULL, 0, at, NULL);
  body = seer_emit_load_temp(emit, stage, at);
  if (k == REDUCE_L2) {
    body = seer_op_1(emit, SEER_EXPR_SQRT, body);
  } else if (k != REDUCE_MEAN) {
    body = seer_op_1(emit, SEER_EXPR_LOG, body);
    if (k == REDUCE_LOG_SUM_EXP)
      body = seer_op_2(emit, SEER_EXPR_ADD, body, load_finite_max(emit, max, term, at));
  } else {
    body = mean_of(emit, body, count);
  }
  seer_emit_body(emit, node, 0, last, SEER_COMBINE_NONE, seer_expr_cast(pool, made, body));
  return SEER_OK;
}

// The element that changes no result of the reduction.
static seer_val neutral_of(seer_expand *e, kind k) {
  seer_dtype dtype = seer_expand_in(e, 0)->dtype;
  if (k == REDUCE_MAX || k == REDUCE_LOG_SUM_EXP) return seer_expand_extreme(e, dtype, false);
  if (k == REDUCE_MIN) return seer_expand_extreme(e, dtype, true);
  return seer_expand_scalar(e, dtype, k == REDUCE_PROD);
}

static seer_status carry_reduce(seer_expand *e, kind k) {
  uint32_t mask = seer_sized_reduced(e->graph, &e->node);
  bool keeps = seer_node_attr_i(&e->node, "keepdims", 1) != 0;
  SEER_SIZED_EACH(e, at) {
    if (at.k > 0) return seer_sized_refuse(e, at, "this operand must have a known size");
    if ((mask >> at.d) & 1u) continue;
    uint32_t before = (uint32_t)__builtin_popcount(mask & ((1u << at.d) - 1));
    SEER_TRY(seer_sized_give(e, at, 0, keeps ? at.d : at.d - before));
  }
  seer_sized_mask(e, mask, neutral_of(e, k));
  return SEER_OK;
}

// Where the number of elements is data, so is what the sum is divided by.
static bool is_mean_of_sized(const seer_graph *graph, const seer_node *node) {
  return seer_sized_dims(graph, node, 0) & seer_sized_reduced(graph, node);
}

// `...`: the text, and what else the entry says.
#define REDUCE(id, onnx, which, infer_fn, ...)                                                     \
  static seer_status emit_##id(seer_emit *emit, const seer_node *node) {                           \
    return emit_reduce(emit, node, which);                                                         \
  }                                                                                                \
  static seer_status carry_##id(seer_expand *e) { return carry_reduce(e, which); }                 \
  SEER_OP_ENTRY(id, onnx, 1, 1, 2, 1, SEER_FUSE_REDUCTION, "axes keepdims noop_with_empty_axes",   \
      .rtol = 1e-4, .atol = 1e-5, .infer = infer_fn, .emit = emit_##id, .carry_sizes = carry_##id, \
      .doc = __VA_ARGS__)

#define AXES "axes as attribute or constant input"

REDUCE(reduce_sum, "ReduceSum", REDUCE_SUM, infer_reduce_numbers, AXES)
REDUCE(reduce_mean, "ReduceMean", REDUCE_MEAN, infer_reduce_numbers, AXES,
    .is_composite = is_mean_of_sized, .expand = seer_expand_sized_mean, .expands_sized = true,
    .computes = true)
REDUCE(reduce_max, "ReduceMax", REDUCE_MAX, infer_reduce, AXES)
REDUCE(reduce_min, "ReduceMin", REDUCE_MIN, infer_reduce, AXES)
REDUCE(reduce_prod, "ReduceProd", REDUCE_PROD, infer_reduce_numbers, AXES)
REDUCE(reduce_sum_square, "ReduceSumSquare", REDUCE_SQUARES, infer_reduce_numbers, AXES)
REDUCE(reduce_l1, "ReduceL1", REDUCE_L1, infer_reduce_numbers, AXES)
REDUCE(reduce_l2, "ReduceL2", REDUCE_L2, infer_reduce_numbers, AXES)
REDUCE(reduce_log_sum, "ReduceLogSum", REDUCE_LOG_SUM, infer_reduce_numbers, AXES)
REDUCE(reduce_log_sum_exp, "ReduceLogSumExp", REDUCE_LOG_SUM_EXP, infer_reduce_numbers, AXES)

// ---- ArgMax, ArgMin: a stage of two values, the extreme and its first index

static seer_status infer_arg(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL;
  uint32_t axis = 0;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 0), x->rank, "attribute 'axis'", &axis));
  SEER_TRY(set_reduced(
      x, 1u << axis, seer_node_attr_i(node, "keepdims", 1) != 0, SEER_DTYPE_I64, &out_values[0]));
  if (x->dim[axis] == 0 && seer_op_elems(&out_values[0]) > 0)
    return SEER_FAIL(INVALID, "dimension %u of input 0 has no elements to choose from", axis);
  return SEER_OK;
}

// A helper stage with the index of the extreme along `axis` for each row, rows as `out` has them
// without that axis; the last one's, counted from the end, when `is_last`.
static uint32_t arg_stage(
    seer_emit *emit, const seer_node *node, uint32_t axis, seer_combiner combiner, bool is_last) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  seer_op_rows rows = {x, 1u << axis, 0};
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage = seer_op_row_stage(emit, &rows, "arg", at, NULL);
  seer_expr var = at[axis];
  if (is_last) at[axis] = seer_op_2(emit, SEER_EXPR_SUB, seer_op_int(emit, x->dim[axis] - 1), var);
  seer_expr body[2] = {seer_emit_load(emit, node, 0, at), var};
  seer_dag_set_body(emit->dag, stage, combiner, body, 2);
  return stage;
}

// The index of the row that element `at` of a value like x lies in.
static seer_expr load_arg(
    seer_emit *emit, uint32_t stage, uint32_t rank, uint32_t axis, const seer_expr *at) {
  seer_expr row[SEER_MAX_RANK], physical[SEER_MAX_RANK];
  uint32_t n = 0;
  for (uint32_t d = 0; d < rank; d++) {
    if (d != axis) row[n++] = at[d];
  }
  for (uint32_t k = 0; k < n; k++) physical[k] = row[emit->temp_order[stage][k]];
  return seer_dag_load(emit->dag, emit->dag->stage[stage].out[1], physical);
}

static seer_status emit_arg(seer_emit *emit, const seer_node *node, seer_combiner combiner) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  uint32_t axis = 0;
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 0), x->rank, "attribute 'axis'", &axis));
  bool keeps_dims = seer_node_attr_i(node, "keepdims", 1) != 0;
  seer_expr at[SEER_MAX_RANK], var, index[SEER_MAX_RANK];
  if (seer_node_attr_i(node, "select_last_index", 0) != 0) {
    uint32_t arg = arg_stage(emit, node, axis, combiner, true);
    uint32_t last = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, NULL, NULL, 0, at, NULL);
    seer_expr none = seer_op_int(emit, 0);
    reduced_index(emit, x, 1u << axis, keeps_dims, at, &none, index);
    seer_emit_body(emit, node, 0, last, SEER_COMBINE_NONE,
        seer_op_2(emit, SEER_EXPR_SUB, seer_op_int(emit, x->dim[axis] - 1),
            load_arg(emit, arg, x->rank, axis, index)));
    return SEER_OK;
  }
  seer_dag_axis reduce = {"k", x->dim[axis], SEER_AXIS_OTHER};
  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_ANCHOR, NULL, &reduce, 1, at, &var);
  reduced_index(emit, x, 1u << axis, keeps_dims, at, &var, index);
  seer_expr body[2] = {seer_emit_load(emit, node, 0, index), var};
  seer_dag_set_body(emit->dag, stage, combiner, body, 2);
  emit->buf_of_value[node->out[0].i] = emit->dag->stage[stage].out[1] + 1;
  return SEER_OK;
}

static seer_status emit_arg_max(seer_emit *emit, const seer_node *node) {
  return emit_arg(emit, node, SEER_COMBINE_ARGMAX);
}
static seer_status emit_arg_min(seer_emit *emit, const seer_node *node) {
  return emit_arg(emit, node, SEER_COMBINE_ARGMIN);
}

static seer_status carry_arg(seer_expand *e, bool is_largest) {
  uint32_t axis;
  SEER_TRY(seer_op_axis(seer_node_attr_i(&e->node, "axis", 0), seer_expand_in(e, 0)->rank,
      "attribute 'axis'", &axis));
  bool keeps = seer_node_attr_i(&e->node, "keepdims", 1) != 0;
  SEER_SIZED_EACH(e, at) {
    if (at.d != axis) {
      SEER_TRY(seer_sized_give(e, at, 0, keeps || at.d < axis ? at.d : at.d - 1));
    } else if (seer_node_attr_i(&e->node, "select_last_index", 0)) {
      return seer_sized_refuse(
          e, (seer_sized_place){0, at.d}, "'select_last_index' cannot tell its last");
    }
  }
  // Equals of the least number come first, so that none beyond the size is chosen.
  seer_sized_mask(e, 1u << axis, seer_expand_extreme(e, seer_expand_in(e, 0)->dtype, is_largest));
  return SEER_OK;
}

static seer_status carry_arg_max(seer_expand *e) { return carry_arg(e, false); }
static seer_status carry_arg_min(seer_expand *e) { return carry_arg(e, true); }

#define ARG(id, onnx)                                                                         \
  SEER_OP_ENTRY(id, onnx, 1, 1, 1, 1, SEER_FUSE_REDUCTION, "axis keepdims select_last_index", \
      .rtol = 0, .atol = 0, .infer = infer_arg, .emit = emit_##id, .carry_sizes = carry_##id, \
      .counts = 1u << 0, .doc = "first or last index of the extreme, which NaN is, as in NumPy")
ARG(arg_max, "ArgMax")
ARG(arg_min, "ArgMin")

// ---- Hardmax: 1 at the first of the largest along `axis`, 0 elsewhere

static seer_status hardmax_axis(const seer_node *node, uint32_t rank, uint32_t *out_axis) {
  int64_t usual = node->opset < 13 ? 1 : -1;
  return seer_op_axis(seer_node_attr_i(node, "axis", usual), rank, "attribute 'axis'", out_axis);
}

// Before opset 13: over all dimensions from `axis` on, as over one.
static bool is_hardmax_of_many(const seer_graph *graph, const seer_node *node) {
  int64_t axis = seer_node_attr_i(node, "axis", 1),
          rank = seer_graph_value(graph, node->in[0])->rank;
  return node->opset < 13 && axis != -1 && axis != rank - 1;
}

static seer_status expand_hardmax(seer_expand *e) {
  const seer_value x = *seer_expand_in(e, 0);
  int64_t axis = seer_node_attr_i(&e->node, "axis", 1), flat[2] = {1, 1};
  if (axis < 0) axis += x.rank;
  if (axis < 0 || axis > x.rank)
    return SEER_FAIL(
        INVALID, "attribute 'axis' is %" PRId64 ", must be at most the rank %u", axis, x.rank);
  for (uint32_t d = 0; d < x.rank; d++) flat[d >= axis] *= x.dim[d];
  seer_val y = seer_expand_reshape(e, e->node.in[0], flat, 2);
  y = seer_expand_1i(e, "Hardmax", y, "axis", 1);
  seer_expand_output(e, 0, seer_expand_reshape(e, y, x.dim, x.rank));
  return SEER_OK;
}

static seer_status infer_hardmax(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  uint32_t axis;
  SEER_TRY(seer_op_infer_same_float(graph, node, arena, out_values));
  return hardmax_axis(node, out_values[0].rank, &axis);
}

static seer_status emit_hardmax(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  uint32_t axis = 0;
  SEER_TRY(hardmax_axis(node, x->rank, &axis));
  seer_expr at[SEER_MAX_RANK];
  uint32_t arg = arg_stage(emit, node, axis, SEER_COMBINE_ARGMAX, false);
  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, NULL, NULL, 0, at, NULL);
  seer_expr is_it = seer_op_2(emit, SEER_EXPR_EQ, at[axis], load_arg(emit, arg, x->rank, axis, at));
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE,
      seer_expr_select(
          &emit->dag->expr, is_it, seer_op_num(emit, x->dtype, 1), seer_op_num(emit, x->dtype, 0)));
  return SEER_OK;
}
SEER_OP_ENTRY(hardmax, "Hardmax", 1, 1, 1, 1, SEER_FUSE_REDUCTION, "axis", .rtol = 0, .atol = 0,
    .infer = infer_hardmax, .emit = emit_hardmax, .carry_sizes = seer_sized_softmax,
    .expand = expand_hardmax, .is_composite = is_hardmax_of_many,
    .doc = "both definitions (before and since opset 13)")
