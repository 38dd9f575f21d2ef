// items.c - block programs: the code of an item. Variables of THREAD loops are made of its number
// once, in front of all nests; a nest that has fewer items than the block, or whose loops are cut,
// stands in WHENs. Nothing outside of nests depends on the item, so that all come to the barriers.
#include "space/items/items.h"

#include "code/gen/gen.h"

// The variable of a THREAD loop as a value: equal ones are one.
static seer_vec item_var(seer_gen *g, int64_t divisor, int64_t extent) {
  for (uint32_t k = 0; k < g->n_item_var; k++) {
    const seer_gen_item_var *known = &g->item_var[k];
    if (known->divisor == divisor && known->extent == extent) return known->value;
  }
  seer_vec v = g->item;
  if (divisor > 1) v = seer_vec2(g->b, SEER_VEC_UDIV, v, seer_gen_const_i64(g, divisor));
  if (divisor * extent < g->n_items)
    v = seer_vec2(g->b, SEER_VEC_UREM, v, seer_gen_const_i64(g, extent));
  if (g->n_item_var == SEER_GEN_MAX_ITEM_VARS) {
    SEER_GEN_FAIL(
        g, UNSUPPORTED, "more than %d different variables of THREAD loops", SEER_GEN_MAX_ITEM_VARS);
    return v;
  }
  g->item_var[g->n_item_var++] = (seer_gen_item_var){divisor, extent, v};
  return v;
}

static void bind_nest(seer_gen *g, uint32_t id) {
  seer_items items = seer_items_of(g->loop, id);
  int64_t divisor = 1;
  for (uint32_t k = items.n; k-- > 0;) {
    const seer_loop_node *node = &g->loop->node[items.loop[k]];
    if (node->extent == 1)
      seer_gen_bind_var(g, node->var, SEER_GEN_CONST, 0, SEER_GEN_NONE);
    else
      seer_gen_bind_var(g, node->var, SEER_GEN_VALUE, 0, item_var(g, divisor, node->extent));
    divisor *= node->extent;
  }
}

static void bind_nests(seer_gen *g, uint32_t id) {
  for (; id != 0; id = g->loop->node[id].next) {
    const seer_loop_node *node = &g->loop->node[id];
    if (node->kind != SEER_NODE_FOR) continue;
    if (node->ann == SEER_LOOP_THREAD)
      bind_nest(g, id);
    else
      bind_nests(g, node->body);
  }
}

static void check_buffers(seer_gen *g) {
  for (uint32_t b = 0; b < g->loop->n_buf; b++) {
    const seer_loop_buf *buf = &g->loop->buf[b];
    g->buf[b].owner = NULL;
    bool is_own = buf->storage == SEER_STORE_PRIVATE || buf->storage == SEER_STORE_LOCAL;
    if (!is_own || g->tile->buf[b].is_register) continue;
    SEER_GEN_FAIL(g, UNSUPPORTED,
        "$%s is an item's, and its places are not known when code is made: an item has registers "
        "and no memory",
        buf->name);
  }
}

void seer_gen_items_begin(seer_gen *g, uint32_t phase) {
  g->n_items = seer_items_of_phase(g->loop, phase);
  g->n_item_var = 0;
  g->in_nest = false;
  if (g->n_items == 0) return;
  check_buffers(g);
  g->item = seer_vec_item(g->b);
  bind_nests(g, g->loop->phase[phase]);
}

// ---- nests

static void begin_when(seer_gen *g, seer_vec cond) {
  seer_vec_begin_when(g->b, cond);
  seer_gen_memo_push(g);
}

static void end_when(seer_gen *g) {
  seer_gen_memo_pop(g);
  seer_vec_end(g->b);
}

seer_gen_open_nest seer_gen_begin_nest(seer_gen *g, uint32_t id) {
  seer_items items = seer_items_of(g->loop, id);
  seer_gen_open_nest nest = {.body = items.body, .n_loop = items.n};
  bind_nest(g, id);
  if (items.n_items < g->n_items) {
    begin_when(g, seer_vec2(g->b, SEER_VEC_ULT, g->item, seer_gen_const_i64(g, items.n_items)));
    nest.n_when++;
  }
  for (uint32_t k = 0; k < items.n; k++) {
    const seer_loop_node *node = &g->loop->node[items.loop[k]];
    seer_gen_open_loop(g, items.loop[k], node->extent, false);
    if (!seer_gen_cuts(g, items.loop[k])) continue;
    seer_vec i = node->extent == 1 ? seer_gen_const_i64(g, 0) : g->var[node->var].value;
    begin_when(g, seer_vec2(g->b, SEER_VEC_SLT, i, seer_gen_expr(g, node->bound).v));
    nest.n_when++;
  }
  g->in_nest = true;
  return nest;
}

void seer_gen_end_nest(seer_gen *g, const seer_gen_open_nest *nest) {
  g->in_nest = false;
  for (uint32_t k = 0; k < nest->n_when; k++) end_when(g);
  g->n_open -= nest->n_loop;
}
