// legacy.c - operators of old opsets as their successors: broadcasting from a given axis (before
// opset 7), Upsample (before 10), Scan of a batch (opset 8); experimental ones that are gone, which
// old files of model zoos have.
#include <string.h>

#include "front/expand/expand.h"

// ---- a op b, where b's dimensions are a's from `axis` on (the last ones when there is no axis)

static seer_status expand_old_binary(seer_expand *e) {
  const seer_value *a = seer_expand_in(e, 0), *b = seer_expand_in(e, 1);
  seer_val other = e->node.in[1];
  int64_t axis = seer_node_attr_i(&e->node, "axis", -1), dim[SEER_MAX_RANK];
  if (seer_node_attr_i(&e->node, "broadcast", 0) != 0 && seer_node_attr(&e->node, "axis")) {
    if (axis < 0) axis += a->rank;
    if (axis < 0 || axis + b->rank > a->rank) {
      return SEER_FAIL(INVALID, "attribute 'axis' is %" PRId64 ", and input 1 has rank %u of %u",
          axis, b->rank, a->rank);
    }
    uint32_t rank = a->rank - (uint32_t)axis;
    for (uint32_t d = 0; d < rank; d++) dim[d] = d < b->rank ? b->dim[d] : 1;
    other = seer_expand_reshape(e, other, dim, rank);
  }
  seer_expand_output(e, 0, seer_expand_2(e, e->node.op_type, e->node.in[0], other));
  return SEER_OK;
}

#define OLD_BINARY(id, onnx)                                                             \
  SEER_COMPOSITE(old_##id, "", onnx, 1, 6, 2, 2, 1, 1, "axis broadcast consumed_inputs", \
      expand_old_binary, "the form before opset 7")

OLD_BINARY(add, "Add")
OLD_BINARY(sub, "Sub")
OLD_BINARY(mul, "Mul")
OLD_BINARY(div, "Div")
OLD_BINARY(pow, "Pow")
OLD_BINARY(equal, "Equal")
OLD_BINARY(less, "Less")
OLD_BINARY(greater, "Greater")
OLD_BINARY(and, "And")
OLD_BINARY(or, "Or")
OLD_BINARY(xor, "Xor")

// PRelu: a slope of one dimension is the channels', the second dimension.
static seer_status expand_old_prelu(seer_expand *e) {
  const seer_value *x = seer_expand_in(e, 0), *slope = seer_expand_in(e, 1);
  seer_val other = e->node.in[1];
  int64_t dim[SEER_MAX_RANK];
  if (slope->rank == 1 && x->rank > 2) {
    dim[0] = slope->dim[0];
    for (uint32_t d = 1; d + 1 < x->rank; d++) dim[d] = 1;
    other = seer_expand_reshape(e, other, dim, x->rank - 1u);
  }
  seer_expand_output(e, 0, seer_expand_2(e, "PRelu", e->node.in[0], other));
  return SEER_OK;
}

SEER_COMPOSITE(old_prelu, "", "PRelu", 1, 6, 2, 2, 1, 1, "consumed_inputs", expand_old_prelu,
    "the form before opset 7")

// ---- Upsample: a Resize whose output pixel i reads at i / scale

static seer_status expand_upsample(seer_expand *e) {
  seer_val in[3] = {e->node.in[0]};
  if (seer_expand_has_in(e, 1)) {
    in[2] = e->node.in[1];
  } else {
    const seer_attr *scales = seer_node_attr(&e->node, "scales");
    if (!scales || scales->kind != SEER_ATTR_FLOATS || scales->n == 0)
      return SEER_FAIL(INVALID, "it has neither an input nor an attribute 'scales'");
    const int64_t n = (int64_t)scales->n;
    in[2] = seer_expand_tensor(e, SEER_DTYPE_F32, &n, 1, scales->floats);
  }
  seer_attr attr[] = {seer_expand_string("mode", seer_node_attr_s(&e->node, "mode", "nearest")),
      seer_expand_string("coordinate_transformation_mode", "asymmetric"),
      seer_expand_string("nearest_mode", "floor")};
  seer_expand_output(e, 0, seer_expand_add(e, "Resize", in, 3, attr, 3));
  return SEER_OK;
}

SEER_COMPOSITE(
    upsample, "", "Upsample", 7, 9, 1, 2, 1, 1, "mode scales", expand_upsample, "constant scales")

// ---- Scan of opset 8: a batch of sequences, of which dimension 0 says which and 1 where in it; a
// Scan along dimension 0 for each.

enum { MAX_BATCH = 4096 };

static seer_status check_batch(const seer_expand *e, const seer_attr *body, int64_t *out_n) {
  if (!body || body->kind != SEER_ATTR_GRAPH)
    return SEER_FAIL(INVALID, "attribute 'body' must be a graph");
  if (seer_expand_has_in(e, 0))
    return SEER_FAIL(UNSUPPORTED, "sequences of several lengths (input 0) are not supported");
  if (body->i < 2) return SEER_FAIL(INVALID, "it has nothing to scan");
  for (uint32_t k = 1; k < body->i; k++) {
    if (!seer_expand_has_in(e, k))
      return SEER_FAIL(INVALID, "input %u is absent and may not be", k);
    const seer_value *x = seer_expand_in(e, k);
    if (k == 1 && !x->list && x->rank > 0) *out_n = x->dim[0];
    if (x->list || x->rank == 0 || x->dim[0] != *out_n || *out_n < 1 || *out_n > MAX_BATCH)
      return SEER_FAIL(INVALID, "input %u is %s, must have a batch of 1 to %d as all others", k,
          seer_value_type_text(x, e->scratch), MAX_BATCH);
  }
  return SEER_OK;
}

static void scan_one(seer_expand *e, const seer_attr *body, int64_t b, seer_val *out) {
  const int64_t zero = 0;
  seer_val *in = SEER_NEW_ARRAY(e->scratch, seer_val, e->node.n_in);
  uint32_t n = 0, n_attr = 2;
  for (uint32_t k = 1; k < e->node.n_in; k++) {
    in[n] = e->node.in[k];  // behind the operands: what the body captures
    if (k < body->i)
      in[n] = seer_expand_2(
          e, "Squeeze", seer_expand_slice(e, in[n], 0, b, b + 1), seer_expand_ints(e, &zero, 1));
    n++;
  }
  seer_attr attr[3] = {
      *body, seer_expand_int("num_scan_inputs", seer_node_attr_i(&e->node, "num_scan_inputs", 0))};
  attr[0].i = body->i - 1;
  const seer_attr *directions = seer_node_attr_ints(&e->node, "directions");
  if (directions)
    attr[n_attr++] =
        seer_expand_ints_attr("scan_input_directions", directions->ints, (uint32_t)directions->n);
  seer_expand_add_outs(e, "Scan", in, n, attr, n_attr, out, e->node.n_out);
}

static seer_status expand_scan_8(seer_expand *e) {
  const seer_attr *body = seer_node_attr(&e->node, "body");
  const int64_t zero = 0;
  int64_t n_batch = 0;
  SEER_TRY(check_batch(e, body, &n_batch));
  uint32_t n = (uint32_t)n_batch, n_out = e->node.n_out;
  seer_val *out = SEER_NEW_ARRAY(e->scratch, seer_val, n_out),
           *part = SEER_NEW_ARRAY(e->scratch, seer_val, (size_t)n * n_out);
  for (uint32_t b = 0; b < n; b++) {
    scan_one(e, body, b, out);
    for (uint32_t k = 0; k < n_out; k++)
      part[k * n + b] = seer_expand_2(e, "Unsqueeze", out[k], seer_expand_ints(e, &zero, 1));
    SEER_TRY(e->resolve(e));
  }
  for (uint32_t k = 0; k < n_out; k++)
    seer_expand_output(e, k, seer_expand_concat(e, part + k * n, n, 0));
  return SEER_OK;
}

SEER_COMPOSITE(scan_8, "", "Scan", 8, 8, 0, SEER_OP_ANY, 1, SEER_OP_ANY,
    "body num_scan_inputs directions", expand_scan_8, "unrolled, for each of the batch",
    .takes_lists = true)

// ---- experimental operators, of opset 1, that ONNX Runtime still knows. `...`: the text, and what
// else the entry says.

#define GONE(id, onnx, attributes, ...) \
  SEER_COMPOSITE(                       \
      gone_##id, "", onnx, 1, SEER_OPSET_NEWEST, 1, 1, 1, 1, attributes, expand_##id, __VA_ARGS__)

// x * alpha + beta
static seer_status expand_affine(seer_expand *e) {
  seer_val y = seer_expand_times(e, e->node.in[0], seer_node_attr_f(&e->node, "alpha", 1));
  y = seer_expand_2(e, "Add", y, seer_expand_number(e, seer_node_attr_f(&e->node, "beta", 0)));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
GONE(affine, "Affine", "alpha beta", "x * alpha + beta", .computes = true)

// x * scale + bias of each channel
static seer_status expand_image_scaler(seer_expand *e) {
  const seer_value *x = seer_expand_in(e, 0);
  const seer_attr *bias = seer_node_attr(&e->node, "bias");
  if (x->rank != 4 || !bias || bias->kind != SEER_ATTR_FLOATS || (int64_t)bias->n != x->dim[1])
    return SEER_FAIL(INVALID,
        "input 0 is %s, must be [batch, channels, height, width] with as many channels as "
        "attribute "
        "'bias' has entries, %zu",
        seer_op_shape_text(x, e->scratch), bias ? bias->n : 0);
  const int64_t dim[3] = {x->dim[1], 1, 1};
  seer_dtype dtype = x->dtype;
  seer_val y = seer_expand_times(e, e->node.in[0], seer_node_attr_f(&e->node, "scale", 1));
  y = seer_expand_2(e, "Add", y, seer_expand_tensor(e, dtype, dim, 3, bias->floats));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
GONE(
    image_scaler, "ImageScaler", "bias scale", "x * scale + bias of each channel", .computes = true)

// alpha * f(beta * x)
static seer_status expand_scaled(seer_expand *e, const char *op) {
  if (!seer_node_attr(&e->node, "alpha") || !seer_node_attr(&e->node, "beta"))
    return SEER_FAIL(INVALID, "attributes 'alpha' and 'beta' must be there");
  seer_val y = seer_expand_times(e, e->node.in[0], seer_node_attr_f(&e->node, "beta", 1));
  y = seer_expand_1(e, op, y);
  seer_expand_output(e, 0, seer_expand_times(e, y, seer_node_attr_f(&e->node, "alpha", 1)));
  return SEER_OK;
}
static seer_status expand_parametric_softplus(seer_expand *e) {
  return expand_scaled(e, "Softplus");
}
static seer_status expand_scaled_tanh(seer_expand *e) { return expand_scaled(e, "Tanh"); }
GONE(parametric_softplus, "ParametricSoftplus", "alpha beta", "alpha * Softplus(beta * x)",
    .computes = true)
GONE(scaled_tanh, "ScaledTanh", "alpha beta", "alpha * Tanh(beta * x)", .computes = true)

// A part of an image: without `border` (left, top, right, bottom), or `scale` (height, width) of it
// from the left and top border on.
static seer_status expand_crop(seer_expand *e) {
  const seer_value x = *seer_expand_in(e, 0);
  int64_t border[4], size[2];
  SEER_TRY(seer_op_int_list(&e->node, "border", 4, 0, 0, border));
  SEER_TRY(seer_op_int_list(&e->node, "scale", 2, 1, 0, size));
  if (x.rank != 4)
    return SEER_FAIL(
        INVALID, "input 0 is %s, must have rank 4", seer_op_shape_text(&x, e->scratch));
  seer_val y = e->node.in[0];
  for (uint32_t d = 0; d < 2; d++) {
    int64_t from = border[1 - d], to = size[d] ? from + size[d] : x.dim[2 + d] - border[3 - d];
    if (from >= to || to > x.dim[2 + d])
      return SEER_FAIL(INVALID,
          "elements %" PRId64 " to %" PRId64 " of dimension %u, which has %" PRId64, from, to,
          2 + d, x.dim[2 + d]);
    y = seer_expand_slice(e, y, 2 + d, from, to);
  }
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
GONE(crop, "Crop", "border scale", "a part of an image")

// The form that ThresholdedRelu had before opset 10 is the one since.
static seer_status expand_thresholded_relu(seer_expand *e) {
  seer_expand_output(
      e, 0, seer_expand_add(e, "ThresholdedRelu", e->node.in, 1, e->node.attr, e->node.n_attr));
  return SEER_OK;
}
SEER_COMPOSITE(old_thresholded_relu, "", "ThresholdedRelu", 1, 9, 1, 1, 1, 1, "alpha",
    expand_thresholded_relu, "the form before opset 10")
