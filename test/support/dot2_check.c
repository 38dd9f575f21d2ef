#include "support/dot2_check.h"

#include <math.h>
#include <string.h>

// The upper half of an f32.
static double half_of(uint32_t word, unsigned k) {
  uint32_t bits = k ? word & 0xFFFF0000 : word << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return (double)f;
}

static bool is_tiny(double x) { return x != 0 && fabs(x) < 0x1p-126; }

bool dot2_allows(const uint32_t *a, size_t step_a, const uint32_t *b, size_t step_b, size_t n,
    float c, float got) {
  double sum = (double)c, magnitude = isfinite(sum) ? fabs(sum) : 0,
         flushed = is_tiny(sum) ? magnitude : 0;
  bool is_open = false;  // infinity times what may be 0
  for (size_t w = 0; w < n; w++) {
    for (unsigned k = 0; k < 2; k++) {
      double x = half_of(a[w * step_a], k), y = half_of(b[w * step_b], k), product = x * y;
      sum += product;
      if (isfinite(product)) magnitude += fabs(product);
      if (!is_tiny(x) && !is_tiny(y)) continue;
      is_open |= isinf(product);
      flushed += fabs(product);
    }
  }
  // A sum on the way may leave the range of f32.
  if (is_open || magnitude >= 0x1p127) return true;
  if (isnan(sum)) return isnan(got);
  if (isinf(sum)) return (double)got == sum;
  // Each product and each sum: less than a unit of the last place, and what is flushed.
  double steps = 2 * (double)n + 1;
  return fabs((double)got - sum) <= flushed + steps * (magnitude * 0x1p-23 + 2 * 0x1p-126);
}

uint32_t dot2_word(seer_rng *rng, bool is_moderate) {
  static const uint16_t edge[] = {
      0, 0x8000, 1, 0x007F, 0x0080, 0x3F80, 0xBF80, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0};
  uint32_t word = 0;
  for (unsigned k = 0; k < 2; k++) {
    uint32_t half = (uint32_t)seer_rng_u64(rng) & 0x80FF;  // 2^-3 .. 2^4, and their digits
    half |= (uint32_t)(124 + seer_rng_below(rng, 7)) << 7;
    if (!is_moderate && seer_rng_chance(rng, 0.3)) half = (uint32_t)seer_rng_u64(rng) & 0xFFFF;
    if (!is_moderate && seer_rng_chance(rng, 0.3)) half = edge[seer_rng_below(rng, 12)];
    word |= half << 16 * k;
  }
  return word;
}
