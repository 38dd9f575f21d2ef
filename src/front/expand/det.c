// det.c - Det: determinants of square matrices, by elimination with a pivot in each column: the
// largest element takes the first row's place, what stands beside it is subtracted from the other
// rows, and the rest is one smaller. The determinant is the pivots' product, its sign that of the
// exchanges.
#include "front/expand/expand.h"

enum { MAX_ROWS = 48 };

typedef struct {
  uint32_t rank;
  seer_dtype dtype;
  seer_val zero, one;
} det;

static seer_val part(
    seer_expand *e, const det *t, seer_val x, int64_t axis, int64_t from, int64_t to) {
  return seer_expand_slice(e, x, t->rank - 2 + axis, from, to);
}

static seer_val sum_rows(seer_expand *e, const det *t, seer_val x) {
  int64_t axis = t->rank - 2;
  return seer_expand_2(e, "ReduceSum", x, seer_expand_ints(e, &axis, 1));
}

// x [.., n, n] -> its first pivot with its sign, [.., 1, 1], and what is left, [.., n - 1, n - 1].
static void eliminate(seer_expand *e, const det *t, seer_val *x, int64_t n, seer_val *out_pivot) {
  int64_t axis = t->rank - 2;
  double number[MAX_ROWS];
  for (int64_t k = 0; k < n; k++) number[k] = (double)k;
  seer_val rows = seer_expand_tensor(e, SEER_DTYPE_I64, (int64_t[]){n, 1}, 2, number);
  seer_val column = part(e, t, *x, 1, 0, 1);
  seer_val at = seer_expand_1i(e, "ArgMax", seer_expand_1(e, "Abs", column), "axis", axis);
  seer_val is_it = seer_expand_2(e, "Equal", rows, at), first = part(e, t, *x, 0, 0, 1);
  // The pivot's row, and the first one in its place.
  seer_val row = sum_rows(e, t, seer_expand_3(e, "Where", is_it, *x, t->zero));
  seer_val rest = part(e, t, seer_expand_3(e, "Where", is_it, first, *x), 0, 1, n);
  seer_val pivot = part(e, t, row, 1, 0, 1);
  seer_val is_first = seer_expand_2(e, "Equal", at, seer_expand_scalar(e, SEER_DTYPE_I64, 0));
  *out_pivot = seer_expand_3(e, "Where", is_first, pivot, seer_expand_1(e, "Neg", pivot));
  // Of a column of zeros the product is 0, whatever else there is.
  seer_val is_none = seer_expand_2(e, "Equal", pivot, t->zero);
  seer_val divisor = seer_expand_3(e, "Where", is_none, t->one, pivot);
  seer_val factor = seer_expand_2(e, "Div", part(e, t, rest, 1, 0, 1), divisor);
  *x = seer_expand_2(e, "Sub", part(e, t, rest, 1, 1, n),
      seer_expand_2(e, "Mul", factor, part(e, t, row, 1, 1, n)));
}

static seer_status expand_det(seer_expand *e) {
  const seer_value x = *seer_expand_in(e, 0);
  SEER_TRY(seer_op_want_float(&x, 0));
  if (x.rank < 2 || x.dim[x.rank - 1] != x.dim[x.rank - 2] || x.dim[x.rank - 1] < 1)
    return SEER_FAIL(
        INVALID, "input 0 is %s, must be [..., n, n]", seer_op_shape_text(&x, e->scratch));
  int64_t n = x.dim[x.rank - 1];
  if (n > MAX_ROWS)
    return SEER_FAIL(UNSUPPORTED, "matrices of %" PRId64 " rows, at most %d", n, MAX_ROWS);
  det t = {.rank = x.rank, .dtype = x.dtype, .zero = seer_expand_number(e, 0)};
  t.one = seer_expand_number(e, 1);
  seer_val left = e->node.in[0], product = {0};
  for (int64_t k = n; k > 0; k--) {
    seer_val pivot = left;
    if (k > 1) eliminate(e, &t, &left, k, &pivot);
    product = product.i ? seer_expand_2(e, "Mul", product, pivot) : pivot;
  }
  seer_expand_output(e, 0, seer_expand_reshape(e, product, x.dim, x.rank - 2u));
  return SEER_OK;
}
SEER_COMPOSITE(det, "", "Det", 11, SEER_OPSET_NEWEST, 1, 1, 1, 1, "", expand_det, "up to 48 rows",
    .computes = true)
