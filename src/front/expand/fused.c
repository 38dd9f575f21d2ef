// fused.c - what ONNX Runtime's optimiser writes for a product and what it does with the result, in
// com.microsoft: FusedMatMul, FusedGemm, FusedConv. They become the parts again, which are fused
// here as any others.
#include <string.h>

#include "front/expand/expand.h"

// Axes that are not what they are in a product moved there: with `batch` dimension 0 goes in front
// of the last one, and with `is_turned` the last two change places.
static seer_status moved(seer_expand *e, uint32_t k, bool is_turned, bool batch, seer_val *out_x) {
  const seer_value *x = seer_expand_in(e, k);
  uint32_t rank = x->rank;
  int64_t perm[SEER_MAX_RANK];
  *out_x = e->node.in[k];
  if (batch && rank < 3) {
    return SEER_FAIL(INVALID, "input %u is %s: to exchange batch dimensions it must have rank 3", k,
        seer_op_shape_text(x, e->scratch));
  }
  if (rank < 2 || !(is_turned || batch)) return SEER_OK;
  for (uint32_t d = 0; d < rank; d++) perm[d] = d;
  if (batch) {
    for (uint32_t d = 0; d + 2 < rank; d++) perm[d] = d + 1;
    perm[rank - 2] = 0;
  }
  if (is_turned) {
    int64_t last = perm[rank - 1];
    perm[rank - 1] = perm[rank - 2];
    perm[rank - 2] = last;
  }
  seer_attr attr = seer_expand_ints_attr("perm", perm, rank);
  *out_x = seer_expand_add(e, "Transpose", out_x, 1, &attr, 1);
  return SEER_OK;
}

static seer_status expand_fused_matmul(seer_expand *e) {
  static const char *const trans[2] = {"transA", "transB"},
                           *const batch[2] = {"transBatchA", "transBatchB"};
  seer_val x[2];
  for (uint32_t k = 0; k < 2; k++)
    SEER_TRY(moved(e, k, seer_node_attr_i(&e->node, trans[k], 0) != 0,
        seer_node_attr_i(&e->node, batch[k], 0) != 0, &x[k]));
  seer_val y = seer_expand_2(e, "MatMul", x[0], x[1]);
  double alpha = seer_node_attr_f(&e->node, "alpha", 1);
  seer_expand_output(e, 0, alpha == 1 ? y : seer_expand_times(e, y, alpha));
  return SEER_OK;
}
SEER_CONTRIB(fused_matmul, "FusedMatMul", 2, 2, 1, "alpha transA transB transBatchA transBatchB",
    "all of it", .computes = true)

// ---- with an activation

enum { MAX_PARAMETERS = 2 };

// Activations by the names of their operators, and the attributes that their parameters are.
typedef struct {
  const char *name, *attr[MAX_PARAMETERS];
  double usual[MAX_PARAMETERS];
} activation;

static const activation activations[] = {{"Relu", {NULL}, {0}}, {"Tanh", {NULL}, {0}},
    {"Sigmoid", {NULL}, {0}}, {"LeakyRelu", {"alpha"}, {0.01}}, {"Elu", {"alpha"}, {1}},
    {"HardSigmoid", {"alpha", "beta"}, {0.2, 0.5}}, {"Clip", {"min", "max"}, {0, 0}},
    {"Softplus", {NULL}, {0}}, {"Softsign", {NULL}, {0}}, {"ThresholdedRelu", {"alpha"}, {1}},
    {"HardSwish", {NULL}, {0}}, {"Gelu", {NULL}, {0}}};

// y after the activation that the node names, with its `n_given` parameters; a name that is absent
// or empty is none.
static seer_status activated(
    seer_expand *e, seer_val y, const double *given, uint32_t n_given, seer_val *out_y) {
  const char *name = seer_node_attr_s(&e->node, "activation", "");
  const activation *a = activations, *end = activations + SEER_COUNT_OF(activations);
  *out_y = y;
  if (name[0] == 0) return SEER_OK;
  while (a < end && strcmp(a->name, name) != 0) a++;
  if (a == end) {
    seer_text text;
    seer_text_init(&text, e->scratch);
    for (a = activations; a < end; a++) seer_text_printf(&text, " %s", a->name);
    return SEER_FAIL(
        UNSUPPORTED, "attribute 'activation' is '%s', must be one of%s", name, text.data);
  }
  seer_attr attr[MAX_PARAMETERS];
  uint32_t n = 0;
  while (n < MAX_PARAMETERS && a->attr[n]) {
    attr[n] = (seer_attr){.name = a->attr[n], .kind = SEER_ATTR_FLOAT};
    attr[n].f = n < n_given ? given[n] : a->usual[n];
    n++;
  }
  if (strcmp(name, "Clip") == 0) {
    if (n_given < 2) return SEER_FAIL(INVALID, "activation Clip without its two bounds");
    *out_y = seer_expand_3(
        e, "Clip", y, seer_expand_number(e, given[0]), seer_expand_number(e, given[1]));
    return SEER_OK;
  }
  *out_y = seer_expand_add(e, name, &y, 1, attr, n);
  return SEER_OK;
}

// The node's attributes but for those of the activation.
static uint32_t other_attributes(seer_expand *e, seer_attr **out_attr) {
  uint32_t n = 0;
  *out_attr = SEER_NEW_ARRAY(e->scratch, seer_attr, e->node.n_attr + 1u);
  for (uint32_t k = 0; k < e->node.n_attr; k++)
    if (strncmp(e->node.attr[k].name, "activation", strlen("activation")) != 0)
      (*out_attr)[n++] = e->node.attr[k];
  return n;
}

static seer_status expand_fused_gemm(seer_expand *e) {
  static const char *const names[] = {"activation_alpha", "activation_beta"};
  double given[2] = {0};
  uint32_t n_given = 0;
  seer_attr *attr;
  seer_val y;
  for (uint32_t k = 0; k < 2 && seer_node_attr(&e->node, names[k]); k++)
    given[n_given++] = seer_node_attr_f(&e->node, names[k], 0);
  uint32_t n = other_attributes(e, &attr);
  y = seer_expand_add(e, "Gemm", e->node.in, e->node.n_in, attr, n);
  SEER_TRY(activated(e, y, given, n_given, &y));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
SEER_CONTRIB(fused_gemm, "FusedGemm", 2, 3, 1,
    "activation activation_alpha activation_beta activation_gamma alpha beta transA transB",
    "the activations of FusedConv", .computes = true)

// Inputs x, weights, bias, and what is added in front of the activation.
static seer_status expand_fused_conv(seer_expand *e) {
  const seer_attr *params = seer_node_attr(&e->node, "activation_params");
  seer_attr *attr;
  if (params && params->kind != SEER_ATTR_FLOATS)
    return SEER_FAIL(INVALID, "attribute 'activation_params' must be a list of floats");
  uint32_t n = other_attributes(e, &attr), n_in = e->node.n_in < 3 ? e->node.n_in : 3;
  seer_val y = seer_expand_biased(e, seer_expand_add(e, "Conv", e->node.in, n_in, attr, n), 3);
  SEER_TRY(activated(e, y, params ? params->floats : NULL, params ? (uint32_t)params->n : 0, &y));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
SEER_CONTRIB(fused_conv, "FusedConv", 2, 4, 1,
    "activation activation_params auto_pad dilations group kernel_shape pads strides",
    "Relu, Tanh, Sigmoid, LeakyRelu, Elu, HardSigmoid, Clip, Softplus, Softsign, ThresholdedRelu, "
    "HardSwish, Gelu; a sum in front of them",
    .computes = true)
