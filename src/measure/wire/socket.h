// socket.h - messages over a socket between a tuner and one of its worker processes.
//
// Threads: one at a time for each end of a socket.
#ifndef SEER_MEASURE_WIRE_SOCKET_H
#define SEER_MEASURE_WIRE_SOCKET_H

#include "base/os.h"
#include "measure/wire/wire.h"

// TIMEOUT: the other end does not read; RESOURCE, IO: it is gone. Never a signal.
SEER_MUST_USE seer_status seer_socket_send(
    int fd, seer_wire_type type, uint32_t seq, const seer_text *payload, uint64_t timeout_ns);
// Payload in `arena`. TIMEOUT, IO (the other end is gone), CORRUPT.
SEER_MUST_USE seer_status seer_socket_receive(int fd, seer_arena *arena, uint64_t timeout_ns,
    seer_wire_header *out_header, const void **out_payload);

#endif
