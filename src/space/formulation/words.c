// words.c - see words.h. Operators on bytes between x and the product that words have too (the
// turned sign of signed numbers) are done on words. All of it is exact.
#include "space/formulation/words.h"

#include <string.h>

#include "dag/access.h"
#include "dag/edit.h"
#include "space/formulation/common.h"

// ---- is it such a product?

// The factor without its load is of constants: it is the same operator on each element. A choice
// by position (padding) may stand around the load alone.
static bool is_alike(const seer_dag *dag, seer_expr e, seer_expr load) {
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  if (e.i == load.i) return true;
  if (node->op == SEER_EXPR_VAR) return false;
  for (uint32_t k = 0; k < seer_expr_arity((seer_expr_op)node->op); k++) {
    if (!is_alike(dag, node->arg[k], load)) return false;
  }
  return true;
}

static const seer_access *access_of(
    const seer_dag *dag, const seer_word_product *p, const seer_word_factor *f) {
  return seer_access_find(dag, p->stage, f->load);
}

static bool match_load(const seer_dag *dag, const seer_word_product *p, seer_word_factor *f) {
  f->load = seer_formulation_only_load(&dag->expr, f->part);
  if (f->load.i == 0) return false;
  const seer_access *x = access_of(dag, p, f);
  if (!x || x->rank == 0 || dag->buf[x->buf].kind == SEER_BUF_WEIGHT) return false;
  const seer_expr_node *load = seer_expr_at(&dag->expr, f->load);
  seer_expr_op otherwise = (seer_expr_op)seer_expr_at(&dag->expr, load->arg[1])->op;
  if (load->arg[0].i != 0 && otherwise != SEER_EXPR_CONST_I && otherwise != SEER_EXPR_CONST_F)
    return false;
  return is_alike(dag, f->part, f->load);
}

static bool depends_on(const seer_dag *dag, const seer_word_product *p, seer_expr e) {
  return e.i != 0 && seer_expr_uses_var(&dag->expr, e, dag->stage[p->stage].var0 + p->axis);
}

static uint32_t n_parts(const seer_dag *dag, const seer_word_product *p) {
  return seer_expr_word_parts(&dag->expr, p->factor[0].part);
}

// The group's axis alone, or with others in whole words.
static bool is_in_words(
    const seer_dag *dag, const seer_word_product *p, const seer_access_dim *dim, int64_t extent) {
  int64_t n = n_parts(dag, p);
  uint32_t others = dim->axes & ~(1u << p->axis);
  if (!seer_access_is_sum(dim) || dim->coef[p->axis] != 1) return false;
  if (others == 0 && dim->constant == 0) return true;
  bool is_whole = dim->constant % n == 0 && extent % n == 0 &&
      dag->stage[p->stage].axis[p->axis].extent % n == 0;
  for (; others; others &= others - 1) is_whole &= dim->coef[__builtin_ctz(others)] % n == 0;
  return is_whole;
}

// The axis in hand fits dimension `dim` of what the factor loads.
static bool fits_dim(const seer_dag *dag, const seer_word_product *p, const seer_word_factor *f,
    const seer_access *x, uint32_t dim) {
  seer_expr guard = seer_expr_at(&dag->expr, f->load)->arg[0];
  if (depends_on(dag, p, guard) ||
      !is_in_words(dag, p, seer_access_index(dag->access, x, dim), dag->buf[x->buf].dim[dim]))
    return false;
  for (uint32_t d = 0; d < x->rank; d++)
    if (d != dim && (seer_access_index(dag->access, x, d)->axes >> p->axis & 1)) return false;
  return true;
}

// Any of its dimensions that the axis in hand fits.
static bool fits(const seer_dag *dag, const seer_word_product *p, seer_word_factor *f) {
  const seer_access *x = f->is_weight ? NULL : access_of(dag, p, f);
  for (uint32_t d = x ? x->rank : 0; d-- > 0;) {
    if (!fits_dim(dag, p, f, x, d)) continue;
    f->dim = d;
    return true;
  }
  return f->is_weight;
}

// For dimension `dim` of what the first factor loads the longest axis that fits; false: none.
static bool match_dim(const seer_dag *dag, uint32_t dim, int64_t min_extent, seer_word_product *p) {
  const seer_dag_stage *s = &dag->stage[p->stage];
  const seer_access *x = access_of(dag, p, &p->factor[0]);
  uint32_t best = 0;
  int64_t extent = min_extent - 1;
  for (uint32_t a = s->n_space; a < (uint32_t)s->n_space + s->n_reduce; a++) {
    p->axis = a;
    if (s->axis[a].extent <= extent || !fits_dim(dag, p, &p->factor[0], x, dim) ||
        !fits(dag, p, &p->factor[1]))
      continue;
    best = a;
    extent = s->axis[a].extent;
  }
  p->axis = best;
  p->factor[0].dim = dim;
  return best != 0 && fits(dag, p, &p->factor[1]);
}

bool seer_words_match(const seer_dag *dag, int64_t min_extent, seer_word_product *p) {
  if (p->factor[0].is_weight) {
    seer_word_factor first = p->factor[0];
    p->factor[0] = p->factor[1];
    p->factor[1] = first;
  }
  for (uint32_t k = 0; k < 2; k++)
    if (!(k == 1 && p->factor[k].is_weight) && !match_load(dag, p, &p->factor[k])) return false;
  // Neighbours rather than what lies rows apart.
  for (uint32_t d = access_of(dag, p, &p->factor[0])->rank; d-- > 0;) {
    if (match_dim(dag, d, min_extent, p)) return true;
  }
  return false;
}

// ---- words

// What becomes of an expression over old variables: variable `from` is element number `part` of the
// word that the variable `word` counts, and is below `extent`.
typedef struct {
  seer_dag *dag;
  uint32_t from, n;  // parts of a word
  int64_t extent;
  seer_expr word, index;  // the index of the element in hand
  bool may_end;  // it may be beyond the extent
  seer_expr *map;  // by variable
} turned;

// Beyond the extent nothing is read.
static seer_expr read_inside(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  const turned *t = user;
  seer_dtype dtype = (seer_dtype)load->dtype;
  if (t->may_end) {
    seer_expr is_in =
        seer_expr_binary(to, SEER_EXPR_LT, t->index, seer_expr_int(to, SEER_DTYPE_I64, t->extent));
    predicate = predicate.i ? seer_expr_binary(to, SEER_EXPR_AND, predicate, is_in) : is_in;
    if (!otherwise.i) otherwise = seer_expr_scalar(to, dtype, (seer_scalar){0});
  }
  return seer_expr_load_guarded(to, dtype, load->ref, index, load->n_index, predicate, otherwise);
}

static seer_expr part_of(turned *t, seer_expr e, uint32_t part) {
  seer_expr_pool *pool = &t->dag->expr;
  t->index = seer_expr_binary(pool, SEER_EXPR_ADD,
      seer_expr_binary(pool, SEER_EXPR_MUL, t->word, seer_expr_i(pool, t->n)),
      seer_expr_i(pool, part));
  t->may_end = t->extent % t->n != 0 && part >= t->extent % t->n;
  t->map[t->from] = t->index;
  return seer_expr_copy(pool, pool, e, t->map, t->dag->n_var, read_inside, t);
}

static bool is_of_bits(seer_expr_op op) {
  return op == SEER_EXPR_XOR || op == SEER_EXPR_AND || op == SEER_EXPR_OR;
}

// The word whose parts are all `part`, a constant.
static seer_expr spread(seer_expr_pool *pool, seer_expr part) {
  const seer_expr all[SEER_WORD_MAX_PARTS] = {part, part, part, part};
  return seer_expr_word(pool, all);
}

// Neighbours of `e` as a word.
static seer_expr word_of(turned *t, seer_expr e) {
  seer_expr_pool *pool = &t->dag->expr;
  const seer_expr_node node = *seer_expr_at(pool, e);
  seer_dtype from = node.arg[0].i ? (seer_dtype)seer_expr_at(pool, node.arg[0])->dtype : 0;
  if (node.op == SEER_EXPR_CONST_I || node.op == SEER_EXPR_CONST_F) return spread(pool, e);
  bool is_turned = node.op == SEER_EXPR_CAST && seer_dtype_is_byte(from);
  if (is_turned) return word_of(t, node.arg[0]);
  if (is_of_bits((seer_expr_op)node.op)) {
    seer_expr a = word_of(t, node.arg[0]), b = word_of(t, node.arg[1]);
    return seer_expr_binary(pool, (seer_expr_op)node.op, a, b);
  }
  seer_expr part[SEER_WORD_MAX_PARTS];
  for (uint32_t k = 0; k < t->n; k++) part[k] = part_of(t, e, k);
  return seer_expr_word(pool, part);
}

// ---- the stages: each goes before the anchor, which moves up

// A buffer of words, and how the anchor reads it.
typedef struct {
  uint32_t buf;
  // of weights: the product's axes that they move with, in their order
  uint32_t axes[SEER_DAG_MAX_AXES];
  seer_access_dim grouped;  // of others: the index of the dimension that is taken in groups
} words;

static void add_weights(
    seer_dag *dag, seer_word_product *p, const seer_word_factor *f, int64_t n_words, words *out) {
  const seer_dag_stage old = dag->stage[p->stage];
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  uint32_t n = 0, n_axis = (uint32_t)old.n_space + old.n_reduce;
  for (uint32_t a = 0; a < n_axis; a++) {
    if (a != p->axis && !seer_expr_uses_var(&dag->expr, f->part, old.var0 + a)) continue;
    axes[n] = old.axis[a];
    if (a == p->axis) axes[n].extent = n_words;
    out->axes[n++] = a;
  }
  uint32_t stage = seer_dag_insert_stage(dag, p->stage++, "ww", SEER_STAGE_PACK, axes, n, 0);
  turned t = {.dag = dag,
      .from = old.var0 + p->axis,
      .n = n_parts(dag, p),
      .extent = old.axis[p->axis].extent};
  t.map = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var + 1);
  for (uint32_t k = 0; k < n; k++) {
    seer_expr var = seer_dag_var(dag, stage, k);
    if (out->axes[k] == p->axis)
      t.word = var;
    else
      t.map[old.var0 + out->axes[k]] = var;
  }
  seer_expr body = word_of(&t, f->part);
  out->buf = seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
}

// A stage that only moves elements to pad them, for the product alone.
static bool sees_through(const seer_dag *dag, uint32_t buf) {
  uint32_t readers[SEER_DAG_MAX_STAGES];
  if (dag->buf[buf].kind != SEER_BUF_STAGE || dag->buf[buf].is_output) return false;
  const seer_dag_stage *pad = &dag->stage[dag->buf[buf].stage];
  if (pad->role != SEER_STAGE_PAD || pad->n_values != 1 || pad->n_reduce != 0) return false;
  if (seer_dag_readers(dag, dag->buf[buf].stage, readers) != 1) return false;
  const seer_expr_node *body = seer_expr_at(&dag->expr, pad->body[0]);
  if (body->op == SEER_EXPR_CAST && seer_dtype_is_float((seer_dtype)body->dtype))
    body = seer_expr_at(&dag->expr, body->arg[0]);
  seer_expr_op otherwise = (seer_expr_op)seer_expr_at(&dag->expr, body->arg[1])->op;
  return body->op == SEER_EXPR_LOAD &&
      (body->arg[0].i == 0 || otherwise == SEER_EXPR_CONST_I || otherwise == SEER_EXPR_CONST_F);
}

static seer_expr give(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  (void)to, (void)load, (void)index, (void)predicate, (void)otherwise;
  return *(const seer_expr *)user;
}

// The factor with its load replaced by `by`, which is of its type.
static seer_expr replace(seer_dag *dag, const seer_word_factor *f, seer_expr by) {
  return seer_expr_copy(&dag->expr, &dag->expr, f->part, NULL, 0, give, &by);
}

// By positions in the buffer that the factor is read from, `n_words` in the dimension that is
// grouped.
static uint32_t add_input(seer_dag *dag, seer_word_product *p, const seer_word_factor *f,
    const char *name, int64_t n_words) {
  const seer_expr_node load = *seer_expr_at(&dag->expr, f->load);
  const seer_dag_buf buf = dag->buf[load.ref];
  const seer_dag_stage old = dag->stage[p->stage];
  bool through = sees_through(dag, load.ref);
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  seer_dag_stage pad = {0};
  uint32_t stage;
  turned t = {.dag = dag, .n = n_parts(dag, p), .extent = old.axis[p->axis].extent};
  if (t.extent % t.n == 0) t.extent = t.n * n_words;
  if (through) {
    stage = buf.stage;
    pad = dag->stage[stage];
    memcpy(axes, pad.axis, buf.rank * sizeof axes[0]);
    axes[f->dim].extent = n_words;
    seer_dag_rename_stage(dag, stage, name);
    seer_dag_reopen_stage(dag, stage, SEER_STAGE_PAD, axes, buf.rank, 0);
  } else {
    static const char *const names[SEER_MAX_RANK] = {
        "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11"};
    for (uint32_t d = 0; d < buf.rank; d++)
      axes[d] = (seer_dag_axis){names[d], buf.dim[d], SEER_AXIS_OTHER};
    axes[f->dim].extent = n_words;
    stage = seer_dag_insert_stage(dag, p->stage++, name, SEER_STAGE_PROLOGUE, axes, buf.rank, 0);
  }
  t.word = seer_dag_var(dag, stage, f->dim);
  t.map = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var + 1);
  seer_expr index[SEER_MAX_RANK], part;
  for (uint32_t d = 0; d < buf.rank; d++) {
    index[d] = seer_dag_var(dag, stage, d);
    if (through && d != f->dim) t.map[pad.var0 + d] = index[d];
  }
  // Over the padding's variables, or the new stage's, one of which counts words.
  t.from = (through ? pad.var0 : dag->stage[stage].var0) + f->dim;
  part = through ? pad.body[0] : seer_dag_load(dag, load.ref, index);
  seer_expr body = word_of(&t, replace(dag, f, part));
  return seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
}

// The index of a word: that of its first element, divided.
static seer_expr word_index(
    seer_dag *dag, const seer_word_product *p, int64_t n, const seer_access_dim *dim) {
  seer_expr_pool *pool = &dag->expr;
  seer_expr sum = seer_dag_var(dag, p->stage, p->axis);
  for (uint32_t left = dim->axes & ~(1u << p->axis); left; left &= left - 1) {
    uint32_t a = (uint32_t)__builtin_ctz(left);
    seer_expr by = seer_expr_i(pool, dim->coef[a] / n);
    seer_expr term = seer_expr_binary(pool, SEER_EXPR_MUL, seer_dag_var(dag, p->stage, a), by);
    sum = seer_expr_binary(pool, SEER_EXPR_ADD, sum, term);
  }
  return seer_expr_binary(pool, SEER_EXPR_ADD, sum, seer_expr_i(pool, dim->constant / n));
}

// What the anchor, whose old variables `map` has as new ones, reads for a factor.
static seer_expr read_words(seer_dag *dag, const seer_word_product *p, const seer_word_factor *f,
    const words *of, const seer_expr *map) {
  seer_expr_pool *pool = &dag->expr;
  seer_expr at[SEER_DAG_MAX_AXES], guard = {0}, otherwise = {0};
  if (f->is_weight) {
    for (uint32_t k = 0; k < dag->buf[of->buf].rank; k++)
      at[k] = seer_dag_var(dag, p->stage, of->axes[k]);
    return seer_dag_load(dag, of->buf, at);
  }
  const seer_expr_node load = *seer_expr_at(pool, f->load);
  for (uint32_t d = 0; d < load.n_index; d++) {
    at[d] = d == f->dim
        ? word_index(dag, p, n_parts(dag, p), &of->grouped)
        : seer_expr_copy(pool, pool, pool->index[load.index0 + d], map, dag->n_var, NULL, NULL);
  }
  if (load.arg[0].i != 0) {
    guard = seer_expr_copy(pool, pool, load.arg[0], map, dag->n_var, NULL, NULL);
    otherwise = spread(pool, replace(dag, f, load.arg[1]));
  }
  return seer_dag_load_guarded(dag, of->buf, at, guard, otherwise);
}

static void turn_anchor(
    seer_dag *dag, const seer_word_product *p, int64_t n_words, const words *of) {
  seer_expr_pool *pool = &dag->expr;
  const seer_dag_stage old = dag->stage[p->stage];
  uint32_t n_axis = (uint32_t)old.n_space + old.n_reduce;
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  memcpy(axes, old.axis, n_axis * sizeof axes[0]);
  axes[p->axis].extent = n_words;
  seer_dag_reopen_stage(dag, p->stage, old.role, axes, old.n_space, old.n_reduce);
  seer_expr *map = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var + 1);
  for (uint32_t a = 0; a < n_axis; a++) map[old.var0 + a] = seer_dag_var(dag, p->stage, a);
  seer_expr x = read_words(dag, p, &p->factor[0], &of[0], map);
  seer_expr body = seer_expr_binary(pool, p->op, x, read_words(dag, p, &p->factor[1], &of[1], map));
  seer_dag_set_body(dag, p->stage, SEER_COMBINE_SUM, &body, 1);
}

bool seer_words_make(const seer_dag *matched, seer_dag *dag, seer_word_product *p) {
  static const char *const names[] = {"xw", "yw"};
  int64_t n = n_parts(dag, p),
          n_words = seer_ceil_div(dag->stage[p->stage].axis[p->axis].extent, n);
  words of[2] = {{0}};
  int64_t n_in_dim[2] = {0};
  if (dag->n_stage + 2 > SEER_DAG_MAX_STAGES || dag->n_buf + 2 > SEER_DAG_MAX_BUFFERS) return false;
  for (uint32_t k = 0; k < 2; k++) {
    const seer_word_factor *f = &p->factor[k];
    if (f->is_weight) continue;
    const seer_access *x = access_of(matched, p, f);
    of[k].grouped = *seer_access_index(matched->access, x, f->dim);
    bool is_all = (of[k].grouped.axes & ~(1u << p->axis)) == 0 && of[k].grouped.constant == 0;
    n_in_dim[k] = is_all ? n_words : matched->buf[x->buf].dim[f->dim] / n;
  }
  for (uint32_t k = 0; k < 2; k++) {
    if (p->factor[k].is_weight)
      add_weights(dag, p, &p->factor[k], n_words, &of[k]);
    else
      of[k].buf = add_input(dag, p, &p->factor[k], names[k], n_in_dim[k]);
  }
  turn_anchor(dag, p, n_words, of);
  seer_dag_finish(dag);
  seer_status status = seer_dag_verify(dag);
  SEER_ASSERT(!status, "%s", seer_status_message(status));
  return true;
}
