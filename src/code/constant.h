// constant.h - the values of a DAG's constant stages (they depend on weights only), when compiling
// and when checking.
#ifndef SEER_CODE_CONSTANT_H
#define SEER_CODE_CONSTANT_H

#include "dag/dag.h"

// Evaluates buffer `buf`, a value of a constant stage of `dag`.
//   input       by buffer id: the weights, in the DAG's layout; others are not read
//   n_threads   that compiled code runs on; 0: as many as this process may use
//   out_data    seer_dag_buf_elems(buf) elements
// Few elements go through the interpreter; many through compiled code, for the least instruction
// set of this machine's architecture, so that the values do not depend on the model of the machine
// (and, where that set has no fused multiply-add and the stage no exp or the like, are the
// interpreter's to the bit). Errors: RESOURCE; those of lowering and of code generation. Safe in
// parallel.
SEER_MUST_USE seer_status seer_constant_eval(const seer_dag *dag, uint32_t buf,
    const void *const *input, uint32_t n_threads, void *out_data);

#endif
