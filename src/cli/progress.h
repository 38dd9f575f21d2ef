// progress.h - readers of a campaign's events: a live table on a terminal, plain lines elsewhere
// (stderr); JSON lines (stdout).
#ifndef SEER_CLI_PROGRESS_H
#define SEER_CLI_PROGRESS_H

#include <signal.h>

#include "code/artefact.h"
#include "library/verdict.h"
#include "tune/campaign.h"

// Campaign, network and `is_ending` are kept. All functions are called on the thread that runs the
// campaign.
//
// On a terminal the table stands below what was said, and is drawn again in its place, at the width
// that the terminal has then. What is news is said above it: a task that was accepted, notes. Once
// the user has asked for the end (who took the signal has said so below the table), the table stays
// where it is, and lines follow. With --log there are lines only.
typedef struct {
  seer_campaign *campaign;
  const seer_network *network;
  bool is_live;
  const volatile sig_atomic_t *is_ending;  // NULL: nobody asks
  uint32_t n_lines;  // of the table that stands on the terminal
  uint32_t columns;  // that the terminal had when it was drawn
  double last_shown_s;
  bool is_judging;  // the search is over, and winners are held against the untuned ones
  bool is_unheard;  // standard output takes no more events
  struct json_t *done;  // the event, owned; NULL: it has not come
} seer_progress;

// What is said before there is a campaign: to stderr, and as an event where JSON is asked for.
void seer_progress_before(seer_event_kind kind, const char *text, bool is_json);
void seer_progress_init(seer_progress *progress, const seer_context *context,
    seer_campaign *campaign, const seer_network *network, const volatile sig_atomic_t *is_ending);
void seer_progress_on_event(void *user, const seer_event *event);  // user: seer_progress
// The same. Where standard output takes no more, it says so once and stops the campaign. The event
// "done" is kept until seer_progress_done_json, which is to be called: what the library takes is
// known then.
void seer_progress_on_event_json(void *user, const seer_event *event);
void seer_progress_done_json(seer_progress *progress, const seer_verdict_report *verdict);
// An event of somebody else's, with its member "event"; taken.
void seer_progress_put_json(seer_progress *progress, struct json_t *line);
// The last line of all, event "verdict"; none where nothing was compared.
void seer_progress_verdict_json(seer_progress *progress, const seer_verdict_report *verdict);
// The last table and totals, to stderr. `choices` [n_task]: what the library has, with its times in
// the network where it was run; NULL: there is no library.
void seer_progress_summary(
    const seer_progress *progress, const seer_choice *choices, const seer_verdict_report *verdict);

#endif
