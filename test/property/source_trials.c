// source_trials.c - see source_trials.h.
#include "source_trials.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "space/lower.h"
#include "support/levels.h"
#include "support/loop_check.h"
#include "support/random_dag.h"

#define SAMPLES_PER_DAG 2

typedef struct {
  const source_trial *how;
  source_batch *batch;
  seer_arena *arena;  // until all have run
  uint32_t n, n_skipped;
  struct {
    uint64_t seed;
    const loop_expect *expect;
    const seer_sketch *sketch;
    const seer_loop *loop;
    void **data;
  } trial[256];
} trials;

static void add_kernel(
    trials *t, const loop_expect *expect, const seer_schedule *schedule, uint64_t seed) {
  seer_loop *loop;
  seer_vec_code *code;
  const seer_sketch *sketch = expect->list->sketch[schedule->sketch];
  seer_status status = seer_loop_lower(expect->list, schedule, t->arena, &loop);
  if (!status) {
    const char *symbol = seer_arena_printf(t->arena, "k%u", t->n);
    status = seer_gen_code(loop, &t->how->code, symbol, t->arena, &code);
  }
  if (status) {
    seer_status_free(status);
    t->n_skipped++;
    return;
  }
  uint32_t n_parts[SEER_DAG_MAX_STAGES];
  for (uint32_t p = 0; p < loop->n_phase; p++)
    n_parts[p] = (uint32_t)seer_loop_phase_parts(loop, p);
  void **data = loop_expect_data(expect, sketch, loop, t->arena);
  const char *wrong = source_batch_add(t->batch, code, n_parts, data);
  if (wrong) fail_msg("seed %" PRIu64 ": %s", seed, wrong);
  t->trial[t->n].seed = seed;
  t->trial[t->n].expect = expect;
  t->trial[t->n].sketch = sketch;
  t->trial[t->n].loop = loop;
  t->trial[t->n++].data = data;
}

// One sketch of a DAG, with its default schedule and sampled ones.
static void add_dag(trials *t, const seer_target *target, uint64_t seed) {
  random_dag_recipe recipe = random_dag_draw(seed);
  uint32_t kinds;
  seer_dag *dag = random_dag_build(&recipe, t->arena, &kinds);
  seer_sketch_list *list;
  seer_status status = seer_sketch_generate(dag, target, SEER_SPACE_FULL, t->arena, &list);
  if (status) fail_msg("%s", seer_status_message(status));
  const loop_expect *expect = loop_expect_make(list, seed, t->arena);
  seer_rng rng;
  seer_rng_init(&rng, seed);
  uint32_t s = (uint32_t)(seed % list->n);
  seer_schedule schedule;
  seer_schedule_default(list, s, &schedule);
  add_kernel(t, expect, &schedule, seed);
  for (uint32_t k = 0; k < SAMPLES_PER_DAG && t->n < t->how->n_kernel; k++) {
    if (seer_schedule_sample(list, s, &rng, &schedule, NULL) != SEER_REJECT_NONE) continue;
    add_kernel(t, expect, &schedule, seed);
  }
}

static void compare(const trials *t) {
  for (uint32_t k = 0; k < t->n; k++) {
    const char *wrong = loop_expect_compare(
        t->trial[k].expect, t->trial[k].sketch, t->trial[k].loop, t->trial[k].data, t->arena);
    if (wrong)
      fail_msg("kernel %u, seed %" PRIu64 ": %s\n%s", k, t->trial[k].seed, wrong,
          seer_loop_print(t->trial[k].loop, t->arena));
  }
}

bool source_trials_run(
    const source_trial *how, const source_machine *machine, const char *cc, const char *flags) {
  seer_arena *arena = seer_arena_create("test");
  const char *missing = source_missing(machine, cc, arena);
  if (missing) {
    print_message("%s: NOT RUN, there is no %s\n", how->dialect, missing);
    seer_arena_destroy(arena);
    return false;
  }
  test_level level = test_level_get(0, arena);
  uint32_t bytes = how->code.tile.vector_bytes;
  level.target.vector_bytes = bytes < 16 ? 16 : bytes;
  trials *t = SEER_NEW(arena, trials);
  *t = (trials){.how = how, .batch = source_batch_create(how->dialect, arena), .arena = arena};
  const char *text = getenv("SEER_PROPERTY_SEED");
  uint64_t seed = text ? strtoull(text, NULL, 10) : how->seed;
  while (t->n < how->n_kernel) add_dag(t, &level.target, seed++);
  const char *wrong = source_batch_run(t->batch, machine, cc, flags);
  if (wrong) fail_msg("%s", wrong);
  compare(t);
  print_message("%s, %u bytes, %s %s: %u kernels, %u could not be lowered\n", how->dialect,
      how->code.tile.vector_bytes, cc, flags, t->n, t->n_skipped);
  assert_true(t->n_skipped * 10 < t->n);
  seer_arena_destroy(arena);
  return true;
}
