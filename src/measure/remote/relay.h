// relay.h - messages from a socket to a link and back, as they are, until one end is gone.
//
// Threads: one.
#ifndef SEER_MEASURE_REMOTE_RELAY_H
#define SEER_MEASURE_REMOTE_RELAY_H

#include "measure/remote/link.h"

typedef enum {
  SEER_RELAY_SOCKET_ENDED,
  SEER_RELAY_LINK_ENDED,  // or what came over it was none
  SEER_RELAY_RUNNER_ENDED  // the other end of the link says so
} seer_relay_end;

// Each message goes on when it is there as a whole. *out_why: what the end is by, for a log; the
// caller frees it. *out_exit_status: of a runner that has ended.
seer_relay_end seer_relay(seer_link *link, int socket, seer_status *out_why, int *out_exit_status);

#endif
