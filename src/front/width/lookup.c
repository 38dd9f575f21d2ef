// lookup.c - what is made of one byte, element by element, and is a byte again, is one of 256
// numbers: y = Quantize(f(.., Dequantize(x))) becomes y = table[x], whatever f is made of. Such
// chains are what a quantiser leaves of activations that are written in several operators, each
// between two quantisations of its own: Gelu by Erf has five, Silu three. The table is what the
// interpreter computes of the chain, operator by operator: rounded as the chain is.
// A chain that is less work than looking it up stays: a Relu between quantisations. One that gives
// each byte itself goes: what only moves elements has a quantisation on both sides, of one scale.
// Where a reshape stands in front of a look-up, it is put behind it: the bytes are looked up by
// what makes them.
// requires: sorted, resolved, folded; chains are not cut by what moves elements (widen).
// provides: nothing.
#include <string.h>

#include "front/pass/pass.h"

enum { N_BYTE = 256 };

// What an element takes, in operators of vectors, and a look-up where bytes of a register are
// picked sixteen at a time: 16 of those and 15 choices between them, of twice as many elements. Of
// AVX512-VBMI it is 5.
enum { OF_QUANTIZE = 7, OF_DEQUANTIZE = 4, OF_CHEAP = 1, OF_OTHERS = 20, OF_LOOKUP = 16 };

typedef struct {
  seer_graph *graph;
  seer_arena *scratch;
  size_t n_value;  // that were there at first; by those:
  seer_val *root;  // the byte that it is made of; 0: none, or more than one
  uint32_t *work;  // since then
  // What it is where the root has each byte, as a constant of `tables`; 0: not asked for, or not
  // known.
  seer_val *table;
  seer_graph *tables;
} finder;

static bool is_byte(const seer_value *value) {
  return seer_dtype_is_byte(value->dtype) && !value->constant && value->has_shape;
}

static bool is_same_shape(const seer_value *a, const seer_value *b) {
  return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}

// Each element of the result is made of those in its place alone, wherever that is.
static bool is_elementwise(const seer_node *node) {
  return node->op && !node->is_dead && node->n_out == 1 && node->op->domain[0] == '\0' &&
      node->op->fuse == SEER_FUSE_ELEMENTWISE && node->op != &seer_op_trilu;
}

static uint32_t work_of(const seer_node *node) {
  const seer_op_desc *op = node->op;
  if (op == &seer_op_quantize_linear) return OF_QUANTIZE;
  if (op == &seer_op_dequantize_linear) return OF_DEQUANTIZE;
  bool is_cheap = op == &seer_op_add || op == &seer_op_sub || op == &seer_op_mul ||
      op == &seer_op_relu || op == &seer_op_clip || op == &seer_op_cast || op == &seer_op_min ||
      op == &seer_op_max || op == &seer_op_neg || op == &seer_op_abs || op == &seer_op_bitwise_xor;
  return is_cheap ? OF_CHEAP : OF_OTHERS;
}

static void trace(finder *f, uint32_t k) {
  const seer_node *node = &f->graph->node[k];
  if (!is_elementwise(node)) return;
  const seer_value *out = seer_graph_value(f->graph, node->out[0]);
  seer_val root = {0};
  uint32_t work = work_of(node);
  for (uint32_t i = 0; i < node->n_in; i++) {
    const seer_value *in = seer_graph_value(f->graph, node->in[i]);
    if (node->in[i].i == 0 || (in->constant && seer_value_elems(in) == 1)) continue;
    seer_val of = f->root[node->in[i].i];
    if (of.i == 0 && is_byte(in)) of = node->in[i];
    if (of.i == 0 || (root.i != 0 && of.i != root.i)) return;
    root = of;
    work += f->work[node->in[i].i];
  }
  if (root.i == 0 || !out->has_shape || !is_same_shape(out, seer_graph_value(f->graph, root)))
    return;
  f->root[node->out[0].i] = root;
  f->work[node->out[0].i] = work;
}

// ---- tables

// 0, 1, ..., as bytes of x's type are numbered by their bits.
static seer_val all_bytes(seer_graph *graph, const seer_value *x) {
  uint8_t *data = seer_arena_alloc(graph->arena, N_BYTE, 64);
  for (uint32_t k = 0; k < N_BYTE; k++) data[k] = (uint8_t)k;
  const seer_tensor tensor = {
      .dtype = x->dtype, .rank = 1, .dim = {N_BYTE}, .data = data, .n_bytes = N_BYTE};
  return seer_graph_add_constant(graph, seer_graph_fresh_name(graph, "bytes"), &tensor);
}

static seer_val as_scalar(seer_graph *graph, const seer_value *value) {
  seer_tensor tensor = *value->constant;
  tensor.rank = 0;
  return seer_graph_add_constant(graph, seer_graph_fresh_name(graph, value->name), &tensor);
}

static seer_status table_of(finder *f, seer_val v, seer_val *out);

// The node that makes `v`, again, of all bytes.
static seer_status compute(finder *f, seer_val v, seer_val *out) {
  seer_graph *graph = f->tables;
  const seer_node node = f->graph->node[seer_graph_value(f->graph, v)->producer.i];
  const seer_dtype dtype = seer_graph_value(f->graph, v)->dtype;
  seer_val *in = SEER_NEW_ARRAY(f->scratch, seer_val, node.n_in);
  for (uint32_t i = 0; i < node.n_in; i++) {
    if (node.in[i].i == 0) continue;
    const seer_value *value = seer_graph_value(f->graph, node.in[i]);
    if (value->constant)
      in[i] = as_scalar(graph, value);
    else
      SEER_TRY(table_of(f, node.in[i], &in[i]));
    if (in[i].i == 0) return SEER_OK;
  }
  const int64_t dim[1] = {N_BYTE};
  seer_val made =
      seer_graph_add_value(graph, seer_graph_fresh_name(graph, node.name), dtype, dim, 1);
  seer_node_id id = seer_graph_add_node(graph, node.name, node.domain, node.op_type, node.opset, in,
      node.n_in, &made, 1, node.attr, node.n_attr);
  seer_graph_node(graph, id)->op = node.op;
  bool did;
  SEER_TRY(seer_pass_fold_node(graph, id, N_BYTE, N_BYTE, &did));
  if (did) *out = made;
  return SEER_OK;
}

// 0: it cannot be computed.
static seer_status table_of(finder *f, seer_val v, seer_val *out) {
  *out = f->table[v.i];
  if (out->i != 0) return SEER_OK;
  if (f->root[v.i].i == 0)
    *out = all_bytes(f->tables, seer_graph_value(f->graph, v));
  else
    SEER_TRY(compute(f, v, out));
  f->table[v.i] = *out;
  return SEER_OK;
}

// ---- what takes their place

static bool gives_itself(const seer_tensor *table, seer_dtype root) {
  const uint8_t *data = table->data;
  for (uint32_t k = 0; k < N_BYTE; k++)
    if (data[k] != k) return false;
  return table->dtype == root;
}

static seer_val add_table(seer_graph *graph, const char *name, const seer_tensor *table) {
  seer_tensor own = *table;
  own.data = seer_arena_memdup(graph->arena, table->data, N_BYTE);
  return seer_graph_add_constant(graph, seer_graph_fresh_name(graph, name), &own);
}

static uint32_t add(seer_graph *graph, const char *name, const seer_op_desc *op, const seer_val *in,
    uint32_t n_in, seer_val out) {
  seer_node_id id = seer_graph_add_node(
      graph, name, op->domain, op->name, op->opset_min, in, n_in, &out, 1, NULL, 0);
  seer_graph_node(graph, id)->op = op;
  return id.i;
}

static bool is_reshape(const seer_graph *graph, const seer_node *node) {
  if (node->is_dead || !node->op || node->n_out != 1 || node->op->domain[0] != '\0') return false;
  if (node->op->fuse != SEER_FUSE_VIEW && node->op != &seer_op_transpose) return false;
  const seer_value *in = seer_graph_value(graph, node->in[0]);
  return in->has_shape && !seer_value_is_sized(in) && !in->constant;
}

// Lookup(view(x)) -> view(Lookup(x)), where nothing else reads what is in between.
static void put_in_front(seer_graph *graph, const seer_graph_uses *uses, uint32_t lookup) {
  for (;;) {
    const seer_val bytes = graph->node[lookup].in[0];
    uint32_t view = seer_graph_value(graph, bytes)->producer.i;
    if (view == 0 || !is_reshape(graph, &graph->node[view])) return;
    if (seer_graph_value(graph, bytes)->is_output) return;
    const seer_val from = graph->node[view].in[0];
    const seer_value of = *seer_graph_value(graph, from);
    bool is_alone = uses->first[from.i + 1] - uses->first[from.i] == 1 && !of.is_output &&
        uses->first[bytes.i + 1] - uses->first[bytes.i] == 1;
    if (!is_alone) return;
    seer_dtype found = seer_graph_value(graph, graph->node[lookup].out[0])->dtype;
    seer_graph_swap_nodes(
        graph, (seer_node_id){view}, (seer_node_id){lookup}, found, from, "before");
  }
}

static seer_status replace(finder *f, uint32_t k) {
  seer_graph *graph = f->graph;
  const seer_node node = graph->node[k];
  const seer_val out = node.out[0], root = f->root[out.i];
  seer_val table;
  SEER_TRY(table_of(f, out, &table));
  if (table.i == 0) return SEER_OK;
  const seer_tensor *content = seer_graph_value(f->tables, table)->constant;
  bool is_same = gives_itself(content, seer_graph_value(graph, root)->dtype);
  if (!is_same && f->work[out.i] <= OF_LOOKUP) return SEER_OK;
  seer_val in[2] = {root};
  if (!is_same) in[1] = add_table(graph, seer_graph_value(graph, out)->name, content);
  seer_graph_kill_node(graph, (seer_node_id){k});
  if (is_same)
    add(graph, node.name, &seer_op_identity, in, 1, out);
  else
    add(graph, node.name, &seer_op_lookup, in, 2, out);
  if (is_same) f->work[out.i] = 0;
  return SEER_OK;
}

static bool is_chain(const finder *f, uint32_t k) {
  const seer_node *node = &f->graph->node[k];
  if (node->is_dead || node->n_out == 0) return false;
  const seer_val v = node->out[0];
  return v.i < f->n_value && f->root[v.i].i != 0 && is_byte(seer_graph_value(f->graph, v));
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  seer_arena *scratch = seer_arena_create("lookup");
  finder f = {.graph = graph, .scratch = scratch, .n_value = graph->n_value};
  f.root = SEER_NEW_ARRAY(scratch, seer_val, graph->n_value);
  f.work = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_value);
  f.table = SEER_NEW_ARRAY(scratch, seer_val, graph->n_value);
  f.tables = seer_graph_create(scratch, "tables");
  uint32_t n_node = (uint32_t)graph->n_node;
  seer_status status = SEER_OK;
  for (uint32_t k = 1; k < n_node && !status; k++) {
    trace(&f, k);
    if (is_chain(&f, k)) status = replace(&f, k);
  }
  if (!status) {
    seer_pass_remove_dead(graph);
    const seer_graph_uses uses = seer_graph_index_uses(graph, scratch);
    uint32_t n_now = (uint32_t)graph->n_node;
    for (uint32_t k = n_node; k < n_now; k++)
      if (graph->node[k].op == &seer_op_lookup && !graph->node[k].is_dead)
        put_in_front(graph, &uses, k);
  }
  seer_arena_destroy(scratch);
  return status;
}

const seer_pass_desc seer_pass_lookup = {
    "lookup", "what is made of one byte, and is a byte, is looked up", run};
