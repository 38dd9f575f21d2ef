// Tensors as people write them: what is read, what is refused, and that printing and reading are
// inverse.
#include <math.h>
#include <string.h>

#include "front/bind/literal.h"
#include "support/test_arena.h"

// Reads `text`, whose type must be `type`, and prints it.
static void reads(const char *text, seer_dtype dtype, const char *type, const char *printed) {
  seer_tensor tensor;
  seer_status status = seer_literal_parse(text, dtype, arena, &tensor);
  if (status) fail_msg("%s: %s", text, seer_status_message(status));
  seer_value value = {.dtype = tensor.dtype, .rank = tensor.rank, .has_shape = true};
  memcpy(value.dim, tensor.dim, sizeof value.dim);
  assert_string_equal(seer_value_type_text(&value, arena), type);
  assert_int_equal(tensor.n_bytes, (size_t)seer_tensor_elems(&tensor) * seer_dtype_bytes(dtype));
  const char *found = seer_literal_print(&tensor, 64, arena);
  if (!printed) {
    assert_null(found);
    return;
  }
  assert_string_equal(found, printed);
  seer_tensor again;
  assert_null(seer_literal_parse(found, dtype, arena, &again));
  assert_int_equal(again.rank, tensor.rank);
  assert_memory_equal(again.dim, tensor.dim, sizeof again.dim);
  assert_memory_equal(again.data, tensor.data, tensor.n_bytes);
}

static void values_are_read(void **state) {
  (void)state;
  reads("3", SEER_DTYPE_I64, "i64[]", "3");
  reads(" [ 1,-2 ,\t3]\n", SEER_DTYPE_I32, "i32[3]", "[1, -2, 3]");
  reads("[[1,2],[3,4],[5,+6]]", SEER_DTYPE_U8, "u8[3,2]", "[[1, 2], [3, 4], [5, 6]]");
  reads("[]", SEER_DTYPE_F32, "f32[0]", "[]");
  reads("[[],[]]", SEER_DTYPE_F32, "f32[2,0]", "[[], []]");
  reads("[[[true]],[[0]]]", SEER_DTYPE_BOOL, "bool[2,1,1]", "[[[true]], [[false]]]");
  reads("[0.1,-inf,nan,1e-3,2]", SEER_DTYPE_F32, "f32[5]", "[0.1, -inf, nan, 0.001, 2]");
  reads("-9223372036854775808", SEER_DTYPE_I64, "i64[]", "-9223372036854775808");
  reads("18446744073709551615", SEER_DTYPE_U64, "u64[]", "18446744073709551615");
  reads("[-8,7]", SEER_DTYPE_I4, "i4[2]", "[-8, 7]");
  reads("15", SEER_DTYPE_U4, "u4[]", "15");
  reads("[-2,1]", SEER_DTYPE_I2, "i2[2]", "[-2, 1]");
  reads("1.5", SEER_DTYPE_F4E2M1, "f4e2m1[]", "1.5");
  reads("65504", SEER_DTYPE_F16, "f16[]", "65504");
  reads("[[[[[[[[[[[[1]]]]]]]]]]]]", SEER_DTYPE_I8, "i8[1,1,1,1,1,1,1,1,1,1,1,1]",
      "[[[[[[[[[[[[1]]]]]]]]]]]]");
}

static void refused(const char *text, seer_dtype dtype, const char *why) {
  seer_tensor tensor;
  seer_status status = seer_literal_parse(text, dtype, arena, &tensor);
  if (!status) fail_msg("%s was read", text);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  if (!strstr(seer_status_message(status), why))
    fail_msg("%s: %s, not '%s'", text, seer_status_message(status), why);
  seer_status_free(status);
}

static void others_are_refused(void **state) {
  (void)state;
  refused("[1,2", SEER_DTYPE_I64, "expected , or ]");
  refused("[1 2]", SEER_DTYPE_I64, "expected , or ]");
  refused("[1,]", SEER_DTYPE_I64, "a number is missing");
  refused("[,1]", SEER_DTYPE_I64, "a number is missing");
  refused("", SEER_DTYPE_I64, "a number is missing");
  refused("[1]]", SEER_DTYPE_I64, "character 4: text behind the value");
  refused("[[1,2],[3]]", SEER_DTYPE_I64, "this list has 1 elements, one before it 2");
  refused("[[1],2]", SEER_DTYPE_I64, "not all as deep");
  refused("[1,[2]]", SEER_DTYPE_I64, "not all as deep");
  refused("[[],[[]]]", SEER_DTYPE_I64, "not all as deep");
  refused("[[[[[[[[[[[[[1]]]]]]]]]]]]]", SEER_DTYPE_I64, "more than 12 dimensions");
  refused("1.5", SEER_DTYPE_I64, "must be a whole number, as the type is i64");
  refused("true", SEER_DTYPE_I64, "must be a whole number");
  refused("-", SEER_DTYPE_I64, "must be a whole number");
  refused("9223372036854775808", SEER_DTYPE_I64, "beyond what i64 can have");
  refused("-9223372036854775809", SEER_DTYPE_I64, "beyond what i64 can have");
  refused("18446744073709551616", SEER_DTYPE_U64, "beyond what u64 can have");
  refused("99999999999999999999999", SEER_DTYPE_U64, "beyond what u64 can have");
  refused("-1", SEER_DTYPE_U64, "beyond what u64 can have");
  refused("[255,256]", SEER_DTYPE_U8, "character 6: beyond what u8 can have");
  refused("-129", SEER_DTYPE_I8, "beyond what i8 can have");
  refused("2", SEER_DTYPE_I2, "beyond what i2 can have");
  refused("8", SEER_DTYPE_I4, "beyond what i4 can have");
  refused("16", SEER_DTYPE_U4, "beyond what u4 can have");
  refused("2", SEER_DTYPE_BOOL, "must be true or false");
  refused("x", SEER_DTYPE_F32, "must be a number");
  refused("1e39", SEER_DTYPE_F32, "beyond what f32 can have");
  refused("70000", SEER_DTYPE_F16, "beyond what f16 can have");
  refused("inf", SEER_DTYPE_F8E4M3FN, "beyond what f8e4m3fn can have");
}

static void long_values_have_no_text(void **state) {
  (void)state;
  float numbers[65] = {0};
  seer_tensor tensor = {.dtype = SEER_DTYPE_F32, .rank = 1, .dim = {64}, .data = numbers};
  assert_non_null(seer_literal_print(&tensor, 64, arena));
  tensor.dim[0] = 65;
  assert_null(seer_literal_print(&tensor, 64, arena));
  tensor.rank = 3;  // the product would not fit 64 bits
  for (int k = 0; k < 3; k++) tensor.dim[k] = INT64_C(1) << 32;
  assert_null(seer_literal_print(&tensor, 64, arena));
  tensor = (seer_tensor){.dtype = SEER_DTYPE_F32, .rank = 2, .dim = {0, 3}, .data = ""};
  assert_null(seer_literal_print(&tensor, 64, arena));
}

static void files_are_told_from_values(void **state) {
  (void)state;
  static const char *const values[] = {
      "3", " 3 ", "-1.5e3", "+2", "[1", "true", "false", "nan", "-inf", "99999999999999999999"};
  static const char *const files[] = {
      "3.npy", "x.npy", "./3", "true.npy", "3#", "1 2", "", "3,4", "infinite", "0x10", "a[1]"};
  for (size_t k = 0; k < SEER_COUNT_OF(values); k++)
    if (!seer_literal_is_meant(values[k])) fail_msg("'%s' is taken for a file", values[k]);
  for (size_t k = 0; k < SEER_COUNT_OF(files); k++)
    if (seer_literal_is_meant(files[k])) fail_msg("'%s' is taken for a value", files[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(values_are_read, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(others_are_refused, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(long_values_have_no_text, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(files_are_told_from_values, arena_open, arena_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
