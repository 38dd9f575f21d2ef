// winograd.c - a convolution with a 3x3 window -> Winograd's minimal filtering (Lavin, Gray: Fast
// Algorithms for Convolutional Neural Networks): stride 1 by F(2x2,3x3) and F(4x4,3x3); stride 2 by
// F(2,2) on the even elements of a row, of which two meet the window, and single products of the
// odd ones. Per tile of m x m outputs, from a window of a x a inputs:
//   wu[p, ic, oc]         = G g G^T           of weights only: evaluated when compiling, packed
//   wv[p, n, ty, tx, ic]  = B^T d B           of an a x a window of the input; windows overlap
//   wm[p, n, ty, tx, oc]  = sum ic: wv * wu   a^2 products of matrices: a^2 / (9 m^2) of the work
//   out[n, y, x, oc]      = A^T wm A          takes the anchor's place: what follows it stays
// p = i * a + j numbers the elements of a transformed tile. The matrices are written out as sums,
// chosen by selects on the index axes: these loops are unrolled, the selects fold, and
// straight-line vector code over channels remains in which equal parts of neighbouring elements are
// computed once. Tiles that hang over the right and lower edge read zeros.
#include <string.h>

#include "dag/access.h"
#include "dag/edit.h"
#include "space/formulation.h"
#include "space/formulation/common.h"

#define MAX_TILE 6  // a of F(4x4,3x3)
// With fewer channels the transforms are expected to cost more than the products that they save: no
// trials are spent on it. (Not measured: a guess on the safe side.)
#define MIN_CHANNELS 8

// One-dimensional transforms: row `row` of the matrix times x[0 .. a).
typedef seer_expr (*row_maker)(seer_expr_pool *pool, uint32_t row, const seer_expr *x);

typedef struct {
  uint32_t m, a;
  int32_t stride;
  row_maker input, weight, output;
  double tolerance;
} scheme;

// ---- sums of f32

static seer_expr add(seer_expr_pool *pool, seer_expr a, seer_expr b) {
  return seer_expr_binary(pool, SEER_EXPR_ADD, a, b);
}

static seer_expr sub(seer_expr_pool *pool, seer_expr a, seer_expr b) {
  return seer_expr_binary(pool, SEER_EXPR_SUB, a, b);
}

static seer_expr scale(seer_expr_pool *pool, double by, seer_expr a) {
  return seer_expr_binary(pool, SEER_EXPR_MUL, a, seer_expr_f(pool, SEER_DTYPE_F32, by));
}

// F(2,3): points 0, 1, -1, infinity
static seer_expr input2(seer_expr_pool *pool, uint32_t row, const seer_expr *x) {
  if (row == 0) return sub(pool, x[0], x[2]);
  if (row == 1) return add(pool, x[1], x[2]);
  if (row == 2) return sub(pool, x[2], x[1]);
  return sub(pool, x[1], x[3]);
}

static seer_expr weight2(seer_expr_pool *pool, uint32_t row, const seer_expr *x) {
  if (row == 0) return x[0];
  if (row == 3) return x[2];
  seer_expr ends = add(pool, x[0], x[2]);
  return scale(pool, 0.5, row == 1 ? add(pool, ends, x[1]) : sub(pool, ends, x[1]));
}

static seer_expr output2(seer_expr_pool *pool, uint32_t row, const seer_expr *x) {
  if (row == 0) return add(pool, x[0], add(pool, x[1], x[2]));
  return sub(pool, sub(pool, x[1], x[2]), x[3]);
}

// F(4,3): points 0, 1, -1, 2, -2, infinity. The rows for 0 and infinity, 4 -5 1, are written with
// the differences that the rows for 2 and -2 need too: no factor is left that is no power of two,
// so that every multiply-add of the transform is exact in its product.
static seer_expr input4(seer_expr_pool *pool, uint32_t row, const seer_expr *x) {
  seer_expr even = sub(pool, x[4], x[2]), odd = sub(pool, x[3], x[1]);
  switch (row) {
    case 0:
      return add(pool, scale(pool, 4, sub(pool, x[0], x[2])), even);
    case 1:
    case 2:
      even = sub(pool, x[4], scale(pool, 4, x[2]));
      odd = sub(pool, x[3], scale(pool, 4, x[1]));
      return row == 1 ? add(pool, even, odd) : sub(pool, even, odd);
    case 3:
    case 4:
      odd = scale(pool, 2, odd);
      return row == 3 ? add(pool, even, odd) : sub(pool, even, odd);
    default:
      return sub(pool, sub(pool, x[5], x[3]), scale(pool, 4, odd));
  }
}

static seer_expr weight4(seer_expr_pool *pool, uint32_t row, const seer_expr *x) {
  if (row == 0) return scale(pool, 0.25, x[0]);
  if (row == 5) return x[2];
  seer_expr even, odd = x[1];
  bool is_far = row >= 3;  // points 2 and -2
  even = is_far ? add(pool, scale(pool, 1.0 / 24, x[0]), scale(pool, 1.0 / 6, x[2]))
                : add(pool, x[0], x[2]);
  if (is_far) odd = scale(pool, 1.0 / 12, x[1]);
  seer_expr sum = row == 1 || row == 3 ? add(pool, even, odd) : sub(pool, even, odd);
  return is_far ? sum : scale(pool, -1.0 / 6, sum);
}

static seer_expr output4(seer_expr_pool *pool, uint32_t row, const seer_expr *x) {
  seer_expr one = row & 1 ? sub(pool, x[1], x[2]) : add(pool, x[1], x[2]);
  seer_expr two = row & 1 ? sub(pool, x[3], x[4]) : add(pool, x[3], x[4]);
  seer_expr sum = add(pool, one, row == 0 ? two : scale(pool, (double)(1u << row), two));
  if (row == 0) return add(pool, x[0], sum);
  return row == 3 ? add(pool, sum, x[5]) : sum;
}

// F(2,2) of the elements 0, 2, 4 of a row, then its elements 1, 3: points 0, 1, infinity
static seer_expr input2s(seer_expr_pool *pool, uint32_t row, const seer_expr *x) {
  if (row == 0) return sub(pool, x[0], x[2]);
  if (row == 1) return x[2];
  return row == 2 ? sub(pool, x[4], x[2]) : x[2 * (row - 3) + 1];
}

static seer_expr weight2s(seer_expr_pool *pool, uint32_t row, const seer_expr *x) {
  if (row == 1) return add(pool, x[0], x[2]);
  return row == 0 ? x[0] : row == 2 ? x[2] : x[1];
}

static seer_expr output2s(seer_expr_pool *pool, uint32_t row, const seer_expr *x) {
  return add(pool, add(pool, x[row], x[row + 1]), x[3 + row]);
}

// ---- selects on indices

// Element (i, j) of T x T^t, where T has `n_row` rows and x is n_in by n_in.
static seer_expr transform(seer_expr_pool *pool, row_maker make_row, uint32_t n_row, uint32_t n_in,
    const seer_expr x[MAX_TILE][MAX_TILE], seer_expr i, seer_expr j) {
  seer_expr column[MAX_TILE], row[MAX_TILE], choice[MAX_TILE];
  for (uint32_t b = 0; b < n_in; b++) {
    for (uint32_t a = 0; a < n_in; a++) column[a] = x[a][b];
    for (uint32_t k = 0; k < n_row; k++) choice[k] = make_row(pool, k, column);
    row[b] = seer_formulation_choose(pool, i, choice, n_row);
  }
  for (uint32_t k = 0; k < n_row; k++) choice[k] = make_row(pool, k, row);
  return seer_formulation_choose(pool, j, choice, n_row);
}

// ---- is it such a convolution?

typedef struct {
  uint32_t stage;  // the anchor
  seer_expr x, w;  // its two loads
  uint32_t ic, ky, kx;  // reduction axes
  int64_t at_y, at_x;  // constants of the input's indices
  uint8_t w_dim[4];  // dimension of the weights that oc, ic, ky, kx index
} convolution;

static bool is_axis(const seer_access_dim *dim, uint32_t axis) {
  return seer_access_is_sum(dim) && dim->constant == 0 && seer_access_axis(dim) == (int)axis;
}

// constant + stride * axis a + axis b
static bool is_sum_of(
    const seer_access_dim *dim, uint32_t a, uint32_t b, int32_t stride, int64_t *out_constant) {
  *out_constant = dim->constant;
  bool has_both = dim->axes == (1u << a | 1u << b) && dim->coef[a] == stride && dim->coef[b] == 1;
  return has_both && seer_access_is_sum(dim);
}

static bool match_weight(const seer_dag *dag, convolution *c) {
  const seer_access *w = seer_access_find(dag, c->stage, c->w);
  if (w->rank != 4 || w->is_guarded) return false;
  uint32_t axis[4] = {3, c->ic, c->ky, c->kx};
  for (uint32_t k = 0; k < 4; k++) {
    uint32_t d = 0;
    while (d < 4 && !is_axis(seer_access_index(dag->access, w, d), axis[k])) d++;
    if (d == 4) return false;
    c->w_dim[k] = (uint8_t)d;
  }
  return true;
}

static bool match_input(const seer_dag *dag, int32_t stride, convolution *c) {
  const seer_access *x = seer_access_find(dag, c->stage, c->x);  // NULL: no load
  if (!x || x->rank != 4 || x->is_guarded) return false;
  if (dag->buf[x->buf].kind == SEER_BUF_WEIGHT) return false;
  const seer_access_dim *index = seer_access_index(dag->access, x, 0);
  return is_axis(&index[0], 0) && is_sum_of(&index[1], 1, c->ky, stride, &c->at_y) &&
      is_sum_of(&index[2], 2, c->kx, stride, &c->at_x) && is_axis(&index[3], c->ic);
}

static bool match(const seer_dag *dag, int32_t stride, convolution *c) {
  c->stage = seer_dag_anchor(dag);
  const seer_dag_stage *s = &dag->stage[c->stage];
  static const seer_axis_role roles[4] = {
      SEER_AXIS_BATCH, SEER_AXIS_Y, SEER_AXIS_X, SEER_AXIS_OUT_CHANNEL};
  bool fits = s->n_space == 4 && s->n_reduce == 3 &&
      seer_formulation_match_product(dag, c->stage, &c->x, &c->w);
  for (uint32_t a = 0; fits && a < 4; a++) fits = s->axis[a].role == roles[a];
  if (!fits) return false;
  c->ic = c->ky = c->kx = 0;
  for (uint32_t a = 4; a < 7; a++) {
    if (s->axis[a].role == SEER_AXIS_IN_CHANNEL) c->ic = a;
    if (s->axis[a].role == SEER_AXIS_KY) c->ky = a;
    if (s->axis[a].role == SEER_AXIS_KX) c->kx = a;
  }
  if (!c->ic || !c->ky || !c->kx || s->axis[c->ky].extent != 3 || s->axis[c->kx].extent != 3)
    return false;
  if (s->axis[c->ic].extent < MIN_CHANNELS || s->axis[3].extent < MIN_CHANNELS) return false;
  return match_weight(dag, c) && match_input(dag, stride, c);
}

// ---- the input

// A load of the padding stage, through to what it reads; 0 if that is not a guarded load, or others
// read it too.
static bool sees_through(const seer_dag *dag, const convolution *c) {
  const seer_dag_buf *buf = &dag->buf[seer_expr_at(&dag->expr, c->x)->ref];
  if (buf->kind != SEER_BUF_STAGE || buf->is_output) return false;
  const seer_dag_stage *pad = &dag->stage[buf->stage];
  uint32_t readers[SEER_DAG_MAX_STAGES];
  if (pad->role != SEER_STAGE_PAD || pad->n_values != 1 || pad->n_reduce != 0) return false;
  if (seer_dag_readers(dag, buf->stage, readers) != 1) return false;
  const seer_expr_node *body = seer_expr_at(&dag->expr, pad->body[0]);
  if (body->op != SEER_EXPR_LOAD || body->arg[0].i == 0) return false;
  const seer_expr_node *fill = seer_expr_at(&dag->expr, body->arg[1]);
  return fill->op == SEER_EXPR_CONST_F && fill->value.f == 0;
}

static bool is_inside(const seer_dag *dag, uint32_t stage, uint32_t buf, const seer_expr *index,
    seer_expr predicate) {
  const seer_dag_stage *s = &dag->stage[stage];
  int64_t *low = SEER_NEW_ARRAY(dag->arena, int64_t, dag->n_var + 1);
  int64_t *high = SEER_NEW_ARRAY(dag->arena, int64_t, dag->n_var + 1);
  for (uint32_t k = 0; k < (uint32_t)s->n_space + s->n_reduce; k++)
    high[s->var0 + k] = s->axis[k].extent - 1;
  for (uint32_t d = 0; d < dag->buf[buf].rank; d++) {
    int64_t from, to;
    if (!seer_expr_range_given(&dag->expr, index[d], low, high, predicate, &from, &to))
      return false;
    if (from <= to && (from < 0 || to >= dag->buf[buf].dim[d])) return false;
  }
  return true;
}

// index[d] < dim[d] for the two spatial dimensions.
static seer_expr not_hanging_over(
    seer_dag *dag, uint32_t buf, const seer_expr *index, seer_expr predicate) {
  seer_expr_pool *pool = &dag->expr;
  for (uint32_t d = 1; d <= 2; d++) {
    seer_expr is_in =
        seer_expr_binary(pool, SEER_EXPR_LT, index[d], seer_expr_i(pool, dag->buf[buf].dim[d]));
    predicate = predicate.i ? seer_expr_binary(pool, SEER_EXPR_AND, predicate, is_in) : is_in;
  }
  return predicate;
}

// The input at `index` of the buffer that the convolution reads; 0 beyond its end. `pad`: the stage
// that padded it, which is seen through; or NULL.
static seer_expr read_input(seer_dag *dag, const convolution *c, uint32_t stage,
    const seer_expr *index, const seer_dag_stage *pad) {
  uint32_t buf = seer_expr_at(&dag->expr, c->x)->ref;
  seer_expr zero = seer_expr_f(&dag->expr, SEER_DTYPE_F32, 0), none = {0};
  if (!pad) {
    if (is_inside(dag, stage, buf, index, none)) return seer_dag_load(dag, buf, index);
    return seer_dag_load_guarded(dag, buf, index, not_hanging_over(dag, buf, index, none), zero);
  }
  seer_expr *map = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var + 1);
  for (uint32_t k = 0; k < pad->n_space; k++) map[pad->var0 + k] = index[k];
  seer_expr copy =
      seer_expr_copy(&dag->expr, &dag->expr, pad->body[0], map, dag->n_var, NULL, NULL);
  const seer_expr_node made = *seer_expr_at(&dag->expr, copy);
  SEER_ASSERT(made.op == SEER_EXPR_LOAD, "padding became operator %u", made.op);
  seer_expr at[SEER_MAX_RANK];
  memcpy(at, &dag->expr.index[made.index0], made.n_index * sizeof at[0]);
  if (is_inside(dag, stage, made.ref, at, made.arg[0])) return copy;
  return seer_dag_load_guarded(
      dag, made.ref, at, not_hanging_over(dag, buf, index, made.arg[0]), zero);
}

// ---- the stages: each goes before the anchor, which moves up

static uint32_t add_weights(seer_dag *dag, convolution *c, const scheme *f) {
  const seer_dag_stage *s = &dag->stage[c->stage];
  uint32_t a = f->a;
  seer_dag_axis axes[3] = {{"p", a * a, SEER_AXIS_OTHER}, s->axis[c->ic], s->axis[3]};
  uint32_t stage =
      seer_dag_insert_stage(dag, c->stage++, "wu", SEER_STAGE_TRANSFORM_IN, axes, 3, 0);
  seer_expr_pool *pool = &dag->expr;
  seer_expr p = seer_dag_var(dag, stage, 0), x[MAX_TILE][MAX_TILE], at[4];
  uint32_t buf = seer_expr_at(pool, c->w)->ref;
  at[c->w_dim[0]] = seer_dag_var(dag, stage, 2);
  at[c->w_dim[1]] = seer_dag_var(dag, stage, 1);
  for (uint32_t ky = 0; ky < 3; ky++) {
    for (uint32_t kx = 0; kx < 3; kx++) {
      at[c->w_dim[2]] = seer_expr_i(pool, ky);
      at[c->w_dim[3]] = seer_expr_i(pool, kx);
      x[ky][kx] = seer_dag_load(dag, buf, at);
    }
  }
  seer_expr i = seer_expr_binary(pool, SEER_EXPR_DIV, p, seer_expr_i(pool, a));
  seer_expr j = seer_expr_binary(pool, SEER_EXPR_MOD, p, seer_expr_i(pool, a));
  seer_expr body = transform(pool, f->weight, a, 3, x, i, j);
  return seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
}

// Takes the place and the buffer of the padding that it sees through: nothing else reads it.
static uint32_t add_input(seer_dag *dag, convolution *c, const scheme *f) {
  bool through = sees_through(dag, c);
  seer_dag_stage pad;
  const seer_dag_stage *s = &dag->stage[c->stage];
  uint32_t a = f->a;
  seer_dag_axis axes[5] = {
      {"p", a * a, SEER_AXIS_OTHER}, s->axis[0], s->axis[1], s->axis[2], s->axis[c->ic]};
  axes[2].extent = seer_ceil_div(axes[2].extent, f->m);
  axes[3].extent = seer_ceil_div(axes[3].extent, f->m);
  uint32_t stage;
  if (through) {
    stage = dag->buf[seer_expr_at(&dag->expr, c->x)->ref].stage;
    pad = dag->stage[stage];
    seer_dag_rename_stage(dag, stage, "wv");
    seer_dag_reopen_stage(dag, stage, SEER_STAGE_TRANSFORM_IN, axes, 5, 0);
  } else {
    stage = seer_dag_insert_stage(dag, c->stage++, "wv", SEER_STAGE_TRANSFORM_IN, axes, 5, 0);
  }
  seer_expr_pool *pool = &dag->expr;
  seer_expr p = seer_dag_var(dag, stage, 0), step = seer_expr_i(pool, (int64_t)f->m * f->stride),
            x[MAX_TILE][MAX_TILE];
  seer_expr y0 = seer_expr_binary(pool, SEER_EXPR_MUL, seer_dag_var(dag, stage, 2), step);
  seer_expr x0 = seer_expr_binary(pool, SEER_EXPR_MUL, seer_dag_var(dag, stage, 3), step);
  for (uint32_t dy = 0; dy < a; dy++) {
    for (uint32_t dx = 0; dx < a; dx++) {
      seer_expr at[4] = {seer_dag_var(dag, stage, 1),
          seer_expr_binary(pool, SEER_EXPR_ADD, y0, seer_expr_i(pool, c->at_y + dy)),
          seer_expr_binary(pool, SEER_EXPR_ADD, x0, seer_expr_i(pool, c->at_x + dx)),
          seer_dag_var(dag, stage, 4)};
      x[dy][dx] = read_input(dag, c, stage, at, through ? &pad : NULL);
    }
  }
  seer_expr i = seer_expr_binary(pool, SEER_EXPR_DIV, p, seer_expr_i(pool, a));
  seer_expr j = seer_expr_binary(pool, SEER_EXPR_MOD, p, seer_expr_i(pool, a));
  seer_expr body = transform(pool, f->input, a, a, x, i, j);
  return seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
}

static uint32_t add_product(
    seer_dag *dag, convolution *c, const scheme *f, uint32_t wu, uint32_t wv) {
  const seer_dag_stage *s = &dag->stage[c->stage];
  const seer_dag_buf *v = &dag->buf[wv];
  seer_dag_axis axes[6] = {{"p", f->a * f->a, SEER_AXIS_OTHER}, s->axis[0], s->axis[1], s->axis[2],
      s->axis[3], s->axis[c->ic]};
  axes[2].extent = v->dim[2];
  axes[3].extent = v->dim[3];
  uint32_t stage = seer_dag_insert_stage(dag, c->stage++, "wm", SEER_STAGE_ANCHOR, axes, 5, 1);
  seer_expr var[6];
  for (uint32_t k = 0; k < 6; k++) var[k] = seer_dag_var(dag, stage, k);
  seer_expr at_v[5] = {var[0], var[1], var[2], var[3], var[5]}, at_u[3] = {var[0], var[5], var[4]};
  seer_expr body = seer_expr_binary(
      &dag->expr, SEER_EXPR_MUL, seer_dag_load(dag, wv, at_v), seer_dag_load(dag, wu, at_u));
  return seer_dag_set_body(dag, stage, SEER_COMBINE_SUM, &body, 1);
}

// The anchor becomes the output transform: same spatial axes, same buffer.
static void turn_anchor(seer_dag *dag, uint32_t stage, const scheme *f, uint32_t wm) {
  seer_expr_pool *pool = &dag->expr;
  seer_dag_reopen_stage(dag, stage, SEER_STAGE_TRANSFORM_OUT, dag->stage[stage].axis, 4, 0);
  uint32_t a = f->a;
  seer_expr m = seer_expr_i(pool, f->m), y = seer_dag_var(dag, stage, 1),
            x_ = seer_dag_var(dag, stage, 2);
  seer_expr x[MAX_TILE][MAX_TILE];
  for (uint32_t i = 0; i < a; i++) {
    for (uint32_t j = 0; j < a; j++) {
      seer_expr at[5] = {seer_expr_i(pool, i * a + j), seer_dag_var(dag, stage, 0),
          seer_expr_binary(pool, SEER_EXPR_DIV, y, m), seer_expr_binary(pool, SEER_EXPR_DIV, x_, m),
          seer_dag_var(dag, stage, 3)};
      x[i][j] = seer_dag_load(dag, wm, at);
    }
  }
  seer_expr body = transform(pool, f->output, f->m, a, x,
      seer_expr_binary(pool, SEER_EXPR_MOD, y, m), seer_expr_binary(pool, SEER_EXPR_MOD, x_, m));
  seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
  dag->stage[stage].tolerance = f->tolerance;
}

static const seer_dag *make(
    const seer_dag *dag, const scheme *f, seer_arena *arena, double *out_tolerance) {
  convolution c;
  if (!match(dag, f->stride, &c) || dag->n_stage + 3 > SEER_DAG_MAX_STAGES ||
      dag->n_buf + 3 > SEER_DAG_MAX_BUFFERS)
    return NULL;
  // Fewer products than directly, whole tiles counted; else it cannot win.
  const seer_dag_stage *s = &dag->stage[c.stage];
  int64_t a = f->a,
          tiles = seer_ceil_div(s->axis[1].extent, f->m) * seer_ceil_div(s->axis[2].extent, f->m);
  if (tiles * a * a >= 9 * s->axis[1].extent * s->axis[2].extent) return NULL;
  seer_dag *made = seer_dag_clone(dag, arena);
  uint32_t wv = add_input(made, &c, f);
  uint32_t wu = add_weights(made, &c, f);
  uint32_t wm = add_product(made, &c, f, wu, wv);
  turn_anchor(made, c.stage, f, wm);
  seer_dag_finish(made);
  seer_status status = seer_dag_verify(made);
  SEER_ASSERT(!status, "%s", seer_status_message(status));
  *out_tolerance = f->tolerance;
  return made;
}

// Relative to the largest output; the errors in the tests stay below a tenth of these.
static const scheme f2 = {2, 4, 1, input2, weight2, output2, 1e-4};
static const scheme f4 = {4, 6, 1, input4, weight4, output4, 2e-3};
static const scheme f2s = {2, 5, 2, input2s, weight2s, output2s, 1e-4};

#define MAKER(function, scheme)                                                               \
  static const seer_dag *function(                                                            \
      const seer_dag *dag, const seer_target *target, seer_arena *arena, double *tolerance) { \
    (void)target;                                                                             \
    return make(dag, &scheme, arena, tolerance);                                              \
  }
MAKER(make2, f2)
MAKER(make4, f4)
MAKER(make2s, f2s)
#undef MAKER

// Where TVM takes this form under its auto-scheduler, with the same tiles (python/tvm/relay/op/
// strategy/x86.py, judge_winograd_auto_scheduler; topi/nn/conv2d.py).
static bool is_taken_by_tvm(const seer_dag *dag) {
  convolution c;
  if (!match(dag, 1, &c)) return false;
  int64_t channels = dag->stage[c.stage].axis[3].extent;
  return channels > 64 && channels < 512;
}

extern const seer_formulation seer_formulation_winograd2, seer_formulation_winograd4,
    seer_formulation_winograd2s;
const seer_formulation seer_formulation_winograd2 = {.name = "winograd2",
    .doc = "3x3 convolutions by F(2x2,3x3): 2.25 times fewer products",
    .is_for_gpus = true,
    .make = make2};
const seer_formulation seer_formulation_winograd4 = {.name = "winograd4",
    .doc = "3x3 convolutions by F(4x4,3x3): 4 times fewer products",
    .is_for_gpus = true,
    .make = make4,
    .is_ansor = is_taken_by_tvm};
const seer_formulation seer_formulation_winograd2s = {.name = "winograd2s",
    .doc = "3x3 convolutions of stride 2 by F(2,2) x F(2,2): 1.44 times fewer products",
    .is_for_gpus = true,
    .make = make2s};
