// os_fault.h - faults that tests plant in the operating system's calls, the one errno converter,
// and what else the files of base/os share. Planting is for tests alone; outside of src/base only
// seer_os_reach is called.
#ifndef SEER_BASE_OS_FAULT_H
#define SEER_BASE_OS_FAULT_H

#include "base/status.h"

// The nth call from now on of the os.h functions that return a status fails with IO; 0: none. One
// fault only, whichever thread comes to it. For tests.
void seer_os_plant_fault(uint64_t nth);
bool seer_os_fault_hits(void);  // counts one call

// ---- deaths: a process that kills itself (SIGKILL) at a named point
// Points stand where a worker begins something ("run", "check", ...); nothing happens at them
// unless a test's worker has planted a death there.
//   nth   from 1 on: the nth time that this process comes to `point`
//   once  a file: made at the death; where it is there already nobody dies any more. Kept.
// At most SEER_OS_MAX_DEATHS, before the first point is reached. One thread plants and reaches.
#define SEER_OS_MAX_DEATHS 16
// For tests.
void seer_os_plant_death(const char *point, uint64_t nth, const char *once);
// Whoever comes to `point` sleeps there; `point` is kept. One at a time. For tests.
void seer_os_plant_pause(const char *point, uint64_t ns);
// Whoever comes to `point` calls act(user), each time; all are kept. One at a time. For tests.
void seer_os_plant_act(const char *point, void (*act)(void *user), void *user);
void seer_os_reach(const char *point);

// errno value -> status "<name>: <what>: <the system's words>".
SEER_MUST_USE SEER_NEVER_NULL seer_status seer_os_fail(
    int error, const char *what, const char *name);

struct stat;
// Of an open file; INVALID when it is a folder or a special file.
SEER_MUST_USE seer_status seer_os_stat_regular(int fd, const char *path, struct stat *out_info);

#endif
