// plan.c - what is known of tasks -> a list of finals and what they take. The contract: plan.h.
#include "tune/campaign/plan.h"

#include <math.h>
#include <stdlib.h>

#include "tune/campaign/budget.h"
#include "tune/campaign/inside.h"

// Reserved at the end of a time budget for holding winners against untuned ones: what their finals
// take, or as long as they need to outlast slow phases of the machine, which are seconds; at most a
// share of the budget, unless the least that finals can be takes longer, and then at most a larger
// one.
#define ACCEPT_LEAST_S 10.0
#define ACCEPT_WANTED 0.05  // of the budget
#define ACCEPT_SHARE 0.2
#define ACCEPT_MOST 0.4
// Without a budget of time: of a trial, which takes some 0.05 s (measured 2026-11).
#define ACCEPT_S_PER_TRIAL 0.01
#define BUILD_S 0.05  // of a kernel, where none has been built yet

typedef struct {
  uint32_t task;
  double share;
} heavy;

static int by_share(const void *a, const void *b) {
  const heavy *x = a, *y = b;
  if (x->share != y->share) return x->share > y->share ? -1 : 1;
  return (x->task > y->task) - (x->task < y->task);
}

static uint32_t list_tasks(const seer_campaign *s, heavy *order) {
  uint32_t n = 0;
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    const seer_task_state *state = &s->state.task[t];
    // Decided: before something went wrong.
    if (s->task[t].is_decided || !s->task[t].is_tuned) continue;
    if (state->best_s > 0 || s->task[t].has_holder)
      order[n++] = (heavy){t, state->weight * state->best_s};
  }
  qsort(order, n, sizeof(heavy), by_share);
  return n;
}

// What the finals of those tasks are planned with.
static seer_finals_entry *list_entries(
    const seer_campaign *s, const heavy *order, uint32_t n, seer_arena *arena) {
  seer_finals_entry *entries = SEER_NEW_ARRAY(arena, seer_finals_entry, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    const seer_campaign_task *task = &s->task[order[i].task];
    seer_schedule top[SEER_FINALS_MAX];
    uint32_t n_top = seer_search_top(task->search, SEER_FINALS_MAX, top, NULL);
    n_top += task->has_holder;
    entries[i] = (seer_finals_entry){.seconds = s->state.task[order[i].task].best_s,
        .share = order[i].share,
        .is_confirmed = seer_measure_devices_left(&s->device.facts) > 1,
        .n_have = n_top < SEER_FINALS_MAX ? n_top : SEER_FINALS_MAX};
  }
  return entries;
}

// Of one kernel, as the builders get on together.
static double build_seconds(const seer_campaign *s) {
  if (s->totals.trials == 0) return BUILD_S;
  return s->totals.build_s / s->totals.trials / s->device.facts.n_builders;
}

seer_finals_list seer_campaign_list_finals(const seer_campaign *s, seer_arena *arena) {
  heavy *order = SEER_NEW_ARRAY(arena, heavy, s->network->n_task + 1);
  seer_finals_list list = {.n = list_tasks(s, order), .build_s = build_seconds(s)};
  list.entry = list_entries(s, order, list.n, arena);
  list.task = SEER_NEW_ARRAY(arena, uint32_t, list.n + 1);
  for (uint32_t i = 0; i < list.n; i++) list.task[i] = order[i].task;
  return list;
}

double seer_campaign_acceptance_s(const seer_campaign *s) {
  double budget_s = seer_campaign_time_s(s);
  uint32_t trials = s->budget.trials ? s->budget.trials : s->totals.trials;
  if (budget_s <= 0) return fmin(ACCEPT_LEAST_S, ACCEPT_S_PER_TRIAL * trials);
  // Of what was measured so far, with the contenders that each task usually has and with the least.
  seer_finals_list list = seer_campaign_list_finals(s, s->round);
  double usual_s = seer_finals_cost_of(list.entry, list.n, SEER_FINALS_MIN, list.build_s),
         least_s = seer_finals_cost_of(list.entry, list.n, SEER_FINALS_LEAST, list.build_s);
  double sets = s->network->n_set > 1 ? 2 : 1;  // once more for weights that sets share
  least_s *= sets;
  double wanted_s = fmax(sets * usual_s, fmax(ACCEPT_LEAST_S, ACCEPT_WANTED * budget_s));
  return fmax(fmin(wanted_s, ACCEPT_SHARE * budget_s), fmin(least_s, ACCEPT_MOST * budget_s));
}
