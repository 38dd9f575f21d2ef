// dot2.c - a sum of products of bf16 in f32, two at a time (words.h):
//   sum k: cast.f32(x[.., k]) * cast.f32(w[.., k])  ->  sum q: dot2(xw[.., q], ww[.., q])
// Both may be computed (the products of attention); then both are put into words while it runs.
// A factor need not be a cast to be seen: where it is what a stage has made by one, or by moving
// what was cast (padding), the rounding that it is given here changes nothing.
#include "dag/edit.h"
#include "space/formulation.h"
#include "space/formulation/words.h"

#define MIN_EXTENT 2

// `e`, in f32, is a bf16 wherever it is read: widened from one, or read from a stage whose values
// are.
static bool is_widened(const seer_dag *dag, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  if (node->dtype != SEER_DTYPE_F32) return false;
  if (node->op == SEER_EXPR_CAST)
    return seer_expr_at(&dag->expr, node->arg[0])->dtype == SEER_DTYPE_BF16;
  if (node->op == SEER_EXPR_CONST_F) {
    const seer_float_format *format = seer_dtype_format(SEER_DTYPE_BF16);
    return seer_float_from_bits(format, seer_float_to_bits(format, node->value.f)) == node->value.f;
  }
  if (node->op != SEER_EXPR_LOAD || dag->buf[node->ref].kind != SEER_BUF_STAGE) return false;
  if (node->arg[0].i != 0 && !is_widened(dag, node->arg[1])) return false;
  const seer_dag_stage *made = &dag->stage[dag->buf[node->ref].stage];
  return made->n_values == 1 && made->combiner == SEER_COMBINE_NONE &&
      is_widened(dag, made->body[0]);
}

static bool read_factor(seer_dag *dag, seer_expr e, seer_word_factor *out) {
  if (!is_widened(dag, e)) return false;
  out->part = seer_expr_cast(&dag->expr, SEER_DTYPE_BF16, e);
  const seer_expr_node *node = seer_expr_at(&dag->expr, out->part);
  out->is_weight = node->op == SEER_EXPR_LOAD && dag->buf[node->ref].kind == SEER_BUF_WEIGHT;
  return !out->is_weight || node->arg[0].i == 0;
}

static bool is_product(const seer_dag *dag, uint32_t stage) {
  const seer_dag_stage *s = &dag->stage[stage];
  const seer_expr_node *body = seer_expr_at(&dag->expr, s->body[0]);
  return s->combiner == SEER_COMBINE_SUM && s->n_values == 1 && !s->is_const &&
      body->op == SEER_EXPR_MUL && is_widened(dag, body->arg[0]) && is_widened(dag, body->arg[1]);
}

static const seer_dag *make(
    const seer_dag *dag, const seer_target *target, seer_arena *arena, double *out_tolerance) {
  (void)target;
  seer_word_product p = {.op = SEER_EXPR_DOT2, .stage = seer_dag_anchor(dag)};
  if (!is_product(dag, p.stage)) return NULL;
  seer_dag *made = seer_dag_clone(dag, arena);
  const seer_expr_node body = *seer_expr_at(&made->expr, made->stage[p.stage].body[0]);
  for (uint32_t k = 0; k < 2; k++)
    if (!read_factor(made, body.arg[k], &p.factor[k])) return NULL;
  if (p.factor[0].is_weight && p.factor[1].is_weight) return NULL;
  if (!seer_words_match(made, MIN_EXTENT, &p)) return NULL;
  *out_tolerance = 0;
  return seer_words_make(dag, made, &p) ? made : NULL;
}

extern const seer_formulation seer_formulation_dot2;
const seer_formulation seer_formulation_dot2 = {
    .name = "dot2", .doc = "products of bf16, two at a time in words of 32 bits", .make = make};
