// Plans with sizes that a run decides: a host call whose result has an unknown size, and a loop
// that runs as often as an input says. Both run, say the right sizes, and are refused when damaged.
#include <stdio.h>
#include <string.h>

#include "plan_damage.h"
#include "runtime/exec.h"
#include "runtime/host.h"

enum { F32 = 1, I64 = 7, BOOL = 9 };

// found = NonZero(x f32[6]); y = x, handed from iteration to iteration, n times while go.
typedef struct {
  seer_plan_header header;
  seer_plan_step step[2];
  seer_plan_arg arg[10];
  seer_plan_io io[5];  // x, n, go; found, y
  seer_plan_host host[1];
  seer_plan_tensor tensor[3];
  seer_plan_size size[1];
  seer_plan_loop loop[1];
  seer_plan_move move[1];
  char strings[32];
  char json[8];
} sized_plan;

static sized_plan plan;

static int setup(void **state) {
  (void)state;
  memset(&plan, 0, sizeof plan);
  seer_plan_header *h = &plan.header;
  h->magic = SEER_PLAN_MAGIC, h->version = SEER_PLAN_VERSION, h->n_bytes = sizeof plan;
  h->n_step = 2, h->step_offset = offsetof(sized_plan, step);
  h->n_arg = 10, h->arg_offset = offsetof(sized_plan, arg);
  h->n_input = 3, h->n_output = 2, h->io_offset = offsetof(sized_plan, io);
  h->phase_offset = offsetof(sized_plan, io);
  h->n_host = 1, h->host_offset = offsetof(sized_plan, host);
  h->n_tensor = 3, h->tensor_offset = offsetof(sized_plan, tensor);
  h->n_size = 1, h->size_offset = offsetof(sized_plan, size);
  h->n_loop = 1, h->loop_offset = offsetof(sized_plan, loop);
  h->n_move = 1, h->move_offset = offsetof(sized_plan, move);
  h->strings_offset = offsetof(sized_plan, strings), h->strings_bytes = sizeof plan.strings;
  h->json_offset = offsetof(sized_plan, json), h->json_bytes = sizeof plan.json;
  h->arena_bytes = 512;
  memcpy(plan.strings, "\0x\0n\0go\0found\0y", 15);
  memcpy(plan.json, "{}", 3);
  plan.io[0] = (seer_plan_io){1, F32, 1, 0, {6}, 24};
  plan.io[1] = (seer_plan_io){3, I64, 0, 0, {0}, 8};
  plan.io[2] = (seer_plan_io){5, BOOL, 0, 0, {0}, 1};
  plan.io[3] = (seer_plan_io){8, I64, 2, 0, {1, 6}, 48};
  plan.io[4] = (seer_plan_io){14, F32, 1, 0, {6}, 24};
  const seer_plan_arg args[10] = {{SEER_ARG_INPUT, 0, 0, 24}, {SEER_ARG_INPUT, 0, 1, 8},
      {SEER_ARG_INPUT, 0, 2, 1}, {SEER_ARG_OUTPUT, 0, 0, 48}, {SEER_ARG_OUTPUT, 0, 1, 24},
      {SEER_ARG_ARENA, 0, 0, 8},  // how many were found
      {SEER_ARG_ARENA, 0, 64, 8},  // number of the iteration
      {SEER_ARG_ARENA, 0, 128, 1},  // goes on
      {SEER_ARG_ARENA, 0, 192, 8},  // iterations
      {SEER_ARG_ARENA, 0, 256, 24}};
  memcpy(plan.arg, args, sizeof args);
  plan.step[0].kind = SEER_PLAN_HOST;
  plan.step[1].kind = SEER_PLAN_LOOP;
  plan.tensor[0] = (seer_plan_tensor){.onnx_dtype = F32, .rank = 1, .dim = {6}, .arg = 0};
  plan.tensor[1] =
      (seer_plan_tensor){.onnx_dtype = I64, .rank = 2, .dim = {1, 6}, .size_arg = {0, 6}, .arg = 3};
  plan.tensor[2] = (seer_plan_tensor){.onnx_dtype = I64, .rank = 1, .dim = {1}, .arg = 5};
  plan.host[0] = (seer_plan_host){.function = SEER_HOST_NONZERO, .n_in = 1, .n_out = 2};
  plan.size[0] = (seer_plan_size){.output = 0, .dim = 1, .arg = 5};
  plan.loop[0] = (seer_plan_loop){.trip_arg = 2,
      .start_arg = 3,
      .number_arg = 7,
      .go_arg = 8,
      .next_arg = 3,
      .count_arg = 9,
      .n_carried = 1};
  plan.move[0] = (seer_plan_move){
      .before_arg = 1, .in_arg = 10, .out_arg = 10, .result_arg = 5, .n_bytes = 24};
  return 0;
}

static void runs(void **state) {
  (void)state;
  assert_null(seer_plan_check(&plan, sizeof plan));
  char message[200];
  seer_model *model;
  seer_session *session;
  seer_model_source source = {&plan, sizeof plan, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, 0};
  assert_int_equal(seer_rt_open(&source, &model, message, sizeof message), SEER_RT_OK);
  assert_int_equal(seer_rt_output(model, 0)->bounded, 2);
  assert_int_equal(seer_rt_output(model, 1)->bounded, 0);
  assert_int_equal(
      seer_rt_session_create(model, NULL, &session, message, sizeof message), SEER_RT_OK);
  float x[6] = {0, 1, 0, 0, -2, 0}, y[6];
  int64_t n = 3, found[6], dim[12];
  uint8_t go = 1;
  seer_rt_bind_input(session, 0, x);
  seer_rt_bind_input(session, 1, &n);
  seer_rt_bind_input(session, 2, &go);
  seer_rt_bind_output(session, 0, found);
  seer_rt_bind_output(session, 1, y);
  assert_int_equal(seer_rt_output_shape(session, 0, dim), SEER_RT_INVALID);  // nothing has run
  assert_int_equal(seer_rt_output_shape(session, 1, dim), SEER_RT_OK);
  for (int run = 0; run < 3; run++) {
    if (run == 1) x[0] = 5;
    if (run == 2) go = 0;
    assert_int_equal(seer_rt_run(session), SEER_RT_OK);
    assert_int_equal(seer_rt_output_shape(session, 0, dim), SEER_RT_OK);
    assert_int_equal(dim[0], 1);
    assert_int_equal(dim[1], run == 0 ? 2 : 3);
    assert_int_equal(found[0], run == 0 ? 1 : 0);
    assert_int_equal(found[5], 0);
    assert_memory_equal(x, y, sizeof x);
  }
  assert_int_equal(seer_rt_output_shape(session, 2, dim), SEER_RT_INVALID);
  seer_rt_session_destroy(session);
  seer_rt_close(model);
}

static void each_field(void **state) {
  (void)state;
  EXPECT_BAD(plan.step[0].first_phase = 1);
  EXPECT_BAD(plan.step[1].first_phase = 1);
  EXPECT_BAD(plan.header.host_offset = sizeof plan);
  EXPECT_BAD(plan.header.n_tensor = 1000);
  EXPECT_BAD(plan.header.move_offset = 4);
  EXPECT_BAD(plan.host[0].function = SEER_HOST_COUNT);
  EXPECT_BAD(plan.host[0].first_tensor = 1);
  EXPECT_BAD(plan.host[0].n_in = UINT32_MAX);
  EXPECT_BAD(plan.host[0].scratch_arg = 11);
  EXPECT_BAD(plan.host[0].scratch_arg = 1);
  EXPECT_BAD(plan.tensor[0].rank = 13);
  EXPECT_BAD(plan.tensor[0].arg = 10);
  EXPECT_BAD(plan.tensor[1].dim[1] = 7);
  EXPECT_BAD(plan.tensor[1].arg = 0);  // an input
  EXPECT_BAD(plan.tensor[1].size_arg[1] = 11);
  EXPECT_BAD(plan.tensor[1].size_arg[1] = 3);  // one byte
  EXPECT_BAD(plan.size[0].output = 2);
  EXPECT_BAD(plan.size[0].dim = 2);
  EXPECT_BAD(plan.size[0].arg = 2);
  EXPECT_BAD(plan.loop[0].n_body = 1);
  EXPECT_BAD(plan.loop[0].trip_arg = 3);
  EXPECT_BAD(plan.loop[0].number_arg = 2);
  EXPECT_BAD(plan.loop[0].go_arg = 0);
  EXPECT_BAD(plan.loop[0].next_arg = 0);
  EXPECT_BAD(plan.loop[0].count_arg = 11);
  EXPECT_BAD(plan.loop[0].n_scan = 1);
  EXPECT_BAD(plan.move[0].before_arg = 0);
  EXPECT_BAD(plan.move[0].in_arg = 1);
  EXPECT_BAD(plan.move[0].n_bytes = 25);
}

static void random_damage(void **state) {
  (void)state;
  plan_damage(setup, &plan, sizeof plan, 12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(runs, setup),
      cmocka_unit_test_setup(each_field, setup),
      cmocka_unit_test_setup(random_damage, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
