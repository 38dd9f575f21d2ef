// util.c - what the operator files share: inputs, attributes and axes read with good errors;
// broadcasting; windows.
#include "front/op/util.h"

#include <string.h>

// Beyond any memory; products of dimensions below it cannot overflow.
#define MAX_ELEMS (INT64_C(1) << 48)

// ---- inference

bool seer_op_has_in(const seer_node *node, uint32_t k) {
  return k < node->n_in && node->in[k].i != 0;
}

seer_status seer_op_in(
    const seer_graph *graph, const seer_node *node, uint32_t k, const seer_value **out_value) {
  if (!seer_op_has_in(node, k)) return SEER_FAIL(INVALID, "input %u is absent", k);
  const seer_value *value = seer_graph_value(graph, node->in[k]);
  if (!value->has_shape || value->dtype == SEER_DTYPE_NONE) {
    return SEER_FAIL(
        INVALID, "input %u ('%s') has no %s", k, value->name, value->has_shape ? "type" : "shape");
  }
  for (uint32_t d = 0; d < value->rank; d++) {
    if (value->dim[d] < 0) {
      return SEER_FAIL(INVALID, "input %u ('%s'): dimension %u is not fixed", k, value->name, d);
    }
  }
  *out_value = value;
  return SEER_OK;
}

seer_status seer_op_set(seer_value *value, seer_dtype dtype, const int64_t *dim, uint32_t rank) {
  if (rank > SEER_MAX_RANK)
    return SEER_FAIL(UNSUPPORTED, "result has rank %u, at most %d", rank, SEER_MAX_RANK);
  int64_t n = 1;
  for (uint32_t k = 0; k < rank; k++) {
    if (dim[k] < 0)
      return SEER_FAIL(
          INVALID, "result's dimension %u is %" PRId64 ", must be 0 or more", k, dim[k]);
    if (dim[k] > MAX_ELEMS || (dim[k] > 0 && n > MAX_ELEMS / dim[k])) {
      return SEER_FAIL(RESOURCE, "result has more than 2^48 elements");
    }
    if (dim[k] > 0) n *= dim[k];
  }
  value->dtype = dtype;
  value->rank = (uint8_t)rank;
  value->has_shape = true;
  for (uint32_t k = 0; k < rank; k++) value->dim[k] = dim[k];
  return SEER_OK;
}

seer_status seer_op_axis(int64_t axis, uint32_t rank, const char *what, uint32_t *out_axis) {
  if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
    return SEER_FAIL(INVALID, "%s is %" PRId64 ", must be in [-%u, %u)", what, axis, rank, rank);
  }
  *out_axis = (uint32_t)(axis < 0 ? axis + (int64_t)rank : axis);
  return SEER_OK;
}

// The content of input k, which must be there and be constant integers.
static seer_status const_integers(const seer_graph *graph, const seer_node *node, uint32_t k,
    const char *what, const seer_tensor **out_tensor) {
  const seer_value *value = NULL;
  SEER_TRY(seer_op_in(graph, node, k, &value));
  const seer_tensor *tensor = value->constant;
  if (!tensor) {
    return SEER_FAIL(
        UNSUPPORTED, "input %u ('%s', %s) must be constant after folding", k, value->name, what);
  }
  if (seer_dtype_is_float(tensor->dtype)) {
    return SEER_FAIL(INVALID, "input %u ('%s', %s) is %s, must be an integer type", k, value->name,
        what, seer_dtype_name(tensor->dtype));
  }
  *out_tensor = tensor;
  return SEER_OK;
}

seer_status seer_op_const_ints(const seer_graph *graph, const seer_node *node, uint32_t k,
    const char *what, seer_arena *arena, int64_t **out_ints, uint32_t *out_n) {
  const seer_tensor *tensor = NULL;
  SEER_TRY(const_integers(graph, node, k, what, &tensor));
  int64_t n = seer_tensor_elems(tensor);
  if (n > 1 << 20) return SEER_FAIL(INVALID, "input %u (%s) has %" PRId64 " elements", k, what, n);
  *out_ints = SEER_NEW_ARRAY(arena, int64_t, n + 1);
  for (int64_t i = 0; i < n; i++)
    (*out_ints)[i] = seer_dtype_load_i64(tensor->dtype, tensor->data, i);
  *out_n = (uint32_t)n;
  return SEER_OK;
}

seer_status seer_op_const_int(const seer_graph *graph, const seer_node *node, uint32_t k,
    const char *what, int64_t otherwise, int64_t *out_int) {
  *out_int = otherwise;
  if (!seer_op_has_in(node, k)) return SEER_OK;
  const seer_tensor *tensor = NULL;
  SEER_TRY(const_integers(graph, node, k, what, &tensor));
  int64_t n = seer_tensor_elems(tensor);
  if (n != 1)
    return SEER_FAIL(INVALID, "input %u (%s) has %" PRId64 " elements, must have 1", k, what, n);
  *out_int = seer_dtype_load_i64(tensor->dtype, tensor->data, 0);
  return SEER_OK;
}

seer_status seer_op_ints(const seer_graph *graph, const seer_node *node, const char *name,
    uint32_t k, seer_arena *arena, int64_t **out_ints, uint32_t *out_n) {
  const seer_attr *attr = seer_node_attr_ints(node, name);
  *out_n = UINT32_MAX;
  *out_ints = NULL;
  if (attr) {
    *out_ints = SEER_NEW_ARRAY(arena, int64_t, attr->n + 1);
    for (size_t i = 0; i < attr->n; i++) (*out_ints)[i] = attr->ints[i];
    *out_n = (uint32_t)attr->n;
    return SEER_OK;
  }
  if (seer_node_attr(node, name))
    return SEER_FAIL(INVALID, "attribute '%s' must be a list of integers", name);
  if (!seer_op_has_in(node, k)) return SEER_OK;
  return seer_op_const_ints(graph, node, k, name, arena, out_ints, out_n);
}

seer_status seer_op_axes_mask(const int64_t *ints, uint32_t n, uint32_t rank, uint32_t *out_mask) {
  *out_mask = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t axis = 0;
    SEER_TRY(seer_op_axis(ints[i], rank, "an entry of 'axes'", &axis));
    if (*out_mask & (1u << axis))
      return SEER_FAIL(INVALID, "'axes' names dimension %u twice", axis);
    *out_mask |= 1u << axis;
  }
  return SEER_OK;
}

seer_status seer_op_broadcast(const seer_value *value, uint32_t k, int64_t *dim, uint32_t *rank) {
  if (value->rank > *rank) {  // shift what is there to the right
    uint32_t by = value->rank - *rank;
    for (uint32_t d = value->rank; d-- > 0;) dim[d] = d >= by ? dim[d - by] : 1;
    *rank = value->rank;
  }
  uint32_t offset = *rank - value->rank;
  for (uint32_t d = 0; d < value->rank; d++) {
    int64_t *have = &dim[d + offset];
    if (*have == 1) {
      *have = value->dim[d];
    } else if (value->dim[d] != 1 && value->dim[d] != *have) {
      return SEER_FAIL(INVALID,
          "input %u ('%s'): dimension %u is %" PRId64 ", must be 1 or %" PRId64 " to broadcast", k,
          value->name, d, value->dim[d], *have);
    }
  }
  return SEER_OK;
}

seer_status seer_op_want_compared(const seer_value *value, uint32_t k) {
  bool is_stored = seer_dtype_is_small_int(value->dtype) ||
      (seer_dtype_is_float(value->dtype) && seer_dtype_bytes(value->dtype) == 1);
  if (!is_stored) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED,
      "input %u ('%s') is %s; floats of a byte and integers of less are stored, moved and "
      "converted only",
      k, value->name, seer_dtype_name(value->dtype));
}

seer_status seer_op_want_float(const seer_value *value, uint32_t k) {
  if (seer_dtype_is_float(value->dtype)) return SEER_OK;
  return SEER_FAIL(INVALID, "input %u ('%s') is %s, must be a float type", k, value->name,
      seer_dtype_name(value->dtype));
}

seer_status seer_op_same_dtype(const seer_value *a, const seer_value *b, uint32_t k) {
  if (a->dtype == b->dtype) return SEER_OK;
  return SEER_FAIL(INVALID, "input %u ('%s') is %s, must be %s like input 0", k, b->name,
      seer_dtype_name(b->dtype), seer_dtype_name(a->dtype));
}

seer_status seer_op_want_bytes(const seer_value *a, const seer_value *b) {
  if (a->dtype == SEER_DTYPE_U8 && b->dtype == SEER_DTYPE_I8) return SEER_OK;
  return SEER_FAIL(INVALID, "inputs are %s and %s, must be u8 and i8", seer_dtype_name(a->dtype),
      seer_dtype_name(b->dtype));
}

const char *seer_op_shape_text(const seer_value *value, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, "[");
  for (uint32_t d = 0; d < value->rank; d++)
    seer_text_printf(&text, "%s%" PRId64, d ? "," : "", value->dim[d]);
  seer_text_put(&text, "]");
  return text.data;
}

int64_t seer_op_elems(const seer_value *value) {
  int64_t n = 1;
  for (uint32_t d = 0; d < value->rank; d++) n *= value->dim[d];
  return n;
}

seer_status seer_op_infer_same(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *in = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &in));
  return seer_op_set(&out_values[0], in->dtype, in->dim, in->rank);
}

seer_status seer_op_infer_same_float(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *in = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &in));
  SEER_TRY(seer_op_want_float(in, 0));
  return seer_op_infer_same(graph, node, arena, out_values);
}

// ---- folding

const seer_tensor *seer_op_const(const seer_graph *graph, const seer_node *node, uint32_t k) {
  return seer_op_has_in(node, k) ? seer_graph_value(graph, node->in[k])->constant : NULL;
}

seer_status seer_op_fold_start(const seer_graph *graph, const seer_node *node, uint32_t k,
    seer_arena *arena, seer_tensor *out_tensor) {
  const seer_value *value = seer_graph_value(graph, node->out[k]);
  SEER_ASSERT(value->has_shape, "%s: output %u folded before inference", node->name, k);
  int64_t n = seer_op_elems(value);
  if (n > 1 << 28)
    return SEER_FAIL(RESOURCE, "folding would make %" PRId64 " elements, at most 2^28", n);
  *out_tensor = (seer_tensor){.dtype = value->dtype, .rank = value->rank};
  for (uint32_t d = 0; d < value->rank; d++) out_tensor->dim[d] = value->dim[d];
  out_tensor->n_bytes = (size_t)n * seer_dtype_bytes(value->dtype);
  out_tensor->data = seer_arena_alloc(arena, out_tensor->n_bytes + 1, 64);
  return SEER_OK;
}

void seer_op_copy_elem(
    seer_tensor *to, int64_t to_index, const seer_tensor *from, int64_t from_index) {
  size_t bytes = seer_dtype_bytes(to->dtype);
  SEER_ASSERT(to->dtype == from->dtype && (size_t)(to_index + 1) * bytes <= to->n_bytes &&
          (size_t)(from_index + 1) * bytes <= from->n_bytes,
      "copy of element %" PRId64 " to %" PRId64, from_index, to_index);
  memcpy((char *)(uintptr_t)to->data + (size_t)to_index * bytes,
      (const char *)from->data + (size_t)from_index * bytes, bytes);
}

seer_status seer_op_fold_view(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  (void)arena;
  const seer_value *value = seer_graph_value(graph, node->out[0]);
  out_tensors[0] = *seer_op_const(graph, node, 0);
  out_tensors[0].rank = value->rank;
  for (uint32_t d = 0; d < value->rank; d++) out_tensors[0].dim[d] = value->dim[d];
  return SEER_OK;
}

// ---- emission

seer_dtype seer_op_dtype(const seer_emit *emit, seer_expr e) {
  return (seer_dtype)seer_expr_at(&emit->dag->expr, e)->dtype;
}

seer_expr seer_op_num(seer_emit *emit, seer_dtype dtype, double value) {
  dtype = seer_dtype_computed(dtype);
  if (seer_dtype_is_float(dtype)) return seer_expr_f(&emit->dag->expr, dtype, value);
  return seer_expr_int(&emit->dag->expr, dtype, seer_scalar_saturate(dtype, value));
}

seer_expr seer_op_saturate(seer_emit *emit, seer_dtype dtype, seer_expr e) {
  double largest = seer_dtype_largest(dtype);
  seer_dtype from = seer_op_dtype(emit, e);
  if (!seer_dtype_is_float(from)) {
    from = SEER_DTYPE_F32;
    e = seer_expr_cast(&emit->dag->expr, from, e);
  }
  e = seer_op_2(emit, SEER_EXPR_MAX, e, seer_op_num(emit, from, -largest));
  e = seer_op_2(emit, SEER_EXPR_MIN, e, seer_op_num(emit, from, largest));
  return seer_expr_cast(&emit->dag->expr, dtype, e);
}

seer_expr seer_op_product(seer_emit *emit, const seer_node *node, seer_expr a, seer_expr b) {
  if (*seer_node_attr_s(node, SEER_OP_PRODUCTS, "")) {
    a = seer_op_1(emit, SEER_EXPR_TF32, a);
    b = seer_op_1(emit, SEER_EXPR_TF32, b);
  }
  return seer_op_2(emit, SEER_EXPR_MUL, a, b);
}

seer_expr seer_op_wide_product(seer_emit *emit, seer_expr a, seer_expr b) {
  return seer_op_2(emit, SEER_EXPR_MUL, seer_expr_cast(&emit->dag->expr, SEER_DTYPE_I32, a),
      seer_expr_cast(&emit->dag->expr, SEER_DTYPE_I32, b));
}

seer_expr seer_op_muladd(seer_emit *emit, seer_expr index, int64_t factor, int64_t offset) {
  seer_expr product = seer_op_2(emit, SEER_EXPR_MUL, index, seer_op_int(emit, factor));
  return seer_op_2(emit, SEER_EXPR_ADD, product, seer_op_int(emit, offset));
}

seer_expr seer_op_load_broadcast(
    seer_emit *emit, const seer_node *node, uint32_t k, const seer_expr *index, uint32_t rank) {
  const seer_value *value = seer_emit_in(emit, node, k);
  seer_expr at[SEER_MAX_RANK];
  SEER_ASSERT(
      value->rank <= rank, "%s: input %u of rank %u into %u", node->name, k, value->rank, rank);
  for (uint32_t d = 0; d < value->rank; d++) {
    at[d] = value->dim[d] == 1 ? seer_op_int(emit, 0) : index[d + rank - value->rank];
  }
  return seer_emit_load(emit, node, k, at);
}

// The order of `value` without the dimensions whose bit in `dropped` is set, renumbered; returns
// how many stay.
static uint32_t order_without(const seer_value *value, uint32_t dropped, uint8_t *out_order) {
  uint8_t order[SEER_MAX_RANK], number[SEER_MAX_RANK];
  uint32_t n = 0;
  for (uint32_t d = 0; d < value->rank; d++) number[d] = (dropped >> d) & 1u ? 255 : (uint8_t)n++;
  seer_op_order(value, order);
  n = 0;
  for (uint32_t k = 0; k < value->rank; k++) {
    if (number[order[k]] != 255) out_order[n++] = number[order[k]];
  }
  return n;
}

seer_expr seer_op_to_i64(seer_emit *emit, seer_expr e) {
  if (seer_op_dtype(emit, e) == SEER_DTYPE_I64) return e;
  return seer_expr_cast(&emit->dag->expr, SEER_DTYPE_I64, e);
}

seer_expr seer_op_clamp(seer_emit *emit, seer_expr index, int64_t n) {
  index = seer_op_2(emit, SEER_EXPR_MAX, index, seer_op_int(emit, 0));
  return seer_op_2(emit, SEER_EXPR_MIN, index, seer_op_int(emit, n - 1));
}

seer_expr seer_op_data_index(seer_emit *emit, seer_expr k, int64_t extent) {
  k = seer_op_to_i64(emit, k);
  seer_expr zero = seer_op_int(emit, 0), is_negative = seer_op_2(emit, SEER_EXPR_LT, k, zero);
  k = seer_expr_select(&emit->dag->expr, is_negative,
      seer_op_2(emit, SEER_EXPR_ADD, k, seer_op_int(emit, extent)), k);
  return seer_op_clamp(emit, k, extent);
}

seer_expr seer_op_within(seer_emit *emit, seer_expr predicate, seer_expr index, int64_t index_low,
    int64_t index_high, int64_t low, int64_t high) {
  seer_expr_pool *pool = &emit->dag->expr;
  if (index_low < low) {
    seer_expr above = seer_expr_binary(pool, SEER_EXPR_GE, index, seer_expr_i(pool, low));
    predicate = predicate.i ? seer_expr_binary(pool, SEER_EXPR_AND, predicate, above) : above;
  }
  if (index_high >= high) {
    seer_expr below = seer_expr_binary(pool, SEER_EXPR_LT, index, seer_expr_i(pool, high));
    predicate = predicate.i ? seer_expr_binary(pool, SEER_EXPR_AND, predicate, below) : below;
  }
  return predicate;
}

// ---- rows

int64_t seer_op_row_elems(const seer_op_rows *r) {
  int64_t n = r->group > 0 ? r->group : 1;
  for (uint32_t d = 0; d < r->x->rank; d++) n *= (r->mask >> d) & 1u ? r->x->dim[d] : 1;
  return n;
}

uint32_t seer_op_row_stage(
    seer_emit *emit, const seer_op_rows *r, const char *suffix, seer_expr *at, seer_expr *out_row) {
  seer_dag_axis dims[SEER_MAX_RANK], reduce[SEER_MAX_RANK + 1];
  uint8_t order[SEER_MAX_RANK];
  seer_expr row[SEER_MAX_RANK], var[SEER_MAX_RANK + 1];
  uint32_t n_dim = 0, n_reduce = 0;
  if (r->group > 0) reduce[n_reduce++] = (seer_dag_axis){NULL, r->group, SEER_AXIS_OTHER};
  for (uint32_t d = 0; d < r->x->rank; d++) {
    bool is_grouped = d == 1 && r->group > 0;
    seer_dag_axis axis = {
        NULL, is_grouped ? r->x->dim[d] / r->group : r->x->dim[d], SEER_AXIS_OTHER};
    if ((r->mask >> d) & 1u)
      reduce[n_reduce++] = axis;
    else
      dims[n_dim++] = axis;
  }
  order_without(r->x, r->mask, order);
  uint32_t stage = seer_emit_temp(emit, suffix, at ? SEER_STAGE_ANCHOR : SEER_STAGE_EPILOGUE, dims,
      n_dim, order, reduce, at ? n_reduce : 0, row, var);
  for (uint32_t d = 0; out_row && d < n_dim; d++) out_row[d] = row[d];
  if (!at) return stage;
  uint32_t n_row = 0, n_var = r->group > 0 ? 1 : 0;
  for (uint32_t d = 0; d < r->x->rank; d++) {
    at[d] = (r->mask >> d) & 1u ? var[n_var++] : row[n_row++];
    if (d == 1 && r->group > 0)
      at[d] = seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, at[d], r->group, 0), var[0]);
  }
  return stage;
}

void seer_op_row_at(
    seer_emit *emit, const seer_op_rows *r, const seer_expr *at, seer_expr *out_row) {
  uint32_t n = 0;
  for (uint32_t d = 0; d < r->x->rank; d++) {
    if ((r->mask >> d) & 1u) continue;
    bool is_grouped = d == 1 && r->group > 1;
    out_row[n++] =
        is_grouped ? seer_op_2(emit, SEER_EXPR_DIV, at[d], seer_op_int(emit, r->group)) : at[d];
  }
}
