// How far a pool's threads are from each other is a number where there are several, whatever it is.
#include <math.h>

#include "measure/distance.h"
#include "support/test.h"

static void one_thread_is_far_from_nobody(void **state) {
  (void)state;
  seer_pool *pool = seer_pool_create(1, 0);
  assert_true(seer_distance_ns(pool) == 0);
  seer_pool_destroy(pool);
}

static void parallel_in_reverse(void *user, uint32_t n_parts, seer_parallel_body body, void *arg) {
  const uint32_t *n_threads = user;
  for (uint32_t i = 0; i < n_parts; i++) body(arg, i, (i + 1) % *n_threads);
}

// Whose threads do not do the parts that are theirs has no distance that is known.
static void parts_that_go_astray_tell_nothing(void **state) {
  (void)state;
  uint32_t n_threads = 3;
  seer_pool *pool = seer_pool_wrap(parallel_in_reverse, &n_threads, n_threads);
  assert_true(seer_distance_ns(pool) == 0);
  seer_pool_destroy(pool);
}

static void in_order(void *user, uint32_t n_parts, seer_parallel_body body, void *arg) {
  (void)user;
  for (uint32_t i = 0; i < n_parts; i++) body(arg, i, i);
}

static void threads_have_a_distance(void **state) {
  (void)state;
  seer_pool *pool = seer_pool_wrap(in_order, NULL, 3);
  double ns = seer_distance_ns(pool);
  assert_true(ns >= 0 && isfinite(ns));  // 0: by a clock that is coarse
  seer_pool_destroy(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_thread_is_far_from_nobody),
      cmocka_unit_test(parts_that_go_astray_tell_nothing),
      cmocka_unit_test(threads_have_a_distance),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
