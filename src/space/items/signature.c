// signature.c - linear forms of the roots: terms of fixed variables make the fixed part, ranges of
// the others say how far it matters. What is no such sum is taken as it is: the values of all fixed
// variables in it.
#include "space/items/signature.h"

#include "base/map.h"
#include "space/loop/linear.h"

typedef struct {
  int64_t constant;
  uint32_t n, cap;
  struct signature_term {
    seer_expr fixed;
    int64_t coef;
  } * term;
  // Below `low` it is as `low`, above `high` as `high`.
  bool is_clamped;
  int64_t low, high;
} component;

struct seer_signature {
  uint32_t n, cap;
  component *component;
};

typedef struct {
  const seer_loop *loop;
  const bool *is_fixed;
  const int64_t *low, *high;  // by variable
  seer_arena *arena;
  seer_signature *out;
} maker;

typedef struct {
  const maker *m;
  bool any_fixed, any_free;
} kinds;

static void look(void *user, seer_expr e) {
  kinds *k = user;
  const seer_expr_node *node = seer_expr_at(&k->m->loop->expr, e);
  if (node->op != SEER_EXPR_VAR) return;
  if (k->m->is_fixed[node->ref]) {
    k->any_fixed = true;
  } else {
    k->any_free = true;
  }
}

static kinds kinds_of(const maker *m, seer_expr e) {
  kinds k = {.m = m};
  seer_expr_visit(&m->loop->expr, e, look, &k);
  return k;
}

static component *add_component(maker *m) {
  seer_signature *s = m->out;
  size_t cap = s->cap;
  s->component = SEER_GROW(m->arena, component, s->component, s->n, &cap);
  s->cap = (uint32_t)cap;
  s->component[s->n] = (component){.constant = 0};
  return &s->component[s->n++];
}

static void add_term(maker *m, component *c, seer_expr fixed, int64_t coef) {
  size_t cap = c->cap;
  c->term = SEER_GROW(m->arena, struct signature_term, c->term, c->n, &cap);
  c->cap = (uint32_t)cap;
  c->term[c->n++] = (struct signature_term){fixed, coef};
}

static void add_variable(void *user, seer_expr e) {
  maker *m = user;
  const seer_expr_node *node = seer_expr_at(&m->loop->expr, e);
  if (node->op == SEER_EXPR_VAR && m->is_fixed[node->ref]) add_term(m, add_component(m), e, 1);
}

// All that it depends on, as it is.
static void add_raw(maker *m, seer_expr e) { seer_expr_visit(&m->loop->expr, e, add_variable, m); }

// The fixed part of a sum; *out_low, *out_high: the range of the rest. False where the sum has a
// part that is neither (which is then in the signature as it is), or the range is not known.
static bool split(
    maker *m, const seer_linear *x, component *c, int64_t *out_low, int64_t *out_high) {
  const seer_expr_pool *pool = &m->loop->expr;
  bool is_known = true;
  c->constant = x->constant;
  *out_low = *out_high = 0;
  for (uint32_t k = 0; k < x->n; k++) {
    seer_expr atom = x->term[k].atom;
    int64_t coef = x->term[k].coef;
    kinds of = kinds_of(m, atom);
    if (!of.any_free) {
      add_term(m, c, atom, coef);
      continue;
    }
    if (of.any_fixed) add_raw(m, atom);
    int64_t low, high;  // of a quotient of variables, too
    if (of.any_fixed || !seer_expr_range(pool, atom, m->low, m->high, &low, &high)) {
      is_known = false;
      continue;
    }
    *out_low += coef * (coef > 0 ? low : high);
    *out_high += coef * (coef > 0 ? high : low);
  }
  return is_known;
}

// x, of which only the part between `least` and `most` matters.
static void add_sum(maker *m, const seer_linear *x, bool is_clamped, int64_t least, int64_t most) {
  component c = {.constant = 0};
  int64_t low, high;
  if (split(m, x, &c, &low, &high) && is_clamped) {
    c.is_clamped = true;
    c.low = least - high;
    c.high = most - low;
  }
  if (c.n > 0) *add_component(m) = c;
}

// What a comparison, or a conjunction of such, says.
static void add_guard(maker *m, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(&m->loop->expr, e);
  seer_expr_op op = (seer_expr_op)node->op;
  if (op == SEER_EXPR_AND || op == SEER_EXPR_OR || op == SEER_EXPR_NOT) {
    for (uint32_t k = 0; k < seer_expr_arity(op); k++) add_guard(m, node->arg[k]);
    return;
  }
  bool is_order =
      op == SEER_EXPR_LT || op == SEER_EXPR_LE || op == SEER_EXPR_GT || op == SEER_EXPR_GE;
  seer_linear a, b;
  bool is_sum = is_order && seer_linear_from(&m->loop->expr, node->arg[0], &a) &&
      seer_linear_from(&m->loop->expr, node->arg[1], &b) && seer_linear_add(&a, &b, -1);
  if (is_sum) {
    add_sum(m, &a, true, -1, 1);
  } else {
    add_raw(m, e);
  }
}

static void add_root(maker *m, seer_expr e, int64_t extent) {
  seer_linear x;
  if (seer_expr_at(&m->loop->expr, e)->dtype == SEER_DTYPE_BOOL) {
    add_guard(m, e);
  } else if (seer_linear_from(&m->loop->expr, e, &x)) {
    add_sum(m, &x, extent > 0, 0, extent);
  } else {
    add_raw(m, e);
  }
}

seer_signature *seer_signature_make(const seer_loop *loop, const bool *is_fixed,
    const seer_expr *roots, const int64_t *extent, uint32_t n_roots, seer_arena *arena) {
  int64_t *low = SEER_NEW_ARRAY(arena, int64_t, loop->n_var + 1),
          *high = SEER_NEW_ARRAY(arena, int64_t, loop->n_var + 1);
  for (uint32_t v = 0; v < loop->n_var; v++) {
    low[v] = loop->var[v].low;
    high[v] = loop->var[v].high;
  }
  maker m = {loop, is_fixed, low, high, arena, SEER_NEW(arena, seer_signature)};
  for (uint32_t k = 0; k < n_roots; k++) add_root(&m, roots[k], extent[k]);
  return m.out;
}

uint64_t seer_signature_now(
    const seer_signature *signature, seer_signature_value *value, void *user) {
  uint64_t hash = 1;
  for (uint32_t k = 0; k < signature->n; k++) {
    const component *c = &signature->component[k];
    int64_t sum = c->constant;
    for (uint32_t t = 0; t < c->n; t++) sum += c->term[t].coef * value(user, c->term[t].fixed);
    if (c->is_clamped) sum = seer_max_i64(c->low, seer_min_i64(c->high, sum));
    hash = seer_hash_u64((uint64_t)sum, hash);
  }
  return hash;
}
