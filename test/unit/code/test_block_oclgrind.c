// Block programs as OpenCL C under Oclgrind, which runs a kernel item by item and sees races, reads
// of what was never written, accesses that are outside, and barriers that not all come to. Of the
// hand-written ones and of drawn products it says nothing; planted faults it sees.
// SEER_TEST: timeout=300 labels=full
#include <string.h>

#include "code/gen/generate.h"
#include "support/block_products.h"
#include "support/block_programs.h"
#include "support/oclgrind.h"
#include "support/test.h"

// What is run, and what it is to compute: one of both, or none.
typedef struct {
  const seer_loop *loop;
  void **data;
  const block_program *program;
  const block_product *product;
} subject;

static const char *check(const void *user, void *const *data, seer_arena *arena) {
  const subject *s = user;
  if (s->program) return block_program_compare(s->program, s->loop, data, arena);
  return s->product ? block_product_compare(s->product, data, arena) : NULL;
}

static const char *said_of(const subject *s, seer_arena *arena) {
  const seer_gen_machine machine = seer_gen_machine_of_items(false);
  seer_vec_code *code;
  must(seer_gen_code(s->loop, &machine, "f", arena, &code));
  return oclgrind_said(code, s->data, check, s, arena);
}

static void nothing_is_said_of_programs(void **state) {
  (void)state;
  for (uint32_t k = 0; k < N_BLOCK_PROGRAMS; k++) {
    seer_arena *arena = seer_arena_create("test");
    subject s = {.program = &block_programs[k]};
    s.loop = block_program_parse(s.program, block_program_text(s.program, arena), arena);
    seer_rng rng;
    seer_rng_init(&rng, k);
    s.data = block_program_data(s.loop, &rng, arena);
    const char *text = said_of(&s, arena);
    if (text[0] != '\0') fail_msg("%s: %s", s.program->name, text);
    seer_arena_destroy(arena);
  }
}

// Small ones of every kind.
static void nothing_is_said_of_drawn_products(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 11);
  for (uint32_t n = 0; n < 40;) {
    seer_arena *arena = seer_arena_create("test");
    const block_product product = block_product_draw(&rng);
    if (product.m * product.n * product.k < 15000) {
      subject s = {.product = &product, .loop = block_product_loop(&product, arena)};
      s.data = block_program_data(s.loop, &rng, arena);
      const char *text = said_of(&s, arena);
      if (text[0] != '\0') fail_msg("%s\n%s", seer_loop_print(s.loop, arena), text);
      n++;
    }
    seer_arena_destroy(arena);
  }
}

// Those that leave something out: what is not fetched, what is not waited for.
static void faults_are_seen(void **state) {
  (void)state;
  static const struct {
    const char *what, *says;
  } cases[] = {
      {"half of a fetch", "ninitialized value"},
      {"a fetch that is one short", "ninitialized value"},
      {"the window's fetch leaves out its last row", "ninitialized value"},
      {"the barrier behind the fetches is missing", "data race"},
      {"the other stage of a double buffer is stale", "data race"},
      {"a double buffer's next step goes where this one is read", "data race"},
      {"a step of the tree without its barrier", "data race"},
      {"the total is read before the tree has ended", "data race"},
  };
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_arena *arena = seer_arena_create("test");
    uint32_t f = 0;
    while (f < n_block_faults && strcmp(block_faults[f].what, cases[k].what) != 0) f++;
    assert_true(f < n_block_faults);
    const block_program *program = block_program_named(block_faults[f].program);
    subject s = {
        .loop = block_program_parse(program, block_fault_text(&block_faults[f], arena), arena)};
    seer_rng rng;
    seer_rng_init(&rng, k);
    s.data = block_program_data(s.loop, &rng, arena);
    const char *text = said_of(&s, arena);
    if (!strstr(text, cases[k].says)) fail_msg("%s: %.400s", cases[k].what, text);
    seer_arena_destroy(arena);
  }
}

int main(void) {
  if (!oclgrind_begin(SEER_BUILD_DIR "/test/oclgrind.log")) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_said_of_programs),
      cmocka_unit_test(nothing_is_said_of_drawn_products), cmocka_unit_test(faults_are_seen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
