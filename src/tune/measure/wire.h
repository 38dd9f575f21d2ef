// wire.h - messages between the tuner and its worker processes: a header, then a payload, over a
// pair of pipes. Both ends are the same program; sizes are still checked, since a worker may die in
// the middle of anything.
#ifndef SEER_TUNE_WIRE_H
#define SEER_TUNE_WIRE_H

#include "base/os.h"
#include "code/kernel.h"

typedef enum {
  SEER_WIRE_HELLO = 1,  // worker -> parent, when it is ready
  SEER_WIRE_TASK,  // parent -> worker: a task's DAG
  SEER_WIRE_BUILD,  // parent -> builder
  SEER_WIRE_BUILT,  // answer
  SEER_WIRE_RUN,  // parent -> runner: time one kernel
  SEER_WIRE_RAN,
  SEER_WIRE_CHECK,  // parent -> runner: is the answer right?
  SEER_WIRE_CHECKED,
  SEER_WIRE_COMPARE,  // parent -> runner: interleaved pairs of two kernels
  SEER_WIRE_COMPARED
} seer_wire_type;

#define SEER_WIRE_MAX_BYTES (1u << 28)

typedef struct {
  uint32_t type, seq;
  uint64_t n_bytes;
} seer_wire_header;

typedef struct {
  int in_fd, out_fd;
} seer_wire;

SEER_MUST_USE seer_status seer_wire_send(
    const seer_wire *wire, seer_wire_type type, uint32_t seq, const void *payload, size_t n_bytes);
// Payload in `arena`. TIMEOUT, IO (the other end is gone), CORRUPT.
SEER_MUST_USE seer_status seer_wire_receive(const seer_wire *wire, seer_arena *arena,
    uint64_t timeout_ns, seer_wire_header *out_header, const void **out_payload);

// Payloads are built and read field by field.
static inline void seer_wire_put(seer_text *out, const void *data, size_t n_bytes) {
  seer_text_put_n(out, data, n_bytes);
}
#define SEER_WIRE_PUT(out, value) seer_wire_put((out), &(value), sizeof(value))

typedef struct {
  const uint8_t *at;
  size_t left;
  bool is_short;  // a read went past the end: what was read is zero
} seer_wire_reader;
void seer_wire_get(seer_wire_reader *reader, void *data, size_t n_bytes);
const void *seer_wire_view(seer_wire_reader *reader, size_t n_bytes);  // NULL when too short
#define SEER_WIRE_GET(reader, value) seer_wire_get((reader), &(value), sizeof(value))

void seer_wire_put_kernel(seer_text *out, const seer_kernel *kernel);
SEER_MUST_USE seer_status seer_wire_get_kernel(
    seer_wire_reader *reader, seer_arena *arena, seer_kernel *out_kernel);

#endif
