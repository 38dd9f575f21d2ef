// jit_check.h - loop IR compiled, loaded and run in this process, every buffer at a page that must
// not be touched.
#ifndef SEER_TEST_JIT_CHECK_H
#define SEER_TEST_JIT_CHECK_H

#include "code/kernel.h"

typedef struct jit_runner jit_runner;

jit_runner *jit_runner_create(const seer_target *target);  // NULL target: this machine's
void jit_runner_destroy(jit_runner *runner);
const seer_target *jit_runner_target(const jit_runner *runner);
seer_codegen *jit_runner_codegen(jit_runner *runner);

// Compiles only, for a target that this machine can't run. NULL, or what is wrong (in `arena`):
// LLVM's verifier, or an instruction that the target's list does not allow (isa_check.h). jit_run
// looks for the same.
const char *jit_compile(jit_runner *runner, const seer_loop *loop, seer_arena *arena);

// As seer_loop_eval(loop, data), with compiled code on copies: INPUT and PACKED are copied in;
// OUTPUT and SHARED are filled with NaN first and copied back. The copies end (odd seed) or begin
// (even seed) at an inaccessible page, as far as the alignment that the code may count on allows.
// Parts run in shuffled order. NULL if all went well, else what went wrong, a crash included (in
// `arena`).
const char *jit_run(
    jit_runner *runner, const seer_loop *loop, void *const *data, uint64_t seed, seer_arena *arena);

#endif
