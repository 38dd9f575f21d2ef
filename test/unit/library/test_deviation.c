// What a lower precision has changed, by formulas in long double over random numbers of all
// magnitudes; what is no number, zeros, rows.
#include "library/deviation.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "support/test.h"

static void check_near(double found, long double expected, double relative) {
  if (found == (double)expected) return;
  long double error = fabsl((long double)found - expected);
  if (!(error <= relative * fabsl(expected))) fail_msg("%.17g, not %.17Lg", found, expected);
}

// The definitions, one sum each; numbers are f32, so that squares fit a long double.
static void check_by_definition(const float *a, const float *b, uint64_t n) {
  long double largest = 0, largest_b = 0, sum = 0, dot = 0, aa = 0, bb = 0;
  for (uint64_t i = 0; i < n; i++) {
    long double x = a[i], y = b[i];
    largest = fmaxl(largest, fabsl(x - y));
    largest_b = fmaxl(largest_b, fabsl(y));
    sum += fabsl(x - y);
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  seer_deviation d = seer_deviation_measure(SEER_DTYPE_F32, a, b, n, 0);
  assert_int_equal(d.n, n);
  assert_int_equal(d.n_apart + d.n_alike + d.n_row + d.n_row_agree, 0);
  check_near(d.largest, largest, 1e-15);
  check_near(d.largest_expected, largest_b, 1e-15);
  check_near(d.relative, largest / largest_b, 1e-15);
  check_near(d.mean, sum / (long double)n, 1e-12);
  check_near(d.cosine, dot / sqrtl(aa) / sqrtl(bb), 1e-11);
}

static void test_numbers(void **state) {
  (void)state;
  enum { N = 3000 };
  static float a[N], b[N];
  static const double scale[] = {1, 3e38 / 6, 1e-40, 1e-20};
  seer_rng rng;
  seer_rng_init_stream(&rng, 75, 1);
  for (size_t s = 0; s < sizeof scale / sizeof *scale; s++) {
    for (int i = 0; i < N; i++) {
      double x = seer_rng_normal(&rng), more = s < 2 ? 0.01 : 0.3;
      b[i] = (float)(fmax(-5, fmin(5, x)) * scale[s]);
      a[i] = (float)((double)b[i] * (1 + more * fmax(-1, fmin(1, seer_rng_normal(&rng)))));
    }
    check_by_definition(a, b, N);
    check_by_definition(a, b, 1);
  }
}

// Squares and sums of these leave f64.
static void test_range_of_f64(void **state) {
  (void)state;
  const double a[] = {DBL_MAX / 2, -DBL_MAX / 4, DBL_MAX / 2}, b[] = {DBL_MAX / 4, 0, DBL_MAX / 4};
  seer_deviation d = seer_deviation_measure(SEER_DTYPE_F64, a, b, 3, 3);
  check_near(d.largest, (long double)DBL_MAX / 4, 1e-15);
  check_near(d.mean, (long double)DBL_MAX / 4, 1e-15);
  check_near(d.relative, 1, 1e-15);
  // (2, -1, 2) and (1, 0, 1): 4 / (3 sqrt 2)
  check_near(d.cosine, 4 / (3 * sqrtl(2)), 1e-15);
  assert_int_equal(d.n_row, 1);
  assert_int_equal(d.n_row_agree, 1);
}

static void test_no_numbers(void **state) {
  (void)state;
  const float inf = INFINITY, none = NAN;
  const float b[] = {none, inf, -inf, 1, 2, 4, inf}, same[] = {none, inf, -inf, 1, 2.5f, 4, inf};
  seer_deviation d = seer_deviation_measure(SEER_DTYPE_F32, same, b, 7, 0);
  assert_int_equal(d.n_alike, 4);
  assert_int_equal(d.n_apart, 0);
  check_near(d.largest, 0.5, 0);
  check_near(d.relative, 0.125, 0);
  check_near(d.mean, 0.5L / 3, 1e-15);
  check_near(d.cosine, 22 / sqrtl(23.25L * 21), 1e-15);
  const float other[] = {1, -inf, none, inf, 2, 5, inf};
  d = seer_deviation_measure(SEER_DTYPE_F32, other, b, 7, 0);
  assert_int_equal(d.n_alike, 1);
  assert_int_equal(d.n_apart, 4);
  assert_true(isinf(d.largest) && isinf(d.relative));
  check_near(d.largest_expected, 4, 0);
  check_near(d.mean, 0.5, 1e-15);  // of (2, 5) and (2, 4)
  check_near(d.cosine, 24 / sqrtl(29.0L * 20), 1e-15);
  const float nothing[] = {none, none};
  d = seer_deviation_measure(SEER_DTYPE_F32, nothing, nothing, 2, 2);
  assert_true(d.largest == 0 && d.relative == 0 && d.mean == 0 && d.cosine == 1);
  assert_int_equal(d.n_row_agree, 1);
}

static void test_zeros(void **state) {
  (void)state;
  const float zero[] = {0, -0.0f, 0}, one[] = {0, 1, 0};
  seer_deviation d = seer_deviation_measure(SEER_DTYPE_F32, zero, zero, 3, 0);
  assert_true(d.largest == 0 && d.relative == 0 && d.mean == 0 && d.cosine == 1);
  d = seer_deviation_measure(SEER_DTYPE_F32, zero, one, 3, 0);
  assert_true(d.largest == 1 && d.relative == 1 && d.cosine == 0);
  d = seer_deviation_measure(SEER_DTYPE_F32, one, zero, 3, 0);
  assert_true(d.largest == 1 && isinf(d.relative) && d.cosine == 0);
  d = seer_deviation_measure(SEER_DTYPE_F32, one, zero, 0, 0);
  assert_true(d.largest == 0 && d.relative == 0 && d.mean == 0 && d.cosine == 1);
  const float minus[] = {0, -1, 0};
  assert_true(seer_deviation_measure(SEER_DTYPE_F32, one, minus, 3, 0).cosine == -1);
}

static void test_rows(void **state) {
  (void)state;
  static const struct {
    float a[4], b[4];
    int agrees;
  } rows[] = {{{1, 3, 2, 0}, {1, 4, 2, 0}, 1}, {{1, 3, 3, 0}, {1, 4, 2, 0}, 1},  // the first of two
      {{1, 3, 3, 0}, {1, 2, 4, 0}, 0}, {{-4, -3, -2, -5}, {-4, -3, -2, -1}, 0},
      {{9, NAN, 0, 1}, {9, NAN, INFINITY, 1}, 1},  // NaN is larger than all
      {{9, NAN, 0, NAN}, {9, 0, 0, NAN}, 0}, {{0, -INFINITY, INFINITY, 1}, {0, 0, 1, 0}, 1}};
  enum { N = sizeof rows / sizeof *rows };
  float a[N * 4], b[N * 4];
  uint64_t expected = 0;
  for (int r = 0; r < N; r++) {
    for (int i = 0; i < 4; i++) {
      a[r * 4 + i] = rows[r].a[i];
      b[r * 4 + i] = rows[r].b[i];
    }
    seer_deviation d = seer_deviation_measure(SEER_DTYPE_F32, rows[r].a, rows[r].b, 4, 4);
    assert_int_equal(d.n_row, 1);
    assert_int_equal(d.n_row_agree, rows[r].agrees);
    expected += (uint64_t)rows[r].agrees;
  }
  seer_deviation d = seer_deviation_measure(SEER_DTYPE_F32, a, b, N * 4, 4);
  assert_int_equal(d.n_row, N);
  assert_int_equal(d.n_row_agree, expected);
  assert_int_equal(seer_deviation_measure(SEER_DTYPE_F32, a, b, N * 4, 1).n_row, 0);
}

static void test_other_types(void **state) {
  (void)state;
  const int64_t a[] = {3, -7, 9}, b[] = {3, -8, 9};
  seer_deviation d = seer_deviation_measure(SEER_DTYPE_I64, a, b, 3, 3);
  assert_true(d.largest == 1 && d.largest_expected == 9 && d.n_row_agree == 1);
  const uint16_t half[] = {0x3f80, 0x4000}, other[] = {0x3f80, 0x7f80};  // bf16: 1, 2; 1, infinity
  assert_int_equal(seer_deviation_measure(SEER_DTYPE_BF16, half, other, 2, 0).n_apart, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_range_of_f64), cmocka_unit_test(test_no_numbers),
      cmocka_unit_test(test_zeros), cmocka_unit_test(test_rows),
      cmocka_unit_test(test_other_types)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
