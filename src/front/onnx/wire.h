// wire.h - a walk over the bytes of an ONNX file before anything is decoded.
// In: the mapped file.  Out: a skeleton (the same messages without payloads, unknown fields and
// documentation) that is safe to hand to protobuf-c, and a table of where the payloads lie.
// Invariants: depth at most 64; every length is inside its message; chunks lie inside the file.
//
// Threads: any; the bytes are borrowed. After a failure out_wire is of no use.
#ifndef SEER_FRONT_ONNX_WIRE_H
#define SEER_FRONT_ONNX_WIRE_H

#include "base/arena.h"
#include "base/status.h"

// A piece of a tensor's payload: field `field` of TensorProto. Packed lists and raw_data come as
// one chunk; a list that is not packed as one chunk per element.
typedef struct {
  uint64_t offset, n_bytes;  // in the file
  // 4 float_data, 5 int32_data, 6 string_data, 7 int64_data, 9 raw_data, 10 double_data, 11
  // uint64_data
  uint8_t field;
  uint8_t wire_type;  // 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes
} seer_onnx_chunk;

typedef struct {
  uint8_t *skeleton;  // in `arena`. Each tensor's raw_data is a seer_onnx_payload.
  size_t n_bytes;
  seer_onnx_chunk *chunk;  // in `arena`
  size_t n_chunk;
} seer_onnx_wire;

// What stands in the skeleton in place of a tensor's payload.
typedef struct {
  uint32_t first, n;  // chunks
} seer_onnx_payload;

// Errors: INVALID with the byte where the file stops making sense; UNSUPPORTED too much of
// something.
SEER_MUST_USE seer_status seer_onnx_walk(const char *source, const uint8_t *data, size_t n_bytes,
    seer_arena *arena, seer_onnx_wire *out_wire);
// Reads a varint at *at, below `end`; false when it is cut off or longer than ten bytes.
bool seer_onnx_varint(const uint8_t *data, uint64_t end, uint64_t *at, uint64_t *out_value);

#endif
