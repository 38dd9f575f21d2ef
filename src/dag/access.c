// access.c - DAG -> access table: the bodies of every stage are walked for loads, and each index of
// a load becomes a sum over the reader's axes (seer_expr_affine), or the quotient or remainder of
// one by a constant. What is no such thing keeps the axes that occur in it.
#include "dag/access.h"

#include <string.h>

// Sums of more axes count as the whole dimension: regions (space/frame.h) hold a few terms.
#define MAX_TERMS 6

_Static_assert(SEER_DAG_MAX_AXES <= 16, "a bit of uint16_t for each axis");
_Static_assert(SEER_DAG_MAX_STAGES <= SEER_ACCESS_INPUT, "a stage is a uint8_t");

// ---- one index

static uint32_t axes_of(const seer_dag *dag, const seer_dag_stage *reader, seer_expr e) {
  if (e.i == 0) return 0;
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  if (node->op == SEER_EXPR_VAR) {
    uint32_t axis = node->ref - reader->var0;
    return axis < (uint32_t)reader->n_space + reader->n_reduce ? 1u << axis : 0;
  }
  uint32_t axes = 0;
  for (uint32_t k = 0; k < node->n_index; k++)
    axes |= axes_of(dag, reader, seer_expr_index(&dag->expr, e, k));
  for (int k = 0; k < 3; k++) axes |= axes_of(dag, reader, node->arg[k]);
  return axes;
}

// False where a term does not fit or is of an axis that is not the reader's (a DAG that nobody has
// verified yet).
static bool take_sum(const seer_dag_stage *reader, const seer_affine *sum, seer_access_dim *dim) {
  for (uint32_t t = 0; t < sum->n; t++) {
    uint32_t axis = sum->term[t].var - reader->var0;
    int64_t coef = sum->term[t].coef;
    if (axis >= (uint32_t)reader->n_space + reader->n_reduce) return false;
    if (coef > INT32_MAX || coef < -INT32_MAX) return false;
  }
  for (uint32_t t = 0; t < sum->n; t++) {
    uint32_t axis = sum->term[t].var - reader->var0;
    dim->coef[axis] = (int32_t)sum->term[t].coef;
    if (reader->axis[axis].extent > 1) dim->moving |= (uint16_t)(1u << axis);
  }
  dim->constant = sum->constant;
  return true;
}

// `e` is axis `op` c, for a constant c > 0; *out_var is the axis's variable.
static bool is_axis_by(
    const seer_expr_pool *pool, seer_expr e, seer_expr_op op, uint32_t *out_var, int32_t *out_by) {
  const seer_expr_node *node = seer_expr_at(pool, e);
  if (node->op != op) return false;
  const seer_expr_node *axis = seer_expr_at(pool, node->arg[0]),
                       *by = seer_expr_at(pool, node->arg[1]);
  if (axis->op != SEER_EXPR_VAR || by->op != SEER_EXPR_CONST_I) return false;
  if (by->value.i <= 0 || by->value.i > INT32_MAX) return false;
  *out_var = axis->ref;
  *out_by = (int32_t)by->value.i;
  return true;
}

static void find_lanes(const seer_expr_pool *pool, seer_expr index, seer_access_dim *dim) {
  const seer_expr_node *node = seer_expr_at(pool, index);
  if (node->op != SEER_EXPR_ADD) return;
  const seer_expr_node *block = seer_expr_at(pool, node->arg[0]);
  uint32_t var, same;
  int32_t div, lanes;
  if (block->op != SEER_EXPR_MUL || !is_axis_by(pool, block->arg[0], SEER_EXPR_DIV, &var, &div) ||
      !is_axis_by(pool, node->arg[1], SEER_EXPR_MOD, &same, &lanes) || var != same)
    return;
  const seer_expr_node *scale = seer_expr_at(pool, block->arg[1]);
  if (scale->op != SEER_EXPR_CONST_I || scale->value.i != lanes || div % lanes != 0) return;
  dim->div = div;
  dim->lanes = lanes;
}

static seer_access_dim read_index(
    const seer_dag *dag, const seer_dag_stage *reader, seer_expr index) {
  const seer_expr_pool *pool = &dag->expr;
  seer_access_dim dim = {
      .axis = -1, .span = 1, .div = 1, .axes = (uint16_t)axes_of(dag, reader, index)};
  seer_affine sum;
  bool is_sum = seer_expr_affine(pool, index, &sum);
  const seer_expr_node *node = seer_expr_at(pool, index);
  if (!is_sum && (node->op == SEER_EXPR_DIV || node->op == SEER_EXPR_MOD)) {
    const seer_expr_node *by = seer_expr_at(pool, node->arg[1]);
    if (by->op == SEER_EXPR_CONST_I && by->value.i > 0 && by->value.i <= INT32_MAX) {
      dim.div = (int32_t)by->value.i;
      dim.is_mod = node->op == SEER_EXPR_MOD;
      is_sum = seer_expr_affine(pool, node->arg[0], &sum);
    }
  }
  dim.is_affine = is_sum && take_sum(reader, &sum, &dim);
  if (!dim.is_affine) find_lanes(pool, index, &dim);
  dim.is_whole = !dim.is_affine || dim.is_mod || sum.n > MAX_TERMS;
  if (dim.is_affine && dim.div == 1 && dim.constant == 0) {
    int only = dim.moving != 0 ? __builtin_ctz(dim.moving) : 0;
    if (dim.moving == 1u << only && dim.coef[only] == 1) dim.axis = (int8_t)only;
  }
  return dim;
}

// ---- the table

typedef struct {
  const seer_dag *dag;
  uint32_t reader;
  seer_arena *arena;
  seer_access *load;
  seer_access_dim *dim;
  size_t n_load, cap_load, n_dim, cap_dim, first_load;
} builder;

static void note_load(void *user, seer_expr e) {
  builder *b = user;
  const seer_expr_node *node = seer_expr_at(&b->dag->expr, e);
  if (node->op != SEER_EXPR_LOAD) return;
  for (size_t k = b->first_load; k < b->n_load; k++) {
    if (b->load[k].load.i != e.i) continue;
    b->load[k].n_times++;
    return;
  }
  const seer_dag_buf *buf = &b->dag->buf[node->ref];
  seer_access access = {.load = e,
      .buf = node->ref,
      .reader = (uint8_t)b->reader,
      .maker = buf->kind == SEER_BUF_STAGE ? (uint8_t)buf->stage : SEER_ACCESS_INPUT,
      .is_guarded = node->arg[0].i != 0,
      .rank = node->n_index,
      .first = (uint32_t)b->n_dim,
      .n_times = 1};
  for (uint32_t d = 0; d < node->n_index; d++) {
    seer_expr index = seer_expr_index(&b->dag->expr, e, d);
    b->dim = SEER_GROW(b->arena, seer_access_dim, b->dim, b->n_dim, &b->cap_dim);
    b->dim[b->n_dim++] = read_index(b->dag, &b->dag->stage[b->reader], index);
  }
  b->load = SEER_GROW(b->arena, seer_access, b->load, b->n_load, &b->cap_load);
  b->load[b->n_load++] = access;
}

// As far as regions tell them apart.
static bool reads_alike(const builder *b, const seer_access *x, const seer_access *y) {
  if (x->reader != y->reader || x->is_guarded != y->is_guarded || x->rank != y->rank) return false;
  for (uint32_t d = 0; d < x->rank; d++) {
    const seer_access_dim *p = &b->dim[x->first + d], *q = &b->dim[y->first + d];
    if (p->is_whole != q->is_whole || p->constant != q->constant || p->div != q->div ||
        p->is_mod != q->is_mod || p->moving != q->moving)
      return false;
    for (uint32_t left = p->moving; left; left &= left - 1) {
      int a = __builtin_ctz(left);
      if (p->coef[a] != q->coef[a]) return false;
    }
  }
  return true;
}

static void list_reads(const builder *b, seer_access_table *table) {
  const seer_dag *dag = b->dag;
  seer_access *read = SEER_NEW_ARRAY(b->arena, seer_access, b->n_load + 1);
  uint32_t n = 0;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    uint32_t first = table->first_read[s] = n;
    for (size_t k = 0; k < b->n_load && !dag->stage[s].is_const; k++) {
      const seer_access *load = &b->load[k];
      if (load->maker != s || dag->stage[load->reader].is_const) continue;
      uint32_t same = first;
      while (same < n && !reads_alike(b, &read[same], load)) same++;
      if (same == n) read[n++] = *load;
      table->readers[s] |= (uint64_t)1 << load->reader;
    }
  }
  for (uint32_t s = dag->n_stage; s <= SEER_DAG_MAX_STAGES; s++) table->first_read[s] = n;
  table->read = read;
  table->n_read = n;
}

const seer_access_table *seer_access_build(const seer_dag *dag, seer_arena *arena) {
  builder b = {.dag = dag, .arena = arena};
  seer_access_table *table = SEER_NEW(arena, seer_access_table);
  for (uint32_t s = 0; s <= SEER_DAG_MAX_STAGES; s++) {
    table->first_load[s] = (uint32_t)b.n_load;
    if (s >= dag->n_stage) continue;
    b.reader = s;
    b.first_load = b.n_load;
    for (uint32_t v = 0; v < dag->stage[s].n_values; v++)
      seer_expr_visit(&dag->expr, dag->stage[s].body[v], note_load, &b);
  }
  table->n_load = (uint32_t)b.n_load;
  table->n_dim = (uint32_t)b.n_dim;
  table->load = b.load;
  table->dim = b.dim;
  list_reads(&b, table);
  return table;
}

const seer_access_table *seer_access_copy(const seer_access_table *table, seer_arena *arena) {
  seer_access_table *to = (seer_access_table *)seer_arena_memdup(arena, table, sizeof *table);
  to->load = seer_arena_memdup(arena, table->load, table->n_load * sizeof(seer_access));
  to->read = seer_arena_memdup(arena, table->read, table->n_read * sizeof(seer_access));
  to->dim = seer_arena_memdup(arena, table->dim, table->n_dim * sizeof(seer_access_dim));
  return to;
}

// ---- questions

const seer_access *seer_access_find(const seer_dag *dag, uint32_t reader, seer_expr load) {
  const seer_access_table *table = dag->access;
  for (uint32_t k = table->first_load[reader]; k < table->first_load[reader + 1]; k++) {
    if (table->load[k].load.i == load.i) return &table->load[k];
  }
  return NULL;
}

int seer_access_axis(const seer_access_dim *dim) {
  int axis = -1;
  for (uint32_t left = dim->is_affine ? dim->axes : 0; left; left &= left - 1) {
    int a = __builtin_ctz(left);
    if (dim->coef[a] == 0) continue;
    if (axis >= 0 || dim->coef[a] != 1) return -1;
    axis = a;
  }
  return axis;
}

bool seer_access_is_elementwise(const seer_dag *dag, uint32_t maker, uint32_t reader) {
  const seer_dag_stage *from = &dag->stage[maker], *to = &dag->stage[reader];
  const seer_access_table *table = dag->access;
  if (from->n_space != to->n_space) return false;
  for (uint32_t k = 0; k < from->n_space; k++) {
    if (from->axis[k].extent != to->axis[k].extent) return false;
  }
  for (uint32_t k = table->first_read[maker]; k < table->first_read[maker + 1]; k++) {
    const seer_access *access = &table->read[k];
    if (access->reader != reader) continue;
    if (access->is_guarded) return false;
    for (uint32_t d = 0; d < access->rank; d++) {
      const seer_access_dim *dim = seer_access_index(table, access, d);
      bool is_still = from->axis[d].extent == 1;  // the index is 0, however it is written
      if (dim->is_whole || dim->constant != 0 || dim->div != 1) return false;
      if (is_still ? dim->moving != 0 : dim->axis != (int)d) return false;
    }
  }
  return true;
}
