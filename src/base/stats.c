#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_f64(const void *a, const void *b) {
  double x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

void seer_sort_f64(double *values, size_t n) { qsort(values, n, sizeof *values, compare_f64); }

double seer_sorted_median(const double *sorted, size_t n) {
  SEER_ASSERT(n > 0, "median of nothing");
  return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

double seer_sorted_quartile(const double *sorted, size_t n) {
  SEER_ASSERT(n > 0, "quartile of nothing");
  return sorted[n / 4];
}

double seer_median(double *values, size_t n) {
  seer_sort_f64(values, n);
  return seer_sorted_median(values, n);
}

double seer_sign_test(uint32_t wins, uint32_t n) {
  double p = 0, term = pow(0.5, n);
  for (uint32_t k = n + 1; k-- > 0;) {  // k = n, n-1, ... wins; C(n, k) from the top
    if (k < wins) break;
    p += term;
    term = term * k / (double)(n - k + 1);
  }
  return fmin(p, 1);
}
