// Connections over TLS: to redis-server with certificates that are good and that are not, and to
// servers without it.
// SEER_TEST: timeout=60
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/net.h"
#include "measure/fleet/redis.h"
#include "support/redis_server.h"
#include "support/test_arena.h"

#define LONG_NS 20000000000u
#define SHORT_NS 300000000u
#define URL(...) seer_arena_printf(arena, __VA_ARGS__)

static seer_arena *for_all;
static const char *folder;  // of certificates

static const char *pem(const char *name) { return URL("%s/%s.pem", folder, name); }

static void run(const char *const *argv) {
  const char *log = seer_os_path_join(arena, folder, "log");
  const seer_os_spawn_options options = {.argv = argv, .stdout_path = log, .stderr_path = log};
  seer_os_process process;
  bool is_done;
  int status;
  must(seer_os_spawn(&options, &process));
  must(seer_os_wait(&process, UINT64_MAX, &is_done, &status));
  if (status != 0) fail_msg("%s: status %d, see %s", argv[0], status, log);
}

static int make_certificates(void **state) {
  (void)state;
  unsetenv("SEER_FLEET_PASSWORD");
  unsetenv("SSL_CERT_FILE");
  for_all = arena = seer_arena_create("certificates");
  must(seer_os_temp_dir("certificates", for_all, &folder));
  run((const char *[]){"/bin/sh", SEER_SOURCE_DIR "/test/support/certificates.sh", folder, NULL});
  return 0;
}

static int remove_certificates(void **state) {
  (void)state;
  must(seer_os_remove_tree(folder));
  seer_arena_destroy(for_all);
  return 0;
}

static void start_asking(redis_server *server, const char *certificate, bool asks_clients) {
  const redis_server_options options = {.asks_clients = asks_clients,
      .certificate = pem(certificate),
      .key = URL("%s/%s.key", folder, certificate),
      .ca = pem("ca")};
  redis_server_start(server, &options, arena);
}

static void start(redis_server *server, const char *certificate) {
  start_asking(server, certificate, false);
}

static seer_status connect_url(const char *url, uint64_t timeout_ns, seer_redis **out) {
  seer_redis_address address;
  must(seer_redis_parse(url, NULL, arena, &address));
  return seer_redis_connect(&address, timeout_ns, out);
}

static void takes(const char *host, uint16_t port, const char *ca) {
  seer_redis *redis;
  const seer_redis_reply *reply;
  const seer_redis_word words[] = {SEER_REDIS_WORD("ECHO"), SEER_REDIS_WORD("hello")};
  must(connect_url(
      URL("rediss://%s:%u/1%s%s", host, port, ca ? "?ca=" : "", ca ? ca : ""), LONG_NS, &redis));
  must(seer_redis_call(redis, words, 2, LONG_NS, arena, &reply));
  assert_string_equal(reply->text, "hello");
  seer_redis_close(redis);
}

static void fails(const char *host, uint16_t port, const char *ca, uint64_t timeout_ns,
    seer_code code, const char *why) {
  seer_redis *redis;
  seer_status status = connect_url(
      URL("rediss://%s:%u%s%s", host, port, ca ? "?ca=" : "", ca ? ca : ""), timeout_ns, &redis);
  if (!status) fail_msg("%s:%u was taken, expected '%s'", host, port, why);
  const char *message = seer_status_message(status);
  if (seer_status_code(status) != code || !strstr(message, why))
    fail_msg("%s: %s, expected '%s'", seer_code_name(seer_status_code(status)), message, why);
  seer_status_free(status);
}

static void refuses(const char *host, uint16_t port, const char *ca, const char *why) {
  fails(host, port, ca, LONG_NS, SEER_CODE_INVALID, why);
}

static void a_good_certificate_is_taken(void **state) {
  (void)state;
  redis_server server;
  start(&server, "good");
  takes("localhost", server.tls_port, pem("ca"));
  takes("127.0.0.1", server.tls_port, pem("ca"));
  refuses("localhost", server.tls_port, NULL, "certificate is refused");  // the system's
  setenv("SSL_CERT_FILE", pem("ca"), 1);
  takes("localhost", server.tls_port, NULL);
  unsetenv("SSL_CERT_FILE");
  redis_server_stop(&server);
}

static void large_answers_come_over_tls(void **state) {
  (void)state;
  redis_server server;
  start(&server, "good");
  seer_redis *redis;
  must(
      connect_url(URL("rediss://localhost:%u?ca=%s", server.tls_port, pem("ca")), LONG_NS, &redis));
  const size_t n = (size_t)5 << 20;
  uint8_t *bytes = malloc(n);
  for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 13);
  const seer_redis_word echo[] = {SEER_REDIS_WORD("ECHO"), {bytes, n}};
  const seer_redis_reply *reply;
  for (int i = 0; i < 2; i++) must(seer_redis_send(redis, echo, 2, LONG_NS));
  for (int i = 0; i < 2; i++) {
    must(seer_redis_receive(redis, LONG_NS, arena, &reply));
    assert_int_equal(reply->n, n);
    assert_memory_equal(reply->text, bytes, n);
  }
  kill(server.process.pid, SIGSTOP);
  seer_status status = seer_redis_call(redis, echo, 2, SHORT_NS, arena, &reply);
  assert_int_equal(seer_status_code(status), SEER_CODE_TIMEOUT);
  seer_status_free(status);
  fails("localhost", server.tls_port, pem("ca"), SHORT_NS, SEER_CODE_TIMEOUT, "no answer in time");
  kill(server.process.pid, SIGCONT);
  seer_redis_close(redis);
  must(
      connect_url(URL("rediss://localhost:%u?ca=%s", server.tls_port, pem("ca")), LONG_NS, &redis));
  redis_server_kill(&server);
  status = seer_redis_call(redis, echo, 2, LONG_NS, arena, &reply);
  assert_int_equal(seer_status_code(status), SEER_CODE_IO);
  seer_status_free(status);
  seer_redis_close(redis);
  free(bytes);
  redis_server_stop(&server);
}

static void other_certificates_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *certificate, *host, *why;
  } cases[] = {{"elsewhere", "localhost", "hostname mismatch"},
      {"elsewhere", "127.0.0.1", "IP address mismatch"},
      {"named", "127.0.0.1", "IP address mismatch"},  // localhost is no name of an address
      {"expired", "localhost", "certificate has expired"},
      {"stranger", "localhost", "unable to get local issuer certificate"}};
  redis_server server = {.folder = NULL};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    bool is_next = i == 0 || strcmp(cases[i].certificate, cases[i - 1].certificate) != 0;
    if (is_next && server.folder) redis_server_stop(&server);
    if (is_next) start(&server, cases[i].certificate);
    refuses(cases[i].host, server.tls_port, pem("ca"), cases[i].why);
  }
  redis_server_stop(&server);
}

static void files_of_certificates_are_read(void **state) {
  (void)state;
  redis_server server;
  start(&server, "good");
  refuses("localhost", server.tls_port, "/no/such/file", "no certificates can be read from");
  refuses("localhost", server.tls_port, SEER_SOURCE_DIR "/LICENSE", "no certificates can be read");
  refuses("localhost", server.tls_port, pem("unknown"), "certificate is refused");
  redis_server_stop(&server);
}

// With and without what the server wants of us. `more` is of the URL.
static void asks(redis_server *server, const char *more, const char *why) {
  seer_redis *redis = NULL;
  seer_status status = connect_url(
      URL("rediss://localhost:%u?ca=%s%s", server->tls_port, pem("ca"), more), LONG_NS, &redis);
  seer_redis_close(redis);
  if (!status != !why) fail_msg("'%s': %s", more, status ? seer_status_message(status) : "taken");
  if (!status) return;
  if (seer_status_code(status) != SEER_CODE_INVALID || !strstr(seer_status_message(status), why))
    fail_msg("'%s': %s, expected '%s'", more, seer_status_message(status), why);
  seer_status_free(status);
}

static void who_asks_for_a_certificate_gets_one(void **state) {
  (void)state;
  redis_server server;
  start_asking(&server, "good", true);
  const char *key = URL("%s/client.key", folder);
  asks(&server, URL("&cert=%s&key=%s", pem("client"), key), NULL);
  asks(&server, URL("&cert=%s", pem("both")), NULL);
  for (int i = 0; i < 20; i++) asks(&server, "", "wants a certificate of who connects");
  asks(&server, URL("&cert=%s&key=%s/stranger.key", pem("stranger"), folder),
      "does not take the certificate that cert= names (");
  asks(&server, URL("&cert=%s&key=%s/expired.key", pem("expired"), folder),
      "does not take the certificate");
  asks(&server, "&cert=/no/such/file", "no certificate can be read from '/no/such/file'");
  asks(&server, URL("&cert=%s", pem("client")), "cannot be had from");
  asks(&server, URL("&cert=%s&key=%s/good.key", pem("client"), folder), "key values mismatch");
  asks(&server, URL("&cert=%s&key=%s/client.encrypted", pem("client"), folder), "not encrypted");
  redis_server_stop(&server);
  start(&server, "good");  // who does not ask does not get it, and does not mind
  asks(&server, URL("&cert=%s&key=%s", pem("client"), key), NULL);
  redis_server_stop(&server);
}

// A Redis that speaks no TLS waits for the end of a line, or finds one in what is random.
static void one_that_speaks_tls_and_one_that_does_not(void **state) {
  (void)state;
  redis_server server;
  start(&server, "good");
  const char *urls[] = {URL("rediss://localhost:%u?ca=%s", server.port, pem("ca")),
      URL("redis://localhost:%u", server.tls_port)};
  for (int i = 0; i < 2; i++) {
    seer_redis *redis;
    seer_status status = connect_url(urls[i], SHORT_NS, &redis);
    assert_non_null(status);
    if (i == 0) assert_non_null(strstr(seer_status_message(status), "TLS"));
    seer_status_free(status);
  }
  redis_server_stop(&server);
}

static void answer_plainly(void *arg) {
  int fd = accept(*(const int *)arg, NULL, NULL);
  char bytes[4096];
  if (recv(fd, bytes, sizeof bytes, 0) > 0) (void)send(fd, "-ERR what?\r\n", 12, MSG_NOSIGNAL);
  while (recv(fd, bytes, sizeof bytes, 0) > 0) {
  }
  close(fd);
}

static void a_plain_answer_is_said(void **state) {
  (void)state;
  uint16_t port;
  int listener = listen_somewhere(&port);
  seer_os_thread *thread;
  must(seer_os_thread_create(answer_plainly, &listener, &thread));
  refuses("localhost", port, pem("ca"), "does not take up TLS 1.2 or later: wrong version number");
  seer_os_thread_join(thread);
  close(listener);
}

// What openssl serves is no Redis: who trusts it gets no answer.
static void ask_openssl(const char *const *more, seer_code code, const char *why) {
  const uint16_t port = free_port();
  const char *argv[32] = {seer_os_find_program("openssl", arena), "s_server", "-www", "-accept",
      URL("127.0.0.1:%u", port)};
  for (size_t i = 0; more[i]; i++) argv[5 + i] = more[i];
  const char *log = seer_os_path_join(arena, folder, "log");
  const seer_os_spawn_options options = {.argv = argv, .stdout_path = log, .stderr_path = log};
  seer_os_process process;
  must(seer_os_spawn(&options, &process));
  int fd = -1;
  for (int i = 0; i < 2000 && fd < 0; i++) {
    seer_os_sleep_ns(5000000);
    seer_status_free(seer_net_connect("127.0.0.1", port, UINT64_MAX, &fd));
  }
  seer_os_close(fd);
  fails(
      "localhost", port, pem("ca"), code == SEER_CODE_TIMEOUT ? SHORT_NS * 3 : LONG_NS, code, why);
  seer_os_kill(&process);
}

static void the_server_is_told_which_host_is_meant(void **state) {
  (void)state;
  const char *key = URL("%s/good.key", folder), *key2 = URL("%s/elsewhere.key", folder);
  // The second certificate is for those who name this host.
  const char *named[] = {"-cert", pem("elsewhere"), "-key", key2, "-servername", "localhost",
      "-cert2", pem("good"), "-key2", key, NULL};
  ask_openssl(named, SEER_CODE_TIMEOUT, "no answer in time");
  const char *other[] = {"-cert", pem("elsewhere"), "-key", key2, "-servername", "other", "-cert2",
      pem("good"), "-key2", key, NULL};
  ask_openssl(other, SEER_CODE_INVALID, "hostname mismatch");
}

// By TLS 1.2 it is said while hands are shaken.
static void who_asks_by_tls_1_2_is_understood(void **state) {
  (void)state;
  const char *key = URL("%s/good.key", folder);
  const char *asking[] = {"-cert", pem("good"), "-key", key, "-tls1_2", "-Verify", "1", "-CAfile",
      pem("ca"), "-verify_return_error", NULL};
  ask_openssl(asking, SEER_CODE_INVALID, "wants a certificate of who connects");
}

static void old_versions_are_refused(void **state) {
  (void)state;
  const char *key = URL("%s/good.key", folder);
  const char *old[] = {
      "-cert", pem("good"), "-key", key, "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0", NULL};
  ask_openssl(old, SEER_CODE_INVALID, "does not take up TLS 1.2 or later");
  const char *lowest[] = {"-cert", pem("good"), "-key", key, "-tls1_2", NULL};
  ask_openssl(lowest, SEER_CODE_TIMEOUT, "no answer in time");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_good_certificate_is_taken, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(large_answers_come_over_tls, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(other_certificates_are_refused, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(files_of_certificates_are_read, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(who_asks_for_a_certificate_gets_one, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(who_asks_by_tls_1_2_is_understood, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(
          one_that_speaks_tls_and_one_that_does_not, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(a_plain_answer_is_said, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(
          the_server_is_told_which_host_is_meant, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(old_versions_are_refused, arena_open, arena_close)};
  return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
