// portable.cc - the program of `make portable`, and what the one of `make wheel` calls: familyseer, and LLVM's linker,
// which compiling a library ends with, in one file: most of both is LLVM, which is there once. It is the linker under the
// name ld.lld. C++, as lld has no interface of C.
#include <cstring>

#include "lld/Common/Driver.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

// lld sets up every target that LLVM may have, for link-time optimisation, which there is none of here: those that
// familyseer makes no code for are left out of the program.
#define UNUSED(target)                              \
  extern "C" void LLVMInitialize##target##TargetInfo() {} \
  extern "C" void LLVMInitialize##target##Target() {}     \
  extern "C" void LLVMInitialize##target##TargetMC() {}   \
  extern "C" void LLVMInitialize##target##AsmParser() {}  \
  extern "C" void LLVMInitialize##target##AsmPrinter() {}
#include "lld_unused.inc"
llvm::PassPluginLibraryInfo getPollyPluginInfo() { return {}; }  // Debian ships no archive of it

extern "C" int seer_program_main(int argc, char **argv);  // src/cli/main.c

extern "C" int seer_program(int argc, char **argv);
int seer_program(int argc, char **argv) {
  const char *slash = argc > 0 ? std::strrchr(argv[0], '/') : nullptr;
  if (argc == 0 || std::strcmp(slash ? slash + 1 : argv[0], "ld.lld") != 0)
    return seer_program_main(argc, argv);
  llvm::ArrayRef<const char *> arguments(argv, static_cast<size_t>(argc));
  return lld::elf::link(arguments, llvm::outs(), llvm::errs(), false, false) ? 0 : 1;
}

#ifndef SEER_IN_LIBRARY  // tool/wheel/program.c calls it
int main(int argc, char **argv) { return seer_program(argc, argv); }
#endif
