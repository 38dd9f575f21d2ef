// link.c - plan blob, kernel objects, runtime archive -> model.so, by ld.lld: one linker for every
// target. Bytes repeat: inputs in plan order, no paths, no build id, no debug sections. Only
// seer_model_v1 is exported; what is asked of libc is in runtime/libc.inc, without versions.
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <string.h>

#include "base/recover.h"
#include "code/artefact/internal.h"
#include "code/llvm/llvm.h"
#include "front/custom/custom.h"
#include "runtime/cpu.h"
#include "setup/isa.h"
#include "setup/linker.h"

static seer_status llvm_fail(char *message, const char *what) {
  seer_status status = SEER_FAIL(INTERNAL, "%s: %s", what, message ? message : "unknown");
  if (message) LLVMDisposeMessage(message);
  return status;
}

static void add_number(LLVMModuleRef module, const char *symbol, uint64_t number) {
  LLVMTypeRef wide = LLVMInt64TypeInContext(LLVMGetModuleContext(module));
  LLVMValueRef global = LLVMAddGlobal(module, wide, symbol);
  LLVMSetInitializer(global, LLVMConstInt(wide, number, false));
  LLVMSetGlobalConstant(global, true);
  LLVMSetVisibility(global, LLVMHiddenVisibility);
}

// NULL behind the last.
static void add_operators(LLVMModuleRef module, const seer_custom *custom, seer_arena *arena) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(LLVMGetModuleContext(module), 0);
  const uint32_t n = custom->n_object;
  LLVMValueRef *entry = SEER_NEW_ARRAY(arena, LLVMValueRef, n + 1);
  for (uint32_t k = 0; k < n; k++)
    entry[k] = LLVMAddGlobal(module, pointer, custom->object[k].symbol);
  entry[n] = LLVMConstNull(pointer);
  LLVMValueRef table = LLVMAddGlobal(module, LLVMArrayType2(pointer, n + 1), "seer_plan_operators");
  LLVMSetInitializer(table, LLVMConstArray2(pointer, entry, n + 1));
  LLVMSetGlobalConstant(table, true);
  LLVMSetVisibility(table, LLVMHiddenVisibility);
}

// An object with the blob (in read-only data) and the table of kernels (relocated, then read-only).
// A function may stand in the table several times: for each plan that runs it. Of a library with a
// device the table is empty, and there is a runner.
static seer_status emit_plan(const char *triple, bool has_device, const seer_built_library *library,
    seer_arena *arena, const void **out_data, size_t *out_bytes) {
  seer_llvm_init();
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("plan", context);
  LLVMSetTarget(module, triple);
  LLVMTypeRef byte = LLVMInt8TypeInContext(context);
  LLVMTypeRef pointer = LLVMPointerTypeInContext(context, 0);

  LLVMValueRef blob =
      LLVMAddGlobal(module, LLVMArrayType2(byte, library->n_bytes), "seer_plan_blob");
  LLVMSetInitializer(blob,
      LLVMConstStringInContext2(context, (const char *)library->blob, library->n_bytes, true));
  LLVMSetGlobalConstant(blob, true);
  LLVMSetAlignment(blob, SEER_PLAN_ALIGN);
  LLVMSetVisibility(blob, LLVMHiddenVisibility);

  add_number(module, "seer_plan_blob_bytes", library->n_bytes);
  add_number(module, "seer_plan_blob_hash", library->hash);

  LLVMTypeRef params[2] = {pointer, LLVMInt32TypeInContext(context)};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), params, 2, false);
  uint32_t n = has_device ? 0 : library->n_phase;
  LLVMValueRef *entry = SEER_NEW_ARRAY(arena, LLVMValueRef, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    entry[i] = LLVMGetNamedFunction(module, library->phase_symbol[i]);
    if (!entry[i]) entry[i] = LLVMAddFunction(module, library->phase_symbol[i], type);
    LLVMSetVisibility(entry[i], LLVMHiddenVisibility);
  }
  if (n == 0) entry[n++] = LLVMConstNull(pointer);
  LLVMValueRef table = LLVMAddGlobal(module, LLVMArrayType2(pointer, n), "seer_plan_kernels");
  LLVMSetInitializer(table, LLVMConstArray2(pointer, entry, n));
  LLVMSetGlobalConstant(table, true);
  LLVMSetVisibility(table, LLVMHiddenVisibility);

  if (library->custom) add_operators(module, library->custom, arena);
  if (has_device) {
    LLVMValueRef runner = LLVMAddGlobal(module, pointer, "seer_plan_runner");
    LLVMValueRef row = LLVMAddGlobal(module, byte, "seer_device_runner");
    LLVMSetVisibility(row, LLVMHiddenVisibility);
    LLVMSetInitializer(runner, row);
    LLVMSetGlobalConstant(runner, true);
    LLVMSetVisibility(runner, LLVMHiddenVisibility);
  }

  LLVMTargetRef llvm_target = NULL;
  LLVMTargetMachineRef machine = NULL;
  LLVMMemoryBufferRef object = NULL;
  char *message = NULL;
  seer_status status = SEER_OK;
  if (LLVMGetTargetFromTriple(triple, &llvm_target, &message)) {
    status = llvm_fail(message, triple);
  } else {
    machine = LLVMCreateTargetMachine(
        llvm_target, triple, "", "", LLVMCodeGenLevelNone, LLVMRelocPIC, LLVMCodeModelDefault);
    if (!machine) status = llvm_fail(NULL, "no code generator for this target");
  }
  message = NULL;
  if (!status &&
      LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message, &object))
    status = llvm_fail(message, "the plan's object");
  if (!status) {
    *out_bytes = LLVMGetBufferSize(object);
    *out_data = seer_arena_memdup(arena, LLVMGetBufferStart(object), *out_bytes);
  }
  if (object) LLVMDisposeMemoryBuffer(object);
  if (machine) LLVMDisposeTargetMachine(machine);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return status;
}

// What a library is linked for, and with.
typedef struct {
  const char *triple;  // of the processors that it runs on: the host's, where kernels are a GPU's
  bool has_device;
  const char *archive, *device_archive;  // in the arena that is given; the latter NULL: no device
} linked_for;

static seer_status need_archive(const seer_target *target, seer_arena *arena, linked_for *out) {
  seer_isa isa;
  *out = (linked_for){.triple = target->triple, .has_device = target->kind != SEER_TARGET_CPU};
  if (out->has_device) {
    seer_cpu_facts here;
    seer_cpu_read(&here);
    out->triple = seer_arena_printf(arena, "%s-linux-gnu", here.architecture);
  }
  if (seer_target_is_c(target))
    return SEER_FAIL(UNSUPPORTED,
        "target '%s' has no instruction set that objects could be made for: --emit c writes the "
        "library as C",
        target->triple);
  if (!seer_isa_of(out->triple, &isa))
    return SEER_FAIL(UNSUPPORTED,
        "no model.so can be linked for %s: it is none of x86_64, aarch64 and riscv64", out->triple);
  out->archive = seer_linker_archive(isa, "libseer_rt.a", arena);
  if (out->has_device) out->device_archive = seer_linker_archive(isa, "libseer_rt_device.a", arena);
  if (out->archive && (!out->has_device || out->device_archive)) return SEER_OK;
  return SEER_FAIL(NOT_FOUND,
      "no model.so can be linked for %s here: the runtime that goes into it (%s for %s) is neither "
      "beside this program nor in %s. %s; --emit c writes the library as C",
      out->triple, out->archive ? "libseer_rt_device.a" : "libseer_rt.a", seer_isa_name(isa),
      SEER_INSTALL_LIBDIR,
      isa == SEER_ISA_RISCV64
          ? "None is made for that processor on others"
          : "A build makes it that has clang and the headers of that processor's libc (Debian: "
            "libc6-dev-arm64-cross or libc6-dev-amd64-cross)");
}

seer_status seer_build_can_link(const seer_context *context, const char *out_dir) {
  (void)out_dir;  // model.so and model.o are nobody else's names
  seer_arena *arena = seer_arena_create("archive");
  linked_for unused;
  seer_status status = need_archive(seer_context_target(context), arena, &unused);
  seer_arena_destroy(arena);
  return status;
}

// What LLVM may need for the kernels that are made at a time, several threads asking at once; when
// it gets no memory it ends the process, so it is asked before. Whole compiles, program and weights
// among it, take 92 MB (squeezenet, 2026-11); with 64 MiB asked for, one of four compiles of a
// small network in 280 MiB of address space was ended.
#define LLVM_BYTES (UINT64_C(128) << 20)

seer_status seer_build_begin_objects(seer_kernel_maker *maker) {
  return seer_codegen_create(maker->context, seer_context_target(maker->context), &maker->codegen);
}

void seer_build_end_objects(seer_kernel_maker *maker) { seer_codegen_destroy(maker->codegen); }

seer_status seer_build_object_kernel(const seer_kernel_maker *maker, const seer_loop *loop,
    const char *symbol, seer_arena *arena, seer_built_kernel *out) {
  SEER_TRY(seer_recover_headroom(LLVM_BYTES, "the code generator"));
  return seer_codegen_build(maker->codegen, loop, symbol, arena, &out->kernel);
}

// ---- command lines

typedef struct {
  const char **argv;
  uint32_t n;
} command_line;

static void put(command_line *line, const char *argument) { line->argv[line->n++] = argument; }

static command_line begin(const seer_built_kernels *kernels, const seer_built_library *library,
    const char *program, seer_arena *arena) {
  const uint32_t n_object = kernels->n + (library->custom ? library->custom->n_object : 0);
  command_line line = {SEER_NEW_ARRAY(arena, const char *, n_object + 40), 0};
  put(&line, program);
  return line;
}

// The plan, the kernels and the runtime, as files in the work folder.
static seer_status put_inputs(command_line *line, const linked_for *with,
    const seer_built_kernels *kernels, const seer_built_library *library, const char *work_dir,
    seer_arena *arena) {
  const void *object = NULL;
  size_t n_bytes = 0;
  SEER_TRY(emit_plan(with->triple, with->has_device, library, arena, &object, &n_bytes));
  const char *plan_path = seer_os_path_join(arena, work_dir, "plan.o");
  SEER_TRY(seer_os_write_file(plan_path, object, n_bytes));
  put(line, "-u");
  put(line, "seer_model_v1");
  put(line, plan_path);
  for (uint32_t i = 0; i < kernels->n && !with->has_device; i++) {
    const seer_kernel *kernel = &kernels->kernel[i].kernel;
    const char *path = seer_arena_printf(arena, "%s/%u.o", work_dir, i);
    SEER_TRY(seer_os_write_file(path, kernel->object, kernel->n_object_bytes));
    put(line, path);
  }
  for (uint32_t k = 0; library->custom && k < library->custom->n_object; k++) {
    const seer_custom_object *given = &library->custom->object[k];
    const char *path = seer_arena_printf(arena, "%s/operators%u.o", work_dir, k);
    SEER_TRY(seer_os_write_file(path, given->data, given->n_bytes));
    put(line, path);
  }
  if (with->has_device) put(line, with->device_archive);
  put(line, with->archive);
  return SEER_OK;
}

seer_status seer_build_link(const seer_context *context, const seer_built_kernels *kernels,
    const seer_built_library *library, seer_built_files *files) {
  const seer_target *target = seer_context_target(context);
  seer_arena *arena = files->arena;
  const char *work_dir = files->work_dir, *so_path = seer_build_add_file(files, "model.so");
  const char *linker = NULL;
  linked_for with;
  SEER_TRY(need_archive(target, arena, &with));
  SEER_TRY(seer_linker_find(arena, &linker));
  const char *script = seer_os_path_join(arena, work_dir, "exports");
  static const char exports[] = "{ global: seer_model_v1; local: *; };\n";
  SEER_TRY(seer_os_write_file(script, exports, sizeof exports - 1));
  const char *const flags[] = {"-shared", "-o", so_path, "--build-id=none", "--gc-sections",
      "--strip-debug", "--hash-style=gnu", "--threads=1", "--no-undefined", "-z", "now", "-z",
      "noexecstack", "-soname", "model.so", "--version-script", script};
  command_line line = begin(kernels, library, linker, arena);
  for (uint32_t i = 0; i < SEER_COUNT_OF(flags); i++) put(&line, flags[i]);
  SEER_TRY(put_inputs(&line, &with, kernels, library, work_dir, arena));
  SEER_TRY(seer_linker_stubs(with.archive, arena, &line.argv[line.n]));
  line.n += SEER_LINKER_STUBS;
  if (library->custom) {  // who calls no maths does not need libm
    put(&line, "--as-needed");
    SEER_TRY(seer_linker_maths(with.archive, arena, &line.argv[line.n++]));
  }
  return seer_linker_run(line.argv, seer_os_path_join(arena, work_dir, "log"), arena);
}

static const char *const copiers[] = {"/usr/bin/llvm-objcopy-19",
    "/usr/lib/llvm-19/bin/llvm-objcopy", "/usr/bin/llvm-objcopy", "/usr/local/bin/llvm-objcopy"};

// A relocatable object keeps hidden names for the next link, where those of two models would meet:
// they are made local.
seer_status seer_build_relink(const seer_context *context, const seer_built_kernels *kernels,
    const seer_built_library *library, seer_built_files *files) {
  const seer_target *target = seer_context_target(context);
  seer_arena *arena = files->arena;
  const char *work_dir = files->work_dir, *object_path = seer_build_add_file(files, "model.o");
  const char *linker = NULL, *copier = NULL;
  linked_for with;
  SEER_TRY(need_archive(target, arena, &with));
  SEER_TRY(seer_linker_find(arena, &linker));
  SEER_TRY(seer_linker_first(
      copiers, SEER_COUNT_OF(copiers), "llvm-objcopy (package llvm-19)", &copier));
  const char *const flags[] = {
      "-r", "-o", object_path, "--build-id=none", "--strip-debug", "--threads=1"};
  command_line line = begin(kernels, library, linker, arena);
  for (uint32_t i = 0; i < SEER_COUNT_OF(flags); i++) put(&line, flags[i]);
  SEER_TRY(put_inputs(&line, &with, kernels, library, work_dir, arena));
  const char *log = seer_os_path_join(arena, work_dir, "log");
  SEER_TRY(seer_linker_run(line.argv, log, arena));
  const char *const localise[] = {
      copier, "--localize-hidden", "--keep-global-symbol=seer_model_v1", object_path, NULL};
  return seer_linker_run(localise, log, arena);
}
