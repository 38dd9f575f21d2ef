// version.c - the versions of a tile.
//
// A block whose loops are all copies, lanes or reductions is a tile. Where bounds or guards inside
// it cannot be decided when compiling, it is emitted several times under run-time tests made in
// front of it:
//   FULL     every bound is at least its extent and every guard holds over the whole hull of the
//            tile (interval arithmetic on its sum): no checks at all;
//   TAIL     a bound that is a constant plus multiples of the extent is below it: then it is the
//            constant modulo the extent, and the tile is emitted for exactly so many rows (or
//            lanes), without predicates;
//   GENERAL  everything else: predicates (rows), masks (lanes) and chosen pointers (guards).
#include <string.h>

#include "code/gen/gen.h"

typedef struct {
  bool is_open;  // contains a loop that stays and is no reduction: versions are made further in
  bool has_checks, has_loop;
} tile_facts;

typedef struct {
  seer_gen *g;
  bool found;
} guard_search;

static void find_guard(void *user, seer_expr load) {
  guard_search *s = user;
  const seer_expr_node *node = seer_tile_at(s->g->tile, load);
  if (node->arg[0].i != 0 && !seer_gen_is_true(s->g, node->arg[0])) s->found = true;
}

static void look_at(seer_gen *g, uint32_t id, bool is_alone, tile_facts *facts) {
  for (; id != 0; id = is_alone ? 0 : g->loop->node[id].next) {
    const seer_loop_node *node = &g->loop->node[id];
    guard_search search = {.g = g};
    switch (node->kind) {
      case SEER_NODE_FOR: {
        const seer_tile_for *plan = &g->tile->of[id];
        if (plan->mode == SEER_TILE_LOOP || plan->is_chunk_loop) {
          if (!node->is_reduce) facts->is_open = true;
          facts->has_loop = true;
        } else if (!plan->is_exact) {
          facts->has_checks = true;
        }
        look_at(g, node->body, false, facts);
        break;
      }
      case SEER_NODE_LET:
        seer_tile_visit_loads(g->tile, node->value[0], find_guard, &search);
        break;
      case SEER_NODE_ALLOC:
      case SEER_NODE_BARRIER:
        break;
      case SEER_NODE_STORE:
        for (uint32_t k = 0; k < node->n_values; k++)
          seer_tile_visit_loads(g->tile, node->value[k], find_guard, &search);
        break;
    }
    facts->has_checks = facts->has_checks || search.found;
  }
}

// Of an item, that are masked rather than tested for.
#define MAX_MASKED_COPIES 4
// Copies of statements in all versions that tails may lead to; beyond that tails are predicated.
#define MAX_TAIL_COPIES 400
// Around products of matrices, which vectors do many times slower.
#define MAX_MATRIX_TAIL_COPIES 800

typedef struct {
  seer_gen *g;
  seer_gen_versions *out;
  bool no_tails;
} version_test;

// x >= 0 for all values of the hull variables: the test on what is known in front of the tile.
// NONE: cannot be had.
static seer_vec never_negative(seer_gen *g, seer_sum *x) {
  for (uint32_t k = 0; k < x->n;) {
    seer_sum_term *t = &x->term[k];
    if (seer_gen_value_of(t).i != 0) {
      k++;
      continue;
    }
    x->c += seer_min_i64(t->coef * t->low, t->coef * t->high);
    x->n--;
    memmove(t, t + 1, (x->n - k) * sizeof(*t));
  }
  if (x->lane != 0) return SEER_GEN_NONE;
  seer_vec v = seer_gen_sum_value(g, x);
  return seer_vec2(g->b, SEER_VEC_SGE, v, seer_gen_const_i64(g, 0));
}

// Adds a condition unless it can never hold; then the check stays in the FULL version.
static bool require(version_test *t, seer_sum *x) {
  int64_t low, high;
  if (seer_sum_range(x, t->g->lanes, &low, &high) && high < 0) return false;
  seer_vec cond = never_negative(t->g, x);
  bool is_true;
  if (cond.i == 0 || (seer_gen_const_bool(t->g, cond, &is_true) && !is_true)) return false;
  int64_t rest_low, rest_high;
  if (seer_sum_range(x, t->g->lanes, &rest_low, &rest_high) && rest_high < 0) return false;
  t->out->all = seer_gen_and(t->g, t->out->all, cond);
  return true;
}

static void prove(version_test *t, seer_expr e) {
  seer_gen *g = t->g;
  const seer_expr_node *node = seer_tile_at(g->tile, e);
  if (node->op == SEER_EXPR_AND && node->dtype == SEER_DTYPE_BOOL) {
    prove(t, node->arg[0]);
    prove(t, node->arg[1]);
    return;
  }
  if (seer_gen_is_true(g, e) || t->out->n_expr == SEER_GEN_MAX_PROVED) return;
  for (uint32_t k = 0; k < t->out->n_expr; k++) {
    if (t->out->expr[k] == e.i) return;
  }
  int op = node->op;
  if (op != SEER_EXPR_LT && op != SEER_EXPR_LE && op != SEER_EXPR_GT && op != SEER_EXPR_GE) return;
  if (seer_tile_at(g->tile, node->arg[0])->dtype != SEER_DTYPE_I64) return;
  bool flip = op == SEER_EXPR_LT || op == SEER_EXPR_LE;
  seer_sum x, b;
  if (!seer_gen_sum_of(g, node->arg[flip ? 1 : 0], &x) ||
      !seer_gen_sum_of(g, node->arg[flip ? 0 : 1], &b))
    return;
  if (!seer_sum_add(&x, &b, -1)) return;
  if (op == SEER_EXPR_LT || op == SEER_EXPR_GT) x.c -= 1;
  if (require(t, &x)) t->out->expr[t->out->n_expr++] = e.i;
}

static void prove_guard(void *user, seer_expr load) {
  version_test *t = user;
  const seer_expr_node *node = seer_tile_at(t->g->tile, load);
  if (node->arg[0].i != 0) prove(t, node->arg[0]);
}

// ---- tails

typedef struct {
  const seer_tile *tile;
  bool found;
} register_search;

static void find_register(
    void *user, uint32_t buf, const seer_expr *index, uint32_t n_index, bool is_store) {
  register_search *s = user;
  (void)index, (void)n_index, (void)is_store;
  s->found = s->found || s->tile->buf[buf].is_register;
}

// Lanes in registers must be cut into vectors alike wherever a register lives.
static bool has_register(seer_gen *g, uint32_t id) {
  register_search search = {.tile = g->tile};
  seer_tile_visit_accesses(g->tile, id, find_register, &search);
  return search.found;
}

// Adds a loop to the group of its bound if it has a constant tail.
static bool add_tail(version_test *t, uint32_t id, const seer_sum *bound) {
  seer_gen *g = t->g;
  const seer_loop_node *node = &g->loop->node[id];
  const seer_tile_for *plan = &g->tile->of[id];
  int64_t tail = seer_floor_mod(bound->c, node->extent);
  if (t->no_tails || plan->bound_low < 1 || tail == 0 || bound->lane != 0 || bound->n == 0)
    return false;
  for (uint32_t k = 0; k < bound->n; k++) {
    if (seer_gen_value_of(&bound->term[k]).i == 0 || bound->term[k].coef % node->extent != 0)
      return false;
  }
  if (plan->mode == SEER_TILE_LANES) {
    uint32_t first = seer_tile_next_lanes(plan, tail);
    bool is_short = tail == first ||
        (tail < plan->lanes * 2 && tail - first == seer_tile_next_lanes(plan, tail - first));
    bool is_whole = tail % plan->lanes == 0;
    if (plan->is_chunk_loop || first < 4 || (!is_short && !is_whole) || has_register(g, node->body))
      return false;
  }
  for (uint32_t k = 0; k < t->out->n_tail; k++) {
    seer_gen_tails *group = &t->out->tail[k];
    bool same =
        group->extent == node->extent && group->bound.c == bound->c && group->bound.n == bound->n;
    for (uint32_t i = 0; same && i < bound->n; i++) {
      same = group->bound.term[i].atom == bound->term[i].atom &&
          group->bound.term[i].coef == bound->term[i].coef;
    }
    if (!same || group->n == SEER_COUNT_OF(group->node)) continue;
    group->node[group->n++] = id;
    return true;
  }
  if (t->out->n_tail == SEER_GEN_MAX_TAILS) return false;
  t->out->tail[t->out->n_tail++] =
      (seer_gen_tails){.bound = *bound, .extent = node->extent, .tail = tail, .n = 1, .node = {id}};
  return true;
}

static int64_t count_copies(const seer_gen *g, uint32_t id, bool is_alone, bool *out_has_matrices) {
  int64_t sum = 0;
  for (; id != 0; id = is_alone ? 0 : g->loop->node[id].next) {
    const seer_loop_node *node = &g->loop->node[id];
    const seer_tile_for *plan = &g->tile->of[id];
    if (node->kind == SEER_NODE_STORE) sum++;
    if (node->kind != SEER_NODE_FOR) continue;
    if (plan->is_matrix) {
      *out_has_matrices = true;
      sum += SEER_MATRIX_MAX_SUMS;
      continue;
    }
    int64_t trip = g->now[id].trip;
    int64_t times = plan->mode == SEER_TILE_COPIES ? trip
        : plan->mode == SEER_TILE_LANES            ? (trip + plan->lanes - 1) / plan->lanes
                                                   : plan->step;
    sum += times * count_copies(g, node->body, false, out_has_matrices);
  }
  return sum;
}

// ---- deciding

static void collect(version_test *t, uint32_t id, bool is_alone) {
  seer_gen *g = t->g;
  for (; id != 0; id = is_alone ? 0 : g->loop->node[id].next) {
    const seer_loop_node *node = &g->loop->node[id];
    switch (node->kind) {
      case SEER_NODE_FOR: {
        const seer_tile_for *plan = &g->tile->of[id];
        seer_sum bound;
        if (plan->mode != SEER_TILE_LOOP && !plan->is_exact &&
            t->out->n_node < SEER_GEN_MAX_PROVED && seer_gen_sum_of(g, node->bound, &bound) &&
            !add_tail(t, id, &bound)) {
          bound.c -= node->extent;
          if (require(t, &bound)) t->out->node[t->out->n_node++] = id;
        }
        g->var[node->var] = (seer_gen_var){.kind = SEER_GEN_HULL};
        g->tick++;
        collect(t, node->body, false);
        g->var[node->var].kind = SEER_GEN_UNBOUND;
        break;
      }
      case SEER_NODE_LET:
        g->var[node->var] = (seer_gen_var){.kind = SEER_GEN_LET, .let = node->value[0]};
        seer_tile_visit_loads(g->tile, node->value[0], prove_guard, t);
        break;
      case SEER_NODE_ALLOC:
      case SEER_NODE_BARRIER:
        break;
      case SEER_NODE_STORE:
        for (uint32_t k = 0; k < node->n_values; k++)
          seer_tile_visit_loads(g->tile, node->value[k], prove_guard, t);
        break;
    }
  }
  g->tick++;
}

// ---- what a version is emitted under

void seer_gen_assume_full(seer_gen *g, const seer_gen_versions *t, bool is_full) {
  for (uint32_t k = 0; k < t->n_node; k++) g->now[t->node[k]].is_full = is_full;
  for (uint32_t k = 0; k < t->n_expr; k++) g->full_proof[t->expr[k]] = is_full;
  g->tick++;
}

void seer_gen_assume_trip(seer_gen *g, const seer_gen_tails *tails, bool is_full, int64_t trip) {
  for (uint32_t k = 0; k < tails->n; k++) {
    g->now[tails->node[k]].is_full = is_full;
    g->now[tails->node[k]].trip = trip;
  }
  g->tick++;
}

bool seer_gen_needs_versions(seer_gen *g, uint32_t id, bool is_alone) {
  tile_facts facts = {0};
  if (g->in_version || seer_gen_is_shared(g)) return false;
  look_at(g, id, is_alone, &facts);
  if (!facts.has_checks || facts.is_open) return false;
  // An item's masks cost less than tests in front of so few.
  bool has_matrices = false;
  return g->n_items == 0 || facts.has_loop ||
      count_copies(g, id, is_alone, &has_matrices) > MAX_MASKED_COPIES;
}

const seer_gen_versions *seer_gen_find_versions(seer_gen *g, uint32_t id, bool is_alone) {
  version_test t = {.g = g, .out = SEER_NEW(g->arena, seer_gen_versions)};
  bool has_matrices = false;
  int64_t copies = count_copies(g, id, is_alone, &has_matrices);
  t.no_tails = copies * 3 > (has_matrices ? MAX_MATRIX_TAIL_COPIES : MAX_TAIL_COPIES);
  collect(&t, id, is_alone);
  return t.out;
}
