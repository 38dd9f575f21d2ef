// run.c - the runner: a model's kernels on a device. Steps say what is copied between the host's
// memory and the device's. A stretch of steps without one of the host's is queued at once, and kept
// as a graph where the driver has graphs: what changes from run to run are the caller's inputs and
// outputs, which then go through memory of the session's own.
#include <string.h>

#include "runtime/runner/check.h"
#include "runtime/runner/hold.h"

// ---- the caller's memory

// What the caller has on the device and steps of the host use goes through a copy: of inputs
// before a run, of outputs behind it.
static seer_rt_code copy_given(seer_session *session, uint32_t from, uint32_t to, bool is_input) {
  const seer_rt_set *of = session->selected->of;
  const seer_device_driver *driver = session->model->on_device->driver;
  const struct seer_session_on_device *own = session->on_device;
  const seer_plan_on_device *plan = seer_hold_selected(session);
  seer_rt_code code = SEER_RT_OK;
  bool has_copied = false;
  for (uint32_t slot = from; slot < to && code == SEER_RT_OK; slot++) {
    if (!seer_hold_is_given(session, slot) || !plan->is_used_by_host[slot]) continue;
    uint8_t *copy = own->staging + plan->offset[slot];
    uint64_t n = of->io[slot].n_bytes;
    has_copied = true;
    code = is_input ? driver->download(own->queue, copy, plan->given[slot], n, session->message,
                          session->message_bytes)
                    : driver->upload(own->queue, plan->given[slot], copy, n, session->message,
                          session->message_bytes);
  }
  if (code != SEER_RT_OK || !has_copied) return code;
  return driver->sync(own->queue, session->message, session->message_bytes);
}

static seer_rt_code begin(seer_session *session) {
  seer_hold_follow_bindings(session);
  return copy_given(session, 0, session->selected->of->plan->n_input, true);
}

static seer_rt_code end(seer_session *session) {
  const seer_rt_set *of = session->selected->of;
  const seer_device_driver *driver = session->model->on_device->driver;
  seer_rt_code code =
      driver->sync(session->on_device->queue, session->message, session->message_bytes);
  if (code != SEER_RT_OK) return code;
  return copy_given(session, of->plan->n_input, seer_hold_n_io(of), false);
}

// ---- steps

// Where the host has what a step copies: the caller's memory, or the session's own copy of it.
static uint8_t *on_host(const seer_session *session, uint32_t arg, bool is_staged) {
  const seer_plan_on_device *plan = seer_hold_selected(session);
  uint32_t slot = seer_hold_slot(session->selected->of, arg);
  if (is_staged && slot != UINT32_MAX) return session->on_device->staging + plan->offset[slot];
  return session->selected->buffer[arg];
}

// A copy between the caller's memory on the device and itself: nobody on the host wants it.
static bool is_left_out(const seer_session *session, uint32_t arg) {
  const seer_plan_on_device *plan = seer_hold_selected(session);
  uint32_t slot = seer_hold_slot(session->selected->of, arg);
  return slot != UINT32_MAX && seer_hold_is_given(session, slot) && !plan->is_used_by_host[slot];
}

static seer_rt_code queue_launches(seer_session *session, const seer_plan_step *step) {
  const seer_device_driver *driver = session->model->on_device->driver;
  const struct seer_session_on_device *own = session->on_device;
  const seer_plan_on_device *plan = seer_hold_selected(session);
  seer_rt_code code = SEER_RT_OK;
  for (uint32_t p = 0; p < step->n_phase && code == SEER_RT_OK; p++)
    code = driver->launch(own->queue, plan->kernel[step->first_phase + p],
        plan->at + step->first_arg, step->n_arg, session->message, session->message_bytes);
  return code;
}

// *io_copies: whether something is copied to or from the host.
static seer_rt_code queue_step(
    seer_session *session, const seer_plan_step *step, bool is_staged, bool *io_copies) {
  const seer_device_driver *driver = session->model->on_device->driver;
  const struct seer_session_on_device *own = session->on_device;
  void **at = seer_hold_selected(session)->at + step->first_arg;
  uint32_t arg = step->first_arg;
  switch ((seer_plan_step_kind)step->kind) {
    case SEER_PLAN_LAUNCH:
      return queue_launches(session, step);
    case SEER_PLAN_COPY_ON_DEVICE:
      return driver->copy(
          own->queue, at[1], at[0], step->n_bytes, session->message, session->message_bytes);
    case SEER_PLAN_UPLOAD:
      if (step->n_bytes == 0 || is_left_out(session, arg)) return SEER_RT_OK;
      *io_copies = true;
      return driver->upload(own->queue, at[0], on_host(session, arg, is_staged), step->n_bytes,
          session->message, session->message_bytes);
    case SEER_PLAN_DOWNLOAD:
      if (step->n_bytes == 0 || is_left_out(session, arg)) return SEER_RT_OK;
      *io_copies = true;
      return driver->download(own->queue, on_host(session, arg, is_staged), at[0], step->n_bytes,
          session->message, session->message_bytes);
    case SEER_PLAN_KERNEL:
    case SEER_PLAN_VIEW:
    case SEER_PLAN_COPY_BYTES:
    case SEER_PLAN_HOST:
    case SEER_PLAN_LOOP:
    case SEER_PLAN_BRANCH:
    case SEER_PLAN_FAIL:
    case SEER_PLAN_IMAGES:
      break;
  }
  return SEER_RT_OK;
}

static seer_rt_code sync(const seer_session *session) {
  return session->model->on_device->driver->sync(
      session->on_device->queue, session->message, session->message_bytes);
}

static seer_rt_code queue_steps(
    seer_session *session, uint32_t from, uint32_t to, bool is_staged, bool *io_copies) {
  seer_rt_code code = SEER_RT_OK;
  for (uint32_t i = from; i < to && code == SEER_RT_OK; i++)
    code = queue_step(session, &session->selected->of->step[i], is_staged, io_copies);
  return code;
}

// With the device's clock around it.
static seer_rt_code run_timed(seer_session *session, uint32_t from, uint32_t to) {
  const seer_device_driver *driver = session->model->on_device->driver;
  const struct seer_session_on_device *own = session->on_device;
  bool copies = false;
  double seconds = 0;
  seer_rt_code code =
      driver->mark_set(own->queue, own->mark[0], session->message, session->message_bytes);
  if (code == SEER_RT_OK) code = queue_steps(session, from, to, false, &copies);
  if (code == SEER_RT_OK)
    code = driver->mark_set(own->queue, own->mark[1], session->message, session->message_bytes);
  if (code == SEER_RT_OK) code = sync(session);
  if (code == SEER_RT_OK)
    code = driver->elapsed(
        own->queue, own->mark[0], own->mark[1], &seconds, session->message, session->message_bytes);
  session->times->mean_s += seconds;
  return code;
}

// Between the caller's memory and the session's copy of it, for each copy of such a kind among the
// steps.
static void stage(const seer_session *session, uint32_t from, uint32_t to, uint32_t kind) {
  for (uint32_t i = from; i < to; i++) {
    const seer_plan_step *step = &session->selected->of->step[i];
    if (step->kind != kind || seer_hold_slot(session->selected->of, step->first_arg) == UINT32_MAX)
      continue;
    uint8_t *ours = on_host(session, step->first_arg, true);
    uint8_t *callers = on_host(session, step->first_arg, false);
    if (ours == callers) continue;
    if (kind == SEER_PLAN_UPLOAD)
      memcpy(ours, callers, step->n_bytes);
    else
      memcpy(callers, ours, step->n_bytes);
  }
}

static seer_rt_code make_graph(
    seer_session *session, uint32_t from, uint32_t to, seer_device_graph **out) {
  const seer_device_driver *driver = session->model->on_device->driver;
  const struct seer_session_on_device *own = session->on_device;
  bool copies = false;
  seer_device_graph *unused = NULL;
  seer_rt_code code = driver->graph_begin(own->queue, session->message, session->message_bytes);
  if (code != SEER_RT_OK) return code;
  code = queue_steps(session, from, to, true, &copies);
  if (code == SEER_RT_OK)
    return driver->graph_end(own->queue, out, session->message, session->message_bytes);
  if (driver->graph_end(own->queue, &unused, NULL, 0) == SEER_RT_OK)
    driver->graph_destroy(own->queue, unused);
  return code;
}

static bool has_copies(const seer_rt_set *of, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++)
    if (of->step[i].kind == SEER_PLAN_UPLOAD || of->step[i].kind == SEER_PLAN_DOWNLOAD) return true;
  return false;
}

static seer_rt_code run_graph(seer_session *session, uint32_t from, uint32_t to) {
  const seer_device_driver *driver = session->model->on_device->driver;
  const struct seer_session_on_device *own = session->on_device;
  seer_device_graph **graph = &seer_hold_selected(session)->graph[from];
  seer_rt_code code = *graph ? SEER_RT_OK : make_graph(session, from, to, graph);
  if (code != SEER_RT_OK) return code;
  stage(session, from, to, SEER_PLAN_UPLOAD);
  code = driver->graph_run(own->queue, *graph, session->message, session->message_bytes);
  if (code != SEER_RT_OK || !has_copies(session->selected->of, from, to)) return code;
  code = sync(session);
  if (code == SEER_RT_OK) stage(session, from, to, SEER_PLAN_DOWNLOAD);
  return code;
}

// A run of single steps (while it is watched, or timed) has no graphs: they are of whole stretches.
static seer_rt_code run(seer_session *session, uint32_t from, uint32_t to, uint32_t *out_next) {
  const seer_rt_set *of = session->selected->of;
  uint32_t end = from + 1;
  while (end < to &&
      (SEER_PLAN_IS_ON_DEVICE(of->step[end].kind) || of->step[end].kind == SEER_PLAN_VIEW))
    end++;
  *out_next = end;
  if (session->times) return run_timed(session, from, end);
  if (session->model->on_device->driver->has_graphs && !session->watcher)
    return run_graph(session, from, end);
  bool copies = false;
  seer_rt_code code = queue_steps(session, from, end, false, &copies);
  return code == SEER_RT_OK && copies ? sync(session) : code;
}

static seer_rt_code move(
    seer_session *session, uint32_t to_arg, uint64_t offset, uint32_t from_arg, uint64_t n_bytes) {
  void **at = seer_hold_selected(session)->at;
  uint8_t *to = (uint8_t *)at[to_arg] + offset;
  if (n_bytes == 0 || to == at[from_arg]) return SEER_RT_OK;
  return session->model->on_device->driver->copy(session->on_device->queue, to, at[from_arg],
      n_bytes, session->message, session->message_bytes);
}

static seer_rt_code show(seer_session *session, uint32_t arg) {
  void **at = seer_hold_selected(session)->at;
  uint64_t n_bytes = session->selected->of->arg[arg].n_bytes;
  if (n_bytes == 0) return SEER_RT_OK;
  seer_rt_code code = session->model->on_device->driver->download(session->on_device->queue,
      session->selected->buffer[arg], at[arg], n_bytes, session->message, session->message_bytes);
  return code == SEER_RT_OK ? sync(session) : code;
}

const seer_runner seer_device_runner = {
    .check = seer_device_check,
    .count = seer_hold_count,
    .name = seer_hold_name,
    .open = seer_hold_open,
    .close = seer_hold_close,
    .alloc = seer_hold_alloc,
    .free = seer_hold_free,
    .upload = seer_hold_upload,
    .download = seer_hold_download,
    .host_alloc = seer_hold_host_alloc,
    .host_free = seer_hold_host_free,
    .session_create = seer_hold_session_create,
    .session_destroy = seer_hold_session_destroy,
    .bind = seer_hold_bind,
    .begin = begin,
    .run = run,
    .move = move,
    .show = show,
    .end = end,
};
