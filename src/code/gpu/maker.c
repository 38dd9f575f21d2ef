// maker.c - see maker.h.
#include "code/gpu/maker.h"

#include <stdlib.h>
#include <string.h>

#include "code/gen/generate.h"
#include "code/gpu/build.h"
#include "code/source/source.h"

struct seer_gpu_maker {
  bool is_cuda;
  uint32_t sm;
  seer_nvrtc *nvrtc;
  seer_opencl *opencl;  // NULL: texts alone
  seer_opencl_device device;
  char made_for[SEER_DEVICE_MADE_FOR_BYTES];
  seer_arena *arena;  // what is said of the device
};

// The runtime numbers devices by kind, then as the loader has them.
static seer_status find_device(seer_gpu_maker *m, uint32_t number) {
  static const seer_opencl_kind kinds[] = {
      SEER_OPENCL_GPU, SEER_OPENCL_ACCELERATOR, SEER_OPENCL_CPU};
  char message[256];
  seer_device_info info;
  if (seer_device_opencl.describe(number, &info, message, sizeof message) != SEER_RT_OK)
    return SEER_FAIL(NOT_FOUND, "%s", message);
  seer_device_made_for(&info, m->made_for);
  SEER_TRY(seer_opencl_open(NULL, &m->opencl));
  for (size_t k = 0; k < SEER_COUNT_OF(kinds); k++) {
    for (uint32_t i = 0;; i++) {
      seer_status status = seer_opencl_find(m->opencl, NULL, kinds[k], i, m->arena, &m->device);
      if (!status && number-- == 0) return SEER_OK;
      if (!status) continue;
      if (seer_status_code(status) != SEER_CODE_NOT_FOUND) return status;
      seer_status_free(status);
      break;
    }
  }
  return SEER_FAIL(NOT_FOUND, "%s is not there any more", info.name);
}

seer_status seer_gpu_maker_create(
    const seer_target *target, const char *nvrtc, uint32_t device, seer_gpu_maker **out) {
  *out = NULL;
  seer_gpu_maker *m = calloc(1, sizeof *m);
  if (!m) return SEER_FAIL(RESOURCE, "no memory for a compiler");
  m->is_cuda = target->kind == SEER_TARGET_CUDA;
  m->sm = target->gpu.architecture;
  m->arena = seer_arena_create("compiler of items");
  seer_status status = SEER_OK;
  if (m->is_cuda)
    status = seer_gpu_open_nvrtc(target, nvrtc, &m->nvrtc);
  else if (device != SEER_GPU_NO_DEVICE)
    status = find_device(m, device);
  if (status) {
    seer_gpu_maker_destroy(m);
    return status;
  }
  *out = m;
  return SEER_OK;
}

void seer_gpu_maker_destroy(seer_gpu_maker *m) {
  if (!m) return;
  seer_nvrtc_close(m->nvrtc);
  seer_opencl_close(m->opencl);
  seer_arena_destroy(m->arena);
  free(m);
}

static seer_device_image image_of(seer_image_format format, const void *data, size_t n_bytes) {
  return (seer_device_image){.format = format, .made_for = "", .data = data, .n_bytes = n_bytes};
}

static seer_status make_cuda(seer_gpu_maker *m, const seer_kernel *text, seer_arena *arena,
    seer_kernel *out, seer_device_image *images, uint32_t *out_n) {
  seer_nvrtc_program program;
  SEER_TRY(seer_gpu_build_cuda(m->nvrtc, m->sm, text, arena, &program, out));
  images[0] = image_of(SEER_IMAGE_CUBIN, program.cubin, program.n_cubin_bytes);
  images[1] = image_of(SEER_IMAGE_PTX, program.ptx, strlen(program.ptx));
  images[0].architecture = images[1].architecture = m->sm;
  *out_n = 2;
  return SEER_OK;
}

static seer_status make_opencl(seer_gpu_maker *m, const seer_kernel *text, seer_arena *arena,
    seer_kernel *out, seer_device_image *images, uint32_t *out_n) {
  seer_text whole;
  seer_text_init(&whole, arena);
  seer_text_put(&whole, seer_source_prelude(seer_dialect_find("opencl"), arena));
  seer_text_put_n(&whole, text->object, text->n_object_bytes);
  *out = *text;
  *out_n = 0;
  if (m->opencl) {
    SEER_TRY(seer_gpu_compile_opencl(m->opencl, &m->device, NULL, text, arena, out));
    images[0] = image_of(SEER_IMAGE_OPENCL, out->object, out->n_object_bytes);
    images[0].made_for = seer_arena_strdup(arena, m->made_for);
    ++*out_n;
  }
  images[(*out_n)++] = image_of(SEER_IMAGE_OPENCL_C, whole.data, whole.n_bytes);
  return SEER_OK;
}

seer_status seer_gpu_make(seer_gpu_maker *m, const seer_loop *loop, const char *symbol,
    seer_arena *arena, seer_kernel *out, seer_device_image images[SEER_GPU_MAX_IMAGES],
    uint32_t *out_n) {
  seer_kernel text;
  SEER_TRY(seer_gpu_write(
      loop, m->is_cuda ? SEER_KERNEL_CUDA_C : SEER_KERNEL_OPENCL_C, symbol, arena, &text));
  return m->is_cuda ? make_cuda(m, &text, arena, out, images, out_n)
                    : make_opencl(m, &text, arena, out, images, out_n);
}
