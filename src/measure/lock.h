// device.h - the machine, while times are taken on it: whoever measures takes it first, and who
// comes second waits until it is free.
//
// One lock for all users of a machine: a file that everybody may open and nobody but its owner
// may replace, /run/lock/familyseer-cpu.lock (or in /dev/shm, /tmp), locked (flock) by a process
// for as long as it lives or until release. It is made readable for all, opened read-only, never
// through a link, and never removed. Containers with folders of their own name another one
// (--device-lock).
//
// Where devices are named (--devices), tunings on other processors may go on: the machine's lock is
// shared then, and each processor that this process may use, for timing or building, has a lock of
// its own beside it (familyseer-cpu.lock.3). Who names no devices waits for all of them.
//
// Threads: one uses a device. Its wait ends when `is_over` says so, which is asked ten times a
// second.
#ifndef SEER_MEASURE_LOCK_H
#define SEER_MEASURE_LOCK_H

#include "base/waiter.h"
#include "measure/measure.h"
#include "setup/context.h"

typedef struct {
  uint32_t n;  // locks held, 0: none
  int fd[1 + CPU_SETSIZE];
} seer_measure_lock;
static inline bool seer_measure_lock_is_held(const seer_measure_lock *lock) { return lock->n > 0; }

// Takes it, for a measurer whose times are of this machine; for others (seer_measure_desc) nothing
// is done. *out_lock is to be released whatever happens. *out_is_over: the waiter gave up. Where
// no lock can be made, and none was named, that is logged, and work goes on: a second tuner would
// not be noticed. Errors: of a file that was named.
SEER_MUST_USE seer_status seer_measure_lock_take(const seer_context *context,
    const seer_measure_desc *measure, const seer_waiter *waiter, seer_measure_lock *out_lock,
    bool *out_is_over);
void seer_measure_lock_release(seer_measure_lock *lock);  // one that is not held: nothing

#endif
