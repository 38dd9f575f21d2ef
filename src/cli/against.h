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

// What ONNX Runtime is started with.
typedef struct {
  const char *python, *model;  // files
  seer_text names;  // a line for each file of an input: "I" and its name in hex; in<k>.npy, from 0
} seer_against_files;
// Writes into `folder` what the inputs of `use` and those that `graph` has bound are, and the
// network where `model` is no file. Errors: NOT_FOUND no such Python; UNSUPPORTED as below.
SEER_MUST_USE seer_status seer_against_write(seer_context *context, const char *python,
    const char *model, const seer_use *use, const seer_graph *graph, const char *folder,
    seer_against_files *out);
// Why the program ended with `exit_status`, not 0, having said `text`: NO_PACKAGE stands for a
// Python without the package.
enum { SEER_AGAINST_NO_PACKAGE = 3 };
SEER_MUST_USE seer_status seer_against_fault(const char *python, int exit_status, const char *text);

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
