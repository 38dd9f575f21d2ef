// pointer.c - pointers to what an address means, and loads at them. Where a condition does not hold
// the pointer is another one: to the sink, or to a constant that is filled with the value to be
// read instead. Loops further in, which the condition does not depend on, advance the selected
// pointer, so the constant is as long as they reach and the choice is made outside of them.
#include "code/access/access.h"

enum { TAG_CHOOSE = 200, TAG_LOAD, TAG_LOAD_MASKED };

// The address is inside the buffer's memory whatever the run-time values are.
bool seer_gen_is_safe(const seer_gen *g, const seer_gen_addr *addr) {
  int64_t low, high;
  if (!addr->is_regular || !seer_sum_range(&addr->at, g->lanes, &low, &high)) return false;
  return low >= 0 && high < g->loop->buf[addr->buf].n_elems;
}

uint32_t seer_access_owner(const seer_gen *g, uint32_t buf) {
  return g->tile->buf[buf].is_register ? SEER_VEC_NO_BUF : buf;
}

static bool is_invariant(const seer_gen *g, uint32_t buf) {
  return !g->tile->buf[buf].is_register && !g->buf[buf].is_written && g->n_tight == 0;
}

seer_vec seer_access_choose(seer_gen *g, seer_vec cond, seer_vec p, seer_vec other) {
  bool is_true;
  if (cond.i == 0 || (seer_gen_const_bool(g, cond, &is_true) && is_true)) return p;
  seer_vec v = seer_gen_memo_find(g, TAG_CHOOSE, cond, p, other.i);
  if (v.i != 0) return v;
  v = seer_vec_select(g->b, cond, p, other);
  seer_gen_memo_add(g, TAG_CHOOSE, cond, p, other.i, v);
  return v;
}

seer_vec seer_access_pointer(seer_gen *g, const seer_gen_addr *addr, seer_vec cond,
    uint32_t cond_depth, seer_vec fill, int64_t width) {
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
          (span + reach + width) * elem_bytes > SEER_ACCESS_MAX_FILL_BYTES) {
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
  p = seer_access_choose(g, cond, p, other);
  for (uint32_t k = n_outer; k < at->n; k++) {
    p = seer_gen_move(g, elem, p, seer_gen_term_value(g, &at->term[k], 1));
  }
  return p;
}

seer_vec seer_access_load(seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem,
    uint32_t lanes, seer_vec p, uint32_t align) {
  bool is_fixed = !g->buf[addr->buf].is_written && !g->tile->buf[addr->buf].is_register;
  int64_t key = g->fence << 20 | lanes << 8 | elem;
  if (is_fixed) {
    seer_vec v = seer_gen_memo_find(g, TAG_LOAD, p, SEER_GEN_NONE, key);
    if (v.i != 0) return v;
  }
  seer_vec v = seer_vec_load(
      g->b, elem, lanes, p, align, seer_access_owner(g, addr->buf), is_invariant(g, addr->buf));
  if (is_fixed) seer_gen_memo_add(g, TAG_LOAD, p, SEER_GEN_NONE, key, v);
  return v;
}

seer_vec seer_access_lane_pointer(
    seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem, seer_vec base, uint32_t lane) {
  if (addr->is_regular) return seer_gen_move_by(g, elem, base, addr->at.lane * (int64_t)lane);
  return seer_gen_move(g, elem, g->buf[addr->buf].base, seer_vec_extract(g->b, addr->lanes, lane));
}

seer_vec seer_access_load_masked(
    seer_gen *g, const seer_gen_addr *addr, seer_vec p, seer_vec mask, seer_vec otherwise) {
  bool is_fixed = !g->buf[addr->buf].is_written;
  if (is_fixed) {
    seer_vec v = seer_gen_memo_find(g, TAG_LOAD_MASKED, p, mask, otherwise.i);
    if (v.i != 0) return v;
  }
  uint32_t align = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  seer_vec v = seer_vec_load_masked(
      g->b, p, mask, otherwise, align, seer_access_owner(g, addr->buf), is_invariant(g, addr->buf));
  if (is_fixed) seer_gen_memo_add(g, TAG_LOAD_MASKED, p, mask, otherwise.i, v);
  return v;
}

seer_vec seer_gen_read_table(seer_gen *g, uint32_t buf, seer_vec number) {
  return seer_vec_lookup(
      g->b, g->buf[buf].base, number, g->buf[buf].align, buf, is_invariant(g, buf));
}
