// tune.h - a tuning: from a network to a library that ships. What the command `tune` and the C
// interface (familyseer.h) both do, so that what is promised of one holds for both:
//
//   the machine is free    one tuner at a time measures on it (measure/lock.h)
//   its speeds are known   (record/speeds.h)
//   which precision        (precision.h)
//   search and finals      a campaign (campaign.h); what was found is in the records
//   choose, build          as `compile` would from these records (choose/choose.h)
//   never slower           the library takes turns with the untuned one, as a whole and task by
//                          task; what is slower there is compiled untuned again (whole.h)
//   what a run takes       by itself, and each task in it; beside the sum of the tasks alone
//   within tolerance       against f32, where the precision is another one (precision.h)
//   in its place           an older library is replaced when all has been judged
//
// Where times are none of this machine (--measure fake, replay) nothing is compared by time.
//
// Memory: what comes out is in the arena of `precise`, but for the campaign. One thread; a campaign
// may be stopped from others. What is found on the way is said (seer_say).
#ifndef SEER_TUNE_TUNE_H
#define SEER_TUNE_TUNE_H

#include "library/contest.h"
#include "library/verdict.h"
#include "tune/campaign.h"
#include "tune/precision.h"

// What somebody wants to hear, and to say. All may be NULL; `user` is theirs.
typedef struct {
  void *user;
  // Asked while the machine is waited for: is it to end?
  bool (*is_over)(void *user);
  // WAIT, and DONE where it ended before there was a campaign.
  void (*before)(void *user, seer_event_kind kind, const char *text);
  // A campaign is about to run: time to listen to it, and to know whom to stop.
  void (*begin)(void *user, seer_campaign *campaign);
  // It has run, or could not: from here on nothing can be stopped.
  void (*end)(void *user);
} seer_tuning_watch;

typedef struct {
  seer_context *context;
  const char *model;  // what the records call the network
  seer_precise *precise;  // opened; what it takes is tuned
  seer_records *records;  // NULL: nothing is known, and nothing kept
  const char *folder;  // where the library goes; NULL: none is made, and none judged
  seer_contest_fn *contest;  // whole.h; NULL: that of times of this machine
  void *contest_user;
  seer_tuning_watch watch;
} seer_tuning_request;

typedef struct {
  seer_campaign *campaign;  // owned: seer_tuning_clear; NULL: none was begun
  bool was_run;  // the campaign, to its end
  bool is_written;  // the library, into its folder
  seer_choice *choices;  // [n_task], of precise->taken: what it has; NULL: nothing is known
  seer_verdict_report verdict;  // text "": not compared
  // What went wrong in the campaign; it went on to its end all the same. Owned, also after an
  // error: who takes it sets it to SEER_OK.
  seer_status fault;
} seer_tuning;

// Errors: what kept it from beginning, or from ending with a library that was judged: then none is
// written, and an older one stays. Records that refuse at the end: the library is written all the
// same (is_written).
SEER_MUST_USE seer_status seer_tune_network(const seer_tuning_request *request, seer_tuning *out);
void seer_tuning_clear(seer_tuning *tuning);

#endif
