// wire.c - framing, and kernels as payload.

#include "tune/measure/wire.h"

#include <string.h>

seer_status seer_wire_send(
    const seer_wire *wire, seer_wire_type type, uint32_t seq, const void *payload, size_t n_bytes) {
  seer_wire_header header = {(uint32_t)type, seq, n_bytes};
  SEER_TRY(seer_os_write_all(wire->out_fd, &header, sizeof header));
  return n_bytes ? seer_os_write_all(wire->out_fd, payload, n_bytes) : SEER_OK;
}

seer_status seer_wire_receive(const seer_wire *wire, seer_arena *arena, uint64_t timeout_ns,
    seer_wire_header *out_header, const void **out_payload) {
  SEER_TRY(seer_os_read_all(wire->in_fd, out_header, sizeof(*out_header), timeout_ns));
  if (out_header->type < SEER_WIRE_HELLO || out_header->type > SEER_WIRE_COMPARED ||
      out_header->n_bytes > SEER_WIRE_MAX_BYTES) {
    return SEER_FAIL(CORRUPT, "message of type %u with %" PRIu64 " bytes", out_header->type,
        out_header->n_bytes);
  }
  uint8_t *data = SEER_NEW_ARRAY(arena, uint8_t, out_header->n_bytes + 1);
  if (out_header->n_bytes)
    SEER_TRY(seer_os_read_all(wire->in_fd, data, out_header->n_bytes, timeout_ns));
  *out_payload = data;
  return SEER_OK;
}

const void *seer_wire_view(seer_wire_reader *reader, size_t n_bytes) {
  if (n_bytes > reader->left) {
    reader->is_short = true;
    reader->left = 0;
    return NULL;
  }
  const void *at = reader->at;
  reader->at += n_bytes;
  reader->left -= n_bytes;
  return at;
}

void seer_wire_get(seer_wire_reader *reader, void *data, size_t n_bytes) {
  const void *at = seer_wire_view(reader, n_bytes);
  if (at) {
    memcpy(data, at, n_bytes);
  } else {
    memset(data, 0, n_bytes);
  }
}

void seer_wire_put_kernel(seer_text *out, const seer_kernel *kernel) {
  SEER_WIRE_PUT(out, kernel->n_phase);
  seer_wire_put(out, kernel->n_parts, kernel->n_phase * sizeof(uint32_t));
  SEER_WIRE_PUT(out, kernel->n_arg);
  for (uint32_t a = 0; a < kernel->n_arg; a++) {
    const seer_kernel_arg *arg = &kernel->arg[a];
    seer_wire_put(out, arg, sizeof(*arg));
    if (arg->pack) seer_wire_put(out, arg->pack, sizeof(*arg->pack));
  }
  SEER_WIRE_PUT(out, kernel->scratch_bytes);
  SEER_WIRE_PUT(out, kernel->code_bytes);
  uint32_t n_symbol = (uint32_t)strlen(kernel->symbol);
  SEER_WIRE_PUT(out, n_symbol);
  seer_wire_put(out, kernel->symbol, n_symbol);
  uint64_t n_object = kernel->n_object_bytes;
  SEER_WIRE_PUT(out, n_object);
  seer_wire_put(out, kernel->object, n_object);
}

seer_status seer_wire_get_kernel(
    seer_wire_reader *reader, seer_arena *arena, seer_kernel *out_kernel) {
  memset(out_kernel, 0, sizeof(*out_kernel));
  SEER_WIRE_GET(reader, out_kernel->n_phase);
  if (out_kernel->n_phase > SEER_DAG_MAX_STAGES)
    return SEER_FAIL(CORRUPT, "kernel with %u phases", out_kernel->n_phase);
  seer_wire_get(reader, out_kernel->n_parts, out_kernel->n_phase * sizeof(uint32_t));
  SEER_WIRE_GET(reader, out_kernel->n_arg);
  if (out_kernel->n_arg > SEER_DAG_MAX_BUFFERS)
    return SEER_FAIL(CORRUPT, "kernel with %u arguments", out_kernel->n_arg);
  for (uint32_t a = 0; a < out_kernel->n_arg; a++) {
    seer_kernel_arg *arg = &out_kernel->arg[a];
    SEER_WIRE_GET(reader, *arg);
    if (!arg->pack) continue;
    const void *pack = seer_wire_view(reader, sizeof(seer_pack));
    arg->pack = pack ? seer_arena_memdup(arena, pack, sizeof(seer_pack)) : NULL;
  }
  SEER_WIRE_GET(reader, out_kernel->scratch_bytes);
  SEER_WIRE_GET(reader, out_kernel->code_bytes);
  uint32_t n_symbol = 0;
  SEER_WIRE_GET(reader, n_symbol);
  const char *symbol = seer_wire_view(reader, n_symbol);
  if (symbol) out_kernel->symbol = seer_arena_strndup(arena, symbol, n_symbol);
  uint64_t n_object = 0;
  SEER_WIRE_GET(reader, n_object);
  const void *object = seer_wire_view(reader, n_object);
  if (reader->is_short || !object) return SEER_FAIL(CORRUPT, "kernel is cut off");
  out_kernel->object = seer_arena_memdup(arena, object, n_object);
  out_kernel->n_object_bytes = n_object;
  return SEER_OK;
}
