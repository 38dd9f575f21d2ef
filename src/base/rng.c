// rng.c - xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64 as its authors advise.
#include "base/rng.h"

#include <math.h>

static uint64_t splitmix(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

void seer_rng_init(seer_rng *rng, uint64_t seed) {
  for (int i = 0; i < 4; i++) rng->s[i] = splitmix(&seed);
}

void seer_rng_init_stream(seer_rng *rng, uint64_t seed, uint64_t stream) {
  // Both numbers go through the mixer, so that (1, 2) and (2, 1) or neighbouring streams have
  // nothing in common.
  uint64_t a = seed, b = stream ^ 0xD1B54A32D192ED03u;
  uint64_t mixed = splitmix(&a);
  seer_rng_init(rng, mixed ^ splitmix(&b));
}

int64_t seer_rng_range(seer_rng *rng, int64_t low, int64_t high) {
  SEER_ASSERT(low <= high, "[%" PRId64 ", %" PRId64 "]", low, high);
  uint64_t span = (uint64_t)high - (uint64_t)low + 1;
  uint64_t draw = span ? seer_rng_below(rng, span) : seer_rng_u64(rng);
  return (int64_t)((uint64_t)low + draw);
}

// Box-Muller. The second value is dropped: a generator without hidden state can be copied and
// compared.
double seer_rng_normal(seer_rng *rng) {
  double u = 1.0 - seer_rng_f64(rng);  // (0, 1]: the logarithm is finite
  double v = seer_rng_f64(rng);
  return sqrt(-2.0 * log(u)) * cos(6.283185307179586477 * v);
}

void seer_rng_shuffle_u32(seer_rng *rng, uint32_t *items, size_t n) {
  for (size_t i = n; i > 1; i--) {
    size_t j = (size_t)seer_rng_below(rng, i);
    uint32_t item = items[i - 1];
    items[i - 1] = items[j];
    items[j] = item;
  }
}
