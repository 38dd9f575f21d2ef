// ask.c - the caller's end: to a board and back. The contract: remote.h.
#include <string.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/net.h"
#include "base/os.h"
#include "measure/remote/relay.h"
#include "measure/remote/remote.h"
#include "measure/wire/socket.h"

#define SECOND_NS 1000000000u
#define GREETING_NS (8 * (uint64_t)SECOND_NS)  // a board that has a caller greets nobody else
#define ANSWER_NS (15 * (uint64_t)SECOND_NS)  // it may measure its speeds
#define SEND_NS (20 * (uint64_t)SECOND_NS)

static seer_status read_key(const seer_context *context, seer_hmac_key *out) {
  const char *path = seer_context_str(context, SEER_OPT_RUNNER_KEY);
  if (!path[0])
    return SEER_FAIL(
        INVALID, "a runner elsewhere takes --runner-key FILE, the secret that it was started with");
  SEER_TRYF(seer_remote_read_key(path, out), "--runner-key");
  return SEER_OK;
}

static seer_status wait_for_turn(seer_status status, const char *name) {
  if (!status || seer_status_code(status) != SEER_CODE_TIMEOUT) return status;
  seer_status_free(status);
  return SEER_FAIL(TIMEOUT,
      "%s: it does not greet; it may be in use by another tuning, and takes one at a time", name);
}

// *out_fd is the caller's to close, whatever happens; -1: none.
static seer_status connect_to(const seer_context *context, const char *address, seer_arena *arena,
    seer_link *out_link, int *out_fd) {
  const char *host;
  uint16_t port;
  seer_hmac_key secret;
  *out_fd = -1;
  SEER_TRY(seer_device_read_address(address, SEER_REMOTE_PORT, arena, &host, &port));
  SEER_TRY(read_key(context, &secret));
  const char *name = seer_arena_printf(arena, "runner %s", address);
  uint64_t until_ns = seer_os_now_ns() + GREETING_NS;
  seer_status status = seer_net_connect(host, port, until_ns, out_fd);
  if (!status)
    status = wait_for_turn(seer_link_call(*out_fd, name, &secret, until_ns, out_link), name);
  return status;
}

// A board that closes the connection upon the first message has not found its seal right.
static seer_status explain(seer_status status, const char *name) {
  seer_code code = seer_status_code(status);
  if (code != SEER_CODE_IO && code != SEER_CODE_CORRUPT) return status;
  seer_status_free(status);
  return SEER_FAIL(
      INVALID, "%s: it was started with another secret than --runner-key names here", name);
}

static seer_status ask(
    seer_link *link, const seer_remote_ask *order, seer_arena *arena, seer_remote_told *out) {
  seer_text text;
  seer_wire_header header;
  const void *payload;
  seer_text_init(&text, arena);
  seer_remote_put_ask(&text, order);
  uint64_t until_ns = seer_os_now_ns() + ANSWER_NS;
  SEER_TRY(seer_link_send(link, SEER_WIRE_ASK, 0, &text, until_ns));
  seer_status status =
      seer_link_receive(link, 2 * SEER_REMOTE_MAX_TARGET_BYTES, until_ns, arena, &header, &payload);
  if (status) return explain(status, link->name);
  if (header.type != SEER_WIRE_TOLD)
    return SEER_FAIL(
        CORRUPT, "%s: a message of type %d in place of its answer", link->name, (int)header.type);
  SEER_TRY(seer_remote_get_told(payload, (size_t)header.n_bytes, arena, out));
  SEER_TRYF(seer_message_program_fits(&order->hello, &out->hello), "%s", link->name);
  return out->refusal[0] ? SEER_FAIL(INVALID, "%s: %s", link->name, out->refusal) : SEER_OK;
}

// ---- what the board is
static const char *address_of(const seer_tuning_device *device) {
  return strchr(device->name, ':') + 1;
}

static seer_status describe(
    const seer_context *context, const char *address, seer_arena *arena, seer_target *out) {
  seer_link link;
  int fd;
  const seer_remote_ask question = {
      .hello = seer_message_hello_here(seer_context_target(context)), .is_question = true};
  seer_remote_told told;
  seer_status status = connect_to(context, address, arena, &link, &fd);
  if (!status) status = ask(&link, &question, arena, &told);
  seer_os_close(fd);
  if (!status) status = seer_target_parse(told.target, arena, out);
  return status;
}

seer_status seer_remote_find_target(seer_context *context) {
  SEER_TRY(seer_context_find_any_target(context));
  const seer_device_list *devices = seer_context_devices(context);
  if (devices->n == 0 || devices->device[0].kind != SEER_DEVICE_RUNNER) return SEER_OK;
  seer_target theirs, own = *seer_context_target(context);
  SEER_TRYF(
      describe(context, address_of(&devices->device[0]), seer_context_arena(context), &theirs),
      "device %s", devices->device[0].name);
  SEER_TRYF(seer_target_check_cpu(&theirs), "device %s", devices->device[0].name);
  int64_t threads = seer_context_i64(context, SEER_OPT_THREADS);
  if (threads > 0) theirs.threads = (uint32_t)threads;
  bool is_named = seer_context_is_set(context, SEER_OPT_TARGET);
  if (is_named && (own.is_measured || seer_target_key(&own) != seer_target_key(&theirs)))
    return SEER_OK;
  seer_context_set_target(context, &theirs);
  return SEER_OK;
}

// ---- the caller
static seer_status open_link(const seer_context *context, const char *address, seer_arena *arena,
    seer_link *link, int *out_fd) {
  const seer_target *target = seer_context_target(context);
  const seer_remote_ask order = {.hello = seer_message_hello_here(target),
      .target = seer_target_print(target, arena),
      .threads = target->threads,
      .is_pinned = seer_context_bool(context, SEER_OPT_PIN)};
  seer_remote_told told;
  SEER_TRY(connect_to(context, address, arena, link, out_fd));
  SEER_TRY(ask(link, &order, arena, &told));
  // It needs nothing more of this machine than the two descriptors.
  return seer_context_bool(context, SEER_OPT_CONFINE) ? seer_confine_files() : SEER_OK;
}

static seer_status tell_refusal(int fd, seer_status status, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_remote_put_refused(&text, status);
  seer_status_free(status);
  return seer_socket_send(fd, SEER_WIRE_REFUSED, 0, &text, SEND_NS);
}

seer_status seer_remote_call(seer_context *context, const char *address, int fd) {
  seer_arena *arena = seer_arena_create("remote call");
  seer_link link;
  int far_fd, exit_status = -1;
  seer_status why = SEER_OK;
  seer_status status = open_link(context, address, arena, &link, &far_fd);
  if (status) {
    status = tell_refusal(fd, status, arena);
  } else if (seer_relay(&link, fd, &why, &exit_status) == SEER_RELAY_LINK_ENDED) {
    status = why;
  } else {
    seer_status_free(why);
  }
  seer_os_close(far_fd);
  seer_arena_destroy(arena);
  if (exit_status >= 0) _exit(exit_status);
  return status;
}
