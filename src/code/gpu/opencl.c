// opencl.c - devices by kind, and the builder, by the loader that the runtime's row of devices has.
#include "code/gpu/opencl.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/device/opencl_api.h"

typedef seer_cl_code code;
typedef seer_cl_object object;

#define MAX_TEXT_BYTES (1u << 20)
#define MAX_BINARY_BYTES (1u << 28)

struct seer_opencl {
  seer_opencl_api api;
};

static const char *const kind_names[SEER_OPENCL_KIND_COUNT] = {"any", "cpu", "gpu", "accelerator"};

// ---- codes

static seer_status checked(code c, const char *name, const char *what) {
  switch (c) {
    case 0:
      return SEER_OK;
    case -1:  // CL_DEVICE_NOT_FOUND
    case -2:  // CL_DEVICE_NOT_AVAILABLE
      return SEER_FAIL(DEVICE, "%s: OpenCL, %s: the device is not available (%d)", name, what, c);
    case -3:  // CL_COMPILER_NOT_AVAILABLE
      return SEER_FAIL(UNSUPPORTED, "%s: OpenCL, %s: the driver has no compiler", name, what);
    case -4:  // CL_MEM_OBJECT_ALLOCATION_FAILURE
    case -5:  // CL_OUT_OF_RESOURCES
    case -6:  // CL_OUT_OF_HOST_MEMORY
      return SEER_FAIL(RESOURCE, "%s: OpenCL, %s: no memory or resources (%d)", name, what, c);
    case -11:  // CL_BUILD_PROGRAM_FAILURE
      return SEER_FAIL(INVALID, "%s: OpenCL, %s: it does not compile", name, what);
    default:
      return SEER_FAIL(
          INTERNAL, "%s: OpenCL, %s: %s (%d)", name, what, seer_opencl_code_name(c), c);
  }
}

// ---- the library

seer_status seer_opencl_open(const char *path, seer_opencl **out) {
  char why[512];
  *out = NULL;
  seer_opencl *o = calloc(1, sizeof(*o));
  if (!o) return SEER_FAIL(RESOURCE, "no memory for OpenCL's table");
  if (seer_opencl_api_open(path, &o->api, why, sizeof(why)) != SEER_RT_OK) {
    seer_opencl_close(o);
    return SEER_FAIL(NOT_FOUND, "%s", why);
  }
  *out = o;
  return SEER_OK;
}

void seer_opencl_close(seer_opencl *opencl) { free(opencl); }

// ---- devices

// The bytes that a question gives, in `arena`, and a NUL behind them.
static seer_status answer(seer_cl_about *get, object of, uint32_t question, const char *name,
    const char *what, seer_arena *arena, char **out) {
  size_t n = 0;
  *out = NULL;
  SEER_TRY(checked(get(of, question, 0, NULL, &n), name, what));
  if (n > MAX_TEXT_BYTES) return SEER_FAIL(CORRUPT, "%s: OpenCL, %s: %zu bytes", name, what, n);
  char *text = seer_arena_alloc(arena, n + 1, 8);
  SEER_TRY(checked(get(of, question, n, text, NULL), name, what));
  *out = text;
  return SEER_OK;
}

static seer_opencl_kind kind_of(uint64_t type) {
  return type & SEER_CL_TYPE_GPU ? SEER_OPENCL_GPU
      : type & SEER_CL_TYPE_CPU  ? SEER_OPENCL_CPU
                                 : SEER_OPENCL_ACCELERATOR;
}

static seer_status describe(
    const seer_opencl *o, object device, seer_arena *arena, seer_opencl_device *out) {
  const char *name = "a device";
  char *text[2];
  uint64_t type = 0, group_bytes = 0, memory_bytes = 0;
  uint32_t n_units = 0;
  size_t max_items = 0;
  struct {
    uint32_t question;
    size_t n_bytes;
    void *to;
  } numbers[] = {{SEER_CL_DEVICE_TYPE, sizeof(type), &type},
      {SEER_CL_DEVICE_UNITS, sizeof(n_units), &n_units},
      {SEER_CL_DEVICE_ITEMS, sizeof(max_items), &max_items},
      {SEER_CL_DEVICE_GROUP_MEMORY, sizeof(group_bytes), &group_bytes},
      {SEER_CL_DEVICE_MEMORY, sizeof(memory_bytes), &memory_bytes}};
  SEER_TRY(answer(
      o->api.clGetDeviceInfo, device, SEER_CL_DEVICE_NAME, name, "its name", arena, &text[0]));
  SEER_TRY(answer(o->api.clGetDeviceInfo, device, SEER_CL_DEVICE_VERSION, name, "its version",
      arena, &text[1]));
  for (size_t k = 0; k < SEER_COUNT_OF(numbers); k++)
    SEER_TRY(checked(o->api.clGetDeviceInfo(
                         device, numbers[k].question, numbers[k].n_bytes, numbers[k].to, NULL),
        text[0], "what it is like"));
  *out = (seer_opencl_device){.handle = device,
      .kind = kind_of(type),
      .platform = out->platform,
      .name = text[0],
      .version = text[1],
      .n_units = n_units,
      .max_items = max_items,
      .group_bytes = group_bytes,
      .memory_bytes = memory_bytes};
  return SEER_OK;
}

// Counts devices of a platform, and describes the one that is number `index` of all.
static seer_status look_at_platform(const seer_opencl *o, object platform, seer_opencl_kind kind,
    uint32_t index, seer_arena *arena, uint32_t *io_n, seer_opencl_device *out) {
  object devices[SEER_CL_MAX_DEVICES];
  uint32_t n = 0;
  if (o->api.clGetDeviceIDs(platform, SEER_CL_ALL_DEVICES, SEER_CL_MAX_DEVICES, devices, &n) != 0)
    return SEER_OK;
  for (uint32_t k = 0; k < n && k < SEER_CL_MAX_DEVICES; k++) {
    uint64_t type = 0;
    SEER_TRY(
        checked(o->api.clGetDeviceInfo(devices[k], SEER_CL_DEVICE_TYPE, sizeof(type), &type, NULL),
            "a device", "its kind"));
    if (kind != SEER_OPENCL_ANY && kind_of(type) != kind) continue;
    if (*io_n == index) SEER_TRY(describe(o, devices[k], arena, out));
    ++*io_n;
  }
  return SEER_OK;
}

seer_status seer_opencl_find(seer_opencl *opencl, const char *platform, seer_opencl_kind kind,
    uint32_t index, seer_arena *arena, seer_opencl_device *out) {
  object platforms[SEER_CL_MAX_PLATFORMS];
  uint32_t n_platform = 0, n = 0;
  *out = (seer_opencl_device){0};
  // The loader's own code where there is no driver at all is an error, too.
  if (opencl->api.clGetPlatformIDs(SEER_CL_MAX_PLATFORMS, platforms, &n_platform) != 0)
    n_platform = 0;
  for (uint32_t k = 0; k < n_platform && k < SEER_CL_MAX_PLATFORMS; k++) {
    char *name;
    SEER_TRY(answer(opencl->api.clGetPlatformInfo, platforms[k], SEER_CL_PLATFORM_NAME,
        "a platform", "its name", arena, &name));
    if (platform && !strstr(name, platform)) continue;
    if (!out->handle) out->platform = name;
    SEER_TRY(look_at_platform(opencl, platforms[k], kind, index, arena, &n, out));
  }
  if (out->handle) return SEER_OK;
  return SEER_FAIL(NOT_FOUND, "no device number %u of kind %s%s%s: OpenCL has %u, on %u platform%s",
      index, kind_names[kind], platform ? ", of " : "", platform ? platform : "", n, n_platform,
      n_platform == 1 ? "" : "s");
}

// ---- building

typedef struct {
  seer_opencl *o;
  const seer_opencl_device *device;
  const char *name;
  seer_arena *arena;
  object program;
} job;

static seer_status compile(const job *j, const char *options) {
  code c = j->o->api.clBuildProgram(
      j->program, 1, (const object *)&j->device->handle, options, NULL, NULL);
  if (c == 0) return SEER_OK;
  size_t n = 0;
  char *log = NULL;
  if (j->o->api.clGetProgramBuildInfo(
          j->program, j->device->handle, SEER_CL_PROGRAM_BUILD_LOG, 0, NULL, &n) == 0 &&
      n > 1 && n < MAX_TEXT_BYTES) {
    log = seer_arena_alloc(j->arena, n + 1, 1);
    if (j->o->api.clGetProgramBuildInfo(
            j->program, j->device->handle, SEER_CL_PROGRAM_BUILD_LOG, n, log, NULL) != 0)
      log = NULL;
  }
  seer_status status = checked(c, j->name, j->device->name);
  return log ? seer_status_context(status, "%s", log) : status;
}

static seer_status take_binary(const job *j, seer_opencl_program *out) {
  size_t n = 0;
  SEER_TRY(checked(
      j->o->api.clGetProgramInfo(j->program, SEER_CL_PROGRAM_BINARY_SIZES, sizeof(n), &n, NULL),
      j->name, "how long its code is"));
  if (n == 0 || n > MAX_BINARY_BYTES)
    return SEER_FAIL(CORRUPT, "%s: OpenCL: a binary of %zu bytes", j->name, n);
  unsigned char *binary = seer_arena_alloc(j->arena, n, 16);
  SEER_TRY(checked(j->o->api.clGetProgramInfo(
                       j->program, SEER_CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL),
      j->name, "its code"));
  out->binary = binary;
  out->n_binary_bytes = n;
  return SEER_OK;
}

static seer_status describe_kernel(const job *j, seer_opencl_kernel *out) {
  code c = 0;
  size_t items[3] = {0}, max_items = 0;
  struct {
    uint32_t question;
    size_t n_bytes;
    void *to;
  } numbers[] = {{SEER_CL_KERNEL_MAX_ITEMS, sizeof(max_items), &max_items},
      {SEER_CL_KERNEL_ITEMS, sizeof(items), items},
      {SEER_CL_KERNEL_GROUP_BYTES, sizeof(out->group_bytes), &out->group_bytes},
      {SEER_CL_KERNEL_PRIVATE_BYTES, sizeof(out->private_bytes), &out->private_bytes}};
  object kernel = j->o->api.clCreateKernel(j->program, out->name, &c);
  seer_status status = checked(c, j->name, out->name);
  for (size_t k = 0; k < SEER_COUNT_OF(numbers) && !status; k++)
    status = checked(j->o->api.clGetKernelWorkGroupInfo(kernel, j->device->handle,
                         numbers[k].question, numbers[k].n_bytes, numbers[k].to, NULL),
        j->name, out->name);
  if (kernel) (void)j->o->api.clReleaseKernel(kernel);
  out->items = items[0];
  out->max_items = max_items;
  return status;
}

// Names with semicolons between them.
static seer_status describe_kernels(const job *j, seer_opencl_program *out) {
  char *names;
  SEER_TRY(answer(j->o->api.clGetProgramInfo, j->program, SEER_CL_PROGRAM_KERNEL_NAMES, j->name,
      "its kernels' names", j->arena, &names));
  while (*names) {
    size_t n = strcspn(names, ";");
    if (out->n == SEER_OPENCL_MAX_KERNELS)
      return SEER_FAIL(CORRUPT, "%s: more than %d kernels", j->name, SEER_OPENCL_MAX_KERNELS);
    out->kernel[out->n].name = seer_arena_strndup(j->arena, names, n);
    SEER_TRY(describe_kernel(j, &out->kernel[out->n++]));
    names += n + (names[n] == ';');
  }
  return SEER_OK;
}

seer_status seer_opencl_build(seer_opencl *opencl, const seer_opencl_device *device,
    const char *name, const char *const *texts, uint32_t n_texts, const char *options,
    seer_arena *arena, seer_opencl_program *out) {
  *out = (seer_opencl_program){0};
  job j = {.o = opencl, .device = device, .name = name, .arena = arena};
  code c = 0;
  object on = opencl->api.clCreateContext(NULL, 1, (const object *)&device->handle, NULL, NULL, &c);
  seer_status status = checked(c, name, "a context");
  if (!status) {
    j.program = opencl->api.clCreateProgramWithSource(on, n_texts, texts, NULL, &c);
    status = checked(c, name, "a program");
  }
  const char *all = seer_arena_printf(arena, "-cl-std=CL1.2 %s", options ? options : "");
  if (!status) status = compile(&j, all);
  if (!status) status = take_binary(&j, out);
  if (!status) status = describe_kernels(&j, out);
  if (j.program) (void)opencl->api.clReleaseProgram(j.program);
  if (on) (void)opencl->api.clReleaseContext(on);
  return status;
}
