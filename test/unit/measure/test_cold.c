// How many of a network's weights are read between two runs of a task: all, up to what the last
// level of cache can no longer have.
#include "measure/measure.h"
#include "support/test.h"

static double cold(const char *text, uint64_t n_bytes) {
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  must(seer_target_parse(text, arena, &target));
  double found = seer_measure_cold_bytes(&target, n_bytes);
  seer_arena_destroy(arena);
  return found;
}

static void it_is_of_the_last_cache(void **state) {
  (void)state;
  static const char cpu[] = "x86_64-linux-gnu -threads=4 -l2=1M -l3=8M";
  assert_true(cold(cpu, 1000) == 1000);
  assert_true(cold(cpu, UINT64_C(1) << 30) == 1.5 * (8 << 20));
  static const char small[] = "x86_64-linux-gnu -threads=4 -l2=4M -l3=8M";
  assert_true(cold(small, UINT64_C(1) << 30) == 1.5 * (16 << 20));
  // A device has a cache of its own: what the host has is nothing to it.
  assert_true(cold("cuda:h200", UINT64_C(40) << 20) == 40 << 20);
  assert_true(cold("cuda:h200", UINT64_C(1) << 30) == 1.5 * (60 << 20));
  assert_true(cold("opencl:generic -l2=3M", UINT64_C(1) << 30) == 1.5 * (3 << 20));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_of_the_last_cache)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
