// rng.h - seeded random numbers (xoshiro256**, seeded by splitmix64). The only source of
// randomness.
#ifndef SEER_BASE_RNG_H
#define SEER_BASE_RNG_H

#include "base/base.h"

typedef struct {
  uint64_t s[4];
} seer_rng;

void seer_rng_init(seer_rng *rng, uint64_t seed);
// An independent stream: same (seed, stream) gives the same numbers whatever else was drawn.
void seer_rng_init_stream(seer_rng *rng, uint64_t seed, uint64_t stream);
uint64_t seer_rng_u64(seer_rng *rng);
// uniform in [0, n), n > 0, unbiased
uint64_t seer_rng_below(seer_rng *rng, uint64_t n);
int64_t seer_rng_range(seer_rng *rng, int64_t low, int64_t high);  // uniform in [low, high]
double seer_rng_f64(seer_rng *rng);  // uniform in [0, 1)
double seer_rng_normal(seer_rng *rng);  // mean 0, variance 1
bool seer_rng_chance(seer_rng *rng, double probability);
void seer_rng_shuffle_u32(seer_rng *rng, uint32_t *items, size_t n);

#endif
