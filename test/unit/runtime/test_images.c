// Plans whose steps run for each image of a batch: one after another or an image a thread, each
// with its own memory; a wrapped parallel-for that calls too few or wrong images; damaged plans are
// refused.
#include <stdio.h>
#include <string.h>

#include "plan_damage.h"
#include "runtime/exec.h"

enum { F32 = 1, N = 4, LENGTH = 500, N_STEP = 4, N_ARG = 5 };

// t = x * 2 (3 parts), between steps; y = t + t[last of its image] (1 part), for each of N images.
typedef struct {
  seer_plan_header header;
  seer_plan_step step[N_STEP];
  seer_plan_arg arg[N_ARG];
  seer_plan_io io[2];
  seer_plan_phase phase[2];
  seer_plan_images images;
  seer_plan_stretch stretch[1];
  char strings[16];
  char json[8];
} image_plan;

static image_plan plan;

static void twice(void *const *buffers, uint32_t part) {
  const float *x = buffers[0];
  float *t = buffers[1];
  for (uint32_t i = part; i < LENGTH; i += 3) t[i] = 2 * x[i];
}

static void add_last(void *const *buffers, uint32_t part) {
  const float *t = buffers[0];
  float *y = buffers[1];
  for (uint32_t i = 0; i < LENGTH; i++) y[i] = t[i] + t[LENGTH - 1] + (float)part;
}

static const seer_phase_function kernels[2] = {twice, add_last};

static int setup(void **state) {
  (void)state;
  enum { BYTES = LENGTH * 4 };
  memset(&plan, 0, sizeof plan);
  seer_plan_header *h = &plan.header;
  h->magic = SEER_PLAN_MAGIC, h->version = SEER_PLAN_VERSION, h->n_bytes = sizeof plan;
  h->n_step = N_STEP, h->step_offset = offsetof(image_plan, step);
  h->n_arg = N_ARG, h->arg_offset = offsetof(image_plan, arg);
  h->n_input = 1, h->n_output = 1, h->io_offset = offsetof(image_plan, io);
  h->n_phase = 2, h->phase_offset = offsetof(image_plan, phase);
  h->images_offset = offsetof(image_plan, images);
  h->strings_offset = offsetof(image_plan, strings), h->strings_bytes = sizeof plan.strings;
  h->json_offset = offsetof(image_plan, json), h->json_bytes = sizeof plan.json;
  h->arena_bytes = N * 2048;
  memcpy(plan.strings, "\0x\0y", 5);
  memcpy(plan.json, "{}", 3);
  plan.io[0] = (seer_plan_io){1, F32, 2, 0, {N, LENGTH}, N * BYTES};
  plan.io[1] = (seer_plan_io){3, F32, 2, 0, {N, LENGTH}, N * BYTES};
  const seer_plan_arg args[N_ARG] = {{SEER_ARG_INPUT, BYTES, 0, BYTES},
      {SEER_ARG_PRIVATE, 0, 64, BYTES}, {SEER_ARG_PRIVATE, 0, 64, BYTES},
      {SEER_ARG_OUTPUT, BYTES, 0, BYTES}, {SEER_ARG_ARENA, 2048, 0, BYTES}};
  memcpy(plan.arg, args, sizeof args);
  plan.step[0] = (seer_plan_step){.kind = SEER_PLAN_IMAGES};
  plan.step[1] = (seer_plan_step){.kind = SEER_PLAN_KERNEL, .n_phase = 1, .n_arg = 2};
  plan.step[2] = (seer_plan_step){.kind = SEER_PLAN_VIEW};
  plan.step[3] = (seer_plan_step){
      .kind = SEER_PLAN_KERNEL, .first_phase = 1, .n_phase = 1, .first_arg = 2, .n_arg = 2};
  plan.phase[0].n_parts = 3, plan.phase[1].n_parts = 1;
  plan.images = (seer_plan_images){2048 + 64, 1, 0};
  plan.stretch[0] = (seer_plan_stretch){.n_body = 3, .n_images = N, .is_apart = 1};
  return 0;
}

static float x[N * LENGTH], y[N * LENGTH];

static seer_session *open_session(seer_model **out_model, seer_pool *pool) {
  char message[200];
  seer_session *session;
  seer_model_source source = {&plan, sizeof plan, kernels, NULL, NULL, 0, 0, NULL, NULL, NULL, 0};
  assert_int_equal(seer_rt_open(&source, out_model, message, sizeof message), SEER_RT_OK);
  assert_int_equal(
      seer_rt_session_create(*out_model, pool, &session, message, sizeof message), SEER_RT_OK);
  for (int i = 0; i < N * LENGTH; i++) x[i] = (float)((i * 37) % 101) * 0.25f;
  memset(y, 0, sizeof y);
  seer_rt_bind_input(session, 0, x);
  seer_rt_bind_output(session, 0, y);
  return session;
}

static void check_answer(void) {
  for (int i = 0; i < N * LENGTH; i++)
    assert_true(y[i] == 2 * x[i] + 2 * x[i / LENGTH * LENGTH + LENGTH - 1]);
}

static void each_way(void **state) {
  (void)state;
  for (uint32_t n_threads = 1; n_threads <= 5; n_threads++) {
    for (uint32_t way = 0; way < 3; way++) {
      setup(NULL);
      plan.stretch[0].is_apart = way == 0;
      // One after another, what is between the steps may be in the arena, for one image or for all.
      if (way > 0) plan.arg[1] = plan.arg[2] = plan.arg[4];
      if (way == 1) plan.arg[1].image_bytes = plan.arg[2].image_bytes = 0;
      assert_null(seer_plan_check(&plan, sizeof plan));
      seer_pool *pool = seer_pool_create(n_threads, 0);
      seer_model *model;
      seer_session *session = open_session(&model, pool);
      for (int run = 0; run < 20; run++) {
        memset(y, 0, sizeof y);
        assert_int_equal(seer_rt_run(session), SEER_RT_OK);
        check_answer();
      }
      seer_step_info steps[N_STEP];
      assert_int_equal(
          seer_rt_session_time_steps(session, 8, steps, sizeof *steps, N_STEP, NULL, 0),
          SEER_RT_OK);
      check_answer();
      assert_string_equal(steps[0].kind, "images");
      assert_true(steps[1].seconds > 0 && steps[3].seconds > 0);  // their own, not the stretch's
      seer_rt_session_destroy(session);
      seer_rt_close(model);
      seer_pool_destroy(pool);
    }
  }
}

static uint32_t left_out;

static void lazy_for(void *user, uint32_t n_parts, seer_parallel_body body, void *arg) {
  (void)user;
  for (uint32_t part = 0; part + left_out < n_parts; part++) body(arg, part, part % 2);
}

static void wild_for(void *user, uint32_t n_parts, seer_parallel_body body, void *arg) {
  for (uint32_t part = 0; part < n_parts; part++) body(arg, part, *(uint32_t *)user);
}

// Threads of the caller: images that it leaves out, and threads that there are not, are said.
static void of_the_caller(void **state) {
  (void)state;
  char message[200];
  uint32_t thread = 2;
  for (uint32_t k = 0; k < 3; k++) {
    seer_pool *pool = seer_pool_wrap(k < 2 ? lazy_for : wild_for, &thread, 2);
    seer_model *model;
    seer_session *session = open_session(&model, pool);
    left_out = k;
    seer_rt_code code = seer_rt_session_run(session, message, sizeof message);
    assert_int_equal(code, k == 0 ? SEER_RT_OK : SEER_RT_INVALID);
    if (k == 0) check_answer();
    if (k == 1) assert_non_null(strstr(message, "made 3 calls for 4 parts"));
    if (k == 2) assert_non_null(strstr(message, "on thread 2 of 2"));
    seer_rt_session_destroy(session);
    seer_rt_close(model);
    seer_pool_destroy(pool);
  }
}

static void each_field(void **state) {
  (void)state;
  EXPECT_BAD(plan.step[0].first_phase = 1);
  EXPECT_BAD(plan.step[0].n_arg = 1);
  EXPECT_BAD(plan.header.images_offset = 0);
  EXPECT_BAD(plan.header.images_offset = 8);
  EXPECT_BAD(plan.header.images_offset++);
  EXPECT_BAD(plan.header.images_offset = sizeof plan);
  EXPECT_BAD(plan.header.images_offset = UINT32_MAX - 7);
  EXPECT_BAD(plan.images.n_stretch = UINT32_MAX);
  EXPECT_BAD(plan.images.private_bytes = 64);
  EXPECT_BAD(plan.images.private_bytes = UINT64_MAX);
  EXPECT_BAD(plan.stretch[0].n_body = 4);
  EXPECT_BAD(plan.stretch[0].n_body = UINT32_MAX);
  EXPECT_BAD(plan.stretch[0].n_images = 0);
  EXPECT_BAD(plan.stretch[0].n_images = N + 1);  // the fifth lies behind input and output
  EXPECT_BAD(plan.stretch[0].n_images = UINT32_MAX);
  EXPECT_BAD(plan.arg[0].image_bytes += 4);
  EXPECT_BAD(plan.arg[3].image_bytes = UINT32_MAX);
  EXPECT_BAD(plan.arg[1].image_bytes = 4);  // a thread's
  EXPECT_BAD(plan.arg[1].offset = 128);
  EXPECT_BAD(plan.step[2] = plan.step[0]);  // a stretch in a stretch
}

static void anything(void **state) {
  (void)state;
  assert_true(plan_damage(setup, &plan, sizeof plan, 17) > 2000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(each_way, setup),
      cmocka_unit_test_setup(of_the_caller, setup),
      cmocka_unit_test_setup(each_field, setup),
      cmocka_unit_test_setup(anything, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
