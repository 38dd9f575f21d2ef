// facts.c - what follows from the loops alone, for the passes behind it.
#include "code/tile/pass.h"

static void look_at_bound(seer_tile *tile, const seer_loop_node *node, seer_tile_for *of) {
  int64_t high;
  of->bound_low = node->extent;
  if (node->bound.i != 0 &&
      !seer_expr_range(
          &tile->loop->expr, node->bound, tile->low, tile->high, &of->bound_low, &high))
    of->bound_low = INT64_MIN;
  of->is_exact = of->bound_low >= node->extent;
  tile->needs_sink = tile->needs_sink || !of->is_exact;
}

// writer: by buffer, the stage that stores to it, plus one.
static void look_at_block(seer_tile *tile, uint32_t id, uint32_t *writer) {
  for (; id != 0; id = tile->loop->node[id].next) {
    const seer_loop_node *node = &tile->loop->node[id];
    if (node->kind == SEER_NODE_FOR) {
      look_at_bound(tile, node, &tile->of[id]);
      look_at_block(tile, node->body, writer);
    }
    for (uint32_t k = 0; node->kind == SEER_NODE_STORE && k < node->n_values; k++) {
      uint32_t *known = &writer[node->buf[k]];
      if (*known != 0 && *known != node->stage + 1) tile->buf[node->buf[k]].is_one_writer = false;
      *known = node->stage + 1;
    }
  }
}

void seer_tile_facts(seer_tile *tile) {
  const seer_loop *loop = tile->loop;
  uint32_t *writer = SEER_NEW_ARRAY(tile->arena, uint32_t, loop->n_buf + 1);
  for (uint32_t b = 0; b < loop->n_buf; b++) tile->buf[b].is_one_writer = true;
  for (uint32_t p = 0; p < loop->n_phase; p++) look_at_block(tile, loop->phase[p], writer);
}

const seer_tile_pass seer_tile_pass_facts = {
    "facts", "what follows from the loops alone", 0, SEER_TILE_GIVES_FACTS, seer_tile_facts};
