// items.h - block programs: phases of loop IR whose parts are blocks of items (loop.h), as a GPU
// runs them. What their nests are, whether their items leave each other alone, and the same program
// for a processor without items.
//
// Threads: all is pure. Errors: of the judge, below.
#ifndef SEER_SPACE_ITEMS_H
#define SEER_SPACE_ITEMS_H

#include "space/loop.h"

// What every GPU allows (CUDA's and OpenCL's usual limit); targets say less.
#define SEER_ITEMS_MAX 1024

// THREAD loops directly inside of each other. An item's number is the mixed-radix number of their
// variables, outermost most significant: neighbours in the innermost loop are neighbours in a warp.
typedef struct {
  uint32_t n;
  uint32_t loop[SEER_MAX_RANK];  // nodes, outermost first
  int64_t n_items;  // product of extents
  uint32_t body;  // what each item does
} seer_items;

// The nest that begins at node `id`, a THREAD loop. n_items is at most INT32_MAX.
seer_items seer_items_of(const seer_loop *loop, uint32_t id);
// The grid of a phase, its leading PARALLEL loops, the same way: n_items are its parts.
seer_items seer_items_of_grid(const seer_loop *loop, uint32_t phase);
// Sets the variables of these loops to what item (or part) number `number` has. Whether bounds cut
// it off is for the caller to see.
void seer_items_place(
    const seer_loop *loop, const seer_items *items, int64_t number, int64_t *inout_var);
// Items of a block: as many as the largest nest of the phase has. 0: it is no block program.
int64_t seer_items_of_phase(const seer_loop *loop, uint32_t phase);

// Judges a block program, whose form verify has found right: that no item reads or writes WORKGROUP
// memory that another one writes in the same epoch, that a PRIVATE element is one item's, that
// nothing is read which nothing was written to. It goes through the accesses of every block that
// differs from the others, so that what it says is exact.
// Errors: INVALID: refuted, with block, item and element; UNSUPPORTED: it depends on data, or is
// too much to go through.
SEER_MUST_USE seer_status seer_items_judge(const seer_loop *loop, uint32_t phase);

// The same program without items: nests are serial loops, one after another, and WORKGROUP and
// PRIVATE buffers LOCAL ones of a part. What today's back ends make of it computes what the items
// would; it says nothing of races.
// In the arena of `loop`, whose expressions and names it shares. For tests.
seer_loop *seer_items_serial(const seer_loop *loop);

#endif
