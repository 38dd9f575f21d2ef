// quantised.c - what the pass "integers" puts in place of products of dequantised operands: a
// product of bytes (integer.h), then one factor of all scales, as ONNX Runtime has it for
// QLinearConv: y = saturate(round(sum * (x_scale * w_scale / y_scale)) + y_zero); without a
// quantisation behind it, sum * (x_scale * w_scale).
#include "front/expand/integer.h"

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, BIAS, Y_SCALE, Y_ZERO };

// A bias of channels, along them.
static seer_val bias_along(seer_expand *e, bool is_conv) {
  const seer_value *bias = seer_expand_in(e, BIAS);
  uint32_t rank = seer_expand_in(e, W)->rank - 1u;
  if (!is_conv) return e->node.in[BIAS];
  int64_t dim[SEER_MAX_RANK] = {bias->dim[0]};
  for (uint32_t d = 1; d < rank; d++) dim[d] = 1;
  return seer_expand_reshape(e, e->node.in[BIAS], dim, rank);
}

// Between `low` and `high`, real numbers, either of which may be absent, in steps of `scale`.
static seer_val limited(seer_expand *e, seer_val steps, seer_val scale) {
  seer_val in[3] = {steps};
  const char *const names[] = {"low", "high"}, *const ops[] = {"Max", "Min"};
  bool is_one = seer_op_elems(seer_expand_in(e, Y_SCALE)) == 1;
  for (uint32_t k = 0; k < 2; k++) {
    const seer_attr *limit = seer_node_attr(&e->node, names[k]);
    if (!limit) continue;
    seer_val number = seer_expand_scalar(e, SEER_DTYPE_F32, limit->f);
    in[k + 1] = seer_expand_2(e, "Div", number, scale);
    if (!is_one) steps = seer_expand_2(e, ops[k], steps, in[k + 1]);
  }
  if (!is_one) return steps;
  return in[1].i || in[2].i ? seer_expand_add(e, "Clip", in, 3, NULL, 0) : steps;
}

// One number, or one for each channel of a convolution.
static seer_val scale_of_result(seer_expand *e, uint32_t rank) {
  if (seer_op_elems(seer_expand_in(e, Y_SCALE)) != 1)
    return seer_expand_scale_along(e, Y_SCALE, 1, rank);
  return seer_expand_reshape(e, seer_expand_operand(e, Y_SCALE), NULL, 0);
}

static seer_status expand(seer_expand *e, bool is_conv) {
  SEER_TRY(seer_expand_needs(e, X, X_SCALE + 1));
  SEER_TRY(seer_expand_needs(e, W, W_SCALE + 1));
  bool has_bias = seer_expand_has_in(e, BIAS);
  bool is_whole_bias = has_bias && seer_expand_in(e, BIAS)->dtype == SEER_DTYPE_I32;
  const seer_integer_product p = {.x = seer_expand_operand(e, X),
      .x_zero = seer_expand_operand(e, X_ZERO),
      .w = seer_expand_operand(e, W),
      .w_zero = seer_expand_operand(e, W_ZERO),
      .bias = is_whole_bias ? seer_expand_operand(e, BIAS) : (seer_val){0},
      .is_conv = is_conv,
      .is_turned = seer_node_attr_i(&e->node, "turned", 0) != 0,
      .attr = e->node.attr,
      .n_attr = e->node.n_attr};
  seer_val y;
  bool did;
  uint32_t rank = seer_expand_in(e, X)->rank, of_w = seer_expand_in(e, W)->rank;
  if (of_w > rank) rank = of_w;
  SEER_TRY(seer_integer_expand(e, &p, SEER_DTYPE_F32, &y, &did));
  if (!did) return SEER_FAIL(INTERNAL, "the product does not fit bytes");
  seer_val factor = seer_expand_2(e, "Mul", seer_expand_scale_along(e, X_SCALE, 0, rank),
      seer_expand_scale_along(e, W_SCALE, is_conv ? 1 : rank - 1, rank));
  bool has_real_bias = has_bias && !is_whole_bias, is_quantised = seer_expand_has_in(e, Y_SCALE);
  seer_val bias = has_real_bias ? bias_along(e, is_conv) : (seer_val){0};
  seer_val scale = is_quantised ? scale_of_result(e, rank) : (seer_val){0};
  if (is_quantised) factor = seer_expand_2(e, "Div", factor, scale);
  y = seer_expand_2(e, "Mul", y, factor);
  if (has_real_bias && is_quantised) bias = seer_expand_2(e, "Div", bias, scale);
  if (has_real_bias) y = seer_expand_2(e, "Add", y, bias);
  if (is_quantised) y = seer_expand_whole(e, limited(e, y, scale), seer_expand_operand(e, Y_ZERO));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}

static seer_status expand_conv(seer_expand *e) { return expand(e, true); }
static seer_status expand_matmul(seer_expand *e) { return expand(e, false); }

// Operands: x, its scale and zero point, w, its scale and zero point, the bias (i32: of the sums;
// f32: of the result), the result's scale and zero point. From the bias on, and zero points, they
// may be absent.
SEER_COMPOSITE(quantised_conv, SEER_INNER_DOMAIN, "QuantisedConv", 1, 1, 2, 9, 1, 1,
    "auto_pad dilations group kernel_shape pads strides low high", expand_conv, "")
SEER_COMPOSITE(quantised_matmul, SEER_INNER_DOMAIN, "QuantisedMatMul", 1, 1, 2, 9, 1, 1,
    "turned low high", expand_matmul, "")
