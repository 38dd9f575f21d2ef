// cast.c - Cast and CastLike: elements to another type.
#include <math.h>
#include <string.h>

#include "dag/scalar.h"
#include "front/onnx/dtype.h"
#include "front/op/util.h"

// What lies between two powers of two, to float8e8m0: to the nearer (of two as near the larger), or
// always to one side.
typedef enum { NEAREST, UP, DOWN } rounding;

static bool read_rounding(const seer_node *node, rounding *out) {
  static const char *const names[] = {[NEAREST] = "nearest", [UP] = "up", [DOWN] = "down"};
  const char *mode = seer_node_attr_s(node, "round_mode", names[UP]);
  for (int k = NEAREST; k <= DOWN; k++) {
    *out = (rounding)k;
    if (strcmp(mode, names[k]) == 0) return true;
  }
  return false;
}

static seer_status set_type(
    const seer_node *node, const seer_value *in, seer_dtype dtype, seer_value *out) {
  rounding how;
  if (dtype == SEER_DTYPE_F8E8M0 && !read_rounding(node, &how))
    return SEER_FAIL(INVALID, "attribute 'round_mode' is '%s', must be up, down or nearest",
        seer_node_attr_s(node, "round_mode", ""));
  return seer_op_set(out, dtype, in->dim, in->rank);
}

static seer_status infer_cast(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *in = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &in));
  int64_t to = seer_node_attr_i(node, "to", 0);
  seer_dtype dtype = seer_onnx_dtype((int32_t)to);
  if (dtype == SEER_DTYPE_NONE) {
    return SEER_FAIL(
        UNSUPPORTED, "attribute 'to' is %" PRId64 ", must be an integer, float or bool type", to);
  }
  return set_type(node, in, dtype, &out_values[0]);
}

// CastLike: to the type of input 1, whose content does not matter.
static seer_status infer_cast_like(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *in = NULL, *like = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &in));
  SEER_TRY(seer_op_in(graph, node, 1, &like));
  return set_type(node, in, like->dtype, &out_values[0]);
}

// To a float of a byte: what is beyond the largest number becomes that number, unless the node says
// that it shall be infinity or NaN.
static bool saturates(const seer_node *node, seer_dtype to) {
  return seer_dtype_bytes(to) == 1 && seer_dtype_is_float(to) &&
      seer_node_attr_i(node, "saturate", 1) != 0;
}

// Numbers beyond an integer type are undefined in ONNX; familyseer gives the type's end. In types
// of a few bits its tests have the low bits of the number, as ONNX Runtime.
static bool keeps_low_bits(seer_dtype to, seer_dtype from) {
  return seer_dtype_is_small_int(to) && seer_dtype_is_float(from);
}

// To 4 bits ONNX Runtime rounds, halves away from zero: what is added, with x's sign, so that
// cutting off does it.
static bool is_rounded(seer_dtype to, seer_dtype from) {
  return seer_dtype_is_float(from) && (to == SEER_DTYPE_I4 || to == SEER_DTYPE_U4);
}
static double almost_half(seer_dtype computed) {
  return computed == SEER_DTYPE_F64 ? nextafter(0.5, 0) : (double)nextafterf(0.5F, 0);
}

// ---- as DAG

// The power of two that x becomes, still as f32: the type's own rounding is to the nearest.
static seer_expr to_power(seer_emit *emit, const seer_node *node, seer_expr x) {
  seer_expr_pool *pool = &emit->dag->expr;
  rounding how = UP;
  read_rounding(node, &how);
  if (seer_op_dtype(emit, x) != SEER_DTYPE_F32) x = seer_expr_cast(pool, SEER_DTYPE_F32, x);
  if (saturates(node, SEER_DTYPE_F8E8M0)) {
    double least = seer_scalar_lowest(SEER_DTYPE_F8E8M0).f;
    double largest = seer_dtype_largest(SEER_DTYPE_F8E8M0);
    x = seer_op_2(emit, SEER_EXPR_MAX, x, seer_op_num(emit, SEER_DTYPE_F32, least));
    x = seer_op_2(emit, SEER_EXPR_MIN, x, seer_op_num(emit, SEER_DTYPE_F32, largest));
  }
  if (how == NEAREST) return x;
  seer_expr near = seer_expr_cast(pool, SEER_DTYPE_F32, seer_expr_cast(pool, SEER_DTYPE_F8E8M0, x));
  seer_expr is_other = seer_op_2(emit, how == UP ? SEER_EXPR_LT : SEER_EXPR_GT, near, x);
  seer_expr step = seer_op_num(emit, SEER_DTYPE_F32, how == UP ? 2 : 0.5);
  return seer_expr_select(pool, is_other, seer_op_2(emit, SEER_EXPR_MUL, near, step), near);
}

static seer_expr converted(seer_emit *emit, const seer_node *node, seer_expr x) {
  seer_expr_pool *pool = &emit->dag->expr;
  seer_dtype to = seer_emit_out(emit, node, 0)->dtype, from = seer_emit_in(emit, node, 0)->dtype;
  if (to == from) return x;
  if (to == SEER_DTYPE_BOOL)
    return seer_op_2(emit, SEER_EXPR_NE, x, seer_op_num(emit, seer_op_dtype(emit, x), 0));
  if (to == SEER_DTYPE_F8E8M0) return seer_expr_cast(pool, to, to_power(emit, node, x));
  if (is_rounded(to, from)) {
    seer_dtype computed = seer_op_dtype(emit, x);
    seer_expr half = seer_op_2(emit, SEER_EXPR_MUL, seer_op_1(emit, SEER_EXPR_SIGN, x),
        seer_op_num(emit, computed, almost_half(computed)));
    x = seer_op_2(emit, SEER_EXPR_ADD, x, half);
  }
  if (keeps_low_bits(to, from)) x = seer_expr_cast(pool, SEER_DTYPE_I32, x);
  return saturates(node, to) ? seer_op_saturate(emit, to, x) : seer_expr_cast(pool, to, x);
}

static seer_status emit_cast(seer_emit *emit, const seer_node *node) {
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_expr x = seer_emit_load(emit, node, 0, at);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, converted(emit, node, x));
  return SEER_OK;
}

// ---- of constants: by element, so that int64 values beyond 2^53 and tensors without elements come
// through

static double power_of(const seer_node *node, double x) {
  const seer_float_format *format = seer_dtype_format(SEER_DTYPE_F8E8M0);
  rounding how = UP;
  read_rounding(node, &how);
  if (saturates(node, SEER_DTYPE_F8E8M0) && !isnan(x)) {
    x = fmax(x, seer_scalar_lowest(SEER_DTYPE_F8E8M0).f);
    x = fmin(x, seer_dtype_largest(SEER_DTYPE_F8E8M0));
  }
  if (how == NEAREST) return x;
  double near = seer_float_from_bits(format, seer_float_to_bits(format, x));
  bool is_other = how == UP ? near < x : near > x;
  return is_other ? near * (how == UP ? 2 : 0.5) : near;
}

static double float_of(const seer_node *node, seer_dtype to, double x) {
  if (to == SEER_DTYPE_F8E8M0) return power_of(node, x);
  double limit = saturates(node, to) ? seer_dtype_largest(to) : (double)INFINITY;
  return fabs(x) > limit ? copysign(limit, x) : x;
}

static seer_status fold_cast(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  const seer_tensor *in = seer_op_const(graph, node, 0);
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  void *to = (void *)(uintptr_t)out_tensors[0].data;
  seer_dtype dtype = out_tensors[0].dtype, from = in->dtype;
  int64_t n = seer_tensor_elems(in);
  for (int64_t i = 0; i < n; i++) {
    bool from_float = seer_dtype_is_float(from);
    double x = seer_dtype_load_f64(from, in->data, i);
    int64_t whole = from_float ? 0 : seer_dtype_load_i64(from, in->data, i);
    if (dtype == SEER_DTYPE_BOOL) {
      seer_dtype_store_i64(dtype, to, i, from_float ? x != 0 : whole != 0);
    } else if (seer_dtype_is_float(dtype)) {
      seer_dtype_store_f64(dtype, to, i, from == dtype ? x : float_of(node, dtype, x));
    } else if (from_float) {
      seer_dtype range = keeps_low_bits(dtype, from) ? SEER_DTYPE_I32 : dtype;
      if (is_rounded(dtype, from)) x = round(x);
      seer_dtype_store_i64(dtype, to, i, seer_scalar_saturate(range, x));
    } else {
      seer_dtype_store_i64(dtype, to, i, whole);
    }
  }
  return SEER_OK;
}

static bool is_same_type(SEER_UNUSED const seer_graph *graph, SEER_UNUSED const seer_node *node) {
  return true;
}
static seer_val number_before(SEER_UNUSED const seer_graph *graph, const seer_node *node) {
  return node->in[0];
}

#define CAST(id, onnx, from, n_in, attributes, infer_fn, ...)                                   \
  SEER_OP_ENTRY(id, onnx, from, n_in, n_in, 1, SEER_FUSE_ELEMENTWISE, attributes, .rtol = 1e-6, \
      .atol = 0, .infer = infer_fn, .emit = emit_cast, .fold = fold_cast,                       \
      .doc =                                                                                    \
          "between integers, floats and bool; floats of a byte saturate or not; floats to 4 "   \
          "bits rounded, halves away from zero",                                                \
      __VA_ARGS__)
CAST(cast, "Cast", 6, 1, "to saturate round_mode", infer_cast, .moves = true,
    .bounded_by = number_before, .is_copy = is_same_type)
CAST(cast_like, "CastLike", 15, 2, "saturate round_mode", infer_cast_like, .moves = false)
