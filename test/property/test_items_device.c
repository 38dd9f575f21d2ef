// test_items_device.c - random schedules of random DAGs on a device of the table of devices, as
// libraries and candidates run them: with new numbers for each run, hard ones too, outputs and
// blocks' memory full of NaN at first, they come to what the DAG's interpreter gives, to the bit;
// and what is planted in others shows. What runs here needs no GPU; with one it is judged by it:
//
//   SEER_TEST_DEVICE=cuda:0   the device; else OpenCL's first
//   SEER_PROPERTY_PAIRS=n     so many schedules in place of some
//   SEER_TEST_NO_FAULTS=1     those alone: what is planted is what judges of memory complain of
// SEER_TEST: timeout=300 cost=20
#include <stdlib.h>

#include "support/device_run.h"
#include "support/drawn_run.h"
#include "support/test.h"

#define N_KERNELS 18
#define MOST_NODES 1500  // where a driver of processors compiles, which takes seconds for long ones

static const char *build(void *runner, const seer_vec_code *const *codes, uint32_t n,
    seer_arena *arena, void **out_program) {
  device_program *program = NULL;
  const char *wrong = device_run_build(runner, codes, n, arena, &program);
  *out_program = program;
  return wrong;
}

static const char *launch(
    void *program, const seer_vec_code *code, void *const *data, seer_arena *arena) {
  return device_run_launch(program, code, data, arena);
}

static void free_program(void *program) { device_run_free(program); }

static void they_compute_what_the_dag_does(void **state) {
  drawn_run(*state, "device", 40000, N_KERNELS);
}

// Half of a fetch, or a fetch that is one item short: it stays within its memory, so a device that
// it runs on is as good as before.
static void what_is_not_there_shows(void **state) {
  static const drawn_fault faults[] = {DRAWN_FAULT_HALF_FETCH, DRAWN_FAULT_SHORT_FETCH};
  drawn_run_faulty(*state, "device", 41000, faults, SEER_COUNT_OF(faults));
}

int main(void) {
  const char *name = getenv("SEER_TEST_DEVICE"), *why;
  seer_arena *arena = seer_arena_create("device");
  device_runner *runner = device_run_open(name ? name : "opencl:0", arena, &why);
  if (!runner) {
    print_message("%s\n", why);
    seer_arena_destroy(arena);
    return 1;  // tool/deps.sh installs a driver of OpenCL
  }
  const seer_device_info *info = device_run_info(runner);
  print_message("on %s, %s\n", info->name, info->driver);
  drawn_runner drawn = {.target = device_run_target(runner, arena),
      .most_nodes = info->is_cpu ? MOST_NODES : 0,
      .runner = runner,
      .build = build,
      .launch = launch,
      .free = free_program};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(they_compute_what_the_dag_does, &drawn),
      cmocka_unit_test_prestate(what_is_not_there_shows, &drawn)};
  const struct CMUnitTest first[] = {tests[0]};
  int failed = getenv("SEER_TEST_NO_FAULTS") ? cmocka_run_group_tests(first, NULL, NULL)
                                             : cmocka_run_group_tests(tests, NULL, NULL);
  device_run_close(runner);
  seer_arena_destroy(arena);
  return failed;
}
