// bind.h - inputs whose values are known when a network is compiled: --bind NAME=x.npy, NAME=3 or
// NAME=[1,2]. Private to src/front and the commands that read graphs by themselves.
// Values are in the graph's arena, read, not mapped. After a failure some inputs may be bound: the
// graph is of no use.
#ifndef SEER_FRONT_BIND_H
#define SEER_FRONT_BIND_H

#include "front/graph.h"
#include "setup/context.h"

// Makes a constant of each input that --bind names (graph->bound has them): before the graph is
// resolved. A file's array has the input's type (seer_npy_carrier for types that NumPy lacks) and
// shape; where the model leaves a size open, the array's counts. One number without brackets also
// does for an input of several dimensions that has one element.
// Errors: INVALID for what is no NAME=VALUE, a name that is bound twice or is no input's (with the
// near one and all inputs), another type or shape (what was found, what is allowed), a damaged
// file; also for a file beyond --model-limit. IO, NOT_FOUND of the file.
SEER_MUST_USE seer_status seer_graph_bind(const seer_context *context, seer_graph *graph);

// "axes i64[2] = [0, 1]", long values without what is behind the =; in `arena`.
const char *seer_bound_text(const seer_bound *bound, seer_arena *arena);
#define SEER_BOUND_SHOWN 64  // the most numbers of a value that is written out

#endif
