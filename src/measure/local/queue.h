// queue.h - which candidate is where, from a request to its result:
//
//   to build -> building -> built -> leased -> done
//
// A free device takes the first built one that it may have: nothing is dealt out beforehand, so a
// slow or short-lived device costs what it has in hand and no more. What a lost device had goes
// back once; if the next one is lost over it, too, that is the candidate's doing.
//
// Pure: states and counts, no process and no clock. Memory: jobs are in the caller's arena.
// Threads: one. Errors: none; a step that is none of these is a fault of ours, and asserted.
#ifndef SEER_MEASURE_LOCAL_QUEUE_H
#define SEER_MEASURE_LOCAL_QUEUE_H

#include "base/arena.h"

typedef enum {
  SEER_JOB_TO_BUILD,
  SEER_JOB_BUILDING,
  SEER_JOB_BUILT,
  SEER_JOB_LEASED,
  SEER_JOB_DONE,
  SEER_JOB_STATE_COUNT
} seer_job_state;

#define SEER_QUEUE_ANY UINT32_MAX  // device: whichever is free

typedef struct {
  seer_job_state state;
  bool was_returned;  // by a device that was lost
  uint32_t wanted;  // the one device that may have it, or SEER_QUEUE_ANY
  uint32_t device;  // that has it, or had it last; SEER_QUEUE_ANY: none so far
} seer_job;

typedef struct {
  uint32_t n, in[SEER_JOB_STATE_COUNT];  // jobs; of each state
  seer_job *job;
} seer_queue;

// n jobs, all to be built, for any device.
void seer_queue_init(seer_queue *queue, uint32_t n, seer_arena *arena);
static inline bool seer_queue_is_done(const seer_queue *queue) {
  return queue->in[SEER_JOB_DONE] == queue->n;
}
// Is there anything that builders have to do, or are doing?
static inline bool seer_queue_is_building(const seer_queue *queue) {
  return queue->in[SEER_JOB_TO_BUILD] + queue->in[SEER_JOB_BUILDING] > 0;
}

// The first one that is to be built is being built now. False: there is none.
bool seer_queue_build(seer_queue *queue, uint32_t *out_job);
// From to build (its kernel was kept) or building. Without code it is done.
void seer_queue_built(seer_queue *queue, uint32_t job, bool has_code);
// The first built one that `device` may have is its now. False: there is none.
bool seer_queue_lease(seer_queue *queue, uint32_t device, uint32_t *out_job);
void seer_queue_done(seer_queue *queue, uint32_t job);
// Who has it is lost. True: it waits for a device again. False: it had gone back once before, and
// is done.
bool seer_queue_return(seer_queue *queue, uint32_t job);
// It never got to who was to build or to time it, and is no part of what became of that: it waits
// again, from building to be built, from leased for a device.
void seer_queue_take_back(seer_queue *queue, uint32_t job);
// `device` takes no more: the next job that only it might have had is done. False: none is left.
// One that is not built yet is asked for again when it is.
bool seer_queue_leave_out(seer_queue *queue, uint32_t device, uint32_t *out_job);

#endif
