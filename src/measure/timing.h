// timing.h - how long a candidate is timed, and what its time is: rules over samples that are there
// already. The runner takes the samples (runner.c).
// Pure: safe from any thread.
#ifndef SEER_MEASURE_TIMING_H
#define SEER_MEASURE_TIMING_H

#include "base/base.h"

#define SEER_TIMING_MIN_SAMPLES 3

typedef struct {
  double least_s;  // samples are taken for so long, all of them together
  // 0: that is all. Else until the 95 % interval of their mean is no wider than this share of it,
  // but no longer than most_s.
  double precision, most_s;
} seer_timing;

// Ansor's as far as it is worth its time: it times every candidate for at least 100 ms.
extern const seer_timing seer_timing_published;

// One sample: calls of so many seconds, or a single one that takes longer.
double seer_timing_sample_s(const seer_timing *timing);
// Enough, after n samples that took total_s in all? Yes, of SEER_MEASURE_MAX_SAMPLES.
bool seer_timing_is_enough(
    const seer_timing *timing, const double *samples, uint32_t n, double total_s);
// The candidate's time, n > 0: the mean where a precision was asked for, for it is the mean's, and
// Ansor's; else the lower quartile. What disturbs a shared machine only ever slows a kernel down,
// in bursts of a few milliseconds: the quartile outlives them, and is no single lucky sample.
double seer_timing_seconds(const seer_timing *timing, const double *samples, uint32_t n);

#endif
