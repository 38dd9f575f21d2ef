// matrix.c - MATRIX_* in LLVM: the tile registers of AMX, by the intrinsics that leave to LLVM
// which of the eight a value is in, and their configuration, which it puts in front of the first
// use and takes back at the end of the function. A matrix is a vector of 256 lanes to all else,
// which never sees one: slots of matrices are only loaded from and stored to.
//
// tdpbusd is exact. tdpbf16ps adds the products of all even halves of a row, then those of the odd
// ones, takes numbers below 2^-126 for 0, and rounds each sum once.
#include "code/llvm/llvm.h"
#include "code/vector/vector.h"

static LLVMTypeRef short_of(LLVMModuleRef module) {
  return LLVMInt16TypeInContext(LLVMGetModuleContext(module));
}

static LLVMValueRef count(LLVMModuleRef module, uint32_t n) {
  return LLVMConstInt(short_of(module), n, false);
}

static LLVMValueRef as_tile(LLVMModuleRef module, LLVMBuilderRef b, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return seer_llvm_call(module, b, "llvm.x86.cast.vector.to.tile", &type, 1, &value, 1);
}

static LLVMValueRef as_vector(
    LLVMModuleRef module, LLVMBuilderRef b, LLVMValueRef tile, LLVMTypeRef elem) {
  LLVMTypeRef type = LLVMVectorType(elem, SEER_VEC_MATRIX_LANES);
  return seer_llvm_call(module, b, "llvm.x86.cast.tile.to.vector", &type, 1, &tile, 1);
}

LLVMValueRef seer_llvm_matrix_load(LLVMModuleRef module, LLVMBuilderRef builder, LLVMTypeRef elem,
    seer_vec_matrix shape, LLVMValueRef pointer, LLVMValueRef stride) {
  LLVMValueRef arg[4] = {
      count(module, shape.rows), count(module, 4 * shape.columns), pointer, stride};
  LLVMValueRef tile =
      seer_llvm_call(module, builder, "llvm.x86.tileloadd64.internal", NULL, 0, arg, 4);
  return as_vector(module, builder, tile, elem);
}

void seer_llvm_matrix_store(LLVMModuleRef module, LLVMBuilderRef builder, seer_vec_matrix shape,
    LLVMValueRef value, LLVMValueRef pointer, LLVMValueRef stride) {
  LLVMValueRef arg[5] = {count(module, shape.rows), count(module, 4 * shape.columns), pointer,
      stride, as_tile(module, builder, value)};
  seer_llvm_call(module, builder, "llvm.x86.tilestored64.internal", NULL, 0, arg, 5);
}

LLVMValueRef seer_llvm_matrix_dot(LLVMModuleRef module, LLVMBuilderRef builder,
    seer_vec_matrix shape, LLVMValueRef x, LLVMValueRef y, LLVMValueRef sum) {
  LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(sum));
  bool is_halves = LLVMGetTypeKind(elem) == LLVMFloatTypeKind;
  LLVMValueRef arg[6] = {count(module, shape.rows), count(module, 4 * shape.columns),
      count(module, 4 * shape.depth), as_tile(module, builder, sum), as_tile(module, builder, x),
      as_tile(module, builder, y)};
  LLVMValueRef tile = seer_llvm_call(module, builder,
      is_halves ? "llvm.x86.tdpbf16ps.internal" : "llvm.x86.tdpbusd.internal", NULL, 0, arg, 6);
  return as_vector(module, builder, tile, elem);
}
