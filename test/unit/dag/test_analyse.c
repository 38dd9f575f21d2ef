// Facts about DAGs: Ansor's own oracles, classes, producers and consumers.

#include <string.h>

#include "dag/access.h"
#include "nets.h"
#include "support/test.h"

static void tiling_is_needed_where_ansor_says(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint32_t out;
  seer_dag *dag = make_matmul(arena, 512, 512, 512, true, &out);
  assert_true(seer_dag_needs_tiling(dag, 0));
  assert_false(seer_dag_needs_tiling(dag, 1));
  conv_shape s = {1, 14, 14, 8, 16, 3, 1, 1, 1, true};
  dag = make_conv(arena, &s, &out);
  assert_false(seer_dag_needs_tiling(dag, 0));  // pad
  assert_true(seer_dag_needs_tiling(dag, 1));
  assert_false(seer_dag_needs_tiling(dag, 2));
  dag->stage[1].role = SEER_STAGE_TRANSFORM_IN;
  assert_false(seer_dag_needs_tiling(dag, 1));
  assert_true(seer_dag_needs_tiling(make_depthwise(arena, 9, 4, &out), 0));
  assert_false(seer_dag_needs_tiling(make_max_pool(arena, 8, 4, &out), 0));
  dag = make_softmax(arena, 4, 16, &out);
  for (uint32_t st = 0; st < dag->n_stage; st++) assert_false(seer_dag_needs_tiling(dag, st));
  // Two broadcast operands count as an outer product would.
  assert_true(seer_dag_needs_tiling(make_bias_bn_relu(arena, 8, 16, &out), 0));
  // A matrix with one column is no matrix: only one producer misses an axis of extent > 1, but it
  // reduces.
  assert_true(seer_dag_needs_tiling(make_matmul(arena, 8, 1, 8, false, &out), 0));
  assert_false(seer_dag_needs_tiling(make_matmul(arena, 1, 1, 8, false, &out), 0));
  seer_arena_destroy(arena);
}

static void inlining_is_strict(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint32_t out;
  seer_dag *dag = make_matmul(arena, 8, 8, 8, true, &out);
  assert_false(seer_dag_is_inlineable(dag, 0));  // reduces
  assert_true(seer_dag_is_inlineable(dag, 1));
  dag = make_softmax(arena, 4, 16, &out);
  assert_false(seer_dag_is_inlineable(dag, 1));  // exp
  assert_true(seer_dag_is_inlineable(dag, 3));  // division with a broadcast
  conv_shape s = {1, 5, 5, 2, 2, 3, 1, 1, 1, false};
  dag = make_conv(arena, &s, &out);
  assert_false(seer_dag_is_inlineable(dag, 0));  // guarded
  dag = make_bias_bn_relu(arena, 8, 16, &out);
  assert_true(seer_dag_is_inlineable(dag, 0));
  // A transposed read is not simple.
  dag = seer_dag_create(arena, "t");
  int64_t dim[2] = {4, 4};
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, dim, 2, 0);
  seer_dag_axis ax[2] = {{"i", 4, SEER_AXIS_OTHER}, {"j", 4, SEER_AXIS_OTHER}};
  uint32_t st = seer_dag_add_stage(dag, "t", SEER_STAGE_ANCHOR, ax, 2, 0);
  seer_expr body =
      seer_dag_load(dag, x, (seer_expr[]){seer_dag_var(dag, st, 1), seer_dag_var(dag, st, 0)});
  seer_dag_set_body(dag, st, SEER_COMBINE_NONE, &body, 1);
  seer_dag_finish(dag);
  assert_false(seer_dag_is_inlineable(dag, 0));
  seer_arena_destroy(arena);
}

static void flops_are_ansors(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint32_t out;
  double n = 512;
  assert_true(seer_dag_flops(make_matmul(arena, 512, 512, 512, false, &out)) == 2 * n * n * n);
  assert_true(
      seer_dag_flops(make_matmul(arena, 512, 512, 512, true, &out)) == 2 * n * n * n + n * n);
  conv_shape s = {1, 56, 56, 64, 64, 3, 1, 1, 1, false};  // padding adds nothing
  assert_true(seer_dag_flops(make_conv(arena, &s, &out)) == 2.0 * 56 * 56 * 64 * 64 * 9);
  assert_true(seer_dag_flops(make_argmax(arena, 10, 20, &out)) == 200);
  // softmax: max 1, exp(x - m) 1 + 8, sum 1, division 1
  assert_true(seer_dag_flops(make_softmax(arena, 10, 20, &out)) == 200 * 12);
  assert_true(seer_dag_io_bytes(make_matmul(arena, 2, 3, 5, true, &out)) == 4 * (10 + 15 + 6));
  seer_arena_destroy(arena);
}

// A comparison of data inside a select counts.
static void data_comparisons_count(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = seer_dag_create(arena, "t");
  int64_t dim[1] = {100};
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, dim, 1, 0);
  seer_dag_axis ax[1] = {{"i", 100, SEER_AXIS_OTHER}};
  uint32_t st = seer_dag_add_stage(dag, "t", SEER_STAGE_ANCHOR, ax, 1, 0);
  seer_expr i = seer_dag_var(dag, st, 0), v = seer_dag_load(dag, x, &i);
  seer_expr cond = seer_expr_binary(&dag->expr, SEER_EXPR_GT, v, f32(dag, 0));
  seer_expr body = seer_expr_select(&dag->expr, cond, v, f32(dag, 0));
  seer_dag_set_body(dag, st, SEER_COMBINE_NONE, &body, 1);
  assert_true(seer_dag_stage_flops(dag, 0) == 100);
  st = seer_dag_add_stage(dag, "u", SEER_STAGE_ANCHOR, ax, 1, 0);
  i = seer_dag_var(dag, st, 0), v = seer_dag_load(dag, x, &i);
  body = seer_expr_select(&dag->expr, cmpi(dag, SEER_EXPR_LT, muli(dag, i, 3), 50), v, f32(dag, 0));
  seer_dag_set_body(dag, st, SEER_COMBINE_NONE, &body, 1);
  assert_true(seer_dag_stage_flops(dag, 1) == 0);
  seer_arena_destroy(arena);
}

// Of a slice's producer no more than the slice reads; what goes out is made whole.
static void iterations_that_somebody_needs(void **state) {
  (void)state;
  static const char text[] =
      "dag part {\n  input $x f32[8, 5]\n  weight $b f32[7]\n"
      "  stage bias role prologue [i<7] = $b[i] + 1.0\n"
      "  stage y role anchor [i<8] sum[k<5] = $x[i, k]\n"
      "  stage part role epilogue [i<3, j<7] = $y[i * 2] * $bias[j]\n"
      "  stage few role epilogue [j<7] = $part[1, j]\n  output $few\n%s}\n";
  seer_arena *arena = seer_arena_create("test");
  for (int has_part = 0; has_part < 2; has_part++) {
    const char *dag_text = seer_arena_printf(arena, text, has_part ? "  output $part\n" : "");
    seer_dag *dag;
    assert_null(seer_dag_parse("test", dag_text, strlen(dag_text), arena, &dag));
    double n[SEER_DAG_MAX_STAGES];
    seer_dag_count_iterations(dag, n);
    assert_true(n[0] == 0);  // made when compiling
    assert_true(n[1] == (has_part ? 8 : 7) * 5);
    assert_true(n[2] == (has_part ? 21 : 7) && n[3] == 7);
    seer_dag_io io = seer_dag_count_io(dag, 0);
    assert_true(io.read == 4 * ((has_part ? 40 : 35) + 7));
    assert_true(io.written == 4 * (has_part ? 28 : 7));
  }
  seer_arena_destroy(arena);
}

static void classes(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint32_t out;
  conv_shape s = {1, 14, 14, 8, 16, 3, 1, 1, 1, true}, one = {1, 14, 14, 8, 16, 1, 1, 1, 0, false};
  conv_shape grey = {1, 14, 14, 1, 16, 5, 2, 1, 0, false};
  assert_int_equal(seer_dag_anchor(make_conv(arena, &s, &out)), 1);
  assert_string_equal(seer_dag_anchor_class(make_conv(arena, &s, &out), arena), "conv.f32");
  assert_string_equal(seer_dag_anchor_class(make_conv(arena, &one, &out), arena), "conv.f32");
  assert_string_equal(seer_dag_anchor_class(make_conv(arena, &grey, &out), arena), "conv.f32");
  assert_string_equal(
      seer_dag_anchor_class(make_depthwise(arena, 9, 4, &out), arena), "depthwise.f32");
  assert_string_equal(
      seer_dag_anchor_class(make_matmul(arena, 8, 8, 8, true, &out), arena), "contraction.f32");
  assert_string_equal(seer_dag_anchor_class(make_max_pool(arena, 8, 4, &out), arena), "window.f32");
  assert_string_equal(
      seer_dag_anchor_class(make_softmax(arena, 8, 4, &out), arena), "row-reduction.f32");
  assert_string_equal(
      seer_dag_anchor_class(make_argmax(arena, 8, 4, &out), arena), "row-reduction.f32");
  assert_string_equal(
      seer_dag_anchor_class(make_bias_bn_relu(arena, 8, 4, &out), arena), "elementwise.f32");
  const char *text =
      "dag g { input $x f32[9, 9, 8] weight $w f32[12, 3, 3, 2] stage c role anchor "
      "[y:y<7, x:x<7, o:out_channel<12] sum[ky:ky<3, kx:kx<3, i:in_channel<2] = "
      "$x[y + ky, x + kx, o / 3 * 2 + i] * $w[o, ky, kx, i] output $c }";
  seer_dag *dag;
  assert_null(seer_dag_parse("test", text, strlen(text), arena, &dag));
  assert_null(seer_dag_verify(dag));
  assert_string_equal(seer_dag_anchor_class(dag, arena), "group-conv.f32");
  text = "dag m { input $x i8[9, 8] stage t role anchor [i<8, j<9] = $x[j, i] output $t }";
  assert_null(seer_dag_parse("test", text, strlen(text), arena, &dag));
  assert_string_equal(seer_dag_anchor_class(dag, arena), "movement.i8");
  seer_arena_destroy(arena);
}

static void neighbours(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint32_t out, list[SEER_DAG_MAX_STAGES];
  seer_dag *dag = make_softmax(arena, 4, 16, &out);
  assert_int_equal(seer_dag_readers(dag, 1, list), 2);
  assert_int_equal(list[0], 2);
  assert_int_equal(list[1], 3);
  assert_int_equal(seer_dag_readers(dag, 3, list), 0);
  assert_int_equal(seer_dag_makers(dag, 3, list), 2);
  assert_int_equal(list[0], 1);
  assert_int_equal(list[1], 2);
  assert_true(seer_access_is_elementwise(dag, 1, 3));
  assert_false(seer_access_is_elementwise(dag, 2, 3));
  assert_false(seer_access_is_elementwise(dag, 0, 3));
  dag = make_matmul(arena, 8, 8, 8, true, &out);
  assert_true(seer_access_is_elementwise(dag, 0, 1));
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiling_is_needed_where_ansor_says),
      cmocka_unit_test(inlining_is_strict),
      cmocka_unit_test(flops_are_ansors),
      cmocka_unit_test(data_comparisons_count),
      cmocka_unit_test(iterations_that_somebody_needs),
      cmocka_unit_test(classes),
      cmocka_unit_test(neighbours),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
