// layout.c - assigns a physical order of dimensions, and a pitch, to the values inside the network.
// Values of convolutional operators get channels last ([0,2,3,1]): a vector then runs over
// channels, for any kernel size and stride. The order spreads from them through operators that do
// not care (elementwise, concat, pad, ...), and through reshapes and transposes where the permuted
// memory is what they would make (view.c), to a fixpoint. Inputs, outputs and constants keep ONNX's
// dense order. Where a Flatten feeds a dense layer, the layer's constant weights are permuted
// instead of the activations. requires: sorted, resolved, simplified. provides: final shapes in
// memory; axes and attributes stay ONNX's.
// Where a convolution of many products reads an input or makes an output, a Transpose that keeps
// the dimensions' sequence stands between them: it moves the elements from one order to the other.
#include <string.h>

#include "base/roots.h"
#include "front/pass/pass.h"

typedef struct {
  seer_graph *graph;
  uint32_t *alike;  // by value: the next one of a ring that has one order (branches' results)
} layout;

static void fix_order(seer_value *value) {
  if (!value->producer.i) return;
  for (uint32_t d = 0; d < value->rank; d++) value->order[d] = (uint8_t)d;
  value->has_layout = true;
}

// What runs on the host reads and writes ONNX's dense order.
static void fix_host_orders(seer_graph *graph, const seer_node *node) {
  for (uint32_t k = 0; k < node->n_in + node->n_out; k++) {
    seer_val v = k < node->n_in ? node->in[k] : node->out[k - node->n_in];
    if (v.i) fix_order(seer_graph_value(graph, v));
  }
}

static bool may_choose(const seer_value *value) {
  return value->has_shape && !value->constant && !value->is_input && !value->is_output &&
      !value->has_layout;
}

// A branch moves bytes, or has its sides write to one place: where one of a ring is fixed, all are.
static void settle_branches(const layout *l, seer_arena *scratch) {
  seer_graph *graph = l->graph;
  uint32_t *root = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_value);
  bool *is_fixed = SEER_NEW_ARRAY(scratch, bool, graph->n_value);
  for (uint32_t v = 0; v < graph->n_value; v++) l->alike[v] = root[v] = v;
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    if (node->is_dead || !node->op || node->op->control != SEER_CONTROL_BRANCH) continue;
    for (uint32_t i = 0; i < 2 * node->n_out; i++) {
      if (node->in[i + 1].i == 0) continue;  // of a side that is not built
      uint32_t a = seer_root_of(root, node->in[i + 1].i), out = node->out[i % node->n_out].i;
      uint32_t b = out ? seer_root_of(root, out) : a;
      if (a == b) continue;
      root[a] = b;
      uint32_t next = l->alike[a];  // two rings become one
      l->alike[a] = l->alike[b];
      l->alike[b] = next;
    }
  }
  for (uint32_t v = 1; v < graph->n_value; v++)
    if (!may_choose(&graph->value[v])) is_fixed[seer_root_of(root, v)] = true;
  for (uint32_t v = 1; v < graph->n_value; v++)
    if (l->alike[v] != v && is_fixed[seer_root_of(root, v)]) fix_order(&graph->value[v]);
}

static bool assign(const layout *l, seer_value *value, const uint8_t *order) {
  if (!may_choose(value)) return false;
  bool is_default = true;
  for (uint32_t k = 0; k < value->rank; k++) is_default &= order[k] == k;
  if (is_default) return false;
  uint32_t first = (uint32_t)(value - l->graph->value), v = first;
  do {
    memcpy(l->graph->value[v].order, order, value->rank);
    l->graph->value[v].has_layout = true;
    v = l->alike[v];
  } while (v != first);
  return true;
}

static bool assign_channels_last(const layout *l, seer_value *value) {
  if (value->rank < 3) return false;
  uint8_t order[SEER_MAX_RANK] = {0};
  for (uint32_t k = 1; k + 1 < value->rank; k++) order[k] = (uint8_t)(k + 1);
  order[value->rank - 1] = 1;
  return assign(l, value, order);
}

// ---- ends: convolutions that would work in ONNX's order, as the network's caller has it

// Changes nothing but where elements lie, from `from` to `to`.
static void add_move(seer_graph *graph, seer_val from, seer_val to, const char *name) {
  int64_t perm[SEER_MAX_RANK];
  for (uint32_t k = 0; k < SEER_MAX_RANK; k++) perm[k] = k;
  seer_pass_add_transpose(graph, name, from, perm, to);
}

// A value like `v` inside the network.
static seer_val add_inner(seer_graph *graph, seer_val v) {
  seer_value inner = *seer_graph_value(graph, v);
  inner.name =
      seer_graph_fresh_name(graph, seer_arena_printf(graph->arena, "%s.channels_last", inner.name));
  inner.shown = NULL;
  inner.producer = (seer_node_id){0};
  inner.is_input = inner.is_output = false;
  seer_val made = seer_graph_add_value(graph, inner.name, inner.dtype, inner.dim, inner.rank);
  *seer_graph_value(graph, made) = inner;
  return made;
}

static int64_t n_window(const seer_graph *graph, const seer_node *node) {
  const seer_value *weight = seer_graph_value(graph, node->in[1]);
  return seer_dims_elems(weight->dim + 2, weight->rank - 2u);
}

// Whether moving elements to channels last and back is less than what it saves. Measured one by
// one (-O1, one thread, AVX-512, decision 77): a product costs 0.02 ns less there, an element that
// is moved 0.2 ns; so it pays from some 10 products for an element on. Left as they are: what is so
// little work that two steps more would show; channels that leave a fourth of the lanes of whole
// vectors idle; groups of few channels, which are channels last's worst case.
static bool is_worth_moving(const seer_graph *graph, const seer_node *node) {
  enum { MIN_PRODUCTS = 1 << 20, MIN_REUSE = 24, LANES = 16, MAX_IDLE = 4 };
  bool is_conv = node->op == &seer_op_conv || node->op == &seer_op_integer_conv ||
      node->op == &seer_op_whole_conv;
  if (!is_conv || node->is_dead) return false;
  const seer_value *x = seer_graph_value(graph, node->in[0]),
                   *weight = seer_graph_value(graph, node->in[1]),
                   *y = seer_graph_value(graph, node->out[0]);
  int64_t made = weight->dim[0], read = weight->dim[1], group = x->dim[1] / read;
  if (group > 1 && (read < LANES || made / group < LANES)) return false;
  int64_t whole = seer_round_up(made, LANES);
  if ((whole - made) * MAX_IDLE > whole) return false;
  double products = (double)seer_value_elems(y) * (double)(read * n_window(graph, node));
  return products >= MIN_PRODUCTS &&
      products >= MIN_REUSE * (double)(seer_value_elems(x) + seer_value_elems(y));
}

// Of what it reads, a 1x1 convolution takes single elements, in whatever order; windows are rows of
// channels, and Winograd's transforms and groups read these.
static bool reads_rows(const seer_graph *graph, const seer_node *node) {
  enum { MIN_CHANNELS = 16 };
  const seer_value *x = seer_graph_value(graph, node->in[0]),
                   *weight = seer_graph_value(graph, node->in[1]);
  return x->dim[1] >= MIN_CHANNELS && (n_window(graph, node) > 1 || x->dim[1] > weight->dim[1]);
}

static void move_input(seer_graph *graph, seer_val input) {
  uint32_t n_node = (uint32_t)graph->n_node;
  seer_val inner = {0};
  for (uint32_t k = 1; k < n_node; k++) {
    const seer_node *node = &graph->node[k];
    if (node->is_dead || node->n_in == 0 || node->in[0].i != input.i ||
        !is_worth_moving(graph, node) || !reads_rows(graph, node))
      continue;
    if (!inner.i) {
      inner = add_inner(graph, input);
      add_move(graph, input, inner, seer_graph_value(graph, inner)->name);
    }
    graph->node[k].in[0] = inner;
  }
}

// `v` is such a convolution's result, or made of one's element by element, so in its group. What
// the caller sees on the way is the end of a group.
static bool is_made_of_moved(const seer_graph *graph, seer_val v, seer_arena *scratch) {
  bool *is_seen = SEER_NEW_ARRAY(scratch, bool, graph->n_value);
  uint32_t *open = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_value), n_open = 0;
  open[n_open++] = v.i;
  while (n_open > 0) {
    const seer_value *value = &graph->value[open[--n_open]];
    const seer_node *node = seer_graph_node(graph, value->producer);
    if (value->producer.i == 0 || !node->op) continue;
    if (is_worth_moving(graph, node)) return true;
    if (node->op->fuse != SEER_FUSE_ELEMENTWISE || node->n_out != 1) continue;
    for (uint32_t k = 0; k < node->n_in; k++) {
      uint32_t in = node->in[k].i;
      const seer_value *from = &graph->value[in];
      if (in == 0 || is_seen[in] || from->is_output || from->rank != value->rank) continue;
      if (memcmp(from->dim, value->dim, value->rank * sizeof *value->dim) != 0) continue;
      is_seen[in] = true;
      open[n_open++] = in;
    }
  }
  return false;
}

static void move_output(seer_graph *graph, seer_val output) {
  seer_val inner = add_inner(graph, output);
  seer_graph_replace_uses(graph, output, inner);
  seer_node_id producer = seer_graph_value(graph, output)->producer;
  seer_node *node = seer_graph_node(graph, producer);
  for (uint32_t k = 0; k < node->n_out; k++)
    if (node->out[k].i == output.i) node->out[k] = inner;
  seer_graph_value(graph, inner)->producer = producer;
  add_move(graph, inner, output, seer_graph_value(graph, inner)->name);
}

static void move_ends(seer_graph *graph, seer_arena *scratch) {
  bool *is_moved = SEER_NEW_ARRAY(scratch, bool, graph->n_output);
  for (uint32_t k = 0; k < graph->n_output; k++)
    is_moved[k] = is_made_of_moved(graph, graph->output[k], scratch);
  for (uint32_t k = 0; k < graph->n_output; k++)
    if (is_moved[k]) move_output(graph, graph->output[k]);
  for (uint32_t k = 0; k < graph->n_input; k++) move_input(graph, graph->input[k]);
}

// One operand's order for all operands of the same rank (outputs only, when `forward_only`).
static bool share_order(const layout *l, const seer_node *node, bool forward_only) {
  seer_graph *graph = l->graph;
  const seer_value *from = NULL;
  for (uint32_t k = 0; k < node->n_in + node->n_out && !from; k++) {
    if (forward_only && k >= node->n_in) break;
    seer_val v = k < node->n_in ? node->in[k] : node->out[k - node->n_in];
    if (v.i && seer_graph_value(graph, v)->has_layout) from = seer_graph_value(graph, v);
  }
  if (!from) return false;
  bool is_changed = false;
  for (uint32_t k = forward_only ? node->n_in : 0; k < node->n_in + node->n_out; k++) {
    seer_val v = k < node->n_in ? node->in[k] : node->out[k - node->n_in];
    seer_value *to = v.i ? seer_graph_value(graph, v) : NULL;
    if (to && to->rank == from->rank) is_changed |= assign(l, to, from->order);
  }
  return is_changed;
}

// Through a reshape or transpose, when both sides can be the same memory.
static bool share_view(const layout *l, const seer_node *node) {
  seer_graph *graph = l->graph;
  if (node->n_out != 1 || node->in[0].i == 0) return false;
  seer_value *in = seer_graph_value(graph, node->in[0]),
             *out = seer_graph_value(graph, node->out[0]);
  uint8_t order[SEER_MAX_RANK];
  if (in->has_layout && may_choose(out) && seer_pass_view_order(graph, node, false, order))
    return assign(l, out, order);
  if (out->has_layout && may_choose(in) && seer_pass_view_order(graph, node, true, order))
    return assign(l, in, order);
  return false;
}

static bool propagate(const layout *l, const seer_node *node) {
  if (!node->op) return false;
  if (node->op == &seer_op_transpose) return share_view(l, node);
  switch (node->op->fuse) {
    case SEER_FUSE_VIEW:
      return share_view(l, node);
    case SEER_FUSE_ELEMENTWISE:
    case SEER_FUSE_INJECTIVE:
      return share_order(l, node, false);
    case SEER_FUSE_REDUCTION:
      return share_order(l, node, true);
    case SEER_FUSE_ANCHOR:
    case SEER_FUSE_OPAQUE:
    case SEER_FUSE_COMPOSITE:
      break;
  }
  return false;
}

// ---- Flatten before a dense layer

// Rows of [n_rows, n_cols] (columns of [n_cols, n_rows] when `by_column`) in the order that memory
// has: row r of the result is the row of the r-th element of `in` in physical order.
static const void *permute_weights(
    seer_arena *arena, const seer_tensor *weight, const seer_value *in, bool by_column) {
  size_t size = seer_dtype_bytes(weight->dtype);
  const char *from = weight->data;
  if (memcmp(from, from + size, weight->n_bytes - size) == 0)
    return from;  // all equal: any order is the same
  char *to = seer_arena_alloc(arena, weight->n_bytes, 64);
  int64_t n_rows = weight->dim[by_column ? 1 : 0], n_cols = weight->dim[by_column ? 0 : 1];
  int64_t stride[SEER_MAX_RANK], at[SEER_MAX_RANK] = {0},
                                 row = 0;  // over dimensions 1..rank, in memory's sequence
  uint32_t n = in->rank - 1u;
  int64_t logical = 1;
  for (uint32_t d = in->rank; d-- > 1;) {
    for (uint32_t k = 0; k < n; k++) {
      if (in->order[k + 1] == d) stride[k] = logical;
    }
    logical *= in->dim[d];
  }
  for (int64_t r = 0; r < n_rows; r++) {
    if (by_column) {
      for (int64_t c = 0; c < n_cols; c++) {
        memcpy(
            to + (size_t)(c * n_rows + r) * size, from + (size_t)(c * n_rows + row) * size, size);
      }
    } else {
      memcpy(to + (size_t)(r * n_cols) * size, from + (size_t)(row * n_cols) * size,
          (size_t)n_cols * size);
    }
    for (uint32_t k = n; k-- > 0;) {
      row += stride[k];
      if (++at[k] < in->dim[in->order[k + 1]]) break;
      row -= stride[k] * at[k];
      at[k] = 0;
    }
  }
  return to;
}

// [N,C,H,W] in another order -> [N, C*H*W]: when only dense layers read the result, it is taken in
// memory's order, and their weights are permuted to match.
static void flatten_into_weights(seer_graph *graph, const seer_graph_uses *uses, uint32_t flatten) {
  seer_node *node = &graph->node[flatten];
  if (node->op->fuse != SEER_FUSE_VIEW || node->n_out != 1 || node->in[0].i == 0) return;
  seer_val out = node->out[0];
  const seer_value in = *seer_graph_value(graph, node->in[0]);
  const seer_value *flat = seer_graph_value(graph, out);
  bool is_flat = in.has_layout && in.rank > 2 && flat->rank == 2 && flat->dim[0] == in.dim[0] &&
      in.order[0] == 0;
  if (!is_flat || flat->is_output || seer_pass_is_view(graph, node)) return;
  bool by_column;
  for (uint32_t u = uses->first[out.i]; u < uses->first[out.i + 1]; u++) {
    const seer_node *layer = &graph->node[uses->node[u]];
    if (layer->in[0].i != out.i || !layer->op->is_dense_layer ||
        !layer->op->is_dense_layer(graph, layer, &by_column))
      return;
  }
  for (uint32_t u = uses->first[out.i]; u < uses->first[out.i + 1]; u++) {
    seer_node *layer = &graph->node[uses->node[u]];
    layer->op->is_dense_layer(graph, layer, &by_column);
    seer_tensor weight = *seer_node_constant(graph, layer, 1);
    weight.data = permute_weights(graph->arena, &weight, &in, by_column);
    const char *name = seer_graph_fresh_name(graph, seer_graph_value(graph, layer->in[1])->name);
    seer_val permuted = seer_graph_add_constant(graph, name, &weight);
    layer->in[1] = permuted;
  }
  // A transpose to memory's order: the same bytes, so a view; and so is the flatten behind it.
  int64_t dim[SEER_MAX_RANK], perm[SEER_MAX_RANK];
  for (uint32_t k = 0; k < in.rank; k++) {
    perm[k] = in.order[k];
    dim[k] = in.dim[perm[k]];
  }
  const char *name = seer_arena_printf(graph->arena, "%s.in_memory_order", node->name);
  seer_val moved =
      seer_graph_add_value(graph, seer_graph_fresh_name(graph, name), in.dtype, dim, in.rank);
  seer_pass_add_transpose(graph, name, node->in[0], perm, moved);
  graph->node[flatten].in[0] = moved;
  seer_value *flat_now = seer_graph_value(graph, out);
  flat_now->name = seer_graph_fresh_name(  // its elements stand elsewhere than the file says
      graph, seer_arena_printf(graph->arena, "%s.in_memory_order", flat_now->name));
}

// ---- pitches

// Rows whose distance is a multiple of a power of two share cache sets, in which a window's lines
// then drive each other out. Measured: a 14-row tile of a product at 71-77 GFLOP/s instead of
// 98-106; depthwise 3x3 with rows of 1,024 bytes 13 %, 1,536 bytes 20 % slower than a line apart,
// with 768, 1,920 and 2,304 bytes 0 to 5 %.
int64_t seer_front_pitch(int64_t row, size_t elem_bytes) {
  enum { MIN_ROW_BYTES = 1024, MULTIPLE_BYTES = 512, EXTRA_BYTES = 64 };
  int64_t size = (int64_t)elem_bytes;
  bool is_bad = row * size >= MIN_ROW_BYTES && row * size % MULTIPLE_BYTES == 0;
  return is_bad ? row + EXTRA_BYTES / size : row;
}

static void assign_pitches(seer_graph *graph, const seer_graph_uses *uses) {
  for (uint32_t v = 1; v < graph->n_value; v++) {
    seer_value *value = &graph->value[v];
    if (!value->producer.i || value->is_output || value->constant || value->rank < 2) continue;
    int64_t row = value->dim[value->has_layout ? value->order[value->rank - 1] : value->rank - 1];
    int64_t pitch = seer_front_pitch(row, seer_dtype_bytes(value->dtype));
    if (pitch == row || seer_value_elems(value) <= row) continue;
    // Reshapes and transposes may be views of dense memory.
    bool is_viewed = false;
    for (uint32_t u = uses->first[v]; u <= uses->first[v + 1]; u++) {
      const seer_node *node =
          &graph->node[u < uses->first[v + 1] ? uses->node[u] : value->producer.i];
      is_viewed |= !node->op || node->op->fuse == SEER_FUSE_VIEW ||
          node->op->fuse == SEER_FUSE_OPAQUE || node->op == &seer_op_transpose;
    }
    if (!is_viewed) value->pitch = pitch;
  }
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  seer_arena *scratch = seer_arena_create("layout");
  move_ends(graph, scratch);
  layout l = {graph, SEER_NEW_ARRAY(scratch, uint32_t, graph->n_value)};
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    if (node->is_dead || !node->op || node->op->control == SEER_CONTROL_BRANCH) continue;
    if (seer_op_is_for_runtime(node->op)) fix_host_orders(graph, node);
  }
  settle_branches(&l, scratch);
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    if (node->is_dead || !node->op || !node->op->wants_channels_last) continue;
    if (node->in[0].i) assign_channels_last(&l, seer_graph_value(graph, node->in[0]));
    for (uint32_t i = 0; i < node->n_out; i++) {
      if (node->out[i].i) assign_channels_last(&l, seer_graph_value(graph, node->out[i]));
    }
  }
  // Each round assigns at least one value; forwards and backwards in turn, so that chains take one
  // round each way.
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (uint32_t k = 1; k < graph->n_node; k++) is_changed |= propagate(&l, &graph->node[k]);
    for (uint32_t k = (uint32_t)graph->n_node; k-- > 1;)
      is_changed |= propagate(&l, &graph->node[k]);
  }
  seer_graph_uses uses = seer_graph_index_uses(graph, scratch);
  uint32_t n_node = (uint32_t)graph->n_node;
  for (uint32_t k = 1; k < n_node; k++) {
    if (!graph->node[k].is_dead) flatten_into_weights(graph, &uses, k);
  }
  uses = seer_graph_index_uses(graph, scratch);
  assign_pitches(graph, &uses);
  seer_arena_destroy(scratch);
  return SEER_OK;
}

const seer_pass_desc seer_pass_layout = {
    "layout", "physical order of dimensions and pitch of each value", run};
