// resize.c - Resize: nearest, linear and cubic interpolation. Every transformation of coordinates
// is linear, x = scale * i + offset along each dimension; an output element is the sum over the
// taps of all resized dimensions, weights multiplied. Neighbours outside are those at the edge.
// Scales, extents made of them and coordinates are in f32, as ONNX Runtime and PyTorch have them.
#include <math.h>
#include <string.h>

#include "front/op/resize.h"
#include "front/op/sample.h"
#include "front/sized.h"

#define MAX_RESIZED 3  // dimensions whose extents change, with more than one tap each

typedef seer_resize_dimension dimension;
typedef seer_resize_plan plan;

static seer_status read_scales(const seer_graph *graph, const seer_node *node, uint32_t k,
    uint32_t n, float *out_scales, bool *out_found) {
  *out_found = false;
  if (!seer_op_has_in(node, k)) return SEER_OK;
  const seer_tensor *scales = seer_op_const(graph, node, k);
  if (!scales) return SEER_FAIL(UNSUPPORTED, "input %u (scales) must be constant", k);
  if (seer_tensor_elems(scales) == 0) return SEER_OK;
  if (seer_tensor_elems(scales) != n || !seer_dtype_is_float(scales->dtype))
    return SEER_FAIL(INVALID, "input %u (scales) has %" PRId64 " entries, must have %u floats", k,
        seer_tensor_elems(scales), n);
  for (uint32_t i = 0; i < n; i++) {
    double scale = seer_dtype_load_f64(scales->dtype, scales->data, i);
    if (!((float)scale > 0) || scale > 1e6)
      return SEER_FAIL(INVALID, "input %u (scales) has %g, must be positive", k, scale);
    out_scales[i] = (float)scale;
  }
  *out_found = true;
  return SEER_OK;
}

// Output extents from `sizes`: as given, or with the proportions kept.
static seer_status fit_sizes(
    const seer_node *node, const int64_t *sizes, const uint32_t *axes, uint32_t n, plan *p) {
  const char *policy = seer_node_attr_s(node, "keep_aspect_ratio_policy", "stretch");
  bool not_larger = strcmp(policy, "not_larger") == 0,
       not_smaller = strcmp(policy, "not_smaller") == 0;
  if (!not_larger && !not_smaller && strcmp(policy, "stretch") != 0)
    return SEER_FAIL(INVALID,
        "attribute 'keep_aspect_ratio_policy' is '%s', must be stretch, not_larger or not_smaller",
        policy);
  float common = 0;
  for (uint32_t i = 0; i < n; i++) {
    float ratio = (float)sizes[i] / (float)p->dim[axes[i]].in;
    if (i == 0 || (not_larger ? ratio < common : ratio > common)) common = ratio;
  }
  for (uint32_t i = 0; i < n; i++) {
    dimension *d = &p->dim[axes[i]];
    bool is_free = !not_larger && !not_smaller;
    d->scale = is_free ? (float)sizes[i] / (float)d->in : common;
    d->out = is_free ? sizes[i] : (int64_t)roundf(common * (float)d->in);
  }
  return SEER_OK;
}

static const char *coordinate_mode(const seer_node *node) {
  return seer_node_attr_s(
      node, "coordinate_transformation_mode", node->opset < 11 ? "asymmetric" : "half_pixel");
}

static bool is_crop(const seer_node *node) {
  return strcmp(coordinate_mode(node), "tf_crop_and_resize") == 0;
}

// The part of each dimension that is resized, as fractions of its first and last element; from
// input 1: all starts, then all ends.
static seer_status set_crop(
    const seer_graph *graph, const seer_node *node, const uint32_t *axes, uint32_t n, plan *p) {
  if (!seer_op_has_in(node, 1))
    return SEER_FAIL(
        INVALID, "coordinate_transformation_mode tf_crop_and_resize without input 1 (roi)");
  const seer_tensor *roi = seer_op_const(graph, node, 1);
  if (!roi) return SEER_FAIL(UNSUPPORTED, "input 1 (roi) must be constant");
  if (seer_tensor_elems(roi) != 2 * (int64_t)n || !seer_dtype_is_float(roi->dtype))
    return SEER_FAIL(INVALID, "input 1 (roi) has %" PRId64 " entries, must have %u floats",
        seer_tensor_elems(roi), 2 * n);
  for (uint32_t i = 0; i < n; i++) {
    dimension *d = &p->dim[axes[i]];
    double start = seer_dtype_load_f64(roi->dtype, roi->data, i),
           end = seer_dtype_load_f64(roi->dtype, roi->data, i + n), last = (double)d->in - 1;
    if (!(fabs(start) <= 1e6 && fabs(end) <= 1e6))
      return SEER_FAIL(
          INVALID, "input 1 (roi) has %g to %g, must be numbers up to 1e6", start, end);
    bool is_one = d->out <= 1;
    d->factor[0] = is_one ? 0 : (float)end - (float)start;
    d->factor[1] = last;
    d->divisor = is_one ? 1 : (double)d->out - 1;
    d->after[0] =
        is_one ? (float)(0.5 * ((float)start + (float)end) * last) : (float)start * (float)last;
    d->is_cropped = start < 0 || start > 1 || end < 0 || end > 1;
    d->is_resized |= start != 0 || end != 1;
  }
  return SEER_OK;
}

static seer_status set_coordinates(const seer_node *node, dimension *d) {
  const char *mode = coordinate_mode(node);
  float in = (float)d->in, out = (float)d->out;
  bool is_half = strcmp(mode, "half_pixel") == 0;
  bool is_pytorch = strcmp(mode, "pytorch_half_pixel") == 0;
  bool is_symmetric = strcmp(mode, "half_pixel_symmetric") == 0;
  d->factor[0] = d->factor[1] = 1;
  d->divisor = d->scale;
  d->before = d->after[0] = d->after[1] = 0;
  if (is_half || is_pytorch || is_symmetric) {
    d->before = 0.5;
    d->after[1] = -0.5;
    d->is_wide = is_symmetric;
    if (is_symmetric) d->after[0] = in / 2 * (1 - out / (d->scale * in));
    if (is_pytorch && d->out <= 1) d->before = d->after[1] = d->factor[0] = 0;
    return SEER_OK;
  }
  if (strcmp(mode, "asymmetric") == 0 || is_crop(node)) return SEER_OK;
  if (strcmp(mode, "tf_half_pixel_for_nn") == 0 && node->opset < 13) {
    d->before = 0.5;
    return SEER_OK;
  }
  if (strcmp(mode, "align_corners") == 0) {
    d->factor[0] = d->out > 1 ? in - 1 : 0;
    d->divisor = d->out > 1 ? out - 1 : 1;
    return SEER_OK;
  }
  return SEER_FAIL(INVALID, "attribute 'coordinate_transformation_mode' is '%s'", mode);
}

static double rounded(const dimension *d, double x) { return d->is_wide ? x : (float)x; }

float seer_resize_coordinate(const dimension *d, int64_t i) {
  double x = rounded(d, rounded(d, (double)i) + d->before);
  x = rounded(d, rounded(d, x * d->factor[0]) * d->factor[1]);
  x = rounded(d, x / d->divisor);
  return (float)rounded(d, rounded(d, x + d->after[0]) + d->after[1]);
}

seer_status seer_resize_read(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, plan *p) {
  const seer_value *x = NULL;
  int64_t *axis_list = NULL, *sizes = NULL;
  uint32_t n = 0, n_size = 0, axes[SEER_MAX_RANK];
  float scales[SEER_MAX_RANK];
  bool has_scales = false;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  p->rank = x->rank;
  p->n_resized = 0;
  for (uint32_t d = 0; d < x->rank; d++) {
    p->dim[d] = (dimension){.scale = 1, .in = x->dim[d], .out = x->dim[d]};
  }
  const seer_attr *attr = seer_node_attr_ints(node, "axes");
  n = attr ? (uint32_t)attr->n : x->rank;
  axis_list = attr ? (int64_t *)(uintptr_t)attr->ints : NULL;
  if (n > x->rank) return SEER_FAIL(INVALID, "attribute 'axes' has %u entries", n);
  for (uint32_t i = 0; i < n; i++) {
    axes[i] = i;
    if (attr) SEER_TRY(seer_op_axis(axis_list[i], x->rank, "an entry of 'axes'", &axes[i]));
  }
  // Opset 10: X, scales. Since 11: X, roi, scales, sizes.
  SEER_TRY(read_scales(graph, node, node->opset < 11 ? 1 : 2, n, scales, &has_scales));
  if (has_scales) {
    for (uint32_t i = 0; i < n; i++) {
      dimension *d = &p->dim[axes[i]];
      d->scale = scales[i];
      d->out = (int64_t)floorf(scales[i] * (float)d->in);
    }
  } else {
    if (!seer_op_has_in(node, 3)) return SEER_FAIL(INVALID, "neither 'scales' nor 'sizes'");
    SEER_TRY(seer_op_const_ints(graph, node, 3, "sizes", arena, &sizes, &n_size));
    if (n_size != n) return SEER_FAIL(INVALID, "'sizes' has %u entries, must have %u", n_size, n);
    SEER_TRY(fit_sizes(node, sizes, axes, n, p));
  }
  bool is_empty = false;  // then the result's shape is all that there is
  for (uint32_t d = 0; d < p->rank; d++) is_empty |= p->dim[d].out == 0 && p->dim[d].in == 0;
  for (uint32_t d = 0; d < p->rank; d++) {
    dimension *one = &p->dim[d];
    if (one->in == 0 && is_empty) {
      one->scale = 1;
      continue;
    }
    if (one->in == 0) return SEER_FAIL(INVALID, "dimension %u has no elements to resize", d);
    if (one->out < 1)
      return SEER_FAIL(INVALID, "extent %u becomes %" PRId64 ", must be at least 1", d, one->out);
    one->is_resized = one->out != one->in || one->scale != 1;
    SEER_TRY(set_coordinates(node, one));
  }
  if (is_crop(node)) SEER_TRY(set_crop(graph, node, axes, n, p));
  for (uint32_t d = 0; d < p->rank; d++) p->n_resized += p->dim[d].is_resized;
  return SEER_OK;
}

static bool is_antialiased(const seer_graph *graph, const seer_node *node) {
  (void)graph;
  return seer_node_attr_i(node, "antialias", 0) != 0;
}

static seer_status check_modes(const seer_node *node, const plan *p) {
  const char *mode = seer_node_attr_s(node, "mode", "nearest");
  bool is_nearest = strcmp(mode, "nearest") == 0;
  if (!is_nearest && strcmp(mode, "linear") != 0 && strcmp(mode, "cubic") != 0)
    return SEER_FAIL(INVALID, "attribute 'mode' is '%s', must be nearest, linear or cubic", mode);
  if (!is_nearest && p->n_resized > MAX_RESIZED)
    return SEER_FAIL(UNSUPPORTED, "mode %s over %u dimensions", mode, p->n_resized);
  return SEER_OK;
}

static seer_status infer_resize(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  plan p;
  int64_t dim[SEER_MAX_RANK];
  SEER_TRY(seer_resize_read(graph, node, arena, &p));
  SEER_TRY(check_modes(node, &p));
  for (uint32_t d = 0; d < p.rank; d++) dim[d] = p.dim[d].out;
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  if (x->dtype == SEER_DTYPE_BOOL &&
      strcmp(seer_node_attr_s(node, "mode", "nearest"), "nearest") != 0)
    return SEER_FAIL(INVALID, "input 0 ('%s') is bool, must be numbers but for nearest", x->name);
  return seer_op_set(&out_values[0], x->dtype, dim, p.rank);
}

// ---- taps of one dimension
typedef struct {
  uint32_t n;
  seer_expr index[4], weight[4];  // weight 0: 1
} taps;

static seer_expr with(seer_emit *emit, seer_expr_op op, seer_expr x, double value, double neutral) {
  if (value == neutral) return x;
  return seer_op_2(emit, op, x, seer_op_num(emit, seer_op_dtype(emit, x), value));
}

// In f32: seer_resize_coordinate.
static seer_expr coordinate(seer_emit *emit, const dimension *d, seer_expr i) {
  seer_expr_pool *pool = &emit->dag->expr;
  seer_expr x = seer_expr_cast(pool, d->is_wide ? SEER_DTYPE_F64 : SEER_DTYPE_F32, i);
  x = with(emit, SEER_EXPR_ADD, x, d->before, 0);
  x = with(emit, SEER_EXPR_MUL, x, d->factor[0], 1);
  x = with(emit, SEER_EXPR_MUL, x, d->factor[1], 1);
  x = with(emit, SEER_EXPR_DIV, x, d->divisor, 1);
  x = with(emit, SEER_EXPR_ADD, x, d->after[0], 0);
  x = with(emit, SEER_EXPR_ADD, x, d->after[1], 0);
  return d->is_wide ? seer_expr_cast(pool, SEER_DTYPE_F32, x) : x;
}

// The element that x is taken for. What is left over a whole number is exact in f32; x + 0.5 is
// not. A rest within 1e-6 of a half is one (ONNX Runtime of 2026): 9 / 1.2 is 7.4999995.
static seer_expr nearest(seer_emit *emit, const seer_node *node, const dimension *d, seer_expr x) {
  // Before opset 11 what shrinks reads at the next element (the standard's examples, ONNX Runtime).
  const char *usual = node->opset >= 11 ? "round_prefer_floor" : d->scale < 1 ? "ceil" : "floor";
  const char *mode = seer_node_attr_s(node, "nearest_mode", usual);
  seer_expr floor = seer_op_1(emit, SEER_EXPR_FLOOR, x);
  if (strcmp(mode, "floor") == 0) return seer_op_to_i64(emit, floor);
  if (strcmp(mode, "ceil") == 0) return seer_op_to_i64(emit, seer_op_1(emit, SEER_EXPR_CEIL, x));
  bool is_next = strcmp(mode, "round_prefer_ceil") == 0;
  seer_expr half = seer_op_num(emit, SEER_DTYPE_F32, is_next ? 0.5 - 1e-6 : 0.5 + 1e-6);
  seer_expr rest = seer_op_2(emit, SEER_EXPR_SUB, x, floor);
  seer_expr more = seer_op_2(emit, is_next ? SEER_EXPR_GE : SEER_EXPR_GT, rest, half);
  return seer_op_2(emit, SEER_EXPR_ADD, seer_op_to_i64(emit, floor), seer_op_to_i64(emit, more));
}

static void make_taps(seer_emit *emit, const seer_node *node, const dimension *d, seer_expr i,
    seer_dtype dtype, taps *out) {
  const char *mode = seer_node_attr_s(node, "mode", "nearest");
  seer_expr_pool *pool = &emit->dag->expr;
  *out = (taps){.n = 1, .index = {i}};
  if (!d->is_resized) return;
  seer_expr x = coordinate(emit, d, i);
  if (strcmp(mode, "nearest") == 0) {
    out->index[0] = seer_op_clamp(emit, nearest(emit, node, d, x), d->in);
    return;
  }
  seer_expr floor = seer_op_1(emit, SEER_EXPR_FLOOR, x), first = seer_op_to_i64(emit, floor);
  seer_expr t = seer_op_2(emit, SEER_EXPR_SUB, x, floor);
  t = seer_expr_cast(pool, SEER_DTYPE_F64, t);
  bool is_cubic = strcmp(mode, "cubic") == 0;
  seer_expr weight[4], sum = {0};
  out->n = is_cubic ? 4 : 2;
  if (is_cubic) {
    seer_sample_cubic(emit, seer_node_attr_f(node, "cubic_coeff_a", -0.75), t, weight);
  } else {
    weight[0] = seer_op_2(emit, SEER_EXPR_SUB, seer_op_num(emit, SEER_DTYPE_F64, 1), t);
    weight[1] = t;
  }
  bool is_cut = seer_node_attr_i(node, "exclude_outside", 0) != 0;
  for (uint32_t k = 0; k < out->n; k++) {
    seer_expr at = seer_op_2(emit, SEER_EXPR_ADD, first, seer_op_int(emit, (int64_t)k - is_cubic));
    if (is_cut) {
      seer_expr inside =
          seer_op_2(emit, SEER_EXPR_AND, seer_op_2(emit, SEER_EXPR_GE, at, seer_op_int(emit, 0)),
              seer_op_2(emit, SEER_EXPR_LT, at, seer_op_int(emit, d->in)));
      weight[k] = seer_expr_select(pool, inside, weight[k], seer_op_num(emit, SEER_DTYPE_F64, 0));
      sum = k == 0 ? weight[k] : seer_op_2(emit, SEER_EXPR_ADD, sum, weight[k]);
    }
    out->index[k] = seer_op_clamp(emit, at, d->in);
  }
  for (uint32_t k = 0; k < out->n; k++) {
    if (is_cut) weight[k] = seer_op_2(emit, SEER_EXPR_DIV, weight[k], sum);
    out->weight[k] = dtype == SEER_DTYPE_F64 ? weight[k] : seer_expr_cast(pool, dtype, weight[k]);
  }
}

// Sum over the taps of dimensions d and on.
static seer_expr gather(seer_emit *emit, const seer_node *node, const plan *p, const taps *all,
    uint32_t d, seer_expr *index, seer_dtype dtype) {
  if (d == p->rank)
    return seer_expr_cast(&emit->dag->expr, dtype, seer_emit_load(emit, node, 0, index));
  seer_expr sum = {0};
  for (uint32_t k = 0; k < all[d].n; k++) {
    index[d] = all[d].index[k];
    seer_expr one = gather(emit, node, p, all, d + 1, index, dtype);
    if (all[d].weight[k].i) one = seer_op_2(emit, SEER_EXPR_MUL, one, all[d].weight[k]);
    sum = k == 0 ? one : seer_op_2(emit, SEER_EXPR_ADD, sum, one);
  }
  return sum;
}

seer_dtype seer_resize_dtype(seer_dtype dtype) {
  if (seer_dtype_is_float(dtype)) return seer_dtype_computed(dtype);
  return seer_dtype_bytes(dtype) == 1 ? SEER_DTYPE_F32 : SEER_DTYPE_F64;
}

// Integers are cut off toward zero, as ONNX Runtime does it. Of equal neighbours the sum of their
// parts may be a rounding less than what they are: that much is added first.
static seer_expr cut_off(seer_emit *emit, seer_dtype made, seer_expr x) {
  seer_dtype dtype = seer_op_dtype(emit, x);
  double rounding = dtype == SEER_DTYPE_F32 ? 0x1p-13 : 0x1p-20;
  seer_expr more = seer_op_2(
      emit, SEER_EXPR_MUL, seer_op_1(emit, SEER_EXPR_SIGN, x), seer_op_num(emit, dtype, rounding));
  return seer_expr_cast(&emit->dag->expr, made, seer_op_2(emit, SEER_EXPR_ADD, x, more));
}

static seer_status emit_resize(seer_emit *emit, const seer_node *node) {
  plan p;
  SEER_TRY(seer_resize_read(emit->graph, node, emit->arena, &p));
  seer_dtype made = seer_dtype_computed(seer_emit_out(emit, node, 0)->dtype);
  bool is_nearest = strcmp(seer_node_attr_s(node, "mode", "nearest"), "nearest") == 0;
  seer_dtype dtype = is_nearest ? made : seer_resize_dtype(made);
  seer_expr at[SEER_MAX_RANK], index[SEER_MAX_RANK];
  taps all[SEER_MAX_RANK];
  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, NULL, NULL, 0, at, NULL);
  for (uint32_t d = 0; d < p.rank; d++) make_taps(emit, node, &p.dim[d], at[d], dtype, &all[d]);
  seer_expr body = gather(emit, node, &p, all, 0, index, dtype), inside = {0};
  for (uint32_t d = 0; d < p.rank; d++) {
    if (!p.dim[d].is_cropped) continue;
    seer_expr x = coordinate(emit, &p.dim[d], at[d]);
    seer_expr one = seer_op_2(emit, SEER_EXPR_AND,
        seer_op_2(emit, SEER_EXPR_GE, x, seer_op_num(emit, SEER_DTYPE_F32, 0)),
        seer_op_2(
            emit, SEER_EXPR_LE, x, seer_op_num(emit, SEER_DTYPE_F32, (double)p.dim[d].in - 1)));
    inside = inside.i ? seer_op_2(emit, SEER_EXPR_AND, inside, one) : one;
  }
  if (inside.i)
    body = seer_expr_select(&emit->dag->expr, inside, body,
        seer_op_num(emit, dtype, seer_node_attr_f(node, "extrapolation_value", 0)));
  if (dtype != made) body = cut_off(emit, made, body);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, body);
  return SEER_OK;
}

// A dimension of found size may stand where nothing is resized, and where the file does not say how
// many there are.
static seer_status carry_resize(seer_expand *e) {
  const seer_attr *axes = seer_node_attr_ints(&e->node, "axes");
  bool has_sizes = seer_op_has_in(&e->node, 3);
  plan p;
  SEER_TRY(seer_resize_read(e->graph, &e->node, e->scratch, &p));
  SEER_SIZED_EACH(e, at) {
    bool is_named = !axes;
    for (size_t k = 0; axes && k < axes->n; k++) {
      int64_t axis = axes->ints[k];
      is_named |= (axis < 0 ? axis + p.rank : axis) == at.d;
    }
    if (at.k > 0) return seer_sized_refuse(e, at, "this operand must have a known size");
    if (p.dim[at.d].is_resized || (is_named && has_sizes))
      return seer_sized_refuse(e, at, "it cannot be resized: its scale must be 1");
    SEER_TRY(seer_sized_give(e, at, 0, at.d));
  }
  return SEER_OK;
}

SEER_OP_ENTRY(resize, "Resize", 10, 1, 4, 1, SEER_FUSE_OPAQUE,
    "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
    "extrapolation_value keep_aspect_ratio_policy mode nearest_mode",
    .rtol = 1e-4, .atol = 1e-5, .infer = infer_resize, .emit = emit_resize,
    .expand = seer_resize_expand, .is_composite = is_antialiased, .carry_sizes = carry_resize,
    .wants_channels_last = true,
    .doc =
        "nearest, linear, cubic; constant scales, sizes, roi; integers are cut off toward zero, "
        "with antialias rounded, halves up")
