// seer.c - the default policy: expected gain in end-to-end latency per second of tuning.
// What a task can still gain is bounded by its roofline and by its own learning curve; tasks within
// 3 % of their bound get nothing, unless they are faster than it. A winner that was re-fitted to
// relatives waits in their queues and is measured before anything else, a few at a time, in the
// order of what the relatives weigh.

#include <math.h>
#include <stdio.h>

#include "tune/scheduler.h"

#define UNCONFIRMED_GAIN 0.03
// Measurements of a task that has none: the untuned one, winners of relatives, the best estimate.
#define FIRST_ROUND 8
#define MIN_ROUND 4
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

static bool next(seer_schedule_state *state, seer_pick *out) {
  uint32_t best = UINT32_MAX, queued = UINT32_MAX, fresh = UINT32_MAX;
  double best_rate = 0, best_gain = 0, queued_share = 0, fresh_flops = -1;
  for (uint32_t t = 0; t < state->n_task; t++) {
    const seer_task_state *task = &state->task[t];
    if (!seer_task_is_open(task)) continue;
    if (task->n_round == 0) {  // heaviest first: its winners are carried to the others
      double flops = task->weight * task->flops;
      if (flops > fresh_flops) {
        fresh = t;
        fresh_flops = flops;
      }
      continue;
    }
    if (task->best_s <= 0) continue;
    double total = task->weight * task->best_s;
    if (task->n_queued && total > queued_share) {
      queued = t;
      queued_share = total;
    }
    double gain = expected_gain(task) * total;
    double trial_s = task->n_trial ? task->spent_s / task->n_trial : 0.1;
    double rate = gain / ((OVERHEAD_TRIALS + state->round_size) * trial_s + 1e-9);
    if (rate > best_rate) {
      best = t;
      best_rate = rate;
      best_gain = gain;
    }
  }
  if (fresh != UINT32_MAX) {
    const seer_task_state *task = &state->task[fresh];
    uint32_t n =
        task->n_queued + MIN_ROUND > FIRST_ROUND ? task->n_queued + MIN_ROUND : FIRST_ROUND;
    *out = (seer_pick){.task = fresh, .n = n};
    (void)snprintf(
        out->reason, sizeof out->reason, "first look, %u schedules from relatives", task->n_queued);
    return true;
  }
  if (queued != UINT32_MAX && (best == UINT32_MAX || queued_share > best_gain)) {
    *out = (seer_pick){.task = queued, .n = state->task[queued].n_queued, .is_foreseen = true};
    (void)snprintf(out->reason, sizeof out->reason, "%u winners of relatives to try",
        state->task[queued].n_queued);
    return true;
  }
  if (best != UINT32_MAX) {
    *out = (seer_pick){.task = best, .n = state->round_size};
    (void)snprintf(out->reason, sizeof out->reason, "expected gain %.3g us, %.3g us per second",
        best_gain * 1e6, best_rate * 1e6);
    return true;
  }
  // Everything measured is at its bound: what has never worked gets another try.
  for (uint32_t t = 0; t < state->n_task; t++) {
    if (!seer_task_is_open(&state->task[t]) || state->task[t].best_s > 0) continue;
    *out = (seer_pick){.task = t, .n = state->round_size, .reason = "nothing has worked yet"};
    return true;
  }
  return false;
}

const seer_scheduler_desc seer_scheduler_seer = {"seer",
    "expected gain in latency per second of tuning, with a bound", &seer_traits_seer, NULL, next};
