// untuned.c - what the choice without trials gains by more drafts: for each network and number of drafts the sum
// over its tasks of weight times estimate, and what finding it took.
//   untuned [--exact] [--stale N] [--drafts N] [--each] NETWORK...
// SEER_TARGET=cuda:h200 untuned ...: of a GPU. What the default schedules of the first sketches are estimated at stands
// in front.
// --exact: formulations without an error of their own alone; --stale: tries without a gain that end a task's
// search (0: none do); --drafts: this number alone; --each: also by task, what formulation was chosen and what the best exact one is estimated at
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "front/front.h"
#include "learn/feature.h"
#include "models/models.h"
#include "search/unmeasured.h"
#include "space/nest.h"

static const uint32_t numbers[] = {400, 2000, 5000, 20000, 50000};

static void die(seer_status status) {
  if (!status) return;
  fprintf(stderr, "untuned: %s\n", seer_status_message(status));
  exit(1);
}

typedef struct {
  const seer_network *network;
  const seer_target *target;
  seer_arena *arena;
  seer_sketch_list **sketches, **exact;  // by task
  uint32_t n_stale, n_drafts;  // n_drafts 0: several
} bench;

static seer_unmeasured find(const bench *b, uint32_t t, seer_sketch_list *sketches, uint32_t n) {
  seer_unmeasured_options options = {.sketches = sketches,
      .target = b->target,
      .task = t,
      .seed = 1,
      .n_drafts = n,
      .n_stale = b->n_stale};
  seer_unmeasured out;
  die(seer_unmeasured_find(&options, &out));
  return out;
}

static void run(const bench *b, uint32_t n) {
  double sum = 0;
  uint64_t tries = 0, drafted = 0;
  uint64_t start = seer_os_now_ns();
  for (uint32_t t = 0; t < b->network->n_task; t++) {
    seer_unmeasured found = find(b, t, b->sketches[t], n);
    sum += found.estimate_s * b->network->task[t].weight;
    tries += found.n_drafts;
    drafted += found.counts.drafted;
  }
  double seconds = (double)(seer_os_now_ns() - start) * 1e-9;
  printf("  %6u drafts: %9.4f ms, %8.0f tries a task, %8.0f candidates, %.2f s\n", n, sum * 1e3,
      (double)tries / b->network->n_task, (double)drafted / b->network->n_task, seconds);
  fflush(stdout);
}

static void run_defaults(const bench *b) {
  double sum = 0;
  for (uint32_t t = 0; t < b->network->n_task; t++) {
    seer_arena *arena = seer_arena_create("defaults");
    seer_schedule schedule;
    seer_schedule_default(b->sketches[t], 0, &schedule);
    seer_summariser *summariser = seer_summariser_create(b->sketches[t], arena);
    double seconds = seer_analytic_seconds(seer_summarise(summariser, &schedule), b->target);
    sum += seconds * b->network->task[t].weight;
    seer_arena_destroy(arena);
  }
  printf("  first defaults: %9.4f ms\n", sum * 1e3);
}

static void show_each(const bench *b, uint32_t n) {
  for (uint32_t t = 0; t < b->network->n_task; t++) {
    const seer_task *task = &b->network->task[t];
    seer_unmeasured any = find(b, t, b->sketches[t], n), exact = find(b, t, b->exact[t], n);
    printf("  %3u %-44s x%u %9.2f us, exact %9.2f us, %s\n", t, task->name, task->weight,
        any.estimate_s * 1e6, exact.estimate_s * 1e6,
        b->sketches[t]->sketch[any.schedule.sketch]->signature);
  }
}

int main(int argc, char **argv) {
  seer_context *context = NULL;
  bool is_exact = false, is_each = false;
  bench b = {.n_stale = 0};
  die(seer_context_create(&context));
  die(seer_context_find_any_target(context));
  b.target = seer_context_target(context);
  for (int k = 1; k < argc; k++) {
    if (strcmp(argv[k], "--exact") == 0) {
      is_exact = true;
    } else if (strcmp(argv[k], "--each") == 0) {
      is_each = true;
    } else if (strcmp(argv[k], "--stale") == 0 && k + 1 < argc) {
      b.n_stale = (uint32_t)strtoul(argv[++k], NULL, 10);
    } else if (strcmp(argv[k], "--drafts") == 0 && k + 1 < argc) {
      b.n_drafts = (uint32_t)strtoul(argv[++k], NULL, 10);
    } else {
      seer_network *network = NULL;
      b.arena = seer_arena_create("untuned");
      die(seer_front_load(context, argv[k], seer_model_build, b.arena, &network));
      b.network = network;
      b.sketches = SEER_NEW_ARRAY(b.arena, seer_sketch_list *, network->n_task);
      b.exact = SEER_NEW_ARRAY(b.arena, seer_sketch_list *, network->n_task);
      for (uint32_t t = 0; t < network->n_task; t++) {
        for (int e = 0; e < 2; e++) {
          seer_sketch_list **list = e ? &b.exact[t] : &b.sketches[t];
          die(seer_sketch_generate(
              network->task[t].dag, b.target, SEER_SPACE_FULL, b.arena, list));
          if (e || is_exact) seer_sketch_keep_within(*list, 0);
        }
      }
      printf("%s, %u tasks, %s\n", argv[k], network->n_task, is_exact ? "exact" : "all formulations");
      if (!is_each) run_defaults(&b);
      for (size_t i = 0; i < SEER_COUNT_OF(numbers) && !is_each && !b.n_drafts; i++) run(&b, numbers[i]);
      if (!is_each && b.n_drafts) run(&b, b.n_drafts);
      if (is_each) show_each(&b, 20000);
      seer_graph_close(network->graph);
      seer_arena_destroy(b.arena);
    }
  }
  seer_context_destroy(context);
  return 0;
}
