// map.c - open addressing over a dense array of entries.
// The entries stand in insertion order; the table holds entry numbers plus one (0 = free) and is
// rebuilt at twice the size when more than half full. Nothing is ever removed, so linear probing
// needs no tombstones.
#include "base/map.h"

#include <string.h>
#define XXH_INLINE_ALL  // no library of its own: programs for boards have none
#define XXH_NO_STREAM
#include <xxhash.h>

typedef struct {
  uint64_t key;  // the integer key, or the string's hash
  const char *text;  // NULL for integer keys
  uint64_t value;
} entry;

struct seer_map {
  seer_arena *arena;
  entry *entries;
  size_t n, cap;
  uint32_t *slots;
  size_t n_slots;  // a power of two, or 0
};

uint64_t seer_hash_bytes(const void *bytes, size_t n_bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(n_bytes ? bytes : "", n_bytes, seed);
}

uint64_t seer_hash_str(const char *text, uint64_t seed) {
  return seer_hash_bytes(text, strlen(text), seed);
}

seer_map *seer_map_create(seer_arena *arena) {
  seer_map *map = SEER_NEW(arena, seer_map);
  map->arena = arena;
  return map;
}

size_t seer_map_count(const seer_map *map) { return map->n; }

// The slot of `key` (and `text`), or the free slot where it belongs. n_slots > 0.
static size_t find_slot(const seer_map *map, uint64_t key, const char *text) {
  size_t mask = map->n_slots - 1;
  size_t at = (size_t)seer_hash_u64(key, 0) & mask;
  while (map->slots[at]) {
    const entry *e = &map->entries[map->slots[at] - 1];
    if (e->key == key && (!text || strcmp(e->text, text) == 0)) return at;
    at = (at + 1) & mask;
  }
  return at;
}

static void check_kind(const seer_map *map, bool is_text) {
  SEER_ASSERT(map->n == 0 || (map->entries[0].text != NULL) == is_text,
      "map of %s keys asked for a %s key", is_text ? "integer" : "string",
      is_text ? "string" : "integer");
}

static bool get(const seer_map *map, uint64_t key, const char *text, uint64_t *out_value) {
  check_kind(map, text != NULL);
  if (map->n == 0) return false;
  uint32_t number = map->slots[find_slot(map, key, text)];
  if (!number) return false;
  if (out_value) *out_value = map->entries[number - 1].value;
  return true;
}

static void set(seer_map *map, uint64_t key, const char *text, uint64_t value) {
  check_kind(map, text != NULL);
  if (map->n_slots) {
    uint32_t number = map->slots[find_slot(map, key, text)];
    if (number) {
      map->entries[number - 1].value = value;
      return;
    }
  }
  if ((map->n + 1) * 2 > map->n_slots) {
    map->n_slots = map->n_slots ? map->n_slots * 2 : 16;
    map->slots = SEER_NEW_ARRAY(map->arena, uint32_t, map->n_slots);
    size_t mask = map->n_slots - 1;
    for (size_t i = 0; i < map->n; i++) {
      size_t at = (size_t)seer_hash_u64(map->entries[i].key, 0) & mask;
      while (map->slots[at]) at = (at + 1) & mask;
      map->slots[at] = (uint32_t)(i + 1);
    }
  }
  SEER_ASSERT(map->n < UINT32_MAX - 1, "%zu entries", map->n);
  map->entries = SEER_GROW(map->arena, entry, map->entries, map->n, &map->cap);
  size_t slot = find_slot(map, key, text);
  map->entries[map->n++] = (entry){key, text ? seer_arena_strdup(map->arena, text) : NULL, value};
  map->slots[slot] = (uint32_t)map->n;
}

bool seer_map_get(const seer_map *map, uint64_t key, uint64_t *out_value) {
  return get(map, key, NULL, out_value);
}
void seer_map_set(seer_map *map, uint64_t key, uint64_t value) { set(map, key, NULL, value); }

bool seer_map_get_str(const seer_map *map, const char *key, uint64_t *out_value) {
  return get(map, seer_hash_str(key, 0), key, out_value);
}
void seer_map_set_str(seer_map *map, const char *key, uint64_t value) {
  set(map, seer_hash_str(key, 0), key, value);
}

static const entry *entry_at(const seer_map *map, size_t i) {
  SEER_ASSERT(i < map->n, "entry %zu of %zu", i, map->n);
  return &map->entries[i];
}

uint64_t seer_map_key_at(const seer_map *map, size_t i) { return entry_at(map, i)->key; }
const char *seer_map_str_at(const seer_map *map, size_t i) { return entry_at(map, i)->text; }
uint64_t seer_map_value_at(const seer_map *map, size_t i) { return entry_at(map, i)->value; }
