// geometry.c - operators that are others with computed operands: CenterCropPad, Col2Im, MaxUnpool,
// AffineGrid, Resize with antialias.
#include <math.h>
#include <string.h>

#include "front/op/resize.h"

// `...`: the text, and what else the entry says.
#define GEOMETRY(id, onnx, from, in_min, in_max, attributes, ...)                         \
  SEER_COMPOSITE(id, "", onnx, from, SEER_OPSET_NEWEST, in_min, in_max, 1, 1, attributes, \
      expand_##id, __VA_ARGS__)

static seer_status ints_of(
    const seer_expand *e, uint32_t k, const char *what, int64_t **out_ints, uint32_t *out_n) {
  return seer_op_const_ints(e->graph, &e->node, k, what, e->scratch, out_ints, out_n);
}

// ---- CenterCropPad: what is too large is cut on both sides, what is too small gets zeros

static seer_status expand_center_crop_pad(seer_expand *e) {
  seer_value x = *seer_expand_in(e, 0);
  const seer_attr *axes = seer_node_attr_ints(&e->node, "axes");
  int64_t *shape = NULL, pads[2 * SEER_MAX_RANK] = {0};
  uint32_t n = 0, n_axes = axes ? (uint32_t)axes->n : x.rank;
  SEER_TRY(ints_of(e, 1, "shape", &shape, &n));
  if (n != n_axes || n > x.rank)
    return SEER_FAIL(INVALID, "'shape' has %u entries, must have %u", n, n_axes);
  seer_val y = e->node.in[0];
  for (uint32_t k = 0; k < n; k++) {
    uint32_t d = k;
    if (axes) SEER_TRY(seer_op_axis(axes->ints[k], x.rank, "an entry of 'axes'", &d));
    if (shape[k] < 0) return SEER_FAIL(INVALID, "'shape' has %" PRId64, shape[k]);
    int64_t less = x.dim[d] - shape[k], more = -less;
    if (less > 0) y = seer_expand_slice(e, y, d, less / 2, less / 2 + shape[k]);
    if (more > 0) {
      pads[d] = more / 2;
      pads[d + x.rank] = more - more / 2;
    }
  }
  y = seer_expand_2(e, "Pad", y, seer_expand_ints(e, pads, 2u * x.rank));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
GEOMETRY(center_crop_pad, "CenterCropPad", 18, 2, 2, "axes", "constant shape")

// ---- Col2Im: columns of blocks are added up at the blocks' places. (A transposed convolution
// whose weights pick one place each would multiply the others by 0, and 0 times NaN or infinity is
// NaN.)

enum { MAX_SPATIAL = 3 };

// Steps `at`, row-major within `dim`; false after the last.
static bool next_place(int64_t *at, const int64_t *dim, uint32_t n) {
  for (uint32_t d = n; d-- > 0; at[d] = 0) {
    if (++at[d] < dim[d]) return true;
  }
  return false;
}

// Where each element of the columns goes in an image of `padded`: [taps, places] in `out_table`.
static void col2im_places(const int64_t *block, const int64_t *places, const int64_t *stride,
    const int64_t *dilation, const int64_t *padded, uint32_t n, double *out_table) {
  int64_t tap[MAX_SPATIAL] = {0}, place[MAX_SPATIAL] = {0};
  do {
    do {
      int64_t index = 0;
      for (uint32_t d = 0; d < n; d++)
        index = index * padded[d] + tap[d] * dilation[d] + place[d] * stride[d];
      *out_table++ = (double)index;
    } while (next_place(place, places, n));
  } while (next_place(tap, block, n));
}

static seer_status expand_col2im(seer_expand *e) {
  enum { MAX_SIZE = 1 << 15 };
  seer_value x = *seer_expand_in(e, 0);
  int64_t *image = NULL, *block = NULL, stride[MAX_SPATIAL], dilation[MAX_SPATIAL],
          pads[2 * MAX_SPATIAL] = {0};
  uint32_t n = 0, n_block = 0;
  SEER_TRY(ints_of(e, 1, "image_shape", &image, &n));
  SEER_TRY(ints_of(e, 2, "block_shape", &block, &n_block));
  if (x.rank != 3 || n != n_block || n < 1 || n > MAX_SPATIAL)
    return SEER_FAIL(INVALID, "input 0 is %s, with %u and %u spatial dimensions",
        seer_op_shape_text(&x, e->scratch), n, n_block);
  SEER_TRY(seer_op_int_list(&e->node, "strides", n, 1, 1, stride));
  SEER_TRY(seer_op_int_list(&e->node, "dilations", n, 1, 1, dilation));
  SEER_TRY(seer_op_int_list(&e->node, "pads", 2 * n, 0, 0, pads));
  int64_t places[MAX_SPATIAL], n_place = 1, taps = 1, size = 1;
  int64_t out_dim[2 + MAX_SPATIAL];  // of the image with its pads
  for (uint32_t d = 0; d < n; d++) {
    const int64_t all[] = {image[d], block[d], stride[d], dilation[d], pads[d], pads[n + d]};
    for (size_t k = 0; k < SEER_COUNT_OF(all); k++) {
      int64_t least = k < 4;  // pads may be 0
      if (all[k] < least || all[k] > MAX_SIZE)
        return SEER_FAIL(INVALID, "a size is %" PRId64 ", must be at most %d", all[k], MAX_SIZE);
    }
    int64_t reach = dilation[d] * (block[d] - 1) + 1;
    int64_t room = image[d] + pads[d] + pads[n + d] - reach;
    if (room < 0)
      return SEER_FAIL(
          INVALID, "a block of %" PRId64 " in an image of %" PRId64, block[d], image[d]);
    places[d] = room / stride[d] + 1;
    out_dim[2 + d] = image[d] + pads[d] + pads[n + d];
    n_place *= places[d];
    taps *= block[d];
    size *= out_dim[2 + d];
  }
  if (n_place != x.dim[2] || x.dim[1] % taps != 0) {
    return SEER_FAIL(INVALID,
        "input 0 is %s, must have %" PRId64
        " columns and a multiple of "
        "%" PRId64 " rows",
        seer_op_shape_text(&x, e->scratch), n_place, taps);
  }
  double *table = NULL;
  SEER_TRY(seer_expand_table(e, taps, n_place, &table));
  col2im_places(block, places, stride, dilation, out_dim + 2, n, table);
  int64_t rows = x.dim[0] * (x.dim[1] / taps), one[2] = {1, taps * n_place};
  int64_t all[2] = {rows, one[1]}, flat[2] = {rows, size};
  seer_val index = seer_expand_tensor(e, SEER_DTYPE_I64, one, 2, table);
  seer_val zero = seer_expand_scalar(e, x.dtype, 0);
  seer_val in[3] = {seer_expand_2(e, "Expand", zero, seer_expand_ints(e, flat, 2)),
      seer_expand_2(e, "Expand", index, seer_expand_ints(e, all, 2)),
      seer_expand_reshape(e, e->node.in[0], all, 2)};
  seer_attr attr[] = {seer_expand_int("axis", 1), seer_expand_string("reduction", "add")};
  seer_val y = seer_expand_add(e, "ScatterElements", in, 3, attr, 2);
  out_dim[0] = x.dim[0];
  out_dim[1] = x.dim[1] / taps;
  y = seer_expand_reshape(e, y, out_dim, 2 + n);
  for (uint32_t d = 0; d < n; d++) {
    if (pads[d] || pads[n + d]) y = seer_expand_slice(e, y, 2 + d, pads[d], pads[d] + image[d]);
  }
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
GEOMETRY(col2im, "Col2Im", 18, 3, 3, "dilations pads strides", "constant shapes")

// ---- MaxUnpool: each element goes where the pooling's index says, among zeros. The numbers are
// those of the tensor that was pooled, row-major, as kernel, strides and pads give it; with
// `output_shape` that is put into a corner of a larger one (or cut).

static seer_status expand_max_unpool(seer_expand *e) {
  const seer_value x = *seer_expand_in(e, 0), *index = seer_expand_in(e, 1);
  enum { MAX_SPACE = 3 };
  int64_t kernel[MAX_SPACE], stride[MAX_SPACE], pads[2 * MAX_SPACE], dim[SEER_MAX_RANK], n = -1;
  int64_t grow[2 * SEER_MAX_RANK] = {0}, *wanted = NULL, axis = 0;
  uint32_t n_wanted = 0, n_space = x.rank - 2u;
  if (x.rank < 3 || n_space > MAX_SPACE)
    return SEER_FAIL(UNSUPPORTED, "input 0 is %s, must have 1 to 3 spatial dimensions",
        seer_op_shape_text(&x, e->scratch));
  bool fits = index->rank == x.rank && index->dtype == SEER_DTYPE_I64;
  for (uint32_t d = 0; fits && d < x.rank; d++) fits = index->dim[d] == x.dim[d];
  if (!fits)
    return SEER_FAIL(INVALID, "input 1 is %s, must be i64%s",
        seer_value_type_text(index, e->scratch), seer_op_shape_text(&x, e->scratch));
  if (!seer_node_attr(&e->node, "kernel_shape"))
    return SEER_FAIL(INVALID, "attribute 'kernel_shape' is absent");
  SEER_TRY(seer_op_int_list(&e->node, "kernel_shape", n_space, 1, 1, kernel));
  SEER_TRY(seer_op_int_list(&e->node, "strides", n_space, 1, 1, stride));
  SEER_TRY(seer_op_int_list(&e->node, "pads", 2 * n_space, 0, 0, pads));
  if (seer_expand_has_in(e, 2)) SEER_TRY(ints_of(e, 2, "output_shape", &wanted, &n_wanted));
  if (wanted && n_wanted != x.rank)
    return SEER_FAIL(INVALID, "'output_shape' has %u entries, must have %u", n_wanted, x.rank);
  int64_t total = 1;
  for (uint32_t d = 0; d < x.rank; d++) {
    dim[d] = x.dim[d];
    if (d >= 2)
      dim[d] = (x.dim[d] - 1) * stride[d - 2] + kernel[d - 2] - pads[d - 2] - pads[d - 2 + n_space];
    if (dim[d] < 1 || __builtin_mul_overflow(total, dim[d], &total))
      return SEER_FAIL(INVALID, "dimension %u of the result is %" PRId64, d, dim[d]);
    if (!wanted) continue;
    if (wanted[d] < 0)
      return SEER_FAIL(INVALID, "'output_shape' has %" PRId64 ", must be 0 or more", wanted[d]);
    grow[x.rank + d] = wanted[d] - dim[d];
  }
  seer_val zeros =
      seer_expand_2(e, "Expand", seer_expand_number(e, 0), seer_expand_ints(e, &total, 1));
  seer_val in[3] = {zeros, seer_expand_reshape(e, e->node.in[1], &n, 1),
      seer_expand_reshape(e, e->node.in[0], &n, 1)};
  seer_attr attr = seer_expand_int("axis", axis);
  seer_val y = seer_expand_add(e, "ScatterElements", in, 3, &attr, 1);
  y = seer_expand_reshape(e, y, dim, x.rank);
  if (wanted) y = seer_expand_2(e, "Pad", y, seer_expand_ints(e, grow, 2u * x.rank));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
GEOMETRY(max_unpool, "MaxUnpool", 9, 2, 3, "kernel_shape pads strides", "constant output_shape")

// ---- AffineGrid: theta [batch, 2, 3] or [batch, 3, 4] applied to the points of a grid in [-1, 1]

static seer_status expand_affine_grid(seer_expand *e) {
  seer_value theta = *seer_expand_in(e, 0);
  int64_t *size = NULL;
  uint32_t n = 0;
  enum { MAX_SIZE = 1 << 15 };
  SEER_TRY(ints_of(e, 1, "size", &size, &n));
  uint32_t n_space = n - 2;
  bool fits = (n == 4 || n == 5) && theta.rank == 3 && theta.dim[0] == size[0] &&
      theta.dim[1] == n_space && theta.dim[2] == n_space + 1;
  if (!fits)
    return SEER_FAIL(INVALID, "input 0 is %s, 'size' has %u entries (must be 4 or 5)",
        seer_op_shape_text(&theta, e->scratch), n);
  bool has_corners = seer_node_attr_i(&e->node, "align_corners", 0) != 0;
  int64_t n_point = 1;
  for (uint32_t d = 0; d < n; d++) {
    if (size[d] < 1 || size[d] > MAX_SIZE)
      return SEER_FAIL(INVALID, "'size' has %" PRId64 ", must be 1 to %d", size[d], MAX_SIZE);
    if (d >= 2) n_point *= size[d];
  }
  // Points [x, y, (z,) 1]; the last dimension of the image is x.
  double *grid = NULL;
  SEER_TRY(seer_expand_table(e, n_point, n_space + 1, &grid));
  for (int64_t p = 0; p < n_point; p++) {
    int64_t rest = p;
    for (uint32_t k = 0; k < n_space; k++) {
      int64_t extent = size[n - 1 - k], i = rest % extent;
      rest /= extent;
      double at = has_corners ? (extent > 1 ? 2.0 * (double)i / (double)(extent - 1) - 1 : 0)
                              : (2.0 * (double)i + 1) / (double)extent - 1;
      grid[p * (n_space + 1) + k] = at;
    }
    grid[p * (n_space + 1) + n_space] = 1;
  }
  seer_val points = seer_expand_tensor(e, theta.dtype, (int64_t[]){n_point, n_space + 1}, 2, grid);
  seer_attr perm = seer_expand_ints_attr("perm", (int64_t[]){0, 2, 1}, 3);
  seer_val turned = seer_expand_add(e, "Transpose", &e->node.in[0], 1, &perm, 1);
  int64_t dim[SEER_MAX_RANK] = {size[0]};
  for (uint32_t d = 0; d < n_space; d++) dim[1 + d] = size[2 + d];
  dim[1 + n_space] = n_space;
  seer_val y = seer_expand_2(e, "MatMul", points, turned);
  seer_expand_output(e, 0, seer_expand_reshape(e, y, dim, n_space + 2));
  return SEER_OK;
}
GEOMETRY(affine_grid, "AffineGrid", 20, 2, 2, "align_corners", "constant size", .computes = true)

// ---- Resize with antialias: along each dimension a sum of neighbours with weights that
// depend on the output element alone. The kernel is as wide as an output element where the
// dimension shrinks, so there are too many neighbours to write out: they are gathered ([.., out,
// taps, ..]), multiplied by a table and summed, dimension after dimension; the three share a
// kernel.

// Triangle, or Keys' cubic.
static double kernel(bool is_cubic, double a, double x) {
  x = fabs(x);
  if (!is_cubic) return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

typedef struct {
  seer_val index, weight, inside;  // inside 0: every output element
  int64_t n;  // of taps
} taps;

static seer_status make_taps(
    seer_expand *e, const seer_resize_dimension *d, seer_dtype dtype, taps *out) {
  const seer_node *node = &e->node;
  bool is_cubic = strcmp(seer_node_attr_s(node, "mode", "nearest"), "cubic") == 0,
       is_cut = seer_node_attr_i(node, "exclude_outside", 0) != 0, is_outside = false;
  double a = seer_node_attr_f(node, "cubic_coeff_a", -0.75), scale = fmin((double)d->scale, 1);
  double reach = ceil((is_cubic ? 2 : 1) / scale);  // taps on each side
  double *index, *weight, *inside;
  if (reach > 1e6) return SEER_FAIL(UNSUPPORTED, "a scale of %g with antialias", (double)d->scale);
  out->n = 2 * (int64_t)reach;
  SEER_TRY(seer_expand_table(e, d->out, out->n, &index));
  SEER_TRY(seer_expand_table(e, d->out, out->n, &weight));
  SEER_TRY(seer_expand_table(e, d->out, 1, &inside));
  for (int64_t i = 0; i < d->out; i++) {
    double x = seer_resize_coordinate(d, i), sum = 0;
    double *w = weight + i * out->n, first = floor(x) - reach + 1;
    inside[i] = !d->is_cropped || (x >= 0 && x <= (double)d->in - 1);
    is_outside |= inside[i] == 0;
    for (int64_t k = 0; k < out->n; k++) {
      double at = first + (double)k, last = (double)d->in - 1;
      w[k] = is_cut && (at < 0 || at > last) ? 0 : kernel(is_cubic, a, (at - x) * scale);
      index[i * out->n + k] = fmin(fmax(at, 0), last);
      sum += w[k];
    }
    for (int64_t k = 0; k < out->n; k++) w[k] = sum != 0 ? w[k] / sum : 0;
  }
  int64_t dim[2] = {d->out, out->n};
  out->index = seer_expand_tensor(e, SEER_DTYPE_I64, dim, 2, index);
  out->weight = seer_expand_tensor(e, dtype, dim, 2, weight);
  out->inside = is_outside ? seer_expand_tensor(e, SEER_DTYPE_BOOL, dim, 1, inside) : (seer_val){0};
  return SEER_OK;
}

// A vector along dimension d of `rank`.
static seer_val along(seer_expand *e, seer_val v, int64_t n, uint32_t d, uint32_t rank) {
  int64_t dim[SEER_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++) dim[k] = k == d ? n : 1;
  return seer_expand_reshape(e, v, dim, rank);
}

seer_status seer_resize_expand(seer_expand *e) {
  SEER_TRY(seer_expand_widen(e, 1u << 0));  // not by the type of the scales
  seer_resize_plan p;
  const char *mode = seer_node_attr_s(&e->node, "mode", "nearest");
  if (strcmp(mode, "linear") != 0 && strcmp(mode, "cubic") != 0)
    return SEER_FAIL(
        INVALID, "attribute 'mode' is '%s' with antialias, must be linear or cubic", mode);
  SEER_TRY(seer_resize_read(e->graph, &e->node, e->scratch, &p));
  const seer_value *x = seer_expand_in(e, 0);
  bool is_int = !seer_dtype_is_float(x->dtype);
  seer_dtype made = x->dtype, dtype = is_int ? seer_resize_dtype(made) : made;
  if (p.rank == SEER_MAX_RANK) return SEER_FAIL(UNSUPPORTED, "antialias over rank %u", p.rank);
  seer_val y = is_int ? seer_expand_cast(e, e->node.in[0], dtype) : e->node.in[0],
           outside =
               seer_expand_scalar(e, dtype, seer_node_attr_f(&e->node, "extrapolation_value", 0));
  taps all[SEER_MAX_RANK];
  for (uint32_t d = 0; d < p.rank; d++) {
    if (!p.dim[d].is_resized) continue;
    SEER_TRY(make_taps(e, &p.dim[d], dtype, &all[d]));
    int64_t dim[SEER_MAX_RANK], axis = d + 1;
    for (uint32_t k = 0; k <= p.rank; k++)
      dim[k] = k == d ? p.dim[d].out : k == d + 1 ? all[d].n : 1;
    seer_val near = seer_expand_2i(e, "Gather", y, all[d].index, "axis", d);
    seer_val weighed =
        seer_expand_2(e, "Mul", near, seer_expand_reshape(e, all[d].weight, dim, p.rank + 1));
    y = seer_expand_2i(e, "ReduceSum", weighed, seer_expand_ints(e, &axis, 1), "keepdims", 0);
  }
  for (uint32_t d = 0; d < p.rank; d++) {
    if (!p.dim[d].is_resized || !all[d].inside.i) continue;
    y = seer_expand_3(e, "Where", along(e, all[d].inside, p.dim[d].out, d, p.rank), y, outside);
  }
  if (is_int) {  // halves go up, as in ONNX Runtime's fixed point
    y = seer_expand_2(e, "Add", y, seer_expand_scalar(e, dtype, 0.5));
    y = seer_expand_cast(e, seer_expand_1(e, "Floor", y), made);
  }
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
