// operator.c - one operator on values of equal width. Floats narrower than f32 are computed in f32.
//
// Floating-point: nothing is reordered, and a*b+c is one rounding in two places only: where a
// reduction adds its products up (seer_gen_accumulate), and where the product is exact, which
// changes nothing. Anywhere else it could turn a difference that is zero or more when both sides
// are rounded alike, E[x^2] - E[x]^2, negative. MIN and MAX let NaN through, which costs nothing
// when one side is a constant.
#include <math.h>
#include <string.h>

#include "code/gen/gen.h"

seer_vec seer_gen_const(seer_gen *g, seer_dtype dtype, seer_scalar value, uint32_t lanes) {
  seer_vec_elem elem = seer_gen_elem(dtype);
  if (seer_dtype_is_float(dtype)) return seer_vec_real(g->b, elem, lanes, value.f);
  uint64_t bits = dtype == SEER_DTYPE_BOOL ? value.i != 0 : (uint64_t)value.i;
  return seer_vec_const(g->b, elem, lanes, bits);
}

seer_vec seer_gen_compare(seer_gen *g, seer_expr_op op, seer_dtype dtype, seer_vec a, seer_vec b) {
  static const seer_vec_op real[6] = {
      SEER_VEC_FLT, SEER_VEC_FLE, SEER_VEC_FGT, SEER_VEC_FGE, SEER_VEC_FEQ, SEER_VEC_FNE_NAN};
  static const seer_vec_op with_sign[6] = {
      SEER_VEC_SLT, SEER_VEC_SLE, SEER_VEC_SGT, SEER_VEC_SGE, SEER_VEC_EQ, SEER_VEC_NE};
  static const seer_vec_op without[6] = {
      SEER_VEC_ULT, SEER_VEC_ULE, SEER_VEC_UGT, SEER_VEC_UGE, SEER_VEC_EQ, SEER_VEC_NE};
  int k = (int)op - SEER_EXPR_LT;
  if (seer_dtype_is_float(dtype)) return seer_vec2(g->b, real[k], a, b);
  bool is_signed = dtype != SEER_DTYPE_BOOL && seer_dtype_is_signed(dtype);
  return seer_vec2(g->b, is_signed ? with_sign[k] : without[k], a, b);
}

// Floor division and modulus; a divisor of 0 (or -1 of the smallest number) must not trap.
static seer_vec int_divide(seer_gen *g, bool is_mod, bool is_signed, seer_vec a, seer_vec b) {
  seer_vec zero = seer_gen_int_like(g, a, 0), one = seer_gen_int_like(g, a, 1);
  uint64_t divisor;
  if (!seer_vec_const_bits(g->code, b, &divisor) || divisor == 0) {
    b = seer_vec_select(g->b, seer_vec2(g->b, SEER_VEC_EQ, b, zero), one, b);
  }
  if (!is_signed)
    return is_mod ? seer_vec2(g->b, SEER_VEC_UREM, a, b) : seer_vec2(g->b, SEER_VEC_UDIV, a, b);
  seer_vec is_minus = seer_vec2(g->b, SEER_VEC_EQ, b, seer_gen_int_like(g, a, -1));
  seer_vec by = seer_vec_select(g->b, is_minus, one, b);
  seer_vec rest = seer_vec2(g->b, SEER_VEC_SREM, a, by);
  seer_vec differ = seer_vec2(g->b, SEER_VEC_SLT, seer_vec2(g->b, SEER_VEC_XOR, rest, by), zero);
  seer_vec fix = seer_vec2(g->b, SEER_VEC_AND, differ, seer_vec2(g->b, SEER_VEC_NE, rest, zero));
  if (is_mod) {
    return seer_vec_select(g->b, is_minus, zero,
        seer_vec_select(g->b, fix, seer_vec2(g->b, SEER_VEC_ADD, rest, by), rest));
  }
  seer_vec q = seer_vec2(g->b, SEER_VEC_SDIV, a, by);
  q = seer_vec_select(g->b, fix, seer_vec2(g->b, SEER_VEC_SUB, q, one), q);
  return seer_vec_select(g->b, is_minus, seer_vec2(g->b, SEER_VEC_SUB, zero, a), q);
}

static seer_vec int_shift(
    seer_gen *g, bool is_left, bool is_signed, seer_dtype dtype, seer_vec a, seer_vec by) {
  int64_t bits = (int64_t)seer_dtype_bits(dtype);
  seer_vec_op right = is_signed ? SEER_VEC_ASHR : SEER_VEC_LSHR;
  uint64_t known;
  if (seer_vec_const_bits(g->code, by, &known) && known < (uint64_t)bits)
    return seer_vec2(g->b, is_left ? SEER_VEC_SHL : right, a, by);
  seer_vec zero = seer_gen_int_like(g, a, 0);
  seer_vec is_far = seer_vec2(g->b, SEER_VEC_UGE, by, seer_gen_int_like(g, a, bits));
  if (!is_left && is_signed) {
    by = seer_vec_select(g->b, is_far, seer_gen_int_like(g, a, bits - 1), by);
    return seer_vec2(g->b, SEER_VEC_ASHR, a, by);
  }
  by = seer_vec_select(g->b, is_far, zero, by);
  seer_vec r =
      is_left ? seer_vec2(g->b, SEER_VEC_SHL, a, by) : seer_vec2(g->b, SEER_VEC_LSHR, a, by);
  return seer_vec_select(g->b, is_far, zero, r);
}

seer_vec seer_gen_dot2_f16(seer_gen *g, seer_vec a, seer_vec b, seer_vec acc) {
  for (uint32_t k = 0; k < 2; k++) {
    seer_vec x[2] = {a, b};
    for (uint32_t i = 0; i < 2; i++) {
      if (k == 1) x[i] = seer_vec2(g->b, SEER_VEC_LSHR, x[i], seer_gen_int_like(g, x[i], 16));
      x[i] = seer_vec_to(g->b, SEER_VEC_TRUNC, x[i], SEER_VEC_I16);
      x[i] = seer_gen_from_memory(g, SEER_DTYPE_F16, x[i]);
    }
    acc = seer_vec3(g->b, SEER_VEC_FMULADD, x[0], x[1], acc);
  }
  return acc;
}

static seer_vec apply_int(seer_gen *g, seer_expr_op op, seer_dtype dtype, seer_vec a, seer_vec b) {
  bool is_bool = dtype == SEER_DTYPE_BOOL, is_signed = !is_bool && seer_dtype_is_signed(dtype);
  seer_vec zero = seer_gen_int_like(g, a, 0);
  switch ((int)op) {
    case SEER_EXPR_ADD:
      return is_bool ? seer_vec2(g->b, SEER_VEC_OR, a, b) : seer_vec2(g->b, SEER_VEC_ADD, a, b);
    case SEER_EXPR_SUB:
      return is_bool ? seer_vec2(g->b, SEER_VEC_XOR, a, b) : seer_vec2(g->b, SEER_VEC_SUB, a, b);
    case SEER_EXPR_MUL:
      return is_bool ? seer_vec2(g->b, SEER_VEC_AND, a, b) : seer_vec2(g->b, SEER_VEC_MUL, a, b);
    case SEER_EXPR_DIV:
      return is_bool ? seer_vec2(g->b, SEER_VEC_AND, a, b) : int_divide(g, false, is_signed, a, b);
    case SEER_EXPR_MOD:
      return is_bool ? zero : int_divide(g, true, is_signed, a, b);
    case SEER_EXPR_MIN:
      return seer_vec2(g->b, is_signed ? SEER_VEC_SMIN : SEER_VEC_UMIN, a, b);
    case SEER_EXPR_MAX:
      return seer_vec2(g->b, is_signed ? SEER_VEC_SMAX : SEER_VEC_UMAX, a, b);
    case SEER_EXPR_NEG:
      return is_bool ? a : seer_vec1(g->b, SEER_VEC_NEG, a);
    case SEER_EXPR_ABS:
      return is_signed ? seer_vec1(g->b, SEER_VEC_ABS, a) : a;
    case SEER_EXPR_SIGN: {
      seer_vec one = seer_gen_int_like(g, a, 1);
      seer_vec r = seer_vec_select(g->b, seer_vec2(g->b, SEER_VEC_NE, a, zero), one, zero);
      if (!is_signed) return r;
      return seer_vec_select(
          g->b, seer_vec2(g->b, SEER_VEC_SLT, a, zero), seer_gen_int_like(g, a, -1), r);
    }
    case SEER_EXPR_FLOOR:
    case SEER_EXPR_CEIL:
    case SEER_EXPR_ROUND:
      return a;
    case SEER_EXPR_AND:
      return seer_vec2(g->b, SEER_VEC_AND, a, b);
    case SEER_EXPR_OR:
      return seer_vec2(g->b, SEER_VEC_OR, a, b);
    case SEER_EXPR_XOR:
      return seer_vec2(g->b, SEER_VEC_XOR, a, b);
    case SEER_EXPR_NOT:
      return seer_vec1(g->b, SEER_VEC_NOT, a);
    case SEER_EXPR_SHL:
      return int_shift(g, true, is_signed, dtype, a, b);
    case SEER_EXPR_SHR:
      return int_shift(g, false, is_signed, dtype, a, b);
    case SEER_EXPR_DOT4:
      return seer_vec3(g->b, SEER_VEC_DOT4, a, b, zero);
    case SEER_EXPR_DOT2_F16: {
      seer_vec none = seer_vec_real(g->b, SEER_VEC_F32, seer_gen_width(g, a), 0);
      return seer_gen_dot2_f16(g, a, b, none);
    }
    case SEER_EXPR_DOT2: {
      seer_vec none = seer_vec_real(g->b, SEER_VEC_F32, seer_gen_width(g, a), 0);
      return seer_vec3(g->b, SEER_VEC_DOT2, a, b, none);
    }
    case SEER_EXPR_ISNAN:
      return seer_vec_const(g->b, SEER_VEC_I1, seer_gen_width(g, a), 0);
    case SEER_EXPR_POW: {
      int64_t n;
      if (!seer_vec_const_int(g->code, b, &n) || n < 0 || n > 8) break;
      seer_vec r = seer_gen_int_like(g, a, 1);
      for (int64_t k = 0; k < n; k++) r = seer_vec2(g->b, SEER_VEC_MUL, r, a);
      return r;
    }
    default:
      break;
  }
  SEER_GEN_FAIL(g, UNSUPPORTED, "loop %s: operator %s on %s has no code", g->loop->name,
      seer_expr_op_text(op), seer_dtype_name(dtype));
  return zero;
}

// If v is x times a power of two: x and that factor, of v's shape.
static bool is_exact_product(const seer_gen *g, seer_vec v, seer_vec *out_x, seer_vec *out_factor) {
  const seer_vec_node *node = seer_vec_at(g->code, v);
  if (node->op != SEER_VEC_FMUL) return false;
  for (unsigned k = 0; k < 2; k++) {
    double c;
    int exponent;
    *out_factor = node->arg[k];
    *out_x = node->arg[1 - k];
    if (seer_vec_const_real(g->code, *out_factor, &c) && fabs(frexp(c, &exponent)) == 0.5)
      return true;
  }
  return false;
}

// a + b or a - b; one rounding where a product in it is exact (but for underflow) and rounding it
// alone changes nothing: Winograd's transforms are full of them. Fast-math flags would not do:
// InstCombine hands `contract` on from a sum to products that it makes anew.
static seer_vec float_sum(seer_gen *g, seer_vec a, seer_vec b, bool is_minus) {
  seer_vec x, factor;
  if (is_exact_product(g, b, &x, &factor)) {
    if (is_minus) factor = seer_vec1(g->b, SEER_VEC_FNEG, factor);
    return seer_vec3(g->b, SEER_VEC_FMULADD, x, factor, a);
  }
  if (is_exact_product(g, a, &x, &factor)) {
    if (is_minus) b = seer_vec1(g->b, SEER_VEC_FNEG, b);
    return seer_vec3(g->b, SEER_VEC_FMULADD, x, factor, b);
  }
  return is_minus ? seer_vec2(g->b, SEER_VEC_FSUB, a, b) : seer_vec2(g->b, SEER_VEC_FADD, a, b);
}

static seer_vec apply_float(
    seer_gen *g, seer_expr_op op, seer_dtype dtype, seer_vec a, seer_vec b) {
  seer_vec zero = seer_gen_int_like(g, a, 0);
  switch ((int)op) {
    case SEER_EXPR_ADD:
      return float_sum(g, a, b, false);
    case SEER_EXPR_SUB:
      return float_sum(g, a, b, true);
    case SEER_EXPR_MUL:
      return seer_vec2(g->b, SEER_VEC_FMUL, a, b);
    case SEER_EXPR_DIV:
      return seer_vec2(g->b, SEER_VEC_FDIV, a, b);
    case SEER_EXPR_MOD:
      return seer_gen_fmod(g, a, b);
    case SEER_EXPR_MIN:
      return seer_gen_float_extreme(g, false, a, b);
    case SEER_EXPR_MAX:
      return seer_gen_float_extreme(g, true, a, b);
    case SEER_EXPR_NEG:
      return seer_vec1(g->b, SEER_VEC_FNEG, a);
    case SEER_EXPR_ABS:
      return seer_vec1(g->b, SEER_VEC_FABS, a);
    case SEER_EXPR_SIGN: {
      seer_vec one = seer_gen_real_like(g, a, 1.0);
      seer_vec minus = seer_gen_real_like(g, a, -1.0);
      seer_vec r = seer_vec_select(g->b, seer_vec2(g->b, SEER_VEC_FGT, a, zero), one, a);
      return seer_vec_select(g->b, seer_vec2(g->b, SEER_VEC_FLT, a, zero), minus, r);
    }
    case SEER_EXPR_FLOOR:
      return seer_gen_round(g, SEER_GEN_FLOOR, a);
    case SEER_EXPR_CEIL:
      return seer_gen_round(g, SEER_GEN_CEIL, a);
    case SEER_EXPR_ROUND:
      return seer_gen_round(g, SEER_GEN_EVEN, a);
    case SEER_EXPR_SQRT:
      return seer_vec1(g->b, SEER_VEC_SQRT, a);
    case SEER_EXPR_ISNAN:
      return seer_vec2(g->b, SEER_VEC_FNAN, a, a);
    case SEER_EXPR_TF32:
      return seer_gen_tf32(g, a);
    case SEER_EXPR_EXP:
    case SEER_EXPR_LOG:
    case SEER_EXPR_SIN:
    case SEER_EXPR_COS:
    case SEER_EXPR_TANH:
    case SEER_EXPR_ERF:
    case SEER_EXPR_SIGMOID:
      return dtype == SEER_DTYPE_F64 ? seer_gen_math_f64(g, op, a) : seer_gen_math(g, op, a);
    case SEER_EXPR_POW:
      return seer_gen_math_pow(g, a, b);
    default:
      break;
  }
  SEER_GEN_FAIL(g, UNSUPPORTED, "loop %s: operator %s on %s has no code", g->loop->name,
      seer_expr_op_text(op), seer_dtype_name(dtype));
  return zero;
}

seer_vec seer_gen_apply(seer_gen *g, seer_expr_op op, seer_dtype dtype, seer_dtype arg_dtype,
    seer_vec a, seer_vec b, seer_vec c) {
  if (op == SEER_EXPR_SELECT) return seer_gen_select(g, a, b, c);
  if (op == SEER_EXPR_CAST) return seer_gen_cast(g, dtype, arg_dtype, a);
  if (op == SEER_EXPR_BITS) return seer_gen_bits(g, arg_dtype, a);
  if (op >= SEER_EXPR_LT && op <= SEER_EXPR_NE) return seer_gen_compare(g, op, arg_dtype, a, b);
  if (seer_dtype_is_float(arg_dtype)) return apply_float(g, op, arg_dtype, a, b);
  seer_vec v = apply_int(g, op, arg_dtype, a, b);
  return seer_dtype_is_small_int(dtype) ? seer_gen_wrap_small(g, dtype, v) : v;
}

// ---- combiners

seer_vec seer_gen_identity(
    seer_gen *g, seer_combiner combiner, const seer_dtype *dtype, uint32_t k, uint32_t lanes) {
  return seer_gen_const(g, dtype[k], seer_combiner_identity(combiner, k, dtype[k]), lanes);
}

void seer_gen_combine(seer_gen *g, seer_combiner combiner, const seer_dtype *dtype, uint32_t n,
    seer_vec *acc, const seer_vec *value) {
  seer_expr_op op = seer_combiner_op(combiner);
  if (!seer_combiner_is_arg(combiner)) {
    for (uint32_t k = 0; k < n; k++)
      acc[k] = seer_gen_apply(g, op, dtype[k], dtype[k], acc[k], value[k], SEER_GEN_NONE);
    return;
  }
  seer_vec better = seer_gen_compare(g, op, dtype[0], value[0], acc[0]);
  seer_vec equal = seer_gen_compare(g, SEER_EXPR_EQ, dtype[0], value[0], acc[0]);
  if (seer_dtype_is_float(dtype[0])) {  // NaN is better than all numbers, and equal to NaN
    seer_vec is_nan = seer_vec2(g->b, SEER_VEC_FNAN, value[0], value[0]);
    seer_vec was_nan = seer_vec2(g->b, SEER_VEC_FNAN, acc[0], acc[0]);
    better = seer_vec2(g->b, SEER_VEC_OR, better,
        seer_vec2(g->b, SEER_VEC_AND, is_nan, seer_vec1(g->b, SEER_VEC_NOT, was_nan)));
    equal = seer_vec2(g->b, SEER_VEC_OR, equal, seer_vec2(g->b, SEER_VEC_AND, is_nan, was_nan));
  }
  seer_vec earlier = seer_gen_compare(g, SEER_EXPR_LT, dtype[1], value[1], acc[1]);
  seer_vec wins =
      seer_vec2(g->b, SEER_VEC_OR, better, seer_vec2(g->b, SEER_VEC_AND, equal, earlier));
  for (uint32_t k = 0; k < n; k++) acc[k] = seer_vec_select(g->b, wins, value[k], acc[k]);
}
