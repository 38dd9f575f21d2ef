// test_source.c - the cases of source_cases.h in each dialect, compiled by GCC and clang, without
// optimisation under sanitizers and with it for several machines. Those of other architectures are
// in test_source_cross.c.
// SEER_TEST: timeout=300 cost=40
#include <stdlib.h>
#include <string.h>

#include "source_cases.h"
#include "support/test.h"
#include "vector_code.h"

#define WARNINGS "-Wall -Wextra -Werror -std=c17 "
#define SANITIZE "-fsanitize=address,undefined -fno-sanitize-recover=all "

static void plain(void **state) {
  (void)state;
  static const uint32_t lanes[] = {1};
  source_cases *s = source_cases_create("c", lanes, 1, 1);
  source_cases_run(s, NULL, "gcc", WARNINGS "-pedantic -O0 " SANITIZE);
  source_cases_run(s, NULL, "gcc", WARNINGS "-pedantic -O2 -march=native");
  source_cases_run(s, NULL, "clang", WARNINGS "-pedantic -O1");
  source_cases_destroy(s);
}

static bool has_fma(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static void vectors(void **state) {
  (void)state;
  static const uint32_t lanes[] = {1, 8};
  source_cases *s = source_cases_create("c-vectors", lanes, SEER_COUNT_OF(lanes), 1);
  source_cases_run(s, NULL, "gcc", WARNINGS "-O0 " SANITIZE);
  source_cases_run(s, NULL, "gcc", WARNINGS "-O3 -march=native");
  source_cases_run(s, NULL, "clang", WARNINGS "-O1 -march=native");
  source_cases_check_calls(s, NULL, "gcc", "-std=c17 -O1");
  source_cases_destroy(s);
}

static void other_lanes(void **state) {
  (void)state;
  static const uint32_t lanes[] = {2, 4, 16, 32, 64};
  source_cases *s = source_cases_create("c-vectors", lanes, SEER_COUNT_OF(lanes), 6);
  // Compiling these takes long: what they call is looked at in the object that runs, where it can.
  const char *const flags = WARNINGS "-O1 -mavx2 -mfma";
  if (has_fma()) {
    source_cases_run_alone(s, NULL, "gcc", flags);
  } else {
    source_cases_run(s, NULL, "gcc", WARNINGS "-O1 -march=native");
    source_cases_check_calls(s, NULL, "gcc", flags);
  }
  source_cases_run(s, NULL, "clang", WARNINGS "-O0 " SANITIZE);
  source_cases_destroy(s);
}

static void plain_c_has_no_vectors(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_vec_code *code = seer_vec_code_create(vector_code_loop(arena), arena);
  seer_vec_builder b;
  seer_vec_begin_phase(&b, code, "test_p0");
  uint32_t in = vector_code_buf(code->loop, "in"), out = vector_code_buf(code->loop, "f32");
  seer_vec x = seer_vec_load(&b, SEER_VEC_F32, 4, seer_vec_buffer(&b, in), 4, in, true);
  seer_vec_store(&b, x, seer_vec_buffer(&b, out), 4, out);
  const char *text;
  seer_status status = seer_source_print(code, seer_dialect_find("c"), arena, &text);
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  assert_non_null(strstr(seer_status_message(status), "4 lanes"));
  seer_status_free(status);
  assert_null(seer_dialect_find("fortran"));
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_c_has_no_vectors),
      cmocka_unit_test(plain),
      cmocka_unit_test(vectors),
      cmocka_unit_test(other_lanes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
