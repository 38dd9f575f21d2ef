// dot_attention.c - ONNX's Attention (opset 23 on): queries, keys and values as heads or packed in
// rows, several heads of queries to one of keys, a mask, causality, windows, keys of earlier tokens
// in front of the new ones (past) or in a cache that holds them all, of which data says how many
// count (nonpad_kv_seqlen).
// Query i stands at place i + offset: behind the past, at the end of the cache's tokens, or, with
// neither, at i. What it does not see has -infinity added; where that is all, it gets zeros.
#include <math.h>

#include "front/expand/attend.h"
#include "front/onnx/dtype.h"

enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, CACHED };
enum { Y, PRESENT_KEY, PRESENT_VALUE, PRODUCTS };

typedef struct {
  seer_attend_form form;
  bool is_packed;  // [batch, tokens, heads * d]
  int64_t before;  // past tokens
  seer_dtype type, value_type;  // as the file has them
  // Windows: how many keys behind and before a query's place it sees; the number of all: no limit.
  int64_t left, right;
} attention;

// ---- shapes

static seer_status read_heads(const seer_expand *e, attention *a) {
  const seer_value *x[3];
  int64_t heads[2] = {
      seer_node_attr_i(&e->node, "q_num_heads", 0), seer_node_attr_i(&e->node, "kv_num_heads", 0)};
  int64_t dim[3][4];
  bool fits = true;
  for (uint32_t k = 0; k < 3; k++) {
    x[k] = seer_expand_in(e, k);
    SEER_TRY(seer_op_want_float(x[k], k));
    fits = fits && x[k]->rank == x[0]->rank && (x[k]->rank == 3 || x[k]->rank == 4);
  }
  a->is_packed = x[0]->rank == 3;
  for (uint32_t k = 0; fits && k < 3; k++) {
    int64_t named = heads[k > 0], n = a->is_packed ? named : x[k]->dim[1];
    const int64_t *d = x[k]->dim;
    fits = n > 0 && (named == 0 || named == n) && (!a->is_packed || d[2] % n == 0);
    if (!fits) break;
    dim[k][0] = d[0];
    dim[k][1] = n;
    dim[k][2] = a->is_packed ? d[1] : d[2];
    dim[k][3] = a->is_packed ? d[2] / n : d[3];
  }
  fits = fits && dim[0][0] == dim[1][0] && dim[0][0] == dim[2][0] && dim[1][1] == dim[2][1] &&
      dim[0][1] % dim[1][1] == 0 && dim[1][2] == dim[2][2] && dim[0][3] == dim[1][3];
  if (!fits)
    return SEER_FAIL(INVALID,
        "inputs 0, 1 and 2 are %s, %s and %s, with attributes 'q_num_heads' and 'kv_num_heads' "
        "%" PRId64 " and %" PRId64
        ": must be [batch, heads, tokens, d], or [batch, tokens, heads * d] with both attributes, "
        "where keys and values have as many tokens, and heads that divide the queries'",
        seer_op_shape_text(x[0], e->scratch), seer_op_shape_text(x[1], e->scratch),
        seer_op_shape_text(x[2], e->scratch), heads[0], heads[1]);
  a->type = x[0]->dtype;
  a->value_type = x[2]->dtype;
  if (x[1]->dtype != a->type)
    return SEER_FAIL(INVALID, "inputs 0 and 1 are %s and %s, must be of one type",
        seer_dtype_name(a->type), seer_dtype_name(x[1]->dtype));
  a->form = (seer_attend_form){.batch = dim[0][0],
      .heads = dim[0][1],
      .groups = dim[1][1],
      .n = dim[0][2],
      .m = dim[1][2],
      .d = dim[0][3],
      .value_d = dim[2][3],
      .dtype = a->type == SEER_DTYPE_F64 ? SEER_DTYPE_F64 : SEER_DTYPE_F32};
  return SEER_OK;
}

static seer_status read_past(const seer_expand *e, attention *a) {
  bool has[2] = {seer_expand_has_in(e, PAST_KEY), seer_expand_has_in(e, PAST_VALUE)};
  if (has[0] != has[1])
    return SEER_FAIL(
        INVALID, "inputs %d and %d (past keys and values) go together", PAST_KEY, PAST_VALUE);
  if (!has[0]) return SEER_OK;
  if (seer_expand_has_in(e, CACHED))
    return SEER_FAIL(INVALID,
        "input %d (nonpad_kv_seqlen) is for keys that are all in input %d, and there are past keys "
        "(input %d)",
        CACHED, KEY, PAST_KEY);
  const seer_attend_form *f = &a->form;
  for (uint32_t k = 0; k < 2; k++) {
    const seer_value *past = seer_expand_in(e, PAST_KEY + k);
    int64_t d = k == 0 ? f->d : f->value_d;
    if (k == 0) a->before = past->rank == 4 ? past->dim[2] : 0;
    bool fits = past->rank == 4 && past->dim[0] == f->batch && past->dim[1] == f->groups &&
        past->dim[2] == a->before && past->dim[3] == d &&
        past->dtype == (k == 0 ? a->type : a->value_type);
    if (!fits)
      return SEER_FAIL(INVALID,
          "input %u is %s, must be %s[%" PRId64 ",%" PRId64 ", tokens, %" PRId64
          "], with as many tokens in past keys as in values",
          PAST_KEY + k, seer_value_type_text(past, e->scratch),
          seer_dtype_name(k == 0 ? a->type : a->value_type), f->batch, f->groups, d);
  }
  a->form.m += a->before;
  return SEER_OK;
}

// ---- attributes

static seer_status read_window(const seer_expand *e, const char *name, int64_t all, int64_t *out) {
  int64_t window = seer_node_attr_i(&e->node, name, -1);
  if (window < -1)
    return SEER_FAIL(
        INVALID, "attribute '%s' is %" PRId64 ", must be at least -1 (no limit)", name, window);
  *out = window < 0 || window > all ? all : window;
  return SEER_OK;
}

static seer_status read_attributes(const seer_expand *e, attention *a) {
  seer_attend_form *f = &a->form;
  const seer_attr *scale = seer_node_attr(&e->node, "scale");
  f->scale = scale ? seer_node_attr_f(&e->node, "scale", 0) : 1 / sqrt((double)f->d);
  if (!(f->scale >= 0) || isinf(f->scale))
    return SEER_FAIL(INVALID, "attribute 'scale' is %g, must be a number of at least 0", f->scale);
  f->cap = seer_node_attr_f(&e->node, "softcap", 0);
  int64_t mode = seer_node_attr_i(&e->node, "qk_matmul_output_mode", 0),
          precision = seer_node_attr_i(&e->node, "softmax_precision", 0);
  if (mode < 0 || mode >= SEER_ATTEND_COUNT)
    return SEER_FAIL(INVALID, "attribute 'qk_matmul_output_mode' is %" PRId64 ", must be 0 to %d",
        mode, SEER_ATTEND_COUNT - 1);
  if (precision != 0) {
    bool is_known = precision == 1 || precision == 10 || precision == 11 || precision == 16;
    if (!is_known)
      return SEER_FAIL(INVALID,
          "attribute 'softmax_precision' is %" PRId64
          ", must be 1, 10, 11 or 16 (float, float16, double, bfloat16)",
          precision);
    f->softmax = seer_onnx_dtype((int32_t)precision);
    // Its own type is computed in f32 here, which is no less precise.
    if (f->softmax == a->type) f->softmax = SEER_DTYPE_NONE;
  }
  int64_t all = f->n + f->m;
  SEER_TRY(read_window(e, "left_window_size", all, &a->left));
  SEER_TRY(read_window(e, "right_window_size", all, &a->right));
  if (seer_node_attr_i(&e->node, "is_causal", 0) != 0) a->right = 0;
  return SEER_OK;
}

// ---- what is hidden

// By places alone, whatever data says: whether some query sees no key.
static bool is_some_blind(const attention *a) {
  const seer_attend_form *f = &a->form;
  for (int64_t i = 0; i < f->n; i++) {
    int64_t place = a->before + i, first = seer_max_i64(0, place - a->left);
    int64_t last = place + a->right < f->m - 1 ? place + a->right : f->m - 1;
    if (first > last) return true;
  }
  return false;
}

static seer_val either(seer_expand *e, seer_val a, seer_val b) {
  return a.i ? seer_expand_2(e, "Or", a, b) : b;
}

// bool, broadcasts to the scores: keys outside the windows and behind the cache's tokens. 0: none
static seer_status read_places(seer_expand *e, const attention *a, seer_val *out_hidden) {
  const seer_attend_form *f = &a->form;
  const int64_t row[4] = {1, 1, 1, f->m}, column[4] = {1, 1, f->n, 1},
                each[4] = {f->batch, 1, 1, 1};
  const seer_dtype i64 = SEER_DTYPE_I64;
  int64_t all = f->n + f->m;
  seer_val keys, places, count = {0};
  *out_hidden = (seer_val){0};
  SEER_TRY(seer_attend_places(e, i64, f->m, row, 4, &keys));
  SEER_TRY(seer_attend_places(e, i64, f->n, column, 4, &places));
  seer_val offset = seer_expand_scalar(e, i64, (double)a->before);
  if (seer_expand_has_in(e, CACHED)) {
    const seer_value *cached = seer_expand_in(e, CACHED);
    if (cached->dtype != i64 || cached->rank != 1 || cached->dim[0] != f->batch)
      return SEER_FAIL(INVALID, "input %d (nonpad_kv_seqlen) is %s, must be i64[%" PRId64 "]",
          CACHED, seer_value_type_text(cached, e->scratch), f->batch);
    count = seer_expand_reshape(e, e->node.in[CACHED], each, 4);
    offset = seer_expand_2(e, "Sub", count, seer_expand_scalar(e, i64, (double)f->n));
  }
  places = seer_expand_2(e, "Add", places, offset);
  if (a->right < all) {
    seer_val last = seer_expand_2(e, "Add", places, seer_expand_scalar(e, i64, (double)a->right));
    *out_hidden = either(e, *out_hidden, seer_expand_2(e, "Greater", keys, last));
  }
  if (a->left < all) {
    seer_val first = seer_expand_2(e, "Sub", places, seer_expand_scalar(e, i64, (double)a->left));
    *out_hidden = either(e, *out_hidden, seer_expand_2(e, "Less", keys, first));
  }
  if (count.i)
    *out_hidden = either(e, *out_hidden, seer_expand_2(e, "GreaterOrEqual", keys, count));
  return SEER_OK;
}

// Input 3 with rank 4, keys that it says nothing of hidden: numbers of the scores' type, or, with
// *out_is_allowed, which keys are seen.
static seer_status read_mask(
    seer_expand *e, const attention *a, seer_val *out_mask, bool *out_is_allowed) {
  const seer_attend_form *f = &a->form;
  const int64_t full[4] = {f->batch, f->heads, f->n, f->m};
  const seer_value *mask = seer_expand_in(e, MASK);
  bool fits = mask->rank >= 1 && mask->rank <= 4;
  int64_t dim[4] = {1, 1, 1, 1};
  for (uint32_t d = 0; fits && d < mask->rank; d++) {
    uint32_t at = 4u - mask->rank + d;
    dim[at] = mask->dim[d];
    fits = at == 3 ? dim[at] <= full[at] : dim[at] == 1 || dim[at] == full[at];
  }
  if (!fits)
    return SEER_FAIL(INVALID,
        "input %d (attn_mask) is %s, must broadcast to [%" PRId64 ",%" PRId64 ",%" PRId64
        ",%" PRId64 "], with at most as many keys",
        MASK, seer_op_shape_text(mask, e->scratch), full[0], full[1], full[2], full[3]);
  *out_is_allowed = mask->dtype == SEER_DTYPE_BOOL;
  seer_val x = seer_expand_reshape(e, e->node.in[MASK], dim, 4);
  if (!*out_is_allowed) x = seer_expand_cast(e, x, f->dtype);
  if (dim[3] < f->m) {
    const int64_t pads[8] = {0, 0, 0, 0, 0, 0, 0, f->m - dim[3]};
    seer_val rest = *out_is_allowed ? seer_expand_scalar(e, SEER_DTYPE_BOOL, 0)
                                    : seer_expand_extreme(e, f->dtype, false);
    x = seer_expand_3(e, "Pad", x, seer_expand_ints(e, pads, 8), rest);
  }
  *out_mask = x;
  return SEER_OK;
}

// A constant that is false throughout: nobody need ask it.
static bool is_never(const seer_expand *e, seer_val v) {
  const seer_tensor *constant = seer_graph_value(e->graph, v)->constant;
  if (!constant) return false;
  for (int64_t i = 0; i < (int64_t)constant->n_bytes; i++)
    if (seer_dtype_load_i64(constant->dtype, constant->data, i) != 0) return false;
  return true;
}

// All that is added to the scores, and which queries see no key by it.
static seer_status read_bias(seer_expand *e, attention *a) {
  seer_attend_form *f = &a->form;
  seer_val hidden, mask = {0}, bias = {0};
  bool is_allowed = false, has_mask = seer_expand_has_in(e, MASK);
  SEER_TRY(read_places(e, a, &hidden));
  if (has_mask) SEER_TRY(read_mask(e, a, &mask, &is_allowed));
  if (is_allowed) hidden = either(e, hidden, seer_expand_1(e, "Not", mask));
  if (hidden.i)
    bias = seer_expand_3(e, "Where", hidden, seer_expand_extreme(e, f->dtype, false),
        seer_expand_scalar(e, f->dtype, 0));
  if (has_mask && !is_allowed) bias = bias.i ? seer_expand_2(e, "Add", mask, bias) : mask;
  f->bias[0] = bias;
  if (!bias.i || !(has_mask || seer_expand_has_in(e, CACHED) || is_some_blind(a))) return SEER_OK;
  const int64_t last = -1;
  seer_val most = seer_expand_2(e, "ReduceMax", bias, seer_expand_ints(e, &last, 1));
  f->blind = seer_expand_2(e, "Equal", most, seer_expand_extreme(e, f->dtype, false));
  SEER_TRY(e->resolve(e));
  if (is_never(e, f->blind)) f->blind = (seer_val){0};
  return SEER_OK;
}

// ---- the whole

// Input k as [batch, heads, tokens, d].
static seer_val split(seer_expand *e, const attention *a, uint32_t k) {
  const seer_attend_form *f = &a->form;
  if (!a->is_packed) return e->node.in[k];
  int64_t tokens = k == QUERY ? f->n : f->m - a->before;
  return seer_attend_split(e, e->node.in[k], f->batch, tokens, k == QUERY ? f->heads : f->groups,
      k == VALUE ? f->value_d : f->d);
}

static seer_val as(seer_expand *e, seer_val x, seer_dtype from, seer_dtype to) {
  return from == to ? x : seer_expand_cast(e, x, to);
}

static seer_status expand_dot_attention(seer_expand *e) {
  attention a = {0};
  seer_attend_form *f = &a.form;
  SEER_TRY(read_heads(e, &a));
  SEER_TRY(read_past(e, &a));
  SEER_TRY(read_attributes(e, &a));
  SEER_TRY(read_bias(e, &a));
  seer_val x[3];
  for (uint32_t k = QUERY; k <= VALUE; k++) {
    seer_dtype type = k == VALUE ? a.value_type : a.type;
    x[k] = split(e, &a, k);
    if (k != QUERY) {
      x[k] = seer_attend_after(
          e, a.before > 0 ? e->node.in[PAST_KEY + k - KEY] : (seer_val){0}, a.before, x[k]);
      seer_expand_output(e, PRESENT_KEY + k - KEY, x[k]);
    }
    x[k] = as(e, x[k], type, f->dtype);
  }
  seer_val y = seer_attend(e, f, x[QUERY], x[KEY], x[VALUE]);
  if (a.is_packed) y = seer_attend_joined(e, y, f->batch, f->n, f->heads, f->value_d);
  seer_expand_output(e, Y, as(e, y, f->dtype, a.type));
  int64_t mode = seer_node_attr_i(&e->node, "qk_matmul_output_mode", 0);
  if (seer_expand_wants(e, PRODUCTS))
    seer_expand_output(e, PRODUCTS, as(e, f->made[mode], f->dtype, a.type));
  return SEER_OK;
}

SEER_COMPOSITE(attention, "", "Attention", 23, SEER_OPSET_NEWEST, 3, 7, 1, 4,
    "is_causal kv_num_heads left_window_size q_num_heads qk_matmul_output_mode right_window_size "
    "scale softcap softmax_precision",
    expand_dot_attention, "all of it; values may be of another type than queries and keys")
