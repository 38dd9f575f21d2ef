// Random schedules of the sketches of formulations, Winograd's, Strassen's and words of bytes: the
// loops and the compiled code give what the direct DAG gives, at odd extents; products in blocks
// were met. Winograd's for GPUs, too: judged, as loops in any order of items, as vector code with
// all items of a block side by side, and without items by LLVM.
// SEER_TEST: timeout=300 cost=25
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "setup/target.h"
#include "space/lower.h"
#include "support/byte_net.h"
#include "support/items_check.h"
#include "support/loop_check.h"
#include "support/product_net.h"
#include "support/test.h"
#include "support/winograd_net.h"

// The four faults that are planted in formulations are seen.
#define N_SAMPLES 2

static const winograd_net nets[] = {
    {.n = 1, .h = 13, .w = 11, .ic = 9, .oc = 10, .pad = 1, .has_epilogue = true},
    {.n = 2, .h = 7, .w = 7, .ic = 8, .oc = 16, .pad = 1},
    {.n = 1, .h = 12, .w = 16, .ic = 16, .oc = 8, .pad = 1, .has_epilogue = true, .is_hwio = true},
    {.n = 1, .h = 10, .w = 9, .ic = 8, .oc = 8, .pad = 0},
    {.n = 1, .h = 14, .w = 19, .ic = 8, .oc = 9, .pad = 1, .stride = 2, .has_epilogue = true},
};

static const product_net products[] = {
    {.n = 1, .y = 1, .x = 19, .k = 66, .c = 96, .has_epilogue = true},
    {.n = 1, .y = 3, .x = 14, .k = 64, .c = 64, .stride = 2, .is_turned = true},
    {.n = 1, .y = 1, .x = 67, .k = 256, .c = 256},  // enough for two levels
    {.n = 1, .y = 6, .x = 14, .k = 256, .c = 256},  // two axes of rows
};

typedef struct {
  uint32_t n_sketches, n_in_block, n_at_root;
} coverage;

static void note(coverage *c, const seer_sketch_list *list, const seer_schedule *schedule) {
  seer_frame frame;
  seer_frame_make(list, schedule, &frame);
  const seer_dag *dag = frame.sketch->dag;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    if (strcmp(dag->stage[s].name, "wm") != 0) continue;
    if (frame.stage[s].place == SEER_PLACE_AT) c->n_in_block++;
    if (frame.stage[s].place == SEER_PLACE_ROOT) c->n_at_root++;
  }
}

static void check(jit_runner *runner, const loop_expect *expect, const seer_schedule *schedule,
    uint64_t seed, bool interprets) {
  seer_arena *arena = seer_arena_create("candidate");
  const char *wrong = NULL;
  if (interprets) wrong = loop_check(expect, schedule, SEER_LOWER_FAULT_NONE, seed, arena, NULL);
  if (!wrong) {
    const seer_sketch *sketch = seer_sketch_of(expect->list, schedule);
    seer_loop *loop = NULL;
    must(seer_loop_lower(expect->list, schedule, arena, &loop));
    void **data = loop_expect_data(expect, sketch, loop, arena);
    wrong = jit_run(runner, loop, data, seed, arena);
    if (!wrong) wrong = loop_expect_compare(expect, sketch, loop, data, arena);
  }
  if (wrong) {
    fail_msg("%.2000s\n%s", seer_schedule_print(expect->list, schedule, arena), wrong);
  }
  seer_arena_destroy(arena);
}

// All sketches of `dag` but the direct ones. What is wrong with the loops of a random schedule
// shows in its compiled code, too; interpreting millions of products takes as long as all the rest.
static void check_all(
    jit_runner *runner, const seer_dag *dag, uint64_t seed, seer_arena *arena, coverage *c) {
  seer_sketch_list *list;
  must(seer_sketch_generate(dag, jit_runner_target(runner), SEER_SPACE_FULL, arena, &list));
  const loop_expect *expect = loop_expect_make(list, seed, arena);
  seer_rng rng;
  seer_rng_init(&rng, seed);
  for (uint32_t s = 0; s < list->n; s++) {
    if (strcmp(list->sketch[s]->formulation, "direct") == 0) continue;
    c->n_sketches++;
    seer_schedule schedule;
    seer_schedule_default(list, s, &schedule);
    note(c, list, &schedule);
    check(runner, expect, &schedule, s, true);
    for (uint32_t n = 0; n < N_SAMPLES; n++) {
      if (seer_schedule_sample(list, s, &rng, &schedule, NULL) != SEER_REJECT_NONE) continue;
      note(c, list, &schedule);
      check(runner, expect, &schedule, s * 100 + n, false);
    }
  }
}

static void test_winograd(void **state) {
  (void)state;
  jit_runner *runner = jit_runner_create(NULL);
  coverage c = {0};
  for (size_t k = 0; k < SEER_COUNT_OF(nets); k++) {
    seer_arena *arena = seer_arena_create("net");
    check_all(runner, winograd_net_build(&nets[k], arena), k + 1, arena, &c);
    seer_arena_destroy(arena);
  }
  jit_runner_destroy(runner);
  assert_true(c.n_sketches >= 8);
  assert_true(c.n_in_block >= 20);
  assert_true(c.n_at_root >= 20);
}

// A block program as loops in any order of items, as vector code, and by LLVM.
static const char *check_block(jit_runner *runner, const loop_expect *expect,
    const seer_schedule *schedule, uint64_t seed, seer_arena *arena) {
  const seer_sketch *sketch = seer_sketch_of(expect->list, schedule);
  seer_loop *loop = NULL;
  const char *wrong = loop_check(expect, schedule, SEER_LOWER_FAULT_NONE, seed, arena, NULL);
  if (wrong) return wrong;
  must(seer_loop_lower(expect->list, schedule, arena, &loop));
  wrong = items_check_code(expect, sketch, loop, seed, arena, NULL);
  return wrong ? wrong : items_check_serial(runner, expect, sketch, loop, seed, arena);
}

// All of them but one that the direct form is.
static void check_blocks(jit_runner *runner, const loop_expect *expect, uint64_t seed) {
  seer_rng rng;
  seer_rng_init(&rng, seed);
  for (uint32_t s = 1; s < expect->list->n; s++) {
    for (uint32_t n = 0; n <= N_SAMPLES; n++) {
      seer_arena *arena = seer_arena_create("candidate");
      seer_schedule schedule;
      seer_reject reject = SEER_REJECT_NONE;
      seer_schedule_default(expect->list, s, &schedule);
      if (n > 0) reject = seer_schedule_sample(expect->list, s, &rng, &schedule, NULL);
      const char *wrong = NULL;
      if (reject == SEER_REJECT_NONE) wrong = check_block(runner, expect, &schedule, seed, arena);
      if (wrong)
        fail_msg("%.2000s\n%s", seer_schedule_print(expect->list, &schedule, arena), wrong);
      seer_arena_destroy(arena);
    }
  }
}

static void test_winograd_of_items(void **state) {
  (void)state;
  jit_runner *runner = jit_runner_create(NULL);
  static const char *const names[] = {"cuda:h100", "opencl:generic"};
  uint32_t n_sketches = 0, n_ansor = 0;
  for (size_t k = 0; k < SEER_COUNT_OF(nets); k++) {
    seer_arena *arena = seer_arena_create("net");
    const seer_dag *dag = winograd_net_build(&nets[k], arena);
    seer_target target;
    must(seer_target_parse(names[k % SEER_COUNT_OF(names)], arena, &target));
    seer_sketch_list *list;
    must(seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &list));
    for (uint32_t s = 0; s < list->n; s++)
      n_sketches += strstr(list->sketch[s]->signature, "/transform(wv)") != NULL;
    check_blocks(runner, loop_expect_make(list, k + 1, arena), k + 1);
    // TVM's own, where it takes it
    winograd_net wide = nets[k];
    wide.oc = 80;
    must(seer_sketch_generate(
        winograd_net_build(&wide, arena), &target, SEER_SPACE_ANSOR, arena, &list));
    for (uint32_t s = 0; s < list->n; s++)
      n_ansor += strcmp(list->sketch[s]->formulation, "winograd4") == 0;
    seer_arena_destroy(arena);
  }
  jit_runner_destroy(runner);
  assert_true(n_sketches >= 8);
  assert_int_equal(n_ansor, 4);  // one each, of those of stride 1
}

static void test_strassen(void **state) {
  (void)state;
  jit_runner *runner = jit_runner_create(NULL);
  coverage c = {0};
  for (size_t k = 0; k < SEER_COUNT_OF(products); k++) {
    seer_arena *arena = seer_arena_create("net");
    check_all(runner, product_net_build(&products[k], arena), k + 1, arena, &c);
    seer_arena_destroy(arena);
  }
  jit_runner_destroy(runner);
  assert_true(c.n_sketches >= 4);
  assert_true(c.n_in_block >= 5);
  assert_true(c.n_at_root >= 10);
}

static const byte_net of_bytes[] = {
    {.n = 1, .h = 1, .w = 19, .ic = 32, .oc = 21, .has_epilogue = true},
    {.n = 1, .h = 1, .w = 1, .ic = 64, .oc = 33, .is_last = true},
    {.n = 1, .h = 1, .w = 9, .ic = 30, .oc = 16, .is_last = true, .has_epilogue = true},
    {.n = 1,
        .h = 9,
        .w = 7,
        .ic = 16,
        .oc = 20,
        .window = 3,
        .pad = 1,
        .zero = 131,
        .has_epilogue = true},
    {.n = 2,
        .h = 9,
        .w = 7,
        .ic = 8,
        .oc = 9,
        .window = 3,
        .pad = 1,
        .stride = 2,
        .zero = 77,
        .is_guarded = true},
    {.n = 1, .h = 11, .w = 10, .ic = 3, .oc = 8, .window = 3, .pad = 1, .stride = 2, .zero = 255},
    {.n = 1,
        .h = 6,
        .w = 8,
        .ic = 12,
        .oc = 8,
        .window = 3,
        .pad = 1,
        .zero = -3,
        .is_signed = true,
        .has_epilogue = true},
    {.n = 1, .h = 6, .w = 5, .ic = 16, .oc = 24, .window = 3, .pad = 1, .groups = 2, .zero = 3},
    {.n = 1,
        .h = 11,
        .w = 20,
        .ic = 3,
        .oc = 8,
        .window = 3,
        .pad = 1,
        .stride = 2,
        .zero = 9,
        .is_nchw = true},
    {.n = 1,
        .h = 5,
        .w = 18,
        .ic = 9,
        .oc = 6,
        .is_signed = true,
        .is_nchw = true,
        .has_epilogue = true},
};

static void test_bytes(void **state) {
  (void)state;
  jit_runner *runner = jit_runner_create(NULL);
  coverage c = {0};
  for (size_t k = 0; k < SEER_COUNT_OF(of_bytes); k++) {
    seer_arena *arena = seer_arena_create("net");
    check_all(runner, byte_net_build(&of_bytes[k], arena), k + 1, arena, &c);
    seer_arena_destroy(arena);
  }
  jit_runner_destroy(runner);
  assert_true(c.n_sketches >= SEER_COUNT_OF(of_bytes));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_winograd),
      cmocka_unit_test(test_winograd_of_items), cmocka_unit_test(test_strassen),
      cmocka_unit_test(test_bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
