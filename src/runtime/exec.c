// exec.c - runs a plan: step by step, on buffers whose addresses were worked out when the session
// was made. What changes between runs is only where the caller's inputs and outputs lie (bind.c). A
// library for several sets of shapes has a plan for each: selecting one is
// an assignment.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/fork.h"
#include "runtime/host.h"
#include "runtime/host/custom.h"
#include "runtime/runner.h"
#include "runtime/session.h"

// Threads' scratches end up on different pages, and a few lines apart from a page's multiple: equal
// offsets in them must not share cache sets where threads share a core.
#define SCRATCH_ALIGN 4096u
#define SCRATCH_SKEW 256u
#define LINES 128u  // two cache lines: neighbours are fetched in pairs

static uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// From one thread's memory of so many bytes to the next one's.
static uint64_t stride_of(uint64_t n_bytes) {
  return n_bytes > 0 ? round_up(n_bytes, SCRATCH_ALIGN) + SCRATCH_SKEW : 0;
}

static uint64_t scratch_stride(const seer_plan_header *plan) {
  return stride_of(plan->scratch_bytes);
}

static uint64_t own_stride(const seer_rt_set *of) { return stride_of(of->private_bytes); }

static uint64_t memory_bytes(const seer_rt_set *of, uint32_t n_threads) {
  const seer_plan_header *plan = of->plan;
  return round_up(plan->arena_bytes, SCRATCH_ALIGN) + round_up(plan->shared_bytes, SCRATCH_ALIGN) +
      (scratch_stride(plan) + own_stride(of)) * n_threads;
}

// Zeroed, on cache lines of its own: a run writes to its session, and must not disturb that of
// another thread.
static void *lines_alloc(size_t n_bytes) {
  size_t n = (size_t)round_up(n_bytes, LINES);
  void *memory = aligned_alloc(LINES, n);
  return memory ? memset(memory, 0, n) : NULL;
}

static bool make_tables(const seer_rt_set *of, seer_bound_plan *out) {
  const seer_plan_header *plan = of->plan;
  uint32_t n_io = plan->n_input + plan->n_output;
  out->of = of;
  out->buffer = calloc((out->batch > 0 ? 0 : (size_t)plan->n_arg) + 1, sizeof *out->buffer);
  out->n_parts = calloc((out->batch > 0 ? 0 : (size_t)plan->n_phase) + 1, sizeof *out->n_parts);
  out->bound = calloc((size_t)n_io + 1, sizeof *out->bound);
  out->is_bound = calloc((size_t)n_io + 1, sizeof *out->is_bound);
  out->by_address = calloc((size_t)n_io + 1, sizeof *out->by_address);
  if (!out->buffer || !out->n_parts || !out->bound || !out->is_bound || !out->by_address)
    return false;
  for (uint32_t i = 0; i < n_io; i++) out->by_address[i] = i;
  return true;
}

static void place_buffers(const seer_session *session, seer_bound_plan *out) {
  const seer_rt_set *of = out->of;
  const seer_plan_header *plan = of->plan;
  uint64_t arena = round_up(plan->arena_bytes, SCRATCH_ALIGN);
  uint64_t shared = round_up(plan->shared_bytes, SCRATCH_ALIGN);
  out->scratch_stride = scratch_stride(plan);
  out->scratch = plan->scratch_bytes > 0 ? session->memory + arena + shared : NULL;
  out->own_stride = own_stride(of);
  out->own =
      session->memory + arena + shared + out->scratch_stride * seer_pool_threads(session->pool);
  for (uint32_t i = 0; i < plan->n_phase; i++) out->n_parts[i] = of->phase[i].n_parts;
  for (uint32_t i = 0; i < plan->n_arg; i++) {
    const seer_plan_arg *arg = &of->arg[i];
    switch ((seer_plan_arg_kind)arg->kind) {
      case SEER_ARG_ARENA:
        out->buffer[i] = session->memory + arg->offset;
        break;
      case SEER_ARG_SHARED:
        out->buffer[i] = session->memory + arena + arg->offset;
        break;
      case SEER_ARG_WEIGHT:
        // Kernels only read it. A library without weights has no place for them: NULL.
        out->buffer[i] = (void *)((uintptr_t)session->model->weights + (uintptr_t)arg->offset);
        break;
      case SEER_ARG_PRIVATE:
        out->buffer[i] = out->own + arg->offset;
        break;
      case SEER_ARG_INPUT:
      case SEER_ARG_OUTPUT:
        break;
    }
  }
}

static uint64_t session_bytes(const seer_model *model, uint32_t n_threads) {
  uint64_t most = SCRATCH_ALIGN;  // buffers without a byte have a place, too
  for (uint32_t s = 0; s < model->n_set; s++) {
    uint64_t n = memory_bytes(&model->set[s], n_threads);
    if (n > most) most = n;
  }
  return most;
}

void seer_rt_sizes(const seer_model *model, uint32_t n_threads, uint64_t *out_weight_bytes,
    uint64_t *out_session_bytes) {
  if (out_weight_bytes) *out_weight_bytes = model->owned ? model->n_owned_bytes : 0;
  if (out_session_bytes) *out_session_bytes = session_bytes(model, n_threads > 0 ? n_threads : 1);
}

static seer_rt_code take_memory(seer_session *session, char *message, size_t message_bytes) {
  uint64_t n = session->n_memory_bytes;
  const seer_runner *runner = session->model->runner;
  void *memory = NULL;
  if (runner) {
    seer_rt_code code = runner->host_alloc(session->model, n, &memory, message, message_bytes);
    session->memory = memory;
    return code;
  }
  session->memory = seer_rt_pages_alloc(n);
  if (session->memory) return SEER_RT_OK;
  return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes,
      "no memory for a session: %llu bytes", (unsigned long long)n);
}

seer_rt_code seer_rt_session_create(const seer_model *model, seer_pool *pool,
    seer_session **out_session, char *message, size_t message_bytes) {
  *out_session = NULL;
  seer_session *session = lines_alloc(sizeof *session);
  uint32_t n_plan = seer_model_n_select(model);
  if (session) session->plan = lines_alloc(n_plan * sizeof *session->plan);
  bool has_all = session && session->plan;
  for (uint32_t s = 0; has_all && s < n_plan; s++) {
    session->n_plan++;
    if (s >= model->n_set) session->plan[s].batch = model->range.first + s - model->n_set;
    has_all = make_tables(seer_model_set(model, s), &session->plan[s]);
  }
  if (!has_all) {
    seer_rt_session_destroy(session);
    return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for a session");
  }
  session->model = model;
  session->pool = session->given = pool;
  session->n_memory_bytes = session_bytes(model, seer_pool_threads(pool));
  session->selected = session->plan;
  session->in_use = seer_fork_word_create();
  if (!session->in_use) session->in_use = &session->in_use_here;
  seer_rt_code code = take_memory(session, message, message_bytes);
  for (uint32_t s = 0; s < model->n_set && code == SEER_RT_OK; s++)
    place_buffers(session, &session->plan[s]);
  if (code == SEER_RT_OK && model->runner)
    code = model->runner->session_create(session, message, message_bytes);
  if (code != SEER_RT_OK) {
    seer_rt_session_destroy(session);
    return code;
  }
  *out_session = session;
  return SEER_RT_OK;
}

void seer_rt_session_destroy(seer_session *session) {
  if (!session) return;
  if (session->model && session->model->runner) {
    session->model->runner->session_destroy(session);
    session->model->runner->host_free(session->model, session->memory, session->n_memory_bytes);
  } else {
    seer_rt_pages_free(session->memory, session->n_memory_bytes);
  }
  if (session->in_use != &session->in_use_here) seer_fork_word_destroy(session->in_use);
  for (uint32_t s = 0; s < session->n_plan; s++) {
    free(session->plan[s].buffer);
    free(session->plan[s].n_parts);
    free(session->plan[s].bound);
    free(session->plan[s].is_bound);
    free(session->plan[s].by_address);
  }
  free(session->plan);
  seer_pool_destroy(session->capped);
  free(session);
}

// ---- one thread at a time

bool seer_session_enter(seer_session *session, char *message, size_t message_bytes) {
  uint32_t is_free = 0;
  if (!atomic_compare_exchange_strong_explicit(
          session->in_use, &is_free, 1, memory_order_acquire, memory_order_relaxed))
    return false;
  session->message = message;
  session->message_bytes = message_bytes;
  if (message && message_bytes > 0) message[0] = 0;
  return true;
}

void seer_session_leave(seer_session *session) {
  atomic_store_explicit(session->in_use, 0, memory_order_release);
}

seer_rt_code seer_session_busy(char *message, size_t message_bytes) {
  return seer_rt_fail(SEER_RT_BUSY, message, message_bytes,
      "the session is in use by another thread; every thread needs a session of its own");
}

// ---- running

static int64_t actual(const seer_session *session, uint32_t arg, int64_t bound) {
  int64_t size = *(const int64_t *)session->selected->buffer[arg];
  return size < 0 ? 0 : size < bound ? size : bound;
}

// What a caller's parallel-for did wrong in a step.
static seer_rt_code refuse_fault(
    const seer_session *session, const seer_plan_step *step, const seer_pool_fault *fault) {
  const char *name = session->selected->of->strings + step->name_string;
  if (fault->is_bad_call)
    return SEER_SESSION_REFUSE(session, SEER_RT_INVALID,
        "step '%s': the caller's parallel-for called part %u of %u on thread %u of %u", name,
        fault->part, fault->n_parts, fault->thread, fault->n_threads);
  return SEER_SESSION_REFUSE(session, SEER_RT_INVALID,
      "step '%s': the caller's parallel-for made %u calls for %u parts", name, fault->n_calls,
      fault->n_parts);
}

static seer_rt_code run_host(seer_session *session, const seer_plan_step *step) {
  const seer_bound_plan *at = session->selected;
  const seer_plan_host *host = &at->of->host[step->first_phase];
  seer_pool_fault fault;
  if (host->function == SEER_HOST_CUSTOM) {
    seer_rt_code code = SEER_RT_OK;
    bool is_done = seer_rt_custom_run(session, step, &code, &fault);
    return is_done ? code : refuse_fault(session, step, &fault);
  }
  seer_host_tensor tensor[SEER_HOST_MAX_TENSORS];
  for (uint32_t i = 0; i < host->n_in + host->n_out; i++) {
    const seer_plan_tensor *from = &at->of->tensor[host->first_tensor + i];
    tensor[i] = (seer_host_tensor){.onnx_dtype = from->onnx_dtype, .rank = from->rank};
    if (from->onnx_dtype == 0) continue;
    tensor[i].data = at->buffer[from->arg];
    bool is_in = i < host->n_in;  // the sizes of what is written may not be there yet
    for (int32_t d = 0; d < from->rank; d++) {
      tensor[i].bound[d] = tensor[i].dim[d] = from->dim[d];
      if (is_in && from->size_arg[d])
        tensor[i].dim[d] = actual(session, from->size_arg[d] - 1, from->dim[d]);
    }
  }
  const seer_host_call call = {.function = (seer_host_function)host->function,
      .in = tensor,
      .out = tensor + host->n_in,
      .param = host->param,
      .scratch = host->scratch_arg ? at->buffer[host->scratch_arg - 1] : NULL,
      .thread_scratch = at->scratch,
      .thread_stride = at->scratch_stride};
  if (seer_host_run(&call, session->pool, session->times, &fault)) return SEER_RT_OK;
  return refuse_fault(session, step, &fault);
}

static seer_rt_code run_steps(seer_session *session, uint32_t from, uint32_t to);

// Asked before a step: none is cut short.
static seer_rt_code check_time(const seer_session *session, const seer_plan_step *step) {
  if (session->until_s == 0 || seer_pool_now_s() < session->until_s) return SEER_RT_OK;
  return SEER_SESSION_REFUSE(session, SEER_RT_TIMEOUT,
      "the run took longer than %g s, and was ended before step '%s'", session->limit_s,
      session->selected->of->strings + step->name_string);
}

// What a loop or a branch moves: from one of the arguments of `of` to another.
static seer_rt_code move(seer_session *session, const seer_plan_move *of, uint32_t to_arg,
    uint64_t offset, uint32_t from_arg) {
  const seer_bound_plan *at = session->selected;
  if (at->of->is_on_device && at->of->is_on_device[of - at->of->move])
    return session->model->runner->move(session, to_arg - 1, offset, from_arg - 1, of->n_bytes);
  memmove((uint8_t *)at->buffer[to_arg - 1] + offset, at->buffer[from_arg - 1], of->n_bytes);
  return SEER_RT_OK;
}

// Row `n` of what each iteration leaves.
static seer_rt_code scan_row(seer_session *session, const seer_plan_move *scan, int64_t n) {
  uint64_t room = session->selected->of->arg[scan->result_arg - 1].n_bytes;
  uint64_t at = (uint64_t)n * scan->n_bytes;
  if (at + scan->n_bytes > room) return SEER_RT_OK;
  return move(session, scan, scan->result_arg, at, scan->out_arg);
}

static seer_rt_code run_iteration(
    seer_session *session, const seer_plan_loop *loop, uint32_t body, int64_t n) {
  void *const *buffer = session->selected->buffer;
  const seer_plan_move *carried = &session->selected->of->move[loop->first_move];
  const seer_plan_move *scan = carried + loop->n_carried;
  seer_rt_code code = SEER_RT_OK;
  // Through the results: what the body makes may be what another value enters it as.
  for (uint32_t k = 0; k < loop->n_carried && code == SEER_RT_OK; k++)
    code = move(session, &carried[k], carried[k].in_arg, 0, carried[k].result_arg);
  *(int64_t *)buffer[loop->number_arg - 1] = n;
  *(uint8_t *)buffer[loop->go_arg - 1] = 1;
  if (code == SEER_RT_OK) code = run_steps(session, body, body + loop->n_body);
  for (uint32_t k = 0; k < loop->n_carried && code == SEER_RT_OK; k++)
    code = move(session, &carried[k], carried[k].result_arg, 0, carried[k].out_arg);
  for (uint32_t k = 0; k < loop->n_scan && code == SEER_RT_OK; k++)
    code = scan_row(session, &scan[k], n);
  return code;
}

static seer_rt_code run_loop(seer_session *session, const seer_plan_loop *loop, uint32_t body) {
  void *const *buffer = session->selected->buffer;
  const seer_plan_move *carried = &session->selected->of->move[loop->first_move];
  int64_t trip = loop->trip_arg ? *(const int64_t *)buffer[loop->trip_arg - 1] : INT64_MAX, n = 0;
  bool go = loop->start_arg == 0 || *(const uint8_t *)buffer[loop->start_arg - 1];
  seer_rt_code code = SEER_RT_OK;
  for (uint32_t k = 0; k < loop->n_carried && code == SEER_RT_OK; k++)
    code = move(session, &carried[k], carried[k].result_arg, 0, carried[k].before_arg);
  for (; go && n < trip && code == SEER_RT_OK; n++) {
    code = run_iteration(session, loop, body, n);
    go = *(const uint8_t *)buffer[loop->next_arg - 1];
  }
  *(int64_t *)buffer[loop->count_arg - 1] = n;
  return code;
}

static seer_rt_code run_branch(
    seer_session *session, const seer_plan_branch *branch, uint32_t sides) {
  bool is_then = *(const uint8_t *)session->selected->buffer[branch->condition_arg - 1] != 0;
  const seer_plan_move *moves = &session->selected->of->move[branch->first_move];
  uint32_t middle = sides + branch->n_then, n = branch->n_then_move;
  seer_rt_code code = is_then ? run_steps(session, sides, middle)
                              : run_steps(session, middle, middle + branch->n_else);
  if (!is_then) {
    moves += branch->n_then_move;
    n = branch->n_else_move;
  }
  for (uint32_t k = 0; k < n && code == SEER_RT_OK; k++)
    code = move(session, &moves[k], moves[k].result_arg, 0, moves[k].out_arg);
  return code;
}

static seer_kernel_call call_of(
    const seer_session *session, const seer_plan_step *step, void *const *buffers) {
  const seer_bound_plan *at = session->selected;
  return (seer_kernel_call){
      .phase = at->of->kernels + step->first_phase,
      .n_parts = at->n_parts + step->first_phase,
      .n_phase = step->n_phase,
      .buffers = buffers,
      .n_arg = step->n_arg,
      .scratch = at->scratch,
      .scratch_stride = at->scratch_stride,
      .times = session->times,
      .flushes_denormals = at->of->plan->flushes_denormals,
  };
}

static seer_rt_code run_kernel(
    const seer_session *session, const seer_plan_step *step, void *const *buffers) {
  const seer_kernel_call call = call_of(session, step, buffers);
  seer_pool_fault fault;
  if (seer_pool_run_kernel(session->pool, &call, &fault)) return SEER_RT_OK;
  return refuse_fault(session, step, &fault);
}

// ---- image by image

// The operands of a step for one image, on one thread.
static void buffers_of_image(const seer_bound_plan *at, const seer_plan_step *step, uint32_t image,
    uint32_t thread, void *out[SEER_PLAN_MAX_ARGS]) {
  for (uint32_t i = 0; i < step->n_arg; i++) {
    const seer_plan_arg *arg = &at->of->arg[step->first_arg + i];
    uint64_t offset = (uint64_t)arg->image_bytes * image;
    if (arg->kind == SEER_ARG_PRIVATE) offset = at->own_stride * thread;
    out[i] = (uint8_t *)at->buffer[step->first_arg + i] + offset;
  }
}

static seer_rt_code run_each(
    seer_session *session, const seer_plan_stretch *stretch, uint32_t body) {
  const seer_bound_plan *at = session->selected;
  seer_image_times *times = session->image_times;
  void *buffers[SEER_PLAN_MAX_ARGS];
  for (uint32_t image = 0; image < stretch->n_images; image++) {
    for (uint32_t i = body; i < body + stretch->n_body; i++) {
      const seer_plan_step *step = &at->of->step[i];
      if (step->kind != SEER_PLAN_KERNEL) continue;
      buffers_of_image(at, step, image, 0, buffers);
      double before = times ? seer_pool_now_s() : 0, busy = times ? session->times->mean_s : 0;
      seer_rt_code code = check_time(session, step);
      if (code == SEER_RT_OK) code = run_kernel(session, step, buffers);
      if (code != SEER_RT_OK) return code;
      if (!times) continue;
      times->seconds[i] += seer_pool_now_s() - before;
      times->busy[i] += session->times->mean_s - busy;
    }
  }
  return SEER_RT_OK;
}

typedef struct {
  const seer_session *session;
  uint32_t body, n_body;
} apart_job;

// All steps for one image, on one thread.
static void run_image(void *arg, uint32_t image, uint32_t thread) {
  const apart_job *job = arg;
  const seer_bound_plan *at = job->session->selected;
  const seer_image_times *times = job->session->image_times;
  void *buffers[SEER_PLAN_MAX_ARGS];
  for (uint32_t i = job->body; i < job->body + job->n_body; i++) {
    const seer_plan_step *step = &at->of->step[i];
    if (step->kind != SEER_PLAN_KERNEL) continue;
    buffers_of_image(at, step, image, thread, buffers);
    const seer_kernel_call call = call_of(job->session, step, buffers);
    double before = times ? seer_pool_now_s() : 0;
    seer_pool_run_alone(&call, thread);
    if (times)
      times->of_thread[(size_t)i * times->n_threads + thread] += seer_pool_now_s() - before;
  }
}

// Of a step that ran on several threads, each with other images: the mean of all threads.
static void add_threads(seer_image_times *times, uint32_t i) {
  double sum = 0;
  for (uint32_t t = 0; t < times->n_threads; t++)
    sum += times->of_thread[(size_t)i * times->n_threads + t];
  times->seconds[i] = times->busy[i] = sum / times->n_threads;
}

static seer_rt_code run_apart(
    seer_session *session, const seer_plan_step *step, const seer_plan_stretch *stretch) {
  uint32_t body = (uint32_t)(step - session->selected->of->step) + 1;
  apart_job job = {session, body, stretch->n_body};
  seer_pool_fault fault;
  if (!seer_pool_run_parts(session->pool, stretch->n_images, run_image, &job, &fault))
    return refuse_fault(session, step, &fault);
  for (uint32_t i = body; session->image_times && i < body + stretch->n_body; i++)
    add_threads(session->image_times, i);
  return SEER_RT_OK;
}

seer_rt_code seer_session_run_step(seer_session *session, uint32_t i) {
  const seer_bound_plan *at = session->selected;
  const seer_plan_step *step = &at->of->step[i];
  void *const *buffer = at->buffer + step->first_arg;
  switch ((seer_plan_step_kind)step->kind) {
    case SEER_PLAN_KERNEL:
      return run_kernel(session, step, buffer);
    case SEER_PLAN_COPY_BYTES:
      memmove(buffer[1], buffer[0], step->n_bytes);
      break;
    case SEER_PLAN_HOST:
      return run_host(session, step);
    case SEER_PLAN_LOOP:
      return run_loop(session, &at->of->loop[step->first_phase], i + 1);
    case SEER_PLAN_BRANCH:
      return run_branch(session, &at->of->branch[step->first_phase], i + 1);
    case SEER_PLAN_IMAGES: {
      const seer_plan_stretch *stretch = &at->of->stretch[step->first_phase];
      return stretch->is_apart ? run_apart(session, step, stretch)
                               : run_each(session, stretch, i + 1);
    }
    case SEER_PLAN_FAIL:
      return SEER_SESSION_REFUSE(session, SEER_RT_UNSUPPORTED, "step '%s': %s",
          at->of->strings + step->name_string, at->of->strings + step->first_phase);
    case SEER_PLAN_LAUNCH:
    case SEER_PLAN_UPLOAD:
    case SEER_PLAN_DOWNLOAD:
    case SEER_PLAN_COPY_ON_DEVICE: {
      uint32_t next;
      return session->model->runner->run(session, i, i + 1, &next);
    }
    case SEER_PLAN_VIEW:
      break;
  }
  return SEER_RT_OK;
}

uint32_t seer_session_step_after(const seer_rt_set *of, uint32_t i) {
  const seer_plan_step *step = &of->step[i];
  if (step->kind == SEER_PLAN_LOOP) return i + 1 + of->loop[step->first_phase].n_body;
  if (step->kind == SEER_PLAN_IMAGES) return i + 1 + of->stretch[step->first_phase].n_body;
  if (step->kind != SEER_PLAN_BRANCH) return i + 1;
  const seer_plan_branch *branch = &of->branch[step->first_phase];
  return i + 1 + branch->n_then + branch->n_else;
}

static seer_rt_code run_steps(seer_session *session, uint32_t from, uint32_t to) {
  const seer_rt_set *of = session->selected->of;
  seer_rt_code code = SEER_RT_OK;
  for (uint32_t i = from, next; i < to && code == SEER_RT_OK; i = next) {
    next = seer_session_step_after(of, i);
    code = check_time(session, &of->step[i]);
    if (code != SEER_RT_OK) break;
    if (SEER_PLAN_IS_ON_DEVICE(of->step[i].kind) && !session->watcher)
      code = session->model->runner->run(session, i, to, &next);
    else
      code = seer_session_run_step(session, i);
    if (session->watcher && code == SEER_RT_OK) code = seer_session_show(session, i);
  }
  return code;
}

// ---- a batch that has no plan, by parts

// Inputs and outputs of `to` are those of `from`, from image `first` on.
static void bind_part(
    const seer_rt_range *range, const seer_bound_plan *from, uint32_t first, seer_bound_plan *to) {
  uint32_t n_input = to->of->plan->n_input;
  for (uint32_t i = 0; i < to->of->plan->n_arg; i++) {
    const seer_plan_arg *arg = &to->of->arg[i];
    bool is_input = arg->kind == SEER_ARG_INPUT;
    if (!is_input && arg->kind != SEER_ARG_OUTPUT) continue;
    uint32_t slot = (uint32_t)arg->offset + (is_input ? 0 : n_input);
    uint64_t skip = 0;
    if (first > 0 && (!is_input || range->ranged[slot]))
      skip = from->of->io[slot].n_bytes / from->batch * first;
    to->buffer[i] = from->bound[slot] ? (uint8_t *)(uintptr_t)from->bound[slot] + skip : NULL;
  }
}

// Each part is run by its plan, whose own bindings are there again afterwards.
static seer_rt_code run_parts(seer_session *session) {
  seer_bound_plan *at = session->selected;
  const seer_rt_range *range = &session->model->range;
  seer_rt_code code = SEER_RT_OK;
  for (uint32_t done = 0; done < at->batch && code == SEER_RT_OK;) {
    uint32_t set = range->next[at->batch - done] - 1;
    seer_bound_plan *part = &session->plan[set];
    bind_part(range, at, done, part);
    session->selected = part;
    code = run_steps(session, 0, part->of->plan->n_step);
    session->selected = at;
    bind_part(range, part, 0, part);
    done += range->size[set];
  }
  return code;
}

seer_rt_code seer_session_run_once(seer_session *session) {
  seer_bound_plan *at = session->selected;
  seer_rt_code code = seer_session_ready(session);
  if (code != SEER_RT_OK) return code;
  const seer_runner *runner = session->model->runner;
  if (session->limit_s > 0) session->until_s = seer_pool_now_s() + session->limit_s;
  seer_pool_begin(session->pool);
  if (runner) code = runner->begin(session);
  if (code == SEER_RT_OK)
    code = at->batch > 0 ? run_parts(session) : run_steps(session, 0, at->of->plan->n_step);
  if (runner && code == SEER_RT_OK) code = runner->end(session);
  seer_pool_end(session->pool);
  session->until_s = 0;
  at->has_run = code == SEER_RT_OK;
  return code;
}

seer_rt_code seer_rt_session_run(seer_session *session, char *message, size_t message_bytes) {
  if (!seer_session_enter(session, message, message_bytes))
    return seer_session_busy(message, message_bytes);
  seer_rt_code code = seer_session_run_once(session);
  seer_session_leave(session);
  return code;
}

// Memory is as for all threads: which of them work may change from run to run.
static seer_rt_code cap_threads(seer_session *session, uint32_t n_threads) {
  seer_pool *capped = NULL;
  if (n_threads > 0 && n_threads < seer_pool_threads(session->given)) {
    capped = seer_pool_cap(session->given, n_threads);
    if (!capped)
      return SEER_SESSION_REFUSE(session, SEER_RT_RESOURCE, "no memory for a limit of threads");
  }
  seer_pool_destroy(session->capped);
  session->capped = capped;
  session->pool = capped ? capped : session->given;
  return SEER_RT_OK;
}

seer_rt_code seer_rt_session_limit(seer_session *session, uint32_t n_threads, double seconds,
    char *message, size_t message_bytes) {
  if (!seer_session_enter(session, message, message_bytes))
    return seer_session_busy(message, message_bytes);
  seer_rt_code code = seconds >= 0 ? cap_threads(session, n_threads)
                                   : SEER_SESSION_REFUSE(session, SEER_RT_INVALID,
                                         "a limit of %g s, must be 0 or more", seconds);
  if (code == SEER_RT_OK) session->limit_s = seconds;
  seer_session_leave(session);
  return code;
}

// ---- sets of shapes, sizes that a run found

seer_rt_code seer_rt_session_select(
    seer_session *session, int32_t set, char *message, size_t message_bytes) {
  if (!seer_session_enter(session, message, message_bytes))
    return seer_session_busy(message, message_bytes);
  seer_rt_code code = SEER_RT_OK;
  if (set < 0 || (uint32_t)set >= session->n_plan)
    code = SEER_SESSION_REFUSE(session, SEER_RT_INVALID,
        "there is no set of shapes %d; the model has %u", set, session->model->n_set);
  else
    session->selected = &session->plan[set];
  seer_session_leave(session);
  return code;
}

int32_t seer_rt_selected(const seer_session *session) {
  return (int32_t)(session->selected - session->plan);
}

static seer_rt_code output_shape(const seer_session *session, int32_t index, int64_t out_dim[12]) {
  const seer_bound_plan *at = session->selected;
  const seer_io_info *info = seer_rt_set_output(session->model, seer_rt_selected(session), index);
  if (!info)
    return SEER_SESSION_REFUSE(session, SEER_RT_INVALID,
        "there is no output %d; the model has %u outputs", index, at->of->plan->n_output);
  if (!out_dim)
    return SEER_SESSION_REFUSE(
        session, SEER_RT_INVALID, "output '%s': out_dim is NULL", info->name);
  if (info->bounded && !at->has_run)
    return SEER_SESSION_REFUSE(session, SEER_RT_INVALID,
        "output '%s': its dimensions are known after a run, and none has ended well", info->name);
  memcpy(out_dim, info->dim, sizeof info->dim);
  for (uint32_t i = 0; i < at->of->plan->n_size; i++) {
    const seer_plan_size *size = &at->of->size[i];
    if (size->output == (uint32_t)index)
      out_dim[size->dim] = actual(session, size->arg, info->dim[size->dim]);
  }
  return SEER_RT_OK;
}

seer_rt_code seer_rt_session_output_shape(seer_session *session, int32_t index, int64_t out_dim[12],
    char *message, size_t message_bytes) {
  if (!seer_session_enter(session, message, message_bytes))
    return seer_session_busy(message, message_bytes);
  seer_rt_code code = output_shape(session, index, out_dim);
  seer_session_leave(session);
  return code;
}

// ---- the calls of the first table: no messages

seer_rt_code seer_rt_select(seer_session *session, int32_t set) {
  return seer_rt_session_select(session, set, NULL, 0);
}

seer_rt_code seer_rt_run(seer_session *session) { return seer_rt_session_run(session, NULL, 0); }

seer_rt_code seer_rt_output_shape(const seer_session *session, int32_t index, int64_t out_dim[12]) {
  // the session stays as it is, but for who uses it
  return seer_rt_session_output_shape((seer_session *)(uintptr_t)session, index, out_dim, NULL, 0);
}
