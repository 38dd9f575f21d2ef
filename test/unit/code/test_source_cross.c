// test_source_cross.c - the cases of source_cases.h for processors that are not this machine's:
// aarch64 with NEON and RISC-V, by GCC and clang, in an emulator.
// SEER_TEST: timeout=1800 labels=full
#include <stdlib.h>
#include <string.h>

#include "source_cases.h"
#include "support/test.h"

#define WARNINGS "-Wall -Wextra -Werror -std=c17 "
#define TRAP "-fsanitize=undefined -fsanitize-undefined-trap-on-error "
#define ALL_OF_ARM "-march=armv8.2-a+bf16+dotprod+fp16+i8mm"

static const uint32_t one[] = {1}, few[] = {1, 4}, more[] = {2, 8, 16, 32, 64};
static const struct {
  const char *dialect;
  const uint32_t *lanes;
  uint32_t n_lanes, every;
  const source_machine *machine;
  const char *cc, *flags;
} ways[] = {
    {"c", one, 1, 1, &source_aarch64_plain, "gcc", WARNINGS "-pedantic -O0 " TRAP},
    {"c", one, 1, 1, &source_aarch64_plain, "gcc", WARNINGS "-pedantic -O3"},
    {"c", one, 1, 1, &source_aarch64, "clang", WARNINGS "-pedantic -O1 -march=armv8.2-a+fp16"},
    {"c-vectors", few, 2, 1, &source_aarch64_plain, "gcc", WARNINGS "-O0 " TRAP},
    {"c-vectors", few, 2, 1, &source_aarch64, "gcc", WARNINGS "-O3 " ALL_OF_ARM},
    {"c-vectors", few, 2, 1, &source_aarch64_plain, "clang", WARNINGS "-O1"},
    {"c-vectors", more, 5, 6, &source_aarch64_plain, "gcc", WARNINGS "-O1"},
    {"c-vectors", more, 5, 6, &source_aarch64, "clang", WARNINGS "-O2 " ALL_OF_ARM},
    {"c", one, 1, 1, &source_riscv64_plain, "gcc", WARNINGS "-pedantic -O0 " TRAP},
    {"c", one, 1, 1, &source_riscv64_plain, "gcc", WARNINGS "-pedantic -O3"},
    {"c", one, 1, 1, &source_riscv64, "clang", WARNINGS "-pedantic -O3 -march=rv64gcv"},
    {"c-vectors", few, 2, 1, &source_riscv64_plain, "gcc", WARNINGS "-O0 " TRAP},
    {"c-vectors", few, 2, 1, &source_riscv64, "gcc", WARNINGS "-O3 -march=rv64gcv"},
    {"c-vectors", few, 2, 1, &source_riscv64, "clang", WARNINGS "-O1 -march=rv64gcv"},
    {"c-vectors", more, 5, 6, &source_riscv64_plain, "gcc", WARNINGS "-O1"},
    {"c-vectors", more, 5, 6, &source_riscv64_plain, "clang", WARNINGS "-O1 -march=rv64gc"},
};
static uint32_t n_run;

static void each_way(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(ways); k++) {
    source_cases *s =
        source_cases_create(ways[k].dialect, ways[k].lanes, ways[k].n_lanes, ways[k].every);
    n_run += source_cases_run(s, ways[k].machine, ways[k].cc, ways[k].flags);
    source_cases_destroy(s);
  }
}

// With the flags of a library's Makefile. RISC-V gets vectors only where it has some: without,
// compilers call memcpy to move them.
static void no_calls(void **state) {
  (void)state;
  const char *flags = "-std=c17 -O1 -ffp-contract=off -fno-math-errno";
  source_cases *s = source_cases_create("c-vectors", few, 2, 1);
  source_cases_check_calls(s, &source_aarch64, "gcc", flags);
  source_cases_check_calls(s, &source_aarch64, "clang", flags);
  source_cases_destroy(s);
  s = source_cases_create("c-vectors", one, 1, 1);
  source_cases_check_calls(s, &source_riscv64, "gcc", flags);
  source_cases_destroy(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_way),
      cmocka_unit_test(no_calls),
  };
  int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (n_failed || n_run) return n_failed;
  print_message("skipped: no cross compiler with its emulator (tool/deps.sh cross)\n");
  return 77;
}
