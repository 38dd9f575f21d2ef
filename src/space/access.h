// access.h - which stage reads which, and through which affine indices: the facts of a sketch's DAG
// that regions and locations are computed from. Made once per sketch; everything per candidate
// reads it without allocation.
#ifndef SEER_SPACE_ACCESS_H
#define SEER_SPACE_ACCESS_H

#include "dag/dag.h"

typedef struct {
  uint8_t axis;  // of the reader
  int32_t coef;
} seer_access_term;

typedef struct {
  bool is_whole;  // not affine, or too many terms: the whole dimension counts as read
  uint8_t n;
  uint16_t first;  // into term[]
  int64_t constant;
  int64_t div;  // the index is the sum divided by this, rounded down
} seer_access_dim;

// One distinct way in which stage `reader` reads stage `maker`.
typedef struct {
  uint8_t reader, maker;
  bool is_guarded;
  uint8_t rank;
  uint16_t first;  // into dim[]
} seer_access;

typedef struct seer_access_table {
  uint32_t n_access, n_dim, n_term;
  const seer_access *access;  // by maker, then reader
  const seer_access_dim *dim;
  const seer_access_term *term;
  // accesses of maker s: [first_of[s], first_of[s + 1])
  uint16_t first_of[SEER_DAG_MAX_STAGES + 1];
  uint64_t readers[SEER_DAG_MAX_STAGES];  // bit c: stage c reads s
} seer_access_table;

// Loads of constant stages' values, and loads by constant stages, are left out: they are read like
// weights.
const seer_access_table *seer_access_build(const seer_dag *dag, seer_arena *arena);

// True if every load of `maker`'s values by `reader` has index k = axis k of the reader, unguarded.
bool seer_access_is_elementwise(
    const seer_access_table *table, const seer_dag *dag, uint32_t maker, uint32_t reader);

#endif
