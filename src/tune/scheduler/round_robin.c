// round_robin.c - every open task in turn: the control.

#include "tune/scheduler.h"

static bool next(seer_schedule_state *state, seer_pick *out) {
  for (uint32_t i = 0; i < state->n_task; i++) {
    uint32_t t = (state->n_pick == 0 ? i : state->last.task + 1 + i) % state->n_task;
    if (!seer_task_is_open(&state->task[t])) continue;
    *out = (seer_pick){t, state->round_size, false, "its turn"};
    return true;
  }
  return false;
}

const seer_scheduler_desc seer_scheduler_round_robin = {
    "round-robin", "", "every task in turn", false, NULL, next};
