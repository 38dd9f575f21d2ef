// A program that uses LLVM itself finds it as it was once our code generators are gone.
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "code/kernel.h"
#include "support/test.h"
#include "support/test_target.h"

// Three arrays, one counter: strength reduction has something to do.
static const char ir[] =
    "define void @f(ptr %a, ptr %b, i64 %n) {\n"
    "entry:\n  br label %loop\n"
    "loop:\n  %i = phi i64 [0, %entry], [%next, %loop]\n"
    "  %k = mul i64 %i, 24\n  %p = getelementptr i8, ptr %a, i64 %k\n"
    "  %x = load i64, ptr %p\n  %j = mul i64 %i, 56\n"
    "  %q = getelementptr i8, ptr %b, i64 %j\n  store i64 %x, ptr %q\n"
    "  %next = add i64 %i, 1\n  %c = icmp ult i64 %next, %n\n"
    "  br i1 %c, label %loop, label %end\n"
    "end:\n  ret void\n}\n";

// What the host's own LLVM makes of it. Owned: free.
static char *compile(void) {
  char *message = NULL, *text = NULL;
  LLVMContextRef context = LLVMContextCreate();
  LLVMMemoryBufferRef source = LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, sizeof ir - 1, "host");
  LLVMModuleRef module;
  LLVMTargetRef target = NULL;
  if (LLVMParseIRInContext(context, source, &module, &message) ||
      LLVMGetTargetFromTriple("x86_64-unknown-linux-gnu", &target, &message))
    fail_msg("%s", message);
  LLVMTargetMachineRef machine = LLVMCreateTargetMachine(target, "x86_64-unknown-linux-gnu",
      "x86-64", "", LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
  LLVMMemoryBufferRef out;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMAssemblyFile, &message, &out))
    fail_msg("%s", message);
  text = strdup(LLVMGetBufferStart(out));
  LLVMDisposeMemoryBuffer(out);
  LLVMDisposeTargetMachine(machine);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return text;
}

static seer_codegen *create(void) {
  seer_codegen *codegen = NULL;
  must(seer_codegen_create(NULL, &test_target_narrow, &codegen));
  return codegen;
}

static void as_it_was(void **state) {
  (void)state;
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
  char *before = compile();
  for (int round = 0; round < 3; round++) {
    seer_codegen *first = create(), *second = create();
    seer_codegen_destroy(first);
    char *between = compile();
    assert_string_not_equal(before, between);  // off for as long as any lives
    free(between);
    seer_codegen_destroy(second);
    char *after = compile();
    assert_string_equal(before, after);
    free(after);
  }
  free(before);
}

static void come_and_go(void *arg) {
  (void)arg;
  for (int i = 0; i < 50; i++) seer_codegen_destroy(create());
}

static void threads(void **state) {
  (void)state;
  char *before = compile();
  seer_os_thread *thread[4];
  for (int i = 0; i < 4; i++) assert_null(seer_os_thread_create(come_and_go, NULL, &thread[i]));
  for (int i = 0; i < 4; i++) seer_os_thread_join(thread[i]);
  char *after = compile();
  assert_string_equal(before, after);
  free(after);
  free(before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(as_it_was),
      cmocka_unit_test(threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
