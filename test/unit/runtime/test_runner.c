// Models and sessions on a device, by a plan made by hand (device_plan.h): on a libcuda without a
// device, which does nothing before it is waited for, and on the OpenCL device that is here.
// Answers with other bindings from run to run, on the host and on the device, what who looks on
// sees, steps timed, threads, sets of shapes, and that all is let go.
// SEER_TEST: timeout=120 cost=5
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "device_plan.h"
#include "runtime/runner.h"
#include "support/device_check.h"
#include "support/mock_image.h"
#include "support/test.h"

typedef struct {
  const char *driver;
  seer_device_image image;
} runner_case;

static _Thread_local char says[1024];  // sessions of two threads say theirs
static device_plan_weights weights;

static void fine_at(seer_rt_code code, int line) {
  if (code != SEER_RT_OK) fail_msg("line %d: code %d: %s", line, (int)code, says);
}
#define fine(call) fine_at((call), __LINE__)

typedef struct {
  device_plan *plan;
  seer_model *model;
} scene;

static scene begin(void **state, uint32_t n_sets) {
  const runner_case *c = *state;
  scene s;
  size_t n_bytes;
  device_plan_make_weights(&weights);
  s.plan = device_plan_make(c->driver, &c->image, n_sets, &n_bytes);
  const seer_model_source source = {.blob = s.plan,
      .n_blob_bytes = n_bytes,
      .weights = &weights,
      .n_weight_bytes = sizeof weights,
      .runner = &seer_device_runner};
  fine(seer_rt_open(&source, &s.model, says, sizeof says));
  return s;
}

static void end(scene *s) {
  seer_rt_close(s->model);
  free(s->plan);
}

static seer_session *session_of(const scene *s) {
  seer_session *session;
  fine(seer_rt_session_create(s->model, NULL, &session, says, sizeof says));
  return session;
}

// What a caller has: of n numbers.
typedef struct {
  float x[DEVICE_PLAN_MAX_N], y[DEVICE_PLAN_MAX_N], z[DEVICE_PLAN_MAX_N];
  float rows[DEVICE_PLAN_ROWS * DEVICE_PLAN_MAX_N];
  int64_t n_trips;
  bool c;
  uint32_t n;
} numbers;

static void fill(numbers *of, uint32_t n, int64_t n_trips, bool c, int seed) {
  memset(of, 0x7F, sizeof *of);
  of->n = n, of->n_trips = n_trips, of->c = c;
  for (uint32_t i = 0; i < n; i++) of->x[i] = (float)((int)i * seed % 19 - 9);
}

static bool is_right(const numbers *of) {
  float y[DEVICE_PLAN_MAX_N], z[DEVICE_PLAN_MAX_N];
  float rows[DEVICE_PLAN_ROWS][DEVICE_PLAN_MAX_N];
  int64_t n_rows = of->n_trips < DEVICE_PLAN_ROWS ? of->n_trips : DEVICE_PLAN_ROWS;
  device_plan_expect(of->x, of->n_trips, of->c, of->n, y, z, rows);
  bool is = memcmp(of->y, y, of->n * sizeof *y) == 0 && memcmp(of->z, z, of->n * sizeof *z) == 0;
  for (int64_t k = 0; k < n_rows && is; k++)
    is = memcmp(of->rows + k * of->n, rows[k], of->n * sizeof(float)) == 0;
  return is;
}

static void check_at(const numbers *of, int line) {
  if (!is_right(of))
    fail_msg("line %d: %d iterations, %d: wrong numbers, y[1] is %g, z[1] %g", line,
        (int)of->n_trips, of->c, (double)of->y[1], (double)of->z[1]);
}
#define check(of) check_at(of, __LINE__)

static uint64_t bytes_of(const numbers *of, device_plan_io io) {
  const uint64_t own = of->n * sizeof(float);
  const uint64_t all[DP_N_IO] = {own, 8, 1, own, own, DEVICE_PLAN_ROWS * own};
  return all[io];
}

static void *memory_of(numbers *of, device_plan_io io) {
  void *const all[DP_N_IO] = {of->x, &of->n_trips, &of->c, of->y, of->z, of->rows};
  return all[io];
}

static void bind_one(seer_session *session, numbers *of, device_plan_io io) {
  uint64_t n = bytes_of(of, io);
  if (io < DP_Y)
    fine(seer_rt_session_bind_input(session, (int)io, memory_of(of, io), n, says, sizeof says));
  else
    fine(seer_rt_session_bind_output(
        session, (int)io - DP_Y, memory_of(of, io), n, says, sizeof says));
}

static void bind_all(seer_session *session, numbers *of) {
  for (device_plan_io io = DP_X; io < DP_N_IO; io++) bind_one(session, of, io);
}

static void run(seer_session *session) { fine(seer_rt_session_run(session, says, sizeof says)); }

static void answers_follow_bindings(void **state) {
  scene s = begin(state, 1);
  seer_session *session = session_of(&s);
  static numbers of[3];
  for (int k = 0; k < 14; k++) {
    numbers *now = &of[k % 3];
    fill(now, DEVICE_PLAN_N, k % 7, k % 2, k + 1);
    bind_all(session, now);
    run(session);
    check(now);
    // The same bindings, other numbers.
    fill(now, DEVICE_PLAN_N, (k + 2) % 5, k % 3 == 0, k + 5);
    run(session);
    check(now);
  }
  seer_rt_session_destroy(session);
  end(&s);
}

// ---- memory of the device

typedef struct {
  void *at[DP_N_IO];
} places;

static places places_begin(const scene *s, numbers *of) {
  places p;
  for (device_plan_io io = DP_X; io < DP_N_IO; io++) {
    fine(seer_rt_device_alloc(s->model, bytes_of(of, io), &p.at[io], says, sizeof says));
    assert_true((uintptr_t)p.at[io] % 256 == 0);
  }
  return p;
}

static void bind_place(seer_session *session, const places *p, numbers *of, device_plan_io io) {
  uint64_t n = bytes_of(of, io);
  if (io < DP_Y)
    fine(seer_rt_session_bind_device_input(session, (int)io, p->at[io], n, says, sizeof says));
  else
    fine(seer_rt_session_bind_device_output(
        session, (int)io - DP_Y, p->at[io], n, says, sizeof says));
}

static void send(const scene *s, const places *p, numbers *of) {
  for (device_plan_io io = DP_X; io < DP_Y; io++)
    fine(seer_rt_device_upload(
        s->model, p->at[io], memory_of(of, io), bytes_of(of, io), says, sizeof says));
}

static void fetch(const scene *s, const places *p, numbers *of, device_plan_io io) {
  fine(seer_rt_device_download(
      s->model, memory_of(of, io), p->at[io], bytes_of(of, io), says, sizeof says));
}

static void places_end(const scene *s, places *p) {
  for (device_plan_io io = DP_X; io < DP_N_IO; io++) seer_rt_device_free(s->model, p->at[io]);
}

// Every input and output alone, then all, then on the host again, then elsewhere on the device.
static void bindings_may_be_on_the_device(void **state) {
  scene s = begin(state, 1);
  seer_session *session = session_of(&s);
  static numbers of;
  fill(&of, DEVICE_PLAN_N, 3, true, 1);
  places p = places_begin(&s, &of), other = places_begin(&s, &of);
  for (uint32_t given = 0; given <= 2 * DP_N_IO + 2; given++) {
    uint32_t mask = given < DP_N_IO ? UINT32_C(1) << given : 63u;
    if (given > DP_N_IO) mask = 63u ^ (UINT32_C(1) << (given % DP_N_IO));
    const places *at = given % 2 ? &p : &other;
    for (int again = 0; again < 2; again++) {
      fill(&of, DEVICE_PLAN_N, (given + 1) % 4, (given + (uint32_t)again) % 2,
          (int)given + 3 * again + 1);
      send(&s, at, &of);
      bind_all(session, &of);
      for (device_plan_io io = DP_X; io < DP_N_IO; io++)
        if (mask >> io & 1) bind_place(session, at, &of, io);
      run(session);
      for (device_plan_io io = DP_Y; io < DP_N_IO; io++)
        if (mask >> io & 1) fetch(&s, at, &of, io);
      check(&of);
    }
  }
  places_end(&s, &p);
  places_end(&s, &other);
  seer_rt_session_destroy(session);
  end(&s);
}

// What a caller leaves there between runs is read where it lies: nothing is bound anew.
static void memory_of_the_device_is_read_each_time(void **state) {
  scene s = begin(state, 1);
  seer_session *session = session_of(&s);
  static numbers of;
  fill(&of, DEVICE_PLAN_N, 3, true, 1);
  places p = places_begin(&s, &of);
  for (device_plan_io io = DP_X; io < DP_N_IO; io++) bind_place(session, &p, &of, io);
  for (int k = 0; k < 6; k++) {
    fill(&of, DEVICE_PLAN_N, k, k % 2, k + 2);
    send(&s, &p, &of);
    run(session);
    for (device_plan_io io = DP_Y; io < DP_N_IO; io++) fetch(&s, &p, &of, io);
    check(&of);
  }
  places_end(&s, &p);
  seer_rt_session_destroy(session);
  end(&s);
}

static void bindings_are_judged(void **state) {
  scene s = begin(state, 1);
  seer_session *session = session_of(&s);
  static numbers of;
  fill(&of, DEVICE_PLAN_N, 1, true, 1);
  places p = places_begin(&s, &of);
  char *x = p.at[DP_X];
  const struct {
    int32_t index;
    void *data;
    uint64_t n_bytes;
    const char *says;
  } wrong[] = {{3, x, 256, "there is no input 3"}, {-1, x, 256, "there is no input -1"},
      {0, x, 255, "'x': 255 bytes were given, it needs 256"}, {0, NULL, 256, "must be a multiple"},
      {0, x + 8, 256, "must be a multiple of 16"}};
  bind_all(session, &of);
  for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
    assert_int_equal(seer_rt_session_bind_device_input(session, wrong[k].index, wrong[k].data,
                         wrong[k].n_bytes, says, sizeof says),
        SEER_RT_INVALID);
    if (!strstr(says, wrong[k].says)) fail_msg("it says %s", says);
  }
  run(session);  // what was bound before
  check(&of);
  places_end(&s, &p);
  seer_rt_session_destroy(session);
  end(&s);
}

// ---- who looks on, and times

typedef struct {
  const numbers *of;
  char seen[64];
} onlooker;

static void look(void *user, const seer_made_value *value) {
  onlooker *to = user;
  const float *data = value->data;
  float first = to->of->x[5] + weights.w[5];
  float s = first * (float)(1 + to->of->n_trips);
  float h = to->of->c ? to->of->x[5] : weights.w[5], r = to->of->c ? s + s : first;
  float want = value->name[0] == 'a' ? first
      : value->name[0] == 's'        ? s
      : value->name[0] == 'r'        ? r
                                     : r + h;
  if (data[5] != want) fail_msg("%s is %g for %g", value->name, (double)data[5], (double)want);
  assert_int_equal(value->dim[0], to->of->n);
  strcat(to->seen, value->name);
}

static void who_looks_on_sees_what_is_on_the_device(void **state) {
  scene s = begin(state, 2);
  seer_session *session = session_of(&s);
  static numbers of;
  for (int k = 0; k < 4; k++) {
    fine(seer_rt_session_select(session, k / 2, says, sizeof says));
    fill(&of, k / 2 ? DEVICE_PLAN_MAX_N : DEVICE_PLAN_N, 2, k % 2, k + 1);
    bind_all(session, &of);
    onlooker user = {&of, ""};
    fine(seer_rt_session_watch(session, look, &user, says, sizeof says));
    assert_string_equal(user.seen, "asry");
    check(&of);
    run(session);  // by graphs, behind single steps
    check(&of);
  }
  seer_rt_session_destroy(session);
  end(&s);
}

static void steps_are_timed_and_right(void **state) {
  scene s = begin(state, 1);
  seer_session *session = session_of(&s);
  static numbers of;
  fill(&of, DEVICE_PLAN_N, 2, true, 3);
  bind_all(session, &of);
  seer_step_info steps[DP_N_STEP];
  fine(
      seer_rt_session_time_steps(session, 2, steps, sizeof steps[0], DP_N_STEP, says, sizeof says));
  static const char *const kinds[DP_N_STEP] = {"upload", "kernel", "copy", "loop", "kernel", "copy",
      "branch", "kernel", "upload", "kernel", "download", "download", "copy"};
  for (int k = 0; k < DP_N_STEP; k++) assert_string_equal(steps[k].kind, kinds[k]);
  check(&of);
  fill(&of, DEVICE_PLAN_N, 1, false, 4);
  run(session);
  check(&of);
  seer_rt_session_destroy(session);
  end(&s);
}

// ---- several

static void sets_of_shapes_take_turns(void **state) {
  scene s = begin(state, 2);
  seer_session *session = session_of(&s);
  static numbers of[2];
  for (int k = 0; k < 2; k++) {
    fine(seer_rt_session_select(session, k, says, sizeof says));
    bind_all(session, (fill(&of[k], k ? DEVICE_PLAN_MAX_N : DEVICE_PLAN_N, 1, true, 1), &of[k]));
  }
  for (int k = 0; k < 9; k++) {
    numbers *now = &of[k % 3 % 2];
    fine(seer_rt_session_select(session, k % 3 % 2, says, sizeof says));
    fill(now, now->n, k % 4, k % 2, k + 1);
    run(session);
    check(now);
  }
  seer_rt_session_destroy(session);
  end(&s);
}

static void sessions_end_in_any_order(void **state) {
  scene s = begin(state, 1);
  static numbers of[3];
  for (int first = 0; first < 3; first++) {
    seer_session *session[3];
    for (int k = 0; k < 3; k++) {
      session[k] = session_of(&s);
      fill(&of[k], DEVICE_PLAN_N, k, k % 2, k + first + 1);
      bind_all(session[k], &of[k]);
      if (k != first) run(session[k]);  // one has never run
    }
    for (int k = 0; k < 3; k++) {
      int ended = (first + k) % 3;
      seer_rt_session_destroy(session[ended]);
      for (int left = k + 1; left < 3; left++) {
        numbers *now = &of[(first + left) % 3];
        fill(now, DEVICE_PLAN_N, k + 1, left % 2, left + first);
        run(session[(first + left) % 3]);
        check(now);
      }
    }
  }
  end(&s);
}

typedef struct {
  seer_session *session;
  numbers of;
  int seed;
} on_thread;

static void *run_many(void *user) {
  on_thread *t = user;
  for (int k = 0; k < 40; k++) {
    fill(&t->of, DEVICE_PLAN_N, (k + t->seed) % 4, (k + t->seed) % 2, k + t->seed + 1);
    bind_all(t->session, &t->of);
    if (seer_rt_session_run(t->session, NULL, 0) != SEER_RT_OK || !is_right(&t->of)) return t;
  }
  return NULL;
}

static void sessions_run_on_threads(void **state) {
  scene s = begin(state, 1);
  static on_thread all[2];
  pthread_t thread[2];
  for (int k = 0; k < 2; k++) {
    all[k].session = session_of(&s);
    all[k].seed = 3 * k;
    assert_int_equal(pthread_create(&thread[k], NULL, run_many, &all[k]), 0);
  }
  for (int k = 0; k < 2; k++) {
    void *wrong;
    pthread_join(thread[k], &wrong);
    assert_null(wrong);
    seer_rt_session_destroy(all[k].session);
  }
  end(&s);
}

// ---- libraries are told of their devices

static void devices_are_counted_and_named(void **state) {
  const runner_case *c = *state;
  size_t n_bytes;
  device_plan *plan = device_plan_make(c->driver, &c->image, 1, &n_bytes);
  const seer_model_source source = {
      .blob = plan, .n_blob_bytes = n_bytes, .runner = &seer_device_runner};
  int32_t n;
  char name[256], driver[256];
  fine(seer_rt_n_devices(&source, &n, says, sizeof says));
  assert_true(n > 0);
  fine(seer_rt_device_name(&source, 0, name, driver, says, sizeof says));
  assert_true(name[0] && driver[0]);
  assert_int_equal(
      seer_rt_device_name(&source, -1, name, driver, says, sizeof says), SEER_RT_INVALID);
  assert_non_null(strstr(says, "there is no device -1"));
  assert_int_equal(
      seer_rt_device_name(&source, n, name, driver, says, sizeof says), SEER_RT_NOT_FOUND);
  free(plan);
}

static int nothing_is_left(void **state) {
  const runner_case *c = *state;
  if (strcmp(c->driver, "cuda") != 0) return 0;
  assert_int_equal(mock_cuda_ask(MOCK_BROKEN_RULES), 0);
  assert_int_equal(mock_cuda_ask(MOCK_LEAKS), 0);
  assert_int_equal(mock_cuda_ask(MOCK_PUSHED), 0);
  assert_int_equal(mock_cuda_ask(MOCK_CONTEXTS), 0);
  return 0;
}

static int run_all(runner_case *on) {
#define CASE(f) \
  { #f, f, NULL, nothing_is_left, on }
  const struct CMUnitTest tests[] = {
      CASE(answers_follow_bindings),
      CASE(bindings_may_be_on_the_device),
      CASE(memory_of_the_device_is_read_each_time),
      CASE(bindings_are_judged),
      CASE(who_looks_on_sees_what_is_on_the_device),
      CASE(steps_are_timed_and_right),
      CASE(sets_of_shapes_take_turns),
      CASE(sessions_end_in_any_order),
      CASE(sessions_run_on_threads),
      CASE(devices_are_counted_and_named),
  };
  print_message("%s\n", on->driver);
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) {
  (void)argc;
  mock_cuda_begin(argv);
  seer_arena *arena = seer_arena_create("images");
  const mock_kernel_text add = {"add", "add", 3, 64, 0, 0};
  runner_case cuda = {.driver = "cuda"};
  runner_case opencl = {
      "opencl", {SEER_IMAGE_OPENCL_C, 0, "", device_check_opencl, DEVICE_CHECK_OPENCL_BYTES}};
  const char *wrong = mock_image_build(device_plan_kernel, &add, 1, 90, arena, &cuda.image);
  if (wrong) print_message("%s\n", wrong);
  int failed = wrong ? 1 : run_all(&cuda);
  uint32_t n = 0;
  if (seer_device_opencl.count(&n, says, sizeof says) == SEER_RT_OK && n > 0)
    failed += run_all(&opencl);
  else
    print_message("no OpenCL device\n");
  seer_arena_destroy(arena);
  return failed;
}
