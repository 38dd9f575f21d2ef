// gap.c - where a network loses time that its kernels do not take: replays the steps of a compiled
// library in this process, as they run in the network and with what may be cold made warm before
// each.
//   build/bench/gap FOLDER [--threads N] [--rounds N] [--steps] [--pin] [--json]
// FOLDER holds model.so and weights.bin. A factorial over
//   code          the step's machine code was read by both threads
//   weights       what the step reads of weights.bin was
//   activations   what it reads of earlier steps was
//   pages         weights lie on huge pages instead of 4 KiB ones
// in rounds by turns, medians by step. The effect of one of the first three is the mean over all
// orders in which they can be thrown (Shapley value), so that the effects add up to the difference
// between none and all. What is left then is split by what each thread did: work, uneven halves
// (the longest thread over the mean), hand-over (the rest). Beside it stand the time of each step
// when it has just been run: on the same memory, so that each thread has in its caches what it
// reads and writes itself, or with what it writes, or what it reads, elsewhere; alone as
// the tuner times it (weights from copies that are cold, all else warm), and what the tuner stored.
// --json: all of that as one object, by step, with the latency and the sum of the steps alone of
// each round. Not for networks with loops or branches: what they run is not known before.
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/stats.h"
#include "library.h"
#include "runtime/session.h"

enum { CODE = 1, WEIGHTS = 2, ACTIVATIONS = 4, PAGES = 8, N_SWITCH = 4, N_FACTORIAL = 16 };
enum { REPEATED = N_FACTORIAL, READ, WRITTEN, ALONE, N_CONDITION };
enum { MAX_ROUNDS = 1000, ALONE_CALLS = 6 };
#define COLD_BYTES ((uint64_t)96 << 20)  // copies that weights come from when a step runs alone
static const char *const switch_name[N_SWITCH] = {
    "+ cold code", "+ cold weights", "+ activations from afar", "(on 4 KiB pages more)"};

static void *allocate(size_t n_bytes) {
  void *memory = aligned_alloc(64, (n_bytes + 127) / 64 * 64);
  if (!memory) bench_fail("memory", "there is none");
  return memset(memory, 0, n_bytes);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

// ---- two sessions, and what each thread does in them

typedef struct {
  const seer_rt_set *of;
  seer_session *session[2];  // weights on 4 KiB pages, on huge ones
  seer_pool *pool;
  uint32_t n_thread;
  const bench_library *library;
  uint8_t *cold;  // COLD_BYTES
  bool *is_written;  // by plan argument
  seer_pool_times times;
} replay;

typedef struct {
  double all, mean, most;  // elapsed; busy, mean and most of the threads [us]
} timing;

static timing run_kernel(replay *r, const seer_session *session, uint32_t s, void *const *buffers) {
  const seer_bound_plan *at = session->selected;
  const seer_plan_step *step = &r->of->step[s];
  r->times.mean_s = r->times.most_s = 0;
  const seer_kernel_call call = {
      .phase = r->of->kernels + step->first_phase,
      .n_parts = at->n_parts + step->first_phase,
      .n_phase = step->n_phase,
      .buffers = buffers,
      .n_arg = step->n_arg,
      .scratch = at->scratch,
      .scratch_stride = at->scratch_stride,
      .times = &r->times,
  };
  seer_pool_fault fault;
  double from = now_us();
  if (!seer_pool_run_kernel(r->pool, &call, &fault)) bench_fail("pool", "a part was left out");
  return (timing){now_us() - from, 1e6 * r->times.mean_s, 1e6 * r->times.most_s};
}

// Reads memory by all threads, each all of it.
typedef struct {
  const uint8_t *at;
  uint64_t n_bytes;
} span;

static void touch_part(void *arg, uint32_t part, uint32_t thread) {
  (void)part, (void)thread;
  const span *s = arg;
  for (uint64_t i = 0; i < s->n_bytes; i += 64) (void)*(volatile const uint8_t *)(s->at + i);
}

static void touch(replay *r, const void *at, uint64_t n_bytes) {
  span s = {at, n_bytes};
  if (n_bytes > 0) seer_pool_run(r->pool, r->n_thread, touch_part, &s);
}

static void prepare(replay *r, const seer_session *session, uint32_t s, uint32_t switches) {
  const seer_plan_step *step = &r->of->step[s];
  for (uint32_t i = 0; i < step->n_arg; i++) {
    const seer_plan_arg *arg = &r->of->arg[step->first_arg + i];
    uint32_t kind = arg->kind == SEER_ARG_WEIGHT ? WEIGHTS
        : arg->kind == SEER_ARG_SHARED           ? 0
                                                 : ACTIVATIONS;
    if (switches & kind) touch(r, session->selected->buffer[step->first_arg + i], arg->n_bytes);
  }
  for (uint32_t p = 0; switches & CODE && p < step->n_phase; p++) {
    seer_phase_function function = r->of->kernels[step->first_phase + p];
    const void *at;
    memcpy(&at, &function, sizeof at);
    touch(r, at, bench_library_code_bytes(r->library, function));
  }
}

static timing run_step(replay *r, const seer_session *session, uint32_t s) {
  const seer_plan_step *step = &r->of->step[s];
  void *const *buffer = session->selected->buffer + step->first_arg;
  if (step->kind == SEER_PLAN_KERNEL) return run_kernel(r, session, s, buffer);
  double from = now_us();
  if (step->kind == SEER_PLAN_COPY_BYTES) memmove(buffer[1], buffer[0], step->n_bytes);
  double us = now_us() - from;
  return (timing){us, us, us};
}

// The step once, so that each thread has in its caches what it reads and writes itself: both, or
// only what it reads (it writes elsewhere), or only what it writes.
static void go_ahead(replay *r, const seer_session *session, uint32_t s, uint32_t condition) {
  const seer_plan_step *step = &r->of->step[s];
  void *buffers[SEER_PLAN_MAX_ARGS];
  uint64_t next = 0;
  memcpy(buffers, session->selected->buffer + step->first_arg, step->n_arg * sizeof(void *));
  for (uint32_t i = 0; i < step->n_arg; i++) {
    const seer_plan_arg *arg = &r->of->arg[step->first_arg + i];
    bool is_written = r->is_written[step->first_arg + i];
    if (condition == REPEATED || is_written == (condition == WRITTEN)) continue;
    if (next + arg->n_bytes > COLD_BYTES)
      bench_fail("step", "has more operands than there is room for");
    buffers[i] = r->cold + next;
    next += (arg->n_bytes + 63) / 64 * 64;
  }
  if (step->kind == SEER_PLAN_KERNEL) (void)run_kernel(r, session, s, buffers);
}

// Which arguments a step writes: those of which it changes what stood there.
static void find_written(replay *r, const seer_session *session) {
  enum { MARK = 0x3B };
  r->is_written = allocate((r->of->plan->n_arg + 1) * sizeof *r->is_written);
  seer_pool_begin(r->pool);
  for (uint32_t s = 0; s < r->of->plan->n_step; s++) {
    const seer_plan_step *step = &r->of->step[s];
    for (uint32_t i = step->first_arg; i < step->first_arg + step->n_arg; i++) {
      const seer_plan_arg *arg = &r->of->arg[i];
      uint8_t *at = session->selected->buffer[i];
      if (arg->kind == SEER_ARG_WEIGHT || arg->kind == SEER_ARG_INPUT) continue;
      memset(at, MARK, arg->n_bytes);
      (void)run_step(r, session, s);
      for (uint64_t k = 0; k < arg->n_bytes && !r->is_written[i]; k++)
        r->is_written[i] = at[k] != MARK;
    }
  }
  seer_pool_end(r->pool);
}

// Alone, as the tuner has it: again and again, each time with weights from another copy.
static timing run_alone(replay *r, const seer_session *session, uint32_t s) {
  const seer_plan_step *step = &r->of->step[s];
  if (step->kind != SEER_PLAN_KERNEL) return run_step(r, session, s);
  void *buffers[SEER_PLAN_MAX_ARGS];
  memcpy(buffers, session->selected->buffer + step->first_arg, step->n_arg * sizeof(void *));
  uint64_t next = 0;
  timing sum = {0};
  for (uint32_t call = 0; call < ALONE_CALLS + 2; call++) {
    for (uint32_t i = 0; i < step->n_arg; i++) {
      const seer_plan_arg *arg = &r->of->arg[step->first_arg + i];
      if (arg->kind != SEER_ARG_WEIGHT) continue;
      if (next + arg->n_bytes > COLD_BYTES) next = 0;
      if (arg->n_bytes <= COLD_BYTES) buffers[i] = r->cold + next;
      next += (arg->n_bytes + 63) / 64 * 64;
    }
    timing t = run_kernel(r, session, s, buffers);
    if (call < 2) continue;
    sum.all += t.all / ALONE_CALLS;
    sum.mean += t.mean / ALONE_CALLS;
    sum.most += t.most / ALONE_CALLS;
  }
  return sum;
}

static timing run_condition(
    replay *r, const seer_session *session, uint32_t s, uint32_t condition) {
  if (condition == ALONE) return run_alone(r, session, s);
  if (condition == REPEATED || condition == READ || condition == WRITTEN)
    go_ahead(r, session, s, condition);
  if (condition < N_FACTORIAL) prepare(r, session, s, condition);
  return run_step(r, session, s);
}

// ---- opening

static uint8_t *small_pages(const uint8_t *from, uint64_t n_bytes) {
  uint8_t *to = mmap(NULL, n_bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (to == MAP_FAILED) bench_fail("weights", strerror(errno));
  madvise(to, n_bytes + 1, MADV_NOHUGEPAGE);
  return n_bytes > 0 ? memcpy(to, from, n_bytes) : to;
}

// Everything stays until the program ends.
static replay *open_replay(const char *folder, uint32_t n_threads, bool pin, seer_arena *arena) {
  replay *r = allocate(sizeof *r);
  r->library = bench_library_load(folder, arena);
  r->pool = seer_pool_create(n_threads, pin);
  if (!r->pool) bench_fail("threads", "cannot be made");
  r->n_thread = seer_pool_threads(r->pool);
  r->times.lanes = aligned_alloc(_Alignof(seer_pool_lane), r->n_thread * sizeof(seer_pool_lane));
  if (!r->times.lanes) bench_fail("memory", "there is none");
  for (int pages = 0; pages < 2; pages++) {
    seer_model *model = bench_library_open(r->library);
    r->of = &model->set[0];
    if (pages == 0 && model->weights)
      model->weights = small_pages(model->weights, r->of->plan->weight_bytes);
    r->session[pages] = bench_library_session(model, r->pool, arena);
  }
  r->cold = seer_rt_pages_alloc(COLD_BYTES);
  if (!r->cold) bench_fail("memory", "there is none");
  for (uint64_t i = 0; i < COLD_BYTES / 4; i++) ((float *)(void *)r->cold)[i] = 0.01f;
  find_written(r, r->session[1]);
  return r;
}

// ---- measuring

typedef struct {
  uint32_t n_step, n_round;
  float *all, *mean, *most;  // [condition][step][round], us
  double *latency;  // [round], of whole runs
} samples;

static size_t place(const samples *x, uint32_t condition, uint32_t step, uint32_t round) {
  return ((size_t)condition * x->n_step + step) * x->n_round + round;
}

static void run_network(replay *r, uint32_t condition, uint32_t round, samples *out) {
  seer_session *session = r->session[condition >= N_FACTORIAL || condition & PAGES];
  seer_pool_begin(r->pool);
  for (uint32_t s = 0; s < out->n_step; s++) {
    timing t = run_condition(r, session, s, condition);
    size_t at = place(out, condition, s, round);
    out->all[at] = (float)t.all;
    out->mean[at] = (float)t.mean;
    out->most[at] = (float)t.most;
  }
  seer_pool_end(r->pool);
}

// Twice: the first run finds caches as another condition left them.
static void measure_condition(replay *r, uint32_t condition, uint32_t round, samples *out) {
  for (int k = 0; k < 2; k++) run_network(r, condition, round, out);
}

static void measure(replay *r, samples *out) {
  char message[256];
  for (uint32_t round = 0; round < out->n_round; round++) {
    for (uint32_t c = 0; c < N_CONDITION; c++)
      measure_condition(r, (c * 7 + round) % N_CONDITION, round, out);
    for (int k = 0; k < 3; k++) {
      double from = now_us();
      if (seer_rt_session_run(r->session[1], message, sizeof message) != SEER_RT_OK)
        bench_fail("run", message);
      out->latency[round] = now_us() - from;
    }
  }
}

static double median(const float *values, uint32_t n) {
  double sorted[MAX_ROUNDS];
  for (uint32_t i = 0; i < n; i++) sorted[i] = (double)values[i];
  return seer_median(sorted, n);
}

static double step_us(const samples *x, const float *of, uint32_t condition, uint32_t step) {
  return median(&of[place(x, condition, step, 0)], x->n_round);
}

// Mean over all orders of throwing the switches but that of the pages, of what this one gains on
// huge pages.
static double effect(const double *us, uint32_t nth) {
  static const double factorial[N_SWITCH] = {1, 1, 2, 6};
  double sum = 0;
  for (uint32_t set = 0; set < PAGES; set++) {
    if (set & 1u << nth) continue;
    int n = __builtin_popcount(set);
    double weight = factorial[n] * factorial[N_SWITCH - 2 - n] / factorial[N_SWITCH - 1];
    sum += weight * (us[PAGES | set] - us[PAGES | set | 1u << nth]);
  }
  return sum;
}

typedef struct {
  double natural, work, uneven, hand_over, effect[N_SWITCH], repeated, read, written, alone, stored;
} account;

static account account_of(const samples *x, uint32_t step) {
  double us[N_FACTORIAL];
  for (uint32_t c = 0; c < N_FACTORIAL; c++) us[c] = step_us(x, x->all, c, step);
  account a = {.natural = us[PAGES]};
  for (uint32_t k = 0; k + 1 < N_SWITCH; k++) a.effect[k] = effect(us, k);
  a.effect[N_SWITCH - 1] = us[0] - us[PAGES];
  const uint32_t all = N_FACTORIAL - 1;
  a.work = step_us(x, x->mean, all, step);
  a.uneven = step_us(x, x->most, all, step) - a.work;
  a.hand_over = us[all] - a.work - a.uneven;
  a.repeated = step_us(x, x->all, REPEATED, step);
  a.read = step_us(x, x->all, READ, step);
  a.written = step_us(x, x->all, WRITTEN, step);
  a.alone = step_us(x, x->all, ALONE, step);
  return a;
}

// ---- what the tuner stored, by step

static void read_stored(const seer_rt_set *of, double *out_us) {
  const char *text = (const char *)of->plan + of->plan->json_offset;
  json_t *info = json_loads(text, 0, NULL), *steps = json_object_get(info, "steps"),
         *tasks = json_object_get(info, "tasks");
  uint32_t at = 0;  // views are no steps of the plan
  for (size_t i = 0; i < json_array_size(steps); i++) {
    const json_t *step = json_array_get(steps, i), *task = json_object_get(step, "task");
    const char *name = json_string_value(json_object_get(step, "name"));
    while (at < of->plan->n_step && name && strcmp(bench_step_name(of, at), name) != 0) at++;
    if (at == of->plan->n_step) break;
    const json_t *its = json_array_get(tasks, (size_t)json_integer_value(task));
    if (task) out_us[at] = 1e6 * json_number_value(json_object_get(its, "seconds"));
    at++;
  }
  json_decref(info);
}

// ---- telling

static void add(account *to, const account *a) {
  double *sum = (double *)to;
  const double *own = (const double *)a;
  for (size_t i = 0; i < sizeof *to / sizeof *sum; i++) sum[i] += own[i];
}

static void tell_step(const replay *r, uint32_t s, const account *a) {
  printf("%-40.40s %9.2f %9.2f %8.2f %8.2f", bench_step_name(r->of, s), a->natural, a->work,
      a->uneven, a->hand_over);
  for (uint32_t k = 0; k < N_SWITCH; k++) printf(" %8.2f", a->effect[k]);
  printf(" %9.2f %9.2f %9.2f %9.2f %9.2f\n", a->repeated, a->read, a->written, a->alone, a->stored);
}

static void row(const char *name, double us, double latency) {
  printf("  %-34s %10.1f us %6.1f %%\n", name, us, 100 * us / latency);
}

static void tell(const account *a, double latency) {
  row("latency, whole runs (median)", latency, latency);
  row("sum of steps as they run", a->natural, latency);
  row("= work", a->work, latency);
  row("+ uneven halves", a->uneven, latency);
  row("+ hand-over", a->hand_over, latency);
  for (uint32_t k = 0; k < N_SWITCH; k++) row(switch_name[k], a->effect[k], latency);
  row("steps repeated on the spot", a->repeated, latency);
  row("  what is written is elsewhere", a->read, latency);
  row("  what is read is elsewhere", a->written, latency);
  row("steps alone, as the tuner times", a->alone, latency);
  if (a->stored > 0) row("as the tuner stored them", a->stored, latency);
}

// ---- the same for programs

// Of an account, in its order.
static const char *const field_name[] = {"runs_us", "work_us", "uneven_us", "hand_over_us",
    "cold_code_us", "cold_weights_us", "far_activations_us", "small_pages_us", "repeated_us",
    "read_us", "written_us", "alone_us", "stored_us"};
_Static_assert(sizeof field_name / sizeof *field_name == sizeof(account) / sizeof(double),
    "each field has a name");

static json_t *json_account(const account *a) {
  json_t *to = json_object();
  const double *value = (const double *)a;
  for (size_t i = 0; i < sizeof field_name / sizeof *field_name; i++)
    json_object_set_new(to, field_name[i], json_real(value[i]));
  return to;
}

static json_t *json_step(const replay *r, uint32_t s, const account *a) {
  uint32_t kind = r->of->step[s].kind;
  json_t *to = json_account(a);
  json_object_set_new(to, "name", json_string(bench_step_name(r->of, s)));
  json_object_set_new(to, "kind",
      json_string(kind == SEER_PLAN_KERNEL   ? "kernel"
              : kind == SEER_PLAN_COPY_BYTES ? "copy"
                                             : "view"));
  return to;
}

// What of one round belongs together: latency, and the sum of the steps alone.
static json_t *json_rounds(const samples *x) {
  json_t *rounds = json_array();
  for (uint32_t round = 0; round < x->n_round; round++) {
    double alone = 0;
    for (uint32_t s = 0; s < x->n_step; s++) alone += (double)x->all[place(x, ALONE, s, round)];
    json_array_append_new(
        rounds, json_pack("{s:f, s:f}", "latency_us", x->latency[round], "alone_us", alone));
  }
  return rounds;
}

static void tell_json(
    const replay *r, const account *sum, double latency, json_t *rounds, json_t *steps) {
  json_t *all = json_pack("{s:i, s:f, s:o, s:O, s:O}", "threads", (int)r->n_thread, "latency_us",
      latency, "sum", json_account(sum), "steps", steps, "rounds", rounds);
  if (!all || json_dumpf(all, stdout, JSON_COMPACT) != 0) bench_fail("JSON", "cannot be written");
  putchar('\n');
  json_decref(all);
}

int main(int argc, char **argv) {
  const char *folder = NULL;
  uint32_t n_threads = 2;
  bool is_by_step = false, as_json = false, pin = false;
  samples x = {.n_round = 60};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      n_threads = (uint32_t)atoi(argv[++i]);
    else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
      x.n_round = (uint32_t)atoi(argv[++i]);
    else if (strcmp(argv[i], "--steps") == 0)
      is_by_step = true;
    else if (strcmp(argv[i], "--json") == 0)
      as_json = true;
    else if (strcmp(argv[i], "--pin") == 0)
      pin = true;
    else
      folder = argv[i];
  }
  if (!folder || folder[0] == '-' || x.n_round < 1 || x.n_round > MAX_ROUNDS) {
    fprintf(stderr, "usage: gap FOLDER [--threads N] [--rounds N] [--steps] [--pin] [--json]\n");
    return 2;
  }
  seer_arena *arena = seer_arena_create(0);
  replay *r = open_replay(folder, n_threads, pin, arena);
  x.n_step = r->of->plan->n_step;
  size_t n = (size_t)N_CONDITION * x.n_step * x.n_round;
  x.all = allocate(n * sizeof *x.all);
  x.mean = allocate(n * sizeof *x.mean);
  x.most = allocate(n * sizeof *x.most);
  x.latency = allocate(x.n_round * sizeof *x.latency);
  double *stored = allocate((x.n_step + 1) * sizeof *stored);
  read_stored(r->of, stored);
  measure(r, &x);
  account sum = {0};
  json_t *rounds = json_rounds(&x), *steps = json_array();
  if (is_by_step && !as_json)
    printf("%-40s %9s %9s %8s %8s %8s %8s %8s %8s %9s %9s %9s %9s %9s\n", "step [us]", "runs",
        "work", "uneven", "handover", "code", "weights", "activat.", "pages", "repeated", "read",
        "written", "alone", "stored");
  for (uint32_t s = 0; s < x.n_step; s++) {
    account a = account_of(&x, s);
    a.stored = stored[s];
    if (is_by_step && !as_json) tell_step(r, s, &a);
    json_array_append_new(steps, json_step(r, s, &a));
    add(&sum, &a);
  }
  seer_sort_f64(x.latency, x.n_round);
  double latency = seer_sorted_median(x.latency, x.n_round);
  if (as_json)
    tell_json(r, &sum, latency, rounds, steps);
  else
    tell(&sum, latency);
  json_decref(steps);
  json_decref(rounds);
  seer_arena_destroy(arena);
  return 0;
}
