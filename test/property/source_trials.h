// source_trials.h - random DAGs under random schedules, printed in a dialect for a made-up machine,
// compiled and run: they give what the DAG's interpreter gives. Schedules for GPUs, too, whose
// block programs are printed without items, as a processor runs them.
#ifndef SEER_TEST_SOURCE_TRIALS_H
#define SEER_TEST_SOURCE_TRIALS_H

#include "code/gen/generate.h"
#include "support/source_run.h"

typedef struct {
  const char *dialect;
  seer_gen_machine code;  // what the kernels are made for
  uint64_t seed;  // of the first DAG; SEER_PROPERTY_SEED goes before it
  uint32_t n_kernel;
  // NULL: this machine with code.tile's vectors. Else of a GPU: block programs without their items
  const char *target;
} source_trial;

// Fails the test where an answer is wrong. False: not run, something that it needs is not there.
//   machine  what the programs are for, borrowed; NULL: this one
//   flags    of the compiler; the same kernels are built and run with each, up to NULL
bool source_trials_run(const source_trial *how, const source_machine *machine, const char *cc,
    const char *const *flags);

#endif
