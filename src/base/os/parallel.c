// parallel.c - threads take the next part until none is left.
#include "base/os/parallel.h"

#include <stdatomic.h>

#include "base/os.h"
#include "base/recover.h"

// What must be left before a thread is started: its stack takes 8 MiB, and the caller's own stack
// cannot grow where nothing is left, which ends the process.
#define THREAD_BYTES ((uint64_t)24 << 20)

typedef struct {
  seer_parallel_part part;
  void *user;
  uint32_t n_parts;
  _Atomic uint32_t next;
} work;

typedef struct {
  work *work;
  uint32_t thread;
} worker;

static void run(void *arg) {
  const worker *self = arg;
  work *w = self->work;
  for (;;) {
    uint32_t part = atomic_fetch_add(&w->next, 1);
    if (part >= w->n_parts) return;
    w->part(w->user, part, self->thread);
  }
}

uint32_t seer_parallel_threads(uint32_t n_threads, uint32_t n_parts) {
  uint32_t n = n_threads > 0 ? n_threads : seer_os_n_threads();
  if (n > SEER_PARALLEL_MAX_THREADS) n = SEER_PARALLEL_MAX_THREADS;
  if (n > n_parts) n = n_parts;
  return n > 0 ? n : 1;
}

void seer_parallel(uint32_t n_threads, uint32_t n_parts, seer_parallel_part part, void *user) {
  work w = {part, user, n_parts, 0};
  worker self[SEER_PARALLEL_MAX_THREADS];
  seer_os_thread *thread[SEER_PARALLEL_MAX_THREADS];
  uint32_t n = seer_parallel_threads(n_threads, n_parts);
  for (uint32_t t = 0; t < n; t++) self[t] = (worker){&w, t};
  uint32_t n_started = 1;
  for (; n_started < n; n_started++) {
    seer_status status = seer_recover_headroom(THREAD_BYTES, "a thread");
    if (!status) status = seer_os_thread_create(run, &self[n_started], &thread[n_started]);
    seer_status_free(status);
    if (status) break;
  }
  run(&self[0]);
  for (uint32_t t = 1; t < n_started; t++) seer_os_thread_join(thread[t]);
}
