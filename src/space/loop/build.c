// build.c - making loop IR: variables, buffers and nodes are appended to arrays and named by their
// index. Names are made unique as they are added (".1", ".2" behind), because the text form refers
// to things by name.
#include <string.h>

#include "space/loop.h"

seer_loop *seer_loop_create(seer_arena *arena, const char *name) {
  seer_loop *loop = SEER_NEW(arena, seer_loop);
  loop->arena = arena;
  loop->name = seer_arena_strdup(arena, name);
  seer_expr_pool_init(&loop->expr, arena);
  loop->n_node = 1;  // [0] unused
  loop->cap_node = 32;
  loop->node = SEER_NEW_ARRAY(arena, seer_loop_node, loop->cap_node);
  return loop;
}

// Arrays of the loop have 32-bit counts.
#define GROW(loop, type, items, n, cap)                            \
  do {                                                             \
    size_t cap_ = (cap);                                           \
    (items) = SEER_GROW((loop)->arena, type, (items), (n), &cap_); \
    (cap) = (uint32_t)cap_;                                        \
  } while (0)

static bool var_exists(const seer_loop *loop, const char *name) {
  for (uint32_t v = 0; v < loop->n_var; v++) {
    if (strcmp(loop->var[v].name, name) == 0) return true;
  }
  return false;
}

static bool buf_exists(const seer_loop *loop, const char *name) {
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (strcmp(loop->buf[b].name, name) == 0) return true;
  }
  return false;
}

static const char *unique_name(
    seer_loop *loop, const char *name, bool (*exists)(const seer_loop *, const char *)) {
  if (!exists(loop, name)) return seer_arena_strdup(loop->arena, name);
  for (uint32_t k = 1;; k++) {
    const char *tried = seer_arena_printf(loop->arena, "%s.%u", name, k);
    if (!exists(loop, tried)) return tried;
  }
}

uint32_t seer_loop_add_var(seer_loop *loop, const char *name, int64_t low, int64_t high) {
  GROW(loop, seer_loop_var, loop->var, loop->n_var, loop->cap_var);
  const char *unique = unique_name(loop, name, var_exists);
  loop->var[loop->n_var] = (seer_loop_var){.name = unique, .low = low, .high = high};
  return loop->n_var++;
}

uint32_t seer_loop_add_buf(seer_loop *loop, const seer_loop_buf *buf) {
  GROW(loop, seer_loop_buf, loop->buf, loop->n_buf, loop->cap_buf);
  const char *unique = unique_name(loop, buf->name, buf_exists);
  loop->buf[loop->n_buf] = *buf;
  loop->buf[loop->n_buf].name = unique;
  return loop->n_buf++;
}

uint32_t seer_loop_add_node(seer_loop *loop, const seer_loop_node *node) {
  GROW(loop, seer_loop_node, loop->node, loop->n_node, loop->cap_node);
  loop->node[loop->n_node] = *node;
  return loop->n_node++;
}

int64_t seer_loop_phase_parts(const seer_loop *loop, uint32_t phase) {
  int64_t parts = 1;
  uint32_t id = loop->phase[phase];
  while (
      id != 0 && loop->node[id].kind == SEER_NODE_FOR && loop->node[id].ann == SEER_LOOP_PARALLEL) {
    parts *= loop->node[id].extent;
    id = loop->node[id].body;
  }
  return parts;
}

// A row that is a multiple of this many bytes maps all rows to few cache sets: rows get 64 bytes
// more (measured: 14-row tiles fall from 109 to 71-77 GFLOP/s at strides of 4 and 16 KiB).
#define POISON_ROW_BYTES 1024

int64_t seer_loop_local_pitch(seer_dtype dtype, int64_t row_elems, uint32_t vector_bytes) {
  int64_t elem_bytes = seer_dtype_bytes(dtype), lanes = vector_bytes / elem_bytes,
          pitch = row_elems;
  if (lanes > 1 && pitch > lanes) pitch = seer_round_up(pitch, lanes);
  bool is_poison =
      pitch * elem_bytes >= POISON_ROW_BYTES && pitch * elem_bytes % POISON_ROW_BYTES == 0;
  return is_poison ? pitch + 64 / elem_bytes : pitch;
}
