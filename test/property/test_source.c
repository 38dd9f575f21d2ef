// test_source.c - random DAGs under random schedules as source of each dialect: the programs that
// compilers make of it give what the DAG's interpreter gives, and touch nothing outside of their
// buffers. The machines are made up: only what the compiler is asked for must be there.
// SEER_TEST: timeout=300 cost=40
#include "source_trials.h"
#include "support/test.h"

#define WARNINGS "-Wall -Wextra -Werror"
// What is undefined or outside of a buffer shows best where nothing is optimised away, and what
// optimisers make of the text where nothing is instrumented. Both together take gcc as long as the
// two of them and half as much again.
#define SANITIZE "-O0 -fsanitize=address,undefined -fno-sanitize-recover=all"
#define OPTIMISE "-O2"
#define VECTORS "-std=c17 " WARNINGS " "
#define AVX2 VECTORS "-mavx2 -mfma -mf16c "
#define PLAIN "-std=c17 -pedantic " WARNINGS " "
#define WAYS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const seer_gen_machine no_vectors = {.tile = {0, 16}, .masked_bytes = 255};
static const seer_gen_machine plain_16 = {.tile = {16, 16}, .masked_bytes = 255};
static const seer_gen_machine wide_64 = {
    .tile = {64, 32}, .l2_bytes = 1024, .masked_bytes = 1, .has_half = true, .has_rounding = true};
static const seer_gen_machine avx2 = {
    .tile = {32, 16}, .l2_bytes = 1024, .masked_bytes = 4, .has_half = true, .has_rounding = true};

static void vectors_of_16_bytes(void **state) {
  (void)state;
  source_trial how = {"c-vectors", plain_16, 100, 28, NULL};
  // The optimiser has the same text with longer vectors, below.
  source_trials_run(&how, NULL, "gcc", WAYS(VECTORS SANITIZE));
}

static void vectors_of_32_bytes(void **state) {
  (void)state;
  bool runs_here = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c");
  source_trial how = {"c-vectors", avx2, 200, 28, NULL};
  source_trials_run(
      &how, NULL, "gcc", runs_here ? WAYS(AVX2 SANITIZE, AVX2 OPTIMISE) : WAYS(VECTORS OPTIMISE));
}

// Longer than this machine's registers.
static void vectors_of_64_bytes(void **state) {
  (void)state;
  source_trial how = {"c-vectors", wide_64, 300, 20, NULL};
  source_trials_run(&how, NULL, "clang", WAYS(VECTORS SANITIZE, VECTORS OPTIMISE));
}

static void no_extensions(void **state) {
  (void)state;
  source_trial how = {"c", no_vectors, 400, 28, NULL};
  source_trials_run(&how, NULL, "gcc", WAYS(PLAIN SANITIZE, PLAIN OPTIMISE));
}

static void no_extensions_clang(void **state) {
  (void)state;
  source_trial how = {"c", no_vectors, 500, 20, NULL};
  source_trials_run(&how, NULL, "clang", WAYS(PLAIN SANITIZE, PLAIN OPTIMISE));
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
