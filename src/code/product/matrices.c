// matrices.c - reductions that are products of matrices (find_matrices.c). The sums are loaded in
// front of the outermost loop of the reduction, stay in registers over all of its loops and are
// stored once behind them, as accumulators.c does with vectors, to which a tile is left whose
// bounds cut.
//
// Registers have the shapes of a phase's first such reduction from its start on; another one's are
// set for it alone. The sums are the first ones; of the rest, each factor has one of its own where
// there are enough, else one is for x and the others are for y.
#include <math.h>
#include <string.h>

#include "code/gen/gen.h"

typedef struct walk walk;
struct walk {
  seer_gen *g;
  uint32_t x, y;  // numbers of the matrices in hand
  void (*each)(const walk *w);
};

static uint32_t sum_of(const walk *w) { return w->x * w->g->matrix->n_y + w->y; }

// Binds the variables of the loops from `id` on to the first element of each matrix in turn.
static void for_matrices(walk *w, uint32_t id) {
  seer_gen *g = w->g;
  const seer_gen_matrix *m = g->matrix;
  const seer_loop_node *node = &g->loop->node[id];
  if (id == m->of.store) {
    w->each(w);
    return;
  }
  int64_t step = id == m->of.rows ? m->rows : id == m->of.columns ? m->columns : 1;
  int64_t trip = g->now[id].trip;
  for (int64_t i = 0; i < trip; i += step) {
    // The last one ends where the loop does, and may begin inside of the one before.
    int64_t first = seer_min_i64(i, trip - step);
    seer_gen_bind_var(g, node->var, SEER_GEN_CONST, first, SEER_GEN_NONE);
    if (id == m->of.columns) w->y = (uint32_t)(i / step);
    for_matrices(w, node->body);
  }
  if (id == m->of.columns) w->x++;
  g->var[node->var].kind = SEER_GEN_UNBOUND;
  g->tick++;
}

static void walk_matrices(seer_gen *g, void (*each)(const walk *w)) {
  walk w = {.g = g, .each = each};
  for_matrices(&w, g->matrix->of.first);
}

static void address_of(seer_gen *g, seer_expr load, seer_gen_addr *out) {
  const seer_expr_node *node = seer_tile_at(g->tile, load);
  seer_gen_address(g, node->ref, &g->loop->expr.index[node->index0], node->n_index, out);
}

static void address_of_sums(seer_gen *g, seer_gen_addr *out) {
  const seer_loop_node *store = &g->loop->node[g->matrix->of.store];
  seer_gen_address(g, store->buf[0], store->index, store->n_index, out);
}

// ---- shapes

// What the loops of `of` run now comes to, in matrices that are all alike; false: they can't be.
static bool measure(const seer_gen *g, const seer_tile_matrix *of, seer_gen_matrix *out) {
  const seer_loop_node *node = g->loop->node;
  seer_matrix_tile tile = seer_matrix_begin(g->now[of->columns].trip);
  for (uint32_t id = of->first; id != of->columns; id = node[id].body)
    seer_matrix_add_rows(&tile, g->now[id].trip);
  int64_t inner = of->inner != 0 ? g->now[of->inner].trip : 1;
  int64_t rows = g->now[of->rows].trip, n = g->now[of->reduce].trip, depth = n * inner;
  if (rows != tile.longest || !seer_matrix_fits(&tile, n, inner)) return false;
  out->of = *of;
  out->n_x = (uint32_t)tile.x;
  out->n_y = (uint32_t)tile.y;
  out->rows = seer_matrix_length(rows);
  out->columns = seer_matrix_length(g->now[of->columns].trip);
  out->depth = depth / seer_matrix_cut(depth);
  return true;
}

static bool has_own_registers(const seer_gen_matrix *m) {
  return m->n_x * m->n_y + m->n_x + m->n_y <= SEER_VEC_MATRICES;
}

static uint32_t register_of_x(const seer_gen_matrix *m, uint32_t x) {
  return m->n_x * m->n_y + (has_own_registers(m) ? x : 0);
}

static uint32_t register_of_y(const seer_gen_matrix *m, uint32_t y) {
  uint32_t first = m->n_x * m->n_y + (has_own_registers(m) ? m->n_x : 1);
  return first + y % (SEER_VEC_MATRICES - first);
}

static void give(seer_vec_shapes *shapes, uint32_t matrix, int64_t rows, int64_t columns) {
  shapes->rows[matrix] = (uint8_t)rows;
  shapes->columns[matrix] = (uint8_t)columns;
}

static seer_vec_shapes shapes_of(const seer_gen_matrix *m) {
  seer_vec_shapes shapes = {{0}, {0}};
  for (uint32_t k = 0; k < m->n_x * m->n_y; k++) give(&shapes, k, m->rows, m->columns);
  for (uint32_t x = 0; x < m->n_x; x++) give(&shapes, register_of_x(m, x), m->rows, m->depth);
  for (uint32_t y = 0; y < m->n_y; y++) give(&shapes, register_of_y(m, y), m->depth, m->columns);
  return shapes;
}

static bool are_same(const seer_vec_shapes *a, const seer_vec_shapes *b) {
  return memcmp(a, b, sizeof(*a)) == 0;
}

static bool find_first(const seer_gen *g, uint32_t id, seer_gen_matrix *out) {
  seer_tile_matrix of;
  for (; id != 0; id = g->loop->node[id].next) {
    if (g->loop->node[id].kind != SEER_NODE_FOR) continue;
    bool is_one =
        g->tile->of[id].is_matrix && seer_tile_matrix_of(g->tile, id, &of) && measure(g, &of, out);
    if (is_one || find_first(g, g->loop->node[id].body, out)) return true;
  }
  return false;
}

void seer_gen_matrix_phase(seer_gen *g, uint32_t id) {
  seer_gen_matrix first;
  g->shapes = (seer_vec_shapes){{0}, {0}};
  if (!find_first(g, id, &first)) return;
  g->shapes = shapes_of(&first);
  seer_vec_matrix_shapes(g->b, &g->shapes);
}

// ---- may it be done?

// From the reduction's outermost loop `root` to that of the matrices there is nothing but loops of
// it, and no bound cuts.
static bool find_matrix(const seer_gen *g, uint32_t root, seer_tile_matrix *out) {
  const seer_loop_node *node = g->loop->node;
  uint32_t id = root;
  while (!g->tile->of[id].is_matrix) {
    if (!node[id].is_reduce || seer_gen_cuts(g, id)) return false;
    id = node[id].body;
    if (id == 0 || node[id].kind != SEER_NODE_FOR || node[id].next != 0) return false;
  }
  if (!seer_tile_matrix_of(g->tile, id, out)) return false;
  for (; id != out->store; id = node[id].body)
    if (seer_gen_cuts(g, id)) return false;
  for (id = root; id != out->reduce; id = node[id].body) {
    const seer_loop_node *store = &node[out->store];
    if (seer_tile_index_depends(g->tile, store->index, store->n_index, node[id].var)) return false;
  }
  return true;
}

// ---- before, in, and behind the loops

// Nothing is under way that matrices could not be part of.
static bool is_free(const seer_gen *g) {
  return !g->matrix && !g->accumulators && g->n_pred == 0 && g->lanes == 1;
}

static void load_sums(const walk *w) {
  seer_gen_addr addr;
  address_of_sums(w->g, &addr);
  seer_gen_load_matrix(w->g, &addr, sum_of(w), w->g->matrix->of.sum_stride);
}

static void store_sums(const walk *w) {
  seer_gen_addr addr;
  address_of_sums(w->g, &addr);
  seer_gen_store_matrix(w->g, &addr, sum_of(w), w->g->matrix->of.sum_stride);
}

// Unless the register has it from a product of this step.
static void load_factor(
    seer_gen *g, seer_expr load, uint32_t matrix, int64_t rows, int64_t stride) {
  seer_gen_addr addr;
  address_of(g, load, &addr);
  seer_vec p = seer_gen_matrix_pointer(g, &addr);
  if (g->matrix->held[matrix].i == p.i) return;
  g->matrix->held[matrix] = p;
  seer_gen_load_matrix(g, &addr, matrix, stride);
  seer_gen_request_matrix(g, &addr, rows, stride);
}

static void add_product(const walk *w) {
  seer_gen *g = w->g;
  const seer_gen_matrix *m = g->matrix;
  uint32_t x = register_of_x(m, w->x), y = register_of_y(m, w->y);
  load_factor(g, m->of.x, x, m->rows, m->of.x_stride);
  load_factor(g, m->of.y, y, m->depth, m->of.y_stride);
  seer_vec_matrix_dot(g->b, m->of.is_halves ? SEER_VEC_MATRIX_DOT2 : SEER_VEC_MATRIX_DOT4,
      (seer_vec_matrix_regs){sum_of(w), x, y});
}

static void clear_sums(const walk *w) { seer_vec_matrix_zero(w->g->b, sum_of(w)); }

// ---- sums that begin at 0

static bool is_zero(const seer_gen *g, seer_expr e) {
  const seer_expr_node *node = seer_tile_at(g->tile, e);
  if (node->op == SEER_EXPR_CONST_I) return node->value.i == 0;
  return node->op == SEER_EXPR_CONST_F && node->value.f == 0 && !signbit(node->value.f);
}

// The loops from `id` on down to the store `end`, bound to their first iterations or to none.
static void bind_firsts(seer_gen *g, uint32_t id, uint32_t end, seer_gen_bind kind) {
  for (; id != end; id = g->loop->node[id].body)
    seer_gen_bind_var(g, g->loop->node[id].var, kind, 0, SEER_GEN_NONE);
}

// Both stores begin at the same element.
static bool begin_alike(seer_gen *g, const seer_loop_node *store, const seer_loop_node *sum) {
  seer_gen_addr a, b;
  seer_gen_address(g, store->buf[0], store->index, store->n_index, &a);
  seer_gen_address(g, sum->buf[0], sum->index, sum->n_index, &b);
  return a.is_regular && b.is_regular && seer_sum_add(&a.at, &b.at, -1) && a.at.n == 0 &&
      a.at.lane == 0 && a.at.c == 0;
}

// The store of `init`, alone in loops as the sums of `of` have, one by one, sets just these.
static bool sets_sums(seer_gen *g, uint32_t init, const seer_tile_matrix *of) {
  const seer_loop_node *node = g->loop->node, *sum = &node[of->store];
  uint32_t id = of->first, end = init, at = init;
  for (; node[end].kind == SEER_NODE_FOR; end = node[end].body)
    if (node[end].body == 0 || node[node[end].body].next != 0) return false;
  const seer_loop_node *store = &node[end];
  bool is_same = store->kind == SEER_NODE_STORE && store->is_init && store->n_values == 1 &&
      store->buf[0] == sum->buf[0] && is_zero(g, store->value[0]);
  for (; is_same && at != end && id != of->store; at = node[at].body, id = node[id].body) {
    int64_t x, y;
    is_same = !seer_gen_cuts(g, at) && g->now[at].trip == g->now[id].trip &&
        seer_tile_lane_step(g->tile, store->buf[0], store->index, node[at].var, &x) &&
        seer_tile_lane_step(g->tile, sum->buf[0], sum->index, node[id].var, &y) && x == y;
  }
  if (!is_same || at != end || id != of->store) return false;
  bind_firsts(g, init, end, SEER_GEN_CONST);
  bind_firsts(g, of->first, of->store, SEER_GEN_CONST);
  is_same = begin_alike(g, store, sum);
  bind_firsts(g, init, end, SEER_GEN_UNBOUND);
  bind_firsts(g, of->first, of->store, SEER_GEN_UNBOUND);
  return is_same;
}

bool seer_gen_matrix_clears(seer_gen *g, uint32_t init, uint32_t root) {
  seer_tile_matrix of;
  seer_gen_matrix matrix;
  const seer_loop_node *node = g->loop->node;
  bool is_pair = root != 0 && node[init].kind == SEER_NODE_FOR && node[root].kind == SEER_NODE_FOR;
  if (!is_pair || !is_free(g) || !find_matrix(g, root, &of) || !measure(g, &of, &matrix) ||
      !sets_sums(g, init, &of))
    return false;
  g->cleared = root;
  return true;
}

bool seer_gen_matrix_begin(seer_gen *g, uint32_t root) {
  seer_tile_matrix of;
  seer_gen_matrix matrix = {.rows = 0};
  if (!is_free(g) || !find_matrix(g, root, &of) || !measure(g, &of, &matrix)) return false;
  g->matrix = SEER_NEW(g->arena, seer_gen_matrix);
  *g->matrix = matrix;
  seer_vec_shapes shapes = shapes_of(&matrix);
  if (!are_same(&shapes, &g->shapes)) seer_vec_matrix_shapes(g->b, &shapes);
  walk_matrices(g, g->cleared == root ? clear_sums : load_sums);
  g->cleared = 0;
  return true;
}

static void add_step(seer_gen *g) {
  memset(g->matrix->held, 0, sizeof(g->matrix->held));
  walk_matrices(g, add_product);
}

void seer_gen_matrix_products(seer_gen *g) {
  const seer_gen_matrix *m = g->matrix;
  const seer_loop_node *node = g->loop->node;
  uint32_t var = node[m->of.reduce].var, inner = m->of.inner;
  int64_t step = m->depth / (inner != 0 ? g->now[inner].trip : 1);  // of the outer loop
  int64_t n = g->now[m->of.reduce].trip / step;
  if (inner != 0) seer_gen_bind_var(g, node[inner].var, SEER_GEN_CONST, 0, SEER_GEN_NONE);
  if (n == 1) {
    seer_gen_bind_var(g, var, SEER_GEN_CONST, 0, SEER_GEN_NONE);
    add_step(g);
  } else {
    seer_gen_open_run loop = seer_gen_begin_loop(g, seer_gen_const_i64(g, n), false, true);
    seer_gen_bind_var(g, var, SEER_GEN_VALUE, 0, seer_gen_mul_i64(g, loop.i, step));
    add_step(g);
    seer_gen_end_loop(g, &loop);
  }
  if (inner != 0) g->var[node[inner].var].kind = SEER_GEN_UNBOUND;
  g->var[var].kind = SEER_GEN_UNBOUND;
  g->tick++;
}

void seer_gen_matrix_end(seer_gen *g) {
  seer_vec_shapes shapes = shapes_of(g->matrix);
  walk_matrices(g, store_sums);
  g->matrix = NULL;
  if (!are_same(&shapes, &g->shapes)) seer_vec_matrix_shapes(g->b, &g->shapes);
}
