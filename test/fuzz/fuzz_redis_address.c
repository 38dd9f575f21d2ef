// Bytes as a URL of a server. What is taken is within its limits, and what is shown of it is an
// address of the same server, without the password.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/net.h"
#include "fuzz/fuzz.h"
#include "measure/fleet/redis.h"

static bool is_same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static void check(const seer_redis_address *a, seer_arena *arena) {
  if (!a->host == !a->path || !a->shown || (a->user && !a->password)) abort();
  if (a->host && a->port == 0) abort();
  if (a->path && (a->is_tls || strlen(a->path) > SEER_NET_MAX_PATH_BYTES)) abort();
  seer_redis_address again;
  seer_status status = seer_redis_parse(a->shown, NULL, arena, &again);
  if (status) {
    (void)fprintf(stderr, "%s: %s\n", a->shown, seer_status_message(status));
    abort();
  }
  if (!is_same(a->host, again.host) || !is_same(a->path, again.path) ||
      !is_same(a->user, again.user) || !is_same(a->files.ca_file, again.files.ca_file) ||
      !is_same(a->files.cert_file, again.files.cert_file) ||
      !is_same(a->files.key_file, again.files.key_file) || a->port != again.port ||
      a->database != again.database || a->is_tls != again.is_tls || !is_same(a->shown, again.shown))
    abort();
  if (again.password && strcmp(again.password, "of the environment") != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("fuzz");
  setenv("SEER_FLEET_PASSWORD", "of the environment", 1);
  seer_redis_address address;
  const char *url = seer_arena_strndup(arena, (const char *)data, n_bytes);
  seer_status status = seer_redis_parse(url, NULL, arena, &address);
  // What is shown has no bytes that a terminal could take for something else, so it may differ.
  bool is_plain = true;
  for (const char *at = url; *at; at++) is_plain = is_plain && *at > 0;
  if (!status && is_plain && strlen(url) < 200) check(&address, arena);
  seer_status_free(status);
  seer_arena_destroy(arena);
  return 0;
}
