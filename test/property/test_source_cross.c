// test_source_cross.c - random DAGs under random schedules as source, for processors that are not
// this machine's: aarch64 with NEON, and RISC-V with and without vectors, in an emulator.
// SEER_TEST: timeout=1800 labels=full
#include "source_trials.h"
#include "support/test.h"

#define WARNINGS "-std=c17 -Wall -Wextra -Werror "
#define TRAP "-fsanitize=undefined -fsanitize-undefined-trap-on-error "

// As seer_gen_machine_of has them; and vectors that are longer than registers.
static const seer_gen_machine neon = {.tile = {16, 32},
    .l2_bytes = 1024,
    .has_half = true,
    .has_rounding = true,
    .has_extremes = true,
    .masked_bytes = 255};
static const seer_gen_machine riscv_vectors = {
    .tile = {16, 32}, .l2_bytes = 1024, .masked_bytes = 255};
static const seer_gen_machine no_vectors = {.tile = {0, 16}, .masked_bytes = 255};
static const seer_gen_machine wide = {
    .tile = {32, 16}, .l2_bytes = 1024, .has_half = true, .masked_bytes = 1};

static const struct {
  source_trial how;
  const source_machine *machine;
  const char *cc, *flags;
} ways[] = {
    {{"c-vectors", neon, 1100, 40, NULL}, &source_aarch64_plain, "gcc", WARNINGS "-O1 " TRAP},
    {{"c-vectors", neon, 1200, 40, NULL}, &source_aarch64_plain, "gcc", WARNINGS "-O3"},
    {{"c-vectors", neon, 1300, 40, NULL}, &source_aarch64, "clang",
        WARNINGS "-O2 -march=armv8.2-a+bf16+dotprod+fp16+i8mm"},
    {{"c-vectors", wide, 1400, 20, NULL}, &source_aarch64_plain, "gcc", WARNINGS "-O2"},
    {{"c", no_vectors, 1500, 40, NULL}, &source_aarch64_plain, "gcc", WARNINGS "-pedantic -O3"},
    {{"c-vectors", no_vectors, 1600, 40, NULL}, &source_riscv64_plain, "gcc", WARNINGS "-O1 " TRAP},
    {{"c-vectors", riscv_vectors, 1700, 40, NULL}, &source_riscv64, "gcc",
        WARNINGS "-O2 -march=rv64gcv"},
    {{"c-vectors", riscv_vectors, 1800, 40, NULL}, &source_riscv64, "clang",
        WARNINGS "-O2 -march=rv64gcv"},
    {{"c", no_vectors, 1900, 40, NULL}, &source_riscv64_plain, "gcc", WARNINGS "-pedantic -O3"},
};
static uint32_t n_run;

static void each_way(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(ways); k++)
    n_run += source_trials_run(
        &ways[k].how, ways[k].machine, ways[k].cc, (const char *const[]){ways[k].flags, NULL});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_way),
  };
  int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (n_failed || n_run) return n_failed;
  print_message("skipped: no cross compiler with its emulator (tool/deps.sh cross)\n");
  return 77;
}
