// llvm.h - what the files of the LLVM back end share. Internal to code/.
//
//   module.c     vector code -> module -> passes -> ELF object
//   translate.c  vector code -> LLVM IR, instruction by instruction
//   switches.c   two passes of LLVM's that are off while a code generator lives
#ifndef SEER_CODE_LLVM_H
#define SEER_CODE_LLVM_H

#include <llvm-c/Core.h>

#include "code/vector/vector.h"

void seer_llvm_init(void);  // targets of LLVM, once per process; any thread, any number of times

// For the process, from the first switch_off to the last switch_on. Threads: any.
void seer_llvm_switch_off(void);
void seer_llvm_switch_on(void);

// Adds a function for each phase of `code` to `module`, which has its data layout. As many threads
// at a time as there are LLVM contexts.
//   arena   for the time of the call
//   out_fn  by phase
void seer_llvm_translate(
    const seer_vec_code *code, LLVMModuleRef module, seer_arena *arena, LLVMValueRef *out_fn);

#endif
