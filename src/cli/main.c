// main.c - the program `familyseer`; everything is in cli.c so that tests can call it.
#include "base/os.h"
#include "cli/command.h"

int main(int argc, char **argv) {
  seer_os_guard_standard_fds();
  return seer_cli_main(argc, argv);
}
