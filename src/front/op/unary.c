// unary.c - operators that map each element by itself: activations, rounding, Clip. One
// stage, one scalar expression. Expressions are written for vector code: max and min instead of a
// select where that is the same.
#include <math.h>
#include <string.h>

#include "dag/scalar.h"
#include "front/onnx/dtype.h"
#include "front/op/util.h"

// `dtype`: what is computed in, x's.
typedef seer_expr (*map_fn)(seer_emit *emit, const seer_node *node, seer_dtype dtype, seer_expr x);

static seer_status emit_map(seer_emit *emit, const seer_node *node, map_fn map) {
  const seer_value *in = seer_emit_in(emit, node, 0);
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_expr x = seer_emit_load(emit, node, 0, at);
  seer_emit_body(
      emit, node, 0, stage, SEER_COMBINE_NONE, map(emit, node, seer_dtype_computed(in->dtype), x));
  return SEER_OK;
}

// An entry whose output has the type and shape of its input. `...`: the text, and what else the
// entry says.
#define MAP(id, onnx, from, attributes, infer_fn, rel, ...)                              \
  static seer_status emit_##id(seer_emit *emit, const seer_node *node) {                 \
    return emit_map(emit, node, map_##id);                                               \
  }                                                                                      \
  SEER_OP_ENTRY(id, onnx, from, 1, 1, 1, SEER_FUSE_ELEMENTWISE, attributes, .rtol = rel, \
      .atol = 1e-6, .infer = infer_fn, .emit = emit_##id, .doc = __VA_ARGS__)

// A scalar operator as it is. The parameter list of map functions is fixed, so some parameters are
// unused.
#define DIRECT(id, onnx, from, op, infer_fn, ...)                              \
  static seer_expr map_##id(                                                   \
      seer_emit *emit, const seer_node *node, seer_dtype dtype, seer_expr x) { \
    (void)node, (void)dtype;                                                   \
    return seer_op_1(emit, op, x);                                             \
  }                                                                            \
  MAP(id, onnx, from, "", infer_fn, 1e-5, __VA_ARGS__)

DIRECT(exp, "Exp", 1, SEER_EXPR_EXP, seer_op_infer_same_float, "", .treats_alike = true)
DIRECT(log, "Log", 1, SEER_EXPR_LOG, seer_op_infer_same_float, "")
DIRECT(sqrt, "Sqrt", 1, SEER_EXPR_SQRT, seer_op_infer_same_float, "", .treats_alike = true)
DIRECT(erf, "Erf", 9, SEER_EXPR_ERF, seer_op_infer_same_float, "floats", .treats_alike = true)
#define ANGLES "any argument; absolute error 1e-7 in f32, 4e-16 in f64"
DIRECT(sin, "Sin", 7, SEER_EXPR_SIN, seer_op_infer_same_float, ANGLES)
DIRECT(cos, "Cos", 7, SEER_EXPR_COS, seer_op_infer_same_float, ANGLES)
DIRECT(tanh, "Tanh", 1, SEER_EXPR_TANH, seer_op_infer_same_float, "", .treats_alike = true)
DIRECT(sigmoid, "Sigmoid", 1, SEER_EXPR_SIGMOID, seer_op_infer_same_float, "", .treats_alike = true)
DIRECT(floor, "Floor", 1, SEER_EXPR_FLOOR, seer_op_infer_same_float, "")
DIRECT(ceil, "Ceil", 1, SEER_EXPR_CEIL, seer_op_infer_same_float, "")
DIRECT(round, "Round", 11, SEER_EXPR_ROUND, seer_op_infer_same_float, "")
DIRECT(neg, "Neg", 1, SEER_EXPR_NEG, seer_op_infer_same, "", .treats_alike = true)
DIRECT(abs, "Abs", 1, SEER_EXPR_ABS, seer_op_infer_same, "", .treats_alike = true)
DIRECT(sign, "Sign", 9, SEER_EXPR_SIGN, seer_op_infer_same, "")

static seer_status infer_not(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *in = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &in));
  if (in->dtype != SEER_DTYPE_BOOL) {
    return SEER_FAIL(INVALID, "input 0 is %s, must be bool", seer_dtype_name(in->dtype));
  }
  return seer_op_infer_same(graph, node, arena, out_values);
}
DIRECT(not, "Not", 1, SEER_EXPR_NOT, infer_not, "")

// ---- activations

#define NUM(v) seer_op_num(emit, dtype, (v))
#define ADD(a, b) seer_op_2(emit, SEER_EXPR_ADD, (a), (b))
#define SUB(a, b) seer_op_2(emit, SEER_EXPR_SUB, (a), (b))
#define MUL(a, b) seer_op_2(emit, SEER_EXPR_MUL, (a), (b))
#define DIV(a, b) seer_op_2(emit, SEER_EXPR_DIV, (a), (b))
#define MIN(a, b) seer_op_2(emit, SEER_EXPR_MIN, (a), (b))
#define MAX(a, b) seer_op_2(emit, SEER_EXPR_MAX, (a), (b))
#define LT(a, b) seer_op_2(emit, SEER_EXPR_LT, (a), (b))
#define FN(op, a) seer_op_1(emit, SEER_EXPR_##op, (a))
#define SELECT(c, a, b) seer_expr_select(&emit->dag->expr, (c), (a), (b))
#define MAP_FN(id)                                                              \
  static seer_expr map_##id(seer_emit *emit, SEER_UNUSED const seer_node *node, \
      SEER_UNUSED seer_dtype dtype, seer_expr x)

MAP_FN(relu) { return MAX(x, NUM(0)); }
MAP(relu, "Relu", 6, "", seer_op_infer_same, 1e-6, "", .treats_alike = true)

MAP_FN(leaky_relu) {
  double alpha = seer_node_attr_f(node, "alpha", 0.01);
  seer_expr scaled = MUL(x, NUM(alpha));
  if (alpha > 0 && alpha <= 1) return MAX(x, scaled);  // 0 times infinity is NaN
  return SELECT(LT(x, NUM(0)), scaled, x);
}
MAP(leaky_relu, "LeakyRelu", 6, "alpha", seer_op_infer_same_float, 1e-6, "", .treats_alike = true)

MAP_FN(hard_sigmoid) {
  double alpha = seer_node_attr_f(node, "alpha", 0.2), beta = seer_node_attr_f(node, "beta", 0.5);
  return MAX(NUM(0), MIN(NUM(1), ADD(MUL(x, NUM(alpha)), NUM(beta))));
}
MAP(hard_sigmoid, "HardSigmoid", 6, "alpha beta", seer_op_infer_same_float, 1e-5, "")

MAP_FN(hard_swish) { return MUL(x, MAX(NUM(0), MIN(NUM(1), ADD(MUL(x, NUM(1.0 / 6)), NUM(0.5))))); }
MAP(hard_swish, "HardSwish", 14, "", seer_op_infer_same_float, 1e-5, "")

MAP_FN(elu) {
  seer_expr below =
      MUL(SUB(FN(EXP, MIN(x, NUM(0))), NUM(1)), NUM(seer_node_attr_f(node, "alpha", 1.0)));
  return SELECT(LT(x, NUM(0)), below, x);
}
MAP(elu, "Elu", 6, "alpha", seer_op_infer_same_float, 1e-5, "")

MAP_FN(selu) {
  double alpha = seer_node_attr_f(node, "alpha", 1.67326319217681884765625);
  double gamma = seer_node_attr_f(node, "gamma", 1.05070102214813232421875);
  seer_expr below = MUL(SUB(FN(EXP, MIN(x, NUM(0))), NUM(1)), NUM(alpha * gamma));
  return SELECT(LT(x, NUM(0)), below, MUL(x, NUM(gamma)));
}
MAP(selu, "Selu", 6, "alpha gamma", seer_op_infer_same_float, 1e-5, "")

MAP_FN(celu) {
  double alpha = seer_node_attr_f(node, "alpha", 1.0);
  seer_expr below = MUL(SUB(FN(EXP, DIV(MIN(x, NUM(0)), NUM(alpha))), NUM(1)), NUM(alpha));
  return ADD(MAX(x, NUM(0)), below);
}
MAP(celu, "Celu", 12, "alpha", seer_op_infer_same_float, 1e-5, "")

// log(1 + x), also of an x that is lost in that sum: what was added is known, so the error of the
// sum is made good (Kahan). Where 1 is lost, of infinity too, there is nothing to make good.
static seer_expr log_plus_one(seer_emit *emit, seer_dtype dtype, seer_expr x) {
  seer_expr sum = ADD(x, NUM(1)), added = SUB(sum, NUM(1)), log = FN(LOG, sum);
  seer_expr near = MUL(log, DIV(x, added));
  near = SELECT(seer_op_2(emit, SEER_EXPR_EQ, sum, NUM(1)), x, near);
  return SELECT(seer_op_2(emit, SEER_EXPR_EQ, sum, x), log, near);
}

// log(1 + e^x) without overflow: max(x, 0) + log(1 + e^-|x|).
MAP_FN(softplus) {
  return ADD(MAX(x, NUM(0)), log_plus_one(emit, dtype, FN(EXP, FN(NEG, FN(ABS, x)))));
}
MAP(softplus, "Softplus", 1, "", seer_op_infer_same_float, 1e-5, "")

MAP_FN(softsign) { return DIV(x, ADD(FN(ABS, x), NUM(1))); }
MAP(softsign, "Softsign", 1, "", seer_op_infer_same_float, 1e-5, "")

// x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2); the quotient is 1 from 20 on.
MAP_FN(mish) {
  seer_expr e = FN(EXP, MIN(x, NUM(20))), n = MUL(e, ADD(e, NUM(2)));
  return MUL(x, DIV(n, ADD(n, NUM(2))));
}
MAP(mish, "Mish", 18, "", seer_op_infer_same_float, 1e-5, "")

MAP_FN(thresholded_relu) {
  seer_expr over = seer_op_2(emit, SEER_EXPR_GT, x, NUM(seer_node_attr_f(node, "alpha", 1.0)));
  return SELECT(over, x, NUM(0));
}
MAP(thresholded_relu, "ThresholdedRelu", 10, "alpha", seer_op_infer_same_float, 1e-6, "")

MAP_FN(gelu) {
  if (strcmp(seer_node_attr_s(node, "approximate", "none"), "tanh") == 0) {
    seer_expr cube = MUL(MUL(x, x), x);
    // sqrt(2 / pi)
    seer_expr inner = MUL(ADD(x, MUL(cube, NUM(0.044715))), NUM(0.7978845608028654));
    return MUL(MUL(x, NUM(0.5)), ADD(FN(TANH, inner), NUM(1)));
  }
  return MUL(MUL(x, NUM(0.5)), ADD(FN(ERF, MUL(x, NUM(0.7071067811865476))), NUM(1)));
}
MAP(gelu, "Gelu", 20, "approximate", seer_op_infer_same_float, 1e-5, "exact and tanh")

MAP_FN(reciprocal) { return DIV(NUM(1), x); }
MAP(reciprocal, "Reciprocal", 6, "", seer_op_infer_same_float, 1e-5, "")

// ---- Clip: bounds are attributes before opset 11, inputs from then on

static seer_status infer_clip(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *in = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &in));
  for (uint32_t k = 1; k < node->n_in; k++) {
    const seer_value *bound = NULL;
    if (!seer_op_has_in(node, k)) continue;
    SEER_TRY(seer_op_in(graph, node, k, &bound));
    SEER_TRY(seer_op_same_dtype(in, bound, k));
    if (seer_op_elems(bound) != 1) {
      return SEER_FAIL(
          INVALID, "input %u is %s, must be a scalar", k, seer_op_shape_text(bound, arena));
    }
  }
  return seer_op_infer_same(graph, node, arena, out_values);
}

// A bound as an expression; 0 when there is none.
static seer_expr clip_bound(
    seer_emit *emit, const seer_node *node, seer_dtype dtype, uint32_t k, const char *name) {
  if (seer_emit_has_in(emit, node, k)) {
    seer_expr zero[SEER_MAX_RANK];
    for (uint32_t d = 0; d < SEER_MAX_RANK; d++) zero[d] = seer_op_int(emit, 0);
    return seer_emit_load(emit, node, k, zero);
  }
  if (!seer_node_attr(node, name)) return (seer_expr){0};
  double bound = seer_node_attr_f(node, name, 0);
  // the old defaults: no bound at all
  return fabs(bound) >= 3.4028234e38 ? (seer_expr){0} : NUM(bound);
}

MAP_FN(clip) {
  seer_expr low = clip_bound(emit, node, dtype, 1, "min"),
            high = clip_bound(emit, node, dtype, 2, "max");
  if (low.i) x = MAX(x, low);
  if (high.i) x = MIN(x, high);
  return x;
}
static seer_status emit_clip(seer_emit *emit, const seer_node *node) {
  return emit_map(emit, node, map_clip);
}
SEER_OP_ENTRY(clip, "Clip", 6, 1, 3, 1, SEER_FUSE_ELEMENTWISE, "min max", .rtol = 1e-6,
    .atol = 1e-6, .infer = infer_clip, .emit = emit_clip, .treats_alike = true,
    .doc = "bounds as attributes or inputs; without one, infinity stays")

// ---- bits, and what a number is

// The types differ by sign only in what they print: all bits are turned over.
static seer_status infer_bitwise_not(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  SEER_TRY(seer_op_infer_same(graph, node, arena, out_values));
  seer_dtype dtype = out_values[0].dtype;
  if (!seer_dtype_is_float(dtype) && dtype != SEER_DTYPE_BOOL) return SEER_OK;
  return SEER_FAIL(INVALID, "input 0 is %s, must be an integer type", seer_dtype_name(dtype));
}
DIRECT(bitwise_not, "BitwiseNot", 18, SEER_EXPR_NOT, infer_bitwise_not, "")

static seer_status infer_is_nan(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  SEER_TRY(seer_op_infer_same_float(graph, node, arena, out_values));
  out_values[0].dtype = SEER_DTYPE_BOOL;
  return SEER_OK;
}
DIRECT(is_nan, "IsNaN", 9, SEER_EXPR_ISNAN, infer_is_nan, "")

MAP_FN(is_inf) {
  bool wants_negative = seer_node_attr_i(node, "detect_negative", 1) != 0;
  bool wants_positive = seer_node_attr_i(node, "detect_positive", 1) != 0;
  seer_expr positive = seer_op_2(emit, SEER_EXPR_EQ, x, NUM(INFINITY));
  seer_expr negative = seer_op_2(emit, SEER_EXPR_EQ, x, NUM(-INFINITY));
  if (wants_negative && wants_positive) return seer_op_2(emit, SEER_EXPR_OR, positive, negative);
  if (wants_negative) return negative;
  return wants_positive ? positive : seer_op_2(emit, SEER_EXPR_LT, x, x);
}
MAP(is_inf, "IsInf", 10, "detect_negative detect_positive", infer_is_nan, 0, "")

// Integers are compared and moved in f64, and cut off toward zero.
MAP_FN(shrink) {
  seer_dtype made = dtype;
  if (!seer_dtype_is_float(dtype)) {
    dtype = SEER_DTYPE_F64;
    x = seer_expr_cast(&emit->dag->expr, dtype, x);
  }
  double lambda = seer_node_attr_f(node, "lambd", 0.5), bias = seer_node_attr_f(node, "bias", 0);
  seer_expr above = SELECT(LT(NUM(lambda), x), SUB(x, NUM(bias)), NUM(0));
  seer_expr y = SELECT(LT(x, NUM(-lambda)), ADD(x, NUM(bias)), above);
  return seer_expr_cast(&emit->dag->expr, made, y);
}
MAP(shrink, "Shrink", 9, "bias lambd", seer_op_infer_same, 1e-6, "")

// ---- trigonometry and hyperbolas, out of exp, log, sqrt, sin, cos

MAP_FN(tan) { return DIV(FN(SIN, x), FN(COS, x)); }
MAP(tan, "Tan", 7, "", seer_op_infer_same_float, 1e-5, "any argument: sin / cos")

// By e^(|x|/2), whose square does not overflow before the result does.
MAP_FN(cosh) {
  seer_expr size = FN(ABS, x), half = FN(EXP, MUL(size, NUM(0.5)));
  return ADD(MUL(MUL(half, NUM(0.5)), half), MUL(FN(EXP, FN(NEG, size)), NUM(0.5)));
}
MAP(cosh, "Cosh", 9, "", seer_op_infer_same_float, 1e-5, "")

// tanh is exact near 0, where e^x - e^-x is not.
MAP_FN(sinh) { return MUL(FN(TANH, x), map_cosh(emit, node, dtype, x)); }
MAP(sinh, "Sinh", 9, "", seer_op_infer_same_float, 1e-5, "")

// From here on, asinh and acosh are log(2 |x|), in f64 too; squares do not overflow below.
#define LARGE 1e9
#define LOG_2 0.69314718055994531

// sign(x) log(1 + |x| + x^2 / (1 + sqrt(x^2 + 1)))
MAP_FN(asinh) {
  seer_expr size = FN(ABS, x), a = MIN(size, NUM(LARGE)), square = MUL(a, a);
  seer_expr root = ADD(NUM(1), FN(SQRT, ADD(square, NUM(1))));
  seer_expr near = log_plus_one(emit, dtype, ADD(a, DIV(square, root)));
  seer_expr far = ADD(FN(LOG, size), NUM(LOG_2));
  return MUL(FN(SIGN, x), SELECT(LT(size, NUM(LARGE)), near, far));
}
MAP(asinh, "Asinh", 9, "", seer_op_infer_same_float, 1e-5, "")

// log(1 + t + sqrt(t) sqrt(t + 2)) with t = x - 1
MAP_FN(acosh) {
  seer_expr t = SUB(MIN(x, NUM(LARGE)), NUM(1));
  seer_expr root = MUL(FN(SQRT, t), FN(SQRT, ADD(t, NUM(2))));
  seer_expr near = log_plus_one(emit, dtype, ADD(t, root)), far = ADD(FN(LOG, x), NUM(LOG_2));
  return SELECT(LT(x, NUM(LARGE)), near, far);
}
MAP(acosh, "Acosh", 9, "", seer_op_infer_same_float, 1e-5, "")

// sign(x) log(1 + 2 |x| / (1 - |x|)) / 2
MAP_FN(atanh) {
  seer_expr size = FN(ABS, x);
  seer_expr log = log_plus_one(emit, dtype, DIV(ADD(size, size), SUB(NUM(1), size)));
  return MUL(FN(SIGN, x), MUL(log, NUM(0.5)));
}
MAP(atanh, "Atanh", 9, "", seer_op_infer_same_float, 1e-5, "")

// c[0] x^(n - 1) + ... + c[n - 1]
static seer_expr polynomial(
    seer_emit *emit, seer_dtype dtype, seer_expr x, const double *c, uint32_t n) {
  seer_expr sum = NUM(c[0]);
  for (uint32_t k = 1; k < n; k++) sum = ADD(MUL(sum, x), NUM(c[k]));
  return sum;
}

#define POLYNOMIAL(x, ...)                                  \
  polynomial(emit, dtype, x, (const double[]){__VA_ARGS__}, \
      sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

// As in Cephes (atanf.c, atan.c): beyond tan(3 pi / 8) it is pi / 2 - atan(1 / x), beyond tan(pi /
// 8) (in f64 0.66) pi / 4 + atan((x - 1) / (x + 1)), and a polynomial, in f64 a quotient of two,
// below.
MAP_FN(atan) {
  bool is_wide = dtype == SEER_DTYPE_F64;
  seer_expr size = FN(ABS, x), far = LT(NUM(2.41421356237309504880), size);
  seer_expr middle = LT(NUM(is_wide ? 0.66 : 0.41421356237309504880), size);
  seer_expr turned = DIV(SUB(size, NUM(1)), ADD(size, NUM(1)));
  seer_expr y = SELECT(far, DIV(NUM(-1), size), SELECT(middle, turned, size));
  seer_expr base = SELECT(
      far, NUM(1.57079632679489661923), SELECT(middle, NUM(0.785398163397448309616), NUM(0)));
  seer_expr square = MUL(y, y), series;
  if (is_wide) {
    seer_expr above = POLYNOMIAL(square, -8.750608600031904122785e-1, -1.615753718733365076637e1,
        -7.500855792314704667340e1, -1.228866684490136173410e2, -6.485021904942025371773e1);
    seer_expr below = POLYNOMIAL(square, 1, 2.485846490142306297962e1, 1.650270098316988542046e2,
        4.328810604912902668951e2, 4.853903996359136964868e2, 1.945506571482613964425e2);
    series = DIV(above, below);
  } else {
    series = POLYNOMIAL(
        square, 8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1);
  }
  seer_expr angle = ADD(base, ADD(y, MUL(y, MUL(square, series))));
  return SELECT(LT(x, NUM(0)), FN(NEG, angle), angle);
}
MAP(atan, "Atan", 7, "", seer_op_infer_same_float, 1e-6, "")

// asin(root) where root <= 1 / 2 and square = root^2: as in Cephes' asinf.c, in f64 fdlibm's
// e_asin.c.
static seer_expr small_asin(seer_emit *emit, seer_dtype dtype, seer_expr root, seer_expr square) {
  seer_expr series;
  if (dtype == SEER_DTYPE_F64) {
    seer_expr above = POLYNOMIAL(square, 3.47933107596021167570e-05, 7.91534994289814532176e-04,
        -4.00555345006794114027e-02, 2.01212532134862925881e-01, -3.25565818622400915405e-01,
        1.66666666666666657415e-01);
    seer_expr below = POLYNOMIAL(square, 7.70381505559019352791e-02, -6.88283971605453293030e-01,
        2.02094576023350569471e+00, -2.40339491173441421878e+00, 1);
    series = DIV(above, below);
  } else {
    series = POLYNOMIAL(square, 4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2,
        1.6666752422e-1);
  }
  return ADD(root, MUL(root, MUL(square, series)));
}

// asin(|x|) is small_asin(|x|), or pi / 2 - 2 asin(sqrt((1 - |x|) / 2)). Beyond 1 the root is NaN.
static seer_expr half_asin(
    seer_emit *emit, seer_dtype dtype, seer_expr x, seer_expr *out_is_large) {
  seer_expr size = FN(ABS, x), half = MUL(SUB(NUM(1), size), NUM(0.5));
  *out_is_large = LT(NUM(0.5), size);
  seer_expr root = SELECT(*out_is_large, FN(SQRT, half), size);
  return small_asin(emit, dtype, root, SELECT(*out_is_large, half, MUL(size, size)));
}

MAP_FN(asin) {
  seer_expr is_large, half = half_asin(emit, dtype, x, &is_large);
  seer_expr angle = SELECT(is_large, SUB(NUM(1.57079632679489661923), MUL(half, NUM(2))), half);
  return SELECT(LT(x, NUM(0)), FN(NEG, angle), angle);
}
MAP(asin, "Asin", 7, "", seer_op_infer_same_float, 1e-6, "")

MAP_FN(acos) {
  seer_expr is_large, half = half_asin(emit, dtype, x, &is_large), is_below = LT(x, NUM(0));
  seer_expr twice = MUL(half, NUM(2)), right = NUM(1.57079632679489661923);
  return SELECT(is_large, SELECT(is_below, SUB(NUM(3.14159265358979323846), twice), twice),
      SELECT(is_below, ADD(right, half), SUB(right, half)));
}
MAP(acos, "Acos", 7, "", seer_op_infer_same_float, 1e-6, "")
