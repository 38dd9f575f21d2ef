// message.c - what is said on a link before and after the relay, as payloads; and the secret.
#include <string.h>

#include "base/os.h"
#include "measure/remote/remote.h"

#define MAX_REFUSAL_BYTES 4096
#define LEAST_KEY_BYTES 16
#define MAX_KEY_BYTES 4096

void seer_remote_put_ask(seer_text *out, const seer_remote_ask *message) {
  seer_message_put_hello(out, &message->hello);
  seer_wire_put_u32(out, message->is_question);
  if (message->is_question) return;
  seer_message_put_text(out, message->target);
  seer_wire_put_u32(out, message->threads);
  seer_wire_put_u32(out, message->is_pinned);
}

seer_status seer_remote_get_ask(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_remote_ask *out) {
  *out = (seer_remote_ask){.target = ""};
  seer_wire_reader r = {.at = payload, .left = n_bytes};
  seer_message_get_hello_fields(&r, arena, &out->hello);
  out->is_question = seer_wire_get_max(&r, 1, "whether it is a question") == 1;
  if (out->is_question) return seer_wire_end(&r, "what a board is asked");
  out->target = seer_wire_get_text(&r, SEER_REMOTE_MAX_TARGET_BYTES, "the target", arena);
  out->threads = seer_wire_get_max(&r, 4096, "the number of threads");
  if (out->threads == 0) seer_wire_refuse(&r, "the number of threads");
  out->is_pinned = seer_wire_get_max(&r, 1, "whether threads are pinned") == 1;
  return seer_wire_end(&r, "what a board is asked");
}

void seer_remote_put_told(seer_text *out, const seer_remote_told *message) {
  seer_message_put_hello(out, &message->hello);
  seer_message_put_text(out, message->refusal);
  seer_message_put_text(out, message->target);
}

seer_status seer_remote_get_told(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_remote_told *out) {
  seer_wire_reader r = {.at = payload, .left = n_bytes};
  seer_message_get_hello_fields(&r, arena, &out->hello);
  out->refusal =
      seer_text_safe(arena, seer_wire_get_text(&r, MAX_REFUSAL_BYTES, "the refusal", arena));
  out->target = seer_wire_get_text(&r, SEER_REMOTE_MAX_TARGET_BYTES, "the target", arena);
  return seer_wire_end(&r, "what a board says");
}

void seer_remote_put_ended(seer_text *out, int exit_status) {
  seer_wire_put_u32(out, (uint32_t)exit_status);
}

seer_status seer_remote_get_ended(const void *payload, size_t n_bytes, int *out_exit_status) {
  seer_wire_reader r = {.at = payload, .left = n_bytes};
  *out_exit_status = (int)seer_wire_get_max(&r, 255, "an exit status");
  return seer_wire_end(&r, "the end of a runner");
}

// What may be otherwise in a moment: the others are what somebody has to mend.
static bool may_pass(seer_code code) {
  return code == SEER_CODE_IO || code == SEER_CODE_TIMEOUT || code == SEER_CODE_RESOURCE;
}

void seer_remote_put_refused(seer_text *out, seer_status status) {
  seer_wire_put_u32(out, may_pass(seer_status_code(status)));
  seer_message_put_text(out, seer_status_message(status));
}

seer_status seer_remote_get_refused(const void *payload, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("refusal");
  seer_wire_reader r = {.at = payload, .left = n_bytes};
  bool is_passing = seer_wire_get_max(&r, 1, "whether it may pass") == 1;
  const char *why =
      seer_text_safe(arena, seer_wire_get_text(&r, MAX_REFUSAL_BYTES, "the refusal", arena));
  seer_status status = seer_wire_end(&r, "a refusal");
  if (!status) status = is_passing ? SEER_FAIL(IO, "%s", why) : SEER_FAIL(INVALID, "%s", why);
  seer_arena_destroy(arena);
  return status;
}

seer_status seer_remote_read_key(const char *path, seer_hmac_key *out) {
  seer_arena *arena = seer_arena_create("key");
  char *secret;
  size_t n = 0;
  seer_status status = seer_os_read_file(path, arena, MAX_KEY_BYTES, &secret, &n);
  if (!status && n < LEAST_KEY_BYTES)
    status =
        SEER_FAIL(INVALID, "%s has %zu bytes; a secret has %d at least", path, n, LEAST_KEY_BYTES);
  if (!status) *out = seer_hmac_key_of(secret, n);
  seer_arena_destroy(arena);
  return status;
}
