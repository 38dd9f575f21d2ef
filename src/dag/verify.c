// verify.c - is this a DAG? Structure, types, and every load in bounds: plain loads for all values
// of the axes, guarded loads for those where their own predicate holds (an outer guard does not
// count: code may load first and select later). Bounds are proved by seer_expr_range_given; what
// cannot be proved is refused.
#include <string.h>

#include "dag/dag.h"
#include "dag/text/expr_text.h"

typedef struct {
  const seer_dag *dag;
  uint32_t stage;
  int64_t *low, *high;  // by variable
  uint8_t *seen;  // by expression: checked for this stage
  seer_arena *scratch;
} checker;

static const seer_dag_stage *stage_of(const checker *c) { return &c->dag->stage[c->stage]; }

static const char *var_name(void *user, uint32_t ref) {
  const checker *c = user;
  return stage_of(c)->axis[ref - stage_of(c)->var0].name;
}

static const char *buf_name(void *user, uint32_t buf) {
  const checker *c = user;
  return c->dag->buf[buf].name;
}

static const char *spell(checker *c, seer_expr e) {
  seer_text text;
  seer_text_init(&text, c->scratch);
  seer_expr_names names = {c, var_name, buf_name};
  seer_expr_print(&text, &c->dag->expr, e, &names);
  return text.data;
}

static seer_status check_expr(checker *c, seer_expr e);

static seer_status check_load(checker *c, const seer_expr_node *node) {
  const seer_dag *dag = c->dag;
  const char *stage = stage_of(c)->name;
  if (node->ref >= dag->n_buf)
    return SEER_FAIL(INVALID, "stage %s: load of buffer %u of %u", stage, node->ref, dag->n_buf);
  const seer_dag_buf *buf = &dag->buf[node->ref];
  if (buf->kind == SEER_BUF_STAGE && buf->stage >= c->stage) {
    return SEER_FAIL(INVALID, "stage %s: reads $%s, which is not made before it", stage, buf->name);
  }
  if (node->dtype != buf->dtype || node->n_index != buf->rank) {
    return SEER_FAIL(INVALID, "stage %s: load of $%s as %s with %u indices, it is %s of rank %u",
        stage, buf->name, seer_dtype_name((seer_dtype)node->dtype), node->n_index,
        seer_dtype_name(buf->dtype), buf->rank);
  }
  for (uint32_t k = 0; k < node->n_index; k++)
    SEER_TRY(check_expr(c, dag->expr.index[node->index0 + k]));
  for (int k = 0; k < 2; k++) {
    if (node->arg[k].i != 0) SEER_TRY(check_expr(c, node->arg[k]));
  }
  for (uint32_t k = 0; k < node->n_index; k++) {
    seer_expr index = dag->expr.index[node->index0 + k];
    int64_t low, high;
    const char *guard = node->arg[0].i ? " where its guard holds" : "";
    if (!seer_expr_range_given(&dag->expr, index, c->low, c->high, node->arg[0], &low, &high)) {
      return SEER_FAIL(INVALID,
          "stage %s: index %u of $%s, '%s', has no provable bounds%s, must be 0 to %" PRId64, stage,
          k, buf->name, spell(c, index), guard, buf->dim[k] - 1);
    }
    if (low <= high && (low < 0 || high >= buf->dim[k])) {
      return SEER_FAIL(INVALID,
          "stage %s: index %u of $%s, '%s', is %" PRId64 " to %" PRId64 "%s, must be 0 to %" PRId64,
          stage, k, buf->name, spell(c, index), low, high, guard, buf->dim[k] - 1);
    }
  }
  return SEER_OK;
}

static seer_status check_types(const checker *c, const seer_expr_node *node) {
  seer_expr_op op = (seer_expr_op)node->op;
  seer_dtype type[3] = {SEER_DTYPE_NONE, SEER_DTYPE_NONE, SEER_DTYPE_NONE},
             dtype = (seer_dtype)node->dtype;
  for (uint32_t k = 0; k < seer_expr_arity(op); k++) {
    type[k] = (seer_dtype)seer_expr_at(&c->dag->expr, node->arg[k])->dtype;
  }
  bool fine = true;
  if (op == SEER_EXPR_CAST) {
    fine = dtype != SEER_DTYPE_NONE;
  } else if (op == SEER_EXPR_SELECT) {
    fine = type[0] == SEER_DTYPE_BOOL && type[1] == type[2] && dtype == type[1];
  } else if (op >= SEER_EXPR_ISNAN && op <= SEER_EXPR_NE) {
    fine = dtype == SEER_DTYPE_BOOL && (op == SEER_EXPR_ISNAN || type[0] == type[1]);
  } else if (seer_expr_arity(op) > 0) {
    bool is_dot = op == SEER_EXPR_DOT4 || seer_expr_is_dot2(op);
    fine = (!is_dot || type[0] == SEER_DTYPE_I32) &&
        (op != SEER_EXPR_BITS || seer_dtype_format(type[0])) &&
        (op != SEER_EXPR_TF32 || type[0] == SEER_DTYPE_F32) &&
        dtype == seer_expr_op_gives(op, type[0]) &&
        (seer_expr_arity(op) == 1 || type[0] == type[1]);
  }
  if (fine && seer_dtype_format(type[0]) && !seer_expr_op_is_of_stored(op)) {
    return SEER_FAIL(INVALID,
        "stage %s: '%s' of %s, which is stored, moved and compared only; must be of a cast to f32",
        stage_of(c)->name, seer_expr_op_text(op), seer_dtype_name(type[0]));
  }
  if (fine) return SEER_OK;
  return SEER_FAIL(INVALID, "stage %s: %s of %s and %s gives %s", stage_of(c)->name,
      seer_expr_op_text(op), seer_dtype_name(type[0]), seer_dtype_name(type[1]),
      seer_dtype_name(dtype));
}

static seer_status check_expr(checker *c, seer_expr e) {
  const char *stage = stage_of(c)->name;
  if (e.i == 0 || e.i >= c->dag->expr.n) {
    return SEER_FAIL(INVALID, "stage %s: expression %u of %zu", stage, e.i, c->dag->expr.n);
  }
  if (c->seen[e.i]) return SEER_OK;
  c->seen[e.i] = 1;
  const seer_expr_node *node = seer_expr_at(&c->dag->expr, e);
  if (node->op == SEER_EXPR_NONE || node->op >= SEER_EXPR_COUNT) {
    return SEER_FAIL(INVALID, "stage %s: operator %u", stage, node->op);
  }
  if (node->op == SEER_EXPR_LOAD) return check_load(c, node);
  if (node->op == SEER_EXPR_VAR) {
    uint32_t axis = node->ref - stage_of(c)->var0;
    if (axis < (uint32_t)stage_of(c)->n_space + stage_of(c)->n_reduce) return SEER_OK;
    return SEER_FAIL(
        INVALID, "stage %s: uses variable %u, which is no axis of it", stage, node->ref);
  }
  for (uint32_t k = 0; k < seer_expr_arity((seer_expr_op)node->op); k++)
    SEER_TRY(check_expr(c, node->arg[k]));
  return check_types(c, node);
}

static seer_status check_combiner(const checker *c) {
  const seer_dag_stage *s = stage_of(c);
  if ((s->combiner == SEER_COMBINE_NONE) != (s->n_reduce == 0)) {
    return SEER_FAIL(INVALID, "stage %s: combiner %s over %u axes", s->name,
        seer_combiner_name(s->combiner), s->n_reduce);
  }
  bool is_arg = seer_combiner_is_arg(s->combiner);
  if (is_arg && s->n_values != 2) {
    return SEER_FAIL(INVALID, "stage %s: %s of %u values, must be 2", s->name,
        seer_combiner_name(s->combiner), s->n_values);
  }
  for (uint32_t v = 0; v < s->n_values; v++) {
    seer_dtype dtype = (seer_dtype)seer_expr_at(&c->dag->expr, s->body[v])->dtype;
    bool needs_int =
        (is_arg && v == 1) || s->combiner == SEER_COMBINE_AND || s->combiner == SEER_COMBINE_OR;
    if (needs_int && seer_dtype_is_float(dtype)) {
      return SEER_FAIL(INVALID, "stage %s: value %u of %s is %s", s->name, v,
          seer_combiner_name(s->combiner), seer_dtype_name(dtype));
    }
    bool adds_up = s->combiner == SEER_COMBINE_SUM || s->combiner == SEER_COMBINE_PROD;
    if (adds_up && seer_dtype_format(dtype)) {
      return SEER_FAIL(INVALID,
          "stage %s: a %s of %s, whose partial results would be rounded to it; must be of f32, "
          "with "
          "a cast in a stage behind it",
          s->name, seer_combiner_name(s->combiner), seer_dtype_name(dtype));
    }
  }
  return SEER_OK;
}

static seer_status check_outputs_of(const checker *c) {
  const seer_dag *dag = c->dag;
  const seer_dag_stage *s = stage_of(c);
  for (uint32_t v = 0; v < s->n_values; v++) {
    if (s->out[v] >= dag->n_buf)
      return SEER_FAIL(INVALID, "stage %s: value %u in buffer %u", s->name, v, s->out[v]);
    const seer_dag_buf *buf = &dag->buf[s->out[v]];
    seer_dtype dtype = (seer_dtype)seer_expr_at(&dag->expr, s->body[v])->dtype;
    bool fits = buf->kind == SEER_BUF_STAGE && buf->stage == c->stage && buf->value == v &&
        buf->dtype == dtype && buf->rank == s->n_space;
    for (uint32_t k = 0; fits && k < s->n_space; k++) fits = buf->dim[k] == s->axis[k].extent;
    if (!fits) {
      return SEER_FAIL(INVALID, "stage %s: $%s does not have the stage's axes and type %s", s->name,
          buf->name, seer_dtype_name(dtype));
    }
  }
  return SEER_OK;
}

static seer_status check_stage(checker *c) {
  const seer_dag_stage *s = stage_of(c);
  if (s->n_values < 1 || s->n_values > SEER_DAG_MAX_VALUES) {
    return SEER_FAIL(
        INVALID, "stage %s: %u values, must be 1 to %d", s->name, s->n_values, SEER_DAG_MAX_VALUES);
  }
  if ((uint32_t)s->n_space + s->n_reduce > SEER_DAG_MAX_AXES ||
      s->var0 + s->n_space + s->n_reduce > c->dag->n_var) {
    return SEER_FAIL(INVALID, "stage %s: %u + %u axes", s->name, s->n_space, s->n_reduce);
  }
  for (uint32_t k = 0; k < (uint32_t)s->n_space + s->n_reduce; k++) {
    if (s->axis[k].extent < 1) {
      return SEER_FAIL(INVALID, "stage %s: axis %s has extent %" PRId64, s->name, s->axis[k].name,
          s->axis[k].extent);
    }
    c->low[s->var0 + k] = 0;
    c->high[s->var0 + k] = s->axis[k].extent - 1;
  }
  memset(c->seen, 0, c->dag->expr.n);
  for (uint32_t v = 0; v < s->n_values; v++) SEER_TRY(check_expr(c, s->body[v]));
  SEER_TRY(check_combiner(c));
  return check_outputs_of(c);
}

static seer_status check_buffers(const seer_dag *dag) {
  uint32_t n_output_stages = 0, last = UINT32_MAX;
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    const seer_dag_buf *buf = &dag->buf[b];
    for (uint32_t k = 0; k < buf->rank; k++) {
      if (buf->dim[k] < 1)
        return SEER_FAIL(INVALID, "$%s: dimension %u is %" PRId64, buf->name, k, buf->dim[k]);
    }
    int64_t row = buf->rank > 0 ? buf->dim[buf->rank - 1] : 1;
    if (buf->pitch < row)
      return SEER_FAIL(
          INVALID, "$%s: pitch %" PRId64 ", rows of %" PRId64, buf->name, buf->pitch, row);
    if (buf->is_output && buf->kind != SEER_BUF_STAGE)
      return SEER_FAIL(INVALID, "$%s: an input as output", buf->name);
    if (buf->is_output && buf->stage != last) n_output_stages++;
    if (buf->is_output) last = buf->stage;
  }
  if (n_output_stages >= 1 && n_output_stages <= SEER_DAG_MAX_OUTPUT_STAGES) return SEER_OK;
  return SEER_FAIL(INVALID, "dag %s: %u output stages, must be 1 to %d", dag->name, n_output_stages,
      SEER_DAG_MAX_OUTPUT_STAGES);
}

static seer_status check_all(checker *c) {
  if (c->dag->n_stage == 0) return SEER_FAIL(INVALID, "dag %s has no stage", c->dag->name);
  SEER_TRY(check_buffers(c->dag));
  for (c->stage = 0; c->stage < c->dag->n_stage; c->stage++) SEER_TRY(check_stage(c));
  return SEER_OK;
}

seer_status seer_dag_verify(const seer_dag *dag) {
  checker c = {.dag = dag, .scratch = seer_arena_create("dag verify")};
  c.low = SEER_NEW_ARRAY(c.scratch, int64_t, dag->n_var + 1);
  c.high = SEER_NEW_ARRAY(c.scratch, int64_t, dag->n_var + 1);
  c.seen = SEER_NEW_ARRAY(c.scratch, uint8_t, dag->expr.n);
  seer_status status = check_all(&c);
  seer_arena_destroy(c.scratch);
  return status;
}
