// simplify.c - local rewrites that make the graph smaller without changing what it computes.
// requires: sorted, resolved, folded. provides: no Identity or Dropout but where an output needs a copy.
#include <string.h>

#include "front/pass/pass.h"

// y = x: readers of y read x. A model output that is y keeps its name: x's producer makes it instead, when nothing
// else stands in the way; else the node stays, as a copy.
static bool bypass(seer_graph *graph, uint32_t k) {
  seer_node *node = &graph->node[k];
  seer_val in = node->in[0], out = node->out[0];
  seer_value *from = seer_graph_value(graph, in), *to = seer_graph_value(graph, out);
  if (to->is_output) {
    if (!from->producer.i || from->is_output) {
      seer_graph_replace_uses(graph, out, in);
      return false;
    }
    seer_node *producer = seer_graph_node(graph, from->producer);
    seer_node_id producer_id = from->producer;
    seer_graph_kill_node(graph, (seer_node_id){k});
    for (uint32_t i = 0; i < producer->n_out; i++) {
      if (producer->out[i].i == in.i) producer->out[i] = out;
    }
    from->producer = (seer_node_id){0};
    to->producer = producer_id;
    seer_graph_replace_uses(graph, in, out);
    return true;
  }
  seer_graph_replace_uses(graph, out, in);
  seer_graph_kill_node(graph, (seer_node_id){k});
  return true;
}

static bool is_identity(const seer_graph *graph, const seer_node *node) {
  (void)graph;
  if (node->n_out != 1) return false;
  return seer_node_is(node, "Identity") || seer_node_is(node, "Dropout");
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  for (uint32_t k = 1; k < graph->n_node; k++) {
    if (!graph->node[k].is_dead && is_identity(graph, &graph->node[k])) bypass(graph, k);
  }
  return SEER_OK;
}

const seer_pass_desc seer_pass_simplify = {"simplify", "local rewrites: identities, BatchNormalization, Pad", run};
