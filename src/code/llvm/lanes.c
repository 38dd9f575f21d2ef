// lanes.c - some lanes of vectors as a vector.
#include "code/llvm/llvm.h"

LLVMValueRef seer_llvm_take(LLVMBuilderRef builder, LLVMValueRef x, LLVMValueRef y, uint32_t first,
    uint32_t period, uint32_t lanes) {
  LLVMTypeRef type = LLVMTypeOf(x), i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(type));
  LLVMValueRef from[SEER_VEC_MAX_LANES];
  uint32_t n = LLVMGetVectorSize(type) * (y ? 2 : 1);
  for (uint32_t l = 0; l < lanes; l++) {
    uint32_t at = first + l % period;
    from[l] = at < n ? LLVMConstInt(i32, at, false) : LLVMGetPoison(i32);
  }
  if (!y) y = LLVMGetPoison(type);
  return LLVMBuildShuffleVector(builder, x, y, LLVMConstVector(from, lanes), "");
}
