// Expressions: what folds, interning, affine forms, bounds with and without guards.

#include <math.h>

#include "base/rng.h"
#include "dag/scalar.h"
#include "nets.h"
#include "support/test.h"

static seer_arena *arena;
static seer_expr_pool pool;

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  seer_expr_pool_init(&pool, arena);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  seer_arena_destroy(arena);
  return 0;
}

static seer_expr v(uint32_t k) { return seer_expr_var(&pool, k); }
static seer_expr c(int64_t k) { return seer_expr_i(&pool, k); }
static seer_expr op(seer_expr_op o, seer_expr a, seer_expr b) {
  return seer_expr_binary(&pool, o, a, b);
}
#define SAME(a, b) assert_int_equal((a).i, (b).i)

static void neutral_elements_vanish(void **state) {
  (void)state;
  seer_expr x = v(0);
  SAME(op(SEER_EXPR_ADD, x, c(0)), x);
  SAME(op(SEER_EXPR_ADD, c(0), x), x);
  SAME(op(SEER_EXPR_SUB, x, c(0)), x);
  SAME(op(SEER_EXPR_MUL, x, c(1)), x);
  SAME(op(SEER_EXPR_MUL, c(0), x), c(0));
  SAME(op(SEER_EXPR_DIV, x, c(1)), x);
  SAME(op(SEER_EXPR_MOD, x, c(1)), c(0));
  SAME(op(SEER_EXPR_SUB, x, x), c(0));
  SAME(op(SEER_EXPR_ADD, op(SEER_EXPR_ADD, x, c(1)), c(2)), op(SEER_EXPR_ADD, x, c(3)));
  SAME(op(SEER_EXPR_SUB, op(SEER_EXPR_ADD, x, c(2)), c(2)), x);
  SAME(op(SEER_EXPR_MUL, c(3), op(SEER_EXPR_MUL, x, c(2))), op(SEER_EXPR_MUL, x, c(6)));
  SAME(op(SEER_EXPR_DIV, c(-7), c(2)), c(-4));
  SAME(op(SEER_EXPR_MOD, c(-7), c(2)), c(1));
  seer_expr p = op(SEER_EXPR_LT, x, c(4)), yes = seer_expr_int(&pool, SEER_DTYPE_BOOL, 1);
  SAME(op(SEER_EXPR_AND, p, yes), p);
  SAME(op(SEER_EXPR_OR, p, yes), yes);
  SAME(seer_expr_select(&pool, yes, x, c(4)), x);
  // Floats: constants fold, nothing else does.
  seer_expr f = seer_expr_load(&pool, SEER_DTYPE_F32, 0, &x, 1),
            zero = seer_expr_f(&pool, SEER_DTYPE_F32, 0);
  assert_int_not_equal(op(SEER_EXPR_ADD, f, zero).i, f.i);
  assert_int_not_equal(op(SEER_EXPR_MUL, f, seer_expr_f(&pool, SEER_DTYPE_F32, 1)).i, f.i);
  seer_expr third = op(
      SEER_EXPR_DIV, seer_expr_f(&pool, SEER_DTYPE_F32, 1), seer_expr_f(&pool, SEER_DTYPE_F32, 3));
  assert_true(seer_expr_at(&pool, third)->value.f == (double)(1.0f / 3.0f));
  assert_int_not_equal(zero.i, seer_expr_f(&pool, SEER_DTYPE_F32, -0.0).i);
  SAME(seer_expr_f(&pool, SEER_DTYPE_F32, NAN), seer_expr_f(&pool, SEER_DTYPE_F32, -NAN));
  // A guard that always or never holds.
  SAME(seer_expr_load_guarded(&pool, SEER_DTYPE_F32, 0, &x, 1, yes, zero), f);
  SAME(seer_expr_load_guarded(&pool, SEER_DTYPE_F32, 0, &x, 1, op(SEER_EXPR_GT, x, x), zero), zero);
}

static void affine_forms(void **state) {
  (void)state;
  seer_affine a;
  // (3 (x + 2) - y) + y  =  3 x + 6
  seer_expr e = op(SEER_EXPR_ADD,
      op(SEER_EXPR_SUB, op(SEER_EXPR_MUL, op(SEER_EXPR_ADD, v(0), c(2)), c(3)), v(1)), v(1));
  assert_true(seer_expr_affine(&pool, e, &a));
  assert_int_equal(a.n, 1);
  assert_int_equal(a.constant, 6);
  assert_int_equal(a.term[0].coef, 3);
  // (8 x + 19) / 4 = 2 x + 4;  (8 x + 19) % 4 = 3;  (x + 4) / 4 is not affine
  e = op(SEER_EXPR_ADD, op(SEER_EXPR_MUL, v(0), c(8)), c(19));
  assert_true(seer_expr_affine(&pool, op(SEER_EXPR_DIV, e, c(4)), &a));
  assert_int_equal(a.constant, 4);
  assert_int_equal(a.term[0].coef, 2);
  assert_true(seer_expr_affine(&pool, op(SEER_EXPR_MOD, e, c(4)), &a));
  assert_int_equal(a.n, 0);
  assert_int_equal(a.constant, 3);
  assert_false(seer_expr_affine(&pool, op(SEER_EXPR_DIV, op(SEER_EXPR_ADD, v(0), c(4)), c(4)), &a));
  assert_false(seer_expr_affine(&pool, op(SEER_EXPR_MUL, v(0), v(1)), &a));
}

static void expect_range(seer_expr e, seer_expr p, int64_t low, int64_t high) {
  static const int64_t lows[3] = {0, 0, 0}, highs[3] = {9, 2, 99};
  int64_t l, h;
  assert_true(seer_expr_range_given(&pool, e, lows, highs, p, &l, &h));
  assert_int_equal(l, low);
  assert_int_equal(h, high);
}

static void bounds(void **state) {
  (void)state;
  seer_expr none = {0}, x = v(0), y = v(1), z = v(2);
  seer_expr e = op(SEER_EXPR_SUB, op(SEER_EXPR_ADD, x, y), c(1));
  expect_range(e, none, -1, 10);
  expect_range(op(SEER_EXPR_SUB, e, x), none, -1, 1);
  expect_range(op(SEER_EXPR_DIV, z, c(7)), none, 0, 14);
  expect_range(op(SEER_EXPR_MOD, z, c(7)), none, 0, 6);
  expect_range(op(SEER_EXPR_MOD, x, c(16)), none, 0, 9);
  expect_range(op(SEER_EXPR_MAX, op(SEER_EXPR_MIN, z, c(5)), c(2)), none, 2, 5);
  // A guard on the sum bounds the sum, though no single variable changes.
  seer_expr p = op(SEER_EXPR_AND, op(SEER_EXPR_GE, e, c(0)), op(SEER_EXPR_LT, e, c(10)));
  expect_range(e, p, 0, 9);
  // ... and other forms of it: 2 e + 1; e + z
  expect_range(op(SEER_EXPR_ADD, op(SEER_EXPR_MUL, e, c(2)), c(1)), p, 1, 19);
  expect_range(op(SEER_EXPR_ADD, e, z), p, 0, 108);
  expect_range(x, op(SEER_EXPR_GE, x, c(4)), 4, 9);
  expect_range(x, op(SEER_EXPR_GT, op(SEER_EXPR_MUL, x, c(2)), c(5)), 3, 9);
  expect_range(x, seer_expr_unary(&pool, SEER_EXPR_NOT, op(SEER_EXPR_GE, x, c(4))), 0, 3);
  expect_range(
      op(SEER_EXPR_DIV, op(SEER_EXPR_SUB, z, c(14)), c(7)), op(SEER_EXPR_GE, z, c(14)), 0, 12);
  expect_range(seer_expr_select(&pool, op(SEER_EXPR_LT, x, c(4)), x, op(SEER_EXPR_SUB, x, c(4))),
      none, 0, 5);
  // A comparison that is decided.
  expect_range(op(SEER_EXPR_LT, x, c(10)), none, 1, 1);
  expect_range(op(SEER_EXPR_LT, x, y), none, 0, 1);
  // Data: unknown, but for clamps, guards on the very node, and small types.
  int64_t l, h, low[3] = {0}, high[3] = {9, 2, 99};
  seer_expr data = seer_expr_load(&pool, SEER_DTYPE_I64, 0, &x, 1);
  assert_false(seer_expr_range(&pool, data, low, high, &l, &h));
  expect_range(op(SEER_EXPR_MAX, op(SEER_EXPR_MIN, data, c(5)), c(0)), none, 0, 5);
  p = op(SEER_EXPR_AND, op(SEER_EXPR_GE, data, c(0)), op(SEER_EXPR_LT, data, c(7)));
  expect_range(data, p, 0, 6);
  expect_range(
      seer_expr_cast(&pool, SEER_DTYPE_I64, seer_expr_load(&pool, SEER_DTYPE_U8, 1, &x, 1)), none,
      0, 255);
  // A contradiction is an empty range.
  assert_true(seer_expr_range_given(&pool, x, low, high, op(SEER_EXPR_GT, x, c(20)), &l, &h));
  assert_true(l > h);
}

// Random integer trees: the bounds hold for every point, with and without a random guard.
static seer_expr random_tree(seer_rng *rng, int depth) {
  if (depth == 0 || seer_rng_chance(rng, 0.2)) {
    return seer_rng_chance(rng, 0.6) ? v((uint32_t)seer_rng_below(rng, 3))
                                     : c(seer_rng_range(rng, -6, 6));
  }
  static const seer_expr_op ops[] = {SEER_EXPR_ADD, SEER_EXPR_SUB, SEER_EXPR_ADD, SEER_EXPR_MUL,
      SEER_EXPR_DIV, SEER_EXPR_MOD, SEER_EXPR_MIN, SEER_EXPR_MAX, SEER_EXPR_SELECT, SEER_EXPR_ABS};
  seer_expr_op o = ops[seer_rng_below(rng, SEER_COUNT_OF(ops))];
  seer_expr a = random_tree(rng, depth - 1);
  if (o == SEER_EXPR_ABS) return seer_expr_unary(&pool, o, a);
  if (o == SEER_EXPR_DIV || o == SEER_EXPR_MOD) return op(o, a, c(seer_rng_range(rng, 1, 7)));
  seer_expr b = random_tree(rng, depth - 1);
  if (o != SEER_EXPR_SELECT) return op(o, a, b);
  return seer_expr_select(&pool, op(SEER_EXPR_LE, a, b), random_tree(rng, depth - 1), b);
}

static int64_t eval(seer_expr e, const int64_t *at) {
  const seer_expr_node node = *seer_expr_at(&pool, e);
  if (node.op == SEER_EXPR_CONST_I) return node.value.i;
  if (node.op == SEER_EXPR_VAR) return at[node.ref];
  seer_scalar x[3] = {{.i = 0}, {.i = 0}, {.i = 0}};
  for (uint32_t k = 0; k < seer_expr_arity((seer_expr_op)node.op); k++)
    x[k].i = eval(node.arg[k], at);
  seer_dtype arg = (seer_dtype)seer_expr_at(&pool, node.arg[0])->dtype;
  return seer_scalar_apply((seer_expr_op)node.op, (seer_dtype)node.dtype, arg, x[0], x[1], x[2]).i;
}

static void random_bounds_hold(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 11);
  static const int64_t low[3] = {0, -2, 1}, high[3] = {4, 3, 5};
  static const seer_expr_op compare[] = {
      SEER_EXPR_LT, SEER_EXPR_LE, SEER_EXPR_GT, SEER_EXPR_GE, SEER_EXPR_EQ};
  int n_tight = 0;
  for (int round = 0; round < 2000; round++) {
    seer_expr e = random_tree(&rng, 3);
    seer_expr p = op(compare[seer_rng_below(&rng, 5)], random_tree(&rng, 2), random_tree(&rng, 2));
    if (seer_rng_chance(&rng, 0.5)) {
      seer_expr q =
          op(compare[seer_rng_below(&rng, 5)], random_tree(&rng, 2), random_tree(&rng, 2));
      p = op(seer_rng_chance(&rng, 0.7) ? SEER_EXPR_AND : SEER_EXPR_OR, p, q);
    }
    if (seer_rng_chance(&rng, 0.2)) p = seer_expr_unary(&pool, SEER_EXPR_NOT, p);
    int64_t l, h, gl, gh, at[3];
    assert_true(seer_expr_range(&pool, e, low, high, &l, &h));
    assert_true(seer_expr_range_given(&pool, e, low, high, p, &gl, &gh));
    seer_affine a;
    bool is_affine = seer_expr_affine(&pool, e, &a);
    if (gl > l || gh < h) n_tight++;
    for (at[0] = low[0]; at[0] <= high[0]; at[0]++)
      for (at[1] = low[1]; at[1] <= high[1]; at[1]++)
        for (at[2] = low[2]; at[2] <= high[2]; at[2]++) {
          int64_t x = eval(e, at);
          assert_true(x >= l && x <= h);
          if (eval(p, at)) assert_true(x >= gl && x <= gh);
          if (!is_affine) continue;
          int64_t sum = a.constant;
          for (uint32_t t = 0; t < a.n; t++) sum += a.term[t].coef * at[a.term[t].var];
          assert_int_equal(sum, x);
        }
  }
  assert_true(n_tight > 200);  // guards do tighten
}

static seer_expr shift_load(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  uint32_t shift = *(const uint32_t *)user;
  return seer_expr_load_guarded(
      to, (seer_dtype)load->dtype, load->ref + shift, index, load->n_index, predicate, otherwise);
}

static void copies_replace_variables_and_loads(void **state) {
  (void)state;
  seer_expr x = v(0), y = v(1), at[2] = {op(SEER_EXPR_ADD, x, c(1)), y};
  seer_expr load = seer_expr_load_guarded(&pool, SEER_DTYPE_F32, 5, at, 2,
      op(SEER_EXPR_LT, x, c(3)), seer_expr_f(&pool, SEER_DTYPE_F32, 2));
  seer_expr e = op(SEER_EXPR_MAX, load, seer_expr_f(&pool, SEER_DTYPE_F32, 0));
  seer_expr_pool other;
  seer_expr_pool_init(&other, arena);
  SAME(seer_expr_copy(&pool, &pool, e, NULL, 0, NULL, NULL), e);
  seer_expr map[1] = {seer_expr_i(&other, 7)};
  uint32_t shift = 10;
  seer_expr made = seer_expr_copy(&other, &pool, e, map, 1, shift_load, &shift);
  // x = 7: the guard is false, so the load is its constant, and all of it folds.
  assert_true(seer_expr_at(&other, made)->op == SEER_EXPR_CONST_F);
  map[0] = seer_expr_var(&other, 9);
  made = seer_expr_copy(&other, &pool, e, map, 1, shift_load, &shift);
  const seer_expr_node *l = seer_expr_at(&other, seer_expr_at(&other, made)->arg[0]);
  assert_int_equal(l->ref, 15);
  assert_true(seer_expr_uses_var(&other, made, 9));
  assert_true(seer_expr_uses_var(&other, made, 1));
  assert_false(seer_expr_uses_var(&other, made, 0));
}

// Of a whole number in `x`, to which variable 0 stands for it.
static double eval_f32(seer_expr e, double x) {
  const seer_expr_node node = *seer_expr_at(&pool, e);
  if (node.op == SEER_EXPR_CONST_F) return node.value.f;
  if (node.op == SEER_EXPR_LOAD) return x;
  seer_dtype arg = (seer_dtype)seer_expr_at(&pool, node.arg[0])->dtype;
  seer_scalar of[3] = {{.i = 0}, {.i = 0}, {.i = 0}};
  for (uint32_t k = 0; k < seer_expr_arity((seer_expr_op)node.op); k++) {
    bool is_truth = node.op == SEER_EXPR_SELECT && k == 0;
    if (is_truth) {
      const seer_expr_node cond = *seer_expr_at(&pool, node.arg[0]);
      double a = eval_f32(cond.arg[0], x);
      double b = cond.op == SEER_EXPR_ISNAN ? 0 : eval_f32(cond.arg[1], x);
      of[0].i = cond.op == SEER_EXPR_ISNAN ? isnan(a) : cond.op == SEER_EXPR_GT ? a > b : a < b;
    } else {
      of[k].f = eval_f32(node.arg[k], x);
    }
  }
  return seer_scalar_apply((seer_expr_op)node.op, (seer_dtype)node.dtype, arg, of[0], of[1], of[2])
      .f;
}

// What a byte and back comes to, by hand.
static double through(bool is_signed, double x) {
  double low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  if (isnan(x)) return 0;
  return (double)(int)(x < low ? low : x > high ? high : x);
}

static void whole_numbers_stay_floats(void **state) {
  (void)state;
  static const double numbers[] = {0, -0.0, 1, -1, 0.5, 1.5, 2.5, -0.4, 126.5, 127.5, 128, 254.5,
      255.4, 255.5, 256, -128, -128.5, -129, 1e9, -1e30, INFINITY, -INFINITY, NAN};
  seer_expr x = v(0), f = seer_expr_load(&pool, SEER_DTYPE_F32, 0, &x, 1);
  seer_expr whole = seer_expr_unary(&pool, SEER_EXPR_ROUND, f);
  for (uint32_t k = 0; k < 4; k++) {
    bool is_signed = k % 2 != 0;
    double by = k / 2 ? -3 : 0;
    seer_expr y =
        by != 0 ? op(SEER_EXPR_ADD, whole, seer_expr_f(&pool, SEER_DTYPE_F32, by)) : whole;
    seer_expr byte = seer_expr_cast(&pool, is_signed ? SEER_DTYPE_I8 : SEER_DTYPE_U8, y);
    seer_expr e = seer_expr_cast(&pool, SEER_DTYPE_F32, byte);
    assert_int_not_equal(seer_expr_at(&pool, e)->op, SEER_EXPR_CAST);
    for (size_t n = 0; n < SEER_COUNT_OF(numbers); n++) {
      double got = eval_f32(e, numbers[n]), want = through(is_signed, rint(numbers[n]) + by);
      if (got != want || signbit(got) != signbit(want))
        fail_msg("%g, %u: %g, expected %g", numbers[n], k, got, want);
    }
    // A fraction is cut off: that needs the byte.
    byte = seer_expr_cast(&pool, SEER_DTYPE_U8, op(SEER_EXPR_ADD, whole, f));
    assert_int_equal(
        seer_expr_at(&pool, seer_expr_cast(&pool, SEER_DTYPE_F32, byte))->op, SEER_EXPR_CAST);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(whole_numbers_stay_floats, setup, teardown),
      cmocka_unit_test_setup_teardown(neutral_elements_vanish, setup, teardown),
      cmocka_unit_test_setup_teardown(affine_forms, setup, teardown),
      cmocka_unit_test_setup_teardown(bounds, setup, teardown),
      cmocka_unit_test_setup_teardown(random_bounds_hold, setup, teardown),
      cmocka_unit_test_setup_teardown(copies_replace_variables_and_loads, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
