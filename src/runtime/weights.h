// weights.h - weights.bin, or such bytes in memory, as a model's weights.
#ifndef SEER_RUNTIME_WEIGHTS_H
#define SEER_RUNTIME_WEIGHTS_H

#include "runtime/exec.h"

// Finds the payload by the header and what the model's first plan says of it; sets model->weights,
// and model->owned where it is a copy. Memory beyond the payload's size is never asked for.
// Errors: INVALID where a file and memory are given; NOT_FOUND, IO for the file; CORRUPT: too short
// or long, not weights, another model's, or (verify_hash) other numbers; RESOURCE.
seer_rt_code seer_weights_open(
    seer_model *model, const seer_model_source *source, char *message, size_t message_bytes);

#endif
