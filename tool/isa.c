// isa.c - prints src/setup/isa.inc: of each feature in runtime/cpu_features.inc what LLVM says that
// it implies, and of each processor that LLVM knows which of them it has.
//
// LLVM's C interface has no question for that. But its inliner takes a function into another only
// where the other's processor has all features of the first: so each candidate is a function that
// calls one function for each feature, and the calls that are gone are the answer.
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

static const char *const x86_features[] = {
#define SEER_CPU_X86(name, word, bit, saved) name,
#define SEER_CPU_ARM(name, word, bit)
#define SEER_CPU_RISCV(name)
#include "runtime/cpu_features.inc"
#undef SEER_CPU_X86
#undef SEER_CPU_ARM
#undef SEER_CPU_RISCV
    NULL};
static const char *const arm_features[] = {
#define SEER_CPU_X86(name, word, bit, saved)
#define SEER_CPU_ARM(name, word, bit) name,
#define SEER_CPU_RISCV(name)
#include "runtime/cpu_features.inc"
#undef SEER_CPU_X86
#undef SEER_CPU_ARM
#undef SEER_CPU_RISCV
    NULL};
static const char *const riscv_features[] = {
#define SEER_CPU_X86(name, word, bit, saved)
#define SEER_CPU_ARM(name, word, bit)
#define SEER_CPU_RISCV(name) name,
#include "runtime/cpu_features.inc"
#undef SEER_CPU_X86
#undef SEER_CPU_ARM
#undef SEER_CPU_RISCV
    NULL};

typedef struct {
  const char *id, *triple;
  const char *const *features;
  // A processor of the architecture, and what must be taken from it so that nothing of its own
  // (tuning, mostly) is asked for beside the feature.
  const char *plain_cpu, *plain_without;
  // Features that the inliner does not look at, as they make no difference to such code: all
  // processors seem to have them, and none is said to.
  const char *unseen[3];
} architecture;

static const architecture architectures[] = {
    {"X86_64", "x86_64-linux-gnu", x86_features, "x86-64", "", {"cx16", "sahf"}},
    {"AARCH64", "aarch64-linux-gnu", arm_features, "generic",
        ",-fuse-aes,-fuse-adrp-add,-use-postra-scheduler,-enable-select-opt,"
        "-predictable-select-expensive,-ete,-trbe",
        {0}},
    {"RISCV64", "riscv64-linux-gnu", riscv_features, "rocket-rv64", "", {0}},
};

enum { MAX_NAMES = 512, MAX_FEATURES = 64 };

static void die(const char *what) {
  fprintf(stderr, "isa: %s\n", what);
  exit(1);
}

static LLVMTargetMachineRef machine(const architecture *a, const char *cpu, const char *features) {
  LLVMTargetRef target;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(a->triple, &target, &message)) die(message);
  LLVMTargetMachineRef m = LLVMCreateTargetMachine(target, a->triple, cpu, features,
      LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
  if (!m) die("no target machine");
  return m;
}

static int compare_words(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// ---- names of processors: LLVM writes them to standard error, once in the life of a process

static size_t read_cpu_names(const architecture *a, char **names) {
  FILE *file = tmpfile();
  fflush(NULL);
  pid_t pid = file ? fork() : -1;
  if (pid == 0) {
    if (dup2(fileno(file), 2) < 0) _exit(1);
    machine(a, a->plain_cpu, "+cpuhelp");
    fflush(stderr);
    _exit(0);
  }
  int status;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) die("no list of processors");
  rewind(file);
  size_t n = 0;
  char line[256], name[64];
  while (fgets(line, sizeof line, file) && n < MAX_NAMES) {
    if (line[0] == '\t' && sscanf(line, " %63s", name) == 1) names[n++] = strdup(name);
  }
  fclose(file);
  qsort(names, n, sizeof *names, compare_words);
  return n;
}

// ---- questions

typedef struct {
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMTypeRef type;
} asker;

static asker open_asker(const architecture *a) {
  asker q = {.context = LLVMContextCreate()};
  q.module = LLVMModuleCreateWithNameInContext("isa", q.context);
  q.builder = LLVMCreateBuilderInContext(q.context);
  q.type = LLVMFunctionType(LLVMVoidTypeInContext(q.context), NULL, 0, false);
  LLVMSetTarget(q.module, a->triple);
  return q;
}

static void attribute(asker *q, LLVMValueRef fn, const char *key, const char *value) {
  LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(
          q->context, key, (unsigned)strlen(key), value, (unsigned)strlen(value)));
}

static LLVMValueRef function(
    asker *q, const char *name, const char *cpu, const char *plus, const char *without) {
  char features[256];
  LLVMValueRef fn = LLVMAddFunction(q->module, name, q->type);
  attribute(q, fn, "target-cpu", cpu);
  attribute(q, fn, "tune-cpu", "generic");
  snprintf(features, sizeof features, "%s%s%s", plus ? "+" : "", plus ? plus : "", without);
  if (features[0]) attribute(q, fn, "target-features", features + (features[0] == ','));
  LLVMPositionBuilderAtEnd(q->builder, LLVMAppendBasicBlockInContext(q->context, fn, ""));
  return fn;
}

static bool is_unseen(const architecture *a, const char *feature) {
  for (size_t k = 0; k < SEER_COUNT_OF(a->unseen) && a->unseen[k]; k++) {
    if (strcmp(a->unseen[k], feature) == 0) return true;
  }
  return false;
}

// Which features `cpu` with the feature `plus` (or NULL) has.
static void ask(const architecture *a, const char *cpu, const char *plus, bool *has) {
  asker q = open_asker(a);
  LLVMValueRef callee[MAX_FEATURES];
  uint32_t n = 0;
  for (; a->features[n]; n++) {
    callee[n] = function(&q, a->features[n], a->plain_cpu, a->features[n], a->plain_without);
    LLVMBuildRetVoid(q.builder);
  }
  function(&q, "candidate", cpu, plus, "");
  for (uint32_t k = 0; k < n; k++) LLVMBuildCall2(q.builder, q.type, callee[k], NULL, 0, "");
  LLVMBuildRetVoid(q.builder);
  LLVMTargetMachineRef m = machine(a, a->plain_cpu, "");
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(q.module, "cgscc(inline)", m, options);
  if (error) die(LLVMGetErrorMessage(error));
  for (uint32_t k = 0; k < n; k++) {
    const char *feature = a->features[k];
    bool is_plus = plus && strcmp(plus, feature) == 0;
    has[k] = is_plus || (!LLVMGetFirstUse(callee[k]) && !is_unseen(a, feature));
  }
  LLVMDisposePassBuilderOptions(options);
  LLVMDisposeTargetMachine(m);
  LLVMDisposeBuilder(q.builder);
  LLVMDisposeModule(q.module);
  LLVMContextDispose(q.context);
}

// Processors of 32 bits end LLVM with an error: tried in a process of their own.
static bool has_64_bits(const architecture *a, const char *cpu) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid < 0) die("cannot fork");
  if (pid == 0) {
    if (!freopen("/dev/null", "w", stderr)) _exit(2);
    LLVMTargetMachineRef m = machine(a, cpu, "");
    asker q = open_asker(a);
    function(&q, "candidate", cpu, NULL, "");
    LLVMBuildRetVoid(q.builder);
    LLVMMemoryBufferRef object;
    char *message;
    _exit(LLVMTargetMachineEmitToMemoryBuffer(m, q.module, LLVMObjectFile, &message, &object));
  }
  int status;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void print_entry(
    const architecture *a, const char *kind, const char *name, const bool *has) {
  const char *sorted[MAX_FEATURES];
  uint32_t n = 0;
  for (uint32_t k = 0; a->features[k]; k++) {
    if (has[k]) sorted[n++] = a->features[k];
  }
  qsort(sorted, n, sizeof *sorted, compare_words);
  printf("SEER_ISA_%s(%s, \"%s\", \"", kind, a->id, name);
  for (uint32_t k = 0; k < n; k++) printf("%s%s", k ? "," : "", sorted[k]);
  printf("\")\n");
}

static void print_architecture(const architecture *a) {
  bool has[MAX_FEATURES];
  const char *sorted[MAX_FEATURES];
  char *names[MAX_NAMES];
  uint32_t n = 0;
  for (; a->features[n]; n++) sorted[n] = a->features[n];
  if (n >= MAX_FEATURES) die("too many features");
  qsort(sorted, n, sizeof *sorted, compare_words);
  for (uint32_t k = 0; k < n; k++) {
    ask(a, a->plain_cpu, sorted[k], has);
    print_entry(a, "FEATURE", sorted[k], has);
  }
  size_t n_names = read_cpu_names(a, names);
  for (size_t c = 0; c < n_names; c++) {
    if (!has_64_bits(a, names[c])) continue;
    ask(a, names[c], NULL, has);
    print_entry(a, "CPU", names[c], has);
  }
}

int main(void) {
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
  printf("// isa.inc - made by tool/isa.c from LLVM; see isa.h. Do not edit: `make docs`.\n");
  for (size_t k = 0; k < SEER_COUNT_OF(architectures); k++) print_architecture(&architectures[k]);
  return 0;
}
