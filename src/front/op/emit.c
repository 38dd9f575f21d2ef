// emit.c - from operators to DAG stages: the helpers that every emitter is written in.
// Emitters speak logical (ONNX) dimensions. A buffer of the DAG has its dimensions in physical
// order, so this file is the one place where the two meet: an index given by logical dimension is
// permuted by the value's order on each load, and a stage's axes are its output's dimensions in
// physical order. Constants stay in ONNX order: how weights lie in memory is the schedule's
// business (packing), not the graph's.
// It is also the one place that knows of floats narrower than f32. Emitters compute in f32: a load
// of such a value is widened, and what is made of it stays in f32 from stage to stage of the DAG,
// until it leaves it as an output (seer_emit_output), where it is rounded, once. What is merely
// moved is not widened: a cast back takes the cast away again.
#include <string.h>

#include "dag/edit.h"
#include "dag/scalar.h"
#include "front/op.h"
#include "front/op/util.h"

#define MAX_TEMPS 4  // helper stages of one operator: Softmax has 3
_Static_assert(SEER_OP_KERNEL_IN + 2 + MAX_TEMPS <= SEER_DAG_MAX_BUFFERS &&
        2 * SEER_OP_KERNEL_OUT + MAX_TEMPS <= SEER_DAG_MAX_STAGES,
    "a task has room for what one node reads, or makes");

void seer_emit_init(seer_emit *emit, const seer_graph *graph, seer_dag *dag, seer_arena *arena) {
  *emit =
      (seer_emit){.graph = graph, .dag = dag, .arena = arena, .default_role = SEER_STAGE_EPILOGUE};
  emit->buf_of_value = SEER_NEW_ARRAY(arena, uint32_t, graph->n_value + 1);
}

// ---- names: the text form knows [A-Za-z_][A-Za-z0-9_.]*, and a buffer is found by its name

static bool name_taken(const seer_dag *dag, const char *name) {
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (strcmp(dag->buf[b].name, name) == 0) return true;
  }
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    if (strcmp(dag->stage[s].name, name) == 0) return true;
  }
  return false;
}

static const char *make_name(seer_emit *emit, const char *base, const char *suffix) {
  if (!base || !base[0]) base = "t";
  char *clean = suffix ? seer_arena_printf(emit->arena, "%s.%s", base, suffix)
                       : seer_arena_strdup(emit->arena, base);
  for (char *c = clean; *c; c++) {
    bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
    bool is_inner = (*c >= '0' && *c <= '9') || *c == '.';
    if (!is_letter && !(is_inner && c > clean)) *c = '_';
  }
  const char *name = clean;
  for (uint32_t n = 2; name_taken(emit->dag, name); n++)
    name = seer_arena_printf(emit->arena, "%s_%u", clean, n);
  return name;
}

// "Conv" -> "conv". Names inside a DAG say what is computed, not which node of which network does:
// schedules are stored, and carried to other tasks, by the names of stages.
static const char *class_name(const seer_emit *emit, const seer_node *node) {
  char *name = seer_arena_strdup(emit->arena, node->op_type);
  for (char *c = name; *c; c++) {
    if (*c >= 'A' && *c <= 'Z') *c = (char)(*c + ('a' - 'A'));
  }
  return name;
}

// ---- values and buffers

static seer_val in_id(const seer_node *node, uint32_t k) {
  SEER_ASSERT(
      k < node->n_in && node->in[k].i != 0, "%s: no input %u of %u", node->name, k, node->n_in);
  return node->in[k];
}

const seer_value *seer_emit_in(const seer_emit *emit, const seer_node *node, uint32_t k) {
  return seer_graph_value(emit->graph, in_id(node, k));
}

const seer_value *seer_emit_out(const seer_emit *emit, const seer_node *node, uint32_t k) {
  SEER_ASSERT(
      k < node->n_out && node->out[k].i != 0, "%s: no output %u of %u", node->name, k, node->n_out);
  return seer_graph_value(emit->graph, node->out[k]);
}

bool seer_emit_has_in(const seer_emit *emit, const seer_node *node, uint32_t k) {
  (void)emit;
  return k < node->n_in && node->in[k].i != 0;
}

void seer_op_order(const seer_value *value, uint8_t *out_order) {
  for (uint32_t k = 0; k < value->rank; k++) {
    out_order[k] = value->has_layout && !value->constant ? value->order[k] : (uint8_t)k;
  }
}

// The buffer of a graph value, added as an input of the DAG (WEIGHT for constants, always dense, in
// ONNX order and in the type that they are stored in) when it is not there yet.
static uint32_t buf_of(seer_emit *emit, seer_val id) {
  if (emit->buf_of_value[id.i] != 0) return emit->buf_of_value[id.i] - 1;
  const seer_value *value = seer_graph_value(emit->graph, id);
  uint8_t order[SEER_MAX_RANK];
  int64_t dim[SEER_MAX_RANK];
  seer_op_order(value, order);
  for (uint32_t k = 0; k < value->rank; k++) dim[k] = value->dim[order[k]];
  uint32_t buf = seer_dag_add_input(emit->dag, make_name(emit, value->constant ? "w" : "x", NULL),
      value->constant ? SEER_BUF_WEIGHT : SEER_BUF_ACTIVATION,
      value->constant ? value->constant->dtype : value->dtype, dim, value->rank,
      value->constant ? 0 : value->pitch);
  emit->buf_of_value[id.i] = buf + 1;
  return buf;
}

// A constant of one element, as a literal of the type that it is computed in.
static seer_expr literal_of(seer_emit *emit, const seer_tensor *tensor) {
  return seer_expr_scalar(&emit->dag->expr, seer_dtype_computed(tensor->dtype),
      seer_scalar_load(tensor->dtype, tensor->data, 0));
}

static bool is_literal(const seer_value *value) {
  return value->constant && value->constant->data && seer_tensor_elems(value->constant) == 1;
}

static void permute_index(const seer_value *value, const seer_expr *index, seer_expr *out_index) {
  uint8_t order[SEER_MAX_RANK];
  seer_op_order(value, order);
  for (uint32_t k = 0; k < value->rank; k++) out_index[k] = index[order[k]];
}

// There is nothing to load: fine where nothing is computed from it.
static seer_expr load_nothing(seer_emit *emit, seer_val id) {
  if (!emit->is_over_nothing[emit->last_stage])
    emit->empty = seer_graph_value(emit->graph, id)->name;
  return seer_op_num(emit, seer_graph_value(emit->graph, id)->dtype, 0);
}

seer_expr seer_emit_load(
    seer_emit *emit, const seer_node *node, uint32_t k, const seer_expr *index) {
  const seer_value *value = seer_emit_in(emit, node, k);
  if (seer_op_elems(value) == 0) return load_nothing(emit, in_id(node, k));
  if (is_literal(value)) return literal_of(emit, value->constant);
  seer_expr physical[SEER_MAX_RANK];
  permute_index(value, index, physical);
  return seer_expr_cast(&emit->dag->expr, seer_dtype_computed(value->dtype),
      seer_dag_load(emit->dag, buf_of(emit, in_id(node, k)), physical));
}

// `e`, which is in f32, as a float of `dtype` that it is exactly for each element; 0: it may not
// be.
static seer_expr stored(seer_emit *emit, seer_dtype dtype, seer_expr e) {
  seer_expr_pool *pool = &emit->dag->expr;
  const seer_expr_node node = *seer_expr_at(pool, e);
  if (node.dtype == dtype) return e;
  if (node.op == SEER_EXPR_CONST_F) {
    seer_expr rounded = seer_expr_cast(pool, dtype, e);
    return seer_expr_cast(pool, (seer_dtype)node.dtype, rounded).i == e.i ? rounded
                                                                          : (seer_expr){0};
  }
  if (node.op == SEER_EXPR_CAST && seer_expr_at(pool, node.arg[0])->dtype == dtype)
    return node.arg[0];
  if (node.op != SEER_EXPR_SELECT) return (seer_expr){0};
  seer_expr then = stored(emit, dtype, node.arg[1]), otherwise = stored(emit, dtype, node.arg[2]);
  if (then.i == 0 || otherwise.i == 0) return (seer_expr){0};
  return seer_expr_select(pool, node.arg[0], then, otherwise);
}

seer_expr seer_emit_load_guarded(seer_emit *emit, const seer_node *node, uint32_t k,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  if (predicate.i == 0) return seer_emit_load(emit, node, k, index);
  const seer_value *value = seer_emit_in(emit, node, k);
  if (seer_op_elems(value) == 0) return otherwise;  // no guard admits an element
  if (is_literal(value)) {
    return seer_expr_select(
        &emit->dag->expr, predicate, literal_of(emit, value->constant), otherwise);
  }
  seer_expr physical[SEER_MAX_RANK];
  permute_index(value, index, physical);
  uint32_t buf = buf_of(emit, in_id(node, k));
  seer_dtype dtype = emit->dag->buf[buf].dtype, computed = seer_dtype_computed(value->dtype);
  if (dtype == computed)
    return seer_dag_load_guarded(emit->dag, buf, physical, predicate, otherwise);
  seer_expr same = seer_dtype_format(dtype) ? stored(emit, dtype, otherwise) : (seer_expr){0};
  seer_expr nothing =
      seer_expr_scalar(&emit->dag->expr, dtype, seer_combiner_identity(SEER_COMBINE_SUM, 0, dtype));
  seer_expr loaded = seer_expr_cast(&emit->dag->expr, computed,
      seer_dag_load_guarded(emit->dag, buf, physical, predicate, same.i ? same : nothing));
  return same.i ? loaded : seer_expr_select(&emit->dag->expr, predicate, loaded, otherwise);
}

// ---- stages

static const char *role_letter(seer_axis_role role) {
  switch (role) {
    case SEER_AXIS_BATCH:
      return "b";
    case SEER_AXIS_Y:
      return "y";
    case SEER_AXIS_X:
      return "x";
    case SEER_AXIS_OUT_CHANNEL:
      return "c";
    case SEER_AXIS_IN_CHANNEL:
      return "ic";
    case SEER_AXIS_KY:
      return "ky";
    case SEER_AXIS_KX:
      return "kx";
    case SEER_AXIS_GROUP:
      return "g";
    case SEER_AXIS_M:
      return "m";
    case SEER_AXIS_N:
      return "n";
    case SEER_AXIS_K:
      return "k";
    case SEER_AXIS_HEAD:
      return "h";
    case SEER_AXIS_OTHER:
    case SEER_AXIS_ROLE_COUNT:
      break;
  }
  return NULL;
}

// Spatial axes by logical dimension, permuted into physical order, then the reduction axes; fills
// the index vars.
static uint32_t start_stage(seer_emit *emit, const char *name, seer_stage_role role,
    const seer_dag_axis *dims, uint32_t n_dim, const uint8_t *order, const seer_dag_axis *reduce,
    uint32_t n_reduce, seer_expr *out_index, seer_expr *out_reduce) {
  SEER_ASSERT(n_dim + n_reduce <= SEER_DAG_MAX_AXES, "%s: %u + %u axes", name, n_dim, n_reduce);
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  bool is_over_nothing = false;
  for (uint32_t k = 0; k < n_reduce; k++) is_over_nothing |= reduce[k].extent == 0;
  if (is_over_nothing) {
    for (uint32_t k = 0; k < n_reduce; k++) out_reduce[k] = seer_op_int(emit, 0);
    n_reduce = 0;
  }
  for (uint32_t k = 0; k < n_dim; k++) {
    axes[k] = dims[order ? order[k] : k];
    if (axes[k].extent > 0) continue;
    emit->empty = name;  // a helper stage, such as the padding around an empty input
    axes[k].extent = 1;
  }
  for (uint32_t k = 0; k < n_reduce; k++) axes[n_dim + k] = reduce[k];
  // Axis names: given, else by role, else by position; numbered where two would be equal.
  for (uint32_t k = 0; k < n_dim + n_reduce; k++) {
    const char *base = axes[k].name ? axes[k].name : role_letter(axes[k].role);
    if (!base)
      base = seer_arena_printf(
          emit->arena, "%c%u", k < n_dim ? 'i' : 'r', k < n_dim && order ? order[k] : k);
    axes[k].name = base;
    for (uint32_t n = 1, j = 0; j < k; j++) {
      if (strcmp(axes[j].name, axes[k].name) != 0) continue;
      axes[k].name = seer_arena_printf(emit->arena, "%s%u", base, n++);
      j = UINT32_MAX;  // from the start: the new name may be taken as well
    }
  }
  uint32_t stage = seer_dag_add_stage(emit->dag, name, role, axes, n_dim, n_reduce);
  emit->is_over_nothing[stage] = is_over_nothing;
  emit->last_stage = stage;
  for (uint32_t k = 0; k < n_dim; k++)
    out_index[order ? order[k] : k] = seer_dag_var(emit->dag, stage, k);
  for (uint32_t k = 0; k < n_reduce; k++) out_reduce[k] = seer_dag_var(emit->dag, stage, n_dim + k);
  return stage;
}

uint32_t seer_emit_stage(seer_emit *emit, const seer_node *node, uint32_t k, seer_stage_role role,
    const seer_axis_role *roles, const seer_dag_axis *reduce, uint32_t n_reduce,
    seer_expr *out_index, seer_expr *out_reduce) {
  const seer_value *value = seer_emit_out(emit, node, k);
  uint8_t order[SEER_MAX_RANK];
  seer_dag_axis dims[SEER_MAX_RANK];
  seer_op_order(value, order);
  for (uint32_t d = 0; d < value->rank; d++) {
    dims[d] = (seer_dag_axis){NULL, value->dim[d], roles ? roles[d] : SEER_AXIS_OTHER};
  }
  return start_stage(emit, make_name(emit, class_name(emit, node), NULL), role, dims, value->rank,
      order, reduce, n_reduce, out_index, out_reduce);
}

static uint32_t set_body(
    seer_emit *emit, uint32_t stage, seer_combiner combiner, const seer_expr *body, uint32_t n) {
  if (!emit->is_over_nothing[stage]) return seer_dag_set_body(emit->dag, stage, combiner, body, n);
  seer_expr identity[SEER_DAG_MAX_VALUES];
  for (uint32_t v = 0; v < n; v++) {
    seer_dtype dtype = (seer_dtype)seer_expr_at(&emit->dag->expr, body[v])->dtype;
    identity[v] =
        seer_expr_scalar(&emit->dag->expr, dtype, seer_combiner_identity(combiner, v, dtype));
  }
  return seer_dag_set_body(emit->dag, stage, SEER_COMBINE_NONE, identity, n);
}

void seer_emit_body(seer_emit *emit, const seer_node *node, uint32_t k, uint32_t stage,
    seer_combiner combiner, seer_expr body) {
  const seer_value *value = seer_emit_out(emit, node, k);
  seer_dtype dtype = (seer_dtype)seer_expr_at(&emit->dag->expr, body)->dtype;
  SEER_ASSERT(dtype == value->dtype || dtype == seer_dtype_computed(value->dtype),
      "%s: body is %s, output is %s", node->name, seer_dtype_name(dtype),
      seer_dtype_name(value->dtype));
  uint32_t buf = set_body(emit, stage, combiner, &body, 1);
  emit->buf_of_value[node->out[k].i] = buf + 1;
}

typedef struct {
  const seer_dag *dag;
  uint32_t buf;
  bool is_read;
} reader_search;

static void note_reader(void *user, seer_expr e) {
  reader_search *search = user;
  const seer_expr_node *node = seer_expr_at(&search->dag->expr, e);
  search->is_read = search->is_read || (node->op == SEER_EXPR_LOAD && node->ref == search->buf);
}

static bool is_read(const seer_dag *dag, uint32_t buf) {
  reader_search search = {dag, buf, false};
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    for (uint32_t v = 0; v < dag->stage[s].n_values; v++)
      seer_expr_visit(&dag->expr, dag->stage[s].body[v], note_reader, &search);
  }
  return search.is_read;
}

// The same in `dtype`: rounded by the stage that makes it, where that comes to the same and nobody
// else wants it as it is, or by one behind it.
static uint32_t rounded(seer_emit *emit, uint32_t buf, seer_dtype dtype) {
  seer_dag *dag = emit->dag;
  uint32_t stage = dag->buf[buf].stage;
  const seer_dag_stage made = dag->stage[stage];
  bool adds_up = made.combiner == SEER_COMBINE_SUM || made.combiner == SEER_COMBINE_PROD;
  if (!adds_up && made.n_values == 1 && !is_read(dag, buf)) {
    seer_expr body = stored(emit, dtype, made.body[0]);
    if (body.i == 0) body = seer_expr_cast(&dag->expr, dtype, made.body[0]);
    return seer_dag_replace_body(dag, stage, body);
  }
  uint32_t last = seer_dag_add_stage(
      dag, make_name(emit, made.name, "cast"), SEER_STAGE_EPILOGUE, made.axis, made.n_space, 0);
  seer_expr at[SEER_MAX_RANK];
  for (uint32_t k = 0; k < made.n_space; k++) at[k] = seer_dag_var(dag, last, k);
  seer_expr body = seer_expr_cast(&dag->expr, dtype, seer_dag_load(dag, buf, at));
  return seer_dag_set_body(dag, last, SEER_COMBINE_NONE, &body, 1);
}

uint32_t seer_emit_output(seer_emit *emit, seer_val v, int64_t pitch) {
  const seer_value *value = seer_graph_value(emit->graph, v);
  SEER_ASSERT(emit->buf_of_value[v.i] != 0, "%s: not emitted", value->name);
  uint32_t buf = emit->buf_of_value[v.i] - 1;
  if (emit->dag->buf[buf].dtype != value->dtype) buf = rounded(emit, buf, value->dtype);
  emit->buf_of_value[v.i] = buf + 1;
  seer_dag_mark_output(emit->dag, buf, pitch);
  return buf;
}

uint32_t seer_emit_temp(seer_emit *emit, const char *suffix, seer_stage_role role,
    const seer_dag_axis *dims, uint32_t n_dim, const uint8_t *order, const seer_dag_axis *reduce,
    uint32_t n_reduce, seer_expr *out_index, seer_expr *out_reduce) {
  uint32_t stage = start_stage(emit, make_name(emit, emit->node_name, suffix), role, dims, n_dim,
      order, reduce, n_reduce, out_index, out_reduce);
  for (uint32_t k = 0; k < n_dim; k++) emit->temp_order[stage][k] = order ? order[k] : (uint8_t)k;
  return stage;
}

uint32_t seer_emit_temp_body(
    seer_emit *emit, uint32_t stage, seer_combiner combiner, seer_expr body) {
  return set_body(emit, stage, combiner, &body, 1);
}

seer_expr seer_emit_load_temp(seer_emit *emit, uint32_t stage, const seer_expr *index) {
  seer_expr physical[SEER_MAX_RANK];
  const seer_dag_stage *made = &emit->dag->stage[stage];
  for (uint32_t k = 0; k < made->n_space; k++) physical[k] = index[emit->temp_order[stage][k]];
  return seer_dag_load(emit->dag, made->out[0], physical);
}

// ---- views: the same elements in row-major order

// Groups of dimensions with equal products map onto each other, so that [1,C,H,W] -> [1,C,H*W]
// needs div and mod for the last group only, and adding or dropping ones needs none.
static void view_index(seer_emit *emit, const int64_t *from, uint32_t n_from, const int64_t *to,
    uint32_t n_to, const seer_expr *index, seer_expr *out_index) {
  seer_expr_pool *pool = &emit->dag->expr;
  uint32_t i = 0, j = 0;
  while (i < n_from || j < n_to) {
    uint32_t i1 = i, j1 = j;
    int64_t a = 1, b = 1;
    if (i1 < n_from) a = from[i1++];
    if (j1 < n_to) b = to[j1++];
    while (a != b) {
      if (a < b) {
        SEER_ASSERT(i1 < n_from, "view of %u dims as %u dims", n_from, n_to);
        a *= from[i1++];
      } else {
        SEER_ASSERT(j1 < n_to, "view of %u dims as %u dims", n_from, n_to);
        b *= to[j1++];
      }
    }
    // Row-major number inside the group, then taken apart from the innermost dimension on.
    seer_expr flat = seer_expr_i(pool, 0);
    for (uint32_t k = j; k < j1; k++) {
      flat = seer_expr_binary(pool, SEER_EXPR_ADD,
          seer_expr_binary(pool, SEER_EXPR_MUL, flat, seer_expr_i(pool, to[k])),
          to[k] == 1 ? seer_expr_i(pool, 0) : index[k]);
    }
    int64_t left = a;
    for (uint32_t k = i; k < i1; k++) {  // outermost: no mod; inner ones: (flat / inner) mod extent
      if (from[k] == 1) {
        out_index[k] = seer_expr_i(pool, 0);
        continue;
      }
      bool is_outermost = left == a;
      left /= from[k];
      out_index[k] = seer_expr_binary(pool, SEER_EXPR_DIV, flat, seer_expr_i(pool, left));
      if (!is_outermost) {
        out_index[k] =
            seer_expr_binary(pool, SEER_EXPR_MOD, out_index[k], seer_expr_i(pool, from[k]));
      }
    }
    i = i1;
    j = j1;
  }
}

static seer_status emit_view(seer_emit *emit, const seer_node *node) {
  const seer_value *in = seer_emit_in(emit, node, 0), *out = seer_emit_out(emit, node, 0);
  seer_expr index[SEER_MAX_RANK], from[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, index, NULL);
  view_index(emit, in->dim, in->rank, out->dim, out->rank, index, from);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, seer_emit_load(emit, node, 0, from));
  return SEER_OK;
}

seer_stage_role seer_op_stage_role(const seer_emit *emit) {
  return emit->default_role == SEER_STAGE_ANCHOR ? SEER_STAGE_EPILOGUE : emit->default_role;
}

seer_status seer_emit_node(seer_emit *emit, const seer_node *node) {
  SEER_ASSERT(node->op, "%s: not resolved", node->name);
  emit->node_name = class_name(emit, node);
  for (uint32_t k = 0; k < node->n_out; k++) {
    if (node->out[k].i == 0) continue;
    const seer_value *value = seer_graph_value(emit->graph, node->out[k]);
    for (uint32_t d = 0; d < value->rank; d++) {
      if (value->dim[d] == 0) {
        return SEER_FAIL(
            UNSUPPORTED, "output '%s' has no elements (dimension %u is 0)", value->name, d);
      }
    }
  }
  // An operator adds its operands, its outputs, which a stage each may round, and a few helper
  // stages.
  if (emit->dag->n_buf + node->n_in + 2 * node->n_out + MAX_TEMPS > SEER_DAG_MAX_BUFFERS ||
      emit->dag->n_stage + 2 * node->n_out + MAX_TEMPS > SEER_DAG_MAX_STAGES) {
    return SEER_FAIL(
        UNSUPPORTED, "%u inputs and %u outputs are too many for one task", node->n_in, node->n_out);
  }
  emit->empty = NULL;
  if (node->op->emit) {
    SEER_TRY(node->op->emit(emit, node));
  } else if (node->op->fuse == SEER_FUSE_VIEW) {
    SEER_TRY(emit_view(emit, node));
  } else {
    return SEER_FAIL(
        UNSUPPORTED, "%s can only be folded away, and its inputs are not constant", node->op_type);
  }
  if (!emit->empty) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED, "it reads '%s', which has no elements", emit->empty);
}
