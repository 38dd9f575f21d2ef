// net.h - connections to a server over TCP or a Unix socket, with a limit for every wait, that of
// looking up a name included (which the C library has none for).
//
// Descriptors are non-blocking, closed on exec, and never raise SIGPIPE when they are used by what
// is declared here. Limits are moments of seer_os_now_ns; UINT64_MAX: none. Threads: any may call;
// a connection is one thread's at a time.
#ifndef SEER_BASE_NET_H
#define SEER_BASE_NET_H

#include "base/status.h"

// The addresses of a name are tried one after the other, each for its share of the time that is
// left. *out_fd is closed by seer_os_close.
//   host  a name, or an address of IPv4 or IPv6 without brackets
// Errors: IO: nobody there, or no such name; TIMEOUT; RESOURCE: no descriptors.
SEER_MUST_USE seer_status seer_net_connect(
    const char *host, uint16_t port, uint64_t until_ns, int *out_fd);
// Longest path of a Unix socket [bytes], without its NUL.
#define SEER_NET_MAX_PATH_BYTES 107
SEER_MUST_USE seer_status seer_net_connect_path(const char *path, uint64_t until_ns, int *out_fd);

// All of it; `name` is for messages. Errors: TIMEOUT; IO, RESOURCE: `name` is gone.
SEER_MUST_USE seer_status seer_net_send(
    int fd, const void *data, size_t n_bytes, uint64_t until_ns, const char *name);
// What is there, at least a byte. Errors: TIMEOUT; IO: `name` is gone, or has closed the
// connection.
SEER_MUST_USE seer_status seer_net_receive(
    int fd, void *data, size_t cap_bytes, uint64_t until_ns, const char *name, size_t *out_n);

#endif
