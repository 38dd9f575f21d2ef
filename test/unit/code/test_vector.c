// test_vector.c - operators of vector code against plain C, and what is folded against the
// interpreter.

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "support/test.h"
#include "vector_code.h"

enum { N_RANDOM = 400, MAX_SAMPLES = 64 };

// ---- plain C

// clang-format off
#define INTEGER_OPS(X) \
  X(ADD, u + v) X(SUB, u - v) X(MUL, (uint64_t)u * v) X(NEG, 0 - u) X(SDIV, x / y) X(SREM, x % y) \
  X(UDIV, u / v) X(UREM, u % v) X(AND, u & v) X(OR, u | v) X(XOR, u ^ v) X(NOT, ~u) \
  X(SHL, (uint64_t)u << v) X(LSHR, u >> v) X(ASHR, x >> v) X(SMIN, y < x ? y : x) \
  X(SMAX, y > x ? y : x) X(UMIN, v < u ? v : u) X(UMAX, v > u ? v : u) X(ABS, x < 0 ? 0 - u : u) \
  X(EQ, x == y) X(NE, x != y) X(SLT, x < y) X(SLE, x <= y) X(SGT, x > y) X(SGE, x >= y) \
  X(ULT, u < v) X(ULE, u <= v) X(UGT, u > v) X(UGE, u >= v)

#define FLOAT_OPS(X) \
  X(FADD, x + y) X(FSUB, x - y) X(FMUL, x * y) X(FDIV, x / y) X(FNEG, -x) \
  X(FMULADD, sizeof(x) == 4 ? (double)fmaf((float)x, (float)y, (float)z) : fma(x, y, z)) \
  X(FABS, signbit(x) ? -x : x) X(COPYSIGN, signbit(x) == signbit(y) ? x : -x) \
  X(SQRT, sizeof(x) == 4 ? (double)sqrtf((float)x) : sqrt(x)) X(FLOOR, floor(x)) X(CEIL, ceil(x)) \
  X(FTRUNC, trunc(x)) X(ROUND, nearbyint(x)) \
  X(FMINIMUM, isunordered(x, y) ? x + y : x < y || (x == y && signbit(x)) ? x : y) \
  X(FMAXIMUM, isunordered(x, y) ? x + y : x > y || (x == y && !signbit(x)) ? x : y)

#define FLOAT_TRUTHS(X) \
  X(FEQ, x == y) X(FLT, x < y) X(FLE, x <= y) X(FGT, x > y) X(FGE, x >= y) \
  X(FNAN, isunordered(x, y)) X(FEQ_NAN, !islessgreater(x, y)) X(FNE_NAN, !(x == y)) \
  X(FGE_NAN, !isless(x, y))

#define INTEGER_CASE(name, value) case SEER_VEC_##name: return (uint64_t)(value);
#define FLOAT_CASE(name, value) case SEER_VEC_##name: r = (value); break;

#define PLAIN_INTEGER(name, T, U) \
  static uint64_t name(seer_vec_op op, uint64_t a, uint64_t b) { \
    T x = (T)a, y = (T)b; \
    U u = (U)a, v = (U)b; \
    switch ((int)op) { INTEGER_OPS(INTEGER_CASE) } \
    fail_msg("no plain %s", seer_vec_ops[op].text); \
    return 0; \
  }
#define PLAIN_FLOAT(name, T) \
  static uint64_t name(seer_vec_op op, uint64_t a, uint64_t b, uint64_t c) { \
    T x, y, z, value; \
    double r; \
    uint64_t bits = 0; \
    memcpy(&x, &a, sizeof(x)), memcpy(&y, &b, sizeof(y)), memcpy(&z, &c, sizeof(z)); \
    switch ((int)op) { \
      FLOAT_TRUTHS(INTEGER_CASE) \
      FLOAT_OPS(FLOAT_CASE) \
      default: fail_msg("no plain %s", seer_vec_ops[op].text); return 0; \
    } \
    value = (T)r; \
    memcpy(&bits, &value, sizeof(value)); \
    return bits; \
  }
PLAIN_INTEGER(plain_i8, int8_t, uint8_t)
PLAIN_INTEGER(plain_i16, int16_t, uint16_t)
PLAIN_INTEGER(plain_i32, int32_t, uint32_t)
PLAIN_INTEGER(plain_i64, int64_t, uint64_t)
PLAIN_FLOAT(plain_f32, float)
PLAIN_FLOAT(plain_f64, double)
// clang-format on

static uint64_t cut(seer_vec_elem elem, uint64_t bits) {
  uint32_t above = 64 - seer_vec_elem_bits[elem];
  return bits << above >> above;
}

static int64_t extend(seer_vec_elem elem, uint64_t bits) {
  uint32_t above = 64 - seer_vec_elem_bits[elem];
  return (int64_t)(bits << above) >> above;
}

static uint64_t bits_of(seer_vec_elem elem, double value) {
  float single = (float)value;
  uint64_t bits = 0;
  memcpy(&bits, elem == SEER_VEC_F32 ? (void *)&single : (void *)&value, seer_vec_elem_bytes(elem));
  return bits;
}

static double real_of(seer_vec_elem elem, uint64_t bits) {
  float single;
  double real;
  memcpy(&single, &bits, sizeof(single));
  memcpy(&real, &bits, sizeof(real));
  return elem == SEER_VEC_F32 ? (double)single : real;
}

// NaNs are one.
static bool is_same(seer_vec_elem elem, uint64_t a, uint64_t b) {
  if (!seer_vec_is_float(elem)) return a == b;
  return a == b || (isnan(real_of(elem, a)) && isnan(real_of(elem, b)));
}

static bool is_division(seer_vec_op op) { return op >= SEER_VEC_SDIV && op <= SEER_VEC_UREM; }
static bool is_shift(seer_vec_op op) { return op >= SEER_VEC_SHL && op <= SEER_VEC_ASHR; }
static bool is_index(seer_vec_op op) {
  return op >= SEER_VEC_ADD_INDEX && op <= SEER_VEC_MUL_INDEX;
}

static bool is_defined(seer_vec_op op, seer_vec_elem elem, uint64_t a, uint64_t b) {
  bool is_signed = op == SEER_VEC_SDIV || op == SEER_VEC_SREM;
  uint64_t smallest = UINT64_C(1) << (seer_vec_elem_bits[elem] - 1);
  if (is_division(op)) return b != 0 && !(is_signed && a == smallest && extend(elem, b) == -1);
  if (is_shift(op)) return b < seer_vec_elem_bits[elem];
  if (!is_index(op)) return true;
  __int128 x = (int64_t)a, y = (int64_t)b;
  __int128 r = op == SEER_VEC_ADD_INDEX ? x + y : op == SEER_VEC_SUB_INDEX ? x - y : x * y;
  return r >= INT64_MIN && r <= INT64_MAX;
}

static seer_vec_op without_index(seer_vec_op op) {
  return is_index(op) ? op - SEER_VEC_ADD_INDEX + SEER_VEC_ADD : op;
}

static uint64_t plain(seer_vec_op op, seer_vec_elem elem, uint64_t a, uint64_t b, uint64_t c) {
  op = without_index(op);
  switch ((int)elem) {
    case SEER_VEC_I8:
      return plain_i8(op, a, b);
    case SEER_VEC_I16:
      return plain_i16(op, a, b);
    case SEER_VEC_I32:
      return plain_i32(op, a, b);
    case SEER_VEC_I64:
      return plain_i64(op, a, b);
    case SEER_VEC_F32:
      return plain_f32(op, a, b, c);
    default:
      return plain_f64(op, a, b, c);
  }
}

// ---- samples

static uint32_t integers(seer_vec_elem elem, uint64_t *out) {
  uint32_t n = 0, width = seer_vec_elem_bits[elem];
  uint64_t top = UINT64_C(1) << (width - 1);
  uint64_t edge[] = {0, 1, 2, 3, 7, width - 1, width, top - 1, top, top + 1, UINT64_MAX,
      UINT64_MAX - 1, UINT64_C(0x5555555555555555), UINT64_C(0xF0F1F2F3F4F5F6F7)};
  for (size_t k = 0; k < SEER_COUNT_OF(edge); k++) out[n++] = cut(elem, edge[k]);
  return n;
}

static uint32_t floats(seer_vec_elem elem, uint64_t *out) {
  static const double edge[] = {0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, -0.9, 127, 127.5,
      128, -128, -129, 255.9, 256, 32767.5, 65536, 8388608.5, 0x1p31, -0x1p31, 0x1p32, 0x1p63,
      -0x1p63, 0x1p64, 1e30, (double)FLT_MAX, (double)FLT_MIN, 0x1p-149, 0x1p-1074, DBL_MAX,
      (double)INFINITY, -(double)INFINITY, (double)NAN};
  uint32_t n = 0;
  for (size_t k = 0; k < SEER_COUNT_OF(edge); k++) out[n++] = bits_of(elem, edge[k]);
  return n;
}

static uint32_t samples(seer_vec_elem elem, uint64_t *out) {
  out[0] = 0;
  out[1] = 1;
  if (elem == SEER_VEC_I1) return 2;
  return seer_vec_is_float(elem) ? floats(elem, out) : integers(elem, out);
}

static uint64_t any_bits(seer_vec_elem elem, seer_rng *rng) {
  uint64_t bits = cut(elem, seer_rng_u64(rng));
  if (!seer_vec_is_float(elem)) return bits;
  bool is_tame = seer_rng_below(rng, 4) != 0;
  return is_tame ? bits_of(elem, (seer_rng_f64(rng) - 0.5) * 1000) : bits;
}

// ---- seer_vec_apply

static void check_apply(seer_vec_op op, seer_vec_elem elem, uint64_t a, uint64_t b, uint64_t c) {
  seer_vec_elem to = seer_vec_ops[op].rule == SEER_VEC_TRUTH ? SEER_VEC_I1 : elem;
  uint64_t got = 0;
  bool is_done = seer_vec_apply(op, elem, to, a, b, c, &got);
  if (is_done != is_defined(op, elem, a, b))
    fail_msg("%s of %s %" PRIx64 " %" PRIx64 ": %d", seer_vec_ops[op].text,
        seer_vec_elem_names[elem], a, b, is_done);
  uint64_t want = is_done ? cut(to, plain(op, elem, a, b, c)) : 0;
  if (is_done && !is_same(to, got, want))
    fail_msg("%s of %s %" PRIx64 " %" PRIx64 " %" PRIx64 ": %" PRIx64 ", expected %" PRIx64,
        seer_vec_ops[op].text, seer_vec_elem_names[elem], a, b, c, got, want);
}

static void check_operator(seer_vec_op op, seer_vec_elem elem, seer_rng *rng) {
  uint64_t edge[MAX_SAMPLES];
  uint32_t n = samples(elem, edge);
  for (uint32_t x = 0; x < n; x++) {
    for (uint32_t y = 0; y < n; y++)
      check_apply(op, elem, edge[x], edge[y], edge[seer_rng_below(rng, n)]);
  }
  for (uint32_t k = 0; k < N_RANDOM; k++) {
    uint64_t b = is_shift(op) ? seer_rng_below(rng, 64) : any_bits(elem, rng);
    check_apply(op, elem, any_bits(elem, rng), b, any_bits(elem, rng));
  }
}

static void operators_are_plain_c(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 1);
  for (seer_vec_op op = SEER_VEC_ADD; op <= SEER_VEC_UGE; op++) {
    if (op == SEER_VEC_DOT4 || op == SEER_VEC_DOT2) continue;  // of words only: below
    for (seer_vec_elem e = is_index(op) ? SEER_VEC_I64 : SEER_VEC_I8; e <= SEER_VEC_I64; e++)
      check_operator(op, e, &rng);
  }
  for (seer_vec_op op = SEER_VEC_FADD; op <= SEER_VEC_FGE_NAN; op++) {
    check_operator(op, SEER_VEC_F32, &rng);
    check_operator(op, SEER_VEC_F64, &rng);
  }
  // i1: what is bits, is bits of one.
  for (uint64_t k = 0; k < 4; k++) {
    uint64_t a = k & 1, b = k >> 1, got = 0;
    seer_vec_elem i1 = SEER_VEC_I1;
    assert_true(seer_vec_apply(SEER_VEC_AND, i1, i1, a, b, 0, &got) && got == (a & b));
    assert_true(seer_vec_apply(SEER_VEC_OR, i1, i1, a, b, 0, &got) && got == (a | b));
    assert_true(seer_vec_apply(SEER_VEC_XOR, i1, i1, a, b, 0, &got) && got == (a ^ b));
    assert_true(seer_vec_apply(SEER_VEC_NOT, i1, i1, a, b, 0, &got) && got == !a);
    assert_true(seer_vec_apply(SEER_VEC_ULT, i1, i1, a, b, 0, &got) && got == (a < b));
    assert_true(seer_vec_apply(SEER_VEC_UMAX, i1, i1, a, b, 0, &got) && got == (a | b));
  }
  uint64_t unused;
  for (seer_vec_op op = 0; op < SEER_VEC_OP_COUNT; op++) {
    bool computes = op >= SEER_VEC_ADD && op <= SEER_VEC_BITCAST;
    if (!computes) assert_false(seer_vec_apply(op, SEER_VEC_I32, SEER_VEC_I32, 1, 1, 1, &unused));
  }
}

// Bytes as they lie in memory, lowest first: of the first without sign, of the second with.
static void dot4_is_plain_c(void **state) {
  (void)state;
  static const uint8_t edge[] = {0, 1, 127, 128, 255};
  seer_rng rng;
  seer_rng_init(&rng, 5);
  for (uint32_t k = 0; k < 20000; k++) {
    uint8_t a[4], b[4];
    uint64_t x = 0, y = 0, c = any_bits(SEER_VEC_I32, &rng), got;
    int64_t sum = extend(SEER_VEC_I32, c);
    for (uint32_t i = 0; i < 4; i++) {
      bool is_edge = seer_rng_chance(&rng, 0.5);
      a[i] = is_edge ? edge[seer_rng_below(&rng, 5)] : (uint8_t)seer_rng_u64(&rng);
      b[i] = is_edge ? edge[seer_rng_below(&rng, 5)] : (uint8_t)seer_rng_u64(&rng);
      sum += (int64_t)a[i] * (b[i] < 128 ? b[i] : b[i] - 256);
      x |= (uint64_t)a[i] << 8 * i;
      y |= (uint64_t)b[i] << 8 * i;
    }
    assert_true(seer_vec_apply(SEER_VEC_DOT4, SEER_VEC_I32, SEER_VEC_I32, x, y, c, &got));
    assert_true(got == cut(SEER_VEC_I32, (uint64_t)sum));
  }
  uint64_t unused;
  assert_false(seer_vec_apply(SEER_VEC_DOT4, SEER_VEC_I64, SEER_VEC_I64, 1, 1, 1, &unused));
}

// The upper half of an f32 is a bf16: with what is random, NaN, infinities and limits.
static void dot2_is_plain_c(void **state) {
  (void)state;
  static const uint16_t edge[] = {
      0, 0x8000, 1, 0x007F, 0x0080, 0x3F80, 0xBF80, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0};
  seer_rng rng;
  seer_rng_init(&rng, 6);
  uint64_t got;
  for (uint32_t k = 0; k < 20000; k++) {
    uint64_t x = 0, y = 0, c = any_bits(SEER_VEC_F32, &rng);
    double sum = 0;
    for (uint32_t i = 0; i < 2; i++) {
      bool is_edge = seer_rng_chance(&rng, 0.4);
      uint16_t a =
          is_edge ? edge[seer_rng_below(&rng, SEER_COUNT_OF(edge))] : (uint16_t)seer_rng_u64(&rng);
      uint16_t b =
          is_edge ? edge[seer_rng_below(&rng, SEER_COUNT_OF(edge))] : (uint16_t)seer_rng_u64(&rng);
      sum += real_of(SEER_VEC_F32, (uint64_t)a << 16) * real_of(SEER_VEC_F32, (uint64_t)b << 16);
      x |= (uint64_t)a << 16 * i;
      y |= (uint64_t)b << 16 * i;
    }
    assert_true(seer_vec_apply(SEER_VEC_DOT2, SEER_VEC_I32, SEER_VEC_F32, x, y, c, &got));
    uint64_t want = bits_of(SEER_VEC_F32, sum + real_of(SEER_VEC_F32, c));
    if (!is_same(SEER_VEC_F32, got, want))
      fail_msg("%" PRIx64 " %" PRIx64 " %" PRIx64 ": %" PRIx64 ", expected %" PRIx64, x, y, c, got,
          want);
  }
  assert_false(seer_vec_apply(SEER_VEC_DOT2, SEER_VEC_I32, SEER_VEC_I32, 1, 1, 1, &got));
  assert_false(seer_vec_apply(SEER_VEC_DOT2, SEER_VEC_I64, SEER_VEC_F32, 1, 1, 1, &got));
}

static uint64_t plain_convert(seer_vec_op op, seer_vec_elem from, seer_vec_elem to, uint64_t a) {
  long double x = (long double)real_of(from, a);
  switch ((int)op) {
    case SEER_VEC_ZEXT:
    case SEER_VEC_TRUNC:
    case SEER_VEC_BITCAST:
      return cut(to, a);
    case SEER_VEC_SEXT:
      return cut(to, (uint64_t)extend(from, a));
    case SEER_VEC_SINT_FLOAT:
      if (to == SEER_VEC_F64) return bits_of(to, (double)extend(from, a));
      return bits_of(to, (double)(float)extend(from, a));
    case SEER_VEC_UINT_FLOAT:
      return bits_of(to, to == SEER_VEC_F64 ? (double)a : (double)(float)a);
    case SEER_VEC_FLOAT_WIDER:
    case SEER_VEC_FLOAT_SHORTER:
      return bits_of(to, real_of(from, a));
    default:
      break;
  }
  return cut(to, op == SEER_VEC_FLOAT_SINT ? (uint64_t)(int64_t)x : (uint64_t)x);
}

// Floats that do not fit, cut towards zero, have none.
static bool has_result(seer_vec_op op, seer_vec_elem from, seer_vec_elem to, uint64_t a) {
  if (op != SEER_VEC_FLOAT_SINT && op != SEER_VEC_FLOAT_UINT) return true;
  bool is_signed = op == SEER_VEC_FLOAT_SINT;
  long double x = (long double)real_of(from, a);
  long double high = ldexpl(1, (int)seer_vec_elem_bits[to] - is_signed);
  return x > (is_signed ? -high - 1 : -1) && x < high;
}

// The types that a conversion is defined on.
static bool converts(seer_vec_op op, seer_vec_elem from, seer_vec_elem to) {
  uint32_t n = seer_vec_elem_bits[from], m = seer_vec_elem_bits[to];
  bool from_float = seer_vec_is_float(from), to_float = seer_vec_is_float(to);
  switch ((int)op) {
    case SEER_VEC_ZEXT:
    case SEER_VEC_SEXT:
      return !from_float && !to_float && m > n;
    case SEER_VEC_TRUNC:
      return !from_float && !to_float && m < n;
    case SEER_VEC_SINT_FLOAT:
    case SEER_VEC_UINT_FLOAT:
      return !from_float && to_float;
    case SEER_VEC_FLOAT_SINT:
    case SEER_VEC_FLOAT_UINT:
      return from_float && !to_float && to != SEER_VEC_I1;
    case SEER_VEC_FLOAT_WIDER:
      return from == SEER_VEC_F32 && to == SEER_VEC_F64;
    case SEER_VEC_FLOAT_SHORTER:
      return from == SEER_VEC_F64 && to == SEER_VEC_F32;
    case SEER_VEC_BITCAST:
      return m == n && from != to && from != SEER_VEC_I1;
    default:
      return false;
  }
}

static void conversions_are_plain_c(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 2);
  uint32_t n_pairs = 0;
  for (seer_vec_op op = SEER_VEC_ZEXT; op <= SEER_VEC_BITCAST; op++) {
    for (seer_vec_elem from = SEER_VEC_I1; from <= SEER_VEC_F64; from++) {
      for (seer_vec_elem to = SEER_VEC_I1; to <= SEER_VEC_F64; to++) {
        if (!converts(op, from, to)) continue;
        uint64_t sample[MAX_SAMPLES];
        uint32_t n = samples(from, sample);
        for (uint32_t k = 0; k < n + N_RANDOM; k++) {
          uint64_t a = k < n ? sample[k] : any_bits(from, &rng), got = 0;
          bool is_defined = seer_vec_apply(op, from, to, a, 0, 0, &got);
          assert_int_equal(is_defined, has_result(op, from, to, a));
          if (!is_defined) continue;
          uint64_t want = plain_convert(op, from, to, a);
          if (!is_same(to, got, want))
            fail_msg("%s of %s %" PRIx64 " to %s: %" PRIx64 ", expected %" PRIx64,
                seer_vec_ops[op].text, seer_vec_elem_names[from], a, seer_vec_elem_names[to], got,
                want);
        }
        n_pairs++;
      }
    }
  }
  assert_int_equal(n_pairs, 2 * 10 + 10 + 2 * 10 + 2 * 8 + 2 + 4);
}

static uint64_t half_bits(double x) {
  uint64_t bits;
  assert_true(seer_vec_apply(
      SEER_VEC_HALF_BITS, SEER_VEC_F32, SEER_VEC_I16, bits_of(SEER_VEC_F32, x), 0, 0, &bits));
  return bits;
}

static double bits_half(uint64_t half) {
  uint64_t bits;
  assert_true(seer_vec_apply(SEER_VEC_BITS_HALF, SEER_VEC_I16, SEER_VEC_F32, half, 0, 0, &bits));
  return real_of(SEER_VEC_F32, bits);
}

static void halves_are_ieee(void **state) {
  (void)state;
  for (uint64_t h = 0; h < 0x7C00; h++) {
    int exponent = (int)(h >> 10);
    double want =
        exponent == 0 ? ldexp((double)h, -24) : ldexp((double)(1024 + (h & 1023)), exponent - 25);
    double above = h == 0x7BFF ? 65536 : bits_half(h + 1), middle = (want + above) / 2;
    assert_true(bits_half(h) == want && bits_half(h | 0x8000) == -want);
    assert_int_equal(half_bits(want), h);
    assert_int_equal(half_bits(-want), h | 0x8000);
    assert_int_equal(half_bits(middle), h + (h & 1));  // to even
    assert_int_equal(half_bits((double)nextafterf((float)middle, 0)), h);
    assert_int_equal(half_bits((double)nextafterf((float)middle, 1e9f)), h + 1);
  }
  assert_true(isinf(bits_half(0x7C00)) && isnan(bits_half(0x7E00)));
  assert_int_equal(half_bits((double)INFINITY), 0x7C00);
  assert_true((half_bits((double)NAN) & 0x7C00) == 0x7C00 && (half_bits((double)NAN) & 0x3FF) != 0);
}

// ---- folding

typedef struct {
  seer_arena *arena;
  seer_loop *loop;
  seer_vec_code *code;
  seer_vec_builder b;
  uint32_t n_result;
  struct {
    uint32_t buf, at;  // bytes
    seer_vec folded;
  } result[256];
} folding;

static void begin_folding(folding *f) {
  *f = (folding){.arena = seer_arena_create("folding")};
  f->loop = vector_code_loop(f->arena);
  f->code = seer_vec_code_create(f->loop, f->arena);
  f->code->scratch_bytes = 64;
  seer_vec_begin_phase(&f->b, f->code, "test_p0");
}

// The same value, of which the builder knows nothing.
static seer_vec hidden(folding *f, seer_vec v) {
  seer_vec_builder *b = &f->b;
  seer_vec_node node = *seer_vec_at(f->code, v);
  seer_vec_elem elem = (seer_vec_elem)node.elem, stored = elem;
  if (elem == SEER_VEC_I1) v = seer_vec_to(b, SEER_VEC_ZEXT, v, stored = SEER_VEC_I8);
  seer_vec slot = seer_vec_slot(b, stored, node.lanes, 1, 0);
  seer_vec_store(b, v, slot, 0, SEER_VEC_NO_BUF);
  v = seer_vec_load(b, stored, node.lanes, slot, 0, SEER_VEC_NO_BUF, false);
  if (elem != SEER_VEC_I1) return v;
  return seer_vec2(b, SEER_VEC_NE, v, seer_vec_const(b, stored, node.lanes, 0));
}

// `computed` is to be what `folded` is.
static void expect_equal(folding *f, seer_vec folded, seer_vec computed) {
  seer_vec_builder *b = &f->b;
  seer_vec_node node = *seer_vec_at(f->code, computed);
  seer_vec_elem elem = (seer_vec_elem)node.elem;
  assert_int_equal(node.elem, seer_vec_at(f->code, folded)->elem);
  assert_int_equal(node.lanes, seer_vec_at(f->code, folded)->lanes);
  assert_true(seer_vec_is_const(f->code, folded) && !seer_vec_is_const(f->code, computed));
  if (elem == SEER_VEC_I1) computed = seer_vec_to(b, SEER_VEC_ZEXT, computed, elem = SEER_VEC_I8);
  uint32_t buf = vector_code_buf(f->loop, seer_vec_elem_names[elem]), used = 0;
  for (uint32_t k = 0; k < f->n_result; k++) used += f->result[k].buf == buf ? 4 : 0;
  assert_true(used + node.lanes <= VECTOR_CODE_ELEMS && f->n_result < 256);
  seer_vec p =
      seer_vec_move(b, elem, seer_vec_buffer(b, buf), seer_vec_const(b, SEER_VEC_I64, 1, used));
  seer_vec_store(b, computed, p, seer_vec_elem_bytes(elem), buf);
  f->result[f->n_result].buf = buf;
  f->result[f->n_result].at = used * seer_vec_elem_bytes(elem);
  f->result[f->n_result++].folded = folded;
}

static void end_folding(folding *f) {
  const char *text = seer_vec_print(f->code, f->arena);
  void **data = vector_code_data(f->loop, f->arena);
  seer_status status = seer_vec_verify(f->code);
  if (!status) status = seer_vec_eval(f->code, data, NULL);
  if (status) fail_msg("%s\n%s", seer_status_message(status), text);
  for (uint32_t k = 0; k < f->n_result; k++) {
    const seer_vec_node *node = seer_vec_at(f->code, f->result[k].folded);
    seer_vec_elem elem = (seer_vec_elem)node->elem;
    uint32_t size = elem == SEER_VEC_I1 ? 1 : seer_vec_elem_bytes(elem);
    for (uint32_t l = 0; l < node->lanes; l++) {
      uint64_t got = 0, want = cut(elem, node->bits + (uint64_t)node->imm * l);
      memcpy(&got, (char *)data[f->result[k].buf] + f->result[k].at + l * size, size);
      if (!is_same(elem, got, want))
        fail_msg(
            "result %u, lane %u is %" PRIx64 ", expected %" PRIx64 "\n%s", k, l, got, want, text);
    }
  }
  seer_arena_destroy(f->arena);
}

static seer_vec build(folding *f, seer_vec_op op, const seer_vec *arg, seer_vec_elem to) {
  if (op >= SEER_VEC_ZEXT && op <= SEER_VEC_BITCAST) return seer_vec_to(&f->b, op, arg[0], to);
  if (seer_vec_ops[op].n_args == 1) return seer_vec1(&f->b, op, arg[0]);
  return seer_vec2(&f->b, op, arg[0], arg[1]);
}

static void check_folded(seer_vec_op op, seer_vec_elem elem, seer_vec_elem to, seer_rng *rng) {
  folding f, other;
  begin_folding(&f);
  begin_folding(&other);
  uint64_t edge[MAX_SAMPLES];
  uint32_t n = samples(elem, edge);
  for (uint32_t k = 0; k < 16; k++) {
    seer_vec arg[2], hid[2];
    uint64_t bits[2];
    for (uint32_t i = 0; i < 2; i++) {
      bits[i] = k < 8 ? edge[seer_rng_below(rng, n)] : any_bits(elem, rng);
      if (i == 1 && is_shift(op)) bits[i] = seer_rng_below(rng, seer_vec_elem_bits[elem] + 1u);
      arg[i] = seer_vec_const(&f.b, elem, 4, bits[i]);
    }
    uint64_t unused;
    bool may_fold = seer_vec_apply(op, elem, to, bits[0], bits[1], 0, &unused);
    if (!may_fold) {  // what is not defined may not be run
      seer_vec in_other[2];
      for (uint32_t i = 0; i < 2; i++) in_other[i] = seer_vec_const(&other.b, elem, 4, bits[i]);
      seer_vec v = build(&other, op, in_other, to);
      assert_false(seer_vec_is_const(other.code, v));
      continue;
    }
    seer_vec folded = build(&f, op, arg, to);
    for (uint32_t i = 0; i < 2; i++) hid[i] = hidden(&f, arg[i]);
    expect_equal(&f, folded, build(&f, op, hid, to));
  }
  seer_arena_destroy(other.arena);
  end_folding(&f);
}

static void folding_is_interpreting(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 3);
  for (seer_vec_op op = SEER_VEC_ADD; op <= SEER_VEC_FGE_NAN; op++) {
    if (!seer_vec_ops[op].is_folded) continue;
    bool is_float = op >= SEER_VEC_FADD, is_truth = seer_vec_ops[op].rule == SEER_VEC_TRUTH;
    seer_vec_elem first = is_float ? SEER_VEC_F32 : is_index(op) ? SEER_VEC_I64 : SEER_VEC_I8;
    seer_vec_elem last = is_float ? SEER_VEC_F64 : SEER_VEC_I64;
    for (seer_vec_elem e = first; e <= last; e++)
      check_folded(op, e, is_truth ? SEER_VEC_I1 : e, &rng);
  }
  for (seer_vec_op op = SEER_VEC_ZEXT; op <= SEER_VEC_BITCAST; op++) {
    if (!seer_vec_ops[op].is_folded) continue;
    for (seer_vec_elem from = SEER_VEC_I1; from <= SEER_VEC_F64; from++) {
      for (seer_vec_elem to = SEER_VEC_I1; to <= SEER_VEC_F64; to++) {
        if (converts(op, from, to)) check_folded(op, from, to, &rng);
      }
    }
  }
  check_folded(SEER_VEC_HALF_BITS, SEER_VEC_F32, SEER_VEC_I16, &rng);
  check_folded(SEER_VEC_BITS_HALF, SEER_VEC_I16, SEER_VEC_F32, &rng);
}

static void folding_between_lanes(void **state) {
  (void)state;
  folding f;
  begin_folding(&f);
  seer_vec_builder *b = &f.b;
  seer_vec one = seer_vec_const(b, SEER_VEC_I32, 1, 7),
           up = seer_vec_series(b, SEER_VEC_I32, 4, 5, 3),
           down = seer_vec_series(b, SEER_VEC_I32, 4, 1, -3),
           real = seer_vec_real(b, SEER_VEC_F32, 1, 0.1);
  seer_vec yes = seer_vec_const(b, SEER_VEC_I1, 1, 1), no4 = seer_vec_const(b, SEER_VEC_I1, 4, 0);
  expect_equal(&f, seer_vec_splat(b, one, 4), seer_vec_splat(b, hidden(&f, one), 4));
  expect_equal(&f, seer_vec_splat(b, real, 4), seer_vec_splat(b, hidden(&f, real), 4));
  expect_equal(&f, seer_vec_extract(b, up, 3), seer_vec_extract(b, hidden(&f, up), 3));
  seer_vec pair = seer_vec_series(b, SEER_VEC_I32, 2, 5, 3);
  expect_equal(&f, seer_vec_half(b, pair, true), seer_vec_half(b, hidden(&f, pair), true));
  seer_vec four = seer_vec_splat(b, one, 4);
  expect_equal(&f, seer_vec2(b, SEER_VEC_ADD, up, four),
      seer_vec2(b, SEER_VEC_ADD, hidden(&f, up), hidden(&f, four)));
  expect_equal(&f, seer_vec2(b, SEER_VEC_ADD, up, up),
      seer_vec2(b, SEER_VEC_ADD, hidden(&f, up), hidden(&f, up)));
  expect_equal(&f, seer_vec_select(b, yes, up, down),
      seer_vec_select(b, hidden(&f, yes), hidden(&f, up), hidden(&f, down)));
  expect_equal(&f, seer_vec_select(b, no4, up, down),
      seer_vec_select(b, hidden(&f, no4), hidden(&f, up), hidden(&f, down)));
  // A sum of series that cancel is no series, and not known to be the same in all lanes.
  assert_false(seer_vec_is_const(f.code, seer_vec2(b, SEER_VEC_ADD, up, down)));
  assert_int_equal(seer_vec_splat(b, up, 1).i, up.i);
  end_folding(&f);
}

static void constants_are_unique(void **state) {
  (void)state;
  folding f;
  begin_folding(&f);
  seer_vec_builder *b = &f.b;
  seer_vec seen[512];
  uint32_t n = 0;
  for (seer_vec_elem e = SEER_VEC_I1; e <= SEER_VEC_F64; e++) {
    for (uint32_t lanes = 1; lanes <= 4; lanes *= 4) {
      uint64_t edge[MAX_SAMPLES];
      uint32_t n_edge = samples(e, edge);
      for (uint32_t k = 0; k < n_edge; k++) {
        seer_vec v = seer_vec_const(b, e, lanes, edge[k]);
        assert_int_equal(v.i, seer_vec_const(b, e, lanes, edge[k]).i);
        uint64_t bits;
        assert_true(seer_vec_const_bits(f.code, v, &bits) && bits == edge[k]);
        bool is_new = true;  // f32: some doubles round to one float
        for (uint32_t i = 0; i < n; i++) is_new &= seen[i].i != v.i;
        if (is_new) seen[n++] = v;
      }
      assert_int_equal(seer_vec_undef(b, e, lanes).i, seer_vec_undef(b, e, lanes).i);
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    const seer_vec_node *x = seer_vec_at(f.code, seen[i]);
    for (uint32_t k = 0; k < i; k++) {
      const seer_vec_node *y = seer_vec_at(f.code, seen[k]);
      assert_false(x->elem == y->elem && x->lanes == y->lanes && x->bits == y->bits);
    }
  }
  seer_vec v = seer_vec_series(b, SEER_VEC_I64, 4, 1, 2);
  uint64_t bits;
  int64_t value;
  double real;
  assert_int_equal(v.i, seer_vec_series(b, SEER_VEC_I64, 4, 1, 2).i);
  assert_int_not_equal(v.i, seer_vec_series(b, SEER_VEC_I64, 4, 1, 3).i);
  assert_true(seer_vec_is_const(f.code, v) && !seer_vec_const_bits(f.code, v, &bits));
  v = seer_vec_const(b, SEER_VEC_I8, 1, 0xFFFE);
  assert_true(seer_vec_const_int(f.code, v, &value) && value == -2);
  assert_false(seer_vec_const_real(f.code, v, &real));
  v = seer_vec_real(b, SEER_VEC_F32, 4, 0.1);
  assert_true(seer_vec_const_real(f.code, v, &real) && real == (double)0.1f);
  assert_false(seer_vec_const_int(f.code, v, &value));
  assert_int_equal(seer_vec_filled(b, seer_vec_real(b, SEER_VEC_F32, 1, 2), 65).i,
      seer_vec_filled(b, seer_vec_real(b, SEER_VEC_F32, 1, 2), 128).i);
  assert_int_equal(f.code->n_fill, 1);
  seer_arena_destroy(f.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators_are_plain_c),
      cmocka_unit_test(dot4_is_plain_c),
      cmocka_unit_test(dot2_is_plain_c),
      cmocka_unit_test(conversions_are_plain_c),
      cmocka_unit_test(halves_are_ieee),
      cmocka_unit_test(folding_is_interpreting),
      cmocka_unit_test(folding_between_lanes),
      cmocka_unit_test(constants_are_unique),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
