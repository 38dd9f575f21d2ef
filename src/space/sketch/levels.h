// levels.h - how multi-level tiling cuts a stage's axes, by kind of target (a table each).
// Every spatial axis is cut into levels S0, S1, ... and every reduction axis into R0, R1, ...; the
// axes of one level stand next to each other, in the DAG's order. Two orders are apart:
//   - significance in the axis: S0 is the most significant part of the index, the last level counts
//     single elements. It is the level's number.
//   - nesting: the order of the table. A GPU's S1 (TVM: virtual threads) is more significant than
//     the items of S2, and stands inside of them: each item has elements that far apart.
// Internal to space. Threads: all is constant.
#ifndef SEER_SPACE_LEVELS_H
#define SEER_SPACE_LEVELS_H

#include "setup/target.h"

#define SEER_MAX_LEVELS 5  // of one axis

typedef enum {
  SEER_BIND_SERIAL,  // a CPU's parallel loops are a knob's choice among these
  SEER_BIND_GRID,  // parts: blocks of a GPU
  SEER_BIND_ITEM,  // items of a block
  SEER_BIND_TILE  // the register tile: unrolled
} seer_binding;

typedef struct {
  bool is_reduce;
  uint8_t level;
  seer_binding binding;
  // The loop runs over this less significant level as well, one factor times the other; 0: no.
  uint8_t with;
} seer_level;

// The reader of a tiled stage that is computed inside of it (rule/tile.c): it has the `n_outer`
// most significant levels, the tiled stage stands there with the others, and after it come these
// loops of the reader.
typedef struct {
  uint8_t n_outer;
  uint8_t n_loop;
  seer_level loop[3];
} seer_follow_levels;

typedef struct {
  const char *name;  // Ansor's notation
  uint8_t n_space, n_reduce;  // levels of a spatial, of a reduction axis
  bool is_vectorised;  // the last axis's last loop is a VECTOR loop
  uint8_t n_loop;
  seer_level loop[2 * SEER_MAX_LEVELS];  // outer to inner
  uint8_t n_follow;
  seer_follow_levels follow[2];  // innermost place first
} seer_levels;

const seer_levels *seer_levels_of(seer_target_kind kind);
// How a reader with `n_outer` levels goes on.
const seer_follow_levels *seer_levels_follow(const seer_levels *levels, uint32_t n_outer);

#endif
