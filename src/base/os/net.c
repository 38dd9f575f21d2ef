// net.c - connecting, sending and receiving on sockets that never block: every wait is a poll with
// what is left of the caller's time.

#include "base/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/os.h"
#include "base/os/resolve.h"
#include "base/os_fault.h"

// A peer that has gone without a word, while a connection waits: known after two minutes.
#define IDLE_BEFORE_PROBES_S 60
#define S_BETWEEN_PROBES 15
#define MAX_PROBES 4
#define MAX_WAIT_MS 3600000
#define QUEUE_PAUSE_NS 2000000u

_Static_assert(sizeof((struct sockaddr_un *)0)->sun_path == SEER_NET_MAX_PATH_BYTES + 1, "path");

static bool is_short_of(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

// Whoever is not there may be there in a moment: IO, also where errno says that there is no file.
static seer_status fail(int error, const char *what, const char *name) {
  if (is_short_of(error)) return seer_os_fail(error, what, name);
  return SEER_FAIL(IO, "%s: %s: %s", name, what, strerror(error));
}

static uint64_t left_of(uint64_t until_ns) {
  uint64_t now = seer_os_now_ns();
  return until_ns == UINT64_MAX ? UINT64_MAX : until_ns > now ? until_ns - now : 0;
}

// ---- addresses as text
#define NO_HOST                                                                           \
  "it names no host, or one that is neither a name (letters, digits, . _ -) nor an IPv4 " \
  "address nor an [IPv6 address]"
#define NO_PORT "the port is no number from 1 to 65535"
#define MAX_HOST_BYTES 253
#define MAX_PORT_DIGITS 5

static bool is_host_name(const char *host, size_t n) {
  if (n == 0 || n > MAX_HOST_BYTES) return false;
  for (size_t i = 0; i < n; i++) {
    char c = host[i];
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_letter && c != '.' && c != '_' && (c != '-' || i == 0)) return false;
  }
  return true;
}

// With an interface behind a '%', which has a name of its own.
static bool is_address_of_6(const char *host, size_t n) {
  char address[INET6_ADDRSTRLEN];
  const char *percent = memchr(host, '%', n);
  size_t n_address = percent ? (size_t)(percent - host) : n;
  if (n_address >= sizeof address) return false;
  memcpy(address, host, n_address);
  address[n_address] = '\0';
  unsigned char bytes[16];
  bool is_one = inet_pton(AF_INET6, address, bytes) == 1;
  return is_one && (!percent || is_host_name(percent + 1, n - n_address - 1));
}

static bool read_port(const char *at, const char *end, uint16_t *out) {
  uint32_t value = 0;
  if (at == end || end - at > MAX_PORT_DIGITS) return false;
  for (; at < end; at++) {
    if (*at < '0' || *at > '9') return false;
    value = value * 10 + (uint32_t)(*at - '0');
  }
  *out = (uint16_t)value;
  return value > 0 && value <= UINT16_MAX;
}

const char *seer_net_read_address(const char *text, size_t n_bytes, seer_arena *arena,
    const char **out_host, uint16_t *out_port) {
  const char *end = text + n_bytes, *host = text, *behind = text;
  bool is_6 = n_bytes > 0 && text[0] == '[';
  if (is_6) {
    host++;
    behind = memchr(text, ']', n_bytes);
    if (!behind) return "a '[' before the host has no ']'";
    behind++;
  }
  const char *colon = memchr(behind, ':', (size_t)(end - behind));
  if (is_6 && behind < end && colon != behind) return "behind a ']' comes ':' and a port";
  size_t n = (size_t)(is_6 ? behind - 1 - host : (colon ? colon : end) - host);
  if (is_6 ? !is_address_of_6(host, n) : !is_host_name(host, n)) return NO_HOST;
  if (colon && !read_port(colon + 1, end, out_port)) return NO_PORT;
  *out_host = seer_arena_strndup(arena, host, n);
  return NULL;
}

// ---- connecting
static void watch_peer(int fd) {  // what cannot be set is done without
  const int on = 1, idle = IDLE_BEFORE_PROBES_S, between = S_BETWEEN_PROBES, most = MAX_PROBES;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
  (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &most, sizeof most);
}

static seer_status finish(int fd, uint64_t until_ns, const char *name) {
  for (;;) {
    uint64_t left_ms = (left_of(until_ns) + 999999) / 1000000;
    struct pollfd wait = {fd, POLLOUT, 0};
    int n = poll(&wait, 1, left_ms > MAX_WAIT_MS ? MAX_WAIT_MS : (int)left_ms);
    if (n > 0) break;
    if (n < 0 && errno != EINTR) return fail(errno, "cannot wait", name);
    if (left_of(until_ns) == 0) return SEER_FAIL(TIMEOUT, "%s: no answer in time", name);
  }
  int error = 0;
  socklen_t n_bytes = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n_bytes) != 0) error = errno;
  return error ? fail(error, "cannot connect", name) : SEER_OK;
}

static seer_status connect_to(const struct sockaddr *address, socklen_t n_bytes, uint64_t until_ns,
    const char *name, int *out_fd) {
  *out_fd = -1;
  if (seer_os_fault_hits()) return fail(EIO, "cannot connect", name);
  int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fail(errno, "cannot connect", name);
  // A Unix socket whose queue is full says EAGAIN, and no poll tells when there is room again.
  int error;
  while ((error = connect(fd, address, n_bytes) == 0 ? 0 : errno) == EAGAIN &&
      seer_os_now_ns() < until_ns)
    seer_os_sleep_ns(QUEUE_PAUSE_NS);
  seer_status status = SEER_OK;
  if (error == EINPROGRESS || error == EINTR) {
    status = finish(fd, until_ns, name);
  } else if (error == EAGAIN) {
    status = SEER_FAIL(TIMEOUT, "%s: its queue of connections is full", name);
  } else if (error) {
    status = fail(error, "cannot connect", name);
  }
  if (status) {
    seer_os_close(fd);
    return status;
  }
  if (address->sa_family != AF_UNIX) watch_peer(fd);
  *out_fd = fd;
  return SEER_OK;
}

static uint64_t share_of(uint64_t until_ns, size_t n) {
  return until_ns == UINT64_MAX ? until_ns : seer_os_now_ns() + left_of(until_ns) / n;
}

seer_status seer_net_connect(const char *host, uint16_t port, uint64_t until_ns, int *out_fd) {
  char name[300];
  (void)snprintf(name, sizeof name, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, (unsigned)port);
  *out_fd = -1;
  struct addrinfo *list;
  SEER_TRY(seer_net_resolve(host, port, until_ns, &list));
  size_t n_left = 0;
  for (const struct addrinfo *at = list; at; at = at->ai_next) n_left++;
  seer_status status = SEER_OK;
  for (const struct addrinfo *at = list; at && *out_fd < 0; at = at->ai_next, n_left--) {
    seer_status_free(status);
    status = connect_to(at->ai_addr, at->ai_addrlen, share_of(until_ns, n_left), name, out_fd);
  }
  freeaddrinfo(list);
  return status;
}

seer_status seer_net_connect_path(const char *path, uint64_t until_ns, int *out_fd) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t n = strlen(path);
  SEER_ASSERT(n <= SEER_NET_MAX_PATH_BYTES, "a path of %zu bytes", n);
  memcpy(address.sun_path, path, n);
  return connect_to((const struct sockaddr *)&address, sizeof address, until_ns, path, out_fd);
}

// ---- being connected to
typedef union {
  struct sockaddr any;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
} internet_address;

static socklen_t bytes_of(const internet_address *address) {
  return address->any.sa_family == AF_INET6 ? sizeof address->six : sizeof address->four;
}

// IPv6's "any" takes IPv4, too.
static internet_address any_address(sa_family_t family, uint16_t port) {
  internet_address address = {.any = {.sa_family = family}};
  if (family == AF_INET6)
    address.six.sin6_port = htons(port);
  else
    address.four.sin_port = htons(port);
  return address;
}

static bool read_address(const char *text, uint16_t port, internet_address *out) {
  *out = any_address(AF_INET, port);
  if (inet_pton(AF_INET, text, &out->four.sin_addr) == 1) return true;
  *out = any_address(AF_INET6, port);
  return inet_pton(AF_INET6, text, &out->six.sin6_addr) == 1;
}

static seer_status listen_at(
    const internet_address *address, uint32_t n_waiting, const char *name, int *out_fd) {
  const int on = 1, off = 0;
  int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fail(errno, "cannot listen", name);
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address->any.sa_family == AF_INET6)
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(fd, &address->any, bytes_of(address)) == 0 && listen(fd, (int)n_waiting) == 0) {
    *out_fd = fd;
    return SEER_OK;
  }
  seer_status status = fail(errno, "cannot listen", name);
  seer_os_close(fd);
  return status;
}

seer_status seer_net_listen(const char *address, uint16_t port, uint32_t n_waiting, int *out_fd) {
  *out_fd = -1;
  if (seer_os_fault_hits()) return fail(EIO, "cannot listen", address ? address : "port");
  internet_address at;
  if (address && !read_address(address, port, &at))
    return SEER_FAIL(INVALID, "'%s' is no address of IPv4 or IPv6", address);
  if (address) return listen_at(&at, n_waiting, address, out_fd);
  char name[32];
  (void)snprintf(name, sizeof name, "port %u", (unsigned)port);
  at = any_address(AF_INET6, port);
  seer_status status = listen_at(&at, n_waiting, name, out_fd);
  if (!status) return SEER_OK;
  seer_status_free(status);  // a system without IPv6 has IPv4
  at = any_address(AF_INET, port);
  return listen_at(&at, n_waiting, name, out_fd);
}

uint16_t seer_net_port(int fd) {
  internet_address address = {0};
  socklen_t n_bytes = sizeof address;
  if (getsockname(fd, &address.any, &n_bytes) != 0) return 0;
  return ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port : address.four.sin_port);
}

static const char *name_of(const internet_address *address, seer_arena *arena) {
  char text[INET6_ADDRSTRLEN] = "?";
  bool is_six = address->any.sa_family == AF_INET6;
  const void *bytes = is_six ? (const void *)&address->six.sin6_addr : &address->four.sin_addr;
  (void)inet_ntop(address->any.sa_family, bytes, text, sizeof text);
  uint16_t port = ntohs(is_six ? address->six.sin6_port : address->four.sin_port);
  return seer_arena_printf(arena, is_six ? "[%s]:%u" : "%s:%u", text, (unsigned)port);
}

seer_status seer_net_accept(
    int fd, uint64_t until_ns, seer_arena *arena, int *out_fd, const char **out_name) {
  *out_fd = -1;
  if (seer_os_fault_hits()) return fail(EIO, "cannot accept", "a caller");
  for (;;) {
    internet_address address = {0};
    socklen_t n_bytes = sizeof address;
    *out_fd = accept4(fd, &address.any, &n_bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (*out_fd >= 0) {
      watch_peer(*out_fd);
      *out_name = name_of(&address, arena);
      return SEER_OK;
    }
    if (errno != EINTR && errno != EAGAIN) return fail(errno, "cannot accept", "a caller");
    bool has_called;
    if (!seer_os_poll_in(&fd, 1, left_of(until_ns), &has_called))
      return SEER_FAIL(TIMEOUT, "nobody has called");
  }
}

// ---- bytes
seer_status seer_net_send(
    int fd, const void *data, size_t n_bytes, uint64_t until_ns, const char *name) {
  SEER_TRYF(seer_os_send_all(fd, data, n_bytes, left_of(until_ns)), "sending to %s", name);
  return SEER_OK;
}

seer_status seer_net_receive(
    int fd, void *data, size_t cap_bytes, uint64_t until_ns, const char *name, size_t *out_n) {
  *out_n = 0;
  if (seer_os_fault_hits()) return fail(EIO, "cannot receive", name);
  for (;;) {
    ssize_t n = recv(fd, data, cap_bytes, MSG_DONTWAIT);
    if (n > 0) {
      *out_n = (size_t)n;
      return SEER_OK;
    }
    if (n == 0) return SEER_FAIL(IO, "%s: has closed the connection", name);
    if (errno != EINTR && errno != EAGAIN) return fail(errno, "cannot receive", name);
    bool is_ready;
    if (!seer_os_poll_in(&fd, 1, left_of(until_ns), &is_ready))
      return SEER_FAIL(TIMEOUT, "%s: no answer in time", name);
  }
}

seer_status seer_net_receive_all(
    int fd, void *data, size_t n_bytes, uint64_t until_ns, const char *name) {
  for (size_t at = 0, n; at < n_bytes; at += n)
    SEER_TRY(seer_net_receive(fd, (uint8_t *)data + at, n_bytes - at, until_ns, name, &n));
  return SEER_OK;
}
