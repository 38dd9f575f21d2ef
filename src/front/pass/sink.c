// sink.c - moves transposes and reshapes behind elementwise operators.
//
// Transposes: f(T(a), T(b), c) = T(f(a, b, c')), with
// c' a constant in a's order of dimensions. What follows a product then joins it, where a transpose
// between them would have ended its group (ConvNeXt: the scale and the residual sum behind an MLP
// on channels last). One operand must be a transpose that nobody else reads, of what an anchor or
// an elementwise operator makes: behind a reshape there is nothing to join, and the operator is
// better off in front of its reader. The others must be transposed alike, be constants along one
// dimension at most, or be a convolution's when the transpose is one from channels last to first:
// those are brought to channels last by a transpose of their own, which is none, as memory has that
// order (layout.c). So no pass over data is added.
//
// Reshapes, of what an anchor makes: all elementwise operators that follow, by that value and
// constants of one number, are done in front of the reshape where only one of their results is read
// by others: they join the anchor (a Gelu behind a Gemm that was made of a product of more
// dimensions, and reshaped back).
// requires: sorted, resolved, folded. provides: as many transposes that move data, or fewer.
#include <string.h>

#include "base/recover.h"
#include "front/pass/pass.h"

// The dimension that each dimension of a Transpose's output is of its input; false for another
// node.
static bool read_perm(const seer_graph *graph, seer_val v, uint8_t *out_perm) {
  seer_node_id producer = seer_graph_value(graph, v)->producer;
  if (!producer.i || seer_graph_node(graph, producer)->op != &seer_op_transpose) return false;
  seer_transpose_perm(seer_graph_node(graph, producer), seer_graph_value(graph, v)->rank, out_perm);
  return true;
}

static seer_val before(const seer_graph *graph, seer_val transposed) {
  return seer_graph_node(graph, seer_graph_value(graph, transposed)->producer)->in[0];
}

static bool same_dims(const seer_value *a, const seer_value *b) {
  return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}

// A transpose that only `node` reads, of what could take `node` into its kernel. `uses` does not
// know values that this pass made: such a one has the transpose behind it as its only reader.
static bool can_join(const seer_graph *graph, const seer_graph_uses *uses, uint32_t n_known,
    uint32_t node, seer_val transposed) {
  uint8_t perm[SEER_MAX_RANK];
  if (!read_perm(graph, transposed, perm) || seer_pass_only_reader(graph, uses, transposed) != node)
    return false;
  seer_val from = before(graph, transposed);
  seer_node_id producer = seer_graph_value(graph, from)->producer;
  if (!producer.i || !seer_graph_node(graph, producer)->op) return false;
  seer_fuse_kind kind = seer_graph_node(graph, producer)->op->fuse;
  return (kind == SEER_FUSE_ANCHOR || kind == SEER_FUSE_ELEMENTWISE) &&
      (from.i >= n_known || seer_pass_only_reader(graph, uses, from) != 0);
}

static bool is_along_one(const seer_tensor *tensor) {
  uint32_t n = 0;
  for (uint32_t k = 0; tensor && k < tensor->rank; k++) n += tensor->dim[k] != 1;
  return tensor && n <= 1;
}

// What a convolution makes, when `perm` is from channels last to channels first.
static bool is_channels_last(const seer_graph *graph, seer_val v, const uint8_t *perm) {
  const seer_value *value = seer_graph_value(graph, v);
  uint32_t rank = value->rank;
  if (!value->producer.i || value->is_output || rank < 3 || perm[0] != 0 || perm[1] != rank - 1)
    return false;
  for (uint32_t k = 2; k < rank; k++)
    if (perm[k] != k - 1) return false;
  const seer_op_desc *op = seer_graph_node(graph, value->producer)->op;
  return op && op->wants_channels_last;
}

// Transpose(v) that undoes `perm`.
static seer_val add_inverse(seer_graph *graph, seer_val v, const uint8_t *perm) {
  const seer_value value = *seer_graph_value(graph, v);
  int64_t inverse[SEER_MAX_RANK], dim[SEER_MAX_RANK];
  for (uint32_t k = 0; k < value.rank; k++) inverse[perm[k]] = k;
  for (uint32_t k = 0; k < value.rank; k++) dim[k] = value.dim[inverse[k]];
  const char *name = seer_graph_fresh_name(
      graph, seer_arena_printf(graph->arena, "%s.before_transpose", value.name));
  seer_val out = seer_graph_add_value(graph, name, value.dtype, dim, value.rank);
  seer_pass_add_transpose(graph, name, v, inverse, out);
  return out;
}

// A constant of the transposed rank or less, in the order of dimensions before `perm`.
static seer_val untransposed(
    seer_graph *graph, seer_val constant, const uint8_t *perm, uint32_t rank) {
  seer_tensor tensor = *seer_graph_value(graph, constant)->constant;
  if (tensor.rank == 0) return constant;
  int64_t dim[SEER_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t missing = rank - tensor.rank;
    dim[perm[k]] = k < missing ? 1 : tensor.dim[k - missing];
  }
  memcpy(tensor.dim, dim, rank * sizeof *dim);
  tensor.rank = (uint8_t)rank;
  const char *name = seer_graph_fresh_name(graph, seer_graph_value(graph, constant)->name);
  return seer_graph_add_constant(graph, name, &tensor);
}

// How an operand comes to lie in front of the transpose.
typedef enum { STAYS, IS_TRANSPOSED, IS_CONSTANT, IS_CHANNELS_LAST } operand_kind;

static operand_kind kind_of(
    const seer_graph *graph, seer_val v, const seer_value *shape, const uint8_t *perm) {
  uint8_t other[SEER_MAX_RANK];
  const seer_value *value = seer_graph_value(graph, v);
  if (value->constant)
    return value->rank <= shape->rank && is_along_one(value->constant) ? IS_CONSTANT : STAYS;
  if (!same_dims(value, shape)) return STAYS;
  if (read_perm(graph, v, other) && memcmp(perm, other, shape->rank) == 0) return IS_TRANSPOSED;
  return is_channels_last(graph, v, perm) ? IS_CHANNELS_LAST : STAYS;
}

static seer_val operand_before(
    seer_graph *graph, seer_val v, operand_kind kind, const uint8_t *perm, uint32_t rank) {
  switch (kind) {
    case IS_TRANSPOSED:
      return before(graph, v);
    case IS_CONSTANT:
      return untransposed(graph, v, perm, rank);
    case IS_CHANNELS_LAST:
      return add_inverse(graph, v, perm);
    case STAYS:
      break;
  }
  return v;
}

static void sink(seer_graph *graph, const seer_graph_uses *uses, uint32_t n_known, uint32_t k) {
  enum { MAX_OPERANDS = 3 };
  const seer_node *node = &graph->node[k];
  if (!node->op || !node->op->treats_alike || node->n_out != 1 || node->n_in > MAX_OPERANDS) return;
  const seer_val out = node->out[0];
  const seer_value shape = *seer_graph_value(graph, out);
  seer_val main = {0}, in[MAX_OPERANDS];
  for (uint32_t i = 0; i < node->n_in && !main.i; i++)
    if (node->in[i].i && can_join(graph, uses, n_known, k, node->in[i])) main = node->in[i];
  if (!main.i || !same_dims(seer_graph_value(graph, main), &shape)) return;
  if (seer_value_is_sized(&shape)) return;  // sizes are values of their own (sized.h)
  uint8_t perm[SEER_MAX_RANK];
  read_perm(graph, main, perm);
  operand_kind kind[MAX_OPERANDS] = {STAYS};
  for (uint32_t i = 0; i < node->n_in; i++) {
    if (!node->in[i].i) continue;
    kind[i] = kind_of(graph, node->in[i], &shape, perm);
    if (kind[i] == STAYS) return;
  }
  // Adding nodes and values moves their arrays: pointers hold until here.
  uint32_t n_in = node->n_in;
  seer_node_id transpose = seer_graph_value(graph, main)->producer;
  const seer_value from = *seer_graph_value(graph, before(graph, main));
  const char *name = seer_arena_printf(graph->arena, "%s.before_transpose", node->name);
  for (uint32_t i = 0; i < n_in; i++)
    in[i] = operand_before(graph, graph->node[k].in[i], kind[i], perm, shape.rank);
  seer_val result = seer_graph_add_value(
      graph, seer_graph_fresh_name(graph, name), shape.dtype, from.dim, from.rank);
  memcpy(graph->node[k].in, in, n_in * sizeof *in);
  // The transpose changes its place: from in front of the operator to behind it.
  seer_graph_value(graph, main)->producer = (seer_node_id){0};
  seer_graph_node(graph, transpose)->in[0] = result;
  seer_graph_node(graph, transpose)->out[0] = out;
  graph->node[k].out[0] = result;
  seer_graph_value(graph, out)->producer = transpose;
  seer_graph_value(graph, result)->producer = (seer_node_id){k};
}

// ---- reshapes

typedef struct {
  seer_graph *graph;
  const seer_graph_uses *uses;
  seer_arena *scratch;
  seer_val from, reshaped;  // what the reshape reads and makes
  uint32_t n;
  uint32_t *node;  // that are done in front of it, in order
  bool *is_done;  // by value: one of theirs, or `reshaped`
  seer_val last;  // the one of these that others read
} followers;

static bool is_one_number(const seer_value *value) {
  return value->constant && seer_tensor_elems(value->constant) == 1;
}

static bool follows(const followers *f, uint32_t k) {
  const seer_graph *graph = f->graph;
  const seer_node *node = &graph->node[k];
  if (node->is_dead || !node->op || !node->op->treats_alike || node->n_out != 1) return false;
  const seer_value *shape = seer_graph_value(graph, f->reshaped),
                   *source = seer_graph_value(graph, f->from);
  if (!same_dims(seer_graph_value(graph, node->out[0]), shape)) return false;
  bool is_of_it = false;
  for (uint32_t i = 0; i < node->n_in; i++) {
    const seer_value *in = seer_graph_value(graph, node->in[i]);
    if (node->in[i].i == 0) continue;
    if (f->is_done[node->in[i].i])
      is_of_it = true;
    else if (!is_one_number(in) || in->rank > shape->rank || in->rank > source->rank)
      return false;
  }
  return is_of_it;
}

// Reads and readers are in order: each is met behind what it reads.
static void find_followers(followers *f) {
  uint32_t n_value = (uint32_t)f->graph->n_value, n_node = (uint32_t)f->graph->n_node;
  f->is_done = SEER_NEW_ARRAY(f->scratch, bool, n_value);
  f->node = SEER_NEW_ARRAY(f->scratch, uint32_t, n_node);
  f->is_done[f->reshaped.i] = true;
  seer_recover_work(n_node);
  for (uint32_t k = 1; k < n_node; k++) {
    if (!follows(f, k)) continue;
    f->node[f->n++] = k;
    f->is_done[f->graph->node[k].out[0].i] = true;
  }
}

static bool is_read_by_others(const followers *f, seer_val v) {
  bool is_read = seer_graph_value(f->graph, v)->is_output;
  for (uint32_t u = f->uses->first[v.i]; u < f->uses->first[v.i + 1] && !is_read; u++) {
    uint32_t reader = f->uses->node[u], at = 0;
    while (at < f->n && f->node[at] != reader) at++;
    is_read = at == f->n;
  }
  return is_read;
}

// One result alone is read by others, and it is not the reshape's.
static bool has_one_result(followers *f) {
  uint32_t n = 0;
  if (f->n == 0 || is_read_by_others(f, f->reshaped)) return false;
  for (uint32_t i = 0; i < f->n; i++) {
    seer_val made = f->graph->node[f->node[i]].out[0];
    if (!is_read_by_others(f, made)) continue;
    f->last = made;
    n++;
  }
  return n == 1;
}

static void do_before(followers *f, uint32_t reshape) {
  seer_graph *graph = f->graph;
  const seer_value source = *seer_graph_value(graph, f->from);
  seer_val *instead = SEER_NEW_ARRAY(f->scratch, seer_val, graph->n_value);
  instead[f->reshaped.i] = f->from;
  for (uint32_t i = 0; i < f->n; i++) {
    const seer_val out = graph->node[f->node[i]].out[0];
    const seer_value value = *seer_graph_value(graph, out);
    const char *name = seer_arena_printf(graph->arena, "%s.before_reshape", value.name);
    seer_val made = seer_graph_add_value(
        graph, seer_graph_fresh_name(graph, name), value.dtype, source.dim, source.rank);
    seer_node *node = &graph->node[f->node[i]];
    for (uint32_t k = 0; k < node->n_in; k++)
      if (node->in[k].i && f->is_done[node->in[k].i]) node->in[k] = instead[node->in[k].i];
    node->out[0] = made;
    instead[out.i] = made;
    seer_graph_value(graph, made)->producer = (seer_node_id){f->node[i]};
    seer_graph_value(graph, out)->producer = (seer_node_id){0};
  }
  graph->node[reshape].in[0] = instead[f->last.i];
  graph->node[reshape].out[0] = f->last;
  seer_graph_value(graph, f->reshaped)->producer = (seer_node_id){0};
  seer_graph_value(graph, f->last)->producer = (seer_node_id){reshape};
}

// What an anchor makes, and elementwise operators behind it.
static bool is_of_anchor(const seer_graph *graph, const seer_graph_uses *uses, seer_val v) {
  const seer_value *value = seer_graph_value(graph, v);
  const seer_node *node = value->producer.i ? seer_graph_node(graph, value->producer) : NULL;
  if (!node || !node->op || node->n_in == 0 || seer_pass_only_reader(graph, uses, v) == 0)
    return false;
  if (node->op->fuse == SEER_FUSE_ANCHOR) return true;
  return (node->op->fuse == SEER_FUSE_ELEMENTWISE || node->op == &seer_op_identity) &&
      is_of_anchor(graph, uses, node->in[0]);
}

static void sink_reshape(
    seer_graph *graph, const seer_graph_uses *uses, uint32_t k, seer_arena *scratch) {
  const seer_node *node = &graph->node[k];
  if (!node->op || node->op->fuse != SEER_FUSE_VIEW || node->n_out != 1) return;
  if (!is_of_anchor(graph, uses, node->in[0])) return;
  if (seer_value_is_sized(seer_graph_value(graph, node->out[0]))) return;
  followers f = {.graph = graph,
      .uses = uses,
      .scratch = scratch,
      .from = node->in[0],
      .reshaped = node->out[0]};
  find_followers(&f);
  if (has_one_result(&f)) do_before(&f, k);
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  seer_arena *scratch = seer_arena_create("sink");
  seer_graph_uses uses = seer_graph_index_uses(graph, scratch);
  uint32_t n_known = (uint32_t)graph->n_value;
  uint32_t n_node = (uint32_t)graph->n_node;
  for (uint32_t k = 1; k < n_node; k++)
    if (!graph->node[k].is_dead) sink(graph, &uses, n_known, k);
  seer_status status = seer_graph_sort(graph);
  uses = seer_graph_index_uses(graph, scratch);
  n_node = (uint32_t)graph->n_node;
  for (uint32_t k = 1; k < n_node && !status; k++)
    if (!graph->node[k].is_dead) sink_reshape(graph, &uses, k, scratch);
  seer_arena_destroy(scratch);
  return SEER_OK;
}

const seer_pass_desc seer_pass_sink = {
    "sink", "transposes and reshapes behind elementwise operators", run};
