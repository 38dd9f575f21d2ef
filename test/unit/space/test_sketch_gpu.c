// test_sketch_gpu.c - what the rules give for a GPU: signatures word for word, the counts of TVM's
// tests of CUDA's sketches, knobs by name, schedules as text, and what is refused by arithmetic.
#include <string.h>

#include "space/block_shape.h"
#include "space_nets.h"
#include "support/test.h"

static seer_target gpu(const char *text, seer_arena *arena) {
  seer_target target;
  must(seer_target_parse(text, arena, &target));
  return target;
}

static void signatures_are_these(void **state) {
  (void)state;
  static const struct {
    const char *net, *signature;
    uint32_t n, n_ansor;  // 0: as many
  } cases[] = {
      {"matmul", "direct/cachewrite(C)/fetch(C)/fuse@1(C)", 1, 0},
      {"matmul_8_8_512", "direct/crossthread(C)", 2, 0},
      {"chained_matmul", NULL, 1, 0},
      {"conv_nchw", NULL, 1, 0},
      {"pool", "direct/simple(max)", 1, 0},
      {"min_rows", NULL, 2, 0},
      {"softmax", NULL, 4, 0},
      {"scalar_sum", NULL, 2, 0},
      // beyond TVM's
      {"gemm_relu", "direct/simple(relu)/fetch(C)/fuse@1(C)", 1, 0},
      {"conv", "direct/simple(relu)/inline(bias)/fetch(conv)/fuse@1(conv)/inline(pad)", 3, 1},
      {"bn_relu_conv", "direct/cachewrite(conv)/fetch(conv)/fuse@1(conv)/inline(act)/inline(scale)",
          1, 0},
      {"softmax_rows", NULL, 4, 0},
      {"attention", NULL, 4, 0},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    for (seer_space_kind space = SEER_SPACE_FULL; space < SEER_SPACE_COUNT; space++) {
      seer_arena *arena = seer_arena_create("test");
      seer_target target = gpu("cuda:sm_80", arena);
      seer_sketch_list *list =
          space_sketches(arena, space_parse(arena, space_net_text(cases[k].net)), &target, space);
      bool is_ansor = space == SEER_SPACE_ANSOR && cases[k].n_ansor > 0;
      if (list->n != (is_ansor ? cases[k].n_ansor : cases[k].n))
        fail_msg("%s: %u sketches", cases[k].net, list->n);
      if (cases[k].signature) assert_string_equal(list->sketch[0]->signature, cases[k].signature);
      seer_arena_destroy(arena);
    }
  }
}

static void schedules_are_text(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_target target = gpu("cuda:sm_80", arena);
  seer_sketch_list *list =
      space_sketches(arena, space_parse(arena, space_net_text("conv")), &target, SEER_SPACE_FULL);
  seer_rng rng;
  seer_rng_init(&rng, 1);
  for (int n = 0; n < 50; n++) {
    seer_schedule s, again;
    if (seer_schedule_sample(list, 0, &rng, &s, NULL) != SEER_REJECT_NONE) continue;
    const char *text = seer_schedule_print(list, &s, arena);
    assert_non_null(strstr(text, "width pad.fetch "));
    must(seer_schedule_parse(list, "printed", text, strlen(text), &again));
    assert_true(seer_schedule_equal(&s, &again));
  }
  const char *wrong =
      seer_arena_printf(arena, "sched \"%s\" { width pad.fetch 3 }", list->sketch[0]->signature);
  seer_schedule none;
  seer_status status = seer_schedule_parse(list, "wrong", wrong, strlen(wrong), &none);
  assert_non_null(strstr(seer_status_message(status), "3 is no width of pad.fetch: 1, 2, 4"));
  seer_status_free(status);
  seer_arena_destroy(arena);
}

// What a block would ask for decides, whatever else the knobs say.
static void limits_are_arithmetic(void **state) {
  (void)state;
  static const struct {
    const char *knobs;
    seer_reject reject;
    int64_t items, sums, bytes;
  } cases[] = {
      {"split C.m 2:16 3:1 4:4 split C.n 2:16 4:4 split C.k 1:4 2:4", SEER_REJECT_NONE, 256, 16,
          2 * 64 * 16 * 4},
      {"split C.m 2:64 split C.n 2:32 split C.k 1:1", SEER_REJECT_ITEMS, 2048, 1, 96 * 4},
      {"split C.m 2:5 split C.n 2:5 split C.k 1:1", SEER_REJECT_ITEMS, 25, 1, 10 * 4},
      {"split C.m 2:16 4:16 split C.n 2:16 4:16 split C.k 1:1", SEER_REJECT_REGISTERS, 256, 256,
          512 * 4},
      {"split C.m 1:4 2:16 split C.n 1:4 2:16 split C.k 1:1", SEER_REJECT_UNROLL, 256, 16, 128 * 4},
      {"split C.m 2:16 4:8 split C.n 2:16 4:8 split C.k 1:64", SEER_REJECT_LOCAL_BYTES, 256, 64,
          256 * 64 * 4},
  };
  seer_arena *arena = seer_arena_create("test");
  seer_target target = gpu("cuda:sm_80", arena);
  seer_sketch_list *list =
      space_sketches(arena, space_parse(arena, space_net_text("matmul")), &target, SEER_SPACE_FULL);
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    // Every knob is named: the default's would stand for the others.
    static const char *const axes[] = {"m", "n", "k"};
    const char *text = seer_arena_printf(arena, "sched \"%s\" {", list->sketch[0]->signature);
    for (uint32_t a = 0; a < SEER_COUNT_OF(axes); a++)
      text = seer_arena_printf(
          arena, "%s split C.%s 1:1 2:1%s", text, axes[a], a < 2 ? " 3:1 4:1" : "");
    text = seer_arena_printf(arena, "%s %s }", text, cases[k].knobs);
    seer_schedule s;
    seer_frame frame;
    seer_block_shape shape;
    must(seer_schedule_parse(list, "text", text, strlen(text), &s));
    seer_frame_make(list, &s, &frame);
    seer_block_shape_make(&frame, frame.root[0], &shape);
    assert_int_equal(shape.items, cases[k].items);
    assert_int_equal(shape.sums, cases[k].sums);
    assert_int_equal(shape.workgroup_bytes, cases[k].bytes);
    assert_string_equal(
        seer_reject_name(seer_schedule_check(list, &s)), seer_reject_name(cases[k].reject));
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(signatures_are_these),
      cmocka_unit_test(schedules_are_text),
      cmocka_unit_test(limits_are_arithmetic),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
