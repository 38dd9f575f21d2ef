// replay.c - times from a table (measure/times/times.h): at once, without noise, and only of what
// is in it. A search on it is a search of the table's schedules, which pool() names. What is asked
// beyond them is refused, never guessed. A pair is the two stored times; that an answer is right
// was seen when the table was made, as far as a run can show it: a table's word is taken for it.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/backends.h"
#include "measure/times/times.h"

typedef struct {
  const seer_times_task *task;
  seer_times_pool pool;
} replayed_task;

struct seer_measurer {
  const seer_context *context;
  const char *path;
  uint32_t n_builders;  // that the table's times of building are divided among
  seer_arena *arena;
  seer_times times;
  seer_map *by_id;
  size_t n, cap;
  replayed_task *task;
};

static void replay_close(seer_measurer *m) {
  if (!m) return;
  seer_arena_destroy(m->arena);
  free(m);
}

static seer_status replay_open(const seer_context *context, const seer_target *target,
    const char *argument, seer_measurer **out_measurer) {
  *out_measurer = NULL;
  if (seer_context_devices(context)->n > 0)
    return SEER_FAIL(INVALID, "measurer replay has a table and no devices; one was named: %s",
        seer_context_devices(context)->device[0].name);
  seer_measurer *m = calloc(1, sizeof(*m));
  if (!m) return SEER_FAIL(RESOURCE, "no memory for a measurer");
  m->context = context;
  m->n_builders = target->threads;
  m->arena = seer_arena_create("replay");
  m->path = seer_arena_strdup(m->arena, argument);
  m->by_id = seer_map_create(m->arena);
  seer_status status = seer_times_read(m->path, m->arena, &m->times);
  if (!status) status = seer_times_check_target(&m->times, m->path, target);
  if (status) {
    replay_close(m);
    return status;
  }
  *out_measurer = m;
  return SEER_OK;
}

static void replay_describe(const seer_measurer *m, seer_measure_facts *out) {
  *out = (seer_measure_facts){.n_devices = 1, .n_builders = m->n_builders, .name = {"table"}};
}

static seer_status replay_add_task(seer_measurer *m, const seer_measure_task *task) {
  const seer_times_task *found =
      seer_times_find_task(&m->times, seer_dag_hash(task->dag), task->space);
  if (!found)
    return SEER_FAIL(NOT_FOUND,
        "%s has no times of this task; its %u tasks are those that `study collect` was asked for",
        m->path, m->times.n_task);
  m->task = SEER_GROW(m->arena, replayed_task, m->task, m->n, &m->cap);
  seer_map_set(m->by_id, task->id, m->n);
  replayed_task *own = &m->task[m->n++];
  own->task = found;
  seer_times_pool_make(found, task->sketches, m->arena, &own->pool);
  if (own->pool.n_refused > 0)
    seer_log(m->context, "measure", 0,
        "%s: %u of %u schedules of %s are not allowed any more, the first: %s", m->path,
        own->pool.n_refused, found->n_time, found->name, own->pool.why);
  if (own->pool.n == 0)
    return SEER_FAIL(INVALID, "%s has no schedule of this task that is allowed", m->path);
  return SEER_OK;
}

static seer_status find_task(const seer_measurer *m, uint32_t id, const replayed_task **out) {
  uint64_t index;
  SEER_TRY(seer_measure_index_of(m->by_id, id, &index));
  *out = &m->task[index];
  return SEER_OK;
}

static seer_status replay_pool(
    seer_measurer *m, uint32_t id, const seer_schedule **out_schedules, uint32_t *out_n) {
  const replayed_task *task;
  SEER_TRY(find_task(m, id, &task));
  *out_schedules = task->pool.schedule;
  *out_n = task->pool.n;
  return SEER_OK;
}

// What befalls a schedule, and why in words.
static seer_measured_class look_up(const seer_measurer *m, const replayed_task *task,
    const seer_schedule *schedule, const seer_time **out_time, char *message, size_t n_bytes) {
  *out_time = seer_times_pool_find(&task->pool, schedule);
  if (n_bytes > 0) message[0] = '\0';
  if (!*out_time) {
    (void)snprintf(message, n_bytes, "not in the table %s: nothing is known of it", m->path);
    return SEER_MEASURED_BUILD_ERROR;
  }
  if ((*out_time)->cls != SEER_MEASURED_OK)
    (void)snprintf(message, n_bytes, "so it was when the table was made");
  return (*out_time)->cls;
}

static seer_status replay_measure(seer_measurer *m, const seer_measure_request *requests,
    uint32_t n, seer_meanwhile *meanwhile, seer_measure_result *results) {
  if (meanwhile) meanwhile->run(meanwhile->user);
  for (uint32_t i = 0; i < n; i++) {
    const replayed_task *task;
    const seer_time *time;
    SEER_TRY(find_task(m, requests[i].task, &task));
    seer_measure_result *result = &results[i];
    *result = (seer_measure_result){.build_s = task->task->build_s, .run_s = task->task->run_s};
    result->cls =
        look_up(m, task, &requests[i].schedule, &time, result->message, sizeof result->message);
    if (result->cls != SEER_MEASURED_OK) continue;
    result->seconds = time->seconds;
    result->n_samples = time->n_visits;
    memcpy(result->sample, time->visit_s, sizeof result->sample);
  }
  return SEER_OK;
}
_Static_assert(SEER_TIMES_MAX_VISITS == SEER_MEASURE_MAX_SAMPLES, "a visit is a sample");

static seer_status replay_check(seer_measurer *m, const seer_measure_request *request,
    seer_measured_class *out_class, char *message, size_t message_bytes) {
  const replayed_task *task;
  const seer_time *time;
  SEER_TRY(find_task(m, request->task, &task));
  *out_class = look_up(m, task, &request->schedule, &time, message, message_bytes);
  return SEER_OK;
}

static seer_status replay_compare(seer_measurer *m, uint32_t device, uint32_t id,
    const seer_schedule *contenders, uint32_t n, const seer_schedule *baseline, uint32_t n_pairs,
    seer_measure_ab *out_ab, seer_measure_pair *out_pairs) {
  (void)device;
  const replayed_task *task;
  SEER_TRY(find_task(m, id, &task));
  const seer_time *base = seer_times_pool_find(&task->pool, baseline);
  memset(out_ab, 0, n * sizeof *out_ab);
  if (!base || base->cls != SEER_MEASURED_OK) return SEER_OK;
  for (uint32_t i = 0; i < n; i++) {
    const seer_time *time = seer_times_pool_find(&task->pool, &contenders[i]);
    if (!time || time->cls != SEER_MEASURED_OK) continue;
    seer_measure_pair pairs[SEER_MEASURE_MAX_PAIRS];
    for (uint32_t k = 0; k < n_pairs; k++)
      pairs[k] = (seer_measure_pair){time->seconds, base->seconds};
    out_ab[i] = seer_measure_summarise(pairs, n_pairs);
    if (out_pairs) memcpy(&out_pairs[(size_t)i * n_pairs], pairs, n_pairs * sizeof *pairs);
  }
  return SEER_OK;
}

const seer_measure_desc seer_measure_replay = {.name = "replay",
    .doc = "a table of measured times, which answers at once and without noise",
    .argument = "FILE",
    .open = replay_open,
    .close = replay_close,
    .describe = replay_describe,
    .add_task = replay_add_task,
    .measure = replay_measure,
    .check = replay_check,
    .compare = replay_compare,
    .pool = replay_pool};
