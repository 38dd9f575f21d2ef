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

double seer_mean(const double *values, size_t n) {
  SEER_ASSERT(n > 0, "mean of nothing");
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += values[i];
  return sum / (double)n;
}

// Student's t at 97.5 %, freedom > 0: by table, then by the first terms of its expansion around the
// normal's (beyond the table exact to 0.001).
static double student(size_t freedom) {
  static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
      2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  if (freedom <= SEER_COUNT_OF(table)) return table[freedom - 1];
  double z = 1.95996, v = (double)freedom;
  return z + (pow(z, 3) + z) / (4 * v) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * v * v);
}

double seer_mean_interval(const double *values, size_t n) {
  double mean = seer_mean(values, n), sum = 0;
  if (n < 2) return INFINITY;
  for (size_t i = 0; i < n; i++) sum += (values[i] - mean) * (values[i] - mean);
  double deviation = sqrt(sum / (double)(n - 1));
  return 2 * student(n - 1) * deviation / sqrt((double)n);
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
