// For random DAGs and random schedules, compiled code gives what the interpreter of the DAG gives,
// to the bit; it never touches memory outside of its buffers, and has no instruction that its
// target lacks. For plain x86-64, its levels 2 to 4 and this machine's own features, the last with
// vectors of 16, 32 and 64 bytes. A level that this machine lacks is compiled and looked at, not
// run, and the test says so. SEER_PROPERTY_SEED=n starts elsewhere, SEER_PROPERTY_PAIRS=n tries
// more.
// SEER_TEST: timeout=300
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "space/lower.h"
#include "support/coverage.h"
#include "support/isa_check.h"
#include "support/jit_check.h"
#include "support/levels.h"
#include "support/loop_check.h"
#include "support/random_dag.h"

#define N_PAIRS 150  // of each, and more while a quota is not met
#define SAMPLES_PER_SKETCH 2
#define MAX_SKETCHES 1  // of one DAG: more DAGs see more than more schedules of one
#define QUOTA 3

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *value = getenv(name);
  return value ? strtoull(value, NULL, 10) : otherwise;
}

typedef struct {
  jit_runner *runner;
  bool is_run;  // else compiled only
  loop_coverage *coverage;  // may be NULL
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
  if (t->coverage) loop_coverage_note(t->coverage, list, schedule, arena);
  void **data = loop_expect_data(expect, sketch, loop, arena);
  const char *wrong =
      t->is_run ? jit_run(t->runner, loop, data, seed, arena) : jit_compile(t->runner, loop, arena);
  if (!wrong && t->is_run) wrong = loop_expect_compare(expect, sketch, loop, data, arena);
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

static bool try_recipe(trial *t, const random_dag_recipe *recipe) {
  seer_arena *arena = seer_arena_create("dag"), *scratch = seer_arena_create("scratch");
  uint32_t kinds;
  seer_dag *dag = random_dag_build(recipe, arena, &kinds);
  seer_sketch_list *list;
  seer_status status =
      seer_sketch_generate(dag, jit_runner_target(t->runner), SEER_SPACE_FULL, arena, &list);
  if (status) fail_msg("%s", seer_status_message(status));
  if (t->coverage) loop_coverage_note_kinds(t->coverage, kinds);
  const loop_expect *expect = loop_expect_make(list, recipe->seed, arena);
  seer_rng rng;
  seer_rng_init(&rng, recipe->seed);
  bool is_wrong = false;
  uint32_t *order = SEER_NEW_ARRAY(arena, uint32_t, list->n);
  for (uint32_t k = 0; k < list->n; k++) order[k] = k;
  seer_rng_shuffle_u32(&rng, order, list->n);
  for (uint32_t i = 0; i < list->n && i < MAX_SKETCHES && !is_wrong; i++) {
    uint32_t s = order[i];
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

static bool still_fails(void *user, const random_dag_recipe *recipe) {
  trial t = *(trial *)user;
  t.coverage = NULL;
  return try_recipe(&t, recipe);
}

static void run(const test_level *level, seer_arena *arena) {
  uint32_t vector_bytes = level->target.vector_bytes;
  uint64_t seed = number("SEER_PROPERTY_SEED", 1000 * strlen(level->name) + vector_bytes),
           pairs = number("SEER_PROPERTY_PAIRS", N_PAIRS);
  loop_coverage *met = SEER_NEW(arena, loop_coverage);
  trial t = {.runner = jit_runner_create(&level->target),
      .is_run = level->runs_here,
      .coverage = met,
      .arena = arena};
  // Which schedules a seed gives depends on the target: on this machine's for `native`.
  uint64_t most = 10 * pairs;
  for (; t.n_pairs < pairs || (t.n_pairs < most && loop_coverage_lack(met, QUOTA)); seed++) {
    random_dag_recipe recipe = random_dag_draw(seed);
    if (!try_recipe(&t, &recipe)) continue;
    fprintf(stderr, "%s, seed %" PRIu64 ": %.200s\n", level->name, seed, t.wrong);
    t.coverage = NULL;
    recipe = random_dag_shrink(recipe, still_fails, &t, 200);
    trial again = t;
    again.wrong = NULL;
    bool still = try_recipe(&again, &recipe);
    fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, still ? again.wrong : t.wrong);
    fail_msg("%s, seed %" PRIu64, level->name, seed);
  }
  print_message("%s, %u bytes: %" PRIu64 " pairs %s, %" PRIu64 " could not be lowered\n",
      level->name, vector_bytes, t.n_pairs,
      level->runs_here ? "run" : "compiled and NOT RUN (this machine lacks the level)",
      t.n_skipped);
  loop_coverage_check(met, QUOTA);
  assert_true(t.n_skipped * 10 < t.n_pairs);
  jit_runner_destroy(t.runner);
}

static void run_level(uint32_t which) {
  seer_arena *arena = seer_arena_create("test");
  test_level level = test_level_get(which, arena);
  run(&level, arena);
  seer_arena_destroy(arena);
}

static void plain_x86_64(void **state) { (void)state, run_level(0); }
static void level_2(void **state) { (void)state, run_level(1); }
static void level_3(void **state) { (void)state, run_level(2); }
static void level_4(void **state) { (void)state, run_level(3); }

// Twice the machine's width: LLVM splits the vectors.
static void native(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  test_level level = test_level_get(TEST_LEVEL_NATIVE, arena);
  uint32_t own = level.target.vector_bytes;
  for (uint32_t bytes = 16; bytes <= 64 && bytes <= 2 * own; bytes *= 2) {
    level.target.vector_bytes = bytes;
    run(&level, arena);
  }
  seer_arena_destroy(arena);
}

// The check of instructions: code of one level is not code of the one below.
static void instructions_are_told_apart(void **state) {
  (void)state;
  static const struct {
    const char *instruction, *feature;
  } cases[] = {{"\taddps\t%xmm0, %xmm1", ""}, {"\tmovaps\t(%rdi), %xmm15", ""},
      {"\tpcmpeqd\t%xmm0, %xmm1", ""}, {"\tpextrw\t$1, %xmm0, %eax", ""},
      {"\thaddps\t%xmm0, %xmm1", "sse3"}, {"\tpshufb\t%xmm0, %xmm1", "ssse3"},
      {"\troundps\t$9, %xmm0, %xmm1", "sse4.1"}, {"\tpmulld\t%xmm0, %xmm1", "sse4.1"},
      {"\tpcmpgtq\t%xmm0, %xmm1", "sse4.2"}, {"\tpopcntq\t%rax, %rcx", "popcnt"},
      {"\tvaddps\t%ymm0, %ymm1, %ymm2", "avx"}, {"\tvpaddd\t%xmm0, %xmm1, %xmm2", "avx"},
      {"\tvpaddd\t%ymm0, %ymm1, %ymm2", "avx2"}, {"\tvpermilps\t$1, %ymm0, %ymm1", "avx"},
      {"\tvpbroadcastd\t%xmm0, %xmm1", "avx2"}, {"\tvfmadd231ps\t%xmm0, %xmm1, %xmm2", "fma"},
      {"\tvcvtph2ps\t%xmm0, %ymm1", "f16c"}, {"\tandnps\t%xmm0, %xmm1", ""},
      {"\tandnq\t%rax, %rcx, %rdx", "bmi"}, {"\tshlxq\t%rax, %rcx, %rdx", "bmi2"},
      {"\tvaddps\t%zmm0, %zmm1, %zmm2", "avx512f"}, {"\tkmovw\t%k1, %eax", "avx512f"},
      {"\tvaddps\t%xmm16, %xmm1, %xmm2", "avx512f"}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    if (strcmp(isa_feature_of(cases[i].instruction), cases[i].feature) != 0)
      fail_msg("%s: '%s', expected '%s'", cases[i].instruction,
          isa_feature_of(cases[i].instruction), cases[i].feature);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instructions_are_told_apart),
      cmocka_unit_test(plain_x86_64),
      cmocka_unit_test(level_2),
      cmocka_unit_test(level_3),
      cmocka_unit_test(level_4),
      cmocka_unit_test(native),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
