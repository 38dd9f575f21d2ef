// gpu_tasks.c - the tasks of built-in networks on GPUs that need not be here: how many sketches each
// has, whether its untuned schedule and drawn ones lower, are proved and judged, have code, and come
// through NVRTC without a spill; and how far the estimates of registers are off, from vector code
// and from the nest alone.
//   gpu_tasks [--target cuda:sm_80,cuda:sm_90] [--networks a,b:sequence=384,... | --paper] [--drawn N]
//             [--compile] [--nvrtc FILE] [--space ansor] [--precision bf16] [--threads N]
// --paper: the eight networks of FamilySeer's evaluation. One line a target and network, then what
// was refused and why, with the counts of each target. Each distinct task counts once a target.
// Tasks go side by side on all processors, or N of them, and what comes out does not depend on how
// many. What is held at a time is a network's outline and a schedule a thread. Status 1: something
// was refused.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/os/parallel.h"
#include "base/rng.h"
#include "base/stats.h"
#include "code/gen/generate.h"
#include "code/gpu/build.h"
#include "code/gpu/registers.h"
#include "front/front.h"
#include "learn/gpu/profile.h"
#include "models/models.h"
#include "space/lower.h"

#define MAX_REASONS 64
#define DRAWS 30  // of a sampler that refuses

static const char paper[] =
    "resnet50_v1,resnet152_v2,mobilenet,mobilenet_v2,vit_huge,bert_large,roberta_large,gpt2_small";

typedef struct {
  const char *networks;  // NULL: all
  const char *nvrtc;  // NULL: the toolkit's
  const char *precision;
  seer_target target;
  seer_space_kind space;
  uint32_t n_drawn, n_threads;
  bool compiles;
} options;

typedef struct {
  char text[200];
  uint32_t n;
} reason;

typedef struct {
  uint32_t n_task, n_sketch, n_schedule, n_tiled, n_wrong, n_spilled, n_built, n_kernel, n_products;
} counts;

// A thread's.
typedef struct {
  struct study *study;
  seer_nvrtc *nvrtc;
  seer_arena *arena;
  counts n;
  size_t cap_error;
  double *error;  // of the estimate, relative, by kernel
  size_t cap_early;
  double *early_error;  // of the one without vector code
} worker;

// Of one target.
typedef struct study {
  const options *o;
  seer_map *seen;
  seer_arena *arena;
  uint32_t n_seen;
  pthread_mutex_t lock;  // over reasons
  uint32_t n_reason;
  reason reason[MAX_REASONS];
  uint32_t n_worker;
  worker worker[SEER_PARALLEL_MAX_THREADS];
} study;

// Of one network: those that were not seen before.
typedef struct {
  study *study;
  const seer_task **task;
  uint32_t first;  // number of task[0] among all
} job;

static void die(seer_status status) {
  if (!status) return;
  fprintf(stderr, "gpu_tasks: %s\n", seer_status_message(status));
  seer_status_free(status);
  exit(2);
}

// Numbers and names apart, reasons of one kind count as one.
static void note(worker *w, const char *task, const char *what) {
  study *s = w->study;
  char text[sizeof s->reason[0].text];
  size_t n = 0;
  for (const char *c = what; *c && n + 2 < sizeof text; c++) {
    bool is_number = *c >= '0' && *c <= '9';
    if (is_number && n > 0 && text[n - 1] == '#') continue;
    text[n++] = is_number ? '#' : *c == '\n' ? ' ' : *c;
  }
  text[n] = '\0';
  w->n.n_wrong++;
  pthread_mutex_lock(&s->lock);
  uint32_t k = 0;
  while (k < s->n_reason && strncmp(s->reason[k].text, text, 60) != 0) k++;
  if (k == s->n_reason) fprintf(stderr, "%s: %s\n", task, what);
  if (k == s->n_reason && k < MAX_REASONS) memcpy(s->reason[s->n_reason++].text, text, n + 1);
  if (k < MAX_REASONS) s->reason[k].n++;
  pthread_mutex_unlock(&s->lock);
}

static seer_status compile(worker *w, const seer_loop *loop, const char *schedule,
    const seer_kernel_profile *kernels, uint32_t n_profile, seer_arena *arena) {
  const options *o = w->study->o;
  const seer_gen_machine machine = seer_gen_machine_of_items(true);
  seer_vec_code *code;
  SEER_TRY(seer_gen_code(loop, &machine, "task", arena, &code));
  SEER_TRY(seer_vec_verify(code));
  w->n.n_products += seer_vec_has_mma(code);
  if (!o->compiles) return SEER_OK;
  seer_kernel text, built;
  seer_cubin cubin;
  SEER_TRY(seer_gpu_write(loop, SEER_KERNEL_CUDA_C, "task", arena, &text));
  SEER_TRY(seer_gpu_compile_cuda(
      w->nvrtc, o->target.gpu.architecture, &text, arena, &built));
  SEER_TRY(seer_cubin_read(built.object, built.n_object_bytes, arena, &cubin));
  w->n.n_built++;
  for (uint32_t p = 0; p < code->n_phase; p++) {
    for (uint32_t k = 0; k < cubin.n; k++) {
      if (strcmp(cubin.kernel[k].name, code->phase[p].name) != 0) continue;
      w->n.n_spilled += cubin.kernel[k].frame_bytes != 0;
      if (cubin.kernel[k].frame_bytes != 0)
        fprintf(stderr, "spills %u bytes, %u registers\n%s\n", cubin.kernel[k].frame_bytes,
            cubin.kernel[k].registers, schedule);
      double estimate = seer_gpu_estimate_registers(code, p).estimate;
      w->error = SEER_GROW(w->arena, double, w->error, w->n.n_kernel, &w->cap_error);
      double off = estimate / cubin.kernel[k].registers - 1;
      w->error[w->n.n_kernel] = off < 0 ? -off : off;
      double early = p < n_profile ? kernels[p].estimated_registers : 0;
      off = early / cubin.kernel[k].registers - 1;
      w->early_error = SEER_GROW(w->arena, double, w->early_error, w->n.n_kernel, &w->cap_early);
      w->early_error[w->n.n_kernel++] = off < 0 ? -off : off;
    }
  }
  return SEER_OK;
}

static void try_schedule(worker *w, const char *task, const seer_sketch_list *list,
    const seer_schedule *schedule) {
  seer_arena *arena = seer_arena_create("schedule");
  seer_loop *loop;
  seer_kernel_profile kernels[SEER_PROFILE_MAX_KERNELS];
  const seer_nest *nest = seer_summarise(seer_summariser_create(list, arena), schedule);
  uint32_t n_profile = seer_profile_kernels(nest, list->target, kernels);
  w->n.n_schedule++;
  seer_status status = seer_loop_lower(list, schedule, arena, &loop);
  if (!status) status = compile(w, loop, seer_schedule_print(list, schedule, arena), kernels,
        n_profile, arena);
  if (status) note(w, task, seer_status_message(status));
  seer_status_free(status);
  seer_arena_destroy(arena);
}

static void try_sketches(worker *w, const seer_task *task, uint32_t number, seer_arena *arena) {
  const options *o = w->study->o;
  seer_sketch_list *list;
  seer_status status = seer_sketch_generate(task->dag, &o->target, o->space, arena, &list);
  if (status) {
    note(w, task->name, seer_status_message(status));
    seer_status_free(status);
    return;
  }
  w->n.n_task++;
  w->n.n_sketch += list->n;
  w->n.n_tiled += strstr(list->sketch[0]->signature, "/fuse@") != NULL;
  seer_schedule schedule;
  seer_schedule_default(list, 0, &schedule);
  if (seer_schedule_check(list, &schedule) != SEER_REJECT_NONE)
    note(w, task->name, "its default schedule asks for more than the target has");
  try_schedule(w, task->name, list, &schedule);
  seer_rng rng;
  seer_rng_init(&rng, number);
  for (uint32_t k = 0; k < o->n_drawn; k++) {
    seer_reject reject = SEER_REJECT_PADDING;
    for (uint32_t n = 0; n < DRAWS && reject != SEER_REJECT_NONE; n++)
      reject = seer_schedule_sample(list, k % list->n, &rng, &schedule, NULL);
    if (reject == SEER_REJECT_NONE)
      try_schedule(w, task->name, list, &schedule);
    else
      note(w, task->name,
          seer_arena_printf(arena, "no draft is valid: %s", seer_reject_name(reject)));
  }
}

static void try_task(void *user, uint32_t part, uint32_t thread) {
  const job *j = user;
  worker *w = &j->study->worker[thread];
  if (j->study->o->compiles && !w->nvrtc) die(seer_nvrtc_open(j->study->o->nvrtc, &w->nvrtc));
  seer_arena *arena = seer_arena_create("task");
  try_sketches(w, j->task[part], j->first + part + 1, arena);
  seer_arena_destroy(arena);
}

static counts total(const study *s) {
  counts all = {0};
  for (uint32_t k = 0; k < s->n_worker; k++) {
    const counts *n = &s->worker[k].n;
    all.n_task += n->n_task;
    all.n_sketch += n->n_sketch;
    all.n_schedule += n->n_schedule;
    all.n_tiled += n->n_tiled;
    all.n_wrong += n->n_wrong;
    all.n_spilled += n->n_spilled;
    all.n_built += n->n_built;
    all.n_kernel += n->n_kernel;
    all.n_products += n->n_products;
  }
  return all;
}

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void try_network(study *s, const seer_context *context, const char *name) {
  counts before = total(s);
  seer_arena *arena = seer_arena_create("network");
  seer_graph *graph;
  seer_network *network;
  const char *at = strchr(name, ':');
  die(seer_model_outline(at ? seer_arena_strndup(arena, name, (size_t)(at - name)) : name,
      at ? at + 1 : "", arena, &graph));
  if (!graph) {
    fprintf(stderr, "gpu_tasks: no network is called '%s'\n", name);
    exit(2);
  }
  die(seer_front_resolve(graph, "", NULL));
  die(seer_front_run_passes(context, graph));
  die(seer_network_build(context, graph, arena, &network));
  double start = now_s();
  job j = {s, SEER_NEW_ARRAY(arena, const seer_task *, network->n_task + 1), s->n_seen};
  for (uint32_t t = 0; t < network->n_task; t++) {
    const seer_task *task = &network->task[t];
    uint64_t key = seer_hash_u64(task->key.structure, task->key.shape);
    if (seer_map_get(s->seen, key, NULL)) continue;
    seer_map_set(s->seen, key, 1);
    j.task[s->n_seen++ - j.first] = task;
  }
  seer_parallel(s->n_worker, s->n_seen - j.first, try_task, &j);
  counts n = total(s);
  printf(
      "%-20s %4u tasks not seen before, %4u tiled, %5u sketches, %6u schedules, %5u refused, %5u "
      "of warps, %6u built, %4u kernels spill, %.1f s\n",
      name, n.n_task - before.n_task, n.n_tiled - before.n_tiled, n.n_sketch - before.n_sketch,
      n.n_schedule - before.n_schedule, n.n_wrong - before.n_wrong, n.n_products - before.n_products,
      n.n_built - before.n_built, n.n_spilled - before.n_spilled, now_s() - start);
  fflush(stdout);
  seer_graph_close(graph);
  seer_arena_destroy(arena);
}

static void try_networks(study *s, const seer_context *context) {
  if (!s->o->networks) {
    for (size_t m = 0; m < seer_model_table_count; m++)
      try_network(s, context, seer_model_table[m]->name);
    return;
  }
  for (const char *at = s->o->networks; *at;) {
    size_t n = strcspn(at, ",");
    try_network(s, context, seer_arena_strndup(s->arena, at, n));
    at += n + (at[n] == ',');
  }
}

static double median_error(const study *s, uint32_t n, bool is_early) {
  double *all = SEER_NEW_ARRAY(s->arena, double, n + 1);
  uint32_t at = 0;
  for (uint32_t k = 0; k < s->n_worker; k++) {
    for (uint32_t i = 0; i < s->worker[k].n.n_kernel; i++) 
      all[at++] = is_early ? s->worker[k].early_error[i] : s->worker[k].error[i];
  }
  return seer_median(all, n);
}

// Whether nothing was refused.
static bool try_target(const options *o, const char *target) {
  seer_arena *arena = seer_arena_create("study");
  study s = {.o = o, .arena = arena, .seen = seer_map_create(arena)};
  pthread_mutex_init(&s.lock, NULL);
  s.n_worker = seer_parallel_threads(o->n_threads, SEER_PARALLEL_MAX_THREADS);
  for (uint32_t k = 0; k < s.n_worker; k++)
    s.worker[k] = (worker){.study = &s, .arena = seer_arena_create("errors")};
  seer_context *context;
  die(seer_context_create(&context));
  die(seer_context_set(context, "target", target));
  if (o->precision) die(seer_context_set(context, "precision", o->precision));
  die(seer_context_find_any_target(context));
  double start = now_s();
  printf("%s:\n", target);
  try_networks(&s, context);
  counts n = total(&s);
  printf("%s: %u tasks, %u tiled, %u sketches, %u schedules, %u refused, %u with products of warps, "
         "%u built, %u kernels spill",
      target, n.n_task, n.n_tiled, n.n_sketch, n.n_schedule, n.n_wrong, n.n_products, n.n_built,
      n.n_spilled);
  if (n.n_kernel > 0)
    printf("; estimate of registers off by %.0f %%, without vector code by %.0f %% (median of %u "
           "kernels)",
        100 * median_error(&s, n.n_kernel, false), 100 * median_error(&s, n.n_kernel, true),
        n.n_kernel);
  printf("; %.0f s\n", now_s() - start);
  for (uint32_t k = 0; k < s.n_reason; k++) printf("%6u %s\n", s.reason[k].n, s.reason[k].text);
  seer_context_destroy(context);
  for (uint32_t k = 0; k < s.n_worker; k++) {
    seer_nvrtc_close(s.worker[k].nvrtc);
    seer_arena_destroy(s.worker[k].arena);
  }
  pthread_mutex_destroy(&s.lock);
  seer_arena_destroy(arena);
  return n.n_wrong == 0;
}

static void usage(void) {
  fprintf(stderr,
      "usage: gpu_tasks [--target T,T] [--networks A,B | --paper] [--drawn N] [--compile] [--nvrtc "
      "FILE] [--space full|ansor] [--precision f32|bf16|f16] [--threads N]\n");
  exit(2);
}

static uint32_t number(const char *text) { return (uint32_t)strtoul(text, NULL, 10); }

// Whether it has taken argv[*k], with its value if it has one.
static bool take(options *o, const char **targets, int argc, char **argv, int *k) {
  const char *word = argv[*k];
  if (strcmp(word, "--compile") == 0) return o->compiles = true;
  if (strcmp(word, "--paper") == 0) return (o->networks = paper) != NULL;
  if (*k + 1 >= argc) return false;
  const char *value = argv[++*k];
  if (strcmp(word, "--target") == 0)
    *targets = value;
  else if (strcmp(word, "--networks") == 0)
    o->networks = value;
  else if (strcmp(word, "--nvrtc") == 0)
    o->nvrtc = value;
  else if (strcmp(word, "--precision") == 0)
    o->precision = value;
  else if (strcmp(word, "--drawn") == 0)
    o->n_drawn = number(value);
  else if (strcmp(word, "--threads") == 0)
    o->n_threads = number(value);
  else if (strcmp(word, "--space") == 0)
    o->space = strcmp(value, "ansor") == 0 ? SEER_SPACE_ANSOR : SEER_SPACE_FULL;
  else
    return false;
  return true;
}

int main(int argc, char **argv) {
  seer_arena *arena = seer_arena_create("targets");
  options o = {.n_drawn = 4};
  const char *targets = "cuda:sm_80";
  bool is_fine = true;
  for (int k = 1; k < argc; k++)
    if (!take(&o, &targets, argc, argv, &k)) usage();
  for (const char *at = targets; *at;) {
    size_t n = strcspn(at, ",");
    const char *target = seer_arena_strndup(arena, at, n);
    die(seer_target_parse(target, arena, &o.target));
    is_fine &= try_target(&o, target);
    at += n + (at[n] == ',');
  }
  seer_arena_destroy(arena);
  return is_fine ? 0 : 1;
}
