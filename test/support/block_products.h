// block_products.h - block programs of products, drawn: tiles of items and of blocks, fetches of 1,
// 2 or 4 elements, rows by stride or side by side, pitches, tails, how much is written out.
#ifndef SEER_TEST_BLOCK_PRODUCTS_H
#define SEER_TEST_BLOCK_PRODUCTS_H

#include "base/rng.h"
#include "space/loop.h"

typedef struct {
  uint32_t rows, columns;  // of items
  uint32_t v, w;  // sums of an item
  uint32_t step;  // of the depth
  uint32_t fetch;  // elements
  uint32_t copies;
  uint32_t pitch;  // of a block's rows, beyond their length
  bool is_strided;  // an item's rows are `rows` apart, else side by side
  bool is_relu;
  int64_t m, n, k;
} block_product;

// 64 to 256 items, at most 64 sums each; grids of 2 by 2 blocks, three steps.
block_product block_product_draw(seer_rng *rng);
seer_loop *block_product_loop(const block_product *product, seer_arena *arena);
// By plain loops: NULL, or where data[2] is not what data[0] and data[1] come to.
const char *block_product_compare(
    const block_product *product, void *const *data, seer_arena *arena);

#endif
