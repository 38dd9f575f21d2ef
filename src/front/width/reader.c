// reader.c - what is wider than what it is made of, and who can make it so on the way in: asked by
// the pass that gives each reader its own widening (widen.c), and by fusion, which leaves it there;
// and how a widening changes its place.
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

void seer_pass_put_behind(seer_graph *graph, uint32_t k, uint32_t reader) {
  seer_dtype narrow = seer_graph_value(graph, graph->node[k].in[0])->dtype;
  seer_graph_swap_nodes(graph, (seer_node_id){k}, (seer_node_id){reader}, narrow,
      graph->node[reader].out[0], "before_widening");
}

uint32_t seer_pass_widen_again(seer_graph *graph, uint32_t k, uint32_t reader) {
  const seer_node node = graph->node[k];
  const seer_value value = *seer_graph_value(graph, node.out[0]);
  const char *name =
      seer_graph_fresh_name(graph, seer_arena_printf(graph->arena, "%s.for_reader", value.name));
  seer_val out = seer_graph_add_value(graph, name, value.dtype, value.dim, value.rank);
  seer_node_id twin = seer_graph_add_node(graph, name, node.domain, node.op_type, node.opset,
      node.in, node.n_in, &out, 1, node.attr, node.n_attr);
  seer_graph_node(graph, twin)->op = node.op;
  for (uint32_t i = 0; i < graph->node[reader].n_in; i++)
    if (graph->node[reader].in[i].i == node.out[0].i) graph->node[reader].in[i] = out;
  return twin.i;
}
