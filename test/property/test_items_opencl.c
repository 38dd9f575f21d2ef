// test_items_opencl.c - random schedules of random DAGs for GPUs as OpenCL C, on PoCL, which makes
// code for this processor: with new numbers for each run, hard ones too, and outputs and blocks'
// memory full of NaN at first they come to what the DAG's interpreter gives, to the bit; and a
// fetch that is short shows.
//
// SEER_PROPERTY_PAIRS=n runs so many in place of some dozens; SEER_TEST_OPENCL=name on the platform
// that has that in its name (tool/check_gpu.sh: Intel's).
// SEER_TEST: timeout=300 cost=60
#include <stdlib.h>

#include "support/drawn_run.h"
#include "support/opencl_run.h"
#include "support/test.h"

#define N_KERNELS 60
#define POCL "Portable Computing Language"
#define MOST_NODES 1500  // PoCL takes seconds for long ones

static const char *build(void *runner, const seer_vec_code *const *codes, uint32_t n,
    seer_arena *arena, void **out_program) {
  opencl_program *program = NULL;
  const char *wrong = opencl_build(runner, codes, n, arena, &program);
  *out_program = program;
  return wrong;
}

static const char *launch(
    void *program, const seer_vec_code *code, void *const *data, seer_arena *arena) {
  return opencl_launch(program, code, data, arena);
}

static void free_program(void *program) { opencl_program_free(program); }

static void they_compute_what_the_dag_does(void **state) {
  drawn_run(*state, "opencl", 30000, N_KERNELS);
}

// PoCL takes one item after another as far as they need not wait: a block's memory is full of the
// poison where nothing was fetched, or not yet. At the end of loops that have barriers it waits of
// itself.
static void what_is_not_there_shows(void **state) {
  static const drawn_fault faults[] = {
      DRAWN_FAULT_NO_BARRIER, DRAWN_FAULT_HALF_FETCH, DRAWN_FAULT_SHORT_FETCH};
  drawn_run_faulty(*state, "faults", 31000, faults, SEER_COUNT_OF(faults));
}

int main(void) {
  const char *platform = getenv("SEER_TEST_OPENCL"), *why;
  seer_arena *arena = seer_arena_create("opencl");
  opencl_runner *runner = opencl_open(platform ? platform : POCL, OPENCL_POISON, arena, &why);
  if (!runner) {
    print_message("%s\n", why);
    seer_arena_destroy(arena);
    return 1;  // tool/deps.sh installs it
  }
  drawn_runner drawn = {.target = "opencl:generic",
      .most_nodes = platform ? 0 : MOST_NODES,
      .runner = runner,
      .build = build,
      .launch = launch,
      .free = free_program};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(they_compute_what_the_dag_does, &drawn),
      cmocka_unit_test_prestate(what_is_not_there_shows, &drawn)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  opencl_close(runner);
  seer_arena_destroy(arena);
  return failed;
}
