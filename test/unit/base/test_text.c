// Text and scanner: round trips of numbers and strings, places in messages.
#include <string.h>

#include "base/rng.h"
#include "base/text.h"
#include "support/test_arena.h"

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

static void check_safe(const char *from_file, const char *expected) {
  assert_string_equal(seer_text_safe(arena, from_file), expected);
  assert_string_equal(seer_text_safe_whole(arena, from_file), expected);
  assert_string_equal(seer_text_safe(arena, expected), expected);
}

static void texts_from_files_are_made_safe_to_show(void **state) {
  (void)state;
  static const char *const kept[] = {"", "conv1/weight:0", "a\\b 'c' \"d\"", "gr\303\266\303\237e",
      "\xE5\xB1\xA4", "\xF0\x9F\x98\x80", "\xEF\xBF\xBD", "\xED\x9F\xBF"};
  for (size_t i = 0; i < SEER_COUNT_OF(kept); i++) {
    assert_ptr_equal(seer_text_safe(arena, kept[i]), kept[i]);
    check_safe(kept[i], kept[i]);
  }
  check_safe("a\x1b[31mred\x07", "a\\x1b[31mred\\x07");
  check_safe("two\nlines\tand\x7f", "two\\x0alines\\x09and\\x7f");
  check_safe("\xff\xfe", "\\xff\\xfe");
  check_safe("\xC3", "\\xc3");  // cut off
  check_safe("\xC3(", "\\xc3(");
  check_safe("\xC0\xAF", "\\xc0\\xaf");  // overlong
  check_safe("\xE0\x80\x80", "\\xe0\\x80\\x80");
  check_safe("\xF0\x80\x80\x80", "\\xf0\\x80\\x80\\x80");
  check_safe("\xED\xA0\x80", "\\xed\\xa0\\x80");  // a surrogate
  check_safe("\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");  // above the last character
  check_safe("\xC2\x9B", "\\u{009b}");  // what terminals take for escape [
  check_safe(
      "a\xE2\x80\xAE"
      "b",
      "a\\u{202e}b");  // right to left from here
  check_safe(
      "a\xE2\x80\x8B"
      "b\xEF\xBB\xBF",
      "a\\u{200b}b\\u{feff}");  // no width
  check_safe("\xF3\xA0\x81\x81", "\\u{e0041}");  // a tag
}

static void long_texts_are_cut_between_characters(void **state) {
  (void)state;
  static const char *const parts[] = {"x", "\xC3\xA4", "\x01", "\xE2\x80\xAE"};
  for (size_t p = 0; p < SEER_COUNT_OF(parts); p++) {
    seer_text text;
    seer_text_init(&text, arena);
    for (size_t i = 0; i < 1000; i++) seer_text_put(&text, parts[p]);
    const char *safe = seer_text_safe(arena, text.data);
    size_t n = strlen(safe), length = strlen(seer_text_safe(arena, parts[p]));
    assert_true(n < SEER_TEXT_SAFE_BYTES && n > SEER_TEXT_SAFE_BYTES - 16);
    assert_string_equal(safe + n - 3, "\xE2\x80\xA6");
    assert_int_equal((n - 3) % length, 0);
    assert_int_equal(strlen(seer_text_safe_whole(arena, text.data)), 1000 * length);
  }
  char small[5];
  assert_int_equal(seer_text_safe_copy(small, sizeof small, "abcd", 4, SEER_TEXT_ONE_LINE), 4);
  assert_string_equal(small, "abcd");
  seer_text_safe_copy(small, sizeof small, "abcde", 5, SEER_TEXT_ONE_LINE);
  assert_string_equal(small, "a\xE2\x80\xA6");
}

static void messages_hold_no_lines_of_others(void **state) {
  (void)state;
  seer_status status = SEER_FAIL(INVALID, "node '%s' is bad", "a\nfamilyseer: all is well\x1b[2J");
  assert_string_equal(
      seer_status_message(status), "node 'a\n  familyseer: all is well\\x1b[2J' is bad");
  status = seer_status_context(status, "reading '%s'", "\xff");
  assert_string_equal(seer_status_message(status),
      "node 'a\n  familyseer: all is well\\x1b[2J' is bad\n  while reading '\\xff'");
  seer_status outer = SEER_FAIL(IO, "%s", seer_status_message(status));
  assert_string_equal(seer_status_message(outer), seer_status_message(status));
  seer_status_free(status);
  seer_status_free(outer);
  char *big = seer_arena_alloc(arena, 1 << 20, 1);
  memset(big, 'n', (1 << 20) - 1);
  status = SEER_FAIL(INVALID, "%s", big);
  assert_int_equal(strlen(seer_status_message(status)), SEER_TEXT_SAFE_LINE_BYTES - 1);
  seer_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_grows),
      cmocka_unit_test(floats_keep_their_bits),
      cmocka_unit_test(tokens),
      cmocka_unit_test(limits_of_integers),
      cmocka_unit_test(strings),
      cmocka_unit_test(messages_name_line_column_and_token),
      cmocka_unit_test(texts_from_files_are_made_safe_to_show),
      cmocka_unit_test(long_texts_are_cut_between_characters),
      cmocka_unit_test(messages_hold_no_lines_of_others),
  };
  return cmocka_run_group_tests(tests, arena_open, arena_close);
}
