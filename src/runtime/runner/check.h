// check.h - judges what a plan says of its device, before anything is done with it, as plan.c does
// with the rest. Texts and binaries are their driver's to judge.
#ifndef SEER_RUNTIME_RUNNER_CHECK_H
#define SEER_RUNTIME_RUNNER_CHECK_H

#include "runtime/plan.h"

// NULL if sound, else what is wrong. Both have passed seer_library_check, and have a device.
//   first  the library's first plan, which has its modules
const char *seer_device_check(const void *first, const void *plan);

#endif
