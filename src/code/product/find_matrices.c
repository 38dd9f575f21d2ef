// find_matrices.c - a reduction's innermost loop, with the copies of rows and the lanes inside of
// it, as products of matrices, where the processor has instructions for them:
//
//   for @k reduce { unroll @m { vector @n { sum $s[.. m, n] = dot4($x[.. m, k], $y[.. k, n]) } } }
//
// The words of x lie one behind the other along k and a constant apart along m, those of y and the
// sums one behind the other along n. Other loops of copies between them count matrices. What is
// summed into is in memory: an instruction takes and leaves it there in whole matrices. Two loops
// of the reduction are one where x and y go on behind the inner one's end as they do inside (a
// window's row of a few channels).
#include "code/tile/pass.h"
#include "space/matrix.h"

static const seer_loop_node *at(const seer_tile *tile, uint32_t id) {
  return &tile->loop->node[id];
}

static bool is_alone(const seer_tile *tile, uint32_t id) {
  return id != 0 && at(tile, id)->next == 0;
}

// The load that a factor is: of a word, or of the first part of one. False: something else, or one
// that a guard may exclude.
static bool find_load(const seer_tile *tile, seer_expr e, seer_expr *out) {
  *out = e;
  if (seer_tile_at(tile, e)->op != SEER_EXPR_LOAD &&
      !seer_expr_is_word_load(&tile->loop->expr, e, out))
    return false;
  const seer_expr_node *load = seer_tile_at(tile, *out);
  return load->arg[0].i == 0;
}

// Bytes from iteration to iteration of the loop over `var`.
static bool stride_of(const seer_tile *tile, seer_expr load, uint32_t var, int64_t *out) {
  const seer_expr_node *node = seer_tile_at(tile, load);
  const seer_expr *index = &tile->loop->expr.index[node->index0];
  if (!seer_tile_lane_step(tile, node->ref, index, var, out)) return false;
  *out *= seer_dtype_bytes(tile->loop->buf[node->ref].dtype);
  return true;
}

static bool is_constant(const seer_tile *tile, seer_expr load, uint32_t var) {
  int64_t stride;
  return stride_of(tile, load, var, &stride) && stride == 0;
}

// The loops between the reduction and its store: copies, of which the longest is the rows, then
// lanes.
static bool find_loops(const seer_tile *tile, seer_tile_matrix *out) {
  uint32_t below = at(tile, out->inner != 0 ? out->inner : out->reduce)->body;
  out->first = below;
  for (; is_alone(tile, below); below = at(tile, below)->body) {
    const seer_loop_node *node = at(tile, below);
    if (node->kind != SEER_NODE_FOR || node->ann != SEER_LOOP_UNROLL) break;
    if (tile->of[below].mode != SEER_TILE_COPIES) return false;
    if (out->rows == 0 || node->extent >= at(tile, out->rows)->extent) out->rows = below;
  }
  if (!is_alone(tile, below) || at(tile, below)->kind != SEER_NODE_FOR) return false;
  if (tile->of[below].mode != SEER_TILE_LANES || tile->of[below].is_chunk_loop) return false;
  out->columns = below;
  out->store = at(tile, below)->body;
  return out->rows != 0 && is_alone(tile, out->store) &&
      at(tile, out->store)->kind == SEER_NODE_STORE;
}

static bool find_factors(const seer_tile *tile, seer_tile_matrix *out) {
  const seer_loop_node *store = at(tile, out->store);
  if (store->combiner != SEER_COMBINE_SUM || store->n_values != 1 || store->is_init) return false;
  const seer_expr_node *product = seer_tile_at(tile, store->value[0]);
  out->is_halves = product->op == SEER_EXPR_DOT2;
  bool is_there = out->is_halves ? tile->machine.multiplies_halves
                                 : product->op == SEER_EXPR_DOT4 && tile->machine.multiplies_bytes;
  uint32_t lane = at(tile, out->columns)->var;
  if (!is_there || !find_load(tile, product->arg[0], &out->x) ||
      !find_load(tile, product->arg[1], &out->y))
    return false;
  if (out->is_halves && !is_constant(tile, out->x, lane)) {  // it does not matter which is which
    seer_expr x = out->x;
    out->x = out->y;
    out->y = x;
  }
  return true;
}

// Bytes of x and y from step to step of the reduction.
static bool find_steps(const seer_tile *tile, seer_tile_matrix *out, int64_t *out_x) {
  uint32_t last = out->inner != 0 ? out->inner : out->reduce;
  uint32_t k = at(tile, last)->var, outer = at(tile, out->reduce)->var;
  int64_t n = at(tile, last)->extent, x, y;
  if (!stride_of(tile, out->x, k, out_x) || !stride_of(tile, out->y, k, &out->y_stride))
    return false;
  if (out->inner == 0) return true;
  return stride_of(tile, out->x, outer, &x) && stride_of(tile, out->y, outer, &y) &&
      x == n * *out_x && y == n * out->y_stride;
}

static bool is_product(const seer_tile *tile, seer_tile_matrix *out) {
  int64_t along;
  if (!find_loops(tile, out) || !find_factors(tile, out)) return false;
  const seer_loop_node *store = at(tile, out->store), *rows = at(tile, out->rows);
  uint32_t m = rows->var, n = at(tile, out->columns)->var;
  bool is_x = find_steps(tile, out, &along) && along == 4 && is_constant(tile, out->x, n) &&
      stride_of(tile, out->x, m, &out->x_stride) && out->x_stride != 0;
  bool is_y = out->y_stride != 0 && stride_of(tile, out->y, n, &along) && along == 4;
  for (uint32_t copies = out->first; copies != out->columns; copies = at(tile, copies)->body)
    is_y = is_y && is_constant(tile, out->y, at(tile, copies)->var);
  bool is_sum = seer_tile_lane_step(tile, store->buf[0], store->index, n, &along) && along == 1 &&
      seer_tile_lane_step(tile, store->buf[0], store->index, m, &out->sum_stride) &&
      out->sum_stride != 0;
  for (uint32_t k = out->reduce; k != out->first; k = at(tile, k)->body)
    is_sum =
        is_sum && !seer_tile_index_depends(tile, store->index, store->n_index, at(tile, k)->var);
  out->sum_stride *= 4;
  return is_x && is_y && is_sum;
}

static bool is_reduction(const seer_tile *tile, uint32_t id) {
  const seer_loop_node *node = at(tile, id);
  return node->kind == SEER_NODE_FOR && node->ann == SEER_LOOP_SERIAL && node->is_reduce;
}

bool seer_tile_matrix_of(const seer_tile *tile, uint32_t id, seer_tile_matrix *out) {
  uint32_t inner = at(tile, id)->body;
  *out = (seer_tile_matrix){.reduce = id};
  if (!is_alone(tile, inner) || !is_reduction(tile, inner)) return is_product(tile, out);
  out->inner = inner;
  return tile->of[inner].is_exact && is_product(tile, out);
}

static bool fits(const seer_tile *tile, const seer_tile_matrix *m) {
  seer_matrix_tile of = seer_matrix_begin(at(tile, m->columns)->extent);
  for (uint32_t id = m->first; id != m->columns; id = at(tile, id)->body)
    seer_matrix_add_rows(&of, at(tile, id)->extent);
  int64_t inner = m->inner != 0 ? at(tile, m->inner)->extent : 1;
  return seer_matrix_fits(&of, at(tile, m->reduce)->extent, inner);
}

static bool decide(seer_tile *tile, uint32_t id) {
  seer_tile_for *of = &tile->of[id];
  seer_tile_matrix matrix;
  if (!is_reduction(tile, id) || !seer_tile_matrix_of(tile, id, &matrix) || !fits(tile, &matrix))
    return false;
  of->is_matrix = true;
  of->mode = SEER_TILE_LOOP;  // where a bound cuts, or nothing is known
  of->step = 1;
  return true;
}

// Outer loops first: two that are one are better than the inner one alone.
static void look_at(seer_tile *tile, uint32_t id) {
  for (; id != 0; id = at(tile, id)->next)
    if (at(tile, id)->kind == SEER_NODE_FOR && !decide(tile, id)) look_at(tile, at(tile, id)->body);
}

static void run(seer_tile *tile) {
  if (!tile->machine.multiplies_bytes && !tile->machine.multiplies_halves) return;
  for (uint32_t p = 0; p < tile->loop->n_phase; p++) look_at(tile, tile->loop->phase[p]);
}

const seer_tile_pass seer_tile_pass_matrices = {"matrices",
    "loops whose bodies are products of matrices", SEER_TILE_GIVES_MODES, SEER_TILE_GIVES_MATRICES,
    run};
