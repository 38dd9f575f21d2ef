// math.c - elementary functions as vector code on f32: kernels have no libm.
// Range reduction, then a minimax polynomial (coefficients: tool/fit_math.py) evaluated by Horner's
// rule with multiply-adds. Errors below were measured against libm over the stated ranges by
// test/unit/code/test_math.c, with FMA in hardware and without it: the bounds hold for both.
//
//   exp       1.2 ulp; 0 where it would be subnormal, x < -87.3365
//   log       1 ulp, denormals included
//   sigmoid   2.5 ulp
//   tanh      1.5 ulp
//   erf       1.5 ulp; by pieces (pieces.c) 2.2
//   sin, cos  absolute 1e-7, whatever x
//   pow       1 ulp (computed in f64)
//
// On f64, where speed matters less: Taylor series after the same reductions; relative errors exp,
// log, sigmoid 4e-16, tanh 1e-15, pow 1e-15 times |y log x|; sin and cos absolute 4e-16. erf, which
// has no series for all arguments, is fitted as in f32: relative 3e-16.
#include <math.h>

#include "code/gen/gen.h"

// Constants of the shape of `like`.
static seer_vec fc(seer_gen *g, seer_vec like, double v) { return seer_gen_real_like(g, like, v); }
static seer_vec ic(seer_gen *g, seer_vec like, uint32_t v) {
  return seer_vec_const(g->b, SEER_VEC_I32, seer_gen_width(g, like), v);
}
static seer_vec ic64(seer_gen *g, seer_vec like, int64_t v) {
  return seer_vec_const(g->b, SEER_VEC_I64, seer_gen_width(g, like), (uint64_t)v);
}

static seer_vec add(seer_gen *g, seer_vec a, seer_vec b) {
  return seer_vec2(g->b, SEER_VEC_FADD, a, b);
}
static seer_vec sub(seer_gen *g, seer_vec a, seer_vec b) {
  return seer_vec2(g->b, SEER_VEC_FSUB, a, b);
}
static seer_vec mul(seer_gen *g, seer_vec a, seer_vec b) {
  return seer_vec2(g->b, SEER_VEC_FMUL, a, b);
}

static seer_vec fma3(seer_gen *g, seer_vec a, seer_vec b, seer_vec c) {
  return seer_vec3(g->b, SEER_VEC_FMULADD, a, b, c);
}

static seer_vec magnitude_of(seer_gen *g, seer_vec x) { return seer_vec1(g->b, SEER_VEC_FABS, x); }

// c[0] + c[1] x + ...
static seer_vec horner(seer_gen *g, seer_vec x, const double *c, uint32_t n) {
  seer_vec p = fc(g, x, c[n - 1]);
  for (uint32_t k = n - 1; k-- > 0;) p = fma3(g, p, x, fc(g, x, c[k]));
  return p;
}

static seer_vec compare(seer_gen *g, seer_vec_op op, seer_vec x, double c) {
  return seer_vec2(g->b, op, x, fc(g, x, c));
}
static seer_vec pick(seer_gen *g, seer_vec cond, seer_vec a, seer_vec b) {
  return seer_vec_select(g->b, cond, a, b);
}
static seer_vec bits(seer_gen *g, seer_vec x) {
  return seer_vec_to(g->b, SEER_VEC_BITCAST, x, SEER_VEC_I32);
}
static seer_vec real(seer_gen *g, seer_vec x) {
  return seer_vec_to(g->b, SEER_VEC_BITCAST, x, SEER_VEC_F32);
}

static seer_vec copy_sign(seer_gen *g, seer_vec magnitude, seer_vec sign) {
  return seer_vec2(g->b, SEER_VEC_COPYSIGN, magnitude, sign);
}

static bool is_double(const seer_gen *g, seer_vec x) {
  return seer_vec_at(g->code, x)->elem == SEER_VEC_F64;
}

// ---- f32

// 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits.
#define ROUNDER 12582912.0

// The bits of exp(x * unit), where -87.3365 < x * unit < 88.7228; of any other something else comes
// out. x unit = (n log 2 + r) unit, |r unit| <= log(2) / 2: n is added to the exponent of exp(r
// unit), which makes every number but the subnormal ones. `unit` is a power of two: constants have
// it.
static seer_vec exp_bits(seer_gen *g, seer_vec x, int unit) {
  static const double c[] = {
      0.5000000096, 0.1666651838, 0.04166620445, 0.008368946722, 0.001395058688};
  double scaled[SEER_COUNT_OF(c)];
  for (uint32_t k = 0; k < SEER_COUNT_OF(c); k++) scaled[k] = c[k] * pow(unit, (double)k + 2);
  seer_vec z = fma3(g, x, fc(g, x, 1.4426950408889634 * unit), fc(g, x, ROUNDER));
  seer_vec n = sub(g, z, fc(g, x, ROUNDER));
  seer_vec r = fma3(g, n, fc(g, x, -0.693145751953125 / unit), x);
  r = fma3(g, n, fc(g, x, -1.428606820309417e-06 / unit), r);
  seer_vec p = horner(g, r, scaled, SEER_COUNT_OF(c));
  p = fma3(g, fma3(g, p, r, fc(g, x, unit)), r, fc(g, x, 1.0));
  seer_vec power = seer_vec2(g->b, SEER_VEC_SHL, bits(g, z), ic(g, x, 23));
  return seer_vec2(g->b, SEER_VEC_ADD, bits(g, p), power);
}

// The lower end is taken of bits, the upper of a sum: with AVX-512 both are masks of instructions
// that are there anyway.
static seer_vec exp_of(seer_gen *g, seer_vec x) {
  const double inf = (double)INFINITY;
  seer_vec y = pick(g, compare(g, SEER_VEC_FGE, x, -87.33654), exp_bits(g, x, 1), ic(g, x, 0));
  return pick(g, compare(g, SEER_VEC_FGE_NAN, x, 88.72284), add(g, x, fc(g, x, inf)), real(g, y));
}

// log(x) = e log 2 + log(m), m in [sqrt(1/2), sqrt 2).
static seer_vec log_of(seer_gen *g, seer_vec x) {
  static const double c[] = {-0.4999998924, 0.3333330843, -0.2500151712, 0.2000300463,
      -0.1661122891, 0.1416371216, -0.1320855484, 0.1300326356, -0.07821767375};
  seer_vec is_small = compare(g, SEER_VEC_FLT, x, 0x1p-126);
  seer_vec y = pick(g, is_small, mul(g, x, fc(g, x, 0x1p23)), x);
  seer_vec b = seer_vec2(g->b, SEER_VEC_SUB, bits(g, y), ic(g, x, 0x3F3504F3));
  seer_vec e = seer_vec2(g->b, SEER_VEC_ASHR, b, ic(g, x, 23));
  seer_vec m =
      seer_vec2(g->b, SEER_VEC_SUB, bits(g, y), seer_vec2(g->b, SEER_VEC_SHL, e, ic(g, x, 23)));
  seer_vec f = sub(g, real(g, m), fc(g, x, 1.0));
  seer_vec ef = seer_vec_to(g->b, SEER_VEC_SINT_FLOAT, e, SEER_VEC_F32);
  ef = pick(g, is_small, sub(g, ef, fc(g, x, 23.0)), ef);
  seer_vec p = horner(g, f, c, SEER_COUNT_OF(c));
  seer_vec r = fma3(g, mul(g, f, f), p, mul(g, ef, fc(g, x, 1.428606820309417e-06)));
  r = fma3(g, ef, fc(g, x, 0.693145751953125), add(g, f, r));
  r = pick(g, compare(g, SEER_VEC_FEQ, x, (double)INFINITY), x, r);
  r = pick(g, compare(g, SEER_VEC_FEQ, x, 0.0), fc(g, x, -(double)INFINITY), r);
  return pick(g, compare(g, SEER_VEC_FGE_NAN, x, 0.0),
      pick(g, seer_vec2(g->b, SEER_VEC_FNAN, x, x), x, r), fc(g, x, (double)NAN));
}

static seer_vec sigmoid_of(seer_gen *g, seer_vec x) {
  seer_vec e = exp_of(g, seer_vec1(g->b, SEER_VEC_FNEG, x));
  return seer_vec2(g->b, SEER_VEC_FDIV, fc(g, x, 1.0), add(g, e, fc(g, x, 1.0)));
}

// 1 - 2 / (exp(2|x|) + 1), and an odd polynomial where that would cancel, and of NaN; 1 from 10 on.
static seer_vec tanh_of(seer_gen *g, seer_vec x) {
  static const double c[] = {
      -0.3333328486, 0.133315087, -0.05374456529, 0.02065321578, -0.005719278055};
  seer_vec one = fc(g, x, 1.0), a = magnitude_of(g, x);
  seer_vec e = real(g, exp_bits(g, seer_gen_float_extreme(g, false, fc(g, x, 10.0), a), 2));
  seer_vec large = sub(g, one, seer_vec2(g->b, SEER_VEC_FDIV, fc(g, x, 2.0), add(g, e, one)));
  seer_vec u = mul(g, x, x);
  seer_vec small = fma3(g, mul(g, u, a), horner(g, u, c, SEER_COUNT_OF(c)), a);
  return copy_sign(g, pick(g, compare(g, SEER_VEC_FGE, a, 0.625), large, small), x);
}

// x + x P(x^2) below 1 and of NaN, 1 - exp(Q(|x|)) above; 1 from 3.95 on.
static seer_vec erf_of(seer_gen *g, seer_vec x) {
  static const double near[] = {0.1283791659, -0.37612627, 0.1128359841, -0.02685435933,
      0.005189352125, -0.000801904614, 7.88258161e-05};
  static const double far[] = {0.0002032838572, -1.12965575, -0.6330512939, -0.108624832,
      0.02536301514, -0.004277456978, 0.0004623769318, -2.508830694e-05, 2.357342151e-07};
  if (g->machine->has_picks) return copy_sign(g, seer_gen_erf_by_pieces(g, x), x);
  seer_vec a = magnitude_of(g, x), u = mul(g, x, x);
  seer_vec small = fma3(g, a, horner(g, u, near, SEER_COUNT_OF(near)), a);
  seer_vec b = seer_gen_float_extreme(g, false, fc(g, x, 3.95), a);
  seer_vec tail = real(g, exp_bits(g, horner(g, b, far, SEER_COUNT_OF(far)), 1));
  seer_vec large = sub(g, fc(g, x, 1.0), tail);
  return copy_sign(g, pick(g, compare(g, SEER_VEC_FGE, a, 1.0), large, small), x);
}

// Quadrants: x = n pi/2 + r. pi/2 in three parts, the first two with few bits, so that n times them
// is exact.
static seer_vec sin_or_cos(seer_gen *g, seer_vec x, bool is_cos) {
  static const double s[] = {-0.1666666664, 0.008333329386, -0.0001983933457, 2.718308101e-06};
  static const double c[] = {0.04166664688, -0.001388736793, 2.443848104e-05};
  seer_vec z = fma3(g, x, fc(g, x, 0.6366197723675814), fc(g, x, ROUNDER));
  seer_vec n = sub(g, z, fc(g, x, ROUNDER));
  seer_vec r = fma3(g, n, fc(g, x, -1.5703125), x);
  r = fma3(g, n, fc(g, x, -0.000483751296997070312), r);
  r = fma3(g, n, fc(g, x, -7.549789948768648e-08), r);
  seer_vec quadrant = bits(g, z);
  seer_gen_far_angle(g, x, 1e4, &r, &quadrant);
  seer_vec u = mul(g, r, r);
  seer_vec sine = fma3(g, mul(g, u, r), horner(g, u, s, SEER_COUNT_OF(s)), r);
  seer_vec cosine = fma3(g, fc(g, x, -0.5), u, fc(g, x, 1.0));
  cosine = fma3(g, mul(g, u, u), horner(g, u, c, SEER_COUNT_OF(c)), cosine);
  if (is_cos) quadrant = seer_vec2(g->b, SEER_VEC_ADD, quadrant, ic(g, x, 1));
  seer_vec odd = seer_vec2(g->b, SEER_VEC_AND, quadrant, ic(g, x, 1));
  seer_vec y = pick(g, seer_vec2(g->b, SEER_VEC_NE, odd, ic(g, x, 0)), cosine, sine);
  seer_vec sign = seer_vec2(g->b, SEER_VEC_AND, quadrant, ic(g, x, 2));
  sign = seer_vec2(g->b, SEER_VEC_SHL, sign, ic(g, x, 30));
  return real(g, seer_vec2(g->b, SEER_VEC_XOR, bits(g, y), sign));
}

seer_vec seer_gen_math(seer_gen *g, seer_expr_op op, seer_vec x) {
  switch ((int)op) {
    case SEER_EXPR_EXP:
      return exp_of(g, x);
    case SEER_EXPR_LOG:
      return log_of(g, x);
    case SEER_EXPR_SIGMOID:
      return sigmoid_of(g, x);
    case SEER_EXPR_TANH:
      return tanh_of(g, x);
    case SEER_EXPR_ERF:
      return erf_of(g, x);
    case SEER_EXPR_SIN:
      return sin_or_cos(g, x, false);
    case SEER_EXPR_COS:
      return sin_or_cos(g, x, true);
    default:
      break;
  }
  SEER_ASSERT(false, "operator %d", (int)op);
}

// ---- f64. `n` terms: 7 and 10 are enough for pow on f32, 1e-10.

// The series of atanh.
static seer_vec log_f64(seer_gen *g, seer_vec x, uint32_t n) {
  static const double c[] = {2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15,
      2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  seer_vec is_small = compare(g, SEER_VEC_FLT, x, 0x1p-1022);
  seer_vec y = pick(g, is_small, mul(g, x, fc(g, x, 0x1p52)), x);
  seer_vec b = seer_vec_to(g->b, SEER_VEC_BITCAST, y, SEER_VEC_I64);
  seer_vec d = seer_vec2(g->b, SEER_VEC_SUB, b, ic64(g, x, 0x3FE6A09E667F3BCD));
  seer_vec shift = ic64(g, x, 52);
  seer_vec e = seer_vec2(g->b, SEER_VEC_ASHR, d, shift);
  seer_vec m = seer_vec_to(g->b, SEER_VEC_BITCAST,
      seer_vec2(g->b, SEER_VEC_SUB, b, seer_vec2(g->b, SEER_VEC_SHL, e, shift)), SEER_VEC_F64);
  seer_vec s = seer_vec2(g->b, SEER_VEC_FDIV, sub(g, m, fc(g, x, 1.0)), add(g, m, fc(g, x, 1.0)));
  seer_vec p = mul(g, s, horner(g, mul(g, s, s), c, n));
  seer_vec e32 = seer_vec_to(g->b, SEER_VEC_TRUNC, e, SEER_VEC_I32);
  seer_vec ef = seer_vec_to(g->b, SEER_VEC_SINT_FLOAT, e32, SEER_VEC_F64);
  ef = pick(g, is_small, sub(g, ef, fc(g, x, 52.0)), ef);
  seer_vec r = fma3(g, ef, fc(g, x, 0x1.62e42fefa39efp-1), p);
  r = pick(g, compare(g, SEER_VEC_FEQ, x, 0.0), fc(g, x, -(double)INFINITY), r);
  r = pick(g, compare(g, SEER_VEC_FGE_NAN, x, 0.0), r, fc(g, x, (double)NAN));
  return pick(g, compare(g, SEER_VEC_FEQ_NAN, x, (double)INFINITY), x, r);
}

static seer_vec exp_f64(seer_gen *g, seer_vec x, uint32_t n) {
  static const double c[] = {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
      1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  const double rounder = 6755399441055744.0;  // 1.5 * 2^52
  // ln of the largest number and of the smallest one that is not subnormal
  const double most = 0x1.62e42fefa39efp+9, least = -0x1.6232bdd7abcd2p+9;
  seer_vec y = pick(g, compare(g, SEER_VEC_FGT, x, most), fc(g, x, most), x);
  y = pick(g, compare(g, SEER_VEC_FLT, y, least), fc(g, x, least), y);
  seer_vec z = fma3(g, y, fc(g, x, 1.4426950408889634), fc(g, x, rounder));
  seer_vec k = sub(g, z, fc(g, x, rounder));
  seer_vec r = fma3(g, k, fc(g, x, -0x1.62e42fefp-1), y);  // log 2 in two parts
  r = fma3(g, k, fc(g, x, -0x1.473de6af278edp-34), r);
  seer_vec b = seer_vec_to(g->b, SEER_VEC_BITCAST, z, SEER_VEC_I64);
  b = seer_vec2(g->b, SEER_VEC_SHL, b, ic64(g, x, 52));
  seer_vec p = seer_vec_to(g->b, SEER_VEC_BITCAST, horner(g, r, c, n), SEER_VEC_I64);
  p = seer_vec_to(g->b, SEER_VEC_BITCAST, seer_vec2(g->b, SEER_VEC_ADD, p, b), SEER_VEC_F64);
  p = pick(g, compare(g, SEER_VEC_FGT, x, most), fc(g, x, (double)INFINITY), p);
  p = pick(g, compare(g, SEER_VEC_FLT, x, least), fc(g, x, 0.0), p);
  return pick(g, seer_vec2(g->b, SEER_VEC_FNAN, x, x), x, p);
}

#define EXP_TERMS 14
#define LOG_TERMS 12

// 1 - 2 / (exp(2|x|) + 1); below 0.3 the continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))).
static seer_vec tanh_f64(seer_gen *g, seer_vec x) {
  seer_vec a = magnitude_of(g, x), u = mul(g, x, x), one = fc(g, x, 1.0);
  seer_vec e = add(g, exp_f64(g, add(g, a, a), EXP_TERMS), one);
  seer_vec large = sub(g, one, seer_vec2(g->b, SEER_VEC_FDIV, fc(g, x, 2.0), e)),
           f = fc(g, x, 15.0);
  for (int k = 13; k >= 1; k -= 2)
    f = add(g, fc(g, x, (double)k), seer_vec2(g->b, SEER_VEC_FDIV, u, f));
  seer_vec small = seer_vec2(g->b, SEER_VEC_FDIV, a, f);
  return copy_sign(g, pick(g, compare(g, SEER_VEC_FLT, a, 0.3), small, large), x);
}

// As erf_of, but 1 - exp(-x^2) Q(t), t = (|x| - 2) / (|x| + 2), from 1 on; 1 from 6 on.
static seer_vec erf_f64(seer_gen *g, seer_vec x) {
  static const double near[] = {0.1283791670955125668, -0.3761263890318354662,
      0.1128379167094525290, -0.02686617064327617168, 0.005223977607423142527,
      -0.0008548325989684049113, 0.0001205529532019796359, -0.00001492474465912687831,
      0.000001644751764230323721, -1.620917574906498581e-7, 1.372297597261387571e-8,
      -7.801188983761230818e-10};
  static const double far[] = {0.2553956763105057594, -0.4271858474139568310, 0.2416581942424688004,
      -0.07897858101641556966, 0.003732892398539526337, 0.006997461785661214250,
      -0.0008471425905104646084, -0.0009819764794911405608, 0.00004353615967136496650,
      0.0001742884693509187848, 0.00002762318387847196404, -0.00002661148278193655864,
      -0.00001264409556861860203};
  seer_vec a = magnitude_of(g, x), u = mul(g, x, x), two = fc(g, x, 2.0);
  seer_vec small = fma3(g, a, horner(g, u, near, SEER_COUNT_OF(near)), a);
  seer_vec b = pick(g, compare(g, SEER_VEC_FGT, a, 6.0), fc(g, x, 6.0), a);
  seer_vec t = seer_vec2(g->b, SEER_VEC_FDIV, sub(g, b, two), add(g, b, two));
  seer_vec e = exp_f64(g, seer_vec1(g->b, SEER_VEC_FNEG, mul(g, b, b)), EXP_TERMS);
  seer_vec large = sub(g, fc(g, x, 1.0), mul(g, e, horner(g, t, far, SEER_COUNT_OF(far))));
  return copy_sign(g, pick(g, compare(g, SEER_VEC_FLT, a, 1.0), small, large), x);
}

static seer_vec sin_or_cos_f64(seer_gen *g, seer_vec x, bool is_cos) {
  static const double s[] = {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
      1.0 / 6227020800, -1.0 / 1307674368000};
  static const double c[] = {1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600,
      -1.0 / 87178291200, 1.0 / 20922789888000};
  const double rounder = 6755399441055744.0;
  seer_vec one = ic64(g, x, 1), two = ic64(g, x, 2);
  seer_vec z = fma3(g, x, fc(g, x, 0.6366197723675814), fc(g, x, rounder));
  seer_vec n = sub(g, z, fc(g, x, rounder));
  // pi / 2 in three parts of 33 bits and the rest, so that n times the first two is exact
  seer_vec r = fma3(g, n, fc(g, x, -1.57079632673412561417), x);
  r = fma3(g, n, fc(g, x, -6.07710050630396597660e-11), r);
  r = fma3(g, n, fc(g, x, -2.02226624879595063154e-21), r);
  seer_vec quadrant = seer_vec_to(g->b, SEER_VEC_BITCAST, z, SEER_VEC_I64);
  seer_gen_far_angle(g, x, 1e5, &r, &quadrant);
  seer_vec u = mul(g, r, r);
  seer_vec sine = fma3(g, mul(g, u, r), horner(g, u, s, SEER_COUNT_OF(s)), r);
  seer_vec cosine = fma3(g, fc(g, x, -0.5), u, fc(g, x, 1.0));
  cosine = fma3(g, mul(g, u, u), horner(g, u, c, SEER_COUNT_OF(c)), cosine);
  if (is_cos) quadrant = seer_vec2(g->b, SEER_VEC_ADD, quadrant, one);
  seer_vec odd = seer_vec2(g->b, SEER_VEC_AND, quadrant, one);
  seer_vec y = pick(g, seer_vec2(g->b, SEER_VEC_EQ, odd, one), cosine, sine);
  seer_vec sign =
      seer_vec2(g->b, SEER_VEC_SHL, seer_vec2(g->b, SEER_VEC_AND, quadrant, two), ic64(g, x, 62));
  seer_vec flipped =
      seer_vec2(g->b, SEER_VEC_XOR, seer_vec_to(g->b, SEER_VEC_BITCAST, y, SEER_VEC_I64), sign);
  return seer_vec_to(g->b, SEER_VEC_BITCAST, flipped, SEER_VEC_F64);
}

seer_vec seer_gen_math_f64(seer_gen *g, seer_expr_op op, seer_vec x) {
  switch ((int)op) {
    case SEER_EXPR_EXP:
      return exp_f64(g, x, EXP_TERMS);
    case SEER_EXPR_LOG:
      return log_f64(g, x, LOG_TERMS);
    case SEER_EXPR_SIGMOID: {
      seer_vec e = exp_f64(g, seer_vec1(g->b, SEER_VEC_FNEG, x), EXP_TERMS);
      return seer_vec2(g->b, SEER_VEC_FDIV, fc(g, x, 1.0), add(g, e, fc(g, x, 1.0)));
    }
    case SEER_EXPR_TANH:
      return tanh_f64(g, x);
    case SEER_EXPR_ERF:
      return erf_f64(g, x);
    case SEER_EXPR_SIN:
      return sin_or_cos_f64(g, x, false);
    case SEER_EXPR_COS:
      return sin_or_cos_f64(g, x, true);
    default:
      break;
  }
  SEER_ASSERT(false, "operator %d", (int)op);
}

// ---- pow

// x^(1/2), which is +0 for -0 and infinite for -infinity, where the square root is -0 and NaN.
static seer_vec root_of(seer_gen *g, seer_vec x) {
  const double inf = (double)INFINITY;
  seer_vec root = seer_vec1(g->b, SEER_VEC_SQRT, add(g, x, fc(g, x, 0.0)));
  return pick(g, compare(g, SEER_VEC_FEQ, x, -inf), fc(g, x, inf), root);
}

seer_vec seer_gen_math_pow(seer_gen *g, seer_vec x, seer_vec y) {
  double by;
  if (seer_vec_const_real(g->code, y, &by)) {  // what networks contain
    if (by == 0.0) return fc(g, x, 1.0);
    if (by == 1.0) return x;
    if (by == 2.0) return mul(g, x, x);
    if (by == 3.0) return mul(g, mul(g, x, x), x);
    if (by == -1.0) return seer_vec2(g->b, SEER_VEC_FDIV, fc(g, x, 1.0), x);
    if (by == 0.5) return root_of(g, x);
    if (by == -0.5) return seer_vec2(g->b, SEER_VEC_FDIV, fc(g, x, 1.0), root_of(g, x));
    if (by == 0.75) {
      seer_vec root = root_of(g, x);
      return mul(g, root, seer_vec1(g->b, SEER_VEC_SQRT, root));
    }
  }
  bool is_f64 = is_double(g, x);
  seer_vec a = magnitude_of(g, x), r;
  if (is_f64) {
    r = exp_f64(g, mul(g, log_f64(g, a, LOG_TERMS), y), EXP_TERMS);
  } else {
    seer_vec log = log_f64(g, seer_vec_to(g->b, SEER_VEC_FLOAT_WIDER, a, SEER_VEC_F64), 7);
    r = exp_f64(g, mul(g, log, seer_vec_to(g->b, SEER_VEC_FLOAT_WIDER, y, SEER_VEC_F64)), 10);
    r = seer_vec_to(g->b, SEER_VEC_FLOAT_SHORTER, r, SEER_VEC_F32);
  }
  // x < 0: real only for integers y, negative for odd ones; and for -infinity
  seer_vec half = mul(g, y, fc(g, y, 0.5));
  seer_vec is_integer = seer_vec2(g->b, SEER_VEC_FEQ, seer_gen_round(g, SEER_GEN_FLOOR, y), y);
  seer_vec is_even = seer_vec2(g->b, SEER_VEC_FEQ, seer_gen_round(g, SEER_GEN_FLOOR, half), half);
  seer_vec is_odd =
      seer_vec2(g->b, SEER_VEC_AND, is_integer, seer_vec1(g->b, SEER_VEC_NOT, is_even));
  r = pick(g, is_odd, copy_sign(g, r, x), r);
  seer_vec is_real = seer_vec2(g->b, SEER_VEC_OR, compare(g, SEER_VEC_FGE_NAN, x, 0.0), is_integer);
  is_real = seer_vec2(g->b, SEER_VEC_OR, is_real, compare(g, SEER_VEC_FEQ, a, (double)INFINITY));
  r = pick(g, is_real, r, fc(g, x, (double)NAN));
  seer_vec is_nan = seer_vec2(g->b, SEER_VEC_FNAN, x, y);
  r = pick(g, is_nan, fc(g, x, (double)NAN), r);
  seer_vec is_one = seer_vec2(
      g->b, SEER_VEC_OR, compare(g, SEER_VEC_FEQ, x, 1.0), compare(g, SEER_VEC_FEQ, y, 0.0));
  // (-1)^(+-infinity), of which the logarithm times the exponent is NaN
  seer_vec is_ends = seer_vec2(g->b, SEER_VEC_AND, compare(g, SEER_VEC_FEQ, a, 1.0),
      compare(g, SEER_VEC_FEQ, magnitude_of(g, y), (double)INFINITY));
  is_one = seer_vec2(g->b, SEER_VEC_OR, is_one, is_ends);
  return pick(g, is_one, fc(g, x, 1.0), r);
}
