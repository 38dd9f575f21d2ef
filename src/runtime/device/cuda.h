// cuda.h - what the files of CUDA's row share. A device is its primary context, which is
// everybody's in the process: it is made current for each call, and the caller's own is current
// again behind it.
#ifndef SEER_RUNTIME_DEVICE_CUDA_H
#define SEER_RUNTIME_DEVICE_CUDA_H

#include "runtime/device/common.h"
#include "runtime/device/cuda_api.h"

struct seer_device {
  seer_cuda_api api;
  seer_cuda_number number;
  seer_cuda_object context;
  seer_device_info info;
  seer_device_health health;
};

struct seer_device_module {
  seer_cuda_object module;
};

// The first of a call, with its context; after OK every way out is by seer_cuda_leave.
seer_rt_code seer_cuda_enter(seer_device *device, char *message, size_t message_bytes);
// What `code` of `call` means: OK, or with a message. A loss is noted.
seer_rt_code seer_cuda_leave(seer_device *device, seer_cuda_code code, const char *call,
    char *message, size_t message_bytes);
// The first of what lets go. False: nothing may be called, the process was forked.
bool seer_cuda_enter_to_free(seer_device *device);
void seer_cuda_leave_freed(seer_device *device);

// Rows of seer_device_cuda.
seer_rt_code seer_cuda_load(seer_device *device, const seer_device_image *images, uint32_t n_images,
    seer_device_module **out_module, char *message, size_t message_bytes);
void seer_cuda_unload(seer_device *device, seer_device_module *module);
seer_rt_code seer_cuda_queue_create(
    seer_device *device, seer_device_queue **out_queue, char *message, size_t message_bytes);
void seer_cuda_queue_destroy(seer_device_queue *queue);
seer_rt_code seer_cuda_kernel_create(seer_device_queue *queue, seer_device_module *module,
    const char *name, const seer_device_launch *launch, seer_device_kernel **out_kernel,
    char *message, size_t message_bytes);
void seer_cuda_kernel_destroy(seer_device_queue *queue, seer_device_kernel *kernel);
seer_rt_code seer_cuda_launch(seer_device_queue *queue, seer_device_kernel *kernel,
    void *const *args, uint32_t n_args, char *message, size_t message_bytes);
seer_rt_code seer_cuda_upload(seer_device_queue *queue, void *to, const void *from,
    uint64_t n_bytes, char *message, size_t message_bytes);
seer_rt_code seer_cuda_download(seer_device_queue *queue, void *to, const void *from,
    uint64_t n_bytes, char *message, size_t message_bytes);
seer_rt_code seer_cuda_copy(seer_device_queue *queue, void *to, const void *from, uint64_t n_bytes,
    char *message, size_t message_bytes);
seer_rt_code seer_cuda_fill(seer_device_queue *queue, void *to, uint8_t byte, uint64_t n_bytes,
    char *message, size_t message_bytes);
seer_rt_code seer_cuda_sync(seer_device_queue *queue, char *message, size_t message_bytes);
seer_rt_code seer_cuda_mark_create(
    seer_device_queue *queue, seer_device_mark **out_mark, char *message, size_t message_bytes);
void seer_cuda_mark_destroy(seer_device_queue *queue, seer_device_mark *mark);
seer_rt_code seer_cuda_mark_set(
    seer_device_queue *queue, seer_device_mark *mark, char *message, size_t message_bytes);
seer_rt_code seer_cuda_elapsed(seer_device_queue *queue, const seer_device_mark *from,
    const seer_device_mark *to, double *out_seconds, char *message, size_t message_bytes);
seer_rt_code seer_cuda_graph_begin(seer_device_queue *queue, char *message, size_t message_bytes);
seer_rt_code seer_cuda_graph_end(
    seer_device_queue *queue, seer_device_graph **out_graph, char *message, size_t message_bytes);
seer_rt_code seer_cuda_graph_run(
    seer_device_queue *queue, seer_device_graph *graph, char *message, size_t message_bytes);
void seer_cuda_graph_destroy(seer_device_queue *queue, seer_device_graph *graph);

#endif
