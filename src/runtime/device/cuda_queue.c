// cuda_queue.c - what is done on a device of CUDA, in the order of a queue: a stream.
#include <stdlib.h>

#include "runtime/device/cuda.h"

#define INVALID_VALUE 1
#define NOT_SUPPORTED 801

struct seer_device_queue {
  seer_device *device;
  seer_cuda_object stream;
  bool is_kept;  // between graph_begin and graph_end
};

struct seer_device_kernel {
  seer_cuda_object function;
  seer_device_launch launch;
  uint32_t n_args;  // SEER_DEVICE_MAX_ARGS + 1: not known
};

struct seer_device_mark {
  seer_cuda_object event;
  bool is_set;
};

struct seer_device_graph {
  seer_cuda_object instance;
};

static seer_rt_code enter(seer_device_queue *queue, char *message, size_t message_bytes) {
  return seer_cuda_enter(queue->device, message, message_bytes);
}

// After an error a queue whose calls are kept is as it was before.
static seer_rt_code leave(seer_device_queue *queue, seer_cuda_code c, const char *call,
    char *message, size_t message_bytes) {
  if (c != 0 && queue->is_kept) {
    seer_cuda_object graph = NULL;
    queue->is_kept = false;
    if (queue->device->api.capture_end(queue->stream, &graph) == 0 && graph)
      queue->device->api.graph_destroy(graph);
  }
  return seer_cuda_leave(queue->device, c, call, message, message_bytes);
}

// What is not to be done in a graph; the end of it.
static seer_rt_code leave_graph(seer_device_queue *queue, char *message, size_t message_bytes) {
  if (!queue->is_kept) return SEER_RT_OK;
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  (void)leave(queue, INVALID_VALUE, "", NULL, 0);
  return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
      "between graph_begin and graph_end nothing is waited for, made or run but launches, copies, "
      "fills and marks");
}

static seer_rt_code out_of_memory(char *message, size_t message_bytes) {
  return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for a queue's things");
}

seer_rt_code seer_cuda_queue_create(
    seer_device *device, seer_device_queue **out_queue, char *message, size_t message_bytes) {
  *out_queue = NULL;
  seer_rt_code code = seer_cuda_enter(device, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_device_queue *queue = calloc(1, sizeof *queue);
  seer_cuda_code c = queue ? device->api.stream_create(&queue->stream, SEER_CUDA_STREAM_APART) : 0;
  code = seer_cuda_leave(device, c, "cuStreamCreate", message, message_bytes);
  if (!queue) return out_of_memory(message, message_bytes);
  queue->device = device;
  if (code == SEER_RT_OK) {
    *out_queue = queue;
  } else {
    free(queue);
  }
  return code;
}

void seer_cuda_queue_destroy(seer_device_queue *queue) {
  if (!queue) return;
  seer_device *device = queue->device;
  if (seer_cuda_enter_to_free(device)) {
    if (queue->is_kept) {
      seer_cuda_object graph = NULL;
      if (device->api.capture_end(queue->stream, &graph) == 0 && graph)
        device->api.graph_destroy(graph);
    }
    device->api.stream_sync(queue->stream);
    device->api.stream_destroy(queue->stream);
    seer_cuda_leave_freed(device);
  }
  free(queue);
}

// ---- kernels

static uint32_t count_args(const seer_cuda_api *api, seer_cuda_object function) {
  uint32_t n = 0;
  size_t offset, n_bytes;
  seer_cuda_code c = api->parameter ? 0 : NOT_SUPPORTED;
  while (c == 0 && n <= SEER_DEVICE_MAX_ARGS) {
    c = api->parameter(function, n, &offset, &n_bytes);
    n += c == 0;
  }
  return c == INVALID_VALUE ? n : SEER_DEVICE_MAX_ARGS + 1;
}

static seer_rt_code fits(const seer_device *device, const char *name,
    const seer_device_kernel *kernel, int max_items, int group_bytes, char *message,
    size_t message_bytes) {
  const seer_device_launch *launch = &kernel->launch;
  if (launch->n_items > (uint32_t)max_items || launch->n_items > device->info.max_items)
    return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
        "%s: blocks of %u items, %s runs %d of it", name, launch->n_items, device->info.name,
        max_items);
  uint64_t most = launch->group_bytes;
  if ((uint64_t)group_bytes > most) most = (uint64_t)group_bytes;
  if (most > device->info.group_bytes)
    return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
        "%s: %llu bytes of a block's memory, %s has %llu", name, (unsigned long long)most,
        device->info.name, (unsigned long long)device->info.group_bytes);
  return SEER_RT_OK;
}

seer_rt_code seer_cuda_kernel_create(seer_device_queue *queue, seer_device_module *module,
    const char *name, const seer_device_launch *launch, seer_device_kernel **out_kernel,
    char *message, size_t message_bytes) {
  const seer_cuda_api *api = &queue->device->api;
  int max_items = 0, group_bytes = 0;
  *out_kernel = NULL;
  if (launch->n_blocks == 0 || launch->n_blocks > INT32_MAX || launch->n_items == 0)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes, "%s: %u blocks of %u items", name,
        launch->n_blocks, launch->n_items);
  seer_rt_code code = leave_graph(queue, message, message_bytes);
  if (code == SEER_RT_OK) code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_device_kernel kernel = {.launch = *launch};
  seer_cuda_code c = api->function(&kernel.function, module->module, name);
  if (c == 0) c = api->function_attribute(&max_items, SEER_CUDA_FUNCTION_ITEMS, kernel.function);
  if (c == 0)
    c = api->function_attribute(&group_bytes, SEER_CUDA_FUNCTION_GROUP_BYTES, kernel.function);
  if (c == 0) kernel.n_args = count_args(api, kernel.function);
  code = leave(queue, c, name, message, message_bytes);
  if (code == SEER_RT_OK)
    code = fits(queue->device, name, &kernel, max_items, group_bytes, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  *out_kernel = malloc(sizeof **out_kernel);
  if (!*out_kernel) return out_of_memory(message, message_bytes);
  **out_kernel = kernel;
  return SEER_RT_OK;
}

// Functions are their module's.
void seer_cuda_kernel_destroy(seer_device_queue *queue, seer_device_kernel *kernel) {
  (void)queue;
  free(kernel);
}

seer_rt_code seer_cuda_launch(seer_device_queue *queue, seer_device_kernel *kernel,
    void *const *args, uint32_t n_args, char *message, size_t message_bytes) {
  void *at[SEER_DEVICE_MAX_ARGS], *value[SEER_DEVICE_MAX_ARGS];
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  bool is_known = kernel->n_args <= SEER_DEVICE_MAX_ARGS;
  if (n_args > SEER_DEVICE_MAX_ARGS || (is_known && n_args != kernel->n_args)) {
    (void)leave(queue, INVALID_VALUE, "", NULL, 0);
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
        "%u arguments for a kernel that has %s%u", n_args, is_known ? "" : "at most ",
        is_known ? kernel->n_args : SEER_DEVICE_MAX_ARGS);
  }
  for (uint32_t k = 0; k < n_args; k++) {
    value[k] = args[k];
    at[k] = &value[k];
  }
  seer_cuda_code c = queue->device->api.launch(kernel->function, kernel->launch.n_blocks, 1, 1,
      kernel->launch.n_items, 1, 1, 0, queue->stream, at, NULL);
  return leave(queue, c, "cuLaunchKernel", message, message_bytes);
}

// ---- copies

seer_rt_code seer_cuda_upload(seer_device_queue *queue, void *to, const void *from,
    uint64_t n_bytes, char *message, size_t message_bytes) {
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cuda_code c =
      n_bytes == 0 ? 0 : queue->device->api.upload((uintptr_t)to, from, n_bytes, queue->stream);
  return leave(queue, c, "cuMemcpyHtoDAsync", message, message_bytes);
}

seer_rt_code seer_cuda_download(seer_device_queue *queue, void *to, const void *from,
    uint64_t n_bytes, char *message, size_t message_bytes) {
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cuda_code c =
      n_bytes == 0 ? 0 : queue->device->api.download(to, (uintptr_t)from, n_bytes, queue->stream);
  return leave(queue, c, "cuMemcpyDtoHAsync", message, message_bytes);
}

seer_rt_code seer_cuda_copy(seer_device_queue *queue, void *to, const void *from, uint64_t n_bytes,
    char *message, size_t message_bytes) {
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cuda_code c = n_bytes == 0
      ? 0
      : queue->device->api.copy((uintptr_t)to, (uintptr_t)from, n_bytes, queue->stream);
  return leave(queue, c, "cuMemcpyDtoDAsync", message, message_bytes);
}

seer_rt_code seer_cuda_fill(seer_device_queue *queue, void *to, uint8_t byte, uint64_t n_bytes,
    char *message, size_t message_bytes) {
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cuda_code c =
      n_bytes == 0 ? 0 : queue->device->api.fill((uintptr_t)to, byte, n_bytes, queue->stream);
  return leave(queue, c, "cuMemsetD8Async", message, message_bytes);
}

seer_rt_code seer_cuda_sync(seer_device_queue *queue, char *message, size_t message_bytes) {
  seer_rt_code code = leave_graph(queue, message, message_bytes);
  if (code == SEER_RT_OK) code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cuda_code c = queue->device->api.stream_sync(queue->stream);
  return leave(queue, c, "cuStreamSynchronize", message, message_bytes);
}

// ---- marks

seer_rt_code seer_cuda_mark_create(
    seer_device_queue *queue, seer_device_mark **out_mark, char *message, size_t message_bytes) {
  *out_mark = NULL;
  seer_rt_code code = leave_graph(queue, message, message_bytes);
  if (code == SEER_RT_OK) code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_device_mark *mark = calloc(1, sizeof *mark);
  seer_cuda_code c = mark ? queue->device->api.event_create(&mark->event, 0) : 0;
  code = leave(queue, c, "cuEventCreate", message, message_bytes);
  if (!mark) return out_of_memory(message, message_bytes);
  if (code == SEER_RT_OK) {
    *out_mark = mark;
  } else {
    free(mark);
  }
  return code;
}

void seer_cuda_mark_destroy(seer_device_queue *queue, seer_device_mark *mark) {
  if (!mark) return;
  if (seer_cuda_enter_to_free(queue->device)) {
    queue->device->api.event_destroy(mark->event);
    seer_cuda_leave_freed(queue->device);
  }
  free(mark);
}

// In a graph it is a node of its own: else the event would only order what is captured.
seer_rt_code seer_cuda_mark_set(
    seer_device_queue *queue, seer_device_mark *mark, char *message, size_t message_bytes) {
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cuda_code c = queue->device->api.event_record(
      mark->event, queue->stream, queue->is_kept ? SEER_CUDA_RECORD_AS_NODE : 0);
  if (c == 0) mark->is_set = true;
  return leave(queue, c, "cuEventRecordWithFlags", message, message_bytes);
}

seer_rt_code seer_cuda_elapsed(seer_device_queue *queue, const seer_device_mark *from,
    const seer_device_mark *to, double *out_seconds, char *message, size_t message_bytes) {
  float milliseconds = 0;
  *out_seconds = 0;
  if (!from->is_set || !to->is_set)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes, "a mark that was never set");
  seer_rt_code code = leave_graph(queue, message, message_bytes);
  if (code == SEER_RT_OK) code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cuda_code c = queue->device->api.event_elapsed(&milliseconds, from->event, to->event);
  *out_seconds = (double)milliseconds * 1e-3;
  return leave(queue, c, "cuEventElapsedTime", message, message_bytes);
}

// ---- graphs

seer_rt_code seer_cuda_graph_begin(seer_device_queue *queue, char *message, size_t message_bytes) {
  seer_rt_code code = leave_graph(queue, message, message_bytes);
  if (code == SEER_RT_OK) code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cuda_code c =
      queue->device->api.capture_begin(queue->stream, SEER_CUDA_CAPTURE_BY_ANY_THREAD);
  code = leave(queue, c, "cuStreamBeginCapture", message, message_bytes);
  queue->is_kept = code == SEER_RT_OK;
  return code;
}

seer_rt_code seer_cuda_graph_end(
    seer_device_queue *queue, seer_device_graph **out_graph, char *message, size_t message_bytes) {
  const seer_cuda_api *api = &queue->device->api;
  seer_cuda_object captured = NULL;
  *out_graph = NULL;
  seer_rt_code code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  if (!queue->is_kept) {
    (void)leave(queue, 0, "", NULL, 0);
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes, "no graph was begun");
  }
  seer_device_graph *graph = calloc(1, sizeof *graph);
  queue->is_kept = false;
  seer_cuda_code c = api->capture_end(queue->stream, &captured);
  const char *call = "cuStreamEndCapture";
  if (c == 0 && graph) {
    call = "cuGraphInstantiate";
    c = api->graph_instantiate(&graph->instance, captured, 0);
  }
  if (captured) api->graph_destroy(captured);
  code = leave(queue, c, call, message, message_bytes);
  if (!graph) return out_of_memory(message, message_bytes);
  if (code == SEER_RT_OK) {
    *out_graph = graph;
  } else {
    free(graph);
  }
  return code;
}

seer_rt_code seer_cuda_graph_run(
    seer_device_queue *queue, seer_device_graph *graph, char *message, size_t message_bytes) {
  seer_rt_code code = leave_graph(queue, message, message_bytes);
  if (code == SEER_RT_OK) code = enter(queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_cuda_code c = queue->device->api.graph_launch(graph->instance, queue->stream);
  return leave(queue, c, "cuGraphLaunch", message, message_bytes);
}

void seer_cuda_graph_destroy(seer_device_queue *queue, seer_device_graph *graph) {
  if (!graph) return;
  if (seer_cuda_enter_to_free(queue->device)) {
    queue->device->api.graph_instance_destroy(graph->instance);
    seer_cuda_leave_freed(queue->device);
  }
  free(graph);
}
