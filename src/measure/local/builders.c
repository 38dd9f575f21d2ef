// builders.c - requests -> builder processes -> objects. One that crashes or hangs is replaced, at
// the cost of the candidate it had. The contract: inside.h.
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "measure/local/inside.h"

#define NO_REQUEST UINT32_MAX

seer_status seer_local_index_of(const seer_measurer *m, uint32_t id, uint64_t *out_index) {
  if (seer_map_get(m->by_id, id, out_index)) return SEER_OK;
  return SEER_FAIL(INTERNAL, "task %u was never announced", id);
}

void seer_local_refuse(seer_measure_result *result, seer_measured_class cls, const char *message) {
  result->cls = cls;
  (void)snprintf(result->message, sizeof result->message, "%s", message);
}

// `status` of a builder's (re)start. One that is lost is missed only if it was the last.
static seer_status spare(seer_measurer *m, seer_builder *b, seer_status status) {
  if (!status) return SEER_OK;
  uint32_t n_left = 0;
  for (uint32_t k = 0; k < m->n_builder; k++) n_left += !m->builder[k].is_gone;
  if (n_left <= 1) return status;
  seer_log(m->context, "measure", 0, "%u builders are left: %s", n_left - 1,
      seer_status_message(status));
  seer_status_free(status);
  seer_child_clear(&b->child);
  b->is_gone = true;
  return SEER_OK;
}

// Hands over request `nth`. A builder that cannot be reached costs the request, and is started
// again when the next one comes.
static seer_status send_build(seer_measurer *m, seer_builder *b,
    const seer_measure_request *request, uint32_t nth, seer_built *out,
    seer_measure_result *result) {
  uint64_t index;
  SEER_TRY(seer_local_index_of(m, request->task, &index));
  seer_text text;
  seer_text_init(&text, m->batch);
  const seer_message_build message = {request->task, request->schedule};
  seer_message_put_build(&text, &message);
  seer_status status =
      seer_child_ask(&b->child, index, &m->task[index].message, SEER_WIRE_BUILD, &text);
  if (!status) {
    b->request = nth;
    b->deadline_ns = seer_os_now_ns() + SEER_CHILD_SET_UP_NS;
    return SEER_OK;
  }
  seer_local_refuse(result, SEER_MEASURED_BUILD_ERROR, seer_status_message(status));
  out->is_lost = true;
  if (seer_status_code(status) == SEER_CODE_DEVICE) return spare(m, b, status);
  seer_status_free(status);
  return SEER_OK;
}

// *out_has_begun: its answer is still to come.
static seer_status receive_build(seer_measurer *m, seer_builder *b, seer_built *out,
    seer_measure_result *result, bool *out_has_begun) {
  const void *payload;
  size_t n_bytes;
  SEER_TRY(seer_child_hear(&b->child, SEER_WIRE_BUILD, m->batch,
      seer_local_ns_of(m->build_timeout_s), out_has_begun, &payload, &n_bytes));
  if (*out_has_begun) {
    b->deadline_ns = seer_os_now_ns() + seer_local_ns_of(m->build_timeout_s);
    return SEER_OK;
  }
  seer_message_built *answer = SEER_NEW(m->batch, seer_message_built);
  SEER_TRY(seer_message_get_built(payload, n_bytes, m->batch, answer));
  out->build_s = answer->seconds;
  out->object_hash = answer->object_hash;
  out->is_built = answer->is_ok;
  out->kernel = &answer->kernel;
  if (!answer->is_ok) seer_local_refuse(result, SEER_MEASURED_BUILD_ERROR, answer->message);
  return SEER_OK;
}

// Its answer did not come, or is none: the request has failed, the builder begins anew.
static seer_status lose_build(seer_measurer *m, seer_builder *b, seer_measured_class cls,
    const char *why, seer_built *out, seer_measure_result *result) {
  seer_local_refuse(result, cls, why);
  out->is_lost = true;
  return spare(m, b, seer_child_restart(&b->child));
}

// Its request is over, unless it has only begun.
static seer_status take_build(
    seer_measurer *m, seer_builder *b, seer_built *builds, seer_measure_result *results) {
  seer_built *out = &builds[b->request];
  seer_measure_result *result = &results[b->request];
  bool has_begun = false;
  seer_status status = receive_build(m, b, out, result, &has_begun);
  if (!status && has_begun) return SEER_OK;
  b->request = NO_REQUEST;
  if (!status) return SEER_OK;
  char why[SEER_MEASURE_MESSAGE_BYTES];
  (void)snprintf(why, sizeof why, "%s", seer_status_message(status));
  if (seer_status_code(status) == SEER_CODE_IO) seer_child_bury(&b->child, why, sizeof why);
  seer_status_free(status);
  return lose_build(m, b, SEER_MEASURED_BUILD_ERROR, why, out, result);
}

// One step of the build phase: wait for any builder, take its answer.
static seer_status await_builder(
    seer_measurer *m, seer_built *builds, seer_measure_result *results) {
  int fds[SEER_LOCAL_MAX_BUILDERS];
  bool ready[SEER_LOCAL_MAX_BUILDERS];
  uint64_t now = seer_os_now_ns(), wait_ns = UINT64_MAX;
  for (uint32_t k = 0; k < m->n_builder; k++) {
    const seer_builder *b = &m->builder[k];
    fds[k] = b->request == NO_REQUEST ? -1 : b->child.fd;
    if (fds[k] < 0) continue;
    uint64_t left = b->deadline_ns > now ? b->deadline_ns - now : 0;
    if (left < wait_ns) wait_ns = left;
  }
  (void)seer_os_poll_in(fds, m->n_builder, wait_ns, ready);
  now = seer_os_now_ns();
  for (uint32_t k = 0; k < m->n_builder; k++) {
    seer_builder *b = &m->builder[k];
    if (fds[k] < 0 || (!ready[k] && now < b->deadline_ns)) continue;
    if (ready[k]) {
      SEER_TRY(take_build(m, b, builds, results));
    } else {
      uint32_t nth = b->request;
      b->request = NO_REQUEST;
      SEER_TRY(lose_build(m, b, SEER_MEASURED_BUILD_TIMEOUT, "the build took too long",
          &builds[nth], &results[nth]));
    }
  }
  return SEER_OK;
}

seer_status seer_builders_build(seer_measurer *m, const seer_measure_request *requests, uint32_t n,
    seer_built *builds, seer_measure_result *results) {
  uint32_t next = 0, busy = 0;
  do {
    for (uint32_t k = 0; k < m->n_builder; k++) {
      seer_builder *b = &m->builder[k];
      while (next < n && builds[next].is_built) next++;  // kept from an earlier batch
      if (next == n) break;
      if (b->request != NO_REQUEST || b->is_gone) continue;
      SEER_TRY(send_build(m, b, &requests[next], next, &builds[next], &results[next]));
      next++;
    }
    busy = 0;
    for (uint32_t k = 0; k < m->n_builder; k++) busy += m->builder[k].request != NO_REQUEST;
    if (busy > 0) SEER_TRY(await_builder(m, builds, results));
  } while (next < n || busy);
  return SEER_OK;
}

seer_status seer_builders_start(seer_measurer *m, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    seer_builder *b = &m->builder[m->n_builder];
    b->request = NO_REQUEST;
    seer_child_init(&b->child, &m->home, "builder");
    seer_status status = seer_child_start(&b->child, k == 0 ? SEER_LOCAL_START_PATIENCE_NS : 0);
    if (status && k > 0) {
      seer_log(
          m->context, "measure", 0, "%u of %u builders: %s", k, n, seer_status_message(status));
      seer_status_free(status);
      return SEER_OK;
    }
    m->n_builder++;
    SEER_TRY(status);
  }
  return SEER_OK;
}
