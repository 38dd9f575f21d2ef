// deviations.h - two libraries of one network, run on the same inputs: how far each output of one
// is from the other's, and how that is said.
//
// Memory: what is found is in `arena`. One thread.
#ifndef SEER_LIBRARY_DEVIATIONS_H
#define SEER_LIBRARY_DEVIATIONS_H

#include <jansson.h>

#include "library/deviation.h"
#include "library/use.h"

typedef struct {
  const char *shapes;  // of the set of input shapes, safe to show; NULL: there is only one
  const char *output;  // safe to show
  // Where sizes that data decide are others, nothing can be compared: `deviation` then says that
  // all is apart.
  bool is_shaped;
  seer_deviation deviation;
} seer_output_deviation;

typedef struct {
  uint32_t n;
  seer_output_deviation *output;  // [n] by set, then by output
} seer_deviations;

// Of the libraries in two folders, which have the same sets of input shapes, inputs and outputs; on
// the inputs of -i, --fill and --seed. With several sets: all, or that which the files of -i are
// of. Errors: those of loading and running; UNSUPPORTED where these inputs end a run.
SEER_MUST_USE seer_status seer_deviations_find(seer_context *context, const char *folder,
    const char *expected_folder, seer_arena *arena, seer_deviations *out);
// Of two outputs that lie in memory, of type `io->onnx_dtype` and the sizes in `io`.
seer_deviation seer_deviation_of_output(
    const seer_io_info *io, const void *found, const void *expected);
// That of the largest relative error, the first of several; NULL: there are no outputs.
const seer_output_deviation *seer_deviations_worst(const seer_deviations *deviations);

// "max error 0.012 (0.004 of the largest, 3), mean 0.0021, cosine 0.99998, argmax agrees in 8 of 8
// rows", in `arena`.
const char *seer_deviation_text(const seer_deviation *deviation, seer_arena *arena);
// A line for each output, with "  " before it and "\n" behind.
const char *seer_deviations_text(const seer_deviations *deviations, seer_arena *arena);
// Adds max_error, relative_error, mean_error, cosine, rows, argmax_agrees, not_finite_in_one,
// not_finite_in_both.
void seer_deviation_to_json(const seer_deviation *deviation, json_t *object);
json_t *seer_deviations_json(const seer_deviations *deviations);  // an array
// A real, or where JSON has no such number a text: "nan", "inf", "-inf".
json_t *seer_json_number(double x);

#endif
