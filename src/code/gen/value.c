// value.c - values that are at hand: what was built in a scope that is still open is used again;
// constants, splats, choices, sums, pointers.
#include <string.h>

#include "code/gen/gen.h"

seer_vec_elem seer_gen_elem(seer_dtype dtype) {
  switch (dtype) {
    case SEER_DTYPE_F32:
    case SEER_DTYPE_F16:
    case SEER_DTYPE_BF16:
    case SEER_DTYPE_F8E4M3FN:
    case SEER_DTYPE_F8E4M3FNUZ:
    case SEER_DTYPE_F8E5M2:
    case SEER_DTYPE_F8E5M2FNUZ:
    case SEER_DTYPE_F4E2M1:
    case SEER_DTYPE_F8E8M0:
      return SEER_VEC_F32;
    case SEER_DTYPE_F64:
      return SEER_VEC_F64;
    case SEER_DTYPE_I8:
    case SEER_DTYPE_U8:
    case SEER_DTYPE_I4:  // sign or zeros in the high bits
    case SEER_DTYPE_U4:
    case SEER_DTYPE_I2:
    case SEER_DTYPE_U2:
      return SEER_VEC_I8;
    case SEER_DTYPE_I16:
    case SEER_DTYPE_U16:
      return SEER_VEC_I16;
    case SEER_DTYPE_I32:
    case SEER_DTYPE_U32:
      return SEER_VEC_I32;
    case SEER_DTYPE_I64:
    case SEER_DTYPE_U64:
      return SEER_VEC_I64;
    case SEER_DTYPE_BOOL:
      return SEER_VEC_I1;
    case SEER_DTYPE_NONE:
    case SEER_DTYPE_COUNT:
      break;
  }
  SEER_ASSERT(false, "dtype %d", (int)dtype);
}

seer_vec_elem seer_gen_memory_elem(seer_dtype dtype) {
  if (seer_dtype_format(dtype)) return seer_dtype_bytes(dtype) == 1 ? SEER_VEC_I8 : SEER_VEC_I16;
  return dtype == SEER_DTYPE_BOOL ? SEER_VEC_I8 : seer_gen_elem(dtype);
}

// ---- value numbering

typedef struct {
  uint32_t tag, next;
  uint32_t a, b;  // values
  int64_t c;
  seer_vec v;
} entry;

#define BUCKETS 2048

struct seer_gen_memo {
  uint32_t bucket[BUCKETS];
  size_t n, cap;
  entry *entry;  // [0] unused
  size_t n_mark, cap_mark;
  size_t *mark;
};

static uint32_t bucket_of(uint32_t tag, uint32_t a, uint32_t b, int64_t c) {
  uint64_t h = tag * UINT64_C(0x9E3779B97F4A7C15) ^ a;
  h = (h ^ (h >> 29)) * UINT64_C(0xBF58476D1CE4E5B9) ^ b;
  h = (h ^ (h >> 32)) * UINT64_C(0x94D049BB133111EB) ^ (uint64_t)c * UINT64_C(0x9E3779B97F4A7C15);
  return (uint32_t)((h ^ (h >> 31)) % BUCKETS);
}

void seer_gen_memo_init(seer_gen *g) {
  if (!g->memo) {
    g->memo = SEER_NEW(g->arena, seer_gen_memo);
    g->memo->cap = 1024;
    g->memo->entry = SEER_NEW_ARRAY(g->arena, entry, g->memo->cap);
    g->memo->cap_mark = 64;
    g->memo->mark = SEER_NEW_ARRAY(g->arena, size_t, g->memo->cap_mark);
  }
  memset(g->memo->bucket, 0, sizeof(g->memo->bucket));
  g->memo->n = 1;
  g->memo->n_mark = 0;
  g->tick++;
}

void seer_gen_memo_push(seer_gen *g) {
  seer_gen_memo *m = g->memo;
  m->mark = SEER_GROW(g->arena, size_t, m->mark, m->n_mark, &m->cap_mark);
  m->mark[m->n_mark++] = m->n;
  g->tick++;
}

void seer_gen_memo_pop(seer_gen *g) {
  seer_gen_memo *m = g->memo;
  size_t keep = m->mark[--m->n_mark];
  while (m->n > keep) {  // newest first: each is the head of its chain
    const entry *e = &m->entry[--m->n];
    m->bucket[bucket_of(e->tag, e->a, e->b, e->c)] = e->next;
  }
  g->tick++;
}

seer_vec seer_gen_memo_find(seer_gen *g, uint32_t tag, seer_vec a, seer_vec b, int64_t c) {
  const seer_gen_memo *m = g->memo;
  for (uint32_t k = m->bucket[bucket_of(tag, a.i, b.i, c)]; k != 0; k = m->entry[k].next) {
    const entry *e = &m->entry[k];
    if (e->tag == tag && e->a == a.i && e->b == b.i && e->c == c) return e->v;
  }
  return SEER_GEN_NONE;
}

void seer_gen_memo_add(seer_gen *g, uint32_t tag, seer_vec a, seer_vec b, int64_t c, seer_vec v) {
  seer_gen_memo *m = g->memo;
  m->entry = SEER_GROW(g->arena, entry, m->entry, m->n, &m->cap);
  uint32_t at = bucket_of(tag, a.i, b.i, c);
  m->entry[m->n] = (entry){.tag = tag, .next = m->bucket[at], .a = a.i, .b = b.i, .c = c, .v = v};
  m->bucket[at] = (uint32_t)m->n++;
}

enum { TAG_ADD = 1, TAG_MUL, TAG_MOVE, TAG_SPLAT, TAG_BELOW };

// ---- one value for all lanes, or one for each

seer_vec seer_gen_const_i64(seer_gen *g, int64_t v) {
  return seer_vec_const(g->b, SEER_VEC_I64, 1, (uint64_t)v);
}

seer_vec seer_gen_int_like(seer_gen *g, seer_vec like, int64_t c) {
  const seer_vec_node *node = seer_vec_at(g->code, like);
  return seer_vec_const(g->b, (seer_vec_elem)node->elem, node->lanes, (uint64_t)c);
}

seer_vec seer_gen_real_like(seer_gen *g, seer_vec like, double c) {
  const seer_vec_node *node = seer_vec_at(g->code, like);
  return seer_vec_real(g->b, (seer_vec_elem)node->elem, node->lanes, c);
}

seer_vec seer_gen_splat(seer_gen *g, seer_vec scalar, uint32_t lanes) {
  if (lanes == 1 || seer_vec_is_const(g->code, scalar)) return seer_vec_splat(g->b, scalar, lanes);
  seer_vec v = seer_gen_memo_find(g, TAG_SPLAT, scalar, SEER_GEN_NONE, lanes);
  if (v.i != 0) return v;
  v = seer_vec_splat(g->b, scalar, lanes);
  seer_gen_memo_add(g, TAG_SPLAT, scalar, SEER_GEN_NONE, lanes, v);
  return v;
}

seer_vec seer_gen_widen(seer_gen *g, seer_gen_value v) {
  return v.is_vec ? v.v : seer_gen_splat(g, v.v, g->lanes);
}

bool seer_gen_const_bool(const seer_gen *g, seer_vec v, bool *out) {
  int64_t value;
  if (!seer_vec_const_int(g->code, v, &value)) return false;
  *out = value != 0;
  return true;
}

seer_vec seer_gen_and(seer_gen *g, seer_vec a, seer_vec b) {
  bool c;
  if (a.i != 0 && seer_gen_const_bool(g, a, &c) && c) a = SEER_GEN_NONE;
  if (b.i != 0 && seer_gen_const_bool(g, b, &c) && c) b = SEER_GEN_NONE;
  if (a.i == 0 || b.i == 0 || a.i == b.i) return a.i != 0 ? a : b;
  return seer_vec2(g->b, SEER_VEC_AND, a, b);
}

seer_vec seer_gen_select(seer_gen *g, seer_vec cond, seer_vec a, seer_vec b) {
  bool c;
  if (seer_gen_const_bool(g, cond, &c)) return c ? a : b;
  return a.i == b.i ? a : seer_vec_select(g->b, cond, a, b);
}

// MAXPS(a, b) is a > b ? a : b, so b when either is NaN: a constant goes left and NaN survives for
// free.
seer_vec seer_gen_float_extreme(seer_gen *g, bool is_max, seer_vec a, seer_vec b) {
  if (g->machine->has_extremes)
    return seer_vec2(g->b, is_max ? SEER_VEC_FMAXIMUM : SEER_VEC_FMINIMUM, a, b);
  if (seer_vec_is_const(g->code, b)) {
    seer_vec t = a;
    a = b;
    b = t;
  }
  seer_vec wins = seer_vec2(g->b, is_max ? SEER_VEC_FGT : SEER_VEC_FLT, a, b);
  seer_vec r = seer_vec_select(g->b, wins, a, b);
  if (seer_vec_is_const(g->code, a)) return r;
  return seer_vec_select(g->b, seer_vec2(g->b, SEER_VEC_FEQ, a, a), r, a);
}

seer_vec seer_gen_lanes_below(seer_gen *g, seer_vec limit) {
  seer_vec v = seer_gen_memo_find(g, TAG_BELOW, limit, SEER_GEN_NONE, g->lanes);
  if (v.i != 0) return v;
  seer_vec at = seer_vec2(g->b, SEER_VEC_SMIN, limit, seer_gen_const_i64(g, g->lanes));
  at = seer_vec2(g->b, SEER_VEC_SMAX, at, seer_gen_const_i64(g, 0));
  at = seer_vec_to(g->b, SEER_VEC_TRUNC, at, SEER_VEC_I32);
  seer_vec lane = seer_vec_series(g->b, SEER_VEC_I32, g->lanes, 0, 1);
  v = seer_vec2(g->b, SEER_VEC_SLT, lane, seer_gen_splat(g, at, g->lanes));
  seer_gen_memo_add(g, TAG_BELOW, limit, SEER_GEN_NONE, g->lanes, v);
  return v;
}

// ---- sums and pointers

static seer_vec add_i64(seer_gen *g, seer_vec a, seer_vec b) {
  if (a.i == 0) return b;
  seer_vec v = seer_gen_memo_find(g, TAG_ADD, a, b, 0);
  if (v.i != 0) return v;
  v = seer_vec2(g->b, SEER_VEC_ADD_INDEX, a, b);
  seer_gen_memo_add(g, TAG_ADD, a, b, 0, v);
  return v;
}

// a * b as one more counter of the innermost loop, if `a` is its counter or a multiple of it.
static seer_vec strided(seer_gen *g, seer_vec a, int64_t b) {
  seer_gen_counter *c = &g->counter;
  int64_t step = c->loop != 0 && a.i == c->i.i ? b : 0;
  for (uint32_t k = 0; k < c->n && step == 0; k++) {
    if (c->stride[k].value.i == a.i) step = c->stride[k].step * b;
  }
  if (step == 0) return SEER_GEN_NONE;
  for (uint32_t k = 0; k < c->n; k++) {
    if (c->stride[k].step == step) return c->stride[k].value;
  }
  if (c->n == SEER_GEN_MAX_STRIDES) return SEER_GEN_NONE;
  c->stride[c->n].value = seer_vec_counter(g->b, c->loop, step);
  c->stride[c->n].step = step;
  return c->stride[c->n++].value;
}

seer_vec seer_gen_mul_i64(seer_gen *g, seer_vec a, int64_t b) {
  if (b == 1) return a;
  seer_vec v = seer_gen_memo_find(g, TAG_MUL, a, SEER_GEN_NONE, b);
  if (v.i != 0) return v;
  v = strided(g, a, b);
  if (v.i != 0) return v;
  v = seer_vec2(g->b, SEER_VEC_MUL_INDEX, a, seer_gen_const_i64(g, b));
  seer_gen_memo_add(g, TAG_MUL, a, SEER_GEN_NONE, b, v);
  return v;
}

seer_vec seer_gen_move(seer_gen *g, seer_vec_elem elem, seer_vec p, seer_vec index) {
  seer_vec v = seer_gen_memo_find(g, TAG_MOVE, p, index, elem);
  if (v.i != 0) return v;
  v = seer_vec_move(g->b, elem, p, index);
  seer_gen_memo_add(g, TAG_MOVE, p, index, elem, v);
  return v;
}

seer_vec seer_gen_move_by(seer_gen *g, seer_vec_elem elem, seer_vec p, int64_t index) {
  return index == 0 ? p : seer_gen_move(g, elem, p, seer_gen_const_i64(g, index));
}

seer_vec seer_gen_term_value(seer_gen *g, const seer_sum_term *term, int64_t scale) {
  return seer_gen_mul_i64(g, seer_gen_value_of(term), term->coef * scale);
}

seer_vec seer_gen_sum_value(seer_gen *g, const seer_sum *x) {
  seer_vec sum = SEER_GEN_NONE;
  for (uint32_t k = 0; k < x->n; k++) {
    sum = add_i64(g, sum, seer_gen_term_value(g, &x->term[k], 1));
  }
  if (sum.i == 0) return seer_gen_const_i64(g, x->c);
  return x->c == 0 ? sum : add_i64(g, sum, seer_gen_const_i64(g, x->c));
}

seer_gen_value seer_gen_sum_lanes(seer_gen *g, const seer_sum *x) {
  seer_gen_value base = {.v = seer_gen_sum_value(g, x)};
  if (x->lane == 0) return base;
  seer_vec step = seer_vec_series(g->b, SEER_VEC_I64, g->lanes, 0, x->lane);
  seer_vec v = seer_vec2(g->b, SEER_VEC_ADD_INDEX, seer_gen_splat(g, base.v, g->lanes), step);
  return (seer_gen_value){.v = v, .is_vec = true};
}
