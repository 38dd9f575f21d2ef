// cumulative.c - CumSum, CumProd: each element is the sum (product) of those up to it along an
// axis. As DAG each is a reduction of its own: work grows with the square of the axis, but it is
// fused and runs in parallel. Longer ones are a host operator (runtime/host/running.c), which goes
// along once. Constants are folded by a plain loop.
#include <string.h>

#include "front/sized.h"
#include "runtime/host.h"

enum { MAX_DAG_EXTENT = 32 };  // of the axis: beyond it the host is faster (decision 64)

typedef struct {
  uint32_t axis;
  bool is_exclusive, is_reverse, is_product;
} running;

// The host operator has what ONNX's has, as attributes.
static seer_status read_running(
    const seer_graph *graph, const seer_node *node, uint32_t rank, running *out) {
  const seer_attr *form = seer_node_attr(node, "form");
  int64_t axis = seer_node_attr_i(node, "axis", 0), bits = form ? form->i : 0;
  if (!form) SEER_TRY(seer_op_const_int(graph, node, 1, "axis", 0, &axis));
  out->is_exclusive = form ? bits & 1 : seer_node_attr_i(node, "exclusive", 0) != 0;
  out->is_reverse = form ? bits & 2 : seer_node_attr_i(node, "reverse", 0) != 0;
  out->is_product = form ? bits & 4 : node->op == &seer_op_cum_prod;
  return seer_op_axis(axis, rank, "input 'axis'", &out->axis);
}

static seer_status infer_running(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  running r;
  SEER_TRY(seer_op_infer_same(graph, node, arena, out_values));
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  memcpy(out_values[0].size, x->size, sizeof x->size);
  SEER_TRY(seer_op_want_compared(x, 0));
  if (x->dtype == SEER_DTYPE_BOOL) return SEER_FAIL(INVALID, "input 0 is bool, must be numbers");
  return read_running(graph, node, x->rank, &r);
}
#define infer_host_running infer_running

static seer_status emit_running(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  running r = {0};
  SEER_TRY(read_running(emit->graph, node, x->rank, &r));
  seer_dag_axis reduce = {"k", x->dim[r.axis], SEER_AXIS_OTHER};
  seer_expr at[SEER_MAX_RANK], k;
  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_ANCHOR, NULL, &reduce, 1, at, &k);
  static const seer_expr_op compare[2][2] = {
      {SEER_EXPR_LE, SEER_EXPR_LT}, {SEER_EXPR_GE, SEER_EXPR_GT}};
  seer_expr counts = seer_op_2(emit, compare[r.is_reverse][r.is_exclusive], k, at[r.axis]);
  at[r.axis] = k;
  seer_emit_body(emit, node, 0, stage, r.is_product ? SEER_COMBINE_PROD : SEER_COMBINE_SUM,
      seer_expr_select(&emit->dag->expr, counts, seer_emit_load(emit, node, 0, at),
          seer_op_num(emit, x->dtype, r.is_product)));
  return SEER_OK;
}

// Floats in f64, integers in 64 bits, which are cut when they are stored.
static seer_status fold_running(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  const seer_tensor *x = seer_op_const(graph, node, 0);
  running r = {0};
  SEER_TRY(read_running(graph, node, x->rank, &r));
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  void *y = (void *)(uintptr_t)out_tensors[0].data;
  bool is_real = seer_dtype_is_float(x->dtype);
  int64_t n = x->dim[r.axis], n_inner = seer_dims_elems(x->dim + r.axis + 1, x->rank - r.axis - 1);
  int64_t n_outer = n == 0 ? 0 : seer_tensor_elems(x) / n;  // lines
  for (int64_t line = 0; line < n_outer; line++) {
    int64_t first = line / n_inner * n * n_inner + line % n_inner;
    double real = r.is_product;
    uint64_t whole = r.is_product;
    for (int64_t i = 0; i < n; i++) {
      int64_t at = first + (r.is_reverse ? n - 1 - i : i) * n_inner;
      if (r.is_exclusive && is_real) seer_dtype_store_f64(x->dtype, y, at, real);
      if (r.is_exclusive && !is_real) seer_dtype_store_i64(x->dtype, y, at, (int64_t)whole);
      double a = is_real ? seer_dtype_load_f64(x->dtype, x->data, at) : 0;
      uint64_t b = is_real ? 0 : (uint64_t)seer_dtype_load_i64(x->dtype, x->data, at);
      real = r.is_product ? real * a : real + a;
      whole = r.is_product ? whole * b : whole + b;
      if (!r.is_exclusive && is_real) seer_dtype_store_f64(x->dtype, y, at, real);
      if (!r.is_exclusive && !is_real) seer_dtype_store_i64(x->dtype, y, at, (int64_t)whole);
    }
  }
  return SEER_OK;
}

// ---- on the host

static bool is_for_host(const seer_graph *graph, const seer_node *node) {
  running r;
  if (!seer_op_has_in(node, 0) || !seer_graph_value(graph, node->in[0])->has_shape) return false;
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  seer_status status = read_running(graph, node, x->rank, &r);
  if (status) {  // inference says it
    seer_status_free(status);
    return false;
  }
  return !x->constant && (x->dim[r.axis] > MAX_DAG_EXTENT || seer_value_is_sized(x));
}

static seer_status expand_running(seer_expand *e) {
  seer_value any = {0};
  running r = {0};
  SEER_TRY(infer_running(e->graph, &e->node, e->scratch, &any));
  SEER_TRY(read_running(e->graph, &e->node, any.rank, &r));
  int64_t form = (r.is_exclusive ? 1 : 0) + (r.is_reverse ? 2 : 0) + (r.is_product ? 4 : 0);
  const seer_attr attrs[2] = {seer_expand_int("axis", r.axis), seer_expand_int("form", form)};
  seer_val x = e->node.in[0], out;
  seer_expand_inner(e, "Running", &x, 1, attrs, 2, &out, 1);
  seer_expand_output(e, 0, out);
  return SEER_OK;
}

// What both entries say.
#define RUNNING                                                                                   \
  .rtol = 1e-5, .atol = 1e-5, .infer = infer_running, .emit = emit_running, .fold = fold_running, \
  .is_composite = is_for_host, .expand = expand_running, .expands_sized = true,                   \
  .doc = "constant axis"
SEER_OP_ENTRY(cum_sum, "CumSum", 11, 2, 2, 1, SEER_FUSE_REDUCTION, "exclusive reverse", RUNNING)

// Newer than most.
const seer_op_desc seer_op_cum_prod = {.name = "CumProd",
    .domain = "",
    .opset_min = 26,
    .opset_max = SEER_OPSET_NEWEST,
    .n_in_min = 2,
    .n_in_max = 2,
    .n_out_min = 1,
    .n_out_max = 1,
    .fuse = SEER_FUSE_REDUCTION,
    .attrs = "exclusive reverse",
    RUNNING};
SEER_OP_INNER(host_running, "Running", 1, 1, 1, SEER_FUSE_OPAQUE, "axis form", SEER_HOST_RUNNING, 1,
    .infer = infer_host_running, .emit = emit_running, .doc = "")
