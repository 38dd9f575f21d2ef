// ansor.c - Ansor's task scheduler: one warm-up round each, then the task with the steepest
// gradient of the end-to-end latency. Source: Ansor (OSDI'20) 6.2; constants of TVM's
// implementation (alpha 0.2, window 3). Similarity groups do not exist there in practice, so the
// second forward estimate is infinite.

#include <stdio.h>

#include "tune/scheduler.h"

#define ALPHA 0.2
#define WINDOW 3

// Ansor's gradient of the end-to-end latency (<= 0; the smallest is the bottleneck).
static double gradient_of(const seer_task_state *task) {
  if (!seer_task_is_open(task)) return 0;
  double g = task->best_s > 0 ? task->best_s : 1e10;
  double backward = 0;
  if (task->n_history > WINDOW) {
    backward =
        (task->history[task->n_history - 1] - task->history[task->n_history - 1 - WINDOW]) / WINDOW;
  }
  double rounds = task->n_round ? task->n_round : 1;
  double forward = -g / rounds;  // the optimistic next value g - g/t, less g
  return task->weight * (ALPHA * backward + (1 - ALPHA) * forward);
}

// The first task without a round; else the smallest gradient. False when all are dead.
static bool pick_bottleneck(seer_schedule_state *state, seer_pick *out) {
  uint32_t best = UINT32_MAX;
  double steepest = 0;
  for (uint32_t t = 0; t < state->n_task; t++) {
    const seer_task_state *task = &state->task[t];
    if (!seer_task_is_open(task)) continue;
    if (task->n_round == 0) {
      *out = (seer_pick){t, state->round_size, false, "warm-up: no round yet"};
      return true;
    }
    double gradient = gradient_of(task);
    if (best == UINT32_MAX || gradient < steepest) {
      best = t;
      steepest = gradient;
    }
  }
  if (best == UINT32_MAX) return false;
  *out = (seer_pick){.task = best, .n = state->round_size};
  (void)snprintf(
      out->reason, sizeof out->reason, "steepest gradient: %.4g ms a round", -steepest * 1e3);
  return true;
}

const seer_scheduler_desc seer_scheduler_ansor = {"ansor",
    "Ansor: one model, gradient of the end-to-end latency", &seer_traits_published, "all",
    pick_bottleneck};

// FamilySeer's Algorithm 1: after a bottleneck's round, the bottleneck among the *other* members of
// its family gets a round of p * n, searched with the model that was just updated. Gradients are
// fresh for both picks, both rounds count.
static bool pick_familyseer(seer_schedule_state *state, seer_pick *out) {
  const seer_pick *last = &state->last;
  bool was_main = state->n_pick > 0 && !last->is_foreseen;
  bool is_warm = true;
  for (uint32_t t = 0; t < state->n_task; t++) {
    is_warm = is_warm && (state->task[t].n_round > 0 || !seer_task_is_open(&state->task[t]));
  }
  // The round before was a warm-up round if the task then had its first one.
  if (is_warm && was_main && state->task[last->task].n_round > 1) {
    uint32_t n = (uint32_t)(state->foresee * state->round_size + 0.5), best = UINT32_MAX;
    double steepest = 0;
    for (uint32_t t = 0; t < state->n_task; t++) {
      const seer_task_state *task = &state->task[t];
      if (t == last->task || task->family != state->task[last->task].family ||
          !seer_task_is_open(task))
        continue;
      double gradient = gradient_of(task);
      if (best == UINT32_MAX || gradient < steepest) {
        best = t;
        steepest = gradient;
      }
    }
    if (best != UINT32_MAX && n > 0) {
      *out = (seer_pick){.task = best, .n = n, .is_foreseen = true};
      (void)snprintf(out->reason, sizeof out->reason, "foreseen: bottleneck of task %u's relatives",
          last->task);
      return true;
    }
  }
  return pick_bottleneck(state, out);
}

const seer_scheduler_desc seer_scheduler_familyseer = {"familyseer",
    "FamilySeer, Algorithm 1: a bottleneck, then the bottleneck among its relatives",
    &seer_traits_published, NULL, pick_familyseer};
