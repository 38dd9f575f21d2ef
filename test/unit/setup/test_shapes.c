// --input-shapes: what is taken, and what is refused with which words.
#include <string.h>

#include "setup/shapes.h"
#include "support/test_arena.h"

static void names_sizes_and_separators(void **state) {
  (void)state;
  seer_named_shape *shape;
  uint32_t n;
  assert_null(seer_shapes_parse("x:1x3x224x0;a:0:7,scalar:,", arena, &shape, &n));
  assert_int_equal(n, 3);
  assert_string_equal(shape[0].name, "x");
  assert_string_equal(shape[0].text, "1x3x224x0");
  assert_int_equal(shape[0].rank, 4);
  assert_int_equal(shape[0].dim[2], 224);
  assert_int_equal(shape[0].dim[3], 0);
  assert_string_equal(shape[1].name, "a:0");
  assert_int_equal(shape[1].rank, 1);
  assert_int_equal(shape[1].dim[0], 7);
  assert_string_equal(shape[2].name, "scalar");
  assert_int_equal(shape[2].rank, 0);
  assert_null(seer_shapes_parse("", arena, &shape, &n));
  assert_int_equal(n, 0);
}

static void the_part_that_is_wrong_is_quoted(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"x:1,y", "'y' must be NAME:1x3x224x224"}, {":1x3", "':1x3' must be NAME"},
      {"x:1xx3", "'1xx3' is no list of sizes"}, {"x:1x", "'1x' is no list of sizes"},
      {"x:x1", "'x1' is no list of sizes"}, {"x:-1", "'-1' is no list of sizes"},
      {"x:1 x2", "is no list of sizes"}, {"x:99999999999999999999", "is no list of sizes"},
      {"x:1x1x1x1x1x1x1x1x1x1x1x1x1", "is no list of sizes"},  // 13
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    seer_named_shape *shape;
    uint32_t n;
    seer_status status = seer_shapes_parse(cases[k][0], arena, &shape, &n);
    assert_non_null(status);
    if (!strstr(seer_status_message(status), cases[k][1]))
      fail_msg("%s: %s", cases[k][0], seer_status_message(status));
    seer_status_free(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(names_sizes_and_separators, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(the_part_that_is_wrong_is_quoted, arena_open, arena_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
