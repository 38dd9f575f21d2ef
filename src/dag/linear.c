// linear.c - sums of terms, each a key and a coefficient, in the order of their keys: what analysis
// of DAGs, lowering and the prover of the loop IR add, scale and divide.
#include <string.h>

#include "dag/expr.h"

static bool coef_is_sane(int64_t coef) {
  return coef < ((int64_t)1 << 56) && coef > -((int64_t)1 << 56);
}

bool seer_linear_add_term(seer_linear *out, seer_expr atom, int64_t coef) {
  if (coef == 0) return true;
  if (!coef_is_sane(coef)) return false;
  uint32_t at = 0;
  while (at < out->n && out->term[at].key < atom.i) at++;
  if (at < out->n && out->term[at].key == atom.i) {
    out->term[at].coef += coef;
    if (out->term[at].coef == 0) {
      memmove(&out->term[at], &out->term[at + 1], (out->n - at - 1) * sizeof(out->term[0]));
      out->n--;
      return true;
    }
    return coef_is_sane(out->term[at].coef);
  }
  if (out->n == SEER_LINEAR_MAX_TERMS) return false;
  memmove(&out->term[at + 1], &out->term[at], (out->n - at) * sizeof(out->term[0]));
  out->term[at].atom = atom;
  out->term[at].coef = coef;
  out->n++;
  return true;
}

bool seer_linear_add(seer_linear *out, const seer_linear *x, int64_t scale) {
  if (!coef_is_sane(scale)) return false;
  int64_t constant;
  if (__builtin_mul_overflow(x->constant, scale, &constant)) return false;
  if (__builtin_add_overflow(out->constant, constant, &out->constant)) return false;
  for (uint32_t k = 0; k < x->n; k++) {
    int64_t coef;
    if (__builtin_mul_overflow(x->term[k].coef, scale, &coef)) return false;
    if (!seer_linear_add_term(out, x->term[k].atom, coef)) return false;
  }
  return true;
}

int64_t seer_linear_coef(const seer_linear *x, uint32_t key) {
  for (uint32_t k = 0; k < x->n; k++) {
    if (x->term[k].key == key) return x->term[k].coef;
  }
  return 0;
}

void seer_linear_part(const seer_linear *x, int64_t c, seer_linear *whole, seer_linear *rest) {
  *whole = (seer_linear){.constant = seer_floor_div(x->constant, c)};
  *rest = (seer_linear){.constant = seer_floor_mod(x->constant, c)};
  for (uint32_t k = 0; k < x->n; k++) {
    bool divides = x->term[k].coef % c == 0;
    seer_linear *to = divides ? whole : rest;
    to->term[to->n] = x->term[k];
    to->term[to->n++].coef /= divides ? c : 1;
  }
}
