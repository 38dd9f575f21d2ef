// set.c - open addressing with linear probing, at most half full.
#include "base/set.h"

#include <stdlib.h>
#include <string.h>

#include "base/recover.h"

#define LEAST_SLOTS 16

bool seer_set_create(size_t n, seer_set *out_set) {
  size_t n_slots = LEAST_SLOTS;
  while (n_slots < 2 * n) n_slots *= 2;
  *out_set = (seer_set){.slots = calloc(n_slots, sizeof(uint64_t)), .n_slots = n_slots};
  if (!out_set->slots) *out_set = (seer_set){0};
  return out_set->slots != NULL;
}

void seer_set_destroy(seer_set *set) {
  free(set->slots);
  *set = (seer_set){0};
}

void seer_set_clear(seer_set *set) {
  if (set->n > 0) memset(set->slots, 0, set->n_slots * sizeof(uint64_t));
  set->n = 0;
}

// Where `element` stands, or the free slot where it belongs. n_slots > 0.
static size_t find_slot(const seer_set *set, uint64_t element) {
  size_t mask = set->n_slots - 1, at = (size_t)element & mask;
  while (set->slots[at] != 0 && set->slots[at] != element) at = (at + 1) & mask;
  return at;
}

static uint64_t element_of(uint64_t hash) { return hash ? hash : 1; }

bool seer_set_has(const seer_set *set, uint64_t hash) {
  return set->n > 0 && set->slots[find_slot(set, element_of(hash))] != 0;
}

static void grow(seer_set *set) {
  seer_set larger;
  if (!seer_set_create(set->n_slots, &larger))
    seer_recover_out_of_memory(2 * set->n_slots * sizeof(uint64_t), "set");
  for (size_t i = 0; i < set->n_slots; i++)
    if (set->slots[i]) larger.slots[find_slot(&larger, set->slots[i])] = set->slots[i];
  larger.n = set->n;
  free(set->slots);
  *set = larger;
}

bool seer_set_add(seer_set *set, uint64_t hash) {
  if (2 * (set->n + 1) > set->n_slots) grow(set);
  size_t at = find_slot(set, element_of(hash));
  if (set->slots[at]) return false;
  set->slots[at] = element_of(hash);
  set->n++;
  return true;
}
