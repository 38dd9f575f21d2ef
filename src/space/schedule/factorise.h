// factorise.h - the ways to cut an extent exactly: ordered lengths whose product divides it, the
// outermost of them implied. They are counted once by dynamic programming over the divisors of the
// extent, and drawn uniformly without being enumerated. Internal to space.
//
// Memory: in `arena`. Threads: what is built is only read, by any number of threads.
#ifndef SEER_SPACE_FACTORISE_H
#define SEER_SPACE_FACTORISE_H

#include "base/arena.h"
#include "base/rng.h"

#define SEER_FACTORISE_MAX_LENGTHS 4
// A split's innermost length is at most this (Ansor's max_innermost_split_factor).
#define SEER_FACTORISE_MAX_INNERMOST 64

typedef struct seer_factorisations {
  uint32_t n_length;  // without the implied one
  uint32_t n_divisor;
  int64_t *divisor;  // of the extent, ascending: 1 .. extent
  // [l * n_divisor + d]: choices of l lengths, each at most SEER_MAX_FACTOR, whose product divides
  // divisor[d]
  uint64_t *ways;
  uint64_t n_way;  // with the limit of the innermost one
} seer_factorisations;

//   extent    elements, at least 1
//   n_length  1 .. SEER_FACTORISE_MAX_LENGTHS
// Cost O(n_length * divisors^2 * log divisors).
const seer_factorisations *seer_factorisations_build(
    int64_t extent, uint32_t n_length, seer_arena *arena);
// A uniform choice among all of them: out_length[0 .. n_length), outer to inner.
void seer_factorisations_draw(const seer_factorisations *ways, seer_rng *rng, uint16_t *out_length);

#endif
