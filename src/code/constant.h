// constant.h - the values of a DAG's constant stages (they depend on weights only), when compiling
// and when checking.
//
// Few elements go through the interpreter; many through compiled code, for the least instruction
// set of the machine's architecture, so that the values do not depend on the model of the machine
// (and, where that set has no fused multiply-add and the stage no exp or the like, are the
// interpreter's to the bit). Whoever evaluates without a compiler (a runner on a board) is given
// the kernels.
//
// Threads: any; evaluation is safe in parallel.
#ifndef SEER_CODE_CONSTANT_H
#define SEER_CODE_CONSTANT_H

#include "code/kernel.h"

// Evaluates buffer `buf`, a value of a constant stage of `dag`, on this machine.
//   input       by buffer id: the weights, in the DAG's layout; others are not read
//   n_threads   that compiled code runs on; 0: as many as this process may use
//   out_data    seer_dag_buf_elems(buf) elements
// Errors: RESOURCE; those of lowering and of code generation.
SEER_MUST_USE seer_status seer_constant_eval(const seer_dag *dag, uint32_t buf,
    const void *const *input, uint32_t n_threads, void *out_data);

// The code that evaluates a constant stage, and of which one: both ends find the same key. What
// else there is to say of it follows from the stage.
typedef struct {
  uint64_t key;
  uint64_t scratch_bytes;  // per thread
  const void *object;
  size_t n_object_bytes;
} seer_constant_kernel;

// Grows in the arena that it is compiled into.
typedef struct {
  size_t n, cap;
  seer_constant_kernel *kernel;
} seer_constant_kernels;

// Adds the kernels that `buf` of `dag` takes on a machine of the target's architecture, each once;
// none where it is interpreted. Errors: as above.
SEER_MUST_USE seer_status seer_constant_compile(const seer_dag *dag, uint32_t buf,
    const seer_target *target, seer_arena *arena, seer_constant_kernels *kernels);
// As seer_constant_eval, with these kernels, which are for `target`. INTERNAL: one is missing, or
// cannot be loaded.
SEER_MUST_USE seer_status seer_constant_eval_with(const seer_constant_kernels *kernels,
    const seer_target *target, const seer_dag *dag, uint32_t buf, const void *const *input,
    uint32_t n_threads, void *out_data);

// ---- what these are made of
// Where the kernel of `loop` comes from; `target` is the least of its architecture. `out` in
// `arena`.
typedef struct {
  seer_status (*make)(void *user, uint64_t key, const seer_target *target, const seer_loop *loop,
      seer_arena *arena, seer_kernel *out);
  void *user;
} seer_constant_maker;
#define SEER_CONSTANT_SYMBOL "constant"  // of all of them

// input NULL: nothing is evaluated, only made.
SEER_MUST_USE seer_status seer_constant_run(const seer_constant_maker *maker,
    const seer_target *target, const seer_dag *dag, uint32_t buf, const void *const *input,
    uint32_t n_threads, void *out_data);

#endif
