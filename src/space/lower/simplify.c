// simplify.c - integer expressions of the loop IR made smaller by what is known of their variables:
// sums in canonical form, (4 i + j) / 4 with j in [0, 3] is i and (4 i + j) % 4 is j, comparisons
// that always or never hold are constants (and with them guards and selects). Floats are left as
// they are.
#include <string.h>

#include "space/lower/lower.h"

static seer_expr_pool *pool_of(seer_lower *lower) { return &lower->loop->expr; }

// The interval of a sum; false if an atom has none.
static bool range_of(seer_lower *lower, const seer_linear *x, int64_t *out_low, int64_t *out_high) {
  int64_t low = x->constant, high = low;
  for (uint32_t t = 0; t < x->n; t++) {
    const seer_expr_node *atom = seer_expr_at(pool_of(lower), x->term[t].atom);
    int64_t coef = x->term[t].coef, from = 0, to = 0;
    if (atom->op == SEER_EXPR_VAR) {
      from = lower->loop->var[atom->ref].low;
      to = lower->loop->var[atom->ref].high;
    } else if (atom->op == SEER_EXPR_MOD) {
      const seer_expr_node *by = seer_expr_at(pool_of(lower), atom->arg[1]);
      if (by->op != SEER_EXPR_CONST_I || by->value.i <= 0) return false;
      to = by->value.i - 1;
    } else {
      return false;
    }
    int64_t a, b;
    if (__builtin_mul_overflow(coef, coef > 0 ? from : to, &a)) return false;
    if (__builtin_mul_overflow(coef, coef > 0 ? to : from, &b)) return false;
    if (__builtin_add_overflow(low, a, &low) || __builtin_add_overflow(high, b, &high))
      return false;
  }
  *out_low = low;
  *out_high = high;
  return true;
}

static seer_expr simplify(seer_lower *lower, seer_expr e);

// x / c or x % c, c > 0: what c divides comes out; the rest may lie in [0, c).
static seer_expr divide(seer_lower *lower, const seer_linear *x, int64_t c, bool is_mod) {
  seer_expr_pool *pool = pool_of(lower);
  seer_linear whole = {.constant = seer_floor_div(x->constant, c)};
  seer_linear rest = {.constant = seer_floor_mod(x->constant, c)};
  bool fits = true;
  for (uint32_t t = 0; t < x->n; t++) {
    int64_t coef = x->term[t].coef;
    fits &= seer_linear_add_term(&whole, x->term[t].atom, seer_floor_div(coef, c));
    fits &= seer_linear_add_term(&rest, x->term[t].atom, seer_floor_mod(coef, c));
  }
  SEER_ASSERT(fits, "%u terms divided by %" PRId64, x->n, c);
  int64_t low, high;
  bool is_inside = range_of(lower, &rest, &low, &high) && low >= 0 && high < c;
  if (is_mod) {
    seer_expr r = seer_linear_emit(pool, &rest);
    return is_inside ? r : seer_expr_binary(pool, SEER_EXPR_MOD, r, seer_expr_i(pool, c));
  }
  if (!is_inside) {
    seer_expr quotient =
        seer_expr_binary(pool, SEER_EXPR_DIV, seer_linear_emit(pool, &rest), seer_expr_i(pool, c));
    if (seer_expr_at(pool, quotient)->op == SEER_EXPR_CONST_I) {
      whole.constant += seer_expr_at(pool, quotient)->value.i;
    } else {
      fits = seer_linear_add_term(&whole, quotient, 1);
      SEER_ASSERT(fits, "%u terms", whole.n);
    }
  }
  return seer_linear_emit(pool, &whole);
}

// 1: always, 0: never, -1: it depends.
static int decide(seer_lower *lower, seer_expr_op op, seer_expr a, seer_expr b) {
  seer_linear x, y;
  int64_t low, high;
  if (!seer_linear_from(pool_of(lower), a, &x) || !seer_linear_from(pool_of(lower), b, &y))
    return -1;
  if (!seer_linear_add(&x, &y, -1) || !range_of(lower, &x, &low, &high)) return -1;
  switch ((int)op) {
    case SEER_EXPR_LT:
      return high < 0 ? 1 : low >= 0 ? 0 : -1;
    case SEER_EXPR_LE:
      return high <= 0 ? 1 : low > 0 ? 0 : -1;
    case SEER_EXPR_GT:
      return low > 0 ? 1 : high <= 0 ? 0 : -1;
    case SEER_EXPR_GE:
      return low >= 0 ? 1 : high < 0 ? 0 : -1;
    case SEER_EXPR_EQ:
      return low == 0 && high == 0 ? 1 : low > 0 || high < 0 ? 0 : -1;
    case SEER_EXPR_NE:
      return low > 0 || high < 0 ? 1 : low == 0 && high == 0 ? 0 : -1;
    default:
      return -1;
  }
}

static seer_expr simplify_load(seer_lower *lower, const seer_expr_node *node) {
  seer_expr index[SEER_MAX_RANK], predicate = {0}, otherwise = {0};
  for (uint32_t k = 0; k < node->n_index; k++) {
    index[k] = simplify(lower, pool_of(lower)->index[node->index0 + k]);
  }
  if (node->arg[0].i != 0) {
    predicate = simplify(lower, node->arg[0]);
    otherwise = simplify(lower, node->arg[1]);
  }
  return seer_expr_load_guarded(pool_of(lower), (seer_dtype)node->dtype, node->ref, index,
      node->n_index, predicate, otherwise);
}

static seer_expr simplify_index(seer_lower *lower, seer_expr e) {
  seer_expr_pool *pool = pool_of(lower);
  const seer_expr_node node = *seer_expr_at(pool, e);
  seer_expr_op op = (seer_expr_op)node.op;
  seer_expr a = simplify(lower, node.arg[0]), b = {0};
  if (seer_expr_arity(op) == 1) {
    return seer_linear_normal(pool, seer_expr_unary(pool, op, a));
  }
  b = simplify(lower, node.arg[1]);
  bool divides = op == SEER_EXPR_DIV || op == SEER_EXPR_MOD;
  const seer_expr_node *by = seer_expr_at(pool, b);
  seer_linear x;
  if (divides && by->op == SEER_EXPR_CONST_I && by->value.i > 0 && seer_linear_from(pool, a, &x) &&
      x.n < SEER_LINEAR_MAX_TERMS) {
    return divide(lower, &x, by->value.i, op == SEER_EXPR_MOD);
  }
  if (op == SEER_EXPR_MIN || op == SEER_EXPR_MAX) {
    int less = decide(lower, SEER_EXPR_LE, a, b), more = decide(lower, SEER_EXPR_GE, a, b);
    if (less == 1) return op == SEER_EXPR_MIN ? a : b;
    if (more == 1) return op == SEER_EXPR_MIN ? b : a;
  }
  return seer_linear_normal(pool, seer_expr_binary(pool, op, a, b));
}

static seer_expr simplify_node(seer_lower *lower, seer_expr e) {
  seer_expr_pool *pool = pool_of(lower);
  const seer_expr_node node = *seer_expr_at(pool, e);  // by value: the pool grows
  seer_expr_op op = (seer_expr_op)node.op;
  if (op == SEER_EXPR_CONST_F || op == SEER_EXPR_CONST_I || op == SEER_EXPR_VAR) return e;
  if (op == SEER_EXPR_LOAD) return simplify_load(lower, &node);
  if (op == SEER_EXPR_SELECT) {
    seer_expr cond = simplify(lower, node.arg[0]);
    const seer_expr_node *c = seer_expr_at(pool, cond);
    if (c->op == SEER_EXPR_CONST_I) return simplify(lower, node.arg[c->value.i ? 1 : 2]);
    seer_expr then = simplify(lower, node.arg[1]);
    return seer_expr_select(pool, cond, then, simplify(lower, node.arg[2]));
  }
  if (op == SEER_EXPR_CAST) {
    return seer_expr_cast(pool, (seer_dtype)node.dtype, simplify(lower, node.arg[0]));
  }
  if (node.dtype == SEER_DTYPE_I64) return simplify_index(lower, e);
  seer_expr a = simplify(lower, node.arg[0]);
  if (seer_expr_arity(op) == 1) return seer_expr_unary(pool, op, a);
  seer_expr b = simplify(lower, node.arg[1]);
  if (op >= SEER_EXPR_LT && op <= SEER_EXPR_NE && seer_expr_at(pool, a)->dtype == SEER_DTYPE_I64) {
    int holds = decide(lower, op, a, b);
    if (holds >= 0) return seer_expr_int(pool, SEER_DTYPE_BOOL, holds);
  }
  return seer_expr_binary(pool, op, a, b);
}

// Results are remembered by expression: variables keep their ranges, so they stay right.
static seer_expr simplify(seer_lower *lower, seer_expr e) {
  if (e.i < lower->cap_simple && lower->simple[e.i].i != 0) return lower->simple[e.i];
  seer_expr made = simplify_node(lower, e);
  if (e.i >= lower->cap_simple) {
    uint32_t cap = lower->cap_simple ? lower->cap_simple : 256;
    while (cap <= e.i) cap *= 2;
    seer_expr *grown = SEER_NEW_ARRAY(lower->scratch, seer_expr, cap);
    if (lower->cap_simple) memcpy(grown, lower->simple, lower->cap_simple * sizeof(seer_expr));
    lower->simple = grown;
    lower->cap_simple = cap;
  }
  return lower->simple[e.i] = made;
}

seer_expr seer_lower_simplify(seer_lower *lower, seer_expr e) { return simplify(lower, e); }
