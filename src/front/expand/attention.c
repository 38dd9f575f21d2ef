// attention.c - attention of com.microsoft, with what earlier tokens left (past) and every form of
// mask that says which keys count, and the embeddings that networks with it begin with.
// Scores are [batch, heads, n, m]: n queries, m keys with the past ones. Keys that do not count get
// a large negative number added, as ONNX Runtime does.
#include <string.h>

#include "dag/scalar.h"
#include "front/expand/attend.h"

// What is added to the scores, by where it comes from.
enum { BIAS, FUTURE, MASK };

// Tokens behind a query's own: the queries are the last of the keys' tokens. What hides a token is
// below any score, as in ONNX Runtime: -10000, its value for masks, is not.
static seer_status hide_future(seer_expand *e, seer_attend_form *form) {
  const double below_all = seer_scalar_lowest(SEER_DTYPE_F32).f;
  double *hide = NULL;
  SEER_TRY(seer_expand_table(e, form->n, form->m, &hide));
  for (int64_t i = 0; i < form->n; i++)
    for (int64_t j = seer_max_i64(0, form->m - form->n + i + 1); j < form->m; j++)
      hide[i * form->m + j] = below_all;
  const int64_t dim[4] = {1, 1, form->n, form->m};
  form->bias[FUTURE] = seer_expand_tensor(e, form->dtype, dim, 4, hide);
  return SEER_OK;
}

// qkv: [batch, heads, n or m, d or value_d] -> [batch, n, heads * value_d].
static seer_status attend(
    seer_expand *e, seer_attend_form *form, const seer_val *qkv, seer_val *out_y) {
  form->groups = form->heads;
  form->dtype = seer_expand_in(e, 0)->dtype;
  form->scale = seer_attend_scale(e, form->d);
  if (seer_node_attr_i(&e->node, "unidirectional", 0) != 0) SEER_TRY(hide_future(e, form));
  seer_val y = seer_attend(e, form, qkv[0], qkv[1], qkv[2]);
  *out_y = seer_attend_joined(e, y, form->batch, form->n, form->heads, form->value_d);
  return SEER_OK;
}

// Input k, if it is there, as what is added to the scores. [batch, m] and [batch, n, m]: keys above
// 0 count; [batch] and [2 * batch]: those in front of an end, and from a start (second half) on.
static seer_status read_mask(seer_expand *e, uint32_t k, seer_attend_form *s) {
  if (!seer_expand_has_in(e, k)) return SEER_OK;
  const seer_value *mask = seer_expand_in(e, k);
  seer_dtype dtype = mask->dtype;
  int64_t batch = s->batch;
  seer_val counts, x = e->node.in[k];
  bool is_int = dtype == SEER_DTYPE_I32 || dtype == SEER_DTYPE_I64;
  bool is_ends = mask->rank == 1 && (mask->dim[0] == batch || mask->dim[0] == 2 * batch);
  bool is_keys = mask->rank == 2 && mask->dim[0] == batch && mask->dim[1] == s->m;
  bool is_full =
      mask->rank == 3 && mask->dim[0] == batch && mask->dim[1] == s->n && mask->dim[2] == s->m;
  if (!is_int || !(is_ends || is_keys || is_full))
    return SEER_FAIL(UNSUPPORTED,
        "input %u is %s%s, a mask must be i32 [%" PRId64 ",%" PRId64 "], [%" PRId64 ",%" PRId64
        ",%" PRId64 "], [%" PRId64 "] or [%" PRId64 "]",
        k, seer_dtype_name(dtype), seer_op_shape_text(mask, e->scratch), batch, s->m, batch, s->n,
        s->m, batch, 2 * batch);
  if (is_ends) {
    const int64_t dim[4] = {batch, 1, 1, 1};
    bool has_starts = mask->dim[0] == 2 * batch;
    seer_val at, end = has_starts ? seer_expand_slice(e, x, 0, 0, batch) : x;
    SEER_TRY(seer_attend_places(e, dtype, s->m, (int64_t[]){1, 1, 1, s->m}, 4, &at));
    counts = seer_expand_2(e, "Less", at, seer_expand_reshape(e, end, dim, 4));
    if (has_starts) {
      seer_val start = seer_expand_slice(e, x, 0, batch, 2 * batch);
      start = seer_expand_reshape(e, start, dim, 4);
      counts = seer_expand_2(e, "And", counts, seer_expand_2(e, "GreaterOrEqual", at, start));
    }
  } else {
    const int64_t dim[4] = {batch, 1, is_full ? s->n : 1, s->m};
    counts = seer_expand_2(e, "Greater", x, seer_expand_scalar(e, dtype, 0));
    counts = seer_expand_reshape(e, counts, dim, 4);
  }
  counts = seer_expand_cast(e, counts, seer_expand_in(e, 0)->dtype);
  s->bias[MASK] = seer_expand_times(e, seer_expand_2(e, "Sub", seer_expand_number(e, 1), counts),
      seer_node_attr_f(&e->node, "mask_filter_value", -10000));
  return SEER_OK;
}

// Input k, if it is there, is added to the scores as it is.
static seer_status read_bias(seer_expand *e, uint32_t k, seer_attend_form *s) {
  if (!seer_expand_has_in(e, k)) return SEER_OK;
  const seer_value *bias = seer_expand_in(e, k);
  bool fits = bias->rank == 4 && (bias->dim[0] == 1 || bias->dim[0] == s->batch) &&
      (bias->dim[1] == 1 || bias->dim[1] == s->heads) && bias->dim[2] == s->n &&
      bias->dim[3] == s->m;
  if (!fits)
    return SEER_FAIL(INVALID,
        "input %u is %s, must be [%" PRId64 " or 1,%" PRId64 " or 1,%" PRId64 ",%" PRId64 "]", k,
        seer_op_shape_text(bias, e->scratch), s->batch, s->heads, s->n, s->m);
  s->bias[BIAS] = e->node.in[k];
  return SEER_OK;
}

static seer_status want_absent(const seer_expand *e, uint32_t k, const char *what) {
  if (!seer_expand_has_in(e, k)) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED, "input %u (%s) is given", k, what);
}

// Widths of query, key and value: a third each, unless the attribute says otherwise.
static seer_status read_widths(
    const seer_expand *e, int64_t all, int64_t heads, int64_t *out_width) {
  const seer_attr *attr = seer_node_attr(&e->node, "qkv_hidden_sizes");
  for (uint32_t k = 0; k < 3; k++) out_width[k] = all / 3;
  bool fits = !attr || (attr->kind == SEER_ATTR_INTS && attr->n == 3);
  for (uint32_t k = 0; attr && fits && k < 3; k++) out_width[k] = attr->ints[k];
  int64_t sum = 0;
  for (uint32_t k = 0; k < 3 && fits; k++) {
    fits = out_width[k] > 0 && out_width[k] <= all && out_width[k] % heads == 0;
    sum += out_width[k];
  }
  if (fits && sum == all && out_width[0] == out_width[1]) return SEER_OK;
  return SEER_FAIL(INVALID,
      "%" PRId64 " columns of weights are no query, key and value of %" PRId64
      " heads (attribute 'qkv_hidden_sizes' has %zu entries)",
      all, heads, attr ? (size_t)attr->n : 0);
}

// Keys and values with those of input 4, past [2, batch, heads, before, d], in front; output 1 is
// the same for the next tokens.
static seer_status with_past(seer_expand *e, seer_attend_form *s, seer_val *kv) {
  int64_t before = 0;
  if (seer_expand_has_in(e, 4)) {
    const seer_value *past = seer_expand_in(e, 4);
    before = past->rank == 5 ? past->dim[3] : 0;
    bool fits = past->rank == 5 && past->dim[0] == 2 && past->dim[1] == s->batch &&
        past->dim[2] == s->heads && past->dim[4] == s->d && s->d == s->value_d;
    if (!fits)
      return SEER_FAIL(INVALID,
          "input 4 is %s, must be [2,%" PRId64 ",%" PRId64 ",tokens,%" PRId64 "]",
          seer_op_shape_text(past, e->scratch), s->batch, s->heads, s->d);
  }
  s->m += before;
  const int64_t old[4] = {s->batch, s->heads, before, s->d};
  const int64_t one[5] = {1, s->batch, s->heads, s->m, s->d};
  seer_val present[2];
  for (int64_t k = 0; k < 2; k++) {
    if (before > 0) {
      seer_val past = seer_expand_slice(e, e->node.in[4], 0, k, k + 1);
      kv[k] = seer_attend_after(e, seer_expand_reshape(e, past, old, 4), before, kv[k]);
    }
  }
  if (!seer_expand_wants(e, 1)) return SEER_OK;
  if (s->d != s->value_d)
    return SEER_FAIL(INVALID,
        "output 1 needs keys and values of one width, not %" PRId64 " and %" PRId64, s->d,
        s->value_d);
  for (uint32_t k = 0; k < 2; k++) present[k] = seer_expand_reshape(e, kv[k], one, 5);
  seer_expand_output(e, 1, seer_expand_concat(e, present, 2, 0));
  return SEER_OK;
}

static seer_status expand_attention(seer_expand *e) {
  const seer_value *x = seer_expand_in(e, 0), *w = seer_expand_in(e, 1);
  int64_t heads = seer_node_attr_i(&e->node, "num_heads", 0), width[3], at = 0;
  SEER_TRY(want_absent(e, 6, "past_sequence_length"));
  if (seer_node_attr_i(&e->node, "do_rotary", 0) ||
      seer_node_attr_i(&e->node, "past_present_share_buffer", 0))
    return SEER_FAIL(UNSUPPORTED, "attribute 'do_rotary' or 'past_present_share_buffer' is 1");
  if (x->rank != 3 || w->rank != 2 || heads < 1)
    return SEER_FAIL(INVALID, "inputs 0 and 1 are %s and %s, with %" PRId64 " heads",
        seer_op_shape_text(x, e->scratch), seer_op_shape_text(w, e->scratch), heads);
  SEER_TRY(read_widths(e, w->dim[1], heads, width));
  seer_attend_form s = {.batch = x->dim[0],
      .heads = heads,
      .n = x->dim[1],
      .m = x->dim[1],
      .d = width[0] / heads,
      .value_d = width[2] / heads};
  seer_val all = seer_expand_2(e, "MatMul", e->node.in[0], e->node.in[1]), qkv[3], y;
  all = seer_expand_biased(e, all, 2);
  for (uint32_t k = 0; k < 3; k++) {
    seer_val part = seer_expand_slice(e, all, 2, at, at + width[k]);
    qkv[k] = seer_attend_split(e, part, s.batch, s.n, heads, width[k] / heads);
    at += width[k];
  }
  SEER_TRY(with_past(e, &s, qkv + 1));
  SEER_TRY(read_mask(e, 3, &s));
  SEER_TRY(read_bias(e, 5, &s));
  SEER_TRY(attend(e, &s, qkv, &y));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
SEER_CONTRIB(attention, "Attention", 2, 7, 2,
    "num_heads unidirectional scale mask_filter_value qkv_hidden_sizes do_rotary "
    "past_present_share_buffer rotary_embedding_dim",
    "no rotary embedding, no buffer that past and present share, no mask of rank 4",
    .computes = true)

// Input k (key or value) as [batch, heads, tokens, d]: given so, or as [batch, tokens, hidden] with
// its part of the bias (input 3), which begins at `from`, to be added.
static seer_status read_part(
    seer_expand *e, uint32_t k, int64_t heads, int64_t from, int64_t *out_dim, seer_val *out_x) {
  const seer_value *value = seer_expand_has_in(e, k) ? seer_expand_in(e, k) : NULL;
  bool is_split = value && k > 0 && value->rank == 4 && value->dim[1] == heads;
  if (!value || !(is_split || (value->rank == 3 && value->dim[2] % heads == 0)))
    return SEER_FAIL(UNSUPPORTED,
        "input %u is %s: query, key and value must be given apart, as [batch, tokens, hidden] with "
        "a multiple of %" PRId64 " heads; key and value may be [batch,%" PRId64 ", tokens, d]",
        k, value ? seer_op_shape_text(value, e->scratch) : "absent", heads, heads);
  *out_x = e->node.in[k];
  if (is_split) {
    memcpy(out_dim, value->dim, 4 * sizeof *out_dim);
    if (seer_expand_has_in(e, 3))
      return SEER_FAIL(UNSUPPORTED, "a bias (input 3) with input %u of rank 4", k);
    return SEER_OK;
  }
  const int64_t dim[4] = {value->dim[0], heads, value->dim[1], value->dim[2] / heads};
  int64_t hidden = value->dim[2];
  memcpy(out_dim, dim, sizeof dim);
  if (seer_expand_has_in(e, 3)) {
    seer_val bias = seer_expand_slice(e, e->node.in[3], 0, from, from + hidden);
    *out_x = seer_expand_2(e, "Add", *out_x, bias);
  }
  *out_x = seer_attend_split(e, *out_x, dim[0], dim[2], heads, dim[3]);
  return SEER_OK;
}

static seer_status expand_multi_head_attention(seer_expand *e) {
  int64_t heads = seer_node_attr_i(&e->node, "num_heads", 0), dim[3][4], at = 0, before = 0;
  seer_val qkv[3], y;
  SEER_TRY(want_absent(e, 8, "past_sequence_length"));
  SEER_TRY(want_absent(e, 9, "cache_indirection"));
  if (heads < 1) return SEER_FAIL(INVALID, "attribute 'num_heads' is %" PRId64, heads);
  for (uint32_t k = 0; k < 3; k++) {
    SEER_TRY(read_part(e, k, heads, at, dim[k], &qkv[k]));
    at += heads * dim[k][3];
  }
  for (uint32_t k = 1; k < 3; k++) {  // past_key, past_value [batch, heads, before, d]
    if (!seer_expand_has_in(e, 5 + k)) continue;
    const seer_value *past = seer_expand_in(e, 5 + k);
    bool fits = past->rank == 4 && past->dim[0] == dim[k][0] && past->dim[1] == heads &&
        past->dim[3] == dim[k][3] && (k == 1 || past->dim[2] == before);
    if (!fits || !seer_expand_has_in(e, 6))
      return SEER_FAIL(INVALID,
          "input %u is %s, must be [%" PRId64 ",%" PRId64 ",tokens,%" PRId64
          "] as the other of "
          "past key and value",
          5 + k, seer_op_shape_text(past, e->scratch), dim[k][0], heads, dim[k][3]);
    before = past->dim[2];
    qkv[k] = seer_attend_after(e, e->node.in[5 + k], before, qkv[k]);
  }
  if (before > 0 && !seer_expand_has_in(e, 7))
    return SEER_FAIL(INVALID, "past keys (input 6) without past values (input 7)");
  seer_attend_form s = {.batch = dim[0][0],
      .heads = heads,
      .n = dim[0][2],
      .m = dim[1][2] + before,
      .d = dim[0][3],
      .value_d = dim[2][3]};
  SEER_TRY(read_mask(e, 4, &s));
  SEER_TRY(read_bias(e, 5, &s));
  SEER_TRY(attend(e, &s, qkv, &y));
  seer_expand_output(e, 0, y);
  seer_expand_output(e, 1, qkv[1]);
  seer_expand_output(e, 2, qkv[2]);
  return SEER_OK;
}
SEER_CONTRIB(multi_head_attention, "MultiHeadAttention", 1, 10, 3,
    "num_heads scale mask_filter_value unidirectional",
    "query, key and value apart; no buffers that past and present share", .computes = true)

// Rows of three tables (words, positions, segments) added up and normalised.
static seer_status expand_embed_layer_norm(seer_expand *e) {
  SEER_TRY(seer_expand_needs(e, 2, 4));
  SEER_TRY(seer_expand_needs(e, 5, 7));
  const seer_value *ids = seer_expand_in(e, 0), *table = seer_expand_in(e, 3);
  if (ids->rank != 2 || table->rank != 2 || table->dim[0] < ids->dim[1])
    return SEER_FAIL(INVALID,
        "inputs 0 and 3 are %s and %s, must be [batch, tokens] and [at least "
        "as many positions, hidden]",
        seer_op_shape_text(ids, e->scratch), seer_op_shape_text(table, e->scratch));
  int64_t batch = ids->dim[0], n = ids->dim[1];
  const seer_val *in = e->node.in;
  seer_val sum = seer_expand_2(e, "Gather", in[2], in[0]);
  seer_val place = seer_expand_has_in(e, 8) ? seer_expand_2(e, "Gather", in[3], in[8])
                                            : seer_expand_slice(e, in[3], 0, 0, n);
  sum = seer_expand_2(e, "Add", sum, place);
  if (seer_expand_has_in(e, 1) != seer_expand_has_in(e, 4))
    return SEER_FAIL(INVALID, "inputs 1 and 4 (segments and their table) go together");
  if (seer_expand_has_in(e, 1))
    sum = seer_expand_2(e, "Add", sum, seer_expand_2(e, "Gather", in[4], in[1]));
  seer_attr attr[2] = {seer_expand_int("axis", -1),
      {.name = "epsilon",
          .kind = SEER_ATTR_FLOAT,
          .f = seer_node_attr_f(&e->node, "epsilon", 1e-12)}};
  seer_val norm[3] = {sum, in[5], in[6]};
  seer_expand_output(e, 0, seer_expand_add(e, "LayerNormalization", norm, 3, attr, 2));
  if (seer_expand_wants(e, 1)) {  // how many tokens count, for Attention's mask
    double *none = NULL;
    seer_val count;
    if (seer_expand_has_in(e, 7)) {
      const int64_t last = 1;
      seer_val counts = seer_expand_2(e, "Equal", in[7], seer_expand_scalar(e, SEER_DTYPE_I32, 1));
      counts = seer_expand_cast(e, counts, SEER_DTYPE_I32);
      count = seer_expand_2i(e, "ReduceSum", counts, seer_expand_ints(e, &last, 1), "keepdims", 0);
    } else {
      SEER_TRY(seer_expand_table(e, 1, batch, &none));
      count = seer_expand_tensor(e, SEER_DTYPE_I32, &batch, 1, none);
    }
    seer_expand_output_as_is(e, 1, count);
  }
  seer_expand_output(e, 2, sum);
  return SEER_OK;
}
SEER_CONTRIB(embed_layer_norm, "EmbedLayerNormalization", 1, 9, 3, "epsilon mask_index_type", "",
    .computes = true)
