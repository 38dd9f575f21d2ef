// roofline.h - a bound for a task: what no schedule of its DAG gets below on the target, of any
// kind.
// Each term leaves out what a schedule might do without, so it is low rather than high: the bound
// says when to stop, and a bound that is too high stops too early.
// All is pure: safe from any thread.
#ifndef SEER_LEARN_ROOFLINE_H
#define SEER_LEARN_ROOFLINE_H

#include "dag/dag.h"
#include "setup/target.h"
#include "space/sketch.h"

// Bandwidths are measured at one moment. Where others use the same caches, a better one comes:
// MobileNetV2's matrix of 5 MB came from L3 1.16 times as fast (test_property_bounds).
#define SEER_ROOFLINE_BEST_BANDWIDTH 1.25

typedef struct {
  double compute_s;  // operations at peak on all threads
  // Bytes that cannot have stayed in L1, in L1 and L2, in any cache. Of a GPU the last one alone:
  // what L2 cannot have kept, at the memory's rate
  double level_s[3];
  double launch_s;  // comes to all of it; of a GPU: one kernel behind another
} seer_roofline;

// What bounds one run of `dag` that follows others.
//   dag         borrowed, verified
//   target      threads, peak [GFLOP/s of a thread], caches [bytes], bandwidths [GB/s of a thread];
//               of a GPU processors, clock, FMAs a cycle, tensor cores, L2, memory, a launch
//   cold_bytes  weights that are read between two runs, this task's included (0: only its own)
// For tests.
seer_roofline seer_roofline_build(
    const seer_dag *dag, const seer_target *target, double cold_bytes);
// The largest of its terms, bytes at the best bandwidths (of a GPU at the published one, where its
// rates are those), and the launch.
double seer_roofline_seconds(const seer_dag *dag, const seer_target *target, double cold_bytes);
// The same of a task, whose schedules may be of any of its formulations: the least of theirs.
double seer_roofline_task_seconds(const seer_dag *dag, const seer_sketch_list *sketches,
    const seer_target *target, double cold_bytes);

#endif
