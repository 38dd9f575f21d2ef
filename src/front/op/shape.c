// shape.c - operators that keep their elements' row-major order (views: Reshape, Flatten, Squeeze,
// Unsqueeze, Identity, Dropout), and those that make shapes and constants (Shape, Size, Constant,
// ConstantOfShape, Range), which only fold.
#include <math.h>
#include <string.h>

#include "dag/scalar.h"
#include "front/sized.h"

// `...`: what else the entry says.
#define VIEW_ENTRY(id, onnx, from, n_max, out_max, attributes, fold_fn, text, ...) \
  SEER_OP_ENTRY(id, onnx, from, 1, n_max, out_max, SEER_FUSE_VIEW, attributes,     \
      .infer = infer_##id, .fold = fold_fn, .doc = text, __VA_ARGS__)
#define VIEW(id, onnx, from, n_max, out_max, attributes, text, ...) \
  VIEW_ENTRY(id, onnx, from, n_max, out_max, attributes, seer_op_fold_view, text, __VA_ARGS__)

// ---- Reshape

static seer_status infer_reshape(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  int64_t *shape = NULL, dim[SEER_MAX_RANK] = {0}, known = 1;
  uint32_t n = 0, unknown = UINT32_MAX;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_ints(graph, node, "shape", 1, arena, &shape, &n));
  if (n == UINT32_MAX) return SEER_FAIL(INVALID, "input 1 (shape) is absent");
  if (n > SEER_MAX_RANK)
    return SEER_FAIL(UNSUPPORTED, "shape has %u entries, at most %d", n, SEER_MAX_RANK);
  bool keeps_zero = seer_node_attr_i(node, "allowzero", 0) != 0;
  int64_t elems = seer_op_elems(x);
  for (uint32_t d = 0; d < n; d++) {
    dim[d] = shape[d];
    if (dim[d] == 0 && !keeps_zero) {
      if (d >= x->rank) {
        return SEER_FAIL(
            INVALID, "shape's entry %u is 0, but input 0 is %s", d, seer_op_shape_text(x, arena));
      }
      dim[d] = x->dim[d];
    }
    if (dim[d] == -1) {
      if (unknown != UINT32_MAX)
        return SEER_FAIL(INVALID, "shape has -1 at %u and %u, allowed once", unknown, d);
      unknown = d;
      continue;
    }
    if (dim[d] < 0)
      return SEER_FAIL(INVALID, "shape's entry %u is %" PRId64 ", must be -1 or more", d, dim[d]);
    if (dim[d] > 0 && known > INT64_MAX / dim[d])
      return SEER_FAIL(INVALID, "shape has too many elements");
    known *= dim[d];
  }
  if (unknown != UINT32_MAX && known > 0 && elems % known == 0) {
    dim[unknown] = elems / known;
    known = elems;
  }
  if (known != elems || (unknown != UINT32_MAX && dim[unknown] < 0)) {
    seer_text text;
    seer_text_init(&text, arena);
    for (uint32_t d = 0; d < n; d++) seer_text_printf(&text, "%s%" PRId64, d ? "," : "", shape[d]);
    return SEER_FAIL(
        INVALID, "input 0 is %s, cannot become [%s]", seer_op_shape_text(x, arena), text.data);
  }
  return seer_op_set(&out_values[0], x->dtype, dim, n);
}

// A reshape keeps a dimension whose size it does not name, where as many elements stand before it.
static seer_status carry_reshape(seer_expand *e) {
  const seer_tensor *shape = seer_op_const(e->graph, &e->node, 1);  // none: an attribute
  const seer_attr *old = seer_node_attr_ints(&e->node, "shape");
  bool keeps_zero = seer_node_attr_i(&e->node, "allowzero", 0) != 0;
  SEER_SIZED_EACH(e, at) {
    if (at.k > 0) return seer_sized_refuse(e, at, "a shape cannot have it");
    const seer_value *x = seer_expand_in(e, 0), *out = seer_sized_out(e, 0);
    int64_t before = 1, passed = 1;
    uint32_t to = 0;
    for (uint32_t d = 0; d < at.d; d++) before *= x->dim[d];
    while (to < out->rank && (passed != before || out->dim[to] == 1)) passed *= out->dim[to++];
    bool fits = to < out->rank && out->dim[to] == x->dim[at.d] && x->dim[at.d] > 1;
    int64_t entry = -1;
    if (fits && shape) entry = seer_dtype_load_i64(shape->dtype, shape->data, to);
    if (fits && old) entry = old->ints[to];
    fits = fits && (entry == -1 || (entry == 0 && !keeps_zero && to == at.d));
    if (!fits)
      return seer_sized_refuse(
          e, at, "the new shape must have it as a dimension of its own, as -1 or 0");
    SEER_TRY(seer_sized_give(e, at, 0, to));
  }
  return SEER_OK;
}
VIEW(reshape, "Reshape", 5, 2, 1, "allowzero shape",
    "0, -1, allowzero; constant shape, or made of sizes that data decides",
    .carry_sizes = carry_reshape, .is_composite = seer_shaped_reshape_is_data,
    .expand = seer_shaped_reshape, .expands_sized = true)

// ---- Flatten

static seer_status infer_flatten(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  int64_t axis = seer_node_attr_i(node, "axis", 1), dim[2] = {1, 1};
  if (axis < -(int64_t)x->rank || axis > (int64_t)x->rank) {
    return SEER_FAIL(
        INVALID, "attribute 'axis' is %" PRId64 ", must be in [-%u, %u]", axis, x->rank, x->rank);
  }
  if (axis < 0) axis += (int64_t)x->rank;
  for (uint32_t d = 0; d < x->rank; d++) dim[(int64_t)d >= axis] *= x->dim[d];
  return seer_op_set(&out_values[0], x->dtype, dim, 2);
}
VIEW(flatten, "Flatten", 1, 1, 1, "axis", "", .is_composite = seer_sized_reads,
    .expand = seer_shaped_flatten, .expands_sized = true)

// ---- Squeeze, Unsqueeze: axes are an attribute before opset 13, an input since

static seer_status infer_squeeze(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  int64_t *axes = NULL, dim[SEER_MAX_RANK];
  uint32_t n = 0, mask = 0, rank = 0;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_ints(graph, node, "axes", 1, arena, &axes, &n));
  if (n == UINT32_MAX) {
    for (uint32_t d = 0; d < x->rank; d++) mask |= x->dim[d] == 1 ? 1u << d : 0;
  } else {
    SEER_TRY(seer_op_axes_mask(axes, n, x->rank, &mask));
  }
  for (uint32_t d = 0; d < x->rank; d++) {
    if (!((mask >> d) & 1u)) {
      dim[rank++] = x->dim[d];
    } else if (x->dim[d] != 1) {
      return SEER_FAIL(INVALID, "'axes' names dimension %u of %s, must have extent 1", d,
          seer_op_shape_text(x, arena));
    }
  }
  return seer_op_set(&out_values[0], x->dtype, dim, rank);
}

// Dimensions of 1 come or go; which ones, the outputs' ranks and `axes` say.
static seer_status carry_ones(seer_expand *e, bool is_squeeze) {
  int64_t *axes = NULL;
  uint32_t n = 0, mask = 0;
  const seer_value *x = seer_expand_in(e, 0), *out = seer_sized_out(e, 0);
  SEER_TRY(seer_op_ints(e->graph, &e->node, "axes", 1, e->scratch, &axes, &n));
  if (n == UINT32_MAX)
    return seer_sized_refuse_any(e->graph, &e->node, "'axes' must say which dimensions go");
  SEER_TRY(seer_op_axes_mask(axes, n, is_squeeze ? x->rank : out->rank, &mask));
  for (uint32_t d = 0, from = 0, to = 0; d < (is_squeeze ? x->rank : out->rank); d++) {
    bool is_one = (mask >> d) & 1u;
    if (is_squeeze && is_one && x->size[d].i)
      return seer_sized_refuse(e, (seer_sized_place){0, d}, "it may be none, and cannot go");
    if (!is_one && x->size[from].i)
      SEER_TRY(seer_sized_give(e, (seer_sized_place){0, from}, 0, to));
    from += !is_one || is_squeeze;
    to += !is_one || !is_squeeze;
  }
  return SEER_OK;
}

static seer_status carry_squeeze(seer_expand *e) { return carry_ones(e, true); }
static seer_status carry_unsqueeze(seer_expand *e) { return carry_ones(e, false); }
VIEW(squeeze, "Squeeze", 1, 2, 1, "axes", "axes as attribute or constant input",
    .carry_sizes = carry_squeeze)

static seer_status infer_unsqueeze(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  int64_t *axes = NULL, dim[SEER_MAX_RANK];
  uint32_t n = 0, mask = 0, from = 0;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_ints(graph, node, "axes", 1, arena, &axes, &n));
  if (n == UINT32_MAX) return SEER_FAIL(INVALID, "'axes' is absent");
  if (n + x->rank > SEER_MAX_RANK) {
    return SEER_FAIL(UNSUPPORTED, "result has rank %u, at most %d", n + x->rank, SEER_MAX_RANK);
  }
  uint32_t rank = n + x->rank;
  SEER_TRY(seer_op_axes_mask(axes, n, rank, &mask));
  for (uint32_t d = 0; d < rank; d++) dim[d] = (mask >> d) & 1u ? 1 : x->dim[from++];
  return seer_op_set(&out_values[0], x->dtype, dim, rank);
}
VIEW(unsqueeze, "Unsqueeze", 1, 2, 1, "axes", "axes as attribute or constant input",
    .carry_sizes = carry_unsqueeze)

// ---- Identity

static seer_status infer_identity(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  return seer_op_infer_same(graph, node, arena, out_values);
}
VIEW_ENTRY(identity, "Identity", 1, 1, 1, "", seer_op_fold_view, "", .takes_lists = true,
    .expand = seer_identity_expand, .is_composite = seer_identity_is_of_list,
    .carry_sizes = seer_sized_same)

// ---- Dropout in inference: its input as it is. Only the mask, which keeps everything, is more.

// `training_mode` is said by input 2, if it is there, and constant.
static seer_status infer_dropout(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_tensor *training = seer_op_const(graph, node, 2),
                    *ratio = seer_op_const(graph, node, 1);
  bool is_inference = !seer_op_has_in(node, 2) ||
      (training && seer_dtype_load_i64(training->dtype, training->data, 0) == 0);
  bool is_all_kept = ratio && seer_dtype_load_f64(ratio->dtype, ratio->data, 0) == 0;
  if (!is_inference && !is_all_kept) {
    return SEER_FAIL(UNSUPPORTED,
        "input 2 (training_mode) must be constant false, or input 1 (ratio) constant 0");
  }
  return seer_op_infer_same(graph, node, arena, out_values);
}

VIEW_ENTRY(dropout, "Dropout", 1, 3, 2, "ratio seed is_test", seer_op_fold_view,
    "inference; the mask keeps everything", .expand = seer_dropout_expand,
    .is_composite = seer_dropout_has_mask, .carry_sizes = seer_sized_same)

// ---- Shape, Size: known as soon as the dimensions are

static void shape_range(
    const seer_node *node, uint32_t rank, uint32_t *out_start, uint32_t *out_end) {
  int64_t start = seer_node_attr_i(node, "start", 0),
          end = seer_node_attr_i(node, "end", (int64_t)rank);
  if (start < 0) start += (int64_t)rank;
  if (end < 0) end += (int64_t)rank;
  *out_start = (uint32_t)seer_min_i64(seer_max_i64(start, 0), (int64_t)rank);
  *out_end = (uint32_t)seer_max_i64(seer_min_i64(seer_max_i64(end, 0), (int64_t)rank), *out_start);
}

static seer_status infer_shape(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL;
  uint32_t start, end;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  shape_range(node, x->rank, &start, &end);
  int64_t n = (int64_t)end - (int64_t)start;
  return seer_op_set(&out_values[0], SEER_DTYPE_I64, &n, 1);
}

static seer_status fold_shape(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  const seer_value *x = NULL;
  uint32_t start, end;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  shape_range(node, x->rank, &start, &end);
  for (uint32_t d = start; d < end; d++) {
    seer_dtype_store_i64(
        SEER_DTYPE_I64, (void *)(uintptr_t)out_tensors[0].data, d - start, x->dim[d]);
  }
  return SEER_OK;
}

// Each dimension of input 0: a constant, or the size that only a run knows.
static void dimensions(seer_expand *e, seer_val *out_dim) {
  uint32_t rank = seer_expand_in(e, 0)->rank;
  for (uint32_t d = 0; d < rank; d++) {
    seer_val size = seer_expand_in(e, 0)->size[d];
    int64_t known = seer_expand_in(e, 0)->dim[d];
    out_dim[d] = size.i ? size : seer_expand_ints(e, &known, 1);
  }
}

static seer_status expand_shape(seer_expand *e) {
  seer_val dim[SEER_MAX_RANK];
  uint32_t start, end;
  shape_range(&e->node, seer_expand_in(e, 0)->rank, &start, &end);
  dimensions(e, dim);
  seer_expand_output(e, 0,
      end > start ? seer_expand_concat(e, dim + start, end - start, 0)
                  : seer_expand_ints(e, NULL, 0));
  return SEER_OK;
}

SEER_OP_ENTRY(shape, "Shape", 1, 1, 1, 1, SEER_FUSE_OPAQUE, "start end", .infer = infer_shape,
    .fold = fold_shape, .folds_from_shape = true, .is_composite = seer_sized_reads,
    .expand = expand_shape, .expands_sized = true, .doc = "folded")

static seer_status infer_size(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  return seer_op_set(&out_values[0], SEER_DTYPE_I64, NULL, 0);
}

static seer_status fold_size(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  const seer_value *x = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  seer_dtype_store_i64(SEER_DTYPE_I64, (void *)(uintptr_t)out_tensors[0].data, 0, seer_op_elems(x));
  return SEER_OK;
}

static seer_status expand_size(seer_expand *e) {
  seer_val dim[SEER_MAX_RANK];
  uint32_t rank = seer_expand_in(e, 0)->rank;
  dimensions(e, dim);
  seer_val product = dim[0];
  for (uint32_t d = 1; d < rank; d++) product = seer_expand_2(e, "Mul", product, dim[d]);
  seer_expand_output(e, 0, seer_expand_reshape(e, product, NULL, 0));
  return SEER_OK;
}

SEER_OP_ENTRY(size, "Size", 1, 1, 1, 1, SEER_FUSE_OPAQUE, "", .infer = infer_size,
    .fold = fold_size, .folds_from_shape = true, .is_composite = seer_sized_reads,
    .expand = expand_size, .expands_sized = true, .doc = "folded")

// ---- Constant

static seer_status constant_tensor(const seer_node *node, seer_arena *arena, seer_tensor *out) {
  *out = (seer_tensor){0};
  for (uint32_t k = 0; k < node->n_attr; k++) {
    const seer_attr *attr = &node->attr[k];
    if (strncmp(attr->name, "value", 5) != 0) continue;
    if (strcmp(attr->name, "value") == 0 && attr->kind == SEER_ATTR_TENSOR && attr->tensor) {
      *out = *attr->tensor;
      return SEER_OK;
    }
    bool is_float = attr->kind == SEER_ATTR_FLOAT || attr->kind == SEER_ATTR_FLOATS;
    bool is_int = attr->kind == SEER_ATTR_INT || attr->kind == SEER_ATTR_INTS;
    bool is_list = attr->kind == SEER_ATTR_FLOATS || attr->kind == SEER_ATTR_INTS;
    if (!is_float && !is_int)
      return SEER_FAIL(UNSUPPORTED, "attribute '%s': only numbers are supported", attr->name);
    int64_t n = is_list ? (int64_t)attr->n : 1;
    out->dtype = is_float ? SEER_DTYPE_F32 : SEER_DTYPE_I64;
    out->rank = is_list;
    out->dim[0] = is_list ? n : 0;
    out->n_bytes = (size_t)n * seer_dtype_bytes(out->dtype);
    void *data = seer_arena_alloc(arena, out->n_bytes + 1, 64);
    for (int64_t i = 0; i < n; i++) {
      if (is_float)
        seer_dtype_store_f64(SEER_DTYPE_F32, data, i, is_list ? attr->floats[i] : attr->f);
      else
        seer_dtype_store_i64(SEER_DTYPE_I64, data, i, is_list ? attr->ints[i] : attr->i);
    }
    out->data = data;
    return SEER_OK;
  }
  return SEER_FAIL(INVALID, "there is no attribute 'value'");
}

static seer_status infer_constant(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)graph;
  seer_tensor tensor;
  SEER_TRY(constant_tensor(node, arena, &tensor));
  return seer_op_set(&out_values[0], tensor.dtype, tensor.dim, tensor.rank);
}

static seer_status fold_constant(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  (void)graph;
  return constant_tensor(node, arena, &out_tensors[0]);
}

SEER_OP_ENTRY(constant, "Constant", 1, 0, 0, 1, SEER_FUSE_OPAQUE,
    "value value_float value_floats value_int value_ints value_string value_strings "
    "sparse_value",
    .infer = infer_constant, .fold = fold_constant, .doc = "numbers; folded")

// ---- ConstantOfShape

static seer_status infer_constant_of_shape(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  int64_t *dim = NULL;
  uint32_t rank = 0;
  SEER_TRY(seer_op_const_ints(graph, node, 0, "shape", arena, &dim, &rank));
  const seer_attr *value = seer_node_attr(node, "value");
  if (value &&
      (value->kind != SEER_ATTR_TENSOR || !value->tensor ||
          seer_tensor_elems(value->tensor) != 1)) {
    return SEER_FAIL(INVALID, "attribute 'value' must be a tensor of one element");
  }
  return seer_op_set(&out_values[0], value ? value->tensor->dtype : SEER_DTYPE_F32, dim, rank);
}

static seer_status fold_constant_of_shape(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  const seer_attr *value = seer_node_attr(node, "value");
  size_t n_bytes = out_tensors[0].n_bytes, filled = seer_dtype_bytes(out_tensors[0].dtype);
  if (!value || n_bytes == 0) return SEER_OK;  // zeros already
  char *data = (char *)(uintptr_t)out_tensors[0].data;
  seer_op_copy_elem(&out_tensors[0], 0, value->tensor, 0);
  for (; filled < n_bytes; filled *= 2) {  // doubling what is there
    memcpy(data + filled, data, filled < n_bytes - filled ? filled : n_bytes - filled);
  }
  return SEER_OK;
}

static seer_status emit_constant_of_shape(seer_emit *emit, const seer_node *node) {
  const seer_value *out = seer_emit_out(emit, node, 0);
  const seer_attr *value = seer_node_attr(node, "value");
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_expr fill = seer_op_num(emit, out->dtype, 0);
  if (value)
    fill = seer_expr_scalar(&emit->dag->expr, seer_dtype_computed(out->dtype),
        seer_scalar_load(value->tensor->dtype, value->tensor->data, 0));
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, fill);
  return SEER_OK;
}

SEER_OP_ENTRY(constant_of_shape, "ConstantOfShape", 9, 1, 1, 1, SEER_FUSE_INJECTIVE, "value",
    .infer = infer_constant_of_shape, .emit = emit_constant_of_shape,
    .fold = fold_constant_of_shape, .is_composite = seer_shaped_constant_by_data,
    .expand = seer_shaped_constant, .expands_sized = true,
    .doc = "folded; constant shape, or made of sizes that data decides")

// ---- Range

static seer_status range_count(const seer_graph *graph, const seer_node *node, double *out_start,
    double *out_delta, int64_t *out_n) {
  double v[3];
  for (uint32_t k = 0; k < 3; k++) {
    const seer_tensor *tensor = seer_op_const(graph, node, k);
    if (!tensor) return SEER_FAIL(UNSUPPORTED, "input %u must be constant after folding", k);
    if (seer_tensor_elems(tensor) != 1) return SEER_FAIL(INVALID, "input %u must be a scalar", k);
    v[k] = seer_dtype_load_f64(tensor->dtype, tensor->data, 0);
  }
  if (v[2] == 0) return SEER_FAIL(INVALID, "input 2 (delta) is 0");
  double n = ceil((v[1] - v[0]) / v[2]);
  if (!(n < 1 << 28)) return SEER_FAIL(INVALID, "the range has more than 2^28 elements");
  *out_start = v[0];
  *out_delta = v[2];
  *out_n = n > 0 ? (int64_t)n : 0;
  return SEER_OK;
}

static seer_status infer_range(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *start = NULL;
  double first, delta;
  int64_t n;
  SEER_TRY(seer_op_in(graph, node, 0, &start));
  SEER_TRY(range_count(graph, node, &first, &delta, &n));
  // Folded in f64, which is no less exact than the f32 that 1 asks for.
  int64_t stash = seer_node_attr_i(node, "stash_type", 1);
  if (stash != 1)
    return SEER_FAIL(
        UNSUPPORTED, "attribute 'stash_type' is %" PRId64 ", must be 1 (float)", stash);
  return seer_op_set(&out_values[0], start->dtype, &n, 1);
}

static seer_status fold_range(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  double first, delta;
  int64_t n;
  SEER_TRY(range_count(graph, node, &first, &delta, &n));
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  for (int64_t i = 0; i < n; i++) {
    seer_dtype_store_f64(
        out_tensors[0].dtype, (void *)(uintptr_t)out_tensors[0].data, i, first + (double)i * delta);
  }
  return SEER_OK;
}

static bool is_range_data(const seer_graph *graph, const seer_node *node) {
  for (uint32_t k = 0; k < 3; k++)
    if (!seer_op_const(graph, node, k)) return true;
  return false;
}

SEER_OP_ENTRY(range, "Range", 11, 3, 3, 1, SEER_FUSE_OPAQUE, "stash_type", .infer = infer_range,
    .fold = fold_range, .is_composite = is_range_data, .expand = seer_expand_range,
    .expands_sized = true, .doc = "folded")

// ---- NonZero: the indices of a constant's elements that are not 0, one row a dimension

static bool is_nonzero(const seer_tensor *tensor, int64_t i) {
  return seer_dtype_is_float(tensor->dtype)
      ? seer_dtype_load_f64(tensor->dtype, tensor->data, i) != 0
      : seer_dtype_load_i64(tensor->dtype, tensor->data, i) != 0;
}

static seer_status infer_non_zero(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_tensor *tensor = seer_op_const(graph, node, 0);
  if (!tensor) {
    return SEER_FAIL(
        UNSUPPORTED, "input 0 must be constant after folding: the result's size depends on it");
  }
  SEER_TRY(seer_op_want_compared(seer_graph_value(graph, node->in[0]), 0));
  int64_t dim[2] = {tensor->rank, 0};
  for (int64_t i = 0, n = seer_tensor_elems(tensor); i < n; i++) dim[1] += is_nonzero(tensor, i);
  return seer_op_set(&out_values[0], SEER_DTYPE_I64, dim, 2);
}

static seer_status fold_non_zero(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  const seer_tensor *tensor = seer_op_const(graph, node, 0);
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  int64_t *out = (int64_t *)(uintptr_t)out_tensors[0].data, n_found = out_tensors[0].dim[1], at = 0;
  for (int64_t i = 0, n = seer_tensor_elems(tensor); i < n; i++) {
    if (!is_nonzero(tensor, i)) continue;
    int64_t rest = i;
    for (uint32_t d = tensor->rank; d-- > 0; rest /= tensor->dim[d])
      out[d * n_found + at] = rest % tensor->dim[d];
    at++;
  }
  return SEER_OK;
}

static bool is_data(const seer_graph *graph, const seer_node *node) {
  return !seer_op_const(graph, node, 0);
}

SEER_OP_ENTRY(non_zero, "NonZero", 9, 1, 1, 1, SEER_FUSE_OPAQUE, "", .infer = infer_non_zero,
    .fold = fold_non_zero, .is_composite = is_data, .expand = seer_expand_non_zero,
    .expands_sized = true, .doc = "folded")
