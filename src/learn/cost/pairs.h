// pairs.h - how well scores order the samples of each task: the loss of models that rank, and what
// they are fitted by. Of a pair of samples of one task with labels a > b (relative throughput) the
// loss is w log(1 + exp(-4 (score of a - score of b))), with w = (a - b) x the larger one's weight:
// what counts is the order near the top. Scores are logarithms of relative throughput as far as
// they are anything: 4 says that a quarter more of it makes the order clear.
//
// Each sample meets PAIRS others of its task, drawn at random: all pairs of a thousand samples
// would be half a million.
// Memory: a seer_pairs is owned, by make and free. Threads: any. Errors: RESOURCE.
#ifndef SEER_LEARN_COST_PAIRS_H
#define SEER_LEARN_COST_PAIRS_H

#include "base/status.h"

typedef struct {
  size_t n;  // samples
  uint32_t *order;  // samples, task after task
  uint32_t *first, *size;  // by sample: its task's part of `order`
} seer_pairs;

// task: by sample; any numbers.
SEER_MUST_USE seer_status seer_pairs_make(const uint32_t *task, size_t n, seer_pairs *out);
void seer_pairs_free(seer_pairs *pairs);

// The mean loss of drawn pairs. grad, hess: by sample, of the sum; NULL: not asked. The same seed
// draws the same pairs. 0 where no task has two samples that differ.
double seer_pairs_loss(const seer_pairs *pairs, const float *label, const float *weight,
    const double *score, uint64_t seed, double *grad, double *hess);

#endif
