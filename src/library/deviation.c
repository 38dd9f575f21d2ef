// deviation.c - two arrays -> errors, cosine, places of largest elements. Sums are of numbers that
// were divided by the largest one before: squares of f64 would leave its range.
#include "library/deviation.h"

#include <math.h>

typedef struct {
  seer_dtype dtype;
  const void *found, *expected;
} pair;

static double found_at(const pair *p, uint64_t i) {
  return seer_dtype_load_f64(p->dtype, p->found, (int64_t)i);
}

static double expected_at(const pair *p, uint64_t i) {
  return seer_dtype_load_f64(p->dtype, p->expected, (int64_t)i);
}

typedef struct {
  double found, expected, error;  // the largest magnitudes of what is finite in both
} scales;

static scales find_largest(const pair *p, seer_deviation *d) {
  scales s = {0, 0, 0};
  for (uint64_t i = 0; i < d->n; i++) {
    double a = found_at(p, i), b = expected_at(p, i);
    if (isfinite(b)) d->largest_expected = fmax(d->largest_expected, fabs(b));
    if (isfinite(a) && isfinite(b)) {
      s.found = fmax(s.found, fabs(a));
      s.expected = fmax(s.expected, fabs(b));
      s.error = fmax(s.error, fabs(a - b));
    } else if (a == b || (isnan(a) && isnan(b))) {
      d->n_alike++;
    } else {
      d->n_apart++;
    }
  }
  d->largest = d->n_apart > 0 ? INFINITY : s.error;
  d->relative = d->largest == 0 ? 0 : d->largest / d->largest_expected;
  return s;
}

static void find_means(const pair *p, const scales *s, seer_deviation *d) {
  double errors = 0, dot = 0, of_found = 0, of_expected = 0;
  for (uint64_t i = 0; i < d->n; i++) {
    double a = found_at(p, i), b = expected_at(p, i);
    if (!isfinite(a) || !isfinite(b)) continue;
    if (s->error > 0) errors += fabs(a - b) / s->error;
    a = s->found > 0 ? a / s->found : 0;
    b = s->expected > 0 ? b / s->expected : 0;
    dot += a * b;
    of_found += a * a;
    of_expected += b * b;
  }
  uint64_t n_finite = d->n - d->n_apart - d->n_alike;
  d->mean = n_finite > 0 && s->error > 0 ? errors / (double)n_finite * s->error : 0;
  bool is_zero = s->found == 0, is_zero_expected = s->expected == 0;
  if (is_zero || is_zero_expected)
    d->cosine = is_zero && is_zero_expected;
  else
    d->cosine = fmax(-1, fmin(1, dot / (sqrt(of_found) * sqrt(of_expected))));
}

static uint64_t place_of_largest(
    const pair *p, double (*at)(const pair *, uint64_t), uint64_t first, uint64_t n) {
  uint64_t best = 0;
  double largest = at(p, first);
  for (uint64_t i = 1; i < n && !isnan(largest); i++) {
    double x = at(p, first + i);
    if (!(x > largest) && !isnan(x)) continue;
    largest = x;
    best = i;
  }
  return best;
}

static void compare_rows(const pair *p, uint64_t row, seer_deviation *d) {
  if (row < 2) return;
  d->n_row = d->n / row;
  for (uint64_t r = 0; r < d->n_row; r++)
    d->n_row_agree += place_of_largest(p, found_at, r * row, row) ==
        place_of_largest(p, expected_at, r * row, row);
}

seer_deviation seer_deviation_measure(
    seer_dtype dtype, const void *found, const void *expected, uint64_t n, uint64_t row) {
  const pair p = {dtype, found, expected};
  seer_deviation d = {.n = n};
  scales s = find_largest(&p, &d);
  find_means(&p, &s, &d);
  compare_rows(&p, row, &d);
  return d;
}
