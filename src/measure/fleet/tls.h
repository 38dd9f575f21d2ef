// tls.h - TLS 1.2 or later over a connected socket, by OpenSSL, which is loaded when it is asked
// for first (libssl.so: programs that need none start 1 ms sooner). The server's certificate has to
// be valid, by one that is trusted, and for the host: a name, which is sent as SNI, or an address.
//
// A server that asks for a certificate of ours gets that of cert_file, if one is named.
//
// Limits as in base/net.h; `name` is what messages call the server, kept. Threads: one at a time.
#ifndef SEER_MEASURE_FLEET_TLS_H
#define SEER_MEASURE_FLEET_TLS_H

#include "base/status.h"

typedef struct seer_tls seer_tls;

// Files in PEM, borrowed for the call.
typedef struct {
  const char *ca_file;  // certificates that are trusted; NULL: the system's
  const char *cert_file;  // ours, with those between it and an authority behind it; NULL: none
  const char *key_file;  // its private key, not encrypted; NULL: in cert_file, too
} seer_tls_files;

// Shakes hands. Owned: seer_tls_close, which leaves `fd`, kept until then, open.
// Errors: INVALID: a certificate, a file, or a server that speaks no TLS; UNSUPPORTED: there is no
// OpenSSL; IO, TIMEOUT, RESOURCE.
SEER_MUST_USE seer_status seer_tls_open(int fd, const char *host, const seer_tls_files *files,
    const char *name, uint64_t until_ns, seer_tls **out);
void seer_tls_close(seer_tls *tls);  // NULL is fine; says goodbye, and waits for none

// All of it. Errors: IO, TIMEOUT, CORRUPT: not what TLS allows.
SEER_MUST_USE seer_status seer_tls_send(
    seer_tls *tls, const void *data, size_t n_bytes, uint64_t until_ns);
// At least one byte. Before the first one, also INVALID: the server wants a certificate of ours, or
// not this one (by TLS 1.3 it says so when hands have been shaken).
SEER_MUST_USE seer_status seer_tls_receive(
    seer_tls *tls, void *data, size_t cap_bytes, uint64_t until_ns, size_t *out_n);

#endif
