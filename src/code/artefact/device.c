// device.c - of a GPU: kernels -> what a device loads. CUDA: code for the target's architecture,
// and PTX for those that come later. OpenCL: the text, which drivers compile where the library
// runs.
#include <stdlib.h>
#include <string.h>

#include "code/artefact/internal.h"
#include "code/gen/generate.h"
#include "code/gpu/build.h"
#include "code/source/source.h"

struct seer_device_maker {
  seer_nvrtc *nvrtc;
};

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

seer_status seer_build_begin_device(seer_kernel_maker *maker) {
  maker->device = calloc(1, sizeof *maker->device);
  if (!maker->device) return SEER_FAIL(RESOURCE, "no memory for a compiler");
  if (!is_cuda(maker->context)) return SEER_OK;
  return seer_gpu_open_nvrtc(seer_context_target(maker->context),
      seer_context_str(maker->context, SEER_OPT_NVRTC), &maker->device->nvrtc);
}

void seer_build_end_device(seer_kernel_maker *maker) {
  if (!maker->device) return;
  seer_nvrtc_close(maker->device->nvrtc);
  free(maker->device);
}

static void add_image(
    seer_built_kernel *k, seer_image_format format, uint32_t sm, const void *data, size_t n) {
  k->image[k->n_image++] = (seer_device_image){
      .format = format, .architecture = sm, .made_for = "", .data = data, .n_bytes = n};
}

seer_status seer_build_device_kernel(const seer_kernel_maker *maker, const seer_loop *loop,
    const char *symbol, seer_arena *arena, seer_built_kernel *out) {
  uint32_t sm = seer_context_target(maker->context)->gpu.architecture;
  bool is_for_cuda = is_cuda(maker->context);
  seer_kernel text;
  SEER_TRY(seer_gpu_write(
      loop, is_for_cuda ? SEER_KERNEL_CUDA_C : SEER_KERNEL_OPENCL_C, symbol, arena, &text));
  if (!is_for_cuda) {
    seer_text whole;
    seer_text_init(&whole, arena);
    seer_text_put(&whole, seer_source_prelude(seer_dialect_find("opencl"), arena));
    seer_text_put_n(&whole, text.object, text.n_object_bytes);
    out->kernel = text;
    add_image(out, SEER_IMAGE_OPENCL_C, 0, whole.data, whole.n_bytes);
    return SEER_OK;
  }
  seer_nvrtc_program program;
  SEER_TRY(seer_gpu_build_cuda(maker->device->nvrtc, sm, &text, arena, &program, &out->kernel));
  add_image(out, SEER_IMAGE_CUBIN, sm, program.cubin, program.n_cubin_bytes);
  add_image(out, SEER_IMAGE_PTX, sm, program.ptx, strlen(program.ptx));
  return SEER_OK;
}
