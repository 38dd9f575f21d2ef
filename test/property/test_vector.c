// For random DAGs, random schedules and made-up processors: the vector code that is made of them
// passes its verifier, its text form comes back as it was, and the interpreter finds no fault in it
// and gives what the interpreter of the DAG gives, to the bit. Faults that are planted in the
// finished code are caught by one of them, or give a wrong answer. SEER_PROPERTY_SEED=n starts
// elsewhere, SEER_PROPERTY_PAIRS=n tries more.
// SEER_TEST: timeout=300
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "code/gen/generate.h"
#include "space/lower.h"
#include "support/coverage.h"
#include "support/loop_check.h"
#include "support/random_dag.h"
#include "vector_faults.h"
#include "vector_machines.h"

#define N_PAIRS 600
#define SAMPLES 2
#define QUOTA 3
#define N_FAULTY_PAIRS 1000

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *value = getenv(name);
  return value ? strtoull(value, NULL, 10) : otherwise;
}

typedef struct {
  const seer_gen_machine *machine;
  uint32_t masked;
  loop_coverage *coverage;  // may be NULL
  vector_fault_tally *faults;  // NULL: none are planted
  uint64_t n_pairs, n_skipped;
  const char *wrong;
  seer_arena *arena;
} trial;

static const char *failed(seer_status status, const char *what, seer_arena *arena) {
  const char *message = seer_arena_printf(arena, "%s: %s", what, seer_status_message(status));
  seer_status_free(status);
  return message;
}

// Verified, printed, parsed and printed again.
static const char *check_text(const seer_vec_code *code, seer_arena *arena) {
  const char *text = seer_vec_print(code, arena);
  seer_vec_code *again;
  seer_status status = seer_vec_verify(code);
  if (status) return failed(status, "verify", arena);
  status = seer_vec_parse("printed", text, strlen(text), code->loop, arena, &again);
  if (status) return failed(status, "parse", arena);
  status = seer_vec_verify(again);
  if (status) return failed(status, "verify what was parsed", arena);
  return strcmp(seer_vec_print(again, arena), text) == 0 ? NULL : "another text after parsing";
}

static const char *check_answer(const loop_expect *expect, const seer_sketch *sketch,
    const seer_vec_code *code, uint64_t seed, seer_arena *arena) {
  void **data = loop_expect_data(expect, sketch, code->loop, arena);
  seer_rng rng;
  seer_rng_init(&rng, seed);
  seer_status status = seer_vec_eval(code, data, &rng);
  if (status) return failed(status, "eval", arena);
  return loop_expect_compare(expect, sketch, code->loop, data, arena);
}

typedef struct {
  const loop_expect *expect;
  const seer_sketch *sketch;
  uint64_t seed;
} judge;

// How a fault shows.
static vector_fault_found find_fault(void *user, const seer_vec_code *code, seer_arena *arena) {
  const judge *j = user;
  seer_status status = seer_vec_verify(code);
  if (status) {
    seer_status_free(status);
    return VECTOR_FAULT_VERIFY;
  }
  const char *wrong = check_answer(j->expect, j->sketch, code, j->seed, arena);
  if (!wrong) return VECTOR_FAULT_NOT_FOUND;
  return strncmp(wrong, "eval", 4) == 0 ? VECTOR_FAULT_EVAL : VECTOR_FAULT_ANSWER;
}

static const char *check(trial *t, const loop_expect *expect, const seer_schedule *schedule,
    uint64_t seed, seer_arena *arena) {
  const seer_sketch_list *list = expect->list;
  const seer_sketch *sketch = list->sketch[schedule->sketch];
  seer_loop *loop;
  seer_vec_code *code;
  seer_status status = seer_loop_lower(list, schedule, arena, &loop);
  if (status) {
    seer_status_free(status);
    t->n_skipped++;
    return NULL;
  }
  if (t->coverage) loop_coverage_note(t->coverage, list, schedule, arena);
  status = seer_gen_code(loop, t->machine, "kernel", arena, &code);
  if (status) return failed(status, "generate", arena);
  const char *wrong = check_text(code, arena);
  if (!wrong) wrong = check_answer(expect, sketch, code, seed, arena);
  if (wrong)
    return seer_arena_printf(
        arena, "%s\n%s\n%s", wrong, seer_loop_print(loop, arena), seer_vec_print(code, arena));
  judge j = {expect, sketch, seed};
  if (t->faults) vector_faults_plant(t->faults, code, seed, find_fault, &j);
  return NULL;
}

static bool try_schedule(trial *t, const loop_expect *expect, const seer_schedule *schedule,
    uint64_t seed, seer_arena *scratch) {
  t->n_pairs++;
  const char *wrong = check(t, expect, schedule, seed, scratch);
  if (wrong) t->wrong = seer_arena_strdup(t->arena, wrong);
  seer_arena_reset(scratch);
  return wrong != NULL;
}

// One sketch of the recipe's DAG: its default and some samples.
static bool try_recipe(trial *t, const random_dag_recipe *recipe) {
  seer_arena *arena = seer_arena_create("dag"), *scratch = seer_arena_create("scratch");
  uint32_t kinds;
  seer_dag *dag = random_dag_build(recipe, arena, &kinds);
  t->machine = &vector_machines[recipe->seed % SEER_COUNT_OF(vector_machines)];
  seer_target target = {.vector_bytes = t->machine->tile.vector_bytes,
      .threads = 2,
      .n_vector_registers = t->machine->tile.n_vector_registers};
  seer_sketch_list *list;
  seer_status status = seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &list);
  if (status) fail_msg("%s", seer_status_message(status));
  if (t->coverage) loop_coverage_note_kinds(t->coverage, kinds);
  const loop_expect *expect = loop_expect_make(list, recipe->seed, arena);
  seer_rng rng;
  seer_rng_init(&rng, recipe->seed);
  uint32_t sketch = (uint32_t)seer_rng_below(&rng, list->n);
  seer_schedule schedule;
  seer_schedule_default(list, sketch, &schedule);
  bool is_wrong = try_schedule(t, expect, &schedule, recipe->seed, scratch);
  for (uint64_t k = 0; k < SAMPLES && !is_wrong; k++) {
    if (seer_schedule_sample(list, sketch, &rng, &schedule, NULL) != SEER_REJECT_NONE) continue;
    is_wrong = try_schedule(t, expect, &schedule, recipe->seed + k, scratch);
  }
  seer_arena_destroy(scratch);
  seer_arena_destroy(arena);
  return is_wrong;
}

static bool still_fails(void *user, const random_dag_recipe *recipe) {
  trial t = *(trial *)user;
  t.coverage = NULL;
  return try_recipe(&t, recipe);
}

// Makes the case smaller, and fails the test.
static void report(trial *t, uint64_t seed) {
  fprintf(stderr, "seed %" PRIu64 ": %.300s\n", seed, t->wrong);
  t->coverage = NULL;
  t->faults = NULL;
  random_dag_recipe recipe = random_dag_draw(seed);
  recipe = random_dag_shrink(recipe, still_fails, t, 200);
  trial again = *t;
  again.wrong = NULL;
  bool still = try_recipe(&again, &recipe);
  fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, still ? again.wrong : t->wrong);
  fail_msg("seed %" PRIu64, seed);
}

static void code_gives_what_the_dag_gives(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint64_t seed = number("SEER_PROPERTY_SEED", 1), pairs = number("SEER_PROPERTY_PAIRS", N_PAIRS);
  loop_coverage *met = SEER_NEW(arena, loop_coverage);
  trial t = {.coverage = met, .arena = arena};
  uint64_t most = 10 * pairs;
  for (; t.n_pairs < pairs || (t.n_pairs < most && loop_coverage_lack(met, QUOTA)); seed++) {
    random_dag_recipe recipe = random_dag_draw(seed);
    if (try_recipe(&t, &recipe)) report(&t, seed);
  }
  print_message("%" PRIu64 " pairs, %" PRIu64 " could not be lowered\n", t.n_pairs, t.n_skipped);
  loop_coverage_check(met, QUOTA);
  assert_true(t.n_skipped * 10 < t.n_pairs);
  seer_arena_destroy(arena);
}

static void planted_faults_are_caught(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint64_t seed = number("SEER_PROPERTY_SEED", 1) + 1000000;
  trial t = {.arena = arena, .faults = vector_fault_tally_create(arena)};
  const uint64_t pairs = N_FAULTY_PAIRS, most = 5 * pairs;
  for (; t.n_pairs < pairs || (t.n_pairs < most && vector_faults_lack(t.faults)); seed++) {
    random_dag_recipe recipe = random_dag_draw(seed);
    if (try_recipe(&t, &recipe)) report(&t, seed);
  }
  vector_faults_check(t.faults);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(code_gives_what_the_dag_gives),
      cmocka_unit_test(planted_faults_are_caught),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
