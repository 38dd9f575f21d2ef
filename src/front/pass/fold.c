// fold.c - nodes whose inputs are all constant become constants.
// An operator's own `fold` is asked first (shape arithmetic, copies); else its DAG is evaluated by
// the interpreter, which is the reference, up to a budget of scalar operations; what is larger
// stays a task of the network.
// requires: sorted, resolved. provides: no node that could be a constant (within the budget).
#include <string.h>

#include "front/pass/pass.h"

static const int64_t max_elems = INT64_C(1) << 28;  // 1 GiB of f32; VGG's largest weight is 411 MiB
static const double max_ops = 3e8;

static bool can_fold(const seer_graph *graph, const seer_node *node) {
  if (node->n_out == 0 || !node->op || seer_op_is_for_runtime(node->op)) return false;
  for (uint32_t k = 0; k < node->n_out; k++)
    if (node->out[k].i && seer_value_is_sized(seer_graph_value(graph, node->out[k]))) return false;
  bool is_all_constant = true;
  for (uint32_t k = 0; k < node->n_in; k++) {
    if (node->in[k].i == 0) continue;
    const seer_value *value = seer_graph_value(graph, node->in[k]);
    // What is stored narrow (width/narrow.c) has left folding behind.
    is_all_constant &= value->constant && value->constant->dtype == value->dtype;
    if (node->op->folds_from_shape && seer_value_elems(value) < 0) return false;
  }
  return is_all_constant || (node->op->folds_from_shape && node->op->fold);
}

// Evaluates all outputs of a node through its DAG.
static seer_status eval_node(seer_graph *graph, const seer_node *node, double budget,
    seer_arena *scratch, seer_tensor *out_tensors, bool *out_did) {
  seer_dag *dag = seer_dag_create(scratch, "fold");
  seer_emit emit;
  seer_emit_init(&emit, graph, dag, scratch);
  SEER_TRY(seer_emit_node(&emit, node));
  double ops = 0;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    double n = 1;
    for (uint32_t a = 0; a < (uint32_t)dag->stage[s].n_space + dag->stage[s].n_reduce; a++) {
      n *= (double)dag->stage[s].axis[a].extent;
    }
    ops += n;
  }
  for (uint32_t k = 0; k < node->n_out; k++) {
    if (node->out[k].i == 0 || emit.buf_of_value[node->out[k].i] == 0) continue;
    seer_emit_output(&emit, node->out[k], 0);
  }
  seer_dag_finish(dag);
  SEER_TRY(seer_dag_verify(dag));
  // What is left to the model as a whole counts, too; without it the node is computed at run time.
  if (ops > budget || ops > (double)seer_recover_work_left()) return SEER_OK;

  const void *input[SEER_DAG_MAX_BUFFERS] = {0};
  for (uint32_t k = 0; k < node->n_in; k++) {
    uint32_t buf = emit.buf_of_value[node->in[k].i];
    if (node->in[k].i && buf && dag->buf[buf - 1].kind != SEER_BUF_STAGE) {
      input[buf - 1] = seer_graph_value(graph, node->in[k])->constant->data;
    }
  }
  seer_recover_work((uint64_t)ops);
  seer_dag_eval *eval = seer_dag_eval_create(dag, scratch);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind != SEER_BUF_STAGE) seer_dag_eval_set_input(eval, b, input[b]);
  }
  for (uint32_t k = 0; k < node->n_out; k++) {
    if (node->out[k].i == 0) continue;
    uint32_t buf = emit.buf_of_value[node->out[k].i];
    if (buf == 0)
      return SEER_FAIL(UNSUPPORTED, "output %u of %s cannot be folded", k, node->op_type);
    const seer_value *value = seer_graph_value(graph, node->out[k]);
    size_t n_bytes = (size_t)seer_value_elems(value) * seer_dtype_bytes(value->dtype);
    void *data = seer_arena_alloc(graph->arena, n_bytes, 64);
    seer_dag_eval_all(eval, buf - 1, data);
    out_tensors[k] =
        (seer_tensor){.dtype = value->dtype, .rank = value->rank, .data = data, .n_bytes = n_bytes};
    memcpy(out_tensors[k].dim, value->dim, sizeof value->dim);
  }
  *out_did = true;
  return SEER_OK;
}

// The dimension of its input that each dimension of a Transpose's output is; false for another node
// and for a small one.
static bool large_permutation(const seer_graph *graph, const seer_node *node, uint8_t *out_perm) {
  const seer_tensor *x = node->op == &seer_op_transpose ? seer_node_constant(graph, node, 0) : NULL;
  if (!x || x->n_bytes < SEER_PERMUTED_MIN_BYTES) return false;
  seer_transpose_perm(node, x->rank, out_perm);
  return true;
}

// The operator's own way. A large Transpose of the same constant is made once, also for several
// sets of input shapes, and what it is made of is remembered.
static seer_status fold_directly(
    seer_graph *graph, const seer_node *node, seer_tensor *out_tensors) {
  uint8_t perm[SEER_MAX_RANK];
  if (!large_permutation(graph, node, perm))
    return node->op->fold(graph, node, graph->arena, out_tensors);
  const seer_tensor *of = seer_node_constant(graph, node, 0),
                    *known = seer_graph_find_permuted(graph, of, perm);
  if (known) {
    out_tensors[0] = *known;
    return SEER_OK;
  }
  SEER_TRY(node->op->fold(graph, node, graph->arena, out_tensors));
  seer_graph_note_permuted(graph, &out_tensors[0], of, perm);
  return SEER_OK;
}

static seer_status fold_node(
    seer_graph *graph, seer_node_id id, double budget, seer_arena *scratch, bool *out_did) {
  seer_node *node = &graph->node[id.i];
  seer_tensor *tensors = SEER_NEW_ARRAY(scratch, seer_tensor, node->n_out);
  const seer_value *first =
      node->n_in && node->in[0].i ? seer_graph_value(graph, node->in[0]) : NULL;
  if (node->op->fold) {
    for (uint32_t k = 0; k < node->n_out; k++)
      if (node->out[k].i)
        seer_recover_work((uint64_t)seer_value_elems(seer_graph_value(graph, node->out[k])));
    SEER_TRY(fold_directly(graph, node, tensors));
    *out_did = true;
  } else if (node->op->fuse == SEER_FUSE_VIEW && first && first->constant) {
    tensors[0] = *first->constant;  // same bytes, other dimensions
    const seer_value *out = seer_graph_value(graph, node->out[0]);
    tensors[0].rank = out->rank;
    memcpy(tensors[0].dim, out->dim, sizeof out->dim);
    for (uint32_t k = 1; k < node->n_out; k++) {
      if (node->out[k].i) return SEER_OK;
    }
    *out_did = true;
  } else {
    SEER_TRY(eval_node(graph, node, budget, scratch, tensors, out_did));
  }
  if (!*out_did) return SEER_OK;
  for (uint32_t k = 0; k < node->n_out; k++) {
    if (node->out[k].i == 0) continue;
    const seer_value *value = seer_graph_value(graph, node->out[k]);
    bool is_as_inferred = tensors[k].dtype == value->dtype && tensors[k].rank == value->rank &&
        memcmp(tensors[k].dim, value->dim, value->rank * sizeof value->dim[0]) == 0;
    if (!is_as_inferred)
      return SEER_FAIL(INTERNAL, "output %u folds to another type than inferred", k);
  }
  seer_graph_kill_node(graph, id);
  for (uint32_t k = 0; k < node->n_out; k++) {
    if (node->out[k].i) seer_graph_set_constant(graph, node->out[k], &tensors[k]);
  }
  return SEER_OK;
}

// A node on its own, so that what is too much is said of it.
typedef struct {
  seer_graph *graph;
  seer_node_id id;
  double budget;
  bool *out_did;
} folding;

static seer_status fold_one(void *user) {
  const folding *f = user;
  seer_arena *scratch = seer_arena_create("fold");
  seer_status status = fold_node(f->graph, f->id, f->budget, scratch, f->out_did);
  seer_arena_destroy(scratch);
  return status;
}

seer_status seer_pass_fold_node(
    seer_graph *graph, seer_node_id id, int64_t limit_elems, double budget, bool *out_did) {
  *out_did = false;
  const seer_node *node = &graph->node[id.i];
  if (!can_fold(graph, node)) return SEER_OK;
  for (uint32_t k = 0; k < node->n_out; k++) {
    if (node->out[k].i == 0) continue;
    int64_t n = seer_value_elems(seer_graph_value(graph, node->out[k]));
    if (n < 0 || n > limit_elems) return SEER_OK;
  }
  folding f = {graph, id, budget, out_did};
  return seer_recover(fold_one, &f);
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  for (uint32_t k = 1; k < graph->n_node; k++) {
    if (graph->node[k].is_dead) continue;
    bool did;
    SEER_TRYF(seer_pass_fold_node(graph, (seer_node_id){k}, max_elems, max_ops, &did),
        "folding node '%s' (%s)", graph->node[k].name, graph->node[k].op_type);
  }
  return SEER_OK;
}

const seer_pass_desc seer_pass_fold = {
    "fold", "nodes that read only constants become constants", run};
