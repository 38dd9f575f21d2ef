// byte_net.h - a convolution of bytes, or a product of matrices with all of it 1:
// [pad,] anchor of i32 [, a constant for each channel, a factor, rounding and saturation to u8].
#ifndef SEER_TEST_BYTE_NET_H
#define SEER_TEST_BYTE_NET_H

#include "dag/dag.h"

typedef struct {
  int64_t n, h, w, ic, oc;
  int64_t window;  // 0: 1
  int64_t pad, stride;  // 0: 1
  int64_t groups;  // 0: 1; ic and oc are those of all groups
  int64_t zero;  // what is padded
  bool is_guarded;  // the padding is a guard of the product's own load, else a stage
  bool is_signed;  // x is i8, with its sign turned where it is read
  bool is_nchw;  // x has its channels in front of its rows
  bool is_last;  // weights [ky, kx, ic, oc], else [oc, ky, kx, ic]
  bool has_epilogue;
} byte_net;

seer_dag *byte_net_build(const byte_net *net, seer_arena *arena);

#endif
