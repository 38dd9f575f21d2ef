// Block programs without their items, as a processor runs them: both back ends compute of the
// hand-written ones what plain loops do. And with items: the code of one, and no other target's.
#include <string.h>

#include "code/gen/generate.h"
#include "space/items/items.h"
#include "support/block_programs.h"
#include "support/jit_check.h"
#include "support/source_run.h"
#include "support/test.h"

static void both_back_ends_run_them_without_items(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  jit_runner *runner = jit_runner_create(NULL);
  source_batch *batch = source_batch_create("c", arena);
  const seer_gen_machine plain = {.tile = {0, 16}, .masked_bytes = 255};
  seer_loop *serial[N_BLOCK_PROGRAMS];
  void **data[N_BLOCK_PROGRAMS];
  seer_rng rng;
  seer_rng_init(&rng, 7);
  for (uint32_t k = 0; k < N_BLOCK_PROGRAMS; k++) {
    const block_program *program = &block_programs[k];
    seer_loop *loop = block_program_parse(program, block_program_text(program, arena), arena);
    serial[k] = seer_items_serial(loop);
    must(seer_loop_verify(serial[k]));
    data[k] = block_program_data(serial[k], &rng, arena);
    const char *wrong = jit_run(runner, serial[k], data[k], k, arena);
    if (!wrong) wrong = block_program_compare(program, serial[k], data[k], arena);
    if (wrong) fail_msg("LLVM: %s", wrong);
    seer_vec_code *code;
    const uint32_t n_parts = (uint32_t)seer_loop_phase_parts(serial[k], 0);
    must(seer_gen_code(serial[k], &plain, program->name, arena, &code));
    data[k] = block_program_data(serial[k], &rng, arena);
    const char *refused = source_batch_add(batch, code, &n_parts, data[k]);
    if (refused) fail_msg("%s", refused);
  }
  const char *failed = source_batch_run(batch, NULL, "gcc",
      "-std=c17 -Wall -Wextra -Werror -O1 -fsanitize=address,undefined -fno-sanitize-recover=all");
  if (failed) fail_msg("%s", failed);
  for (uint32_t k = 0; k < N_BLOCK_PROGRAMS; k++) {
    const char *wrong = block_program_compare(&block_programs[k], serial[k], data[k], arena);
    if (wrong) fail_msg("C: %s", wrong);
  }
  jit_runner_destroy(runner);
  seer_arena_destroy(arena);
}

// Vector code of an item, by the interpreter that runs all items of a block alongside: with new
// inputs each time, blocks in any order.
static void items_have_code(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const seer_gen_machine machine = seer_gen_machine_of_items(false);
  for (uint32_t k = 0; k < N_BLOCK_PROGRAMS; k++) {
    const block_program *program = &block_programs[k];
    seer_loop *loop = block_program_parse(program, block_program_text(program, arena), arena);
    seer_vec_code *code;
    must(seer_gen_code(loop, &machine, program->name, arena, &code));
    must(seer_vec_verify(code));
    const char *text = seer_vec_print(code, arena);
    seer_vec_code *again;
    must(seer_vec_parse("test", text, strlen(text), loop, arena, &again));
    assert_string_equal(seer_vec_print(again, arena), text);
    for (uint64_t seed = 0; seed < 3; seed++) {
      seer_rng rng;
      seer_rng_init(&rng, seed);
      void **data = block_program_data(loop, &rng, arena);
      must(seer_vec_eval(code, data, &rng));
      const char *wrong = block_program_compare(program, loop, data, arena);
      if (wrong) fail_msg("%s", wrong);
    }
  }
  seer_arena_destroy(arena);
}

// A fault that is not refused before is seen in the code of items: as what they do, or, where that
// is all right, by the answer.
static void planted_faults_are_seen_in_code(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const seer_gen_machine machine = seer_gen_machine_of_items(false);
  for (uint32_t k = 0; k < n_block_faults; k++) {
    const block_fault *fault = &block_faults[k];
    const block_program *program = block_program_named(fault->program);
    seer_loop *loop = block_program_parse(program, block_fault_text(fault, arena), arena);
    seer_rng rng;
    seer_rng_init(&rng, k);
    void **data = block_program_data(loop, &rng, arena);
    seer_vec_code *code = NULL;
    seer_status status = seer_gen_code(loop, &machine, program->name, arena, &code);
    if (!status) status = seer_vec_verify(code);
    if (!status) status = seer_vec_eval(code, data, &rng);
    const char *said = status ? seer_status_message(status) : "nothing";
    bool is_of_items = fault->by_verify || fault->by_eval;
    if ((status != NULL) != is_of_items) fail_msg("%s: %s", fault->what, said);
    if (!status) assert_non_null(block_program_compare(program, loop, data, arena));
    seer_status_free(status);
  }
  seer_arena_destroy(arena);
}

// Indices are of 32 bits where they fit, in elements and in bytes, and else of 64.
static void wide_indices_stay_wide(void **state) {
  (void)state;
  static const struct {
    int64_t blocks;
    const char *has, *has_not;
  } cases[] = {
      {1000, "const i32 v4 = v1 * 64;", "i64"},
      // 64 million elements more than 2^31 bytes
      {9000000, "(i64)v4 * 4", "const i64"},
      // and more than 2^31 elements
      {40000000, "const i64 v4 = (i64)v1 * 64;", "const i32 v4"},
  };
  const seer_gen_machine machine = seer_gen_machine_of_items(false);
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_arena *arena = seer_arena_create("test");
    const char *text = seer_arena_printf(arena,
        "loop wide { input $x f32[64] of 0 output $y f32[%" PRId64
        "] of 1 phase { parallel @b < %" PRId64
        " stage 0 { thread @i < 64 stage 0 {\n"
        "store $y[@b * 64 + @i] stage 0 = $x[@i] } } } }",
        cases[k].blocks * 64, cases[k].blocks);
    seer_loop *loop;
    seer_vec_code *code;
    must(seer_loop_parse("test", text, strlen(text), arena, &loop));
    must(seer_gen_code(loop, &machine, "wide", arena, &code));
    must(seer_source_print(code, seer_dialect_find("cuda"), arena, &text));
    if (!strstr(text, cases[k].has) || strstr(text, cases[k].has_not)) fail_msg("%s", text);
    seer_arena_destroy(arena);
  }
}

// Items make no code for a target without them, not even wrong code.
static void no_back_end_takes_items(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const block_program *program = block_program_named("reduction");
  seer_loop *loop = block_program_parse(program, block_program_text(program, arena), arena);
  const seer_gen_machine plain = {.tile = {0, 16}, .masked_bytes = 255};
  seer_vec_code *code;
  seer_status status = seer_gen_code(loop, &plain, "f", arena, &code);
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  seer_status_free(status);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(both_back_ends_run_them_without_items),
      cmocka_unit_test(items_have_code), cmocka_unit_test(planted_faults_are_seen_in_code),
      cmocka_unit_test(wide_indices_stay_wide), cmocka_unit_test(no_back_end_takes_items)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
