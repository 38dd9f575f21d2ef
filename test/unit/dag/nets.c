// nets.c - small DAGs of known operators for the tests of dag/.
#include "nets.h"

#include <math.h>

seer_expr add(seer_dag *dag, seer_expr a, seer_expr b) {
  return seer_expr_binary(&dag->expr, SEER_EXPR_ADD, a, b);
}
seer_expr mul(seer_dag *dag, seer_expr a, seer_expr b) {
  return seer_expr_binary(&dag->expr, SEER_EXPR_MUL, a, b);
}
seer_expr addi(seer_dag *dag, seer_expr a, int64_t b) {
  return add(dag, a, seer_expr_i(&dag->expr, b));
}
seer_expr muli(seer_dag *dag, seer_expr a, int64_t b) {
  return mul(dag, a, seer_expr_i(&dag->expr, b));
}
seer_expr cmpi(seer_dag *dag, seer_expr_op op, seer_expr a, int64_t b) {
  return seer_expr_binary(&dag->expr, op, a, seer_expr_i(&dag->expr, b));
}
seer_expr f32(seer_dag *dag, double value) {
  return seer_expr_f(&dag->expr, SEER_DTYPE_F32, value);
}

static seer_expr and_(seer_dag *dag, seer_expr a, seer_expr b) {
  return seer_expr_binary(&dag->expr, SEER_EXPR_AND, a, b);
}

static seer_dag_axis axis(const char *name, seer_axis_role role, int64_t extent) {
  return (seer_dag_axis){name, extent, role};
}

int64_t conv_out(int64_t in, const conv_shape *s) {
  return (in + 2 * s->pad - s->dilation * (s->k - 1) - 1) / s->stride + 1;
}

static uint32_t add_relu(seer_dag *dag, uint32_t from, const seer_dag_axis *axes, uint32_t n) {
  uint32_t st = seer_dag_add_stage(dag, "relu", SEER_STAGE_EPILOGUE, axes, n, 0);
  seer_expr at[SEER_MAX_RANK];
  for (uint32_t k = 0; k < n; k++) at[k] = seer_dag_var(dag, st, k);
  seer_expr body =
      seer_expr_binary(&dag->expr, SEER_EXPR_MAX, seer_dag_load(dag, from, at), f32(dag, 0));
  return seer_dag_set_body(dag, st, SEER_COMBINE_NONE, &body, 1);
}

seer_dag *make_conv(seer_arena *arena, const conv_shape *s, uint32_t *out_buf) {
  seer_dag *dag = seer_dag_create(arena, "conv");
  int64_t xd[4] = {s->n, s->y, s->x, s->ic}, wd[4] = {s->oc, s->k, s->k, s->ic};
  uint32_t from = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, xd, 4, 0);
  uint32_t w = seer_dag_add_input(dag, "w", SEER_BUF_WEIGHT, SEER_DTYPE_F32, wd, 4, 0);
  if (s->pad > 0) {
    seer_dag_axis a[4] = {axis("n", SEER_AXIS_BATCH, s->n),
        axis("y", SEER_AXIS_Y, s->y + 2 * s->pad), axis("x", SEER_AXIS_X, s->x + 2 * s->pad),
        axis("c", SEER_AXIS_IN_CHANNEL, s->ic)};
    uint32_t st = seer_dag_add_stage(dag, "pad", SEER_STAGE_PAD, a, 4, 0);
    seer_expr y = seer_dag_var(dag, st, 1), x = seer_dag_var(dag, st, 2);
    seer_expr at[4] = {seer_dag_var(dag, st, 0), addi(dag, y, -s->pad), addi(dag, x, -s->pad),
        seer_dag_var(dag, st, 3)};
    seer_expr p = and_(dag,
        and_(dag, cmpi(dag, SEER_EXPR_GE, y, s->pad), cmpi(dag, SEER_EXPR_LT, y, s->y + s->pad)),
        and_(dag, cmpi(dag, SEER_EXPR_GE, x, s->pad), cmpi(dag, SEER_EXPR_LT, x, s->x + s->pad)));
    seer_expr body = seer_dag_load_guarded(dag, from, at, p, f32(dag, 0));
    from = seer_dag_set_body(dag, st, SEER_COMBINE_NONE, &body, 1);
  }
  seer_dag_axis a[7] = {axis("n", SEER_AXIS_BATCH, s->n), axis("y", SEER_AXIS_Y, conv_out(s->y, s)),
      axis("x", SEER_AXIS_X, conv_out(s->x, s)), axis("oc", SEER_AXIS_OUT_CHANNEL, s->oc),
      axis("ky", SEER_AXIS_KY, s->k), axis("kx", SEER_AXIS_KX, s->k),
      axis("ic", SEER_AXIS_IN_CHANNEL, s->ic)};
  uint32_t st = seer_dag_add_stage(dag, "conv", SEER_STAGE_ANCHOR, a, 4, 3);
  seer_expr v[7];
  for (uint32_t k = 0; k < 7; k++) v[k] = seer_dag_var(dag, st, k);
  seer_expr xi[4] = {v[0], add(dag, muli(dag, v[1], s->stride), muli(dag, v[4], s->dilation)),
      add(dag, muli(dag, v[2], s->stride), muli(dag, v[5], s->dilation)), v[6]};
  seer_expr wi[4] = {v[3], v[4], v[5], v[6]};
  seer_expr body = mul(dag, seer_dag_load(dag, from, xi), seer_dag_load(dag, w, wi));
  uint32_t out = seer_dag_set_body(dag, st, SEER_COMBINE_SUM, &body, 1);
  if (s->relu) out = add_relu(dag, out, a, 4);
  seer_dag_mark_output(dag, out, 0);
  seer_dag_finish(dag);
  *out_buf = out;
  return dag;
}

seer_dag *make_depthwise(seer_arena *arena, int64_t y, int64_t c, uint32_t *out_buf) {
  seer_dag *dag = seer_dag_create(arena, "depthwise");
  int64_t xd[3] = {y, y, c}, wd[3] = {3, 3, c};
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, xd, 3, 0);
  uint32_t w = seer_dag_add_input(dag, "w", SEER_BUF_WEIGHT, SEER_DTYPE_F32, wd, 3, 0);
  seer_dag_axis a[5] = {axis("y", SEER_AXIS_Y, y - 2), axis("x", SEER_AXIS_X, y - 2),
      axis("c", SEER_AXIS_GROUP, c), axis("ky", SEER_AXIS_KY, 3), axis("kx", SEER_AXIS_KX, 3)};
  uint32_t st = seer_dag_add_stage(dag, "dw", SEER_STAGE_ANCHOR, a, 3, 2);
  seer_expr v[5];
  for (uint32_t k = 0; k < 5; k++) v[k] = seer_dag_var(dag, st, k);
  seer_expr xi[3] = {add(dag, v[0], v[3]), add(dag, v[1], v[4]), v[2]}, wi[3] = {v[3], v[4], v[2]};
  seer_expr body = mul(dag, seer_dag_load(dag, x, xi), seer_dag_load(dag, w, wi));
  *out_buf = seer_dag_set_body(dag, st, SEER_COMBINE_SUM, &body, 1);
  seer_dag_mark_output(dag, *out_buf, 0);
  seer_dag_finish(dag);
  return dag;
}

seer_dag *make_max_pool(seer_arena *arena, int64_t y, int64_t c, uint32_t *out_buf) {
  seer_dag *dag = seer_dag_create(arena, "pool");
  int64_t xd[3] = {y, y, c};
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, xd, 3, 0);
  seer_dag_axis a[5] = {axis("y", SEER_AXIS_Y, y / 2), axis("x", SEER_AXIS_X, y / 2),
      axis("c", SEER_AXIS_OTHER, c), axis("ky", SEER_AXIS_KY, 2), axis("kx", SEER_AXIS_KX, 2)};
  uint32_t st = seer_dag_add_stage(dag, "pool", SEER_STAGE_ANCHOR, a, 3, 2);
  seer_expr v[5];
  for (uint32_t k = 0; k < 5; k++) v[k] = seer_dag_var(dag, st, k);
  seer_expr xi[3] = {add(dag, muli(dag, v[0], 2), v[3]), add(dag, muli(dag, v[1], 2), v[4]), v[2]};
  seer_expr body = seer_dag_load(dag, x, xi);
  *out_buf = seer_dag_set_body(dag, st, SEER_COMBINE_MAX, &body, 1);
  seer_dag_mark_output(dag, *out_buf, 0);
  seer_dag_finish(dag);
  return dag;
}

seer_dag *make_matmul(
    seer_arena *arena, int64_t m, int64_t n, int64_t k, bool relu, uint32_t *out_buf) {
  seer_dag *dag = seer_dag_create(arena, "matmul");
  int64_t ad[2] = {m, k}, bd[2] = {k, n};
  uint32_t a = seer_dag_add_input(dag, "A", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, ad, 2, 0);
  uint32_t b = seer_dag_add_input(dag, "B", SEER_BUF_WEIGHT, SEER_DTYPE_F32, bd, 2, 0);
  seer_dag_axis ax[3] = {
      axis("i", SEER_AXIS_M, m), axis("j", SEER_AXIS_N, n), axis("k", SEER_AXIS_K, k)};
  uint32_t st = seer_dag_add_stage(dag, "C", SEER_STAGE_ANCHOR, ax, 2, 1);
  seer_expr i = seer_dag_var(dag, st, 0), j = seer_dag_var(dag, st, 1),
            kk = seer_dag_var(dag, st, 2);
  seer_expr body = mul(dag, seer_dag_load(dag, a, (seer_expr[]){i, kk}),
      seer_dag_load(dag, b, (seer_expr[]){kk, j}));
  uint32_t out = seer_dag_set_body(dag, st, SEER_COMBINE_SUM, &body, 1);
  if (relu) out = add_relu(dag, out, ax, 2);
  seer_dag_mark_output(dag, out, 0);
  seer_dag_finish(dag);
  *out_buf = out;
  return dag;
}

seer_dag *make_softmax(seer_arena *arena, int64_t rows, int64_t cols, uint32_t *out_buf) {
  seer_dag *dag = seer_dag_create(arena, "softmax");
  int64_t xd[2] = {rows, cols};
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, xd, 2, 0);
  seer_dag_axis ax[2] = {axis("i", SEER_AXIS_OTHER, rows), axis("k", SEER_AXIS_OTHER, cols)};
  uint32_t st = seer_dag_add_stage(dag, "rowmax", SEER_STAGE_PROLOGUE, ax, 1, 1);
  seer_expr at[2] = {seer_dag_var(dag, st, 0), seer_dag_var(dag, st, 1)};
  seer_expr body = seer_dag_load(dag, x, at);
  uint32_t m = seer_dag_set_body(dag, st, SEER_COMBINE_MAX, &body, 1);
  st = seer_dag_add_stage(dag, "e", SEER_STAGE_PROLOGUE, ax, 2, 0);
  at[0] = seer_dag_var(dag, st, 0), at[1] = seer_dag_var(dag, st, 1);
  body = seer_expr_binary(
      &dag->expr, SEER_EXPR_SUB, seer_dag_load(dag, x, at), seer_dag_load(dag, m, at));
  body = seer_expr_unary(&dag->expr, SEER_EXPR_EXP, body);
  uint32_t e = seer_dag_set_body(dag, st, SEER_COMBINE_NONE, &body, 1);
  st = seer_dag_add_stage(dag, "total", SEER_STAGE_ANCHOR, ax, 1, 1);
  at[0] = seer_dag_var(dag, st, 0), at[1] = seer_dag_var(dag, st, 1);
  body = seer_dag_load(dag, e, at);
  uint32_t sum = seer_dag_set_body(dag, st, SEER_COMBINE_SUM, &body, 1);
  st = seer_dag_add_stage(dag, "y", SEER_STAGE_EPILOGUE, ax, 2, 0);
  at[0] = seer_dag_var(dag, st, 0), at[1] = seer_dag_var(dag, st, 1);
  body = seer_expr_binary(
      &dag->expr, SEER_EXPR_DIV, seer_dag_load(dag, e, at), seer_dag_load(dag, sum, at));
  *out_buf = seer_dag_set_body(dag, st, SEER_COMBINE_NONE, &body, 1);
  seer_dag_mark_output(dag, *out_buf, 0);
  seer_dag_finish(dag);
  return dag;
}

seer_dag *make_argmax(seer_arena *arena, int64_t rows, int64_t cols, uint32_t *out_buf) {
  seer_dag *dag = seer_dag_create(arena, "argmax");
  int64_t xd[2] = {rows, cols};
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, xd, 2, 0);
  seer_dag_axis ax[2] = {axis("i", SEER_AXIS_OTHER, rows), axis("k", SEER_AXIS_OTHER, cols)};
  uint32_t st = seer_dag_add_stage(dag, "best", SEER_STAGE_ANCHOR, ax, 1, 1);
  seer_expr at[2] = {seer_dag_var(dag, st, 0), seer_dag_var(dag, st, 1)};
  seer_expr body[2] = {seer_dag_load(dag, x, at), at[1]};
  *out_buf = seer_dag_set_body(dag, st, SEER_COMBINE_ARGMAX, body, 2);
  seer_dag_mark_output(dag, *out_buf, 0);
  seer_dag_mark_output(dag, *out_buf + 1, 0);
  seer_dag_finish(dag);
  return dag;
}

seer_dag *make_bias_bn_relu(seer_arena *arena, int64_t rows, int64_t cols, uint32_t *out_buf) {
  seer_dag *dag = seer_dag_create(arena, "bn");
  int64_t xd[2] = {rows, cols};
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, xd, 2, 0);
  uint32_t w = seer_dag_add_input(dag, "scale", SEER_BUF_WEIGHT, SEER_DTYPE_F32, &cols, 1, 0);
  uint32_t b = seer_dag_add_input(dag, "bias", SEER_BUF_WEIGHT, SEER_DTYPE_F32, &cols, 1, 0);
  seer_dag_axis ax[2] = {axis("i", SEER_AXIS_OTHER, rows), axis("c", SEER_AXIS_OTHER, cols)};
  uint32_t st = seer_dag_add_stage(dag, "bn", SEER_STAGE_EPILOGUE, ax, 2, 0);
  seer_expr at[2] = {seer_dag_var(dag, st, 0), seer_dag_var(dag, st, 1)};
  seer_expr body = add(dag, mul(dag, seer_dag_load(dag, x, at), seer_dag_load(dag, w, &at[1])),
      seer_dag_load(dag, b, &at[1]));
  uint32_t out = seer_dag_set_body(dag, st, SEER_COMBINE_NONE, &body, 1);
  out = add_relu(dag, out, ax, 2);
  seer_dag_mark_output(dag, out, 0);
  seer_dag_finish(dag);
  *out_buf = out;
  return dag;
}
