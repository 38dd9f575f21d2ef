// shadow.c - races within an epoch by the last writer and the last readers of each element. One
// reader is enough to remember beside "several": a writer that is not that one has raced either
// way.
#include "space/items/shadow.h"

#include "base/map.h"

static const char *const texts[SEER_SHADOW_VERDICT_COUNT] = {[SEER_SHADOW_FINE] = "is fine",
    [SEER_SHADOW_UNWRITTEN] = "nothing has been written there",
    [SEER_SHADOW_READ_WRITTEN] = "another item writes it, with no barrier between",
    [SEER_SHADOW_WRITE_READ] = "another item reads it, with no barrier between",
    [SEER_SHADOW_WRITE_TWICE] = "another item writes it, too, with no barrier between",
    [SEER_SHADOW_TWO_OWNERS] = "it is another item's",
    [SEER_SHADOW_NOT_THERE] = "what it stored there is on its way until the next barrier"};

const char *seer_shadow_verdict_text(seer_shadow_verdict verdict) { return texts[verdict]; }

void seer_shadow_clear(seer_shadow *shadow) {
  for (uint64_t k = 0; k < shadow->n; k++) {
    shadow->cell[k] =
        (seer_shadow_cell){.writer = SEER_SHADOW_NOBODY, .reader = SEER_SHADOW_NOBODY};
  }
}

seer_shadow *seer_shadow_of_program(const seer_loop *loop, seer_arena *arena) {
  seer_shadow *all = SEER_NEW_ARRAY(arena, seer_shadow, loop->n_buf + 1);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    seer_loop_storage storage = loop->buf[b].storage;
    bool is_argument = storage == SEER_STORE_OUTPUT || storage == SEER_STORE_SHARED;
    bool is_block = storage == SEER_STORE_WORKGROUP || storage == SEER_STORE_PRIVATE;
    if (!is_argument && !is_block) continue;
    all[b] = (seer_shadow){.n = (uint64_t)loop->buf[b].n_elems,
        .is_private = storage != SEER_STORE_WORKGROUP,
        .is_late = loop->buf[b].is_late,
        .is_argument = is_argument};
    all[b].cell = SEER_NEW_ARRAY(arena, seer_shadow_cell, loop->buf[b].n_elems);
    seer_shadow_clear(&all[b]);
  }
  return all;
}

void seer_shadow_alloc(seer_shadow *shadow) {
  if (shadow->is_private) {
    seer_shadow_clear(shadow);
    return;
  }
  for (uint64_t k = 0; k < shadow->n; k++) shadow->cell[k].is_written = false;
}

// PRIVATE: is it `item`'s? It is from now on, where it was nobody's.
static bool owns(seer_shadow_cell *cell, uint32_t item, uint32_t *out_other) {
  if (cell->writer == SEER_SHADOW_NOBODY) cell->writer = item;
  *out_other = cell->writer;
  return cell->writer == item;
}

seer_shadow_verdict seer_shadow_read(
    seer_shadow *shadow, uint64_t at, uint32_t item, uint64_t epoch, uint32_t *out_other) {
  seer_shadow_cell *cell = &shadow->cell[at];
  if (shadow->is_argument && !cell->is_written) return SEER_SHADOW_FINE;
  if (shadow->is_private && !owns(cell, item, out_other)) return SEER_SHADOW_TWO_OWNERS;
  if (!shadow->is_private && cell->written_at == epoch && cell->writer != item) {
    *out_other = cell->writer;
    return SEER_SHADOW_READ_WRITTEN;
  }
  if (shadow->is_late && cell->written_at == epoch) return SEER_SHADOW_NOT_THERE;
  if (!cell->is_written) return SEER_SHADOW_UNWRITTEN;
  if (shadow->is_private) return SEER_SHADOW_FINE;
  bool is_other = cell->read_at == epoch && cell->reader != item;
  cell->reader = is_other ? SEER_SHADOW_MANY : item;
  cell->read_at = epoch;
  return SEER_SHADOW_FINE;
}

seer_shadow_verdict seer_shadow_write(
    seer_shadow *shadow, uint64_t at, uint32_t item, uint64_t epoch, uint32_t *out_other) {
  seer_shadow_cell *cell = &shadow->cell[at];
  cell->is_written = true;
  if (shadow->is_private)
    return owns(cell, item, out_other) ? SEER_SHADOW_FINE : SEER_SHADOW_TWO_OWNERS;
  if (cell->read_at == epoch && cell->reader != item) {
    *out_other = cell->reader;
    return SEER_SHADOW_WRITE_READ;
  }
  if (cell->written_at == epoch && cell->writer != item) {
    *out_other = cell->writer;
    return SEER_SHADOW_WRITE_TWICE;
  }
  if (shadow->is_late && cell->written_at == epoch) return SEER_SHADOW_NOT_THERE;
  cell->writer = item;
  cell->written_at = epoch;
  return SEER_SHADOW_FINE;
}

uint64_t seer_shadow_hash(const seer_shadow *shadow, uint64_t epoch, uint64_t seed) {
  for (uint64_t k = 0; k < shadow->n; k++) {
    const seer_shadow_cell *cell = &shadow->cell[k];
    bool knows_writer = shadow->is_private || cell->written_at == epoch;
    uint32_t writer = knows_writer ? cell->writer : SEER_SHADOW_NOBODY;
    uint32_t reader = cell->read_at == epoch ? cell->reader : SEER_SHADOW_NOBODY;
    seed =
        seer_hash_u64(((uint64_t)writer << 32 | reader) ^ (uint64_t)cell->is_written << 31, seed);
  }
  return seed;
}
