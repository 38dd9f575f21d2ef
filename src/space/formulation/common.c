// common.c - see common.h.
#include "space/formulation/common.h"

seer_expr seer_formulation_choose(
    seer_expr_pool *pool, seer_expr index, const seer_expr *choice, uint32_t n) {
  seer_expr chosen = choice[n - 1];
  for (uint32_t k = n - 1; k-- > 0;) {
    seer_expr is_it = seer_expr_binary(pool, SEER_EXPR_EQ, index, seer_expr_i(pool, k));
    chosen = seer_expr_select(pool, is_it, choice[k], chosen);
  }
  return chosen;
}

typedef struct {
  const seer_expr_pool *pool;
  seer_expr load;
  uint32_t n;  // different ones
} load_search;

static void find_load(void *user, seer_expr e) {
  load_search *search = user;
  if (seer_expr_at(search->pool, e)->op != SEER_EXPR_LOAD || search->load.i == e.i) return;
  search->load = e;
  search->n++;
}

seer_expr seer_formulation_only_load(const seer_expr_pool *pool, seer_expr e) {
  load_search search = {.pool = pool};
  seer_expr_visit(pool, e, find_load, &search);
  return search.n == 1 ? search.load : (seer_expr){0};
}

static bool is_weight(const seer_dag *dag, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  return node->op == SEER_EXPR_LOAD && dag->buf[node->ref].kind == SEER_BUF_WEIGHT;
}

bool seer_formulation_match_product(
    const seer_dag *dag, uint32_t stage, seer_expr *out_other, seer_expr *out_weight) {
  const seer_dag_stage *s = &dag->stage[stage];
  bool is_sum = s->combiner == SEER_COMBINE_SUM && s->n_values == 1 && !s->is_const &&
      dag->buf[s->out[0]].dtype == SEER_DTYPE_F32;
  if (!is_sum) return false;
  const seer_expr_node *body = seer_expr_at(&dag->expr, s->body[0]);
  if (body->op != SEER_EXPR_MUL) return false;
  bool is_first = is_weight(dag, body->arg[0]);
  *out_weight = body->arg[is_first ? 0 : 1];
  *out_other = body->arg[is_first ? 1 : 0];
  if (!is_weight(dag, *out_weight) || is_weight(dag, *out_other)) return false;
  return seer_expr_at(&dag->expr, *out_other)->op == SEER_EXPR_LOAD;
}
