// pick.c - PICK in LLVM: a permutation of a register of 16 elements, which takes the lowest four
// bits of its index and does not look at the others.
#include "code/llvm/llvm.h"

LLVMValueRef seer_llvm_pick(
    LLVMModuleRef module, LLVMBuilderRef b, const seer_vec_picks *from, LLVMValueRef number) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMTypeRef f32 = LLVMFloatTypeInContext(context), i32 = LLVMInt32TypeInContext(context);
  LLVMTypeRef type = LLVMTypeOf(number);
  bool is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  uint32_t lanes = is_vector ? LLVMGetVectorSize(type) : 1;
  LLVMValueRef value[SEER_VEC_PICKS], zero = LLVMConstInt(i32, 0, false),
                                      all[SEER_VEC_MAX_LANES / SEER_VEC_PICKS] = {NULL};
  for (uint32_t k = 0; k < SEER_VEC_PICKS; k++)
    value[k] = LLVMConstReal(f32, (double)from->value[k]);
  if (!is_vector)
    number = LLVMBuildInsertElement(
        b, LLVMGetPoison(LLVMVectorType(i32, SEER_VEC_PICKS)), number, zero, "");
  uint32_t n = 0;
  for (uint32_t at = 0; at < lanes; at += SEER_VEC_PICKS) {
    bool is_whole = !is_vector || lanes == SEER_VEC_PICKS;
    LLVMValueRef arg[2] = {LLVMConstVector(value, SEER_VEC_PICKS),
        is_whole ? number : seer_llvm_take(b, number, NULL, at, SEER_VEC_PICKS, SEER_VEC_PICKS)};
    all[n++] = seer_llvm_call(module, b, "llvm.x86.avx512.permvar.sf.512", NULL, 0, arg, 2);
  }
  if (!is_vector) return LLVMBuildExtractElement(b, all[0], zero, "");
  if (lanes < SEER_VEC_PICKS) return seer_llvm_take(b, all[0], NULL, 0, lanes, lanes);
  for (uint32_t step = SEER_VEC_PICKS; n > 1; n /= 2, step *= 2)
    for (uint32_t k = 0; k < n / 2; k++)
      all[k] = seer_llvm_take(b, all[2 * k], all[2 * k + 1], 0, 2 * step, 2 * step);
  return all[0];
}
