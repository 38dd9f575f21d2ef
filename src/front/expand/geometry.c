// geometry.c - operators that are others with computed operands: CenterCropPad, Col2Im, AffineGrid.
#include "front/expand/expand.h"

#define GEOMETRY(id, onnx, from, in_min, in_max, attributes, text) \
  SEER_COMPOSITE(id, "", onnx, from, 25, in_min, in_max, 1, 1, attributes, expand_##id, text)

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

// ---- Col2Im: columns of blocks are added up at the blocks' places, which a transposed convolution
// does with weights that pick one place each

static seer_status expand_col2im(seer_expand *e) {
  enum { MAX_SPATIAL = 3, MAX_SIZE = 1 << 15 };
  seer_value x = *seer_expand_in(e, 0);
  int64_t *image = NULL, *block = NULL, stride[MAX_SPATIAL], dilation[MAX_SPATIAL],
          pads[2 * MAX_SPATIAL] = {0}, extra[MAX_SPATIAL];
  uint32_t n = 0, n_block = 0;
  SEER_TRY(ints_of(e, 1, "image_shape", &image, &n));
  SEER_TRY(ints_of(e, 2, "block_shape", &block, &n_block));
  if (x.rank != 3 || n != n_block || n < 1 || n > MAX_SPATIAL)
    return SEER_FAIL(INVALID, "input 0 is %s, with %u and %u spatial dimensions",
        seer_op_shape_text(&x, e->scratch), n, n_block);
  SEER_TRY(seer_op_int_list(&e->node, "strides", n, 1, 1, stride));
  SEER_TRY(seer_op_int_list(&e->node, "dilations", n, 1, 1, dilation));
  SEER_TRY(seer_op_int_list(&e->node, "pads", 2 * n, 0, 0, pads));
  int64_t in_dim[2 + MAX_SPATIAL] = {x.dim[0], x.dim[1]}, n_place = 1, taps = 1;
  int64_t w_dim[2 + MAX_SPATIAL] = {x.dim[1], 1};
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
    in_dim[2 + d] = room / stride[d] + 1;
    extra[d] = room % stride[d];
    w_dim[2 + d] = block[d];
    n_place *= in_dim[2 + d];
    taps *= block[d];
  }
  if (n_place != x.dim[2] || x.dim[1] % taps != 0) {
    return SEER_FAIL(INVALID,
        "input 0 is %s, must have %" PRId64
        " columns and a multiple of "
        "%" PRId64 " rows",
        seer_op_shape_text(&x, e->scratch), n_place, taps);
  }
  double *pick = NULL;
  SEER_TRY(seer_expand_table(e, x.dim[1], taps, &pick));
  for (int64_t c = 0; c < x.dim[1]; c++) pick[c * taps + c % taps] = 1;
  seer_val in[2] = {seer_expand_reshape(e, e->node.in[0], in_dim, 2 + n),
      seer_expand_tensor(e, x.dtype, w_dim, 2 + n, pick)};
  seer_attr attr[] = {seer_expand_ints_attr("strides", stride, n),
      seer_expand_ints_attr("dilations", dilation, n), seer_expand_ints_attr("pads", pads, 2 * n),
      seer_expand_ints_attr("output_padding", extra, n), seer_expand_int("group", x.dim[1] / taps)};
  // Weights are [rows, outputs of a group, ...]: the rows of one channel are a group.
  seer_expand_output(e, 0, seer_expand_add(e, "ConvTranspose", in, 2, attr, 5));
  return SEER_OK;
}
GEOMETRY(col2im, "Col2Im", 18, 3, 3, "dilations pads strides", "constant shapes")

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
GEOMETRY(affine_grid, "AffineGrid", 20, 2, 2, "align_corners", "constant size")
