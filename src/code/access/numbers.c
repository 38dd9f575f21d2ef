// numbers.c - see numbers.h. Values are looked at in the order in which they are defined; each is
// found by its content among those that there are, or is the first of its kind.
#include "code/access/numbers.h"

#include <string.h>

#include "code/vector/internal.h"

#define BUCKETS 4096
#define MOST ((uint64_t)1 << 20)

// What makes two values equal.
typedef struct {
  uint8_t op, elem, of;
  uint16_t lanes;
  uint32_t buf, arg[3];  // numbers
  uint64_t bits;
  int64_t imm;
  const seer_sum *sum;  // NULL: the arguments say it
} content;

struct seer_numbers {
  const seer_vec_code *code;
  seer_arena *arena;
  uint32_t n;
  uint32_t *number;  // by instruction; 0: has none
  uint64_t *divisor;  // by number
  content *of;  // by number
  uint32_t *next;  // by number: in its bucket
  uint32_t bucket[BUCKETS];
};

static uint64_t lowest(int64_t c) {
  uint64_t bit = (uint64_t)c & (0 - (uint64_t)c);
  return bit == 0 || bit > MOST ? MOST : bit;
}

uint64_t seer_numbers_divisor(const seer_numbers *numbers, const seer_sum *x) {
  uint64_t least = lowest(x->c);
  for (uint32_t k = 0; k < x->n; k++) {
    uint64_t one = lowest(x->term[k].coef) * numbers->divisor[x->term[k].atom];
    if (one < least) least = one;
  }
  return least;
}

bool seer_numbers_is_apart(const seer_sum *x, const seer_sum *y) {
  if (x->n != y->n) return false;
  for (uint32_t k = 0; k < x->n; k++) {
    uint32_t l = 0;
    while (l < y->n && y->term[l].atom != x->term[k].atom) l++;
    if (l == y->n || y->term[l].coef != x->term[k].coef) return false;
  }
  return true;
}

uint32_t seer_numbers_of(const seer_numbers *numbers, seer_vec v) {
  return v.i < numbers->n ? numbers->number[v.i] : 0;
}

static bool is_summed(const content *c) {
  return c->sum && (c->elem == SEER_VEC_I64 || c->elem == SEER_VEC_PTR);
}

seer_sum seer_numbers_sum(const seer_numbers *numbers, seer_vec v) {
  int64_t c;
  if (seer_vec_const_int(numbers->code, v, &c)) return seer_sum_const(c);
  uint32_t number = seer_numbers_of(numbers, v);
  if (is_summed(&numbers->of[number])) return *numbers->of[number].sum;
  return seer_sum_atom((seer_sum_term){.coef = 1, .atom = number});
}

// ---- contents

static uint64_t mixed(uint64_t h, uint64_t by) {
  h = (h ^ by) * UINT64_C(0x9E3779B97F4A7C15);
  return h ^ (h >> 29);
}

static uint64_t hash_of(const content *c) {
  uint64_t h = mixed(c->op, (uint64_t)c->elem << 8 | (uint64_t)c->of << 16 | c->lanes);
  if (!c->sum) {
    h = mixed(mixed(mixed(h, c->buf), c->bits), (uint64_t)c->imm);
    for (uint32_t k = 0; k < 3; k++) h = mixed(h, c->arg[k]);
    return h;
  }
  uint64_t all = 0;  // whatever order terms have
  for (uint32_t k = 0; k < c->sum->n; k++)
    all += mixed(c->sum->term[k].atom, (uint64_t)c->sum->term[k].coef);
  return mixed(mixed(h, all), (uint64_t)c->sum->c);
}

static bool is_equal(const content *x, const content *y) {
  if (x->op != y->op || x->elem != y->elem || x->lanes != y->lanes || !x->sum != !y->sum)
    return false;
  if (x->sum) return x->sum->c == y->sum->c && seer_numbers_is_apart(x->sum, y->sum);
  return x->of == y->of && x->buf == y->buf && x->bits == y->bits && x->imm == y->imm &&
      memcmp(x->arg, y->arg, sizeof(x->arg)) == 0;
}

// ---- sums

static const seer_sum *kept(const seer_numbers *n, const seer_sum *x) {
  return seer_arena_memdup(n->arena, x, sizeof(*x));
}

// Of an index or a pointer that is made of others.
static bool sum_of(const seer_numbers *n, const seer_vec_node *node, seer_sum *out) {
  bool is_index = node->op == SEER_VEC_ADD_INDEX || node->op == SEER_VEC_SUB_INDEX ||
      node->op == SEER_VEC_MUL_INDEX || node->op == SEER_VEC_MOVE;
  if (!is_index || node->lanes != 1) return false;
  seer_sum x = seer_numbers_sum(n, node->arg[0]), y = seer_numbers_sum(n, node->arg[1]);
  *out = x;
  switch ((int)node->op) {
    case SEER_VEC_ADD_INDEX:
      return seer_sum_add(out, &y, 1);
    case SEER_VEC_SUB_INDEX:
      return seer_sum_add(out, &y, -1);
    case SEER_VEC_MOVE:
      return seer_sum_add(out, &y, seer_vec_elem_bytes((seer_vec_elem)node->of));
    default:
      *out = seer_sum_const(0);
      if (y.n == 0) return seer_sum_add(out, &x, y.c);
      return x.n == 0 && seer_sum_add(out, &y, x.c);
  }
}

// x < y, or not, of indices, as a sum that is below 0, or not. Of its terms, which `d` divides, no
// more is known than that they are below the next multiple.
static bool comparison_of(const seer_numbers *n, const seer_vec_node *node, content *out) {
  bool is_order = node->op >= SEER_VEC_SLT && node->op <= SEER_VEC_SGE;
  if (!is_order || seer_vec_at(n->code, node->arg[0])->elem != SEER_VEC_I64 || node->lanes != 1)
    return false;
  seer_sum x = seer_numbers_sum(n, node->arg[0]), y = seer_numbers_sum(n, node->arg[1]);
  if (!seer_sum_add(&x, &y, -1) || x.n == 0) return false;
  bool is_plain = node->op == SEER_VEC_SLT || node->op == SEER_VEC_SGE;
  int64_t limit = (is_plain ? 0 : 1) - x.c;  // of the terms
  x.c = 0;
  int64_t d = (int64_t)seer_numbers_divisor(n, &x);
  x.c = -(seer_ceil_div(limit, d) * d);
  out->op = node->op == SEER_VEC_SLT || node->op == SEER_VEC_SLE ? SEER_VEC_SLT : SEER_VEC_SGE;
  out->sum = kept(n, &x);
  return true;
}

// ---- values

static uint64_t divisor_of(const seer_numbers *n, const seer_vec_node *node) {
  uint64_t of[3] = {1, 1, 1};
  for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args && node->elem == SEER_VEC_I64; k++) {
    const seer_vec_node *arg = seer_vec_at(n->code, node->arg[k]);
    if (arg->elem != SEER_VEC_I64 || arg->lanes != 1) continue;
    seer_sum x = seer_numbers_sum(n, node->arg[k]);
    of[k] = seer_numbers_divisor(n, &x);
  }
  int64_t by;
  switch ((int)node->op) {
    case SEER_VEC_BUFFER:
      return n->code->loop->buf[node->buf].storage == SEER_STORE_WORKGROUP ? SEER_VEC_GROUP_ALIGN
                                                                           : SEER_VEC_ITEMS_ALIGN;
    case SEER_VEC_COUNTER:
      return lowest(node->imm);
    case SEER_VEC_NEG:
      return of[0];
    case SEER_VEC_ADD:
    case SEER_VEC_SUB:
    case SEER_VEC_SREM:
    case SEER_VEC_UREM:
    case SEER_VEC_SMIN:
    case SEER_VEC_SMAX:
      return of[0] < of[1] ? of[0] : of[1];
    case SEER_VEC_UDIV:
      if (!seer_vec_const_int(n->code, node->arg[1], &by) || by < 1) return 1;
      return (uint64_t)by == of[1] && of[0] >= of[1] ? of[0] / of[1] : 1;
    case SEER_VEC_SELECT:
      return of[1] < of[2] ? of[1] : of[2];
    default:
      return 1;
  }
}

// What is done anew each time has no equal.
static bool is_once(const seer_vec_node *node) {
  return seer_vec_is_load(node) || node->op == SEER_VEC_COUNTER;
}

static void give(seer_numbers *n, uint32_t id) {
  const seer_vec_node *node = &n->code->node[id];
  content c = {.op = node->op, .elem = node->elem, .lanes = node->lanes};
  seer_sum sum;
  if (sum_of(n, node, &sum)) {
    if (sum.n == 1 && sum.c == 0 && sum.term[0].coef == 1) {
      n->number[id] = (uint32_t)sum.term[0].atom;
      return;
    }
    c.op = SEER_VEC_ADD_INDEX;
    c.sum = kept(n, &sum);
  } else if (!comparison_of(n, node, &c)) {
    c.of = node->of;
    c.buf = node->buf;
    c.bits = node->bits;
    c.imm = node->imm;
    for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args; k++)
      c.arg[k] = seer_numbers_of(n, node->arg[k]);
  }
  uint32_t *bucket = &n->bucket[hash_of(&c) % BUCKETS];
  for (uint32_t k = *bucket; k != 0 && !is_once(node); k = n->next[k]) {
    if (!is_equal(&n->of[k], &c)) continue;
    n->number[id] = k;
    return;
  }
  n->number[id] = id;
  n->of[id] = c;
  n->divisor[id] = divisor_of(n, node);
  if (is_once(node)) return;
  n->next[id] = *bucket;
  *bucket = id;
}

static void give_all(seer_numbers *n, const seer_vec_block *block) {
  for (uint32_t id = block->first; id != 0; id = n->code->node[id].next) {
    const seer_vec_node *node = &n->code->node[id];
    if (node->elem != SEER_VEC_VOID) give(n, id);
    for (uint32_t k = 0; k < 2; k++) give_all(n, &node->body[k]);
  }
}

seer_numbers *seer_numbers_find(
    const seer_vec_code *code, const seer_vec_block *body, seer_arena *arena) {
  seer_numbers *n = SEER_NEW(arena, seer_numbers);
  *n = (seer_numbers){.code = code, .arena = arena, .n = code->n};
  n->number = SEER_NEW_ARRAY(arena, uint32_t, code->n);
  n->divisor = SEER_NEW_ARRAY(arena, uint64_t, code->n);
  n->of = SEER_NEW_ARRAY(arena, content, code->n);
  n->next = SEER_NEW_ARRAY(arena, uint32_t, code->n);
  for (uint32_t id = 1; id < code->n; id++) {
    uint8_t op = code->node[id].op;
    bool is_apart =
        op == SEER_VEC_CONST || op == SEER_VEC_UNDEF || op == SEER_VEC_FILL || op == SEER_VEC_SLOT;
    if (is_apart) n->number[id] = id;  // in no block, and all different
    n->divisor[id] = 1;
  }
  give_all(n, body);
  return n;
}
