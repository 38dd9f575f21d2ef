// tolerance.h - how far two computations of one network may be apart, by the types that its numbers
// went through: sums in another order differ by f32's roundings, and each rounding to a narrower
// type may then fall on the other side.
#ifndef SEER_TUNE_VERIFY_TOLERANCE_H
#define SEER_TUNE_VERIFY_TOLERANCE_H

#include "front/graph.h"

// Relative to the largest element of `output`. The graph is resolved; any thread.
double seer_verify_tolerance(const seer_graph *graph, seer_val output);

#endif
