// dot4.c - a sum of products of bytes, unsigned ones with constant signed ones, four at a time: the
// reduction axis along which the unsigned ones are neighbours in memory is taken in groups of four,
// or, where there is none (channels first), another one that a dimension of theirs follows.
//   sum k: cast.i32(x[.., k]) * cast.i32(w[.., k])  ->  sum q: dot4(xw[.., q], ww[.., q])
//   xw[.., q] = the bytes x[.., 4 q .. 4 q + 3]   made beforehand or where they are read, as the stage's
//                                                 location knob says; of neighbours it is one load
//                                                 (seer_expr_is_word)
//   ww[.., q] = likewise of the weights           evaluated when compiling, packed
// Where the axis is no multiple of four, the last word's other bytes are 0 in ww; in xw they are 0,
// too, so that nothing is read from beyond a row. xw takes the place of a stage that pads x for
// nobody else. Operators on bytes between x and the product that words have too (the turned sign of
// signed numbers) are done on words. All of it is exact.
#include <string.h>

#include "dag/access.h"
#include "dag/edit.h"
#include "space/formulation.h"

// Of an axis of two, half of each word would be nothing.
#define MIN_EXTENT 3

typedef struct {
  uint32_t stage;  // the anchor
  seer_expr x, w;  // the factors, before they are widened
  seer_expr load;  // the only one in x
  uint32_t axis, dim;  // what is taken in groups, and the dimension of x that follows it
} product;

// ---- is it such a product?

static bool widens_to_i32(const seer_dag *dag, seer_expr e, seer_dtype from, seer_expr *out) {
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  if (node->op != SEER_EXPR_CAST || node->dtype != SEER_DTYPE_I32) return false;
  *out = node->arg[0];
  return seer_expr_at(&dag->expr, *out)->dtype == from;
}

static bool match_factors(const seer_dag *dag, product *p) {
  const seer_dag_stage *s = &dag->stage[p->stage];
  if (s->combiner != SEER_COMBINE_SUM || s->n_values != 1 || s->is_const) return false;
  const seer_expr_node *body = seer_expr_at(&dag->expr, s->body[0]);
  if (body->op != SEER_EXPR_MUL || body->dtype != SEER_DTYPE_I32) return false;
  bool is_first = widens_to_i32(dag, body->arg[0], SEER_DTYPE_I8, &p->w);
  if (!is_first && !widens_to_i32(dag, body->arg[1], SEER_DTYPE_I8, &p->w)) return false;
  if (!widens_to_i32(dag, body->arg[is_first ? 1 : 0], SEER_DTYPE_U8, &p->x)) return false;
  const seer_expr_node *w = seer_expr_at(&dag->expr, p->w);
  return w->op == SEER_EXPR_LOAD && w->arg[0].i == 0 && dag->buf[w->ref].kind == SEER_BUF_WEIGHT;
}

typedef struct {
  const seer_dag *dag;
  seer_expr load;
  uint32_t n_load;  // different ones
} load_search;

static void find_load(void *user, seer_expr e) {
  load_search *search = user;
  if (seer_expr_at(&search->dag->expr, e)->op != SEER_EXPR_LOAD || search->load.i == e.i) return;
  search->load = e;
  search->n_load++;
}

// x without its load is of constants: it is the same operator on each byte. A choice by position
// (padding) may stand around the load alone.
static bool is_bytewise(const seer_dag *dag, seer_expr e, seer_expr load) {
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  if (e.i == load.i) return true;
  if (node->op == SEER_EXPR_VAR) return false;
  for (uint32_t k = 0; k < seer_expr_arity((seer_expr_op)node->op); k++) {
    if (!is_bytewise(dag, node->arg[k], load)) return false;
  }
  return true;
}

static bool depends_on(const seer_dag *dag, const product *p, seer_expr e) {
  return e.i != 0 && seer_expr_uses_var(&dag->expr, e, dag->stage[p->stage].var0 + p->axis);
}

// The group's axis alone, or with others in whole words.
static bool is_in_words(
    const seer_dag *dag, const product *p, const seer_access_dim *dim, int64_t extent) {
  uint32_t others = dim->axes & ~(1u << p->axis);
  if (!seer_access_is_sum(dim) || dim->coef[p->axis] != 1) return false;
  if (others == 0 && dim->constant == 0) return true;
  bool is_whole = dim->constant % 4 == 0 && extent % 4 == 0 &&
      dag->stage[p->stage].axis[p->axis].extent % 4 == 0;
  for (; others; others &= others - 1) is_whole &= dim->coef[__builtin_ctz(others)] % 4 == 0;
  return is_whole;
}

static bool match_load(const seer_dag *dag, product *p) {
  load_search search = {.dag = dag};
  seer_expr_visit(&dag->expr, p->x, find_load, &search);
  const seer_access *x = search.n_load == 1 ? seer_access_find(dag, p->stage, search.load) : NULL;
  if (!x || x->rank == 0 || dag->buf[x->buf].kind == SEER_BUF_WEIGHT) return false;
  p->load = search.load;
  const seer_expr_node *load = seer_expr_at(&dag->expr, p->load);
  if (load->arg[0].i != 0 && seer_expr_at(&dag->expr, load->arg[1])->op != SEER_EXPR_CONST_I)
    return false;
  if (!seer_dtype_is_byte((seer_dtype)load->dtype)) return false;
  return is_bytewise(dag, p->x, p->load);
}

// Of dimension `dim` of x the longest axis that fits; false: none.
static bool match_dim(const seer_dag *dag, const seer_access *x, uint32_t dim, product *p) {
  const seer_dag_stage *s = &dag->stage[p->stage];
  seer_expr guard = seer_expr_at(&dag->expr, p->load)->arg[0];
  uint32_t best = 0;
  int64_t extent = MIN_EXTENT - 1;
  for (uint32_t a = s->n_space; a < (uint32_t)s->n_space + s->n_reduce; a++) {
    p->axis = a;
    bool fits = s->axis[a].extent > extent && !depends_on(dag, p, guard) &&
        is_in_words(dag, p, seer_access_index(dag->access, x, dim), dag->buf[x->buf].dim[dim]);
    for (uint32_t d = 0; fits && d < x->rank; d++)
      fits = d == dim || !(seer_access_index(dag->access, x, d)->axes >> a & 1);
    if (!fits) continue;
    best = a;
    extent = s->axis[a].extent;
  }
  p->axis = best;
  p->dim = dim;
  return best != 0;
}

// Neighbours rather than what lies rows apart.
static bool match_axis(const seer_dag *dag, product *p) {
  const seer_access *x = seer_access_find(dag, p->stage, p->load);
  for (uint32_t d = x->rank; d-- > 0;) {
    if (match_dim(dag, x, d, p)) return true;
  }
  return false;
}

static bool match(const seer_dag *dag, product *p) {
  p->stage = seer_dag_anchor(dag);
  return match_factors(dag, p) && match_load(dag, p) && match_axis(dag, p);
}

// ---- words

// What becomes of an expression over old variables: variable `from` is byte number `byte` of the
// word that the variable `word` counts, and is below `extent`.
typedef struct {
  seer_dag *dag;
  uint32_t from;
  int64_t extent;
  seer_expr word, byte_index;  // the index of the byte in hand
  bool may_end;  // the byte may be beyond the extent
  seer_expr *map;  // by variable
} turned;

// Beyond the extent nothing is read.
static seer_expr read_inside(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  const turned *t = user;
  seer_dtype dtype = (seer_dtype)load->dtype;
  if (t->may_end) {
    seer_expr is_in = seer_expr_binary(
        to, SEER_EXPR_LT, t->byte_index, seer_expr_int(to, SEER_DTYPE_I64, t->extent));
    predicate = predicate.i ? seer_expr_binary(to, SEER_EXPR_AND, predicate, is_in) : is_in;
    if (!otherwise.i) otherwise = seer_expr_int(to, dtype, 0);
  }
  return seer_expr_load_guarded(to, dtype, load->ref, index, load->n_index, predicate, otherwise);
}

static seer_expr byte_of(turned *t, seer_expr e, uint32_t byte) {
  seer_expr_pool *pool = &t->dag->expr;
  t->byte_index = seer_expr_binary(pool, SEER_EXPR_ADD,
      seer_expr_binary(pool, SEER_EXPR_MUL, t->word, seer_expr_i(pool, 4)),
      seer_expr_i(pool, byte));
  t->may_end = t->extent % 4 != 0 && byte >= t->extent % 4;
  t->map[t->from] = t->byte_index;
  return seer_expr_copy(pool, pool, e, t->map, t->dag->n_var, read_inside, t);
}

static bool is_of_bits(seer_expr_op op) {
  return op == SEER_EXPR_XOR || op == SEER_EXPR_AND || op == SEER_EXPR_OR;
}

static seer_expr spread(seer_expr_pool *pool, int64_t byte) {
  int64_t all = (byte & 255) * 0x01010101;
  return seer_expr_int(pool, SEER_DTYPE_I32, (int32_t)(uint32_t)all);
}

// Four neighbours of `e`, u8 or i8, as a word.
static seer_expr word_of(turned *t, seer_expr e) {
  seer_expr_pool *pool = &t->dag->expr;
  const seer_expr_node node = *seer_expr_at(pool, e);
  seer_dtype from = node.arg[0].i ? (seer_dtype)seer_expr_at(pool, node.arg[0])->dtype : 0;
  if (node.op == SEER_EXPR_CONST_I) return spread(pool, node.value.i);
  bool is_turned = node.op == SEER_EXPR_CAST && seer_dtype_is_byte(from);
  if (is_turned) return word_of(t, node.arg[0]);
  if (is_of_bits((seer_expr_op)node.op)) {
    seer_expr a = word_of(t, node.arg[0]), b = word_of(t, node.arg[1]);
    return seer_expr_binary(pool, (seer_expr_op)node.op, a, b);
  }
  seer_expr byte[4];
  for (uint32_t k = 0; k < 4; k++) byte[k] = byte_of(t, e, k);
  return seer_expr_word(pool, byte);
}

// ---- the stages: each goes before the anchor, which moves up

// Of the axes of the product that the weights move with, in their order.
static uint32_t add_weights(seer_dag *dag, product *p, int64_t n_words, uint32_t *out_axes) {
  const seer_dag_stage old = dag->stage[p->stage];
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  uint32_t n = 0, n_axis = (uint32_t)old.n_space + old.n_reduce;
  for (uint32_t a = 0; a < n_axis; a++) {
    if (a != p->axis && !seer_expr_uses_var(&dag->expr, p->w, old.var0 + a)) continue;
    axes[n] = old.axis[a];
    if (a == p->axis) axes[n].extent = n_words;
    out_axes[n++] = a;
  }
  uint32_t stage = seer_dag_insert_stage(dag, p->stage++, "ww", SEER_STAGE_PACK, axes, n, 0);
  turned t = {.dag = dag, .from = old.var0 + p->axis, .extent = old.axis[p->axis].extent};
  t.map = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var + 1);
  for (uint32_t k = 0; k < n; k++) {
    seer_expr var = seer_dag_var(dag, stage, k);
    if (out_axes[k] == p->axis)
      t.word = var;
    else
      t.map[old.var0 + out_axes[k]] = var;
  }
  seer_expr body = word_of(&t, p->w);
  return seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
}

// A stage that only moves bytes to pad them, for the product alone.
static bool sees_through(const seer_dag *dag, uint32_t buf) {
  uint32_t readers[SEER_DAG_MAX_STAGES];
  if (dag->buf[buf].kind != SEER_BUF_STAGE || dag->buf[buf].is_output) return false;
  const seer_dag_stage *pad = &dag->stage[dag->buf[buf].stage];
  if (pad->role != SEER_STAGE_PAD || pad->n_values != 1 || pad->n_reduce != 0) return false;
  if (seer_dag_readers(dag, dag->buf[buf].stage, readers) != 1) return false;
  const seer_expr_node *body = seer_expr_at(&dag->expr, pad->body[0]);
  return body->op == SEER_EXPR_LOAD &&
      (body->arg[0].i == 0 || seer_expr_at(&dag->expr, body->arg[1])->op == SEER_EXPR_CONST_I);
}

static seer_expr give(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  (void)to, (void)load, (void)index, (void)predicate, (void)otherwise;
  return *(const seer_expr *)user;
}

// x with its load replaced by `by`, which is of its type.
static seer_expr replace(seer_dag *dag, const product *p, seer_expr by) {
  return seer_expr_copy(&dag->expr, &dag->expr, p->x, NULL, 0, give, &by);
}

// By positions in the buffer that x is read from, `n_words` in the dimension that is grouped.
static uint32_t add_input(seer_dag *dag, product *p, int64_t n_words) {
  const seer_expr_node load = *seer_expr_at(&dag->expr, p->load);
  const seer_dag_buf buf = dag->buf[load.ref];
  const seer_dag_stage old = dag->stage[p->stage];
  bool through = sees_through(dag, load.ref);
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  seer_dag_stage pad = {0};
  uint32_t stage;
  turned t = {.dag = dag, .extent = old.axis[p->axis].extent};
  if (t.extent % 4 == 0) t.extent = 4 * n_words;
  if (through) {
    stage = buf.stage;
    pad = dag->stage[stage];
    memcpy(axes, pad.axis, buf.rank * sizeof axes[0]);
    axes[p->dim].extent = n_words;
    seer_dag_rename_stage(dag, stage, "xw");
    seer_dag_reopen_stage(dag, stage, SEER_STAGE_PAD, axes, buf.rank, 0);
  } else {
    static const char *const names[SEER_MAX_RANK] = {
        "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11"};
    for (uint32_t d = 0; d < buf.rank; d++)
      axes[d] = (seer_dag_axis){names[d], buf.dim[d], SEER_AXIS_OTHER};
    axes[p->dim].extent = n_words;
    stage = seer_dag_insert_stage(dag, p->stage++, "xw", SEER_STAGE_PROLOGUE, axes, buf.rank, 0);
  }
  t.word = seer_dag_var(dag, stage, p->dim);
  t.map = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var + 1);
  seer_expr index[SEER_MAX_RANK], byte;
  for (uint32_t d = 0; d < buf.rank; d++) {
    index[d] = seer_dag_var(dag, stage, d);
    if (through && d != p->dim) t.map[pad.var0 + d] = index[d];
  }
  // Over the padding's variables, or the new stage's, one of which counts words.
  t.from = (through ? pad.var0 : dag->stage[stage].var0) + p->dim;
  byte = through ? pad.body[0] : seer_dag_load(dag, load.ref, index);
  seer_expr body = word_of(&t, replace(dag, p, byte));
  return seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
}

// The index of a word: that of its first byte, divided.
static seer_expr word_index(
    seer_dag *dag, const product *p, uint32_t stage, const seer_access_dim *dim) {
  seer_expr_pool *pool = &dag->expr;
  seer_expr sum = seer_dag_var(dag, stage, p->axis);
  for (uint32_t left = dim->axes & ~(1u << p->axis); left; left &= left - 1) {
    uint32_t a = (uint32_t)__builtin_ctz(left);
    seer_expr by = seer_expr_i(pool, dim->coef[a] / 4);
    seer_expr term = seer_expr_binary(pool, SEER_EXPR_MUL, seer_dag_var(dag, stage, a), by);
    sum = seer_expr_binary(pool, SEER_EXPR_ADD, sum, term);
  }
  return seer_expr_binary(pool, SEER_EXPR_ADD, sum, seer_expr_i(pool, dim->constant / 4));
}

static void turn_anchor(seer_dag *dag, const product *p, const seer_access_dim *grouped,
    int64_t n_words, uint32_t xw, uint32_t ww, const uint32_t *w_axes) {
  seer_expr_pool *pool = &dag->expr;
  const seer_dag_stage old = dag->stage[p->stage];
  const seer_expr_node load = *seer_expr_at(pool, p->load);
  uint32_t n_axis = (uint32_t)old.n_space + old.n_reduce;
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  memcpy(axes, old.axis, n_axis * sizeof axes[0]);
  axes[p->axis].extent = n_words;
  seer_dag_reopen_stage(dag, p->stage, old.role, axes, old.n_space, old.n_reduce);
  seer_expr *map = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var + 1);
  for (uint32_t a = 0; a < n_axis; a++) map[old.var0 + a] = seer_dag_var(dag, p->stage, a);
  seer_expr at[SEER_MAX_RANK], at_w[SEER_DAG_MAX_AXES], guard = {0}, otherwise = {0};
  for (uint32_t d = 0; d < load.n_index; d++) {
    at[d] = d == p->dim
        ? word_index(dag, p, p->stage, grouped)
        : seer_expr_copy(pool, pool, pool->index[load.index0 + d], map, dag->n_var, NULL, NULL);
  }
  if (load.arg[0].i != 0) {
    guard = seer_expr_copy(pool, pool, load.arg[0], map, dag->n_var, NULL, NULL);
    seer_expr byte = replace(dag, p, load.arg[1]);
    otherwise = spread(pool, seer_expr_at(pool, byte)->value.i);
  }
  for (uint32_t k = 0; k < dag->buf[ww].rank; k++) at_w[k] = seer_dag_var(dag, p->stage, w_axes[k]);
  seer_expr body = seer_expr_binary(pool, SEER_EXPR_DOT4,
      seer_dag_load_guarded(dag, xw, at, guard, otherwise), seer_dag_load(dag, ww, at_w));
  seer_dag_set_body(dag, p->stage, SEER_COMBINE_SUM, &body, 1);
}

static const seer_dag *make(
    const seer_dag *dag, const seer_target *target, seer_arena *arena, double *out_tolerance) {
  (void)target;
  product p;
  if (!match(dag, &p) || dag->n_stage + 2 > SEER_DAG_MAX_STAGES ||
      dag->n_buf + 2 > SEER_DAG_MAX_BUFFERS)
    return NULL;
  const seer_access *x = seer_access_find(dag, p.stage, p.load);
  const seer_access_dim grouped = *seer_access_index(dag->access, x, p.dim);
  int64_t n_words = seer_ceil_div(dag->stage[p.stage].axis[p.axis].extent, 4);
  bool is_all = (grouped.axes & ~(1u << p.axis)) == 0 && grouped.constant == 0;
  int64_t n_in_dim = is_all ? n_words : dag->buf[x->buf].dim[p.dim] / 4;
  uint32_t w_axes[SEER_DAG_MAX_AXES];
  seer_dag *made = seer_dag_clone(dag, arena);
  uint32_t xw = add_input(made, &p, n_in_dim);
  uint32_t ww = add_weights(made, &p, n_words, w_axes);
  turn_anchor(made, &p, &grouped, n_words, xw, ww, w_axes);
  seer_dag_finish(made);
  seer_status status = seer_dag_verify(made);
  SEER_ASSERT(!status, "%s", seer_status_message(status));
  *out_tolerance = 0;
  return made;
}

extern const seer_formulation seer_formulation_dot4;
const seer_formulation seer_formulation_dot4 = {
    .name = "dot4", .doc = "products of bytes, four at a time in words of 32 bits", .make = make};
