// kernel.c - what one kernel reaches: GFLOP/s of one thread against the machine's measured FMA peak.
//   kernel conv ROWS CHANNELS OUT_CHANNELS KERNEL [STRIDE]     channels last, "same" padding, bias and relu
//   kernel depthwise ROWS CHANNELS KERNEL [STRIDE]
//   kernel gemm M N K
//   kernel dag FILE
//   kernel bytes ROWS CHANNELS OUT_CHANNELS KERNEL [STRIDE]    u8 by i8, and back to u8
//   kernel bytes M N K
// then: --schedule FILE (as --print prints it; default: the sketch's default), --sketch I, --untuned (the choice
// without trials), --search N (best of N candidates, evolved on their times), --log FILE (all of them, for `rank`), --seed S, --print, --loops, --ir, --asm
// (show and do not run), --target TEXT (another one: its code runs where this machine can)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os.h"
#include "code/kernel.h"
#include "dags.h"
#include "learn/feature.h"
#include "space/lower.h"
#include "choose/choose.h"

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);  // whatever else runs
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(seer_status status) {
  if (!status) return;
  fprintf(stderr, "kernel: %s\n", seer_status_message(status));
  exit(1);
}

typedef struct {
  seer_arena *arena;
  seer_target target;
  const seer_sketch_list *list;
  seer_codegen *codegen;
  double flops;
  double phase_s[SEER_DAG_MAX_STAGES];  // best of each phase of the last kernel
} bench;

// Seconds of one run (the best of many), or 0 when the schedule has no code.
static double time_schedule(bench *b, const seer_schedule *schedule, double budget_s,
    seer_kernel *kernel, double *out_build_s) {
  seer_arena *arena = seer_arena_create("candidate");
  seer_loop *loop;
  seer_kernel_phase phase[SEER_DAG_MAX_STAGES];
  seer_loaded loaded;
  die(seer_loop_lower(b->list, schedule, arena, &loop));
  double start = now_s();
  die(seer_codegen_build(b->codegen, loop, "kernel", arena, kernel));
  *out_build_s = now_s() - start;
  die(seer_kernel_load(kernel, phase, &loaded));
  void *buffers[SEER_DAG_MAX_BUFFERS];
  for (uint32_t k = 0; k < kernel->n_arg; k++) {
    size_t n = (kernel->arg[k].n_bytes + 127) & ~(size_t)63;
    float *data = aligned_alloc(64, n);
    for (size_t i = 0; i < n / 4; i++) data[i] = (float)((i * 37 + k) % 17) * 0.125f - 1.0f;
    buffers[k] = data;
  }
  double best = 1e30, total = 0;
  for (uint32_t p = 0; p < kernel->n_phase; p++) b->phase_s[p] = 1e30;
  for (int run = 0; run < 3 || (total < budget_s && run < 2000); run++) {
    double t = 0;
    for (uint32_t p = 0; p < kernel->n_phase; p++) {
      start = now_s();
      for (uint32_t part = 0; part < kernel->n_parts[p]; part++) phase[p](buffers, part);
      double one = now_s() - start;
      if (one < b->phase_s[p]) b->phase_s[p] = one;
      t += one;
    }
    total += t;
    if (t < best) best = t;
  }
  for (uint32_t k = 0; k < kernel->n_arg; k++) free(buffers[k]);
  seer_object_unload(&loaded);
  kernel->object = NULL;
  seer_arena_destroy(arena);
  return best;
}

// By the analytic model, for one thread.
static double estimate(bench *b, const seer_schedule *schedule) {
  seer_target alone = b->target;
  alone.threads = 1;
  return seer_analytic_seconds(
      seer_summarise(seer_summariser_create(b->list, b->arena), schedule), &alone);
}

static void report(bench *b, const seer_schedule *schedule, const char *what) {
  seer_kernel *kernel = SEER_NEW(b->arena, seer_kernel);
  double build_s, seconds = time_schedule(b, schedule, 0.5, kernel, &build_s);
  printf(
      "%s: %.1f GFLOP/s, %.0f %% of %.1f   %.3f ms (model %.3f)   build %.1f ms, %u bytes of code, %u phases\n",
      what, b->flops / seconds / 1e9, 100 * b->flops / seconds / 1e9 / b->target.peak_gflops,
      b->target.peak_gflops, seconds * 1e3, estimate(b, schedule) * 1e3, build_s * 1e3, kernel->code_bytes, kernel->n_phase);
  for (uint32_t p = 0; p < kernel->n_phase && kernel->n_phase > 1; p++) {
    printf("  phase %u: %.3f ms\n", p, b->phase_s[p] * 1e3);
  }
}

// An evolution on measured times alone, without any model: what the models must beat, and times to
// hold them against (`rank`). A quarter of the candidates is drawn at random, the others are mutants
// of the best so far.
#define POPULATION 60

typedef struct {
  uint32_t n;
  seer_schedule schedule[POPULATION];  // best first
  double seconds[POPULATION];
} population;

static void join(population *p, const seer_schedule *schedule, double seconds) {
  if (p->n == POPULATION && seconds >= p->seconds[p->n - 1]) return;
  uint32_t at = p->n < POPULATION ? p->n++ : POPULATION - 1;
  for (; at > 0 && p->seconds[at - 1] > seconds; at--) {
    p->seconds[at] = p->seconds[at - 1];
    p->schedule[at] = p->schedule[at - 1];
  }
  p->seconds[at] = seconds;
  p->schedule[at] = *schedule;
}

static bool draw(bench *b, const population *p, seer_rng *rng, bool at_random, int sketch,
    seer_schedule *out) {
  if (at_random || p->n == 0) {
    uint32_t which = sketch >= 0 ? (uint32_t)sketch : (uint32_t)seer_rng_below(rng, b->list->n);
    return seer_schedule_sample(b->list, which, rng, out, NULL) == SEER_REJECT_NONE;
  }
  double u = seer_rng_f64(rng);
  *out = p->schedule[(uint32_t)(u * u * p->n)];
  for (uint64_t steps = 1 + seer_rng_below(rng, 2); steps > 0; steps--) {
    seer_schedule parent = *out;
    if (seer_schedule_mutate(b->list, rng, &parent, out, NULL) != SEER_REJECT_NONE) return false;
  }
  for (uint32_t i = 0; i < p->n; i++) {
    if (seer_schedule_equal(&p->schedule[i], out)) return false;
  }
  return true;
}

static void search(bench *b, uint32_t n, uint64_t seed, int sketch, const char *dag, FILE *log,
    seer_schedule *out_best) {
  seer_rng rng;
  seer_rng_init(&rng, seed);
  population *p = SEER_NEW(b->arena, population);
  seer_kernel *kernel = SEER_NEW(b->arena, seer_kernel);
  double builds = 0;
  uint32_t n_done = 0;
  if (log) fprintf(log, "%s---\n", dag);
  for (uint32_t k = 0; n_done < n && k < n * 100; k++) {
    seer_schedule s;
    bool at_random = n_done < n / 8 || seer_rng_chance(&rng, 0.125);
    if (!draw(b, p, &rng, at_random, sketch, &s)) continue;
    double build_s, seconds = time_schedule(b, &s, 0.005, kernel, &build_s);
    builds += build_s;
    n_done++;
    if (log) fprintf(log, "%.9g\n%s---\n", seconds, seer_schedule_print(b->list, &s, b->arena));
    if (p->n == 0 || seconds < p->seconds[0])
      fprintf(stderr, "%u: %.1f GFLOP/s\n", n_done, b->flops / seconds / 1e9);
    join(p, &s, seconds);
  }
  if (p->n) *out_best = p->schedule[0];
  printf("%u candidates, %.1f ms a build\n", n_done, builds / n_done * 1e3);
}

int main(int argc, char **argv) {
  bench b = {.arena = seer_arena_create("bench")};
  const char *text = NULL, *file = NULL, *log_path = NULL;
  bool is_untuned = false, print = false, loops = false, ir = false, assembly = false;
  int n_search = 0, sketch = -1;
  uint64_t seed = 1;
  int64_t number[8] = {0};
  int n_number = 0;
  die(seer_target_detect(b.arena, &b.target));
  bool is_here = true;
  for (int k = 2; k < argc; k++) {
    if (strcmp(argv[k], "--schedule") == 0) {
      file = argv[++k];
    } else if (strcmp(argv[k], "--search") == 0) {
      n_search = atoi(argv[++k]);
    } else if (strcmp(argv[k], "--log") == 0) {
      log_path = argv[++k];
    } else if (strcmp(argv[k], "--sketch") == 0) {
      sketch = atoi(argv[++k]);
    } else if (strcmp(argv[k], "--seed") == 0) {
      seed = strtoull(argv[++k], NULL, 10);
    } else if (strcmp(argv[k], "--target") == 0) {
      die(seer_target_parse(argv[++k], b.arena, &b.target));
      seer_status lacks = seer_target_check_here(&b.target);
      is_here = !lacks;
      seer_status_free(lacks);
    } else if (strcmp(argv[k], "--untuned") == 0) {
      is_untuned = true;
    } else if (strcmp(argv[k], "--print") == 0) {
      print = true;
    } else if (strcmp(argv[k], "--loops") == 0) {
      loops = true;
    } else if (strcmp(argv[k], "--ir") == 0) {
      ir = true;
    } else if (strcmp(argv[k], "--asm") == 0) {
      assembly = true;
    } else if (n_number < 8) {
      number[n_number++] = strtoll(argv[k], NULL, 10);
    }
  }
  if (argc > 1 && strcmp(argv[1], "conv") == 0 && n_number >= 4) {
    text = bench_conv(
        b.arena, number[0], number[1], number[2], number[3], n_number > 4 ? number[4] : 1);
  } else if (argc > 1 && strcmp(argv[1], "depthwise") == 0 && n_number >= 3) {
    text = bench_depthwise(b.arena, number[0], number[1], number[2], n_number > 3 ? number[3] : 1);
  } else if (argc > 1 && strcmp(argv[1], "gemm") == 0 && n_number == 3) {
    text = bench_gemm(b.arena, number[0], number[1], number[2]);
  } else if (argc > 1 && strcmp(argv[1], "bytes") == 0 && n_number == 3) {
    text = bench_bytes_gemm(b.arena, number[0], number[1], number[2]);
  } else if (argc > 1 && strcmp(argv[1], "bytes") == 0 && n_number >= 4) {
    text = bench_bytes(
        b.arena, number[0], number[1], number[2], number[3], n_number > 4 ? number[4] : 1);
  } else if (argc > 2 && strcmp(argv[1], "dag") == 0) {
    char *bytes;
    size_t n;
    die(seer_os_read_file(argv[2], b.arena, 1 << 20, &bytes, &n));
    text = bytes;
  } else {
    fprintf(stderr,
        "usage: kernel conv|bytes ROWS CHANNELS OUT_CHANNELS KERNEL [STRIDE] | depthwise ROWS CHANNELS "
        "KERNEL [STRIDE] | gemm|bytes M N K | dag FILE  [options]\n");
    return 2;
  }
  seer_dag *dag;
  seer_sketch_list *list;
  die(seer_dag_parse("bench", text, strlen(text), b.arena, &dag));
  die(seer_dag_verify(dag));
  die(seer_sketch_generate(dag, &b.target, SEER_SPACE_FULL, b.arena, &list));
  b.list = list;
  b.flops = seer_dag_flops(dag);
  die(seer_codegen_create(NULL, &b.target, &b.codegen));
  seer_schedule schedule;
  seer_schedule_default(list, sketch >= 0 ? (uint32_t)sketch : 0, &schedule);
  if (file) {
    char *bytes;
    size_t n;
    die(seer_os_read_file(file, b.arena, 1 << 20, &bytes, &n));
    die(seer_schedule_parse(list, file, bytes, n, &schedule));
  }
  bool is_run = is_here && !ir && !assembly && !loops;
  if (is_run) die(seer_target_measure(&b.target));
  if (is_untuned) {
    seer_target alone = b.target;
    double unused;
    alone.threads = 1;
    die(seer_choose_untuned(&alone, list, 0, seed, 0, &schedule, &unused));
  }
  if (is_run) {
    FILE *log = log_path ? fopen(log_path, "w") : NULL;
    if (log_path && !log) die(SEER_FAIL(IO, "cannot write %s", log_path));
    if (n_search > 0) search(&b, (uint32_t)n_search, seed, sketch, text, log, &schedule);
    if (log && fclose(log) != 0) die(SEER_FAIL(IO, "cannot write %s", log_path));
    report(&b, &schedule, argv[1]);
  }
  if (print) {
    for (uint32_t s = 0; s < list->n; s++)
      printf("# sketch %u: %s\n", s, list->sketch[s]->signature);
    puts(seer_schedule_print(list, &schedule, b.arena));
  }
  if (ir || assembly || loops) {
    seer_loop *loop;
    die(seer_loop_lower(list, &schedule, b.arena, &loop));
    if (loops) puts(seer_loop_print(loop, b.arena));
    if (ir || assembly) puts(seer_codegen_print(b.codegen, loop, assembly, b.arena));
  }
  seer_codegen_destroy(b.codegen);
  seer_arena_destroy(b.arena);
  return 0;
}
