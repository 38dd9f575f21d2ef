// timing.c - when samples are enough, and what they say.

#include "measure/timing.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "measure/measure.h"

#define MAX_SAMPLES 15  // where no precision is asked for

// At least Ansor's `number`, 3 runs; at most its min_repeat_ms, 100 ms, which it spends on each.
const seer_timing seer_timing_published = {.precision = 0.015, .most_s = 0.1};

static uint32_t max_samples(const seer_timing *timing) {
  return timing->precision > 0 ? SEER_MEASURE_MAX_SAMPLES : MAX_SAMPLES;
}

double seer_timing_sample_s(const seer_timing *timing) {
  double all_s = timing->precision > 0 ? fmax(timing->least_s, timing->most_s) : timing->least_s;
  return all_s / max_samples(timing);
}

bool seer_timing_is_enough(
    const seer_timing *timing, const double *samples, uint32_t n, double total_s) {
  if (n >= max_samples(timing)) return true;
  if (n < SEER_TIMING_MIN_SAMPLES || total_s < timing->least_s) return false;
  if (timing->precision <= 0 || total_s >= timing->most_s) return true;
  return seer_mean_interval(samples, n) <= timing->precision * seer_mean(samples, n);
}

double seer_timing_seconds(const seer_timing *timing, const double *samples, uint32_t n) {
  SEER_ASSERT(n > 0 && n <= SEER_MEASURE_MAX_SAMPLES, "%u samples", n);
  if (timing->precision > 0) return seer_mean(samples, n);
  double sorted[SEER_MEASURE_MAX_SAMPLES];
  memcpy(sorted, samples, n * sizeof(double));
  seer_sort_f64(sorted, n);
  return seer_sorted_quartile(sorted, n);
}
