// movement.c - operators that move elements: Transpose, Concat, Split, Slice, Expand, Tile. Each is
// an index map, so it can join its reader; constants are moved directly. (Those with conditions:
// gather.c.)
#include <string.h>

#include "front/sized.h"

// ---- constants: out[i] = in[offset + sum i_d * stride_d], in elements of a dense input

static void dense_strides(const int64_t *dim, uint32_t rank, int64_t *out_stride) {
  int64_t stride = 1;
  for (uint32_t d = rank; d-- > 0;) {
    out_stride[d] = stride;
    stride *= dim[d];
  }
}

static void copy_strided(
    seer_tensor *to, const seer_tensor *from, int64_t offset, const int64_t *stride) {
  int64_t index[SEER_MAX_RANK] = {0}, n = seer_tensor_elems(to), at = offset;
  for (int64_t i = 0; i < n; i++) {
    seer_op_copy_elem(to, i, from, at);
    for (uint32_t d = to->rank; d-- > 0;) {
      at += stride[d];
      if (++index[d] < to->dim[d]) break;
      at -= stride[d] * to->dim[d];
      index[d] = 0;
    }
  }
}

// Starts the one stage of an index map.
static uint32_t start_map(seer_emit *emit, const seer_node *node, uint32_t k, seer_expr *at) {
  return seer_emit_stage(emit, node, k, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
}

// ---- Transpose

static seer_status read_perm(const seer_node *node, uint32_t rank, uint8_t *out_perm) {
  const seer_attr *attr = seer_node_attr(node, "perm");
  uint32_t seen = 0;
  if (attr && attr->kind != SEER_ATTR_INTS)
    return SEER_FAIL(INVALID, "attribute 'perm' must be a list of integers");
  if (attr && attr->n != rank)
    return SEER_FAIL(INVALID, "attribute 'perm' has %zu entries, must have %u", attr->n, rank);
  for (uint32_t d = 0; d < rank; d++) {
    int64_t from = attr ? attr->ints[d] : (int64_t)rank - 1 - d;
    if (from < 0 || from >= rank)
      return SEER_FAIL(
          INVALID, "an entry of 'perm' is %" PRId64 ", must be in [0, %u)", from, rank);
    if (seen & (1u << from))
      return SEER_FAIL(INVALID, "attribute 'perm' names %" PRId64 " twice", from);
    seen |= 1u << from;
    out_perm[d] = (uint8_t)from;
  }
  return SEER_OK;
}

void seer_transpose_perm(const seer_node *node, uint32_t rank, uint8_t *out_perm) {
  seer_status status = read_perm(node, rank, out_perm);
  SEER_ASSERT(!status, "%s: %s", node->name, seer_status_message(status));
}

static seer_status infer_transpose(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL;
  uint8_t perm[SEER_MAX_RANK];
  int64_t dim[SEER_MAX_RANK];
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(read_perm(node, x->rank, perm));
  for (uint32_t d = 0; d < x->rank; d++) dim[d] = x->dim[perm[d]];
  return seer_op_set(&out_values[0], x->dtype, dim, x->rank);
}

static seer_status emit_transpose(seer_emit *emit, const seer_node *node) {
  uint32_t rank = seer_emit_in(emit, node, 0)->rank;
  uint8_t perm[SEER_MAX_RANK];
  seer_expr at[SEER_MAX_RANK], from[SEER_MAX_RANK];
  seer_transpose_perm(node, rank, perm);
  uint32_t stage = start_map(emit, node, 0, at);
  for (uint32_t d = 0; d < rank; d++) from[perm[d]] = at[d];
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, seer_emit_load(emit, node, 0, from));
  return SEER_OK;
}

static seer_status fold_transpose(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  const seer_tensor *x = seer_op_const(graph, node, 0);
  uint8_t perm[SEER_MAX_RANK];
  int64_t dense[SEER_MAX_RANK], stride[SEER_MAX_RANK];
  seer_transpose_perm(node, x->rank, perm);
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  dense_strides(x->dim, x->rank, dense);
  for (uint32_t d = 0; d < x->rank; d++) stride[d] = dense[perm[d]];
  copy_strided(&out_tensors[0], x, 0, stride);
  return SEER_OK;
}

static seer_status carry_transpose(seer_expand *e) {
  uint32_t rank = seer_expand_in(e, 0)->rank;
  uint8_t perm[SEER_MAX_RANK];
  seer_transpose_perm(&e->node, rank, perm);
  for (uint32_t to = 0; to < rank; to++) {
    if (seer_expand_in(e, 0)->size[perm[to]].i)
      SEER_TRY(seer_sized_give(e, (seer_sized_place){0, perm[to]}, 0, to));
  }
  return SEER_OK;
}

static bool is_in_order(const seer_graph *graph, const seer_node *node) {
  uint32_t rank = seer_graph_value(graph, node->in[0])->rank;
  uint8_t perm[SEER_MAX_RANK];
  seer_transpose_perm(node, rank, perm);
  for (uint32_t k = 0; k < rank; k++)
    if (perm[k] != k) return false;
  return true;
}
SEER_OP_INJECTIVE(transpose, "Transpose", 1, 1, 1, 1, "perm", fold_transpose, "",
    .carry_sizes = carry_transpose, .moves = true, .is_copy = is_in_order)

// ---- Concat

static seer_status infer_concat(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *first = NULL, *x = NULL;
  int64_t dim[SEER_MAX_RANK];
  uint32_t axis = 0;
  SEER_TRY(seer_op_in(graph, node, 0, &first));
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 1), first->rank, "attribute 'axis'", &axis));
  for (uint32_t d = 0; d < first->rank; d++) dim[d] = first->dim[d];
  dim[axis] = 0;
  for (uint32_t k = 0; k < node->n_in; k++) {
    SEER_TRY(seer_op_in(graph, node, k, &x));
    SEER_TRY(seer_op_same_dtype(first, x, k));
    bool fits = x->rank == first->rank;
    for (uint32_t d = 0; fits && d < x->rank; d++) fits = d == axis || x->dim[d] == dim[d];
    if (!fits) {
      return SEER_FAIL(INVALID, "input %u is %s, must be as input 0, %s, but for dimension %u", k,
          seer_op_shape_text(x, arena), seer_op_shape_text(first, arena), axis);
    }
    dim[axis] += x->dim[axis];
  }
  return seer_op_set(&out_values[0], first->dtype, dim, first->rank);
}

// One guarded load an input, the next input in its "else". Each guard names both ends, so that each
// load is in bounds by its own guard.
static seer_status emit_concat(seer_emit *emit, const seer_node *node) {
  const seer_value *out = seer_emit_out(emit, node, 0);
  uint32_t axis = 0;
  seer_expr at[SEER_MAX_RANK];
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 1), out->rank, "attribute 'axis'", &axis));
  uint32_t stage = start_map(emit, node, 0, at);
  seer_expr body = seer_op_num(emit, out->dtype, 0), whole = at[axis];
  int64_t end = out->dim[axis];
  for (uint32_t k = node->n_in; k-- > 0;) {
    int64_t extent = seer_emit_in(emit, node, k)->dim[axis], start = end - extent;
    if (extent == 0) continue;
    seer_expr inside =
        seer_op_within(emit, (seer_expr){0}, whole, 0, out->dim[axis] - 1, start, end);
    at[axis] = seer_op_2(emit, SEER_EXPR_ADD, whole, seer_op_int(emit, -start));
    body = seer_emit_load_guarded(emit, node, k, at, inside, body);
    end = start;
  }
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, body);
  return SEER_OK;
}

static seer_status fold_concat(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  const seer_tensor *out = &out_tensors[0];
  uint32_t axis = 0;
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 1), out->rank, "attribute 'axis'", &axis));
  int64_t outer = 1;
  size_t inner = seer_dtype_bytes(out->dtype), start = 0;
  for (uint32_t d = 0; d < axis; d++) outer *= out->dim[d];
  for (uint32_t d = axis + 1; d < out->rank; d++) inner *= (size_t)out->dim[d];
  size_t row = inner * (size_t)out->dim[axis];
  for (uint32_t k = 0; k < node->n_in; k++) {
    const seer_tensor *x = seer_op_const(graph, node, k);
    size_t piece = inner * (size_t)x->dim[axis];
    for (int64_t i = 0; piece > 0 && i < outer; i++) {
      memcpy((char *)(uintptr_t)out->data + (size_t)i * row + start,
          (const char *)x->data + (size_t)i * piece, piece);
    }
    start += piece;
  }
  return SEER_OK;
}

// Some part has a size along the axis that only a run knows.
static bool joins_sized(const seer_graph *graph, const seer_node *node) {
  int64_t axis = seer_node_attr_i(node, "axis", 1);
  for (uint32_t k = 0; k < node->n_in; k++) {
    const seer_value *x = seer_graph_value(graph, node->in[k]);
    int64_t own = axis < 0 ? axis + x->rank : axis;
    if (node->in[k].i && own >= 0 && own < x->rank && x->size[own].i) return true;
  }
  return false;
}

static bool is_joined_by_parts(const seer_graph *graph, const seer_node *node) {
  return node->n_in > SEER_OP_KERNEL_IN || joins_sized(graph, node);
}

static seer_status expand_concat(seer_expand *e) {
  if (joins_sized(e->graph, &e->node)) return seer_expand_sized_concat(e);
  int64_t axis = seer_node_attr_i(&e->node, "axis", 1);
  seer_expand_output(e, 0, seer_expand_concat(e, e->node.in, e->node.n_in, axis));
  return SEER_OK;
}

static seer_status carry_concat(seer_expand *e) {
  return seer_sized_but(
      e, seer_node_attr_i(&e->node, "axis", 1), false, "another input has another size there");
}

static bool is_of_one(SEER_UNUSED const seer_graph *graph, const seer_node *node) {
  return node->n_in == 1;
}

static bool start_in_concat(
    const seer_graph *graph, const seer_node *node, uint32_t k, int64_t *out_start) {
  uint32_t rank = seer_graph_value(graph, node->out[0])->rank;
  int64_t axis = seer_node_attr_i(node, "axis", 1);
  if (axis < 0) axis += rank;
  for (uint32_t d = 0; d < rank; d++) out_start[d] = 0;
  for (uint32_t i = 0; i < k; i++)
    out_start[axis] += seer_graph_value(graph, node->in[i])->dim[axis];
  return true;
}
SEER_OP_INJECTIVE(concat, "Concat", 4, 1, SEER_OP_ANY, 1, "axis", fold_concat, "",
    .joins_parts = true, .part_start = start_in_concat, .carry_sizes = carry_concat,
    .is_composite = is_joined_by_parts, .expand = expand_concat, .expands_sized = true,
    .is_copy = is_of_one)

// ---- Split

static seer_status read_split(const seer_graph *graph, const seer_node *node, seer_arena *arena,
    uint32_t *out_axis, int64_t **out_sizes) {
  const seer_value *x = NULL;
  int64_t *given = NULL, total = 0;
  uint32_t n = 0;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 0), x->rank, "attribute 'axis'", out_axis));
  SEER_TRY(seer_op_ints(graph, node, "split", 1, arena, &given, &n));
  int64_t extent = x->dim[*out_axis], n_out = (int64_t)node->n_out;
  *out_sizes = SEER_NEW_ARRAY(arena, int64_t, node->n_out + 1);
  if (n == UINT32_MAX) {  // equal parts; the last one is smaller where that is allowed (opset 18)
    int64_t parts = seer_node_attr_i(node, "num_outputs", n_out),
            part = seer_ceil_div(extent, n_out);
    if (parts != n_out || (node->opset < 18 && extent % n_out != 0) ||
        part * (n_out - 1) > extent) {
      return SEER_FAIL(INVALID,
          "dimension %u is %" PRId64 ", cannot be split into %" PRId64 " equal parts for %" PRId64
          " outputs",
          *out_axis, extent, parts, n_out);
    }
    for (int64_t k = 0; k < n_out; k++) (*out_sizes)[k] = seer_min_i64(part, extent - k * part);
    return SEER_OK;
  }
  if (n != node->n_out)
    return SEER_FAIL(INVALID, "'split' has %u entries, must have %u", n, node->n_out);
  for (uint32_t k = 0; k < n; k++) {
    if (given[k] < 0 || given[k] > extent) {
      return SEER_FAIL(
          INVALID, "'split' has entry %" PRId64 ", must be in [0, %" PRId64 "]", given[k], extent);
    }
    total += (*out_sizes)[k] = given[k];
  }
  if (total != extent) {
    return SEER_FAIL(INVALID, "'split' adds up to %" PRId64 ", must be %" PRId64, total, extent);
  }
  return SEER_OK;
}

static seer_status infer_split(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  uint32_t axis = 0;
  int64_t *sizes = NULL, dim[SEER_MAX_RANK];
  SEER_TRY(read_split(graph, node, arena, &axis, &sizes));
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  for (uint32_t d = 0; d < x->rank; d++) dim[d] = x->dim[d];
  for (uint32_t k = 0; k < node->n_out; k++) {
    dim[axis] = sizes[k];
    SEER_TRY(seer_op_set(&out_values[k], x->dtype, dim, x->rank));
  }
  return SEER_OK;
}

static seer_status emit_split(seer_emit *emit, const seer_node *node) {
  uint32_t axis = 0;
  int64_t *sizes = NULL, start = 0;
  SEER_TRY(read_split(emit->graph, node, emit->arena, &axis, &sizes));
  for (uint32_t k = 0; k < node->n_out; start += sizes[k++]) {
    if (node->out[k].i == 0 || sizes[k] == 0) continue;
    seer_expr at[SEER_MAX_RANK];
    uint32_t stage = start_map(emit, node, k, at);
    at[axis] = seer_op_2(emit, SEER_EXPR_ADD, at[axis], seer_op_int(emit, start));
    seer_emit_body(emit, node, k, stage, SEER_COMBINE_NONE, seer_emit_load(emit, node, 0, at));
  }
  return SEER_OK;
}

static seer_status fold_split(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  const seer_tensor *x = seer_op_const(graph, node, 0);
  uint32_t axis = 0;
  int64_t *sizes = NULL, stride[SEER_MAX_RANK], start = 0;
  SEER_TRY(read_split(graph, node, arena, &axis, &sizes));
  dense_strides(x->dim, x->rank, stride);
  for (uint32_t k = 0; k < node->n_out; start += sizes[k++]) {
    if (node->out[k].i == 0) continue;
    SEER_TRY(seer_op_fold_start(graph, node, k, arena, &out_tensors[k]));
    copy_strided(&out_tensors[k], x, start * stride[axis], stride);
  }
  return SEER_OK;
}

static const char cannot_be_split[] = "it cannot be split";

static seer_status carry_split(seer_expand *e) {
  return seer_sized_but(e, seer_node_attr_i(&e->node, "axis", 0), true, cannot_be_split);
}

static bool has_many_parts(SEER_UNUSED const seer_graph *graph, const seer_node *node) {
  return node->n_out > SEER_OP_KERNEL_OUT;
}

// A Slice for each part.
static seer_status expand_split(seer_expand *e) {
  uint32_t axis = 0;
  int64_t *sizes = NULL, start = 0;
  SEER_TRY(read_split(e->graph, &e->node, e->scratch, &axis, &sizes));
  if (seer_expand_in(e, 0)->size[axis].i)
    return seer_sized_refuse(e, (seer_sized_place){0, axis}, cannot_be_split);
  for (uint32_t k = 0; k < e->node.n_out; start += sizes[k++]) {
    if (e->node.out[k].i == 0) continue;
    seer_val part = seer_expand_slice(e, e->node.in[0], axis, start, start + sizes[k]);
    seer_expand_output(e, k, part);
  }
  return SEER_OK;
}

static bool start_of_split(
    const seer_graph *graph, const seer_node *node, uint32_t k, int64_t *out_start) {
  seer_arena *scratch = seer_arena_create("split");
  uint32_t axis = 0, rank = seer_graph_value(graph, node->in[0])->rank;
  int64_t *sizes = NULL;
  for (uint32_t d = 0; d < rank; d++) out_start[d] = 0;
  seer_status status = read_split(graph, node, scratch, &axis, &sizes);
  for (uint32_t i = 0; !status && i < k; i++) out_start[axis] += sizes[i];
  bool is_known = !status;
  seer_status_free(status);
  seer_arena_destroy(scratch);
  return is_known;
}
SEER_OP_INJECTIVE(split, "Split", 2, 1, 2, SEER_OP_ANY, "axis split num_outputs", fold_split,
    "sizes as attribute or constant input, equal parts", .gives_parts = true,
    .part_start = start_of_split, .carry_sizes = carry_split, .is_composite = has_many_parts,
    .expand = expand_split, .expands_sized = true)

// ---- Slice: attributes before opset 10, inputs since

typedef struct {
  // of the result: in = start + step * i
  int64_t start[SEER_MAX_RANK], step[SEER_MAX_RANK], dim[SEER_MAX_RANK];
} slice_range;

static seer_status read_slice(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, slice_range *out) {
  const seer_value *x = NULL;
  int64_t *starts = NULL, *ends = NULL, *axes = NULL, *steps = NULL;
  uint32_t n = 0, n_ends = 0, n_axes = 0, n_steps = 0, mask = 0;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_ints(graph, node, "starts", 1, arena, &starts, &n));
  SEER_TRY(seer_op_ints(graph, node, "ends", 2, arena, &ends, &n_ends));
  SEER_TRY(seer_op_ints(graph, node, "axes", 3, arena, &axes, &n_axes));
  SEER_TRY(seer_op_ints(graph, node, "steps", 4, arena, &steps, &n_steps));
  if (n == UINT32_MAX || n_ends != n || (n_axes != UINT32_MAX && n_axes != n) ||
      (n_steps != UINT32_MAX && n_steps != n) || n > x->rank) {
    return SEER_FAIL(INVALID,
        "'starts', 'ends', 'axes' and 'steps' must have the same number of entries, at most %u",
        x->rank);
  }
  if (n_axes != UINT32_MAX) SEER_TRY(seer_op_axes_mask(axes, n_axes, x->rank, &mask));
  for (uint32_t d = 0; d < x->rank; d++) {
    out->start[d] = 0;
    out->step[d] = 1;
    out->dim[d] = x->dim[d];
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t d = i;
    if (n_axes != UINT32_MAX) SEER_TRY(seer_op_axis(axes[i], x->rank, "an entry of 'axes'", &d));
    int64_t extent = x->dim[d], step = n_steps == UINT32_MAX ? 1 : steps[i];
    if (step == 0) return SEER_FAIL(INVALID, "'steps' has an entry 0");
    // A step larger than any extent gives one element, however large it is.
    step = seer_min_i64(seer_max_i64(step, -INT32_MAX), INT32_MAX);
    // NumPy's clamping: for negative steps the positions run from extent - 1 down to -1.
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
    int64_t start = starts[i] < 0 ? seer_max_i64(starts[i], -extent - 1) + extent : starts[i];
    int64_t end = ends[i] < 0 ? seer_max_i64(ends[i], -extent - 1) + extent : ends[i];
    start = seer_min_i64(seer_max_i64(start, low), high);
    end = seer_min_i64(seer_max_i64(end, low), high);
    int64_t count = step > 0 ? seer_ceil_div(end - start, step) : seer_ceil_div(start - end, -step);
    out->start[d] = start;
    out->step[d] = step;
    out->dim[d] = seer_max_i64(count, 0);
  }
  return SEER_OK;
}

static seer_status infer_slice(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  slice_range slice;
  SEER_TRY(read_slice(graph, node, arena, &slice));
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  return seer_op_set(&out_values[0], x->dtype, slice.dim, x->rank);
}

static seer_status emit_slice(seer_emit *emit, const seer_node *node) {
  uint32_t rank = seer_emit_in(emit, node, 0)->rank;
  slice_range slice;
  seer_expr at[SEER_MAX_RANK];
  SEER_TRY(read_slice(emit->graph, node, emit->arena, &slice));
  uint32_t stage = start_map(emit, node, 0, at);
  for (uint32_t d = 0; d < rank; d++)
    at[d] = seer_op_muladd(emit, at[d], slice.step[d], slice.start[d]);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, seer_emit_load(emit, node, 0, at));
  return SEER_OK;
}

static seer_status fold_slice(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  const seer_tensor *x = seer_op_const(graph, node, 0);
  int64_t stride[SEER_MAX_RANK], offset = 0;
  slice_range slice;
  SEER_TRY(read_slice(graph, node, arena, &slice));
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  dense_strides(x->dim, x->rank, stride);
  for (uint32_t d = 0; d < x->rank; d++) {
    offset += slice.start[d] * stride[d];
    stride[d] *= slice.step[d];
  }
  copy_strided(&out_tensors[0], x, offset, stride);
  return SEER_OK;
}

static seer_val size_const(seer_expand *e, int64_t value) { return seer_expand_ints(e, &value, 1); }

// How many elements [start, end) of `size` ones has, every step-th. Ends count from the size.
static seer_val slice_size(
    seer_expand *e, seer_val size, int64_t bound, int64_t start, int64_t end, int64_t step) {
  seer_val n = size;
  if (end < 0)
    n = seer_expand_2(e, "Add", n, size_const(e, seer_max_i64(end, -bound)));
  else if (end < bound)
    n = seer_expand_2(e, "Min", n, size_const(e, end));
  if (start > 0 || step > 1) n = seer_expand_2(e, "Add", n, size_const(e, step - 1 - start));
  if (start > 0 || end < 0) n = seer_expand_2(e, "Max", n, size_const(e, 0));
  return step > 1 ? seer_expand_2(e, "Div", n, size_const(e, step)) : n;
}

static seer_status carry_slice(seer_expand *e) {
  int64_t *starts = NULL, *ends = NULL, *axes = NULL, *steps = NULL;
  uint32_t n = 0, n_ends = 0, n_axes = 0, n_steps = 0;
  SEER_TRY(seer_op_ints(e->graph, &e->node, "starts", 1, e->scratch, &starts, &n));
  SEER_TRY(seer_op_ints(e->graph, &e->node, "ends", 2, e->scratch, &ends, &n_ends));
  SEER_TRY(seer_op_ints(e->graph, &e->node, "axes", 3, e->scratch, &axes, &n_axes));
  SEER_TRY(seer_op_ints(e->graph, &e->node, "steps", 4, e->scratch, &steps, &n_steps));
  uint32_t rank = seer_expand_in(e, 0)->rank;
  SEER_TRY(seer_sized_same(e));
  for (uint32_t i = 0; i < n; i++) {
    uint32_t d = i;
    if (n_axes != UINT32_MAX) SEER_TRY(seer_op_axis(axes[i], rank, "an entry of 'axes'", &d));
    seer_val size = seer_expand_in(e, 0)->size[d];
    if (size.i == 0) continue;
    int64_t bound = seer_expand_in(e, 0)->dim[d], step = n_steps == UINT32_MAX ? 1 : steps[i];
    if (starts[i] < 0 || step < 1)
      return seer_sized_refuse(
          e, (seer_sized_place){0, d}, "a slice of it must start at 0 or more, forwards");
    if (starts[i] >= bound)
      return seer_sized_refuse(e, (seer_sized_place){0, d}, "the slice has no elements");
    step = seer_min_i64(step, bound);
    seer_val sliced = slice_size(e, size, bound, starts[i], ends[i], step);
    seer_graph_value(e->graph, e->node.out[0])->size[d] = sliced;
  }
  return SEER_OK;
}

// Where the result has as many elements as the input, it is the input unless a step is negative:
// all steps are 1.
static bool has_no_steps(const seer_graph *graph, const seer_node *node) {
  if (!seer_op_has_in(node, 4)) return true;
  const seer_tensor *steps = seer_op_const(graph, node, 4);
  for (int64_t i = 0; steps && i < seer_tensor_elems(steps); i++)
    if (seer_dtype_load_i64(steps->dtype, steps->data, i) != 1) return false;
  return steps;
}

static bool start_of_slice(
    const seer_graph *graph, const seer_node *node, SEER_UNUSED uint32_t k, int64_t *out_start) {
  seer_arena *scratch = seer_arena_create("slice");
  slice_range slice;
  seer_status status = read_slice(graph, node, scratch, &slice);
  bool has_start = !status;
  uint32_t rank = seer_graph_value(graph, node->in[0])->rank;
  for (uint32_t d = 0; has_start && d < rank; d++) {
    out_start[d] = slice.start[d];
    has_start = slice.step[d] == 1 || slice.dim[d] == 1;
  }
  seer_status_free(status);
  seer_arena_destroy(scratch);
  return has_start;
}
SEER_OP_INJECTIVE(slice, "Slice", 1, 1, 5, 1, "axes ends starts", fold_slice,
    "any steps; places that data gives, forwards", .gives_parts = true,
    .part_start = start_of_slice, .carry_sizes = carry_slice, .moves = true,
    .bounded_by = seer_op_listed_number, .is_copy = has_no_steps,
    .is_composite = seer_shaped_slice_is_data, .expand = seer_shaped_slice, .expands_sized = true)

// ---- Expand, Tile

static seer_status infer_expand(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  int64_t *shape = NULL;
  uint32_t rank = 0;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_const_ints(graph, node, 1, "shape", arena, &shape, &rank));
  if (rank > SEER_MAX_RANK)
    return SEER_FAIL(UNSUPPORTED, "shape has %u entries, at most %d", rank, SEER_MAX_RANK);
  int64_t dim[SEER_MAX_RANK];
  for (uint32_t d = 0; d < rank; d++) dim[d] = shape[d];
  SEER_TRY(seer_op_broadcast(x, 0, dim, &rank));
  return seer_op_set(&out_values[0], x->dtype, dim, rank);
}

static seer_status emit_expand(seer_emit *emit, const seer_node *node) {
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage = start_map(emit, node, 0, at);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE,
      seer_op_load_broadcast(emit, node, 0, at, seer_emit_out(emit, node, 0)->rank));
  return SEER_OK;
}

static seer_status fold_expand(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  const seer_tensor *x = seer_op_const(graph, node, 0);
  int64_t dense[SEER_MAX_RANK], stride[SEER_MAX_RANK] = {0};
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  dense_strides(x->dim, x->rank, dense);
  uint32_t by = out_tensors[0].rank - x->rank;
  for (uint32_t d = 0; d < x->rank; d++) stride[d + by] = x->dim[d] == 1 ? 0 : dense[d];
  copy_strided(&out_tensors[0], x, 0, stride);
  return SEER_OK;
}

static seer_status carry_expand(seer_expand *e) {
  const seer_tensor *shape = seer_op_const(e->graph, &e->node, 1);
  SEER_SIZED_EACH(e, at) {
    const seer_value *x = seer_expand_in(e, 0), *out = seer_sized_out(e, 0);
    uint32_t to = at.d + out->rank - x->rank;
    int64_t entry = (int64_t)to + (shape ? shape->dim[0] : 0) - (int64_t)out->rank;
    if (!shape || x->dim[at.d] != out->dim[to] ||
        (entry >= 0 && seer_dtype_load_i64(shape->dtype, shape->data, entry) != 1))
      return seer_sized_refuse(e, at, "the shape must have 1 there");
    SEER_TRY(seer_sized_give(e, at, 0, to));
  }
  return SEER_OK;
}

static bool is_same_size(SEER_UNUSED const seer_graph *graph, SEER_UNUSED const seer_node *node) {
  return true;
}
SEER_OP_INJECTIVE(expand, "Expand", 8, 2, 2, 1, "", fold_expand, "constant shape",
    .carry_sizes = carry_expand, .moves = true, .is_copy = is_same_size,
    .is_composite = seer_shaped_by_data, .expand = seer_shaped_expand, .expands_sized = true)

static seer_status infer_tile(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  int64_t *repeats = NULL, dim[SEER_MAX_RANK];
  uint32_t n = 0;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_const_ints(graph, node, 1, "repeats", arena, &repeats, &n));
  if (n != x->rank) return SEER_FAIL(INVALID, "'repeats' has %u entries, must have %u", n, x->rank);
  for (uint32_t d = 0; d < n; d++) {
    if (repeats[d] < 0 || repeats[d] > INT32_MAX) {
      return SEER_FAIL(INVALID, "'repeats' has entry %" PRId64 ", must be 0 or more", repeats[d]);
    }
    if (x->dim[d] > INT32_MAX)
      return SEER_FAIL(UNSUPPORTED, "dimension %u is %" PRId64, d, x->dim[d]);
    dim[d] = x->dim[d] * repeats[d];
  }
  return seer_op_set(&out_values[0], x->dtype, dim, n);
}

static seer_status emit_tile(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0), *out = seer_emit_out(emit, node, 0);
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage = start_map(emit, node, 0, at);
  for (uint32_t d = 0; d < x->rank; d++) {
    if (out->dim[d] != x->dim[d])
      at[d] = seer_op_2(emit, SEER_EXPR_MOD, at[d], seer_op_int(emit, x->dim[d]));
  }
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, seer_emit_load(emit, node, 0, at));
  return SEER_OK;
}
SEER_OP_INJECTIVE(tile, "Tile", 6, 2, 2, 1, "", NULL, "constant repeats", .is_copy = is_same_size)
