// For random DAGs and random schedules, compiled code gives what the interpreter of the DAG gives,
// to the bit; it never touches memory outside of its buffers, and has no instruction that its
// target lacks. For plain x86-64, its levels 2 to 4 and this machine's own features, the last with
// vectors of 16, 32 and 64 bytes. A level that this machine lacks is compiled and looked at, not
// run, and the test says so.
// SEER_TEST: timeout=300 cost=40
#include <string.h>

#include "support/isa_check.h"
#include "support/jit_check.h"
#include "support/levels.h"
#include "support/random_programs.h"
#include "support/test.h"

#define N_PAIRS 150  // of each, and more while a quota is not met
// Which schedules a seed gives depends on the target: on this machine's for `native`.
#define QUOTA 3

typedef struct {
  jit_runner *runner;
  bool is_run;  // else compiled only
} trial;

static const char *check(void *user, const random_program *p, seer_arena *arena) {
  const trial *t = user;
  if (!t->is_run) return jit_compile(t->runner, p->loop, arena);
  void **data = loop_expect_data(p->expect, p->sketch, p->loop, arena);
  const char *wrong = jit_run(t->runner, p->loop, data, p->draw, arena);
  return wrong ? wrong : loop_expect_compare(p->expect, p->sketch, p->loop, data, arena);
}

static void run(const test_level *level, seer_arena *arena) {
  trial t = {.runner = jit_runner_create(&level->target), .is_run = level->runs_here};
  uint32_t vector_bytes = level->target.vector_bytes;
  random_programs how = {.targets = &level->target,
      .n_targets = 1,
      .max_sketches = 1,
      .has_default = true,
      .n_samples = 2,
      .check = check,
      .user = &t,
      .coverage = SEER_NEW(arena, loop_coverage),
      .quota = QUOTA};
  const char *name = seer_arena_printf(arena, "%s, %u bytes%s", level->name, vector_bytes,
      t.is_run ? "" : ", compiled and NOT RUN (this machine lacks the level)");
  random_programs_check(&how, name, 1000 * strlen(level->name) + vector_bytes, N_PAIRS);
  jit_runner_destroy(t.runner);
}

// Ansor's drafts: register tiles of any size, also those that spill.
static void ansor_space(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  test_level level = test_level_get(TEST_LEVEL_NATIVE, arena);
  trial t = {.runner = jit_runner_create(&level.target), .is_run = level.runs_here};
  random_programs how = {.targets = &level.target,
      .n_targets = 1,
      .space = SEER_SPACE_ANSOR,
      .max_sketches = 2,
      .n_samples = 2,
      .check = check,
      .user = &t};
  random_programs_check(&how, "ansor", 77000, N_PAIRS);
  how.only = "rfactor@";
  random_programs_check(&how, "ansor, reductions in two", 77000, N_PAIRS);
  jit_runner_destroy(t.runner);
  seer_arena_destroy(arena);
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
      {"\tvaddps\t%xmm16, %xmm1, %xmm2", "avx512f"},
      {"\tvpdpbusd\t%zmm0, %zmm1, %zmm2", "avx512vnni"},
      {"{vex}\tvpdpbusd\t%ymm0, %ymm1, %ymm2", "avxvnni"}};
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
      cmocka_unit_test(ansor_space),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
