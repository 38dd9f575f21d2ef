// levels.c - the level tables; see levels.h. To add a kind: a table below with its reason, and its
// line in `tables`.
#include "space/sketch/levels.h"

#define S(level, binding) \
  { false, level, SEER_BIND_##binding, 0 }
#define S_WITH(level, with, binding) \
  { false, level, SEER_BIND_##binding, with }
#define R(level) \
  { true, level, SEER_BIND_SERIAL, 0 }

// Ansor's SSRSRS: panels in caches (S0, S1), the reduction in blocks, rows of tiles (S2), and a
// tile in registers.
static const seer_levels cpu = {
    .name = "SSRSRS",
    .n_space = 4,
    .n_reduce = 2,
    .is_vectorised = true,
    .n_loop = 6,
    .loop = {S(0, SERIAL), S(1, SERIAL), R(0), S(2, SERIAL), R(1), S(3, TILE)},
    .n_follow = 2,
    .follow = {{.n_outer = 2, .n_loop = 2, .loop = {S(2, SERIAL), S(3, TILE)}},
        {.n_outer = 1, .n_loop = 2, .loop = {S_WITH(2, 1, SERIAL), S(3, TILE)}}},
};

// Ansor's SSSRRSRS: blocks of the grid (S0), elements of an item that lie far apart (S1, TVM's
// virtual threads), items (S2), and an item's neighbouring elements (S3, S4). The reduction goes in
// steps for which operands are fetched (R0), and those in steps of R1 and R2. R2 stands outside of
// S3: the elements of an item are all unrolled, so that R2 would be there once for each of them.
static const seer_levels gpu = {
    .name = "SSSRRSRS",
    .n_space = 5,
    .n_reduce = 3,
    .n_loop = 8,
    .loop = {S(0, GRID), R(0), S(2, ITEM), R(1), R(2), S(1, TILE), S(3, TILE), S(4, TILE)},
    .n_follow = 1,
    .follow = {{.n_outer = 1, .n_loop = 3, .loop = {S(2, ITEM), S(1, TILE), S_WITH(4, 3, TILE)}}},
};

static const seer_levels *const tables[] = {
    [SEER_TARGET_CPU] = &cpu,
    [SEER_TARGET_CUDA] = &gpu,
    [SEER_TARGET_OPENCL] = &gpu,
};

const seer_levels *seer_levels_of(seer_target_kind kind) {
  SEER_ASSERT(kind < SEER_COUNT_OF(tables) && tables[kind], "kind %d has no levels", (int)kind);
  return tables[kind];
}

const seer_follow_levels *seer_levels_follow(const seer_levels *levels, uint32_t n_outer) {
  for (uint32_t k = 0; k < levels->n_follow; k++) {
    if (levels->follow[k].n_outer == n_outer) return &levels->follow[k];
  }
  SEER_ASSERT(false, "%s has no readers of %u levels", levels->name, n_outer);
  return NULL;
}
