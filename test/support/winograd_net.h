// winograd_net.h - a 3x3 convolution, channels last, as the operators write it: [pad,] anchor [,
// bias and relu].
#ifndef SEER_TEST_WINOGRAD_NET_H
#define SEER_TEST_WINOGRAD_NET_H

#include "dag/dag.h"

typedef struct {
  int64_t n, h, w, ic, oc, pad;
  int64_t stride;  // 0: 1
  bool has_epilogue;
  bool is_hwio;  // weights [ky, kx, ic, oc], else [oc, ic, ky, kx]
} winograd_net;

seer_dag *winograd_net_build(const winograd_net *net, seer_arena *arena);

#endif
