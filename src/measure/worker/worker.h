// worker.h - the worker process: one program, several jobs. A builder turns schedules into objects;
// a runner loads objects, times them, checks their answers and compares them. `familyseer worker
// <builder|runner|device> <fd of its socket>`, the last for what has a driver; runners on boards
// are a program of their own, and a third job speaks for them here (measure/remote/).
//
//   loop     tasks, and requests one after the other, whatever the job
//   build    a builder's requests (loads a compiler)
//   run      a runner's requests
//   runner   times, checks, compares
//   on_device  the same on a device
//   samples, judge  what both do alike
//   operands what kernels read and write meanwhile
//
// One thread.
#ifndef SEER_MEASURE_WORKER_WORKER_H
#define SEER_MEASURE_WORKER_WORKER_H

#include "measure/measure.h"
#include "measure/wire/wire.h"

// A task as a worker holds it.
typedef struct {
  uint32_t id;
  uint64_t network_weight_bytes;
  seer_dag *dag;
  seer_sketch_list *sketches;
  const char *refusal;  // why it cannot be worked on; NULL: it can
} seer_worker_task_state;

typedef struct seer_worker_loop seer_worker_loop;

// A request; its payload is in `arena`, which the next one empties.
typedef struct {
  seer_worker_loop *loop;
  seer_wire_type type;
  const void *payload;
  size_t n_bytes;
  seer_arena *arena;
} seer_worker_request;

// `open` makes what the requests are answered with.
typedef struct {
  const char *name;  // "builder"
  seer_status (*open)(seer_context *context, seer_worker_loop *loop, void **out_state);
  void (*close)(void *state);
  // Answers into *out. CORRUPT: it is none of this job's, or cannot be read.
  seer_status (*answer)(void *state, const seer_worker_request *request, seer_text *out);
} seer_worker_job;
extern const seer_worker_job seer_worker_builder, seer_worker_runner, seer_worker_device;

// Until the socket `fd` ends, which is no error. Confined by the context's option, but for what is
// open. A request that fails answers with a message; one that crashes ends the process, which the
// parent notices. A message that is not what it should be ends it too: nothing that comes behind it
// on the socket could be believed.
SEER_MUST_USE seer_status seer_worker_serve(
    seer_context *context, const seer_worker_job *job, int fd);

// ---- for jobs
// INTERNAL: it was not told of, or is refused.
SEER_MUST_USE seer_status seer_worker_find_task(
    const seer_worker_loop *loop, uint32_t id, const seer_worker_task_state **out);
// The parent's limits for the request in hand count from here. (Where it is gone, the answer finds
// that out.)
void seer_worker_tell_begun(void *loop);

#endif
