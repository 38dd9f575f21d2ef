// linear.c - expressions as sums of atoms, and a small prover: to show x <= 0, innermost variables
// are replaced one by one by what bounds them (a loop's bound or extent, a LET's value), minima and
// maxima by their cases, divisions by their inequalities, until a constant remains. Every
// replacement is a true inequality, so a proof is sound; one that is not found means nothing.
// (Fourier-Motzkin elimination, one inequality at a time.)
#include "space/loop/linear.h"

#include "dag/scalar.h"

// out += scale * e
static bool gather(const seer_expr_pool *pool, seer_expr e, int64_t scale, seer_linear *out) {
  const seer_expr_node *node = seer_expr_at(pool, e);
  seer_expr_op op = (seer_expr_op)node->op;
  if (op == SEER_EXPR_CONST_I) {
    int64_t value;
    return !__builtin_mul_overflow(node->value.i, scale, &value) &&
        !__builtin_add_overflow(out->constant, value, &out->constant);
  }
  if (node->dtype == SEER_DTYPE_I64) {
    if (op == SEER_EXPR_ADD)
      return gather(pool, node->arg[0], scale, out) && gather(pool, node->arg[1], scale, out);
    if (op == SEER_EXPR_SUB)
      return gather(pool, node->arg[0], scale, out) && gather(pool, node->arg[1], -scale, out);
    if (op == SEER_EXPR_NEG) return gather(pool, node->arg[0], -scale, out);
    if (op == SEER_EXPR_MUL && seer_expr_at(pool, node->arg[1])->op == SEER_EXPR_CONST_I) {
      int64_t product;
      if (__builtin_mul_overflow(scale, seer_expr_at(pool, node->arg[1])->value.i, &product))
        return false;
      return product != INT64_MIN && gather(pool, node->arg[0], product, out);
    }
  }
  return seer_linear_add_term(out, e, scale);
}

bool seer_linear_from(const seer_expr_pool *pool, seer_expr e, seer_linear *out) {
  out->constant = 0;
  out->n = 0;
  return gather(pool, e, 1, out);
}

bool seer_linear_is_affine(const seer_expr_pool *pool, const seer_linear *x) {
  for (uint32_t k = 0; k < x->n; k++) {
    if (seer_expr_at(pool, x->term[k].atom)->op != SEER_EXPR_VAR) return false;
  }
  return true;
}

seer_expr seer_linear_emit(seer_expr_pool *pool, const seer_linear *x) {
  // Atoms in ascending variable id, then the rest by id.
  uint32_t order[SEER_LINEAR_MAX_TERMS];
  uint64_t key[SEER_LINEAR_MAX_TERMS];
  for (uint32_t k = 0; k < x->n; k++) {
    const seer_expr_node *node = seer_expr_at(pool, x->term[k].atom);
    uint64_t mine = node->op == SEER_EXPR_VAR ? node->ref : ((uint64_t)1 << 32) + x->term[k].atom.i;
    uint32_t at = k;
    for (; at > 0 && key[at - 1] > mine; at--) {
      key[at] = key[at - 1];
      order[at] = order[at - 1];
    }
    key[at] = mine;
    order[at] = k;
  }
  seer_expr sum = {0};
  for (uint32_t k = 0; k < x->n; k++) {
    seer_expr atom = x->term[order[k]].atom;
    seer_expr product =
        seer_expr_binary(pool, SEER_EXPR_MUL, atom, seer_expr_i(pool, x->term[order[k]].coef));
    sum = sum.i ? seer_expr_binary(pool, SEER_EXPR_ADD, sum, product) : product;
  }
  seer_expr constant = seer_expr_i(pool, x->constant);
  return sum.i ? seer_expr_binary(pool, SEER_EXPR_ADD, sum, constant) : constant;
}

seer_expr seer_linear_normal(seer_expr_pool *pool, seer_expr e) {
  seer_linear x;
  return seer_linear_from(pool, e, &x) ? seer_linear_emit(pool, &x) : e;
}

// ---- the prover

#define PROVER_STEPS 2000
#define PROVER_THOROUGH_STEPS 400000
#define MAX_TIGHTENED 3  // multiples by which the range of a dividend is tried to be cut

void seer_prover_init(
    seer_prover *prover, const seer_loop *loop, const uint32_t *def, const uint32_t *depth) {
  prover->loop = loop;
  prover->def = def;
  prover->depth = depth;
  prover->n_fact = prover->n_quotient = 0;
  prover->is_thorough = false;
  prover->n_case = 0;
  prover->use_cases = prover->keeps_quotients = false;
  prover->steps_left = 0;
}

// What an atom stands for: a LET's value, the side of a minimum or maximum that is taken; 0:
// itself.
static seer_expr meaning_of(const seer_prover *p, seer_expr atom) {
  for (uint32_t k = 0; k < p->n_case; k++) {
    if (p->cases[k].atom.i == atom.i) return p->cases[k].value;
  }
  const seer_expr_node *node = seer_expr_at(&p->loop->expr, atom);
  if (node->op != SEER_EXPR_VAR || p->depth[node->ref] == 0) return (seer_expr){0};
  const seer_loop_node *def = &p->loop->node[p->def[node->ref]];
  return def->kind == SEER_NODE_LET ? def->value[0] : (seer_expr){0};
}

// Puts the values of LETs in their places, so that equal values meet as equal atoms.
// A LET that is a quotient or a remainder may as well be a variable with a range: where facts speak
// of it, that is what they speak of.
static bool is_kept(seer_prover *p, seer_expr value) {
  seer_expr_op op = (seer_expr_op)seer_expr_at(&p->loop->expr, value)->op;
  if (op != SEER_EXPR_DIV && op != SEER_EXPR_MOD) return false;
  p->met_quotient = true;
  return p->keeps_quotients;
}

static bool expand_lets(seer_prover *p, seer_linear *x) {
  const seer_expr_pool *pool = &p->loop->expr;
  for (uint32_t k = 0; k < x->n; k++) {
    seer_expr known = meaning_of(p, x->term[k].atom);
    if (known.i == 0 || is_kept(p, known)) continue;
    seer_linear value;
    int64_t coef = x->term[k].coef;
    if (!seer_linear_from(pool, known, &value)) return false;
    if (!seer_linear_add_term(x, x->term[k].atom, -coef) || !seer_linear_add(x, &value, coef)) {
      return false;
    }
    k = UINT32_MAX;  // terms have moved: from the start
  }
  return true;
}

// From g * f + r <= 0, r >= low: f <= floor(-low / g). For a quotient whose guard speaks of the
// dividend.
static void assume_quotients(seer_prover *p, seer_linear fact) {
  for (uint32_t k = 0; k < fact.n; k++) {
    int64_t g = fact.term[k].coef > 0 ? fact.term[k].coef : -fact.term[k].coef;
    bool is_seen = g == 1 || p->n_quotient == SEER_PROVER_MAX_QUOTIENTS;
    for (uint32_t t = 0; t < k; t++) is_seen |= fact.term[t].coef == g || fact.term[t].coef == -g;
    if (is_seen) continue;
    seer_linear *out = &p->quotient[p->n_quotient];
    *out = (seer_linear){.constant = fact.constant};
    bool holds = true;
    for (uint32_t t = 0; t < fact.n && holds; t++) {
      int64_t coef = fact.term[t].coef, low;
      if (coef % g == 0) {
        holds = seer_linear_add_term(out, fact.term[t].atom, coef / g);
        continue;
      }
      const seer_expr_node *atom = seer_expr_at(&p->loop->expr, fact.term[t].atom);
      holds = atom->op == SEER_EXPR_VAR;
      if (!holds) break;
      const seer_loop_var *var = &p->loop->var[atom->ref];
      holds = !__builtin_mul_overflow(coef, coef > 0 ? var->low : var->high, &low) &&
          !__builtin_add_overflow(out->constant, low, &out->constant);
    }
    out->constant = seer_ceil_div(out->constant, g);
    if (holds) p->n_quotient++;
  }
}

static void assume_le(
    seer_prover *prover, seer_expr a, seer_expr b, int64_t slack) {  // a - b + slack <= 0
  if (prover->n_fact == SEER_PROVER_MAX_FACTS) return;
  const seer_expr_pool *pool = &prover->loop->expr;
  seer_linear *fact = &prover->fact[prover->n_fact], right;
  if (!seer_linear_from(pool, a, fact) || !seer_linear_from(pool, b, &right)) return;
  if (!seer_linear_add(fact, &right, -1)) return;
  fact->constant += slack;
  seer_linear kept = *fact;
  prover->met_quotient = false;
  if (!expand_lets(prover, fact)) return;
  prover->n_fact++;
  assume_quotients(prover, *fact);
  // As it is where they are kept, too.
  if (!prover->met_quotient || prover->n_fact == SEER_PROVER_MAX_FACTS) return;
  prover->keeps_quotients = true;
  if (expand_lets(prover, &kept)) prover->fact[prover->n_fact++] = kept;
  prover->keeps_quotients = false;
}

// bound >= 1, which a loop's variable implies.
static void assume_runs(seer_prover *p, seer_expr bound) {
  const seer_expr_node *node = seer_expr_at(&p->loop->expr, bound);
  if (node->op == SEER_EXPR_MIN) {
    assume_runs(p, node->arg[0]);
    assume_runs(p, node->arg[1]);
    return;
  }
  seer_linear value, fact = {.constant = 1};
  if (p->n_quotient == SEER_PROVER_MAX_QUOTIENTS) return;
  if (!seer_linear_from(&p->loop->expr, bound, &value) || !seer_linear_add(&fact, &value, -1))
    return;
  if (!expand_lets(p, &fact) || fact.n == 0) return;
  p->quotient[p->n_quotient++] = fact;
  assume_quotients(p, fact);
}

void seer_prover_assume_loops(seer_prover *prover) {
  for (uint32_t v = prover->loop->n_var; v-- > 0;) {
    if (prover->depth[v] == 0) continue;
    const seer_loop_node *node = &prover->loop->node[prover->def[v]];
    if (node->kind == SEER_NODE_FOR && node->bound.i != 0) assume_runs(prover, node->bound);
  }
}

void seer_prover_assume(seer_prover *prover, seer_expr predicate) {
  if (predicate.i == 0) return;
  const seer_expr_node *node = seer_expr_at(&prover->loop->expr, predicate);
  seer_expr a = node->arg[0], b = node->arg[1];
  seer_expr_op op = (seer_expr_op)node->op;
  if (op == SEER_EXPR_AND) {
    seer_prover_assume(prover, a);
    seer_prover_assume(prover, b);
    return;
  }
  bool compares = op >= SEER_EXPR_LT && op <= SEER_EXPR_EQ;
  if (!compares || seer_dtype_is_float((seer_dtype)seer_expr_at(&prover->loop->expr, a)->dtype))
    return;
  if (op == SEER_EXPR_LT) assume_le(prover, a, b, 1);
  if (op == SEER_EXPR_LE || op == SEER_EXPR_EQ) assume_le(prover, a, b, 0);
  if (op == SEER_EXPR_GT) assume_le(prover, b, a, 1);
  if (op == SEER_EXPR_GE || op == SEER_EXPR_EQ) assume_le(prover, b, a, 0);
}

static bool prove(seer_prover *p, const seer_linear *x, uint32_t facts_used);

// Proves x with term `k` replaced by `with` (of the same or a greater value where its coefficient
// says so).
static bool prove_replaced(seer_prover *p, const seer_linear *x, uint32_t k,
    const seer_linear *with, uint32_t facts_used) {
  seer_linear y = *x;
  int64_t coef = x->term[k].coef;
  if (!seer_linear_add_term(&y, x->term[k].atom, -coef)) return false;
  if (!seer_linear_add(&y, with, coef)) return false;
  return prove(p, &y, facts_used);
}

static bool prove_with_constant(
    seer_prover *p, const seer_linear *x, uint32_t k, int64_t value, uint32_t facts_used) {
  seer_linear with;
  with.constant = value;
  with.n = 0;
  return prove_replaced(p, x, k, &with, facts_used);
}

static bool prove_with_expr(
    seer_prover *p, const seer_linear *x, uint32_t k, seer_expr value, uint32_t facts_used) {
  seer_linear with;
  return seer_linear_from(&p->loop->expr, value, &with) &&
      prove_replaced(p, x, k, &with, facts_used);
}

// Largest or smallest value of a sum of variables by their static ranges; false if it has other
// atoms.
static bool range_end(const seer_prover *p, const seer_linear *x, bool is_high, int64_t *out_end) {
  int64_t end = x->constant;
  for (uint32_t t = 0; t < x->n; t++) {
    const seer_expr_node *atom = seer_expr_at(&p->loop->expr, x->term[t].atom);
    if (atom->op != SEER_EXPR_VAR || p->depth[atom->ref] == 0) return false;
    const seer_loop_var *var = &p->loop->var[atom->ref];
    int64_t coef = x->term[t].coef, step;
    if (__builtin_mul_overflow((coef > 0) == is_high ? var->high : var->low, coef, &step))
      return false;
    if (__builtin_add_overflow(end, step, &end)) return false;
  }
  *out_end = end;
  return true;
}

// floor(e / c): the part of e that c divides comes out exactly; the rest is bounded by its
// inequality.
static bool prove_division(
    seer_prover *p, const seer_linear *x, uint32_t k, seer_expr e, int64_t c, uint32_t facts_used) {
  seer_linear inner, whole, rest;
  if (!seer_linear_from(&p->loop->expr, e, &inner)) return false;
  if (p->use_cases && !expand_lets(p, &inner)) return false;
  seer_linear_part(&inner, c, &whole, &rest);
  if (rest.n == 0) return prove_replaced(p, x, k, &whole, facts_used);
  int64_t coef = x->term[k].coef;
  seer_linear y = *x;
  if (!seer_linear_add_term(&y, x->term[k].atom, -coef) || !seer_linear_add(&y, &whole, coef))
    return false;
  // Where k divides all of y: y + k * floor(r / c) <= 0 iff r + c * (y / k) <= c - 1 for k > 0, and
  // iff c * (y / -k) - r <= 0 for k < 0 (constants rounded the way that keeps whole numbers whole).
  // Terms that it does not divide count with the largest value of their range.
  int64_t size = coef > 0 ? coef : -coef, end;
  seer_linear exact = {.constant = coef > 0 ? 1 - c : 0}, even, odd;
  seer_linear_part(&y, size, &even, &odd);
  odd.constant = y.constant;
  bool is_exact = odd.n == 0;
  if ((is_exact || p->is_thorough) && range_end(p, &odd, true, &end)) {
    even.constant = seer_ceil_div(end, size);
    if (!seer_linear_add(&exact, &rest, coef > 0 ? 1 : -1) || !seer_linear_add(&exact, &even, c))
      return false;
    if (prove(p, &exact, facts_used)) return true;
    if (is_exact) return false;
  }
  // By the ends of r's range: exact where r's variables are independent of the rest (a group's
  // channels).
  if (range_end(p, &rest, coef > 0, &end)) {
    seer_linear by_range = whole;
    by_range.constant += seer_floor_div(end, c);
    if (prove_replaced(p, x, k, &by_range, facts_used)) return true;
    // The ranges ignore that loops end early in the last block: ask for one multiple less.
    int64_t quotient = seer_floor_div(end, c), tightened = quotient, sign = coef > 0 ? 1 : -1;
    while (p->is_thorough && tightened - quotient < MAX_TIGHTENED &&
        quotient - tightened < MAX_TIGHTENED) {
      seer_linear claim = {.constant = coef > 0 ? 1 - c * tightened : c * (tightened + 1)};
      if (!seer_linear_add(&claim, &rest, sign) || !prove(p, &claim, facts_used)) break;
      tightened -= sign;
    }
    by_range.constant = whole.constant + tightened;
    if (tightened != quotient && prove_replaced(p, x, k, &by_range, facts_used)) return true;
  }
  // k * floor(r / c) <= k * r / c for k > 0, and <= k * (r - c + 1) / c for k < 0; the whole form
  // times c.
  y = (seer_linear){.constant = 0};
  if (!seer_linear_add(&y, x, c)) return false;
  if (!seer_linear_add_term(&y, x->term[k].atom, -coef * c)) return false;
  if (!seer_linear_add(&y, &whole, coef * c)) return false;
  if (coef < 0) rest.constant -= c - 1;
  if (!seer_linear_add(&y, &rest, coef)) return false;
  return prove(p, &y, facts_used);
}

// k * max(a, b) - k * max(c, d): enough that both pairs hold, a against c and b against d (or
// crosswise); min likewise.
static bool prove_pair(seer_prover *p, const seer_linear *x, uint32_t k, uint32_t facts_used) {
  const seer_expr_pool *pool = &p->loop->expr;
  const seer_expr_node *mine = seer_expr_at(pool, x->term[k].atom);
  for (uint32_t t = 0; t < x->n; t++) {
    const seer_expr_node *other = seer_expr_at(pool, x->term[t].atom);
    if (t == k || other->op != mine->op || x->term[t].coef != -x->term[k].coef) continue;
    p->met_pair = true;
    if (!p->use_pairs) return false;
    for (uint32_t cross = 0; cross < 2; cross++) {
      bool holds = true;
      for (uint32_t side = 0; side < 2 && holds; side++) {
        seer_linear y = *x, from, to;
        int64_t coef = x->term[k].coef;
        holds = seer_linear_from(pool, mine->arg[side], &from) &&
            seer_linear_from(pool, other->arg[side ^ cross], &to) &&
            seer_linear_add_term(&y, x->term[k].atom, -coef) &&
            seer_linear_add_term(&y, x->term[t].atom, coef) && seer_linear_add(&y, &from, coef) &&
            seer_linear_add(&y, &to, -coef) && prove(p, &y, facts_used);
      }
      if (holds) return true;
    }
  }
  return false;
}

static bool prove_atom(seer_prover *p, const seer_linear *x, uint32_t k, uint32_t facts_used) {
  const seer_expr_node *node = seer_expr_at(&p->loop->expr, x->term[k].atom);
  bool up = x->term[k].coef > 0;
  seer_expr a = node->arg[0], b = node->arg[1];
  seer_expr_op op = (seer_expr_op)node->op;
  if (op == SEER_EXPR_MIN || op == SEER_EXPR_MAX) {
    if (prove_pair(p, x, k, facts_used)) return true;
    bool needs_both = (op == SEER_EXPR_MAX) == up;
    bool first = prove_with_expr(p, x, k, a, facts_used);
    if (first != needs_both) return first;
    return prove_with_expr(p, x, k, b, facts_used);
  }
  if (op == SEER_EXPR_SELECT) {
    return prove_with_expr(p, x, k, b, facts_used) &&
        prove_with_expr(p, x, k, node->arg[2], facts_used);
  }
  if (op == SEER_EXPR_CAST) {  // of a byte, say: nothing is known but its type
    seer_dtype from = (seer_dtype)seer_expr_at(&p->loop->expr, a)->dtype;
    if (seer_dtype_is_float(from) || seer_dtype_bytes(from) > 4) return false;
    seer_scalar end = up ? seer_scalar_highest(from) : seer_scalar_lowest(from);
    return prove_with_constant(p, x, k, end.i, facts_used);
  }
  bool by_constant = (op == SEER_EXPR_DIV || op == SEER_EXPR_MOD) &&
      node->dtype == SEER_DTYPE_I64 && seer_expr_at(&p->loop->expr, b)->op == SEER_EXPR_CONST_I &&
      seer_expr_at(&p->loop->expr, b)->value.i > 0;
  if (by_constant) {
    int64_t c = seer_expr_at(&p->loop->expr, b)->value.i;
    p->met_quotient = true;
    if (op == SEER_EXPR_DIV) return prove_division(p, x, k, a, c, facts_used);
    if (prove_with_constant(p, x, k, up ? c - 1 : 0, facts_used)) return true;
    seer_linear negated = {.constant = 0}, inner;  // a mod c <= a where a >= 0
    if (!up || !seer_linear_from(&p->loop->expr, a, &inner) ||
        !seer_linear_add(&negated, &inner, -1))
      return false;
    return prove(p, &negated, facts_used) && prove_replaced(p, x, k, &inner, facts_used);
  }
  return false;  // a load or the like: nothing is known
}

// The variable in the innermost scope among the terms (all VARs).
static uint32_t innermost(const seer_prover *p, const seer_linear *x) {
  uint32_t best = 0, best_depth = 0;
  for (uint32_t k = 0; k < x->n; k++) {
    uint32_t depth = p->depth[seer_expr_at(&p->loop->expr, x->term[k].atom)->ref];
    if (depth > best_depth) {
      best = k;
      best_depth = depth;
    }
  }
  return best;
}

static bool prove_without_fact(seer_prover *p, const seer_linear *x, uint32_t facts_used) {
  uint32_t k = innermost(p, x);
  uint32_t var = seer_expr_at(&p->loop->expr, x->term[k].atom)->ref;
  const seer_loop_var *range = &p->loop->var[var];
  bool up = x->term[k].coef > 0;
  const seer_loop_node *node = &p->loop->node[p->def[var]];
  if (up && node->kind == SEER_NODE_FOR && node->bound.i != 0) {
    seer_linear last;
    if (seer_linear_from(&p->loop->expr, node->bound, &last)) {
      last.constant--;
      if (prove_replaced(p, x, k, &last, facts_used)) return true;
    }
  }
  return prove_with_constant(p, x, k, up ? range->high : range->low, facts_used);
}

// x = m * fact + rest, fact <= 0, m > 0: the rest must be <= 0.
typedef enum {
  FACT_ENDS,  // only where the rest is a constant
  FACT_SHORTENS,  // only where the fact has no term but some of x, which go with it
  FACT_ANY
} fact_use;

static bool prove_by_fact(seer_prover *p, const seer_linear *x, uint32_t facts_used, fact_use use) {
  uint32_t n = p->n_fact + (use == FACT_ENDS ? p->n_quotient : 0);
  for (uint32_t f = 0; f < n; f++) {
    if (f < p->n_fact && facts_used >> f & 1) continue;
    seer_linear in_case;
    const seer_linear *fact = f < p->n_fact ? &p->fact[f] : &p->quotient[f - p->n_fact];
    if (p->n_case > 0) {
      in_case = *fact;
      if (!expand_lets(p, &in_case)) continue;
      fact = &in_case;
    }
    int64_t scale = 0;
    for (uint32_t k = 0; k < x->n && scale == 0; k++) {
      int64_t coef = seer_linear_coef(fact, x->term[k].key);
      if (coef != 0 && x->term[k].coef % coef == 0) scale = x->term[k].coef / coef;
    }
    if (scale <= 0) continue;
    seer_linear rest = *x;
    if (!seer_linear_add(&rest, fact, -scale)) continue;
    if (use == FACT_ENDS) {
      if (rest.n == 0 && rest.constant <= 0) return true;
      continue;
    }
    if (use == FACT_SHORTENS && rest.n + fact->n != x->n) continue;
    if (prove(p, &rest, facts_used | (uint32_t)1 << f)) return true;
  }
  return false;
}

static bool contains(const seer_prover *p, seer_expr e, seer_expr part) {
  if (e.i == 0) return false;
  if (e.i == part.i) return true;
  const seer_expr_node *node = seer_expr_at(&p->loop->expr, e);
  if (node->op == SEER_EXPR_VAR) {
    if (p->depth[node->ref] == 0) return false;
    const seer_loop_node *def = &p->loop->node[p->def[node->ref]];
    return def->kind == SEER_NODE_LET && contains(p, def->value[0], part);
  }
  if (node->op == SEER_EXPR_LOAD) return false;
  for (int k = 0; k < 3; k++) {
    if (contains(p, node->arg[k], part)) return true;
  }
  return false;
}

// Term `k` stands inside another atom as well: splitting it first would lose that they are equal.
static bool is_hidden(const seer_prover *p, const seer_linear *x, uint32_t k) {
  for (uint32_t t = 0; t < x->n; t++) {
    if (t == k || seer_expr_at(&p->loop->expr, x->term[t].atom)->op == SEER_EXPR_VAR) continue;
    if (contains(p, x->term[t].atom, x->term[k].atom)) return true;
  }
  return false;
}

// A variable whose bound speaks of an atom of x goes first, while that atom is whole.
static bool prove_by_tied_bound(seer_prover *p, const seer_linear *x, uint32_t facts_used) {
  const seer_expr_pool *pool = &p->loop->expr;
  for (uint32_t k = 0; k < x->n; k++) {
    const seer_expr_node *atom = seer_expr_at(pool, x->term[k].atom);
    if (atom->op != SEER_EXPR_VAR || x->term[k].coef < 0 || p->depth[atom->ref] == 0) continue;
    const seer_loop_node *def = &p->loop->node[p->def[atom->ref]];
    if (def->kind != SEER_NODE_FOR || def->bound.i == 0) continue;
    for (uint32_t t = 0; t < x->n; t++) {
      if (seer_expr_at(pool, x->term[t].atom)->op == SEER_EXPR_VAR) continue;
      if (!contains(p, def->bound, x->term[t].atom)) continue;
      p->met_tied = true;
      if (!p->use_tied) return false;
      seer_linear last;
      if (!seer_linear_from(pool, def->bound, &last)) break;
      last.constant--;
      if (prove_replaced(p, x, k, &last, facts_used)) return true;
      break;
    }
  }
  return false;
}

// A minimum or maximum inside `e` (of a division) that no case speaks of yet; 0: none.
static seer_expr open_case(const seer_prover *p, seer_expr e) {
  if (e.i == 0) return e;
  seer_expr known = meaning_of(p, e);
  if (known.i != 0) return open_case(p, known);
  const seer_expr_node *node = seer_expr_at(&p->loop->expr, e);
  if (node->op == SEER_EXPR_MIN || node->op == SEER_EXPR_MAX) return e;
  if (node->op == SEER_EXPR_LOAD || node->op == SEER_EXPR_SELECT) return (seer_expr){0};
  for (int k = 0; k < 2; k++) {
    seer_expr found = open_case(p, node->arg[k]);
    if (found.i != 0) return found;
  }
  return (seer_expr){0};
}

// Of x: an atom of which both sides must hold, or one that is hidden in a quotient.
static seer_expr case_of(const seer_prover *p, const seer_linear *x) {
  for (uint32_t k = 0; k < x->n; k++) {
    const seer_expr_node *atom = seer_expr_at(&p->loop->expr, x->term[k].atom);
    bool up = x->term[k].coef > 0;
    if (atom->op == (up ? SEER_EXPR_MAX : SEER_EXPR_MIN)) return x->term[k].atom;
    if (atom->op != SEER_EXPR_DIV && atom->op != SEER_EXPR_MOD) continue;
    seer_expr found = open_case(p, atom->arg[0]);
    if (found.i != 0) return found;
  }
  return (seer_expr){0};
}

// Proves x with the atom equal to one of its sides and then to the other, wherever it stands.
static bool prove_cases(seer_prover *p, const seer_linear *x, seer_expr atom, uint32_t facts_used) {
  const seer_expr_node *node = seer_expr_at(&p->loop->expr, atom);
  for (int side = 0; side < 2; side++) {
    p->cases[p->n_case].atom = atom;
    p->cases[p->n_case++].value = node->arg[side];
    bool holds = prove(p, x, facts_used);
    p->n_case--;
    if (!holds) return false;
  }
  return true;
}

static bool prove(seer_prover *p, const seer_linear *x, uint32_t facts_used) {
  if (x->n == 0) return x->constant <= 0;
  if (p->steps_left == 0) return false;
  p->steps_left--;
  seer_linear expanded = *x;
  if (!expand_lets(p, &expanded)) return false;
  x = &expanded;
  if (x->n == 0) return x->constant <= 0;
  if (prove_by_fact(p, x, facts_used, FACT_ENDS)) return true;
  if (p->use_cases && p->n_case < SEER_PROVER_MAX_CASES) {
    seer_expr atom = case_of(p, x);
    if (atom.i != 0) return prove_cases(p, x, atom, facts_used);
  }
  // First what loses nothing: cases that must all hold. Then atoms of which one alternative is
  // taken (the last one built, it may have others inside), then variables by their bounds.
  uint32_t first = UINT32_MAX, n_atom = 0;
  bool has_cases = false;
  for (uint32_t k = 0; k < x->n; k++) {
    const seer_expr_node *atom = seer_expr_at(&p->loop->expr, x->term[k].atom);
    if (atom->op == SEER_EXPR_VAR) {
      if (p->depth[atom->ref] == 0) return false;
      continue;
    }
    n_atom++;
    if (has_cases) continue;
    bool up = x->term[k].coef > 0;
    has_cases = (atom->op == SEER_EXPR_SELECT || (atom->op == SEER_EXPR_MAX && up) ||
                    (atom->op == SEER_EXPR_MIN && !up)) &&
        !is_hidden(p, x, k);
    first = k;
  }
  if (first != UINT32_MAX) {
    p->met_pair |= n_atom > 1;
    // A guard of what stands beside a quotient, before the quotient's inequality takes its terms.
    if (p->keeps_quotients && prove_by_fact(p, x, facts_used, FACT_SHORTENS)) return true;
    if (prove_by_tied_bound(p, x, facts_used) || prove_atom(p, x, first, facts_used)) return true;
    for (uint32_t k = x->n; p->use_pairs && k-- > 0;) {  // another order may keep a pair together
      bool is_var = seer_expr_at(&p->loop->expr, x->term[k].atom)->op == SEER_EXPR_VAR;
      if (!is_var && k != first && prove_atom(p, x, k, facts_used)) return true;
    }
    return false;
  }
  // Of quotients that are kept facts say more than their ranges do.
  if (p->keeps_quotients && prove_by_fact(p, x, facts_used, FACT_ANY)) return true;
  return prove_without_fact(p, x, facts_used) ||
      (!p->keeps_quotients && prove_by_fact(p, x, facts_used, FACT_ANY));
}

// What costs search is tried only where the plain way fails and it would have applied.
bool seer_prove_not_positive(seer_prover *prover, const seer_linear *x) {
  static const struct {
    bool tied, pairs, cases, keeps;
  } ways[] = {{false, false, false, false}, {true, false, false, false},
      {false, false, true, false}, {false, true, false, false}, {true, true, false, false},
      {false, false, false, true}};
  prover->met_quotient = false;
  // Nothing reaches a place whose guard holds nowhere (of the first of some steps, say).
  for (uint32_t k = 0; k < prover->n_fact; k++)
    if (prover->fact[k].n == 0 && prover->fact[k].constant > 0) return true;
  bool could_tie = true, could_pair = true;
  for (size_t k = 0; k < SEER_COUNT_OF(ways); k++) {
    if ((ways[k].tied && !could_tie) || (ways[k].pairs && !could_pair)) continue;
    if (ways[k].keeps && !prover->met_quotient) continue;
    prover->keeps_quotients = ways[k].keeps;
    prover->use_tied = ways[k].tied;
    prover->use_pairs = ways[k].pairs;
    prover->use_cases = ways[k].cases;
    prover->n_case = 0;
    prover->met_tied = prover->met_pair = false;
    if (k > 1 && !prover->is_thorough) break;
    prover->steps_left = k == 4 ? PROVER_THOROUGH_STEPS : PROVER_STEPS;
    bool holds = prove(prover, x, 0);
    prover->keeps_quotients = false;
    if (holds) return true;
    if (k == 0) {
      could_tie = prover->met_tied;
      could_pair = prover->met_pair;
    }
  }
  return false;
}
