// test_dot2.c - products of bf16 in words of two compute what the DAG of single ones computes: odd
// extents, padding by a stage and by a guard, two operands that are computed, what was rounded on
// its way; what is no such product is left alone.
#include <string.h>

#include "support/formulation_check.h"
#include "support/test.h"

extern const seer_formulation seer_formulation_dot2;

static double of_text(const char *text, bool is_integer) {
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = NULL;
  double tolerance = 0;
  must(seer_dag_parse("test", text, strlen(text), arena, &dag));
  seer_dag_finish(dag);
  must(seer_dag_verify(dag));
  double d = formulation_difference(&seer_formulation_dot2, dag, is_integer, &tolerance);
  assert_true(tolerance == 0);
  seer_arena_destroy(arena);
  return d;
}

#define X "cast.f32($x[m, k])"
#define W "cast.f32($w[k, n])"
#define ROWS "stage m role anchor [m:m<4, n:n<3] "
#define PRODUCT(x, w, body) "dag p { input $x " x " weight $w " w " " ROWS body " output $m }"

static const char *const products[] = {
    PRODUCT("bf16[4, 8]", "bf16[8, 3]", "sum[k:k<8] = " X " * " W),
    PRODUCT("bf16[4, 7]", "bf16[7, 3]", "sum[k:k<7] = " W " * " X),
    PRODUCT("bf16[4, 2]", "bf16[2, 3]", "sum[k:k<2] = " X " * " W),
    // rows apart, weights the other way round
    PRODUCT("bf16[9, 4]", "bf16[3, 9]", "sum[k:k<9] = cast.f32($x[k, m]) * cast.f32($w[n, k])"),
    // computed both
    "dag p { input $x bf16[4, 6] input $w bf16[6, 3] " ROWS "sum[k:k<6] = " X " * " W
    " output $m }",
    "dag p { input $x bf16[4, 5] input $w bf16[3, 5] " ROWS "sum[k:k<5] = " X
    " * cast.f32($w[n, k]) output $m }",
    // rounded on the way in, once where it is read, once by a stage of f32
    "dag p { input $x f32[4, 6] weight $w bf16[6, 3] " ROWS
    "sum[k:k<6] = cast.f32(cast.bf16($x[m, k] * 0.3)) * " W " output $m }",
    "dag p { input $x f32[4, 6] weight $w bf16[6, 3] "
    "stage r role prologue [i<4, j<6] = cast.f32(cast.bf16(max($x[i, j], 0.0))) " ROWS
    "sum[k:k<6] = $r[m, k] * " W " output $m }",
    // padded by a stage, which the words take the place of, and by a guard
    "dag p { input $x bf16[5, 6] weight $w bf16[6, 3, 3] "
    "stage pad role pad [i<7, j<6] = cast.f32($x[i - 1, j] if (i >= 1) & (i < 6) else 0.0:bf16) "
    "stage m role anchor [y:y<5, n:n<3] sum[k:k<6, ky:ky<3] = "
    "$pad[y + ky, k] * cast.f32($w[k, n, ky]) output $m }",
    "dag p { input $x bf16[5, 7] weight $w bf16[7, 3, 3] "
    "stage m role anchor [y:y<5, n:n<3] sum[k:k<7, ky:ky<3] = "
    "cast.f32($x[y + ky - 1, k] if (y + ky >= 1) & (y + ky < 6) else 0.0:bf16) * "
    "cast.f32($w[k, n, ky]) output $m }",
};

static void test_same(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(products); k++) {
    // Whole numbers below 4 and their products are exact, but for those times 0.3.
    double d = of_text(products[k], true), r = of_text(products[k], false);
    if (!(d >= 0 && d < 1e-6)) fail_msg("%s: whole numbers differ by %g", products[k], d);
    if (!(r >= 0 && r < 1e-6)) fail_msg("%s: differs by %g", products[k], r);
  }
}

static const char *const others[] = {
    // f32, f16, one of them f32, what was not rounded, no sum, constants both
    PRODUCT("f32[4, 8]", "f32[8, 3]", "sum[k:k<8] = $x[m, k] * $w[k, n]"),
    PRODUCT("f16[4, 8]", "f16[8, 3]", "sum[k:k<8] = " X " * " W),
    PRODUCT("bf16[4, 8]", "f32[8, 3]", "sum[k:k<8] = " X " * $w[k, n]"),
    PRODUCT("f32[4, 8]", "bf16[8, 3]", "sum[k:k<8] = $x[m, k] * " W),
    PRODUCT("bf16[4, 8]", "bf16[8, 3]", "max[k:k<8] = " X " * " W),
    PRODUCT("bf16[4, 8]", "bf16[8, 3]", "sum[k:k<8] = " X " + " W),
    "dag p { input $x f32[4, 6] weight $w bf16[6, 3] "
    "stage r role prologue [i<4, j<6] = max($x[i, j], 0.0) " ROWS "sum[k:k<6] = $r[m, k] * " W
    " output $m }",
    // by two, or from within a word
    PRODUCT("bf16[4, 15]", "bf16[8, 3]", "sum[k:k<8] = cast.f32($x[m, k * 2]) * " W),
    PRODUCT("bf16[4, 9]", "bf16[8, 3]", "sum[k:k<8] = cast.f32($x[m, k + 1]) * " W),
};

static void test_left_alone(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(others); k++)
    if (of_text(others[k], true) != -1) fail_msg("is taken: %s", others[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same), cmocka_unit_test(test_left_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
