// test_arena.c - see test_arena.h.
#include "support/test_arena.h"

seer_arena *arena;

int arena_open(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  return 0;
}

int arena_close(void **state) {
  (void)state;
  seer_arena_destroy(arena);
  return 0;
}
