// tuning.h - a tuning of a network on a table of measured times (times.h), and what is known of its
// tasks all along: a campaign with the measurer replay, whose times are exact.
//
// A trial is as the campaign counts it. Memory: a tuning is owned, by create and destroy. Threads:
// one at a time uses a tuning and its context; the table is only read, and any number of tunings
// may read it. Errors: those of the table, of campaigns, of options.
#ifndef SEER_STUDY_TUNING_H
#define SEER_STUDY_TUNING_H

#include "measure/times/times.h"
#include "tune/campaign.h"

#define SEER_TUNING_ALL UINT32_MAX

typedef struct {
  const seer_times *times;  // kept
  const char *path;  // of the table: the measurer reads it itself
  const char *network;
  uint32_t only;  // this one of the network's tasks, as if it were all; SEER_TUNING_ALL: all
  const char *policy, *cost_model;  // cost_model "": the policy's
  uint64_t seed;
  uint32_t trials_a_task;  // all trials over the number of tasks
  uint32_t round_size;  // 0: the policy's
  // Cost models of other networks (learn/pretrained.h); NULL, "": those that come with the program.
  // Policies that go on from none leave it alone, where a tuning by the command refuses.
  const char *pretrained;
} seer_tuning_options;

typedef struct {
  const seer_times_task *of;
  double count;  // how often the network runs it
  seer_times_pool pool;
  double untuned_s, known_s;  // of the untuned choice, of the best that the table knows
  double best_s;  // measured so far; 0: nothing yet
  uint32_t n_trial;
} seer_tuning_task;

typedef struct seer_tuning seer_tuning;
// What is listened with: after the tuning has seen the event itself. A failure is what
// seer_tuning_run returns in the end.
typedef seer_status (*seer_tuning_listener)(
    void *user, seer_tuning *tuning, const seer_event *event);

struct seer_tuning {
  seer_campaign *campaign;
  seer_network *network;
  uint32_t n_task, n_trial;
  seer_tuning_task *task;
  double measuring_s;  // what building and timing the trials took when the table was made
  seer_arena *arena, *scratch;  // scratch: until a round ends
  seer_tuning_listener listener;
  void *user;
  seer_status failure;
};

// The networks that have tasks in the table, in its order. In `arena`.
uint32_t seer_tuning_networks(
    const seer_times *times, seer_arena *arena, const char *const **out_names);
// A network of the table's tasks, without a graph, in `arena`; *out_of: the table's, by task. A
// task without times is left out: a collection that was stopped early has such. Errors: NOT_FOUND
// none is left; INVALID tasks of two spaces.
SEER_MUST_USE seer_status seer_tuning_network(const seer_times *times, const char *name,
    seer_arena *arena, seer_network **out_network, const seer_times_task *const **out_of);
// A context for tunings on the table: of its target, with those options of `from` that are any
// study's, and nothing of the environment. Owned: seer_context_destroy.
SEER_MUST_USE seer_status seer_tuning_context(const seer_times *times, const char *path,
    const seer_context *from, seer_arena *arena, seer_context **out_context);
// `context`: of seer_tuning_context; what the options above name is set in it. INVALID: a task
// whose untuned choice has no time.
SEER_MUST_USE seer_status seer_tuning_create(
    seer_context *context, const seer_tuning_options *options, seer_tuning **out_tuning);
void seer_tuning_destroy(seer_tuning *tuning);  // NULL: nothing
// Until the trials are used up or nothing is left. listener NULL: nobody listens.
SEER_MUST_USE seer_status seer_tuning_run(
    seer_tuning *tuning, seer_tuning_listener listener, void *user);

// What a task takes if tuning ends now: the untuned choice is there without a trial.
static inline double seer_tuning_seconds(const seer_tuning_task *task) {
  return task->best_s > 0 && task->best_s < task->untuned_s ? task->best_s : task->untuned_s;
}

#endif
