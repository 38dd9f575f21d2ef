// quant.c - QuantizeLinear and DequantizeLinear: q = saturate(round(x / scale) + zero_point), x =
// (q - zero_point) * scale, with one scale for all, one per element of an axis, or one per block
// along it. Both are elementwise, so a dequantised operand is a prologue of what reads it, and a
// quantised result an epilogue.

#include "front/onnx/dtype.h"
#include "front/op/util.h"

#define QUANT(id, onnx, attributes)                                                            \
  SEER_OP_ENTRY(id, onnx, 10, 2, 3, 1, SEER_FUSE_ELEMENTWISE, attributes, .rtol = 1e-5,        \
      .atol = 1e-5, .infer = infer_##id, .emit = emit_##id,                                    \
      .doc =                                                                                   \
          "2, 4, 8, 16 and 32-bit integers, float8, float4; a scale for all, per axis or per " \
          "block")

// How scale (input 1) and zero point (input 2) lie over x.
typedef struct {
  enum { PER_TENSOR, PER_AXIS, PER_BLOCK } kind;
  uint32_t axis;
  int64_t block;
} scales;

static seer_status read_scales(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, scales *out) {
  const seer_value *x = NULL, *scale = NULL, *zero = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &scale));
  *out = (scales){.kind = PER_TENSOR, .block = seer_node_attr_i(node, "block_size", 0)};
  if (seer_op_has_in(node, 2)) {
    SEER_TRY(seer_op_in(graph, node, 2, &zero));
    bool is_same = zero->rank == scale->rank;
    for (uint32_t d = 0; d < scale->rank && is_same; d++) is_same = zero->dim[d] == scale->dim[d];
    if (!is_same && !(seer_op_elems(zero) == 1 && seer_op_elems(scale) == 1)) {
      return SEER_FAIL(INVALID, "input 2 is %s, must be %s like input 1",
          seer_op_shape_text(zero, arena), seer_op_shape_text(scale, arena));
    }
  }
  if (seer_op_elems(scale) == 1 && scale->rank <= 1) return SEER_OK;
  SEER_TRY(
      seer_op_axis(seer_node_attr_i(node, "axis", 1), x->rank, "attribute 'axis'", &out->axis));
  if (scale->rank == 1 && scale->dim[0] == x->dim[out->axis]) {
    out->kind = PER_AXIS;
    return SEER_OK;
  }
  if (scale->rank == x->rank && out->block > 0) {
    out->kind = PER_BLOCK;
    bool fits = true;
    for (uint32_t d = 0; d < x->rank; d++) {
      int64_t want = d == out->axis ? seer_ceil_div(x->dim[d], out->block) : x->dim[d];
      fits &= scale->dim[d] == want;
    }
    if (fits) return SEER_OK;
  }
  return SEER_FAIL(INVALID,
      "input 1 is %s, must be a scalar, or fit axis %u of input 0 (%s) one by one or by blocks of "
      "attribute 'block_size' (%" PRId64 ")",
      seer_op_shape_text(scale, arena), out->axis, seer_op_shape_text(x, arena), out->block);
}

// Input k (scale or zero point) at x's element `at`.
static seer_expr load_scale(seer_emit *emit, const seer_node *node, uint32_t k, const scales *s,
    const seer_expr *at, uint32_t rank) {
  seer_expr from[SEER_MAX_RANK];
  if (s->kind == PER_TENSOR) {
    for (uint32_t d = 0; d < SEER_MAX_RANK; d++) from[d] = seer_op_int(emit, 0);
  } else if (s->kind == PER_AXIS) {
    from[0] = at[s->axis];
  } else {
    for (uint32_t d = 0; d < rank; d++) from[d] = at[d];
    from[s->axis] = seer_op_2(emit, SEER_EXPR_DIV, at[s->axis], seer_op_int(emit, s->block));
  }
  return seer_emit_load(emit, node, k, from);
}

static seer_expr cast(seer_emit *emit, seer_dtype dtype, seer_expr e) {
  if (seer_op_dtype(emit, e) == dtype) return e;
  return seer_expr_cast(&emit->dag->expr, dtype, e);
}

// It is this number, whatever the element: what integer products are requantised with has a scale
// of 1 and a factor in front (front/expand/quant.c).
static bool is_number(const seer_emit *emit, seer_expr e, double number) {
  const seer_expr_node *node = seer_expr_at(&emit->dag->expr, e);
  return node->op == SEER_EXPR_CONST_F && node->value.f == number;
}

static seer_status want_quantised(seer_dtype dtype, uint32_t k) {
  static const seer_dtype known[] = {SEER_DTYPE_I2, SEER_DTYPE_U2, SEER_DTYPE_F4E2M1, SEER_DTYPE_I4,
      SEER_DTYPE_U4, SEER_DTYPE_I8, SEER_DTYPE_U8, SEER_DTYPE_I16, SEER_DTYPE_U16, SEER_DTYPE_I32,
      SEER_DTYPE_F8E4M3FN, SEER_DTYPE_F8E4M3FNUZ, SEER_DTYPE_F8E5M2, SEER_DTYPE_F8E5M2FNUZ};
  for (size_t i = 0; i < SEER_COUNT_OF(known); i++)
    if (dtype == known[i]) return SEER_OK;
  return SEER_FAIL(INVALID,
      "input %u is %s, must be i2, u2, i4, u4, i8, u8, i16, u16, i32, float4 or float8", k,
      seer_dtype_name(dtype));
}

// ---- QuantizeLinear

static seer_status infer_quantize_linear(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL, *zero = NULL;
  scales s;
  seer_dtype dtype = SEER_DTYPE_U8;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(read_scales(graph, node, arena, &s));
  int64_t asked = seer_node_attr_i(node, "output_dtype", 0);
  if (asked) dtype = seer_onnx_dtype((int32_t)asked);
  // The quotient is in f32: as exact as any narrower type, and what 1 (float) asks for.
  int64_t precision = seer_node_attr_i(node, "precision", 0);
  if (precision != 0 && precision != 1)
    return SEER_FAIL(
        UNSUPPORTED, "attribute 'precision' is %" PRId64 ", must be 0 or 1 (float)", precision);
  if (seer_op_has_in(node, 2)) {
    SEER_TRY(seer_op_in(graph, node, 2, &zero));
    dtype = zero->dtype;
  }
  SEER_TRY(want_quantised(dtype, 2));
  if (dtype == SEER_DTYPE_I32) return SEER_FAIL(INVALID, "results are not i32");
  return seer_op_set(&out_values[0], dtype, x->dim, x->rank);
}

static seer_status emit_quantize_linear(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0), *out = seer_emit_out(emit, node, 0);
  scales s;
  seer_expr at[SEER_MAX_RANK];
  SEER_TRY(read_scales(emit->graph, node, emit->arena, &s));
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_expr value = cast(emit, SEER_DTYPE_F32, seer_emit_load(emit, node, 0, at));
  seer_expr scale = cast(emit, SEER_DTYPE_F32, load_scale(emit, node, 1, &s, at, x->rank));
  seer_expr q = is_number(emit, scale, 1) ? value : seer_op_2(emit, SEER_EXPR_DIV, value, scale);
  bool is_float = seer_dtype_is_float(out->dtype);  // rounded by the cast alone
  if (!is_float) q = seer_op_1(emit, SEER_EXPR_ROUND, q);
  if (seer_emit_has_in(emit, node, 2)) {
    seer_expr zero = cast(emit, SEER_DTYPE_F32, load_scale(emit, node, 2, &s, at, x->rank));
    // (A float of -0 becomes 0 by adding 0.)
    if (is_float || !is_number(emit, zero, 0)) q = seer_op_2(emit, SEER_EXPR_ADD, q, zero);
  }
  if (is_float) {
    bool saturates = seer_node_attr_i(node, "saturate", 1) != 0;
    q = saturates ? seer_op_saturate(emit, out->dtype, q) : cast(emit, out->dtype, q);
    seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, q);
    return SEER_OK;
  }
  // Casts of floats to integers saturate, and NaN is 0.
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, cast(emit, out->dtype, q));
  return SEER_OK;
}
QUANT(quantize_linear, "QuantizeLinear", "axis saturate block_size output_dtype precision")

// ---- DequantizeLinear

static seer_status infer_dequantize_linear(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL, *scale = NULL;
  scales s;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &scale));
  SEER_TRY(want_quantised(x->dtype, 0));
  SEER_TRY(seer_op_want_float(scale, 1));
  SEER_TRY(read_scales(graph, node, arena, &s));
  int64_t asked = seer_node_attr_i(node, "output_dtype", 0);
  seer_dtype dtype = asked ? seer_onnx_dtype((int32_t)asked) : scale->dtype;
  if (asked && dtype != SEER_DTYPE_F32 && dtype != SEER_DTYPE_F16 && dtype != SEER_DTYPE_BF16)
    return SEER_FAIL(INVALID,
        "attribute 'output_dtype' is %" PRId64
        ", must be 0, 1 (float), 10 (float16) or 16 (bfloat16)",
        asked);
  return seer_op_set(&out_values[0], dtype, x->dim, x->rank);
}

static seer_status emit_dequantize_linear(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0), *out = seer_emit_out(emit, node, 0);
  scales s;
  seer_expr at[SEER_MAX_RANK];
  SEER_TRY(read_scales(emit->graph, node, emit->arena, &s));
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  // Differences of integers of up to 16 bits are exact in f32.
  bool is_wide = !seer_dtype_is_float(x->dtype) && seer_dtype_bits(x->dtype) > 16;
  seer_dtype compute = is_wide ? SEER_DTYPE_I32 : SEER_DTYPE_F32;
  seer_expr q = cast(emit, compute, seer_emit_load(emit, node, 0, at));
  if (seer_emit_has_in(emit, node, 2)) {
    seer_expr zero = cast(emit, compute, load_scale(emit, node, 2, &s, at, x->rank));
    if (!is_number(emit, zero, 0)) q = seer_op_2(emit, SEER_EXPR_SUB, q, zero);
  }
  seer_expr value = cast(emit, SEER_DTYPE_F32, q);
  seer_expr scale = cast(emit, SEER_DTYPE_F32, load_scale(emit, node, 1, &s, at, x->rank));
  if (!is_number(emit, scale, 1)) value = seer_op_2(emit, SEER_EXPR_MUL, value, scale);
  seer_emit_body(
      emit, node, 0, stage, SEER_COMBINE_NONE, cast(emit, seer_dtype_computed(out->dtype), value));
  return SEER_OK;
}
QUANT(dequantize_linear, "DequantizeLinear", "axis block_size output_dtype")

// ---- Lookup: bytes by the bits of others, out of a table of all

static seer_status infer_lookup(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL, *table = NULL;
  enum { N_BYTE = 256 };
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &table));
  if (!seer_dtype_is_byte(x->dtype) || !seer_dtype_is_byte(table->dtype))
    return SEER_FAIL(INVALID, "inputs are %s and %s, must be u8 or i8", seer_dtype_name(x->dtype),
        seer_dtype_name(table->dtype));
  if (table->rank != 1 || table->dim[0] != N_BYTE)
    return SEER_FAIL(
        INVALID, "input 1 is %s, must be [%d]", seer_op_shape_text(table, arena), N_BYTE);
  return seer_op_set(&out_values[0], table->dtype, x->dim, x->rank);
}

static seer_status emit_lookup(seer_emit *emit, const seer_node *node) {
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_expr bits = cast(emit, SEER_DTYPE_U8, seer_emit_load(emit, node, 0, at));
  seer_expr number = cast(emit, SEER_DTYPE_I64, bits);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, seer_emit_load(emit, node, 1, &number));
  return SEER_OK;
}
SEER_OP_INNER(lookup, "Lookup", 2, 1, 1, SEER_FUSE_ELEMENTWISE, "", 0, 0, .infer = infer_lookup,
    .emit = emit_lookup, .doc = "")
