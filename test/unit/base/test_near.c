// Which of some names was meant.

#include "base/near.h"
#include "support/test.h"

static void distances(void **state) {
  (void)state;
  assert_int_equal(seer_name_distance("", ""), 0);
  assert_int_equal(seer_name_distance("axes", "axes"), 0);
  assert_int_equal(seer_name_distance("axs", "axes"), 1);
  assert_int_equal(seer_name_distance("axess", "axes"), 1);
  assert_int_equal(seer_name_distance("axis", "axes"), 1);
  assert_int_equal(seer_name_distance("aexs", "axes"), 1);  // two letters that changed places
  assert_int_equal(seer_name_distance("abc", ""), 3);
  assert_int_equal(seer_name_distance("Input_IDs", "input-ids"), 0);
}

static void long_names_are_not_near(void **state) {
  (void)state;
  char name[65];
  for (int k = 0; k < 64; k++) name[k] = 'a';
  name[64] = '\0';
  assert_true(seer_name_distance(name, "a") == SIZE_MAX);
  assert_true(seer_name_distance("a", name) == SIZE_MAX);
  name[63] = '\0';
  assert_int_equal(seer_name_distance(name, "a"), 62);
}

static const char *nearest(const char *wanted) {
  static const char *const names[] = {"x", "shape", "axes", "scales", "time-budget"};
  seer_near near = seer_near_to(wanted);
  for (size_t k = 0; k < SEER_COUNT_OF(names); k++) seer_near_offer(&near, names[k]);
  return near.best;
}

static void the_nearest_is_offered(void **state) {
  (void)state;
  assert_string_equal(nearest("axis"), "axes");
  assert_string_equal(nearest("shapes"), "shape");
  assert_string_equal(nearest("time"), "time-budget");  // the beginning of a name
  assert_null(nearest("weights"));
  assert_null(nearest("y"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distances),
      cmocka_unit_test(long_names_are_not_near),
      cmocka_unit_test(the_nearest_is_offered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
