// cuda_image.c - CUDA's binaries and PTX -> modules of a device.
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/cuda.h"

#define MAX_LOG_BYTES 4096

bool seer_device_runs(uint32_t own, uint32_t architecture) {
  return architecture / 10 == own / 10 && architecture <= own;
}

// PTX runs on all later ones.
static bool is_for(const seer_device *device, const seer_device_image *image) {
  uint32_t own = device->info.architecture, other = image->architecture;
  if (image->format == SEER_IMAGE_PTX) return other <= own;
  return image->format == SEER_IMAGE_CUBIN && seer_device_runs(own, other);
}

// The driver is not told how long a binary is: it must be as long as it says itself.
static bool is_whole(const seer_device_image *image) {
  Elf64_Ehdr head;
  if (image->n_bytes < sizeof head) return false;
  memcpy(&head, image->data, sizeof head);
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
    return false;
  uint64_t n_sections = (uint64_t)head.e_shnum * head.e_shentsize;
  uint64_t n_segments = (uint64_t)head.e_phnum * head.e_phentsize;
  return head.e_shoff <= image->n_bytes && n_sections <= image->n_bytes - head.e_shoff &&
      head.e_phoff <= image->n_bytes && n_segments <= image->n_bytes - head.e_phoff;
}

static seer_rt_code load(seer_device *device, const void *data, seer_device_module *module,
    char *message, size_t message_bytes) {
  char log[MAX_LOG_BYTES] = "";
  int options[] = {SEER_CUDA_JIT_LOG, SEER_CUDA_JIT_LOG_BYTES};
  void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  seer_rt_code code = seer_cuda_enter(device, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cuda_code c = device->api.module_load(&module->module, data, 2, options, values);
  code = seer_cuda_leave(device, c, "cuModuleLoadDataEx", message, message_bytes);
  log[sizeof log - 1] = 0;
  if ((code == SEER_RT_CORRUPT || code == SEER_RT_UNSUPPORTED) && log[0] && message) {
    size_t n = strlen(message);
    seer_rt_fail(code, message + n, message_bytes - n, ": %s", log);
  }
  return code;
}

seer_rt_code seer_cuda_load(seer_device *device, const seer_device_image *images, uint32_t n_images,
    seer_device_module **out_module, char *message, size_t message_bytes) {
  uint32_t k = 0;
  *out_module = NULL;
  seer_rt_code code = seer_device_enter(&device->health, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  while (k < n_images && !is_for(device, &images[k])) k++;
  if (k == n_images)
    return seer_device_refuse_images(&device->info, images, n_images, message, message_bytes);
  if (images[k].format == SEER_IMAGE_CUBIN && !is_whole(&images[k]))
    return seer_rt_fail(SEER_RT_CORRUPT, message, message_bytes,
        "%zu bytes of code for sm_%u that are no whole binary", images[k].n_bytes,
        images[k].architecture);
  seer_device_module *module = calloc(1, sizeof *module);
  // At a multiple of what malloc has, and a text with its end.
  char *data = malloc(images[k].n_bytes + 1);
  if (module && data) {
    memcpy(data, images[k].data, images[k].n_bytes);
    data[images[k].n_bytes] = 0;
    code = load(device, data, module, message, message_bytes);
  } else {
    code = seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes,
        "no memory for an image of %zu bytes", images[k].n_bytes);
  }
  free(data);
  if (code == SEER_RT_OK) {
    *out_module = module;
  } else {
    free(module);
  }
  return code;
}

void seer_cuda_unload(seer_device *device, seer_device_module *module) {
  if (!module) return;
  if (seer_cuda_enter_to_free(device)) {
    device->api.module_unload(module->module);
    seer_cuda_leave_freed(device);
  }
  free(module);
}
