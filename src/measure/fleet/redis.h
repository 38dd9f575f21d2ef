// redis.h - a connection to a Redis or Valkey server (RESP2): commands go out, replies come back,
// over TCP, a Unix socket or TLS. hiredis formats commands and reads replies; sockets, time limits
// and TLS (OpenSSL; hiredis 0.14 has none) are here. Nothing here knows what the commands are for.
//
//   redis://[[USER][:PASSWORD]@]HOST[:PORT][/DATABASE]
//   rediss://...?ca=FILE&cert=FILE&key=FILE
//                          over TLS 1.2 or later; the certificate and the host's name in it are
//                          checked, by the certificates in ca's FILE or the system's; cert and key:
//                          who we are, for servers that ask (the key may stand in cert's FILE)
//   unix://[[USER][:PASSWORD]@]/PATH[?db=DATABASE]
//
// USER, PASSWORD, PATH and FILE may be %-encoded, and have to be where they have one of @ / ? # in
// them. Without a password there, one that was found elsewhere is taken, or that of the environment
// variable SEER_FLEET_PASSWORD, so that none has to stand in a command line.
//
// Memory: an address is in its arena, and borrowed when it is connected to; replies are in the
// arena of the call. Threads: one at a time for each connection. Never a signal (SIGPIPE); sockets
// are closed on exec. No status, and so no log, holds a password.
#ifndef SEER_MEASURE_FLEET_REDIS_H
#define SEER_MEASURE_FLEET_REDIS_H

#include "base/arena.h"
#include "base/status.h"
#include "measure/fleet/tls.h"

typedef struct {
  bool is_tls;
  const char *host;  // NULL: `path`
  uint16_t port;
  const char *path;
  const char *user, *password;  // NULL: none
  uint32_t database;
  seer_tls_files files;
  const char *shown;  // the URL without its password, for messages
} seer_redis_address;

//   password  found elsewhere, kept; NULL: none
// Errors: INVALID, which says what is allowed, and never shows a password.
SEER_MUST_USE seer_status seer_redis_parse(
    const char *url, const char *password, seer_arena *arena, seer_redis_address *out);

typedef enum {
  SEER_REDIS_NIL,
  SEER_REDIS_INTEGER,
  SEER_REDIS_TEXT,  // of any bytes; a status ("OK"), too
  SEER_REDIS_ERROR,  // the server's: text
  SEER_REDIS_ARRAY
} seer_redis_kind;

typedef struct seer_redis_reply {
  seer_redis_kind kind;
  int64_t integer;
  const char *text;  // a NUL behind it
  size_t n;  // bytes of text, or elements
  const struct seer_redis_reply *element;
} seer_redis_reply;

typedef struct {
  const void *data;
  size_t n;
} seer_redis_word;
#define SEER_REDIS_WORD(text) ((seer_redis_word){(text), strlen(text)})

typedef struct seer_redis seer_redis;

// Connects, says who it is (AUTH), looks whether it is served (PING), takes the database (SELECT).
// Errors: IO: nobody there, gone, a name that does not resolve, or a server that cannot serve yet;
// TIMEOUT; INVALID: the server refuses user, password, database or our certificate, or its
// certificate is refused; CORRUPT: no Redis server; UNSUPPORTED: there is no OpenSSL; RESOURCE;
// each with the address as shown.
SEER_MUST_USE seer_status seer_redis_connect(
    const seer_redis_address *address, uint64_t timeout_ns, seer_redis **out);
void seer_redis_close(seer_redis *redis);  // NULL is fine

// One command and its reply. An error of the server's is a reply (SEER_REDIS_ERROR), not a status.
// Errors: IO, TIMEOUT, CORRUPT (no reply by the protocol, or one larger than SEER_REDIS_MAX_BYTES),
// RESOURCE: after each of these the connection is of no use (what follows is IO), and is to be
// closed. INVALID: a command larger than that; nothing was sent. For tests.
#define SEER_REDIS_MAX_BYTES ((size_t)64 << 20)
SEER_MUST_USE seer_status seer_redis_call(seer_redis *redis, const seer_redis_word *words, size_t n,
    uint64_t timeout_ns, seer_arena *arena, const seer_redis_reply **out);
// Several commands at once, without waiting in between (pipelining): `send` for each, then as many
// `receive`, in order.
SEER_MUST_USE seer_status seer_redis_send(
    seer_redis *redis, const seer_redis_word *words, size_t n, uint64_t timeout_ns);
SEER_MUST_USE seer_status seer_redis_receive(
    seer_redis *redis, uint64_t timeout_ns, seer_arena *arena, const seer_redis_reply **out);
// As call, where an error of the server's is a failure (DEVICE, with the server's words). For
// tests.
SEER_MUST_USE seer_status seer_redis_do(seer_redis *redis, const seer_redis_word *words, size_t n,
    uint64_t timeout_ns, seer_arena *arena, const seer_redis_reply **out);

// Bytes of commands and replies that went out and came in so far.
void seer_redis_traffic(const seer_redis *redis, uint64_t *out_sent, uint64_t *out_received);

#endif
