// test_sketch_gpu.c - what the rules give for a GPU: signatures word for word, the counts of TVM's
// tests of CUDA's sketches, knobs by name, schedules as text, the parts of split K, and what is
// refused by arithmetic.
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
      {"matmul", "direct/cachewrite(C)/fetch(C)/fuse@1(C)", 2, 1},
      {"matmul_8_8_512", "direct/crossthread(C)", 3, 2},
      {"chained_matmul", NULL, 4, 1},
      {"conv_nchw", NULL, 2, 1},
      {"pool", "direct/simple(max)", 1, 0},
      {"min_rows", NULL, 2, 0},
      {"softmax", NULL, 4, 0},
      {"scalar_sum", NULL, 2, 0},
      // beyond TVM's
      {"gemm_relu", "direct/simple(relu)/fetch(C)/fuse@1(C)", 2, 1},
      {"conv", "direct/simple(relu)/inline(bias)/fetch(conv)/fuse@1(conv)/inline(pad)", 6, 1},
      {"bn_relu_conv", "direct/cachewrite(conv)/fetch(conv)/fuse@1(conv)/inline(act)/inline(scale)",
          4, 1},
      {"softmax_rows", NULL, 4, 0},
      {"attention", NULL, 16, 4},
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

// Whether fetches are a step ahead; texts from before that could be said mean that they are not.
static void a_step_ahead_is_a_word(void **state) {
  (void)state;
  static const char rest[] =
      "split C.m 1:1 2:16 3:1 4:4 split C.n 1:1 2:16 3:1 4:4 split C.k 1:4 2:4";
  static const struct {
    const char *words;
    int ahead;
    int64_t held;
    bool is_double;
  } cases[] = {{"", 0, 0, false}, {"ahead C 0", 0, 0, false},
      {"width A.fetch 4 width B.fetch 1 ahead C 1", 1, 4 + 4, false},
      {"width A.fetch 1 width B.fetch 2 ahead C 1", 1, 4 + 4, false},
      {"width A.fetch 1 width B.fetch 2 ahead C 2", 2, 0, true},
      // One step, and nothing behind it.
      {"split C.m 4:1 split C.n 4:1 width A.fetch 4 width B.fetch 4 ahead C 1 split C.k 1:128", 0,
          0, false},
      {"split C.m 4:1 split C.n 4:1 width A.fetch 4 width B.fetch 4 ahead C 2 split C.k 1:128", 0,
          0, false}};
  int64_t single = 0;
  seer_arena *arena = seer_arena_create("test");
  seer_target target = gpu("cuda:sm_80", arena), lanes = gpu("opencl:cpu", arena);
  const seer_dag *dag = space_parse(arena, space_net_text("matmul"));
  seer_sketch_list *list = space_sketches(arena, dag, &target, SEER_SPACE_FULL);
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    const char *text = seer_arena_printf(
        arena, "sched \"%s\" { %s %s }", list->sketch[0]->signature, rest, cases[k].words);
    seer_schedule s, again;
    seer_frame frame;
    seer_block_shape shape;
    must(seer_schedule_parse(list, "text", text, strlen(text), &s));
    seer_frame_make(list, &s, &frame);
    seer_block_shape_make(&frame, frame.root[0], &shape);
    assert_int_equal(shape.held, cases[k].held);
    text = seer_schedule_print(list, &s, arena);
    if (k == 0) single = shape.workgroup_bytes;
    if (cases[k].ahead > 0)
      assert_int_equal(shape.workgroup_bytes, cases[k].is_double ? 2 * single : single);
    assert_int_equal(strstr(text, "ahead C 1") != NULL, cases[k].ahead == 1);
    assert_int_equal(strstr(text, "ahead C 2") != NULL, cases[k].ahead == 2);
    assert_int_equal(strstr(text, "ahead") != NULL, cases[k].ahead > 0);
    must(seer_schedule_parse(list, "printed", text, strlen(text), &again));
    assert_true(seer_schedule_equal(&s, &again));
  }
  for (int k = 0; k < 2; k++) {
    list = space_sketches(
        arena, dag, k == 0 ? &lanes : &target, k == 0 ? SEER_SPACE_FULL : SEER_SPACE_ANSOR);
    for (uint32_t i = 0; i < list->n; i++)
      for (uint32_t n = 0; n < list->sketch[i]->n_knob; n++)
        assert_true(list->sketch[i]->knob[n].kind != SEER_KNOB_AHEAD);
  }
  seer_arena_destroy(arena);
}

// Copies that nobody waits for are CUDA's from sm_80 on; elsewhere there is no such value.
static void copies_are_of_devices_that_have_them(void **state) {
  (void)state;
  static const struct {
    const char *target;
    uint16_t n_values;
  } cases[] = {{"cuda:sm_70", 2}, {"cuda:sm_75", 2}, {"cuda:sm_80", 3}, {"cuda:h100", 3},
      {"opencl:generic", 2}};
  seer_arena *arena = seer_arena_create("test");
  const seer_dag *dag = space_parse(arena, space_net_text("matmul"));
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_target target = gpu(cases[k].target, arena);
    const seer_sketch_list *list = space_sketches(arena, dag, &target, SEER_SPACE_FULL);
    uint32_t n_seen = 0;
    for (uint32_t n = 0; n < list->sketch[0]->n_knob; n++) {
      if (list->sketch[0]->knob[n].kind != SEER_KNOB_AHEAD) continue;
      assert_int_equal(list->sketch[0]->knob[n].n_values, cases[k].n_values);
      n_seen++;
    }
    assert_int_equal(n_seen, 1);
  }
  seer_arena_destroy(arena);
}

// Where a block's memory is memory as any other, tiles read arguments, and weights are packed as
// they read them; Ansor's space is as published.
static void lanes_fetch_nothing(void **state) {
  (void)state;
  static const char text[] =
      "dag product {\n  input $A f32[64, 96]\n  weight $W f32[96, 64]\n"
      "  stage C role anchor [m<64, n<64] sum[k<96] = $A[m, k] * $W[k, n]\n  output $C\n}\n";
  for (seer_space_kind space = SEER_SPACE_FULL; space < SEER_SPACE_COUNT; space++) {
    seer_arena *arena = seer_arena_create("test");
    seer_target target = gpu("opencl:cpu", arena);
    seer_sketch_list *list = space_sketches(arena, space_parse(arena, text), &target, space);
    for (uint32_t i = 0; i < list->n; i++) {
      bool fetches = strstr(list->sketch[i]->signature, "fetch") != NULL;
      if (fetches != (space == SEER_SPACE_ANSOR)) fail_msg("%s", list->sketch[i]->signature);
      bool packs = false;
      for (uint32_t s = 0; s < list->sketch[i]->dag->n_stage; s++)
        packs |= list->sketch[i]->stage[s].pack_weights;
      if (i == 0) assert_int_equal(packs, space == SEER_SPACE_FULL);
    }
    seer_arena_destroy(arena);
  }
}

// ---- split K

// Which numbers of parts there are: divisors, and powers of two where there is none near.
static void parts_are_these(void **state) {
  (void)state;
  static const struct {
    int64_t k;
    const char *parts;
  } cases[] = {{512, "2 4 8 16"}, {768, "2 3 4 6 8 12 16"}, {96, "2 3 4 6"}, {116, "2 4"},
      {232, "2 4 8"}, {331, "2 4 8 16"}, {33, ""}, {35, "2"}, {31, "2"}, {13, ""}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_arena *arena = seer_arena_create("test");
    seer_target target = gpu("cuda:sm_80", arena);
    const char *text = seer_arena_printf(arena,
        "dag product {\n  input $A f32[64, %d]\n  weight $W f32[%d, 64]\n"
        "  stage C role anchor [m<64, n<64] sum[k<%d] = $A[m, k] * $W[k, n]\n  output $C\n}\n",
        (int)cases[i].k, (int)cases[i].k, (int)cases[i].k);
    seer_sketch_list *list =
        space_sketches(arena, space_parse(arena, text), &target, SEER_SPACE_FULL);
    const char *parts = "";
    if (list->n > 1) {
      const seer_sketch *sketch = list->sketch[1];
      assert_string_equal(sketch->signature, "direct/splitk(C)/cachewrite(C)/fetch(C)/fuse@1(C)");
      const seer_knob *knob = &sketch->knob[sketch->split_knob[0]];
      assert_string_equal(knob->name, "C.sum.rfactor");
      for (uint32_t v = 0; v < knob->n_values; v++)
        parts = seer_arena_printf(arena, "%s%s%u", parts, v > 0 ? " " : "", knob->number[v]);
    }
    if (strcmp(parts, cases[i].parts) != 0)
      fail_msg("%d: parts \"%s\", not \"%s\"", (int)cases[i].k, parts, cases[i].parts);
    seer_arena_destroy(arena);
  }
}

// Parts are blocks and nothing else: whatever the knobs, a block has one of them, and with the same
// factors there are as many times the blocks as there are parts. The sum and the DAG's own reader
// are one kernel behind it. By default there are no more parts than give each processor a block.
static void parts_are_blocks(void **state) {
  (void)state;
  static const char text[] =
      "dag product {\n  input $A f32[128, 768]\n  weight $W f32[768, 256]\n"
      "  stage C role anchor [m<128, n<256] sum[k<768] = $A[m, k] * $W[k, n]\n"
      "  stage relu role epilogue [m<128, n<256] = max($C[m, n], 0.0)\n  output $relu\n}\n";
  seer_arena *arena = seer_arena_create("test");
  seer_target target = gpu("cuda:a100", arena);
  seer_sketch_list *list =
      space_sketches(arena, space_parse(arena, text), &target, SEER_SPACE_FULL);
  assert_int_equal(list->n, 2);
  assert_int_equal(list->sketch[0]->n_split, 0);
  const seer_sketch *sketch = list->sketch[1];
  const seer_knob *knob = &sketch->knob[sketch->split_knob[0]];
  seer_schedule s;
  seer_frame frame;
  seer_schedule_default(list, 1, &s);
  seer_frame_make(list, &s, &frame);
  assert_int_equal(frame.n_root, 2);
  // 128 x 256 by tiles of 64 x 64 are 8 blocks: of 108 processors most are had by 16 parts.
  assert_int_equal(seer_frame_parts(&frame, frame.root[0]), 8 * 16);
  seer_rng rng;
  seer_rng_init(&rng, 5);
  uint32_t n_drawn[16] = {0};
  for (int n = 0; n < 2000; n++) {
    if (seer_schedule_sample(list, 1, &rng, &s, NULL) != SEER_REJECT_NONE) continue;
    n_drawn[s.knob[sketch->split_knob[0]]]++;
    int64_t one = 0;
    for (uint16_t v = 0; v < knob->n_values && n < 20; v++) {
      s.knob[sketch->split_knob[0]] = v;
      seer_frame_make(list, &s, &frame);
      int64_t blocks = seer_frame_parts(&frame, frame.root[0]);
      if (v == 0) one = blocks / knob->number[0];
      assert_int_equal(blocks, one * knob->number[v]);
    }
  }
  for (uint32_t v = 0; v < knob->n_values; v++) assert_in_range(n_drawn[v], 150, 2000);
  seer_schedule_default(list, 1, &s);
  uint32_t n_moved = 0;
  for (int n = 0; n < 2000; n++) {
    seer_schedule child;
    bool is_child = seer_schedule_mutate(list, &rng, &s, &child, NULL) == SEER_REJECT_NONE &&
        child.sketch == s.sketch;
    uint16_t k = sketch->split_knob[0];
    n_moved += is_child && child.knob[k] != s.knob[k];
  }
  assert_in_range(n_moved, 5, 60);  // one in a hundred
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
      cmocka_unit_test(a_step_ahead_is_a_word),
      cmocka_unit_test(copies_are_of_devices_that_have_them),
      cmocka_unit_test(lanes_fetch_nothing),
      cmocka_unit_test(parts_are_these),
      cmocka_unit_test(parts_are_blocks),
      cmocka_unit_test(limits_are_arithmetic),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
