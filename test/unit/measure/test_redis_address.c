// URLs of servers: what they say, what is refused, and that no password is ever told.
#include <stdlib.h>
#include <string.h>

#include "measure/fleet/redis.h"
#include "support/test_arena.h"

#define SECRET "geheim"

static seer_redis_address parse(const char *url) {
  seer_redis_address a;
  must(seer_redis_parse(url, NULL, arena, &a));
  return a;
}

static void servers_are_read(void **state) {
  (void)state;
  seer_redis_address a = parse("redis://example.org");
  assert_string_equal(a.host, "example.org");
  assert_int_equal(a.port, 6379);
  assert_true(
      !a.is_tls && !a.path && !a.user && !a.password && !a.files.ca_file && a.database == 0);
  a = parse("redis://127.0.0.1:7000/15");
  assert_string_equal(a.host, "127.0.0.1");
  assert_true(a.port == 7000 && a.database == 15);
  a = parse("redis://[::1]:65535/");
  assert_string_equal(a.host, "::1");
  assert_true(a.port == 65535 && a.database == 0);
  a = parse("rediss://[fe80::2]/3?ca=/etc/my%20ca.pem");
  assert_string_equal(a.host, "fe80::2");
  assert_true(a.is_tls && a.port == 6379 && a.database == 3);
  assert_string_equal(a.files.ca_file, "/etc/my ca.pem");
  assert_true(!a.files.cert_file && !a.files.key_file);
  a = parse("rediss://h?key=/k%26ey&cert=c&ca=a");
  assert_string_equal(a.files.ca_file, "a");
  assert_string_equal(a.files.cert_file, "c");
  assert_string_equal(a.files.key_file, "/k&ey");
  a = parse("unix:///run/redis.sock");
  assert_true(!a.host && a.database == 0);
  assert_string_equal(a.path, "/run/redis.sock");
  a = parse("unix:///a%3Fb?db=7");
  assert_string_equal(a.path, "/a?b");
  assert_int_equal(a.database, 7);
}

static void users_are_read_and_passwords_not_shown(void **state) {
  (void)state;
  seer_redis_address a = parse("redis://:" SECRET "@h:1/2");
  assert_null(a.user);
  assert_string_equal(a.password, SECRET);
  assert_string_equal(a.shown, "redis://h:1/2");
  a = parse("rediss://me:" SECRET "%40%2f:%C3%A4@h?ca=x");
  assert_string_equal(a.user, "me");
  assert_string_equal(a.password, SECRET "@/:\xc3\xa4");
  assert_string_equal(a.shown, "rediss://me@h?ca=x");
  a = parse("unix://m%65:" SECRET "@/s?db=1");
  assert_string_equal(a.user, "me");
  assert_string_equal(a.shown, "unix://m%65@/s?db=1");
}

static void a_password_of_the_environment_is_taken(void **state) {
  (void)state;
  setenv("SEER_FLEET_PASSWORD", SECRET, 1);
  assert_string_equal(parse("redis://h").password, SECRET);
  seer_redis_address a = parse("redis://me@h");
  assert_string_equal(a.user, "me");
  assert_string_equal(a.password, SECRET);
  assert_string_equal(a.shown, "redis://me@h");
  assert_string_equal(parse("redis://:own@h").password, "own");
  must(seer_redis_parse("redis://h", "of a file", arena, &a));
  assert_string_equal(a.password, "of a file");
  must(seer_redis_parse("redis://:own@h", "of a file", arena, &a));
  assert_string_equal(a.password, "own");
  setenv("SEER_FLEET_PASSWORD", "", 1);
  assert_null(parse("redis://h").password);
  unsetenv("SEER_FLEET_PASSWORD");
}

static void refuses(const char *url, const char *why) {
  seer_redis_address a;
  seer_status status = seer_redis_parse(url, NULL, arena, &a);
  if (!status) fail_msg("%s was taken", url);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  const char *message = seer_status_message(status);
  if (!strstr(message, why)) fail_msg("%s: '%s', expected '%s'", url, message, why);
  if (strstr(message, SECRET)) fail_msg("%s: '%s' tells the password", url, message);
  seer_status_free(status);
}

static void what_is_no_address_is_refused(void **state) {
  (void)state;
  static const char *const scheme = "does not begin with";
  refuses("", scheme);
  refuses("localhost:6379", scheme);
  refuses("http://h", scheme);
  refuses(SECRET "://h", scheme);
  refuses("REDIS://h", scheme);
  static const char *const host = "names no host";
  refuses("redis://", host);
  refuses("redis:///1", host);
  refuses("redis://:" SECRET, host);
  refuses("redis://h%41", host);
  refuses("redis://-h", host);
  refuses("redis://::1", host);
  refuses("redis://[1.2.3.4]", host);
  refuses("redis://[::1", "has no ']'");
  refuses("redis://[::1]6379", "behind a ']'");
  static const char *const port = "the port is no number";
  refuses("redis://h:", port);
  refuses("redis://h:0", port);
  refuses("redis://h:65536", port);
  refuses("redis://h:+1", port);
  refuses("redis://h:99999999999999999999", port);
  refuses("redis://h:1:2", port);
  refuses("redis://me:" SECRET, port);
  static const char *const database = "the database is no number";
  refuses("redis://h/x", database);
  refuses("redis://h/1/", database);
  refuses("redis://h/-1", database);
  refuses("redis://h/2147483648", database);
  refuses("unix:///s?db=x", database);
  static const char *const query = "behind a '?'";
  refuses("redis://h?", query);
  refuses("redis://h?ca=x", query);
  refuses("rediss://h?ca=", query);
  refuses("rediss://h?ca=x&ca=y", query);
  refuses("rediss://h?ca=x&", query);
  refuses("rediss://h?cert=x&cert=y", query);
  refuses("redis://h?cert=x&key=y", query);
  refuses("unix:///s?cert=x", query);
  refuses("rediss://h?key=x", "no cert=FILE");
  refuses("rediss://h?db=1", query);
  refuses("unix:///s?ca=x", query);
  refuses("unix:///s?db=1&db=1", query);
  refuses("redis://h?password=" SECRET, query);
  refuses("redis://h?" SECRET, query);
  refuses("unix://h/s", "behind unix://");
  refuses("unix://", "needs the path");
  refuses("unix:///", "needs the path");
  refuses("redis://h/1#x", "%-encoded");
  refuses("redis://a b", "control character");
  refuses("redis://a\nb", "control character");
  refuses("redis://a\x7f", "control character");
  char text[5000];
  memset(text, 'a', sizeof text - 1);
  text[sizeof text - 1] = 0;
  memcpy(text, "redis://", 8);
  refuses(text, "longer than");
  text[8 + 254] = 0;
  refuses(text, host);
  memcpy(text, "unix:///", 8);
  text[7 + 108] = 0;
  refuses(text, "has 108 bytes, at most 107");
}

static void a_password_that_is_not_encoded_is_not_told(void **state) {
  (void)state;
  static const char *const encode = "have to be %-encoded in a user";
  refuses("redis://:a@" SECRET "@h", encode);
  refuses("redis://:a/" SECRET "@h", encode);
  refuses("redis://:a?" SECRET "@h", encode);
  refuses("redis://:a#" SECRET "@h", encode);
  refuses("redis://:" SECRET "/@h", encode);
  refuses("redis://u:" SECRET "%zz@h", "password");
  refuses("redis://u:" SECRET "%4@h", "password");
  refuses("redis://u:" SECRET "%00@h", "password");
  refuses("redis://u%:" SECRET "@h", "its user");
  refuses("redis://u:@h", "no password behind it");
  refuses("redis://@h", "nothing stands before");
  refuses("redis://u@h", "a user needs a password");
  refuses("redis://u:" SECRET "@h:x", "the port");
  refuses("redis://u:" SECRET "@h/x", "the database");
  refuses("redis://u:" SECRET "@", "names no host");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(servers_are_read),
      cmocka_unit_test(users_are_read_and_passwords_not_shown),
      cmocka_unit_test(a_password_of_the_environment_is_taken),
      cmocka_unit_test(what_is_no_address_is_refused),
      cmocka_unit_test(a_password_that_is_not_encoded_is_not_told)};
  unsetenv("SEER_FLEET_PASSWORD");
  return cmocka_run_group_tests(tests, arena_open, arena_close);
}
