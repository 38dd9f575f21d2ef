// analyse.c - facts about a DAG that the search, the families and the report ask for: Ansor's
// access predicates (facts 1.2), scalar operations, the anchor and its class. All of it follows
// from the loads of a stage: which axes occur in the indices on which producer.
#include <math.h>
#include <string.h>

#include "dag/dag.h"

// What stage `stage` reads from one producer: an input buffer, or any value of another stage.
typedef struct {
  bool is_stage;
  uint32_t id;  // buffer of an input, or stage
  uint32_t axes;  // bit k: the reader's axis k occurs in an index
  uint32_t mixed;  // reduction axes that share an index with a spatial axis
  seer_dtype dtype;  // of the first load
} access;

typedef struct {
  const seer_dag *dag;
  const seer_dag_stage *stage;
  access item[SEER_DAG_MAX_BUFFERS];
  uint32_t n;
} access_list;

static uint32_t axes_of(const access_list *list, seer_expr e) {
  if (e.i == 0) return 0;
  const seer_expr_pool *pool = &list->dag->expr;
  const seer_expr_node *node = seer_expr_at(pool, e);
  if (node->op == SEER_EXPR_VAR) return 1u << (node->ref - list->stage->var0);
  uint32_t axes = 0;
  for (uint32_t k = 0; k < node->n_index; k++) axes |= axes_of(list, pool->index[node->index0 + k]);
  for (int k = 0; k < 3; k++) axes |= axes_of(list, node->arg[k]);
  return axes;
}

static uint32_t space_mask(const seer_dag_stage *stage) { return (1u << stage->n_space) - 1u; }

static void note_access(void *user, seer_expr e) {
  access_list *list = user;
  const seer_expr_pool *pool = &list->dag->expr;
  const seer_expr_node *node = seer_expr_at(pool, e);
  if (node->op != SEER_EXPR_LOAD) return;
  const seer_dag_buf *buf = &list->dag->buf[node->ref];
  bool is_stage = buf->kind == SEER_BUF_STAGE;
  uint32_t id = is_stage ? buf->stage : node->ref, k = 0;
  while (k < list->n && (list->item[k].is_stage != is_stage || list->item[k].id != id)) k++;
  if (k == list->n)
    list->item[list->n++] = (access){.is_stage = is_stage, .id = id, .dtype = buf->dtype};
  uint32_t space = space_mask(list->stage);
  for (uint32_t d = 0; d < node->n_index; d++) {
    uint32_t axes = axes_of(list, pool->index[node->index0 + d]);
    list->item[k].axes |= axes;
    if (axes & space) list->item[k].mixed |= axes & ~space;
  }
}

static void collect(const seer_dag *dag, uint32_t stage, access_list *list) {
  *list = (access_list){.dag = dag, .stage = &dag->stage[stage]};
  for (uint32_t v = 0; v < list->stage->n_values; v++) {
    seer_expr_visit(&dag->expr, list->stage->body[v], note_access, list);
  }
}

bool seer_dag_needs_tiling(const seer_dag *dag, uint32_t stage) {
  const seer_dag_stage *s = &dag->stage[stage];
  if (s->role == SEER_STAGE_TRANSFORM_IN || s->role == SEER_STAGE_TRANSFORM_OUT) return false;
  access_list list;
  collect(dag, stage, &list);
  uint32_t n_missing = 0;
  for (uint32_t k = 0; k < list.n; k++) {
    for (uint32_t a = 0; a < s->n_space; a++) {
      if (s->axis[a].extent > 1 && !(list.item[k].axes >> a & 1)) {
        n_missing++;
        break;
      }
    }
  }
  return n_missing >= 2 || (n_missing >= 1 && s->n_reduce > 0);
}

// ---- strictly inlineable

static bool is_expensive(seer_expr_op op) {
  return (op >= SEER_EXPR_EXP && op <= SEER_EXPR_SIGMOID) || op == SEER_EXPR_POW;
}

// Every index is a constant or one spatial axis plus a constant; axes ascend from dimension to
// dimension.
static bool is_simple_load(const access_list *list, seer_expr e) {
  const seer_expr_pool *pool = &list->dag->expr;
  const seer_expr_node *node = seer_expr_at(pool, e);
  if (node->arg[0].i != 0) return false;
  int64_t last = -1;
  for (uint32_t d = 0; d < node->n_index; d++) {
    seer_affine a;
    if (!seer_expr_affine(pool, pool->index[node->index0 + d], &a) || a.n > 1) return false;
    if (a.n == 0) continue;
    int64_t axis = (int64_t)a.term[0].var - list->stage->var0;
    if (a.term[0].coef != 1 || axis >= list->stage->n_space || axis <= last) return false;
    last = axis;
  }
  return true;
}

typedef struct {
  const access_list *list;
  bool has_load, is_simple, has_select, has_expensive;
} body_walk;

static void note_body(void *user, seer_expr e) {
  body_walk *walk = user;
  seer_expr_op op = (seer_expr_op)seer_expr_at(&walk->list->dag->expr, e)->op;
  if (op == SEER_EXPR_LOAD) {
    walk->has_load = true;
    if (!is_simple_load(walk->list, e)) walk->is_simple = false;
  }
  if (op == SEER_EXPR_SELECT) walk->has_select = true;
  if (is_expensive(op)) walk->has_expensive = true;
}

bool seer_dag_is_inlineable(const seer_dag *dag, uint32_t stage) {
  const seer_dag_stage *s = &dag->stage[stage];
  if (s->n_reduce > 0) return false;
  access_list list = {.dag = dag, .stage = s};
  body_walk walk = {.list = &list, .is_simple = true};
  for (uint32_t v = 0; v < s->n_values; v++)
    seer_expr_visit(&dag->expr, s->body[v], note_body, &walk);
  if (walk.has_expensive) return false;
  return !walk.has_load || (walk.is_simple && !walk.has_select);
}

// ---- producers and consumers

typedef struct {
  const seer_dag *dag;
  uint32_t producer, n_space, var0;
  bool found, is_elementwise;
} match_walk;

static void note_match(void *user, seer_expr e) {
  match_walk *walk = user;
  const seer_expr_pool *pool = &walk->dag->expr;
  const seer_expr_node *node = seer_expr_at(pool, e);
  if (node->op != SEER_EXPR_LOAD) return;
  const seer_dag_buf *buf = &walk->dag->buf[node->ref];
  if (buf->kind != SEER_BUF_STAGE || buf->stage != walk->producer) return;
  walk->found = true;
  if (buf->rank != walk->n_space) walk->is_elementwise = false;
  for (uint32_t d = 0; d < node->n_index; d++) {
    const seer_expr_node *index = seer_expr_at(pool, pool->index[node->index0 + d]);
    if (index->op != SEER_EXPR_VAR || index->ref != walk->var0 + d) walk->is_elementwise = false;
  }
}

static match_walk match(const seer_dag *dag, uint32_t producer, uint32_t consumer) {
  const seer_dag_stage *to = &dag->stage[consumer];
  match_walk walk = {.dag = dag,
      .producer = producer,
      .n_space = to->n_space,
      .var0 = to->var0,
      .is_elementwise = true};
  for (uint32_t v = 0; v < to->n_values; v++)
    seer_expr_visit(&dag->expr, to->body[v], note_match, &walk);
  return walk;
}

bool seer_dag_is_elementwise(const seer_dag *dag, uint32_t producer, uint32_t consumer) {
  match_walk walk = match(dag, producer, consumer);
  if (!walk.found || !walk.is_elementwise) return false;
  for (uint32_t k = 0; k < dag->stage[consumer].n_space; k++) {
    if (dag->stage[producer].axis[k].extent != dag->stage[consumer].axis[k].extent) return false;
  }
  return true;
}

uint32_t seer_dag_consumers(const seer_dag *dag, uint32_t stage, uint32_t *out_stages) {
  uint32_t n = 0;
  for (uint32_t s = stage + 1; s < dag->n_stage; s++) {
    if (match(dag, stage, s).found) out_stages[n++] = s;
  }
  return n;
}

uint32_t seer_dag_producers(const seer_dag *dag, uint32_t stage, uint32_t *out_stages) {
  access_list list;
  collect(dag, stage, &list);
  uint32_t n = 0;
  for (uint32_t s = 0; s < stage; s++) {
    for (uint32_t k = 0; k < list.n; k++) {
      if (list.item[k].is_stage && list.item[k].id == s) {
        out_stages[n++] = s;
        break;
      }
    }
  }
  return n;
}

// ---- scalar operations

typedef struct {
  double flops;
  // depends on a load: integer arithmetic counts only then (else it computes positions)
  bool has_data;
} cost;

static cost cost_of(const seer_dag *dag, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  seer_expr_op op = (seer_expr_op)node->op;
  if (op == SEER_EXPR_LOAD) {  // index and predicate are free
    cost c = {0, true};
    if (node->arg[1].i != 0) c.flops = cost_of(dag, node->arg[1]).flops;
    return c;
  }
  cost total = {0, false}, part[3] = {{0, false}, {0, false}, {0, false}};
  for (uint32_t k = 0; k < seer_expr_arity(op); k++) {
    part[k] = cost_of(dag, node->arg[k]);
    total.flops += part[k].flops;
    total.has_data |= part[k].has_data;
  }
  if (op == SEER_EXPR_SELECT) {
    total.flops = part[0].flops + (part[1].flops > part[2].flops ? part[1].flops : part[2].flops);
    return total;
  }
  if (seer_expr_arity(op) == 0 || op == SEER_EXPR_CAST) return total;
  bool is_float = seer_dtype_is_float((seer_dtype)seer_expr_at(&dag->expr, node->arg[0])->dtype);
  if (is_float || total.has_data) total.flops += is_expensive(op) ? 8 : 1;
  return total;
}

double seer_dag_stage_flops(const seer_dag *dag, uint32_t stage) {
  const seer_dag_stage *s = &dag->stage[stage];
  double points = 1, each = 0;
  for (uint32_t k = 0; k < (uint32_t)s->n_space + s->n_reduce; k++)
    points *= (double)s->axis[k].extent;
  bool is_arg = seer_combiner_is_arg(s->combiner);
  for (uint32_t v = 0; v < s->n_values; v++) {
    each += cost_of(dag, s->body[v]).flops;
    if (s->n_reduce > 0 && !(is_arg && v > 0)) each += 1;
  }
  return points * each;
}

double seer_dag_flops(const seer_dag *dag) {
  double sum = 0;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    if (!dag->stage[s].is_const) sum += seer_dag_stage_flops(dag, s);
  }
  return sum;
}

// ---- the anchor and its class

uint32_t seer_dag_anchor(const seer_dag *dag) {
  SEER_ASSERT(dag->n_stage > 0, "dag %s has no stage", dag->name);
  int64_t best[2] = {-1, -1};  // tiled, reductions
  double flops[2] = {0, 0};
  uint32_t output = dag->n_stage - 1;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    const seer_dag_stage *stage = &dag->stage[s];
    for (uint32_t v = 0; v < stage->n_values; v++) {
      if (dag->buf[stage->out[v]].is_output) output = s;
    }
    if (stage->is_const) continue;
    double f = seer_dag_stage_flops(dag, s);
    bool is_kind[2] = {seer_dag_needs_tiling(dag, s), stage->n_reduce > 0};
    for (int k = 0; k < 2; k++) {
      if (is_kind[k] && (best[k] < 0 || f > flops[k])) {
        best[k] = s;
        flops[k] = f;
      }
    }
  }
  return best[0] >= 0 ? (uint32_t)best[0] : best[1] >= 0 ? (uint32_t)best[1] : output;
}

static const char *class_of(const seer_dag *dag, uint32_t stage) {
  const seer_dag_stage *s = &dag->stage[stage];
  if (s->n_reduce == 0) return seer_dag_stage_flops(dag, stage) > 0 ? "elementwise" : "movement";
  access_list list;
  collect(dag, stage, &list);
  uint32_t in_all = UINT32_MAX, window = 0, large = 0, batch = 0;
  for (uint32_t a = 0; a < (uint32_t)s->n_space + s->n_reduce; a++) {
    if (s->axis[a].extent > 1) large |= 1u << a;
    if (s->axis[a].role == SEER_AXIS_BATCH) batch |= 1u << a;
    if (a < s->n_space) continue;
    seer_axis_role role = s->axis[a].role;
    bool is_mixed = false;
    for (uint32_t k = 0; k < list.n; k++) is_mixed |= (list.item[k].mixed >> a & 1) != 0;
    // A grouped convolution's channel is mixed too (g * c + ic); the role tells them apart.
    bool is_window =
        role == SEER_AXIS_KY || role == SEER_AXIS_KX || (is_mixed && role == SEER_AXIS_OTHER);
    if (is_window) window |= 1u << a;
  }
  for (uint32_t k = 0; k < list.n; k++) in_all &= list.item[k].axes;
  uint32_t space = space_mask(s);
  bool has_operands = list.n >= 2;
  bool contracts = (in_all & large & ~space & ~window) != 0;
  bool shares = (in_all & large & space & ~batch) != 0;
  if (window != 0 && has_operands) {
    if (contracts) return shares ? "group-conv" : "conv";
    return shares ? "depthwise" : "conv";
  }
  if (window != 0) return "window";
  return has_operands && contracts && seer_dag_needs_tiling(dag, stage) ? "contraction"
                                                                        : "row-reduction";
}

const char *seer_dag_anchor_class(const seer_dag *dag, seer_arena *arena) {
  uint32_t anchor = seer_dag_anchor(dag);
  access_list list;
  collect(dag, anchor, &list);
  seer_dtype dtype = list.n > 0 ? list.item[0].dtype : dag->buf[dag->stage[anchor].out[0]].dtype;
  return seer_arena_printf(arena, "%s.%s", class_of(dag, anchor), seer_dtype_name(dtype));
}

typedef struct {
  const seer_dag *dag;
  double n_iteration;  // of the stage at hand
  double n_load[SEER_DAG_MAX_BUFFERS];
  bool is_scattered[SEER_DAG_MAX_BUFFERS];  // read at places that are no plain sums of axes
} load_count;

static void note_load(void *user, seer_expr e) {
  load_count *c = user;
  const seer_expr_node *node = seer_expr_at(&c->dag->expr, e);
  if (node->op != SEER_EXPR_LOAD) return;
  c->n_load[node->ref] += c->n_iteration;
  for (uint32_t k = 0; k < node->n_index; k++) {
    seer_affine at;
    seer_expr index = seer_expr_index(&c->dag->expr, e, k);
    if (!seer_expr_affine(&c->dag->expr, index, &at) || at.constant != 0)
      c->is_scattered[node->ref] = true;
  }
}

// Readers first, so that the loads of a stage are known when its own are counted.
static void count_loads(const seer_dag *dag, load_count *out, double *out_iterations) {
  *out = (load_count){.dag = dag};
  for (uint32_t s = dag->n_stage; s-- > 0;) {
    const seer_dag_stage *stage = &dag->stage[s];
    out_iterations[s] = 0;
    if (stage->is_const) continue;
    double points = 1, reduce = 1, wanted = 0;
    for (uint32_t a = 0; a < (uint32_t)stage->n_space + stage->n_reduce; a++)
      *(a < stage->n_space ? &points : &reduce) *= (double)stage->axis[a].extent;
    for (uint32_t v = 0; v < stage->n_values; v++)
      wanted += dag->buf[stage->out[v]].is_output ? points : out->n_load[stage->out[v]];
    out->n_iteration = out_iterations[s] = fmin(points, wanted) * reduce;
    for (uint32_t v = 0; v < stage->n_values; v++)
      seer_expr_visit(&dag->expr, stage->body[v], note_load, out);
  }
}

void seer_dag_count_iterations(const seer_dag *dag, double out[SEER_DAG_MAX_STAGES]) {
  load_count count;
  count_loads(dag, &count, out);
}

seer_dag_io seer_dag_count_io(const seer_dag *dag, double min_bytes) {
  load_count count;
  double iterations[SEER_DAG_MAX_STAGES];
  count_loads(dag, &count, iterations);
  bool is_made_before[SEER_DAG_MAX_BUFFERS] = {false};  // of weights: what runs read in their place
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    const seer_dag_stage *stage = &dag->stage[s];
    for (uint32_t v = 0; v < stage->n_values; v++) is_made_before[stage->out[v]] = stage->is_const;
  }
  seer_dag_io io = {0};
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    const seer_dag_buf *buf = &dag->buf[b];
    if (buf->kind == SEER_BUF_STAGE && !buf->is_output && !is_made_before[b]) continue;
    double bytes = 1;
    for (uint32_t k = 0; k < buf->rank; k++) bytes *= (double)buf->dim[k];
    bytes *= seer_dtype_bytes(buf->dtype);
    if (buf->kind == SEER_BUF_STAGE && !is_made_before[b]) {
      io.written += bytes;
      continue;
    }
    // No more than is asked for: a few rows of a large table.
    bytes = fmin(bytes, count.n_load[b] * seer_dtype_bytes(buf->dtype));
    io.read += bytes;
    bool is_weight = buf->kind == SEER_BUF_WEIGHT || is_made_before[b];
    if (is_weight && bytes >= min_bytes && !count.is_scattered[b]) io.large_weights += bytes;
  }
  return io;
}

double seer_dag_io_bytes(const seer_dag *dag) {
  seer_dag_io io = seer_dag_count_io(dag, 0);
  return io.read + io.written;
}

double seer_dag_weight_bytes(const seer_dag *dag) {
  double sum = 0;
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    const seer_dag_buf *buf = &dag->buf[b];
    if (buf->kind == SEER_BUF_WEIGHT)
      sum += (double)seer_dag_buf_elems(buf) * seer_dtype_bytes(buf->dtype);
  }
  return sum;
}
