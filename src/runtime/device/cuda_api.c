// cuda_api.c - see cuda_api.h.
#include "runtime/device/cuda_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "runtime/exec.h"

#define STUB_LIBRARY 34
#define NO_DEVICE 100

typedef struct {
  const char *name;
  void **place;
} function;

static seer_rt_code begin(
    const seer_cuda_api *api, int *out_no_device, char *message, size_t message_bytes) {
  char text[256];
  seer_cuda_code code = api->init(0);
  *out_no_device = code == NO_DEVICE;
  if (code == 0 || code == NO_DEVICE) return SEER_RT_OK;
  seer_cuda_say(api, code, text, sizeof text);
  return seer_rt_fail(code == STUB_LIBRARY ? SEER_RT_NOT_FOUND : SEER_RT_DEVICE, message,
      message_bytes, "CUDA, cuInit: %s", text);
}

seer_rt_code seer_cuda_api_open(
    seer_cuda_api *out, int *out_no_device, char *message, size_t message_bytes) {
  memset(out, 0, sizeof *out);
  *out_no_device = 0;
#define PLACE(member, args, name) {name, (void **)&out->member},
  const function needed[] = {SEER_CUDA_FUNCTIONS(PLACE)};
#undef PLACE
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char *why = dlerror();
    return seer_rt_fail(SEER_RT_NOT_FOUND, message, message_bytes,
        "CUDA's driver (NVIDIA's libcuda) is not to be had: %s", why ? why : "no reason is given");
  }
  const char *lacks = NULL;
  for (size_t k = 0; k < sizeof needed / sizeof needed[0] && !lacks; k++) {
    *needed[k].place = dlsym(library, needed[k].name);
    if (!*needed[k].place) lacks = needed[k].name;
  }
  void *parameter = dlsym(library, "cuFuncGetParamInfo");
  memcpy(&out->parameter, &parameter, sizeof parameter);
  dlclose(library);  // it stays
  if (lacks)
    return seer_rt_fail(SEER_RT_NOT_FOUND, message, message_bytes,
        "libcuda.so.1 has no %s: a driver older than CUDA 11.4", lacks);
  return begin(out, out_no_device, message, message_bytes);
}

void seer_cuda_say(const seer_cuda_api *api, seer_cuda_code code, char *out, size_t n_bytes) {
  const char *name = NULL, *text = NULL;
  if (api->error_name(code, &name) != 0 || !name) name = "an unknown error";
  if (api->error_text(code, &text) != 0 || !text) text = "";
  snprintf(out, n_bytes, "%s (%d)%s%s", name, code, *text ? ": " : "", text);
}
