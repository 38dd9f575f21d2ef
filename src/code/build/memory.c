// memory.c - live intervals -> offsets in one arena. Greedy by size: the largest block is placed
// first, each into the smallest gap between already placed blocks that are alive at the same time
// ("greedy by size for offset calculation", Pisarchyk and Lee 2020; within a few per cent of the
// lower bound on convolutional networks).
#include <stdlib.h>

#include "code/build/internal.h"

typedef struct {
  seer_memory_block *block;
  uint32_t index;
} entry;

static int by_size(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->block->n_bytes != y->block->n_bytes) return x->block->n_bytes > y->block->n_bytes ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

uint64_t seer_memory_place(seer_memory_block *blocks, uint32_t n, seer_arena *arena) {
  entry *order = SEER_NEW_ARRAY(arena, entry, n + 1);
  uint32_t *placed = SEER_NEW_ARRAY(arena, uint32_t, n + 1);  // by offset
  for (uint32_t i = 0; i < n; i++) order[i] = (entry){&blocks[i], i};
  qsort(order, n, sizeof *order, by_size);
  uint64_t total = 0;
  for (uint32_t i = 0; i < n; i++) {
    seer_memory_block *block = order[i].block;
    uint64_t want = (block->n_bytes + SEER_PLAN_ALIGN - 1) / SEER_PLAN_ALIGN * SEER_PLAN_ALIGN;
    uint64_t end = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
    for (uint32_t k = 0; k < i; k++) {
      const seer_memory_block *other = &blocks[placed[k]];
      if (other->last < block->first || other->first > block->last) continue;
      if (other->offset >= end + want && other->offset - end < best_gap) {
        best = end;
        best_gap = other->offset - end;
      }
      uint64_t other_end = other->offset +
          (other->n_bytes + SEER_PLAN_ALIGN - 1) / SEER_PLAN_ALIGN * SEER_PLAN_ALIGN;
      if (other_end > end) end = other_end;
    }
    block->offset = best != UINT64_MAX ? best : end;
    if (block->offset + want > total) total = block->offset + want;
    uint32_t at = i;
    while (at > 0 && blocks[placed[at - 1]].offset > block->offset) {
      placed[at] = placed[at - 1];
      at--;
    }
    placed[at] = order[i].index;
  }
  return total;
}
