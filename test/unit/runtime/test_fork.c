// Children of a process that has models, sessions and pools: what a child does with them ends, with
// the right answer, whatever the parent's threads were doing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "hand_plan.h"
#include "runtime/fork.h"
#include "support/test.h"

// ThreadSanitizer ends a child that makes threads; AddressSanitizer's allocator may be locked in a
// child for ever, by a thread of the parent that is not there.
#if defined(__has_feature)
#define HAS(sanitizer) __has_feature(sanitizer)
#else
#define HAS(sanitizer) 0
#endif
#if defined(__SANITIZE_THREAD__) || HAS(thread_sanitizer)
enum { IS_TSAN = 1, IS_ASAN = 0 };
#elif defined(__SANITIZE_ADDRESS__) || HAS(address_sanitizer)
enum { IS_TSAN = 0, IS_ASAN = 1 };
#else
enum { IS_TSAN = 0, IS_ASAN = 0 };
#endif

static float x[HAND_N], y[HAND_N], z[HAND_N];

static seer_session *session_on(seer_pool *pool) {
  seer_session *session = NULL;
  if (seer_rt_session_create(hand_model, pool, &session, NULL, 0) != SEER_RT_OK) return NULL;
  if (seer_rt_bind_input(session, 0, x) || seer_rt_bind_output(session, 0, y) ||
      seer_rt_bind_output(session, 1, z))
    return NULL;
  return session;
}

static int is_right(seer_session *session, int seed) {
  float sum = 0;
  for (int i = 0; i < HAND_N; i++) sum += x[i] = (float)((i * 7 + seed) % 13);
  memset(y, 0, sizeof y);
  if (seer_rt_run(session) != SEER_RT_OK) return 0;
  for (int i = 0; i < HAND_N; i++)
    if (y[i] != x[i] * (float)(i % 10) + sum) return 0;
  return 1;
}

// Runs in a child, which has 60 s: what hangs is killed by its alarm. 0: all was well.
typedef int (*child_body)(seer_pool *pool, seer_session *session);

static void in_child(child_body body, seer_pool *pool, seer_session *session) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body(pool, session));
  }
  int status = 0;
  assert_true(child > 0 && waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) fail_msg("the child was ended by signal %d", WTERMSIG(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static int destroys(seer_pool *pool, seer_session *session) {
  seer_rt_session_destroy(session);
  seer_pool_destroy(pool);
  return 0;
}

static int runs_and_destroys(seer_pool *pool, seer_session *session) {
  for (int i = 0; i < 20; i++)
    if (!is_right(session, i)) return 1;
  return destroys(pool, session);
}

static int forks_again(seer_pool *pool, seer_session *session) {
  if (!is_right(session, 3)) return 1;
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(runs_and_destroys(pool, session));
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) return 2;
  return runs_and_destroys(pool, session);
}

static int makes_its_own(seer_pool *pool, seer_session *session) {
  seer_pool *own = seer_pool_create(3, 1);
  seer_session *other = own ? session_on(own) : NULL;
  int is_wrong = !other || !is_right(other, 5);
  seer_rt_session_destroy(other);
  seer_pool_destroy(own);
  return is_wrong || runs_and_destroys(pool, session);
}

static void children(void **state) {
  (void)state;
  if (IS_ASAN) skip();
  static const child_body bodies[] = {destroys, runs_and_destroys, forks_again, makes_its_own};
  for (uint32_t n = 1; n <= 4; n++) {
    for (int pin = 0; pin < 2; pin++) {
      seer_pool *pool = seer_pool_create(n, pin);
      seer_session *session = session_on(pool);
      assert_non_null(session);
      for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
        if (IS_TSAN && b > 0) continue;
        in_child(bodies[b], pool, session);
        assert_true(is_right(session, (int)b));  // nor has it done the parent any harm
      }
      destroys(pool, session);
    }
  }
}

// ---- forks while other threads of the parent run

typedef struct {
  seer_session *session;
  volatile int is_ending;
  int n_wrong;
} runner;

static void keep_running(void *arg) {
  runner *r = arg;
  while (!__atomic_load_n(&r->is_ending, __ATOMIC_RELAXED))
    r->n_wrong += seer_rt_run(r->session) != SEER_RT_OK;
}

static void while_others_run(void **state) {
  (void)state;
  if (IS_TSAN || IS_ASAN) skip();
  _Atomic uint32_t *word = seer_fork_word_create();
  if (!word) skip();  // a session stays in use there
  seer_fork_word_destroy(word);
  seer_pool *pool = seer_pool_create(3, 0);
  runner r = {.session = session_on(pool)};
  seer_os_thread *thread;
  assert_null(seer_os_thread_create(keep_running, &r, &thread));
  for (int i = 0; i < 40; i++) in_child(runs_and_destroys, pool, r.session);
  __atomic_store_n(&r.is_ending, 1, __ATOMIC_RELAXED);
  seer_os_thread_join(thread);
  assert_int_equal(r.n_wrong, 0);
  destroys(pool, r.session);
}

// A word is the parent's again in nobody.
static void words(void **state) {
  (void)state;
  _Atomic uint32_t *word = seer_fork_word_create();
  if (!word) skip();
  assert_int_equal(atomic_load(word), 0);
  atomic_store(word, 7);
  pid_t child = fork();
  if (child == 0) _exit(atomic_load(word) == 0 ? 0 : 1);
  int status = 0;
  assert_true(waitpid(child, &status, 0) == child && status == 0);
  assert_int_equal(atomic_load(word), 7);
  seer_fork_word_destroy(word);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words),
      cmocka_unit_test(children),
      cmocka_unit_test(while_others_run),
  };
  return cmocka_run_group_tests(tests, hand_model_open, hand_model_close);
}
