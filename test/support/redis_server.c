// redis_server.c - see redis_server.h.
#include "support/redis_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/test.h"

#define PATIENCE_NS 20000000000u
#define MAX_WORDS 48

int listen_somewhere(uint16_t *out_port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n), 0);
  assert_int_equal(listen(fd, 4), 0);
  *out_port = ntohs(address.sin_port);
  return fd;
}

uint16_t free_port(void) {
  uint16_t port;
  close(listen_somewhere(&port));
  return port;
}

static bool answers(const redis_server *server) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", server->path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool is_up = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
  close(fd);
  return is_up;
}

static bool start(redis_server *server) {
  seer_arena *arena = server->arena;
  const redis_server_options *o = &server->options;
  const char *program = seer_os_find_program("redis-server", arena);
  if (!program) fail_msg("redis-server is not there: tool/deps.sh installs it");
  const char *argv[MAX_WORDS] = {program, "--save", "", "--appendonly", "no", "--bind", "127.0.0.1",
      "--port", seer_arena_printf(arena, "%u", server->port), "--dir", server->folder,
      "--unixsocket", server->path};
  size_t n = 13;
  if (o->password) {
    argv[n++] = "--requirepass";
    argv[n++] = o->password;
  }
  if (o->user) {
    argv[n++] = "--user";
    for (char *at = seer_arena_strdup(arena, o->user), *word; (word = strtok_r(at, " ", &at));)
      argv[n++] = word;
  }
  if (o->certificate) {
    const char *tls[] = {"--tls-port", seer_arena_printf(arena, "%u", server->tls_port),
        "--tls-cert-file", o->certificate, "--tls-key-file", o->key, "--tls-ca-cert-file", o->ca,
        "--tls-auth-clients", o->asks_clients ? "yes" : "no"};
    for (size_t i = 0; i < SEER_COUNT_OF(tls); i++) argv[n++] = tls[i];
  }
  const char *log = seer_os_path_join(arena, server->folder, "log");
  const seer_os_spawn_options options = {.argv = argv, .stdout_path = log, .stderr_path = log};
  must(seer_os_spawn(&options, &server->process));
  for (uint64_t end = seer_os_now_ns() + PATIENCE_NS; seer_os_now_ns() < end;) {
    if (answers(server)) return true;
    bool is_done;
    int status;
    must(seer_os_wait(&server->process, 2000000, &is_done, &status));
    if (is_done) return false;
  }
  seer_os_kill(&server->process);
  return false;
}

void redis_server_start(
    redis_server *server, const redis_server_options *options, seer_arena *arena) {
  *server = (redis_server){.options = *options, .arena = arena};
  must(seer_os_temp_dir("redis", arena, &server->folder));
  server->path = seer_os_path_join(arena, server->folder, "socket");
  // Somebody else may have taken a port in between.
  for (int i = 0; i < 5; i++) {
    server->port = free_port();
    server->tls_port = options->certificate ? free_port() : 0;
    if (start(server)) return;
  }
  fail_msg("redis-server does not come up; its log is in %s", server->folder);
}

void redis_server_kill(redis_server *server) { seer_os_kill(&server->process); }

void redis_server_again(redis_server *server) {
  (void)unlink(server->path);
  if (!start(server)) fail_msg("redis-server does not come up again");
}

void redis_server_stop(redis_server *server) {
  seer_os_kill(&server->process);
  must(seer_os_remove_tree(server->folder));
}
