// queue.c - the states of jobs, and who may take the next one. The contract: queue.h.
#include "measure/local/queue.h"

#include <string.h>

static void move(seer_queue *q, uint32_t job, seer_job_state to) {
  q->in[q->job[job].state]--;
  q->in[to]++;
  q->job[job].state = to;
}

void seer_queue_init(seer_queue *q, uint32_t n, seer_arena *arena) {
  *q = (seer_queue){.n = n, .in = {n}, .job = SEER_NEW_ARRAY(arena, seer_job, n)};
  for (uint32_t i = 0; i < n; i++)
    q->job[i] = (seer_job){.wanted = SEER_QUEUE_ANY, .device = SEER_QUEUE_ANY};
}

bool seer_queue_build(seer_queue *q, uint32_t *out_job) {
  if (q->in[SEER_JOB_TO_BUILD] == 0) return false;
  for (uint32_t i = 0; i < q->n; i++) {
    if (q->job[i].state != SEER_JOB_TO_BUILD) continue;
    move(q, i, SEER_JOB_BUILDING);
    *out_job = i;
    return true;
  }
  return false;
}

void seer_queue_built(seer_queue *q, uint32_t job, bool has_code) {
  seer_job_state state = q->job[job].state;
  SEER_ASSERT(state == SEER_JOB_TO_BUILD || state == SEER_JOB_BUILDING,
      "job %u of state %d is built", job, (int)state);
  move(q, job, has_code ? SEER_JOB_BUILT : SEER_JOB_DONE);
}

bool seer_queue_lease(seer_queue *q, uint32_t device, uint32_t *out_job) {
  if (q->in[SEER_JOB_BUILT] == 0) return false;
  for (uint32_t i = 0; i < q->n; i++) {
    seer_job *job = &q->job[i];
    if (job->state != SEER_JOB_BUILT) continue;
    if (job->wanted != SEER_QUEUE_ANY && job->wanted != device) continue;
    move(q, i, SEER_JOB_LEASED);
    job->device = device;
    *out_job = i;
    return true;
  }
  return false;
}

void seer_queue_done(seer_queue *q, uint32_t job) {
  SEER_ASSERT(q->job[job].state == SEER_JOB_LEASED, "job %u of state %d is done", job,
      (int)q->job[job].state);
  move(q, job, SEER_JOB_DONE);
}

bool seer_queue_return(seer_queue *q, uint32_t job) {
  SEER_ASSERT(q->job[job].state == SEER_JOB_LEASED, "job %u of state %d goes back", job,
      (int)q->job[job].state);
  bool is_first = !q->job[job].was_returned;
  q->job[job].was_returned = true;
  move(q, job, is_first ? SEER_JOB_BUILT : SEER_JOB_DONE);
  return is_first;
}

void seer_queue_take_back(seer_queue *q, uint32_t job) {
  seer_job_state state = q->job[job].state;
  SEER_ASSERT(state == SEER_JOB_BUILDING || state == SEER_JOB_LEASED,
      "job %u of state %d is taken back", job, (int)state);
  move(q, job, state == SEER_JOB_BUILDING ? SEER_JOB_TO_BUILD : SEER_JOB_BUILT);
}

bool seer_queue_leave_out(seer_queue *q, uint32_t device, uint32_t *out_job) {
  for (uint32_t i = 0; i < q->n; i++) {
    if (q->job[i].state != SEER_JOB_BUILT || q->job[i].wanted != device) continue;
    move(q, i, SEER_JOB_DONE);
    *out_job = i;
    return true;
  }
  return false;
}
