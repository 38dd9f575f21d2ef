// Bytes of a server, in pieces: the first byte says how large they are. However they are cut, the
// same replies come of them, and they take no more memory than one reply may.
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "measure/fleet/reply.h"

#define MAX_BYTES ((size_t)1 << 16)

static uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29);
}

static uint64_t walk(const seer_redis_reply *reply, uint64_t hash) {
  hash = mix(mix(hash, (uint64_t)reply->kind), reply->n);
  switch (reply->kind) {
    case SEER_REDIS_NIL:
      return hash;
    case SEER_REDIS_INTEGER:
      return mix(hash, (uint64_t)reply->integer);
    case SEER_REDIS_TEXT:
    case SEER_REDIS_ERROR:
      for (size_t i = 0; i < reply->n; i++) hash = mix(hash, (uint8_t)reply->text[i]);
      if (reply->text[reply->n] != 0) abort();
      return hash;
    case SEER_REDIS_ARRAY:
      for (size_t i = 0; i < reply->n; i++) hash = walk(&reply->element[i], hash);
      return hash;
  }
  abort();
}

// A hash of the replies, and of whether the end of them was refused.
static uint64_t read_in_pieces(const uint8_t *data, size_t n_bytes, size_t piece) {
  seer_redis_reader *reader = seer_redis_reader_create(MAX_BYTES);
  seer_arena *arena = seer_arena_create("reply");
  uint64_t hash = 0;
  seer_status status = SEER_OK;
  for (size_t at = 0; at < n_bytes && !status; at += piece) {
    status = seer_redis_reader_feed(reader, data + at, n_bytes - at < piece ? n_bytes - at : piece);
    const seer_redis_reply *reply = NULL;
    do {
      if (!status) status = seer_redis_reader_next(reader, arena, &reply);
      if (status || !reply) break;
      hash = walk(reply, hash);
      seer_arena_reset(arena);
    } while (true);
    if (seer_arena_bytes(arena) > MAX_BYTES + 4096) abort();
  }
  hash = mix(hash, status != SEER_OK);
  seer_status_free(status);
  seer_redis_reader_destroy(reader);
  seer_arena_destroy(arena);
  return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  // Of as many bytes as fit a reader at once, so that all ways of cutting them are equal.
  if (n_bytes < 2 || n_bytes > MAX_BYTES / 2) return 0;
  const size_t piece = (size_t)data[0] % 17 + 1;
  if (read_in_pieces(data + 1, n_bytes - 1, n_bytes) !=
      read_in_pieces(data + 1, n_bytes - 1, piece))
    abort();
  return 0;
}
