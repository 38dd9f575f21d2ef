// net.h - connections to a server over TCP or a Unix socket, with a limit for every wait, that of
// looking up a name included (which the C library has none for).
//
// Descriptors are non-blocking, closed on exec, and never raise SIGPIPE when they are used by what
// is declared here. Limits are moments of seer_os_now_ns; UINT64_MAX: none. Threads: any may call;
// a connection is one thread's at a time.
#ifndef SEER_BASE_NET_H
#define SEER_BASE_NET_H

#include "base/arena.h"
#include "base/status.h"

// "HOST", "HOST:PORT", "[IPv6]", "[IPv6]:PORT" of n_bytes; a host is a name (letters, digits, . _
// -), an address of IPv4, or one of IPv6 in brackets, with %INTERFACE where it needs one.
// *out_host, in `arena`, has no brackets; where there is no port *out_port stays. Returns what is
// wrong, a literal; NULL: nothing.
const char *seer_net_read_address(
    const char *text, size_t n_bytes, seer_arena *arena, const char **out_host, uint16_t *out_port);

// The addresses of a name are tried one after the other, each for its share of the time that is
// left. *out_fd is closed by seer_os_close.
//   host  a name, or an address of IPv4 or IPv6 without brackets
// Errors: IO: nobody there, or no such name; TIMEOUT; RESOURCE: no descriptors.
SEER_MUST_USE seer_status seer_net_connect(
    const char *host, uint16_t port, uint64_t until_ns, int *out_fd);
// Longest path of a Unix socket [bytes], without its NUL.
#define SEER_NET_MAX_PATH_BYTES 107
SEER_MUST_USE seer_status seer_net_connect_path(const char *path, uint64_t until_ns, int *out_fd);

// Waits for connections over TCP at an address of this machine (of IPv4, or of IPv6 without
// brackets), or at all of them (NULL), with a queue of `n_waiting`. *out_fd is closed by
// seer_os_close. Errors: INVALID: no address; IO: it is not this machine's, or is taken; RESOURCE.
SEER_MUST_USE seer_status seer_net_listen(
    const char *address, uint16_t port, uint32_t n_waiting, int *out_fd);
uint16_t seer_net_port(int fd);  // that it listens at; for port 0: the one that was free
// The next one. *out_name, in `arena`: who it is, "10.0.0.2:41234". Errors: TIMEOUT; RESOURCE; IO:
// the caller has gone, or `fd` is of no use.
SEER_MUST_USE seer_status seer_net_accept(
    int fd, uint64_t until_ns, seer_arena *arena, int *out_fd, const char **out_name);

// All of it; `name` is for messages. Errors: TIMEOUT; IO, RESOURCE: `name` is gone.
SEER_MUST_USE seer_status seer_net_send(
    int fd, const void *data, size_t n_bytes, uint64_t until_ns, const char *name);
// What is there, at least a byte. Errors: TIMEOUT; IO: `name` is gone, or has closed the
// connection.
SEER_MUST_USE seer_status seer_net_receive(
    int fd, void *data, size_t cap_bytes, uint64_t until_ns, const char *name, size_t *out_n);
// Exactly n_bytes.
SEER_MUST_USE seer_status seer_net_receive_all(
    int fd, void *data, size_t n_bytes, uint64_t until_ns, const char *name);

#endif
