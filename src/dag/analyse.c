// analyse.c - facts about a DAG that the search, the families and the report ask for: Ansor's
// access predicates (OSDI'20, 4.1), scalar operations, the anchor and its class. All of it follows
// from the loads of a stage: which axes occur in the indices on which producer.
#include <math.h>
#include <string.h>

#include "dag/access.h"

// What stage `stage` reads from one producer: an input buffer, or any value of another stage.
typedef struct {
  uint32_t maker;  // SEER_ACCESS_INPUT: the input `buf`
  uint32_t buf;  // of the first load
  uint32_t axes;  // bit k: the reader's axis k occurs in an index
  uint32_t mixed;  // reduction axes that share an index with a spatial axis
} producer;

typedef struct {
  producer item[SEER_DAG_MAX_BUFFERS];
  uint32_t n;
} maker_list;

static uint32_t space_mask(const seer_dag_stage *stage) { return (1u << stage->n_space) - 1u; }

static const seer_access_table *accesses(const seer_dag *dag) {
  SEER_ASSERT(dag->access != NULL, "dag %s is not finished", dag->name);
  return dag->access;
}

static void collect(const seer_dag *dag, uint32_t stage, maker_list *list) {
  const seer_access_table *table = accesses(dag);
  uint32_t space = space_mask(&dag->stage[stage]);
  list->n = 0;
  for (uint32_t i = table->first_load[stage]; i < table->first_load[stage + 1]; i++) {
    const seer_access *load = &table->load[i];
    uint32_t k = 0;
    for (; k < list->n; k++) {
      bool is_same = load->maker == SEER_ACCESS_INPUT ? list->item[k].buf == load->buf
                                                      : list->item[k].maker == load->maker;
      if (is_same) break;
    }
    producer *from = &list->item[k];
    if (k == list->n) {
      *from = (producer){.maker = load->maker, .buf = load->buf};
      list->n++;
    }
    for (uint32_t d = 0; d < load->rank; d++) {
      uint32_t axes = seer_access_index(table, load, d)->axes;
      from->axes |= axes;
      if (axes & space) from->mixed |= axes & ~space;
    }
  }
}

bool seer_dag_needs_tiling(const seer_dag *dag, uint32_t stage) {
  const seer_dag_stage *s = &dag->stage[stage];
  if (s->role == SEER_STAGE_TRANSFORM_IN || s->role == SEER_STAGE_TRANSFORM_OUT) return false;
  maker_list list;
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

static bool is_expensive(seer_expr_op op) { return seer_expr_op_cost(op) == SEER_COST_SERIES; }

// Every index is a constant or one spatial axis plus a constant; axes ascend from dimension to
// dimension.
static bool is_simple_load(const seer_dag *dag, const seer_access *load) {
  int last = -1;
  for (uint32_t d = 0; d < load->rank; d++) {
    const seer_access_dim *dim = seer_access_index(dag->access, load, d);
    if (!seer_access_is_sum(dim)) return false;
    if (dim->axes == 0) continue;
    int axis = seer_access_axis(dim);
    if (axis >= dag->stage[load->reader].n_space || axis <= last) return false;
    last = axis;
  }
  return !load->is_guarded;
}

typedef struct {
  const seer_dag *dag;
  bool has_select, has_expensive;
} body_walk;

static void note_body(void *user, seer_expr e) {
  body_walk *walk = user;
  seer_expr_op op = (seer_expr_op)seer_expr_at(&walk->dag->expr, e)->op;
  if (op == SEER_EXPR_SELECT) walk->has_select = true;
  if (is_expensive(op)) walk->has_expensive = true;
}

bool seer_dag_is_inlineable(const seer_dag *dag, uint32_t stage) {
  const seer_dag_stage *s = &dag->stage[stage];
  const seer_access_table *table = accesses(dag);
  if (s->n_reduce > 0) return false;
  body_walk walk = {.dag = dag};
  for (uint32_t v = 0; v < s->n_values; v++)
    seer_expr_visit(&dag->expr, s->body[v], note_body, &walk);
  if (walk.has_expensive) return false;
  uint32_t first = table->first_load[stage], end = table->first_load[stage + 1];
  for (uint32_t k = first; k < end; k++) {
    if (!is_simple_load(dag, &table->load[k])) return false;
  }
  return first == end || !walk.has_select;
}

// ---- what a stage is made of, and who reads it

uint32_t seer_dag_readers(const seer_dag *dag, uint32_t stage, uint32_t *out_stages) {
  const seer_access_table *table = accesses(dag);
  uint32_t n = 0;
  for (uint32_t k = table->first_load[stage + 1]; k < table->n_load; k++) {
    const seer_access *load = &table->load[k];
    bool is_next = load->maker == stage && (n == 0 || out_stages[n - 1] != load->reader);
    if (is_next) out_stages[n++] = load->reader;
  }
  return n;
}

uint32_t seer_dag_makers(const seer_dag *dag, uint32_t stage, uint32_t *out_stages) {
  maker_list list;
  collect(dag, stage, &list);
  uint32_t n = 0;
  for (uint32_t s = 0; s < stage; s++) {
    for (uint32_t k = 0; k < list.n; k++) {
      if (list.item[k].maker == s) {
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
  seer_expr byte;
  if (seer_expr_is_word_load(&dag->expr, e, &byte)) return cost_of(dag, byte);
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
  maker_list list;
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

// The type of a buffer, or the narrow float that it was before a stage of the DAG widened it.
static seer_dtype type_before(const seer_dag *dag, uint32_t buf) {
  uint32_t at = buf;
  while (dag->buf[at].kind == SEER_BUF_STAGE) {
    const seer_access_table *table = accesses(dag);
    uint32_t first = table->first_load[dag->buf[at].stage];
    if (first == table->first_load[dag->buf[at].stage + 1]) break;
    at = table->load[first].buf;
  }
  return seer_dtype_format(dag->buf[at].dtype) ? dag->buf[at].dtype : dag->buf[buf].dtype;
}

const char *seer_dag_anchor_class(const seer_dag *dag, seer_arena *arena) {
  uint32_t anchor = seer_dag_anchor(dag);
  maker_list list;
  collect(dag, anchor, &list);
  uint32_t buf = list.n > 0 ? list.item[0].buf : dag->stage[anchor].out[0];
  return seer_arena_printf(
      arena, "%s.%s", class_of(dag, anchor), seer_dtype_name(type_before(dag, buf)));
}

typedef struct {
  double n_load[SEER_DAG_MAX_BUFFERS];
  bool is_scattered[SEER_DAG_MAX_BUFFERS];  // read at places that are no plain sums of axes
} load_count;

static void count_loads_of(
    const seer_dag *dag, uint32_t stage, double n_iteration, load_count *out) {
  const seer_access_table *table = accesses(dag);
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    const seer_access *load = &table->load[k];
    out->n_load[load->buf] += n_iteration * load->n_times;
    for (uint32_t d = 0; d < load->rank; d++) {
      const seer_access_dim *dim = seer_access_index(table, load, d);
      if (!seer_access_is_sum(dim) || dim->constant != 0) out->is_scattered[load->buf] = true;
    }
  }
}

// Readers first, so that the loads of a stage are known when its own are counted.
static void count_loads(const seer_dag *dag, load_count *out, double *out_iterations) {
  *out = (load_count){.n_load = {0}};
  for (uint32_t s = dag->n_stage; s-- > 0;) {
    const seer_dag_stage *stage = &dag->stage[s];
    out_iterations[s] = 0;
    if (stage->is_const) continue;
    double points = 1, reduce = 1, wanted = 0;
    for (uint32_t a = 0; a < (uint32_t)stage->n_space + stage->n_reduce; a++)
      *(a < stage->n_space ? &points : &reduce) *= (double)stage->axis[a].extent;
    for (uint32_t v = 0; v < stage->n_values; v++)
      wanted += dag->buf[stage->out[v]].is_output ? points : out->n_load[stage->out[v]];
    out_iterations[s] = fmin(points, wanted) * reduce;
    count_loads_of(dag, s, out_iterations[s], out);
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
