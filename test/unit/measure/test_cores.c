// A pool whose threads share a core for a while is told from one whose threads do not, and waited
// for, but not for ever.
#include "measure/cores.h"

#include "support/test.h"

enum { THREADS = 2 };

// Made-up threads, of which the first one takes as long as any, or all together ten times as long.
typedef struct {
  int n_crowded;  // calls that find them on one core
} host;

static void run_parts(void *user, uint32_t n_parts, seer_parallel_body body, void *arg) {
  host *h = user;
  bool is_crowded = h->n_crowded > 0;
  h->n_crowded -= is_crowded;
  for (uint32_t i = 0; i < (is_crowded ? 10 : 1); i++) body(arg, i % n_parts, i % n_parts);
}

static seer_pool *make(host *h) {
  seer_pool *pool = seer_pool_wrap(run_parts, h, THREADS);
  assert_non_null(pool);
  return pool;
}

static void waits_for_cores(void **state) {
  (void)state;
  host h = {0};
  seer_pool *pool = make(&h);
  seer_cores cores = {0};
  seer_cores_await(&cores, pool);
  assert_true(seer_cores_are_free(&cores, pool));
  h.n_crowded = 100;
  assert_false(seer_cores_are_free(&cores, pool));
  seer_cores_await(&cores, pool);
  assert_int_equal(h.n_crowded, 0);
  h.n_crowded = INT32_MAX;  // it comes back although they stay where they are
  for (int i = 0; i < 3; i++) seer_cores_await(&cores, pool);
  assert_false(seer_cores_are_free(&cores, pool));
  seer_pool_destroy(pool);
}

// Threads may be meant to share cores: what counts is whether it was ever better.
static void is_used_to_it(void **state) {
  (void)state;
  seer_cores cores = {0};
  assert_true(seer_cores_note_crowding(&cores, 2.1));
  assert_true(seer_cores_note_crowding(&cores, 1.9));
  assert_true(seer_cores_note_crowding(&cores, 2.5));
  assert_true(seer_cores_note_crowding(&cores, 1.0));
  assert_false(seer_cores_note_crowding(&cores, 1.9));
  assert_true(seer_cores_note_crowding(&cores, 0.5));  // a moment's luck
  assert_true(seer_cores_note_crowding(&cores, 1.3));
}

static void one_thread(void **state) {
  (void)state;
  seer_pool *pool = seer_pool_create(1, 0);
  seer_cores cores = {0};
  seer_cores_await(&cores, pool);
  assert_true(seer_cores_are_free(&cores, pool));
  assert_true(cores.waited_ns == 0);
  seer_pool_destroy(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(waits_for_cores),
      cmocka_unit_test(is_used_to_it),
      cmocka_unit_test(one_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
