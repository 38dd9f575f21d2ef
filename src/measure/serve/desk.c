// desk.c - the lock that a worker's threads share, and what is done with it.

#include "measure/serve/desk.h"

#include <time.h>

void seer_desk_init(seer_desk *desk) {
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&desk->changed, &attr);
  pthread_condattr_destroy(&attr);
  pthread_mutex_init(&desk->lock, NULL);
}

void seer_desk_clear(seer_desk *desk) {
  pthread_cond_destroy(&desk->changed);
  pthread_mutex_destroy(&desk->lock);
}

void seer_desk_wait(seer_desk *desk, uint64_t timeout_ns) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += (time_t)(timeout_ns / 1000000000u);
  until.tv_nsec += (long)(timeout_ns % 1000000000u);
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  (void)pthread_cond_timedwait(&desk->changed, &desk->lock, &until);
}

void seer_desk_append(seer_desk_job **list, seer_desk_job *job) {
  while (*list) list = &(*list)->next;
  job->next = NULL;
  *list = job;
}

void seer_desk_end_job(seer_desk_job *job) { seer_arena_destroy(job->arena); }

seer_desk_tuning *seer_desk_find_tuning(seer_desk *desk, uint64_t session) {
  for (uint32_t k = 0; k < desk->n_tunings; k++)
    if (desk->tuning[k].session == session) return &desk->tuning[k];
  return NULL;
}
