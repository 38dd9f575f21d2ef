// sizes.c - a range of batches -> the sizes that get a set, and how the others are cut up.
#include <string.h>

#include "front/range.h"
#include "setup/shapes.h"

#define SAME 1e-9  // of a time

static void insert(int64_t *sizes, uint32_t *n, int64_t size) {
  uint32_t k = *n;
  for (uint32_t i = 0; i < *n; i++)
    if (sizes[i] == size) return;
  for (; k > 0 && sizes[k - 1] > size; k--) sizes[k] = sizes[k - 1];
  sizes[k] = size;
  (*n)++;
}

// Powers of two above `low` and below `last`, as many as there is room for, at equal ratios.
static void add_powers(int64_t low, int64_t last, int64_t *sizes, uint32_t *n) {
  int64_t power[64];
  uint32_t n_power = 0;
  for (int64_t p = 1; p < last; p *= 2)
    if (p > low) power[n_power++] = p;
  uint32_t room = SEER_RANGE_MAX_SETS - *n, n_taken = n_power < room ? n_power : room;
  for (uint32_t k = 0; k < n_taken; k++)
    insert(sizes, n, power[((2 * k + 1) * n_power) / (2 * n_taken)]);
}

static bool reaches_all(const int64_t *sizes, uint32_t n, int64_t first, int64_t last) {
  bool can[SEER_SHAPES_MAX_BATCH + 1] = {true};
  for (int64_t size = 1; size <= last; size++) {
    for (uint32_t k = 0; k < n; k++)
      if (sizes[k] <= size && can[size - sizes[k]]) can[size] = true;
    if (size >= first && !can[size]) return false;
  }
  return true;
}

uint32_t seer_range_sizes(int64_t first, int64_t last, int64_t out[SEER_RANGE_MAX_SETS]) {
  SEER_ASSERT(first >= 1 && last >= first && last <= SEER_SHAPES_MAX_BATCH,
      "a range from %" PRId64 " to %" PRId64, first, last);
  uint32_t n = 0;
  insert(out, &n, first);
  insert(out, &n, last);
  add_powers(first, last, out, &n);
  if (reaches_all(out, n, first, last)) return n;
  n = 0;
  insert(out, &n, 1);
  insert(out, &n, first);
  insert(out, &n, last);
  add_powers(1, last, out, &n);
  return n;
}

void seer_range_split(
    const int64_t *sizes, const double *seconds, uint32_t n_set, uint32_t *out_next) {
  double best[SEER_SHAPES_MAX_BATCH + 1] = {0};
  uint32_t runs[SEER_SHAPES_MAX_BATCH + 1] = {0};
  int64_t last = sizes[n_set - 1];
  SEER_ASSERT(last <= SEER_SHAPES_MAX_BATCH, "a batch of %" PRId64, last);
  out_next[0] = 0;
  for (int64_t size = 1; size <= last; size++) {
    out_next[size] = 0;
    // From the largest on, so that of equals the one with the largest part first is taken: sums in
    // another order are equals.
    for (uint32_t k = n_set; k-- > 0;) {
      int64_t rest = size - sizes[k];
      if (rest < 0 || (rest > 0 && out_next[rest] == 0)) continue;
      double sum = best[rest] + seconds[k];
      bool is_better = out_next[size] == 0 || sum < best[size] * (1 - SAME) ||
          (sum < best[size] * (1 + SAME) && runs[rest] + 1 < runs[size]);
      if (!is_better) continue;
      best[size] = sum;
      runs[size] = runs[rest] + 1;
      out_next[size] = k + 1;
      if (rest == 0) break;
    }
  }
}
