// expand.c - adding the nodes that stand for a composite operator.
#include <string.h>

#include "front/expand/extent.h"

#include "front/onnx/dtype.h"

bool seer_expand_has_in(const seer_expand *e, uint32_t k) { return seer_op_has_in(&e->node, k); }

bool seer_expand_wants(const seer_expand *e, uint32_t k) {
  return k < e->node.n_out && e->node.out[k].i != 0;
}

seer_val seer_expand_operand(const seer_expand *e, uint32_t k) {
  return seer_expand_has_in(e, k) ? e->node.in[k] : (seer_val){0};
}

const seer_value *seer_expand_in(const seer_expand *e, uint32_t k) {
  SEER_ASSERT(seer_expand_has_in(e, k), "%s: no input %u", e->node.name, k);
  return seer_graph_value(e->graph, e->node.in[k]);
}

seer_status seer_expand_needs(const seer_expand *e, uint32_t from, uint32_t to) {
  for (uint32_t k = from; k < to; k++)
    if (!seer_expand_has_in(e, k))
      return SEER_FAIL(INVALID, "input %u is absent and may not be", k);
  return SEER_OK;
}

// ---- nodes

// Numbered by the value's id: looking for a free name would take as long as there are values.
static const char *new_name(const seer_expand *e, const char *what) {
  const char *name = seer_graph_join_names(e->scratch, e->node.name, what);
  return seer_arena_printf(e->scratch, "%s#%zu", name, e->graph->n_value);
}

static seer_val new_value(seer_expand *e, const char *what) {
  return seer_graph_add_value(e->graph, new_name(e, what), SEER_DTYPE_NONE, NULL, -1);
}

static void add_node(seer_expand *e, const char *domain, int32_t opset, const char *op_type,
    const seer_val *in, uint32_t n_in, const seer_attr *attr, uint32_t n_attr, seer_val *out,
    uint32_t n_out) {
  for (uint32_t k = 0; k < n_out; k++) out[k] = new_value(e, op_type);
  seer_attr *kept = SEER_NEW_ARRAY(e->graph->arena, seer_attr, n_attr);
  for (uint32_t k = 0; k < n_attr; k++) {
    kept[k] = attr[k];
    if (attr[k].kind == SEER_ATTR_INTS)
      kept[k].ints = seer_arena_memdup(e->graph->arena, attr[k].ints, attr[k].n * sizeof(int64_t));
  }
  seer_graph_add_node(e->graph, seer_graph_join_names(e->scratch, e->node.name, op_type), domain,
      op_type, opset, in, n_in, out, n_out, kept, n_attr);
}

void seer_expand_add_outs(seer_expand *e, const char *op_type, const seer_val *in, uint32_t n_in,
    const seer_attr *attr, uint32_t n_attr, seer_val *out, uint32_t n_out) {
  while (n_in > 0 && in[n_in - 1].i == 0) n_in--;
  add_node(e, "", SEER_EXPAND_OPSET, op_type, in, n_in, attr, n_attr, out, n_out);
}

void seer_expand_inner(seer_expand *e, const char *op_type, const seer_val *in, uint32_t n_in,
    const seer_attr *attr, uint32_t n_attr, seer_val *out, uint32_t n_out) {
  seer_val *all = SEER_NEW_ARRAY(e->scratch, seer_val, n_in * (SEER_MAX_RANK + 1u));
  uint32_t n = n_in;
  for (uint32_t k = 0; k < n_in; k++) {
    all[k] = in[k];
    const seer_value *value = in[k].i ? seer_graph_value(e->graph, in[k]) : NULL;
    for (uint32_t d = 0; value && d < value->rank; d++)
      if (value->size[d].i) all[n++] = value->size[d];
  }
  const seer_op_desc *op = seer_op_find(SEER_INNER_DOMAIN, op_type, 1);
  bool is_host = op && op->host != 0;
  // What was searched for already has been found.
  seer_node_id same =
      is_host ? seer_extent_find_host(e->graph, op_type, all, n, attr, n_attr) : (seer_node_id){0};
  if (same.i && seer_graph_node(e->graph, same)->n_out == n_out) {
    memcpy(out, seer_graph_node(e->graph, same)->out, n_out * sizeof *out);
    return;
  }
  add_node(e, SEER_INNER_DOMAIN, 1, op_type, all, n, attr, n_attr, out, n_out);
  if (is_host) seer_extent_note_host(e->graph, (seer_node_id){(uint32_t)e->graph->n_node - 1});
}

seer_val seer_expand_sized(
    seer_expand *e, seer_val x, const int64_t *axes, const seer_val *sizes, uint32_t n) {
  seer_val in[SEER_MAX_RANK + 1] = {x}, out;
  for (uint32_t k = 0; k < n; k++) in[k + 1] = sizes[k];
  seer_attr attr = seer_expand_ints_attr("axes", axes, n);
  seer_expand_inner(e, "Sized", in, n + 1, &attr, 1, &out, 1);
  return out;
}

seer_val seer_expand_add(seer_expand *e, const char *op_type, const seer_val *in, uint32_t n_in,
    const seer_attr *attr, uint32_t n_attr) {
  seer_val out;
  seer_expand_add_outs(e, op_type, in, n_in, attr, n_attr, &out, 1);
  return out;
}

seer_val seer_expand_1(seer_expand *e, const char *op_type, seer_val a) {
  return seer_expand_add(e, op_type, &a, 1, NULL, 0);
}

seer_val seer_expand_2(seer_expand *e, const char *op_type, seer_val a, seer_val b) {
  return seer_expand_add(e, op_type, (seer_val[]){a, b}, 2, NULL, 0);
}

seer_val seer_expand_3(seer_expand *e, const char *op_type, seer_val a, seer_val b, seer_val c) {
  return seer_expand_add(e, op_type, (seer_val[]){a, b, c}, 3, NULL, 0);
}

seer_val seer_expand_1i(
    seer_expand *e, const char *op_type, seer_val a, const char *name, int64_t value) {
  seer_attr attr = seer_expand_int(name, value);
  return seer_expand_add(e, op_type, &a, 1, &attr, 1);
}

seer_val seer_expand_2i(
    seer_expand *e, const char *op_type, seer_val a, seer_val b, const char *name, int64_t value) {
  seer_attr attr = seer_expand_int(name, value);
  return seer_expand_add(e, op_type, (seer_val[]){a, b}, 2, &attr, 1);
}

seer_val seer_expand_cast(seer_expand *e, seer_val a, seer_dtype dtype) {
  return seer_expand_1i(e, "Cast", a, "to", seer_onnx_dtype_number(dtype));
}

seer_val seer_expand_reshape(seer_expand *e, seer_val a, const int64_t *dim, uint32_t rank) {
  return seer_expand_2i(e, "Reshape", a, seer_expand_ints(e, dim, rank), "allowzero", 1);
}

seer_val seer_expand_slice(seer_expand *e, seer_val a, int64_t axis, int64_t from, int64_t to) {
  seer_val in[4] = {
      a, seer_expand_ints(e, &from, 1), seer_expand_ints(e, &to, 1), seer_expand_ints(e, &axis, 1)};
  return seer_expand_add(e, "Slice", in, 4, NULL, 0);
}

seer_val seer_expand_reversed(seer_expand *e, seer_val a, int64_t axis) {
  const int64_t last = -1, before = INT64_MIN + 1, back = -1;
  seer_val in[5] = {a, seer_expand_ints(e, &last, 1), seer_expand_ints(e, &before, 1),
      seer_expand_ints(e, &axis, 1), seer_expand_ints(e, &back, 1)};
  return seer_expand_add(e, "Slice", in, 5, NULL, 0);
}

seer_val seer_expand_concat(seer_expand *e, const seer_val *part, uint32_t n, int64_t axis) {
  enum { MOST = 32 };  // a task has room for about a hundred buffers
  seer_attr attr = seer_expand_int("axis", axis);
  if (n <= MOST) return n == 1 ? part[0] : seer_expand_add(e, "Concat", part, n, &attr, 1);
  uint32_t n_group = (n + MOST - 1) / MOST;
  seer_val *group = SEER_NEW_ARRAY(e->scratch, seer_val, n_group);
  for (uint32_t k = 0; k < n_group; k++) {
    uint32_t first = (uint32_t)((uint64_t)n * k / n_group);
    uint32_t end = (uint32_t)((uint64_t)n * (k + 1) / n_group);
    group[k] = seer_expand_concat(e, part + first, end - first, axis);
  }
  return seer_expand_concat(e, group, n_group, axis);
}

static seer_val transpose(seer_expand *e, seer_val x, const int64_t *perm, uint32_t rank) {
  seer_attr attr = seer_expand_ints_attr("perm", perm, rank);
  return seer_expand_add(e, "Transpose", &x, 1, &attr, 1);
}

seer_val seer_expand_turned(seer_expand *e, seer_val x, uint32_t rank) {
  int64_t perm[SEER_MAX_RANK];
  for (uint32_t d = 0; d < rank; d++) perm[d] = d;
  perm[rank - 2] = rank - 1;
  perm[rank - 1] = rank - 2;
  return transpose(e, x, perm, rank);
}

seer_val seer_expand_channels(seer_expand *e, seer_val x, uint32_t rank, bool to_last) {
  int64_t perm[SEER_MAX_RANK] = {0};
  for (uint32_t d = 2; d < rank; d++) perm[to_last ? d - 1 : d] = to_last ? d : d - 1;
  perm[to_last ? rank - 1 : 1] = to_last ? 1 : rank - 1;
  return transpose(e, x, perm, rank);
}

seer_val seer_expand_number(seer_expand *e, double value) {
  return seer_expand_scalar(e, seer_expand_in(e, 0)->dtype, value);
}

seer_val seer_expand_times(seer_expand *e, seer_val x, double factor) {
  return seer_expand_2(e, "Mul", x, seer_expand_number(e, factor));
}

seer_val seer_expand_biased(seer_expand *e, seer_val x, uint32_t k) {
  return seer_expand_has_in(e, k) ? seer_expand_2(e, "Add", x, e->node.in[k]) : x;
}

// ---- constants

// An element is made by a sine or the like, then rounded to its type.
enum { TABLE_OPS = 16 };

seer_status seer_expand_table(const seer_expand *e, int64_t a, int64_t b, double **out_numbers) {
  const int64_t most = 1 << 24;
  if (a < 0 || b < 0 || (b > 0 && a > most / b))
    return SEER_FAIL(UNSUPPORTED,
        "a table of %" PRId64 " x %" PRId64 " numbers, at most %" PRId64 " in all", a, b, most);
  seer_recover_work(TABLE_OPS * (uint64_t)(a * b));
  *out_numbers = SEER_NEW_ARRAY(e->scratch, double, a *b + 1);
  return SEER_OK;
}

seer_val seer_expand_tensor(
    seer_expand *e, seer_dtype dtype, const int64_t *dim, uint32_t rank, const double *data) {
  seer_tensor tensor = {.dtype = dtype, .rank = (uint8_t)rank};
  for (uint32_t d = 0; d < rank; d++) tensor.dim[d] = dim[d];
  int64_t n = seer_dims_elems(dim, rank);
  tensor.n_bytes = (size_t)n * seer_dtype_bytes(dtype);
  void *bytes = seer_arena_alloc(e->graph->arena, tensor.n_bytes + 1, 64);
  seer_recover_work((uint64_t)n);
  for (int64_t i = 0; i < n; i++) seer_dtype_store_f64(dtype, bytes, i, data[i]);
  tensor.data = bytes;
  return seer_graph_add_constant(e->graph, new_name(e, "constant"), &tensor);
}

seer_val seer_expand_scalar(seer_expand *e, seer_dtype dtype, double value) {
  return seer_expand_tensor(e, dtype, NULL, 0, &value);
}

seer_val seer_expand_ints(seer_expand *e, const int64_t *ints, uint32_t n) {
  seer_tensor tensor = {
      .dtype = SEER_DTYPE_I64, .rank = 1, .dim = {n}, .n_bytes = n * sizeof *ints};
  tensor.data = n ? seer_arena_memdup(e->graph->arena, ints, tensor.n_bytes) : "";
  return seer_graph_add_constant(e->graph, new_name(e, "constant"), &tensor);
}

// ---- results

static void give_output(seer_expand *e, uint32_t k, seer_val value, seer_dtype dtype) {
  if (!seer_expand_wants(e, k)) return;
  bool is_rounded = dtype != SEER_DTYPE_NONE;
  seer_attr *to = SEER_NEW(e->graph->arena, seer_attr);
  if (is_rounded) *to = seer_expand_int("to", seer_onnx_dtype_number(dtype));
  seer_graph_add_node(e->graph, seer_arena_printf(e->scratch, "%s/out%u", e->node.name, k), "",
      is_rounded ? "Cast" : "Identity", SEER_EXPAND_OPSET, &value, 1, &e->node.out[k], 1, to,
      is_rounded);
}

void seer_expand_output(seer_expand *e, uint32_t k, seer_val value) {
  give_output(e, k, value, e->narrow);
}

void seer_expand_output_as_is(seer_expand *e, uint32_t k, seer_val value) {
  give_output(e, k, value, SEER_DTYPE_NONE);
}

static seer_dtype float_of(const seer_expand *e, uint32_t k, uint32_t which) {
  bool is_asked = k >= 32 || (which >> k & 1u);
  seer_dtype dtype =
      is_asked && seer_expand_has_in(e, k) ? seer_expand_in(e, k)->dtype : SEER_DTYPE_NONE;
  return seer_dtype_is_float(dtype) ? dtype : SEER_DTYPE_NONE;
}

seer_status seer_expand_widen(seer_expand *e, uint32_t which) {
  seer_dtype narrow = SEER_DTYPE_NONE;
  for (uint32_t k = 0; k < e->node.n_in; k++) {
    seer_dtype dtype = float_of(e, k, which);
    if (dtype == SEER_DTYPE_NONE) continue;
    if (!seer_dtype_format(dtype) || (narrow != SEER_DTYPE_NONE && dtype != narrow)) return SEER_OK;
    narrow = dtype;
  }
  if (narrow == SEER_DTYPE_NONE) return SEER_OK;
  seer_val *wide = SEER_NEW_ARRAY(e->scratch, seer_val, e->node.n_in);
  for (uint32_t k = 0; k < e->node.n_in; k++) {
    wide[k] = e->node.in[k];
    if (float_of(e, k, which) == narrow) wide[k] = seer_expand_cast(e, wide[k], SEER_DTYPE_F32);
  }
  e->node.in = wide;
  e->narrow = narrow;
  return e->resolve(e);
}

// ---- bodies

uint32_t seer_expand_n_formal(const seer_attr *body) {
  return body->graph->n_input - (uint32_t)body->n;
}

void seer_expand_inline(seer_expand *e, const seer_attr *body, const seer_val *formal,
    seer_val *constants, seer_val *out) {
  const seer_graph *from = body->graph;
  seer_graph *to = e->graph;
  seer_val *map = SEER_NEW_ARRAY(e->scratch, seer_val, from->n_value);
  uint32_t n_formal = seer_expand_n_formal(body);
  for (uint32_t k = 0; k < from->n_input; k++) {
    map[from->input[k].i] = k < n_formal ? formal[k] : e->node.in[(uint32_t)body->i + k - n_formal];
  }
  for (uint32_t v = 1; v < from->n_value; v++) {
    const seer_value *value = &from->value[v];
    if (map[v].i) continue;
    if (value->constant && constants[v].i) {
      map[v] = constants[v];
      continue;
    }
    const char *name = new_name(e, value->name);
    map[v] = value->constant ? seer_graph_add_constant(to, name, value->constant)
                             : seer_graph_add_value(to, name, SEER_DTYPE_NONE, NULL, -1);
    if (value->constant) constants[v] = map[v];
  }
  for (uint32_t k = 1; k < from->n_node; k++) {
    const seer_node *node = &from->node[k];
    if (node->is_dead) continue;
    seer_val *in = SEER_NEW_ARRAY(e->scratch, seer_val, node->n_in);
    seer_val *made = SEER_NEW_ARRAY(e->scratch, seer_val, node->n_out);
    for (uint32_t i = 0; i < node->n_in; i++) in[i] = map[node->in[i].i];
    for (uint32_t i = 0; i < node->n_out; i++) made[i] = map[node->out[i].i];
    seer_graph_add_node(to, seer_graph_join_names(e->scratch, e->node.name, node->name),
        node->domain, node->op_type, node->opset, in, node->n_in, made, node->n_out, node->attr,
        node->n_attr);
  }
  for (uint32_t k = 0; k < from->n_output; k++) out[k] = map[from->output[k].i];
}
