// interval.c - interval arithmetic, operator by operator.

#include "measure/answer/interval.h"

#include <math.h>

#include "dag/scalar.h"

#define HALF_PI 1.5707963267948966
#define PI 3.1415926535897932

static const seer_domain anything = {-INFINITY, INFINITY};
static const seer_domain truth = {0, 1};

static seer_domain make(double low, double high) {
  return isnan(low) || isnan(high) ? anything : (seer_domain){low, high};
}

static bool holds(seer_domain a, double value) { return a.low <= value && value <= a.high; }

seer_domain seer_interval_union(seer_domain a, seer_domain b) {
  return make(fmin(a.low, b.low), fmax(a.high, b.high));
}

// The least interval of the results at the four corners.
static seer_domain corners(seer_domain a, seer_domain b, double (*f)(double, double)) {
  double x[4] = {f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)};
  seer_domain out = make(x[0], x[0]);
  for (int k = 1; k < 4; k++) out = seer_interval_union(out, make(x[k], x[k]));
  return out;
}

static double product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }
static double quotient(double a, double b) { return isinf(b) ? 0 : a / b; }

// ---- the range of a type
static seer_domain all_of(seer_dtype dtype) {
  if (seer_dtype_is_float(dtype)) return anything;
  if (dtype == SEER_DTYPE_BOOL) return truth;
  double n = (double)seer_dtype_bits(dtype);
  if (!seer_dtype_is_signed(dtype)) return (seer_domain){0, exp2(n) - 1};
  return (seer_domain){-exp2(n - 1), exp2(n - 1) - 1};
}

// Integers wrap: what may be beyond their type may be anything of it.
static seer_domain within(seer_domain a, seer_dtype dtype) {
  seer_domain all = all_of(dtype);
  return a.low < all.low || a.high > all.high ? all : a;
}

// ---- operators
static seer_domain divide(const seer_interval_op *o, bool *out_is_undefined) {
  seer_domain a = o->arg[0], b = o->arg[1];
  *out_is_undefined = holds(b, 0);
  if (*out_is_undefined) return a.low >= 0 && b.low >= 0 ? make(0, INFINITY) : anything;
  if (o->is_same) return make(1, 1);
  seer_domain out = corners(a, b, quotient);
  return seer_dtype_is_float(o->dtype) ? out : make(floor(out.low), floor(out.high));
}

static seer_domain raise_to_whole(seer_domain base, double n, bool *out_is_undefined) {
  *out_is_undefined = n < 0 && holds(base, 0);
  if (*out_is_undefined) return anything;
  double low = pow(base.low, n), high = pow(base.high, n);
  bool is_even = fmod(n, 2) == 0, crosses = base.low < 0 && base.high > 0;
  double least = is_even && crosses ? 0 : fmin(low, high);
  return make(least, fmax(low, high));
}

static seer_domain power(const seer_interval_op *o, bool *out_is_undefined) {
  seer_domain base = o->arg[0], exponent = o->arg[1];
  bool is_whole = exponent.low == exponent.high && floor(exponent.low) == exponent.low;
  if (is_whole) return raise_to_whole(base, exponent.low, out_is_undefined);
  *out_is_undefined = !seer_dtype_is_float(o->dtype)
      ? exponent.low < 0
      : base.low < 0 || (base.low <= 0 && exponent.low < 0);
  return *out_is_undefined || base.low < 0 ? anything : corners(base, exponent, pow);
}

static seer_domain shift(const seer_interval_op *o, bool *out_is_undefined) {
  seer_domain a = o->arg[0], n = o->arg[1];
  *out_is_undefined = n.low < 0 || n.high >= seer_dtype_bits(o->dtype);
  if (*out_is_undefined) return all_of(o->dtype);
  seer_domain by =
      o->op == SEER_EXPR_SHL ? make(exp2(n.low), exp2(n.high)) : make(exp2(-n.high), exp2(-n.low));
  seer_domain out = corners(a, by, product);
  return make(floor(out.low), floor(out.high));
}

static seer_domain wave(seer_expr_op op, seer_domain a) {
  if (op == SEER_EXPR_SIN)
    return a.low >= -HALF_PI && a.high <= HALF_PI ? make(sin(a.low), sin(a.high)) : make(-1, 1);
  if (a.low < -PI || a.high > PI) return make(-1, 1);
  double low = cos(a.low), high = cos(a.high);
  return make(fmin(low, high), holds(a, 0) ? 1 : fmax(low, high));
}

// 0 or 1, where the ranges say which.
static seer_domain order(seer_expr_op op, seer_domain a, seer_domain b) {
  bool is_less = op == SEER_EXPR_LT || op == SEER_EXPR_LE;
  if (op != SEER_EXPR_GT && op != SEER_EXPR_GE && !is_less) return truth;
  seer_domain small = is_less ? a : b, large = is_less ? b : a;
  if (small.high < large.low) return make(1, 1);
  return small.low > large.high ? make(0, 0) : truth;
}

static seer_domain bits(const seer_interval_op *o) {
  if (o->dtype == SEER_DTYPE_BOOL) return truth;
  seer_domain a = o->arg[0], b = o->arg[1];
  if (a.low < 0 || b.low < 0) return all_of(o->dtype);
  double most = fmax(a.high, b.high);
  return make(0, o->op == SEER_EXPR_AND ? fmin(a.high, b.high) : exp2(ceil(log2(most + 1))) - 1);
}

static seer_domain choose(const seer_interval_op *o) {
  if (o->arg[0].low > 0) return o->arg[1];
  return o->arg[0].high <= 0 ? o->arg[2] : seer_interval_union(o->arg[1], o->arg[2]);
}

static seer_domain convert(const seer_interval_op *o) {
  if (seer_dtype_is_float(o->dtype)) return o->arg[0];
  if (o->dtype == SEER_DTYPE_BOOL) return truth;
  seer_domain all = all_of(o->dtype);
  return make(
      fmax(all.low, trunc(fmin(o->arg[0].low, all.high))), fmin(all.high, ceil(o->arg[0].high)));
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double sign(double x) { return (x > 0) - (x < 0); }

static seer_domain magnitude(seer_domain a) {
  double most = fmax(fabs(a.low), fabs(a.high));
  return make(holds(a, 0) ? 0 : fmin(fabs(a.low), fabs(a.high)), most);
}

static seer_domain times(const seer_interval_op *o) {
  seer_domain a = o->is_same ? magnitude(o->arg[0]) : o->arg[0];
  return corners(a, o->is_same ? a : o->arg[1], product);
}

static seer_domain rest(seer_domain divisor, bool *out_is_undefined) {
  *out_is_undefined = holds(divisor, 0);
  double most = fmax(fabs(divisor.low), fabs(divisor.high));
  return make(-most, most);
}

static seer_domain monotone(seer_domain a, double (*f)(double)) {
  return make(f(a.low), f(a.high));
}

static seer_domain logarithm(seer_domain a, bool *out_is_undefined) {
  *out_is_undefined = a.low <= 0;
  return a.high <= 0 ? anything : make(a.low <= 0 ? -INFINITY : log(a.low), log(a.high));
}

static seer_domain root(seer_domain a, bool *out_is_undefined) {
  *out_is_undefined = a.low < 0;
  return make(sqrt(fmax(0, a.low)), sqrt(fmax(0, a.high)));
}

static double (*rounding(seer_expr_op op))(double) {
  if (op == SEER_EXPR_TF32) return seer_scalar_tf32;
  return op == SEER_EXPR_FLOOR ? floor : op == SEER_EXPR_CEIL ? ceil : nearbyint;
}

static double (*curve(seer_expr_op op))(double) {
  return op == SEER_EXPR_TANH ? tanh : op == SEER_EXPR_ERF ? erf : sigmoid;
}

static seer_domain apply(const seer_interval_op *o, bool *out_is_undefined) {
  seer_domain a = o->arg[0], b = o->arg[1];
  switch (o->op) {
    case SEER_EXPR_ADD:
      return make(a.low + b.low, a.high + b.high);
    case SEER_EXPR_SUB:
      return o->is_same ? make(0, 0) : make(a.low - b.high, a.high - b.low);
    case SEER_EXPR_MUL:
      return times(o);
    case SEER_EXPR_DIV:
      return divide(o, out_is_undefined);
    case SEER_EXPR_MOD:
      return rest(b, out_is_undefined);
    case SEER_EXPR_MIN:
      return make(fmin(a.low, b.low), fmin(a.high, b.high));
    case SEER_EXPR_MAX:
      return make(fmax(a.low, b.low), fmax(a.high, b.high));
    case SEER_EXPR_POW:
      return power(o, out_is_undefined);
    case SEER_EXPR_NEG:
      return make(-a.high, -a.low);
    case SEER_EXPR_ABS:
      return magnitude(a);
    case SEER_EXPR_SIGN:
      return monotone(a, sign);
    case SEER_EXPR_FLOOR:
    case SEER_EXPR_CEIL:
    case SEER_EXPR_ROUND:
    case SEER_EXPR_TF32:
      return monotone(a, rounding(o->op));
    case SEER_EXPR_SQRT:
      return root(a, out_is_undefined);
    case SEER_EXPR_EXP:
      return monotone(a, exp);
    case SEER_EXPR_LOG:
      return logarithm(a, out_is_undefined);
    case SEER_EXPR_SIN:
    case SEER_EXPR_COS:
      return wave(o->op, a);
    case SEER_EXPR_TANH:
    case SEER_EXPR_ERF:
    case SEER_EXPR_SIGMOID:
      return monotone(a, curve(o->op));
    case SEER_EXPR_LT:
    case SEER_EXPR_LE:
    case SEER_EXPR_GT:
    case SEER_EXPR_GE:
    case SEER_EXPR_EQ:
    case SEER_EXPR_NE:
      return order(o->op, a, b);
    case SEER_EXPR_ISNAN:
      return truth;
    case SEER_EXPR_AND:
    case SEER_EXPR_OR:
    case SEER_EXPR_XOR:
      return bits(o);
    case SEER_EXPR_NOT:
      return o->dtype == SEER_DTYPE_BOOL ? make(1 - a.high, 1 - a.low) : all_of(o->dtype);
    case SEER_EXPR_SHL:
    case SEER_EXPR_SHR:
      return shift(o, out_is_undefined);
    case SEER_EXPR_SELECT:
      return choose(o);
    case SEER_EXPR_CAST:
      return convert(o);
    case SEER_EXPR_DOT4:
      return make(4 * 255 * -128.0, 4 * 255 * 127.0);
    case SEER_EXPR_DOT2_F16:
    case SEER_EXPR_DOT2:  // of words, whose halves are not known apart
    case SEER_EXPR_BITS:
    case SEER_EXPR_NONE:
    case SEER_EXPR_CONST_F:
    case SEER_EXPR_CONST_I:
    case SEER_EXPR_VAR:
    case SEER_EXPR_LOAD:
    case SEER_EXPR_COUNT:
      break;
  }
  return anything;
}

seer_domain seer_interval_apply(const seer_interval_op *op, bool *out_is_undefined) {
  *out_is_undefined = false;
  return within(apply(op, out_is_undefined), op->dtype);
}

seer_domain seer_interval_combine(
    seer_combiner combiner, seer_dtype dtype, seer_domain value, int64_t n) {
  seer_domain out = value;
  switch (combiner) {
    case SEER_COMBINE_SUM:
      out = make(product((double)n, value.low), product((double)n, value.high));
      break;
    case SEER_COMBINE_PROD:
      out = anything;
      if (value.low >= 0) out = make(pow(value.low, (double)n), pow(value.high, (double)n));
      if (value.low < 0 && value.low >= -1 && value.high <= 1) out = make(-1, 1);
      break;
    case SEER_COMBINE_AND:
    case SEER_COMBINE_OR:
      out = truth;
      break;
    case SEER_COMBINE_NONE:
    case SEER_COMBINE_MAX:
    case SEER_COMBINE_MIN:
    case SEER_COMBINE_ARGMAX:
    case SEER_COMBINE_ARGMIN:
    case SEER_COMBINE_COUNT:
      break;
  }
  return within(out, dtype);
}
