// cuda.c - CUDA's row: which devices there are, their contexts and memory. See cuda.h.
#include "runtime/device/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- codes

// By cuda.h's numbers (CUresult). What is not here is a device that fails: illegal addresses (700),
// launches that fail (719), memory's errors (214, 220), contexts that are gone (201, 709), ...
static const struct {
  seer_cuda_code first, last;
  seer_rt_code is;
} meanings[] = {
    {0, 0, SEER_RT_OK}, {1, 1, SEER_RT_INVALID}, {2, 2, SEER_RT_RESOURCE},
    {34, 34, SEER_RT_NOT_FOUND},  // a library to link with, no driver
    {36, 36, SEER_RT_UNSUPPORTED},  // a newer driver is needed
    {100, 101, SEER_RT_NOT_FOUND},  // no device, no such device
    {200, 200, SEER_RT_CORRUPT},  // an image
    {209, 209, SEER_RT_UNSUPPORTED},  // no binary for this GPU
    {218, 218, SEER_RT_CORRUPT},  // PTX
    {221, 223, SEER_RT_UNSUPPORTED},  // no compiler of PTX, or none of this version
    {300, 300, SEER_RT_CORRUPT}, {400, 401, SEER_RT_INVALID},  // handles, states
    {500, 500, SEER_RT_CORRUPT},  // a name that the module lacks
    {600, 600, SEER_RT_INVALID},  // not ready
    {701, 701, SEER_RT_UNSUPPORTED},  // registers for so many items
    {801, 801, SEER_RT_UNSUPPORTED}, {804, 804, SEER_RT_UNSUPPORTED},
    {900, 908, SEER_RT_INVALID},  // what a capture does not allow
};

static seer_rt_code meaning_of(seer_cuda_code code) {
  for (size_t k = 0; k < sizeof meanings / sizeof meanings[0]; k++) {
    if (code >= meanings[k].first && code <= meanings[k].last) return meanings[k].is;
  }
  return SEER_RT_DEVICE;
}

static seer_rt_code converted(seer_device *device, seer_cuda_code code, const char *call,
    char *message, size_t message_bytes) {
  char says[160], text[SEER_DEVICE_WHY_BYTES + SEER_DEVICE_NAME_BYTES];
  seer_rt_code is = meaning_of(code);
  if (is == SEER_RT_OK) return is;
  seer_cuda_say(&device->api, code, says, sizeof says);
  snprintf(text, sizeof text, "CUDA, %s: %s: %s", device->info.name, call, says);
  if (is == SEER_RT_DEVICE) return seer_device_lose(&device->health, text, message, message_bytes);
  return seer_rt_fail(is, message, message_bytes, "%s", text);
}

seer_rt_code seer_cuda_enter(seer_device *device, char *message, size_t message_bytes) {
  seer_rt_code code = seer_device_enter(&device->health, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cuda_code c = device->api.context_push(device->context);
  return converted(device, c, "cuCtxPushCurrent", message, message_bytes);
}

seer_rt_code seer_cuda_leave(seer_device *device, seer_cuda_code code, const char *call,
    char *message, size_t message_bytes) {
  seer_cuda_object context;
  device->api.context_pop(&context);
  return converted(device, code, call, message, message_bytes);
}

bool seer_cuda_enter_to_free(seer_device *device) {
  return !seer_device_is_parents(&device->health) && device->api.context_push(device->context) == 0;
}

void seer_cuda_leave_freed(seer_device *device) {
  seer_cuda_object context;
  device->api.context_pop(&context);
}

// ---- devices

static seer_cuda_code ask(
    const seer_cuda_api *api, seer_cuda_number number, seer_device_info *out) {
  int items = 0, group_bytes = 0, khz = 0, processors = 0, cache_bytes = 0, major = 0, minor = 0;
  int version = 0;
  size_t memory_bytes = 0;
  const struct {
    int attribute, *to;
  } numbers[] = {{SEER_CUDA_DEVICE_ITEMS, &items}, {SEER_CUDA_DEVICE_GROUP_BYTES, &group_bytes},
      {SEER_CUDA_DEVICE_PROCESSORS, &processors}, {SEER_CUDA_DEVICE_MAJOR, &major},
      {SEER_CUDA_DEVICE_MINOR, &minor}};
  seer_cuda_code c = api->version(&version);
  if (c == 0) c = api->device_name(out->name, (int)sizeof out->name, number);
  if (c == 0) c = api->device_memory(&memory_bytes, number);
  for (size_t k = 0; k < sizeof numbers / sizeof numbers[0] && c == 0; k++)
    c = api->device_attribute(numbers[k].to, numbers[k].attribute, number);
  if (c != 0) return c;
  // Of these a driver may know nothing.
  if (api->device_attribute(&khz, SEER_CUDA_DEVICE_CLOCK_KHZ, number) != 0) khz = 0;
  if (api->device_attribute(&cache_bytes, SEER_CUDA_DEVICE_CACHE_BYTES, number) != 0)
    cache_bytes = 0;
  out->name[sizeof out->name - 1] = 0;
  snprintf(out->driver, sizeof out->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
  out->architecture = (uint32_t)(major * 10 + minor);
  out->n_processors = (uint32_t)processors;
  out->max_items = (uint32_t)items;
  out->clock_mhz = (uint32_t)khz / 1000;
  out->is_cpu = false;
  out->n_lanes = 0;
  out->group_bytes = (uint64_t)group_bytes;
  out->memory_bytes = memory_bytes;
  out->cache_bytes = (uint64_t)cache_bytes;
  return 0;
}

static seer_rt_code count_of(seer_cuda_api *api, int *out_n, char *message, size_t message_bytes) {
  char says[256];
  int is_none = 0;
  *out_n = 0;
  seer_rt_code code = seer_cuda_api_open(api, &is_none, message, message_bytes);
  if (code != SEER_RT_OK || is_none) return code;
  seer_cuda_code c = api->device_count(out_n);
  if (c == 0) return SEER_RT_OK;
  seer_cuda_say(api, c, says, sizeof says);
  return seer_rt_fail(SEER_RT_DEVICE, message, message_bytes, "CUDA, cuDeviceGetCount: %s", says);
}

static seer_rt_code count(uint32_t *out_n, char *message, size_t message_bytes) {
  seer_cuda_api api;
  int n = 0;
  seer_rt_code code = count_of(&api, &n, message, message_bytes);
  *out_n = code == SEER_RT_OK ? (uint32_t)n : 0;
  return code;
}

// Fills device's api, number and info.
static seer_rt_code look_up(
    uint32_t index, seer_device *device, char *message, size_t message_bytes) {
  char says[256];
  int n = 0;
  seer_rt_code code = count_of(&device->api, &n, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  if (index >= (uint32_t)n)
    return seer_rt_fail(
        SEER_RT_NOT_FOUND, message, message_bytes, "no device number %u: CUDA has %d", index, n);
  seer_cuda_code c = device->api.device_get(&device->number, (int)index);
  if (c == 0) c = ask(&device->api, device->number, &device->info);
  if (c == 0) return SEER_RT_OK;
  seer_cuda_say(&device->api, c, says, sizeof says);
  return seer_rt_fail(SEER_RT_DEVICE, message, message_bytes,
      "CUDA's device number %u does not say what it is like: %s", index, says);
}

static seer_rt_code describe(
    uint32_t index, seer_device_info *out, char *message, size_t message_bytes) {
  seer_device device = {0};
  seer_rt_code code = look_up(index, &device, message, message_bytes);
  *out = code == SEER_RT_OK ? device.info : (seer_device_info){0};
  return code;
}

static void close_device(seer_device *device) {
  if (!device) return;
  if (device->context && !seer_device_is_parents(&device->health))
    device->api.context_release(device->number);
  seer_device_health_clear(&device->health);
  free(device);
}

static seer_rt_code open_device(
    uint32_t index, seer_device **out_device, char *message, size_t message_bytes) {
  *out_device = NULL;
  seer_device *device = calloc(1, sizeof *device);
  if (!device)
    return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for a device");
  seer_device_health_init(&device->health);
  seer_rt_code code = look_up(index, device, message, message_bytes);
  if (code == SEER_RT_OK) {
    seer_cuda_code c = device->api.context_retain(&device->context, device->number);
    if (c != 0) device->context = NULL;
    code = converted(device, c, "cuDevicePrimaryCtxRetain", message, message_bytes);
  }
  if (code == SEER_RT_OK) {
    *out_device = device;
  } else {
    close_device(device);
  }
  return code;
}

static const seer_device_info *info(const seer_device *device) { return &device->info; }

// ---- memory

static seer_rt_code given(seer_device *device, seer_cuda_code c, const char *call, uint64_t n_bytes,
    char *message, size_t message_bytes) {
  seer_rt_code code = seer_cuda_leave(device, c, call, message, message_bytes);
  if (code != SEER_RT_RESOURCE) return code;
  return seer_rt_fail(code, message, message_bytes,
      "CUDA, %s: no memory for %llu bytes (it has %llu)", device->info.name,
      (unsigned long long)n_bytes, (unsigned long long)device->info.memory_bytes);
}

static seer_rt_code alloc(
    seer_device *device, uint64_t n_bytes, void **out_at, char *message, size_t message_bytes) {
  seer_cuda_address at = 0;
  *out_at = NULL;
  seer_rt_code code = seer_cuda_enter(device, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  code =
      given(device, device->api.alloc(&at, n_bytes), "cuMemAlloc", n_bytes, message, message_bytes);
  if (code == SEER_RT_OK) *out_at = (void *)(uintptr_t)at;
  return code;
}

static void free_memory(seer_device *device, void *at) {
  if (!at || !seer_cuda_enter_to_free(device)) return;
  device->api.free((uintptr_t)at);
  seer_cuda_leave_freed(device);
}

static seer_rt_code host_alloc(
    seer_device *device, uint64_t n_bytes, void **out, char *message, size_t message_bytes) {
  void *memory = NULL;
  *out = NULL;
  seer_rt_code code = seer_cuda_enter(device, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cuda_code c = device->api.host_alloc(&memory, n_bytes, SEER_CUDA_HOST_OF_ALL_CONTEXTS);
  code = given(device, c, "cuMemHostAlloc", n_bytes, message, message_bytes);
  if (code == SEER_RT_OK) *out = memory;
  return code;
}

static void host_free(seer_device *device, void *memory) {
  if (!memory || !seer_cuda_enter_to_free(device)) return;
  device->api.host_free(memory);
  seer_cuda_leave_freed(device);
}

const seer_device_driver seer_device_cuda = {.name = "cuda",
    .has_graphs = true,
    .count = count,
    .describe = describe,
    .open = open_device,
    .close = close_device,
    .info = info,
    .alloc = alloc,
    .free = free_memory,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .load = seer_cuda_load,
    .unload = seer_cuda_unload,
    .queue_create = seer_cuda_queue_create,
    .queue_destroy = seer_cuda_queue_destroy,
    .kernel_create = seer_cuda_kernel_create,
    .kernel_destroy = seer_cuda_kernel_destroy,
    .launch = seer_cuda_launch,
    .upload = seer_cuda_upload,
    .download = seer_cuda_download,
    .copy = seer_cuda_copy,
    .fill = seer_cuda_fill,
    .sync = seer_cuda_sync,
    .mark_create = seer_cuda_mark_create,
    .mark_destroy = seer_cuda_mark_destroy,
    .mark_set = seer_cuda_mark_set,
    .elapsed = seer_cuda_elapsed,
    .graph_begin = seer_cuda_graph_begin,
    .graph_end = seer_cuda_graph_end,
    .graph_run = seer_cuda_graph_run,
    .graph_destroy = seer_cuda_graph_destroy};
