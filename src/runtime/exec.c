// exec.c - runs a plan: step by step, on buffers whose addresses were worked out when the session
// was made. What changes between runs is only where the caller's inputs and outputs lie; binding
// patches those entries. A library for several sets of shapes has a plan for each: selecting one is
// an assignment.
#include "runtime/exec.h"

#include "runtime/host.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Threads' scratches end up on different pages, and a few lines apart from a page's multiple: equal
// offsets in them must not share cache sets where threads share a core.
#define SCRATCH_ALIGN 4096u
#define SCRATCH_SKEW 256u

// One plan's buffers: where its arguments lie.
typedef struct {
  const seer_rt_set *of;
  void **buffer;  // by plan argument
  uint32_t *n_parts;  // by plan phase
  uint32_t n_unbound;
  bool *is_bound;  // inputs, then outputs
  bool has_run;
  uint8_t *scratch;
  uint64_t scratch_stride;
} bound_plan;

struct seer_session {
  const seer_model *model;
  seer_pool *pool;
  uint8_t *memory;  // of the plan that needs most; they take turns
  uint64_t n_memory_bytes;
  bound_plan *plan;  // by set of shapes
  uint32_t n_plan;
  bound_plan *selected;
};

static uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

static uint64_t scratch_stride(const seer_plan_header *plan) {
  return plan->scratch_bytes > 0 ? round_up(plan->scratch_bytes, SCRATCH_ALIGN) + SCRATCH_SKEW : 0;
}

static uint64_t memory_bytes(const seer_plan_header *plan, uint32_t n_threads) {
  return round_up(plan->arena_bytes, SCRATCH_ALIGN) + round_up(plan->shared_bytes, SCRATCH_ALIGN) +
      scratch_stride(plan) * n_threads;
}

static bool make_tables(const seer_rt_set *of, bound_plan *out) {
  const seer_plan_header *plan = of->plan;
  uint32_t n_io = plan->n_input + plan->n_output;
  out->of = of;
  out->buffer = calloc((size_t)plan->n_arg + 1, sizeof *out->buffer);
  out->n_parts = calloc((size_t)plan->n_phase + 1, sizeof *out->n_parts);
  out->is_bound = calloc((size_t)n_io + 1, sizeof *out->is_bound);
  out->n_unbound = n_io;
  return out->buffer && out->n_parts && out->is_bound;
}

static void place_buffers(const seer_session *session, bound_plan *out) {
  const seer_rt_set *of = out->of;
  const seer_plan_header *plan = of->plan;
  uint64_t arena = round_up(plan->arena_bytes, SCRATCH_ALIGN);
  uint64_t shared = round_up(plan->shared_bytes, SCRATCH_ALIGN);
  out->scratch_stride = scratch_stride(plan);
  out->scratch = plan->scratch_bytes > 0 ? session->memory + arena + shared : NULL;
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
        // kernels only read it
        out->buffer[i] = (void *)(uintptr_t)(session->model->weights + arg->offset);
        break;
      case SEER_ARG_INPUT:
      case SEER_ARG_OUTPUT:
        break;
    }
  }
}

seer_rt_code seer_rt_session_create(const seer_model *model, seer_pool *pool,
    seer_session **out_session, char *message, size_t message_bytes) {
  *out_session = NULL;
  seer_session *session = calloc(1, sizeof *session);
  if (session) session->plan = calloc(model->n_set, sizeof *session->plan);
  bool has_all = session && session->plan;
  for (uint32_t s = 0; has_all && s < model->n_set; s++) {
    session->n_plan++;
    has_all = make_tables(&model->set[s], &session->plan[s]);
    uint64_t n = memory_bytes(model->set[s].plan, seer_pool_threads(pool));
    if (n > session->n_memory_bytes) session->n_memory_bytes = n;
  }
  if (!has_all) {
    if (session) session->n_memory_bytes = 0;
    seer_rt_session_destroy(session);
    return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for a session");
  }
  session->model = model;
  session->pool = pool;
  session->selected = session->plan;
  if (session->n_memory_bytes > 0) {
    session->memory = seer_rt_pages_alloc(session->n_memory_bytes);
    if (!session->memory) {
      uint64_t n = session->n_memory_bytes;
      seer_rt_session_destroy(session);
      return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes,
          "no memory for a session: %llu bytes", (unsigned long long)n);
    }
  }
  for (uint32_t s = 0; s < model->n_set; s++) place_buffers(session, &session->plan[s]);
  *out_session = session;
  return SEER_RT_OK;
}

void seer_rt_session_destroy(seer_session *session) {
  if (!session) return;
  seer_rt_pages_free(session->memory, session->n_memory_bytes);
  for (uint32_t s = 0; s < session->n_plan; s++) {
    free(session->plan[s].buffer);
    free(session->plan[s].n_parts);
    free(session->plan[s].is_bound);
  }
  free(session->plan);
  free(session);
}

seer_rt_code seer_rt_select(seer_session *session, int32_t set) {
  if (set < 0 || (uint32_t)set >= session->n_plan) return SEER_RT_INVALID;
  session->selected = &session->plan[set];
  return SEER_RT_OK;
}

int32_t seer_rt_selected(const seer_session *session) {
  return (int32_t)(session->selected - session->plan);
}

static seer_rt_code bind(
    seer_session *session, seer_plan_arg_kind kind, int32_t index, void *data) {
  bound_plan *at = session->selected;
  const seer_plan_header *plan = at->of->plan;
  uint32_t n = kind == SEER_ARG_INPUT ? plan->n_input : plan->n_output;
  if (index < 0 || (uint32_t)index >= n) return SEER_RT_INVALID;
  uint32_t slot = (kind == SEER_ARG_INPUT ? 0 : plan->n_input) + (uint32_t)index;
  if (!data && at->of->io[slot].n_bytes > 0) return SEER_RT_INVALID;
  if ((uintptr_t)data % seer_onnx_dtype_bytes(at->of->io[slot].onnx_dtype) != 0)
    return SEER_RT_INVALID;
  for (uint32_t i = 0; i < plan->n_arg; i++)
    if (at->of->arg[i].kind == (uint32_t)kind && at->of->arg[i].offset == (uint64_t)index)
      at->buffer[i] = data;
  if (!at->is_bound[slot]) at->n_unbound--;
  at->is_bound[slot] = true;
  return SEER_RT_OK;
}

seer_rt_code seer_rt_bind_input(seer_session *session, int32_t index, const void *data) {
  return bind(session, SEER_ARG_INPUT, index, (void *)(uintptr_t)data);  // kernels only read it
}

seer_rt_code seer_rt_bind_output(seer_session *session, int32_t index, void *data) {
  return bind(session, SEER_ARG_OUTPUT, index, data);
}

static int64_t actual(const seer_session *session, uint32_t arg, int64_t bound) {
  int64_t size = *(const int64_t *)session->selected->buffer[arg];
  return size < 0 ? 0 : size < bound ? size : bound;
}

static void run_host(seer_session *session, const seer_plan_host *host) {
  seer_host_tensor tensor[SEER_HOST_MAX_TENSORS];
  for (uint32_t i = 0; i < host->n_in + host->n_out; i++) {
    const seer_plan_tensor *from = &session->selected->of->tensor[host->first_tensor + i];
    tensor[i] = (seer_host_tensor){.onnx_dtype = from->onnx_dtype, .rank = from->rank};
    if (from->onnx_dtype == 0) continue;
    tensor[i].data = session->selected->buffer[from->arg];
    bool is_in = i < host->n_in;  // the sizes of what is written may not be there yet
    for (int32_t d = 0; d < from->rank; d++) {
      tensor[i].bound[d] = tensor[i].dim[d] = from->dim[d];
      if (is_in && from->size_arg[d])
        tensor[i].dim[d] = actual(session, from->size_arg[d] - 1, from->dim[d]);
    }
  }
  void *scratch = host->scratch_arg ? session->selected->buffer[host->scratch_arg - 1] : NULL;
  seer_host_run(
      (seer_host_function)host->function, tensor, tensor + host->n_in, host->param, scratch);
}

static void run_steps(seer_session *session, uint32_t from, uint32_t to);

static void move(
    const seer_session *session, uint32_t to_arg, uint64_t offset, uint32_t from_arg, uint64_t n) {
  memmove((uint8_t *)session->selected->buffer[to_arg - 1] + offset,
      session->selected->buffer[from_arg - 1], n);
}

static void run_loop(seer_session *session, const seer_plan_loop *loop, uint32_t body) {
  void *const *buffer = session->selected->buffer;
  const seer_plan_move *carried = &session->selected->of->move[loop->first_move];
  const seer_plan_move *scan = carried + loop->n_carried;
  int64_t trip = loop->trip_arg ? *(const int64_t *)buffer[loop->trip_arg - 1] : INT64_MAX, n = 0;
  bool go = loop->start_arg == 0 || *(const uint8_t *)buffer[loop->start_arg - 1];
  for (uint32_t k = 0; k < loop->n_carried; k++)
    move(session, carried[k].result_arg, 0, carried[k].before_arg, carried[k].n_bytes);
  for (; go && n < trip; n++) {
    // Through the results: what the body makes may be what another value enters it as.
    for (uint32_t k = 0; k < loop->n_carried; k++)
      move(session, carried[k].in_arg, 0, carried[k].result_arg, carried[k].n_bytes);
    *(int64_t *)buffer[loop->number_arg - 1] = n;
    *(uint8_t *)buffer[loop->go_arg - 1] = 1;
    run_steps(session, body, body + loop->n_body);
    for (uint32_t k = 0; k < loop->n_carried; k++)
      move(session, carried[k].result_arg, 0, carried[k].out_arg, carried[k].n_bytes);
    for (uint32_t k = 0; k < loop->n_scan; k++) {
      uint64_t room = session->selected->of->arg[scan[k].result_arg - 1].n_bytes;
      uint64_t at = (uint64_t)n * scan[k].n_bytes;
      if (at + scan[k].n_bytes <= room)
        move(session, scan[k].result_arg, at, scan[k].out_arg, scan[k].n_bytes);
    }
    go = *(const uint8_t *)buffer[loop->next_arg - 1];
  }
  *(int64_t *)buffer[loop->count_arg - 1] = n;
}

static void run_branch(seer_session *session, const seer_plan_branch *branch, uint32_t sides) {
  bool is_then = *(const uint8_t *)session->selected->buffer[branch->condition_arg - 1] != 0;
  const seer_plan_move *moves = &session->selected->of->move[branch->first_move];
  uint32_t middle = sides + branch->n_then, n = branch->n_then_move;
  if (is_then) {
    run_steps(session, sides, middle);
  } else {
    run_steps(session, middle, middle + branch->n_else);
    moves += branch->n_then_move;
    n = branch->n_else_move;
  }
  for (uint32_t k = 0; k < n; k++)
    move(session, moves[k].result_arg, 0, moves[k].out_arg, moves[k].n_bytes);
}

static void run_step(seer_session *session, uint32_t i) {
  const bound_plan *at = session->selected;
  const seer_plan_step *step = &at->of->step[i];
  void *const *buffer = at->buffer + step->first_arg;
  switch ((seer_plan_step_kind)step->kind) {
    case SEER_PLAN_KERNEL:
      seer_pool_run_kernel(session->pool, at->of->kernels + step->first_phase,
          at->n_parts + step->first_phase, step->n_phase, buffer, step->n_arg, at->scratch,
          at->scratch_stride);
      break;
    case SEER_PLAN_COPY_BYTES:
      memmove(buffer[1], buffer[0], step->n_bytes);
      break;
    case SEER_PLAN_HOST:
      run_host(session, &at->of->host[step->first_phase]);
      break;
    case SEER_PLAN_LOOP:
      run_loop(session, &at->of->loop[step->first_phase], i + 1);
      break;
    case SEER_PLAN_BRANCH:
      run_branch(session, &at->of->branch[step->first_phase], i + 1);
      break;
    case SEER_PLAN_VIEW:
      break;
  }
}

// The step after step i and all that it runs.
static uint32_t step_after(const seer_rt_set *of, uint32_t i) {
  const seer_plan_step *step = &of->step[i];
  if (step->kind == SEER_PLAN_LOOP) return i + 1 + of->loop[step->first_phase].n_body;
  if (step->kind != SEER_PLAN_BRANCH) return i + 1;
  const seer_plan_branch *branch = &of->branch[step->first_phase];
  return i + 1 + branch->n_then + branch->n_else;
}

static void run_steps(seer_session *session, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i = step_after(session->selected->of, i)) run_step(session, i);
}

seer_rt_code seer_rt_run(seer_session *session) {
  bound_plan *at = session->selected;
  if (at->n_unbound > 0) return SEER_RT_INVALID;
  seer_pool_begin(session->pool);
  run_steps(session, 0, at->of->plan->n_step);
  seer_pool_end(session->pool);
  at->has_run = true;
  return SEER_RT_OK;
}

seer_rt_code seer_rt_output_shape(const seer_session *session, int32_t index, int64_t out_dim[12]) {
  const bound_plan *at = session->selected;
  const seer_io_info *info = seer_rt_set_output(session->model, seer_rt_selected(session), index);
  if (!info || !out_dim || (info->bounded && !at->has_run)) return SEER_RT_INVALID;
  memcpy(out_dim, info->dim, sizeof info->dim);
  for (uint32_t i = 0; i < at->of->plan->n_size; i++) {
    const seer_plan_size *size = &at->of->size[i];
    if (size->output == (uint32_t)index)
      out_dim[size->dim] = actual(session, size->arg, info->dim[size->dim]);
  }
  return SEER_RT_OK;
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

seer_rt_code seer_rt_profile(seer_session *session, uint32_t n_runs, seer_step_info *steps) {
  if (session->selected->n_unbound > 0) return SEER_RT_INVALID;
  const seer_rt_set *of = session->selected->of;
  uint32_t n = of->plan->n_step;
  for (uint32_t i = 0; i < n; i++) {
    const seer_plan_step *step = &of->step[i];
    steps[i].name = of->strings + step->name_string;
    steps[i].source = of->strings + step->source_string;
    steps[i].kind = step->kind == SEER_PLAN_KERNEL ? "kernel"
        : step->kind == SEER_PLAN_VIEW             ? "view"
        : step->kind == SEER_PLAN_HOST             ? "host"
        : step->kind == SEER_PLAN_LOOP             ? "loop"
        : step->kind == SEER_PLAN_BRANCH           ? "branch"
                                                   : "copy";
    steps[i].flops = step->flops;
    steps[i].seconds = 0;
  }
  for (uint32_t run = 0; run < n_runs; run++) {
    seer_pool_begin(session->pool);
    double before = now_s();
    for (uint32_t i = 0; i < n; i = step_after(of, i)) {
      run_step(session, i);  // a loop's or branch's time holds that of what it runs
      double after = now_s();
      if (run == 0 || after - before < steps[i].seconds) steps[i].seconds = after - before;
      before = after;
    }
    seer_pool_end(session->pool);
  }
  session->selected->has_run = session->selected->has_run || n_runs > 0;
  return SEER_RT_OK;
}
