// seer.c - the default policy: expected gain in end-to-end latency per second of tuning.
// What a task can still gain is bounded by its roofline and by its own learning curve; tasks within
// 3 % of their bound get nothing, unless they are faster than it. Of one that was never measured a
// first look is expected to gain a share of its estimate: so the light ones of a network wait while
// there is more to gain at a heavy one, though not for long, unless something was found for them
// elsewhere. What waits in queues (the records' of other machines) is measured before
// anything else, the heaviest task's first.

#include <math.h>
#include <stdio.h>

#include "tune/scheduler.h"

#define UNCONFIRMED_GAIN 0.03
// Measurements of a task that has none: the untuned one, the best estimates.
#define FIRST_ROUND 8
#define MIN_ROUND 4
#define FIRST_GAIN 0.1  // of what a task's untuned choice is reckoned to take, by a first look
// Of each task that was looked at, on the average: then the heaviest of the others has its turn.
#define ROUNDS_AHEAD 3
#define USUAL_TRIAL_S 0.1  // as long as there was none
#define CURVE_WINDOW 3  // rounds over which progress is observed
// Share of the distance to the bound expected of the second round; falls with 1 / rounds.
#define PRIOR_GAIN 0.35
#define PRIOR_WEIGHT 1.5  // rounds that the prior counts for
#define OVERHEAD_TRIALS 4  // a round's fixed cost, in measurements

// Relative gain that one more round is expected to bring.
static double expected_gain(const seer_task_state *task) {
  if (seer_task_is_at_bound(task)) return 0;
  double headroom = 1 - task->bound_s / task->best_s;
  // A bound that was beaten by a share was wrong by that much: as much may be left to gain.
  if (seer_task_beats_bound(task)) headroom = 1 - task->best_s / task->bound_s;
  // A time at the bound or below that is not confirmed is more likely luck: another round shows.
  if (headroom < UNCONFIRMED_GAIN) headroom = UNCONFIRMED_GAIN;
  double prior = PRIOR_GAIN * headroom / (1 + 0.5 * task->n_round);
  uint32_t n = task->n_history < CURVE_WINDOW + 1 ? task->n_history : CURVE_WINDOW + 1;
  double seen = 0, rounds = 0;
  if (n >= 2) {
    double before = task->history[task->n_history - n].best_s;
    double now = task->history[task->n_history - 1].best_s;
    rounds = n - 1;
    // A best rises again when it turns out to have been luck: that is no loss that goes on.
    seen = before > now ? (1 - now / before) / rounds : 0;
  }
  double gain = (PRIOR_WEIGHT * prior + rounds * seen) / (PRIOR_WEIGHT + rounds);
  return gain < headroom ? gain : headroom;
}

// The best candidate so far of those that are looked through.
typedef struct {
  uint32_t task;  // UINT32_MAX: none
  double gain, rate;  // s of latency; and of those by s of tuning
} prospect;

static void consider(prospect *best, uint32_t t, double gain, double seconds) {
  double rate = gain / (seconds + 1e-9);
  if (rate > best->rate) *best = (prospect){t, gain, rate};
}

// What a trial of anything has taken, for tasks of which nothing is known.
static double usual_trial_s(const seer_schedule_state *state) {
  double spent_s = 0, n = 0;
  for (uint32_t t = 0; t < state->n_task; t++) {
    spent_s += state->task[t].spent_s;
    n += state->task[t].n_trial;
  }
  return n > 0 ? spent_s / n : USUAL_TRIAL_S;
}

static uint32_t first_round(const seer_task_state *task) {
  uint32_t n = task->n_queued + MIN_ROUND;
  return n > FIRST_ROUND ? n : FIRST_ROUND;
}

// Of tasks that were never measured: those in whose queues something waits, or all.
static prospect best_first_look(const seer_schedule_state *state, bool is_queued) {
  prospect best = {.task = UINT32_MAX, .rate = -1};
  double trial_s = usual_trial_s(state);
  for (uint32_t t = 0; t < state->n_task; t++) {
    const seer_task_state *task = &state->task[t];
    if (!seer_task_is_open(task) || task->n_round > 0) continue;
    if (is_queued && task->n_queued == 0) continue;
    double gain = FIRST_GAIN * task->weight * task->estimate_s;
    consider(&best, t, gain, (OVERHEAD_TRIALS + first_round(task)) * trial_s);
  }
  return best;
}

static prospect best_next_round(const seer_schedule_state *state) {
  prospect best = {.task = UINT32_MAX};
  for (uint32_t t = 0; t < state->n_task; t++) {
    const seer_task_state *task = &state->task[t];
    if (!seer_task_is_open(task) || task->n_round == 0 || task->best_s <= 0) continue;
    // What rounds that are away will find is not there to be found once more.
    double gain = expected_gain(task) * task->weight * task->best_s / (1 + task->n_away);
    double trial_s = task->n_trial ? task->spent_s / task->n_trial : USUAL_TRIAL_S;
    consider(&best, t, gain, (OVERHEAD_TRIALS + state->round_size) * trial_s);
  }
  return best;
}

// Of the measured tasks in whose queues something waits, the heaviest: records that were imported
// since the last tuning, for instance.
static prospect heaviest_queued(const seer_schedule_state *state) {
  prospect best = {.task = UINT32_MAX};
  for (uint32_t t = 0; t < state->n_task; t++) {
    const seer_task_state *task = &state->task[t];
    if (seer_task_is_open(task) && task->n_round > 0 && task->n_queued > 0)
      consider(&best, t, task->weight * task->best_s, 1);
  }
  return best;
}

static bool is_anothers_turn(const seer_schedule_state *state) {
  uint32_t n_looked = 0, n_round = 0;
  for (uint32_t t = 0; t < state->n_task; t++) {
    n_looked += state->task[t].n_round > 0;
    n_round += state->task[t].n_round;
  }
  return n_round >= ROUNDS_AHEAD * n_looked;
}

static bool next(seer_schedule_state *state, seer_pick *out) {
  prospect waiting = best_first_look(state, true), first = best_first_look(state, false),
           best = best_next_round(state), queued = heaviest_queued(state);
  bool is_first = first.task != UINT32_MAX && (first.rate >= best.rate || is_anothers_turn(state));
  if (waiting.task != UINT32_MAX || is_first) {
    if (waiting.task != UINT32_MAX) first = waiting;
    const seer_task_state *task = &state->task[first.task];
    *out = (seer_pick){.task = first.task, .n = first_round(task)};
    (void)snprintf(
        out->reason, sizeof out->reason, "first look, %u schedules from elsewhere", task->n_queued);
    return true;
  }
  if (queued.task != UINT32_MAX && (best.task == UINT32_MAX || queued.gain > best.gain)) {
    uint32_t n = state->task[queued.task].n_queued;
    *out = (seer_pick){.task = queued.task, .n = n};
    (void)snprintf(out->reason, sizeof out->reason, "%u schedules from elsewhere to try", n);
    return true;
  }
  if (best.task != UINT32_MAX) {
    *out = (seer_pick){.task = best.task, .n = state->round_size};
    (void)snprintf(out->reason, sizeof out->reason, "expected gain %.3g us, %.3g us per second",
        best.gain * 1e6, best.rate * 1e6);
    return true;
  }
  // Everything measured is at its bound: what has never worked gets another try.
  for (uint32_t t = 0; t < state->n_task; t++) {
    if (!seer_task_is_ready(&state->task[t]) || state->task[t].best_s > 0) continue;
    *out = (seer_pick){.task = t, .n = state->round_size, .reason = "nothing has worked yet"};
    return true;
  }
  return false;
}

const seer_scheduler_desc seer_scheduler_seer = {"seer",
    "expected gain in latency per second of tuning, with a bound", &seer_traits_seer, NULL, next};
