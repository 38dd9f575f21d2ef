// map.h - a hash map from 64-bit keys or strings to 64-bit values, in an arena. Iterates in
// insertion order, so nothing that is printed depends on addresses.
//
// Memory: map and keys stay in the arena, tables that have been outgrown too. Threads: any number
// may ask while nobody sets.
#ifndef SEER_BASE_MAP_H
#define SEER_BASE_MAP_H

#include "base/arena.h"

typedef struct seer_map seer_map;

seer_map *seer_map_create(seer_arena *arena);
// For tests.
size_t seer_map_count(const seer_map *map);
// True if `key` was there; then *out_value is its value (out_value may be NULL).
bool seer_map_get(const seer_map *map, uint64_t key, uint64_t *out_value);
void seer_map_set(seer_map *map, uint64_t key, uint64_t value);  // adds or overwrites
// String keys are copied. A map has keys of one kind only.
bool seer_map_get_str(const seer_map *map, const char *key, uint64_t *out_value);
void seer_map_set_str(seer_map *map, const char *key, uint64_t value);
// The i-th inserted entry, i < count; for tests.
uint64_t seer_map_key_at(const seer_map *map, size_t i);
const char *seer_map_str_at(const seer_map *map, size_t i);
uint64_t seer_map_value_at(const seer_map *map, size_t i);

// 64-bit hash of bytes (XXH3), and a way to chain hashes.
uint64_t seer_hash_bytes(const void *bytes, size_t n_bytes, uint64_t seed);
uint64_t seer_hash_str(const char *text, uint64_t seed);
static inline uint64_t seer_hash_u64(uint64_t value, uint64_t seed) {
  // The seed is mixed first: (a, b) and (b, a) differ, and no pair of equal numbers gives 0.
  uint64_t h = (value ^ (seed * 0xA0761D6478BD642Fu + 0xE7037ED1A0B428DBu)) * 0x9E3779B97F4A7C15u;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93u;
  return h ^ (h >> 29);
}

#endif
