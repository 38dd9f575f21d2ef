// tf32.c - with --precision tf32: which products round their operands to TF32. The attribute
// `products` of a node says so; emission puts the operator tf32 around both operands where they are
// multiplied (op/util.h), for what they are there is all that differs: no value is of another type,
// and nothing is stored otherwise.
//   y f32 = Conv(x, w f32)    ->    y f32 = Conv(x, w f32) {products="tf32"}
// Only those are marked that warps can multiply (space/warps.h): with eight columns, rows and
// numbers to add up, or more. All others, depthwise convolutions and products of vectors among
// them, stay products of f32: tensor cores have nothing for them, and rounding would only cost.
#include "front/width/tf32.h"

#include <string.h>

#define LEAST 8  // of rows, columns and terms of a sum: half a patch, one, one step

typedef struct {
  int64_t rows, columns, depth;
} extents;

static int64_t last(const seer_value *value) { return value->dim[value->rank - 1]; }

static extents of_conv(const seer_graph *graph, const seer_node *node) {
  const seer_value *w = seer_graph_value(graph, node->in[1]),
                   *out = seer_graph_value(graph, node->out[0]);
  int64_t group = seer_node_attr_i(node, "group", 1);
  return (extents){seer_value_elems(out) / w->dim[0], w->dim[0] / group, w->dim[1]};
}

static extents of_matmul(const seer_graph *graph, const seer_node *node) {
  const seer_value *a = seer_graph_value(graph, node->in[0]),
                   *b = seer_graph_value(graph, node->in[1]),
                   *out = seer_graph_value(graph, node->out[0]);
  if (a->rank < 2 || b->rank < 2) return (extents){0};
  // A matrix alone multiplies the rows of all of a batch.
  int64_t rows = b->rank == 2 ? seer_value_elems(out) / last(b) : a->dim[a->rank - 2];
  return (extents){rows, last(b), last(a)};
}

static extents of_gemm(const seer_graph *graph, const seer_node *node) {
  const seer_value *a = seer_graph_value(graph, node->in[0]),
                   *out = seer_graph_value(graph, node->out[0]);
  bool is_turned = seer_node_attr_i(node, "transA", 0) != 0;
  return (extents){out->dim[0], out->dim[1], a->dim[is_turned ? 0 : 1]};
}

bool seer_front_multiplies_by_warps(const seer_graph *graph, const seer_node *node) {
  extents e = {0};
  if (seer_value_elems(seer_graph_value(graph, node->out[0])) <= 0) return false;
  if (node->op == &seer_op_conv)
    e = of_conv(graph, node);
  else if (node->op == &seer_op_matmul)
    e = of_matmul(graph, node);
  else if (node->op == &seer_op_gemm)
    e = of_gemm(graph, node);
  return e.rows >= LEAST && e.columns >= LEAST && e.depth >= LEAST;
}

void seer_front_mark_tf32(seer_graph *graph, seer_node *node) {
  seer_attr *attr = SEER_NEW_ARRAY(graph->arena, seer_attr, node->n_attr + 1);
  if (node->n_attr) memcpy(attr, node->attr, node->n_attr * sizeof *attr);
  attr[node->n_attr++] =
      (seer_attr){.name = SEER_OP_PRODUCTS, .kind = SEER_ATTR_STRING, .s = "tf32"};
  node->attr = attr;
}
