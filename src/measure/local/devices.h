// devices.h - built candidates -> endpoints -> answers: hands out what the queue has to whoever is
// free, and sees to it that each job ends once, whatever endpoints do.
//
//   dies, answers nonsense   restarted; what it had goes back once (queue.h), then RUN_CRASH
//   cannot be reached        restarted; what it was to have goes back, and that does not count
//   hangs                    restarted; RUN_TIMEOUT
//   does not come up again   left out, with a message; what it had goes back once, what only it
//                            might have had is DEVICE_LOST
// A restart takes its time, and nobody waits for it: the others go on.
//
// Memory: answers are in the work's arena. Threads: one. Errors: DEVICE when no device is left.
#ifndef SEER_MEASURE_LOCAL_DEVICES_H
#define SEER_MEASURE_LOCAL_DEVICES_H

#include "measure/local/endpoint.h"
#include "measure/local/queue.h"
#include "measure/local/watch.h"

typedef struct {
  seer_endpoint *endpoint;  // borrowed
  bool is_left_out, is_starting;
  uint32_t job;  // that it has in hand
  uint64_t due_ns;  // by the work's pace it is not done before with what it had
} seer_queue_device;

typedef struct {
  const seer_context *context;
  uint32_t n;
  seer_queue_device device[SEER_MEASURE_MAX_DEVICES];
  int leave_fd;  // of the pace
} seer_devices;

// What jobs are, to whom they belong. Each job ends by one call: `order` that says so, `take`
// without an error, or `fail`.
typedef struct {
  void *user;
  seer_queue *queue;
  seer_arena *arena;
  // NULL: it takes what it takes. Else what is done by asking takes delay_s at least, counted from
  // start_ns on, one after the other on each device.
  const seer_measure_pace *pace;
  uint64_t start_ns;
  // What `device` is to be asked. *out_is_done: nothing, the result is known already.
  seer_status (*order)(
      void *user, uint32_t job, uint32_t device, seer_endpoint_order *out, bool *out_is_done);
  // An error: it is nonsense.
  seer_status (*take)(void *user, uint32_t job, uint32_t device, const void *payload, size_t n);
  void (*fail)(void *user, uint32_t job, uint32_t device, seer_measured_class cls, const char *why);
} seer_device_work;

void seer_devices_add(seer_devices *devices, seer_endpoint *endpoint);
// Their names, and which are left out.
void seer_devices_describe(const seer_devices *devices, seer_measure_facts *out);
uint32_t seer_devices_left(const seer_devices *devices);  // for tests
// Where what is to stay on one device is done: the first that is left; 0 when none is.
uint32_t seer_devices_home(const seer_devices *devices);
// To all that are free and have none of their processors in `busy` (NULL: nothing is).
SEER_MUST_USE seer_status seer_devices_hand_out(
    seer_devices *devices, const seer_device_work *work, const cpu_set_t *busy);
// Adds one entry for each device.
void seer_devices_watch(
    const seer_devices *devices, const seer_device_work *work, seer_watch *watch);
// `ready`: of the entries that were added.
SEER_MUST_USE seer_status seer_devices_take(
    seer_devices *devices, const seer_device_work *work, const bool *ready);
// Is there one that by the work's pace is not done yet?
bool seer_devices_are_due(const seer_devices *devices, const seer_device_work *work);
// Until all jobs, built by now, are done.
SEER_MUST_USE seer_status seer_devices_run(seer_devices *devices, const seer_device_work *work);

#endif
