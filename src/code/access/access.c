// access.c - loads and stores at an address. Nothing outside a buffer is ever touched, and no
// statement branches:
// - a uniform condition (a row beyond its bound, a padding guard) selects between the pointer and a
//   private constant that is filled with the value to be read instead (pointer.c);
// - stores that must not happen go to the first bytes of the thread's scratch (the sink);
// - conditions that differ between lanes become masks of masked loads and stores, or a choice for
//   each lane.
#include "code/access/access.h"

static uint32_t alignment(const seer_gen *g, const seer_gen_addr *addr, bool is_chosen) {
  uint32_t elem = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  uint32_t align = g->buf[addr->buf].align;
  if (is_chosen || !addr->is_regular) return elem;
  uint64_t all = (uint64_t)addr->at.c;
  for (uint32_t k = 0; k < addr->at.n; k++) all |= (uint64_t)addr->at.term[k].coef;
  uint64_t lowest = all & (0 - all);
  if (lowest != 0 && lowest * elem < align) align = (uint32_t)(lowest * elem);
  return align < elem ? elem : align;
}

// A LOCAL buffer in registers: the address is a constant. What the conditions exclude is read as it
// is, or 0.
seer_gen_value seer_gen_read_register(seer_gen *g, const seer_gen_addr *addr) {
  const seer_loop_buf *decl = &g->loop->buf[addr->buf];
  seer_vec_elem elem = seer_gen_memory_elem(decl->dtype);
  SEER_ASSERT(addr->is_regular && addr->at.n == 0, "buffer %s is in registers", decl->name);
  bool is_vec = addr->at.lane != 0;
  uint32_t width = is_vec ? g->lanes : 1;
  seer_vec v = seer_vec_const(g->b, elem, width, 0), base = g->buf[addr->buf].base;
  uint32_t align = seer_dtype_bytes(decl->dtype);
  if (addr->at.c >= 0 && addr->at.c + width <= decl->n_elems) {
    v = seer_access_load(g, addr, elem, width, seer_gen_move_by(g, elem, base, addr->at.c), align);
  } else {  // a guard's lanes that are inside
    for (uint32_t l = 0; l < width && is_vec; l++) {
      int64_t at = addr->at.c + l;
      if (at < 0 || at >= decl->n_elems) continue;
      seer_vec one = seer_access_load(g, addr, elem, 1, seer_gen_move_by(g, elem, base, at), align);
      v = seer_vec_insert(g->b, v, one, l);
    }
  }
  return (seer_gen_value){.v = seer_gen_from_memory(g, decl->dtype, v), .is_vec = is_vec};
}

seer_gen_value seer_gen_read(seer_gen *g, const seer_gen_addr *addr, const seer_gen_condition *c,
    seer_vec fill, seer_vec *out_pointer) {
  seer_dtype dtype = g->loop->buf[addr->buf].dtype;
  seer_vec_elem elem = seer_gen_memory_elem(dtype);
  bool is_lane = !addr->is_regular || addr->at.lane != 0;
  bool is_row = addr->is_regular && addr->at.lane == 1;
  uint32_t align = alignment(g, addr, c->uniform.i != 0);
  seer_vec otherwise = fill.i != 0 ? fill : seer_vec_const(g->b, elem, 1, 0), v;
  *out_pointer = SEER_GEN_NONE;
  if (!is_lane && c->uniform.i != 0 && g->machine->tile.has_items) {
    seer_vec p = seer_access_pointer(g, addr, SEER_GEN_NONE, 0, SEER_GEN_NONE, 1);
    v = seer_access_load_masked(g, addr, p, c->uniform, otherwise);
  } else if (!is_lane) {
    v = seer_access_load(
        g, addr, elem, 1, seer_access_pointer(g, addr, c->uniform, c->depth, fill, 1), align);
  } else if (is_row && c->mask.i == 0) {
    *out_pointer = seer_access_pointer(g, addr, c->uniform, c->depth, fill, g->lanes);
    v = seer_access_load(g, addr, elem, g->lanes, *out_pointer, align);
  } else if (is_row && seer_dtype_bytes(dtype) >= g->machine->masked_bytes) {
    seer_vec p = seer_access_pointer(g, addr, c->uniform, c->depth, fill, g->lanes);
    v = seer_access_load_masked(g, addr, p, c->mask, seer_gen_splat(g, otherwise, g->lanes));
  } else {
    v = seer_access_load_apart(g, addr, elem, c, otherwise);
  }
  return (seer_gen_value){.v = seer_gen_from_memory(g, dtype, v), .is_vec = is_lane};
}

uint64_t seer_gen_word_of(uint64_t part, uint32_t part_bytes) {
  return part * (part_bytes == 1 ? UINT64_C(0x01010101) : UINT64_C(0x00010001));
}

// Words that lie apart, one by one.
static bool read_words_apart(seer_gen *g, const seer_gen_addr *addr, const seer_gen_condition *c,
    uint16_t fill, seer_gen_value *out) {
  seer_vec_elem elem = seer_gen_memory_elem(g->loop->buf[addr->buf].dtype);
  uint32_t part_bytes = seer_vec_elem_bytes(elem);
  int64_t width = addr->at.lane * (int64_t)(g->lanes - 1) + 4 / part_bytes;
  if (addr->at.lane < 0 || c->mask.i != 0 ||
      (c->uniform.i != 0 && width * part_bytes > SEER_ACCESS_MAX_FILL_BYTES))
    return false;
  seer_vec part = seer_vec_const(g->b, elem, 1, fill);
  seer_vec base = seer_access_pointer(g, addr, c->uniform, c->depth, part, width);
  seer_vec v = seer_vec_undef(g->b, SEER_VEC_I32, g->lanes);
  for (uint32_t l = 0; l < g->lanes; l++) {
    seer_vec p = seer_gen_move_by(g, elem, base, addr->at.lane * (int64_t)l);
    v = seer_vec_insert(g->b, v, seer_access_load(g, addr, SEER_VEC_I32, 1, p, part_bytes), l);
  }
  *out = (seer_gen_value){.v = v, .is_vec = true};
  return true;
}

bool seer_gen_read_word(seer_gen *g, const seer_gen_addr *addr, const seer_gen_condition *c,
    uint16_t fill, seer_gen_value *out) {
  seer_vec_elem elem = seer_gen_memory_elem(g->loop->buf[addr->buf].dtype);
  uint32_t part_bytes = seer_vec_elem_bytes(elem), n_part = 4 / part_bytes;
  bool is_lane = addr->at.lane != 0;
  if (c->uniform.i != 0 && g->machine->tile.has_items) return false;
  if (is_lane && addr->at.lane != n_part) return read_words_apart(g, addr, c, fill, out);
  if (c->mask.i != 0 && g->machine->masked_bytes > 4) return false;
  uint32_t lanes = is_lane ? g->lanes : 1, align = alignment(g, addr, c->uniform.i != 0);
  seer_vec part = seer_vec_const(g->b, elem, 1, fill), v;
  seer_vec p = seer_access_pointer(g, addr, c->uniform, c->depth, part, n_part * (int64_t)lanes);
  if (c->mask.i == 0) {
    v = seer_access_load(g, addr, SEER_VEC_I32, lanes, p, align);
  } else {
    seer_vec otherwise =
        seer_vec_const(g->b, SEER_VEC_I32, lanes, seer_gen_word_of(fill, part_bytes));
    v = seer_access_load_masked(g, addr, p, c->mask, otherwise);
  }
  *out = (seer_gen_value){.v = v, .is_vec = is_lane};
  return true;
}

// ---- targets of stores

seer_gen_value seer_gen_load_target(
    seer_gen *g, const seer_gen_addr *addr, seer_vec uniform, seer_vec mask) {
  seer_vec p;
  if (g->tile->buf[addr->buf].is_register) return seer_gen_read_register(g, addr);
  return seer_gen_read(
      g, addr, &(seer_gen_condition){.uniform = uniform, .mask = mask}, SEER_GEN_NONE, &p);
}

static void plain_store(
    seer_gen *g, const seer_gen_addr *addr, seer_vec v, seer_vec p, uint32_t align) {
  seer_vec_store(g->b, v, p, align, seer_access_owner(g, addr->buf));
}

// Of an item: where `cond` does not hold, nothing is stored.
static void store_when(
    seer_gen *g, const seer_gen_addr *addr, seer_vec v, seer_vec p, seer_vec cond) {
  uint32_t align = alignment(g, addr, false);
  if (cond.i != 0) seer_vec_begin_when(g->b, cond);
  plain_store(g, addr, v, p, align);
  if (cond.i != 0) seer_vec_end(g->b);
}

void seer_gen_store_target(
    seer_gen *g, const seer_gen_addr *addr, seer_gen_value value, seer_vec uniform, seer_vec mask) {
  const seer_loop_buf *decl = &g->loop->buf[addr->buf];
  seer_vec_elem elem = seer_gen_memory_elem(decl->dtype);
  uint32_t elem_bytes = seer_dtype_bytes(decl->dtype);
  bool is_lane = !addr->is_regular || addr->at.lane != 0, is_true;
  if (uniform.i != 0 && seer_gen_const_bool(g, uniform, &is_true)) {
    if (!is_true) return;
    uniform = SEER_GEN_NONE;
  }
  seer_vec v = seer_gen_bits(g, decl->dtype, is_lane ? seer_gen_widen(g, value) : value.v);
  if (g->tile->buf[addr->buf].is_register) {
    SEER_ASSERT(addr->is_regular && addr->at.n == 0, "buffer %s is in registers", decl->name);
    if (!is_lane && value.is_vec) v = seer_vec_extract(g->b, v, g->lanes - 1);
    int64_t width = is_lane ? (int64_t)g->lanes : 1;
    if (addr->at.c < 0 || addr->at.c + width > decl->n_elems) return;
    plain_store(
        g, addr, v, seer_gen_move_by(g, elem, g->buf[addr->buf].base, addr->at.c), elem_bytes);
    return;
  }
  if (!is_lane && g->machine->tile.has_items) {
    store_when(
        g, addr, v, seer_access_pointer(g, addr, SEER_GEN_NONE, 0, SEER_GEN_NONE, 1), uniform);
  } else if (!is_lane && !value.is_vec) {
    if (mask.i != 0) uniform = seer_gen_and(g, uniform, seer_vec_extract(g->b, mask, 0));
    plain_store(g, addr, v, seer_access_pointer(g, addr, uniform, 0, SEER_GEN_NONE, 1),
        alignment(g, addr, uniform.i != 0));
  } else if (addr->is_regular && addr->at.lane == 1 && mask.i == 0) {
    seer_vec p = seer_access_pointer(g, addr, uniform, 0, SEER_GEN_NONE, g->lanes);
    plain_store(g, addr, v, p, alignment(g, addr, uniform.i != 0));
  } else if (addr->is_regular && addr->at.lane == 1 && elem_bytes >= g->machine->masked_bytes) {
    seer_vec p = seer_access_pointer(g, addr, uniform, 0, SEER_GEN_NONE, g->lanes);
    seer_vec_store_masked(g->b, v, p, mask, elem_bytes, seer_access_owner(g, addr->buf));
  } else {  // lane by lane; of several lanes with one address the last one wins
    seer_vec base = addr->is_regular
        ? seer_access_pointer(g, addr, SEER_GEN_NONE, 0, SEER_GEN_NONE, 1)
        : SEER_GEN_NONE;
    for (uint32_t l = 0; l < g->lanes; l++) {
      seer_vec p = seer_access_lane_pointer(g, addr, elem, base, l);
      seer_vec cond =
          seer_gen_and(g, uniform, mask.i != 0 ? seer_vec_extract(g->b, mask, l) : SEER_GEN_NONE);
      if (g->machine->tile.has_items) {
        store_when(g, addr, seer_vec_extract(g->b, v, l), p, cond);
        continue;
      }
      p = seer_access_choose(g, cond, p, g->scratch);
      plain_store(g, addr, seer_vec_extract(g->b, v, l), p, elem_bytes);
    }
  }
}
