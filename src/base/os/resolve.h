// resolve.h - the addresses of a host, with a limit for looking its name up.
#ifndef SEER_BASE_OS_RESOLVE_H
#define SEER_BASE_OS_RESOLVE_H

#include "base/status.h"

struct addrinfo;
// At least one, for TCP; owned: freeaddrinfo. Errors: IO: no such name; TIMEOUT; RESOURCE.
SEER_MUST_USE seer_status seer_net_resolve(
    const char *host, uint16_t port, uint64_t until_ns, struct addrinfo **out_list);

#endif
