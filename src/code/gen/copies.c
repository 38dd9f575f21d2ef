// copies.c - a loop's variable is bound to each copy, to each vector of lanes, or to the counter of
// a loop that stays. Iterations of unrolled loops and lanes beyond a bound are computed and not
// stored: predicates and masks say which they are.
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

void seer_gen_open_loop(seer_gen *g, uint32_t node, int64_t trip, bool is_copies) {
  SEER_ASSERT(g->n_open < SEER_GEN_MAX_OPEN, "%u open loops", g->n_open);
  g->open[g->n_open++] = (seer_gen_open){.node = node,
      .var = g->loop->node[node].var,
      .nth = g->n_opened++,
      .trip = trip,
      .is_copies = is_copies,
      .depth = g->depth};
}

// Loads after it are not merged with loads before it.
void seer_gen_fence(seer_gen *g) {
  seer_vec_fence(g->b);
  g->fence++;
}

void seer_gen_end_turns(seer_gen *g) {
  if (!g->turns) return;
  seer_vec_take_turns(g->b, g->turns->mark, g->turns->n);
  g->turns->n = 0;
}

seer_gen_open_run seer_gen_begin_loop(
    seer_gen *g, seer_vec trips, bool may_be_empty, bool is_innermost) {
  seer_gen_open_run loop = {.outer = g->counter};
  uint32_t id;
  seer_gen_end_turns(g);
  loop.i = seer_vec_begin_loop(g->b, trips, !may_be_empty, &id);
  g->counter = (seer_gen_counter){.loop = is_innermost ? id : 0, .i = loop.i};
  seer_gen_memo_push(g);
  g->depth++;
  return loop;
}

void seer_gen_end_loop(seer_gen *g, const seer_gen_open_run *loop) {
  seer_gen_end_turns(g);
  seer_vec_end(g->b);
  g->counter = loop->outer;
  g->depth--;
  seer_gen_memo_pop(g);
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
  uint32_t old_n = g->n_vector;
  g->chunk = 0;
  g->n_vector = 1;
  if (g->outer_lanes == id) {
    lanes_copy(g, id, 0, g->outer_first, plan->lanes, SEER_GEN_NONE, each, user);
    g->n_vector = old_n;
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
    seer_gen_open_run loop = seer_gen_begin_loop(g, n, bound.i != 0 && plan->bound_low < 1, true);
    lanes_copy(g, id, 0, seer_gen_mul_i64(g, loop.i, plan->lanes), plan->lanes, bound, each, user);
    seer_gen_end_loop(g, &loop);
    at = trips * plan->lanes;
    g->chunk = 1;
  }
  g->n_vector = (uint32_t)((g->now[id].trip - at + plan->lanes - 1) / plan->lanes);
  for (; at < g->now[id].trip; g->chunk++) {
    uint32_t lanes = seer_tile_next_lanes(plan, g->now[id].trip - at);
    lanes_copy(g, id, at, SEER_GEN_NONE, lanes,
        at + lanes <= plan->bound_low ? SEER_GEN_NONE : bound, each, user);
    at += lanes;
  }
  g->chunk = 0;
  g->n_vector = old_n;
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
    seer_gen_open_loop(g, id, g->now[id].trip, true);
    g->open[g->n_open - 1].is_cut = bound.i != 0;
    for (int64_t i = 0; i < g->now[id].trip; i++) {
      uint32_t keep = g->n_pred;
      seer_gen_bind_var(g, node->var, SEER_GEN_CONST, i, SEER_GEN_NONE);
      if (plan->is_tight && i > 0) seer_gen_fence(g);
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
