// module.c - loop IR -> LLVM module -> passes -> ELF object.
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
#include "code/llvm/gen.h"
#include "setup/isa.h"

#define PASSES \
  "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(licm),early-cse)"

struct seer_codegen {
  seer_arena *arena;  // holds this struct
  const seer_context *context;
  const seer_target *target;
  const char *base_cpu;
  LLVMTargetMachineRef machine;
  LLVMTargetDataRef layout;
  LLVMPassBuilderOptionsRef options;
};

static void init_targets(void) {
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
}

void seer_gen_init_llvm(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, init_targets);
}

seer_status seer_codegen_create(
    const seer_context *context, const seer_target *target, seer_codegen **out) {
  seer_gen_init_llvm();
  *out = NULL;
  if (target->kind != SEER_TARGET_CPU) {
    return SEER_FAIL(UNSUPPORTED, "LLVM code generation is for CPU targets only");
  }
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
  seer_gen_switch_off();
  *out = codegen;
  return SEER_OK;
}

void seer_codegen_destroy(seer_codegen *codegen) {
  if (!codegen) return;
  seer_gen_switch_on();
  LLVMDisposePassBuilderOptions(codegen->options);
  LLVMDisposeTargetData(codegen->layout);
  LLVMDisposeTargetMachine(codegen->machine);
  seer_arena_destroy(codegen->arena);
}

// ---- the module

static bool has_feature(const seer_target *target, const char *name) {
  size_t n = strlen(name);
  for (const char *at = target->features; at && (at = strstr(at, name)) != NULL; at += n) {
    if (at > target->features && at[-1] == '+' && (at[n] == ',' || at[n] == '\0')) return true;
  }
  return false;
}

static void attribute(seer_gen *g, LLVMValueRef fn, const char *key, const char *value) {
  LLVMAttributeRef a = LLVMCreateStringAttribute(
      g->context, key, (unsigned)strlen(key), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

static void flag(seer_gen *g, LLVMValueRef fn, LLVMAttributeIndex at, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(g->context, kind, 0));
}

// The instructions are the architecture's plain ones and those of the target's list, not whatever
// the processor of that name has: the list is what is asked for where the code runs. The processor
// decides on which of them are fast.
static void set_attributes(seer_gen *g, const seer_codegen *codegen, LLVMValueRef fn) {
  const seer_target *target = codegen->target;
  char width[16];
  snprintf(width, sizeof(width), "%u", target->vector_bytes * 8);
  attribute(g, fn, "target-cpu", codegen->base_cpu);
  attribute(g, fn, "tune-cpu", target->cpu);
  attribute(g, fn, "target-features", target->features);
  attribute(g, fn, "prefer-vector-width", width);
  attribute(g, fn, "min-legal-vector-width", width);
  attribute(g, fn, "no-builtins", "");
  attribute(g, fn, "frame-pointer", "none");
  flag(g, fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "nounwind");
  flag(g, fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "mustprogress");
  flag(g, fn, 1, "noalias");
  flag(g, fn, 1, "readonly");
}

static unsigned md_kind(const seer_gen *g, const char *name) {
  return LLVMGetMDKindIDInContext(g->context, name, (unsigned)strlen(name));
}

static void open_module(seer_gen *g, const seer_codegen *codegen, const char *symbol) {
  const seer_target *target = codegen->target;
  g->context = LLVMContextCreate();
  g->module = LLVMModuleCreateWithNameInContext(symbol, g->context);
  LLVMSetTarget(g->module, target->triple);
  LLVMSetModuleDataLayout(g->module, codegen->layout);
  g->b = LLVMCreateBuilderInContext(g->context);
  g->at_entry = LLVMCreateBuilderInContext(g->context);
  g->i1 = LLVMInt1TypeInContext(g->context);
  g->i8 = LLVMInt8TypeInContext(g->context);
  g->i16 = LLVMInt16TypeInContext(g->context);
  g->i32 = LLVMInt32TypeInContext(g->context);
  g->i64 = LLVMInt64TypeInContext(g->context);
  g->f32 = LLVMFloatTypeInContext(g->context);
  g->f64 = LLVMDoubleTypeInContext(g->context);
  g->ptr = LLVMPointerTypeInContext(g->context, 0);
  g->md_scope = md_kind(g, "alias.scope");
  g->md_noalias = md_kind(g, "noalias");
  g->md_invariant = md_kind(g, "invariant.load");
  g->l2_bytes = target->l2_bytes;
  g->is_x86 = strncmp(target->triple, "x86_64", 6) == 0;
  bool is_arm = strncmp(target->triple, "aarch64", 7) == 0;
  g->has_rounding = !g->is_x86 || has_feature(target, "sse4.1");
  g->has_half = is_arm || has_feature(target, "f16c") || has_feature(target, "avx512f");
  g->masked_bytes = has_feature(target, "avx512bw") ? 1 : has_feature(target, "avx") ? 4 : 255;
}

static void close_module(seer_gen *g) {
  LLVMDisposeBuilder(g->b);
  LLVMDisposeBuilder(g->at_entry);
  LLVMDisposeModule(g->module);
  LLVMContextDispose(g->context);
}

static void decide(seer_gen *g, const seer_target *target) {
  const seer_loop *loop = g->loop;
  seer_tile_machine machine = seer_tile_machine_of(target);
  g->tile = seer_tile_create(loop, &machine, g->arena);
  g->now = SEER_NEW_ARRAY(g->arena, seer_gen_now, loop->n_node);
  for (uint32_t id = 1; id < loop->n_node; id++) g->now[id].trip = loop->node[id].extent;
  g->buf = SEER_NEW_ARRAY(g->arena, seer_gen_buf, loop->n_buf + 1);
  g->var = SEER_NEW_ARRAY(g->arena, seer_gen_var, loop->n_var + 1);
  g->proof = SEER_NEW_ARRAY(g->arena, uint8_t, loop->expr.n + 1);
  g->full_proof = SEER_NEW_ARRAY(g->arena, bool, loop->expr.n + 1);
  g->memo_tick = SEER_NEW_ARRAY(g->arena, uint32_t, loop->expr.n + 1);
  g->memo_value = SEER_NEW_ARRAY(g->arena, seer_gen_value, loop->expr.n + 1);
}

static seer_status fill_module(seer_gen *g, const seer_codegen *codegen, const char *symbol) {
  decide(g, codegen->target);
  for (uint32_t p = 0; p < g->loop->n_phase && !g->status; p++) {
    const char *name = seer_arena_printf(g->arena, "%s_p%u", symbol, p);
    set_attributes(g, codegen, seer_gen_phase(g, p, name));
  }
  if (g->status) return g->status;
  char *message = NULL;
  bool is_broken = LLVMVerifyModule(g->module, LLVMReturnStatusAction, &message);
  seer_status status = SEER_OK;
  if (is_broken)
    status = SEER_FAIL(INTERNAL, "loop %s: LLVM refuses the module: %s", g->loop->name, message);
  LLVMDisposeMessage(message);
  return status;
}

static seer_status run_passes(seer_gen *g, const seer_codegen *codegen) {
  LLVMErrorRef error = LLVMRunPasses(g->module, PASSES, codegen->machine, codegen->options);
  if (!error) return SEER_OK;
  char *message = LLVMGetErrorMessage(error);
  seer_status status = SEER_FAIL(INTERNAL, "loop %s: LLVM passes: %s", g->loop->name, message);
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
    seer_gen *g, const seer_codegen *codegen, seer_arena *arena, seer_kernel *out) {
  LLVMMemoryBufferRef buffer;
  char *message = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(
          codegen->machine, g->module, LLVMObjectFile, &message, &buffer)) {
    seer_status status = SEER_FAIL(INTERNAL, "loop %s: LLVM: %s", g->loop->name, message);
    LLVMDisposeMessage(message);
    return status;
  }
  out->n_object_bytes = LLVMGetBufferSize(buffer);
  void *bytes = seer_arena_alloc(arena, out->n_object_bytes, 16);
  memcpy(bytes, LLVMGetBufferStart(buffer), out->n_object_bytes);
  out->object = bytes;
  LLVMDisposeMemoryBuffer(buffer);
  return inspect_object(g->loop, out->object, out->n_object_bytes, &out->code_bytes);
}

// The runtime counts parts in 31 bits (runtime/plan.c).
static seer_status check_parts(const seer_loop *loop) {
  for (uint32_t p = 0; p < loop->n_phase; p++) {
    int64_t n = seer_loop_phase_parts(loop, p);
    if (n < 1 || n > INT32_MAX)
      return SEER_FAIL(UNSUPPORTED,
          "loop %s: phase %u has %" PRId64 " parts, at most %d can be run", loop->name, p, n,
          INT32_MAX);
  }
  return SEER_OK;
}

static void describe(const seer_gen *g, const char *symbol, seer_arena *arena, seer_kernel *out) {
  const seer_loop *loop = g->loop;
  out->symbol = seer_arena_strdup(arena, symbol);
  out->n_phase = loop->n_phase;
  for (uint32_t p = 0; p < loop->n_phase; p++)
    out->n_parts[p] = (uint32_t)seer_loop_phase_parts(loop, p);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *decl = &loop->buf[b];
    if (decl->storage == SEER_STORE_LOCAL) continue;
    SEER_ASSERT(out->n_arg < SEER_DAG_MAX_BUFFERS - 1, "%u arguments", out->n_arg);
    out->arg[out->n_arg++] = (seer_kernel_arg){.storage = decl->storage,
        .dag_buf = decl->dag_buf,
        .n_bytes = (uint64_t)decl->n_elems * seer_dtype_bytes(decl->dtype),
        .pack = decl->pack,
        .dtype = decl->dtype};
  }
  out->scratch_bytes = g->tile->scratch_bytes;
  out->arg[out->n_arg++] =
      (seer_kernel_arg){.storage = SEER_STORE_LOCAL, .n_bytes = g->tile->scratch_bytes};
}

static void close_owned(void *g) { close_module(g); }

seer_status seer_codegen_build(seer_codegen *codegen, const seer_loop *loop, const char *symbol,
    seer_arena *arena, seer_kernel *out_kernel) {
  memset(out_kernel, 0, sizeof(*out_kernel));
  SEER_TRY(check_parts(loop));
  seer_arena *work = seer_arena_create("codegen work");
  seer_gen *g = SEER_NEW(work, seer_gen);
  g->loop = loop;
  g->arena = work;
  open_module(g, codegen, symbol);
  seer_recover_owned *owned = SEER_NEW(work, seer_recover_owned);
  seer_recover_own(owned, close_owned, g);
  seer_status status = fill_module(g, codegen, symbol);
  if (!status) status = run_passes(g, codegen);
  if (!status) status = emit_object(g, codegen, arena, out_kernel);
  if (!status) describe(g, symbol, arena, out_kernel);
  seer_recover_disown(owned);
  close_module(g);
  seer_arena_destroy(work);
  return status;
}

const char *seer_codegen_print(
    seer_codegen *codegen, const seer_loop *loop, bool assembly, seer_arena *arena) {
  seer_arena *work = seer_arena_create("codegen work");
  seer_gen *g = SEER_NEW(work, seer_gen);
  g->loop = loop;
  g->arena = work;
  open_module(g, codegen, "kernel");
  seer_status status = fill_module(g, codegen, "kernel");
  if (!status) status = run_passes(g, codegen);
  const char *text = NULL;
  if (status) {
    text = seer_arena_printf(arena, "; %s\n", seer_status_message(status));
    char *module = LLVMPrintModuleToString(g->module);
    text = seer_arena_printf(arena, "%s%s", text, module);
    LLVMDisposeMessage(module);
    seer_status_free(status);
  } else if (!assembly) {
    char *module = LLVMPrintModuleToString(g->module);
    text = seer_arena_strdup(arena, module);
    LLVMDisposeMessage(module);
  } else {
    LLVMMemoryBufferRef buffer;
    char *message = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(
            codegen->machine, g->module, LLVMAssemblyFile, &message, &buffer)) {
      text = seer_arena_printf(arena, "# %s\n", message);
      LLVMDisposeMessage(message);
    } else {
      text = seer_arena_strndup(arena, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
      LLVMDisposeMemoryBuffer(buffer);
    }
  }
  close_module(g);
  seer_arena_destroy(work);
  return text;
}
