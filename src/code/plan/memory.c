// memory.c - live intervals -> offsets in one arena. Greedy by size: the largest block is placed
// first, each into the smallest gap between already placed blocks that are alive at the same time
// ("greedy by size for offset calculation", Pisarchyk and Lee 2020; within a few per cent of the
// lower bound on convolutional networks).
// Threads work on blocks of neighbouring rows, so the t-th of n threads has the t-th n-th of each
// tensor. Where a line's next tensor is another thread's, it passes from one core's caches to the
// other's (doc/decisions, 55). Tensors whose middles lie at one address hardly differ in that: with
// several threads each block tries the middles of those that are placed already. Of several such
// layouts, and the one of small gaps, that one is taken which moves least for the memory it needs.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "code/plan/internal.h"

// What it may cost that bytes stay with their threads: four more of the arena each, and no more
// than half as many again. Activations are a few MB beside weights of tens and hundreds.
#define GROWTH_COST 0.25
#define MAX_GROWTH 1.5
#define MAX_MIDDLES 16  // that a layout has, of its largest blocks
#define MAX_SHARES 16  // threads that are told apart

typedef struct {
  seer_memory_block *block;
  uint32_t index;
} entry;

static int by_size(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->block->n_bytes != y->block->n_bytes) return x->block->n_bytes > y->block->n_bytes ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static int by_time(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->block->first != y->block->first) return x->block->first < y->block->first ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static uint64_t padded(const seer_memory_block *block) {
  return (uint64_t)seer_round_up((int64_t)block->n_bytes, SEER_PLAN_ALIGN);
}

// ---- whose bytes

// Of the bytes [from, to), which both blocks hold, those whose threads differ.
static uint64_t differing(const seer_memory_block *a, const seer_memory_block *b, uint64_t from,
    uint64_t to, uint32_t n_threads) {
  uint64_t same = 0;
  if (n_threads > MAX_SHARES) n_threads = MAX_SHARES;
  for (uint64_t t = 0; t < n_threads; t++) {
    uint64_t low = from, high = to;
    for (uint32_t k = 0; k < 2; k++) {
      const seer_memory_block *of = k == 0 ? a : b;
      uint64_t first = of->offset + of->n_bytes * t / n_threads,
               end = of->offset + of->n_bytes * (t + 1) / n_threads;
      if (first > low) low = first;
      if (end < high) high = end;
    }
    if (high > low) same += high - low;
  }
  return to - from - same;
}

// ---- two ways to place a block among those that are

// What is asked of a placed block for each one that comes after it, side by side in memory.
typedef struct {
  uint64_t offset, end;  // padded
  uint32_t first, last;
  uint32_t index;
} placed;

typedef struct {
  const seer_memory_block *blocks;
  uint32_t n_threads;
  uint32_t n;
  placed *at;  // by offset
  uint32_t n_middle;
  uint64_t middle[MAX_MIDDLES];  // addresses
} layout;

static bool is_alive_with(const placed *a, const seer_memory_block *b) {
  return a->last >= b->first && a->first <= b->last;
}

// The smallest gap that holds it; else behind all that are alive with it.
static uint64_t smallest_gap(const layout *l, const seer_memory_block *block) {
  uint64_t want = padded(block), end = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
  for (uint32_t k = 0; k < l->n; k++) {
    const placed *other = &l->at[k];
    if (!is_alive_with(other, block)) continue;
    if (other->offset >= end + want && other->offset - end < best_gap) {
      best = end;
      best_gap = other->offset - end;
    }
    if (other->end > end) end = other->end;
  }
  return best != UINT64_MAX ? best : end;
}

static bool is_free(const layout *l, const seer_memory_block *block, uint64_t offset) {
  uint64_t end = offset + padded(block);
  for (uint32_t k = 0; k < l->n && l->at[k].offset < end; k++) {
    if (offset < l->at[k].end && is_alive_with(&l->at[k], block)) return false;
  }
  return true;
}

// Bytes of `block` at `offset` that change threads, against what is placed already: those that have
// the memory shortly before or after count most.
static double moved_there(const layout *l, const seer_memory_block *block, uint64_t offset) {
  seer_memory_block at = *block;
  at.offset = offset;
  double sum = 0;
  uint64_t end = offset + block->n_bytes;
  for (uint32_t k = 0; k < l->n && l->at[k].offset < end; k++) {
    if (l->at[k].end <= offset) continue;
    const seer_memory_block *other = &l->blocks[l->at[k].index];
    uint64_t from = other->offset > offset ? other->offset : offset;
    uint64_t to = other->offset + other->n_bytes;
    if (end < to) to = end;
    if (from >= to) continue;
    uint32_t steps =
        other->last < block->first ? block->first - other->last : other->first - block->last;
    sum += (double)differing(other, &at, from, to, l->n_threads) / steps;
  }
  return sum;
}

static void note_middle(layout *l, const seer_memory_block *block) {
  uint64_t middle = block->offset + padded(block) / 2;
  for (uint32_t k = 0; k < l->n_middle; k++) {
    if (middle < l->middle[k] + SEER_PLAN_ALIGN && l->middle[k] < middle + SEER_PLAN_ALIGN) return;
  }
  if (l->n_middle < MAX_MIDDLES) l->middle[l->n_middle++] = middle;
}

// Around a middle, where that is free: of those the one where the least moves; UINT64_MAX: nowhere.
// Those that have a middle are no smaller: there is room on both sides.
static uint64_t same_middle(const layout *l, const seer_memory_block *block) {
  uint64_t best = UINT64_MAX;
  double least = INFINITY;
  for (uint32_t k = 0; k < l->n_middle; k++) {
    uint64_t offset = (l->middle[k] - padded(block) / 2) / SEER_PLAN_ALIGN * SEER_PLAN_ALIGN;
    if (!is_free(l, block, offset)) continue;
    double moved = moved_there(l, block, offset);
    if (moved >= least) continue;
    best = offset;
    least = moved;
  }
  return best;
}

// Where there is no free middle for a block it goes into the smallest gap; or, if it is larger than
// this share of the arena so far, behind all others, which makes a new middle.
static const double new_middle_above[] = {1, 1.0 / 4, 1.0 / 8, 1.0 / 16, 1.0 / 32};

static uint64_t place(seer_memory_block *blocks, uint32_t n, uint32_t n_threads, bool tries_middles,
    double above, entry *order, placed *room) {
  layout l = {.blocks = blocks, .n_threads = n_threads, .at = room};
  uint64_t total = 0;
  for (uint32_t i = 0; i < n; i++) order[i] = (entry){&blocks[i], i};
  qsort(order, n, sizeof *order, by_size);
  for (; l.n < n; l.n++) {
    seer_memory_block *block = order[l.n].block;
    block->offset = tries_middles ? same_middle(&l, block) : UINT64_MAX;
    if (block->offset == UINT64_MAX)
      block->offset = (double)block->n_bytes > above * (double)total && tries_middles
          ? total
          : smallest_gap(&l, block);
    if (block->offset + padded(block) > total) total = block->offset + padded(block);
    note_middle(&l, block);
    uint32_t at = l.n;
    while (at > 0 && l.at[at - 1].offset > block->offset) at--;
    memmove(&l.at[at + 1], &l.at[at], (l.n - at) * sizeof *l.at);
    l.at[at] = (placed){
        block->offset, block->offset + padded(block), block->first, block->last, order[l.n].index};
  }
  return total;
}

// ---- what changes threads in a run

typedef struct {
  uint64_t from, to;
  const seer_memory_block *block;
} span;

// Who has the arena last.
typedef struct {
  span *spans;  // by address, without overlap; room for two more a block
  uint32_t n;
} owners;

// The first span that ends behind `address`.
static uint32_t first_behind(const owners *o, uint64_t address) {
  uint32_t low = 0, high = o->n;
  while (low < high) {
    uint32_t k = low + (high - low) / 2;
    if (o->spans[k].to > address)
      high = k;
    else
      low = k + 1;
  }
  return low;
}

// `block` becomes the last of its bytes; returns those that were another thread's.
static uint64_t take(owners *o, const seer_memory_block *block, uint32_t n_threads) {
  uint64_t low = block->offset, high = low + block->n_bytes, moved = 0;
  uint32_t first = first_behind(o, low), end = first, n_new = 0;
  span new[3];
  for (; end < o->n && o->spans[end].from < high; end++) {
    const span *s = &o->spans[end];
    uint64_t from = s->from > low ? s->from : low, to = s->to < high ? s->to : high;
    moved += differing(s->block, block, from, to, n_threads);
  }
  if (end > first && o->spans[first].from < low)
    new[n_new++] = (span){o->spans[first].from, low, o->spans[first].block};
  new[n_new++] = (span){low, high, block};
  if (end > first && o->spans[end - 1].to > high)
    new[n_new++] = (span){high, o->spans[end - 1].to, o->spans[end - 1].block};
  memmove(o->spans + first + n_new, o->spans + end, (o->n - end) * sizeof *o->spans);
  memcpy(o->spans + first, new, n_new * sizeof *new);
  o->n = o->n - (end - first) + n_new;
  return moved;
}

uint64_t seer_memory_moved(
    const seer_memory_block *blocks, uint32_t n, uint32_t n_threads, seer_arena *arena) {
  entry *order = SEER_NEW_ARRAY(arena, entry, n + 1);
  // Each begins at a block's first byte or behind its last.
  owners o = {.spans = SEER_NEW_ARRAY(arena, span, 2 * (size_t)n + 2)};
  for (uint32_t i = 0; i < n; i++) order[i] = (entry){(seer_memory_block *)&blocks[i], i};
  qsort(order, n, sizeof *order, by_time);
  uint64_t moved = 0;
  for (uint32_t run = 0; run < 2; run++) {  // the first one finds nobody before it
    moved = 0;
    for (uint32_t i = 0; i < n; i++) moved += take(&o, order[i].block, n_threads);
  }
  return moved;
}

uint64_t seer_memory_place(
    seer_memory_block *blocks, uint32_t n, uint32_t n_threads, seer_arena *arena) {
  entry *order = SEER_NEW_ARRAY(arena, entry, n + 1);
  placed *room = SEER_NEW_ARRAY(arena, placed, n + 1);
  uint64_t total = place(blocks, n, n_threads, false, 1, order, room), least_total = total;
  if (n_threads < 2 || n == 0) return total;
  double least = (double)seer_memory_moved(blocks, n, n_threads, arena);
  seer_memory_block *other = SEER_NEW_ARRAY(arena, seer_memory_block, n);
  for (size_t k = 0; k < SEER_COUNT_OF(new_middle_above); k++) {
    memcpy(other, blocks, n * sizeof *other);
    uint64_t needed = place(other, n, n_threads, true, new_middle_above[k], order, room);
    double more = (double)needed - (double)least_total;
    double cost = (double)seer_memory_moved(other, n, n_threads, arena) + GROWTH_COST * more;
    if (cost >= least || (double)needed > MAX_GROWTH * (double)least_total) continue;
    memcpy(blocks, other, n * sizeof *other);
    total = needed;
    least = cost;
  }
  return total;
}
