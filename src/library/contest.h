// contest.h - a tuned library and the untuned one, run in turns: how long either takes, as a whole
// and task by task. What that means is said by library/verdict.h.
//
// Errors: those of loading and running. One thread, as all commands.
#ifndef SEER_LIBRARY_CONTEST_H
#define SEER_LIBRARY_CONTEST_H

#include "front/front.h"
#include "library/verdict.h"
#include "setup/context.h"

typedef struct {
  seer_context *context;
  const seer_network *network;
  const char *tuned_folder, *untuned_folder;  // a library in each
  // About what it may take; libraries that are slow take longer. A context that is stopped ends it
  // with fewer pairs, or none.
  double seconds;
} seer_contest;

// Of all sets of input shapes together; the array is the caller's.
typedef struct {
  seer_pairs whole;  // of runs
  seer_pairs *task;  // [n_task] of profiles, all steps of a task together
} seer_contest_times;

// Who takes the times: seer_contest_run, or a test that has its own.
typedef seer_status seer_contest_fn(
    const seer_contest *contest, void *user, seer_contest_times *out);
SEER_MUST_USE seer_status seer_contest_run(
    const seer_contest *contest, void *user, seer_contest_times *out);
// About what that takes of `seconds`, for libraries that take so long to run; without opening them.
double seer_contest_expected_s(double seconds, double tuned_s, double untuned_s);

#endif
