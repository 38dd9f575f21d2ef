// levels.h - the instruction sets that compiled code is tested for: the four levels of x86-64, and
// this machine's own. A machine runs those whose features it has; for the others code is compiled,
// and looked at.
#ifndef SEER_TEST_LEVELS_H
#define SEER_TEST_LEVELS_H

#include "setup/target.h"
#include "support/jit_check.h"

typedef struct {
  const char *name;
  seer_target target;
  bool runs_here;
} test_level;

enum { TEST_LEVELS = 5, TEST_LEVEL_NATIVE = TEST_LEVELS - 1 };
test_level test_level_get(uint32_t which, seer_arena *arena);
// Calls `run` with a runner for each that runs here, whose name is printed.
void test_levels_run(void (*run)(void *user, jit_runner *runner), void *user);

#endif
