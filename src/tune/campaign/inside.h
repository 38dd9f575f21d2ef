// inside.h - a campaign from within: what its rooms share. Only files of tune/campaign/ and their
// tests include it.
//
// A room has one idea, a file and a header; it calls those above it here, and no others:
//   events    the clock, the listeners, what went wrong on the way
//   store     how records are written
//   known     what is known of each task: from a result to the best, the estimate and the choice
//   budget    what a campaign may take, and why it ends
//   drift     how the machine's speed moves
//   setup     options, a network, records -> a campaign (campaign.h: create, destroy)
//   restore   what records say -> what is known, and what is tried first
//   round     one pick of the scheduler -> results
//   plan      which tasks have finals, and the time that is kept for these
//   accept    finals -> winners; accept_shared: of tasks that read the same weights
//   campaign   all of it in order (campaign.h: run)
//
// Memory: what has no other owner is in the campaign's arena, or in `round`, which each round
// empties.
#ifndef SEER_TUNE_SESSION_INSIDE_H
#define SEER_TUNE_SESSION_INSIDE_H

#include <signal.h>

#include "base/recover.h"
#include "tune/campaign.h"

typedef struct {
  seer_sketch_list *sketches;
  seer_search *search;
  seer_schedule untuned;  // what ships if nothing beats it
  int64_t workload;
  size_t cap_history, cap_best_after;
  double *best_after;  // the state's
  bool is_tuned;  // selected by the user
  // The winner of the records, while it has not lost its place (accept.h).
  bool has_holder, is_holder_trusted;  // trusted: its pairs are another machine's
  seer_schedule holder;
  seer_measure_ab holder_ab;
  bool is_accepted, is_decided;
  seer_schedule winner;
  seer_measure_ab winner_ab;  // n_pairs 0: not against the untuned one
} seer_campaign_task;

// events.h
typedef struct {
  uint64_t start_ns, end_ns;  // end_ns: 0 while it runs
  // that count as gone by and were not waited for (seer_measure_desc.set_pace)
  double reckoned_s;
  seer_status fault;  // the first one that was survived
  bool is_device_lost;
  size_t n_listener;
  struct {
    seer_listener call;
    void *user;
  } listener[8];
} seer_campaign_events;

// store.h
typedef struct {
  seer_records *records;  // NULL: nothing is stored, or not any more
  int64_t target_id, campaign_id;
} seer_campaign_store;

// known.h: what learns from results.
typedef struct {
  seer_families models;  // whose tasks share a cost model: the campaign's families, or one of all
  seer_bank *bank;
  const char *loaded_note;  // what --load-model brought; NULL: nothing was loaded
  uint32_t model_to_train;  // of the last round's task
} seer_campaign_learning;

// What takes times.
typedef struct {
  const seer_measure_desc *desc;
  const char *argument;
  seer_measure_pace pace;  // that a measurement takes at least
  seer_measurer *measurer;
  seer_measure_facts facts;  // as of the last batch
  uint32_t n_measured[SEER_MEASURE_MAX_DEVICES];  // results of each
} seer_campaign_device;

// round.h: rounds whose results are not there yet.
typedef struct {
  uint32_t n, n_trials;  // trials: that they may bring
  struct seer_campaign_flight *first;
} seer_campaign_away;

// drift.h
typedef struct {
  double reference_s;  // of the schedule that it is told by, at the start, at home
  double now[SEER_MEASURE_MAX_DEVICES];  // times what it took then, by device
  bool is_known[SEER_MEASURE_MAX_DEVICES];  // it was asked for; what was not timed counts as 1
  bool is_timed[SEER_MEASURE_MAX_DEVICES];
  uint32_t n_seen[SEER_MEASURE_MAX_DEVICES];  // rounds that have moved it
  uint64_t taken_ns;  // when it was measured last
  double wait_s;  // until it is measured again
} seer_campaign_drift;

struct seer_campaign {
  seer_recover_owned owned;  // while it is made
  seer_context *context;
  const seer_network *network;
  const seer_target *target;
  seer_arena *arena, *round;
  const seer_scheduler_desc *policy;
  seer_families families;  // whose tasks are relatives
  seer_space_kind space;
  seer_budget budget;
  struct {
    double before_s;
    seer_campaign_end end_s;  // NULL: all of the budget is the campaign's
    void *user;
  } kept;
  seer_campaign_task *task;
  seer_schedule_state state;
  seer_campaign_totals totals;
  volatile sig_atomic_t is_stopped;
  seer_campaign_events events;
  seer_campaign_store store;
  seer_campaign_learning learning;
  seer_campaign_device device;
  seer_campaign_drift drift;
  seer_campaign_away away;
};

#endif
