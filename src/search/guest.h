// guest.h - schedules that were made for another task and wait to be proposed, and how such ones
// have done. A guest is estimated, rated and ranked with everything else; that it comes from a good
// place counts for as much as guests have hit more often than the rest (search.c).
//
// Memory: the caller's storage. Threads: one at a time; luck that several searches share is one
// thread's, too.
#ifndef SEER_SEARCH_GUEST_H
#define SEER_SEARCH_GUEST_H

#include "space/origin.h"
#include "space/schedule.h"

#define SEER_GUESTS 32  // that wait

typedef struct {
  seer_schedule schedule;
  uint64_t hash;
  seer_origin origin;
} seer_guest;

// In the order in which they came. All zeros: empty.
typedef struct {
  uint32_t n;
  seer_guest at[SEER_GUESTS];
} seer_guests;

// One that waits already changes nothing; where there is no room, the one that has waited longest
// leaves.
void seer_guests_add(seer_guests *guests, const seer_schedule *schedule, seer_origin origin);
const seer_guest *seer_guests_find(const seer_guests *guests, uint64_t hash);  // NULL: not there
bool seer_guests_remove(seer_guests *guests, uint64_t hash);  // false: it was not there

// Measurements of tasks that had a best, and how many were better than it then.
typedef struct {
  uint32_t n, n_hit;
} seer_tally;

// All zeros: nothing is known.
typedef struct {
  seer_tally guests, others;
} seer_guest_luck;

// By how many doublings guests hit more often than others, from -2 to 2: 0 with nothing known.
double seer_guest_luck_log2(const seer_guest_luck *luck);

#endif
