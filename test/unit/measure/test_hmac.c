// Published vectors: FIPS 180-4's messages, RFC 4231's cases whose keys are hashed as ours are.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/wire/hmac.h"
#include "support/test.h"

static void hex_of(const uint8_t bytes[SEER_SHA256_BYTES], char out[2 * SEER_SHA256_BYTES + 1]) {
  for (int i = 0; i < SEER_SHA256_BYTES; i++) (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

// A key is the hash of its secret.
static void expect_hash(const void *data, size_t n, const char *expected) {
  char hex[2 * SEER_SHA256_BYTES + 1];
  const seer_hmac_key key = seer_hmac_key_of(data, n);
  hex_of(key.bytes, hex);
  assert_string_equal(hex, expected);
}

static void hashes_published_messages(void **state) {
  (void)state;
  static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  expect_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect_hash(two_blocks, sizeof two_blocks - 1,
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  char *million = malloc(1000000);
  assert_non_null(million);
  memset(million, 'a', 1000000);
  expect_hash(million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  free(million);
}

// RFC 4231, case 6: a key that is longer than a block is its hash, as every secret of ours is.
static void signs_as_published(void **state) {
  (void)state;
  uint8_t secret[131], out[SEER_SHA256_BYTES];
  char hex[2 * SEER_SHA256_BYTES + 1];
  memset(secret, 0xaa, sizeof secret);
  const seer_hmac_key key = seer_hmac_key_of(secret, sizeof secret);
  static const char text[] = "Test Using Larger Than Block-Size Key - Hash Key First";
  for (size_t cut = 0; cut < sizeof text; cut++) {
    const seer_hmac_piece pieces[] = {{text, cut}, {text + cut, sizeof text - 1 - cut}};
    seer_hmac(&key, pieces, 2, out);
    hex_of(out, hex);
    assert_string_equal(hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  }
}

static void every_bit_counts(void **state) {
  (void)state;
  uint8_t a[SEER_SHA256_BYTES] = {0}, b[SEER_SHA256_BYTES] = {0};
  assert_true(seer_hmac_equal(a, b));
  for (int i = 0; i < 8 * SEER_SHA256_BYTES; i++) {
    b[i / 8] = (uint8_t)(1u << (i % 8));
    assert_false(seer_hmac_equal(a, b));
    b[i / 8] = 0;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hashes_published_messages),
      cmocka_unit_test(signs_as_published),
      cmocka_unit_test(every_bit_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
