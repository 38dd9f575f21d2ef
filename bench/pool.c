// pool.c - what it costs to hand a phase over to the threads of a pool: phases whose parts do
// nothing, or work for so long, one after another within a run.
//   build/bench/pool [THREADS [SECONDS]]
// First, how many times as fast all threads compute as one alone, in registers: near their number if
// each has a core of its own; where a virtual machine's processors are threads of one core, near 1, and
// nothing that is timed then tells anything of machines with cores. Then a line for each kind of phase:
// median, lower and upper decile of the time of a phase beyond that of its parts [ns]. `alone` says how
// long the caller is busy by itself before the phase: workers wait that long, as they do through a step
// of one part. `asleep`: everybody has slept so long, and the phase is the first of a run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stats.h"
#include "runtime/pool.h"
#include "measure/cores.h"

enum { MAX_SAMPLES = 20000, BATCH = 20 };

typedef struct {
  const char *name;
  uint32_t parts_per_thread;
  double part_ns, alone_ns, asleep_ns;
  uint32_t batch;  // phases that are timed as one; 1: each by itself
} kind;

static const kind kinds[] = {
    {"empty", 1, 0, 0, 0, BATCH},
    {"empty, 8 parts a thread", 8, 0, 0, 0, BATCH},
    {"5 us", 1, 5000, 0, 0, BATCH},
    {"5 us, 8 parts a thread", 8, 625, 0, 0, BATCH},
    {"empty, 20 us alone", 1, 0, 20000, 0, 1},
    {"empty, 200 us alone", 1, 0, 200000, 0, 1},
    {"empty, 5 ms alone", 1, 0, 5000000, 0, 1},
    {"1 ms, 5 ms asleep", 64, 15625, 0, 5000000, 1},
    {"1 ms, 50 ms asleep", 64, 15625, 0, 50000000, 1},
};

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void work(double ns) {
  if (ns <= 0) return;
  double until = now_ns() + ns;
  while (now_ns() < until) continue;
}

static void rest(double ns) {
  if (ns > 0) nanosleep(&(struct timespec){0, (long)ns}, NULL);
}

static void part(void *arg, uint32_t nth, uint32_t thread) {
  (void)nth, (void)thread;
  work(((const kind *)arg)->part_ns);
}

static uint32_t measure(seer_pool *pool, const kind *what, double seconds, double *out) {
  uint32_t threads = seer_pool_threads(pool), n = 0, n_parts = what->parts_per_thread * threads;
  kind copy = *what;
  double until = now_ns() + 1e9 * seconds, of_parts = what->part_ns * what->parts_per_thread;
  while (n < MAX_SAMPLES && (n < 10 || now_ns() < until)) {
    rest(what->asleep_ns);
    seer_pool_begin(pool);
    if (what->asleep_ns == 0) seer_pool_run(pool, n_parts, part, &copy);  // they are awake now
    work(what->alone_ns);
    double from = now_ns();
    for (uint32_t k = 0; k < what->batch; k++) seer_pool_run(pool, n_parts, part, &copy);
    out[n++] = (now_ns() - from) / what->batch - of_parts;
    seer_pool_end(pool);
  }
  return n;
}

static double gain(seer_pool *pool) {
  double crowding[51];
  for (int i = 0; i < 51; i++) crowding[i] = seer_cores_crowding(pool);
  return seer_pool_threads(pool) / seer_median(crowding, 51);
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 2;
  double seconds = argc > 2 ? atof(argv[2]) : 1;
  seer_pool *pool = threads > 0 && seconds > 0 ? seer_pool_create((uint32_t)threads, 0) : NULL;
  if (!pool) {
    fprintf(stderr, "usage: pool [THREADS [SECONDS]]\n");
    return 2;
  }
  static double sample[MAX_SAMPLES];
  printf("%d threads compute %.2f times as fast as one\n", threads, gain(pool));
  printf("%-26s %10s %10s %10s\n", "phase", "median", "decile 1", "decile 9");
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    uint32_t n = measure(pool, &kinds[k], seconds, sample);
    seer_sort_f64(sample, n);
    printf("%-26s %10.0f %10.0f %10.0f\n", kinds[k].name, seer_sorted_median(sample, n),
        sample[n / 10], sample[n - 1 - n / 10]);
  }
  seer_pool_destroy(pool);
  return 0;
}
