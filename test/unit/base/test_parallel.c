// test_parallel.c - every part is done once, by a thread that has been counted, and by one at a
// time; also when the system gives no threads.
#include <stdatomic.h>
#include <string.h>

#include "base/os/parallel.h"
#include "base/os_fault.h"
#include "support/test.h"

enum { PARTS = 1000 };

typedef struct {
  _Atomic uint32_t n_done[PARTS];
  _Atomic uint32_t n_busy[SEER_PARALLEL_MAX_THREADS];
  _Atomic uint32_t n_wrong;
  uint32_t n_threads;
} record;

static void note(void *user, uint32_t part, uint32_t thread) {
  record *r = user;
  if (part >= PARTS || thread >= r->n_threads) {
    r->n_wrong++;
    return;
  }
  if (r->n_busy[thread]++ > 0) r->n_wrong++;
  r->n_done[part]++;
  r->n_busy[thread]--;
}

static void check(uint32_t n_threads, uint32_t n_parts) {
  static record r;
  memset(&r, 0, sizeof r);
  r.n_threads = seer_parallel_threads(n_threads, n_parts);
  assert_true(r.n_threads >= 1 && r.n_threads <= SEER_PARALLEL_MAX_THREADS);
  if (n_parts > 0) assert_true(r.n_threads <= n_parts);
  if (n_threads > 0) assert_true(r.n_threads <= n_threads);
  seer_parallel(n_threads, n_parts, note, &r);
  assert_int_equal(r.n_wrong, 0);
  for (uint32_t p = 0; p < PARTS; p++) assert_int_equal(r.n_done[p], p < n_parts);
}

static void every_part_is_done_once(void **state) {
  (void)state;
  static const uint32_t threads[] = {0, 1, 2, 7, SEER_PARALLEL_MAX_THREADS, 4096},
                        parts[] = {0, 1, 2, 8, PARTS};
  for (size_t t = 0; t < SEER_COUNT_OF(threads); t++)
    for (size_t p = 0; p < SEER_COUNT_OF(parts); p++) check(threads[t], parts[p]);
}

static void a_thread_that_cannot_be_had_is_not_needed(void **state) {
  (void)state;
  for (uint64_t nth = 1; nth <= 4; nth++) {
    seer_os_plant_fault(nth);
    check(4, PARTS);
  }
  seer_os_plant_fault(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_part_is_done_once),
      cmocka_unit_test(a_thread_that_cannot_be_had_is_not_needed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
