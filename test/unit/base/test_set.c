// test_set.c - a set says of each hash whether it was added, through growth and clearing; 0 counts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/set.h"

enum { N = 5000 };

static uint64_t nth_hash(uint64_t seed, uint64_t i) {
  seer_rng rng;
  seer_rng_init_stream(&rng, seed, i);
  // A third of them differ in their high bits only: they meet in one slot of a small table.
  return i % 3 == 0 ? i << 40 : seer_rng_u64(&rng);
}

static void fill_and_ask(seer_set *set) {
  for (uint64_t i = 0; i < N; i++) {
    assert_false(seer_set_has(set, nth_hash(1, i)));
    assert_true(seer_set_add(set, nth_hash(1, i)));
    assert_false(seer_set_add(set, nth_hash(1, i)));
    assert_int_equal(set->n, i + 1);
  }
  for (uint64_t i = 0; i < N; i++) {
    assert_true(seer_set_has(set, nth_hash(1, i)));
    if (i % 3) assert_false(seer_set_has(set, nth_hash(2, i)));
  }
}

static void what_was_added_is_there(void **state) {
  (void)state;
  for (size_t room = 0; room <= 2 * N; room += N) {
    seer_set set;
    assert_true(seer_set_create(room, &set));
    const uint64_t *before = set.slots;
    fill_and_ask(&set);
    if (room >= N) assert_ptr_equal(set.slots, before);  // it had room
    seer_set_clear(&set);
    assert_int_equal(set.n, 0);
    fill_and_ask(&set);
    seer_set_destroy(&set);
  }
}

static void zeros_are_a_set(void **state) {
  (void)state;
  seer_set set = {0};
  assert_false(seer_set_has(&set, 7));
  seer_set_clear(&set);
  assert_true(seer_set_add(&set, 0));
  assert_false(seer_set_add(&set, 0));
  assert_true(seer_set_has(&set, 0));
  seer_set_destroy(&set);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_added_is_there), cmocka_unit_test(zeros_are_a_set)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
