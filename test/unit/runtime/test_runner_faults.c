// What goes wrong with a device while a model is opened, a session made and run, on a libcuda
// without a device: each is said by its code and in the driver's words, nothing is left behind, and
// the next model on a device that is well runs. Plans that say wrong things of their device are
// refused, and what is accepted is read within its bytes.
// SEER_TEST: timeout=120 cost=5
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "device_plan.h"
#include "plan_damage.h"
#include "runtime/runner.h"
#include "runtime/runner/check.h"
#include "support/mock_image.h"
#include "support/test.h"

static char says[1024];
static seer_device_image image;
static device_plan_weights weights;
static device_plan plan;  // without its image's bytes
static const seer_device_image no_image = {SEER_IMAGE_CUBIN, 90, "", "x", 1};

static void set(const char *faults) { setenv("MOCK_CUDA", faults, 1); }

static int is_as_before(void **state) {
  (void)state;
  unsetenv("MOCK_CUDA");
  assert_int_equal(mock_cuda_ask(MOCK_BROKEN_RULES), 0);
  assert_int_equal(mock_cuda_ask(MOCK_LEAKS), 0);
  assert_int_equal(mock_cuda_ask(MOCK_PUSHED), 0);
  assert_int_equal(mock_cuda_ask(MOCK_CONTEXTS), 0);
  return 0;
}

// A model, its session and what that is bound to.
typedef struct {
  device_plan *plan;
  size_t n_bytes;
  uint32_t device;
  seer_model *model;
  seer_session *session;
  float x[DEVICE_PLAN_N], y[DEVICE_PLAN_N], z[DEVICE_PLAN_N],
      rows[DEVICE_PLAN_ROWS * DEVICE_PLAN_N];
  int64_t n_trips;
  bool c;
} scene;

static void begin(scene *s) {
  memset(s, 0, sizeof *s);
  s->plan = device_plan_make("cuda", &image, 1, &s->n_bytes);
}

static seer_rt_code open_model(scene *s) {
  const seer_model_source source = {.blob = s->plan,
      .n_blob_bytes = s->n_bytes,
      .weights = &weights,
      .n_weight_bytes = sizeof weights,
      .runner = &seer_device_runner,
      .device = s->device};
  says[0] = 0;
  s->session = NULL;
  return seer_rt_open(&source, &s->model, says, sizeof says);
}

static void close_model(scene *s) {
  seer_rt_session_destroy(s->session);
  seer_rt_close(s->model);
  s->session = NULL;
  s->model = NULL;
}

static seer_rt_code make_session(scene *s) {
  seer_rt_code code = seer_rt_session_create(s->model, NULL, &s->session, says, sizeof says);
  if (code != SEER_RT_OK) return code;
  for (int i = 0; i < DEVICE_PLAN_N; i++) s->x[i] = (float)(i % 9);
  s->n_trips = 2, s->c = true;
  void *const in[] = {s->x, &s->n_trips, &s->c}, *const out[] = {s->y, s->z, s->rows};
  for (int k = 0; k < 3; k++)
    if (seer_rt_bind_input(s->session, k, in[k]) || seer_rt_bind_output(s->session, k, out[k]))
      fail_msg("not bound");
  return SEER_RT_OK;
}

static seer_rt_code open_and_make(scene *s) {
  seer_rt_code code = open_model(s);
  return code == SEER_RT_OK ? make_session(s) : code;
}

static seer_rt_code run(scene *s) { return seer_rt_session_run(s->session, says, sizeof says); }

static void check(const scene *s) {
  static float y[DEVICE_PLAN_N], z[DEVICE_PLAN_N], rows[DEVICE_PLAN_ROWS][DEVICE_PLAN_MAX_N];
  device_plan_expect(s->x, s->n_trips, s->c, DEVICE_PLAN_N, y, z, rows);
  assert_memory_equal(s->y, y, sizeof y);
  assert_memory_equal(s->z, z, sizeof z);
}

#define expect(call, code, part)                             \
  do {                                                       \
    assert_int_equal((call), (code));                        \
    if (!strstr(says, (part))) fail_msg("it says %s", says); \
  } while (0)

static void end_well(scene *s) {
  unsetenv("MOCK_CUDA");
  close_model(s);
  expect(open_and_make(s), SEER_RT_OK, "");
  expect(run(s), SEER_RT_OK, "");
  check(s);
  close_model(s);
  free(s->plan);
}

static void what_open_says(void **state) {
  (void)state;
  static const struct {
    const char *faults;
    uint32_t device;
    seer_rt_code code;
    const char *says;
  } cases[] = {{"devices=0", 0, SEER_RT_NOT_FOUND, "number 0: CUDA has 0"},
      {"init=34", 0, SEER_RT_NOT_FOUND, "CUDA_ERROR_STUB_LIBRARY (34)"},
      {"init=803", 0, SEER_RT_DEVICE, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"},
      {"", 1, SEER_RT_NOT_FOUND, "number 1: CUDA has 1"},
      {"", UINT32_MAX, SEER_RT_NOT_FOUND, "CUDA has 1"},
      {"architecture=80", 0, SEER_RT_UNSUPPORTED, "sm_80: there is code for sm_90"},
      {"refuse=200", 0, SEER_RT_CORRUPT, "CUDA_ERROR_INVALID_IMAGE (200)"},
      {"refuse=209", 0, SEER_RT_UNSUPPORTED, "CUDA_ERROR_NO_BINARY_FOR_GPU"}};
  scene s;
  begin(&s);
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    set(cases[k].faults);
    s.device = cases[k].device;
    expect(open_model(&s), cases[k].code, cases[k].says);
    assert_null(s.model);
    is_as_before(NULL);
  }
  s.device = 0;
  end_well(&s);
}

// A machine without a driver, of OpenCL's or CUDA's kind, is one where the plan names none.
static void drivers_may_not_be_known(void **state) {
  (void)state;
  scene s;
  begin(&s);
  s.plan->device.driver_string = 20;  // "add"
  expect(open_model(&s), SEER_RT_UNSUPPORTED, "'add', which this runtime does not know");
  s.plan->device.driver_string = 24;
  end_well(&s);
}

// Each allocation of open and session_create: the weights, the host's memory, the arena, inputs and
// outputs, staging.
static void memory_may_be_out(void **state) {
  (void)state;
  scene s;
  begin(&s);
  int n = 1;
  for (bool is_well = false; !is_well; n++) {
    char faults[32];
    snprintf(faults, sizeof faults, "oom=%d", n);
    set(faults);
    seer_rt_code code = open_and_make(&s);
    is_well = code == SEER_RT_OK;
    if (!is_well) {
      assert_int_equal(code, SEER_RT_RESOURCE);
      assert_null(s.session);
      if (!strstr(says, "no memory for")) fail_msg("it says %s", says);
    }
    close_model(&s);
    is_as_before(NULL);
  }
  assert_int_equal(n - 2, 5);
  end_well(&s);
}

// The n-th launch ends the device: whoever waits next is told, and all later calls.
static void devices_may_be_lost(void **state) {
  (void)state;
  scene s;
  begin(&s);
  int n_launches = mock_cuda_ask(MOCK_LAUNCHES);
  expect(open_and_make(&s), SEER_RT_OK, "");
  expect(run(&s), SEER_RT_OK, "");
  n_launches = mock_cuda_ask(MOCK_LAUNCHES) - n_launches;
  assert_int_equal(n_launches, 5);
  close_model(&s);
  for (int n = 1; n <= 2 * n_launches; n++) {
    char faults[32];
    snprintf(faults, sizeof faults, "lost=%d", n);
    set(faults);
    expect(open_and_make(&s), SEER_RT_OK, "");
    if (n > n_launches) expect(run(&s), SEER_RT_OK, "");
    expect(run(&s), SEER_RT_DEVICE, "CUDA_ERROR_LAUNCH_FAILED (719)");
    for (int again = 0; again < 2; again++)
      expect(run(&s), SEER_RT_DEVICE, "CUDA_ERROR_LAUNCH_FAILED (719)");
    seer_session *other;
    expect(seer_rt_session_create(s.model, NULL, &other, says, sizeof says), SEER_RT_DEVICE,
        "CUDA_ERROR_LAUNCH_FAILED (719)");
    assert_null(other);
    void *at;
    expect(seer_rt_device_alloc(s.model, 64, &at, says, sizeof says), SEER_RT_DEVICE, "719");
    close_model(&s);
    is_as_before(NULL);
  }
  end_well(&s);
}

static void launches_are_judged(void **state) {
  (void)state;
  scene s;
  begin(&s);
  s.plan->launch[3].name_string = 1;
  expect(open_and_make(&s), SEER_RT_CORRUPT, "CUDA_ERROR_NOT_FOUND (500)");
  close_model(&s);
  s.plan->launch[3].name_string = 20;
  s.plan->launch[2].n_items = 128;
  assert_true(open_and_make(&s) != SEER_RT_OK);
  close_model(&s);
  s.plan->launch[2].n_items = 64;
  s.plan->step[9].n_arg = 2;  // fewer than the kernel has
  expect(open_and_make(&s), SEER_RT_OK, "");
  expect(run(&s), SEER_RT_INVALID, "2 arguments for a kernel that has 3");
  expect(run(&s), SEER_RT_INVALID, "2 arguments for a kernel that has 3");
  s.plan->step[9].n_arg = 3;
  expect(run(&s), SEER_RT_OK, "");
  check(&s);
  end_well(&s);
}

// ---- damaged plans

static int setup(void **state) {
  (void)state;
  size_t n_bytes;
  device_plan *made = device_plan_make("cuda", &no_image, 1, &n_bytes);
  plan = *made;
  plan.header.n_bytes = sizeof plan;
  plan.image.offset = offsetof(device_plan, json);
  free(made);
  return 0;
}

#define EXPECT_REFUSED(change, part)                                                           \
  do {                                                                                         \
    setup(NULL);                                                                               \
    change;                                                                                    \
    const char *wrong = seer_plan_check(&plan, sizeof plan);                                   \
    if (wrong) fail_msg("%s: refused before: %s", #change, wrong);                             \
    wrong = seer_device_check(&plan, &plan);                                                   \
    if (!wrong) fail_msg("accepted: %s", #change);                                             \
    if (!strstr(wrong, (part))) fail_msg("%s: refused as something else: %s", #change, wrong); \
  } while (0)

static void fields_of_the_device_are_judged(void **state) {
  (void)state;
  setup(NULL);
  assert_null(seer_plan_check(&plan, sizeof plan));
  assert_null(seer_device_check(&plan, &plan));
  const uint32_t n = sizeof plan;
  EXPECT_REFUSED(plan.device.driver_string = 64, "driver");
  EXPECT_REFUSED(plan.device.launch_offset = n - 4, "lists");
  EXPECT_REFUSED(plan.device.launch_offset += 2, "lists");
  EXPECT_REFUSED(plan.device.launch_offset = 0, "lists");
  EXPECT_REFUSED(plan.device.place_offset = n - 3, "lists");
  EXPECT_REFUSED(plan.device.module_offset = n, "lists");
  EXPECT_REFUSED(plan.device.n_module = UINT32_MAX, "lists");
  EXPECT_REFUSED(plan.device.image_offset = n - 8, "lists");
  EXPECT_REFUSED(plan.device.image_offset += 4, "lists");
  EXPECT_REFUSED(plan.device.n_image = UINT32_MAX, "lists");
  EXPECT_REFUSED(plan.device.n_module = 0, "module that is none");
  EXPECT_REFUSED(plan.launch[1].module = 1, "module that is none");
  EXPECT_REFUSED(plan.launch[1].name_string = 64, "name");
  EXPECT_REFUSED(plan.launch[1].n_items = 0, "items");
  EXPECT_REFUSED(plan.launch[1].n_items = 1025, "items");
  EXPECT_REFUSED(plan.launch[1].group_bytes = (1u << 20) + 1, "memory");
  EXPECT_REFUSED(plan.module.n_image = 0, "no images");
  EXPECT_REFUSED(plan.module.n_image = 2, "no images");
  EXPECT_REFUSED(plan.module.first_image = 1, "no images");
  EXPECT_REFUSED(plan.image.format = 0, "format");
  EXPECT_REFUSED(plan.image.format = SEER_IMAGE_CUBIN + 1, "format");
  EXPECT_REFUSED(plan.image.made_for_string = 64, "image's device");
  EXPECT_REFUSED(plan.image.n_bytes = 0, "bounds");
  EXPECT_REFUSED(plan.image.n_bytes = UINT64_MAX, "bounds");
  EXPECT_REFUSED(plan.image.offset = n, "bounds");
  EXPECT_REFUSED(plan.step[1].kind = SEER_PLAN_KERNEL, "processors");
  setup(NULL);  // modules are the first plan's
  device_plan first = plan;
  assert_non_null(seer_device_check(&first, &plan));
  plan.device.n_module = plan.device.n_image = 0;
  assert_null(seer_device_check(&first, &plan));
  first.device.n_module = 0;
  assert_non_null(seer_device_check(&first, &plan));
}

// x is an input, w a weight: kernels, copies and moves write neither.
static void steps_and_moves_of_the_device_are_judged(void **state) {
  (void)state;
  uint32_t w = plan.move[5].out_arg, x = plan.move[3].out_arg;
  setup(NULL);
  w = plan.move[5].out_arg, x = plan.move[3].out_arg;
  EXPECT_REFUSED(plan.step[0].first_arg = w - 1, "weights");
  EXPECT_REFUSED(plan.step[10].first_arg = w - 1, "weights");
  EXPECT_REFUSED(plan.step[10].first_arg = x - 1, "input");
  EXPECT_REFUSED(plan.is_on_device[0] = 2, "neither");
  EXPECT_REFUSED(plan.move[1].before_arg = plan.header.n_arg + 1, "none");
  EXPECT_REFUSED(plan.move[1].in_arg = UINT32_MAX, "none");
  EXPECT_REFUSED(plan.move[2].in_arg = x, "may only be read");
  EXPECT_REFUSED((plan.move[2].in_arg = w, plan.is_on_device[2] = 1), "may only be read");
  EXPECT_REFUSED(plan.made[0].arg = w - 1, "alone");
  EXPECT_REFUSED(plan.made[0].arg = x - 1, "alone");
  EXPECT_REFUSED((plan.header.shared_bytes = 256, plan.arg[1].kind = SEER_ARG_SHARED), "host");
  setup(NULL);  // weights may be moved from
  plan.move[4].out_arg = w;
  assert_null(seer_plan_check(&plan, sizeof plan));
  assert_null(seer_device_check(&plan, &plan));
}

static void damage_is_not_followed(void **state) {
  (void)state;
  assert_true(plan_damage(setup, &plan, sizeof plan, 106) > 12000);
}

// What the checks let pass is opened, and a session made of it, with modules that are as they were.
static void what_passes_can_be_opened(void **state) {
  (void)state;
  scene s;
  begin(&s);
  device_plan *sound = s.plan;
  seer_rng rng;
  seer_rng_init(&rng, 7);
  int n_opened = 0;
  for (int round = 0; round < 1200; round++) {
    s.plan = aligned_alloc(64, (s.n_bytes + 63) / 64 * 64);
    assert_non_null(s.plan);
    memcpy(s.plan, sound, s.n_bytes);
    uint8_t *bytes = (uint8_t *)s.plan;
    for (uint64_t n = 1 + seer_rng_below(&rng, 2); n > 0; n--)
      bytes[seer_rng_below(&rng, sizeof(device_plan))] = (uint8_t)seer_rng_below(&rng, 48);
    if (s.plan->header.arena_bytes < 1u << 20 && open_and_make(&s) == SEER_RT_OK) n_opened++;
    close_model(&s);
    free(s.plan);
  }
  assert_true(n_opened > 200);
  s.plan = sound;
  end_well(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, NULL, is_as_before)

int main(int argc, char **argv) {
  (void)argc;
  mock_cuda_begin(argv);
  seer_arena *arena = seer_arena_create("images");
  const mock_kernel_text add = {"add", "add", 3, 64, 0, 0};
  const char *wrong = mock_image_build(device_plan_kernel, &add, 1, 90, arena, &image);
  if (wrong) {
    print_message("%s\n", wrong);
    return 1;
  }
  device_plan_make_weights(&weights);
  const struct CMUnitTest tests[] = {
      TEST(what_open_says),
      TEST(drivers_may_not_be_known),
      TEST(memory_may_be_out),
      TEST(devices_may_be_lost),
      TEST(launches_are_judged),
      TEST(fields_of_the_device_are_judged),
      TEST(steps_and_moves_of_the_device_are_judged),
      TEST(damage_is_not_followed),
      TEST(what_passes_can_be_opened),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  seer_arena_destroy(arena);
  return failed;
}
