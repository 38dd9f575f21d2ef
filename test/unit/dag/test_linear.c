// Sums of terms: order, cancelling, limits, parts by a divisor.

#include "dag/expr.h"
#include "support/test.h"

static seer_expr atom(uint32_t i) { return (seer_expr){i}; }

static void terms_are_sorted_and_cancel(void **state) {
  (void)state;
  seer_linear x = {.constant = 3}, y = {.constant = 1};
  assert_true(seer_linear_add_term(&x, atom(9), 2));
  assert_true(seer_linear_add_term(&x, atom(4), -5));
  assert_true(seer_linear_add_term(&x, atom(7), 0));
  assert_int_equal(x.n, 2);
  assert_int_equal(x.term[0].key, 4);
  assert_int_equal(seer_linear_coef(&x, 9), 2);
  assert_int_equal(seer_linear_coef(&x, 7), 0);
  assert_true(seer_linear_add_term(&y, atom(9), 1));
  assert_true(seer_linear_add(&x, &y, -2));
  assert_int_equal(x.n, 1);
  assert_int_equal(x.constant, 1);
  assert_int_equal(seer_linear_coef(&x, 4), -5);
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  seer_linear x = {.constant = INT64_MAX}, one = {.constant = 1};
  assert_false(seer_linear_add(&x, &one, 1));
  assert_false(seer_linear_add(&x, &one, (int64_t)1 << 56));
  seer_linear full = {.constant = 0};
  for (uint32_t k = 0; k < SEER_LINEAR_MAX_TERMS; k++)
    assert_true(seer_linear_add_term(&full, atom(k + 1), 1));
  assert_false(seer_linear_add_term(&full, atom(100), 1));
  assert_true(seer_linear_add_term(&full, atom(5), ((int64_t)1 << 56) - 2));
  assert_false(seer_linear_add_term(&full, atom(5), 1));
}

static void parts_by_a_divisor_make_the_whole(void **state) {
  (void)state;
  seer_linear x = {.constant = -7}, whole, rest;
  assert_true(seer_linear_add_term(&x, atom(1), 12));
  assert_true(seer_linear_add_term(&x, atom(2), -3));
  assert_true(seer_linear_add_term(&x, atom(3), -8));
  seer_linear_part(&x, 4, &whole, &rest);
  assert_int_equal(whole.constant, -2);
  assert_int_equal(rest.constant, 1);
  assert_int_equal(seer_linear_coef(&whole, 1), 3);
  assert_int_equal(seer_linear_coef(&whole, 3), -2);
  assert_int_equal(rest.n, 1);
  seer_linear again = rest;
  assert_true(seer_linear_add(&again, &whole, 4));
  assert_int_equal(again.constant, x.constant);
  for (uint32_t k = 1; k <= 3; k++)
    assert_int_equal(seer_linear_coef(&again, k), seer_linear_coef(&x, k));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(terms_are_sorted_and_cancel),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(parts_by_a_divisor_make_the_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
