// Plans with branches, one in the other: only the side that is taken runs, results come from where
// they are made or are moved, and damaged ones are refused.
#include <stdio.h>
#include <string.h>

#include "plan_damage.h"
#include "runtime/exec.h"

enum { I64 = 7, BOOL = 9, N_STEP = 5, N_ARG = 5 };

// if c { a = 10; if d { b = 20 } else { b = a }; y = b } else { y = 30 }
typedef struct {
  seer_plan_header header;
  seer_plan_step step[N_STEP];
  seer_plan_arg arg[N_ARG];
  seer_plan_io io[3];  // c, d; y
  seer_plan_phase phase[3];
  seer_plan_branch branch[2];
  seer_plan_move move[2];
  char strings[16];
  char json[8];
} branch_plan;

static branch_plan plan;
static int calls[3];

static void put(void *const *buffers, int which) {
  calls[which]++;
  *(int64_t *)buffers[0] = 10 * (which + 1);
}
static void put_a(void *const *buffers, uint32_t part) { put(buffers, 0 + (part > 0)); }
static void put_b(void *const *buffers, uint32_t part) { put(buffers, 1 + (part > 0)); }
static void put_y(void *const *buffers, uint32_t part) { put(buffers, 2 - (part > 0)); }
static const seer_phase_function kernels[3] = {put_a, put_b, put_y};

static int setup(void **state) {
  (void)state;
  memset(&plan, 0, sizeof plan);
  memset(calls, 0, sizeof calls);
  seer_plan_header *h = &plan.header;
  h->magic = SEER_PLAN_MAGIC, h->version = SEER_PLAN_VERSION, h->n_bytes = sizeof plan;
  h->n_step = N_STEP, h->step_offset = offsetof(branch_plan, step);
  h->n_arg = N_ARG, h->arg_offset = offsetof(branch_plan, arg);
  h->n_input = 2, h->n_output = 1, h->io_offset = offsetof(branch_plan, io);
  h->n_phase = 3, h->phase_offset = offsetof(branch_plan, phase);
  h->n_branch = 2, h->branch_offset = offsetof(branch_plan, branch);
  h->n_move = 2, h->move_offset = offsetof(branch_plan, move);
  h->strings_offset = offsetof(branch_plan, strings), h->strings_bytes = sizeof plan.strings;
  h->json_offset = offsetof(branch_plan, json), h->json_bytes = sizeof plan.json;
  h->arena_bytes = 128;
  memcpy(plan.strings, "\0c\0d\0y", 7);
  memcpy(plan.json, "{}", 3);
  plan.io[0] = (seer_plan_io){1, BOOL, 0, 0, {0}, 1};
  plan.io[1] = (seer_plan_io){3, BOOL, 0, 0, {0}, 1};
  plan.io[2] = (seer_plan_io){5, I64, 0, 0, {0}, 8};
  const seer_plan_arg args[N_ARG] = {{SEER_ARG_INPUT, 0, 0, 1}, {SEER_ARG_INPUT, 0, 1, 1},
      {SEER_ARG_ARENA, 0, 0, 8}, {SEER_ARG_ARENA, 0, 64, 8}, {SEER_ARG_OUTPUT, 0, 0, 8}};
  memcpy(plan.arg, args, sizeof args);
  plan.step[0] = (seer_plan_step){.kind = SEER_PLAN_BRANCH};
  plan.step[1] = (seer_plan_step){.kind = SEER_PLAN_KERNEL, .n_phase = 1, .first_arg = 2};
  plan.step[2] = (seer_plan_step){.kind = SEER_PLAN_BRANCH, .first_phase = 1};
  plan.step[3] = (seer_plan_step){.kind = SEER_PLAN_KERNEL, .first_phase = 1};
  plan.step[4] = (seer_plan_step){.kind = SEER_PLAN_KERNEL, .first_phase = 2};
  for (uint32_t k = 3; k < 5; k++) plan.step[k].n_phase = 1, plan.step[k].first_arg = k;
  for (uint32_t k = 0; k < 3; k++) plan.phase[k].n_parts = 1;
  plan.step[1].n_arg = plan.step[3].n_arg = plan.step[4].n_arg = 1;
  plan.branch[0] =
      (seer_plan_branch){.condition_arg = 1, .n_then = 3, .n_else = 1, .n_then_move = 1};
  plan.branch[1] =
      (seer_plan_branch){.condition_arg = 2, .n_then = 1, .first_move = 1, .n_else_move = 1};
  plan.move[0] = (seer_plan_move){.out_arg = 4, .result_arg = 5, .n_bytes = 8};
  plan.move[1] = (seer_plan_move){.out_arg = 3, .result_arg = 4, .n_bytes = 8};
  return 0;
}

static void one_side_runs(void **state) {
  (void)state;
  assert_null(seer_plan_check(&plan, sizeof plan));
  char message[200];
  seer_model *model;
  seer_session *session;
  seer_model_source source = {&plan, sizeof plan, kernels, NULL, NULL, 0, 0, NULL, NULL, NULL, 0};
  assert_int_equal(seer_rt_open(&source, &model, message, sizeof message), SEER_RT_OK);
  assert_int_equal(
      seer_rt_session_create(model, NULL, &session, message, sizeof message), SEER_RT_OK);
  uint8_t c, d;
  int64_t y = 0;
  seer_rt_bind_input(session, 0, &c);
  seer_rt_bind_input(session, 1, &d);
  seer_rt_bind_output(session, 0, &y);
  for (int bits = 0; bits < 4; bits++) {
    c = bits & 1, d = (uint8_t)(bits & 2);  // any byte but 0 is true
    memset(calls, 0, sizeof calls);
    assert_int_equal(seer_rt_run(session), SEER_RT_OK);
    assert_int_equal(y, !c ? 30 : d ? 20 : 10);
    assert_int_equal(calls[0], c);
    assert_int_equal(calls[1], c && d);
    assert_int_equal(calls[2], !c);
  }
  seer_step_info steps[N_STEP];
  memset(calls, 0, sizeof calls);
  assert_int_equal(
      seer_rt_session_time_steps(session, 5, steps, sizeof *steps, N_STEP, NULL, 0), SEER_RT_OK);
  assert_string_equal(steps[0].kind, "branch");
  assert_string_equal(steps[2].kind, "branch");
  assert_true(steps[0].seconds > 0);
  assert_true(steps[4].seconds == 0);  // its time is the branch's
  assert_int_equal(calls[0] + calls[1] + calls[2], 12);  // of five runs, and one for cold starts
  seer_rt_session_destroy(session);
  seer_rt_close(model);
}

static void each_field(void **state) {
  (void)state;
  EXPECT_BAD(plan.step[0].first_phase = 2);
  EXPECT_BAD(plan.step[0].n_arg = 1);
  EXPECT_BAD(plan.header.n_branch = 1);
  EXPECT_BAD(plan.header.n_branch = UINT32_MAX);
  EXPECT_BAD(plan.header.branch_offset = sizeof plan);
  EXPECT_BAD(plan.header.branch_offset++);
  EXPECT_BAD(plan.header.n_move = 1);
  EXPECT_BAD(plan.branch[0].n_then = 5);
  EXPECT_BAD(plan.branch[0].n_else = 2);
  EXPECT_BAD(plan.branch[0].n_else = UINT32_MAX);
  EXPECT_BAD(plan.branch[0].n_then = 2);  // the inner one lies across its end
  EXPECT_BAD(plan.branch[1].n_else = 1);
  EXPECT_BAD(plan.branch[0].condition_arg = 0);
  EXPECT_BAD(plan.branch[0].condition_arg = N_ARG + 1);
  EXPECT_BAD(plan.branch[1].first_move = 2);
  EXPECT_BAD(plan.branch[1].n_then_move = UINT32_MAX);
  EXPECT_BAD(plan.branch[1].n_else_move = UINT32_MAX);
  EXPECT_BAD(plan.move[0].n_bytes = 9);
  EXPECT_BAD(plan.move[0].result_arg = 1);  // an input
  EXPECT_BAD(plan.move[1].out_arg = 0);
  EXPECT_BAD(plan.move[1].result_arg = 0);
}

// As deep as plans may nest: a level more is refused, unless nothing is in it.
static void depth(void **state) {
  (void)state;
  enum { LEVELS = SEER_PLAN_MAX_DEPTH + 2 };
  static struct {
    seer_plan_header header;
    seer_plan_step step[LEVELS];
    seer_plan_arg arg[1];
    seer_plan_io io[1];
    seer_plan_branch branch[LEVELS];
    char strings[8];
  } deep;
  memset(&deep, 0, sizeof deep);
  seer_plan_header *h = &deep.header;
  h->magic = SEER_PLAN_MAGIC, h->version = SEER_PLAN_VERSION, h->n_bytes = sizeof deep;
  h->step_offset = (uint32_t)((char *)deep.step - (char *)&deep);
  h->n_arg = 1, h->arg_offset = (uint32_t)((char *)deep.arg - (char *)&deep);
  h->n_input = 1, h->io_offset = (uint32_t)((char *)deep.io - (char *)&deep);
  h->phase_offset = h->io_offset;
  h->branch_offset = (uint32_t)((char *)deep.branch - (char *)&deep);
  h->json_offset = h->strings_offset = (uint32_t)(deep.strings - (char *)&deep);
  h->json_bytes = h->strings_bytes = 8;
  deep.io[0] = (seer_plan_io){0, BOOL, 0, 0, {0}, 1};
  deep.arg[0] = (seer_plan_arg){SEER_ARG_INPUT, 0, 0, 1};
  for (uint32_t n = LEVELS - 1; n <= LEVELS; n++) {
    h->n_step = h->n_branch = n;
    for (uint32_t k = 0; k < n; k++) {
      deep.step[k] = (seer_plan_step){.kind = SEER_PLAN_BRANCH, .first_phase = k};
      deep.branch[k] = (seer_plan_branch){.condition_arg = 1};
      *(k % 2 ? &deep.branch[k].n_then : &deep.branch[k].n_else) = n - 1 - k;
    }
    const char *wrong = seer_plan_check(&deep, sizeof deep);
    if (n < LEVELS) assert_null(wrong);
    if (n == LEVELS) assert_non_null(wrong);
  }
}

static void random_damage(void **state) {
  (void)state;
  plan_damage(setup, &plan, sizeof plan, 13);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(one_side_runs, setup),
      cmocka_unit_test_setup(each_field, setup),
      cmocka_unit_test(depth),
      cmocka_unit_test_setup(random_damage, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
