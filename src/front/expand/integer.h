// integer.h - products of bytes by constant bytes, in the one form that fast kernels are made for:
//   sum k: i32(x[k]) * i32(w[k])  +  c        x is u8, w is i8, of zero point 0
// Signed x are read as u8, 128 higher (the sign bit turned over), and so is their zero point. What
// zero points come to stands in the constant c: sum (x - zx) * w = sum x * w - zx * sum w; padding
// is by the zero point, so that it comes to 0. Weights become i8 by taking their zero point off,
// and stay bytes: the widening is in the sum (IntegerConv, IntegerMatMul), where no folding sees
// it. A depthwise convolution, which has no bytes to add up that lie side by side, is one of f32
// (WholeConv), exact as its sums are below 2^24.
// Private to src/front; memory, threads and failures are expand.h's.
#ifndef SEER_FRONT_EXPAND_INTEGER_H
#define SEER_FRONT_EXPAND_INTEGER_H

#include "front/expand/expand.h"

typedef struct {
  // x: u8 or i8. Its zero point is one number, of its type; data only in a product of matrices.
  // 0: it is 0.
  seer_val x, x_zero;
  // w: u8 or i8, constant. Zero points: one, or one for each column or output channel. 0: it is 0.
  seer_val w, w_zero;
  // i32, added to the sums: [columns] or [output channels]. 0: none.
  seer_val bias;
  bool is_conv;  // Conv's operands and attributes; else MatMul's
  bool is_turned;  // of MatMul: w is a matrix [columns, k]
  const seer_attr *attr;  // of Conv; others among them are passed over
  uint32_t n_attr;
} seer_integer_product;

// Whether the product can be written in that form: operands and zero points are as above, weights
// less their zero points fit i8, no sum passes i32, no dimension's size is data. What makes a
// constant operand is folded.
SEER_MUST_USE seer_status seer_integer_fits(
    seer_graph *graph, const seer_integer_product *product, bool *out_fits);
// The product in `dtype` (i32 or f32, to which a sum is rounded), where it fits; else *out_did is
// false, and nothing is added.
SEER_MUST_USE seer_status seer_integer_expand(seer_expand *e, const seer_integer_product *product,
    seer_dtype dtype, seer_val *out_value, bool *out_did);
// The content of `v`, if it is constant or can be folded; else NULL.
SEER_MUST_USE seer_status seer_integer_constant(
    seer_graph *graph, seer_val v, const seer_tensor **out_tensor);
// A scale (input k) in f32 that broadcasts along `axis` of a result of rank `rank`.
seer_val seer_expand_scale_along(seer_expand *e, uint32_t k, int64_t axis, uint32_t rank);

#endif
