// tls.h - TLS 1.2 or later over a connected socket, by OpenSSL, which is loaded when it is asked
// for first (libssl.so: programs that need none start 1 ms sooner). The server's certificate has to
// be valid, by one that is trusted, and for the host: a name, which is sent as SNI, or an address.
//
// Limits as in base/net.h; `name` is what messages call the server, kept. Threads: one at a time.
#ifndef SEER_MEASURE_FLEET_TLS_H
#define SEER_MEASURE_FLEET_TLS_H

#include "base/status.h"

typedef struct seer_tls seer_tls;

// Shakes hands. Owned: seer_tls_close, which leaves `fd`, kept until then, open.
//   ca_file  certificates that are trusted; NULL: the system's
// Errors: INVALID: the certificate, ca_file, or a server that speaks no TLS; UNSUPPORTED: there is
// no OpenSSL; IO, TIMEOUT, RESOURCE.
SEER_MUST_USE seer_status seer_tls_open(int fd, const char *host, const char *ca_file,
    const char *name, uint64_t until_ns, seer_tls **out);
void seer_tls_close(seer_tls *tls);  // NULL is fine; says goodbye, and waits for none

// All of it. Errors: IO, TIMEOUT, CORRUPT: not what TLS allows.
SEER_MUST_USE seer_status seer_tls_send(
    seer_tls *tls, const void *data, size_t n_bytes, uint64_t until_ns);
// At least one byte.
SEER_MUST_USE seer_status seer_tls_receive(
    seer_tls *tls, void *data, size_t cap_bytes, uint64_t until_ns, size_t *out_n);

#endif
