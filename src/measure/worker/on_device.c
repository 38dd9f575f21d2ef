// on_device.c - times, checks and compares kernels on a device: what runner.c does on processors.
// The host's memory of a task (operands.h) has a copy on the device, block by block; an address of
// the one is looked up in the other. Times are by the device's own clock, between two marks in a
// queue that has enough to do. Weights are as cold as in the network, as runner.c has it.
//
// A candidate may leave a device of no use to anybody (CUDA's context is gone then). What says so
// ends the process: the parent counts it as a crash, and starts another one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/os_fault.h"
#include "measure/worker/judge.h"
#include "measure/worker/runner.h"
#include "measure/worker/samples.h"
#include "runtime/device/device.h"

#define LEAD_SHARE 4  // so many calls that are timed come behind each that leads

// Memory of the host, and its copy.
typedef struct {
  const uint8_t *host;
  uint64_t n_bytes;
  uint8_t *device;
} block;

typedef struct {
  const seer_context *context;
  void (*begin)(void *user);
  void *user;
  const seer_device_driver *driver;
  seer_device *device;
  seer_device_queue *queue;
  seer_device_mark *mark[2];
  char made_for[SEER_DEVICE_MADE_FOR_BYTES];
  seer_weight_pool weights;
  seer_task_memory memory;  // of the task at hand
  block pages, shared, pool;  // copies of those
  seer_target host;  // what constants are evaluated for
  seer_arena *arena;  // the host's texts
} runner;

static seer_status failed(seer_rt_code code, const char *message) {
  switch (code) {
    case SEER_RT_OK:
      return SEER_OK;
    case SEER_RT_RESOURCE:
      return SEER_FAIL(RESOURCE, "%s", message);
    case SEER_RT_UNSUPPORTED:
      return SEER_FAIL(UNSUPPORTED, "%s", message);
    case SEER_RT_NOT_FOUND:
      return SEER_FAIL(NOT_FOUND, "%s", message);
    case SEER_RT_DEVICE:
      return SEER_FAIL(DEVICE, "%s", message);
    case SEER_RT_INVALID:
    case SEER_RT_IO:
    case SEER_RT_CORRUPT:
    case SEER_RT_BUSY:
    case SEER_RT_TIMEOUT:
    case SEER_RT_STOPPED:
    case SEER_RT_INTERNAL:
      break;
  }
  return SEER_FAIL(INTERNAL, "%s", message);
}

// A call of the driver's table; its last two arguments are the message's.
#define CALL(call, ...)                                                           \
  do {                                                                            \
    char message_[SEER_MEASURE_MESSAGE_BYTES];                                    \
    seer_rt_code code_ = r->driver->call(__VA_ARGS__, message_, sizeof message_); \
    if (code_ != SEER_RT_OK) return failed(code_, message_);                      \
  } while (0)

// ---- life

static void drop(runner *r, block *b) {
  if (b->device) r->driver->free(r->device, b->device);
  *b = (block){NULL, 0, NULL};
}

static void destroy(void *state) {
  runner *r = state;
  if (!r) return;
  if (r->device) {
    drop(r, &r->pages);
    drop(r, &r->shared);
    drop(r, &r->pool);
    for (int k = 0; k < 2; k++)
      if (r->mark[k]) r->driver->mark_destroy(r->queue, r->mark[k]);
    if (r->queue) r->driver->queue_destroy(r->queue);
    r->driver->close(r->device);
  }
  seer_task_memory_clear(&r->memory);
  seer_pages_clear(&r->weights);
  seer_arena_destroy(r->arena);
  free(r);
}

static seer_status open_device(runner *r, uint32_t number) {
  CALL(open, number, &r->device);
  CALL(queue_create, r->device, &r->queue);
  for (int k = 0; k < 2; k++) CALL(mark_create, r->queue, &r->mark[k]);
  seer_device_made_for(r->driver->info(r->device), r->made_for);
  return SEER_OK;
}

static seer_status create(const seer_context *context, uint32_t number, void (*begin)(void *user),
    void *user, void **out) {
  *out = NULL;
  const seer_target *target = seer_context_target(context);
  runner *r = calloc(1, sizeof *r);
  if (!r) return SEER_FAIL(RESOURCE, "no memory for a runner");
  r->context = context;
  r->begin = begin;
  r->user = user;
  r->arena = seer_arena_create("runner on a device");
  r->driver = seer_device_driver_find(seer_target_kind_name(target->kind));
  seer_status status = r->driver ? open_device(r, number)
                                 : SEER_FAIL(UNSUPPORTED, "no driver for devices of kind %s",
                                       seer_target_kind_name(target->kind));
  if (!status) status = seer_target_detect(r->arena, &r->host);
  if (status) {
    destroy(r);
    return status;
  }
  *out = r;
  return SEER_OK;
}

// ---- memory

// Makes `b` the copy of the host's block.
static seer_status mirror(runner *r, const seer_pages *pages, block *b) {
  if (b->host == pages->data && b->n_bytes == pages->n_bytes) return SEER_OK;
  void *at = NULL;
  drop(r, b);
  if (pages->n_bytes == 0) return SEER_OK;
  CALL(alloc, r->device, pages->n_bytes, &at);
  *b = (block){pages->data, pages->n_bytes, at};
  CALL(upload, r->queue, at, pages->data, pages->n_bytes);
  CALL(sync, r->queue);
  return SEER_OK;
}

static seer_status use_task(runner *r, const seer_worker_task_state *task) {
  if (r->memory.task != task) {
    drop(r, &r->pages);
    drop(r, &r->shared);
    seer_task_memory_clear(&r->memory);
    SEER_TRY(seer_task_memory_create(task, 1, &r->memory));
  }
  return mirror(r, &r->memory.pages, &r->pages);
}

static bool find(const block *b, const uint8_t *host, void **out) {
  if (!b->device || host < b->host || host >= b->host + b->n_bytes) return false;
  *out = b->device + (host - b->host);
  return true;
}

static void *on_device(const runner *r, const void *host) {
  void *at = NULL;
  bool is_found =
      find(&r->pages, host, &at) || find(&r->shared, host, &at) || find(&r->pool, host, &at);
  SEER_ASSERT(is_found, "address %p has no copy", host);
  return at;
}

// ---- kernels

typedef struct {
  const seer_kernel *kernel;
  seer_device_module *module;
  seer_device_kernel *phase[SEER_DAG_MAX_STAGES];
} loaded;

static void unload(runner *r, loaded *l) {
  for (uint32_t p = 0; l->kernel && p < l->kernel->n_phase; p++)
    if (l->phase[p]) r->driver->kernel_destroy(r->queue, l->phase[p]);
  if (l->module) r->driver->unload(r->device, l->module);
  *l = (loaded){0};
}

static seer_status load(runner *r, const seer_kernel *kernel, loaded *out) {
  *out = (loaded){.kernel = kernel};
  seer_device_image image = {
      .made_for = "", .data = kernel->object, .n_bytes = kernel->n_object_bytes};
  if (kernel->format == SEER_KERNEL_CUBIN) {
    image.format = SEER_IMAGE_CUBIN;
    image.architecture = seer_context_target(r->context)->gpu.architecture;
  } else if (kernel->format == SEER_KERNEL_OPENCL) {
    image.format = SEER_IMAGE_OPENCL;
    image.made_for = r->made_for;
  } else {
    return SEER_FAIL(
        INTERNAL, "a kernel of format %s, on a device", seer_kernel_format_name(kernel->format));
  }
  CALL(load, r->device, &image, 1, &out->module);
  for (uint32_t p = 0; p < kernel->n_phase; p++) {
    const seer_device_launch launch = {
        kernel->n_parts[p], kernel->launch[p].n_items, kernel->launch[p].group_bytes};
    char name[160];
    (void)snprintf(name, sizeof name, "%s_p%u", kernel->symbol, p);
    CALL(kernel_create, r->queue, out->module, name, &launch, &out->phase[p]);
  }
  return SEER_OK;
}

static seer_status launch(runner *r, const loaded *l, void *const *args) {
  for (uint32_t p = 0; p < l->kernel->n_phase; p++)
    CALL(launch, r->queue, l->phase[p], args, l->kernel->n_arg);
  return SEER_OK;
}

// ---- timing

typedef struct {
  runner *r;
  const loaded *code;
  seer_call *call;
  uint64_t nth;
  seer_status fault;  // the first one: times from then on are nothing
} sampled;

static seer_status queue_calls(sampled *s, uint32_t n_calls) {
  runner *r = s->r;
  for (uint32_t i = 0; i < n_calls; i++) {
    void *args[SEER_DAG_MAX_BUFFERS];
    seer_call_rotate(s->call, s->code->kernel, &r->weights, s->nth++);
    for (uint32_t a = 0; a < s->code->kernel->n_arg; a++)
      args[a] = on_device(r, s->call->buffers[a]);
    SEER_TRY(launch(r, s->code, args));
  }
  return SEER_OK;
}

static seer_status make_graph(sampled *s, uint32_t n_calls, seer_device_graph **out) {
  runner *r = s->r;
  CALL(graph_begin, r->queue);
  SEER_TRY(queue_calls(s, n_calls));  // an error ends the graph, too
  CALL(graph_end, r->queue, out);
  return SEER_OK;
}

static seer_status run_graphs(runner *r, seer_device_graph *lead, seer_device_graph *timed) {
  CALL(graph_run, r->queue, lead);
  CALL(mark_set, r->queue, r->mark[0]);
  CALL(graph_run, r->queue, timed);
  CALL(mark_set, r->queue, r->mark[1]);
  CALL(sync, r->queue);
  return SEER_OK;
}

// As in the network, where kernels are nodes of a graph: launched one by one, those that take less
// than a launch are all alike. Some calls go ahead, while which the graph of the timed ones comes.
static seer_status sample_as_graph(sampled *s, uint32_t n_calls) {
  runner *r = s->r;
  seer_device_graph *lead = NULL, *timed = NULL;
  seer_status status = make_graph(s, n_calls / LEAD_SHARE + 1, &lead);
  if (!status) status = make_graph(s, n_calls, &timed);
  if (!status) status = run_graphs(r, lead, timed);
  if (timed) r->driver->graph_destroy(r->queue, timed);
  if (lead) r->driver->graph_destroy(r->queue, lead);
  return status;
}

static seer_status sample(sampled *s, uint32_t n_calls, double *out_ns) {
  runner *r = s->r;
  double seconds = 0;
  if (r->driver->has_graphs && n_calls > 1) {
    SEER_TRY(sample_as_graph(s, n_calls));
  } else {
    CALL(mark_set, r->queue, r->mark[0]);
    SEER_TRY(queue_calls(s, n_calls));
    CALL(mark_set, r->queue, r->mark[1]);
    CALL(sync, r->queue);
  }
  CALL(elapsed, r->queue, r->mark[0], r->mark[1], &seconds);
  *out_ns = seconds * 1e9 / n_calls;
  return SEER_OK;
}

static double sample_ns(void *user, uint32_t n_calls) {
  sampled *s = user;
  double ns = 0;
  if (!s->fault) s->fault = sample(s, n_calls, &ns);
  return s->fault ? 1e18 : ns;  // raced out at once
}

static uint64_t cold_bytes(const runner *r, const seer_worker_task_state *task) {
  return (uint64_t)seer_measure_cold_bytes(
      seer_context_target(r->context), task->network_weight_bytes);
}

// Room for what is timed, and its operands.
static seer_status prepare(
    runner *r, const seer_worker_task_state *task, const seer_kernel *kernel, seer_call *call) {
  SEER_TRY(seer_call_prepare(&r->memory, kernel, &r->weights, cold_bytes(r, task), call));
  SEER_TRY(mirror(r, &r->memory.shared, &r->shared));
  return mirror(r, &r->weights, &r->pool);
}

static seer_status time_kernel(void *state, const seer_worker_task_state *task,
    const seer_kernel *kernel, double best_seconds, const seer_timing *timing,
    seer_measure_result *out) {
  runner *r = state;
  memset(out, 0, sizeof *out);
  uint64_t start = seer_os_now_ns();
  SEER_TRY(use_task(r, task));
  loaded l = {0};
  seer_call c = {.packed = NULL};
  seer_status status = load(r, kernel, &l);
  if (!status) status = prepare(r, task, kernel, &c);
  if (!status) {
    r->begin(r->user);
    seer_os_reach("time");
    sampled what = {r, &l, &c, 0, SEER_OK};
    const seer_sampler sampler = {sample_ns, &what, seer_samples_memory(kernel)};
    // Drivers finish kernels when they first run: that is nobody's time.
    (void)sample_ns(&what, 1);
    seer_samples_take(&sampler, best_seconds, timing, out);
    out->seconds = seer_timing_seconds(timing, out->sample, out->n_samples);
    status = what.fault;
  }
  seer_call_clear(&c);
  unload(r, &l);
  out->run_s = (double)(seer_os_now_ns() - start) * 1e-9;
  return status;
}

// ---- checking

// Runs once on memory of its own: packed weights, and outputs that are NaN before; these come back
// to the host.
static seer_status run_checked(runner *r, const loaded *l, seer_call *c) {
  const seer_kernel *kernel = l->kernel;
  void *args[SEER_DAG_MAX_BUFFERS], *own[SEER_DAG_MAX_BUFFERS] = {NULL};
  seer_status status = SEER_OK;
  SEER_TRY(mirror(r, &r->memory.shared, &r->shared));
  if (r->shared.device) CALL(fill, r->queue, r->shared.device, 0xFF, r->shared.n_bytes);
  char message[SEER_MEASURE_MESSAGE_BYTES];
  for (uint32_t a = 0; a < kernel->n_arg && !status; a++) {
    const seer_kernel_arg *arg = &kernel->arg[a];
    bool is_own = arg->storage == SEER_STORE_PACKED || arg->storage == SEER_STORE_OUTPUT;
    if (!is_own) {
      args[a] = on_device(r, c->buffers[a]);
      continue;
    }
    uint64_t n = arg->n_bytes > 0 ? arg->n_bytes : 1;
    status = failed(r->driver->alloc(r->device, n, &own[a], message, sizeof message), message);
    args[a] = own[a];
    if (!status && arg->n_bytes > 0)
      status = failed(
          r->driver->upload(r->queue, own[a], c->buffers[a], arg->n_bytes, message, sizeof message),
          message);
  }
  if (!status) status = launch(r, l, args);
  for (uint32_t a = 0; a < kernel->n_arg && !status; a++)
    if (kernel->arg[a].storage == SEER_STORE_OUTPUT && kernel->arg[a].n_bytes > 0)
      status = failed(r->driver->download(r->queue, c->buffers[a], own[a], kernel->arg[a].n_bytes,
                          message, sizeof message),
          message);
  seer_status ended = failed(r->driver->sync(r->queue, message, sizeof message), message);
  for (uint32_t a = 0; a < kernel->n_arg; a++)
    if (own[a]) r->driver->free(r->device, own[a]);
  return seer_status_join(status, ended);
}

static seer_status check(void *state, const seer_worker_task_state *task,
    const seer_runner_kernel *checked, const seer_runner_kernel *reference,
    const seer_constant_kernels *kernels, seer_arena *arena, seer_measure_result *out) {
  runner *r = state;
  memset(out, 0, sizeof *out);
  SEER_TRY(use_task(r, task));
  const seer_sketch *sketch = seer_sketch_of(task->sketches, checked->schedule);
  const seer_sketch *reference_sketch = seer_sketch_of(task->sketches, reference->schedule);
  const seer_call_constants constants = {&r->host, kernels};
  loaded l = {0}, other = {0};
  seer_call c = {.packed = NULL}, d = {.packed = NULL};
  SEER_TRY(seer_task_memory_share(&r->memory, reference->kernel));
  SEER_TRY(seer_task_memory_share(&r->memory, checked->kernel));
  seer_status status = load(r, reference->kernel, &other);
  if (!status)
    status = seer_call_prepare_checked(
        &r->memory, reference->kernel, reference_sketch, &constants, arena, &d);
  r->begin(r->user);
  if (!status) status = run_checked(r, &other, &d);
  if (!status) status = load(r, checked->kernel, &l);
  if (!status)
    status = seer_call_prepare_checked(&r->memory, checked->kernel, sketch, &constants, arena, &c);
  seer_os_reach("check");
  if (!status) status = run_checked(r, &l, &c);
  for (uint32_t b = 0; b < task->dag->n_buf && !status && out->cls == SEER_MEASURED_OK; b++)
    if (c.out[b] && d.out[b])
      seer_judge_output(&r->memory, b, c.out[b], d.out[b], sketch->tolerance, arena, out);
  seer_call_clear(&c);
  seer_call_clear(&d);
  unload(r, &l);
  unload(r, &other);
  return status;
}

// ---- comparing

typedef struct {
  loaded code;
  seer_call call;
  sampled how;
  uint32_t n_calls;
  double ns[SEER_MEASURE_MAX_PAIRS];
} turn;

static seer_status take_turns(turn *turns, uint32_t n_turn, uint32_t n_pairs) {
  for (uint32_t k = 0; k < n_turn; k++) {
    (void)sample_ns(&turns[k].how, 1);
    turns[k].n_calls =
        seer_samples_calls(sample_ns(&turns[k].how, 1), SEER_SAMPLE_MIN_NS, SEER_SAMPLE_MAX_CALLS);
  }
  for (uint32_t i = 0; i < n_pairs; i++) {
    for (uint32_t k = 0; k < n_turn; k++) {  // forwards and backwards by turns, as runner.c
      turn *t = &turns[i % 2 ? n_turn - 1 - k : k];
      t->ns[i] = sample_ns(&t->how, t->n_calls);
    }
  }
  seer_status status = SEER_OK;
  for (uint32_t k = 0; k < n_turn; k++) status = seer_status_join(status, turns[k].how.fault);
  return status;
}

static seer_status compare(void *state, const seer_worker_task_state *task,
    const seer_kernel *kernels, uint32_t n, uint32_t n_pairs, seer_measure_pair *out) {
  runner *r = state;
  SEER_TRY(use_task(r, task));
  turn *turns = calloc(n + 1, sizeof *turns);
  if (!turns) return SEER_FAIL(RESOURCE, "no memory for a comparison");
  SEER_ASSERT(n_pairs <= SEER_MEASURE_MAX_PAIRS, "%u pairs", n_pairs);
  seer_status status = SEER_OK;
  for (uint32_t k = 0; k <= n && !status; k++)
    status = seer_task_memory_share(&r->memory, &kernels[k]);
  for (uint32_t k = 0; k <= n && !status; k++) {
    turns[k].how = (sampled){r, &turns[k].code, &turns[k].call, 0, SEER_OK};
    status = load(r, &kernels[k], &turns[k].code);
  }
  for (uint32_t k = 0; k <= n && !status; k++)
    status = prepare(r, task, &kernels[k], &turns[k].call);
  if (!status) {
    r->begin(r->user);
    seer_os_reach("compare");
    status = take_turns(turns, n + 1, n_pairs);
  }
  for (uint32_t k = 0; k < n && !status; k++)
    for (uint32_t i = 0; i < n_pairs; i++)
      out[k * n_pairs + i] = (seer_measure_pair){turns[k].ns[i] * 1e-9, turns[n].ns[i] * 1e-9};
  for (uint32_t k = 0; k <= n; k++) {
    seer_call_clear(&turns[k].call);
    unload(r, &turns[k].code);
  }
  free(turns);
  return status;
}

static const seer_runner_desc desc = {
    .has_items = true, .destroy = destroy, .time = time_kernel, .check = check, .compare = compare};

// ---- the job

static seer_status answer(void *state, const seer_worker_request *request, seer_text *out) {
  return seer_runner_answer(&desc, state, request, out);
}

static seer_status open_job(seer_context *context, seer_worker_loop *loop, void **out_state) {
  const seer_device_list *devices = seer_context_devices(context);
  if (devices->n != 1 || seer_context_target(context)->kind == SEER_TARGET_CPU)
    return SEER_FAIL(INVALID, "a runner on a device is told its target and one of --devices");
  return create(context, devices->device[0].number, seer_worker_tell_begun, loop, out_state);
}

const seer_worker_job seer_worker_device = {"device", open_job, destroy, answer};
