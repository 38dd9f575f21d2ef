// The C interface holds no outputs against f32, and says so where that was asked for.
#include <seer/familyseer.h>
#include <string.h>

#include "support/test.h"

static void check_load(const char *precision, const char *tolerance, const char *wrong) {
  seer_tuner *tuner;
  assert_int_equal(seer_tuner_create(&tuner), 0);
  assert_int_equal(seer_tuner_set(tuner, "precision", precision), 0);
  if (tolerance) assert_int_equal(seer_tuner_set(tuner, "tolerance", tolerance), 0);
  assert_int_equal(seer_tuner_load(tuner, "mlp"), wrong != NULL);
  const char *message = seer_tuner_message(tuner);
  if (wrong ? !strstr(message, wrong) : message[0]) fail_msg("%s: %s", precision, message);
  seer_tuner_destroy(tuner);
}

static void test_precision(void **state) {
  (void)state;
  check_load("auto", NULL, "which only the commands compile and tune can choose");
  check_load("bf16", "0.01", "only the commands compile and tune hold outputs against f32");
  check_load("bf16", NULL, NULL);
  check_load("f32", "0.01", NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_precision)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
