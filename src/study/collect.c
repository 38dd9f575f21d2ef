// collect.c - networks -> tasks; of each its candidates (candidates.c) -> visits -> the table.
#include "study/collect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "choose/choose.h"
#include "study/candidates.h"

#define BATCH 64  // schedules between two looks at the clock
#define SAVE_EVERY_S 20  // a visit of few schedules takes less than writing the file
#define NOT_YET UINT32_MAX

typedef struct {
  uint32_t at;  // in the table
  seer_sketch_list *sketches;
  seer_candidates *candidates;  // NULL: not asked yet, or not any more
  // Those that today's sketches allow, by their places in the table.
  uint32_t n;
  size_t cap;
  uint32_t *time_of;
  seer_schedule *schedule;
  size_t cap_schedule;
  bool is_drawn;  // no more new ones come
  uint32_t n_visit;
} collected_task;

typedef struct {
  seer_context *context;
  const seer_collect_options *options;
  seer_times *times;
  const seer_measure_desc *measure;
  seer_measurer *measurer;
  seer_arena *arena;
  uint64_t start_ns, saved_ns;
  uint32_t n_task;
  collected_task *task;
  seer_rng rng;
} collector;

static double elapsed_s(const collector *c) {
  return (double)(seer_os_now_ns() - c->start_ns) * 1e-9;
}

static bool is_over(const collector *c) {
  if (c->options->is_stopped && *c->options->is_stopped) return true;
  return c->options->time_s > 0 && elapsed_s(c) >= c->options->time_s;
}

static seer_times_task *table_task(const collector *c, const collected_task *task) {
  return &c->times->task[task->at];
}

// ---- timing

// A schedule to be timed; at NOT_YET: the table does not have it.
typedef struct {
  seer_schedule schedule;
  seer_time_origin origin;
  uint32_t nth;  // of the task's
} item;

// What befell it may have been somebody else's doing.
static bool may_be_chance(const seer_measure_result *result) {
  return result->cls == SEER_MEASURED_RUN_CRASH || result->cls == SEER_MEASURED_RUN_TIMEOUT ||
      result->cls == SEER_MEASURED_BUILD_TIMEOUT;
}

// A witness is what is timed for itself whatever was timed before: not dropped, and no twin.
static seer_status measure(collector *c, const collected_task *task, const item *items, uint32_t n,
    seer_measure_result *results) {
  seer_measure_request requests[BATCH];
  for (uint32_t i = 0; i < n; i++)
    requests[i] =
        (seer_measure_request){.task = task->at, .schedule = items[i].schedule, .is_witness = true};
  SEER_TRY(c->measure->measure(c->measurer, requests, n, NULL, results));
  for (uint32_t i = 0; i < n; i++) {
    if (!may_be_chance(&results[i])) continue;
    seer_measure_result again;
    SEER_TRY(c->measure->measure(c->measurer, &requests[i], 1, NULL, &again));
    if (again.cls == SEER_MEASURED_OK) results[i] = again;
  }
  return SEER_OK;
}

static void add_entry(
    collector *c, collected_task *task, const seer_schedule *schedule, uint32_t time) {
  task->time_of = SEER_GROW(c->arena, uint32_t, task->time_of, task->n, &task->cap);
  task->schedule = SEER_GROW(c->arena, seer_schedule, task->schedule, task->n, &task->cap_schedule);
  task->time_of[task->n] = time;
  task->schedule[task->n++] = *schedule;
}

static void take_new(collector *c, collected_task *task, const item *one,
    const seer_measure_result *result, double *build_s, double *run_s) {
  seer_times_task *own = table_task(c, task);
  seer_arena *scratch = seer_arena_create("schedule");
  seer_time *time = seer_times_add(
      c->times, own, seer_schedule_print(task->sketches, &one->schedule, scratch), one->origin);
  seer_arena_destroy(scratch);
  add_entry(c, task, &one->schedule, own->n_time - 1);
  time->cls = result->cls;
  if (result->cls == SEER_MEASURED_OK)
    seer_time_add_visit(time, result->seconds, result->n_samples);
  *build_s += result->build_s;
  *run_s += result->run_s;
  seer_candidates_learn(task->candidates, &one->schedule, time->seconds);
}

// One that has worked before has not failed: the machine has.
static void take_visit(
    collector *c, const collected_task *task, const item *one, const seer_measure_result *result) {
  seer_time *time = &table_task(c, task)->time[task->time_of[one->nth]];
  if (result->cls == SEER_MEASURED_OK)
    seer_time_add_visit(time, result->seconds, result->n_samples);
  else
    seer_log(c->context, "measure", 1, "%s: a schedule that has worked: %s: %s",
        table_task(c, task)->name, seer_measured_class_name(result->cls), result->message);
}

// As many as there is time for.
static seer_status time_items(collector *c, collected_task *task, const item *items, uint32_t n) {
  seer_measure_result *results = malloc(BATCH * sizeof *results);
  if (!results) return SEER_FAIL(RESOURCE, "no memory for %d results", BATCH);
  uint32_t n_before = table_task(c, task)->n_time;
  double build_s = 0, run_s = 0;
  seer_status status = SEER_OK;
  for (uint32_t at = 0; at < n && !status && !is_over(c); at += BATCH) {
    uint32_t n_now = n - at < BATCH ? n - at : BATCH;
    status = measure(c, task, &items[at], n_now, results);
    for (uint32_t i = 0; i < n_now && !status; i++) {
      if (items[at + i].nth == NOT_YET)
        take_new(c, task, &items[at + i], &results[i], &build_s, &run_s);
      else
        take_visit(c, task, &items[at + i], &results[i]);
    }
  }
  free(results);
  seer_times_task *own = table_task(c, task);
  if (own->n_time > n_before) {
    own->build_s = (own->build_s * n_before + build_s) / own->n_time;
    own->run_s = (own->run_s * n_before + run_s) / own->n_time;
  }
  return status;
}

// ---- visits
static bool is_precise(const collector *c, const seer_time *time) {
  return time->n_visits >= SEER_COLLECT_MIN_VISITS && time->half_width <= c->options->half_interval;
}

static bool is_open(const collector *c, const seer_time *time) {
  return time->cls == SEER_MEASURED_OK && time->n_visits < SEER_COLLECT_MAX_VISITS &&
      !is_precise(c, time);
}

static void shuffle(collector *c, item *items, uint32_t n) {
  for (uint32_t i = n; i > 1; i--) {
    uint32_t k = (uint32_t)seer_rng_below(&c->rng, i);
    item swapped = items[i - 1];
    items[i - 1] = items[k];
    items[k] = swapped;
  }
}

static const seer_time *time_of(const collector *c, const collected_task *task, uint32_t i) {
  return &table_task(c, task)->time[task->time_of[i]];
}

// Visits that its least visited open schedules have had; all that are asked for were not even drawn
// yet: 0. NEVER: there is nothing left to visit.
#define NEVER UINT32_MAX
static uint32_t least_visits(const collector *c, const collected_task *task) {
  if (!task->is_drawn && task->n < c->options->n_schedules) return 0;
  uint32_t least = NEVER;
  for (uint32_t i = 0; i < task->n; i++) {
    const seer_time *time = time_of(c, task, i);
    if (is_open(c, time) && time->n_visits < least) least = time->n_visits;
  }
  return least;
}

// Those that were visited least: of a visit that was cut short, the rest.
static seer_status visit_again(collector *c, collected_task *task, uint32_t *out_n) {
  item *items = malloc((task->n + 1) * sizeof *items);
  if (!items) return SEER_FAIL(RESOURCE, "no memory for %u schedules", task->n);
  uint32_t n = 0, least = least_visits(c, task);
  for (uint32_t i = 0; i < task->n; i++) {
    const seer_time *time = time_of(c, task, i);
    if (is_open(c, time) && time->n_visits == least)
      items[n++] = (item){task->schedule[i], time->origin, i};
  }
  shuffle(c, items, n);
  seer_status status = time_items(c, task, items, n);
  free(items);
  *out_n = n;
  return status;
}

// Models of all tasks at once would take gigabytes: they live while a task's first visit goes on.
static seer_status begin_candidates(collector *c, collected_task *task) {
  const seer_times_task *own = table_task(c, task);
  task->is_drawn = task->n >= c->options->n_schedules;
  if (task->is_drawn || task->candidates) return SEER_OK;
  SEER_TRY(seer_candidates_create(c->context, task->sketches, own, c->arena, &task->candidates));
  for (uint32_t i = 0; i < task->n; i++)
    seer_candidates_learn(
        task->candidates, &task->schedule[i], own->time[task->time_of[i]].seconds);
  return SEER_OK;
}

// Those that the table does not have yet: first what can be drawn without times, then what a search
// asks for, in rounds.
static seer_status visit_first(collector *c, collected_task *task, uint32_t *out_n) {
  *out_n = 0;
  SEER_TRY(begin_candidates(c, task));
  if (task->is_drawn) return SEER_OK;
  item *items = malloc(c->options->n_schedules * sizeof *items);
  seer_candidate_choice *choices = malloc(c->options->n_schedules * sizeof *choices);
  seer_status status = items && choices
      ? SEER_OK
      : SEER_FAIL(RESOURCE, "no memory for %u schedules", c->options->n_schedules);
  while (!status && !is_over(c) && !task->is_drawn) {
    uint32_t n = 0;
    if (task->n < c->options->n_schedules)
      status = seer_candidates_next(
          task->candidates, table_task(c, task), c->options->n_schedules - task->n, choices, &n);
    task->is_drawn = n == 0;
    for (uint32_t i = 0; i < n; i++)
      items[i] = (item){choices[i].schedule, choices[i].origin, NOT_YET};
    shuffle(c, items, n);
    *out_n += n;
    if (!status) status = time_items(c, task, items, n);
  }
  free(items);
  free(choices);
  if (task->is_drawn) {
    seer_candidates_destroy(task->candidates);
    task->candidates = NULL;
  }
  return status;
}

static seer_status save(collector *c, bool is_last) {
  uint64_t now = seer_os_now_ns();
  if (!is_last && now - c->saved_ns < SAVE_EVERY_S * 1000000000ull) return SEER_OK;
  SEER_TRY(seer_times_write(c->times, c->options->path));
  c->saved_ns = seer_os_now_ns();
  return SEER_OK;
}

static void tell(const collector *c, const collected_task *task, uint32_t n) {
  if (!c->options->tell) return;
  const seer_times_task *own = table_task(c, task);
  uint32_t n_precise = 0, n_failed = 0;
  double best = INFINITY;
  for (uint32_t i = 0; i < own->n_time; i++) {
    n_precise += is_precise(c, &own->time[i]);
    n_failed += own->time[i].cls != SEER_MEASURED_OK;
    if (own->time[i].seconds > 0) best = fmin(best, own->time[i].seconds);
  }
  seer_arena *scratch = seer_arena_create("line");
  c->options->tell(c->options->user,
      seer_arena_printf(scratch,
          "%.0f s: %s: visit %u of %u schedules; %u in all, %u within %.2g %%, %u failed, best "
          "%.2f us",
          elapsed_s(c), own->name, task->n_visit, n, own->n_time, n_precise,
          100 * c->options->half_interval, n_failed, isfinite(best) ? best * 1e6 : 0));
  seer_arena_destroy(scratch);
}

static seer_status visit(collector *c, collected_task *task) {
  uint32_t n = 0;
  bool is_first = least_visits(c, task) == 0;
  SEER_TRY(is_first ? visit_first(c, task, &n) : visit_again(c, task, &n));
  if (n == 0) return SEER_OK;
  task->n_visit++;
  tell(c, task, n);
  return save(c, false);
}

// The task whose turn it is: the least visited one, wherever an earlier run stopped. NULL: none has
// anything left.
static collected_task *next_task(const collector *c) {
  collected_task *next = NULL;
  uint32_t least = NEVER;
  for (uint32_t t = 0; t < c->n_task; t++) {
    uint32_t n = least_visits(c, &c->task[t]);
    if (n < least) {
      least = n;
      next = &c->task[t];
    }
  }
  return next;
}

static seer_status visit_all(collector *c) {
  for (collected_task *task; !is_over(c) && (task = next_task(c));)
    SEER_TRYF(visit(c, task), "task %s", table_task(c, task)->name);
  return SEER_OK;
}

// ---- which tasks
typedef struct {
  uint32_t task;
  double seconds;
} weighed;

static int by_weight(const void *a, const void *b) {
  const weighed *x = a, *y = b;
  if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
  return (x->task > y->task) - (x->task < y->task);
}

// *out: n tasks of the network, the heaviest ones by what the models say that they take.
static seer_status choose_tasks(
    collector *c, const seer_network *network, weighed *out, uint32_t *out_n) {
  const seer_target *target = seer_context_target(c->context);
  uint32_t n = *out_n = network->n_task, most = c->options->n_heaviest;
  for (uint32_t t = 0; t < n; t++) out[t] = (weighed){.task = t};
  if (most == 0 || most >= n) return SEER_OK;
  for (uint32_t t = 0; t < n; t++) {
    seer_arena *arena = seer_arena_create("weigh");
    seer_sketch_list *sketches;
    seer_schedule untuned;
    seer_status status = seer_sketch_generate(
        network->task[t].dag, target, seer_choice_space(c->context), arena, &sketches);
    if (!status)
      status = seer_choose_untuned(target, sketches, t,
          (uint64_t)seer_context_i64(c->context, SEER_OPT_SEED),
          (uint32_t)seer_context_i64(c->context, SEER_OPT_SEARCH_THREADS), &untuned,
          &out[t].seconds);
    out[t].seconds *= network->task[t].weight;
    seer_arena_destroy(arena);
    SEER_TRY(status);
  }
  qsort(out, n, sizeof *out, by_weight);
  *out_n = most;
  return SEER_OK;
}

// The task is in the table then, with the network among its users; begun once.
static seer_status begin_task(collector *c, const seer_collect_network *of, const seer_task *task) {
  seer_space_kind space = seer_choice_space(c->context);
  seer_times_task *own = seer_times_use_task(c->times, of->name, of->network, task, space);
  uint32_t at = (uint32_t)(own - c->times->task);
  for (uint32_t k = 0; k < c->n_task; k++)
    if (c->task[k].at == at) return SEER_OK;
  collected_task *new = &c->task[c->n_task++];
  *new = (collected_task){.at = at};
  SEER_TRY(seer_sketch_generate(
      own->dag, seer_context_target(c->context), space, c->arena, &new->sketches));
  seer_measure_task measured = {at, own->dag, new->sketches, space, own->network_weight_bytes};
  SEER_TRY(c->measure->add_task(c->measurer, &measured));
  seer_times_pool pool;
  seer_times_pool_make(own, new->sketches, c->arena, &pool);
  for (uint32_t i = 0; i < pool.n; i++)
    add_entry(c, new, &pool.schedule[i], (uint32_t)(pool.time[i] - own->time));
  if (pool.n_refused > 0)
    seer_log(c->context, "measure", 0,
        "%s: %u of %u schedules of %s are not allowed any more, and stay as they are; the first: "
        "%s",
        c->options->path, pool.n_refused, own->n_time, own->name, pool.why);
  return SEER_OK;
}

static seer_status begin(collector *c, const seer_collect_network *networks, uint32_t n) {
  const char *name = seer_context_str(c->context, SEER_OPT_MEASURE);
  seer_measure_choice choice;
  uint32_t n_most = 0;
  for (uint32_t k = 0; k < n; k++) n_most += networks[k].network->n_task;
  c->task = SEER_NEW_ARRAY(c->arena, collected_task, n_most);
  SEER_TRY(seer_measure_find(name, c->arena, &choice));
  c->measure = choice.desc;
  if (c->measure->pool)
    return SEER_FAIL(INVALID, "--measure %s: times of a table are not measured again", name);
  if (choice.delay_s > 0)
    return SEER_FAIL(
        INVALID, "--measure %s: a delay is for tuning, a table is not made better by it", name);
  SEER_TRY(
      c->measure->open(c->context, seer_context_target(c->context), choice.argument, &c->measurer));
  for (uint32_t k = 0; k < n; k++) {
    const seer_network *network = networks[k].network;
    weighed *chosen = SEER_NEW_ARRAY(c->arena, weighed, network->n_task + 1);
    uint32_t n_chosen;
    SEER_TRYF(choose_tasks(c, network, chosen, &n_chosen), "%s", networks[k].name);
    for (uint32_t i = 0; i < n_chosen; i++) {
      const seer_task *task = &network->task[chosen[i].task];
      SEER_TRYF(begin_task(c, &networks[k], task), "%s, task %s", networks[k].name, task->name);
    }
  }
  return SEER_OK;
}

static void count(const collector *c, seer_collect_counts *out) {
  *out = (seer_collect_counts){.n_task = c->n_task};
  for (uint32_t t = 0; t < c->n_task; t++) {
    const seer_times_task *own = table_task(c, &c->task[t]);
    out->n_schedule += own->n_time;
    for (uint32_t i = 0; i < own->n_time; i++) {
      const seer_time *time = &own->time[i];
      out->n_failed += time->cls != SEER_MEASURED_OK;
      out->n_precise += is_precise(c, time);
      out->n_open += is_open(c, time);
      out->n_visited += time->cls == SEER_MEASURED_OK && !is_precise(c, time) && !is_open(c, time);
    }
  }
}

seer_status seer_collect(seer_context *context, const seer_collect_network *networks, uint32_t n,
    const seer_collect_options *options, seer_times *times, seer_collect_counts *out_counts) {
  collector c = {.context = context,
      .options = options,
      .times = times,
      .arena = seer_arena_create("collect"),
      .start_ns = seer_os_now_ns()};
  c.saved_ns = c.start_ns;
  seer_rng_init(&c.rng, (uint64_t)seer_context_i64(context, SEER_OPT_SEED));
  seer_status status = begin(&c, networks, n);
  if (!status) {
    status = visit_all(&c);
    status = seer_status_join(status, save(&c, true));
  }
  count(&c, out_counts);
  for (uint32_t t = 0; t < c.n_task; t++) seer_candidates_destroy(c.task[t].candidates);
  if (c.measurer) c.measure->close(c.measurer);
  seer_arena_destroy(c.arena);
  return status;
}
