// widen.c - what was narrow is widened where it is read. A Cast to a wider type or a
// DequantizeLinear that several nodes read becomes one for each of them, and one that a node reads
// which only moves elements is put behind that: W(move(x)) for move(W(x)). So what lies in memory
// between kernels is the narrow value (fuse.c ends groups on it), and each reader widens on the way
// in: an operator of a byte an element for a quarter of what is stored and read.
// Only where all readers can compute it on their way in: what a step of the host reads, or the
// caller, is there as a whole, once, and the others read that.
// requires: sorted, resolved, folded. provides: no value that was widened has a second reader that
// could widen for itself.
#include <string.h>

#include "front/fuse.h"
#include "front/pass/pass.h"

typedef struct {
  seer_graph *graph;
  seer_graph_uses uses;  // of the values that were there at first
  uint8_t *depth;  // by node that was there at first
} widener;

// Whatever the place of an element, it is widened alike.
static bool is_uniform(const seer_graph *graph, const seer_node *node) {
  if (node->op == &seer_op_cast) return true;
  const seer_tensor *scale = seer_node_constant(graph, node, 1);
  return scale && scale->rank <= 1 && seer_tensor_elems(scale) == 1;
}

// `reader` only moves what widening node `k` gives, and does not make more of it.
static bool can_pass(const seer_graph *graph, uint32_t k, uint32_t reader) {
  const seer_node *from = &graph->node[k], *to = &graph->node[reader];
  bool moves = to->op && (to->op->fuse == SEER_FUSE_VIEW || to->op->moves) &&
      to->op != &seer_op_cast && !seer_op_is_for_runtime(to->op);
  if (!moves || to->n_out != 1 || to->in[0].i != from->out[0].i || !is_uniform(graph, from))
    return false;
  for (uint32_t i = 1; i < to->n_in; i++)
    if (to->in[i].i == from->out[0].i) return false;
  const seer_value *in = seer_graph_value(graph, from->out[0]),
                   *out = seer_graph_value(graph, to->out[0]);
  return out->dtype == in->dtype && out->has_shape && !seer_value_is_sized(out) &&
      seer_value_elems(out) <= seer_value_elems(in);
}

static void spread(const widener *w, uint32_t k, uint8_t depth) {
  seer_graph *graph = w->graph;
  // k's result is one of the values that were there at first; a twin's is not, until it has passed.
  const seer_val v = graph->node[k].out[0];
  const seer_value *value = seer_graph_value(graph, v);
  uint32_t first = w->uses.first[v.i], end = w->uses.first[v.i + 1];
  if (value->is_output || !value->has_shape || seer_value_is_sized(value)) return;
  for (uint32_t u = first; u < end; u++) {
    uint32_t reader = w->uses.node[u];
    bool takes = can_pass(graph, k, reader) ||
        seer_pass_takes_prologue(graph, seer_graph_node(graph, (seer_node_id){reader}));
    if (!takes || w->depth[reader] != depth) return;
  }
  for (uint32_t u = end; u-- > first;) {
    uint32_t reader = w->uses.node[u];
    if (u > first && w->uses.node[u - 1] == reader) continue;  // it reads it twice
    uint32_t own = reader == w->uses.node[first] ? k : seer_pass_widen_again(graph, k, reader);
    if (!can_pass(graph, own, reader)) continue;
    seer_pass_put_behind(graph, own, reader);
    spread(w, own, depth);
  }
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  seer_arena *scratch = seer_arena_create("widen");
  widener w = {graph, seer_graph_index_uses(graph, scratch), seer_fuse_depths(graph, scratch)};
  uint32_t n_node = (uint32_t)graph->n_node;
  for (uint32_t k = 1; k < n_node; k++)
    if (seer_pass_widens(graph, &graph->node[k])) spread(&w, k, w.depth[k]);
  seer_arena_destroy(scratch);
  return SEER_OK;
}

const seer_pass_desc seer_pass_widen = {
    "widen", "what was narrow is widened by each reader for itself", run};
