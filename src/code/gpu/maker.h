// maker.h - block programs -> what a device loads: text and compiler in one, for whoever makes
// libraries or candidates.
//
//   CUDA    code for the target's architecture, and PTX for those that come later
//   OpenCL  a binary for one device and its driver, where that is at hand; and the text, which
//           drivers compile wherever it is loaded
//
// Memory: what is made is in the arena that is given. Threads: one at a time for each maker.
#ifndef SEER_CODE_GPU_MAKER_H
#define SEER_CODE_GPU_MAKER_H

#include "code/kernel.h"
#include "runtime/device/device.h"

#define SEER_GPU_MAX_IMAGES 2
#define SEER_GPU_NO_DEVICE UINT32_MAX

typedef struct seer_gpu_maker seer_gpu_maker;

//   nvrtc   as seer_gpu_open_nvrtc takes it
//   device  number of the one that binaries are for; SEER_GPU_NO_DEVICE: texts alone (OpenCL)
// Owned: seer_gpu_maker_destroy. Errors: those of compilers that are missing; NOT_FOUND: no such
// device.
SEER_MUST_USE seer_status seer_gpu_maker_create(
    const seer_target *target, const char *nvrtc, uint32_t device, seer_gpu_maker **out);
void seer_gpu_maker_destroy(seer_gpu_maker *maker);  // NULL is fine

// out       its description; its object is the first image, of format CUBIN, OPENCL or OPENCL_C
// out_n     of images
// Errors: UNSUPPORTED what cannot be expressed, or is more than the device has; the compiler's.
SEER_MUST_USE seer_status seer_gpu_make(seer_gpu_maker *maker, const seer_loop *loop,
    const char *symbol, seer_arena *arena, seer_kernel *out,
    seer_device_image images[SEER_GPU_MAX_IMAGES], uint32_t *out_n);

#endif
