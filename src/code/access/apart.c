// apart.c - loads of vectors whose lanes lie apart.
// - A few elements apart: loads of whole vectors, of which shuffles pick every so manyth element.
// The
//   last of these vectors ends with the last lane, so that what is read lies between the first
//   lane's element and the last one's, which are in the buffer:
//
//     lanes     0   1   2   3          two vectors of 4 for a step of 2: elements 0 to 3, and
//     elements  0 1 2 3 4 5 6          3 to 6; lanes 0 2 of the first, 1 3 of the second
//
// - In squares: square.c.
// - Else one by one.
#include "code/access/access.h"

// Where `cond` does not hold, each lane reads a constant.
static seer_vec one_by_one(seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem,
    const seer_gen_condition *c, seer_vec fill) {
  seer_vec v = seer_vec_undef(g->b, elem, g->lanes), base = SEER_GEN_NONE, cell = SEER_GEN_NONE;
  uint32_t elem_bytes = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  bool at_base = addr->is_regular && !g->machine->tile.has_items && addr->at.lane > 0 &&
      c->mask.i == 0 &&
      (addr->at.lane * (int64_t)g->lanes) * elem_bytes <= SEER_ACCESS_MAX_FILL_BYTES;
  if (addr->is_regular) {
    base = seer_access_pointer(g, addr, at_base ? c->uniform : SEER_GEN_NONE, c->depth, fill,
        addr->at.lane * (int64_t)(g->lanes - 1) + 1);
  }
  bool is_masked = g->machine->tile.has_items && (c->uniform.i != 0 || c->mask.i != 0);
  if (!at_base && !is_masked && (c->uniform.i != 0 || c->mask.i != 0))
    cell = seer_vec_filled(g->b, fill, 64);
  for (uint32_t l = 0; l < g->lanes; l++) {
    seer_vec p = seer_access_lane_pointer(g, addr, elem, base, l);
    if (cell.i != 0) {
      seer_vec cond = c->mask.i != 0 ? seer_vec_extract(g->b, c->mask, l) : SEER_GEN_NONE;
      p = seer_access_choose(g, seer_gen_and(g, c->uniform, cond), p, cell);
    }
    if (is_masked) {
      seer_vec cond = c->mask.i != 0 ? seer_vec_extract(g->b, c->mask, l) : SEER_GEN_NONE;
      cond = seer_gen_and(g, c->uniform, cond);
      v = seer_vec_insert(g->b, v, seer_access_load_masked(g, addr, p, cond, fill), l);
      continue;
    }
    seer_vec one = seer_access_load(g, addr, elem, 1, p, elem_bytes);
    v = seer_vec_insert(g->b, v, one, l);
  }
  return v;
}

// ---- a few elements apart

// The vectors that lanes lie in, from the lowest lane on.
typedef struct {
  uint32_t lanes, n;
  int64_t step;  // from lane to lane
} row;

static int64_t begin_of(const row *r, uint32_t k) {
  int64_t span = (int64_t)r->n * (r->lanes - 1) + 1;
  return k + 1 == r->n ? span - r->lanes : (int64_t)k * r->lanes;
}

// In which vector lane l lies, and where in it.
static uint32_t place_of(const row *r, uint32_t l, uint32_t *out_at) {
  int64_t elem = (int64_t)r->n * (r->step > 0 ? l : r->lanes - 1 - l);
  uint32_t k = (uint32_t)seer_min_i64(elem / r->lanes, r->n - 1);
  *out_at = (uint32_t)(elem - begin_of(r, k));
  return k;
}

// The k-th vector; of a mask over lanes, what concerns it.
static seer_vec load_part(seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem, const row *r,
    uint32_t k, seer_vec p, seer_vec mask, seer_vec fill) {
  uint16_t from[SEER_VEC_MAX_LANES];
  p = seer_gen_move_by(g, elem, p, begin_of(r, k));
  if (mask.i == 0)
    return seer_access_load(
        g, addr, elem, r->lanes, p, seer_dtype_bytes(g->loop->buf[addr->buf].dtype));
  for (uint32_t l = 0; l < r->lanes; l++) from[l] = (uint16_t)r->lanes;  // no lane's: not read
  for (uint32_t l = 0; l < r->lanes; l++) {
    uint32_t at;
    if (place_of(r, l, &at) == k) from[at] = (uint16_t)l;
  }
  seer_vec none = seer_vec_const(g->b, SEER_VEC_I1, r->lanes, 0);
  return seer_access_load_masked(
      g, addr, p, seer_vec_shuffle(g->b, mask, none, from), seer_gen_splat(g, fill, r->lanes));
}

static seer_vec pick(seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem,
    const seer_gen_condition *c, seer_vec fill) {
  int64_t step = addr->at.lane;
  row r = {.lanes = g->lanes, .n = (uint32_t)(step < 0 ? -step : step), .step = step};
  seer_gen_addr lowest = *addr;
  if (step < 0) lowest.at.c += step * (r.lanes - 1);
  seer_vec p =
      seer_access_pointer(g, &lowest, c->uniform, c->depth, fill, (int64_t)r.n * (r.lanes - 1) + 1);
  seer_vec v = load_part(g, addr, elem, &r, 0, p, c->mask, fill);
  for (uint32_t k = r.n == 1 ? 0 : 1; k < r.n; k++) {
    uint16_t from[SEER_VEC_MAX_LANES];
    seer_vec next = k == 0 ? v : load_part(g, addr, elem, &r, k, p, c->mask, fill);
    for (uint32_t l = 0; l < r.lanes; l++) {
      uint32_t at, own = place_of(&r, l, &at);
      from[l] = (uint16_t)(own == k ? r.lanes + at : k > 1 ? l : at);
    }
    v = seer_vec_shuffle(g->b, v, next, from);
  }
  return v;
}

// Neither is anything read that another part of the phase may be writing.
static bool can_pick(const seer_gen *g, const seer_gen_addr *addr, const seer_gen_condition *c) {
  const seer_loop_buf *buf = &g->loop->buf[addr->buf];
  if (!addr->is_regular || !seer_tile_is_picked(addr->at.lane, g->lanes)) return false;
  if (c->mask.i != 0 && seer_dtype_bytes(buf->dtype) < g->machine->masked_bytes) return false;
  return buf->storage == SEER_STORE_LOCAL || !g->buf[addr->buf].is_written;
}

seer_vec seer_access_load_apart(seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem,
    const seer_gen_condition *c, seer_vec fill) {
  if (can_pick(g, addr, c)) return pick(g, addr, elem, c, fill);
  seer_vec turned = seer_access_load_turned(g, addr, elem, c);
  if (turned.i != 0) return turned;
  return one_by_one(g, addr, elem, c, fill);
}
