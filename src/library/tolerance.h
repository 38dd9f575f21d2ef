// tolerance.h - how far two computations of one network may be apart, by the types that its numbers
// went through: sums in another order differ by f32's roundings, and each rounding to a narrower
// type may then fall on the other side.
// The graphs are resolved and sorted; what is returned is by value id, in `arena`. Any thread.
#ifndef SEER_LIBRARY_TOLERANCE_H
#define SEER_LIBRARY_TOLERANCE_H

#include "front/graph.h"
#include "front/width/kinds.h"

// Relative to the value's largest element. products: what operands of products are rounded to
// (--precision).
double *seer_verify_tolerances(const seer_graph *graph, seer_precision products, seer_arena *arena);
// Values that a rounding decides and no tolerance covers: what is true, or at which place, is one
// or the other (comparisons and ArgMax of floats, whole numbers cut from floats, and what is made
// of these alone).
bool *seer_verify_decided(const seer_graph *graph, seer_arena *arena);

#endif
