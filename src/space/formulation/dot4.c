// dot4.c - a sum of products of bytes, unsigned ones with constant signed ones, four at a time
// (words.h):
//   sum k: cast.i32(x[.., k]) * cast.i32(w[.., k])  ->  sum q: dot4(xw[.., q], ww[.., q])
// All of it is exact.
#include "dag/edit.h"
#include "space/formulation.h"
#include "space/formulation/words.h"

// Of an axis of two, half of each word would be nothing.
#define MIN_EXTENT 3

static bool widens_to_i32(const seer_dag *dag, seer_expr e, seer_dtype from, seer_expr *out) {
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  if (node->op != SEER_EXPR_CAST || node->dtype != SEER_DTYPE_I32) return false;
  *out = node->arg[0];
  return seer_expr_at(&dag->expr, *out)->dtype == from;
}

static bool match_factors(const seer_dag *dag, seer_word_product *p) {
  const seer_dag_stage *s = &dag->stage[p->stage];
  seer_word_factor *x = &p->factor[0], *w = &p->factor[1];
  if (s->combiner != SEER_COMBINE_SUM || s->n_values != 1 || s->is_const) return false;
  const seer_expr_node *body = seer_expr_at(&dag->expr, s->body[0]);
  if (body->op != SEER_EXPR_MUL || body->dtype != SEER_DTYPE_I32) return false;
  bool is_first = widens_to_i32(dag, body->arg[0], SEER_DTYPE_I8, &w->part);
  if (!is_first && !widens_to_i32(dag, body->arg[1], SEER_DTYPE_I8, &w->part)) return false;
  if (!widens_to_i32(dag, body->arg[is_first ? 1 : 0], SEER_DTYPE_U8, &x->part)) return false;
  const seer_expr_node *weight = seer_expr_at(&dag->expr, w->part);
  w->is_weight = true;
  return weight->op == SEER_EXPR_LOAD && weight->arg[0].i == 0 &&
      dag->buf[weight->ref].kind == SEER_BUF_WEIGHT;
}

static const seer_dag *make(
    const seer_dag *dag, const seer_target *target, seer_arena *arena, double *out_tolerance) {
  (void)target;
  seer_word_product p = {.op = SEER_EXPR_DOT4, .stage = seer_dag_anchor(dag)};
  if (!match_factors(dag, &p) || !seer_words_match(dag, MIN_EXTENT, &p)) return NULL;
  if (!seer_dtype_is_byte((seer_dtype)seer_expr_at(&dag->expr, p.factor[0].load)->dtype))
    return NULL;
  seer_dag *made = seer_dag_clone(dag, arena);
  *out_tolerance = 0;
  return seer_words_make(dag, made, &p) ? made : NULL;
}

extern const seer_formulation seer_formulation_dot4;
const seer_formulation seer_formulation_dot4 = {
    .name = "dot4", .doc = "products of bytes, four at a time in words of 32 bits", .make = make};
