// cuda_api.h - CUDA's driver (libcuda) by dlopen: nothing is linked. What is called of it is
// declared here, as its manual has it: its header is not on every machine that builds this.
#ifndef SEER_RUNTIME_DEVICE_CUDA_API_H
#define SEER_RUNTIME_DEVICE_CUDA_API_H

#include "seer/runtime.h"

typedef int seer_cuda_code;  // 0: it went well
typedef void *seer_cuda_object;  // a context, module, function, stream, event, graph
typedef uint64_t seer_cuda_address;
typedef int seer_cuda_number;  // of a device

// Attributes of devices and of functions, options of the compiler of PTX, flags.
enum {
  SEER_CUDA_DEVICE_ITEMS = 1,
  SEER_CUDA_DEVICE_GROUP_BYTES = 8,
  SEER_CUDA_DEVICE_CLOCK_KHZ = 13,
  SEER_CUDA_DEVICE_PROCESSORS = 16,
  SEER_CUDA_DEVICE_CACHE_BYTES = 38,
  SEER_CUDA_DEVICE_MAJOR = 75,
  SEER_CUDA_DEVICE_MINOR = 76,
  SEER_CUDA_FUNCTION_ITEMS = 0,
  SEER_CUDA_FUNCTION_GROUP_BYTES = 1,
  SEER_CUDA_JIT_LOG = 5,
  SEER_CUDA_JIT_LOG_BYTES = 6,
  SEER_CUDA_HOST_OF_ALL_CONTEXTS = 1,
  SEER_CUDA_STREAM_APART = 1,  // does not wait for the stream that is everybody's
  SEER_CUDA_CAPTURE_BY_ANY_THREAD = 2,
  SEER_CUDA_RECORD_AS_NODE = 1,
};

// X(member, its parameters, name in the library).
#define SEER_CUDA_FUNCTIONS(X)                                                                   \
  X(init, (unsigned), "cuInit")                                                                  \
  X(version, (int *), "cuDriverGetVersion")                                                      \
  X(error_name, (seer_cuda_code, const char **), "cuGetErrorName")                               \
  X(error_text, (seer_cuda_code, const char **), "cuGetErrorString")                             \
  X(device_count, (int *), "cuDeviceGetCount")                                                   \
  X(device_get, (seer_cuda_number *, int), "cuDeviceGet")                                        \
  X(device_name, (char *, int, seer_cuda_number), "cuDeviceGetName")                             \
  X(device_attribute, (int *, int, seer_cuda_number), "cuDeviceGetAttribute")                    \
  X(device_memory, (size_t *, seer_cuda_number), "cuDeviceTotalMem_v2")                          \
  X(context_retain, (seer_cuda_object *, seer_cuda_number), "cuDevicePrimaryCtxRetain")          \
  X(context_release, (seer_cuda_number), "cuDevicePrimaryCtxRelease_v2")                         \
  X(context_push, (seer_cuda_object), "cuCtxPushCurrent_v2")                                     \
  X(context_pop, (seer_cuda_object *), "cuCtxPopCurrent_v2")                                     \
  X(alloc, (seer_cuda_address *, size_t), "cuMemAlloc_v2")                                       \
  X(free, (seer_cuda_address), "cuMemFree_v2")                                                   \
  X(host_alloc, (void **, size_t, unsigned), "cuMemHostAlloc")                                   \
  X(host_free, (void *), "cuMemFreeHost")                                                        \
  X(module_load, (seer_cuda_object *, const void *, unsigned, int *, void **),                   \
      "cuModuleLoadDataEx")                                                                      \
  X(module_unload, (seer_cuda_object), "cuModuleUnload")                                         \
  X(function, (seer_cuda_object *, seer_cuda_object, const char *), "cuModuleGetFunction")       \
  X(function_attribute, (int *, int, seer_cuda_object), "cuFuncGetAttribute")                    \
  X(launch,                                                                                      \
      (seer_cuda_object, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
          seer_cuda_object, void **, void **),                                                   \
      "cuLaunchKernel")                                                                          \
  X(stream_create, (seer_cuda_object *, unsigned), "cuStreamCreate")                             \
  X(stream_destroy, (seer_cuda_object), "cuStreamDestroy_v2")                                    \
  X(stream_sync, (seer_cuda_object), "cuStreamSynchronize")                                      \
  X(upload, (seer_cuda_address, const void *, size_t, seer_cuda_object), "cuMemcpyHtoDAsync_v2") \
  X(download, (void *, seer_cuda_address, size_t, seer_cuda_object), "cuMemcpyDtoHAsync_v2")     \
  X(copy, (seer_cuda_address, seer_cuda_address, size_t, seer_cuda_object),                      \
      "cuMemcpyDtoDAsync_v2")                                                                    \
  X(fill, (seer_cuda_address, unsigned char, size_t, seer_cuda_object), "cuMemsetD8Async")       \
  X(event_create, (seer_cuda_object *, unsigned), "cuEventCreate")                               \
  X(event_destroy, (seer_cuda_object), "cuEventDestroy_v2")                                      \
  X(event_record, (seer_cuda_object, seer_cuda_object, unsigned), "cuEventRecordWithFlags")      \
  X(event_elapsed, (float *, seer_cuda_object, seer_cuda_object), "cuEventElapsedTime")          \
  X(capture_begin, (seer_cuda_object, int), "cuStreamBeginCapture_v2")                           \
  X(capture_end, (seer_cuda_object, seer_cuda_object *), "cuStreamEndCapture")                   \
  X(graph_instantiate, (seer_cuda_object *, seer_cuda_object, unsigned long long),               \
      "cuGraphInstantiateWithFlags")                                                             \
  X(graph_launch, (seer_cuda_object, seer_cuda_object), "cuGraphLaunch")                         \
  X(graph_destroy, (seer_cuda_object), "cuGraphDestroy")                                         \
  X(graph_instance_destroy, (seer_cuda_object), "cuGraphExecDestroy")

typedef struct {
#define SEER_CUDA_POINTER(member, args, name) seer_cuda_code(*member) args;
  SEER_CUDA_FUNCTIONS(SEER_CUDA_POINTER)
#undef SEER_CUDA_POINTER
  // CUDA 12.4's; NULL where the driver is older.
  seer_cuda_code (*parameter)(seer_cuda_object, size_t, size_t *, size_t *);
} seer_cuda_api;

// Opens libcuda.so.1 and begins with it (cuInit). It is never unloaded.
// Errors: NOT_FOUND: no driver, or none but a stub, or one older than CUDA 11.4; DEVICE: it does
// not begin. *out_no_device: there is a driver, and no device: then OK.
seer_rt_code seer_cuda_api_open(
    seer_cuda_api *out, int *out_no_device, char *message, size_t message_bytes);

// "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"
void seer_cuda_say(const seer_cuda_api *api, seer_cuda_code code, char *out, size_t n_bytes);

#endif
