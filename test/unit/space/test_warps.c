// test_warps.c - which loops are products of warps: the four innermost items columns, a multiple of
// eight rows around them, an even number of copies of both, eight words of a reduction.
#include "space/warps.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define MOST 8

typedef struct {
  const char *what;
  // "i8x": a loop of items that is 8 long and moves the factor x alone; kinds: a(round), i(tem),
  // s(tep), c(opy); factors: x, y, b(oth), n(one); then ! where it may be cut
  const char *loops;
  bool is_one;
  uint32_t rows, depth, x_pair, y_pair;
  int64_t x_patches, y_patches;
} a_case;

static const a_case cases[] = {
    {"a product", "a2x a3y a4b i8x i4y s8b c2x c2y", true, 0, 5, 6, 7, 1, 1},
    {"factors the other way round", "i8y i4x s8b c2x c2y", true, 1, 2, 3, 4, 1, 1},
    {"patches", "i16x i4y s4b s16b c3x c4y c2x c2y", true, 0, 3, 6, 7, 3, 4},
    {"a batch of items", "i2b i8x i4y s8b c2x c2y", true, 0, 3, 4, 5, 1, 1},
    {"rows of two axes", "i2x i4x i4y s8b c2x c2y", true, 0, 3, 4, 5, 1, 1},
    {"columns of two axes, loops of one", "i8x i2y i1x i2y s8b s1b c2x c2y c1y", true, 0, 4, 6, 7,
        1, 1},
    {"24 items of rows", "i3x i8x i4y s8b c2x c2y", true, 0, 3, 4, 5, 1, 1},
    {"steps that are cut", "i8x i4y s8b! c2x c2y", true, 0, 2, 3, 4, 1, 1},
    {"eight columns", "i8x i8y s8b c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"two columns", "i16x i2y s8b c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"twelve rows", "i12x i4y s8b c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"columns around rows", "i4y i8x s8b c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"columns and rows of one factor", "i8x i4x s8b c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"a batch within a warp", "i4x i2b i4y s8b c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"copies of both", "i8x i4y s8b c2b c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"an odd number of rows", "i8x i4y s8b c3x c2y", false, 0, 0, 0, 0, 0, 0},
    {"no copies of columns", "i8x i4y s8b c2x", false, 0, 0, 0, 0, 0, 0},
    {"twelve words", "i8x i4y s12b c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"words of one factor", "i8x i4y s8x c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"no steps", "i8x i4y c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"no items", "s8b c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"columns that are cut", "i8x i4y! s8b c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"rows that are cut", "i8x! i4y s8b c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"items further out that are cut", "i3b! i8x i4y s8b c2x c2y", false, 0, 0, 0, 0, 0, 0},
    {"copies that are cut", "i8x i4y s8b c2x! c2y", false, 0, 0, 0, 0, 0, 0},
};

static uint32_t read_loops(const char *text, seer_warps_loop *out) {
  static const char kinds[] = "aisc", factors[] = "nxyb";
  uint32_t n = 0;
  while (*text) {
    assert_true(n < MOST + 2);
    seer_warps_loop *loop = &out[n++];
    loop->kind = (uint8_t)(strchr(kinds, *text++) - kinds);
    loop->extent = strtol(text, (char **)&text, 10);
    size_t factor = (size_t)(strchr(factors, *text++) - factors);
    loop->moves[0] = factor & 1;
    loop->moves[1] = factor >> 1;
    loop->is_cut = *text == '!';
    text += strspn(text, "! ");
  }
  return n;
}

static void test_find(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    const a_case *c = &cases[k];
    seer_warps_loop loop[MOST + 2];
    seer_warps_tile tile;
    uint32_t n = read_loops(c->loops, loop);
    bool is_one = seer_warps_find(loop, n, &tile);
    if (is_one != c->is_one) fail_msg("%s: %s", c->what, is_one ? "is one" : "is none");
    bool is_right = !is_one ||
        (tile.rows == c->rows && tile.depth == c->depth && tile.pair[0] == c->x_pair &&
            tile.pair[1] == c->y_pair && tile.patches[0] == c->x_patches &&
            tile.patches[1] == c->y_patches);
    if (!is_right)
      fail_msg("%s: rows %u, depth %u, pairs %u, %u, patches %d, %d", c->what, tile.rows,
          tile.depth, tile.pair[0], tile.pair[1], (int)tile.patches[0], (int)tile.patches[1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_find)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
