// occupancy.h - how many blocks of a kernel a GPU's processor has in hand at a time, by arithmetic:
// what cuda_occupancy.h of the CUDA toolkit says (test_setup_occupancy), without the toolkit.
//
// Registers are given to warps, and a warp stays in one part of the processor with its share of
// them: two warps of half the registers fit where one and a half do not. Workgroup bytes are given
// to blocks, the driver's own beside them, in units.
//
// Threads: all is pure. Cost: constant.
#ifndef SEER_SETUP_GPU_OCCUPANCY_H
#define SEER_SETUP_GPU_OCCUPANCY_H

#include "setup/target.h"

typedef enum {
  SEER_OCCUPANCY_BLOCKS,  // that a processor keeps
  SEER_OCCUPANCY_ITEMS,
  SEER_OCCUPANCY_REGISTERS,
  SEER_OCCUPANCY_BYTES,
  SEER_OCCUPANCY_COUNT
} seer_occupancy_limit;

typedef struct {
  uint32_t n_items;  // of a block, at least 1
  uint32_t n_registers;  // of an item; 0: not known, they limit nothing
  uint64_t workgroup_bytes;  // of a block
} seer_occupancy_block;

typedef struct {
  uint32_t n_blocks;  // of a processor at a time; 0: the block is more than it can run
  uint32_t of_limit[SEER_OCCUPANCY_COUNT];  // as many as each alone allows; UINT32_MAX: any number
} seer_occupancy;

// gpu: as parsed (its facts go together). Carve-outs of the cache are taken to be as large as they
// can be; that is what the driver does where a kernel does not ask otherwise.
seer_occupancy seer_occupancy_of(const seer_target_gpu *gpu, const seer_occupancy_block *block);

#endif
