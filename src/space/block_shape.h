// block_shape.h - what a schedule asks of a GPU for each block of a kernel, by arithmetic on its
// frame, and whether the target has it. Internal to space.
// Threads: any; all is read only. Errors: none, but the verdict.
#ifndef SEER_SPACE_BLOCK_SHAPE_H
#define SEER_SPACE_BLOCK_SHAPE_H

#include "space/frame.h"

typedef struct {
  int64_t blocks;
  int64_t items;  // of a block
  int64_t sums;  // elements of a tiled stage that an item has in registers
  int64_t apart;  // the part of them that lie far from each other (Ansor: virtual threads)
  int64_t copies;  // sums, for each step of the innermost reduction loops
  int64_t operands;  // registers of what one such step loads, 16 bytes at a time where that may be
  // registers of what a compiler may load of the steps behind it that are written out
  int64_t ahead;
  // registers of what an item has loaded for the next step (frame.h, is_ahead)
  int64_t held;
  int64_t workgroup_bytes;  // that its items share
} seer_block_shape;

// Of root stage `root`, a kernel. All numbers are at most INT32_MAX, which stands for more, too.
// For tests.
void seer_block_shape_make(const seer_frame *frame, uint32_t root, seer_block_shape *out);
// Whether a GPU can run it. In the full space also whether it is worth a try: whole warps, copies
// that do not swamp a compiler.
seer_reject seer_block_check(const seer_sketch_list *list, const seer_frame *frame);

#endif
