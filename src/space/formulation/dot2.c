// dot2.c - a sum of products of bf16 in f32, two at a time (words.h):
//   sum k: cast.f32(x[.., k]) * cast.f32(w[.., k])  ->  sum q: dot2(xw[.., q], ww[.., q])
// On GPUs, whose warps multiply them (space/warps.h), of f16, too: the operator is dot2_f16.
// Both may be computed (the products of attention); then both are put into words while it runs.
// A factor need not be a cast to be seen: where it is what a stage has made by one, or by moving
// what was cast (padding), the rounding that it is given here changes nothing.
#include "dag/edit.h"
#include "space/formulation.h"
#include "space/formulation/words.h"

#define MIN_EXTENT 2

// `e`, in f32, is a number of type `of` wherever it is read: widened from one, or read from a stage
// whose values are.
static bool is_widened(const seer_dag *dag, seer_expr e, seer_dtype of) {
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  if (node->dtype != SEER_DTYPE_F32) return false;
  if (node->op == SEER_EXPR_CAST) return seer_expr_at(&dag->expr, node->arg[0])->dtype == of;
  if (node->op == SEER_EXPR_CONST_F) {
    const seer_float_format *format = seer_dtype_format(of);
    return seer_float_from_bits(format, seer_float_to_bits(format, node->value.f)) == node->value.f;
  }
  if (node->op != SEER_EXPR_LOAD || dag->buf[node->ref].kind != SEER_BUF_STAGE) return false;
  if (node->arg[0].i != 0 && !is_widened(dag, node->arg[1], of)) return false;
  const seer_dag_stage *made = &dag->stage[dag->buf[node->ref].stage];
  return made->n_values == 1 && made->combiner == SEER_COMBINE_NONE &&
      is_widened(dag, made->body[0], of);
}

static void read_factor(seer_dag *dag, seer_expr e, seer_dtype of, seer_word_factor *out) {
  out->part = seer_expr_cast(&dag->expr, of, e);
  const seer_expr_node *node = seer_expr_at(&dag->expr, out->part);
  out->is_weight = node->op == SEER_EXPR_LOAD && dag->buf[node->ref].kind == SEER_BUF_WEIGHT &&
      node->arg[0].i == 0;
}

static bool is_product(const seer_dag *dag, uint32_t stage, seer_dtype of) {
  const seer_dag_stage *s = &dag->stage[stage];
  const seer_expr_node *body = seer_expr_at(&dag->expr, s->body[0]);
  return s->combiner == SEER_COMBINE_SUM && s->n_values == 1 && !s->is_const &&
      body->op == SEER_EXPR_MUL && is_widened(dag, body->arg[0], of) &&
      is_widened(dag, body->arg[1], of);
}

static const seer_dag *make(
    const seer_dag *dag, const seer_target *target, seer_arena *arena, double *out_tolerance) {
  bool is_gpu = target->kind != SEER_TARGET_CPU;
  if (is_gpu && !seer_target_has_mma(target)) return NULL;
  seer_word_product p = {.op = SEER_EXPR_DOT2, .stage = seer_dag_anchor(dag)};
  seer_dtype of = SEER_DTYPE_BF16;
  if (is_gpu && is_product(dag, p.stage, SEER_DTYPE_F16)) {
    of = SEER_DTYPE_F16;
    p.op = SEER_EXPR_DOT2_F16;
  }
  if (!is_product(dag, p.stage, of)) return NULL;
  seer_dag *made = seer_dag_clone(dag, arena);
  const seer_expr_node body = *seer_expr_at(&made->expr, made->stage[p.stage].body[0]);
  for (uint32_t k = 0; k < 2; k++) read_factor(made, body.arg[k], of, &p.factor[k]);
  if (p.factor[0].is_weight && p.factor[1].is_weight) return NULL;
  if (!seer_words_match(made, MIN_EXTENT, &p)) return NULL;
  *out_tolerance = 0;
  return seer_words_make(dag, made, &p) ? made : NULL;
}

extern const seer_formulation seer_formulation_dot2;
const seer_formulation seer_formulation_dot2 = {.name = "dot2",
    .doc = "products of bf16, on GPUs of f16, too, two at a time in words of 32 bits",
    .make = make,
    .is_for_gpus = true};
