// statistics.c - pairs are counted, peaks looked up, means drawn again.
#include "study/paper/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/stats.h"

#define RESAMPLES 2000
#define LEFT_OUT 0.025  // on each side

double seer_pair_accuracy(const float *scores, const double *seconds, uint32_t n) {
  double right = 0, all = 0;
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t j = i + 1; j < n; j++) {
      if (seconds[i] == seconds[j]) continue;
      float faster = seconds[i] < seconds[j] ? scores[i] : scores[j],
            slower = seconds[i] < seconds[j] ? scores[j] : scores[i];
      right += faster > slower ? 1 : faster == slower ? 0.5 : 0;
      all++;
    }
  }
  return all > 0 ? right / all : NAN;
}

typedef struct {
  float score;
  uint32_t at;
} ranked;

static int by_score(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

double seer_peak(
    const float *scores, const double *seconds, uint32_t n, uint32_t top, seer_arena *scratch) {
  if (n == 0) return NAN;
  ranked *order = SEER_NEW_ARRAY(scratch, ranked, n);
  double best = INFINITY, picked = INFINITY;
  for (uint32_t i = 0; i < n; i++) {
    order[i] = (ranked){scores[i], i};
    best = fmin(best, seconds[i]);
  }
  qsort(order, n, sizeof *order, by_score);
  for (uint32_t i = 0; i < n && i < top; i++) picked = fmin(picked, seconds[order[i].at]);
  return best / picked;
}

// ---- bootstrap
typedef struct {
  uint32_t n_group, *n;  // by group
  double **value;
} groups;

static groups present(
    const double *values, uint32_t n_group, uint32_t n_each, seer_arena *scratch) {
  groups out = {.n = SEER_NEW_ARRAY(scratch, uint32_t, n_group + 1),
      .value = SEER_NEW_ARRAY(scratch, double *, n_group + 1)};
  for (uint32_t g = 0; g < n_group; g++) {
    double *own = SEER_NEW_ARRAY(scratch, double, n_each + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < n_each; k++) {
      double value = values[(size_t)g * n_each + k];
      if (!isnan(value)) own[n++] = value;
    }
    if (n == 0) continue;
    out.value[out.n_group] = own;
    out.n[out.n_group++] = n;
  }
  return out;
}

// rng NULL: the values as they are.
static double mean_of(const groups *g, seer_rng *rng) {
  double sum = 0;
  for (uint32_t i = 0; i < g->n_group; i++) {
    double own = 0;
    for (uint32_t k = 0; k < g->n[i]; k++)
      own += g->value[i][rng ? seer_rng_below(rng, g->n[i]) : k];
    sum += own / g->n[i];
  }
  return sum / g->n_group;
}

seer_interval seer_bootstrap(
    const double *values, uint32_t n_group, uint32_t n_each, seer_arena *scratch) {
  groups g = present(values, n_group, n_each, scratch);
  if (g.n_group == 0) return (seer_interval){NAN, NAN, NAN, 0};
  seer_interval out = {.mean = mean_of(&g, NULL)};
  for (uint32_t i = 0; i < g.n_group; i++) out.n += g.n[i];
  double *drawn = SEER_NEW_ARRAY(scratch, double, RESAMPLES);
  seer_rng rng;
  seer_rng_init(&rng, 1);
  for (uint32_t r = 0; r < RESAMPLES; r++) drawn[r] = mean_of(&g, &rng);
  seer_sort_f64(drawn, RESAMPLES);
  out.low = drawn[(uint32_t)(LEFT_OUT * RESAMPLES)];
  out.high = drawn[RESAMPLES - 1 - (uint32_t)(LEFT_OUT * RESAMPLES)];
  return out;
}

seer_interval seer_bootstrap_factors(
    const double *values, uint32_t n_group, uint32_t n_each, seer_arena *scratch) {
  size_t n = (size_t)n_group * n_each;
  double *logs = SEER_NEW_ARRAY(scratch, double, n + 1);
  for (size_t i = 0; i < n; i++) logs[i] = values[i] > 0 ? log(values[i]) : NAN;
  seer_interval out = seer_bootstrap(logs, n_group, n_each, scratch);
  return (seer_interval){exp(out.mean), exp(out.low), exp(out.high), out.n};
}
