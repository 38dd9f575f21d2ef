// streams.h - runs of one library by several threads at the same time, as a server has them: each
// stream is a thread with a session and a pool of its own, on processors of its own, over one
// model.
//
// Memory: what is returned is in the arena of the library that is given.
#ifndef SEER_CLI_STREAMS_H
#define SEER_CLI_STREAMS_H

#include "cli/samples.h"
#include "library/use.h"

typedef struct {
  uint32_t n_streams, n_threads;  // threads of each stream
  seer_samples of_run;  // runs of all streams
  double seconds;  // from the first run's begin to the last one's end
} seer_streams;

// --streams of them with --threads in all (0: a thread a core), cut to whole threads a stream, with
// the set of shapes and the inputs that `use` was given; --warmup, --iterations (of each stream)
// and --duration as for one. Errors: a usage error when there are fewer threads than streams; the
// runtime's.
SEER_MUST_USE seer_status seer_streams_run(
    seer_context *context, const seer_use *use, seer_streams *out);

#endif
