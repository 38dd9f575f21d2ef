// places.c - LOCAL buffers that are not in registers get a place in the thread's scratch. Places
// are never shared, not even by buffers that live one after the other: back ends say that different
// buffers do not overlap.
#include "code/tile/pass.h"

// For stores without a valid place: a full vector of any processor.
#define SINK_BYTES 256

static bool any_cut(const seer_tile *tile) {
  for (uint32_t id = 1; id < tile->loop->n_node; id++) {
    if (tile->loop->node[id].kind == SEER_NODE_FOR && !tile->of[id].is_exact) return true;
  }
  return false;
}

static void place(seer_tile *tile, uint32_t id, uint64_t *top) {
  for (; id != 0; id = tile->loop->node[id].next) {
    const seer_loop_node *node = &tile->loop->node[id];
    if (node->kind == SEER_NODE_FOR) place(tile, node->body, top);
    if (node->kind != SEER_NODE_ALLOC || tile->buf[node->buf[0]].is_register) continue;
    const seer_loop_buf *decl = &tile->loop->buf[node->buf[0]];
    tile->buf[node->buf[0]].scratch_offset = *top;
    *top = (*top + (uint64_t)decl->n_elems * seer_dtype_bytes(decl->dtype) + 63) & ~UINT64_C(63);
  }
}

void seer_tile_places(seer_tile *tile) {
  tile->needs_sink = any_cut(tile);
  for (uint32_t p = 0; p < tile->loop->n_phase; p++) {
    uint64_t top = tile->needs_sink ? SINK_BYTES : 0;
    place(tile, tile->loop->phase[p], &top);
    if (top > tile->scratch_bytes) tile->scratch_bytes = top;
  }
}
