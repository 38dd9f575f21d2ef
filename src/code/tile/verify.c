// verify.c - judges what was decided: that it is of a kind that a back end can translate, that
// registers have fixed addresses, and that places lie apart.
#include "code/tile/pass.h"

static const char *name_of(const seer_tile *tile, uint32_t var) {
  return tile->loop->var[var].name;
}

static seer_status check_mode(const seer_tile *tile, uint32_t id) {
  const seer_loop_node *node = &tile->loop->node[id];
  const seer_tile_for *of = &tile->of[id];
  const char *name = name_of(tile, node->var);
  bool is_serial = node->ann == SEER_LOOP_SERIAL;
  bool is_vector = node->ann == SEER_LOOP_VECTOR && tile->machine.vector_bytes != 0;
  if ((of->mode == SEER_TILE_LANES) != is_vector)
    return SEER_FAIL(INVALID, "@%s: lanes are for vector loops, and for all of them", name);
  if (node->ann == SEER_LOOP_PARALLEL && of->mode != SEER_TILE_LOOP)
    return SEER_FAIL(INVALID, "@%s: a parallel loop stays a loop", name);
  if (of->mode == SEER_TILE_LANES &&
      (of->lanes == 0 || (of->lanes & (of->lanes - 1)) != 0 ||
          of->lanes > tile->machine.vector_bytes))
    return SEER_FAIL(INVALID, "@%s: %u lanes, must be a power of two, at most %u", name, of->lanes,
        tile->machine.vector_bytes);
  bool is_unroll = node->ann == SEER_LOOP_UNROLL;
  if (of->step == 0 || (of->step > 1 && ((!is_serial && !is_unroll) || of->mode != SEER_TILE_LOOP)))
    return SEER_FAIL(INVALID,
        "@%s: by %u, only serial and unrolled loops that stay are unrolled in part", name,
        of->step);
  if (of->step > 1 && (!of->is_exact || node->extent % of->step != 0))
    return SEER_FAIL(INVALID, "@%s: by %u, its %" PRId64 " iterations are no multiple, or are cut",
        name, of->step, node->extent);
  if (of->is_register_choice && (!is_serial || of->mode != SEER_TILE_COPIES))
    return SEER_FAIL(INVALID, "@%s: 'always' is for serial loops that are copies", name);
  bool is_unrolled = of->mode == SEER_TILE_COPIES || of->step > 1;
  if (of->is_tight && (!is_serial || !node->is_reduce || !is_unrolled))
    return SEER_FAIL(INVALID, "@%s: 'tight' is for unrolled windows", name);
  return SEER_OK;
}

static seer_status check_matrix(const seer_tile *tile, uint32_t id) {
  seer_tile_matrix m;
  const char *name = name_of(tile, tile->loop->node[id].var);
  if (!tile->of[id].is_matrix) return SEER_OK;
  if (!seer_tile_matrix_of(tile, id, &m))
    return SEER_FAIL(INVALID, "@%s: its body is no product of matrices", name);
  const uint32_t buf[3] = {
      tile->loop->node[m.store].buf[0], seer_tile_at(tile, m.x)->ref, seer_tile_at(tile, m.y)->ref};
  for (uint32_t k = 0; k < 3; k++) {
    if (tile->buf[buf[k]].is_register)
      return SEER_FAIL(INVALID, "@%s: $%s of a product of matrices is in registers", name,
          tile->loop->buf[buf[k]].name);
  }
  return SEER_OK;
}

static seer_status check_warps(const seer_tile *tile, uint32_t id) {
  seer_tile_warps warps;
  if (!tile->of[id].is_of_warps || seer_tile_warps_of(tile, id, &warps)) return SEER_OK;
  return SEER_FAIL(
      INVALID, "@%s: its body is no product of warps", name_of(tile, tile->loop->node[id].var));
}

static seer_status check_interchange(seer_tile *tile, uint32_t id) {
  const seer_loop_node *node = &tile->loop->node[id];
  bool is_unroll = node->ann == SEER_LOOP_UNROLL;
  if (!tile->of[id].is_interchanged || (is_unroll && seer_tile_vectors_of(tile, id) != 0))
    return SEER_OK;
  return SEER_FAIL(INVALID,
      "@%s: 'interchanged' is for unrolled loops that are copies around nothing but vectors of "
      "plain stores",
      name_of(tile, node->var));
}

typedef struct {
  const seer_tile *tile;
  uint32_t bytes;  // of the widest element
} widest;

static void note_access(
    void *user, uint32_t buf, const seer_expr *index, uint32_t n_index, bool is_store) {
  widest *w = user;
  (void)index, (void)n_index, (void)is_store;
  uint32_t bytes = seer_dtype_bytes(w->tile->loop->buf[buf].dtype);
  if (bytes > w->bytes) w->bytes = bytes;
}

// What has no valid place goes to the sink, which has room for so much.
static seer_status check_width(seer_tile *tile, uint32_t id) {
  if (tile->of[id].mode != SEER_TILE_LANES) return SEER_OK;
  widest w = {.tile = tile};
  seer_tile_visit_accesses(tile, tile->loop->node[id].body, note_access, &w);
  uint32_t lanes = tile->of[id].lanes,
           most = tile->machine.vector_bytes * SEER_LANES_ACCESS_VECTORS;
  // A processor may have less than an element in a vector: then there is one lane.
  if (lanes == 1 || lanes * w.bytes <= most) return SEER_OK;
  return SEER_FAIL(INVALID, "@%s: %u lanes of %u bytes, must be at most %u bytes",
      name_of(tile, tile->loop->node[id].var), lanes, w.bytes, most);
}

// A bound that cuts, or another version, may make a SERIAL loop of copies a loop again.
static seer_status check_choice(seer_tile *tile, uint32_t id) {
  const seer_loop_node *node = &tile->loop->node[id];
  const seer_tile_for *of = &tile->of[id];
  bool may_be_loop =
      node->ann == SEER_LOOP_SERIAL && of->mode == SEER_TILE_COPIES && !of->is_register_choice;
  if (may_be_loop && seer_tile_chooses_register(tile, node->body, node->var))
    return SEER_FAIL(
        INVALID, "@%s chooses registers and is not 'always' copies", name_of(tile, node->var));
  return SEER_OK;
}

typedef struct {
  seer_tile *tile;
  uint32_t n;
  uint32_t *buf;  // that have places in this phase
} placed;

static seer_status check_place(placed *p, uint32_t buf) {
  const seer_tile *tile = p->tile;
  const seer_loop_buf *decl = &tile->loop->buf[buf];
  uint64_t at = tile->buf[buf].scratch_offset;
  uint64_t end = at + (uint64_t)decl->n_elems * seer_dtype_bytes(decl->dtype);
  if (at % SEER_TILE_ALIGN != 0)
    return SEER_FAIL(
        INVALID, "$%s: at %" PRIu64 ", must be a multiple of %d", decl->name, at, SEER_TILE_ALIGN);
  if (tile->needs_sink && at < SEER_TILE_SINK_BYTES)
    return SEER_FAIL(INVALID,
        "$%s: at %" PRIu64 ", the first %d bytes are for stores without place", decl->name, at,
        SEER_TILE_SINK_BYTES);
  if (end > tile->scratch_bytes)
    return SEER_FAIL(INVALID, "$%s: ends at %" PRIu64 ", the scratch at %" PRIu64, decl->name, end,
        tile->scratch_bytes);
  for (uint32_t k = 0; k < p->n; k++) {
    const seer_loop_buf *other = &tile->loop->buf[p->buf[k]];
    uint64_t from = tile->buf[p->buf[k]].scratch_offset;
    uint64_t to = from + (uint64_t)other->n_elems * seer_dtype_bytes(other->dtype);
    if (p->buf[k] != buf && at < to && from < end)
      return SEER_FAIL(INVALID, "$%s and $%s overlap", decl->name, other->name);
  }
  p->buf[p->n++] = buf;
  return SEER_OK;
}

static seer_status check_block(placed *p, uint32_t id) {
  seer_tile *tile = p->tile;
  for (; id != 0; id = tile->loop->node[id].next) {
    const seer_loop_node *node = &tile->loop->node[id];
    if (node->kind == SEER_NODE_FOR) {
      SEER_TRY(check_mode(tile, id));
      SEER_TRY(check_matrix(tile, id));
      SEER_TRY(check_warps(tile, id));
      SEER_TRY(check_interchange(tile, id));
      SEER_TRY(check_width(tile, id));
      SEER_TRY(check_choice(tile, id));
      SEER_TRY(check_block(p, node->body));
    }
    if (node->kind == SEER_NODE_ALLOC && !tile->buf[node->buf[0]].is_register &&
        p->tile->loop->buf[node->buf[0]].storage == SEER_STORE_LOCAL)
      SEER_TRY(check_place(p, node->buf[0]));
  }
  return SEER_OK;
}

static seer_status check_registers(seer_tile *tile) {
  const seer_loop *loop = tile->loop;
  bool *is_fixed = SEER_NEW_ARRAY(tile->arena, bool, loop->n_buf + 1);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    is_fixed[b] =
        loop->buf[b].storage == SEER_STORE_LOCAL || loop->buf[b].storage == SEER_STORE_PRIVATE;
  }
  seer_tile_find_fixed(tile, is_fixed);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (tile->buf[b].is_register && !is_fixed[b])
      return SEER_FAIL(
          INVALID, "$%s is in registers, its addresses are not fixed", loop->buf[b].name);
  }
  return SEER_OK;
}

seer_status seer_tile_verify(seer_tile *tile) {
  placed p = {.tile = tile, .buf = SEER_NEW_ARRAY(tile->arena, uint32_t, tile->loop->n_node + 1)};
  for (uint32_t k = 0; k < tile->loop->n_phase; k++) {
    p.n = 0;
    SEER_TRY(check_block(&p, tile->loop->phase[k]));
  }
  return check_registers(tile);
}
