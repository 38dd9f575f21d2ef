// pairs.c - pairs of times that were taken in turns -> which of the two is faster, by how much, and
// how likely that is chance. Medians, because what disturbs a shared machine makes some pairs
// arbitrarily wrong; a sign test, because nothing is known of how the times are distributed.

#include "base/stats.h"
#include "measure/measure.h"

seer_measure_ab seer_measure_summarise(const seer_measure_pair *pairs, uint32_t n) {
  SEER_ASSERT(n <= SEER_MEASURE_MAX_SUMMARISED, "%u pairs", n);
  seer_measure_ab ab = {.p_value = 1, .n_pairs = n};
  if (n == 0) return ab;
  double values[SEER_MEASURE_MAX_SUMMARISED];
  uint32_t wins = 0;
  for (uint32_t i = 0; i < n; i++) {
    values[i] = pairs[i].baseline_seconds / pairs[i].seconds;
    wins += values[i] > 1;
  }
  ab.speedup = seer_median(values, n);
  ab.p_value = seer_sign_test(wins, n);
  for (uint32_t i = 0; i < n; i++) values[i] = pairs[i].seconds;
  ab.seconds = seer_median(values, n);
  for (uint32_t i = 0; i < n; i++) values[i] = pairs[i].baseline_seconds;
  ab.baseline_seconds = seer_median(values, n);
  return ab;
}
