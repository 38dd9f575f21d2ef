// whole.h - how a tuning ends: the tuned library is held against the untuned one. Both are run in
// turns, task by task and as a whole, and what is slower there (library/verdict.h) is compiled
// untuned again.
//
// An untuned library that is compiled here is removed at the end.
// Errors: those of compiling, loading and running. The library in `folder` is whole whatever
// happens, but after an error it is one that has not kept the rule. What the records refuse is no
// error: the library is what was decided all the same.
#ifndef SEER_TUNE_WHOLE_H
#define SEER_TUNE_WHOLE_H

#include "choose/plain.h"
#include "front/front.h"
#include "library/alone.h"
#include "library/contest.h"
#include "library/verdict.h"
#include "record/record.h"

typedef struct {
  seer_context *context;
  const seer_network *network;
  seer_records *records;  // NULL: none, `choices` alone say what is compiled
  int64_t campaign;  // of the tuning, in the records
  const char *folder;  // where the library of `choices` lies
  seer_build_kept *kept;  // of builds; NULL: none
  // Both NULL: chosen and built here, into a folder within `folder`
  const seer_choice *untuned;  // [n_task]
  const char *untuned_folder;  // where their library lies
  double seconds;  // for one comparison, and by itself, about; a slow library takes longer
  seer_choice *choices;  // [n_task]; those of tasks that fall back change
  seer_contest_fn *contest;  // NULL: seer_contest_run
  void *user;  // of `contest`
} seer_whole;

// About what a comparison may take in a tuning of `budget_s` (0: no limit of time).
double seer_whole_seconds(double budget_s);
// About what comparing and running alone take then, if nothing falls back, of libraries that take
// so long to run; without building or opening them.
double seer_whole_expected_s(double budget_s, double tuned_s, double untuned_s);
// Compares; where something falls back, refuses in the records what was checked of those tasks (so
// that `compile` makes the same), chooses and builds again, and compares again, at most twice. Says
// so (seer_say). Then runs the library by itself: what each task takes there is what is told of it
// from then on. It goes to the records (origin "network") and to the library, which is built once
// more for it. *out, *out_alone and choices made here in `arena`; where the library could not be
// run with made-up inputs *out_alone is all 0.
//   out_fault  what the records have refused; OK: nothing. Owned by the caller, also after an error.
SEER_MUST_USE seer_status seer_whole_hold(const seer_whole *whole, seer_arena *arena,
    seer_verdict_report *out, seer_alone *out_alone, seer_status *out_fault);

#endif
