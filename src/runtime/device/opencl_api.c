// opencl_api.c - see opencl_api.h.
#include "runtime/device/opencl_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "runtime/exec.h"

typedef struct {
  const char *name;
  void **place;
} function;

// Drivers set themselves up when they are first asked for devices, and not all of them bear two
// threads there (PoCL 3.1 ends the process).
static void set_up(const seer_opencl_api *api) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  seer_cl_object platforms[SEER_CL_MAX_PLATFORMS], devices[SEER_CL_MAX_DEVICES];
  uint32_t n = 0, n_device;
  pthread_mutex_lock(&lock);
  if (api->clGetPlatformIDs(SEER_CL_MAX_PLATFORMS, platforms, &n) != 0) n = 0;
  for (uint32_t k = 0; k < n && k < SEER_CL_MAX_PLATFORMS; k++)
    (void)api->clGetDeviceIDs(
        platforms[k], SEER_CL_ALL_DEVICES, SEER_CL_MAX_DEVICES, devices, &n_device);
  pthread_mutex_unlock(&lock);
}

seer_rt_code seer_opencl_api_open(
    const char *path, seer_opencl_api *out, char *message, size_t message_bytes) {
  const char *name = path ? path : "libOpenCL.so.1";
  memset(out, 0, sizeof *out);
#define PLACE(type, name, args) {#name, (void **)&out->name},
  const function needed[] = {SEER_OPENCL_FUNCTIONS(PLACE)};
  const function svm[] = {SEER_OPENCL_SVM_FUNCTIONS(PLACE)};
#undef PLACE
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char *why = dlerror();
    return seer_rt_fail(SEER_RT_NOT_FOUND, message, message_bytes,
        "OpenCL's loader (Debian's ocl-icd-libopencl1, or a driver's) is not to be had: %s",
        why ? why : "no reason is given");
  }
  const char *lacks = NULL;
  for (size_t k = 0; k < sizeof needed / sizeof needed[0] && !lacks; k++) {
    *needed[k].place = dlsym(library, needed[k].name);
    if (!*needed[k].place) lacks = needed[k].name;
  }
  out->has_svm = true;
  for (size_t k = 0; k < sizeof svm / sizeof svm[0]; k++) {
    *svm[k].place = dlsym(library, svm[k].name);
    if (!*svm[k].place) out->has_svm = false;
  }
  dlclose(library);  // it stays
  if (!lacks) set_up(out);
  if (!lacks) return SEER_RT_OK;
  return seer_rt_fail(SEER_RT_NOT_FOUND, message, message_bytes,
      "%s has no %s: it is no OpenCL, or older than 1.2", name, lacks);
}

static const struct {
  seer_cl_code code;
  const char *name;
} names[] = {
    {0, "CL_SUCCESS"}, {-1, "CL_DEVICE_NOT_FOUND"}, {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"}, {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"}, {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"}, {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"}, {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"}, {-33, "CL_INVALID_DEVICE"}, {-34, "CL_INVALID_CONTEXT"},
    {-35, "CL_INVALID_QUEUE_PROPERTIES"}, {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"}, {-42, "CL_INVALID_BINARY"}, {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"}, {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"}, {-47, "CL_INVALID_KERNEL_DEFINITION"},
    {-48, "CL_INVALID_KERNEL"}, {-49, "CL_INVALID_ARG_INDEX"}, {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"}, {-52, "CL_INVALID_KERNEL_ARGS"},
    {-53, "CL_INVALID_WORK_DIMENSION"}, {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"}, {-57, "CL_INVALID_EVENT_WAIT_LIST"},
    {-58, "CL_INVALID_EVENT"}, {-59, "CL_INVALID_OPERATION"}, {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"}, {-9999, "an illegal read or write"},  // NVIDIA's own
};

const char *seer_opencl_code_name(seer_cl_code code) {
  for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
    if (names[k].code == code) return names[k].name;
  }
  return "an unknown error";
}
