// builders.c - requests -> builder processes -> objects. The contract: builders.h.
#include "measure/local/builders.h"

#include <stdio.h>
#include <string.h>

#define NO_JOB UINT32_MAX

// `status` of a builder's (re)start. One that is lost is missed only if it was the last.
static seer_status spare(seer_builders *all, seer_builder *b, seer_status status) {
  if (!status) return SEER_OK;
  uint32_t n_left = 0;
  for (uint32_t k = 0; k < all->n; k++) n_left += !all->builder[k].is_gone;
  if (n_left <= 1) return status;
  seer_log(all->context, "measure", 0, "%u builders are left: %s", n_left - 1,
      seer_status_message(status));
  seer_status_free(status);
  seer_child_clear(&b->child);
  b->is_gone = true;
  b->is_starting = false;
  return SEER_OK;
}

static seer_status restart(seer_builders *all, seer_builder *b) {
  b->is_starting = true;
  return spare(all, b, seer_child_restart(&b->child));
}

// The job ends without code, and nothing is known of the candidate itself.
static void give_up(
    const seer_build_batch *batch, uint32_t job, seer_measured_class cls, const char *why) {
  seer_local_refuse(&batch->results[job], cls, why);
  batch->builds[job].is_lost = true;
  seer_queue_built(batch->queue, job, false);
}

// A builder that cannot be reached is started again, and the request waits for the next one.
static seer_status send_build(
    seer_builders *all, seer_builder *b, const seer_build_batch *batch, uint32_t job) {
  const seer_measure_request *request = &batch->requests[job];
  uint64_t index;
  SEER_TRY(seer_measure_index_of(batch->tasks->by_id, request->task, &index));
  seer_text text;
  seer_text_init(&text, batch->arena);
  const seer_local_task *task = &batch->tasks->task[index];
  const seer_message_build message = {
      request->task, seer_schedule_print(task->task.sketches, &request->schedule, batch->arena)};
  seer_message_put_build(&text, &message);
  seer_status status = seer_child_ask(&b->child, index, &task->message, SEER_WIRE_BUILD, &text);
  if (!status) {
    b->job = job;
    b->deadline_ns = seer_os_now_ns() + SEER_CHILD_SET_UP_NS;
    return SEER_OK;
  }
  seer_queue_take_back(batch->queue, job);
  seer_status_free(status);
  return restart(all, b);
}

// *out_has_begun: its answer is still to come.
static seer_status receive_build(
    seer_builders *all, seer_builder *b, const seer_build_batch *batch, bool *out_has_begun) {
  const void *payload;
  size_t n_bytes;
  SEER_TRY(seer_child_hear(&b->child, SEER_WIRE_BUILD, batch->arena,
      seer_local_ns_of(all->timeout_s), out_has_begun, &payload, &n_bytes));
  if (*out_has_begun) {
    b->deadline_ns = seer_os_now_ns() + seer_local_ns_of(all->timeout_s);
    return SEER_OK;
  }
  seer_message_built *answer = SEER_NEW(batch->arena, seer_message_built);
  SEER_TRY(seer_message_get_built(payload, n_bytes, batch->arena, answer));
  seer_built *out = &batch->builds[b->job];
  out->build_s = answer->seconds;
  out->object_hash = answer->object_hash;
  out->is_built = answer->is_ok;
  out->kernel = &answer->kernel;
  if (!answer->is_ok)
    seer_local_refuse(&batch->results[b->job], SEER_MEASURED_BUILD_ERROR, answer->message);
  seer_queue_built(batch->queue, b->job, answer->is_ok);
  return SEER_OK;
}

// Its answer did not come, or is none: the request has failed, the builder begins anew.
static seer_status lose_build(seer_builders *all, seer_builder *b, const seer_build_batch *batch,
    seer_measured_class cls, const char *why) {
  give_up(batch, b->job, cls, why);
  b->job = NO_JOB;
  return restart(all, b);
}

// Its request is over, unless it has only begun.
static seer_status take_build(seer_builders *all, seer_builder *b, const seer_build_batch *batch) {
  bool has_begun = false;
  seer_status status = receive_build(all, b, batch, &has_begun);
  if (!status && has_begun) return SEER_OK;
  if (!status) {
    b->job = NO_JOB;
    return SEER_OK;
  }
  char why[SEER_MEASURE_MESSAGE_BYTES];
  (void)snprintf(why, sizeof why, "%s", seer_status_message(status));
  if (seer_status_code(status) == SEER_CODE_IO) seer_child_bury(&b->child, why, sizeof why);
  seer_status_free(status);
  return lose_build(all, b, batch, SEER_MEASURED_BUILD_ERROR, why);
}

seer_status seer_builders_hand_out(seer_builders *all, const seer_build_batch *batch) {
  for (uint32_t k = 0; k < all->n; k++) {
    seer_builder *b = &all->builder[k];
    uint32_t job;
    if (b->job != NO_JOB || b->is_gone || b->is_starting) continue;
    if (!seer_queue_build(batch->queue, &job)) return SEER_OK;
    SEER_TRY(send_build(all, b, batch, job));
  }
  return SEER_OK;
}

void seer_builders_watch(const seer_builders *all, seer_watch *watch) {
  for (uint32_t k = 0; k < all->n; k++) {
    const seer_builder *b = &all->builder[k];
    bool is_busy = b->job != NO_JOB;
    int fd = is_busy ? b->child.fd : -1;
    uint64_t until_ns = is_busy ? b->deadline_ns : UINT64_MAX;
    if (b->is_starting) seer_child_await(&b->child, &fd, &until_ns);
    seer_watch_add(watch, fd, until_ns);
  }
}

void seer_builders_add_busy(const seer_builders *all, cpu_set_t *busy) {
  for (uint32_t k = 0; k < all->n; k++)
    if (all->builder[k].job != NO_JOB) CPU_OR(busy, busy, all->builder[k].child.processors);
}

static seer_status take_start(seer_builders *all, seer_builder *b) {
  bool is_up = false;
  seer_status status = seer_child_rise(&b->child, &is_up);
  b->is_starting = !status && !is_up;
  return spare(all, b, status);
}

seer_status seer_builders_take(
    seer_builders *all, const seer_build_batch *batch, const bool *ready) {
  uint64_t now = seer_os_now_ns();
  for (uint32_t k = 0; k < all->n; k++) {
    seer_builder *b = &all->builder[k];
    if (b->is_starting && (ready[k] || now >= b->child.until_ns)) SEER_TRY(take_start(all, b));
    if (b->job == NO_JOB) continue;
    if (ready[k]) {
      SEER_TRY(take_build(all, b, batch));
    } else if (now >= b->deadline_ns) {
      SEER_TRY(lose_build(all, b, batch, SEER_MEASURED_BUILD_TIMEOUT, "the build took too long"));
    }
  }
  return SEER_OK;
}

seer_status seer_builders_build(seer_builders *all, const seer_build_batch *batch) {
  while (seer_queue_is_building(batch->queue)) {
    SEER_TRY(seer_builders_hand_out(all, batch));
    seer_watch watch;
    seer_watch_begin(&watch);
    seer_builders_watch(all, &watch);
    if (!seer_watch_has_any(&watch)) continue;
    SEER_TRY(seer_watch_wait(&watch, all->leave_fd));
    SEER_TRY(seer_builders_take(all, batch, watch.is_ready));
  }
  return SEER_OK;
}

seer_status seer_builders_start(seer_builders *all, const seer_child_home *home, uint32_t n,
    const cpu_set_t *places, uint32_t n_places, double timeout_s) {
  all->context = home->context;
  all->timeout_s = timeout_s;
  for (uint32_t k = 0; k < n; k++) {
    seer_builder *b = &all->builder[all->n];
    b->job = NO_JOB;
    seer_child_init(&b->child, home, "builder", NULL, &places[k % n_places]);
    seer_status status = seer_child_start(&b->child, k == 0 ? SEER_LOCAL_START_PATIENCE_NS : 0);
    if (status && k > 0) {
      seer_log(
          home->context, "measure", 0, "%u of %u builders: %s", k, n, seer_status_message(status));
      seer_status_free(status);
      return SEER_OK;
    }
    all->n++;
    SEER_TRY(status);
  }
  return SEER_OK;
}

void seer_builders_clear(seer_builders *all) {
  for (uint32_t k = 0; k < all->n; k++) seer_child_clear(&all->builder[k].child);
}
