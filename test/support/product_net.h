// product_net.h - products of an activation with constant weights, as the operators write them:
// [n, y, x, k] by [k, c], bias and relu behind them; a 1x1 convolution where there is a stride.
#ifndef SEER_TEST_PRODUCT_NET_H
#define SEER_TEST_PRODUCT_NET_H

#include "dag/dag.h"

typedef struct {
  int64_t n, y, x, k, c;
  int64_t stride;  // of y and x in the activation; 0: 1
  bool has_epilogue;
  bool is_turned;  // weights [c, k]
  bool is_batched;  // weights of their own for each n
} product_net;

seer_dag *product_net_build(const product_net *net, seer_arena *arena);

#endif
