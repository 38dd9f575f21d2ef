// runner.c - how long does this kernel take, and is its answer right?
// Timing: samples.h. Weights
// are as cold as in the network: between two calls of a kernel the network reads all its other
// weights, so calls cycle through copies of as many bytes as the network's, or of what exceeds the
// last-level cache for sure (doc/decisions, 8). Activations are warm, each thread's share in its
// own cores' caches (doc/decisions, 46).

#include "measure/worker/runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/os_fault.h"
#include "base/stats.h"
#include "measure/cores.h"
#include "measure/worker/judge.h"
#include "measure/worker/samples.h"
#include "runtime/pool.h"

// Operands of tasks that are not at hand: finals visit a network's tasks in turns, and filling
// those of one with numbers takes longer than its visit.
#define MAX_HELD 128
#define MAX_HELD_BYTES ((uint64_t)256 << 20)

typedef struct {
  seer_task_memory memory;
  uint64_t used;  // when it was last at hand, in uses of any
} held_memory;

struct seer_runner {
  const seer_context *context;
  void (*begin)(void *user);
  void *user;
  seer_pool *pool;
  seer_cores cores;
  seer_weight_pool weights;
  seer_pages scratch;
  uint64_t scratch_stride;
  seer_task_memory *memory;  // of the task at hand: one of those that are held
  uint32_t n_held;
  uint64_t n_uses;
  held_memory *held[MAX_HELD];
};

// ---- operands of tasks
static void drop_held(seer_runner *runner, uint32_t k) {
  seer_task_memory_clear(&runner->held[k]->memory);
  free(runner->held[k]);
  runner->held[k] = runner->held[--runner->n_held];
}

// Those that were not at hand for longest leave, until another has a place and the rest is small.
static void make_room(seer_runner *runner) {
  for (;;) {
    uint64_t n_bytes = 0;
    uint32_t oldest = 0;
    for (uint32_t k = 0; k < runner->n_held; k++) {
      const held_memory *h = runner->held[k];
      n_bytes += h->memory.pages.n_bytes + h->memory.shared.n_bytes;
      if (h->used < runner->held[oldest]->used) oldest = k;
    }
    if (runner->n_held < MAX_HELD && n_bytes <= MAX_HELD_BYTES) return;
    drop_held(runner, oldest);
  }
}

// Where there is no memory for one more, all others leave.
static seer_status fill_memory(
    seer_runner *runner, const seer_worker_task_state *task, seer_task_memory *out) {
  seer_status status = seer_task_memory_create(task, 1, out);
  if (!status || runner->n_held == 0) return status;
  seer_status_free(status);
  seer_task_memory_clear(out);
  while (runner->n_held > 0) drop_held(runner, runner->n_held - 1);
  return seer_task_memory_create(task, 1, out);
}

static seer_status use_task(seer_runner *runner, const seer_worker_task_state *task) {
  for (uint32_t k = 0; k < runner->n_held; k++) {
    held_memory *h = runner->held[k];
    if (h->memory.task != task) continue;
    h->used = ++runner->n_uses;
    runner->memory = &h->memory;
    return SEER_OK;
  }
  make_room(runner);
  runner->memory = NULL;
  held_memory *h = calloc(1, sizeof *h);
  if (!h) return SEER_FAIL(RESOURCE, "no memory for the operands of a task");
  seer_status status = fill_memory(runner, task, &h->memory);
  if (status) {
    seer_task_memory_clear(&h->memory);
    free(h);
    return status;
  }
  h->used = ++runner->n_uses;
  runner->held[runner->n_held++] = h;
  runner->memory = &h->memory;
  return SEER_OK;
}

seer_status seer_runner_create(
    const seer_context *context, void (*begin)(void *user), void *user, seer_runner **out_runner) {
  *out_runner = NULL;
  seer_runner *runner = calloc(1, sizeof(*runner));
  if (!runner) return SEER_FAIL(RESOURCE, "no memory for a runner");
  runner->begin = begin;
  runner->user = user;
  runner->context = context;
  runner->pool = seer_pool_create(
      seer_context_target(context)->threads, seer_context_bool(context, SEER_OPT_PIN));
  seer_status status =
      runner->pool ? SEER_OK : SEER_FAIL(RESOURCE, "no memory for a pool of threads");
  if (status) {
    seer_runner_destroy(runner);
    return status;
  }
  *out_runner = runner;
  return SEER_OK;
}

void seer_runner_destroy(seer_runner *runner) {
  if (!runner) return;
  while (runner->n_held > 0) drop_held(runner, runner->n_held - 1);
  if (runner->pool) seer_pool_destroy(runner->pool);
  seer_pages_clear(&runner->weights);
  seer_pages_clear(&runner->scratch);
  free(runner);
}

static void tell_begun(const seer_runner *runner) {
  if (runner->begin) runner->begin(runner->user);
}

// A loaded kernel with its scratch.
typedef struct {
  const seer_kernel *kernel;
  seer_kernel_phase phase[SEER_DAG_MAX_STAGES];
  seer_loaded loaded;
} loaded;

static seer_status load(seer_runner *runner, const seer_kernel *kernel, loaded *out) {
  *out = (loaded){.kernel = kernel};
  uint64_t stride = (uint64_t)seer_round_up((int64_t)kernel->scratch_bytes + 64, 4096);
  if (stride > runner->scratch_stride) {
    runner->scratch_stride = 0;
    SEER_TRY(
        seer_pages_reserve(&runner->scratch, stride * seer_pool_threads(runner->pool), "scratch"));
    runner->scratch_stride = stride;
  }
  return seer_kernel_load(kernel, out->phase, &out->loaded);
}

static void call(seer_runner *runner, const loaded *l, const seer_call *c) {
  // The last argument is the thread's scratch, which the pool adds.
  const seer_kernel_call what = {
      .phase = l->phase,
      .n_parts = l->kernel->n_parts,
      .n_phase = l->kernel->n_phase,
      .buffers = c->buffers,
      .n_arg = l->kernel->n_arg - 1,
      .scratch = runner->scratch.data,
      .scratch_stride = runner->scratch_stride,
  };
  seer_pool_fault fault;
  bool is_run = seer_pool_run_kernel(runner->pool, &what, &fault);
  SEER_ASSERT(is_run, "part %u of our own thread %u", fault.part, fault.thread);
}

// Every thread comes to have, as the last that wrote it, its share of what the task reads and
// writes: where a step finds both in a network, whose steps are cut into the same shares.
static void take_shares(void *arg, uint32_t part, uint32_t thread) {
  (void)part;
  const seer_runner *runner = arg;
  const seer_task_memory *memory = runner->memory;
  uint64_t n_threads = seer_pool_threads(runner->pool);
  for (uint32_t k = 0; k < memory->n_moving; k++) {
    const seer_moving *m = &memory->moving[k];
    uint64_t n_lines = (m->n_bytes + SEER_OPERAND_ALIGN - 1) / SEER_OPERAND_ALIGN;
    uint64_t end = n_lines * (thread + 1) / n_threads;
    for (uint64_t line = n_lines * thread / n_threads; line < end; line++) {
      volatile uint8_t *at = m->data + line * SEER_OPERAND_ALIGN;
      *at = *at;
    }
  }
}

static double take_shares_ns(seer_runner *runner) {
  uint64_t start = seer_os_now_ns();
  seer_pool_run(runner->pool, seer_pool_threads(runner->pool), take_shares, runner);
  return (double)(seer_os_now_ns() - start);
}

// One sample: nanoseconds per call over `n_calls` calls. A call also costs what its threads take to
// get back the lines of their shares that it has moved to other threads' caches, beyond what
// taking them takes where nothing was moved: in a network the steps around it pay that
// (doc/decisions, 55). Waking the workers costs up to 50 us on a virtual machine; a network pays it
// once a run, not once a kernel, so it comes before the clock.
static double sample_ns(
    seer_runner *runner, const loaded *l, seer_call *c, uint32_t n_calls, uint64_t *nth) {
  double sum = 0;
  seer_pool_begin(runner->pool);
  (void)take_shares_ns(runner);
  for (uint32_t i = 0; i < n_calls; i++) {
    seer_call_rotate(c, l->kernel, &runner->weights, (*nth)++);
    uint64_t start = seer_os_now_ns();
    call(runner, l, c);
    sum += (double)(seer_os_now_ns() - start);
    double back = take_shares_ns(runner);
    sum += fmax(0, back - take_shares_ns(runner));
  }
  seer_pool_end(runner->pool);
  return sum / n_calls;
}

static uint64_t cold_bytes(const seer_runner *runner, const seer_worker_task_state *task) {
  return (uint64_t)seer_measure_cold_bytes(
      seer_context_target(runner->context), task->network_weight_bytes);
}

// What samples are taken of.
typedef struct {
  seer_runner *runner;
  const loaded *code;
  seer_call *call;
  uint64_t nth;
} sampled;

static double sample_of(void *user, uint32_t n_calls) {
  sampled *s = user;
  return sample_ns(s->runner, s->code, s->call, n_calls, &s->nth);
}

seer_status seer_runner_time(seer_runner *runner, const seer_worker_task_state *task,
    const seer_kernel *kernel, double best_seconds, const seer_timing *timing,
    seer_measure_result *out) {
  memset(out, 0, sizeof(*out));
  uint64_t start = seer_os_now_ns();
  seer_os_reach("run");
  SEER_TRY(use_task(runner, task));
  loaded l;
  seer_call c = {.packed = NULL};
  seer_status status = load(runner, kernel, &l);
  if (!status)
    status =
        seer_call_prepare(runner->memory, kernel, &runner->weights, cold_bytes(runner, task), &c);
  if (!status) {
    tell_begun(runner);
    seer_os_reach("time");
    seer_cores_await(&runner->cores, runner->pool);
    sampled what = {runner, &l, &c, 0};
    const seer_sampler sampler = {sample_of, &what, seer_samples_memory(kernel)};
    seer_samples_take(&sampler, best_seconds, timing, out);
    if (!seer_cores_are_free(&runner->cores, runner->pool)) {  // perhaps since the first sample
      seer_cores_await(&runner->cores, runner->pool);
      out->is_raced_out = false;
      what.nth = 0;
      seer_samples_take(&sampler, best_seconds, timing, out);
    }
    out->seconds = seer_timing_seconds(timing, out->sample, out->n_samples);
  }
  seer_call_clear(&c);
  seer_object_unload(&l.loaded);
  out->run_s = (double)(seer_os_now_ns() - start) * 1e-9;
  return status;
}

// ---- checking
seer_status seer_runner_check(seer_runner *runner, const seer_worker_task_state *task,
    const seer_runner_kernel *checked, const seer_runner_kernel *reference,
    const seer_constant_kernels *kernels, seer_arena *arena, seer_measure_result *out) {
  memset(out, 0, sizeof(*out));
  SEER_TRY(use_task(runner, task));
  const seer_sketch *sketch = seer_sketch_of(task->sketches, checked->schedule);
  const seer_sketch *reference_sketch = seer_sketch_of(task->sketches, reference->schedule);
  const seer_call_constants constants = {seer_context_target(runner->context), kernels};
  loaded l = {0}, r = {0};
  seer_call c = {.packed = NULL}, d = {.packed = NULL};
  SEER_TRY(seer_task_memory_share(runner->memory, reference->kernel));
  SEER_TRY(seer_task_memory_share(runner->memory, checked->kernel));
  seer_status status = load(runner, reference->kernel, &r);
  if (!status)
    status = seer_call_prepare_checked(
        runner->memory, reference->kernel, reference_sketch, &constants, arena, &d);
  if (!status) {
    tell_begun(runner);
    call(runner, &r, &d);
  }
  if (!status) status = load(runner, checked->kernel, &l);
  if (!status)
    status =
        seer_call_prepare_checked(runner->memory, checked->kernel, sketch, &constants, arena, &c);
  seer_os_reach("check");
  if (!status) call(runner, &l, &c);
  for (uint32_t b = 0; b < task->dag->n_buf && !status && out->cls == SEER_MEASURED_OK; b++) {
    if (c.out[b] && d.out[b])
      seer_judge_output(runner->memory, b, c.out[b], d.out[b], sketch->tolerance, arena, out);
  }
  seer_call_clear(&c);
  seer_call_clear(&d);
  seer_object_unload(&l.loaded);
  seer_object_unload(&r.loaded);
  return status;
}

// ---- comparing
// One kernel among those that take turns.
typedef struct {
  loaded code;
  seer_call call;
  uint32_t n_calls;
  double ns[SEER_MEASURE_MAX_PAIRS];
} turn;

static void take_turns(seer_runner *runner, turn *turns, uint32_t n_turn, uint32_t n_pairs) {
  uint64_t nth = 0;
  for (uint32_t k = 0; k < n_turn; k++) {
    turn *t = &turns[k];
    (void)sample_ns(runner, &t->code, &t->call, 1, &nth);
    t->n_calls = seer_samples_calls(
        sample_ns(runner, &t->code, &t->call, 1, &nth), SEER_SAMPLE_MIN_NS, SEER_SAMPLE_MAX_CALLS);
  }
  for (uint32_t i = 0; i < n_pairs; i++) {
    seer_cores_await(&runner->cores, runner->pool);
    // Forwards and backwards by turns, so that none always profits from the same neighbour's
    // caches.
    for (uint32_t k = 0; k < n_turn; k++) {
      turn *t = &turns[i % 2 ? n_turn - 1 - k : k];
      t->ns[i] = sample_ns(runner, &t->code, &t->call, t->n_calls, &nth);
    }
  }
}

static void pair_up(const turn *a, const turn *baseline, uint32_t n_pairs, seer_measure_pair *out) {
  for (uint32_t i = 0; i < n_pairs; i++)
    out[i] = (seer_measure_pair){a->ns[i] * 1e-9, baseline->ns[i] * 1e-9};
}

seer_status seer_runner_compare(seer_runner *runner, const seer_worker_task_state *task,
    const seer_kernel *kernels, uint32_t n, uint32_t n_pairs, seer_measure_pair *out) {
  SEER_TRY(use_task(runner, task));
  turn *turns = calloc(n + 1, sizeof(turn));
  if (!turns) return SEER_FAIL(RESOURCE, "no memory for a comparison");
  uint64_t cold = cold_bytes(runner, task);
  SEER_ASSERT(n_pairs <= SEER_MEASURE_MAX_PAIRS, "%u pairs", n_pairs);
  seer_status status = SEER_OK;
  for (uint32_t k = 0; k <= n && !status; k++)
    status = seer_task_memory_share(runner->memory, &kernels[k]);
  for (uint32_t k = 0; k <= n && !status; k++) status = load(runner, &kernels[k], &turns[k].code);
  for (uint32_t k = 0; k <= n && !status; k++) {
    status = seer_call_prepare(runner->memory, &kernels[k], &runner->weights, cold, &turns[k].call);
  }
  if (!status) {
    tell_begun(runner);
    seer_os_reach("compare");
    take_turns(runner, turns, n + 1, n_pairs);
    for (uint32_t k = 0; k < n; k++) pair_up(&turns[k], &turns[n], n_pairs, &out[k * n_pairs]);
  }
  for (uint32_t k = 0; k <= n; k++) {
    seer_call_clear(&turns[k].call);
    seer_object_unload(&turns[k].code.loaded);
  }
  free(turns);
  return status;
}
