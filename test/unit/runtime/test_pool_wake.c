// No worker sleeps unnoticed: every thread comes to a phase that has a part for each, however long
// ago the last one was. A worker that never wakes costs no result (others take its parts), which is
// shown here too; so only parts that wait for each other tell that it sleeps: here they do, and a
// pool whose wake-ups are lost is told.
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <sys/syscall.h>
#include <unistd.h>

// The pool's own code, with system calls that can be lost.
static long lossy_syscall(long number, ...);
#define syscall lossy_syscall
#include "runtime/pool.c"
#undef syscall

#include "base/os.h"
#include "support/test.h"

#define PATIENCE_S 60u  // no machine is that slow
#define PATIENCE_NS (UINT64_C(1000000000) * PATIENCE_S)
#define SHORT_NS (UINT64_C(50) * 1000000)  // who sleeps for good is not here after that either

static _Atomic bool loses_wakes;

static long lossy_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  _Atomic uint32_t *word = va_arg(list, _Atomic uint32_t *);
  int operation = va_arg(list, int);
  uint32_t value = va_arg(list, uint32_t);
  va_end(list);
  if (operation == FUTEX_WAKE_PRIVATE && atomic_load(&loses_wakes)) return 0;
  return syscall(number, word, operation, value, NULL, NULL, 0);
}

typedef struct {
  uint32_t n_threads;
  uint64_t until_ns;
  _Atomic uint32_t n_here;
  _Atomic bool is_missed;
} meeting;

static void meet(void *arg, uint32_t part, uint32_t thread) {
  (void)part;
  (void)thread;
  meeting *m = arg;
  atomic_fetch_add(&m->n_here, 1);
  while (atomic_load(&m->n_here) < m->n_threads && !atomic_load(&m->is_missed)) {
    if (seer_os_now_ns() > m->until_ns) atomic_store(&m->is_missed, true);
    sched_yield();
  }
}

static bool do_all_come(seer_pool *pool, uint64_t patience_ns) {
  meeting m = {.n_threads = seer_pool_threads(pool), .until_ns = seer_os_now_ns() + patience_ns};
  seer_pool_run(pool, m.n_threads, meet, &m);
  return !atomic_load(&m.is_missed);
}

// In a run and from one to the next, after pauses from none to several times what workers stay
// awake for: many end as a worker falls asleep.
static void everybody_comes(void **state) {
  (void)state;
  for (uint32_t n = 2; n <= 5; n++) {
    seer_pool *pool = seer_pool_create(n, 0);
    assert_non_null(pool);
    for (uint64_t round = 0; round < 300; round++) {
      uint64_t pause_ns =
          (round * round * 131) % (3 * (RUN_SPIN_NS > AFTER_SPIN_NS ? RUN_SPIN_NS : AFTER_SPIN_NS));
      seer_pool_begin(pool);
      assert_true(do_all_come(pool, PATIENCE_NS));
      if (round % 3 == 0) seer_os_sleep_ns(pause_ns);
      assert_true(do_all_come(pool, PATIENCE_NS));
      seer_pool_end(pool);
      if (round % 3 == 1) seer_os_sleep_ns(pause_ns);
    }
    seer_pool_destroy(pool);
  }
}

static void wait_until_all_sleep(const seer_pool *pool) {
  while (atomic_load(&pool->n_asleep) < pool->n_workers) seer_os_sleep_ns(1000000);
}

// From here on nobody who sleeps is woken, in this run or in one that begins after they fell
// asleep.
static void lose_wakes(seer_pool *pool, bool in_run) {
  seer_pool_begin(pool);
  assert_true(do_all_come(pool, PATIENCE_NS));
  if (!in_run) seer_pool_end(pool);
  wait_until_all_sleep(pool);
  atomic_store(&loses_wakes, true);
  if (!in_run) seer_pool_begin(pool);
}

static void find_wakes(seer_pool *pool) {
  atomic_store(&loses_wakes, false);
  assert_true(do_all_come(pool, PATIENCE_NS));
  seer_pool_end(pool);
}

static bool is_missed_once(seer_pool *pool, bool in_run) {
  lose_wakes(pool, in_run);
  bool is_missed = !do_all_come(pool, SHORT_NS);
  find_wakes(pool);
  return is_missed;
}

// The planted fault. One that had only just said that it sleeps needs no call: then once more.
static void a_worker_that_never_wakes_is_missed(void **state) {
  (void)state;
  for (int in_run = 0; in_run < 2; in_run++) {
    seer_pool *pool = seer_pool_create(3, 0);
    bool is_missed = false;
    for (int k = 0; k < 20 && !is_missed; k++) is_missed = is_missed_once(pool, in_run);
    assert_true(is_missed);
    seer_pool_destroy(pool);
  }
}

enum { N_PARTS = 64, N_PHASES = 10 };
typedef struct {
  uint32_t n_calls[N_PARTS];  // plain on purpose: a part that ran twice at once is a race
  _Atomic uint32_t n_by_workers;
} tally;

static void count(void *arg, uint32_t part, uint32_t thread) {
  tally *t = arg;
  t->n_calls[part]++;
  if (thread != 0) atomic_fetch_add(&t->n_by_workers, 1);
}

// True if the workers slept through all phases.
static bool is_slept_through_once(seer_pool *pool, bool in_run) {
  tally t = {.n_by_workers = 0};
  lose_wakes(pool, in_run);
  for (uint32_t phase = 1; phase <= N_PHASES; phase++) {
    seer_pool_run(pool, N_PARTS, count, &t);
    for (uint32_t i = 0; i < N_PARTS; i++)
      if (t.n_calls[i] != phase)
        fail_msg("part %u ran %u times in %u phases", i, t.n_calls[i], phase);
  }
  find_wakes(pool);
  return atomic_load(&t.n_by_workers) == 0;
}

// The same fault where no part waits for another: each is run once, by who is awake, and the run
// ends.
static void a_worker_that_never_wakes_costs_no_part(void **state) {
  (void)state;
  for (int in_run = 0; in_run < 2; in_run++) {
    seer_pool *pool = seer_pool_create(3, 0);
    bool is_slept_through = false;
    for (int k = 0; k < 20 && !is_slept_through; k++)
      is_slept_through = is_slept_through_once(pool, in_run);
    assert_true(is_slept_through);
    seer_pool_destroy(pool);
  }
}

// A run that hangs is cut off: the test dies.
static int limit_time(void **state) {
  (void)state;
  alarm(PATIENCE_S);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(everybody_comes, limit_time),
      cmocka_unit_test_setup(a_worker_that_never_wakes_is_missed, limit_time),
      cmocka_unit_test_setup(a_worker_that_never_wakes_costs_no_part, limit_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
