// policies.c - events of a tuning -> its curve.
#include "study/paper/policies.h"

#include <math.h>

#include "base/os.h"

typedef struct {
  seer_run *out;
  seer_arena *arena;
  bool has_untuned;  // from the beginning
} listening;

static double latency_of(const seer_tuning *tuning, bool has_untuned) {
  double sum = 0;
  for (uint32_t t = 0; t < tuning->n_task; t++) {
    const seer_tuning_task *task = &tuning->task[t];
    double own = has_untuned ? seer_tuning_seconds(task) : task->best_s;
    if (own <= 0) return INFINITY;
    sum += task->count * own;
  }
  return sum;
}

static void add_point(listening *l, const seer_tuning *tuning) {
  seer_run *run = l->out;
  double latency_s = latency_of(tuning, l->has_untuned);
  if (run->n_point > 0 && !(latency_s < run->point[run->n_point - 1].latency_s)) return;
  run->point = SEER_GROW(l->arena, seer_latency_point, run->point, run->n_point, &run->cap_point);
  run->point[run->n_point++] =
      (seer_latency_point){tuning->n_trial, tuning->measuring_s, latency_s};
}

static bool has_all(const seer_tuning *tuning) {
  for (uint32_t t = 0; t < tuning->n_task; t++)
    if (tuning->task[t].best_s <= 0) return false;
  return true;
}

static seer_status on_event(void *user, seer_tuning *tuning, const seer_event *event) {
  listening *l = user;
  if (event->kind == SEER_EVENT_MEASUREMENT) add_point(l, tuning);
  if (event->kind != SEER_EVENT_ROUND_END) return SEER_OK;
  if (l->out->first_trial == 0) l->out->first_trial = tuning->n_trial;
  if (l->out->warm_trial == 0 && has_all(tuning)) l->out->warm_trial = tuning->n_trial;
  return SEER_OK;
}

static void keep_tasks(const seer_tuning *tuning, seer_arena *arena, seer_run *out) {
  out->n_task = tuning->n_task;
  out->task = SEER_NEW_ARRAY(arena, seer_run_task, out->n_task);
  for (uint32_t t = 0; t < out->n_task; t++) {
    const seer_tuning_task *task = &tuning->task[t];
    out->task[t] = (seer_run_task){.name = task->of->name,
        .of = task->of,
        .count = task->count,
        .untuned_s = task->untuned_s,
        .best_s = task->best_s,
        .known_s = task->known_s,
        .n_trial = task->n_trial};
    out->known_s += task->count * task->known_s;
  }
}

static seer_status run(seer_tuning *tuning, listening *l) {
  seer_run *out = l->out;
  add_point(l, tuning);
  SEER_TRY(seer_tuning_run(tuning, on_event, l));
  out->n_trial = tuning->n_trial;
  out->latency_s = latency_of(tuning, l->has_untuned);
  // The campaign may have ended within a round.
  if (out->first_trial == 0) out->first_trial = out->n_trial;
  if (out->warm_trial == 0) out->warm_trial = out->n_trial;
  keep_tasks(tuning, l->arena, out);
  return SEER_OK;
}

seer_status seer_run_measure(
    seer_context *context, const seer_tuning_options *options, seer_arena *arena, seer_run *out) {
  *out = (seer_run){0};
  uint64_t start_ns = seer_os_now_ns();
  seer_policy policy;
  SEER_TRY(seer_policy_find(options->policy, &policy));
  listening l = {.out = out, .arena = arena, .has_untuned = policy.policy->traits->tries_untuned};
  seer_tuning *tuning;
  SEER_TRY(seer_tuning_create(context, options, &tuning));
  seer_status status = run(tuning, &l);
  seer_tuning_destroy(tuning);
  out->seconds = (double)(seer_os_now_ns() - start_ns) * 1e-9;
  return status;
}

// ---- what curves say
uint32_t seer_run_reaches(const seer_run *run, double latency_s) {
  for (uint32_t i = 0; i < run->n_point; i++)
    if (run->point[i].latency_s <= latency_s) return run->point[i].trial;
  return UINT32_MAX;
}

double seer_run_latency_after(const seer_run *run, uint32_t n_trial) {
  double latency_s = INFINITY;
  for (uint32_t i = 0; i < run->n_point && run->point[i].trial <= n_trial; i++)
    latency_s = run->point[i].latency_s;
  return latency_s;
}

static uint32_t counted(const seer_run *run, uint32_t trial, bool from_warm) {
  uint32_t before = from_warm ? run->warm_trial : 0;
  uint32_t behind = trial > before ? trial - before : 0;
  return behind > run->first_trial ? behind : run->first_trial;
}

seer_sooner seer_run_sooner(
    const seer_run *r, const seer_run *reference, double share, bool from_warm) {
  if (!isfinite(reference->latency_s)) return (seer_sooner){0, UINT32_MAX, NAN};
  double wanted_s = reference->latency_s / share;
  uint32_t own = seer_run_reaches(r, wanted_s);
  seer_sooner out = {
      .reference = counted(reference, seer_run_reaches(reference, wanted_s), from_warm),
      .own = own == UINT32_MAX ? own : counted(r, own, from_warm)};
  double at_most = counted(r, own == UINT32_MAX ? r->n_trial : own, from_warm);
  out.speedup = at_most > 0 ? out.reference / at_most : NAN;
  return out;
}
