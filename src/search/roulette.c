// roulette.c - scores -> prefix sums -> an index, by bisection.
#include "search/roulette.h"

void seer_roulette_fill(const float *score, uint32_t n, double *out_sum) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) out_sum[i] = sum += score[i] > 0 ? (double)score[i] : 0;
  for (uint32_t i = 0; i < n && sum <= 0; i++) out_sum[i] = i + 1;
}

uint32_t seer_roulette_draw(const double *sum, uint32_t n, seer_rng *rng) {
  double at = seer_rng_f64(rng) * sum[n - 1];
  uint32_t low = 0, high = n - 1;  // the first whose sum is above `at`
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (sum[middle] > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}
