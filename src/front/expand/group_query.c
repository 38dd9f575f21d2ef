// group_query.c - com.microsoft's GroupQueryAttention: causal attention of a decoder, where several
// heads of queries share one of keys and values, with those of earlier tokens in front.
// Batch element b has past[b] tokens behind it: none where all tokens are new, else what data
// says. Its new ones follow at once, and what is left of the room for tokens is zeros, which no
// query sees. total_sequence_length says how much room there is, and whether all tokens are new;
// where it is data itself, the room is that of the past, a buffer for as many as there will be.
#include <string.h>

#include "front/expand/attend.h"
#include "front/expand/rotary.h"
#include "setup/npy.h"

enum {
  KEY = 1,
  VALUE,
  PAST_KEY,
  PAST_VALUE,
  LENGTHS,
  TOTAL,
  COSINES,
  SINES,
  POSITIONS,
  BIAS,
  SINK,
  KEY_SCALE,
  VALUE_SCALE,
  QUERY_NORM,
  KEY_NORM,
  QUERY_LENGTHS
};

typedef struct {
  int64_t batch, heads, groups, d;  // heads of queries; of keys and values
  int64_t n, before, room;  // new tokens; room for past ones; for all
  bool is_prompt;  // all tokens are new, and that is known
  bool is_open;  // whether they are, data says
  seer_dtype dtype;
  seer_val past;  // i64[batch, 1], where it is no prompt
  seer_val at;  // of new tokens, i64[batch or 1, n]
  seer_val key_at;  // i64[room]: 0, 1, ...
} query;

// What is absent, or given in a form that is not built.
static seer_status check_forms(const seer_expand *e) {
  static const struct {
    const char *name;
    int64_t must;
  } fixed[] = {{"qk_output", 0}, {"sliding_window_cache", 0}, {"causal", 1}};
  static const struct {
    uint32_t at;
    const char *name;
  } absent[] = {{KEY_SCALE, "k_scale"}, {VALUE_SCALE, "v_scale"}, {QUERY_LENGTHS, "query_seqlens"}};
  for (uint32_t k = 0; k < SEER_COUNT_OF(fixed); k++) {
    int64_t found = seer_node_attr_i(&e->node, fixed[k].name, fixed[k].must);
    if (found != fixed[k].must)
      return SEER_FAIL(UNSUPPORTED, "attribute '%s' is %" PRId64 ", must be %" PRId64,
          fixed[k].name, found, fixed[k].must);
  }
  for (uint32_t k = 0; k < SEER_COUNT_OF(absent); k++)
    if (seer_expand_has_in(e, absent[k].at))
      return SEER_FAIL(UNSUPPORTED, "input %u (%s) is given", absent[k].at, absent[k].name);
  if (seer_expand_has_in(e, QUERY_NORM) != seer_expand_has_in(e, KEY_NORM))
    return SEER_FAIL(
        INVALID, "inputs %d and %d (norms' weights) go together", QUERY_NORM, KEY_NORM);
  if (seer_expand_wants(e, 3))
    return SEER_FAIL(UNSUPPORTED, "output 3 (products of queries and keys) is not made");
  SEER_TRY(seer_expand_needs(e, LENGTHS, TOTAL + 1));
  if (seer_expand_has_in(e, KEY) != seer_expand_has_in(e, VALUE) ||
      seer_expand_has_in(e, PAST_KEY) != seer_expand_has_in(e, PAST_VALUE))
    return SEER_FAIL(INVALID, "keys and values (inputs 1 and 2, 3 and 4) go together");
  return SEER_OK;
}

static seer_status want_shape(
    const seer_expand *e, uint32_t k, const int64_t *dim, uint32_t rank, seer_dtype dtype) {
  const seer_value *x = seer_expand_in(e, k);
  bool fits = x->rank == rank && x->dtype == dtype;
  for (uint32_t d = 0; fits && d < rank; d++) fits = x->dim[d] == dim[d];
  if (fits) return SEER_OK;
  return SEER_FAIL(INVALID, "input %u is %s, must be %s%s", k, seer_value_type_text(x, e->scratch),
      seer_dtype_name(dtype), seer_shape_text(dim, (int32_t)rank, e->scratch));
}

static seer_status read_query(seer_expand *e, query *q) {
  const seer_value *x = seer_expand_in(e, 0);
  int64_t heads = seer_node_attr_i(&e->node, "num_heads", 0),
          groups = seer_node_attr_i(&e->node, "kv_num_heads", 0), total = 0;
  if (x->rank != 3 || x->dim[1] < 1 || heads < 1 || heads > 1 << 20 || groups < 1 ||
      heads % groups != 0)
    return SEER_FAIL(INVALID,
        "input 0 is %s, must be [batch, tokens, hidden]; attributes 'num_heads' and 'kv_num_heads' "
        "are %" PRId64 " and %" PRId64 ", the second must divide the first",
        seer_op_shape_text(x, e->scratch), heads, groups);
  bool is_packed = !seer_expand_has_in(e, KEY);
  int64_t all = is_packed ? heads + 2 * groups : heads;
  *q = (query){.batch = x->dim[0],
      .heads = heads,
      .groups = groups,
      .d = x->dim[2] / all,
      .n = x->dim[1],
      .dtype = x->dtype};
  SEER_TRY(seer_op_want_float(x, 0));
  if (q->d < 1 || q->d * all != x->dim[2])
    return SEER_FAIL(
        INVALID, "input 0 is %s, no %" PRId64 " heads", seer_op_shape_text(x, e->scratch), all);
  const int64_t kv[3] = {q->batch, q->n, groups * q->d};
  for (uint32_t k = KEY; !is_packed && k <= VALUE; k++) SEER_TRY(want_shape(e, k, kv, 3, q->dtype));
  if (seer_expand_has_in(e, PAST_KEY)) {
    const seer_value *past = seer_expand_in(e, PAST_KEY);
    const int64_t dim[4] = {q->batch, groups, past->rank == 4 ? past->dim[2] : 0, q->d};
    for (uint32_t k = PAST_KEY; k <= PAST_VALUE; k++) SEER_TRY(want_shape(e, k, dim, 4, q->dtype));
    q->before = dim[2];
  }
  q->is_open = !seer_graph_value(e->graph, e->node.in[TOTAL])->constant;
  if (!q->is_open)
    SEER_TRY(seer_op_const_int(e->graph, &e->node, TOTAL, "total_sequence_length", 0, &total));
  else if (q->before > 0 && q->before < q->n)
    return SEER_FAIL(INVALID,
        "inputs %d and %d (past keys and values) have room for %" PRId64
        " tokens, must have it for the %" PRId64
        " new ones: input %d (total_sequence_length) is data, so they are as long as what they "
        "become",
        PAST_KEY, PAST_VALUE, q->before, q->n, TOTAL);
  else
    total = q->n;
  if (total < q->n || total > 1 << 24)
    return SEER_FAIL(INVALID,
        "input %d (total_sequence_length) is %" PRId64 ", must be at least the %" PRId64
        " new tokens",
        TOTAL, total, q->n);
  q->is_prompt = total == q->n && !(q->is_open && q->before > 0);
  q->room = seer_max_i64(q->before, total);
  const seer_value *lengths = seer_expand_in(e, LENGTHS);
  if (lengths->dtype != SEER_DTYPE_I32 || seer_op_elems(lengths) != q->batch)
    return SEER_FAIL(INVALID, "input %d (seqlens_k) is %s, must be i32[%" PRId64 "]", LENGTHS,
        seer_value_type_text(lengths, e->scratch), q->batch);
  return SEER_OK;
}

// Where tokens are: q->past, at, key_at.
static seer_status set_places(seer_expand *e, query *q) {
  const int64_t column[2] = {q->batch, 1}, row[2] = {1, q->n};
  SEER_TRY(seer_attend_places(e, SEER_DTYPE_I64, q->room, &q->room, 1, &q->key_at));
  SEER_TRY(seer_attend_places(e, SEER_DTYPE_I64, q->n, row, 2, &q->at));
  if (q->is_prompt) return SEER_OK;
  seer_val last = seer_expand_cast(e, e->node.in[LENGTHS], SEER_DTYPE_I64);
  q->past = seer_expand_2(e, "Sub", seer_expand_reshape(e, last, column, 2),
      seer_expand_scalar(e, SEER_DTYPE_I64, (double)(q->n - 1)));
  // All new, and some of them padding: as if none were.
  if (q->is_open)
    q->past = seer_expand_2(e, "Max", q->past, seer_expand_scalar(e, SEER_DTYPE_I64, 0));
  q->at = seer_expand_2(e, "Add", q->at, q->past);
  return SEER_OK;
}

// Heads [from, from + n) of x [batch, tokens, heads * d] as [batch, n, tokens, d].
static seer_val heads_of(seer_expand *e, const query *q, seer_val x, int64_t from, int64_t n) {
  if (from >= 0) x = seer_expand_slice(e, x, 2, from * q->d, (from + n) * q->d);
  return seer_attend_split(e, x, q->batch, q->n, n, q->d);
}

// Heads of queries and keys, each by the root of the mean of its squares, times weights.
static seer_status normalise(seer_expand *e, const query *q, seer_val *queries, seer_val *keys) {
  static const char *const own[2] = {"q_norm_epsilon", "k_norm_epsilon"};
  if (!seer_expand_has_in(e, QUERY_NORM)) return SEER_OK;
  seer_val *const x[2] = {queries, keys};
  for (uint32_t k = 0; k < 2; k++) {
    SEER_TRY(want_shape(e, QUERY_NORM + k, &q->d, 1, q->dtype));
    double epsilon = seer_node_attr_f(&e->node, "qk_norm_epsilon", 1e-6);
    seer_attr attr[2] = {seer_expand_int("axis", -1),
        {.name = "epsilon",
            .kind = SEER_ATTR_FLOAT,
            .f = seer_node_attr_f(&e->node, own[k], epsilon)}};
    seer_val in[2] = {*x[k], e->node.in[QUERY_NORM + k]};
    *x[k] = seer_expand_add(e, "SimplifiedLayerNormalization", in, 2, attr, 2);
  }
  return SEER_OK;
}

// What softmax counts beside the scores: a number of each head, or 0 for all of them.
static seer_status read_sink(seer_expand *e, const query *q, seer_attend_form *form) {
  if (!seer_expand_has_in(e, SINK)) {
    if (seer_node_attr_i(&e->node, "smooth_softmax", 0) > 0) form->sink = seer_expand_number(e, 0);
    return SEER_OK;
  }
  SEER_TRY(want_shape(e, SINK, &q->heads, 1, q->dtype));
  form->sink = seer_expand_reshape(e, e->node.in[SINK], (int64_t[]){1, q->heads, 1, 1}, 4);
  return SEER_OK;
}

static seer_status turn(seer_expand *e, const query *q, seer_val *queries, seer_val *keys) {
  if (!seer_node_attr_i(&e->node, "do_rotary", 0)) return SEER_OK;
  SEER_TRY(seer_expand_needs(e, COSINES, SINES + 1));
  const seer_value *cosine = seer_expand_in(e, COSINES), *sine = seer_expand_in(e, SINES);
  bool fits = cosine->rank == 2 && sine->rank == 2 && cosine->dim[0] == sine->dim[0] &&
      cosine->dim[1] == sine->dim[1] && cosine->dim[0] > 0 && 2 * cosine->dim[1] <= q->d;
  if (!fits)
    return SEER_FAIL(INVALID,
        "inputs 7 and 8 are %s and %s, must both be [positions, pairs] for heads of %" PRId64,
        seer_op_shape_text(cosine, e->scratch), seer_op_shape_text(sine, e->scratch), q->d);
  seer_val at = q->at, table[2];
  int64_t half = cosine->dim[1], batch = q->is_prompt ? 1 : q->batch;
  if (seer_expand_has_in(e, POSITIONS)) {
    const int64_t each[2] = {q->batch, q->n};
    SEER_TRY(want_shape(e, POSITIONS, each, 2, SEER_DTYPE_I64));
    at = e->node.in[POSITIONS];
    batch = q->batch;
  }
  for (uint32_t k = 0; k < 2; k++) {
    table[k] = seer_expand_2(e, "Gather", e->node.in[COSINES + k], at);
    table[k] = seer_expand_reshape(e, table[k], (int64_t[]){batch, 1, q->n, half}, 4);
  }
  bool is_interleaved = seer_node_attr_i(&e->node, "rotary_interleaved", 0) != 0;
  const int64_t dim[2][4] = {{q->batch, q->heads, q->n, q->d}, {q->batch, q->groups, q->n, q->d}};
  seer_val *const x[2] = {queries, keys};
  for (uint32_t k = 0; k < 2; k++)
    *x[k] = seer_rotary_turned(e, *x[k], dim[k], 4, 2 * half, table[0], table[1], is_interleaved);
  return SEER_OK;
}

// The same in a buffer that is the caller's for both: the rest of it stays as it is.
static seer_status with_shared_past(seer_expand *e, const query *q, uint32_t k, seer_val *io_x) {
  const int64_t full[4] = {q->batch, q->groups, q->room, q->d};
  return seer_attend_put(e, e->node.in[k], full, 2, *io_x, q->n, q->at, io_x);
}

// x [batch, groups, n, d] behind the past of input `k`: [batch, groups, room, d].
static seer_val with_past(seer_expand *e, const query *q, uint32_t k, seer_val x) {
  int64_t pads[8] = {0};
  if (q->is_prompt) {
    pads[6] = q->room - q->n;
    return pads[6] ? seer_expand_2(e, "Pad", x, seer_expand_ints(e, pads, 8)) : x;
  }
  const int64_t place[4] = {q->batch, 1, q->room, 1},
                full[4] = {q->batch, q->groups, q->room, q->d};
  seer_val zero = seer_expand_number(e, 0), none = seer_expand_scalar(e, SEER_DTYPE_I64, 0);
  // How many tokens behind the first new one a place is: below 0 for the past.
  seer_val after = seer_expand_reshape(e, seer_expand_2(e, "Sub", q->key_at, q->past), place, 4);
  if (q->n > 1) {
    seer_val index = seer_expand_3(
        e, "Clip", after, none, seer_expand_scalar(e, SEER_DTYPE_I64, (double)(q->n - 1)));
    index = seer_expand_2(e, "Expand", index, seer_expand_ints(e, full, 4));
    x = seer_expand_2i(e, "GatherElements", x, index, "axis", 2);
  }
  seer_val is_new =
      seer_expand_2(e, "Less", after, seer_expand_scalar(e, SEER_DTYPE_I64, (double)q->n));
  x = seer_expand_3(e, "Where", is_new, x, zero);
  if (q->before == 0) return x;
  seer_val past = e->node.in[k];
  pads[6] = q->room - q->before;
  if (pads[6]) past = seer_expand_2(e, "Pad", past, seer_expand_ints(e, pads, 8));
  return seer_expand_3(e, "Where", seer_expand_2(e, "Less", after, none), past, x);
}

// What is added to the scores [batch, heads, n, room], and what a query does not see.
static seer_status read_masks(seer_expand *e, const query *q, seer_attend_form *form) {
  int64_t window = seer_node_attr_i(&e->node, "local_window_size", -1);
  if (seer_expand_has_in(e, BIAS)) {
    const seer_value *bias = seer_expand_in(e, BIAS);
    int64_t pads[8] = {0};
    bool fits = bias->rank == 4 && (bias->dim[0] == 1 || bias->dim[0] == q->batch) &&
        (bias->dim[1] == 1 || bias->dim[1] == q->heads) && bias->dim[2] == q->n &&
        bias->dim[3] <= q->room && bias->dtype == q->dtype;
    if (!fits)
      return SEER_FAIL(INVALID,
          "input %d (attention_bias) is %s, must be [%" PRId64 " or 1, %" PRId64 " or 1, %" PRId64
          ", tokens]",
          BIAS, seer_value_type_text(bias, e->scratch), q->batch, q->heads, q->n);
    pads[7] = q->room - bias->dim[3];
    form->bias[0] = e->node.in[BIAS];
    if (pads[7])
      form->bias[0] = seer_expand_2(e, "Pad", form->bias[0], seer_expand_ints(e, pads, 8));
  }
  const int64_t place[4] = {q->is_prompt ? 1 : q->batch, 1, q->n, 1};
  seer_val at = seer_expand_reshape(e, q->at, place, 4);
  form->hidden = seer_expand_2(e, "Greater", q->key_at, at);
  if (window > 0) {
    seer_val first =
        seer_expand_2(e, "Sub", at, seer_expand_scalar(e, SEER_DTYPE_I64, (double)window));
    seer_val is_past = seer_expand_2(e, "LessOrEqual", q->key_at, first);
    form->hidden = seer_expand_2(e, "Or", form->hidden, is_past);
  }
  return SEER_OK;
}

static seer_status expand_group_query(seer_expand *e) {
  query q;
  SEER_TRY(check_forms(e));
  SEER_TRY(read_query(e, &q));
  SEER_TRY(set_places(e, &q));
  const seer_val *in = e->node.in;
  bool is_packed = !seer_expand_has_in(e, KEY);
  seer_val x = heads_of(e, &q, in[0], is_packed ? 0 : -1, q.heads), kv[2];
  for (uint32_t k = 0; k < 2; k++)
    kv[k] = is_packed ? heads_of(e, &q, in[0], q.heads + k * q.groups, q.groups)
                      : heads_of(e, &q, in[KEY + k], -1, q.groups);
  SEER_TRY(normalise(e, &q, &x, &kv[0]));
  SEER_TRY(turn(e, &q, &x, &kv[0]));
  for (uint32_t k = 0; k < 2; k++) {
    bool is_shared = seer_expand_has_in(e, PAST_KEY) && q.room == q.before &&
        seer_graph_is_shared(e->graph, in[PAST_KEY + k]);
    if (is_shared)
      SEER_TRY(with_shared_past(e, &q, PAST_KEY + k, &kv[k]));
    else
      kv[k] = with_past(e, &q, PAST_KEY + k, kv[k]);
    seer_expand_output(e, 1 + k, kv[k]);
  }
  seer_attend_form form = {.batch = q.batch,
      .heads = q.heads,
      .groups = q.groups,
      .n = q.n,
      .m = q.room,
      .d = q.d,
      .value_d = q.d,
      .dtype = q.dtype,
      .scale = seer_attend_scale(e, q.d),
      .cap = seer_node_attr_f(&e->node, "softcap", 0)};
  SEER_TRY(read_masks(e, &q, &form));
  SEER_TRY(read_sink(e, &q, &form));
  seer_val y = seer_attend(e, &form, x, kv[0], kv[1]);
  seer_expand_output(e, 0, seer_attend_joined(e, y, q.batch, q.n, q.heads, q.d));
  return SEER_OK;
}
SEER_CONTRIB(group_query, "GroupQueryAttention", 1, 17, 4,
    "causal do_rotary k_norm_epsilon k_quant_type kv_cache_bit_width kv_num_heads "
    "local_window_size num_heads q_norm_epsilon qk_norm_epsilon qk_output rotary_interleaved scale "
    "sliding_window_cache smooth_softmax softcap v_quant_type",
    "where total_sequence_length is data, past keys are a buffer with room for all; always causal; "
    "no products as an output, no quantised or sliding cache",
    .computes = true)
