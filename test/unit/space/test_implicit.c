// test_implicit.c - convolutions whose pixels are one axis compute what the DAG with rows and
// columns computes, to the bit, and have their results at the same places: odd extents, strides,
// padding by a stage and by a guard, batches, channels first, groups, residuals, rows apart; what
// is no such convolution is left alone. The text of what is made, and of its sketches.
#include <string.h>

#include "space/sketch.h"
#include "support/formulation_check.h"
#include "support/test.h"

extern const seer_formulation seer_formulation_implicit, seer_formulation_implicit_dot2;

static seer_dag *parse(const char *text, seer_arena *arena) {
  seer_dag *dag = NULL;
  must(seer_dag_parse("test", text, strlen(text), arena, &dag));
  seer_dag_finish(dag);
  must(seer_dag_verify(dag));
  return dag;
}

static double of_text(const char *text, const char *target_text) {
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  double tolerance = 0;
  must(seer_target_parse(target_text, arena, &target));
  const seer_dag *dag = parse(text, arena);
  bool is_low = strstr(text, "f16") != NULL;
  double d = formulation_difference_on(&target,
      is_low ? &seer_formulation_implicit_dot2 : &seer_formulation_implicit, dag, true, &tolerance);
  assert_true(tolerance == 0);
  seer_arena_destroy(arena);
  return d;
}

#define PAD                                                         \
  "stage pad role pad [n:batch<1, i:y<7, j:x<6, c:in_channel<3] = " \
  "$x[n, i - 1, j - 1, c] if (i >= 1) & (i < 6) & ((j >= 1) & (j < 5)) else 0.0 "
#define CONV                                                           \
  "stage conv role anchor [n:batch<1, y:y<5, x:x<4, o:out_channel<2] " \
  "sum[ky:ky<3, kx:kx<3, c:in_channel<3] = $pad[n, y + ky, x + kx, c] * $w[o, ky, kx, c] "
#define HEAD "dag p { input $x f32[1, 5, 4, 3] weight $w f32[2, 3, 3, 3] "

static const char *const convolutions[] = {
    HEAD PAD CONV "output $conv }",
    // rows of the result apart, and behind each other those of what is added
    HEAD "input $r f32[1, 5, 4, 2] " PAD CONV
         "stage add role epilogue [n:batch<1, y:y<5, x:x<4, o:out_channel<2] = "
         "max($conv[n, y, x, o] + $r[n, y, x, o], 0.0) output $add pitch 3 }",
    // what is added is read by place, and by what is no axis of its
    HEAD "input $b f32[2] input $r f32[4, 5] " PAD CONV
         "stage add role epilogue [n:batch<1, y:y<5, x:x<4, o:out_channel<2] = "
         "$conv[n, y, x, o] + $b[o] * $r[x, y] output $add }",
    // two results
    HEAD PAD CONV
    "stage r role epilogue [n:batch<1, y:y<5, x:x<4, o:out_channel<2] = "
    "$conv[n, y, x, o] * 2.0 output $conv output $r }",
    // a batch, strides, a guard in place of a stage
    "dag p { input $x f32[2, 7, 9, 3] weight $w f32[3, 3, 3, 4] "
    "stage conv role anchor [n:batch<2, y:y<4, x:x<5, o:out_channel<4] "
    "sum[ky:ky<3, kx:kx<3, c:in_channel<3] = ($x[n, 2 * y + ky - 1, 2 * x + kx - 1, c] "
    "if (2 * y + ky >= 1) & (2 * y + ky < 8) & ((2 * x + kx >= 1) & (2 * x + kx < 10)) else 0.0) "
    "* $w[ky, kx, c, o] output $conv }",
    // channels first, the second factor first
    "dag p { input $x f32[2, 3, 6, 7] weight $w f32[4, 3, 3, 3] "
    "stage conv role anchor [n:batch<2, o:out_channel<4, y:y<4, x:x<5] "
    "sum[c:in_channel<3, ky:ky<3, kx:kx<3] = $w[o, c, ky, kx] * $x[n, c, y + ky, x + kx] "
    "output $conv }",
    // by groups
    "dag p { input $x f32[5, 4, 2, 3] weight $w f32[2, 3, 2, 2, 3] "
    "stage conv role anchor [y:y<4, x:x<3, g:group<2, o:out_channel<3] "
    "sum[ky:ky<2, kx:kx<2, c:in_channel<3] = $x[y + ky, x + kx, g, c] * $w[g, o, ky, kx, c] "
    "output $conv }",
    // 1x1, of what a stage makes, and with strides
    "dag p { input $x f32[1, 5, 4, 3] weight $w f32[2, 3] "
    "stage r role prologue [n:batch<1, y:y<5, x:x<4, c:in_channel<3] = max($x[n, y, x, c], 0.0) "
    "stage conv role anchor [n:batch<1, y:y<5, x:x<4, o:out_channel<2] sum[c:in_channel<3] = "
    "$r[n, y, x, c] * $w[o, c] output $conv }",
    "dag p { input $x f32[1, 9, 7, 3] weight $w f32[2, 3] "
    "stage conv role anchor [n:batch<1, y:y<5, x:x<4, o:out_channel<2] sum[c:in_channel<3] = "
    "$x[n, 2 * y, 2 * x, c] * $w[o, c] output $conv }",
    // 1x1, of a corner of what is there
    "dag p { input $x f32[6, 5, 3] weight $w f32[2, 3] "
    "stage conv role anchor [y:y<5, x:x<4, o:out_channel<2] sum[c:in_channel<3] = "
    "$x[y, x, c] * $w[o, c] output $conv }",
    // in words of two, of channels that are odd in number
    "dag p { input $x f16[1, 5, 4, 3] weight $w f16[2, 3, 3, 3] "
    "stage pad role pad [n:batch<1, i:y<7, j:x<6, c:in_channel<3] = "
    "cast.f32($x[n, i - 1, j - 1, c] if (i >= 1) & (i < 6) & ((j >= 1) & (j < 5)) else 0.0:f16) "
    "stage conv role anchor [n:batch<1, y:y<5, x:x<4, o:out_channel<2] "
    "sum[ky:ky<3, kx:kx<3, c:in_channel<3] = $pad[n, y + ky, x + kx, c] * "
    "cast.f32($w[o, ky, kx, c]) output $conv }",
    "dag p { input $x bf16[5, 4, 6] weight $w bf16[2, 6] "
    "stage conv role anchor [y:y<5, x:x<4, o:out_channel<2] sum[c:in_channel<6] = "
    "cast.f32($x[y, x, c]) * cast.f32($w[o, c]) "
    "stage h role epilogue [y:y<5, x:x<4, o:out_channel<2] = cast.f16($conv[y, x, o]) "
    "output $h }",
};

static void test_same(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(convolutions); k++) {
    double d = of_text(convolutions[k], "cuda:sm_80");
    if (d != 0) fail_msg("%s: differs by %g", convolutions[k], d);
  }
  assert_true(of_text(convolutions[0], "opencl:generic") == 0);
}

static const char *const others[] = {
    // depthwise, one axis of pixels, no columns, of integers
    "dag p { input $x f32[6, 6, 4] weight $w f32[3, 3, 4] "
    "stage y role anchor [y:y<4, x:x<4, c:out_channel<4] sum[ky:ky<3, kx:kx<3] = "
    "$x[y + ky, x + kx, c] * $w[ky, kx, c] output $y }",
    "dag p { input $x f32[6, 4] weight $w f32[4, 3] stage y role anchor [m:m<6, n:n<3] "
    "sum[k:k<4] = $x[m, k] * $w[k, n] output $y }",
    "dag p { input $x f32[6, 5, 4] weight $w f32[4] stage y role anchor [i:y<6, j:x<5] "
    "sum[k:k<4] = $x[i, j, k] * $w[k] output $y }",
    // its result is turned, or its rows lie apart
    "dag p { input $x f32[5, 4, 3] weight $w f32[2, 3] "
    "stage conv role anchor [y:y<5, x:x<4, o:out_channel<2] sum[c:in_channel<3] = "
    "$x[y, x, c] * $w[o, c] stage t role epilogue [o:out_channel<2, y:y<5, x:x<4] = "
    "$conv[y, x, o] output $t }",
    "dag p { input $x f32[3, 5, 4] weight $w f32[2, 3] "
    "stage conv role anchor [o:out_channel<2, y:y<5, x:x<4] sum[c:in_channel<3] = "
    "$x[c, y, x] * $w[o, c] output $conv pitch 6 }",
};

static void test_left_alone(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(others); k++)
    if (of_text(others[k], "cuda:sm_80") != -1) fail_msg("is taken: %s", others[k]);
  assert_true(of_text(convolutions[0], "x86_64-linux-gnu") == -1);
  assert_true(of_text(convolutions[0], "opencl:cpu") == -1);  // tiles read arguments themselves
}

// What is made of a convolution with a residual, and its sketch.
static void test_text(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  double tolerance;
  must(seer_target_parse("cuda:sm_80", arena, &target));
  const seer_dag *dag = parse(convolutions[1], arena);
  const seer_dag *made = seer_formulation_implicit.make(dag, &target, arena, &tolerance);
  assert_non_null(made);
  static const char *const lines[] = {"  input $r f32[1, 20, 2]\n",
      "  stage patch role prologue [n:batch<1, row:m<20, ky:ky<3, kx:kx<3, c:in_channel<3] = "
      "$pad[n, row / 4 + ky, row % 4 + kx, c]\n",
      "  stage conv role anchor [n:batch<1, row:m<20, o:out_channel<2] sum[ky:ky<3, kx:kx<3, "
      "c:in_channel<3] = $patch[n, row, ky, kx, c] * $w[o, ky, kx, c]\n",
      "  stage add role epilogue [n:batch<1, row:m<20, o:out_channel<2] = "
      "max($conv[n, row, o] + $r[n, row, o], 0.0)\n",
      "  output $add pitch 3\n"};
  const char *text = seer_dag_print(made, arena);
  for (size_t k = 0; k < SEER_COUNT_OF(lines); k++)
    if (!strstr(text, lines[k])) fail_msg("no %sin %s", lines[k], text);
  seer_sketch_list *list;
  must(seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &list));
  const seer_sketch *found = NULL;
  for (uint32_t k = 0; k < list->n && !found; k++)
    if (strcmp(list->sketch[k]->formulation, "implicit") == 0) found = list->sketch[k];
  assert_non_null(found);
  assert_string_equal(
      found->signature, "implicit/simple(add)/fetch(conv)/fuse@1(conv)/inline(patch)/inline(pad)");
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same), cmocka_unit_test(test_left_alone), cmocka_unit_test(test_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
