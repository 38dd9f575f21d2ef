// gpu_tasks.c - the tasks of built-in networks on a GPU that need not be here: how many sketches each
// has, whether its default schedule and drawn ones lower, are proved and judged, have code, and come
// through NVRTC without a spill; and how far the estimate of registers is off.
//   gpu_tasks [--target cuda:sm_80] [--networks a,b,...] [--drawn N] [--compile] [--space ansor]
// One line a network, then what was refused and why. Each distinct task counts once.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/rng.h"
#include "base/stats.h"
#include "code/gen/generate.h"
#include "code/gpu/build.h"
#include "code/gpu/registers.h"
#include "front/front.h"
#include "models/models.h"
#include "space/lower.h"

#define MAX_REASONS 64
#define DRAWS 30  // of a sampler that refuses

typedef struct {
  const char *networks;  // NULL: all
  seer_target target;
  seer_space_kind space;
  uint32_t n_drawn;
  bool compiles;
} options;

typedef struct {
  char text[200];
  uint32_t n;
} reason;

typedef struct {
  const options *o;
  seer_nvrtc *nvrtc;
  seer_map *seen;
  seer_arena *arena;
  uint32_t n_reason;
  reason reason[MAX_REASONS];
  uint32_t n_task, n_sketch, n_schedule, n_tiled, n_wrong, n_spilled, n_built, n_kernel;
  size_t cap_error;
  double *error;  // of the estimate, relative, by kernel
} study;

static void die(seer_status status) {
  if (!status) return;
  fprintf(stderr, "gpu_tasks: %s\n", seer_status_message(status));
  seer_status_free(status);
  exit(2);
}

// Numbers and names apart, reasons of one kind count as one.
static void note(study *s, const char *task, const char *what) {
  char text[sizeof s->reason[0].text];
  size_t n = 0;
  for (const char *c = what; *c && n + 2 < sizeof text; c++) {
    bool is_number = *c >= '0' && *c <= '9';
    if (is_number && n > 0 && text[n - 1] == '#') continue;
    text[n++] = is_number ? '#' : *c == '\n' ? ' ' : *c;
  }
  text[n] = '\0';
  s->n_wrong++;
  for (uint32_t k = 0; k < s->n_reason; k++) {
    if (strncmp(s->reason[k].text, text, 60) != 0) continue;
    s->reason[k].n++;
    return;
  }
  fprintf(stderr, "%s: %s\n", task, what);
  if (s->n_reason == MAX_REASONS) return;
  memcpy(s->reason[s->n_reason].text, text, n + 1);
  s->reason[s->n_reason++].n = 1;
}

static seer_status compile(
    study *s, const seer_loop *loop, const char *schedule, seer_arena *arena) {
  const seer_gen_machine machine = seer_gen_machine_of_items();
  seer_vec_code *code;
  SEER_TRY(seer_gen_code(loop, &machine, "task", arena, &code));
  if (!s->o->compiles) return SEER_OK;
  seer_kernel text, built;
  seer_cubin cubin;
  SEER_TRY(seer_gpu_write(loop, SEER_KERNEL_CUDA_C, "task", arena, &text));
  SEER_TRY(seer_gpu_compile_cuda(
      s->nvrtc, s->o->target.gpu.architecture, &text, arena, &built));
  SEER_TRY(seer_cubin_read(built.object, built.n_object_bytes, arena, &cubin));
  s->n_built++;
  for (uint32_t p = 0; p < code->n_phase; p++) {
    for (uint32_t k = 0; k < cubin.n; k++) {
      if (strcmp(cubin.kernel[k].name, code->phase[p].name) != 0) continue;
      s->n_spilled += cubin.kernel[k].frame_bytes != 0;
      if (cubin.kernel[k].frame_bytes != 0)
        fprintf(stderr, "spills %u bytes, %u registers\n%s", cubin.kernel[k].frame_bytes,
            cubin.kernel[k].registers, schedule);
      double estimate = seer_gpu_estimate_registers(code, p).estimate;
      s->error = SEER_GROW(s->arena, double, s->error, s->n_kernel, &s->cap_error);
      double off = estimate / cubin.kernel[k].registers - 1;
      s->error[s->n_kernel++] = off < 0 ? -off : off;
    }
  }
  return SEER_OK;
}

static void try_schedule(study *s, const char *task, const seer_sketch_list *list,
    const seer_schedule *schedule) {
  seer_arena *arena = seer_arena_create("schedule");
  seer_loop *loop;
  s->n_schedule++;
  seer_status status = seer_loop_lower(list, schedule, arena, &loop);
  if (!status) status = compile(s, loop, seer_schedule_print(list, schedule, arena), arena);
  if (status) note(s, task, seer_status_message(status));
  seer_status_free(status);
  seer_arena_destroy(arena);
}

static void try_task(study *s, const seer_task *task, seer_arena *arena) {
  seer_sketch_list *list;
  seer_status status =
      seer_sketch_generate(task->dag, &s->o->target, s->o->space, arena, &list);
  if (status) {
    note(s, task->name, seer_status_message(status));
    seer_status_free(status);
    return;
  }
  s->n_task++;
  s->n_sketch += list->n;
  s->n_tiled += strstr(list->sketch[0]->signature, "/fuse@") != NULL;
  seer_schedule schedule;
  seer_schedule_default(list, 0, &schedule);
  if (seer_schedule_check(list, &schedule) != SEER_REJECT_NONE)
    note(s, task->name, "its default schedule asks for more than the target has");
  try_schedule(s, task->name, list, &schedule);
  seer_rng rng;
  seer_rng_init(&rng, s->n_task);
  for (uint32_t k = 0; k < s->o->n_drawn; k++) {
    seer_reject reject = SEER_REJECT_PADDING;
    for (uint32_t n = 0; n < DRAWS && reject != SEER_REJECT_NONE; n++)
      reject = seer_schedule_sample(list, k % list->n, &rng, &schedule, NULL);
    if (reject == SEER_REJECT_NONE)
      try_schedule(s, task->name, list, &schedule);
    else
      note(s, task->name, seer_arena_printf(arena, "no draft is valid: %s", seer_reject_name(reject)));
  }
}

static void try_network(study *s, const seer_context *context, const char *name) {
  study before = *s;
  seer_arena *arena = seer_arena_create("network");
  seer_graph *graph;
  seer_network *network;
  die(seer_model_outline(name, "", arena, &graph));
  die(seer_front_resolve(graph, "", NULL));
  die(seer_front_run_passes(context, graph));
  die(seer_network_build(context, graph, arena, &network));
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (uint32_t t = 0; t < network->n_task; t++) {
    const seer_task *task = &network->task[t];
    uint64_t key = seer_hash_u64(task->key.structure, task->key.shape);
    if (seer_map_get(s->seen, key, NULL)) continue;
    seer_map_set(s->seen, key, 1);
    try_task(s, task, arena);
  }
  clock_gettime(CLOCK_MONOTONIC, &to);
  printf("%-20s %4u tasks not seen before, %4u tiled, %5u sketches, %6u schedules, %5u refused, %6u built, %4u kernels spill, %.1f s\n", name,
      s->n_task - before.n_task, s->n_tiled - before.n_tiled, s->n_sketch - before.n_sketch, s->n_schedule - before.n_schedule,
      s->n_wrong - before.n_wrong, s->n_built - before.n_built, s->n_spilled - before.n_spilled,
      (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
  fflush(stdout);
  seer_graph_close(graph);
  seer_arena_destroy(arena);
}

static bool is_named(const char *list, const char *name) {
  size_t n = strlen(name);
  for (const char *at = list; at; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0')) return true;
  }
  return list == NULL;
}

static void usage(void) {
  fprintf(stderr,
      "usage: gpu_tasks [--target T] [--networks A,B] [--drawn N] [--compile] [--space full|ansor]\n");
  exit(2);
}

int main(int argc, char **argv) {
  seer_arena *arena = seer_arena_create("study");
  options o = {.n_drawn = 4};
  const char *target = "cuda:sm_80";
  for (int k = 1; k < argc; k++) {
    bool has_value = k + 1 < argc;
    if (strcmp(argv[k], "--compile") == 0) {
      o.compiles = true;
    } else if (strcmp(argv[k], "--target") == 0 && has_value) {
      target = argv[++k];
    } else if (strcmp(argv[k], "--networks") == 0 && has_value) {
      o.networks = argv[++k];
    } else if (strcmp(argv[k], "--drawn") == 0 && has_value) {
      o.n_drawn = (uint32_t)strtoul(argv[++k], NULL, 10);
    } else if (strcmp(argv[k], "--space") == 0 && has_value) {
      o.space = strcmp(argv[++k], "ansor") == 0 ? SEER_SPACE_ANSOR : SEER_SPACE_FULL;
    } else {
      usage();
    }
  }
  die(seer_target_parse(target, arena, &o.target));
  study s = {.o = &o, .arena = arena, .seen = seer_map_create(arena)};
  if (o.compiles) die(seer_nvrtc_open(NULL, &s.nvrtc));
  // Networks are cut into tasks as for a processor.
  seer_context *context;
  die(seer_context_create(&context));
  die(seer_context_find_target(context));
  for (size_t m = 0; m < seer_model_table_count; m++) {
    if (is_named(o.networks, seer_model_table[m]->name))
      try_network(&s, context, seer_model_table[m]->name);
  }
  printf("%u tasks, %u tiled, %u sketches, %u schedules, %u refused, %u built, %u kernels spill", s.n_task,
      s.n_tiled, s.n_sketch, s.n_schedule, s.n_wrong, s.n_built, s.n_spilled);
  if (s.n_kernel > 0)
    printf("; estimate of registers off by %.0f %% (median of %u kernels)",
        100 * seer_median(s.error, s.n_kernel), s.n_kernel);
  printf("\n");
  for (uint32_t k = 0; k < s.n_reason; k++)
    printf("%6u %s\n", s.reason[k].n, s.reason[k].text);
  seer_context_destroy(context);
  seer_arena_destroy(arena);
  return s.n_wrong > 0;
}
