// warps.c - see warps.h.
#include "space/warps.h"

bool seer_warps_is_of_tf32(const seer_expr_pool *pool, const seer_expr_node *product) {
  return product->op == SEER_EXPR_MUL &&
      seer_expr_at(pool, product->arg[0])->op == SEER_EXPR_TF32 &&
      seer_expr_at(pool, product->arg[1])->op == SEER_EXPR_TF32;
}

seer_warps_type seer_warps_type_of_product(
    const seer_expr_pool *pool, seer_expr product, seer_expr out_factor[2]) {
  const seer_expr_node *node = seer_expr_at(pool, product);
  for (uint32_t k = 0; k < 2; k++) out_factor[k] = node->arg[k];
  if (node->op == SEER_EXPR_DOT2) return SEER_WARPS_BF16;
  if (node->op == SEER_EXPR_DOT2_F16) return SEER_WARPS_F16;
  if (!seer_warps_is_of_tf32(pool, node)) return SEER_WARPS_NONE;
  for (uint32_t k = 0; k < 2; k++) out_factor[k] = seer_expr_at(pool, out_factor[k])->arg[0];
  return SEER_WARPS_TF32;
}

seer_warps_type seer_warps_type_of(
    const seer_dag *dag, uint32_t stage, const seer_target *target, uint32_t out_axes[2]) {
  const seer_dag_stage *s = &dag->stage[stage];
  if (s->combiner != SEER_COMBINE_SUM || s->n_values != 1 || s->is_const ||
      !seer_target_has_mma(target))
    return SEER_WARPS_NONE;
  seer_expr factor[2];
  seer_warps_type type = seer_warps_type_of_product(&dag->expr, s->body[0], factor);
  if (type == SEER_WARPS_NONE) return SEER_WARPS_NONE;
  for (uint32_t k = 0; k < 2; k++) {
    const seer_access *x = seer_access_find(dag, stage, factor[k]);
    if (!x || x->is_guarded) return SEER_WARPS_NONE;
    out_axes[k] = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
      const seer_access_dim *dim = seer_access_index(dag->access, x, d);
      if (dim->is_whole) return SEER_WARPS_NONE;
      out_axes[k] |= (uint32_t)dim->moving;
    }
  }
  return type;
}

// The one factor that the loop moves; 2: both, or none.
static uint32_t only_of(const seer_warps_loop *loop) {
  return loop->moves[0] == loop->moves[1] ? 2 : loop->moves[1];
}

// Items that follow each other, inside of loop `*at`, until their number is a multiple of `n`: all
// move the factor *out alone. *at: the loops left.
static int64_t take_items(
    const seer_warps_loop *loop, uint32_t *at, int64_t n, uint32_t *out_factor) {
  int64_t items = 1;
  *out_factor = 2;
  while (*at > 0 && items % n != 0) {
    const seer_warps_loop *l = &loop[*at - 1];
    if (l->kind != SEER_WARPS_ITEM || l->is_cut) return 0;
    --*at;
    if (l->extent == 1) continue;
    uint32_t factor = only_of(l);
    if (factor == 2 || (*out_factor != 2 && factor != *out_factor)) return 0;
    *out_factor = factor;
    items *= l->extent;
  }
  return items % n == 0 ? items : 0;
}

static bool find_copies(
    const seer_warps_loop *loop, uint32_t first, uint32_t n, seer_warps_tile *out) {
  bool has_pair[2] = {false, false};
  out->patches[0] = out->patches[1] = 1;
  for (uint32_t l = n; l-- > first;) {
    if (loop[l].is_cut) return false;
    if (loop[l].extent == 1) continue;
    uint32_t factor = only_of(&loop[l]);
    if (factor == 2) return false;
    out->patches[factor] *= loop[l].extent;
    if (has_pair[factor] || loop[l].extent % 2 != 0) continue;
    has_pair[factor] = true;
    out->pair[factor] = l;
  }
  out->patches[0] /= 2;
  out->patches[1] /= 2;
  return has_pair[0] && has_pair[1];
}

bool seer_warps_find(const seer_warps_loop *loop, uint32_t n, seer_warps_tile *out) {
  uint32_t at = n, columns, rows;
  while (at > 0 && loop[at - 1].kind == SEER_WARPS_COPY) at--;
  if (at == 0 || !find_copies(loop, at, n, out)) return false;
  while (at > 1 && loop[at - 1].kind == SEER_WARPS_STEP && loop[at - 1].extent == 1) at--;
  out->depth = at - 1;
  if (loop[out->depth].kind != SEER_WARPS_STEP || loop[out->depth].extent % SEER_WARPS_WORDS != 0 ||
      only_of(&loop[out->depth]) != 2 || !loop[out->depth].moves[0])
    return false;
  while (at > 0 && loop[at - 1].kind == SEER_WARPS_STEP) at--;
  if (take_items(loop, &at, SEER_WARPS_COLUMN_ITEMS, &columns) != SEER_WARPS_COLUMN_ITEMS)
    return false;
  if (take_items(loop, &at, SEER_WARPS_ROW_ITEMS, &rows) == 0 || rows == columns) return false;
  for (; at > 0; at--)
    if (loop[at - 1].kind == SEER_WARPS_ITEM && loop[at - 1].is_cut) return false;
  out->rows = (uint8_t)rows;
  return true;
}
