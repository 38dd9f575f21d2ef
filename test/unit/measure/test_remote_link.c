// test_remote_link.c - what comes over a link is what was sent, in its place, by who has the
// secret, or nothing: damage, cuts, repetitions, other orders, other directions, other connections,
// other secrets. Whoever has none of the secret does not get as far as a message.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/net.h"
#include "base/os.h"
#include "base/rng.h"
#include "measure/remote/link.h"
#include "measure/remote/remote.h"
#include "support/test.h"

#define N_DAMAGED 10000
#define MAX_BYTES 100000

static const seer_hmac_key secret = {"a secret of thirty-two bytes ..."};
static const seer_hmac_key other_secret = {"a secret of thirty-two bytes ..,"};

static uint64_t soon(void) { return seer_os_now_ns() + 5000000000u; }

// ---- two ends
typedef struct {
  int fd;
  const seer_hmac_key *key;
  seer_link link;
} end;

static void take(void *user) {
  end *e = user;
  must(seer_link_take(e->fd, "the caller", e->key, soon(), &e->link));
}

static void open_ends(end *caller, end *board, const seer_hmac_key *of_caller) {
  int fds[2];
  seer_os_thread *thread;
  must(seer_os_socket_pair(fds));
  *caller = (end){fds[0], of_caller, {0}};
  *board = (end){fds[1], &secret, {0}};
  must(seer_os_thread_create(take, board, &thread));
  must(seer_link_call(caller->fd, "the board", caller->key, soon(), &caller->link));
  seer_os_thread_join(thread);
}

static void close_ends(end *caller, end *board) {
  seer_os_close(caller->fd);
  seer_os_close(board->fd);
}

static seer_text text_of(const void *data, size_t n_bytes, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put_n(&text, data, n_bytes);
  return text;
}

// ---- bytes of a message, and what a link makes of bytes
static size_t record(
    seer_link *from, uint32_t seq, const seer_text *payload, uint8_t out[MAX_BYTES]) {
  int fds[2], own = from->fd;
  must(seer_os_socket_pair(fds));
  from->fd = fds[0];
  must(seer_link_send(from, SEER_WIRE_RUN, seq, payload, soon()));
  seer_os_close(fds[0]);
  from->fd = own;
  size_t n = 0;
  for (ssize_t got; (got = read(fds[1], out + n, MAX_BYTES - n)) > 0;) n += (size_t)got;
  seer_os_close(fds[1]);
  return n;
}

// Who sends ends the connection then: nothing more comes.
static seer_code play(seer_link *to, const uint8_t *bytes, size_t n, seer_arena *arena) {
  int fds[2], own = to->fd;
  seer_wire_header header;
  const void *payload;
  must(seer_os_socket_pair(fds));
  must(seer_os_send_all(fds[0], bytes, n, UINT64_MAX));
  seer_os_close(fds[0]);
  to->fd = fds[1];
  seer_status status = seer_link_receive(to, SEER_WIRE_MAX_BYTES, soon(), arena, &header, &payload);
  seer_os_close(fds[1]);
  to->fd = own;
  seer_code code = status ? seer_status_code(status) : SEER_CODE_COUNT;  // it was believed
  seer_status_free(status);
  return code;
}
#define IS_BELIEVED SEER_CODE_COUNT

static bool is_refused(seer_code code) {
  return code == SEER_CODE_CORRUPT || code == SEER_CODE_IO || code == SEER_CODE_TIMEOUT;
}

// ---- tests
static void test_both_ways(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  end caller, board;
  open_ends(&caller, &board, &secret);
  uint8_t data[3000];
  for (size_t k = 0; k < sizeof data; k++) data[k] = (uint8_t)(k * 7);
  for (uint32_t k = 0; k < 200; k++) {
    end *from = k % 3 ? &caller : &board, *to = k % 3 ? &board : &caller;
    const seer_text text = text_of(data, (k * 37) % sizeof data, arena);
    seer_wire_header header;
    const void *payload;
    must(seer_link_send(&from->link, SEER_WIRE_RAN, k, &text, soon()));
    must(seer_link_receive(&to->link, sizeof data, soon(), arena, &header, &payload));
    assert_int_equal(header.type, SEER_WIRE_RAN);
    assert_int_equal(header.seq, k);
    assert_int_equal(header.n_bytes, text.n_bytes);
    assert_memory_equal(payload, data, text.n_bytes);
  }
  close_ends(&caller, &board);
  seer_arena_destroy(arena);
}

static void test_damage(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  end caller, board;
  open_ends(&caller, &board, &secret);
  static uint8_t bytes[MAX_BYTES], damaged[MAX_BYTES];
  const seer_text text = text_of("what is to be run, and nothing else", 35, arena);
  size_t n = record(&caller.link, 1, &text, bytes);
  const seer_link before = board.link;
  for (size_t k = 0; k < n; k++) {  // each byte, and a cut there
    memcpy(damaged, bytes, n);
    damaged[k] ^= (uint8_t)(1 + k % 255);
    board.link = before;
    assert_true(is_refused(play(&board.link, damaged, n, arena)));
    board.link = before;
    assert_int_equal(play(&board.link, bytes, k, arena), SEER_CODE_IO);
  }
  seer_rng rng;
  seer_rng_init(&rng, 1);
  for (uint32_t k = 0; k < N_DAMAGED; k++) {
    memcpy(damaged, bytes, n);
    for (int64_t i = seer_rng_range(&rng, 1, 8); i > 0; i--)
      damaged[seer_rng_range(&rng, 0, (int64_t)n - 1)] = (uint8_t)seer_rng_range(&rng, 0, 255);
    board.link = before;
    bool is_same = memcmp(damaged, bytes, n) == 0;
    seer_code code = play(&board.link, damaged, n, arena);
    assert_true(is_same ? code == IS_BELIEVED : is_refused(code));
    seer_arena_reset(arena);
  }
  board.link = before;
  assert_int_equal(play(&board.link, bytes, n, arena), IS_BELIEVED);  // as it was sent
  close_ends(&caller, &board);
  seer_arena_destroy(arena);
}

static void test_other_places(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  end caller, board, later_caller, later_board;
  open_ends(&caller, &board, &secret);
  open_ends(&later_caller, &later_board, &secret);
  static uint8_t first[MAX_BYTES], second[MAX_BYTES];
  const seer_text text = text_of("the same", 8, arena);
  size_t n_first = record(&caller.link, 1, &text, first),
         n_second = record(&caller.link, 1, &text, second);
  const seer_link before = board.link;
  assert_int_equal(play(&board.link, second, n_second, arena), SEER_CODE_CORRUPT);  // left out
  board.link = before;
  assert_int_equal(play(&board.link, first, n_first, arena), IS_BELIEVED);
  const seer_link behind = board.link;
  assert_int_equal(play(&board.link, first, n_first, arena), SEER_CODE_CORRUPT);  // again
  board.link = behind;
  assert_int_equal(play(&board.link, second, n_second, arena), IS_BELIEVED);
  assert_int_equal(play(&caller.link, first, n_first, arena), SEER_CODE_CORRUPT);  // turned back
  assert_int_equal(play(&later_board.link, first, n_first, arena), SEER_CODE_CORRUPT);
  close_ends(&caller, &board);
  close_ends(&later_caller, &later_board);
  seer_arena_destroy(arena);
}

static void test_other_secret(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  end caller, board;
  open_ends(&caller, &board, &other_secret);
  static uint8_t bytes[MAX_BYTES];
  const seer_text text = text_of("run this", 8, arena);
  size_t n = record(&caller.link, 1, &text, bytes);
  assert_int_equal(play(&board.link, bytes, n, arena), SEER_CODE_CORRUPT);
  close_ends(&caller, &board);
  seer_arena_destroy(arena);
}

// A frame that announces more than may come is refused before there is room for it.
static void test_length(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  end caller, board;
  open_ends(&caller, &board, &secret);
  static uint8_t bytes[MAX_BYTES];
  const seer_text text = text_of("12345678", 8, arena);
  size_t n = record(&caller.link, 1, &text, bytes);
  int fds[2];
  seer_wire_header header;
  const void *payload;
  must(seer_os_socket_pair(fds));
  must(seer_os_send_all(fds[0], bytes, n, UINT64_MAX));
  board.link.fd = fds[1];
  seer_status status = seer_link_receive(&board.link, 7, soon(), arena, &header, &payload);
  assert_int_equal(seer_status_code(status), SEER_CODE_CORRUPT);
  assert_non_null(strstr(seer_status_message(status), "at most 7 are allowed"));
  seer_status_free(status);
  seer_os_close(fds[0]);
  seer_os_close(fds[1]);
  close_ends(&caller, &board);
  seer_arena_destroy(arena);
}

static void test_stranger(void **state) {
  (void)state;
  int fds[2];
  seer_link link;
  must(seer_os_socket_pair(fds));
  must(seer_os_send_all(fds[1], "HTTP/1.1 400 Bad Request\r\n\r\n", 28, UINT64_MAX));
  seer_status status = seer_link_call(fds[0], "it", &secret, soon(), &link);
  assert_int_equal(seer_status_code(status), SEER_CODE_CORRUPT);
  assert_non_null(strstr(seer_status_message(status), "no familyseer-runner"));
  seer_status_free(status);
  status = seer_link_take(fds[0], "it", &secret, seer_os_now_ns() + 50000000u, &link);
  assert_int_equal(seer_status_code(status), SEER_CODE_TIMEOUT);  // one that says nothing
  seer_status_free(status);
  seer_os_close(fds[0]);
  seer_os_close(fds[1]);
}

static void test_listening(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  int listener, near, far, taken;
  const char *name;
  must(seer_net_listen("127.0.0.1", 0, 4, &listener));
  uint16_t port = seer_net_port(listener);
  assert_true(port > 0);
  seer_status status = seer_net_listen("127.0.0.1", port, 4, &taken);
  assert_int_equal(seer_status_code(status), SEER_CODE_IO);
  seer_status_free(status);
  status = seer_net_listen("localhost", port, 4, &taken);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  seer_status_free(status);
  must(seer_net_connect("127.0.0.1", port, soon(), &near));
  must(seer_net_accept(listener, soon(), arena, &far, &name));
  assert_int_equal(strncmp(name, "127.0.0.1:", 10), 0);
  char got[5];
  must(seer_net_send(near, "hello", 5, soon(), "it"));
  must(seer_net_receive_all(far, got, 5, soon(), "it"));
  assert_memory_equal(got, "hello", 5);
  seer_os_close(near);
  status = seer_net_receive_all(far, got, 5, soon(), "it");
  assert_int_equal(seer_status_code(status), SEER_CODE_IO);
  seer_status_free(status);
  status = seer_net_accept(listener, seer_os_now_ns(), arena, &taken, &name);
  assert_int_equal(seer_status_code(status), SEER_CODE_TIMEOUT);
  seer_status_free(status);
  seer_os_close(far);
  seer_os_close(listener);
  must(seer_net_listen(NULL, 0, 4, &listener));
  must(seer_net_connect("127.0.0.1", seer_net_port(listener), soon(), &near));
  seer_os_close(near);
  seer_os_close(listener);
  seer_arena_destroy(arena);
}

static void test_addresses(void **state) {
  (void)state;
  static const struct {
    const char *text, *host;  // host NULL: it is none
    uint16_t port;
  } cases[] = {{"pi4", "pi4", 7}, {"pi_4.home-net:80", "pi_4.home-net", 80},
      {"10.0.0.7:65535", "10.0.0.7", 65535}, {"[::1]", "::1", 7},
      {"[fe80::7%eth0]:1", "fe80::7%eth0", 1}, {"", NULL, 0}, {"[abc]", NULL, 0},
      {"[fe80::7%]", NULL, 0}, {"[::1]:", NULL, 0}, {"[::1]x", NULL, 0}, {"a:b:1", NULL, 0},
      {"-a", NULL, 0}, {"a:0", NULL, 0}, {"a:65536", NULL, 0}, {"a:000001", NULL, 0},
      {"[::1", NULL, 0}, {"a b", NULL, 0}, {"::1", NULL, 0}};
  seer_arena *arena = seer_arena_create("test");
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    const char *host = NULL;
    uint16_t port = 7;
    const char *text = cases[k].text;
    const char *wrong = seer_net_read_address(text, strlen(text), arena, &host, &port);
    assert_true((wrong == NULL) == (cases[k].host != NULL));
    if (wrong) continue;
    assert_string_equal(host, cases[k].host);
    assert_int_equal(port, cases[k].port);
  }
  seer_arena_destroy(arena);
}

static void test_secrets(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const char *folder, *path;
  seer_hmac_key key;
  must(seer_os_temp_dir("seer-remote", arena, &folder));
  path = seer_os_path_join(arena, folder, "key");
  must(seer_os_write_file(path, "fifteen letters", 15));
  seer_status status = seer_remote_read_key(path, &key);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  seer_status_free(status);
  must(seer_os_write_file(path, "sixteen letters.", 16));
  must(seer_remote_read_key(path, &key));
  const seer_hmac_key same = seer_hmac_key_of("sixteen letters.", 16);
  assert_memory_equal(&key, &same, sizeof key);
  must(seer_os_remove_tree(folder));
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_ways),
      cmocka_unit_test(test_damage), cmocka_unit_test(test_other_places),
      cmocka_unit_test(test_other_secret), cmocka_unit_test(test_length),
      cmocka_unit_test(test_stranger), cmocka_unit_test(test_listening),
      cmocka_unit_test(test_addresses), cmocka_unit_test(test_secrets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
