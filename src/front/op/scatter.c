// scatter.c - ScatterElements, ScatterND: data, and updates that go where indices say, one after
// another: with reduction none the last one of a place stays.
// As DAG a scatter is written the other way round, as a search of each element of the output among
// the updates: work grows with the product of both sizes, but every element can be computed alone,
// in parallel, by vectors and together with what reads it. What is too much for that is a host
// operator (runtime/host/scatter.c), which goes through the updates once; so is what has sizes that
// only a run knows. Constants are folded by a plain loop.
#include <string.h>

#include "front/sized.h"
#include "runtime/host.h"

enum {
  // Places of updates, of which each element may be met by any, up to which the search is as fast
  // as the host (decision 64).
  MAX_DAG_PLACES = 4,
  // Elements of one constant up to which they may be in the weights, each of them.
  MAX_DAG_EQUAL = 4096
};

#define SCATTER(id, how, onnx, from, attributes)                                             \
  SEER_OP_ENTRY(id, onnx, from, 3, 3, 1, SEER_FUSE_REDUCTION, attributes, .rtol = 1e-5,      \
      .atol = 1e-5, .infer = infer_##how, .emit = emit_##how, .fold = fold_scatter,          \
      .expand = expand_##how, .is_composite = is_for_host_##how, .expands_sized = true,      \
      .doc =                                                                                 \
          "the last of several updates to a place stays; updates with indices out of range " \
          "are left out; bool: add and max are or, mul and min and")
#define HOST_SCATTER(how, onnx, function)                                                    \
  SEER_OP_INNER(host_##how, onnx, 3, 1, 1, SEER_FUSE_OPAQUE, "axis join shape", function, 3, \
      .infer = infer_host_##how, .emit = emit_##how, .doc = "")

static seer_status want_index(const seer_value *index, uint32_t k) {
  if (index->dtype == SEER_DTYPE_I32 || index->dtype == SEER_DTYPE_I64) return SEER_OK;
  return SEER_FAIL(INVALID, "input %u is %s, must be i32 or i64", k, seer_dtype_name(index->dtype));
}

static seer_status read_join(const seer_node *node, seer_host_join *out) {
  static const char *const names[] = {"none", "add", "mul", "min", "max"};
  const seer_attr *number = seer_node_attr(node, "join");  // the host operators'
  const char *name = seer_node_attr_s(node, "reduction", "none");
  if (number && number->kind == SEER_ATTR_INT && number->i >= 0 && number->i <= SEER_HOST_MAX) {
    *out = (seer_host_join)number->i;
    return SEER_OK;
  }
  for (int k = SEER_HOST_PUT; k <= SEER_HOST_MAX; k++) {
    if (strcmp(name, names[k]) != 0) continue;
    *out = (seer_host_join)k;
    return SEER_OK;
  }
  return SEER_FAIL(
      INVALID, "attribute 'reduction' is '%s', must be none, add, mul, min or max", name);
}

// ---- types and shapes

// The operands, of which the first may be one element that stands for all: then its dimensions are
// the attribute `shape`, which only host operators have.
typedef struct {
  seer_value x;
  const seer_value *index, *update;
  seer_host_join join;
} operands;

static seer_status read_operands(const seer_graph *graph, const seer_node *node, operands *out) {
  const seer_value *x = NULL;
  const seer_attr *shape = seer_node_attr_ints(node, "shape");
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &out->index));
  SEER_TRY(seer_op_in(graph, node, 2, &out->update));
  out->x = *x;
  if (shape) SEER_TRY(seer_op_set(&out->x, x->dtype, shape->ints, (uint32_t)shape->n));
  SEER_TRY(want_index(out->index, 1));
  SEER_TRY(seer_op_same_dtype(x, out->update, 2));
  SEER_TRY(read_join(node, &out->join));
  return out->join == SEER_HOST_PUT ? SEER_OK : seer_op_want_compared(x, 0);
}

// Dimension d of the updates is as large as dimension `from` of `as`, where only a run knows, too.
static seer_status want_one_size(
    const operands *o, uint32_t d, const seer_value *as, uint32_t from) {
  if (o->update->size[d].i == as->size[from].i) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED,
      "dimension %u of input 2 ('%s') and dimension %u of '%s' have sizes that are known only "
      "while "
      "running, and may differ",
      d, o->update->name, from, as->name);
}

static seer_status set_output(const operands *o, seer_value *out) {
  SEER_TRY(seer_op_set(out, o->x.dtype, o->x.dim, o->x.rank));
  memcpy(out->size, o->x.size, sizeof out->size);
  return SEER_OK;
}

static seer_status infer_scatter_elements(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  operands o;
  uint32_t axis;
  SEER_TRY(read_operands(graph, node, &o));
  SEER_TRY(seer_op_axis(seer_node_attr_i(node, "axis", 0), o.x.rank, "attribute 'axis'", &axis));
  bool fits = o.index->rank == o.x.rank && o.update->rank == o.x.rank;
  for (uint32_t d = 0; d < o.x.rank && fits; d++)
    fits = o.update->dim[d] == o.index->dim[d] && (d == axis || o.index->dim[d] <= o.x.dim[d]);
  if (!fits)
    return SEER_FAIL(INVALID, "inputs 1 and 2 are %s and %s, must be equal and fit input 0's %s",
        seer_op_shape_text(o.index, arena), seer_op_shape_text(o.update, arena),
        seer_op_shape_text(&o.x, arena));
  for (uint32_t d = 0; d < o.x.rank; d++) SEER_TRY(want_one_size(&o, d, o.index, d));
  return set_output(&o, &out_values[0]);
}

// Updates are [places..., what is behind the indexed dimensions].
static seer_status infer_scatter_nd(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  operands o;
  SEER_TRY(read_operands(graph, node, &o));
  const seer_value *index = o.index, *update = o.update;
  bool fits = index->rank >= 1 && index->dim[index->rank - 1] <= o.x.rank &&
      index->size[index->rank - 1].i == 0;
  if (fits) {
    uint32_t n_place = index->rank - 1u, n_index = (uint32_t)index->dim[n_place];
    fits = update->rank == n_place + o.x.rank - n_index;
    for (uint32_t d = 0; d < update->rank && fits; d++)
      fits = update->dim[d] == (d < n_place ? index->dim[d] : o.x.dim[n_index + d - n_place]);
  }
  if (!fits)
    return SEER_FAIL(INVALID, "inputs 1 and 2 are %s and %s, and do not fit input 0's %s",
        seer_op_shape_text(index, arena), seer_op_shape_text(update, arena),
        seer_op_shape_text(&o.x, arena));
  uint32_t n_place = index->rank - 1u, n_index = (uint32_t)index->dim[n_place];
  for (uint32_t d = 0; d < update->rank; d++)
    SEER_TRY(d < n_place ? want_one_size(&o, d, index, d)
                         : want_one_size(&o, d, &o.x, n_index + d - n_place));
  return set_output(&o, &out_values[0]);
}

#define infer_host_scatter_elements infer_scatter_elements
#define infer_host_scatter_nd infer_scatter_nd

// ---- as DAG

static seer_expr load_x(seer_emit *emit, const seer_node *node, const seer_expr *at) {
  seer_expr zero[SEER_MAX_RANK];
  if (!seer_node_attr_ints(node, "shape")) return seer_emit_load(emit, node, 0, at);
  for (uint32_t d = 0; d < SEER_MAX_RANK; d++) zero[d] = seer_op_int(emit, 0);
  return seer_emit_load(emit, node, 0, zero);
}

// How the places of updates are searched: all along `reduce`. Their number in row-major order is
// the order of the updates.
typedef struct {
  seer_emit *emit;
  const seer_node *node;
  seer_dag_axis reduce[SEER_MAX_RANK];
  uint32_t n_reduce;
  // Does the update of place `k` go to the output's element `at`?
  seer_expr (*hits)(
      seer_emit *emit, const seer_node *node, const seer_expr *at, const seer_expr *k);
  // The update of place k for that element.
  seer_expr (*update)(
      seer_emit *emit, const seer_node *node, const seer_expr *at, const seer_expr *k);
} search;

static uint32_t start_search(const search *s, const char *name, seer_expr *at, seer_expr *k) {
  const seer_value *y = seer_emit_out(s->emit, s->node, 0);
  seer_dag_axis dims[SEER_MAX_RANK];
  uint8_t order[SEER_MAX_RANK];
  for (uint32_t d = 0; d < y->rank; d++)
    dims[d] = (seer_dag_axis){NULL, y->dim[d], SEER_AXIS_OTHER};
  seer_op_order(y, order);
  return seer_emit_temp(
      s->emit, name, SEER_STAGE_ANCHOR, dims, y->rank, order, s->reduce, s->n_reduce, at, k);
}

// The number of the last update that goes to an element, -1: none.
static uint32_t find_last(const search *s) {
  seer_expr at[SEER_MAX_RANK], k[SEER_MAX_RANK], number = seer_op_int(s->emit, 0);
  uint32_t stage = start_search(s, "last", at, k);
  for (uint32_t d = 0; d < s->n_reduce; d++)
    number = seer_op_2(
        s->emit, SEER_EXPR_ADD, seer_op_muladd(s->emit, number, s->reduce[d].extent, 0), k[d]);
  seer_expr_pool *pool = &s->emit->dag->expr;
  seer_expr found = seer_expr_select(pool, s->hits(s->emit, s->node, at, k),
      seer_expr_cast(pool, SEER_DTYPE_I32, number), seer_expr_int(pool, SEER_DTYPE_I32, -1));
  seer_emit_temp_body(s->emit, stage, SEER_COMBINE_MAX, found);
  return stage;
}

static void emit_put(const search *s) {
  seer_emit *emit = s->emit;
  seer_expr at[SEER_MAX_RANK], k[SEER_MAX_RANK];
  uint32_t last = find_last(s);
  uint32_t stage = seer_emit_stage(emit, s->node, 0, SEER_STAGE_EPILOGUE, NULL, NULL, 0, at, NULL);
  seer_expr number = seer_op_to_i64(emit, seer_emit_load_temp(emit, last, at));
  seer_expr is_there = seer_op_2(emit, SEER_EXPR_GE, number, seer_op_int(emit, 0));
  seer_expr rest = number;
  for (uint32_t d = s->n_reduce; d-- > 0;) {
    seer_expr extent = seer_op_int(emit, s->reduce[d].extent);
    k[d] = seer_op_clamp(
        emit, d > 0 ? seer_op_2(emit, SEER_EXPR_MOD, rest, extent) : rest, s->reduce[d].extent);
    if (d > 0) rest = seer_op_2(emit, SEER_EXPR_DIV, rest, extent);
  }
  seer_emit_body(emit, s->node, 0, stage, SEER_COMBINE_NONE,
      seer_expr_select(
          &emit->dag->expr, is_there, s->update(emit, s->node, at, k), load_x(emit, s->node, at)));
}

// Of bools "or" and "and".
static void emit_join(const search *s, seer_host_join join) {
  static const seer_combiner combiners[] = {
      SEER_COMBINE_NONE, SEER_COMBINE_SUM, SEER_COMBINE_PROD, SEER_COMBINE_MIN, SEER_COMBINE_MAX};
  static const seer_expr_op joins[] = {
      SEER_EXPR_NONE, SEER_EXPR_ADD, SEER_EXPR_MUL, SEER_EXPR_MIN, SEER_EXPR_MAX};
  seer_emit *emit = s->emit;
  seer_expr_pool *pool = &emit->dag->expr;
  seer_dtype dtype = seer_emit_out(emit, s->node, 0)->dtype;
  seer_combiner combiner = combiners[join];
  seer_expr_op op = joins[join];
  bool is_or = join == SEER_HOST_ADD || join == SEER_HOST_MAX;
  if (dtype == SEER_DTYPE_BOOL) {
    combiner = is_or ? SEER_COMBINE_OR : SEER_COMBINE_AND;
    op = is_or ? SEER_EXPR_OR : SEER_EXPR_AND;
  }
  seer_expr at[SEER_MAX_RANK], k[SEER_MAX_RANK], neutral;
  uint32_t found = start_search(s, "found", at, k);
  seer_expr hit = s->hits(emit, s->node, at, k);
  seer_expr update = s->update(emit, s->node, at, k);
  if (dtype == SEER_DTYPE_BOOL)
    neutral = seer_expr_int(pool, dtype, !is_or);
  else if (join == SEER_HOST_MIN || join == SEER_HOST_MAX)
    neutral = load_x(emit, s->node, at);
  else
    neutral = seer_op_num(emit, dtype, join == SEER_HOST_MUL);
  seer_emit_temp_body(emit, found, combiner, seer_expr_select(pool, hit, update, neutral));
  uint32_t stage = seer_emit_stage(emit, s->node, 0, SEER_STAGE_EPILOGUE, NULL, NULL, 0, at, NULL);
  seer_expr x = load_x(emit, s->node, at);
  seer_expr body = seer_op_2(emit, op, x, seer_emit_load_temp(emit, found, at));
  seer_emit_body(emit, s->node, 0, stage, SEER_COMBINE_NONE, body);
}

static seer_status emit_search(const search *s) {
  seer_host_join join = SEER_HOST_PUT;
  SEER_TRY(read_join(s->node, &join));
  if (join == SEER_HOST_PUT)
    emit_put(s);
  else
    emit_join(s, join);
  return SEER_OK;
}

// The index k, which may count from the end, is `at` of so many.
static seer_expr is_at(seer_emit *emit, seer_expr k, seer_expr at, int64_t extent) {
  seer_expr wrapped = seer_op_2(emit, SEER_EXPR_ADD, k, seer_op_int(emit, extent));
  return seer_op_2(emit, SEER_EXPR_OR, seer_op_2(emit, SEER_EXPR_EQ, k, at),
      seer_op_2(emit, SEER_EXPR_EQ, wrapped, at));
}

// ---- ScatterElements as DAG

static int64_t axis_of(const seer_node *node, uint32_t rank) {
  int64_t axis = seer_node_attr_i(node, "axis", 0);
  return axis < 0 ? axis + rank : axis;
}

// Place k of the updates that have element `at` in their column. Returns whether there is one
// (0: always).
static seer_expr element_place(seer_emit *emit, const seer_node *node, const seer_expr *at,
    const seer_expr *k, seer_expr *from) {
  const seer_value *y = seer_emit_out(emit, node, 0), *index = seer_emit_in(emit, node, 1);
  int64_t axis = axis_of(node, y->rank);
  seer_expr inside = {0};
  for (uint32_t d = 0; d < y->rank; d++) {
    from[d] = d == axis ? k[0] : at[d];
    if (d != axis) inside = seer_op_within(emit, inside, at[d], 0, y->dim[d] - 1, 0, index->dim[d]);
  }
  return inside;
}

static seer_expr element_hits(
    seer_emit *emit, const seer_node *node, const seer_expr *at, const seer_expr *k) {
  const seer_value *y = seer_emit_out(emit, node, 0), *index = seer_emit_in(emit, node, 1);
  int64_t axis = axis_of(node, y->rank);
  seer_expr from[SEER_MAX_RANK], inside = element_place(emit, node, at, k, from);
  // Nothing is at index -1 - extent, so what lies outside of the updates matches nothing.
  seer_expr none = seer_expr_int(&emit->dag->expr, index->dtype, -1 - y->dim[axis]);
  seer_expr found = seer_op_to_i64(emit, seer_emit_load_guarded(emit, node, 1, from, inside, none));
  return is_at(emit, found, at[axis], y->dim[axis]);
}

static seer_expr element_update(
    seer_emit *emit, const seer_node *node, const seer_expr *at, const seer_expr *k) {
  seer_expr from[SEER_MAX_RANK], inside = element_place(emit, node, at, k, from);
  return seer_emit_load_guarded(
      emit, node, 2, from, inside, seer_op_num(emit, seer_emit_in(emit, node, 2)->dtype, 0));
}

static seer_status emit_scatter_elements(seer_emit *emit, const seer_node *node) {
  const seer_value *index = seer_emit_in(emit, node, 1);
  int64_t axis = axis_of(node, seer_emit_out(emit, node, 0)->rank);
  search s = {.emit = emit,
      .node = node,
      .reduce = {{"k", index->dim[axis], SEER_AXIS_OTHER}},
      .n_reduce = 1,
      .hits = element_hits,
      .update = element_update};
  return emit_search(&s);
}

// ---- ScatterND as DAG

static seer_expr tuple_hits(
    seer_emit *emit, const seer_node *node, const seer_expr *at, const seer_expr *k) {
  const seer_value *y = seer_emit_out(emit, node, 0), *index = seer_emit_in(emit, node, 1);
  uint32_t n_place = index->rank - 1u, n_index = (uint32_t)index->dim[n_place];
  seer_expr from[SEER_MAX_RANK], hit = seer_expr_int(&emit->dag->expr, SEER_DTYPE_BOOL, 1);
  for (uint32_t d = 0; d < n_place; d++) from[d] = k[d];
  for (uint32_t j = 0; j < n_index; j++) {
    from[n_place] = seer_op_int(emit, j);
    seer_expr entry = seer_op_to_i64(emit, seer_emit_load(emit, node, 1, from));
    seer_expr is_it = is_at(emit, entry, at[j], y->dim[j]);
    hit = j == 0 ? is_it : seer_op_2(emit, SEER_EXPR_AND, hit, is_it);
  }
  return hit;
}

static seer_expr tuple_update(
    seer_emit *emit, const seer_node *node, const seer_expr *at, const seer_expr *k) {
  const seer_value *y = seer_emit_out(emit, node, 0), *index = seer_emit_in(emit, node, 1);
  uint32_t n_place = index->rank - 1u, n_index = (uint32_t)index->dim[n_place];
  seer_expr from[SEER_MAX_RANK];
  for (uint32_t d = 0; d < n_place; d++) from[d] = k[d];
  for (uint32_t d = n_index; d < y->rank; d++) from[n_place + d - n_index] = at[d];
  return seer_emit_load(emit, node, 2, from);
}

static seer_status emit_scatter_nd(seer_emit *emit, const seer_node *node) {
  const seer_value *index = seer_emit_in(emit, node, 1);
  search s = {.emit = emit,
      .node = node,
      .reduce = {{"k", 1, SEER_AXIS_OTHER}},
      .n_reduce = index->rank - 1u,
      .hits = tuple_hits,
      .update = tuple_update};
  for (uint32_t d = 0; d < s.n_reduce; d++)
    s.reduce[d] = (seer_dag_axis){NULL, index->dim[d], SEER_AXIS_OTHER};
  if (s.n_reduce == 0) s.n_reduce = 1;
  return emit_search(&s);
}

// ---- folding: the updates one after another

// Element `update` of the updates goes to the one that is returned; -1: nowhere.
static int64_t element_goes(
    const seer_node *node, const seer_tensor *x, const seer_tensor *index, int64_t nth) {
  int64_t axis = axis_of(node, x->rank), to = 0, step = 1, rest = nth;
  for (uint32_t d = x->rank; d-- > 0; step *= x->dim[d]) {
    int64_t at = rest % index->dim[d];
    rest /= index->dim[d];
    if (d == axis) at = seer_dtype_load_i64(index->dtype, index->data, nth);
    if (d == axis && at < 0) at += x->dim[d];
    if (at < 0 || at >= x->dim[d]) return -1;
    to += at * step;
  }
  return to;
}

static int64_t tuple_goes(
    const seer_node *node, const seer_tensor *x, const seer_tensor *index, int64_t nth) {
  (void)node;
  int64_t n_index = index->dim[index->rank - 1], n_inner = 1, row = 0;
  for (uint32_t d = (uint32_t)n_index; d < x->rank; d++) n_inner *= x->dim[d];
  for (int64_t j = 0; j < n_index; j++) {
    int64_t at = seer_dtype_load_i64(index->dtype, index->data, nth / n_inner * n_index + j);
    if (at < 0) at += x->dim[j];
    if (at < 0 || at >= x->dim[j]) return -1;
    row = row * x->dim[j] + at;
  }
  return row * n_inner + nth % n_inner;
}

static double join_reals(seer_host_join join, double a, double b) {
  if (join == SEER_HOST_ADD) return a + b;
  if (join == SEER_HOST_MUL) return a * b;
  if (a != a || b != b) return a + b;
  return (join == SEER_HOST_MIN) == (b < a) ? b : a;
}

static int64_t join_integers(seer_dtype dtype, seer_host_join join, int64_t a, int64_t b) {
  if (dtype == SEER_DTYPE_BOOL)
    return join == SEER_HOST_ADD || join == SEER_HOST_MAX ? a | b : a & b;
  if (join == SEER_HOST_ADD) return (int64_t)((uint64_t)a + (uint64_t)b);
  if (join == SEER_HOST_MUL) return (int64_t)((uint64_t)a * (uint64_t)b);
  bool is_less = seer_dtype_is_signed(dtype) ? b < a : (uint64_t)b < (uint64_t)a;
  return (join == SEER_HOST_MIN) == is_less ? b : a;
}

static seer_status fold_scatter(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  const seer_tensor *x = seer_op_const(graph, node, 0), *index = seer_op_const(graph, node, 1),
                    *update = seer_op_const(graph, node, 2);
  bool is_nd = node->op->infer == infer_scatter_nd, is_real = seer_dtype_is_float(x->dtype);
  int64_t n = seer_tensor_elems(x), n_update = seer_tensor_elems(update);
  seer_host_join join = SEER_HOST_PUT;
  SEER_TRY(read_join(node, &join));
  SEER_TRY(seer_op_fold_start(graph, node, 0, arena, &out_tensors[0]));
  seer_recover_work((uint64_t)n_update);
  seer_tensor *y = &out_tensors[0];
  void *data = (void *)(uintptr_t)y->data;
  memcpy(data, x->data, y->n_bytes);
  // Halves are rounded once.
  double *sum = is_real && join != SEER_HOST_PUT ? SEER_NEW_ARRAY(arena, double, n + 1) : NULL;
  for (int64_t i = 0; sum && i < n; i++) sum[i] = seer_dtype_load_f64(x->dtype, x->data, i);
  for (int64_t i = 0; i < n_update; i++) {
    int64_t to = (is_nd ? tuple_goes : element_goes)(node, x, index, i);
    if (to < 0) continue;
    if (join == SEER_HOST_PUT)
      seer_op_copy_elem(y, to, update, i);
    else if (sum)
      sum[to] = join_reals(join, sum[to], seer_dtype_load_f64(x->dtype, update->data, i));
    else
      seer_dtype_store_i64(x->dtype, data, to,
          join_integers(x->dtype, join, seer_dtype_load_i64(x->dtype, data, to),
              seer_dtype_load_i64(x->dtype, update->data, i)));
  }
  for (int64_t i = 0; sum && i < n; i++) seer_dtype_store_f64(x->dtype, data, i, sum[i]);
  return SEER_OK;
}

// ---- on the host

// As of ConstantOfShape.
static bool are_all_equal(const seer_tensor *x) {
  size_t size = seer_dtype_bytes(x->dtype);
  return x->n_bytes > size &&
      memcmp(x->data, (const uint8_t *)x->data + size, x->n_bytes - size) == 0;
}

// `n_place`: updates that an element of the result may be among.
static bool is_for_host(const seer_graph *graph, const seer_node *node, double n_place) {
  bool is_constant = true;
  for (uint32_t k = 0; k < 3; k++) is_constant &= seer_op_const(graph, node, k) != NULL;
  if (is_constant) return false;
  const seer_tensor *x = seer_op_const(graph, node, 0);
  return n_place > MAX_DAG_PLACES || seer_sized_reads(graph, node) ||
      seer_graph_is_shared(graph, node->in[0]) ||
      (x && seer_tensor_elems(x) > MAX_DAG_EQUAL && are_all_equal(x));
}

static bool has_shapes(const seer_graph *graph, const seer_node *node) {
  for (uint32_t k = 0; k < 3; k++)
    if (!seer_op_has_in(node, k) || !seer_graph_value(graph, node->in[k])->has_shape) return false;
  return true;
}

static bool is_for_host_scatter_elements(const seer_graph *graph, const seer_node *node) {
  if (!has_shapes(graph, node)) return false;
  const seer_value *index = seer_graph_value(graph, node->in[1]);
  int64_t axis = axis_of(node, index->rank);
  return axis >= 0 && axis < index->rank && is_for_host(graph, node, (double)index->dim[axis]);
}

static bool is_for_host_scatter_nd(const seer_graph *graph, const seer_node *node) {
  if (!has_shapes(graph, node)) return false;
  const seer_value *index = seer_graph_value(graph, node->in[1]);
  double n = 1;
  for (uint32_t d = 0; d + 1 < index->rank; d++) n *= (double)index->dim[d];
  return is_for_host(graph, node, n);
}

// Its first element, for all: x need not be in the weights whole.
static seer_val first_of(seer_expand *e, const seer_tensor *x) {
  seer_tensor one = {.dtype = x->dtype, .data = x->data, .n_bytes = seer_dtype_bytes(x->dtype)};
  return seer_graph_add_constant(e->graph, seer_graph_fresh_name(e->graph, "scattered_to"), &one);
}

static seer_status expand_on_host(seer_expand *e, const char *op_type, int64_t axis) {
  const seer_value x = *seer_expand_in(e, 0);
  seer_host_join join = SEER_HOST_PUT;
  SEER_TRY(read_join(&e->node, &join));
  seer_val in[3] = {e->node.in[0], e->node.in[1], e->node.in[2]}, out;
  seer_attr attrs[3] = {seer_expand_int("axis", axis), seer_expand_int("join", join),
      seer_expand_ints_attr("shape", x.dim, x.rank)};
  bool is_one = x.constant && are_all_equal(x.constant);
  if (is_one) in[0] = first_of(e, x.constant);
  seer_expand_inner(e, op_type, in, 3, attrs, is_one ? 3 : 2, &out, 1);
  seer_expand_output(e, 0, out);
  return SEER_OK;
}

static seer_status expand_scatter_elements(seer_expand *e) {
  uint32_t axis;
  SEER_TRY(seer_op_axis(seer_node_attr_i(&e->node, "axis", 0), seer_expand_in(e, 0)->rank,
      "attribute 'axis'", &axis));
  return expand_on_host(e, "ScatterElements", axis);
}

static seer_status expand_scatter_nd(seer_expand *e) { return expand_on_host(e, "ScatterND", 0); }

SCATTER(scatter_elements, scatter_elements, "ScatterElements", 11, "axis reduction")
SCATTER(scatter, scatter_elements, "Scatter", 9, "axis")
SCATTER(scatter_nd, scatter_nd, "ScatterND", 11, "reduction")
HOST_SCATTER(scatter_elements, "ScatterElements", SEER_HOST_SCATTER_ELEMENTS)
HOST_SCATTER(scatter_nd, "ScatterND", SEER_HOST_SCATTER_ND)
