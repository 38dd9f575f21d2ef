// near.h - which of some names was meant: for "did you mean" in messages.
#ifndef SEER_BASE_NEAR_H
#define SEER_BASE_NEAR_H

#include "base/base.h"

// Letters to insert, drop, replace, or swap with the next one (optimal string alignment), whatever
// their case; _ is -. SIZE_MAX where a name has 64 letters or more.
size_t seer_name_distance(const char *a, const char *b);

// Names are offered one by one; `best` is the nearest so far, NULL while none is near. All
// borrowed.
typedef struct {
  const char *wanted, *best;
  size_t distance;
} seer_near;
seer_near seer_near_to(const char *wanted);
void seer_near_offer(seer_near *near, const char *name);

#endif
