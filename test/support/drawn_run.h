// drawn_run.h - drawn schedules for GPUs as kernels that run: with new numbers for each run, hard
// ones too, they come to what the DAG's interpreter gives, to the bit; and what is planted in
// others shows. Whatever runs them is a table (opencl_run.h, device_run.h).
#ifndef SEER_TEST_DRAWN_RUN_H
#define SEER_TEST_DRAWN_RUN_H

#include "support/drawn_faults.h"
#include "support/drawn_kernels.h"

typedef struct {
  const char *target;  // that schedules are drawn for
  // Kernels of more instructions are left out: some compilers take seconds for long ones. 0: none
  uint32_t most_nodes;
  void *runner;
  // Kernels whose symbols differ, in one program: NULL, or what went wrong; freed also then.
  const char *(*build)(void *runner, const seer_vec_code *const *codes, uint32_t n,
      seer_arena *arena, void **out_program);
  const char *(*launch)(
      void *program, const seer_vec_code *code, void *const *data, seer_arena *arena);
  void (*free)(void *program);
} drawn_runner;

// Fails the test where a kernel of these `n` (drawn_choose) comes to something else, or where
// drawn_check does.
void drawn_run(const drawn_runner *runner, const char *name, uint64_t first_seed, uint32_t n);

// Kernels with a fetch and one of `faults`, in turn, where the interpreter says that it is a fault:
// fails the test where not most of them come to something else than the DAG does.
void drawn_run_faulty(const drawn_runner *runner, const char *name, uint64_t first_seed,
    const drawn_fault *faults, uint32_t n_faults);

#endif
