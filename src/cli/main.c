// main.c - the program `familyseer`; everything is in cli.c so that tests can call it.
#include "base/os.h"
#include "cli/command.h"

#define STACK_BYTES (2u << 20)  // search takes some 0.6 MB
#define PAGE_BYTES 4096u

// The stack grows as it is used, and where there is no address space left it cannot: a signal, not
// an error. So it grows now, while there is some.
static __attribute__((noinline)) void grow_stack(void) {
  volatile char room[STACK_BYTES];  // not cleared: only touched
  for (size_t at = sizeof room; at >= PAGE_BYTES; at -= PAGE_BYTES) room[at - PAGE_BYTES] = 0;
}

int main(int argc, char **argv) {
  grow_stack();
  seer_os_guard_standard_fds();
  return seer_cli_main(argc, argv);
}
