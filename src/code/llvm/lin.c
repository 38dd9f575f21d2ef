// lin.c - sums (tile/sum.h) over run-time values, and the scoped value numbering under everything
// that computes addresses.
#include <string.h>

#include "code/llvm/gen.h"

// ---- value numbering

typedef struct {
  uint32_t tag, next;
  const void *a, *b;
  int64_t c;
  LLVMValueRef v;
} entry;

#define BUCKETS 2048

struct seer_gen_memo {
  uint32_t bucket[BUCKETS];
  size_t n, cap;
  entry *entry;  // [0] unused
  size_t n_mark, cap_mark;
  size_t *mark;
};

static uint32_t bucket_of(uint32_t tag, const void *a, const void *b, int64_t c) {
  uint64_t h = tag * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)(uintptr_t)a;
  h = (h ^ (h >> 29)) * UINT64_C(0xBF58476D1CE4E5B9) ^ (uint64_t)(uintptr_t)b;
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

LLVMValueRef seer_gen_memo_find(
    seer_gen *g, uint32_t tag, const void *a, const void *b, int64_t c) {
  const seer_gen_memo *m = g->memo;
  for (uint32_t k = m->bucket[bucket_of(tag, a, b, c)]; k != 0; k = m->entry[k].next) {
    const entry *e = &m->entry[k];
    if (e->tag == tag && e->a == a && e->b == b && e->c == c) return e->v;
  }
  return NULL;
}

void seer_gen_memo_add(
    seer_gen *g, uint32_t tag, const void *a, const void *b, int64_t c, LLVMValueRef v) {
  seer_gen_memo *m = g->memo;
  m->entry = SEER_GROW(g->arena, entry, m->entry, m->n, &m->cap);
  uint32_t at = bucket_of(tag, a, b, c);
  m->entry[m->n] = (entry){.tag = tag, .next = m->bucket[at], .a = a, .b = b, .c = c, .v = v};
  m->bucket[at] = (uint32_t)m->n++;
}

enum { TAG_ADD = 1, TAG_MUL, TAG_GEP };

static LLVMValueRef add_i64(seer_gen *g, LLVMValueRef a, LLVMValueRef b) {
  if (!a) return b;
  LLVMValueRef v = seer_gen_memo_find(g, TAG_ADD, a, b, 0);
  if (v) return v;
  v = LLVMBuildNSWAdd(g->b, a, b, "");
  seer_gen_memo_add(g, TAG_ADD, a, b, 0, v);
  return v;
}

// a * b as one more counter of the innermost loop, if `a` is its counter or a multiple of it.
static LLVMValueRef strided(seer_gen *g, LLVMValueRef a, int64_t b) {
  seer_gen_counter *c = &g->counter;
  int64_t step = c->block && a == c->i ? b : 0;
  for (uint32_t k = 0; k < c->n && step == 0; k++) {
    if (c->stride[k].phi == a) step = c->stride[k].step * b;
  }
  if (step == 0) return NULL;
  for (uint32_t k = 0; k < c->n; k++) {
    if (c->stride[k].step == step) return c->stride[k].phi;
  }
  if (c->n == SEER_GEN_MAX_STRIDES) return NULL;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b);
  LLVMPositionBuilderBefore(g->b, LLVMGetFirstInstruction(c->block));
  LLVMValueRef phi = LLVMBuildPhi(g->b, g->i64, "");
  LLVMPositionBuilderAtEnd(g->b, here);
  c->stride[c->n].phi = phi;
  c->stride[c->n++].step = step;
  return phi;
}

LLVMValueRef seer_gen_mul_i64(seer_gen *g, LLVMValueRef a, int64_t b) {
  if (b == 1) return a;
  LLVMValueRef v = seer_gen_memo_find(g, TAG_MUL, a, NULL, b);
  if (v) return v;
  v = strided(g, a, b);
  if (v) return v;
  v = LLVMBuildNSWMul(g->b, a, seer_gen_const_i64(g, b), "");
  seer_gen_memo_add(g, TAG_MUL, a, NULL, b, v);
  return v;
}

LLVMValueRef seer_gen_gep(seer_gen *g, LLVMTypeRef elem, LLVMValueRef p, LLVMValueRef index) {
  int64_t tag = (int64_t)(intptr_t)elem;
  LLVMValueRef v = seer_gen_memo_find(g, TAG_GEP, p, index, tag);
  if (v) return v;
  v = LLVMBuildGEP2(g->b, elem, p, &index, 1, "");
  seer_gen_memo_add(g, TAG_GEP, p, index, tag, v);
  return v;
}

LLVMValueRef seer_gen_gep_const(seer_gen *g, LLVMTypeRef elem, LLVMValueRef p, int64_t index) {
  return index == 0 ? p : seer_gen_gep(g, elem, p, seer_gen_const_i64(g, index));
}

// ---- linear forms

uint32_t seer_gen_expr_depth(const seer_gen *g, seer_expr e) {
  const seer_expr_node *node = seer_gen_at(g, e);
  uint32_t depth = 0;
  if (node->op == SEER_EXPR_LOAD) return g->depth;
  if (node->op == SEER_EXPR_VAR) {
    const seer_gen_var *var = &g->var[node->ref];
    if (var->kind == SEER_GEN_LET) return seer_gen_expr_depth(g, var->let);
    return var->kind == SEER_GEN_VALUE || (var->kind == SEER_GEN_LANE && var->value) ? var->depth
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

LLVMValueRef seer_gen_term_value(seer_gen *g, const seer_sum_term *term, int64_t scale) {
  return seer_gen_mul_i64(g, seer_gen_value_of(term), term->coef * scale);
}

LLVMValueRef seer_gen_sum_value(seer_gen *g, const seer_sum *x) {
  LLVMValueRef sum = NULL;
  for (uint32_t k = 0; k < x->n; k++) {
    sum = add_i64(g, sum, seer_gen_term_value(g, &x->term[k], 1));
  }
  if (!sum) return seer_gen_const_i64(g, x->c);
  return x->c == 0 ? sum : add_i64(g, sum, seer_gen_const_i64(g, x->c));
}

seer_gen_value seer_gen_sum_lanes(seer_gen *g, const seer_sum *x) {
  seer_gen_value base = {.v = seer_gen_sum_value(g, x)};
  if (x->lane == 0) return base;
  LLVMValueRef step[256];
  SEER_ASSERT(g->lanes <= SEER_COUNT_OF(step), "%u lanes", g->lanes);
  for (uint32_t l = 0; l < g->lanes; l++) step[l] = seer_gen_const_i64(g, x->lane * (int64_t)l);
  LLVMValueRef v = LLVMBuildNSWAdd(
      g->b, seer_gen_splat(g, base.v, g->lanes), LLVMConstVector(step, g->lanes), "");
  return (seer_gen_value){.v = v, .is_vec = true};
}

// A run-time value as a sum: one term, or a constant if that is what comes out.
static seer_sum sum_of_value(LLVMValueRef v, uint32_t depth, int64_t low, int64_t high) {
  if (LLVMIsAConstantInt(v)) return seer_sum_const(LLVMConstIntGetSExtValue(v));
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
  *out = sum_of_value(v.v, seer_gen_expr_depth(g, e), low, high);
  return true;
}

// floor(v / d) or v mod d of a run-time value; `is_natural`: v >= 0.
static LLVMValueRef divide_value(
    seer_gen *g, LLVMValueRef v, int64_t d, bool is_mod, bool is_natural) {
  LLVMValueRef by = seer_gen_const_i64(g, d);
  if (is_natural) return is_mod ? LLVMBuildURem(g->b, v, by, "") : LLVMBuildUDiv(g->b, v, by, "");
  LLVMValueRef rest = LLVMBuildSRem(g->b, v, by, "");
  LLVMValueRef is_negative = LLVMBuildICmp(g->b, LLVMIntSLT, rest, seer_gen_const_i64(g, 0), "");
  if (is_mod) return seer_gen_select(g, is_negative, LLVMBuildAdd(g->b, rest, by, ""), rest);
  LLVMValueRef quotient = LLVMBuildSDiv(g->b, v, by, "");
  return seer_gen_select(
      g, is_negative, LLVMBuildSub(g->b, quotient, seer_gen_const_i64(g, 1), ""), quotient);
}

static bool divide(void *user, const seer_sum *x, int64_t d, bool is_mod, bool is_known,
    int64_t low, int64_t high, seer_sum *out) {
  seer_gen *g = user;
  for (uint32_t k = 0; k < x->n; k++) {
    if (!seer_gen_value_of(&x->term[k])) return false;  // a hull
  }
  uint32_t depth = x->n ? x->term[x->n - 1].depth : 0;
  LLVMValueRef v = divide_value(g, seer_gen_sum_value(g, x), d, is_mod, is_known && low >= 0);
  int64_t q_low = is_known ? seer_floor_div(low, d) : INT64_MIN,
          q_high = is_known ? seer_floor_div(high, d) : INT64_MAX;
  *out = sum_of_value(v, depth, is_mod ? 0 : q_low, is_mod ? d - 1 : q_high);
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
      if (var->value)
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
