// Made-up operands are such that what a task computes of them is defined, and comparisons leave out
// what is not.
#include <math.h>
#include <string.h>

#include "measure/answer/answer.h"
#include "measure/answer/domain.h"
#include "support/test.h"

typedef struct {
  seer_arena *arena;
  seer_dag *dag;
} world;

// One elementwise stage of x and y.
static seer_dag *make(world *w, seer_dtype dtype) {
  w->arena = seer_arena_create("test");
  w->dag = seer_dag_create(w->arena, "test");
  int64_t dim[] = {64};
  (void)seer_dag_add_input(w->dag, "x", SEER_BUF_ACTIVATION, dtype, dim, 1, 0);
  (void)seer_dag_add_input(w->dag, "y", SEER_BUF_ACTIVATION, dtype, dim, 1, 0);
  seer_dag_axis axis = {"i", 64, SEER_AXIS_OTHER};
  (void)seer_dag_add_stage(w->dag, "out", SEER_STAGE_ANCHOR, &axis, 1, 0);
  return w->dag;
}

static seer_expr load(world *w, uint32_t buf) {
  seer_expr index = seer_dag_var(w->dag, 0, 0);
  return seer_dag_load(w->dag, buf, &index);
}

static uint32_t finish(world *w, seer_expr body, seer_domain *domains, seer_ranges *ranges) {
  seer_dag_mark_output(w->dag, seer_dag_set_body(w->dag, 0, SEER_COMBINE_NONE, &body, 1), 0);
  seer_dag_finish(w->dag);
  seer_domains_choose(w->dag, w->arena, domains);
  seer_ranges_find(w->dag, domains, w->arena, ranges);
  return ranges->n_undefined;
}

#define ONE(op, a) seer_expr_unary(&w.dag->expr, SEER_EXPR_##op, (a))
#define TWO(op, a, b) seer_expr_binary(&w.dag->expr, SEER_EXPR_##op, (a), (b))
#define NUM(v) seer_expr_f(&w.dag->expr, SEER_DTYPE_F32, (v))

static void test_nothing_is_undefined(void **state) {
  (void)state;
  seer_domain d[SEER_DAG_MAX_BUFFERS];
  seer_ranges r;
  for (int k = 0; k < 9; k++) {
    world w;
    (void)make(&w, SEER_DTYPE_F32);
    seer_expr x = load(&w, 0), y = load(&w, 1), body = TWO(ADD, x, y);
    if (k == 1) body = ONE(LOG, x);
    if (k == 2) body = TWO(DIV, ONE(SQRT, x), y);
    if (k == 3) body = TWO(POW, x, y);
    if (k == 4)  // acosh
      body = ONE(LOG,
          TWO(ADD, x, TWO(MUL, ONE(SQRT, TWO(ADD, x, NUM(1))), ONE(SQRT, TWO(SUB, x, NUM(1))))));
    if (k == 5) body = ONE(LOG, TWO(DIV, TWO(ADD, NUM(1), x), TWO(SUB, NUM(1), x)));  // atanh
    if (k == 6) body = ONE(LOG, TWO(MUL, x, y));  // both at once
    if (k == 7) body = ONE(LOG, TWO(SUB, NUM(0), x));
    if (k == 8) body = ONE(LOG, TWO(SUB, NUM(-3), x));  // nothing helps: as usual
    assert_int_equal(finish(&w, body, d, &r), k == 8);
    bool is_usual = d[0].low == -1 && d[0].high == 1;
    assert_int_equal(is_usual, k == 0 || k == 8);
    seer_arena_destroy(w.arena);
  }
}

static void test_integers(void **state) {
  (void)state;
  seer_domain d[SEER_DAG_MAX_BUFFERS];
  seer_ranges r;
  for (int k = 0; k < 3; k++) {
    world w;
    (void)make(&w, SEER_DTYPE_I32);
    seer_expr x = load(&w, 0), y = load(&w, 1), body = TWO(DIV, x, y);
    if (k == 1) body = TWO(SHL, x, y);
    if (k == 2) body = TWO(MOD, x, y);
    assert_int_equal(finish(&w, body, d, &r), 0);
    assert_true(d[0].low == 0 && d[0].high == 1);
    assert_int_equal(d[1].low > 0, k != 1);
    seer_arena_destroy(w.arena);
  }
}

static seer_measured_class judge(
    seer_dtype dtype, bool has_jumps, const double *got, const double *want, int64_t n) {
  seer_dag_buf buf = {.name = "out", .dtype = dtype, .rank = 1, .dim = {n}, .pitch = n};
  seer_answer a;
  seer_measure_result result = {.cls = SEER_MEASURED_OK};
  seer_answer_init(&a, &buf, has_jumps, 0, 1);
  for (int64_t i = 0; i < n; i++) seer_answer_hold(&a, i, got[i], want[i]);
  seer_answer_judge(&a, &result);
  return result.cls;
}

static void test_answers(void **state) {
  (void)state;
  const double want[] = {1, NAN, INFINITY, 0.5}, same[] = {1, NAN, INFINITY, 0.5},
               lost[] = {1, NAN, -INFINITY, 0.5}, nan[] = {1, NAN, INFINITY, NAN},
               half[] = {1.001, NAN, INFINITY, 0.5}, none[] = {NAN, NAN, NAN, NAN};
  assert_int_equal(judge(SEER_DTYPE_F32, false, same, want, 4), SEER_MEASURED_OK);
  assert_int_equal(judge(SEER_DTYPE_F32, false, lost, want, 4), SEER_MEASURED_WRONG_RESULT);
  assert_int_equal(judge(SEER_DTYPE_F32, false, nan, want, 4), SEER_MEASURED_WRONG_RESULT);
  assert_int_equal(judge(SEER_DTYPE_F32, false, none, none, 4), SEER_MEASURED_WRONG_RESULT);
  assert_int_equal(judge(SEER_DTYPE_F16, false, half, want, 4), SEER_MEASURED_OK);
  assert_int_equal(judge(SEER_DTYPE_F32, false, half, want, 4), SEER_MEASURED_WRONG_RESULT);
  double a[512] = {0}, b[512] = {0};
  b[7] = 1;
  assert_int_equal(judge(SEER_DTYPE_I8, true, b, a, 512), SEER_MEASURED_OK);
  assert_int_equal(judge(SEER_DTYPE_I8, false, b, a, 512), SEER_MEASURED_WRONG_RESULT);
  b[8] = b[9] = 1;
  assert_int_equal(judge(SEER_DTYPE_I8, true, b, a, 512), SEER_MEASURED_WRONG_RESULT);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_is_undefined),
      cmocka_unit_test(test_integers), cmocka_unit_test(test_answers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
