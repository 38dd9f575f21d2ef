// test_arena.h - the arena of a file's tests: its setup and teardown for each of them, or for the
// group.
#ifndef SEER_TEST_TEST_ARENA_H
#define SEER_TEST_TEST_ARENA_H

#include "base/arena.h"
#include "support/test.h"

extern seer_arena *arena;
int arena_open(void **state);
int arena_close(void **state);

#endif
