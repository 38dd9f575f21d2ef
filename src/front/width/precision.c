// precision.c - with --precision tf32 products say so (tf32.c); with bf16 or f16: products of
// numbers of that type, with sums in f32. The operands of Conv, ConvTranspose, Gemm and MatMul, and
// so of all that is made of these, are rounded to it: constants here, once; what runs computes by a
// Cast, which joins the kernel that makes the value, or, where only products read the rounded one,
// theirs. A value that nobody but products, elementwise operators and what moves elements reads is
// read rounded by all of them, so that it lies in memory between kernels in the narrow type:
//   x f32 = Relu(...)                        x f32 = Relu(...)
//   y f32 = Conv(x, w f32)          ->       x.bf16 = Cast(x)
//   z f32 = Add(x, y)                        y f32 = Conv(x.bf16, w.bf16)
//                                            z f32 = Add(x.bf16, y)
// Operators compute in f32 whatever they read (op/emit.c); none but those that move elements gives
// another type than it did. Everything else is as it was: inputs and outputs of the network,
// reductions, normalisations, what they read and make, and products of what has dimensions whose
// size data decides.
// requires: sorted, resolved, folded, simplified (weights are not rescaled any more). provides:
// nothing.
#include <string.h>

#include "front/onnx/dtype.h"
#include "front/pass/pass.h"
#include "front/width/tf32.h"

typedef struct {
  seer_graph *graph;
  seer_graph_uses uses;  // of the values that were there at first
  seer_dtype dtype;
  bool *is_product;  // by node
  bool *wants, *may;  // by value: a product reads it, perhaps moved; all readers take it rounded
  seer_val *rounded;  // by constant value: 0: not made yet
} narrower;

// Both operands are of f32, and of sizes that are known.
static bool is_product(const seer_graph *graph, const seer_node *node) {
  if (node->is_dead || !node->op || !node->op->multiplies) return false;
  for (uint32_t i = 0; i < 2; i++) {
    const seer_value *value = seer_graph_value(graph, node->in[i]);
    bool is_plain = value->has_shape && !seer_value_is_sized(value) &&
        (!value->constant || value->constant->dtype == SEER_DTYPE_F32);
    if (value->dtype != SEER_DTYPE_F32 || !is_plain) return false;
  }
  return true;
}

// Only moves elements of its operands 0 to the result - 1; 0: it does more.
static uint32_t n_moved(const seer_node *node) {
  const seer_op_desc *op = node->op;
  if (!op || node->n_out != 1 || seer_op_is_for_runtime(op) || op == &seer_op_cast) return 0;
  if (op->joins_parts) return node->n_in;
  return op->fuse == SEER_FUSE_VIEW || op->moves ? 1 : 0;
}

static bool is_eligible(const seer_value *value) {
  return value->dtype == SEER_DTYPE_F32 && value->has_shape && !value->constant &&
      !value->is_output && !seer_value_is_sized(value);
}

// ---- which

static void find_wanted(narrower *n) {
  for (uint32_t k = (uint32_t)n->graph->n_node; k-- > 1;) {
    const seer_node *node = &n->graph->node[k];
    uint32_t n_operand = n->is_product[k] ? 2 : n_moved(node);
    if (node->is_dead || (!n->is_product[k] && (n_operand == 0 || !n->wants[node->out[0].i])))
      continue;
    for (uint32_t i = 0; i < n_operand && i < node->n_in; i++) n->wants[node->in[i].i] = true;
  }
}

static bool takes(const narrower *n, uint32_t k, uint32_t v) {
  const seer_node *node = &n->graph->node[k];
  const seer_op_desc *op = node->op;
  uint32_t n_operand = n_moved(node);
  if (!op || seer_op_is_for_runtime(op)) return false;
  if (n_operand == 0) return n->is_product[k] || op->fuse == SEER_FUSE_ELEMENTWISE;
  uint32_t out = node->out[0].i;
  // Of several that are put together all are of one type.
  if (!n->may[out] || (n_operand > 1 && !n->wants[out])) return false;
  for (uint32_t i = 0; i < node->n_in; i++) {
    if (i < n_operand && !n->may[node->in[i].i]) return false;
    if (i >= n_operand && node->in[i].i == v) return false;
  }
  return true;
}

static void find_readable(narrower *n) {
  for (uint32_t v = 1; v < n->graph->n_value; v++) n->may[v] = is_eligible(&n->graph->value[v]);
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (uint32_t v = (uint32_t)n->graph->n_value; v-- > 1;) {
      bool all = n->may[v];
      for (uint32_t u = n->uses.first[v]; all && u < n->uses.first[v + 1]; u++)
        all = takes(n, n->uses.node[u], v);
      is_changed |= all != n->may[v];
      n->may[v] = all;
    }
  }
}

// ---- rounding

static const char *narrow_name(const narrower *n, const char *name) {
  return seer_graph_fresh_name(
      n->graph, seer_arena_printf(n->graph->arena, "%s.%s", name, seer_dtype_name(n->dtype)));
}

static seer_val add_cast(const narrower *n, seer_val v) {
  seer_graph *graph = n->graph;
  const seer_value value = *seer_graph_value(graph, v);
  const char *name = narrow_name(n, value.name);
  seer_val out = seer_graph_add_value(graph, name, n->dtype, value.dim, value.rank);
  const seer_attr to = {.name = "to", .kind = SEER_ATTR_INT, .i = seer_onnx_dtype_number(n->dtype)};
  enum { OPSET = 13 };
  seer_node_id id = seer_graph_add_node(graph, name, "", "Cast", OPSET, &v, 1, &out, 1, &to, 1);
  seer_graph_node(graph, id)->op = &seer_op_cast;
  return out;
}

static seer_val round_constant(narrower *n, seer_val v) {
  seer_graph *graph = n->graph;
  const seer_value *value = seer_graph_value(graph, v);
  if (n->rounded[v.i].i) return n->rounded[v.i];
  seer_tensor tensor = *value->constant;
  const seer_float_format *format = seer_dtype_format(n->dtype);
  int64_t n_elem = seer_tensor_elems(&tensor);
  tensor.dtype = n->dtype;
  tensor.n_bytes = (size_t)n_elem * seer_dtype_bytes(n->dtype);
  uint16_t *bits = seer_arena_alloc(graph->arena, tensor.n_bytes + 1, 64);
  const float *from = value->constant->data;
  for (int64_t i = 0; i < n_elem; i++) bits[i] = seer_float_to_bits(format, (double)from[i]);
  tensor.data = bits;
  return n->rounded[v.i] = seer_graph_add_constant(graph, narrow_name(n, value->name), &tensor);
}

static void round_weights(narrower *n, uint32_t k) {
  for (uint32_t i = 0; i < 2; i++) {
    const seer_node *node = &n->graph->node[k];
    const seer_tensor *tensor = seer_node_constant(n->graph, node, i);
    if (!tensor) continue;
    seer_val narrow = round_constant(n, node->in[i]);
    n->graph->node[k].in[i] = narrow;
  }
}

// All readers, or only products, read `to` for `v`.
static void redirect(const narrower *n, seer_val v, seer_val to) {
  for (uint32_t u = n->uses.first[v.i]; u < n->uses.first[v.i + 1]; u++) {
    seer_node *node = &n->graph->node[n->uses.node[u]];
    bool is_of_product = n->is_product[n->uses.node[u]];
    uint32_t n_operand = is_of_product ? 2 : n->may[v.i] ? node->n_in : 0;
    for (uint32_t i = 0; i < n_operand && i < node->n_in; i++)
      if (node->in[i].i == v.i) node->in[i] = to;
  }
}

static bool is_read_by_product(const narrower *n, uint32_t v) {
  for (uint32_t u = n->uses.first[v]; u < n->uses.first[v + 1]; u++) {
    const seer_node *node = &n->graph->node[n->uses.node[u]];
    for (uint32_t i = 0; i < 2 && i < node->n_in; i++)
      if (n->is_product[n->uses.node[u]] && node->in[i].i == v) return true;
  }
  return false;
}

static void round_value(const narrower *n, uint32_t v) {
  if (!n->wants[v] || n->graph->value[v].constant) return;
  if (n->may[v] || is_read_by_product(n, v)) redirect(n, (seer_val){v}, add_cast(n, (seer_val){v}));
}

// What only moves what is rounded now.
static bool is_moved(const narrower *n, const seer_node *node) {
  uint32_t n_operand = n_moved(node);
  if (n_operand == 0 || seer_graph_value(n->graph, node->out[0])->dtype != SEER_DTYPE_F32)
    return false;
  for (uint32_t i = 0; i < n_operand; i++)
    if (seer_graph_value(n->graph, node->in[i])->dtype != n->dtype) return false;
  return true;
}

static void round_all(narrower *n) {
  uint32_t n_node = (uint32_t)n->graph->n_node;
  for (uint32_t k = 0; k < n->graph->n_input; k++) round_value(n, n->graph->input[k].i);
  for (uint32_t k = 1; k < n_node; k++) {
    if (n->graph->node[k].is_dead) continue;
    if (n->is_product[k]) round_weights(n, k);
    if (is_moved(n, &n->graph->node[k])) {
      seer_graph_value(n->graph, n->graph->node[k].out[0])->dtype = n->dtype;
      continue;
    }
    for (uint32_t i = 0; i < n->graph->node[k].n_out; i++)
      if (n->graph->node[k].out[i].i) round_value(n, n->graph->node[k].out[i].i);
  }
}

static void narrow_products(seer_graph *graph, seer_dtype dtype) {
  seer_arena *scratch = seer_arena_create("precision");
  narrower n = {graph, seer_graph_index_uses(graph, scratch), dtype,
      SEER_NEW_ARRAY(scratch, bool, graph->n_node), SEER_NEW_ARRAY(scratch, bool, graph->n_value),
      SEER_NEW_ARRAY(scratch, bool, graph->n_value),
      SEER_NEW_ARRAY(scratch, seer_val, graph->n_value)};
  for (uint32_t k = 1; k < graph->n_node; k++) n.is_product[k] = is_product(graph, &graph->node[k]);
  find_wanted(&n);
  find_readable(&n);
  round_all(&n);
  seer_arena_destroy(scratch);
}

static void mark_products(seer_graph *graph) {
  for (uint32_t k = 1; k < graph->n_node; k++) {
    seer_node *node = &graph->node[k];
    if (is_product(graph, node) && seer_front_multiplies_by_warps(graph, node))
      seer_front_mark_tf32(graph, node);
  }
}

// ---- which

seer_status seer_front_precision(const seer_context *context, seer_precision *out) {
  const char *word = seer_context_str(context, SEER_OPT_PRECISION);
  if (seer_precision_parse(word, out)) return SEER_OK;
  *out = SEER_PRECISION_F32;
  return SEER_FAIL(INVALID,
      "option 'precision' is '%s', which only the commands compile and tune can choose: it must be "
      "f32, bf16, f16 or tf32 here",
      word);
}

seer_status seer_front_check_precision(const seer_context *context) {
  seer_precision precision;
  const char *word = seer_context_str(context, SEER_OPT_PRECISION);
  if (!seer_precision_parse(word, &precision)) return SEER_OK;
  return seer_precision_check(precision, seer_context_target(context));
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  seer_precision precision;
  SEER_TRY(seer_front_precision(context, &precision));
  switch (precision) {
    case SEER_PRECISION_BF16:
      narrow_products(graph, SEER_DTYPE_BF16);
      break;
    case SEER_PRECISION_F16:
      narrow_products(graph, SEER_DTYPE_F16);
      break;
    case SEER_PRECISION_TF32:
      mark_products(graph);
      break;
    case SEER_PRECISION_F32:
    case SEER_PRECISION_COUNT:
      break;
  }
  return SEER_OK;
}

const seer_pass_desc seer_pass_precision = {
    "precision", "operands of products rounded as --precision says", run};
