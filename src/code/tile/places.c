// places.c - LOCAL buffers that are not in registers get a place in the thread's scratch. Within a
// phase places are never shared, not even by buffers that live one after the other: back ends say
// that different buffers do not overlap.
#include "code/tile/pass.h"

uint64_t seer_tile_reserve(seer_tile *tile, const seer_loop_buf *buf, uint64_t offset) {
  uint64_t n_bytes = (uint64_t)buf->n_elems * seer_dtype_bytes(buf->dtype);
  uint64_t end = (offset + n_bytes + SEER_TILE_ALIGN - 1) / SEER_TILE_ALIGN * SEER_TILE_ALIGN;
  if (end > tile->scratch_bytes) tile->scratch_bytes = end;
  return end;
}

static void place(seer_tile *tile, uint32_t id, uint64_t *top) {
  for (; id != 0; id = tile->loop->node[id].next) {
    const seer_loop_node *node = &tile->loop->node[id];
    if (node->kind == SEER_NODE_FOR) place(tile, node->body, top);
    if (node->kind != SEER_NODE_ALLOC || tile->buf[node->buf[0]].is_register) continue;
    if (tile->loop->buf[node->buf[0]].storage != SEER_STORE_LOCAL) continue;
    tile->buf[node->buf[0]].scratch_offset = *top;
    *top = seer_tile_reserve(tile, &tile->loop->buf[node->buf[0]], *top);
  }
}

static void run(seer_tile *tile) {
  if (tile->needs_sink) tile->scratch_bytes = SEER_TILE_SINK_BYTES;
  for (uint32_t p = 0; p < tile->loop->n_phase; p++) {
    uint64_t top = tile->needs_sink ? SEER_TILE_SINK_BYTES : 0;
    place(tile, tile->loop->phase[p], &top);
  }
}

const seer_tile_pass seer_tile_pass_places = {"places",
    "the other local buffers' places in a thread's scratch",
    SEER_TILE_GIVES_MODES | SEER_TILE_GIVES_REGISTERS, SEER_TILE_GIVES_PLACES, run};
