// text.c - the text form of a DAG (doc/ir/dag.md), printed and parsed. Inputs and stages are
// printed in the order of their buffers, so ids survive a round trip. The parser checks everything
// that the builders assert; whether loads are in bounds is seer_dag_verify's business.
#include <string.h>

#include "dag/dag.h"
#include "dag/text/expr_text.h"

#define MAX_EXTENT ((int64_t)1 << 32)
#define MAX_ELEMS ((int64_t)1 << 44)

// ---- printing

typedef struct {
  const seer_dag *dag;
  const seer_dag_stage *stage;
} stage_names;

static const char *var_name(void *user, uint32_t ref) {
  const stage_names *names = user;
  uint32_t axis = ref - names->stage->var0;
  SEER_ASSERT(axis < (uint32_t)names->stage->n_space + names->stage->n_reduce,
      "stage %s: foreign variable %u", names->stage->name, ref);
  return names->stage->axis[axis].name;
}

static const char *buf_name(void *user, uint32_t buf) {
  const stage_names *names = user;
  return names->dag->buf[buf].name;
}

static void print_axes(seer_text *text, const seer_dag_axis *axis, uint32_t n) {
  seer_text_put(text, "[");
  for (uint32_t k = 0; k < n; k++) {
    seer_text_printf(text, "%s%s", k ? ", " : "", axis[k].name);
    if (axis[k].role != SEER_AXIS_OTHER)
      seer_text_printf(text, ":%s", seer_axis_role_name(axis[k].role));
    seer_text_printf(text, "<%" PRId64, axis[k].extent);
  }
  seer_text_put(text, "]");
}

static void print_pitch(seer_text *text, const seer_dag_buf *buf) {
  if (buf->rank > 0 && buf->pitch != buf->dim[buf->rank - 1])
    seer_text_printf(text, " pitch %" PRId64, buf->pitch);
  seer_text_put(text, "\n");
}

static void print_stage(seer_text *text, const seer_dag *dag, const seer_dag_stage *stage) {
  seer_text_printf(text, "  stage %s role %s", stage->name, seer_stage_role_name(stage->role));
  if (stage->tolerance != 0) {
    seer_text_put(text, " tolerance ");
    seer_expr_print_float(text, SEER_DTYPE_F64, stage->tolerance);
  }
  seer_text_put(text, " ");
  print_axes(text, stage->axis, stage->n_space);
  if (stage->n_reduce > 0) {
    seer_text_printf(text, " %s", seer_combiner_name(stage->combiner));
    print_axes(text, stage->axis + stage->n_space, stage->n_reduce);
  }
  stage_names names = {dag, stage};
  seer_expr_names lookup = {&names, var_name, buf_name};
  seer_text_put(text, stage->n_values > 1 ? " = (" : " = ");
  for (uint32_t v = 0; v < stage->n_values; v++) {
    if (v > 0) seer_text_put(text, ", ");
    seer_expr_print(text, &dag->expr, stage->body[v], &lookup);
  }
  seer_text_put(text, stage->n_values > 1 ? ")\n" : "\n");
}

const char *seer_dag_print(const seer_dag *dag, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(&text, "dag %s {\n", dag->name);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    const seer_dag_buf *buf = &dag->buf[b];
    if (buf->kind == SEER_BUF_STAGE) {
      if (buf->value == 0) print_stage(&text, dag, &dag->stage[buf->stage]);
      continue;
    }
    seer_text_printf(&text, "  %s $%s %s[", buf->kind == SEER_BUF_WEIGHT ? "weight" : "input",
        buf->name, seer_dtype_name(buf->dtype));
    for (uint32_t k = 0; k < buf->rank; k++)
      seer_text_printf(&text, "%s%" PRId64, k ? ", " : "", buf->dim[k]);
    seer_text_put(&text, "]");
    print_pitch(&text, buf);
  }
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (!dag->buf[b].is_output) continue;
    seer_text_printf(&text, "  output $%s", dag->buf[b].name);
    print_pitch(&text, &dag->buf[b]);
  }
  seer_text_put(&text, "}\n");
  return text.data;
}

// ---- parsing

typedef struct {
  seer_scan *scan;
  seer_dag *dag;
  const seer_dag_stage *stage;  // being parsed
} parser;

static bool find_buf_id(const seer_dag *dag, const char *name, uint32_t *out_buf) {
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (strcmp(dag->buf[b].name, name) == 0) {
      *out_buf = b;
      return true;
    }
  }
  return false;
}

static bool find_var(void *user, const char *name, uint32_t *out_ref) {
  const parser *p = user;
  for (uint32_t k = 0; k < (uint32_t)p->stage->n_space + p->stage->n_reduce; k++) {
    if (strcmp(p->stage->axis[k].name, name) == 0) {
      *out_ref = p->stage->var0 + k;
      return true;
    }
  }
  return false;
}

static bool find_buf(
    void *user, const char *name, uint32_t *out_buf, seer_dtype *out_dtype, uint32_t *out_rank) {
  const parser *p = user;
  if (!find_buf_id(p->dag, name, out_buf)) return false;
  *out_dtype = p->dag->buf[*out_buf].dtype;
  *out_rank = p->dag->buf[*out_buf].rank;
  return true;
}

static seer_status parse_extent(parser *p, int64_t *out_extent) {
  SEER_TRY(seer_scan_i64(p->scan, out_extent));
  if (*out_extent >= 1 && *out_extent <= MAX_EXTENT) return SEER_OK;
  return seer_scan_fail(
      p->scan, "extent %" PRId64 ", must be 1 to %" PRId64, *out_extent, MAX_EXTENT);
}

static seer_status check_elems(parser *p, const int64_t *dim, uint32_t rank, int64_t pitch) {
  int64_t n = 1;
  for (uint32_t k = 0; k < rank; k++) {
    int64_t d = k + 1 == rank && pitch > 0 ? pitch : dim[k];
    if (__builtin_mul_overflow(n, d, &n) || n > MAX_ELEMS) {
      return seer_scan_fail(p->scan, "more than %" PRId64 " elements", MAX_ELEMS);
    }
  }
  return SEER_OK;
}

static seer_status parse_pitch(parser *p, const int64_t *dim, uint32_t rank, int64_t *out_pitch) {
  *out_pitch = 0;
  if (seer_scan_try(p->scan, "pitch")) {
    SEER_TRY(parse_extent(p, out_pitch));
    int64_t row = rank > 0 ? dim[rank - 1] : 1;
    if (*out_pitch < row)
      return seer_scan_fail(p->scan, "pitch %" PRId64 ", rows of %" PRId64, *out_pitch, row);
    if (rank == 0 && *out_pitch != 1) return seer_scan_fail(p->scan, "pitch of a scalar");
  }
  return check_elems(p, dim, rank, *out_pitch);
}

static bool is_taken(const seer_dag *dag, const char *name) {
  uint32_t buf;
  if (find_buf_id(dag, name, &buf)) return true;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    if (strcmp(dag->stage[s].name, name) == 0) return true;
  }
  return false;
}

static seer_status parse_new_name(parser *p, const char **out_name) {
  SEER_TRY(seer_scan_name(p->scan, p->dag->arena, out_name));
  static const char *const reserved[] = {"true", "false", "inf", "nan", "if", "else"};
  for (size_t k = 0; k < SEER_COUNT_OF(reserved); k++) {
    if (strcmp(*out_name, reserved[k]) == 0)
      return seer_scan_fail(p->scan, "'%s' is no name", *out_name);
  }
  return SEER_OK;
}

static seer_status parse_global_name(parser *p, const char **out_name) {
  SEER_TRY(parse_new_name(p, out_name));
  if (is_taken(p->dag, *out_name))
    return seer_scan_fail(p->scan, "'%s' is defined twice", *out_name);
  return SEER_OK;
}

static seer_status parse_input(parser *p, seer_buf_kind kind) {
  const char *name, *type;
  SEER_TRY(seer_scan_expect(p->scan, "$"));
  SEER_TRY(parse_global_name(p, &name));
  SEER_TRY(seer_scan_name(p->scan, p->dag->arena, &type));
  seer_dtype dtype;
  if (!seer_dtype_parse(type, &dtype)) return seer_scan_fail(p->scan, "unknown type '%s'", type);
  SEER_TRY(seer_scan_expect(p->scan, "["));
  int64_t dim[SEER_MAX_RANK], pitch;
  uint32_t rank = 0;
  while (!seer_scan_try(p->scan, "]")) {
    if (rank > 0) SEER_TRY(seer_scan_expect(p->scan, ","));
    if (rank == SEER_MAX_RANK)
      return seer_scan_fail(p->scan, "more than %d dimensions", SEER_MAX_RANK);
    SEER_TRY(parse_extent(p, &dim[rank++]));
  }
  SEER_TRY(parse_pitch(p, dim, rank, &pitch));
  if (p->dag->n_buf == SEER_DAG_MAX_BUFFERS) {
    return seer_scan_fail(p->scan, "more than %d buffers", SEER_DAG_MAX_BUFFERS);
  }
  seer_dag_add_input(p->dag, name, kind, dtype, dim, rank, pitch);
  return SEER_OK;
}

static seer_status parse_axes(
    parser *p, seer_dag_axis *axis, uint32_t n_before, uint32_t limit, uint32_t *out_n) {
  SEER_TRY(seer_scan_expect(p->scan, "["));
  uint32_t n = n_before;
  while (!seer_scan_try(p->scan, "]")) {
    if (n > n_before) SEER_TRY(seer_scan_expect(p->scan, ","));
    if (n == limit) return seer_scan_fail(p->scan, "more than %u axes", limit);
    axis[n] = (seer_dag_axis){0};
    SEER_TRY(parse_new_name(p, &axis[n].name));
    for (uint32_t k = 0; k < n; k++) {
      if (strcmp(axis[k].name, axis[n].name) == 0) {
        return seer_scan_fail(p->scan, "axis '%s' is defined twice", axis[n].name);
      }
    }
    if (seer_scan_try(p->scan, ":")) {
      const char *role;
      SEER_TRY(seer_scan_name(p->scan, p->dag->arena, &role));
      int r = 0;
      while (r < SEER_AXIS_ROLE_COUNT && strcmp(role, seer_axis_role_name((seer_axis_role)r)) != 0)
        r++;
      if (r == SEER_AXIS_ROLE_COUNT) return seer_scan_fail(p->scan, "unknown axis role '%s'", role);
      axis[n].role = (seer_axis_role)r;
    }
    SEER_TRY(seer_scan_expect(p->scan, "<"));
    SEER_TRY(parse_extent(p, &axis[n].extent));
    n++;
  }
  *out_n = n - n_before;
  return SEER_OK;
}

static seer_status parse_stage_role(parser *p, seer_stage_role *out_role) {
  const char *name;
  SEER_TRY(seer_scan_expect(p->scan, "role"));
  SEER_TRY(seer_scan_name(p->scan, p->dag->arena, &name));
  for (int r = 0; r < SEER_STAGE_ROLE_COUNT; r++) {
    if (strcmp(name, seer_stage_role_name((seer_stage_role)r)) == 0) {
      *out_role = (seer_stage_role)r;
      return SEER_OK;
    }
  }
  return seer_scan_fail(p->scan, "unknown stage role '%s'", name);
}

static seer_status parse_combiner(parser *p, seer_combiner *out_combiner) {
  for (int c = SEER_COMBINE_NONE + 1; c < SEER_COMBINE_COUNT; c++) {
    if (seer_scan_try(p->scan, seer_combiner_name((seer_combiner)c))) {
      *out_combiner = (seer_combiner)c;
      return SEER_OK;
    }
  }
  return seer_scan_fail(p->scan, "expected '=' or a combiner (sum, max, ...)");
}

// (a, b) is a tuple of values; (a) and (a) + b are one value in brackets. Which it is shows only
// behind the first expression, so that is read first, and read again where it turns out to start a
// longer expression.
static seer_status parse_bodies(parser *p, seer_expr *body, uint32_t *out_n) {
  seer_expr_scope scope = {p, find_var, find_buf};
  seer_scan start = *p->scan;
  *out_n = 1;
  if (seer_scan_try(p->scan, "(")) {
    seer_status status = seer_expr_parse(p->scan, &p->dag->expr, &scope, &body[0]);
    if (status) return status;
    while (seer_scan_try(p->scan, ",")) {
      if (*out_n == SEER_DAG_MAX_VALUES)
        return seer_scan_fail(p->scan, "more than %d values", SEER_DAG_MAX_VALUES);
      SEER_TRY(seer_expr_parse(p->scan, &p->dag->expr, &scope, &body[(*out_n)++]));
    }
    if (*out_n > 1) return seer_scan_expect(p->scan, ")");
    *p->scan = start;
  }
  return seer_expr_parse(p->scan, &p->dag->expr, &scope, &body[0]);
}

static seer_status check_combiner(
    parser *p, seer_combiner combiner, const seer_expr *body, uint32_t n) {
  seer_dtype first = (seer_dtype)seer_expr_at(&p->dag->expr, body[0])->dtype;
  if (seer_combiner_is_arg(combiner)) {
    if (n != 2)
      return seer_scan_fail(
          p->scan, "%s of %u values, must be (value, index)", seer_combiner_name(combiner), n);
    if (seer_dtype_is_float((seer_dtype)seer_expr_at(&p->dag->expr, body[1])->dtype)) {
      return seer_scan_fail(p->scan, "%s with a float index", seer_combiner_name(combiner));
    }
  }
  if ((combiner == SEER_COMBINE_AND || combiner == SEER_COMBINE_OR) && seer_dtype_is_float(first)) {
    return seer_scan_fail(
        p->scan, "%s of %s", seer_combiner_name(combiner), seer_dtype_name(first));
  }
  return SEER_OK;
}

static seer_status parse_stage(parser *p) {
  const char *name;
  seer_stage_role role = SEER_STAGE_ANCHOR;
  double tolerance = 0;
  seer_dag *dag = p->dag;
  SEER_TRY(parse_global_name(p, &name));
  SEER_TRY(parse_stage_role(p, &role));
  if (seer_scan_try(p->scan, "tolerance")) {
    SEER_TRY(seer_scan_f64(p->scan, &tolerance));
    SEER_TRY(seer_scan_expect(p->scan, ":"));
    SEER_TRY(seer_scan_expect(p->scan, "f64"));
    if (!(tolerance >= 0 && tolerance <= 1))
      return seer_scan_fail(p->scan, "tolerance must be 0 to 1");
  }
  seer_dag_axis axis[SEER_DAG_MAX_AXES];
  int64_t dim[SEER_MAX_RANK];
  uint32_t n_space, n_reduce = 0, n_values;
  seer_combiner combiner = SEER_COMBINE_NONE;
  SEER_TRY(parse_axes(p, axis, 0, SEER_MAX_RANK, &n_space));
  for (uint32_t k = 0; k < n_space; k++) dim[k] = axis[k].extent;
  SEER_TRY(check_elems(p, dim, n_space, 0));
  if (!seer_scan_peek(p->scan, "=")) {
    SEER_TRY(parse_combiner(p, &combiner));
    SEER_TRY(parse_axes(p, axis, n_space, SEER_DAG_MAX_AXES, &n_reduce));
    if (n_reduce == 0)
      return seer_scan_fail(p->scan, "%s over no axes", seer_combiner_name(combiner));
  }
  SEER_TRY(seer_scan_expect(p->scan, "="));
  if (dag->n_stage == SEER_DAG_MAX_STAGES)
    return seer_scan_fail(p->scan, "more than %d stages", SEER_DAG_MAX_STAGES);
  uint32_t s = seer_dag_add_stage(dag, name, role, axis, n_space, n_reduce);
  p->stage = &dag->stage[s];
  dag->stage[s].tolerance = tolerance;
  seer_expr body[SEER_DAG_MAX_VALUES];
  SEER_TRY(parse_bodies(p, body, &n_values));
  SEER_TRY(check_combiner(p, combiner, body, n_values));
  if (dag->n_buf + n_values > SEER_DAG_MAX_BUFFERS) {
    return seer_scan_fail(p->scan, "more than %d buffers", SEER_DAG_MAX_BUFFERS);
  }
  seer_dag_set_body(dag, s, combiner, body, n_values);
  return SEER_OK;
}

static seer_status parse_output(parser *p) {
  const char *name;
  uint32_t buf;
  SEER_TRY(seer_scan_expect(p->scan, "$"));
  SEER_TRY(seer_scan_name(p->scan, p->dag->arena, &name));
  if (!find_buf_id(p->dag, name, &buf))
    return seer_scan_fail(p->scan, "unknown buffer '$%s'", name);
  const seer_dag_buf *b = &p->dag->buf[buf];
  if (b->kind != SEER_BUF_STAGE) return seer_scan_fail(p->scan, "output '$%s' is an input", name);
  if (b->is_output) return seer_scan_fail(p->scan, "output '$%s' is listed twice", name);
  int64_t pitch;
  SEER_TRY(parse_pitch(p, b->dim, b->rank, &pitch));
  seer_dag_mark_output(p->dag, buf, pitch);
  return SEER_OK;
}

// As seer_dag_parse, from within another text: stops behind the closing brace.
static seer_status parse_at(seer_scan *scan, seer_arena *arena, seer_dag **out_dag) {
  *out_dag = NULL;
  const char *name;
  SEER_TRY(seer_scan_expect(scan, "dag"));
  SEER_TRY(seer_scan_name(scan, arena, &name));
  SEER_TRY(seer_scan_expect(scan, "{"));
  parser p = {.scan = scan, .dag = seer_dag_create(arena, name)};
  while (!seer_scan_try(scan, "}")) {
    if (seer_scan_try(scan, "input")) {
      SEER_TRY(parse_input(&p, SEER_BUF_ACTIVATION));
    } else if (seer_scan_try(scan, "weight")) {
      SEER_TRY(parse_input(&p, SEER_BUF_WEIGHT));
    } else if (seer_scan_try(scan, "stage")) {
      SEER_TRY(parse_stage(&p));
    } else if (seer_scan_try(scan, "output")) {
      SEER_TRY(parse_output(&p));
    } else {
      return seer_scan_fail(scan, "expected input, weight, stage, output or '}'");
    }
  }
  if (p.dag->n_stage == 0) return seer_scan_fail(scan, "dag %s has no stage", name);
  seer_dag_finish(p.dag);
  *out_dag = p.dag;
  return SEER_OK;
}

seer_status seer_dag_parse(
    const char *source, const char *text, size_t n_bytes, seer_arena *arena, seer_dag **out_dag) {
  seer_scan scan;
  seer_scan_init(&scan, source, text, n_bytes);
  SEER_TRY(parse_at(&scan, arena, out_dag));
  if (seer_scan_at_end(&scan)) return SEER_OK;
  *out_dag = NULL;
  return seer_scan_fail(&scan, "text behind the dag");
}
