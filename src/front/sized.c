// sized.c - which operators take dimensions whose size only a run knows, and what sizes come out.
// Computing at the bound is right where each element of the result that counts depends on elements
// that count only: elementwise operators, index maps, and reductions and products along other
// dimensions. Reductions along such a dimension read what does not change them beyond its size, and
// parts are put together by index (expand/masked.c). Indices that count from a dimension's end do
// not: the end is the size, not the bound.
#include "front/sized.h"

#include <string.h>

#include "front/pass/pass.h"
#include "runtime/host.h"

bool seer_sized_reads(const seer_graph *graph, const seer_node *node) {
  for (uint32_t k = 0; k < node->n_in; k++)
    if (node->in[k].i && seer_value_is_sized(seer_graph_value(graph, node->in[k]))) return true;
  return false;
}

static bool is_one_of(const seer_node *node, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (seer_node_is(node, names[i])) return true;
  return false;
}
#define IS_ONE_OF(node, ...)                          \
  is_one_of(node, (const char *const[]){__VA_ARGS__}, \
      sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static seer_status refuse(
    const seer_graph *graph, const seer_node *node, uint32_t k, uint32_t d, const char *why) {
  const seer_value *x = seer_graph_value(graph, node->in[k]);
  return SEER_FAIL(UNSUPPORTED,
      "dimension %u of input %u ('%s') has a size that is known only while running (at most "
      "%" PRId64 "): %s",
      d, k, x->name, x->dim[d], why);
}

// The first dimension of input k with such a size, for an error; `k` itself if it has one.
static seer_status refuse_any(const seer_graph *graph, const seer_node *node, const char *why) {
  for (uint32_t k = 0; k < node->n_in; k++) {
    const seer_value *x = node->in[k].i ? seer_graph_value(graph, node->in[k]) : NULL;
    for (uint32_t d = 0; x && d < x->rank; d++)
      if (x->size[d].i) return refuse(graph, node, k, d, why);
  }
  return SEER_FAIL(INTERNAL, "no input of unknown size");
}

// ---- what replaces a node

static seer_status expand_shape(seer_expand *e) {
  seer_val part[SEER_MAX_RANK];
  const seer_value *x = seer_expand_in(e, 0);
  uint32_t rank = x->rank;
  bool is_size = seer_node_is(&e->node, "Size");
  for (uint32_t d = 0; d < rank; d++) {
    seer_val size = seer_expand_in(e, 0)->size[d];
    int64_t known = seer_expand_in(e, 0)->dim[d];
    part[d] = size.i ? size : seer_expand_ints(e, &known, 1);
  }
  if (is_size) {
    seer_val product = part[0];
    for (uint32_t d = 1; d < rank; d++) product = seer_expand_2(e, "Mul", product, part[d]);
    seer_expand_output(e, 0, seer_expand_reshape(e, product, NULL, 0));
    return SEER_OK;
  }
  int64_t start = seer_node_attr_i(&e->node, "start", 0),
          end = seer_node_attr_i(&e->node, "end", rank);
  start = seer_min_i64(seer_max_i64(start < 0 ? start + (int64_t)rank : start, 0), rank);
  end = seer_min_i64(seer_max_i64(end < 0 ? end + (int64_t)rank : end, 0), rank);
  seer_expand_output(e, 0,
      end > start ? seer_expand_concat(e, part + start, (uint32_t)(end - start), 0)
                  : seer_expand_ints(e, NULL, 0));
  return SEER_OK;
}

uint32_t seer_sized_reduced(const seer_graph *graph, const seer_node *node) {
  const seer_attr *attr = seer_node_attr_ints(node, "axes");
  const seer_tensor *tensor = attr ? NULL : seer_op_const(graph, node, 1);
  int64_t rank = seer_graph_value(graph, node->in[0])->rank, n = 0;
  if (attr) n = (int64_t)attr->n;
  if (tensor) n = seer_tensor_elems(tensor);
  if (n == 0) return seer_node_attr_i(node, "noop_with_empty_axes", 0) ? 0 : (1u << rank) - 1;
  uint32_t mask = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t axis = attr ? attr->ints[i] : seer_dtype_load_i64(tensor->dtype, tensor->data, i);
    if (axis < 0) axis += rank;
    if (axis >= 0 && axis < rank) mask |= 1u << axis;
  }
  return mask;
}

// The dimensions of input k with such a size, as bits.
static uint32_t sized_dims(const seer_graph *graph, const seer_node *node, uint32_t k) {
  const seer_value *x = seer_graph_value(graph, node->in[k]);
  uint32_t mask = 0;
  for (uint32_t d = 0; d < SEER_MAX_RANK && d < x->rank; d++) mask |= (x->size[d].i ? 1u : 0u) << d;
  return mask;
}

// Some part of a Concat has such a size along its axis.
static bool joins_sized(const seer_graph *graph, const seer_node *node) {
  int64_t axis = seer_node_attr_i(node, "axis", 1);
  for (uint32_t k = 0; k < node->n_in; k++) {
    const seer_value *x = seer_graph_value(graph, node->in[k]);
    int64_t own = axis < 0 ? axis + x->rank : axis;
    if (node->in[k].i && own >= 0 && own < x->rank && x->size[own].i) return true;
  }
  return false;
}

seer_sized_expand seer_sized_rewrite(const seer_graph *graph, const seer_node *node) {
  if (IS_ONE_OF(node, "Shape", "Size")) return seer_sized_reads(graph, node) ? expand_shape : NULL;
  if (seer_node_is(node, "NonZero"))
    return seer_op_const(graph, node, 0) ? NULL : seer_expand_non_zero;
  if (seer_node_is(node, "Range")) {
    for (uint32_t k = 0; k < 3; k++)
      if (!seer_op_const(graph, node, k)) return seer_expand_range;
    return NULL;
  }
  if (seer_node_is(node, "ReduceMean"))
    return sized_dims(graph, node, 0) & seer_sized_reduced(graph, node) ? seer_expand_sized_mean
                                                                        : NULL;
  if (seer_node_is(node, "Concat"))
    return joins_sized(graph, node) ? seer_expand_sized_concat : NULL;
  if (!seer_node_is(node, "TopK")) return NULL;
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  int64_t axis = seer_node_attr_i(node, "axis", -1);
  if (axis < 0) axis += x->rank;
  bool is_data = seer_op_has_in(node, 1) && !seer_op_const(graph, node, 1);
  bool is_sized = axis >= 0 && axis < (int64_t)x->rank && x->size[axis].i;
  return is_data || is_sized ? seer_expand_top_k : NULL;
}

seer_status seer_sized_check_composite(const seer_graph *graph, const seer_node *node) {
  if (IS_ONE_OF(node, "If", "Loop", "NonMaxSuppression", "Unique", "Compress")) return SEER_OK;
  return refuse_any(graph, node, "this operator needs to know it");
}

// ---- sizes of outputs

// Output k's dimension `to` is as large as input `from_k`'s dimension `from`.
static seer_status give(seer_expand *e, uint32_t from_k, uint32_t from, uint32_t k, uint32_t to) {
  if (k >= e->node.n_out || e->node.out[k].i == 0) return SEER_OK;
  seer_val size = seer_graph_value(e->graph, e->node.in[from_k])->size[from];
  seer_value *out = seer_graph_value(e->graph, e->node.out[k]);
  if (out->size[to].i && out->size[to].i != size.i)
    return refuse(e->graph, &e->node, from_k, from, "another input has another size there");
  out->size[to] = size;
  return SEER_OK;
}

typedef struct {
  uint32_t k, d;  // input, dimension
} place;

static bool next_sized(const seer_expand *e, place *at) {
  for (; at->k < e->node.n_in; at->k++, at->d = 0) {
    const seer_value *x =
        e->node.in[at->k].i ? seer_graph_value(e->graph, e->node.in[at->k]) : NULL;
    for (; x && at->d < x->rank; at->d++)
      if (x->size[at->d].i) return true;
  }
  return false;
}
#define EACH_SIZED(e, at) for (place at = {0, 0}; next_sized(e, &at); at.d++)

static const seer_value *in_of(const seer_expand *e, uint32_t k) {
  return seer_graph_value(e->graph, e->node.in[k]);
}

static const seer_value *out_of(const seer_expand *e, uint32_t k) {
  return seer_graph_value(e->graph, e->node.out[k]);
}

// Broadcasting from the right.
static seer_status carry_elementwise(seer_expand *e) {
  EACH_SIZED(e, at) {
    const seer_value *x = in_of(e, at.k), *out = out_of(e, 0);
    uint32_t to = at.d + out->rank - x->rank;
    // A whole number by zero stops the program, and beyond the size there may be zeros.
    if (at.k == 1 && IS_ONE_OF(&e->node, "Div", "Mod") && !seer_dtype_is_float(x->dtype))
      return refuse(e->graph, &e->node, at.k, at.d, "integers cannot be divided by such a value");
    if (x->dim[at.d] != out->dim[to])
      return refuse(e->graph, &e->node, at.k, at.d, "it cannot be broadcast");
    for (uint32_t k = 0; k < e->node.n_in; k++) {
      const seer_value *other = e->node.in[k].i ? in_of(e, k) : NULL;
      if (!other || k == at.k || to + other->rank < out->rank) continue;
      uint32_t d = to + other->rank - out->rank;
      bool fits = other->size[d].i == x->size[at.d].i || (other->dim[d] == 1 && !other->size[d].i);
      if (!fits)
        return refuse(e->graph, &e->node, at.k, at.d, "another input has another size there");
    }
    SEER_TRY(give(e, at.k, at.d, 0, to));
  }
  return SEER_OK;
}

static seer_status carry_expand(seer_expand *e) {
  const seer_tensor *shape = seer_op_const(e->graph, &e->node, 1);
  EACH_SIZED(e, at) {
    const seer_value *x = in_of(e, 0), *out = out_of(e, 0);
    uint32_t to = at.d + out->rank - x->rank;
    int64_t entry = (int64_t)to + (shape ? shape->dim[0] : 0) - (int64_t)out->rank;
    if (!shape || x->dim[at.d] != out->dim[to] ||
        (entry >= 0 && seer_dtype_load_i64(shape->dtype, shape->data, entry) != 1))
      return refuse(e->graph, &e->node, at.k, at.d, "the shape must have 1 there");
    SEER_TRY(give(e, 0, at.d, 0, to));
  }
  return SEER_OK;
}

// A reshape keeps a dimension whose size it does not name, where as many elements stand before it.
static seer_status carry_reshape(seer_expand *e) {
  const seer_tensor *shape =
      seer_node_is(&e->node, "Reshape") ? seer_op_const(e->graph, &e->node, 1) : NULL;
  const seer_attr *old = seer_node_attr_ints(&e->node, "shape");
  bool keeps_zero = seer_node_attr_i(&e->node, "allowzero", 0) != 0;
  EACH_SIZED(e, at) {
    if (at.k > 0) return refuse(e->graph, &e->node, at.k, at.d, "a shape cannot have it");
    const seer_value *x = in_of(e, 0), *out = out_of(e, 0);
    int64_t before = 1, passed = 1;
    uint32_t to = 0;
    for (uint32_t d = 0; d < at.d; d++) before *= x->dim[d];
    while (to < out->rank && (passed != before || out->dim[to] == 1)) passed *= out->dim[to++];
    bool fits = to < out->rank && out->dim[to] == x->dim[at.d] && x->dim[at.d] > 1;
    int64_t entry = -1;
    if (fits && shape) entry = seer_dtype_load_i64(shape->dtype, shape->data, to);
    if (fits && old) entry = old->ints[to];
    fits = fits && (entry == -1 || (entry == 0 && !keeps_zero && to == at.d));
    if (!fits)
      return refuse(e->graph, &e->node, at.k, at.d,
          "the new shape must have it as a dimension of its own, as -1 or 0");
    SEER_TRY(give(e, 0, at.d, 0, to));
  }
  return SEER_OK;
}

// Dimensions of 1 come or go; which ones, the outputs' ranks and `axes` say.
static seer_status carry_squeeze(seer_expand *e) {
  int64_t *axes = NULL;
  uint32_t n = 0, mask = 0;
  bool is_squeeze = seer_node_is(&e->node, "Squeeze");
  const seer_value *x = in_of(e, 0), *out = out_of(e, 0);
  SEER_TRY(seer_op_ints(e->graph, &e->node, "axes", 1, e->scratch, &axes, &n));
  if (n == UINT32_MAX) return refuse_any(e->graph, &e->node, "'axes' must say which dimensions go");
  SEER_TRY(seer_op_axes_mask(axes, n, is_squeeze ? x->rank : out->rank, &mask));
  for (uint32_t d = 0, from = 0, to = 0; d < (is_squeeze ? x->rank : out->rank); d++) {
    bool is_one = (mask >> d) & 1u;
    if (is_squeeze && is_one && x->size[d].i)
      return refuse(e->graph, &e->node, 0, d, "it may be none, and cannot go");
    if (!is_one && x->size[from].i) SEER_TRY(give(e, 0, from, 0, to));
    from += !is_one || is_squeeze;
    to += !is_one || !is_squeeze;
  }
  return SEER_OK;
}

static seer_status carry_same(seer_expand *e) {
  EACH_SIZED(e, at) {
    for (uint32_t k = 0; at.k == 0 && k < e->node.n_out; k++) SEER_TRY(give(e, 0, at.d, k, at.d));
  }
  return SEER_OK;
}

static seer_status carry_transpose(seer_expand *e) {
  const seer_attr *perm = seer_node_attr_ints(&e->node, "perm");
  uint32_t rank = in_of(e, 0)->rank;
  for (uint32_t to = 0; to < rank; to++) {
    uint32_t from = perm ? (uint32_t)perm->ints[to] : rank - 1 - to;
    if (in_of(e, 0)->size[from].i) SEER_TRY(give(e, 0, from, 0, to));
  }
  return SEER_OK;
}

// Dimension `axis` is the operator's business, the others stay: all inputs have the same ones, or
// (only_first) the other inputs are parameters.
static seer_status carry_but(
    seer_expand *e, int64_t axis, bool only_first, const char *why_not_axis) {
  uint32_t own;
  SEER_TRY(seer_op_axis(axis, in_of(e, 0)->rank, "attribute 'axis'", &own));
  EACH_SIZED(e, at) {
    if (only_first && at.k > 0)
      return refuse(e->graph, &e->node, at.k, at.d, "this operand must have a known size");
    if (at.d == own) return refuse(e->graph, &e->node, at.k, at.d, why_not_axis);
    for (uint32_t k = 0; k < e->node.n_in && !only_first; k++)
      if (in_of(e, k)->size[at.d].i != in_of(e, at.k)->size[at.d].i)
        return refuse(e->graph, &e->node, at.k, at.d, "another input has another size there");
    for (uint32_t o = 0; o < e->node.n_out; o++) SEER_TRY(give(e, at.k, at.d, o, at.d));
  }
  return SEER_OK;
}

// ---- Slice

static seer_val size_const(seer_expand *e, int64_t value) { return seer_expand_ints(e, &value, 1); }

// How many elements [start, end) of `size` ones has, every step-th. Ends count from the size.
static seer_val slice_size(
    seer_expand *e, seer_val size, int64_t bound, int64_t start, int64_t end, int64_t step) {
  seer_val n = size;
  if (end < 0)
    n = seer_expand_2(e, "Add", n, size_const(e, seer_max_i64(end, -bound)));
  else if (end < bound)
    n = seer_expand_2(e, "Min", n, size_const(e, end));
  if (start > 0 || step > 1) n = seer_expand_2(e, "Add", n, size_const(e, step - 1 - start));
  if (start > 0 || end < 0) n = seer_expand_2(e, "Max", n, size_const(e, 0));
  return step > 1 ? seer_expand_2(e, "Div", n, size_const(e, step)) : n;
}

static seer_status carry_slice(seer_expand *e) {
  int64_t *starts = NULL, *ends = NULL, *axes = NULL, *steps = NULL;
  uint32_t n = 0, n_ends = 0, n_axes = 0, n_steps = 0;
  SEER_TRY(seer_op_ints(e->graph, &e->node, "starts", 1, e->scratch, &starts, &n));
  SEER_TRY(seer_op_ints(e->graph, &e->node, "ends", 2, e->scratch, &ends, &n_ends));
  SEER_TRY(seer_op_ints(e->graph, &e->node, "axes", 3, e->scratch, &axes, &n_axes));
  SEER_TRY(seer_op_ints(e->graph, &e->node, "steps", 4, e->scratch, &steps, &n_steps));
  uint32_t rank = in_of(e, 0)->rank;
  SEER_TRY(carry_same(e));
  for (uint32_t i = 0; i < n; i++) {
    uint32_t d = i;
    if (n_axes != UINT32_MAX) SEER_TRY(seer_op_axis(axes[i], rank, "an entry of 'axes'", &d));
    seer_val size = in_of(e, 0)->size[d];
    if (size.i == 0) continue;
    int64_t bound = in_of(e, 0)->dim[d], step = n_steps == UINT32_MAX ? 1 : steps[i];
    if (starts[i] < 0 || step < 1)
      return refuse(e->graph, &e->node, 0, d, "a slice of it must start at 0 or more, forwards");
    if (starts[i] >= bound) return refuse(e->graph, &e->node, 0, d, "the slice has no elements");
    step = seer_min_i64(step, bound);
    seer_val sliced = slice_size(e, size, bound, starts[i], ends[i], step);
    seer_graph_value(e->graph, e->node.out[0])->size[d] = sliced;
  }
  return SEER_OK;
}

// ---- Gather and its relatives

// Made by something that counts from 0.
static bool is_position(const seer_graph *graph, seer_val v) {
  for (int depth = 0; depth < 32; depth++) {
    const seer_value *value = seer_graph_value(graph, v);
    if (value->constant) {
      for (int64_t i = 0, n = seer_tensor_elems(value->constant); i < n; i++)
        if (seer_dtype_load_i64(value->constant->dtype, value->constant->data, i) < 0) return false;
      return true;
    }
    if (!value->producer.i) return false;
    const seer_node *node = seer_graph_node(graph, value->producer);
    if (node->op && (node->op->host == SEER_HOST_NONZERO || node->op->host == SEER_HOST_NMS))
      return true;
    if (node->op && node->op->host == SEER_HOST_UNIQUE) return node->out[0].i != v.i;
    if (seer_node_is(node, "TopK")) return node->n_out > 1 && node->out[1].i == v.i;
    if (IS_ONE_OF(node, "ArgMax", "ArgMin")) return true;
    bool is_moved = (node->op && node->op->fuse == SEER_FUSE_VIEW) ||
        IS_ONE_OF(node, "Cast", "Slice", "Gather", "GatherElements", "Transpose", "Expand");
    if (!is_moved) return false;
    v = node->in[0];
  }
  return false;
}

// Input 1 of e->node are indices into dimension d of input 0: negative ones count from its size.
static seer_status count_from_size(seer_expand *e, uint32_t d) {
  seer_val index = e->node.in[1], size = in_of(e, 0)->size[d];
  if (is_position(e->graph, index)) return SEER_OK;
  if (in_of(e, 1)->constant)
    return refuse(e->graph, &e->node, 0, d, "a constant index must be 0 or more");
  seer_dtype dtype = in_of(e, 1)->dtype;
  seer_val from_end = seer_expand_2(e, "Add", index, seer_expand_cast(e, size, dtype));
  seer_val is_back = seer_expand_2(e, "Less", index, seer_expand_scalar(e, dtype, 0));
  if (in_of(e, 1)->rank == 0) from_end = seer_expand_reshape(e, from_end, NULL, 0);
  // The node's own list: it reads the new value from now on.
  e->node.in[1] = seer_expand_3(e, "Where", is_back, from_end, index);
  return SEER_OK;
}

static seer_status carry_gather(seer_expand *e) {
  uint32_t axis, rank = in_of(e, 0)->rank, n_index = in_of(e, 1)->rank;
  SEER_TRY(seer_op_axis(seer_node_attr_i(&e->node, "axis", 0), rank, "attribute 'axis'", &axis));
  EACH_SIZED(e, at) {
    if (at.k == 1) SEER_TRY(give(e, 1, at.d, 0, axis + at.d));
    if (at.k == 1 || at.d == axis) continue;
    SEER_TRY(give(e, 0, at.d, 0, at.d < axis ? at.d : at.d + n_index - 1));
  }
  return in_of(e, 0)->size[axis].i ? count_from_size(e, axis) : SEER_OK;
}

static seer_status carry_gather_elements(seer_expand *e) {
  uint32_t axis, rank = in_of(e, 0)->rank;
  SEER_TRY(seer_op_axis(seer_node_attr_i(&e->node, "axis", 0), rank, "attribute 'axis'", &axis));
  EACH_SIZED(e, at) {
    if (at.k == 1) SEER_TRY(give(e, 1, at.d, 0, at.d));
  }
  return in_of(e, 0)->size[axis].i ? count_from_size(e, axis) : SEER_OK;
}

static seer_status carry_gather_nd(seer_expand *e) {
  const seer_value *index = in_of(e, 1);
  int64_t batch = seer_node_attr_i(&e->node, "batch_dims", 0), last = index->dim[index->rank - 1];
  EACH_SIZED(e, at) {
    if (at.k == 1) {
      if (at.d + 1u == index->rank)
        return refuse(e->graph, &e->node, 1, at.d, "an index must have a known length");
      SEER_TRY(give(e, 1, at.d, 0, at.d));
    } else if (at.d < batch) {
      SEER_TRY(give(e, 0, at.d, 0, at.d));
    } else if (at.d >= batch + last) {
      SEER_TRY(give(e, 0, at.d, 0, (uint32_t)(at.d - last) + index->rank - 1u - (uint32_t)batch));
    } else if (!is_position(e->graph, e->node.in[1])) {
      return refuse(e->graph, &e->node, 0, at.d, "its indices must be known to be 0 or more");
    }
  }
  return SEER_OK;
}

// ---- reductions and products

// Input 0 is read with `neutral` beyond the sizes of its dimensions `mask`, where it has any.
static void mask_input(seer_expand *e, uint32_t mask, seer_val neutral) {
  // The node's own list: it reads the new value from now on.
  if (sized_dims(e->graph, &e->node, 0) & mask)
    e->node.in[0] = seer_expand_masked(e, e->node.in[0], mask, neutral);
}

// What a reduction's result does not change by.
static seer_val neutral_of(seer_expand *e) {
  seer_dtype dtype = in_of(e, 0)->dtype;
  if (IS_ONE_OF(&e->node, "ReduceMax", "ReduceLogSumExp"))
    return seer_expand_extreme(e, dtype, false);
  if (seer_node_is(&e->node, "ReduceMin")) return seer_expand_extreme(e, dtype, true);
  return seer_expand_scalar(e, dtype, seer_node_is(&e->node, "ReduceProd"));
}

static seer_status carry_reduce(seer_expand *e) {
  uint32_t mask = seer_sized_reduced(e->graph, &e->node);
  bool keeps = seer_node_attr_i(&e->node, "keepdims", 1) != 0;
  EACH_SIZED(e, at) {
    if (at.k > 0)
      return refuse(e->graph, &e->node, at.k, at.d, "this operand must have a known size");
    if ((mask >> at.d) & 1u) continue;
    uint32_t before = (uint32_t)__builtin_popcount(mask & ((1u << at.d) - 1));
    SEER_TRY(give(e, 0, at.d, 0, keeps ? at.d : at.d - before));
  }
  mask_input(e, mask, neutral_of(e));
  return SEER_OK;
}

static seer_status carry_arg_reduce(seer_expand *e) {
  uint32_t axis;
  SEER_TRY(seer_op_axis(
      seer_node_attr_i(&e->node, "axis", 0), in_of(e, 0)->rank, "attribute 'axis'", &axis));
  bool keeps = seer_node_attr_i(&e->node, "keepdims", 1) != 0;
  EACH_SIZED(e, at) {
    if (at.d != axis) {
      SEER_TRY(give(e, 0, at.d, 0, keeps || at.d < axis ? at.d : at.d - 1));
    } else if (seer_node_attr_i(&e->node, "select_last_index", 0)) {
      return refuse(e->graph, &e->node, 0, at.d, "'select_last_index' cannot tell its last");
    }
  }
  // Equals of the least number come first, so that none beyond the size is chosen.
  bool is_largest = seer_node_is(&e->node, "ArgMin");
  mask_input(e, 1u << axis, seer_expand_extreme(e, in_of(e, 0)->dtype, is_largest));
  return SEER_OK;
}

static seer_status carry_cum_sum(seer_expand *e) {
  EACH_SIZED(e, at) {
    if (at.k > 0)
      return refuse(e->graph, &e->node, at.k, at.d, "this operand must have a known size");
    SEER_TRY(give(e, 0, at.d, 0, at.d));
  }
  if (!seer_node_attr_i(&e->node, "reverse", 0)) return SEER_OK;  // it looks back only
  const seer_tensor *axis = seer_op_const(e->graph, &e->node, 1);
  uint32_t d = 0, rank = in_of(e, 0)->rank;
  SEER_TRY(seer_op_axis(
      axis ? seer_dtype_load_i64(axis->dtype, axis->data, 0) : 0, rank, "input 'axis'", &d));
  mask_input(e, 1u << d, seer_expand_scalar(e, in_of(e, 0)->dtype, 0));
  return SEER_OK;
}

// Dimensions that are normalised: the axis, or (is_from_axis) all from there on.
static seer_status normalised(
    seer_expand *e, int64_t otherwise, bool is_from_axis, uint32_t *out_mask) {
  uint32_t axis, rank = in_of(e, 0)->rank;
  SEER_TRY(
      seer_op_axis(seer_node_attr_i(&e->node, "axis", otherwise), rank, "attribute 'axis'", &axis));
  *out_mask = is_from_axis ? (1u << rank) - (1u << axis) : 1u << axis;
  return SEER_OK;
}

// Of old, 'axis' and all behind it were one dimension. What is beyond the size is no part of a
// row's sum, and its own result does not count.
static seer_status carry_softmax(seer_expand *e) {
  bool is_old = e->node.opset < 13;
  uint32_t mask;
  SEER_TRY(normalised(e, is_old ? 1 : -1, is_old, &mask));
  SEER_TRY(carry_same(e));
  mask_input(e, mask, seer_expand_extreme(e, in_of(e, 0)->dtype, false));
  return SEER_OK;
}

static seer_status carry_layer_norm(seer_expand *e) {
  uint32_t mask;
  SEER_TRY(normalised(e, -1, true, &mask));
  EACH_SIZED(e, at) {
    if (at.k > 0 || (mask >> at.d) & 1u)
      return refuse(e->graph, &e->node, at.k, at.d, "the operator reduces it");
    for (uint32_t k = 0; k < e->node.n_out; k++) SEER_TRY(give(e, 0, at.d, k, at.d));
  }
  return SEER_OK;
}

// Rows of the first operand: one of the result for each.
static seer_status carry_rows(seer_expand *e) {
  bool is_gemm = seer_node_is(&e->node, "Gemm");
  EACH_SIZED(e, at) {
    uint32_t rank = in_of(e, 0)->rank;
    bool is_row = at.k == 0 && at.d + 1 < rank && in_of(e, 1)->rank == 2 &&
        !(is_gemm && seer_node_attr_i(&e->node, "transA", 0));
    const seer_value *c = is_gemm && seer_op_has_in(&e->node, 2) ? in_of(e, 2) : NULL;
    if (!is_row || (c && c->rank == 2 && c->dim[0] != 1))
      return refuse(e->graph, &e->node, at.k, at.d,
          "only rows of the first operand may have it, times a matrix");
    SEER_TRY(give(e, 0, at.d, 0, at.d));
  }
  return SEER_OK;
}

static seer_status carry_batch(seer_expand *e) {
  EACH_SIZED(e, at) {
    if (at.k > 0 || at.d > 0)
      return refuse(e->graph, &e->node, at.k, at.d, "only the batch of input 0 may have it");
    for (uint32_t k = 0; k < e->node.n_out; k++) SEER_TRY(give(e, 0, 0, k, 0));
  }
  return SEER_OK;
}

// ---- the list

seer_status seer_sized_carry(seer_expand *e) {
  const seer_node *node = &e->node;
  if (node->op->host || strcmp(node->domain, SEER_INNER_DOMAIN) == 0) return SEER_OK;  // it knows
  if (node->op->fuse == SEER_FUSE_ELEMENTWISE) return carry_elementwise(e);
  if (IS_ONE_OF(node, "Identity", "Dropout")) return carry_same(e);
  if (IS_ONE_OF(node, "Squeeze", "Unsqueeze")) return carry_squeeze(e);
  if (IS_ONE_OF(node, "Reshape", "Flatten")) return carry_reshape(e);
  if (seer_node_is(node, "Expand")) return carry_expand(e);
  if (seer_node_is(node, "Transpose")) return carry_transpose(e);
  if (seer_node_is(node, "Slice")) return carry_slice(e);
  if (seer_node_is(node, "Concat"))
    return carry_but(
        e, seer_node_attr_i(node, "axis", 1), false, "another input has another size there");
  if (seer_node_is(node, "Split"))
    return carry_but(e, seer_node_attr_i(node, "axis", 0), true, "it cannot be split");
  if (seer_node_is(node, "TopK"))
    return carry_but(e, seer_node_attr_i(node, "axis", -1), true, "it cannot be sorted");
  if (seer_node_is(node, "Gather")) return carry_gather(e);
  if (seer_node_is(node, "GatherElements")) return carry_gather_elements(e);
  if (seer_node_is(node, "GatherND")) return carry_gather_nd(e);
  if (IS_ONE_OF(node, "ArgMax", "ArgMin")) return carry_arg_reduce(e);
  if (strncmp(node->op_type, "Reduce", 6) == 0) return carry_reduce(e);
  if (seer_node_is(node, "CumSum")) return carry_cum_sum(e);
  if (IS_ONE_OF(node, "Softmax", "LogSoftmax", "Hardmax")) return carry_softmax(e);
  if (seer_node_is(node, "LayerNormalization")) return carry_layer_norm(e);
  if (IS_ONE_OF(node, "MatMul", "Gemm")) return carry_rows(e);
  if (IS_ONE_OF(node, "Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool",
          "GlobalMaxPool"))
    return carry_batch(e);
  return refuse_any(e->graph, node, "this operator needs to know it");
}

// ---- bounds of sizes

bool seer_sized_at_most(const seer_graph *graph, seer_val v, int64_t *out_most) {
  for (int depth = 0; depth < 32; depth++) {
    const seer_value *value = seer_graph_value(graph, v);
    if (value->constant) {
      if (seer_tensor_elems(value->constant) != 1) return false;
      *out_most = seer_dtype_load_i64(value->constant->dtype, value->constant->data, 0);
      return true;
    }
    if (!value->producer.i || seer_value_elems(value) != 1) return false;
    const seer_node *node = seer_graph_node(graph, value->producer);
    if (node->op && node->op->host) {
      for (uint32_t k = 0; k < node->n_out; k++) {
        const seer_value *found = seer_graph_value(graph, node->out[k]);
        for (uint32_t d = 0; node->out[k].i && d < found->rank; d++) {
          if (found->size[d].i != v.i) continue;
          *out_most = found->dim[d];
          return true;
        }
      }
      return false;
    }
    bool is_moved = (node->op && node->op->fuse == SEER_FUSE_VIEW) ||
        IS_ONE_OF(node, "Cast", "Gather", "Slice");
    if (seer_node_is(node, "Min")) {
      // The constants among its operands; if there are none, the first.
      bool is_known = false;
      for (uint32_t k = 0; k < node->n_in; k++) {
        const seer_tensor *most = seer_op_const(graph, node, k);
        if (!most || seer_tensor_elems(most) != 1) continue;
        int64_t number = seer_dtype_load_i64(most->dtype, most->data, 0);
        *out_most = is_known ? seer_min_i64(*out_most, number) : number;
        is_known = true;
      }
      if (is_known) return true;
      v = node->in[0];
      continue;
    }
    if (!is_moved) return false;
    if (IS_ONE_OF(node, "Gather", "Slice")) {
      // One entry of a shape: a Concat of single numbers.
      const seer_value *list = seer_graph_value(graph, node->in[0]);
      const seer_node *concat = list->producer.i ? seer_graph_node(graph, list->producer) : NULL;
      for (int n = 0; concat && seer_node_is(concat, "Identity") && n < 32; n++) {
        seer_node_id before = seer_graph_value(graph, concat->in[0])->producer;
        concat = before.i ? seer_graph_node(graph, before) : NULL;
      }
      const seer_tensor *at = seer_op_const(graph, node, 1);
      if (!concat || !seer_node_is(concat, "Concat") || !at || seer_tensor_elems(at) != 1)
        return false;
      int64_t i = seer_dtype_load_i64(at->dtype, at->data, 0);
      if (i < 0) i += list->dim[0];
      for (uint32_t k = 0; k < concat->n_in; k++)
        if (seer_value_elems(seer_graph_value(graph, concat->in[k])) != 1) return false;
      if (i < 0 || i >= concat->n_in) return false;
      v = concat->in[i];
      continue;
    }
    v = node->in[0];
  }
  return false;
}

void seer_sized_keep(seer_graph *graph) {
  for (uint32_t k = 0; k < graph->n_output; k++) {
    const seer_value *out = seer_graph_value(graph, graph->output[k]);
    for (uint32_t d = 0; d < out->rank; d++) {
      seer_value *size = out->size[d].i ? seer_graph_value(graph, out->size[d]) : NULL;
      if (size && size->producer.i) size->is_output = true;
    }
  }
}
