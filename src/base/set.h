// set.h - a set of 64-bit hashes: 16 to 32 bytes for each, where a map (map.h) takes a hundred.
// Nothing is ever removed but all at once; 0 and 1 are one element.
#ifndef SEER_BASE_SET_H
#define SEER_BASE_SET_H

#include "base/base.h"

typedef struct {
  uint64_t *slots;  // open addressing; 0: free
  size_t n, n_slots;  // elements; a power of two, at least twice n
} seer_set;

// Room for n elements; false when there is no memory for them. Zeros are a set, too, without room.
SEER_MUST_USE bool seer_set_create(size_t n, seer_set *out_set);
void seer_set_destroy(seer_set *set);
void seer_set_clear(seer_set *set);  // keeps its room
bool seer_set_has(const seer_set *set, uint64_t hash);
// False: it was there. Beyond its room the set grows; memory that runs out ends the call
// (recover.h).
bool seer_set_add(seer_set *set, uint64_t hash);

#endif
