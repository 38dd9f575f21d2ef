// worker.c - the loop of a worker process: receive a message, do the job, answer. Builders and
// runners share it. A job that fails answers with a message; a job that crashes ends the process,
// which the parent notices. A message that is not what it should be ends it too: nothing that comes
// behind it on the socket could be believed.

#include "measure/worker/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/confine.h"
#include "base/map.h"
#include "base/os_fault.h"
#include "measure/backends.h"
#include "measure/wire/message.h"
#include "measure/wire/socket.h"
#include "measure/worker/runner.h"
#include "space/lower.h"

#define SEND_TIMEOUT_NS 60000000000u  // the parent reads at once, unless it was stopped

typedef struct {
  seer_context *context;
  int fd;
  uint32_t seq;  // of the request at hand
  seer_arena *tasks_arena, *job;
  seer_map *task_by_id;
  size_t n_task, cap_task;
  seer_worker_task_state **task;
  seer_codegen *codegen;  // builder
  seer_runner *runner;  // runner
} worker;

typedef struct {
  uint32_t seq;
  const void *payload;
  size_t n_bytes;
} request;

static seer_status make_task(
    worker *w, const seer_message_task *message, seer_worker_task_state *task) {
  SEER_TRY(seer_dag_parse("task", message->dag, strlen(message->dag), w->tasks_arena, &task->dag));
  SEER_TRY(seer_sketch_generate(
      task->dag, seer_context_target(w->context), message->space, w->tasks_arena, &task->sketches));
  seer_sketch_keep_within(task->sketches, message->tolerance);
  return SEER_OK;
}

// A task that cannot be read is kept with the reason, which answers what is asked about it.
static seer_status add_task(worker *w, const request *r) {
  seer_message_task message;
  SEER_TRY(seer_message_get_task(r->payload, r->n_bytes, w->job, &message));
  seer_os_reach("task");
  seer_worker_task_state *task = SEER_NEW(w->tasks_arena, seer_worker_task_state);
  task->id = message.id;
  task->network_weight_bytes = message.network_weight_bytes;
  seer_status status = make_task(w, &message, task);
  if (status) task->refusal = seer_arena_strdup(w->tasks_arena, seer_status_message(status));
  seer_status_free(status);
  seer_map_set(w->task_by_id, message.id, w->n_task);
  w->task = SEER_GROW(w->tasks_arena, seer_worker_task_state *, w->task, w->n_task, &w->cap_task);
  w->task[w->n_task++] = task;
  return SEER_OK;
}

static seer_status find_task(worker *w, uint32_t id, const seer_worker_task_state **out) {
  uint64_t index;
  SEER_TRY(seer_measure_index_of(w->task_by_id, id, &index));
  *out = w->task[index];
  if ((*out)->refusal) return SEER_FAIL(INTERNAL, "task %u: %s", id, (*out)->refusal);
  return SEER_OK;
}

// The parent's limits for the request at hand count from here. (Where it is gone, the answer finds
// that out.)
static void tell_begun(void *user) {
  const worker *w = user;
  seer_text nothing;
  seer_text_init(&nothing, w->job);
  seer_status_free(seer_socket_send(w->fd, SEER_WIRE_BEGUN, w->seq, &nothing, SEND_TIMEOUT_NS));
}

// ---- building
static seer_status build(worker *w, const seer_message_build *order, seer_kernel *kernel) {
  const seer_worker_task_state *task;
  seer_schedule schedule;
  SEER_TRY(find_task(w, order->task, &task));
  SEER_TRY(seer_message_read_schedule(task->sketches, order->schedule, w->job, &schedule));
  seer_loop *loop = NULL;
  SEER_TRY(seer_loop_lower(task->sketches, &schedule, w->job, &loop));
  return seer_codegen_build(w->codegen, loop, "candidate", w->job, kernel);
}

static seer_status answer_build(worker *w, const request *r, seer_text *out) {
  seer_message_build order;
  SEER_TRY(seer_message_get_build(r->payload, r->n_bytes, w->job, &order));
  seer_message_built *built = SEER_NEW(w->job, seer_message_built);
  tell_begun(w);
  seer_os_reach("build");
  uint64_t start = seer_os_now_ns();
  seer_status status = build(w, &order, &built->kernel);
  built->seconds = (double)(seer_os_now_ns() - start) * 1e-9;
  built->is_ok = status == SEER_OK;
  if (status) {
    (void)snprintf(built->message, sizeof built->message, "%s", seer_status_message(status));
    seer_status_free(status);
  } else {
    built->object_hash = seer_hash_bytes(built->kernel.object, built->kernel.n_object_bytes, 0);
  }
  seer_message_put_built(out, built);
  return SEER_OK;
}

// ---- running
static seer_measured_class class_of(seer_status status, char *message) {
  if (!status) return SEER_MEASURED_OK;
  seer_measured_class cls = seer_status_code(status) == SEER_CODE_RESOURCE
      ? SEER_MEASURED_RUN_CRASH
      : SEER_MEASURED_BUILD_ERROR;
  (void)snprintf(message, SEER_MEASURE_MESSAGE_BYTES, "%s", seer_status_message(status));
  seer_status_free(status);
  return cls;
}

static void put_result(seer_text *out, seer_status status, seer_measure_result *result) {
  if (status) {
    memset(result, 0, sizeof(*result));
    result->cls = class_of(status, result->message);
  }
  seer_message_put_result(out, result);
}

static seer_status answer_run(worker *w, const request *r, seer_text *out) {
  seer_message_run *order = SEER_NEW(w->job, seer_message_run);
  seer_measure_result result = {.cls = SEER_MEASURED_OK};
  const seer_worker_task_state *task = NULL;
  SEER_TRY(seer_message_get_run(r->payload, r->n_bytes, w->job, order));
  seer_status status = find_task(w, order->task, &task);
  if (!status) status = seer_message_fits_kernel(task->dag, NULL, &order->kernel);
  if (!status) {
    status = seer_runner_time(
        w->runner, task, &order->kernel, order->best_seconds, &order->timing, &result);
  }
  put_result(out, status, &result);
  return SEER_OK;
}

static seer_status read_check(const worker *w, const seer_worker_task_state *task,
    const seer_message_check *order, seer_schedule out[2]) {
  for (int i = 0; i < 2; i++) {
    SEER_TRY(seer_message_read_schedule(task->sketches, order->schedule[i], w->job, &out[i]));
    SEER_TRY(seer_message_fits_kernel(
        task->dag, task->sketches->sketch[out[i].sketch], &order->kernel[i]));
  }
  return SEER_OK;
}

static seer_status answer_check(worker *w, const request *r, seer_text *out) {
  seer_message_check *order = SEER_NEW(w->job, seer_message_check);
  seer_measure_result result = {.cls = SEER_MEASURED_OK};
  const seer_worker_task_state *task = NULL;
  SEER_TRY(seer_message_get_check(r->payload, r->n_bytes, w->job, order));
  seer_status status = find_task(w, order->task, &task);
  seer_schedule schedule[2];
  if (!status) status = read_check(w, task, order, schedule);
  if (!status) {
    const seer_runner_kernel checked = {&order->kernel[0], &schedule[0]},
                             reference = {&order->kernel[1], &schedule[1]};
    status = seer_runner_check(
        w->runner, task, &checked, &reference, &order->constants, w->job, &result);
  }
  put_result(out, status, &result);
  return SEER_OK;
}

static seer_status answer_compare(worker *w, const request *r, seer_text *out) {
  seer_message_compare *order = SEER_NEW(w->job, seer_message_compare);
  seer_message_compared *answer = SEER_NEW(w->job, seer_message_compared);
  const seer_worker_task_state *task = NULL;
  SEER_TRY(seer_message_get_compare(r->payload, r->n_bytes, w->job, order));
  seer_status status = find_task(w, order->task, &task);
  for (uint32_t k = 0; k <= order->n && !status; k++)
    status = seer_message_fits_kernel(task->dag, NULL, &order->kernel[k]);
  if (!status) {
    status =
        seer_runner_compare(w->runner, task, order->kernel, order->n, order->n_pairs, answer->pair);
  }
  answer->cls = class_of(status, answer->message);
  answer->n = answer->cls == SEER_MEASURED_OK ? order->n : 0;
  answer->n_pairs = answer->cls == SEER_MEASURED_OK ? order->n_pairs : 0;
  seer_message_put_compared(out, answer);
  return SEER_OK;
}

// ---- the loop
// Answers into *out. UNSUPPORTED: nothing of this worker's job.
static seer_status handle(worker *w, seer_wire_type type, const request *r, seer_text *out) {
  switch (type) {
    case SEER_WIRE_BUILD:
      if (w->codegen) return answer_build(w, r, out);
      break;
    case SEER_WIRE_RUN:
      if (w->runner) return answer_run(w, r, out);
      break;
    case SEER_WIRE_CHECK:
      if (w->runner) return answer_check(w, r, out);
      break;
    case SEER_WIRE_COMPARE:
      if (w->runner) return answer_compare(w, r, out);
      break;
    case SEER_WIRE_TASK:
    case SEER_WIRE_HELLO:
    case SEER_WIRE_BUILT:
    case SEER_WIRE_RAN:
    case SEER_WIRE_CHECKED:
    case SEER_WIRE_COMPARED:
    case SEER_WIRE_BEGUN:
    case SEER_WIRE_TUNING:
    case SEER_WIRE_WORKER:
    case SEER_WIRE_JOB:
    case SEER_WIRE_ANSWER:
    case SEER_WIRE_END:
      break;
  }
  return SEER_FAIL(CORRUPT, "a worker got message type %d", (int)type);
}

static seer_status send(worker *w, seer_wire_type type, uint32_t seq, const seer_text *text) {
  seer_status status = seer_socket_send(w->fd, type, seq, text, SEND_TIMEOUT_NS);
  if (!status) seer_os_reach("idle");
  return status;
}

static seer_status serve(worker *w) {
  seer_text hello;
  seer_text_init(&hello, w->job);
  const seer_message_hello message = seer_message_hello_here(seer_context_target(w->context));
  seer_message_put_hello(&hello, &message);
  SEER_TRY(send(w, SEER_WIRE_HELLO, 0, &hello));
  for (;;) {
    seer_arena_reset(w->job);
    seer_wire_header header;
    request r;
    SEER_TRY(seer_socket_receive(w->fd, w->job, UINT64_MAX, &header, &r.payload));
    r.seq = w->seq = header.seq;
    r.n_bytes = (size_t)header.n_bytes;
    if (header.type == SEER_WIRE_TASK) {
      SEER_TRY(add_task(w, &r));
      continue;
    }
    seer_text out;
    seer_text_init(&out, w->job);
    SEER_TRY(handle(w, header.type, &r, &out));
    SEER_TRY(send(w, (seer_wire_type)(header.type + 1), r.seq, &out));
  }
}

seer_status seer_worker_main(seer_context *context, int argc, char **argv) {
  if (argc != 2)
    return SEER_FAIL(
        INVALID, "worker: expected <builder|runner> <socket>; it is started by `tune`");
  bool is_builder = strcmp(argv[0], "builder") == 0;
  if (!is_builder && strcmp(argv[0], "runner") != 0) {
    return SEER_FAIL(INVALID, "worker: unknown job '%s'; allowed: builder, runner", argv[0]);
  }
  const bool is_confined = seer_context_bool(context, SEER_OPT_CONFINE);
  if (is_confined) SEER_TRY(seer_confine_files());
  worker w = {.context = context, .fd = atoi(argv[1])};
  w.tasks_arena = seer_arena_create("worker tasks");
  w.job = seer_arena_create("worker job");
  w.task_by_id = seer_map_create(w.tasks_arena);
  seer_status status = is_builder
      ? seer_codegen_create(context, seer_context_target(context), &w.codegen)
      : seer_runner_create(context, tell_begun, &w, &w.runner);
  // From here on it does what others say, and reads no file to find out what it may use.
  // (That a filter of calls is not there, the parent has said.)
  const char *why_not;
  (void)seer_os_n_threads();
  if (!status && is_confined && seer_confine_is_there(&why_not)) status = seer_confine_calls(w.fd);
  if (!status) status = serve(&w);
  if (status && seer_status_code(status) == SEER_CODE_IO) {  // the parent is done
    seer_status_free(status);
    status = SEER_OK;
  }
  if (w.codegen) seer_codegen_destroy(w.codegen);
  seer_runner_destroy(w.runner);
  seer_arena_destroy(w.job);
  seer_arena_destroy(w.tasks_arena);
  return status;
}
