// round_robin.c - the controls: every open task in turn, or any of them.

#include "tune/scheduler.h"

static bool next(seer_schedule_state *state, seer_pick *out) {
  for (uint32_t i = 0; i < state->n_task; i++) {
    uint32_t t = (state->n_pick == 0 ? i : state->last.task + 1 + i) % state->n_task;
    if (!seer_task_is_ready(&state->task[t])) continue;
    *out = (seer_pick){.task = t, .n = state->round_size, .reason = "its turn"};
    return true;
  }
  return false;
}

const seer_scheduler_desc seer_scheduler_round_robin = {
    "round-robin", "every task in turn", &seer_traits_control, NULL, next};

// Which tasks get rounds is chance alone; their schedules are searched as under any policy.
static bool next_random(seer_schedule_state *state, seer_pick *out) {
  uint32_t n_open = 0;
  for (uint32_t t = 0; t < state->n_task; t++) n_open += seer_task_is_ready(&state->task[t]);
  if (n_open == 0) return false;
  uint64_t nth = seer_rng_below(&state->rng, n_open);
  uint32_t t = 0;
  while (!seer_task_is_ready(&state->task[t]) || nth-- > 0) t++;
  *out = (seer_pick){.task = t, .n = state->round_size, .reason = "drawn at random"};
  return true;
}

const seer_scheduler_desc seer_scheduler_random = {"random",
    "tasks drawn at random, each open one alike", &seer_traits_control, NULL, next_random};
