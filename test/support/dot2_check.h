// dot2_check.h - may a sum of products of bf16 be this? By what dot2 promises (dag/scalar.inc), of
// sums in any order.
#ifndef SEER_TEST_DOT2_CHECK_H
#define SEER_TEST_DOT2_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

// c + the products of the halves of a[0], a[step_a], ... and b[0], b[step_b], ..., n words each.
bool dot2_allows(const uint32_t *a, size_t step_a, const uint32_t *b, size_t step_b, size_t n,
    float c, float got);
// A word of two bf16: of moderate size, or with limits, infinities and NaN among them.
uint32_t dot2_word(seer_rng *rng, bool is_moderate);

#endif
