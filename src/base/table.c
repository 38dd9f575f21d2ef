// table.c - open addressing with linear probing, at most three quarters full.
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/recover.h"

#define LEAST_SLOTS 16

static size_t room(const seer_table *table) { return table->n_slots / 4 * 3; }
static size_t width(const seer_table *table) { return 1 + table->n_values; }

static bool make_slots(size_t n_slots, uint32_t n_values, seer_table *out) {
  *out = (seer_table){.n_slots = n_slots, .n_values = n_values};
  out->slots = calloc(n_slots, width(out) * sizeof(uint64_t));
  if (!out->slots) out->n_slots = 0;
  return out->slots != NULL;
}

bool seer_table_create(size_t n, uint32_t n_values, seer_table *out_table) {
  size_t n_slots = LEAST_SLOTS;
  while (n_slots / 4 * 3 < n) n_slots *= 2;
  return make_slots(n_slots, n_values, out_table);
}

void seer_table_destroy(seer_table *table) {
  free(table->slots);
  *table = (seer_table){.n_values = table->n_values};
}

void seer_table_clear(seer_table *table) {
  if (table->n > 0) memset(table->slots, 0, table->n_slots * width(table) * sizeof(uint64_t));
  table->n = 0;
}

// Where `element` stands, or the free slot where it belongs. n_slots > 0.
static uint64_t *find_slot(const seer_table *table, uint64_t element) {
  size_t mask = table->n_slots - 1, at = (size_t)element & mask, step = width(table);
  while (table->slots[at * step] != 0 && table->slots[at * step] != element) at = (at + 1) & mask;
  return &table->slots[at * step];
}

static uint64_t element_of(uint64_t hash) { return hash ? hash : 1; }

uint64_t *seer_table_values(const seer_table *table, uint64_t hash) {
  if (table->n == 0) return NULL;
  uint64_t *slot = find_slot(table, element_of(hash));
  return slot[0] ? slot + 1 : NULL;
}

bool seer_table_has(const seer_table *table, uint64_t hash) {
  return seer_table_values(table, hash) != NULL;
}

static void grow(seer_table *table) {
  seer_table larger;
  size_t n_slots = table->n_slots ? 2 * table->n_slots : LEAST_SLOTS, step = width(table);
  if (!make_slots(n_slots, table->n_values, &larger))
    seer_recover_out_of_memory(n_slots * step * sizeof(uint64_t), "table");
  for (size_t i = 0; i < table->n_slots; i++) {
    const uint64_t *slot = &table->slots[i * step];
    if (slot[0]) memcpy(find_slot(&larger, slot[0]), slot, step * sizeof(uint64_t));
  }
  larger.n = table->n;
  free(table->slots);
  *table = larger;
}

bool seer_table_add(seer_table *table, uint64_t hash) {
  if (table->n + 1 > room(table)) grow(table);
  uint64_t *slot = find_slot(table, element_of(hash));
  if (slot[0]) return false;
  slot[0] = element_of(hash);
  table->n++;
  return true;
}
