// Block programs: the hand-written ones are judged to be right, the interpreter computes what plain
// loops do, and each planted fault is seen.
#include <string.h>

#include "space/items/items.h"
#include "support/block_programs.h"
#include "support/test.h"

static void texts_are_fixpoints(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  for (uint32_t k = 0; k < N_BLOCK_PROGRAMS; k++) {
    const char *text = block_program_text(&block_programs[k], arena);
    seer_loop *loop = block_program_parse(&block_programs[k], text, arena);
    assert_string_equal(seer_loop_print(loop, arena), text);
  }
  seer_arena_destroy(arena);
}

static void programs_are_proved(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  static const int64_t n_items[N_BLOCK_PROGRAMS] = {64, 128, 64, 16, 64, 64};
  for (uint32_t k = 0; k < N_BLOCK_PROGRAMS; k++) {
    const char *text = block_program_text(&block_programs[k], arena);
    seer_loop *loop = block_program_parse(&block_programs[k], text, arena);
    must(seer_loop_verify(loop));
    assert_int_equal(seer_items_of_phase(loop, 0), n_items[k]);
  }
  seer_arena_destroy(arena);
}

// Blocks and items in any order, with new inputs each time.
static void items_compute_what_is_expected(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  for (uint32_t k = 0; k < N_BLOCK_PROGRAMS; k++) {
    const block_program *program = &block_programs[k];
    seer_loop *loop = block_program_parse(program, block_program_text(program, arena), arena);
    for (uint64_t seed = 0; seed < 4; seed++) {
      seer_rng rng;
      seer_rng_init(&rng, seed);
      void **data = block_program_data(loop, &rng, arena);
      must(seer_loop_eval(loop, data, seed == 0 ? NULL : &rng));
      const char *wrong = block_program_compare(program, loop, data, arena);
      if (wrong) fail_msg("seed %d: %s", (int)seed, wrong);
    }
  }
  seer_arena_destroy(arena);
}

static void planted_faults_are_seen(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  for (uint32_t k = 0; k < n_block_faults; k++) {
    const block_fault *fault = &block_faults[k];
    const block_program *program = block_program_named(fault->program);
    const char *text = block_fault_text(fault, arena);
    seer_loop *loop = block_program_parse(program, text, arena);
    seer_status judged = seer_loop_verify(loop);
    const char *said = judged ? seer_status_message(judged) : "nothing";
    if ((judged != NULL) != fault->by_verify) fail_msg("%s: verify says %s", fault->what, said);
    seer_status_free(judged);
    for (uint64_t seed = 0; seed < 3; seed++) {
      seer_rng rng;
      seer_rng_init(&rng, seed);
      void **data = block_program_data(loop, &rng, arena);
      seer_status ran = seer_loop_eval(loop, data, &rng);
      said = ran ? seer_status_message(ran) : "nothing";
      if ((ran != NULL) != fault->by_eval) fail_msg("%s: eval says %s", fault->what, said);
      bool must_show = !fault->by_verify && !fault->by_eval;
      if (must_show) assert_non_null(block_program_compare(program, loop, data, arena));
      seer_status_free(ran);
    }
  }
  seer_arena_destroy(arena);
}

// What verify must say, and of what: of each rule one program that breaks it alone.
static void refusals(void **state) {
  (void)state;
  static const struct {
    const char *body, *says;
  } cases[] = {
      {"for @k < 2 stage 0 { thread @t < 2 stage 0 { store $y[@t] stage 0 = 0.0 } }\n"
       "store $y[0] stage 0 = 0.0",
          "outside of a nest of items"},
      {"thread @t < 4 stage 0 { for @k < 2 stage 0 { thread @u < 2 stage 0 { store $y[@u] stage 0 "
       "= 0.0 } } }",
          "whole body of another"},
      {"thread @t < 4 stage 0 { alloc $w stage 0 store $w[@t] stage 0 = 0.0 }",
          "outside of nests of items"},
      {"alloc $l stage 0 thread @t < 4 stage 0 { store $l[@t] stage 0 = 0.0 }",
          "allocated in a nest of items"},
      {"barrier for @k < 4 stage 0 { store $y[@k] stage 0 = 0.0 }", "a phase without items"},
      {"thread @t < 64 stage 0 { thread @u < 64 stage 0 { store $y[0] stage 0 = 0.0 } }",
          "4096 items, allowed 1024"},
      {"thread @a < 1 stage 0 { thread @b < 1 stage 0 { thread @c < 1 stage 0 { thread @d < 1 "
       "stage 0 {"
       "thread @e < 1 stage 0 { thread @f < 1 stage 0 { thread @g < 1 stage 0 { thread @h < 1 "
       "stage 0 {"
       "thread @i < 1 stage 0 { thread @j < 1 stage 0 { thread @k < 1 stage 0 { thread @l < 1 "
       "stage 0 {"
       "thread @m < 1 stage 0 { store $y[@m] stage 0 = 0.0 } } } } } } } } } } } } }",
          "more than 12 thread loops"},
      {"vector @v < 4 stage 0 { thread @t < 4 stage 0 { store $y[@t] stage 0 = 0.0 } }",
          "vector loop"},
      {"alloc $w stage 0 thread @t < 4 stage 0 { store $w[@t] stage 0 = 0.0 }\n"
       "thread @u < 4 stage 0 { store $y[@u] stage 0 = $w[cast.i64($x[@u])] if (cast.i64($x[@u]) "
       ">= 0) & (cast.i64($x[@u]) < 4) else 0.0 }",
          "depends on data"},
      {"alloc $p stage 0 thread @t < 4 stage 0 { store $y[@t] stage 0 = $p[@t] }",
          "nothing has been written there"},
      // Late: neither its own item nor another may look, nor write again, before the barrier.
      {"alloc $d stage 0 thread @t < 4 stage 0 { store $d[@t] stage 0 = $x[@t] store $y[@t] stage "
       "0 "
       "= $d[@t] }",
          "on its way until the next barrier"},
      {"alloc $d stage 0 thread @t < 4 stage 0 { store $d[@t] stage 0 = $x[@t] store $d[@t] stage "
       "0 "
       "= 0.0 }",
          "on its way until the next barrier"},
  };
  seer_arena *arena = seer_arena_create("test");
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    const char *text = seer_arena_printf(arena,
        "loop f { input $x f32[4] of 0 output $y f32[4] of 1 workgroup $w f32[4] of 2\n"
        "local $l f32[4] of 3 private $p f32[4] of 4 workgroup $d f32[4] of 5 late\n"
        "phase { %s } }",
        cases[k].body);
    seer_loop *loop;
    must(seer_loop_parse("test", text, strlen(text), arena, &loop));
    seer_status status = seer_loop_verify(loop);
    if (!status || !strstr(seer_status_message(status), cases[k].says))
      fail_msg(
          "expected '%s', got %s", cases[k].says, status ? seer_status_message(status) : "nothing");
    seer_status_free(status);
  }
  seer_arena_destroy(arena);
}

// A depth of 100,000 steps and a grid of a million blocks, all but the last ones alike, are judged
// by going through a few of each; and a fault in the last of both is found.
static void what_is_alike_is_gone_through_once(void **state) {
  (void)state;
  static const char text[] =
      "loop long { input $x f32[1000, 1600001] of 0 output $y f32[1000, 16] of 1\n"
      "workgroup $t f32[2, 16] of 2 private $s f32[16] of 3 phase { parallel @i < 1000 stage 0 {\n"
      "alloc $s stage 0\n"
      "thread @a < 16 stage 0 { init $s[@a] stage 0 = 0.0 }\n"
      "for @k < 100001 stage 0 reduce { alloc $t stage 0\n"
      "thread @b < 16 stage 0 bound @k * -16 + 1600001 { store $t[@k %% 2, @b] stage 0 = $x[@i, @k "
      "* 16 + @b] }\n"
      "barrier\n"
      "thread @c < 16 stage 0 bound @k * -16 + %d { sum $s[@c] stage 0 = $t[@k %% 2, 15 - @c] if "
      "15 - @c < @k * -16 + %d else 0.0 } }\n"
      "thread @d < 16 stage 0 { store $y[@i, @d] stage 0 = $s[@d] } } } }";
  seer_arena *arena = seer_arena_create("test");
  for (int extra = 0; extra < 2; extra++) {
    const char *one = seer_arena_printf(arena, text, 1600001 + 15 * extra, 1600001 + extra);
    seer_loop *loop;
    must(seer_loop_parse("test", one, strlen(one), arena, &loop));
    seer_status status = seer_items_judge(loop, 0);
    if (extra == 0) must(status);
    if (extra == 1) {
      assert_non_null(status);
      assert_non_null(strstr(seer_status_message(status), "@k 100000"));
      seer_status_free(status);
    }
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(texts_are_fixpoints),
      cmocka_unit_test(programs_are_proved), cmocka_unit_test(items_compute_what_is_expected),
      cmocka_unit_test(planted_faults_are_seen), cmocka_unit_test(refusals),
      cmocka_unit_test(what_is_alike_is_gone_through_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
