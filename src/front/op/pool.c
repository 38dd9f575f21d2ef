// pool.c - pooling: MaxPool, AveragePool, LpPool, and the global ones. A reduction over the window;
// averages are a sum and a division by the count, which is a closed form of the output index where
// paddings do not count.
#include <math.h>

#include "front/sized.h"

static seer_status read_pool(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_op_window *out) {
  const seer_value *x = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  if (x->rank < 3 || x->rank > 5) {
    return SEER_FAIL(UNSUPPORTED, "input 0 is %s, must have 1 to 3 spatial dimensions",
        seer_op_shape_text(x, arena));
  }
  const seer_attr *kernel = seer_node_attr_ints(node, "kernel_shape");
  if (!kernel || kernel->n != x->rank - 2u) {
    return SEER_FAIL(INVALID, "attribute 'kernel_shape' has %zu entries, must have %u",
        kernel ? kernel->n : 0, x->rank - 2u);
  }
  return seer_op_window_read(node, kernel->ints, &x->dim[2], x->rank - 2u, out);
}

static bool has_indices(const seer_node *node) { return node->n_out > 1 && node->out[1].i != 0; }

static seer_status infer_pool(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  seer_op_window w;
  SEER_TRY(read_pool(graph, node, arena, &w));
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  int64_t dim[5] = {x->dim[0], x->dim[1]};
  for (uint32_t d = 0; d < w.n; d++) dim[d + 2] = w.out[d];
  if (has_indices(node)) SEER_TRY(seer_op_set(&out_values[1], SEER_DTYPE_I64, dim, x->rank));
  return seer_op_set(&out_values[0], x->dtype, dim, x->rank);
}

// Reduction axes of the window, those of extent 1 left out but one; at_reduce[d] is the window
// index of dimension d.
typedef struct {
  seer_dag_axis axis[3];
  uint32_t n, slot[3];
} pool_axes;

static pool_axes window_axes(const seer_op_window *w) {
  pool_axes axes = {.n = 0};
  for (uint32_t d = 0; d < w->n; d++) {
    axes.slot[d] = UINT32_MAX;
    if (w->kernel[d] == 1 && !(d == w->n - 1 && axes.n == 0)) continue;
    axes.slot[d] = axes.n;
    axes.axis[axes.n++] = seer_op_window_axis(w, d);
  }
  return axes;
}

// Where the window is at its element `var`, relative to the padded input.
static void window_at(seer_emit *emit, const seer_op_window *w, const pool_axes *axes,
    const seer_expr *at, const seer_expr *var, seer_expr out_at[5]) {
  out_at[0] = at[0];
  out_at[1] = at[1];
  for (uint32_t d = 0; d < w->n; d++) {
    seer_expr k = axes->slot[d] == UINT32_MAX ? seer_op_int(emit, 0) : var[axes->slot[d]];
    out_at[d + 2] = seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, at[d + 2], w->stride[d], 0),
        seer_op_muladd(emit, k, w->dilation[d], 0));
  }
}

static seer_expr window_load(seer_emit *emit, const seer_node *node, const seer_op_window *w,
    const pool_axes *axes, const seer_op_padded *padded, const seer_expr *at,
    const seer_expr *var) {
  seer_expr x_at[5];
  window_at(emit, w, axes, at, var, x_at);
  return seer_op_load_padded(emit, node, 0, padded, x_at);
}

static seer_status emit_max(
    seer_emit *emit, const seer_node *node, const seer_op_window *w, const seer_op_padded *padded) {
  pool_axes axes = window_axes(w);
  seer_axis_role roles[5];
  seer_expr at[5], var[3];
  seer_op_window_roles(w->n, roles);
  uint32_t stage =
      seer_emit_stage(emit, node, 0, SEER_STAGE_ANCHOR, roles, axes.axis, axes.n, at, var);
  seer_emit_body(
      emit, node, 0, stage, SEER_COMBINE_MAX, window_load(emit, node, w, &axes, padded, at, var));
  return SEER_OK;
}

// The row-major number of an element of the input. Column-major storage numbers a plane with its
// first dimension innermost instead.
static seer_expr element_number(seer_emit *emit, const seer_value *x, const seer_expr *at) {
  seer_expr number = at[0];
  for (uint32_t d = 1; d < x->rank; d++)
    number = seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, number, x->dim[d], 0), at[d]);
  return number;
}

static seer_expr by_column(seer_emit *emit, const seer_value *x, seer_expr number) {
  uint32_t n = x->rank - 2u;
  seer_expr place[3], rest = number;
  for (uint32_t d = n; d-- > 0;) {
    seer_expr extent = seer_op_int(emit, x->dim[2 + d]);
    place[d] = seer_op_2(emit, SEER_EXPR_MOD, rest, extent);
    rest = seer_op_2(emit, SEER_EXPR_DIV, rest, extent);
  }
  // rest: the plane
  for (uint32_t d = n; d-- > 0;)
    rest = seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, rest, x->dim[2 + d], 0), place[d]);
  return rest;
}

// The largest and its number in one stage; of equals the first, in row-major order. What is padding
// is never it: the least number of the type, behind all others.
static void emit_max_indices(seer_emit *emit, const seer_node *node, const seer_op_window *w) {
  const seer_value *x = seer_emit_in(emit, node, 0), *out = seer_emit_out(emit, node, 1);
  pool_axes axes = window_axes(w);
  seer_axis_role roles[5];
  seer_dag_axis dims[5];
  uint8_t order[SEER_MAX_RANK];
  seer_expr at[5], var[3], x_at[5], inside = {0};
  seer_expr_pool *pool = &emit->dag->expr;
  seer_op_window_roles(w->n, roles);
  seer_op_order(out, order);
  for (uint32_t d = 0; d < x->rank; d++) dims[d] = (seer_dag_axis){NULL, out->dim[d], roles[d]};
  uint32_t stage = seer_emit_temp(
      emit, "arg", SEER_STAGE_ANCHOR, dims, x->rank, order, axes.axis, axes.n, at, var);
  window_at(emit, w, &axes, at, var, x_at);
  for (uint32_t d = 0; d < w->n; d++) {
    int64_t low, reach = seer_op_window_reach(w, d, &low);
    x_at[d + 2] = seer_op_2(emit, SEER_EXPR_ADD, x_at[d + 2], seer_op_int(emit, low));
    inside = seer_op_within(emit, inside, x_at[d + 2], low, low + reach - 1, 0, w->in[d]);
  }
  seer_dtype dtype = seer_dtype_computed(x->dtype);
  seer_expr least =
      seer_expr_scalar(pool, dtype, seer_combiner_identity(SEER_COMBINE_ARGMAX, 0, dtype));
  seer_expr number = element_number(emit, x, x_at);
  if (inside.i) number = seer_expr_select(pool, inside, number, seer_op_int(emit, INT64_MAX));
  seer_expr body[2] = {seer_emit_load_guarded(emit, node, 0, x_at, inside, least), number};
  seer_dag_set_body(emit->dag, stage, SEER_COMBINE_ARGMAX, body, 2);
  for (uint32_t k = 0; k < 2; k++) {
    if (node->out[k].i == 0) continue;
    uint32_t last = seer_emit_stage(emit, node, k, SEER_STAGE_EPILOGUE, roles, NULL, 0, at, NULL);
    seer_expr physical[5];
    for (uint32_t d = 0; d < x->rank; d++) physical[d] = at[emit->temp_order[stage][d]];
    seer_expr one = seer_dag_load(emit->dag, emit->dag->stage[stage].out[k], physical);
    if (k == 1 && seer_node_attr_i(node, "storage_order", 0) != 0) one = by_column(emit, x, one);
    seer_emit_body(emit, node, k, last, SEER_COMBINE_NONE, one);
  }
}

static seer_status emit_max_pool(seer_emit *emit, const seer_node *node) {
  seer_op_window w;
  SEER_TRY(read_pool(emit->graph, node, emit->arena, &w));
  if (has_indices(node)) {
    emit_max_indices(emit, node, &w);
    return SEER_OK;
  }
  seer_dtype dtype = seer_dtype_computed(seer_emit_out(emit, node, 0)->dtype);
  seer_expr fill =
      seer_expr_scalar(&emit->dag->expr, dtype, seer_combiner_identity(SEER_COMBINE_MAX, 0, dtype));
  seer_op_padded padded = seer_op_pad_input(emit, node, 0, &w, fill);
  return emit_max(emit, node, &w, &padded);
}

SEER_OP_ENTRY(max_pool, "MaxPool", 1, 1, 1, 2, SEER_FUSE_REDUCTION,
    "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", .rtol = 0, .atol = 0,
    .infer = infer_pool, .emit = emit_max_pool, .carry_sizes = seer_sized_batch,
    .wants_channels_last = true,
    .doc = "1 to 3 spatial dimensions, ceil_mode, dilations, all paddings, indices in both orders")

// How many window positions of dimension d count for output index `at`: those inside the input, or,
// where paddings count, those inside the padded input. What ceil_mode adds behind the trailing
// padding never counts: PyTorch, ONNX's reference since 1.16 and ONNX Runtime say so.
// *out_constant is set, and 0 returned, when it is the same for all outputs.
static seer_expr window_count(seer_emit *emit, const seer_op_window *w, uint32_t d,
    bool counts_pads, seer_expr at, int64_t *out_constant) {
  int64_t first, reach = seer_op_window_reach(w, d, &first);
  int64_t low = counts_pads ? first : 0, high = w->in[d] + (counts_pads ? w->pad_end[d] : 0);
  if (first >= low && first + reach <= high) {
    *out_constant = w->kernel[d];
    return (seer_expr){0};
  }
  *out_constant = 0;
  // k from ceil((low - start) / dilation), at least 0, to ceil((high - start) / dilation), at most
  // kernel.
  int64_t stride = w->stride[d], dilation = w->dilation[d];
  seer_expr from = seer_op_muladd(emit, at, -stride, low - first + dilation - 1);
  seer_expr to = seer_op_muladd(emit, at, -stride, high - first + dilation - 1);
  from = seer_op_2(emit, SEER_EXPR_DIV, from, seer_op_int(emit, dilation));
  to = seer_op_2(emit, SEER_EXPR_DIV, to, seer_op_int(emit, dilation));
  to = seer_op_2(emit, SEER_EXPR_MIN, to, seer_op_int(emit, w->kernel[d]));
  if (first >= low) return to;
  return seer_op_2(
      emit, SEER_EXPR_SUB, to, seer_op_2(emit, SEER_EXPR_MAX, from, seer_op_int(emit, 0)));
}

// The stage that divides: by a literal where the count is constant.
static void emit_divide(seer_emit *emit, const seer_node *node, uint32_t sum_stage,
    const seer_op_window *w, bool counts_pads, const seer_axis_role *roles) {
  seer_dtype dtype = seer_dtype_computed(seer_emit_out(emit, node, 0)->dtype);
  seer_expr at[5], count = {0};
  int64_t constant = 1;
  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, roles, NULL, 0, at, NULL);
  for (uint32_t d = 0; d < w->n; d++) {
    int64_t factor;
    seer_expr here = window_count(emit, w, d, counts_pads, at[d + 2], &factor);
    if (factor) {
      constant *= factor;
    } else {
      count = count.i ? seer_op_2(emit, SEER_EXPR_MUL, count, here) : here;
    }
  }
  seer_expr sum = seer_emit_load_temp(emit, sum_stage, at);
  seer_expr body;
  if (count.i) {
    count = seer_op_muladd(emit, count, constant, 0);
    body = seer_op_2(emit, SEER_EXPR_DIV, sum, seer_expr_cast(&emit->dag->expr, dtype, count));
  } else {
    body = seer_op_2(emit, SEER_EXPR_DIV, sum, seer_op_num(emit, dtype, (double)constant));
  }
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, body);
}

// The sum over windows begins: its stage, and what each of its places loads.
static uint32_t begin_sum(seer_emit *emit, const seer_node *node, const seer_op_window *w,
    seer_dtype pad_dtype, seer_axis_role roles[5], seer_expr *out_load) {
  const seer_value *out = seer_emit_out(emit, node, 0);
  seer_op_padded padded = seer_op_pad_input(emit, node, 0, w, seer_op_num(emit, pad_dtype, 0));
  pool_axes axes = window_axes(w);
  seer_dag_axis dims[5];
  uint8_t order[SEER_MAX_RANK];
  seer_expr at[5], var[3];
  seer_op_window_roles(w->n, roles);
  seer_op_order(out, order);
  for (uint32_t d = 0; d < w->n + 2; d++) dims[d] = (seer_dag_axis){NULL, out->dim[d], roles[d]};
  uint32_t stage = seer_emit_temp(
      emit, "sum", SEER_STAGE_ANCHOR, dims, w->n + 2, order, axes.axis, axes.n, at, var);
  *out_load = window_load(emit, node, w, &axes, &padded, at, var);
  return stage;
}

static void emit_average(
    seer_emit *emit, const seer_node *node, const seer_op_window *w, bool counts_pads) {
  seer_axis_role roles[5];
  seer_expr load;
  uint32_t stage = begin_sum(emit, node, w, seer_emit_out(emit, node, 0)->dtype, roles, &load);
  seer_emit_temp_body(emit, stage, SEER_COMBINE_SUM, load);
  emit_divide(emit, node, stage, w, counts_pads, roles);
}

static seer_status infer_average_pool(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  SEER_TRY(infer_pool(graph, node, arena, out_values));
  return seer_op_want_float(seer_graph_value(graph, node->in[0]), 0);
}

static seer_status emit_average_pool(seer_emit *emit, const seer_node *node) {
  seer_op_window w;
  SEER_TRY(read_pool(emit->graph, node, emit->arena, &w));
  emit_average(emit, node, &w, seer_node_attr_i(node, "count_include_pad", 0) != 0);
  return SEER_OK;
}

SEER_OP_ENTRY(average_pool, "AveragePool", 1, 1, 1, 1, SEER_FUSE_REDUCTION,
    "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides", .rtol = 1e-5,
    .atol = 1e-6, .infer = infer_average_pool, .emit = emit_average_pool,
    .carry_sizes = seer_sized_batch, .wants_channels_last = true,
    .doc = "1 to 3 spatial dimensions, ceil_mode, count_include_pad, dilations, all paddings")

// ---- LpPool: the p-th root of a sum of p-th powers. What is padding is 0.

static seer_status read_p(const seer_node *node, double *out_p) {
  const seer_attr *p = seer_node_attr(node, "p");  // a float in opset 1
  *out_p = !p ? 2 : p->kind == SEER_ATTR_FLOAT ? p->f : (double)seer_node_attr_i(node, "p", 2);
  if (*out_p >= 1 && *out_p <= 1 << 10) return SEER_OK;
  return SEER_FAIL(INVALID, "attribute 'p' is %g, must be 1 to %d", *out_p, 1 << 10);
}

static void emit_lp(seer_emit *emit, const seer_node *node, const seer_op_window *w, double p) {
  const seer_value *out = seer_emit_out(emit, node, 0);
  seer_dtype dtype = seer_dtype_computed(out->dtype);
  seer_axis_role roles[5];
  seer_expr x, at[5];
  uint32_t sum = begin_sum(emit, node, w, dtype, roles, &x);
  if (p == 2) {
    x = seer_op_2(emit, SEER_EXPR_MUL, x, x);
  } else {
    x = seer_op_1(emit, SEER_EXPR_ABS, x);
    if (p != 1) x = seer_op_2(emit, SEER_EXPR_POW, x, seer_op_num(emit, dtype, p));
  }
  seer_emit_temp_body(emit, sum, SEER_COMBINE_SUM, x);
  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, roles, NULL, 0, at, NULL);
  x = seer_emit_load_temp(emit, sum, at);
  if (p == 2)
    x = seer_op_1(emit, SEER_EXPR_SQRT, x);
  else if (p != 1)
    x = seer_op_2(emit, SEER_EXPR_POW, x, seer_op_num(emit, dtype, 1 / p));
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, x);
}

static seer_status infer_lp_pool(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  double p;
  SEER_TRY(read_p(node, &p));
  return infer_average_pool(graph, node, arena, out_values);
}

static seer_status emit_lp_pool(seer_emit *emit, const seer_node *node) {
  seer_op_window w;
  double p = 2;
  SEER_TRY(read_p(node, &p));
  SEER_TRY(read_pool(emit->graph, node, emit->arena, &w));
  emit_lp(emit, node, &w, p);
  return SEER_OK;
}

SEER_OP_ENTRY(lp_pool, "LpPool", 1, 1, 1, 1, SEER_FUSE_REDUCTION,
    "auto_pad ceil_mode dilations kernel_shape p pads strides", .rtol = 1e-5, .atol = 1e-6,
    .infer = infer_lp_pool, .emit = emit_lp_pool, .carry_sizes = seer_sized_batch,
    .wants_channels_last = true, .doc = "1 to 3 spatial dimensions, all paddings")

// ---- global: the window is the whole plane

static seer_status infer_global(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_want_float(x, 0));
  if (x->rank < 3 || x->rank > 5) {
    return SEER_FAIL(UNSUPPORTED, "input 0 is %s, must have 1 to 3 spatial dimensions",
        seer_op_shape_text(x, arena));
  }
  int64_t dim[5] = {x->dim[0], x->dim[1], 1, 1, 1};
  for (uint32_t d = 2; d < x->rank; d++) {
    if (x->dim[d] == 0 && x->dim[0] > 0 && x->dim[1] > 0)  // of no planes there are no means
      return SEER_FAIL(INVALID, "input 0 is %s, has no elements", seer_op_shape_text(x, arena));
  }
  return seer_op_set(&out_values[0], x->dtype, dim, x->rank);
}

static seer_op_window global_window(const seer_value *x) {
  seer_op_window w = {.n = x->rank - 2u};
  for (uint32_t d = 0; d < w.n; d++) {
    w.kernel[d] = w.in[d] = x->dim[d + 2];
    w.stride[d] = w.dilation[d] = w.out[d] = 1;
  }
  return w;
}

static seer_status emit_global_average(seer_emit *emit, const seer_node *node) {
  seer_op_window w = global_window(seer_emit_in(emit, node, 0));
  emit_average(emit, node, &w, false);
  return SEER_OK;
}

static seer_status emit_global_max(seer_emit *emit, const seer_node *node) {
  seer_op_window w = global_window(seer_emit_in(emit, node, 0));
  const seer_op_padded padded = {.is_padded = false};
  return emit_max(emit, node, &w, &padded);
}

SEER_OP_ENTRY(global_average_pool, "GlobalAveragePool", 1, 1, 1, 1, SEER_FUSE_REDUCTION, "",
    .rtol = 1e-5, .atol = 1e-6, .infer = infer_global, .emit = emit_global_average,
    .carry_sizes = seer_sized_batch, .wants_channels_last = true,
    .doc = "1 to 3 spatial dimensions")
SEER_OP_ENTRY(global_max_pool, "GlobalMaxPool", 1, 1, 1, 1, SEER_FUSE_REDUCTION, "", .rtol = 0,
    .atol = 0, .infer = infer_global, .emit = emit_global_max, .carry_sizes = seer_sized_batch,
    .wants_channels_last = true, .doc = "1 to 3 spatial dimensions")

static seer_status infer_global_lp(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  double p;
  SEER_TRY(read_p(node, &p));
  return infer_global(graph, node, arena, out_values);
}

static seer_status emit_global_lp(seer_emit *emit, const seer_node *node) {
  seer_op_window w = global_window(seer_emit_in(emit, node, 0));
  double p = 2;
  SEER_TRY(read_p(node, &p));
  emit_lp(emit, node, &w, p);
  return SEER_OK;
}
SEER_OP_ENTRY(global_lp_pool, "GlobalLpPool", 1, 1, 1, 1, SEER_FUSE_REDUCTION, "p", .rtol = 1e-5,
    .atol = 1e-6, .infer = infer_global_lp, .emit = emit_global_lp, .carry_sizes = seer_sized_batch,
    .wants_channels_last = true, .doc = "1 to 3 spatial dimensions")
