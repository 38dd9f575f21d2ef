// The pool: every part exactly once, results visible when run returns, threads distinct, sleeping
// and waking.
#include <float.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/os.h"
#include "runtime/pool.h"
#include "support/test.h"

#define MAX_PARTS 512

typedef struct {
  uint32_t n_threads;
  // plain on purpose: a part that ran twice at once is a race that TSan reports
  uint32_t count[MAX_PARTS];
  _Atomic uint32_t in_use[64];
  _Atomic uint32_t clashes;
  uint32_t busy;
} job;

static void body(void *arg, uint32_t part, uint32_t thread) {
  job *j = arg;
  if (thread >= j->n_threads || atomic_fetch_add(&j->in_use[thread], 1) != 0)
    atomic_fetch_add(&j->clashes, 1);
  j->count[part]++;
  for (volatile uint32_t i = 0; i < j->busy; i++) continue;
  atomic_fetch_sub(&j->in_use[thread], 1);
}

static void rounds(seer_pool *pool, uint32_t n_rounds, uint32_t busy) {
  static job j;
  memset(&j, 0, sizeof j);
  j.n_threads = seer_pool_threads(pool);
  uint32_t expected[MAX_PARTS] = {0};
  for (uint32_t round = 0; round < n_rounds; round++) {
    uint32_t n_parts = (round * 37) % (round % 10 == 0 ? MAX_PARTS : 9);
    j.busy = round % 7 == 0 ? busy * 20 : busy;
    if (round % 50 == 0) seer_pool_begin(pool);
    seer_pool_run(pool, n_parts, body, &j);
    for (uint32_t i = 0; i < n_parts; i++) expected[i]++;
    for (uint32_t i = 0; i < MAX_PARTS; i++)
      if (j.count[i] != expected[i])
        fail_msg("round %u part %u ran %u times, not %u", round, i, j.count[i], expected[i]);
    if (round % 50 == 49 || round == n_rounds - 1) seer_pool_end(pool);
  }
  assert_int_equal(atomic_load(&j.clashes), 0);
}

static void every_part_once(void **state) {
  (void)state;
  for (uint32_t n = 1; n <= 6; n++) {
    seer_pool *pool = seer_pool_create(n, 0);
    assert_non_null(pool);
    assert_int_equal(seer_pool_threads(pool), n);
    rounds(pool, 2000, 10);
    seer_pool_destroy(pool);
  }
}

static void pinned(void **state) {
  (void)state;
  seer_pool *pool = seer_pool_create(0, 1);
  assert_non_null(pool);
  rounds(pool, 1000, 50);
  seer_pool_destroy(pool);
}

static void note_processor(void *arg, uint32_t part, uint32_t thread) {
  (void)part;
  _Atomic int *processor = arg;
  atomic_store(&processor[thread], sched_getcpu() + 1);
  for (volatile uint32_t i = 0; i < 2000; i++) continue;
}

// A pool made while another one has its maker pinned gets the same processors.
static void pinned_beside_another(void **state) {
  (void)state;
  cpu_set_t before, after;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  seer_pool *first = seer_pool_create(0, 1), *second = seer_pool_create(0, 1);
  assert_int_equal(seer_pool_threads(first), seer_pool_threads(second));
  _Atomic int processor[1024] = {0};
  seer_pool_begin(second);
  for (int i = 0; i < 200; i++) seer_pool_run(second, 64, note_processor, processor);
  seer_pool_end(second);
  for (uint32_t i = 0; i < seer_pool_threads(second); i++) {
    for (uint32_t k = 0; k < i; k++)
      assert_true(processor[i] == 0 || processor[i] != processor[k]);  // 0: did nothing
  }
  seer_pool_destroy(second);
  seer_pool_destroy(first);
  assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
  assert_true(CPU_EQUAL(&before, &after));
}

typedef struct {
  _Atomic bool is_known;
  pthread_t thread;
  cpu_set_t set;
} seen_worker;

static void note_worker(void *arg, uint32_t part, uint32_t thread) {
  (void)part;
  seen_worker *seen = arg;
  if (thread != 1 || atomic_load(&seen->is_known)) return;
  seen->thread = pthread_self();
  assert_int_equal(sched_getaffinity(0, sizeof seen->set, &seen->set), 0);
  atomic_store(&seen->is_known, true);
}

// What processors a worker may use in a run of a caller who is on this one.
static cpu_set_t allowed_beside(seer_pool *pool, size_t cpu, pthread_t *out_thread) {
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(cpu, &own);
  assert_int_equal(sched_setaffinity(0, sizeof own, &own), 0);
  seen_worker seen = {.is_known = false};
  seer_pool_begin(pool);
  while (!atomic_load(&seen.is_known)) seer_pool_run(pool, 64, note_worker, &seen);
  seer_pool_end(pool);
  *out_thread = seen.thread;
  return seen.set;
}

// Workers are kept off their caller's processor, wherever it goes, and may otherwise use what they
// could, or what somebody else has given them since.
static void workers_beside_the_caller(void **state) {
  (void)state;
  cpu_set_t all, set, want;
  size_t cpu[2], n = 0;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  for (size_t i = 0; i < CPU_SETSIZE && n < 2; i++)
    if (CPU_ISSET(i, &all)) cpu[n++] = i;
  if (n < 2) skip();
  seer_pool *pool = seer_pool_create(2, 0);
  assert_non_null(pool);
  pthread_t worker;
  for (int i = 0; i < 5; i++) {
    set = allowed_beside(pool, cpu[i % 2], &worker);
    want = all;
    CPU_CLR(cpu[i % 2], &want);
    assert_true(CPU_EQUAL(&set, &want));
  }
  CPU_ZERO(&want);  // somebody else's choice: where the caller is, and nowhere else
  CPU_SET(cpu[0], &want);
  assert_int_equal(pthread_setaffinity_np(worker, sizeof want, &want), 0);
  for (int i = 0; i < 4; i++) {
    set = allowed_beside(pool, cpu[i % 2], &worker);
    assert_true(CPU_EQUAL(&set, &want));
  }
  seer_pool_destroy(pool);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void create_and_destroy(void **state) {
  (void)state;
  for (int i = 0; i < 200; i++) {
    seer_pool *pool = seer_pool_create(3, 0);
    if (i % 2) rounds(pool, 3, 1);
    seer_pool_destroy(pool);
  }
  seer_pool_destroy(NULL);
}

// Between runs nothing burns processor time.
static void sleeps_between_runs(void **state) {
  (void)state;
  seer_pool *pool = seer_pool_create(0, 0);
  rounds(pool, 50, 10);
  seer_os_sleep_ns(5000000);
  clock_t before = clock();
  seer_os_sleep_ns(100000000);
  clock_t used = clock() - before;
  assert_true(used < CLOCKS_PER_SEC / 50);
  seer_pool_destroy(pool);
}

// The threads' scratch of a kernel are their own; its phases follow each other.
static void add_phase(void *const *buffers, uint32_t part) {
  uint32_t *data = buffers[0];
  uint32_t *scratch = buffers[1];
  for (int i = 0; i < 100; i++) scratch[i] = part;
  for (int i = 0; i < 100; i++) {
    if (scratch[i] != part) data[part] = 1000000;
    data[part] += 1;
  }
}

static void double_phase(void *const *buffers, uint32_t part) {
  uint32_t *data = buffers[0];
  data[part * 2] += data[part * 2 + 1];  // made by two parts of the phase before
}

static void kernels(void **state) {
  (void)state;
  const seer_phase_function phase[2] = {add_phase, double_phase};
  const uint32_t n_parts[2] = {64, 32};
  for (uint32_t n = 1; n <= 4; n++) {
    seer_pool *pool = seer_pool_create(n, 0);
    uint8_t *scratch = calloc(n, 512);
    seer_pool_begin(pool);
    for (int round = 0; round < 500; round++) {
      uint32_t data[64] = {0};
      void *buffers[1] = {data};
      seer_pool_lane lanes[4];
      seer_pool_times times = {lanes, 1, 1};
      const seer_kernel_call call = {
          phase, n_parts, 2, buffers, 1, scratch, 512, round % 2 ? &times : NULL, false};
      seer_pool_fault fault;
      assert_true(seer_pool_run_kernel(pool, &call, &fault));
      // Added to what stood there; the mean is at most the longest, which is at most all there is.
      double mean = times.mean_s - 1, most = times.most_s - 1;
      assert_true(mean >= 0 && mean <= most * (1 + 1e-6) + 1e-12 && most <= n * mean + 1e-12);
      if (round % 2 == 0) assert_true(most == 0);
      for (int i = 0; i < 64; i++) assert_int_equal(data[i], i % 2 ? 100 : 200);
    }
    seer_pool_end(pool);
    free(scratch);
    seer_pool_destroy(pool);
  }
}

// ---- denormal numbers

enum { N_NUMBERS = 64 };

// A product that is denormal, and one of an operand that is.
static void multiply_phase(void *const *buffers, uint32_t part) {
  volatile float *x = buffers[0];
  x[part] *= part % 2 ? 0x1p100f : 0.5f;
}

static void on_caller(void *user, uint32_t n_parts, seer_parallel_body run_part, void *arg) {
  (void)user;
  for (uint32_t part = n_parts; part-- > 0;) run_part(arg, part, 0);
}

static bool keeps_denormals(void) {
  volatile float least = FLT_MIN;
  return least * 0.5f > 0 && least / 4 * 8 > 0;
}

static void multiply(seer_pool *pool, bool flushes, bool is_timed, bool is_alone) {
  const seer_phase_function phase[1] = {multiply_phase};
  const uint32_t n_parts[1] = {N_NUMBERS};
  float x[N_NUMBERS];
  for (int i = 0; i < N_NUMBERS; i++) x[i] = i % 2 ? FLT_MIN / 4 : FLT_MIN;
  void *buffers[1] = {x};
  seer_pool_lane lanes[4];
  seer_pool_times times = {lanes, 0, 0};
  const seer_kernel_call call = {.phase = phase,
      .n_parts = n_parts,
      .n_phase = 1,
      .buffers = buffers,
      .n_arg = 1,
      .times = is_timed ? &times : NULL,
      .flushes_denormals = flushes};
  seer_pool_fault fault;
  if (is_alone)
    seer_pool_run_alone(&call, 0);
  else
    assert_true(seer_pool_run_kernel(pool, &call, &fault));
  for (int i = 0; i < N_NUMBERS; i++)
    assert_true(x[i] == (flushes ? 0 : i % 2 ? FLT_MIN / 4 * 0x1p100f : FLT_MIN / 2));
}

// Flushed where that is asked for, on all threads, and nowhere behind it: neither on the threads of
// the pool nor on the caller's.
static void denormals(void **state) {
  (void)state;
  for (uint32_t n = 0; n <= 4; n++) {
    seer_pool *pool = n > 0 ? seer_pool_create(n, 0) : seer_pool_wrap(on_caller, NULL, 1);
    seer_pool_begin(pool);
    for (int round = 0; round < 200; round++) {
      multiply(pool, round % 2, round % 3 == 0, round % 5 == 4);
      assert_true(keeps_denormals());
    }
    seer_pool_end(pool);
    seer_pool_destroy(pool);
  }
}

typedef struct {
  _Atomic uint32_t n_now, n_most, n_done;
} crowd;

static void join_crowd(void *arg, uint32_t part, uint32_t thread) {
  crowd *c = arg;
  (void)part, (void)thread;
  uint32_t n = atomic_fetch_add(&c->n_now, 1) + 1, most = atomic_load(&c->n_most);
  while (n > most && !atomic_compare_exchange_weak(&c->n_most, &most, n)) continue;
  for (volatile int i = 0; i < 2000; i++) continue;
  atomic_fetch_sub(&c->n_now, 1);
  atomic_fetch_add(&c->n_done, 1);
}

// Some of a pool's threads: all parts once, and never more of them at a time.
static void capped(void **state) {
  (void)state;
  seer_pool *of = seer_pool_create(4, 0);
  for (uint32_t most = 1; most <= 4; most++) {
    seer_pool *pool = seer_pool_cap(of, most);
    assert_int_equal(seer_pool_threads(pool), 4);
    rounds(pool, 500, 10);
    crowd c = {0};
    seer_pool_begin(pool);
    for (int k = 0; k < 50; k++) seer_pool_run(pool, 40, join_crowd, &c);
    seer_pool_end(pool);
    assert_int_equal(c.n_done, 50 * 40);
    assert_true(c.n_most <= most);
    seer_pool_destroy(pool);
  }
  rounds(of, 100, 10);
  seer_pool_destroy(of);
}

// Threads that the system refuses, here as their stacks are larger than what may be had.
static void why_not(void **state) {
  (void)state;
  char message[200] = "";
  seer_pool *pool = NULL;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip();  // their own memory is refused as well
#endif
  assert_int_equal(seer_pool_make(3, 0, &pool, message, sizeof message), SEER_RT_OK);
  assert_int_equal(seer_pool_threads(pool), 3);
  seer_pool_destroy(pool);
  struct rlimit was, none;
  assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
  none = was;
  none.rlim_cur = 1;
  assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
  seer_rt_code code = seer_pool_make(900, 0, &pool, message, sizeof message);
  assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
  assert_int_equal(code, SEER_RT_RESOURCE);
  assert_null(pool);
  if (!strstr(message, "of 899 threads could be started besides the caller's: ") &&
      !strstr(message, "no memory for a pool of 900 threads"))
    fail_msg("%s", message);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_part_once),
      cmocka_unit_test(pinned),
      cmocka_unit_test(pinned_beside_another),
      cmocka_unit_test(workers_beside_the_caller),
      cmocka_unit_test(create_and_destroy),
      cmocka_unit_test(sleeps_between_runs),
      cmocka_unit_test(kernels),
      cmocka_unit_test(denormals),
      cmocka_unit_test(capped),
      cmocka_unit_test(why_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
