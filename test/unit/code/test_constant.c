// test_constant.c - constant stages by compiled code are what the interpreter says, to the bit: few
// and many elements, both layouts of weights, chains of stages.
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "code/constant.h"
#include "space/formulation.h"
#include "support/test.h"
#include "support/winograd_net.h"

extern const seer_formulation seer_formulation_winograd2, seer_formulation_winograd4;

static void compare(const seer_dag *dag, uint32_t buf, seer_arena *arena) {
  const void *input[SEER_DAG_MAX_BUFFERS] = {NULL};
  seer_rng rng;
  seer_rng_init(&rng, 3);
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind != SEER_BUF_WEIGHT) continue;
    int64_t n = seer_dag_buf_elems(&dag->buf[b]);
    float *data = SEER_NEW_ARRAY(arena, float, (size_t)n);
    for (int64_t k = 0; k < n; k++) data[k] = (float)(2 * seer_rng_f64(&rng) - 1);
    seer_dag_eval_set_input(eval, b, data);
    input[b] = data;
  }
  size_t n_bytes = (size_t)seer_dag_buf_elems(&dag->buf[buf]) * sizeof(float);
  void *want = seer_arena_alloc(arena, n_bytes, 64), *got = seer_arena_alloc(arena, n_bytes, 64);
  memset(got, 0xFF, n_bytes);
  seer_dag_eval_all(eval, buf, want);
  must(seer_constant_eval(dag, buf, input, 0, got));
#if defined(__x86_64__)
  assert_memory_equal(want, got, n_bytes);
#else
  for (size_t k = 0; k < n_bytes / sizeof(float); k++) {
    float w = ((const float *)want)[k], g = ((const float *)got)[k];
    assert_true(w - g <= 1e-5f && g - w <= 1e-5f);
  }
#endif
  // The same where there is no compiler, by code that came from where there is one.
  seer_target *target = SEER_NEW(arena, seer_target);
  must(seer_target_detect(arena, target));
  seer_constant_kernels kernels = {0};
  must(seer_constant_compile(dag, buf, target, arena, &kernels));
  size_t n = kernels.n;
  must(seer_constant_compile(dag, buf, target, arena, &kernels));
  assert_int_equal(kernels.n, n);  // each once
  void *again = seer_arena_alloc(arena, n_bytes, 64);
  memset(again, 0xFF, n_bytes);
  must(seer_constant_eval_with(&kernels, target, dag, buf, input, 0, again));
  assert_memory_equal(got, again, n_bytes);
  if (n == 0) return;  // it was interpreted
  const seer_constant_kernels none = {0};
  seer_status status = seer_constant_eval_with(&none, target, dag, buf, input, 0, again);
  assert_int_equal(seer_status_code(status), SEER_CODE_INTERNAL);
  assert_non_null(strstr(seer_status_message(status), "did not come along"));
  seer_status_free(status);
}

static void test_transformed_weights(void **state) {
  (void)state;
  winograd_net nets[] = {{.n = 1, .h = 8, .w = 8, .ic = 8, .oc = 9, .pad = 1},
      {.n = 1, .h = 8, .w = 8, .ic = 40, .oc = 37, .pad = 1},
      {.n = 1, .h = 8, .w = 8, .ic = 33, .oc = 48, .pad = 0, .is_hwio = true}};
  const seer_formulation *formulations[2] = {
      &seer_formulation_winograd2, &seer_formulation_winograd4};
  for (size_t k = 0; k < 2 * SEER_COUNT_OF(nets); k++) {
    seer_arena *arena = seer_arena_create("test");
    seer_target target = {.vector_bytes = 16, .threads = 1};
    double tolerance;
    const seer_dag *dag = formulations[k % 2]->make(
        winograd_net_build(&nets[k / 2], arena), &target, arena, &tolerance);
    assert_non_null(dag);
    uint32_t buf = 0;
    while (strcmp(dag->buf[buf].name, "wu") != 0) buf++;
    compare(dag, buf, arena);
    seer_arena_destroy(arena);
  }
}

// Two constant stages, the second reads the first twice.
static void test_chain(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = seer_dag_create(arena, "chain");
  const int64_t dim[2] = {200, 190};
  uint32_t w = seer_dag_add_input(dag, "w", SEER_BUF_WEIGHT, SEER_DTYPE_F32, dim, 2, 0);
  seer_dag_axis axes[2] = {{"i", 200, SEER_AXIS_OTHER}, {"j", 190, SEER_AXIS_OTHER}};
  for (int k = 0; k < 2; k++) {
    uint32_t stage = seer_dag_add_stage(dag, "s", SEER_STAGE_PACK, axes, 2, 0);
    seer_expr at[2] = {seer_dag_var(dag, stage, 0), seer_dag_var(dag, stage, 1)},
              first[2] = {seer_expr_i(&dag->expr, 0), at[1]};
    seer_expr body = seer_expr_binary(
        &dag->expr, SEER_EXPR_SUB, seer_dag_load(dag, w, at), seer_dag_load(dag, w, first));
    w = seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
  }
  seer_dag_mark_output(dag, w, 0);
  seer_dag_finish(dag);
  compare(dag, w, arena);
  seer_arena_destroy(arena);
}

// A stage that reads nothing is constant by itself: where another one reads it, it is packed.
static void test_without_loads(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = seer_dag_create(arena, "triangle");
  seer_expr_pool *pool = &dag->expr;
  const int64_t dim[2] = {200, 190};
  uint32_t w = seer_dag_add_input(dag, "w", SEER_BUF_WEIGHT, SEER_DTYPE_F32, dim, 2, 0);
  const seer_dag_axis axes[2] = {{"i", 200, SEER_AXIS_OTHER}, {"j", 190, SEER_AXIS_OTHER}};
  uint32_t stage = seer_dag_add_stage(dag, "mask", SEER_STAGE_EPILOGUE, axes, 2, 0);
  seer_expr i = seer_dag_var(dag, stage, 0), j = seer_dag_var(dag, stage, 1);
  seer_expr body = seer_expr_select(pool, seer_expr_binary(pool, SEER_EXPR_LE, i, j),
      seer_expr_f(pool, SEER_DTYPE_F32, 1.5), seer_expr_f(pool, SEER_DTYPE_F32, -0.25));
  body = seer_expr_unary(pool, SEER_EXPR_EXP, body);
  uint32_t mask = seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
  stage = seer_dag_add_stage(dag, "masked", SEER_STAGE_EPILOGUE, axes, 2, 0);
  seer_expr at[2] = {seer_dag_var(dag, stage, 0), seer_dag_var(dag, stage, 1)};
  body = seer_expr_binary(
      pool, SEER_EXPR_MUL, seer_dag_load(dag, w, at), seer_dag_load(dag, mask, at));
  uint32_t out = seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
  seer_dag_mark_output(dag, out, 0);
  seer_dag_finish(dag);
  compare(dag, out, arena);
  seer_arena_destroy(arena);
}

// Rows of a softmax, whose sums are kept in the scratch of the thread that works on them.
static void test_many_threads(void **state) {
  (void)state;
  enum { ROWS = 2048, COLUMNS = 100, RUNS = 40, THREADS = 8 };
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = seer_dag_create(arena, "softmax");
  seer_expr_pool *pool = &dag->expr;
  const int64_t dim[2] = {ROWS, COLUMNS};
  uint32_t w = seer_dag_add_input(dag, "w", SEER_BUF_WEIGHT, SEER_DTYPE_F32, dim, 2, 0);
  const seer_dag_axis axes[2] = {{"i", ROWS, SEER_AXIS_OTHER}, {"j", COLUMNS, SEER_AXIS_OTHER}};
  uint32_t power = seer_dag_add_stage(dag, "exp", SEER_STAGE_EPILOGUE, axes, 2, 0);
  seer_expr at[2] = {seer_dag_var(dag, power, 0), seer_dag_var(dag, power, 1)};
  seer_expr body = seer_expr_unary(pool, SEER_EXPR_EXP, seer_dag_load(dag, w, at));
  uint32_t powers = seer_dag_set_body(dag, power, SEER_COMBINE_NONE, &body, 1);
  uint32_t sum = seer_dag_add_stage(dag, "sum", SEER_STAGE_ANCHOR, axes, 1, 1);
  at[0] = seer_dag_var(dag, sum, 0), at[1] = seer_dag_var(dag, sum, 1);
  body = seer_dag_load(dag, powers, at);
  uint32_t sums = seer_dag_set_body(dag, sum, SEER_COMBINE_SUM, &body, 1);
  uint32_t last = seer_dag_add_stage(dag, "share", SEER_STAGE_EPILOGUE, axes, 2, 0);
  at[0] = seer_dag_var(dag, last, 0), at[1] = seer_dag_var(dag, last, 1);
  body = seer_expr_binary(
      pool, SEER_EXPR_DIV, seer_dag_load(dag, powers, at), seer_dag_load(dag, sums, at));
  uint32_t out = seer_dag_set_body(dag, last, SEER_COMBINE_NONE, &body, 1);
  seer_dag_mark_output(dag, out, 0);
  seer_dag_finish(dag);

  size_t n = ROWS * COLUMNS;
  float *x = SEER_NEW_ARRAY(arena, float, n), *want = SEER_NEW_ARRAY(arena, float, n),
        *got = SEER_NEW_ARRAY(arena, float, n);
  seer_rng rng;
  seer_rng_init(&rng, 5);
  for (size_t k = 0; k < n; k++) x[k] = (float)seer_rng_normal(&rng);
  const void *input[SEER_DAG_MAX_BUFFERS] = {NULL};
  input[w] = x;
  must(seer_constant_eval(dag, out, input, 1, want));
  for (int k = 0; k < RUNS; k++) {
    memset(got, 0xFF, n * sizeof(float));
    must(seer_constant_eval(dag, out, input, THREADS, got));
    assert_memory_equal(want, got, n * sizeof(float));
  }
  for (size_t row = 0; row < ROWS; row++) {  // and they are shares
    double all = 0;
    for (size_t k = 0; k < COLUMNS; k++) all += (double)want[row * COLUMNS + k];
    assert_true(all > 1 - 1e-5 && all < 1 + 1e-5);
  }
  seer_arena_destroy(arena);
}

// Kernels of two stages in one list: each is evaluated by its own.
static void test_one_list(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const winograd_net net = {.n = 1, .h = 8, .w = 8, .ic = 48, .oc = 40, .pad = 1};
  const seer_formulation *formulations[2] = {
      &seer_formulation_winograd4, &seer_formulation_winograd2};
  seer_target *target = SEER_NEW(arena, seer_target);
  must(seer_target_detect(arena, target));
  seer_constant_kernels kernels = {0};
  const seer_dag *dag[2];
  uint32_t buf[2] = {0, 0};
  for (int k = 0; k < 2; k++) {
    double tolerance;
    const seer_target any = {.vector_bytes = 16, .threads = 1};
    dag[k] = formulations[k]->make(winograd_net_build(&net, arena), &any, arena, &tolerance);
    while (strcmp(dag[k]->buf[buf[k]].name, "wu") != 0) buf[k]++;
    must(seer_constant_compile(dag[k], buf[k], target, arena, &kernels));
  }
  assert_true(kernels.n >= 2);
  for (int k = 0; k < 2; k++) {
    const void *input[SEER_DAG_MAX_BUFFERS] = {NULL};
    for (uint32_t b = 0; b < dag[k]->n_buf; b++) {
      if (dag[k]->buf[b].kind != SEER_BUF_WEIGHT) continue;
      float *data = SEER_NEW_ARRAY(arena, float, (size_t)seer_dag_buf_elems(&dag[k]->buf[b]));
      for (int64_t i = 0; i < seer_dag_buf_elems(&dag[k]->buf[b]); i++)
        data[i] = (float)(i % 17) - 8.5f;
      input[b] = data;
    }
    size_t n_bytes = (size_t)seer_dag_buf_elems(&dag[k]->buf[buf[k]]) * sizeof(float);
    void *want = seer_arena_alloc(arena, n_bytes, 64), *got = seer_arena_alloc(arena, n_bytes, 64);
    must(seer_constant_eval(dag[k], buf[k], input, 0, want));
    must(seer_constant_eval_with(&kernels, target, dag[k], buf[k], input, 0, got));
    assert_memory_equal(want, got, n_bytes);
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_transformed_weights),
      cmocka_unit_test(test_chain), cmocka_unit_test(test_without_loads),
      cmocka_unit_test(test_many_threads), cmocka_unit_test(test_one_list)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
