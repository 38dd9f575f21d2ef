// The elementary functions of compiled code against libm in double: largest error in units of the
// last place, over dense and random arguments; special values exactly. For each instruction set
// that this machine can run: without fused multiply-adds the bounds are what math.c says of that.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "support/jit_check.h"
#include "support/levels.h"
#include "support/test.h"

#define N 4096

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

typedef struct {
  const char *name;
  double (*want)(double x);
  double low, high, max_ulp;
  double max_abs;  // > 0: an error below this is fine too
} function;

static const function functions[] = {
    {"exp", exp, -87.3365, 88.7228, 1.2, 0},
    {"exp", exp, -87.3365, -86.5, 1.2, 0},
    {"exp", exp, 88, 88.7228, 1.2, 0},
    {"exp", exp, -1, 1, 1.2, 0},
    {"log", log, 1e-44, 1e-37, 1, 0},
    {"log", log, 0.4, 2.5, 1, 0},
    {"log", log, 1e-30, 3e38, 1, 0},
    {"sigmoid", sigmoid, -80, 80, 2.5, 0},
    {"sigmoid", sigmoid, -3, 3, 2.5, 0},
    {"tanh", tanh, -1.5, 1.5, 1.5, 0},
    {"tanh", tanh, -12, 12, 1.5, 0},
    {"erf", erf, -2, 2, 2.3, 0},
    {"erf", erf, 0.126, 2, 1.5, 0},
    {"erf", erf, -6, 6, 2.3, 0},
    {"sin", sin, -10, 10, 2, 1e-7},
    {"sin", sin, -1e4, 1e4, 2, 1e-7},
    {"cos", cos, -10, 10, 2, 1e-7},
    {"cos", cos, -1e4, 1e4, 2, 1e-7},
    {"sin", sin, 0.9e4, 1.1e4, 2, 1e-7},
    {"sin", sin, -1e7, 1e7, 2, 1e-7},
    {"cos", cos, -1e10, 1e10, 2, 1e-7},
    {"sin", sin, -3e38, 3e38, 2, 1e-7},
    {"cos", cos, -3e38, 3e38, 2, 1e-7},
};

// y = f(x, e) for N numbers of a type.
static void apply_typed(jit_runner *runner, const char *dtype, const char *body, const void *x,
    const void *e, void *y, seer_arena *arena) {
  const char *text = seer_arena_printf(arena,
      "loop math {\n  input $x %s[%d] of 0\n  input $e %s[%d] of 1\n  output $y %s[%d] of 2\n  "
      "phase {\n    for @o < %d stage 0 {\n"
      "      vector @i < 16 stage 0 {\n        store $y[@o * 16 + @i] stage 0 = %s\n      }\n    "
      "}\n  }\n}\n",
      dtype, N, dtype, N, dtype, N, N / 16, body);
  seer_loop *loop;
  must(seer_loop_parse("math", text, strlen(text), arena, &loop));
  static double copy[2][N];
  memcpy(copy[0], x, N * (strcmp(dtype, "f64") == 0 ? sizeof(double) : sizeof(float)));
  memcpy(copy[1], e, N * (strcmp(dtype, "f64") == 0 ? sizeof(double) : sizeof(float)));
  void *data[3] = {copy[0], copy[1], y};
  const char *wrong = jit_run(runner, loop, data, 1, arena);
  if (wrong) fail_msg("%s", wrong);
}

static void apply(jit_runner *runner, const char *body, const float *x, const float *e, float *y,
    seer_arena *arena) {
  apply_typed(runner, "f32", body, x, e, y, arena);
}

static void on_each_level(void (*check)(jit_runner *runner, seer_arena *arena)) {
  for (uint32_t l = 0; l < TEST_LEVELS; l++) {
    seer_arena *arena = seer_arena_create("test");
    test_level level = test_level_get(l, arena);
    print_message("%s%s\n", level.name, level.runs_here ? "" : ": not run, this machine lacks it");
    if (level.runs_here) {
      jit_runner *runner = jit_runner_create(&level.target);
      check(runner, arena);
      jit_runner_destroy(runner);
    }
    seer_arena_destroy(arena);
  }
}

static double ulps(double want, float got) {
  if (isnan(want)) return isnan(got) ? 0 : INFINITY;
  float near = (float)want;
  if (isinf(near) || isinf(got)) return near == got ? 0 : INFINITY;
  double unit = fabs((double)nextafterf(fabsf(near), INFINITY) - (double)fabsf(near));
  return fabs((double)got - want) / unit;
}

static void errors_are_as_stated_on(jit_runner *runner, seer_arena *arena) {
  seer_rng rng;
  seer_rng_init(&rng, 3);
  static float x[N], y[N];
  for (size_t f = 0; f < SEER_COUNT_OF(functions); f++) {
    const function *fn = &functions[f];
    double worst = 0;
    float at = 0, got = 0;
    for (int round = 0; round < 4; round++) {
      for (int k = 0; k < N; k++) {
        double t = ((double)k + seer_rng_f64(&rng)) / N;
        bool by_exponent = fn->low > 0 && fn->high / fn->low > 1e3;
        double v =
            by_exponent ? fn->low * pow(fn->high / fn->low, t) : fn->low + (fn->high - fn->low) * t;
        x[k] = (float)v;
      }
      apply(runner, seer_arena_printf(arena, "%s($x[@o * 16 + @i])", fn->name), x, x, y, arena);
      for (int k = 0; k < N; k++) {
        double want = fn->want((double)x[k]), error = ulps(want, y[k]);
        if (fabs((double)y[k] - want) <= fn->max_abs) continue;
        if (error <= worst) continue;
        worst = error;
        at = x[k];
        got = y[k];
      }
    }
    print_message(
        "%-8s [%g, %g]: %.2f ulp at %.9g\n", fn->name, fn->low, fn->high, worst, (double)at);
    if (worst > fn->max_ulp) {
      fail_msg("%s(%.9g) is %.9g, expected %.9g: %.2f ulp", fn->name, (double)at, (double)got,
          fn->want((double)at), worst);
    }
  }
}

static void errors_are_as_stated(void **state) {
  (void)state, on_each_level(errors_are_as_stated_on);
}

static void special_values_on(jit_runner *runner, seer_arena *arena) {
  static const float cases[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 100.0f, -100.0f,
      1e30f, -1e30f, FLT_MIN, FLT_MAX, -FLT_MAX};
  static const uint32_t nans[] = {0x7FC00001, 0x7F800001, 0xFFFFFFFF, 0x7FC12345};  // of any digits
  static float x[N], y[N];
  for (int k = 0; k < N; k++) x[k] = cases[(size_t)k % SEER_COUNT_OF(cases)];
  memcpy(&x[SEER_COUNT_OF(cases)], nans, sizeof nans);
  for (size_t f = 0; f < SEER_COUNT_OF(functions); f++) {
    const function *fn = &functions[f];
    apply(runner, seer_arena_printf(arena, "%s($x[@o * 16 + @i])", fn->name), x, x, y, arena);
    for (size_t k = 0; k < SEER_COUNT_OF(cases) + SEER_COUNT_OF(nans); k++) {
      double want = fn->want((double)x[k]);
      bool is_tiny = fabs(want) < FLT_MIN && fabsf(y[k]) < FLT_MIN;  // exp gives 0 there
      if (is_tiny || ulps(want, y[k]) <= 3 || fabs((double)y[k] - want) < 1e-7) continue;
      fail_msg("%s(%g) is %g, expected %g", fn->name, (double)x[k], (double)y[k], want);
    }
  }
}

static void special_values(void **state) { (void)state, on_each_level(special_values_on); }

static void powers_on(jit_runner *runner, seer_arena *arena) {
  seer_rng rng;
  seer_rng_init(&rng, 5);
  static float x[N], e[N], y[N];
  static const float special[] = {
      0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 3.0f, -3.0f, 0.5f, -0.5f, 8.0f, INFINITY, -INFINITY, NAN};
  size_t n = SEER_COUNT_OF(special);
  for (int k = 0; k < N; k++) {
    x[k] = (float)exp(seer_rng_f64(&rng) * 20 - 10);
    e[k] = (float)(seer_rng_f64(&rng) * 8 - 4);
  }
  for (size_t k = 0; k < n * n; k++) {
    x[k] = special[k / n];
    e[k] = special[k % n];
  }
  apply(runner, "pow($x[@o * 16 + @i], $e[@o * 16 + @i])", x, e, y, arena);
  for (int k = 0; k < N; k++) {
    double want = pow((double)x[k], (double)e[k]), error = ulps(want, y[k]);
    if (error > 1)
      fail_msg(
          "pow(%g, %g) is %.9g, expected %.9g", (double)x[k], (double)e[k], (double)y[k], want);
  }
  static const float constants[] = {2, 3, -1, 0.5f, -0.5f, 0.75f, 1, 1.25f};
  for (size_t c = 0; c < SEER_COUNT_OF(constants); c++) {
    for (int k = 0; k < N; k++) x[k] = (float)exp(seer_rng_f64(&rng) * 10 - 5);
    apply(runner,
        seer_arena_printf(arena, "pow($x[@o * 16 + @i], %g%s)", (double)constants[c],
            constants[c] == (float)(int)constants[c] ? ".0" : ""),
        x, e, y, arena);
    for (int k = 0; k < N; k++) {
      double want = pow((double)x[k], (double)constants[c]);
      if (ulps(want, y[k]) > 2)
        fail_msg("pow(%.9g, %g) is %.9g, expected %.9g", (double)x[k], (double)constants[c],
            (double)y[k], want);
    }
  }
}

static void powers(void **state) { (void)state, on_each_level(powers_on); }

// To integers: exact, the sign of zero too; SSE2 has no instruction for it.
static void roundings_on(jit_runner *runner, seer_arena *arena) {
  static const struct {
    const char *name;
    double (*want)(double x);
  } cases[] = {{"floor", floor}, {"ceil", ceil}, {"round", rint}};
  static const double special[] = {0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.49999997,
      -0.49999997, 8388607.5, -8388607.5, 8388608, 16777217, 4503599627370495.5,
      -4503599627370495.5, 4503599627370497.0, 1e30, -1e30, 1e-40, -1e-40, 1e-310, -1e-310,
      (double)INFINITY, -(double)INFINITY, (double)NAN};
  static float x[N], y[N];
  static double x2[N], y2[N];
  seer_rng rng;
  seer_rng_init(&rng, 11);
  for (int k = 0; k < N; k++) {
    double v = ldexp(seer_rng_f64(&rng) * 2 - 1, (int)seer_rng_range(&rng, -3, 54));
    x2[k] = (size_t)k < SEER_COUNT_OF(special) ? special[k] : v;
    x[k] = (float)x2[k];
  }
  for (size_t c = 0; c < SEER_COUNT_OF(cases); c++) {
    const char *body = seer_arena_printf(arena, "%s($x[@o * 16 + @i])", cases[c].name);
    apply(runner, body, x, x, y, arena);
    apply_typed(runner, "f64", body, x2, x2, y2, arena);
    for (int k = 0; k < N; k++) {
      const double want[2] = {cases[c].want((double)x[k]), cases[c].want(x2[k])};
      const double got[2] = {(double)y[k], y2[k]};
      for (int i = 0; i < 2; i++) {
        bool is_same = isnan(want[i]) ? isnan(got[i])
                                      : got[i] == want[i] && !signbit(got[i]) == !signbit(want[i]);
        if (!is_same)
          fail_msg("%s(%.17g), %s: %.17g, expected %.17g", cases[c].name, i ? x2[k] : (double)x[k],
              i ? "f64" : "f32", got[i], want[i]);
      }
    }
  }
}

static void roundings(void **state) { (void)state, on_each_level(roundings_on); }

// sin and cos over all exponents, one vector of which has near and far lanes.
static void waves_on(jit_runner *runner, seer_arena *arena) {
  static float x[N], y[N];
  static double x2[N], y2[N];
  seer_rng rng;
  seer_rng_init(&rng, 13);
  for (int k = 0; k < N; k++) {
    double m = (1 + seer_rng_f64(&rng)) * (k & 1 ? -1 : 1);
    x[k] = (float)ldexp(m, (int)seer_rng_range(&rng, -149, 127));
    x2[k] = ldexp(m, (int)seer_rng_range(&rng, -1074, 1023));
  }
  for (int is_cos = 0; is_cos < 2; is_cos++) {
    double (*want)(double) = is_cos ? cos : sin;
    const char *body = is_cos ? "cos($x[@o * 16 + @i])" : "sin($x[@o * 16 + @i])";
    apply(runner, body, x, x, y, arena);
    apply_typed(runner, "f64", body, x2, x2, y2, arena);
    for (int k = 0; k < N; k++) {
      if (fabs((double)y[k] - want((double)x[k])) > 1e-7)
        fail_msg("%s of %.9g: %.9g, expected %.9g", body, (double)x[k], (double)y[k],
            want((double)x[k]));
      if (fabs(y2[k] - want(x2[k])) > 4e-16)
        fail_msg("%s of %.17g: %.17g, expected %.17g", body, x2[k], y2[k], want(x2[k]));
    }
  }
}
static void waves(void **state) { (void)state, on_each_level(waves_on); }

// C's fmod, to the bit: rounded quotients, large ones, subnormal divisors, and what has none.
static void remainders_on(jit_runner *runner, seer_arena *arena) {
  static const double special[] = {0.0, -0.0, 1, -1, 5, 0.1f, -0.3f, 1e-45, -1e-45, 3e38, 1.5e-38,
      7, -7, 1e30, (double)INFINITY, -(double)INFINITY, (double)NAN};
  static float x[N], e[N], y[N];
  static double x2[N], e2[N], y2[N];
  seer_rng rng;
  seer_rng_init(&rng, 17);
  size_t n = SEER_COUNT_OF(special);
  for (int k = 0; k < N; k++) {
    double m = 1 + seer_rng_f64(&rng), d = (1 + seer_rng_f64(&rng)) * (k & 1 ? -1 : 1);
    int64_t apart = k % 3 == 0 ? 250 : k % 3 == 1 ? 20 : 4, low = seer_rng_range(&rng, -126, 0);
    x[k] = (float)ldexp(m, (int)(low + seer_rng_range(&rng, -1, apart < 127 ? apart : 127)));
    e[k] = (float)ldexp(d, (int)low);
    if (k % 5 == 0) x[k] = e[k] * (float)seer_rng_range(&rng, -5000, 5000);  // a multiple, rounded
    x2[k] = k % 5 == 0
        ? ldexp(d, (int)low) * (double)(k - 2000)
        : ldexp(m, (int)(low + seer_rng_range(&rng, -1, 8 * apart - 1000 > 900 ? 900 : 60)));
    e2[k] = ldexp(d, (int)low);
  }
  for (size_t k = 0; k < n * n; k++) {
    x2[k] = special[k / n], e2[k] = special[k % n];
    x[k] = (float)x2[k], e[k] = (float)e2[k];
  }
  apply(runner, "$x[@o * 16 + @i] % $e[@o * 16 + @i]", x, e, y, arena);
  apply_typed(runner, "f64", "$x[@o * 16 + @i] % $e[@o * 16 + @i]", x2, e2, y2, arena);
  for (int k = 0; k < N; k++) {
    double want[2] = {fmod((double)x[k], (double)e[k]), fmod(x2[k], e2[k])};
    double got[2] = {(double)y[k], y2[k]};
    for (int i = 0; i < 2; i++) {
      bool is_same = isnan(want[i]) ? isnan(got[i])
                                    : got[i] == want[i] && !signbit(got[i]) == !signbit(want[i]);
      if (!is_same)
        fail_msg("fmod(%.17g, %.17g), %s: %.17g, expected %.17g", i ? x2[k] : (double)x[k],
            i ? e2[k] : (double)e[k], i ? "f64" : "f32", got[i], want[i]);
    }
  }
}
static void remainders(void **state) { (void)state, on_each_level(remainders_on); }

// ---- f64

typedef struct {
  const char *body;
  double (*want)(double x, double e);
  double low, high, max_relative, max_abs;
} function64;

static double exp2_of(double x, double e) { return exp(x) + 0 * e; }
static double log2_of(double x, double e) { return log(x) + 0 * e; }
static double tanh2_of(double x, double e) { return tanh(x) + 0 * e; }
static double sigmoid2_of(double x, double e) { return sigmoid(x) + 0 * e; }
static double erf2_of(double x, double e) { return erf(x) + 0 * e; }
static double sin2_of(double x, double e) { return sin(x) + 0 * e; }
static double cos2_of(double x, double e) { return cos(x) + 0 * e; }

static void doubles_are_as_stated_on(jit_runner *runner, seer_arena *arena) {
  static const function64 cases[] = {
      {"exp(X)", exp2_of, -700, 700, 6e-16, 0},
      {"exp(X)", exp2_of, -708.396, -708, 6e-16, 0},
      {"exp(X)", exp2_of, 709, 709.7827, 6e-16, 0},
      {"exp(X)", exp2_of, -1, 1, 4e-16, 0},
      {"log(X)", log2_of, 1e-6, 4, 4e-16, 4e-16},
      {"log(X)", log2_of, 1, 1e12, 4e-16, 0},
      {"sigmoid(X)", sigmoid2_of, -50, 50, 6e-16, 0},
      {"tanh(X)", tanh2_of, -2, 2, 1e-15, 0},
      {"tanh(X)", tanh2_of, -30, 30, 1e-15, 0},
      {"erf(X)", erf2_of, -1e-3, 1e-3, 3e-16, 0},
      {"erf(X)", erf2_of, -2, 2, 3e-16, 0},
      {"erf(X)", erf2_of, -8, 8, 3e-16, 0},
      {"sin(X)", sin2_of, -10, 10, 0, 4e-16},
      {"sin(X)", sin2_of, -1e5, 1e5, 0, 4e-16},
      {"cos(X)", cos2_of, -1e5, 1e5, 0, 4e-16},
      {"sin(X)", sin2_of, -1e9, 1e9, 0, 4e-16},
      {"cos(X)", cos2_of, -1e22, 1e22, 0, 4e-16},
      {"sin(X)", sin2_of, -8e307, 8e307, 0, 4e-16},
      {"pow(X, $e[@o * 16 + @i])", pow, 0.01, 20, 2e-14, 0},
  };
  seer_rng rng;
  seer_rng_init(&rng, 9);
  static double x[N], e[N], y[N];
  for (size_t f = 0; f < SEER_COUNT_OF(cases); f++) {
    const function64 *fn = &cases[f];
    for (int k = 0; k < N; k++) {
      x[k] = fn->low + (fn->high - fn->low) * (((double)k + seer_rng_f64(&rng)) / N);
      e[k] = seer_rng_f64(&rng) * 8 - 4;
    }
    char body[64] = "";
    size_t n = 0;
    for (const char *at = fn->body; *at; at++)
      n += (size_t)snprintf(body + n, sizeof body - n, *at == 'X' ? "$x[@o * 16 + @i]" : "%c", *at);
    apply_typed(runner, "f64", body, x, e, y, arena);
    for (int k = 0; k < N; k++) {
      double want = fn->want(x[k], e[k]), error = fabs(y[k] - want);
      if (error <= fn->max_abs || error <= fn->max_relative * fabs(want)) continue;
      fail_msg("%s of %.17g (%g) is %.17g, expected %.17g", fn->body, x[k], e[k], y[k], want);
    }
  }
  // pow of negative numbers, and the ends of exp and log
  memcpy(x, (double[]){-2, -2, -3, 0, 1000, -1000}, 6 * sizeof(double));
  memcpy(e, (double[]){3, 0.5, -2, 2, 1, 1}, 6 * sizeof(double));
  apply_typed(runner, "f64", "pow($x[@o * 16 + @i], $e[@o * 16 + @i])", x, e, y, arena);
  assert_true(fabs(y[0] + 8) < 1e-13 && isnan(y[1]) && fabs(y[2] - 1.0 / 9) < 1e-15 && y[3] == 0);
  apply_typed(runner, "f64", "exp($x[@o * 16 + @i])", x, e, y, arena);
  assert_true(isinf(y[4]) && y[5] == 0);
  apply_typed(runner, "f64", "log($x[@o * 16 + @i])", x, e, y, arena);
  assert_true(isnan(y[0]) && isinf(y[3]) && y[3] < 0);
}

static void doubles_are_as_stated(void **state) {
  (void)state, on_each_level(doubles_are_as_stated_on);
}

static void special_doubles_on(jit_runner *runner, seer_arena *arena) {
  static const struct {
    const char *name;
    double (*want)(double x);
  } each[] = {{"exp", exp}, {"log", log}, {"sigmoid", sigmoid}, {"tanh", tanh}, {"erf", erf},
      {"sin", sin}, {"cos", cos}};
  static const double cases[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, (double)NAN, 6.0, -6.5,
      100.0, -100.0, 1e300, -1e300, 0x1p-1022, 0x1p-1074, -0x1p-1074, DBL_MAX, -DBL_MAX};
  static double x[N], y[N];
  for (size_t k = 0; k < N; k++) x[k] = cases[k % SEER_COUNT_OF(cases)];
  for (size_t f = 0; f < SEER_COUNT_OF(each); f++) {
    const char *body = seer_arena_printf(arena, "%s($x[@o * 16 + @i])", each[f].name);
    apply_typed(runner, "f64", body, x, x, y, arena);
    for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
      double want = each[f].want(x[k]), error = fabs(y[k] - want);
      if (y[k] == want || (isnan(want) && isnan(y[k]))) continue;
      if (want == 0 || isinf(want) || !(error <= 1e-15 * fmax(1, fabs(want))))
        fail_msg("%s(%g) is %.17g, expected %.17g", each[f].name, x[k], y[k], want);
    }
  }
}

static void special_doubles(void **state) { (void)state, on_each_level(special_doubles_on); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_are_as_stated),
      cmocka_unit_test(doubles_are_as_stated),
      cmocka_unit_test(special_doubles),
      cmocka_unit_test(special_values),
      cmocka_unit_test(powers),
      cmocka_unit_test(roundings),
      cmocka_unit_test(waves),
      cmocka_unit_test(remainders),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
