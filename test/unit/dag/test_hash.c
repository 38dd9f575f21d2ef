// Keys (decisions 1): what is one task, what is one kernel, what is another family of sketches.

#include <string.h>

#include "nets.h"
#include "support/test_arena.h"

static seer_dag_key key(const char *text) {
  seer_dag *dag;
  must(seer_dag_parse("test", text, strlen(text), arena, &dag));
  return seer_dag_hash(dag);
}

static void compare(seer_dag_key a, seer_dag_key b, bool structure, bool shape, bool content) {
  assert_int_equal(a.structure == b.structure, structure);
  assert_int_equal(a.shape == b.shape, shape);
  assert_int_equal(a.content == b.content, content);
}

#define CLIP(x, i, n, low, high)                                                            \
  "dag t { input $" x " f32[" n "] stage s role epilogue [" i "<" n "] = min(max($" x "[" i \
  "], " low "), " high ") output $s }"

static void names_do_not_matter(void **state) {
  (void)state;
  compare(key(CLIP("x", "i", "8", "0.0", "6.0")), key(CLIP("other", "k", "8", "0.0", "6.0")), true,
      true, true);
}

static void literals_matter_for_content_only(void **state) {
  (void)state;
  seer_dag_key relu6 = key(CLIP("x", "i", "8", "0.0", "6.0"));
  // one task, two kernels
  compare(relu6, key(CLIP("x", "i", "8", "0.0", "1.0")), true, true, false);
  compare(relu6, key(CLIP("x", "i", "8", "0.0", "5.0")), true, true, false);
  compare(relu6, key(CLIP("x", "i", "8", "0.5", "6.0")), false, true, false);  // 0 is a class
  compare(relu6, key(CLIP("x", "i", "8", "0.0", "inf")), false, true, false);
}

#define OFFSET(number) \
  "dag t { input $x u8[8] stage s role epilogue [i<8] = cast.i32($x[i]) + " number " output $s }"

// Of fewer than 64 bits; an index is no data.
static void integers_that_are_data_are_literals(void **state) {
  (void)state;
  compare(key(OFFSET("3:i32")), key(OFFSET("4:i32")), true, true, false);
  static const char shifted[] =
      "dag t { input $x u8[16] stage s role epilogue [i<8] = $x[i + %d] output $s }";
  seer_dag_key by_2 = key(seer_arena_printf(arena, shifted, 2));
  compare(by_2, key(seer_arena_printf(arena, shifted, 3)), true, false, false);
}

static void extents_are_shape(void **state) {
  (void)state;
  compare(key(CLIP("x", "i", "8", "0.0", "6.0")), key(CLIP("x", "i", "9", "0.0", "6.0")), true,
      false, false);
}

static seer_dag_key conv(conv_shape s) {
  uint32_t out;
  return seer_dag_hash(make_conv(arena, &s, &out));
}

static void convolutions(void **state) {
  (void)state;
  conv_shape base = {1, 56, 56, 64, 64, 3, 1, 1, 1, true};
  seer_dag_key k = conv(base);
  compare(k, conv(base), true, true, true);
  conv_shape s = base;
  s.y = s.x = 28, s.ic = s.oc = 128;
  compare(k, conv(s), true, false, false);  // a sibling
  s = base, s.n = 4;
  compare(k, conv(s), true, false, false);
  s = base, s.stride = 2;
  compare(k, conv(s), false, false, false);
  seer_dag_key two = conv(s);
  s.stride = 3;
  compare(two, conv(s), true, false, false);  // 2 and 3 are both "not 1"
  s = base, s.dilation = 2;
  compare(k, conv(s), false, false, false);
  s.stride = 2;
  compare(two, conv(s), false, false, false);
  seer_dag_key both = conv(s);
  s.stride = 3;  // equal and unequal stride and dilation have one form
  compare(both, conv(s), true, false, false);
  s = base, s.pad = 0;
  compare(k, conv(s), false, false, false);
  s = base, s.k = 5, s.pad = 2;
  compare(k, conv(s), false, false, false);
  seer_dag_key five = conv(s);
  s.k = 7, s.pad = 3;
  compare(five, conv(s), true, false, false);
  s = base, s.relu = false;
  compare(k, conv(s), false, false, false);
}

static void layout_kind_type_and_pitch(void **state) {
  (void)state;
  seer_dag_key a =
      key("dag t { input $x f32[4, 6] stage s role anchor [i<4, j<6] = $x[i, j] output $s }");
  compare(a,
      key("dag t { input $x f32[6, 4] stage s role anchor [i<4, j<6] = $x[j, i] output $s }"),
      false, false, false);
  compare(a,
      key("dag t { weight $x f32[4, 6] stage s role anchor [i<4, j<6] = $x[i, j] output $s }"),
      false, true, false);
  compare(a,
      key("dag t { input $x f16[4, 6] stage s role anchor [i<4, j<6] = $x[i, j] output $s }"),
      false, true, false);
  compare(a,
      key("dag t { input $x f32[4, 6] pitch 8 stage s role anchor [i<4, j<6] = $x[i, j] output $s "
          "}"),
      true, false, false);
  compare(a,
      key("dag t { input $x f32[4, 6] stage s role anchor [i<4, j<6] = $x[i, j] output $s pitch 8 "
          "}"),
      true, false, false);
}

static void order_of_inputs_and_stages_does_not_matter(void **state) {
  (void)state;
  compare(key("dag t { input $x f32[4] input $y f32[4] stage a role prologue [i<4] = exp($x[i])"
              " stage b role prologue [i<4] = abs($y[i]) stage s role anchor [i<4] = $a[i] - $b[i] "
              "output $s }"),
      key("dag t { input $y f32[4] input $x f32[4] stage b role prologue [i<4] = abs($y[i])"
          " stage a role prologue [i<4] = exp($x[i]) stage s role anchor [i<4] = $a[i] - $b[i] "
          "output $s }"),
      true, true, true);
  compare(key("dag t { input $x f32[4] input $y f32[4] stage s role anchor [i<4] = $x[i] - $y[i] "
              "output $s }"),
      key("dag t { input $x f32[4] input $y f32[4] stage s role anchor [i<4] = $y[i] - $x[i] "
          "output $s }"),
      true, true,
      true);  // the first operand is the first operand, whatever it is called
  compare(key("dag t { input $x f32[4] weight $y f32[4] stage s role anchor [i<4] = $x[i] - $y[i] "
              "output $s }"),
      key("dag t { input $x f32[4] weight $y f32[4] stage s role anchor [i<4] = $y[i] - $x[i] "
          "output $s }"),
      false, true, false);
  compare(key("dag t { input $x f32[4] stage s role anchor [i<4] = $x[i] * $x[i] output $s }"),
      key("dag t { input $x f32[4] input $y f32[4] stage s role anchor [i<4] = $x[i] * $y[i] "
          "output $s }"),
      false, false, false);
}

// Everything counts: what keys leave out, too.
static void alike_in_everything(void **state) {
  (void)state;
  const char *text[] = {CLIP("x", "i", "8", "0.0", "6.0"), CLIP("y", "i", "8", "0.0", "6.0"),
      CLIP("x", "k", "8", "0.0", "6.0"), CLIP("x", "i", "9", "0.0", "6.0"),
      CLIP("x", "i", "8", "0.0", "5.0"), CLIP("x", "i", "8", "-0.0", "6.0"),
      "dag u { input $x f32[8] stage s role epilogue [i<8] = min(max($x[i], 0.0), 6.0) output $s }",
      "dag t { input $x f32[8] stage s role prologue [i<8] = min(max($x[i], 0.0), 6.0) output $s }",
      "dag t { input $x f32[8] stage z role epilogue [i<8] = min(max($x[i], 0.0), 6.0) output $z }",
      "dag t { weight $x f32[8] stage s role epilogue [i<8] = min(max($x[i], 0.0), 6.0) output $s "
      "}",
      "dag t { input $x f32[9] stage s role epilogue [i<8] = min(max($x[i], 0.0), 6.0) output $s }",
      "dag t { input $x f32[8] stage s role epilogue [i<8] = max(min($x[i], 0.0), 6.0) output $s }",
      "dag t { input $x f32[8] stage s role epilogue [i<8] = min(max($x[7 - i], 0.0), 6.0) output "
      "$s }"};
  enum { N = sizeof text / sizeof *text };
  seer_dag *dag[2][N];
  for (int k = 0; k < 2 * N; k++) {
    const char *one = text[k % N];
    must(seer_dag_parse("test", one, strlen(one), arena, &dag[k / N][k % N]));
    seer_dag_finish(dag[k / N][k % N]);
  }
  for (int a = 0; a < N; a++) {
    for (int b = 0; b < N; b++) {
      if (seer_dag_is_like(dag[0][a], dag[1][b]) != (a == b)) fail_msg("%s\n%s", text[a], text[b]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(names_do_not_matter, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(alike_in_everything, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(literals_matter_for_content_only, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(integers_that_are_data_are_literals, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(extents_are_shape, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(convolutions, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(layout_kind_type_and_pitch, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(
          order_of_inputs_and_stages_does_not_matter, arena_open, arena_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
