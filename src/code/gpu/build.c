// build.c - see build.h.
#include "code/gpu/build.h"

#include <string.h>

#include "code/gen/generate.h"
#include "code/source/source.h"

// CUDA's from sm_90 on keep so much of a block's memory for themselves.
#define SYSTEM_BYTES 1024

seer_status seer_gpu_open_nvrtc(const seer_target *target, const char *path, seer_nvrtc **out) {
  SEER_TRYF(seer_nvrtc_open(*path ? path : NULL, out),
      "kernels in CUDA C are compiled by NVRTC; pip install nvidia-cuda-nvrtc-cu12 brings one that "
      "needs no GPU, and --nvrtc .../nvidia/cuda_nvrtc/lib/libnvrtc.so.12 says where it is");
  uint32_t sm = target->gpu.architecture, version = seer_nvrtc_version(*out);
  if (seer_nvrtc_knows(*out, sm)) return SEER_OK;
  seer_nvrtc_close(*out);
  *out = NULL;
  return SEER_FAIL(UNSUPPORTED,
      "NVRTC %u.%u makes no code for sm_%u (CUDA 12's knows sm_50 to sm_90, CUDA 13's those from "
      "sm_75 on); --nvrtc names another",
      version / 100, version % 100, sm);
}

static const seer_dialect *dialect_of(seer_kernel_format format) {
  return seer_dialect_find(format == SEER_KERNEL_CUDA_C ? "cuda" : "opencl");
}

seer_status seer_gpu_write(const seer_loop *loop, seer_kernel_format format, const char *symbol,
    seer_arena *arena, seer_kernel *out) {
  SEER_ASSERT(format == SEER_KERNEL_OPENCL_C || format == SEER_KERNEL_CUDA_C, "format %s",
      seer_kernel_format_name(format));
  SEER_TRY(seer_kernel_describe(loop, symbol, arena, out));
  const seer_gen_machine machine = seer_gen_machine_of_items(format == SEER_KERNEL_CUDA_C);
  seer_arena *work = seer_arena_create("kernels of items");
  seer_vec_code *code = NULL;
  const char *text = NULL;
  seer_status status = seer_gen_code(loop, &machine, symbol, work, &code);
  if (!status) status = seer_source_print(code, dialect_of(format), arena, &text);
  if (!status) {
    out->format = format;
    out->has_mma = seer_vec_has_mma(code);
    out->has_copies = seer_vec_has_copies(code);
    out->object = text;
    out->n_object_bytes = strlen(text);
  }
  seer_arena_destroy(work);
  return status;
}

// What a compiler is given: what stands in front, and the kernel's own text.
typedef struct {
  const char *text[2];
} program;

static program program_of(const seer_kernel *text, seer_arena *arena) {
  return (program){{seer_source_prelude(dialect_of(text->format), arena),
      seer_arena_strndup(arena, text->object, text->n_object_bytes)}};
}

static void take(const seer_kernel *text, seer_kernel_format format, const void *code, size_t n,
    seer_kernel *out) {
  *out = *text;
  out->format = format;
  out->object = code;
  out->n_object_bytes = n;
  out->code_bytes = (uint32_t)n;
}

static const char *name_of(const seer_kernel *kernel, uint32_t phase, seer_arena *arena) {
  return seer_arena_printf(arena, "%s_p%u", kernel->symbol, phase);
}

static seer_status lacks(const seer_kernel *kernel, const char *name) {
  return SEER_FAIL(INTERNAL, "%s: what was compiled has no kernel %s", kernel->symbol, name);
}

seer_status seer_gpu_build_cuda(seer_nvrtc *nvrtc, uint32_t sm, const seer_kernel *text,
    seer_arena *arena, seer_nvrtc_program *out_program, seer_kernel *out) {
  const program p = program_of(text, arena);
  if (text->has_mma && sm < SEER_TARGET_MMA_ARCHITECTURE)
    return SEER_FAIL(UNSUPPORTED, "%s: sm_%u has no products of warps of these types, sm_%d has",
        text->symbol, sm, SEER_TARGET_MMA_ARCHITECTURE);
  if (text->has_copies && sm < SEER_TARGET_COPY_ARCHITECTURE)
    return SEER_FAIL(UNSUPPORTED, "%s: sm_%u has no copies that nobody waits for, sm_%d has",
        text->symbol, sm, SEER_TARGET_COPY_ARCHITECTURE);
  SEER_TRY(seer_nvrtc_build(nvrtc, text->symbol, p.text, 2, sm, arena, out_program));
  const seer_nvrtc_program built = *out_program;
  for (uint32_t phase = 0; phase < text->n_phase; phase++) {
    const char *name = name_of(text, phase, arena);
    uint32_t k = 0;
    while (k < built.kernels.n && strcmp(built.kernels.kernel[k].name, name) != 0) k++;
    if (k == built.kernels.n) return lacks(text, name);
    uint64_t has = built.kernels.kernel[k].group_bytes;
    if (has > (uint64_t)text->launch[phase].group_bytes + SYSTEM_BYTES)
      return SEER_FAIL(INTERNAL, "%s has %" PRIu64 " bytes of a block's memory, it says %u", name,
          has, text->launch[phase].group_bytes);
  }
  take(text, SEER_KERNEL_CUBIN, built.cubin, built.n_cubin_bytes, out);
  return SEER_OK;
}

seer_status seer_gpu_compile_cuda(
    seer_nvrtc *nvrtc, uint32_t sm, const seer_kernel *text, seer_arena *arena, seer_kernel *out) {
  seer_nvrtc_program built;
  return seer_gpu_build_cuda(nvrtc, sm, text, arena, &built, out);
}

static seer_status fits_device(const seer_opencl_device *device, const seer_opencl_kernel *kernel,
    const seer_kernel_launch *launch) {
  if (kernel->items != launch->n_items)
    return SEER_FAIL(INTERNAL, "%s is for blocks of %" PRIu64 " items, its launch of %u",
        kernel->name, kernel->items, launch->n_items);
  if (launch->n_items > kernel->max_items)
    return SEER_FAIL(UNSUPPORTED, "%s: blocks of %u items, %s runs %" PRIu64, kernel->name,
        launch->n_items, device->name, kernel->max_items);
  if (kernel->group_bytes > device->group_bytes)
    return SEER_FAIL(UNSUPPORTED, "%s: %" PRIu64 " bytes of a block's memory, %s has %" PRIu64,
        kernel->name, kernel->group_bytes, device->name, device->group_bytes);
  return SEER_OK;
}

seer_status seer_gpu_compile_opencl(seer_opencl *opencl, const seer_opencl_device *device,
    const char *options, const seer_kernel *text, seer_arena *arena, seer_kernel *out) {
  const program p = program_of(text, arena);
  seer_opencl_program built;
  SEER_TRY(seer_opencl_build(opencl, device, text->symbol, p.text, 2, options, arena, &built));
  for (uint32_t phase = 0; phase < text->n_phase; phase++) {
    const char *name = name_of(text, phase, arena);
    uint32_t k = 0;
    while (k < built.n && strcmp(built.kernel[k].name, name) != 0) k++;
    if (k == built.n) return lacks(text, name);
    SEER_TRY(fits_device(device, &built.kernel[k], &text->launch[phase]));
  }
  take(text, SEER_KERNEL_OPENCL, built.binary, built.n_binary_bytes, out);
  return SEER_OK;
}
