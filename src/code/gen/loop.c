// loop.c - blocks, loops and stores.
#include <string.h>

#include "code/gen/gen.h"

static void emit_nodes(seer_gen *g, uint32_t id, bool is_alone);

// ---- turns
// A series of a polynomial is some forty instructions that wait for each other; a processor looks
// no further than two of them ahead. By turns, four are under way (doc/decisions, 85).

static void begin_statement(seer_gen *g) {
  if (!g->turns) return;
  if (g->turns->n == SEER_GEN_TURNS) seer_gen_end_turns(g);
  g->turns->mark[g->turns->n++] = seer_vec_end_of_block(g->b);
}

// ---- sides of a WHEN

static void begin_sides(seer_gen *g, seer_vec cond) {
  seer_gen_end_turns(g);
  seer_vec_begin_when(g->b, cond);
}
static void second_side(seer_gen *g) {
  seer_gen_end_turns(g);
  seer_vec_otherwise(g->b);
}
static void end_sides(seer_gen *g) {
  seer_gen_end_turns(g);
  seer_vec_end(g->b);
}

// ---- loops

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
  seer_gen_open_run loop = seer_gen_begin_loop(g, trips, may_be_empty, !has_loop(g, node->body));
  seer_vec first = step == 1 ? loop.i : seer_gen_mul_i64(g, loop.i, step);
  seer_gen_open_loop(g, id, g->now[id].trip, false);
  for (int64_t k = 0; k < step; k++) {
    seer_gen_bind_var(g, node->var, SEER_GEN_VALUE, k, first);
    if (plan->is_tight && k > 0) seer_gen_fence(g);
    seer_gen_block(g, node->body);
  }
  g->n_open--;
  seer_gen_end_loop(g, &loop);
  g->var[node->var].kind = SEER_GEN_UNBOUND;
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

// The VECTOR loop of interchanged copies (tile/series.c); 0: in this version they are too few, or
// its vectors not whole.
static uint32_t interchanged(seer_gen *g, uint32_t root) {
  if (!g->tile->of[root].is_interchanged || g->outer_lanes != 0) return 0;
  uint32_t vectors = seer_tile_vectors_of(g->tile, root), lanes = g->tile->of[vectors].lanes;
  int64_t copies = 1, trip = g->now[vectors].trip;
  for (uint32_t id = root; id != vectors; id = g->loop->node[id].body) copies *= g->now[id].trip;
  bool is_whole = trip > lanes && trip % lanes == 0 && !seer_gen_cuts(g, vectors);
  return is_whole && copies >= SEER_TILE_MIN_INTERCHANGED ? vectors : 0;
}

static void emit_loop(seer_gen *g, uint32_t id) {
  const seer_loop_node *node = &g->loop->node[id];
  block_of b = {.g = g, .body = node->body};
  uint32_t vectors = interchanged(g, id);
  if (vectors != 0) {
    const seer_tile_for *plan = &g->tile->of[vectors];
    seer_gen_open_run loop = seer_gen_begin_loop(
        g, seer_gen_const_i64(g, g->now[vectors].trip / plan->lanes), false, true);
    g->outer_lanes = vectors;
    g->outer_first = seer_gen_mul_i64(g, loop.i, plan->lanes);
    seer_gen_for_copies(g, id, emit_copy, &b);
    g->outer_lanes = 0;
    seer_gen_end_loop(g, &loop);
    return;
  }
  bool is_matrix = seer_gen_matrix_begin(g, id);
  if (g->matrix && g->matrix->of.reduce == id) {
    seer_gen_matrix_products(g);
    if (is_matrix) seer_gen_matrix_end(g);
    return;
  }
  seer_gen_turns turns = {.n = 0};
  bool takes_turns = g->tile->of[id].takes_turns && !g->turns;
  if (takes_turns) g->turns = &turns;
  bool has_accumulators =
      !g->matrix && !seer_gen_is_shared(g) && seer_gen_accumulators_begin(g, id);
  g->n_tight += g->tile->of[id].is_tight;
  if (seer_gen_mode_of(g, id) == SEER_TILE_LOOP) {
    emit_serial(g, id);
  } else {
    seer_gen_for_copies(g, id, emit_copy, &b);
    if (takes_turns) seer_gen_end_turns(g);
  }
  if (takes_turns) g->turns = NULL;
  g->n_tight -= g->tile->of[id].is_tight;
  if (has_accumulators) seer_gen_accumulators_end(g, id);
  if (is_matrix) seer_gen_matrix_end(g);
}

// Where a bound cuts the words, which is the same for all items, the items add up for themselves.
static void emit_warps(seer_gen *g, uint32_t id) {
  const seer_loop_node *node = &g->loop->node[id];
  if (!seer_gen_cuts(g, id)) {
    if (!seer_gen_warps(g, id)) emit_loop(g, id);
    return;
  }
  seer_vec bound = seer_gen_expr(g, node->bound).v;
  begin_sides(g, seer_vec2(g->b, SEER_VEC_SGE, bound, seer_gen_const_i64(g, node->extent)));
  for (uint32_t side = 0; side < 2; side++) {
    if (side == 1) second_side(g);
    seer_gen_memo_push(g);
    if (side == 1 || !seer_gen_warps(g, id)) emit_loop(g, id);
    seer_gen_memo_pop(g);
  }
  end_sides(g);
}

static void emit_for(seer_gen *g, uint32_t id) {
  if (g->loop->node[id].ann == SEER_LOOP_THREAD) {
    seer_gen_open_nest nest = seer_gen_begin_nest(g, id);
    seer_gen_block(g, nest.body);
    seer_gen_end_nest(g, &nest);
  } else if (g->tile->of[id].is_of_warps) {
    emit_warps(g, id);
  } else {
    emit_loop(g, id);
  }
}

// ---- stores

// A reduction over lanes that has no accumulators: combined lane by lane at once.
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
  begin_statement(g);
  seer_gen_addr addr[SEER_DAG_MAX_VALUES];
  for (uint32_t k = 0; k < node->n_values; k++) {
    seer_gen_address(g, node->buf[k], node->index, node->n_index, &addr[k]);
  }
  bool is_lane = !addr[0].is_regular || addr[0].at.lane != 0;
  seer_gen_active active;
  seer_gen_active_of(g, node, is_lane, &active);
  if (g->accumulators && g->accumulators->store == (uint32_t)(node - g->loop->node)) {
    seer_gen_accumulators_update(g, node, addr, &active);
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

// ---- versions

// FULL and GENERAL, or the one of them that is needed.
static void emit_full_or_general(
    seer_gen *g, const seer_gen_versions *v, uint32_t id, bool is_alone) {
  bool has_full = v->n_node + v->n_expr > 0;
  if (!has_full || v->all.i == 0) {  // nothing to test, or known to hold
    seer_gen_assume_full(g, v, has_full);
    emit_nodes(g, id, is_alone);
    seer_gen_assume_full(g, v, false);
    return;
  }
  begin_sides(g, v->all);
  for (uint32_t is_general = 0; is_general < 2; is_general++) {
    if (is_general) second_side(g);
    seer_gen_memo_push(g);
    seer_gen_assume_full(g, v, !is_general);
    g->is_general = is_general;
    emit_nodes(g, id, is_alone);
    seer_gen_memo_pop(g);
  }
  end_sides(g);
  g->is_general = false;
}

// Branches on one group of tails after the other.
static void emit_tails(
    seer_gen *g, const seer_gen_versions *v, uint32_t k, bool is_tail, uint32_t id, bool is_alone) {
  if (k == v->n_tail) {
    if (is_tail) {
      g->is_general = true;
      emit_nodes(g, id, is_alone);
      g->is_general = false;
    } else {
      emit_full_or_general(g, v, id, is_alone);
    }
    return;
  }
  const seer_gen_tails *tails = &v->tail[k];
  seer_vec bound = seer_gen_sum_value(g, &tails->bound);
  begin_sides(g, seer_vec2(g->b, SEER_VEC_SGE, bound, seer_gen_const_i64(g, tails->extent)));
  for (uint32_t side = 0; side < 2; side++) {
    if (side == 1) second_side(g);
    seer_gen_memo_push(g);
    seer_gen_assume_trip(g, tails, true, side == 0 ? tails->extent : tails->tail);
    emit_tails(g, v, k + 1, is_tail || side == 1, id, is_alone);
    seer_gen_assume_trip(g, tails, false, tails->extent);
    seer_gen_memo_pop(g);
  }
  end_sides(g);
}

static void emit_versions(seer_gen *g, uint32_t id, bool is_alone) {
  const seer_gen_versions *versions = seer_gen_find_versions(g, id, is_alone);
  g->in_version = true;
  emit_tails(g, versions, 0, false, id, is_alone);
  g->in_version = false;
}

// ---- blocks

static void emit_alloc(seer_gen *g, uint32_t buf) {
  seer_gen_buf *b = &g->buf[buf];
  const seer_loop_buf *decl = &g->loop->buf[buf];
  seer_vec_elem elem = seer_gen_memory_elem(decl->dtype);
  if (decl->storage == SEER_STORE_WORKGROUP) return;  // named at the beginning
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
        emit_versions(g, id, true);
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
    case SEER_NODE_BARRIER:
      seer_vec_barrier(g->b);
      break;
  }
}

static void emit_nodes(seer_gen *g, uint32_t id, bool is_alone) {
  for (; id != 0; id = is_alone ? 0 : g->loop->node[id].next) {
    bool is_left_out = !is_alone && seer_gen_matrix_clears(g, id, g->loop->node[id].next);
    if (!is_left_out) emit_node(g, id);
  }
}

void seer_gen_block(seer_gen *g, uint32_t id) {
  if (seer_gen_needs_versions(g, id, false)) {
    emit_versions(g, id, false);
  } else {
    emit_nodes(g, id, false);
  }
}
