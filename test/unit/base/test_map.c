// Map, hashes and random numbers.
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/rng.h"
#include "support/test.h"

static void map_holds_integers_in_order(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_map *map = seer_map_create(arena);
  uint64_t value;
  assert_false(seer_map_get(map, 0, &value));
  for (uint64_t i = 0; i < 5000; i++) seer_map_set(map, i * i << 20, i);
  for (uint64_t i = 0; i < 5000; i += 3) seer_map_set(map, i * i << 20, i + 1);
  assert_int_equal(seer_map_count(map), 5000);
  for (uint64_t i = 0; i < 5000; i++) {
    assert_true(seer_map_get(map, i * i << 20, &value));
    assert_int_equal(value, i % 3 == 0 ? i + 1 : i);
    assert_int_equal(seer_map_key_at(map, i), i * i << 20);
    assert_int_equal(seer_map_value_at(map, i), value);
  }
  assert_false(seer_map_get(map, 3, NULL));
  seer_arena_destroy(arena);
}

static void map_copies_strings(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_map *map = seer_map_create(arena);
  char key[16];
  for (uint64_t i = 0; i < 1000; i++) {
    snprintf(key, sizeof key, "k%d", (int)i);
    seer_map_set_str(map, key, i);
  }
  memset(key, 0, sizeof key);
  uint64_t value;
  assert_true(seer_map_get_str(map, "k999", &value));
  assert_int_equal(value, 999);
  assert_false(seer_map_get_str(map, "k1000", &value));
  assert_string_equal(seer_map_str_at(map, 7), "k7");
  seer_arena_destroy(arena);
}

static void hashes_are_fixed(void **state) {
  (void)state;
  // Keys of records: these values must never change.
  assert_true(seer_hash_str("familyseer", 0) == seer_hash_bytes("familyseer", 10, 0));
  assert_true(seer_hash_str("", 0) == UINT64_C(0x2d06800538d394c2));
  assert_true(seer_hash_u64(1, 0) != seer_hash_u64(0, 1));
  assert_true(seer_hash_u64(5, 5) != seer_hash_u64(6, 6));
}

static void rng_repeats_by_seed_and_stream(void **state) {
  (void)state;
  seer_rng a, b;
  seer_rng_init_stream(&a, 5, 7);
  seer_rng_init_stream(&b, 5, 7);
  for (int i = 0; i < 100; i++) assert_true(seer_rng_u64(&a) == seer_rng_u64(&b));
  seer_rng_init_stream(&b, 7, 5);
  int n_equal = 0;
  for (int i = 0; i < 100; i++) n_equal += seer_rng_u64(&a) == seer_rng_u64(&b);
  assert_int_equal(n_equal, 0);
}

static void rng_is_uniform(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 1);
  int count[7] = {0};
  double sum = 0, square = 0, mean = 0;
  for (int i = 0; i < 70000; i++) {
    count[seer_rng_below(&rng, 7)]++;
    int64_t r = seer_rng_range(&rng, -3, 3);
    assert_in_range(r + 3, 0, 6);
    double u = seer_rng_f64(&rng);
    assert_true(u >= 0 && u < 1);
    mean += u / 70000;
    double z = seer_rng_normal(&rng);
    sum += z / 70000;
    square += z * z / 70000;
  }
  // 5 standard deviations of each figure
  for (int i = 0; i < 7; i++) assert_in_range(count[i], 10000 - 470, 10000 + 470);
  assert_true(mean > 0.494 && mean < 0.506);
  assert_true(sum > -0.02 && sum < 0.02);
  assert_true(square > 0.97 && square < 1.03);
  assert_true(
      seer_rng_range(&rng, INT64_MIN, INT64_MAX) != seer_rng_range(&rng, INT64_MIN, INT64_MAX));
  assert_true(seer_rng_chance(&rng, 1.0) && !seer_rng_chance(&rng, 0.0));
}

static void shuffle_permutes(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 2);
  uint32_t items[50], seen[50] = {0}, n_moved = 0;
  for (uint32_t i = 0; i < 50; i++) items[i] = i;
  seer_rng_shuffle_u32(&rng, items, 50);
  for (uint32_t i = 0; i < 50; i++) {
    seen[items[i]]++;
    n_moved += items[i] != i;
  }
  for (uint32_t i = 0; i < 50; i++) assert_int_equal(seen[i], 1);
  assert_true(n_moved > 30);
}

static void divisions_floor(void **state) {
  (void)state;
  for (int64_t a = -20; a <= 20; a++) {
    for (int64_t b = 1; b <= 7; b++) {
      int64_t q = seer_floor_div(a, b), r = seer_floor_mod(a, b);
      assert_true(r >= 0 && r < b && q * b + r == a);
      int64_t c = seer_ceil_div(a, b);
      assert_true(c * b >= a && (c - 1) * b < a);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(map_holds_integers_in_order),
      cmocka_unit_test(map_copies_strings),
      cmocka_unit_test(hashes_are_fixed),
      cmocka_unit_test(rng_repeats_by_seed_and_stream),
      cmocka_unit_test(rng_is_uniform),
      cmocka_unit_test(shuffle_permutes),
      cmocka_unit_test(divisions_floor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
