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

// Into how many, all alike, a side is cut: rows and columns of the last may be some of the one
// before once more, which comes to the same sums.
static inline int64_t seer_matrix_count(int64_t side) {
  return seer_ceil_div(side, SEER_MATRIX_SIDE);
}
static inline int64_t seer_matrix_length(int64_t side) {
  return seer_ceil_div(side, seer_matrix_count(side));
}
// The same of the depth, of which no part may count twice; 0: it can't be cut.
static inline int64_t seer_matrix_cut(int64_t depth) {
  int64_t n = seer_matrix_count(depth);
  return depth % n == 0 ? n : 0;
}

typedef struct {
  int64_t x, y;  // matrices of rows, and of columns; x * y are summed into
  int64_t longest, others;  // rows: of the loop that is cut, and copies of it
} seer_matrix_tile;

static inline seer_matrix_tile seer_matrix_begin(int64_t columns) {
  return (seer_matrix_tile){1, seer_matrix_count(columns), 1, 1};
}
// One more loop of rows, outermost first.
void seer_matrix_add_rows(seer_matrix_tile *tile, int64_t extent);
// Whether a tile is products of matrices whose depth is `n` rows of `row` words each, and is cut
// between rows. The words of one loop are rows of 1.
static inline bool seer_matrix_fits(const seer_matrix_tile *tile, int64_t n, int64_t row) {
  int64_t depth = n * row, cut = seer_matrix_cut(depth);
  return tile->longest >= SEER_MATRIX_MIN_ROWS && depth >= SEER_MATRIX_MIN_DEPTH &&
      tile->x * tile->y <= SEER_MATRIX_MAX_SUMS && cut > 0 && depth / cut % row == 0;
}

// How words along the reduction lie in the factor that has the rows of what `stage` sums up.
typedef enum {
  SEER_MATRIX_NONE,  // the target has no such product, or they lie apart
  SEER_MATRIX_AXIS,  // along the last axis they are neighbours
  // As before, all of it is a row of memory, and the axis before it goes on with the next row: the
  // loops over both are one.
  SEER_MATRIX_TWO_AXES
} seer_matrix_depth;
// In the order in which the stage's axes lie; the other factor has to move with the last other
// axis.
seer_matrix_depth seer_matrix_depth_of(
    const seer_dag *dag, uint32_t stage, const seer_target *target);

#endif
