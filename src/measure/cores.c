// cores.c - a computation that fills a core, by one thread and by all at once.

#include "measure/cores.h"

#include <math.h>

#include "base/os.h"

#define N_CHAINS 12  // of operations that wait for each other: together they fill a core
#define N_STEPS 2000  // about 4 us
#define N_PROBES 3
#define CROWDED 1.4
// The first time nothing is known of this machine, only what most of them come to.
#define ROOMY 1.2
#define FIRST_NS 1000000000u
#define MAX_WAIT_NS 200000000u
#define NAP_NS 1000000u  // a host that has room puts processors apart as they wake up
#define MAX_SHARE 0.1  // of the time; and FIRST_NS

typedef double pair __attribute__((vector_size(16)));

static void compute(void *arg, uint32_t part, uint32_t thread) {
  (void)arg, (void)part;
  pair x[N_CHAINS];
  for (int k = 0; k < N_CHAINS; k++) x[k] = (pair){thread, k};
  for (int i = 0; i < N_STEPS; i++) {
#pragma GCC unroll 12
    for (int k = 0; k < N_CHAINS; k++) x[k] = x[k] * 0.999 + 1;  // in registers
  }
  for (int k = 1; k < N_CHAINS; k++) x[0] += x[k];
  volatile double sum = x[0][0] + x[0][1];  // so that nothing is left out
  (void)sum;
}

double seer_cores_crowding(seer_pool *pool) {
  uint32_t n_threads = seer_pool_threads(pool);
  double by_all = INFINITY, by_one = INFINITY;
  if (n_threads == 1) return 1;
  seer_pool_begin(pool);
  seer_pool_run(pool, n_threads, compute, NULL);  // all are awake now
  for (int i = 0; i < N_PROBES; i++) {  // what disturbs a moment only ever takes longer
    uint64_t from = seer_os_now_ns();
    seer_pool_run(pool, n_threads, compute, NULL);
    uint64_t middle = seer_os_now_ns();
    compute(NULL, 0, 0);
    by_all = fmin(by_all, (double)(middle - from));
    by_one = fmin(by_one, (double)(seer_os_now_ns() - middle));
  }
  seer_pool_end(pool);
  return by_all / fmax(by_one, 1);
}

bool seer_cores_note_crowding(seer_cores *cores, double crowding) {
  crowding = fmax(1, crowding);
  cores->least = cores->least > 0 ? fmin(cores->least, crowding) : crowding;
  return crowding <= CROWDED * cores->least;
}

bool seer_cores_are_free(seer_cores *cores, seer_pool *pool) {
  return seer_cores_note_crowding(cores, seer_cores_crowding(pool));
}

static void learn(seer_cores *cores, seer_pool *pool) {
  cores->began_ns = seer_os_now_ns();
  while (seer_os_now_ns() - cores->began_ns < FIRST_NS) {
    if (seer_cores_are_free(cores, pool) && cores->least <= ROOMY) return;
    seer_os_sleep_ns(NAP_NS);
  }
}

void seer_cores_await(seer_cores *cores, seer_pool *pool) {
  if (seer_pool_threads(pool) == 1) return;
  if (cores->began_ns == 0) learn(cores, pool);
  if (seer_cores_are_free(cores, pool)) return;
  uint64_t start = seer_os_now_ns();
  double fair = FIRST_NS + MAX_SHARE * (double)(start - cores->began_ns);
  uint64_t limit = (uint64_t)fmin(fmax(fair - (double)cores->waited_ns, 0), MAX_WAIT_NS);
  while (seer_os_now_ns() - start < limit && !seer_cores_are_free(cores, pool))
    seer_os_sleep_ns(NAP_NS);
  cores->waited_ns += seer_os_now_ns() - start;
}
