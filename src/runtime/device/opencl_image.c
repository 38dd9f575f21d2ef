// opencl_image.c - OpenCL's binaries and texts -> programs of a device.
#include <stdlib.h>
#include <string.h>

#include "runtime/device/opencl.h"

#define MAX_LOG_BYTES (1u << 20)
// As code/gpu/opencl.c has it.
#define OPTIONS "-cl-std=CL1.2 "

static bool is_for(const seer_device *device, const seer_device_image *image) {
  char made_for[SEER_DEVICE_MADE_FOR_BYTES];
  if (image->format == SEER_IMAGE_OPENCL_C) return true;
  if (image->format != SEER_IMAGE_OPENCL) return false;
  seer_device_made_for(&device->info, made_for);
  return strcmp(image->made_for, made_for) == 0;
}

// What the compiler says, for free(); NULL: nothing, or no memory.
static char *log_of(const seer_device *device, seer_cl_object program) {
  const seer_opencl_api *api = &device->api;
  size_t n = 0;
  if (api->clGetProgramBuildInfo(program, device->id, SEER_CL_PROGRAM_BUILD_LOG, 0, NULL, &n) !=
          0 ||
      n <= 1 || n > MAX_LOG_BYTES)
    return NULL;
  char *log = calloc(1, n + 1);
  if (log &&
      api->clGetProgramBuildInfo(program, device->id, SEER_CL_PROGRAM_BUILD_LOG, n, log, NULL) !=
          0) {
    free(log);
    log = NULL;
  }
  return log;
}

static seer_rt_code build(seer_device *device, seer_cl_object program, const char *options,
    char *message, size_t message_bytes) {
  seer_cl_code c = device->api.clBuildProgram(program, 1, &device->id, options, NULL, NULL);
  seer_rt_code code = seer_opencl_made(device, c, "clBuildProgram", message, message_bytes);
  if (code != SEER_RT_CORRUPT) return code;
  char *log = log_of(device, program);
  code = seer_rt_fail(code, message, message_bytes, "OpenCL, %s: clBuildProgram: %s (%d)%s%s",
      device->info.name, seer_opencl_code_name(c), (int)c, log ? ": " : "", log ? log : "");
  free(log);
  return code;
}

static seer_rt_code create(seer_device *device, const seer_device_image *image, seer_cl_object *out,
    char *message, size_t message_bytes) {
  const seer_opencl_api *api = &device->api;
  seer_cl_code c = 0, loaded = 0;
  if (image->format == SEER_IMAGE_OPENCL_C) {
    const char *text = image->data;
    *out = api->clCreateProgramWithSource(device->context, 1, &text, &image->n_bytes, &c);
    return seer_opencl_made(device, c, "clCreateProgramWithSource", message, message_bytes);
  }
  const unsigned char *binary = image->data;
  *out = api->clCreateProgramWithBinary(
      device->context, 1, &device->id, &image->n_bytes, &binary, &loaded, &c);
  if (c == 0) c = loaded;
  return seer_opencl_made(device, c, "clCreateProgramWithBinary", message, message_bytes);
}

seer_rt_code seer_opencl_load(seer_device *device, const seer_device_image *images,
    uint32_t n_images, seer_device_module **out_module, char *message, size_t message_bytes) {
  uint32_t k = 0;
  *out_module = NULL;
  seer_rt_code code = seer_device_enter(&device->health, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  while (k < n_images && !is_for(device, &images[k])) k++;
  if (k == n_images)
    return seer_device_refuse_images(&device->info, images, n_images, message, message_bytes);
  if (images[k].n_bytes == 0)
    return seer_rt_fail(SEER_RT_CORRUPT, message, message_bytes, "an image of 0 bytes");
  seer_device_module *module = calloc(1, sizeof *module);
  if (!module)
    return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for a module");
  code = create(device, &images[k], &module->program, message, message_bytes);
  if (code == SEER_RT_OK)
    code = build(device, module->program, images[k].format == SEER_IMAGE_OPENCL_C ? OPTIONS : "",
        message, message_bytes);
  if (code == SEER_RT_OK) {
    *out_module = module;
  } else {
    seer_opencl_unload(device, module);
  }
  return code;
}

void seer_opencl_unload(seer_device *device, seer_device_module *module) {
  if (!module) return;
  if (module->program && !seer_device_is_parents(&device->health))
    device->api.clReleaseProgram(module->program);
  free(module);
}
