// What the accesses of warps come to, by the interpreter of items: weights are fetched in whole
// sectors, and what was fetched is read in few turns of its banks.
#include <string.h>

#include "code/gen/generate.h"
#include "setup/target.h"
#include "space/lower.h"
#include "support/loop_check.h"
#include "support/product_net.h"
#include "support/test.h"
#include "support/winograd_net.h"

// Of the default schedule (NULL) for sm_80, or of `text`; what is computed is right.
static seer_vec_traffic traffic_of(
    const seer_dag *dag, seer_space_kind space, const char *text, seer_arena *arena) {
  const seer_gen_machine machine = seer_gen_machine_of_items(true);
  seer_vec_traffic traffic = {0};
  seer_target target;
  seer_sketch_list *list;
  seer_schedule schedule;
  seer_loop *loop;
  seer_vec_code *code;
  seer_rng rng;
  seer_rng_init(&rng, 1);
  must(seer_target_parse("cuda:sm_80", arena, &target));
  must(seer_sketch_generate(dag, &target, space, arena, &list));
  seer_schedule_default(list, 0, &schedule);
  if (text) must(seer_schedule_parse(list, "test", text, strlen(text), &schedule));
  must(seer_loop_lower(list, &schedule, arena, &loop));
  const loop_expect *expect = loop_expect_make(list, 1, arena);
  void **data = loop_expect_data(expect, list->sketch[0], loop, arena);
  must(seer_gen_code(loop, &machine, "f", arena, &code));
  must(seer_vec_eval_traffic(code, data, &rng, &traffic));
  assert_null(loop_expect_compare(expect, list->sketch[0], loop, data, arena));
  return traffic;
}

// However they lie in the network: in the order of a product's steps, or turned.
static void weights_are_packed_for_fetches(void **state) {
  (void)state;
  static const winograd_net convs[] = {
      {.n = 1, .h = 14, .w = 14, .ic = 32, .oc = 64, .pad = 1, .is_hwio = true},
      {.n = 1, .h = 14, .w = 14, .ic = 32, .oc = 64, .pad = 1},
  };
  static const product_net products[] = {
      {.n = 1, .y = 8, .x = 8, .k = 64, .c = 64},
      {.n = 1, .y = 8, .x = 8, .k = 64, .c = 64, .is_turned = true},
  };
  for (uint32_t k = 0; k < 2; k++) {
    uint64_t turns[2][2], sectors[2][2];  // by how they lie, and by space
    for (uint32_t is_turned = 0; is_turned < 2; is_turned++) {
      for (uint32_t space = 0; space < 2; space++) {
        seer_arena *arena = seer_arena_create("test");
        const seer_dag *dag = k == 0 ? winograd_net_build(&convs[is_turned], arena)
                                     : product_net_build(&products[is_turned], arena);
        const seer_vec_traffic t = traffic_of(dag, (seer_space_kind)space, NULL, arena);
        turns[is_turned][space] = t.group_turns;
        sectors[is_turned][space] = t.sectors;
        seer_arena_destroy(arena);
      }
    }
    print_message("turned: %u turns for %u, %u sectors for %u\n",
        (unsigned)turns[1][SEER_SPACE_FULL], (unsigned)turns[1][SEER_SPACE_ANSOR],
        (unsigned)sectors[1][SEER_SPACE_FULL], (unsigned)sectors[1][SEER_SPACE_ANSOR]);
    assert_true(turns[1][SEER_SPACE_FULL] == turns[0][SEER_SPACE_FULL]);
    assert_true(turns[0][SEER_SPACE_FULL] <= turns[0][SEER_SPACE_ANSOR]);
    assert_true(turns[1][SEER_SPACE_FULL] * 8 <= turns[1][SEER_SPACE_ANSOR]);
    assert_true(sectors[1][SEER_SPACE_FULL] <= sectors[1][SEER_SPACE_ANSOR]);
  }
}

// Items side by side read rows of a turned operand: all from one bank, if rows are a multiple of 32
// words apart.
static void pads_spread_rows_over_banks(void **state) {
  (void)state;
  static const char net[] =
      "dag product {\n  input $A f32[64, 64]\n  input $B f32[64, 64]\n"
      "  stage C role anchor [m:m<64, n:n<64] sum[k:k<64] = $A[m, k] * $B[n, k]\n  output $C\n}\n";
  uint64_t turns[3];
  static const uint32_t pads[] = {0, 1, 4};
  for (uint32_t k = 0; k < SEER_COUNT_OF(pads); k++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag;
    must(seer_dag_parse("test", net, strlen(net), arena, &dag));
    const char *text = seer_arena_printf(arena,
        "sched \"direct/cachewrite(C)/fetch(C)/fuse@1(C)\" {\n"
        "split C.m 1:1 2:4 3:1 4:2 split C.n 1:1 2:32 3:1 4:1 split C.k 1:8 2:4\n"
        "width A.fetch 4 width B.fetch 4 unroll C 64 pad A.fetch 0 pad B.fetch %u }",
        pads[k]);
    turns[k] = traffic_of(dag, SEER_SPACE_FULL, text, arena).group_turns;
    seer_arena_destroy(arena);
  }
  print_message("%u turns, %u with pads of 1, %u of 4\n", (unsigned)turns[0], (unsigned)turns[1],
      (unsigned)turns[2]);
  assert_true(turns[1] * 4 <= turns[0] && turns[2] * 2 <= turns[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(weights_are_packed_for_fetches),
      cmocka_unit_test(pads_spread_rows_over_banks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
