// factorise.c - ways(l, d) = sum over the divisors f of d of ways(l - 1, d / f); drawn from the
// innermost length outwards, each in proportion to the ways that are left outside of it.
#include "space/schedule/factorise.h"

#include "space/schedule.h"

static uint32_t list_divisors(int64_t extent, int64_t *out) {
  uint32_t n = 0;
  for (int64_t d = 1; d * d <= extent; d++) {
    if (extent % d != 0) continue;
    if (out) out[n] = d;
    n++;
  }
  uint32_t n_small = n;
  for (uint32_t k = n_small; k-- > 0;) {
    // The large half, ascending; the root of a square is there already.
    if (out && out[k] * out[k] != extent) out[n++] = extent / out[k];
  }
  return out ? n : 2 * n_small;
}

// Index of a number that is one of the divisors.
static uint32_t find(const seer_factorisations *f, int64_t divisor) {
  uint32_t low = 0, high = f->n_divisor - 1;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (f->divisor[middle] < divisor)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Ways that are left for `n_outer` lengths once `factor` is taken from divisor `of`; 0: it does not
// divide it.
static uint64_t ways_outside(
    const seer_factorisations *f, uint32_t n_outer, int64_t of, int64_t factor) {
  seer_division by = seer_divide(of, factor);
  return by.remainder == 0 ? f->ways[n_outer * f->n_divisor + find(f, by.quotient)] : 0;
}

const seer_factorisations *seer_factorisations_build(
    int64_t extent, uint32_t n_length, seer_arena *arena) {
  SEER_ASSERT(extent >= 1 && n_length >= 1 && n_length <= SEER_FACTORISE_MAX_LENGTHS,
      "extent %" PRId64 ", %u lengths", extent, n_length);
  seer_factorisations *f = SEER_NEW(arena, seer_factorisations);
  f->n_length = n_length;
  f->divisor = SEER_NEW_ARRAY(arena, int64_t, list_divisors(extent, NULL));
  uint32_t n = f->n_divisor = list_divisors(extent, f->divisor);
  f->ways = SEER_NEW_ARRAY(arena, uint64_t, (size_t)n_length * n);
  for (uint32_t d = 0; d < n; d++) f->ways[d] = 1;
  for (uint32_t l = 1; l < n_length; l++) {
    for (uint32_t d = 0; d < n; d++) {
      uint64_t sum = 0;
      for (uint32_t k = 0; k <= d && f->divisor[k] <= SEER_MAX_FACTOR; k++)
        sum += ways_outside(f, l - 1, f->divisor[d], f->divisor[k]);
      f->ways[l * n + d] = sum;
    }
  }
  for (uint32_t k = 0; k < n && f->divisor[k] <= SEER_FACTORISE_MAX_INNERMOST; k++)
    f->n_way += ways_outside(f, n_length - 1, extent, f->divisor[k]);
  return f;
}

void seer_factorisations_draw(const seer_factorisations *f, seer_rng *rng, uint16_t *out_length) {
  int64_t left = f->divisor[f->n_divisor - 1];
  uint64_t at = seer_rng_below(rng, f->n_way);  // of all ways, which one
  for (uint32_t l = f->n_length; l-- > 0;) {
    uint32_t k = 0;
    for (;; k++) {
      uint64_t n = ways_outside(f, l, left, f->divisor[k]);
      if (at < n) break;
      at -= n;
    }
    out_length[l] = (uint16_t)f->divisor[k];
    left = seer_divide(left, f->divisor[k]).quotient;
  }
}
