// matrix.c - see matrix.h.
#include "space/matrix.h"

void seer_matrix_add_rows(seer_matrix_tile *tile, int64_t extent) {
  if (extent >= tile->longest) {
    tile->others *= tile->longest;
    tile->longest = extent;
  } else {
    tile->others *= extent;
  }
  tile->x = tile->others * seer_matrix_count(tile->longest);
}

static bool moves_with(const seer_dag *dag, const seer_access *x, uint32_t axis) {
  for (uint32_t d = 0; d < x->rank; d++)
    if (seer_access_index(dag->access, x, d)->axes >> axis & 1) return true;
  return false;
}

// The innermost dimension that has more than one element.
static uint32_t last_dim(const seer_dag *dag, const seer_access *x) {
  uint32_t d = x->rank;
  while (d > 1 && dag->buf[x->buf].dim[d - 1] == 1) d--;
  return d - 1;
}

// The index of dimension `dim` moves with `axis` by one, and no other does.
static bool goes_along(const seer_dag *dag, const seer_access *x, uint32_t axis, uint32_t dim) {
  for (uint32_t d = 0; d < x->rank; d++) {
    const seer_access_dim *index = seer_access_index(dag->access, x, d);
    if (!(index->axes >> axis & 1)) continue;
    if (d != dim || !seer_access_is_sum(index) || index->coef[axis] != 1) return false;
  }
  return moves_with(dag, x, axis);
}

// The last axis of more than one iteration in [first, end); `end`: none.
static uint32_t last_axis(const seer_dag_stage *s, uint32_t first, uint32_t end) {
  for (uint32_t a = end; a-- > first;)
    if (s->axis[a].extent > 1) return a;
  return end;
}

seer_matrix_depth seer_matrix_depth_of(
    const seer_dag *dag, uint32_t stage, const seer_target *target) {
  const seer_dag_stage *s = &dag->stage[stage];
  if (s->combiner != SEER_COMBINE_SUM || s->n_values != 1 || s->is_const) return SEER_MATRIX_NONE;
  const seer_expr_node *product = seer_expr_at(&dag->expr, s->body[0]);
  bool is_there = (product->op == SEER_EXPR_DOT4 && seer_target_multiplies_bytes(target)) ||
      (product->op == SEER_EXPR_DOT2 && seer_target_multiplies_halves(target));
  uint32_t end = (uint32_t)s->n_space + s->n_reduce;
  uint32_t column = last_axis(s, 0, s->n_space), depth = last_axis(s, s->n_space, end);
  if (!is_there || column == s->n_space || depth == end) return SEER_MATRIX_NONE;
  const seer_access *factor[2];
  for (uint32_t k = 0; k < 2; k++) {
    factor[k] = seer_access_find(dag, stage, product->arg[k]);
    if (!factor[k] || factor[k]->is_guarded || factor[k]->rank == 0) return SEER_MATRIX_NONE;
  }
  if (product->op == SEER_EXPR_DOT2 && moves_with(dag, factor[0], column)) {
    const seer_access *first = factor[0];
    factor[0] = factor[1];
    factor[1] = first;
  }
  uint32_t last = last_dim(dag, factor[0]);
  bool is_product = !moves_with(dag, factor[0], column) &&
      goes_along(dag, factor[0], depth, last) && moves_with(dag, factor[1], column) &&
      moves_with(dag, factor[1], depth);
  if (!is_product) return SEER_MATRIX_NONE;
  uint32_t before = last_axis(s, s->n_space, depth);
  bool is_row = dag->buf[factor[0]->buf].dim[last] == s->axis[depth].extent;
  bool goes_on = is_row && before != depth && last > 0 &&
      goes_along(dag, factor[0], before, last - 1) && moves_with(dag, factor[1], before);
  return goes_on ? SEER_MATRIX_TWO_AXES : SEER_MATRIX_AXIS;
}
