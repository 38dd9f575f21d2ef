// A library with several plans: what fits together, finding a set by shapes, one session for all.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "hand_plan.h"
#include "support/test.h"

#define N_SET 3
#define STRIDE ((sizeof(hand_plan) + SEER_PLAN_ALIGN - 1) / SEER_PLAN_ALIGN * SEER_PLAN_ALIGN)

// Plans of the same kernels, whose inputs and outputs are [8,125], [4,250] and [2,500].
static _Alignas(SEER_PLAN_ALIGN) uint8_t library[N_SET * STRIDE];
static const uint64_t n_library = (N_SET - 1) * STRIDE + sizeof(hand_plan);
static hand_weights weights;
static seer_phase_function kernels[3 * N_SET];

static hand_plan *plan_of(int s) { return (hand_plan *)(void *)(library + (size_t)s * STRIDE); }

static int setup(void **state) {
  (void)state;
  memset(library, 0, sizeof library);
  for (int s = 0; s < N_SET; s++) {
    hand_plan_make(plan_of(s), &weights);
    for (int i = 0; i < 3; i++) {
      plan_of(s)->io[i].dim[0] = 8 >> s;
      plan_of(s)->io[i].dim[1] = 125 << s;
    }
    memcpy(&kernels[3 * s], hand_kernels, sizeof hand_kernels);
  }
  plan_of(1)->header.arena_bytes = 1 << 20;  // another session memory than the first needs
  return 0;
}

static const char *check(uint32_t *out_n) {
  uint64_t begins[SEER_PLAN_MAX_SETS];
  return seer_library_check(library, n_library, begins, out_n);
}

static void plans_fit_together(void **state) {
  uint32_t n = 0;
  assert_null(check(&n));
  assert_int_equal(n, N_SET);
#define EXPECT_BAD(text, change)                                                                 \
  do {                                                                                           \
    setup(state);                                                                                \
    change;                                                                                      \
    const char *wrong = check(&n);                                                               \
    if (!wrong || !strstr(wrong, text)) fail_msg("%s: %s", #change, wrong ? wrong : "accepted"); \
  } while (0)
  EXPECT_BAD("not a plan", plan_of(1)->header.magic ^= 1);
  EXPECT_BAD("its size", plan_of(2)->header.n_bytes += 64);
  EXPECT_BAD("not a plan", plan_of(0)->header.n_bytes += SEER_PLAN_ALIGN);
  EXPECT_BAD("shorter", plan_of(1)->header.n_bytes = 8);
  EXPECT_BAD("different weights", plan_of(1)->header.weight_hash++);
  EXPECT_BAD("number of inputs",
      (plan_of(2)->header.n_output = 3, plan_of(2)->header.n_input = 0,
          plan_of(2)->arg[0].kind = SEER_ARG_OUTPUT, plan_of(2)->arg[4].kind = SEER_ARG_OUTPUT));
  EXPECT_BAD("name or type", plan_of(1)->io[0].name_string = 3);
  EXPECT_BAD("name or type", plan_of(2)->io[2].onnx_dtype = 6);
  EXPECT_BAD("shape", plan_of(2)->io[1].dim[0] = 3);
}

static void too_many_plans_are_refused(void **state) {
  (void)state;
  size_t n = SEER_PLAN_MAX_SETS + 1;
  uint8_t *many = aligned_alloc(SEER_PLAN_ALIGN, n * STRIDE);
  assert_non_null(many);
  for (size_t s = 0; s < n; s++) memcpy(many + s * STRIDE, library, STRIDE);
  uint64_t begins[SEER_PLAN_MAX_SETS];
  uint32_t n_found = 0;
  uint64_t n_bytes = (n - 2) * STRIDE + sizeof(hand_plan);
  assert_null(seer_library_check(many, n_bytes, begins, &n_found));
  assert_int_equal(n_found, SEER_PLAN_MAX_SETS);
  assert_string_equal(
      seer_library_check(many, n_bytes + STRIDE, begins, &n_found), "too many plans");
  free(many);
}

// As for one plan: refused, or harmless.
static void random_damage(void **state) {
  seer_rng rng;
  seer_rng_init(&rng, 11);
  int refused = 0;
  for (int round = 0; round < 3000; round++) {
    setup(state);
    for (uint64_t n = 1 + seer_rng_below(&rng, 3); n > 0; n--)
      library[seer_rng_below(&rng, n_library)] = (uint8_t)seer_rng_u64(&rng);
    uint64_t n_bytes = round % 5 == 0 ? seer_rng_below(&rng, n_library) : n_library;
    void *copy = aligned_alloc(SEER_PLAN_ALIGN, STRIDE * N_SET);
    assert_non_null(copy);
    memcpy(copy, library, n_bytes);
    uint64_t begins[SEER_PLAN_MAX_SETS];
    uint32_t n_found = 0;
    refused += seer_library_check(copy, n_bytes, begins, &n_found) != NULL;
    free(copy);
  }
  assert_true(refused > 500);
}

static seer_model *open_library(void) {
  seer_model_source source = {
      library, n_library, kernels, NULL, &weights, sizeof weights, 1, NULL, NULL, NULL, 0};
  seer_model *model = NULL;
  char message[200];
  if (seer_rt_open(&source, &model, message, sizeof message) != SEER_RT_OK) fail_msg("%s", message);
  return model;
}

static void shapes_find_a_set(void **state) {
  (void)state;
  seer_model *model = open_library();
  assert_int_equal(seer_rt_n_sets(model), N_SET);
  assert_int_equal(seer_rt_set_input(model, 2, 0)->dim[1], 500);
  assert_int_equal(seer_rt_set_output(model, 1, 1)->dim[0], 4);
  assert_null(seer_rt_set_input(model, N_SET, 0));
  assert_null(seer_rt_set_output(model, -1, 0));
  assert_int_equal(seer_rt_set_n_steps(model, 1), 3);
  assert_int_equal(seer_rt_set_n_steps(model, N_SET), 0);
  int64_t shape[3] = {4, 250, 1};
  const int64_t *dims[1] = {shape};
  int32_t rank = 2, set = -1;
  char message[200];
  assert_int_equal(seer_rt_find_set(model, dims, &rank, &set, message, sizeof message), SEER_RT_OK);
  assert_int_equal(set, 1);
  rank = 3;
  assert_int_equal(
      seer_rt_find_set(model, dims, &rank, &set, message, sizeof message), SEER_RT_INVALID);
  assert_string_equal(
      message, "inputs x[4,250,1]: the model was compiled for x[8,125]; x[4,250]; x[2,500]");
  assert_int_equal(seer_rt_find_set(model, dims, &rank, &set, NULL, 0), SEER_RT_INVALID);
  char little[12];
  assert_int_equal(
      seer_rt_find_set(model, dims, &rank, &set, little, sizeof little), SEER_RT_INVALID);
  assert_string_equal(little, "inputs x[4,");
  dims[0] = NULL;
  assert_int_equal(seer_rt_find_set(model, dims, &rank, &set, NULL, 0), SEER_RT_OK);
  assert_int_equal(set, 0);
  seer_rt_close(model);
}

static void one_session_serves_all(void **state) {
  (void)state;
  static float x[N_SET][HAND_N], y[N_SET][HAND_N], z[HAND_N];
  seer_model *model = open_library();
  seer_session *session = NULL;
  assert_int_equal(seer_rt_session_create(model, NULL, &session, NULL, 0), SEER_RT_OK);
  assert_int_equal(seer_rt_selected(session), 0);
  assert_int_equal(seer_rt_select(session, N_SET), SEER_RT_INVALID);
  assert_int_equal(seer_rt_select(session, -1), SEER_RT_INVALID);
  for (int s = N_SET - 1; s >= 0; s--) {
    assert_int_equal(seer_rt_select(session, s), SEER_RT_OK);
    assert_int_equal(seer_rt_run(session), SEER_RT_INVALID);  // bindings are each set's own
    for (int i = 0; i < HAND_N; i++) x[s][i] = (float)((i * 7 + s) % 13);
    assert_int_equal(seer_rt_bind_input(session, 0, x[s]), SEER_RT_OK);
    assert_int_equal(seer_rt_bind_output(session, 0, y[s]), SEER_RT_OK);
    assert_int_equal(seer_rt_bind_output(session, 1, z), SEER_RT_OK);
  }
  for (int round = 0; round < 2 * N_SET; round++) {
    int s = round % N_SET;
    assert_int_equal(seer_rt_select(session, s), SEER_RT_OK);
    memset(y, 0xFF, sizeof y);
    assert_int_equal(seer_rt_run(session), SEER_RT_OK);
    float sum = 0;
    for (int i = 0; i < HAND_N; i++) sum += x[s][i];
    for (int i = 0; i < HAND_N; i++) assert_true(y[s][i] == x[s][i] * (float)(i % 10) + sum);
    assert_memory_equal(y[s], z, sizeof z);
  }
  seer_step_info steps[3];
  assert_int_equal(
      seer_rt_session_time_steps(session, 2, steps, sizeof *steps, 3, NULL, 0), SEER_RT_OK);
  assert_string_equal(steps[0].name, "scale");
  seer_rt_session_destroy(session);
  seer_rt_close(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(plans_fit_together, setup),
      cmocka_unit_test_setup(too_many_plans_are_refused, setup),
      cmocka_unit_test_setup(random_damage, setup),
      cmocka_unit_test_setup(shapes_find_a_set, setup),
      cmocka_unit_test_setup(one_session_serves_all, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
