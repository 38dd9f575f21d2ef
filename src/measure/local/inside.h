// inside.h - the local measurer from within: builders, kernels that are kept, the runner. Only
// files of measure/local/ include it.
//
//   builders  requests -> objects, by processes that build
//   kept      kernels that outlive a batch: witnesses, contenders, what they are compared with
//   local     the runner's times, checks and comparisons; the measurer's life
//
// Memory: a batch's is in `batch`, which the next one empties.
#ifndef SEER_MEASURE_LOCAL_INSIDE_H
#define SEER_MEASURE_LOCAL_INSIDE_H

#include "base/map.h"
#include "base/table.h"
#include "measure/backends.h"
#include "measure/child.h"

#define SEER_LOCAL_MAX_BUILDERS 32
#define SEER_LOCAL_START_PATIENCE_NS 5000000000u  // for memory and processes to be there
// Kernels kept: about 50 KB each; a round has five witnesses, and the finals come back to up to 600
// kernels, task by task (SEER_FINALS_MAX_KERNELS). What was dropped is built again.
#define SEER_LOCAL_MAX_KEPT 640

typedef struct {
  seer_child child;
  bool is_gone;  // it could not be started again; the others do its work
  uint32_t request;  // index in the batch at hand
  uint64_t deadline_ns;
} seer_builder;

typedef struct {
  seer_measure_task task;
  seer_message_task message;
} seer_local_task;

typedef struct {
  bool is_built;
  bool is_lost;  // its builder died or hung: nothing is known of the candidate itself
  uint64_t object_hash;
  double build_s;
  seer_kernel *kernel;
} seer_built;

typedef struct {
  uint64_t key;  // hash of (task, schedule)
  uint64_t used;  // when it was last asked for, in uses of any
  seer_arena *arena;  // holds the kernel
  seer_built build;
} seer_kept_kernel;

struct seer_measurer {
  const seer_context *context;
  seer_arena *arena, *batch;
  seer_child_home home;
  seer_map *by_id;
  size_t n_task, cap_task;
  seer_local_task *task;
  uint32_t n_builder;
  seer_builder builder[SEER_LOCAL_MAX_BUILDERS];
  seer_child runner;
  uint32_t n_kept;
  uint64_t n_uses;
  seer_kept_kernel
      kept[SEER_LOCAL_MAX_KEPT];  // what checks and comparisons built, most often the default
  seer_table twins;  // hash of (task, object) -> twin: the first result
  double build_timeout_s, run_timeout_s;
  seer_timing timing;  // where a request has none of its own
};

static inline uint64_t seer_local_ns_of(double seconds) { return (uint64_t)(seconds * 1e9); }
// INTERNAL: the task was never announced.
SEER_MUST_USE seer_status seer_local_index_of(
    const seer_measurer *measurer, uint32_t id, uint64_t *out_index);
void seer_local_refuse(seer_measure_result *result, seer_measured_class cls, const char *message);

// One builder is needed; where the system has no room for another, those that are there do the
// work.
SEER_MUST_USE seer_status seer_builders_start(seer_measurer *measurer, uint32_t n);
// Builds requests that have neither a kernel nor a result yet. A status only when no builder is
// left.
SEER_MUST_USE seer_status seer_builders_build(seer_measurer *measurer,
    const seer_measure_request *requests, uint32_t n, seer_built *builds,
    seer_measure_result *results);

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
