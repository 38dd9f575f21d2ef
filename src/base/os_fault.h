// os_fault.h - faults that tests plant in the operating system's calls, and the one errno
// converter. Not for use outside src/base and the tests.
#ifndef SEER_BASE_OS_FAULT_H
#define SEER_BASE_OS_FAULT_H

#include "base/status.h"

// The nth call from now on of the os.h functions that return a status fails with IO; 0: none. One
// fault only.
void seer_os_plant_fault(uint64_t nth);
bool seer_os_fault_hits(void);  // counts one call

// errno value -> status "<name>: <what>: <the system's words>".
SEER_MUST_USE SEER_NEVER_NULL seer_status seer_os_fail(
    int error, const char *what, const char *name);

#endif
