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

static seer_status expand_quick_gelu(seer_expand *e) {
  seer_val x = e->node.in[0];
  seer_val s = seer_expand_1(
      e, "Sigmoid", seer_expand_times(e, x, seer_node_attr_f(&e->node, "alpha", 1.702)));
  seer_expand_output(e, 0, seer_expand_2(e, "Mul", x, s));
  return SEER_OK;
}
SEER_CONTRIB(quick_gelu, "QuickGelu", 1, 1, 1, "alpha", "", .computes = true)

// ---- normalisations

static seer_val layer_norm(
    seer_expand *e, seer_val x, seer_val scale, seer_val bias, double epsilon) {
  seer_attr attr[2] = {
      seer_expand_int("axis", -1), {.name = "epsilon", .kind = SEER_ATTR_FLOAT, .f = epsilon}};
  return seer_expand_add(e, "LayerNormalization", (seer_val[]){x, scale, bias}, 3, attr, 2);
}

static seer_val rms_norm(seer_expand *e, seer_val x, seer_val scale, double epsilon) {
  const int64_t last = -1;
  seer_val mean =
      seer_expand_2(e, "ReduceMean", seer_expand_2(e, "Mul", x, x), seer_expand_ints(e, &last, 1));
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
      e, 0, rms_norm(e, x, e->node.in[2], seer_node_attr_f(&e->node, "epsilon", 1e-12)));
  seer_expand_output(e, 3, x);
  return SEER_OK;
}
SEER_CONTRIB(skip_rms_norm, "SkipSimplifiedLayerNormalization", 3, 4, 4, "epsilon",
    "no statistics as outputs", .computes = true)

static seer_status expand_simplified_layer_norm(seer_expand *e) {
  int64_t axis = seer_node_attr_i(&e->node, "axis", -1);
  if (axis != -1 && axis + 1 != seer_expand_in(e, 0)->rank)
    return SEER_FAIL(UNSUPPORTED, "attribute 'axis' is %" PRId64 ", must be the last", axis);
  seer_expand_output(
      e, 0, rms_norm(e, e->node.in[0], e->node.in[1], seer_node_attr_f(&e->node, "epsilon", 1e-5)));
  return SEER_OK;
}
// ONNX Runtime puts it into ONNX's own domain.
SEER_COMPOSITE(simplified_layer_norm, "", "SimplifiedLayerNormalization", 1, 25, 2, 2, 1, 1,
    "axis epsilon stash_type", expand_simplified_layer_norm, "the last dimension", .computes = true)

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
