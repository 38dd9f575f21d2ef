// pairs.c - samples by task; random partners; logistic loss of their differences.
#include "learn/cost/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define PAIRS 8  // that a sample asks for; it is asked as often
#define STEEPNESS 4.0
#define LEAST_HESSIAN 1e-6  // of a sample that met nobody: XGBoost divides by sums of them

typedef struct {
  uint32_t task, sample;
} placed;

static int by_task(const void *a, const void *b) {
  const placed *x = a, *y = b;
  if (x->task != y->task) return x->task < y->task ? -1 : 1;
  return (x->sample > y->sample) - (x->sample < y->sample);
}

void seer_pairs_free(seer_pairs *pairs) {
  free(pairs->order);
  free(pairs->first);
  free(pairs->size);
  *pairs = (seer_pairs){0};
}

seer_status seer_pairs_make(const uint32_t *task, size_t n, seer_pairs *out) {
  *out = (seer_pairs){.n = n};
  placed *all = malloc((n + 1) * sizeof *all);
  out->order = malloc((n + 1) * sizeof *out->order);
  out->first = malloc((n + 1) * sizeof *out->first);
  out->size = malloc((n + 1) * sizeof *out->size);
  if (!all || !out->order || !out->first || !out->size) {
    free(all);
    seer_pairs_free(out);
    return SEER_FAIL(RESOURCE, "no memory to compare %zu samples", n);
  }
  for (size_t i = 0; i < n; i++) all[i] = (placed){task[i], (uint32_t)i};
  qsort(all, n, sizeof *all, by_task);
  for (size_t begin = 0, end; begin < n; begin = end) {
    for (end = begin; end < n && all[end].task == all[begin].task; end++)
      out->order[end] = all[end].sample;
    for (size_t i = begin; i < end; i++) {
      out->first[all[i].sample] = (uint32_t)begin;
      out->size[all[i].sample] = (uint32_t)(end - begin);
    }
  }
  free(all);
  return SEER_OK;
}

typedef struct {
  double loss, weight;
} total;

// `better` is to be ranked before `worse`.
static void compare(uint32_t better, uint32_t worse, double weight, const double *score,
    double *grad, double *hess, total *sum) {
  double x = STEEPNESS * (score[better] - score[worse]);
  double wrong = 1 / (1 + exp(x));
  sum->loss += weight * (x > 0 ? log1p(exp(-x)) : log1p(exp(x)) - x);
  sum->weight += weight;
  if (!grad) return;
  double g = STEEPNESS * weight * wrong, h = STEEPNESS * STEEPNESS * weight * wrong * (1 - wrong);
  grad[better] -= g;
  grad[worse] += g;
  hess[better] += h;
  hess[worse] += h;
}

double seer_pairs_loss(const seer_pairs *pairs, const float *label, const float *weight,
    const double *score, uint64_t seed, double *grad, double *hess) {
  for (size_t i = 0; grad && i < pairs->n; i++) {
    grad[i] = 0;
    hess[i] = LEAST_HESSIAN;
  }
  seer_rng rng;
  seer_rng_init(&rng, seed);
  total sum = {0, 0};
  for (uint32_t i = 0; i < pairs->n; i++) {
    for (uint32_t k = 0; k < PAIRS && pairs->size[i] > 1; k++) {
      uint32_t j = pairs->order[pairs->first[i] + seer_rng_below(&rng, pairs->size[i])];
      double gap = (double)label[i] - (double)label[j];
      double w = fabs(gap) * (double)fmaxf(weight[i], weight[j]);
      if (w > 0) compare(gap > 0 ? i : j, gap > 0 ? j : i, w, score, grad, hess, &sum);
    }
  }
  return sum.weight > 0 ? sum.loss / sum.weight : 0;
}
