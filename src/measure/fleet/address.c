// address.c - URLs of servers.
// What stands in a message is chosen so that no password can: a password with a character in it
// that had to be encoded makes its rest look like a host, a port or a database, and a URL without
// its '@' makes all of it look so. So ports, databases and what is left over are never shown, and
// hosts only where no '@' is behind them.

#include <stdlib.h>
#include <string.h>

#include "base/net.h"
#include "base/text.h"
#include "measure/fleet/redis.h"
#include "setup/context.h"

#define FORMS                                                                                \
  "redis://[[USER][:PASSWORD]@]HOST[:PORT][/DATABASE], rediss://... for TLS, with ?ca=FILE " \
  "for its certificates and cert=FILE&key=FILE for one's own, or "                           \
  "unix://[[USER][:PASSWORD]@]/PATH[?db=DATABASE]"
#define DEFAULT_PORT 6379
#define MAX_URL_BYTES 4096

// A part of the URL.
typedef struct {
  const char *at;
  size_t n;
} part;

typedef struct {
  part scheme, user, password, host, port, path, query;  // at NULL: not there
  const char *behind_user;  // the '@', or what stands behind "://"
} url_parts;

static part until(const char *from, const char *end) { return (part){from, (size_t)(end - from)}; }

static bool is_text(part p, const char *text) {
  return p.n == strlen(text) && memcmp(p.at, text, p.n) == 0;
}

static seer_status refuse(const char *what) {
  return SEER_FAIL(INVALID, "address of a fleet: %s; allowed: %s", what, FORMS);
}

static seer_status find_parts(const char *url, url_parts *out) {
  *out = (url_parts){0};
  for (const char *at = url; *at; at++)
    if ((unsigned char)*at <= ' ' || *at == 0x7f)
      return refuse("it has a blank or a control character; those are %-encoded");
  if (strlen(url) > MAX_URL_BYTES) return refuse("it is longer than 4096 bytes");
  const char *colon = strstr(url, "://");
  if (!colon) return refuse("it does not begin with redis://, rediss:// or unix://");
  out->scheme = until(url, colon);
  const char *from = colon + 3, *end = from + strcspn(from, "/?#");
  const char *at_sign = memchr(from, '@', (size_t)(end - from));
  if (strchr(at_sign ? at_sign + 1 : end, '@') || strchr(end, '#'))
    return refuse("the characters @ / ? # have to be %-encoded in a user, a password and a path");
  if (at_sign) {
    const char *split = memchr(from, ':', (size_t)(at_sign - from));
    out->user = until(from, split ? split : at_sign);
    if (split) out->password = until(split + 1, at_sign);
    if (out->user.n == 0 && out->password.n == 0) return refuse("nothing stands before the @");
    if (split && out->password.n == 0) return refuse("a ':' is there, and no password behind it");
    from = at_sign + 1;
  }
  out->behind_user = from;
  out->host = until(from, end);
  const char *question = strchr(end, '?');
  out->path = until(end, question ? question : end + strlen(end));
  if (question) out->query = until(question + 1, question + strlen(question));
  return SEER_OK;
}

// ---- values
static int hex_of(char c) {
  static const char digits[] = "0123456789abcdef";
  const char *at = memchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c, 16);
  return at ? (int)(at - digits) : -1;
}

static seer_status decode(part p, const char *what, seer_arena *arena, const char **out) {
  char *text = seer_arena_alloc(arena, p.n + 1, 1);
  size_t n = 0;
  for (size_t i = 0; i < p.n; i++) {
    if (p.at[i] != '%') {
      text[n++] = p.at[i];
      continue;
    }
    int high = i + 2 < p.n ? hex_of(p.at[i + 1]) : -1;
    int low = high >= 0 ? hex_of(p.at[i + 2]) : -1;
    if (low < 0 || high + low == 0)
      return SEER_FAIL(INVALID,
          "address of a fleet: behind a %% of its %s are not two hexadecimal digits other than 00",
          what);
    text[n++] = (char)(high * 16 + low);
    i += 2;
  }
  *out = text;
  return SEER_OK;
}

static bool read_number(part p, uint32_t max, uint32_t *out) {
  uint64_t value = 0;
  if (p.n == 0 || p.n > 10) return false;
  for (size_t i = 0; i < p.n; i++) {
    if (p.at[i] < '0' || p.at[i] > '9') return false;
    value = value * 10 + (uint64_t)(p.at[i] - '0');
  }
  *out = (uint32_t)value;
  return value <= max;
}

static seer_status read_database(part p, seer_redis_address *out) {
  if (!read_number(p, INT32_MAX, &out->database))
    return refuse("the database is no number from 0 to 2147483647");
  return SEER_OK;
}

// HOST[:PORT], [IPv6][:PORT]; an interface, as addresses elsewhere have, would need its '%'
// encoded.
static seer_status read_host(part all, seer_arena *arena, seer_redis_address *out) {
  out->port = DEFAULT_PORT;
  const char *wrong = seer_net_read_address(all.at, all.n, arena, &out->host, &out->port);
  if (!wrong && strchr(out->host, '%')) wrong = "its IPv6 address names an interface";
  return wrong ? refuse(wrong) : SEER_OK;
}

static seer_status read_path(part path, seer_arena *arena, seer_redis_address *out) {
  SEER_TRY(decode(path, "path", arena, &out->path));
  size_t n = strlen(out->path);
  if (n <= 1) return refuse("unix:// needs the path of a socket");
  if (n > SEER_NET_MAX_PATH_BYTES)
    return SEER_FAIL(INVALID,
        "address of a fleet: the path of its socket has %zu bytes, at most %d", n,
        SEER_NET_MAX_PATH_BYTES);
  return SEER_OK;
}

// Of rediss://, each once.
static const char **file_of(part key, seer_tls_files *files) {
  if (is_text(key, "ca")) return &files->ca_file;
  if (is_text(key, "cert")) return &files->cert_file;
  return is_text(key, "key") ? &files->key_file : NULL;
}

static seer_status read_query(part query, seer_arena *arena, seer_redis_address *out) {
  bool has_database = false;
  for (const char *at = query.at, *end = at + query.n;; at++) {
    const char *stop = memchr(at, '&', (size_t)(end - at));
    part all = until(at, stop ? stop : end);
    const char *equals = memchr(all.at, '=', all.n);
    part key = until(all.at, equals ? equals : all.at);
    part value = equals ? until(equals + 1, all.at + all.n) : (part){0};
    const char **file = out->is_tls ? file_of(key, &out->files) : NULL;
    if (value.n > 0 && file && !*file) {
      SEER_TRY(decode(value, "file", arena, file));
    } else if (value.n > 0 && is_text(key, "db") && out->path && !has_database) {
      SEER_TRY(read_database(value, out));
      has_database = true;
    } else {
      return refuse(
          "behind a '?' is something else than, once each, ca=FILE, cert=FILE and key=FILE of "
          "rediss:// or db=DATABASE of unix://");
    }
    if (!stop) break;
    at = stop;
  }
  if (out->files.key_file && !out->files.cert_file)
    return refuse("a key=FILE is there, and no cert=FILE that it is the key of");
  return SEER_OK;
}

// ---- who
// Nobody's: the words of the environment, of which none stands in a list of processes.
static const char *password_of_environment(void) {
  const char *password = getenv(SEER_FLEET_PASSWORD);
  return password && *password ? password : NULL;
}

static seer_status read_user(
    const url_parts *parts, const char *password, seer_arena *arena, seer_redis_address *out) {
  const char *known = password ? password : password_of_environment();
  if (parts->user.n > 0) SEER_TRY(decode(parts->user, "user", arena, &out->user));
  if (parts->password.at) {
    SEER_TRY(decode(parts->password, "password", arena, &out->password));
  } else if (known) {
    out->password = seer_arena_strdup(arena, known);
  }
  if (out->user && !out->password)
    return refuse(
        "a user needs a password: USER:PASSWORD@, or USER@ and --fleet-password-file or the "
        "environment variable SEER_FLEET_PASSWORD");
  return SEER_OK;
}

// The URL as it was given, without ":PASSWORD".
static const char *without_password(const char *url, const url_parts *parts, seer_arena *arena) {
  part user = parts->user;
  const char *text = seer_arena_printf(arena, "%.*s://%.*s%s%s", (int)parts->scheme.n, url,
      (int)user.n, user.n ? user.at : "", user.n ? "@" : "", parts->behind_user);
  return seer_text_safe(arena, text);
}

seer_status seer_redis_parse(
    const char *url, const char *password, seer_arena *arena, seer_redis_address *out) {
  url_parts parts;
  *out = (seer_redis_address){0};
  SEER_TRY(find_parts(url, &parts));
  out->is_tls = is_text(parts.scheme, "rediss");
  bool is_unix = is_text(parts.scheme, "unix");
  if (!out->is_tls && !is_unix && !is_text(parts.scheme, "redis"))
    return refuse("it does not begin with redis://, rediss:// or unix://");
  if (is_unix) {
    if (parts.host.n > 0) return refuse("behind unix:// comes a path that begins with '/'");
    SEER_TRY(read_path(parts.path, arena, out));
  } else {
    SEER_TRY(read_host(parts.host, arena, out));
    part database = parts.path;
    if (database.n > 1)
      SEER_TRY(read_database(until(database.at + 1, database.at + database.n), out));
  }
  if (parts.query.at) SEER_TRY(read_query(parts.query, arena, out));
  SEER_TRY(read_user(&parts, password, arena, out));
  out->shown = without_password(url, &parts, arena);
  return SEER_OK;
}
