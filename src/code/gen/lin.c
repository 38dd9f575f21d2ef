// lin.c - sums (tile/sum.h) over run-time values, and the scoped value numbering under everything
// that computes addresses.
#include <string.h>

#include "code/gen/gen.h"

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

enum { TAG_ADD = 1, TAG_MUL, TAG_MOVE };

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

// ---- linear forms

uint32_t seer_gen_expr_depth(const seer_gen *g, seer_expr e) {
  const seer_expr_node *node = seer_gen_at(g, e);
  uint32_t depth = 0;
  if (node->op == SEER_EXPR_LOAD) return g->depth;
  if (node->op == SEER_EXPR_VAR) {
    const seer_gen_var *var = &g->var[node->ref];
    if (var->kind == SEER_GEN_LET) return seer_gen_expr_depth(g, var->let);
    return var->kind == SEER_GEN_VALUE || (var->kind == SEER_GEN_LANE && var->value.i != 0)
        ? var->depth
        : 0;
  }
  for (uint32_t k = 0; k < 3; k++) {
    if (node->arg[k].i == 0) continue;
    uint32_t d = seer_gen_expr_depth(g, node->arg[k]);
    if (d > depth) depth = d;
  }
  return depth;
}

static bool uses_hull(const seer_gen *g, seer_expr e) {
  const seer_expr_node *node = seer_gen_at(g, e);
  if (node->op == SEER_EXPR_VAR) {
    const seer_gen_var *var = &g->var[node->ref];
    if (var->kind == SEER_GEN_LET) return uses_hull(g, var->let);
    return var->kind == SEER_GEN_HULL || var->kind == SEER_GEN_UNBOUND;
  }
  for (uint32_t k = 0; k < 3; k++) {
    if (node->arg[k].i != 0 && uses_hull(g, node->arg[k])) return true;
  }
  for (uint32_t k = 0; node->op == SEER_EXPR_LOAD && k < node->n_index; k++) {
    if (uses_hull(g, g->loop->expr.index[node->index0 + k])) return true;
  }
  return false;
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

// A run-time value as a sum: one term, or a constant if that is what comes out.
static seer_sum sum_of_value(
    const seer_gen *g, seer_vec v, uint32_t depth, int64_t low, int64_t high) {
  int64_t known;
  if (seer_vec_const_int(g->code, v, &known)) return seer_sum_const(known);
  return seer_sum_atom((seer_sum_term){
      .coef = 1, .atom = seer_gen_atom_of(v), .depth = depth, .low = low, .high = high});
}

static bool other(void *user, seer_expr e, seer_sum *out) {
  seer_gen *g = user;
  if (uses_hull(g, e)) return false;
  int op = seer_gen_at(g, e)->op;  // sums and products came from here and would come back
  bool is_sum = op == SEER_EXPR_ADD || op == SEER_EXPR_SUB || op == SEER_EXPR_MUL ||
      op == SEER_EXPR_NEG || op == SEER_EXPR_DIV || op == SEER_EXPR_MOD;
  seer_gen_value v = is_sum ? seer_gen_expr_raw(g, e) : seer_gen_expr(g, e);
  if (v.is_vec) return false;
  int64_t low = INT64_MIN, high = INT64_MAX;
  if (!seer_expr_range(&g->loop->expr, e, g->tile->low, g->tile->high, &low, &high)) {
    low = INT64_MIN;
    high = INT64_MAX;
  }
  *out = sum_of_value(g, v.v, seer_gen_expr_depth(g, e), low, high);
  return true;
}

// floor(v / d) or v mod d of a run-time value; `is_natural`: v >= 0.
static seer_vec divide_value(seer_gen *g, seer_vec v, int64_t d, bool is_mod, bool is_natural) {
  seer_vec by = seer_gen_const_i64(g, d);
  if (is_natural)
    return is_mod ? seer_vec2(g->b, SEER_VEC_UREM, v, by) : seer_vec2(g->b, SEER_VEC_UDIV, v, by);
  seer_vec rest = seer_vec2(g->b, SEER_VEC_SREM, v, by);
  seer_vec is_negative = seer_vec2(g->b, SEER_VEC_SLT, rest, seer_gen_const_i64(g, 0));
  if (is_mod) return seer_gen_select(g, is_negative, seer_vec2(g->b, SEER_VEC_ADD, rest, by), rest);
  seer_vec quotient = seer_vec2(g->b, SEER_VEC_SDIV, v, by);
  return seer_gen_select(
      g, is_negative, seer_vec2(g->b, SEER_VEC_SUB, quotient, seer_gen_const_i64(g, 1)), quotient);
}

static bool divide(void *user, const seer_sum *x, int64_t d, bool is_mod, bool is_known,
    int64_t low, int64_t high, seer_sum *out) {
  seer_gen *g = user;
  for (uint32_t k = 0; k < x->n; k++) {
    if (seer_gen_value_of(&x->term[k]).i == 0) return false;  // a hull
  }
  uint32_t depth = x->n ? x->term[x->n - 1].depth : 0;
  seer_vec v = divide_value(g, seer_gen_sum_value(g, x), d, is_mod, is_known && low >= 0);
  int64_t q_low = is_known ? seer_floor_div(low, d) : INT64_MIN,
          q_high = is_known ? seer_floor_div(high, d) : INT64_MAX;
  *out = sum_of_value(g, v, depth, is_mod ? 0 : q_low, is_mod ? d - 1 : q_high);
  return true;
}

static bool variable(void *user, uint32_t ref, seer_sum *out) {
  seer_gen *g = user;
  const seer_gen_var *var = &g->var[ref];
  const seer_loop_var *decl = &g->loop->var[ref];
  switch (var->kind) {
    case SEER_GEN_UNBOUND:
      return false;
    case SEER_GEN_CONST:
      *out = seer_sum_const(var->c);
      return true;
    case SEER_GEN_LET:
      return seer_gen_sum_of(g, var->let, out);
    case SEER_GEN_HULL:
      *out = seer_sum_atom(
          (seer_sum_term){.coef = 1, .atom = ref + 1, .low = decl->low, .high = decl->high});
      return true;
    case SEER_GEN_VALUE:
    case SEER_GEN_LANE: {
      bool is_lane = var->kind == SEER_GEN_LANE;
      *out = seer_sum_const(0);
      if (var->value.i != 0)
        *out = seer_sum_atom((seer_sum_term){.coef = 1,
            .atom = seer_gen_atom_of(var->value),
            .depth = var->depth,
            .low = decl->low,
            .high = decl->high - var->c - (is_lane ? (int64_t)g->lanes - 1 : 0)});
      out->c = var->c;
      out->lane = is_lane;
      return true;
    }
  }
  return false;
}

bool seer_gen_sum_of(seer_gen *g, seer_expr e, seer_sum *out) {
  seer_sum_reader reader = {&g->loop->expr, g->lanes, g, variable, other, divide};
  return seer_sum_of(&reader, e, out);
}
