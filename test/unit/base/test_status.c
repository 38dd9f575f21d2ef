// Status: codes, context lines, the first failure wins.
#include <string.h>

#include "base/status.h"
#include "support/test.h"

static seer_status fails(int depth) {
  if (depth == 0) return SEER_FAIL(CORRUPT, "byte %d", 7);
  SEER_TRYF(fails(depth - 1), "reading level %d", depth);
  return SEER_OK;
}

static void message_has_context_lines(void **state) {
  (void)state;
  seer_status status = fails(2);
  assert_int_equal(seer_status_code(status), SEER_CODE_CORRUPT);
  assert_string_equal(
      seer_status_message(status), "byte 7\n  while reading level 1\n  while reading level 2");
  seer_status_free(status);
}

static seer_status goes_on(bool *out_reached) {
  SEER_TRY(SEER_OK);
  SEER_TRYF(SEER_OK, "never %d", 1);
  *out_reached = true;
  return SEER_OK;
}

static void ok_passes_through(void **state) {
  (void)state;
  bool reached = false;
  assert_null(goes_on(&reached));
  assert_true(reached);
  assert_null(seer_status_context(SEER_OK, "x"));
  seer_status_free(SEER_OK);
}

static void join_keeps_the_first(void **state) {
  (void)state;
  seer_status joined = seer_status_join(SEER_FAIL(IO, "one"), SEER_FAIL(TIMEOUT, "two"));
  assert_string_equal(seer_status_message(joined), "one");
  seer_status_free(joined);
  joined = seer_status_join(SEER_OK, SEER_FAIL(TIMEOUT, "two"));
  assert_int_equal(seer_status_code(joined), SEER_CODE_TIMEOUT);
  seer_status_free(joined);
}

static void every_code_has_its_own_name(void **state) {
  (void)state;
  for (int a = 0; a < SEER_CODE_COUNT; a++) {
    for (int b = 0; b < a; b++)
      assert_string_not_equal(seer_code_name((seer_code)a), seer_code_name((seer_code)b));
  }
}

static void internal_errors_say_where(void **state) {
  (void)state;
  seer_status status = SEER_FAIL(INTERNAL, "odd");
  assert_non_null(strstr(seer_status_message(status), "test_status.c:"));
  seer_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(message_has_context_lines),
      cmocka_unit_test(ok_passes_through),
      cmocka_unit_test(join_keeps_the_first),
      cmocka_unit_test(every_code_has_its_own_name),
      cmocka_unit_test(internal_errors_say_where),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
