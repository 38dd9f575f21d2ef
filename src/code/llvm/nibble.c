// nibble.c - four bits of each word as real numbers, where they are one table look-up. Shifted to
// the top and down again and converted, they take three instructions, two of them for one port of
// AVX-512 processors; a permutation of a register that holds -8 to 7 takes the lowest four bits of
// its index and does not look at the others, so that what is left is a shift to the lowest place.
// It is exact, as the conversion is.
#include <string.h>

#include "code/llvm/llvm.h"

enum { LANES = 16, NIBBLE = 4, TOP = 28 };  // of a register; bits; where the highest four begin

// The word whose four bits from place *out_low on `v`, an i32, is, with their sign; 0: it is none.
static seer_vec nibble_of(const seer_vec_code *code, seer_vec v, int64_t *out_low) {
  const seer_vec_node *node = seer_vec_at(code, v);
  seer_vec none = {0};
  uint64_t by;
  if (node->op != SEER_VEC_ASHR || !seer_vec_const_bits(code, node->arg[1], &by) || by != TOP)
    return none;
  *out_low = TOP;
  v = node->arg[0];
  node = seer_vec_at(code, v);
  if (node->op != SEER_VEC_SHL || !seer_vec_const_bits(code, node->arg[1], &by)) return v;
  *out_low = TOP - (int64_t)by;
  return by <= TOP ? node->arg[0] : none;
}

seer_vec seer_llvm_find_nibble(const seer_vec_code *code, const seer_target *target,
    const seer_vec_node *node, int64_t *out_low) {
  const seer_vec_node *from = seer_vec_at(code, node->arg[0]);
  bool is_known = node->elem == SEER_VEC_F32 && node->lanes == LANES && from->elem == SEER_VEC_I32;
  if (!is_known || target->vector_bytes < LANES * sizeof(float) ||
      !seer_target_has(target, "avx512f"))
    return (seer_vec){0};
  return nibble_of(code, node->arg[0], out_low);
}

LLVMValueRef seer_llvm_nibble(
    LLVMModuleRef module, LLVMBuilderRef builder, LLVMValueRef word, int64_t low) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMTypeRef f32 = LLVMFloatTypeInContext(context), i32 = LLVMInt32TypeInContext(context);
  LLVMValueRef number[LANES], by[LANES];
  for (int l = 0; l < LANES; l++) {
    number[l] = LLVMConstReal(f32, l < LANES / 2 ? l : l - LANES);
    by[l] = LLVMConstInt(i32, (uint64_t)low, false);
  }
  if (low > 0) word = LLVMBuildLShr(builder, word, LLVMConstVector(by, LANES), "");
  LLVMValueRef arg[2] = {LLVMConstVector(number, LANES), word};
  return seer_llvm_call(module, builder, "llvm.x86.avx512.permvar.sf.512", NULL, 0, arg, 2);
}
