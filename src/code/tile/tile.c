// tile.c - a tile on which no pass has run, and what passes ask of the loops.
#include "code/tile/tile.h"

#include "code/tile/pass.h"

bool seer_tile_depends(const seer_tile *tile, seer_expr e, uint32_t var) {
  const seer_expr_node *node = seer_tile_at(tile, e);
  if (node->op == SEER_EXPR_VAR) {
    if (node->ref == var) return true;
    return tile->let_of[node->ref].i != 0 && seer_tile_depends(tile, tile->let_of[node->ref], var);
  }
  for (uint32_t k = 0; k < 3; k++) {
    if (node->arg[k].i != 0 && seer_tile_depends(tile, node->arg[k], var)) return true;
  }
  return node->op == SEER_EXPR_LOAD &&
      seer_tile_index_depends(tile, &tile->loop->expr.index[node->index0], node->n_index, var);
}

bool seer_tile_index_depends(
    const seer_tile *tile, const seer_expr *index, uint32_t n, uint32_t var) {
  for (uint32_t k = 0; k < n; k++) {
    if (seer_tile_depends(tile, index[k], var)) return true;
  }
  return false;
}

static void visit_loads(
    seer_tile *tile, seer_expr e, void (*visit)(void *user, seer_expr load), void *user) {
  if (tile->stamp[e.i] == tile->stamp_now) return;
  tile->stamp[e.i] = tile->stamp_now;
  const seer_expr_node *node = seer_tile_at(tile, e);
  for (uint32_t k = 0; k < 3; k++) {
    if (node->arg[k].i != 0) visit_loads(tile, node->arg[k], visit, user);
  }
  if (node->op == SEER_EXPR_VAR && tile->let_of[node->ref].i != 0)
    visit_loads(tile, tile->let_of[node->ref], visit, user);
  if (node->op != SEER_EXPR_LOAD) return;
  for (uint32_t k = 0; k < node->n_index; k++) {
    visit_loads(tile, tile->loop->expr.index[node->index0 + k], visit, user);
  }
  visit(user, e);
}

void seer_tile_visit_loads(
    seer_tile *tile, seer_expr e, void (*visit)(void *user, seer_expr load), void *user) {
  tile->stamp_now++;
  visit_loads(tile, e, visit, user);
}

typedef struct {
  seer_tile *tile;
  seer_tile_visit *visit;
  void *user;
} access_visit;

static void visit_as_access(void *user, seer_expr load) {
  access_visit *v = user;
  const seer_expr_node *node = seer_tile_at(v->tile, load);
  v->visit(v->user, node->ref, &v->tile->loop->expr.index[node->index0], node->n_index, false);
}

static void visit_accesses(access_visit *v, uint32_t id) {
  for (; id != 0; id = v->tile->loop->node[id].next) {
    const seer_loop_node *node = &v->tile->loop->node[id];
    if (node->kind == SEER_NODE_FOR) visit_accesses(v, node->body);
    if (node->kind == SEER_NODE_LET)
      seer_tile_visit_loads(v->tile, node->value[0], visit_as_access, v);
    for (uint32_t k = 0; node->kind == SEER_NODE_STORE && k < node->n_values; k++) {
      seer_tile_visit_loads(v->tile, node->value[k], visit_as_access, v);
      v->visit(v->user, node->buf[k], node->index, node->n_index, true);
    }
  }
}

void seer_tile_visit_accesses(seer_tile *tile, uint32_t id, seer_tile_visit *visit, void *user) {
  access_visit v = {tile, visit, user};
  visit_accesses(&v, id);
}

// ---- lanes

// No vector has more.
#define MAX_LANES 256

typedef struct {
  const seer_tile *tile;
  uint32_t var;
} lane_look;

static bool variable(void *user, uint32_t ref, seer_sum *out);

static bool sum_of(lane_look *l, seer_expr e, seer_sum *out) {
  seer_sum_reader reader = {
      .expr = &l->tile->loop->expr, .lanes = MAX_LANES, .user = l, .variable = variable};
  return seer_sum_of(&reader, e, out);
}

static bool variable(void *user, uint32_t ref, seer_sum *out) {
  lane_look *l = user;
  if (l->tile->let_of[ref].i != 0) return sum_of(l, l->tile->let_of[ref], out);
  *out = seer_sum_const(0);
  if (ref == l->var)
    out->lane = 1;
  else
    *out = seer_sum_atom((seer_sum_term){
        .coef = 1, .atom = ref + 1, .low = l->tile->low[ref], .high = l->tile->high[ref]});
  return true;
}

bool seer_tile_lane_step(
    const seer_tile *tile, uint32_t buf, const seer_expr *index, uint32_t var, int64_t *out_step) {
  const seer_loop_buf *decl = &tile->loop->buf[buf];
  lane_look look = {tile, var};
  *out_step = 0;
  for (uint32_t k = 0; k < decl->rank; k++) {
    seer_sum at = seer_sum_const(0);
    if (!seer_tile_depends(tile, index[k], var)) continue;
    if (!sum_of(&look, index[k], &at)) return false;
    *out_step += at.lane * decl->stride[k];
  }
  return true;
}

uint32_t seer_tile_next_lanes(const seer_tile_for *of, int64_t rest) {
  uint32_t lanes = of->lanes;
  while ((int64_t)lanes > rest) lanes /= 2;
  return lanes;
}

seer_tile_machine seer_tile_machine_of(const seer_target *target) {
  uint32_t vector_bytes = target->vector_bytes ? target->vector_bytes : 16;
  return (seer_tile_machine){.vector_bytes = seer_target_is_plain(target) ? 0 : vector_bytes,
      .n_vector_registers = target->n_vector_registers ? target->n_vector_registers : 16,
      .multiplies_bytes = seer_target_multiplies_bytes(target),
      .multiplies_halves = seer_target_multiplies_halves(target)};
}

seer_tile *seer_tile_begin(
    const seer_loop *loop, const seer_tile_machine *machine, seer_arena *arena) {
  seer_tile *tile = SEER_NEW(arena, seer_tile);
  *tile = (seer_tile){.loop = loop, .arena = arena, .machine = *machine};
  tile->of = SEER_NEW_ARRAY(arena, seer_tile_for, loop->n_node);
  tile->buf = SEER_NEW_ARRAY(arena, seer_tile_buf, loop->n_buf + 1);
  tile->stamp = SEER_NEW_ARRAY(arena, uint32_t, loop->expr.n + 1);
  int64_t *low = SEER_NEW_ARRAY(arena, int64_t, loop->n_var + 1),
          *high = SEER_NEW_ARRAY(arena, int64_t, loop->n_var + 1);
  for (uint32_t v = 0; v < loop->n_var; v++) {
    low[v] = loop->var[v].low;
    high[v] = loop->var[v].high;
  }
  tile->low = low;
  tile->high = high;
  seer_expr *let_of = SEER_NEW_ARRAY(arena, seer_expr, loop->n_var + 1);
  for (uint32_t id = 1; id < loop->n_node; id++) {
    if (loop->node[id].kind == SEER_NODE_LET) let_of[loop->node[id].var] = loop->node[id].value[0];
  }
  tile->let_of = let_of;
  return tile;
}
