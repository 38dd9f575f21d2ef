// The main property: for random DAGs and random schedules, running the loops gives what the
// interpreter of the DAG gives, to the bit. Also: verify holds, print -> parse -> print is a
// fixpoint, every rule, knob kind, tail, location and DAG kind was met often enough, and every
// planted fault is caught. SEER_PROPERTY_SEED=n starts elsewhere, SEER_PROPERTY_PAIRS=n tries more.
// SEER_TEST: timeout=300
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/coverage.h"
#include "support/loop_check.h"
#include "support/random_dag.h"
#include "support/test_target.h"

#define N_PAIRS 3000
#define MAX_PAIRS_FOR_A_FAULT 1000
#define QUOTA 20
#define SAMPLES_PER_SKETCH 2
#define MAX_SKETCHES 3  // of one DAG: more DAGs see more than more schedules of one

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *value = getenv(name);
  return value ? strtoull(value, NULL, 10) : otherwise;
}

// ---- one DAG

typedef struct {
  loop_coverage *coverage;  // may be NULL
  seer_lower_fault fault;
  uint64_t n_pairs, n_planted;
  const char *wrong;  // in `arena`
  seer_arena *arena;
} trial;

static bool try_schedule(trial *t, const loop_expect *expect, const seer_schedule *schedule,
    uint64_t seed, seer_arena *scratch) {
  bool was_planted;
  t->n_pairs++;
  const char *wrong = loop_check(expect, schedule, t->fault, seed, scratch, &was_planted);
  t->n_planted += was_planted;
  if (t->coverage && !wrong) loop_coverage_note(t->coverage, expect->list, schedule, scratch);
  if (wrong) {
    t->wrong = seer_arena_printf(t->arena, "%s\n%s\n%s%s", wrong,
        expect->list->sketch[schedule->sketch]->signature,
        seer_schedule_print(expect->list, schedule, scratch),
        seer_dag_print(expect->list->sketch[schedule->sketch]->dag, scratch));
  }
  seer_arena_reset(scratch);
  return wrong != NULL;
}

// Some sketches of the recipe's DAG: default, samples, a mutation and a crossover of them. True if
// something is wrong.
static bool try_recipe(trial *t, const random_dag_recipe *recipe) {
  seer_arena *arena = seer_arena_create("dag"), *scratch = seer_arena_create("scratch");
  uint32_t kinds;
  seer_dag *dag = random_dag_build(recipe, arena, &kinds);
  seer_sketch_list *list;
  seer_status status =
      seer_sketch_generate(dag, &test_target_narrow, SEER_SPACE_FULL, arena, &list);
  if (status) fail_msg("%s", seer_status_message(status));
  const loop_expect *expect = loop_expect_make(list, recipe->seed, arena);
  if (t->coverage) loop_coverage_note_kinds(t->coverage, kinds);
  seer_rng rng;
  seer_rng_init(&rng, recipe->seed);
  bool is_wrong = false;
  uint32_t *order = SEER_NEW_ARRAY(arena, uint32_t, list->n);
  for (uint32_t s = 0; s < list->n; s++) order[s] = s;
  seer_rng_shuffle_u32(&rng, order, list->n);
  for (uint32_t k_sketch = 0; k_sketch < list->n && k_sketch < MAX_SKETCHES && !is_wrong;
       k_sketch++) {
    uint32_t s = order[k_sketch];
    seer_schedule schedule, other, child;
    seer_schedule_default(list, s, &schedule);
    is_wrong = try_schedule(t, expect, &schedule, recipe->seed, scratch);
    for (int k = 0; k < SAMPLES_PER_SKETCH && !is_wrong; k++) {
      if (seer_schedule_sample(list, s, &rng, &other, NULL) != SEER_REJECT_NONE) continue;
      is_wrong = try_schedule(t, expect, &other, recipe->seed + (uint64_t)k, scratch);
    }
    if (!is_wrong &&
        seer_schedule_mutate(list, &rng, &schedule, &child, NULL) == SEER_REJECT_NONE) {
      if (t->coverage) t->coverage->mutated++;
      is_wrong = try_schedule(t, expect, &child, recipe->seed, scratch);
    }
    if (is_wrong || seer_schedule_sample(list, s, &rng, &other, NULL) != SEER_REJECT_NONE) continue;
    if (seer_schedule_cross(list, &rng, &schedule, &other, &child, NULL) != SEER_REJECT_NONE)
      continue;
    if (t->coverage) t->coverage->crossed++;
    is_wrong = try_schedule(t, expect, &child, recipe->seed, scratch);
  }
  seer_arena_destroy(scratch);
  seer_arena_destroy(arena);
  return is_wrong;
}

static bool still_fails(void *user, const random_dag_recipe *recipe) {
  seer_arena *arena = user;
  trial t = {.arena = arena};
  return try_recipe(&t, recipe);
}

// ---- tests

static void loops_equal_dag(void **state) {
  (void)state;
  static loop_coverage c;
  uint64_t seed = number("SEER_PROPERTY_SEED", 1), pairs = number("SEER_PROPERTY_PAIRS", N_PAIRS);
  print_message("seed %" PRIu64 "\n", seed);
  seer_arena *arena = seer_arena_create("test");
  trial t = {.coverage = &c, .arena = arena};
  for (; t.n_pairs < pairs; seed++) {
    random_dag_recipe recipe = random_dag_draw(seed);
    if (!try_recipe(&t, &recipe)) continue;
    recipe = random_dag_shrink(recipe, still_fails, arena, 200);
    trial again = {.arena = arena};
    bool still = try_recipe(&again, &recipe);
    const char *wrong = still ? again.wrong : t.wrong;
    fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, wrong);
    fail_msg("seed %" PRIu64, seed);
  }
  loop_coverage_check(&c, QUOTA);
  assert_true(c.mutated >= QUOTA && c.crossed >= QUOTA);
  seer_arena_destroy(arena);
}

static void planted_faults_are_caught(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  for (int fault = SEER_LOWER_FAULT_NONE + 1; fault < SEER_LOWER_FAULT_COUNT; fault++) {
    trial t = {.fault = (seer_lower_fault)fault, .arena = arena};
    bool is_caught = false;
    for (uint64_t seed = 1; t.n_pairs < MAX_PAIRS_FOR_A_FAULT && !is_caught; seed++) {
      random_dag_recipe recipe = random_dag_draw(seed);
      is_caught = try_recipe(&t, &recipe);
    }
    const char *name = seer_lower_fault_name((seer_lower_fault)fault);
    print_message("%s: caught after %" PRIu64 " pairs, planted in %" PRIu64 "\n", name, t.n_pairs,
        t.n_planted);
    if (!is_caught) fail_msg("fault %s is not caught", name);
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_equal_dag),
      cmocka_unit_test(planted_faults_are_caught),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
