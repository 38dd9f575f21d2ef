// child.h - a worker process as the tuner sees it: started, handed tasks, asked, buried and started
// again. Whatever a worker does, these return; what it was doing is lost, it is not.
// One thread at a time for each child; children of one home are independent.
#ifndef SEER_MEASURE_CHILD_H
#define SEER_MEASURE_CHILD_H

#include "measure/wire/message.h"
#include "setup/context.h"

// What all workers of a tuner have in common; kept by its children.
typedef struct {
  const seer_context *context;
  // A path; "--target=" and the target's text; "--runner-key=" and a file's path, for callers.
  const char *program, *target_flag, *key_flag;
  // "--devices=opencl:0", what builders build for; NULL: code is for processors
  const char *device_flag;
  const char *nvrtc_flag;  // "--nvrtc=PATH", for builders of CUDA's; NULL: by its own name
} seer_child_home;

typedef struct {
  const seer_child_home *home;
  const char *job;  // "builder", "runner", "caller"
  const char *address;  // of a caller's runner; NULL: it is no caller
  const char *device_flag;  // of a runner on a device; NULL: home's
  const cpu_set_t *processors;  // that it may use
  seer_os_process process;  // pid 0: not running
  int fd;
  uint32_t seq;  // of the last request
  bool has_begun;  // its own work
  uint8_t *knows;  // by task index: told to this process
  size_t cap_knows;
  uint32_t n_restarts;  // since its last answer
  uint32_t n_attempts;  // to start it, this time
  uint64_t died_ns;  // when the first of these deaths was
  // While it is started:
  bool is_starting;
  uint64_t began_ns, patience_ns, pause_ns;
  uint64_t until_ns;  // it has to have said hello; or, if it is not running, it is tried again
} seer_child;

// Says in a line that workers will not be confined, where they should be and cannot
// (base/confine.h). Once for a home.
void seer_child_tell_confinement(const seer_context *context);
// The program that workers are: named by the option; else this one, or, in a library that somebody
// else's program has loaded, the one beside the library or in the bin folder of its installation.
SEER_MUST_USE seer_status seer_child_find_program(
    const seer_context *context, seer_arena *arena, const char **out);
// `home`, `address` and `processors` are kept.
void seer_child_init(seer_child *child, const seer_child_home *home, const char *job,
    const char *address, const cpu_set_t *processors);
// Buries it and begins to start it: it is up when `rise`, which is called whenever `await` says,
// has said so. Where memory or processes are short it is tried again for a while. Errors: DEVICE
// when it is lost: it does not come up any more, or it has died again and again for a long time
// without one answer.
SEER_MUST_USE seer_status seer_child_restart(seer_child *child);
// What to wait for, and until when, while it is started.
void seer_child_await(const seer_child *child, int *out_fd, uint64_t *out_until_ns);
// Errors: what keeps it from starting; after a restart DEVICE.
SEER_MUST_USE seer_status seer_child_rise(seer_child *child, bool *out_is_up);
// At a stretch; tries again for `patience_ns`, at least once.
SEER_MUST_USE seer_status seer_child_start(seer_child *child, uint64_t patience_ns);
// Ends it, if it still runs, and says what became of it: "the runner was killed by signal 9".
void seer_child_bury(seer_child *child, char *out, size_t out_bytes);
void seer_child_clear(seer_child *child);  // for good; a cleared one may be cleared again

// Sends task `index` if this process does not know it, then the message. Errors: the message did
// not get there (a worker may have died while it was idle), and the child is to be restarted.
SEER_MUST_USE seer_status seer_child_ask(seer_child *child, size_t index,
    const seer_message_task *task, seer_wire_type type, const seer_text *message);
// What a worker does before a request's own work (a fresh one reads the task, fills its operands
// with numbers, loads code) is none of the candidate's time: it has a limit of its own.
#define SEER_CHILD_SET_UP_NS 120000000000u
// What comes next of the last request: that its own work has begun, once at most (*out_has_begun),
// or its answer, which is of the type behind its own. Payload in `arena`. IO: it died; TIMEOUT;
// CORRUPT: neither of those. After each of these it is to be restarted.
SEER_MUST_USE seer_status seer_child_hear(seer_child *child, seer_wire_type type, seer_arena *arena,
    uint64_t timeout_ns, bool *out_has_begun, const void **out_payload, size_t *out_n);

#endif
