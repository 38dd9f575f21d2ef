// opencl_api.h - OpenCL's loader (libOpenCL) by dlopen: nothing is linked. What is called of it is
// declared here, as the standard has it: its header is not on every machine that builds this. For
// the row of devices, and for who builds binaries (code/gpu/opencl.h).
#ifndef SEER_RUNTIME_DEVICE_OPENCL_API_H
#define SEER_RUNTIME_DEVICE_OPENCL_API_H

#include <stdbool.h>

#include "seer/runtime.h"

typedef int32_t seer_cl_code;  // 0: it went well
typedef void *seer_cl_object;  // a platform, device, context, queue, program, kernel, buffer, event
typedef void (*seer_cl_callback)(void);
typedef seer_cl_code seer_cl_about(seer_cl_object, uint32_t, size_t, void *, size_t *);

#define SEER_CL_ALL_DEVICES 0xFFFFFFFFu
#define SEER_CL_MAX_PLATFORMS 16
#define SEER_CL_MAX_DEVICES 64  // of a platform

enum {
  SEER_CL_PLATFORM_NAME = 0x0902,
  SEER_CL_DEVICE_TYPE = 0x1000,
  SEER_CL_DEVICE_UNITS = 0x1002,
  SEER_CL_DEVICE_ITEMS = 0x1004,
  SEER_CL_DEVICE_CLOCK = 0x100C,
  SEER_CL_DEVICE_MAX_ALLOC = 0x1010,
  SEER_CL_DEVICE_CACHE = 0x101E,
  SEER_CL_DEVICE_MEMORY = 0x101F,
  SEER_CL_DEVICE_GROUP_MEMORY = 0x1023,
  SEER_CL_DEVICE_LANES = 0x103A,  // native vectors of f32
  SEER_CL_DEVICE_NAME = 0x102B,
  SEER_CL_DRIVER_VERSION = 0x102D,
  SEER_CL_DEVICE_VERSION = 0x102F,
  SEER_CL_DEVICE_SVM = 0x1053,
  SEER_CL_PROGRAM_BINARY_SIZES = 0x1165,
  SEER_CL_PROGRAM_BINARIES = 0x1166,
  SEER_CL_PROGRAM_KERNEL_NAMES = 0x1168,
  SEER_CL_PROGRAM_BUILD_LOG = 0x1183,
  SEER_CL_KERNEL_N_ARGS = 0x1191,
  SEER_CL_KERNEL_MAX_ITEMS = 0x11B0,
  SEER_CL_KERNEL_ITEMS = 0x11B1,
  SEER_CL_KERNEL_GROUP_BYTES = 0x11B2,
  SEER_CL_KERNEL_PRIVATE_BYTES = 0x11B4,
  SEER_CL_PROFILING_END = 0x1283,
};
enum { SEER_CL_TYPE_CPU = 2, SEER_CL_TYPE_GPU = 4 };  // bits of DEVICE_TYPE

// X(what it returns, name, its parameters), of OpenCL 1.2.
#define SEER_OPENCL_FUNCTIONS(X)                                                                  \
  X(seer_cl_code, clGetPlatformIDs, (uint32_t, seer_cl_object *, uint32_t *))                     \
  X(seer_cl_code, clGetPlatformInfo, (seer_cl_object, uint32_t, size_t, void *, size_t *))        \
  X(seer_cl_code, clGetDeviceIDs,                                                                 \
      (seer_cl_object, uint64_t, uint32_t, seer_cl_object *, uint32_t *))                         \
  X(seer_cl_code, clGetDeviceInfo, (seer_cl_object, uint32_t, size_t, void *, size_t *))          \
  X(seer_cl_object, clCreateContext,                                                              \
      (const intptr_t *, uint32_t, const seer_cl_object *, seer_cl_callback, void *,              \
          seer_cl_code *))                                                                        \
  X(seer_cl_code, clReleaseContext, (seer_cl_object))                                             \
  X(seer_cl_object, clCreateProgramWithSource,                                                    \
      (seer_cl_object, uint32_t, const char *const *, const size_t *, seer_cl_code *))            \
  X(seer_cl_object, clCreateProgramWithBinary,                                                    \
      (seer_cl_object, uint32_t, const seer_cl_object *, const size_t *,                          \
          const unsigned char *const *, seer_cl_code *, seer_cl_code *))                          \
  X(seer_cl_code, clReleaseProgram, (seer_cl_object))                                             \
  X(seer_cl_code, clBuildProgram,                                                                 \
      (seer_cl_object, uint32_t, const seer_cl_object *, const char *, seer_cl_callback, void *)) \
  X(seer_cl_code, clGetProgramBuildInfo,                                                          \
      (seer_cl_object, seer_cl_object, uint32_t, size_t, void *, size_t *))                       \
  X(seer_cl_code, clGetProgramInfo, (seer_cl_object, uint32_t, size_t, void *, size_t *))         \
  X(seer_cl_object, clCreateKernel, (seer_cl_object, const char *, seer_cl_code *))               \
  X(seer_cl_code, clReleaseKernel, (seer_cl_object))                                              \
  X(seer_cl_code, clGetKernelInfo, (seer_cl_object, uint32_t, size_t, void *, size_t *))          \
  X(seer_cl_code, clGetKernelWorkGroupInfo,                                                       \
      (seer_cl_object, seer_cl_object, uint32_t, size_t, void *, size_t *))                       \
  X(seer_cl_object, clCreateCommandQueue,                                                         \
      (seer_cl_object, seer_cl_object, uint64_t, seer_cl_code *))                                 \
  X(seer_cl_code, clReleaseCommandQueue, (seer_cl_object))                                        \
  X(seer_cl_object, clCreateBuffer, (seer_cl_object, uint64_t, size_t, void *, seer_cl_code *))   \
  X(seer_cl_code, clReleaseMemObject, (seer_cl_object))                                           \
  X(void *, clEnqueueMapBuffer,                                                                   \
      (seer_cl_object, seer_cl_object, uint32_t, uint64_t, size_t, size_t, uint32_t,              \
          const seer_cl_object *, seer_cl_object *, seer_cl_code *))                              \
  X(seer_cl_code, clEnqueueUnmapMemObject,                                                        \
      (seer_cl_object, seer_cl_object, void *, uint32_t, const seer_cl_object *,                  \
          seer_cl_object *))                                                                      \
  X(seer_cl_code, clEnqueueNDRangeKernel,                                                         \
      (seer_cl_object, seer_cl_object, uint32_t, const size_t *, const size_t *, const size_t *,  \
          uint32_t, const seer_cl_object *, seer_cl_object *))                                    \
  X(seer_cl_code, clEnqueueMarkerWithWaitList,                                                    \
      (seer_cl_object, uint32_t, const seer_cl_object *, seer_cl_object *))                       \
  X(seer_cl_code, clFinish, (seer_cl_object))                                                     \
  X(seer_cl_code, clReleaseEvent, (seer_cl_object))                                               \
  X(seer_cl_code, clGetEventProfilingInfo, (seer_cl_object, uint32_t, size_t, void *, size_t *))

// Of OpenCL 2.0: memory whose addresses are pointers. NULL where the loader is older.
#define SEER_OPENCL_SVM_FUNCTIONS(X)                                                             \
  X(void *, clSVMAlloc, (seer_cl_object, uint64_t, size_t, uint32_t))                            \
  X(void, clSVMFree, (seer_cl_object, void *))                                                   \
  X(seer_cl_code, clSetKernelArgSVMPointer, (seer_cl_object, uint32_t, const void *))            \
  X(seer_cl_code, clEnqueueSVMMemcpy,                                                            \
      (seer_cl_object, uint32_t, void *, const void *, size_t, uint32_t, const seer_cl_object *, \
          seer_cl_object *))                                                                     \
  X(seer_cl_code, clEnqueueSVMMemFill,                                                           \
      (seer_cl_object, void *, const void *, size_t, size_t, uint32_t, const seer_cl_object *,   \
          seer_cl_object *))

typedef struct {
  bool has_svm;
#define SEER_OPENCL_POINTER(type, name, args) type(*name) args;
  SEER_OPENCL_FUNCTIONS(SEER_OPENCL_POINTER)
  SEER_OPENCL_SVM_FUNCTIONS(SEER_OPENCL_POINTER)
#undef SEER_OPENCL_POINTER
} seer_opencl_api;

//   path  of the loader, or of a driver that can do without one; NULL: by its name
// Drivers have threads and memory for good: the library is never unloaded, there is no close.
// Errors: NOT_FOUND: it is not there, or is something else.
seer_rt_code seer_opencl_api_open(
    const char *path, seer_opencl_api *out, char *message, size_t message_bytes);

// "CL_OUT_OF_RESOURCES"; "an unknown error" for what the standard has not.
const char *seer_opencl_code_name(seer_cl_code code);

#endif
