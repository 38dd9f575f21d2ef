// Block programs as OpenCL C on PoCL, which makes code for this processor: the hand-written ones
// compute what plain loops do, and planted faults show.
// SEER_TEST: timeout=120 cost=20
#include <string.h>

#include "code/gen/generate.h"
#include "support/block_programs.h"
#include "support/opencl_run.h"
#include "support/test.h"

static const char *run_program(opencl_runner *runner, const block_program *program,
    const char *text, uint64_t seed, seer_arena *arena) {
  const seer_gen_machine machine = seer_gen_machine_of_items(false);
  seer_loop *loop = block_program_parse(program, text, arena);
  seer_rng rng;
  seer_rng_init(&rng, seed);
  void **data = block_program_data(loop, &rng, arena);
  seer_vec_code *code;
  must(seer_gen_code(loop, &machine, program->name, arena, &code));
  const char *wrong = opencl_run(runner, code, data, arena);
  if (wrong) fail_msg("%s", wrong);
  return block_program_compare(program, loop, data, arena);
}

static void programs_compute_what_is_expected(void **state) {
  opencl_runner *runner = *state;
  seer_arena *arena = seer_arena_create("test");
  for (uint32_t k = 0; k < N_BLOCK_PROGRAMS; k++) {
    const char *text = block_program_text(&block_programs[k], arena);
    for (uint64_t seed = 0; seed < 2; seed++) {
      const char *wrong = run_program(runner, &block_programs[k], text, seed, arena);
      if (wrong) fail_msg("%s", wrong);
    }
  }
  seer_arena_destroy(arena);
}

// A fetch that is short leaves what a block's memory begins with: the poison.
static void what_is_not_fetched_shows(void **state) {
  opencl_runner *runner = *state;
  seer_arena *arena = seer_arena_create("test");
  for (uint32_t k = 0; k < n_block_faults; k++) {
    const block_fault *fault = &block_faults[k];
    if (!fault->is_short) continue;
    const block_program *program = block_program_named(fault->program);
    const char *wrong = run_program(runner, program, block_fault_text(fault, arena), k, arena);
    if (!wrong) fail_msg("not seen: %s", fault->what);
  }
  seer_arena_destroy(arena);
}

// Accesses of 8 and 16 bytes, whatever lies in them.
static void neighbours_of_all_types_are_moved(void **state) {
  opencl_runner *runner = *state;
  static const char *const types[] = {
      "f16", "bf16", "i8", "u8", "bool", "i16", "i32", "i64", "f64"};
  const seer_gen_machine machine = seer_gen_machine_of_items(false);
  seer_rng rng;
  seer_rng_init(&rng, 8);
  for (uint32_t k = 0; k < SEER_COUNT_OF(types); k++) {
    seer_arena *arena = seer_arena_create("test");
    const seer_loop *loop = block_copy(types[k], arena);
    seer_vec_code *code;
    must(seer_gen_code(loop, &machine, "copy", arena, &code));
    size_t size = seer_dtype_bytes(loop->buf[0].dtype), n_bytes = 64 * 64 * size;
    uint8_t *x = seer_arena_alloc(arena, n_bytes, 16), *y = seer_arena_alloc(arena, n_bytes, 16);
    for (size_t i = 0; i < n_bytes; i++)  // numbers of all types, and both truths
      x[i] = (uint8_t)(strcmp(types[k], "bool") == 0 ? i % 3 == 0 : seer_rng_below(&rng, 100));
    void *data[3] = {x, y};
    const char *wrong = opencl_run(runner, code, data, arena);
    if (wrong) fail_msg("%s: %s", types[k], wrong);
    for (size_t row = 0; row < 64; row++)
      if (memcmp(&y[row * 64 * size], &x[(63 - row) * 64 * size], 64 * size) != 0)
        fail_msg("%s: row %zu", types[k], row);
    seer_arena_destroy(arena);
  }
}

int main(void) {
  seer_arena *arena = seer_arena_create("opencl");
  const char *why;
  opencl_runner *runner = opencl_open("Portable Computing Language", OPENCL_POISON, arena, &why);
  if (!runner) {
    print_message("%s\n", why);
    seer_arena_destroy(arena);
    return 1;  // tool/deps.sh installs it
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(programs_compute_what_is_expected, runner),
      cmocka_unit_test_prestate(neighbours_of_all_types_are_moved, runner),
      cmocka_unit_test_prestate(what_is_not_fetched_shows, runner)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  opencl_close(runner);
  seer_arena_destroy(arena);
  return failed;
}
