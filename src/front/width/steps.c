// steps.c - what is quantised is multiplied by the number of steps in 1 in place of being divided
// by a step: Quantize(x, s, z) becomes Quantize(x * (1 / s), 1, z). A division takes a processor as
// long as all else that a quantisation is made of. A result that lies between two steps, up to
// f32's last digits, may fall on the other one: so it is only done to arithmetic on sums, whose
// last digits depend on their order anyway, and on quantised numbers. What is given, or was only
// moved, is divided, as QuantizeLinear has it.
// requires: sorted, resolved, folded. provides: nothing.
#include <float.h>

#include "front/pass/pass.h"

static bool is_sum(const seer_node *node) {
  return node->op->fuse == SEER_FUSE_ANCHOR || node->op->fuse == SEER_FUSE_REDUCTION;
}

typedef struct {
  seer_graph *graph;
  bool *is_computed;  // by value: elementwise of a sum, or of what was dequantised
} stepper;

static bool computes(const stepper *s, const seer_node *node) {
  if (node->is_dead || !node->op) return false;
  bool moves = node->op->moves || node->op->fuse == SEER_FUSE_VIEW;
  if (moves) return node->n_in > 0 && s->is_computed[node->in[0].i];  // value 0 is none
  if (is_sum(node)) return true;
  if (node->op->fuse != SEER_FUSE_ELEMENTWISE) return false;
  for (uint32_t i = 0; i < node->n_in; i++) {
    uint32_t of = node->in[i].i ? seer_graph_value(s->graph, node->in[i])->producer.i : 0;
    if (of == 0) continue;
    if (s->is_computed[node->in[i].i]) return true;
    if (s->graph->node[of].op == &seer_op_dequantize_linear) return true;
  }
  return false;
}

static seer_val add_f32(seer_graph *graph, float number) {
  const float *data = seer_arena_memdup(graph->arena, &number, sizeof number);
  return seer_pass_add_f32(graph, "steps", data, NULL, 0);
}

static void multiply(const stepper *s, uint32_t k) {
  seer_graph *graph = s->graph;
  const seer_node node = graph->node[k];
  const seer_val x = node.in[0];
  const seer_tensor *scale = seer_node_constant(graph, &node, 1);
  if (!scale || scale->dtype != SEER_DTYPE_F32 || seer_tensor_elems(scale) != 1) return;
  const seer_value value = *seer_graph_value(graph, x);
  bool is_quantised = value.dtype == SEER_DTYPE_F32 && value.has_shape && !value.constant &&
      seer_dtype_is_byte(seer_graph_value(graph, node.out[0])->dtype);
  if (!is_quantised || !s->is_computed[x.i]) return;
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
  seer_arena *scratch = seer_arena_create("steps");
  stepper s = {graph, SEER_NEW_ARRAY(scratch, bool, graph->n_value)};
  uint32_t n_node = (uint32_t)graph->n_node;
  for (uint32_t k = 1; k < n_node; k++) {
    const seer_node *node = &graph->node[k];
    for (uint32_t i = 0; i < node->n_out; i++)
      if (node->out[i].i) s.is_computed[node->out[i].i] = computes(&s, node);
    if (!node->is_dead && node->op == &seer_op_quantize_linear) multiply(&s, k);
  }
  seer_arena_destroy(scratch);
  return SEER_OK;
}

const seer_pass_desc seer_pass_steps = {
    "steps", "quantisations of what is computed multiply, and do not divide", run};
