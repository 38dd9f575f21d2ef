// matrix.c - MATRIX_* in LLVM: the tile registers of AMX, by their numbers. (The intrinsics that
// leave registers to LLVM give each of them one shape in a function, and end the process where the
// shapes are more than registers.)
//
// tdpbusd is exact. tdpbf16ps adds the products of all even halves of a row, then those of the odd
// ones, takes numbers below 2^-126 for 0, and rounds each sum once.
#include "code/llvm/llvm.h"

// The configuration as ldtilecfg reads it.
typedef struct {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} configuration;
_Static_assert(sizeof(configuration) == 64, "as ldtilecfg reads it");

static LLVMValueRef number(LLVMModuleRef module, uint32_t n) {
  return LLVMConstInt(LLVMInt8TypeInContext(LLVMGetModuleContext(module)), n, false);
}

void seer_llvm_matrix_shapes(
    LLVMModuleRef module, LLVMBuilderRef builder, const seer_vec_shapes *shapes) {
  configuration c = {.palette = 1};
  for (uint32_t k = 0; k < SEER_VEC_MATRICES; k++) {
    c.rows[k] = shapes->rows[k];
    c.row_bytes[k] = (uint16_t)(4 * shapes->columns[k]);
  }
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMValueRef bytes =
      LLVMConstStringInContext2(context, (const char *)&c, sizeof(c), /*DontNullTerminate=*/true);
  LLVMValueRef at = LLVMAddGlobal(module, LLVMTypeOf(bytes), "shapes");
  LLVMSetInitializer(at, bytes);
  LLVMSetGlobalConstant(at, true);
  LLVMSetLinkage(at, LLVMPrivateLinkage);
  LLVMSetAlignment(at, sizeof(c));
  seer_llvm_call(module, builder, "llvm.x86.ldtilecfg", NULL, 0, &at, 1);
}

void seer_llvm_matrix_zero(LLVMModuleRef module, LLVMBuilderRef builder, uint32_t matrix) {
  LLVMValueRef arg[1] = {number(module, matrix)};
  seer_llvm_call(module, builder, "llvm.x86.tilezero", NULL, 0, arg, 1);
}

void seer_llvm_matrix_load(LLVMModuleRef module, LLVMBuilderRef builder, uint32_t matrix,
    LLVMValueRef pointer, LLVMValueRef stride) {
  LLVMValueRef arg[3] = {number(module, matrix), pointer, stride};
  seer_llvm_call(module, builder, "llvm.x86.tileloadd64", NULL, 0, arg, 3);
}

void seer_llvm_matrix_store(LLVMModuleRef module, LLVMBuilderRef builder, uint32_t matrix,
    LLVMValueRef pointer, LLVMValueRef stride) {
  LLVMValueRef arg[3] = {number(module, matrix), pointer, stride};
  seer_llvm_call(module, builder, "llvm.x86.tilestored64", NULL, 0, arg, 3);
}

void seer_llvm_matrix_dot(
    LLVMModuleRef module, LLVMBuilderRef builder, bool is_halves, seer_vec_matrix_regs regs) {
  LLVMValueRef arg[3] = {number(module, regs.sum), number(module, regs.x), number(module, regs.y)};
  seer_llvm_call(
      module, builder, is_halves ? "llvm.x86.tdpbf16ps" : "llvm.x86.tdpbusd", NULL, 0, arg, 3);
}

void seer_llvm_matrix_end(LLVMModuleRef module, LLVMBuilderRef builder) {
  seer_llvm_call(module, builder, "llvm.x86.tilerelease", NULL, 0, NULL, 0);
}
