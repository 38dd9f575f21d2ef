// loop.c - blocks, loops and stores. Iterations of unrolled loops and lanes beyond a
// bound compute with whatever their safe loads give; their stores do not reach memory.
#include <string.h>

#include "code/gen/gen.h"

bool seer_gen_cuts(const seer_gen *g, uint32_t node) {
  return !g->tile->of[node].is_exact && !g->now[node].is_full;
}

seer_tile_mode seer_gen_mode_of(const seer_gen *g, uint32_t node) {
  const seer_tile_for *plan = &g->tile->of[node];
  bool is_serial = g->loop->node[node].ann == SEER_LOOP_SERIAL;
  if (plan->mode != SEER_TILE_COPIES || !is_serial || plan->is_register_choice) return plan->mode;
  return g->is_general || seer_gen_cuts(g, node) ? SEER_TILE_LOOP : SEER_TILE_COPIES;
}

static void push_pred(seer_gen *g, seer_vec cond, uint32_t depth, uint32_t var) {
  SEER_ASSERT(g->n_pred < SEER_GEN_MAX_PREDS, "%u predicates", g->n_pred);
  g->pred[g->n_pred++] = (seer_gen_pred){.cond = cond, .depth = depth, .var = var};
}

void seer_gen_bind_var(seer_gen *g, uint32_t var, seer_gen_bind kind, int64_t c, seer_vec value) {
  g->var[var] = (seer_gen_var){.kind = kind, .c = c, .value = value, .depth = g->depth};
  g->tick++;
}

void seer_gen_open_loop(seer_gen *g, uint32_t var, int64_t trip, bool is_copies) {
  SEER_ASSERT(g->n_open < SEER_GEN_MAX_OPEN, "%u open loops", g->n_open);
  g->open[g->n_open++] = (seer_gen_open){.var = var, .trip = trip, .is_copies = is_copies};
}

// ---- loops

// Loads after it are not merged with loads before it.
static void fence(seer_gen *g) {
  seer_vec_fence(g->b);
  g->fence++;
}

static bool has_loop(const seer_gen *g, uint32_t id) {
  for (; id != 0; id = g->loop->node[id].next) {
    const seer_loop_node *node = &g->loop->node[id];
    if (node->kind != SEER_NODE_FOR) continue;
    if (seer_gen_mode_of(g, id) == SEER_TILE_LOOP || g->tile->of[id].is_chunk_loop ||
        has_loop(g, node->body))
      return true;
  }
  return false;
}

// An open `for (i = 0; i < trips; i++)`.
typedef struct {
  seer_vec i;
  seer_gen_counter outer;
} open_loop;

static open_loop begin_loop(seer_gen *g, seer_vec trips, bool may_be_empty, bool is_innermost) {
  open_loop loop = {.outer = g->counter};
  uint32_t id;
  loop.i = seer_vec_begin_loop(g->b, trips, !may_be_empty, &id);
  g->counter = (seer_gen_counter){.loop = is_innermost ? id : 0, .i = loop.i};
  seer_gen_memo_push(g);
  g->depth++;
  return loop;
}

static void end_loop(seer_gen *g, const open_loop *loop) {
  seer_vec_end(g->b);
  g->counter = loop->outer;
  g->depth--;
  seer_gen_memo_pop(g);
}

static void emit_serial(seer_gen *g, uint32_t id) {
  const seer_loop_node *node = &g->loop->node[id];
  const seer_tile_for *plan = &g->tile->of[id];
  int64_t step = plan->step;
  if (g->is_general && plan->is_exact) step = 1;
  seer_vec trips = seer_gen_const_i64(g, g->now[id].trip / step);
  bool may_be_empty = false;
  if (seer_gen_cuts(g, id)) {
    SEER_ASSERT(step == 1, "a cut loop is not unrolled in part");
    seer_vec bound = seer_gen_expr(g, node->bound).v;
    trips = seer_vec2(g->b, SEER_VEC_SMIN, bound, trips);
    may_be_empty = plan->bound_low < 1;
  }
  open_loop loop = begin_loop(g, trips, may_be_empty, !has_loop(g, node->body));
  seer_vec first = step == 1 ? loop.i : seer_gen_mul_i64(g, loop.i, step);
  seer_gen_open_loop(g, node->var, g->now[id].trip, false);
  for (int64_t k = 0; k < step; k++) {
    seer_gen_bind_var(g, node->var, SEER_GEN_VALUE, k, first);
    if (plan->is_tight && k > 0) fence(g);
    seer_gen_block(g, node->body);
  }
  g->n_open--;
  end_loop(g, &loop);
  g->var[node->var].kind = SEER_GEN_UNBOUND;
  g->tick++;
}

// One vector of `lanes` lanes whose first is `base` (a constant, plus `value`), cut by `bound`
// (NONE: not).
static void lanes_copy(seer_gen *g, uint32_t id, int64_t base, seer_vec value, uint32_t lanes,
    seer_vec bound, void (*each)(void *user), void *user) {
  const seer_loop_node *node = &g->loop->node[id];
  uint32_t old_var = g->lane_var, old_lanes = g->lanes, n_pred = g->n_pred;
  seer_vec old_mask = g->lane_mask;
  seer_vec rest = bound;
  if (bound.i != 0 && base != 0)
    rest = seer_vec2(g->b, SEER_VEC_SUB_INDEX, bound, seer_gen_const_i64(g, base));
  if (bound.i != 0 && value.i != 0) rest = seer_vec2(g->b, SEER_VEC_SUB_INDEX, rest, value);
  g->lane_mask = SEER_GEN_NONE;
  if (lanes == 1) {
    seer_gen_bind_var(g, node->var, value.i != 0 ? SEER_GEN_VALUE : SEER_GEN_CONST, base, value);
    if (bound.i != 0) {
      seer_vec cond = seer_vec2(g->b, SEER_VEC_SGT, rest, seer_gen_const_i64(g, 0));
      push_pred(g, cond, g->depth, node->var);
    }
  } else {
    g->lanes = lanes;
    g->lane_var = node->var;
    seer_gen_bind_var(g, node->var, SEER_GEN_LANE, base, value);
    if (bound.i != 0) g->lane_mask = seer_gen_lanes_below(g, rest);
  }
  g->tick++;
  each(user);
  g->lane_var = old_var;
  g->lanes = old_lanes;
  g->lane_mask = old_mask;
  g->n_pred = n_pred;
  g->tick++;
}

static void for_lanes(
    seer_gen *g, uint32_t id, seer_vec bound, void (*each)(void *user), void *user) {
  const seer_tile_for *plan = &g->tile->of[id];
  int64_t at = 0;
  g->chunk = 0;
  if (g->outer_lanes == id) {
    lanes_copy(g, id, 0, g->outer_first, plan->lanes, SEER_GEN_NONE, each, user);
    return;
  }
  if (plan->is_chunk_loop) {
    int64_t trips = g->now[id].trip / plan->lanes;
    seer_vec n = seer_gen_const_i64(g, trips);
    if (bound.i != 0) {  // only vectors that begin before the bound
      seer_vec up =
          seer_vec2(g->b, SEER_VEC_ADD_INDEX, bound, seer_gen_const_i64(g, plan->lanes - 1));
      up = seer_vec2(g->b, SEER_VEC_SDIV, up, seer_gen_const_i64(g, plan->lanes));
      n = seer_vec2(g->b, SEER_VEC_SMIN, up, n);
    }
    open_loop loop = begin_loop(g, n, bound.i != 0 && plan->bound_low < 1, true);
    lanes_copy(g, id, 0, seer_gen_mul_i64(g, loop.i, plan->lanes), plan->lanes, bound, each, user);
    end_loop(g, &loop);
    at = trips * plan->lanes;
    g->chunk = 1;
  }
  for (; at < g->now[id].trip; g->chunk++) {
    uint32_t lanes = seer_tile_next_lanes(plan, g->now[id].trip - at);
    lanes_copy(g, id, at, SEER_GEN_NONE, lanes,
        at + lanes <= plan->bound_low ? SEER_GEN_NONE : bound, each, user);
    at += lanes;
  }
  g->chunk = 0;
}

void seer_gen_for_copies(seer_gen *g, uint32_t id, void (*each)(void *user), void *user) {
  const seer_loop_node *node = &g->loop->node[id];
  const seer_tile_for *plan = &g->tile->of[id];
  uint32_t n_pred = g->n_pred;
  seer_vec bound = SEER_GEN_NONE;
  uint32_t depth = 0;
  if (seer_gen_cuts(g, id)) {
    bound = seer_gen_expr(g, node->bound).v;
    depth = seer_gen_expr_depth(g, node->bound);
    if (plan->bound_low < 1) {  // perhaps not one iteration is meant
      seer_vec some = seer_vec2(g->b, SEER_VEC_SGT, bound, seer_gen_const_i64(g, 0));
      push_pred(g, some, depth, SEER_GEN_NO_VAR);
    }
  }
  if (seer_gen_mode_of(g, id) == SEER_TILE_LANES) {
    for_lanes(g, id, bound, each, user);
  } else {
    seer_gen_open_loop(g, node->var, g->now[id].trip, true);
    for (int64_t i = 0; i < g->now[id].trip; i++) {
      uint32_t keep = g->n_pred;
      seer_gen_bind_var(g, node->var, SEER_GEN_CONST, i, SEER_GEN_NONE);
      if (plan->is_tight && i > 0) fence(g);
      if (bound.i != 0 && i >= plan->bound_low) {
        push_pred(
            g, seer_vec2(g->b, SEER_VEC_SGT, bound, seer_gen_const_i64(g, i)), depth, node->var);
      }
      each(user);
      g->n_pred = keep;
    }
    g->n_open--;
  }
  g->var[node->var].kind = SEER_GEN_UNBOUND;
  g->n_pred = n_pred;
  g->tick++;
}

typedef struct {
  seer_gen *g;
  uint32_t body;
} block_of;

static void emit_copy(void *user) {
  const block_of *b = user;
  seer_gen_block(b->g, b->body);
}

// The VECTOR loop at the end of a chain of UNROLL loops around plain stores, if its vectors can be
// a run-time loop around them all: far less is alive at a time, and less is compiled (a Winograd
// transform: 4x4 elements of 4 vectors).
#define MIN_COPIES_TO_TURN 8
static uint32_t turnable_lanes(seer_gen *g, uint32_t root) {
  int64_t copies = 1;
  uint32_t id = root;
  for (; g->loop->node[id].ann == SEER_LOOP_UNROLL; id = g->loop->node[id].body) {
    const seer_loop_node *body = &g->loop->node[g->loop->node[id].body];
    if (seer_gen_mode_of(g, id) != SEER_TILE_COPIES || body->kind != SEER_NODE_FOR ||
        body->next != 0)
      return 0;
    copies *= g->now[id].trip;
  }
  const seer_loop_node *node = &g->loop->node[id];
  const seer_tile_for *plan = &g->tile->of[id];
  if (node->ann != SEER_LOOP_VECTOR || copies < MIN_COPIES_TO_TURN || plan->is_chunk_loop ||
      plan->lanes < 2)
    return 0;
  int64_t trip = g->now[id].trip;
  if (trip <= plan->lanes || trip % plan->lanes != 0 || seer_gen_cuts(g, id)) return 0;
  for (uint32_t at = node->body; at != 0; at = g->loop->node[at].next) {
    const seer_loop_node *store = &g->loop->node[at];
    if (store->kind != SEER_NODE_STORE || store->combiner != SEER_COMBINE_NONE) return 0;
  }
  return seer_tile_chooses_register(g->tile, node->body, node->var) ? 0 : id;
}

static void emit_for(seer_gen *g, uint32_t id) {
  const seer_loop_node *node = &g->loop->node[id];
  block_of b = {.g = g, .body = node->body};
  uint32_t turned =
      node->ann == SEER_LOOP_UNROLL && g->outer_lanes == 0 ? turnable_lanes(g, id) : 0;
  if (turned != 0) {
    const seer_tile_for *plan = &g->tile->of[turned];
    open_loop loop =
        begin_loop(g, seer_gen_const_i64(g, g->now[turned].trip / plan->lanes), false, true);
    g->outer_lanes = turned;
    g->outer_first = seer_gen_mul_i64(g, loop.i, plan->lanes);
    seer_gen_for_copies(g, id, emit_copy, &b);
    g->outer_lanes = 0;
    end_loop(g, &loop);
    return;
  }
  bool is_hoisted = seer_gen_hoist_begin(g, id);
  g->n_tight += g->tile->of[id].is_tight;
  if (seer_gen_mode_of(g, id) == SEER_TILE_LOOP) {
    emit_serial(g, id);
  } else {
    seer_gen_for_copies(g, id, emit_copy, &b);
  }
  g->n_tight -= g->tile->of[id].is_tight;
  if (is_hoisted) seer_gen_hoist_end(g, id);
}

// ---- stores

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

void seer_gen_accumulate(
    seer_gen *g, const seer_loop_node *store, uint32_t lanes, seer_vec cond, seer_vec *acc) {
  seer_vec value[SEER_DAG_MAX_VALUES], old[SEER_DAG_MAX_VALUES];
  seer_dtype dtype[SEER_DAG_MAX_VALUES];
  memcpy(old, acc, sizeof(old));
  for (uint32_t k = 0; k < store->n_values; k++) dtype[k] = g->loop->buf[store->buf[k]].dtype;
  const seer_expr_node *product = seer_gen_at(g, store->value[0]);
  if (store->combiner == SEER_COMBINE_SUM && product->op == SEER_EXPR_MUL &&
      seer_dtype_is_float(dtype[0]) && store->n_values == 1) {
    seer_vec args[2] = {seer_gen_expr(g, product->arg[0]).v, seer_gen_expr(g, product->arg[1]).v};
    for (uint32_t k = 0; k < 2; k++) {
      if (seer_gen_width(g, args[k]) != lanes) args[k] = seer_gen_splat(g, args[k], lanes);
    }
    acc[0] = seer_vec3(g->b, SEER_VEC_FMULADD, args[0], args[1], acc[0]);
  } else {
    for (uint32_t k = 0; k < store->n_values; k++) {
      value[k] = seer_gen_expr(g, store->value[k]).v;
      if (seer_gen_width(g, value[k]) != lanes) value[k] = seer_gen_splat(g, value[k], lanes);
    }
    seer_gen_combine(g, store->combiner, dtype, store->n_values, acc, value);
  }
  if (cond.i == 0) return;
  for (uint32_t k = 0; k < store->n_values; k++) acc[k] = seer_gen_select(g, cond, acc[k], old[k]);
}

// A reduction over lanes that could not be hoisted: combined lane by lane at once.
static void store_across_lanes(seer_gen *g, const seer_loop_node *node, const seer_gen_addr *addr,
    const seer_gen_active *active) {
  seer_vec part[SEER_DAG_MAX_VALUES], acc[SEER_DAG_MAX_VALUES];
  seer_dtype dtype[SEER_DAG_MAX_VALUES];
  for (uint32_t k = 0; k < node->n_values; k++) {
    dtype[k] = g->loop->buf[node->buf[k]].dtype;
  }
  for (uint32_t k = 0; k < node->n_values; k++)
    part[k] = seer_gen_identity(g, node->combiner, dtype, k, g->lanes);
  seer_gen_accumulate(g, node, g->lanes, g->lane_mask, part);
  seer_gen_horizontal(g, node->combiner, dtype, node->n_values, part);
  bool is_reg = g->tile->buf[node->buf[0]].is_register;
  seer_vec uniform = is_reg ? SEER_GEN_NONE : active->uniform;
  for (uint32_t k = 0; k < node->n_values; k++)
    acc[k] = seer_gen_load_target(g, &addr[k], uniform, SEER_GEN_NONE).v;
  seer_vec old[SEER_DAG_MAX_VALUES];
  memcpy(old, acc, sizeof(old));
  seer_gen_combine(g, node->combiner, dtype, node->n_values, acc, part);
  for (uint32_t k = 0; k < node->n_values; k++) {
    if (is_reg && active->reduce_uniform.i != 0)
      acc[k] = seer_gen_select(g, active->reduce_uniform, acc[k], old[k]);
    seer_gen_store_target(g, &addr[k], (seer_gen_value){.v = acc[k]}, uniform, SEER_GEN_NONE);
  }
}

static void emit_store(seer_gen *g, const seer_loop_node *node) {
  seer_gen_addr addr[SEER_DAG_MAX_VALUES];
  for (uint32_t k = 0; k < node->n_values; k++) {
    seer_gen_address(g, node->buf[k], node->index, node->n_index, &addr[k]);
  }
  bool is_lane = !addr[0].is_regular || addr[0].at.lane != 0;
  seer_gen_active active;
  seer_gen_active_of(g, node, is_lane, &active);
  if (g->hoist && g->hoist->store == (uint32_t)(node - g->loop->node)) {
    seer_gen_hoist_update(g, node, addr, &active);
    return;
  }
  if (node->combiner != SEER_COMBINE_NONE && g->lanes > 1 && !is_lane) {
    store_across_lanes(g, node, addr, &active);
    return;
  }
  // Into local memory an iteration beyond its bound may write what it likes: nobody reads it there.
  const seer_tile_buf *buf = &g->tile->buf[node->buf[0]];
  bool is_local = g->loop->buf[node->buf[0]].storage == SEER_STORE_LOCAL;
  bool is_free = buf->is_one_writer && (buf->is_register || (is_local && addr[0].is_inside));
  bool is_select =
      buf->is_register && (!is_free || active.reduce_uniform.i != 0 || active.reduce_mask.i != 0);
  seer_vec uniform = active.uniform, mask = active.mask;
  if (is_free) {
    uniform = active.reduce_uniform;
    mask = active.reduce_mask;
  }
  seer_gen_value value[SEER_DAG_MAX_VALUES];
  seer_vec acc[SEER_DAG_MAX_VALUES] = {{0}};
  uint32_t lanes = is_lane ? g->lanes : 1;
  bool must_load = node->combiner != SEER_COMBINE_NONE || is_select;
  for (uint32_t k = 0; k < node->n_values && must_load; k++) {
    acc[k] = seer_gen_load_target(g, &addr[k], uniform, mask).v;
  }
  if (node->combiner == SEER_COMBINE_NONE) {
    for (uint32_t k = 0; k < node->n_values; k++) {
      value[k] = seer_gen_expr(g, node->value[k]);
      if (!is_select) continue;
      seer_vec v = is_lane ? seer_gen_widen(g, value[k]) : value[k].v;
      if (uniform.i != 0) v = seer_gen_select(g, uniform, v, acc[k]);
      if (mask.i != 0 && is_lane) v = seer_vec_select(g->b, mask, v, acc[k]);
      value[k] = (seer_gen_value){.v = v, .is_vec = is_lane};
    }
  } else {
    seer_vec cond = SEER_GEN_NONE;
    if (is_select) {
      cond = mask.i != 0 && is_lane ? mask : SEER_GEN_NONE;
      if (uniform.i != 0 && cond.i != 0)
        cond = seer_gen_and(g, cond, seer_gen_splat(g, uniform, lanes));
      if (uniform.i != 0 && cond.i == 0) cond = uniform;
    }
    seer_gen_accumulate(g, node, lanes, cond, acc);
    for (uint32_t k = 0; k < node->n_values; k++)
      value[k] = (seer_gen_value){.v = acc[k], .is_vec = is_lane};
  }
  for (uint32_t k = 0; k < node->n_values; k++)
    seer_gen_store_target(g, &addr[k], value[k], uniform, mask);
}

// ---- blocks

static void emit_alloc(seer_gen *g, uint32_t buf) {
  seer_gen_buf *b = &g->buf[buf];
  const seer_loop_buf *decl = &g->loop->buf[buf];
  seer_vec_elem elem = seer_gen_memory_elem(decl->dtype);
  if (g->tile->buf[buf].is_register) {
    b->base = seer_vec_slot(g->b, elem, 1, decl->n_elems, 64);
  } else {
    b->base =
        seer_gen_move_by(g, SEER_VEC_I8, g->scratch, (int64_t)g->tile->buf[buf].scratch_offset);
  }
}

static void emit_node(seer_gen *g, uint32_t id) {
  const seer_loop_node *node = &g->loop->node[id];
  if (g->status) return;
  switch (node->kind) {
    case SEER_NODE_FOR:
      if (seer_gen_needs_versions(g, id, true)) {
        seer_gen_versions(g, id, true);
      } else {
        emit_for(g, id);
      }
      break;
    case SEER_NODE_LET:
      g->var[node->var] = (seer_gen_var){.kind = SEER_GEN_LET, .let = node->value[0]};
      g->tick++;
      break;
    case SEER_NODE_ALLOC:
      emit_alloc(g, node->buf[0]);
      break;
    case SEER_NODE_STORE:
      emit_store(g, node);
      break;
  }
}

void seer_gen_nodes(seer_gen *g, uint32_t id, bool is_alone) {
  for (; id != 0; id = is_alone ? 0 : g->loop->node[id].next) emit_node(g, id);
}

void seer_gen_block(seer_gen *g, uint32_t id) {
  if (seer_gen_needs_versions(g, id, false)) {
    seer_gen_versions(g, id, false);
  } else {
    seer_gen_nodes(g, id, false);
  }
}
