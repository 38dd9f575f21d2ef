// state.c - what the state of a task says of it. The contract: scheduler.h.
#include "tune/scheduler.h"

bool seer_schedule_is_warm(const seer_schedule_state *state) {
  for (uint32_t t = 0; t < state->n_task; t++) {
    if (state->task[t].n_round == 0 && seer_task_is_open(&state->task[t])) return false;
  }
  return true;
}

bool seer_task_has_lost_patience(const seer_task_state *task, const seer_policy_traits *traits,
    uint32_t round_size, uint32_t patience) {
  if (traits->counts_rounds) return (task->t - task->t_of_best) * round_size > patience;
  return task->n_trial - task->trial_of_best >= patience;
}

const char *seer_task_state_name(const seer_task_state *task) {
  if (task->is_dead) return "dead";
  if (seer_task_beats_bound(task)) return "beats bound";
  if (seer_task_is_at_bound(task)) return "at bound";
  return seer_task_is_at_optimum(task) ? "optimum" : "";
}
