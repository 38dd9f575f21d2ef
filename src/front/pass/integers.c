// integers.c - products of dequantised operands become products of bytes:
//   Quantize(limit(norm(Conv(Dequantize(x), Dequantize(w), bias))))  ->  y, from x and w
// for Conv, MatMul and Gemm by constant weights, where they fit that form (expand/integer.h); limit
// is a Relu or a Clip, or nothing; norm a BatchNormalization, or nothing: a factor and a bias of
// each channel, which go into the weights' scales and the bias. The rounding is ONNX Runtime's of
// such networks, by one factor of the three scales (expand/quantised.c): the step that a result
// falls on may differ by one from that of real arithmetic. Where no QuantizeLinear alone reads the
// result it stays real, and exact up to f32's rounding. Other readers of a dequantised operand keep
// it. What a quantiser leaves between the DequantizeLinear and the product, since it changes no
// byte (MaxPool, Reshape, Transpose), is done to bytes. A scale of x for each channel of a
// depthwise convolution goes into those of its weights; y has one for each channel where it is a
// convolution's.
// Rows that are gathered from a dequantised table are gathered as bytes, and dequantised then: the
// table stays a quarter as large.
// Left alone: blocks, scales along anything but output channels, scales that are data, channels of
// x or y with zero points of their own, norms that turn signs, and products of two operands that
// are data.
// requires: sorted, resolved; not folded, or weights are floats already. provides: nothing.
#include <float.h>
#include <math.h>
#include <string.h>

#include "front/expand/integer.h"
#include "front/pass/pass.h"

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, BIAS, Y_SCALE, Y_ZERO, N_OPERAND };

typedef struct {
  seer_val q, scale, zero;
  const seer_tensor *by;  // the scale: one number, or a list of them along `axis`
  int64_t axis;
} quantisation;

typedef struct {
  uint32_t node;
  bool is_conv, is_turned;
  quantisation x, w, y;  // y.q is 0 where the result stays real
  seer_val bias;
  uint32_t norm, limit, quantize;  // nodes behind the product that it takes in; 0: none
  double low, high;  // infinite: none
} match;

static bool is_byte(const seer_graph *graph, seer_val v) {
  return seer_dtype_is_byte(seer_graph_value(graph, v)->dtype);
}

static double scale_at(const quantisation *q, int64_t i) {
  return seer_dtype_load_f64(q->by->dtype, q->by->data, seer_tensor_elems(q->by) == 1 ? 0 : i);
}

// Scale and zero point of a QuantizeLinear or a DequantizeLinear, whose value of bytes is `q`.
static seer_status read_scale(
    seer_graph *graph, const seer_node *node, seer_val q, quantisation *out, bool *out_did) {
  *out_did = false;
  if (seer_node_attr_i(node, "block_size", 0) != 0) return SEER_OK;
  *out = (quantisation){.q = q, .scale = node->in[1], .axis = seer_node_attr_i(node, "axis", 1)};
  if (node->n_in > 2) out->zero = node->in[2];
  if (out->axis < 0) out->axis += seer_graph_value(graph, q)->rank;
  SEER_TRY(seer_integer_constant(graph, out->scale, &out->by));
  const seer_tensor *by = out->by;
  *out_did = by && by->dtype == SEER_DTYPE_F32 && by->rank <= 1 && seer_tensor_elems(by) > 0;
  for (int64_t i = 0; *out_did && i < seer_tensor_elems(by); i++)
    *out_did = scale_at(out, i) >= (double)FLT_MIN && scale_at(out, i) <= (double)FLT_MAX;
  return SEER_OK;
}

// Of several zero points that are all one, that one.
static seer_status join_zeros(seer_graph *graph, quantisation *q, bool *out_is_one) {
  const seer_tensor *zero = NULL;
  *out_is_one = true;
  if (!q->zero.i || seer_value_elems(seer_graph_value(graph, q->zero)) == 1) return SEER_OK;
  SEER_TRY(seer_integer_constant(graph, q->zero, &zero));
  *out_is_one = zero && seer_tensor_elems(zero) > 0;
  int64_t first = *out_is_one ? seer_dtype_load_i64(zero->dtype, zero->data, 0) : 0;
  for (int64_t i = 0; *out_is_one && i < seer_tensor_elems(zero); i++)
    *out_is_one = seer_dtype_load_i64(zero->dtype, zero->data, i) == first;
  if (!*out_is_one) return SEER_OK;
  seer_tensor one = {.dtype = zero->dtype, .data = zero->data, .n_bytes = 1};
  q->zero = seer_graph_add_constant(graph, seer_graph_fresh_name(graph, "zero"), &one);
  return SEER_OK;
}

// v = (q - zero) * scale, in f32.
static seer_status read_dequantised(
    seer_graph *graph, seer_val v, quantisation *out, bool *out_did) {
  *out_did = false;
  uint32_t producer = seer_pass_maker(graph, v, &seer_op_dequantize_linear);
  if (!producer || seer_graph_value(graph, v)->dtype != SEER_DTYPE_F32) return SEER_OK;
  const seer_node *node = &graph->node[producer];
  return read_scale(graph, node, node->in[0], out, out_did);
}

// ---- operands

static seer_status read_weights(seer_graph *graph, match *m, bool *out_did) {
  seer_val w = graph->node[m->node].in[1];
  if (!m->is_conv) w = seer_pass_before_turn(graph, w, &m->is_turned);
  SEER_TRY(read_dequantised(graph, w, &m->w, out_did));
  if (!*out_did) return SEER_OK;
  const seer_value *value = seer_graph_value(graph, m->w.q);
  int64_t axis = m->is_conv || m->is_turned ? 0 : value->rank - 1;
  bool is_one = seer_tensor_elems(m->w.by) == 1;
  *out_did = is_byte(graph, m->w.q) && (is_one || m->w.axis == axis) &&
      (is_one || m->is_conv || value->rank == 2);
  return SEER_OK;
}

static bool is_plain_gemm(const seer_node *node) {
  return seer_node_attr_f(node, "alpha", 1) == 1 && seer_node_attr_f(node, "beta", 1) == 1 &&
      seer_node_attr_i(node, "transA", 0) == 0;
}

// All factors of sums are normal numbers of f32.
static bool has_factors(const match *m) {
  for (int64_t i = 0; i < seer_tensor_elems(m->w.by); i++) {
    double real = scale_at(&m->x, 0) * scale_at(&m->w, i);
    double factor = m->y.q.i ? real / scale_at(&m->y, i) : real;
    if (real < (double)FLT_MIN || real > (double)FLT_MAX) return false;
    if (factor < (double)FLT_MIN || factor > (double)FLT_MAX) return false;
  }
  return true;
}

// ---- bytes that are picked or moved on the way to a product

static bool picks(const seer_graph *graph, const seer_node *node) {
  if (node->is_dead || !node->op || node->n_out == 0 || node->op->domain[0] != '\0') return false;
  bool is_alone = node->n_out == 1 || node->out[1].i == 0;
  return is_alone && !seer_value_is_sized(seer_graph_value(graph, node->out[0])) &&
      (node->op == &seer_op_max_pool || node->op == &seer_op_transpose ||
          node->op->fuse == SEER_FUSE_VIEW);
}

// Picks(Dequantize(q)) -> Dequantize(Picks(q)), whoever reads it: steps are in the order of bytes.
static seer_status pick_bytes(seer_graph *graph, seer_val v) {
  uint32_t k = v.i ? seer_graph_value(graph, v)->producer.i : 0;
  quantisation of;
  bool did;
  if (!k || !picks(graph, &graph->node[k])) return SEER_OK;
  const seer_val from = graph->node[k].in[0];
  SEER_TRY(pick_bytes(graph, from));
  SEER_TRY(read_dequantised(graph, from, &of, &did));
  if (!did || !is_byte(graph, of.q) || seer_tensor_elems(of.by) != 1) return SEER_OK;
  if (seer_graph_value(graph, of.q)->constant) return SEER_OK;
  uint32_t widening = seer_graph_value(graph, from)->producer.i;
  if (seer_graph_value(graph, from)->is_output || seer_graph_n_uses(graph, from) > 1)
    widening = seer_pass_widen_again(graph, widening, k);
  seer_pass_put_behind(graph, widening, k);
  return SEER_OK;
}

// ---- scales and shifts of channels

static seer_status add_scales(seer_graph *graph, const char *name, const float *scale, int64_t n,
    seer_val *out, const seer_tensor **out_by) {
  *out = seer_pass_add_f32(graph, name, scale, &n, 1);
  return seer_integer_constant(graph, *out, out_by);
}

// Weights that are `by` times as large; false where one of their scales were no normal number.
static seer_status scale_weights(seer_graph *graph, match *m, const double *by, bool *out_did) {
  int64_t n = seer_graph_value(graph, m->w.q)->dim[0];
  float *scale = SEER_NEW_ARRAY(graph->arena, float, n);
  *out_did = true;
  for (int64_t i = 0; i < n; i++) {
    double product = scale_at(&m->w, i) * by[i];
    *out_did = *out_did && product >= (double)FLT_MIN && product <= (double)FLT_MAX;
    if (*out_did) scale[i] = (float)product;
  }
  if (!*out_did) return SEER_OK;
  m->w.axis = 0;
  return add_scales(graph, "scales", scale, n, &m->w.scale, &m->w.by);
}

// A depthwise convolution by x with a scale for each channel.
static seer_status join_scales(seer_graph *graph, match *m, bool *out_did) {
  *out_did = seer_tensor_elems(m->x.by) == 1;
  if (*out_did || !m->is_conv) return SEER_OK;
  const seer_value *x = seer_graph_value(graph, m->x.q), *w = seer_graph_value(graph, m->w.q);
  int64_t n = seer_tensor_elems(m->x.by),
          group = seer_node_attr_i(&graph->node[m->node], "group", 1);
  bool is_depthwise = x->rank > 2 && m->x.axis == 1 && x->dim[1] == n && group == n &&
      w->dim[1] == 1 && w->dim[0] % n == 0;
  if (!is_depthwise) return SEER_OK;
  SEER_TRY(join_zeros(graph, &m->x, out_did));
  if (!*out_did) return SEER_OK;
  int64_t n_out = w->dim[0];
  double *by = SEER_NEW_ARRAY(graph->arena, double, n_out);
  for (int64_t i = 0; i < n_out; i++) by[i] = scale_at(&m->x, i / (n_out / n));
  SEER_TRY(scale_weights(graph, m, by, out_did));
  if (!*out_did) return SEER_OK;
  const float one = 1;
  m->x.scale =
      seer_pass_add_f32(graph, "scale", seer_arena_memdup(graph->arena, &one, sizeof one), NULL, 0);
  return seer_integer_constant(graph, m->x.scale, &m->x.by);
}

enum { GAMMA = 1, BETA, MEAN, VARIANCE, N_NORM };

static seer_status read_norm(
    seer_graph *graph, uint32_t k, int64_t n, const seer_tensor *of[N_NORM], bool *out_did) {
  const seer_node *node = &graph->node[k];
  *out_did = node->op == &seer_op_batch_norm && node->n_in == N_NORM && node->n_out == 1 &&
      seer_node_attr_i(node, "training_mode", 0) == 0;
  for (uint32_t i = GAMMA; i < N_NORM && *out_did; i++) {
    SEER_TRY(seer_integer_constant(graph, graph->node[k].in[i], &of[i]));
    *out_did = of[i] && of[i]->dtype == SEER_DTYPE_F32 && seer_tensor_elems(of[i]) == n;
  }
  return SEER_OK;
}

static double number_at(const seer_tensor *t, int64_t i) {
  return seer_dtype_load_f64(t->dtype, t->data, i);
}

// norm(sum + bias) = gamma / sigma * sum + (gamma / sigma * (bias - mean) + beta)
static seer_status take_norm(seer_graph *graph, const seer_graph_uses *uses, match *m) {
  uint32_t k = seer_pass_only_reader(graph, uses, graph->node[m->node].out[0]);
  const seer_tensor *of[N_NORM], *bias = NULL;
  const seer_node *node = &graph->node[m->node];
  int64_t n = seer_graph_value(graph, m->w.q)->dim[0];
  seer_val given = node->n_in > 2 ? node->in[2] : (seer_val){0};
  bool did;
  if (!k || !m->is_conv) return SEER_OK;
  SEER_TRY(read_norm(graph, k, n, of, &did));
  SEER_TRY(seer_integer_constant(graph, given, &bias));
  if (!did || (given.i && (!bias || bias->rank != 1 || bias->dim[0] != n))) return SEER_OK;
  double epsilon = seer_node_attr_f(&graph->node[k], "epsilon", 1e-5);
  double *by = SEER_NEW_ARRAY(graph->arena, double, n);
  float *shift = SEER_NEW_ARRAY(graph->arena, float, n);
  for (int64_t i = 0; i < n && did; i++) {
    by[i] = number_at(of[GAMMA], i) / sqrt(number_at(of[VARIANCE], i) + epsilon);
    double from = (bias ? number_at(bias, i) : 0) - number_at(of[MEAN], i);
    double to = by[i] * from + number_at(of[BETA], i);
    did = fabs(to) <= (double)FLT_MAX;
    if (did) shift[i] = (float)to;
  }
  match trial = *m;
  if (did) SEER_TRY(scale_weights(graph, &trial, by, &did));
  if (!did || !has_factors(&trial)) return SEER_OK;
  *m = trial;
  m->norm = k;
  m->bias = seer_pass_add_f32(graph, "shifts", shift, &n, 1);
  return SEER_OK;
}

// ---- the bias

// The whole numbers that a bias of f32, in steps of x's scale times w's, has been; 0: it is none of
// those. What a quantiser has made is, but for the rounding of f32.
static seer_val whole_bias(seer_graph *graph, const match *m, const seer_tensor *bias) {
  const double near = 0x1p-20, most = 0x1p30;
  int64_t n = seer_tensor_elems(bias);
  if (bias->rank != 1 || bias->dtype != SEER_DTYPE_F32) return (seer_val){0};
  int32_t *whole = seer_arena_alloc(graph->arena, (size_t)n * sizeof *whole + 1, 64);
  for (int64_t i = 0; i < n; i++) {
    double step = scale_at(&m->x, 0) * scale_at(&m->w, i);
    double steps = seer_dtype_load_f64(bias->dtype, bias->data, i) / step, number = rint(steps);
    if (!(fabs(steps) <= most) || fabs(steps - number) > near * (1 + fabs(number)))
      return (seer_val){0};
    whole[i] = (int32_t)number;
  }
  seer_tensor tensor = *bias;
  tensor.dtype = SEER_DTYPE_I32;
  tensor.data = whole;
  tensor.n_bytes = (size_t)n * sizeof *whole;
  return seer_graph_add_constant(graph, seer_graph_fresh_name(graph, "bias"), &tensor);
}

static int64_t n_column(const seer_graph *graph, const match *m) {
  const seer_value *w = seer_graph_value(graph, m->w.q);
  return m->is_conv || m->is_turned ? w->dim[0] : w->dim[w->rank - 1];
}

static seer_status read_bias(seer_graph *graph, match *m) {
  const seer_node *node = &graph->node[m->node];
  const seer_tensor *bias;
  if (!m->norm) m->bias = node->n_in > 2 ? node->in[2] : (seer_val){0};
  if (!m->bias.i) return SEER_OK;
  SEER_TRY(seer_integer_constant(graph, m->bias, &bias));
  if (!bias || bias->rank != 1 || bias->dim[0] != n_column(graph, m)) return SEER_OK;
  seer_val whole = whole_bias(graph, m, bias);
  if (whole.i) m->bias = whole;
  return SEER_OK;
}

// ---- what stands behind

// A Relu, or a Clip by constants.
static seer_status read_limit(seer_graph *graph, uint32_t k, seer_val of, match *m, bool *out_did) {
  const seer_node *node = &graph->node[k];
  *out_did = false;
  if (node->in[0].i != of.i) return SEER_OK;
  m->low = node->op == &seer_op_relu ? 0 : -INFINITY;
  m->high = INFINITY;
  *out_did = node->op == &seer_op_relu || node->op == &seer_op_clip;
  if (node->op != &seer_op_clip) return SEER_OK;
  double *limit[] = {&m->low, &m->high};
  const char *const names[] = {"min", "max"};
  for (uint32_t i = 0; i < 2; i++) {
    const seer_tensor *tensor = NULL;
    if (seer_node_attr(node, names[i])) *limit[i] = seer_node_attr_f(node, names[i], 0);
    if (node->n_in <= i + 1 || node->in[i + 1].i == 0) continue;
    SEER_TRY(seer_integer_constant(graph, node->in[i + 1], &tensor));
    if (!tensor || seer_tensor_elems(tensor) != 1) *out_did = false;
    if (!*out_did) return SEER_OK;
    *limit[i] = seer_dtype_load_f64(tensor->dtype, tensor->data, 0);
  }
  *out_did = m->low <= m->high;  // and no NaN
  return SEER_OK;
}

static seer_status read_quantize(
    seer_graph *graph, uint32_t k, seer_val of, match *m, bool *out_did) {
  const seer_node *node = &graph->node[k];
  *out_did = false;
  if (node->op != &seer_op_quantize_linear || node->in[0].i != of.i) return SEER_OK;
  if (!is_byte(graph, node->out[0])) return SEER_OK;
  // Without a zero point it would be u8's.
  if ((node->n_in < 3 || !node->in[2].i) &&
      seer_graph_value(graph, node->out[0])->dtype != SEER_DTYPE_U8)
    return SEER_OK;
  SEER_TRY(read_scale(graph, node, node->out[0], &m->y, out_did));
  if (!*out_did || seer_tensor_elems(m->y.by) == 1) return SEER_OK;
  *out_did = m->is_conv && m->y.axis == 1 && seer_tensor_elems(m->y.by) == n_column(graph, m);
  return *out_did ? join_zeros(graph, &m->y, out_did) : SEER_OK;
}

// Limits that the bytes have anyhow say nothing.
static seer_status drop_limits(seer_graph *graph, match *m) {
  const seer_tensor *zero = NULL;
  bool is_signed = seer_graph_value(graph, m->y.q)->dtype == SEER_DTYPE_I8;
  double least = is_signed ? INT8_MIN : 0, most = is_signed ? INT8_MAX : UINT8_MAX, at = 0;
  if (m->y.zero.i) {
    SEER_TRY(seer_integer_constant(graph, m->y.zero, &zero));
    if (!zero) return SEER_OK;
    at = seer_dtype_load_f64(zero->dtype, zero->data, 0);
  }
  bool needs_low = false, needs_high = false;
  for (int64_t i = 0; i < seer_tensor_elems(m->y.by); i++) {
    double scale = scale_at(&m->y, i);
    needs_low = needs_low || rint(m->low / scale) + at > least;
    needs_high = needs_high || rint(m->high / scale) + at < most;
  }
  if (!needs_low) m->low = -INFINITY;
  if (!needs_high) m->high = INFINITY;
  return SEER_OK;
}

static seer_status read_behind(seer_graph *graph, const seer_graph_uses *uses, match *m) {
  seer_val out = graph->node[m->norm ? m->norm : m->node].out[0];
  uint32_t next = seer_pass_only_reader(graph, uses, out);
  bool did = false;
  match trial = *m;
  if (!next) return SEER_OK;
  SEER_TRY(read_limit(graph, next, out, &trial, &did));
  if (did) {
    trial.limit = next;
    out = graph->node[next].out[0];
    next = seer_pass_only_reader(graph, uses, out);
  } else {
    trial = *m;  // without the limits that were read of a Clip that has others, too
  }
  if (!next) return SEER_OK;
  SEER_TRY(read_quantize(graph, next, out, &trial, &did));
  trial.quantize = next;
  if (!did || !has_factors(&trial)) return SEER_OK;
  *m = trial;
  return drop_limits(graph, m);
}

// ---- the whole

static seer_status find(
    seer_graph *graph, const seer_graph_uses *uses, uint32_t k, match *m, bool *out_did) {
  const seer_node *node = &graph->node[k];
  bool is_gemm = node->op == &seer_op_gemm;
  *out_did = false;
  *m = (match){.node = k, .is_conv = node->op == &seer_op_conv, .low = -INFINITY, .high = INFINITY};
  if (!m->is_conv && !is_gemm && node->op != &seer_op_matmul) return SEER_OK;
  if (is_gemm && !is_plain_gemm(node)) return SEER_OK;
  m->is_turned = is_gemm && seer_node_attr_i(node, "transB", 0) != 0;
  SEER_TRY(read_weights(graph, m, out_did));
  if (!*out_did) return SEER_OK;
  SEER_TRY(pick_bytes(graph, graph->node[k].in[0]));
  SEER_TRY(read_dequantised(graph, graph->node[k].in[0], &m->x, out_did));
  *out_did = *out_did && is_byte(graph, m->x.q) && !seer_graph_value(graph, m->x.q)->constant &&
      seer_graph_value(graph, m->x.q)->rank > 1;
  if (*out_did) SEER_TRY(join_scales(graph, m, out_did));
  *out_did = *out_did && has_factors(m);
  if (!*out_did) return SEER_OK;
  SEER_TRY(take_norm(graph, uses, m));
  SEER_TRY(read_bias(graph, m));
  bool is_whole = m->bias.i && seer_graph_value(graph, m->bias)->dtype == SEER_DTYPE_I32;
  node = &graph->node[k];
  const seer_integer_product p = {.x = m->x.q,
      .x_zero = m->x.zero,
      .w = m->w.q,
      .w_zero = m->w.zero,
      .bias = is_whole ? m->bias : (seer_val){0},
      .is_conv = m->is_conv,
      .is_turned = m->is_turned,
      .attr = node->attr,
      .n_attr = node->n_attr};
  SEER_TRY(seer_integer_fits(graph, &p, out_did));
  return *out_did ? read_behind(graph, uses, m) : SEER_OK;
}

static void add_limit(seer_attr *attr, uint32_t *io_n, const char *name, double limit) {
  if (!isinf(limit))
    attr[(*io_n)++] = (seer_attr){.name = name, .kind = SEER_ATTR_FLOAT, .f = limit};
}

static seer_status rewrite(seer_graph *graph, const match *m) {
  const seer_node node = graph->node[m->node];
  uint32_t last = m->quantize ? m->quantize : m->norm ? m->norm : m->node;
  seer_val out = graph->node[last].out[0];
  const seer_val in[N_OPERAND] = {
      m->x.q, m->x.scale, m->x.zero, m->w.q, m->w.scale, m->w.zero, m->bias, m->y.scale, m->y.zero};
  enum { MORE = 3 };
  seer_attr *attr = SEER_NEW_ARRAY(graph->arena, seer_attr, node.n_attr + MORE);
  uint32_t n_attr = m->is_conv ? node.n_attr : 0;
  if (n_attr) memcpy(attr, node.attr, n_attr * sizeof *attr);
  if (m->is_turned) attr[n_attr++] = (seer_attr){.name = "turned", .kind = SEER_ATTR_INT, .i = 1};
  add_limit(attr, &n_attr, "low", m->low);
  add_limit(attr, &n_attr, "high", m->high);
  seer_graph_kill_node(graph, (seer_node_id){m->node});
  if (m->norm) seer_graph_kill_node(graph, (seer_node_id){m->norm});
  if (m->limit) seer_graph_kill_node(graph, (seer_node_id){m->limit});
  if (m->quantize) seer_graph_kill_node(graph, (seer_node_id){m->quantize});
  const char *op = m->is_conv ? "QuantisedConv" : "QuantisedMatMul";
  seer_node_id id = seer_graph_add_node(
      graph, node.name, SEER_INNER_DOMAIN, op, 1, in, N_OPERAND, &out, 1, attr, n_attr);
  seer_graph_node(graph, id)->op = seer_op_find(SEER_INNER_DOMAIN, op, 1);
  return seer_pass_expand_node(graph, id);
}

// Gather(Dequantize(table), index) -> Dequantize(Gather(table, index)), of one scale for all.
static seer_status gather_bytes(seer_graph *graph, uint32_t k) {
  const seer_node node = graph->node[k];
  const seer_val made = node.out[0];
  const seer_value out = *seer_graph_value(graph, made);
  quantisation of;
  bool did;
  SEER_TRY(read_dequantised(graph, node.in[0], &of, &did));
  did = did && is_byte(graph, of.q) && seer_graph_value(graph, of.q)->constant &&
      seer_tensor_elems(of.by) == 1 && !seer_value_is_sized(&out);
  if (!did) return SEER_OK;
  uint32_t dequantise = seer_graph_value(graph, node.in[0])->producer.i;
  const char *name = seer_arena_printf(graph->arena, "%s.bytes", node.name);
  seer_val bytes = seer_graph_add_value(graph, seer_graph_fresh_name(graph, name),
      seer_graph_value(graph, of.q)->dtype, out.dim, out.rank);
  const seer_node like = graph->node[dequantise];
  const seer_val in[] = {bytes, of.scale, of.zero};
  graph->node[k].in[0] = of.q;
  graph->node[k].out[0] = bytes;
  seer_graph_value(graph, bytes)->producer = (seer_node_id){k};
  seer_node_id id = seer_graph_add_node(
      graph, name, like.domain, like.op_type, like.opset, in, of.zero.i ? 3 : 2, &made, 1, NULL, 0);
  seer_graph_node(graph, id)->op = like.op;
  return SEER_OK;
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  seer_arena *scratch = seer_arena_create("integers");
  seer_graph_uses uses = seer_graph_index_uses(graph, scratch);
  uint32_t n_node = (uint32_t)graph->n_node;
  seer_status status = SEER_OK;
  for (uint32_t k = 1; k < n_node && !status; k++) {
    match m;
    bool did;
    if (graph->node[k].is_dead || !graph->node[k].op) continue;
    status = find(graph, &uses, k, &m, &did);
    if (!status && did) status = rewrite(graph, &m);
    if (!status && graph->node[k].op == &seer_op_gather) status = gather_bytes(graph, k);
  }
  seer_arena_destroy(scratch);
  return status;
}

const seer_pass_desc seer_pass_integers = {
    "integers", "products of dequantised operands as products of bytes", run};
