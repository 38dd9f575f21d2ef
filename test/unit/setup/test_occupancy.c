// Blocks of a processor by arithmetic, and the table of architectures, held against
// cuda_occupancy.h of the CUDA toolkit where it was found when this was configured; without it, a
// few figures by hand.
#include <limits.h>
#include <string.h>

#include "base/rng.h"
#include "setup/gpu/gpu.h"
#include "setup/gpu/occupancy.h"
#include "support/test_arena.h"

#if defined(SEER_CUDA_OCCUPANCY)
#include <cuda_occupancy.h>
#endif

static seer_target parse(const char *text) {
  seer_target target;
  seer_status status = seer_target_parse(text, arena, &target);
  if (status) fail_msg("%s: %s", text, seer_status_message(status));
  return target;
}

static uint32_t blocks(const char *text, uint32_t items, uint32_t registers, uint64_t bytes) {
  seer_target target = parse(text);
  const seer_occupancy_block block = {items, registers, bytes};
  return seer_occupancy_of(&target.gpu, &block).n_blocks;
}

// By hand, from occupancy.h's words.
static void a_few_by_hand(void **state) {
  (void)state;
  assert_int_equal(blocks("cuda:h100", 1, 1, 0), 32);
  assert_int_equal(blocks("cuda:h100", 256, 32, 0), 8);  // of 2048 items
  assert_int_equal(blocks("cuda:h100", 256, 64, 0), 4);  // 2,048 registers a warp, 8 warps a part
  assert_int_equal(blocks("cuda:h100", 256, 65, 0), 3);  // 2,304: 7 a part, 28 in all
  assert_int_equal(blocks("cuda:h100", 96, 255, 0), 2);  // 8 warps, in blocks of 3
  assert_int_equal(blocks("cuda:h100", 288, 168, 0), 1);
  // 5,632 a warp: 2 a part, and 9 are wanted
  assert_int_equal(blocks("cuda:h100", 288, 169, 0), 0);
  assert_int_equal(blocks("cuda:h100", 64, 256, 0), 0);
  assert_int_equal(blocks("cuda:h100", 1025, 16, 0), 0);
  assert_int_equal(blocks("cuda:h100", 128, 0, 227 << 10), 1);
  assert_int_equal(blocks("cuda:h100", 128, 0, (227 << 10) + 1), 0);
  assert_int_equal(blocks("cuda:h100", 128, 0, 113 << 10), 2);  // with 1 KiB of the driver's each
  assert_int_equal(blocks("cuda:h100", 128, 0, (113 << 10) + 1), 1);
  assert_int_equal(blocks("cuda:v100", 128, 0, 48 << 10), 2);
  assert_int_equal(blocks("cuda:v100", 128, 0, (32 << 10) - 255), 3);
  assert_int_equal(blocks("cuda:t4", 128, 0, 0), 8);
  assert_int_equal(blocks("opencl:generic", 256, 200, 0), 4);  // registers are not known
  assert_int_equal(blocks("opencl:generic", 257, 0, 0), 0);
  assert_int_equal(blocks("opencl:generic", 64, 0, 20000), 3);
}

static void each_limit_is_told(void **state) {
  (void)state;
  seer_target target = parse("cuda:a100");
  const seer_occupancy_block block = {192, 80, 30000};
  seer_occupancy o = seer_occupancy_of(&target.gpu, &block);
  assert_int_equal(o.of_limit[SEER_OCCUPANCY_BLOCKS], 32);
  assert_int_equal(o.of_limit[SEER_OCCUPANCY_ITEMS], 10);
  assert_int_equal(o.of_limit[SEER_OCCUPANCY_REGISTERS], 4);
  assert_int_equal(o.of_limit[SEER_OCCUPANCY_BYTES], 5);
  assert_int_equal(o.n_blocks, 4);
}

#if defined(SEER_CUDA_OCCUPANCY)
static cudaOccDeviceProp properties_of(const seer_target_gpu *gpu) {
  cudaOccDeviceProp p;
  memset(&p, 0, sizeof p);
  p.computeMajor = (int)gpu->architecture / 10;
  p.computeMinor = (int)gpu->architecture % 10;
  p.maxThreadsPerBlock = (int)gpu->max_block_items;
  p.maxThreadsPerMultiprocessor = (int)gpu->max_processor_items;
  p.regsPerBlock = p.regsPerMultiprocessor = (int)gpu->n_registers;
  p.warpSize = (int)gpu->warp_items;
  p.sharedMemPerBlock = gpu->block_bytes;
  p.sharedMemPerBlockOptin = gpu->max_block_bytes;
  p.sharedMemPerMultiprocessor = gpu->processor_bytes;
  p.reservedSharedMemPerBlock = gpu->block_bytes_reserved;
  p.numSms = (int)gpu->n_processors;
  return p;
}

static void is_alike(const char *what, const char *name, const seer_occupancy_block *block,
    uint32_t own, int theirs) {
  uint32_t wanted = theirs == INT_MAX ? UINT32_MAX : (uint32_t)theirs;
  if (own == wanted) return;
  fail_msg("%s, %u items, %u registers, %" PRIu64 " bytes: %u blocks by %s, CUDA says %u", name,
      block->n_items, block->n_registers, block->workgroup_bytes, own, what, wanted);
}

static void hold(const char *name, const seer_target_gpu *gpu, const seer_occupancy_block *block) {
  const cudaOccDeviceProp device = properties_of(gpu);
  cudaOccFuncAttributes kernel;
  cudaOccDeviceState carve_out;
  cudaOccResult theirs;
  memset(&kernel, 0, sizeof kernel);
  memset(&carve_out, 0, sizeof carve_out);
  memset(&theirs, 0, sizeof theirs);
  kernel.maxThreadsPerBlock = INT_MAX;
  kernel.numRegs = (int)block->n_registers;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = block->workgroup_bytes;
  carve_out.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
  cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &theirs, &device, &kernel, &carve_out, (int)block->n_items, block->workgroup_bytes);
  assert_int_equal(error, CUDA_OCC_SUCCESS);
  seer_occupancy own = seer_occupancy_of(gpu, block);
  is_alike("blocks", name, block, own.of_limit[SEER_OCCUPANCY_BLOCKS], theirs.blockLimitBlocks);
  is_alike("items", name, block, own.of_limit[SEER_OCCUPANCY_ITEMS], theirs.blockLimitWarps);
  is_alike("registers", name, block, own.of_limit[SEER_OCCUPANCY_REGISTERS], theirs.blockLimitRegs);
  is_alike("bytes", name, block, own.of_limit[SEER_OCCUPANCY_BYTES], theirs.blockLimitSharedMem);
  is_alike("all", name, block, own.n_blocks, theirs.activeBlocksPerMultiprocessor);
}

// What the header knows of an architecture by itself.
static void hold_architecture(const char *name, const seer_target_gpu *gpu) {
  const cudaOccDeviceProp device = properties_of(gpu);
  int blocks_of, register_unit, parts, bytes_unit, most_registers;
  assert_int_equal(cudaOccMaxBlocksPerMultiprocessor(&blocks_of, &device), CUDA_OCC_SUCCESS);
  assert_int_equal(cudaOccRegAllocationGranularity(&register_unit, &device), CUDA_OCC_SUCCESS);
  assert_int_equal(cudaOccRegAllocationMaxPerThread(&most_registers, &device), CUDA_OCC_SUCCESS);
  assert_int_equal(cudaOccSubPartitionsPerMultiprocessor(&parts, &device), CUDA_OCC_SUCCESS);
  assert_int_equal(cudaOccSMemAllocationGranularity(&bytes_unit, &device), CUDA_OCC_SUCCESS);
  if (gpu->max_processor_blocks != (uint32_t)blocks_of ||
      gpu->warp_register_unit != (uint32_t)register_unit || gpu->n_schedulers != (uint32_t)parts ||
      gpu->block_bytes_unit != (uint64_t)bytes_unit ||
      gpu->max_item_registers > (uint32_t)most_registers)
    fail_msg("%s: CUDA has %d blocks, %d parts, units of %d registers and %d bytes, %d an item",
        name, blocks_of, parts, register_unit, bytes_unit, most_registers);
  // The largest carve-out of the cache is all that a processor has.
  size_t bytes = gpu->processor_bytes, more = bytes + 1;
  assert_int_equal(cudaOccAlignUpShmemSizeVoltaPlus(&bytes, &device), CUDA_OCC_SUCCESS);
  if (bytes != gpu->processor_bytes ||
      cudaOccAlignUpShmemSizeVoltaPlus(&more, &device) == CUDA_OCC_SUCCESS)
    fail_msg("%s: %" PRIu64 " bytes are not what a processor has", name, gpu->processor_bytes);
}

static void hold_blocks(const char *name) {
  seer_target target = parse(name);
  const seer_target_gpu *gpu = &target.gpu;
  if (target.kind != SEER_TARGET_CUDA) return;
  hold_architecture(name, gpu);
  seer_rng rng;
  seer_rng_init(&rng, gpu->architecture);
  for (int k = 0; k < 20000; k++) {
    seer_occupancy_block block = {.n_items = 1 + (uint32_t)seer_rng_below(&rng, 1088),
        .n_registers = (uint32_t)seer_rng_below(&rng, gpu->max_item_registers + 1),
        .workgroup_bytes = seer_rng_below(&rng, gpu->max_block_bytes + 2048)};
    if (k % 3 == 0) block.n_items = (block.n_items + 31) / 32 * 32;
    if (k % 4 == 0) block.workgroup_bytes = seer_rng_below(&rng, 4096);
    if (k % 5 == 0) block.workgroup_bytes = block.workgroup_bytes / 1024 * 1024;
    hold(name, gpu, &block);
  }
  // The ends of all ranges.
  static const uint32_t items[] = {1, 31, 32, 33, 1023, 1024, 1025};
  const uint32_t registers[] = {0, 1, 8, 9, 254, gpu->max_item_registers};
  const uint64_t bytes[] = {0, 1, gpu->block_bytes, gpu->block_bytes + 1, gpu->max_block_bytes - 1,
      gpu->max_block_bytes, gpu->max_block_bytes + 1};
  for (size_t i = 0; i < SEER_COUNT_OF(items); i++)
    for (size_t r = 0; r < SEER_COUNT_OF(registers); r++)
      for (size_t b = 0; b < SEER_COUNT_OF(bytes); b++) {
        const seer_occupancy_block block = {items[i], registers[r], bytes[b]};
        hold(name, gpu, &block);
      }
}

static void cuda_says_the_same(void **state) {
  (void)state;
  for (size_t i = 0; i < seer_gpu_table_count; i++) hold_blocks(seer_gpu_table[i].name);
  const char *at = seer_gpu_architectures(arena);
  for (const char *name; (name = seer_fields_next_word(&at, arena)) != NULL;) hold_blocks(name);
}
#else
static void cuda_says_the_same(void **state) {
  (void)state;
  print_message("no cuda_occupancy.h was found: nothing to hold the arithmetic against\n");
  skip();
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_few_by_hand),
      cmocka_unit_test(each_limit_is_told),
      cmocka_unit_test(cuda_says_the_same),
  };
  return cmocka_run_group_tests(tests, arena_open, arena_close);
}
