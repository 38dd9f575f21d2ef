// link.c - frames with seals. The contract: link.h.
#include "measure/remote/link.h"

#include <string.h>
#include <sys/random.h>

#include "base/net.h"

#define NONCE_BYTES 32
static const char greeting[8] = {'S', 'E', 'E', 'R', 'L', 'I', 'N', 'K'};

typedef struct {
  uint8_t board[NONCE_BYTES], caller[NONCE_BYTES];
} nonces;

static seer_status draw(uint8_t out[NONCE_BYTES]) {
  return getrandom(out, NONCE_BYTES, 0) == NONCE_BYTES
      ? SEER_OK
      : SEER_FAIL(RESOURCE, "no random number from the system");
}

static seer_hmac_key key_of(const seer_hmac_key *secret, const nonces *n, const char *direction) {
  const seer_hmac_piece pieces[] = {{direction, strlen(direction)}, {n, sizeof *n}};
  seer_hmac_key key;
  seer_hmac(secret, pieces, SEER_COUNT_OF(pieces), key.bytes);
  return key;
}

static seer_link open_link(int fd, const char *name) { return (seer_link){.fd = fd, .name = name}; }

static void find_keys(
    seer_link *link, const seer_hmac_key *secret, const nonces *n, bool is_board) {
  const seer_hmac_key down = key_of(secret, n, "familyseer link, to the board"),
                      up = key_of(secret, n, "familyseer link, from the board");
  link->to = is_board ? up : down;
  link->from = is_board ? down : up;
}

seer_status seer_link_call(
    int fd, const char *name, const seer_hmac_key *secret, uint64_t until_ns, seer_link *out) {
  *out = open_link(fd, name);
  char heard[sizeof greeting];
  nonces n;
  SEER_TRY(seer_net_receive_all(fd, heard, sizeof heard, until_ns, name));
  if (memcmp(heard, greeting, sizeof greeting) != 0)
    return SEER_FAIL(CORRUPT, "%s: no familyseer-runner of this kind answers there", name);
  SEER_TRY(seer_net_receive_all(fd, n.board, sizeof n.board, until_ns, name));
  SEER_TRY(draw(n.caller));
  SEER_TRY(seer_net_send(fd, n.caller, sizeof n.caller, until_ns, name));
  find_keys(out, secret, &n, false);
  return SEER_OK;
}

seer_status seer_link_take(
    int fd, const char *name, const seer_hmac_key *secret, uint64_t until_ns, seer_link *out) {
  *out = open_link(fd, name);
  nonces n;
  SEER_TRY(draw(n.board));
  SEER_TRY(seer_net_send(fd, greeting, sizeof greeting, until_ns, name));
  SEER_TRY(seer_net_send(fd, n.board, sizeof n.board, until_ns, name));
  SEER_TRY(seer_net_receive_all(fd, n.caller, sizeof n.caller, until_ns, name));
  find_keys(out, secret, &n, true);
  return SEER_OK;
}

// ---- messages
static void seal(const seer_hmac_key *key, uint64_t number,
    const uint8_t frame[SEER_WIRE_FRAME_BYTES], const void *payload, size_t n_bytes,
    uint8_t out[SEER_SHA256_BYTES]) {
  uint8_t place[8];
  for (size_t i = 0; i < sizeof place; i++) place[i] = (uint8_t)(number >> (8 * i));
  const seer_hmac_piece pieces[] = {
      {place, sizeof place}, {frame, SEER_WIRE_FRAME_BYTES}, {payload, n_bytes}};
  seer_hmac(key, pieces, SEER_COUNT_OF(pieces), out);
}

seer_status seer_link_send(seer_link *link, seer_wire_type type, uint32_t seq,
    const seer_text *payload, uint64_t until_ns) {
  uint8_t frame[SEER_WIRE_FRAME_BYTES], seals[SEER_SHA256_BYTES];
  SEER_TRY(seer_wire_print_frame(type, seq, payload, frame));
  seal(&link->to, link->n_sent++, frame, payload->data, payload->n_bytes, seals);
  SEER_TRY(seer_net_send(link->fd, frame, sizeof frame, until_ns, link->name));
  if (payload->n_bytes)
    SEER_TRY(seer_net_send(link->fd, payload->data, payload->n_bytes, until_ns, link->name));
  return seer_net_send(link->fd, seals, sizeof seals, until_ns, link->name);
}

seer_status seer_link_receive(seer_link *link, uint64_t max_bytes, uint64_t until_ns,
    seer_arena *arena, seer_wire_header *out_header, const void **out_payload) {
  uint8_t frame[SEER_WIRE_FRAME_BYTES], came[SEER_SHA256_BYTES], own[SEER_SHA256_BYTES];
  *out_payload = NULL;
  SEER_TRY(seer_net_receive_all(link->fd, frame, sizeof frame, until_ns, link->name));
  SEER_TRY(seer_wire_parse_frame(frame, out_header));
  if (out_header->n_bytes > max_bytes)
    return SEER_FAIL(CORRUPT, "%s: a message of %" PRIu64 " bytes, at most %" PRIu64 " are allowed",
        link->name, out_header->n_bytes, max_bytes);
  size_t n = (size_t)out_header->n_bytes;
  uint8_t *data = SEER_NEW_ARRAY(arena, uint8_t, n + 1);
  if (n) SEER_TRY(seer_net_receive_all(link->fd, data, n, until_ns, link->name));
  SEER_TRY(seer_net_receive_all(link->fd, came, sizeof came, until_ns, link->name));
  seal(&link->from, link->n_received++, frame, data, n, own);
  if (!seer_hmac_equal(came, own))
    return SEER_FAIL(CORRUPT, "%s: a message that nobody with this secret has sealed", link->name);
  SEER_TRY(seer_wire_check(out_header, data));
  *out_payload = data;
  return SEER_OK;
}
