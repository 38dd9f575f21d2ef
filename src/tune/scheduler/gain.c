// gain.c - what going on may still bring, whatever the policy: for --until-done.
// Times of a task fall like records among draws: the second half of its trials has brought about as
// much as twice as many would. So what the second half has brought is expected of as many trials
// again. That says nothing of a task whose best has neighbours that nobody has tried: it counts
// with a guess.

#include "tune/scheduler.h"

// Of a task that is not settled: a fifth of a network's latency in such tasks is enough to go on.
#define UNSETTLED_GAIN 0.05
// Without neighbours: trials without a better best after which a task counts as settled; several
// times as many as a best has neighbours.
#define SETTLED_TRIALS 128

static bool is_settled(const seer_task_state *task, const seer_policy_traits *traits) {
  if (task->n_queued > 0) return false;
  if (traits->search->neighbour_share > 0) return seer_task_is_at_optimum(task);
  return task->n_trial - task->trial_of_best >= SETTLED_TRIALS;
}

double seer_task_expected_gain(const seer_task_state *task, const seer_policy_traits *traits) {
  if (!seer_task_is_open(task) || seer_task_is_at_bound(task)) return 0;
  uint32_t half = task->n_trial / 2;
  double before = half > 0 ? task->best_after[half - 1] : 0;
  if (task->best_s <= 0 || before <= 0) return 1;
  double gain = before > task->best_s ? 1 - task->best_s / before : 0;
  if (gain < UNSETTLED_GAIN && !is_settled(task, traits)) gain = UNSETTLED_GAIN;
  double headroom = 1 - task->bound_s / task->best_s;
  return headroom > 0 && gain > headroom ? headroom : gain;
}

double seer_schedule_expected_gain(
    const seer_schedule_state *state, const seer_policy_traits *traits) {
  double total = 0, gain = 0;
  for (uint32_t t = 0; t < state->n_task; t++) {
    const seer_task_state *task = &state->task[t];
    if (task->best_s <= 0 && seer_task_is_open(task)) return 1;
    total += task->weight * task->best_s;
    gain += task->weight * task->best_s * seer_task_expected_gain(task, traits);
  }
  return total > 0 ? gain / total : 0;
}
