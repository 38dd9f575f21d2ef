// sink.c - moves transposes behind elementwise operators: f(T(a), T(b), c) = T(f(a, b, c')), with
// c' a constant in a's order of dimensions. What follows a product then joins it, where a transpose
// between them would have ended its group (ConvNeXt: the scale and the residual sum behind an MLP
// on channels last). One operand must be a transpose that nobody else reads, of what an anchor or
// an elementwise operator makes: behind a reshape there is nothing to join, and the operator is
// better off in front of its reader. The others must be transposed alike, be constants along one
// dimension at most, or be a convolution's when the transpose is one from channels last to first:
// those are brought to channels last by a transpose of their own, which is none, as memory has that
// order (layout.c). So no pass over data is added.
// requires: sorted, resolved, folded. provides: as many transposes that move data, or fewer.
#include <string.h>

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

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  seer_arena *scratch = seer_arena_create("sink");
  seer_graph_uses uses = seer_graph_index_uses(graph, scratch);
  uint32_t n_known = (uint32_t)graph->n_value;
  uint32_t n_node = (uint32_t)graph->n_node;
  for (uint32_t k = 1; k < n_node; k++)
    if (!graph->node[k].is_dead) sink(graph, &uses, n_known, k);
  seer_arena_destroy(scratch);
  return SEER_OK;
}

const seer_pass_desc seer_pass_sink = {"sink", "transposes behind elementwise operators", run};
