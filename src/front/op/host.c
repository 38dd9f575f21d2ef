// host.c - operators of the inner domain: what runs on the host because only data decides the size
// of its result (NonZero, NonMaxSuppression, Unique; runtime/host.h), and those that say what a
// dimension's size is (Sized), forget it (AtBound), or are compared with it (Index). The last
// output of these host operators is the count that the others have as their size. (Host operators
// that stand for one of ONNX's beside its DAG are in that one's file: scatter.c, top_k.c,
// cumulative.c.)
#include <string.h>

#include "front/op/util.h"
#include "runtime/host.h"

// `counted`: its outputs that are indices or counts, as bits.
#define HOST(id, onnx, n_in, n_out, counted, attributes, function)                       \
  SEER_OP_INNER(id, onnx, 1, n_out, n_out, SEER_FUSE_OPAQUE, attributes, function, n_in, \
      .infer = infer_##id, .doc = "", .counts = counted)
#define SAME(id, onnx, attributes) \
  SEER_OP_INNER(id, onnx, 1, 1, 1, SEER_FUSE_VIEW, attributes, 0, 0, .infer = infer_##id, .doc = "")
#define CONTROL_PART(id, onnx, attributes, what)                                 \
  SEER_OP_INNER(id, onnx, 0, 1, SEER_OP_ANY, SEER_FUSE_OPAQUE, attributes, 0, 0, \
      .infer = infer_##id, .control = what, .doc = "")

enum { MAX_FOUND = 1 << 28 };

static seer_status set_count(const seer_node *node, uint32_t k, seer_value *out_values) {
  const int64_t one = 1;
  for (uint32_t i = 0; i < node->n_out; i++)
    if (node->out[i].i == 0) return SEER_FAIL(INVALID, "output %u is absent", i);
  return seer_op_set(&out_values[k], SEER_DTYPE_I64, &one, 1);
}

static seer_status want_few(int64_t n) {
  if (n <= MAX_FOUND) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED,
      "a result of up to %" PRId64 " parts, of which data decides; at most %d", n, MAX_FOUND);
}

// ---- NonZero

static seer_status infer_host_non_zero(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_want_compared(x, 0));
  if (x->rank == 0) return SEER_FAIL(UNSUPPORTED, "input 0 is a scalar");
  int64_t dim[2] = {x->rank, seer_max_i64(seer_op_elems(x), 1)};
  SEER_TRY(want_few(dim[1]));
  SEER_TRY(set_count(node, 1, out_values));
  SEER_TRY(seer_op_set(&out_values[0], SEER_DTYPE_I64, dim, 2));
  out_values[0].size[1] = node->out[1];
  return SEER_OK;
}
HOST(host_non_zero, "NonZero", 1, 2, 0x3, "", SEER_HOST_NONZERO)

// ---- NonMaxSuppression

static seer_status want_number(
    const seer_graph *graph, const seer_node *node, uint32_t k, seer_dtype dtype) {
  const seer_value *x = NULL;
  if (!seer_op_has_in(node, k)) return SEER_OK;
  SEER_TRY(seer_op_in(graph, node, k, &x));
  if (x->dtype == dtype && seer_op_elems(x) == 1 && !seer_value_is_sized(x)) return SEER_OK;
  return SEER_FAIL(
      INVALID, "input %u ('%s') must be one number of type %s", k, x->name, seer_dtype_name(dtype));
}

static seer_status infer_host_nms(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *boxes = NULL, *scores = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &boxes));
  SEER_TRY(seer_op_in(graph, node, 1, &scores));
  bool fits = boxes->rank == 3 && scores->rank == 3 && boxes->dim[2] == 4 &&
      boxes->dim[0] == scores->dim[0] && boxes->dim[1] == scores->dim[2] &&
      boxes->dtype == SEER_DTYPE_F32 && scores->dtype == SEER_DTYPE_F32;
  if (!fits) {
    return SEER_FAIL(INVALID,
        "boxes are %s, scores %s, must be f32[batches,boxes,4] and f32[batches,classes,boxes]",
        seer_value_type_text(boxes, arena), seer_value_type_text(scores, arena));
  }
  SEER_TRY(want_number(graph, node, 2, SEER_DTYPE_I64));
  SEER_TRY(want_number(graph, node, 3, SEER_DTYPE_F32));
  SEER_TRY(want_number(graph, node, 4, SEER_DTYPE_F32));
  int64_t each = boxes->dim[1];
  const seer_tensor *most = seer_op_const(graph, node, 2);
  if (!seer_op_has_in(node, 2)) each = 0;
  if (most) each = seer_min_i64(each, seer_dtype_load_i64(most->dtype, most->data, 0));
  SEER_TRY(want_few(each));
  SEER_TRY(want_few(scores->dim[0]));
  SEER_TRY(want_few(scores->dim[1]));
  int64_t rows = seer_max_i64(each, 0) * seer_min_i64(scores->dim[0], MAX_FOUND);
  SEER_TRY(want_few(rows));
  int64_t dim[2] = {seer_max_i64(rows * scores->dim[1], 1), 3};
  SEER_TRY(want_few(dim[0]));
  SEER_TRY(set_count(node, 1, out_values));
  SEER_TRY(seer_op_set(&out_values[0], SEER_DTYPE_I64, dim, 2));
  out_values[0].size[0] = node->out[1];
  return SEER_OK;
}
HOST(host_nms, "NonMaxSuppression", 5, 2, 0x3, "center_point_box", SEER_HOST_NMS)

// ---- Unique

static seer_status infer_host_unique(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_want_compared(x, 0));
  int64_t axis = seer_node_attr_i(node, "axis", 0), n = seer_op_elems(x);
  if (axis < -1 || axis >= (int64_t)x->rank)
    return SEER_FAIL(INVALID, "attribute 'axis' is %" PRId64, axis);
  if (seer_value_is_sized(x) && x->rank != 1)
    return SEER_FAIL(UNSUPPORTED,
        "input 0 ('%s') has a size that is known only while running and rank %u, must have 1",
        x->name, x->rank);
  if (n < 1) return SEER_FAIL(UNSUPPORTED, "input 0 ('%s') has no elements", x->name);
  SEER_TRY(want_few(n));
  SEER_TRY(set_count(node, 4, out_values));
  SEER_TRY(seer_op_set(&out_values[0], x->dtype, axis < 0 ? &n : x->dim, axis < 0 ? 1 : x->rank));
  if (axis >= 0) n = x->dim[axis];
  for (uint32_t k = 1; k < 4; k++) SEER_TRY(seer_op_set(&out_values[k], SEER_DTYPE_I64, &n, 1));
  out_values[0].size[seer_max_i64(axis, 0)] = node->out[4];
  out_values[1].size[0] = out_values[3].size[0] = node->out[4];
  if (x->rank == 1) out_values[2].size[0] = x->size[0];
  return SEER_OK;
}
HOST(host_unique, "Unique", 1, 5, 0x1e, "axis sorted", SEER_HOST_UNIQUE)

// ---- Sized, AtBound: the same elements

static seer_status infer_sized(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_attr *axes = seer_node_attr_ints(node, "axes");
  SEER_TRY(seer_op_infer_same(graph, node, arena, out_values));
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  memcpy(out_values[0].size, x->size, sizeof x->size);
  for (uint32_t k = 0; axes && k < axes->n; k++) {
    const seer_value *size = NULL;
    uint32_t axis;
    SEER_TRY(seer_op_axis(axes->ints[k], x->rank, "an entry of 'axes'", &axis));
    SEER_TRY(seer_op_in(graph, node, k + 1, &size));
    if (size->dtype != SEER_DTYPE_I64 || size->rank != 1 || size->dim[0] != 1)
      return SEER_FAIL(INVALID, "input %u ('%s') must be i64[1]", k + 1, size->name);
    out_values[0].size[axis] = node->in[k + 1];
  }
  return SEER_OK;
}

static seer_status infer_at_bound(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  return seer_op_infer_same(graph, node, arena, out_values);
}

SAME(sized, "Sized", "axes")
SAME(at_bound, "AtBound", "")

// ---- Index: 0, 1, 2, ... along a dimension. Its operand, a size that is data, keeps it from being
// folded into a table as long as the bound.

static seer_status infer_index(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)graph;
  (void)arena;
  int64_t extent = seer_node_attr_i(node, "extent", 0), rank = seer_node_attr_i(node, "rank", 1);
  int64_t axis = seer_node_attr_i(node, "axis", 0), dim[SEER_MAX_RANK];
  if (extent < 1 || rank < 1 || rank > SEER_MAX_RANK || axis < 0 || axis >= rank)
    return SEER_FAIL(
        INVALID, "%" PRId64 " indices along axis %" PRId64 " of %" PRId64, extent, axis, rank);
  for (int64_t d = 0; d < rank; d++) dim[d] = d == axis ? extent : 1;
  return seer_op_set(&out_values[0], SEER_DTYPE_I64, dim, (uint32_t)rank);
}

static seer_status emit_index(seer_emit *emit, const seer_node *node) {
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, at[seer_node_attr_i(node, "axis", 0)]);
  return SEER_OK;
}

const seer_op_desc seer_op_index = {.name = "Index",
    .domain = SEER_INNER_DOMAIN,
    .opset_min = 1,
    .opset_max = 1,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .fuse = SEER_FUSE_ELEMENTWISE,
    .attrs = "extent axis rank",
    .infer = infer_index,
    .emit = emit_index,
    .doc = ""};

// ---- the ends of a loop

static seer_status infer_loop_begin(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  if (node->n_out < 2 || node->n_in < node->n_out)
    return SEER_FAIL(INVALID, "%u inputs do not fit %u outputs", node->n_in, node->n_out);
  for (uint32_t k = 0; k < 2; k++) {
    const seer_value *x = NULL;
    seer_dtype dtype = k ? SEER_DTYPE_BOOL : SEER_DTYPE_I64;
    if (seer_op_has_in(node, k)) SEER_TRY(seer_op_in(graph, node, k, &x));
    if (x && (x->dtype != dtype || seer_op_elems(x) != 1 || seer_value_is_sized(x)))
      return SEER_FAIL(INVALID, "input %u ('%s') is %s, must be one %s", k, x->name,
          seer_value_type_text(x, arena), k ? "bool" : "i64");
    SEER_TRY(seer_op_set(&out_values[k], dtype, NULL, 0));
  }
  for (uint32_t k = 2; k < node->n_out; k++) {
    const seer_value *x = NULL;
    SEER_TRY(seer_op_in(graph, node, k, &x));
    if (seer_value_is_sized(x) || seer_op_elems(x) < 1)
      return SEER_FAIL(UNSUPPORTED,
          "value '%s' of a loop is %s, must have a size that is known, and elements", x->name,
          seer_value_type_text(x, arena));
    SEER_TRY(seer_op_set(&out_values[k], x->dtype, x->dim, x->rank));
  }
  for (uint32_t k = 0; k < node->n_out; k++)
    if (node->out[k].i == 0) return SEER_FAIL(INVALID, "output %u is absent", k);
  return SEER_OK;
}

static bool same_type(const seer_value *a, const seer_value *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
      memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0 && !seer_value_is_sized(a) &&
      !seer_value_is_sized(b);
}

static seer_status infer_loop_end(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  int64_t n_carried = seer_node_attr_i(node, "n_carried", 0), one = 1;
  int64_t bound = seer_node_attr_i(node, "bound", 0);
  const seer_value *go = NULL, *x = NULL;
  if (node->n_in < 2) return SEER_FAIL(INVALID, "%u inputs", node->n_in);
  SEER_TRY(seer_op_in(graph, node, 0, &go));
  SEER_TRY(seer_op_in(graph, node, node->n_in - 1, &x));
  const seer_node *begin = x->producer.i ? seer_graph_node(graph, x->producer) : NULL;
  if (!begin || !begin->op || begin->op->control != SEER_CONTROL_LOOP_BEGIN ||
      n_carried != (int64_t)begin->n_out - 2 || node->n_out != node->n_in - 1 ||
      n_carried > (int64_t)node->n_out - 1 || bound < 1)
    return SEER_FAIL(INVALID, "the last input is the number of no loop of such values");
  if (go->dtype != SEER_DTYPE_BOOL || seer_op_elems(go) != 1 || seer_value_is_sized(go))
    return SEER_FAIL(
        INVALID, "the body's condition is %s, must be one bool", seer_value_type_text(go, arena));
  for (uint32_t k = 0; k + 1 < node->n_out; k++) {
    SEER_TRY(seer_op_in(graph, node, k + 1, &x));
    if (k < n_carried) {
      const seer_value *before = seer_graph_value(graph, begin->out[k + 2]);
      if (!same_type(before, x))
        return SEER_FAIL(UNSUPPORTED,
            "how often the loop runs is known only while running, and value %u is %s before and %s "
            "after an iteration",
            k, seer_value_type_text(before, arena), seer_value_type_text(x, arena));
      SEER_TRY(seer_op_set(&out_values[k], x->dtype, x->dim, x->rank));
      continue;
    }
    int64_t dim[SEER_MAX_RANK] = {bound};
    if (seer_value_is_sized(x) || seer_op_elems(x) < 1 || x->rank + 1 > SEER_MAX_RANK)
      return SEER_FAIL(
          UNSUPPORTED, "an iteration's part '%s' is %s", x->name, seer_value_type_text(x, arena));
    memcpy(dim + 1, x->dim, x->rank * sizeof *dim);
    SEER_TRY(seer_op_set(&out_values[k], x->dtype, dim, x->rank + 1u));
    out_values[k].size[0] = node->out[node->n_out - 1];
  }
  SEER_TRY(seer_op_set(&out_values[node->n_out - 1], SEER_DTYPE_I64, &one, 1));
  for (uint32_t k = 0; k < node->n_out; k++)
    if (node->out[k].i == 0) return SEER_FAIL(INVALID, "output %u is absent", k);
  return SEER_OK;
}

// ---- the end of an If

const char *seer_branch_why(const seer_node *node) {
  bool is_branch = node->op && node->op->control == SEER_CONTROL_BRANCH;
  return is_branch ? seer_node_attr_s(node, "why", NULL) : NULL;
}

bool seer_branch_lacks_then(const seer_node *node) { return node->in[1].i == 0; }

// A branch has the values of both sides; or, where one side cannot be built, none of that side's,
// and the attribute `why`.
static seer_status check_sides(const seer_node *node) {
  uint32_t n = node->n_out, n_absent[2] = {0, 0};
  bool has_why = seer_branch_why(node) != NULL;
  if (has_why ? node->n_in < 2 * n + 1 : node->n_in != 2 * n + 1)
    return SEER_FAIL(INVALID, "%u inputs do not fit %u outputs", node->n_in, n);
  for (uint32_t k = 0; k < 2 * n; k++) n_absent[k / n] += node->in[k + 1].i == 0;
  bool is_half = (n_absent[0] == n && n_absent[1] == 0) || (n_absent[0] == 0 && n_absent[1] == n);
  bool is_sound = has_why ? is_half : n_absent[0] + n_absent[1] == 0;
  if (is_sound) return SEER_OK;
  return SEER_FAIL(INVALID,
      "%u values of one side are absent and %u of the other, of %u; attribute "
      "'why' is %s",
      n_absent[0], n_absent[1], n, has_why ? "there" : "absent");
}

static seer_status infer_branch(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *condition = NULL;
  SEER_TRY(check_sides(node));
  SEER_TRY(seer_op_in(graph, node, 0, &condition));
  if (condition->dtype != SEER_DTYPE_BOOL || seer_op_elems(condition) != 1 ||
      seer_value_is_sized(condition))
    return SEER_FAIL(INVALID, "input 0 ('%s', the condition) is %s, must be one bool",
        condition->name, seer_value_type_text(condition, arena));
  for (uint32_t k = 0; k < node->n_out; k++) {
    const seer_value *side[2];
    for (uint32_t s = 0; s < 2; s++) {
      uint32_t own = 1 + s * node->n_out + k, other = 1 + (1 - s) * node->n_out + k;
      SEER_TRY(seer_op_in(graph, node, node->in[own].i ? own : other, &side[s]));
    }
    if (!same_type(side[0], side[1]))
      return SEER_FAIL(UNSUPPORTED, "value %u is %s in one branch and %s in the other", k,
          seer_value_type_text(side[0], arena), seer_value_type_text(side[1], arena));
    SEER_TRY(seer_op_set(&out_values[k], side[0]->dtype, side[0]->dim, side[0]->rank));
  }
  return SEER_OK;
}

CONTROL_PART(loop_begin, "LoopBegin", "", SEER_CONTROL_LOOP_BEGIN)
CONTROL_PART(loop_end, "LoopEnd", "n_carried bound", SEER_CONTROL_LOOP_END)
CONTROL_PART(branch, "Branch", "why", SEER_CONTROL_BRANCH)
