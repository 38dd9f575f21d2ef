// steps.h - each step of a network held against the DAG's interpreter, on the values that it had in
// a run: what makes a compiled network a reference for another one. Shares with the step the DAG
// (what the operator means) and nothing of what became of it: no schedule, loop, tile, instruction,
// plan or thread. Steps that are functions of the runtime, what is made inside a loop, and what
// takes a value of found size at its bounds are not judged; the verdict counts them.
//
// Memory: what the verdict points to is in `arena` or the network's. One thread.
#ifndef SEER_LIBRARY_STEPS_H
#define SEER_LIBRARY_STEPS_H

#include "front/front.h"

// A value after a run, row-major in ONNX's order, dense at `dim`.
typedef struct {
  const void *data;  // NULL: nobody kept it
  const int64_t *dim;  // the sizes that the run found; NULL: those of the value
} seer_seen_value;
typedef seer_seen_value (*seer_see_value)(void *user, seer_val v);

typedef struct {
  uint32_t n_judged;  // steps
  uint32_t n_runtime, n_unseen;  // not judged: functions of the runtime; others
  double n_elems, n_compared;  // of the results of the judged ones
  // The first step that differs, "" if none: its node, operators, and what was found.
  const char *wrong_node, *wrong_ops, *wrong;
} seer_steps_verdict;

// Of a network that seer_front_load_literal made: orders and pitches are plain. Steps whose results
// take more than their share of `budget` (iterations of the interpreter, in all) are judged by a
// sample of elements: corners, ends of rows, and seeded others. Errors: RESOURCE.
//   flushes_denormals  the run took denormal numbers for zeros: so is what the interpreter reads,
//                      and what it finds below the smallest normal number is as good as zero
SEER_MUST_USE seer_status seer_verify_steps(const seer_network *network, seer_see_value see,
    void *user, double budget, uint64_t seed, bool flushes_denormals, seer_arena *arena,
    seer_steps_verdict *out);

#endif
