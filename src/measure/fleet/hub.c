// hub.c - one connection, and where things are at the broker. The contract: hub.h.

#include "measure/fleet/hub.h"

#include <stdarg.h>
#include <string.h>

#include "base/os.h"

#define SECOND_NS 1000000000u
#define PATIENCE_NS (10 * (uint64_t)SECOND_NS)  // for a command, or for a connection
#define FIRST_PAUSE_NS (SECOND_NS / 10)
#define LONGEST_PAUSE_NS (2 * (uint64_t)SECOND_NS)
#define MAX_KEY_BYTES 4096  // of the file of the fleet's key, or of its password
#define MAX_WORDS 32  // of a command that is printed
#define MAX_COMMAND_BYTES 4096  // and without what it has from elsewhere

// ---- life
// The first line of the file that is named, and there is no other; NULL: none is named.
static seer_status find_password(seer_hub *hub, const char **out) {
  *out = NULL;
  const char *path = seer_context_str(hub->context, SEER_OPT_FLEET_PASSWORD_FILE);
  if (!path[0]) return SEER_OK;
  char *text;
  size_t n;
  SEER_TRYF(seer_os_read_file(path, hub->arena, MAX_KEY_BYTES, &text, &n), "--fleet-password-file");
  if (n > 0 && text[n - 1] == '\n') text[--n] = '\0';
  if (n > 0 && text[n - 1] == '\r') text[--n] = '\0';
  if (n == 0 || strcspn(text, "\r\n") != n)
    return SEER_FAIL(
        INVALID, "--fleet-password-file: %s has to be one line that is not empty", path);
  *out = text;
  return SEER_OK;
}

static seer_status find_key(seer_hub *hub) {
  const char *path = seer_context_str(hub->context, SEER_OPT_FLEET_KEY);
  const char *password = hub->address.password ? hub->address.password : "";
  hub->key = seer_hmac_key_of(password, strlen(password));
  if (!path[0]) return SEER_OK;
  char *secret;
  size_t n;
  SEER_TRYF(seer_os_read_file(path, hub->arena, MAX_KEY_BYTES, &secret, &n), "--fleet-key");
  if (n == 0) return SEER_FAIL(INVALID, "--fleet-key: %s is empty, and a key is not", path);
  hub->key = seer_hmac_key_of(secret, n);
  return SEER_OK;
}

seer_status seer_hub_init(seer_hub *hub, const seer_context *context) {
  *hub = (seer_hub){.context = context, .arena = seer_arena_create("hub")};
  const char *password;
  seer_status status = find_password(hub, &password);
  if (!status)
    status = seer_redis_parse(
        seer_context_str(context, SEER_OPT_FLEET), password, hub->arena, &hub->address);
  if (!status) status = find_key(hub);
  if (status) seer_hub_clear(hub);
  return status;
}

void seer_hub_drop(seer_hub *hub) {
  if (!hub->redis) return;
  uint64_t sent, received;
  seer_redis_traffic(hub->redis, &sent, &received);
  hub->n_sent += sent;
  hub->n_received += received;
  seer_redis_close(hub->redis);
  hub->redis = NULL;
}

void seer_hub_clear(seer_hub *hub) {
  seer_hub_drop(hub);
  if (hub->arena) seer_arena_destroy(hub->arena);
  hub->arena = NULL;
}

uint64_t seer_hub_traffic(const seer_hub *hub) {
  uint64_t sent = 0, received = 0;
  if (hub->redis) seer_redis_traffic(hub->redis, &sent, &received);
  return hub->n_sent + hub->n_received + sent + received;
}

seer_status seer_hub_connect(seer_hub *hub) {
  seer_hub_drop(hub);
  SEER_TRY(seer_redis_connect(&hub->address, PATIENCE_NS, &hub->redis));
  hub->n_connections++;
  hub->pause_ns = 0;
  return SEER_OK;
}

bool seer_hub_is_away(seer_status status) {
  seer_code code = status ? seer_status_code(status) : SEER_CODE_INTERNAL;
  return code == SEER_CODE_IO || code == SEER_CODE_TIMEOUT;
}

// ---- commands
// One that is lost is missed for a while that grows: a broker that restarts is not to be met by all
// of its fleet at once.
static seer_status lose(seer_hub *hub, seer_status status) {
  seer_hub_drop(hub);
  hub->pause_ns = hub->pause_ns ? 2 * hub->pause_ns : FIRST_PAUSE_NS;
  if (hub->pause_ns > LONGEST_PAUSE_NS) hub->pause_ns = LONGEST_PAUSE_NS;
  hub->retry_ns = seer_os_now_ns() + hub->pause_ns;
  seer_status away = SEER_FAIL(IO, "%s", seer_status_message(status));
  seer_status_free(status);
  return away;
}

static seer_status be_connected(seer_hub *hub) {
  if (hub->redis) return SEER_OK;
  if (seer_os_now_ns() < hub->retry_ns)
    return SEER_FAIL(IO, "%s cannot be reached just now", hub->address.shown);
  uint64_t pause_ns = hub->pause_ns;
  seer_status status = seer_hub_connect(hub);
  if (!status) {
    seer_log(hub->context, "measure", 1, "connected to %s", hub->address.shown);
    return SEER_OK;
  }
  if (hub->n_connections == 0 && !seer_hub_is_away(status)) return status;
  hub->pause_ns = pause_ns;
  seer_log(hub->context, "measure", 1, "%s", seer_status_message(status));
  return lose(hub, status);
}

seer_status seer_hub_send_words(seer_hub *hub, const seer_redis_word *words, size_t n) {
  SEER_TRY(be_connected(hub));
  seer_status status = seer_redis_send(hub->redis, words, n, PATIENCE_NS);
  return status ? lose(hub, status) : SEER_OK;
}

// Cuts `text` in place.
static size_t split(char *text, const seer_redis_word *more, seer_redis_word *out) {
  size_t n = 0;
  char *at = NULL;
  for (const char *word = strtok_r(text, " ", &at); word; word = strtok_r(NULL, " ", &at)) {
    SEER_ASSERT(n < MAX_WORDS, "a command of more than %d words", MAX_WORDS);
    out[n++] = strcmp(word, "?") == 0 ? *more++ : SEER_REDIS_WORD(word);
  }
  return n;
}

static seer_status send_printed(
    seer_hub *hub, const seer_redis_word *more, const char *format, va_list args) {
  char text[MAX_COMMAND_BYTES];
  int n_bytes = vsnprintf(text, sizeof text, format, args);
  SEER_ASSERT(n_bytes >= 0 && (size_t)n_bytes < sizeof text, "a command of %d bytes", n_bytes);
  seer_redis_word words[MAX_WORDS];
  size_t n = split(text, more, words);
  return seer_hub_send_words(hub, words, n);
}

seer_status seer_hub_send(seer_hub *hub, const seer_redis_word *more, const char *format, ...) {
  va_list args;
  va_start(args, format);
  seer_status status = send_printed(hub, more, format, args);
  va_end(args);
  return status;
}

seer_status seer_hub_receive(
    seer_hub *hub, uint64_t block_ns, seer_arena *arena, const seer_redis_reply **out) {
  if (!hub->redis) return SEER_FAIL(IO, "%s cannot be reached just now", hub->address.shown);
  seer_status status = seer_redis_receive(hub->redis, PATIENCE_NS + block_ns, arena, out);
  if (status) return lose(hub, status);
  // A server that is coming up has its data in a moment.
  bool is_loading = (*out)->kind == SEER_REDIS_ERROR && strncmp((*out)->text, "LOADING", 7) == 0;
  if (!is_loading) return SEER_OK;
  return lose(hub, SEER_FAIL(IO, "%s: %s", hub->address.shown, (*out)->text));
}

seer_status seer_hub_ask(seer_hub *hub, seer_arena *arena, const seer_redis_reply **out,
    const seer_redis_word *more, const char *format, ...) {
  va_list args;
  va_start(args, format);
  seer_status status = send_printed(hub, more, format, args);
  va_end(args);
  return status ? status : seer_hub_receive(hub, 0, arena, out);
}

seer_status seer_hub_refusal(const seer_hub *hub, const seer_redis_reply *reply) {
  bool is_fine = reply->kind != SEER_REDIS_ERROR || strncmp(reply->text, "BUSYGROUP", 9) == 0;
  return is_fine ? SEER_OK : SEER_FAIL(DEVICE, "%s: %s", hub->address.shown, reply->text);
}

// All are taken, whatever they are: the next ones are of other commands.
seer_status seer_hub_skip(seer_hub *hub, uint32_t n, seer_arena *arena) {
  seer_status first = SEER_OK;
  for (uint32_t k = 0; k < n; k++) {
    const seer_redis_reply *reply;
    seer_status status = seer_hub_receive(hub, 0, arena, &reply);
    if (status) return seer_status_join(first, status);
    first = seer_status_join(first, seer_hub_refusal(hub, reply));
  }
  return first;
}

// ---- letters, and places
seer_status seer_hub_seal(const seer_hub *hub, const char *place, seer_wire_type type,
    const seer_text *payload, seer_arena *arena, seer_redis_word *out) {
  seer_text sealed;
  seer_text_init(&sealed, arena);
  SEER_TRY(seer_letter_seal(&hub->key, place, type, payload, &sealed));
  *out = (seer_redis_word){sealed.data, sealed.n_bytes};
  return SEER_OK;
}

const char *seer_hub_place(seer_arena *arena, const char *kind, uint64_t session) {
  return seer_arena_printf(arena, "familyseer:%s:%016" PRIx64, kind, session);
}

const char *seer_hub_place_of_worker(seer_arena *arena, uint64_t session, const char *worker) {
  return seer_arena_printf(arena, "familyseer:jobs:%016" PRIx64 ":%s", session, worker);
}
