// rotary.c - rotary embeddings, and the operators of them, ONNX's and com.microsoft's.
#include "front/expand/rotary.h"

#include <string.h>

#include "front/expand/attend.h"

seer_val seer_rotary_turned(seer_expand *e, seer_val x, const int64_t *dim, uint32_t rank,
    int64_t width, seer_val cosine, seer_val sine, bool is_interleaved) {
  int64_t last = rank - 1, half = width / 2, pairs[SEER_MAX_RANK], flat[SEER_MAX_RANK];
  seer_val turned = seer_expand_slice(e, x, last, 0, width), part[2], made[2], y;
  memcpy(flat, dim, rank * sizeof *dim);
  memcpy(pairs, dim, rank * sizeof *dim);
  flat[last] = half;
  // Pairs as [.., half, 2] or [.., 2, half].
  pairs[last] = is_interleaved ? half : 2;
  pairs[last + 1] = is_interleaved ? 2 : half;
  int64_t of_pair = is_interleaved ? last + 1 : last;
  turned = seer_expand_reshape(e, turned, pairs, rank + 1);
  for (int64_t k = 0; k < 2; k++)
    part[k] = seer_expand_reshape(e, seer_expand_slice(e, turned, of_pair, k, k + 1), flat, rank);
  made[0] = seer_expand_2(
      e, "Sub", seer_expand_2(e, "Mul", part[0], cosine), seer_expand_2(e, "Mul", part[1], sine));
  made[1] = seer_expand_2(
      e, "Add", seer_expand_2(e, "Mul", part[1], cosine), seer_expand_2(e, "Mul", part[0], sine));
  int64_t axis = of_pair;
  for (uint32_t k = 0; k < 2; k++)
    made[k] = seer_expand_2(e, "Unsqueeze", made[k], seer_expand_ints(e, &axis, 1));
  y = seer_expand_concat(e, made, 2, of_pair);
  flat[last] = width;
  y = seer_expand_reshape(e, y, flat, rank);
  if (width == dim[last]) return y;
  return seer_expand_concat(
      e, (seer_val[]){y, seer_expand_slice(e, x, last, width, dim[last])}, 2, last);
}

// ---- RotaryEmbedding: x [batch, tokens, heads * d] or [batch, heads, tokens, d], tables of
// cosines and sines by position, and each token's position

typedef struct {
  uint32_t cosines, sines;  // inputs
  int64_t batch, tokens, heads, d, width;
  bool is_split;  // heads are a dimension, in front of the tokens
  bool is_direct;  // tables are [batch, tokens, pairs]: no positions
} rotary;

// All of *r but the inputs and is_direct.
static seer_status read_rotary(const seer_expand *e, rotary *r) {
  const seer_value *x = seer_expand_in(e, 0), *cosine = seer_expand_in(e, r->cosines),
                   *sine = seer_expand_in(e, r->sines);
  uint32_t rank = r->is_direct ? 3 : 2;
  bool fits = cosine->rank == rank && sine->rank == rank && cosine->dim[0] > 0;
  for (uint32_t d = 0; fits && d < rank; d++) fits = cosine->dim[d] == sine->dim[d];
  if (!fits)
    return SEER_FAIL(INVALID, "inputs %u and %u are %s and %s, must both be %s", r->cosines,
        r->sines, seer_op_shape_text(cosine, e->scratch), seer_op_shape_text(sine, e->scratch),
        r->is_direct ? "[batch, tokens, pairs]" : "[positions, pairs]");
  int64_t heads = seer_node_attr_i(&e->node, "num_heads", 0), pairs = cosine->dim[rank - 1];
  r->width = seer_node_attr_i(&e->node, "rotary_embedding_dim", 0);
  if (r->width == 0) r->width = 2 * pairs;
  if (x->rank != 3 && x->rank != 4)
    return SEER_FAIL(INVALID,
        "input 0 is %s, must be [batch, tokens, heads * d] or [batch, heads, tokens, d]",
        seer_op_shape_text(x, e->scratch));
  r->is_split = x->rank == 4;
  r->batch = x->dim[0];
  r->tokens = x->dim[r->is_split ? 2 : 1];
  r->d = r->is_split ? x->dim[3] : heads > 0 ? x->dim[2] / heads : 2 * pairs;
  r->heads = r->is_split ? x->dim[1] : r->d > 0 ? x->dim[2] / r->d : 0;
  if (!r->is_split && (r->d == 0 || r->heads * r->d != x->dim[2]))
    return SEER_FAIL(INVALID,
        "input 0 is %s, no heads of %" PRId64 " (attribute 'num_heads' is %" PRId64 ")",
        seer_op_shape_text(x, e->scratch), r->d, heads);
  bool is_each = !r->is_direct || (cosine->dim[0] == r->batch && cosine->dim[1] == r->tokens);
  if (r->width != 2 * pairs || r->width > r->d || !is_each)
    return SEER_FAIL(INVALID,
        "attribute 'rotary_embedding_dim' is %" PRId64 ", heads have %" PRId64
        " numbers, input 0 is %s, and input %u is %s",
        r->width, r->d, seer_op_shape_text(x, e->scratch), r->cosines,
        seer_op_shape_text(cosine, e->scratch));
  return SEER_OK;
}

// Input k as positions [batch or 1, tokens]; with may_be_first it may also be that of the first
// token.
static seer_status read_positions(
    seer_expand *e, const rotary *r, uint32_t k, bool may_be_first, seer_val *out_positions) {
  const seer_value *at = seer_expand_in(e, k);
  seer_dtype dtype = at->dtype;
  bool is_each = at->rank == 2 && at->dim[0] == r->batch && at->dim[1] == r->tokens;
  bool is_first = may_be_first && !is_each && seer_op_elems(at) == 1 && at->rank <= 1;
  if (dtype != SEER_DTYPE_I64 || !(is_first || is_each))
    return SEER_FAIL(INVALID, "input %u is %s, must be %si64[%" PRId64 ",%" PRId64 "]", k,
        seer_value_type_text(at, e->scratch), may_be_first ? "i64[1] or " : "", r->batch,
        r->tokens);
  *out_positions = e->node.in[k];
  if (is_each) return SEER_OK;
  const int64_t dim[2] = {1, r->tokens};
  seer_val steps;
  SEER_TRY(seer_attend_places(e, dtype, r->tokens, dim, 2, &steps));
  *out_positions = seer_expand_2(e, "Add", steps, seer_expand_reshape(e, e->node.in[k], NULL, 0));
  return e->resolve(e);
}

// positions: none where the tables are each token's.
static seer_status turn(seer_expand *e, const rotary *r, seer_val positions) {
  seer_val table[2] = {e->node.in[r->cosines], e->node.in[r->sines]}, x = e->node.in[0];
  int64_t batch = positions.i ? seer_graph_value(e->graph, positions)->dim[0] : r->batch;
  const int64_t split[4] = {batch, 1, r->tokens, r->width / 2},
                joint[4] = {batch, r->tokens, 1, r->width / 2};
  for (uint32_t k = 0; k < 2; k++) {
    if (positions.i) table[k] = seer_expand_2(e, "Gather", table[k], positions);
    table[k] = seer_expand_reshape(e, table[k], r->is_split ? split : joint, 4);
  }
  const int64_t hidden[3] = {r->batch, r->tokens, r->heads * r->d},
                dim[4] = {r->batch, r->is_split ? r->heads : r->tokens,
                    r->is_split ? r->tokens : r->heads, r->d};
  if (!r->is_split) x = seer_expand_reshape(e, x, dim, 4);
  bool is_interleaved = seer_node_attr_i(&e->node, "interleaved", 0) != 0;
  x = seer_rotary_turned(e, x, dim, 4, r->width, table[0], table[1], is_interleaved);
  double scale = seer_node_attr_f(&e->node, "scale", 1);
  if (scale != 1) x = seer_expand_times(e, x, scale);
  seer_expand_output(e, 0, r->is_split ? x : seer_expand_reshape(e, x, hidden, 3));
  return SEER_OK;
}

// com.microsoft's: x, positions, cosines, sines.
static seer_status expand_ms_rotary_embedding(seer_expand *e) {
  rotary r = {.cosines = 2, .sines = 3};
  seer_val positions;
  if (seer_node_attr_i(&e->node, "is_packed_batching", 0) != 0)
    return SEER_FAIL(UNSUPPORTED, "attribute 'is_packed_batching' is 1");
  SEER_TRY(read_rotary(e, &r));
  SEER_TRY(read_positions(e, &r, 1, true, &positions));
  return turn(e, &r, positions);
}
SEER_COMPOSITE(ms_rotary_embedding, "com.microsoft", "RotaryEmbedding", 1, 1, 4, 4, 1, 1,
    "interleaved is_packed_batching num_heads rotary_embedding_dim scale",
    expand_ms_rotary_embedding, "no packed batches", .computes = true)

// ONNX's: x, cosines, sines, positions; without those the tables are each token's.
static seer_status expand_rotary_embedding(seer_expand *e) {
  rotary r = {.cosines = 1, .sines = 2, .is_direct = !seer_expand_has_in(e, 3)};
  seer_val positions = {0};
  SEER_TRY(seer_op_want_float(seer_expand_in(e, 0), 0));
  if (seer_expand_in(e, 0)->rank == 3 && seer_node_attr_i(&e->node, "num_heads", 0) < 1)
    return SEER_FAIL(INVALID,
        "input 0 is %s, with attribute 'num_heads' %" PRId64 ", must be at least 1",
        seer_op_shape_text(seer_expand_in(e, 0), e->scratch),
        seer_node_attr_i(&e->node, "num_heads", 0));
  SEER_TRY(read_rotary(e, &r));
  if (!r.is_direct) SEER_TRY(read_positions(e, &r, 3, false, &positions));
  return turn(e, &r, positions);
}
SEER_COMPOSITE(rotary_embedding, "", "RotaryEmbedding", 23, SEER_OPSET_NEWEST, 3, 4, 1, 1,
    "interleaved num_heads rotary_embedding_dim", expand_rotary_embedding, "", .computes = true)
