// The text form: prints as documented, parses back to the same, refuses what is wrong with a place.

#include <string.h>

#include "nets.h"
#include "support/test.h"

static seer_dag *parse(seer_arena *arena, const char *text) {
  seer_dag *dag = NULL;
  must(seer_dag_parse("test", text, strlen(text), arena, &dag));
  return dag;
}

static void fixpoint(seer_arena *arena, const seer_dag *dag) {
  const char *once = seer_dag_print(dag, arena);
  seer_dag *again = parse(arena, once);
  assert_string_equal(seer_dag_print(again, arena), once);
  seer_dag_key a = seer_dag_hash(dag), b = seer_dag_hash(again);
  assert_true(a.structure == b.structure && a.shape == b.shape && a.content == b.content);
  assert_null(seer_dag_verify(again));
  for (uint32_t s = 0; s < dag->n_stage; s++)
    assert_int_equal(dag->stage[s].is_const, again->stage[s].is_const);
}

static void known_nets_round_trip(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint32_t out;
  conv_shape s = {1, 14, 14, 8, 16, 3, 2, 2, 1, true};
  fixpoint(arena, make_conv(arena, &s, &out));
  fixpoint(arena, make_depthwise(arena, 9, 4, &out));
  fixpoint(arena, make_matmul(arena, 3, 4, 5, true, &out));
  fixpoint(arena, make_max_pool(arena, 8, 3, &out));
  fixpoint(arena, make_softmax(arena, 3, 4, &out));
  fixpoint(arena, make_argmax(arena, 3, 4, &out));
  fixpoint(arena, make_bias_bn_relu(arena, 3, 4, &out));
  seer_dag *clone = seer_dag_clone(make_conv(arena, &s, &out), arena);
  fixpoint(arena, clone);
  seer_arena_destroy(arena);
}

static void prints_as_documented(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint32_t out;
  conv_shape s = {1, 56, 56, 64, 64, 3, 1, 1, 1, true};
  seer_dag *dag = make_conv(arena, &s, &out);
  dag->buf[1].pitch = 80;
  seer_dag_mark_output(dag, out, 80);
  assert_string_equal(seer_dag_print(dag, arena),
      "dag conv {\n"
      "  input $x f32[1, 56, 56, 64]\n"
      "  weight $w f32[64, 3, 3, 64] pitch 80\n"
      "  stage pad role pad [n:batch<1, y:y<58, x:x<58, c:in_channel<64] = "
      "$x[n, y - 1, x - 1, c] if (y >= 1) & (y < 57) & ((x >= 1) & (x < 57)) else 0.0\n"
      "  stage conv role anchor [n:batch<1, y:y<56, x:x<56, oc:out_channel<64] "
      "sum[ky:ky<3, kx:kx<3, ic:in_channel<64] = $pad[n, y + ky, x + kx, ic] * $w[oc, ky, kx, ic]\n"
      "  stage relu role epilogue [n:batch<1, y:y<56, x:x<56, oc:out_channel<64] = max($conv[n, y, "
      "x, oc], 0.0)\n"
      "  output $relu pitch 80\n"
      "}\n");
  seer_arena_destroy(arena);
}

// Every operator, constant and type, in one stage each; what is printed is what was written.
static void expressions_round_trip(void **state) {
  (void)state;
  static const char *const bodies[] = {"$x[i] + 0.1", "$x[i] - -1.5", "-0.0 - $x[i]",
      "$x[i] * 1e-30", "inf", "-inf", "nan", "$x[i] - ($x[i] - $x[j])", "($x[i] + $x[j]) * 3.0",
      "$x[i] + $x[j] * 3.0", "($x[i] + $x[j]) / ($x[i] * $x[j])", "min($x[i], $x[j])",
      "select(($x[i] < $x[j]) & (i < 3), $x[i], 2.0)", "cast.f32(i * 4 + j - 3)",
      "cast.f32(cast.i32(i) + 7:i32)", "cast.f32(cast.u8(i) - 1:u8)",
      "cast.f32(cast.i8(i) - -128:i8)", "cast.f32(cast.f16($x[i]) + 0.1:f16)",
      "cast.f32(cast.f64($x[i]) + 0.1:f64)", "cast.f32(cast.bf16($x[i]) * 3.0:bf16)",
      "select(not(i < 3 | (j > 2)), 1.0, 0.0)", "select((i < 3) == (j < 2), 1.0, 0.0)",
      "exp(neg(abs($x[i])))", "pow($x[i], 2.0)", "sigmoid(tanh(erf(sqrt(log(sin(cos($x[i])))))))",
      "floor(ceil(round(sign($x[i]))))", "select(isnan($x[i]), 0.0, $x[i])",
      "cast.f32(shl(i, 2) ^ shr(j, 1) | i & j)", "$x[(i * 4 + j) % 5]", "$x[(i * 4 + j) / 5]",
      "$x[i - 1] if i >= 1 else $x[j + 1] if j < 3 else 0.5",
      "1.0 + ($x[i - 1] if i >= 1 else 0.0)", "cast.f32(i - 9223372036854775807)",
      "select(true ^ (i < 2), 1.0, 0.0)", "cast.f32(cast.u64(i) * -1:u64)", "16777216.0 * $x[i]",
      "123456789.0 * $x[i]", "3.4028235e+38 * $x[i]", "($x[i])", "cast.f32(i - 2 - (j - 1))",
      "cast.f32((i + j) % 3 * 2)", "cast.f32(cast.f8e4m3fn($x[i]) + 0.1:f8e4m3fn)",
      "cast.f32(cast.f8e5m2fnuz($x[i]) * 3.0:f8e5m2fnuz)", "cast.f32(cast.i4(i) - -8:i4)",
      "cast.f32(cast.i4(i) - 7:i4)", "cast.f32(cast.u4(i) - 1:u4)",
      "cast.f32(dot4(cast.i32(i), cast.i32(j) - 128:i32))", "dot2(cast.i32(i), 1065369472:i32)",
      "dot2_f16(cast.i32(i), 1006648320:i32)", "cast.f32(bits(cast.bf16($x[i])) & 255:u16)",
      "cast.f32(bits(cast.f8e5m2($x[i])))"};
  seer_arena *arena = seer_arena_create("test");
  for (size_t k = 0; k < SEER_COUNT_OF(bodies); k++) {
    const char *text = seer_arena_printf(arena,
        "dag t {\n input $x f32[5]\n stage s role anchor [i<5, j<4] = %s\n output $s }", bodies[k]);
    seer_dag *dag = parse(arena, text);
    const char *once = seer_dag_print(dag, arena);
    assert_string_equal(seer_dag_print(parse(arena, once), arena), once);
  }
  // Exactly as written, where it is written as the printer would.
  for (size_t k = 0; k < 20; k++) {
    const char *text = seer_arena_printf(arena,
        "dag t {\n  input $x f32[5]\n  stage s role anchor [i<5, j<4] = %s\n  output $s\n}\n",
        bodies[k]);
    assert_string_equal(seer_dag_print(parse(arena, text), arena), text);
  }
  seer_arena_destroy(arena);
}

static void names_are_made_fit(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = seer_dag_create(arena, "net/1");
  int64_t dim[1] = {4};
  uint32_t a =
      seer_dag_add_input(dag, "conv1/weights:0", SEER_BUF_WEIGHT, SEER_DTYPE_F32, dim, 1, 0);
  uint32_t b =
      seer_dag_add_input(dag, "conv1/weights:0", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, dim, 1, 0);
  seer_dag_axis ax[2] = {{"if", 4, SEER_AXIS_OTHER}, {"if", 4, SEER_AXIS_OTHER}};
  uint32_t st = seer_dag_add_stage(dag, "9", SEER_STAGE_ANCHOR, ax, 2, 0);
  seer_expr i = seer_dag_var(dag, st, 0), j = seer_dag_var(dag, st, 1);
  seer_expr body = mul(dag, seer_dag_load(dag, a, &i), seer_dag_load(dag, b, &j));
  seer_dag_mark_output(dag, seer_dag_set_body(dag, st, SEER_COMBINE_NONE, &body, 1), 0);
  seer_dag_finish(dag);
  fixpoint(arena, dag);
  assert_string_equal(dag->buf[a].name, "conv1_weights_0");
  assert_string_equal(dag->buf[b].name, "conv1_weights_0_2");
  assert_string_equal(dag->stage[0].axis[1].name, "if__2");
  seer_arena_destroy(arena);
}

static void refuses(seer_arena *arena, const char *text, const char *why) {
  seer_dag *dag;
  seer_status status = seer_dag_parse("test", text, strlen(text), arena, &dag);
  if (!status) fail_msg("accepted: %s", text);
  if (!strstr(seer_status_message(status), why))
    fail_msg("'%s' lacks '%s'", seer_status_message(status), why);
  assert_null(dag);
  seer_status_free(status);
}

#define ONE(body) "dag t { input $x f32[5] stage s role anchor [i<5] = " body " output $s }"

static void errors_say_what_and_where(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  refuses(arena, "", "expected 'dag'");
  refuses(arena, "dag t { }", "no stage");
  refuses(arena, "dag t {\n\n  inptu $x f32[5] }", "test:3:3");
  refuses(arena, "dag t { input $x f33[5] }", "unknown type 'f33'");
  refuses(arena, "dag t { input $x f32[0] }", "extent 0");
  refuses(arena, "dag t { input $x f32[4294967296, 4294967296] }", "elements");
  refuses(arena, "dag t { input $x f32[8] pitch 7 }", "pitch 7");
  refuses(arena, "dag t { input $x f32[8] input $x f32[8] }", "twice");
  refuses(arena, ONE("$y[i]"), "unknown buffer '$y'");
  refuses(arena, ONE("$x[j]"), "unknown variable 'j'");
  refuses(arena, ONE("$x[i, i]"), "1 dimensions");
  refuses(arena, ONE("$x[]"), "0 indices");
  refuses(arena, ONE("$x[1.0]"), "must be i64");
  refuses(arena, ONE("$x[i] + i"), "f32 + i64");
  refuses(arena, ONE("$x[i] & $x[i]"), "f32 & f32");
  refuses(arena, ONE("sqrt(i)"), "sqrt of i64");
  refuses(arena, ONE("frob($x[i])"), "unknown function 'frob'");
  refuses(arena, ONE("max($x[i])"), "expected ','");
  refuses(arena, ONE("select(i, 1.0, 2.0)"), "must be bool");
  refuses(arena, ONE("$x[i] if i else 0.0"), "must be bool");
  refuses(arena, ONE("$x[i] if i < 2 else 0"), "else i64");
  refuses(arena, ONE("1.0 if i < 2 else 0.0"), "plain load");
  refuses(arena, ONE("3:f32"), "integer constant");
  refuses(arena, ONE("$x[99999999999999999999]"), "64 bits");
  refuses(arena, ONE("$s[i]"), "unknown buffer '$s'");
  refuses(arena, ONE("($x[i], i, i, i, i)"), "more than 4 values");
  refuses(
      arena, "dag t { input $x f32[5] stage s role anchor [i<5] sum[] = $x[i] }", "over no axes");
  refuses(arena, "dag t { input $x f32[5] stage s role anchor [] argmax[i<5] = $x[i] }",
      "(value, index)");
  refuses(arena, "dag t { input $x f32[5] stage s role hero [i<5] = $x[i] }", "unknown stage role");
  refuses(
      arena, "dag t { input $x f32[5] stage s role anchor [i:up<5] = $x[i] }", "unknown axis role");
  refuses(arena, "dag t { input $x f32[5] output $x }", "is an input");
  refuses(arena, ONE("$x[i]") " x", "behind the dag");
  // Deep nesting is refused, not a crash.
  size_t n = 100000;
  char *deep = (char *)seer_arena_alloc(arena, n + 200, 1);
  strcpy(deep, "dag t { input $x f32[5] stage s role anchor [i<5] = ");
  size_t at = strlen(deep);
  memset(deep + at, '(', n);
  refuses(arena, deep, "levels");
  for (size_t k = 0; k + 2 < n; k += 2) memcpy(deep + at + k, "i-", 2);
  refuses(arena, deep, "levels");
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_nets_round_trip),
      cmocka_unit_test(prints_as_documented),
      cmocka_unit_test(expressions_round_trip),
      cmocka_unit_test(names_are_made_fit),
      cmocka_unit_test(errors_say_what_and_where),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
