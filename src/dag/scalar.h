// scalar.h - what one scalar operator computes: the single definition that constant folding, the
// interpreter of the DAG and that of the loop IR share.
// - f32 is rounded after each operator; there is no arithmetic of narrower floats: a cast to such a
//   type rounds, and what is of it already is moved, compared, chosen from, or gets another sign.
// - Integers wrap to their width. x / 0 and x % 0 of integers are 0 (generated code may do
// anything).
// - MIN and MAX give NaN when an operand is NaN. MOD of floats is C's fmod.
// All is pure: safe from any thread.
#ifndef SEER_DAG_SCALAR_H
#define SEER_DAG_SCALAR_H

#include "dag/expr.h"

// `dtype` is the result's, `arg_dtype` that of the operands (of CAST and comparisons they differ).
// Unused operands may be anything. SELECT: a is the condition, b and c the choices.
seer_scalar seer_scalar_apply(seer_expr_op op, seer_dtype dtype, seer_dtype arg_dtype,
    seer_scalar a, seer_scalar b, seer_scalar c);
// To the precision that values of `dtype` are computed in (f32 for f32 and narrower).
static inline double seer_scalar_round(seer_dtype dtype, double value) {
  return dtype == SEER_DTYPE_F64 ? value : (double)(float)value;
}
// An f32 as tensor cores take it as TF32: the nearest number of 11 bits, ties away from 0, which is
// infinity beyond the largest one. NaN and infinities stay.
double seer_scalar_tf32(double value);
int64_t seer_scalar_wrap(seer_dtype dtype, int64_t value);
// The ends of a type, from which all limits and identities come: of floats the infinities, or the
// largest finite numbers where it has none.
seer_scalar seer_scalar_lowest(seer_dtype dtype);
seer_scalar seer_scalar_highest(seer_dtype dtype);
// float to integer: toward zero, NaN is 0
int64_t seer_scalar_saturate(seer_dtype dtype, double value);
seer_scalar seer_scalar_load(seer_dtype dtype, const void *data, int64_t index);
void seer_scalar_store(seer_dtype dtype, void *data, int64_t index, seer_scalar value);

#endif
