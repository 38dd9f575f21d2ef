// backends.h - the entries of the table of measurers.
#ifndef SEER_MEASURE_BACKENDS_H
#define SEER_MEASURE_BACKENDS_H

#include "base/map.h"
#include "measure/measure.h"

extern const seer_measure_desc seer_measure_local;  // worker processes on this machine
extern const seer_measure_desc
    seer_measure_fake;  // an analytic formula and seeded noise: tests without hardware
extern const seer_measure_desc seer_measure_fleet;  // other machines, by a broker
extern const seer_measure_desc seer_measure_replay;  // a table of measured times

// Where the task that its caller calls `id` is among those that a measurer, or a worker process,
// was told of. INTERNAL: it was never announced.
SEER_MUST_USE static inline seer_status seer_measure_index_of(
    const seer_map *by_id, uint32_t id, uint64_t *out_index) {
  if (seer_map_get(by_id, id, out_index)) return SEER_OK;
  return SEER_FAIL(INTERNAL, "task %u was never announced", id);
}

#endif
