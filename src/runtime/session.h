// session.h - what a session holds: shared by bind.c (where the caller's data lie), exec.c (what
// is done with it) and observe.c (how long that takes, what it leaves in memory).
#ifndef SEER_RUNTIME_SESSION_H
#define SEER_RUNTIME_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/exec.h"

// One plan's buffers: where its arguments lie.
typedef struct {
  const seer_rt_set *of;
  uint32_t batch;  // 0: it has a plan; else the size of a range that is run by others' plans
  void **buffer;  // by plan argument; none with a batch
  uint32_t *n_parts;  // by plan phase
  const void **bound;  // by input, then output: what the caller gave
  bool *is_bound;
  uint32_t *by_address;  // inputs and outputs, in the order of `bound` at the last check
  bool is_checked;  // nothing was bound since the bindings were found to be sound
  bool has_run;
  uint8_t *scratch;
  uint64_t scratch_stride;
  uint8_t *own;  // what thread 0 has for images of its own; the others' follow
  uint64_t own_stride;
} seer_bound_plan;

// What steps of stretches took in one run, by step: seconds, and those that threads worked.
typedef struct {
  double *seconds, *busy;
  // [step * n_threads + thread], where images run apart
  double *of_thread;
  uint32_t n_threads;
} seer_image_times;

struct seer_session {
  const seer_model *model;
  seer_pool *pool;  // what runs work with: the caller's, or `capped`
  seer_pool *given;  // the caller's
  seer_pool *capped;  // owned; NULL: all threads of `given` may work
  double limit_s;  // of a run; 0: none
  double until_s;  // while a run goes on that has a limit; else 0
  uint8_t *memory;  // of the plan that needs most; they take turns
  uint64_t n_memory_bytes;
  seer_bound_plan *plan;  // by set of shapes, then by size of a range
  uint32_t n_plan;
  seer_bound_plan *selected;
  // 1 while a thread is inside. In a page of its own: what a thread of the parent was doing at a
  // fork, nobody does in the child.
  _Atomic uint32_t *in_use;
  _Atomic uint32_t in_use_here;  // where there is no such page
  seer_pool_times *times;  // NULL, but while steps are timed: filled by kernels
  seer_image_times *image_times;  // likewise, by what runs image by image
  seer_watcher watcher;  // NULL, but while a run is watched
  void *watcher_user;
  // where the call that is inside says what is at fault
  char *message;
  size_t message_bytes;
  struct seer_session_on_device *on_device;  // the runner's
};

// A session is one thread's at a time: true if it was free and is the caller's now, until it
// leaves. False: seer_session_busy says so.
bool seer_session_enter(seer_session *session, char *message, size_t message_bytes);
void seer_session_leave(seer_session *session);
seer_rt_code seer_session_busy(char *message, size_t message_bytes);
// `code`, with the formatted text where the call that is inside wants to have it.
#define SEER_SESSION_REFUSE(session, code, ...) \
  seer_rt_fail(code, (session)->message, (session)->message_bytes, __VA_ARGS__)

// Whether the selected plan may run: everything is bound, and no output shares memory with an input
// or another output. Says what is not so in the session's message. Cost: nothing, unless something
// was bound since the last time; then about linear in the number of inputs and outputs.
seer_rt_code seer_session_ready(seer_session *session);

// Step i of the selected plan, with all that it runs if it is a loop or a branch. Between
// seer_pool_begin and seer_pool_end of the session's pool, everything before it done.
seer_rt_code seer_session_run_step(seer_session *session, uint32_t i);
// Shows the session's watcher what step i, which has run, has left. Errors: the runner's.
seer_rt_code seer_session_show(seer_session *session, uint32_t i);
// Once, with all that is bound; the caller is inside.
seer_rt_code seer_session_run_once(seer_session *session);
// The step after step i and all that it runs.
uint32_t seer_session_step_after(const seer_rt_set *of, uint32_t i);

#endif
