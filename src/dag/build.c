// build.c - building a DAG by calls. The caller's mistakes are assertions. Names are made fit for
// the text form (letters, digits, _ and .) and unique, so that whatever is built can be printed and
// parsed.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dag/access.h"
#include "dag/scalar.h"

static const char *const axis_roles[SEER_AXIS_ROLE_COUNT] = {"other", "batch", "y", "x",
    "out_channel", "in_channel", "ky", "kx", "group", "m", "n", "k", "head"};
static const char *const stage_roles[SEER_STAGE_ROLE_COUNT] = {"anchor", "prologue", "epilogue",
    "pad", "pack", "transform_in", "transform_out", "reduce_local", "fetch"};
static const char *const combiners[SEER_COMBINE_COUNT] = {
    "none", "sum", "prod", "max", "min", "argmax", "argmin", "and", "or"};

const char *seer_axis_role_name(seer_axis_role role) { return axis_roles[role]; }
const char *seer_stage_role_name(seer_stage_role role) { return stage_roles[role]; }
const char *seer_combiner_name(seer_combiner combiner) { return combiners[combiner]; }

bool seer_combiner_is_arg(seer_combiner combiner) {
  return combiner == SEER_COMBINE_ARGMAX || combiner == SEER_COMBINE_ARGMIN;
}

// ---- names

static bool is_reserved(const char *name) {
  static const char *const words[] = {"true", "false", "inf", "nan", "if", "else"};
  for (size_t k = 0; k < SEER_COUNT_OF(words); k++) {
    if (strcmp(name, words[k]) == 0) return true;
  }
  return false;
}

static const char *fit_name(seer_arena *arena, const char *name) {
  if (name == NULL || name[0] == 0) name = "v";
  size_t n = strlen(name);
  char *out = (char *)seer_arena_alloc(arena, n + 3, 1);
  size_t at = 0;
  bool starts_bad =
      !((name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z') || name[0] == '_');
  if (starts_bad) out[at++] = '_';
  for (size_t k = 0; k < n; k++) {
    char ch = name[k];
    bool good = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
        ch == '_' || ch == '.';
    out[at++] = good ? ch : '_';
  }
  if (is_reserved(out)) out[at++] = '_';
  return out;
}

static bool buf_name_taken(const seer_dag *dag, const char *name) {
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (strcmp(dag->buf[b].name, name) == 0) return true;
  }
  return false;
}

// Stages and buffers share one space of names: a stage's first buffer is called like the stage.
static bool global_name_taken(const seer_dag *dag, const char *name) {
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    if (strcmp(dag->stage[s].name, name) == 0) return true;
  }
  return buf_name_taken(dag, name);
}

const char *seer_dag_fresh_name(const seer_dag *dag, const char *wanted) {
  const char *name = fit_name(dag->arena, wanted), *tried = name;
  for (uint32_t k = 2; global_name_taken(dag, tried); k++)
    tried = seer_arena_printf(dag->arena, "%s_%u", name, k);
  return tried;
}

static const char *fresh_axis_name(
    const seer_dag *dag, const seer_dag_stage *stage, uint32_t n_before, const char *wanted) {
  const char *name = fit_name(dag->arena, wanted), *tried = name;
  for (uint32_t k = 2;; k++) {
    uint32_t a = 0;
    while (a < n_before && strcmp(stage->axis[a].name, tried) != 0) a++;
    if (a == n_before) return tried;
    tried = seer_arena_printf(dag->arena, "%s_%u", name, k);
  }
}

// ---- building

static void make_tables(seer_dag *dag, uint32_t cap_buf, uint32_t cap_stage) {
  dag->cap_buf = cap_buf;
  dag->cap_stage = cap_stage;
  dag->buf = SEER_NEW_ARRAY(dag->arena, seer_dag_buf, cap_buf);
  dag->stage = SEER_NEW_ARRAY(dag->arena, seer_dag_stage, cap_stage);
}

seer_dag *seer_dag_create(seer_arena *arena, const char *name) {
  seer_dag *dag = SEER_NEW(arena, seer_dag);
  dag->arena = arena;
  make_tables(dag, SEER_DAG_MAX_BUFFERS, SEER_DAG_MAX_STAGES);
  dag->name = fit_name(arena, name);
  seer_expr_pool_init(&dag->expr, arena);
  return dag;
}

static uint32_t add_buf(seer_dag *dag, const seer_dag_buf *buf) {
  SEER_ASSERT(dag->n_buf < dag->cap_buf, "dag %s: more than %u buffers", dag->name, dag->cap_buf);
  dag->buf[dag->n_buf] = *buf;
  return dag->n_buf++;
}

static int64_t pitch_of(const seer_dag_buf *buf, int64_t pitch) {
  int64_t row = buf->rank > 0 ? buf->dim[buf->rank - 1] : 1;
  if (pitch == 0) return row;
  SEER_ASSERT(pitch >= row, "buffer %s: pitch %" PRId64 ", row %" PRId64, buf->name, pitch, row);
  return pitch;
}

uint32_t seer_dag_add_input(seer_dag *dag, const char *name, seer_buf_kind kind, seer_dtype dtype,
    const int64_t *dim, uint32_t rank, int64_t pitch) {
  SEER_ASSERT(kind != SEER_BUF_STAGE, "input %s of kind STAGE", name);
  SEER_ASSERT(
      dtype > SEER_DTYPE_NONE && dtype < SEER_DTYPE_COUNT, "input %s: dtype %d", name, (int)dtype);
  SEER_ASSERT(rank <= SEER_MAX_RANK, "input %s: rank %u", name, rank);
  seer_dag_buf buf = {
      .name = seer_dag_fresh_name(dag, name), .dtype = dtype, .kind = kind, .rank = (uint8_t)rank};
  for (uint32_t k = 0; k < rank; k++) {
    SEER_ASSERT(dim[k] > 0, "input %s: dimension %u is %" PRId64, name, k, dim[k]);
    buf.dim[k] = dim[k];
  }
  buf.pitch = pitch_of(&buf, pitch);
  return add_buf(dag, &buf);
}

uint32_t seer_dag_add_stage(seer_dag *dag, const char *name, seer_stage_role role,
    const seer_dag_axis *axes, uint32_t n_space, uint32_t n_reduce) {
  SEER_ASSERT(
      dag->n_stage < dag->cap_stage, "dag %s: more than %u stages", dag->name, dag->cap_stage);
  const char *fresh = seer_dag_fresh_name(dag, name);
  uint32_t stage = dag->n_stage++;
  dag->stage[stage] = (seer_dag_stage){.name = fresh, .role = role};
  seer_dag_set_axes(dag, stage, axes, n_space, n_reduce);
  return stage;
}

void seer_dag_set_axes(
    seer_dag *dag, uint32_t stage, const seer_dag_axis *axes, uint32_t n_space, uint32_t n_reduce) {
  seer_dag_stage *s = &dag->stage[stage];
  SEER_ASSERT(n_space <= SEER_MAX_RANK && n_space + n_reduce <= SEER_DAG_MAX_AXES,
      "stage %s: %u + %u axes", s->name, n_space, n_reduce);
  dag->access = NULL;
  s->n_space = (uint8_t)n_space;
  s->n_reduce = (uint8_t)n_reduce;
  s->n_values = 0;
  s->combiner = SEER_COMBINE_NONE;
  s->var0 = dag->n_var;
  dag->n_var += n_space + n_reduce;
  for (uint32_t k = 0; k < n_space + n_reduce; k++) {
    SEER_ASSERT(
        axes[k].extent > 0, "stage %s: axis %u has extent %" PRId64, s->name, k, axes[k].extent);
    s->axis[k] = axes[k];
    s->axis[k].name = fresh_axis_name(dag, s, k, axes[k].name);
  }
}

seer_expr seer_dag_var(seer_dag *dag, uint32_t stage, uint32_t axis) {
  SEER_ASSERT(stage < dag->n_stage, "stage %u of %u", stage, dag->n_stage);
  const seer_dag_stage *s = &dag->stage[stage];
  SEER_ASSERT(axis < (uint32_t)s->n_space + s->n_reduce, "stage %s: axis %u", s->name, axis);
  return seer_expr_var(&dag->expr, s->var0 + axis);
}

const char *seer_dag_value_name(const seer_dag *dag, const seer_dag_stage *stage, uint32_t value) {
  if (value == 0) return stage->name;
  return seer_dag_fresh_name(dag, seer_arena_printf(dag->arena, "%s.%u", stage->name, value));
}

// The buffer of a value: a stage that was made anew has it already.
static uint32_t put_value(seer_dag *dag, uint32_t stage, uint32_t value, seer_dtype dtype) {
  const seer_dag_stage *s = &dag->stage[stage];
  seer_dag_buf buf = {.kind = SEER_BUF_STAGE,
      .rank = s->n_space,
      .value = (uint8_t)value,
      .stage = stage,
      .dtype = dtype};
  for (uint32_t k = 0; k < s->n_space; k++) buf.dim[k] = s->axis[k].extent;
  buf.pitch = pitch_of(&buf, 0);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    seer_dag_buf *old = &dag->buf[b];
    if (old->kind != SEER_BUF_STAGE || old->stage != stage || old->value != value) continue;
    bool is_same = old->dtype == dtype && old->rank == buf.rank &&
        memcmp(old->dim, buf.dim, buf.rank * sizeof buf.dim[0]) == 0;
    SEER_ASSERT(is_same || !old->is_output, "output %s would be another", old->name);
    buf.name = old->name;
    if (!is_same) *old = buf;
    return b;
  }
  buf.name = seer_dag_value_name(dag, s, value);
  return add_buf(dag, &buf);
}

uint32_t seer_dag_set_body(seer_dag *dag, uint32_t stage, seer_combiner combiner,
    const seer_expr *body, uint32_t n_values) {
  SEER_ASSERT(stage < dag->n_stage, "stage %u of %u", stage, dag->n_stage);
  seer_dag_stage *s = &dag->stage[stage];
  SEER_ASSERT(s->n_values == 0, "stage %s has a body already", s->name);
  SEER_ASSERT(
      n_values >= 1 && n_values <= SEER_DAG_MAX_VALUES, "stage %s: %u values", s->name, n_values);
  SEER_ASSERT((combiner == SEER_COMBINE_NONE) == (s->n_reduce == 0),
      "stage %s: %u reduction axes, combiner %s", s->name, s->n_reduce, combiners[combiner]);
  bool is_arg = seer_combiner_is_arg(combiner);
  SEER_ASSERT(!is_arg || n_values == 2, "stage %s: %s needs 2 values, has %u", s->name,
      combiners[combiner], n_values);
  s->combiner = combiner;
  s->n_values = (uint8_t)n_values;
  for (uint32_t v = 0; v < n_values; v++) {
    SEER_ASSERT(body[v].i != 0 && body[v].i < dag->expr.n, "stage %s: body %u is %u", s->name, v,
        body[v].i);
    s->body[v] = body[v];
    s->out[v] = put_value(dag, stage, v, (seer_dtype)seer_expr_at(&dag->expr, body[v])->dtype);
  }
  return s->out[0];
}

seer_expr seer_dag_load(seer_dag *dag, uint32_t buf, const seer_expr *index) {
  return seer_dag_load_guarded(dag, buf, index, (seer_expr){0}, (seer_expr){0});
}

seer_expr seer_dag_load_guarded(
    seer_dag *dag, uint32_t buf, const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  SEER_ASSERT(buf < dag->n_buf, "buffer %u of %u", buf, dag->n_buf);
  const seer_dag_buf *b = &dag->buf[buf];
  return seer_expr_load_guarded(&dag->expr, b->dtype, buf, index, b->rank, predicate, otherwise);
}

void seer_dag_mark_output(seer_dag *dag, uint32_t buf, int64_t pitch) {
  SEER_ASSERT(buf < dag->n_buf && dag->buf[buf].kind == SEER_BUF_STAGE,
      "output %u of %u is no stage's", buf, dag->n_buf);
  dag->buf[buf].is_output = true;
  dag->buf[buf].pitch = pitch_of(&dag->buf[buf], pitch);
}

typedef struct {
  const seer_dag *dag;
  bool is_const;
} const_walk;

static void note_load(void *user, seer_expr e) {
  const_walk *walk = user;
  const seer_expr_node *node = seer_expr_at(&walk->dag->expr, e);
  if (node->op != SEER_EXPR_LOAD) return;
  const seer_dag_buf *buf = &walk->dag->buf[node->ref];
  bool is_const = buf->kind == SEER_BUF_WEIGHT ||
      (buf->kind == SEER_BUF_STAGE && walk->dag->stage[buf->stage].is_const);
  if (!is_const) walk->is_const = false;
}

void seer_dag_finish(seer_dag *dag) {
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    seer_dag_stage *stage = &dag->stage[s];
    SEER_ASSERT(stage->n_values > 0, "dag %s: stage %s has no body", dag->name, stage->name);
    const_walk walk = {dag, true};
    for (uint32_t v = 0; v < stage->n_values; v++)
      seer_expr_visit(&dag->expr, stage->body[v], note_load, &walk);
    stage->is_const = walk.is_const && stage->role != SEER_STAGE_FETCH;
  }
  dag->access = seer_access_build(dag, dag->arena);
}

static void copy_pool(const seer_expr_pool *from, bool is_sealed, seer_expr_pool *to) {
  if (is_sealed) {
    to->cap = from->n;
    to->cap_index = from->n_index;
  }
  to->node = SEER_NEW_ARRAY(to->arena, seer_expr_node, to->cap);
  memcpy(to->node, from->node, from->n * sizeof(seer_expr_node));
  to->index = SEER_NEW_ARRAY(to->arena, seer_expr, to->cap_index + 1);
  if (from->n_index > 0) memcpy(to->index, from->index, from->n_index * sizeof(seer_expr));
  to->bucket = SEER_NEW_ARRAY(to->arena, uint32_t, from->n_bucket);
  memcpy(to->bucket, from->bucket, from->n_bucket * sizeof(uint32_t));
}

static seer_dag *copy(const seer_dag *dag, bool is_sealed, seer_arena *arena) {
  seer_dag *to = (seer_dag *)seer_arena_memdup(arena, dag, sizeof *dag);
  to->arena = to->expr.arena = arena;
  if (is_sealed)
    make_tables(to, dag->n_buf, dag->n_stage);
  else
    make_tables(to, SEER_DAG_MAX_BUFFERS, SEER_DAG_MAX_STAGES);
  memcpy(to->buf, dag->buf, dag->n_buf * sizeof dag->buf[0]);
  memcpy(to->stage, dag->stage, dag->n_stage * sizeof dag->stage[0]);
  if (dag->access) to->access = seer_access_copy(dag->access, arena);
  to->name = seer_arena_strdup(arena, dag->name);
  copy_pool(&dag->expr, is_sealed, &to->expr);
  for (uint32_t b = 0; b < to->n_buf; b++)
    to->buf[b].name = seer_arena_strdup(arena, dag->buf[b].name);
  for (uint32_t s = 0; s < to->n_stage; s++) {
    seer_dag_stage *stage = &to->stage[s];
    stage->name = seer_arena_strdup(arena, stage->name);
    for (uint32_t k = 0; k < (uint32_t)stage->n_space + stage->n_reduce; k++) {
      stage->axis[k].name = seer_arena_strdup(arena, stage->axis[k].name);
    }
  }
  return to;
}

seer_dag *seer_dag_clone(const seer_dag *dag, seer_arena *arena) { return copy(dag, false, arena); }

const seer_dag *seer_dag_seal(const seer_dag *dag, seer_arena *arena) {
  return copy(dag, true, arena);
}

int64_t seer_dag_buf_elems(const seer_dag_buf *buf) {
  if (buf->rank == 0) return 1;
  int64_t rows = 1;
  for (uint32_t k = 0; k + 1 < buf->rank; k++) rows *= buf->dim[k];
  return rows * buf->pitch;
}

// ---- combiners

static seer_scalar small_number(seer_dtype dtype, int64_t number) {
  if (seer_dtype_is_float(dtype)) return (seer_scalar){.f = (double)number};
  return (seer_scalar){.i = number};
}

seer_scalar seer_combiner_identity(seer_combiner combiner, uint32_t value, seer_dtype dtype) {
  if (value == 1 && seer_combiner_is_arg(combiner)) combiner = SEER_COMBINE_MIN;
  switch (combiner) {
    case SEER_COMBINE_NONE:
    case SEER_COMBINE_SUM:
    case SEER_COMBINE_OR:
      return small_number(dtype, 0);
    case SEER_COMBINE_PROD:
      return small_number(dtype, 1);
    case SEER_COMBINE_MAX:
    case SEER_COMBINE_ARGMAX:
      return seer_scalar_lowest(dtype);
    case SEER_COMBINE_MIN:
    case SEER_COMBINE_ARGMIN:
      return seer_scalar_highest(dtype);
    case SEER_COMBINE_AND:  // all bits
      return seer_dtype_is_signed(dtype) ? small_number(dtype, -1) : seer_scalar_highest(dtype);
    case SEER_COMBINE_COUNT:
      break;
  }
  SEER_ASSERT(false, "combiner %d", (int)combiner);
}

void seer_combiner_init(
    seer_combiner combiner, const seer_dtype *dtype, uint32_t n_values, seer_scalar *out_acc) {
  for (uint32_t v = 0; v < n_values; v++)
    out_acc[v] = seer_combiner_identity(combiner, v, dtype[v]);
}

static seer_scalar apply(
    seer_expr_op op, seer_dtype dtype, seer_dtype arg_dtype, seer_scalar a, seer_scalar b) {
  seer_scalar none = {.i = 0};
  return seer_scalar_apply(op, dtype, arg_dtype, a, b, none);
}

seer_expr_op seer_combiner_op(seer_combiner combiner) {
  switch (combiner) {
    case SEER_COMBINE_SUM:
      return SEER_EXPR_ADD;
    case SEER_COMBINE_PROD:
      return SEER_EXPR_MUL;
    case SEER_COMBINE_MAX:
      return SEER_EXPR_MAX;
    case SEER_COMBINE_MIN:
      return SEER_EXPR_MIN;
    case SEER_COMBINE_AND:
      return SEER_EXPR_AND;
    case SEER_COMBINE_OR:
      return SEER_EXPR_OR;
    case SEER_COMBINE_ARGMAX:
      return SEER_EXPR_GT;
    case SEER_COMBINE_ARGMIN:
      return SEER_EXPR_LT;
    case SEER_COMBINE_NONE:
    case SEER_COMBINE_COUNT:
      break;
  }
  SEER_ASSERT(false, "combiner %d", (int)combiner);
}

void seer_combiner_apply(seer_combiner combiner, const seer_dtype *dtype, uint32_t n_values,
    seer_scalar *acc, const seer_scalar *value) {
  seer_expr_op op = seer_combiner_op(combiner);
  if (!seer_combiner_is_arg(combiner)) {
    for (uint32_t v = 0; v < n_values; v++)
      acc[v] = apply(op, dtype[v], dtype[v], acc[v], value[v]);
    return;
  }
  bool better = apply(op, SEER_DTYPE_BOOL, dtype[0], value[0], acc[0]).i != 0;
  bool equal = apply(SEER_EXPR_EQ, SEER_DTYPE_BOOL, dtype[0], value[0], acc[0]).i != 0;
  if (seer_dtype_is_float(dtype[0])) {
    better = better || (isnan(value[0].f) && !isnan(acc[0].f));
    equal = equal || (isnan(value[0].f) && isnan(acc[0].f));
  }
  bool earlier = equal && apply(SEER_EXPR_LT, SEER_DTYPE_BOOL, dtype[1], value[1], acc[1]).i != 0;
  if (better || earlier) {
    acc[0] = value[0];
    acc[1] = value[1];
  }
}
