// warps.h - register tiles that are products of warps (MMA of vector code): which loops of a block
// program make one. Decided here alone: for sketches and checks, which reckon with it before
// anything is lowered, for the models, and for tile IR, of which code is generated.
//
// A warp's 32 items multiply patches of 16 rows and 8 columns, words of 8 steps of a reduction at a
// time. Loop IR knows nothing of it: every item adds up its own elements, a patch's are those of
// the warp's items together. As item 4g + t of the instruction has rows g, g + 8 and columns 2t,
// 2t + 1, an item has two of the tile's rows and two of its columns in each patch; which two does
// not matter, nor which words of the reduction are taken together, as long as both factors' are
// the same. So the innermost items, four of them, are columns, the next ones, a multiple of eight,
// are rows, and of the copies inside of each item one loop of rows and one of columns are taken in
// twos.
#ifndef SEER_SPACE_WARPS_H
#define SEER_SPACE_WARPS_H

#include "dag/access.h"
#include "setup/target.h"

#define SEER_WARPS_ITEMS 32
#define SEER_WARPS_COLUMN_ITEMS 4  // neighbouring items
#define SEER_WARPS_ROW_ITEMS 8
#define SEER_WARPS_WORDS 8  // of the reduction, of one product
#define SEER_WARPS_X_WORDS 4  // of a patch's rows that an item holds, and of its columns
#define SEER_WARPS_Y_WORDS 2
#define SEER_WARPS_SUMS 4  // of an item in a patch
#define SEER_WARPS_WRITTEN 4  // products of a patch, one after another, that code has no loop for

// Which types the words of a stage's product have: two halves, or an f32 that the product rounds to
// TF32. NONE: it is none that warps multiply, or the target has no such instruction.
typedef enum { SEER_WARPS_NONE, SEER_WARPS_BF16, SEER_WARPS_F16, SEER_WARPS_TF32 } seer_warps_type;

// Whether a node is a product of two numbers that are rounded to TF32.
bool seer_warps_is_of_tf32(const seer_expr_pool *pool, const seer_expr_node *product);
// Of an expression by itself: dot2(a, b), dot2_f16(a, b), tf32(a) * tf32(b).
//   out_factor  a and b: words
seer_warps_type seer_warps_type_of_product(
    const seer_expr_pool *pool, seer_expr product, seer_expr out_factor[2]);
// Of what `stage` sums up: products of two words that are loads of their own, without guards.
//   out_axes  of each factor: bit a, it moves with the stage's axis a
seer_warps_type seer_warps_type_of(
    const seer_dag *dag, uint32_t stage, const seer_target *target, uint32_t out_axes[2]);

typedef enum {
  SEER_WARPS_AROUND,  // the same for all items of a block
  SEER_WARPS_ITEM,
  SEER_WARPS_STEP,  // of the reduction, inside of the items'
  SEER_WARPS_COPY  // written out
} seer_warps_kind;

// A loop around the sum, outermost first.
typedef struct {
  int64_t extent;
  uint8_t kind;  // seer_warps_kind
  bool moves[2];  // the factors
  bool is_cut;  // it may be shorter; of steps it does not matter
} seer_warps_loop;

typedef struct {
  uint8_t rows;  // which factor has the rows
  uint32_t depth;  // the innermost loop of steps: of words
  // The innermost loops of an even number of copies of rows, and of columns: taken in twos.
  uint32_t pair[2];  // by factor
  int64_t patches[2];  // of an item, by factor
} seer_warps_tile;

// False: the loops make none. What it takes of the factors is for the caller to know.
bool seer_warps_find(const seer_warps_loop *loop, uint32_t n, seer_warps_tile *out);

#endif
