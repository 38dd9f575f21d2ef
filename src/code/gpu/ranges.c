// ranges.c - which i64 values of an item's code are written as i32: those whose range is known to
// fit, made of such. A processor for graphics has registers of 32 bits: a 16-step 8x8 tile takes
// 168 of them with 64-bit indices and 128 with these (NVRTC), and divisions of 64 bits are calls.
//
// Ranges begin at the numbers of blocks and items and the counters of loops, and go on through
// sums, products, quotients, remainders, minima and choices. What has no range (a load, a shift)
// stays.
#include "code/source/internal.h"
#include "space/items/items.h"

typedef struct {
  int64_t low, high;
  bool is_known;
} range;

typedef struct {
  seer_source *s;
  range *of;  // by instruction
  int64_t n_parts, n_items;
} finder;

static const range unknown = {0, 0, false};

static bool fits(const range *r) {
  return r->is_known && r->low >= INT32_MIN && r->high <= INT32_MAX;
}

static range range_of(const finder *f, seer_vec v) {
  int64_t c;
  if (seer_vec_const_int(f->s->code, v, &c) && seer_source_at(f->s, v)->lanes == 1)
    return (range){c, c, true};
  return f->of[v.i];
}

static range sum(range x, range y) {
  range r = {0, 0, true};
  bool is_over = __builtin_add_overflow(x.low, y.low, &r.low) ||
      __builtin_add_overflow(x.high, y.high, &r.high);
  return is_over ? unknown : r;
}

static range product(range x, range y) {
  int64_t p[4];
  bool is_over = __builtin_mul_overflow(x.low, y.low, &p[0]) ||
      __builtin_mul_overflow(x.low, y.high, &p[1]) ||
      __builtin_mul_overflow(x.high, y.low, &p[2]) || __builtin_mul_overflow(x.high, y.high, &p[3]);
  if (is_over) return unknown;
  range r = {p[0], p[0], true};
  for (uint32_t k = 1; k < 4; k++) {
    r.low = seer_min_i64(r.low, p[k]);
    r.high = seer_max_i64(r.high, p[k]);
  }
  return r;
}

// By a constant above 0; without sign where x is not negative.
static range quotient(const seer_vec_node *node, range x, range y) {
  bool is_signed = node->op == SEER_VEC_SDIV || node->op == SEER_VEC_SREM;
  if (y.low != y.high || y.low <= 0 || (!is_signed && x.low < 0)) return unknown;
  if (node->op == SEER_VEC_SDIV || node->op == SEER_VEC_UDIV)
    return (range){x.low / y.low, x.high / y.low, true};
  int64_t most = y.low - 1;  // of the remainder, with the sign of x
  if (x.low >= 0) return (range){0, seer_min_i64(most, x.high), true};
  return (range){-most, most, true};
}

static range counter_range(const finder *f, const seer_vec_node *loop, int64_t step) {
  range n = range_of(f, loop->arg[0]);
  if (!n.is_known || n.high < 1) return unknown;
  return product((range){0, n.high - 1, true}, (range){step, step, true});
}

static range find(const finder *f, const seer_vec_node *node) {
  range x = unknown, y = unknown;
  uint32_t n_args = seer_vec_ops[node->op].n_args;
  if (node->op == SEER_VEC_PART) return (range){0, f->n_parts - 1, true};
  if (node->op == SEER_VEC_ITEM) return (range){0, f->n_items - 1, true};
  if (node->op == SEER_VEC_SEXT && seer_source_at(f->s, node->arg[0])->elem == SEER_VEC_I32)
    return (range){INT32_MIN, INT32_MAX, true};
  if (node->op == SEER_VEC_SELECT) {
    x = range_of(f, node->arg[1]);
    y = range_of(f, node->arg[2]);
    if (!x.is_known || !y.is_known) return unknown;
    return (range){seer_min_i64(x.low, y.low), seer_max_i64(x.high, y.high), true};
  }
  if (n_args > 0) x = range_of(f, node->arg[0]);
  if (n_args > 1) y = range_of(f, node->arg[1]);
  if (!x.is_known || (n_args > 1 && !y.is_known)) return unknown;
  switch ((int)node->op) {
    case SEER_VEC_ADD:
    case SEER_VEC_ADD_INDEX:
      return sum(x, y);
    case SEER_VEC_SUB:
    case SEER_VEC_SUB_INDEX:
      if (y.low == INT64_MIN) return unknown;
      return sum(x, (range){-y.high, -y.low, true});
    case SEER_VEC_MUL:
    case SEER_VEC_MUL_INDEX:
      return product(x, y);
    case SEER_VEC_SDIV:
    case SEER_VEC_UDIV:
    case SEER_VEC_SREM:
    case SEER_VEC_UREM:
      return quotient(node, x, y);
    case SEER_VEC_SMIN:
      return (range){seer_min_i64(x.low, y.low), seer_min_i64(x.high, y.high), true};
    case SEER_VEC_SMAX:
      return (range){seer_max_i64(x.low, y.low), seer_max_i64(x.high, y.high), true};
    default:
      return unknown;
  }
}

// Whether the instruction may take all its i64 arguments as i32: what has no sign, only such that
// have none.
static bool takes_short(const finder *f, const seer_vec_node *node) {
  bool is_unsigned = node->op == SEER_VEC_UDIV || node->op == SEER_VEC_UREM ||
      node->op == SEER_VEC_UMIN || node->op == SEER_VEC_UMAX ||
      (node->op >= SEER_VEC_ULT && node->op <= SEER_VEC_UGE) || node->op == SEER_VEC_UINT_FLOAT;
  bool is_other = node->op == SEER_VEC_BITCAST || node->op == SEER_VEC_SHL ||
      node->op == SEER_VEC_LSHR || node->op == SEER_VEC_ASHR || node->op == SEER_VEC_ZEXT;
  if (is_other) return false;
  for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args; k++) {
    const seer_vec_node *arg = seer_source_at(f->s, node->arg[k]);
    if (arg->elem != SEER_VEC_I64 || arg->lanes != 1) continue;
    range r = range_of(f, node->arg[k]);
    bool is_short = fits(&r) && (arg->op == SEER_VEC_CONST || f->s->fact[node->arg[k].i].is_short);
    if (!is_short || (is_unsigned && r.low < 0)) return false;
  }
  return true;
}

static void find_counters(finder *f, uint32_t id) {
  const seer_vec_node *loop = &f->s->code->node[id];
  bool all_fit = true;
  uint32_t c;
  for (c = loop->body[0].first; c != 0; c = f->s->code->node[c].next) {
    const seer_vec_node *node = &f->s->code->node[c];
    if (node->op != SEER_VEC_COUNTER) break;
    f->of[c] = counter_range(f, loop, node->imm);
    range after = sum(f->of[c], (range){node->imm, node->imm, true});  // as the loop ends
    all_fit = all_fit && fits(&f->of[c]) && fits(&after);
  }
  for (uint32_t k = loop->body[0].first; k != c; k = f->s->code->node[k].next)
    f->s->fact[k].is_short = all_fit;
}

void seer_source_find_short(seer_source *s, uint32_t phase) {
  finder f = {.s = s,
      .of = SEER_NEW_ARRAY(s->arena, range, s->code->n),
      .n_parts = seer_loop_phase_parts(s->code->loop, phase),
      .n_items = seer_items_of_phase(s->code->loop, phase)};
  for (size_t k = 0; k < s->n_order; k++) {
    uint32_t id = s->order[k];
    const seer_vec_node *node = &s->code->node[id];
    if (node->op == SEER_VEC_LOOP) find_counters(&f, id);
    if (node->op == SEER_VEC_COUNTER) continue;
    s->fact[id].takes_short = takes_short(&f, node);
    if (node->elem != SEER_VEC_I64 || node->lanes != 1) continue;
    f.of[id] = find(&f, node);
    s->fact[id].is_short = fits(&f.of[id]) && s->fact[id].takes_short;
    s->fact[id].takes_short = s->fact[id].is_short;  // what comes out wide is computed so
  }
  // An offset in bytes may be longer than what it is counted in.
  for (size_t k = 0; k < s->n_order; k++) {
    const seer_vec_node *node = &s->code->node[s->order[k]];
    if (node->op != SEER_VEC_MOVE) continue;
    int64_t n_bytes = seer_vec_elem_bytes((seer_vec_elem)node->of);
    range bytes = range_of(&f, node->arg[1]);
    if (bytes.is_known) bytes = product(bytes, (range){n_bytes, n_bytes, true});
    s->fact[s->order[k]].takes_short = fits(&bytes) && s->fact[s->order[k]].takes_short;
  }
}
