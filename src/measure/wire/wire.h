// wire.h - messages as bytes: a frame, then a payload of fields. How they travel is not known here:
// over a socket between a tuner and its worker processes (socket.h), from there to another machine
// (remote/), or through a fleet's broker (fleet/). Both ends are this program, of one revision;
// nothing is believed for that: a worker may die in the middle of anything, be another program, or
// have had its memory written over by a candidate. So sizes, type, version and a hash are checked
// for every message, and every field is checked when it is read (message.h).
//
// A frame, 32 bytes, numbers little-endian:
//   0 "SEER"   4 u16 version   6 u16 type   8 u32 seq   12 u32 zero   16 u64 n_bytes   24 u64 hash
// of the payload.
//
// Pure. Threads: any.
#ifndef SEER_MEASURE_WIRE_WIRE_H
#define SEER_MEASURE_WIRE_WIRE_H

#include "base/text.h"

#define SEER_WIRE_VERSION 7
#define SEER_WIRE_FRAME_BYTES 32
#define SEER_WIRE_MAX_BYTES (1u << 28)

typedef enum {
  SEER_WIRE_HELLO = 1,  // worker -> parent, when it is ready
  SEER_WIRE_TASK,  // parent -> worker: a task's DAG
  SEER_WIRE_BUILD,  // parent -> builder
  SEER_WIRE_BUILT,  // answer
  SEER_WIRE_RUN,  // parent -> runner: time one kernel
  SEER_WIRE_RAN,
  SEER_WIRE_CHECK,  // parent -> runner: is the answer right?
  SEER_WIRE_CHECKED,
  SEER_WIRE_COMPARE,  // parent -> runner: kernels in turns
  SEER_WIRE_COMPARED,
  SEER_WIRE_BEGUN,  // worker -> parent: what the request needs is there, its own work begins
  // In a fleet (fleet/letter.h)
  SEER_WIRE_TUNING,  // tuner: that it is there
  SEER_WIRE_WORKER,  // worker: that it is there, and what it does
  SEER_WIRE_JOB,  // tuner -> any worker, or a certain one
  SEER_WIRE_ANSWER,  // worker -> tuner
  // Between a caller and a runner on another machine (remote/remote.h)
  SEER_WIRE_ASK,
  SEER_WIRE_TOLD,
  SEER_WIRE_ENDED,
  SEER_WIRE_REFUSED,  // caller -> parent, in place of a hello: why there is no runner
  SEER_WIRE_END
} seer_wire_type;

typedef struct {
  seer_wire_type type;
  uint32_t seq;  // of the request that it is, or answers
  uint64_t n_bytes, hash;
} seer_wire_header;

// Errors: RESOURCE: the payload is longer than a message may be.
SEER_MUST_USE seer_status seer_wire_print_frame(seer_wire_type type, uint32_t seq,
    const seer_text *payload, uint8_t out[SEER_WIRE_FRAME_BYTES]);
// CORRUPT says what of the frame is not as it must be.
SEER_MUST_USE seer_status seer_wire_parse_frame(
    const uint8_t bytes[SEER_WIRE_FRAME_BYTES], seer_wire_header *out);
// header->n_bytes of payload. CORRUPT: they are not those that were sent.
SEER_MUST_USE seer_status seer_wire_check(const seer_wire_header *header, const void *payload);

// ---- fields
void seer_wire_put_u32(seer_text *out, uint32_t value);
void seer_wire_put_u64(seer_text *out, uint64_t value);
void seer_wire_put_f64(seer_text *out, double value);
void seer_wire_put_bytes(seer_text *out, const void *data, size_t n_bytes);  // length, then data

// Reads fields one after the other. The first one that is wrong is remembered and everything behind
// it reads as zero, so that a reader of messages asks once, at its end.
typedef struct {
  const uint8_t *at;
  size_t left;
  const char *wrong;  // what; a literal. NULL: nothing so far
} seer_wire_reader;
uint32_t seer_wire_get_u32(seer_wire_reader *reader);
uint64_t seer_wire_get_u64(seer_wire_reader *reader);
// At most `max`; `what` is named if it is more.
uint32_t seer_wire_get_max(seer_wire_reader *reader, uint32_t max, const char *what);
double seer_wire_get_seconds(seer_wire_reader *reader, const char *what);  // finite, not negative
double seer_wire_get_share(seer_wire_reader *reader, const char *what);  // 0 to 1
// Borrowed from the payload; of at most max_bytes.
const void *seer_wire_get_bytes(
    seer_wire_reader *reader, size_t max_bytes, const char *what, size_t *out_n);
// A copy without NUL within, in `arena`.
const char *seer_wire_get_text(
    seer_wire_reader *reader, size_t max_bytes, const char *what, seer_arena *arena);
void seer_wire_refuse(seer_wire_reader *reader, const char *what);
// CORRUPT if a field was wrong, or something is left.
SEER_MUST_USE seer_status seer_wire_end(const seer_wire_reader *reader, const char *message);

#endif
