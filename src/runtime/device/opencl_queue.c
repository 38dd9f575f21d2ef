// opencl_queue.c - what is done on a device of OpenCL, in the order of a queue.
#include <stdio.h>
#include <stdlib.h>

#include "runtime/device/opencl.h"

#define QUEUE_PROFILING 2u

struct seer_device_queue {
  seer_device *device;
  seer_cl_object queue;
};

struct seer_device_kernel {
  seer_cl_object kernel;
  seer_device_launch launch;
  uint32_t n_args;
};

struct seer_device_mark {
  seer_cl_object event;  // NULL: not set
};

static seer_rt_code enter(const seer_device_queue *queue, char *message, size_t message_bytes) {
  return seer_device_enter(&queue->device->health, message, message_bytes);
}

static bool is_parents(const seer_device_queue *queue) {
  return seer_device_is_parents(&queue->device->health);
}

static seer_rt_code out_of_memory(char *message, size_t message_bytes) {
  return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for a queue's things");
}

seer_rt_code seer_opencl_queue_create(
    seer_device *device, seer_device_queue **out_queue, char *message, size_t message_bytes) {
  seer_cl_code c = 0;
  *out_queue = NULL;
  seer_rt_code code = seer_device_enter(&device->health, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_device_queue *queue = calloc(1, sizeof *queue);
  if (!queue) return out_of_memory(message, message_bytes);
  queue->device = device;
  queue->queue = device->api.clCreateCommandQueue(device->context, device->id, QUEUE_PROFILING, &c);
  code = seer_opencl_made(device, c, "clCreateCommandQueue", message, message_bytes);
  if (code == SEER_RT_OK) {
    *out_queue = queue;
  } else {
    free(queue);
  }
  return code;
}

void seer_opencl_queue_destroy(seer_device_queue *queue) {
  if (!queue) return;
  if (!is_parents(queue)) {
    queue->device->api.clFinish(queue->queue);
    queue->device->api.clReleaseCommandQueue(queue->queue);
  }
  free(queue);
}

// ---- kernels

// Whether blocks of `launch` can be run of it, and how many arguments it has.
static seer_rt_code examine(const seer_device_queue *queue, const char *name,
    seer_device_kernel *kernel, char *message, size_t message_bytes) {
  seer_device *device = queue->device;
  const seer_opencl_api *api = &device->api;
  size_t max_items = 0, items[3] = {0};
  uint64_t group_bytes = 0;
  const seer_device_launch *launch = &kernel->launch;
  seer_cl_code c = api->clGetKernelInfo(
      kernel->kernel, SEER_CL_KERNEL_N_ARGS, sizeof kernel->n_args, &kernel->n_args, NULL);
  const struct {
    uint32_t question;
    size_t n_bytes;
    void *to;
  } numbers[] = {{SEER_CL_KERNEL_MAX_ITEMS, sizeof max_items, &max_items},
      {SEER_CL_KERNEL_ITEMS, sizeof items, items},
      {SEER_CL_KERNEL_GROUP_BYTES, sizeof group_bytes, &group_bytes}};
  for (size_t k = 0; k < sizeof numbers / sizeof numbers[0] && c == 0; k++)
    c = api->clGetKernelWorkGroupInfo(
        kernel->kernel, device->id, numbers[k].question, numbers[k].n_bytes, numbers[k].to, NULL);
  if (c != 0) return seer_opencl_made(device, c, name, message, message_bytes);
  if (kernel->n_args > SEER_DEVICE_MAX_ARGS)
    return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
        "%s has %u arguments, at most %d", name, kernel->n_args, SEER_DEVICE_MAX_ARGS);
  if (items[0] != 0 && (items[0] != launch->n_items || items[1] * items[2] != 1))
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
        "%s is for blocks of %zu x %zu x %zu items, not of %u", name, items[0], items[1], items[2],
        launch->n_items);
  if (launch->n_items > max_items || launch->n_items > device->info.max_items)
    return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
        "%s: blocks of %u items, %s runs %zu of it", name, launch->n_items, device->info.name,
        max_items);
  if (launch->group_bytes > group_bytes) group_bytes = launch->group_bytes;
  if (group_bytes > device->info.group_bytes)
    return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
        "%s: %llu bytes of a block's memory, %s has %llu", name, (unsigned long long)group_bytes,
        device->info.name, (unsigned long long)device->info.group_bytes);
  return SEER_RT_OK;
}

seer_rt_code seer_opencl_kernel_create(seer_device_queue *queue, seer_device_module *module,
    const char *name, const seer_device_launch *launch, seer_device_kernel **out_kernel,
    char *message, size_t message_bytes) {
  seer_cl_code c = 0;
  *out_kernel = NULL;
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  if (launch->n_blocks == 0 || launch->n_items == 0)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes, "%s: %u blocks of %u items", name,
        launch->n_blocks, launch->n_items);
  seer_device_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) return out_of_memory(message, message_bytes);
  kernel->launch = *launch;
  kernel->kernel = queue->device->api.clCreateKernel(module->program, name, &c);
  code = seer_opencl_made(queue->device, c, name, message, message_bytes);
  if (code == SEER_RT_OK) code = examine(queue, name, kernel, message, message_bytes);
  if (code == SEER_RT_OK) {
    *out_kernel = kernel;
  } else {
    seer_opencl_kernel_destroy(queue, kernel);
  }
  return code;
}

void seer_opencl_kernel_destroy(seer_device_queue *queue, seer_device_kernel *kernel) {
  if (!kernel) return;
  if (kernel->kernel && !is_parents(queue)) queue->device->api.clReleaseKernel(kernel->kernel);
  free(kernel);
}

seer_rt_code seer_opencl_launch(seer_device_queue *queue, seer_device_kernel *kernel,
    void *const *args, uint32_t n_args, char *message, size_t message_bytes) {
  const seer_opencl_api *api = &queue->device->api;
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  if (n_args != kernel->n_args)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
        "%u arguments for a kernel that has %u", n_args, kernel->n_args);
  seer_cl_code c = 0;
  for (uint32_t k = 0; k < n_args && c == 0; k++)
    c = api->clSetKernelArgSVMPointer(kernel->kernel, k, args[k]);
  if (c != 0)
    return seer_opencl_queued(queue->device, c, "clSetKernelArgSVMPointer", message, message_bytes);
  const size_t items = kernel->launch.n_items, all = items * kernel->launch.n_blocks;
  c = api->clEnqueueNDRangeKernel(
      queue->queue, kernel->kernel, 1, NULL, &all, &items, 0, NULL, NULL);
  return seer_opencl_queued(queue->device, c, "clEnqueueNDRangeKernel", message, message_bytes);
}

// ---- copies

// To, from and within the device alike: both ends are pointers.
seer_rt_code seer_opencl_copy(seer_device_queue *queue, void *to, const void *from,
    uint64_t n_bytes, char *message, size_t message_bytes) {
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK || n_bytes == 0) return code;
  seer_cl_code c =
      queue->device->api.clEnqueueSVMMemcpy(queue->queue, 0, to, from, n_bytes, 0, NULL, NULL);
  return seer_opencl_queued(queue->device, c, "clEnqueueSVMMemcpy", message, message_bytes);
}

seer_rt_code seer_opencl_fill(seer_device_queue *queue, void *to, uint8_t byte, uint64_t n_bytes,
    char *message, size_t message_bytes) {
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK || n_bytes == 0) return code;
  seer_cl_code c =
      queue->device->api.clEnqueueSVMMemFill(queue->queue, to, &byte, 1, n_bytes, 0, NULL, NULL);
  return seer_opencl_queued(queue->device, c, "clEnqueueSVMMemFill", message, message_bytes);
}

// Whatever the driver says here, something that was queued has not been done.
seer_rt_code seer_opencl_sync(seer_device_queue *queue, char *message, size_t message_bytes) {
  char why[SEER_DEVICE_WHY_BYTES];
  seer_device *device = queue->device;
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cl_code c = device->api.clFinish(queue->queue);
  if (c == 0) return SEER_RT_OK;
  snprintf(why, sizeof why, "OpenCL, %s: clFinish: %s (%d)", device->info.name,
      seer_opencl_code_name(c), (int)c);
  return seer_device_lose(&device->health, why, message, message_bytes);
}

// ---- marks

seer_rt_code seer_opencl_mark_create(
    seer_device_queue *queue, seer_device_mark **out_mark, char *message, size_t message_bytes) {
  *out_mark = NULL;
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  *out_mark = calloc(1, sizeof **out_mark);
  return *out_mark ? SEER_RT_OK : out_of_memory(message, message_bytes);
}

void seer_opencl_mark_destroy(seer_device_queue *queue, seer_device_mark *mark) {
  if (!mark) return;
  if (mark->event && !is_parents(queue)) queue->device->api.clReleaseEvent(mark->event);
  free(mark);
}

seer_rt_code seer_opencl_mark_set(
    seer_device_queue *queue, seer_device_mark *mark, char *message, size_t message_bytes) {
  seer_cl_object event = NULL;
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cl_code c = queue->device->api.clEnqueueMarkerWithWaitList(queue->queue, 0, NULL, &event);
  if (c != 0)
    return seer_opencl_queued(
        queue->device, c, "clEnqueueMarkerWithWaitList", message, message_bytes);
  if (mark->event) queue->device->api.clReleaseEvent(mark->event);
  mark->event = event;
  return SEER_RT_OK;
}

seer_rt_code seer_opencl_elapsed(seer_device_queue *queue, const seer_device_mark *from,
    const seer_device_mark *to, double *out_seconds, char *message, size_t message_bytes) {
  const seer_opencl_api *api = &queue->device->api;
  uint64_t begin = 0, end = 0;
  *out_seconds = 0;
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  if (!from->event || !to->event)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes, "a mark that was never set");
  seer_cl_code c =
      api->clGetEventProfilingInfo(from->event, SEER_CL_PROFILING_END, sizeof begin, &begin, NULL);
  if (c == 0)
    c = api->clGetEventProfilingInfo(to->event, SEER_CL_PROFILING_END, sizeof end, &end, NULL);
  if (c != 0)
    return seer_opencl_queued(queue->device, c, "clGetEventProfilingInfo", message, message_bytes);
  *out_seconds = ((double)end - (double)begin) * 1e-9;
  return SEER_RT_OK;
}
