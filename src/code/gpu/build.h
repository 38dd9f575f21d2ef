// build.h - block programs -> kernels for GPUs: the text of a dialect, with how each phase is
// launched, and what a compiler makes of that text. What the compiler says of blocks and memory is
// held against what was asked for.
//
// Memory: in the arena. Threads: as the compilers'. Errors: theirs, and as said.
#ifndef SEER_CODE_GPU_BUILD_H
#define SEER_CODE_GPU_BUILD_H

#include "code/gpu/nvrtc.h"
#include "code/gpu/opencl.h"
#include "code/kernel.h"

// format: OPENCL_C or CUDA_C: without what stands once in front of all kernels.
// Errors: UNSUPPORTED: a phase that is no block program, an operator without code, an item that
// would need memory of its own, more parts or more of a block's memory than can be. For tests.
SEER_MUST_USE seer_status seer_gpu_write(const seer_loop *loop, seer_kernel_format format,
    const char *symbol, seer_arena *arena, seer_kernel *out);

// NVRTC for the target's architecture, with words on where one is to be had.
//   path  "": by the names that it has where it is installed
// Errors: NOT_FOUND; UNSUPPORTED: it does not know the architecture.
SEER_MUST_USE seer_status seer_gpu_open_nvrtc(
    const seer_target *target, const char *path, seer_nvrtc **out);

// What was written as CUDA C, for sm_<sm>: of format CUBIN.
// Errors: INTERNAL: it needs more of a block's memory than it says. For tests.
SEER_MUST_USE seer_status seer_gpu_compile_cuda(
    seer_nvrtc *nvrtc, uint32_t sm, const seer_kernel *text, seer_arena *arena, seer_kernel *out);
// The same, and what else the compiler has made and says: PTX, registers. For tests.
SEER_MUST_USE seer_status seer_gpu_build_cuda(seer_nvrtc *nvrtc, uint32_t sm,
    const seer_kernel *text, seer_arena *arena, seer_nvrtc_program *out_program, seer_kernel *out);
// What was written as OpenCL C: of format OPENCL.
//   options  as for seer_opencl_build
// Errors: UNSUPPORTED: the device cannot run so many items, or has not so much memory for a block;
// INTERNAL: the kernel says something else than its launch. For tests.
SEER_MUST_USE seer_status seer_gpu_compile_opencl(seer_opencl *opencl,
    const seer_opencl_device *device, const char *options, const seer_kernel *text,
    seer_arena *arena, seer_kernel *out);

#endif
