// llvm.h - what the files of the LLVM back end share. Internal to code/.
//
//   module.c     vector code -> module -> passes -> ELF object
//   translate.c  vector code -> LLVM IR, instruction by instruction
//   intrinsic.c  calls of LLVM's intrinsics
//   lanes.c      some lanes of vectors as a vector
//   dot.c        one of them: products of bytes
//   matrix.c     products of matrices
//   lookup.c     another: bytes out of a table of 256
//   pick.c       another: elements out of a register of sixteen
//   nibble.c     a few of them at once: four bits of a word as a real number
//   switches.c   two passes of LLVM's that are off while a code generator lives
#ifndef SEER_CODE_LLVM_H
#define SEER_CODE_LLVM_H

#include <llvm-c/Core.h>

#include "code/vector/vector.h"
#include "setup/target.h"

void seer_llvm_init(void);  // targets of LLVM, once per process; any thread, any number of times

// For the process, from the first switch_off to the last switch_on. Threads: any.
void seer_llvm_switch_off(void);
void seer_llvm_switch_on(void);

// Adds a function for each phase of `code` to `module`, which has its data layout. As many threads
// at a time as there are LLVM contexts.
//   target  what DOT4 and DOT2 are made of follows from its features
//   arena   for the time of the call
//   out_fn  by phase
void seer_llvm_translate(const seer_vec_code *code, const seer_target *target, LLVMModuleRef module,
    seer_arena *arena, LLVMValueRef *out_fn);

// Calls an intrinsic by its name; one that is not overloaded takes no `overloads`. Arguments that
// are vectors are taken as the vectors of that size that it wants.
LLVMValueRef seer_llvm_call(LLVMModuleRef module, LLVMBuilderRef builder, const char *name,
    LLVMTypeRef *overloads, size_t n_overload, LLVMValueRef *args, uint32_t n_arg);

// MATRIX_..., for targets that seer_target_multiplies_... says have them. A function that has any
// ends with seer_llvm_matrix_end.
void seer_llvm_matrix_shapes(
    LLVMModuleRef module, LLVMBuilderRef builder, const seer_vec_shapes *shapes);
void seer_llvm_matrix_zero(LLVMModuleRef module, LLVMBuilderRef builder, uint32_t matrix);
void seer_llvm_matrix_load(LLVMModuleRef module, LLVMBuilderRef builder, uint32_t matrix,
    LLVMValueRef pointer, LLVMValueRef stride);
void seer_llvm_matrix_store(LLVMModuleRef module, LLVMBuilderRef builder, uint32_t matrix,
    LLVMValueRef pointer, LLVMValueRef stride);
void seer_llvm_matrix_dot(
    LLVMModuleRef module, LLVMBuilderRef builder, bool is_halves, seer_vec_matrix_regs regs);
void seer_llvm_matrix_end(LLVMModuleRef module, LLVMBuilderRef builder);

// Lanes first, first + 1, ... of x and, behind them, of y, which is as long (NULL: none), after
// `period` of them from the first one again; those beyond are anything.
LLVMValueRef seer_llvm_take(LLVMBuilderRef builder, LLVMValueRef x, LLVMValueRef y, uint32_t first,
    uint32_t period, uint32_t lanes);

// acc + dot4(a, b), or dot2 where acc is f32, of any number of lanes, where `builder` stands. The
// function that it stands in gets the target's features.
LLVMValueRef seer_llvm_dot(const seer_target *target, LLVMModuleRef module, LLVMBuilderRef builder,
    LLVMValueRef a, LLVMValueRef b, LLVMValueRef acc);

// Whether there are instructions that take bytes out of a table in registers; else a load for each
// lane is what there is.
bool seer_llvm_has_lookup(const seer_target *target);
// The bytes of `table` (i8 x 256) that `number` (i8, any number of lanes, without sign) names, by
// those instructions.
LLVMValueRef seer_llvm_lookup(const seer_target *target, LLVMModuleRef module,
    LLVMBuilderRef builder, LLVMValueRef table, LLVMValueRef number);
// The elements of `from` that `number` (i32, one lane or a power of two of them) names by its
// lowest four bits. For AVX-512.
LLVMValueRef seer_llvm_pick(
    LLVMModuleRef module, LLVMBuilderRef builder, const seer_vec_picks *from, LLVMValueRef number);
// The word that SINT_FLOAT `node` takes four bits of, with their sign, from place *out_low on,
// where `target` has them by a look-up; 0: it takes something else, or the target has not.
seer_vec seer_llvm_find_nibble(const seer_vec_code *code, const seer_target *target,
    const seer_vec_node *node, int64_t *out_low);
LLVMValueRef seer_llvm_nibble(
    LLVMModuleRef module, LLVMBuilderRef builder, LLVMValueRef word, int64_t low);

#endif
