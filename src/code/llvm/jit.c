// jit.c - object bytes -> callable functions in this process, through LLVM's ORC. Every object gets
// a dylib of its own, so that two kernels may have the same symbols; emptied dylibs are used again.
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <stdio.h>
#include <string.h>

#include "base/processors.h"
#include "code/kernel.h"
#include "code/llvm/llvm.h"

typedef struct {
  LLVMOrcJITDylibRef dylib;
  bool is_used;
} slot;

struct seer_jit {
  seer_arena *arena;  // holds this struct
  LLVMOrcLLJITRef lljit;
  slot *slots;
  size_t n, cap;
};

static seer_status from_llvm(LLVMErrorRef error, const char *what) {
  if (!error) return SEER_OK;
  char *message = LLVMGetErrorMessage(error);
  seer_status status = SEER_FAIL(INTERNAL, "%s: %s", what, message);
  LLVMDisposeErrorMessage(message);
  return status;
}

seer_status seer_jit_create(seer_jit **out_jit) {
  seer_llvm_init();
  (void)seer_processors_ask_for_tiles();  // a target has them only where this is granted
  *out_jit = NULL;
  LLVMOrcLLJITRef lljit;
  SEER_TRY(from_llvm(LLVMOrcCreateLLJIT(&lljit, NULL), "ORC"));
  seer_arena *arena = seer_arena_create("jit");
  seer_jit *jit = SEER_NEW(arena, seer_jit);
  *jit = (seer_jit){.arena = arena, .lljit = lljit};
  *out_jit = jit;
  return SEER_OK;
}

void seer_jit_destroy(seer_jit *jit) {
  if (!jit) return;
  LLVMConsumeError(LLVMOrcDisposeLLJIT(jit->lljit));
  seer_arena_destroy(jit->arena);
}

static size_t free_slot(seer_jit *jit) {
  for (size_t k = 0; k < jit->n; k++) {
    if (!jit->slots[k].is_used) return k;
  }
  jit->slots = SEER_GROW(jit->arena, slot, jit->slots, jit->n, &jit->cap);
  char name[32];
  snprintf(name, sizeof(name), "kernel%zu", jit->n);
  LLVMOrcExecutionSessionRef session = LLVMOrcLLJITGetExecutionSession(jit->lljit);
  jit->slots[jit->n].dylib = LLVMOrcExecutionSessionCreateBareJITDylib(session, name);
  return jit->n++;
}

typedef struct {
  LLVMErrorRef error;
  uint64_t *address;  // by phase
} lookup;

static void keep_addresses(
    LLVMErrorRef error, LLVMOrcCSymbolMapPairs result, size_t n, void *user) {
  lookup *l = user;
  l->error = error;
  for (size_t k = 0; !error && k < n; k++) {
    const char *name = LLVMOrcSymbolStringPoolEntryStr(result[k].Name);
    uint32_t phase = 0;
    if (sscanf(strrchr(name, '_'), "_p%" SCNu32, &phase) == 1)
      l->address[phase] = result[k].Sym.Address;
  }
}

seer_status seer_jit_load(
    seer_jit *jit, const seer_kernel *kernel, seer_kernel_phase *out_phase, uint64_t *out_handle) {
  size_t at = free_slot(jit);
  LLVMOrcJITDylibRef dylib = jit->slots[at].dylib;
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
      kernel->object, kernel->n_object_bytes, kernel->symbol);
  SEER_TRY(from_llvm(LLVMOrcLLJITAddObjectFile(jit->lljit, dylib, buffer), "ORC: adding a kernel"));
  jit->slots[at].is_used = true;
  *out_handle = at + 1;

  LLVMOrcExecutionSessionRef session = LLVMOrcLLJITGetExecutionSession(jit->lljit);
  LLVMOrcCLookupSetElement wanted[SEER_DAG_MAX_STAGES];
  uint64_t address[SEER_DAG_MAX_STAGES] = {0};
  seer_arena_mark mark = seer_arena_save(jit->arena);
  for (uint32_t p = 0; p < kernel->n_phase; p++) {
    const char *name = seer_arena_printf(jit->arena, "%s_p%u", kernel->symbol, p);
    wanted[p].Name = LLVMOrcLLJITMangleAndIntern(jit->lljit, name);
    wanted[p].LookupFlags = LLVMOrcSymbolLookupFlagsRequiredSymbol;
  }
  seer_arena_rewind(jit->arena, mark);
  LLVMOrcCJITDylibSearchOrderElement order = {
      .JD = dylib, .JDLookupFlags = LLVMOrcJITDylibLookupFlagsMatchAllSymbols};
  lookup result = {.address = address};
  LLVMOrcExecutionSessionLookup(session, LLVMOrcLookupKindStatic, &order, 1, wanted,
      kernel->n_phase, keep_addresses,
      &result);  // in place: no dispatcher was set
  seer_status status = from_llvm(result.error, "ORC: loading a kernel");
  for (uint32_t p = 0; p < kernel->n_phase && !status; p++) {
    if (address[p] == 0)
      status = SEER_FAIL(INTERNAL, "ORC: kernel %s has no phase %u", kernel->symbol, p);
    memcpy(&out_phase[p], &address[p], sizeof(out_phase[p]));
  }
  if (status) seer_jit_unload(jit, *out_handle);
  return status;
}

void seer_jit_unload(seer_jit *jit, uint64_t handle) {
  SEER_ASSERT(handle >= 1 && handle <= jit->n, "handle %" PRIu64, handle);
  slot *s = &jit->slots[handle - 1];
  if (!s->is_used) return;
  LLVMConsumeError(LLVMOrcJITDylibClear(s->dylib));
  s->is_used = false;
}
