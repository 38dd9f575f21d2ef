// series.c - copies of plain stores: unrolled loops of exp, tanh, erf and the like that are loops
// after all, whose statements take turns, and which stand inside of a loop over their vectors.
//
// What a series of a polynomial needs is some forty instructions, constants and all, of eight bytes
// and more: many copies are code that takes long to compile and is no faster. Copies are worth it
// where they choose registers, and up to what hides latencies. Measured: doc/decisions, 85.
#include "code/tile/pass.h"

// Vectors of series in a loop's body.
#define MAX_SERIES 4

typedef struct {
  seer_tile *tile;
  int64_t n;
} count;

static void count_series(void *user, seer_expr e) {
  count *c = user;
  c->n += seer_expr_op_cost((seer_expr_op)seer_tile_at(c->tile, e)->op) == SEER_COST_SERIES;
}

// Of one time through the block; -1 where it sums up or holds a loop that stays.
static int64_t series_of(seer_tile *tile, uint32_t id) {
  count c = {.tile = tile};
  for (; id != 0; id = tile->loop->node[id].next) {
    const seer_loop_node *node = &tile->loop->node[id];
    if (node->kind == SEER_NODE_FOR) {
      const seer_tile_for *of = &tile->of[id];
      int64_t inner = series_of(tile, node->body);
      if (inner < 0 || of->mode == SEER_TILE_LOOP || of->is_chunk_loop) return -1;
      bool is_lanes = of->mode == SEER_TILE_LANES;
      c.n += inner * (is_lanes ? seer_ceil_div(node->extent, of->lanes) : node->extent);
      continue;
    }
    if (node->combiner != SEER_COMBINE_NONE) return -1;
    for (uint32_t k = 0; k < node->n_values; k++)
      seer_expr_visit(&tile->loop->expr, node->value[k], count_series, &c);
  }
  return c.n;
}

// So many copies, as many as divide the loop, are left.
static void make_loop(seer_tile *tile, uint32_t id, int64_t copies) {
  const seer_loop_node *node = &tile->loop->node[id];
  while (copies > 1 && node->extent % copies != 0) copies--;
  tile->of[id].mode = SEER_TILE_LOOP;
  tile->of[id].step = (uint16_t)seer_max_i64(copies, 1);
}

// Loops of plain stores and nothing that stays a loop inside, the outermost of each.
static void find_turns(seer_tile *tile, uint32_t id) {
  for (; id != 0; id = tile->loop->node[id].next) {
    const seer_loop_node *node = &tile->loop->node[id];
    seer_tile_for *of = &tile->of[id];
    if (node->kind != SEER_NODE_FOR) continue;
    bool is_one = of->mode == SEER_TILE_LOOP && of->step == 1;
    of->takes_turns = !is_one && !of->is_chunk_loop && series_of(tile, node->body) > 0;
    if (!of->takes_turns) find_turns(tile, node->body);
  }
}

// ---- copies inside of a loop over vectors

uint32_t seer_tile_vectors_of(seer_tile *tile, uint32_t id) {
  const seer_loop_node *node = &tile->loop->node[id];
  for (; node->ann == SEER_LOOP_UNROLL; node = &tile->loop->node[id]) {
    const seer_loop_node *body = &tile->loop->node[node->body];
    if (tile->of[id].mode != SEER_TILE_COPIES || body->kind != SEER_NODE_FOR || body->next != 0)
      return 0;
    id = node->body;
  }
  const seer_tile_for *of = &tile->of[id];
  if (of->mode != SEER_TILE_LANES || of->is_chunk_loop || of->lanes < 2 ||
      node->extent <= of->lanes)
    return 0;
  for (uint32_t at = node->body; at != 0; at = tile->loop->node[at].next) {
    const seer_loop_node *store = &tile->loop->node[at];
    if (store->kind != SEER_NODE_STORE || store->combiner != SEER_COMBINE_NONE) return 0;
  }
  return seer_tile_chooses_register(tile, node->body, node->var) ? 0 : id;
}

static void find_interchanged(seer_tile *tile, uint32_t id) {
  for (; id != 0; id = tile->loop->node[id].next) {
    const seer_loop_node *node = &tile->loop->node[id];
    if (node->kind != SEER_NODE_FOR) continue;
    uint32_t vectors = node->ann == SEER_LOOP_UNROLL ? seer_tile_vectors_of(tile, id) : 0;
    int64_t copies = 1;
    for (uint32_t at = id; vectors != 0 && at != vectors; at = tile->loop->node[at].body)
      copies *= tile->loop->node[at].extent;
    tile->of[id].is_interchanged = copies >= SEER_TILE_MIN_INTERCHANGED;
    if (vectors == 0) find_interchanged(tile, node->body);
  }
}

static void run(seer_tile *tile) {
  for (uint32_t id = 1; id < tile->loop->n_node; id++) {
    const seer_loop_node *node = &tile->loop->node[id];
    const seer_tile_for *of = &tile->of[id];
    if (node->kind != SEER_NODE_FOR || node->ann != SEER_LOOP_UNROLL ||
        of->mode != SEER_TILE_COPIES || !of->is_exact)
      continue;
    int64_t inner = series_of(tile, node->body);  // of loops that stay: none
    if (inner <= 0 || inner * node->extent <= MAX_SERIES) continue;
    if (!seer_tile_chooses_register(tile, node->body, node->var))
      make_loop(tile, id, MAX_SERIES / inner);
  }
  for (uint32_t p = 0; p < tile->loop->n_phase; p++) {
    find_turns(tile, tile->loop->phase[p]);
    find_interchanged(tile, tile->loop->phase[p]);
  }
}

const seer_tile_pass seer_tile_pass_series = {"series",
    "copies of plain stores: loops of series after all, by turns, inside of vectors",
    SEER_TILE_GIVES_MODES | SEER_TILE_GIVES_REGISTERS, 0, run};
