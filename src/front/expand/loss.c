// loss.c - NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: scores [batch, classes, ...],
// labels [batch, ...], and a weight a class. A label that is `ignore_index` counts nothing.
#include <string.h>

#include "front/expand/expand.h"

typedef enum { LOSS_NONE, LOSS_SUM, LOSS_MEAN } loss_reduction;

static seer_status read_reduction(const seer_expand *e, loss_reduction *out) {
  static const char *const names[] = {"none", "sum", "mean"};
  const char *name = seer_node_attr_s(&e->node, "reduction", "mean");
  for (int k = LOSS_NONE; k <= LOSS_MEAN; k++) {
    if (strcmp(name, names[k]) != 0) continue;
    *out = (loss_reduction)k;
    return SEER_OK;
  }
  return SEER_FAIL(INVALID, "attribute 'reduction' is '%s', must be none, sum or mean", name);
}

static seer_val sum_all(seer_expand *e, seer_val x) {
  return seer_expand_1i(e, "ReduceSum", x, "keepdims", 0);
}

// The loss of log-probabilities, as output 0.
static seer_status expand_loss(seer_expand *e, seer_val log_prob) {
  seer_val labels = e->node.in[1], weight = {0}, is_ignored = {0};
  seer_dtype dtype = seer_expand_in(e, 0)->dtype, label_dtype = seer_expand_in(e, 1)->dtype;
  const int64_t axis = 1;
  loss_reduction reduction;
  SEER_TRY(read_reduction(e, &reduction));
  const seer_value *x = seer_expand_in(e, 0), *label = seer_expand_in(e, 1);
  bool fits = x->rank >= 2 && label->rank + 1u == x->rank && label->dim[0] == x->dim[0];
  for (uint32_t d = 2; d < x->rank && fits; d++) fits = label->dim[d - 1] == x->dim[d];
  if (!fits) {
    return SEER_FAIL(INVALID, "input 1 is %s, must be %s without its dimension 1",
        seer_op_shape_text(label, e->scratch), seer_op_shape_text(x, e->scratch));
  }
  if (seer_node_attr(&e->node, "ignore_index")) {
    int64_t ignored = seer_node_attr_i(&e->node, "ignore_index", 0);
    is_ignored =
        seer_expand_2(e, "Equal", labels, seer_expand_scalar(e, label_dtype, (double)ignored));
    labels = seer_expand_3(e, "Where", is_ignored, seer_expand_scalar(e, label_dtype, 0), labels);
  }
  seer_val at = seer_expand_2(e, "Unsqueeze", labels, seer_expand_ints(e, &axis, 1));
  seer_val picked = seer_expand_2i(e, "GatherElements", log_prob, at, "axis", 1);
  picked = seer_expand_2(e, "Squeeze", picked, seer_expand_ints(e, &axis, 1));
  seer_val loss = seer_expand_1(e, "Neg", picked);
  if (seer_expand_has_in(e, 2)) weight = seer_expand_2(e, "Gather", e->node.in[2], labels);
  if (is_ignored.i) {
    seer_val counts = weight.i ? weight : seer_expand_scalar(e, dtype, 1);
    seer_val zero = seer_expand_scalar(e, dtype, 0);
    weight = seer_expand_3(e, "Where", is_ignored, zero, counts);
    loss = seer_expand_3(e, "Where", is_ignored, zero, loss);  // 0 times infinity would be NaN
  }
  if (weight.i) loss = seer_expand_2(e, "Mul", loss, weight);
  if (reduction == LOSS_SUM) loss = sum_all(e, loss);
  if (reduction == LOSS_MEAN && !weight.i)
    loss = seer_expand_1i(e, "ReduceMean", loss, "keepdims", 0);
  if (reduction == LOSS_MEAN && weight.i)
    loss = seer_expand_2(e, "Div", sum_all(e, loss), sum_all(e, weight));
  seer_expand_output(e, 0, loss);
  return SEER_OK;
}

static seer_status expand_nll_loss(seer_expand *e) { return expand_loss(e, e->node.in[0]); }

static seer_status expand_cross_entropy(seer_expand *e) {
  seer_val log_prob = seer_expand_1i(e, "LogSoftmax", e->node.in[0], "axis", 1);
  SEER_TRY(expand_loss(e, log_prob));
  seer_expand_output(e, 1, log_prob);
  return SEER_OK;
}

#define LOSS(id, onnx, out_max)                                                                   \
  SEER_COMPOSITE(id, "", onnx, 12, SEER_OPSET_NEWEST, 2, 3, 1, out_max, "ignore_index reduction", \
      expand_##id, "", .computes = true)

LOSS(nll_loss, "NegativeLogLikelihoodLoss", 1)
LOSS(cross_entropy, "SoftmaxCrossEntropyLoss", 2)
