// devices.c - leases: who has which job, and what becomes of it. The contract: devices.h.
#include "measure/local/devices.h"

#include <stdio.h>
#include <string.h>

#define NO_JOB UINT32_MAX
#define LOOK_NS 50000000u  // until it is seen that the user has stopped

void seer_devices_add(seer_devices *all, seer_endpoint *endpoint) {
  SEER_ASSERT(all->n < SEER_MEASURE_MAX_DEVICES, "%u devices", all->n);
  all->device[all->n++] = (seer_queue_device){.endpoint = endpoint, .job = NO_JOB};
}

void seer_devices_describe(const seer_devices *all, seer_measure_facts *out) {
  *out = (seer_measure_facts){.n_devices = all->n};
  for (uint32_t k = 0; k < all->n; k++) {
    const seer_queue_device *d = &all->device[k];
    out->name[k] = d->endpoint->desc->describe(d->endpoint).name;
    out->is_left_out[k] = d->is_left_out;
  }
}

uint32_t seer_devices_left(const seer_devices *all) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < all->n; k++) n += !all->device[k].is_left_out;
  return n;
}

uint32_t seer_devices_home(const seer_devices *all) {
  for (uint32_t k = 0; k < all->n; k++)
    if (!all->device[k].is_left_out) return k;
  return 0;
}

// `status` of an endpoint that is lost for good. The last one takes the measurer along.
static seer_status leave_out(
    seer_devices *all, uint32_t k, const seer_device_work *work, seer_status status) {
  seer_queue_device *d = &all->device[k];
  char why[SEER_MEASURE_MESSAGE_BYTES];
  (void)snprintf(why, sizeof why, "%s", seer_status_message(status));
  d->is_left_out = true;
  d->is_starting = false;
  if (seer_devices_left(all) == 0) return status;
  seer_log(all->context, "measure", 1, "device %s is left out, %u of %u go on: %s",
      d->endpoint->desc->describe(d->endpoint).name, seer_devices_left(all), all->n, why);
  seer_status_free(status);
  d->endpoint->desc->lost(d->endpoint);
  for (uint32_t job; seer_queue_leave_out(work->queue, k, &job);)
    work->fail(work->user, job, k, SEER_MEASURED_DEVICE_LOST, why);
  return SEER_OK;
}

static seer_status restart(seer_devices *all, uint32_t k, const seer_device_work *work) {
  seer_endpoint *endpoint = all->device[k].endpoint;
  all->device[k].is_starting = true;
  seer_status status = endpoint->desc->restart(endpoint);
  return status ? leave_out(all, k, work, status) : SEER_OK;
}

// What the device had goes back once.
static void lose_job(
    seer_queue_device *d, uint32_t k, const seer_device_work *work, const char *why) {
  uint32_t job = d->job;
  d->job = NO_JOB;
  if (seer_queue_return(work->queue, job)) return;
  work->fail(work->user, job, k, SEER_MEASURED_RUN_CRASH, why);
}

static seer_status hand_over(
    seer_devices *all, uint32_t k, const seer_device_work *work, uint32_t job) {
  seer_queue_device *d = &all->device[k];
  seer_endpoint_order order = {0};
  bool is_done = false;
  d->job = job;
  SEER_TRY(work->order(work->user, job, k, &order, &is_done));
  if (is_done) {
    d->job = NO_JOB;
    seer_queue_done(work->queue, job);
    return SEER_OK;
  }
  seer_status status = d->endpoint->desc->ask(d->endpoint, &order);
  if (!status) return SEER_OK;
  d->job = NO_JOB;
  seer_queue_take_back(work->queue, job);
  if (seer_status_code(status) == SEER_CODE_DEVICE) return leave_out(all, k, work, status);
  seer_status_free(status);
  return restart(all, k, work);
}

// ---- a slower device than there is
static bool is_paced(const seer_device_work *work) {
  return work->pace && work->pace->delay_s > 0 && !*work->pace->is_stopped;
}

static bool is_due(const seer_queue_device *d, const seer_device_work *work) {
  return is_paced(work) && seer_os_now_ns() < d->due_ns;
}

// It has done one more.
static void count(seer_queue_device *d, const seer_device_work *work) {
  if (!is_paced(work)) return;
  if (d->due_ns < work->start_ns) d->due_ns = work->start_ns;
  d->due_ns += (uint64_t)(work->pace->delay_s * 1e9);
}

bool seer_devices_are_due(const seer_devices *all, const seer_device_work *work) {
  for (uint32_t k = 0; k < all->n; k++)
    if (!all->device[k].is_left_out && is_due(&all->device[k], work)) return true;
  return false;
}

// ---- leases
static bool is_free(const seer_queue_device *d, const seer_device_work *work) {
  return !d->is_left_out && !d->is_starting && d->job == NO_JOB && !is_due(d, work);
}

static bool may_work(const seer_queue_device *d, const cpu_set_t *busy) {
  const cpu_set_t *own = d->endpoint->desc->describe(d->endpoint).processors;
  if (!own || !busy) return true;
  cpu_set_t both;
  CPU_AND(&both, own, busy);
  return CPU_COUNT(&both) == 0;
}

seer_status seer_devices_hand_out(
    seer_devices *all, const seer_device_work *work, const cpu_set_t *busy) {
  for (uint32_t k = 0; k < all->n; k++) {
    seer_queue_device *d = &all->device[k];
    uint32_t job;
    while (may_work(d, busy) && is_free(d, work) && seer_queue_lease(work->queue, k, &job))
      SEER_TRY(hand_over(all, k, work, job));
    for (; d->is_left_out && seer_queue_leave_out(work->queue, k, &job);)
      work->fail(work->user, job, k, SEER_MEASURED_DEVICE_LOST, "its device was left out");
  }
  return SEER_OK;
}

void seer_devices_watch(const seer_devices *all, const seer_device_work *work, seer_watch *watch) {
  for (uint32_t k = 0; k < all->n; k++) {
    const seer_queue_device *d = &all->device[k];
    int fd = -1;
    uint64_t until_ns = UINT64_MAX;
    if (d->job != NO_JOB || d->is_starting) {
      d->endpoint->desc->poll(d->endpoint, &fd, &until_ns);
    } else if (!d->is_left_out && is_due(d, work)) {
      uint64_t look_ns = seer_os_now_ns() + LOOK_NS;
      until_ns = d->due_ns < look_ns ? d->due_ns : look_ns;
    }
    seer_watch_add(watch, fd, until_ns);
  }
}

static seer_status time_out(seer_devices *all, uint32_t k, const seer_device_work *work) {
  seer_queue_device *d = &all->device[k];
  uint32_t job = d->job;
  d->job = NO_JOB;
  count(d, work);
  seer_queue_done(work->queue, job);
  work->fail(work->user, job, k, SEER_MEASURED_RUN_TIMEOUT, "the run took too long");
  return restart(all, k, work);
}

// An answer that cannot be read is an endpoint that cannot be trusted any more.
static seer_status take_answer(seer_devices *all, uint32_t k, const seer_device_work *work) {
  seer_queue_device *d = &all->device[k];
  const void *payload = NULL;
  size_t n_bytes = 0;
  bool is_over = false;
  seer_status status =
      d->endpoint->desc->answer(d->endpoint, work->arena, &is_over, &payload, &n_bytes);
  if (!status && !is_over) return SEER_OK;
  if (!status) status = work->take(work->user, d->job, k, payload, n_bytes);
  if (!status) {
    count(d, work);
    seer_queue_done(work->queue, d->job);
    d->job = NO_JOB;
    return SEER_OK;
  }
  bool is_late = seer_status_code(status) == SEER_CODE_TIMEOUT;
  if (!is_late) lose_job(d, k, work, seer_status_message(status));
  seer_status_free(status);
  return is_late ? time_out(all, k, work) : restart(all, k, work);
}

static seer_status take_start(seer_devices *all, uint32_t k, const seer_device_work *work) {
  seer_queue_device *d = &all->device[k];
  bool is_up = false;
  seer_status status = d->endpoint->desc->rise(d->endpoint, &is_up);
  if (status) return leave_out(all, k, work, status);
  d->is_starting = !is_up;
  return SEER_OK;
}

seer_status seer_devices_take(seer_devices *all, const seer_device_work *work, const bool *ready) {
  for (uint32_t k = 0; k < all->n; k++) {
    const seer_queue_device *d = &all->device[k];
    if (d->job == NO_JOB && !d->is_starting) continue;
    int fd;
    uint64_t until_ns;
    d->endpoint->desc->poll(d->endpoint, &fd, &until_ns);
    bool is_over = seer_os_now_ns() >= until_ns;
    if (d->is_starting && (ready[k] || is_over)) {
      SEER_TRY(take_start(all, k, work));
    } else if (!d->is_starting && ready[k]) {
      SEER_TRY(take_answer(all, k, work));
    } else if (!d->is_starting && is_over) {
      SEER_TRY(time_out(all, k, work));
    }
  }
  return SEER_OK;
}

seer_status seer_devices_run(seer_devices *all, const seer_device_work *work) {
  for (;;) {
    SEER_TRY(seer_devices_hand_out(all, work, NULL));
    if (seer_queue_is_done(work->queue) && !seer_devices_are_due(all, work)) return SEER_OK;
    seer_watch watch;
    seer_watch_begin(&watch);
    seer_devices_watch(all, work, &watch);
    if (!seer_watch_has_any(&watch)) continue;  // a device was lost over the last ones
    SEER_TRY(seer_watch_wait(&watch, all->leave_fd));
    SEER_TRY(seer_devices_take(all, work, watch.is_ready));
  }
}
