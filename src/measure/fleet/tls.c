// tls.c - OpenSSL between two memories: what it wants to send is taken out of one and sent, what
// came in is put into the other. So all waiting, and never a SIGPIPE, is ours (base/net.h).
//
// libssl and libcrypto are not linked: 17,000 relocations at every start of every program, 3.3
// million instructions and 1.2 ms, for what few of them need.

#include "measure/fleet/tls.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "base/net.h"

// The library of the version whose headers this was compiled with.
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define LIBRARY "libssl.so." TEXT(OPENSSL_SHLIB_VERSION)

#define CHUNK_BYTES 16384
#define MAX_PIECE_BYTES ((size_t)1 << 20)  // held a second time, encrypted

// What is called of it; what its documentation calls SSL_set_mode and the like are macros over
// SSL_ctrl.
#define FUNCTIONS(X)                    \
  X(BIO_ctrl_pending)                   \
  X(BIO_free)                           \
  X(BIO_new)                            \
  X(BIO_read)                           \
  X(BIO_s_mem)                          \
  X(BIO_write)                          \
  X(ERR_clear_error)                    \
  X(ERR_get_error)                      \
  X(ERR_reason_error_string)            \
  X(SSL_CTX_ctrl)                       \
  X(SSL_CTX_free)                       \
  X(SSL_CTX_load_verify_file)           \
  X(SSL_CTX_new)                        \
  X(SSL_CTX_set_cert_cb)                \
  X(SSL_CTX_set_default_passwd_cb)      \
  X(SSL_CTX_set_default_verify_paths)   \
  X(SSL_CTX_set_verify)                 \
  X(SSL_CTX_use_PrivateKey_file)        \
  X(SSL_CTX_use_certificate_chain_file) \
  X(SSL_connect)                        \
  X(SSL_ctrl)                           \
  X(SSL_free)                           \
  X(SSL_get0_param)                     \
  X(SSL_get_error)                      \
  X(SSL_get_verify_result)              \
  X(SSL_new)                            \
  X(SSL_read)                           \
  X(SSL_set1_host)                      \
  X(SSL_set_bio)                        \
  X(SSL_set_hostflags)                  \
  X(SSL_shutdown)                       \
  X(SSL_write)                          \
  X(TLS_client_method)                  \
  X(X509_VERIFY_PARAM_set1_ip_asc)      \
  X(X509_verify_cert_error_string)

#define POINTER(name) __typeof__(name) *name;
typedef struct {
  FUNCTIONS(POINTER)
} functions;

struct seer_tls {
  functions ssl;
  SSL_CTX *context;
  SSL *session;
  BIO *in, *out;  // the session's
  int fd;
  const char *name;
  bool is_up;  // hands were shaken, and nothing has failed since
  bool is_heard;  // a byte has come
  bool is_asked, has_certificate;  // for a certificate of ours; is there one?
};

// It stays loaded, as it cannot be unloaded while threads have data of its own.
static seer_status load(functions *out) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return SEER_FAIL(UNSUPPORTED,
        "rediss:// needs OpenSSL's " LIBRARY
        ", which cannot be loaded: %s; install it, or go by "
        "redis:// through a tunnel",
        dlerror());
  const char *missing = NULL;
#define LOOK_UP(name)                         \
  {                                           \
    void *found = dlsym(library, #name);      \
    if (!found) missing = #name;              \
    memcpy(&out->name, &found, sizeof found); \
  }
  FUNCTIONS(LOOK_UP)
#undef LOOK_UP
  if (missing)
    return SEER_FAIL(
        UNSUPPORTED, "rediss:// needs OpenSSL 3.0 or later; %s has no '%s'", LIBRARY, missing);
  return SEER_OK;
}

static const char *reason(const functions *ssl) {
  const char *why = ssl->ERR_reason_error_string(ssl->ERR_get_error());
  return why ? why : "no reason is given";
}

// ---- bytes between the session's memories and the socket
static seer_status flush(seer_tls *tls, uint64_t until_ns) {
  uint8_t chunk[CHUNK_BYTES];
  while (tls->ssl.BIO_ctrl_pending(tls->out) > 0) {
    int n = tls->ssl.BIO_read(tls->out, chunk, sizeof chunk);
    if (n <= 0) return SEER_FAIL(INTERNAL, "%s: OpenSSL has bytes and gives none", tls->name);
    SEER_TRY(seer_net_send(tls->fd, chunk, (size_t)n, until_ns, tls->name));
  }
  return SEER_OK;
}

static seer_status fill(seer_tls *tls, uint64_t until_ns) {
  uint8_t chunk[CHUNK_BYTES];
  size_t n;
  SEER_TRY(seer_net_receive(tls->fd, chunk, sizeof chunk, until_ns, tls->name, &n));
  if (tls->ssl.BIO_write(tls->in, chunk, (int)n) != (int)n)
    return SEER_FAIL(RESOURCE, "%s: no memory for what came in", tls->name);
  return SEER_OK;
}

typedef enum { CONNECT, READ, WRITE } operation;

static int attempt(seer_tls *tls, operation op, void *data, size_t n_bytes) {
  const functions *ssl = &tls->ssl;
  ssl->ERR_clear_error();
  switch (op) {
    case CONNECT:
      return ssl->SSL_connect(tls->session);
    case READ:
      return ssl->SSL_read(tls->session, data, (int)n_bytes);
    case WRITE:
      return ssl->SSL_write(tls->session, data, (int)n_bytes);
  }
  return -1;
}

static seer_status refusal(const seer_tls *tls, operation op) {
  const functions *ssl = &tls->ssl;
  long verdict = ssl->SSL_get_verify_result(tls->session);
  if (op == CONNECT && verdict != X509_V_OK)
    return SEER_FAIL(INVALID, "%s: its certificate is refused: %s", tls->name,
        ssl->X509_verify_cert_error_string(verdict));
  if (op != CONNECT) return SEER_FAIL(CORRUPT, "%s: TLS: %s", tls->name, reason(ssl));
  return SEER_FAIL(INVALID, "%s: it does not take up TLS 1.2 or later: %s", tls->name, reason(ssl));
}

// What a server that has gone had still to say; NULL: nothing that is known.
static const char *last_words(seer_tls *tls) {
  uint8_t byte;
  seer_status status = fill(tls, 0);
  bool has_some = status == SEER_OK;
  seer_status_free(status);
  return has_some && attempt(tls, READ, &byte, 1) <= 0 ? reason(&tls->ssl) : NULL;
}

// A server that wants a certificate of ours, or another one, says so by an alert; or it is gone
// when we notice, and the alert is what lies there.
static seer_status explain(seer_tls *tls, seer_status status) {
  if (!status || !tls->is_asked || tls->is_heard) return status;
  if (seer_status_code(status) == SEER_CODE_TIMEOUT) return status;
  const char *said = seer_status_code(status) == SEER_CODE_IO ? last_words(tls) : NULL;
  const char *how = tls->has_certificate
      ? "it does not take the certificate that cert= names"
      : "it wants a certificate of who connects: rediss://...?cert=FILE&key=FILE, or a server "
        "with tls-auth-clients no";
  seer_status refused =
      SEER_FAIL(INVALID, "%s: %s (%s)", tls->name, how, said ? said : seer_status_message(status));
  seer_status_free(status);
  return refused;
}

// Until it is done: *out_n bytes.
static seer_status run(
    seer_tls *tls, operation op, void *data, size_t n_bytes, uint64_t until_ns, size_t *out_n) {
  for (;;) {
    int n = attempt(tls, op, data, n_bytes);
    int error = tls->ssl.SSL_get_error(tls->session, n);
    seer_status status = SEER_OK;
    if (n <= 0 && error == SSL_ERROR_ZERO_RETURN) {
      status = SEER_FAIL(IO, "%s: has closed the connection", tls->name);
    } else if (n <= 0 && error != SSL_ERROR_WANT_READ) {
      status = refusal(tls, op);
    }
    status = seer_status_join(status, flush(tls, until_ns));  // why it fails is sent, too
    if (!status && n <= 0) status = fill(tls, until_ns);
    if (status) tls->is_up = false;
    if (n > 0 && op == READ) tls->is_heard = true;
    status = explain(tls, status);
    if (status || n > 0) {
      *out_n = status ? 0 : (size_t)n;
      return status;
    }
  }
}

// ---- a session
static bool is_address(const char *host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

// Called when the server asks for one.
static int note_question(SSL *session, void *tls) {
  (void)session;
  ((seer_tls *)tls)->is_asked = true;
  return 1;
}

// OpenSSL would ask who sits at the terminal.
static int give_no_passphrase(char *out, int cap_bytes, int is_to_write, void *user) {
  (void)out;
  (void)cap_bytes;
  (void)is_to_write;
  (void)user;
  return -1;
}

static seer_status be_known(seer_tls *tls, const seer_tls_files *files) {
  const functions *ssl = &tls->ssl;
  ssl->SSL_CTX_set_cert_cb(tls->context, note_question, tls);
  if (!files->cert_file) return SEER_OK;
  const char *key_file = files->key_file ? files->key_file : files->cert_file;
  ssl->ERR_clear_error();
  ssl->SSL_CTX_set_default_passwd_cb(tls->context, give_no_passphrase);
  if (ssl->SSL_CTX_use_certificate_chain_file(tls->context, files->cert_file) != 1)
    return SEER_FAIL(INVALID, "%s: no certificate can be read from '%s': %s", tls->name,
        files->cert_file, reason(ssl));
  if (ssl->SSL_CTX_use_PrivateKey_file(tls->context, key_file, SSL_FILETYPE_PEM) != 1)
    return SEER_FAIL(INVALID,
        "%s: the private key of '%s', in PEM and not encrypted, cannot be had from '%s': %s",
        tls->name, files->cert_file, key_file, reason(ssl));
  tls->has_certificate = true;
  return SEER_OK;
}

static seer_status trust(seer_tls *tls, const char *ca_file) {
  const functions *ssl = &tls->ssl;
  if (ca_file && ssl->SSL_CTX_load_verify_file(tls->context, ca_file) != 1)
    return SEER_FAIL(
        INVALID, "%s: no certificates can be read from '%s': %s", tls->name, ca_file, reason(ssl));
  if (!ca_file && ssl->SSL_CTX_set_default_verify_paths(tls->context) != 1)
    return SEER_FAIL(
        INVALID, "%s: the system's certificates cannot be read: %s", tls->name, reason(ssl));
  return SEER_OK;
}

// What the certificate has to be made out to.
static bool expect_host(seer_tls *tls, const char *host) {
  const functions *ssl = &tls->ssl;
  if (is_address(host))
    return ssl->X509_VERIFY_PARAM_set1_ip_asc(ssl->SSL_get0_param(tls->session), host) == 1;
  ssl->SSL_set_hostflags(tls->session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return ssl->SSL_set1_host(tls->session, host) == 1 &&
      ssl->SSL_ctrl(tls->session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
          (void *)(uintptr_t)host) == 1;
}

static seer_status set_up(seer_tls *tls, const char *host, const seer_tls_files *files) {
  const functions *ssl = &tls->ssl;
  tls->context = ssl->SSL_CTX_new(ssl->TLS_client_method());
  if (!tls->context) return SEER_FAIL(RESOURCE, "%s: TLS: %s", tls->name, reason(ssl));
  ssl->SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
  if (!ssl->SSL_CTX_ctrl(tls->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL))
    return SEER_FAIL(UNSUPPORTED, "%s: OpenSSL has no TLS 1.2", tls->name);
  SEER_TRY(trust(tls, files->ca_file));
  SEER_TRY(be_known(tls, files));
  tls->session = ssl->SSL_new(tls->context);
  tls->in = ssl->BIO_new(ssl->BIO_s_mem());
  tls->out = ssl->BIO_new(ssl->BIO_s_mem());
  if (!tls->session || !tls->in || !tls->out) {
    ssl->BIO_free(tls->in);
    ssl->BIO_free(tls->out);
    return SEER_FAIL(RESOURCE, "%s: TLS: %s", tls->name, reason(ssl));
  }
  ssl->SSL_set_bio(tls->session, tls->in, tls->out);
  if (!expect_host(tls, host))
    return SEER_FAIL(INVALID, "%s: TLS cannot be used with this host: %s", tls->name, reason(ssl));
  return SEER_OK;
}

seer_status seer_tls_open(int fd, const char *host, const seer_tls_files *files, const char *name,
    uint64_t until_ns, seer_tls **out) {
  *out = NULL;
  seer_tls *tls = calloc(1, sizeof *tls);
  if (!tls) return SEER_FAIL(RESOURCE, "%s: no memory for TLS", name);
  tls->fd = fd;
  tls->name = name;
  seer_status status = load(&tls->ssl);
  if (status) {
    free(tls);
    return status;
  }
  status = set_up(tls, host, files);
  size_t n;
  if (!status) status = run(tls, CONNECT, NULL, 0, until_ns, &n);
  if (status) {
    seer_tls_close(tls);
    return seer_status_context(
        status, "shaking hands by TLS, which a server without it may not answer");
  }
  tls->is_up = true;
  *out = tls;
  return SEER_OK;
}

void seer_tls_close(seer_tls *tls) {
  if (!tls) return;
  const functions *ssl = &tls->ssl;
  if (tls->is_up && ssl->SSL_shutdown(tls->session) >= 0) seer_status_free(flush(tls, 0));
  ssl->SSL_free(tls->session);
  ssl->SSL_CTX_free(tls->context);
  free(tls);
}

seer_status seer_tls_send(seer_tls *tls, const void *data, size_t n_bytes, uint64_t until_ns) {
  const uint8_t *at = data;
  while (n_bytes > 0) {
    size_t n = n_bytes < MAX_PIECE_BYTES ? n_bytes : MAX_PIECE_BYTES;
    SEER_TRY(run(tls, WRITE, (void *)(uintptr_t)at, n, until_ns, &n));
    at += n;
    n_bytes -= n;
  }
  return SEER_OK;
}

seer_status seer_tls_receive(
    seer_tls *tls, void *data, size_t cap_bytes, uint64_t until_ns, size_t *out_n) {
  if (cap_bytes > MAX_PIECE_BYTES) cap_bytes = MAX_PIECE_BYTES;
  return run(tls, READ, data, cap_bytes, until_ns, out_n);
}
