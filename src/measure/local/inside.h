// inside.h - the local measurer from within. Only files of measure/local/ and their tests include
// it.
//
//   queue     where each candidate is, from a request to its result (queue.h)
//   builders  requests -> objects, by processes that build (builders.h)
//   endpoint  a device that is asked and answers; endpoint_child is a runner process (endpoint.h)
//   places    which processors devices and builders have (places.h)
//   devices   built candidates -> endpoints -> answers (devices.h)
//   twins     what a device has found out of equal code
//   kept      kernels that outlive a batch: witnesses, contenders, what they are compared with
//   question  checks and comparisons
//   local     times; the measurer's life
//
// Memory: a batch's is in `batch`, which the next one empties.
#ifndef SEER_MEASURE_LOCAL_INSIDE_H
#define SEER_MEASURE_LOCAL_INSIDE_H

#include "measure/backends.h"
#include "measure/local/builders.h"
#include "measure/local/devices.h"
#include "measure/local/places.h"
#include "measure/local/twins.h"

// Kernels kept: about 50 KB each; a round has five witnesses, and the finals come back to up to 600
// kernels, task by task (SEER_FINALS_MAX_KERNELS). What was dropped is built again.
#define SEER_LOCAL_MAX_KEPT 640

typedef struct {
  uint64_t key;  // hash of (task, schedule)
  uint64_t used;  // when it was last asked for, in uses of any
  seer_arena *arena;  // holds the kernel
  seer_built build;
} seer_kept_kernel;

// A runner, and what it alone has timed: times of one device say nothing of another's.
typedef struct {
  seer_endpoint_child endpoint;
  seer_table twins;
  double witness_s;  // of the batch in hand; 0: not timed yet
} seer_local_device;

struct seer_measurer {
  const seer_context *context;
  seer_arena *arena, *batch;
  seer_child_home home;
  seer_local_tasks tasks;
  seer_local_places places;
  const seer_measure_pace *pace;  // NULL: it takes what it takes
  seer_builders builders;
  seer_local_device device[SEER_MEASURE_MAX_DEVICES];  // devices.n of them
  seer_devices devices;
  uint32_t n_kept;
  uint64_t n_uses;
  seer_kept_kernel
      kept[SEER_LOCAL_MAX_KEPT];  // what checks and comparisons built, most often the default
  double run_timeout_s;
  seer_timing timing;  // where a request has none of its own
};

// Which task an order is about.
SEER_MUST_USE static inline seer_status seer_local_order_task(
    const seer_measurer *measurer, uint32_t task, seer_endpoint_order *out) {
  uint64_t index;
  SEER_TRY(seer_measure_index_of(measurer->tasks.by_id, task, &index));
  out->index = (size_t)index;
  out->task = &measurer->tasks.task[index].message;
  return SEER_OK;
}

// As seer_measure_desc says.
SEER_MUST_USE seer_status seer_local_check(seer_measurer *measurer,
    const seer_measure_request *request, seer_measured_class *out_class, char *message,
    size_t message_bytes);
SEER_MUST_USE seer_status seer_local_compare(seer_measurer *measurer, uint32_t device,
    uint32_t task, const seer_schedule *contenders, uint32_t n, const seer_schedule *baseline,
    uint32_t n_pairs, seer_measure_ab *out_ab, seer_measure_pair *out_pairs);

// Builds all of n schedules of a task, or takes what was kept; what is seer_built is kept. Where a
// builder died over one it is seer_built once more: these are the task's winners and its untuned
// schedule, and a failure costs more than a trial.
SEER_MUST_USE seer_status seer_kept_build(seer_measurer *measurer, uint32_t task,
    const seer_schedule *schedules, uint32_t n, seer_built *out_builds,
    seer_measure_result *out_results);
// The kernel of a request, if it is kept.
bool seer_kept_find(seer_measurer *measurer, const seer_measure_request *request, seer_built *out);
// What will be asked for again, of a batch that was timed. Behind its end: keeping may drop what is
// kept, but nothing that this batch has used.
void seer_kept_add_near_best(seer_measurer *measurer, const seer_measure_request *requests,
    uint32_t n, seer_built *builds, const seer_measure_result *results);

#endif
