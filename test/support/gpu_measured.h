// gpu_measured.h - kernels of products that were measured on a GPU (bench/gpu, doc/decisions/81),
// and what the estimate says of the schedule with the same tiles.
#ifndef SEER_TEST_GPU_MEASURED_H
#define SEER_TEST_GPU_MEASURED_H

#include "dag/dag.h"
#include "learn/gpu/profile.h"
#include "setup/target.h"

// [m, k] times [k, n], weights that are packed; extents and knobs as bench/gpu/shapes.py has them.
typedef struct {
  uint32_t m, n, k;
  uint32_t of_m[4], of_n[4];  // apart, items, and two levels of an item's neighbours
  uint32_t of_k[2];  // a step: turns, and what is always written out
  bool by_depth;  // the tile of A lies by depth, not by row
  uint32_t wide_a, wide_b, pad_a, pad_b;
  uint32_t ahead;  // steps whose fetches are on their way
  uint32_t split;  // parts of k that are blocks of their own, and a second kernel that sums
  uint32_t unroll;  // products that are written out
  double us;  // measured
} gpu_measured;

// The product, of its parts and their sum where there are any; in `arena`.
seer_dag *gpu_measured_dag(const gpu_measured *of, seer_arena *arena);

// What the space has not (by_depth, ahead, and the limit of copies, of which it has a few values)
// is told by hand, to the nest and to the profile. False: the space has no such schedule.
// out_kernels: SEER_PROFILE_MAX_KERNELS.
bool gpu_measured_profile(const gpu_measured *of, const seer_target *target,
    seer_kernel_profile *out_kernels, uint32_t *out_n);

// Spearman's, of two lists without order; ties by place.
double gpu_measured_rank(const double *a, const double *b, uint32_t n);

#endif
