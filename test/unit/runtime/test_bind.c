// What a session refuses, and what it says: sizes, alignment, overlaps, steps that fail, a second
// thread, a parallel-for that is wrong.
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "hand_plan.h"
#include "runtime/session.h"
#include "support/test.h"

static hand_plan plan;
static hand_weights weights;
static seer_model *model;
static seer_session *session;
static char message[300];

// Room for three vectors of HAND_N floats and more, to be cut up.
static float room[4 * HAND_N];
static const uint64_t n_bytes = HAND_N * sizeof(float);

static void open_session(seer_pool *pool) {
  seer_model_source source = {
      &plan, sizeof plan, hand_kernels, NULL, &weights, sizeof weights, 1, NULL, NULL, NULL, 0};
  if (seer_rt_open(&source, &model, message, sizeof message) != SEER_RT_OK) fail_msg("%s", message);
  assert_int_equal(
      seer_rt_session_create(model, pool, &session, message, sizeof message), SEER_RT_OK);
}

static int setup(void **state) {
  (void)state;
  hand_plan_make(&plan, &weights);
  open_session(NULL);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  seer_rt_session_destroy(session);
  seer_rt_close(model);
  return 0;
}

static void expect(seer_rt_code wanted, seer_rt_code code, const char *text) {
  if (code != wanted || !strstr(message, text))
    fail_msg("code %d, \"%s\"; should be %d, \"...%s...\"", code, message, wanted, text);
}

static seer_rt_code in(const void *data, uint64_t n) {
  return seer_rt_session_bind_input(session, 0, data, n, message, sizeof message);
}
static seer_rt_code out(int32_t index, void *data, uint64_t n) {
  return seer_rt_session_bind_output(session, index, data, n, message, sizeof message);
}
static seer_rt_code run(void) { return seer_rt_session_run(session, message, sizeof message); }

static void sizes(void **state) {
  (void)state;
  expect(SEER_RT_INVALID, in(room, n_bytes - 1), "input 'x': 3999 bytes were given, it needs 4000");
  expect(SEER_RT_INVALID, out(1, room, 0), "output 'z': 0 bytes were given, it needs 4000");
  expect(SEER_RT_INVALID, in(NULL, n_bytes), "input 'x': no memory (NULL) for 4000 bytes");
  expect(SEER_RT_INVALID, in((char *)room + 2, n_bytes), "is not a multiple of 4");
  expect(SEER_RT_INVALID, in((void *)(UINTPTR_MAX - 3), n_bytes), "beyond the end of memory");
  expect(SEER_RT_INVALID,
      seer_rt_session_bind_input(session, 1, room, n_bytes, message, sizeof message),
      "there is no input 1; the model has 1");
  expect(SEER_RT_INVALID, out(-1, room, n_bytes), "there is no output -1; the model has 2");
  expect(SEER_RT_INVALID, run(), "input 'x' is not bound");
  expect(SEER_RT_OK, in(room, n_bytes), "");
  expect(SEER_RT_INVALID, run(), "output 'y' is not bound");
  // more than it needs is no more than it needs
  expect(SEER_RT_OK, out(0, room + HAND_N, UINT64_MAX), "");
  expect(SEER_RT_OK, out(1, room + 2 * HAND_N, n_bytes + 64), "");
  expect(SEER_RT_OK, run(), "");
  assert_int_equal(seer_rt_session_run(session, NULL, 0), SEER_RT_OK);
  char little[8];
  assert_int_equal(
      seer_rt_session_bind_input(session, 7, room, 0, little, sizeof little), SEER_RT_INVALID);
  assert_string_equal(little, "there i");
}

// x at 0, y and z `y` and `z` elements from there.
static seer_rt_code run_at(int y, int z, int through_old_calls) {
  float *base = room;
  if (through_old_calls) {
    assert_int_equal(seer_rt_bind_input(session, 0, base), SEER_RT_OK);
    assert_int_equal(seer_rt_bind_output(session, 0, base + y), SEER_RT_OK);
    assert_int_equal(seer_rt_bind_output(session, 1, base + z), SEER_RT_OK);
  } else {
    expect(SEER_RT_OK, in(base, n_bytes), "");
    expect(SEER_RT_OK, out(0, base + y, n_bytes), "");
    expect(SEER_RT_OK, out(1, base + z, n_bytes), "");
  }
  return run();
}

static void overlaps(void **state) {
  (void)state;
  for (int old = 0; old < 2; old++) {
    expect(SEER_RT_OK, run_at(HAND_N, 2 * HAND_N, old), "");
    expect(SEER_RT_INVALID, run_at(0, 2 * HAND_N, old), "input 'x' and output 'y' overlap: 4000");
    expect(SEER_RT_INVALID, run_at(HAND_N - 1, 2 * HAND_N, old), "input 'x' and output 'y'");
    expect(SEER_RT_INVALID, run_at(HAND_N, 2 * HAND_N - 1, old), "output 'y' and output 'z'");
    expect(SEER_RT_INVALID, run_at(2 * HAND_N, HAND_N + 1, old), "output 'y' and output 'z'");
    expect(SEER_RT_INVALID, run_at(2 * HAND_N, 7, old), "input 'x' and output 'z'");
    assert_int_equal(seer_rt_run(session), SEER_RT_INVALID);
    expect(SEER_RT_OK, run_at(2 * HAND_N, HAND_N, old), "");
  }
  // Buffers that swap places overlap for as long as one of them is bound.
  expect(SEER_RT_OK, in(room + HAND_N, n_bytes), "");
  expect(SEER_RT_OK, out(1, room, n_bytes), "");
  expect(SEER_RT_OK, run(), "");
}

static void own_memory(void **state) {
  (void)state;
  expect(SEER_RT_INVALID, out(0, session->memory, n_bytes), "'y' lies in the session's own memory");
  expect(
      SEER_RT_INVALID, in(session->memory + 64, n_bytes), "'x' lies in the session's own memory");
  void *own = (void *)(uintptr_t)model->weights;
  expect(SEER_RT_INVALID, out(0, own, n_bytes), "output 'y' lies in the model's weights");
  expect(SEER_RT_OK, in(own, n_bytes), "");
}

// One input in another is fine: nothing writes them. (The plan with its output 'y' made an input.)
static void inputs_may_alias(void **state) {
  (void)state;
  teardown(NULL);
  hand_plan_make(&plan, &weights);
  plan.header.n_input = 2, plan.header.n_output = 1;
  plan.arg[5].offset = plan.arg[7].offset = 0;  // y is z now
  plan.arg[8] = (seer_plan_arg){SEER_ARG_SHARED, 0, 0, n_bytes};
  plan.header.shared_bytes = 4032;
  open_session(NULL);
  for (int32_t i = 0; i < 2; i++)
    expect(SEER_RT_OK,
        seer_rt_session_bind_input(session, i, room + i, n_bytes, message, sizeof message), "");
  expect(SEER_RT_OK, out(0, room + HAND_N + 1, n_bytes), "");
  expect(SEER_RT_OK, run(), "");
  expect(SEER_RT_OK, out(0, room + HAND_N, n_bytes), "");
  expect(SEER_RT_INVALID, run(), "input 'y' and output 'z' overlap");
}

// The output that may have an input's memory (--share) lies just there or nowhere near it.
static void one_memory_for_two(void **state) {
  (void)state;
  teardown(NULL);
  hand_plan_make(&plan, &weights);
  plan.io[1].shared = 1;  // y and x
  open_session(NULL);
  for (int old = 0; old < 2; old++) {
    expect(SEER_RT_OK, run_at(0, 2 * HAND_N, old), "");
    expect(SEER_RT_OK, run_at(HAND_N, 2 * HAND_N, old), "");
    expect(SEER_RT_INVALID, run_at(1, 2 * HAND_N, old), "input 'x' and output 'y' overlap");
    expect(SEER_RT_INVALID, run_at(0, HAND_N - 1, old), "output 'y' and output 'z' overlap");
    expect(SEER_RT_INVALID, run_at(HAND_N, 0, old), "input 'x' and output 'z' overlap");
  }
  plan.io[1].shared = 2;
  assert_string_equal(
      seer_plan_check(&plan, sizeof plan), "an output shares memory with what it cannot");
  plan.io[1].shared = 1, plan.io[0].shared = 1;
  assert_string_equal(
      seer_plan_check(&plan, sizeof plan), "an output shares memory with what it cannot");
}

// What a library says before anything is made of it.
static void names_and_sizes(void **state) {
  (void)state;
  assert_int_equal(seer_rt_find_input(model, "x"), 0);
  assert_int_equal(seer_rt_find_input(model, "y"), -1);
  assert_int_equal(seer_rt_find_output(model, "z"), 1);
  assert_int_equal(seer_rt_find_output(model, "x"), -1);
  assert_int_equal(seer_rt_find_output(model, NULL), -1);
  uint64_t weights_bytes = 1, one = 0, three = 0;
  seer_rt_sizes(model, 0, &weights_bytes, &one);
  // the caller's, used where they lie if that is at a multiple of 64
  assert_int_equal(weights_bytes, (uintptr_t)&weights % 64 ? n_bytes : 0);
  assert_int_equal(one, session->n_memory_bytes);
  seer_pool *pool = seer_pool_create(3, 0);
  seer_rt_session_destroy(session);
  assert_int_equal(
      seer_rt_session_create(model, pool, &session, message, sizeof message), SEER_RT_OK);
  seer_rt_sizes(model, 3, NULL, &three);
  assert_int_equal(three, session->n_memory_bytes);
  seer_rt_session_destroy(session);
  session = NULL;
  seer_pool_destroy(pool);
}

// Steps of a run that was given less time than the clock can tell: none is begun.
static void a_deadline(void **state) {
  (void)state;
  expect(SEER_RT_OK, run_at(HAND_N, 2 * HAND_N, 0), "");
  room[2 * HAND_N] = -1;
  assert_int_equal(seer_rt_session_limit(session, 0, 1e-12, message, sizeof message), SEER_RT_OK);
  expect(SEER_RT_TIMEOUT, run(), "the run took longer than 1e-12 s, and was ended before step '");
  assert_true(room[2 * HAND_N] == -1);
  expect(SEER_RT_INVALID, seer_rt_session_limit(session, 0, -1, message, sizeof message),
      "a limit of -1 s, must be 0 or more");
  expect(SEER_RT_TIMEOUT, run(), "1e-12");
  expect(SEER_RT_OK, seer_rt_session_limit(session, 0, 0, message, sizeof message), "");
  expect(SEER_RT_OK, run(), "");
  expect(SEER_RT_OK, seer_rt_session_limit(session, 0, 1000, message, sizeof message), "");
  expect(SEER_RT_OK, run(), "");
  expect(SEER_RT_OK, seer_rt_session_limit(session, 0, 0, message, sizeof message), "");
  expect(SEER_RT_OK, run(), "");
  assert_true(room[2 * HAND_N] != -1);
}

static struct { uint32_t n_calls, most_parts, wrong_part; } lent;

static void lend(void *user, uint32_t n_parts, seer_parallel_body body, void *arg) {
  (void)user;
  lent.n_calls++;
  if (n_parts > lent.most_parts) lent.most_parts = n_parts;
  for (uint32_t i = 0; i < n_parts; i++) body(arg, i + lent.wrong_part, i % 4);
}

// Never more parts at a time than threads may work, the answer as ever; one asks nobody.
static void a_cap_on_threads(void **state) {
  (void)state;
  seer_pool *pool = seer_pool_wrap(lend, NULL, 4);
  float whole[2 * HAND_N];
  seer_rt_session_destroy(session);
  assert_int_equal(
      seer_rt_session_create(model, pool, &session, message, sizeof message), SEER_RT_OK);
  for (int i = 0; i < HAND_N; i++) room[i] = (float)(i % 13);
  expect(SEER_RT_OK, run_at(HAND_N, 2 * HAND_N, 0), "");
  assert_int_equal(lent.most_parts, 7);
  memcpy(whole, room + HAND_N, sizeof whole);
  for (uint32_t most = 1; most <= 5; most++) {
    memset(&lent, 0, sizeof lent);
    memset(room + HAND_N, 0, sizeof whole);
    assert_int_equal(seer_rt_session_limit(session, most, 0, message, sizeof message), SEER_RT_OK);
    expect(SEER_RT_OK, run(), "");
    assert_memory_equal(room + HAND_N, whole, sizeof whole);
    assert_int_equal(lent.most_parts, most == 1 ? 0 : most < 4 ? most : 7);
  }
  assert_int_equal(seer_rt_session_limit(session, 2, 0, message, sizeof message), SEER_RT_OK);
  lent.wrong_part = 1;  // the second block is called as one that is none
  expect(SEER_RT_INVALID, run(), "the caller's parallel-for called part");
  lent.wrong_part = 0;
  expect(SEER_RT_OK, run(), "");
  seer_rt_session_destroy(session);
  session = NULL;
  seer_pool_destroy(pool);
}

static void failing_step(void **state) {
  (void)state;
  teardown(NULL);
  hand_plan_make(&plan, &weights);
  memcpy(plan.strings + 30, "no such side", 13);
  plan.step[1] = (seer_plan_step){.kind = SEER_PLAN_FAIL, .name_string = 13, .first_phase = 30};
  open_session(NULL);
  room[2 * HAND_N] = -1;
  expect(SEER_RT_UNSUPPORTED, run_at(HAND_N, 2 * HAND_N, 0), "step 'add': no such side");
  assert_true(room[2 * HAND_N] == -1);  // what comes behind it does not run
  seer_step_info steps[3];
  expect(SEER_RT_UNSUPPORTED,
      seer_rt_session_time_steps(session, 1, steps, sizeof *steps, 3, message, sizeof message),
      "no such side");
  assert_string_equal(steps[1].kind, "fail");
  plan.step[1].first_phase = sizeof plan.strings;
  assert_string_equal(
      seer_plan_check(&plan, sizeof plan), "the message of a step lies outside the strings");
}

// The caller's elements may be longer than ours, or as short as they first were.
static void steps_of_any_size(void **state) {
  (void)state;
  struct {
    seer_step_info info;
    char more[24];
  } longer[3];
  memset(longer, 0x5A, sizeof longer);
  expect(SEER_RT_OK, run_at(HAND_N, 2 * HAND_N, 0), "");
  expect(SEER_RT_OK,
      seer_rt_session_time_steps(
          session, 2, &longer[0].info, sizeof *longer, 3, message, sizeof message),
      "");
  for (int i = 0; i < 3; i++) {
    assert_true(longer[i].info.seconds > 0);
    for (size_t k = 0; k < sizeof longer->more; k++) assert_int_equal(longer[i].more[k], 0);
  }
  assert_string_equal(longer[2].info.name, "copy");
  seer_step_info steps[3];
  const size_t size = sizeof *steps;
  expect(SEER_RT_INVALID,
      seer_rt_session_time_steps(session, 1, steps, size, 2, message, sizeof message),
      "room for 2 steps; the network has 3");
  expect(SEER_RT_INVALID,
      seer_rt_session_time_steps(
          session, 1, steps, offsetof(seer_step_info, seconds), 3, message, sizeof message),
      "elements of 32 bytes");
  expect(SEER_RT_INVALID,
      seer_rt_session_time_steps(session, 1, NULL, size, 3, message, sizeof message), "NULL");
}

static void other_refusals(void **state) {
  (void)state;
  int64_t dim[12];
  expect(SEER_RT_INVALID, seer_rt_session_select(session, 1, message, sizeof message),
      "there is no set of shapes 1; the model has 1");
  expect(SEER_RT_INVALID, seer_rt_session_output_shape(session, 2, dim, message, sizeof message),
      "there is no output 2");
  expect(SEER_RT_INVALID, seer_rt_session_output_shape(session, 1, NULL, message, sizeof message),
      "'z'");
  expect(SEER_RT_OK, seer_rt_session_output_shape(session, 1, dim, message, sizeof message), "");
  assert_int_equal(dim[0], 8);
}

// ---- a parallel-for that does what it must not

typedef enum { RIGHT, THREAD, PART, LESS, TWICE, INSIDE } wrong_what;
typedef struct {
  wrong_what what;
  seer_rt_code inner;  // of calls from inside a run
} wrong_way;

static void parallel_for(void *user, uint32_t n_parts, seer_parallel_body body, void *arg) {
  wrong_way *way = user;
  if (way->what == INSIDE) {
    way->inner = seer_rt_session_run(session, message, sizeof message);
    assert_int_equal(seer_rt_run(session), SEER_RT_BUSY);
    assert_int_equal(out(0, room, n_bytes), SEER_RT_BUSY);
    assert_int_equal(seer_rt_select(session, 0), SEER_RT_BUSY);
    assert_int_equal(seer_rt_profile(session, 1, NULL), SEER_RT_BUSY);
    assert_int_equal(seer_rt_output_shape(session, 0, NULL), SEER_RT_BUSY);
  }
  for (uint32_t i = 0; i < n_parts - (way->what == LESS); i++)
    body(
        arg, way->what == PART && i == 2 ? n_parts : i, way->what == THREAD && i == 3 ? 77 : i % 3);
  if (way->what == TWICE) body(arg, 0, 0);
}

static void wrong_parallel_for(void **state) {
  (void)state;
  static const struct {
    wrong_what what;
    const char *text;
  } cases[] = {
      {THREAD, "step 'scale': the caller's parallel-for called part 3 of 7 on thread 77 of 3"},
      {PART, "part 7 of 7 on thread 2 of 3"},
      {LESS, "made 6 calls for 7 parts"},
      {TWICE, "made 8 calls for 7 parts"},
  };
  wrong_way way = {RIGHT, SEER_RT_OK};
  seer_pool *pool = seer_pool_wrap(parallel_for, &way, 3);
  teardown(NULL);
  open_session(pool);
  expect(SEER_RT_OK, run_at(HAND_N, 2 * HAND_N, 0), "");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    way.what = cases[i].what;
    expect(SEER_RT_INVALID, run(), cases[i].text);
    way.what = RIGHT;
    expect(SEER_RT_OK, run(), "");
  }
  // The session is in use while it runs, whoever calls.
  way.what = INSIDE;
  assert_int_equal(seer_rt_run(session), SEER_RT_OK);
  expect(SEER_RT_BUSY, way.inner, "in use by another thread");
  teardown(NULL);
  seer_pool_destroy(pool);
  setup(NULL);
}

// ---- two threads on one session: each call runs alone, or is refused

typedef struct {
  int n_done, n_busy, n_wrong;
} counts;

static void use(void *arg) {
  counts *c = arg;
  char own[200];
  for (int i = 0; i < 2000; i++) {
    seer_rt_code code = seer_rt_session_run(session, own, sizeof own);
    c->n_done += code == SEER_RT_OK;
    c->n_busy += code == SEER_RT_BUSY;
    c->n_wrong += code != SEER_RT_OK && code != SEER_RT_BUSY;
  }
}

static void second_thread(void **state) {
  (void)state;
  for (int i = 0; i < HAND_N; i++) room[i] = (float)(i % 7);
  expect(SEER_RT_OK, run_at(HAND_N, 2 * HAND_N, 0), "");
  static float want[HAND_N];
  memcpy(want, room + HAND_N, sizeof want);
  counts c[2] = {{0, 0, 0}, {0, 0, 0}};
  seer_os_thread *thread[2];
  for (int i = 0; i < 2; i++) assert_null(seer_os_thread_create(use, &c[i], &thread[i]));
  for (int i = 0; i < 2; i++) seer_os_thread_join(thread[i]);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(c[i].n_wrong, 0);
    assert_int_equal(c[i].n_done + c[i].n_busy, 2000);
  }
  assert_true(c[0].n_done + c[1].n_done > 0);
  expect(SEER_RT_OK, run(), "");  // nobody is left inside
  assert_memory_equal(room + HAND_N, want, sizeof want);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(sizes, setup, teardown),
      cmocka_unit_test_setup_teardown(overlaps, setup, teardown),
      cmocka_unit_test_setup_teardown(one_memory_for_two, setup, teardown),
      cmocka_unit_test_setup_teardown(own_memory, setup, teardown),
      cmocka_unit_test_setup_teardown(inputs_may_alias, setup, teardown),
      cmocka_unit_test_setup_teardown(names_and_sizes, setup, teardown),
      cmocka_unit_test_setup_teardown(a_deadline, setup, teardown),
      cmocka_unit_test_setup_teardown(a_cap_on_threads, setup, teardown),
      cmocka_unit_test_setup_teardown(failing_step, setup, teardown),
      cmocka_unit_test_setup_teardown(steps_of_any_size, setup, teardown),
      cmocka_unit_test_setup_teardown(other_refusals, setup, teardown),
      cmocka_unit_test_setup_teardown(wrong_parallel_for, setup, teardown),
      cmocka_unit_test_setup_teardown(second_thread, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
