// batch_norm.c - BatchNormalization in training mode: the statistics are those of the input over
// all dimensions but the channels, and a part of them joins the running ones.
#include "front/expand/expand.h"

// Since opset 14 an attribute says so; before, outputs that only training has (opset 7), or the
// attribute is_test (before 7).
bool seer_batch_norm_is_training(const seer_graph *graph, const seer_node *node) {
  if (node->opset >= 14) return seer_node_attr_i(node, "training_mode", 0) != 0;
  if (node->opset < 7) return seer_node_attr_i(node, "is_test", 0) == 0;
  bool is_used = false;
  for (uint32_t k = 1; k < node->n_out; k++)
    is_used |= node->out[k].i != 0 && seer_graph_n_uses(graph, node->out[k]) > 0;
  return is_used;
}

// running * momentum + current * (1 - momentum)
static seer_val joined(seer_expand *e, seer_val running, seer_val current, seer_dtype dtype) {
  double momentum = seer_node_attr_f(&e->node, "momentum", 0.9);
  return seer_expand_2(e, "Add",
      seer_expand_2(e, "Mul", running, seer_expand_scalar(e, dtype, momentum)),
      seer_expand_2(e, "Mul", current, seer_expand_scalar(e, dtype, 1 - momentum)));
}

seer_status seer_batch_norm_expand(seer_expand *e) {
  const seer_value *x = seer_expand_in(e, 0);
  seer_dtype dtype = x->dtype;
  uint32_t rank = x->rank, n_axis = 0;
  int64_t axes[SEER_MAX_RANK], channels[SEER_MAX_RANK];
  SEER_TRY(seer_op_want_float(x, 0));
  if (rank < 2) return SEER_FAIL(INVALID, "input 0 has rank %u, must have rank 2 or more", rank);
  if (seer_node_attr_i(&e->node, "spatial", 1) != 1)
    return SEER_FAIL(UNSUPPORTED, "attribute 'spatial' is 0");
  for (uint32_t k = 3; k < 5; k++) {
    if (seer_expand_wants(e, k) && seer_graph_n_uses(e->graph, e->node.out[k]) > 0)
      return SEER_FAIL(UNSUPPORTED, "output %u (saved for a gradient) is used", k);
  }
  for (uint32_t d = 0; d < rank; d++) {
    channels[d] = d == 1 ? x->dim[1] : 1;
    if (d != 1) axes[n_axis++] = d;
  }
  for (uint32_t k = 1; k < 5; k++) {
    const seer_value *stat = seer_expand_in(e, k);
    SEER_TRY(seer_op_same_dtype(seer_expand_in(e, 0), stat, k));
    if (stat->rank != 1 || stat->dim[0] != channels[1])
      return SEER_FAIL(INVALID, "input %u is %s, must be [%" PRId64 "]", k,
          seer_op_shape_text(stat, e->scratch), channels[1]);
  }
  seer_val over = seer_expand_ints(e, axes, n_axis);
  seer_val mean = seer_expand_2i(e, "ReduceMean", e->node.in[0], over, "keepdims", 0);
  seer_val away =
      seer_expand_2(e, "Sub", e->node.in[0], seer_expand_reshape(e, mean, channels, rank));
  seer_val var =
      seer_expand_2i(e, "ReduceMean", seer_expand_2(e, "Mul", away, away), over, "keepdims", 0);
  seer_val epsilon = seer_expand_scalar(e, dtype, seer_node_attr_f(&e->node, "epsilon", 1e-5));
  seer_val deviation = seer_expand_1(e, "Sqrt", seer_expand_2(e, "Add", var, epsilon));
  seer_val factor = seer_expand_2(e, "Div", e->node.in[1], deviation);
  seer_val y = seer_expand_2(e, "Add",
      seer_expand_2(e, "Mul", away, seer_expand_reshape(e, factor, channels, rank)),
      seer_expand_reshape(e, e->node.in[2], channels, rank));
  seer_expand_output(e, 0, y);
  seer_expand_output(e, 1, joined(e, e->node.in[3], mean, dtype));
  seer_expand_output(e, 2, joined(e, e->node.in[4], var, dtype));
  for (uint32_t k = 3; k < 5; k++) seer_expand_output(e, k, k == 3 ? mean : var);
  return SEER_OK;
}
