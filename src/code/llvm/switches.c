// switches.c - two passes of LLVM's code generation that are switched off for the whole process or
// not at all: its C interface has no word for them on a target machine, a module or a function.
// They are off while a code generator lives and on again after the last one, so that a program that
// uses this library and LLVM itself finds LLVM as it was.
//
// Loop strength reduction is half of the time of code generation, for loops that have been reduced
// already (measured on 60 schedules of a 56x56x64 convolution: 23.7 ms a kernel with it, 15.3
// without); the second instruction scheduler is 7 %, for nothing on processors that reorder.
#include <llvm-c/Support.h>
#include <pthread.h>

#include "code/llvm/llvm.h"

static struct {
  pthread_mutex_t lock;
  uint32_t n_users;
} switches = {.lock = PTHREAD_MUTEX_INITIALIZER};

// The last word on an option counts, however often it is given.
static void set(bool is_off) {
  const char *const off[] = {"familyseer", "-disable-lsr", "-disable-post-ra"};
  const char *const on[] = {"familyseer", "-disable-lsr=false", "-disable-post-ra=false"};
  LLVMParseCommandLineOptions((int)SEER_COUNT_OF(off), is_off ? off : on, "");
}

void seer_llvm_switch_off(void) {
  pthread_mutex_lock(&switches.lock);
  if (switches.n_users++ == 0) set(true);
  pthread_mutex_unlock(&switches.lock);
}

void seer_llvm_switch_on(void) {
  pthread_mutex_lock(&switches.lock);
  if (--switches.n_users == 0) set(false);
  pthread_mutex_unlock(&switches.lock);
}
