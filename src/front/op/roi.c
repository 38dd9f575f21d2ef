// roi.c - parts of images: RoiAlign, which takes means or maxima of points between the pixels of
// each part's bins, and MaxRoiPool, which takes maxima of pixels.
#include <string.h>

#include "front/expand/expand.h"
#include "front/op/sample.h"
#include "front/sized.h"

enum { MAX_POOLED = 1 << 15, MAX_SAMPLES = 1 << 15 };

static seer_expr add(seer_emit *emit, seer_expr a, seer_expr b) {
  return seer_op_2(emit, SEER_EXPR_ADD, a, b);
}
static seer_expr sub(seer_emit *emit, seer_expr a, seer_expr b) {
  return seer_op_2(emit, SEER_EXPR_SUB, a, b);
}
static seer_expr mul(seer_emit *emit, seer_expr a, seer_expr b) {
  return seer_op_2(emit, SEER_EXPR_MUL, a, b);
}
static seer_expr both(seer_emit *emit, seer_expr a, seer_expr b) {
  return seer_op_2(emit, SEER_EXPR_AND, a, b);
}

// ---- RoiAlign. Along each dimension a bin has n points, at ((i + 0.5) / n) of its length: n is
// given, or (0) the bin's length rounded up, and then data. A stage says where the points are, or
// that they are none: behind the n-th, or outside the image, where they are zeros.

typedef struct {
  bool is_max, is_half;
  // height, width; n_sample: of one bin, or the most that are looked at
  int64_t size[2], n_sample[2];
  bool is_adaptive;
  // Of an adaptive one: the points in front of the image are left out, so that n_sample is enough
  // for bins of any length.
  bool skips_outside;
  double scale;
} roi_align;

static const char *usual_coordinates(const seer_node *node) {
  return node->opset < 16 ? "output_half_pixel" : "half_pixel";
}

static seer_status read_roi_align(const seer_node *node, roi_align *out) {
  const char *mode = seer_node_attr_s(node, "mode", "avg");
  const char *coordinates =
      seer_node_attr_s(node, "coordinate_transformation_mode", usual_coordinates(node));
  out->is_max = strcmp(mode, "max") == 0;
  if (!out->is_max && strcmp(mode, "avg") != 0)
    return SEER_FAIL(INVALID, "attribute 'mode' is '%s', must be avg or max", mode);
  out->is_half = strcmp(coordinates, "half_pixel") == 0;
  if (!out->is_half && strcmp(coordinates, "output_half_pixel") != 0) {
    return SEER_FAIL(INVALID,
        "attribute 'coordinate_transformation_mode' is '%s', must be half_pixel or "
        "output_half_pixel",
        coordinates);
  }
  static const char *const names[2] = {"output_height", "output_width"};
  int64_t ratio = seer_node_attr_i(node, "sampling_ratio", 0);
  if (ratio < 0 || ratio > MAX_SAMPLES) {
    return SEER_FAIL(
        INVALID, "attribute 'sampling_ratio' is %" PRId64 ", must be 0 to %d", ratio, MAX_SAMPLES);
  }
  for (uint32_t d = 0; d < 2; d++) {
    out->size[d] = seer_node_attr_i(node, names[d], 1);
    out->n_sample[d] = ratio;
    if (out->size[d] < 1 || out->size[d] > MAX_POOLED)
      return SEER_FAIL(INVALID, "attribute '%s' is %" PRId64 ", must be 1 to %d", names[d],
          out->size[d], MAX_POOLED);
  }
  out->scale = seer_node_attr_f(node, "spatial_scale", 1);
  const seer_attr *most = seer_node_attr_ints(node, "most");
  out->is_adaptive = ratio == 0;
  out->skips_outside = seer_node_attr_i(node, "skips_outside", 0) != 0;
  for (uint32_t d = 0; most && d < 2; d++) out->n_sample[d] = most->ints[d];
  return SEER_OK;
}

static seer_status check_regions(const seer_graph *graph, const seer_node *node, uint32_t columns,
    seer_arena *arena, const seer_value **out_x, const seer_value **out_rois) {
  SEER_TRY(seer_op_in(graph, node, 0, out_x));
  SEER_TRY(seer_op_in(graph, node, 1, out_rois));
  SEER_TRY(seer_op_want_float(*out_x, 0));
  SEER_TRY(seer_op_same_dtype(*out_x, *out_rois, 1));
  if ((*out_x)->rank != 4 || seer_op_elems(*out_x) == 0)
    return SEER_FAIL(INVALID, "input 0 is %s, must be [batch, channels, height, width]",
        seer_op_shape_text(*out_x, arena));
  if ((*out_rois)->rank == 2 && (*out_rois)->dim[1] == columns) return SEER_OK;
  return SEER_FAIL(INVALID, "input 1 is %s, must be [regions, %u]",
      seer_op_shape_text(*out_rois, arena), columns);
}

static seer_status infer_roi_align(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL, *rois = NULL, *batch = NULL;
  roi_align r;
  SEER_TRY(check_regions(graph, node, 4, arena, &x, &rois));
  SEER_TRY(read_roi_align(node, &r));
  SEER_TRY(seer_op_in(graph, node, 2, &batch));
  if (batch->rank != 1 || batch->dim[0] != rois->dim[0] || batch->dtype != SEER_DTYPE_I64) {
    return SEER_FAIL(INVALID, "input 2 is %s, must be i64[%" PRId64 "] as there are regions",
        seer_value_type_text(batch, arena), rois->dim[0]);
  }
  const int64_t dim[4] = {rois->dim[0], x->dim[1], r.size[0], r.size[1]};
  return seer_op_set(&out_values[0], x->dtype, dim, 4);
}

// Of region `roi` along dimension d: where it starts, the length of a bin, and how many points that
// has (a float).
typedef struct {
  seer_expr start, bin, n;
} roi_side;

static roi_side side_of(
    seer_emit *emit, const seer_node *node, const roi_align *r, uint32_t d, seer_expr roi) {
  seer_expr end[2];
  for (uint32_t k = 0; k < 2; k++) {
    seer_expr at[2] = {roi, seer_op_int(emit, 2 * k + 1 - d)};  // x1, y1, x2, y2
    seer_expr place = seer_emit_load(emit, node, 1, at);
    seer_dtype dtype = seer_op_dtype(emit, place);
    end[k] = mul(emit, place, seer_op_num(emit, dtype, r->scale));
    if (r->is_half) end[k] = sub(emit, end[k], seer_op_num(emit, dtype, 0.5));
  }
  seer_dtype dtype = seer_op_dtype(emit, end[0]);
  seer_expr length = sub(emit, end[1], end[0]);
  if (!r->is_half) length = seer_op_2(emit, SEER_EXPR_MAX, length, seer_op_num(emit, dtype, 1));
  roi_side side = {.start = end[0]};
  side.bin = seer_op_2(emit, SEER_EXPR_DIV, length, seer_op_num(emit, dtype, (double)r->size[d]));
  side.n = r->is_adaptive ? seer_op_1(emit, SEER_EXPR_CEIL, side.bin)
                          : seer_op_num(emit, dtype, (double)r->n_sample[d]);
  return side;
}

static const double no_point = -2;  // in place of a coordinate, all of which are 0 or more

// [regions, bins, points]: where along dimension d the points are.
static uint32_t emit_points(
    seer_emit *emit, const seer_node *node, const roi_align *r, uint32_t d) {
  const seer_value *x = seer_emit_in(emit, node, 0), *rois = seer_emit_in(emit, node, 1);
  seer_expr_pool *pool = &emit->dag->expr;
  seer_dag_axis dims[3] = {{NULL, rois->dim[0], SEER_AXIS_OTHER},
      {NULL, r->size[d], SEER_AXIS_OTHER}, {NULL, r->n_sample[d], SEER_AXIS_OTHER}};
  seer_expr at[3];
  uint32_t stage = seer_emit_temp(
      emit, d == 0 ? "y" : "x", SEER_STAGE_PROLOGUE, dims, 3, NULL, NULL, 0, at, NULL);
  roi_side side = side_of(emit, node, r, d, at[0]);
  seer_dtype dtype = seer_op_dtype(emit, side.bin);
  seer_expr i = seer_expr_cast(pool, dtype, at[2]), bin = seer_expr_cast(pool, dtype, at[1]);
  seer_expr begin = add(emit, side.start, mul(emit, bin, side.bin));
  // Points have their distances from 0.5 to 1 where there are two or more, else one: the first in
  // [-1, extent] is no later than this.
  if (r->skips_outside) {
    seer_expr step = seer_op_2(emit, SEER_EXPR_DIV, side.bin, side.n);
    seer_expr first =
        seer_op_2(emit, SEER_EXPR_DIV, sub(emit, seer_op_num(emit, dtype, -1), begin), step);
    first = seer_op_1(emit, SEER_EXPR_FLOOR, sub(emit, first, seer_op_num(emit, dtype, 1)));
    i = add(emit, i, seer_op_2(emit, SEER_EXPR_MAX, first, seer_op_num(emit, dtype, 0)));
  }
  seer_expr middle = add(emit, i, seer_op_num(emit, dtype, 0.5));
  seer_expr place =
      add(emit, begin, seer_op_2(emit, SEER_EXPR_DIV, mul(emit, middle, side.bin), side.n));
  double extent = (double)x->dim[2 + d];
  seer_expr is_point =
      both(emit, seer_op_2(emit, SEER_EXPR_GE, place, seer_op_num(emit, dtype, -1)),
          seer_op_2(emit, SEER_EXPR_LE, place, seer_op_num(emit, dtype, extent)));
  if (r->is_adaptive) is_point = both(emit, is_point, seer_op_2(emit, SEER_EXPR_LT, i, side.n));
  place = seer_op_2(emit, SEER_EXPR_MAX, place, seer_op_num(emit, dtype, 0));
  place = seer_op_2(emit, SEER_EXPR_MIN, place, seer_op_num(emit, dtype, extent - 1));
  seer_emit_temp_body(emit, stage, SEER_COMBINE_NONE,
      seer_expr_select(pool, is_point, place, seer_op_num(emit, dtype, no_point)));
  return stage;
}

// A point's value: of a mean what is interpolated; of a maximum the largest of the four neighbours
// times its weight, as ONNX's definition has it.
static seer_expr point_value(seer_emit *emit, const seer_node *node, const roi_align *r,
    const seer_expr *place, const seer_expr *at) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  seer_sample_taps taps[2];
  seer_dtype dtype = seer_dtype_computed(x->dtype);
  for (uint32_t d = 0; d < 2; d++)
    seer_sample_make(
        emit, SEER_SAMPLE_LINEAR, SEER_SAMPLE_BORDER, 0, place[d], x->dim[2 + d], &taps[d]);
  if (!r->is_max) return seer_sample_load(emit, node, taps, 2, 2, at, dtype);
  seer_expr largest = {0}, index[4] = {at[0], at[1]};
  for (uint32_t k = 0; k < 4; k++) {
    index[2] = taps[0].index[k / 2];
    index[3] = taps[1].index[k % 2];
    seer_expr weight = mul(emit, taps[0].weight[k / 2], taps[1].weight[k % 2]);
    seer_expr one = mul(emit, seer_emit_load(emit, node, 0, index), weight);
    largest = k == 0 ? one : seer_op_2(emit, SEER_EXPR_MAX, largest, one);
  }
  return largest;
}

// Whether all points of a bin are in the image, by both ends of its points.
static seer_expr all_inside(
    seer_emit *emit, const seer_node *node, const roi_side *sides, const seer_expr *at) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  seer_expr inside = {0};
  for (uint32_t d = 0; d < 2; d++) {
    seer_dtype dtype = seer_op_dtype(emit, sides[d].bin);
    seer_expr bin = seer_expr_cast(&emit->dag->expr, dtype, at[2 + d]);
    seer_expr begin = add(emit, sides[d].start, mul(emit, bin, sides[d].bin));
    seer_expr half = seer_op_2(
        emit, SEER_EXPR_DIV, mul(emit, sides[d].bin, seer_op_num(emit, dtype, 0.5)), sides[d].n);
    seer_expr first = add(emit, begin, half),
              last = sub(emit, add(emit, begin, sides[d].bin), half);
    seer_expr here = both(emit, seer_op_2(emit, SEER_EXPR_GE, first, seer_op_num(emit, dtype, -1)),
        seer_op_2(emit, SEER_EXPR_LE, last, seer_op_num(emit, dtype, (double)x->dim[2 + d])));
    inside = d == 0 ? here : both(emit, inside, here);
  }
  return inside;
}

static seer_status emit_roi_align(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0), *out = seer_emit_out(emit, node, 0);
  roi_align r;
  SEER_TRY(read_roi_align(node, &r));
  seer_expr_pool *pool = &emit->dag->expr;
  uint32_t points[2] = {emit_points(emit, node, &r, 0), emit_points(emit, node, &r, 1)};
  seer_dag_axis dims[4],
      reduce[2] = {{"ky", r.n_sample[0], SEER_AXIS_KY}, {"kx", r.n_sample[1], SEER_AXIS_KX}};
  seer_axis_role roles[4];
  uint8_t order[SEER_MAX_RANK];
  seer_expr at[4], var[2], place[2];
  seer_op_window_roles(2, roles);
  seer_op_order(out, order);
  for (uint32_t d = 0; d < 4; d++) dims[d] = (seer_dag_axis){NULL, out->dim[d], roles[d]};
  uint32_t acc = seer_emit_temp(emit, "acc", SEER_STAGE_ANCHOR, dims, 4, order, reduce, 2, at, var);
  for (uint32_t d = 0; d < 2; d++)
    place[d] = seer_emit_load_temp(emit, points[d], (seer_expr[]){at[0], at[2 + d], var[d]});
  seer_dtype dtype = seer_dtype_computed(x->dtype);
  seer_expr zero = seer_op_num(emit, dtype, 0);
  seer_expr is_point = both(emit, seer_op_2(emit, SEER_EXPR_GE, place[0], zero),
      seer_op_2(emit, SEER_EXPR_GE, place[1], zero));
  seer_expr image[4] = {
      seer_op_data_index(emit, seer_emit_load(emit, node, 2, at), x->dim[0]), at[1]};
  seer_combiner combiner = r.is_max ? SEER_COMBINE_MAX : SEER_COMBINE_SUM;
  seer_expr none = seer_expr_scalar(pool, dtype, seer_combiner_identity(combiner, 0, dtype));
  seer_emit_temp_body(emit, acc, combiner,
      seer_expr_select(pool, is_point, point_value(emit, node, &r, place, image), none));

  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, roles, NULL, 0, at, NULL);
  seer_expr body = seer_emit_load_temp(emit, acc, at);
  roi_side sides[2];
  for (uint32_t d = 0; d < 2; d++) sides[d] = side_of(emit, node, &r, d, at[0]);
  seer_expr count = mul(emit, sides[0].n, sides[1].n);
  if (r.is_max) {  // points outside are zeros
    seer_expr with_zero = seer_op_2(emit, SEER_EXPR_MAX, body, zero);
    body = seer_expr_select(pool, all_inside(emit, node, sides, at), body, with_zero);
  } else {
    body = seer_op_2(emit, SEER_EXPR_DIV, body,
        seer_op_2(emit, SEER_EXPR_MAX, count, seer_op_num(emit, dtype, 1)));
  }
  if (r.is_adaptive) {  // a region whose end is in front of its start has no points
    seer_expr has_points = both(emit, seer_op_2(emit, SEER_EXPR_GT, sides[0].n, zero),
        seer_op_2(emit, SEER_EXPR_GT, sides[1].n, zero));
    body = seer_expr_select(pool, has_points, body, zero);
  }
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, body);
  return SEER_OK;
}

// ---- RoiAlign with as many points as data says: one for each of a few bounds of that number, and
// what the regions need is what runs.

static bool is_adaptive(const seer_graph *graph, const seer_node *node) {
  (void)graph;
  return seer_node_attr_i(node, "sampling_ratio", 0) == 0;
}

// Whether no bin of any region is longer than `most`.
static seer_val bins_fit(seer_expand *e, seer_val rois, const roi_align *r, const int64_t *most) {
  seer_val fits = {0};
  for (int64_t d = 0; d < 2; d++) {
    seer_val low = seer_expand_slice(e, rois, 1, 1 - d, 2 - d),
             high = seer_expand_slice(e, rois, 1, 3 - d, 4 - d);
    seer_val length = seer_expand_times(e, seer_expand_2(e, "Sub", high, low), r->scale);
    seer_val limit = seer_expand_number(e, (double)(most[d] * r->size[d]));
    seer_val wrong = seer_expand_1(e, "Not", seer_expand_2(e, "LessOrEqual", length, limit));
    wrong = seer_expand_cast(e, wrong, SEER_DTYPE_I32);
    wrong = seer_expand_1i(e, "ReduceMax", wrong, "keepdims", 0);
    seer_val here = seer_expand_2(e, "Equal", wrong, seer_expand_scalar(e, SEER_DTYPE_I32, 0));
    fits = d == 0 ? here : seer_expand_2(e, "And", fits, here);
  }
  return fits;
}

static seer_val with_bound(
    seer_expand *e, const seer_val *in, const int64_t *most, bool skips_outside) {
  seer_attr *attr = SEER_NEW_ARRAY(e->scratch, seer_attr, e->node.n_attr + 3u);
  uint32_t n = 0;
  seer_val y;
  for (uint32_t k = 0; k < e->node.n_attr; k++) attr[n++] = e->node.attr[k];
  if (!seer_node_attr(&e->node, "coordinate_transformation_mode"))
    attr[n++] = seer_expand_string("coordinate_transformation_mode", usual_coordinates(&e->node));
  attr[n++] = seer_expand_ints_attr("most", most, 2);
  attr[n++] = seer_expand_int("skips_outside", skips_outside);
  seer_expand_inner(e, "RoiAlign", in, 3, attr, n, &y, 1);
  return y;
}

// Bounds of points of a bin, the last of which holds for all regions.
static uint32_t bounds_of_points(const roi_align *r, const seer_value *x, int64_t out_most[3][2]) {
  enum { FEW = 4 };  // regions of 28 pixels in bins of 7, as pyramids of features choose them
  bool has_few = false;
  for (uint32_t d = 0; d < 2; d++) {
    int64_t inside = seer_ceil_div(x->dim[2 + d] + 1, r->size[d]);  // of regions in the image
    out_most[0][d] = seer_min_i64(inside, FEW);
    out_most[1][d] = inside;
    out_most[2][d] = 2 * x->dim[2 + d] + 5;  // half a pixel or more apart, in [-1, extent]
    has_few |= inside > FEW;
  }
  if (has_few) return 3;
  memcpy(out_most[1], out_most[2], sizeof out_most[1]);
  return 2;
}

static seer_status expand_roi_align(seer_expand *e) {
  const seer_value *x = NULL, *rois = NULL;
  roi_align r;
  int64_t most[3][2];
  const int64_t axis = 0;
  seer_val in[3], size = {0}, y = {0};
  SEER_TRY(check_regions(e->graph, &e->node, 4, e->scratch, &x, &rois));
  SEER_TRY(read_roi_align(&e->node, &r));
  uint32_t n = bounds_of_points(&r, x, most);
  for (uint32_t k = 0; k < 3; k++) {
    const seer_value *value = seer_expand_in(e, k);
    in[k] = e->node.in[k];
    for (uint32_t d = 0; d < value->rank; d++) {
      if (!value->size[d].i) continue;
      if (d > 0 || k == 0 || (size.i && size.i != value->size[d].i))
        return seer_sized_refuse(
            e, (seer_sized_place){k, d}, "only the number of regions may be data");
      size = value->size[d];
    }
  }
  for (uint32_t k = 1; k < 3; k++)
    if (seer_value_is_sized(seer_expand_in(e, k)))
      seer_expand_inner(e, "AtBound", &e->node.in[k], 1, NULL, 0, &in[k], 1);
  for (uint32_t k = n; k-- > 0;) {
    bool is_last = k + 1 == n;
    // One more than fits: lengths are rounded.
    const int64_t bound[2] = {most[k][0] + !is_last, most[k][1] + !is_last};
    seer_val here = with_bound(e, in, bound, is_last);
    seer_val sides[3] = {is_last ? here : bins_fit(e, in[1], &r, most[k]), here, y};
    y = here;
    if (!is_last) seer_expand_inner(e, "Branch", sides, 3, NULL, 0, &y, 1);
  }
  seer_expand_output(e, 0, size.i ? seer_expand_sized(e, y, &axis, &size, 1) : y);
  return SEER_OK;
}

// ---- MaxRoiPool: bins of whole pixels, along rows and then along columns

static seer_status read_roi_pool(const seer_node *node, int64_t *out_size) {
  if (!seer_node_attr(node, "pooled_shape"))
    return SEER_FAIL(INVALID, "attribute 'pooled_shape' is absent");
  SEER_TRY(seer_op_int_list(node, "pooled_shape", 2, 1, 1, out_size));
  for (uint32_t d = 0; d < 2; d++)
    if (out_size[d] > MAX_POOLED)
      return SEER_FAIL(INVALID, "attribute 'pooled_shape' has %" PRId64 ", must be 1 to %d",
          out_size[d], MAX_POOLED);
  return SEER_OK;
}

static seer_status infer_max_roi_pool(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL, *rois = NULL;
  int64_t size[2];
  SEER_TRY(check_regions(graph, node, 5, arena, &x, &rois));
  SEER_TRY(read_roi_pool(node, size));
  const int64_t dim[4] = {rois->dim[0], x->dim[1], size[0], size[1]};
  return seer_op_set(&out_values[0], x->dtype, dim, 4);
}

// Whether pixel k along dimension d is in bin `bin` of region `roi`.
static seer_expr is_in_bin(seer_emit *emit, const seer_node *node, uint32_t d, int64_t size,
    seer_expr roi, seer_expr bin, seer_expr k) {
  double scale = seer_node_attr_f(node, "spatial_scale", 1);
  seer_expr_pool *pool = &emit->dag->expr;
  seer_expr end[2], edge[2];
  for (uint32_t n = 0; n < 2; n++) {
    seer_expr at[2] = {roi, seer_op_int(emit, 2 * n + 2 - d)};  // image, x1, y1, x2, y2
    seer_expr place = seer_emit_load(emit, node, 1, at);
    seer_dtype dtype = seer_op_dtype(emit, place);
    place = mul(emit, place, seer_op_num(emit, dtype, scale));
    // half away from zero
    seer_expr half = seer_op_num(emit, dtype, 0.5);
    seer_expr up = seer_op_1(emit, SEER_EXPR_FLOOR, add(emit, place, half)),
              down = seer_op_1(emit, SEER_EXPR_CEIL, sub(emit, place, half));
    end[n] = seer_expr_select(
        pool, seer_op_2(emit, SEER_EXPR_LT, place, seer_op_num(emit, dtype, 0)), down, up);
  }
  seer_dtype dtype = seer_op_dtype(emit, end[0]);
  seer_expr one = seer_op_num(emit, dtype, 1);
  seer_expr length = seer_op_2(emit, SEER_EXPR_MAX, add(emit, sub(emit, end[1], end[0]), one), one);
  seer_expr step = seer_op_2(emit, SEER_EXPR_DIV, length, seer_op_num(emit, dtype, (double)size));
  seer_expr at = seer_expr_cast(pool, dtype, bin);
  edge[0] = seer_op_1(emit, SEER_EXPR_FLOOR, mul(emit, at, step));
  edge[1] = seer_op_1(emit, SEER_EXPR_CEIL, mul(emit, add(emit, at, one), step));
  seer_expr pixel = seer_expr_cast(pool, dtype, k);
  return both(emit, seer_op_2(emit, SEER_EXPR_GE, pixel, add(emit, edge[0], end[0])),
      seer_op_2(emit, SEER_EXPR_LT, pixel, add(emit, edge[1], end[0])));
}

static seer_status emit_max_roi_pool(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0), *out = seer_emit_out(emit, node, 0);
  int64_t size[2];
  SEER_TRY(read_roi_pool(node, size));
  seer_expr_pool *pool = &emit->dag->expr;
  seer_dtype dtype = seer_dtype_computed(x->dtype);
  seer_expr least =
      seer_expr_scalar(pool, dtype, seer_combiner_identity(SEER_COMBINE_MAX, 0, dtype));
  seer_dag_axis dims[4] = {{NULL, out->dim[0], SEER_AXIS_BATCH},
      {NULL, out->dim[1], SEER_AXIS_OUT_CHANNEL}, {NULL, size[0], SEER_AXIS_Y},
      {NULL, x->dim[3], SEER_AXIS_X}};
  uint8_t order[SEER_MAX_RANK];
  seer_expr at[4], k;
  seer_op_order(out, order);
  seer_dag_axis row = {"ky", x->dim[2], SEER_AXIS_KY}, column = {"kx", x->dim[3], SEER_AXIS_KX};
  uint32_t rows = seer_emit_temp(emit, "rows", SEER_STAGE_ANCHOR, dims, 4, order, &row, 1, at, &k);
  seer_expr image = seer_op_data_index(
      emit, seer_emit_load(emit, node, 1, (seer_expr[]){at[0], seer_op_int(emit, 0)}), x->dim[0]);
  seer_expr one = seer_emit_load(emit, node, 0, (seer_expr[]){image, at[1], k, at[3]});
  seer_emit_temp_body(emit, rows, SEER_COMBINE_MAX,
      seer_expr_select(pool, is_in_bin(emit, node, 0, size[0], at[0], at[2], k), one, least));
  dims[3].extent = size[1];
  uint32_t all = seer_emit_temp(emit, "max", SEER_STAGE_ANCHOR, dims, 4, order, &column, 1, at, &k);
  one = seer_emit_load_temp(emit, rows, (seer_expr[]){at[0], at[1], at[2], k});
  seer_emit_temp_body(emit, all, SEER_COMBINE_MAX,
      seer_expr_select(pool, is_in_bin(emit, node, 1, size[1], at[0], at[3], k), one, least));
  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, NULL, NULL, 0, at, NULL);
  one = seer_emit_load_temp(emit, all, at);
  seer_expr is_empty = seer_op_2(emit, SEER_EXPR_EQ, one, least);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE,
      seer_expr_select(pool, is_empty, seer_op_num(emit, dtype, 0), one));
  return SEER_OK;
}

// ---- entries

static seer_status carry_regions(seer_expand *e) {
  SEER_SIZED_EACH(e, at) {
    if (at.k == 0 || at.d > 0)
      return seer_sized_refuse(e, at, "only the number of regions may be data");
    SEER_TRY(seer_sized_give(e, at, 0, 0));
  }
  return SEER_OK;
}

#define ROI_ALIGN_ATTRS \
  "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale"

SEER_OP_ENTRY(roi_align, "RoiAlign", 10, 3, 3, 1, SEER_FUSE_REDUCTION, ROI_ALIGN_ATTRS,
    .rtol = 1e-4, .atol = 1e-5, .infer = infer_roi_align, .emit = emit_roi_align,
    .carry_sizes = carry_regions, .wants_channels_last = true, .expand = expand_roi_align,
    .is_composite = is_adaptive, .expands_sized = true,
    .doc = "avg, max; points of a bin given or as many as its pixels")
const seer_op_desc seer_op_roi_bounded = {.name = "RoiAlign",
    .domain = SEER_INNER_DOMAIN,
    .opset_min = 1,
    .opset_max = 1,
    .n_in_min = 3,
    .n_in_max = 3,
    .n_out_min = 1,
    .n_out_max = 1,
    .fuse = SEER_FUSE_REDUCTION,
    .attrs = ROI_ALIGN_ATTRS " most skips_outside",
    .rtol = 1e-4,
    .atol = 1e-5,
    .infer = infer_roi_align,
    .emit = emit_roi_align,
    .wants_channels_last = true,
    .doc = ""};
SEER_OP_ENTRY(max_roi_pool, "MaxRoiPool", 1, 2, 2, 1, SEER_FUSE_REDUCTION,
    "pooled_shape spatial_scale", .rtol = 0, .atol = 0, .infer = infer_max_roi_pool,
    .emit = emit_max_roi_pool, .carry_sizes = carry_regions, .wants_channels_last = true,
    .doc = "all of it")
