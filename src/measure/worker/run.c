// run.c - a runner's requests: to time, to check, to compare.
#include <stdio.h>
#include <string.h>

#include "measure/wire/message.h"
#include "measure/worker/runner.h"

static seer_measured_class class_of(seer_status status, char *message) {
  if (!status) return SEER_MEASURED_OK;
  seer_measured_class cls = seer_status_code(status) == SEER_CODE_RESOURCE
      ? SEER_MEASURED_RUN_CRASH
      : SEER_MEASURED_BUILD_ERROR;
  (void)snprintf(message, SEER_MEASURE_MESSAGE_BYTES, "%s", seer_status_message(status));
  seer_status_free(status);
  return cls;
}

// A device that is lost is of no use to whatever comes next: that ends the process.
static seer_status put_result(seer_text *out, seer_status status, seer_measure_result *result) {
  if (status && seer_status_code(status) == SEER_CODE_DEVICE) return status;
  if (status) {
    memset(result, 0, sizeof(*result));
    result->cls = class_of(status, result->message);
  }
  seer_message_put_result(out, result);
  return SEER_OK;
}

static seer_status answer_run(
    const seer_runner_desc *desc, void *runner, const seer_worker_request *r, seer_text *out) {
  seer_message_run *order = SEER_NEW(r->arena, seer_message_run);
  seer_measure_result result = {.cls = SEER_MEASURED_OK};
  const seer_worker_task_state *task = NULL;
  SEER_TRY(seer_message_get_run(r->payload, r->n_bytes, r->arena, order));
  seer_status status = seer_worker_find_task(r->loop, order->task, &task);
  if (!status) status = seer_message_fits_kernel(task->dag, NULL, desc->has_items, &order->kernel);
  if (!status) {
    status = desc->time(runner, task, &order->kernel, order->best_seconds, &order->timing, &result);
  }
  return put_result(out, status, &result);
}

static seer_status read_check(const seer_runner_desc *desc, const seer_worker_request *r,
    const seer_worker_task_state *task, const seer_message_check *order, seer_schedule out[2]) {
  for (int i = 0; i < 2; i++) {
    SEER_TRY(seer_message_read_schedule(task->sketches, order->schedule[i], r->arena, &out[i]));
    SEER_TRY(seer_message_fits_kernel(
        task->dag, task->sketches->sketch[out[i].sketch], desc->has_items, &order->kernel[i]));
  }
  return SEER_OK;
}

static seer_status answer_check(
    const seer_runner_desc *desc, void *runner, const seer_worker_request *r, seer_text *out) {
  seer_message_check *order = SEER_NEW(r->arena, seer_message_check);
  seer_measure_result result = {.cls = SEER_MEASURED_OK};
  const seer_worker_task_state *task = NULL;
  SEER_TRY(seer_message_get_check(r->payload, r->n_bytes, r->arena, order));
  seer_status status = seer_worker_find_task(r->loop, order->task, &task);
  seer_schedule schedule[2];
  if (!status) status = read_check(desc, r, task, order, schedule);
  if (!status) {
    const seer_runner_kernel checked = {&order->kernel[0], &schedule[0]},
                             reference = {&order->kernel[1], &schedule[1]};
    status = desc->check(runner, task, &checked, &reference, &order->constants, r->arena, &result);
  }
  return put_result(out, status, &result);
}

static seer_status answer_compare(
    const seer_runner_desc *desc, void *runner, const seer_worker_request *r, seer_text *out) {
  seer_message_compare *order = SEER_NEW(r->arena, seer_message_compare);
  seer_message_compared *answer = SEER_NEW(r->arena, seer_message_compared);
  const seer_worker_task_state *task = NULL;
  SEER_TRY(seer_message_get_compare(r->payload, r->n_bytes, r->arena, order));
  seer_status status = seer_worker_find_task(r->loop, order->task, &task);
  for (uint32_t k = 0; k <= order->n && !status; k++)
    status = seer_message_fits_kernel(task->dag, NULL, desc->has_items, &order->kernel[k]);
  if (!status) {
    status = desc->compare(runner, task, order->kernel, order->n, order->n_pairs, answer->pair);
  }
  if (status && seer_status_code(status) == SEER_CODE_DEVICE) return status;
  answer->cls = class_of(status, answer->message);
  answer->n = answer->cls == SEER_MEASURED_OK ? order->n : 0;
  answer->n_pairs = answer->cls == SEER_MEASURED_OK ? order->n_pairs : 0;
  seer_message_put_compared(out, answer);
  return SEER_OK;
}

seer_status seer_runner_answer(
    const seer_runner_desc *desc, void *runner, const seer_worker_request *r, seer_text *out) {
  if (r->type == SEER_WIRE_RUN) return answer_run(desc, runner, r, out);
  if (r->type == SEER_WIRE_CHECK) return answer_check(desc, runner, r, out);
  if (r->type == SEER_WIRE_COMPARE) return answer_compare(desc, runner, r, out);
  return SEER_FAIL(CORRUPT, "a runner got message type %d", (int)r->type);
}

// ---- on processors

static void destroy(void *runner) { seer_runner_destroy(runner); }

static seer_status time_kernel(void *runner, const seer_worker_task_state *task,
    const seer_kernel *kernel, double best_seconds, const seer_timing *timing,
    seer_measure_result *out) {
  return seer_runner_time(runner, task, kernel, best_seconds, timing, out);
}

static seer_status check(void *runner, const seer_worker_task_state *task,
    const seer_runner_kernel *checked, const seer_runner_kernel *reference,
    const seer_constant_kernels *constants, seer_arena *arena, seer_measure_result *out) {
  return seer_runner_check(runner, task, checked, reference, constants, arena, out);
}

static seer_status compare(void *runner, const seer_worker_task_state *task,
    const seer_kernel *kernels, uint32_t n, uint32_t n_pairs, seer_measure_pair *out) {
  return seer_runner_compare(runner, task, kernels, n, n_pairs, out);
}

static const seer_runner_desc on_processors = {
    .destroy = destroy, .time = time_kernel, .check = check, .compare = compare};

static seer_status answer(void *state, const seer_worker_request *r, seer_text *out) {
  return seer_runner_answer(&on_processors, state, r, out);
}

static seer_status open_runner(seer_context *context, seer_worker_loop *loop, void **out_state) {
  seer_runner *runner;
  seer_status status = seer_runner_create(context, seer_worker_tell_begun, loop, &runner);
  *out_state = runner;
  return status;
}

const seer_worker_job seer_worker_runner = {"runner", open_runner, destroy, answer};
