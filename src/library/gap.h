// gap.h - does the compiled network take what its tasks took one by one? What a task costs inside
// the network (caches, hand-over between kernels) cannot be seen when it is tuned.
// Errors: those of loading and running the library.
#ifndef SEER_LIBRARY_GAP_H
#define SEER_LIBRARY_GAP_H

#include "choose/plain.h"
#include "front/front.h"
#include "setup/context.h"

typedef struct {
  double latency_s;  // median of whole runs, as `bench` tells it; 0: they could not be timed
  double network_s;  // lower quartile of them
  double tasks_s;  // sum of weight * time of the task's schedule as it was last measured
} seer_gap;

// Runs set `set` of the library in `folder` for about half a second. A gap of more than 10 % is
// said (seer_say) with the steps that cause most of it. choices[n_task] are what was compiled;
// tasks without a time (never measured) count with what they take in the network.
SEER_MUST_USE seer_status seer_gap_find(seer_context *context, const seer_network *network,
    uint32_t set, const seer_choice *choices, const char *folder, seer_gap *out_gap);

#endif
