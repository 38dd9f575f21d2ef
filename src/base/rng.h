// rng.h - seeded random numbers (xoshiro256**, seeded by splitmix64). The only source of
// randomness.
// Threads: a seer_rng is one thread's at a time; threads get streams of their own.
#ifndef SEER_BASE_RNG_H
#define SEER_BASE_RNG_H

#include "base/base.h"

typedef struct {
  uint64_t s[4];
} seer_rng;

void seer_rng_init(seer_rng *rng, uint64_t seed);
// An independent stream: same (seed, stream) gives the same numbers whatever else was drawn.
void seer_rng_init_stream(seer_rng *rng, uint64_t seed, uint64_t stream);
int64_t seer_rng_range(seer_rng *rng, int64_t low, int64_t high);  // uniform in [low, high]
double seer_rng_normal(seer_rng *rng);  // mean 0, variance 1
void seer_rng_shuffle_u32(seer_rng *rng, uint32_t *items, size_t n);

// Defined here: a draft of a schedule draws some hundred of them.
static inline uint64_t seer_rng_rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline uint64_t seer_rng_u64(seer_rng *rng) {
  uint64_t *s = rng->s;
  uint64_t result = seer_rng_rotl(s[1] * 5, 7) * 9;
  uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = seer_rng_rotl(s[3], 45);
  return result;
}

// Uniform in [0, n), n > 0, unbiased. Multiply and reject (Lemire 2019): one multiplication, a
// division only in the rare low part.
static inline uint64_t seer_rng_below(seer_rng *rng, uint64_t n) {
  SEER_ASSERT(n > 0, "n %" PRIu64, n);
  unsigned __int128 m = (unsigned __int128)seer_rng_u64(rng) * n;
  uint64_t low = (uint64_t)m;
  if (low < n) {
    uint64_t threshold = (0 - n) % n;
    while (low < threshold) {
      m = (unsigned __int128)seer_rng_u64(rng) * n;
      low = (uint64_t)m;
    }
  }
  return (uint64_t)(m >> 64);
}

// Uniform in [0, 1).
static inline double seer_rng_f64(seer_rng *rng) {
  return (double)(seer_rng_u64(rng) >> 11) * 0x1p-53;
}

static inline bool seer_rng_chance(seer_rng *rng, double probability) {
  return seer_rng_f64(rng) < probability;
}

#endif
