// far.c - what elementary functions do where the usual way is not exact enough, and what is rare:
// arguments of sin and cos that are large (Payne and Hanek, "Radian reduction for trigonometric
// functions", SIGNUM 1983), and remainders of large quotients. Each stands in a WHEN, which a
// vector enters if one of its lanes needs it: others pay for a comparison.
#include <math.h>

#include "code/gen/gen.h"

typedef struct {
  seer_vec slot;
  seer_vec_elem elem;
  uint32_t lanes;
} variable;

// What a WHEN changes is a variable around it.
static variable new_variable(seer_gen *g, seer_vec first) {
  const seer_vec_node *node = seer_vec_at(g->code, first);
  variable v = {.elem = (seer_vec_elem)node->elem, .lanes = node->lanes};
  uint32_t own = v.lanes * seer_vec_elem_bytes(v.elem);
  v.slot = seer_vec_slot(g->b, v.elem, v.lanes, 1, own > 64 ? own : 64);
  seer_vec_store(g->b, first, v.slot, 0, SEER_VEC_NO_BUF);
  return v;
}
static seer_vec value_of(seer_gen *g, variable v) {
  return seer_vec_load(g->b, v.elem, v.lanes, v.slot, 0, SEER_VEC_NO_BUF, false);
}
static void set_value(seer_gen *g, variable v, seer_vec to) {
  seer_vec_store(g->b, to, v.slot, 0, SEER_VEC_NO_BUF);
}

static seer_vec two(seer_gen *g, seer_vec_op op, seer_vec a, seer_vec b) {
  return seer_vec2(g->b, op, a, b);
}
static seer_vec by(seer_gen *g, seer_vec_op op, seer_vec a, int64_t c) {
  return seer_vec2(g->b, op, a, seer_gen_int_like(g, a, c));
}
static seer_vec num(seer_gen *g, seer_vec like, double c) { return seer_gen_real_like(g, like, c); }

// ---- x modulo pi / 2

// 1 / (2 pi) * 2^-36, 64 bits a word: as many as the largest f64 reaches.
static const uint64_t turns[] = {0x00000000028BE60D, 0xB9391054A7F09D5F, 0x47D4D377036D8A56,
    0x64F10E4107F9458E, 0xAF7AEF1586DC91B8, 0xE909374B801924BB, 0xA827464873F877AC,
    0x72C4A69CFBA208D7, 0xD4BAED1213A671C0, 0x9AD17DF904E64758, 0xE60D4CE7D272117E,
    0x2EF7E4A0EC7FE25F, 0xFF7816603FBCBC46, 0x2D6829B47DB4D9FB, 0x3C9F2C26DD3D18FD,
    0x9A797FA8B5D49EEB, 0x1FAF97C5ECF41CE7, 0xDE294A4BA9AFED7E};

// Words index + 0, 1 and 2 of the table.
static void window_of(seer_gen *g, seer_vec index, uint32_t n_words, seer_vec *out_word) {
  for (uint32_t k = 0; k < 3; k++) {
    out_word[k] = seer_gen_int_like(g, index, (int64_t)turns[k]);
    for (uint32_t w = 1; w + k < n_words; w++) {
      seer_vec is_it = by(g, SEER_VEC_EQ, index, w);
      out_word[k] = seer_vec_select(
          g->b, is_it, seer_gen_int_like(g, index, (int64_t)turns[w + k]), out_word[k]);
    }
  }
}

// high shifted left by `shift` (0 to 63), what comes in being the upper bits of `low`.
static seer_vec joined(seer_gen *g, seer_vec high, seer_vec low, seer_vec shift) {
  seer_vec rest = two(g, SEER_VEC_SUB, seer_gen_int_like(g, shift, 63), shift);
  low = two(g, SEER_VEC_LSHR, by(g, SEER_VEC_LSHR, low, 1), rest);
  return two(g, SEER_VEC_OR, two(g, SEER_VEC_SHL, high, shift), low);
}

// The fraction of a turn, in units of 2^-64, that m * 2^(scale - 36) radians are: m times the bits
// of 1 / (2 pi) that count. Those above are whole turns and drop out; of those below, 64 are kept,
// so that the error is a few units.
static seer_vec turn_of(seer_gen *g, seer_vec m, seer_vec scale, uint32_t n_words) {
  const int64_t low32 = INT64_C(0xFFFFFFFF);
  seer_vec word[3], shift = by(g, SEER_VEC_AND, scale, 63);
  window_of(g, by(g, SEER_VEC_LSHR, scale, 6), n_words, word);
  seer_vec high = joined(g, word[0], word[1], shift), low = joined(g, word[1], word[2], shift);
  // The upper half of m * low, by halves of 32 bits.
  seer_vec m1 = by(g, SEER_VEC_LSHR, m, 32), m0 = by(g, SEER_VEC_AND, m, low32);
  seer_vec l1 = by(g, SEER_VEC_LSHR, low, 32), l0 = by(g, SEER_VEC_AND, low, low32);
  seer_vec carried = two(g, SEER_VEC_MUL, m1, l1);
  carried = two(g, SEER_VEC_ADD, carried, by(g, SEER_VEC_LSHR, two(g, SEER_VEC_MUL, m1, l0), 32));
  carried = two(g, SEER_VEC_ADD, carried, by(g, SEER_VEC_LSHR, two(g, SEER_VEC_MUL, m0, l1), 32));
  return two(g, SEER_VEC_ADD, two(g, SEER_VEC_MUL, m, high), carried);
}

void seer_gen_far_angle(seer_gen *g, seer_vec x, double limit, seer_vec *rest, seer_vec *quadrant) {
  bool is_f64 = seer_vec_at(g->code, x)->elem == SEER_VEC_F64;
  seer_vec is_far = two(g, SEER_VEC_FGT, seer_vec1(g->b, SEER_VEC_FABS, x), num(g, x, limit));
  variable r = new_variable(g, *rest), q = new_variable(g, *quadrant);
  seer_vec_begin_when(g->b, seer_vec_any(g->b, is_far));
  // |x| = m * 2^(scale - 36)
  const int mantissa = is_f64 ? 52 : 23;
  const int64_t bias = is_f64 ? 1023 : 127, exponents = is_f64 ? 0x7FF : 0xFF;
  seer_vec b = seer_vec_to(g->b, SEER_VEC_BITCAST, x, is_f64 ? SEER_VEC_I64 : SEER_VEC_I32);
  b = seer_vec_to(g->b, SEER_VEC_ZEXT, b, SEER_VEC_I64);
  seer_vec m = by(g, SEER_VEC_AND, b, (INT64_C(1) << mantissa) - 1);
  m = by(g, SEER_VEC_OR, m, INT64_C(1) << mantissa);
  seer_vec scale = by(g, SEER_VEC_AND, by(g, SEER_VEC_LSHR, b, mantissa), exponents);
  scale = by(g, SEER_VEC_SUB, scale, bias + mantissa - 36);
  scale = by(g, SEER_VEC_SMAX, scale, 0);  // of lanes that are not far
  seer_vec turn = turn_of(g, m, scale, is_f64 ? SEER_COUNT_OF(turns) : 5);
  seer_vec is_negative = two(g, SEER_VEC_FLT, x, num(g, x, 0.0));
  turn = seer_vec_select(g->b, is_negative, seer_vec1(g->b, SEER_VEC_NEG, turn), turn);
  // The nearest quarter, and what is left of it, in radians.
  seer_vec quarter = by(g, SEER_VEC_LSHR, by(g, SEER_VEC_ADD, turn, INT64_C(1) << 61), 62);
  seer_vec left = two(g, SEER_VEC_SUB, turn, by(g, SEER_VEC_SHL, quarter, 62));
  seer_vec radians = seer_vec_to(g->b, SEER_VEC_SINT_FLOAT, left, SEER_VEC_F64);
  radians = two(g, SEER_VEC_FMUL, radians, num(g, radians, 6.283185307179586477 * 0x1p-64));
  if (!is_f64) {
    radians = seer_vec_to(g->b, SEER_VEC_FLOAT_SHORTER, radians, SEER_VEC_F32);
    quarter = seer_vec_to(g->b, SEER_VEC_TRUNC, quarter, SEER_VEC_I32);
  }
  // An infinite x has no angle: x - x is NaN.
  radians = two(g, SEER_VEC_FADD, radians, two(g, SEER_VEC_FSUB, x, x));
  set_value(g, r, seer_vec_select(g->b, is_far, radians, *rest));
  set_value(g, q, seer_vec_select(g->b, is_far, quarter, *quadrant));
  seer_vec_end(g->b);
  *rest = value_of(g, r);
  *quadrant = value_of(g, q);
}

// ---- fmod

// a modulo b, both positive and finite, by doubling b and taking it away on the way back: exact,
// as each difference is one of neighbours. `n`: doublings that reach any quotient of the type.
static void long_remainder(seer_gen *g, seer_vec a, seer_vec b, int64_t n, variable out) {
  seer_vec count = seer_gen_const_i64(g, n);
  variable step = new_variable(g, b);
  uint32_t id;
  set_value(g, out, a);
  seer_vec_begin_loop(g->b, count, true, &id);
  seer_vec s = value_of(g, step), twice = two(g, SEER_VEC_FADD, s, s);
  set_value(g, step, seer_vec_select(g->b, two(g, SEER_VEC_FLE, twice, a), twice, s));
  seer_vec_end(g->b);
  seer_vec_begin_loop(g->b, count, true, &id);
  s = value_of(g, step);
  seer_vec r = value_of(g, out);
  set_value(
      g, out, seer_vec_select(g->b, two(g, SEER_VEC_FGE, r, s), two(g, SEER_VEC_FSUB, r, s), r));
  seer_vec half = two(g, SEER_VEC_FMUL, s, num(g, s, 0.5));
  set_value(g, step, seer_vec_select(g->b, two(g, SEER_VEC_FGT, s, b), half, s));
  seer_vec_end(g->b);
}

seer_vec seer_gen_fmod(seer_gen *g, seer_vec x, seer_vec y) {
  bool is_f64 = seer_vec_at(g->code, x)->elem == SEER_VEC_F64;
  seer_vec zero = num(g, x, 0.0), one = num(g, x, 1.0), infinity = num(g, x, (double)INFINITY);
  seer_vec a = seer_vec1(g->b, SEER_VEC_FABS, x), b = seer_vec1(g->b, SEER_VEC_FABS, y);
  seer_vec is_defined =
      two(g, SEER_VEC_AND, two(g, SEER_VEC_FLT, a, infinity), two(g, SEER_VEC_FGT, b, zero));
  // What has no answer, or has x as its answer, takes 0 modulo 1 on the way.
  seer_vec is_work = two(g, SEER_VEC_AND, is_defined, two(g, SEER_VEC_FGE, a, b));
  seer_vec p = seer_vec_select(g->b, is_work, a, zero), d = seer_vec_select(g->b, is_work, b, one);
  // A quotient of few bits times either half of the divisor is exact, and so are the differences.
  seer_vec q = seer_gen_round(g, SEER_GEN_TRUNC, two(g, SEER_VEC_FDIV, p, d));
  seer_vec_elem bits = is_f64 ? SEER_VEC_I64 : SEER_VEC_I32;
  seer_vec upper = by(g, SEER_VEC_AND, seer_vec_to(g->b, SEER_VEC_BITCAST, d, bits),
      is_f64 ? -(INT64_C(1) << 27) : -(INT64_C(1) << 12));
  upper = seer_vec_to(g->b, SEER_VEC_BITCAST, upper, is_f64 ? SEER_VEC_F64 : SEER_VEC_F32);
  seer_vec lower = two(g, SEER_VEC_FSUB, d, upper);
  seer_vec r = two(g, SEER_VEC_FSUB, p, two(g, SEER_VEC_FMUL, q, upper));
  r = two(g, SEER_VEC_FSUB, r, two(g, SEER_VEC_FMUL, q, lower));
  // The quotient was rounded, maybe up to the next integer.
  r = seer_vec_select(g->b, two(g, SEER_VEC_FLT, r, zero), two(g, SEER_VEC_FADD, r, d), r);
  variable result = new_variable(g, r);
  // Products with the halves of a tiny divisor could underflow.
  seer_vec is_long =
      two(g, SEER_VEC_OR, two(g, SEER_VEC_FGE, q, num(g, x, is_f64 ? 0x1p26 : 0x1p12)),
          two(g, SEER_VEC_FLT, d, num(g, x, is_f64 ? 0x1p-900 : 0x1p-90)));
  seer_vec_begin_when(g->b, seer_vec_any(g->b, is_long));
  long_remainder(g, p, d, is_f64 ? 2100 : 280, result);
  seer_vec_end(g->b);
  r = seer_vec_select(g->b, is_work, value_of(g, result), a);
  r = seer_vec_select(g->b, is_defined, r, num(g, x, (double)NAN));
  r = seer_vec_select(g->b, two(g, SEER_VEC_FNAN, x, y), num(g, x, (double)NAN), r);
  return seer_vec2(g->b, SEER_VEC_COPYSIGN, r, x);
}
