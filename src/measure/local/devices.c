// devices.c - leases: who has which job, and what becomes of it. The contract: devices.h.
#include "measure/local/devices.h"

#include <stdio.h>
#include <string.h>

#define NO_JOB UINT32_MAX

void seer_devices_add(seer_devices *all, seer_endpoint *endpoint) {
  SEER_ASSERT(all->n < SEER_MEASURE_MAX_DEVICES, "%u devices", all->n);
  all->device[all->n++] = (seer_queue_device){.endpoint = endpoint, .job = NO_JOB};
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

static bool shares_processors(const seer_queue_device *d) {
  return d->endpoint->desc->describe(d->endpoint).shares_processors;
}

bool seer_devices_share(const seer_devices *all) {
  for (uint32_t k = 0; k < all->n; k++)
    if (!all->device[k].is_left_out && shares_processors(&all->device[k])) return true;
  return false;
}

// `status` of an endpoint that is lost for good. The last one takes the measurer along.
static seer_status leave_out(
    seer_devices *all, uint32_t k, const seer_device_work *work, seer_status status) {
  seer_queue_device *d = &all->device[k];
  char why[SEER_MEASURE_MESSAGE_BYTES];
  (void)snprintf(why, sizeof why, "%s", seer_status_message(status));
  d->is_left_out = true;
  if (seer_devices_left(all) == 0) return status;
  seer_log(all->context, "measure", 0, "device %s is left out, %u of %u go on: %s",
      d->endpoint->desc->describe(d->endpoint).name, seer_devices_left(all), all->n, why);
  seer_status_free(status);
  d->endpoint->desc->lost(d->endpoint);
  for (uint32_t job; seer_queue_leave_out(work->queue, k, &job);)
    work->fail(work->user, job, k, SEER_MEASURED_DEVICE_LOST, why);
  return SEER_OK;
}

static seer_status restart(seer_devices *all, uint32_t k, const seer_device_work *work) {
  seer_endpoint *endpoint = all->device[k].endpoint;
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
  lose_job(d, k, work, seer_status_message(status));
  if (seer_status_code(status) == SEER_CODE_DEVICE) return leave_out(all, k, work, status);
  seer_status_free(status);
  return restart(all, k, work);
}

seer_status seer_devices_hand_out(
    seer_devices *all, const seer_device_work *work, bool is_building) {
  for (uint32_t k = 0; k < all->n; k++) {
    seer_queue_device *d = &all->device[k];
    if (is_building && shares_processors(d)) continue;
    uint32_t job;
    while (!d->is_left_out && d->job == NO_JOB && seer_queue_lease(work->queue, k, &job))
      SEER_TRY(hand_over(all, k, work, job));
    for (; d->is_left_out && seer_queue_leave_out(work->queue, k, &job);)
      work->fail(work->user, job, k, SEER_MEASURED_DEVICE_LOST, "its device was left out");
  }
  return SEER_OK;
}

void seer_devices_watch(const seer_devices *all, seer_watch *watch) {
  for (uint32_t k = 0; k < all->n; k++) {
    const seer_queue_device *d = &all->device[k];
    int fd = -1;
    uint64_t until_ns = UINT64_MAX;
    if (d->job != NO_JOB) d->endpoint->desc->poll(d->endpoint, &fd, &until_ns);
    seer_watch_add(watch, fd, until_ns);
  }
}

static seer_status time_out(seer_devices *all, uint32_t k, const seer_device_work *work) {
  seer_queue_device *d = &all->device[k];
  uint32_t job = d->job;
  d->job = NO_JOB;
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
    seer_queue_done(work->queue, d->job);
    d->job = NO_JOB;
    return SEER_OK;
  }
  bool is_late = seer_status_code(status) == SEER_CODE_TIMEOUT;
  if (!is_late) lose_job(d, k, work, seer_status_message(status));
  seer_status_free(status);
  return is_late ? time_out(all, k, work) : restart(all, k, work);
}

seer_status seer_devices_take(seer_devices *all, const seer_device_work *work, const bool *ready) {
  for (uint32_t k = 0; k < all->n; k++) {
    const seer_queue_device *d = &all->device[k];
    if (d->job == NO_JOB) continue;
    int fd;
    uint64_t until_ns;
    d->endpoint->desc->poll(d->endpoint, &fd, &until_ns);
    if (ready[k]) {
      SEER_TRY(take_answer(all, k, work));
    } else if (seer_os_now_ns() >= until_ns) {
      SEER_TRY(time_out(all, k, work));
    }
  }
  return SEER_OK;
}

seer_status seer_devices_run(seer_devices *all, const seer_device_work *work) {
  for (;;) {
    SEER_TRY(seer_devices_hand_out(all, work, false));
    if (seer_queue_is_done(work->queue)) return SEER_OK;
    if (work->queue->in[SEER_JOB_LEASED] == 0) continue;  // a device was lost over the last ones
    seer_watch watch;
    seer_watch_begin(&watch);
    seer_devices_watch(all, &watch);
    seer_watch_wait(&watch);
    SEER_TRY(seer_devices_take(all, work, watch.is_ready));
  }
}
