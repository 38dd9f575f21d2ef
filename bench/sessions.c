// sessions.c - what threads with a session and a pool each gain: runs of a model per second by 1, 2, ...
// threads at a time, each on a session and a pool of one thread of its own, over one model.
//   build/bench/sessions MODEL.so [THREADS [SECONDS]]
// Rounds of 1 and of several threads take turns, so that a slow phase of the machine meets both. Printed
// is each one's best, and the processor time of a run at its best, which other programs disturb less:
// what threads do to each other shows there too, but for waiting. Nothing is shared but the weights, so
// n threads on n free cores should run n times as often, until the memory that they read through sets a
// limit.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "seer/runtime.h"

enum { MAX_THREADS = 64, ROUNDS = 5 };

typedef struct {
  const seer_model_api *api;
  const seer_model *model;
  double until_s, busy_s;
  long n_runs;
  const char *wrong;
  char message[256];
} user;

static double clock_s(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now_s(void) { return clock_s(CLOCK_MONOTONIC); }

static void *memory(uint64_t n_bytes) { return aligned_alloc(64, (n_bytes + 127) / 64 * 64); }

// Memory stays until the program ends.
static int bind_all(user *u, seer_session *session) {
  for (int32_t i = 0; i < u->api->n_inputs(u->model); i++) {
    const seer_io_info *io = u->api->input(u->model, i);
    unsigned char *data = memory(io->n_bytes);
    for (uint64_t k = 0; data && k < io->n_bytes; k++) data[k] = 0;
    if (u->api->session_bind_input(session, i, data, io->n_bytes, u->message, sizeof u->message) !=
        SEER_RT_OK)
      return 0;
  }
  for (int32_t i = 0; i < u->api->n_outputs(u->model); i++) {
    uint64_t n = u->api->output(u->model, i)->n_bytes;
    if (u->api->session_bind_output(session, i, memory(n), n, u->message, sizeof u->message) !=
        SEER_RT_OK)
      return 0;
  }
  return 1;
}

static void *use(void *arg) {
  user *u = arg;
  seer_session *session = NULL;
  seer_pool *pool = u->api->pool_create(1, 0);
  u->n_runs = 0;
  u->wrong = u->message;
  if (pool &&
      u->api->session_create(u->model, pool, &session, u->message, sizeof u->message) ==
          SEER_RT_OK &&
      bind_all(u, session)) {
    u->wrong = NULL;
    double before = clock_s(CLOCK_THREAD_CPUTIME_ID);
    while (!u->wrong && now_s() < u->until_s) {
      if (u->api->session_run(session, u->message, sizeof u->message) != SEER_RT_OK)
        u->wrong = u->message;
      u->n_runs++;
    }
    u->busy_s = clock_s(CLOCK_THREAD_CPUTIME_ID) - before;
  }
  u->api->session_destroy(session);
  u->api->pool_destroy(pool);
  return NULL;
}

// How often `n` threads together run the model in a second, and the processor time of a run; negative
// if one failed.
static double round_of(user *users, int n, double seconds, double *out_busy_s) {
  pthread_t thread[MAX_THREADS];
  double from = now_s(), runs = 0, busy_s = 0;
  for (int i = 0; i < n; i++) {
    users[i].until_s = from + seconds;
    if (pthread_create(&thread[i], NULL, use, &users[i]) != 0) return -1;
  }
  for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < n; i++) {
    if (users[i].wrong) {
      fprintf(stderr, "sessions: %s\n", users[i].wrong);
      return -1;
    }
    runs += (double)users[i].n_runs;
    busy_s += users[i].busy_s;
  }
  *out_busy_s = busy_s / runs;
  return runs / (now_s() - from);
}

int main(int argc, char **argv) {
  char message[512] = "";
  void *library = NULL;
  user first = {0};
  seer_model *model = NULL;
  int n = argc > 2 ? atoi(argv[2]) : 2;
  double seconds = argc > 3 ? atof(argv[3]) : 1;
  if (argc < 2 || n < 1 || n > MAX_THREADS) {
    fprintf(stderr, "usage: sessions MODEL.so [THREADS [SECONDS]]\n");
    return 2;
  }
  if (seer_model_load(argv[1], &library, &first.api, message, sizeof message) != SEER_RT_OK ||
      !SEER_API_HAS(first.api, session_run) ||
      first.api->open(NULL, NULL, 0, 0, &model, message, sizeof message) != SEER_RT_OK) {
    fprintf(stderr, "sessions: %s\n", *message ? message : "a library of the first version");
    return 1;
  }
  first.model = model;
  static user users[MAX_THREADS];
  for (int i = 0; i < n; i++) users[i] = first;
  double best[MAX_THREADS + 1] = {0}, busy_s[MAX_THREADS + 1] = {0};
  for (int round = 0; round < ROUNDS; round++) {
    for (int k = 1; k <= n; k++) {
      double busy, rate = round_of(users, k, seconds, &busy);
      if (rate < 0) return 1;
      if (rate > best[k]) best[k] = rate;
      if (round == 0 || busy < busy_s[k]) busy_s[k] = busy;
    }
  }
  for (int k = 1; k <= n; k++)
    printf(
        "%2d threads: %10.1f runs a second, %.2f times as many as one; %.2f us of a processor "
        "each\n",
        k, best[k], best[k] / best[1], busy_s[k] * 1e6);
  first.api->close(model);
  seer_model_unload(library);
  return 0;
}
