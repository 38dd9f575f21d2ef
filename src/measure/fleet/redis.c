// redis.c - a connection: commands go out as they are, over TLS or not, and replies come in as
// reply.h reads them. What stands in a status never holds a password: neither what was sent, nor
// what a server says of it.

#include "measure/fleet/redis.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/net.h"
#include "base/os.h"
#include "measure/fleet/reply.h"
#include "measure/fleet/tls.h"

#define CHUNK_BYTES ((size_t)64 << 10)

struct seer_redis {
  int fd;
  seer_tls *tls;
  seer_redis_reader *reader;
  char *name;  // the address as shown
  size_t n_awaited;  // replies
  uint64_t n_sent, n_received;
  bool is_broken;  // what comes in cannot be told apart any more
};

static uint64_t after(uint64_t timeout_ns) {
  uint64_t now = seer_os_now_ns();
  return timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
}

// ---- bytes
static seer_status send_bytes(
    seer_redis *redis, const void *data, size_t n_bytes, uint64_t until_ns) {
  if (redis->tls) {
    SEER_TRY(seer_tls_send(redis->tls, data, n_bytes, until_ns));
  } else {
    SEER_TRY(seer_net_send(redis->fd, data, n_bytes, until_ns, redis->name));
  }
  redis->n_sent += n_bytes;
  return SEER_OK;
}

static seer_status receive_bytes(seer_redis *redis, uint64_t until_ns) {
  uint8_t chunk[CHUNK_BYTES];
  size_t n;
  if (redis->tls) {
    SEER_TRY(seer_tls_receive(redis->tls, chunk, sizeof chunk, until_ns, &n));
  } else {
    SEER_TRY(seer_net_receive(redis->fd, chunk, sizeof chunk, until_ns, redis->name, &n));
  }
  redis->n_received += n;
  return seer_redis_reader_feed(redis->reader, chunk, n);
}

static seer_status format(
    const seer_redis *redis, const seer_redis_word *words, size_t n, char **out, size_t *out_n) {
  SEER_ASSERT(n > 0 && n <= INT32_MAX, "a command of %zu words", n);
  size_t n_bytes = 0;
  for (size_t i = 0; i < n; i++) {
    if (words[i].n > SEER_REDIS_MAX_BYTES - n_bytes)
      return SEER_FAIL(
          INVALID, "%s: a command of more than %zu bytes", redis->name, SEER_REDIS_MAX_BYTES);
    n_bytes += words[i].n;
  }
  const char **argv = malloc(n * (sizeof *argv + sizeof(size_t)));
  int n_formatted = -1;
  if (argv) {
    size_t *lengths = (size_t *)(void *)(argv + n);
    for (size_t i = 0; i < n; i++) {
      argv[i] = words[i].n ? words[i].data : "";
      lengths[i] = words[i].n;
    }
    n_formatted = redisFormatCommandArgv(out, (int)n, argv, lengths);
    free((void *)argv);
  }
  if (n_formatted < 0)
    return SEER_FAIL(RESOURCE, "%s: no memory for a command of %zu bytes", redis->name, n_bytes);
  *out_n = (size_t)n_formatted;
  return SEER_OK;
}

static seer_status refuse_broken(const seer_redis *redis) {
  return SEER_FAIL(IO, "%s: the connection has failed before, and is of no use", redis->name);
}

static seer_status send_until(
    seer_redis *redis, const seer_redis_word *words, size_t n, uint64_t until_ns) {
  if (redis->is_broken) return refuse_broken(redis);
  char *command;
  size_t n_bytes;
  SEER_TRY(format(redis, words, n, &command, &n_bytes));
  seer_status status = send_bytes(redis, command, n_bytes, until_ns);
  redisFreeCommand(command);
  redis->is_broken = status != SEER_OK;
  redis->n_awaited++;
  return status;
}

static seer_status receive_until(
    seer_redis *redis, uint64_t until_ns, seer_arena *arena, const seer_redis_reply **out) {
  *out = NULL;
  if (redis->is_broken) return refuse_broken(redis);
  SEER_ASSERT(redis->n_awaited > 0, "%zu replies are awaited", redis->n_awaited);
  redis->is_broken = true;  // also where memory runs out and a seer_recover takes over
  for (;;) {
    SEER_TRYF(seer_redis_reader_next(redis->reader, arena, out), "reading from %s", redis->name);
    if (*out) break;
    SEER_TRYF(receive_bytes(redis, until_ns), "reading from %s", redis->name);
  }
  redis->is_broken = false;
  redis->n_awaited--;
  return SEER_OK;
}

seer_status seer_redis_send(
    seer_redis *redis, const seer_redis_word *words, size_t n, uint64_t timeout_ns) {
  return send_until(redis, words, n, after(timeout_ns));
}

seer_status seer_redis_receive(
    seer_redis *redis, uint64_t timeout_ns, seer_arena *arena, const seer_redis_reply **out) {
  return receive_until(redis, after(timeout_ns), arena, out);
}

static seer_status call_until(seer_redis *redis, const seer_redis_word *words, size_t n,
    uint64_t until_ns, seer_arena *arena, const seer_redis_reply **out) {
  *out = NULL;
  SEER_ASSERT(redis->n_awaited == 0 || redis->is_broken, "%zu replies come before this one's",
      redis->n_awaited);
  SEER_TRY(send_until(redis, words, n, until_ns));
  return receive_until(redis, until_ns, arena, out);
}

seer_status seer_redis_call(seer_redis *redis, const seer_redis_word *words, size_t n,
    uint64_t timeout_ns, seer_arena *arena, const seer_redis_reply **out) {
  return call_until(redis, words, n, after(timeout_ns), arena, out);
}

seer_status seer_redis_do(seer_redis *redis, const seer_redis_word *words, size_t n,
    uint64_t timeout_ns, seer_arena *arena, const seer_redis_reply **out) {
  SEER_TRY(call_until(redis, words, n, after(timeout_ns), arena, out));
  if ((*out)->kind != SEER_REDIS_ERROR) return SEER_OK;
  return SEER_FAIL(DEVICE, "%s: %.*s: %s", redis->name, (int)words[0].n,
      (const char *)words[0].data, (*out)->text);
}

void seer_redis_traffic(const seer_redis *redis, uint64_t *out_sent, uint64_t *out_received) {
  *out_sent = redis->n_sent;
  *out_received = redis->n_received;
}

// ---- who we are
static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

// Of what a server says to AUTH, what is known not to repeat it: others than Redis, and a Redis
// whose AUTH has another name, put the words of a command into their error.
static const char *words_without_secrets(const char *text) {
  static const char *const known[] = {"WRONGPASS ", "NOPERM ", "NOAUTH ", "LOADING ", "DENIED ",
      "ERR AUTH <password> called without any password", "ERR invalid password",
      "ERR Client sent AUTH, but no password is set", "ERR max number of clients"};
  for (size_t i = 0; i < SEER_COUNT_OF(known); i++)
    if (begins(text, known[i]) && !strstr(text, "with args")) return text;
  return "AUTH is refused, in words that may repeat the password";
}

// Answers of a server that is there and cannot serve now.
static bool is_passing(const char *text) {
  return begins(text, "LOADING") || begins(text, "BUSY") || begins(text, "MASTERDOWN") ||
      begins(text, "ERR max number of clients");
}

static seer_status judge(const seer_redis *redis, const char *what, const char *text) {
  if (is_passing(text)) return SEER_FAIL(IO, "%s: %s: %s", redis->name, what, text);
  return SEER_FAIL(INVALID, "%s: %s: %s", redis->name, what, text);
}

static seer_status authenticate(
    seer_redis *redis, const seer_redis_address *address, uint64_t until_ns, seer_arena *arena) {
  if (!address->password) return SEER_OK;
  seer_redis_word words[3] = {SEER_REDIS_WORD("AUTH")};
  size_t n = 1;
  if (address->user) words[n++] = SEER_REDIS_WORD(address->user);
  words[n++] = SEER_REDIS_WORD(address->password);
  const seer_redis_reply *reply;
  SEER_TRY(call_until(redis, words, n, until_ns, arena, &reply));
  if (reply->kind != SEER_REDIS_ERROR) return SEER_OK;
  return judge(
      redis, "it does not take this user and password", words_without_secrets(reply->text));
}

static seer_status take_database(
    seer_redis *redis, const seer_redis_address *address, uint64_t until_ns, seer_arena *arena) {
  if (address->database == 0) return SEER_OK;
  char number[16];
  (void)snprintf(number, sizeof number, "%u", address->database);
  const seer_redis_word words[] = {SEER_REDIS_WORD("SELECT"), SEER_REDIS_WORD(number)};
  const seer_redis_reply *reply;
  SEER_TRY(call_until(redis, words, 2, until_ns, arena, &reply));
  if (reply->kind != SEER_REDIS_ERROR) return SEER_OK;
  return judge(redis, "it does not give this database", reply->text);
}

// Somebody who speaks the protocol, and to us.
static seer_status ping(seer_redis *redis, uint64_t until_ns, seer_arena *arena) {
  const seer_redis_word words[] = {SEER_REDIS_WORD("PING")};
  const seer_redis_reply *reply;
  SEER_TRY(call_until(redis, words, 1, until_ns, arena, &reply));
  if (reply->kind != SEER_REDIS_ERROR) return SEER_OK;
  if (begins(reply->text, "NOPERM")) return SEER_OK;  // a user who may not ask is known
  return judge(redis, "it does not serve us", reply->text);
}

static seer_status greet(seer_redis *redis, const seer_redis_address *address, uint64_t until_ns) {
  seer_arena *arena = seer_arena_create("greeting");
  seer_status status = authenticate(redis, address, until_ns, arena);
  if (!status) status = ping(redis, until_ns, arena);
  if (!status) status = take_database(redis, address, until_ns, arena);
  seer_arena_destroy(arena);
  return status;
}

static seer_status reach(seer_redis *redis, const seer_redis_address *address, uint64_t until_ns) {
  if (!address->host) return seer_net_connect_path(address->path, until_ns, &redis->fd);
  SEER_TRY(seer_net_connect(address->host, address->port, until_ns, &redis->fd));
  if (!address->is_tls) return SEER_OK;
  return seer_tls_open(
      redis->fd, address->host, &address->files, redis->name, until_ns, &redis->tls);
}

seer_status seer_redis_connect(
    const seer_redis_address *address, uint64_t timeout_ns, seer_redis **out) {
  *out = NULL;
  uint64_t until_ns = after(timeout_ns);
  seer_redis *redis = calloc(1, sizeof *redis);
  if (!redis) return SEER_FAIL(RESOURCE, "no memory for a connection");
  redis->fd = -1;
  redis->name = strdup(address->shown);
  redis->reader = seer_redis_reader_create(SEER_REDIS_MAX_BYTES);
  seer_status status = SEER_OK;
  if (!redis->name || !redis->reader) status = SEER_FAIL(RESOURCE, "no memory for a connection");
  if (!status) status = reach(redis, address, until_ns);
  if (!status) status = greet(redis, address, until_ns);
  if (status) {
    seer_redis_close(redis);
    return seer_status_context(status, "connecting to %s", address->shown);
  }
  *out = redis;
  return SEER_OK;
}

void seer_redis_close(seer_redis *redis) {
  if (!redis) return;
  seer_tls_close(redis->tls);
  seer_os_close(redis->fd);
  seer_redis_reader_destroy(redis->reader);
  free(redis->name);
  free(redis);
}
