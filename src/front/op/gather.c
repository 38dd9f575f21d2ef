// gather.c - index maps with conditions: Pad, Gather, DepthToSpace, SpaceToDepth.
#include <string.h>

#include "front/sized.h"

static uint32_t start_map(seer_emit *emit, const seer_node *node, seer_expr *at) {
  return seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
}

// ---- Pad: attributes before opset 11, inputs since; negative pads cut

typedef enum { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } pad_mode;

static seer_status read_pads(const seer_graph *graph, const seer_node *node, seer_arena *arena,
    pad_mode *out_mode, int64_t *out_begin, int64_t *out_end) {
  static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
  const seer_value *x = NULL;
  int64_t *pads = NULL, *axes = NULL;
  uint32_t n = 0, n_axes = UINT32_MAX, mask = 0;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_ints(graph, node, "pads", 1, arena, &pads, &n));
  if (seer_op_has_in(node, 3))
    SEER_TRY(seer_op_const_ints(graph, node, 3, "axes", arena, &axes, &n_axes));
  const char *mode = seer_node_attr_s(node, "mode", "constant");
  *out_mode = PAD_CONSTANT;
  while (strcmp(mode, modes[*out_mode]) != 0) {
    if (*out_mode == PAD_WRAP) {
      return SEER_FAIL(
          INVALID, "attribute 'mode' is '%s', must be constant, reflect, edge or wrap", mode);
    }
    *out_mode = (pad_mode)(*out_mode + 1);
  }
  uint32_t n_dim = n_axes == UINT32_MAX ? x->rank : n_axes;
  if (n_dim > x->rank || n != 2 * n_dim)
    return SEER_FAIL(INVALID, "'pads' has %u entries, must have %u", n, 2 * n_dim);
  if (n_axes != UINT32_MAX) SEER_TRY(seer_op_axes_mask(axes, n_axes, x->rank, &mask));
  for (uint32_t d = 0; d < x->rank; d++) out_begin[d] = out_end[d] = 0;
  for (uint32_t i = 0; i < n_dim; i++) {
    uint32_t d = i;
    if (n_axes != UINT32_MAX) SEER_TRY(seer_op_axis(axes[i], x->rank, "an entry of 'axes'", &d));
    out_begin[d] = pads[i];
    out_end[d] = pads[i + n_dim];
    int64_t most = *out_mode == PAD_REFLECT && x->dim[d] > 0 ? x->dim[d] - 1 : INT32_MAX;
    for (uint32_t side = 0; side < 2; side++) {
      int64_t pad = side ? out_end[d] : out_begin[d];
      if (pad > most || pad < -INT32_MAX) {
        return SEER_FAIL(INVALID,
            "'pads' has %" PRId64 " for dimension %u of extent %" PRId64 ", at most %" PRId64
            " with mode %s",
            pad, d, x->dim[d], most, mode);
      }
    }
  }
  return SEER_OK;
}

static seer_status infer_pad(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  int64_t begin[SEER_MAX_RANK], end[SEER_MAX_RANK], dim[SEER_MAX_RANK];
  pad_mode mode;
  SEER_TRY(read_pads(graph, node, arena, &mode, begin, end));
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  if (seer_op_has_in(node, 2)) {
    const seer_value *fill = NULL;
    SEER_TRY(seer_op_in(graph, node, 2, &fill));
    SEER_TRY(seer_op_same_dtype(x, fill, 2));
    if (seer_op_elems(fill) != 1)
      return SEER_FAIL(INVALID, "input 2 (constant_value) must be a scalar");
  }
  for (uint32_t d = 0; d < x->rank; d++) {
    dim[d] = x->dim[d] + begin[d] + end[d];
    if (mode != PAD_CONSTANT && x->dim[d] == 0 && dim[d] > 0) {
      return SEER_FAIL(INVALID, "dimension %u has no elements to repeat", d);
    }
  }
  return seer_op_set(&out_values[0], x->dtype, dim, x->rank);
}

// Source index for position `p` (may be outside) of a dimension of extent n. Clamped at last, so
// that bounds are plain to see for every reader of the expression.
static seer_expr mirrored(seer_emit *emit, pad_mode mode, seer_expr p, int64_t n) {
  if (mode == PAD_WRAP) return seer_op_2(emit, SEER_EXPR_MOD, p, seer_op_int(emit, n));
  if (mode == PAD_REFLECT) {  // |p|, then (n-1) - |(n-1) - p|
    p = seer_op_2(emit, SEER_EXPR_MAX, p, seer_op_2(emit, SEER_EXPR_SUB, seer_op_int(emit, 0), p));
    p = seer_op_2(
        emit, SEER_EXPR_MIN, p, seer_op_2(emit, SEER_EXPR_SUB, seer_op_int(emit, 2 * (n - 1)), p));
  }
  return seer_op_clamp(emit, p, n);
}

static seer_status emit_pad(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0), *out = seer_emit_out(emit, node, 0);
  int64_t begin[SEER_MAX_RANK], end[SEER_MAX_RANK];
  pad_mode mode;
  SEER_TRY(read_pads(emit->graph, node, emit->arena, &mode, begin, end));
  seer_expr at[SEER_MAX_RANK],
      inside = {0}, fill = seer_op_num(emit, x->dtype, seer_node_attr_f(node, "value", 0));
  uint32_t stage = start_map(emit, node, at);
  for (uint32_t d = 0; d < x->rank; d++) {
    int64_t low = -begin[d], high = low + out->dim[d] - 1;
    at[d] = seer_op_2(emit, SEER_EXPR_ADD, at[d], seer_op_int(emit, low));
    if (mode == PAD_CONSTANT) {
      inside = seer_op_within(emit, inside, at[d], low, high, 0, x->dim[d]);
    } else if (low < 0 || high >= x->dim[d]) {
      at[d] = mirrored(emit, mode, at[d], x->dim[d]);
    }
  }
  if (seer_emit_has_in(emit, node, 2)) {
    seer_expr zero[SEER_MAX_RANK];
    for (uint32_t d = 0; d < SEER_MAX_RANK; d++) zero[d] = seer_op_int(emit, 0);
    fill = seer_emit_load(emit, node, 2, zero);
  }
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE,
      seer_emit_load_guarded(emit, node, 0, at, inside, fill));
  return SEER_OK;
}
SEER_OP_INJECTIVE(pad, "Pad", 2, 1, 4, 1, "mode pads value", NULL,
    "constant, reflect, edge, wrap; negative pads; constants at ends that data gives",
    .is_composite = seer_shaped_pad_is_data, .expand = seer_shaped_pad, .expands_sized = true)

// ---- Gather

static seer_status infer_gather(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL, *index = NULL;
  uint32_t axis = 0, rank = 0;
  int64_t dim[2 * SEER_MAX_RANK];
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &index));
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 0), x->rank, "attribute 'axis'", &axis));
  if (index->dtype != SEER_DTYPE_I32 && index->dtype != SEER_DTYPE_I64) {
    return SEER_FAIL(INVALID, "input 1 is %s, must be i32 or i64", seer_dtype_name(index->dtype));
  }
  const seer_tensor *known = index->constant;
  int64_t extent = x->dim[axis], n = known ? seer_tensor_elems(known) : 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t k = seer_dtype_load_i64(known->dtype, known->data, i);
    if (k < -extent || k >= extent) {
      return SEER_FAIL(INVALID,
          "input 1 has index %" PRId64 ", must be in [-%" PRId64 ", %" PRId64 ")", k, extent,
          extent);
    }
  }
  for (uint32_t d = 0; d < axis; d++) dim[rank++] = x->dim[d];
  for (uint32_t d = 0; d < index->rank; d++) dim[rank++] = index->dim[d];
  for (uint32_t d = axis + 1; d < x->rank; d++) dim[rank++] = x->dim[d];
  return seer_op_set(&out_values[0], x->dtype, dim, rank);
}

static seer_status emit_gather(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0), *index = seer_emit_in(emit, node, 1);
  uint32_t axis = 0;
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 0), x->rank, "attribute 'axis'", &axis));
  seer_expr at[SEER_MAX_RANK], from[SEER_MAX_RANK];
  uint32_t stage = start_map(emit, node, at), after = axis + index->rank;
  for (uint32_t d = 0; d < axis; d++) from[d] = at[d];
  for (uint32_t d = axis + 1; d < x->rank; d++) from[d] = at[after + d - axis - 1];
  from[axis] = seer_op_data_index(emit, seer_emit_load(emit, node, 1, &at[axis]), x->dim[axis]);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, seer_emit_load(emit, node, 0, from));
  return SEER_OK;
}

static seer_status fold_gather(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  const seer_tensor *x = seer_op_const(graph, node, 0), *index = seer_op_const(graph, node, 1);
  uint32_t axis = 0;
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 0), x->rank, "attribute 'axis'", &axis));
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  int64_t outer = 1, n = seer_tensor_elems(index), extent = x->dim[axis];
  size_t inner = seer_dtype_bytes(x->dtype);
  for (uint32_t d = 0; d < axis; d++) outer *= x->dim[d];
  for (uint32_t d = axis + 1; d < x->rank; d++) inner *= (size_t)x->dim[d];
  for (int64_t o = 0; inner > 0 && o < outer; o++) {
    for (int64_t i = 0; i < n; i++) {
      int64_t k = seer_dtype_load_i64(index->dtype, index->data, i);
      if (k < 0) k += extent;
      SEER_ASSERT(k >= 0 && k < extent, "%s: index %" PRId64 " of %" PRId64, node->name, k, extent);
      memcpy((char *)(uintptr_t)out_tensors[0].data + (size_t)(o * n + i) * inner,
          (const char *)x->data + (size_t)(o * extent + k) * inner, inner);
    }
  }
  return SEER_OK;
}

static seer_status carry_gather(seer_expand *e) {
  uint32_t axis, rank = seer_expand_in(e, 0)->rank, n_index = seer_expand_in(e, 1)->rank;
  SEER_TRY(seer_op_axis(seer_node_attr_i(&e->node, "axis", 0), rank, "attribute 'axis'", &axis));
  SEER_SIZED_EACH(e, at) {
    if (at.k == 1) SEER_TRY(seer_sized_give(e, at, 0, axis + at.d));
    if (at.k == 1 || at.d == axis) continue;
    SEER_TRY(seer_sized_give(e, at, 0, at.d < axis ? at.d : at.d + n_index - 1));
  }
  return seer_expand_in(e, 0)->size[axis].i ? seer_sized_count_from_size(e, axis) : SEER_OK;
}

seer_val seer_op_listed_number(const seer_graph *graph, const seer_node *node) {
  const seer_val none = {0};
  const seer_value *list = seer_graph_value(graph, node->in[0]);
  const seer_node *concat = list->producer.i ? seer_graph_node(graph, list->producer) : NULL;
  for (int n = 0; concat && concat->op == &seer_op_identity && n < 32; n++) {
    seer_node_id before = seer_graph_value(graph, concat->in[0])->producer;
    concat = before.i ? seer_graph_node(graph, before) : NULL;
  }
  const seer_tensor *at = seer_op_const(graph, node, 1);
  if (!concat || concat->op != &seer_op_concat || !at || seer_tensor_elems(at) != 1) return none;
  int64_t i = seer_dtype_load_i64(at->dtype, at->data, 0);
  if (i < 0) i += list->dim[0];
  for (uint32_t k = 0; k < concat->n_in; k++)
    if (seer_value_elems(seer_graph_value(graph, concat->in[k])) != 1) return none;
  return i < 0 || i >= concat->n_in ? none : concat->in[i];
}
SEER_OP_INJECTIVE(gather, "Gather", 1, 2, 2, 1, "axis", fold_gather,
    "any rank; indices out of range are clamped", .carry_sizes = carry_gather, .moves = true,
    .bounded_by = seer_op_listed_number)

// ---- GatherElements: an index for each element of the output

static seer_status infer_gather_elements(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL, *index = NULL;
  uint32_t axis;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &index));
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 0), x->rank, "attribute 'axis'", &axis));
  if (index->dtype != SEER_DTYPE_I32 && index->dtype != SEER_DTYPE_I64)
    return SEER_FAIL(INVALID, "input 1 is %s, must be i32 or i64", seer_dtype_name(index->dtype));
  bool fits = index->rank == x->rank && (x->dim[axis] > 0 || seer_op_elems(index) == 0);
  for (uint32_t d = 0; d < x->rank && fits; d++) fits = d == axis || index->dim[d] <= x->dim[d];
  if (!fits)
    return SEER_FAIL(INVALID, "input 1 is %s, must fit input 0's %s but along axis %u",
        seer_op_shape_text(index, arena), seer_op_shape_text(x, arena), axis);
  return seer_op_set(&out_values[0], x->dtype, index->dim, index->rank);
}

static seer_status emit_gather_elements(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  uint32_t axis = 0;
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 0), x->rank, "attribute 'axis'", &axis));
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage = start_map(emit, node, at);
  at[axis] = seer_op_data_index(emit, seer_emit_load(emit, node, 1, at), x->dim[axis]);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, seer_emit_load(emit, node, 0, at));
  return SEER_OK;
}

static seer_status carry_gather_elements(seer_expand *e) {
  uint32_t axis, rank = seer_expand_in(e, 0)->rank;
  SEER_TRY(seer_op_axis(seer_node_attr_i(&e->node, "axis", 0), rank, "attribute 'axis'", &axis));
  SEER_SIZED_EACH(e, at) {
    if (at.k == 1) SEER_TRY(seer_sized_give(e, at, 0, at.d));
  }
  return seer_expand_in(e, 0)->size[axis].i ? seer_sized_count_from_size(e, axis) : SEER_OK;
}
SEER_OP_INJECTIVE(gather_elements, "GatherElements", 11, 2, 2, 1, "axis", NULL,
    "indices out of range are clamped", .carry_sizes = carry_gather_elements, .moves = true)

// ---- DepthToSpace, SpaceToDepth: blocks of pixels to channels and back

static seer_status read_block(const seer_graph *graph, const seer_node *node, seer_arena *arena,
    const seer_value **out_x, int64_t *out_block) {
  SEER_TRY(seer_op_in(graph, node, 0, out_x));
  *out_block = seer_node_attr_i(node, "blocksize", 0);
  if ((*out_x)->rank != 4) {
    return SEER_FAIL(INVALID, "input 0 is %s, must have rank 4", seer_op_shape_text(*out_x, arena));
  }
  if (*out_block < 1 || *out_block > 1 << 15) {
    return SEER_FAIL(
        INVALID, "attribute 'blocksize' is %" PRId64 ", must be at least 1", *out_block);
  }
  if ((*out_x)->dim[1] > INT32_MAX) return SEER_FAIL(UNSUPPORTED, "more than 2^31 channels");
  return SEER_OK;
}

static seer_status check_block_mode(const seer_node *node) {
  const char *mode = seer_node_attr_s(node, "mode", "DCR");
  if (strcmp(mode, "DCR") == 0 || strcmp(mode, "CRD") == 0) return SEER_OK;
  return SEER_FAIL(INVALID, "attribute 'mode' is '%s', must be DCR or CRD", mode);
}

static seer_status infer_depth_to_space(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  int64_t b = 0;
  SEER_TRY(read_block(graph, node, arena, &x, &b));
  SEER_TRY(check_block_mode(node));
  if (x->dim[1] % (b * b) != 0) {
    return SEER_FAIL(INVALID,
        "channels are %" PRId64 ", must be a multiple of blocksize^2 = %" PRId64, x->dim[1], b * b);
  }
  int64_t dim[4] = {x->dim[0], x->dim[1] / (b * b), x->dim[2] * b, x->dim[3] * b};
  return seer_op_set(&out_values[0], x->dtype, dim, 4);
}

static seer_status emit_depth_to_space(seer_emit *emit, const seer_node *node) {
  const seer_value *x = NULL;
  int64_t b = 0;
  SEER_TRY(read_block(emit->graph, node, emit->arena, &x, &b));
  bool is_crd = strcmp(seer_node_attr_s(node, "mode", "DCR"), "CRD") == 0;
  seer_expr at[4], block = seer_op_int(emit, b);
  uint32_t stage = start_map(emit, node, at);
  seer_expr by = seer_op_2(emit, SEER_EXPR_MOD, at[2], block),
            bx = seer_op_2(emit, SEER_EXPR_MOD, at[3], block);
  seer_expr inside = seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, by, b, 0), bx);
  seer_expr c = is_crd
      ? seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, at[1], b * b, 0), inside)
      : seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, inside, x->dim[1] / (b * b), 0), at[1]);
  seer_expr from[4] = {at[0], c, seer_op_2(emit, SEER_EXPR_DIV, at[2], block),
      seer_op_2(emit, SEER_EXPR_DIV, at[3], block)};
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, seer_emit_load(emit, node, 0, from));
  return SEER_OK;
}
SEER_OP_INJECTIVE(depth_to_space, "DepthToSpace", 1, 1, 1, 1, "blocksize mode", NULL, "DCR and CRD")

static seer_status infer_space_to_depth(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  int64_t b = 0;
  SEER_TRY(read_block(graph, node, arena, &x, &b));
  if (x->dim[2] % b != 0 || x->dim[3] % b != 0) {
    return SEER_FAIL(INVALID,
        "input 0 is %s, its rows and columns must be multiples of blocksize %" PRId64,
        seer_op_shape_text(x, arena), b);
  }
  SEER_TRY(check_block_mode(node));
  int64_t dim[4] = {x->dim[0], x->dim[1] * b * b, x->dim[2] / b, x->dim[3] / b};
  return seer_op_set(&out_values[0], x->dtype, dim, 4);
}

static seer_status emit_space_to_depth(seer_emit *emit, const seer_node *node) {
  const seer_value *x = NULL;
  int64_t b = 0;
  SEER_TRY(read_block(emit->graph, node, emit->arena, &x, &b));
  seer_expr at[4], channels = seer_op_int(emit, x->dim[1]);
  uint32_t stage = start_map(emit, node, at);
  bool is_crd = strcmp(seer_node_attr_s(node, "mode", "DCR"), "CRD") == 0;
  seer_expr each = is_crd ? seer_op_int(emit, b * b) : channels;
  seer_expr outer = seer_op_2(emit, SEER_EXPR_DIV, at[1], each),
            inner = seer_op_2(emit, SEER_EXPR_MOD, at[1], each);
  seer_expr inside = is_crd ? inner : outer;
  seer_expr by = seer_op_2(emit, SEER_EXPR_DIV, inside, seer_op_int(emit, b));
  seer_expr bx = seer_op_2(emit, SEER_EXPR_MOD, inside, seer_op_int(emit, b));
  seer_expr from[4] = {at[0], is_crd ? outer : inner,
      seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, at[2], b, 0), by),
      seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, at[3], b, 0), bx)};
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, seer_emit_load(emit, node, 0, from));
  return SEER_OK;
}
SEER_OP_INJECTIVE(space_to_depth, "SpaceToDepth", 1, 1, 1, 1, "blocksize mode", NULL, "DCR and CRD")
