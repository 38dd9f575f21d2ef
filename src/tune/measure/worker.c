// worker.c - the loop of a worker process: receive a message, do the job, answer. Builders and
// runners share it. A job that fails answers with a message; a job that crashes ends the process,
// which the parent notices.

#include "tune/measure/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tune/measure/runner.h"

typedef struct {
  seer_context *context;
  seer_wire wire;
  seer_arena *tasks_arena, *job;
  seer_map *task_by_id;
  size_t n_task, cap_task;
  seer_worker_task_state **task;
  seer_codegen *codegen;  // builder
  seer_runner *runner;  // runner
} worker;

static seer_status add_task(worker *w, seer_wire_reader *reader) {
  seer_worker_task header;
  SEER_WIRE_GET(reader, header);
  const char *text = seer_wire_view(reader, header.n_text);
  if (!text) return SEER_FAIL(CORRUPT, "a task that is cut off");
  seer_worker_task_state *task = SEER_NEW(w->tasks_arena, seer_worker_task_state);
  task->id = header.id;
  task->network_weight_bytes = header.network_weight_bytes;
  SEER_TRY(seer_dag_parse("task", text, header.n_text, w->tasks_arena, &task->dag));
  SEER_TRY(seer_sketch_generate(task->dag, seer_context_target(w->context),
      (seer_space_kind)header.space, w->tasks_arena, &task->sketches));
  seer_map_set(w->task_by_id, header.id, w->n_task);
  w->task = SEER_GROW(w->tasks_arena, seer_worker_task_state *, w->task, w->n_task, &w->cap_task);
  w->task[w->n_task++] = task;
  return SEER_OK;
}

static seer_status find_task(worker *w, uint32_t id, const seer_worker_task_state **out) {
  uint64_t index;
  if (!seer_map_get(w->task_by_id, id, &index))
    return SEER_FAIL(INTERNAL, "task %u was never announced", id);
  *out = w->task[index];
  return SEER_OK;
}

static seer_status build(worker *w, const seer_worker_build *request, seer_kernel *kernel) {
  const seer_worker_task_state *task;
  SEER_TRY(find_task(w, request->task, &task));
  if (request->schedule.sketch >= task->sketches->n) {
    return SEER_FAIL(INTERNAL, "sketch %u of %u", request->schedule.sketch, task->sketches->n);
  }
  seer_loop *loop = NULL;
  SEER_TRY(seer_loop_lower(task->sketches, &request->schedule, w->job, &loop));
  return seer_codegen_build(w->codegen, loop, "candidate", w->job, kernel);
}

static seer_status answer_build(worker *w, uint32_t seq, seer_wire_reader *reader) {
  seer_worker_build request;
  SEER_WIRE_GET(reader, request);
  seer_worker_built built = {0};
  seer_kernel kernel;
  uint64_t start = seer_os_now_ns();
  seer_status status = build(w, &request, &kernel);
  built.seconds = (double)(seer_os_now_ns() - start) * 1e-9;
  built.is_ok = status == SEER_OK;
  if (status) {
    (void)snprintf(built.message, sizeof built.message, "%s", seer_status_message(status));
    seer_status_free(status);
  } else {
    built.object_hash = seer_hash_bytes(kernel.object, kernel.n_object_bytes, 0);
  }
  seer_text out;
  seer_text_init(&out, w->job);
  SEER_WIRE_PUT(&out, built);
  if (built.is_ok) seer_wire_put_kernel(&out, &kernel);
  return seer_wire_send(&w->wire, SEER_WIRE_BUILT, seq, out.data, out.n_bytes);
}

static void failed(seer_status status, seer_measure_result *result) {
  if (!status) return;
  result->cls = seer_status_code(status) == SEER_CODE_RESOURCE ? SEER_MEASURED_RUN_CRASH
                                                               : SEER_MEASURED_BUILD_ERROR;
  (void)snprintf(result->message, sizeof result->message, "%s", seer_status_message(status));
  seer_status_free(status);
}

static seer_status answer_run(worker *w, uint32_t seq, seer_wire_reader *reader) {
  seer_worker_run request;
  SEER_WIRE_GET(reader, request);
  seer_measure_result result = {.cls = SEER_MEASURED_OK};
  const seer_worker_task_state *task = NULL;
  seer_kernel kernel;
  seer_status status = find_task(w, request.task, &task);
  if (!status) status = seer_wire_get_kernel(reader, w->job, &kernel);
  if (!status) {
    status = seer_runner_time(
        w->runner, task, &kernel, request.best_seconds, request.min_repeat_s, &result);
  }
  failed(status, &result);
  return seer_wire_send(&w->wire, SEER_WIRE_RAN, seq, &result, sizeof result);
}

static seer_status answer_check(worker *w, uint32_t seq, seer_wire_reader *reader) {
  seer_worker_build candidate, reference;
  seer_measure_result result = {.cls = SEER_MEASURED_OK};
  const seer_worker_task_state *task = NULL;
  seer_kernel kernel, reference_kernel;
  SEER_WIRE_GET(reader, candidate);
  SEER_WIRE_GET(reader, reference);
  seer_status status = find_task(w, candidate.task, &task);
  if (!status) status = seer_wire_get_kernel(reader, w->job, &kernel);
  if (!status) status = seer_wire_get_kernel(reader, w->job, &reference_kernel);
  if (!status) {
    status = seer_runner_check(w->runner, task, &kernel, &candidate.schedule, &reference_kernel,
        &reference.schedule, w->job, &result);
  }
  failed(status, &result);
  return seer_wire_send(&w->wire, SEER_WIRE_CHECKED, seq, &result, sizeof result);
}

static seer_status answer_compare(worker *w, uint32_t seq, seer_wire_reader *reader) {
  seer_worker_run request;
  SEER_WIRE_GET(reader, request);
  seer_measure_ab ab[SEER_MEASURE_MAX_CONTENDERS] = {{0}};
  const seer_worker_task_state *task = NULL;
  seer_kernel *kernels = SEER_NEW_ARRAY(w->job, seer_kernel, SEER_MEASURE_MAX_CONTENDERS + 1);
  SEER_TRY(find_task(w, request.task, &task));
  if (request.n_candidate > SEER_MEASURE_MAX_CONTENDERS)
    return SEER_FAIL(CORRUPT, "%u candidates to compare", request.n_candidate);
  for (uint32_t k = 0; k <= request.n_candidate; k++)
    SEER_TRY(seer_wire_get_kernel(reader, w->job, &kernels[k]));
  SEER_TRY(seer_runner_compare(w->runner, task, kernels, request.n_candidate, request.n_pairs, ab));
  return seer_wire_send(&w->wire, SEER_WIRE_COMPARED, seq, ab, sizeof ab);
}

static seer_status handle(worker *w, const seer_wire_header *header, const void *payload) {
  seer_wire_reader reader = {payload, header->n_bytes, false};
  switch ((seer_wire_type)header->type) {
    case SEER_WIRE_TASK:
      return add_task(w, &reader);
    case SEER_WIRE_BUILD:
      return answer_build(w, header->seq, &reader);
    case SEER_WIRE_RUN:
      return answer_run(w, header->seq, &reader);
    case SEER_WIRE_CHECK:
      return answer_check(w, header->seq, &reader);
    case SEER_WIRE_COMPARE:
      return answer_compare(w, header->seq, &reader);
    case SEER_WIRE_HELLO:
    case SEER_WIRE_BUILT:
    case SEER_WIRE_RAN:
    case SEER_WIRE_CHECKED:
    case SEER_WIRE_COMPARED:
      break;
  }
  return SEER_FAIL(CORRUPT, "a worker got message type %u", header->type);
}

static seer_status serve(worker *w) {
  SEER_TRY(seer_wire_send(&w->wire, SEER_WIRE_HELLO, 0, NULL, 0));
  for (;;) {
    seer_arena_reset(w->job);
    seer_wire_header header;
    const void *payload;
    seer_status status = seer_wire_receive(&w->wire, w->job, UINT64_MAX, &header, &payload);
    if (status && seer_status_code(status) == SEER_CODE_IO) {  // the parent is done
      seer_status_free(status);
      return SEER_OK;
    }
    SEER_TRY(status);
    SEER_TRY(handle(w, &header, payload));
  }
}

seer_status seer_worker_main(seer_context *context, int argc, char **argv) {
  if (argc != 3)
    return SEER_FAIL(
        INVALID, "worker: expected <builder|runner> <in fd> <out fd>; it is started by `tune`");
  bool is_builder = strcmp(argv[0], "builder") == 0;
  if (!is_builder && strcmp(argv[0], "runner") != 0) {
    return SEER_FAIL(INVALID, "worker: unknown job '%s'; allowed: builder, runner", argv[0]);
  }
  worker w = {.context = context, .wire = {atoi(argv[1]), atoi(argv[2])}};
  w.tasks_arena = seer_arena_create("worker tasks");
  w.job = seer_arena_create("worker job");
  w.task_by_id = seer_map_create(w.tasks_arena);
  seer_status status = is_builder
      ? seer_codegen_create(context, seer_context_target(context), &w.codegen)
      : seer_runner_create(context, &w.runner);
  if (!status) status = serve(&w);
  if (w.codegen) seer_codegen_destroy(w.codegen);
  seer_runner_destroy(w.runner);
  seer_arena_destroy(w.job);
  seer_arena_destroy(w.tasks_arena);
  return status;
}
