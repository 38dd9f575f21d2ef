// scatter.c - operators whose results lie where data says: ScatterElements, ScatterND, GatherND,
// TopK, ReverseSequence. A scatter is written the other way round, as a search of each element of
// the output among the updates, and a TopK as the rank of each element: work grows with the product
// of both sizes, but every element can be computed alone, and so in parallel and by vectors.
#include <string.h>

#include "front/sized.h"

// `...`: the text, and what else the entry says.
#define SCATTER(id, how, onnx, from, in_min, in_max, out_max, kind, attributes, ...)     \
  SEER_OP_ENTRY(id, onnx, from, in_min, in_max, out_max, kind, attributes, .rtol = 1e-5, \
      .atol = 1e-5, .infer = infer_##how, .emit = emit_##how, .doc = __VA_ARGS__)

static seer_status want_index(const seer_value *index, uint32_t k) {
  if (index->dtype == SEER_DTYPE_I32 || index->dtype == SEER_DTYPE_I64) return SEER_OK;
  return SEER_FAIL(INVALID, "input %u is %s, must be i32 or i64", k, seer_dtype_name(index->dtype));
}

// ---- ScatterElements, ScatterND: data, and updates that replace or join its elements

typedef enum { PUT, ADD, MUL, MIN, MAX } scatter_how;

static seer_status read_how(const seer_node *node, scatter_how *out) {
  static const char *const names[] = {"none", "add", "mul", "min", "max"};
  const char *name = seer_node_attr_s(node, "reduction", "none");
  for (int k = PUT; k <= MAX; k++) {
    if (strcmp(name, names[k]) != 0) continue;
    *out = (scatter_how)k;
    return SEER_OK;
  }
  return SEER_FAIL(
      INVALID, "attribute 'reduction' is '%s', must be none, add, mul, min or max", name);
}

// Output element -> does update `reduce` go there, and the update.
typedef void (*scatter_match)(seer_emit *emit, const seer_node *node, const seer_expr *at,
    const seer_expr *reduce, seer_expr *out_hit, seer_expr *out_update);

// One reduction over all updates, at the output's indices. `what`: 0 the joined updates, 1 whether
// there is one.
static uint32_t search(seer_emit *emit, const seer_node *node, scatter_how how, int what,
    const seer_dag_axis *reduce, uint32_t n_reduce, scatter_match match) {
  static const seer_combiner combiners[] = {
      SEER_COMBINE_SUM, SEER_COMBINE_SUM, SEER_COMBINE_PROD, SEER_COMBINE_MIN, SEER_COMBINE_MAX};
  const seer_value *x = seer_emit_in(emit, node, 0);
  seer_dag_axis dims[SEER_MAX_RANK];
  uint8_t order[SEER_MAX_RANK];
  seer_expr at[SEER_MAX_RANK], var[SEER_MAX_RANK], hit, update;
  for (uint32_t d = 0; d < x->rank; d++)
    dims[d] = (seer_dag_axis){NULL, x->dim[d], SEER_AXIS_OTHER};
  seer_op_order(seer_emit_out(emit, node, 0), order);
  uint32_t stage = seer_emit_temp(emit, what ? "hit" : "found", SEER_STAGE_ANCHOR, dims, x->rank,
      order, reduce, n_reduce, at, var);
  match(emit, node, at, var, &hit, &update);
  if (what == 1) {
    seer_emit_temp_body(emit, stage, SEER_COMBINE_OR, hit);
  } else if (x->dtype == SEER_DTYPE_BOOL) {
    seer_emit_temp_body(emit, stage, SEER_COMBINE_OR, seer_op_2(emit, SEER_EXPR_AND, hit, update));
  } else {
    seer_expr otherwise = how == MIN || how == MAX ? seer_emit_load(emit, node, 0, at)
                                                   : seer_op_num(emit, x->dtype, how == MUL);
    seer_emit_temp_body(
        emit, stage, combiners[how], seer_expr_select(&emit->dag->expr, hit, update, otherwise));
  }
  return stage;
}

static seer_status emit_updates(seer_emit *emit, const seer_node *node, const seer_dag_axis *reduce,
    uint32_t n_reduce, scatter_match match) {
  static const seer_expr_op join[] = {
      SEER_EXPR_NONE, SEER_EXPR_ADD, SEER_EXPR_MUL, SEER_EXPR_MIN, SEER_EXPR_MAX};
  scatter_how how = PUT;
  SEER_TRY(read_how(node, &how));
  uint32_t found = search(emit, node, how, 0, reduce, n_reduce, match), hit = 0;
  if (how == PUT) hit = search(emit, node, how, 1, reduce, n_reduce, match);
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, NULL, NULL, 0, at, NULL);
  seer_expr x = seer_emit_load(emit, node, 0, at), update = seer_emit_load_temp(emit, found, at);
  seer_expr body = how == PUT
      ? seer_expr_select(&emit->dag->expr, seer_emit_load_temp(emit, hit, at), update, x)
      : seer_op_2(emit, join[how], x, update);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, body);
  return SEER_OK;
}

// ---- ScatterElements

static seer_status infer_scatter_elements(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL, *index = NULL, *update = NULL;
  uint32_t axis;
  scatter_how how;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &index));
  SEER_TRY(seer_op_in(graph, node, 2, &update));
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 0), x->rank, "attribute 'axis'", &axis));
  SEER_TRY(want_index(index, 1));
  SEER_TRY(seer_op_same_dtype(x, update, 2));
  SEER_TRY(read_how(node, &how));
  bool fits = index->rank == x->rank && update->rank == x->rank;
  for (uint32_t d = 0; d < x->rank && fits; d++)
    fits = update->dim[d] == index->dim[d] && (d == axis || index->dim[d] <= x->dim[d]);
  if (!fits)
    return SEER_FAIL(INVALID, "inputs 1 and 2 are %s and %s, must be equal and fit input 0's %s",
        seer_op_shape_text(index, arena), seer_op_shape_text(update, arena),
        seer_op_shape_text(x, arena));
  return seer_op_set(&out_values[0], x->dtype, x->dim, x->rank);
}

static void match_element(seer_emit *emit, const seer_node *node, const seer_expr *at,
    const seer_expr *reduce, seer_expr *out_hit, seer_expr *out_update) {
  const seer_value *x = seer_emit_in(emit, node, 0), *index = seer_emit_in(emit, node, 1);
  int64_t axis = seer_node_attr_i(node, "axis", 0);
  if (axis < 0) axis += x->rank;
  seer_expr from[SEER_MAX_RANK], inside = {0};
  for (uint32_t d = 0; d < x->rank; d++) {
    from[d] = d == axis ? reduce[0] : at[d];
    if (d != axis) inside = seer_op_within(emit, inside, at[d], 0, x->dim[d] - 1, 0, index->dim[d]);
  }
  // Nothing is at index -1 - extent, so what lies outside of the updates matches nothing.
  seer_expr none = seer_expr_int(&emit->dag->expr, index->dtype, -1 - x->dim[axis]);
  seer_expr k = seer_op_to_i64(emit, seer_emit_load_guarded(emit, node, 1, from, inside, none));
  seer_expr extent = seer_op_int(emit, x->dim[axis]);
  seer_expr wrapped = seer_op_2(emit, SEER_EXPR_ADD, k, extent);
  *out_hit = seer_op_2(emit, SEER_EXPR_OR, seer_op_2(emit, SEER_EXPR_EQ, k, at[axis]),
      seer_op_2(emit, SEER_EXPR_EQ, wrapped, at[axis]));
  *out_update = seer_emit_load_guarded(emit, node, 2, from, inside, seer_op_num(emit, x->dtype, 0));
}

static seer_status emit_scatter_elements(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0), *index = seer_emit_in(emit, node, 1);
  int64_t axis = seer_node_attr_i(node, "axis", 0);
  if (axis < 0) axis += x->rank;
  seer_dag_axis reduce = {"k", index->dim[axis], SEER_AXIS_OTHER};
  return emit_updates(emit, node, &reduce, 1, match_element);
}
#define QUADRATIC "work: elements times updates; with reduction none, indices must differ"
SCATTER(scatter_elements, scatter_elements, "ScatterElements", 11, 3, 3, 1, SEER_FUSE_REDUCTION,
    "axis reduction", QUADRATIC)
SCATTER(scatter, scatter_elements, "Scatter", 9, 3, 3, 1, SEER_FUSE_REDUCTION, "axis", QUADRATIC)

// ---- ScatterND: updates [places..., what is behind the indexed dimensions]

static seer_status infer_scatter_nd(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL, *index = NULL, *update = NULL;
  scatter_how how;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &index));
  SEER_TRY(seer_op_in(graph, node, 2, &update));
  SEER_TRY(want_index(index, 1));
  SEER_TRY(seer_op_same_dtype(x, update, 2));
  SEER_TRY(read_how(node, &how));
  bool fits = index->rank >= 1 && index->dim[index->rank - 1] <= x->rank;
  if (fits) {
    uint32_t n_place = index->rank - 1u, n_index = (uint32_t)index->dim[n_place];
    fits = update->rank == n_place + x->rank - n_index;
    for (uint32_t d = 0; d < update->rank && fits; d++)
      fits = update->dim[d] == (d < n_place ? index->dim[d] : x->dim[n_index + d - n_place]);
  }
  if (!fits)
    return SEER_FAIL(INVALID, "inputs 1 and 2 are %s and %s, and do not fit input 0's %s",
        seer_op_shape_text(index, arena), seer_op_shape_text(update, arena),
        seer_op_shape_text(x, arena));
  return seer_op_set(&out_values[0], x->dtype, x->dim, x->rank);
}

// Entry j of the index tuple at `place`.
static seer_expr entry_at(
    seer_emit *emit, const seer_node *node, const seer_expr *place, uint32_t n_place, uint32_t j) {
  seer_expr from[SEER_MAX_RANK];
  for (uint32_t d = 0; d < n_place; d++) from[d] = place[d];
  from[n_place] = seer_op_int(emit, j);
  return seer_op_to_i64(emit, seer_emit_load(emit, node, 1, from));
}

static void match_nd(seer_emit *emit, const seer_node *node, const seer_expr *at,
    const seer_expr *reduce, seer_expr *out_hit, seer_expr *out_update) {
  const seer_value *x = seer_emit_in(emit, node, 0), *index = seer_emit_in(emit, node, 1);
  uint32_t n_place = index->rank - 1u, n_index = (uint32_t)index->dim[n_place];
  seer_expr from[SEER_MAX_RANK];
  *out_hit = seer_expr_int(&emit->dag->expr, SEER_DTYPE_BOOL, 1);
  for (uint32_t j = 0; j < n_index; j++) {
    seer_expr k = entry_at(emit, node, reduce, n_place, j);
    seer_expr wrapped = seer_op_2(emit, SEER_EXPR_ADD, k, seer_op_int(emit, x->dim[j]));
    seer_expr is_it = seer_op_2(emit, SEER_EXPR_OR, seer_op_2(emit, SEER_EXPR_EQ, k, at[j]),
        seer_op_2(emit, SEER_EXPR_EQ, wrapped, at[j]));
    *out_hit = j == 0 ? is_it : seer_op_2(emit, SEER_EXPR_AND, *out_hit, is_it);
  }
  for (uint32_t d = 0; d < n_place; d++) from[d] = reduce[d];
  for (uint32_t d = n_index; d < x->rank; d++) from[n_place + d - n_index] = at[d];
  *out_update = seer_emit_load(emit, node, 2, from);
}

static seer_status emit_scatter_nd(seer_emit *emit, const seer_node *node) {
  const seer_value *index = seer_emit_in(emit, node, 1);
  seer_dag_axis reduce[SEER_MAX_RANK] = {{"k", 1, SEER_AXIS_OTHER}};
  uint32_t n = index->rank - 1u;
  for (uint32_t d = 0; d < n; d++)
    reduce[d] = (seer_dag_axis){NULL, index->dim[d], SEER_AXIS_OTHER};
  return emit_updates(emit, node, reduce, n > 0 ? n : 1, match_nd);
}
SCATTER(
    scatter_nd, scatter_nd, "ScatterND", 11, 3, 3, 1, SEER_FUSE_REDUCTION, "reduction", QUADRATIC)

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
SCATTER(gather_nd, gather_nd, "GatherND", 11, 2, 2, 1, SEER_FUSE_INJECTIVE, "batch_dims",
    "indices out of range are clamped", .carry_sizes = carry_gather_nd)

// ---- TopK: an element's rank is the number of those that come before it

static seer_status read_top_k(const seer_graph *graph, const seer_node *node,
    const seer_value **out_x, uint32_t *out_axis, int64_t *out_k) {
  SEER_TRY(seer_op_in(graph, node, 0, out_x));
  SEER_TRY(seer_op_axis(
      seer_node_attr_i(node, "axis", -1), (*out_x)->rank, "attribute 'axis'", out_axis));
  // an attribute before opset 10
  SEER_TRY(seer_op_const_int(graph, node, 1, "k", seer_node_attr_i(node, "k", -1), out_k));
  if (*out_k >= 1 && *out_k <= (*out_x)->dim[*out_axis]) return SEER_OK;
  return SEER_FAIL(
      INVALID, "'k' is %" PRId64 ", must be 1 to %" PRId64, *out_k, (*out_x)->dim[*out_axis]);
}

static seer_status infer_top_k(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL;
  uint32_t axis = 0;
  int64_t k = 0, dim[SEER_MAX_RANK];
  SEER_TRY(read_top_k(graph, node, &x, &axis, &k));
  for (uint32_t d = 0; d < x->rank; d++) dim[d] = d == axis ? k : x->dim[d];
  SEER_TRY(seer_op_set(&out_values[0], x->dtype, dim, x->rank));
  return node->n_out > 1 && node->out[1].i
      ? seer_op_set(&out_values[1], SEER_DTYPE_I64, dim, x->rank)
      : SEER_OK;
}

static seer_status emit_top_k(seer_emit *emit, const seer_node *node) {
  const seer_value *x = NULL;
  uint32_t axis = 0;
  int64_t k = 0;
  SEER_TRY(read_top_k(emit->graph, node, &x, &axis, &k));
  seer_expr_op better = seer_node_attr_i(node, "largest", 1) != 0 ? SEER_EXPR_GT : SEER_EXPR_LT;
  seer_dag_axis dims[SEER_MAX_RANK], reduce = {"j", x->dim[axis], SEER_AXIS_OTHER};
  uint8_t order[SEER_MAX_RANK];
  seer_expr at[SEER_MAX_RANK], from[SEER_MAX_RANK], j;
  for (uint32_t d = 0; d < x->rank; d++)
    dims[d] = (seer_dag_axis){NULL, x->dim[d], SEER_AXIS_OTHER};
  seer_op_order(x, order);
  uint32_t rank =
      seer_emit_temp(emit, "rank", SEER_STAGE_ANCHOR, dims, x->rank, order, &reduce, 1, at, &j);
  memcpy(from, at, sizeof from);
  from[axis] = j;
  seer_expr mine = seer_emit_load(emit, node, 0, at), other = seer_emit_load(emit, node, 0, from);
  seer_expr is_tie = seer_op_2(emit, SEER_EXPR_AND, seer_op_2(emit, SEER_EXPR_EQ, other, mine),
      seer_op_2(emit, SEER_EXPR_LT, j, at[axis]));
  seer_expr comes_before =
      seer_op_2(emit, SEER_EXPR_OR, seer_op_2(emit, better, other, mine), is_tie);
  seer_emit_temp_body(
      emit, rank, SEER_COMBINE_SUM, seer_expr_cast(&emit->dag->expr, SEER_DTYPE_I32, comes_before));
  for (uint32_t o = 0; o < node->n_out; o++) {
    if (node->out[o].i == 0) continue;
    uint32_t stage = seer_emit_stage(emit, node, o, SEER_STAGE_EPILOGUE, NULL, &reduce, 1, at, &j);
    memcpy(from, at, sizeof from);
    from[axis] = j;
    seer_expr is_it = seer_op_2(
        emit, SEER_EXPR_EQ, seer_op_to_i64(emit, seer_emit_load_temp(emit, rank, from)), at[axis]);
    seer_dtype dtype = o == 0 ? x->dtype : SEER_DTYPE_I64;
    seer_emit_body(emit, node, o, stage, SEER_COMBINE_SUM,
        seer_expr_select(&emit->dag->expr, is_it, o == 0 ? seer_emit_load(emit, node, 0, from) : j,
            seer_op_num(emit, dtype, 0)));
  }
  return SEER_OK;
}

static seer_status carry_top_k(seer_expand *e) {
  return seer_sized_but(e, seer_node_attr_i(&e->node, "axis", -1), true, "it cannot be sorted");
}

// `k` is data, or the size of what is sorted.
static bool is_k_unknown(const seer_graph *graph, const seer_node *node) {
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  int64_t axis = seer_node_attr_i(node, "axis", -1);
  if (axis < 0) axis += x->rank;
  bool is_data = seer_op_has_in(node, 1) && !seer_op_const(graph, node, 1);
  bool is_sized = axis >= 0 && axis < (int64_t)x->rank && x->size[axis].i;
  return is_data || is_sized;
}
SCATTER(top_k, top_k, "TopK", 1, 1, 2, 2, SEER_FUSE_REDUCTION, "axis k largest sorted",
    "constant k; work: the square of the axis", .carry_sizes = carry_top_k, .counts = 1u << 1,
    .is_composite = is_k_unknown, .expand = seer_expand_top_k, .expands_sized = true)

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
SCATTER(reverse_sequence, reverse_sequence, "ReverseSequence", 10, 2, 2, 1, SEER_FUSE_INJECTIVE,
    "batch_axis time_axis", "")
