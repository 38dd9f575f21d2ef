// hmac.h - HMAC-SHA256 (RFC 2104, FIPS 180-4): whether a message comes from somebody who has the
// key, and is what that one wrote; and SHA-256 alone. Here, and not of a library, because the
// runner on a board has it too, which is to stay small. It keeps nothing secret but the key.
//
// Threads: any.
#ifndef SEER_MEASURE_WIRE_HMAC_H
#define SEER_MEASURE_WIRE_HMAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEER_SHA256_BYTES 32

typedef struct {
  uint8_t bytes[SEER_SHA256_BYTES];
} seer_hmac_key;
// Of a secret of any length: its SHA-256.
seer_hmac_key seer_hmac_key_of(const void *secret, size_t n_bytes);

// Of several pieces, one behind the other.
typedef struct {
  const void *data;
  size_t n_bytes;
} seer_hmac_piece;
void seer_sha256(const seer_hmac_piece *pieces, size_t n, uint8_t out[SEER_SHA256_BYTES]);
void seer_hmac(const seer_hmac_key *key, const seer_hmac_piece *pieces, size_t n,
    uint8_t out[SEER_SHA256_BYTES]);
// Takes as long for all that differ.
bool seer_hmac_equal(const uint8_t a[SEER_SHA256_BYTES], const uint8_t b[SEER_SHA256_BYTES]);

#endif
