// fake.c - a machine made of arithmetic: seconds from the analytic model, bent by a seeded factor
// per schedule, and failures for a seeded few. The same schedule always takes the same time,
// whatever was measured before: sessions on it are repeatable to the byte and need no hardware.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "learn/feature.h"
#include "measure/backends.h"

#define NOISE 0.15  // the factor is in [1 - NOISE, 1 + NOISE]
#define FAILURE_SHARE 64  // one in so many fails

typedef struct {
  seer_measure_task task;
  seer_summariser *summariser;
} fake_task;

struct seer_measurer {
  const seer_target *target;
  seer_arena *arena;
  uint64_t seed;
  seer_map *by_id;
  size_t n, cap;
  fake_task *task;
};

static seer_status fake_open(const seer_context *context, const seer_target *target,
    const char *argument, seer_measurer **out_measurer) {
  (void)argument;
  seer_measurer *m = calloc(1, sizeof(*m));
  if (!m) return SEER_FAIL(RESOURCE, "no memory for a measurer");
  m->target = target;
  m->arena = seer_arena_create("fake measurer");
  m->by_id = seer_map_create(m->arena);
  m->seed = (uint64_t)seer_context_i64(context, SEER_OPT_SEED);
  *out_measurer = m;
  return SEER_OK;
}

static void fake_close(seer_measurer *m) {
  if (!m) return;
  seer_arena_destroy(m->arena);
  free(m);
}

static seer_status fake_add_task(seer_measurer *m, const seer_measure_task *task) {
  m->task = SEER_GROW(m->arena, fake_task, m->task, m->n, &m->cap);
  seer_map_set(m->by_id, task->id, m->n);
  m->task[m->n++] = (fake_task){*task, seer_summariser_create(task->sketches, m->arena)};
  return SEER_OK;
}

static double fake_seconds(const seer_measurer *m, const fake_task *task,
    const seer_schedule *schedule, uint64_t *out_hash) {
  double seconds = seer_analytic_seconds(seer_summarise(task->summariser, schedule), m->target);
  *out_hash = seer_hash_u64(seer_schedule_hash(schedule), m->seed);
  double noise = (double)(*out_hash >> 40) * 0x1p-24;
  return seconds * (1 + NOISE * (2 * noise - 1));
}

static seer_status fake_measure(seer_measurer *m, const seer_measure_request *requests, uint32_t n,
    seer_meanwhile *meanwhile, seer_measure_result *results) {
  if (meanwhile) meanwhile->run(meanwhile->user);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t index = 0, hash;
    memset(&results[i], 0, sizeof results[i]);
    if (!seer_map_get(m->by_id, requests[i].task, &index)) {
      return SEER_FAIL(INTERNAL, "task %u was never announced", requests[i].task);
    }
    double seconds = fake_seconds(m, &m->task[index], &requests[i].schedule, &hash);
    if (hash % FAILURE_SHARE == 0) {
      results[i].cls = SEER_MEASURED_RUN_CRASH;
      (void)snprintf(results[i].message, sizeof results[i].message, "made up");
      continue;
    }
    results[i].seconds = seconds;
    results[i].n_samples = 3;
    for (uint32_t s = 0; s < 3; s++) results[i].sample[s] = seconds;
    results[i].is_raced_out =
        requests[i].best_seconds > 0 && seconds > 1.5 * requests[i].best_seconds;
  }
  return SEER_OK;
}

static seer_status fake_check(seer_measurer *m, const seer_measure_request *request,
    seer_measured_class *out_class, char *message, size_t message_bytes) {
  (void)m, (void)request;
  *out_class = SEER_MEASURED_OK;
  if (message_bytes) message[0] = 0;
  return SEER_OK;
}

static seer_status fake_compare(seer_measurer *m, uint32_t task, const seer_schedule *contenders,
    uint32_t n, const seer_schedule *baseline, uint32_t n_pairs, seer_measure_ab *out_ab,
    seer_measure_pair *out_pairs) {
  uint64_t index = 0, hash;
  if (!seer_map_get(m->by_id, task, &index))
    return SEER_FAIL(INTERNAL, "task %u was never announced", task);
  for (uint32_t i = 0; i < n; i++) {
    seer_measure_ab *ab = &out_ab[i];
    ab->seconds = fake_seconds(m, &m->task[index], &contenders[i], &hash);
    ab->baseline_seconds = fake_seconds(m, &m->task[index], baseline, &hash);
    ab->n_pairs = n_pairs;
    ab->speedup = ab->baseline_seconds / ab->seconds;
    ab->p_value = ab->speedup > 1 ? pow(0.5, n_pairs) : 1;
    for (uint32_t k = 0; out_pairs && k < n_pairs; k++)
      out_pairs[i * n_pairs + k] = (seer_measure_pair){ab->seconds, ab->baseline_seconds};
  }
  return SEER_OK;
}

const seer_measure_desc seer_measure_fake = {.name = "fake",
    .doc = "times from the analytic model and seeded noise, for tests",
    .open = fake_open,
    .close = fake_close,
    .add_task = fake_add_task,
    .measure = fake_measure,
    .check = fake_check,
    .compare = fake_compare};
