// drawn_faults.h - faults planted in what drawn schedules for GPUs lower to: what rules and
// lowering could get wrong of blocks and items, at a place that is drawn.
#ifndef SEER_TEST_DRAWN_FAULTS_H
#define SEER_TEST_DRAWN_FAULTS_H

#include "support/random_programs.h"

typedef enum {
  DRAWN_FAULT_NO_BARRIER,  // one is left out
  DRAWN_FAULT_BRANCH,  // one more, in an item's branch
  DRAWN_FAULT_HALF_FETCH,  // half of its steps, or of its items
  DRAWN_FAULT_SHORT_FETCH,  // one item too few
  DRAWN_FAULT_SMALL_BUFFER,  // blocks' memory or registers: a row too few
  DRAWN_FAULT_NO_PAD,  // a block's memory: rows are one less apart than they are long
  DRAWN_FAULT_COEFFICIENT,  // in a read of these: an item's is one too small
  DRAWN_FAULT_TWO_OWNERS,  // in a store, or in what decodes an item's number: likewise, or none
  DRAWN_FAULT_STALE,  // where fetches are a step ahead: what this step needs is loaded once more
  DRAWN_FAULT_COUNT
} drawn_fault;
const char *drawn_fault_name(drawn_fault fault);

// A copy of the program's loops with the fault, in `arena` and the loops' own. NULL: it has no
// place there.
seer_loop *drawn_fault_plant(
    drawn_fault fault, const random_program *program, seer_rng *rng, seer_arena *arena);

#endif
