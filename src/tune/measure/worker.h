// worker.h - the worker process: one program, two jobs. A builder turns schedules into objects; a
// runner loads objects, times them, checks their answers and compares two of them. `familyseer
// worker <builder|runner> <in fd> <out fd>`.
#ifndef SEER_TUNE_WORKER_H
#define SEER_TUNE_WORKER_H

#include "tune/measure.h"
#include "tune/measure/wire.h"

// Payload of TASK: this, then the DAG's text.
typedef struct {
  uint32_t id;
  uint32_t space;  // seer_space_kind
  uint64_t
      // of the network's packed weights: timed cold above the last-level cache
      network_weight_bytes;
  uint64_t n_text;
} seer_worker_task;

// BUILD: this. BUILT: seer_worker_built, then message or kernel.
typedef struct {
  uint32_t task;
  seer_schedule schedule;
} seer_worker_build;
typedef struct {
  uint32_t is_ok;
  double seconds;
  uint64_t object_hash;
  char message[200];
} seer_worker_built;

// RUN: this, then the kernel. RAN: seer_measure_result. CHECK: this, the kernel, the default
// kernel. CHECKED: result. COMPARE: this, candidate kernels, baseline kernel; COMPARED:
// seer_measure_ab of each candidate.
typedef struct {
  uint32_t task, n_pairs, n_candidate;
  double best_seconds, min_repeat_s;
} seer_worker_run;

typedef struct seer_operands seer_operands;  // operands.h

// A task as a worker holds it.
typedef struct {
  uint32_t id;
  uint64_t network_weight_bytes;
  seer_dag *dag;
  seer_sketch_list *sketches;
} seer_worker_task_state;

#endif
