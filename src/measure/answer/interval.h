// interval.h - what a scalar operator makes of ranges: the least interval that it is easy to say
// that holds every result, and whether the operator may leave its domain.
// Pure: safe from any thread.
#ifndef SEER_MEASURE_ANSWER_INTERVAL_H
#define SEER_MEASURE_ANSWER_INTERVAL_H

#include "measure/answer/domain.h"

typedef struct {
  seer_expr_op op;
  seer_dtype dtype;  // of the result
  bool is_same;  // both operands are one value: x * x is no less than 0
  seer_domain arg[3];
} seer_interval_op;

// Undefined are: a logarithm of what may be 0 or less, a root of what may be less than 0, a divisor
// that may be 0, a power whose base may be less than 0 (0, where the exponent may be) and whose
// exponent is no whole constant, a shift by less than 0 or by as many bits as there are.
seer_domain seer_interval_apply(const seer_interval_op *op, bool *out_is_undefined);
seer_domain seer_interval_union(seer_domain a, seer_domain b);
// n values, combined.
seer_domain seer_interval_combine(
    seer_combiner combiner, seer_dtype dtype, seer_domain value, int64_t n);

#endif
