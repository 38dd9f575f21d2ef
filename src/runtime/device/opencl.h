// opencl.h - what the files of OpenCL's row share. Devices are numbered GPUs first, then
// accelerators, then processors; within a kind by platform, as the loader has them.
//
// Memory is OpenCL 2.0's shared virtual memory, the coarse kind: an address is a pointer, and any
// address within an allocation is an argument of a kernel. The host reaches it by copies alone.
// Kernels are of a queue: setting the arguments of one is no business of two threads at once.
#ifndef SEER_RUNTIME_DEVICE_OPENCL_H
#define SEER_RUNTIME_DEVICE_OPENCL_H

#include <pthread.h>

#include "runtime/device/common.h"
#include "runtime/device/opencl_api.h"

typedef struct seer_opencl_moved seer_opencl_moved;

struct seer_device {
  seer_opencl_api api;
  seer_cl_object id, context;
  seer_cl_object own;  // a queue, for maps of memory of the host
  seer_device_info info;
  uint64_t max_alloc_bytes;
  pthread_mutex_t lock;
  seer_opencl_moved *moved;  // behind the lock: allocations that begin in front of their address
  seer_device_health health;
};

struct seer_device_module {
  seer_cl_object program;
};

// What `code` of a call means: OK, or with a message. What is queued fails where the device does;
// what is made, where resources are out. A loss is noted.
seer_rt_code seer_opencl_made(
    seer_device *device, seer_cl_code code, const char *call, char *message, size_t message_bytes);
seer_rt_code seer_opencl_queued(
    seer_device *device, seer_cl_code code, const char *call, char *message, size_t message_bytes);

// Rows of seer_device_opencl.
seer_rt_code seer_opencl_load(seer_device *device, const seer_device_image *images,
    uint32_t n_images, seer_device_module **out_module, char *message, size_t message_bytes);
void seer_opencl_unload(seer_device *device, seer_device_module *module);
seer_rt_code seer_opencl_queue_create(
    seer_device *device, seer_device_queue **out_queue, char *message, size_t message_bytes);
void seer_opencl_queue_destroy(seer_device_queue *queue);
seer_rt_code seer_opencl_kernel_create(seer_device_queue *queue, seer_device_module *module,
    const char *name, const seer_device_launch *launch, seer_device_kernel **out_kernel,
    char *message, size_t message_bytes);
void seer_opencl_kernel_destroy(seer_device_queue *queue, seer_device_kernel *kernel);
seer_rt_code seer_opencl_launch(seer_device_queue *queue, seer_device_kernel *kernel,
    void *const *args, uint32_t n_args, char *message, size_t message_bytes);
seer_rt_code seer_opencl_copy(seer_device_queue *queue, void *to, const void *from,
    uint64_t n_bytes, char *message, size_t message_bytes);
seer_rt_code seer_opencl_fill(seer_device_queue *queue, void *to, uint8_t byte, uint64_t n_bytes,
    char *message, size_t message_bytes);
seer_rt_code seer_opencl_sync(seer_device_queue *queue, char *message, size_t message_bytes);
seer_rt_code seer_opencl_mark_create(
    seer_device_queue *queue, seer_device_mark **out_mark, char *message, size_t message_bytes);
void seer_opencl_mark_destroy(seer_device_queue *queue, seer_device_mark *mark);
seer_rt_code seer_opencl_mark_set(
    seer_device_queue *queue, seer_device_mark *mark, char *message, size_t message_bytes);
seer_rt_code seer_opencl_elapsed(seer_device_queue *queue, const seer_device_mark *from,
    const seer_device_mark *to, double *out_seconds, char *message, size_t message_bytes);

#endif
