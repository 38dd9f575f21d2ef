// steps.c - what is quantised is multiplied by the number of steps in 1 in place of being divided
// by a step: Quantize(x, s, z) becomes Quantize(x * (1 / s), 1, z). A division takes a processor as
// long as all else that a quantisation is made of. A result that lies between two steps, up to
// f32's last digits, may fall on the other one: so it is only done to what is computed of quantised
// numbers, or is a sum, whose last digits depend on its order anyway. What is given is divided, as
// QuantizeLinear has it.
// requires: sorted, resolved, folded. provides: nothing.
#include <float.h>

#include "front/pass/pass.h"

static bool is_sum(const seer_node *node) {
  return node->op->fuse == SEER_FUSE_ANCHOR || node->op->fuse == SEER_FUSE_REDUCTION;
}

// Arithmetic, by a sum or of what was dequantised.
static bool is_computed(const seer_graph *graph, seer_val v) {
  seer_node_id producer = seer_graph_value(graph, v)->producer;
  const seer_node *node = producer.i ? &graph->node[producer.i] : NULL;
  if (!node || !node->op || node->op->moves) return false;
  if (is_sum(node)) return true;
  if (node->op->fuse != SEER_FUSE_ELEMENTWISE) return false;
  for (uint32_t i = 0; i < node->n_in; i++) {
    seer_node_id of = seer_graph_value(graph, node->in[i])->producer;
    if (node->in[i].i == 0 || of.i == 0) continue;
    if (graph->node[of.i].op == &seer_op_dequantize_linear) return true;
  }
  return false;
}

static seer_val add_f32(seer_graph *graph, float number) {
  const float *data = seer_arena_memdup(graph->arena, &number, sizeof number);
  return seer_pass_add_f32(graph, "steps", data, NULL, 0);
}

static void multiply(seer_graph *graph, uint32_t k) {
  const seer_node node = graph->node[k];
  const seer_val x = node.in[0];
  const seer_tensor *scale = seer_node_constant(graph, &node, 1);
  if (!scale || scale->dtype != SEER_DTYPE_F32 || seer_tensor_elems(scale) != 1) return;
  const seer_value value = *seer_graph_value(graph, x);
  bool is_quantised = value.dtype == SEER_DTYPE_F32 && value.has_shape && !value.constant &&
      seer_dtype_is_byte(seer_graph_value(graph, node.out[0])->dtype);
  if (!is_quantised || !is_computed(graph, x)) return;
  double step = seer_dtype_load_f64(scale->dtype, scale->data, 0), steps = 1 / step;
  if (step == 1 || !(steps >= (double)FLT_MIN && steps <= (double)FLT_MAX)) return;
  const char *name =
      seer_graph_fresh_name(graph, seer_arena_printf(graph->arena, "%s.steps", value.name));
  seer_val in_steps = seer_graph_add_value(graph, name, SEER_DTYPE_F32, value.dim, value.rank);
  for (uint32_t d = 0; d < value.rank; d++)
    seer_graph_value(graph, in_steps)->size[d] = value.size[d];
  const seer_val in[2] = {x, add_f32(graph, (float)steps)};
  seer_node_id id = seer_graph_add_node(graph, name, "", "Mul", 13, in, 2, &in_steps, 1, NULL, 0);
  seer_graph_node(graph, id)->op = &seer_op_mul;
  graph->node[k].in[0] = in_steps;
  graph->node[k].in[1] = add_f32(graph, 1);
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  uint32_t n_node = (uint32_t)graph->n_node;
  for (uint32_t k = 1; k < n_node; k++)
    if (!graph->node[k].is_dead && graph->node[k].op == &seer_op_quantize_linear)
      multiply(graph, k);
  return SEER_OK;
}

const seer_pass_desc seer_pass_steps = {
    "steps", "quantisations of what is computed multiply, and do not divide", run};
