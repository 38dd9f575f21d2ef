// link.h - messages over TCP between two who have a secret in common, each sealed (HMAC-SHA256) by
// its sender for its place: the connection, the direction, its number. What was changed, left out,
// repeated, turned back or comes from another connection is refused, and ends the link. Nothing is
// hidden: who listens reads it.
//
//   board -> caller   "SEERLINK", 32 random bytes
//   caller -> board   32 random bytes
// From these and the secret both make a key for each direction. Then, both ways, any number of
//   frame (wire.h), payload, 32 bytes of seal over number, frame and payload
//
// Limits are moments of seer_os_now_ns. Threads: one at a time.
#ifndef SEER_MEASURE_REMOTE_LINK_H
#define SEER_MEASURE_REMOTE_LINK_H

#include "measure/wire/hmac.h"
#include "measure/wire/wire.h"

typedef struct {
  int fd;  // borrowed
  const char *name;  // of the other end; kept
  seer_hmac_key to, from;
  uint64_t n_sent, n_received;
} seer_link;

// Errors of all: IO: the other end is gone; TIMEOUT; RESOURCE; CORRUPT: what came is none, or not
// sealed by a holder of the secret.
SEER_MUST_USE seer_status seer_link_call(
    int fd, const char *name, const seer_hmac_key *secret, uint64_t until_ns, seer_link *out);
SEER_MUST_USE seer_status seer_link_take(
    int fd, const char *name, const seer_hmac_key *secret, uint64_t until_ns, seer_link *out);
SEER_MUST_USE seer_status seer_link_send(seer_link *link, seer_wire_type type, uint32_t seq,
    const seer_text *payload, uint64_t until_ns);
// Payload of at most max_bytes, in `arena`.
SEER_MUST_USE seer_status seer_link_receive(seer_link *link, uint64_t max_bytes, uint64_t until_ns,
    seer_arena *arena, seer_wire_header *out_header, const void **out_payload);

#endif
