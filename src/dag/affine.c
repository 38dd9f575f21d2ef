// affine.c - integer expressions to affine forms and to bounds.
// Bounds come from interval arithmetic over the tree, where each maximal affine sub-expression is
// bounded as one sum (so y + ky - 1 - y is what it is). A predicate adds facts: affine forms known
// to be >= 0, and nodes known to lie in an interval. An affine form I is bounded by a fact F as I =
// k F + R: with k > 0, I >= low(R); with k < 0, I <= high(R); k is chosen to cancel one variable.
// INT64_MIN and INT64_MAX stand for "unbounded".
#include <string.h>

#include "dag/scalar.h"

#define MAX_FACTS 16
// Nodes looked at before giving up: nested conditions are looked at from several sides.
#define MAX_STEPS 20000

typedef struct {
  int64_t low, high;
} interval;

typedef struct {
  const seer_expr_pool *pool;
  const int64_t *low, *high;
  uint32_t n_fact, n_node, n_var;
  seer_affine fact[MAX_FACTS];  // >= 0
  struct {
    uint32_t id;
    interval in;
  } node[MAX_FACTS];  // expression `id` lies in `in`
  struct {
    uint32_t var;
    interval in;
  } var[MAX_FACTS];  // tightened variables
  bool is_empty;  // the facts contradict each other
  uint32_t *n_steps;
} context;

static const interval everything = {INT64_MIN, INT64_MAX};

// ---- affine forms

bool seer_expr_affine(const seer_expr_pool *pool, seer_expr e, seer_affine *out_affine) {
  const seer_expr_node *node = seer_expr_at(pool, e);
  out_affine->constant = 0;
  out_affine->n = 0;
  seer_affine b;
  switch ((int)node->op) {
    case SEER_EXPR_CONST_I:
      out_affine->constant = node->value.i;
      return true;
    case SEER_EXPR_VAR:
      out_affine->n = 1;
      out_affine->term[0].var = node->ref;
      out_affine->term[0].coef = 1;
      return true;
    case SEER_EXPR_ADD:
    case SEER_EXPR_SUB:
      if (!seer_expr_affine(pool, node->arg[0], out_affine) ||
          !seer_expr_affine(pool, node->arg[1], &b))
        return false;
      return seer_linear_add(out_affine, &b, node->op == SEER_EXPR_ADD ? 1 : -1);
    case SEER_EXPR_NEG:
      return seer_expr_affine(pool, node->arg[0], &b) && seer_linear_add(out_affine, &b, -1);
    case SEER_EXPR_MUL: {
      seer_affine a;
      if (!seer_expr_affine(pool, node->arg[0], &a) || !seer_expr_affine(pool, node->arg[1], &b))
        return false;
      if (b.n == 0) return seer_linear_add(out_affine, &a, b.constant);
      return a.n == 0 && seer_linear_add(out_affine, &b, a.constant);
    }
    case SEER_EXPR_DIV:
    case SEER_EXPR_MOD: {
      // floor((d A + c) / d) = A + floor(c / d), and the remainder is that of c.
      const seer_expr_node *divisor = seer_expr_at(pool, node->arg[1]);
      if (divisor->op != SEER_EXPR_CONST_I || divisor->value.i <= 0) return false;
      if (!seer_expr_affine(pool, node->arg[0], out_affine)) return false;
      int64_t d = divisor->value.i;
      for (uint32_t k = 0; k < out_affine->n; k++) {
        if (out_affine->term[k].coef % d != 0) return false;
        out_affine->term[k].coef /= d;
      }
      if (node->op == SEER_EXPR_DIV) {
        out_affine->constant = seer_floor_div(out_affine->constant, d);
      } else {
        out_affine->n = 0;
        out_affine->constant = seer_floor_mod(out_affine->constant, d);
      }
      return true;
    }
    default:
      return false;
  }
}

// ---- intervals with unbounded ends

static int64_t end_add(int64_t a, int64_t b) {
  int64_t r;
  if (a == INT64_MIN || a == INT64_MAX) return a;
  if (b == INT64_MIN || b == INT64_MAX) return b;
  if (__builtin_add_overflow(a, b, &r)) return a < 0 ? INT64_MIN : INT64_MAX;
  return r;
}

static int64_t end_neg(int64_t a) {
  return a == INT64_MIN ? INT64_MAX : a == INT64_MAX ? INT64_MIN : -a;
}

static int64_t end_mul(int64_t a, int64_t b) {
  int64_t r;
  if (a == 0 || b == 0) return 0;
  bool is_inf = a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX;
  if (is_inf || __builtin_mul_overflow(a, b, &r)) return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  return r;
}

static int64_t end_div(int64_t a, int64_t b) {  // b > 0
  if (a == INT64_MIN || a == INT64_MAX) return a;
  return b == INT64_MAX ? (a < 0 ? -1 : 0) : seer_floor_div(a, b);
}

static interval make(int64_t low, int64_t high) { return (interval){low, high}; }
static interval unite(interval a, interval b) {
  return make(seer_min_i64(a.low, b.low), seer_max_i64(a.high, b.high));
}
static interval meet(interval a, interval b) {
  return make(seer_max_i64(a.low, b.low), seer_min_i64(a.high, b.high));
}
static interval plus(interval a, interval b) {
  return make(end_add(a.low, b.low), end_add(a.high, b.high));
}
static interval minus(interval a) { return make(end_neg(a.high), end_neg(a.low)); }
static interval times(interval a, interval b) {
  int64_t p[4] = {end_mul(a.low, b.low), end_mul(a.low, b.high), end_mul(a.high, b.low),
      end_mul(a.high, b.high)};
  interval r = make(p[0], p[0]);
  for (int k = 1; k < 4; k++) r = unite(r, make(p[k], p[k]));
  return r;
}

static interval divide(interval a, interval b) {
  if (b.low <= 0) return everything;
  return make(seer_min_i64(end_div(a.low, b.low), end_div(a.low, b.high)),
      seer_max_i64(end_div(a.high, b.low), end_div(a.high, b.high)));
}

static interval modulo(interval a, interval b) {
  if (b.low <= 0) return everything;
  if (b.low == b.high && a.low != INT64_MIN && a.high != INT64_MAX && a.low <= a.high &&
      seer_floor_div(a.low, b.low) == seer_floor_div(a.high, b.low)) {
    return make(seer_floor_mod(a.low, b.low), seer_floor_mod(a.high, b.low));
  }
  interval r = make(0, b.high == INT64_MAX ? INT64_MAX : b.high - 1);
  if (a.low >= 0) r.high = seer_min_i64(r.high, a.high);
  return r;
}

static interval of_dtype(seer_dtype dtype) {
  if (seer_dtype_bits(dtype) == 64 || seer_dtype_is_float(dtype)) return everything;
  return make(seer_scalar_lowest(dtype).i, seer_scalar_highest(dtype).i);
}

// ---- bounds

static interval var_range(const context *c, uint32_t var) {
  for (uint32_t k = 0; k < c->n_var; k++) {
    if (c->var[k].var == var) return c->var[k].in;
  }
  return make(c->low[var], c->high[var]);
}

static interval sum_range(const context *c, const seer_affine *a) {
  interval r = make(a->constant, a->constant);
  for (uint32_t k = 0; k < a->n; k++) {
    r = plus(r, times(var_range(c, a->term[k].var), make(a->term[k].coef, a->term[k].coef)));
  }
  return r;
}

static interval affine_range(const context *c, const seer_affine *a) {
  interval r = sum_range(c, a);
  for (uint32_t f = 0; f < c->n_fact; f++) {
    const seer_affine *fact = &c->fact[f];
    for (uint32_t t = 0; t < fact->n; t++) {
      int64_t coef = seer_linear_coef(a, fact->term[t].var);
      if (coef == 0 || coef % fact->term[t].coef != 0) continue;
      int64_t k = coef / fact->term[t].coef;
      seer_affine rest = *a;
      if (!seer_linear_add(&rest, fact, -k)) continue;
      interval in = sum_range(c, &rest);
      if (k > 0) {
        r.low = seer_max_i64(r.low, in.low);
      } else {
        r.high = seer_min_i64(r.high, in.high);
      }
    }
  }
  return r;
}

static void add_predicate(context *c, seer_expr e, bool holds);

static interval truth(bool is_known_true, bool is_known_false) {
  return is_known_true ? make(1, 1) : is_known_false ? make(0, 0) : make(0, 1);
}

static interval range_of(const context *c, seer_expr e);

static interval compare_range(const context *c, const seer_expr_node *node) {
  const seer_expr_node *left = seer_expr_at(c->pool, node->arg[0]);
  if (seer_dtype_is_float((seer_dtype)left->dtype) || left->dtype == SEER_DTYPE_U64)
    return make(0, 1);
  interval a = range_of(c, node->arg[0]), b = range_of(c, node->arg[1]);
  interval d = plus(a, minus(b));
  seer_affine x, y;
  if (seer_expr_affine(c->pool, node->arg[0], &x) && seer_expr_affine(c->pool, node->arg[1], &y) &&
      seer_linear_add(&x, &y, -1)) {
    d = meet(d, affine_range(c, &x));
  }
  switch ((int)node->op) {
    case SEER_EXPR_LT:
      return truth(d.high < 0, d.low >= 0);
    case SEER_EXPR_LE:
      return truth(d.high <= 0, d.low > 0);
    case SEER_EXPR_GT:
      return truth(d.low > 0, d.high <= 0);
    case SEER_EXPR_GE:
      return truth(d.low >= 0, d.high < 0);
    case SEER_EXPR_EQ:
      return truth(d.low == 0 && d.high == 0, d.low > 0 || d.high < 0);
    default:
      return truth(d.low > 0 || d.high < 0, d.low == 0 && d.high == 0);
  }
}

static interval select_range(const context *c, const seer_expr_node *node) {
  interval cond = range_of(c, node->arg[0]);
  context inner = *c;
  interval r = make(INT64_MAX, INT64_MIN);
  if (cond.high != 0) {
    add_predicate(&inner, node->arg[0], true);
    if (!inner.is_empty) r = unite(r, range_of(&inner, node->arg[1]));
  }
  if (cond.low != 1) {
    inner = *c;
    add_predicate(&inner, node->arg[0], false);
    if (!inner.is_empty) r = unite(r, range_of(&inner, node->arg[2]));
  }
  return r.low <= r.high ? r : everything;
}

static interval tree_range(const context *c, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(c->pool, e);
  seer_dtype dtype = (seer_dtype)node->dtype;
  interval all = of_dtype(dtype);
  seer_expr_op op = (seer_expr_op)node->op;
  if (op >= SEER_EXPR_LT && op <= SEER_EXPR_NE) return compare_range(c, node);
  if (op == SEER_EXPR_SELECT) return select_range(c, node);
  if (op == SEER_EXPR_CAST) {
    seer_dtype from = (seer_dtype)seer_expr_at(c->pool, node->arg[0])->dtype;
    if (seer_dtype_is_float(from) || dtype == SEER_DTYPE_BOOL || from == SEER_DTYPE_U64) return all;
    interval in = range_of(c, node->arg[0]);
    return in.low >= all.low && in.high <= all.high ? in : all;
  }
  if (seer_expr_arity(op) == 0 || seer_dtype_is_float(dtype) || dtype == SEER_DTYPE_U64) return all;
  interval a = range_of(c, node->arg[0]);
  interval b = seer_expr_arity(op) > 1 ? range_of(c, node->arg[1]) : a;
  interval r = all;
  switch ((int)op) {
    case SEER_EXPR_ADD:
      r = plus(a, b);
      break;
    case SEER_EXPR_SUB:
      r = plus(a, minus(b));
      break;
    case SEER_EXPR_MUL:
      r = times(a, b);
      break;
    case SEER_EXPR_DIV:
      r = divide(a, b);
      break;
    case SEER_EXPR_MOD:
      r = modulo(a, b);
      break;
    case SEER_EXPR_MIN:
      r = make(seer_min_i64(a.low, b.low), seer_min_i64(a.high, b.high));
      break;
    case SEER_EXPR_MAX:
      r = make(seer_max_i64(a.low, b.low), seer_max_i64(a.high, b.high));
      break;
    case SEER_EXPR_NEG:
      r = minus(a);
      break;
    case SEER_EXPR_ABS:
      r = a.low >= 0 ? a : a.high <= 0 ? minus(a) : make(0, seer_max_i64(end_neg(a.low), a.high));
      break;
    case SEER_EXPR_SIGN:
      r = make(a.low > 0 ? 1 : a.low == 0 ? 0 : -1, a.high < 0 ? -1 : a.high == 0 ? 0 : 1);
      break;
    case SEER_EXPR_AND:
      if (dtype == SEER_DTYPE_BOOL) {
        r = make(a.low & b.low, a.high & b.high);
      } else if (a.low >= 0 || b.low >= 0) {
        r = make(0, a.low < 0 ? b.high : b.low < 0 ? a.high : seer_min_i64(a.high, b.high));
      }
      break;
    case SEER_EXPR_OR:
      if (dtype == SEER_DTYPE_BOOL) r = make(a.low | b.low, a.high | b.high);
      break;
    case SEER_EXPR_NOT:
      if (dtype == SEER_DTYPE_BOOL) r = make(1 - a.high, 1 - a.low);
      break;
    default:
      break;
  }
  // What leaves the type's range wraps: nothing is known then.
  return dtype == SEER_DTYPE_I64 || (r.low >= all.low && r.high <= all.high) ? r : all;
}

static interval range_of(const context *c, seer_expr e) {
  if (++*c->n_steps > MAX_STEPS) return everything;
  seer_affine a;
  bool is_i64 = seer_expr_at(c->pool, e)->dtype == SEER_DTYPE_I64;
  interval r = is_i64 && seer_expr_affine(c->pool, e, &a) ? affine_range(c, &a) : tree_range(c, e);
  for (uint32_t k = 0; k < c->n_node; k++) {
    if (c->node[k].id == e.i) r = meet(r, c->node[k].in);
  }
  // the facts never hold: any bound is true, but no empty one goes into arithmetic
  if (r.low > r.high) r.high = r.low;
  return r;
}

// ---- facts

static void tighten(context *c, const seer_affine *fact) {
  for (uint32_t t = 0; t < fact->n; t++) {
    // coef * v >= -rest for all values, so >= -high(rest).
    uint32_t v = fact->term[t].var;
    int64_t coef = fact->term[t].coef;
    seer_affine rest = *fact;
    rest.n--;
    memmove(&rest.term[t], &rest.term[t + 1], (rest.n - t) * sizeof rest.term[0]);
    interval sum = sum_range(c, &rest);
    if (sum.high == INT64_MAX || sum.high == INT64_MIN) continue;
    interval in = var_range(c, v);
    if (coef > 0) {
      in.low = seer_max_i64(in.low, seer_ceil_div(-sum.high, coef));
    } else {
      in.high = seer_min_i64(in.high, seer_floor_div(sum.high, -coef));
    }
    if (in.low > in.high) c->is_empty = true;
    uint32_t k = 0;
    while (k < c->n_var && c->var[k].var != v) k++;
    if (k == MAX_FACTS) continue;
    c->var[k].var = v;
    c->var[k].in = in;
    if (k == c->n_var) c->n_var++;
  }
}

// left - right + shift >= 0
static void add_fact(context *c, seer_expr left, seer_expr right, int64_t shift) {
  seer_affine a, b;
  const seer_expr_pool *pool = c->pool;
  if (seer_expr_at(pool, left)->dtype == SEER_DTYPE_I64 && seer_expr_affine(pool, left, &a) &&
      seer_expr_affine(pool, right, &b) && seer_linear_add(&a, &b, -1)) {
    if (a.n == 0 || __builtin_add_overflow(a.constant, shift, &a.constant)) {
      if (a.n == 0 && end_add(a.constant, shift) < 0) c->is_empty = true;
      return;
    }
    if (c->n_fact == MAX_FACTS) return;
    c->fact[c->n_fact++] = a;
    for (int round = 0; round < 2; round++) {
      for (uint32_t f = 0; f < c->n_fact; f++) tighten(c, &c->fact[f]);
    }
    return;
  }
  // Not affine: the nodes themselves are bounded by the other side's range.
  interval l = range_of(c, left), r = range_of(c, right);
  if (c->n_node + 2 > MAX_FACTS) return;
  c->node[c->n_node].id = left.i;
  c->node[c->n_node++].in = make(end_add(r.low, -shift), INT64_MAX);
  c->node[c->n_node].id = right.i;
  c->node[c->n_node++].in = make(INT64_MIN, end_add(l.high, shift));
}

static seer_expr_op negated(seer_expr_op op) {
  switch ((int)op) {
    case SEER_EXPR_LT:
      return SEER_EXPR_GE;
    case SEER_EXPR_LE:
      return SEER_EXPR_GT;
    case SEER_EXPR_GT:
      return SEER_EXPR_LE;
    case SEER_EXPR_GE:
      return SEER_EXPR_LT;
    case SEER_EXPR_EQ:
      return SEER_EXPR_NE;
    default:
      return SEER_EXPR_EQ;
  }
}

static void add_predicate(context *c, seer_expr e, bool holds) {
  const seer_expr_node *node = seer_expr_at(c->pool, e);
  seer_expr_op op = (seer_expr_op)node->op;
  if (op == SEER_EXPR_CONST_I) {
    if ((node->value.i != 0) != holds) c->is_empty = true;
    return;
  }
  if (op == SEER_EXPR_NOT) {
    add_predicate(c, node->arg[0], !holds);
    return;
  }
  if (op == (holds ? SEER_EXPR_AND : SEER_EXPR_OR)) {
    add_predicate(c, node->arg[0], holds);
    add_predicate(c, node->arg[1], holds);
    return;
  }
  if (op < SEER_EXPR_LT || op > SEER_EXPR_NE) return;
  seer_dtype dtype = (seer_dtype)seer_expr_at(c->pool, node->arg[0])->dtype;
  if (seer_dtype_is_float(dtype) || dtype == SEER_DTYPE_U64) return;
  if (!holds) op = negated(op);
  seer_expr a = node->arg[0], b = node->arg[1];
  switch ((int)op) {
    case SEER_EXPR_LT:
      add_fact(c, b, a, -1);
      break;
    case SEER_EXPR_LE:
      add_fact(c, b, a, 0);
      break;
    case SEER_EXPR_GT:
      add_fact(c, a, b, -1);
      break;
    case SEER_EXPR_GE:
      add_fact(c, a, b, 0);
      break;
    case SEER_EXPR_EQ:
      add_fact(c, a, b, 0);
      add_fact(c, b, a, 0);
      break;
    default:
      break;  // NE cuts no interval
  }
}

bool seer_expr_range_given(const seer_expr_pool *pool, seer_expr e, const int64_t *low,
    const int64_t *high, seer_expr predicate, int64_t *out_low, int64_t *out_high) {
  uint32_t n_steps = 0;
  context c = {.pool = pool, .low = low, .high = high, .n_steps = &n_steps};
  if (predicate.i != 0) add_predicate(&c, predicate, true);
  if (c.is_empty) {
    *out_low = 1;
    *out_high = 0;
    return true;
  }
  interval r = range_of(&c, e);
  if (r.low == INT64_MIN || r.high == INT64_MAX) return false;
  *out_low = r.low;
  *out_high = r.high;
  return true;
}

bool seer_expr_range(const seer_expr_pool *pool, seer_expr e, const int64_t *low,
    const int64_t *high, int64_t *out_low, int64_t *out_high) {
  return seer_expr_range_given(pool, e, low, high, (seer_expr){0}, out_low, out_high);
}
