// Connections to redis-server, and to servers that are something else, silent, or gone.
// SEER_TEST: timeout=60
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure/fleet/redis.h"
#include "support/redis_server.h"
#include "support/test_arena.h"

#define MS 1000000u
#define LONG_NS (20000u * (uint64_t)MS)  // longer than anything here takes
#define SHORT_NS (100u * (uint64_t)MS)
#define SECRET "geheim"

static seer_status connect_url(const char *url, uint64_t timeout_ns, seer_redis **out) {
  seer_redis_address address;
  must(seer_redis_parse(url, NULL, arena, &address));
  return seer_redis_connect(&address, timeout_ns, out);
}

static seer_redis *open_url(const char *url) {
  seer_redis *redis;
  must(connect_url(url, LONG_NS, &redis));
  return redis;
}

// Frees it.
static void is_failure(seer_status status, seer_code code, const char *why) {
  if (!status) fail_msg("it went well, expected '%s'", why);
  const char *message = seer_status_message(status);
  if (seer_status_code(status) != code || !strstr(message, why))
    fail_msg("%s: %s, expected '%s'", seer_code_name(seer_status_code(status)), message, why);
  if (strstr(message, SECRET)) fail_msg("'%s' tells the password", message);
  seer_status_free(status);
}

static void cannot_connect(const char *url, seer_code code, const char *why) {
  seer_redis *redis;
  is_failure(connect_url(url, LONG_NS, &redis), code, why);
  assert_null(redis);
}

// A command of words with blanks in between.
static size_t split(const char *command, seer_redis_word words[16]) {
  size_t n = 0;
  for (char *at = seer_arena_strdup(arena, command), *word; (word = strtok_r(at, " ", &at));)
    words[n++] = SEER_REDIS_WORD(word);
  return n;
}

static const seer_redis_reply *ask(seer_redis *redis, const char *command) {
  seer_redis_word words[16];
  size_t n = split(command, words);
  const seer_redis_reply *reply;
  must(seer_redis_call(redis, words, n, LONG_NS, arena, &reply));
  return reply;
}

static void says(seer_redis *redis, const char *command, const char *text) {
  const seer_redis_reply *reply = ask(redis, command);
  assert_true(reply->kind == SEER_REDIS_TEXT);
  assert_string_equal(reply->text, text);
}

#define URL(...) seer_arena_printf(arena, __VA_ARGS__)

// ---- a redis-server
static void commands_are_answered(void **state) {
  (void)state;
  redis_server server;
  redis_server_start(&server, &(redis_server_options){0}, arena);
  const char *urls[] = {URL("unix://%s", server.path), URL("redis://127.0.0.1:%u", server.port),
      URL("redis://localhost:%u/3", server.port)};
  for (size_t i = 0; i < 3; i++) {
    seer_redis *redis = open_url(urls[i]);
    says(redis, "SET key value", "OK");
    says(redis, "GET key", "value");
    assert_int_equal(ask(redis, "GET none")->kind, SEER_REDIS_NIL);
    assert_int_equal(ask(redis, "STRLEN key")->integer, 5);
    const seer_redis_reply *reply = ask(redis, "NONSENSE");
    assert_int_equal(reply->kind, SEER_REDIS_ERROR);
    seer_redis_word words[16];
    size_t n = split("INCR key", words);
    is_failure(seer_redis_do(redis, words, n, LONG_NS, arena, &reply), SEER_CODE_DEVICE,
        ": INCR: ERR value is not an integer");
    says(redis, "GET key", "value");  // the connection is none the worse
    uint64_t n_sent, n_received;
    seer_redis_traffic(redis, &n_sent, &n_received);
    assert_true(n_sent > 100 && n_received > 50);
    seer_redis_close(redis);
  }
  redis_server_stop(&server);
}

static void streams_come_as_nested_arrays(void **state) {
  (void)state;
  redis_server server;
  redis_server_start(&server, &(redis_server_options){0}, arena);
  seer_redis *redis = open_url(URL("unix://%s", server.path));
  says(redis, "XGROUP CREATE s g 0 MKSTREAM", "OK");
  (void)ask(redis, "XADD s 1-1 field value");
  const seer_redis_reply *r = ask(redis, "XREADGROUP GROUP g me COUNT 10 STREAMS s >");
  assert_true(r->kind == SEER_REDIS_ARRAY && r->n == 1 && r->element[0].n == 2);
  const seer_redis_reply *entries = &r->element[0].element[1];
  assert_true(entries->n == 1 && entries->element[0].n == 2);
  assert_string_equal(entries->element[0].element[0].text, "1-1");
  assert_string_equal(entries->element[0].element[1].element[1].text, "value");
  assert_int_equal(ask(redis, "XREADGROUP GROUP g me BLOCK 10 STREAMS s >")->kind, SEER_REDIS_NIL);
  seer_redis_close(redis);
  redis_server_stop(&server);
}

static void bytes_come_back_as_they_were(void **state) {
  (void)state;
  redis_server server;
  redis_server_start(&server, &(redis_server_options){0}, arena);
  seer_redis *redis = open_url(URL("redis://127.0.0.1:%u", server.port));
  const size_t n = (size_t)8 << 20;
  uint8_t *bytes = malloc(n);
  for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 13);
  const seer_redis_word set[] = {SEER_REDIS_WORD("SET"), {"k\0\r\n", 4}, {bytes, n}};
  const seer_redis_word get[] = {SEER_REDIS_WORD("GET"), {"k\0\r\n", 4}};
  const seer_redis_word empty[] = {SEER_REDIS_WORD("ECHO"), {NULL, 0}};
  const seer_redis_reply *reply;
  // In one go, without waiting in between.
  for (int i = 0; i < 3; i++)
    must(seer_redis_send(redis, i == 0 ? set : get, i == 0 ? 3 : 2, LONG_NS));
  must(seer_redis_receive(redis, LONG_NS, arena, &reply));
  assert_string_equal(reply->text, "OK");
  for (int i = 0; i < 2; i++) {
    must(seer_redis_receive(redis, LONG_NS, arena, &reply));
    assert_int_equal(reply->n, n);
    assert_memory_equal(reply->text, bytes, n);
  }
  must(seer_redis_call(redis, empty, 2, LONG_NS, arena, &reply));
  assert_true(reply->kind == SEER_REDIS_TEXT && reply->n == 0);
  const seer_redis_word too_large[] = {SEER_REDIS_WORD("ECHO"), {bytes, SEER_REDIS_MAX_BYTES}};
  is_failure(seer_redis_call(redis, too_large, 2, LONG_NS, arena, &reply), SEER_CODE_INVALID,
      "a command of more than");
  says(redis, "PING", "PONG");
  free(bytes);
  seer_redis_close(redis);
  redis_server_stop(&server);
}

static void users_and_databases_are_told_apart(void **state) {
  (void)state;
  redis_server server;
  const redis_server_options options = {
      .password = SECRET, .user = "me on >" SECRET "2 ~* &* +@all -ping"};
  redis_server_start(&server, &options, arena);
  const unsigned port = server.port;
  static const char *const wrong = "does not take this user and password: WRONGPASS";
  cannot_connect(URL("redis://127.0.0.1:%u", port), SEER_CODE_INVALID, "NOAUTH");
  cannot_connect(URL("redis://:" SECRET "x@127.0.0.1:%u", port), SEER_CODE_INVALID, wrong);
  cannot_connect(URL("redis://you:" SECRET "@127.0.0.1:%u", port), SEER_CODE_INVALID, wrong);
  cannot_connect(URL("unix://me:" SECRET "@%s", server.path), SEER_CODE_INVALID, wrong);
  cannot_connect(URL("redis://:" SECRET "@127.0.0.1:%u/99", port), SEER_CODE_INVALID,
      "does not give this database: ERR DB index is out of range");
  seer_redis *redis = open_url(URL("redis://:" SECRET "@127.0.0.1:%u/2", port));
  says(redis, "SET key two", "OK");
  seer_redis *other = open_url(URL("unix://me:" SECRET "2@%s?db=2", server.path));
  says(other, "GET key", "two");
  seer_redis_close(other);
  setenv("SEER_FLEET_PASSWORD", SECRET, 1);
  other = open_url(URL("redis://127.0.0.1:%u/1", port));
  unsetenv("SEER_FLEET_PASSWORD");
  assert_int_equal(ask(other, "GET key")->kind, SEER_REDIS_NIL);
  seer_redis_close(other);
  seer_redis_close(redis);
  redis_server_stop(&server);
}

static void a_password_that_nobody_asked_for_is_said(void **state) {
  (void)state;
  redis_server server;
  redis_server_start(&server, &(redis_server_options){0}, arena);
  cannot_connect(URL("redis://:" SECRET "@127.0.0.1:%u", server.port), SEER_CODE_INVALID,
      "ERR AUTH <password> called without any password");
  redis_server_stop(&server);
}

static void a_server_that_is_gone_is_found_again(void **state) {
  (void)state;
  redis_server server;
  redis_server_start(&server, &(redis_server_options){0}, arena);
  const char *url = URL("redis://127.0.0.1:%u", server.port);
  seer_redis *redis = open_url(url);
  redis_server_kill(&server);
  seer_redis_word words[16];
  const seer_redis_reply *reply;
  size_t n = split("PING", words);
  is_failure(seer_redis_call(redis, words, n, LONG_NS, arena, &reply), SEER_CODE_IO, url);
  is_failure(seer_redis_call(redis, words, n, LONG_NS, arena, &reply), SEER_CODE_IO, "of no use");
  is_failure(seer_redis_send(redis, words, n, LONG_NS), SEER_CODE_IO, "of no use");
  seer_redis_close(redis);
  cannot_connect(url, SEER_CODE_IO, "Connection refused");
  cannot_connect(URL("unix://%s", server.path), SEER_CODE_IO, "Connection refused");
  redis_server_again(&server);
  redis = open_url(url);
  says(redis, "PING", "PONG");
  seer_redis_close(redis);
  redis_server_stop(&server);
  cannot_connect(URL("unix://%s", server.path), SEER_CODE_IO, "No such file");
}

static void no_wait_is_longer_than_its_limit(void **state) {
  (void)state;
  redis_server server;
  redis_server_start(&server, &(redis_server_options){0}, arena);
  const char *urls[] = {URL("unix://%s", server.path), URL("redis://127.0.0.1:%u", server.port)};
  const size_t n_large = (size_t)48 << 20;  // more than any buffer of a socket
  uint8_t *large = calloc(1, n_large);
  seer_redis *redis[2];
  for (int i = 0; i < 2; i++) redis[i] = open_url(urls[i]);
  kill(server.process.pid, SIGSTOP);
  const seer_redis_reply *reply;
  const seer_redis_word echo[] = {SEER_REDIS_WORD("ECHO"), {large, n_large}};
  is_failure(
      seer_redis_call(redis[0], echo, 1, SHORT_NS, arena, &reply), SEER_CODE_TIMEOUT, urls[0]);
  is_failure(
      seer_redis_call(redis[1], echo, 2, SHORT_NS, arena, &reply), SEER_CODE_TIMEOUT, urls[1]);
  for (int i = 0; i < 2; i++) {
    is_failure(seer_redis_call(redis[i], echo, 1, SHORT_NS, arena, &reply), SEER_CODE_IO, "no use");
    seer_redis_close(redis[i]);
    is_failure(connect_url(urls[i], SHORT_NS, &redis[i]), SEER_CODE_TIMEOUT, urls[i]);
    is_failure(connect_url(urls[i], 0, &redis[i]), SEER_CODE_TIMEOUT, urls[i]);
  }
  kill(server.process.pid, SIGCONT);
  free(large);
  redis_server_stop(&server);
}

static void who_is_not_there_is_said(void **state) {
  (void)state;
  cannot_connect(URL("redis://127.0.0.1:%u", free_port()), SEER_CODE_IO, "Connection refused");
  cannot_connect("unix:///no/such/folder/s", SEER_CODE_IO, "No such file");
  // Whether it takes long to hear that there is no such name, the system says.
  for (int i = 0; i < 2; i++) {
    seer_redis *redis;
    seer_status status =
        connect_url("redis://me:" SECRET "@no-such-host.invalid", i == 0 ? 0 : SHORT_NS, &redis);
    assert_non_null(status);
    bool is_known = seer_status_code(status) == SEER_CODE_IO;
    is_failure(status, is_known ? SEER_CODE_IO : SEER_CODE_TIMEOUT, "no-such-host.invalid: ");
  }
}

// ---- a server that says what it is told to say
typedef struct {
  int listener;
  const char *first, *second;  // to the first bytes that come, and to the next; NULL: nothing
  size_t n_second;  // 0: all of it
  bool ends;  // closes the connection then; else when the client does
  seer_os_thread *thread;
} false_server;

static void serve(void *arg) {
  false_server *s = arg;
  int fd = accept(s->listener, NULL, NULL);
  char bytes[4096];
  const char *answer[] = {s->first, s->second};
  for (int i = 0; fd >= 0; i++) {
    if (i < 2 && answer[i]) {
      if (recv(fd, bytes, sizeof bytes, 0) <= 0) break;
      size_t n = i == 1 && s->n_second ? s->n_second : strlen(answer[i]);
      if (send(fd, answer[i], n, MSG_NOSIGNAL) < 0) break;
    } else if (s->ends || recv(fd, bytes, sizeof bytes, 0) <= 0) {
      break;
    }
  }
  close(fd);
}

static const char *false_start(false_server *s) {
  uint16_t port;
  s->listener = listen_somewhere(&port);
  must(seer_os_thread_create(serve, s, &s->thread));
  return URL("127.0.0.1:%u", port);
}

static void false_stop(false_server *s) {
  seer_os_thread_join(s->thread);
  close(s->listener);
}

static void greeted_by(const char *greeting, bool ends, seer_code code, const char *why) {
  false_server s = {.first = greeting, .ends = ends};
  const char *host = false_start(&s);
  seer_redis *redis;
  uint64_t timeout_ns = code == SEER_CODE_TIMEOUT ? SHORT_NS : LONG_NS;
  seer_status status = connect_url(URL("redis://u:" SECRET "@%s", host), timeout_ns, &redis);
  false_stop(&s);
  is_failure(status, code, why);
}

static void what_is_no_redis_is_said(void **state) {
  (void)state;
  greeted_by(
      "HTTP/1.1 400 Bad Request\r\n\r\n", true, SEER_CODE_CORRUPT, "no reply by the protocol");
  greeted_by("\x15\x03\x01\x00\x02\x02\x16", true, SEER_CODE_CORRUPT, "no reply by the protocol");
  greeted_by(NULL, true, SEER_CODE_IO, "connecting to redis://u@127.0.0.1");
  greeted_by(NULL, false, SEER_CODE_TIMEOUT, "no answer in time");
  greeted_by("+O", true, SEER_CODE_IO, "has closed the connection");
  greeted_by("+O", false, SEER_CODE_TIMEOUT, "no answer in time");
  // A server may repeat what it was sent.
  greeted_by("-ERR unknown command `AUTH`, with args beginning with: `u`, `" SECRET "`\r\n", true,
      SEER_CODE_INVALID, "AUTH is refused");
  greeted_by("-LOADING Redis is loading the dataset in memory\r\n", true, SEER_CODE_IO, "LOADING");
  greeted_by("-ERR max number of clients reached\r\n", true, SEER_CODE_IO, "max number");
  greeted_by("-WRONGPASS no\r\n", true, SEER_CODE_INVALID, "WRONGPASS no");
}

static void answers_that_are_cut_off_are_no_answers(void **state) {
  (void)state;
  static const char answer[] = "*2\r\n$3\r\nabc\r\n:-12\r\n";
  for (size_t cut = 1; cut < sizeof answer; cut++) {
    false_server s = {.first = "+PONG\r\n", .second = answer, .n_second = cut, .ends = true};
    seer_redis *redis = open_url(URL("redis://%s", false_start(&s)));
    seer_redis_word word = SEER_REDIS_WORD("ASK");
    const seer_redis_reply *reply;
    seer_status status = seer_redis_call(redis, &word, 1, LONG_NS, arena, &reply);
    if (cut < sizeof answer - 1) {
      is_failure(status, SEER_CODE_IO, "has closed the connection");
      assert_null(reply);
    } else {
      must(status);
      assert_true(reply->n == 2 && reply->element[1].integer == -12);
    }
    seer_redis_close(redis);
    false_stop(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(commands_are_answered, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(streams_come_as_nested_arrays, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(bytes_come_back_as_they_were, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(users_and_databases_are_told_apart, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(
          a_password_that_nobody_asked_for_is_said, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(
          a_server_that_is_gone_is_found_again, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(no_wait_is_longer_than_its_limit, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(who_is_not_there_is_said, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(what_is_no_redis_is_said, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(
          answers_that_are_cut_off_are_no_answers, arena_open, arena_close)};
  unsetenv("SEER_FLEET_PASSWORD");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
