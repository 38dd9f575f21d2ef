// contrib.c - operators of the domain com.microsoft that exporters and ONNX Runtime's optimiser
// write, as those of ONNX that they were fused from.
#include "front/expand/expand.h"

// ---- activations

static seer_status expand_gelu(seer_expand *e) {
  seer_expand_output(e, 0, seer_expand_1(e, "Gelu", e->node.in[0]));
  return SEER_OK;
}
SEER_CONTRIB(gelu, "Gelu", 1, 1, 1, "", "", .computes = true)

static seer_status expand_bias_gelu(seer_expand *e) {
  seer_expand_output(e, 0, seer_expand_1(e, "Gelu", seer_expand_biased(e, e->node.in[0], 1)));
  return SEER_OK;
}
SEER_CONTRIB(bias_gelu, "BiasGelu", 2, 2, 1, "", "", .computes = true)

static seer_status expand_fast_gelu(seer_expand *e) {
  seer_val x = seer_expand_biased(e, e->node.in[0], 1);
  seer_attr attr = seer_expand_string("approximate", "tanh");
  seer_expand_output(e, 0, seer_expand_add(e, "Gelu", &x, 1, &attr, 1));
  return SEER_OK;
}
SEER_CONTRIB(fast_gelu, "FastGelu", 1, 2, 1, "", "", .computes = true)

// x * sigmoid(alpha x)
static seer_val swish(seer_expand *e, double usual_alpha) {
  seer_val x = e->node.in[0];
  double alpha = seer_node_attr_f(&e->node, "alpha", usual_alpha);
  return seer_expand_2(e, "Mul", x, seer_expand_1(e, "Sigmoid", seer_expand_times(e, x, alpha)));
}

static seer_status expand_quick_gelu(seer_expand *e) {
  seer_expand_output(e, 0, swish(e, 1.702));
  return SEER_OK;
}
SEER_CONTRIB(quick_gelu, "QuickGelu", 1, 1, 1, "alpha", "", .computes = true)

// ONNX's own, newer than those of com.microsoft that mean the same.
static seer_status expand_swish(seer_expand *e) {
  SEER_TRY(seer_op_want_float(seer_expand_in(e, 0), 0));
  seer_expand_output(e, 0, swish(e, 1));
  return SEER_OK;
}
SEER_COMPOSITE(swish, "", "Swish", 24, SEER_OPSET_NEWEST, 1, 1, 1, 1, "alpha", expand_swish, "",
    .computes = true)

static seer_status expand_swiglu(seer_expand *e) {
  const seer_value *a = seer_expand_in(e, 0), *b = seer_expand_in(e, 1);
  SEER_TRY(seer_op_want_float(a, 0));
  SEER_TRY(seer_op_same_dtype(a, b, 1));
  bool is_same = a->rank == b->rank;
  for (uint32_t d = 0; is_same && d < a->rank; d++) is_same = a->dim[d] == b->dim[d];
  if (!is_same)
    return SEER_FAIL(INVALID, "input 1 is %s, must have the shape of input 0, %s",
        seer_op_shape_text(b, e->scratch), seer_op_shape_text(a, e->scratch));
  seer_expand_output(e, 0, seer_expand_2(e, "Mul", swish(e, 1), e->node.in[1]));
  return SEER_OK;
}
SEER_COMPOSITE(swiglu, "", "SwiGLU", 28, SEER_OPSET_NEWEST, 2, 2, 1, 1, "alpha", expand_swiglu,
    "two inputs of one shape", .computes = true)

// ---- normalisations

static seer_val layer_norm(
    seer_expand *e, seer_val x, seer_val scale, seer_val bias, double epsilon) {
  seer_attr attr[2] = {
      seer_expand_int("axis", -1), {.name = "epsilon", .kind = SEER_ATTR_FLOAT, .f = epsilon}};
  return seer_expand_add(e, "LayerNormalization", (seer_val[]){x, scale, bias}, 3, attr, 2);
}

// Over the last `n` dimensions.
static seer_val rms_norm(seer_expand *e, seer_val x, seer_val scale, double epsilon, uint32_t n) {
  int64_t axes[SEER_MAX_RANK];
  for (uint32_t k = 0; k < n; k++) axes[k] = (int64_t)k - n;
  seer_val mean =
      seer_expand_2(e, "ReduceMean", seer_expand_2(e, "Mul", x, x), seer_expand_ints(e, axes, n));
  seer_val root =
      seer_expand_1(e, "Sqrt", seer_expand_2(e, "Add", mean, seer_expand_number(e, epsilon)));
  return seer_expand_2(e, "Mul", seer_expand_2(e, "Div", x, root), scale);
}

static seer_status expand_skip_layer_norm(seer_expand *e) {
  seer_val none = {0},
           x = seer_expand_biased(e, seer_expand_2(e, "Add", e->node.in[0], e->node.in[1]), 4);
  seer_val beta = seer_expand_has_in(e, 3) ? e->node.in[3] : none;
  if (seer_expand_wants(e, 1) || seer_expand_wants(e, 2))
    return SEER_FAIL(UNSUPPORTED, "outputs 1 and 2 (statistics) are not made");
  seer_expand_output(
      e, 0, layer_norm(e, x, e->node.in[2], beta, seer_node_attr_f(&e->node, "epsilon", 1e-12)));
  seer_expand_output(e, 3, x);
  return SEER_OK;
}
SEER_CONTRIB(skip_layer_norm, "SkipLayerNormalization", 3, 5, 4, "epsilon",
    "no statistics as outputs", .computes = true)

static seer_status expand_skip_rms_norm(seer_expand *e) {
  seer_val x = seer_expand_biased(e, seer_expand_2(e, "Add", e->node.in[0], e->node.in[1]), 3);
  if (seer_expand_wants(e, 1) || seer_expand_wants(e, 2))
    return SEER_FAIL(UNSUPPORTED, "outputs 1 and 2 (statistics) are not made");
  seer_expand_output(
      e, 0, rms_norm(e, x, e->node.in[2], seer_node_attr_f(&e->node, "epsilon", 1e-12), 1));
  seer_expand_output(e, 3, x);
  return SEER_OK;
}
SEER_CONTRIB(skip_rms_norm, "SkipSimplifiedLayerNormalization", 3, 4, 4, "epsilon",
    "no statistics as outputs", .computes = true)

static seer_status expand_rms_norm(seer_expand *e) {
  const seer_value *x = seer_expand_in(e, 0), *scale = seer_expand_in(e, 1);
  uint32_t axis;
  SEER_TRY(seer_op_want_float(x, 0));
  SEER_TRY(
      seer_op_axis(seer_node_attr_i(&e->node, "axis", -1), x->rank, "attribute 'axis'", &axis));
  uint32_t n = x->rank - axis;
  bool fits = scale->rank <= n;
  for (uint32_t d = 0; d < scale->rank && fits; d++)
    fits = scale->dim[d] == 1 || scale->dim[d] == x->dim[x->rank - scale->rank + d];
  if (!fits)
    return SEER_FAIL(INVALID, "input 1 is %s, must broadcast to input 0 (%s) from axis %u on",
        seer_op_shape_text(scale, e->scratch), seer_op_shape_text(x, e->scratch), axis);
  double epsilon = seer_node_attr_f(&e->node, "epsilon", 1e-5);
  seer_expand_output(e, 0, rms_norm(e, e->node.in[0], e->node.in[1], epsilon, n));
  return SEER_OK;
}
SEER_COMPOSITE(rms_norm, "", "RMSNormalization", 23, SEER_OPSET_NEWEST, 2, 2, 1, 1,
    "axis epsilon stash_type", expand_rms_norm, "", .computes = true)
// ONNX Runtime puts it into ONNX's own domain.
SEER_COMPOSITE(simplified_layer_norm, "", "SimplifiedLayerNormalization", 1, SEER_OPSET_NEWEST, 2,
    2, 1, 1, "axis epsilon stash_type", expand_rms_norm, "", .computes = true)

// ---- pooling

static seer_status expand_nhwc_max_pool(seer_expand *e) {
  if (seer_expand_in(e, 0)->rank != 4) return SEER_FAIL(UNSUPPORTED, "input 0 must have rank 4");
  seer_val x = seer_expand_channels(e, e->node.in[0], 4, false);
  x = seer_expand_add(e, "MaxPool", &x, 1, e->node.attr, e->node.n_attr);
  seer_expand_output(e, 0, seer_expand_channels(e, x, 4, true));
  return SEER_OK;
}
SEER_CONTRIB(nhwc_max_pool, "NhwcMaxPool", 1, 1, 1,
    "auto_pad ceil_mode dilations kernel_shape pads strides", "two spatial dimensions")
