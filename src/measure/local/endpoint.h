// endpoint.h - a device, as who hands out work sees it: something that is asked one thing at a time
// and answers, or does not. A process on this machine, or one that speaks for a runner elsewhere,
// is one (endpoint_child.c), arithmetic another
// one (endpoint_fake.c).
//
// A request is followed by any number of `poll`, then `answer` when its descriptor can be read, and
// is over when that says so or fails. Whatever went wrong, the endpoint is restarted before it is
// asked again; that is any number of `poll`, and `rise` when its descriptor can be read or its time
// is over, until that says that it is up. Nothing here waits.
//
// Memory: an endpoint is its maker's; `lost` releases what it holds. Threads: one at a time for
// each.
#ifndef SEER_MEASURE_LOCAL_ENDPOINT_H
#define SEER_MEASURE_LOCAL_ENDPOINT_H

#include "measure/child.h"

// One request; borrowed until it has been sent.
typedef struct {
  size_t index;  // of the task, which goes before a request if the endpoint does not know it
  const seer_message_task *task;
  seer_wire_type type;  // the answer's is the one behind it
  const seer_text *message;
  double limit_s;  // for the request's own work
} seer_endpoint_order;

typedef struct {
  const char *name;  // "cpu:0-3"
  // Nothing is timed on it while somebody else works on one of these. NULL: it needs none. Kept.
  const cpu_set_t *processors;
  const char *address;  // of a runner on another machine, "pi4:7337"; NULL: it is here. Kept.
  const char *device_flag;  // of a device with a driver, "--devices=opencl:1"; NULL: none. Kept.
} seer_endpoint_facts;

typedef struct seer_endpoint seer_endpoint;
typedef struct {
  seer_endpoint_facts (*describe)(const seer_endpoint *endpoint);
  // DEVICE: it is lost for good. Another error: the request did not get there.
  seer_status (*ask)(seer_endpoint *endpoint, const seer_endpoint_order *order);
  // What to wait for until when; past that it hangs.
  void (*poll)(const seer_endpoint *endpoint, int *out_fd, uint64_t *out_until_ns);
  // What has come. *out_is_over: the answer, in `arena`; else that the request's own work has
  // begun. IO: it died, the message says of what; CORRUPT: what came is no answer; TIMEOUT: it is
  // not all of one.
  seer_status (*answer)(seer_endpoint *endpoint, seer_arena *arena, bool *out_is_over,
      const void **out_payload, size_t *out_n);
  // Whatever it was doing is forgotten; it begins to come up. DEVICE: it does not any more.
  seer_status (*restart)(seer_endpoint *endpoint);
  seer_status (*rise)(seer_endpoint *endpoint, bool *out_is_up);  // errors: as restart
  void (*lost)(seer_endpoint *endpoint);  // it is not asked again; twice is once
} seer_endpoint_desc;

struct seer_endpoint {
  const seer_endpoint_desc *desc;
};

// A runner on this machine, or the caller of one elsewhere. `home` is kept. Errors: as
// seer_child_start.
typedef struct {
  seer_endpoint endpoint;
  seer_child child;
  seer_endpoint_facts facts;
  seer_wire_type type;  // of the request in hand
  uint64_t limit_ns, until_ns;
} seer_endpoint_child;
SEER_MUST_USE seer_status seer_endpoint_child_start(seer_endpoint_child *endpoint,
    const seer_child_home *home, const seer_endpoint_facts *facts, uint64_t patience_ns);

// One that answers at once what `compute` makes of the request, in `answer`, which is `arena`'s of
// the call; how long that takes on a device is for seer_device_work.pace to say. Errors: OS.
typedef struct {
  seer_endpoint endpoint;
  seer_endpoint_facts facts;
  void (*compute)(void *user, size_t index, seer_text *answer);
  void *user;
  size_t index;  // of the request in hand
  int fds[2];  // [0] can always be read
} seer_endpoint_fake;
SEER_MUST_USE seer_status seer_endpoint_fake_start(seer_endpoint_fake *endpoint,
    const seer_endpoint_facts *facts, void (*compute)(void *, size_t, seer_text *), void *user);

#endif
