// redis_server.h - a redis-server of a test's own: in a temporary folder, on a Unix socket and on
// free ports, without files; it ends with the test, whatever becomes of that.
#ifndef SEER_TEST_REDIS_SERVER_H
#define SEER_TEST_REDIS_SERVER_H

#include "base/os.h"

typedef struct {
  const char *password;  // NULL: none
  const char *user;  // an ACL user beside it, "name on >password +@all ~*"; NULL: none
  const char *certificate, *key, *ca;  // files; NULL: no TLS
  bool asks_clients;  // for certificates by `ca`
} redis_server_options;

typedef struct {
  seer_os_process process;
  const char *folder, *path;  // of the socket
  uint16_t port, tls_port;  // 0: no TLS
  redis_server_options options;
  seer_arena *arena;
} redis_server;

// Up and listening when it returns; fails the test when it does not come up. `arena` is kept.
void redis_server_start(
    redis_server *server, const redis_server_options *options, seer_arena *arena);
// Killed; again: on the same ports, empty.
void redis_server_kill(redis_server *server);
void redis_server_again(redis_server *server);
void redis_server_stop(redis_server *server);  // and its folder is removed
// A port of 127.0.0.1 that nobody listens on.
uint16_t free_port(void);
// Listens on one; closed by close().
int listen_somewhere(uint16_t *out_port);

#endif
