// pairs.c - pairs of times that were taken in turns -> which of the two is faster, by how much, and
// how likely that is chance. Medians, because what disturbs a shared machine makes some pairs
// arbitrarily wrong; a sign test, because nothing is known of how the times are distributed.

#include <math.h>

#include "base/stats.h"
#include "tune/measure.h"

// Chance that at least `wins` of n fair coins fall heads.
static double sign_test(uint32_t wins, uint32_t n) {
  double p = 0, term = pow(0.5, n);
  for (uint32_t k = n + 1; k-- > 0;) {  // k = n, n-1, ... wins; C(n, k) from the top
    if (k < wins) break;
    p += term;
    term = term * k / (double)(n - k + 1);
  }
  return fmin(p, 1);
}

static double median(double *values, uint32_t n) {
  seer_sort_f64(values, n);
  return seer_sorted_median(values, n);
}

seer_measure_ab seer_measure_judge(const seer_measure_pair *pairs, uint32_t n) {
  SEER_ASSERT(n <= SEER_MEASURE_MAX_JUDGED, "%u pairs", n);
  seer_measure_ab ab = {.p_value = 1, .n_pairs = n};
  if (n == 0) return ab;
  double values[SEER_MEASURE_MAX_JUDGED];
  uint32_t wins = 0;
  for (uint32_t i = 0; i < n; i++) {
    values[i] = pairs[i].baseline_seconds / pairs[i].seconds;
    wins += values[i] > 1;
  }
  ab.speedup = median(values, n);
  ab.p_value = sign_test(wins, n);
  for (uint32_t i = 0; i < n; i++) values[i] = pairs[i].seconds;
  ab.seconds = median(values, n);
  for (uint32_t i = 0; i < n; i++) values[i] = pairs[i].baseline_seconds;
  ab.baseline_seconds = median(values, n);
  return ab;
}
