// wire.c - frames, and fields in a payload.

#include "measure/wire/wire.h"

#include <math.h>
#include <string.h>

#include "base/map.h"

static const uint8_t magic[4] = {'S', 'E', 'E', 'R'};

// ---- numbers
static void store(uint8_t *at, uint64_t value, size_t n_bytes) {
  for (size_t i = 0; i < n_bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t load(const uint8_t *at, size_t n_bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < n_bytes; i++) value |= (uint64_t)at[i] << (8 * i);
  return value;
}

// ---- frames
seer_status seer_wire_print_frame(seer_wire_type type, uint32_t seq, const seer_text *payload,
    uint8_t out[SEER_WIRE_FRAME_BYTES]) {
  if (payload->n_bytes > SEER_WIRE_MAX_BYTES)
    return SEER_FAIL(RESOURCE, "a message of %zu bytes, at most %u are allowed", payload->n_bytes,
        SEER_WIRE_MAX_BYTES);
  memset(out, 0, SEER_WIRE_FRAME_BYTES);
  memcpy(out, magic, sizeof magic);
  store(out + 4, SEER_WIRE_VERSION, 2);
  store(out + 6, (uint64_t)type, 2);
  store(out + 8, seq, 4);
  store(out + 16, payload->n_bytes, 8);
  store(out + 24, seer_hash_bytes(payload->data, payload->n_bytes, 0), 8);
  return SEER_OK;
}

seer_status seer_wire_parse_frame(
    const uint8_t bytes[SEER_WIRE_FRAME_BYTES], seer_wire_header *out) {
  memset(out, 0, sizeof(*out));
  if (memcmp(bytes, magic, sizeof magic) != 0 || load(bytes + 12, 4) != 0)
    return SEER_FAIL(CORRUPT, "what came is no message");
  uint64_t version = load(bytes + 4, 2), type = load(bytes + 6, 2);
  if (version != SEER_WIRE_VERSION)
    return SEER_FAIL(
        CORRUPT, "message of version %" PRIu64 ", must be %d", version, SEER_WIRE_VERSION);
  if (type < SEER_WIRE_HELLO || type >= SEER_WIRE_END)
    return SEER_FAIL(CORRUPT, "message of type %" PRIu64 ", must be %d to %d", type,
        SEER_WIRE_HELLO, SEER_WIRE_END - 1);
  out->type = (seer_wire_type)type;
  out->seq = (uint32_t)load(bytes + 8, 4);
  out->n_bytes = load(bytes + 16, 8);
  out->hash = load(bytes + 24, 8);
  if (out->n_bytes <= SEER_WIRE_MAX_BYTES) return SEER_OK;
  return SEER_FAIL(CORRUPT, "message of %" PRIu64 " bytes, at most %u are allowed", out->n_bytes,
      SEER_WIRE_MAX_BYTES);
}

seer_status seer_wire_check(const seer_wire_header *header, const void *payload) {
  if (seer_hash_bytes(payload, header->n_bytes, 0) == header->hash) return SEER_OK;
  return SEER_FAIL(
      CORRUPT, "a message of %" PRIu64 " bytes was damaged on its way", header->n_bytes);
}

// ---- writing fields
static void put(seer_text *out, uint64_t value, size_t n_bytes) {
  uint8_t bytes[8];
  store(bytes, value, n_bytes);
  seer_text_put_n(out, (const char *)bytes, n_bytes);
}

void seer_wire_put_u32(seer_text *out, uint32_t value) { put(out, value, 4); }
void seer_wire_put_u64(seer_text *out, uint64_t value) { put(out, value, 8); }

void seer_wire_put_f64(seer_text *out, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put(out, bits, 8);
}

void seer_wire_put_bytes(seer_text *out, const void *data, size_t n_bytes) {
  put(out, n_bytes, 8);
  seer_text_put_n(out, data, n_bytes);
}

// ---- reading fields
void seer_wire_refuse(seer_wire_reader *reader, const char *what) {
  if (!reader->wrong) reader->wrong = what;
  reader->left = 0;
}

static uint64_t get(seer_wire_reader *reader, size_t n_bytes) {
  if (n_bytes > reader->left) {
    seer_wire_refuse(reader, "its end (it is cut off)");
    return 0;
  }
  uint64_t value = load(reader->at, n_bytes);
  reader->at += n_bytes;
  reader->left -= n_bytes;
  return value;
}

uint32_t seer_wire_get_u32(seer_wire_reader *reader) { return (uint32_t)get(reader, 4); }
uint64_t seer_wire_get_u64(seer_wire_reader *reader) { return get(reader, 8); }

uint32_t seer_wire_get_max(seer_wire_reader *reader, uint32_t max, const char *what) {
  uint32_t value = seer_wire_get_u32(reader);
  if (value <= max) return value;
  seer_wire_refuse(reader, what);
  return 0;
}

double seer_wire_get_share(seer_wire_reader *reader, const char *what) {
  double value = seer_wire_get_seconds(reader, what);
  if (value <= 1) return value;
  seer_wire_refuse(reader, what);
  return 0;
}

double seer_wire_get_seconds(seer_wire_reader *reader, const char *what) {
  uint64_t bits = seer_wire_get_u64(reader);
  double value;
  memcpy(&value, &bits, sizeof value);
  if (isfinite(value) && value >= 0) return value;
  seer_wire_refuse(reader, what);
  return 0;
}

const void *seer_wire_get_bytes(
    seer_wire_reader *reader, size_t max_bytes, const char *what, size_t *out_n) {
  uint64_t n = seer_wire_get_u64(reader);
  *out_n = 0;
  if (n > max_bytes || n > reader->left) seer_wire_refuse(reader, what);
  if (reader->wrong) return "";
  const void *at = reader->at;
  *out_n = (size_t)n;
  reader->at += n;
  reader->left -= (size_t)n;
  return at;
}

const char *seer_wire_get_text(
    seer_wire_reader *reader, size_t max_bytes, const char *what, seer_arena *arena) {
  size_t n;
  const char *text = seer_wire_get_bytes(reader, max_bytes, what, &n);
  if (memchr(text, 0, n)) {
    seer_wire_refuse(reader, what);
    return "";
  }
  return seer_arena_strndup(arena, text, n);
}

seer_status seer_wire_end(const seer_wire_reader *reader, const char *message) {
  if (reader->wrong) return SEER_FAIL(CORRUPT, "%s: wrong: %s", message, reader->wrong);
  if (reader->left) return SEER_FAIL(CORRUPT, "%s: %zu bytes too many", message, reader->left);
  return SEER_OK;
}
