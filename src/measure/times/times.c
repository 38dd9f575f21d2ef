// times.c - tables of measured times: what is in one, how sure its times are, and what a task's
// sketches make of it. The file is times_file.c's.
#include "measure/times/times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

void seer_times_begin(const seer_target *target, seer_arena *arena, seer_times *out) {
  *out = (seer_times){
      .arena = arena, .target = seer_target_print(target, arena), .version = SEER_VERSION};
}

seer_status seer_times_check_target(
    const seer_times *times, const char *path, const seer_target *target) {
  seer_target own;
  SEER_TRYF(seer_target_parse(times->target, times->arena, &own), "%s", path);
  if (seer_target_key(&own) == seer_target_key(target)) return SEER_OK;
  return SEER_FAIL(INVALID,
      "%s: times of another target than %s with %u threads: give its own, --target '%s'", path,
      target->cpu, target->threads, times->target);
}

seer_times_task *seer_times_find_task(
    const seer_times *times, seer_dag_key key, seer_space_kind space) {
  for (uint32_t t = 0; t < times->n_task; t++) {
    seer_times_task *task = &times->task[t];
    bool is_it = task->key.structure == key.structure && task->key.shape == key.shape;
    if (is_it && task->space == space) return task;
  }
  return NULL;
}

seer_times_task *seer_times_add_task(
    seer_times *times, const char *name, const seer_dag *dag, seer_space_kind space) {
  times->task =
      SEER_GROW(times->arena, seer_times_task, times->task, times->n_task, &times->cap_task);
  seer_times_task *task = &times->task[times->n_task++];
  *task = (seer_times_task){.name = seer_arena_strdup(times->arena, name),
      .dag = dag,
      .key = seer_dag_hash(dag),
      .space = space};
  return task;
}

void seer_times_set_use(
    seer_times *times, seer_times_task *task, const char *network, uint32_t count) {
  uint32_t at = 0;
  while (at < task->n_use && strcmp(task->use[at].network, network) != 0) at++;
  if (at == task->n_use) {
    task->use = SEER_GROW(times->arena, seer_times_use, task->use, task->n_use, &task->cap_use);
    task->use[task->n_use++].network = seer_arena_strdup(times->arena, network);
  }
  task->use[at].count = count;
}

seer_times_task *seer_times_use_task(seer_times *times, const char *name,
    const seer_network *network, const seer_task *task, seer_space_kind space) {
  seer_times_task *own = seer_times_find_task(times, task->key, space);
  if (!own) {
    own = seer_times_add_task(times, task->name, task->dag, space);
    own->network_weight_bytes = seer_measure_network_bytes(network);
  }
  seer_times_set_use(times, own, name, task->weight);
  return own;
}

seer_time *seer_times_add(
    seer_times *times, seer_times_task *task, const char *text, seer_time_origin origin) {
  task->time = SEER_GROW(times->arena, seer_time, task->time, task->n_time, &task->cap_time);
  seer_time *time = &task->time[task->n_time++];
  *time = (seer_time){
      .schedule = seer_arena_strdup(times->arena, text), .origin = origin, .half_width = INFINITY};
  return time;
}

void seer_time_add_visit(seer_time *time, double seconds, uint32_t n_timings) {
  SEER_ASSERT(time->n_visits < SEER_TIMES_MAX_VISITS, "%u visits", time->n_visits);
  time->cls = SEER_MEASURED_OK;
  char digits[32];
  (void)snprintf(digits, sizeof digits, "%.*g", SEER_TIMES_DIGITS, seconds);
  time->visit_s[time->n_visits++] = strtod(digits, NULL);
  time->n_timings += n_timings;
  double sorted[SEER_TIMES_MAX_VISITS];
  memcpy(sorted, time->visit_s, sizeof sorted);
  time->seconds = seer_median(sorted, time->n_visits);
  time->half_width = seer_times_half_width(time->visit_s, time->n_visits);
}

// ---- how sure a median is

#define FEW 6  // values, below which order statistics give no interval of 95 %
#define LEFT_OUT 0.05
// Of values that scatter normally, the median of 3 to 5 is so much less sure than the mean, at
// most.
#define MEDIAN_OVER_MEAN 1.2

static double student_half_width(const double *values, uint32_t n) {
  return (n > 2 ? MEDIAN_OVER_MEAN : 1) * seer_mean_interval(values, n) / 2;
}

// [x(k), x(n - 1 - k)], from 0: the median lies outside with twice the chance that at most k of n
// fair coins fall heads.
static double order_half_width(const double *sorted, uint32_t n) {
  uint32_t k = 0;
  double chance = pow(0.5, n), at_most = chance;  // of exactly, and of at most k heads
  for (;;) {
    chance *= (double)(n - k) / (k + 1);
    if (2 * (at_most + chance) > LEFT_OUT) break;
    at_most += chance;
    k++;
  }
  return (sorted[n - 1 - k] - sorted[k]) / 2;
}

double seer_times_half_width(const double *values, uint32_t n) {
  SEER_ASSERT(n <= SEER_TIMES_MAX_VISITS, "%u values", n);
  if (n < 2) return INFINITY;
  double sorted[SEER_TIMES_MAX_VISITS];
  memcpy(sorted, values, n * sizeof *sorted);
  double median = seer_median(sorted, n);
  double half = n < FEW ? student_half_width(sorted, n) : order_half_width(sorted, n);
  return half / median;
}

// ---- pools

// Today's schedule of a text, or why there is none.
static const char *read_schedule(
    const seer_sketch_list *sketches, const char *text, seer_arena *arena, seer_schedule *out) {
  seer_status status = seer_schedule_parse(sketches, "table", text, strlen(text), out);
  if (status) {
    const char *why = seer_arena_strdup(arena, seer_status_message(status));
    seer_status_free(status);
    return why;
  }
  seer_schedule_normalise(sketches, out);
  seer_reject why = seer_schedule_check(sketches, out);
  return why == SEER_REJECT_NONE ? NULL : seer_reject_name(why);
}

void seer_times_pool_make(const seer_times_task *task, const seer_sketch_list *sketches,
    seer_arena *arena, seer_times_pool *out) {
  *out = (seer_times_pool){.schedule = SEER_NEW_ARRAY(arena, seer_schedule, task->n_time),
      .time = SEER_NEW_ARRAY(arena, const seer_time *, task->n_time),
      .why = "",
      .at = seer_map_create(arena)};
  for (uint32_t i = 0; i < task->n_time; i++) {
    seer_schedule *schedule = &out->schedule[out->n];
    const char *why = read_schedule(sketches, task->time[i].schedule, arena, schedule);
    if (why && out->n_refused++ == 0) out->why = why;
    if (why || seer_map_get(out->at, seer_schedule_hash(schedule), NULL)) continue;
    seer_map_set(out->at, seer_schedule_hash(schedule), out->n);
    out->time[out->n++] = &task->time[i];
  }
}

const seer_time *seer_times_pool_find(const seer_times_pool *pool, const seer_schedule *schedule) {
  uint64_t at;
  return seer_map_get(pool->at, seer_schedule_hash(schedule), &at) ? pool->time[at] : NULL;
}

double seer_times_pool_best(const seer_times_pool *pool) {
  double best = 0;
  for (uint32_t i = 0; i < pool->n; i++) {
    double seconds = pool->time[i]->seconds;
    if (seconds > 0 && (best <= 0 || seconds < best)) best = seconds;
  }
  return best;
}
