// test_sum.c - a sum has the value of the expression that it was read from, for all lanes and all
// values of its atoms, and lies in its range; one reader that can divide and one that cannot.

#include "base/rng.h"
#include "code/tile/sum.h"
#include "support/test.h"

enum { N_VARS = 5, LANE_VAR = 4, LANES = 8, N_CASES = 20000, MAX_QUOTIENTS = 8 };

typedef struct {
  seer_expr_pool pool;
  seer_rng rng;
  int64_t low[N_VARS], high[N_VARS];  // of the variables but LANE_VAR, which is the lane
  bool divides;
  uint32_t n_quotient;
  struct {  // atoms N_VARS and on
    seer_sum x;
    int64_t d;
    bool is_mod;
  } quotient[MAX_QUOTIENTS];
} world;

static bool variable(void *user, uint32_t ref, seer_sum *out) {
  world *w = user;
  *out = seer_sum_const(0);
  if (ref == LANE_VAR)
    out->lane = 1;
  else
    *out = seer_sum_atom((seer_sum_term){
        .coef = 1, .atom = ref, .depth = ref, .low = w->low[ref], .high = w->high[ref]});
  return true;
}

static bool divide(void *user, const seer_sum *x, int64_t d, bool is_mod, bool is_known,
    int64_t low, int64_t high, seer_sum *out) {
  world *w = user;
  if (w->n_quotient == MAX_QUOTIENTS) return false;
  assert_true(is_known && low <= high && x->lane == 0);
  uint64_t atom = N_VARS + w->n_quotient;
  w->quotient[w->n_quotient].x = *x;
  w->quotient[w->n_quotient].d = d;
  w->quotient[w->n_quotient++].is_mod = is_mod;
  *out = seer_sum_atom((seer_sum_term){.coef = 1,
      .atom = atom,
      .depth = N_VARS,
      .low = is_mod ? 0 : seer_floor_div(low, d),
      .high = is_mod ? d - 1 : seer_floor_div(high, d)});
  return true;
}

static seer_expr make(world *w, uint32_t depth) {
  seer_expr_pool *pool = &w->pool;
  uint64_t kind = depth == 0 ? seer_rng_below(&w->rng, 2) : 2 + seer_rng_below(&w->rng, 6);
  if (kind == 0) return seer_expr_i(pool, (int64_t)seer_rng_below(&w->rng, 19) - 9);
  if (kind == 1) return seer_expr_var(pool, (uint32_t)seer_rng_below(&w->rng, N_VARS));
  seer_expr a = make(w, depth - 1);
  switch (kind) {
    case 2:
    case 3:
      return seer_expr_binary(pool, SEER_EXPR_ADD, a, make(w, depth - 1));
    case 4:
      return seer_expr_binary(pool, SEER_EXPR_SUB, a, make(w, depth - 1));
    case 5:
      return seer_expr_binary(
          pool, SEER_EXPR_MUL, a, seer_expr_i(pool, (int64_t)seer_rng_below(&w->rng, 9) - 3));
    default:
      return seer_expr_binary(pool, kind == 6 ? SEER_EXPR_DIV : SEER_EXPR_MOD, a,
          seer_expr_i(pool, 1 + (int64_t)seer_rng_below(&w->rng, 6)));
  }
}

static int64_t value_of(const world *w, seer_expr e, const int64_t *var) {
  const seer_expr_node *node = seer_expr_at(&w->pool, e);
  if (node->op == SEER_EXPR_CONST_I) return node->value.i;
  if (node->op == SEER_EXPR_VAR) return var[node->ref];
  int64_t a = value_of(w, node->arg[0], var);
  if (node->op == SEER_EXPR_NEG) return -a;
  int64_t b = value_of(w, node->arg[1], var);
  switch ((int)node->op) {
    case SEER_EXPR_ADD:
      return a + b;
    case SEER_EXPR_SUB:
      return a - b;
    case SEER_EXPR_MUL:
      return a * b;
    case SEER_EXPR_DIV:
      return seer_floor_div(a, b);
    default:
      assert_int_equal(node->op, SEER_EXPR_MOD);
      return seer_floor_mod(a, b);
  }
}

static int64_t sum_value(const world *w, const seer_sum *x, const int64_t *var) {
  int64_t v = x->c + x->lane * var[LANE_VAR];
  for (uint32_t k = 0; k < x->n; k++) {
    uint64_t atom = x->term[k].atom;
    int64_t of_atom;
    if (atom < N_VARS) {
      of_atom = var[atom];
    } else {
      int64_t inner = sum_value(w, &w->quotient[atom - N_VARS].x, var);
      int64_t d = w->quotient[atom - N_VARS].d;
      of_atom =
          w->quotient[atom - N_VARS].is_mod ? seer_floor_mod(inner, d) : seer_floor_div(inner, d);
    }
    assert_true(x->term[k].coef != 0);
    assert_in_range(of_atom - x->term[k].low, 0, x->term[k].high - x->term[k].low);
    assert_true(k == 0 || x->term[k - 1].depth <= x->term[k].depth);
    v += x->term[k].coef * of_atom;
  }
  return v;
}

static void check(world *w, seer_expr e, const seer_sum *x) {
  int64_t low, high;
  assert_true(seer_sum_range(x, LANES, &low, &high));
  for (int i = 0; i < 20; i++) {
    int64_t var[N_VARS];
    for (uint32_t v = 0; v < N_VARS; v++)
      var[v] = w->low[v] + (int64_t)seer_rng_below(&w->rng, (uint64_t)(w->high[v] - w->low[v] + 1));
    int64_t want = value_of(w, e, var);
    assert_int_equal(sum_value(w, x, var), want);
    assert_true(low <= want && want <= high);
  }
}

static void sums_are_their_expressions(void **state) {
  (void)state;
  uint32_t n_sum[2] = {0, 0}, n_quotient = 0;
  for (uint64_t i = 0; i < N_CASES; i++) {
    seer_arena *arena = seer_arena_create("sum");
    world w = {.divides = i % 2 == 1};
    seer_expr_pool_init(&w.pool, arena);
    seer_rng_init_stream(&w.rng, 7, i);
    for (uint32_t v = 0; v < N_VARS; v++) {
      w.low[v] = v == LANE_VAR ? 0 : (int64_t)seer_rng_below(&w.rng, 7) - 3;
      w.high[v] = v == LANE_VAR ? LANES - 1 : w.low[v] + (int64_t)seer_rng_below(&w.rng, 12);
    }
    seer_expr e = make(&w, 1 + (uint32_t)seer_rng_below(&w.rng, 4));
    seer_sum_reader reader = {&w.pool, LANES, &w, variable, NULL, w.divides ? divide : NULL};
    seer_sum x;
    if (seer_sum_of(&reader, e, &x)) {
      check(&w, e, &x);
      n_sum[w.divides]++;
      n_quotient += w.n_quotient;
    }
    seer_arena_destroy(arena);
  }
  assert_true(n_sum[0] > N_CASES / 6 && n_sum[1] > n_sum[0] && n_quotient > N_CASES / 20);
}

static void terms_run_out(void **state) {
  (void)state;
  seer_sum all = seer_sum_const(3);
  for (uint64_t atom = 0; atom < SEER_SUM_MAX_TERMS; atom++) {
    seer_sum one = seer_sum_atom((seer_sum_term){.coef = 2, .atom = atom, .low = 0, .high = 1});
    assert_true(seer_sum_add(&all, &one, 1));
  }
  seer_sum more = seer_sum_atom((seer_sum_term){.coef = 1, .atom = 99, .low = 0, .high = 1}),
           x = all;
  assert_false(seer_sum_add(&x, &more, 1));
  x = all;
  assert_true(seer_sum_add(&x, &all, -1));
  assert_true(x.n == 0 && x.c == 0);
  int64_t low, high;
  seer_sum wide =
      seer_sum_atom((seer_sum_term){.coef = INT64_MAX / 2, .atom = 1, .low = -9, .high = 9});
  assert_false(seer_sum_range(&wide, 1, &low, &high));  // beyond 64 bits
  wide.term[0] = (seer_sum_term){.coef = 1, .atom = 1, .low = INT64_MIN, .high = 9};
  assert_false(seer_sum_range(&wide, 1, &low, &high));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_are_their_expressions), cmocka_unit_test(terms_run_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
