// worker.h - the worker process: one program, two jobs. A builder turns schedules into objects; a
// runner loads objects, times them, checks their answers and compares them. `familyseer worker
// <builder|runner> <fd of its socket>`.
// One thread.
#ifndef SEER_MEASURE_WORKER_WORKER_H
#define SEER_MEASURE_WORKER_WORKER_H

#include "measure/measure.h"

// A task as a worker holds it.
typedef struct {
  uint32_t id;
  uint64_t network_weight_bytes;
  seer_dag *dag;
  seer_sketch_list *sketches;
  const char *refusal;  // why it cannot be worked on; NULL: it can
} seer_worker_task_state;

#endif
