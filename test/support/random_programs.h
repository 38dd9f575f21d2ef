// random_programs.h - random schedules of random DAGs, one after another, each given to a check:
// what the property tests of loops, tiles, vector code and objects have in common.
//
// What is drawn: for each seed, from the first on, one DAG (random_dag_draw); its sketches for one
// of the targets (seed % n_targets); of some of them, in random order, the default schedule,
// samples, a mutation and a crossover, as asked for; and the loops of each. What cannot be lowered
// is wrong.
//
// Replay: a failure prints the seed, and the smallest DAG found that fails still.
// SEER_PROPERTY_SEED=n starts there in place of where the test does, SEER_PROPERTY_PAIRS=n tries so
// many programs.
#ifndef SEER_TEST_RANDOM_PROGRAMS_H
#define SEER_TEST_RANDOM_PROGRAMS_H

#include "support/coverage.h"
#include "support/loop_check.h"

// Borrowed for the call of the check, as all that it points to; with `keep`, that lives on.
typedef struct {
  uint64_t seed;  // of the DAG
  uint64_t draw;  // for what the check draws itself: another for each of a DAG's schedules
  uint32_t target;  // which of them
  const loop_expect *expect;  // the DAG's sketches, operands, and its interpreter's answers
  const seer_sketch *sketch;  // the schedule's
  const seer_schedule *schedule;
  seer_loop *loop;  // the check may change it
} random_program;

typedef struct {
  const seer_target *targets;  // borrowed
  uint32_t n_targets;
  seer_space_kind space;
  // Of one DAG, of those that it has. More DAGs see more than more schedules of one.
  uint32_t max_sketches;
  const char *only;  // sketches with this in their signature; NULL: all
  bool has_default;  // each sketch's default schedule
  uint32_t n_samples;  // of each sketch
  bool has_children;  // a mutation of its default, and a crossover of that and a sample

  // NULL if all is well, else what is wrong (in `scratch`, which is rewound after the call).
  const char *(*check)(void *user, const random_program *program, seer_arena *scratch);
  void *user;  // borrowed; the check's
  bool (*lacks)(const void *user);  // the check has not met enough yet; NULL: n programs will do

  loop_coverage *coverage;  // borrowed; notes all. May be NULL
  uint64_t quota;  // of each kind of thing that `coverage` counts

  // NULL, or an arena in which all is made, scratch too, and which is not rewound: for checks that
  // look at their programs once more behind random_programs_check.
  seer_arena *keep;
} random_programs;

// Checks `n` programs, or some more (DAGs are finished), and up to 10 times as many until `lacks`
// says false and `coverage` has its quota. Fails the test, named by `name`, at the first that is
// wrong, and where the quota is not met. Returns how many there were.
uint64_t random_programs_check(
    const random_programs *how, const char *name, uint64_t first_seed, uint64_t n);

// Checks programs until one is wrong: for faults that must be caught. Returns how many it took, or
// 0 if `most` were not enough.
uint64_t random_programs_until_wrong(
    const random_programs *how, uint64_t first_seed, uint64_t most);

#endif
