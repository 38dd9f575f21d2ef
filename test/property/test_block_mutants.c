// test_block_mutants.c - block programs with a number or a barrier changed, at random: what
// seer_loop_verify lets through runs without a fault in the interpreter, and what its judge of
// items refuses is a fault there, too. The judge goes through accesses without data, the
// interpreter through data with accesses; neither knows of the other.
// SEER_TEST: timeout=60 cost=7
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "space/items/items.h"
#include "support/block_programs.h"
#include "support/test.h"

#define MUTANTS 1000

// The text with one number of its phase other than it was, or one of its barriers gone.
static const char *mutate(const char *text, seer_rng *rng, seer_arena *arena) {
  const char *phase = strstr(text, "phase");
  uint32_t n = 0;
  for (int pass = 0;; pass++) {
    uint32_t chosen = n > 0 ? (uint32_t)seer_rng_below(rng, n) : 0, at = 0;
    for (const char *c = phase; *c; c++) {
      bool is_number = isdigit((unsigned char)c[0]) && strchr(" [(-", c[-1]) != NULL &&
          c[strspn(c, "0123456789")] != '.';
      bool is_barrier = strncmp(c, "barrier", 7) == 0;
      if (!is_number && !is_barrier) continue;
      if (pass == 0) n++;
      if (pass == 1 && at++ == chosen) {
        size_t length = is_barrier ? 7 : strspn(c, "0123456789");
        long value = strtol(c, NULL, 10);
        const long others[] = {value + 1, value - 1, value * 2, value / 2, 0, 1};
        long other = others[seer_rng_below(rng, SEER_COUNT_OF(others))];
        const char *put = is_barrier ? "" : seer_arena_printf(arena, "%ld", other < 0 ? 0 : other);
        return seer_arena_printf(arena, "%.*s%s%s", (int)(c - text), text, put, c + length);
      }
    }
  }
}

typedef struct {
  uint32_t unread, passed, of_form, of_items;
} counts;

static void try_one(const block_program *program, const char *text, seer_rng *rng,
    seer_arena *arena, counts *counted) {
  seer_loop *loop;
  seer_status status = seer_loop_parse("mutant", text, strlen(text), arena, &loop);
  if (status) {
    counted->unread++;
    seer_status_free(status);
    return;
  }
  status = seer_loop_verify(loop);
  if (status && seer_status_code(status) != SEER_CODE_INVALID)
    fail_msg("%s\n%s", seer_status_message(status), text);
  bool is_of_items = status && block_program_is_of_items(status);
  if (status && !is_of_items) {
    counted->of_form++;
    seer_status_free(status);
    return;
  }
  seer_status ran = seer_loop_eval(loop, block_program_data(loop, rng, arena), rng);
  // Verify says nothing of who writes the output.
  char output[64];
  snprintf(output, sizeof output, " of $%s, and", loop->buf[program->n_input].name);
  bool is_of_output = ran && strstr(seer_status_message(ran), output);
  if (is_of_items && !ran) fail_msg("only verify: %s\n%s", seer_status_message(status), text);
  if (!is_of_items && ran && !is_of_output)
    fail_msg("only eval: %s\n%s", seer_status_message(ran), text);
  counted->passed += !is_of_items;
  counted->of_items += is_of_items;
  seer_status_free(status);
  seer_status_free(ran);
}

static void judge_and_interpreter_agree(void **state) {
  (void)state;
  counts counted = {0};
  for (uint32_t k = 0; k < MUTANTS; k++) {
    seer_arena *arena = seer_arena_create("mutant");
    seer_rng rng;
    seer_rng_init(&rng, k);
    const block_program *program = &block_programs[k % N_BLOCK_PROGRAMS];
    const char *text = mutate(block_program_text(program, arena), &rng, arena);
    if (seer_rng_below(&rng, 4) == 0) text = mutate(text, &rng, arena);
    try_one(program, text, &rng, arena, &counted);
    seer_arena_destroy(arena);
  }
  print_message("%u passed, %u refused for their form or bounds, %u for their items, %u unread\n",
      counted.passed, counted.of_form, counted.of_items, counted.unread);
  assert_true(counted.passed > MUTANTS / 20);
  assert_true(counted.of_items > MUTANTS / 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(judge_and_interpreter_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
