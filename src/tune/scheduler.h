// scheduler.h - which task gets the next round, and how many measurements: a table of policies.
// Policies see counts and times, never schedules; every choice has a reason in words.
//
// Memory: a state and its tasks are the campaign's. Threads: one at a time for each state; tables
// are constant.
#ifndef SEER_TUNE_SCHEDULER_H
#define SEER_TUNE_SCHEDULER_H

#include "base/rng.h"
#include "base/status.h"
#include "learn/feature.h"
#include "learn/learning.h"
#include "measure/timing.h"
#include "search/strategy.h"

// What was known of a task after one of its rounds.
typedef struct {
  double t;  // the task's, then
  double best_s;  // 0: none
} seer_task_point;

// A task as a policy sees it. History entries are made after each round.
typedef struct {
  double weight;  // how often the network runs it; with several sets of shapes: their mean
  double flops;
  // roofline: no schedule is faster, unless one is (seer_task_beats_bound). 0: none is known
  double bound_s;
  double estimate_s;  // of the untuned choice, by the analytic model
  double untuned_s;  // first known time; 0: none yet
  double best_s;  // 0: none yet
  bool is_confirmed;  // best_s was measured often enough to be believed
  uint32_t family;
  uint32_t n_trial, n_round;
  uint32_t n_away;  // of its rounds, those whose results are not there yet
  uint32_t n_queued;  // schedules that wait to be measured before anything else
  bool is_dead;  // its space is exhausted, or everything failed
  bool is_done;  // its own patience ran out
  double spent_s;  // wall time of its rounds
  uint32_t n_history;
  seer_task_point *history;
  // For gradients (scheduler/gradient.h). t: rounds that were spent on it, as far as picks say that
  // they count (seer_pick.counts_as).
  double t, t_of_best;
  double gradient;  // when it was last computed
  uint32_t trial_of_best;  // n_trial when best_s was found
  double optimum_s;  // best_s when the search was last at a local optimum; 0: it never was
  const double *best_after;  // [n_trial]: best_s after each of them
} seer_task_state;

typedef struct {
  uint32_t task;
  uint32_t n;  // measurements
  bool is_foreseen;  // a relative's round after a bottleneck's
  char reason[120];
  double counts_as;  // rounds, in the task's t; 0 of policies without gradients
} seer_pick;

typedef struct {
  uint32_t n_task;
  seer_task_state *task;
  uint32_t round_size;
  double foresee;  // share of a round that a relative gets
  uint32_t n_pick;  // rounds so far, foreseen ones included
  seer_pick last;
  seer_rng rng;
} seer_schedule_state;

// What a policy does besides picking tasks.
typedef struct {
  const seer_search_strategy *search;
  const seer_feature_set *features;  // that cost models see
  const seer_learning *learning;  // how they are fitted
  const char *cost_model;  // their kind (learn/cost.h), where --cost-model does not say
  uint32_t round_size;  // measurements, where --round-size does not say
  const char *usual_grouping;  // where --family does not say; NULL: the option's default
  bool has_one_model;  // all tasks share a cost model, whatever families they are grouped in
  bool learns_over_estimate;  // of the analytic estimate, what that gets wrong (learn/bank.h)
  bool shares_warm_up;  // all samples of the warm-up are every family's
  uint32_t warm_up;  // samples before models are used; 0: a round for each of a model's tasks
  bool learns_beside;  // models are fitted while the next round's candidates are built
  bool is_raced;  // candidates that are clearly slower than the best are dropped early
  bool has_witnesses;  // each round measures the best again, and some that stand near it
  bool follows_drift;  // the machine's speed is measured now and then, and divided out
  bool tries_untuned;  // a task's first measurement is its untuned choice
  bool tries_transfers;  // schedules from records of similar machines and of other shapes
  // As Ansor counts: what fails, and code that was timed before, uses up the budget; a task's
  // patience is counted in rounds (seer_task_has_lost_patience).
  bool counts_rounds;
  const seer_timing *times;  // how candidates are timed; NULL: as options say
} seer_policy_traits;

extern const seer_policy_traits seer_traits_seer;  // all of it
extern const seer_policy_traits seer_traits_control;  // but searches with seer_strategy_control
// Ansor's and FamilySeer's: none of it. A cost model for each family; for all tasks one; one until
// the warm-up is over; for each family, of the groups that FamilySeer's code makes.
extern const seer_policy_traits seer_traits_published, seer_traits_one_model, seer_traits_warm,
    seer_traits_artifact;

typedef struct {
  const char *name, *doc;
  const seer_policy_traits *traits;
  const char *grouping;  // the policy's own; NULL: it has none
  // false: nothing is left to do, until a round comes back that is away
  bool (*next)(seer_schedule_state *state, seer_pick *out_pick);
} seer_scheduler_desc;

extern const seer_scheduler_desc *const seer_scheduler_table[];
extern const size_t seer_scheduler_table_count;

// A name says which policy; a foreign one also says how tasks are grouped and which cost model
// ranks ("sketch.xgb.family_hash": familyseer, op-sequence, xgboost). NULL: it does not say.
typedef struct {
  const char *name;
  const seer_scheduler_desc *policy;
  const char *grouping, *cost_model;
} seer_policy;
extern const seer_policy seer_policy_alias_table[];
extern const size_t seer_policy_alias_table_count;
// Errors: INVALID lists the names.
SEER_MUST_USE seer_status seer_policy_find(const char *name_or_alias, seer_policy *out_policy);

static inline bool seer_task_is_open(const seer_task_state *task) {
  return !task->is_dead && !task->is_done;
}
// Policies that decide by a task's last round wait for it.
static inline bool seer_task_is_ready(const seer_task_state *task) {
  return seer_task_is_open(task) && task->n_away == 0;
}
// A time that is believed is below the bound: that was none, and nothing follows from it.
static inline bool seer_task_beats_bound(const seer_task_state *task) {
  return task->best_s > 0 && task->is_confirmed && task->best_s < task->bound_s;
}
// Within this of its bound nothing is left to find in a task.
#define SEER_TASK_NEAR_BOUND 1.03
static inline bool seer_task_is_at_bound(const seer_task_state *task) {
  return task->best_s > 0 && task->is_confirmed && !seer_task_beats_bound(task) &&
      task->best_s <= SEER_TASK_NEAR_BOUND * task->bound_s;
}
// Within this share of its last local optimum a best needs no other one to be believed in: what is
// left are times that scatter.
#define SEER_TASK_NEAR_OPTIMUM 0.01
// Nothing near the best is better than it (seer_search_is_local_optimum).
static inline bool seer_task_is_at_optimum(const seer_task_state *task) {
  return task->optimum_s > 0 && task->is_confirmed &&
      task->best_s >= (1 - SEER_TASK_NEAR_OPTIMUM) * task->optimum_s;
}
// The share of its best time that a task is expected to gain by as many trials again as it has had:
// what the second half of those has brought, and, unless it is at a local optimum with nothing in
// its queue, a guess if that is more. 0 of one that is not open or at its bound, 1 of one of which
// nothing is known. Under strategies without neighbours many trials without a gain stand for the
// local optimum. For tests.
double seer_task_expected_gain(const seer_task_state *task, const seer_policy_traits *traits);
// The same of the network's latency, as far as its tasks are tuned.
double seer_schedule_expected_gain(
    const seer_schedule_state *state, const seer_policy_traits *traits);
// Every open task has had its first round.
bool seer_schedule_is_warm(const seer_schedule_state *state);
// A round has brought no better best, and `patience` (trials, > 0) is over. Ansor's: (t - t of the
// best) x round size > patience; else that many trials without one.
bool seer_task_has_lost_patience(const seer_task_state *task, const seer_policy_traits *traits,
    uint32_t round_size, uint32_t patience);
// What tables say of a task: "dead", "at bound", "beats bound", "optimum" (a local one), or "".
const char *seer_task_state_name(const seer_task_state *task);

#endif
