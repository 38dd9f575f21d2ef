// relay.c - see relay.h. One message is on its way at a time in each direction, and requests and
// answers alternate: what is read whole before it is sent on never waits for the other direction.
#include "measure/remote/relay.h"

#include "measure/remote/remote.h"
#include "measure/wire/socket.h"

#define MESSAGE_NS 60000000000u  // for the rest of a message that has begun, and for sending it

static uint64_t soon(void) { return seer_os_now_ns() + MESSAGE_NS; }

static seer_text text_of(const void *payload, const seer_wire_header *header, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put_n(&text, payload, (size_t)header->n_bytes);
  return text;
}

static seer_status from_socket(seer_link *link, int socket, seer_arena *arena, bool *out_is_here) {
  seer_wire_header header;
  const void *payload;
  *out_is_here = false;
  SEER_TRY(seer_socket_receive(socket, arena, MESSAGE_NS, &header, &payload));
  *out_is_here = true;
  const seer_text text = text_of(payload, &header, arena);
  return seer_link_send(link, header.type, header.seq, &text, soon());
}

static seer_status from_link(
    seer_link *link, int socket, seer_arena *arena, bool *out_is_here, int *out_exit_status) {
  seer_wire_header header;
  const void *payload;
  *out_is_here = false;
  SEER_TRY(seer_link_receive(link, SEER_WIRE_MAX_BYTES, soon(), arena, &header, &payload));
  if (header.type == SEER_WIRE_ENDED)
    return seer_remote_get_ended(payload, (size_t)header.n_bytes, out_exit_status);
  *out_is_here = true;
  const seer_text text = text_of(payload, &header, arena);
  return seer_socket_send(socket, header.type, header.seq, &text, MESSAGE_NS);
}

seer_relay_end seer_relay(seer_link *link, int socket, seer_status *out_why, int *out_exit_status) {
  const int fds[2] = {socket, link->fd};
  seer_arena *arena = seer_arena_create("relay");
  seer_relay_end end = SEER_RELAY_SOCKET_ENDED;
  *out_why = SEER_OK;
  *out_exit_status = -1;
  while (!*out_why && *out_exit_status < 0) {
    bool is_ready[2] = {false, false}, is_here;
    seer_arena_reset(arena);
    if (!seer_os_poll_in(fds, 2, UINT64_MAX, is_ready)) continue;
    if (is_ready[0]) {
      *out_why = from_socket(link, socket, arena, &is_here);
      end = is_here ? SEER_RELAY_LINK_ENDED : SEER_RELAY_SOCKET_ENDED;
    } else {
      *out_why = from_link(link, socket, arena, &is_here, out_exit_status);
      end = *out_exit_status >= 0 ? SEER_RELAY_RUNNER_ENDED
          : is_here               ? SEER_RELAY_SOCKET_ENDED
                                  : SEER_RELAY_LINK_ENDED;
    }
  }
  seer_arena_destroy(arena);
  return end;
}
