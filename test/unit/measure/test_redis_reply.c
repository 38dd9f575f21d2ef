// What comes from a server: whole, in pieces, damaged, hostile.
#include <stdlib.h>
#include <string.h>

#include "measure/fleet/reply.h"
#include "support/test_arena.h"

#define MAX_BYTES ((size_t)1 << 20)

// An array of everything, one level within another, then a text of its own.
#define REPLIES                                                                        \
  "*6\r\n$5\r\na\r\n\0b\r\n:-42\r\n$-1\r\n*-1\r\n*2\r\n*0\r\n*1\r\n+OK\r\n-ERR no\r\n" \
  "$0\r\n\r\n"

static void check_first(const seer_redis_reply *r) {
  assert_true(r->kind == SEER_REDIS_ARRAY && r->n == 6);
  const seer_redis_reply *e = r->element;
  assert_true(e[0].kind == SEER_REDIS_TEXT && e[0].n == 5);
  assert_memory_equal(e[0].text, "a\r\n\0b", 6);
  assert_true(e[1].kind == SEER_REDIS_INTEGER && e[1].integer == -42);
  assert_true(e[2].kind == SEER_REDIS_NIL && e[3].kind == SEER_REDIS_NIL);
  assert_true(e[4].kind == SEER_REDIS_ARRAY && e[4].n == 2);
  assert_true(e[4].element[0].kind == SEER_REDIS_ARRAY && e[4].element[0].n == 0);
  assert_true(e[4].element[1].kind == SEER_REDIS_ARRAY && e[4].element[1].n == 1);
  assert_string_equal(e[4].element[1].element[0].text, "OK");
  assert_int_equal(e[4].element[1].element[0].kind, SEER_REDIS_TEXT);
  assert_int_equal(e[5].kind, SEER_REDIS_ERROR);
  assert_string_equal(e[5].text, "ERR no");
}

static void check_second(const seer_redis_reply *r) {
  assert_true(r->kind == SEER_REDIS_TEXT && r->n == 0);
  assert_string_equal(r->text, "");
}

static const char replies[] = REPLIES;
static const size_t n_replies = sizeof replies - 1, n_second = 6;

static void replies_come_in_pieces(void **state) {
  (void)state;
  for (size_t cut = 0; cut <= n_replies; cut++) {
    seer_redis_reader *reader = seer_redis_reader_create(MAX_BYTES);
    const seer_redis_reply *first, *second, *third;
    must(seer_redis_reader_feed(reader, replies, cut));
    must(seer_redis_reader_next(reader, arena, &first));
    assert_int_equal(first != NULL, cut >= n_replies - n_second);
    must(seer_redis_reader_feed(reader, replies + cut, n_replies - cut));
    if (!first) must(seer_redis_reader_next(reader, arena, &first));
    check_first(first);
    must(seer_redis_reader_next(reader, arena, &second));
    check_second(second);
    must(seer_redis_reader_next(reader, arena, &third));
    assert_null(third);
    seer_redis_reader_destroy(reader);
  }
}

static void replies_come_byte_by_byte(void **state) {
  (void)state;
  seer_redis_reader *reader = seer_redis_reader_create(MAX_BYTES);
  size_t n_read = 0;
  for (size_t i = 0; i < n_replies; i++) {
    const seer_redis_reply *reply;
    must(seer_redis_reader_feed(reader, replies + i, 1));
    must(seer_redis_reader_next(reader, arena, &reply));
    if (!reply) continue;
    if (n_read++ == 0) check_first(reply);
  }
  assert_int_equal(n_read, 2);
  seer_redis_reader_destroy(reader);
}

static void is_corrupt(const void *bytes, size_t n, const char *why) {
  seer_redis_reader *reader = seer_redis_reader_create(MAX_BYTES);
  const seer_redis_reply *reply = NULL;
  size_t before = seer_arena_bytes(arena);
  seer_status status = seer_redis_reader_feed(reader, bytes, n);
  if (!status) status = seer_redis_reader_next(reader, arena, &reply);
  if (!status) fail_msg("%.30s: was taken", (const char *)bytes);
  assert_int_equal(seer_status_code(status), SEER_CODE_CORRUPT);
  if (!strstr(seer_status_message(status), why)) fail_msg("%s", seer_status_message(status));
  seer_status_free(status);
  assert_true(seer_arena_bytes(arena) - before <= MAX_BYTES + 4096);
  // Of no use from then on.
  status = seer_redis_reader_feed(reader, "+OK\r\n", 5);
  if (!status) status = seer_redis_reader_next(reader, arena, &reply);
  assert_non_null(status);
  assert_null(reply);
  seer_status_free(status);
  seer_redis_reader_destroy(reader);
}

static void text_is_corrupt(const char *text, const char *why) {
  is_corrupt(text, strlen(text), why);
}

static void what_is_no_reply_is_corrupt(void **state) {
  (void)state;
  text_is_corrupt("HTTP/1.1 400 Bad Request\r\n", "Protocol error");
  text_is_corrupt("\x15\x03\x01\r\n", "Protocol error");
  text_is_corrupt("%1\r\n+a\r\n+b\r\n", "Protocol error");  // RESP3
  text_is_corrupt(":1x\r\n", "integer");
  text_is_corrupt(":\r\n", "integer");
  text_is_corrupt("$x\r\n", "length");
  text_is_corrupt("$-2\r\n", "out of range");
  text_is_corrupt("$3\r\nabcd\r\n", "longer than what is said");
  text_is_corrupt("*-2\r\n", "out of range");
  text_is_corrupt("*1x\r\n", "length");
  text_is_corrupt("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n+a\r\n", "nested");
}

static void what_is_too_large_is_corrupt(void **state) {
  (void)state;
  static const char *const large = "larger than what is allowed";
  // Announced: nothing is kept for it.
  text_is_corrupt("*2147483647\r\n", large);
  text_is_corrupt("*20000\r\n*20000\r\n", large);
  text_is_corrupt("*9223372036854775807\r\n", "");
  text_is_corrupt("*4294967296000\r\n", "");
  char *bytes = malloc(MAX_BYTES + 100);
  memset(bytes, 'x', MAX_BYTES + 100);
  memcpy(bytes, "$9223372036854775807\r\n", 22);
  is_corrupt(bytes, MAX_BYTES + 1, large);
  memset(bytes, 'x', MAX_BYTES + 100);
  bytes[0] = '+';
  is_corrupt(bytes, (64 << 10) + 10, "a line does not end");
  memcpy(bytes, "*1\r\n$", 5);
  is_corrupt(bytes, (64 << 10) + 10, "a line does not end");
  free(bytes);
}

static void a_large_text_in_many_pieces_is_taken(void **state) {
  (void)state;
  seer_redis_reader *reader = seer_redis_reader_create(MAX_BYTES);
  const size_t n = MAX_BYTES - 100;
  char *text = seer_arena_printf(arena, "$%zu\r\n", n);
  must(seer_redis_reader_feed(reader, text, strlen(text)));
  char piece[1000];
  memset(piece, 'y', sizeof piece);
  const seer_redis_reply *reply;
  for (size_t left = n; left > 0;) {
    size_t take = left < sizeof piece ? left : sizeof piece;
    must(seer_redis_reader_feed(reader, piece, take));
    must(seer_redis_reader_next(reader, arena, &reply));
    assert_null(reply);
    left -= take;
  }
  must(seer_redis_reader_feed(reader, "\r\n+next\r\n", 9));
  must(seer_redis_reader_next(reader, arena, &reply));
  assert_true(reply && reply->n == n && reply->text[n - 1] == 'y' && reply->text[n] == 0);
  must(seer_redis_reader_next(reader, arena, &reply));
  assert_string_equal(reply->text, "next");
  seer_redis_reader_destroy(reader);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(replies_come_in_pieces, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(replies_come_byte_by_byte, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(what_is_no_reply_is_corrupt, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(what_is_too_large_is_corrupt, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(
          a_large_text_in_many_pieces_is_taken, arena_open, arena_close)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
