// recover.h - memory that runs out, and limits on what an input may cost, end one call, not the
// process.
//
// Arenas do not return failures. When one cannot get memory, or when what the call holds or does
// passes a limit, the innermost seer_recover on this thread returns RESOURCE. What it guarantees:
//   - what was handed to seer_recover_own on this thread within the call is released, newest first,
//     and then the arenas that were made within it are destroyed;
//   - arenas that were there before live on; what the call has put into them is theirs, unfinished:
//     it may be freed, and read no more;
//   - nothing else is undone: locks, threads and C++ objects must not be held across a call that
//     may run out. Whoever starts threads joins them outside of it, and a thread's own work stands
//     in a seer_recover of its own.
// Without a seer_recover on the thread the process aborts with a message. Memory that LLVM, XGBoost
// and SQLite take for themselves is not ours to refuse: seer_recover_headroom is asked before.
//
// State is per thread: which calls are open, and what the thread's arenas hold. It decides about
// failures only, never about a result.
#ifndef SEER_BASE_RECOVER_H
#define SEER_BASE_RECOVER_H

#include <signal.h>

#include "base/status.h"

typedef seer_status (*seer_recover_call)(void *user);

// What call(user) returns, or RESOURCE. May be nested, and within a limit.
SEER_MUST_USE seer_status seer_recover(seer_recover_call call, void *user);

// What a call may take. 0: no limit.
typedef struct {
  uint64_t bytes;  // held at a time, by this thread's arenas and what was charged
  uint64_t ops;  // of seer_recover_work
  const char *whose;  // "a model of this size": for the message; borrowed
  const char *raised_by;  // "--model-memory": likewise
  // Once it is not 0, the next seer_recover_work leaves the call, STOPPED. Borrowed; NULL: nothing.
  const volatile sig_atomic_t *stop;
} seer_recover_limits;
SEER_MUST_USE seer_status seer_recover_within(
    const seer_recover_limits *limits, seer_recover_call call, void *user);
// More for all limited calls that are open: an input has turned out to be larger.
void seer_recover_raise(uint64_t bytes, uint64_t ops);

// Work that is done in proportion to what a file says, not to its size. Leaves the call when it is
// more than is left.
void seer_recover_work(uint64_t ops);
uint64_t seer_recover_work_left(void);  // UINT64_MAX without a limit

// RESOURCE when `bytes` more cannot be had now; they are not kept.
SEER_MUST_USE seer_status seer_recover_headroom(uint64_t bytes, const char *what);

// ---- for arenas and others that hold memory
// Before n bytes are asked for; leaves the call when they are over a limit. `what` is for messages.
void seer_recover_take(uint64_t n_bytes, const char *what);
bool seer_recover_can_take(uint64_t n_bytes);  // the same question, for those that can fail
void seer_recover_give(uint64_t n_bytes);
// Memory could not be had: leaves the call, or aborts.
SEER_NORETURN void seer_recover_out_of_memory(uint64_t n_bytes, const char *what);

// A link in the list of what a failing call releases. Lives in the object, kept until disown or
// release; `release` must not run out of memory itself.
typedef struct seer_recover_owned seer_recover_owned;
struct seer_recover_owned {
  seer_recover_owned *newer, *older;
  void (*release)(void *what);
  void *what;
};
// Nothing happens without an open call. Same thread for both. A constructor owns what it makes
// until it returns it: then it is the caller's. Not on the stack, which is gone by then.
void seer_recover_own(seer_recover_owned *owned, void (*release)(void *), void *what);
// The same for arenas: released after all else, which may lie in them.
void seer_recover_own_memory(seer_recover_owned *owned, void (*release)(void *), void *what);
void seer_recover_disown(seer_recover_owned *owned);  // also when it was never owned (zeros)

// Tests: from now on every allocation of an arena on this thread fails once `n` have succeeded;
// UINT64_MAX: none does.
void seer_recover_fail_after(uint64_t n);

#endif
