// streams.c - runs of one library by several threads. The contract: streams.h.
#include "cli/streams.h"

#include <pthread.h>
#include <sched.h>

#include "base/os.h"
#include "base/processors.h"
#include "setup/usage.h"

// All wait here before the first run that counts, so that none runs alone.
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint32_t n_waiting;
  enum { CLOSED, OPEN, CANCELLED } state;
} gate;

typedef struct {
  seer_use use;
  cpu_set_t processors;
  bool is_bound;  // to `processors`
  int64_t n_warmup, n_least;
  double duration_s;
  gate *gate;
  seer_os_thread *thread;
  // filled by its thread
  seer_samples of_run;
  uint64_t begin_ns, end_ns;
  seer_status status;
} stream;

static bool pass(gate *g) {
  pthread_mutex_lock(&g->lock);
  g->n_waiting++;
  pthread_cond_broadcast(&g->changed);
  while (g->state == CLOSED) pthread_cond_wait(&g->changed, &g->lock);
  bool is_open = g->state == OPEN;
  pthread_mutex_unlock(&g->lock);
  return is_open;
}

static void open_gate(gate *g, uint32_t n_expected, bool is_fine) {
  pthread_mutex_lock(&g->lock);
  while (is_fine && g->n_waiting < n_expected) pthread_cond_wait(&g->changed, &g->lock);
  g->state = is_fine ? OPEN : CANCELLED;
  pthread_cond_broadcast(&g->changed);
  pthread_mutex_unlock(&g->lock);
}

static void run(void *arg) {
  stream *s = arg;
  if (s->is_bound) (void)sched_setaffinity(0, sizeof s->processors, &s->processors);
  for (int64_t i = s->n_warmup; i > 0 && !s->status; i--) s->status = seer_use_run(&s->use);
  bool is_open = pass(s->gate);
  s->begin_ns = s->end_ns = seer_os_now_ns();
  uint64_t until = s->begin_ns + (uint64_t)(s->duration_s * 1e9);
  for (int64_t i = 0; is_open && !s->status && (i < s->n_least || s->end_ns < until); i++) {
    uint64_t before = seer_os_now_ns();
    s->status = seer_use_run(&s->use);
    s->end_ns = seer_os_now_ns();
    seer_samples_add(&s->of_run, (double)(s->end_ns - before) * 1e-6, s->use.arena);
  }
}

// Neighbours in the order of cores: two streams share a core only where there are too few.
static bool slice(const seer_processors *all, uint32_t n_streams, uint32_t i, cpu_set_t *out) {
  uint32_t each = all->n / n_streams;
  CPU_ZERO(out);
  for (uint32_t k = i * each; k < (i + 1) * each; k++) CPU_SET(all->order[k], out);
  return each > 0;
}

// Its pool is made while this thread is where the stream will be: threads stay where they were
// made.
static seer_status open_stream(seer_context *context, const seer_use *use, uint32_t n_threads,
    const cpu_set_t *before, stream *s) {
  if (s->is_bound) (void)sched_setaffinity(0, sizeof s->processors, &s->processors);
  seer_status status = seer_use_open_beside(use, n_threads, seer_arena_create("stream"), &s->use);
  if (s->is_bound) (void)sched_setaffinity(0, sizeof *before, before);
  if (!status) status = seer_use_select(&s->use, use->set);
  if (!status) status = seer_use_fill(context, &s->use);
  if (!status && use->n_on_device > 0) status = seer_use_move_to_device(&s->use);
  return status;
}

static seer_status open_all(
    seer_context *context, const seer_use *use, const seer_streams *plan, stream *streams) {
  cpu_set_t allowed;
  seer_processors all;
  bool may_bind = seer_context_bool(context, SEER_OPT_PIN) &&
      sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  if (may_bind) seer_processors_by_core("", &allowed, &all);
  for (uint32_t i = 0; i < plan->n_streams; i++) {
    stream *s = &streams[i];
    s->n_warmup = seer_context_i64(context, SEER_OPT_WARMUP);
    s->n_least = seer_context_i64(context, SEER_OPT_ITERATIONS);
    s->duration_s = seer_context_f64(context, SEER_OPT_DURATION);
    s->is_bound = may_bind && slice(&all, plan->n_streams, i, &s->processors);
    SEER_TRY(open_stream(context, use, plan->n_threads, &allowed, s));
  }
  return SEER_OK;
}

static seer_status run_all(stream *streams, uint32_t n) {
  gate g = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  seer_status status = SEER_OK;
  uint32_t n_made = 0;
  for (uint32_t i = 0; i < n && !status; i++) {
    streams[i].gate = &g;
    status = seer_os_thread_create(run, &streams[i], &streams[i].thread);
    if (!status) n_made++;
  }
  open_gate(&g, n, !status);
  for (uint32_t i = 0; i < n_made; i++) {
    seer_os_thread_join(streams[i].thread);
    status = seer_status_join(status, streams[i].status);
  }
  return status;
}

static void gather(const stream *streams, seer_arena *arena, seer_streams *out) {
  uint64_t begin = UINT64_MAX, end = 0;
  for (uint32_t i = 0; i < out->n_streams; i++) {
    const stream *s = &streams[i];
    if (s->begin_ns < begin) begin = s->begin_ns;
    if (s->end_ns > end) end = s->end_ns;
    for (size_t k = 0; k < s->of_run.n; k++) seer_samples_add(&out->of_run, s->of_run.ms[k], arena);
  }
  seer_samples_finish(&out->of_run);
  out->seconds = (double)(end - begin) * 1e-9;
}

seer_status seer_streams_run(seer_context *context, const seer_use *use, seer_streams *out) {
  int64_t given = seer_context_i64(context, SEER_OPT_THREADS);
  uint32_t n_threads = given > 0 ? (uint32_t)given : seer_os_n_cores();
  *out = (seer_streams){.n_streams = (uint32_t)seer_context_i64(context, SEER_OPT_STREAMS)};
  out->n_threads = n_threads / out->n_streams;
  if (out->n_threads == 0)
    return seer_usage_error(
        "--streams %u needs a thread each, there are %u (--threads; by itself a thread a core)",
        out->n_streams, n_threads);
  stream *streams = SEER_NEW_ARRAY(use->arena, stream, out->n_streams);
  seer_status status = open_all(context, use, out, streams);
  if (!status) status = run_all(streams, out->n_streams);
  if (!status) gather(streams, use->arena, out);
  for (uint32_t i = 0; i < out->n_streams; i++) {
    seer_arena *own = streams[i].use.arena;
    seer_use_close(&streams[i].use);
    if (own) seer_arena_destroy(own);
  }
  return status;
}
