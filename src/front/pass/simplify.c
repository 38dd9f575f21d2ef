// simplify.c - local rewrites that make the graph smaller without changing what it computes: nodes
// that change nothing go, consecutive transposes become one, zero padding joins the convolution
// behind it, per-channel arithmetic joins the convolution before it (affine.c).
// requires: sorted, resolved, folded. provides: every model output is made by a node; no Dropout,
// no BatchNormalization with constant statistics.
#include <string.h>

#include "front/pass/pass.h"

static bool same_type(const seer_value *a, const seer_value *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
      memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0 &&
      memcmp(a->size, b->size, a->rank * sizeof a->size[0]) == 0;
}

// What reads value v reads alias[v] instead, if that is not 0; applied to all nodes and sizes at
// the end, so that a long chain of identities costs no more than its length.
static seer_val resolved(const seer_val *alias, seer_val v) {
  while (alias[v.i].i) v = alias[v.i];
  return v;
}

// y = x: readers of y read x. A model output that is y keeps its name: x's producer makes it
// instead, when nothing else stands in the way; else the node stays, as a copy.
static void bypass(seer_graph *graph, uint32_t k, seer_val *alias) {
  seer_val in = graph->node[k].in[0], out = graph->node[k].out[0];
  seer_value *from = seer_graph_value(graph, in), *to = seer_graph_value(graph, out);
  if (!to->is_output || !from->producer.i || from->is_output) {
    alias[out.i] = in;
    if (!to->is_output) seer_graph_kill_node(graph, (seer_node_id){k});
    return;
  }
  seer_node_id producer = from->producer;
  seer_graph_kill_node(graph, (seer_node_id){k});
  for (uint32_t i = 0; i < graph->node[producer.i].n_out; i++) {
    if (graph->node[producer.i].out[i].i == in.i) graph->node[producer.i].out[i] = out;
  }
  from->producer = (seer_node_id){0};
  to->producer = producer;
  alias[in.i] = out;
}

// Its first output is its first input.
static bool changes_nothing(const seer_graph *graph, const seer_node *node) {
  if (node->n_out != 1 || node->n_in == 0 || node->in[0].i == 0) return false;
  const seer_value *in = seer_graph_value(graph, node->in[0]),
                   *out = seer_graph_value(graph, node->out[0]);
  if (!same_type(in, out)) return false;
  if (node->op->fuse == SEER_FUSE_VIEW) return true;  // a reshape to the same shape
  return node->op->is_copy && node->op->is_copy(graph, node);
}

static seer_attr *add_attr(seer_graph *graph, seer_node *node, const char *name) {
  for (uint32_t k = 0; k < node->n_attr; k++) {
    if (strcmp(node->attr[k].name, name) == 0) return &node->attr[k];
  }
  seer_attr *attr = SEER_NEW_ARRAY(graph->arena, seer_attr, node->n_attr + 1);
  if (node->n_attr) memcpy(attr, node->attr, node->n_attr * sizeof *attr);
  node->attr = attr;
  attr[node->n_attr].name = name;
  return &attr[node->n_attr++];
}

static void set_ints(
    seer_graph *graph, seer_node *node, const char *name, const int64_t *ints, size_t n) {
  seer_attr *attr = add_attr(graph, node, name);
  *attr = (seer_attr){.name = attr->name, .kind = SEER_ATTR_INTS, .n = n};
  attr->ints = seer_arena_memdup(graph->arena, ints, n * sizeof *ints);
}

// Transpose of a Transpose: the second one reads what the first one reads.
static void merge_transposes(seer_graph *graph, seer_node *second) {
  if (second->op != &seer_op_transpose) return;
  const seer_value *between = seer_graph_value(graph, second->in[0]);
  if (!between->producer.i) return;
  const seer_node *first = seer_graph_node(graph, between->producer);
  if (first->op != &seer_op_transpose) return;
  uint8_t p1[SEER_MAX_RANK], p2[SEER_MAX_RANK];
  int64_t perm[SEER_MAX_RANK];
  uint32_t rank = between->rank;
  seer_transpose_perm(first, rank, p1);
  seer_transpose_perm(second, rank, p2);
  for (uint32_t k = 0; k < rank; k++) perm[k] = p1[p2[k]];
  set_ints(graph, second, "perm", perm, rank);
  second->in[0] = first->in[0];
}

// ---- zero padding before a convolution

// Pads of a constant zero Pad by dimension: begins, then ends. False when it is another kind of
// padding.
static bool read_zero_pads(
    const seer_graph *graph, const seer_node *node, uint32_t rank, int64_t *out_pads) {
  if (node->op != &seer_op_pad ||
      strcmp(seer_node_attr_s(node, "mode", "constant"), "constant") != 0)
    return false;
  const seer_attr *attr = seer_node_attr_ints(node, "pads");
  const seer_tensor *input = seer_node_constant(graph, node, 1);
  if (attr) {
    if (attr->n != 2 * rank || seer_node_attr_f(node, "value", 0) != 0) return false;
    memcpy(out_pads, attr->ints, 2 * rank * sizeof *out_pads);
    return true;
  }
  if (!input || seer_tensor_elems(input) != 2 * (int64_t)rank || (node->n_in > 3 && node->in[3].i))
    return false;
  const seer_tensor *value = seer_node_constant(graph, node, 2);
  if (node->n_in > 2 && node->in[2].i) {
    if (!value || seer_tensor_elems(value) != 1 ||
        seer_dtype_load_f64(value->dtype, value->data, 0) != 0)
      return false;
  }
  for (uint32_t k = 0; k < 2 * rank; k++)
    out_pads[k] = seer_dtype_load_i64(input->dtype, input->data, k);
  return true;
}

static void pad_into_conv(seer_graph *graph, const seer_graph_uses *uses, uint32_t pad_id) {
  const seer_node *pad = &graph->node[pad_id];
  if (pad->n_in < 1 || pad->n_out != 1) return;
  uint32_t rank = seer_graph_value(graph, pad->out[0])->rank;
  int64_t pads[2 * SEER_MAX_RANK];
  if (rank < 3 || !read_zero_pads(graph, pad, rank, pads)) return;
  for (uint32_t k = 0; k < 2 * rank; k++) {
    bool is_spatial = k % rank >= 2;
    if (pads[k] < 0 || (!is_spatial && pads[k] != 0)) return;
  }
  uint32_t reader = seer_pass_only_reader(graph, uses, pad->out[0]);
  seer_node *conv = &graph->node[reader];
  if (reader == 0 || conv->op != &seer_op_conv || conv->in[0].i != pad->out[0].i) return;
  const char *automatic = seer_node_attr_s(conv, "auto_pad", "NOTSET");
  bool is_valid = strcmp(automatic, "VALID") == 0;
  if (!is_valid && strcmp(automatic, "NOTSET") != 0) return;
  uint32_t n = rank - 2;
  const seer_attr *old = is_valid ? NULL : seer_node_attr_ints(conv, "pads");
  int64_t sum[2 * SEER_MAX_RANK];
  for (uint32_t k = 0; k < n; k++) {
    sum[k] = pads[2 + k] + (old ? old->ints[k] : 0);
    sum[n + k] = pads[rank + 2 + k] + (old ? old->ints[n + k] : 0);
  }
  set_ints(graph, conv, "pads", sum, 2 * n);
  if (is_valid) {
    seer_attr *attr = add_attr(graph, conv, "auto_pad");
    attr->s = "NOTSET";
  }
  conv->in[0] = pad->in[0];
}

// ---- Split

static seer_val add_index(seer_graph *graph, const char *name, int64_t value) {
  seer_tensor tensor = {.dtype = SEER_DTYPE_I64, .rank = 1, .dim = {1}, .n_bytes = sizeof value};
  tensor.data = seer_arena_memdup(graph->arena, &value, sizeof value);
  return seer_graph_add_constant(graph, seer_graph_fresh_name(graph, name), &tensor);
}

// How much of the axis output i takes: listed, or equal parts of which the last may be smaller.
static int64_t split_size(
    const seer_graph *graph, const seer_node *split, uint32_t i, int64_t extent) {
  const seer_attr *attr = seer_node_attr_ints(split, "split");
  const seer_tensor *sizes = seer_node_constant(graph, split, 1);
  if (attr) return attr->ints[i];
  if (sizes) return seer_dtype_load_i64(sizes->dtype, sizes->data, i);
  int64_t part = seer_ceil_div(extent, split->n_out);
  return seer_min_i64(part, extent - part * i);
}

// A Split becomes a Slice for each output: an index map that joins whoever reads it.
static void split_into_slices(seer_graph *graph, uint32_t k) {
  if (graph->node[k].op != &seer_op_split || graph->node[k].in[0].i == 0) return;
  seer_node split = graph->node[k];
  const seer_value *in = seer_graph_value(graph, split.in[0]);
  int64_t axis = seer_node_attr_i(&split, "axis", 0), at = 0;
  if (axis < 0) axis += in->rank;
  int64_t extent = in->dim[axis];
  seer_graph_kill_node(graph, (seer_node_id){k});
  for (uint32_t i = 0; i < split.n_out; i++) {
    int64_t size = split_size(graph, &split, i, extent);
    if (split.out[i].i == 0) {
      at += size;
      continue;
    }
    SEER_ASSERT(size == seer_graph_value(graph, split.out[i])->dim[axis],
        "%s: output %u takes %" PRId64, split.name, i, size);
    const char *name = seer_arena_printf(graph->arena, "%s.%u", split.name, i);
    seer_val operands[4] = {split.in[0],
        add_index(graph, seer_arena_printf(graph->arena, "%s.from", name), at),
        add_index(graph, seer_arena_printf(graph->arena, "%s.to", name), at + size),
        add_index(graph, seer_arena_printf(graph->arena, "%s.axis", name), axis)};
    enum { OPSET = 13 };
    seer_node_id id = seer_graph_add_node(
        graph, name, "", "Slice", OPSET, operands, 4, &split.out[i], 1, NULL, 0);
    seer_graph_node(graph, id)->op = seer_op_find("", "Slice", OPSET);
    at += size;
  }
}

// ---- outputs that no node makes

// A model output that is an input or a constant: a copy of it, which the caller knows by the
// output's name.
static void make_outputs(seer_graph *graph) {
  for (uint32_t k = 0; k < graph->n_output; k++) {
    seer_val v = graph->output[k];
    if (seer_graph_value(graph, v)->producer.i) continue;
    seer_value type = *seer_graph_value(graph, v);
    const char *name = type.name, *shown = seer_value_shown(&type);
    if (seer_value_elems(&type) == 0) continue;  // nothing to copy
    if (type.constant) {
      seer_graph_value(graph, v)->name =
          seer_graph_fresh_name(graph, seer_arena_printf(graph->arena, "%s.const", name));
    } else {
      name = seer_graph_fresh_name(graph, seer_arena_printf(graph->arena, "%s.out", name));
    }
    seer_val out = seer_graph_add_value(graph, name, type.dtype, type.dim, type.rank);
    seer_graph_value(graph, v)->is_output = false;
    seer_graph_value(graph, out)->is_output = true;
    seer_graph_value(graph, out)->shown = shown == name ? NULL : shown;
    graph->output[k] = out;
    enum { OPSET = 13 };
    seer_node_id id = seer_graph_add_node(graph, seer_arena_printf(graph->arena, "copy %s", name),
        "", "Identity", OPSET, &v, 1, &out, 1, NULL, 0);
    seer_graph_node(graph, id)->op = seer_op_find("", "Identity", OPSET);
  }
}

// A value may have got its output's name after it was read, or was named as a size.
static void follow_aliases(seer_graph *graph, const seer_val *alias) {
  for (uint32_t k = 1; k < graph->n_node; k++) {
    seer_node *node = &graph->node[k];
    for (uint32_t i = 0; i < node->n_in; i++) node->in[i] = resolved(alias, node->in[i]);
  }
  for (uint32_t v = 1; v < graph->n_value; v++) {
    seer_value *value = &graph->value[v];
    for (uint32_t d = 0; d < value->rank; d++) value->size[d] = resolved(alias, value->size[d]);
  }
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  seer_arena *scratch = seer_arena_create("simplify");
  seer_val *alias = SEER_NEW_ARRAY(scratch, seer_val, graph->n_value);
  for (uint32_t k = 1; k < graph->n_node; k++) {
    seer_node *node = &graph->node[k];
    if (node->is_dead) continue;
    for (uint32_t i = 0; i < node->n_in; i++) node->in[i] = resolved(alias, node->in[i]);
    merge_transposes(graph, node);
    if (changes_nothing(graph, node)) bypass(graph, k, alias);
  }
  follow_aliases(graph, alias);
  uint32_t n_node = (uint32_t)graph->n_node;
  for (uint32_t k = 1; k < n_node; k++) {
    if (!graph->node[k].is_dead) split_into_slices(graph, k);
  }
  seer_pass_remove_dead(graph);
  seer_graph_uses uses = seer_graph_index_uses(graph, scratch);
  for (uint32_t k = 1; k < graph->n_node; k++) {
    if (!graph->node[k].is_dead) pad_into_conv(graph, &uses, k);
  }
  seer_pass_remove_dead(graph);
  seer_arena_destroy(scratch);
  seer_pass_affine(graph);
  make_outputs(graph);
  return SEER_OK;
}

const seer_pass_desc seer_pass_simplify = {
    "simplify", "local rewrites: identities, transposes, Pad, BatchNormalization", run};
