// contrib.c - operators of the domain com.microsoft that exporters and ONNX Runtime's optimiser
// write, as those of ONNX that they were fused from.
#include <math.h>

#include "front/expand/expand.h"

#define CONTRIB(id, onnx, in_min, in_max, out_max, attributes, text)                           \
  SEER_COMPOSITE(ms_##id, "com.microsoft", onnx, 1, 1, in_min, in_max, 1, out_max, attributes, \
      expand_##id, text)

static seer_val number(seer_expand *e, double value) {
  return seer_expand_scalar(e, seer_expand_in(e, 0)->dtype, value);
}

static seer_val times(seer_expand *e, seer_val x, double factor) {
  return seer_expand_2(e, "Mul", x, number(e, factor));
}

static seer_val with_bias(seer_expand *e, seer_val x, uint32_t k) {
  return seer_expand_has_in(e, k) ? seer_expand_2(e, "Add", x, e->node.in[k]) : x;
}

// ---- products

// x with its last two dimensions exchanged.
static seer_val turned(seer_expand *e, seer_val x, uint32_t rank) {
  int64_t perm[SEER_MAX_RANK];
  for (uint32_t d = 0; d < rank; d++) perm[d] = d;
  perm[rank - 2] = rank - 1;
  perm[rank - 1] = rank - 2;
  seer_attr attr = seer_expand_ints_attr("perm", perm, rank);
  return seer_expand_add(e, "Transpose", &x, 1, &attr, 1);
}

static seer_status expand_fused_matmul(seer_expand *e) {
  static const char *const trans[2] = {"transA", "transB"},
                           *const batch[2] = {"transBatchA", "transBatchB"};
  seer_val x[2];
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t rank = seer_expand_in(e, k)->rank;
    bool is_turned = seer_node_attr_i(&e->node, trans[k], 0) != 0;
    if (seer_node_attr_i(&e->node, batch[k], 0) != 0)
      return SEER_FAIL(UNSUPPORTED, "attribute '%s' is 1", batch[k]);
    x[k] = e->node.in[k];
    if (is_turned && rank >= 2) x[k] = turned(e, x[k], rank);
  }
  seer_val y = seer_expand_2(e, "MatMul", x[0], x[1]);
  double alpha = seer_node_attr_f(&e->node, "alpha", 1);
  seer_expand_output(e, 0, alpha == 1 ? y : times(e, y, alpha));
  return SEER_OK;
}
CONTRIB(fused_matmul, "FusedMatMul", 2, 2, 1, "alpha transA transB transBatchA transBatchB",
    "no exchange of batch dimensions")

static seer_status expand_dynamic_quantize_matmul(seer_expand *e) {
  seer_val quantised[3], in[4];
  seer_expand_add_outs(e, "DynamicQuantizeLinear", &e->node.in[0], 1, NULL, 0, quantised, 3);
  in[0] = quantised[0];
  in[1] = e->node.in[1];
  in[2] = quantised[2];
  in[3] = seer_expand_has_in(e, 3) ? e->node.in[3] : (seer_val){0};
  seer_val y =
      seer_expand_cast(e, seer_expand_add(e, "MatMulInteger", in, 4, NULL, 0), SEER_DTYPE_F32);
  seer_val scale = seer_expand_2(e, "Mul", quantised[1], e->node.in[2]);
  seer_expand_output(e, 0, with_bias(e, seer_expand_2(e, "Mul", y, scale), 4));
  return SEER_OK;
}
CONTRIB(dynamic_quantize_matmul, "DynamicQuantizeMatMul", 3, 5, 1, "", "")

// ---- activations

static seer_status expand_gelu(seer_expand *e) {
  seer_expand_output(e, 0, seer_expand_1(e, "Gelu", e->node.in[0]));
  return SEER_OK;
}
CONTRIB(gelu, "Gelu", 1, 1, 1, "", "")

static seer_status expand_bias_gelu(seer_expand *e) {
  seer_expand_output(e, 0, seer_expand_1(e, "Gelu", with_bias(e, e->node.in[0], 1)));
  return SEER_OK;
}
CONTRIB(bias_gelu, "BiasGelu", 2, 2, 1, "", "")

static seer_status expand_fast_gelu(seer_expand *e) {
  seer_val x = with_bias(e, e->node.in[0], 1);
  seer_attr attr = seer_expand_string("approximate", "tanh");
  seer_expand_output(e, 0, seer_expand_add(e, "Gelu", &x, 1, &attr, 1));
  return SEER_OK;
}
CONTRIB(fast_gelu, "FastGelu", 1, 2, 1, "", "")

static seer_status expand_quick_gelu(seer_expand *e) {
  seer_val x = e->node.in[0];
  seer_val s = seer_expand_1(e, "Sigmoid", times(e, x, seer_node_attr_f(&e->node, "alpha", 1.702)));
  seer_expand_output(e, 0, seer_expand_2(e, "Mul", x, s));
  return SEER_OK;
}
CONTRIB(quick_gelu, "QuickGelu", 1, 1, 1, "alpha", "")

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
  seer_val root = seer_expand_1(e, "Sqrt", seer_expand_2(e, "Add", mean, number(e, epsilon)));
  return seer_expand_2(e, "Mul", seer_expand_2(e, "Div", x, root), scale);
}

static seer_status expand_skip_layer_norm(seer_expand *e) {
  seer_val none = {0}, x = with_bias(e, seer_expand_2(e, "Add", e->node.in[0], e->node.in[1]), 4);
  seer_val beta = seer_expand_has_in(e, 3) ? e->node.in[3] : none;
  if (seer_expand_wants(e, 1) || seer_expand_wants(e, 2))
    return SEER_FAIL(UNSUPPORTED, "outputs 1 and 2 (statistics) are not made");
  seer_expand_output(
      e, 0, layer_norm(e, x, e->node.in[2], beta, seer_node_attr_f(&e->node, "epsilon", 1e-12)));
  seer_expand_output(e, 3, x);
  return SEER_OK;
}
CONTRIB(skip_layer_norm, "SkipLayerNormalization", 3, 5, 4, "epsilon", "no statistics as outputs")

static seer_status expand_skip_rms_norm(seer_expand *e) {
  seer_val x = with_bias(e, seer_expand_2(e, "Add", e->node.in[0], e->node.in[1]), 3);
  if (seer_expand_wants(e, 1) || seer_expand_wants(e, 2))
    return SEER_FAIL(UNSUPPORTED, "outputs 1 and 2 (statistics) are not made");
  seer_expand_output(
      e, 0, rms_norm(e, x, e->node.in[2], seer_node_attr_f(&e->node, "epsilon", 1e-12)));
  seer_expand_output(e, 3, x);
  return SEER_OK;
}
CONTRIB(skip_rms_norm, "SkipSimplifiedLayerNormalization", 3, 4, 4, "epsilon",
    "no statistics as outputs")

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
    "axis epsilon stash_type", expand_simplified_layer_norm, "the last dimension")

// ---- attention

// [batch, n, heads * d] -> [batch, heads, n, d]
static seer_val split_heads(
    seer_expand *e, seer_val x, int64_t batch, int64_t n, int64_t heads, int64_t d) {
  seer_attr perm = seer_expand_ints_attr("perm", (int64_t[]){0, 2, 1, 3}, 4);
  x = seer_expand_reshape(e, x, (int64_t[]){batch, n, heads, d}, 4);
  return seer_expand_add(e, "Transpose", &x, 1, &perm, 1);
}

// q [batch, heads, n, d], k and v [batch, heads, m, d] -> [batch, n, heads * d]. mask: added to the
// scores, may be none.
static seer_status attend(seer_expand *e, const seer_val *qkv, const int64_t *q_dim, double scale,
    seer_val mask, bool is_causal, int64_t m, seer_val *out_y) {
  int64_t batch = q_dim[0], heads = q_dim[1], n = q_dim[2], d = q_dim[3];
  seer_val scores = seer_expand_2(e, "MatMul", qkv[0], turned(e, qkv[1], 4));
  scores = times(e, scores, scale);
  if (is_causal) {
    double *hide = NULL;
    SEER_TRY(seer_expand_table(e, n, m, &hide));
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = m - n + i + 1; j < m; j++) hide[i * m + j] = -10000;
    seer_val table =
        seer_expand_tensor(e, seer_expand_in(e, 0)->dtype, (int64_t[]){1, 1, n, m}, 4, hide);
    scores = seer_expand_2(e, "Add", scores, table);
  }
  if (mask.i) scores = seer_expand_2(e, "Add", scores, mask);
  seer_val p = seer_expand_1i(e, "Softmax", scores, "axis", -1);
  seer_val y = seer_expand_2(e, "MatMul", p, qkv[2]);
  seer_attr perm = seer_expand_ints_attr("perm", (int64_t[]){0, 2, 1, 3}, 4);
  y = seer_expand_add(e, "Transpose", &y, 1, &perm, 1);
  *out_y = seer_expand_reshape(e, y, (int64_t[]){batch, n, heads * d}, 3);
  return SEER_OK;
}

// 1 where a token counts, [batch, m] -> 0 and -10000, [batch, 1, 1, m].
static seer_status padding_mask(
    seer_expand *e, uint32_t k, int64_t batch, int64_t m, seer_val *out_mask) {
  *out_mask = (seer_val){0};
  if (!seer_expand_has_in(e, k)) return SEER_OK;
  const seer_value *mask = seer_expand_in(e, k);
  if (mask->rank != 2 || mask->dim[0] != batch || mask->dim[1] != m)
    return SEER_FAIL(UNSUPPORTED, "input %u is %s, a mask must be [%" PRId64 ",%" PRId64 "]", k,
        seer_op_shape_text(mask, e->scratch), batch, m);
  seer_val x = seer_expand_reshape(e, e->node.in[k], (int64_t[]){batch, 1, 1, m}, 4);
  x = seer_expand_cast(e, x, seer_expand_in(e, 0)->dtype);
  *out_mask = times(e, seer_expand_2(e, "Sub", number(e, 1), x),
      seer_node_attr_f(&e->node, "mask_filter_value", -10000));
  return SEER_OK;
}

static seer_status want_absent(const seer_expand *e, uint32_t first, uint32_t end) {
  for (uint32_t k = first; k < end; k++)
    if (seer_expand_has_in(e, k)) return SEER_FAIL(UNSUPPORTED, "input %u is given", k);
  for (uint32_t k = 1; k < e->node.n_out; k++)
    if (e->node.out[k].i) return SEER_FAIL(UNSUPPORTED, "output %u is asked for", k);
  return SEER_OK;
}

static seer_status expand_attention(seer_expand *e) {
  const seer_value *x = seer_expand_in(e, 0), *w = seer_expand_in(e, 1);
  int64_t heads = seer_node_attr_i(&e->node, "num_heads", 0);
  SEER_TRY(want_absent(e, 4, 7));
  if (seer_node_attr(&e->node, "qkv_hidden_sizes") || seer_node_attr_i(&e->node, "do_rotary", 0))
    return SEER_FAIL(UNSUPPORTED, "attributes 'qkv_hidden_sizes' and 'do_rotary'");
  if (x->rank != 3 || w->rank != 2 || heads < 1 || w->dim[1] % (3 * heads) != 0)
    return SEER_FAIL(INVALID, "inputs 0 and 1 are %s and %s, with %" PRId64 " heads",
        seer_op_shape_text(x, e->scratch), seer_op_shape_text(w, e->scratch), heads);
  int64_t batch = x->dim[0], n = x->dim[1], hidden = w->dim[1] / 3, d = hidden / heads;
  seer_val mask, qkv[3];
  SEER_TRY(padding_mask(e, 3, batch, n, &mask));
  seer_val all = with_bias(e, seer_expand_2(e, "MatMul", e->node.in[0], e->node.in[1]), 2);
  for (int64_t k = 0; k < 3; k++) {
    seer_val part = seer_expand_slice(e, all, 2, k * hidden, (k + 1) * hidden);
    qkv[k] = split_heads(e, part, batch, n, heads, d);
  }
  double scale = seer_node_attr_f(&e->node, "scale", 0);
  bool is_causal = seer_node_attr_i(&e->node, "unidirectional", 0) != 0;
  seer_val y;
  SEER_TRY(attend(e, qkv, (int64_t[]){batch, heads, n, d}, scale > 0 ? scale : 1 / sqrt((double)d),
      mask, is_causal, n, &y));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
CONTRIB(attention, "Attention", 2, 7, 2,
    "num_heads unidirectional scale mask_filter_value qkv_hidden_sizes do_rotary "
    "past_present_share_buffer rotary_embedding_dim",
    "mask [batch, tokens] or none; no past")

static seer_status expand_multi_head_attention(seer_expand *e) {
  const seer_value *q = seer_expand_in(e, 0);
  int64_t heads = seer_node_attr_i(&e->node, "num_heads", 0);
  SEER_TRY(want_absent(e, 5, 10));
  bool fits = q->rank == 3 && heads >= 1 && q->dim[2] % heads == 0;
  for (uint32_t k = 1; k < 3 && fits; k++) {
    fits = seer_expand_has_in(e, k) && seer_expand_in(e, k)->rank == 3 &&
        seer_expand_in(e, k)->dim[2] % heads == 0;
  }
  if (!fits)
    return SEER_FAIL(UNSUPPORTED,
        "query, key and value must be given as [batch, tokens, hidden] "
        "with a multiple of %" PRId64 " heads",
        heads);
  int64_t batch = q->dim[0], n = q->dim[1], m = seer_expand_in(e, 1)->dim[1], at = 0;
  int64_t d = q->dim[2] / heads;
  seer_val mask, qkv[3];
  SEER_TRY(padding_mask(e, 4, batch, m, &mask));
  for (uint32_t k = 0; k < 3; k++) {
    int64_t hidden = seer_expand_in(e, k)->dim[2];
    seer_val part = e->node.in[k];
    if (seer_expand_has_in(e, 3))
      part = seer_expand_2(e, "Add", part, seer_expand_slice(e, e->node.in[3], 0, at, at + hidden));
    at += hidden;
    qkv[k] = split_heads(e, part, batch, k ? m : n, heads, hidden / heads);
  }
  double scale = seer_node_attr_f(&e->node, "scale", 0);
  int64_t value_d = seer_expand_in(e, 2)->dim[2] / heads;
  seer_val y;
  bool is_causal = seer_node_attr_i(&e->node, "unidirectional", 0) != 0;
  SEER_TRY(attend(e, qkv, (int64_t[]){batch, heads, n, value_d},
      scale > 0 ? scale : 1 / sqrt((double)d), mask, is_causal, m, &y));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
CONTRIB(multi_head_attention, "MultiHeadAttention", 1, 10, 3,
    "num_heads scale mask_filter_value unidirectional",
    "query, key and value apart; mask [batch, tokens] or none; no past")

// ---- quantised

// value, scale, zero point from input k on
static seer_val dequantised(seer_expand *e, uint32_t k) {
  seer_val none = {0};
  return seer_expand_3(e, "DequantizeLinear", e->node.in[k], e->node.in[k + 1],
      seer_expand_has_in(e, k + 2) ? e->node.in[k + 2] : none);
}

static void quantise(seer_expand *e, seer_val x, uint32_t k) {  // scale, zero point from input k on
  seer_val none = {0};
  seer_expand_output(e, 0,
      seer_expand_3(e, "QuantizeLinear", x, e->node.in[k],
          seer_expand_has_in(e, k + 1) ? e->node.in[k + 1] : none));
}

static seer_status expand_qlinear_add(seer_expand *e) {
  quantise(e, seer_expand_2(e, "Add", dequantised(e, 0), dequantised(e, 3)), 6);
  return SEER_OK;
}
CONTRIB(qlinear_add, "QLinearAdd", 7, 8, 1, "", "through f32")

static seer_status expand_qlinear_mul(seer_expand *e) {
  quantise(e, seer_expand_2(e, "Mul", dequantised(e, 0), dequantised(e, 3)), 6);
  return SEER_OK;
}
CONTRIB(qlinear_mul, "QLinearMul", 7, 8, 1, "", "through f32")

static seer_status expand_qlinear_sigmoid(seer_expand *e) {
  quantise(e, seer_expand_1(e, "Sigmoid", dequantised(e, 0)), 3);
  return SEER_OK;
}
CONTRIB(qlinear_sigmoid, "QLinearSigmoid", 4, 5, 1, "", "through f32")

// Channels to the second place and, for what was computed, back to the last.
static seer_val channels_first(seer_expand *e, seer_val x, bool back) {
  seer_attr perm =
      seer_expand_ints_attr("perm", back ? (int64_t[]){0, 2, 3, 1} : (int64_t[]){0, 3, 1, 2}, 4);
  return seer_expand_add(e, "Transpose", &x, 1, &perm, 1);
}

static seer_status expand_qlinear_global_average_pool(seer_expand *e) {
  bool is_last = seer_node_attr_i(&e->node, "channels_last", 0) != 0;
  if (seer_expand_in(e, 0)->rank != 4) return SEER_FAIL(UNSUPPORTED, "input 0 must have rank 4");
  seer_val x = dequantised(e, 0);
  if (is_last) x = channels_first(e, x, false);
  x = seer_expand_1(e, "GlobalAveragePool", x);
  quantise(e, is_last ? channels_first(e, x, true) : x, 3);
  return SEER_OK;
}
CONTRIB(qlinear_global_average_pool, "QLinearGlobalAveragePool", 4, 5, 1, "channels_last",
    "two spatial dimensions; through f32")

static seer_status expand_nhwc_max_pool(seer_expand *e) {
  if (seer_expand_in(e, 0)->rank != 4) return SEER_FAIL(UNSUPPORTED, "input 0 must have rank 4");
  seer_val x = channels_first(e, e->node.in[0], false);
  x = seer_expand_add(e, "MaxPool", &x, 1, e->node.attr, e->node.n_attr);
  seer_expand_output(e, 0, channels_first(e, x, true));
  return SEER_OK;
}
CONTRIB(nhwc_max_pool, "NhwcMaxPool", 1, 1, 1,
    "auto_pad ceil_mode dilations kernel_shape pads strides", "two spatial dimensions")
