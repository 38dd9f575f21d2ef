// masked.c - along a dimension whose size only a run knows: what is beyond the size is made
// neutral, so that a reduction at the bound is the one that is meant; and parts of such sizes one
// after another.
#include <string.h>

#include "dag/scalar.h"
#include "front/expand/expand.h"
#include "front/expand/extent.h"
#include "front/sized.h"

seer_val seer_expand_index(
    seer_expand *e, int64_t extent, uint32_t d, uint32_t rank, seer_val size) {
  const seer_attr attr[3] = {
      seer_expand_int("extent", extent), seer_expand_int("axis", d), seer_expand_int("rank", rank)};
  seer_val index;
  seer_expand_inner(e, "Index", &size, 1, attr, 3, &index, 1);
  return index;
}

seer_val seer_expand_extreme(seer_expand *e, seer_dtype dtype, bool is_largest) {
  seer_scalar end = is_largest ? seer_scalar_highest(dtype) : seer_scalar_lowest(dtype);
  seer_tensor tensor = {.dtype = dtype, .n_bytes = seer_dtype_bytes(dtype)};
  void *data = seer_arena_alloc(e->graph->arena, tensor.n_bytes, 64);
  seer_scalar_store(dtype, data, 0, end);
  tensor.data = data;
  return seer_graph_add_constant(e->graph, seer_graph_fresh_name(e->graph, "extreme"), &tensor);
}

seer_val seer_expand_masked(seer_expand *e, seer_val v, uint32_t mask, seer_val neutral) {
  const seer_value x = *seer_graph_value(e->graph, v);
  seer_val counts = {0}, plain, sizes[SEER_MAX_RANK];
  int64_t axes[SEER_MAX_RANK];
  uint32_t n = 0;
  for (uint32_t d = 0; d < x.rank; d++) {
    if (x.size[d].i == 0) continue;
    if (!((mask >> d) & 1u)) {
      axes[n] = d;
      sizes[n++] = x.size[d];
      continue;
    }
    seer_val index = seer_expand_index(e, x.dim[d], d, x.rank, x.size[d]);
    seer_val is_inside = seer_expand_2(e, "Less", index, x.size[d]);
    counts = counts.i ? seer_expand_2(e, "And", counts, is_inside) : is_inside;
  }
  SEER_ASSERT(counts.i, "%s: no dimension of %x has a size", x.name, mask);
  seer_expand_inner(e, "AtBound", &v, 1, NULL, 0, &plain, 1);
  seer_val masked = seer_expand_3(e, "Where", counts, plain, neutral);
  return n ? seer_expand_sized(e, masked, axes, sizes, n) : masked;
}

// ---- the mean: what the sum is divided by is data

seer_status seer_expand_sized_mean(seer_expand *e) {
  const seer_value x = *seer_expand_in(e, 0);
  uint32_t mask = seer_sized_reduced(e->graph, &e->node), n = 0;
  int64_t axes[SEER_MAX_RANK], known = 1;
  SEER_TRY(seer_op_want_float(&x, 0));
  seer_val count = {0};
  for (uint32_t d = 0; d < x.rank; d++) {
    if (!((mask >> d) & 1u)) continue;
    axes[n++] = d;
    if (x.size[d].i)
      count = count.i ? seer_expand_2(e, "Mul", count, x.size[d]) : x.size[d];
    else
      known *= x.dim[d];
  }
  if (known != 1) count = seer_expand_2(e, "Mul", count, seer_expand_ints(e, &known, 1));
  seer_attr attr = seer_expand_int("keepdims", seer_node_attr_i(&e->node, "keepdims", 1));
  seer_val in[2] = {e->node.in[0], seer_expand_ints(e, axes, n)};
  seer_val sum = seer_expand_add(e, "ReduceSum", in, 2, &attr, 1);
  count = seer_expand_cast(e, seer_expand_reshape(e, count, NULL, 0), x.dtype);
  seer_expand_output(e, 0, seer_expand_2(e, "Div", sum, count));
  return SEER_OK;
}

// ---- Concat: element j is the j-th of all parts at their bounds, plus what the parts before it
// lack to theirs

static seer_status check_part(const seer_expand *e, uint32_t k, uint32_t first, uint32_t axis) {
  const seer_value *a = seer_expand_in(e, first), *b = seer_expand_in(e, k);
  if (a->rank != b->rank || a->dtype != b->dtype)
    return SEER_FAIL(INVALID, "input %u is %s, input %u %s, must have one type and rank", first,
        seer_value_type_text(a, e->scratch), k, seer_value_type_text(b, e->scratch));
  for (uint32_t d = 0; d < a->rank; d++)
    if (d != axis && !seer_extent_same_size(e->graph, a->size[d], b->size[d]))
      return SEER_FAIL(UNSUPPORTED,
          "dimension %u of inputs %u ('%s') and %u ('%s') has sizes that are known only while "
          "running, and not known to be equal",
          d, first, a->name, k, b->name);
  return SEER_OK;
}

seer_status seer_expand_sized_concat(seer_expand *e) {
  uint32_t axis, n = 0, n_other = 0, rank = seer_expand_in(e, 0)->rank, first = 0;
  SEER_TRY(seer_op_axis(seer_node_attr_i(&e->node, "axis", 1), rank, "attribute 'axis'", &axis));
  seer_val *part = SEER_NEW_ARRAY(e->scratch, seer_val, e->node.n_in);
  seer_val *size = SEER_NEW_ARRAY(e->scratch, seer_val, e->node.n_in), any_size = {0};
  int64_t *bound = SEER_NEW_ARRAY(e->scratch, int64_t, e->node.n_in), whole = 0;
  for (uint32_t k = 0; k < e->node.n_in; k++) {
    const seer_value x = *seer_expand_in(e, k);
    if (seer_op_elems(&x) == 0) continue;
    if (n == 0) first = k;
    SEER_TRY(check_part(e, k, first, axis));
    part[n] = e->node.in[k];
    if (seer_value_is_sized(&x))
      seer_expand_inner(e, "AtBound", &e->node.in[k], 1, NULL, 0, &part[n], 1);
    size[n] = x.size[axis];
    if (size[n].i) any_size = size[n];
    bound[n] = x.dim[axis];
    if (__builtin_add_overflow(whole, bound[n], &whole))
      return SEER_FAIL(UNSUPPORTED, "the result is too large");
    n++;
  }
  seer_val zero = seer_expand_scalar(e, SEER_DTYPE_I64, 0), end = {0};
  seer_val index = seer_expand_index(e, whole, 0, 1, any_size), from = index;
  for (uint32_t k = 0; k < n; k++) {
    seer_val own = size[k].i ? size[k] : seer_expand_ints(e, &bound[k], 1);
    end = end.i ? seer_expand_2(e, "Add", end, own) : own;
    if (!size[k].i || k + 1 == n) continue;
    seer_val lack = seer_expand_2(e, "Sub", seer_expand_ints(e, &bound[k], 1), own);
    seer_val is_before = seer_expand_2(e, "Less", index, end);
    from = seer_expand_2(e, "Add", from, seer_expand_3(e, "Where", is_before, zero, lack));
  }
  int64_t last = whole - 1;
  from = seer_expand_2(e, "Min", from, seer_expand_ints(e, &last, 1));
  end = seer_expand_2(e, "Min", end, seer_expand_ints(e, &whole, 1));  // its bound (sized.h)
  seer_val all =
      seer_expand_2i(e, "Gather", seer_expand_concat(e, part, n, axis), from, "axis", axis);
  int64_t axes[SEER_MAX_RANK] = {axis};
  seer_val sizes[SEER_MAX_RANK] = {end};
  n_other = 1;
  for (uint32_t d = 0; d < rank; d++) {
    seer_val other = seer_expand_in(e, first)->size[d];
    if (d == axis || other.i == 0) continue;
    axes[n_other] = d;
    sizes[n_other++] = other;
  }
  seer_expand_output(e, 0, seer_expand_sized(e, all, axes, sizes, n_other));
  return SEER_OK;
}
