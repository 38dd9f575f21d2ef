// test_items_source.c - random schedules of random DAGs for GPUs as plain C, one item after
// another: under sanitizers they give what the DAG's interpreter gives, and touch nothing outside
// of their buffers.
// SEER_TEST: timeout=120 cost=15
#include "source_trials.h"
#include "support/test.h"

static void run_target(const char *target, uint64_t seed) {
  const source_trial how = {"c", {.tile = {0, 16}, .masked_bytes = 255}, seed, 40, target};
  static const char *const flags[] = {
      "-std=c17 -pedantic -Wall -Wextra -Werror -O0 "
      "-fsanitize=address,undefined -fno-sanitize-recover=all",
      NULL};
  assert_true(source_trials_run(&how, NULL, "gcc", flags));
}

static void of_cuda(void **state) {
  (void)state;
  run_target("cuda:h100", 600);
}

static void of_opencl(void **state) {
  (void)state;
  run_target("opencl:generic", 700);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(of_cuda), cmocka_unit_test(of_opencl)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
