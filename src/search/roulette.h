// roulette.h - draws with replacement in proportion to scores. Scores below 0 count as 0; where
// none is above it, all are drawn alike.
// Pure but for the generator: safe from any thread.
#ifndef SEER_SEARCH_ROULETTE_H
#define SEER_SEARCH_ROULETTE_H

#include "base/rng.h"

// out_sum[i] = score[0] + ... + score[i]; n > 0.
void seer_roulette_fill(const float *score, uint32_t n, double *out_sum);
uint32_t seer_roulette_draw(const double *sum, uint32_t n, seer_rng *rng);

#endif
