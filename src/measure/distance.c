// distance.c - one thread writes lines, another one reads them, the first one writes them again.

#include "measure/distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

#define LINE 64
#define N_LINES 1024  // they fit everybody's second-level cache
#define N_TRIES 20

typedef struct {
  volatile unsigned char *lines;
  uint32_t reader;
  bool is_reading;
  bool is_elsewhere;  // a part was not done by the thread that it is for
  double write_ns;  // for each line
} hand_over;

static void take_part(void *arg, uint32_t part, uint32_t thread) {
  hand_over *h = arg;
  if (part != (h->is_reading ? h->reader : 0)) return;
  if (thread != part) h->is_elsewhere = true;
  uint64_t from = seer_os_now_ns();
  unsigned sum = 0;
  for (size_t i = 0; i < N_LINES; i++) {
    if (h->is_reading)
      sum += h->lines[i * LINE];
    else
      h->lines[i * LINE] = (unsigned char)(sum + part);
  }
  if (!h->is_reading) h->write_ns = (double)(seer_os_now_ns() - from) / N_LINES;
}

static void run(seer_pool *pool, hand_over *h, bool is_reading) {
  h->is_reading = is_reading;
  seer_pool_run(pool, seer_pool_threads(pool), take_part, h);
}

static double between(seer_pool *pool, hand_over *h) {
  double least = INFINITY;
  run(pool, h, false);
  for (int i = 0; i < N_TRIES; i++) {
    h->is_elsewhere = false;
    run(pool, h, true);
    run(pool, h, false);
    if (!h->is_elsewhere) least = fmin(least, h->write_ns);
  }
  return least;
}

double seer_distance_ns(seer_pool *pool) {
  uint32_t n_threads = seer_pool_threads(pool);
  if (n_threads == 1) return 0;
  hand_over h = {.lines = aligned_alloc(4096, N_LINES * LINE)};
  double most = 0;
  if (!h.lines) return 0;
  seer_pool_begin(pool);
  for (h.reader = 1; h.reader < n_threads; h.reader++) {
    double ns = between(pool, &h);
    if (isfinite(ns)) most = fmax(most, ns);
  }
  seer_pool_end(pool);
  free((void *)h.lines);
  return most;
}
