// scalar.c - one scalar operator on values: floats in double and rounded to the computing precision
// (exact for + - * / sqrt: double has more than twice the digits of float), integers in wrapping 64
// bits cut to their width.
#include "dag/scalar.h"

#include <math.h>
#include <string.h>

int64_t seer_scalar_wrap(seer_dtype dtype, int64_t value) {
  switch (dtype) {
    case SEER_DTYPE_I8:
      return (int8_t)value;
    case SEER_DTYPE_I16:
      return (int16_t)value;
    case SEER_DTYPE_I32:
      return (int32_t)value;
    case SEER_DTYPE_U8:
      return (uint8_t)value;
    case SEER_DTYPE_U16:
      return (uint16_t)value;
    case SEER_DTYPE_U32:
      return (uint32_t)value;
    case SEER_DTYPE_BOOL:
      return value != 0;
    case SEER_DTYPE_I4:
      return ((value & 15) ^ 8) - 8;
    case SEER_DTYPE_U4:
      return value & 15;
    case SEER_DTYPE_I2:
      return ((value & 3) ^ 2) - 2;
    case SEER_DTYPE_U2:
      return value & 3;
    case SEER_DTYPE_I64:
    case SEER_DTYPE_U64:
      return value;
    case SEER_DTYPE_NONE:
    case SEER_DTYPE_F32:
    case SEER_DTYPE_F64:
    case SEER_DTYPE_F16:
    case SEER_DTYPE_BF16:
    case SEER_DTYPE_F8E4M3FN:
    case SEER_DTYPE_F8E4M3FNUZ:
    case SEER_DTYPE_F8E5M2:
    case SEER_DTYPE_F8E5M2FNUZ:
    case SEER_DTYPE_F4E2M1:
    case SEER_DTYPE_F8E8M0:
    case SEER_DTYPE_COUNT:
      break;
  }
  SEER_ASSERT(false, "dtype %d is no integer", (int)dtype);
}

// The magnitude of the largest number of a float type.
static double float_end(seer_dtype dtype) {
  const seer_float_format *format = seer_dtype_format(dtype);
  bool has_infinity = !format || seer_float_has_infinity(format);
  return has_infinity ? (double)INFINITY : seer_dtype_largest(dtype);
}

seer_scalar seer_scalar_lowest(seer_dtype dtype) {
  if (dtype == SEER_DTYPE_F8E8M0) return (seer_scalar){.f = 0x1p-127};
  if (seer_dtype_is_float(dtype)) return (seer_scalar){.f = -float_end(dtype)};
  bool is_signed = seer_dtype_is_signed(dtype);
  return (seer_scalar){.i = is_signed ? INT64_MIN >> (64 - seer_dtype_bits(dtype)) : 0};
}

seer_scalar seer_scalar_highest(seer_dtype dtype) {
  if (seer_dtype_is_float(dtype)) return (seer_scalar){.f = float_end(dtype)};
  if (dtype == SEER_DTYPE_BOOL) return (seer_scalar){.i = 1};
  uint32_t unused = 64 - seer_dtype_bits(dtype);
  bool is_signed = seer_dtype_is_signed(dtype);
  return (seer_scalar){.i = is_signed ? INT64_MAX >> unused : (int64_t)(UINT64_MAX >> unused)};
}

int64_t seer_scalar_saturate(seer_dtype dtype, double value) {
  if (isnan(value)) return dtype == SEER_DTYPE_BOOL;
  if (dtype == SEER_DTYPE_BOOL) return value != 0;
  bool is_signed = seer_dtype_is_signed(dtype);
  // 2^n, the first number beyond the type; the highest one of 64 bits is no double.
  double beyond = ldexp(1.0, (int)seer_dtype_bits(dtype) - is_signed);
  if (value >= beyond) return seer_scalar_highest(dtype).i;
  if (value <= (is_signed ? -beyond : 0)) return seer_scalar_lowest(dtype).i;
  return is_signed ? (int64_t)value : (int64_t)(uint64_t)value;
}

static int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t wrap_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

static int64_t int_div(bool is_u64, int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (is_u64) return (int64_t)((uint64_t)a / (uint64_t)b);
  if (b == -1) return wrap_sub(0, a);
  int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static int64_t int_pow(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = wrap_mul(result, base);
    base = wrap_mul(base, base);
  }
  return result;
}

// -1, 0, 1
static int int_order(bool is_u64, int64_t a, int64_t b) {
  if (is_u64) return (uint64_t)a < (uint64_t)b ? -1 : (uint64_t)a > (uint64_t)b;
  return a < b ? -1 : a > b;
}

// The bytes of `a` without sign, those of `b` with: at most 4 * 255 * 128 in magnitude.
static int64_t dot_of_bytes(int64_t a, int64_t b) {
  int64_t sum = 0;
  for (unsigned k = 0; k < 4; k++)
    sum += (int64_t)(uint8_t)((uint64_t)a >> 8 * k) * (int8_t)((uint64_t)b >> 8 * k);
  return sum;
}

// The numbers in the halves of words: their products are exact in double.
static double dot_of_halves(seer_dtype of, int64_t a, int64_t b) {
  const seer_float_format *format = seer_dtype_format(of);
  double sum = 0;
  for (unsigned k = 0; k < 32; k += 16) {
    double x = seer_float_from_bits(format, (uint16_t)((uint64_t)a >> k));
    sum += x * seer_float_from_bits(format, (uint16_t)((uint64_t)b >> k));
  }
  return sum;
}

static int64_t shift_right(bool is_u64, int64_t bits, int64_t a, int64_t by) {
  bool is_far = by < 0 || by >= bits;
  if (is_u64) return is_far ? 0 : (int64_t)((uint64_t)a >> by);
  return a >> (is_far ? 63 : by);
}

static int64_t bits_of(seer_dtype dtype) { return (int64_t)seer_dtype_bits(dtype); }

static int64_t apply_int(seer_expr_op op, seer_dtype dtype, int64_t a, int64_t b) {
  bool u64 = dtype == SEER_DTYPE_U64;
  switch (op) {
    case SEER_EXPR_ADD:
      return wrap_add(a, b);
    case SEER_EXPR_SUB:
      return wrap_sub(a, b);
    case SEER_EXPR_MUL:
      return wrap_mul(a, b);
    case SEER_EXPR_DIV:
      return int_div(u64, a, b);
    case SEER_EXPR_MOD:
      return b == 0 ? 0 : wrap_sub(a, wrap_mul(int_div(u64, a, b), b));
    case SEER_EXPR_MIN:
    case SEER_EXPR_MAX:
      return (int_order(u64, a, b) < 0) == (op == SEER_EXPR_MIN) ? a : b;
    case SEER_EXPR_POW:
      return int_pow(a, b);
    case SEER_EXPR_NEG:
      return wrap_sub(0, a);
    case SEER_EXPR_ABS:
      return !u64 && a < 0 ? wrap_sub(0, a) : a;
    case SEER_EXPR_SIGN:
      return u64 ? a != 0 : (a > 0) - (a < 0);
    case SEER_EXPR_FLOOR:
    case SEER_EXPR_CEIL:
    case SEER_EXPR_ROUND:
      return a;
    case SEER_EXPR_LT:
      return int_order(u64, a, b) < 0;
    case SEER_EXPR_LE:
      return int_order(u64, a, b) <= 0;
    case SEER_EXPR_GT:
      return int_order(u64, a, b) > 0;
    case SEER_EXPR_GE:
      return int_order(u64, a, b) >= 0;
    case SEER_EXPR_EQ:
      return a == b;
    case SEER_EXPR_NE:
      return a != b;
    case SEER_EXPR_AND:
      return a & b;
    case SEER_EXPR_OR:
      return a | b;
    case SEER_EXPR_XOR:
      return a ^ b;
    case SEER_EXPR_NOT:
      return dtype == SEER_DTYPE_BOOL ? !a : ~a;
    case SEER_EXPR_SHL:
      return b < 0 || b >= bits_of(dtype) ? 0 : (int64_t)((uint64_t)a << b);
    case SEER_EXPR_SHR:
      return shift_right(u64, bits_of(dtype), a, b);
    case SEER_EXPR_ISNAN:
      return 0;
    case SEER_EXPR_DOT4:
      return dot_of_bytes(a, b);
    case SEER_EXPR_SQRT:
    case SEER_EXPR_EXP:
    case SEER_EXPR_LOG:
    case SEER_EXPR_SIN:
    case SEER_EXPR_COS:
    case SEER_EXPR_TANH:
    case SEER_EXPR_ERF:
    case SEER_EXPR_SIGMOID:
    case SEER_EXPR_SELECT:
    case SEER_EXPR_CAST:
    case SEER_EXPR_DOT2:  // gives a float
    case SEER_EXPR_DOT2_F16:
    case SEER_EXPR_BITS:  // of floats
    case SEER_EXPR_TF32:
    case SEER_EXPR_NONE:
    case SEER_EXPR_CONST_F:
    case SEER_EXPR_CONST_I:
    case SEER_EXPR_VAR:
    case SEER_EXPR_LOAD:
    case SEER_EXPR_COUNT:
      break;
  }
  SEER_ASSERT(false, "operator %s on integers", seer_expr_op_text(op));
}

double seer_scalar_tf32(double value) {
  float single = (float)value;
  uint32_t bits;
  if (isnan(value)) return value;
  memcpy(&bits, &single, sizeof bits);
  bits = (bits + 0x1000u) & ~0x1FFFu;
  memcpy(&single, &bits, sizeof bits);
  return (double)single;
}

static double apply_float(seer_expr_op op, double a, double b) {
  switch (op) {
    case SEER_EXPR_ADD:
      return a + b;
    case SEER_EXPR_SUB:
      return a - b;
    case SEER_EXPR_MUL:
      return a * b;
    case SEER_EXPR_DIV:
      return a / b;
    case SEER_EXPR_MOD:
      return fmod(a, b);
    case SEER_EXPR_MIN:
      return a < b || isnan(a) ? a : b;
    case SEER_EXPR_MAX:
      return a > b || isnan(a) ? a : b;
    case SEER_EXPR_POW:
      return pow(a, b);
    case SEER_EXPR_NEG:
      return -a;
    case SEER_EXPR_ABS:
      return fabs(a);
    case SEER_EXPR_SIGN:
      return isnan(a) ? a : (double)((a > 0) - (a < 0));
    case SEER_EXPR_FLOOR:
      return floor(a);
    case SEER_EXPR_CEIL:
      return ceil(a);
    case SEER_EXPR_ROUND:
      return rint(a);
    case SEER_EXPR_SQRT:
      return sqrt(a);
    case SEER_EXPR_EXP:
      return exp(a);
    case SEER_EXPR_LOG:
      return log(a);
    case SEER_EXPR_SIN:
      return sin(a);
    case SEER_EXPR_COS:
      return cos(a);
    case SEER_EXPR_TANH:
      return tanh(a);
    case SEER_EXPR_ERF:
      return erf(a);
    case SEER_EXPR_SIGMOID:
      return 1.0 / (1.0 + exp(-a));
    case SEER_EXPR_TF32:
      return seer_scalar_tf32(a);
    case SEER_EXPR_ISNAN:
    case SEER_EXPR_LT:
    case SEER_EXPR_LE:
    case SEER_EXPR_GT:
    case SEER_EXPR_GE:
    case SEER_EXPR_EQ:
    case SEER_EXPR_NE:
    case SEER_EXPR_AND:
    case SEER_EXPR_OR:
    case SEER_EXPR_XOR:
    case SEER_EXPR_NOT:
    case SEER_EXPR_SHL:
    case SEER_EXPR_SHR:
    case SEER_EXPR_SELECT:
    case SEER_EXPR_CAST:
    case SEER_EXPR_DOT4:
    case SEER_EXPR_DOT2:
    case SEER_EXPR_DOT2_F16:
    case SEER_EXPR_BITS:  // gives an integer
    case SEER_EXPR_NONE:
    case SEER_EXPR_CONST_F:
    case SEER_EXPR_CONST_I:
    case SEER_EXPR_VAR:
    case SEER_EXPR_LOAD:
    case SEER_EXPR_COUNT:
      break;
  }
  SEER_ASSERT(false, "operator %s on floats", seer_expr_op_text(op));
}

static bool compare_float(seer_expr_op op, double a, double b, int64_t *out) {
  switch ((int)op) {
    case SEER_EXPR_LT:
      *out = a < b;
      return true;
    case SEER_EXPR_LE:
      *out = a <= b;
      return true;
    case SEER_EXPR_GT:
      *out = a > b;
      return true;
    case SEER_EXPR_GE:
      *out = a >= b;
      return true;
    case SEER_EXPR_EQ:
      *out = a == b;
      return true;
    case SEER_EXPR_NE:
      *out = a != b;
      return true;
    case SEER_EXPR_ISNAN:
      *out = isnan(a);
      return true;
    default:
      return false;
  }
}

static seer_scalar apply_cast(seer_dtype to, seer_dtype from, seer_scalar a) {
  seer_scalar r;
  bool to_float = seer_dtype_is_float(to), from_float = seer_dtype_is_float(from);
  if (to_float) {
    if (from_float) {
      r.f = a.f;
    } else if (to == SEER_DTYPE_F64) {
      r.f = from == SEER_DTYPE_U64 ? (double)(uint64_t)a.i : (double)a.i;
    } else {  // straight to float: one rounding
      r.f = (double)(from == SEER_DTYPE_U64 ? (float)(uint64_t)a.i : (float)a.i);
    }
    const seer_float_format *format = seer_dtype_format(to);
    r.f = format ? seer_float_from_bits(format, seer_float_to_bits(format, r.f))
                 : seer_scalar_round(to, r.f);
  } else if (from_float) {
    r.i = seer_scalar_saturate(to, a.f);
  } else {
    r.i = seer_scalar_wrap(to, a.i);
  }
  return r;
}

seer_scalar seer_scalar_apply(seer_expr_op op, seer_dtype dtype, seer_dtype arg_dtype,
    seer_scalar a, seer_scalar b, seer_scalar c) {
  if (op == SEER_EXPR_SELECT) return a.i ? b : c;
  if (op == SEER_EXPR_CAST) return apply_cast(dtype, arg_dtype, a);
  seer_scalar r;
  if (seer_expr_is_dot2(op)) {
    seer_dtype of = op == SEER_EXPR_DOT2 ? SEER_DTYPE_BF16 : SEER_DTYPE_F16;
    return (seer_scalar){.f = seer_scalar_round(dtype, dot_of_halves(of, a.i, b.i))};
  }
  if (op == SEER_EXPR_BITS)
    return (seer_scalar){.i = (int64_t)seer_float_to_bits(seer_dtype_format(arg_dtype), a.f)};
  if (!seer_dtype_is_float(arg_dtype)) {
    r.i = seer_scalar_wrap(dtype, apply_int(op, arg_dtype, a.i, b.i));
    return r;
  }
  if (compare_float(op, a.f, b.f, &r.i)) return r;
  r.f = seer_scalar_round(dtype, apply_float(op, a.f, b.f));
  return r;
}
