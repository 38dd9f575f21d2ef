// rotary.c - rotary embeddings, and com.microsoft's operator of them.
#include "front/expand/rotary.h"

#include <string.h>

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

// ---- RotaryEmbedding(x, positions, cosines, sines): x [batch, tokens, heads * d] or [batch,
// heads, tokens, d]; positions [batch, tokens], or [1]: of the first token

typedef struct {
  int64_t batch, tokens, heads, d, width;
  bool is_split;  // heads are a dimension, in front of the tokens
} rotary;

static seer_status read_rotary(const seer_expand *e, rotary *out) {
  const seer_value *x = seer_expand_in(e, 0), *cosine = seer_expand_in(e, 2),
                   *sine = seer_expand_in(e, 3);
  int64_t heads = seer_node_attr_i(&e->node, "num_heads", 0),
          width = seer_node_attr_i(&e->node, "rotary_embedding_dim", 0);
  bool fits = cosine->rank == 2 && sine->rank == 2 && cosine->dim[0] == sine->dim[0] &&
      cosine->dim[1] == sine->dim[1] && cosine->dim[0] > 0;
  if (!fits)
    return SEER_FAIL(INVALID, "inputs 2 and 3 are %s and %s, must both be [positions, pairs]",
        seer_op_shape_text(cosine, e->scratch), seer_op_shape_text(sine, e->scratch));
  if (width == 0) width = 2 * cosine->dim[1];
  if (x->rank == 4) {
    *out = (rotary){x->dim[0], x->dim[2], x->dim[1], x->dim[3], width, true};
  } else if (x->rank == 3) {
    int64_t d = heads > 0 ? x->dim[2] / heads : 2 * cosine->dim[1];
    *out = (rotary){x->dim[0], x->dim[1], d > 0 ? x->dim[2] / d : 0, d, width, false};
    if (d == 0 || out->heads * d != x->dim[2])
      return SEER_FAIL(INVALID,
          "input 0 is %s, no heads of %" PRId64 " (attribute 'num_heads' is %" PRId64 ")",
          seer_op_shape_text(x, e->scratch), d, heads);
  } else {
    return SEER_FAIL(INVALID,
        "input 0 is %s, must be [batch, tokens, heads * d] or [batch, heads, tokens, d]",
        seer_op_shape_text(x, e->scratch));
  }
  if (width != 2 * cosine->dim[1] || width > out->d)
    return SEER_FAIL(INVALID,
        "attribute 'rotary_embedding_dim' is %" PRId64 ", heads have %" PRId64
        " numbers, and input 2 is %s",
        width, out->d, seer_op_shape_text(cosine, e->scratch));
  return SEER_OK;
}

// Input 1 as [batch or 1, tokens].
static seer_status read_positions(seer_expand *e, const rotary *r, seer_val *out_positions) {
  const seer_value *at = seer_expand_in(e, 1);
  seer_dtype dtype = at->dtype;
  bool is_first = seer_op_elems(at) == 1 && at->rank <= 1;
  bool is_each = at->rank == 2 && at->dim[0] == r->batch && at->dim[1] == r->tokens;
  if (dtype != SEER_DTYPE_I64 || !(is_first || is_each))
    return SEER_FAIL(INVALID, "input 1 is %s, must be i64[1] or i64[%" PRId64 ",%" PRId64 "]",
        seer_value_type_text(at, e->scratch), r->batch, r->tokens);
  *out_positions = e->node.in[1];
  if (is_each) return SEER_OK;
  double *number = NULL;
  SEER_TRY(seer_expand_table(e, 1, r->tokens, &number));
  for (int64_t k = 0; k < r->tokens; k++) number[k] = (double)k;
  const int64_t dim[2] = {1, r->tokens};
  seer_val steps = seer_expand_tensor(e, dtype, dim, 2, number);
  *out_positions = seer_expand_2(e, "Add", steps, seer_expand_reshape(e, e->node.in[1], NULL, 0));
  return SEER_OK;
}

static seer_status expand_rotary_embedding(seer_expand *e) {
  rotary r;
  seer_val positions, table[2], y;
  SEER_TRY(read_rotary(e, &r));
  if (seer_node_attr_i(&e->node, "is_packed_batching", 0) != 0)
    return SEER_FAIL(UNSUPPORTED, "attribute 'is_packed_batching' is 1");
  SEER_TRY(read_positions(e, &r, &positions));
  SEER_TRY(e->resolve(e));
  const seer_value *at = seer_graph_value(e->graph, positions);
  int64_t batch = at->dim[0], half = r.width / 2;
  const int64_t split[4] = {batch, 1, r.tokens, half}, joint[4] = {batch, r.tokens, 1, half};
  for (uint32_t k = 0; k < 2; k++) {
    table[k] = seer_expand_2(e, "Gather", e->node.in[2 + k], positions);
    table[k] = seer_expand_reshape(e, table[k], r.is_split ? split : joint, 4);
  }
  int64_t dim[4] = {r.batch, r.is_split ? r.heads : r.tokens, r.is_split ? r.tokens : r.heads, r.d};
  y = r.is_split ? e->node.in[0] : seer_expand_reshape(e, e->node.in[0], dim, 4);
  bool is_interleaved = seer_node_attr_i(&e->node, "interleaved", 0) != 0;
  y = seer_rotary_turned(e, y, dim, 4, r.width, table[0], table[1], is_interleaved);
  double scale = seer_node_attr_f(&e->node, "scale", 1);
  if (scale != 1) y = seer_expand_times(e, y, scale);
  const int64_t hidden[3] = {r.batch, r.tokens, r.heads * r.d};
  seer_expand_output(e, 0, r.is_split ? y : seer_expand_reshape(e, y, hidden, 3));
  return SEER_OK;
}
SEER_CONTRIB(rotary_embedding, "RotaryEmbedding", 4, 4, 1,
    "interleaved is_packed_batching num_heads rotary_embedding_dim scale", "no packed batches",
    .computes = true)
