// literal.c - every value of a resolved graph -> an output of it.
#include "front/pass/literal.h"

#include "front/fuse.h"
#include "front/onnx/dtype.h"

// Its sizes are read when a run has ended.
static void show(seer_graph *graph, seer_val v) {
  seer_value *value = seer_graph_value(graph, v);
  if (value->constant || value->is_input || value->is_output || value->list || !value->has_shape)
    return;
  if (seer_onnx_dtype_number(value->dtype) == 0) return;
  seer_graph_mark_output(graph, v);
  for (uint32_t d = 0; d < value->rank; d++)
    if (value->size[d].i) seer_graph_value(graph, value->size[d])->is_output = true;
}

seer_status seer_literal_show(seer_graph *graph) {
  SEER_TRY(seer_graph_sort(graph));
  seer_arena *scratch = seer_arena_create("literal");
  const uint8_t *depth = seer_fuse_depths(graph, scratch);
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    bool is_begin = node->op && node->op->control == SEER_CONTROL_LOOP_BEGIN;
    bool is_end = node->op && node->op->control == SEER_CONTROL_LOOP_END;
    if (is_begin || depth[k] > (is_end ? 1 : 0)) continue;
    for (uint32_t i = 0; i < node->n_out; i++)
      if (node->out[i].i) show(graph, node->out[i]);
  }
  seer_arena_destroy(scratch);
  return seer_graph_verify(graph);
}
