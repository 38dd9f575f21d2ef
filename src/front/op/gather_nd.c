// gather_nd.c - operators that read where data says: GatherND, ReverseSequence.
#include "front/sized.h"

// `...`: the text, and what else the entry says.
#define READS(id, onnx, from, attributes, ...)                                                  \
  SEER_OP_ENTRY(id, onnx, from, 2, 2, 1, SEER_FUSE_INJECTIVE, attributes, .rtol = 0, .atol = 0, \
      .infer = infer_##id, .emit = emit_##id, .doc = __VA_ARGS__)

static seer_status want_index(const seer_value *index, uint32_t k) {
  if (index->dtype == SEER_DTYPE_I32 || index->dtype == SEER_DTYPE_I64) return SEER_OK;
  return SEER_FAIL(INVALID, "input %u is %s, must be i32 or i64", k, seer_dtype_name(index->dtype));
}

// ---- GatherND

static seer_status infer_gather_nd(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL, *index = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &index));
  SEER_TRY(want_index(index, 1));
  int64_t n_batch = seer_node_attr_i(node, "batch_dims", 0), dim[2 * SEER_MAX_RANK];
  int64_t n_index = index->rank > 0 ? index->dim[index->rank - 1] : 0;
  bool fits = n_batch >= 0 && n_index >= 1 && n_batch < index->rank && n_batch + n_index <= x->rank;
  for (int64_t d = 0; d < n_batch && fits; d++) fits = index->dim[d] == x->dim[d];
  if (!fits) {
    return SEER_FAIL(INVALID,
        "input 1 is %s, and does not fit input 0's %s with %" PRId64 " batch dimensions",
        seer_op_shape_text(index, arena), seer_op_shape_text(x, arena), n_batch);
  }
  uint32_t rank = 0;
  for (uint32_t d = 0; d + 1 < index->rank; d++) dim[rank++] = index->dim[d];
  for (int64_t d = n_batch + n_index; d < x->rank; d++) dim[rank++] = x->dim[d];
  return seer_op_set(&out_values[0], x->dtype, dim, rank);
}

// Entry j of the index tuple at `place`.
static seer_expr entry_at(
    seer_emit *emit, const seer_node *node, const seer_expr *place, uint32_t n_place, uint32_t j) {
  seer_expr from[SEER_MAX_RANK];
  for (uint32_t d = 0; d < n_place; d++) from[d] = place[d];
  from[n_place] = seer_op_int(emit, j);
  return seer_op_to_i64(emit, seer_emit_load(emit, node, 1, from));
}

static seer_status emit_gather_nd(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0), *index = seer_emit_in(emit, node, 1);
  uint32_t n_batch = (uint32_t)seer_node_attr_i(node, "batch_dims", 0), n_place = index->rank - 1u;
  uint32_t n_index = (uint32_t)index->dim[n_place], n = 0;
  seer_expr at[SEER_MAX_RANK], from[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  for (; n < n_batch; n++) from[n] = at[n];
  for (uint32_t j = 0; j < n_index; j++, n++)
    from[n] = seer_op_data_index(emit, entry_at(emit, node, at, n_place, j), x->dim[n]);
  for (; n < x->rank; n++) from[n] = at[n_place + n - n_batch - n_index];
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, seer_emit_load(emit, node, 0, from));
  return SEER_OK;
}

static seer_status carry_gather_nd(seer_expand *e) {
  const seer_value *index = seer_expand_in(e, 1);
  int64_t batch = seer_node_attr_i(&e->node, "batch_dims", 0), last = index->dim[index->rank - 1];
  SEER_SIZED_EACH(e, at) {
    if (at.k == 1) {
      if (at.d + 1u == index->rank)
        return seer_sized_refuse(
            e, (seer_sized_place){1, at.d}, "an index must have a known length");
      SEER_TRY(seer_sized_give(e, at, 0, at.d));
    } else if (at.d < batch) {
      SEER_TRY(seer_sized_give(e, at, 0, at.d));
    } else if (at.d >= batch + last) {
      SEER_TRY(
          seer_sized_give(e, at, 0, (uint32_t)(at.d - last) + index->rank - 1u - (uint32_t)batch));
    } else if (!seer_sized_is_position(e->graph, e->node.in[1])) {
      return seer_sized_refuse(
          e, (seer_sized_place){0, at.d}, "its indices must be known to be 0 or more");
    }
  }
  return SEER_OK;
}
READS(gather_nd, "GatherND", 11, "batch_dims", "indices out of range are clamped",
    .carry_sizes = carry_gather_nd)

// ---- ReverseSequence: the first lengths[b] steps of each batch element backwards

static seer_status infer_reverse_sequence(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL, *length = NULL;
  uint32_t batch, time;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &length));
  SEER_TRY(want_index(length, 1));
  SEER_TRY(seer_op_axis(
      seer_node_attr_i(node, "batch_axis", 1), x->rank, "attribute 'batch_axis'", &batch));
  SEER_TRY(seer_op_axis(
      seer_node_attr_i(node, "time_axis", 0), x->rank, "attribute 'time_axis'", &time));
  if (length->rank != 1 || length->dim[0] != x->dim[batch] || batch == time) {
    return SEER_FAIL(INVALID, "input 1 is %s, must be [%" PRId64 "], and axes must differ",
        seer_op_shape_text(length, arena), x->dim[batch]);
  }
  return seer_op_set(&out_values[0], x->dtype, x->dim, x->rank);
}

static seer_status emit_reverse_sequence(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  int64_t batch = seer_node_attr_i(node, "batch_axis", 1),
          time = seer_node_attr_i(node, "time_axis", 0);
  if (batch < 0) batch += x->rank;
  if (time < 0) time += x->rank;
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_expr length = seer_op_to_i64(emit, seer_emit_load(emit, node, 1, &at[batch]));
  seer_expr back = seer_op_2(
      emit, SEER_EXPR_SUB, seer_op_2(emit, SEER_EXPR_ADD, length, seer_op_int(emit, -1)), at[time]);
  seer_expr is_inside = seer_op_2(emit, SEER_EXPR_LT, at[time], length);
  at[time] = seer_op_clamp(
      emit, seer_expr_select(&emit->dag->expr, is_inside, back, at[time]), x->dim[time]);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, seer_emit_load(emit, node, 0, at));
  return SEER_OK;
}
READS(reverse_sequence, "ReverseSequence", 10, "batch_axis time_axis", "")
