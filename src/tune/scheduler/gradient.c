// gradient.c - gradients as differences of a task's history, and picks by them. TVM's second
// forward estimate, from similar tasks, is infinite here: no operator there sets the tag that makes
// tasks similar, so nothing is ever compared with it.

#include "tune/scheduler/gradient.h"

#include <stdio.h>

#define ALPHA 0.2
#define WINDOW 3  // rounds
#define NO_TIME 1e10  // seconds of a task of which nothing worked so far

static double seconds(double best_s) { return best_s > 0 ? best_s : NO_TIME; }

static double combine(const seer_task_state *task, double backward) {
  double forward = -seconds(task->best_s) / task->t;  // the next value is to be g - g/t
  return task->weight * (ALPHA * backward + (1 - ALPHA) * forward);
}

double seer_gradient_of(const seer_task_state *task) {
  if (!seer_task_is_open(task)) return 0;
  SEER_ASSERT(task->t > 0, "t %g after %u rounds", task->t, task->n_round);
  double backward = 0;
  for (uint32_t k = task->n_history; k-- > 0;) {
    double span = task->t - task->history[k].t;
    if (span < WINDOW) continue;
    backward = (seconds(task->best_s) - seconds(task->history[k].best_s)) / span;
    break;
  }
  return combine(task, backward);
}

double seer_gradient_of_artifact(const seer_task_state *task) {
  if (!seer_task_is_open(task)) return 0;
  SEER_ASSERT(task->t >= 1, "t %g after %u rounds", task->t, task->n_round);
  uint32_t last = (uint32_t)task->t - 1;
  double backward = 0;
  if (last < task->n_history && last >= WINDOW) {
    const seer_task_point *now = &task->history[last], *before = now - WINDOW;
    backward = (seconds(now->best_s) - seconds(before->best_s)) / WINDOW;
  }
  return combine(task, backward);
}

void seer_gradient_update(seer_schedule_state *state, seer_gradient gradient) {
  for (uint32_t t = 0; t < state->n_task; t++) state->task[t].gradient = gradient(&state->task[t]);
}

static bool is_asked(
    const seer_schedule_state *state, uint32_t t, uint32_t family, uint32_t except) {
  const seer_task_state *task = &state->task[t];
  return t != except && seer_task_is_ready(task) &&
      (family == SEER_ANY_FAMILY || task->family == family);
}

uint32_t seer_gradient_steepest(seer_schedule_state *state, uint32_t family, uint32_t except) {
  uint32_t best = UINT32_MAX, n = 0;
  bool is_tie = true;
  for (uint32_t t = 0; t < state->n_task; t++) {
    if (!is_asked(state, t, family, except)) continue;
    n++;
    if (best == UINT32_MAX) best = t;
    double gradient = state->task[t].gradient, least = state->task[best].gradient;
    is_tie = is_tie && !(gradient < least) && !(gradient > least);
    if (gradient < least) best = t;
  }
  if (n < 2 || !is_tie) return best;
  uint64_t nth = seer_rng_below(&state->rng, n);
  uint32_t t = 0;
  while (!is_asked(state, t, family, except) || nth-- > 0) t++;
  return t;
}

bool seer_gradient_pick(seer_schedule_state *state, seer_gradient gradient, seer_pick *out) {
  for (uint32_t t = 0; t < state->n_task; t++) {
    if (state->task[t].n_round > 0 || !seer_task_is_open(&state->task[t])) continue;
    *out = (seer_pick){
        .task = t, .n = state->round_size, .reason = "warm-up: no round yet", .counts_as = 1};
    return true;
  }
  seer_gradient_update(state, gradient);
  uint32_t best = seer_gradient_steepest(state, SEER_ANY_FAMILY, UINT32_MAX);
  if (best == UINT32_MAX) return false;
  *out = (seer_pick){.task = best, .n = state->round_size, .counts_as = 1};
  (void)snprintf(out->reason, sizeof out->reason, "steepest gradient: %.4g ms a round",
      -state->task[best].gradient * 1e3);
  return true;
}
