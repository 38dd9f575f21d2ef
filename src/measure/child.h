// child.h - a worker process as the tuner sees it: started, handed tasks, asked, buried and started
// again. Whatever a worker does, these return; what it was doing is lost, it is not.
// One thread at a time for each child; children of one home are independent.
#ifndef SEER_MEASURE_CHILD_H
#define SEER_MEASURE_CHILD_H

#include "measure/message.h"
#include "setup/context.h"

// What all workers of a tuner have in common; kept by its children.
typedef struct {
  const seer_context *context;
  const char *program, *target_flag;  // a path; "--target=" and the target's text
} seer_child_home;

typedef struct {
  const seer_child_home *home;
  const char *job;  // "builder", "runner"
  seer_os_process process;  // pid 0: not running
  int fd;
  uint32_t seq;  // of the last request
  bool has_begun;  // its own work
  uint8_t *knows;  // by task index: told to this process
  size_t cap_knows;
  uint32_t n_restarts;  // since its last answer
  uint64_t died_ns;  // when the first of these deaths was
} seer_child;

void seer_child_init(seer_child *child, const seer_child_home *home, const char *job);
// Until it says hello; tries again for `patience_ns` where memory or processes are short. At least
// once.
SEER_MUST_USE seer_status seer_child_start(seer_child *child, uint64_t patience_ns);
// Ends it, if it still runs, and says what became of it: "the runner was killed by signal 9".
void seer_child_bury(seer_child *child, char *out, size_t out_bytes);
void seer_child_clear(seer_child *child);  // for good; a cleared one may be cleared again

// Buries and starts it. Errors: DEVICE when it is lost: it does not come up any more, or it has
// died again and again for a long time without one answer.
SEER_MUST_USE seer_status seer_child_restart(seer_child *child);

// Sends task `index` if this process does not know it, then the message. A worker that died while
// it was idle is started again and gets both once more. DEVICE: as restart; else the message did
// not get there, and the child is to be restarted.
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
