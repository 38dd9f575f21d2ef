// access.h - which element of what does a stage read? Each load of each stage, index by index, as a
// sum over the stage's axes:
//   floor((constant + sum coef[a] * axis a) / div), or the remainder in place of the quotient
// This is the one answer to that question: analysis, sketch rules, regions and nest summaries read
// it. Made once per DAG, by seer_dag_finish, and kept in dag->access: who asks per candidate reads
// it without allocation, from any thread.
// Errors: none; what cannot be said of an index is in its flags.
#ifndef SEER_DAG_ACCESS_H
#define SEER_DAG_ACCESS_H

#include "dag/dag.h"

#define SEER_ACCESS_INPUT UINT8_MAX  // in place of a stage: nobody makes an input

// One index of a load.
typedef struct {
  bool is_affine;  // else constant, coef and moving are zero and say nothing
  // As a region it is the whole dimension: not affine, a remainder, or a sum of too many axes.
  bool is_whole;
  bool is_mod;
  int8_t axis;  // >= 0: the index is this axis, of an extent above 1, and nothing else
  uint16_t span;  // 1; more where a reader has taken several into one: so many neighbours
  uint16_t axes;  // bit a: axis a occurs in the index, whatever becomes of it
  uint16_t moving;  // bit a: coef[a] != 0, and the axis has more than one value
  int32_t div;  // >= 1; known of quotients and remainders that are not affine too
  // 0; else the index is floor(axis / div) * lanes + axis % lanes, of the only axis in `axes`:
  // every so many-th block of `lanes` neighbours
  int32_t lanes;
  int64_t constant;
  int32_t coef[SEER_DAG_MAX_AXES];  // by axis of the reader, of extent 1 too
} seer_access_dim;

// A load by stage `reader`.
typedef struct {
  seer_expr load;
  uint32_t buf;
  uint8_t reader;
  uint8_t maker;  // SEER_ACCESS_INPUT, or the stage that `buf` is a value of
  bool is_guarded;
  uint8_t rank;
  uint32_t first;  // into dim[]
  uint32_t n_times;  // that it stands in the reader's bodies
} seer_access;

typedef struct seer_access_table {
  // All loads, by reader, each once, in the order of its bodies (a load before those in its
  // indices): those of stage s are load[first_load[s] .. first_load[s + 1]).
  uint32_t n_load, n_dim, n_read;
  const seer_access *load;
  const seer_access_dim *dim;
  uint32_t first_load[SEER_DAG_MAX_STAGES + 1];
  // What moves with schedules: the different ways in which stages read values of stages, by maker,
  // then reader. Constant stages are left out on both sides: their values are read like weights.
  const seer_access *read;
  uint32_t first_read[SEER_DAG_MAX_STAGES + 1];  // by maker
  uint64_t readers[SEER_DAG_MAX_STAGES];  // by maker; bit c: stage c reads it
} seer_access_table;

// Of a DAG whose stages all have bodies and is_const. In `arena`.
const seer_access_table *seer_access_build(const seer_dag *dag, seer_arena *arena);
const seer_access_table *seer_access_copy(const seer_access_table *table, seer_arena *arena);

static inline const seer_access_dim *seer_access_index(
    const seer_access_table *table, const seer_access *access, uint32_t d) {
  return &table->dim[access->first + d];
}

// The load `load` of stage `reader`; NULL where it has no such load.
const seer_access *seer_access_find(const seer_dag *dag, uint32_t reader, seer_expr load);

// True if the index is constant + sum coef[a] * axis a: neither quotient nor remainder.
static inline bool seer_access_is_sum(const seer_access_dim *dim) {
  return dim->is_affine && dim->div == 1;
}

// The only axis of the index's sum where its coefficient is 1, of extent 1 too; else -1. Says
// nothing of constant and div.
int seer_access_axis(const seer_access_dim *dim);

// True if every load of `maker`'s values by `reader` has index k = axis k of the reader, unguarded.
bool seer_access_is_elementwise(const seer_dag *dag, uint32_t maker, uint32_t reader);

#endif
