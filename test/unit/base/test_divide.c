// test_divide.c - integer division: the narrow way and the wide one agree with the language, floor
// and ceiling with their definitions.

#include "base/rng.h"
#include "support/test.h"

static void check(int64_t a, int64_t b) {
  seer_division d = seer_divide(a, b);
  assert_true(d.quotient == a / b && d.remainder == a % b);
  int64_t floor = seer_floor_div(a, b), mod = seer_floor_mod(a, b);
  assert_true(mod >= 0 && mod < b);
  assert_true((__int128)floor * b + mod == a);
  if (a == INT64_MIN) return;  // its ceiling is the negative of a number that there is not
  __int128 over = (__int128)seer_ceil_div(a, b) * b - a;
  assert_true(over >= 0 && over < b);
}

static void edges_agree(void **state) {
  (void)state;
  static const int64_t edge[] = {0, 1, 2, 3, 7, 8, INT32_MAX - 1LL, INT32_MAX, INT32_MAX + 1LL,
      INT32_MAX + 2LL, UINT32_MAX, UINT32_MAX + 1LL, INT64_MAX - 1, INT64_MAX};
  for (size_t i = 0; i < SEER_COUNT_OF(edge); i++) {
    for (size_t j = 1; j < SEER_COUNT_OF(edge); j++) {
      check(edge[i], edge[j]);
      check(-edge[i], edge[j]);
      check(-edge[i] - 1, edge[j]);
    }
  }
}

static void random_numbers_agree(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 1);
  for (int n = 0; n < 200000; n++) {  // of every width
    int64_t a = (int64_t)seer_rng_u64(&rng) >> seer_rng_below(&rng, 64);
    int64_t b = (int64_t)(seer_rng_u64(&rng) >> 1 >> seer_rng_below(&rng, 63));
    if (b > 0) check(a, b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(edges_agree), cmocka_unit_test(random_numbers_agree)};
  return cmocka_run_group_tests_name("divide", tests, NULL, NULL);
}
