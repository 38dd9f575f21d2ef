// cache.c - what earlier tokens left, and what new ones add to it: TensorScatter, which writes new
// tokens into a cache of keys or values, and CausalConvWithState, a convolution that goes on where
// the last call ended.
#include <string.h>

#include "front/expand/attend.h"

// ---- TensorScatter: cache [batch, .., most, ..], update [batch, .., n, ..] and, for each of the
// batch, where it begins along the axis

enum { CACHE, UPDATE, BEGINS };

typedef struct {
  int64_t dim[SEER_MAX_RANK], most, n;
  uint32_t rank, axis;
  bool is_circular;
} scatter;

static seer_status read_scatter(const seer_expand *e, scatter *s) {
  const seer_value *cache = seer_expand_in(e, CACHE), *update = seer_expand_in(e, UPDATE);
  const char *mode = seer_node_attr_s(&e->node, "mode", "linear");
  if (strcmp(mode, "linear") != 0 && strcmp(mode, "circular") != 0)
    return SEER_FAIL(INVALID, "attribute 'mode' is '%s', must be linear or circular", mode);
  SEER_TRY(seer_op_axis(
      seer_node_attr_i(&e->node, "axis", -2), cache->rank, "attribute 'axis'", &s->axis));
  bool fits = s->axis > 0 && update->rank == cache->rank && update->dtype == cache->dtype;
  for (uint32_t d = 0; fits && d < cache->rank; d++)
    fits = d == s->axis ? update->dim[d] <= cache->dim[d] : update->dim[d] == cache->dim[d];
  if (!fits)
    return SEER_FAIL(INVALID,
        "inputs 0 and 1 are %s and %s: along axis %u, which may not be 0, the second may be "
        "shorter, all else must be equal",
        seer_value_type_text(cache, e->scratch), seer_value_type_text(update, e->scratch), s->axis);
  if (seer_expand_has_in(e, BEGINS)) {
    const seer_value *begins = seer_expand_in(e, BEGINS);
    if (begins->dtype != SEER_DTYPE_I64 || begins->rank != 1 || begins->dim[0] != cache->dim[0])
      return SEER_FAIL(INVALID, "input 2 (write_indices) is %s, must be i64[%" PRId64 "]",
          seer_value_type_text(begins, e->scratch), cache->dim[0]);
  }
  s->is_circular = strcmp(mode, "circular") == 0;
  s->rank = cache->rank;
  s->most = cache->dim[s->axis];
  s->n = update->dim[s->axis];
  memcpy(s->dim, cache->dim, sizeof s->dim);
  return SEER_OK;
}

// Into the memory that is the output's, too: nothing else is touched.
static seer_status scatter_shared(seer_expand *e, const scatter *s) {
  const int64_t row[2] = {1, s->n}, column[2] = {s->dim[0], 1};
  seer_val at, out;
  SEER_TRY(seer_attend_places(e, SEER_DTYPE_I64, s->n, row, 2, &at));
  if (seer_expand_has_in(e, BEGINS))
    at = seer_expand_2(e, "Add", at, seer_expand_reshape(e, e->node.in[BEGINS], column, 2));
  if (s->is_circular)
    at = seer_expand_2(e, "Mod", at, seer_expand_scalar(e, SEER_DTYPE_I64, (double)s->most));
  SEER_TRY(
      seer_attend_put(e, e->node.in[CACHE], s->dim, s->axis, e->node.in[UPDATE], s->n, at, &out));
  seer_expand_output(e, 0, out);
  return SEER_OK;
}

static seer_status expand_tensor_scatter(seer_expand *e) {
  scatter s = {0};
  SEER_TRY(read_scatter(e, &s));
  seer_val cache = e->node.in[CACHE], x = e->node.in[UPDATE];
  bool is_front = !seer_expand_has_in(e, BEGINS);
  if (s.n == 0 || s.n == s.most * is_front) {
    seer_expand_output(e, 0, s.n == 0 ? cache : x);
    return SEER_OK;
  }
  if (is_front && !seer_graph_is_shared(e->graph, cache)) {
    seer_val part[2] = {x, seer_expand_slice(e, cache, s.axis, s.n, s.most)};
    seer_expand_output(e, 0, seer_expand_concat(e, part, 2, s.axis));
    return SEER_OK;
  }
  const seer_dtype i64 = SEER_DTYPE_I64;
  if (seer_graph_is_shared(e->graph, cache)) return scatter_shared(e, &s);
  int64_t along[SEER_MAX_RANK], each[SEER_MAX_RANK];
  for (uint32_t d = 0; d < s.rank; d++) along[d] = each[d] = 1;
  along[s.axis] = s.most;
  each[0] = s.dim[0];
  seer_val places, none = seer_expand_scalar(e, i64, 0);
  SEER_TRY(seer_attend_places(e, i64, s.most, along, s.rank, &places));
  // How many tokens behind the first new one a place is.
  seer_val after =
      seer_expand_2(e, "Sub", places, seer_expand_reshape(e, e->node.in[BEGINS], each, s.rank));
  if (s.is_circular)
    after = seer_expand_2(e, "Mod", after, seer_expand_scalar(e, i64, (double)s.most));
  seer_val is_new = seer_expand_2(e, "Less", after, seer_expand_scalar(e, i64, (double)s.n));
  if (!s.is_circular)
    is_new = seer_expand_2(e, "And", is_new, seer_expand_2(e, "GreaterOrEqual", after, none));
  if (s.n > 1) {
    seer_val last = seer_expand_scalar(e, i64, (double)(s.n - 1));
    after = seer_expand_3(e, "Clip", after, none, last);
    after = seer_expand_2(e, "Expand", after, seer_expand_ints(e, s.dim, s.rank));
    x = seer_expand_2i(e, "GatherElements", x, after, "axis", s.axis);
  }
  seer_expand_output(e, 0, seer_expand_3(e, "Where", is_new, x, cache));
  return SEER_OK;
}
SEER_COMPOSITE(tensor_scatter, "", "TensorScatter", 24, SEER_OPSET_NEWEST, 2, 3, 1, 1, "axis mode",
    expand_tensor_scatter, "")

// ---- CausalConvWithState: x [batch, channels, length], weights [channels, 1, k], a bias, and the
// k - 1 elements in front of x (zeros where they are absent)

enum { X, WEIGHT, BIAS, STATE };

static seer_status read_causal(const seer_expand *e, int64_t *out_k) {
  const seer_value *x = seer_expand_in(e, X), *w = seer_expand_in(e, WEIGHT);
  SEER_TRY(seer_op_want_float(x, X));
  if (x->rank != 3 || w->rank != 3 || w->dim[0] != x->dim[1] || w->dim[1] != 1 || w->dim[2] < 1)
    return SEER_FAIL(INVALID,
        "inputs 0 and 1 are %s and %s, must be [batch, channels, length] and [channels, 1, k]",
        seer_op_shape_text(x, e->scratch), seer_op_shape_text(w, e->scratch));
  *out_k = w->dim[2];
  if (!seer_expand_has_in(e, STATE)) return SEER_OK;
  const seer_value *state = seer_expand_in(e, STATE);
  bool fits = state->rank == 3 && state->dim[0] == x->dim[0] && state->dim[1] == x->dim[1] &&
      state->dim[2] == *out_k - 1;
  if (fits) return SEER_OK;
  return SEER_FAIL(INVALID,
      "input 3 (past_state) is %s, must be [%" PRId64 ",%" PRId64 ",%" PRId64 "]",
      seer_op_shape_text(state, e->scratch), x->dim[0], x->dim[1], *out_k - 1);
}

static seer_status expand_causal_conv(seer_expand *e) {
  const char *activation = seer_node_attr_s(&e->node, "activation", "none");
  bool is_silu = strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0;
  int64_t k;
  if (!is_silu && strcmp(activation, "none") != 0)
    return SEER_FAIL(
        INVALID, "attribute 'activation' is '%s', must be none, silu or swish", activation);
  SEER_TRY(read_causal(e, &k));
  const int64_t channels = seer_expand_in(e, X)->dim[1], length = seer_expand_in(e, X)->dim[2],
                pads[6] = {0, 0, k - 1};
  seer_val *in = SEER_NEW_ARRAY(e->scratch, seer_val, 3), all = e->node.in[X];
  if (k > 1)
    all = seer_expand_has_in(e, STATE)
        ? seer_expand_concat(e, (seer_val[]){e->node.in[STATE], all}, 2, 2)
        : seer_expand_2(e, "Pad", all, seer_expand_ints(e, pads, 6));
  in[0] = all;
  in[1] = e->node.in[WEIGHT];
  in[2] = seer_expand_operand(e, BIAS);
  seer_attr attr = seer_expand_int("group", channels);
  seer_val y = seer_expand_add(e, "Conv", in, 3, &attr, 1);
  if (is_silu) y = seer_expand_2(e, "Mul", y, seer_expand_1(e, "Sigmoid", y));
  seer_expand_output(e, 0, y);
  seer_expand_output(e, 1, seer_expand_slice(e, all, 2, length, length + k - 1));
  return SEER_OK;
}
SEER_COMPOSITE(causal_conv, "", "CausalConvWithState", 27, SEER_OPSET_NEWEST, 2, 4, 1, 2,
    "activation", expand_causal_conv, "", .computes = true)
