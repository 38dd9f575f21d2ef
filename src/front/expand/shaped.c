// shaped.c - Expand, ConstantOfShape, Reshape, Pad and Slice where what says the result's shape is
// data: sizes that were found, and sums of such (front/expand/extent.h). Each is the same operator
// at its bounds, whose result is told its sizes. What nothing bounds is UNSUPPORTED by name.
#include <string.h>

#include "front/expand/extent.h"
#include "front/sized.h"

enum { MAX_BOUND = 1 << 28 };

// ---- operands that say a shape

// The elements of operand k: at most SEER_MAX_RANK * 2.
static seer_status read_entries(
    seer_expand *e, uint32_t k, const char *what, seer_extent *out, uint32_t *out_n) {
  const seer_value *x = seer_expand_in(e, k);
  int64_t n = seer_op_elems(x);
  if (x->rank > 1 || n > 2 * SEER_MAX_RANK || seer_dtype_is_float(x->dtype))
    return SEER_FAIL(INVALID, "input %u (%s) is %s, must be a list of at most %d integers", k, what,
        seer_value_type_text(x, e->scratch), 2 * SEER_MAX_RANK);
  if (seer_value_is_sized(x))
    return SEER_FAIL(UNSUPPORTED, "input %u (%s) has as many entries as data says", k, what);
  for (int64_t i = 0; i < n; i++) {
    out[i] = seer_extent_of(e->graph, e->node.in[k], i);
    if (!out[i])
      return SEER_FAIL(
          UNSUPPORTED, "entry %" PRId64 " of input %u (%s) is data in too many steps", i, k, what);
  }
  *out_n = (uint32_t)n;
  return SEER_OK;
}

// Entry i of operand k, as a size.
static seer_val pick(seer_expand *e, uint32_t k, int64_t i) {
  const seer_value *x = seer_expand_in(e, k);
  const int64_t one = 1;
  seer_val v = e->node.in[k];
  if (x->rank == 1 && x->dim[0] > 1) v = seer_expand_slice(e, v, 0, i, i + 1);
  if (x->rank == 0) v = seer_expand_reshape(e, v, &one, 1);
  return seer_expand_cast(e, v, SEER_DTYPE_I64);
}

static seer_status find_bound(
    const seer_expand *e, seer_extent x, const char *what, uint32_t entry, int64_t *out_bound) {
  int64_t least, most;
  seer_extent_range(e->graph, x, &least, &most);
  if (most > MAX_BOUND)
    return SEER_FAIL(UNSUPPORTED,
        "entry %u of '%s' is data, and nothing says how large it can be: it must be made of sizes "
        "that have a bound, of constants, or of inputs that --bind fixes",
        entry, what);
  *out_bound = seer_max_i64(most, 1);
  return SEER_OK;
}

static seer_val at_bound(seer_expand *e, seer_val v) {
  if (seer_value_is_sized(seer_graph_value(e->graph, v)))
    seer_expand_inner(e, "AtBound", &v, 1, NULL, 0, &v, 1);
  return v;
}

// The dimensions of a result.
typedef struct {
  uint32_t rank;
  int64_t bound[SEER_MAX_RANK];
  seer_val size[SEER_MAX_RANK];  // 0: bound is it
} shape;

static seer_val told_sizes(seer_expand *e, seer_val v, const shape *s) {
  int64_t axes[SEER_MAX_RANK];
  seer_val sizes[SEER_MAX_RANK];
  uint32_t n = 0;
  for (uint32_t d = 0; d < s->rank; d++) {
    if (s->size[d].i == 0) continue;
    axes[n] = d;
    sizes[n++] = s->size[d];
  }
  return n ? seer_expand_sized(e, v, axes, sizes, n) : v;
}

bool seer_shaped_by_data(const seer_graph *graph, const seer_node *node) {
  return seer_op_has_in(node, 1) && !seer_op_const(graph, node, 1);
}

bool seer_shaped_reshape_is_data(const seer_graph *graph, const seer_node *node) {
  return seer_op_has_in(node, 1) &&
      (seer_shaped_by_data(graph, node) || seer_sized_reads(graph, node));
}

// ---- ConstantOfShape, Expand

bool seer_shaped_constant_by_data(const seer_graph *graph, const seer_node *node) {
  return !seer_op_const(graph, node, 0);
}

// Dimension d of the result is entry i of operand k.
static seer_status take_entry(
    seer_expand *e, uint32_t k, uint32_t i, seer_extent x, const char *what, uint32_t d, shape *s) {
  if (seer_extent_is_number(e->graph, x, &s->bound[d])) return SEER_OK;
  SEER_TRY(find_bound(e, x, what, i, &s->bound[d]));
  s->size[d] = pick(e, k, i);
  return SEER_OK;
}

seer_status seer_shaped_constant(seer_expand *e) {
  seer_extent entry[2 * SEER_MAX_RANK];
  shape s = {0};
  SEER_TRY(read_entries(e, 0, "shape", entry, &s.rank));
  if (s.rank > SEER_MAX_RANK)
    return SEER_FAIL(UNSUPPORTED, "shape has %u entries, at most %d", s.rank, SEER_MAX_RANK);
  for (uint32_t d = 0; d < s.rank; d++) SEER_TRY(take_entry(e, 0, d, entry[d], "shape", d, &s));
  seer_val bounds = seer_expand_ints(e, s.bound, s.rank);
  seer_val all = seer_expand_add(e, "ConstantOfShape", &bounds, 1, e->node.attr, e->node.n_attr);
  seer_expand_output(e, 0, told_sizes(e, all, &s));
  return SEER_OK;
}

// Dimension d of the result, of x's dimension `own` and the entry `asked`.
static seer_status join_dims(seer_expand *e, seer_extent own, uint32_t from, seer_extent asked,
    uint32_t i, uint32_t d, shape *s) {
  int64_t x = 0, y = 0;
  bool is_x = seer_extent_is_number(e->graph, own, &x),
       is_y = seer_extent_is_number(e->graph, asked, &y);
  bool stays = own == asked || (is_y && y == 1) || (is_x && !is_y && x > 1);
  if (stays) {
    const seer_value *value = seer_expand_in(e, 0);
    s->bound[d] = value->dim[from];
    s->size[d] = value->size[from];
    return SEER_OK;
  }
  if (is_x && x == 1) return take_entry(e, 1, i, asked, "shape", d, s);
  return SEER_FAIL(UNSUPPORTED,
      "dimension %u of input 0 and entry %u of 'shape' are sizes that only data decides, and not "
      "known to be equal: the shape must have 1 there, or the same",
      from, i);
}

seer_status seer_shaped_expand(seer_expand *e) {
  seer_extent entry[2 * SEER_MAX_RANK];
  uint32_t n = 0, own = seer_expand_in(e, 0)->rank;
  shape s = {0};
  SEER_TRY(read_entries(e, 1, "shape", entry, &n));
  s.rank = n > own ? n : own;
  if (s.rank > SEER_MAX_RANK)
    return SEER_FAIL(UNSUPPORTED, "the result has rank %u, at most %d", s.rank, SEER_MAX_RANK);
  for (uint32_t d = 0; d < s.rank; d++) {
    uint32_t i = d + n - s.rank, from = d + own - s.rank;
    seer_extent one = seer_extent_number(e->graph, 1);
    bool has_entry = d + n >= s.rank, has_own = d + own >= s.rank;
    if (has_own)
      SEER_TRY(join_dims(e, seer_extent_of_dim(e->graph, e->node.in[0], from), from,
          has_entry ? entry[i] : one, i, d, &s));
    else
      SEER_TRY(take_entry(e, 1, i, entry[i], "shape", d, &s));
  }
  seer_val all =
      seer_expand_2(e, "Expand", at_bound(e, e->node.in[0]), seer_expand_ints(e, s.bound, s.rank));
  seer_expand_output(e, 0, told_sizes(e, all, &s));
  return SEER_OK;
}

// ---- Reshape

// Both shapes from the left: dimensions of the same size, or groups of the same number of elements,
// of which only the outermost has a size that is data, so that elements stay where they are.
typedef struct {
  seer_expand *e;
  const seer_value *x;
  uint32_t n_x, n_y;
  seer_extent from[SEER_MAX_RANK], to[SEER_MAX_RANK];
  shape s;
} reshape;

static seer_status refuse_reshape(const reshape *r) {
  return SEER_FAIL(UNSUPPORTED,
      "input 0 is %s, and the new shape must have each size that is data as a dimension of its "
      "own, "
      "as the outermost of some that become one, or divided by what stands behind it",
      seer_value_type_text(r->x, r->e->scratch));
}

// What stands for -1: what the other dimensions lack.
static seer_status find_rest(reshape *r, uint32_t at) {
  seer_graph *graph = r->e->graph;
  seer_extent of_x[SEER_MAX_RANK], left = 0;
  uint32_t n_left = 0, n_missing = 0;
  seer_extent missing = 0;
  int64_t above = 1, below = 1, number;
  for (uint32_t d = 0; d < r->n_x; d++) {
    of_x[d] = r->from[d];
    if (!seer_extent_is_number(graph, of_x[d], &number)) continue;
    above *= number;
    of_x[d] = 0;
  }
  for (uint32_t k = 0; k < r->n_y; k++) {
    if (k == at) continue;
    if (seer_extent_is_number(graph, r->to[k], &number)) {
      below *= number;
      continue;
    }
    uint32_t d = 0;
    while (d < r->n_x && of_x[d] != r->to[k]) d++;
    if (d < r->n_x) {
      of_x[d] = 0;
    } else {
      missing = r->to[k];
      n_missing++;
    }
  }
  for (uint32_t d = 0; d < r->n_x; d++) {
    if (!of_x[d]) continue;
    left = of_x[d];
    n_left++;
  }
  if (n_left > 1 || n_missing > 1 || below < 1) return refuse_reshape(r);
  seer_extent whole =
      n_left ? seer_extent_times(graph, left, above) : seer_extent_number(graph, above);
  if (n_missing == 0) {
    r->to[at] = whole ? seer_extent_quotient(graph, whole, below) : 0;
  } else {
    // left * above = missing * below * it, and it is a number
    seer_extent other = seer_extent_times(graph, missing, below);
    for (int64_t it = 1; other && whole && it <= above && !r->to[at]; it++)
      if (above % it == 0 && seer_extent_times(graph, other, it) == whole)
        r->to[at] = seer_extent_number(graph, it);
  }
  return r->to[at] ? SEER_OK : refuse_reshape(r);
}

static seer_val scaled(reshape *r, seer_val size, int64_t by, const char *op_type) {
  return by == 1 ? size : seer_expand_2(r->e, op_type, size, seer_expand_ints(r->e, &by, 1));
}

// From dimension d of x and k of the result on: a group, or one of each; moves both on.
static seer_status match(reshape *r, uint32_t *d, uint32_t *k) {
  seer_graph *graph = r->e->graph;
  int64_t above = 1, below = 1, number;
  seer_extent a = *d < r->n_x ? r->from[*d] : seer_extent_number(graph, 1);
  seer_extent b = *k < r->n_y ? r->to[*k] : seer_extent_number(graph, 1);
  uint32_t first = *k;
  seer_val size = *d < r->n_x ? r->x->size[*d] : (seer_val){0};
  int64_t bound = *d < r->n_x ? r->x->dim[*d] : 1;
  *d += *d < r->n_x;
  *k += *k < r->n_y;
  while (a != b) {  // the smaller one takes what stands behind it
    int64_t low[2], high[2];
    seer_extent_range(graph, a, &low[0], &high[0]);
    seer_extent_range(graph, b, &low[1], &high[1]);
    bool takes_x = high[0] < high[1];
    if (high[0] == high[1] || (takes_x ? *d == r->n_x : *k == r->n_y)) return refuse_reshape(r);
    if (!seer_extent_is_number(graph, takes_x ? r->from[*d] : r->to[*k], &number) || number < 1)
      return refuse_reshape(r);
    if (takes_x) {
      above *= number;
      bound *= number;
      a = seer_extent_times(graph, a, number);
      ++*d;
    } else {
      below *= number;
      r->s.bound[*k] = number;
      b = seer_extent_times(graph, b, number);
      ++*k;
    }
    if (!a || !b) return refuse_reshape(r);
  }
  if (first == r->n_y) return SEER_OK;
  if (bound % below != 0) return refuse_reshape(r);
  r->s.bound[first] = bound / below;
  if (size.i) r->s.size[first] = scaled(r, scaled(r, size, above, "Mul"), below, "Div");
  return SEER_OK;
}

static bool is_one(seer_graph *graph, seer_extent x) {
  int64_t number;
  return seer_extent_is_number(graph, x, &number) && number == 1;
}

seer_status seer_shaped_reshape(seer_expand *e) {
  reshape r = {.e = e};
  seer_extent entry[2 * SEER_MAX_RANK];
  uint32_t n = 0, rest = UINT32_MAX;
  const seer_value x = *seer_expand_in(e, 0);
  bool keeps_zero = seer_node_attr_i(&e->node, "allowzero", 0) != 0;
  SEER_TRY(read_entries(e, 1, "shape", entry, &n));
  if (n > SEER_MAX_RANK)
    return SEER_FAIL(UNSUPPORTED, "shape has %u entries, at most %d", n, SEER_MAX_RANK);
  r.x = &x;
  r.n_x = x.rank;
  r.n_y = r.s.rank = n;
  for (uint32_t d = 0; d < x.rank; d++) r.from[d] = seer_extent_of_dim(e->graph, e->node.in[0], d);
  for (uint32_t k = 0; k < n; k++) {
    int64_t number;
    r.to[k] = entry[k];
    if (!seer_extent_is_number(e->graph, entry[k], &number)) {
      SEER_TRY(find_bound(e, entry[k], "shape", k, &number));
      continue;
    }
    if (number == 0 && !keeps_zero && k < x.rank) r.to[k] = r.from[k];
    if (number < -1 || (number == -1 && rest != UINT32_MAX) ||
        (number == 0 && (keeps_zero || k >= x.rank)))
      return SEER_FAIL(INVALID, "shape's entry %u is %" PRId64, k, number);
    if (number == -1) rest = k;
  }
  if (rest != UINT32_MAX) {
    r.to[rest] = 0;
    SEER_TRY(find_rest(&r, rest));
  }
  for (uint32_t d = 0, k = 0; d < r.n_x || k < r.n_y;) {
    bool skips_x = d < r.n_x && is_one(e->graph, r.from[d]),
         skips_y = k < r.n_y && is_one(e->graph, r.to[k]);
    if (skips_y) r.s.bound[k] = 1;
    d += skips_x;
    k += skips_y;
    if (!skips_x && !skips_y) SEER_TRY(match(&r, &d, &k));
  }
  seer_val all = seer_expand_reshape(e, at_bound(e, e->node.in[0]), r.s.bound, n);
  seer_expand_output(e, 0, told_sizes(e, all, &r.s));
  return SEER_OK;
}

// ---- Flatten

// Dimensions [from, to) of input 0 multiplied, i64[1].
static seer_val product(seer_expand *e, uint32_t from, uint32_t to) {
  int64_t known = 1;
  seer_val all = {0};
  for (uint32_t d = from; d < to; d++) {
    seer_val size = seer_expand_in(e, 0)->size[d];
    if (size.i == 0) known *= seer_expand_in(e, 0)->dim[d];
    if (size.i) all = all.i ? seer_expand_2(e, "Mul", all, size) : size;
  }
  if (all.i && known == 1) return all;
  seer_val number = seer_expand_ints(e, &known, 1);
  return all.i ? seer_expand_2(e, "Mul", all, number) : number;
}

seer_status seer_shaped_flatten(seer_expand *e) {
  uint32_t rank = seer_expand_in(e, 0)->rank;
  int64_t axis = seer_node_attr_i(&e->node, "axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank)
    return SEER_FAIL(INVALID, "attribute 'axis' is out of range for rank %u", rank);
  seer_val part[2] = {product(e, 0, (uint32_t)axis), product(e, (uint32_t)axis, rank)};
  seer_val parts = seer_expand_concat(e, part, 2, 0);
  seer_expand_output(e, 0, seer_expand_2(e, "Reshape", e->node.in[0], parts));
  return SEER_OK;
}

// ---- Pad with constants

bool seer_shaped_pad_is_data(const seer_graph *graph, const seer_node *node) {
  return seer_shaped_by_data(graph, node) || seer_sized_reads(graph, node);
}

// Pads by dimension, begins then ends; 0 where there are none. out_entry: which of operand 1 it is.
static seer_status read_pads(
    seer_expand *e, uint32_t rank, seer_extent *out_pads, uint32_t *out_entry) {
  seer_extent entry[2 * SEER_MAX_RANK];
  uint32_t n = 0;
  SEER_TRY(read_entries(e, 1, "pads", entry, &n));
  const seer_tensor *axes = seer_op_const(e->graph, &e->node, 3);
  if (seer_op_has_in(&e->node, 3) && !axes)
    return SEER_FAIL(UNSUPPORTED, "input 3 (axes) must be constant after folding");
  uint32_t n_axes = axes ? (uint32_t)seer_tensor_elems(axes) : rank;
  if (n != 2 * n_axes)
    return SEER_FAIL(INVALID, "'pads' has %u entries, must have %u", n, 2 * n_axes);
  for (uint32_t d = 0; d < 2 * rank; d++) out_pads[d] = seer_extent_number(e->graph, 0);
  for (uint32_t i = 0; i < n_axes; i++) {
    uint32_t d = i;
    if (axes)
      SEER_TRY(seer_op_axis(
          seer_dtype_load_i64(axes->dtype, axes->data, i), rank, "an entry of 'axes'", &d));
    for (uint32_t side = 0; side < 2; side++) {
      out_pads[d + side * rank] = entry[i + side * n_axes];
      out_entry[d + side * rank] = i + side * n_axes;
    }
  }
  return SEER_OK;
}

seer_status seer_shaped_pad(seer_expand *e) {
  seer_value x = *seer_expand_in(e, 0);
  seer_extent pads[2 * SEER_MAX_RANK];
  uint32_t entry[2 * SEER_MAX_RANK] = {0}, mask = 0;
  int64_t fixed[2 * SEER_MAX_RANK] = {0};
  shape s = {.rank = x.rank};
  if (strcmp(seer_node_attr_s(&e->node, "mode", "constant"), "constant") != 0)
    return SEER_FAIL(UNSUPPORTED,
        "attribute 'mode' is '%s', must be constant where sizes or pads are data",
        seer_node_attr_s(&e->node, "mode", "constant"));
  if (!seer_op_has_in(&e->node, 1))
    return seer_sized_refuse_any(e->graph, &e->node, "pads must be an operand");
  SEER_TRY(read_pads(e, x.rank, pads, entry));
  for (uint32_t d = 0; d < x.rank; d++) {
    seer_extent own = seer_extent_of_dim(e->graph, e->node.in[0], d);
    if (!seer_extent_is_number(e->graph, pads[d], &fixed[d]))
      return SEER_FAIL(
          UNSUPPORTED, "entry %u of 'pads', a begin, must be constant after folding", entry[d]);
    seer_extent whole =
        seer_extent_sum(e->graph, seer_extent_sum(e->graph, own, pads[d]), pads[d + x.rank]);
    if (!whole) return SEER_FAIL(UNSUPPORTED, "dimension %u is data in too many steps", d);
    if (x.size[d].i) mask |= 1u << d;
    if (x.size[d].i && fixed[d] < 0)
      return SEER_FAIL(
          UNSUPPORTED, "entry %u of 'pads' is negative, where sizes are data", entry[d]);
    if (!seer_extent_is_number(e->graph, whole, &s.bound[d])) {
      SEER_TRY(find_bound(e, whole, "pads", entry[d + x.rank], &s.bound[d]));
      seer_val size = x.size[d].i ? x.size[d] : seer_expand_ints(e, &x.dim[d], 1);
      size = seer_expand_2(e, "Add", size, pick(e, 1, entry[d + x.rank]));
      s.size[d] = seer_expand_2(e, "Add", size, seer_expand_ints(e, &fixed[d], 1));
    }
    // Negative ones cut.
    fixed[d + x.rank] = s.bound[d] - x.dim[d] - fixed[d];
  }
  seer_val fill = seer_op_has_in(&e->node, 2) ? seer_expand_reshape(e, e->node.in[2], NULL, 0)
                                              : seer_expand_scalar(e, x.dtype, 0);
  seer_val all = mask ? seer_expand_masked(e, e->node.in[0], mask, fill) : e->node.in[0];
  seer_val in[3] = {all, seer_expand_ints(e, fixed, 2u * x.rank), fill};
  seer_expand_output(e, 0, told_sizes(e, seer_expand_add(e, "Pad", in, 3, NULL, 0), &s));
  return SEER_OK;
}

// ---- Slice

bool seer_shaped_slice_is_data(const seer_graph *graph, const seer_node *node) {
  return (seer_op_has_in(node, 1) && !seer_op_const(graph, node, 1)) ||
      (seer_op_has_in(node, 2) && !seer_op_const(graph, node, 2));
}

// A place that data gives, within [0, size]: those below 0 count from the size.
static seer_val place_within(seer_expand *e, uint32_t k, uint32_t i, seer_extent x, seer_val size) {
  int64_t least, most, none = 0;
  seer_val at = pick(e, k, i), zero = seer_expand_ints(e, &none, 1);
  seer_extent_range(e->graph, x, &least, &most);
  if (least < 0) {
    seer_val from_end = seer_expand_2(e, "Add", at, size);
    at = seer_expand_3(e, "Where", seer_expand_2(e, "Less", at, zero), from_end, at);
    at = seer_expand_2(e, "Max", at, zero);
  }
  return seer_expand_2(e, "Min", at, size);
}

// Elements [start, end) of dimension d of x.
static seer_status slice_dim(
    seer_expand *e, seer_val *x, uint32_t d, uint32_t i, seer_extent start, seer_extent end) {
  const seer_value value = *seer_graph_value(e->graph, *x);
  int64_t bound = value.dim[d], none = 0, first = 0, least, most, axis = d;
  seer_val size = value.size[d].i ? value.size[d] : seer_expand_ints(e, &bound, 1);
  bool from_start = seer_extent_is_number(e->graph, start, &first) && first == 0;
  seer_val begin = from_start ? seer_expand_ints(e, &none, 1) : place_within(e, 1, i, start, size);
  seer_val n = place_within(e, 2, i, end, size);
  if (!from_start)
    n = seer_expand_2(e, "Max", seer_expand_2(e, "Sub", n, begin), seer_expand_ints(e, &none, 1));
  SEER_TRY(e->resolve(e));
  seer_extent count = seer_extent_of(e->graph, n, 0);
  if (!count) return SEER_FAIL(UNSUPPORTED, "dimension %u is data in too many steps", d);
  seer_extent_range(e->graph, count, &least, &most);
  most = seer_max_i64(seer_min_i64(most, bound), 1);
  int64_t axes[SEER_MAX_RANK] = {axis};
  seer_val sizes[SEER_MAX_RANK] = {n}, all = at_bound(e, *x);
  uint32_t n_sized = 1;
  for (uint32_t o = 0; o < value.rank; o++) {
    if (o == d || value.size[o].i == 0) continue;
    axes[n_sized] = o;
    sizes[n_sized++] = value.size[o];
  }
  if (from_start) {
    all = seer_expand_slice(e, all, axis, 0, most);
  } else {
    int64_t last = bound - 1;
    seer_val places = seer_expand_2(e, "Add", seer_expand_index(e, most, 0, 1, n), begin);
    places = seer_expand_2(e, "Min", places, seer_expand_ints(e, &last, 1));
    all = seer_expand_2i(e, "Gather", all, places, "axis", axis);
  }
  *x = seer_expand_sized(e, all, axes, sizes, n_sized);
  return e->resolve(e);
}

seer_status seer_shaped_slice(seer_expand *e) {
  seer_extent starts[2 * SEER_MAX_RANK], ends[2 * SEER_MAX_RANK];
  uint32_t n = 0, n_ends = 0, n_axes = 0, n_steps = 0, rank = seer_expand_in(e, 0)->rank;
  int64_t *axes = NULL, *steps = NULL;
  SEER_TRY(seer_expand_needs(e, 1, 3));
  SEER_TRY(read_entries(e, 1, "starts", starts, &n));
  SEER_TRY(read_entries(e, 2, "ends", ends, &n_ends));
  SEER_TRY(seer_op_ints(e->graph, &e->node, "axes", 3, e->scratch, &axes, &n_axes));
  SEER_TRY(seer_op_ints(e->graph, &e->node, "steps", 4, e->scratch, &steps, &n_steps));
  if (n != n_ends || n > rank || (n_axes != UINT32_MAX && n_axes != n) ||
      (n_steps != UINT32_MAX && n_steps != n))
    return SEER_FAIL(INVALID,
        "'starts', 'ends', 'axes' and 'steps' must have the same number of entries, at most %u",
        rank);
  seer_val x = e->node.in[0];
  for (uint32_t i = 0; i < n; i++) {
    uint32_t d = i;
    int64_t start, end, step = n_steps == UINT32_MAX ? 1 : steps[i];
    if (n_axes != UINT32_MAX) SEER_TRY(seer_op_axis(axes[i], rank, "an entry of 'axes'", &d));
    bool is_fixed = seer_extent_is_number(e->graph, starts[i], &start) &&
        seer_extent_is_number(e->graph, ends[i], &end);
    if (is_fixed) {
      const int64_t along = d;
      seer_val in[5] = {x, seer_expand_ints(e, &start, 1), seer_expand_ints(e, &end, 1),
          seer_expand_ints(e, &along, 1), seer_expand_ints(e, &step, 1)};
      x = seer_expand_add(e, "Slice", in, 5, NULL, 0);
      SEER_TRY(e->resolve(e));
      continue;
    }
    if (step != 1)
      return SEER_FAIL(UNSUPPORTED,
          "dimension %u is sliced from or to a place that is data, in steps of %" PRId64
          ", must be 1",
          d, step);
    if (seer_graph_value(e->graph, x)->dim[d] < 1)
      return SEER_FAIL(UNSUPPORTED, "dimension %u has no elements", d);
    SEER_TRY(slice_dim(e, &x, d, i, starts[i], ends[i]));
  }
  seer_expand_output(e, 0, x);
  return SEER_OK;
}
