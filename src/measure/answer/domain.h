// domain.h - which numbers may a task's made-up operands be, so that what it computes of them is
// defined? A logarithm wants what is positive, a divisor what is not zero, an index what is there.
//
// The ranges of all values follow from those of the operands, expression by expression (interval
// arithmetic: never too narrow, often too wide). Where an operation may leave its domain by them,
// the operands that feed it are given another range out of a few, as long as that leaves fewer
// operations undefined. What cannot be helped so stays as it was: such elements are left out of
// comparisons (answer.h).
//
// Memory: `arena`'s, for a moment. Pure: safe from any thread. Errors: none.
#ifndef SEER_MEASURE_ANSWER_DOMAIN_H
#define SEER_MEASURE_ANSWER_DOMAIN_H

#include "dag/dag.h"

typedef struct {
  double low, high;  // both included; of integers whole numbers
} seer_domain;

// Of every input of a finished DAG, by buffer; of others nothing is said. Where nothing is
// undefined by it: reals in [-1, 1], of weights with several rows so much less that sums of
// products stay near 1; flags 0 and 1; integers that say where to read or write any such place,
// others 0 and 1.
void seer_domains_choose(
    const seer_dag *dag, seer_arena *arena, seer_domain out[SEER_DAG_MAX_BUFFERS]);

// What can be said of a DAG's values when its inputs are in `domains`.
typedef struct {
  uint32_t n_undefined;  // operations that may leave their domain
  seer_domain of[SEER_DAG_MAX_BUFFERS];  // by buffer, of inputs and of stages
  // The last digit of a real decides about more than the last digit of this buffer: it is rounded
  // to whole numbers, compared, or made an integer, and not all of it is exact.
  bool has_jumps[SEER_DAG_MAX_BUFFERS];
} seer_ranges;
void seer_ranges_find(
    const seer_dag *dag, const seer_domain *domains, seer_arena *arena, seer_ranges *out);

#endif
