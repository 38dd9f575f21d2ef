// estimate.c - what a device takes for kernels with a profile: by waves, as decision 81 has it.
// A processor is done with its blocks when its busiest pipe is, and not before as many rounds of
// blocks in hand have each gone through their chain of waits: max(blocks x throughput, rounds x
// (what one block is busy and what it waits)). The busiest processor has ceil(blocks / processors).
#include <math.h>

#include "learn/feature.h"
#include "learn/gpu/profile.h"

// Of what the terms below come to, kernels of an H200 take so many times as much: 4,053 of the
// measured products, in the median (doc/decisions, 104). It orders nothing but beside launches.
#define SCALE 1.5

// Of a product of warps: 16 rows, 8 columns, 16 of the reduction, or 8 of TF32. f16 and bf16 are as
// fast.
#define PRODUCT_FLOPS 4096.0
#define TF32_PRODUCT_FLOPS 2048.0

// Of lanes a block is a task of the driver's threads: 0.3 us with Intel's.
#define BLOCK_CYCLES 300.0

static double max_d(double a, double b) { return a > b ? a : b; }
static double min_d(double a, double b) { return a < b ? a : b; }

static double barrier_cycles(const seer_kernel_profile *k, const seer_target_gpu *gpu) {
  return gpu->barrier_cycles + gpu->barrier_warp_cycles * k->warps;
}

// Of lanes, what there are no registers for: each time that a sum is added to, it comes and goes.
// Where that is more than there are registers a compiler loses its way: a sum more costs all FMAs
// 0.06 cycles (PoCL's, of 48, 64 and 192 sums; doc/decisions, 119).
static double spilled(const seer_kernel_profile *k, const seer_target_gpu *gpu) {
  double registers = gpu->warp_items >= 16 ? 32 : 16;  // AVX-512's, and all others'
  double over = k->sums + k->operands + 1 - registers;
  if (!gpu->items_are_lanes || over <= 0 || k->sums <= 0) return 0;
  return k->fmas * (2 * over / k->sums + max_d(0, over - registers) / 4);
}

// Cycles of one block on its processor, where so many warps share the schedulers.
static double busy_cycles(const seer_kernel_profile *k, const seer_target_gpu *gpu, double warps) {
  // A pipe may be wider than what the schedulers begin (OpenCL's plain device).
  double schedulers = max_d(gpu->n_schedulers, (double)gpu->n_fmas / gpu->warp_items);
  double slots = gpu->items_are_lanes ? schedulers : min_d(schedulers, warps);
  double fmas = k->fmas * schedulers * gpu->warp_items / gpu->n_fmas;
  if (k->products > 0)
    fmas = max_d(fmas, k->products * PRODUCT_FLOPS * schedulers / gpu->bf16_flops);
  if (k->tf32_products > 0)
    fmas = max_d(fmas, k->tf32_products * TF32_PRODUCT_FLOPS * schedulers / gpu->tf32_flops);
  double issue = max_d(k->issues + spilled(k, gpu), fmas) / slots;
  return max_d(max_d(issue, k->turns), k->l2_bytes / gpu->l2_cycle_bytes);
}

double seer_kernel_cycles(const seer_kernel_profile *k, const seer_target_gpu *gpu) {
  double blocks = ceil(k->blocks / gpu->n_processors);
  double resident = min_d(k->resident, blocks), waited = k->barriers * barrier_cycles(k, gpu);
  waited += k->near_waits * gpu->workgroup_cycles + k->l1_waits * gpu->l1_cycles;
  waited += k->l2_waits * gpu->l2_cycles + k->dram_waits * gpu->dram_cycles;
  double alone = busy_cycles(k, gpu, k->warps) + waited;
  if (gpu->items_are_lanes) alone += BLOCK_CYCLES;
  double far = k->fetch_l2_waits * gpu->l2_cycles + k->fetch_dram_waits * gpu->dram_cycles;
  // What is fetched ahead arrives while its step's predecessors are added up.
  alone += k->ahead > 0 ? max_d(0, far / k->ahead - alone) : far;
  return max_d(
      blocks * busy_cycles(k, gpu, k->warps * resident), ceil(blocks / k->resident) * alone);
}

double seer_kernel_seconds(const seer_kernel_profile *k, const seer_target *target) {
  const seer_target_gpu *gpu = &target->gpu;
  double l2 = (double)gpu->l2_bytes, hz = gpu->clock_ghz * 1e9;
  double moved = k->weight_bytes + max_d(0, max_d(k->read_bytes, k->written_bytes) - l2);
  // Nothing of the kernel hides its last store, nor the first load of what is fetched in steps.
  double ends = gpu->l2_cycles + (k->steps > 0 ? gpu->dram_cycles : 0);
  double cycles = SCALE * (seer_kernel_cycles(k, gpu) + ends);
  return gpu->launch_s + max_d(cycles / hz, moved / (gpu->dram_gbs * 1e9));
}

double seer_kernels_seconds(
    const seer_kernel_profile *kernels, uint32_t n, const seer_target *target) {
  const seer_target_gpu *gpu = &target->gpu;
  double seconds = 0, weights = 0, read = 0, written = 0, l2 = (double)gpu->l2_bytes;
  for (uint32_t i = 0; i < n; i++) {
    seconds += seer_kernel_seconds(&kernels[i], target);
    weights += kernels[i].weight_bytes;
    read += kernels[i].arg_bytes;
    written += kernels[i].result_bytes;
  }
  // Each alone may leave in L2 what all together do not.
  double moved = max_d(weights + max_d(0, read - l2), written - l2);
  return max_d(seconds, gpu->launch_s + moved / (gpu->dram_gbs * 1e9));
}
