// against.h - what ONNX Runtime answers, where it is installed: a judge that shares nothing with
// what it judges but the model file and the inputs.
//
// It is asked through its Python package, by the interpreter `python` (a path, or a name on PATH).
// One thread.
#ifndef SEER_CLI_AGAINST_H
#define SEER_CLI_AGAINST_H

#include "front/graph.h"
#include "library/use.h"

typedef struct {
  const char *version;
  // By output of the graph: type and the shape that came; NULL where ONNX Runtime was not asked.
  seer_io_info *io;
  const void **data;
} seer_against;

// Runs `model` (a file, or a built-in network, which is written out first) on the inputs of `use`
// and the values that `graph` has bound. The graph is a set of the network as its file has it
// (seer_front_load_literal): its outputs are the model's, then what its nodes make, of which
// ONNX Runtime is asked for those of the file if `with_nodes`. `folder`: for files, the caller's to
// remove; what comes is in use->arena.
// Errors: NOT_FOUND without Python or its package onnxruntime, with how to get them; INVALID with
// what ONNX Runtime says; UNSUPPORTED for types that NumPy lacks.
SEER_MUST_USE seer_status seer_against_onnxruntime(seer_context *context, const char *python,
    const char *model, const seer_use *use, const seer_graph *graph, bool with_nodes,
    const char *folder, seer_against *out);

#endif
