// weights.c - weights that a file has in 2, 4 or 8 bits stay so where activations are real:
//   MatMul(x, Dequantize(w))  ->  BlockMatMul(x, words of w, scales, zero points)
// for Gemm too, and through a Transpose of w; w is a constant matrix with scales by blocks along
// what is summed over, by output column, or one for all. Rows that are gathered from such a table
// stay in words likewise (BlockGather), so that a table that is gathered from and multiplied with
// is stored once. Folded, the weights of a network of 4 bits would be eight times as large.
// Left alone: products that are bytes on both sides (pass "integers" was here before), other
// scales, blocks that end within a word (words.h), results that are no f32, a Gemm with factors.
// requires: sorted, resolved; not folded, or weights are floats already. provides: nothing.
#include <string.h>

#include "front/expand/integer.h"
#include "front/expand/words.h"
#include "front/pass/pass.h"

typedef struct {
  const char *name;  // of the codes
  seer_block_codes codes;
  const seer_tensor *scale;
  int64_t scale_at_n, scale_at_block;
} table;

// Where scales and zero points of (n, block) lie; false: they lie along something else.
static bool place_scales(
    const seer_node *node, const seer_tensor *scale, bool is_turned, table *t) {
  seer_block_codes *c = &t->codes;
  int64_t axis = seer_node_attr_i(node, "axis", 1), block = seer_node_attr_i(node, "block_size", 0);
  if (axis < 0) axis += 2;
  bool is_along_k = axis == (is_turned ? 1 : 0);
  c->block = c->k;
  t->scale_at_n = t->scale_at_block = 0;
  if (seer_tensor_elems(scale) == 1 && scale->rank <= 1) return true;
  if (scale->rank == 1) {
    t->scale_at_n = 1;
    return !is_along_k && scale->dim[0] == c->n;
  }
  if (scale->rank != 2 || block <= 0 || !is_along_k) return false;
  c->block = seer_min_i64(block, c->k);
  int64_t n_block = seer_ceil_div(c->k, c->block);
  t->scale_at_n = is_turned ? n_block : 1;
  t->scale_at_block = is_turned ? 1 : c->n;
  return scale->dim[is_turned ? 0 : 1] == c->n && scale->dim[is_turned ? 1 : 0] == n_block;
}

// The constant matrix that `v` is dequantised from, as rows n by k. is_turned: v is [n, k].
static seer_status read_table(
    seer_graph *graph, seer_val v, bool is_turned, table *out, bool *out_did) {
  *out_did = false;
  const seer_value *value = seer_graph_value(graph, v);
  uint32_t maker = seer_pass_maker(graph, v, &seer_op_dequantize_linear);
  if (!maker || value->dtype != SEER_DTYPE_F32 || value->rank != 2) return SEER_OK;
  const seer_val *in = graph->node[maker].in;
  const seer_tensor *codes = NULL, *scale = NULL, *zero = NULL;
  bool has_zero = graph->node[maker].n_in > 2 && in[2].i;
  SEER_TRY(seer_integer_constant(graph, in[0], &codes));
  SEER_TRY(seer_integer_constant(graph, in[1], &scale));
  if (has_zero) SEER_TRY(seer_integer_constant(graph, in[2], &zero));
  if (!codes || !scale || scale->dtype != SEER_DTYPE_F32 || (has_zero && !zero)) return SEER_OK;
  if (seer_tensor_elems(codes) == 0) return SEER_OK;
  *out = (table){.name = seer_graph_value(graph, in[0])->name, .scale = scale};
  out->codes = (seer_block_codes){.codes = codes,
      .zero = zero,
      .n = codes->dim[is_turned ? 0 : 1],
      .k = codes->dim[is_turned ? 1 : 0],
      .at_n = is_turned ? codes->dim[1] : 1,
      .at_k = is_turned ? 1 : codes->dim[1]};
  *out_did = place_scales(&graph->node[maker], scale, is_turned, out);
  out->codes.zero_at_n = out->scale_at_n;
  out->codes.zero_at_block = out->scale_at_block;
  return SEER_OK;
}

// f32[n, blocks]
static seer_val add_scales(seer_graph *graph, const table *t) {
  int64_t n = t->codes.n, n_block = seer_ceil_div(t->codes.k, t->codes.block);
  float *scale = seer_arena_alloc(graph->arena, (size_t)(n * n_block) * sizeof *scale, 64);
  for (int64_t i = 0; i < n * n_block; i++) {
    int64_t at = i / n_block * t->scale_at_n + i % n_block * t->scale_at_block;
    scale[i] = ((const float *)t->scale->data)[at];
  }
  const char *name = seer_arena_printf(graph->arena, "%s.scale", t->name);
  return seer_pass_add_f32(graph, name, scale, (int64_t[]){n, n_block}, 2);
}

// Words, scales and zero points of a table; false: it does not fit words.
static bool add_table(seer_graph *graph, const table *t, seer_val *out_words, seer_val *out_scale,
    seer_val *out_zero) {
  if (!seer_words_of_codes(graph, t->name, &t->codes, out_words, out_zero)) return false;
  *out_scale = add_scales(graph, t);
  return true;
}

static void add_node(seer_graph *graph, const char *name, const char *domain, const char *op_type,
    int32_t opset, const seer_val *in, uint32_t n_in, seer_val out, const seer_attr *attr,
    uint32_t n_attr) {
  seer_node_id id =
      seer_graph_add_node(graph, name, domain, op_type, opset, in, n_in, &out, 1, attr, n_attr);
  seer_graph_node(graph, id)->op = seer_op_find(domain, op_type, opset);
}

static void add_inner(seer_graph *graph, const char *name, const char *op_type, const seer_val *in,
    seer_val out, const seer_attr *attr, uint32_t n_attr) {
  add_node(graph, name, SEER_INNER_DOMAIN, op_type, 1, in, in[3].i ? 4 : 3, out, attr, n_attr);
}

static bool is_plain_gemm(const seer_node *node) {
  return seer_node_attr_f(node, "alpha", 1) == 1 && seer_node_attr_f(node, "beta", 1) == 1 &&
      seer_node_attr_i(node, "transA", 0) == 0;
}

static seer_status multiply_words(seer_graph *graph, uint32_t k) {
  const seer_node node = graph->node[k];
  bool is_gemm = node.op == &seer_op_gemm, did = false;
  bool is_turned = is_gemm && seer_node_attr_i(&node, "transB", 0) != 0;
  if (is_gemm && !is_plain_gemm(&node)) return SEER_OK;
  seer_val w = seer_pass_before_turn(graph, node.in[1], &is_turned);
  table t;
  SEER_TRY(read_table(graph, w, is_turned, &t, &did));
  seer_val in[4] = {node.in[0]}, out = node.out[0];
  if (!did || !add_table(graph, &t, &in[1], &in[2], &in[3])) return SEER_OK;
  seer_graph_kill_node(graph, (seer_node_id){k});
  bool adds = is_gemm && node.n_in > 2 && node.in[2].i;
  seer_val product = out;
  if (adds) {
    const seer_value like = *seer_graph_value(graph, out);
    const char *name = seer_arena_printf(graph->arena, "%s.product", like.name);
    product = seer_graph_add_value(
        graph, seer_graph_fresh_name(graph, name), like.dtype, like.dim, like.rank);
    memcpy(seer_graph_value(graph, product)->size, like.size, sizeof like.size);
  }
  const seer_attr attr = seer_expand_int("bits", seer_dtype_bits(t.codes.codes->dtype));
  add_inner(graph, node.name, "BlockMatMul", in, product, &attr, 1);
  if (adds) {
    const char *name = seer_arena_printf(graph->arena, "%s/Add", node.name);
    const seer_val sum[] = {product, node.in[2]};
    add_node(graph, name, "", "Add", SEER_EXPAND_OPSET, sum, 2, out, NULL, 0);
  }
  return SEER_OK;
}

static seer_status gather_words(seer_graph *graph, uint32_t k) {
  const seer_node node = graph->node[k];
  int64_t axis = seer_node_attr_i(&node, "axis", 0);
  bool did = false;
  table t;
  if (seer_graph_value(graph, node.in[0])->rank != 2 || (axis != 0 && axis != -2)) return SEER_OK;
  SEER_TRY(read_table(graph, node.in[0], true, &t, &did));
  seer_val in[4] = {{0}, node.in[1]};
  if (!did || !add_table(graph, &t, &in[0], &in[2], &in[3])) return SEER_OK;
  seer_graph_kill_node(graph, (seer_node_id){k});
  const seer_attr attr[] = {seer_expand_int("bits", seer_dtype_bits(t.codes.codes->dtype)),
      seer_expand_int("k", t.codes.k)};
  add_inner(graph, node.name, "BlockGather", in, node.out[0], attr, 2);
  return SEER_OK;
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  uint32_t n_node = (uint32_t)graph->n_node;
  for (uint32_t k = 1; k < n_node; k++) {
    const seer_node node = graph->node[k];
    if (node.is_dead) continue;
    if (node.op == &seer_op_matmul || node.op == &seer_op_gemm)
      SEER_TRYF(multiply_words(graph, k), "node '%s'", node.name);
    else if (node.op == &seer_op_gather)
      SEER_TRYF(gather_words(graph, k), "node '%s'", node.name);
  }
  return SEER_OK;
}

const seer_pass_desc seer_pass_weights = {
    "weights", "constant weights of few bits stay as they are", run};
