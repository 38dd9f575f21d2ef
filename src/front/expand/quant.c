// quant.c - quantised operators that are products: sums of products in i32, and for the QLinear
// forms the way back to 8 bits, by one factor of all scales as ONNX Runtime has it. Products by
// constant weights are written as integer.h has it; others as operands less their zero points in
// i32, and a product of these. What is put in front and behind is elementwise, and is fused with
// what is between. (qlinear.c: those that are no products.)
#include <string.h>

#include "front/expand/integer.h"

// Input k in i32 less its zero point (input `zero`, may be absent), which is one for all or one per
// element of `axis`.
static seer_status centred(
    seer_expand *e, uint32_t k, uint32_t zero, int64_t axis, seer_val *out_value) {
  seer_val x = seer_expand_cast(e, e->node.in[k], SEER_DTYPE_I32);
  *out_value = x;
  if (!seer_expand_has_in(e, zero)) return SEER_OK;
  seer_val centre = seer_expand_cast(e, e->node.in[zero], SEER_DTYPE_I32);
  const seer_value *value = seer_expand_in(e, k), *point = seer_expand_in(e, zero);
  if (point->rank == 1 && point->dim[0] > 1) {
    if (axis < 0) axis += value->rank;
    if (axis < 0 || point->dim[0] != value->dim[axis]) {
      return SEER_FAIL(INVALID,
          "input %u is %s, must be a scalar or fit axis %" PRId64 " of input %u (%s)", zero,
          seer_op_shape_text(point, e->scratch), axis, k, seer_op_shape_text(value, e->scratch));
    }
    int64_t dim[SEER_MAX_RANK];
    for (uint32_t d = 0; d < value->rank; d++) dim[d] = d == axis ? value->dim[d] : 1;
    centre = seer_expand_reshape(e, centre, dim, value->rank);
  } else if (seer_op_elems(point) == 1) {
    centre = seer_expand_reshape(e, centre, NULL, 0);
  }
  *out_value = seer_expand_2(e, "Sub", x, centre);
  return SEER_OK;
}

seer_val seer_expand_whole(seer_expand *e, seer_val x, seer_val zero) {
  return seer_expand_3(e, "QuantizeLinear", x, seer_expand_scalar(e, SEER_DTYPE_F32, 1), zero);
}

// f32 of whole numbers -> f32 * (factor / scale) -> rounded, plus the zero point, saturated. Of
// several scales each has its place in the quantisation instead.
static seer_val requantised(
    seer_expand *e, seer_val x, seer_val factor, uint32_t scale_k, uint32_t zero_k) {
  seer_val scale = seer_expand_cast(e, e->node.in[scale_k], SEER_DTYPE_F32);
  seer_val zero = seer_expand_operand(e, zero_k);
  if (seer_op_elems(seer_expand_in(e, scale_k)) != 1)
    return seer_expand_3(e, "QuantizeLinear", seer_expand_2(e, "Mul", x, factor), scale, zero);
  factor = seer_expand_2(e, "Div", factor, seer_expand_reshape(e, scale, NULL, 0));
  x = seer_expand_2(e, "Mul", x, factor);
  return seer_expand_whole(e, x, zero);
}

// ---- com.microsoft's names for ONNX's own: types that those got later, and scales per channel

static seer_status expand_quantize(seer_expand *e) {
  seer_expand_output(e, 0,
      seer_expand_add(e, e->node.op_type, e->node.in, e->node.n_in, e->node.attr, e->node.n_attr));
  return SEER_OK;
}
SEER_COMPOSITE(ms_quantize_linear, "com.microsoft", "QuantizeLinear", 1, 1, 2, 3, 1, 1,
    "axis block_size", expand_quantize, "as ONNX's")
SEER_COMPOSITE(ms_dequantize_linear, "com.microsoft", "DequantizeLinear", 1, 1, 2, 3, 1, 1,
    "axis block_size", expand_quantize, "as ONNX's")

// ---- products of integers

// Of inputs a and b, less their zero points. Weights are b.
typedef struct {
  uint32_t a, a_zero, b, b_zero;
  bool is_conv;
  bool is_turned[2];  // a, b; of matrices
  uint32_t bias;  // i32, added to the product before it is scaled; 0: none
} product;

static seer_status centred_product(seer_expand *e, const product *p, seer_val *out_value) {
  seer_val x[3] = {{0}};
  SEER_TRY(centred(e, p->a, p->a_zero, p->is_conv ? 1 : -2, &x[0]));
  // A zero point of each column: the product's columns are rows of an operand that is turned.
  SEER_TRY(centred(e, p->b, p->b_zero, p->is_conv ? 0 : p->is_turned[1] ? -2 : -1, &x[1]));
  if (p->is_conv) {  // padding is the zero point's, and therefore 0 once that is taken off
    if (p->bias) x[2] = seer_expand_operand(e, p->bias);
    *out_value = seer_expand_add(e, "Conv", x, 3, e->node.attr, e->node.n_attr);
    return SEER_OK;
  }
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t rank = seer_expand_in(e, k ? p->b : p->a)->rank;
    if (p->is_turned[k]) x[k] = seer_expand_turned(e, x[k], rank);
  }
  *out_value = seer_expand_2(e, "MatMul", x[0], x[1]);
  if (p->bias) *out_value = seer_expand_biased(e, *out_value, p->bias);
  return SEER_OK;
}

// The sums, in i32 or as f32.
static seer_status expand_product(
    seer_expand *e, const product *p, seer_dtype dtype, seer_val *out_value) {
  const seer_integer_product form = {.x = seer_expand_operand(e, p->a),
      .x_zero = seer_expand_operand(e, p->a_zero),
      .w = seer_expand_operand(e, p->b),
      .w_zero = seer_expand_operand(e, p->b_zero),
      .bias = p->bias ? seer_expand_operand(e, p->bias) : (seer_val){0},
      .is_conv = p->is_conv,
      .is_turned = p->is_turned[1],
      .attr = e->node.attr,
      .n_attr = e->node.n_attr};
  bool did = false;
  if (!p->is_turned[0]) SEER_TRY(seer_integer_expand(e, &form, dtype, out_value, &did));
  if (did) return SEER_OK;
  SEER_TRY(centred_product(e, p, out_value));
  if (dtype != SEER_DTYPE_I32) *out_value = seer_expand_cast(e, *out_value, dtype);
  return SEER_OK;
}

static seer_status expand_matmul_integer(seer_expand *e) {
  const product p = {.a = 0, .b = 1, .a_zero = 2, .b_zero = 3};
  seer_val y;
  SEER_TRY(expand_product(e, &p, SEER_DTYPE_I32, &y));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}

static seer_status expand_conv_integer(seer_expand *e) {
  const product p = {.a = 0, .b = 1, .a_zero = 2, .b_zero = 3, .is_conv = true};
  seer_val y;
  SEER_TRY(expand_product(e, &p, SEER_DTYPE_I32, &y));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}

seer_val seer_expand_scale_along(seer_expand *e, uint32_t k, int64_t axis, uint32_t rank) {
  seer_val value = seer_expand_cast(e, e->node.in[k], SEER_DTYPE_F32);
  const seer_value *scale = seer_expand_in(e, k);
  int64_t n = seer_op_elems(scale), dim[SEER_MAX_RANK];
  if (n == 1) return seer_expand_reshape(e, value, NULL, 0);
  if (scale->rank != 1) return value;
  for (uint32_t d = 0; d < rank; d++) dim[d] = d == axis ? n : 1;
  return seer_expand_reshape(e, value, dim, rank);
}

static seer_status expand_qlinear_matmul(seer_expand *e) {
  const product p = {.a = 0, .a_zero = 2, .b = 3, .b_zero = 5};
  uint32_t rank = seer_expand_in(e, 0)->rank, other = seer_expand_in(e, 3)->rank;
  if (other > rank) rank = other;
  seer_val y;
  SEER_TRY(expand_product(e, &p, SEER_DTYPE_F32, &y));
  seer_val factor = seer_expand_2(e, "Mul", seer_expand_scale_along(e, 1, (int64_t)rank - 2, rank),
      seer_expand_scale_along(e, 4, (int64_t)rank - 1, rank));
  seer_expand_output(e, 0, requantised(e, y, factor, 6, 7));
  return SEER_OK;
}

static seer_status expand_qlinear_conv(seer_expand *e) {
  const product p = {.a = 0, .a_zero = 2, .b = 3, .b_zero = 5, .bias = 8, .is_conv = true};
  uint32_t rank = seer_expand_in(e, 0)->rank;
  seer_val y;
  SEER_TRY(expand_product(e, &p, SEER_DTYPE_F32, &y));
  seer_val factor = seer_expand_2(
      e, "Mul", seer_expand_scale_along(e, 1, 1, rank), seer_expand_scale_along(e, 4, 1, rank));
  seer_expand_output(e, 0, requantised(e, y, factor, 6, 7));
  return SEER_OK;
}

// x -> u8 with the scale and zero point that fit its range, 0 included. Zeros alone have scale 1,
// as in ONNX Runtime.
static seer_status expand_dynamic_quantize(seer_expand *e) {
  seer_val x = e->node.in[0], zero = seer_expand_scalar(e, SEER_DTYPE_F32, 0);
  SEER_TRY(seer_op_want_float(seer_expand_in(e, 0), 0));
  seer_val high = seer_expand_2(e, "Max", seer_expand_1i(e, "ReduceMax", x, "keepdims", 0), zero);
  seer_val low = seer_expand_2(e, "Min", seer_expand_1i(e, "ReduceMin", x, "keepdims", 0), zero);
  seer_val most = seer_expand_scalar(e, SEER_DTYPE_F32, 255);
  seer_val range = seer_expand_2(e, "Sub", high, low);
  range = seer_expand_3(e, "Where", seer_expand_2(e, "Equal", range, zero), most, range);
  seer_val scale = seer_expand_2(e, "Div", range, most);
  seer_val at = seer_expand_1(e, "Neg", seer_expand_2(e, "Div", low, scale));
  at = seer_expand_1(e, "Round", seer_expand_3(e, "Clip", at, zero, most));
  seer_val point = seer_expand_cast(e, at, SEER_DTYPE_U8);
  seer_expand_output(e, 0, seer_expand_3(e, "QuantizeLinear", x, scale, point));
  seer_expand_output(e, 1, scale);
  seer_expand_output(e, 2, point);
  return SEER_OK;
}

#define QUANT(id, onnx, in_min, in_max, out, attributes, text)                              \
  SEER_COMPOSITE(id, "", onnx, 10, SEER_OPSET_NEWEST, in_min, in_max, out, out, attributes, \
      expand_##id, text)

#define CONV_ATTRS "auto_pad dilations group kernel_shape pads strides"
QUANT(matmul_integer, "MatMulInteger", 2, 4, 1, "", "in i32")
QUANT(conv_integer, "ConvInteger", 2, 4, 1, CONV_ATTRS, "in i32")
QUANT(qlinear_matmul, "QLinearMatMul", 8, 8, 1, "", "in i32, quantised by f32")
QUANT(qlinear_conv, "QLinearConv", 8, 9, 1, CONV_ATTRS, "in i32, quantised by f32")
QUANT(dynamic_quantize, "DynamicQuantizeLinear", 1, 1, 3, "", "")

// ---- com.microsoft: products

static seer_status expand_dynamic_quantize_matmul(seer_expand *e) {
  seer_val quantised[3], in[4];
  seer_expand_add_outs(e, "DynamicQuantizeLinear", &e->node.in[0], 1, NULL, 0, quantised, 3);
  in[0] = quantised[0];
  in[1] = e->node.in[1];
  in[2] = quantised[2];
  in[3] = seer_expand_operand(e, 3);
  seer_val y =
      seer_expand_cast(e, seer_expand_add(e, "MatMulInteger", in, 4, NULL, 0), SEER_DTYPE_F32);
  seer_val scale = seer_expand_2(e, "Mul", quantised[1], e->node.in[2]);
  seer_expand_output(e, 0, seer_expand_biased(e, seer_expand_2(e, "Mul", y, scale), 4));
  return SEER_OK;
}
SEER_CONTRIB(dynamic_quantize_matmul, "DynamicQuantizeMatMul", 3, 5, 1, "", "")

// alpha and both scales.
static seer_val factor_of(seer_expand *e, uint32_t a_scale, uint32_t b_scale, double alpha) {
  seer_val factor = e->node.in[a_scale];
  if (alpha != 1)
    factor = seer_expand_2(e, "Mul", factor, seer_expand_scalar(e, SEER_DTYPE_F32, alpha));
  return seer_expand_2(e, "Mul", factor, e->node.in[b_scale]);
}

static seer_status expand_matmul_integer_to_float(seer_expand *e) {
  const product p = {.a = 0, .b = 1, .a_zero = 4, .b_zero = 5};
  seer_val y;
  SEER_TRY(expand_product(e, &p, SEER_DTYPE_F32, &y));
  y = seer_expand_2(e, "Mul", y, factor_of(e, 2, 3, 1));
  seer_expand_output(e, 0, seer_expand_biased(e, y, 6));
  return SEER_OK;
}
SEER_CONTRIB(matmul_integer_to_float, "MatMulIntegerToFloat", 4, 7, 1, "", "in i32")

static seer_status expand_qgemm(seer_expand *e) {
  const product p = {.a = 0,
      .a_zero = 2,
      .b = 3,
      .b_zero = 5,
      .bias = 6,
      .is_turned = {seer_node_attr_i(&e->node, "transA", 0) != 0,
          seer_node_attr_i(&e->node, "transB", 0) != 0}};
  if (seer_expand_in(e, 0)->rank != 2 || seer_expand_in(e, 3)->rank != 2)
    return SEER_FAIL(INVALID, "inputs 0 and 3 are %s and %s, must be matrices",
        seer_op_shape_text(seer_expand_in(e, 0), e->scratch),
        seer_op_shape_text(seer_expand_in(e, 3), e->scratch));
  seer_val y;
  SEER_TRY(expand_product(e, &p, SEER_DTYPE_F32, &y));
  seer_val factor = factor_of(e, 1, 4, seer_node_attr_f(&e->node, "alpha", 1));
  bool is_quantised = seer_expand_has_in(e, 7);
  seer_expand_output(
      e, 0, is_quantised ? requantised(e, y, factor, 7, 8) : seer_expand_2(e, "Mul", y, factor));
  return SEER_OK;
}
SEER_CONTRIB(qgemm, "QGemm", 6, 9, 1, "transA transB alpha", "in i32, quantised by f32")

// Weights [directions, in, gates] as LSTM takes them, [directions, gates, in], in f32. Their scale
// and zero point are [directions] or [directions, gates].
static seer_status lstm_weights(
    seer_expand *e, uint32_t k, uint32_t scale, uint32_t zero, seer_val *out_value) {
  const seer_value *w = seer_expand_in(e, k);
  if (w->rank != 3)
    return SEER_FAIL(INVALID, "input %u is %s, must be [directions, in, gates]", k,
        seer_op_shape_text(w, e->scratch));
  int64_t directions = w->dim[0], gates = w->dim[2];
  seer_val x = seer_expand_cast(e, e->node.in[k], SEER_DTYPE_F32);
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t of = i ? scale : zero;
    const seer_value *value = seer_expand_in(e, of);
    bool is_per_gate = value->rank == 2 && value->dim[0] == directions && value->dim[1] == gates;
    if (!is_per_gate && !(value->rank == 1 && value->dim[0] == directions))
      return SEER_FAIL(INVALID,
          "input %u is %s, must be [%" PRId64 "] or [%" PRId64 ",%" PRId64 "]", of,
          seer_op_shape_text(value, e->scratch), directions, directions, gates);
    int64_t dim[3] = {directions, 1, is_per_gate ? gates : 1};
    seer_val by = seer_expand_cast(e, e->node.in[of], SEER_DTYPE_F32);
    x = seer_expand_2(e, i ? "Mul" : "Sub", x, seer_expand_reshape(e, by, dim, 3));
  }
  *out_value = seer_expand_turned(e, x, 3);
  return SEER_OK;
}

static seer_status expand_dynamic_quantize_lstm(seer_expand *e) {
  seer_val in[8], out[3];
  for (uint32_t k = 0; k < 8; k++) in[k] = seer_expand_operand(e, k);
  SEER_TRY(seer_expand_needs(e, 8, 12));
  SEER_TRY(lstm_weights(e, 1, 8, 9, &in[1]));
  SEER_TRY(lstm_weights(e, 2, 10, 11, &in[2]));
  seer_expand_add_outs(e, "LSTM", in, 8, e->node.attr, e->node.n_attr, out, 3);
  for (uint32_t k = 0; k < e->node.n_out; k++) seer_expand_output(e, k, out[k]);
  return SEER_OK;
}
SEER_CONTRIB(dynamic_quantize_lstm, "DynamicQuantizeLSTM", 3, 12, 3,
    "activation_alpha activation_beta activations clip direction hidden_size input_forget",
    "weights dequantised; inputs and states stay in f32")
