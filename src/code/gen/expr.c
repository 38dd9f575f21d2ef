// expr.c - expressions -> values: uniform scalars stay scalars and are spread over the lanes only
// where they meet a vector. Integer indices go through sums (tile/sum.h). A load's guard is part of
// it: what it excludes is not read.
#include <string.h>

#include "code/gen/gen.h"

static seer_gen_value expr_raw(seer_gen *g, seer_expr e);

// ---- sums

uint32_t seer_gen_expr_depth(const seer_gen *g, seer_expr e) {
  const seer_expr_node *node = seer_tile_at(g->tile, e);
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
  const seer_expr_node *node = seer_tile_at(g->tile, e);
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
  // Sums and products of indices are made of seer_sums (this function): made of values here, so
  // that it does not call itself for ever.
  int op = seer_tile_at(g->tile, e)->op;
  bool is_sum = op == SEER_EXPR_ADD || op == SEER_EXPR_SUB || op == SEER_EXPR_MUL ||
      op == SEER_EXPR_NEG || op == SEER_EXPR_DIV || op == SEER_EXPR_MOD;
  seer_gen_value v = is_sum ? expr_raw(g, e) : seer_gen_expr(g, e);
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

// The same; of items, once for all copies.
static seer_vec divided(seer_gen *g, seer_vec v, int64_t d, bool is_mod, bool is_natural) {
  enum { TAG_QUOTIENT = 300, TAG_REST };
  uint32_t tag = is_mod ? TAG_REST : TAG_QUOTIENT;
  if (!g->machine->tile.has_items) return divide_value(g, v, d, is_mod, is_natural);
  seer_vec known = seer_gen_memo_find(g, tag, v, SEER_GEN_NONE, d);
  if (known.i != 0) return known;
  known = divide_value(g, v, d, is_mod, is_natural);
  seer_gen_memo_add(g, tag, v, SEER_GEN_NONE, d, known);
  return known;
}

// What a constant of the sum is above a multiple of `d` and of all coefficients: 4y + 3, by 8, is
// divided as 4y is. Of items: the copies of a loop of four elements then lie behind each other.
static int64_t loose(const seer_gen *g, const seer_sum *x, int64_t d) {
  int64_t step = d;
  for (uint32_t k = 0; k < x->n; k++) {
    for (int64_t rest = x->term[k].coef; rest != 0;) {
      int64_t t = step % rest;
      step = rest;
      rest = t;
    }
  }
  if (step < 0) step = -step;
  return g->machine->tile.has_items ? seer_floor_mod(x->c, step) : 0;
}

static bool divide(void *user, const seer_sum *of, int64_t d, bool is_mod, bool is_known,
    int64_t low, int64_t high, seer_sum *out) {
  seer_gen *g = user;
  int64_t above = loose(g, of, d);
  seer_sum whole = *of, *x = &whole;
  whole.c -= above;
  low -= is_known ? above : 0;
  high -= is_known ? above : 0;
  for (uint32_t k = 0; k < x->n; k++) {
    if (seer_gen_value_of(&x->term[k]).i == 0) return false;  // a hull
  }
  uint32_t depth = x->n ? x->term[x->n - 1].depth : 0;
  seer_vec v = divided(g, seer_gen_sum_value(g, x), d, is_mod, is_known && low >= 0);
  int64_t q_low = is_known ? seer_floor_div(low, d) : INT64_MIN,
          q_high = is_known ? seer_floor_div(high, d) : INT64_MAX;
  *out = sum_of_value(g, v, depth, is_mod ? 0 : q_low, is_mod ? d - 1 - above : q_high);
  if (is_mod) out->c += above;
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

// ---- loads

void seer_gen_address(
    seer_gen *g, uint32_t buf, const seer_expr *index, uint32_t n_index, seer_gen_addr *out) {
  const seer_loop_buf *decl = &g->loop->buf[buf];
  memset(out, 0, sizeof(*out));
  out->buf = buf;
  out->index = index;
  out->is_regular = true;
  out->is_inside = true;
  SEER_ASSERT(
      n_index == decl->rank, "buffer %s: %u indices, rank %u", decl->name, n_index, decl->rank);
  for (uint32_t k = 0; k < n_index && out->is_regular; k++) {
    seer_sum at;
    int64_t low, high;
    if (!seer_gen_sum_of(g, index[k], &at)) {
      out->is_regular = false;
    } else {
      if (!seer_sum_range(&at, g->lanes, &low, &high) || low < 0 || high >= decl->dim[k])
        out->is_inside = false;
      if (!seer_sum_add(&out->at, &at, decl->stride[k])) out->is_regular = false;
    }
  }
  if (decl->storage == SEER_STORE_PRIVATE) seer_gen_own_address(g, out);
  if (out->is_regular) return;
  out->is_inside = false;
  for (uint32_t k = 0; k < n_index; k++) {
    seer_vec at = seer_gen_widen(g, seer_gen_expr(g, index[k]));
    if (decl->stride[k] != 1) {
      at = seer_vec2(g->b, SEER_VEC_MUL, at,
          seer_gen_splat(g, seer_gen_const_i64(g, decl->stride[k]), g->lanes));
    }
    out->lanes = out->lanes.i != 0 ? seer_vec2(g->b, SEER_VEC_ADD, out->lanes, at) : at;
  }
}

static void and_uniform(seer_gen *g, seer_gen_condition *c, seer_vec v, uint32_t depth) {
  seer_vec both = seer_gen_and(g, c->uniform, v);
  if (both.i == c->uniform.i) return;
  c->uniform = both;
  if (depth > c->depth) c->depth = depth;
}

// The parts of a conjunction that are not known to hold.
static void conjunction(seer_gen *g, seer_expr e, seer_gen_condition *c) {
  const seer_expr_node *node = seer_tile_at(g->tile, e);
  if (node->op == SEER_EXPR_AND && node->dtype == SEER_DTYPE_BOOL) {
    conjunction(g, node->arg[0], c);
    conjunction(g, node->arg[1], c);
    return;
  }
  if (seer_gen_is_true(g, e)) return;
  seer_gen_value v = seer_gen_expr(g, e);
  if (v.is_vec) {
    c->mask = seer_gen_and(g, c->mask, v.v);
  } else {
    and_uniform(g, c, v.v, seer_gen_expr_depth(g, e));
  }
}

static bool is_never(const seer_gen *g, const seer_gen_condition *c) {
  bool is_true;
  return c->uniform.i != 0 && seer_gen_const_bool(g, c->uniform, &is_true) && !is_true;
}

// `guard`, and what else must hold for the load `node` at `addr` to be meant: where its place is
// not inside the buffer whatever happens, the bounds of copies and lanes.
static seer_gen_condition meant(seer_gen *g, const seer_expr_node *node, const seer_gen_addr *addr,
    bool is_safe, const seer_gen_condition *guard) {
  const seer_expr *index = &g->loop->expr.index[node->index0];
  seer_gen_condition c = *guard;
  bool is_lane = !addr->is_regular || addr->at.lane != 0;
  if (is_safe) return c;
  for (uint32_t k = 0; k < g->n_pred; k++) {
    const seer_gen_pred *p = &g->pred[k];
    if (p->var == SEER_GEN_NO_VAR ||
        seer_tile_index_depends(g->tile, index, node->n_index, p->var)) {
      and_uniform(g, &c, p->cond, p->depth);
    }
  }
  if (is_lane && g->lane_mask.i != 0) c.mask = seer_gen_and(g, c.mask, g->lane_mask);
  // One address for all lanes, none of which may be meant: (4 + lane) / 3 of lanes 0 and 1.
  if (!is_lane && g->lane_mask.i != 0 &&
      seer_tile_index_depends(g->tile, index, node->n_index, g->lane_var))
    and_uniform(g, &c, seer_vec_any(g->b, g->lane_mask), g->depth);
  return c;
}

// The bits of a constant as it lies in memory.
static uint16_t bits_of_constant(const seer_expr_node *node) {
  const seer_float_format *format = seer_dtype_format((seer_dtype)node->dtype);
  return format ? seer_float_to_bits(format, node->value.f) : (uint8_t)node->value.i;
}

// Four bytes, or two halves, as a word; false where they are no neighbours, or in no memory.
static bool load_word(seer_gen *g, seer_expr e, seer_gen_value *out) {
  seer_expr part[SEER_WORD_MAX_PARTS];
  uint32_t n;
  if (!seer_expr_is_word(&g->loop->expr, e, part, &n)) return false;
  const seer_expr_node *node = seer_tile_at(g->tile, part[0]);
  if (g->tile->buf[node->ref].is_register) return false;
  seer_gen_addr addr[SEER_WORD_MAX_PARTS];
  for (uint32_t k = 0; k < n; k++) {
    const seer_expr *index = &g->loop->expr.index[seer_tile_at(g->tile, part[k])->index0];
    seer_gen_address(g, node->ref, index, node->n_index, &addr[k]);
    seer_sum apart = addr[k].at;
    if (!addr[k].is_regular || !seer_sum_add(&apart, &addr[0].at, -1)) return false;
    if (apart.n != 0 || apart.lane != 0 || apart.c != k) return false;
  }
  seer_gen_condition guard = {0};
  uint16_t fill = 0;
  if (node->arg[0].i != 0) {
    const seer_expr_node *otherwise = seer_tile_at(g->tile, node->arg[1]);
    if (otherwise->op != SEER_EXPR_CONST_I && otherwise->op != SEER_EXPR_CONST_F) return false;
    conjunction(g, node->arg[0], &guard);
    if (guard.uniform.i != 0 || guard.mask.i != 0) fill = bits_of_constant(otherwise);
  }
  if (addr[0].at.lane == 0 && guard.mask.i != 0) return false;
  bool is_safe = seer_gen_is_safe(g, &addr[0]) && seer_gen_is_safe(g, &addr[n - 1]);
  seer_gen_condition c = meant(g, node, &addr[0], is_safe, &guard);
  if (is_never(g, &c)) {
    uint64_t word = seer_gen_word_of(fill, 4 / n);
    *out = (seer_gen_value){.v = seer_vec_const(g->b, SEER_VEC_I32, 1, word)};
    return true;
  }
  return seer_gen_read_word(g, &addr[0], &c, fill, out);
}

// The bytes that other bytes are the numbers of, in a buffer that has one for each: of several
// lanes it is one instruction.
static bool load_from_table(seer_gen *g, const seer_expr_node *node, seer_gen_value *out) {
  const seer_loop_buf *decl = &g->loop->buf[node->ref];
  if (node->arg[0].i != 0 || decl->rank != 1 || decl->dim[0] != SEER_VEC_TABLE_BYTES) return false;
  if (!seer_dtype_is_byte(decl->dtype) || g->tile->buf[node->ref].is_register) return false;
  const seer_expr_node *index = seer_tile_at(g->tile, g->loop->expr.index[node->index0]);
  if (index->op != SEER_EXPR_CAST) return false;
  if (seer_tile_at(g->tile, index->arg[0])->dtype != SEER_DTYPE_U8) return false;
  seer_gen_value number = seer_gen_expr(g, index->arg[0]);
  if (!number.is_vec) return false;
  seer_vec v = seer_gen_read_table(g, node->ref, number.v);
  *out = (seer_gen_value){.v = v, .is_vec = true};
  return true;
}

static seer_gen_value load(seer_gen *g, seer_expr e) {
  const seer_expr_node *node = seer_tile_at(g->tile, e);
  const seer_expr *index = &g->loop->expr.index[node->index0];
  seer_dtype dtype = (seer_dtype)node->dtype;
  seer_vec_elem elem = seer_gen_memory_elem(dtype);
  seer_gen_condition guard = {0};
  seer_gen_value otherwise = {0}, found;
  if (load_from_table(g, node, &found)) return found;
  if (node->arg[0].i != 0) {
    guard.is_guarded = true;
    conjunction(g, node->arg[0], &guard);
    if (is_never(g, &guard)) return seer_gen_expr(g, node->arg[1]);
    if (guard.uniform.i != 0 || guard.mask.i != 0) otherwise = seer_gen_expr(g, node->arg[1]);
  }
  seer_gen_addr addr;
  seer_gen_address(g, node->ref, index, node->n_index, &addr);
  seer_gen_value loaded;
  bool is_filled = false;  // `otherwise` came out of the load itself
  if (g->tile->buf[node->ref].is_register) {
    loaded = seer_gen_read_register(g, &addr);
  } else {
    seer_gen_condition c = meant(g, node, &addr, seer_gen_is_safe(g, &addr), &guard);
    bool is_lane = !addr.is_regular || addr.at.lane != 0;
    if (is_never(g, &c))
      return (seer_gen_value){.v = seer_vec_const(g->b, seer_gen_elem(dtype), 1, 0)};
    seer_vec zero = seer_vec_const(g->b, elem, 1, 0), fill = zero;
    bool is_const =
        otherwise.v.i != 0 && !otherwise.is_vec && seer_vec_is_const(g->code, otherwise.v);
    if (is_const) fill = seer_gen_to_memory(g, dtype, otherwise.v);
    is_filled = is_const && seer_vec_is_const(g->code, fill);
    if (!is_filled) fill = zero;
    if (!is_lane && c.mask.i != 0) {  // the same address for all lanes, read if any lane means it
      seer_vec any =
          seer_vec_any(g->b, g->lane_mask.i != 0 ? seer_gen_and(g, c.mask, g->lane_mask) : c.mask);
      and_uniform(g, &c, any, g->depth);
      c.mask = SEER_GEN_NONE;
      is_filled = false;
    }
    seer_vec p;
    loaded = seer_gen_read(g, &addr, &c, fill, &p);
    if (p.i != 0 && c.uniform.i == 0) seer_gen_prefetch(g, index, node->n_index, &addr, p);
  }
  if (is_filled || otherwise.v.i == 0) return loaded;
  if (guard.uniform.i != 0 && guard.mask.i == 0 && !loaded.is_vec && !otherwise.is_vec) {
    return (seer_gen_value){.v = seer_gen_select(g, guard.uniform, loaded.v, otherwise.v)};
  }
  seer_vec v = seer_gen_widen(g, loaded), other = seer_gen_widen(g, otherwise);
  if (guard.mask.i != 0) v = seer_vec_select(g->b, guard.mask, v, other);
  if (guard.uniform.i != 0) v = seer_gen_select(g, guard.uniform, v, other);
  return (seer_gen_value){.v = v, .is_vec = true};
}

// ---- expressions

// What data say may be any number: sums of it wrap, and do not go through those of indices, which
// are known not to overflow.
static bool is_data(const seer_gen *g, seer_expr e) {
  const seer_expr_node *node = seer_tile_at(g->tile, e);
  if (node->op == SEER_EXPR_LOAD) return true;
  if (node->op == SEER_EXPR_VAR)
    return g->var[node->ref].kind == SEER_GEN_LET && is_data(g, g->var[node->ref].let);
  for (uint32_t k = 0; k < 3; k++) {
    if (node->arg[k].i != 0 && is_data(g, node->arg[k])) return true;
  }
  return false;
}

// a `op` b of indices. Along unit-stride lanes the answer changes at one lane: i32 lane numbers
// against a limit.
static bool compare_lin(seer_gen *g, const seer_expr_node *node, seer_gen_value *out) {
  seer_sum d, b;
  if (!seer_gen_sum_of(g, node->arg[0], &d) || !seer_gen_sum_of(g, node->arg[1], &b)) return false;
  if (!seer_sum_add(&d, &b, -1)) return false;
  int op = node->op;
  int64_t low, high;
  if (seer_sum_range(&d, g->lanes, &low, &high)) {
    int known = -1;
    if (op == SEER_EXPR_LT) known = high < 0 ? 1 : low >= 0 ? 0 : -1;
    if (op == SEER_EXPR_LE) known = high <= 0 ? 1 : low > 0 ? 0 : -1;
    if (op == SEER_EXPR_GT) known = low > 0 ? 1 : high <= 0 ? 0 : -1;
    if (op == SEER_EXPR_GE) known = low >= 0 ? 1 : high < 0 ? 0 : -1;
    if (op == SEER_EXPR_EQ || op == SEER_EXPR_NE) {
      known = low > 0 || high < 0 ? op == SEER_EXPR_NE
          : low == 0 && high == 0 ? op == SEER_EXPR_EQ
                                  : -1;
    }
    if (known >= 0) {
      *out = (seer_gen_value){.v = seer_vec_const(g->b, SEER_VEC_I1, 1, (uint64_t)known)};
      return true;
    }
  }
  if (d.lane == 0) {
    seer_vec zero = seer_gen_const_i64(g, 0);
    *out = (seer_gen_value){.v = seer_gen_compare(g, (seer_expr_op)op, SEER_DTYPE_I64,
                                seer_gen_sum_value(g, &d), zero)};
    return true;
  }
  bool is_order =
      op == SEER_EXPR_LT || op == SEER_EXPR_LE || op == SEER_EXPR_GT || op == SEER_EXPR_GE;
  if (is_order && (d.lane == 1 || d.lane == -1)) {
    // d = base + l < 0 iff l < -base; base - l < 0 iff not l < base + 1; the other two by
    // complement
    bool is_less = op == SEER_EXPR_LT || op == SEER_EXPR_LE;
    if (op == SEER_EXPR_LE || op == SEER_EXPR_GT) d.c -= 1;  // d <= 0 iff d - 1 < 0
    seer_sum limit;
    memset(&limit, 0, sizeof(limit));
    if (!seer_sum_add(&limit, &d, d.lane == 1 ? -1 : 1)) return false;
    limit.lane = 0;
    if (d.lane == -1) limit.c += 1;
    seer_vec below = seer_gen_lanes_below(g, seer_gen_sum_value(g, &limit));
    bool flip = (d.lane == 1) != is_less;
    *out =
        (seer_gen_value){.v = flip ? seer_vec1(g->b, SEER_VEC_NOT, below) : below, .is_vec = true};
    return true;
  }
  seer_gen_value v = seer_gen_sum_lanes(g, &d);
  seer_vec zero = seer_vec_const(g->b, SEER_VEC_I64, g->lanes, 0);
  *out = (seer_gen_value){
      .v = seer_gen_compare(g, (seer_expr_op)op, SEER_DTYPE_I64, v.v, zero), .is_vec = true};
  return true;
}

bool seer_gen_is_true(seer_gen *g, seer_expr predicate) {
  enum { UNKNOWN, ALWAYS, NOT_ALWAYS };
  if (g->full_proof[predicate.i]) return true;
  if (g->proof[predicate.i] == UNKNOWN) {
    int64_t low, high;
    bool is_known =
        seer_expr_range(&g->loop->expr, predicate, g->tile->low, g->tile->high, &low, &high);
    g->proof[predicate.i] = is_known && low >= 1 ? ALWAYS : NOT_ALWAYS;
  }
  return g->proof[predicate.i] == ALWAYS;
}

static seer_gen_value expr_raw(seer_gen *g, seer_expr e) {
  const seer_expr_node *node = seer_tile_at(g->tile, e);
  seer_expr_op op = (seer_expr_op)node->op;
  if (op == SEER_EXPR_VAR) {
    const seer_gen_var *var = &g->var[node->ref];
    if (var->kind == SEER_GEN_LET) return seer_gen_expr(g, var->let);
    SEER_ASSERT(false, "variable %s is not bound", g->loop->var[node->ref].name);
  }
  seer_gen_value arg[3] = {{{0}, false}};
  bool is_vec = false;
  uint32_t n = seer_expr_arity(op);
  for (uint32_t k = 0; k < n; k++) {
    arg[k] = seer_gen_expr(g, node->arg[k]);
    is_vec = is_vec || arg[k].is_vec;
  }
  bool keep = op == SEER_EXPR_SELECT && !arg[0].is_vec;  // a uniform choice between vectors
  for (uint32_t k = keep ? 1 : 0; is_vec && k < n; k++) arg[k].v = seer_gen_widen(g, arg[k]);
  seer_dtype arg_dtype = (seer_dtype)seer_tile_at(g->tile, node->arg[0])->dtype;
  seer_vec v =
      seer_gen_apply(g, op, (seer_dtype)node->dtype, arg_dtype, arg[0].v, arg[1].v, arg[2].v);
  return (seer_gen_value){.v = v, .is_vec = is_vec};
}

// In the value of a sum over an axis, where the order of additions is open anyway, a product that
// is added is one instruction with its addition.
static bool sum_with_product(seer_gen *g, const seer_expr_node *node, seer_gen_value *out) {
  if (!g->is_in_sum || !seer_dtype_is_float((seer_dtype)node->dtype)) return false;
  uint32_t k = seer_tile_at(g->tile, node->arg[1])->op == SEER_EXPR_MUL ? 1 : 0;
  const seer_expr_node *product = seer_tile_at(g->tile, node->arg[k]);
  if (product->op != SEER_EXPR_MUL) return false;
  seer_gen_value arg[3] = {seer_gen_expr(g, product->arg[0]), seer_gen_expr(g, product->arg[1]),
      seer_gen_expr(g, node->arg[1 - k])};
  bool is_vec = arg[0].is_vec || arg[1].is_vec || arg[2].is_vec;
  for (uint32_t i = 0; is_vec && i < 3; i++) arg[i].v = seer_gen_widen(g, arg[i]);
  seer_vec v = seer_vec3(g->b, SEER_VEC_FMULADD, arg[0].v, arg[1].v, arg[2].v);
  *out = (seer_gen_value){.v = v, .is_vec = is_vec};
  return true;
}

static seer_gen_value build(seer_gen *g, seer_expr e) {
  const seer_expr_node *node = seer_tile_at(g->tile, e);
  seer_dtype dtype = (seer_dtype)node->dtype;
  switch ((int)node->op) {
    case SEER_EXPR_CONST_F:
      return (seer_gen_value){.v = seer_gen_const(g, dtype, (seer_scalar){.f = node->value.f}, 1)};
    case SEER_EXPR_CONST_I:
      return (seer_gen_value){.v = seer_gen_const(g, dtype, (seer_scalar){.i = node->value.i}, 1)};
    case SEER_EXPR_LOAD:
      return load(g, e);
    case SEER_EXPR_LT:
    case SEER_EXPR_LE:
    case SEER_EXPR_GT:
    case SEER_EXPR_GE:
    case SEER_EXPR_EQ:
    case SEER_EXPR_NE: {
      seer_gen_value v;
      if (seer_gen_is_true(g, e))
        return (seer_gen_value){.v = seer_vec_const(g->b, SEER_VEC_I1, 1, 1)};
      bool is_index =
          seer_tile_at(g->tile, node->arg[0])->dtype == SEER_DTYPE_I64 && !is_data(g, e);
      if (is_index && compare_lin(g, node, &v)) return v;
      break;
    }
    case SEER_EXPR_VAR:
    case SEER_EXPR_ADD:
    case SEER_EXPR_SUB:
    case SEER_EXPR_MUL:
    case SEER_EXPR_NEG:
    case SEER_EXPR_DIV:
    case SEER_EXPR_MOD: {
      seer_sum x;
      if (dtype == SEER_DTYPE_I64 && !is_data(g, e) && seer_gen_sum_of(g, e, &x))
        return seer_gen_sum_lanes(g, &x);
      seer_gen_value sum;
      if (node->op == SEER_EXPR_ADD && sum_with_product(g, node, &sum)) return sum;
      break;
    }
    case SEER_EXPR_OR: {
      seer_gen_value word;
      if (load_word(g, e, &word)) return word;
      break;
    }
    case SEER_EXPR_SELECT: {  // a condition that is known decides before the other side is built
      seer_gen_value cond = seer_gen_expr(g, node->arg[0]);
      bool is_true;
      if (!cond.is_vec && seer_gen_const_bool(g, cond.v, &is_true))
        return seer_gen_expr(g, node->arg[is_true ? 1 : 2]);
      break;
    }
    default:
      break;
  }
  return expr_raw(g, e);
}

seer_gen_value seer_gen_expr(seer_gen *g, seer_expr e) {
  if (g->memo_tick[e.i] == g->tick) return g->memo_value[e.i];
  seer_gen_value v = build(g, e);
  g->memo_tick[e.i] = g->tick;
  g->memo_value[e.i] = v;
  return v;
}
