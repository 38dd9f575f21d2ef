// builders.h - requests -> objects, by processes that compile. One that crashes or hangs is
// replaced, at the cost of the candidate it had.
//
// Who drives them hands out what the queue has to build, waits for any (watch.h), takes what has
// come, until nothing is left to build (queue.h).
//
// Memory: answers are in the batch's arena. Threads: one. Errors: what befalls a candidate is data;
// a status only when no builder is left.
#ifndef SEER_MEASURE_LOCAL_BUILDERS_H
#define SEER_MEASURE_LOCAL_BUILDERS_H

#include "measure/child.h"
#include "measure/local/queue.h"
#include "measure/local/tasks.h"
#include "measure/local/watch.h"

#define SEER_LOCAL_MAX_BUILDERS 32

typedef struct {
  seer_child child;
  bool is_gone;  // it could not be started again; the others do its work
  bool is_starting;  // again, which takes its time
  uint32_t job;  // in the queue at hand
  uint64_t deadline_ns;
} seer_builder;

typedef struct {
  const seer_context *context;
  uint32_t n;
  seer_builder builder[SEER_LOCAL_MAX_BUILDERS];
  double timeout_s;
  int leave_fd;  // of the pace
} seer_builders;

typedef struct {
  bool is_built;
  bool is_lost;  // its builder died or hung: nothing is known of the candidate itself
  uint64_t object_hash;
  double build_s;
  seer_kernel *kernel;
} seer_built;

// What is built at a time: by job of `queue` its request, what was built and, where there is
// nothing, why not.
typedef struct {
  const seer_local_tasks *tasks;
  seer_arena *arena;
  seer_queue *queue;
  const seer_measure_request *requests;
  seer_built *builds;
  seer_measure_result *results;
} seer_build_batch;

// One builder is needed; where the system has no room for another, those that are there do the
// work. `home` is kept, and so are `places`: builder k works on processors places[k % n_places].
// timeout_s: of one build.
SEER_MUST_USE seer_status seer_builders_start(seer_builders *builders, const seer_child_home *home,
    uint32_t n, const cpu_set_t *places, uint32_t n_places, double timeout_s);
void seer_builders_clear(seer_builders *builders);

SEER_MUST_USE seer_status seer_builders_hand_out(
    seer_builders *builders, const seer_build_batch *batch);
// Adds the processors on which one works.
void seer_builders_add_busy(const seer_builders *builders, cpu_set_t *busy);
// Adds one entry for each builder.
void seer_builders_watch(const seer_builders *builders, seer_watch *watch);
// `ready`: of the entries that were added.
SEER_MUST_USE seer_status seer_builders_take(
    seer_builders *builders, const seer_build_batch *batch, const bool *ready);
// All of it, and nothing else meanwhile.
SEER_MUST_USE seer_status seer_builders_build(
    seer_builders *builders, const seer_build_batch *batch);

#endif
