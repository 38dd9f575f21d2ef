// stats.h - statistics of small samples, times above all.
// Pure, but that sorting is in place: safe from any thread.
#ifndef SEER_BASE_STATS_H
#define SEER_BASE_STATS_H

#include "base/base.h"

// Ascending, in place. No value is NaN.
void seer_sort_f64(double *values, size_t n);
// Of sorted values, n > 0: the middle one, or the mean of the two in the middle.
double seer_sorted_median(const double *sorted, size_t n);
// Of sorted values, n > 0: the value that a quarter of them lie below.
double seer_sorted_quartile(const double *sorted, size_t n);
// Of values in any order, n > 0, which are sorted for it.
double seer_median(double *values, size_t n);
double seer_mean(const double *values, size_t n);  // n > 0
// Width of the 95 % interval of the mean (Student's), n > 0; infinite of one value.
double seer_mean_interval(const double *values, size_t n);
// Chance that at least `wins` of n fair coins fall heads. Sign tests; ties are left out by the
// caller.
double seer_sign_test(uint32_t wins, uint32_t n);

#endif
