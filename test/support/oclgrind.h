// oclgrind.h - kernels under Oclgrind, which runs OpenCL C item by item and sees races, reads of
// what was never written, accesses that are outside, and barriers that not all come to.
#ifndef SEER_TEST_OCLGRIND_H
#define SEER_TEST_OCLGRIND_H

#include "code/vector/vector.h"

// False: it is not here, and what installs it is printed. Else programs of this process are run by
// it from now on, and `log` (kept) is where it writes.
bool oclgrind_begin(const char *log);

// What is to come of `data`, by plain loops or an interpreter: NULL, or what is wrong.
typedef const char *oclgrind_check(const void *user, void *const *data, seer_arena *arena);

// What it says of a run, in a process of its own: it says so many things and no more in each, and
// writes them when it ends. "": nothing. Fails the test where it does not run, or `check` (NULL:
// none) is not content.
const char *oclgrind_said(const seer_vec_code *code, void *const *data, oclgrind_check *check,
    const void *user, seer_arena *arena);

#endif
