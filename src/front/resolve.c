// resolve.c - a graph as read -> operators looked up, input shapes fixed, all types known, shape
// arithmetic folded. Inference and folding go hand in hand, node by node in topological order: a
// Reshape takes its shape from constants that Shape, Gather and Concat before it compute.
#include <string.h>

#include "base/map.h"
#include "front/custom/custom.h"
#include "front/expand/expand.h"
#include "front/limit.h"
#include "front/pass/pass.h"
#include "front/sized.h"
#include "setup/npy.h"
#include "setup/shapes.h"

// Nodes: with those that composite operators make; loops in loops could fill any memory.
enum { MAX_SHAPE_ELEMS = 65536, MAX_NODES = 200000 };
static const double max_shape_ops = 1e6;

// ---- operators

static bool is_listed(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *at = list; n > 0 && (at = strstr(at, word)); at++) {
    if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
  }
  return false;
}

static const char *full_type(const seer_node *node, seer_arena *arena) {
  return node->domain[0] ? seer_arena_printf(arena, "%s.%s", node->domain, node->op_type)
                         : node->op_type;
}

// Familyseer's own first. `root`: has those of users.
static const seer_op_desc *find_op(const seer_graph *root, const seer_node *node) {
  const seer_op_desc *op = seer_op_find(node->domain, node->op_type, node->opset);
  return op ? op : seer_custom_find(root, node->domain, node->op_type);
}

typedef struct {
  seer_text text;
  uint32_t n, n_needed;  // not needed: in a side of an If, which may never be taken
  seer_graph *root;
} missing_list;

static void note_missing(seer_graph *graph, const char *op, const char *reason) {
  seer_missing_list *list = &graph->missing;
  for (size_t k = 0; k < list->n; k++) {
    if (strcmp(list->item[k].op, op) != 0) continue;
    list->item[k].n++;
    return;
  }
  list->item = SEER_GROW(graph->arena, seer_missing_op, list->item, list->n, &list->cap);
  list->item[list->n++] = (seer_missing_op){
      seer_arena_strdup(graph->arena, op), 1, seer_arena_strdup(graph->arena, reason)};
}

static void list_missing(
    seer_graph *graph, bool is_needed, missing_list *list, seer_arena *scratch) {
  for (uint32_t k = 1; k < graph->n_node; k++) {
    seer_node *node = &graph->node[k];
    if (node->is_dead) continue;
    node->op = find_op(list->root, node);
    bool is_body_needed = is_needed && !(node->op && node->op->takes_one_body);
    for (uint32_t a = 0; a < node->n_attr; a++) {
      if (node->attr[a].kind == SEER_ATTR_GRAPH)
        list_missing(node->attr[a].graph, is_body_needed, list, scratch);
    }
    if (node->op) continue;
    list->n++;
    list->n_needed += is_needed;
    note_missing(list->root, full_type(node, scratch),
        seer_arena_printf(
            scratch, "operator set %d has no operator of this name that is known", node->opset));
    seer_text_printf(&list->text, "\n  node '%s': %s (opset %d)", node->name,
        full_type(node, scratch), node->opset);
  }
}

// All operators without support in one message: a user who sees them one by one gives up. Where
// only sides of Ifs have them, that is found when a side is built (expand/control.c).
static seer_status look_up_operators(seer_graph *graph, seer_arena *scratch) {
  missing_list list = {.root = graph};
  seer_text_init(&list.text, scratch);
  list_missing(graph, true, &list, scratch);
  if (list.n_needed == 0) {
    graph->missing.n = 0;
    return SEER_OK;
  }
  return SEER_FAIL(UNSUPPORTED,
      "%u node%s operators that are not supported:%s\n  --operators takes your own C functions for "
      "them (seer/operator.h)",
      list.n, list.n == 1 ? " uses" : "s use", list.text.data);
}

static seer_status check_operands(const seer_graph *graph, const seer_node *node) {
  const seer_op_desc *op = node->op;
  enum { ANY = 255 };
  if (node->n_in < op->n_in_min || (op->n_in_max != ANY && node->n_in > op->n_in_max)) {
    return SEER_FAIL(
        INVALID, "%u inputs, must be %u to %u", node->n_in, op->n_in_min, op->n_in_max);
  }
  if (node->n_out < op->n_out_min || (op->n_out_max != ANY && node->n_out > op->n_out_max)) {
    return SEER_FAIL(
        INVALID, "%u outputs, must be %u to %u", node->n_out, op->n_out_min, op->n_out_max);
  }
  for (uint32_t k = 0; k < node->n_in && !op->takes_lists; k++) {
    const seer_value *value = seer_graph_value(graph, node->in[k]);
    if (node->in[k].i && value->list)
      return SEER_FAIL(INVALID, "input %u ('%s') is %s, must be a tensor", k, value->name,
          value->list->is_optional ? "an optional value" : "a sequence");
  }
  for (uint32_t k = 0; k < op->n_in_min; k++) {
    if (node->in[k].i == 0) return SEER_FAIL(INVALID, "input %u is absent and may not be", k);
  }
  for (uint32_t k = 0; k < node->n_attr && !seer_custom_of(node); k++) {
    if (!is_listed(op->attrs ? op->attrs : "", node->attr[k].name)) {
      return SEER_FAIL(INVALID, "attribute '%s' is unknown; %s knows: %s", node->attr[k].name,
          op->name, op->attrs && op->attrs[0] ? op->attrs : "none");
    }
  }
  return SEER_OK;
}

// ---- inputs

// A bound input may be named: its shape is known.
static seer_status check_bound(
    const seer_bound *bound, const seer_named_shape *shape, seer_arena *scratch) {
  const seer_tensor *tensor = &bound->tensor;
  bool is_same = tensor->rank == shape->rank;
  for (uint32_t k = 0; is_same && k < shape->rank; k++) is_same = tensor->dim[k] == shape->dim[k];
  if (is_same) return SEER_OK;
  return SEER_FAIL(INVALID,
      "--input-shapes: input '%s' is bound to %s by --bind, '%s' is another shape", bound->name,
      seer_shape_text(tensor->dim, tensor->rank, scratch), shape->text);
}

static seer_status set_input_shape(
    seer_graph *graph, const seer_named_shape *shape, seer_arena *scratch) {
  const char *name = shape->name;
  const int64_t *dim = shape->dim;
  uint32_t rank = shape->rank;
  seer_value *value = NULL;
  for (uint32_t k = 0; k < graph->n_input && !value; k++) {
    if (strcmp(seer_graph_value(graph, graph->input[k])->name, name) == 0)
      value = seer_graph_value(graph, graph->input[k]);
  }
  if (!value && seer_graph_find_bound(graph, name))
    return check_bound(seer_graph_find_bound(graph, name), shape, scratch);
  if (!value) {
    return SEER_FAIL(INVALID, "--input-shapes: no input is named '%s'; inputs are %s", name,
        seer_graph_inputs_text(graph, scratch));
  }
  const char *in_model = seer_value_type_text(value, scratch);  // before sizes are written into it
  if (value->has_shape && value->rank != rank) {
    return SEER_FAIL(INVALID, "--input-shapes: input '%s' has %u dimensions (%s), '%s' gives %u",
        name, value->rank, in_model, shape->text, rank);
  }
  for (uint32_t k = 0; k < rank; k++) {
    if (value->has_shape && value->dim[k] >= 0 && value->dim[k] != dim[k]) {
      return SEER_FAIL(INVALID,
          "--input-shapes: input '%s' is %s in the model, dimension %u cannot be %" PRId64, name,
          in_model, k, dim[k]);
    }
    value->dim[k] = dim[k];
  }
  value->rank = (uint8_t)rank;
  value->has_shape = true;
  return SEER_OK;
}

// An unknown size that another input has under the same name is as large there; of several sizes
// of a name the first counts.
static void spread_named_sizes(seer_graph *graph, seer_arena *scratch) {
  seer_map *size_of_name = seer_map_create(scratch);
  for (size_t k = 0; k < graph->n_dim_name; k++) {
    const seer_dim_name *name = &graph->dim_name[k];
    int64_t size = seer_graph_value(graph, name->input)->dim[name->dim];
    if (size >= 0 && !seer_map_get_str(size_of_name, name->name, NULL))
      seer_map_set_str(size_of_name, name->name, (uint64_t)size);
  }
  for (size_t k = 0; k < graph->n_dim_name; k++) {
    const seer_dim_name *name = &graph->dim_name[k];
    int64_t *size = &seer_graph_value(graph, name->input)->dim[name->dim];
    uint64_t found;
    if (*size < 0 && seer_map_get_str(size_of_name, name->name, &found)) *size = (int64_t)found;
  }
}

static seer_status fix_inputs(
    seer_graph *graph, const char *input_shapes, seer_arena *scratch, const char **out_notice) {
  seer_named_shape *shape;
  uint32_t n_shape;
  seer_status status =
      seer_shapes_parse(input_shapes ? input_shapes : "", scratch, &shape, &n_shape);
  if (status)
    return seer_status_context(status, "inputs are %s", seer_graph_inputs_text(graph, scratch));
  for (uint32_t k = 0; k < n_shape; k++) SEER_TRY(set_input_shape(graph, &shape[k], scratch));
  spread_named_sizes(graph, scratch);
  uint32_t n_unknown = 0;
  seer_text notice, suggestion;
  seer_text_init(&notice, graph->arena);
  seer_text_init(&suggestion, scratch);
  for (uint32_t k = 0; k < graph->n_input; k++) {
    seer_value *value = seer_graph_value(graph, graph->input[k]);
    uint32_t n_symbolic = 0;
    for (uint32_t d = 0; d < value->rank; d++) n_symbolic += value->dim[d] < 0;
    if (value->has_shape && n_symbolic == 0) continue;
    if (value->has_shape && n_symbolic == 1 && value->dim[0] < 0) {
      value->dim[0] = 1;
      seer_text_printf(&notice,
          "%sinput '%s': unknown batch size taken as 1 (--input-shapes sets another)",
          notice.n_bytes ? "; " : "", value->name);
      continue;
    }
    n_unknown++;
    seer_text_printf(&suggestion, "%s%s:", suggestion.n_bytes ? "," : "", value->name);
    for (uint32_t d = 0; d < value->rank; d++) {
      if (value->dim[d] < 0) {
        seer_text_printf(&suggestion, "%s%s", d ? "x" : "", d ? "SIZE" : "1");
      } else {
        seer_text_printf(&suggestion, "%s%" PRId64, d ? "x" : "", value->dim[d]);
      }
    }
    if (!value->has_shape) seer_text_put(&suggestion, "SIZExSIZE...");
  }
  if (out_notice) *out_notice = notice.data;
  if (n_unknown == 0) return SEER_OK;
  return SEER_FAIL(INVALID, "sizes of inputs are unknown: %s; pass --input-shapes '%s'",
      seer_graph_inputs_text(graph, scratch), suggestion.data);
}

// ---- values without elements: their content is known, whatever computes them

static seer_tensor empty_tensor(const seer_value *value) {
  seer_tensor tensor = {.dtype = value->dtype, .rank = value->rank, .data = ""};
  memcpy(tensor.dim, value->dim, sizeof tensor.dim);
  return tensor;
}

// What reads an empty input reads a constant instead.
static void settle_empty_inputs(seer_graph *graph) {
  for (uint32_t k = 0; k < graph->n_input; k++) {
    seer_val input = graph->input[k];
    const seer_value *value = seer_graph_value(graph, input);
    if (seer_value_elems(value) != 0) continue;
    seer_tensor tensor = empty_tensor(value);
    const char *name =
        seer_graph_fresh_name(graph, seer_arena_printf(graph->arena, "%s.empty", value->name));
    seer_graph_replace_uses(graph, input, seer_graph_add_constant(graph, name, &tensor));
  }
}

// Empty outputs become constants, and a node that has no others goes; what joins parts reads only
// those that have elements. (A node's other empty outputs read as absent, which no emitter minds.)
static void settle_empty_node(seer_graph *graph, uint32_t k) {
  seer_node *node = &graph->node[k];
  uint32_t n_empty = 0, n_made = 0;
  for (uint32_t i = 0; i < node->n_out; i++) {
    if (node->out[i].i == 0) continue;
    n_made++;
    n_empty += seer_value_elems(seer_graph_value(graph, node->out[i])) == 0;
  }
  for (uint32_t i = 0; n_empty > 0 && i < node->n_out; i++) {
    seer_value *value = seer_graph_value(graph, node->out[i]);
    if (node->out[i].i == 0 || seer_value_elems(value) != 0) continue;
    seer_tensor tensor = empty_tensor(value);
    value->producer = (seer_node_id){0};
    seer_graph_set_constant(graph, node->out[i], &tensor);
    node->out[i] = (seer_val){0};
  }
  if (n_empty > 0 && n_empty == n_made) {
    seer_graph_kill_node(graph, (seer_node_id){k});
  } else if (node->op->joins_parts && n_made > 0) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < node->n_in; i++) {
      if (seer_value_elems(seer_graph_value(graph, node->in[i])) > 0) node->in[n++] = node->in[i];
    }
    node->n_in = n;
  }
}

// ---- types

// Sizes that operators may add and multiply without overflow; no machine holds more.
static bool is_sane(const seer_value *value) {
  int64_t n = value->has_shape ? seer_dims_elems(value->dim, value->rank) : -1, n_bytes;
  if (value->dtype == SEER_DTYPE_NONE || n < 0) return false;
  return !__builtin_mul_overflow(n, (int64_t)seer_dtype_bytes(value->dtype), &n_bytes) &&
      n_bytes <= INT64_C(1) << 50;
}

static seer_status infer_node(seer_graph *graph, uint32_t k, seer_arena *scratch) {
  seer_node *node = &graph->node[k];
  seer_value *out = SEER_NEW_ARRAY(scratch, seer_value, node->n_out + 1);
  for (uint32_t i = 0; i < node->n_out; i++) {
    if (node->out[i].i) out[i] = *seer_graph_value(graph, node->out[i]);
    memset(out[i].size, 0, sizeof out[i].size);
  }
  if (!node->op->infer) return SEER_FAIL(INTERNAL, "%s has no shape rule", node->op_type);
  SEER_TRY(node->op->infer(graph, node, scratch, out));
  for (uint32_t i = 0; i < node->n_out; i++) {
    if (node->out[i].i == 0) continue;
    seer_value *value = seer_graph_value(graph, node->out[i]);
    if (!is_sane(&out[i])) {
      return SEER_FAIL(INVALID, "output %u (%s) would be %s", i, value->name,
          seer_value_type_text(&out[i], scratch));
    }
    value->dtype = out[i].dtype;
    value->rank = out[i].rank;
    value->has_shape = true;
    memcpy(value->dim, out[i].dim, sizeof value->dim);
    memcpy(value->size, out[i].size, sizeof value->size);
  }
  return SEER_OK;
}

// "a f32[1,3,8,8], b f32[4,4,3,3]"
static const char *operands_text(
    const seer_graph *graph, const seer_node *node, seer_arena *scratch) {
  seer_text text;
  seer_text_init(&text, scratch);
  for (uint32_t k = 0; k < node->n_in; k++) {
    if (k) seer_text_put(&text, ", ");
    if (node->in[k].i == 0) {
      seer_text_put(&text, "(absent)");
    } else {
      const seer_value *value = seer_graph_value(graph, node->in[k]);
      seer_text_printf(&text, "%s %s", value->name, seer_value_type_text(value, scratch));
    }
  }
  return text.data;
}

static seer_status check_inputs(const seer_graph *graph, seer_arena *scratch) {
  for (uint32_t k = 0; k < graph->n_input; k++) {
    const seer_value *value = seer_graph_value(graph, graph->input[k]);
    if (!is_sane(value)) {
      return SEER_FAIL(INVALID, "input '%s' is too large: %s", value->name,
          seer_value_type_text(value, scratch));
    }
  }
  return SEER_OK;
}

static seer_status resolve_node(seer_graph *graph, uint32_t k, seer_arena *scratch);

static seer_status resolve_added(seer_expand *e) {
  seer_graph *graph = e->graph;
  if (graph->n_node > MAX_NODES)
    return SEER_FAIL(UNSUPPORTED, "with its parts the network has more than %d nodes", MAX_NODES);
  for (uint32_t end = (uint32_t)graph->n_node; e->next < end; e->next++) {
    seer_node *node = &graph->node[e->next];
    if (!node->op) node->op = find_op(graph, node);
    if (!node->op)
      return SEER_FAIL(UNSUPPORTED, "its part '%s', %s (opset %d), is not supported", node->name,
          full_type(node, e->scratch), node->opset);
    SEER_TRY(resolve_node(graph, e->next, e->scratch));
  }
  e->next = (uint32_t)graph->n_node;  // those in between are parts of parts, and resolved
  return SEER_OK;
}

// A composite operator gives way to the nodes that compute its outputs.
static seer_status expand_node(seer_graph *graph, uint32_t k, seer_arena *scratch) {
  uint32_t first = (uint32_t)graph->n_node;
  seer_expand e = {.graph = graph,
      .node = graph->node[k],
      .scratch = scratch,
      .resolve = resolve_added,
      .next = first};
  if (e.node.op->computes) SEER_TRY(seer_expand_widen(&e, SEER_EXPAND_ALL));
  SEER_TRY(e.node.op->expand(&e));
  SEER_TRY(resolve_added(&e));
  for (uint32_t i = 0; i < e.node.n_out; i++) {
    const seer_value *out = seer_graph_value(graph, e.node.out[i]);
    if (e.node.out[i].i && !out->constant && !out->list && out->producer.i < first)
      return SEER_FAIL(INTERNAL, "output %u is made by none of its parts", i);
  }
  seer_graph_kill_node(graph, (seer_node_id){k});
  return SEER_OK;
}

// A bound of 0 is a size that is known.
static seer_status settle_empty_sized(seer_graph *graph, uint32_t k, seer_arena *scratch) {
  bool has_empty = false;
  for (uint32_t i = 0; i < graph->node[k].n_out; i++) {
    if (graph->node[k].out[i].i == 0) continue;
    seer_value *value = seer_graph_value(graph, graph->node[k].out[i]);
    if (seer_value_elems(value) != 0) continue;
    has_empty = true;
    for (uint32_t d = 0; d < value->rank; d++)
      if (value->dim[d] == 0) value->size[d] = (seer_val){0};
    if (seer_value_is_sized(value))
      return SEER_FAIL(UNSUPPORTED,
          "output %u would be %s: without elements, and of a size that only data decides", i,
          seer_value_type_text(value, scratch));
  }
  if (has_empty) settle_empty_node(graph, k);
  return SEER_OK;
}

// A node that reads bounds: computed like any other, and told which sizes its outputs have.
static seer_status carry_sizes(seer_graph *graph, uint32_t k, seer_arena *scratch) {
  SEER_TRY(infer_node(graph, k, scratch));
  seer_expand e = {.graph = graph,
      .node = graph->node[k],
      .scratch = scratch,
      .resolve = resolve_added,
      .next = (uint32_t)graph->n_node};
  SEER_TRY(seer_sized_carry(&e));
  SEER_TRY(resolve_added(&e));
  return settle_empty_sized(graph, k, scratch);
}

// Products may take weights as the bytes that they are (pass/integers.c); no shape is made of them.
static bool dequantises_weights(const seer_graph *graph, const seer_node *node) {
  return node->op == &seer_op_dequantize_linear && seer_graph_value(graph, node->in[0])->rank >= 2;
}

static seer_status resolve_parts(seer_graph *graph, uint32_t k, seer_arena *scratch) {
  SEER_TRY(check_operands(graph, &graph->node[k]));
  const seer_op_desc *op = graph->node[k].op;
  bool is_composite = op->expand && (!op->is_composite || op->is_composite(graph, &graph->node[k]));
  bool is_sized = seer_sized_reads(graph, &graph->node[k]);
  if (is_composite && is_sized) SEER_TRY(seer_sized_check_composite(graph, &graph->node[k]));
  if (is_composite) return expand_node(graph, k, scratch);
  if (is_sized) return carry_sizes(graph, k, scratch);
  SEER_TRY(infer_node(graph, k, scratch));
  settle_empty_node(graph, k);
  if (graph->node[k].is_dead || dequantises_weights(graph, &graph->node[k])) return SEER_OK;
  bool did;
  return seer_pass_fold_node(graph, (seer_node_id){k}, MAX_SHAPE_ELEMS, max_shape_ops, &did);
}

typedef struct {
  seer_graph *graph;
  uint32_t k;
  seer_arena *scratch;
} resolving;

static seer_status resolve_one(void *user) {
  const resolving *r = user;
  seer_recover_work(SEER_FRONT_NODE_OPS);
  return resolve_parts(r->graph, r->k, r->scratch);
}

// A node on its own, so that what is too much is said of it.
static seer_status resolve_node(seer_graph *graph, uint32_t k, seer_arena *scratch) {
  resolving r = {graph, k, scratch};
  seer_status status = seer_recover(resolve_one, &r);
  if (!status) return SEER_OK;
  const seer_node *node = &graph->node[k];
  return seer_status_context(status, "resolving node '%s' (%s) with inputs %s", node->name,
      node->op_type, operands_text(graph, node, scratch));
}

seer_status seer_pass_expand_node(seer_graph *graph, seer_node_id node) {
  seer_arena *scratch = seer_arena_create("expand");
  seer_status status = resolve_node(graph, node.i, scratch);
  seer_arena_destroy(scratch);
  return status;
}

// A text of a graph behind the pass "narrow" is resolved again: its constants are as wide as their
// values, for operators that fold take their bytes.
static void widen_constants(seer_graph *graph) {
  for (uint32_t v = 1; v < graph->n_value; v++) {
    seer_value *value = seer_graph_value(graph, (seer_val){v});
    const seer_tensor *stored = value->constant;
    if (!stored || stored->dtype == value->dtype) continue;
    seer_tensor wide = *stored;
    size_t n = (size_t)seer_tensor_elems(stored);
    wide.dtype = value->dtype;
    wide.n_bytes = n * seer_dtype_bytes(wide.dtype);
    void *data = seer_arena_alloc(graph->arena, wide.n_bytes + 1, 64);
    for (size_t i = 0; i < n; i++)
      seer_dtype_store_i64(wide.dtype, data, (int64_t)i,
          seer_dtype_load_i64(stored->dtype, stored->data, (int64_t)i));
    wide.data = data;
    value->constant = seer_arena_memdup(graph->arena, &wide, sizeof wide);
  }
}

// Likewise behind the pass "part": it finds again what can be part of what.
static void forget_parts(seer_graph *graph) {
  for (uint32_t v = 1; v < graph->n_value; v++) graph->value[v].base = (seer_val){0};
}

// Ifs of which a side is not built: the first of them, so that a notice can be read.
static void note_unbuilt(const seer_graph *graph, const char **io_notice) {
  enum { MAX_NOTED = 3 };
  seer_text text;
  uint32_t n = 0;
  seer_text_init(&text, graph->arena);
  seer_text_put(&text, *io_notice);
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const char *unbuilt = seer_front_unbuilt_text(&graph->node[k], graph->arena);
    if (!unbuilt || ++n > MAX_NOTED) continue;
    seer_text_printf(&text, "%s%s", text.n_bytes > 0 ? "; " : "", unbuilt);
  }
  if (n > MAX_NOTED) seer_text_printf(&text, "; and %u more such Ifs", n - MAX_NOTED);
  *io_notice = text.data;
}

static seer_status resolve(
    seer_graph *graph, const char *input_shapes, seer_arena *scratch, const char **out_notice) {
  widen_constants(graph);
  forget_parts(graph);
  graph->extents = NULL;
  seer_pass_remove_dead(graph);
  SEER_TRY(look_up_operators(graph, scratch));
  seer_pass_remove_dead(graph);  // now that it is known which outputs are optional
  SEER_TRY(fix_inputs(graph, input_shapes, scratch, out_notice));
  SEER_TRY(check_inputs(graph, scratch));
  settle_empty_inputs(graph);
  uint32_t n_node = (uint32_t)graph->n_node;  // further ones are parts of composite operators
  for (uint32_t k = 1; k < n_node; k++) {
    if (graph->node[k].is_dead) continue;
    seer_arena_mark mark = seer_arena_save(scratch);
    seer_status status = resolve_node(graph, k, scratch);
    if (status && seer_status_code(status) == SEER_CODE_UNSUPPORTED)
      note_missing(graph, full_type(&graph->node[k], scratch), seer_status_message(status));
    SEER_TRY(status);
    seer_arena_rewind(scratch, mark);
  }
  for (uint32_t k = 0; k < graph->n_output; k++) {
    const seer_value *value = seer_graph_value(graph, graph->output[k]);
    if (value->list)
      return SEER_FAIL(UNSUPPORTED, "output '%s' is %s, must be a tensor", value->name,
          value->list->is_optional ? "an optional value" : "a sequence");
  }
  graph->extents = NULL;  // passes change what it knows
  seer_sized_keep(graph);
  seer_pass_remove_dead(graph);
  SEER_TRY(seer_graph_sort(graph));
  SEER_TRY(seer_graph_verify(graph));
  if (out_notice) note_unbuilt(graph, out_notice);
  return SEER_OK;
}

const char *seer_front_unbuilt_text(const seer_node *node, seer_arena *arena) {
  static const char part[] = "/Branch";
  const char *why = node->is_dead ? NULL : seer_branch_why(node);
  if (!why) return NULL;
  size_t n = strlen(node->name), n_part = sizeof part - 1;
  if (n > n_part && strcmp(node->name + n - n_part, part) == 0) n -= n_part;
  return seer_arena_printf(arena,
      "the %s side of If '%.*s' cannot be built, and a run that takes it fails: %s",
      seer_branch_lacks_then(node) ? "then" : "else", (int)n, node->name, why);
}

seer_status seer_front_resolve(
    seer_graph *graph, const char *input_shapes, const char **out_notice) {
  seer_arena *scratch = seer_arena_create("resolve");
  if (out_notice) *out_notice = "";
  seer_status status = resolve(graph, input_shapes, scratch, out_notice);
  seer_arena_destroy(scratch);
  return status;
}
