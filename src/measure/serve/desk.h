// desk.h - a worker of a fleet from within: what its four threads have in common.
//
//   look   which tunings there are
//   take   jobs from the broker onto the desk: whose turn it is, one ahead of what is being done
//   work   a job -> its answer, by a measurer of this machine
//   post   answers to the broker, and that this worker is alive
//   serve  the worker's life
//
// Each but work has a connection of its own. Work never waits for the broker: a job is done whether
// it can be reached or not.
//
// Memory: a job is malloc'd with its own arena; who takes it off the desk ends it. Threads: all
// fields behind the lock, unless they say otherwise.
#ifndef SEER_MEASURE_SERVE_DESK_H
#define SEER_MEASURE_SERVE_DESK_H

#include <pthread.h>
#include <signal.h>

#include "measure/fleet/hub.h"

typedef struct seer_desk_job {
  seer_arena *arena;
  uint64_t session;
  const char *place, *at;  // the stream, and its entry there
  seer_letter_job letter;
  uint64_t order;  // of a round its number; else that of the task's first comparison here
  const seer_message_task *task;  // take's, for good
  const seer_redis_reply *task_letter;  // take's, before it is read
  const char *task_name;
  seer_letter_answer answer;  // when it is done; in the arena
  bool is_given_back;  // not done, and to be somebody's else
  uint64_t done_ns;  // when
  bool is_posted;  // post's: and the broker's reply is to come
  struct seer_desk_job *next;
} seer_desk_job;

typedef struct {
  uint64_t session;
  uint32_t priority;
  double turn;  // seconds that were worked for it over its priority
} seer_desk_tuning;
#define SEER_DESK_MAX_TUNINGS 64

typedef struct {
  const seer_context *context;
  const char *id;  // constant
  seer_message_hello own;  // constant
  const char *measurer;  // constant
  seer_arena *arena;  // take's
  const volatile sig_atomic_t *is_stopped;  // by a signal: what is in hand is finished
  int leave_fd;  // or left, when this can be read
  pthread_mutex_t lock;
  pthread_cond_t changed;
  seer_desk_job *waiting;  // in the order in which they came
  seer_desk_job *running;
  uint64_t last_task;  // key, of the one that was begun last
  seer_desk_job *done;  // to be posted
  bool is_list_stale;  // tunings are to be looked for at once
  bool is_closed;  // nothing is taken any more
  bool is_over;  // and nothing is being done
  seer_letter_worker letter;  // how it is, as last known
  uint64_t start_ns;
  uint32_t n_tunings;
  seer_desk_tuning tuning[SEER_DESK_MAX_TUNINGS];
} seer_desk;

void seer_desk_init(seer_desk *desk);  // its lock
void seer_desk_clear(seer_desk *desk);
static inline void seer_desk_lock(seer_desk *desk) { pthread_mutex_lock(&desk->lock); }
static inline void seer_desk_unlock(seer_desk *desk) { pthread_mutex_unlock(&desk->lock); }
// With the lock, until something has changed, or for that long.
void seer_desk_wait(seer_desk *desk, uint64_t timeout_ns);
void seer_desk_append(seer_desk_job **list, seer_desk_job *job);  // with the lock
void seer_desk_end_job(seer_desk_job *job);

// NULL: there is none, or none that fits. With the lock.
seer_desk_tuning *seer_desk_find_tuning(seer_desk *desk, uint64_t session);

// Threads, until the desk is closed (look, take) or over (post). `desk` is theirs.
void seer_look(void *desk);
void seer_take(void *desk);
void seer_post(void *desk);

// work is the fourth; it runs on the worker's first thread.
typedef struct seer_work seer_work;
SEER_MUST_USE seer_status seer_work_create(seer_desk *desk, seer_work **out);
void seer_work_destroy(seer_work *work);
// Fills job->answer. Errors: the measurer is lost.
SEER_MUST_USE seer_status seer_work_do(seer_work *work, seer_desk_job *job);

#endif
