// layers.h - what each step of a library leaves in memory, held against what a judge says of the
// values of those names: the first that differs, and the nodes of the file that its kernel stands
// for. What fusing and rewriting have removed is in nobody's memory: it is counted, not judged.
//
// Memory: what the verdict points to is in the library's arena. One thread.
#ifndef SEER_CLI_LAYERS_H
#define SEER_CLI_LAYERS_H

#include "front/graph.h"
#include "front/width/kinds.h"
#include "library/use.h"

// The judge's values, by output of `graph`, a set of the network as its file has it
// (seer_front_load_literal): the model's outputs, then what its nodes make.
typedef struct {
  const seer_graph *graph;
  const seer_io_info *io;  // type and the shape that the value had
  const void *const *data;  // dense, row-major; NULL: the judge does not have it
  seer_precision products;  // what the library's operands of products are rounded to
} seer_expected;

// An element of a value, where it is furthest from what is expected.
typedef struct {
  const char *at;  // "[0,4,2,1] of [2,7,6,6]"
  double found, expected, tolerance;
} seer_worst;

typedef struct {
  // Values of the judge: held against the library's; those among them that a rounding decides
  // (library/tolerance.h); not in the library's memory, with their names.
  uint32_t n_judged, n_decided, n_hidden;
  const char **hidden;
  // Decided by a rounding, and in some elements not as the judge says, up to the first that
  // differs: told, not judged.
  uint32_t n_flipped;
  const char **flipped;
  // The first that differs in the order of execution; name NULL: none
  struct {
    const char *name;
    int32_t step;
    const char *step_name, *step_kind;
    const char *what;  // of a shape that is another one; else NULL, and:
    seer_worst worst;
    // Nodes between the values that were there before, which agree, and this one: the last one
    // makes it.
    uint32_t n_node;
    const seer_node *const *node;
  } wrong;
} seer_layers_verdict;

// Runs the library once, its inputs filled. rtol < 0: by the types.
// Errors: those of the run.
SEER_MUST_USE seer_status seer_layers_judge(seer_use *use, const seer_expected *expected,
    double rtol, double atol, seer_layers_verdict *out);

#endif
