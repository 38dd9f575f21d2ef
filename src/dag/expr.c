// expr.c - the pool of expressions: builders that fold, and walks.
// Nodes are interned: building an equal node gives the same id, so shared sub-expressions stay
// shared through copies and through text. Each builder either fires one rewrite (on ids that were
// built the same way) or interns the node as it is; so rebuilding any stored node from its parts
// gives the node itself, which is why printing and parsing is a fixpoint.
#include "dag/expr.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "dag/scalar.h"

static const struct {
  const char *text;
  uint8_t arity;
  bool is_infix;
  seer_expr_cost cost;
} ops[SEER_EXPR_COUNT] = {
    [SEER_EXPR_NONE] = {"none", 0, false, SEER_COST_NOTHING},
    [SEER_EXPR_CONST_F] = {"const_f", 0, false, SEER_COST_NOTHING},
    [SEER_EXPR_CONST_I] = {"const_i", 0, false, SEER_COST_NOTHING},
    [SEER_EXPR_VAR] = {"var", 0, false, SEER_COST_NOTHING},
    [SEER_EXPR_LOAD] = {"load", 0, false, SEER_COST_NOTHING},
#define INFIX true
#define CALL false
#define SEER_SCALAR(ID, text, arity, class, cost) \
  [SEER_EXPR_##ID] = {text, arity, class, SEER_COST_##cost},
#include "dag/scalar.inc"
#undef SEER_SCALAR
#undef INFIX
#undef CALL
};

uint32_t seer_expr_arity(seer_expr_op op) { return ops[op].arity; }
seer_expr_cost seer_expr_op_cost(seer_expr_op op) { return ops[op].cost; }
const char *seer_expr_op_text(seer_expr_op op) { return ops[op].text; }

void seer_expr_pool_init(seer_expr_pool *pool, seer_arena *arena) {
  *pool = (seer_expr_pool){.arena = arena, .n = 1};
  pool->cap = 64;
  pool->node = SEER_NEW_ARRAY(arena, seer_expr_node, pool->cap);
  pool->n_bucket = 128;
  pool->bucket = SEER_NEW_ARRAY(arena, uint32_t, pool->n_bucket);
}

// ---- interning

static uint64_t node_hash(const seer_expr_node *node, const seer_expr *index) {
  uint64_t h =
      seer_hash_u64((uint64_t)node->op | (uint64_t)node->dtype << 8 | (uint64_t)node->ref << 16, 7);
  h = seer_hash_u64((uint64_t)node->arg[0].i | (uint64_t)node->arg[1].i << 32, h);
  h = seer_hash_u64((uint64_t)node->arg[2].i | (uint64_t)node->n_index << 32, h);
  h = seer_hash_u64((uint64_t)node->value.i, h);
  for (uint32_t k = 0; k < node->n_index; k++) h = seer_hash_u64(index[k].i, h);
  return h;
}

static bool node_equal(const seer_expr_pool *pool, const seer_expr_node *a, const seer_expr_node *b,
    const seer_expr *b_index) {
  if (a->op != b->op || a->dtype != b->dtype || a->n_index != b->n_index || a->ref != b->ref)
    return false;
  if (a->value.i != b->value.i) return false;
  for (int k = 0; k < 3; k++) {
    if (a->arg[k].i != b->arg[k].i) return false;
  }
  for (uint32_t k = 0; k < a->n_index; k++) {
    if (pool->index[a->index0 + k].i != b_index[k].i) return false;
  }
  return true;
}

static void bucket_insert(seer_expr_pool *pool, uint64_t hash, uint32_t id) {
  size_t at = (size_t)hash & (pool->n_bucket - 1);
  while (pool->bucket[at] != 0) at = (at + 1) & (pool->n_bucket - 1);
  pool->bucket[at] = id;
}

static void grow_buckets(seer_expr_pool *pool) {
  pool->n_bucket *= 2;
  pool->bucket = SEER_NEW_ARRAY(pool->arena, uint32_t, pool->n_bucket);
  for (uint32_t id = 1; id < pool->n; id++) {
    const seer_expr_node *node = &pool->node[id];
    bucket_insert(pool, node_hash(node, node->n_index ? &pool->index[node->index0] : NULL), id);
  }
}

static seer_expr intern(seer_expr_pool *pool, seer_expr_node node, const seer_expr *index) {
  uint64_t hash = node_hash(&node, index);
  size_t at = (size_t)hash & (pool->n_bucket - 1);
  for (; pool->bucket[at] != 0; at = (at + 1) & (pool->n_bucket - 1)) {
    if (node_equal(pool, &pool->node[pool->bucket[at]], &node, index))
      return (seer_expr){pool->bucket[at]};
  }
  SEER_ASSERT(pool->n < UINT32_MAX / 2, "%zu expressions", pool->n);
  if (node.n_index > 0) {
    seer_expr kept[SEER_MAX_RANK];  // `index` may point into the array that grows
    memcpy(kept, index, node.n_index * sizeof(seer_expr));
    node.index0 = (uint32_t)pool->n_index;
    for (uint32_t k = 0; k < node.n_index; k++) {
      pool->index = SEER_GROW(pool->arena, seer_expr, pool->index, pool->n_index, &pool->cap_index);
      pool->index[pool->n_index++] = kept[k];
    }
  }
  pool->node = SEER_GROW(pool->arena, seer_expr_node, pool->node, pool->n, &pool->cap);
  uint32_t id = (uint32_t)pool->n;
  pool->node[pool->n++] = node;
  bucket_insert(pool, hash, id);
  if (pool->n * 2 > pool->n_bucket) grow_buckets(pool);
  return (seer_expr){id};
}

// ---- leaves

seer_expr seer_expr_f(seer_expr_pool *pool, seer_dtype dtype, double value) {
  SEER_ASSERT(seer_dtype_is_float(dtype), "float constant of dtype %s", seer_dtype_name(dtype));
  seer_expr_node node = {.op = SEER_EXPR_CONST_F, .dtype = (uint8_t)dtype};
  node.value.f = isnan(value) ? (double)NAN : seer_scalar_round(dtype, value);  // one NaN
  return intern(pool, node, NULL);
}

seer_expr seer_expr_int(seer_expr_pool *pool, seer_dtype dtype, int64_t value) {
  SEER_ASSERT(!seer_dtype_is_float(dtype), "integer constant of dtype %s", seer_dtype_name(dtype));
  seer_expr_node node = {.op = SEER_EXPR_CONST_I, .dtype = (uint8_t)dtype};
  node.value.i = seer_scalar_wrap(dtype, value);
  return intern(pool, node, NULL);
}

seer_expr seer_expr_i(seer_expr_pool *pool, int64_t value) {
  return seer_expr_int(pool, SEER_DTYPE_I64, value);
}

seer_expr seer_expr_scalar(seer_expr_pool *pool, seer_dtype dtype, seer_scalar value) {
  return seer_dtype_is_float(dtype) ? seer_expr_f(pool, dtype, value.f)
                                    : seer_expr_int(pool, dtype, value.i);
}

seer_expr seer_expr_var(seer_expr_pool *pool, uint32_t ref) {
  return intern(
      pool, (seer_expr_node){.op = SEER_EXPR_VAR, .dtype = SEER_DTYPE_I64, .ref = ref}, NULL);
}

seer_expr seer_expr_load_guarded(seer_expr_pool *pool, seer_dtype dtype, uint32_t buffer,
    const seer_expr *index, uint32_t n, seer_expr predicate, seer_expr otherwise) {
  SEER_ASSERT(n <= SEER_MAX_RANK, "%u indices", n);
  for (uint32_t k = 0; k < n; k++) {
    SEER_ASSERT(index[k].i != 0 && seer_expr_at(pool, index[k])->dtype == SEER_DTYPE_I64,
        "index %u of buffer %u is not i64", k, buffer);
  }
  if (predicate.i != 0) {
    const seer_expr_node *p = seer_expr_at(pool, predicate);
    SEER_ASSERT(p->dtype == SEER_DTYPE_BOOL, "predicate of dtype %s",
        seer_dtype_name((seer_dtype)p->dtype));
    SEER_ASSERT(otherwise.i != 0 && seer_expr_at(pool, otherwise)->dtype == dtype,
        "guarded load of %s, else %s", seer_dtype_name(dtype),
        seer_dtype_name((seer_dtype)seer_expr_at(pool, otherwise)->dtype));
    if (p->op == SEER_EXPR_CONST_I) {
      if (p->value.i == 0) return otherwise;
      predicate.i = otherwise.i = 0;
    }
  } else {
    otherwise.i = 0;
  }
  seer_expr_node node = {
      .op = SEER_EXPR_LOAD, .dtype = (uint8_t)dtype, .n_index = (uint8_t)n, .ref = buffer};
  node.arg[0] = predicate;
  node.arg[1] = otherwise;
  return intern(pool, node, index);
}

seer_expr seer_expr_load(
    seer_expr_pool *pool, seer_dtype dtype, uint32_t buffer, const seer_expr *index, uint32_t n) {
  return seer_expr_load_guarded(pool, dtype, buffer, index, n, (seer_expr){0}, (seer_expr){0});
}

// ---- operators

static bool is_const(const seer_expr_node *node) {
  return node->op == SEER_EXPR_CONST_I || node->op == SEER_EXPR_CONST_F;
}

static bool is_comparison(seer_expr_op op) { return op >= SEER_EXPR_LT && op <= SEER_EXPR_NE; }

static seer_scalar const_value(const seer_expr_node *node) {
  seer_scalar v = {.i = node->value.i};  // same bits whichever member
  return v;
}

static seer_expr make_const(seer_expr_pool *pool, seer_dtype dtype, seer_scalar v) {
  return seer_dtype_is_float(dtype) ? seer_expr_f(pool, dtype, v.f)
                                    : seer_expr_int(pool, dtype, v.i);
}

static seer_expr intern_op(seer_expr_pool *pool, seer_expr_op op, seer_dtype dtype, seer_expr a,
    seer_expr b, seer_expr c) {
  seer_expr_node node = {.op = (uint8_t)op, .dtype = (uint8_t)dtype, .arg = {a, b, c}};
  return intern(pool, node, NULL);
}

seer_dtype seer_expr_op_gives(seer_expr_op op, seer_dtype of) {
  if (op == SEER_EXPR_ISNAN || is_comparison(op)) return SEER_DTYPE_BOOL;
  if (seer_expr_is_dot2(op)) return SEER_DTYPE_F32;
  if (op == SEER_EXPR_BITS) return seer_dtype_bytes(of) == 1 ? SEER_DTYPE_U8 : SEER_DTYPE_U16;
  return of;
}

seer_expr seer_expr_unary(seer_expr_pool *pool, seer_expr_op op, seer_expr a) {
  SEER_ASSERT(ops[op].arity == 1 && op != SEER_EXPR_CAST, "%s as unary", ops[op].text);
  SEER_ASSERT(a.i != 0 && a.i < pool->n, "operand %u of %zu", a.i, pool->n);
  const seer_expr_node *x = seer_expr_at(pool, a);
  seer_dtype dtype = (seer_dtype)x->dtype;
  seer_dtype result = seer_expr_op_gives(op, dtype);
  bool is_real = op == SEER_EXPR_SQRT || (op >= SEER_EXPR_EXP && op <= SEER_EXPR_SIGMOID);
  SEER_ASSERT(
      !is_real || seer_dtype_is_float(dtype), "%s of %s", ops[op].text, seer_dtype_name(dtype));
  SEER_ASSERT(
      op != SEER_EXPR_BITS || seer_dtype_format(dtype), "bits of %s", seer_dtype_name(dtype));
  SEER_ASSERT(
      op != SEER_EXPR_TF32 || dtype == SEER_DTYPE_F32, "tf32 of %s", seer_dtype_name(dtype));
  SEER_ASSERT(
      op != SEER_EXPR_NOT || !seer_dtype_is_float(dtype), "not of %s", seer_dtype_name(dtype));
  if (is_const(x)) {
    seer_scalar v = const_value(x), none = {.i = 0};
    return make_const(pool, result, seer_scalar_apply(op, result, dtype, v, none, none));
  }
  return intern_op(pool, op, result, a, (seer_expr){0}, (seer_expr){0});
}

static bool is_commutative(seer_expr_op op) {
  return op == SEER_EXPR_ADD || op == SEER_EXPR_MUL || op == SEER_EXPR_MIN || op == SEER_EXPR_MAX ||
      op == SEER_EXPR_AND || op == SEER_EXPR_OR || op == SEER_EXPR_XOR || op == SEER_EXPR_EQ ||
      op == SEER_EXPR_NE;
}

// Rewrites of a op b over integers or BOOL where b may be a constant; 0: none applies.
static seer_expr fold_int(seer_expr_pool *pool, seer_expr_op op, seer_expr a, seer_expr b) {
  const seer_expr_node *x = seer_expr_at(pool, a), *y = seer_expr_at(pool, b);
  seer_dtype dtype = (seer_dtype)x->dtype;
  if (a.i == b.i) {
    if (op == SEER_EXPR_SUB) return seer_expr_int(pool, dtype, 0);
    if (op == SEER_EXPR_MIN || op == SEER_EXPR_MAX || op == SEER_EXPR_AND || op == SEER_EXPR_OR)
      return a;
    if (is_comparison(op)) {
      bool holds = op == SEER_EXPR_LE || op == SEER_EXPR_GE || op == SEER_EXPR_EQ;
      return seer_expr_int(pool, SEER_DTYPE_BOOL, holds);
    }
  }
  if (y->op != SEER_EXPR_CONST_I) return (seer_expr){0};
  int64_t c = y->value.i;
  if (dtype == SEER_DTYPE_BOOL) {
    if (op == SEER_EXPR_AND) return c ? a : b;
    if (op == SEER_EXPR_OR) return c ? b : a;
    return (seer_expr){0};
  }
  if (c == 0 && (op == SEER_EXPR_ADD || op == SEER_EXPR_SUB)) return a;
  if (c == 0 && (op == SEER_EXPR_MUL || op == SEER_EXPR_DOT4)) return b;
  if (c == 1 && (op == SEER_EXPR_MUL || op == SEER_EXPR_DIV)) return a;
  if (c == 1 && op == SEER_EXPR_MOD) return seer_expr_int(pool, dtype, 0);
  if (op == SEER_EXPR_SUB && seer_dtype_is_signed(dtype) && c != INT64_MIN &&
      seer_scalar_wrap(dtype, -c) == -c) {
    return seer_expr_binary(pool, SEER_EXPR_ADD, a, seer_expr_int(pool, dtype, -c));
  }
  bool merges = (op == SEER_EXPR_ADD || op == SEER_EXPR_MUL) && x->op == op;
  if (merges && seer_expr_at(pool, x->arg[1])->op == SEER_EXPR_CONST_I) {
    seer_expr inner = x->arg[0];
    return seer_expr_binary(pool, op, inner, seer_expr_binary(pool, op, x->arg[1], b));
  }
  return (seer_expr){0};
}

seer_expr seer_expr_binary(seer_expr_pool *pool, seer_expr_op op, seer_expr a, seer_expr b) {
  SEER_ASSERT(ops[op].arity == 2, "%s as binary", ops[op].text);
  SEER_ASSERT(a.i != 0 && b.i != 0 && a.i < pool->n && b.i < pool->n, "operands %u, %u of %zu", a.i,
      b.i, pool->n);
  const seer_expr_node *x = seer_expr_at(pool, a), *y = seer_expr_at(pool, b);
  SEER_ASSERT(x->dtype == y->dtype, "%s of %s and %s", ops[op].text,
      seer_dtype_name((seer_dtype)x->dtype), seer_dtype_name((seer_dtype)y->dtype));
  seer_dtype dtype = (seer_dtype)x->dtype;
  bool is_bits = op == SEER_EXPR_AND || op == SEER_EXPR_OR || op == SEER_EXPR_XOR ||
      op == SEER_EXPR_SHL || op == SEER_EXPR_SHR;
  SEER_ASSERT(
      !is_bits || !seer_dtype_is_float(dtype), "%s of %s", ops[op].text, seer_dtype_name(dtype));
  bool is_dot = op == SEER_EXPR_DOT4 || seer_expr_is_dot2(op);
  SEER_ASSERT(!is_dot || dtype == SEER_DTYPE_I32, "%s of %s", ops[op].text, seer_dtype_name(dtype));
  seer_dtype result = seer_expr_op_gives(op, dtype);
  if (is_const(x) && is_const(y)) {
    seer_scalar va = const_value(x), vb = const_value(y), none = {.i = 0};
    return make_const(pool, result, seer_scalar_apply(op, result, dtype, va, vb, none));
  }
  if (!seer_dtype_is_float(dtype)) {
    if (x->op == SEER_EXPR_CONST_I && is_commutative(op)) return seer_expr_binary(pool, op, b, a);
    seer_expr folded = fold_int(pool, op, a, b);
    if (folded.i != 0) return folded;
  }
  return intern_op(pool, op, result, a, b, (seer_expr){0});
}

seer_expr seer_expr_select(
    seer_expr_pool *pool, seer_expr cond, seer_expr then, seer_expr otherwise) {
  SEER_ASSERT(cond.i != 0 && then.i != 0 && otherwise.i != 0, "operands %u, %u, %u", cond.i, then.i,
      otherwise.i);
  const seer_expr_node *c = seer_expr_at(pool, cond);
  const seer_expr_node *x = seer_expr_at(pool, then), *y = seer_expr_at(pool, otherwise);
  SEER_ASSERT(
      c->dtype == SEER_DTYPE_BOOL, "condition of dtype %s", seer_dtype_name((seer_dtype)c->dtype));
  SEER_ASSERT(x->dtype == y->dtype, "select of %s and %s", seer_dtype_name((seer_dtype)x->dtype),
      seer_dtype_name((seer_dtype)y->dtype));
  if (c->op == SEER_EXPR_CONST_I) return c->value.i ? then : otherwise;
  if (then.i == otherwise.i) return then;
  return intern_op(pool, SEER_EXPR_SELECT, (seer_dtype)x->dtype, cond, then, otherwise);
}

// It is no fraction: rounded, and perhaps moved by a whole number.
static bool is_whole(const seer_expr_pool *pool, const seer_expr_node *node) {
  if (node->op == SEER_EXPR_ADD) {
    const seer_expr_node *by = seer_expr_at(pool, node->arg[1]);
    if (by->op != SEER_EXPR_CONST_F || rint(by->value.f) != by->value.f) return false;
    node = seer_expr_at(pool, node->arg[0]);
  }
  return node->op == SEER_EXPR_ROUND || node->op == SEER_EXPR_FLOOR || node->op == SEER_EXPR_CEIL;
}

static seer_expr limit(seer_expr_pool *pool, seer_expr_op op, seer_expr e, double number) {
  seer_expr end = seer_expr_f(pool, SEER_DTYPE_F32, number);
  return seer_expr_select(pool, seer_expr_binary(pool, op, e, end), e, end);
}

// A whole number of f32 as a byte, and back: between the byte's ends, NaN as 0, and 0 has no sign.
// 0: it is no such thing.
static seer_expr through_byte(seer_expr_pool *pool, const seer_expr_node *byte) {
  seer_dtype dtype = (seer_dtype)byte->dtype;
  seer_expr e = byte->arg[0], none = {0};
  if (byte->op != SEER_EXPR_CAST || !seer_dtype_is_byte(dtype)) return none;
  const seer_expr_node *from = seer_expr_at(pool, e);
  if (from->dtype != SEER_DTYPE_F32 || !is_whole(pool, from)) return none;
  if (seer_dtype_is_signed(dtype)) {
    seer_expr zero = seer_expr_f(pool, SEER_DTYPE_F32, 0);
    e = seer_expr_select(pool, seer_expr_unary(pool, SEER_EXPR_ISNAN, e), zero, e);
    e = seer_expr_binary(pool, SEER_EXPR_ADD, e, zero);
  }
  e = limit(pool, SEER_EXPR_GT, e, (double)seer_scalar_lowest(dtype).i);
  return limit(pool, SEER_EXPR_LT, e, (double)seer_scalar_highest(dtype).i);
}

seer_expr seer_expr_cast(seer_expr_pool *pool, seer_dtype dtype, seer_expr a) {
  SEER_ASSERT(dtype > SEER_DTYPE_NONE && dtype < SEER_DTYPE_COUNT, "cast to dtype %d", (int)dtype);
  const seer_expr_node *x = seer_expr_at(pool, a);
  if (x->dtype == dtype) return a;
  if (is_const(x)) {
    seer_scalar v = const_value(x), none = {.i = 0};
    return make_const(
        pool, dtype, seer_scalar_apply(SEER_EXPR_CAST, dtype, (seer_dtype)x->dtype, v, none, none));
  }
  seer_expr whole = dtype == SEER_DTYPE_F32 ? through_byte(pool, x) : (seer_expr){0};
  if (whole.i != 0) return whole;
  if (x->op == SEER_EXPR_CAST && seer_dtype_format(dtype)) {
    seer_dtype from = (seer_dtype)seer_expr_at(pool, x->arg[0])->dtype;
    if (from == dtype && seer_dtype_computed((seer_dtype)x->dtype) == (seer_dtype)x->dtype &&
        seer_dtype_is_float((seer_dtype)x->dtype))
      return x->arg[0];
  }
  return intern_op(pool, SEER_EXPR_CAST, dtype, a, (seer_expr){0}, (seer_expr){0});
}

bool seer_expr_op_is_of_stored(seer_expr_op op) {
  return seer_expr_arity(op) == 0 || is_comparison(op) || op == SEER_EXPR_ISNAN ||
      op == SEER_EXPR_CAST || op == SEER_EXPR_BITS || op == SEER_EXPR_SELECT ||
      op == SEER_EXPR_MIN || op == SEER_EXPR_MAX || op == SEER_EXPR_NEG || op == SEER_EXPR_ABS;
}

// ---- copying. A direct-mapped memory of what was copied keeps shared expressions from being
// walked over and over.

#define COPY_MEMO 256

typedef struct {
  seer_expr_pool *to;
  const seer_expr_pool *from;
  const seer_expr *var_map;
  size_t n_var_map;
  seer_expr_on_load on_load;
  void *user;
  seer_expr memo_from[COPY_MEMO], memo_to[COPY_MEMO];
} copier;

static seer_expr copy(copier *c, seer_expr e);

static seer_expr copy_node(copier *c, seer_expr e) {
  seer_expr_node node = *seer_expr_at(c->from, e);  // by value: `from` may be `to`, which grows
  seer_expr_op op = (seer_expr_op)node.op;
  if (op == SEER_EXPR_CONST_F) return seer_expr_f(c->to, (seer_dtype)node.dtype, node.value.f);
  if (op == SEER_EXPR_CONST_I) return seer_expr_int(c->to, (seer_dtype)node.dtype, node.value.i);
  if (op == SEER_EXPR_VAR) {
    bool mapped = node.ref < c->n_var_map && c->var_map[node.ref].i != 0;
    return mapped ? c->var_map[node.ref] : seer_expr_var(c->to, node.ref);
  }
  if (op == SEER_EXPR_LOAD) {
    seer_expr index[SEER_MAX_RANK];
    for (uint32_t k = 0; k < node.n_index; k++) index[k] = copy(c, c->from->index[node.index0 + k]);
    seer_expr predicate = node.arg[0].i ? copy(c, node.arg[0]) : node.arg[0];
    seer_expr otherwise = node.arg[1].i ? copy(c, node.arg[1]) : node.arg[1];
    if (c->on_load) return c->on_load(c->user, c->to, &node, index, predicate, otherwise);
    return seer_expr_load_guarded(
        c->to, (seer_dtype)node.dtype, node.ref, index, node.n_index, predicate, otherwise);
  }
  seer_expr a = copy(c, node.arg[0]);
  if (op == SEER_EXPR_CAST) return seer_expr_cast(c->to, (seer_dtype)node.dtype, a);
  if (ops[op].arity == 1) return seer_expr_unary(c->to, op, a);
  seer_expr b = copy(c, node.arg[1]);
  if (ops[op].arity == 2) return seer_expr_binary(c->to, op, a, b);
  return seer_expr_select(c->to, a, b, copy(c, node.arg[2]));
}

static seer_expr copy(copier *c, seer_expr e) {
  SEER_ASSERT(e.i != 0 && e.i < c->from->n, "expression %u of %zu", e.i, c->from->n);
  uint32_t slot = e.i % COPY_MEMO;
  if (c->memo_from[slot].i == e.i) return c->memo_to[slot];
  seer_expr made = copy_node(c, e);
  c->memo_from[slot] = e;
  c->memo_to[slot] = made;
  return made;
}

seer_expr seer_expr_copy(seer_expr_pool *to, const seer_expr_pool *from, seer_expr e,
    const seer_expr *var_map, size_t n_var_map, seer_expr_on_load on_load, void *user) {
  copier c = {.to = to,
      .from = from,
      .var_map = var_map,
      .n_var_map = n_var_map,
      .on_load = on_load,
      .user = user};
  return copy(&c, e);
}

// ---- words, written lowest part first, so that equal ones are one expression

static uint32_t parts_of(seer_dtype dtype) {
  if (seer_dtype_is_byte(dtype)) return 4;
  return dtype == SEER_DTYPE_BF16 || dtype == SEER_DTYPE_F16 ? 2 : 0;
}

uint32_t seer_expr_word_parts(const seer_expr_pool *pool, seer_expr part) {
  return parts_of((seer_dtype)seer_expr_at(pool, part)->dtype);
}

static seer_expr widened(seer_expr_pool *pool, seer_expr part) {
  part = seer_dtype_format((seer_dtype)seer_expr_at(pool, part)->dtype)
      ? seer_expr_unary(pool, SEER_EXPR_BITS, part)
      : seer_expr_cast(pool, SEER_DTYPE_U8, part);
  return seer_expr_cast(pool, SEER_DTYPE_I32, part);
}

seer_expr seer_expr_word(seer_expr_pool *pool, const seer_expr *part) {
  seer_expr word = widened(pool, part[0]);
  uint32_t n = seer_expr_word_parts(pool, part[0]);
  for (uint32_t k = 1; k < n; k++) {
    seer_expr by = seer_expr_int(pool, SEER_DTYPE_I32, 32 / n * k);
    seer_expr moved = seer_expr_binary(pool, SEER_EXPR_SHL, widened(pool, part[k]), by);
    word = seer_expr_binary(pool, SEER_EXPR_OR, word, moved);
  }
  return word;
}

// The load that an i32 has the bits of; 0: it is none.
static seer_expr part_of(const seer_expr_pool *pool, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(pool, e);
  seer_expr none = {0};
  if (node->op != SEER_EXPR_CAST || node->dtype != SEER_DTYPE_I32) return none;
  seer_expr part = node->arg[0];
  node = seer_expr_at(pool, part);
  if (node->op == SEER_EXPR_BITS) {
    part = node->arg[0];
    node = seer_expr_at(pool, part);
  } else if (node->op == SEER_EXPR_CAST && node->dtype == SEER_DTYPE_U8) {
    part = node->arg[0];
    node = seer_expr_at(pool, part);
    if (node->dtype != SEER_DTYPE_I8) return none;
  }
  return node->op == SEER_EXPR_LOAD && parts_of((seer_dtype)node->dtype) ? part : none;
}

// The number of parts of what is written as a word; 1: it is none.
static uint32_t count_parts(const seer_expr_pool *pool, seer_expr e) {
  uint32_t n = 1;
  const seer_expr_node *node = seer_expr_at(pool, e);
  for (; node->op == SEER_EXPR_OR && n < 5; n++) node = seer_expr_at(pool, node->arg[0]);
  return n == 2 || n == 4 ? n : 1;
}

bool seer_expr_is_word(
    const seer_expr_pool *pool, seer_expr e, seer_expr *out_load, uint32_t *out_n) {
  uint32_t n = *out_n = count_parts(pool, e);
  if (n == 1) return false;
  for (uint32_t k = n; k-- > 0;) {
    const seer_expr_node *node = seer_expr_at(pool, e);
    seer_expr part = e;
    if (k > 0) {
      if (node->dtype != SEER_DTYPE_I32) return false;
      const seer_expr_node *moved = seer_expr_at(pool, node->arg[1]);
      if (moved->op != SEER_EXPR_SHL) return false;
      const seer_expr_node *by = seer_expr_at(pool, moved->arg[1]);
      if (by->op != SEER_EXPR_CONST_I || by->value.i != 32 / n * k) return false;
      part = moved->arg[0];
      e = node->arg[0];
    }
    out_load[k] = part_of(pool, part);
    if (out_load[k].i == 0 || seer_expr_word_parts(pool, out_load[k]) != n) return false;
  }
  const seer_expr_node *first = seer_expr_at(pool, out_load[0]);
  for (uint32_t k = 1; k < n; k++) {
    const seer_expr_node *load = seer_expr_at(pool, out_load[k]);
    if (load->ref != first->ref || load->arg[0].i != first->arg[0].i ||
        load->arg[1].i != first->arg[1].i)
      return false;
  }
  return true;
}

// Whether b is a + k.
static bool is_apart(const seer_expr_pool *pool, seer_expr a, seer_expr b, int64_t k) {
  seer_affine x, y;
  if (!seer_expr_affine(pool, a, &x) || !seer_expr_affine(pool, b, &y)) return false;
  return seer_linear_add(&y, &x, -1) && y.n == 0 && y.constant == k;
}

bool seer_expr_is_word_load(const seer_expr_pool *pool, seer_expr e, seer_expr *out_first) {
  seer_expr load[SEER_WORD_MAX_PARTS];
  uint32_t n_part;
  if (!seer_expr_is_word(pool, e, load, &n_part)) return false;
  *out_first = load[0];
  uint32_t n = seer_expr_at(pool, load[0])->n_index;
  for (uint32_t k = 1; k < n_part; k++) {
    for (uint32_t d = 0; d < n; d++) {
      seer_expr a = seer_expr_index(pool, load[0], d), b = seer_expr_index(pool, load[k], d);
      bool is_last = d + 1 == n;
      if (is_last ? !is_apart(pool, a, b, k) : a.i != b.i) return false;
    }
  }
  return n > 0;
}

// ---- walks

void seer_expr_visit(
    const seer_expr_pool *pool, seer_expr e, void (*visit)(void *user, seer_expr e), void *user) {
  if (e.i == 0) return;
  visit(user, e);
  seer_expr_node node = *seer_expr_at(pool, e);
  for (uint32_t k = 0; k < node.n_index; k++)
    seer_expr_visit(pool, pool->index[node.index0 + k], visit, user);
  for (int k = 0; k < 3; k++) seer_expr_visit(pool, node.arg[k], visit, user);
}

bool seer_expr_uses_var(const seer_expr_pool *pool, seer_expr e, uint32_t var) {
  if (e.i == 0) return false;
  const seer_expr_node *node = seer_expr_at(pool, e);
  if (node->op == SEER_EXPR_VAR) return node->ref == var;
  for (uint32_t k = 0; k < node->n_index; k++) {
    if (seer_expr_uses_var(pool, pool->index[node->index0 + k], var)) return true;
  }
  for (int k = 0; k < 3; k++) {
    if (seer_expr_uses_var(pool, node->arg[k], var)) return true;
  }
  return false;
}
