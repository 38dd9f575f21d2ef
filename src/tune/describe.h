// describe.h - what the C interface (familyseer.h) says of a network that is loaded: inputs,
// outputs, tasks. The command line and the report have words of their own for it.
// Threads: one at a time.
#ifndef SEER_TUNE_DESCRIBE_H
#define SEER_TUNE_DESCRIBE_H

#include <seer/familyseer.h>

#include "front/front.h"

// Zeros: nothing is loaded.
typedef struct {
  uint32_t n_set, n_input, n_output, n_task;
  seer_io_info **input, **output;  // [n_set][n_input], [n_set][n_output]
  seer_tuner_task *task;
} seer_description;

// As the library of `network` will have them; all is in `arena`, or the network's.
void seer_describe(const seer_network *network, seer_arena *arena, seer_description *out);

// The runtime's code for one of ours.
seer_rt_code seer_describe_code(seer_code code);

#endif
