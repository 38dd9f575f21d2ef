// generate.h - loop IR, with what tile IR decides about it, written out as vector code.
// Threads: any, on distinct arenas; the loop is only read, and kept as long as the code.
#ifndef SEER_CODE_GENERATE_H
#define SEER_CODE_GENERATE_H

#include "code/tile/tile.h"
#include "code/vector/vector.h"

// What the instructions of a processor decide about its code.
typedef struct {
  seer_tile_machine tile;
  uint64_t l2_bytes;  // packed weights that are larger are asked for ahead
  bool has_half;  // f32 <-> f16 in hardware
  bool has_rounding;  // to integers, in hardware
  bool has_extremes;  // the smaller and the larger of two with NaN let through, in hardware
  bool has_picks;  // an element of 16, by a number that a vector holds: SEER_VEC_PICK
  // What of tile.has_items follows: an access that is not meant is left out, by a mask or by a WHEN
  // around it, and never goes elsewhere; there is no scratch.
  // masked loads and stores exist for elements of at least this many bytes
  uint32_t masked_bytes;
} seer_gen_machine;
seer_gen_machine seer_gen_machine_of(const seer_target *target);
// Items with registers for all that is theirs, as GPUs have them.
//   multiplies_by_warps  the code may have MMA
seer_gen_machine seer_gen_machine_of_items(bool multiplies_by_warps);
// The same for code that is written as C, which has no products of matrices.
seer_gen_machine seer_gen_machine_of_c(const seer_target *target);

// The code of all phases; `symbol` names them <symbol>_p<phase>.
// Errors: UNSUPPORTED for an operator that has no code; for a block program on a machine without
// items, another phase on one with them; and where an item would need memory of its own.
SEER_MUST_USE seer_status seer_gen_code(const seer_loop *loop, const seer_gen_machine *machine,
    const char *symbol, seer_arena *arena, seer_vec_code **out_code);

#endif
