// access.c - DAG -> access table. Every load of a stage's value is split into dimensions and each
// dimension into terms over the reader's axes; equal accesses are kept once (a reader that loads
// the same element twice is one access).
#include "space/access.h"

#include <string.h>

// More terms than this in one dimension: the whole dimension counts as read.
#define MAX_TERMS 6

typedef struct {
  const seer_dag *dag;
  uint32_t reader;
  seer_arena *arena;
  seer_access *access;
  seer_access_dim *dim;
  seer_access_term *term;
  size_t n_access, cap_access, n_dim, cap_dim, n_term, cap_term;
} builder;

static seer_access_dim read_dim(builder *b, seer_expr index) {
  const seer_dag_stage *reader = &b->dag->stage[b->reader];
  seer_access_dim dim = {.first = (uint16_t)b->n_term, .div = 1};
  const seer_expr_pool *pool = &b->dag->expr;
  const seer_expr_node *node = seer_expr_at(pool, index);
  seer_affine affine;
  bool is_division = node->op == SEER_EXPR_DIV && !seer_expr_affine(pool, index, &affine) &&
      seer_expr_at(pool, node->arg[1])->op == SEER_EXPR_CONST_I &&
      seer_expr_at(pool, node->arg[1])->value.i > 0;
  if (is_division) {
    dim.div = seer_expr_at(pool, node->arg[1])->value.i;
    index = node->arg[0];
  }
  bool is_affine = seer_expr_affine(pool, index, &affine) && affine.n <= MAX_TERMS;
  for (uint32_t t = 0; is_affine && t < affine.n; t++) {
    if (affine.term[t].coef > INT32_MAX || affine.term[t].coef < -INT32_MAX) is_affine = false;
  }
  if (!is_affine) {
    dim.is_whole = true;
    return dim;
  }
  dim.constant = affine.constant;
  for (uint32_t t = 0; t < affine.n; t++) {
    uint32_t axis = affine.term[t].var - reader->var0;
    SEER_ASSERT(axis < (uint32_t)reader->n_space + reader->n_reduce,
        "stage %s: variable %u is not its own", reader->name, affine.term[t].var);
    int64_t coef = affine.term[t].coef;
    if (reader->axis[axis].extent == 1) continue;  // its index is always 0
    b->term = SEER_GROW(b->arena, seer_access_term, b->term, b->n_term, &b->cap_term);
    b->term[b->n_term++] = (seer_access_term){(uint8_t)axis, (int32_t)coef};
    dim.n++;
  }
  return dim;
}

static bool same_dims(const builder *b, const seer_access *x, const seer_access *y) {
  for (uint32_t d = 0; d < x->rank; d++) {
    const seer_access_dim *p = &b->dim[x->first + d], *q = &b->dim[y->first + d];
    if (p->is_whole != q->is_whole || p->n != q->n || p->constant != q->constant ||
        p->div != q->div)
      return false;
    for (uint32_t t = 0; t < p->n; t++) {
      const seer_access_term *u = &b->term[p->first + t], *v = &b->term[q->first + t];
      if (u->axis != v->axis || u->coef != v->coef) return false;
    }
  }
  return true;
}

static void note_load(void *user, seer_expr e) {
  builder *b = user;
  const seer_expr_node *node = seer_expr_at(&b->dag->expr, e);
  if (node->op != SEER_EXPR_LOAD) return;
  const seer_dag_buf *buf = &b->dag->buf[node->ref];
  if (buf->kind != SEER_BUF_STAGE || b->dag->stage[buf->stage].is_const) return;
  size_t n_dim = b->n_dim, n_term = b->n_term;
  seer_access access = {
      (uint8_t)b->reader, (uint8_t)buf->stage, node->arg[0].i != 0, buf->rank, (uint16_t)n_dim};
  for (uint32_t d = 0; d < buf->rank; d++) {
    seer_access_dim dim = read_dim(b, seer_expr_index(&b->dag->expr, e, d));
    b->dim = SEER_GROW(b->arena, seer_access_dim, b->dim, b->n_dim, &b->cap_dim);
    b->dim[b->n_dim++] = dim;
  }
  for (size_t k = 0; k < b->n_access; k++) {
    const seer_access *other = &b->access[k];
    bool equal = other->reader == access.reader && other->maker == access.maker &&
        other->is_guarded == access.is_guarded && same_dims(b, other, &access);
    if (equal) {
      b->n_dim = n_dim;
      b->n_term = n_term;
      return;
    }
  }
  b->access = SEER_GROW(b->arena, seer_access, b->access, b->n_access, &b->cap_access);
  b->access[b->n_access++] = access;
}

const seer_access_table *seer_access_build(const seer_dag *dag, seer_arena *arena) {
  builder b = {.dag = dag, .arena = arena};
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    if (dag->stage[s].is_const) continue;
    b.reader = s;
    for (uint32_t v = 0; v < dag->stage[s].n_values; v++) {
      seer_expr_visit(&dag->expr, dag->stage[s].body[v], note_load, &b);
    }
  }
  seer_access_table *table = SEER_NEW(arena, seer_access_table);
  seer_access *sorted = SEER_NEW_ARRAY(arena, seer_access, b.n_access + 1);
  uint32_t n = 0;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    table->first_of[s] = (uint16_t)n;
    for (size_t k = 0; k < b.n_access; k++) {
      if (b.access[k].maker != s) continue;
      table->readers[s] |= (uint64_t)1 << b.access[k].reader;
      sorted[n++] = b.access[k];
    }
  }
  for (uint32_t s = dag->n_stage; s <= SEER_DAG_MAX_STAGES; s++) table->first_of[s] = (uint16_t)n;
  table->n_access = n;
  table->n_dim = (uint32_t)b.n_dim;
  table->n_term = (uint32_t)b.n_term;
  table->access = sorted;
  table->dim = b.dim;
  table->term = b.term;
  return table;
}

bool seer_access_is_elementwise(
    const seer_access_table *table, const seer_dag *dag, uint32_t maker, uint32_t reader) {
  const seer_dag_stage *from = &dag->stage[maker], *to = &dag->stage[reader];
  if (from->n_space != to->n_space) return false;
  for (uint32_t k = 0; k < from->n_space; k++) {
    if (from->axis[k].extent != to->axis[k].extent) return false;
  }
  for (uint32_t k = table->first_of[maker]; k < table->first_of[maker + 1]; k++) {
    const seer_access *access = &table->access[k];
    if (access->reader != reader) continue;
    if (access->is_guarded) return false;
    for (uint32_t d = 0; d < access->rank; d++) {
      const seer_access_dim *dim = &table->dim[access->first + d];
      if (dim->is_whole || dim->constant != 0 || dim->div != 1) return false;
      if (from->axis[d].extent == 1) {
        if (dim->n != 0) return false;
        continue;
      }
      const seer_access_term *term = &table->term[dim->first];
      if (dim->n != 1 || term->axis != d || term->coef != 1) return false;
    }
  }
  return true;
}
