// winograd_net.c - see winograd_net.h.
#include "support/winograd_net.h"

static seer_expr plus(seer_dag *dag, seer_expr a, seer_expr b) {
  return seer_expr_binary(&dag->expr, SEER_EXPR_ADD, a, b);
}

static uint32_t pad_input(seer_dag *dag, const winograd_net *net, uint32_t x) {
  seer_dag_axis axes[4] = {{"n", net->n, SEER_AXIS_BATCH},
      {"y", net->h + 2 * net->pad, SEER_AXIS_Y}, {"x", net->w + 2 * net->pad, SEER_AXIS_X},
      {"c", net->ic, SEER_AXIS_IN_CHANNEL}};
  uint32_t stage = seer_dag_add_stage(dag, "pad", SEER_STAGE_PAD, axes, 4, 0);
  seer_expr_pool *pool = &dag->expr;
  seer_expr at[4], predicate = {0};
  for (uint32_t k = 0; k < 4; k++) at[k] = seer_dag_var(dag, stage, k);
  for (uint32_t k = 1; k <= 2; k++) {
    at[k] = plus(dag, at[k], seer_expr_i(pool, -net->pad));
    seer_expr low = seer_expr_binary(pool, SEER_EXPR_GE, at[k], seer_expr_i(pool, 0));
    seer_expr high =
        seer_expr_binary(pool, SEER_EXPR_LT, at[k], seer_expr_i(pool, k == 1 ? net->h : net->w));
    seer_expr both = seer_expr_binary(pool, SEER_EXPR_AND, low, high);
    predicate = predicate.i ? seer_expr_binary(pool, SEER_EXPR_AND, predicate, both) : both;
  }
  seer_expr body =
      seer_dag_load_guarded(dag, x, at, predicate, seer_expr_f(pool, SEER_DTYPE_F32, 0));
  return seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
}

static uint32_t add_epilogue(
    seer_dag *dag, const seer_dag_axis *axes, uint32_t acc, uint32_t bias) {
  uint32_t stage = seer_dag_add_stage(dag, "bias", SEER_STAGE_EPILOGUE, axes, 4, 0);
  seer_expr at[4];
  for (uint32_t k = 0; k < 4; k++) at[k] = seer_dag_var(dag, stage, k);
  seer_expr body = plus(dag, seer_dag_load(dag, acc, at), seer_dag_load(dag, bias, &at[3]));
  uint32_t sum = seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
  stage = seer_dag_add_stage(dag, "relu", SEER_STAGE_EPILOGUE, axes, 4, 0);
  for (uint32_t k = 0; k < 4; k++) at[k] = seer_dag_var(dag, stage, k);
  body = seer_expr_binary(&dag->expr, SEER_EXPR_MAX, seer_dag_load(dag, sum, at),
      seer_expr_f(&dag->expr, SEER_DTYPE_F32, 0));
  return seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
}

seer_dag *winograd_net_build(const winograd_net *net, seer_arena *arena) {
  int64_t stride = net->stride ? net->stride : 1;
  int64_t oh = (net->h + 2 * net->pad - 3) / stride + 1,
          ow = (net->w + 2 * net->pad - 3) / stride + 1;
  seer_dag *dag = seer_dag_create(arena, "conv3x3");
  const int64_t x_dim[4] = {net->n, net->h, net->w, net->ic}, oihw[4] = {net->oc, net->ic, 3, 3},
                hwio[4] = {3, 3, net->ic, net->oc};
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, x_dim, 4, 0);
  uint32_t w = seer_dag_add_input(
      dag, "w", SEER_BUF_WEIGHT, SEER_DTYPE_F32, net->is_hwio ? hwio : oihw, 4, 0);
  uint32_t bias = 0;
  if (net->has_epilogue)
    bias = seer_dag_add_input(dag, "b", SEER_BUF_WEIGHT, SEER_DTYPE_F32, &net->oc, 1, 0);
  if (net->pad > 0) x = pad_input(dag, net, x);
  seer_dag_axis axes[7] = {{"n", net->n, SEER_AXIS_BATCH}, {"y", oh, SEER_AXIS_Y},
      {"x", ow, SEER_AXIS_X}, {"oc", net->oc, SEER_AXIS_OUT_CHANNEL}, {"ky", 3, SEER_AXIS_KY},
      {"kx", 3, SEER_AXIS_KX}, {"ic", net->ic, SEER_AXIS_IN_CHANNEL}};
  uint32_t stage = seer_dag_add_stage(dag, "conv", SEER_STAGE_ANCHOR, axes, 4, 3);
  seer_expr var[7];
  for (uint32_t k = 0; k < 7; k++) var[k] = seer_dag_var(dag, stage, k);
  seer_expr s = seer_expr_i(&dag->expr, stride);
  seer_expr x_at[4] = {var[0],
      plus(dag, seer_expr_binary(&dag->expr, SEER_EXPR_MUL, var[1], s), var[4]),
      plus(dag, seer_expr_binary(&dag->expr, SEER_EXPR_MUL, var[2], s), var[5]), var[6]};
  seer_expr w_oihw[4] = {var[3], var[6], var[4], var[5]},
            w_hwio[4] = {var[4], var[5], var[6], var[3]};
  seer_expr body = seer_expr_binary(&dag->expr, SEER_EXPR_MUL, seer_dag_load(dag, x, x_at),
      seer_dag_load(dag, w, net->is_hwio ? w_hwio : w_oihw));
  uint32_t out = seer_dag_set_body(dag, stage, SEER_COMBINE_SUM, &body, 1);
  if (net->has_epilogue) out = add_epilogue(dag, axes, out, bias);
  seer_dag_mark_output(dag, out, 0);
  seer_dag_finish(dag);
  return dag;
}
