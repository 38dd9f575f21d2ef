// campaign.h - a tuning campaign: SEARCH -> SCHEDULER -> MEASURE -> RECORDS, as a stream of events.
// The terminal, the JSON log, the report are readers of that stream.
//
// Memory: a campaign is owned, by create and destroy; what its functions return it keeps, until it
// runs on or ends. Threads: one uses it, and only seer_campaign_stop may come from others.
// Listeners are called on the thread that runs; an event ends with the call.
#ifndef SEER_TUNE_SESSION_H
#define SEER_TUNE_SESSION_H

#include "code/artefact.h"
#include "learn/family.h"
#include "record/record.h"
#include "search/search.h"
#include "tune/scheduler.h"

typedef enum {
  SEER_EVENT_START,  // tasks, families, budget are known
  SEER_EVENT_ROUND,  // a choice was made: pick, reason
  SEER_EVENT_MEASUREMENT,  // one result, stored (one that could not be is not announced)
  SEER_EVENT_ROUND_END,  // counts, estimate
  SEER_EVENT_BEST,  // a task has a new best
  SEER_EVENT_ACCEPT,  // a task's winner was checked and compared with the untuned one
  SEER_EVENT_NOTE,  // something worth a line: drift, dead tasks
  SEER_EVENT_WAIT,  // somebody else has the machine (lock.h), or the file of records
  SEER_EVENT_DONE,
  SEER_EVENT_KIND_COUNT
} seer_event_kind;
const char *seer_event_kind_name(seer_event_kind kind);

typedef struct {
  seer_event_kind kind;
  double elapsed_s;
  uint32_t trials;  // measurements of this campaign so far
  // sum over tasks of weight * best known (the untuned one's estimate where nothing is known); of
  // several sets of input shapes: the mean, each counts the same
  double estimated_s;
  uint32_t task;  // MEASUREMENT, ROUND*, BEST, ACCEPT
  const seer_pick *pick;  // ROUND
  const seer_proposal *proposal;  // MEASUREMENT
  const seer_measure_result *result;  // MEASUREMENT
  const char *device;  // MEASUREMENT: that it was made on; NULL: there is one
  int64_t record;  // MEASUREMENT: its id
  double before_s, after_s;  // BEST, ACCEPT (untuned, winner)
  const seer_search_counts *counts;  // ROUND_END: of the round; DONE: of all
  bool is_accepted;  // ACCEPT
  const char *text;  // NOTE, WAIT, ACCEPT, DONE (why it ended)
} seer_event;

typedef void (*seer_listener)(void *user, const seer_event *event);

typedef struct {
  uint32_t trials;  // 0: no limit
  bool is_none;  // --trials 0: nothing is measured
  double time_s;  // 0: no limit
  double target_latency_s;  // 0: none
  uint32_t early_stopping;  // trials without a better estimate; 0: never
  uint32_t task_early_stopping;
  bool is_until_done;  // until less than SEER_DONE_BELOW is to be expected of going on
} seer_budget;
#define SEER_DONE_BELOW 0.01  // of the network's latency

typedef struct seer_campaign seer_campaign;

// All kept until the campaign is destroyed. `records` may be NULL (nothing is stored, nothing is
// resumed).
SEER_MUST_USE seer_status seer_campaign_create(seer_context *context, const seer_network *network,
    seer_records *records, const char *model_name, seer_campaign **out_campaign);
void seer_campaign_destroy(seer_campaign *campaign);
// About what comes behind a campaign, of a network that takes so long now, and took before.
typedef double (*seer_campaign_end)(void *user, double estimated_s, double untuned_s);
// Before it is run: of a budget of time so much was used already, and what `end_s` (kept, as
// `user`) says is kept for the end; but half of the budget at least is the campaign's.
void seer_campaign_keep_for_end(
    seer_campaign *campaign, double before_s, seer_campaign_end end_s, void *user);
// `user` is kept; at most 8 listeners.
void seer_campaign_listen(seer_campaign *campaign, seer_listener listener, void *user);
const seer_budget *seer_campaign_budget(const seer_campaign *campaign);
const seer_families *seer_campaign_families(const seer_campaign *campaign);
const seer_schedule_state *seer_campaign_state(const seer_campaign *campaign);
// Restores from the records, tunes until the budget is used up or seer_campaign_stop was called
// (also from a signal handler), then checks winners against the untuned one.
// Errors: what kept it from beginning. What went wrong later (records that can no longer be
// written, workers that do not start any more) ended the search early, and is what take_fault
// returns.
SEER_MUST_USE seer_status seer_campaign_run(seer_campaign *campaign);
// Owned by the caller; SEER_OK if all went well, or it was taken before.
SEER_MUST_USE seer_status seer_campaign_take_fault(seer_campaign *campaign);
void seer_campaign_stop(seer_campaign *campaign);  // async-signal-safe
// What to compile: the accepted winners, else the untuned ones. choice[n_task].
void seer_campaign_choices(const seer_campaign *campaign, seer_choice *out_choices);

// Of the campaign in the records; 0 without records.
int64_t seer_campaign_record_id(const seer_campaign *campaign);
// Have all results gone to the records, so that these say what was found?
bool seer_campaign_has_records(const seer_campaign *campaign);
// Of a task's accepted winner, what its pairs with the untuned one showed (n_pairs 0: it took turns
// with another schedule only); NULL: none was accepted, the untuned one ships.
const seer_measure_ab *seer_campaign_winner(const seer_campaign *campaign, uint32_t task);

// What the models think of n schedules of a task now, larger is better: to be held against what
// they take. From a listener at the end of a round, when nobody trains them. *out_is_trained
// false: they know nothing of the task yet, and there are no scores. Errors: those of the models.
SEER_MUST_USE seer_status seer_campaign_score(seer_campaign *campaign, uint32_t task,
    const seer_schedule *schedules, uint32_t n, float *out_scores, bool *out_is_trained);

// Figures for the closing summary.
typedef struct {
  // Wall time; elapsed_s stands still when the campaign has ended. measure_s: a build or a timing
  // was in progress; build_s and run_s: summed over workers.
  double elapsed_s, propose_s, measure_s, build_s, run_s, train_s, check_s;
  double untuned_s, estimated_s;  // sums over tasks
  uint32_t trials, failed[SEER_MEASURED_COUNT], twins, raced_out, restored;
  uint32_t n_optimum, n_tuned;  // tasks at a local optimum; of all that are tuned
  // Of the latency, by as many trials again (seer_schedule_expected_gain).
  double expected_gain;
  uint32_t repeats;  // runs of schedules that had been run before: witnesses and confirmations
  seer_search_counts search;
} seer_campaign_totals;
// Of a device; bias.takes 0 where there is one alone.
typedef struct {
  const char *name;
  bool is_left_out;
  uint32_t n_measured;
  seer_measure_bias bias;
} seer_campaign_device_totals;
// Returns how many there are or were.
uint32_t seer_campaign_get_devices(
    const seer_campaign *campaign, seer_campaign_device_totals out[SEER_MEASURE_MAX_DEVICES]);
// The estimate of one set of input shapes.
double seer_campaign_set_seconds(const seer_campaign *campaign, uint32_t set);
void seer_campaign_get_totals(const seer_campaign *campaign, seer_campaign_totals *out);

#endif
