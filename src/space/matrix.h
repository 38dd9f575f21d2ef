// matrix.h - register tiles that are products of matrices: what a processor's instruction takes,
// and how many of them a tile comes to. Decided here alone: by sketches and checks, which reckon
// with it before anything is lowered, by the models, and by tile IR, which generates it.
//
// A reduction's innermost loop (depth), copies of rows, and lanes (columns); a matrix has up to
// SEER_MATRIX_SIDE of each, and all of a tile are alike: to give registers other shapes takes as
// long as twelve products. The longest of the loops of rows is cut into matrices, each copy of the
// others has its own.
#ifndef SEER_SPACE_MATRIX_H
#define SEER_SPACE_MATRIX_H

#include "dag/access.h"
#include "setup/target.h"

#define SEER_MATRIX_SIDE 16  // rows, columns, words of depth
#define SEER_MATRIX_MAX_SUMS 6  // matrices of sums at a time: there are eight registers
// With fewer rows, or less depth, the instruction has little to do: it takes as long as with all.
#define SEER_MATRIX_MIN_ROWS 4
#define SEER_MATRIX_MIN_DEPTH 4

typedef struct {
  int64_t columns;
  int64_t x, y;  // matrices of rows, and of columns; x * y are summed into
  int64_t longest, others;  // rows: of the loop that is cut, and copies of it
} seer_matrix_tile;

static inline seer_matrix_tile seer_matrix_begin(int64_t columns) {
  return (seer_matrix_tile){columns, 1, seer_ceil_div(columns, SEER_MATRIX_SIDE), 1, 1};
}
// One more loop of rows, outermost first.
void seer_matrix_add_rows(seer_matrix_tile *tile, int64_t extent);
// Into how many of at most SEER_MATRIX_SIDE a side of a matrix is cut, all of them equal; 0: it
// can't be.
static inline int64_t seer_matrix_cut(int64_t side) {
  int64_t n = seer_ceil_div(side, SEER_MATRIX_SIDE);
  return side % n == 0 ? n : 0;
}
static inline bool seer_matrix_fits(const seer_matrix_tile *tile, int64_t depth) {
  return tile->longest >= SEER_MATRIX_MIN_ROWS && depth >= SEER_MATRIX_MIN_DEPTH &&
      tile->x * tile->y <= SEER_MATRIX_MAX_SUMS && seer_matrix_cut(tile->longest) > 0 &&
      seer_matrix_cut(tile->columns) > 0 && seer_matrix_cut(depth) > 0;
}

// Whether the target multiplies matrices of what `stage` sums up, in the order in which its axes
// lie: words along the last reduction axis are neighbours in one factor, and the other moves with
// the last other axis, and not with those before it that the first moves with.
bool seer_matrix_is_product(const seer_dag *dag, uint32_t stage, const seer_target *target);

#endif
