// regret.c - a tuning on a table (tuning.h) -> what it had found after how many trials, from its
// events.
#include "study/regret.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/table.h"
#include "study/tuning.h"

#define MIN_PICKS 8  // of the model's in a round, for a rank correlation
#define RECALL_TRIALS 64
#define RECALL_PICKS 16
#define RECALL_SHARE 0.01

const uint32_t seer_regret_budgets[SEER_REGRET_BUDGETS] = {4, 8, 16, 32, 64, 128, 256};

// ---- rank correlation
typedef struct {
  double value;
  uint32_t at;
} ranked;

static int by_value(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

static void rank(const double *values, uint32_t n, seer_arena *scratch, double *out) {
  ranked *order = SEER_NEW_ARRAY(scratch, ranked, n);
  for (uint32_t i = 0; i < n; i++) order[i] = (ranked){values[i], i};
  qsort(order, n, sizeof *order, by_value);
  for (uint32_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && order[end].value == order[i].value;) end++;
    for (uint32_t k = i; k < end; k++) out[order[k].at] = (i + end - 1) / 2.0;
  }
}

double seer_rank_correlation(const double *a, const double *b, uint32_t n, seer_arena *scratch) {
  double *x = SEER_NEW_ARRAY(scratch, double, n), *y = SEER_NEW_ARRAY(scratch, double, n);
  rank(a, n, scratch, x);
  rank(b, n, scratch, y);
  double mean = (n - 1) / 2.0, xx = 0, yy = 0, xy = 0;
  for (uint32_t i = 0; i < n; i++) {
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

// ---- listening
typedef struct {
  bool is_recalled;
  seer_table measured;  // hashes
} regret_task;

typedef struct {
  uint32_t n_task, n_reached;  // budgets
  regret_task *task;
  uint32_t n_pick;  // of the model's, in the round
  double predicted[1024], throughput[1024];
  seer_regret *out;
} listener;

static double regret_now(const seer_tuning *tuning) {
  double found = 0, known = 0;
  for (uint32_t t = 0; t < tuning->n_task; t++) {
    const seer_tuning_task *task = &tuning->task[t];
    found += task->count * seer_tuning_seconds(task);
    known += task->count * task->known_s;
  }
  return found / known - 1;
}

// As many trials were made as the next budget has, the last one included.
static void reach(listener *l, const seer_tuning *tuning, uint32_t n_trial) {
  while (l->n_reached < SEER_REGRET_BUDGETS &&
      n_trial >= seer_regret_budgets[l->n_reached] * l->n_task)
    l->out->regret[l->n_reached++] = regret_now(tuning);
}

static void on_measurement(listener *l, const seer_tuning *tuning, const seer_event *event) {
  const seer_proposal *proposal = event->proposal;
  (void)seer_table_add(&l->task[event->task].measured, seer_schedule_hash(&proposal->schedule));
  if (event->result->cls != SEER_MEASURED_OK) return;
  reach(l, tuning, event->trials);
  bool is_model = proposal->origin == SEER_ORIGIN_MODEL;
  if (!is_model || l->n_pick == SEER_COUNT_OF(l->predicted)) return;
  l->predicted[l->n_pick] = (double)proposal->predicted;
  l->throughput[l->n_pick++] = 1 / event->result->seconds;
}

// The best 1 % of n, at least one, take no longer than this.
static double time_of_best(const double *seconds, uint32_t n, seer_arena *scratch) {
  ranked *order = SEER_NEW_ARRAY(scratch, ranked, n);
  for (uint32_t i = 0; i < n; i++) order[i] = (ranked){seconds[i], i};
  qsort(order, n, sizeof *order, by_value);
  return order[(uint32_t)fmax(1, RECALL_SHARE * n) - 1].value;
}

static seer_status recall(listener *l, seer_tuning *tuning, uint32_t t) {
  const seer_times_pool *pool = &tuning->task[t].pool;
  seer_arena *scratch = tuning->scratch;
  uint32_t n = 0;
  seer_schedule *open = SEER_NEW_ARRAY(scratch, seer_schedule, pool->n);
  double *seconds = SEER_NEW_ARRAY(scratch, double, pool->n);
  for (uint32_t i = 0; i < pool->n; i++) {
    if (seer_table_has(&l->task[t].measured, seer_schedule_hash(&pool->schedule[i]))) continue;
    double own = pool->time[i]->seconds;
    seconds[n] = own > 0 ? own : INFINITY;
    open[n++] = pool->schedule[i];
  }
  if (n <= RECALL_PICKS) return SEER_OK;
  float *scores = SEER_NEW_ARRAY(scratch, float, n);
  bool is_trained;
  SEER_TRY(seer_campaign_score(tuning->campaign, t, open, n, scores, &is_trained));
  if (!is_trained) return SEER_OK;
  double limit_s = time_of_best(seconds, n, scratch);
  ranked *order = SEER_NEW_ARRAY(scratch, ranked, n);
  uint32_t n_best = 0, n_hit = 0;
  for (uint32_t i = 0; i < n; i++) {
    order[i] = (ranked){-(double)scores[i], i};
    n_best += seconds[i] <= limit_s;
  }
  qsort(order, n, sizeof *order, by_value);
  for (uint32_t i = 0; i < RECALL_PICKS; i++) n_hit += seconds[order[i].at] <= limit_s;
  l->out->recall += (double)n_hit / fmin(n_best, RECALL_PICKS);
  l->out->n_recalled++;
  return SEER_OK;
}

static seer_status on_round_end(listener *l, seer_tuning *tuning, uint32_t t) {
  if (l->n_pick >= MIN_PICKS) {
    l->out->rank_correlation +=
        seer_rank_correlation(l->predicted, l->throughput, l->n_pick, tuning->scratch);
    l->out->n_rounds++;
  }
  regret_task *task = &l->task[t];
  if (task->is_recalled || task->measured.n < RECALL_TRIALS) return SEER_OK;
  task->is_recalled = true;
  return recall(l, tuning, t);
}

static seer_status on_event(void *user, seer_tuning *tuning, const seer_event *event) {
  listener *l = user;
  if (event->kind == SEER_EVENT_ROUND) l->n_pick = 0;
  if (event->kind == SEER_EVENT_MEASUREMENT) on_measurement(l, tuning, event);
  return event->kind == SEER_EVENT_ROUND_END ? on_round_end(l, tuning, event->task) : SEER_OK;
}

static seer_status run(listener *l, seer_tuning *tuning) {
  l->n_task = tuning->n_task;
  l->task = SEER_NEW_ARRAY(tuning->arena, regret_task, l->n_task);
  seer_status status = seer_tuning_run(tuning, on_event, l);
  for (uint32_t t = 0; t < l->n_task; t++) seer_table_destroy(&l->task[t].measured);
  SEER_TRY(status);
  seer_campaign_totals totals;
  seer_campaign_get_totals(tuning->campaign, &totals);
  seer_regret *out = l->out;
  while (l->n_reached < SEER_REGRET_BUDGETS) out->regret[l->n_reached++] = regret_now(tuning);
  out->n_task = l->n_task;
  out->n_trial = totals.trials;
  if (out->n_rounds > 0) out->rank_correlation /= out->n_rounds;
  if (out->n_recalled > 0) out->recall /= out->n_recalled;
  return SEER_OK;
}

seer_status seer_regret_measure(
    seer_context *context, const seer_tuning_options *options, seer_regret *out) {
  *out = (seer_regret){0};
  uint64_t start_ns = seer_os_now_ns();
  seer_arena *arena = seer_arena_create("regret");
  listener *l = SEER_NEW(arena, listener);
  l->out = out;
  seer_tuning_options own = *options;
  own.trials_a_task = seer_regret_budgets[SEER_REGRET_BUDGETS - 1];
  seer_tuning *tuning;
  seer_status status = seer_tuning_create(context, &own, &tuning);
  if (!status) status = run(l, tuning);
  seer_tuning_destroy(tuning);
  seer_arena_destroy(arena);
  out->seconds = (double)(seer_os_now_ns() - start_ns) * 1e-9;
  return status;
}
