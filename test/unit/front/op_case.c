// op_case.c - the harness of the operator tests.
#include "op_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

int64_t tensor_elems(const tensor *t) {
  int64_t n = 1;
  for (uint32_t d = 0; d < t->rank; d++) n *= t->dim[d];
  return n;
}

double tensor_at(const tensor *t, const int64_t *index) {
  int64_t at = 0;
  for (uint32_t d = 0; d < t->rank; d++) at = at * t->dim[d] + (t->dim[d] == 1 ? 0 : index[d]);
  return t->v[at];
}

double tensor_at4(const tensor *t, int64_t a, int64_t b, int64_t c, int64_t d) {
  if (a < 0 || b < 0 || c < 0 || d < 0 || a >= t->dim[0] || b >= t->dim[1] || c >= t->dim[2] ||
      d >= t->dim[3]) {
    return 0;
  }
  return t->v[((a * t->dim[1] + b) * t->dim[2] + c) * t->dim[3] + d];
}

bool next_index(int64_t *index, const int64_t *dim, uint32_t rank) {
  for (uint32_t d = rank; d-- > 0;) {
    if (++index[d] < dim[d]) return true;
    index[d] = 0;
  }
  return false;
}

op_case *case_open(const char *op, int32_t opset) {
  seer_arena *arena = seer_arena_create("op case");
  op_case *c = SEER_NEW(arena, op_case);
  c->arena = arena;
  c->graph = seer_graph_create(arena, "case");
  c->op = op;
  c->opset = opset;
  c->n_out = 1;
  seer_rng_init(&c->rng, 7);
  return c;
}

void case_close(op_case *c) { seer_arena_destroy(c->arena); }

static uint32_t add(op_case *c, seer_dtype dtype, uint32_t rank, const int64_t *dim, bool is_const,
    const double *values) {
  uint32_t k = c->n_in++;
  tensor *t = &c->x[k];
  *t = (tensor){.dtype = dtype, .rank = rank};
  for (uint32_t d = 0; d < rank; d++) t->dim[d] = dim[d];
  int64_t n = tensor_elems(t);
  t->v = SEER_NEW_ARRAY(c->arena, double, n + 1);
  for (int64_t i = 0; i < n; i++) {
    if (values)
      t->v[i] = values[i];
    else if (dtype == SEER_DTYPE_BOOL)
      t->v[i] = (double)seer_rng_below(&c->rng, 2);
    else if (!seer_dtype_is_float(dtype))
      t->v[i] = (double)seer_rng_range(&c->rng, -9, 9);
    else
      t->v[i] = (double)(float)(seer_rng_f64(&c->rng) * 4 - 2);
    if (!values && seer_dtype_is_float(dtype)) {
      double stored;
      seer_dtype_store_f64(dtype, &stored, 0, t->v[i]);
      t->v[i] = seer_dtype_load_f64(dtype, &stored, 0);
    }
  }
  char *name = seer_arena_printf(c->arena, "in/%u:x", k);  // not a name of the DAG's text form
  if (is_const) {
    seer_tensor constant = {
        .dtype = dtype, .rank = (uint8_t)rank, .n_bytes = (size_t)n * seer_dtype_bytes(dtype)};
    for (uint32_t d = 0; d < rank; d++) constant.dim[d] = dim[d];
    void *data = seer_arena_alloc(c->arena, constant.n_bytes + 1, 64);
    for (int64_t i = 0; i < n; i++) seer_dtype_store_f64(dtype, data, i, t->v[i]);
    constant.data = data;
    c->in[k] = seer_graph_add_constant(c->graph, name, &constant);
  } else {
    c->in[k] = seer_graph_add_value(c->graph, name, dtype, dim, (int32_t)rank);
    seer_graph_mark_input(c->graph, c->in[k]);
  }
  return k;
}

uint32_t case_in(op_case *c, seer_dtype dtype, uint32_t rank, const int64_t *dim) {
  return add(c, dtype, rank, dim, false, NULL);
}
uint32_t case_weight(op_case *c, seer_dtype dtype, uint32_t rank, const int64_t *dim) {
  return add(c, dtype, rank, dim, true, NULL);
}
uint32_t case_const(
    op_case *c, seer_dtype dtype, uint32_t rank, const int64_t *dim, const double *values) {
  return add(c, dtype, rank, dim, true, values);
}
void case_absent(op_case *c) { c->in[c->n_in++] = (seer_val){0}; }

static seer_attr *new_attr(op_case *c, const char *name, seer_attr_kind kind) {
  seer_attr *attr = &c->attr[c->n_attr++];
  *attr = (seer_attr){.name = name, .kind = kind};
  return attr;
}
void case_i(op_case *c, const char *name, int64_t value) {
  new_attr(c, name, SEER_ATTR_INT)->i = value;
}
void case_f(op_case *c, const char *name, double value) {
  new_attr(c, name, SEER_ATTR_FLOAT)->f = value;
}
void case_s(op_case *c, const char *name, const char *value) {
  new_attr(c, name, SEER_ATTR_STRING)->s = value;
}
void case_ints(op_case *c, const char *name, uint32_t n, const int64_t *values) {
  seer_attr *attr = new_attr(c, name, SEER_ATTR_INTS);
  attr->n = n;
  attr->ints = (const int64_t *)seer_arena_memdup(c->arena, values, n * sizeof(int64_t));
}

seer_status case_try_infer(op_case *c) {
  for (uint32_t k = 0; k < c->n_out; k++) {
    c->out[k] = seer_graph_add_value(
        c->graph, seer_arena_printf(c->arena, "out%u", k), SEER_DTYPE_NONE, NULL, -1);
  }
  seer_node_id id = seer_graph_add_node(c->graph, "the/node", "", c->op, c->opset, c->in, c->n_in,
      c->out, c->n_out, c->attr, c->n_attr);
  c->node = seer_graph_node(c->graph, id);
  c->node->op = seer_op_find("", c->op, c->opset);
  assert_non_null(c->node->op);
  for (uint32_t k = 0; k < c->n_attr; k++)
    assert_non_null(strstr(c->node->op->attrs, c->attr[k].name));
  assert_in_range(c->n_in, c->node->op->n_in_min, c->node->op->n_in_max);
  seer_value out[8] = {0};
  seer_status status = c->node->op->infer(c->graph, c->node, c->arena, out);
  for (uint32_t k = 0; k < c->n_out && !status; k++) {
    seer_value *value = seer_graph_value(c->graph, c->out[k]);
    assert_true(out[k].has_shape);
    value->dtype = c->y[k].dtype = out[k].dtype;
    value->rank = out[k].rank;
    value->has_shape = true;
    c->y[k].rank = out[k].rank;
    memcpy(value->dim, out[k].dim, sizeof value->dim);
    memcpy(c->y[k].dim, out[k].dim, sizeof value->dim);
  }
  return status;
}

void case_infer(op_case *c) { must(case_try_infer(c)); }

void case_expect_error(op_case *c, const char *part) {
  seer_status status = case_try_infer(c);
  assert_non_null(status);
  if (!strstr(seer_status_message(status), part)) {
    fail_msg("'%s' does not contain '%s'", seer_status_message(status), part);
  }
  seer_status_free(status);
}

// Position in memory of logical `index`.
static int64_t address(const seer_value *value, const int64_t *index) {
  int64_t at = 0;
  for (uint32_t k = 0; k < value->rank; k++) {
    uint32_t d = value->has_layout && !value->constant ? value->order[k] : k;
    int64_t row = k + 1u == value->rank && value->pitch ? value->pitch : value->dim[d];
    at = at * row + index[d];
  }
  return at;
}

static void set_layout(seer_value *value, bool channels_last) {
  value->has_layout = false;
  value->pitch = 0;
  if (!channels_last || value->rank < 3 || value->constant) return;
  value->has_layout = true;
  value->order[0] = 0;
  for (uint32_t k = 1; k + 1 < value->rank; k++) value->order[k] = (uint8_t)(k + 1);
  value->order[value->rank - 1] = 1;
  value->pitch = value->dim[1] + 3;  // and rows apart
}

static seer_status evaluate(op_case *c, bool channels_last) {
  for (uint32_t k = 0; k < c->n_in; k++) {
    if (c->in[k].i) set_layout(seer_graph_value(c->graph, c->in[k]), channels_last);
  }
  for (uint32_t k = 0; k < c->n_out; k++)
    set_layout(seer_graph_value(c->graph, c->out[k]), channels_last);
  c->dag = seer_dag_create(c->arena, "case");
  seer_emit *emit = SEER_NEW(c->arena, seer_emit);
  seer_emit_init(emit, c->graph, c->dag, c->arena);
  SEER_TRY(seer_emit_node(emit, c->node));
  for (uint32_t k = 0; k < c->n_out; k++) {
    assert_int_not_equal(emit->buf_of_value[c->out[k].i], 0);
    seer_emit_output(emit, c->out[k], 0);
  }
  seer_dag_finish(c->dag);
  SEER_TRY(seer_dag_verify(c->dag));
  for (uint32_t b = 0; b < c->dag->n_buf; b++) {
    if (seer_dag_buf_elems(&c->dag->buf[b]) > 1000000)
      return SEER_FAIL(RESOURCE, "large buffer %u", b);
  }

  seer_dag_eval *eval = seer_dag_eval_create(c->dag, c->arena);
  for (uint32_t k = 0; k < c->n_in; k++) {
    uint32_t buf = c->in[k].i ? emit->buf_of_value[c->in[k].i] : 0;
    if (!buf) continue;  // absent, or a literal
    const seer_value *value = seer_graph_value(c->graph, c->in[k]);
    size_t n = (size_t)seer_dag_buf_elems(&c->dag->buf[buf - 1]);
    void *data = seer_arena_alloc(c->arena, n * seer_dtype_bytes(value->dtype) + 1, 64);
    int64_t index[SEER_MAX_RANK] = {0}, i = 0;
    do {
      seer_dtype_store_f64(value->dtype, data, address(value, index), c->x[k].v[i++]);
    } while (next_index(index, value->dim, value->rank));
    seer_dag_eval_set_input(eval, buf - 1, data);
  }
  for (uint32_t k = 0; k < c->n_out; k++) {
    seer_value plain = *seer_graph_value(c->graph, c->out[k]);
    plain.pitch = 0;  // the buffer was marked dense
    uint32_t buf = emit->buf_of_value[c->out[k].i] - 1;
    void *data = seer_arena_alloc(c->arena,
        (size_t)seer_dag_buf_elems(&c->dag->buf[buf]) * seer_dtype_bytes(plain.dtype), 64);
    seer_dag_eval_all(eval, buf, data);
    c->y[k].v = SEER_NEW_ARRAY(c->arena, double, tensor_elems(&c->y[k]));
    int64_t index[SEER_MAX_RANK] = {0}, i = 0;
    do {
      c->y[k].v[i++] = seer_dtype_load_f64(plain.dtype, data, address(&plain, index));
    } while (next_index(index, plain.dim, plain.rank));
  }
  return SEER_OK;
}

void case_expect_emit_error(op_case *c, const char *part) {
  case_infer(c);
  seer_emit *emit = SEER_NEW(c->arena, seer_emit);
  seer_emit_init(emit, c->graph, seer_dag_create(c->arena, "case"), c->arena);
  seer_status status = seer_emit_node(emit, c->node);
  assert_non_null(status);
  if (!strstr(seer_status_message(status), part)) {
    fail_msg("'%s' does not contain '%s'", seer_status_message(status), part);
  }
  seer_status_free(status);
}

seer_status case_try_run(op_case *c) {
  SEER_TRY(evaluate(c, false));
  tensor plain[8];
  memcpy(plain, c->y, sizeof plain);
  SEER_TRY(evaluate(c, true));
  for (uint32_t k = 0; k < c->n_out; k++) {  // the order of sums may differ, nothing else
    for (int64_t i = 0; i < tensor_elems(&c->y[k]); i++) {
      double a = plain[k].v[i], b = c->y[k].v[i];
      if (a != b && !(isnan(a) && isnan(b)) && !(fabs(a - b) <= 1e-4 + 1e-4 * fabs(a))) {
        fail_msg("%s: output %u element %" PRId64 ": %g in ONNX order, %g channels last", c->op, k,
            i, a, b);
      }
    }
  }
  return SEER_OK;
}

void case_run(op_case *c) {
  case_infer(c);
  must(case_try_run(c));
}

void case_fold(op_case *c) {
  seer_tensor out[8] = {0};
  case_infer(c);
  assert_non_null(c->node->op->fold);
  must(c->node->op->fold(c->graph, c->node, c->arena, out));
  for (uint32_t k = 0; k < c->n_out; k++) {
    tensor *y = &c->y[k];
    assert_int_equal(out[k].dtype, y->dtype);
    assert_int_equal(out[k].rank, y->rank);
    for (uint32_t d = 0; d < y->rank; d++) assert_int_equal(out[k].dim[d], y->dim[d]);
    assert_int_equal(out[k].n_bytes, (size_t)tensor_elems(y) * seer_dtype_bytes(y->dtype));
    y->v = SEER_NEW_ARRAY(c->arena, double, tensor_elems(y) + 1);
    for (int64_t i = 0; i < tensor_elems(y); i++)
      y->v[i] = seer_dtype_load_f64(y->dtype, out[k].data, i);
  }
}

void expect_dims(const tensor *t, uint32_t rank, const int64_t *dim) {
  assert_int_equal(t->rank, rank);
  for (uint32_t d = 0; d < rank; d++) assert_int_equal(t->dim[d], dim[d]);
}

double *new_values(op_case *c, uint32_t k) {
  return SEER_NEW_ARRAY(c->arena, double, tensor_elems(&c->y[k]) + 1);
}

void expect_values(const op_case *c, uint32_t k, const double *expected) {
  const tensor *y = &c->y[k];
  for (int64_t i = 0; i < tensor_elems(y); i++) {
    double a = y->v[i], b = expected[i];
    bool is_equal = a == b || (isnan(a) && isnan(b)) ||
        fabs(a - b) <= c->node->op->atol + c->node->op->rtol * fabs(b);
    if (!is_equal)
      fail_msg("%s: output %u element %" PRId64 " is %.9g, must be %.9g", c->op, k, i, a, b);
  }
}
