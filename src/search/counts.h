// counts.h - what a search counts: drafts and what became of them, and where a fixed size ended
// what was looked at.
// Pure but for the arena: safe from any thread.
#ifndef SEER_SEARCH_COUNTS_H
#define SEER_SEARCH_COUNTS_H

#include "space/sketch.h"

// Places where a fixed size ends what is looked at.
typedef enum {
  SEER_CUT_PLANS,  // half-made sketches beyond what the walk of the rules keeps
  SEER_CUT_SKETCHES,  // plans that did not become sketches because others were ranked before them
  // loads and statements that a nest summary has no room for: features lack them
  SEER_CUT_ACCESSES,
  SEER_CUT_COUNT
} seer_cut;
const char *seer_cut_name(seer_cut cut);

// All of a search so far, or of a round. Whole numbers of one width only.
typedef struct {
  uint64_t drafted, scored, proposed;
  uint64_t rejected[SEER_REJECT_COUNT];
  uint64_t cut[SEER_CUT_COUNT];
} seer_search_counts;
void seer_search_counts_add(seer_search_counts *into, const seer_search_counts *more);
void seer_search_counts_less(seer_search_counts *into, const seer_search_counts *earlier);
// "drafted 448, scored 288, proposed 16; rejected: registers 31, duplicate 8; left out: plans 2"
const char *seer_search_counts_print(const seer_search_counts *counts, seer_arena *arena);

#endif
