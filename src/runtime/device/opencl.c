// opencl.c - OpenCL's row: which devices there are, and their memory. See opencl.h.
#include "runtime/device/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 256
#define SVM_COARSE 1u  // a bit of what a device can do
#define MEM_READ_WRITE 1u
#define MEM_ALLOC_HOST 16u
#define MAP_READ_WRITE 3u

// Drivers need not align to more than the largest type's 128 bytes: some refuse to be asked, and of
// those some give pages all the same. Where one does not, more is taken, and where that began is
// remembered.
struct seer_opencl_moved {
  seer_opencl_moved *next;
  void *at, *base;
};

// ---- codes

static seer_rt_code meaning_of(seer_cl_code code, bool is_queued) {
  switch (code) {
    case 0:
      return SEER_RT_OK;
    case -3:  // no compiler
    case -54:  // items of a block
    case -55:
      return SEER_RT_UNSUPPORTED;
    case -5:  // registers of a kernel that is made, a device that is gone where one is run
      return is_queued ? SEER_RT_DEVICE : SEER_RT_RESOURCE;
    case -4:
    case -6:
    case -12:
    case -61:
      return SEER_RT_RESOURCE;
    case -11:
    case -42:
    case -44:
    case -45:
    case -46:
    case -47:
      return SEER_RT_CORRUPT;
    case -7:
    case -30:
    case -38:
    case -49:
    case -50:
    case -51:
    case -52:
    case -53:
    case -63:
      return SEER_RT_INVALID;
    default:
      return SEER_RT_DEVICE;
  }
}

static seer_rt_code converted(seer_device *device, seer_cl_code code, bool is_queued,
    const char *call, char *message, size_t message_bytes) {
  char text[SEER_DEVICE_WHY_BYTES];
  seer_rt_code is = meaning_of(code, is_queued);
  if (is == SEER_RT_OK) return is;
  snprintf(text, sizeof text, "OpenCL, %s: %s: %s (%d)", device->info.name, call,
      seer_opencl_code_name(code), (int)code);
  if (is == SEER_RT_DEVICE) return seer_device_lose(&device->health, text, message, message_bytes);
  return seer_rt_fail(is, message, message_bytes, "%s", text);
}

seer_rt_code seer_opencl_made(
    seer_device *device, seer_cl_code code, const char *call, char *message, size_t message_bytes) {
  return converted(device, code, false, call, message, message_bytes);
}

seer_rt_code seer_opencl_queued(
    seer_device *device, seer_cl_code code, const char *call, char *message, size_t message_bytes) {
  return converted(device, code, true, call, message, message_bytes);
}

// ---- devices

typedef struct {
  seer_cl_object id, platform;
  uint32_t n;  // that were counted
} found;

static uint32_t rank_of(uint64_t type) {
  return type & SEER_CL_TYPE_GPU ? 0 : type & SEER_CL_TYPE_CPU ? 2 : 1;
}

static void look_at_platform(const seer_opencl_api *api, seer_cl_object platform, uint32_t rank,
    uint32_t index, found *out) {
  seer_cl_object devices[SEER_CL_MAX_DEVICES];
  uint32_t n = 0;
  if (api->clGetDeviceIDs(platform, SEER_CL_ALL_DEVICES, SEER_CL_MAX_DEVICES, devices, &n) != 0)
    return;
  for (uint32_t k = 0; k < n && k < SEER_CL_MAX_DEVICES; k++) {
    uint64_t type = 0;
    if (api->clGetDeviceInfo(devices[k], SEER_CL_DEVICE_TYPE, sizeof type, &type, NULL) != 0 ||
        rank_of(type) != rank)
      continue;
    if (out->n++ == index) out->id = devices[k], out->platform = platform;
  }
}

// Number `index` of all, and how many there are. The loader's own code where there is no driver at
// all is an error: then there are none.
static found find(const seer_opencl_api *api, uint32_t index) {
  seer_cl_object platforms[SEER_CL_MAX_PLATFORMS];
  uint32_t n = 0;
  found out = {0};
  if (api->clGetPlatformIDs(SEER_CL_MAX_PLATFORMS, platforms, &n) != 0) n = 0;
  for (uint32_t rank = 0; rank < 3; rank++) {
    for (uint32_t k = 0; k < n && k < SEER_CL_MAX_PLATFORMS; k++)
      look_at_platform(api, platforms[k], rank, index, &out);
  }
  return out;
}

static seer_rt_code count(uint32_t *out_n, char *message, size_t message_bytes) {
  seer_opencl_api api;
  *out_n = 0;
  seer_rt_code code = seer_opencl_api_open(NULL, &api, message, message_bytes);
  if (code == SEER_RT_OK) *out_n = find(&api, UINT32_MAX).n;
  return code;
}

// A text that `get` answers with, or as much of it as there is room for.
static seer_cl_code ask_text(
    seer_cl_about *get, seer_cl_object of, uint32_t question, char *out, size_t n_bytes) {
  char text[1024];
  size_t n = 0;
  seer_cl_code c = get(of, question, 0, NULL, &n);
  if (c == 0 && n > sizeof text) c = -30;
  if (c == 0) c = get(of, question, n, text, NULL);
  if (c != 0) n = 0;
  text[n < sizeof text ? n : sizeof text - 1] = 0;
  snprintf(out, n_bytes, "%.*s", (int)n_bytes - 1, text);
  return c;
}

static seer_cl_code ask(const seer_opencl_api *api, const found *of, seer_device_info *out) {
  char platform[SEER_DEVICE_NAME_BYTES / 2], version[SEER_DEVICE_NAME_BYTES / 2 - 1];
  uint64_t type = 0;
  size_t max_items = 0;
  const struct {
    uint32_t question;
    size_t n_bytes;
    void *to;
  } numbers[] = {{SEER_CL_DEVICE_TYPE, sizeof type, &type},
      {SEER_CL_DEVICE_UNITS, sizeof out->n_processors, &out->n_processors},
      {SEER_CL_DEVICE_ITEMS, sizeof max_items, &max_items},
      {SEER_CL_DEVICE_CLOCK, sizeof out->clock_mhz, &out->clock_mhz},
      {SEER_CL_DEVICE_GROUP_MEMORY, sizeof out->group_bytes, &out->group_bytes},
      {SEER_CL_DEVICE_MEMORY, sizeof out->memory_bytes, &out->memory_bytes},
      {SEER_CL_DEVICE_CACHE, sizeof out->cache_bytes, &out->cache_bytes},
      {SEER_CL_DEVICE_LANES, sizeof out->n_lanes, &out->n_lanes}};
  seer_cl_code c =
      ask_text(api->clGetDeviceInfo, of->id, SEER_CL_DEVICE_NAME, out->name, sizeof out->name);
  if (c == 0)
    c = ask_text(
        api->clGetPlatformInfo, of->platform, SEER_CL_PLATFORM_NAME, platform, sizeof platform);
  if (c == 0)
    c = ask_text(api->clGetDeviceInfo, of->id, SEER_CL_DRIVER_VERSION, version, sizeof version);
  for (size_t k = 0; k < sizeof numbers / sizeof numbers[0] && c == 0; k++)
    c = api->clGetDeviceInfo(of->id, numbers[k].question, numbers[k].n_bytes, numbers[k].to, NULL);
  if (c != 0) return c;
  snprintf(out->driver, sizeof out->driver, "%s %s", platform, version);
  out->max_items = max_items > UINT32_MAX ? UINT32_MAX : (uint32_t)max_items;
  out->is_cpu = rank_of(type) == 2;
  return 0;
}

// Fills device's api, id, info and limits.
static seer_rt_code look_up(
    uint32_t index, seer_device *device, char *message, size_t message_bytes) {
  seer_rt_code code = seer_opencl_api_open(NULL, &device->api, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  const seer_opencl_api *api = &device->api;
  const found of = find(api, index);
  if (!of.id)
    return seer_rt_fail(SEER_RT_NOT_FOUND, message, message_bytes,
        "no device number %u: OpenCL has %u", index, of.n);
  seer_cl_code c = ask(api, &of, &device->info);
  device->id = of.id;
  if (c == 0)
    c = api->clGetDeviceInfo(of.id, SEER_CL_DEVICE_MAX_ALLOC, sizeof device->max_alloc_bytes,
        &device->max_alloc_bytes, NULL);
  if (c != 0)
    return seer_rt_fail(SEER_RT_DEVICE, message, message_bytes,
        "OpenCL's device number %u does not say what it is like: %s (%d)", index,
        seer_opencl_code_name(c), (int)c);
  uint64_t svm = 0;  // OpenCL 1.2 does not know the question
  if (api->clGetDeviceInfo(of.id, SEER_CL_DEVICE_SVM, sizeof svm, &svm, NULL) != 0) svm = 0;
  if (api->has_svm && (svm & SVM_COARSE)) return SEER_RT_OK;
  return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
      "OpenCL, %s, %s: %s has no shared virtual memory (OpenCL 2.0), which addresses of values "
      "within others take",
      device->info.name, device->info.driver, api->has_svm ? "it" : "the loader");
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
  if (!seer_device_is_parents(&device->health)) {
    if (device->own) device->api.clReleaseCommandQueue(device->own);
    if (device->context) device->api.clReleaseContext(device->context);
  }
  for (seer_opencl_moved *next; device->moved; device->moved = next) {
    next = device->moved->next;  // in a child: what the parent had
    free(device->moved);
  }
  pthread_mutex_destroy(&device->lock);
  seer_device_health_clear(&device->health);
  free(device);
}

static seer_rt_code open_device(
    uint32_t index, seer_device **out_device, char *message, size_t message_bytes) {
  seer_cl_code c = 0;
  *out_device = NULL;
  seer_device *device = calloc(1, sizeof *device);
  if (!device)
    return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for a device");
  seer_device_health_init(&device->health);
  pthread_mutex_init(&device->lock, NULL);
  seer_rt_code code = look_up(index, device, message, message_bytes);
  if (code == SEER_RT_OK) {
    device->context = device->api.clCreateContext(NULL, 1, &device->id, NULL, NULL, &c);
    code = seer_opencl_made(device, c, "clCreateContext", message, message_bytes);
  }
  if (code == SEER_RT_OK) {
    device->own = device->api.clCreateCommandQueue(device->context, device->id, 0, &c);
    code = seer_opencl_made(device, c, "clCreateCommandQueue", message, message_bytes);
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

static seer_rt_code no_memory(
    const seer_device *device, uint64_t n_bytes, char *message, size_t message_bytes) {
  return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes,
      "OpenCL, %s: no memory for %llu bytes at a time (it has %llu, at most %llu at a time)",
      device->info.name, (unsigned long long)n_bytes, (unsigned long long)device->info.memory_bytes,
      (unsigned long long)device->max_alloc_bytes);
}

static void *aligned(seer_device *device, uint64_t n_bytes) {
  const seer_opencl_api *api = &device->api;
  void *at = api->clSVMAlloc(device->context, MEM_READ_WRITE, n_bytes, ALIGNMENT);
  if (!at) at = api->clSVMAlloc(device->context, MEM_READ_WRITE, n_bytes, 0);
  if (!at || (uintptr_t)at % ALIGNMENT == 0) return at;
  api->clSVMFree(device->context, at);
  seer_opencl_moved *moved = calloc(1, sizeof *moved);
  if (!moved) return NULL;
  moved->base = api->clSVMAlloc(device->context, MEM_READ_WRITE, n_bytes + ALIGNMENT, 0);
  if (!moved->base) {
    free(moved);
    return NULL;
  }
  moved->at = (uint8_t *)moved->base + (ALIGNMENT - (uintptr_t)moved->base % ALIGNMENT);
  pthread_mutex_lock(&device->lock);
  moved->next = device->moved;
  device->moved = moved;
  pthread_mutex_unlock(&device->lock);
  return moved->at;
}

static seer_rt_code alloc(
    seer_device *device, uint64_t n_bytes, void **out_at, char *message, size_t message_bytes) {
  *out_at = NULL;
  seer_rt_code code = seer_device_enter(&device->health, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  if (n_bytes <= device->max_alloc_bytes - ALIGNMENT) *out_at = aligned(device, n_bytes);
  return *out_at ? SEER_RT_OK : no_memory(device, n_bytes, message, message_bytes);
}

static void free_memory(seer_device *device, void *at) {
  if (!at || seer_device_is_parents(&device->health)) return;
  pthread_mutex_lock(&device->lock);
  seer_opencl_moved **link = &device->moved;
  while (*link && (*link)->at != at) link = &(*link)->next;
  seer_opencl_moved *moved = *link;
  if (moved) *link = moved->next;
  pthread_mutex_unlock(&device->lock);
  device->api.clSVMFree(device->context, moved ? moved->base : at);
  free(moved);
}

// In front of memory of the host, in ALIGNMENT bytes.
typedef struct {
  seer_cl_object buffer;
} host_head;

static seer_rt_code host_alloc(
    seer_device *device, uint64_t n_bytes, void **out, char *message, size_t message_bytes) {
  const seer_opencl_api *api = &device->api;
  seer_cl_code c = 0;
  *out = NULL;
  seer_rt_code code = seer_device_enter(&device->health, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  if (n_bytes > device->max_alloc_bytes - ALIGNMENT)
    return no_memory(device, n_bytes, message, message_bytes);
  uint64_t n = n_bytes + ALIGNMENT;
  host_head head = {api->clCreateBuffer(device->context, MEM_ALLOC_HOST, n, NULL, &c)};
  if (c != 0) return seer_opencl_made(device, c, "clCreateBuffer", message, message_bytes);
  uint8_t *at =
      api->clEnqueueMapBuffer(device->own, head.buffer, 1, MAP_READ_WRITE, 0, n, 0, NULL, NULL, &c);
  if (c != 0) {
    api->clReleaseMemObject(head.buffer);
    return seer_opencl_made(device, c, "clEnqueueMapBuffer", message, message_bytes);
  }
  memcpy(at, &head, sizeof head);
  *out = at + ALIGNMENT;
  return SEER_RT_OK;
}

static void host_free(seer_device *device, void *memory) {
  host_head head;
  if (!memory || seer_device_is_parents(&device->health)) return;
  uint8_t *at = (uint8_t *)memory - ALIGNMENT;
  memcpy(&head, at, sizeof head);
  device->api.clEnqueueUnmapMemObject(device->own, head.buffer, at, 0, NULL, NULL);
  device->api.clFinish(device->own);
  device->api.clReleaseMemObject(head.buffer);
}

const seer_device_driver seer_device_opencl = {.name = "opencl",
    .has_graphs = false,
    .count = count,
    .describe = describe,
    .open = open_device,
    .close = close_device,
    .info = info,
    .alloc = alloc,
    .free = free_memory,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .load = seer_opencl_load,
    .unload = seer_opencl_unload,
    .queue_create = seer_opencl_queue_create,
    .queue_destroy = seer_opencl_queue_destroy,
    .kernel_create = seer_opencl_kernel_create,
    .kernel_destroy = seer_opencl_kernel_destroy,
    .launch = seer_opencl_launch,
    .upload = seer_opencl_copy,
    .download = seer_opencl_copy,
    .copy = seer_opencl_copy,
    .fill = seer_opencl_fill,
    .sync = seer_opencl_sync,
    .mark_create = seer_opencl_mark_create,
    .mark_destroy = seer_opencl_mark_destroy,
    .mark_set = seer_opencl_mark_set,
    .elapsed = seer_opencl_elapsed};
