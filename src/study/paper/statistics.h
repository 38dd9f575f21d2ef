// statistics.h - how well scores order times, and how sure a mean over seeds is.
// Pure but for the arena: safe from any thread.
#ifndef SEER_STUDY_PAPER_STATISTICS_H
#define SEER_STUDY_PAPER_STATISTICS_H

#include "base/arena.h"

// Of all pairs with different times, the share in which the faster one has the higher score; equal
// scores count half. NAN: there is no such pair.
double seer_pair_accuracy(const float *scores, const double *seconds, uint32_t n);
// The best time over the best among the `top` highest scores (those in front where scores are
// equal): 1 is all that can be. NAN: n is 0.
double seer_peak(
    const float *scores, const double *seconds, uint32_t n, uint32_t top, seer_arena *scratch);

typedef struct {
  double mean, low, high;  // of the 95 % interval; NAN: no values
  uint32_t n;  // values that are there
} seer_interval;
// Values of groups (networks), each of several seeds: value[group * n_each + k], NAN where there is
// none. The mean over groups of their means, and the percentile bootstrap over seeds, each group by
// itself (2,000 times, repeatable). A group without values is left out. With one seed the interval
// is a point: it says nothing.
seer_interval seer_bootstrap(
    const double *values, uint32_t n_group, uint32_t n_each, seer_arena *scratch);
// The same of factors: geometric means. A factor of 0 is none.
seer_interval seer_bootstrap_factors(
    const double *values, uint32_t n_group, uint32_t n_each, seer_arena *scratch);

#endif
