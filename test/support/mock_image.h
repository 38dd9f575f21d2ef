// mock_image.h - images that the libcuda of support/mock_cuda.h runs: C, compiled by the machine's
// own compiler.
#ifndef SEER_TEST_MOCK_IMAGE_H
#define SEER_TEST_MOCK_IMAGE_H

#include "base/arena.h"
#include "runtime/device/device.h"
#include "space/loop.h"
#include "support/mock_cuda.h"

typedef struct {
  const char *name;
  const char *function;  // of the text: void f(void *const *buffers, uint32_t block)
  uint32_t n_args, n_items, group_bytes;
  uint64_t scratch_bytes;
} mock_kernel_text;

// Binaries for `architecture`, in `arena`. NULL, or what went wrong.
const char *mock_image_build(const char *text, const mock_kernel_text *kernels, uint32_t n,
    uint32_t architecture, seer_arena *arena, seer_device_image *out);
// PTX that stands for this binary: its file is made as `path`, kept as long as the image.
const char *mock_image_ptx(const seer_device_image *binary, const char *path, uint32_t architecture,
    seer_arena *arena, seer_device_image *out);
// Of block programs, in mock_loops.c: kernels are named SYMBOL_p0, ..., as by seer_gpu_write, and
// have the same arguments; what a block's items do is done one after the other.
const char *mock_image_of_loops(const seer_loop *const *loops, const char *const *symbols,
    uint32_t n, uint32_t architecture, seer_arena *arena, seer_device_image *out);

#endif
