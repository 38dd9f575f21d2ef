// For random DAGs and random schedules, compiled code gives what the interpreter of the DAG gives,
// to the bit; it never touches memory outside of its buffers. Vector lengths of 4, 8 and 16 lanes.
// SEER_PROPERTY_SEED=n starts elsewhere, SEER_PROPERTY_PAIRS=n tries more.
// SEER_TEST: timeout=300
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dag/random.h"
#include "support/jit_check.h"
#include "support/loop_check.h"

#define N_PAIRS 300
#define SAMPLES_PER_SKETCH 2

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *value = getenv(name);
  return value ? strtoull(value, NULL, 10) : otherwise;
}

typedef struct {
  jit_runner *runner;
  uint64_t n_pairs, n_skipped;
  const char *wrong;
  seer_arena *arena;
} trial;

// Compiles and runs one schedule of the list's DAG.
static const char *check(trial *t, const loop_expect *expect, const seer_schedule *schedule,
    uint64_t seed, seer_arena *arena) {
  const seer_sketch_list *list = expect->list;
  const seer_sketch *sketch = list->sketch[schedule->sketch];
  seer_loop *loop;
  seer_status status = seer_loop_lower(list, schedule, arena, &loop);
  if (status) {
    seer_status_free(status);
    t->n_skipped++;
    return NULL;
  }
  void **data = loop_expect_data(expect, sketch, loop, arena);
  const char *wrong = jit_run(t->runner, loop, data, seed, arena);
  if (!wrong) wrong = loop_expect_compare(expect, sketch, loop, data, arena);
  return wrong ? seer_arena_printf(arena, "%s\n%s", wrong, seer_loop_print(loop, arena)) : NULL;
}

static bool try_schedule(trial *t, const loop_expect *expect, const seer_schedule *schedule,
    uint64_t seed, seer_arena *scratch) {
  t->n_pairs++;
  const char *wrong = check(t, expect, schedule, seed, scratch);
  if (wrong) t->wrong = seer_arena_strdup(t->arena, wrong);
  seer_arena_reset(scratch);
  return wrong != NULL;
}

static bool try_recipe(trial *t, const seer_dag_recipe *recipe) {
  seer_arena *arena = seer_arena_create("dag"), *scratch = seer_arena_create("scratch");
  seer_dag *dag = seer_dag_random_build(recipe, arena, NULL);
  seer_sketch_list *list;
  seer_status status =
      seer_sketch_generate(dag, jit_runner_target(t->runner), SEER_SPACE_FULL, arena, &list);
  if (status) fail_msg("%s", seer_status_message(status));
  const loop_expect *expect = loop_expect_make(list, recipe->seed, arena);
  seer_rng rng;
  seer_rng_init(&rng, recipe->seed);
  bool is_wrong = false;
  for (uint32_t s = 0; s < list->n && !is_wrong; s++) {
    seer_schedule schedule;
    seer_schedule_default(list, s, &schedule);
    is_wrong = try_schedule(t, expect, &schedule, recipe->seed, scratch);
    for (uint64_t k = 0; k < SAMPLES_PER_SKETCH && !is_wrong; k++) {
      if (seer_schedule_sample(list, s, &rng, &schedule, NULL) != SEER_REJECT_NONE) continue;
      is_wrong = try_schedule(t, expect, &schedule, recipe->seed + k, scratch);
    }
  }
  seer_arena_destroy(scratch);
  seer_arena_destroy(arena);
  return is_wrong;
}

static bool still_fails(void *user, const seer_dag_recipe *recipe) {
  trial t = *(trial *)user;
  return try_recipe(&t, recipe);
}

static void run(uint32_t vector_bytes) {
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  seer_status status = seer_target_detect(arena, &target);
  if (status) fail_msg("%s", seer_status_message(status));
  // twice the machine's: LLVM splits them
  if (vector_bytes == 64 && target.vector_bytes == 16) skip();
  target.vector_bytes = vector_bytes;
  uint64_t seed = number("SEER_PROPERTY_SEED", vector_bytes),
           pairs = number("SEER_PROPERTY_PAIRS", N_PAIRS);
  trial t = {.runner = jit_runner_create(&target), .arena = arena};
  for (; t.n_pairs < pairs; seed++) {
    seer_dag_recipe recipe = seer_dag_random_recipe(seed);
    if (!try_recipe(&t, &recipe)) continue;
    fprintf(stderr, "seed %" PRIu64 ": %.200s\n", seed, t.wrong);
    recipe = seer_dag_random_shrink(recipe, still_fails, &t, 200);
    trial again = {.runner = t.runner, .arena = arena};
    bool still = try_recipe(&again, &recipe);
    fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, still ? again.wrong : t.wrong);
    fail_msg("seed %" PRIu64, seed);
  }
  print_message("%u bytes: %" PRIu64 " pairs, %" PRIu64 " could not be lowered\n", vector_bytes,
      t.n_pairs, t.n_skipped);
  assert_true(t.n_skipped * 10 < t.n_pairs);
  jit_runner_destroy(t.runner);
  seer_arena_destroy(arena);
}

static void vectors_of_16_bytes(void **state) { (void)state, run(16); }
static void vectors_of_32_bytes(void **state) { (void)state, run(32); }
static void vectors_of_64_bytes(void **state) { (void)state, run(64); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors_of_16_bytes),
      cmocka_unit_test(vectors_of_32_bytes),
      cmocka_unit_test(vectors_of_64_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
