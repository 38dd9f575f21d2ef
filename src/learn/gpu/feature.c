// feature.c - profiles of a GPU schedule's kernels -> rows of named numbers for cost models, one
// per kernel: what is launched, what blocks do and wait for, what it moves.
#include "learn/feature.h"

#include <math.h>

#include "learn/gpu/profile.h"

enum {
#define SEER_COLUMN(name) COLUMN_##name,
#include "learn/gpu/feature.inc"
#undef SEER_COLUMN
  N_COLUMN
};

static const char *const names[] = {
#define SEER_COLUMN(name) #name,
#include "learn/gpu/feature.inc"
#undef SEER_COLUMN
};
_Static_assert(SEER_COUNT_OF(names) == N_COLUMN, "a column without a name");
_Static_assert(N_COLUMN <= SEER_FEATURE_MAX, "more columns than callers make room for");
_Static_assert(SEER_PROFILE_MAX_KERNELS <= SEER_NEST_MAX_STATEMENTS, "room for a row each");

static float slog(double x) { return (float)log2(1.0 + (x > 0 ? x : 0)); }

static void fill_launch(const seer_kernel_profile *k, const seer_target_gpu *gpu, float *row) {
  double in_hand = k->resident * gpu->n_processors, waves = k->blocks / in_hand,
         mean = k->blocks / gpu->n_processors;
  row[COLUMN_blocks] = slog(k->blocks);
  row[COLUMN_items] = slog(k->items);
  row[COLUMN_sums] = slog(k->sums);
  row[COLUMN_operands] = slog(k->operands);
  row[COLUMN_depth] = slog(k->depth);
  row[COLUMN_loads] = slog(k->loads);
  row[COLUMN_own] = slog(k->own);
  row[COLUMN_registers] = slog(k->estimated_registers);
  row[COLUMN_workgroup_bytes] = slog(k->workgroup_bytes);
  row[COLUMN_resident] = slog(k->resident);
  row[COLUMN_occupancy] = (float)(k->resident * k->items / gpu->max_processor_items);
  row[COLUMN_waves] = (float)(waves < 1 ? waves : 1 + log2(waves));
  row[COLUMN_imbalance] = (float)(ceil(mean) / mean);
}

static void fill_block(const seer_kernel_profile *k, float *row) {
  row[COLUMN_fmas] = slog(k->fmas);
  row[COLUMN_issues] = slog(k->issues);
  row[COLUMN_fma_share] = (float)(k->fmas / (k->issues + 1e-9));
  row[COLUMN_turns] = slog(k->turns);
  row[COLUMN_group_requests] = slog(k->group_requests);
  row[COLUMN_group_degree] = (float)(k->group_turns / (k->group_requests + 1e-9));
  row[COLUMN_requests] = slog(k->requests);
  row[COLUMN_sectors] = slog(k->sectors);
  row[COLUMN_request_sectors] = (float)(k->sectors / (k->requests + 1e-9));
  row[COLUMN_l2_bytes] = slog(k->l2_bytes);
  row[COLUMN_steps] = slog(k->steps);
  row[COLUMN_ahead] = (float)k->ahead;
  row[COLUMN_barriers] = slog(k->barriers);
  row[COLUMN_near_waits] = slog(k->near_waits);
  row[COLUMN_l1_waits] = slog(k->l1_waits);
  row[COLUMN_l2_waits] = slog(k->l2_waits);
  row[COLUMN_dram_waits] = slog(k->dram_waits);
  row[COLUMN_fetch_l2_waits] = slog(k->fetch_l2_waits);
  row[COLUMN_fetch_dram_waits] = slog(k->fetch_dram_waits);
}

static void fill_whole(const seer_kernel_profile *k, const seer_target_gpu *gpu, float *row) {
  double bytes = k->weight_bytes + k->read_bytes + k->written_bytes;
  row[COLUMN_flops] = slog(k->flops);
  row[COLUMN_weight_bytes] = slog(k->weight_bytes);
  row[COLUMN_read_bytes] = slog(k->read_bytes);
  row[COLUMN_written_bytes] = slog(k->written_bytes);
  row[COLUMN_intensity] = slog(16 * k->flops / (bytes + 1));
  row[COLUMN_cycles] = slog(seer_kernel_cycles(k, gpu));
}

static uint32_t extract(
    const seer_nest *nest, const seer_target *target, double seconds, float *out_rows) {
  seer_kernel_profile kernels[SEER_PROFILE_MAX_KERNELS];
  uint32_t n = seer_profile_kernels(nest, target, kernels);
  for (uint32_t k = 0; k < n; k++) {
    float *row = out_rows + (size_t)k * N_COLUMN;
    row[COLUMN_program_log_seconds] = (float)-log2(seconds);
    row[COLUMN_program_kernels] = slog(nest->n_phase);
    row[COLUMN_program_packed_bytes] = slog((double)nest->packed_bytes);
    fill_launch(&kernels[k], &target->gpu, row);
    fill_block(&kernels[k], row);
    fill_whole(&kernels[k], &target->gpu, row);
  }
  return n;
}

const seer_feature_set seer_feature_gpu = {"gpu",
    "a GPU's kernels: launch, blocks, waits, bytes and the estimate", 1, N_COLUMN, names, extract,
    true};
