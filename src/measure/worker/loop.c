// loop.c - tasks, and requests one after the other. The contract: worker.h.
#include <string.h>

#include "base/confine.h"
#include "base/map.h"
#include "base/os_fault.h"
#include "measure/backends.h"
#include "measure/wire/message.h"
#include "measure/wire/socket.h"
#include "measure/worker/worker.h"

#define SEND_TIMEOUT_NS 60000000000u  // the parent reads at once, unless it was stopped

struct seer_worker_loop {
  seer_context *context;
  int fd;
  uint32_t seq;  // of the request at hand
  seer_arena *tasks_arena, *request;
  seer_map *task_by_id;
  size_t n_task, cap_task;
  seer_worker_task_state **task;
};

static seer_status make_task(
    seer_worker_loop *w, const seer_message_task *message, seer_worker_task_state *task) {
  SEER_TRY(seer_dag_parse("task", message->dag, strlen(message->dag), w->tasks_arena, &task->dag));
  SEER_TRY(seer_sketch_generate(
      task->dag, seer_context_target(w->context), message->space, w->tasks_arena, &task->sketches));
  seer_sketch_keep_within(task->sketches, message->tolerance);
  return SEER_OK;
}

// A task that cannot be read is kept with the reason, which answers what is asked about it.
static seer_status add_task(seer_worker_loop *w, const void *payload, size_t n_bytes) {
  seer_message_task message;
  SEER_TRY(seer_message_get_task(payload, n_bytes, w->request, &message));
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

seer_status seer_worker_find_task(
    const seer_worker_loop *w, uint32_t id, const seer_worker_task_state **out) {
  uint64_t index;
  SEER_TRY(seer_measure_index_of(w->task_by_id, id, &index));
  *out = w->task[index];
  if ((*out)->refusal) return SEER_FAIL(INTERNAL, "task %u: %s", id, (*out)->refusal);
  return SEER_OK;
}

void seer_worker_tell_begun(void *loop) {
  const seer_worker_loop *w = loop;
  seer_text nothing;
  seer_text_init(&nothing, w->request);
  seer_status_free(seer_socket_send(w->fd, SEER_WIRE_BEGUN, w->seq, &nothing, SEND_TIMEOUT_NS));
}

static seer_status send(
    seer_worker_loop *w, seer_wire_type type, uint32_t seq, const seer_text *text) {
  seer_status status = seer_socket_send(w->fd, type, seq, text, SEND_TIMEOUT_NS);
  if (!status) seer_os_reach("idle");
  return status;
}

static seer_status serve(seer_worker_loop *w, const seer_worker_job *job, void *state) {
  seer_text hello;
  seer_text_init(&hello, w->request);
  const seer_message_hello message = seer_message_hello_here(seer_context_target(w->context));
  seer_message_put_hello(&hello, &message);
  SEER_TRY(send(w, SEER_WIRE_HELLO, 0, &hello));
  for (;;) {
    seer_arena_reset(w->request);
    seer_wire_header header;
    const void *payload;
    SEER_TRY(seer_socket_receive(w->fd, w->request, UINT64_MAX, &header, &payload));
    w->seq = header.seq;
    size_t n_bytes = (size_t)header.n_bytes;
    if (header.type == SEER_WIRE_TASK) {
      SEER_TRY(add_task(w, payload, n_bytes));
      continue;
    }
    const seer_worker_request request = {w, header.type, payload, n_bytes, w->request};
    seer_text out;
    seer_text_init(&out, w->request);
    SEER_TRY(job->answer(state, &request, &out));
    SEER_TRY(send(w, (seer_wire_type)(header.type + 1), header.seq, &out));
  }
}

seer_status seer_worker_serve(seer_context *context, const seer_worker_job *job, int fd) {
  const bool is_confined = seer_context_bool(context, SEER_OPT_CONFINE);
  if (is_confined) SEER_TRY(seer_confine_files());
  seer_worker_loop w = {.context = context, .fd = fd};
  w.tasks_arena = seer_arena_create("worker tasks");
  w.request = seer_arena_create("worker request");
  w.task_by_id = seer_map_create(w.tasks_arena);
  void *state = NULL;
  seer_status status = job->open(context, &w, &state);
  // From here on it does what others say, and reads no file to find out what it may use.
  // (That a filter of calls is not there, the parent has said.)
  const char *why_not;
  (void)seer_os_n_threads();
  if (!status && is_confined && seer_confine_is_there(&why_not)) status = seer_confine_calls(w.fd);
  if (!status) status = serve(&w, job, state);
  if (status && seer_status_code(status) == SEER_CODE_IO) {  // the parent is done
    seer_status_free(status);
    status = SEER_OK;
  }
  job->close(state);
  seer_arena_destroy(w.request);
  seer_arena_destroy(w.tasks_arena);
  return status;
}
