// pick.c - PICK in LLVM: a permutation of a register of 16 elements, which takes the lowest four
// bits of its index and does not look at the others.
#include "code/llvm/llvm.h"

// Sixteen lanes of `x` from `first` on; those that it has not are anything.
static LLVMValueRef sixteen(LLVMBuilderRef b, LLVMValueRef x, LLVMTypeRef i32, uint32_t first) {
  LLVMValueRef lane[SEER_VEC_PICKS];
  uint32_t n = LLVMGetVectorSize(LLVMTypeOf(x));
  if (n == SEER_VEC_PICKS) return x;
  for (uint32_t l = 0; l < SEER_VEC_PICKS; l++)
    lane[l] = first + l < n ? LLVMConstInt(i32, first + l, false) : LLVMGetPoison(i32);
  LLVMValueRef order = LLVMConstVector(lane, SEER_VEC_PICKS);
  return LLVMBuildShuffleVector(b, x, LLVMGetPoison(LLVMTypeOf(x)), order, "");
}

// The first n lanes of those of x and, behind them, y.
static LLVMValueRef lanes_of(
    LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, LLVMTypeRef i32, uint32_t n) {
  LLVMValueRef lane[SEER_VEC_MAX_LANES];
  for (uint32_t l = 0; l < n; l++) lane[l] = LLVMConstInt(i32, l, false);
  return LLVMBuildShuffleVector(b, x, y, LLVMConstVector(lane, n), "");
}

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
    LLVMValueRef arg[2] = {LLVMConstVector(value, SEER_VEC_PICKS), sixteen(b, number, i32, at)};
    all[n++] = seer_llvm_call(module, b, "llvm.x86.avx512.permvar.sf.512", NULL, 0, arg, 2);
  }
  if (!is_vector) return LLVMBuildExtractElement(b, all[0], zero, "");
  if (lanes < SEER_VEC_PICKS) return lanes_of(b, all[0], all[0], i32, lanes);
  for (uint32_t step = SEER_VEC_PICKS; n > 1; n /= 2, step *= 2)
    for (uint32_t k = 0; k < n / 2; k++)
      all[k] = lanes_of(b, all[2 * k], all[2 * k + 1], i32, 2 * step);
  return all[0];
}
