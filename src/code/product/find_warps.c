// find_warps.c - of a block program, a reduction's innermost loop with the copies inside of it and
// the items around it, as products of warps, where the processor has them (space/warps.h):
//
//   thread @m { thread @n { for @k reduce { unroll ... { sum $s[m, n] = dot2($x[m, k], $y[k, n]) }}}}
//
// What is summed into is an item's own; factors may lie anywhere, as their words are loaded by
// indices: any that an item has, an item in another place has, too.
#include "code/tile/pass.h"

static const seer_loop_node *at(const seer_tile *tile, uint32_t id) {
  return &tile->loop->node[id];
}

static bool is_loop(const seer_tile *tile, uint32_t id) {
  return id != 0 && at(tile, id)->kind == SEER_NODE_FOR;
}

// The loops around `id`, and itself; false: it is not in this block, or too far in.
static bool find_path(const seer_tile *tile, uint32_t block, uint32_t id, seer_tile_warps *out) {
  for (; block != 0; block = at(tile, block)->next) {
    if (!is_loop(tile, block)) continue;
    if (out->n == SEER_TILE_MAX_PATH) return false;
    out->loop[out->n++] = block;
    if (block == id || find_path(tile, at(tile, block)->body, id, out)) return true;
    out->n--;
  }
  return false;
}

// The copies inside of it, and the store that they are all about.
static bool find_copies(const seer_tile *tile, uint32_t id, seer_tile_warps *out) {
  uint32_t below = at(tile, id)->body;
  for (; is_loop(tile, below); below = at(tile, below)->body) {
    bool is_copies = at(tile, below)->ann == SEER_LOOP_UNROLL && at(tile, below)->next == 0 &&
        tile->of[below].mode == SEER_TILE_COPIES;
    if (!is_copies || out->n == SEER_TILE_MAX_PATH) return false;
    out->loop[out->n++] = below;
  }
  out->store = below;
  return below != 0 && at(tile, below)->kind == SEER_NODE_STORE && at(tile, below)->next == 0;
}

static bool find_factors(const seer_tile *tile, seer_tile_warps *out) {
  const seer_loop_node *store = at(tile, out->store);
  if (store->combiner != SEER_COMBINE_SUM || store->n_values != 1 || store->is_init ||
      tile->loop->buf[store->buf[0]].storage != SEER_STORE_PRIVATE)
    return false;
  out->type = seer_warps_type_of_product(&tile->loop->expr, store->value[0], out->factor);
  if (out->type == SEER_WARPS_NONE) return false;
  for (uint32_t k = 0; k < 2; k++) {
    const seer_expr_node *load = seer_tile_at(tile, out->factor[k]);
    if (load->op != SEER_EXPR_LOAD || load->arg[0].i != 0) return false;
  }
  return true;
}

static uint8_t kind_of(
    const seer_tile *tile, const seer_tile_warps *w, uint32_t l, bool *in_items) {
  seer_loop_ann ann = (seer_loop_ann)at(tile, w->loop[l])->ann;
  if (ann == SEER_LOOP_THREAD) {
    *in_items = true;
    return SEER_WARPS_ITEM;
  }
  if (!*in_items) return SEER_WARPS_AROUND;
  return ann == SEER_LOOP_UNROLL ? SEER_WARPS_COPY : SEER_WARPS_STEP;
}

bool seer_tile_warps_of(const seer_tile *tile, uint32_t id, seer_tile_warps *out) {
  seer_warps_loop loop[SEER_TILE_MAX_PATH];
  const seer_loop_node *node = at(tile, id);
  if (!node->is_reduce || node->ann != SEER_LOOP_SERIAL) return false;
  *out = (seer_tile_warps){.n = 0};
  bool is_found = false, in_items = false;
  for (uint32_t p = 0; p < tile->loop->n_phase && !is_found; p++)
    is_found = find_path(tile, tile->loop->phase[p], id, out);
  if (!is_found || !find_copies(tile, id, out) || !find_factors(tile, out)) return false;
  for (uint32_t l = 0; l < out->n; l++) {
    uint32_t var = at(tile, out->loop[l])->var;
    loop[l] = (seer_warps_loop){.extent = at(tile, out->loop[l])->extent,
        .kind = kind_of(tile, out, l, &in_items),
        .is_cut = !tile->of[out->loop[l]].is_exact};
    for (uint32_t k = 0; k < 2; k++)
      loop[l].moves[k] = seer_tile_depends(tile, out->factor[k], var);
  }
  return seer_warps_find(loop, out->n, &out->tile) && out->loop[out->tile.depth] == id;
}

static void look_at(seer_tile *tile, uint32_t id) {
  seer_tile_warps warps;
  for (; id != 0; id = at(tile, id)->next) {
    if (!is_loop(tile, id)) continue;
    if (!seer_tile_warps_of(tile, id, &warps)) {
      look_at(tile, at(tile, id)->body);
      continue;
    }
    tile->of[id].is_of_warps = true;
    tile->of[id].mode = SEER_TILE_LOOP;  // where a bound cuts
    tile->of[id].step = 1;
  }
}

static void run(seer_tile *tile) {
  if (!tile->machine.multiplies_by_warps) return;
  for (uint32_t p = 0; p < tile->loop->n_phase; p++) look_at(tile, tile->loop->phase[p]);
}

const seer_tile_pass seer_tile_pass_warps = {"warps", "loops whose bodies are products of warps",
    SEER_TILE_GIVES_FACTS | SEER_TILE_GIVES_MODES, SEER_TILE_GIVES_WARPS, run};
