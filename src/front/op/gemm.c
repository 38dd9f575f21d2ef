// gemm.c - Gemm and MatMul: one contraction over k with the spatial axes [batch...,] m, n. Operands
// are read in their ONNX order; how the weights are packed is the schedule's business.
#include "front/expand/extent.h"
#include "front/sized.h"

// ---- what both say

// Rows of the first operand: one of the result for each. `c`: what is added, or NULL.
static seer_status carry_rows(seer_expand *e, bool is_turned, const seer_value *c) {
  SEER_SIZED_EACH(e, at) {
    uint32_t rank = seer_expand_in(e, 0)->rank;
    bool is_row = at.k == 0 && at.d + 1 < rank && seer_expand_in(e, 1)->rank == 2 && !is_turned;
    if (!is_row || (c && c->rank == 2 && c->dim[0] != 1))
      return seer_sized_refuse(e, at, "only rows of the first operand may have it, times a matrix");
    SEER_TRY(seer_sized_give(e, at, 0, at.d));
  }
  return SEER_OK;
}

// "256x1024->1024" of rows of `k` numbers.
static void put_sizes(seer_text *text, const seer_value *out, int64_t k) {
  for (uint32_t d = 0; d + 2 < out->rank; d++) {
    if (out->dim[d] != 1) seer_text_printf(text, "%" PRId64 "x", out->dim[d]);
  }
  seer_text_printf(text, "%" PRId64 "x%" PRId64 "->%" PRId64,
      out->rank > 1 ? out->dim[out->rank - 2] : (int64_t)1, k,
      out->rank > 0 ? out->dim[out->rank - 1] : (int64_t)1);
}

static bool is_by_constant(const seer_graph *graph, const seer_node *node) {
  const seer_tensor *weight = seer_op_const(graph, node, 1);
  return weight && weight->rank == 2 && node->in[0].i != node->in[1].i;
}

// ---- Gemm: Y = alpha * A' * B' + beta * C

static seer_status infer_gemm(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *a = NULL, *b = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &a));
  SEER_TRY(seer_op_in(graph, node, 1, &b));
  SEER_TRY(seer_op_same_dtype(a, b, 1));
  if (a->rank != 2 || b->rank != 2) {
    return SEER_FAIL(INVALID, "inputs are %s and %s, both must be matrices",
        seer_op_shape_text(a, arena), seer_op_shape_text(b, arena));
  }
  int64_t trans_a = seer_node_attr_i(node, "transA", 0) != 0,
          trans_b = seer_node_attr_i(node, "transB", 0) != 0;
  int64_t dim[2] = {a->dim[trans_a], b->dim[1 - trans_b]};
  int64_t k_a = a->dim[1 - trans_a], k_b = b->dim[trans_b];
  if (k_a != k_b) {
    return SEER_FAIL(INVALID,
        "inputs are %s (transA %d) and %s (transB %d): inner dimensions %" PRId64 " and %" PRId64
        " must be equal",
        seer_op_shape_text(a, arena), (int)trans_a, seer_op_shape_text(b, arena), (int)trans_b, k_a,
        k_b);
  }
  if (seer_op_has_in(node, 2)) {
    const seer_value *c = NULL;
    SEER_TRY(seer_op_in(graph, node, 2, &c));
    SEER_TRY(seer_op_same_dtype(a, c, 2));
    int64_t wide[SEER_MAX_RANK] = {dim[0], dim[1]};
    uint32_t rank = 2;
    SEER_TRY(seer_op_broadcast(c, 2, wide, &rank));
    if (rank != 2 || wide[0] != dim[0] || wide[1] != dim[1]) {
      return SEER_FAIL(INVALID, "input 2 is %s, must broadcast to [%" PRId64 ",%" PRId64 "]",
          seer_op_shape_text(c, arena), dim[0], dim[1]);
    }
  }
  return seer_op_set(&out_values[0], a->dtype, dim, 2);
}

static seer_status emit_gemm(seer_emit *emit, const seer_node *node) {
  static const seer_axis_role roles[2] = {SEER_AXIS_M, SEER_AXIS_N};
  const seer_value *a = seer_emit_in(emit, node, 0), *out = seer_emit_out(emit, node, 0);
  bool trans_a = seer_node_attr_i(node, "transA", 0) != 0,
       trans_b = seer_node_attr_i(node, "transB", 0) != 0;
  double alpha = seer_node_attr_f(node, "alpha", 1.0), beta = seer_node_attr_f(node, "beta", 1.0);
  bool has_c = seer_emit_has_in(emit, node, 2) && beta != 0.0;
  bool has_epilogue = has_c || alpha != 1.0;
  seer_dag_axis k_axis = {"k", a->dim[trans_a ? 0 : 1], SEER_AXIS_K};

  seer_expr at[2], k;
  uint32_t stage;
  if (has_epilogue) {
    uint8_t order[SEER_MAX_RANK];
    seer_op_order(out, order);
    seer_dag_axis dims[2] = {{NULL, out->dim[0], roles[0]}, {NULL, out->dim[1], roles[1]}};
    stage = seer_emit_temp(emit, "acc", SEER_STAGE_ANCHOR, dims, 2, order, &k_axis, 1, at, &k);
  } else {
    stage = seer_emit_stage(emit, node, 0, SEER_STAGE_ANCHOR, roles, &k_axis, 1, at, &k);
  }
  seer_expr a_at[2] = {trans_a ? k : at[0], trans_a ? at[0] : k};
  seer_expr b_at[2] = {trans_b ? at[1] : k, trans_b ? k : at[1]};
  seer_expr of_a = seer_emit_load(emit, node, 0, a_at), of_b = seer_emit_load(emit, node, 1, b_at);
  seer_expr product = seer_op_product(emit, node, of_a, of_b);
  if (!has_epilogue) {
    seer_emit_body(emit, node, 0, stage, SEER_COMBINE_SUM, product);
    return SEER_OK;
  }
  seer_emit_temp_body(emit, stage, SEER_COMBINE_SUM, product);
  uint32_t last = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, roles, NULL, 0, at, NULL);
  seer_expr body = seer_emit_load_temp(emit, stage, at);
  if (alpha != 1.0)
    body = seer_op_2(emit, SEER_EXPR_MUL, body, seer_op_num(emit, out->dtype, alpha));
  if (has_c) {
    seer_expr c = seer_op_load_broadcast(emit, node, 2, at, 2);
    if (beta != 1.0) c = seer_op_2(emit, SEER_EXPR_MUL, c, seer_op_num(emit, out->dtype, beta));
    body = seer_op_2(emit, SEER_EXPR_ADD, body, c);
  }
  seer_emit_body(emit, node, 0, last, SEER_COMBINE_NONE, body);
  return SEER_OK;
}

static seer_status carry_gemm(seer_expand *e) {
  bool is_turned = seer_node_attr_i(&e->node, "transA", 0) != 0;
  return carry_rows(e, is_turned, seer_op_has_in(&e->node, 2) ? seer_expand_in(e, 2) : NULL);
}

// Sizes that data decides elsewhere than in the rows of the first operand: as a MatMul, which knows
// them anywhere.
static bool is_gemm_of_sized(const seer_graph *graph, const seer_node *node) {
  uint32_t of_a = seer_sized_dims(graph, node, 0), of_b = seer_sized_dims(graph, node, 1);
  uint32_t of_c = seer_op_has_in(node, 2) ? seer_sized_dims(graph, node, 2) : 0;
  return (of_a & 2u) || of_b || of_c || (of_a && seer_node_attr_i(node, "transA", 0) != 0) ||
      (of_a && seer_op_has_in(node, 2) && seer_graph_value(graph, node->in[2])->rank == 2);
}

static seer_status expand_gemm(seer_expand *e) {
  seer_val in[2];
  for (uint32_t k = 0; k < 2; k++) {
    const seer_value *x = seer_expand_in(e, k);
    if (x->rank != 2)
      return SEER_FAIL(
          INVALID, "input %u is %s, must be a matrix", k, seer_op_shape_text(x, e->scratch));
    bool is_turned = seer_node_attr_i(&e->node, k == 0 ? "transA" : "transB", 0) != 0;
    in[k] = is_turned ? seer_expand_turned(e, e->node.in[k], 2) : e->node.in[k];
  }
  double alpha = seer_node_attr_f(&e->node, "alpha", 1),
         beta = seer_node_attr_f(&e->node, "beta", 1);
  seer_val y = seer_expand_2(e, "MatMul", in[0], in[1]);
  if (alpha != 1) y = seer_expand_times(e, y, alpha);
  if (seer_op_has_in(&e->node, 2) && beta != 0) {
    seer_val c = e->node.in[2];
    y = seer_expand_2(e, "Add", y, beta != 1 ? seer_expand_times(e, c, beta) : c);
  }
  seer_expand_output(e, 0, y);
  return SEER_OK;
}

static bool is_dense_gemm(const seer_graph *graph, const seer_node *node, bool *out_by_column) {
  bool adds_itself = node->n_in > 2 && node->in[2].i == node->in[0].i;
  *out_by_column = seer_node_attr_i(node, "transB", 0) != 0;
  return !adds_itself && !seer_node_attr_i(node, "transA", 0) && is_by_constant(graph, node);
}

static void put_gemm(seer_text *text, const seer_graph *graph, const seer_node *node) {
  const seer_value *a = seer_graph_value(graph, node->in[0]);
  seer_text_put(text, "gemm ");
  put_sizes(text, seer_graph_value(graph, node->out[0]),
      a->dim[seer_node_attr_i(node, "transA", 0) ? 0 : 1]);
}

SEER_OP_ENTRY(gemm, "Gemm", 1, 2, 3, 1, SEER_FUSE_ANCHOR, "alpha beta transA transB broadcast",
    .rtol = 1e-4, .atol = 1e-5, .infer = infer_gemm, .emit = emit_gemm, .carry_sizes = carry_gemm,
    .is_dense_layer = is_dense_gemm, .multiplies = true, .label = put_gemm,
    .is_composite = is_gemm_of_sized, .expand = expand_gemm, .expands_sized = true,
    .computes = true, .doc = "transA, transB, alpha, beta, C broadcast or absent")

// ---- MatMul: NumPy's, with batch broadcasting and vectors

typedef struct {
  uint32_t n_batch;  // of the result
  bool is_a_vector, is_b_vector;
  int64_t m, n, k;
  int64_t batch[SEER_MAX_RANK];
} matmul_shape;

static seer_status read_matmul(
    const seer_value *a, const seer_value *b, seer_arena *arena, matmul_shape *out) {
  *out = (matmul_shape){0};
  if (a->rank == 0 || b->rank == 0)
    return SEER_FAIL(INVALID, "an input is a scalar, rank must be at least 1");
  out->is_a_vector = a->rank == 1;
  out->is_b_vector = b->rank == 1;
  out->m = out->is_a_vector ? 1 : a->dim[a->rank - 2];
  out->k = a->dim[a->rank - 1];
  out->n = out->is_b_vector ? 1 : b->dim[b->rank - 1];
  int64_t k_b = out->is_b_vector ? b->dim[0] : b->dim[b->rank - 2];
  if (k_b != out->k) {
    return SEER_FAIL(INVALID,
        "inputs are %s and %s: inner dimensions %" PRId64 " and %" PRId64 " must be equal",
        seer_op_shape_text(a, arena), seer_op_shape_text(b, arena), out->k, k_b);
  }
  seer_value batch_a = *a, batch_b = *b;
  batch_a.rank = (uint8_t)(out->is_a_vector ? 0 : a->rank - 2);
  batch_b.rank = (uint8_t)(out->is_b_vector ? 0 : b->rank - 2);
  SEER_TRY(seer_op_broadcast(&batch_a, 0, out->batch, &out->n_batch));
  return seer_op_broadcast(&batch_b, 1, out->batch, &out->n_batch);
}

// Of u8 and i8, summed in i32 (front/expand/integer.h).
static bool is_integer(const seer_node *node) { return node->op == &seer_op_integer_matmul; }

static seer_status infer_matmul(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *a = NULL, *b = NULL;
  matmul_shape shape;
  SEER_TRY(seer_op_in(graph, node, 0, &a));
  SEER_TRY(seer_op_in(graph, node, 1, &b));
  SEER_TRY(is_integer(node) ? seer_op_want_bytes(a, b) : seer_op_same_dtype(a, b, 1));
  SEER_TRY(read_matmul(a, b, arena, &shape));
  uint32_t rank = shape.n_batch;
  if (!shape.is_a_vector) shape.batch[rank++] = shape.m;
  if (!shape.is_b_vector) shape.batch[rank++] = shape.n;
  return seer_op_set(
      &out_values[0], is_integer(node) ? SEER_DTYPE_I32 : a->dtype, shape.batch, rank);
}

static seer_status emit_matmul(seer_emit *emit, const seer_node *node) {
  const seer_value *a = seer_emit_in(emit, node, 0), *b = seer_emit_in(emit, node, 1);
  matmul_shape shape;
  SEER_TRY(read_matmul(a, b, emit->arena, &shape));
  seer_axis_role roles[SEER_MAX_RANK];
  uint32_t rank = 0;
  while (rank < shape.n_batch) roles[rank++] = SEER_AXIS_BATCH;
  if (!shape.is_a_vector) roles[rank++] = SEER_AXIS_M;
  if (!shape.is_b_vector) roles[rank++] = SEER_AXIS_N;
  seer_dag_axis k_axis = {"k", shape.k, SEER_AXIS_K};
  seer_expr at[SEER_MAX_RANK], k, a_at[SEER_MAX_RANK], b_at[SEER_MAX_RANK];
  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_ANCHOR, roles, &k_axis, 1, at, &k);

  uint32_t a_batch = shape.is_a_vector ? 0 : a->rank - 2u,
           b_batch = shape.is_b_vector ? 0 : b->rank - 2u;
  for (uint32_t d = 0; d < a_batch; d++) {
    a_at[d] = a->dim[d] == 1 ? seer_op_int(emit, 0) : at[d + shape.n_batch - a_batch];
  }
  for (uint32_t d = 0; d < b_batch; d++) {
    b_at[d] = b->dim[d] == 1 ? seer_op_int(emit, 0) : at[d + shape.n_batch - b_batch];
  }
  if (!shape.is_a_vector) a_at[a_batch++] = at[shape.n_batch];
  a_at[a_batch] = k;
  b_at[b_batch++] = k;
  if (!shape.is_b_vector) b_at[b_batch] = at[rank - 1];
  // The second first: a DAG's buffers stand in the order in which they were met, and it is known by
  // it.
  seer_expr of_b = seer_emit_load(emit, node, 1, b_at), of_a = seer_emit_load(emit, node, 0, a_at);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_SUM,
      is_integer(node) ? seer_op_wide_product(emit, of_a, of_b)
                       : seer_op_product(emit, node, of_a, of_b));
  return SEER_OK;
}

// Where dimension d of operand k is in the result; UINT32_MAX: it is summed over.
static uint32_t place_in_product(const seer_expand *e, uint32_t k, uint32_t d) {
  uint32_t rank = seer_expand_in(e, k)->rank, to = seer_sized_out(e, 0)->rank;
  bool is_vector = rank == 1, is_other_vector = seer_expand_in(e, 1 - k)->rank == 1;
  uint32_t inner = is_vector ? 0 : k == 0 ? rank - 1 : rank - 2;
  if (d == inner) return UINT32_MAX;
  if (k == 1 && d + 1 == rank) return to - 1;  // columns
  if (k == 0 && d + 2 == rank) return to - (is_other_vector ? 1 : 2);  // rows
  uint32_t n_own = is_vector ? 0 : rank - 2,
           n_batch = to - (is_vector ? 0 : 1) - (is_other_vector ? 0 : 1);
  return d + n_batch - n_own;
}

// What is beyond the size of the dimension that is summed over is 0 on both sides.
static seer_status mask_inner(seer_expand *e, seer_sized_place at) {
  seer_val sizes[2];
  uint32_t d[2];
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t rank = seer_expand_in(e, k)->rank;
    d[k] = rank == 1 ? 0 : k == 0 ? rank - 1 : rank - 2;
    sizes[k] = seer_expand_in(e, k)->size[d[k]];
  }
  if (!seer_extent_same_size(e->graph, sizes[0], sizes[1]))
    return seer_sized_refuse(e, at, "the other input has another size there");
  seer_val zero = seer_expand_scalar(e, seer_expand_in(e, 0)->dtype, 0);
  for (uint32_t k = 0; k < 2; k++)
    e->node.in[k] = seer_expand_masked(e, e->node.in[k], 1u << d[k], zero);
  return SEER_OK;
}

static seer_status carry_matmul(seer_expand *e) {
  seer_sized_place inner = {UINT32_MAX, 0};
  SEER_SIZED_EACH(e, at) {
    uint32_t to = place_in_product(e, at.k, at.d);
    if (to == UINT32_MAX) {
      inner = at;
      continue;
    }
    // A batch that another one meets: of the same size, or one.
    uint32_t other = 1 - at.k, rank = seer_expand_in(e, other)->rank;
    for (uint32_t d = 0; d < rank; d++) {
      if (place_in_product(e, other, d) != to) continue;
      const seer_value *x = seer_expand_in(e, other);
      bool fits = (x->dim[d] == 1 && !x->size[d].i) ||
          seer_extent_same_size(e->graph, x->size[d], seer_expand_in(e, at.k)->size[at.d]);
      if (!fits) return seer_sized_refuse(e, at, "another input has another size there");
    }
    SEER_TRY(seer_sized_give(e, at, 0, to));
  }
  return inner.k == UINT32_MAX ? SEER_OK : mask_inner(e, inner);
}

static bool is_dense_matmul(const seer_graph *graph, const seer_node *node, bool *out_by_column) {
  *out_by_column = false;
  return is_by_constant(graph, node);
}

static void put_matmul(seer_text *text, const seer_graph *graph, const seer_node *node) {
  const seer_value *a = seer_graph_value(graph, node->in[0]);
  seer_text_put(text, "matmul ");
  put_sizes(text, seer_graph_value(graph, node->out[0]), a->dim[a->rank - 1]);
}

SEER_OP_ENTRY(matmul, "MatMul", 1, 2, 2, 1, SEER_FUSE_ANCHOR, "", .rtol = 1e-4, .atol = 1e-5,
    .infer = infer_matmul, .emit = emit_matmul, .carry_sizes = carry_matmul,
    .is_dense_layer = is_dense_matmul, .multiplies = true, .label = put_matmul,
    .doc = "batched, broadcasting, vectors")

SEER_OP_INNER(integer_matmul, "IntegerMatMul", 2, 1, 1, SEER_FUSE_ANCHOR, "", 0, 0,
    .infer = infer_matmul, .emit = emit_matmul, .is_dense_layer = is_dense_matmul,
    .label = put_matmul, .doc = "")
