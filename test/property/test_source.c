// test_source.c - random DAGs under random schedules as source of each dialect: the programs that
// compilers make of it give what the DAG's interpreter gives, and touch nothing outside of their
// buffers. The machines are made up: only what the compiler is asked for must be there.
// SEER_TEST: timeout=300
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "code/gen/generate.h"
#include "support/levels.h"
#include "support/random_programs.h"
#include "support/source_run.h"

typedef struct {
  const char *dialect;
  seer_gen_machine machine;
  uint64_t seed;
  uint32_t n_kernel;
} setting;

typedef struct kernel kernel;
struct kernel {
  random_program program;
  void **data;
  kernel *next;
};

typedef struct {
  const setting *how;
  source_batch *batch;
  seer_arena *arena;  // until all have run
  kernel *kernels;
} trials;

static const char *add_kernel(void *user, const random_program *p, seer_arena *arena) {
  trials *t = user;
  seer_vec_code *code;
  const char *symbol = seer_arena_printf(arena, "k%u", source_batch_n(t->batch));
  seer_status status = seer_gen_code(p->loop, &t->how->machine, symbol, arena, &code);
  if (status) fail_msg("seed %" PRIu64 ": %s", p->seed, seer_status_message(status));
  uint32_t n_parts[SEER_DAG_MAX_STAGES];
  for (uint32_t k = 0; k < p->loop->n_phase; k++)
    n_parts[k] = (uint32_t)seer_loop_phase_parts(p->loop, k);
  kernel *own = SEER_NEW(arena, kernel);
  *own = (kernel){*p, loop_expect_data(p->expect, p->sketch, p->loop, arena), t->kernels};
  t->kernels = own;
  return source_batch_add(t->batch, code, n_parts, own->data);
}

static void compare(const trials *t) {
  for (const kernel *k = t->kernels; k; k = k->next) {
    const random_program *p = &k->program;
    const char *wrong = loop_expect_compare(p->expect, p->sketch, p->loop, k->data, t->arena);
    if (wrong)
      fail_msg("seed %" PRIu64 ": %s\n%s", p->seed, wrong, seer_loop_print(p->loop, t->arena));
  }
}

static void check(const setting *how, const char *cc, const char *flags) {
  seer_arena *arena = seer_arena_create("test");
  if (!source_has_compiler(cc, arena)) {
    print_message("%s: NOT RUN, there is no %s\n", how->dialect, cc);
    seer_arena_destroy(arena);
    return;
  }
  test_level level = test_level_get(0, arena);
  uint32_t bytes = how->machine.tile.vector_bytes;
  level.target.vector_bytes = bytes < 16 ? 16 : bytes;
  trials t = {.how = how, .batch = source_batch_create(how->dialect, arena), .arena = arena};
  random_programs programs = {.targets = &level.target,
      .n_targets = 1,
      .max_sketches = 1,
      .has_default = true,
      .n_samples = 2,
      .check = add_kernel,
      .user = &t,
      .keep = arena};
  const char *name =
      seer_arena_printf(arena, "%s, %u bytes, %s %s", how->dialect, bytes, cc, flags);
  random_programs_check(&programs, name, how->seed, how->n_kernel);
  const char *wrong = source_batch_run(t.batch, cc, flags);
  if (wrong) fail_msg("%s", wrong);
  compare(&t);
  seer_arena_destroy(arena);
}

#define WARNINGS "-Wall -Wextra -Werror"
#define SANITIZE "-fsanitize=address,undefined -fno-sanitize-recover=all"
#define VECTORS "-std=c17 " WARNINGS " "
#define PLAIN "-std=c17 -pedantic " WARNINGS " "

static const seer_gen_machine no_vectors = {.tile = {0, 16}, .masked_bytes = 255};
static const seer_gen_machine plain_16 = {.tile = {16, 16}, .masked_bytes = 255};
static const seer_gen_machine wide_64 = {
    .tile = {64, 32}, .l2_bytes = 1024, .masked_bytes = 1, .has_half = true, .has_rounding = true};
static const seer_gen_machine avx2 = {
    .tile = {32, 16}, .l2_bytes = 1024, .masked_bytes = 4, .has_half = true, .has_rounding = true};

static void vectors_of_16_bytes(void **state) {
  (void)state;
  setting how = {"c-vectors", plain_16, 100, 40};
  check(&how, "gcc", VECTORS "-O1 " SANITIZE);
}

static void vectors_of_32_bytes(void **state) {
  (void)state;
  bool runs_here = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c");
  setting how = {"c-vectors", avx2, 200, 40};
  check(&how, "gcc", runs_here ? VECTORS "-O2 -mavx2 -mfma -mf16c " SANITIZE : VECTORS "-O1");
}

// Longer than this machine's registers.
static void vectors_of_64_bytes(void **state) {
  (void)state;
  setting how = {"c-vectors", wide_64, 300, 30};
  check(&how, "clang", VECTORS "-O1 " SANITIZE);
}

static void no_extensions(void **state) {
  (void)state;
  setting how = {"c", no_vectors, 400, 40};
  check(&how, "gcc", PLAIN "-O1 " SANITIZE);
}

static void no_extensions_clang(void **state) {
  (void)state;
  setting how = {"c", no_vectors, 500, 30};
  check(&how, "clang", PLAIN "-O1 " SANITIZE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors_of_16_bytes),
      cmocka_unit_test(vectors_of_32_bytes),
      cmocka_unit_test(vectors_of_64_bytes),
      cmocka_unit_test(no_extensions),
      cmocka_unit_test(no_extensions_clang),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
