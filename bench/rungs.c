// rungs.c - what the search reaches on single kernels: with 1 and 2 threads, against what the machine
// gives at that moment (FMA peak; for depthwise kernels the slower one of that and a copy of the
// input's bytes to the output's place, in whatever cache they lie), and Winograd against direct
// convolution.
//   rungs [--seconds S] [--threads 1,2] [--only TEXT [--schedule FILE]]
// Each formulation is searched for S seconds (default 60); then, all rungs in each turn, the best
// kernels and the machine's own figures are timed. A bar is met if the lower end of the median
// ratio's interval meets it. Only quiet turns count: those in which a loop of FMAs with a kernel's
// loads came close to the best FMA peak of the run, before and after the kernel. On a core that is
// shared with somebody else's thread no kernel could (doc/decisions, 29).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/stats.h"
#include "code/kernel.h"
#include "dags.h"
#include "learn/bank.h"
#include "runtime/pool.h"
#include "setup/context.h"
#include "measure/worker/operands.h"
#include "measure/worker/runner.h"
#include "search/search.h"
#include "space/lower.h"

// Of one contender: longer than most bursts of what else the machine does. There are so many turns
// because caches that are shared with others' work are slower for seconds at a time: the median is
// to be of all such stretches, not of one.
#define TURNS 151  // quiet ones
#define MAX_TURNS 4096
#define PATIENCE_S 900  // for all turns, quiet or not
#define MIN_TURNS 31  // fewer quiet ones are no measurement
#define QUIET 0.9  // of the best peak of the run, what the control reaches in a quiet turn
#define TURN_S 0.012
#define ROUND 12
#define FINALISTS 24
#define FINAL_TURNS 8  // of each half
#define MAX_THREADS 64
#define MAX_ENTRIES 64
// Longer pieces libc copies with string instructions, which do not read what they overwrite; the
// stores of a kernel do (0.8 MB from one place to another: 51 us, and 71 us by loads and stores).
#define COPY_PIECE 2048

typedef enum { OF_PEAK, OF_ROOF, OF_DIRECT } goal;

static const struct {
  const char *name;
  enum { CONV, DEPTHWISE, GEMM } kind;
  int64_t size[5];  // conv: rows, channels, out channels, kernel, stride; gemm: m, n, k
  const char *formulation;
  goal goal;
  double bar;
} rungs[] = {
    {"conv 56x56x64 3x3", CONV, {56, 64, 64, 3, 1}, "direct", OF_PEAK, 0.85},
    {"conv 28x28x128 3x3", CONV, {28, 128, 128, 3, 1}, "direct", OF_PEAK, 0.85},
    {"conv 14x14x256 3x3", CONV, {14, 256, 256, 3, 1}, "direct", OF_PEAK, 0.85},
    {"conv 28x28 128->512 1x1", CONV, {28, 128, 512, 1, 1}, "direct", OF_PEAK, 0.85},
    {"gemm 126x1024x1024", GEMM, {126, 1024, 1024}, "direct", OF_PEAK, 0.85},
    {"gemm 126x1024x4096", GEMM, {126, 4096, 1024}, "direct", OF_PEAK, 0.85},
    {"depthwise 112x112x32 3x3", DEPTHWISE, {112, 32, 0, 3, 1}, "direct", OF_ROOF, 0.6},
    {"depthwise 56x56x144 3x3", DEPTHWISE, {56, 144, 0, 3, 1}, "direct", OF_ROOF, 0.6},
    {"depthwise 14x14x384 3x3", DEPTHWISE, {14, 384, 0, 3, 1}, "direct", OF_ROOF, 0.6},
    {"F(4x4) 56x56x64", CONV, {56, 64, 64, 3, 1}, "winograd4", OF_DIRECT, 2},
    {"F(4x4) 28x28x128", CONV, {28, 128, 128, 3, 1}, "winograd4", OF_DIRECT, 2},
};

static void die(seer_status status) {
  if (!status) return;
  fprintf(stderr, "rungs: %s\n", seer_status_message(status));
  exit(1);
}

static double now_s(void) { return (double)seer_os_now_ns() * 1e-9; }

// 95 % interval of the median, by resampling.
static void interval(const double *values, uint32_t n, double *out_low, double *out_high) {
  static double medians[1000];
  double drawn[MAX_TURNS];
  seer_rng rng;
  seer_rng_init(&rng, 1);
  for (uint32_t i = 0; i < SEER_COUNT_OF(medians); i++) {
    for (uint32_t k = 0; k < n; k++) drawn[k] = values[seer_rng_below(&rng, n)];
    medians[i] = seer_median(drawn, n);
  }
  seer_sort_f64(medians, SEER_COUNT_OF(medians));
  *out_low = medians[25];
  *out_high = medians[975];
}

// ---- the machine, all threads at once
typedef seer_status (*figure)(
    const seer_target *target, double stretch_s, double budget_s, double *out_gflops);
typedef struct {
  const seer_target *target;
  figure figure;
  double stretch_s, gflops[MAX_THREADS];
} machine;

static void ask(void *arg, uint32_t part, uint32_t thread) {
  (void)thread;
  machine *m = arg;
  die(m->figure(m->target, m->stretch_s, 0, &m->gflops[part]));
}

// The best stretch of all threads together: a kernel needs them at the same time, too.
static double machine_now(
    seer_pool *pool, figure what, const seer_target *target, double stretch_s) {
  uint32_t n = seer_pool_threads(pool);
  machine m = {.target = target, .figure = what, .stretch_s = stretch_s};
  double best = 0, end = now_s() + TURN_S;
  seer_pool_begin(pool);
  do {
    seer_pool_run(pool, n, ask, &m);
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += m.gflops[i];
    best = fmax(best, sum);
  } while (now_s() < end);
  seer_pool_end(pool);
  return best;
}

// Seconds of copying n_bytes, each thread its part: the best stretch of a turn.
typedef struct {
  seer_pages pages;
  uint8_t *from, *to;
  uint64_t n_bytes;  // of a part
} copy;

// Pages like a kernel's operands. All of them are written before they are read: pages that never
// were are one page of zeros, which a copy would read from the innermost cache.
static void copy_create(copy *c, uint64_t n_bytes, uint32_t n_parts) {
  c->n_bytes = n_bytes / n_parts;
  die(seer_pages_reserve(&c->pages, 2 * n_bytes, "a copy"));
  memset(c->pages.data, 1, c->pages.n_bytes);
  c->from = c->pages.data;
  c->to = c->pages.data + n_bytes;
}

static void copy_part(void *arg, uint32_t part, uint32_t thread) {
  (void)thread;
  const copy *c = arg;
  const uint8_t *from = c->from + part * c->n_bytes;
  uint8_t *to = c->to + part * c->n_bytes;
  for (uint64_t at = 0; at < c->n_bytes; at += COPY_PIECE)
    memcpy(to + at, from + at, c->n_bytes - at < COPY_PIECE ? c->n_bytes - at : COPY_PIECE);
}

static double copy_now(seer_pool *pool, copy *c, double stretch_s) {
  double least = 1, end = now_s() + TURN_S;
  seer_pool_begin(pool);
  do {
    double start = now_s(), t = 0;
    uint32_t n = 0;
    for (; t < stretch_s; n++) {
      seer_pool_run(pool, seer_pool_threads(pool), copy_part, c);
      t = now_s() - start;
    }
    least = fmin(least, t / n);
  } while (now_s() < end);
  seer_pool_end(pool);
  return least;
}

// ---- the search
typedef struct {
  seer_context *context;
  seer_runner *runner;
  seer_codegen *codegen;
  seer_arena *arena;
  seer_worker_task_state task;
  seer_kernel best;
  uint32_t n;  // candidates
} bench;

static bool build(
    bench *b, const seer_schedule *schedule, seer_arena *arena, seer_kernel *out_kernel) {
  seer_loop *loop;
  seer_status status = seer_loop_lower(b->task.sketches, schedule, arena, &loop);
  if (!status) status = seer_codegen_build(b->codegen, loop, "rung", arena, out_kernel);
  bool is_ok = status == NULL;
  seer_status_free(status);
  return is_ok;
}

// The best of the samples, each of TURN_S / 15 or one call, if that is longer. The machine's own
// figures are the best of as long stretches.
static double stretch_of(double kernel_s) { return fmax(TURN_S / 15, kernel_s); }

static double time_kernel(bench *b, const seer_kernel *kernel) {
  seer_measure_result result;
  die(seer_runner_time(b->runner, &b->task, kernel, 0, &(seer_timing){.least_s = TURN_S}, &result));
  double least = result.sample[0];
  for (uint32_t i = 1; i < result.n_samples; i++)
    least = result.sample[i] < least ? result.sample[i] : least;
  return least;
}

static void one_round(bench *b, seer_search *search, seer_bank *bank) {
  seer_proposal proposals[ROUND];
  seer_schedule best;
  uint32_t n;
  double best_s = seer_search_best(search, &best);
  die(seer_search_propose(search, bank, ROUND, proposals, &n));
  // As the tuner does: times are relative to what the best so far takes now.
  double slow = 1;
  if (best_s > 0) {
    seer_arena *arena = seer_arena_create("witness");
    seer_kernel kernel;
    if (!build(b, &best, arena, &kernel)) die(SEER_FAIL(INTERNAL, "built once, not twice"));
    double now = time_kernel(b, &kernel), again = time_kernel(b, &kernel);
    now = fmin(now, again);
    seer_search_witness(search, &best, now);
    slow = now / seer_search_seconds(search, &best);
    best_s = now;
    seer_schedule others[3];
    uint32_t n_other = seer_search_unconfirmed(search, 3, others);
    for (uint32_t i = 0; i < n_other; i++) {
      if (!build(b, &others[i], arena, &kernel)) die(SEER_FAIL(INTERNAL, "built once, not twice"));
      seer_search_witness(search, &others[i], time_kernel(b, &kernel) / slow);
    }
    seer_arena_destroy(arena);
  }
  for (uint32_t i = 0; i < n; i++) {
    seer_arena *arena = seer_arena_create("candidate");
    seer_kernel kernel;
    seer_measure_result result = {.cls = SEER_MEASURED_BUILD_ERROR};
    if (build(b, &proposals[i].schedule, arena, &kernel))
      die(seer_runner_time(
          b->runner, &b->task, &kernel, best_s, &(seer_timing){.least_s = 0.004}, &result));
    result.seconds /= slow;
    seer_search_report(search, &proposals[i].schedule, result.seconds, !result.is_raced_out);
    seer_sample sample = seer_search_sample(
        search, seer_bank_features(bank), &proposals[i].schedule, result.seconds, arena);
    sample.is_raced_out = result.is_raced_out;
    die(seer_bank_add(bank, &sample, 1));
    b->n++;
    seer_arena_destroy(arena);
  }
  die(seer_bank_train(bank, 0));
}

// The best once more, in turns, of which the slower half leaves: single times have been lucky, and
// those of some good ones unlucky.
static seer_kernel final(bench *b, const seer_search *search, const seer_sketch_list *list) {
  typedef struct {
    seer_kernel kernel;
    double least_s;
  } finalist;
  seer_schedule top[FINALISTS];
  finalist finalists[FINALISTS];
  uint32_t n = seer_search_top(search, FINALISTS, top, NULL);
  SEER_ASSERT(n > 0, "%u candidates, and none has a time", b->n);
  uint32_t order[FINALISTS];
  for (uint32_t k = 0; k < n; k++) {
    order[k] = k;
    finalists[k].least_s = INFINITY;
    if (!build(b, &top[k], b->arena, &finalists[k].kernel))
      die(SEER_FAIL(INTERNAL, "built once, not twice"));
  }
  for (; n > 1; n = (n + 1) / 2) {
    for (uint32_t turn = 0; turn < FINAL_TURNS; turn++) {
      for (uint32_t k = 0; k < n; k++) {
        finalist *f = &finalists[order[k]];
        f->least_s = fmin(f->least_s, time_kernel(b, &f->kernel));
      }
    }
    for (uint32_t k = 1; k < n; k++) {  // by insertion
      uint32_t at = k, mine = order[k];
      for (; at > 0 && finalists[order[at - 1]].least_s > finalists[mine].least_s; at--)
        order[at] = order[at - 1];
      order[at] = mine;
    }
  }
  if (getenv("RUNGS_PRINT")) puts(seer_schedule_print(list, &top[order[0]], b->arena));
  return finalists[order[0]].kernel;
}

// The best kernel that `seconds` of search find among the sketches of one formulation.
static void find_best(bench *b, const char *formulation, double seconds) {
  const seer_target *target = seer_context_target(b->context);
  const seer_sketch_list *all = b->task.sketches;
  seer_sketch_list *list = SEER_NEW(b->arena, seer_sketch_list);
  *list = *all;
  list->sketch = SEER_NEW_ARRAY(b->arena, const seer_sketch *, all->n);
  list->n = 0;
  for (uint32_t k = 0; k < all->n; k++) {
    if (strcmp(all->sketch[k]->formulation, formulation) == 0)
      list->sketch[list->n++] = all->sketch[k];
  }
  if (list->n == 0) {
    fprintf(stderr, "rungs: no sketch of formulation %s\n", formulation);
    exit(1);
  }
  b->task.sketches = list;
  static const uint32_t family_of[1] = {0};
  seer_search_options options = {
      .sketches = list, .target = target, .strategy = &seer_strategy_seer, .seed = 1};
  seer_bank_options bank_options = {.n_family = 1,
      .n_task = 1,
      .family_of = family_of,
      .is_over_estimate = true,
      .model = seer_cost_table[0],
      .seed = 1,
      .warm_up = 32};
  seer_search *search;
  seer_bank *bank;
  die(seer_search_create(&options, &search));
  die(seer_bank_create(&bank_options, &bank));
  seer_schedule schedule;
  for (uint32_t k = 0; k < list->n; k++) {
    seer_schedule_default(list, k, &schedule);
    seer_search_queue(search, &schedule, SEER_ORIGIN_UNTUNED);
  }
  double end = now_s() + seconds;
  while (now_s() < end) one_round(b, search, bank);
  b->best = final(b, search, list);
  seer_search_destroy(search);
  seer_bank_destroy(bank);
}

// In place of a search: a schedule as `--print` and RUNGS_PRINT write it.
static void take_schedule(bench *b, const char *path) {
  char *text;
  size_t n;
  seer_schedule schedule;
  die(seer_os_read_file(path, b->arena, 1 << 20, &text, &n));
  die(seer_schedule_parse(b->task.sketches, path, text, n, &schedule));
  if (!build(b, &schedule, b->arena, &b->best)) die(SEER_FAIL(INVALID, "%s has no code", path));
}

// One line of the table: what was found, and how it did in each turn.
typedef struct {
  size_t which;
  char threads[8];
  bench bench;
  seer_kernel direct;  // what Winograd is compared with
  seer_pool *pool;  // for the machine's own figures
  copy copy;
  double kernel_s;  // in the last turn
  uint32_t n_try, n_turn;  // turns begun, and those that were not given up at once
  struct {
    double peak, fed;  // fed: the control's, the lesser of before and after
    double ratio, gflops;
  } turn[MAX_TURNS];
} entry;

static void prepare(entry *e, double seconds, const char *schedule) {
  bench *b = &e->bench;
  b->arena = seer_arena_create("rung");
  die(seer_context_create(&b->context));
  die(seer_context_set(b->context, "threads", e->threads));
  die(seer_context_find_target(b->context));
  const seer_target *target = seer_context_target(b->context);
  die(seer_codegen_create(b->context, target, &b->codegen));
  die(seer_runner_create(b->context, NULL, NULL, &b->runner));
  const int64_t *s = rungs[e->which].size;
  const char *text = rungs[e->which].kind == CONV
      ? bench_conv(b->arena, s[0], s[1], s[2], s[3], s[4])
      : rungs[e->which].kind == DEPTHWISE ? bench_depthwise(b->arena, s[0], s[1], s[3], s[4])
                                          : bench_gemm(b->arena, s[0], s[1], s[2]);
  die(seer_dag_parse("rung", text, strlen(text), b->arena, &b->task.dag));
  die(seer_dag_verify(b->task.dag));
  die(seer_sketch_generate(b->task.dag, target, SEER_SPACE_FULL, b->arena, &b->task.sketches));
  seer_sketch_list *all = b->task.sketches;
  if (rungs[e->which].goal == OF_DIRECT) {
    find_best(b, "direct", seconds);
    e->direct = b->best;
    b->task.sketches = all;
  }
  if (schedule)
    take_schedule(b, schedule);
  else
    find_best(b, rungs[e->which].formulation, seconds);
  e->kernel_s = time_kernel(b, &b->best);
  e->pool = seer_pool_create(target->threads, 1);
  copy_create(&e->copy, (uint64_t)(seer_dag_io_bytes(b->task.dag) / 2), target->threads);
}

// What all turns with as many threads as `like` say of the machine.
static double best_peak(const entry *entries, uint32_t n, const entry *like) {
  double best = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (strcmp(entries[i].threads, like->threads) != 0) continue;
    for (uint32_t k = 0; k < entries[i].n_turn; k++) best = fmax(best, entries[i].turn[k].peak);
  }
  return best;
}

// best_peak: so far; a control below it says at once that the turn would not count.
static void take_turn(entry *e, double best_peak) {
  const seer_target *target = seer_context_target(e->bench.context);
  double flops = seer_dag_flops(e->bench.task.dag);
  double stretch_s = stretch_of(e->kernel_s);
  double before = machine_now(e->pool, seer_target_fed_now, target, stretch_s);
  e->n_try++;
  if (before < QUIET * best_peak) return;
  double t = e->kernel_s = time_kernel(&e->bench, &e->bench.best);
  double peak = machine_now(e->pool, seer_target_peak_now, target, stretch_s), ratio = 0;
  switch (rungs[e->which].goal) {
    case OF_DIRECT:
      ratio = time_kernel(&e->bench, &e->direct) / t;
      break;
    case OF_ROOF:
      ratio = fmax(copy_now(e->pool, &e->copy, stretch_s), flops * 1e-9 / peak) / t;
      break;
    case OF_PEAK:
      ratio = flops / t * 1e-9 / peak;
      break;
  }
  double after = machine_now(e->pool, seer_target_fed_now, target, stretch_s);
  e->turn[e->n_turn].peak = peak;
  e->turn[e->n_turn].fed = fmin(before, after);
  e->turn[e->n_turn].gflops = flops / t * 1e-9;
  e->turn[e->n_turn++].ratio = ratio;
}

static uint32_t count_quiet(const entry *e, double best_peak) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < e->n_turn; k++) n += e->turn[k].fed >= QUIET * best_peak;
  return n;
}

static bool report(const entry *e, double best_peak) {
  double ratio[MAX_TURNS], gflops[MAX_TURNS];
  uint32_t n = 0;
  for (uint32_t k = 0; k < e->n_turn; k++) {
    if (e->turn[k].fed < QUIET * best_peak) continue;
    ratio[n] = e->turn[k].ratio;
    gflops[n++] = e->turn[k].gflops;
  }
  printf("%-26s %-10s %s thread%s ", rungs[e->which].name, rungs[e->which].formulation, e->threads,
      e->threads[0] == '1' ? " " : "s");
  if (n < MIN_TURNS) {
    printf("NOT MEASURED: %u of %u turns quiet, others use the cores\n", n, e->n_try);
    return false;
  }
  double low, high;
  interval(ratio, n, &low, &high);
  static const char *const of[] = {"of the FMA peak", "of FMA peak or copy", "x direct"};
  bool is_met = low >= rungs[e->which].bar;
  printf(
      "%8.1f GFLOP/s  %5.2f [%.2f, %.2f] %-24s bar %.2f: %s  (%u candidates, %u of %u turns "
      "quiet)\n",
      seer_median(gflops, n), seer_median(ratio, n), low, high, of[rungs[e->which].goal], rungs[e->which].bar,
      is_met ? "met" : "MISSED", e->bench.n, n, e->n_try);
  return is_met;
}

static void finish(entry *e) {
  seer_pages_clear(&e->copy.pages);
  seer_pool_destroy(e->pool);
  seer_runner_destroy(e->bench.runner);
  seer_codegen_destroy(e->bench.codegen);
  seer_context_destroy(e->bench.context);
  seer_arena_destroy(e->bench.arena);
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);  // a line shows when it is known, also through a pipe
  double seconds = 60;
  const char *threads = "1,2", *only = "", *schedule = NULL;
  for (int k = 1; k < argc; k += 2) {
    bool has_value = k + 1 < argc;
    if (has_value && strcmp(argv[k], "--seconds") == 0) {
      seconds = atof(argv[k + 1]);
    } else if (has_value && strcmp(argv[k], "--threads") == 0) {
      threads = argv[k + 1];
    } else if (has_value && strcmp(argv[k], "--schedule") == 0) {
      schedule = argv[k + 1];
    } else if (has_value && strcmp(argv[k], "--only") == 0) {
      only = argv[k + 1];
    } else {
      fprintf(
          stderr, "usage: rungs [--seconds S] [--threads 1,2] [--only TEXT [--schedule FILE]]\n");
      return 2;
    }
  }
  static entry entries[MAX_ENTRIES];
  uint32_t n = 0;
  for (size_t i = 0; i < SEER_COUNT_OF(rungs); i++) {
    if (!strstr(rungs[i].name, only)) continue;
    for (const char *at = threads; *at && n < MAX_ENTRIES;
         at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
      entry *e = &entries[n++];
      e->which = i;
      (void)snprintf(e->threads, sizeof e->threads, "%.*s", (int)strcspn(at, ","), at);
      prepare(e, seconds, schedule);
    }
  }
  // All rungs in each turn: a slow stretch of the machine falls on some turns of each, not on all of
  // one.
  bool is_done = false;
  double end = now_s() + PATIENCE_S;
  while (!is_done && now_s() < end) {
    is_done = true;
    for (uint32_t i = 0; i < n; i++) {
      entry *e = &entries[i];
      double best = best_peak(entries, n, e);
      if (count_quiet(e, best) >= TURNS || e->n_turn == MAX_TURNS) continue;
      take_turn(e, best);
      is_done = false;
    }
  }
  bool is_met = true;
  for (uint32_t i = 0; i < n; i++) {
    is_met = report(&entries[i], best_peak(entries, n, &entries[i])) && is_met;
  }
  for (uint32_t i = 0; i < n; i++) finish(&entries[i]);
  return is_met ? 0 : 1;
}
