// legacy.c - operators of old opsets as their successors: broadcasting from a given axis (before
// opset 7), Upsample (before 10).
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
