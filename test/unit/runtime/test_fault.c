// The runtime when memory runs out: the n-th allocation fails, for every n. RESOURCE each time,
// nothing leaks, and the next try works. The runtime's files are compiled into this test with
// counted allocations.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hand_plan.h"
#include "support/test.h"

static int until_fault, n_alive;

static int fails(void) { return until_fault > 0 && --until_fault == 0; }

static void *counted(void *p) {
  n_alive += p != NULL;
  return p;
}

static void *test_calloc_(size_t n, size_t size) {
  return fails() ? NULL : counted(calloc(n, size));
}
static void *test_aligned_alloc_(size_t align, size_t size) {
  return fails() ? NULL : counted(aligned_alloc(align, size));
}
static void test_free_(void *p) {
  n_alive -= p != NULL;
  free(p);
}
static void *test_mmap_(void *at, size_t n, int prot, int flags, int fd, off_t offset) {
  if (fails()) return MAP_FAILED;
  return mmap(at, n, prot, flags, fd, offset);
}
static int test_thread_(
    pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg) {
  return fails() ? EAGAIN : pthread_create(thread, attr, run, arg);
}

#define calloc test_calloc_
#define aligned_alloc test_aligned_alloc_
#define free test_free_
#define mmap test_mmap_
#define pthread_create test_thread_
#include "../../../src/runtime/bind.c"
#include "../../../src/runtime/exec.c"
#include "../../../src/runtime/fork.c"
#include "../../../src/runtime/open.c"
#include "../../../src/runtime/pool.c"
#include "../../../src/runtime/weights.c"

static hand_plan plan;
static hand_weights weights;

static void use(seer_session *session) {
  static float x[HAND_N], y[HAND_N], z[HAND_N];
  assert_int_equal(seer_rt_bind_input(session, 0, x), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_output(session, 0, y), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_output(session, 1, z), SEER_RT_OK);
  assert_int_equal(seer_rt_run(session), SEER_RT_OK);
}

static void each_allocation(void **state) {
  (void)state;
  hand_plan_make(&plan, &weights);
  // Unaligned weights, so that opening copies them.
  static uint8_t moved[sizeof weights + 8];
  memcpy(moved + 4, &weights, sizeof weights);
  seer_model_source source = {
      &plan, sizeof plan, hand_kernels, NULL, moved + 4, sizeof weights, 0, NULL, NULL, NULL, 0};
  int n_failed = 0;
  for (int n = 1; n < 100; n++) {
    until_fault = n;
    char message[200] = "";
    seer_model *model = NULL;
    seer_session *session = NULL;
    seer_rt_code code = seer_rt_open(&source, &model, message, sizeof message);
    seer_pool *pool = code == SEER_RT_OK ? seer_pool_create(3, 1) : NULL;
    if (pool) code = seer_rt_session_create(model, pool, &session, message, sizeof message);
    int was_hit = until_fault == 0;
    until_fault = 0;
    if (code != SEER_RT_OK) {
      assert_int_equal(code, SEER_RT_RESOURCE);
      assert_non_null(strstr(message, "no memory"));
    }
    if (session) {
      int before = n_alive;
      use(session);
      assert_int_equal(n_alive, before);
      seer_rt_session_destroy(session);
    }
    seer_pool_destroy(pool);
    seer_rt_close(model);
    assert_int_equal(n_alive, 0);
    n_failed += was_hit;
    if (!was_hit) break;
  }
  assert_true(n_failed >= 10);
}

// Running allocates nothing.
static void no_allocation_in_a_run(void **state) {
  (void)state;
  hand_plan_make(&plan, &weights);
  seer_model_source source = {
      &plan, sizeof plan, hand_kernels, NULL, &weights, sizeof weights, 0, NULL, NULL, NULL, 0};
  seer_model *model = NULL;
  seer_session *session = NULL;
  assert_int_equal(seer_rt_open(&source, &model, NULL, 0), SEER_RT_OK);
  seer_pool *pool = seer_pool_create(2, 0);
  assert_int_equal(seer_rt_session_create(model, pool, &session, NULL, 0), SEER_RT_OK);
  until_fault = 1;  // would hit the first one
  for (int i = 0; i < 10; i++) use(session);
  assert_int_equal(until_fault, 1);
  until_fault = 0;
  seer_rt_session_destroy(session);
  seer_pool_destroy(pool);
  seer_rt_close(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_allocation),
      cmocka_unit_test(no_allocation_in_a_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
