// Which stages are made in the memory of their reader's values: decided for drawn schedules of DAGs
// that may and that may not, each of which comes to what the interpreter of the DAG says.
#include <string.h>

#include "support/loop_check.h"
#include "support/test.h"
#include "support/test_target.h"

#define N_DRAWS 40

static uint32_t count(const seer_frame *frame) {
  uint32_t n = 0;
  for (uint32_t s = 0; s < frame->sketch->dag->n_stage; s++)
    n += frame->stage[s].place == SEER_PLACE_AT && frame->stage[s].in_place;
  return n;
}

// Draws of all sketches, each held against the DAG; returns how many have a stage in place.
static uint32_t draw(const char *text) {
  seer_arena *arena = seer_arena_create("test"), *scratch = seer_arena_create("scratch");
  seer_dag *dag;
  seer_sketch_list *list = NULL;
  must(seer_dag_parse("test", text, strlen(text), arena, &dag));
  must(seer_dag_verify(dag));
  must(seer_sketch_generate(dag, &test_target_wide, SEER_SPACE_FULL, arena, &list));
  const loop_expect *expect = loop_expect_make(list, 1, arena);
  seer_rng rng;
  seer_rng_init(&rng, 11);
  uint32_t n = 0;
  for (uint32_t s = 0; s < list->n; s++) {
    for (uint64_t k = 0; k < N_DRAWS; k++) {
      seer_schedule schedule;
      if (seer_schedule_sample(list, s, &rng, &schedule, NULL) != SEER_REJECT_NONE) continue;
      seer_frame frame;
      seer_frame_make(list, &schedule, &frame);
      n += count(&frame) > 0;
      assert_true(count(&frame) <= 1);  // all of these DAGs have one output
      const char *wrong = loop_check(expect, &schedule, SEER_LOWER_FAULT_NONE, k, scratch, NULL);
      if (wrong) fail_msg("%s\n%s", wrong, seer_schedule_print(list, &schedule, scratch));
      seer_arena_reset(scratch);
    }
  }
  seer_arena_destroy(scratch);
  seer_arena_destroy(arena);
  return n;
}

#define ROWS                                                         \
  "dag rows { input $x f32[12, 40] input $w f32[40, 40]\n"           \
  "stage max role reduce_local [r<12] max[c<40] = $x[r, c]\n"        \
  "stage exp role prologue [r<12, c<40] = exp($x[r, c] - $max[r])\n" \
  "stage sum role reduce_local [r<12] sum[c<40] = $exp[r, c]\n"

static void where_the_reader_writes(void **state) {
  (void)state;
  assert_true(
      draw(ROWS "stage out role epilogue [r<12, c<40] = $exp[r, c] * $sum[r] output $out }") > 0);
  // through a stage that is inlined
  assert_true(
      draw(ROWS
          "stage scaled role epilogue [r<12, c<40] = $exp[r, c] * $sum[r]\n"
          "stage out role epilogue [r<12, c<40] = $scaled[r, c] + $x[r, c] output $out }") > 0);
}

// Two that would lie in one place, of which each is read behind the other's write.
static void one_alone(void **state) {
  (void)state;
  assert_true(
      draw(ROWS
          "stage other role prologue [r<12, c<40] = $x[r, c] + $max[r]\n"
          "stage all role reduce_local [r<12] sum[c<40] = $other[r, c]\n"
          "stage out role epilogue [r<12, c<40] = $exp[r, c] * $sum[r] + $other[r, c] * $all[r]\n"
          "output $out }") > 0);
}

// Some of these draws have `late` inside of more of out's loops than exp: elements that are
// overwritten are read again.
static void before_the_last_reader(void **state) {
  (void)state;
  assert_true(draw(ROWS "stage late role anchor [r<12, c<40] sum[k<40] = $exp[r, k] * $w[k, c]\n"
                        "stage out role epilogue [r<12, c<40] = $exp[r, c] * $sum[r] + $late[r, c] "
                        "output $out }") > 0);
}

static void nowhere_else(void **state) {
  (void)state;
  // other elements than the one that is written
  assert_int_equal(
      draw(ROWS "stage out role epilogue [r<12, c<40] = $exp[r, 39 - c] * $sum[r] output $out }"),
      0);
  assert_int_equal(
      draw(ROWS "stage out role epilogue [c<40, r<12] = $exp[r, c] * $sum[r] output $out }"), 0);
  // the same through a stage that is inlined
  assert_int_equal(
      draw(ROWS "stage turned role epilogue [r<12, c<40] = $exp[r, 39 - c] * 2.0\n"
                "stage out role epilogue [r<12, c<40] = $exp[r, c] * $sum[r] + $turned[r, c]"
                " output $out }"),
      0);
  // of another type
  assert_int_equal(
      draw(ROWS
          "stage out role epilogue [r<12, c<40] = cast.f64($exp[r, c] * $sum[r]) output $out }"),
      0);
  // a reduction's sums
  assert_int_equal(draw("dag mm { input $x f32[12, 40] weight $w f32[40, 48]\n"
                        "stage mm role anchor [r<12, c<48] sum[k<40] = $x[r, k] * $w[k, c]\n"
                        "stage out role epilogue [r<12, c<48] = max($mm[r, c], 0.0) output $out }"),
      0);
}

// Rows that do not divide: the last visit has fewer.
static void a_visit_is_cut(void **state) {
  (void)state;
  assert_true(
      draw("dag rows { input $x f32[13, 40]\n"
           "stage max role reduce_local [r<13] max[c<40] = $x[r, c]\n"
           "stage exp role prologue [r<13, c<40] = exp($x[r, c] - $max[r])\n"
           "stage sum role reduce_local [r<13] sum[c<40] = $exp[r, c]\n"
           "stage out role epilogue [r<13, c<40] = $exp[r, c] * $sum[r] output $out }") > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(where_the_reader_writes),
      cmocka_unit_test(one_alone),
      cmocka_unit_test(before_the_last_reader),
      cmocka_unit_test(nowhere_else),
      cmocka_unit_test(a_visit_is_cut),
  };
  return cmocka_run_group_tests_name("space/in_place", tests, NULL, NULL);
}
