// shadow.h - who has touched each element of a WORKGROUP or PRIVATE buffer, and when: what the
// interpreter (loop/eval.c) and the judge of block programs (judge.c) find races and unwritten
// reads by. Time is counted in epochs: each BARRIER begins one, and so does each block.
//
// An element of WORKGROUP memory may be written by one item within an epoch, or read by any; what
// another epoch has written, any item may read: of LATE memory (space/loop.h), only that, and an
// element is written once in an epoch. An element of PRIVATE memory is its first item's.
//
// Memory: cells are the caller's. Threads: a shadow is one thread's.
#ifndef SEER_SPACE_SHADOW_H
#define SEER_SPACE_SHADOW_H

#include "space/loop.h"

#define SEER_SHADOW_NOBODY UINT32_MAX
#define SEER_SHADOW_MANY (UINT32_MAX - 1)

typedef struct {
  uint64_t written_at, read_at;  // epoch, 0: never
  uint32_t writer, reader;  // item; of PRIVATE memory `writer` is the owner
  bool is_written;  // since it was allocated
} seer_shadow_cell;

typedef struct {
  uint64_t n;
  bool is_private, is_late;
  // An argument that the phase writes: elements are items' of all blocks, as those of PRIVATE
  // memory are, and what the phase has not written anyone may read.
  bool is_argument;
  seer_shadow_cell *cell;
} seer_shadow;

typedef enum {
  SEER_SHADOW_FINE,
  SEER_SHADOW_UNWRITTEN,  // read of what nothing has been written to
  SEER_SHADOW_READ_WRITTEN,  // read of what another item writes in the same epoch
  SEER_SHADOW_WRITE_READ,  // write of what another item reads in the same epoch
  SEER_SHADOW_WRITE_TWICE,  // by two items in the same epoch
  SEER_SHADOW_TWO_OWNERS,  // of a PRIVATE element
  SEER_SHADOW_NOT_THERE,  // of a LATE element: touched in the epoch in which it was written
  SEER_SHADOW_VERDICT_COUNT
} seer_shadow_verdict;

// All cells: nobody's, at no time.
void seer_shadow_clear(seer_shadow *shadow);
// An `alloc`: contents are undefined, PRIVATE elements have no owner. What was touched in this
// epoch still was: it is the same memory.
void seer_shadow_alloc(seer_shadow *shadow);
// *out_other: the item that was there before, where the verdict is of two (MANY: several).
seer_shadow_verdict seer_shadow_read(
    seer_shadow *shadow, uint64_t at, uint32_t item, uint64_t epoch, uint32_t *out_other);
seer_shadow_verdict seer_shadow_write(
    seer_shadow *shadow, uint64_t at, uint32_t item, uint64_t epoch, uint32_t *out_other);
// Either; `before`: the items of all blocks in front of this one, which arguments are told apart
// by.
static inline seer_shadow_verdict seer_shadow_touch(seer_shadow *shadow, bool is_write, uint64_t at,
    uint32_t before, uint32_t item, uint64_t epoch, uint32_t *out_other) {
  if (shadow->is_argument) item += before;
  return is_write ? seer_shadow_write(shadow, at, item, epoch, out_other)
                  : seer_shadow_read(shadow, at, item, epoch, out_other);
}
// The shadows of all that a block program allocates and of the arguments that it writes, by buffer
// of the loop; of others n is 0. In `arena`, cleared.
seer_shadow *seer_shadow_of_program(const seer_loop *loop, seer_arena *arena);
// What is wrong, as the end of a sentence about an access.
const char *seer_shadow_verdict_text(seer_shadow_verdict verdict);
// Of what later accesses can tell of the past: equal ones go on alike.
uint64_t seer_shadow_hash(const seer_shadow *shadow, uint64_t epoch, uint64_t seed);

#endif
