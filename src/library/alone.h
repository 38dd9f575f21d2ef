// alone.h - what a library takes here, run by itself, and what of that each of its tasks has. A
// task costs in the network what cannot be seen where it is tuned (caches, hand-over between
// kernels, where memory has come to lie).
#ifndef SEER_LIBRARY_ALONE_H
#define SEER_LIBRARY_ALONE_H

#include "front/front.h"
#include "setup/context.h"

typedef struct {
  // of a run, the median, as `bench` tells it; of several sets of shapes the mean
  double latency_s;
  // [n_task], the caller's. What one step of a task takes: its share of all steps, in profiles, of
  // the latency, so that n_steps * step_s of all tasks add up to the latency, of several sets of
  // shapes to that of all of them, but for steps that are no task's. n_steps: of all sets. A task
  // without a step has 0.
  double *step_s;
  uint32_t *n_steps;
  double distance_ns;  // between the threads that ran it (measure/distance.h)
} seer_alone;

// Opens the library in `folder` and runs all of its sets of shapes, for about `seconds` in all,
// longer where a run is long. Where these inputs lead to a side of an If that could not be built,
// that is said (seer_say), and all is 0. Errors: those of loading and running.
SEER_MUST_USE seer_status seer_alone_time(seer_context *context, const seer_network *network,
    const char *folder, double seconds, seer_alone *out);

// About what that takes of `seconds`, of a library that takes so long to run; without opening it.
double seer_alone_expected_s(double seconds, double run_s);

#endif
