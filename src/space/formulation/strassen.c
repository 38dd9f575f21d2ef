// strassen.c - a product of an activation with constant weights -> Strassen's: seven products of
// quarters for eight (Strassen: Gaussian elimination is not optimal, 1969), one level deep, or two:
// 49 products of sixteenths for 64. Each of the three axes is cut in SIDE = 2 or 4: rows by turns
// (SIDE i + a; in four also as two axes by twos), the summed axis in blocks, columns in blocks of
// LANES by turns, so that all pieces of a result lie in one register tile:
//   wu[p, k, j]      = sums of pieces of the weights: evaluated when compiling, packed
//   wv[.., i, p, k]  = sums of pieces of the activation
//   wm[.., i, p, j]  = sum k: wv * wu         7 or 49 products of matrices: 7/8, 49/64 of the work
//   out[.., r, n]    = sums of wm             takes the anchor's place: what follows it stays
// The rows come first, so that threads that share them have a block of memory each. A 1x1
// convolution is such a product too. The sums are written out, and chosen by selects on the index
// axes, as Winograd's are.
#include <string.h>

#include "dag/access.h"
#include "dag/edit.h"
#include "space/formulation.h"
#include "space/formulation/common.h"

#define MAX_SIDE 4
#define MAX_PIECES (MAX_SIDE * MAX_SIDE)
#define MAX_PRODUCTS 49
#define LANES 16  // columns that stay together: a multiple of every processor's f32 lanes
// Below these the sums cost what the products that are saved would. By level.
static const int64_t min_columns[] = {64, 256}, min_depth[] = {64, 256}, min_rows[] = {16, 64};
// Products left, rows that fill up the last turn counted; else it cannot win.
#define MAX_SHARE 0.95
// Relative to the largest output; the errors in the tests stay below a tenth of it.
#define TOLERANCE 1e-4

// ---- the sums, by quarter (row half, column half): 1, -1 or 0

typedef int8_t quarters[2][2];

static const quarters of_activation[7] = {
    {{1, 0}, {0, 1}},
    {{0, 0}, {1, 1}},
    {{1, 0}, {0, 0}},
    {{0, 0}, {0, 1}},
    {{1, 1}, {0, 0}},
    {{-1, 0}, {1, 0}},
    {{0, 1}, {0, -1}},
};
static const quarters of_weight[7] = {
    {{1, 0}, {0, 1}},
    {{1, 0}, {0, 0}},
    {{0, 1}, {0, -1}},
    {{-1, 0}, {1, 0}},
    {{0, 0}, {0, 1}},
    {{1, 1}, {0, 0}},
    {{0, 0}, {1, 1}},
};
// Which products a quarter of the result is the sum of.
static const quarters of_result[7] = {
    {{1, 0}, {0, 1}},
    {{0, 0}, {1, -1}},
    {{0, 1}, {0, 1}},
    {{1, 0}, {1, 0}},
    {{-1, 1}, {0, 0}},
    {{0, 0}, {0, 1}},
    {{1, 0}, {0, 0}},
};

// The sign of a piece (row, column) in a product: of two levels, that of its quarter in the outer
// product times that of its quarter's quarter in the inner one.
static int8_t sign_of(
    const quarters *of, uint32_t side, uint32_t product, uint32_t row, uint32_t column) {
  if (side == 2) return of[product][row][column];
  return (int8_t)(of[product / 7][row / 2][column / 2] * of[product % 7][row % 2][column % 2]);
}

// The sum of sign[k] * x[k]; at least one sign is 1.
static seer_expr sum(seer_expr_pool *pool, const int8_t *sign, const seer_expr *x, uint32_t n) {
  seer_expr total = {0};
  for (int wanted = 1; wanted >= -1; wanted -= 2) {
    for (uint32_t k = 0; k < n; k++) {
      if (sign[k] != wanted) continue;
      seer_expr_op op = wanted > 0 ? SEER_EXPR_ADD : SEER_EXPR_SUB;
      total = total.i ? seer_expr_binary(pool, op, total, x[k]) : x[k];
    }
  }
  return total;
}

// ---- is it such a product?

typedef struct {
  uint32_t stage;  // the anchor
  seer_expr x, w;  // its two loads
  uint32_t row, column, depth;  // its axes that are cut
  uint32_t side;  // in so many
  // The rows may be two axes, cut in two each: then row_side is 2, and inner_row the other one.
  uint32_t row_side, inner_row;
  uint32_t n_product;
} product;

static bool has_two_rows(const product *p) { return p->row_side < p->side; }

// The bits of the axes that have more than one value and move the load.
static uint32_t moving(const seer_dag *dag, const seer_access *access) {
  uint32_t bits = 0;
  for (uint32_t d = 0; d < access->rank; d++)
    bits |= seer_access_index(dag->access, access, d)->moving;
  return bits;
}

static bool is_sum_of_axes(const seer_dag *dag, const seer_access *access) {
  for (uint32_t d = 0; d < access->rank; d++) {
    if (!seer_access_is_sum(seer_access_index(dag->access, access, d))) return false;
  }
  return !access->is_guarded;
}

// The rows: an axis that is cut without rest where there is one, the innermost; else two that are
// (14 x 14 in quarters), else the longest.
static bool choose_rows(const seer_dag_stage *s, uint32_t candidates, product *p) {
  uint32_t n = 0, n_even = 0, even[SEER_DAG_MAX_AXES];
  bool is_whole = false;
  p->row_side = p->side;
  for (uint32_t a = 0; a < s->n_space; a++) {
    if (!(candidates >> a & 1)) continue;
    if (s->axis[a].extent % 2 == 0) even[n_even++] = a;
    bool is_longer = n > 0 && s->axis[a].extent > s->axis[p->row].extent;
    if (s->axis[a].extent % p->side == 0 || n == 0 || (!is_whole && is_longer)) p->row = a;
    is_whole |= s->axis[a].extent % p->side == 0;
    n++;
  }
  if (!is_whole && p->side == 4 && n_even >= 2) {
    p->row_side = 2;
    p->row = even[n_even - 2];
    p->inner_row = even[n_even - 1];
  }
  return n > 0;
}

static bool match(const seer_dag *dag, product *p) {
  p->stage = seer_dag_anchor(dag);
  const seer_dag_stage *s = &dag->stage[p->stage];
  if (s->n_space < 2 || !seer_formulation_match_product(dag, p->stage, &p->x, &p->w)) return false;
  uint32_t n_axis = (uint32_t)s->n_space + s->n_reduce, n_deep = 0;
  p->column = s->n_space - 1u;
  for (uint32_t a = s->n_space; a < n_axis; a++) {
    if (s->axis[a].extent == 1) continue;
    p->depth = a;
    n_deep++;
  }
  if (n_deep != 1) return false;
  const seer_access *x = seer_access_find(dag, p->stage, p->x),
                    *w = seer_access_find(dag, p->stage, p->w);
  if (!is_sum_of_axes(dag, x) || !is_sum_of_axes(dag, w)) return false;
  uint32_t by_x = moving(dag, x), column = 1u << p->column, depth = 1u << p->depth;
  if (moving(dag, w) != (column | depth) || (by_x & column) || !(by_x & depth)) return false;
  if (!choose_rows(s, by_x & ~depth, p)) return false;
  int64_t n = s->axis[p->column].extent, k = s->axis[p->depth].extent, rows = 1, side = p->side;
  for (uint32_t a = 0; a < p->column; a++) rows *= s->axis[a].extent;
  int64_t row = s->axis[p->row].extent, turns = seer_ceil_div(row, p->row_side);
  double share = (double)(p->n_product * turns * p->row_side) / (double)(side * side * side * row);
  uint32_t level = p->side / 4;
  return n >= min_columns[level] && n % (side * LANES) == 0 && k >= min_depth[level] &&
      k % side == 0 && rows >= min_rows[level] && share <= MAX_SHARE;
}

// ---- the stages: each goes before the anchor, which moves up

// `load` of the anchor with `at[axis]` in place of its axes.
static seer_expr load_at(
    seer_dag *dag, const seer_dag_stage *anchor, seer_expr load, const seer_expr *at) {
  seer_expr *map = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var + 1);
  for (uint32_t a = 0; a < (uint32_t)anchor->n_space + anchor->n_reduce; a++)
    map[anchor->var0 + a] = at[a];
  return seer_expr_copy(&dag->expr, &dag->expr, load, map, dag->n_var, NULL, NULL);
}

// constant + scale * index
static seer_expr affine(seer_expr_pool *pool, int64_t constant, int64_t scale, seer_expr index) {
  seer_expr scaled =
      scale == 1 ? index : seer_expr_binary(pool, SEER_EXPR_MUL, index, seer_expr_i(pool, scale));
  return constant == 0 ? scaled
                       : seer_expr_binary(pool, SEER_EXPR_ADD, scaled, seer_expr_i(pool, constant));
}

// Sets the body of `stage`, whose axis `counter` counts products: the sums of `piece`,
// [row][column].
static uint32_t set_sums(seer_dag *dag, uint32_t stage, uint32_t counter, const product *p,
    const quarters *of, const seer_expr *piece) {
  seer_expr choice[MAX_PRODUCTS];
  int8_t sign[MAX_PIECES];
  uint32_t side = p->side;
  for (uint32_t k = 0; k < p->n_product; k++) {
    for (uint32_t i = 0; i < side * side; i++) sign[i] = sign_of(of, side, k, i / side, i % side);
    choice[k] = sum(&dag->expr, sign, piece, side * side);
  }
  seer_expr body =
      seer_formulation_choose(&dag->expr, seer_dag_var(dag, stage, counter), choice, p->n_product);
  return seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
}

static seer_dag_axis products_of(const product *p) {
  return (seer_dag_axis){"p", p->n_product, SEER_AXIS_OTHER};
}

static uint32_t add_weights(seer_dag *dag, product *p) {
  const seer_dag_stage *s = &dag->stage[p->stage];
  seer_dag_axis axes[3] = {products_of(p), s->axis[p->depth], s->axis[p->column]};
  int64_t block_depth = axes[1].extent /= p->side;
  axes[2].extent /= p->side;
  uint32_t stage =
      seer_dag_insert_stage(dag, p->stage++, "wu", SEER_STAGE_TRANSFORM_IN, axes, 3, 0);
  const seer_dag_stage anchor = dag->stage[p->stage];
  seer_expr_pool *pool = &dag->expr;
  seer_expr at[SEER_DAG_MAX_AXES], piece[MAX_PIECES], j = seer_dag_var(dag, stage, 2);
  for (uint32_t a = 0; a < (uint32_t)anchor.n_space + anchor.n_reduce; a++)
    at[a] = seer_expr_i(pool, 0);
  seer_expr block = seer_expr_binary(pool, SEER_EXPR_DIV, j, seer_expr_i(pool, LANES)),
            lane = seer_expr_binary(pool, SEER_EXPR_MOD, j, seer_expr_i(pool, LANES));
  for (uint32_t a = 0; a < p->side; a++) {
    for (uint32_t b = 0; b < p->side; b++) {
      at[p->depth] = affine(pool, a * block_depth, 1, seer_dag_var(dag, stage, 1));
      at[p->column] = seer_expr_binary(
          pool, SEER_EXPR_ADD, affine(pool, b * LANES, (int64_t)p->side * LANES, block), lane);
      piece[a * p->side + b] = load_at(dag, &anchor, p->w, at);
    }
  }
  return set_sums(dag, stage, 0, p, of_weight, piece);
}

static uint32_t add_input(seer_dag *dag, product *p) {
  const seer_dag_stage *s = &dag->stage[p->stage];
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  for (uint32_t a = 0; a < p->column; a++) axes[a] = s->axis[a];
  int64_t rows = s->axis[p->row].extent, side = p->side,
          block_depth = s->axis[p->depth].extent / side;
  axes[p->row].extent = seer_ceil_div(rows, p->row_side);
  if (has_two_rows(p)) axes[p->inner_row].extent /= side / p->row_side;
  axes[p->column] = products_of(p);
  axes[p->column + 1] = s->axis[p->depth];
  axes[p->column + 1].extent = block_depth;
  uint32_t stage =
      seer_dag_insert_stage(dag, p->stage++, "wv", SEER_STAGE_TRANSFORM_IN, axes, p->column + 2, 0);
  const seer_dag_stage anchor = dag->stage[p->stage];
  seer_expr_pool *pool = &dag->expr;
  seer_expr at[SEER_DAG_MAX_AXES], piece[MAX_PIECES], zero = seer_expr_f(pool, SEER_DTYPE_F32, 0);
  for (uint32_t a = 0; a < (uint32_t)anchor.n_space + anchor.n_reduce; a++)
    at[a] = a < p->column ? seer_dag_var(dag, stage, a) : seer_expr_i(pool, 0);
  for (uint32_t a = 0; a < p->side; a++) {
    for (uint32_t b = 0; b < p->side; b++) {
      uint32_t inner_side = p->side / p->row_side, turn = a / inner_side;
      at[p->row] = affine(pool, turn, p->row_side, seer_dag_var(dag, stage, p->row));
      if (has_two_rows(p))
        at[p->inner_row] =
            affine(pool, a % inner_side, inner_side, seer_dag_var(dag, stage, p->inner_row));
      at[p->depth] = affine(pool, b * block_depth, 1, seer_dag_var(dag, stage, p->column + 1));
      seer_expr *value = &piece[a * p->side + b];
      *value = load_at(dag, &anchor, p->x, at);
      if (rows % p->row_side == 0 || turn < rows % p->row_side) continue;
      const seer_expr_node load = *seer_expr_at(pool, *value);
      seer_expr index[SEER_MAX_RANK];
      memcpy(index, &pool->index[load.index0], load.n_index * sizeof index[0]);
      seer_expr is_row = seer_expr_binary(pool, SEER_EXPR_LT, at[p->row], seer_expr_i(pool, rows));
      *value = seer_dag_load_guarded(dag, load.ref, index, is_row, zero);
    }
  }
  return set_sums(dag, stage, p->column, p, of_activation, piece);
}

static uint32_t add_product(seer_dag *dag, product *p, uint32_t wu, uint32_t wv) {
  const seer_dag_stage *s = &dag->stage[p->stage];
  const seer_dag_buf *v = &dag->buf[wv];
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  for (uint32_t a = 0; a < p->column; a++) axes[a] = s->axis[a];
  axes[p->row].extent = v->dim[p->row];
  if (has_two_rows(p)) axes[p->inner_row].extent = v->dim[p->inner_row];
  axes[p->column] = products_of(p);
  axes[p->column + 1] = s->axis[p->column];
  axes[p->column + 1].extent /= p->side;
  axes[p->column + 2] = s->axis[p->depth];
  axes[p->column + 2].extent /= p->side;
  uint32_t stage =
      seer_dag_insert_stage(dag, p->stage++, "wm", SEER_STAGE_ANCHOR, axes, p->column + 2, 1);
  seer_expr at_v[SEER_DAG_MAX_AXES], at_u[3];
  for (uint32_t a = 0; a <= p->column; a++) at_v[a] = seer_dag_var(dag, stage, a);
  at_v[p->column + 1] = at_u[1] = seer_dag_var(dag, stage, p->column + 2);
  at_u[0] = at_v[p->column];
  at_u[2] = seer_dag_var(dag, stage, p->column + 1);
  seer_expr body = seer_expr_binary(
      &dag->expr, SEER_EXPR_MUL, seer_dag_load(dag, wv, at_v), seer_dag_load(dag, wu, at_u));
  return seer_dag_set_body(dag, stage, SEER_COMBINE_SUM, &body, 1);
}

// Turns an index into that of its turn of `side`; returns its place in the turn.
static seer_expr cut(seer_expr_pool *pool, seer_expr *index, int64_t side) {
  seer_expr turn = seer_expr_i(pool, side),
            place = seer_expr_binary(pool, SEER_EXPR_MOD, *index, turn);
  *index = seer_expr_binary(pool, SEER_EXPR_DIV, *index, turn);
  return place;
}

// The anchor becomes the sums of products: same spatial axes, same buffer.
static void turn_anchor(seer_dag *dag, const product *p, uint32_t wm) {
  seer_expr_pool *pool = &dag->expr;
  seer_dag_stage *s = &dag->stage[p->stage];
  seer_dag_reopen_stage(dag, p->stage, SEER_STAGE_TRANSFORM_OUT, s->axis, s->n_space, 0);
  uint32_t side = p->side;
  seer_expr at[SEER_DAG_MAX_AXES], x[MAX_PRODUCTS], by_column[MAX_SIDE], by_row[MAX_SIDE];
  seer_expr column = seer_dag_var(dag, p->stage, p->column), lanes = seer_expr_i(pool, LANES);
  for (uint32_t a = 0; a < p->column; a++) at[a] = seer_dag_var(dag, p->stage, a);
  seer_expr row_piece = cut(pool, &at[p->row], p->row_side), inner_piece = {0};
  if (has_two_rows(p)) inner_piece = cut(pool, &at[p->inner_row], side / p->row_side);
  seer_expr block =
      seer_expr_binary(pool, SEER_EXPR_DIV, column, seer_expr_i(pool, (int64_t)side * LANES));
  at[p->column + 1] = seer_expr_binary(pool, SEER_EXPR_ADD, affine(pool, 0, LANES, block),
      seer_expr_binary(pool, SEER_EXPR_MOD, column, lanes));
  for (uint32_t k = 0; k < p->n_product; k++) {
    at[p->column] = seer_expr_i(pool, k);
    x[k] = seer_dag_load(dag, wm, at);
  }
  seer_expr column_piece = seer_expr_binary(pool, SEER_EXPR_MOD,
      seer_expr_binary(pool, SEER_EXPR_DIV, column, lanes), seer_expr_i(pool, side));
  for (uint32_t a = 0; a < side; a++) {
    for (uint32_t b = 0; b < side; b++) {
      int8_t sign[MAX_PRODUCTS];
      for (uint32_t k = 0; k < p->n_product; k++) sign[k] = sign_of(of_result, side, k, a, b);
      by_column[b] = sum(pool, sign, x, p->n_product);
    }
    by_row[a] = seer_formulation_choose(pool, column_piece, by_column, side);
  }
  uint32_t inner_side = side / p->row_side;
  for (uint32_t a = 0; has_two_rows(p) && a < p->row_side; a++)
    by_row[a] = seer_formulation_choose(pool, inner_piece, &by_row[a * inner_side], inner_side);
  seer_expr body = seer_formulation_choose(pool, row_piece, by_row, p->row_side);
  seer_dag_set_body(dag, p->stage, SEER_COMBINE_NONE, &body, 1);
  dag->stage[p->stage].tolerance = TOLERANCE;
}

static const seer_dag *make(
    const seer_dag *dag, uint32_t side, seer_arena *arena, double *out_tolerance) {
  product p = {.side = side, .n_product = side == 2 ? 7 : MAX_PRODUCTS};
  if (!match(dag, &p) || dag->n_stage + 3 > SEER_DAG_MAX_STAGES ||
      dag->n_buf + 3 > SEER_DAG_MAX_BUFFERS)
    return NULL;
  seer_dag *made = seer_dag_clone(dag, arena);
  uint32_t wv = add_input(made, &p);
  uint32_t wu = add_weights(made, &p);
  uint32_t wm = add_product(made, &p, wu, wv);
  turn_anchor(made, &p, wm);
  seer_dag_finish(made);
  seer_status status = seer_dag_verify(made);
  SEER_ASSERT(!status, "%s", seer_status_message(status));
  *out_tolerance = TOLERANCE;
  return made;
}

static const seer_dag *make_one_level(
    const seer_dag *dag, const seer_target *target, seer_arena *arena, double *out_tolerance) {
  (void)target;
  return make(dag, 2, arena, out_tolerance);
}

static const seer_dag *make_two_levels(
    const seer_dag *dag, const seer_target *target, seer_arena *arena, double *out_tolerance) {
  (void)target;
  return make(dag, 4, arena, out_tolerance);
}

extern const seer_formulation seer_formulation_strassen, seer_formulation_strassen2;
// An eighth or a quarter fewer products is less than the estimate is out by (doc/decisions, 57).
const seer_formulation seer_formulation_strassen = {.name = "strassen",
    .doc = "products with constant weights by seven products of quarters for eight",
    .make = make_one_level,
    .needs_trials = true};
const seer_formulation seer_formulation_strassen2 = {.name = "strassen2",
    .doc = "products with constant weights by 49 products of sixteenths for 64",
    .make = make_two_levels,
    .needs_trials = true};
