// regret.c - a table's tasks of a network -> a session on them -> what it had found after how many
// trials, from its events.
#include "tune/study/regret.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/table.h"
#include "tune/session.h"

#define MIN_PICKS 8  // of the model's in a round, for a rank correlation
#define RECALL_TRIALS 64
#define RECALL_PICKS 16
#define RECALL_SHARE 0.01

const uint32_t seer_regret_budgets[SEER_REGRET_BUDGETS] = {4, 8, 16, 32, 64, 256};

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

// ---- the network
uint32_t seer_regret_networks(
    const seer_times *times, seer_arena *arena, const char *const **out_names) {
  uint32_t n = 0;
  size_t cap = 0;
  const char **names = NULL;
  for (uint32_t t = 0; t < times->n_task; t++) {
    for (uint32_t u = 0; u < times->task[t].n_use; u++) {
      const char *name = times->task[t].use[u].network;
      uint32_t k = 0;
      while (k < n && strcmp(names[k], name) != 0) k++;
      if (k < n) continue;
      names = SEER_GROW(arena, const char *, names, n, &cap);
      names[n++] = name;
    }
  }
  *out_names = names;
  return n;
}

static uint32_t count_in(const seer_times_task *task, const char *network) {
  for (uint32_t u = 0; u < task->n_use; u++)
    if (strcmp(task->use[u].network, network) == 0) return task->use[u].count;
  return 0;
}

// What a session needs of one: its tasks. There is no graph.
static seer_status make_network(const seer_times *times, const char *name, seer_arena *arena,
    seer_network **out_network, const seer_times_task ***out_of) {
  seer_network *network = *out_network = SEER_NEW(arena, seer_network);
  network->task = SEER_NEW_ARRAY(arena, seer_task, times->n_task);
  network->count = SEER_NEW_ARRAY(arena, uint32_t, times->n_task);
  network->n_set = 1;
  network->set = SEER_NEW(arena, seer_network *);
  network->set[0] = network;
  network->shapes = network->notice = "";
  *out_of = SEER_NEW_ARRAY(arena, const seer_times_task *, times->n_task);
  seer_space_kind space = SEER_SPACE_FULL;
  for (uint32_t t = 0; t < times->n_task; t++) {
    const seer_times_task *task = &times->task[t];
    uint32_t count = count_in(task, name), id = network->n_task;
    // A collection that was stopped early has tasks without times.
    if (count == 0 || task->n_time == 0) continue;
    if (id > 0 && task->space != space)
      return SEER_FAIL(INVALID, "network %s has tasks of two spaces in the table", name);
    space = task->space;
    seer_dag *dag = seer_dag_clone(task->dag, arena);
    seer_dag_finish(dag);
    network->task[id] = (seer_task){.id = id,
        .name = task->name,
        .dag = dag,
        .key = task->key,
        .weight = count,
        .flops = seer_dag_flops(dag),
        .anchor_class = seer_dag_anchor_class(dag, arena),
        .ops = ""};
    (*out_of)[id] = task;
    network->count[network->n_task++] = count;
  }
  if (network->n_task > 0) return SEER_OK;
  return SEER_FAIL(NOT_FOUND, "the table has no task of network %s", name);
}

// ---- listening
typedef struct {
  double best_s, known_s;  // so far; of the table
  double count;
  bool is_recalled;
  seer_times_pool pool;
  seer_table measured;  // hashes
} regret_task;

typedef struct {
  seer_session *session;
  seer_arena *arena, *scratch;
  uint32_t n_task, n_reached;  // budgets
  regret_task *task;
  uint32_t n_pick;  // of the model's, in the round
  double predicted[1024], throughput[1024];
  seer_regret *out;
  seer_status failure;
} listener;

static double regret_now(const listener *l) {
  double found = 0, known = 0;
  for (uint32_t t = 0; t < l->n_task; t++) {
    found += l->task[t].count * l->task[t].best_s;
    known += l->task[t].count * l->task[t].known_s;
  }
  return found / known - 1;
}

// As many trials were made as the next budget has, the last one included.
static void reach(listener *l, uint32_t n_trial) {
  while (l->n_reached < SEER_REGRET_BUDGETS &&
      n_trial >= seer_regret_budgets[l->n_reached] * l->n_task)
    l->out->regret[l->n_reached++] = regret_now(l);
}

static void on_measurement(listener *l, const seer_event *event) {
  regret_task *task = &l->task[event->task];
  const seer_proposal *proposal = event->proposal;
  (void)seer_table_add(&task->measured, seer_schedule_hash(&proposal->schedule));
  if (event->result->cls != SEER_MEASURED_OK) return;
  double seconds = event->result->seconds;
  if (seconds < task->best_s) task->best_s = seconds;
  reach(l, event->trials);
  bool is_model = proposal->origin == SEER_ORIGIN_MODEL;
  if (!is_model || l->n_pick == SEER_COUNT_OF(l->predicted)) return;
  l->predicted[l->n_pick] = (double)proposal->predicted;
  l->throughput[l->n_pick++] = 1 / seconds;
}

// The best 1 % of n, at least one, take no longer than this.
static double time_of_best(const double *seconds, uint32_t n, seer_arena *scratch) {
  ranked *order = SEER_NEW_ARRAY(scratch, ranked, n);
  for (uint32_t i = 0; i < n; i++) order[i] = (ranked){seconds[i], i};
  qsort(order, n, sizeof *order, by_value);
  return order[(uint32_t)fmax(1, RECALL_SHARE * n) - 1].value;
}

static seer_status recall(listener *l, uint32_t t) {
  regret_task *task = &l->task[t];
  uint32_t n = 0, n_pool = task->pool.n;
  seer_schedule *open = SEER_NEW_ARRAY(l->scratch, seer_schedule, n_pool);
  double *seconds = SEER_NEW_ARRAY(l->scratch, double, n_pool);
  for (uint32_t i = 0; i < n_pool; i++) {
    if (seer_table_has(&task->measured, seer_schedule_hash(&task->pool.schedule[i]))) continue;
    double own = task->pool.time[i]->seconds;
    seconds[n] = own > 0 ? own : INFINITY;
    open[n++] = task->pool.schedule[i];
  }
  if (n <= RECALL_PICKS) return SEER_OK;
  float *scores = SEER_NEW_ARRAY(l->scratch, float, n);
  bool is_trained;
  SEER_TRY(seer_session_score(l->session, t, open, n, scores, &is_trained));
  if (!is_trained) return SEER_OK;
  double limit_s = time_of_best(seconds, n, l->scratch);
  ranked *order = SEER_NEW_ARRAY(l->scratch, ranked, n);
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

static void on_round_end(listener *l, const seer_event *event) {
  if (l->n_pick >= MIN_PICKS) {
    l->out->rank_correlation +=
        seer_rank_correlation(l->predicted, l->throughput, l->n_pick, l->scratch);
    l->out->n_rounds++;
  }
  regret_task *task = &l->task[event->task];
  if (!task->is_recalled && task->measured.n >= RECALL_TRIALS && !l->failure) {
    task->is_recalled = true;
    l->failure = recall(l, event->task);
  }
  seer_arena_reset(l->scratch);
}

static void on_event(void *user, const seer_event *event) {
  listener *l = user;
  if (event->kind == SEER_EVENT_ROUND) l->n_pick = 0;
  if (event->kind == SEER_EVENT_MEASUREMENT) on_measurement(l, event);
  if (event->kind == SEER_EVENT_ROUND_END) on_round_end(l, event);
}

static seer_status begin(
    listener *l, const seer_network *network, const seer_times_task *const *of) {
  l->n_task = network->n_task;
  l->task = SEER_NEW_ARRAY(l->arena, regret_task, l->n_task);
  seer_choice *choices = SEER_NEW_ARRAY(l->arena, seer_choice, l->n_task);
  seer_session_choices(l->session, choices);
  for (uint32_t t = 0; t < l->n_task; t++) {
    regret_task *task = &l->task[t];
    seer_times_pool_make(of[t], choices[t].sketches, l->arena, &task->pool);
    const seer_time *untuned = seer_times_pool_find(&task->pool, &choices[t].schedule);
    task->count = network->count[t];
    task->known_s = seer_times_pool_best(&task->pool);
    if (!untuned || untuned->seconds <= 0)
      return SEER_FAIL(
          INVALID, "task %s: the untuned choice has no time in the table", network->task[t].name);
    task->best_s = untuned->seconds;
  }
  return SEER_OK;
}

static seer_status run(listener *l, const seer_network *network, const seer_times_task *const *of) {
  SEER_TRY(begin(l, network, of));
  seer_session_listen(l->session, on_event, l);
  SEER_TRY(seer_session_run(l->session));
  SEER_TRY(seer_session_take_fault(l->session));
  if (l->failure) {
    seer_status failure = l->failure;
    l->failure = SEER_OK;
    return failure;
  }
  seer_session_totals totals;
  seer_session_get_totals(l->session, &totals);
  seer_regret *out = l->out;
  while (l->n_reached < SEER_REGRET_BUDGETS) out->regret[l->n_reached++] = regret_now(l);
  out->n_task = l->n_task;
  out->n_trial = totals.trials;
  if (out->n_rounds > 0) out->rank_correlation /= out->n_rounds;
  if (out->n_recalled > 0) out->recall /= out->n_recalled;
  return SEER_OK;
}

// ---- one tuning
static seer_status set_options(seer_context *context, const char *path, const char *policy,
    const char *cost_model, uint64_t seed, const seer_times_task *const *of, uint32_t n_task,
    seer_arena *arena) {
  const char *const options[][2] = {{"measure", seer_arena_printf(arena, "replay:%s", path)},
      {"search-policy", policy}, {"seed", seer_arena_printf(arena, "%" PRIu64, seed)},
      {"trials",
          seer_arena_printf(arena, "%u", seer_regret_budgets[SEER_REGRET_BUDGETS - 1] * n_task)},
      {"cost-model", cost_model}, {"space", of[0]->space == SEER_SPACE_ANSOR ? "ansor" : "seer"}};
  for (size_t i = 0; i < SEER_COUNT_OF(options); i++)
    SEER_TRY(seer_context_set(context, options[i][0], options[i][1]));
  return SEER_OK;
}

seer_status seer_regret_measure(seer_context *context, const seer_times *times, const char *path,
    const char *network_name, const char *policy, const char *cost_model, uint64_t seed,
    seer_regret *out) {
  *out = (seer_regret){0};
  seer_arena *arena = seer_arena_create("regret");
  seer_network *network;
  const seer_times_task **of;
  uint64_t start_ns = seer_os_now_ns();
  listener *l = SEER_NEW(arena, listener);
  *l = (listener){.arena = arena, .scratch = seer_arena_create("event"), .out = out};
  seer_status status = make_network(times, network_name, arena, &network, &of);
  if (!status)
    status = set_options(context, path, policy, cost_model, seed, of, network->n_task, arena);
  if (!status) status = seer_session_create(context, network, NULL, network_name, &l->session);
  if (!status) status = run(l, network, of);
  seer_session_destroy(l->session);
  for (uint32_t t = 0; l->task && t < l->n_task; t++) seer_table_destroy(&l->task[t].measured);
  seer_arena_destroy(l->scratch);
  seer_arena_destroy(arena);
  out->seconds = (double)(seer_os_now_ns() - start_ns) * 1e-9;
  return status;
}
