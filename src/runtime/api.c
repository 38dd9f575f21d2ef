// api.c - the one symbol that a model.so exports: runtime.h's table over the plan and the kernels
// that are linked in beside this code. Only in the archive for model.so (the compiler's own copy of
// the runtime has no plan).
#include "runtime/exec.h"

typedef int seer_rt_not_empty;

#ifdef SEER_RT_EMBEDDED

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

// weights.bin beside the library that this code is in.
static seer_rt_code beside(char *out, size_t n_out, char *message, size_t message_bytes) {
  Dl_info info;
  if (!dladdr((const void *)seer_plan_blob, &info) || !info.dli_fname)
    return seer_rt_fail(SEER_RT_NOT_FOUND, message, message_bytes,
        "cannot tell where this library lies; pass a path");
  const char *slash = strrchr(info.dli_fname, '/');
  int folder = slash ? (int)(slash - info.dli_fname + 1) : 0;
  int n = snprintf(out, n_out, "%.*sweights.bin", folder, info.dli_fname);
  if (n < 0 || (size_t)n >= n_out)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes, "path of the library is too long");
  return SEER_RT_OK;
}

static seer_model_source source_here(void) {
  return (seer_model_source){
      .blob = seer_plan_blob,
      .n_blob_bytes = seer_plan_blob_bytes,
      .kernels = seer_plan_kernels,
      .blob_hash = &seer_plan_blob_hash,
      .operators = seer_plan_operators,  // NULL: it has none
      .runner = &seer_plan_runner ? seer_plan_runner : NULL,
  };
}

static seer_rt_code api_open_on(int32_t device, const char *weights_path, const void *weights,
    uint64_t n_weight_bytes, int verify_hash, seer_model **out_model, char *message,
    size_t message_bytes) {
  char path[PATH_MAX];
  seer_model_source source = source_here();
  if (!out_model) return SEER_RT_INVALID;
  *out_model = NULL;
  if (device < 0)
    return seer_rt_fail(
        SEER_RT_INVALID, message, message_bytes, "there is no device %d", (int)device);
  source.device = (uint32_t)device;
  source.weights_path = weights_path;
  source.weights = weights;
  source.n_weight_bytes = n_weight_bytes;
  source.verify_hash = verify_hash;
  if (!weights_path && !weights) {
    seer_rt_code code = beside(path, sizeof path, message, message_bytes);
    if (code != SEER_RT_OK) return code;
    source.weights_path = path;
  }
  return seer_rt_open(&source, out_model, message, message_bytes);
}

static seer_rt_code api_open(const char *weights_path, const void *weights, uint64_t n_weight_bytes,
    int verify_hash, seer_model **out_model, char *message, size_t message_bytes) {
  return api_open_on(
      0, weights_path, weights, n_weight_bytes, verify_hash, out_model, message, message_bytes);
}

static seer_rt_code api_n_devices(int32_t *out_n, char *message, size_t message_bytes) {
  const seer_model_source source = source_here();
  return seer_rt_n_devices(&source, out_n, message, message_bytes);
}

static seer_rt_code api_device_name(
    int32_t device, char out_name[256], char out_driver[256], char *message, size_t message_bytes) {
  const seer_model_source source = source_here();
  return seer_rt_device_name(&source, device, out_name, out_driver, message, message_bytes);
}

#ifndef SEER_VERSION
#define SEER_VERSION "unknown"
#endif
static const char *api_version(void) { return SEER_VERSION; }

static const seer_model_api api = {
    .struct_size = sizeof(seer_model_api),
    .abi_version = 1,
    .open = api_open,
    .close = seer_rt_close,
    .n_inputs = seer_rt_n_inputs,
    .n_outputs = seer_rt_n_outputs,
    .input = seer_rt_input,
    .output = seer_rt_output,
    .info_json = seer_rt_info_json,
    .pool_create = seer_pool_create,
    .pool_wrap = seer_pool_wrap,
    .pool_destroy = seer_pool_destroy,
    .pool_threads = seer_pool_threads,
    .session_create = seer_rt_session_create,
    .session_destroy = seer_rt_session_destroy,
    .bind_input = seer_rt_bind_input,
    .bind_output = seer_rt_bind_output,
    .run = seer_rt_run,
    .n_steps = seer_rt_n_steps,
    .session_profile = seer_rt_profile,
    .output_shape = seer_rt_output_shape,
    .n_sets = seer_rt_n_sets,
    .set_input = seer_rt_set_input,
    .set_output = seer_rt_set_output,
    .set_n_steps = seer_rt_set_n_steps,
    .find_set = seer_rt_find_set,
    .select = seer_rt_select,
    .selected = seer_rt_selected,
    .session_bind_input = seer_rt_session_bind_input,
    .session_bind_output = seer_rt_session_bind_output,
    .session_run = seer_rt_session_run,
    .session_time_steps = seer_rt_session_time_steps,
    .session_select = seer_rt_session_select,
    .session_output_shape = seer_rt_session_output_shape,
    .session_watch = seer_rt_session_watch,
    .n_devices = api_n_devices,
    .device_name = api_device_name,
    .open_on = api_open_on,
    .device_alloc = seer_rt_device_alloc,
    .device_free = seer_rt_device_free,
    .device_upload = seer_rt_device_upload,
    .device_download = seer_rt_device_download,
    .session_bind_device_input = seer_rt_session_bind_device_input,
    .session_bind_device_output = seer_rt_session_bind_device_output,
    .version = api_version,
    .find_input = seer_rt_find_input,
    .find_output = seer_rt_find_output,
    .sizes = seer_rt_sizes,
    .pool_make = seer_pool_make,
    .session_limit = seer_rt_session_limit,
};

__attribute__((visibility("default"))) const seer_model_api *seer_model_v1(void) { return &api; }

#endif
