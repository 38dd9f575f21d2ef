// ways.h - loops on rows of many lengths, compiled for processors with different instructions for
// what they do: what a test of one instruction of vector code has to say is the loop, and what is
// right. What this machine lacks is compiled and looked at.
#ifndef TEST_SUPPORT_WAYS_H
#define TEST_SUPPORT_WAYS_H

#include "base/rng.h"
#include "support/jit_check.h"

typedef struct {
  const char *target, *instruction, *never;  // of wide rows; "": any
} processor_way;

typedef struct {
  const processor_way *way;
  size_t n_way;
  const uint32_t *columns;  // lengths of rows; `instruction` and `never` are of the last
  size_t n_columns;
  const char *(*text)(uint32_t columns, seer_arena *arena);  // of the loop
  // Runs it, where this machine can, and holds what it has made against what is right.
  void (*run)(const processor_way *way, jit_runner *runner, seer_loop *loop, uint32_t columns,
      seer_rng *rng, seer_arena *arena);
} ways;

void ways_check(const ways *all);

#endif
