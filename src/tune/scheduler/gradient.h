// gradient.h - Ansor's gradient of the network's latency by the rounds of a task, and whose is
// steepest. Of the policies ansor*, familyseer* only.
// Source: Ansor (OSDI'20) 6.2; constants and ties as in TVM's task_scheduler.py.
//
// Pure, but for gradients that are kept in the tasks, and ties, which the state's generator breaks.
#ifndef SEER_TUNE_SCHEDULER_GRADIENT_H
#define SEER_TUNE_SCHEDULER_GRADIENT_H

#include "tune/scheduler.h"

// Seconds of the network per round of the task, <= 0; 0 of a task that is not open. Needs t > 0.
typedef double (*seer_gradient)(const seer_task_state *task);
// weight x (0.2 x what the last three rounds brought, a round, + 0.8 x the optimistic -best / t).
// Three rounds are as many of t: quarter rounds count as quarters.
double seer_gradient_of(const seer_task_state *task);
// As FamilySeer's code has it, whose t leaves foreseen rounds out while the history has them: what
// "the last three rounds" are is read at the places t - 1 and t - 4.
double seer_gradient_of_artifact(const seer_task_state *task);

// Of all tasks, from now on in task->gradient.
void seer_gradient_update(seer_schedule_state *state, seer_gradient gradient);

#define SEER_ANY_FAMILY UINT32_MAX
// The open task with the smallest task->gradient: of `family`, but not `except` (UINT32_MAX: none
// is left out). Where all are equal, any of them, drawn alike. UINT32_MAX: there is none.
uint32_t seer_gradient_steepest(seer_schedule_state *state, uint32_t family, uint32_t except);

// Ansor's scheduler: a round for each task in their order, then for the steepest. False: no task is
// open.
bool seer_gradient_pick(seer_schedule_state *state, seer_gradient gradient, seer_pick *out_pick);

#endif
