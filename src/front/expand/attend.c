// attend.c - softmax(scale * q k^T + bias) v as products, sums and a Softmax.
#include "front/expand/attend.h"

#include <math.h>

static seer_val swapped(seer_expand *e, seer_val x) {
  seer_attr perm = seer_expand_ints_attr("perm", (int64_t[]){0, 2, 1, 3}, 4);
  return seer_expand_add(e, "Transpose", &x, 1, &perm, 1);
}

seer_val seer_attend_split(
    seer_expand *e, seer_val x, int64_t batch, int64_t tokens, int64_t heads, int64_t d) {
  return swapped(e, seer_expand_reshape(e, x, (int64_t[]){batch, tokens, heads, d}, 4));
}

seer_val seer_attend_joined(
    seer_expand *e, seer_val x, int64_t batch, int64_t tokens, int64_t heads, int64_t d) {
  return seer_expand_reshape(e, swapped(e, x), (int64_t[]){batch, tokens, heads * d}, 3);
}

seer_val seer_attend_after(seer_expand *e, seer_val past, int64_t before, seer_val x) {
  return before > 0 ? seer_expand_concat(e, (seer_val[]){past, x}, 2, 2) : x;
}

seer_status seer_attend_places(seer_expand *e, seer_dtype dtype, int64_t n, const int64_t *dim,
    uint32_t rank, seer_val *out_places) {
  double *at = NULL;
  SEER_TRY(seer_expand_table(e, 1, n, &at));
  for (int64_t k = 0; k < n; k++) at[k] = (double)k;
  *out_places = seer_expand_tensor(e, dtype, dim, rank, at);
  return SEER_OK;
}

seer_status seer_attend_put(seer_expand *e, seer_val cache, const int64_t *dim, uint32_t axis,
    seer_val x, int64_t n, seer_val at, seer_val *out_cache) {
  int64_t places[SEER_MAX_RANK], index[SEER_MAX_RANK], rows = n;
  double *table = NULL;
  SEER_TRY(e->resolve(e));
  for (uint32_t d = 0; d <= axis; d++) places[d] = index[d] = d < axis ? dim[d] : n;
  for (uint32_t d = 0; d < axis; d++) rows *= dim[d];
  index[axis + 1] = axis;
  SEER_TRY(seer_expand_table(e, rows, axis, &table));
  for (int64_t k = 0; k < rows; k++) {
    int64_t rest = k / n;
    for (uint32_t d = axis; d-- > 0; rest /= dim[d]) table[k * axis + d] = (double)(rest % dim[d]);
  }
  const seer_value *which = seer_graph_value(e->graph, at);
  int64_t each[SEER_MAX_RANK];
  for (uint32_t d = 0; d < axis; d++) each[d] = d == 0 ? which->dim[0] : 1;
  each[axis] = n;
  each[axis + 1] = places[axis + 1] = 1;
  at = seer_expand_reshape(e, at, each, axis + 2);
  at = seer_expand_2(e, "Expand", at, seer_expand_ints(e, places, axis + 2));
  seer_val part[2] = {seer_expand_tensor(e, SEER_DTYPE_I64, index, axis + 2, table), at};
  *out_cache = seer_expand_3(e, "ScatterND", cache, seer_expand_concat(e, part, 2, axis + 1), x);
  return SEER_OK;
}

double seer_attend_scale(const seer_expand *e, int64_t d) {
  double scale = seer_node_attr_f(&e->node, "scale", 0);
  return scale > 0 ? scale : 1 / sqrt((double)d);
}

static seer_val times(seer_expand *e, const seer_attend_form *form, seer_val x, double factor) {
  return seer_expand_2(e, "Mul", x, seer_expand_scalar(e, form->dtype, factor));
}

// [batch, heads, n, width] as [batch, groups, heads / groups * n, width] and back: heads of one
// group are further rows of one product.
static seer_val grouped(seer_expand *e, const seer_attend_form *form, seer_val x, int64_t width) {
  if (form->heads == form->groups) return x;
  const int64_t dim[4] = {form->batch, form->groups, form->heads / form->groups * form->n, width};
  return seer_expand_reshape(e, x, dim, 4);
}

static seer_val ungrouped(seer_expand *e, const seer_attend_form *form, seer_val x, int64_t width) {
  if (form->heads == form->groups) return x;
  return seer_expand_reshape(e, x, (int64_t[]){form->batch, form->heads, form->n, width}, 4);
}

// p, of softmax over the scores, as it were with one more score: exp(sink) in the sum. What is left
// to the others is 1 / (1 + exp(sink - log(sum))).
static seer_val with_sink(
    seer_expand *e, const seer_attend_form *form, seer_val scores, seer_val p) {
  const int64_t last = -1;
  seer_val sum = seer_expand_2(e, "ReduceLogSumExp", scores, seer_expand_ints(e, &last, 1));
  return seer_expand_2(
      e, "Mul", p, seer_expand_1(e, "Sigmoid", seer_expand_2(e, "Sub", sum, form->sink)));
}

static seer_val shares(seer_expand *e, const seer_attend_form *form, seer_val scores) {
  bool is_rounded = form->softmax != SEER_DTYPE_NONE && form->softmax != form->dtype;
  if (is_rounded) scores = seer_expand_cast(e, scores, form->softmax);
  seer_val p = seer_expand_1i(e, "Softmax", scores, "axis", -1);
  if (form->sink.i) p = with_sink(e, form, scores, p);
  if (is_rounded) p = seer_expand_cast(e, p, form->dtype);
  if (!form->blind.i) return p;
  return seer_expand_3(e, "Where", form->blind, seer_expand_scalar(e, form->dtype, 0), p);
}

seer_val seer_attend(seer_expand *e, seer_attend_form *form, seer_val q, seer_val k, seer_val v) {
  seer_val *made = form->made;
  seer_val rows = grouped(e, form, q, form->d);
  seer_val scores = seer_expand_2(e, "MatMul", rows, seer_expand_turned(e, k, 4));
  scores = ungrouped(e, form, times(e, form, scores, form->scale), form->m);
  made[SEER_ATTEND_SCALED] = scores;
  if (form->cap > 0) {
    scores = seer_expand_1(e, "Tanh", times(e, form, scores, 1 / form->cap));
    scores = times(e, form, scores, form->cap);
  }
  made[SEER_ATTEND_CAPPED] = scores;
  for (uint32_t i = 0; i < SEER_ATTEND_MAX_BIAS; i++)
    if (form->bias[i].i) scores = seer_expand_2(e, "Add", scores, form->bias[i]);
  if (form->hidden.i)
    scores =
        seer_expand_3(e, "Where", form->hidden, seer_expand_extreme(e, form->dtype, false), scores);
  made[SEER_ATTEND_BIASED] = scores;
  made[SEER_ATTEND_SHARES] = shares(e, form, scores);
  seer_val p = grouped(e, form, made[SEER_ATTEND_SHARES], form->m);
  return ungrouped(e, form, seer_expand_2(e, "MatMul", p, v), form->value_d);
}
