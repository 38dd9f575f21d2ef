// nets.h - small DAGs of known operators for the tests of dag/.
#ifndef SEER_TEST_DAG_NETS_H
#define SEER_TEST_DAG_NETS_H

#include "dag/dag.h"

typedef struct {
  int64_t n, y, x, ic, oc, k, stride, dilation, pad;
  bool relu;
} conv_shape;

// Shorthands: affine indices without noise.
seer_expr add(seer_dag *dag, seer_expr a, seer_expr b);
seer_expr mul(seer_dag *dag, seer_expr a, seer_expr b);
seer_expr addi(seer_dag *dag, seer_expr a, int64_t b);
seer_expr muli(seer_dag *dag, seer_expr a, int64_t b);
seer_expr cmpi(seer_dag *dag, seer_expr_op op, seer_expr a, int64_t b);
seer_expr f32(seer_dag *dag, double value);

int64_t conv_out(int64_t in, const conv_shape *s);
// $x[n,y,x,ic] $w[oc,ky,kx,ic] -> pad (if s->pad), conv, relu (if s->relu). Buffers 0 and 1 are the
// inputs.
seer_dag *make_conv(seer_arena *arena, const conv_shape *s, uint32_t *out_buf);
// 3x3, no pad
seer_dag *make_depthwise(seer_arena *arena, int64_t y, int64_t c, uint32_t *out_buf);
// 2x2 stride 2
seer_dag *make_max_pool(seer_arena *arena, int64_t y, int64_t c, uint32_t *out_buf);
seer_dag *make_matmul(
    seer_arena *arena, int64_t m, int64_t n, int64_t k, bool relu, uint32_t *out_buf);
seer_dag *make_softmax(seer_arena *arena, int64_t rows, int64_t cols, uint32_t *out_buf);
// ids: value, +1 index
seer_dag *make_argmax(seer_arena *arena, int64_t rows, int64_t cols, uint32_t *out_buf);
seer_dag *make_bias_bn_relu(seer_arena *arena, int64_t rows, int64_t cols, uint32_t *out_buf);

#endif
