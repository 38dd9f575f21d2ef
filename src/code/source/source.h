// source.h - vector code -> the text of a program, in one of several dialects: C with the vector
// extensions of GCC and clang, plain C17, and of block programs OpenCL C and CUDA C. Instruction by
// instruction; nothing is decided here. Any thread; texts are in the arena.
#ifndef SEER_CODE_SOURCE_H
#define SEER_CODE_SOURCE_H

#include "code/vector/vector.h"
#include "setup/target.h"

typedef struct seer_dialect seer_dialect;
extern const seer_dialect *const seer_dialect_table[];
extern const size_t seer_dialect_table_count;
// "c" (lanes are 1), "c-vectors", "opencl", "cuda"; NULL: none. For tests.
const seer_dialect *seer_dialect_find(const char *name);
// Of C, the one for a processor: vectors where it has some.
const seer_dialect *seer_dialect_of(const seer_target *target);

// What stands once in front of any number of kernels: types and helpers.
const char *seer_source_prelude(const seer_dialect *dialect, seer_arena *arena);
// One kernel: a function for each phase, `void NAME(void *const *buffers, uint32_t part)`, as
// code/kernel.h has it; the last buffer is the thread's scratch. Of block programs a kernel for
// each phase, whose arguments are those of the loop in their order: launched with as many blocks as
// the phase has parts, and seer_items_of_phase items each.
// Errors: UNSUPPORTED where the dialect has no word for something (more than one lane in plain C),
// a block program in C, something else in a dialect for these.
SEER_MUST_USE seer_status seer_source_print(const seer_vec_code *code, const seer_dialect *dialect,
    seer_arena *arena, const char **out_text);

#endif
