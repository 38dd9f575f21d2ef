// Elementwise operators against C's own arithmetic: activations, broadcasting, types.
#include <math.h>
#include <string.h>

#include "op_case.h"

// ---- one input

static double f_relu(double x) { return x > 0 ? x : 0; }
static double f_leaky(double x) { return x > 0 ? x : 0.1 * x; }
static double f_leaky_big(double x) { return x > 0 ? x : 3 * x; }
static double f_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double f_hard_sigmoid(double x) { return fmin(1, fmax(0, 0.3 * x + 0.4)); }
static double f_hard_swish(double x) { return x * fmin(6, fmax(0, x + 3)) / 6; }
static double f_elu(double x) { return x > 0 ? x : 1.5 * (exp(x) - 1); }
static double f_selu(double x) {
  return x > 0 ? 1.0507009873 * x : 1.0507009873 * 1.6732632423 * (exp(x) - 1);
}
// With the attributes that the page gives where a node has none.
static double f_leaky_usual(double x) { return x > 0 ? x : 0.01 * x; }
static double f_hard_sigmoid_usual(double x) { return fmin(1, fmax(0, 0.2 * x + 0.5)); }
static double f_elu_usual(double x) { return x > 0 ? x : exp(x) - 1; }
static double f_celu_usual(double x) { return x > 0 ? x : exp(x) - 1; }
static double f_thresholded_usual(double x) { return x > 1 ? x : 0; }
static double f_shrink_usual(double x) { return fabs(x) > 0.5 ? x : 0; }
static double f_celu(double x) { return fmax(0, x) + fmin(0, 2 * (exp(x / 2) - 1)); }
static double f_softplus(double x) { return log(1 + exp(x)); }
static double f_softsign(double x) { return x / (1 + fabs(x)); }
static double f_mish(double x) { return x * tanh(log(1 + exp(x))); }
static double f_thresholded(double x) { return x > 0.5 ? x : 0; }
static double f_gelu(double x) { return 0.5 * x * (1 + erf(x / sqrt(2))); }
static double f_neg(double x) { return -x; }
static double f_sign(double x) { return (x > 0) - (x < 0); }
static double f_inverse(double x) { return 1 / x; }
static double f_shrink(double x) { return x < -0.75 ? x + 0.25 : x > 0.75 ? x - 0.25 : 0; }

static void test_maps(void **state) {
  (void)state;
  static const struct {
    const char *op;
    int32_t opset;
    double (*fn)(double);
    const char *name[2];  // float attributes
    double value[2];
  } maps[] = {
      {"Relu", 13, f_relu, {0}, {0}},
      {"LeakyRelu", 6, f_leaky, {"alpha"}, {0.1}},
      {"LeakyRelu", 16, f_leaky_big, {"alpha"}, {3}},
      {"Sigmoid", 13, f_sigmoid, {0}, {0}},
      {"HardSigmoid", 6, f_hard_sigmoid, {"alpha", "beta"}, {0.3, 0.4}},
      {"HardSwish", 14, f_hard_swish, {0}, {0}},
      {"Elu", 6, f_elu, {"alpha"}, {1.5}},
      {"Selu", 6, f_selu, {0}, {0}},
      {"Celu", 12, f_celu, {"alpha"}, {2}},
      {"LeakyRelu", 16, f_leaky_usual, {0}, {0}},
      {"HardSigmoid", 6, f_hard_sigmoid_usual, {0}, {0}},
      {"Elu", 6, f_elu_usual, {0}, {0}},
      {"Celu", 12, f_celu_usual, {0}, {0}},
      {"ThresholdedRelu", 10, f_thresholded_usual, {0}, {0}},
      {"Shrink", 9, f_shrink_usual, {0}, {0}},
      {"Softplus", 1, f_softplus, {0}, {0}},
      {"Softsign", 1, f_softsign, {0}, {0}},
      {"Mish", 18, f_mish, {0}, {0}},
      {"ThresholdedRelu", 10, f_thresholded, {"alpha"}, {0.5}},
      {"Gelu", 20, f_gelu, {0}, {0}},
      {"Tanh", 13, tanh, {0}, {0}},
      {"Exp", 13, exp, {0}, {0}},
      {"Erf", 13, erf, {0}, {0}},
      {"Sin", 7, sin, {0}, {0}},
      {"Cos", 7, cos, {0}, {0}},
      {"Neg", 13, f_neg, {0}, {0}},
      {"Abs", 13, fabs, {0}, {0}},
      {"Sign", 13, f_sign, {0}, {0}},
      {"Floor", 13, floor, {0}, {0}},
      {"Ceil", 13, ceil, {0}, {0}},
      {"Round", 11, rint, {0}, {0}},
      {"Reciprocal", 13, f_inverse, {0}, {0}},
      {"Sqrt", 13, sqrt, {0}, {0}},
      {"Log", 13, log, {0}, {0}},
      {"Shrink", 9, f_shrink, {"lambd", "bias"}, {0.75, 0.25}},
      {"Tan", 7, tan, {0}, {0}},
      {"Sinh", 9, sinh, {0}, {0}},
      {"Cosh", 9, cosh, {0}, {0}},
      {"Asinh", 9, asinh, {0}, {0}},
      {"Acosh", 9, acosh, {0}, {0}},
      {"Atanh", 9, atanh, {0}, {0}},
      {"Atan", 7, atan, {0}, {0}},
      {"Asin", 7, asin, {0}, {0}},
      {"Acos", 7, acos, {0}, {0}},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(maps); k++) {
    op_case *c = case_open(maps[k].op, maps[k].opset);
    case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 5, 7));
    bool is_positive = maps[k].fn == sqrt || maps[k].fn == log || maps[k].fn == acosh;
    bool is_small = maps[k].fn == asin || maps[k].fn == acos || maps[k].fn == atanh;
    for (int64_t i = 0; i < 210; i++) {
      if (is_positive) c->x[0].v[i] = fabs(c->x[0].v[i]) + (maps[k].fn == acosh ? 1.125 : 0.125);
      if (is_small) c->x[0].v[i] /= 2.0625;
      if (i % 7 == 0 && !is_positive && !is_small) c->x[0].v[i] *= 16;  // the tails too
    }
    for (int a = 0; a < 2; a++) {
      if (maps[k].name[a]) case_f(c, maps[k].name[a], maps[k].value[a]);
    }
    case_run(c);
    expect_dims(&c->y[0], DIMS(2, 3, 5, 7));
    double *expected = new_values(c, 0);
    for (int64_t i = 0; i < 210; i++) expected[i] = maps[k].fn(c->x[0].v[i]);
    expect_values(c, 0, expected);
    assert_int_equal(c->dag->n_stage, 1);
    case_close(c);
  }
}

static double f_gelu_tanh(double x) {
  return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static void test_gelu_by_tanh(void **state) {
  (void)state;
  op_case *c = case_open("Gelu", 20);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 5, 7));
  case_s(c, "approximate", "tanh");
  for (int64_t i = 0; i < 210; i++) c->x[0].v[i] *= 3;  // where the cube counts
  case_run(c);
  double *expected = new_values(c, 0);
  for (int64_t i = 0; i < 210; i++) expected[i] = f_gelu_tanh(c->x[0].v[i]);
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_scalar_and_types(void **state) {
  (void)state;
  op_case *c = case_open("Neg", 13);  // rank 0, integers
  case_in(c, SEER_DTYPE_I64, 0, NULL);
  c->x[0].v[0] = 41;
  case_run(c);
  expect_values(c, 0, (double[]){-41});
  case_close(c);
  c = case_open("Sqrt", 13);
  case_in(c, SEER_DTYPE_I32, DIMS(3));
  case_expect_error(c, "input 0 ('in/0:x') is i32, must be a float type");
  case_close(c);
  c = case_open("Not", 1);
  case_in(c, SEER_DTYPE_BOOL, DIMS(6));
  case_run(c);
  for (int i = 0; i < 6; i++) assert_true(c->y[0].v[i] == 1 - c->x[0].v[i]);
  case_close(c);
}

static void test_clip(void **state) {
  (void)state;
  for (int form = 0; form < 4; form++) {  // attributes; inputs; input min only; input max only
    op_case *c = case_open("Clip", form ? 13 : 6);
    case_in(c, SEER_DTYPE_F32, DIMS(3, 4, 5));
    if (form == 0) {
      case_f(c, "min", -0.5);
      case_f(c, "max", 1);
    }
    if (form == 1 || form == 2) case_const(c, SEER_DTYPE_F32, 0, NULL, (double[]){-0.5});
    if (form == 3) case_absent(c);
    if (form == 1) case_const(c, SEER_DTYPE_F32, 0, NULL, (double[]){1});
    if (form == 3) {  // a bound that is known only when running
      case_in(c, SEER_DTYPE_F32, 0, NULL);
      c->x[2].v[0] = 1;
    }
    case_run(c);
    double *expected = new_values(c, 0);
    for (int64_t i = 0; i < 60; i++) {
      double x = c->x[0].v[i];
      if (form != 3) x = fmax(x, -0.5);
      if (form != 2) x = fmin(x, 1);
      expected[i] = x;
    }
    expect_values(c, 0, expected);
    case_close(c);
  }
  op_case *c = case_open("Clip", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(3));
  case_const(c, SEER_DTYPE_F32, DIMS(2), (double[]){0, 1});
  case_expect_error(c, "input 1 is [2], must be a scalar");
  case_close(c);
}

// ---- several inputs

static double g_add(double a, double b) { return a + b; }
static double g_sub(double a, double b) { return a - b; }
static double g_mul(double a, double b) { return a * b; }
static double g_div(double a, double b) { return a / b; }
static double g_prelu(double a, double b) { return a < 0 ? a * b : a; }
static double g_eq(double a, double b) { return a == b; }
static double g_lt(double a, double b) { return a < b; }
static double g_le(double a, double b) { return a <= b; }
static double g_gt(double a, double b) { return a > b; }
static double g_ge(double a, double b) { return a >= b; }
static double g_and(double a, double b) { return a != 0 && b != 0; }
static double g_or(double a, double b) { return a != 0 || b != 0; }
static double g_bits_and(double a, double b) { return (double)((int64_t)a & (int64_t)b); }
static double g_bits_or(double a, double b) { return (double)((int64_t)a | (int64_t)b); }
static double g_bits_xor(double a, double b) { return (double)((int64_t)a ^ (int64_t)b); }
static double g_xor(double a, double b) { return (a != 0) != (b != 0); }
static double g_int_div(double a, double b) { return trunc(a / b); }
static double g_int_mod(double a, double b) { return a - b * floor(a / b); }
static double g_pow(double a, double b) { return pow(a, b); }

static void run_binary(const char *op, seer_dtype dtype, double (*fn)(double, double), uint32_t ra,
    const int64_t *a, uint32_t rb, const int64_t *b, bool second_is_const) {
  op_case *c = case_open(op, strncmp(op, "Bitwise", 7) == 0 ? 18 : 13);
  case_in(c, dtype, ra, a);
  if (second_is_const)
    case_weight(c, dtype, rb, b);
  else
    case_in(c, dtype, rb, b);
  bool divides = fn == g_int_div || fn == g_int_mod || fn == g_div;
  for (int64_t i = 0; i < tensor_elems(&c->x[1]); i++) {
    if (divides && fabs(c->x[1].v[i]) < 0.25) c->x[1].v[i] = 3;
    if (fn == g_eq && i % 3 == 0) c->x[1].v[i] = c->x[0].v[0];
  }
  for (int64_t i = 0; fn == g_pow && i < tensor_elems(&c->x[0]); i++)
    c->x[0].v[i] = fabs(c->x[0].v[i]);
  if (strcmp(op, "Mod") == 0 && seer_dtype_is_float(dtype)) case_i(c, "fmod", 1);
  case_run(c);
  double *expected = new_values(c, 0);
  int64_t index[SEER_MAX_RANK] = {0}, i = 0;
  uint32_t rank = c->y[0].rank;
  do {
    expected[i++] =
        fn(tensor_at(&c->x[0], index + rank - ra), tensor_at(&c->x[1], index + rank - rb));
  } while (next_index(index, c->y[0].dim, rank));
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_binary(void **state) {
  (void)state;
  static const struct {
    const char *op;
    seer_dtype dtype;
    double (*fn)(double, double);
  } ops[] = {{"Add", SEER_DTYPE_F32, g_add}, {"Sub", SEER_DTYPE_F32, g_sub},
      {"Mul", SEER_DTYPE_F32, g_mul}, {"Div", SEER_DTYPE_F32, g_div}, {"Min", SEER_DTYPE_F32, fmin},
      {"Max", SEER_DTYPE_F32, fmax}, {"Sum", SEER_DTYPE_F32, g_add},
      {"Equal", SEER_DTYPE_I32, g_eq}, {"Equal", SEER_DTYPE_F32, g_eq},
      {"Less", SEER_DTYPE_F32, g_lt}, {"LessOrEqual", SEER_DTYPE_I64, g_le},
      {"Greater", SEER_DTYPE_F32, g_gt}, {"GreaterOrEqual", SEER_DTYPE_I64, g_ge},
      {"And", SEER_DTYPE_BOOL, g_and}, {"Or", SEER_DTYPE_BOOL, g_or},
      {"Xor", SEER_DTYPE_BOOL, g_xor}, {"Div", SEER_DTYPE_I64, g_int_div},
      {"Div", SEER_DTYPE_I32, g_int_div}, {"Mod", SEER_DTYPE_I64, g_int_mod},
      {"Mod", SEER_DTYPE_F32, fmod}, {"Pow", SEER_DTYPE_F32, g_pow},
      {"BitwiseAnd", SEER_DTYPE_I32, g_bits_and}, {"BitwiseOr", SEER_DTYPE_I64, g_bits_or},
      {"BitwiseXor", SEER_DTYPE_I32, g_bits_xor}};
  for (size_t k = 0; k < SEER_COUNT_OF(ops); k++) {
    run_binary(ops[k].op, ops[k].dtype, ops[k].fn, DIMS(2, 3, 5, 7), DIMS(2, 3, 5, 7), false);
    run_binary(ops[k].op, ops[k].dtype, ops[k].fn, DIMS(2, 3, 4, 5), DIMS(3, 1, 1), false);
    run_binary(ops[k].op, ops[k].dtype, ops[k].fn, DIMS(5), DIMS(2, 3, 1, 5), false);
    run_binary(ops[k].op, ops[k].dtype, ops[k].fn, DIMS(2, 1, 4), DIMS(3, 1), false);
  }
  run_binary("PRelu", SEER_DTYPE_F32, g_prelu, DIMS(2, 3, 4, 5), DIMS(3, 1, 1), true);
  run_binary("Add", SEER_DTYPE_F32, g_add, DIMS(2, 3, 4), DIMS(1), true);  // a literal
  run_binary("Add", SEER_DTYPE_F32, g_add, DIMS(2, 3, 4), 0, NULL, false);
}

// The divisor's sign, and of zeros too; NaN by 0 and of infinities.
static void test_floor_modulus(void **state) {
  (void)state;
  static const double a[] = {-4.5, 7.25, 5, -0.0, 0, -1, 3, INFINITY, 2},
                      b[] = {2, -3, 8, 3, -3, INFINITY, -INFINITY, 2, 0},
                      want[] = {1.5, -1.75, 5, 0, -0.0, INFINITY, -INFINITY, NAN, NAN};
  op_case *c = case_open("Mod", 28);
  for (int k = 0; k < 2; k++) {
    case_in(c, SEER_DTYPE_F32, DIMS(9));
    memcpy(c->x[k].v, k ? b : a, 9 * sizeof(double));
  }
  case_run(c);
  expect_values(c, 0, want);
  for (int k = 0; k < 7; k++) assert_int_equal(!!signbit(c->y[0].v[k]), !!signbit(want[k]));
  case_close(c);
}

static void test_binary_errors(void **state) {
  (void)state;
  op_case *c = case_open("Add", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  case_in(c, SEER_DTYPE_F32, DIMS(2));
  case_expect_error(c, "dimension 0 is 2, must be 1 or 3 to broadcast");
  case_close(c);
  c = case_open("Mul", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  case_in(c, SEER_DTYPE_I64, DIMS(3));
  case_expect_error(c, "is i64, must be f32 like input 0");
  case_close(c);
  c = case_open("PRelu", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(3));
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  case_expect_error(c, "input 1 is [2,3], must broadcast to [3]");
  case_close(c);
}

static void test_variadic(void **state) {
  (void)state;
  static const char *const ops[] = {"Sum", "Mean", "Min", "Max"};
  for (int k = 0; k < 4; k++) {
    op_case *c = case_open(ops[k], 13);
    case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 5));
    case_in(c, SEER_DTYPE_F32, DIMS(3, 1));
    case_weight(c, SEER_DTYPE_F32, DIMS(2, 1, 5));
    case_run(c);
    double *expected = new_values(c, 0);
    for (int64_t i = 0; i < 30; i++) {
      double a = c->x[0].v[i], b = c->x[1].v[i / 5 % 3], w = c->x[2].v[i / 15 * 5 + i % 5];
      expected[i] = k == 0 ? a + b + w
          : k == 1         ? (a + b + w) / 3
          : k == 2         ? fmin(a, fmin(b, w))
                           : fmax(a, fmax(b, w));
    }
    expect_values(c, 0, expected);
    case_close(c);
  }
}

static void test_where_pow_cast(void **state) {
  (void)state;
  op_case *c = case_open("Where", 9);
  case_in(c, SEER_DTYPE_BOOL, DIMS(4, 1));
  case_in(c, SEER_DTYPE_F32, DIMS(3, 1, 5));
  case_in(c, SEER_DTYPE_F32, DIMS(5));
  case_run(c);
  expect_dims(&c->y[0], DIMS(3, 4, 5));
  double *expected = new_values(c, 0);
  for (int64_t i = 0; i < 60; i++) {
    expected[i] = c->x[0].v[i / 5 % 4] != 0 ? c->x[1].v[i / 20 * 5 + i % 5] : c->x[2].v[i % 5];
  }
  expect_values(c, 0, expected);
  case_close(c);

  static const double exponents[] = {2, 0.5, 3, -1, -0.5, 1, 1.7};
  for (size_t k = 0; k < SEER_COUNT_OF(exponents); k++) {
    c = case_open("Pow", 13);
    case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
    case_const(c, k % 2 ? SEER_DTYPE_F64 : SEER_DTYPE_F32, 0, NULL, &exponents[k]);
    for (int64_t i = 0; i < 6; i++) c->x[0].v[i] = (double)(float)(fabs(c->x[0].v[i]) + 0.1);
    case_run(c);
    expected = new_values(c, 0);
    for (int64_t i = 0; i < 6; i++) expected[i] = pow(c->x[0].v[i], (double)(float)exponents[k]);
    expect_values(c, 0, expected);
    case_close(c);
  }

  static const struct {
    seer_dtype from;
    int64_t to;
    double in[3], out[3];
  } casts[] = {{SEER_DTYPE_F32, 7, {1.75, -2.5, 0}, {1, -2, 0}},
      {SEER_DTYPE_I64, 1, {3, -4, 0}, {3, -4, 0}}, {SEER_DTYPE_F32, 9, {0.5, 0, -3}, {1, 0, 1}},
      {SEER_DTYPE_BOOL, 1, {1, 0, 1}, {1, 0, 1}}, {SEER_DTYPE_I64, 9, {7, 0, -1}, {1, 0, 1}},
      {SEER_DTYPE_I32, 7, {7, 0, -1}, {7, 0, -1}}};
  for (size_t k = 0; k < SEER_COUNT_OF(casts); k++) {
    for (int folded = 0; folded < 2; folded++) {
      c = case_open("Cast", 13);
      if (folded) {
        case_const(c, casts[k].from, DIMS(3), casts[k].in);
      } else {
        case_in(c, casts[k].from, DIMS(3));
        memcpy(c->x[0].v, casts[k].in, sizeof casts[k].in);
      }
      case_i(c, "to", casts[k].to);
      if (folded)
        case_fold(c);
      else
        case_run(c);
      expect_values(c, 0, casts[k].out);
      case_close(c);
    }
  }
  c = case_open("Cast", 24);  // which is about one type of float8
  case_in(c, SEER_DTYPE_F32, DIMS(3));
  memcpy(c->x[0].v, (double[]){1.75, -2.5, 0}, 3 * sizeof(double));
  case_i(c, "to", 7);
  case_s(c, "round_mode", "nearest");
  case_run(c);
  expect_values(c, 0, (double[]){1, -2, 0});
  case_close(c);
  c = case_open("QuantizeLinear", 23);
  case_in(c, SEER_DTYPE_F32, DIMS(3));
  case_const(c, SEER_DTYPE_F32, 0, NULL, (double[]){0.5});
  case_i(c, "precision", 10);
  case_expect_error(c, "attribute 'precision' is 10, must be 0 or 1");
  case_close(c);
  c = case_open("DequantizeLinear", 23);
  case_in(c, SEER_DTYPE_U8, DIMS(3));
  case_const(c, SEER_DTYPE_F32, 0, NULL, (double[]){0.5});
  case_i(c, "output_dtype", 7);
  case_expect_error(c, "attribute 'output_dtype' is 7, must be");
  case_close(c);
  c = case_open("Cast", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(3));
  case_i(c, "to", 8);
  case_expect_error(c, "'to' is 8");
  case_close(c);
}

static void test_bits_and_infinities(void **state) {
  (void)state;
  op_case *c = case_open("BitwiseNot", 18);
  case_in(c, SEER_DTYPE_I32, DIMS(3));
  memcpy(c->x[0].v, (double[]){0, 5, -7}, 3 * sizeof(double));
  case_run(c);
  expect_values(c, 0, (double[]){-1, -6, 6});
  case_close(c);
  for (int is_left = 0; is_left < 2; is_left++) {
    c = case_open("BitShift", 11);
    case_in(c, SEER_DTYPE_U32, DIMS(3));
    case_in(c, SEER_DTYPE_U32, DIMS(3));
    memcpy(c->x[0].v, (double[]){16, 5, 1}, 3 * sizeof(double));
    memcpy(c->x[1].v, (double[]){1, 2, 3}, 3 * sizeof(double));
    case_s(c, "direction", is_left ? "LEFT" : "RIGHT");
    case_run(c);
    expect_values(c, 0, is_left ? (double[]){32, 20, 8} : (double[]){8, 1, 0});
    case_close(c);
  }
  // Of signed types the sign comes in from the left; by less than 0 or too many, only that is left.
  for (int is_left = 0; is_left < 2; is_left++) {
    c = case_open("BitShift", 28);
    case_in(c, SEER_DTYPE_I8, DIMS(7));
    case_in(c, SEER_DTYPE_I8, DIMS(7));
    memcpy(c->x[0].v, (double[]){16, -5, 100, -128, -1, 7, -7}, 7 * sizeof(double));
    memcpy(c->x[1].v, (double[]){1, 2, 1, 7, 8, -1, -3}, 7 * sizeof(double));
    case_s(c, "direction", is_left ? "LEFT" : "RIGHT");
    case_run(c);
    expect_values(c, 0,
        is_left ? (double[]){32, -20, -56, 0, 0, 0, 0} : (double[]){8, -2, 50, -1, -1, 0, -1});
    case_close(c);
  }
  c = case_open("BitShift", 11);
  case_in(c, SEER_DTYPE_U32, DIMS(3));
  case_in(c, SEER_DTYPE_U32, DIMS(3));
  case_expect_error(c, "attribute 'direction' is '', must be LEFT or RIGHT");
  case_close(c);
  c = case_open("BitwiseAnd", 18);
  case_in(c, SEER_DTYPE_F32, DIMS(3));
  case_in(c, SEER_DTYPE_F32, DIMS(3));
  case_expect_error(c, "inputs are f32, must be an integer type");
  case_close(c);
  for (int form = 0; form < 4; form++) {
    c = case_open("IsInf", 20);
    case_in(c, SEER_DTYPE_F32, DIMS(4));
    memcpy(c->x[0].v, (double[]){INFINITY, -INFINITY, 1, NAN}, 4 * sizeof(double));
    case_i(c, "detect_positive", form & 1);
    case_i(c, "detect_negative", form >> 1);
    case_run(c);
    expect_values(c, 0, (double[]){form & 1, form >> 1, 0, 0});
    case_close(c);
  }
  c = case_open("CastLike", 19);
  case_in(c, SEER_DTYPE_F32, DIMS(3));
  case_in(c, SEER_DTYPE_I8, DIMS(2));
  memcpy(c->x[0].v, (double[]){1.75, -2.5, 300}, 3 * sizeof(double));
  case_run(c);
  expect_dims(&c->y[0], DIMS(3));
  expect_values(c, 0, (double[]){1, -2, 127});
  case_close(c);
}

// Float8 saturates or becomes infinity or NaN; 4-bit integers are the low bits of a whole number.
// By the DAG and by folding.
static void test_small_types(void **state) {
  (void)state;
  static const double x[6] = {0.3, -1000, 1e6, INFINITY, -0x1p-10, NAN};
  static const struct {
    int32_t onnx;
    int64_t saturate;
    double want[6];
  } casts[] = {
      {17, 1, {0.3125, -448, 448, 448, 0, NAN}},
      {17, 0, {0.3125, NAN, NAN, NAN, 0, NAN}},
      {18, 1, {0.3125, -240, 240, 240, -0x1p-10, NAN}},
      {19, 1, {0.3125, -1024, 57344, 57344, -0x1p-10, NAN}},
      {19, 0, {0.3125, -1024, INFINITY, INFINITY, -0x1p-10, NAN}},
      {20, 0, {0.3125, -1024, NAN, NAN, -0x1p-10, NAN}},
      {22, 1, {0, -8, 0, -1, 0, 0}},
      {21, 1, {0, 8, 0, 15, 0, 0}},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(casts); k++) {
    op_case *c = case_open("Cast", 21);
    case_in(c, SEER_DTYPE_F32, DIMS(6));
    memcpy(c->x[0].v, x, sizeof x);
    case_i(c, "to", casts[k].onnx);
    case_i(c, "saturate", casts[k].saturate);
    case_run(c);
    expect_values(c, 0, casts[k].want);
    case_close(c);
    c = case_open("Cast", 21);
    case_const(c, SEER_DTYPE_F32, DIMS(6), x);
    case_i(c, "to", casts[k].onnx);
    case_i(c, "saturate", casts[k].saturate);
    case_fold(c);
    expect_values(c, 0, casts[k].want);
    case_close(c);
  }
  op_case *c = case_open("Cast", 21);  // integers lose their high bits
  case_const(c, SEER_DTYPE_I32, DIMS(3), (double[]){8, -9, 255});
  case_i(c, "to", 22);
  case_fold(c);
  expect_values(c, 0, (double[]){-8, 7, -1});
  case_close(c);
  for (int is_float = 0; is_float < 2; is_float++) {  // two blocks along the last axis
    seer_dtype dtype = is_float ? SEER_DTYPE_F8E5M2 : SEER_DTYPE_I4;
    c = case_open("QuantizeLinear", 21);
    case_in(c, SEER_DTYPE_F32, DIMS(1, 4));
    memcpy(c->x[0].v, (double[]){1.3, -90, 2.5, 100}, 4 * sizeof(double));
    case_const(c, SEER_DTYPE_F32, DIMS(1, 2), (double[]){0.5, 2});
    case_const(c, dtype, DIMS(1, 2), is_float ? (double[]){0, 0} : (double[]){1, -2});
    case_i(c, "axis", 1);
    case_i(c, "block_size", 2);
    case_run(c);
    expect_values(c, 0, is_float ? (double[]){2.5, -192, 1.25, 48} : (double[]){4, -8, -1, 7});
    case_close(c);
    c = case_open("DequantizeLinear", 21);
    case_in(c, dtype, DIMS(1, 4));
    memcpy(c->x[0].v, (double[]){1.5, -8, 3, 7}, 4 * sizeof(double));
    if (!is_float) c->x[0].v[0] = 1;
    case_const(c, SEER_DTYPE_F32, DIMS(1, 2), (double[]){0.5, 2});
    case_const(c, dtype, DIMS(1, 2), (double[]){1, -2});
    case_i(c, "axis", 1);
    case_i(c, "block_size", 2);
    case_run(c);
    expect_values(c, 0, is_float ? (double[]){0.25, -4.5, 10, 18} : (double[]){0, -4.5, 10, 18});
    case_close(c);
  }
  c = case_open("DequantizeLinear", 21);
  case_in(c, SEER_DTYPE_F32, DIMS(2));
  case_const(c, SEER_DTYPE_F32, DIMS(1), (double[]){0.5});
  case_expect_error(c, "input 0 is f32, must be i2, u2, i4, u4, i8");
  case_close(c);
}

// Every entry is complete and found under its own name.
static void test_table(void **state) {
  (void)state;
  for (size_t i = 0; i < seer_op_table_count; i++) {
    const seer_op_desc *op = seer_op_table[i];
    assert_true((op->fuse == SEER_FUSE_COMPOSITE) == (op->expand && !op->is_composite));
    assert_true(op->expand || op->infer);
    assert_true(op->expand || !(op->expands_sized || op->takes_lists || op->takes_one_body));
    assert_true(op->infer || !(op->carry_sizes || op->bounded_by || op->counts || op->moves));
    assert_true(op->infer || !(op->is_copy || op->joins_parts || op->treats_alike));
    assert_non_null(op->attrs);
    assert_non_null(op->doc);
    assert_ptr_equal(seer_op_find(op->domain, op->name, op->opset_min), op);
    assert_ptr_equal(
        seer_op_find(op->domain[0] ? op->domain : "ai.onnx", op->name, op->opset_max), op);
    assert_ptr_not_equal(seer_op_find(op->domain, op->name, op->opset_max + 1), op);
    assert_true(op->emit || op->fold || op->expand);
    assert_true(!op->folds_from_shape || op->fold);
  }
  assert_null(seer_op_find("com.microsoft", "Gemm", 13));
  assert_null(seer_op_find("", "Nonsense", 13));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_gelu_by_tanh),
      cmocka_unit_test(test_scalar_and_types),
      cmocka_unit_test(test_clip),
      cmocka_unit_test(test_binary),
      cmocka_unit_test(test_floor_modulus),
      cmocka_unit_test(test_binary_errors),
      cmocka_unit_test(test_variadic),
      cmocka_unit_test(test_where_pow_cast),
      cmocka_unit_test(test_bits_and_infinities),
      cmocka_unit_test(test_small_types),
      cmocka_unit_test(test_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
