// levels.c - see levels.h.
#include "support/levels.h"

#include <string.h>

#include "runtime/cpu.h"
#include "support/test.h"

test_level test_level_get(uint32_t which, seer_arena *arena) {
  static const char *const names[TEST_LEVELS] = {
      "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "native"};
  test_level level = {.name = names[which]};
  const char *text = which == TEST_LEVEL_NATIVE
      ? "native"
      : seer_arena_printf(arena, "x86_64-linux-gnu -cpu=%s -threads=2", level.name);
  must(seer_target_parse(text, arena, &level.target));
  seer_cpu_facts here;
  char missing[64];
  seer_cpu_read(&here);
  level.runs_here = which == TEST_LEVEL_NATIVE ||
      (strcmp(here.architecture, "x86_64") == 0 &&
          !seer_cpu_missing(&here, level.target.features, missing, sizeof missing));
  return level;
}

void test_levels_run(void (*run)(void *user, jit_runner *runner), void *user) {
  seer_arena *arena = seer_arena_create("levels");
  for (uint32_t l = 0; l < TEST_LEVELS; l++) {
    test_level level = test_level_get(l, arena);
    if (!level.runs_here) continue;
    print_message("%s\n", level.name);
    jit_runner *runner = jit_runner_create(&level.target);
    run(user, runner);
    jit_runner_destroy(runner);
  }
  seer_arena_destroy(arena);
}
