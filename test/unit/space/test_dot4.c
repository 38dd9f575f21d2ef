// test_dot4.c - products of bytes in words of four compute what the DAG of single bytes computes,
// to the bit: extents that are no multiple of four, padding by a stage and by a guard with a zero
// point, both signs, groups; what is no such product is left alone.
#include <string.h>

#include "support/byte_net.h"
#include "support/formulation_check.h"
#include "support/test.h"

extern const seer_formulation seer_formulation_dot4;

static const byte_net nets[] = {
    {.n = 1, .h = 1, .w = 6, .ic = 16, .oc = 5},
    {.n = 1, .h = 1, .w = 6, .ic = 4, .oc = 5, .is_last = true},
    {.n = 1, .h = 1, .w = 5, .ic = 13, .oc = 7, .is_last = true, .has_epilogue = true},
    {.n = 2, .h = 5, .w = 6, .ic = 8, .oc = 6, .window = 3, .pad = 1, .zero = 131},
    {.n = 1,
        .h = 7,
        .w = 6,
        .ic = 8,
        .oc = 6,
        .window = 3,
        .pad = 1,
        .zero = 7,
        .is_guarded = true},
    {.n = 1, .h = 9, .w = 8, .ic = 3, .oc = 5, .window = 3, .pad = 1, .stride = 2, .zero = 255},
    {.n = 1,
        .h = 9,
        .w = 8,
        .ic = 3,
        .oc = 5,
        .window = 3,
        .pad = 2,
        .zero = 9,
        .is_guarded = true},
    {.n = 1,
        .h = 6,
        .w = 6,
        .ic = 8,
        .oc = 4,
        .window = 3,
        .pad = 1,
        .zero = -5,
        .is_signed = true,
        .has_epilogue = true},
    {.n = 1,
        .h = 6,
        .w = 6,
        .ic = 7,
        .oc = 4,
        .window = 3,
        .pad = 1,
        .zero = -128,
        .is_signed = true,
        .is_guarded = true},
    {.n = 1,
        .h = 9,
        .w = 8,
        .ic = 3,
        .oc = 5,
        .window = 3,
        .pad = 1,
        .stride = 2,
        .zero = 9,
        .is_nchw = true},
    {.n = 2,
        .h = 5,
        .w = 6,
        .ic = 8,
        .oc = 6,
        .window = 3,
        .pad = 1,
        .zero = 131,
        .is_guarded = true,
        .is_nchw = true},
    {.n = 1,
        .h = 5,
        .w = 6,
        .ic = 9,
        .oc = 6,
        .is_signed = true,
        .is_nchw = true,
        .has_epilogue = true},
    {.n = 1, .h = 6, .w = 5, .ic = 16, .oc = 6, .window = 3, .pad = 1, .groups = 2, .zero = 3},
};

static void test_equal(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(nets); k++) {
    seer_arena *arena = seer_arena_create("test");
    double tolerance = 1;
    double d = formulation_difference(
        &seer_formulation_dot4, byte_net_build(&nets[k], arena), true, &tolerance);
    if (d != 0) fail_msg("net %zu: difference %g", k, d);
    assert_true(tolerance == 0);
    seer_arena_destroy(arena);
  }
}

static double of_text(const char *text) {
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = NULL;
  double tolerance;
  must(seer_dag_parse("test", text, strlen(text), arena, &dag));
  seer_dag_finish(dag);
  must(seer_dag_verify(dag));
  double d = formulation_difference(&seer_formulation_dot4, dag, true, &tolerance);
  seer_arena_destroy(arena);
  return d;
}

#define PRODUCT(x, w, body) \
  "dag p { input $x " x " weight $w " w " stage m role anchor [m:m<4, n:n<3] " body " output $m }"
#define SUM "sum[k:k<8] = "

static void test_left_alone(void **state) {
  (void)state;
  static const char *const other[] = {
      // both signed, both unsigned, wider, reals
      PRODUCT("i8[4, 8]", "i8[8, 3]", SUM "cast.i32($x[m, k]) * cast.i32($w[k, n])"),
      PRODUCT("u8[4, 8]", "u8[8, 3]", SUM "cast.i32($x[m, k]) * cast.i32($w[k, n])"),
      PRODUCT("i16[4, 8]", "i8[8, 3]", SUM "cast.i32($x[m, k]) * cast.i32($w[k, n])"),
      PRODUCT("u8[4, 8]", "i8[8, 3]", SUM "cast.i64($x[m, k]) * cast.i64($w[k, n])"),
      PRODUCT("u8[4, 8]", "i8[8, 3]", SUM "cast.f32($x[m, k]) * cast.f32($w[k, n])"),
      // x is the signed one, the axis is short, moves by two
      PRODUCT("i8[4, 8]", "u8[8, 3]", SUM "cast.i32($x[m, k]) * cast.i32($w[k, n])"),
      PRODUCT("u8[4, 8]", "i8[8, 3]", "sum[k:k<2] = cast.i32($x[m, k]) * cast.i32($w[k, n])"),
      PRODUCT("u8[4, 15]", "i8[8, 3]", SUM "cast.i32($x[m, k * 2]) * cast.i32($w[k, n])"),
      // begins within a word, no weights, another combiner
      PRODUCT("u8[4, 9]", "i8[8, 3]", SUM "cast.i32($x[m, k + 1]) * cast.i32($w[k, n])"),
      "dag p { input $x u8[4, 8] input $w i8[8, 3] stage m role anchor [m:m<4, n:n<3] sum[k:k<8] = "
      "cast.i32($x[m, k]) * cast.i32($w[k, n]) output $m }",
      PRODUCT("u8[4, 8]", "i8[8, 3]", "max[k:k<8] = cast.i32($x[m, k]) * cast.i32($w[k, n])"),
      // its rows depend on the group
      PRODUCT("u8[11, 8]", "i8[8, 3]", SUM "cast.i32($x[m + k, k]) * cast.i32($w[k, n])"),
  };
  for (size_t k = 0; k < SEER_COUNT_OF(other); k++) {
    if (of_text(other[k]) != -1) fail_msg("is taken: %s", other[k]);
  }
  assert_true(of_text(PRODUCT("u8[4, 8]", "i8[8, 3]",
                  SUM "cast.i32($w[k, n]) * cast.i32($x[m, k])")) == 0);  // in any order
  assert_true(of_text(PRODUCT("u8[8, 4]", "i8[8, 3]",
                  SUM "cast.i32($x[k, m]) * cast.i32($w[k, n])")) == 0);  // rows apart
  byte_net depthwise = {.n = 1, .h = 5, .w = 5, .ic = 8, .oc = 8, .window = 3, .groups = 8};
  seer_arena *arena = seer_arena_create("test");
  double tolerance,
      d = formulation_difference(
          &seer_formulation_dot4, byte_net_build(&depthwise, arena), true, &tolerance);
  assert_true(d == -1);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal), cmocka_unit_test(test_left_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
