// module.c - loop IR -> vector code -> LLVM module -> passes -> ELF object.
// The loop and SLP vectorisers and the unroller do not run: what the schedule says is what the code
// does. The passes are those that clean up after the generator: allocas to registers, common
// subexpressions, loop invariants.
#include <elf.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/recover.h"
#include "code/gen/generate.h"
#include "code/kernel.h"
#include "code/llvm/llvm.h"
#include "setup/isa.h"

#define PASSES \
  "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(licm),early-cse)"

// A kernel on its way.
typedef struct {
  const seer_loop *loop;
  seer_arena *arena;
  LLVMContextRef context;
  LLVMModuleRef module;
  uint64_t scratch_bytes;
} work;

struct seer_codegen {
  seer_arena *arena;  // holds this struct
  const seer_context *context;
  const seer_target *target;
  const char *base_cpu;
  LLVMTargetMachineRef machine;
  LLVMTargetDataRef layout;
  LLVMPassBuilderOptionsRef options;
};

#define INIT_TARGET(name)               \
  do {                                  \
    LLVMInitialize##name##TargetInfo(); \
    LLVMInitialize##name##Target();     \
    LLVMInitialize##name##TargetMC();   \
    LLVMInitialize##name##AsmPrinter(); \
  } while (0)

// Those of seer_isa, and no others: what is named here is what a program is linked with.
static void init_targets(void) {
  INIT_TARGET(X86);
  INIT_TARGET(AArch64);
  INIT_TARGET(RISCV);
}

void seer_llvm_init(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, init_targets);
}

seer_status seer_codegen_create(
    const seer_context *context, const seer_target *target, seer_codegen **out) {
  seer_llvm_init();
  *out = NULL;
  SEER_TRY(seer_target_check_cpu(target));
  if (seer_target_is_c(target))
    return SEER_FAIL(UNSUPPORTED,
        "target '%s' has no instruction set: its code can only be written as C, by compile "
        "--emit c",
        target->triple);
  LLVMTargetRef llvm;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(target->triple, &llvm, &message)) {
    seer_status status = SEER_FAIL(INVALID, "target triple '%s': %s", target->triple, message);
    LLVMDisposeMessage(message);
    return status;
  }
  seer_isa isa;
  if (!seer_isa_of(target->triple, &isa))
    return SEER_FAIL(
        UNSUPPORTED, "target triple '%s': no code is generated for it", target->triple);
  seer_arena *arena = seer_arena_create("codegen");
  seer_codegen *codegen = SEER_NEW(arena, seer_codegen);  // first: LLVM's objects are not released
  LLVMTargetMachineRef machine =
      LLVMCreateTargetMachine(llvm, target->triple, seer_isa_base_cpu(isa), target->features,
          LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelSmall);
  if (!machine) {
    seer_arena_destroy(arena);
    return SEER_FAIL(INVALID, "target '%s': LLVM has no such machine", target->triple);
  }
  *codegen =
      (seer_codegen){.arena = arena, .context = context, .target = target, .machine = machine};
  codegen->base_cpu = seer_isa_base_cpu(isa);
  codegen->layout = LLVMCreateTargetDataLayout(machine);
  codegen->options = LLVMCreatePassBuilderOptions();
  seer_llvm_switch_off();
  *out = codegen;
  return SEER_OK;
}

void seer_codegen_destroy(seer_codegen *codegen) {
  if (!codegen) return;
  seer_llvm_switch_on();
  LLVMDisposePassBuilderOptions(codegen->options);
  LLVMDisposeTargetData(codegen->layout);
  LLVMDisposeTargetMachine(codegen->machine);
  seer_arena_destroy(codegen->arena);
}

// ---- the module

static void attribute(work *w, LLVMValueRef fn, const char *key, const char *value) {
  LLVMAttributeRef a = LLVMCreateStringAttribute(
      w->context, key, (unsigned)strlen(key), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

static void flag(work *w, LLVMValueRef fn, LLVMAttributeIndex at, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(w->context, kind, 0));
}

// The instructions are the architecture's plain ones and those of the target's list, not whatever
// the processor of that name has: the list is what is asked for where the code runs. The processor
// decides on which of them are fast.
static void set_attributes(work *w, const seer_codegen *codegen, LLVMValueRef fn) {
  const seer_target *target = codegen->target;
  char width[16];
  snprintf(width, sizeof(width), "%u", target->vector_bytes * 8);
  attribute(w, fn, "target-cpu", codegen->base_cpu);
  attribute(w, fn, "tune-cpu", target->cpu);
  attribute(w, fn, "target-features", target->features);
  attribute(w, fn, "prefer-vector-width", width);
  attribute(w, fn, "min-legal-vector-width", width);
  attribute(w, fn, "no-builtins", "");
  attribute(w, fn, "frame-pointer", "none");
  flag(w, fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "nounwind");
  flag(w, fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "mustprogress");
  flag(w, fn, 1, "noalias");
  flag(w, fn, 1, "readonly");
}

static void open_module(work *w, const seer_codegen *codegen, const char *symbol) {
  w->context = LLVMContextCreate();
  w->module = LLVMModuleCreateWithNameInContext(symbol, w->context);
  LLVMSetTarget(w->module, codegen->target->triple);
  LLVMSetModuleDataLayout(w->module, codegen->layout);
}

static void close_module(work *w) {
  LLVMDisposeModule(w->module);
  LLVMContextDispose(w->context);
}

static seer_status fill_module(work *w, const seer_codegen *codegen, const char *symbol) {
  seer_gen_machine machine = seer_gen_machine_of(codegen->target);
  seer_vec_code *code;
  SEER_TRY(seer_gen_code(w->loop, &machine, symbol, w->arena, &code));
  w->scratch_bytes = code->scratch_bytes;
  LLVMValueRef fn[SEER_DAG_MAX_STAGES];
  seer_llvm_translate(code, codegen->target, w->module, w->arena, fn);
  for (uint32_t p = 0; p < code->n_phase; p++) set_attributes(w, codegen, fn[p]);
  char *message = NULL;
  bool is_broken = LLVMVerifyModule(w->module, LLVMReturnStatusAction, &message);
  seer_status status = SEER_OK;
  if (is_broken)
    status = SEER_FAIL(INTERNAL, "loop %s: LLVM refuses the module: %s", w->loop->name, message);
  LLVMDisposeMessage(message);
  return status;
}

static seer_status run_passes(work *w, const seer_codegen *codegen) {
  LLVMErrorRef error = LLVMRunPasses(w->module, PASSES, codegen->machine, codegen->options);
  if (!error) return SEER_OK;
  char *message = LLVMGetErrorMessage(error);
  seer_status status = SEER_FAIL(INTERNAL, "loop %s: LLVM passes: %s", w->loop->name, message);
  LLVMDisposeErrorMessage(message);
  return status;
}

// ---- the object

// Counts the bytes of code and finds undefined symbols: a kernel must not call anything.
static seer_status inspect_object(
    const seer_loop *loop, const void *bytes, size_t n_bytes, uint32_t *out_code) {
  const Elf64_Ehdr *header = bytes;
  *out_code = 0;
  bool is_elf64 = n_bytes > sizeof(*header) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
      header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB;
  if (!is_elf64)
    return SEER_FAIL(UNSUPPORTED, "loop %s: the target's objects are not 64-bit ELF", loop->name);
  const char *base = bytes;
  const Elf64_Shdr *section = (const void *)(base + header->e_shoff);
  for (uint32_t k = 0; k < header->e_shnum; k++) {
    if (section[k].sh_flags & SHF_EXECINSTR) *out_code += (uint32_t)section[k].sh_size;
    if (section[k].sh_type != SHT_SYMTAB) continue;
    const Elf64_Sym *symbol = (const void *)(base + section[k].sh_offset);
    const char *names = base + section[section[k].sh_link].sh_offset;
    for (uint64_t s = 1; s < section[k].sh_size / sizeof(*symbol); s++) {
      if (symbol[s].st_shndx == SHN_UNDEF) {
        return SEER_FAIL(UNSUPPORTED, "loop %s: the target has no instructions for %s", loop->name,
            names + symbol[s].st_name);
      }
    }
  }
  return SEER_OK;
}

static seer_status emit_object(
    work *w, const seer_codegen *codegen, seer_arena *arena, seer_kernel *out) {
  LLVMMemoryBufferRef buffer;
  char *message = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(
          codegen->machine, w->module, LLVMObjectFile, &message, &buffer)) {
    seer_status status = SEER_FAIL(INTERNAL, "loop %s: LLVM: %s", w->loop->name, message);
    LLVMDisposeMessage(message);
    return status;
  }
  out->n_object_bytes = LLVMGetBufferSize(buffer);
  void *bytes = seer_arena_alloc(arena, out->n_object_bytes, 16);
  memcpy(bytes, LLVMGetBufferStart(buffer), out->n_object_bytes);
  out->object = bytes;
  LLVMDisposeMemoryBuffer(buffer);
  return inspect_object(w->loop, out->object, out->n_object_bytes, &out->code_bytes);
}

static void close_owned(void *w) { close_module(w); }

seer_status seer_codegen_build(seer_codegen *codegen, const seer_loop *loop, const char *symbol,
    seer_arena *arena, seer_kernel *out_kernel) {
  SEER_TRY(seer_kernel_describe(loop, symbol, arena, out_kernel));
  seer_arena *arena_of_work = seer_arena_create("codegen work");
  work *w = SEER_NEW(arena_of_work, work);
  w->loop = loop;
  w->arena = arena_of_work;
  open_module(w, codegen, symbol);
  seer_recover_owned *owned = SEER_NEW(w->arena, seer_recover_owned);
  seer_recover_own(owned, close_owned, w);
  seer_status status = fill_module(w, codegen, symbol);
  if (!status) status = run_passes(w, codegen);
  if (!status) status = emit_object(w, codegen, arena, out_kernel);
  if (!status) seer_kernel_set_scratch(out_kernel, w->scratch_bytes);
  seer_recover_disown(owned);
  close_module(w);
  seer_arena_destroy(arena_of_work);
  return status;
}

const char *seer_codegen_print(
    seer_codegen *codegen, const seer_loop *loop, bool assembly, seer_arena *arena) {
  seer_arena *arena_of_work = seer_arena_create("codegen work");
  work *w = SEER_NEW(arena_of_work, work);
  w->loop = loop;
  w->arena = arena_of_work;
  open_module(w, codegen, "kernel");
  seer_status status = fill_module(w, codegen, "kernel");
  if (!status) status = run_passes(w, codegen);
  const char *text = NULL;
  if (status) {
    text = seer_arena_printf(arena, "; %s\n", seer_status_message(status));
    char *module = LLVMPrintModuleToString(w->module);
    text = seer_arena_printf(arena, "%s%s", text, module);
    LLVMDisposeMessage(module);
    seer_status_free(status);
  } else if (!assembly) {
    char *module = LLVMPrintModuleToString(w->module);
    text = seer_arena_strdup(arena, module);
    LLVMDisposeMessage(module);
  } else {
    LLVMMemoryBufferRef buffer;
    char *message = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(
            codegen->machine, w->module, LLVMAssemblyFile, &message, &buffer)) {
      text = seer_arena_printf(arena, "# %s\n", message);
      LLVMDisposeMessage(message);
    } else {
      text = seer_arena_strndup(arena, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
      LLVMDisposeMemoryBuffer(buffer);
    }
  }
  close_module(w);
  seer_arena_destroy(arena_of_work);
  return text;
}
