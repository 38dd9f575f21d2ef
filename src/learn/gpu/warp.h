// warp.h - what one access of a statement comes to when the items of a warp make it together:
// accesses of up to 16 bytes, sectors of global memory, turns of the banks of a block's memory.
// By arithmetic on the coefficients of items. Internal to learn/gpu.
// All is pure, over the caller's storage: safe from any thread.
#ifndef SEER_LEARN_GPU_WARP_H
#define SEER_LEARN_GPU_WARP_H

#include "setup/target.h"
#include "space/nest.h"

#define SEER_WARP_MOST_ITEMS 128  // of a target's warp
#define SEER_SECTOR_BYTES 32

// Elements between an access's places, from one iteration of each loop to the next; of an access
// whose index hangs on data as far as it is known.
typedef struct {
  int64_t by[SEER_NEST_MAX_LOOPS];
} seer_warp_strides;
void seer_warp_strides_of(
    const seer_nest_statement *statement, const seer_nest_access *access, seer_warp_strides *out);

typedef struct {
  uint32_t wide;  // elements that one access has: 1, 2 or 4
  uint32_t run;  // neighbours that an item touches, in accesses that follow each other
  double turns;  // of the banks, of one access of a warp
  double sectors;  // that one access of a warp touches
  double run_sectors;  // that all accesses of such a run touch
  // Instructions of one access; more than 1 where items are lanes that lie apart
  double issues;
  bool is_same;  // lanes: one place for all
} seer_warp_access;

// A factor's words of a product of warps (space/warps.h), those of its rows or of its columns: what
// items load of it, two neighbours along the words at a time. For a block's memory.
void seer_warp_words_make(const seer_nest_statement *statement, const seer_warp_strides *strides,
    const seer_warps_tile *tile, bool is_rows, const seer_target_gpu *gpu, seer_warp_access *out);

// `n_written` loops inside the items' are written out, counted from the innermost one: neighbours
// along them may be one access.
void seer_warp_access_make(const seer_nest_statement *statement, const seer_nest_access *access,
    const seer_warp_strides *strides, uint32_t first_written, const seer_target_gpu *gpu,
    seer_warp_access *out);

#endif
