// sum.c - reads sums; terms are added outermost loop first, so that every prefix of a sum can be
// computed outside of the loops that it does not depend on.
#include "code/tile/sum.h"

#include <string.h>

static bool add_term(seer_sum *x, const seer_sum_term *term, int64_t scale) {
  int64_t coef = term->coef * scale;
  if (coef == 0) return true;
  for (uint32_t k = 0; k < x->n; k++) {
    seer_sum_term *t = &x->term[k];
    if (t->atom != term->atom) continue;
    t->coef += coef;
    if (t->coef == 0) {
      x->n--;
      memmove(t, t + 1, (x->n - k) * sizeof(*t));
    }
    return true;
  }
  if (x->n == SEER_SUM_MAX_TERMS) return false;
  uint32_t at = x->n;  // stable by depth
  while (at > 0 && x->term[at - 1].depth > term->depth) at--;
  memmove(&x->term[at + 1], &x->term[at], (x->n - at) * sizeof(x->term[0]));
  x->term[at] = *term;
  x->term[at].coef = coef;
  x->n++;
  return true;
}

bool seer_sum_add(seer_sum *a, const seer_sum *b, int64_t scale) {
  a->c += b->c * scale;
  a->lane += b->lane * scale;
  for (uint32_t k = 0; k < b->n; k++) {
    if (!add_term(a, &b->term[k], scale)) return false;
  }
  return true;
}

bool seer_sum_range(const seer_sum *x, uint32_t lanes, int64_t *out_low, int64_t *out_high) {
  int64_t across = x->lane * ((int64_t)lanes - 1);
  int64_t low = x->c + seer_min_i64(0, across), high = x->c + seer_max_i64(0, across);
  for (uint32_t k = 0; k < x->n; k++) {
    const seer_sum_term *t = &x->term[k];
    if (t->low == INT64_MIN || t->high == INT64_MAX) return false;
    int64_t at_low, at_high;
    if (__builtin_mul_overflow(t->coef, t->low, &at_low) ||
        __builtin_mul_overflow(t->coef, t->high, &at_high) ||
        __builtin_add_overflow(low, seer_min_i64(at_low, at_high), &low) ||
        __builtin_add_overflow(high, seer_max_i64(at_low, at_high), &high)) {
      return false;
    }
  }
  *out_low = low;
  *out_high = high;
  return true;
}

// x = d * whole + rest.
static void part_by(const seer_sum *x, int64_t d, seer_sum *whole, seer_sum *rest) {
  *whole = seer_sum_const(seer_floor_div(x->c, d));
  *rest = seer_sum_const(seer_floor_mod(x->c, d));
  *(x->lane % d == 0 ? &whole->lane : &rest->lane) = x->lane % d == 0 ? x->lane / d : x->lane;
  for (uint32_t k = 0; k < x->n; k++) {
    seer_sum_term t = x->term[k];
    if (t.coef % d == 0) {
      t.coef /= d;
      whole->term[whole->n++] = t;
      continue;
    }
    int64_t q = seer_floor_div(t.coef, d);  // 7 mod 4: 4 + 3, so that the rest stays small
    if (t.low != INT64_MIN && t.low >= 0 && q != 0) {
      seer_sum_term part = t;
      part.coef = q;
      whole->term[whole->n++] = part;
      t.coef -= q * d;
    }
    rest->term[rest->n++] = t;
  }
}

static bool divide(
    const seer_sum_reader *reader, const seer_sum *x, int64_t d, bool is_mod, seer_sum *out) {
  seer_sum whole, rest, part;
  part_by(x, d, &whole, &rest);
  int64_t low = 0, high = 0;
  bool is_known = seer_sum_range(&rest, reader->lanes, &low, &high);
  if (is_known && seer_floor_div(low, d) == seer_floor_div(high, d)) {
    int64_t q = seer_floor_div(low, d);  // the same for all
    rest.c -= q * d;
    whole.c += q;
    *out = is_mod ? rest : whole;
    return true;
  }
  if (rest.lane != 0 || !reader->divide) return false;
  if (!reader->divide(reader->user, &rest, d, is_mod, is_known, low, high, &part)) return false;
  *out = is_mod ? part : whole;
  return is_mod || seer_sum_add(out, &part, 1);
}

static bool other(const seer_sum_reader *reader, seer_expr e, seer_sum *out) {
  return reader->other && reader->other(reader->user, e, out);
}

static bool is_constant(const seer_sum *x) { return x->n == 0 && x->lane == 0; }

static bool of_binary(
    const seer_sum_reader *reader, const seer_expr_node *node, seer_expr e, seer_sum *out) {
  seer_sum a, b;
  bool is_division = node->op == SEER_EXPR_DIV || node->op == SEER_EXPR_MOD;
  if (is_division) {
    if (!seer_sum_of(reader, node->arg[1], &b) || !is_constant(&b) || b.c <= 0)
      return other(reader, e, out);
    return seer_sum_of(reader, node->arg[0], &a) &&
        divide(reader, &a, b.c, node->op == SEER_EXPR_MOD, out);
  }
  if (!seer_sum_of(reader, node->arg[0], &a) || !seer_sum_of(reader, node->arg[1], &b))
    return false;
  if (node->op == SEER_EXPR_MUL) {
    *out = seer_sum_const(0);
    if (is_constant(&b)) return seer_sum_add(out, &a, b.c);
    if (is_constant(&a)) return seer_sum_add(out, &b, a.c);
    return other(reader, e, out);
  }
  *out = a;
  return seer_sum_add(out, &b, node->op == SEER_EXPR_ADD ? 1 : -1) || other(reader, e, out);
}

bool seer_sum_of(const seer_sum_reader *reader, seer_expr e, seer_sum *out) {
  const seer_expr_node *node = &reader->expr->node[e.i];
  bool is_integer = node->dtype == SEER_DTYPE_I64;
  switch ((int)node->op) {
    case SEER_EXPR_CONST_I:
      *out = seer_sum_const(node->value.i);
      return true;
    case SEER_EXPR_VAR:
      return reader->variable(reader->user, node->ref, out);
    case SEER_EXPR_NEG: {
      seer_sum x;
      if (!is_integer) return other(reader, e, out);
      *out = seer_sum_const(0);
      return seer_sum_of(reader, node->arg[0], &x) && seer_sum_add(out, &x, -1);
    }
    case SEER_EXPR_ADD:
    case SEER_EXPR_SUB:
    case SEER_EXPR_MUL:
    case SEER_EXPR_DIV:
    case SEER_EXPR_MOD:
      if (is_integer) return of_binary(reader, node, e, out);
      return other(reader, e, out);
    default:
      return other(reader, e, out);
  }
}
