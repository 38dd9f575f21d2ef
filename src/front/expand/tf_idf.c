// tf_idf.c - TfIdfVectorizer: how often each n-gram of a pool occurs in a row of tokens, its tokens
// next to each other or some apart. For each length and distance all n-grams are compared with all
// places of a row at once ([rows, n-grams, places]) and counted.
#include <string.h>

#include "front/expand/expand.h"

enum { MAX_PASSES = 1024, MAX_ROUNDS = 64 };

typedef struct {
  int64_t n_row, n_col;  // of X
  uint32_t rank;
  int64_t min, max, max_distance;
  size_t n_gram;  // in the pool
  int64_t n_out;  // columns of the result
  const int64_t *column;  // of n-gram k
  const seer_attr *pool, *counts;
} vectorizer;

static seer_status want_ints(const seer_expand *e, const char *name, const seer_attr **out_attr) {
  *out_attr = seer_node_attr_ints(&e->node, name);
  if (*out_attr && (*out_attr)->n > 0) return SEER_OK;
  return SEER_FAIL(INVALID, "attribute '%s' must be a list of integers", name);
}

static seer_status read_vectorizer(const seer_expand *e, vectorizer *v) {
  const seer_value *x = seer_expand_in(e, 0);
  const seer_attr *indexes;
  if (seer_node_attr(&e->node, "pool_strings"))
    return SEER_FAIL(UNSUPPORTED, "attribute 'pool_strings': strings are not supported");
  if (x->dtype != SEER_DTYPE_I32 && x->dtype != SEER_DTYPE_I64)
    return SEER_FAIL(INVALID, "input 0 is %s, must be i32 or i64", seer_dtype_name(x->dtype));
  if (x->rank < 1 || x->rank > 2)
    return SEER_FAIL(INVALID, "input 0 has rank %u, must have 1 or 2", x->rank);
  SEER_TRY(want_ints(e, "pool_int64s", &v->pool));
  SEER_TRY(want_ints(e, "ngram_counts", &v->counts));
  SEER_TRY(want_ints(e, "ngram_indexes", &indexes));
  v->rank = x->rank;
  v->n_row = x->rank == 2 ? x->dim[0] : 1;
  v->n_col = x->dim[x->rank - 1];
  v->min = seer_node_attr_i(&e->node, "min_gram_length", 1);
  v->max = seer_node_attr_i(&e->node, "max_gram_length", 1);
  int64_t skip = seer_node_attr_i(&e->node, "max_skip_count", 0);
  v->max_distance = seer_min_i64(skip, v->n_col) + 1;  // no n-gram reaches farther
  if (v->min < 1 || v->max < v->min || skip < 0)
    return SEER_FAIL(INVALID,
        "min_gram_length %" PRId64 ", max_gram_length %" PRId64 ", max_skip_count %" PRId64, v->min,
        v->max, skip);
  // The pool: all n-grams of length 1, then of length 2, ...; counts says where each begins.
  int64_t before = 0;
  v->n_gram = 0;
  for (size_t k = 0; k < v->counts->n; k++) {
    int64_t begin = v->counts->ints[k],
            end = k + 1 < v->counts->n ? v->counts->ints[k + 1] : (int64_t)v->pool->n,
            length = (int64_t)k + 1;
    if (begin != before || end < begin || end > (int64_t)v->pool->n || (end - begin) % length != 0)
      return SEER_FAIL(INVALID,
          "attribute 'ngram_counts': n-grams of length %" PRId64 " are %" PRId64 " to %" PRId64
          " of %zu numbers",
          length, begin, end, v->pool->n);
    v->n_gram += (size_t)((end - begin) / length);
    before = end;
  }
  if (v->n_gram != indexes->n)
    return SEER_FAIL(
        INVALID, "attribute 'ngram_indexes' has %zu entries, must have %zu", indexes->n, v->n_gram);
  v->column = indexes->ints;
  v->n_out = 0;
  for (size_t k = 0; k < v->n_gram; k++) {
    if (v->column[k] < 0 || v->column[k] >= 1 << 24)
      return SEER_FAIL(INVALID, "attribute 'ngram_indexes' has %" PRId64, v->column[k]);
    if (v->column[k] >= v->n_out) v->n_out = v->column[k] + 1;
  }
  return SEER_OK;
}

// Counts [rows, n] of the n n-grams of `length` tokens at `gram`, whose tokens are `distance`
// apart.
static seer_status count_at(seer_expand *e, const vectorizer *v, seer_val x, const int64_t *gram,
    int64_t n, int64_t length, int64_t distance, seer_val *out_counts) {
  int64_t n_place = v->n_col - (length - 1) * distance, of_gram[3] = {1, n, 1},
          of_row[3] = {v->n_row, 1, n_place}, last = 2;
  seer_val all = {0};
  for (int64_t t = 0; t < length; t++) {
    int64_t *exact = SEER_NEW_ARRAY(e->scratch, int64_t, n);
    for (int64_t k = 0; k < n; k++) exact[k] = gram[k * length + t];
    seer_val wanted = seer_expand_reshape(e, seer_expand_ints(e, exact, (uint32_t)n), of_gram, 3);
    seer_val there = seer_expand_slice(e, x, 1, t * distance, t * distance + n_place);
    seer_val same = seer_expand_2(e, "Equal", seer_expand_reshape(e, there, of_row, 3), wanted);
    all = t == 0 ? same : seer_expand_2(e, "And", all, same);
  }
  *out_counts = seer_expand_2i(e, "ReduceSum", seer_expand_cast(e, all, SEER_DTYPE_F32),
      seer_expand_ints(e, &last, 1), "keepdims", 0);
  return SEER_OK;
}

// Counts [rows, n] of the n-grams of one length, over all distances.
static seer_status count_length(seer_expand *e, const vectorizer *v, seer_val x,
    const int64_t *gram, int64_t n, int64_t length, seer_val *out_counts) {
  bool is_wanted = length >= v->min && length <= v->max;
  int64_t most = length == 1 ? 1 : v->max_distance;  // a single token has no distance
  *out_counts = (seer_val){0};
  for (int64_t d = 1; is_wanted && d <= most && (length - 1) * d < v->n_col; d++) {
    seer_val one;
    if (d * length > MAX_PASSES)
      return SEER_FAIL(UNSUPPORTED, "n-grams of %" PRId64 " tokens %" PRId64 " apart", length, d);
    SEER_TRY(count_at(e, v, x, gram, n, length, d, &one));
    *out_counts = d == 1 ? one : seer_expand_2(e, "Add", *out_counts, one);
  }
  if (out_counts->i) return SEER_OK;
  double *none;
  SEER_TRY(seer_expand_table(e, v->n_row, n, &none));
  *out_counts = seer_expand_tensor(e, SEER_DTYPE_F32, (int64_t[]){v->n_row, n}, 2, none);
  return SEER_OK;
}

// [rows, n-grams and a zero] -> [rows, columns]: each round takes one n-gram of every column.
static seer_status to_columns(
    seer_expand *e, const vectorizer *v, seer_val counts, seer_val *out_columns) {
  bool *is_taken = SEER_NEW_ARRAY(e->scratch, bool, v->n_gram);
  size_t n_left = v->n_gram;
  for (uint32_t round = 0; n_left > 0; round++) {
    double *from;
    if (round == MAX_ROUNDS)
      return SEER_FAIL(UNSUPPORTED, "more than %d n-grams in one column", MAX_ROUNDS);
    SEER_TRY(seer_expand_table(e, v->n_out, 1, &from));
    for (int64_t c = 0; c < v->n_out; c++) from[c] = (double)v->n_gram;  // the zero
    for (size_t k = 0; k < v->n_gram; k++) {
      double *mine = &from[v->column[k]];
      if (is_taken[k] || *mine < (double)v->n_gram) continue;
      *mine = (double)k;
      is_taken[k] = true;
      n_left--;
    }
    seer_val index = seer_expand_tensor(e, SEER_DTYPE_I64, &v->n_out, 1, from);
    seer_val one = seer_expand_2i(e, "Gather", counts, index, "axis", 1);
    *out_columns = round == 0 ? one : seer_expand_2(e, "Add", *out_columns, one);
  }
  return SEER_OK;
}

// Weight k is n-gram k's, as the specification and ONNX Runtime 1.32 have it; ONNX Runtime 1.20 and
// ONNX's own implementation take it for column k's.
static seer_status read_weights(const seer_expand *e, const vectorizer *v, double *out_weight) {
  const seer_attr *weights = seer_node_attr(&e->node, "weights");
  if (weights && (weights->kind != SEER_ATTR_FLOATS || weights->n != v->n_gram))
    return SEER_FAIL(INVALID, "attribute 'weights' must be a list of %zu floats", v->n_gram);
  for (size_t k = 0; k < v->n_gram; k++) out_weight[k] = weights ? weights->floats[k] : 1;
  return SEER_OK;
}

// A column's weight where anything of it was found. Which of several found last would decide
// between them, so those of one column must be equal.
static seer_status weigh_found(
    seer_expand *e, const vectorizer *v, const double *weight, seer_val *columns) {
  double *of_column;
  SEER_TRY(seer_expand_table(e, v->n_out, 1, &of_column));
  bool *is_set = SEER_NEW_ARRAY(e->scratch, bool, v->n_out);
  for (size_t k = 0; k < v->n_gram; k++) {
    int64_t c = v->column[k];
    if (is_set[c] && of_column[c] != weight[k])
      return SEER_FAIL(UNSUPPORTED,
          "mode IDF with weights %g and %g in column %" PRId64 ", must be equal there",
          of_column[c], weight[k], c);
    of_column[c] = weight[k];
    is_set[c] = true;
  }
  seer_val w = seer_expand_tensor(e, SEER_DTYPE_F32, &v->n_out, 1, of_column),
           zero = seer_expand_scalar(e, SEER_DTYPE_F32, 0);
  *columns = seer_expand_3(e, "Where", seer_expand_2(e, "Greater", *columns, zero), w, zero);
  return SEER_OK;
}

// [rows, n-grams and a zero] -> [rows, columns], as `mode` says.
static seer_status weigh(seer_expand *e, const vectorizer *v, seer_val counts, seer_val *out) {
  const char *mode = seer_node_attr_s(&e->node, "mode", "");
  bool is_idf = strcmp(mode, "IDF") == 0, is_both = strcmp(mode, "TFIDF") == 0;
  if (!is_idf && !is_both && strcmp(mode, "TF") != 0)
    return SEER_FAIL(INVALID, "attribute 'mode' is '%s', must be TF, IDF or TFIDF", mode);
  double *weight;
  int64_t n = (int64_t)v->n_gram + 1;
  SEER_TRY(seer_expand_table(e, n, 1, &weight));
  SEER_TRY(read_weights(e, v, weight));
  if (is_both)
    counts = seer_expand_2(e, "Mul", counts, seer_expand_tensor(e, SEER_DTYPE_F32, &n, 1, weight));
  SEER_TRY(to_columns(e, v, counts, out));
  return is_idf ? weigh_found(e, v, weight, out) : SEER_OK;
}

static seer_status expand_tf_idf(seer_expand *e) {
  vectorizer v;
  SEER_TRY(read_vectorizer(e, &v));
  seer_val x = seer_expand_cast(e, e->node.in[0], SEER_DTYPE_I64), counts, columns = {0};
  x = seer_expand_reshape(e, x, (int64_t[]){v.n_row, v.n_col}, 2);
  seer_val *part = SEER_NEW_ARRAY(e->scratch, seer_val, v.counts->n + 1);
  uint32_t n_part = 0;
  for (size_t k = 0; k < v.counts->n; k++) {
    int64_t begin = v.counts->ints[k], length = (int64_t)k + 1,
            end = k + 1 < v.counts->n ? v.counts->ints[k + 1] : (int64_t)v.pool->n;
    if (end == begin) continue;
    SEER_TRY(count_length(
        e, &v, x, v.pool->ints + begin, (end - begin) / length, length, &part[n_part++]));
  }
  double *none;
  SEER_TRY(seer_expand_table(e, v.n_row, 1, &none));
  part[n_part++] = seer_expand_tensor(e, SEER_DTYPE_F32, (int64_t[]){v.n_row, 1}, 2, none);
  counts = seer_expand_concat(e, part, n_part, 1);
  SEER_TRY(weigh(e, &v, counts, &columns));
  if (v.rank == 1) columns = seer_expand_reshape(e, columns, &v.n_out, 1);
  seer_expand_output(e, 0, columns);
  return SEER_OK;
}

SEER_COMPOSITE(tf_idf, "", "TfIdfVectorizer", 9, SEER_OPSET_NEWEST, 1, 1, 1, 1,
    "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s "
    "pool_strings weights",
    expand_tf_idf, "integers")
