// random.c - random DAGs from a grammar. A chain of stages: each reads the tensor that the last one
// made (so nothing is dead), some also an earlier one or a new input. Choices of structure come
// from one random stream per stage, extents from another, so that halving an extent leaves the rest
// as it was (where it still fits).
// Magnitudes: activations are in -3..3, weights in -2..2; every tensor carries a bound of |value|,
// and a stage that would pass 2^22 is preceded by one that clamps.
#include "support/random_dag.h"

#include <math.h>
#include <string.h>

#define MAX_TENSORS 16
#define MAX_POINTS 4096  // elements of one tensor: the interpreters run thousands of these
#define CLAMP 4

typedef struct {
  uint32_t buf, rank;
  int64_t dim[4];
  double bound;
} tensor;

typedef struct {
  seer_dag *dag;
  const random_dag_recipe *recipe;
  seer_rng rng, extents;
  uint32_t n_draws, n_tensors, kinds;
  tensor t[MAX_TENSORS];
} generator;

static const char *const kind_names[RANDOM_DAG_KIND_COUNT] = {"map", "broadcast", "pool",
    "depthwise", "conv", "matmul", "reduce", "argmax", "transpose", "split", "merge", "slice",
    "concat", "gather", "narrow", "words", "bytes", "pad-stage", "two-outputs", "pitch"};

const char *random_dag_kind_name(random_dag_kind kind) { return kind_names[kind]; }

// ---- small helpers

static seer_expr_pool *pool(generator *g) { return &g->dag->expr; }
static seer_expr bin(generator *g, seer_expr_op op, seer_expr a, seer_expr b) {
  return seer_expr_binary(pool(g), op, a, b);
}
static seer_expr num(generator *g, int64_t value) { return seer_expr_i(pool(g), value); }
static seer_expr real(generator *g, double value) {
  return seer_expr_f(pool(g), SEER_DTYPE_F32, value);
}
static seer_expr as_f32(generator *g, seer_expr e) {
  return seer_expr_cast(pool(g), SEER_DTYPE_F32, e);
}
static int64_t pick(generator *g, int64_t low, int64_t high) {
  return seer_rng_range(&g->rng, low, high);
}
static bool chance(generator *g, double p) { return seer_rng_chance(&g->rng, p); }
static void note(generator *g, random_dag_kind kind) { g->kinds |= 1u << kind; }

static int64_t draw_extent(generator *g) {
  static const int64_t bag[] = {
      1, 2, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9, 10, 11, 11, 12, 13, 13, 14, 15, 16, 17, 17};
  int64_t e = bag[seer_rng_below(&g->extents, SEER_COUNT_OF(bag))];
  if (g->n_draws < RANDOM_DAG_MAX_DRAWS) e >>= g->recipe->shift[g->n_draws];
  g->n_draws++;
  return seer_max_i64(e, 1);
}

// The k-th of `n` extents of one tensor: kept small enough in product with those before.
static int64_t draw_fitting(generator *g, int64_t points) {
  int64_t e = draw_extent(g);
  return seer_max_i64(1, seer_min_i64(e, MAX_POINTS / points));
}

static int64_t points_of(const tensor *t) {
  int64_t n = 1;
  for (uint32_t k = 0; k < t->rank; k++) n *= t->dim[k];
  return n;
}

static int64_t draw_pitch(generator *g, int64_t row) {
  if (!chance(g, 0.2)) return 0;
  note(g, RANDOM_DAG_PITCH);
  return row + pick(g, 1, 7);
}

static tensor add_input(generator *g, const char *name, seer_buf_kind kind, seer_dtype dtype,
    const int64_t *dim, uint32_t rank) {
  tensor t = {.rank = rank, .bound = kind == SEER_BUF_WEIGHT ? 2 : 3};
  for (uint32_t k = 0; k < rank; k++) t.dim[k] = dim[k];
  int64_t pitch = rank > 0 ? draw_pitch(g, dim[rank - 1]) : 0;
  t.buf = seer_dag_add_input(g->dag, name, kind, dtype, dim, rank, pitch);
  return t;
}

typedef struct {
  uint32_t stage;
  seer_expr v[SEER_DAG_MAX_AXES];
} opened;

static opened open_stage(generator *g, const char *name, seer_stage_role role,
    const seer_dag_axis *axes, uint32_t n_space, uint32_t n_reduce) {
  opened o = {.stage = seer_dag_add_stage(g->dag, name, role, axes, n_space, n_reduce)};
  for (uint32_t k = 0; k < n_space + n_reduce; k++) o.v[k] = seer_dag_var(g->dag, o.stage, k);
  return o;
}

static void close_stage(
    generator *g, const opened *o, seer_combiner combiner, seer_expr body, double bound) {
  const seer_dag_stage *s = &g->dag->stage[o->stage];
  tensor t = {.rank = s->n_space, .bound = bound};
  for (uint32_t k = 0; k < s->n_space; k++) t.dim[k] = s->axis[k].extent;
  t.buf = seer_dag_set_body(g->dag, o->stage, combiner, &body, 1);
  g->t[g->n_tensors++] = t;
}

static tensor last(const generator *g) { return g->t[g->n_tensors - 1]; }

static seer_dag_axis axis(const char *name, int64_t extent, seer_axis_role role) {
  return (seer_dag_axis){name, extent, role};
}

static void plain_axes(const tensor *t, seer_dag_axis *out) {
  static const char *const names[4] = {"a", "b", "c", "d"};
  for (uint32_t k = 0; k < t->rank; k++) out[k] = axis(names[k], t->dim[k], SEER_AXIS_OTHER);
}

static void clamp_to(generator *g, double limit) {
  tensor t = last(g);
  if (t.bound <= limit) return;
  seer_dag_axis ax[4];
  plain_axes(&t, ax);
  opened o = open_stage(g, "clamp", SEER_STAGE_EPILOGUE, ax, t.rank, 0);
  seer_expr x = seer_dag_load(g->dag, t.buf, o.v);
  x = bin(g, SEER_EXPR_MAX, bin(g, SEER_EXPR_MIN, x, real(g, CLAMP)), real(g, -CLAMP));
  close_stage(g, &o, SEER_COMBINE_NONE, x, CLAMP);
}

// ---- the grammar. A rule returns false, before it made anything, where it does not fit the last
// tensor.

static bool rule_map(generator *g) {
  clamp_to(g, 1e6);
  tensor t = last(g);
  seer_dag_axis ax[4];
  plain_axes(&t, ax);
  opened o = open_stage(g, "map", SEER_STAGE_EPILOGUE, ax, t.rank, 0);
  seer_expr x = seer_dag_load(g->dag, t.buf, o.v);
  double bound = t.bound;
  int64_t kind = pick(g, 0, 6);
  if (kind == 0) x = bin(g, SEER_EXPR_MAX, x, real(g, 0));
  if (kind == 1)
    x = bin(g, SEER_EXPR_ADD, bin(g, SEER_EXPR_MUL, x, real(g, 2)), real(g, 1)),
    bound = 2 * bound + 1;
  if (kind == 2) x = seer_expr_unary(pool(g), SEER_EXPR_ABS, x);
  if (kind == 3) x = seer_expr_unary(pool(g), SEER_EXPR_NEG, x);
  if (kind == 4)
    x = bin(g, SEER_EXPR_MAX, bin(g, SEER_EXPR_MIN, x, real(g, 6)), real(g, 0)), bound = 6;
  if (kind == 5) {  // leaky: select on data
    seer_expr is_pos = bin(g, SEER_EXPR_GT, x, real(g, 0));
    x = seer_expr_select(pool(g), is_pos, x, bin(g, SEER_EXPR_MUL, x, real(g, 3)));
    bound *= 3;
  }
  if (kind == 6) {  // an earlier tensor of the same shape, if there is one: a residual
    for (uint32_t k = 0; k + 1 < g->n_tensors; k++) {
      const tensor *e = &g->t[k];
      if (e->rank != t.rank || memcmp(e->dim, t.dim, sizeof t.dim) != 0) continue;
      x = bin(g, SEER_EXPR_ADD, x, as_f32(g, seer_dag_load(g->dag, e->buf, o.v)));
      bound += e->bound;
      break;
    }
  }
  close_stage(g, &o, SEER_COMBINE_NONE, x, bound);
  return true;
}

static bool rule_broadcast(generator *g) {
  clamp_to(g, 1e6);
  tensor t = last(g);
  if (t.rank == 0) return false;
  uint32_t keep = (uint32_t)pick(g, 0, (1 << t.rank) - 2), n = 0;  // at least one axis is missing
  int64_t dim[4];
  for (uint32_t k = 0; k < t.rank; k++) {
    if (keep >> k & 1) dim[n++] = t.dim[k];
  }
  tensor w = add_input(
      g, "bias", chance(g, 0.7) ? SEER_BUF_WEIGHT : SEER_BUF_ACTIVATION, SEER_DTYPE_F32, dim, n);
  seer_dag_axis ax[4];
  plain_axes(&t, ax);
  opened o = open_stage(g, "broadcast", SEER_STAGE_EPILOGUE, ax, t.rank, 0);
  seer_expr at[4];
  n = 0;
  for (uint32_t k = 0; k < t.rank; k++) {
    if (keep >> k & 1) at[n++] = o.v[k];
  }
  bool is_mul = chance(g, 0.5);
  seer_expr x = bin(g, is_mul ? SEER_EXPR_MUL : SEER_EXPR_ADD, seer_dag_load(g->dag, t.buf, o.v),
      seer_dag_load(g->dag, w.buf, at));
  close_stage(g, &o, SEER_COMBINE_NONE, x, is_mul ? t.bound * w.bound : t.bound + w.bound);
  return true;
}

// One windowed dimension of the input: out = (in + before + after - dilation (k - 1) - 1) / stride
// + 1.
typedef struct {
  int64_t in, k, stride, dilation, before, after, out;
} window;

static window draw_window(generator *g, int64_t in) {
  window w = {.in = in, .k = pick(g, 1, 3), .stride = 1, .dilation = 1};
  if (chance(g, 0.15)) w.k = 5;
  if (chance(g, 0.4)) w.stride = pick(g, 2, 3);
  if (chance(g, 0.3)) w.dilation = 2;
  if (chance(g, 0.6)) w.before = pick(g, 0, 2), w.after = pick(g, 0, 2);
  if (w.in + w.before + w.after <= w.dilation * (w.k - 1)) w.k = 1;
  w.out = (w.in + w.before + w.after - w.dilation * (w.k - 1) - 1) / w.stride + 1;
  return w;
}

static seer_expr guard(generator *g, seer_expr p, seer_expr index, const window *w) {
  seer_expr low = bin(g, SEER_EXPR_GE, index, num(g, 0)),
            high = bin(g, SEER_EXPR_LT, index, num(g, w->in));
  seer_expr both = w->after > 0 && w->before > 0 ? bin(g, SEER_EXPR_AND, low, high)
      : w->before > 0                            ? low
                                                 : high;
  if (w->before == 0 && w->after == 0) return p;
  return p.i == 0 ? both : bin(g, SEER_EXPR_AND, p, both);
}

// Reads [n?, y, x, c] at window positions; padding as its own stage or as a guard. `at` are the
// indices.
typedef struct {
  tensor from;
  bool is_padded;  // by a stage before
  double fill;
  window y, x;
} windowed;

static windowed prepare_window(generator *g, double fill) {
  tensor t = last(g);
  uint32_t yd = t.rank - 3;
  windowed in = {
      .from = t, .fill = fill, .y = draw_window(g, t.dim[yd]), .x = draw_window(g, t.dim[yd + 1])};
  bool pads = in.y.before + in.y.after + in.x.before + in.x.after > 0;
  if (!pads || chance(g, 0.4)) return in;
  note(g, RANDOM_DAG_PAD_STAGE);
  seer_dag_axis ax[4];
  plain_axes(&t, ax);
  ax[yd] = axis("y", in.y.in + in.y.before + in.y.after, SEER_AXIS_Y);
  ax[yd + 1] = axis("x", in.x.in + in.x.before + in.x.after, SEER_AXIS_X);
  opened o = open_stage(g, "pad", SEER_STAGE_PAD, ax, t.rank, 0);
  seer_expr at[4], p = {0};
  memcpy(at, o.v, sizeof at);
  at[yd] = bin(g, SEER_EXPR_SUB, at[yd], num(g, in.y.before));
  at[yd + 1] = bin(g, SEER_EXPR_SUB, at[yd + 1], num(g, in.x.before));
  p = guard(g, guard(g, p, at[yd], &in.y), at[yd + 1], &in.x);
  close_stage(g, &o, SEER_COMBINE_NONE, seer_dag_load_guarded(g->dag, t.buf, at, p, real(g, fill)),
      fmax(t.bound, fabs(fill)));
  in.from = last(g);
  in.is_padded = true;
  return in;
}

static seer_expr window_index(
    generator *g, const window *w, seer_expr out, seer_expr k, bool is_padded) {
  seer_expr i = bin(g, SEER_EXPR_ADD, bin(g, SEER_EXPR_MUL, out, num(g, w->stride)),
      bin(g, SEER_EXPR_MUL, k, num(g, w->dilation)));
  return is_padded ? i : bin(g, SEER_EXPR_SUB, i, num(g, w->before));
}

static seer_expr load_window(generator *g, const windowed *in, seer_expr *at) {
  uint32_t yd = in->from.rank - 3;
  seer_expr p = {0};
  if (!in->is_padded) p = guard(g, guard(g, p, at[yd], &in->y), at[yd + 1], &in->x);
  return seer_dag_load_guarded(g->dag, in->from.buf, at, p, real(g, in->fill));
}

static bool has_image(const generator *g) { return last(g).rank >= 3; }

static bool rule_pool(generator *g) {
  if (!has_image(g)) return false;
  bool is_max = chance(g, 0.5);
  clamp_to(g, 1e5);
  windowed in = prepare_window(g, is_max ? -1000 : 0);
  tensor t = in.from;
  uint32_t yd = t.rank - 3;
  seer_dag_axis ax[6];
  plain_axes(&t, ax);
  ax[yd] = axis("y", in.y.out, SEER_AXIS_Y);
  ax[yd + 1] = axis("x", in.x.out, SEER_AXIS_X);
  ax[t.rank] = axis("ky", in.y.k, SEER_AXIS_KY);
  ax[t.rank + 1] = axis("kx", in.x.k, SEER_AXIS_KX);
  opened o = open_stage(g, "pool", SEER_STAGE_ANCHOR, ax, t.rank, 2);
  seer_expr at[4];
  memcpy(at, o.v, sizeof at);
  at[yd] = window_index(g, &in.y, o.v[yd], o.v[t.rank], in.is_padded);
  at[yd + 1] = window_index(g, &in.x, o.v[yd + 1], o.v[t.rank + 1], in.is_padded);
  seer_expr body = load_window(g, &in, at);
  double bound = fmax(t.bound, fabs(in.fill)) * (is_max ? 1 : (double)(in.y.k * in.x.k));
  close_stage(g, &o, is_max ? SEER_COMBINE_MAX : SEER_COMBINE_SUM, body, bound);
  return true;
}

static bool rule_depthwise(generator *g) {
  if (!has_image(g)) return false;
  clamp_to(g, 1e4);
  windowed in = prepare_window(g, 0);
  tensor t = in.from;
  uint32_t yd = t.rank - 3, cd = t.rank - 1;
  tensor w = add_input(
      g, "dw", SEER_BUF_WEIGHT, SEER_DTYPE_F32, (int64_t[]){in.y.k, in.x.k, t.dim[cd]}, 3);
  seer_dag_axis ax[6];
  plain_axes(&t, ax);
  ax[yd] = axis("y", in.y.out, SEER_AXIS_Y);
  ax[yd + 1] = axis("x", in.x.out, SEER_AXIS_X);
  ax[cd].role = SEER_AXIS_GROUP;
  ax[t.rank] = axis("ky", in.y.k, SEER_AXIS_KY);
  ax[t.rank + 1] = axis("kx", in.x.k, SEER_AXIS_KX);
  opened o = open_stage(g, "depthwise", SEER_STAGE_ANCHOR, ax, t.rank, 2);
  seer_expr at[4], ky = o.v[t.rank], kx = o.v[t.rank + 1];
  memcpy(at, o.v, sizeof at);
  at[yd] = window_index(g, &in.y, o.v[yd], ky, in.is_padded);
  at[yd + 1] = window_index(g, &in.x, o.v[yd + 1], kx, in.is_padded);
  seer_expr body = bin(g, SEER_EXPR_MUL, load_window(g, &in, at),
      seer_dag_load(g->dag, w.buf, (seer_expr[]){ky, kx, o.v[cd]}));
  close_stage(g, &o, SEER_COMBINE_SUM, body, t.bound * w.bound * (double)(in.y.k * in.x.k));
  return true;
}

static bool rule_conv(generator *g) {
  if (!has_image(g)) return false;
  clamp_to(g, 1e3);
  windowed in = prepare_window(g, 0);
  tensor t = in.from;
  uint32_t yd = t.rank - 3, cd = t.rank - 1;
  int64_t ic = t.dim[cd], outer = yd == 1 ? t.dim[0] : 1;
  int64_t oc = draw_fitting(g, outer * in.y.out * in.x.out);
  bool is_oihw = chance(g, 0.4);
  tensor w = is_oihw
      ? add_input(g, "w", SEER_BUF_WEIGHT, SEER_DTYPE_F32, (int64_t[]){oc, ic, in.y.k, in.x.k}, 4)
      : add_input(g, "w", SEER_BUF_WEIGHT, SEER_DTYPE_F32, (int64_t[]){oc, in.y.k, in.x.k, ic}, 4);
  seer_dag_axis ax[7];
  plain_axes(&t, ax);
  if (yd == 1) ax[0] = axis("n", t.dim[0], SEER_AXIS_BATCH);
  ax[yd] = axis("y", in.y.out, SEER_AXIS_Y);
  ax[yd + 1] = axis("x", in.x.out, SEER_AXIS_X);
  ax[cd] = axis("oc", oc, SEER_AXIS_OUT_CHANNEL);
  ax[t.rank] = axis("ky", in.y.k, SEER_AXIS_KY);
  ax[t.rank + 1] = axis("kx", in.x.k, SEER_AXIS_KX);
  ax[t.rank + 2] = axis("ic", ic, SEER_AXIS_IN_CHANNEL);
  opened o = open_stage(g, "conv", SEER_STAGE_ANCHOR, ax, t.rank, 3);
  seer_expr at[4], ky = o.v[t.rank], kx = o.v[t.rank + 1], c = o.v[t.rank + 2];
  memcpy(at, o.v, sizeof at);
  at[yd] = window_index(g, &in.y, o.v[yd], ky, in.is_padded);
  at[yd + 1] = window_index(g, &in.x, o.v[yd + 1], kx, in.is_padded);
  at[cd] = c;
  seer_expr w_at[4] = {o.v[cd], is_oihw ? c : ky, is_oihw ? ky : kx, is_oihw ? kx : c};
  seer_expr body =
      bin(g, SEER_EXPR_MUL, load_window(g, &in, at), seer_dag_load(g->dag, w.buf, w_at));
  close_stage(g, &o, SEER_COMBINE_SUM, body, t.bound * w.bound * (double)(in.y.k * in.x.k * ic));
  return true;
}

static bool rule_matmul(generator *g) {
  if (last(g).rank < 1) return false;
  clamp_to(g, 1e4);
  tensor t = last(g);
  uint32_t kd = t.rank - 1;
  int64_t k = t.dim[kd], n = draw_fitting(g, points_of(&t) / k);
  bool is_batched = t.rank >= 3 && chance(g, 0.4), is_nk = chance(g, 0.5);
  int64_t dim[3] = {t.dim[0], is_nk ? n : k, is_nk ? k : n};
  tensor w = is_batched ? add_input(g, "b", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, dim, 3)
                        : add_input(g, "w", SEER_BUF_WEIGHT, SEER_DTYPE_F32, dim + 1, 2);
  seer_dag_axis ax[5];
  plain_axes(&t, ax);
  if (t.rank >= 2) ax[kd - 1].role = SEER_AXIS_M;
  if (t.rank >= 3) ax[0].role = SEER_AXIS_BATCH;
  ax[kd] = axis("n", n, SEER_AXIS_N);
  ax[t.rank] = axis("k", k, SEER_AXIS_K);
  opened o = open_stage(g, "matmul", SEER_STAGE_ANCHOR, ax, t.rank, 1);
  seer_expr at[4], kk = o.v[t.rank];
  memcpy(at, o.v, sizeof at);
  at[kd] = kk;
  seer_expr w_at[3] = {o.v[0], is_nk ? o.v[kd] : kk, is_nk ? kk : o.v[kd]};
  seer_expr body = bin(g, SEER_EXPR_MUL, seer_dag_load(g->dag, t.buf, at),
      seer_dag_load(g->dag, w.buf, is_batched ? w_at : w_at + 1));
  close_stage(g, &o, SEER_COMBINE_SUM, body, t.bound * w.bound * (double)k);
  return true;
}

static bool rule_reduce(generator *g) {
  if (last(g).rank < 1) return false;
  bool is_max = chance(g, 0.5);
  clamp_to(g, 1e4);
  tensor t = last(g);
  uint32_t a = (uint32_t)pick(g, 0, t.rank - 1), b = (uint32_t)pick(g, 0, t.rank - 1), n_space = 0;
  seer_dag_axis in[4], ax[4];
  plain_axes(&t, in);
  uint32_t place[4];  // of dimension k among the axes of the stage
  for (uint32_t k = 0; k < t.rank; k++) {
    if (k != a && k != b) place[k] = n_space, ax[n_space++] = in[k];
  }
  uint32_t n = n_space;
  double count = 1;
  for (uint32_t k = 0; k < t.rank; k++) {
    if (k == a || k == b) place[k] = n, ax[n++] = in[k], count *= (double)t.dim[k];
  }
  opened o = open_stage(g, "reduce", SEER_STAGE_ANCHOR, ax, n_space, n - n_space);
  seer_expr at[4];
  for (uint32_t k = 0; k < t.rank; k++) at[k] = o.v[place[k]];
  close_stage(g, &o, is_max ? SEER_COMBINE_MAX : SEER_COMBINE_SUM, seer_dag_load(g->dag, t.buf, at),
      is_max ? t.bound : t.bound * count);
  return true;
}

static bool rule_argmax(generator *g) {
  tensor t = last(g);
  if (t.rank < 1) return false;
  uint32_t a = (uint32_t)pick(g, 0, t.rank - 1), n = 0;
  seer_dag_axis in[4], ax[4];
  plain_axes(&t, in);
  for (uint32_t k = 0; k < t.rank; k++) {
    if (k != a) ax[n++] = in[k];
  }
  ax[n] = in[a];
  opened o = open_stage(g, "argmax", SEER_STAGE_ANCHOR, ax, n, 1);
  seer_expr at[4], body[2];
  for (uint32_t k = 0; k < t.rank; k++) at[k] = o.v[k == a ? n : k < a ? k : k - 1];
  body[0] = seer_dag_load(g->dag, t.buf, at);
  body[1] = o.v[n];
  tensor out = {.rank = n, .bound = t.bound};
  for (uint32_t k = 0; k < n; k++) out.dim[k] = ax[k].extent;
  out.buf = seer_dag_set_body(
      g->dag, o.stage, chance(g, 0.5) ? SEER_COMBINE_ARGMAX : SEER_COMBINE_ARGMIN, body, 2);
  g->t[g->n_tensors++] = out;
  // the indices; else nobody reads them
  if (chance(g, 0.7)) seer_dag_mark_output(g->dag, out.buf + 1, 0);
  return true;
}

static bool rule_transpose(generator *g) {
  tensor t = last(g);
  if (t.rank < 2) return false;
  uint32_t perm[4] = {0, 1, 2, 3};
  seer_rng_shuffle_u32(&g->rng, perm, t.rank);
  seer_dag_axis in[4], ax[4];
  plain_axes(&t, in);
  for (uint32_t k = 0; k < t.rank; k++) ax[k] = in[perm[k]];
  opened o = open_stage(g, "transpose", SEER_STAGE_PROLOGUE, ax, t.rank, 0);
  seer_expr at[4];
  for (uint32_t k = 0; k < t.rank; k++) at[perm[k]] = o.v[k];
  close_stage(g, &o, SEER_COMBINE_NONE, seer_dag_load(g->dag, t.buf, at), t.bound);
  return true;
}

static bool rule_split(generator *g) {
  tensor t = last(g);
  if (t.rank < 1 || t.rank > 3) return false;
  uint32_t d = (uint32_t)pick(g, 0, t.rank - 1);
  int64_t inner = pick(g, 2, 5);
  while (inner > 1 && t.dim[d] % inner != 0) inner--;
  seer_dag_axis in[4], ax[4];
  plain_axes(&t, in);
  for (uint32_t k = 0; k < t.rank; k++) ax[k + (k > d)] = in[k];
  ax[d].extent = t.dim[d] / inner;
  ax[d + 1] = axis("e", inner, SEER_AXIS_OTHER);
  opened o = open_stage(g, "split", SEER_STAGE_PROLOGUE, ax, t.rank + 1, 0);
  seer_expr at[4];
  for (uint32_t k = 0; k < t.rank; k++) at[k] = o.v[k + (k > d)];
  at[d] = bin(g, SEER_EXPR_ADD, bin(g, SEER_EXPR_MUL, o.v[d], num(g, inner)), o.v[d + 1]);
  close_stage(g, &o, SEER_COMBINE_NONE, seer_dag_load(g->dag, t.buf, at), t.bound);
  return true;
}

static bool rule_merge(generator *g) {
  tensor t = last(g);
  if (t.rank < 2) return false;
  uint32_t d = (uint32_t)pick(g, 0, t.rank - 2);
  int64_t inner = t.dim[d + 1];
  seer_dag_axis in[4], ax[4];
  plain_axes(&t, in);
  for (uint32_t k = 0; k + 1 < t.rank; k++) ax[k] = in[k + (k > d)];
  ax[d].extent = t.dim[d] * inner;
  opened o = open_stage(g, "merge", SEER_STAGE_PROLOGUE, ax, t.rank - 1, 0);
  seer_expr at[4];
  for (uint32_t k = 0; k < t.rank; k++) at[k] = o.v[k > d ? k - 1 : k];
  at[d] = bin(g, SEER_EXPR_DIV, o.v[d], num(g, inner));
  at[d + 1] = bin(g, SEER_EXPR_MOD, o.v[d], num(g, inner));
  close_stage(g, &o, SEER_COMBINE_NONE, seer_dag_load(g->dag, t.buf, at), t.bound);
  return true;
}

static bool rule_slice(generator *g) {
  tensor t = last(g);
  if (t.rank < 1) return false;
  seer_dag_axis ax[4];
  plain_axes(&t, ax);
  int64_t start[4], step[4];
  for (uint32_t k = 0; k < t.rank; k++) {
    start[k] = chance(g, 0.5) ? pick(g, 0, seer_min_i64(3, t.dim[k] - 1)) : 0;
    step[k] = chance(g, 0.3) ? pick(g, 2, 3) : 1;
    int64_t all = seer_ceil_div(t.dim[k] - start[k], step[k]);
    ax[k].extent = all > 1 && chance(g, 0.3) ? all - 1 : all;
  }
  bool is_reversed = chance(g, 0.2);  // the last dimension, read backwards
  opened o = open_stage(g, "slice", SEER_STAGE_PROLOGUE, ax, t.rank, 0);
  seer_expr at[4];
  for (uint32_t k = 0; k < t.rank; k++) {
    at[k] = bin(g, SEER_EXPR_ADD, bin(g, SEER_EXPR_MUL, o.v[k], num(g, step[k])), num(g, start[k]));
  }
  if (is_reversed)
    at[t.rank - 1] = bin(g, SEER_EXPR_SUB, num(g, t.dim[t.rank - 1] - 1), at[t.rank - 1]);
  close_stage(g, &o, SEER_COMBINE_NONE, seer_dag_load(g->dag, t.buf, at), t.bound);
  return true;
}

static bool rule_concat(generator *g) {
  tensor t = last(g);
  if (t.rank < 1) return false;
  uint32_t d = (uint32_t)pick(g, 0, t.rank - 1);
  tensor other = t;
  other.dim[d] = draw_fitting(g, points_of(&t) / t.dim[d]);
  other = add_input(g, "more", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, other.dim, t.rank);
  seer_dag_axis ax[4];
  plain_axes(&t, ax);
  ax[d].extent = t.dim[d] + other.dim[d];
  opened o = open_stage(g, "concat", SEER_STAGE_PROLOGUE, ax, t.rank, 0);
  seer_expr at[4], first = bin(g, SEER_EXPR_LT, o.v[d], num(g, t.dim[d]));
  seer_expr second = bin(g, SEER_EXPR_GE, o.v[d], num(g, t.dim[d]));
  memcpy(at, o.v, sizeof at);
  seer_expr a = seer_dag_load_guarded(g->dag, t.buf, at, first, real(g, 0));
  at[d] = bin(g, SEER_EXPR_SUB, o.v[d], num(g, t.dim[d]));
  seer_expr b = seer_dag_load_guarded(g->dag, other.buf, at, second, real(g, 0));
  close_stage(
      g, &o, SEER_COMBINE_NONE, seer_expr_select(pool(g), first, a, b), fmax(t.bound, other.bound));
  return true;
}

static bool rule_gather(generator *g) {
  tensor t = last(g);
  if (t.rank < 1) return false;
  uint32_t d = (uint32_t)pick(g, 0, t.rank - 1);
  int64_t n = draw_fitting(g, points_of(&t) / t.dim[d]);
  seer_dtype dtype = chance(g, 0.5) ? SEER_DTYPE_I64 : SEER_DTYPE_I32;
  tensor ids = add_input(g, "ids", SEER_BUF_ACTIVATION, dtype, &n, 1);
  seer_dag_axis ax[4];
  plain_axes(&t, ax);
  ax[d].extent = n;
  opened o = open_stage(g, "gather", SEER_STAGE_PROLOGUE, ax, t.rank, 0);
  seer_expr at[4];
  memcpy(at, o.v, sizeof at);
  seer_expr id = seer_expr_cast(pool(g), SEER_DTYPE_I64, seer_dag_load(g->dag, ids.buf, &o.v[d]));
  at[d] = bin(g, SEER_EXPR_MAX, bin(g, SEER_EXPR_MIN, id, num(g, t.dim[d] - 1)), num(g, 0));
  close_stage(g, &o, SEER_COMBINE_NONE, seer_dag_load(g->dag, t.buf, at), t.bound);
  return true;
}

// The last tensor through a narrower type, or with an input of such a type added. Integers to 8 are
// exact in all of them.
static bool rule_narrow(generator *g) {
  static const seer_dtype types[] = {SEER_DTYPE_F16, SEER_DTYPE_BF16, SEER_DTYPE_F8E4M3FN,
      SEER_DTYPE_F8E4M3FNUZ, SEER_DTYPE_F8E5M2, SEER_DTYPE_F8E5M2FNUZ, SEER_DTYPE_I8, SEER_DTYPE_U8,
      SEER_DTYPE_I4, SEER_DTYPE_U4};
  // These do not hold all integers to 7: as inputs only.
  static const seer_dtype smaller[] = {SEER_DTYPE_I2, SEER_DTYPE_U2, SEER_DTYPE_F4E2M1};
  seer_dtype dtype = types[pick(g, 0, (int64_t)SEER_COUNT_OF(types) - 1)];
  bool is_input = chance(g, 0.5);
  if (is_input && chance(g, 0.25)) dtype = smaller[pick(g, 0, (int64_t)SEER_COUNT_OF(smaller) - 1)];
  clamp_to(g, is_input ? 1e6 : 7);
  tensor t = last(g), narrow;
  seer_dag_axis ax[4];
  plain_axes(&t, ax);
  if (is_input) {
    narrow = add_input(
        g, "small", chance(g, 0.5) ? SEER_BUF_WEIGHT : SEER_BUF_ACTIVATION, dtype, t.dim, t.rank);
    narrow.bound = 255;  // a negative integer wraps in an unsigned type
  } else {
    opened o = open_stage(g, "narrow", SEER_STAGE_EPILOGUE, ax, t.rank, 0);
    seer_expr x = seer_dag_load(g->dag, t.buf, o.v);
    if (!seer_dtype_is_signed(dtype)) x = seer_expr_unary(pool(g), SEER_EXPR_ABS, x);
    close_stage(g, &o, SEER_COMBINE_NONE, seer_expr_cast(pool(g), dtype, x), t.bound);
    narrow = last(g);
  }
  opened o = open_stage(g, "widen", SEER_STAGE_EPILOGUE, ax, t.rank, 0);
  seer_expr x = as_f32(g, seer_dag_load(g->dag, narrow.buf, o.v));
  if (is_input) x = bin(g, SEER_EXPR_ADD, x, seer_dag_load(g->dag, t.buf, o.v));
  close_stage(g, &o, SEER_COMBINE_NONE, x, is_input ? t.bound + narrow.bound : t.bound);
  return true;
}

// ---- products of matrices in integers, with their sums as reals behind them

static opened open_integers(generator *g, const tensor *t, int64_t n) {
  seer_dag_axis ax[5];
  plain_axes(t, ax);
  uint32_t kd = t->rank - 1;
  if (t->rank >= 2) ax[kd - 1].role = SEER_AXIS_M;
  ax[kd] = axis("n", n, SEER_AXIS_N);
  ax[t->rank] = axis("k", t->dim[kd], SEER_AXIS_K);
  return open_stage(g, "integers", SEER_STAGE_ANCHOR, ax, t->rank, 1);
}

static void close_integers(generator *g, const opened *o, seer_expr body, double bound) {
  seer_dag_axis ax[4];
  close_stage(g, o, SEER_COMBINE_SUM, body, bound);
  tensor sum = last(g);
  plain_axes(&sum, ax);
  opened real = open_stage(g, "real", SEER_STAGE_EPILOGUE, ax, sum.rank, 0);
  seer_expr x = as_f32(g, seer_dag_load(g->dag, sum.buf, real.v));
  close_stage(g, &real, SEER_COMBINE_NONE, x, bound);
}

// *t: what integers are made of, brought into their range. False: so many products of at most
// `most` do not fit.
static bool takes_integers(generator *g, double most, tensor *t) {
  *t = last(g);
  if (t->rank == 0 || most * (double)t->dim[t->rank - 1] > (1 << 22)) return false;
  clamp_to(g, 1e6);
  *t = last(g);
  return true;
}

// Of words of four bytes: small integers times a factor that spreads them over all bytes.
static bool rule_words(generator *g) {
  const double most = 4 * 255 * 128.0;
  tensor t;
  if (!takes_integers(g, most, &t)) return false;
  uint32_t kd = t.rank - 1;
  int64_t k = t.dim[kd], n = draw_fitting(g, points_of(&t) / k);
  tensor w = add_input(g, "words", SEER_BUF_WEIGHT, SEER_DTYPE_I32, (int64_t[]){k, n}, 2);
  opened o = open_integers(g, &t, n);
  seer_expr at[4], kk = o.v[t.rank], spread = seer_expr_int(pool(g), SEER_DTYPE_I32, 0x41c64e6d);
  memcpy(at, o.v, sizeof at);
  at[kd] = kk;
  seer_expr a = seer_expr_cast(pool(g), SEER_DTYPE_I32, seer_dag_load(g->dag, t.buf, at));
  seer_expr b = seer_dag_load(g->dag, w.buf, (seer_expr[]){kk, o.v[kd]});
  if (chance(g, 0.5)) b = bin(g, SEER_EXPR_MUL, b, spread);
  a = bin(g, SEER_EXPR_MUL, a, spread);
  close_integers(g, &o, bin(g, SEER_EXPR_DOT4, a, b), most * (double)k);
  return true;
}

// Of bytes, the first unsigned.
static bool rule_bytes(generator *g) {
  const double most = 255 * 128.0;
  tensor t;
  if (!takes_integers(g, most, &t)) return false;
  uint32_t kd = t.rank - 1;
  int64_t k = t.dim[kd], n = draw_fitting(g, points_of(&t) / k);
  bool is_nk = chance(g, 0.5);
  int64_t dim[2] = {is_nk ? n : k, is_nk ? k : n};
  tensor w = add_input(g, "bytes", SEER_BUF_WEIGHT, SEER_DTYPE_I8, dim, 2);
  seer_dag_axis ax[4];
  plain_axes(&t, ax);
  opened o = open_stage(g, "byte", SEER_STAGE_EPILOGUE, ax, t.rank, 0);
  seer_expr x = seer_expr_cast(pool(g), SEER_DTYPE_I32, seer_dag_load(g->dag, t.buf, o.v));
  x = bin(g, SEER_EXPR_MUL, x, seer_expr_int(pool(g), SEER_DTYPE_I32, 77));
  close_stage(g, &o, SEER_COMBINE_NONE, seer_expr_cast(pool(g), SEER_DTYPE_U8, x), 255);
  t = last(g);
  o = open_integers(g, &t, n);
  seer_expr at[4], kk = o.v[t.rank];
  memcpy(at, o.v, sizeof at);
  at[kd] = kk;
  seer_expr w_at[2] = {is_nk ? o.v[kd] : kk, is_nk ? kk : o.v[kd]};
  seer_expr a = seer_dag_load(g->dag, t.buf, at), b = seer_dag_load(g->dag, w.buf, w_at);
  a = seer_expr_cast(pool(g), SEER_DTYPE_I32, a);
  b = seer_expr_cast(pool(g), SEER_DTYPE_I32, b);
  close_integers(g, &o, bin(g, SEER_EXPR_MUL, a, b), most * (double)k);
  return true;
}

static const struct {
  random_dag_kind kind;
  bool (*apply)(generator *g);
  uint32_t weight;
} rules[] = {
    {RANDOM_DAG_MAP, rule_map, 3},
    {RANDOM_DAG_BROADCAST, rule_broadcast, 3},
    {RANDOM_DAG_POOL, rule_pool, 3},
    {RANDOM_DAG_DEPTHWISE, rule_depthwise, 3},
    {RANDOM_DAG_CONV, rule_conv, 4},
    {RANDOM_DAG_MATMUL, rule_matmul, 3},
    {RANDOM_DAG_REDUCE, rule_reduce, 1},
    {RANDOM_DAG_ARGMAX, rule_argmax, 1},
    {RANDOM_DAG_TRANSPOSE, rule_transpose, 1},
    {RANDOM_DAG_SPLIT, rule_split, 1},
    {RANDOM_DAG_MERGE, rule_merge, 1},
    {RANDOM_DAG_SLICE, rule_slice, 1},
    {RANDOM_DAG_CONCAT, rule_concat, 1},
    {RANDOM_DAG_GATHER, rule_gather, 1},
    {RANDOM_DAG_NARROW, rule_narrow, 1},
    {RANDOM_DAG_WORDS, rule_words, 1},
    {RANDOM_DAG_BYTES, rule_bytes, 1},
};

// ---- the interface

random_dag_recipe random_dag_draw(uint64_t seed) {
  seer_rng rng;
  seer_rng_init_stream(&rng, seed, 0);
  return (random_dag_recipe){.seed = seed, .n_stages = (uint32_t)seer_rng_range(&rng, 1, 6)};
}

static void apply_one_rule(generator *g) {
  uint32_t total = 0;
  for (size_t k = 0; k < SEER_COUNT_OF(rules); k++) total += rules[k].weight;
  for (;;) {  // rule_map always fits
    uint64_t at = seer_rng_below(&g->rng, total);
    size_t k = 0;
    while (at >= rules[k].weight) at -= rules[k++].weight;
    if (!rules[k].apply(g)) continue;
    note(g, rules[k].kind);
    return;
  }
}

static void mark_outputs(generator *g) {
  tensor t = last(g);
  int64_t row = t.rank > 0 ? t.dim[t.rank - 1] : 1;
  seer_dag_mark_output(g->dag, t.buf, t.rank > 0 ? draw_pitch(g, row) : 0);
  if (g->n_tensors < 3 || !chance(g, 0.3)) return;
  const tensor *second = &g->t[pick(g, 1, g->n_tensors - 2)];
  if (g->dag->buf[second->buf].is_output) return;
  seer_dag_mark_output(g->dag, second->buf, 0);
  note(g, RANDOM_DAG_TWO_OUTPUTS);
}

static seer_dag *build(
    const random_dag_recipe *recipe, seer_arena *arena, uint32_t *out_kinds, uint32_t *out_draws) {
  generator g = {.recipe = recipe, .dag = seer_dag_create(arena, "random")};
  seer_rng_init_stream(&g.extents, recipe->seed, 1);
  seer_rng_init_stream(&g.rng, recipe->seed, 2);
  uint32_t rank = chance(&g, 0.6) ? (uint32_t)pick(&g, 3, 4) : (uint32_t)pick(&g, 1, 4);
  int64_t dim[4], points = 1;
  for (uint32_t k = 0; k < rank; k++) {
    dim[k] = draw_fitting(&g, points);
    if (rank == 4 && k == 0) dim[k] = seer_min_i64(dim[k], 3);
    points *= dim[k];
  }
  g.t[g.n_tensors++] = add_input(&g, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, dim, rank);
  for (uint32_t k = 0; g.dag->n_stage < recipe->n_stages; k++) {
    seer_rng_init_stream(&g.rng, recipe->seed, 16 + k);
    apply_one_rule(&g);
  }
  mark_outputs(&g);
  seer_dag_finish(g.dag);
  seer_status status = seer_dag_verify(g.dag);
  SEER_ASSERT(status == SEER_OK, "seed %" PRIu64 ": %s\n%s", recipe->seed,
      seer_status_message(status), seer_dag_print(g.dag, arena));
  *out_kinds = g.kinds;
  *out_draws = g.n_draws;
  return g.dag;
}

seer_dag *random_dag_build(
    const random_dag_recipe *recipe, seer_arena *arena, uint32_t *out_kinds) {
  uint32_t kinds, n_draws;
  seer_dag *dag = build(recipe, arena, &kinds, &n_draws);
  if (out_kinds) *out_kinds = kinds;
  return dag;
}

seer_dag *random_dag_of(uint64_t seed, seer_arena *arena) {
  const random_dag_recipe recipe = random_dag_draw(seed);
  return random_dag_build(&recipe, arena, NULL);
}

// Extents that the recipe draws.
static uint32_t count_draws(const random_dag_recipe *recipe) {
  seer_arena *scratch = seer_arena_create("shrink");
  uint32_t kinds, n_draws;
  build(recipe, scratch, &kinds, &n_draws);
  seer_arena_destroy(scratch);
  return n_draws < RANDOM_DAG_MAX_DRAWS ? n_draws : RANDOM_DAG_MAX_DRAWS;
}

random_dag_recipe random_dag_shrink(random_dag_recipe recipe,
    bool (*still_fails)(void *user, const random_dag_recipe *recipe), void *user,
    uint32_t max_tries) {
  for (bool progress = true; progress && max_tries > 0;) {
    progress = false;
    while (recipe.n_stages > 1 && max_tries > 0) {
      random_dag_recipe smaller = recipe;
      smaller.n_stages--;
      max_tries--;
      if (!still_fails(user, &smaller)) break;
      recipe = smaller;
      progress = true;
    }
    uint32_t n_draws = count_draws(&recipe);
    for (uint32_t k = 0; k < n_draws && max_tries > 0; k++) {
      if (recipe.shift[k] >= 4) continue;
      random_dag_recipe smaller = recipe;
      smaller.shift[k]++;
      max_tries--;
      if (!still_fails(user, &smaller)) continue;
      recipe = smaller;
      progress = true;
    }
  }
  return recipe;
}
