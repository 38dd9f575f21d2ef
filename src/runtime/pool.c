// pool.c - the threads of a run.
//
// Each thread has a block of neighbouring parts of its own, so that from phase to phase and from
// kernel to kernel the same thread reads and writes the same part of a tensor, which is then in its
// own cache; a thread that has done its block takes parts, one at a time, from the ends of others'.
// (Measured 2026-11, 2 threads, one schedule of a depthwise 56x56x144: 99 GFLOP/s, and 58 to 72
// with parts claimed in turn.)
//
// A block is one word, `first | end << 32`, and that word is the whole hand-over: the caller writes
// the job, then stores the blocks (release); whoever shortens a block by compare-and-swap (acquire)
// owns the part that he took and may read the job, because the caller cannot write the next one
// before that part is reported in `done`. A word from an earlier job that is equal to the present
// one is as good. A worker that sleeps through a phase is not waited for, only claimed parts are.
//
// Workers sleep on `wake` (futex), which changes at each phase that is published and at the begin
// of a run. `n_asleep` spares the system call when nobody sleeps: worker announces, then looks at
// `wake` again; caller changes `wake`, then looks at `n_asleep`; both sequentially consistent, so
// one of them sees the other.
#include "runtime/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/processors.h"
#include "runtime/cpu.h"
#include "runtime/denormals.h"
#include "runtime/exec.h"
#include "runtime/fork.h"

// How long a thread that has nothing to do looks for something before it sleeps. A thread that
// sleeps comes 10 to 60 microseconds late (virtual machines, 2026-11), which is 4 % of MobileNetV2:
// workers stay awake through steps of one part, and from one run to the next if that follows at
// once.
#define RUN_SPIN_NS 1000000u  // a worker within a run
#define AFTER_SPIN_NS 50000u  // and when no run is going on
#define CALLER_SPIN_NS 50000u  // the caller, for the parts that others work on
#define MAX_THREADS 1024u
#define LINE 128  // two cache lines: neighbours are fetched in pairs
enum { OURS = 1, MOVING = 2 };  // of seer_pool.home

typedef struct {
  seer_pool *pool;
  pthread_t thread;
  uint32_t index;
  // Processors that it may use: as we found them, and without the one that we keep it off.
  cpu_set_t set, set_kept;
} worker;

typedef struct {
  _Alignas(LINE) _Atomic uint64_t range;  // first | end << 32
} block;

// A pool may be made by one model.so and used by another, each with its own copy of this code, of
// this version or another: users reach it through the functions stored in it, and read nothing but
// the members up to `user`, which stay as they are.
struct seer_pool {
  uint32_t struct_size;
  uint32_t n_threads;
  void (*begin)(seer_pool *pool);
  void (*end)(seer_pool *pool);
  void (*run)(seer_pool *pool, uint32_t n_parts, seer_parallel_body body, void *arg);
  void (*destroy)(seer_pool *pool);
  // ---- wrapped
  seer_parallel_for parallel_for;
  void *user;
  // ---- of another pool
  seer_pool *of;
  uint32_t most;
  // ---- our own threads
  // Ours in the process that made the threads; in a child, which has none of them, it is 0 until
  // they are made anew. Without a page that children see wiped: the process's id.
  _Atomic uint32_t *home;
  _Atomic uint32_t home_here;
  bool may_spin, is_pinned;
  pthread_t creator;
  cpu_set_t creator_set;
  pthread_mutex_t one_run;  // held from begin to end: sessions of several threads may share a pool
  uint32_t n_workers;
  worker *workers;
  // The processor that workers are kept off, of this caller; -1: none yet
  int kept_off;
  pthread_t kept_for;

  _Alignas(LINE) _Atomic uint32_t wake;
  _Atomic uint32_t n_asleep;
  _Atomic bool is_running, is_ending;
  // the job; owned by the caller while done == n_parts
  seer_parallel_body body;
  void *arg;
  block *blocks;  // one a thread
  _Alignas(LINE) _Atomic uint32_t done;
  _Atomic bool caller_waits;
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int n) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static inline uint64_t range_of(uint32_t first, uint32_t end) {
  return first | (uint64_t)end << 32;
}

// One part of a block: its first for the block's own thread, its last for others.
static bool claim(block *from, bool is_own, uint32_t *out_part) {
  uint64_t range = atomic_load_explicit(&from->range, memory_order_relaxed);
  for (;;) {
    uint32_t first = (uint32_t)range, end = (uint32_t)(range >> 32);
    if (first >= end) return false;
    uint64_t rest = is_own ? range_of(first + 1, end) : range_of(first, end - 1);
    if (atomic_compare_exchange_weak_explicit(
            &from->range, &range, rest, memory_order_acquire, memory_order_relaxed)) {
      *out_part = is_own ? first : end - 1;
      return true;
    }
  }
}

// Works on whatever is unclaimed; returns when nothing is.
static void work(seer_pool *pool, uint32_t thread) {
  uint32_t mine = 0, part;
  for (uint32_t k = 0; k < pool->n_threads; k++) {
    block *from = &pool->blocks[(thread + k) % pool->n_threads];
    for (; claim(from, k == 0, &part); mine++) pool->body(pool->arg, part, thread);
  }
  if (mine == 0) return;
  // The caller sets caller_waits, then looks at `done`; we change `done`, then look at
  // caller_waits.
  atomic_fetch_add(&pool->done, mine);
  if (thread != 0 && atomic_load(&pool->caller_waits)) futex_wake(&pool->done, 1);
}

// Looks for a call that comes soon; false: none came.
static bool is_called(const seer_pool *pool, uint32_t seen) {
  const uint64_t since = now_ns();
  for (;;) {
    for (int i = 0; i < 32; i++) {
      if (atomic_load_explicit(&pool->wake, memory_order_relaxed) != seen) return true;
      relax();
    }
    bool is_running = atomic_load_explicit(&pool->is_running, memory_order_relaxed);
    if (now_ns() - since >= (is_running ? RUN_SPIN_NS : AFTER_SPIN_NS)) return false;
  }
}

static void *worker_main(void *arg) {
  worker *self = arg;
  seer_pool *pool = self->pool;
  for (;;) {
    uint32_t seen = atomic_load(&pool->wake);
    if (atomic_load(&pool->is_ending)) return NULL;
    work(pool, self->index);
    if (pool->may_spin && is_called(pool, seen)) continue;
    atomic_fetch_add(&pool->n_asleep, 1);
    while (atomic_load(&pool->wake) == seen) futex_wait(&pool->wake, seen);
    atomic_fetch_sub(&pool->n_asleep, 1);
  }
}

static void call_workers(seer_pool *pool) {
  atomic_fetch_add(&pool->wake, 1);
  if (atomic_load(&pool->n_asleep) > 0) futex_wake(&pool->wake, INT32_MAX);
}

// One thread a core, as long as there are cores.
static void pin_to(pthread_t thread, const seer_processors *allowed, uint32_t nth) {
  if (allowed->n == 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(allowed->order[nth % allowed->n], &one);
  pthread_setaffinity_np(thread, sizeof one, &one);  // a refusal costs speed only
}

// A worker that wakes up may be put behind the caller on the caller's own processor, though another
// one is idle, and stay there until the system next spreads its load: for milliseconds. (Linux does
// not take a virtual machine's halted processor for an idle one. Measured 2026-11, 2 threads,
// caller asleep for 5 ms before each run: half of the workers came 0.9 to 5 ms late, for 0.06 ms.)
// So workers are kept off the processor on which their caller runs.
static void keep_off(worker *w, size_t cpu) {
  cpu_set_t set;
  if (pthread_getaffinity_np(w->thread, sizeof set, &set) != 0) return;
  if (!CPU_EQUAL(&set, &w->set_kept)) w->set = set;  // the first time, or somebody else's choice
  set = w->set;
  CPU_CLR(cpu, &set);
  if (CPU_COUNT(&set) == 0) set = w->set;
  if (pthread_setaffinity_np(w->thread, sizeof set, &set) == 0) w->set_kept = set;
}

// Where several callers share a pool, and it never sleeps, their workers would move at each run.
static void keep_workers_off_caller(seer_pool *pool) {
  int cpu = pool->may_spin && !pool->is_pinned ? sched_getcpu() : -1;
  if (cpu < 0 || cpu >= CPU_SETSIZE || cpu == pool->kept_off) return;
  bool is_another = pool->kept_off >= 0 && !pthread_equal(pool->kept_for, pthread_self());
  if (is_another && atomic_load_explicit(&pool->n_asleep, memory_order_relaxed) == 0) return;
  for (uint32_t i = 0; i < pool->n_workers; i++) keep_off(&pool->workers[i], (size_t)cpu);
  pool->kept_off = cpu;
  pool->kept_for = pthread_self();
}

// ---- after a fork

static uint32_t home_now(const seer_pool *pool) {
  return pool->home == &pool->home_here ? (uint32_t)getpid() << 2 | OURS : OURS;
}

static bool is_home(const seer_pool *pool) { return atomic_load(pool->home) == home_now(pool); }

static int start_worker(seer_pool *pool, uint32_t i) {
  worker *w = &pool->workers[i];
  *w = (worker){.pool = pool, .index = i + 1};
  int error = pthread_create(&w->thread, NULL, worker_main, w);
  if (error == 0) pool->n_workers = i + 1;
  return error;
}

// 0, or why there are fewer.
static int start_workers(seer_pool *pool) {
  int error = 0;
  pool->n_workers = 0;
  pool->kept_off = -1;
  for (uint32_t i = 0; i < pool->n_threads - 1 && error == 0; i++) error = start_worker(pool, i);
  return error;
}

static void pin_threads(const seer_pool *pool, bool and_creator) {
  if (!pool->is_pinned) return;
  seer_processors allowed;
  seer_processors_by_core("", &pool->creator_set, &allowed);
  for (uint32_t i = 0; i < pool->n_workers; i++) pin_to(pool->workers[i].thread, &allowed, i + 1);
  if (and_creator) pin_to(pool->creator, &allowed, 0);
}

// The first thread of a child that comes here makes the pool as it was when new; others wait for
// it. Threads that cannot be made are done without: the parts of all are taken by those that there
// are.
static void move_in(seer_pool *pool) {
  uint32_t seen = atomic_load(pool->home), home = home_now(pool);
  while (seen != home) {
    if (seen == MOVING || !atomic_compare_exchange_strong(pool->home, &seen, MOVING)) {
      sched_yield();
      seen = atomic_load(pool->home);
      continue;
    }
    pthread_mutex_init(&pool->one_run, NULL);  // held, perhaps, by a thread that is not here
    memset(pool->blocks, 0, pool->n_threads * sizeof *pool->blocks);
    atomic_store(&pool->n_asleep, 0);
    atomic_store(&pool->is_running, false);
    atomic_store(&pool->caller_waits, false);
    (void)start_workers(pool);
    pin_threads(pool, false);
    atomic_store(pool->home, home);
    return;
  }
}

static void threads_begin(seer_pool *pool) {
  if (!is_home(pool)) move_in(pool);
  pthread_mutex_lock(&pool->one_run);
  atomic_store_explicit(&pool->is_running, true, memory_order_relaxed);
  keep_workers_off_caller(pool);
  if (pool->may_spin) call_workers(pool);  // they wake up while the caller prepares its first phase
}

static void threads_end(seer_pool *pool) {
  atomic_store_explicit(&pool->is_running, false, memory_order_relaxed);
  pthread_mutex_unlock(&pool->one_run);
}

static void threads_run(seer_pool *pool, uint32_t n_parts, seer_parallel_body body, void *arg) {
  if (n_parts <= 1) {
    if (n_parts == 1) body(arg, 0, 0);
    return;
  }
  pool->body = body;
  pool->arg = arg;
  atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
  for (uint32_t t = 0; t < pool->n_threads; t++) {
    uint64_t first = (uint64_t)n_parts * t / pool->n_threads,
             end = (uint64_t)n_parts * (t + 1) / pool->n_threads;
    atomic_store_explicit(
        &pool->blocks[t].range, range_of((uint32_t)first, (uint32_t)end), memory_order_release);
  }
  call_workers(pool);
  work(pool, 0);

  uint32_t done = atomic_load_explicit(&pool->done, memory_order_acquire);
  if (done == n_parts) return;
  if (pool->may_spin) {
    uint64_t until = now_ns() + CALLER_SPIN_NS;
    do {
      for (int i = 0; i < 32; i++) {
        if (atomic_load_explicit(&pool->done, memory_order_acquire) == n_parts) return;
        relax();
      }
    } while (now_ns() < until);
  }
  atomic_store(&pool->caller_waits, true);
  while ((done = atomic_load(&pool->done)) != n_parts) futex_wait(&pool->done, done);
  atomic_store_explicit(&pool->caller_waits, false, memory_order_relaxed);
}

// A pinned thread may use one processor only, and so may what it starts: the processors that were
// there before the first pin are kept while any pool is pinned, for the pools that come after it.
static struct {
  pthread_mutex_t lock;
  uint32_t n_pools;
  cpu_set_t before;
} pins = {.lock = PTHREAD_MUTEX_INITIALIZER};

// False if the system does not say. `pin`: counts the pool as pinned.
static bool processors(cpu_set_t *out, bool pin) {
  pthread_mutex_lock(&pins.lock);
  bool is_known = pins.n_pools > 0 || sched_getaffinity(0, sizeof pins.before, &pins.before) == 0;
  if (is_known) *out = pins.before;
  if (is_known && pin) pins.n_pools++;
  pthread_mutex_unlock(&pins.lock);
  return is_known;
}

static void unpin(seer_pool *pool) {
  if (!pool->is_pinned) return;
  if (pthread_equal(pool->creator, pthread_self()))
    pthread_setaffinity_np(pool->creator, sizeof pool->creator_set, &pool->creator_set);
  pthread_mutex_lock(&pins.lock);
  pins.n_pools--;
  pthread_mutex_unlock(&pins.lock);
}

// In a child that has not used the pool there is nobody to join.
static void threads_destroy(seer_pool *pool) {
  atomic_store(&pool->is_ending, true);
  if (pool->n_workers > 0 && is_home(pool)) {
    call_workers(pool);
    for (uint32_t i = 0; i < pool->n_workers; i++) pthread_join(pool->workers[i].thread, NULL);
  }
  unpin(pool);
  if (pool->home != &pool->home_here) seer_fork_word_destroy(pool->home);
  pthread_mutex_destroy(&pool->one_run);
  free(pool->workers);
  free(pool->blocks);
  free(pool);
}

// One thread needs no hand-over, and no lock: each caller works for itself.
static void alone_begin(seer_pool *pool) { (void)pool; }
static void alone_run(seer_pool *pool, uint32_t n_parts, seer_parallel_body body, void *arg) {
  (void)pool;
  for (uint32_t i = 0; i < n_parts; i++) body(arg, i, 0);
}
static void wrapped_run(seer_pool *pool, uint32_t n_parts, seer_parallel_body body, void *arg) {
  if (n_parts == 1)
    body(arg, 0, 0);
  else if (n_parts > 1)
    pool->parallel_for(pool->user, n_parts, body, arg);
}
static void wrapped_destroy(seer_pool *pool) { free(pool); }

static void settle(seer_pool *pool) {
  pool->home = seer_fork_word_create();
  if (!pool->home) pool->home = &pool->home_here;
  atomic_store(pool->home, home_now(pool));
}

static seer_pool *pool_alloc(uint32_t n_threads) {
  seer_pool *pool = aligned_alloc(LINE, (sizeof(seer_pool) + LINE - 1) / LINE * LINE);
  if (!pool) return NULL;
  memset(pool, 0, sizeof *pool);
  pool->struct_size = sizeof *pool;
  pool->n_threads = n_threads;
  return pool;
}

static uint32_t cores_of(const cpu_set_t *set) {
  seer_processors processors;
  seer_processors_by_core("", set, &processors);
  return seer_processors_cut(processors.n_cores, 0);
}

static seer_rt_code no_memory(uint32_t n_threads, char *message, size_t message_bytes) {
  return seer_rt_fail(
      SEER_RT_RESOURCE, message, message_bytes, "no memory for a pool of %u threads", n_threads);
}

seer_rt_code seer_pool_make(
    uint32_t n_threads, int pin, seer_pool **out_pool, char *message, size_t message_bytes) {
  *out_pool = NULL;
  cpu_set_t set;
  bool is_known = processors(&set, false);
  uint32_t allowed = seer_cpu_allowed(is_known ? (uint32_t)CPU_COUNT(&set) : 0);
  if (n_threads == 0) n_threads = is_known ? seer_processors_cut(cores_of(&set), allowed) : allowed;
  if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;
  seer_pool *pool = pool_alloc(n_threads);
  if (!pool) return no_memory(n_threads, message, message_bytes);
  pool->begin = threads_begin;
  pool->end = threads_end;
  pool->run = threads_run;
  pool->destroy = threads_destroy;
  pool->may_spin = n_threads <= allowed;
  pthread_mutex_init(&pool->one_run, NULL);
  if (n_threads == 1) {
    pool->begin = pool->end = alone_begin;
    pool->run = alone_run;
  } else {
    settle(pool);
    pool->workers = calloc(n_threads - 1, sizeof *pool->workers);
    pool->blocks = aligned_alloc(LINE, n_threads * sizeof *pool->blocks);
    if (pool->blocks) memset(pool->blocks, 0, n_threads * sizeof *pool->blocks);
    if (!pool->workers || !pool->blocks) {
      threads_destroy(pool);
      return no_memory(n_threads, message, message_bytes);
    }
  }
  int error = n_threads > 1 ? start_workers(pool) : 0;
  if (error != 0) {
    uint32_t n_started = pool->n_workers;
    threads_destroy(pool);
    return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes,
        "%u of %u threads could be started besides the caller's: %s", n_started, n_threads - 1,
        strerror(error));
  }
  if (pin && processors(&pool->creator_set, true)) {
    pool->is_pinned = true;
    pool->creator = pthread_self();
    pin_threads(pool, true);
  }
  *out_pool = pool;
  return SEER_RT_OK;
}

seer_pool *seer_pool_create(uint32_t n_threads, int pin) {
  seer_pool *pool;
  (void)seer_pool_make(n_threads, pin, &pool, NULL, 0);
  return pool;
}

// ---- some of another pool's threads

// Blocks of parts, as many as threads may work: who works on one does all of it.
typedef struct {
  uint32_t n_parts, n_blocks;
  seer_parallel_body body;
  void *arg;
} blocks_job;

// A block that is none is a part that is none, which whoever counts parts sees.
static void work_block(void *arg, uint32_t block_index, uint32_t thread) {
  const blocks_job *job = arg;
  if (block_index >= job->n_blocks) {
    job->body(job->arg, UINT32_MAX, thread);
    return;
  }
  uint64_t n = job->n_parts;
  uint32_t end = (uint32_t)(n * (block_index + 1) / job->n_blocks);
  for (uint32_t i = (uint32_t)(n * block_index / job->n_blocks); i < end; i++)
    job->body(job->arg, i, thread);
}

static void capped_begin(seer_pool *pool) { seer_pool_begin(pool->of); }
static void capped_end(seer_pool *pool) { seer_pool_end(pool->of); }
static void capped_run(seer_pool *pool, uint32_t n_parts, seer_parallel_body body, void *arg) {
  blocks_job job = {n_parts, pool->most, body, arg};
  if (n_parts <= pool->most)
    seer_pool_run(pool->of, n_parts, body, arg);
  else
    seer_pool_run(pool->of, job.n_blocks, work_block, &job);
}

seer_pool *seer_pool_cap(seer_pool *of, uint32_t most) {
  seer_pool *pool = pool_alloc(seer_pool_threads(of));
  if (!pool) return NULL;
  pool->begin = most > 1 ? capped_begin : alone_begin;
  pool->end = most > 1 ? capped_end : alone_begin;
  pool->run = most > 1 ? capped_run : alone_run;
  pool->destroy = wrapped_destroy;
  pool->parallel_for = most > 1 ? of->parallel_for : NULL;  // whether parts are counted
  pool->of = of;
  pool->most = most;
  return pool;
}

seer_pool *seer_pool_wrap(seer_parallel_for parallel_for, void *user, uint32_t n_threads) {
  seer_pool *pool = parallel_for ? pool_alloc(n_threads > 0 ? n_threads : 1) : NULL;
  if (!pool) return NULL;
  pool->begin = pool->end = alone_begin;
  pool->run = wrapped_run;
  pool->destroy = wrapped_destroy;
  pool->parallel_for = parallel_for;
  pool->user = user;
  return pool;
}

void seer_pool_destroy(seer_pool *pool) {
  if (pool) pool->destroy(pool);
}

uint32_t seer_pool_threads(const seer_pool *pool) { return pool ? pool->n_threads : 1; }

void seer_pool_begin(seer_pool *pool) {
  if (pool) pool->begin(pool);
}

void seer_pool_end(seer_pool *pool) {
  if (pool) pool->end(pool);
}

void seer_pool_run(seer_pool *pool, uint32_t n_parts, seer_parallel_body body, void *arg) {
  if (pool)
    pool->run(pool, n_parts, body, arg);
  else
    alone_run(NULL, n_parts, body, arg);
}

// ---- parts that are counted

// What is looked at of the calls for the parts of one phase.
typedef struct {
  uint32_t n_parts, n_threads;
  bool is_counted;  // calls are: by who lent us threads, not by our own
  _Atomic uint32_t n_calls;
  _Atomic bool has_bad;
  _Atomic uint64_t bad;  // a call that cannot be: thread << 32 | part
} account;

static account open_account(const seer_pool *pool) {
  return (account){.n_threads = seer_pool_threads(pool), .is_counted = pool && pool->parallel_for};
}

// False: there is no such call, and nothing must be done for it.
static bool note_call(account *a, uint32_t part, uint32_t thread) {
  if (a->is_counted) atomic_fetch_add_explicit(&a->n_calls, 1, memory_order_relaxed);
  if (thread < a->n_threads && part < a->n_parts) return true;
  atomic_store(&a->bad, (uint64_t)thread << 32 | part);
  atomic_store(&a->has_bad, true);
  return false;
}

static void run_counted(
    seer_pool *pool, account *a, uint32_t n_parts, seer_parallel_body body, void *arg) {
  a->n_parts = n_parts;
  atomic_store_explicit(&a->n_calls, 0, memory_order_relaxed);
  seer_pool_run(pool, n_parts, body, arg);
}

static bool is_settled(account *a, seer_pool_fault *out_fault) {
  uint32_t n_calls = a->is_counted ? atomic_load(&a->n_calls) : a->n_parts;
  if (!atomic_load(&a->has_bad) && n_calls == a->n_parts) return true;
  uint64_t bad = atomic_load(&a->bad);
  *out_fault = (seer_pool_fault){
      .is_bad_call = atomic_load(&a->has_bad),
      .part = (uint32_t)bad,
      .thread = (uint32_t)(bad >> 32),
      .n_threads = a->n_threads,
      .n_parts = a->n_parts,
      .n_calls = n_calls,
  };
  return false;
}

typedef struct {
  account account;
  seer_parallel_body body;
  void *arg;
} part_job;

static void plain_part(void *arg, uint32_t part, uint32_t thread) {
  part_job *job = arg;
  if (note_call(&job->account, part, thread)) job->body(job->arg, part, thread);
}

bool seer_pool_run_parts(seer_pool *pool, uint32_t n_parts, seer_parallel_body body, void *arg,
    seer_pool_fault *out_fault) {
  part_job job = {open_account(pool), body, arg};
  run_counted(pool, &job.account, n_parts, plain_part, &job);
  return is_settled(&job.account, out_fault);
}

// ---- kernels

typedef struct {
  account account;
  const seer_kernel_call *call;
  uint32_t phase;
} kernel_job;

double seer_pool_now_s(void) { return 1e-9 * (double)now_ns(); }

static void take_buffers(
    const seer_kernel_call *call, uint32_t thread, void *out[SEER_PLAN_MAX_ARGS + 1]) {
  memcpy(out, call->buffers, call->n_arg * sizeof(void *));
  out[call->n_arg] = call->scratch ? call->scratch + thread * call->scratch_stride : NULL;
}

// Around each part, on whatever thread it runs: the pool may be of another library, its threads the
// caller's own.
static void run_phase(
    const seer_kernel_call *call, uint32_t phase, void *const *buffers, uint32_t part) {
  if (!call->flushes_denormals) {
    call->phase[phase](buffers, part);
    return;
  }
  const seer_denormals was = seer_denormals_flush();
  call->phase[phase](buffers, part);
  seer_denormals_restore(was);
}

static void kernel_part(void *arg, uint32_t part, uint32_t thread) {
  kernel_job *job = arg;
  const seer_kernel_call *call = job->call;
  if (!note_call(&job->account, part, thread)) return;
  void *buffers[SEER_PLAN_MAX_ARGS + 1];
  take_buffers(call, thread, buffers);
  if (!call->times) {
    run_phase(call, job->phase, buffers, part);
    return;
  }
  double before = seer_pool_now_s();
  run_phase(call, job->phase, buffers, part);
  call->times->lanes[thread].busy_s += seer_pool_now_s() - before;
}

static void reset_lanes(const kernel_job *job) {
  if (!job->call->times) return;
  for (uint32_t t = 0; t < job->account.n_threads; t++) job->call->times->lanes[t].busy_s = 0;
}

static void add_lanes(const kernel_job *job) {
  seer_pool_times *times = job->call->times;
  if (!times) return;
  double sum = 0, most = 0;
  for (uint32_t t = 0; t < job->account.n_threads; t++) {
    sum += times->lanes[t].busy_s;
    if (times->lanes[t].busy_s > most) most = times->lanes[t].busy_s;
  }
  times->mean_s += sum / job->account.n_threads;
  times->most_s += most;
}

bool seer_pool_run_kernel(
    seer_pool *pool, const seer_kernel_call *call, seer_pool_fault *out_fault) {
  kernel_job job = {.account = open_account(pool), .call = call};
  for (; job.phase < call->n_phase; job.phase++) {
    reset_lanes(&job);
    run_counted(pool, &job.account, call->n_parts[job.phase], kernel_part, &job);
    add_lanes(&job);
    if (!is_settled(&job.account, out_fault)) return false;
  }
  return true;
}

void seer_pool_run_alone(const seer_kernel_call *call, uint32_t thread) {
  void *buffers[SEER_PLAN_MAX_ARGS + 1];
  take_buffers(call, thread, buffers);
  for (uint32_t p = 0; p < call->n_phase; p++)
    for (uint32_t part = 0; part < call->n_parts[p]; part++) run_phase(call, p, buffers, part);
}
