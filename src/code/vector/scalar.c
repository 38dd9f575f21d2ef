// scalar.c - one lane of each operator that computes.
#include <math.h>
#include <string.h>

#include "code/vector/vector.h"
#include "dag/dtype.h"

static int64_t extend(seer_vec_elem elem, uint64_t bits) {
  uint32_t above = 64 - seer_vec_elem_bits[elem];
  return (int64_t)(bits << above) >> above;
}

static double real_of(seer_vec_elem elem, uint64_t bits) {
  float single;
  double value;
  memcpy(&single, &bits, sizeof(single));
  memcpy(&value, &bits, sizeof(value));
  return elem == SEER_VEC_F32 ? (double)single : value;
}

static uint64_t bits_of(seer_vec_elem elem, double value) {
  float single = (float)value;
  uint64_t bits = 0;
  memcpy(&bits, elem == SEER_VEC_F32 ? (void *)&single : (void *)&value, seer_vec_elem_bytes(elem));
  return bits;
}

static bool divide(seer_vec_op op, seer_vec_elem elem, uint64_t a, uint64_t b, uint64_t *out) {
  int64_t x = extend(elem, a), y = extend(elem, b);
  if (b == 0) return false;
  if (op == SEER_VEC_UDIV || op == SEER_VEC_UREM) {
    *out = op == SEER_VEC_UDIV ? a / b : a % b;
    return true;
  }
  if (y == -1 && x == extend(elem, UINT64_C(1) << (seer_vec_elem_bits[elem] - 1))) return false;
  *out = (uint64_t)(op == SEER_VEC_SDIV ? x / y : x % y);
  return true;
}

static bool of_index(seer_vec_op op, uint64_t a, uint64_t b, uint64_t *out) {
  int64_t x = (int64_t)a, y = (int64_t)b, z;
  bool wraps = op == SEER_VEC_ADD_INDEX ? __builtin_add_overflow(x, y, &z)
      : op == SEER_VEC_SUB_INDEX        ? __builtin_sub_overflow(x, y, &z)
                                        : __builtin_mul_overflow(x, y, &z);
  *out = (uint64_t)z;
  return !wraps;
}

static uint64_t dot_of_bytes(uint64_t a, uint64_t b) {
  int64_t sum = 0;
  for (unsigned k = 0; k < 4; k++) sum += (int64_t)(uint8_t)(a >> 8 * k) * (int8_t)(b >> 8 * k);
  return (uint64_t)sum;
}

static double dot_of_halves(uint64_t a, uint64_t b) {
  const seer_float_format *format = seer_dtype_format(SEER_DTYPE_BF16);
  double sum = 0;
  for (unsigned k = 0; k < 32; k += 16)
    sum += seer_float_from_bits(format, (uint16_t)(a >> k)) *
        seer_float_from_bits(format, (uint16_t)(b >> k));
  return sum;
}

static bool of_integers(
    seer_vec_op op, seer_vec_elem elem, uint64_t a, uint64_t b, uint64_t c, uint64_t *out) {
  int64_t x = extend(elem, a), y = extend(elem, b);
  switch ((int)op) {
    case SEER_VEC_ADD:
      *out = a + b;
      return true;
    case SEER_VEC_SUB:
      *out = a - b;
      return true;
    case SEER_VEC_MUL:
      *out = a * b;
      return true;
    case SEER_VEC_ADD_INDEX:
    case SEER_VEC_SUB_INDEX:
    case SEER_VEC_MUL_INDEX:
      return of_index(op, a, b, out);
    case SEER_VEC_NEG:
      *out = 0 - a;
      return true;
    case SEER_VEC_SDIV:
    case SEER_VEC_UDIV:
    case SEER_VEC_SREM:
    case SEER_VEC_UREM:
      return divide(op, elem, a, b, out);
    case SEER_VEC_AND:
      *out = a & b;
      return true;
    case SEER_VEC_OR:
      *out = a | b;
      return true;
    case SEER_VEC_XOR:
      *out = a ^ b;
      return true;
    case SEER_VEC_NOT:
      *out = ~a;
      return true;
    case SEER_VEC_SHL:
      *out = b < seer_vec_elem_bits[elem] ? a << b : 0;
      return b < seer_vec_elem_bits[elem];
    case SEER_VEC_LSHR:
      *out = b < seer_vec_elem_bits[elem] ? a >> b : 0;
      return b < seer_vec_elem_bits[elem];
    case SEER_VEC_ASHR:
      *out = b < seer_vec_elem_bits[elem] ? (uint64_t)(x >> b) : 0;
      return b < seer_vec_elem_bits[elem];
    case SEER_VEC_SMIN:
      *out = x < y ? a : b;
      return true;
    case SEER_VEC_SMAX:
      *out = x > y ? a : b;
      return true;
    case SEER_VEC_UMIN:
      *out = a < b ? a : b;
      return true;
    case SEER_VEC_UMAX:
      *out = a > b ? a : b;
      return true;
    case SEER_VEC_ABS:
      *out = x < 0 ? 0 - a : a;
      return true;
    case SEER_VEC_DOT4:
      *out = dot_of_bytes(a, b) + c;
      return elem == SEER_VEC_I32;
    default:
      return false;
  }
}

static bool compare(seer_vec_op op, seer_vec_elem elem, uint64_t a, uint64_t b, uint64_t *out) {
  int64_t x = extend(elem, a), y = extend(elem, b);
  double f = real_of(elem, a), g = real_of(elem, b);
  bool is_nan = isnan(f) || isnan(g);
  bool r;
  switch ((int)op) {
    case SEER_VEC_EQ:
      r = a == b;
      break;
    case SEER_VEC_NE:
      r = a != b;
      break;
    case SEER_VEC_SLT:
      r = x < y;
      break;
    case SEER_VEC_SLE:
      r = x <= y;
      break;
    case SEER_VEC_SGT:
      r = x > y;
      break;
    case SEER_VEC_SGE:
      r = x >= y;
      break;
    case SEER_VEC_ULT:
      r = a < b;
      break;
    case SEER_VEC_ULE:
      r = a <= b;
      break;
    case SEER_VEC_UGT:
      r = a > b;
      break;
    case SEER_VEC_UGE:
      r = a >= b;
      break;
    case SEER_VEC_FEQ:
      r = f == g;
      break;
    case SEER_VEC_FLT:
      r = f < g;
      break;
    case SEER_VEC_FLE:
      r = f <= g;
      break;
    case SEER_VEC_FGT:
      r = f > g;
      break;
    case SEER_VEC_FGE:
      r = f >= g;
      break;
    case SEER_VEC_FNAN:
      r = is_nan;
      break;
    case SEER_VEC_FEQ_NAN:
      r = is_nan || f == g;
      break;
    case SEER_VEC_FNE_NAN:
      r = is_nan || f != g;
      break;
    case SEER_VEC_FGE_NAN:
      r = is_nan || f >= g;
      break;
    default:
      return false;
  }
  *out = r;
  return true;
}

static double nearest_extreme(double x, double y, bool is_max) {
  if (isnan(x) || isnan(y)) return (double)NAN;
  if (x == y) return signbit(x) == is_max ? y : x;  // zeros of both signs
  return (x > y) == is_max ? x : y;
}

static bool of_floats(
    seer_vec_op op, seer_vec_elem elem, uint64_t a, uint64_t b, uint64_t c, uint64_t *out) {
  double x = real_of(elem, a), y = real_of(elem, b), z = real_of(elem, c), r;
  switch ((int)op) {
    case SEER_VEC_FADD:
      r = x + y;
      break;
    case SEER_VEC_FSUB:
      r = x - y;
      break;
    case SEER_VEC_FMUL:
      r = x * y;
      break;
    case SEER_VEC_FDIV:
      r = x / y;
      break;
    case SEER_VEC_FNEG:
      *out = a ^ UINT64_C(1) << (seer_vec_elem_bits[elem] - 1);
      return true;
    case SEER_VEC_FMULADD:
      r = elem == SEER_VEC_F32 ? (double)fmaf((float)x, (float)y, (float)z) : fma(x, y, z);
      break;
    case SEER_VEC_FABS:
      *out = a & ~(UINT64_C(1) << (seer_vec_elem_bits[elem] - 1));
      return true;
    case SEER_VEC_COPYSIGN: {
      uint64_t sign = UINT64_C(1) << (seer_vec_elem_bits[elem] - 1);
      *out = (a & ~sign) | (b & sign);
      return true;
    }
    case SEER_VEC_SQRT:
      r = elem == SEER_VEC_F32 ? (double)sqrtf((float)x) : sqrt(x);
      break;
    case SEER_VEC_FLOOR:
      r = floor(x);
      break;
    case SEER_VEC_CEIL:
      r = ceil(x);
      break;
    case SEER_VEC_FTRUNC:
      r = trunc(x);
      break;
    case SEER_VEC_ROUND:
      r = rint(x);
      break;
    case SEER_VEC_FMINIMUM:
      r = nearest_extreme(x, y, false);
      break;
    case SEER_VEC_FMAXIMUM:
      r = nearest_extreme(x, y, true);
      break;
    default:
      return false;
  }
  *out = bits_of(elem, r);
  return true;
}

// False: it does not fit.
static bool to_integer(double x, seer_vec_elem to, bool is_signed, uint64_t *out) {
  x = trunc(x);
  double beyond = ldexp(1.0, (int)seer_vec_elem_bits[to] - is_signed);
  if (!(x < beyond && x >= (is_signed ? -beyond : 0))) return false;
  *out = is_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
  return true;
}

static bool convert(
    seer_vec_op op, seer_vec_elem elem, seer_vec_elem to, uint64_t a, uint64_t *out) {
  const seer_float_format *half = seer_dtype_format(SEER_DTYPE_F16);
  bool is_single = to == SEER_VEC_F32;
  switch ((int)op) {
    case SEER_VEC_ZEXT:
    case SEER_VEC_TRUNC:
    case SEER_VEC_BITCAST:
      *out = a;
      return true;
    case SEER_VEC_SEXT:
      *out = (uint64_t)extend(elem, a);
      return true;
    case SEER_VEC_SINT_FLOAT:
      *out = bits_of(to, is_single ? (double)(float)extend(elem, a) : (double)extend(elem, a));
      return true;
    case SEER_VEC_UINT_FLOAT:
      *out = bits_of(to, is_single ? (double)(float)a : (double)a);
      return true;
    case SEER_VEC_FLOAT_SINT:
    case SEER_VEC_FLOAT_UINT:
      return to_integer(real_of(elem, a), to, op == SEER_VEC_FLOAT_SINT, out);
    case SEER_VEC_FLOAT_WIDER:
    case SEER_VEC_FLOAT_SHORTER:
      *out = bits_of(to, real_of(elem, a));
      return true;
    case SEER_VEC_HALF_BITS:
      *out = seer_float_to_bits(half, real_of(elem, a));
      return true;
    case SEER_VEC_BITS_HALF:
      *out = bits_of(to, seer_float_from_bits(half, (uint16_t)a));
      return true;
    default:
      return false;
  }
}

bool seer_vec_apply(seer_vec_op op, seer_vec_elem elem, seer_vec_elem to, uint64_t a, uint64_t b,
    uint64_t c, uint64_t *out) {
  if (op == SEER_VEC_DOT2) {
    *out = bits_of(to, dot_of_halves(a, b) + real_of(to, c));
    return elem == SEER_VEC_I32 && to == SEER_VEC_F32;
  }
  bool is_done = compare(op, elem, a, b, out) || convert(op, elem, to, a, out) ||
      (seer_vec_is_float(elem) ? of_floats(op, elem, a, b, c, out)
                               : of_integers(op, elem, a, b, c, out));
  uint32_t n = seer_vec_elem_bits[to];
  if (is_done && n < 64) *out &= (UINT64_C(1) << n) - 1;
  return is_done;
}
