// reader.c - what is wider than what it is made of, and who can make it so on the way in: asked by
// the pass that gives each reader its own widening (widen.c), and by fusion, which leaves it there.
#include "front/pass/pass.h"

bool seer_pass_widens(const seer_graph *graph, const seer_node *node) {
  bool is_known = node->op == &seer_op_cast || node->op == &seer_op_dequantize_linear;
  if (!is_known || node->is_dead || node->n_out != 1 || seer_node_constant(graph, node, 0))
    return false;
  for (uint32_t i = 1; i < node->n_in; i++)
    if (node->in[i].i && !seer_node_constant(graph, node, i)) return false;
  seer_dtype from = seer_graph_value(graph, node->in[0])->dtype;
  seer_dtype to = seer_graph_value(graph, node->out[0])->dtype;
  // Of 64 bits are indices, which steps of the host and loads read.
  if (to == SEER_DTYPE_I64 || to == SEER_DTYPE_U64) return false;
  return seer_dtype_bytes(to) > seer_dtype_bytes(from);
}

bool seer_pass_takes_prologue(const seer_graph *graph, const seer_node *node) {
  const seer_op_desc *op = node->op;
  if (!op || node->is_dead || seer_op_is_for_runtime(op) || op->joins_parts || op->gives_parts)
    return false;
  if (seer_pass_is_view(graph, node)) return false;
  return op->fuse == SEER_FUSE_ELEMENTWISE || op->fuse == SEER_FUSE_INJECTIVE ||
      op->fuse == SEER_FUSE_ANCHOR || op->fuse == SEER_FUSE_REDUCTION;
}
