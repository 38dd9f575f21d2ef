// accumulators.c - the targets of a reduction are loaded before its outermost loop, stay in
// registers over all of its loops and are stored once behind them.
//
// From a loop that the target's address does not depend on, the way down to the one store must be a
// chain; the loops on it whose variables are in the address must be copies or lanes: they give the
// slots, a variable each. A VECTOR loop that is not in the address gives lane-wise partial results,
// which start at the combiner's identity and are combined across the lanes behind the loops.
#include <string.h>

#include "code/gen/gen.h"

// ---- what a store combines

void seer_gen_active_of(
    seer_gen *g, const seer_loop_node *store, bool is_lane_in_address, seer_gen_active *out) {
  memset(out, 0, sizeof(*out));
  for (uint32_t k = 0; k < g->n_pred; k++) {
    const seer_gen_pred *p = &g->pred[k];
    out->uniform = seer_gen_and(g, out->uniform, p->cond);
    if (p->var == SEER_GEN_NO_VAR ||
        !seer_tile_index_depends(g->tile, store->index, store->n_index, p->var)) {
      out->reduce_uniform = seer_gen_and(g, out->reduce_uniform, p->cond);
    }
  }
  out->mask = g->lane_mask;
  if (!is_lane_in_address) out->reduce_mask = g->lane_mask;
}

// What adds a product of two and a third in one instruction; UNDEF: the store's value is none.
static seer_vec_op sum_of_products(const seer_gen *g, const seer_loop_node *store) {
  if (store->combiner != SEER_COMBINE_SUM || store->n_values != 1) return SEER_VEC_UNDEF;
  const seer_expr_node *product = seer_tile_at(g->tile, store->value[0]);
  if (product->op == SEER_EXPR_DOT4) return SEER_VEC_DOT4;
  if (product->op == SEER_EXPR_DOT2) return SEER_VEC_DOT2;
  bool is_float = seer_dtype_is_float(g->loop->buf[store->buf[0]].dtype);
  return product->op == SEER_EXPR_MUL && is_float ? SEER_VEC_FMULADD : SEER_VEC_UNDEF;
}

void seer_gen_accumulate(
    seer_gen *g, const seer_loop_node *store, uint32_t lanes, seer_vec cond, seer_vec *acc) {
  seer_vec value[SEER_DAG_MAX_VALUES], old[SEER_DAG_MAX_VALUES];
  seer_dtype dtype[SEER_DAG_MAX_VALUES];
  memcpy(old, acc, sizeof(old));
  for (uint32_t k = 0; k < store->n_values; k++) dtype[k] = g->loop->buf[store->buf[k]].dtype;
  const seer_expr_node *product = seer_tile_at(g->tile, store->value[0]);
  seer_vec_op both = sum_of_products(g, store);
  bool is_of_f16 = store->combiner == SEER_COMBINE_SUM && store->n_values == 1 &&
      product->op == SEER_EXPR_DOT2_F16;
  g->is_in_sum = store->combiner == SEER_COMBINE_SUM;
  if (both != SEER_VEC_UNDEF || is_of_f16) {
    seer_vec args[2] = {seer_gen_expr(g, product->arg[0]).v, seer_gen_expr(g, product->arg[1]).v};
    for (uint32_t k = 0; k < 2; k++) {
      if (seer_gen_width(g, args[k]) != lanes) args[k] = seer_gen_splat(g, args[k], lanes);
    }
    acc[0] = is_of_f16 ? seer_gen_dot2_f16(g, args[0], args[1], acc[0])
                       : seer_vec3(g->b, both, args[0], args[1], acc[0]);
  } else {
    for (uint32_t k = 0; k < store->n_values; k++) {
      value[k] = seer_gen_expr(g, store->value[k]).v;
      if (seer_gen_width(g, value[k]) != lanes) value[k] = seer_gen_splat(g, value[k], lanes);
    }
    seer_gen_combine(g, store->combiner, dtype, store->n_values, acc, value);
  }
  g->is_in_sum = false;
  if (cond.i == 0) return;
  for (uint32_t k = 0; k < store->n_values; k++) acc[k] = seer_gen_select(g, cond, acc[k], old[k]);
}

void seer_gen_horizontal(
    seer_gen *g, seer_combiner combiner, const seer_dtype *dtype, uint32_t n, seer_vec *acc) {
  for (uint32_t width = seer_gen_width(g, acc[0]); width > 1; width /= 2) {
    seer_vec half[SEER_DAG_MAX_VALUES];
    for (uint32_t k = 0; k < n; k++) {
      seer_vec v = acc[k];
      acc[k] = seer_vec_half(g->b, v, false);
      half[k] = seer_vec_half(g->b, v, true);
    }
    seer_gen_combine(g, combiner, dtype, n, acc, half);
  }
}

// ---- the way from a loop to its store

typedef struct walk walk;
struct walk {
  seer_gen *g;
  seer_gen_accumulators *accumulators;
  const seer_loop_node *store;
  uint32_t id;  // where we are in the chain
  void (*at_store)(walk *w);
  bool is_refused;
};

static bool in_address(const seer_gen *g, const seer_loop_node *store, uint32_t var) {
  return seer_tile_index_depends(g->tile, store->index, store->n_index, var);
}

static void step_into(walk *w);

static void step_copy(void *user) {
  walk *w = user;
  uint32_t id = w->id;
  w->id = w->g->loop->node[id].body;
  step_into(w);
  w->id = id;
}

// The partial results of a VECTOR loop: one slot for each vector of its body (a loop of vectors
// shares one).
static void step_partial(walk *w, uint32_t id) {
  seer_gen *g = w->g;
  const seer_tile_for *plan = &g->tile->of[id];
  int64_t at = 0, extent = g->now[id].trip;
  uint32_t old_lanes = g->lanes;
  g->chunk = 0;
  if (plan->is_chunk_loop) {
    g->lanes = plan->lanes;
    g->tick++;
    step_copy(w);
    g->chunk = 1;
    at = extent / plan->lanes * plan->lanes;
  }
  for (; at < extent; g->chunk++) {
    g->lanes = seer_tile_next_lanes(plan, extent - at);
    g->tick++;
    step_copy(w);
    at += g->lanes;
  }
  g->chunk = 0;
  g->lanes = old_lanes;
  g->tick++;
}

static void step_into(walk *w) {
  seer_gen *g = w->g;
  while (w->id != 0 && g->loop->node[w->id].kind == SEER_NODE_LET) {
    const seer_loop_node *node = &g->loop->node[w->id];
    g->var[node->var] = (seer_gen_var){.kind = SEER_GEN_LET, .let = node->value[0]};
    w->id = node->next;
  }
  const seer_loop_node *node = &g->loop->node[w->id];
  if (node->kind == SEER_NODE_STORE) {
    w->at_store(w);
  } else if (in_address(g, w->store, node->var)) {
    seer_gen_for_copies(g, w->id, step_copy, w);
  } else if (g->tile->of[w->id].mode == SEER_TILE_LANES) {
    step_partial(w, w->id);
  } else {
    g->var[node->var].kind = SEER_GEN_UNBOUND;
    g->tick++;
    step_copy(w);
  }
}

static void run_walk(
    seer_gen *g, seer_gen_accumulators *held, uint32_t root, void (*at_store)(walk *w), walk *w) {
  seer_gen_var *saved = SEER_NEW_ARRAY(g->arena, seer_gen_var, g->loop->n_var + 1);
  memcpy(saved, g->var, g->loop->n_var * sizeof(*saved));
  w->g = g;
  w->accumulators = held;
  w->id = root;
  w->at_store = at_store;
  w->store = &g->loop->node[held->store];
  step_into(w);
  memcpy(g->var, saved, g->loop->n_var * sizeof(*saved));
  g->tick++;
}

// Slots are told apart by copy, not by address: a copy beyond its bound may have the address of
// another's element.
static int64_t key_of(const seer_gen *g, const seer_gen_accumulators *held) {
  int64_t key = 0;
  for (uint32_t k = 0; k < held->n_loop; k++) {
    uint32_t id = held->loop[k];
    const seer_loop_node *node = &g->loop->node[id];
    key = key * node->extent +
        (g->tile->of[id].mode == SEER_TILE_LANES ? (int64_t)g->chunk : g->var[node->var].c);
  }
  return key;
}

static seer_gen_slot *find_slot(const seer_gen *g, seer_gen_accumulators *held) {
  int64_t key = key_of(g, held);
  for (uint32_t k = 0; k < held->n; k++) {
    if (held->slot[k].key == key) return &held->slot[k];
  }
  return NULL;
}

// ---- may it be done?

typedef struct {
  seer_gen *g;
  const seer_loop_node *store;
  bool found;
} target_search;

static void find_target(void *user, seer_expr load) {
  target_search *s = user;
  for (uint32_t k = 0; k < s->store->n_values; k++) {
    if (seer_tile_at(s->g->tile, load)->ref == s->store->buf[k]) s->found = true;
  }
}

// The store at the end of the chain below `root`, 0 if it is no chain.
static uint32_t chain_end(const seer_gen *g, uint32_t root) {
  for (uint32_t id = g->loop->node[root].body;;) {
    while (id != 0 && g->loop->node[id].kind == SEER_NODE_LET) id = g->loop->node[id].next;
    if (id == 0 || g->loop->node[id].next != 0) return 0;
    if (g->loop->node[id].kind == SEER_NODE_STORE) return id;
    if (g->loop->node[id].kind != SEER_NODE_FOR) return 0;
    id = g->loop->node[id].body;
  }
}

static bool is_legal_chain(
    seer_gen *g, uint32_t root, const seer_loop_node *store, seer_gen_accumulators *out) {
  uint32_t skipped[64], n_skipped = 0;
  for (uint32_t id = root; g->loop->node[id].kind != SEER_NODE_STORE;) {
    const seer_loop_node *node = &g->loop->node[id];
    if (node->kind == SEER_NODE_LET) {
      id = node->next;
      continue;
    }
    bool is_vector = g->tile->of[id].mode == SEER_TILE_LANES,
         is_in = in_address(g, store, node->var);
    if (!is_in) {
      if (is_vector && g->tile->of[id].lanes > 1) out->is_partial = true;
      if (n_skipped == SEER_COUNT_OF(skipped)) return false;
      skipped[n_skipped++] = node->var;
    } else {
      if (seer_gen_mode_of(g, id) == SEER_TILE_LOOP || g->tile->of[id].is_chunk_loop ||
          node->is_reduce)
        return false;
      for (uint32_t k = 0; k < n_skipped && seer_gen_cuts(g, id); k++) {
        if (seer_tile_depends(g->tile, node->bound, skipped[k])) return false;
      }
    }
    if (is_in || is_vector) {
      if (out->n_loop == SEER_COUNT_OF(out->loop)) return false;
      out->loop[out->n_loop++] = id;
    }
    id = node->body;
  }
  target_search search = {.g = g, .store = store};
  for (uint32_t k = 0; k < store->n_values; k++)
    seer_tile_visit_loads(g->tile, store->value[k], find_target, &search);
  return !search.found;
}

static void check_slot(walk *w) {
  seer_gen *g = w->g;
  seer_gen_accumulators *h = w->accumulators;
  seer_gen_addr addr;
  seer_gen_address(g, w->store->buf[0], w->store->index, w->store->n_index, &addr);
  bool is_lane = addr.at.lane != 0;
  if (!addr.is_regular || (is_lane && (addr.at.lane != 1 || h->is_partial))) w->is_refused = true;
  if (g->lanes > 1 && !is_lane && !h->is_partial) w->is_refused = true;
  if (h->n == SEER_GEN_MAX_SLOTS || find_slot(g, h)) w->is_refused = true;
  if (w->is_refused) return;
  uint32_t lanes = h->is_partial || is_lane ? g->lanes : 1;
  h->slot[h->n++] = (seer_gen_slot){.key = key_of(g, h), .lanes = lanes};
}

// ---- before, in, and behind the loops

static void targets(walk *w, seer_gen_addr *addr, seer_gen_active *active, seer_dtype *dtype) {
  const seer_loop_node *store = w->store;
  for (uint32_t k = 0; k < store->n_values; k++) {
    seer_gen_address(w->g, store->buf[k], store->index, store->n_index, &addr[k]);
    dtype[k] = w->g->loop->buf[store->buf[k]].dtype;
  }
  seer_gen_active_of(w->g, store, addr[0].at.lane != 0, active);
}

// Truths are kept as bytes: they are never in memory.
static seer_vec new_cell(seer_gen *g, seer_vec like) {
  const seer_vec_node *node = seer_vec_at(g->code, like);
  seer_vec_elem elem = node->elem == SEER_VEC_I1 ? SEER_VEC_I8 : (seer_vec_elem)node->elem;
  uint32_t own = node->lanes * seer_vec_elem_bytes(elem);
  return seer_vec_slot(g->b, elem, node->lanes, 1, own > 64 ? own : 64);
}

static void write_cell(seer_gen *g, seer_vec v, seer_vec cell) {
  if (seer_vec_at(g->code, v)->elem == SEER_VEC_I1)
    v = seer_vec_to(g->b, SEER_VEC_ZEXT, v, SEER_VEC_I8);
  seer_vec_store(g->b, v, cell, 0, SEER_VEC_NO_BUF);
}

static void begin_slot(walk *w) {
  seer_gen *g = w->g;
  seer_gen_addr addr[SEER_DAG_MAX_VALUES];
  seer_dtype dtype[SEER_DAG_MAX_VALUES];
  seer_gen_active active;
  targets(w, addr, &active, dtype);
  seer_gen_slot *slot = find_slot(g, w->accumulators);
  if (!slot || slot->cell[0].i != 0) return;
  for (uint32_t k = 0; k < w->store->n_values; k++) {
    seer_vec v = w->accumulators->is_partial
        ? seer_gen_identity(g, w->store->combiner, dtype, k, slot->lanes)
        : seer_gen_load_target(g, &addr[k], active.uniform, active.mask).v;
    slot->cell[k] = new_cell(g, v);
    write_cell(g, v, slot->cell[k]);
  }
}

static seer_vec read_cell(seer_gen *g, seer_vec cell, seer_dtype dtype) {
  const seer_vec_node *slot = seer_vec_at(g->code, cell);
  seer_vec_elem elem = (seer_vec_elem)slot->of;
  uint32_t lanes = slot->lanes;
  seer_vec v = seer_vec_load(g->b, elem, lanes, cell, 0, SEER_VEC_NO_BUF, false);
  if (dtype != SEER_DTYPE_BOOL) return v;
  return seer_vec2(g->b, SEER_VEC_NE, v, seer_vec_const(g->b, elem, lanes, 0));
}

static void end_slot(walk *w) {
  seer_gen *g = w->g;
  seer_gen_addr addr[SEER_DAG_MAX_VALUES];
  seer_dtype dtype[SEER_DAG_MAX_VALUES];
  seer_vec value[SEER_DAG_MAX_VALUES], acc[SEER_DAG_MAX_VALUES];
  seer_gen_active active;
  targets(w, addr, &active, dtype);
  seer_gen_slot *slot = find_slot(g, w->accumulators);
  if (!slot || slot->cell[0].i == 0) return;
  uint32_t n = w->store->n_values;
  for (uint32_t k = 0; k < n; k++) value[k] = read_cell(g, slot->cell[k], dtype[k]);
  bool is_lane = addr[0].at.lane != 0;
  if (w->accumulators->is_partial) {
    seer_gen_horizontal(g, w->store->combiner, dtype, n, value);
    for (uint32_t k = 0; k < n; k++)
      acc[k] = seer_gen_load_target(g, &addr[k], active.uniform, SEER_GEN_NONE).v;
    seer_gen_combine(g, w->store->combiner, dtype, n, acc, value);
    memcpy(value, acc, sizeof(value));
  }
  for (uint32_t k = 0; k < n; k++) {
    seer_gen_value v = {.v = value[k], .is_vec = is_lane && slot->lanes > 1};
    seer_gen_store_target(
        g, &addr[k], v, active.uniform, w->accumulators->is_partial ? SEER_GEN_NONE : active.mask);
  }
  slot->cell[0] = SEER_GEN_NONE;  // once
}

bool seer_gen_accumulators_begin(seer_gen *g, uint32_t root) {
  if (g->accumulators) return false;
  uint32_t end = chain_end(g, root);
  if (end == 0) return false;
  const seer_loop_node *store = &g->loop->node[end];
  if (store->combiner == SEER_COMBINE_NONE || in_address(g, store, g->loop->node[root].var))
    return false;
  seer_gen_accumulators *held = SEER_NEW(g->arena, seer_gen_accumulators);
  held->store = end;
  if (!is_legal_chain(g, root, store, held)) return false;
  if (g->tile->buf[store->buf[0]].is_register && !held->is_partial)
    return false;  // in registers already
  walk w = {0};
  run_walk(g, held, root, check_slot, &w);
  if (w.is_refused || held->n == 0) return false;
  walk first = {0};
  run_walk(g, held, root, begin_slot, &first);
  g->accumulators = held;
  return true;
}

void seer_gen_accumulators_end(seer_gen *g, uint32_t root) {
  seer_gen_accumulators *held = g->accumulators;
  g->accumulators = NULL;
  walk w = {0};
  run_walk(g, held, root, end_slot, &w);
}

void seer_gen_accumulators_update(seer_gen *g, const seer_loop_node *store,
    const seer_gen_addr *addr, const seer_gen_active *active) {
  seer_gen_slot *slot = find_slot(g, g->accumulators);
  SEER_ASSERT(slot, "no accumulator for copy %" PRId64 " of %s", key_of(g, g->accumulators),
      g->loop->buf[addr[0].buf].name);
  seer_vec acc[SEER_DAG_MAX_VALUES] = {{0}}, cond = active->reduce_mask;
  if (active->reduce_uniform.i != 0) {
    cond = cond.i != 0
        ? seer_gen_and(g, cond, seer_gen_splat(g, active->reduce_uniform, slot->lanes))
        : active->reduce_uniform;
  }
  for (uint32_t k = 0; k < store->n_values; k++)
    acc[k] = read_cell(g, slot->cell[k], g->loop->buf[store->buf[k]].dtype);
  seer_gen_accumulate(g, store, slot->lanes, cond, acc);
  for (uint32_t k = 0; k < store->n_values; k++) write_cell(g, acc[k], slot->cell[k]);
}
