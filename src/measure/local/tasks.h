// tasks.h - the tasks that a measurer was told of, and as workers are told of them.
#ifndef SEER_MEASURE_LOCAL_TASKS_H
#define SEER_MEASURE_LOCAL_TASKS_H

#include <stdio.h>

#include "base/map.h"
#include "measure/backends.h"
#include "measure/wire/message.h"

#define SEER_LOCAL_START_PATIENCE_NS 5000000000u  // for memory and processes to be there

typedef struct {
  seer_measure_task task;
  seer_message_task message;
} seer_local_task;

typedef struct {
  seer_map *by_id;
  size_t n, cap;
  seer_local_task *task;
} seer_local_tasks;

static inline uint64_t seer_local_ns_of(double seconds) { return (uint64_t)(seconds * 1e9); }

static inline void seer_local_refuse(
    seer_measure_result *result, seer_measured_class cls, const char *message) {
  result->cls = cls;
  (void)snprintf(result->message, sizeof result->message, "%s", message);
}

#endif
