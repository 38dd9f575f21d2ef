// occupancy.c - items, registers and workgroup bytes of a block -> blocks of a processor. The
// contract: occupancy.h. Source: cuda_occupancy.h of CUDA 13.0, which says of each step why the
// hardware does so.
#include "setup/gpu/occupancy.h"

static uint64_t units(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit; }

static uint32_t cut(uint64_t n) { return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX; }

static uint32_t by_items(const seer_target_gpu *gpu, uint32_t n_items, uint64_t n_warps) {
  if (n_items > gpu->max_block_items) return 0;
  return cut(gpu->max_processor_items / gpu->warp_items / n_warps);
}

// CUDA's header has a check more, that a block's registers with its warps rounded up to whole parts
// are at most a block's: these are the processor's on all that are known, and then no block that
// fails it fits by parts.
static uint32_t by_registers(const seer_target_gpu *gpu, uint32_t n_registers, uint64_t n_warps) {
  if (n_registers == 0 || gpu->n_registers == 0) return UINT32_MAX;
  uint64_t unit = gpu->warp_register_unit, parts = gpu->n_schedulers;
  uint64_t of_warp = units((uint64_t)n_registers * gpu->warp_items, unit) * unit;
  if (n_registers > gpu->max_item_registers) return 0;
  uint64_t of_part = gpu->n_registers / parts / of_warp;
  return cut(of_part * parts / n_warps);
}

static uint32_t by_bytes(const seer_target_gpu *gpu, uint64_t bytes) {
  if (bytes > gpu->max_block_bytes) return 0;
  uint64_t unit = gpu->block_bytes_unit;
  uint64_t given = units(bytes + gpu->block_bytes_reserved, unit) * unit;
  if (given > gpu->max_block_bytes + gpu->block_bytes_reserved) return 0;
  return given ? cut(gpu->processor_bytes / given) : UINT32_MAX;
}

seer_occupancy seer_occupancy_of(const seer_target_gpu *gpu, const seer_occupancy_block *block) {
  SEER_ASSERT(block->n_items > 0 && gpu->warp_items > 0, "%u items, warps of %u", block->n_items,
      gpu->warp_items);
  uint64_t n_warps = units(block->n_items, gpu->warp_items);
  seer_occupancy occupancy = {.n_blocks = UINT32_MAX};
  uint32_t *of = occupancy.of_limit;
  of[SEER_OCCUPANCY_BLOCKS] = gpu->max_processor_blocks;
  of[SEER_OCCUPANCY_ITEMS] = by_items(gpu, block->n_items, n_warps);
  of[SEER_OCCUPANCY_REGISTERS] = by_registers(gpu, block->n_registers, n_warps);
  of[SEER_OCCUPANCY_BYTES] = by_bytes(gpu, block->workgroup_bytes);
  for (int k = 0; k < SEER_OCCUPANCY_COUNT; k++)
    if (of[k] < occupancy.n_blocks) occupancy.n_blocks = of[k];
  return occupancy;
}
