// local.c - requests -> builder processes -> objects -> runner processes -> times.
// Building and timing alternate where both have the same processors: a runner waits until no
// builder works on its own. Workers live as long as the campaign; one that crashes or hangs is
// replaced.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/recover.h"
#include "measure/local/inside.h"
#include "runtime/device/device.h"

#define RUN_LIMIT_FACTOR 500  // of the best known time, plus RUN_LIMIT_SLACK_S
#define RUN_LIMIT_SLACK_S 2.0

// A request's own timing lasts as long as --min-repeat says, where it was given.
static seer_timing timing_of(const seer_measurer *m, const seer_measure_request *request) {
  seer_timing timing = request->timing ? *request->timing : m->timing;
  if (seer_context_is_set(m->context, SEER_OPT_MIN_REPEAT)) timing.least_s = m->timing.least_s;
  return timing;
}

// ---- orders
static seer_text *start_order(
    seer_measurer *m, seer_wire_type type, double limit_s, seer_endpoint_order *out) {
  seer_text *text = SEER_NEW(m->batch, seer_text);
  seer_text_init(text, m->batch);
  *out = (seer_endpoint_order){.type = type, .message = text, .limit_s = limit_s};
  return text;
}

// ---- measuring
typedef struct {
  seer_measurer *m;
  const seer_measure_request *requests;
  uint32_t n;
  seer_queue queue;
  seer_built *builds;
  seer_measure_result *results;
  seer_meanwhile *meanwhile;  // NULL: it is over
  seer_os_thread *beside;
  int fds[2];  // [0] can be read when the caller's own work is over
  uint64_t built_ns;  // when nothing was being built any more; 0: not yet
} batch;

// The first one's schedule, which later ones race against.
static bool is_first_witness(const batch *b, uint32_t job) {
  const seer_measure_request *request = &b->requests[job];
  return request->is_witness && seer_schedule_equal(&request->schedule, &b->requests[0].schedule);
}

static double best_seconds(const batch *b, uint32_t job, uint32_t device) {
  double witness_s = b->m->device[device].witness_s;
  bool is_raced = !b->requests[job].is_witness && witness_s > 0;
  return is_raced ? witness_s : b->requests[job].best_seconds;
}

static seer_status order_run(
    void *user, uint32_t job, uint32_t device, seer_endpoint_order *out, bool *out_is_done) {
  batch *b = user;
  seer_measurer *m = b->m;
  const seer_measure_request *request = &b->requests[job];
  const seer_built *build = &b->builds[job];
  seer_twin first;
  *out_is_done = !request->is_witness &&
      seer_twins_find(&m->device[device].twins, request->task, build->object_hash, &first);
  if (*out_is_done) {
    seer_twin_result(&first, &b->results[job]);
    b->results[job].device = device;
    return SEER_OK;
  }
  double best_s = best_seconds(b, job, device);
  double limit_s = m->run_timeout_s;
  if (best_s > 0) limit_s = fmin(limit_s, RUN_LIMIT_SLACK_S + RUN_LIMIT_FACTOR * best_s);
  seer_message_run *message = SEER_NEW(m->batch, seer_message_run);
  *message = (seer_message_run){request->task, best_s, timing_of(m, request), *build->kernel};
  seer_text *text = start_order(m, SEER_WIRE_RUN, limit_s, out);
  seer_message_put_run(text, message);
  return seer_local_order_task(m, request->task, out);
}

// A result that is the candidate's own, of whatever class.
static void keep_result(batch *b, uint32_t job, uint32_t device) {
  const seer_measure_request *request = &b->requests[job];
  seer_measure_result *result = &b->results[job];
  seer_local_device *d = &b->m->device[device];
  result->build_s = b->builds[job].build_s;
  result->device = device;
  if (is_first_witness(b, job) && result->cls == SEER_MEASURED_OK) d->witness_s = result->seconds;
  // A crash may have been the runner's own, killed by somebody: its twins get a chance.
  if (request->is_witness || result->cls == SEER_MEASURED_RUN_CRASH ||
      result->cls == SEER_MEASURED_DEVICE_LOST)
    return;
  const seer_twin first = {result->seconds, result->cls, result->is_raced_out};
  seer_twins_add(&d->twins, request->task, b->builds[job].object_hash, &first);
}

static seer_status take_run(
    void *user, uint32_t job, uint32_t device, const void *payload, size_t n_bytes) {
  batch *b = user;
  seer_measure_result *result = &b->results[job];
  SEER_TRY(seer_message_get_result(payload, n_bytes, b->m->batch, result));
  if (result->cls == SEER_MEASURED_OK && result->n_samples == 0)
    return SEER_FAIL(CORRUPT, "a result without samples");
  if (b->m->pace) result->run_s = fmax(result->run_s, b->m->pace->delay_s);
  keep_result(b, job, device);
  return SEER_OK;
}

static void fail_run(
    void *user, uint32_t job, uint32_t device, seer_measured_class cls, const char *why) {
  batch *b = user;
  memset(&b->results[job], 0, sizeof b->results[job]);
  seer_local_refuse(&b->results[job], cls, why);
  keep_result(b, job, device);
}

// ---- the caller's own work
// It has the processors of the last builder: on these nothing is timed until it is over.
static const cpu_set_t *place_of_meanwhile(const seer_measurer *m) {
  return &m->places.place[m->places.n_places - 1];
}

static void run_beside(void *user) {
  const batch *b = user;
  const cpu_set_t *place = place_of_meanwhile(b->m);
  (void)sched_setaffinity(0, sizeof *place, place);  // refused: what is timed is disturbed
  b->meanwhile->run(b->meanwhile->user);
  seer_status_free(seer_os_write_all(b->fds[1], "x", 1));  // it is joined in any case
}

// Where no thread can be had it is done when all is built.
static void begin_meanwhile(batch *b) {
  seer_status status = seer_os_pipe(b->fds);
  if (!status) status = seer_os_thread_create(run_beside, b, &b->beside);
  seer_status_free(status);
}

static void end_meanwhile(batch *b) {
  if (b->meanwhile) {
    uint64_t from_ns = b->built_ns ? b->built_ns : seer_os_now_ns();
    if (b->beside)
      seer_os_thread_join(b->beside);
    else
      b->meanwhile->run(b->meanwhile->user);
    b->meanwhile->waited_s = (double)(seer_os_now_ns() - from_ns) * 1e-9;
  }
  for (int i = 0; i < 2; i++) {
    seer_os_close(b->fds[i]);
    b->fds[i] = -1;
  }
  b->beside = NULL;
  b->meanwhile = NULL;
}

// ---- a batch
// Who works where something might be timed: builders, and the caller.
static void find_busy(batch *b, cpu_set_t *busy) {
  CPU_ZERO(busy);
  seer_builders_add_busy(&b->m->builders, busy);
  bool is_building = seer_queue_is_building(&b->queue);
  if (!is_building && b->built_ns == 0) b->built_ns = seer_os_now_ns();
  if (!is_building && !b->beside) end_meanwhile(b);
  if (b->meanwhile) CPU_OR(busy, busy, place_of_meanwhile(b->m));
}

// Builders take what there is to build; who has none of their processors takes what is built.
static seer_status measure_batch(void *user) {
  batch *b = user;
  seer_measurer *m = b->m;
  const seer_build_batch builds = {
      &m->tasks, m->batch, &b->queue, b->requests, b->builds, b->results};
  const seer_device_work work = {.user = b,
      .queue = &b->queue,
      .arena = m->batch,
      .pace = m->pace,
      .start_ns = seer_os_now_ns(),
      .order = order_run,
      .take = take_run,
      .fail = fail_run};
  for (;;) {
    cpu_set_t busy;
    SEER_TRY(seer_builders_hand_out(&m->builders, &builds));
    find_busy(b, &busy);
    SEER_TRY(seer_devices_hand_out(&m->devices, &work, &busy));
    if (seer_queue_is_done(&b->queue) && !seer_devices_are_due(&m->devices, &work)) return SEER_OK;
    seer_watch watch;
    seer_watch_begin(&watch);
    seer_builders_watch(&m->builders, &watch);
    seer_devices_watch(&m->devices, &work, &watch);
    seer_watch_add(&watch, b->beside ? b->fds[0] : -1, UINT64_MAX);
    if (!seer_watch_has_any(&watch)) continue;
    SEER_TRY(seer_watch_wait(&watch, m->devices.leave_fd));
    SEER_TRY(seer_builders_take(&m->builders, &builds, watch.is_ready));
    SEER_TRY(seer_devices_take(&m->devices, &work, watch.is_ready + m->builders.n));
    if (watch.is_ready[watch.n - 1]) end_meanwhile(b);
  }
}

static seer_status local_measure(seer_measurer *m, const seer_measure_request *requests, uint32_t n,
    seer_meanwhile *meanwhile, seer_measure_result *results) {
  seer_arena_reset(m->batch);
  batch b = {.m = m,
      .requests = requests,
      .n = n,
      .builds = SEER_NEW_ARRAY(m->batch, seer_built, n),
      .results = results,
      .meanwhile = meanwhile,
      .fds = {-1, -1}};
  memset(results, 0, n * sizeof(*results));
  seer_queue_init(&b.queue, n, m->batch);
  for (uint32_t i = 0; i < n; i++)
    if (requests[i].wanted > 0) b.queue.job[i].wanted = requests[i].wanted - 1;
  for (uint32_t k = 0; k < m->devices.n; k++) m->device[k].witness_s = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (requests[i].is_witness && seer_kept_find(m, &requests[i], &b.builds[i]))
      seer_queue_built(&b.queue, i, true);
  }
  if (meanwhile) begin_meanwhile(&b);
  // the thread is joined whatever this ends with
  seer_status status = n ? seer_recover(measure_batch, &b) : SEER_OK;
  end_meanwhile(&b);
  SEER_TRY(status);
  seer_kept_add_near_best(m, requests, n, b.builds, results);
  return SEER_OK;
}

// ---- life
static void local_close(seer_measurer *m) {
  if (!m) return;
  seer_builders_clear(&m->builders);
  for (uint32_t k = 0; k < SEER_MEASURE_MAX_DEVICES; k++) {
    seer_child_clear(&m->device[k].endpoint.child);
    seer_table_destroy(&m->device[k].twins);
  }
  for (uint32_t k = 0; k < m->n_kept; k++) seer_arena_destroy(m->kept[k].arena);
  seer_arena_destroy(m->arena);
  seer_arena_destroy(m->batch);
  free(m);
}

static bool has_driver(const seer_measurer *m) {
  return seer_context_target(m->context)->kind != SEER_TARGET_CPU;
}

// Does a device with a driver run on processors? One that does not say so is taken for one.
static bool runs_on_processors(const seer_measurer *m, uint32_t k) {
  const seer_device_list *devices = seer_context_devices(m->context);
  const char *kind = seer_target_kind_name(seer_context_target(m->context)->kind);
  seer_device_info info;
  uint32_t number = devices->n > 0 ? devices->device[k].number : 0;
  return seer_device_driver_find(kind)->describe(number, &info, NULL, 0) != SEER_RT_OK ||
      info.is_cpu;
}

// A device that runs on processors is timed when nobody works on these.
static bool needs_processors(const seer_measurer *m, uint32_t k) {
  return has_driver(m) ? runs_on_processors(m, k) : !seer_measure_is_elsewhere(m->context);
}

static seer_endpoint_facts facts_of(const seer_measurer *m, uint32_t k) {
  const char *name = m->places.name[k];
  const bool is_elsewhere = seer_measure_is_elsewhere(m->context);
  return (seer_endpoint_facts){.name = name,
      .processors = needs_processors(m, k) ? &m->places.device[k] : NULL,
      .address = is_elsewhere ? strchr(name, ':') + 1 : NULL,
      .device_flag = has_driver(m) ? seer_arena_printf(m->arena, "--devices=%s", name) : NULL};
}

static seer_status start_devices(seer_measurer *m) {
  for (uint32_t k = 0; k < m->places.n_devices; k++) {
    seer_local_device *d = &m->device[k];
    const seer_endpoint_facts facts = facts_of(m, k);
    seer_twins_init(&d->twins);
    seer_devices_add(&m->devices, &d->endpoint.endpoint);
    SEER_TRYF(
        seer_endpoint_child_start(&d->endpoint, &m->home, &facts, SEER_LOCAL_START_PATIENCE_NS),
        "device %s", facts.name);
  }
  return SEER_OK;
}

static seer_status find_places_of_drivers(
    seer_measurer *m, const seer_device_machine *here, uint32_t n_builders, const char *nvrtc) {
  const seer_device_list *devices = seer_context_devices(m->context);
  const char *kind = seer_target_kind_name(seer_context_target(m->context)->kind);
  bool is_cpu[SEER_DEVICES_MAX];
  uint32_t n_cpu = 0;
  for (uint32_t k = 0; k < devices->n; k++) {
    is_cpu[k] = runs_on_processors(m, k);
    n_cpu += is_cpu[k];
  }
  SEER_TRY(seer_local_places_of_drivers(devices, is_cpu, here, n_builders, seer_os_n_threads(),
      seer_arena_printf(m->arena, "%s:0", kind), &m->places));
  for (uint32_t k = 0; k < devices->n && n_cpu > 1; k++)
    if (is_cpu[k])
      seer_log(m->context, "measure", 0, "%s is timed on %d processor(s) of its own",
          m->places.name[k], CPU_COUNT(&m->places.device[k]));
  if (*nvrtc) m->home.nvrtc_flag = seer_arena_printf(m->arena, "--nvrtc=%s", nvrtc);
  m->home.device_flag = seer_arena_printf(m->arena, "--devices=%s", m->places.name[0]);
  return SEER_OK;
}

static seer_status find_places(seer_measurer *m) {
  const seer_device_list *devices = seer_context_devices(m->context);
  if (devices->n > 0 && devices->device[0].kind == SEER_DEVICE_FAKE)
    return SEER_FAIL(INVALID,
        "device %s is of kind %s, which measurer local has none of: it has cpu and runner",
        devices->device[0].name, seer_device_kind_name(devices->device[0].kind));
  const seer_device_machine here = seer_device_machine_here(0);
  int64_t n = seer_context_i64(m->context, SEER_OPT_BUILDERS);
  const char *nvrtc = seer_context_str(m->context, SEER_OPT_NVRTC);
  if (has_driver(m)) return find_places_of_drivers(m, &here, (uint32_t)n, nvrtc);
  seer_local_places_find(devices, &here, (uint32_t)n, seer_os_n_threads(), &m->places);
  if (m->places.n_builders > SEER_LOCAL_MAX_BUILDERS)
    m->places.n_builders = SEER_LOCAL_MAX_BUILDERS;
  return SEER_OK;
}

static seer_status local_open(const seer_context *context, const seer_target *target,
    const char *argument, seer_measurer **out_measurer) {
  (void)argument;
  *out_measurer = NULL;
  seer_measurer *m = calloc(1, sizeof(*m));
  if (!m) return SEER_FAIL(RESOURCE, "no memory for a measurer");
  m->context = m->home.context = context;
  m->arena = seer_arena_create("measurer");
  m->batch = seer_arena_create("measure batch");
  m->tasks.by_id = seer_map_create(m->arena);
  m->devices.context = context;
  m->home.target_flag =
      seer_arena_printf(m->arena, "--target=%s", seer_target_print(target, m->arena));
  if (seer_measure_is_elsewhere(context))
    m->home.key_flag = seer_arena_printf(
        m->arena, "--runner-key=%s", seer_context_str(context, SEER_OPT_RUNNER_KEY));
  m->run_timeout_s = seer_context_f64(context, SEER_OPT_TIMEOUT);
  m->timing.least_s = seer_context_f64(context, SEER_OPT_MIN_REPEAT);
  seer_child_tell_confinement(context);
  seer_status status = seer_child_find_program(context, m->arena, &m->home.program);
  if (!status) status = find_places(m);
  if (!status) status = start_devices(m);
  if (!status)
    status = seer_builders_start(&m->builders, &m->home, m->places.n_builders, m->places.place,
        m->places.n_places, seer_context_f64(context, SEER_OPT_BUILD_TIMEOUT));
  if (status) {
    local_close(m);
    return status;
  }
  *out_measurer = m;
  return SEER_OK;
}

static void local_describe(const seer_measurer *m, seer_measure_facts *out) {
  seer_devices_describe(&m->devices, out);
  out->n_builders = m->builders.n;
}

static void local_set_pace(seer_measurer *m, const seer_measure_pace *pace) {
  m->pace = pace;
  m->devices.leave_fd = m->builders.leave_fd = pace->leave_fd;
}

static seer_status local_add_task(seer_measurer *m, const seer_measure_task *task) {
  seer_local_tasks *all = &m->tasks;
  all->task = SEER_GROW(m->arena, seer_local_task, all->task, all->n, &all->cap);
  seer_map_set(all->by_id, task->id, all->n);
  seer_message_task message = {task->id, task->space, task->sketches->tolerance,
      task->network_weight_bytes, seer_dag_print(task->dag, m->arena)};
  all->task[all->n++] = (seer_local_task){*task, message};
  return SEER_OK;
}

const seer_measure_desc seer_measure_local = {.name = "local",
    .doc = "worker processes on this machine",
    .is_on_device = true,
    .open = local_open,
    .close = local_close,
    .describe = local_describe,
    .set_pace = local_set_pace,
    .add_task = local_add_task,
    .measure = local_measure,
    .check = seer_local_check,
    .compare = seer_local_compare};
