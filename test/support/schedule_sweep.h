// schedule_sweep.h - one DAG under many schedules: of every sketch the default and random ones,
// interpreted and compiled, held against the DAG's interpreter. The numbers, and when two of them
// are the same, are the test's.
//
// A DAG of several reductions has dozens of sketches: all that its stages can be combined to, each
// stage's own few. Then one schedule of each is enough, default or random in turns: every way of
// every stage is still seen many times, both by default and at random.
#ifndef SEER_TEST_SCHEDULE_SWEEP_H
#define SEER_TEST_SCHEDULE_SWEEP_H

#include "support/jit_check.h"
#include "support/loop_check.h"

typedef struct {
  const char *label;  // in messages
  seer_space_kind space;
  uint32_t n_samples;  // random schedules of a sketch, beside its default one, where they are few
  loop_expect_fill fill;
  // Whether `got` is what the DAG's interpreter gives, `want`, which has `n` elements.
  // NULL: yes; else what is wrong (in `arena`).
  const char *(*compare)(
      const seer_dag_buf *buf, const void *want, const void *got, int64_t n, seer_arena *arena);
  // Holds the interpreter itself against something else, by failing; NULL: nothing.
  void (*judge)(const void *user, const loop_expect *expect, seer_arena *arena);
  const void *user;  // of fill and judge
} schedule_sweep;

// How many schedules were right; the test fails at the first that is not.
uint32_t schedule_sweep_run(
    const schedule_sweep *sweep, const seer_dag *dag, uint64_t seed, jit_runner *runner);

#endif
