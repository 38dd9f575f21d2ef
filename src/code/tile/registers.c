// registers.c - a LOCAL buffer whose address is a constant in every copy is kept in registers, and
// a PRIVATE one where it is a constant and a sum of what the item says (which item's register it
// is); the SERIAL loops that choose between these must be copies whatever their bounds say.
#include "code/tile/pass.h"

// At most so many vectors are kept in one local buffer (what is too much goes to the stack).
#define MAX_VECTORS 64
// Bytes of a LOCAL buffer that an item keeps in registers.
#define MAX_ITEM_BYTES 1024
// Lanes that a vector is taken to have while its loop has no vectors yet: no more than any has.
#define MAX_LANES 256

// What is known of a variable where a statement stands.
typedef enum { UNKNOWN, ANY_COPY, LANE, ITEM } binding;

typedef struct {
  seer_tile *tile;
  bool *is_fixed;  // by buffer: so far
  binding *of_var;
  uint32_t lanes;
  bool is_private;  // the buffer that is looked at
} look;

static bool variable(void *user, uint32_t ref, seer_sum *out);

static bool sum_of(look *l, seer_expr e, seer_sum *out) {
  seer_sum_reader reader = {
      .expr = &l->tile->loop->expr, .lanes = l->lanes, .user = l, .variable = variable};
  return seer_sum_of(&reader, e, out);
}

static bool variable(void *user, uint32_t ref, seer_sum *out) {
  look *l = user;
  const seer_loop_var *decl = &l->tile->loop->var[ref];
  if (l->tile->let_of[ref].i != 0) return sum_of(l, l->tile->let_of[ref], out);
  *out = seer_sum_const(0);
  out->lane = l->of_var[ref] == LANE;
  bool is_item = l->is_private && l->of_var[ref] == ITEM;
  if (l->of_var[ref] == ITEM && !is_item) return false;
  if (l->of_var[ref] == ANY_COPY || is_item)
    *out = seer_sum_atom(
        (seer_sum_term){.coef = 1, .atom = ref + 1, .low = decl->low, .high = decl->high});
  return l->of_var[ref] != UNKNOWN;
}

// The address is linear in copies and, with step 1, in lanes.
static bool is_address_fixed(look *l, uint32_t buf, const seer_expr *index, bool is_store) {
  const seer_loop_buf *decl = &l->tile->loop->buf[buf];
  seer_sum flat = seer_sum_const(0);
  l->is_private = decl->storage == SEER_STORE_PRIVATE;
  for (uint32_t k = 0; k < decl->rank; k++) {
    seer_sum at;
    int64_t low, high;
    if (!sum_of(l, index[k], &at) || !seer_sum_add(&flat, &at, decl->stride[k])) return false;
    // A store outside of its dimension (a cut region) would hit another element.
    if (is_store &&
        (!seer_sum_range(&at, l->lanes, &low, &high) || low < 0 || high >= decl->dim[k]))
      return false;
  }
  return flat.lane == 0 || flat.lane == 1;
}

static void look_at(look *l, uint32_t buf, const seer_expr *index, bool is_store) {
  l->is_fixed[buf] = l->is_fixed[buf] && is_address_fixed(l, buf, index, is_store);
}

static void look_at_load(void *user, seer_expr load) {
  look *l = user;
  const seer_expr_node *node = seer_tile_at(l->tile, load);
  look_at(l, node->ref, &l->tile->loop->expr.index[node->index0], false);
}

static void look_at_block(look *l, uint32_t id);

static void look_at_for(look *l, uint32_t id) {
  const seer_loop_node *node = &l->tile->loop->node[id];
  const seer_tile_for *of = &l->tile->of[id];
  uint32_t lanes = l->lanes;
  if (node->bound.i != 0) seer_tile_visit_loads(l->tile, node->bound, look_at_load, l);
  if (node->ann == SEER_LOOP_THREAD) {
    l->of_var[node->var] = ITEM;
  } else if (of->mode == SEER_TILE_COPIES && (of->is_exact || node->ann == SEER_LOOP_UNROLL)) {
    l->of_var[node->var] = ANY_COPY;
  } else if (of->mode == SEER_TILE_LANES && !of->is_chunk_loop) {
    l->of_var[node->var] = LANE;
    l->lanes = (uint32_t)seer_min_i64(node->extent, MAX_LANES);
  }
  look_at_block(l, node->body);
  l->lanes = lanes;
  l->of_var[node->var] = UNKNOWN;
}

static void look_at_store(look *l, const seer_loop_node *node) {
  for (uint32_t k = 0; k < node->n_values; k++) {
    seer_tile_visit_loads(l->tile, node->value[k], look_at_load, l);
    look_at(l, node->buf[k], node->index, true);
  }
}

static void look_at_block(look *l, uint32_t id) {
  for (; id != 0; id = l->tile->loop->node[id].next) {
    const seer_loop_node *node = &l->tile->loop->node[id];
    if (node->kind == SEER_NODE_LET)
      seer_tile_visit_loads(l->tile, node->value[0], look_at_load, l);
    if (node->kind == SEER_NODE_FOR) look_at_for(l, id);
    if (node->kind == SEER_NODE_STORE) look_at_store(l, node);
  }
}

void seer_tile_find_fixed(seer_tile *tile, bool *inout_fixed) {
  look l = {.tile = tile,
      .is_fixed = inout_fixed,
      .lanes = 1,
      .of_var = SEER_NEW_ARRAY(tile->arena, binding, tile->loop->n_var + 1)};
  for (uint32_t p = 0; p < tile->loop->n_phase; p++) look_at_block(&l, tile->loop->phase[p]);
}

// ---- loops that choose

typedef struct {
  const seer_tile *tile;
  uint32_t var;
  bool found;
} search;

static void find_choice(
    void *user, uint32_t buf, const seer_expr *index, uint32_t n_index, bool is_store) {
  search *s = user;
  (void)is_store;
  s->found = s->found ||
      (s->tile->buf[buf].is_register && seer_tile_index_depends(s->tile, index, n_index, s->var));
}

bool seer_tile_chooses_register(seer_tile *tile, uint32_t id, uint32_t var) {
  search s = {.tile = tile, .var = var};
  seer_tile_visit_accesses(tile, id, find_choice, &s);
  return s.found;
}

// What a product of matrices adds to or reads stays in memory.
static void exclude_matrices(const seer_tile *tile, bool *is_fixed) {
  for (uint32_t id = 1; id < tile->loop->n_node; id++) {
    seer_tile_matrix m;
    if (!tile->of[id].is_matrix || !seer_tile_matrix_of(tile, id, &m)) continue;
    is_fixed[tile->loop->node[m.store].buf[0]] = false;
    is_fixed[seer_tile_at(tile, m.x)->ref] = false;
    is_fixed[seer_tile_at(tile, m.y)->ref] = false;
  }
}

static void run(seer_tile *tile) {
  const seer_loop *loop = tile->loop;
  bool *is_fixed = SEER_NEW_ARRAY(tile->arena, bool, loop->n_buf + 1);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *decl = &loop->buf[b];
    int64_t most = tile->machine.has_items ? MAX_ITEM_BYTES
                                           : MAX_VECTORS * (int64_t)tile->machine.vector_bytes;
    is_fixed[b] = (decl->storage == SEER_STORE_LOCAL &&
                      decl->n_elems * seer_dtype_bytes(decl->dtype) <= most) ||
        decl->storage == SEER_STORE_PRIVATE;
  }
  seer_tile_find_fixed(tile, is_fixed);
  exclude_matrices(tile, is_fixed);
  for (uint32_t b = 0; b < loop->n_buf; b++) tile->buf[b].is_register = is_fixed[b];
  for (uint32_t id = 1; id < loop->n_node; id++) {
    const seer_loop_node *node = &loop->node[id];
    if (node->kind != SEER_NODE_FOR || node->ann != SEER_LOOP_SERIAL) continue;
    tile->of[id].is_register_choice = tile->of[id].mode == SEER_TILE_COPIES &&
        (node->extent == 1 || seer_tile_chooses_register(tile, node->body, node->var));
  }
}

const seer_tile_pass seer_tile_pass_registers = {"registers",
    "local buffers whose every address is a constant",
    SEER_TILE_GIVES_MODES | SEER_TILE_GIVES_MATRICES, SEER_TILE_GIVES_REGISTERS, run};
