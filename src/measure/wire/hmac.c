// hmac.c - SHA-256 by its definition, and HMAC over it.

#include "measure/wire/hmac.h"

#include <string.h>

#define BLOCK_BYTES 64

// The first 32 bits of the fractions of the cube roots of the first 64 primes.
static const uint32_t round_constant[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
    0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
    0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

typedef struct {
  uint32_t state[8];
  uint64_t n_bytes;
  uint8_t block[BLOCK_BYTES];  // n_bytes % 64 of it
} sha256;

static uint32_t turn(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

static void take_block(uint32_t state[8], const uint8_t block[BLOCK_BYTES]) {
  uint32_t word[64], s[8];
  for (int i = 0; i < 16; i++) {
    const uint8_t *at = &block[4 * i];
    word[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  }
  for (int i = 16; i < 64; i++) {
    uint32_t a = word[i - 15], b = word[i - 2];
    word[i] = word[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + word[i - 7] +
        (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
  }
  memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t e = s[4], a = s[0];
    uint32_t first = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & s[5]) ^ (~e & s[6])) +
        round_constant[i] + word[i];
    uint32_t second =
        (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    memmove(&s[1], &s[0], 7 * sizeof s[0]);
    s[4] += first;
    s[0] = first + second;
  }
  for (int i = 0; i < 8; i++) state[i] += s[i];
}

static void start(sha256 *hash) {
  // Of the square roots of the first eight primes.
  static const uint32_t begin_with[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
      0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, begin_with, sizeof begin_with);
  hash->n_bytes = 0;
}

static void add(sha256 *hash, const void *data, size_t n_bytes) {
  const uint8_t *at = data;
  while (n_bytes > 0) {
    size_t held = hash->n_bytes % BLOCK_BYTES, room = BLOCK_BYTES - held;
    size_t n = n_bytes < room ? n_bytes : room;
    memcpy(hash->block + held, at, n);
    hash->n_bytes += n;
    at += n;
    n_bytes -= n;
    if (n == room) take_block(hash->state, hash->block);
  }
}

static void finish(sha256 *hash, uint8_t out[SEER_SHA256_BYTES]) {
  static const uint8_t pad[BLOCK_BYTES] = {0x80};
  uint64_t n_bits = hash->n_bytes * 8;
  size_t held = hash->n_bytes % BLOCK_BYTES;
  add(hash, pad, (held < 56 ? 56 : 120) - held);
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)(n_bits >> (56 - 8 * i));
  add(hash, length, sizeof length);
  for (int i = 0; i < SEER_SHA256_BYTES; i++)
    out[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void seer_sha256(const seer_hmac_piece *pieces, size_t n, uint8_t out[SEER_SHA256_BYTES]) {
  sha256 hash;
  start(&hash);
  for (size_t i = 0; i < n; i++) add(&hash, pieces[i].data, pieces[i].n_bytes);
  finish(&hash, out);
}

seer_hmac_key seer_hmac_key_of(const void *secret, size_t n_bytes) {
  seer_hmac_key key;
  seer_sha256(&(seer_hmac_piece){secret, n_bytes}, 1, key.bytes);
  return key;
}

static void begin(sha256 *hash, const seer_hmac_key *key, uint8_t pad) {
  uint8_t block[BLOCK_BYTES];
  memset(block, pad, sizeof block);
  for (int i = 0; i < SEER_SHA256_BYTES; i++) block[i] ^= key->bytes[i];
  start(hash);
  add(hash, block, sizeof block);
}

void seer_hmac(const seer_hmac_key *key, const seer_hmac_piece *pieces, size_t n,
    uint8_t out[SEER_SHA256_BYTES]) {
  sha256 hash;
  uint8_t inner[SEER_SHA256_BYTES];
  begin(&hash, key, 0x36);
  for (size_t i = 0; i < n; i++) add(&hash, pieces[i].data, pieces[i].n_bytes);
  finish(&hash, inner);
  begin(&hash, key, 0x5c);
  add(&hash, inner, sizeof inner);
  finish(&hash, out);
}

bool seer_hmac_equal(const uint8_t a[SEER_SHA256_BYTES], const uint8_t b[SEER_SHA256_BYTES]) {
  unsigned differs = 0;
  for (int i = 0; i < SEER_SHA256_BYTES; i++) differs |= (unsigned)(a[i] ^ b[i]);
  return differs == 0;
}
