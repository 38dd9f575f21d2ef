// twins.h - what a device has found out of code: equal code is timed once.
//
// A table is its holder's, emptied by seer_table_destroy. Threads: one at a time.
#ifndef SEER_MEASURE_LOCAL_TWINS_H
#define SEER_MEASURE_LOCAL_TWINS_H

#include "base/table.h"
#include "measure/measure.h"

// What is known of a kernel that has been timed: all that a twin of it needs.
typedef struct {
  double seconds;
  seer_measured_class cls;
  bool is_raced_out;
} seer_twin;

void seer_twins_init(seer_table *twins);
void seer_twins_add(seer_table *twins, uint32_t task, uint64_t object_hash, const seer_twin *first);
bool seer_twins_find(
    const seer_table *twins, uint32_t task, uint64_t object_hash, seer_twin *out_first);
void seer_twin_result(const seer_twin *first, seer_measure_result *out);

#endif
