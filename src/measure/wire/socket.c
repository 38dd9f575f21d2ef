// socket.c - a frame, then its payload, out of and into a socket.

#include "measure/wire/socket.h"

seer_status seer_socket_send(
    int fd, seer_wire_type type, uint32_t seq, const seer_text *payload, uint64_t timeout_ns) {
  uint8_t frame[SEER_WIRE_FRAME_BYTES];
  SEER_TRY(seer_wire_print_frame(type, seq, payload, frame));
  SEER_TRY(seer_os_send_all(fd, frame, sizeof frame, timeout_ns));
  return payload->n_bytes ? seer_os_send_all(fd, payload->data, payload->n_bytes, timeout_ns)
                          : SEER_OK;
}

seer_status seer_socket_receive(int fd, seer_arena *arena, uint64_t timeout_ns,
    seer_wire_header *out_header, const void **out_payload) {
  uint8_t frame[SEER_WIRE_FRAME_BYTES];
  *out_payload = NULL;
  SEER_TRY(seer_os_read_all(fd, frame, sizeof frame, timeout_ns));
  SEER_TRY(seer_wire_parse_frame(frame, out_header));
  uint8_t *data = SEER_NEW_ARRAY(arena, uint8_t, out_header->n_bytes + 1);
  if (out_header->n_bytes) SEER_TRY(seer_os_read_all(fd, data, out_header->n_bytes, timeout_ns));
  SEER_TRY(seer_wire_check(out_header, data));
  *out_payload = data;
  return SEER_OK;
}
