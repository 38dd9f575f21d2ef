// fake.c - a machine made of arithmetic: seconds from the analytic model, bent by a seeded factor
// per schedule, and failures for a seeded few. The same schedule always takes the same time,
// whatever was measured before: campaigns on it are repeatable to the byte and need no hardware.
// With slower=N behind its name it takes N times as long for everything.
// Candidates go through the same queue as on real devices (local/), to endpoints of kind fake.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "learn/feature.h"
#include "measure/backends.h"
#include "measure/local/devices.h"
#include "measure/wire/message.h"

#define NOISE 0.15  // the factor is in [1 - NOISE, 1 + NOISE]
#define FAILURE_SHARE 64  // one in so many fails

typedef struct {
  seer_measure_task task;
  seer_summariser *summariser;
} fake_task;

struct seer_measurer {
  const seer_target *target;
  seer_arena *arena, *batch;
  const seer_measure_pace *pace;
  seer_endpoint_fake device[SEER_MEASURE_MAX_DEVICES];  // devices.n of them
  seer_devices devices;
  const seer_measure_request *requests;  // in hand
  seer_measure_result *results;
  uint64_t seed;
  double slower;
  seer_map *by_id;
  size_t n, cap;
  fake_task *task;
};

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
  return seconds * m->slower * (1 + NOISE * (2 * noise - 1));
}

// What a request comes to, on any device.
static void compute(void *user, size_t i, seer_text *answer) {
  const seer_measurer *m = user;
  const seer_measure_request *request = &m->requests[i];
  uint64_t index = 0, hash;
  (void)seer_map_get(m->by_id, request->task, &index);  // it was looked up
  double seconds = fake_seconds(m, &m->task[index], &request->schedule, &hash);
  seer_measure_result result = {0};
  if (hash % FAILURE_SHARE == 0) {
    result.cls = SEER_MEASURED_RUN_CRASH;
    (void)snprintf(result.message, sizeof result.message, "made up");
  } else {
    result.seconds = seconds;
    result.n_samples = 3;
    for (uint32_t s = 0; s < 3; s++) result.sample[s] = seconds;
    result.is_raced_out = request->best_seconds > 0 && seconds > 1.5 * request->best_seconds;
  }
  seer_message_put_result(answer, &result);
}

static seer_status order(
    void *user, uint32_t job, uint32_t device, seer_endpoint_order *out, bool *out_is_done) {
  (void)user, (void)device, (void)out_is_done;
  out->index = job;
  return SEER_OK;
}

static seer_status take(
    void *user, uint32_t job, uint32_t device, const void *payload, size_t n_bytes) {
  seer_measurer *m = user;
  SEER_TRY(seer_message_get_result(payload, n_bytes, m->batch, &m->results[job]));
  m->results[job].device = device;
  if (m->pace) m->results[job].run_s = m->pace->delay_s;
  return SEER_OK;
}

static void fail(
    void *user, uint32_t job, uint32_t device, seer_measured_class cls, const char *why) {
  seer_measure_result *result = &((seer_measurer *)user)->results[job];
  *result = (seer_measure_result){.cls = cls, .device = device};
  (void)snprintf(result->message, sizeof result->message, "%s", why);
}

static seer_status fake_measure(seer_measurer *m, const seer_measure_request *requests, uint32_t n,
    seer_meanwhile *meanwhile, seer_measure_result *results) {
  uint64_t start_ns = seer_os_now_ns(), index;
  if (meanwhile) meanwhile->run(meanwhile->user);
  memset(results, 0, n * sizeof *results);
  for (uint32_t i = 0; i < n; i++)
    SEER_TRY(seer_measure_index_of(m->by_id, requests[i].task, &index));
  seer_arena_reset(m->batch);
  seer_queue queue;
  seer_queue_init(&queue, n, m->batch);
  for (uint32_t i = 0; i < n; i++) {
    if (requests[i].wanted > 0) queue.job[i].wanted = requests[i].wanted - 1;
    seer_queue_built(&queue, i, true);
  }
  m->requests = requests;
  m->results = results;
  const seer_device_work work = {.user = m,
      .queue = &queue,
      .arena = m->batch,
      .pace = m->pace,
      .start_ns = start_ns,
      .order = order,
      .take = take,
      .fail = fail};
  return seer_devices_run(&m->devices, &work);
}

static seer_status fake_check(seer_measurer *m, const seer_measure_request *request,
    seer_measured_class *out_class, char *message, size_t message_bytes) {
  (void)m, (void)request;
  *out_class = SEER_MEASURED_OK;
  if (message_bytes) message[0] = 0;
  return SEER_OK;
}

static seer_status fake_compare(seer_measurer *m, uint32_t device, uint32_t task,
    const seer_schedule *contenders, uint32_t n, const seer_schedule *baseline, uint32_t n_pairs,
    seer_measure_ab *out_ab, seer_measure_pair *out_pairs) {
  (void)device;
  uint64_t index = 0, hash;
  SEER_TRY(seer_measure_index_of(m->by_id, task, &index));
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

// ---- life
static void fake_close(seer_measurer *m) {
  if (!m) return;
  for (uint32_t k = 0; k < m->devices.n; k++)
    m->device[k].endpoint.desc->lost(&m->device[k].endpoint);
  seer_arena_destroy(m->batch);
  seer_arena_destroy(m->arena);
  free(m);
}

static seer_status start_device(seer_measurer *m, const char *name) {
  const seer_endpoint_facts facts = {.name = name};
  seer_endpoint_fake *device = &m->device[m->devices.n];
  SEER_TRYF(seer_endpoint_fake_start(device, &facts, compute, m), "device %s", name);
  seer_devices_add(&m->devices, &device->endpoint);
  return SEER_OK;
}

static seer_status start_devices(seer_measurer *m, const seer_device_list *list) {
  if (list->n == 0) return start_device(m, "fake");
  for (uint32_t k = 0; k < list->n; k++) {
    if (list->device[k].kind != SEER_DEVICE_FAKE)
      return SEER_FAIL(INVALID,
          "device %s is of kind %s, which measurer fake has none of: it has fake",
          list->device[k].name, seer_device_kind_name(list->device[k].kind));
    SEER_TRY(start_device(m, list->device[k].name));
  }
  return SEER_OK;
}

#define MAX_SLOWER 1000.0

static seer_status read_argument(seer_measurer *m, const char *argument) {
  static const char slower[] = "slower=";
  char *end = NULL;
  m->slower = 1;
  if (!argument[0]) return SEER_OK;
  bool is_slower = strncmp(argument, slower, strlen(slower)) == 0;
  if (is_slower) m->slower = strtod(argument + strlen(slower), &end);
  if (is_slower && *end == '\0' && m->slower >= 1 && m->slower <= MAX_SLOWER) return SEER_OK;
  return SEER_FAIL(
      INVALID, "measurer fake: '%s', must be slower=N, N from 1 to %g", argument, MAX_SLOWER);
}

static seer_status fake_open(const seer_context *context, const seer_target *target,
    const char *argument, seer_measurer **out_measurer) {
  *out_measurer = NULL;
  seer_measurer *m = calloc(1, sizeof(*m));
  if (!m) return SEER_FAIL(RESOURCE, "no memory for a measurer");
  m->target = target;
  m->arena = seer_arena_create("fake measurer");
  m->batch = seer_arena_create("fake batch");
  m->by_id = seer_map_create(m->arena);
  m->seed = (uint64_t)seer_context_i64(context, SEER_OPT_SEED);
  m->devices.context = context;
  seer_status status = read_argument(m, argument);
  if (!status) status = start_devices(m, seer_context_devices(context));
  if (status) {
    fake_close(m);
    return status;
  }
  *out_measurer = m;
  return SEER_OK;
}

static void fake_describe(const seer_measurer *m, seer_measure_facts *out) {
  seer_devices_describe(&m->devices, out);
  out->n_builders = m->target->threads;
}

static void fake_set_pace(seer_measurer *m, const seer_measure_pace *pace) {
  m->pace = pace;
  m->devices.leave_fd = pace->leave_fd;
}

const seer_measure_desc seer_measure_fake = {.name = "fake",
    .doc = "times from the analytic model and seeded noise, for tests",
    .argument = "[slower=N]",
    .open = fake_open,
    .close = fake_close,
    .describe = fake_describe,
    .set_pace = fake_set_pace,
    .add_task = fake_add_task,
    .measure = fake_measure,
    .check = fake_check,
    .compare = fake_compare};
