// dropout.c - Dropout whose mask is read, in inference: the input as it is, and a mask that says
// that every element is kept.
#include "front/expand/expand.h"

bool seer_dropout_has_mask(const seer_graph *graph, const seer_node *node) {
  (void)graph;
  return node->n_out > 1 && node->out[1].i != 0;
}

seer_status seer_dropout_expand(seer_expand *e) {
  const seer_value *x = seer_expand_in(e, 0);
  // Before opset 10 the mask has the data's type. Until opset 12 ONNX does not say what is in it in
  // inference; ONNX Runtime leaves it zero.
  bool is_kept = e->node.opset >= 12;
  seer_dtype dtype = e->node.opset < 10 ? x->dtype : SEER_DTYPE_BOOL;
  seer_val shape = seer_expand_ints(e, x->dim, x->rank);
  if (seer_expand_wants(e, 0)) {
    seer_val y;
    seer_expand_add_outs(e, "Dropout", e->node.in, e->node.n_in, NULL, 0, &y, 1);
    seer_expand_output(e, 0, y);
  }
  seer_expand_output(
      e, 1, seer_expand_2(e, "Expand", seer_expand_scalar(e, dtype, is_kept), shape));
  return SEER_OK;
}
