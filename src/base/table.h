// table.h - a table of 64-bit hashes, each with n_values 64-bit numbers (none: a set): some 11 to
// 22 bytes for each of its words, where a map (map.h) takes a hundred for an element, and without
// an arena, which keeps the tables that have been outgrown.
// Nothing is ever removed but all at once; 0 and 1 are one element.
//
// Threads: any number may ask while nobody adds, clears or destroys.
#ifndef SEER_BASE_TABLE_H
#define SEER_BASE_TABLE_H

#include "base/base.h"

typedef struct {
  uint64_t *slots;  // open addressing: the hash (0: free), then its values
  size_t n, n_slots;  // elements; a power of two, at least 4/3 of n
  uint32_t n_values;
} seer_table;

// Room for n elements, owned: seer_table_destroy. False when there is no memory for them; nothing
// is owned then. All zeros but n_values are a table,
// too, without room.
SEER_MUST_USE bool seer_table_create(size_t n, uint32_t n_values, seer_table *out_table);
void seer_table_destroy(seer_table *table);
void seer_table_clear(seer_table *table);  // keeps its room
bool seer_table_has(const seer_table *table, uint64_t hash);
// With zeros as its values; false: it was there. Beyond its room the table grows; memory that runs
// out ends the call (recover.h).
bool seer_table_add(seer_table *table, uint64_t hash);
// NULL: not there. To be written, too; valid until something is added.
uint64_t *seer_table_values(const seer_table *table, uint64_t hash);

#endif
