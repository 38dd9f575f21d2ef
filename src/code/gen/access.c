// access.c - loads and stores at an address. Nothing outside a buffer is ever touched, and no
// statement branches:
// - a uniform condition (a row beyond its bound, a padding guard) selects between the pointer and a
//   private constant that is filled with the value to be read instead. Loops further in, which the
//   condition does not depend on, advance the selected pointer, so the constant is as long as they
//   reach and the choice is made outside of them;
// - stores that must not happen go to the first bytes of the thread's scratch (the sink);
// - conditions that differ between lanes become masks of masked loads and stores, or a choice for
//   each lane.
#include <string.h>

#include "code/gen/gen.h"

// Longest constant that stands for a row of padding; beyond that the choice is made at every step.
// 2048 channels.
#define MAX_FILL_BYTES 16384

enum { TAG_CHOOSE = 200, TAG_LOAD, TAG_LOAD_MASKED };

// The address is inside the buffer's memory whatever the run-time values are.
bool seer_gen_is_safe(const seer_gen *g, const seer_gen_addr *addr) {
  int64_t low, high;
  if (!addr->is_regular || !seer_sum_range(&addr->at, g->lanes, &low, &high)) return false;
  return low >= 0 && high < g->loop->buf[addr->buf].n_elems;
}

// What an access says of its buffer: registers are nobody else's.
static uint32_t buffer_of(const seer_gen *g, uint32_t buf) {
  return g->tile->buf[buf].is_register ? SEER_VEC_NO_BUF : buf;
}

static bool is_invariant(const seer_gen *g, uint32_t buf) {
  return !g->tile->buf[buf].is_register && !g->buf[buf].is_written && g->n_tight == 0;
}

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

static seer_vec choose(seer_gen *g, seer_vec cond, seer_vec p, seer_vec other) {
  bool is_true;
  if (cond.i == 0 || (seer_gen_const_bool(g, cond, &is_true) && is_true)) return p;
  seer_vec v = seer_gen_memo_find(g, TAG_CHOOSE, cond, p, other.i);
  if (v.i != 0) return v;
  v = seer_vec_select(g->b, cond, p, other);
  seer_gen_memo_add(g, TAG_CHOOSE, cond, p, other.i, v);
  return v;
}

// Pointer to lane 0 of a regular address; where `cond` (or NONE) is false, to something else with
// room for `width` elements: the sink, or a constant full of `fill`.
static seer_vec pointer(seer_gen *g, const seer_gen_addr *addr, seer_vec cond, uint32_t cond_depth,
    seer_vec fill, int64_t width) {
  const seer_sum *at = &addr->at;
  seer_dtype dtype = g->loop->buf[addr->buf].dtype;
  seer_vec_elem elem = seer_gen_memory_elem(dtype);
  uint32_t elem_bytes = seer_dtype_bytes(dtype);
  seer_vec p = g->buf[addr->buf].base;
  uint32_t n_outer = at->n;
  int64_t span = 0, bias = 0;
  if (cond.i != 0 && fill.i != 0) {
    while (n_outer > 0 && at->term[n_outer - 1].depth > cond_depth) n_outer--;
    for (uint32_t k = n_outer; k < at->n && n_outer < at->n; k++) {
      const seer_sum_term *t = &at->term[k];
      int64_t reach, coef = t->coef < 0 ? -t->coef : t->coef;
      if (t->low == INT64_MIN || t->high == INT64_MAX ||
          __builtin_mul_overflow(coef, t->high - t->low, &reach) ||
          (span + reach + width) * elem_bytes > MAX_FILL_BYTES) {
        n_outer = at->n;  // too far: choose at every step
        span = bias = 0;
        break;
      }
      span += reach;
      bias += seer_min_i64(t->coef * t->low, t->coef * t->high);
    }
  }
  for (uint32_t k = 0; k < n_outer; k++) {
    p = seer_gen_move(g, elem, p, seer_gen_term_value(g, &at->term[k], 1));
  }
  if (cond.i == 0) return seer_gen_move_by(g, elem, p, at->c);
  p = seer_gen_move_by(g, elem, p, at->c);
  seer_vec other = g->scratch;
  if (fill.i != 0)
    other =
        seer_gen_move_by(g, elem, seer_vec_filled(g->b, fill, (span + width) * elem_bytes), -bias);
  p = choose(g, cond, p, other);
  for (uint32_t k = n_outer; k < at->n; k++) {
    p = seer_gen_move(g, elem, p, seer_gen_term_value(g, &at->term[k], 1));
  }
  return p;
}

// `lanes` (1: no vector) elements, one behind the other.
static seer_vec plain_load(seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem,
    uint32_t lanes, seer_vec p, uint32_t align) {
  bool is_fixed = !g->buf[addr->buf].is_written && !g->tile->buf[addr->buf].is_register;
  int64_t key = g->fence << 20 | lanes << 8 | elem;
  if (is_fixed) {
    seer_vec v = seer_gen_memo_find(g, TAG_LOAD, p, SEER_GEN_NONE, key);
    if (v.i != 0) return v;
  }
  seer_vec v = seer_vec_load(
      g->b, elem, lanes, p, align, buffer_of(g, addr->buf), is_invariant(g, addr->buf));
  if (is_fixed) seer_gen_memo_add(g, TAG_LOAD, p, SEER_GEN_NONE, key, v);
  return v;
}

// Pointer of one lane of any address.
static seer_vec lane_pointer(
    seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem, seer_vec base, uint32_t lane) {
  if (addr->is_regular) return seer_gen_move_by(g, elem, base, addr->at.lane * (int64_t)lane);
  return seer_gen_move(g, elem, g->buf[addr->buf].base, seer_vec_extract(g->b, addr->lanes, lane));
}

static seer_vec masked_load(
    seer_gen *g, const seer_gen_addr *addr, seer_vec p, seer_vec mask, seer_vec otherwise) {
  bool is_fixed = !g->buf[addr->buf].is_written;
  if (is_fixed) {
    seer_vec v = seer_gen_memo_find(g, TAG_LOAD_MASKED, p, mask, otherwise.i);
    if (v.i != 0) return v;
  }
  uint32_t align = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  seer_vec v = seer_vec_load_masked(
      g->b, p, mask, otherwise, align, buffer_of(g, addr->buf), is_invariant(g, addr->buf));
  if (is_fixed) seer_gen_memo_add(g, TAG_LOAD_MASKED, p, mask, otherwise.i, v);
  return v;
}

// Lanes one by one: strides other than 1, gathers, masks that the target has no instruction for.
static seer_vec load_lanes(seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem,
    seer_vec uniform, uint32_t depth, seer_vec mask, seer_vec fill) {
  seer_vec v = seer_vec_undef(g->b, elem, g->lanes), base = SEER_GEN_NONE, cell = SEER_GEN_NONE;
  uint32_t elem_bytes = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  bool at_base = addr->is_regular && addr->at.lane > 0 && mask.i == 0 &&
      (addr->at.lane * (int64_t)g->lanes) * elem_bytes <= MAX_FILL_BYTES;
  if (addr->is_regular) {
    base = pointer(g, addr, at_base ? uniform : SEER_GEN_NONE, depth, fill,
        addr->at.lane * (int64_t)(g->lanes - 1) + 1);
  }
  if (!at_base && (uniform.i != 0 || mask.i != 0)) cell = seer_vec_filled(g->b, fill, 64);
  for (uint32_t l = 0; l < g->lanes; l++) {
    seer_vec p = lane_pointer(g, addr, elem, base, l);
    if (cell.i != 0) {
      seer_vec cond = mask.i != 0 ? seer_vec_extract(g->b, mask, l) : SEER_GEN_NONE;
      p = choose(g, seer_gen_and(g, uniform, cond), p, cell);
    }
    seer_vec one = plain_load(g, addr, elem, 1, p, elem_bytes);
    v = seer_vec_insert(g->b, v, one, l);
  }
  return v;
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
    v = plain_load(g, addr, elem, width, seer_gen_move_by(g, elem, base, addr->at.c), align);
  } else {  // a guard's lanes that are inside
    for (uint32_t l = 0; l < width && is_vec; l++) {
      int64_t at = addr->at.c + l;
      if (at < 0 || at >= decl->n_elems) continue;
      seer_vec one = plain_load(g, addr, elem, 1, seer_gen_move_by(g, elem, base, at), align);
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
  if (!is_lane) {
    v = plain_load(g, addr, elem, 1, pointer(g, addr, c->uniform, c->depth, fill, 1), align);
  } else if (is_row && c->mask.i == 0) {
    *out_pointer = pointer(g, addr, c->uniform, c->depth, fill, g->lanes);
    v = plain_load(g, addr, elem, g->lanes, *out_pointer, align);
  } else if (is_row && seer_dtype_bytes(dtype) >= g->machine->masked_bytes) {
    seer_vec p = pointer(g, addr, c->uniform, c->depth, fill, g->lanes);
    v = masked_load(g, addr, p, c->mask, seer_gen_splat(g, otherwise, g->lanes));
  } else {
    v = load_lanes(g, addr, elem, c->uniform, c->depth, c->mask, otherwise);
  }
  return (seer_gen_value){.v = seer_gen_from_memory(g, dtype, v), .is_vec = is_lane};
}

// Words that lie apart, one by one.
static bool read_words_apart(seer_gen *g, const seer_gen_addr *addr, const seer_gen_condition *c,
    uint8_t fill, seer_gen_value *out) {
  int64_t width = addr->at.lane * (int64_t)(g->lanes - 1) + 4;
  if (addr->at.lane < 0 || c->mask.i != 0 || (c->uniform.i != 0 && width > MAX_FILL_BYTES))
    return false;
  seer_vec byte = seer_vec_const(g->b, SEER_VEC_I8, 1, fill);
  seer_vec base = pointer(g, addr, c->uniform, c->depth, byte, width);
  seer_vec v = seer_vec_undef(g->b, SEER_VEC_I32, g->lanes);
  for (uint32_t l = 0; l < g->lanes; l++) {
    seer_vec p = seer_gen_move_by(g, SEER_VEC_I8, base, addr->at.lane * (int64_t)l);
    v = seer_vec_insert(g->b, v, plain_load(g, addr, SEER_VEC_I32, 1, p, 1), l);
  }
  *out = (seer_gen_value){.v = v, .is_vec = true};
  return true;
}

bool seer_gen_read_word(seer_gen *g, const seer_gen_addr *addr, const seer_gen_condition *c,
    uint8_t fill, seer_gen_value *out) {
  bool is_lane = addr->at.lane != 0;
  if (is_lane && addr->at.lane != 4) return read_words_apart(g, addr, c, fill, out);
  if (c->mask.i != 0 && g->machine->masked_bytes > 4) return false;
  uint32_t lanes = is_lane ? g->lanes : 1, align = alignment(g, addr, c->uniform.i != 0);
  seer_vec byte = seer_vec_const(g->b, SEER_VEC_I8, 1, fill), v;
  seer_vec p = pointer(g, addr, c->uniform, c->depth, byte, 4 * (int64_t)lanes);
  if (c->mask.i == 0) {
    v = plain_load(g, addr, SEER_VEC_I32, lanes, p, align);
  } else {
    seer_vec otherwise = seer_vec_const(g->b, SEER_VEC_I32, lanes, fill * UINT64_C(0x01010101));
    v = masked_load(g, addr, p, c->mask, otherwise);
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
  seer_vec_store(g->b, v, p, align, buffer_of(g, addr->buf));
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
  seer_vec v = seer_gen_to_memory(g, decl->dtype, is_lane ? seer_gen_widen(g, value) : value.v);
  if (g->tile->buf[addr->buf].is_register) {
    SEER_ASSERT(addr->is_regular && addr->at.n == 0, "buffer %s is in registers", decl->name);
    if (!is_lane && value.is_vec) v = seer_vec_extract(g->b, v, g->lanes - 1);
    int64_t width = is_lane ? (int64_t)g->lanes : 1;
    if (addr->at.c < 0 || addr->at.c + width > decl->n_elems) return;
    plain_store(
        g, addr, v, seer_gen_move_by(g, elem, g->buf[addr->buf].base, addr->at.c), elem_bytes);
    return;
  }
  if (!is_lane && !value.is_vec) {
    if (mask.i != 0) uniform = seer_gen_and(g, uniform, seer_vec_extract(g->b, mask, 0));
    plain_store(g, addr, v, pointer(g, addr, uniform, 0, SEER_GEN_NONE, 1),
        alignment(g, addr, uniform.i != 0));
  } else if (addr->is_regular && addr->at.lane == 1 && mask.i == 0) {
    seer_vec p = pointer(g, addr, uniform, 0, SEER_GEN_NONE, g->lanes);
    plain_store(g, addr, v, p, alignment(g, addr, uniform.i != 0));
  } else if (addr->is_regular && addr->at.lane == 1 && elem_bytes >= g->machine->masked_bytes) {
    seer_vec p = pointer(g, addr, uniform, 0, SEER_GEN_NONE, g->lanes);
    seer_vec_store_masked(g->b, v, p, mask, elem_bytes, buffer_of(g, addr->buf));
  } else {  // lane by lane; of several lanes with one address the last one wins
    seer_vec base =
        addr->is_regular ? pointer(g, addr, SEER_GEN_NONE, 0, SEER_GEN_NONE, 1) : SEER_GEN_NONE;
    for (uint32_t l = 0; l < g->lanes; l++) {
      seer_vec p = lane_pointer(g, addr, elem, base, l);
      seer_vec cond =
          seer_gen_and(g, uniform, mask.i != 0 ? seer_vec_extract(g->b, mask, l) : SEER_GEN_NONE);
      plain_store(
          g, addr, seer_vec_extract(g->b, v, l), choose(g, cond, p, g->scratch), elem_bytes);
    }
  }
}
