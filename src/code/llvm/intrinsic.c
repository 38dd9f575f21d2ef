// intrinsic.c - calls of LLVM's intrinsics by name.
#include <string.h>

#include "code/llvm/llvm.h"

LLVMValueRef seer_llvm_call(LLVMModuleRef module, LLVMBuilderRef builder, const char *name,
    LLVMTypeRef *overloads, size_t n_overload, LLVMValueRef *args, uint32_t n_arg) {
  enum { MAX_ARGS = 8 };
  LLVMTypeRef wants[MAX_ARGS];
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  SEER_ASSERT(id != 0 && n_arg <= MAX_ARGS, "intrinsic %s of %u", name, n_arg);
  if (!LLVMIntrinsicIsOverloaded(id)) n_overload = 0;
  LLVMValueRef fn = LLVMGetIntrinsicDeclaration(module, id, overloads, n_overload);
  LLVMTypeRef type = LLVMIntrinsicGetType(LLVMGetModuleContext(module), id, overloads, n_overload);
  LLVMValueRef given[MAX_ARGS];
  LLVMGetParamTypes(type, wants);
  for (uint32_t k = 0; k < n_arg; k++) {
    bool is_vector = LLVMGetTypeKind(wants[k]) == LLVMVectorTypeKind;
    given[k] = is_vector ? LLVMBuildBitCast(builder, args[k], wants[k], "") : args[k];
  }
  return LLVMBuildCall2(builder, type, fn, given, n_arg, "");
}
