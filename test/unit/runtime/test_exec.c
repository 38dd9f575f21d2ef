// Sessions over a hand-made plan: answers, rebinding, pools of any size, wrapped pools, profile.
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "hand_plan.h"
#include "support/test.h"

static void check_answer(const float *x, const float *y) {
  float sum = 0;
  for (int i = 0; i < HAND_N; i++) sum += x[i];
  for (int i = 0; i < HAND_N; i++)
    if (y[i] != x[i] * (float)(i % 10) + sum) fail_msg("y[%d] = %f", i, (double)y[i]);
}

static void fill(float *x, int seed) {
  for (int i = 0; i < HAND_N; i++) x[i] = (float)((i * 7 + seed) % 13);
}

static void run_on(seer_pool *pool) {
  static float x[HAND_N], y[HAND_N], z[HAND_N], x2[HAND_N], y2[HAND_N];
  seer_session *session;
  assert_int_equal(seer_rt_session_create(hand_model, pool, &session, NULL, 0), SEER_RT_OK);
  assert_int_equal(seer_rt_run(session), SEER_RT_INVALID);  // nothing is bound
  assert_int_equal(seer_rt_bind_input(session, 0, x), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_output(session, 0, y), SEER_RT_OK);
  assert_int_equal(seer_rt_run(session), SEER_RT_INVALID);
  assert_int_equal(seer_rt_bind_output(session, 1, z), SEER_RT_OK);
  for (int round = 0; round < 50; round++) {
    fill(x, round);
    memset(y, 0xFF, sizeof y);
    memset(z, 0xFF, sizeof z);
    assert_int_equal(seer_rt_run(session), SEER_RT_OK);
    check_answer(x, y);
    assert_memory_equal(y, z, sizeof y);
  }
  fill(x2, 99);
  assert_int_equal(seer_rt_bind_input(session, 0, x2), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_output(session, 0, y2), SEER_RT_OK);
  assert_int_equal(seer_rt_run(session), SEER_RT_OK);
  check_answer(x2, y2);
  assert_memory_equal(y2, z, sizeof y2);
  seer_step_info steps[3], first[3];
  assert_int_equal(
      seer_rt_session_time_steps(session, 8, steps, sizeof *steps, 3, NULL, 0), SEER_RT_OK);
  memset(first, 0x5A, sizeof first);
  assert_int_equal(seer_rt_profile(session, 3, first), SEER_RT_OK);
  for (size_t i = 0; i < 3; i++) {  // densely, elements as they were first, and nothing behind them
    seer_step_info info;
    memcpy(&info, (const char *)first + i * SEER_STEP_INFO_FIRST_BYTES, SEER_STEP_INFO_FIRST_BYTES);
    assert_string_equal(info.name, steps[i].name);
    assert_true(info.flops == steps[i].flops && info.seconds > 0);
  }
  assert_int_equal(((const char *)first)[3 * SEER_STEP_INFO_FIRST_BYTES], 0x5A);
  assert_string_equal(steps[1].name, "add");
  assert_string_equal(steps[1].kind, "kernel");
  assert_string_equal(steps[2].kind, "copy");
  assert_string_equal(steps[0].source, "hand");
  assert_true(steps[0].flops > 999 && steps[0].seconds > 0 && steps[1].seconds > 0);
  // Of each kernel's time a part at most is waiting; with elements as they are now, and with those
  // of the first table, the time is there; nothing but kernels waits.
  assert_int_equal(
      seer_rt_session_time_steps(session, 8, steps, sizeof *steps, 3, NULL, 0), SEER_RT_OK);
  for (int i = 0; i < 3; i++) {
    bool is_kernel = i < 2;
    assert_true(steps[i].wait_seconds <= steps[i].seconds);
    assert_true(steps[i].cold_seconds <= steps[i].seconds);
    if (!is_kernel) assert_true(steps[i].wait_seconds == 0 && steps[i].cold_seconds == 0);
  }
  memset(y2, 0xFF, sizeof y2);
  assert_int_equal(seer_rt_run(session), SEER_RT_OK);
  check_answer(x2, y2);
  seer_rt_session_destroy(session);
}

static void threads(void **state) {
  (void)state;
  run_on(NULL);
  for (uint32_t n = 0; n <= 5; n++) {
    seer_pool *pool = seer_pool_create(n, 0);
    run_on(pool);
    seer_pool_destroy(pool);
  }
}

static void odd_parallel_for(void *user, uint32_t n_parts, seer_parallel_body body, void *arg) {
  (*(int *)user)++;
  for (uint32_t i = n_parts; i-- > 0;) body(arg, i, i % 3);  // backwards, on "threads" 0..2
}

static void wrapped(void **state) {
  (void)state;
  int calls = 0;
  seer_pool *pool = seer_pool_wrap(odd_parallel_for, &calls, 3);
  assert_int_equal(seer_pool_threads(pool), 3);
  run_on(pool);
  assert_true(calls > 100);
  seer_pool_destroy(pool);
  assert_null(seer_pool_wrap(NULL, NULL, 3));
}

// ---- a watched run

typedef struct {
  seer_session *session;
  const float *x;
  int n;
} onlooker;

static void look(void *user, const seer_made_value *value) {
  onlooker *o = user;
  const float *data = value->data;
  float sum = 0;
  for (int i = 0; i < HAND_N; i++) sum += o->x[i];
  assert_int_equal(value->struct_bytes, sizeof *value);
  assert_int_equal(value->step, o->n);
  assert_int_equal(value->onnx_dtype, 1);
  assert_int_equal(value->rank, 2);
  assert_int_equal(value->bounded, 0);
  assert_string_equal(value->step_kind, "kernel");
  bool is_first = o->n++ == 0;
  assert_string_equal(value->name, is_first ? "t" : "y");
  assert_string_equal(value->step_name, is_first ? "scale" : "add");
  assert_int_equal(value->dim[is_first ? 1 : 0], 8);
  for (int64_t i = 0; i < value->dim[0]; i++)
    for (int64_t j = 0; j < value->dim[1]; j++) {
      int64_t k = is_first ? j * (HAND_N / 8) + i : i * (HAND_N / 8) + j;
      float want = o->x[k] * (float)(k % 10) + (is_first ? 0 : sum);
      assert_true(data[i * value->stride[0] + j * value->stride[1]] == want);
    }
  assert_int_equal(seer_rt_run(o->session), SEER_RT_BUSY);
}

static void watched(void **state) {
  (void)state;
  static float x[HAND_N], y[HAND_N], z[HAND_N];
  char message[200];
  seer_session *session;
  assert_int_equal(seer_rt_session_create(hand_model, NULL, &session, NULL, 0), SEER_RT_OK);
  onlooker o = {session, x, 0};
  assert_int_equal(
      seer_rt_session_watch(session, look, &o, message, sizeof message), SEER_RT_INVALID);
  assert_int_equal(seer_rt_bind_input(session, 0, x), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_output(session, 0, y), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_output(session, 1, z), SEER_RT_OK);
  assert_int_equal(
      seer_rt_session_watch(session, NULL, &o, message, sizeof message), SEER_RT_INVALID);
  assert_non_null(strstr(message, "watcher"));
  assert_int_equal(o.n, 0);
  fill(x, 5);
  assert_int_equal(seer_rt_session_watch(session, look, &o, message, sizeof message), SEER_RT_OK);
  assert_int_equal(o.n, 2);
  check_answer(x, y);
  assert_memory_equal(y, z, sizeof y);
  assert_int_equal(seer_rt_run(session), SEER_RT_OK);  // nobody looks any more
  assert_int_equal(o.n, 2);
  seer_rt_session_destroy(session);
}

static void bad_binding(void **state) {
  (void)state;
  _Alignas(8) static char raw[HAND_N * 4 + 8];
  seer_session *session;
  assert_int_equal(seer_rt_session_create(hand_model, NULL, &session, NULL, 0), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_input(session, 1, raw), SEER_RT_INVALID);
  assert_int_equal(seer_rt_bind_input(session, -1, raw), SEER_RT_INVALID);
  assert_int_equal(seer_rt_bind_input(session, 0, NULL), SEER_RT_INVALID);
  assert_int_equal(seer_rt_bind_input(session, 0, raw + 1), SEER_RT_INVALID);
  assert_int_equal(seer_rt_bind_input(session, 0, raw + 4), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_output(session, 2, raw), SEER_RT_INVALID);
  seer_rt_session_destroy(session);
}

// Sessions of several threads over one model, and one pool or (NULL) one for each.
typedef struct {
  seer_pool *pool;
  int seed, n_wrong;
} shared_user;

static void use_shared(void *arg) {
  shared_user *user = arg;
  static _Thread_local float x[HAND_N], y[HAND_N], z[HAND_N];
  seer_pool *own = user->pool ? NULL : seer_pool_create(2, 0);
  seer_session *session;
  if (seer_rt_session_create(hand_model, user->pool ? user->pool : own, &session, NULL, 0) !=
      SEER_RT_OK) {
    user->n_wrong = 1000;
    return;
  }
  (void)!seer_rt_bind_input(session, 0, x);
  (void)!seer_rt_bind_output(session, 0, y);
  (void)!seer_rt_bind_output(session, 1, z);
  for (int round = 0; round < 100; round++) {
    fill(x, user->seed + round);
    float sum = 0;
    for (int i = 0; i < HAND_N; i++) sum += x[i];
    if (seer_rt_run(session) != SEER_RT_OK) user->n_wrong++;
    for (int i = 0; i < HAND_N; i++) user->n_wrong += y[i] != x[i] * (float)(i % 10) + sum;
  }
  seer_rt_session_destroy(session);
  seer_pool_destroy(own);
}

static void several_threads(void **state) {
  (void)state;
  for (uint32_t n = 0; n <= 2; n++) {
    seer_pool *pool = n > 0 ? seer_pool_create(n, 0) : NULL;
    shared_user user[3];
    seer_os_thread *thread[3];
    for (int i = 0; i < 3; i++) {
      user[i] = (shared_user){pool, i * 31, 0};
      assert_null(seer_os_thread_create(use_shared, &user[i], &thread[i]));
    }
    for (int i = 0; i < 3; i++) {
      seer_os_thread_join(thread[i]);
      assert_int_equal(user[i].n_wrong, 0);
    }
    seer_pool_destroy(pool);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads),
      cmocka_unit_test(wrapped),
      cmocka_unit_test(watched),
      cmocka_unit_test(bad_binding),
      cmocka_unit_test(several_threads),
  };
  return cmocka_run_group_tests(tests, hand_model_open, hand_model_close);
}
