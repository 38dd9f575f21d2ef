// quant.c - quantised products: operands less their zero points in i32, the product, and for the
// QLinear forms the way back to 8 bits. What is put in front of and behind the product is
// elementwise, and is fused with it.
#include "front/expand/expand.h"

// Input k in i32 less its zero point (input `zero`, may be absent), which is one for all or one per
// element of `axis`.
static seer_status centred(
    seer_expand *e, uint32_t k, uint32_t zero, int64_t axis, seer_val *out_value) {
  seer_val x = seer_expand_cast(e, e->node.in[k], SEER_DTYPE_I32);
  *out_value = x;
  if (!seer_expand_has_in(e, zero)) return SEER_OK;
  const seer_value *value = seer_expand_in(e, k), *point = seer_expand_in(e, zero);
  seer_val centre = seer_expand_cast(e, e->node.in[zero], SEER_DTYPE_I32);
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

// i32 -> f32 * factor -> quantised with scale and zero point.
static seer_val requantised(
    seer_expand *e, seer_val acc, seer_val factor, seer_val scale, seer_val zero) {
  seer_val x = seer_expand_2(e, "Mul", seer_expand_cast(e, acc, SEER_DTYPE_F32), factor);
  return seer_expand_3(e, "QuantizeLinear", x, scale, zero);
}

static seer_status expand_matmul_integer(seer_expand *e) {
  seer_val a, b;
  SEER_TRY(centred(e, 0, 2, -2, &a));
  SEER_TRY(centred(e, 1, 3, -1, &b));
  seer_expand_output(e, 0, seer_expand_2(e, "MatMul", a, b));
  return SEER_OK;
}

// Padding is the zero point's, and therefore 0 once the zero point is taken off.
static seer_status expand_conv_integer(seer_expand *e) {
  seer_val x[2];
  SEER_TRY(centred(e, 0, 2, 1, &x[0]));
  SEER_TRY(centred(e, 1, 3, 0, &x[1]));
  seer_expand_output(e, 0, seer_expand_add(e, "Conv", x, 2, e->node.attr, e->node.n_attr));
  return SEER_OK;
}

// A scale as f32 that broadcasts along `axis` of a result of rank `rank`.
static seer_val scale_along(seer_expand *e, uint32_t k, int64_t axis, uint32_t rank) {
  const seer_value *scale = seer_expand_in(e, k);
  seer_val value = seer_expand_cast(e, e->node.in[k], SEER_DTYPE_F32);
  int64_t n = seer_op_elems(scale), dim[SEER_MAX_RANK];
  if (n == 1) return seer_expand_reshape(e, value, NULL, 0);
  if (scale->rank != 1) return value;
  for (uint32_t d = 0; d < rank; d++) dim[d] = d == axis ? n : 1;
  return seer_expand_reshape(e, value, dim, rank);
}

static seer_status expand_qlinear_matmul(seer_expand *e) {
  seer_val a, b;
  uint32_t rank = seer_expand_in(e, 0)->rank, other = seer_expand_in(e, 3)->rank;
  if (other > rank) rank = other;
  SEER_TRY(centred(e, 0, 2, -2, &a));
  SEER_TRY(centred(e, 3, 5, -1, &b));
  seer_val factor = seer_expand_2(e, "Mul", scale_along(e, 1, (int64_t)rank - 2, rank),
      scale_along(e, 4, (int64_t)rank - 1, rank));
  seer_expand_output(
      e, 0, requantised(e, seer_expand_2(e, "MatMul", a, b), factor, e->node.in[6], e->node.in[7]));
  return SEER_OK;
}

static seer_status expand_qlinear_conv(seer_expand *e) {
  seer_val x[3] = {{0}};
  uint32_t rank = seer_expand_in(e, 0)->rank;
  SEER_TRY(centred(e, 0, 2, 1, &x[0]));
  SEER_TRY(centred(e, 3, 5, 0, &x[1]));
  if (seer_expand_has_in(e, 8)) x[2] = e->node.in[8];
  seer_val factor = seer_expand_2(e, "Mul", scale_along(e, 1, 1, rank), scale_along(e, 4, 1, rank));
  seer_val acc = seer_expand_add(e, "Conv", x, 3, e->node.attr, e->node.n_attr);
  seer_expand_output(e, 0, requantised(e, acc, factor, e->node.in[6], e->node.in[7]));
  return SEER_OK;
}

// x -> u8 with the scale and zero point that fit its range, 0 included.
static seer_status expand_dynamic_quantize(seer_expand *e) {
  seer_val x = e->node.in[0], zero = seer_expand_scalar(e, SEER_DTYPE_F32, 0);
  SEER_TRY(seer_op_want_float(seer_expand_in(e, 0), 0));
  seer_val high = seer_expand_2(e, "Max", seer_expand_1i(e, "ReduceMax", x, "keepdims", 0), zero);
  seer_val low = seer_expand_2(e, "Min", seer_expand_1i(e, "ReduceMin", x, "keepdims", 0), zero);
  seer_val most = seer_expand_scalar(e, SEER_DTYPE_F32, 255);
  seer_val scale = seer_expand_2(e, "Div", seer_expand_2(e, "Sub", high, low), most);
  seer_val at = seer_expand_1(e, "Neg", seer_expand_2(e, "Div", low, scale));
  at = seer_expand_1(e, "Round", seer_expand_3(e, "Clip", at, zero, most));
  seer_val point = seer_expand_cast(e, at, SEER_DTYPE_U8);
  seer_expand_output(e, 0, seer_expand_3(e, "QuantizeLinear", x, scale, point));
  seer_expand_output(e, 1, scale);
  seer_expand_output(e, 2, point);
  return SEER_OK;
}

#define QUANT(id, onnx, in_min, in_max, out, attributes, text) \
  SEER_COMPOSITE(id, "", onnx, 10, 25, in_min, in_max, out, out, attributes, expand_##id, text)

#define CONV_ATTRS "auto_pad dilations group kernel_shape pads strides"
QUANT(matmul_integer, "MatMulInteger", 2, 4, 1, "", "in i32")
QUANT(conv_integer, "ConvInteger", 2, 4, 1, CONV_ATTRS, "in i32")
QUANT(qlinear_matmul, "QLinearMatMul", 8, 8, 1, "", "in i32, quantised by f32")
QUANT(qlinear_conv, "QLinearConv", 8, 9, 1, CONV_ATTRS, "in i32, quantised by f32")
QUANT(dynamic_quantize, "DynamicQuantizeLinear", 1, 1, 3, "", "")
