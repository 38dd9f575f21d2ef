// math.c - elementary functions as vector code on f32: kernels have no libm.
// Range reduction, then a minimax polynomial (coefficients: tool/fit_math.py) evaluated by Horner's
// rule with multiply-adds. Errors below were measured against libm over the stated ranges by
// test/unit/code/test_math.c, with FMA in hardware and without it: the bounds hold for both.
//
//   exp      1.2 ulp; 0 for x < -86.9                     tanh     1.5 ulp
//   log      1 ulp, denormals included                    erf      1.5 ulp
//   sigmoid  2.5 ulp                                      sin, cos absolute 1e-7 for |x| < 1e4; worse beyond
//   pow      1 ulp (computed in f64)
//
// On f64, where speed matters less: Taylor series after the same reductions; relative errors exp,
// log, sigmoid 4e-16, tanh 1e-15, pow 1e-15 times |y log x|; sin and cos absolute 4e-16 for |x| <
// 1e5. erf has no f64 code.
#include <math.h>

#include "code/llvm/gen.h"

static LLVMTypeRef shape(LLVMTypeRef elem, LLVMValueRef like) {
  return seer_gen_lanes_type(elem, seer_gen_width(like));
}

static LLVMValueRef spread(LLVMValueRef c, LLVMValueRef like) {
  LLVMValueRef all[256];
  uint32_t n = seer_gen_width(like);
  if (n == 1) return c;
  for (uint32_t l = 0; l < n; l++) all[l] = c;
  return LLVMConstVector(all, n);
}

// Constants of the shape of `like`.
static LLVMValueRef fc(seer_gen *g, LLVMValueRef like, double v) {
  (void)g;
  LLVMTypeRef type = LLVMTypeOf(like);
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  return spread(LLVMConstReal(type, v), like);
}
static LLVMValueRef ic(seer_gen *g, LLVMValueRef like, uint32_t v) {
  return spread(LLVMConstInt(g->i32, v, false), like);
}

static LLVMValueRef add(seer_gen *g, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFAdd(g->b, a, b, "");
}
static LLVMValueRef sub(seer_gen *g, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFSub(g->b, a, b, "");
}
static LLVMValueRef mul(seer_gen *g, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFMul(g->b, a, b, "");
}

static LLVMValueRef fma3(seer_gen *g, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef args[3] = {a, b, c};
  return seer_gen_call(g, "llvm.fmuladd", &type, 1, args, 3);
}

static LLVMValueRef call1(seer_gen *g, const char *name, LLVMValueRef a) {
  LLVMTypeRef type = LLVMTypeOf(a);
  return seer_gen_call(g, name, &type, 1, &a, 1);
}

// c[0] + c[1] x + ...
static LLVMValueRef horner(seer_gen *g, LLVMValueRef x, const double *c, uint32_t n) {
  LLVMValueRef p = fc(g, x, c[n - 1]);
  for (uint32_t k = n - 1; k-- > 0;) p = fma3(g, p, x, fc(g, x, c[k]));
  return p;
}

static LLVMValueRef compare(seer_gen *g, LLVMRealPredicate op, LLVMValueRef x, double c) {
  return LLVMBuildFCmp(g->b, op, x, fc(g, x, c), "");
}
static LLVMValueRef pick(seer_gen *g, LLVMValueRef cond, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(g->b, cond, a, b, "");
}
static LLVMValueRef bits(seer_gen *g, LLVMValueRef x) {
  return LLVMBuildBitCast(g->b, x, shape(g->i32, x), "");
}
static LLVMValueRef real(seer_gen *g, LLVMValueRef x) {
  return LLVMBuildBitCast(g->b, x, shape(g->f32, x), "");
}

static LLVMValueRef copy_sign(seer_gen *g, LLVMValueRef magnitude, LLVMValueRef sign) {
  LLVMTypeRef type = LLVMTypeOf(sign);
  LLVMValueRef args[2] = {magnitude, sign};
  return seer_gen_call(g, "llvm.copysign", &type, 1, args, 2);
}

// ---- rounding to integers

// Where numbers are so large that their last place is 1, adding and taking away again rounds to
// nearest even.
static LLVMValueRef round_even_by_sum(seer_gen *g, LLVMValueRef x) {
  bool is_f64 = LLVMTypeOf(x) == shape(g->f64, x);
  double c = is_f64 ? 0x1p52 : 0x1p23;
  LLVMValueRef large = copy_sign(g, fc(g, x, c), x);
  LLVMValueRef r = copy_sign(g, sub(g, add(g, x, large), large), x);
  return pick(g, compare(g, LLVMRealOLT, call1(g, "llvm.fabs", x), c), r, x);
}

// x, or the integer below (or above) it: what the nearest one is on the wrong side of.
static LLVMValueRef towards(seer_gen *g, LLVMValueRef x, bool is_up) {
  LLVMValueRef r = round_even_by_sum(g, x), one = fc(g, x, is_up ? 1.0 : -1.0);
  LLVMValueRef is_wrong = LLVMBuildFCmp(g->b, is_up ? LLVMRealOLT : LLVMRealOGT, r, x, "");
  return copy_sign(g, pick(g, is_wrong, add(g, r, one), r), x);
}

LLVMValueRef seer_gen_round(seer_gen *g, seer_gen_rounding how, LLVMValueRef x) {
  static const char *const instruction[] = {
      "llvm.floor", "llvm.ceil", "llvm.trunc", "llvm.roundeven"};
  if (g->has_rounding) return call1(g, instruction[how], x);
  switch (how) {
    case SEER_GEN_FLOOR:
      return towards(g, x, false);
    case SEER_GEN_CEIL:
      return towards(g, x, true);
    case SEER_GEN_TRUNC:
      return copy_sign(g, towards(g, call1(g, "llvm.fabs", x), false), x);
    case SEER_GEN_EVEN:
      return round_even_by_sum(g, x);
  }
  SEER_ASSERT(false, "rounding %d", (int)how);
}

// ---- f32

// 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits.
#define ROUNDER 12582912.0

// exp(x) = 2^n exp(r), |r| <= log(2)/2. The factor is made as 2^(n-1) * 2, so that n = 128 is no
// special case.
static LLVMValueRef exp_of(seer_gen *g, LLVMValueRef x) {
  static const double c[] = {
      0.5000000096, 0.1666651838, 0.04166620445, 0.008368946722, 0.001395058688};
  LLVMValueRef z = fma3(g, x, fc(g, x, 1.4426950408889634), fc(g, x, ROUNDER));
  LLVMValueRef n = sub(g, z, fc(g, x, ROUNDER));
  LLVMValueRef r = fma3(g, n, fc(g, x, -0.693145751953125), x);
  r = fma3(g, n, fc(g, x, -1.428606820309417e-06), r);
  LLVMValueRef p = horner(g, r, c, SEER_COUNT_OF(c));
  p = add(g, fma3(g, mul(g, r, r), p, r), fc(g, x, 1.0));
  LLVMValueRef scale = LLVMBuildShl(g->b, bits(g, z), ic(g, x, 23), "");
  scale = real(g, LLVMBuildAdd(g->b, scale, ic(g, x, 126u << 23), ""));
  LLVMValueRef y = mul(g, add(g, p, p), scale);
  y = pick(g, compare(g, LLVMRealOGT, x, 88.72283), fc(g, x, (double)INFINITY), y);
  return pick(g, compare(g, LLVMRealOLT, x, -86.9), fc(g, x, 0.0), y);
}

// log(x) = e log 2 + log(m), m in [sqrt(1/2), sqrt 2).
static LLVMValueRef log_of(seer_gen *g, LLVMValueRef x) {
  static const double c[] = {-0.4999998924, 0.3333330843, -0.2500151712, 0.2000300463,
      -0.1661122891, 0.1416371216, -0.1320855484, 0.1300326356, -0.07821767375};
  LLVMValueRef is_small = compare(g, LLVMRealOLT, x, 0x1p-126);
  LLVMValueRef y = pick(g, is_small, mul(g, x, fc(g, x, 0x1p23)), x);
  LLVMValueRef b = LLVMBuildSub(g->b, bits(g, y), ic(g, x, 0x3F3504F3), "");
  LLVMValueRef e = LLVMBuildAShr(g->b, b, ic(g, x, 23), "");
  LLVMValueRef m = LLVMBuildSub(g->b, bits(g, y), LLVMBuildShl(g->b, e, ic(g, x, 23), ""), "");
  LLVMValueRef f = sub(g, real(g, m), fc(g, x, 1.0));
  LLVMValueRef ef = LLVMBuildSIToFP(g->b, e, shape(g->f32, x), "");
  ef = pick(g, is_small, sub(g, ef, fc(g, x, 23.0)), ef);
  LLVMValueRef p = horner(g, f, c, SEER_COUNT_OF(c));
  LLVMValueRef r = fma3(g, mul(g, f, f), p, mul(g, ef, fc(g, x, 1.428606820309417e-06)));
  r = fma3(g, ef, fc(g, x, 0.693145751953125), add(g, f, r));
  r = pick(g, compare(g, LLVMRealOEQ, x, (double)INFINITY), x, r);
  r = pick(g, compare(g, LLVMRealOEQ, x, 0.0), fc(g, x, -(double)INFINITY), r);
  return pick(g, compare(g, LLVMRealUGE, x, 0.0),
      pick(g, LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, ""), x, r), fc(g, x, (double)NAN));
}

static LLVMValueRef sigmoid_of(seer_gen *g, LLVMValueRef x) {
  LLVMValueRef e = exp_of(g, LLVMBuildFNeg(g->b, x, ""));
  return LLVMBuildFDiv(g->b, fc(g, x, 1.0), add(g, e, fc(g, x, 1.0)), "");
}

// 1 - 2 / (exp(2|x|) + 1), and an odd polynomial where that would cancel.
static LLVMValueRef tanh_of(seer_gen *g, LLVMValueRef x) {
  static const double c[] = {
      -0.3333328486, 0.133315087, -0.05374456529, 0.02065321578, -0.005719278055};
  LLVMValueRef a = call1(g, "llvm.fabs", x);
  LLVMValueRef e = add(g, exp_of(g, add(g, a, a)), fc(g, x, 1.0));
  LLVMValueRef large = sub(g, fc(g, x, 1.0), LLVMBuildFDiv(g->b, fc(g, x, 2.0), e, ""));
  LLVMValueRef u = mul(g, x, x);
  LLVMValueRef small = fma3(g, mul(g, u, a), horner(g, u, c, SEER_COUNT_OF(c)), a);
  return copy_sign(g, pick(g, compare(g, LLVMRealOLT, a, 0.625), small, large), x);
}

// x + x P(x^2) below 1, 1 - exp(Q(|x|)) above; 1 from 3.95 on.
static LLVMValueRef erf_of(seer_gen *g, LLVMValueRef x) {
  static const double near[] = {0.1283791659, -0.37612627, 0.1128359841, -0.02685435933,
      0.005189352125, -0.000801904614, 7.88258161e-05};
  static const double far[] = {0.0002032838572, -1.12965575, -0.6330512939, -0.108624832,
      0.02536301514, -0.004277456978, 0.0004623769318, -2.508830694e-05, 2.357342151e-07};
  LLVMValueRef a = call1(g, "llvm.fabs", x), u = mul(g, x, x);
  LLVMValueRef small = fma3(g, a, horner(g, u, near, SEER_COUNT_OF(near)), a);
  LLVMValueRef b = pick(g, compare(g, LLVMRealOGT, a, 3.95), fc(g, x, 3.95), a);
  LLVMValueRef large = sub(g, fc(g, x, 1.0), exp_of(g, horner(g, b, far, SEER_COUNT_OF(far))));
  return copy_sign(g, pick(g, compare(g, LLVMRealOLT, a, 1.0), small, large), x);
}

// Quadrants: x = n pi/2 + r. pi/2 in three parts, the first two with few bits, so that n times them
// is exact.
static LLVMValueRef sin_or_cos(seer_gen *g, LLVMValueRef x, bool is_cos) {
  static const double s[] = {-0.1666666664, 0.008333329386, -0.0001983933457, 2.718308101e-06};
  static const double c[] = {0.04166664688, -0.001388736793, 2.443848104e-05};
  LLVMValueRef z = fma3(g, x, fc(g, x, 0.6366197723675814), fc(g, x, ROUNDER));
  LLVMValueRef n = sub(g, z, fc(g, x, ROUNDER));
  LLVMValueRef r = fma3(g, n, fc(g, x, -1.5703125), x);
  r = fma3(g, n, fc(g, x, -0.000483751296997070312), r);
  r = fma3(g, n, fc(g, x, -7.549789948768648e-08), r);
  LLVMValueRef u = mul(g, r, r);
  LLVMValueRef sine = fma3(g, mul(g, u, r), horner(g, u, s, SEER_COUNT_OF(s)), r);
  LLVMValueRef cosine = fma3(g, fc(g, x, -0.5), u, fc(g, x, 1.0));
  cosine = fma3(g, mul(g, u, u), horner(g, u, c, SEER_COUNT_OF(c)), cosine);
  LLVMValueRef quadrant = bits(g, z);
  if (is_cos) quadrant = LLVMBuildAdd(g->b, quadrant, ic(g, x, 1), "");
  LLVMValueRef odd = LLVMBuildAnd(g->b, quadrant, ic(g, x, 1), "");
  LLVMValueRef y = pick(g, LLVMBuildICmp(g->b, LLVMIntNE, odd, ic(g, x, 0), ""), cosine, sine);
  LLVMValueRef sign = LLVMBuildAnd(g->b, quadrant, ic(g, x, 2), "");
  sign = LLVMBuildShl(g->b, sign, ic(g, x, 30), "");
  return real(g, LLVMBuildXor(g->b, bits(g, y), sign, ""));
}

LLVMValueRef seer_gen_math(seer_gen *g, seer_expr_op op, LLVMValueRef x) {
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
static LLVMValueRef log_f64(seer_gen *g, LLVMValueRef x, uint32_t n) {
  static const double c[] = {2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15,
      2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  LLVMTypeRef i64 = shape(g->i64, x), f64 = shape(g->f64, x);
  LLVMValueRef is_small = compare(g, LLVMRealOLT, x, 0x1p-1022);
  LLVMValueRef y = pick(g, is_small, mul(g, x, fc(g, x, 0x1p52)), x);
  LLVMValueRef b = LLVMBuildBitCast(g->b, y, i64, "");
  LLVMValueRef d = LLVMBuildSub(g->b, b, spread(seer_gen_const_i64(g, 0x3FE6A09E667F3BCD), x), "");
  LLVMValueRef shift = spread(seer_gen_const_i64(g, 52), x);
  LLVMValueRef e = LLVMBuildAShr(g->b, d, shift, "");
  LLVMValueRef m =
      LLVMBuildBitCast(g->b, LLVMBuildSub(g->b, b, LLVMBuildShl(g->b, e, shift, ""), ""), f64, "");
  LLVMValueRef s = LLVMBuildFDiv(g->b, sub(g, m, fc(g, x, 1.0)), add(g, m, fc(g, x, 1.0)), "");
  LLVMValueRef p = mul(g, s, horner(g, mul(g, s, s), c, n));
  LLVMValueRef e32 = LLVMBuildTrunc(g->b, e, shape(g->i32, x), "");
  LLVMValueRef ef = LLVMBuildSIToFP(g->b, e32, f64, "");
  ef = pick(g, is_small, sub(g, ef, fc(g, x, 52.0)), ef);
  LLVMValueRef r = fma3(g, ef, fc(g, x, 0x1.62e42fefa39efp-1), p);
  r = pick(g, compare(g, LLVMRealOEQ, x, 0.0), fc(g, x, -(double)INFINITY), r);
  r = pick(g, compare(g, LLVMRealUGE, x, 0.0), r, fc(g, x, (double)NAN));
  return pick(g, compare(g, LLVMRealUEQ, x, (double)INFINITY), x, r);
}

static LLVMValueRef exp_f64(seer_gen *g, LLVMValueRef x, uint32_t n) {
  static const double c[] = {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
      1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  const double rounder = 6755399441055744.0;  // 1.5 * 2^52
  LLVMValueRef y = pick(g, compare(g, LLVMRealOGT, x, 709.7), fc(g, x, 709.7), x);
  y = pick(g, compare(g, LLVMRealOLT, y, -708.3), fc(g, x, -708.3), y);
  LLVMValueRef z = fma3(g, y, fc(g, x, 1.4426950408889634), fc(g, x, rounder));
  LLVMValueRef k = sub(g, z, fc(g, x, rounder));
  LLVMValueRef r = fma3(g, k, fc(g, x, -0x1.62e42fefp-1), y);  // log 2 in two parts
  r = fma3(g, k, fc(g, x, -0x1.473de6af278edp-34), r);
  LLVMValueRef b = LLVMBuildBitCast(g->b, z, shape(g->i64, x), "");
  b = LLVMBuildShl(g->b, b, spread(seer_gen_const_i64(g, 52), x), "");
  // 2^(k-1) * 2, so that k = 1024 is no special case.
  b = LLVMBuildAdd(g->b, b, spread(seer_gen_const_i64(g, INT64_C(1022) << 52), x), "");
  LLVMValueRef p = horner(g, r, c, n);
  p = mul(g, add(g, p, p), LLVMBuildBitCast(g->b, b, shape(g->f64, x), ""));
  p = pick(g, compare(g, LLVMRealOGT, x, 709.78), fc(g, x, (double)INFINITY), p);
  p = pick(g, compare(g, LLVMRealOLT, x, -708.3), fc(g, x, 0.0), p);
  return pick(g, LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, ""), x, p);
}

#define EXP_TERMS 14
#define LOG_TERMS 12

// 1 - 2 / (exp(2|x|) + 1); below 0.3 the continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))).
static LLVMValueRef tanh_f64(seer_gen *g, LLVMValueRef x) {
  LLVMValueRef a = call1(g, "llvm.fabs", x), u = mul(g, x, x), one = fc(g, x, 1.0);
  LLVMValueRef e = add(g, exp_f64(g, add(g, a, a), EXP_TERMS), one);
  LLVMValueRef large = sub(g, one, LLVMBuildFDiv(g->b, fc(g, x, 2.0), e, "")), f = fc(g, x, 15.0);
  for (int k = 13; k >= 1; k -= 2) f = add(g, fc(g, x, (double)k), LLVMBuildFDiv(g->b, u, f, ""));
  LLVMValueRef small = LLVMBuildFDiv(g->b, a, f, "");
  return copy_sign(g, pick(g, compare(g, LLVMRealOLT, a, 0.3), small, large), x);
}

static LLVMValueRef sin_or_cos_f64(seer_gen *g, LLVMValueRef x, bool is_cos) {
  static const double s[] = {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
      1.0 / 6227020800, -1.0 / 1307674368000};
  static const double c[] = {1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600,
      -1.0 / 87178291200, 1.0 / 20922789888000};
  const double rounder = 6755399441055744.0;
  LLVMTypeRef i64 = shape(g->i64, x);
  LLVMValueRef one = spread(seer_gen_const_i64(g, 1), x), two = spread(seer_gen_const_i64(g, 2), x);
  LLVMValueRef z = fma3(g, x, fc(g, x, 0.6366197723675814), fc(g, x, rounder));
  LLVMValueRef n = sub(g, z, fc(g, x, rounder));
  // pi / 2 in three parts of 33 bits and the rest, so that n times the first two is exact
  LLVMValueRef r = fma3(g, n, fc(g, x, -1.57079632673412561417), x);
  r = fma3(g, n, fc(g, x, -6.07710050630396597660e-11), r);
  r = fma3(g, n, fc(g, x, -2.02226624879595063154e-21), r);
  LLVMValueRef u = mul(g, r, r);
  LLVMValueRef sine = fma3(g, mul(g, u, r), horner(g, u, s, SEER_COUNT_OF(s)), r);
  LLVMValueRef cosine = fma3(g, fc(g, x, -0.5), u, fc(g, x, 1.0));
  cosine = fma3(g, mul(g, u, u), horner(g, u, c, SEER_COUNT_OF(c)), cosine);
  LLVMValueRef quadrant = LLVMBuildBitCast(g->b, z, i64, "");
  if (is_cos) quadrant = LLVMBuildAdd(g->b, quadrant, one, "");
  LLVMValueRef odd = LLVMBuildAnd(g->b, quadrant, one, "");
  LLVMValueRef y = pick(g, LLVMBuildICmp(g->b, LLVMIntEQ, odd, one, ""), cosine, sine);
  LLVMValueRef sign = LLVMBuildShl(
      g->b, LLVMBuildAnd(g->b, quadrant, two, ""), spread(seer_gen_const_i64(g, 62), x), "");
  LLVMValueRef flipped = LLVMBuildXor(g->b, LLVMBuildBitCast(g->b, y, i64, ""), sign, "");
  return LLVMBuildBitCast(g->b, flipped, shape(g->f64, x), "");
}

LLVMValueRef seer_gen_math_f64(seer_gen *g, seer_expr_op op, LLVMValueRef x) {
  switch ((int)op) {
    case SEER_EXPR_EXP:
      return exp_f64(g, x, EXP_TERMS);
    case SEER_EXPR_LOG:
      return log_f64(g, x, LOG_TERMS);
    case SEER_EXPR_SIGMOID: {
      LLVMValueRef e = exp_f64(g, LLVMBuildFNeg(g->b, x, ""), EXP_TERMS);
      return LLVMBuildFDiv(g->b, fc(g, x, 1.0), add(g, e, fc(g, x, 1.0)), "");
    }
    case SEER_EXPR_TANH:
      return tanh_f64(g, x);
    case SEER_EXPR_SIN:
      return sin_or_cos_f64(g, x, false);
    case SEER_EXPR_COS:
      return sin_or_cos_f64(g, x, true);
    default:
      break;
  }
  return NULL;
}

// ---- pow

LLVMValueRef seer_gen_math_pow(seer_gen *g, LLVMValueRef x, LLVMValueRef y) {
  double by;
  if (seer_gen_const_real(y, &by)) {  // what networks contain
    if (by == 1.0) return x;
    if (by == 2.0) return mul(g, x, x);
    if (by == 3.0) return mul(g, mul(g, x, x), x);
    if (by == -1.0) return LLVMBuildFDiv(g->b, fc(g, x, 1.0), x, "");
    if (by == 0.5) return call1(g, "llvm.sqrt", x);
    if (by == -0.5) return LLVMBuildFDiv(g->b, fc(g, x, 1.0), call1(g, "llvm.sqrt", x), "");
    if (by == 0.75) {
      LLVMValueRef root = call1(g, "llvm.sqrt", x);
      return mul(g, root, call1(g, "llvm.sqrt", root));
    }
  }
  bool is_f64 = LLVMTypeOf(x) == shape(g->f64, x);
  LLVMTypeRef f64 = shape(g->f64, x), f32 = shape(g->f32, x);
  LLVMValueRef a = call1(g, "llvm.fabs", x), r;
  if (is_f64) {
    r = exp_f64(g, mul(g, log_f64(g, a, LOG_TERMS), y), EXP_TERMS);
  } else {
    LLVMValueRef log = log_f64(g, LLVMBuildFPExt(g->b, a, f64, ""), 7);
    r = exp_f64(g, mul(g, log, LLVMBuildFPExt(g->b, y, f64, "")), 10);
    r = LLVMBuildFPTrunc(g->b, r, f32, "");
  }
  // x < 0: real only for integers y, negative for odd ones
  LLVMValueRef half = mul(g, y, fc(g, y, 0.5));
  LLVMValueRef is_integer =
      LLVMBuildFCmp(g->b, LLVMRealOEQ, seer_gen_round(g, SEER_GEN_FLOOR, y), y, "");
  LLVMValueRef is_even =
      LLVMBuildFCmp(g->b, LLVMRealOEQ, seer_gen_round(g, SEER_GEN_FLOOR, half), half, "");
  LLVMValueRef is_odd = LLVMBuildAnd(g->b, is_integer, LLVMBuildNot(g->b, is_even, ""), "");
  r = pick(g, is_odd, copy_sign(g, r, x), r);
  LLVMValueRef is_real = LLVMBuildOr(g->b, compare(g, LLVMRealUGE, x, 0.0), is_integer, "");
  r = pick(g, is_real, r, fc(g, x, (double)NAN));
  LLVMValueRef is_nan = LLVMBuildFCmp(g->b, LLVMRealUNO, x, y, "");
  r = pick(g, is_nan, fc(g, x, (double)NAN), r);
  LLVMValueRef is_one =
      LLVMBuildOr(g->b, compare(g, LLVMRealOEQ, x, 1.0), compare(g, LLVMRealOEQ, y, 0.0), "");
  return pick(g, is_one, fc(g, x, 1.0), r);
}
