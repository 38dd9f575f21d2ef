// .npy files: what NumPy writes is read, what we write is read again, damage is refused.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "setup/npy.h"
#include "support/test_arena.h"

static char bytes[1 << 16];

static size_t make(const char *dict, const void *data, size_t n_data) {
  size_t n = strlen(dict);
  memcpy(bytes, "\x93NUMPY\x01\x00", 8);
  bytes[8] = (char)(n & 255);
  bytes[9] = (char)(n >> 8);
  memcpy(bytes + 10, dict, n);
  if (n_data > 0) memcpy(bytes + 10 + n, data, n_data);
  return 10 + n + n_data;
}

static void reads(void **state) {
  (void)state;
  const float x[6] = {1, 2, 3, 4, 5, 6};
  seer_npy npy;
  size_t n = make("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", x, sizeof x);
  assert_null(seer_npy_parse("t", bytes, n, arena, &npy));
  assert_int_equal(npy.onnx_dtype, 1);
  assert_int_equal(npy.rank, 2);
  assert_int_equal(npy.dim[1], 3);
  assert_memory_equal(npy.data, x, sizeof x);
  assert_int_equal((uintptr_t)npy.data % 64, 0);
  n = make("{'shape':(2,3),\"fortran_order\":True,'descr':'<f4'}", x, sizeof x);
  assert_null(seer_npy_parse("t", bytes, n, arena, &npy));
  const float columns[6] = {1, 3, 5, 2, 4, 6};
  assert_memory_equal(npy.data, columns, sizeof columns);
  const uint8_t big[4] = {0, 0, 1, 2};
  n = make("{'descr': '>i4', 'fortran_order': False, 'shape': (), }", big, 4);
  assert_null(seer_npy_parse("t", bytes, n, arena, &npy));
  assert_int_equal(npy.rank, 0);
  assert_int_equal(*(const int32_t *)npy.data, 258);
  n = make("{'descr': '|b1', 'fortran_order': False, 'shape': (3, 0), }", NULL, 0);
  assert_null(seer_npy_parse("t", bytes, n, arena, &npy));
  assert_int_equal(npy.onnx_dtype, 9);
  assert_int_equal(npy.n_bytes, 0);
}

static void refuse(const char *dict, size_t n_data, const char *why) {
  static const char zeros[256];
  seer_npy npy;
  size_t n = make(dict, zeros, n_data);
  seer_status status = seer_npy_parse("t.npy", bytes, n, arena, &npy);
  if (!status) fail_msg("accepted: %s", dict);
  if (!strstr(seer_status_message(status), why))
    fail_msg("%s: %s", dict, seer_status_message(status));
  seer_status_free(status);
}

static void refuses(void **state) {
  (void)state;
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7,
      "needs 8 bytes, the file has 7");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 9, "the file has 9");
  refuse("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8, "'<c8'");
  refuse("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 8, "'|O'");
  refuse(
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4, "must be a string");
  refuse("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", 4, "True or False");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 4, "not negative");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2), }", 4, "expected , or )");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': 4, }", 4, "tuple");
  refuse("{'descr': '<f4', 'shape': (1,), }", 4, "must all be there");
  refuse("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4, "twice");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 4,
      "too large");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }", 4,
      "too large");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1), }", 4,
      "12 dimensions");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", 4, "only the keys");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", 4, "behind");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (1", 0, "found ''");
  refuse("", 0, "expected {");
  seer_npy npy;
  seer_status status = seer_npy_parse("t", "PK\x03\x04 and so on", 14, arena, &npy);
  assert_non_null(strstr(seer_status_message(status), "not a .npy"));
  seer_status_free(status);
  size_t n = make("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "abcd", 4);
  bytes[9] = 100;
  status = seer_npy_parse("t", bytes, n, arena, &npy);
  assert_non_null(strstr(seer_status_message(status), "header of"));
  seer_status_free(status);
}

static void round_trip(void **state) {
  (void)state;
  char path[] = "/tmp/seer_test_npy_XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  const int32_t types[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13};
  const uint32_t sizes[] = {4, 1, 1, 2, 2, 4, 8, 1, 2, 8, 4, 8};
  uint8_t data[24 * 8];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 37);
  for (size_t i = 0; i < SEER_COUNT_OF(types); i++) {
    for (int32_t rank = 0; rank <= 3; rank++) {
      seer_npy out = {types[i], rank, {2, 3, 4}, sizes[i], data}, in;
      for (int32_t k = 0; k < rank; k++) out.n_bytes *= (uint64_t)out.dim[k];
      assert_null(seer_npy_write(path, &out));
      assert_null(seer_npy_read(path, arena, &in));
      assert_int_equal(in.onnx_dtype, out.onnx_dtype);
      assert_int_equal(in.rank, rank);
      assert_int_equal(in.n_bytes, out.n_bytes);
      assert_memory_equal(in.data, data, out.n_bytes);
    }
  }
  seer_npy odd = {16, 0, {0}, 2, data};
  seer_status status = seer_npy_write(path, &odd);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  seer_status_free(status);
  unlink(path);
  seer_npy npy;
  status = seer_npy_read(path, arena, &npy);
  assert_int_equal(seer_status_code(status), SEER_CODE_NOT_FOUND);
  seer_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads),
      cmocka_unit_test(refuses),
      cmocka_unit_test(round_trip),
  };
  return cmocka_run_group_tests(tests, arena_open, arena_close);
}
