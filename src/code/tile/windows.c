// windows.c - unrolled windows that must not share their loads.
// Iterations of an unrolled window (3x3 neighbours) read some of the same elements. A compiler
// loads each of them once and keeps it, which is right while registers last: when the accumulators
// fill most of them, it stores the shared elements to the stack and loads them again from there. A
// multiply-add takes an operand from memory for nothing, so then each iteration loads what it
// needs: a fence between the iterations hides that these loads are the same.
// Measured (AVX2, 16 registers, depthwise 3x3): with 12 and 14 accumulators 10 to 35 % faster, with
// 10 the same, with 8 up to 10 % slower.
#include "code/tile/pass.h"

typedef struct {
  seer_tile *tile;
  uint32_t window;  // variable of the reduction loop
  uint32_t n_tile, var[16];  // of the copies below it that are no reductions
  int64_t accumulators;  // vectors
  bool shares;
} look;

// One index moves with the window and with the tile: neighbours of the tile read the same element.
static void look_at_load(void *user, seer_expr load) {
  look *l = user;
  const seer_expr_node *node = seer_tile_at(l->tile, load);
  for (uint32_t k = 0; k < node->n_index; k++) {
    seer_expr index = l->tile->loop->expr.index[node->index0 + k];
    if (!seer_tile_depends(l->tile, index, l->window)) continue;
    for (uint32_t t = 0; t < l->n_tile; t++)
      l->shares = l->shares || seer_tile_depends(l->tile, index, l->var[t]);
  }
}

static void look_below(look *l, uint32_t id, int64_t copies) {
  for (; id != 0; id = l->tile->loop->node[id].next) {
    const seer_loop_node *node = &l->tile->loop->node[id];
    const seer_tile_for *of = &l->tile->of[id];
    if (node->kind == SEER_NODE_STORE && node->combiner != SEER_COMBINE_NONE) {
      l->accumulators += copies * node->n_values;
      for (uint32_t k = 0; k < node->n_values; k++)
        seer_tile_visit_loads(l->tile, node->value[k], look_at_load, l);
    }
    if (node->kind != SEER_NODE_FOR) continue;
    if (node->is_reduce || of->mode == SEER_TILE_LOOP) {
      look_below(l, node->body, copies);
      continue;
    }
    bool is_lanes = of->mode == SEER_TILE_LANES;
    bool is_known = !is_lanes && l->n_tile < SEER_COUNT_OF(l->var);
    if (is_known) l->var[l->n_tile++] = node->var;
    int64_t times = is_lanes ? seer_ceil_div(node->extent, of->lanes) : node->extent;
    look_below(l, node->body, copies * times);
    if (is_known) l->n_tile--;
  }
}

static bool is_tight(seer_tile *tile, uint32_t id) {
  const seer_loop_node *node = &tile->loop->node[id];
  if (!node->is_reduce) return false;
  if (tile->of[id].mode != SEER_TILE_COPIES && tile->of[id].step <= 1) return false;
  look l = {.tile = tile, .window = node->var};
  look_below(&l, node->body, 1);
  return l.shares && 4 * l.accumulators >= 3 * (int64_t)tile->machine.n_vector_registers;
}

static void run(seer_tile *tile) {
  for (uint32_t id = 1; id < tile->loop->n_node; id++) {
    const seer_loop_node *node = &tile->loop->node[id];
    if (node->kind == SEER_NODE_FOR && node->ann == SEER_LOOP_SERIAL)
      tile->of[id].is_tight = is_tight(tile, id);
  }
}

const seer_tile_pass seer_tile_pass_windows = {"windows",
    "unrolled windows that must not share their loads", SEER_TILE_GIVES_MODES,
    SEER_TILE_GIVES_WINDOWS, run};
