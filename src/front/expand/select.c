// select.c - operators that pick as many elements as data says: NonZero, NonMaxSuppression, Unique,
// Compress, Range. What must be searched for is a host operator (op/host.c); the rest is
// computed at its bound and told its size.
#include <math.h>
#include <string.h>

#include "front/expand/extent.h"
#include "front/sized.h"

#define SELECT(id, onnx, from, in_min, in_max, out_max, attributes, text)                       \
  SEER_COMPOSITE(id, "", onnx, from, SEER_OPSET_NEWEST, in_min, in_max, 1, out_max, attributes, \
      expand_##id, text, .expands_sized = true)

// ---- NonZero

static seer_val non_zero(seer_expand *e, seer_val x) {
  seer_val out[2];
  seer_expand_inner(e, "NonZero", &x, 1, NULL, 0, out, 2);
  return out[0];
}

seer_status seer_expand_non_zero(seer_expand *e) {
  if (seer_expand_in(e, 0)->rank == 0) return SEER_FAIL(UNSUPPORTED, "input 0 is a scalar");
  if (seer_op_elems(seer_expand_in(e, 0)) == 0)
    return SEER_FAIL(UNSUPPORTED, "input 0 has no elements");
  seer_expand_output(e, 0, non_zero(e, e->node.in[0]));
  return SEER_OK;
}

// ---- NonMaxSuppression

static seer_status expand_non_max_suppression(seer_expand *e) {
  seer_val in[5] = {{0}}, out[2];
  for (uint32_t k = 0; k < 5 && k < e->node.n_in; k++) in[k] = e->node.in[k];
  for (uint32_t k = 0; k < 2; k++)
    if (seer_op_elems(seer_expand_in(e, k)) == 0)
      return SEER_FAIL(UNSUPPORTED, "input %u has no elements", k);
  int64_t is_center = seer_node_attr_i(&e->node, "center_point_box", 0);
  if (is_center != 0 && is_center != 1)
    return SEER_FAIL(
        INVALID, "attribute 'center_point_box' is %" PRId64 ", must be 0 or 1", is_center);
  seer_attr attr = seer_expand_int("center_point_box", is_center);
  seer_expand_inner(e, "NonMaxSuppression", in, 5, &attr, 1, out, 2);
  seer_expand_output(e, 0, out[0]);
  return SEER_OK;
}
SELECT(non_max_suppression, "NonMaxSuppression", 10, 2, 5, 1, "center_point_box",
    "runs on the host; f32")

// ---- Unique

static seer_status expand_unique(seer_expand *e) {
  const seer_value *x = seer_expand_in(e, 0);
  const seer_attr *given = seer_node_attr(&e->node, "axis");
  int64_t is_sorted = seer_node_attr_i(&e->node, "sorted", 1);
  uint32_t axis = 0;
  seer_val out[5], one = e->node.in[0];
  if (given) SEER_TRY(seer_op_axis(given->i, x->rank, "attribute 'axis'", &axis));
  if (is_sorted != 0 && is_sorted != 1)
    return SEER_FAIL(INVALID, "attribute 'sorted' is %" PRId64 ", must be 0 or 1", is_sorted);
  const seer_attr attrs[2] = {
      seer_expand_int("axis", given ? (int64_t)axis : -1), seer_expand_int("sorted", is_sorted)};
  seer_expand_inner(e, "Unique", &one, 1, attrs, 2, out, 5);
  for (uint32_t k = 0; k < e->node.n_out; k++) seer_expand_output(e, k, out[k]);
  return SEER_OK;
}
SELECT(unique, "Unique", 11, 1, 1, 4, "axis sorted", "runs on the host")

// ---- Compress: the slices for which a condition holds

static seer_status expand_compress(seer_expand *e) {
  const seer_value *x = seer_expand_in(e, 0), *condition = seer_expand_in(e, 1);
  const seer_attr *axis_attr = seer_node_attr(&e->node, "axis");
  int64_t n_elem = seer_op_elems(x), extent = n_elem, n = seer_op_elems(condition);
  uint32_t axis = 0;
  seer_val from = e->node.in[0], flags = e->node.in[1];
  if (condition->rank != 1 || condition->dtype != SEER_DTYPE_BOOL)
    return SEER_FAIL(INVALID, "input 1 (condition) is %s, must be bool with one dimension",
        seer_value_type_text(condition, e->scratch));
  const seer_tensor *known = condition->constant;
  if (axis_attr) {
    SEER_TRY(seer_op_axis(axis_attr->i, x->rank, "attribute 'axis'", &axis));
    extent = x->dim[axis];
  } else {
    int64_t any = -1;
    from = seer_expand_reshape(e, from, x->rank == 1 ? &any : &n_elem, 1);
  }
  if (known) {
    uint32_t n_kept = 0;
    int64_t *kept = SEER_NEW_ARRAY(e->scratch, int64_t, n + 1);
    for (int64_t k = 0; k < n && k < extent; k++)
      if (seer_dtype_load_i64(known->dtype, known->data, k)) kept[n_kept++] = k;
    seer_expand_output(
        e, 0, seer_expand_2i(e, "Gather", from, seer_expand_ints(e, kept, n_kept), "axis", axis));
    return SEER_OK;
  }
  if (n == 0 || extent == 0) return SEER_FAIL(UNSUPPORTED, "an input has no elements");
  if (n > extent) flags = seer_expand_slice(e, flags, 0, 0, extent);
  SEER_TRY(e->resolve(e));
  int64_t first = 0;
  seer_val found = non_zero(e, flags);
  seer_val places = seer_expand_2(e, "Squeeze", found, seer_expand_ints(e, &first, 1));
  seer_expand_output(e, 0, seer_expand_2i(e, "Gather", from, places, "axis", axis));
  return SEER_OK;
}
SELECT(compress, "Compress", 9, 2, 2, 1, "axis", "")

// ---- Range up to a limit that is data

// i64[1] of a whole number of any shape.
static seer_val as_size(seer_expand *e, seer_val v) {
  int64_t one = 1;
  return seer_expand_reshape(e, seer_expand_cast(e, v, SEER_DTYPE_I64), &one, 1);
}

seer_status seer_expand_range(seer_expand *e) {
  enum { MAX_RANGE = 1 << 24 };
  const seer_tensor *start = seer_op_const(e->graph, &e->node, 0),
                    *delta = seer_op_const(e->graph, &e->node, 2);
  seer_dtype dtype = seer_expand_in(e, 0)->dtype;
  int64_t most;
  if (!start || !delta || seer_dtype_is_float(dtype) ||
      !seer_extent_at_most(e->graph, e->node.in[1], &most))
    return SEER_FAIL(UNSUPPORTED,
        "the result's size is data and without a bound; start and delta must be constant after "
        "folding, and the limit too, or the size of something, in whole numbers");
  if (seer_tensor_elems(start) != 1 || seer_tensor_elems(delta) != 1)
    return SEER_FAIL(INVALID, "inputs 0 and 2 must be scalars");
  int64_t from = seer_dtype_load_i64(start->dtype, start->data, 0),
          by = seer_dtype_load_i64(delta->dtype, delta->data, 0);
  if (by < 1 || from > INT32_MAX || from < -INT32_MAX || by > INT32_MAX || most > INT32_MAX ||
      most < -INT32_MAX)
    return SEER_FAIL(UNSUPPORTED,
        "a range from %" PRId64 " by %" PRId64 " to a limit that is data, must run upwards", from,
        by);
  int64_t n = seer_max_i64(seer_ceil_div(most - from, by), 1), axis = 0, up = by - 1 - from,
          none = 0;
  if (n > MAX_RANGE)
    return SEER_FAIL(UNSUPPORTED, "up to %" PRId64 " elements, at most %d", n, MAX_RANGE);
  double *numbers = NULL;
  SEER_TRY(seer_expand_table(e, n, 1, &numbers));
  for (int64_t i = 0; i < n; i++) numbers[i] = (double)(from + i * by);
  seer_val size = seer_expand_2(e, "Add", as_size(e, e->node.in[1]), seer_expand_ints(e, &up, 1));
  size = seer_expand_2(e, "Max", size, seer_expand_ints(e, &none, 1));
  if (by > 1) size = seer_expand_2(e, "Div", size, seer_expand_ints(e, &by, 1));
  seer_val all = seer_expand_tensor(e, dtype, &n, 1, numbers);
  SEER_TRY(e->resolve(e));
  seer_expand_output(e, 0, seer_expand_sized(e, all, &axis, &size, 1));
  return SEER_OK;
}
