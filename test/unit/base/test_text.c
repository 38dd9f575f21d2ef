// Text and scanner: round trips of numbers and strings, places in messages.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/text.h"

static seer_arena *arena;

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  return 0;
}
static int teardown(void **state) {
  (void)state;
  seer_arena_destroy(arena);
  return 0;
}

static seer_scan scan_of(const char *text) {
  seer_scan scan;
  seer_scan_init(&scan, "t.dag", text, strlen(text));
  return scan;
}

static void expect_failure(seer_status status, const char *message) {
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  assert_string_equal(seer_status_message(status), message);
  seer_status_free(status);
}

static void text_grows(void **state) {
  (void)state;
  seer_text text;
  seer_text_init(&text, arena);
  for (int i = 0; i < 1000; i++) seer_text_printf(&text, "%d,", i);
  seer_text_put_n(&text, "end!", 3);
  assert_int_equal(text.n_bytes, strlen(text.data));
  assert_int_equal(text.n_bytes, 10 * 2 + 90 * 3 + 900 * 4 + 3);
  assert_string_equal(text.data + text.n_bytes - 7, "999,end");
}

static void check_f64(double value, const char *expected) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put_f64(&text, value);
  if (expected) assert_string_equal(text.data, expected);
  seer_scan scan = scan_of(text.data);
  double back = 0;
  assert_null(seer_scan_f64(&scan, &back));
  assert_true(seer_scan_at_end(&scan));
  if (value == value) {
    assert_memory_equal(&back, &value, sizeof value);
  } else {
    assert_true(back != back);
  }
}

static void floats_keep_their_bits(void **state) {
  (void)state;
  check_f64(0.1, "0.1");
  check_f64(-0.0, "-0");
  check_f64(1e22, "1e+22");
  check_f64(5e-324, NULL);
  check_f64(1.7976931348623157e308, NULL);
  check_f64(1.0 / 3, NULL);
  check_f64((double)0.1f, NULL);
  check_f64(__builtin_inf(), "inf");
  check_f64(-__builtin_inf(), "-inf");
  check_f64(__builtin_nan(""), "nan");
  seer_rng rng;
  seer_rng_init(&rng, 3);
  for (int i = 0; i < 10000; i++) {
    uint64_t bits = seer_rng_u64(&rng);
    double value;
    memcpy(&value, &bits, sizeof value);
    check_f64(value, NULL);
  }
}

static void tokens(void **state) {
  (void)state;
  seer_scan scan = scan_of("  # comment\n dag net.x1 { a<=-5, sumx 1.5e3 3..4 1x2 } # end");
  const char *name;
  int64_t i;
  double f;
  assert_true(seer_scan_peek(&scan, "dag"));
  assert_false(seer_scan_try(&scan, "da"));  // not the whole keyword
  assert_null(seer_scan_expect(&scan, "dag"));
  assert_null(seer_scan_name(&scan, arena, &name));
  assert_string_equal(name, "net.x1");
  assert_true(seer_scan_try(&scan, "{"));
  assert_true(seer_scan_try(&scan, "a"));
  assert_true(seer_scan_try(&scan, "<="));
  assert_null(seer_scan_i64(&scan, &i));
  assert_int_equal(i, -5);
  assert_true(seer_scan_try(&scan, ","));
  assert_false(seer_scan_try(&scan, "sum"));
  assert_true(seer_scan_try_name(&scan, arena, &name));
  assert_string_equal(name, "sumx");
  assert_false(seer_scan_try_i64(&scan, &i));  // a float
  assert_null(seer_scan_f64(&scan, &f));
  assert_true(f == 1500);
  assert_true(seer_scan_try_i64(&scan, &i) && i == 3);
  assert_true(seer_scan_try(&scan, ".."));
  assert_true(seer_scan_try_i64(&scan, &i) && i == 4);
  assert_true(seer_scan_try_i64(&scan, &i) && i == 1);
  assert_true(seer_scan_try(&scan, "x2"));
  assert_false(seer_scan_at_end(&scan));
  assert_true(seer_scan_try(&scan, "}"));
  assert_true(seer_scan_at_end(&scan));
}

static void limits_of_integers(void **state) {
  (void)state;
  int64_t i;
  seer_scan scan = scan_of(
      "9223372036854775807 -9223372036854775808 9223372036854775808 99999999999999999999999");
  assert_null(seer_scan_i64(&scan, &i));
  assert_true(i == INT64_MAX);
  assert_null(seer_scan_i64(&scan, &i));
  assert_true(i == INT64_MIN);
  assert_false(seer_scan_try_i64(&scan, &i));
  expect_failure(seer_scan_i64(&scan, &i),
      "t.dag:1:42: number does not fit in 64 bits, found '9223372036854775808'");
}

static void strings(void **state) {
  (void)state;
  const char *text;
  seer_scan scan = scan_of("\"a\\\"b\\\\c\\n\\t\\x41#\" \"\"");
  assert_null(seer_scan_string(&scan, arena, &text));
  assert_string_equal(text, "a\"b\\c\n\tA#");
  assert_null(seer_scan_string(&scan, arena, &text));
  assert_string_equal(text, "");
  static const char *const bad[] = {
      "\"abc", "\"a\nb\"", "\"\\q\"", "\"\\x4\"", "\"\\x00\"", "\"\\", "abc", ""};
  for (size_t i = 0; i < SEER_COUNT_OF(bad); i++) {
    scan = scan_of(bad[i]);
    seer_status status = seer_scan_string(&scan, arena, &text);
    assert_non_null(status);
    seer_status_free(status);
  }
}

static void messages_name_line_column_and_token(void **state) {
  (void)state;
  const char *name;
  double f;
  seer_scan scan = scan_of("one\n  two 3");
  assert_true(seer_scan_try(&scan, "one"));
  expect_failure(seer_scan_expect(&scan, "three"), "t.dag:2:3: expected 'three', found 'two'");
  assert_true(seer_scan_try(&scan, "two"));
  expect_failure(seer_scan_name(&scan, arena, &name), "t.dag:2:7: expected a name, found '3'");
  assert_true(seer_scan_try(&scan, "3"));
  expect_failure(seer_scan_f64(&scan, &f), "t.dag:2:8: expected a number, found end of text");
  scan = scan_of("\x01");
  expect_failure(seer_scan_f64(&scan, &f), "t.dag:1:1: expected a number, found '?'");
  static const char *const bad[] = {"-", "+", ".", "e5", "-x", "1e999"};
  for (size_t i = 0; i < SEER_COUNT_OF(bad); i++) {
    scan = scan_of(bad[i]);
    seer_status status = seer_scan_f64(&scan, &f);
    assert_non_null(status);
    seer_status_free(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_grows),
      cmocka_unit_test(floats_keep_their_bits),
      cmocka_unit_test(tokens),
      cmocka_unit_test(limits_of_integers),
      cmocka_unit_test(strings),
      cmocka_unit_test(messages_name_line_column_and_token),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
