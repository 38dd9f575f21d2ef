// cubin.h - what an NVIDIA binary says of its kernels: a cubin is an ELF file whose .nv.info
// sections have attributes by kernel. Names, sizes and numbers are read with every bound checked.
// Source: the sections that cuobjdump -elf shows; attributes 0x2f (registers) and 0x11 (frame).
//
// Memory: names are in the arena. Threads: pure.
#ifndef SEER_CODE_GPU_CUBIN_H
#define SEER_CODE_GPU_CUBIN_H

#include "base/arena.h"
#include "base/status.h"

typedef struct {
  const char *name;
  uint32_t registers;  // of an item
  // Of an item, in memory of its own: registers that were spilled (kernels here have nothing else
  // there).
  uint32_t frame_bytes;
  uint64_t group_bytes;  // of a block's memory
} seer_cubin_kernel;

#define SEER_CUBIN_MAX_KERNELS 64
typedef struct {
  uint32_t n;
  seer_cubin_kernel kernel[SEER_CUBIN_MAX_KERNELS];  // as their symbols stand
} seer_cubin;

// Errors: CORRUPT: no such file, with what is wrong.
SEER_MUST_USE seer_status seer_cubin_read(
    const void *bytes, size_t n_bytes, seer_arena *arena, seer_cubin *out);

#endif
