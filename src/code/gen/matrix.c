// matrix.c - reductions that are products of matrices (tile/matrices.c). The sums are loaded in
// front of the outermost loop of the reduction, stay in registers over all of its loops and are
// stored once behind them, as hoist.c does with vectors, to which a tile is left whose bounds cut.
#include "code/gen/gen.h"

typedef struct walk walk;
struct walk {
  seer_gen *g;
  uint32_t rows, columns, depth;  // of the matrix in hand
  uint32_t n;  // matrices before it
  void (*each)(const walk *w);
};

// Binds the variables of the loops from `id` on to the first element of each matrix in turn.
static void for_matrices(walk *w, uint32_t id) {
  seer_gen *g = w->g;
  const seer_tile_matrix *m = &g->matrix->of;
  const seer_loop_node *node = &g->loop->node[id];
  if (id == m->store) {
    w->each(w);
    w->n++;
    return;
  }
  bool is_side = id == m->rows || id == m->columns;
  int64_t step = is_side ? SEER_VEC_MATRIX_ROWS : 1, trip = g->now[id].trip;
  for (int64_t i = 0; i < trip; i += step) {
    uint32_t n = (uint32_t)seer_min_i64(step, trip - i);
    seer_gen_bind_var(g, node->var, SEER_GEN_CONST, i, SEER_GEN_NONE);
    if (id == m->rows) w->rows = n;
    if (id == m->columns) w->columns = n;
    for_matrices(w, node->body);
  }
  g->var[node->var].kind = SEER_GEN_UNBOUND;
  g->tick++;
}

static void walk_matrices(seer_gen *g, uint32_t depth, void (*each)(const walk *w)) {
  walk w = {.g = g, .depth = depth, .each = each};
  for_matrices(&w, g->loop->node[g->matrix->of.reduce].body);
}

static void address_of(seer_gen *g, seer_expr load, seer_gen_addr *out) {
  const seer_expr_node *node = seer_tile_at(g->tile, load);
  seer_gen_address(g, node->ref, &g->loop->expr.index[node->index0], node->n_index, out);
}

static void address_of_sums(seer_gen *g, seer_gen_addr *out) {
  const seer_loop_node *store = &g->loop->node[g->matrix->of.store];
  seer_gen_address(g, store->buf[0], store->index, store->n_index, out);
}

static seer_vec_elem elem_of_sums(const seer_gen *g) {
  return g->matrix->of.is_halves ? SEER_VEC_F32 : SEER_VEC_I32;
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

static seer_vec_matrix shape_of_sums(const walk *w) {
  return (seer_vec_matrix){.rows = w->rows, .columns = w->columns};
}

static seer_vec read_sums(const walk *w) {
  return seer_vec_load(w->g->b, elem_of_sums(w->g), SEER_VEC_MATRIX_LANES, w->g->matrix->sums[w->n],
      0, SEER_VEC_NO_BUF, false);
}

static void load_sums(const walk *w) {
  seer_gen *g = w->g;
  seer_gen_addr addr;
  address_of_sums(g, &addr);
  seer_vec sums =
      seer_gen_load_matrix(g, &addr, elem_of_sums(g), shape_of_sums(w), g->matrix->of.sum_stride);
  SEER_ASSERT(w->n < SEER_COUNT_OF(g->matrix->sums), "%u matrices", w->n);
  g->matrix->sums[w->n] = seer_vec_slot(g->b, elem_of_sums(g), SEER_VEC_MATRIX_LANES, 1, 64);
  seer_vec_store(g->b, sums, g->matrix->sums[w->n], 0, SEER_VEC_NO_BUF);
}

static void store_sums(const walk *w) {
  seer_gen_addr addr;
  address_of_sums(w->g, &addr);
  seer_gen_store_matrix(w->g, &addr, read_sums(w), shape_of_sums(w), w->g->matrix->of.sum_stride);
}

static void add_product(const walk *w) {
  seer_gen *g = w->g;
  const seer_tile_matrix *m = &g->matrix->of;
  seer_gen_addr x, y;
  address_of(g, m->x, &x);
  address_of(g, m->y, &y);
  seer_vec a = seer_gen_load_matrix(
      g, &x, SEER_VEC_I32, (seer_vec_matrix){.rows = w->rows, .columns = w->depth}, m->x_stride);
  seer_vec b = seer_gen_load_matrix(
      g, &y, SEER_VEC_I32, (seer_vec_matrix){.rows = w->depth, .columns = w->columns}, m->y_stride);
  seer_vec sum =
      seer_vec_matrix_dot(g->b, m->is_halves ? SEER_VEC_MATRIX_DOT2 : SEER_VEC_MATRIX_DOT4,
          (seer_vec_matrix){w->rows, w->columns, w->depth}, a, b, read_sums(w));
  seer_vec_store(g->b, sum, g->matrix->sums[w->n], 0, SEER_VEC_NO_BUF);
}

bool seer_gen_matrix_begin(seer_gen *g, uint32_t root) {
  seer_tile_matrix of;
  bool is_free = !g->matrix && !g->hoist && g->n_pred == 0 && g->lanes == 1;
  if (!is_free || !find_matrix(g, root, &of)) return false;
  g->matrix = SEER_NEW(g->arena, seer_gen_matrix);
  g->matrix->of = of;
  seer_gen_memo_push(g);  // what is loaded here is not what lies there behind the loops
  walk_matrices(g, 0, load_sums);
  seer_gen_memo_pop(g);
  return true;
}

// `n` times `depth` steps of the reduction from step `first` on.
static void add_products(seer_gen *g, int64_t first, int64_t n, uint32_t depth) {
  uint32_t var = g->loop->node[g->matrix->of.reduce].var;
  if (n == 1) {
    seer_gen_memo_push(g);
    seer_gen_bind_var(g, var, SEER_GEN_CONST, first, SEER_GEN_NONE);
    walk_matrices(g, depth, add_product);
    seer_gen_memo_pop(g);
    return;
  }
  seer_gen_open_run loop = seer_gen_begin_loop(g, seer_gen_const_i64(g, n), false, true);
  seer_gen_bind_var(g, var, SEER_GEN_VALUE, first, seer_gen_mul_i64(g, loop.i, depth));
  walk_matrices(g, depth, add_product);
  seer_gen_end_loop(g, &loop);
}

void seer_gen_matrix_products(seer_gen *g) {
  uint32_t id = g->matrix->of.reduce;
  int64_t trip = g->now[id].trip, n = seer_ceil_div(trip, SEER_VEC_MATRIX_ROWS);
  if (trip % n == 0) {  // all of one depth
    add_products(g, 0, n, (uint32_t)(trip / n));
  } else {
    int64_t rest = trip % SEER_VEC_MATRIX_ROWS;
    add_products(g, 0, n - 1, SEER_VEC_MATRIX_ROWS);
    add_products(g, trip - rest, 1, (uint32_t)rest);
  }
  g->var[g->loop->node[id].var].kind = SEER_GEN_UNBOUND;
  g->tick++;
}

void seer_gen_matrix_end(seer_gen *g) {
  walk_matrices(g, 0, store_sums);
  g->matrix = NULL;
}
