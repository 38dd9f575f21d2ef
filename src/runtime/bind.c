// bind.c - where the caller's inputs and outputs lie. An address is written to every argument of
// the plan that stands for it when it is bound. That outputs lie apart is looked at before a run,
// not when one is bound: who swaps two buffers binds them one after the other.
#include "runtime/runner.h"
#include "runtime/session.h"

typedef struct {
  uintptr_t from, to;
} span;

static seer_rt_code no_such(
    seer_plan_arg_kind kind, int32_t index, uint32_t n, char *message, size_t message_bytes) {
  const char *what = kind == SEER_ARG_INPUT ? "input" : "output";
  return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
      "there is no %s %d; the model has %u %ss", what, index, n, what);
}

static bool meets(span a, span b) { return a.from < b.to && b.from < a.to; }

static span bytes_at(const void *data, uint64_t n_bytes) {
  return (span){(uintptr_t)data, (uintptr_t)data + n_bytes};
}

// What can be said of one binding by itself.
static seer_rt_code check_one(const seer_session *session, seer_plan_arg_kind kind,
    const seer_io_info *io, const void *data, uint64_t n_bytes, char *message,
    size_t message_bytes) {
  const char *what = kind == SEER_ARG_INPUT ? "input" : "output";
  if (n_bytes < io->n_bytes)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
        "%s '%s': %llu bytes were given, it needs %llu", what, io->name,
        (unsigned long long)n_bytes, (unsigned long long)io->n_bytes);
  if (!data && io->n_bytes > 0)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
        "%s '%s': no memory (NULL) for %llu bytes", what, io->name,
        (unsigned long long)io->n_bytes);
  uint32_t align = seer_onnx_dtype_bytes(io->onnx_dtype);
  if ((uintptr_t)data % align != 0)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
        "%s '%s': address %p is not a multiple of %u, the bytes of an element", what, io->name,
        data, align);
  span own = bytes_at(data, io->n_bytes);
  if (io->n_bytes > 0 && own.to < own.from)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
        "%s '%s': %llu bytes from %p on are beyond the end of memory", what, io->name,
        (unsigned long long)io->n_bytes, data);
  if (meets(own, bytes_at(session->memory, session->n_memory_bytes)))
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
        "%s '%s' lies in the session's own memory", what, io->name);
  const seer_model *model = session->model;
  if (kind == SEER_ARG_OUTPUT &&
      meets(own, bytes_at(model->weights, model->set[0].plan->weight_bytes)))
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
        "output '%s' lies in the model's weights", io->name);
  return SEER_RT_OK;
}

static void write_address(
    seer_bound_plan *at, seer_plan_arg_kind kind, uint32_t index, const void *data) {
  if (at->batch > 0) return;  // a run says where the parts lie
  for (uint32_t i = 0; i < at->of->plan->n_arg; i++)
    if (at->of->arg[i].kind == (uint32_t)kind && at->of->arg[i].offset == index)
      at->buffer[i] = (void *)(uintptr_t)data;  // kernels only read inputs
}

// n_bytes UINT64_MAX: the caller does not say.
static seer_rt_code bind(seer_session *session, seer_plan_arg_kind kind, int32_t index,
    const void *data, uint64_t n_bytes, char *message, size_t message_bytes) {
  seer_bound_plan *at = session->selected;
  const seer_plan_header *plan = at->of->plan;
  uint32_t n = kind == SEER_ARG_INPUT ? plan->n_input : plan->n_output;
  if (index < 0 || (uint32_t)index >= n) return no_such(kind, index, n, message, message_bytes);
  uint32_t slot = (kind == SEER_ARG_INPUT ? 0 : plan->n_input) + (uint32_t)index;
  seer_rt_code code =
      check_one(session, kind, &at->of->io[slot], data, n_bytes, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  at->is_checked = at->is_checked && at->is_bound[slot] && at->bound[slot] == data;
  if (at->is_checked) return SEER_RT_OK;
  write_address(at, kind, (uint32_t)index, data);
  at->bound[slot] = data;
  at->is_bound[slot] = true;
  return SEER_RT_OK;
}

static seer_rt_code enter_and_bind(seer_session *session, seer_plan_arg_kind kind, int32_t index,
    const void *data, uint64_t n_bytes, char *message, size_t message_bytes) {
  if (!seer_session_enter(session, message, message_bytes))
    return seer_session_busy(message, message_bytes);
  seer_rt_code code = bind(session, kind, index, data, n_bytes, message, message_bytes);
  seer_session_leave(session);
  return code;
}

seer_rt_code seer_rt_session_bind_input(seer_session *session, int32_t index, const void *data,
    uint64_t n_bytes, char *message, size_t message_bytes) {
  return enter_and_bind(session, SEER_ARG_INPUT, index, data, n_bytes, message, message_bytes);
}

seer_rt_code seer_rt_session_bind_output(seer_session *session, int32_t index, void *data,
    uint64_t n_bytes, char *message, size_t message_bytes) {
  return enter_and_bind(session, SEER_ARG_OUTPUT, index, data, n_bytes, message, message_bytes);
}

seer_rt_code seer_rt_bind_input(seer_session *session, int32_t index, const void *data) {
  return enter_and_bind(session, SEER_ARG_INPUT, index, data, UINT64_MAX, NULL, 0);
}

seer_rt_code seer_rt_bind_output(seer_session *session, int32_t index, void *data) {
  return enter_and_bind(session, SEER_ARG_OUTPUT, index, data, UINT64_MAX, NULL, 0);
}

// ---- to memory of a device

#define DEVICE_ALIGN 16u  // of what kernels are given

static seer_rt_code check_on_device(const seer_session *session, seer_plan_arg_kind kind,
    const seer_io_info *io, const void *data, uint64_t n_bytes) {
  const char *what = kind == SEER_ARG_INPUT ? "input" : "output";
  if (!session->model->runner)
    return SEER_SESSION_REFUSE(session, SEER_RT_UNSUPPORTED,
        "%s '%s': this model's kernels are for processors, not for a device", what, io->name);
  if (n_bytes < io->n_bytes)
    return SEER_SESSION_REFUSE(session, SEER_RT_INVALID,
        "%s '%s': %llu bytes were given, it needs %llu", what, io->name,
        (unsigned long long)n_bytes, (unsigned long long)io->n_bytes);
  if (!data || (uintptr_t)data % DEVICE_ALIGN != 0)
    return SEER_SESSION_REFUSE(session, SEER_RT_INVALID,
        "%s '%s': address %p on the device, must be a multiple of %u, and not 0", what, io->name,
        data, DEVICE_ALIGN);
  return SEER_RT_OK;
}

static seer_rt_code bind_on_device(seer_session *session, seer_plan_arg_kind kind, int32_t index,
    void *data, uint64_t n_bytes, char *message, size_t message_bytes) {
  if (!seer_session_enter(session, message, message_bytes))
    return seer_session_busy(message, message_bytes);
  seer_bound_plan *at = session->selected;
  const seer_plan_header *plan = at->of->plan;
  uint32_t n = kind == SEER_ARG_INPUT ? plan->n_input : plan->n_output;
  uint32_t slot = (kind == SEER_ARG_INPUT ? 0 : plan->n_input) + (uint32_t)index;
  void *copy = NULL;
  seer_rt_code code = SEER_RT_OK;
  if (index < 0 || (uint32_t)index >= n) code = no_such(kind, index, n, message, message_bytes);
  if (code == SEER_RT_OK) code = check_on_device(session, kind, &at->of->io[slot], data, n_bytes);
  if (code == SEER_RT_OK) code = session->model->runner->bind(session, slot, data, &copy);
  if (code == SEER_RT_OK) {
    write_address(at, kind, (uint32_t)index, copy);
    at->bound[slot] = copy;
    at->is_bound[slot] = true;
    at->is_checked = false;
  }
  seer_session_leave(session);
  return code;
}

seer_rt_code seer_rt_session_bind_device_input(seer_session *session, int32_t index,
    const void *data, uint64_t n_bytes, char *message, size_t message_bytes) {
  return bind_on_device(
      session, SEER_ARG_INPUT, index, (void *)(uintptr_t)data, n_bytes, message, message_bytes);
}

seer_rt_code seer_rt_session_bind_device_output(seer_session *session, int32_t index, void *data,
    uint64_t n_bytes, char *message, size_t message_bytes) {
  return bind_on_device(session, SEER_ARG_OUTPUT, index, data, n_bytes, message, message_bytes);
}

// ---- before a run

static span bound_span(const seer_bound_plan *at, uint32_t slot) {
  return bytes_at(at->bound[slot], at->of->io[slot].n_bytes);
}

// Insertion sort: from one check to the next the order hardly changes.
static void sort_by_address(seer_bound_plan *at, uint32_t n) {
  for (uint32_t i = 1; i < n; i++) {
    uint32_t slot = at->by_address[i], k = i;
    for (; k > 0 && at->bound[at->by_address[k - 1]] > at->bound[slot]; k--)
      at->by_address[k] = at->by_address[k - 1];
    at->by_address[k] = slot;
  }
}

static seer_rt_code overlap(const seer_session *session, uint32_t a, uint32_t b) {
  const seer_bound_plan *at = session->selected;
  uint32_t n_input = at->of->plan->n_input, first = a < b ? a : b, other = a < b ? b : a;
  return SEER_SESSION_REFUSE(session, SEER_RT_INVALID,
      "%s '%s' and output '%s' overlap: %llu bytes at %p and %llu at %p",
      first < n_input ? "input" : "output", at->of->io[first].name, at->of->io[other].name,
      (unsigned long long)at->of->io[first].n_bytes, at->bound[first],
      (unsigned long long)at->of->io[other].n_bytes, at->bound[other]);
}

// An input that an output shares memory with lies where that does, and is checked with it.
static bool lies_in_output(const seer_session *session, uint32_t slot, uint32_t n) {
  const seer_bound_plan *at = session->selected;
  for (uint32_t out = at->of->plan->n_input; out < n; out++)
    if (at->of->plan_io[out].shared == slot + 1) return at->bound[out] == at->bound[slot];
  return false;
}

// Walks up the addresses with, so far, what reaches farthest of all and of the outputs.
static seer_rt_code check_apart(const seer_session *session, uint32_t n) {
  const seer_bound_plan *at = session->selected;
  uint32_t n_input = at->of->plan->n_input, any = 0, output = 0;
  uintptr_t any_end = 0, output_end = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t slot = at->by_address[i];
    span own = bound_span(at, slot);
    bool is_output = slot >= n_input;
    if (own.from == own.to) continue;
    if (!is_output && lies_in_output(session, slot, n)) continue;
    if (own.from < output_end) return overlap(session, output, slot);
    if (is_output && own.from < any_end) return overlap(session, any, slot);
    if (own.to > any_end) any = slot, any_end = own.to;
    if (is_output && own.to > output_end) output = slot, output_end = own.to;
  }
  return SEER_RT_OK;
}

seer_rt_code seer_session_ready(seer_session *session) {
  seer_bound_plan *at = session->selected;
  uint32_t n_input = at->of->plan->n_input, n = n_input + at->of->plan->n_output;
  if (at->is_checked) return SEER_RT_OK;
  for (uint32_t i = 0; i < n; i++)
    if (!at->is_bound[i])
      return SEER_SESSION_REFUSE(session, SEER_RT_INVALID, "%s '%s' is not bound",
          i < n_input ? "input" : "output", at->of->io[i].name);
  sort_by_address(at, n);
  seer_rt_code code = check_apart(session, n);
  at->is_checked = code == SEER_RT_OK;
  return code;
}
