// test_table.c - a table says of each hash whether it was added, through growth and clearing, and
// keeps its values; 0 counts.

#include "base/rng.h"
#include "base/table.h"
#include "support/test.h"

enum { N = 5000 };

static uint64_t nth_hash(uint64_t seed, uint64_t i) {
  seer_rng rng;
  seer_rng_init_stream(&rng, seed, i);
  // A third of them differ in their high bits only: they meet in one slot of a small table.
  return i % 3 == 0 ? i << 40 : seer_rng_u64(&rng);
}

static void fill_and_ask(seer_table *table) {
  for (uint64_t i = 0; i < N; i++) {
    assert_false(seer_table_has(table, nth_hash(1, i)));
    assert_true(seer_table_add(table, nth_hash(1, i)));
    assert_false(seer_table_add(table, nth_hash(1, i)));
    assert_int_equal(table->n, i + 1);
  }
  for (uint64_t i = 0; i < N; i++) {
    assert_true(seer_table_has(table, nth_hash(1, i)));
    if (i % 3) assert_false(seer_table_has(table, nth_hash(2, i)));
  }
}

static void what_was_added_is_there(void **state) {
  (void)state;
  for (size_t room = 0; room <= 2 * N; room += N) {
    seer_table table;
    assert_true(seer_table_create(room, 0, &table));
    const uint64_t *before = table.slots;
    fill_and_ask(&table);
    if (room >= N) assert_ptr_equal(table.slots, before);  // it had room
    seer_table_clear(&table);
    assert_int_equal(table.n, 0);
    fill_and_ask(&table);
    seer_table_destroy(&table);
  }
}

static void zeros_are_a_table(void **state) {
  (void)state;
  seer_table table = {0};
  assert_false(seer_table_has(&table, 7));
  seer_table_clear(&table);
  assert_true(seer_table_add(&table, 0));
  assert_false(seer_table_add(&table, 0));
  assert_true(seer_table_has(&table, 0));
  seer_table_destroy(&table);
}

static void values_are_kept(void **state) {
  (void)state;
  seer_table table = {.n_values = 2};
  assert_null(seer_table_values(&table, 7));
  for (uint64_t i = 0; i < N; i++) {
    assert_true(seer_table_add(&table, nth_hash(1, i)));
    uint64_t *values = seer_table_values(&table, nth_hash(1, i));
    assert_int_equal(values[0], 0);
    assert_int_equal(values[1], 0);
    values[0] = i + 1;
    values[1] = ~i;
  }
  for (uint64_t i = 0; i < N; i++) {
    assert_false(seer_table_add(&table, nth_hash(1, i)));
    const uint64_t *values = seer_table_values(&table, nth_hash(1, i));
    assert_int_equal(values[0], i + 1);
    assert_int_equal(values[1], ~i);
  }
  seer_table_clear(&table);
  assert_null(seer_table_values(&table, nth_hash(1, 1)));
  seer_table_destroy(&table);
  assert_int_equal(table.n_values, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_added_is_there),
      cmocka_unit_test(zeros_are_a_table),
      cmocka_unit_test(values_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
