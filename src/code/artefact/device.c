// device.c - of a GPU: kernels -> what a device loads. A library for OpenCL has the texts, and
// binaries for the device that is here, if there is one: so that opening it there takes no
// compiler.
#include "code/artefact/internal.h"
#include "code/gpu/build.h"

static bool is_cuda(const seer_context *context) {
  return seer_context_target(context)->kind == SEER_TARGET_CUDA;
}

seer_status seer_build_can_use_device(const seer_context *context, const char *out_dir) {
  SEER_TRY(seer_build_can_link(context, out_dir));
  if (!is_cuda(context)) return SEER_OK;
  seer_nvrtc *nvrtc;
  SEER_TRY(seer_gpu_open_nvrtc(
      seer_context_target(context), seer_context_str(context, SEER_OPT_NVRTC), &nvrtc));
  seer_nvrtc_close(nvrtc);
  return SEER_OK;
}

// Of OpenCL the device that a tuning times on, else the one that a library is opened on where
// nothing is said.
static uint32_t device_here(const seer_context *context) {
  uint32_t n = 0, number = seer_device_first_number(seer_context_devices(context));
  bool is_here = !is_cuda(context) && seer_device_opencl.count(&n, NULL, 0) == SEER_RT_OK;
  return is_here && number < n ? number : SEER_GPU_NO_DEVICE;
}

seer_status seer_build_begin_device(seer_kernel_maker *maker) {
  return seer_gpu_maker_create(seer_context_target(maker->context),
      seer_context_str(maker->context, SEER_OPT_NVRTC), device_here(maker->context),
      &maker->device);
}

void seer_build_end_device(seer_kernel_maker *maker) { seer_gpu_maker_destroy(maker->device); }

seer_status seer_build_device_kernel(const seer_kernel_maker *maker, const seer_loop *loop,
    const char *symbol, seer_arena *arena, seer_built_kernel *out) {
  return seer_gpu_make(maker->device, loop, symbol, arena, &out->kernel, out->image, &out->n_image);
}
