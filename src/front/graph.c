// graph.c - the graph's data structure: adding, replacing, sorting, verifying.
// Values and nodes live in two arrays that grow in the model's arena; ids are indices. A pass
// changes nodes in place and marks dead ones; seer_graph_sort brings the array back into
// topological order and drops them.
#include "front/graph.h"

#include <string.h>

#include "base/map.h"
#include "front/custom/custom.h"

seer_graph *seer_graph_create(seer_arena *arena, const char *name) {
  seer_graph *graph = SEER_NEW(arena, seer_graph);
  graph->arena = arena;
  graph->name = seer_arena_strdup(arena, name ? name : "");
  graph->producer = "";
  graph->value = SEER_GROW(arena, seer_value, graph->value, 0, &graph->cap_value);
  graph->node = SEER_GROW(arena, seer_node, graph->node, 0, &graph->cap_node);
  graph->n_value = graph->n_node = 1;
  graph->permuted = SEER_NEW(arena, seer_permuted_list);
  return graph;
}

seer_graph *seer_graph_copy(const seer_graph *graph) {
  seer_arena *arena = graph->arena;
  seer_graph *copy = seer_arena_memdup(arena, graph, sizeof *graph);
  copy->cap_value = copy->n_value;
  copy->value = seer_arena_memdup(arena, graph->value, graph->n_value * sizeof *graph->value);
  copy->cap_node = copy->n_node;
  copy->node = seer_arena_memdup(arena, graph->node, graph->n_node * sizeof *graph->node);
  for (size_t k = 1; k < copy->n_node; k++) {
    seer_node *node = &copy->node[k];
    node->in = seer_arena_memdup(arena, node->in, node->n_in * sizeof *node->in);
    node->out = seer_arena_memdup(arena, node->out, node->n_out * sizeof *node->out);
    node->attr = seer_arena_memdup(arena, node->attr, node->n_attr * sizeof *node->attr);
    for (uint32_t a = 0; a < node->n_attr; a++)
      if (node->attr[a].graph) node->attr[a].graph = seer_graph_copy(node->attr[a].graph);
  }
  copy->cap_input = copy->n_input;
  copy->input = seer_arena_memdup(arena, graph->input, graph->n_input * sizeof *graph->input);
  copy->cap_output = copy->n_output;
  copy->output = seer_arena_memdup(arena, graph->output, graph->n_output * sizeof *graph->output);
  copy->cap_bound = copy->n_bound;
  copy->bound = seer_arena_memdup(arena, graph->bound, graph->n_bound * sizeof *graph->bound);
  copy->n_map = copy->cap_map = 0;
  copy->map = NULL;
  copy->names = NULL;
  copy->extents = NULL;
  copy->n_named = 0;
  copy->owned = (seer_recover_owned){0};
  return copy;
}

void seer_graph_close(seer_graph *graph) {
  seer_recover_disown(&graph->owned);
  seer_custom_close(graph);
  for (size_t k = 0; k < graph->n_map; k++) seer_os_unmap(&graph->map[k]);
  graph->n_map = 0;
}

seer_status seer_graph_check_files(const seer_graph *graph) {
  for (size_t k = 0; k < graph->n_map; k++) SEER_TRY(seer_os_map_check(&graph->map[k]));
  return SEER_OK;
}

// ---- permuted constants

static bool same_data(const seer_tensor *a, const seer_tensor *b) {
  return a->data == b->data && a->dtype == b->dtype && a->rank == b->rank &&
      memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}

const seer_permuted *seer_graph_permuted(const seer_graph *graph, const seer_tensor *tensor) {
  if (tensor->n_bytes < SEER_PERMUTED_MIN_BYTES) return NULL;
  for (size_t k = 0; k < graph->permuted->n; k++)
    if (same_data(&graph->permuted->item[k].tensor, tensor)) return &graph->permuted->item[k];
  return NULL;
}

const seer_tensor *seer_graph_find_permuted(
    const seer_graph *graph, const seer_tensor *of, const uint8_t *perm) {
  for (size_t k = 0; k < graph->permuted->n; k++) {
    const seer_permuted *p = &graph->permuted->item[k];
    if (same_data(&p->of, of) && memcmp(p->perm, perm, of->rank) == 0) return &p->tensor;
  }
  return NULL;
}

void seer_graph_note_permuted(
    seer_graph *graph, const seer_tensor *tensor, const seer_tensor *of, const uint8_t *perm) {
  if (tensor->n_bytes < SEER_PERMUTED_MIN_BYTES || seer_graph_permuted(graph, tensor)) return;
  seer_permuted p = {*tensor, *of, {0}};
  // Of a permuted one: of what that is made of.
  const seer_permuted *before = seer_graph_permuted(graph, of);
  if (before) p.of = before->of;
  for (uint32_t d = 0; d < tensor->rank; d++) p.perm[d] = before ? before->perm[perm[d]] : perm[d];
  seer_permuted_list *list = graph->permuted;
  list->item = SEER_GROW(graph->arena, seer_permuted, list->item, list->n, &list->cap);
  list->item[list->n++] = p;
}

// ---- values

static seer_val add_value(seer_graph *graph, const char *name) {
  graph->value =
      SEER_GROW(graph->arena, seer_value, graph->value, graph->n_value, &graph->cap_value);
  seer_val v = {(uint32_t)graph->n_value++};
  graph->value[v.i] = (seer_value){.name = seer_arena_strdup(graph->arena, name)};
  return v;
}

seer_val seer_graph_add_value(
    seer_graph *graph, const char *name, seer_dtype dtype, const int64_t *dim, int32_t rank) {
  SEER_ASSERT(rank <= SEER_MAX_RANK, "rank %d of %s", rank, name);
  seer_val v = add_value(graph, name);
  seer_value *value = &graph->value[v.i];
  value->dtype = dtype;
  value->has_shape = rank >= 0;
  value->rank = (uint8_t)(rank >= 0 ? rank : 0);
  for (int32_t k = 0; k < rank; k++) value->dim[k] = dim[k];
  return v;
}

void seer_graph_set_constant(seer_graph *graph, seer_val v, const seer_tensor *tensor) {
  seer_value *value = &graph->value[v.i];
  value->constant = seer_arena_memdup(graph->arena, tensor, sizeof *tensor);
  value->dtype = tensor->dtype;
  value->has_shape = true;
  value->rank = tensor->rank;
  memcpy(value->dim, tensor->dim, sizeof value->dim);
  memset(value->size, 0, sizeof value->size);
  value->has_layout = false;
  value->pitch = 0;
  value->base = (seer_val){0};
}

seer_val seer_graph_add_constant(seer_graph *graph, const char *name, const seer_tensor *tensor) {
  seer_val v = add_value(graph, name);
  seer_graph_set_constant(graph, v, tensor);
  return v;
}

void seer_graph_mark_input(seer_graph *graph, seer_val value) {
  graph->input = SEER_GROW(graph->arena, seer_val, graph->input, graph->n_input, &graph->cap_input);
  graph->input[graph->n_input++] = value;
  graph->value[value.i].is_input = true;
}

void seer_graph_mark_output(seer_graph *graph, seer_val value) {
  graph->output =
      SEER_GROW(graph->arena, seer_val, graph->output, graph->n_output, &graph->cap_output);
  graph->output[graph->n_output++] = value;
  graph->value[value.i].is_output = true;
}

void seer_graph_bind_input(seer_graph *graph, uint32_t index, const seer_tensor *tensor) {
  seer_val input = graph->input[index];
  seer_value *value = &graph->value[input.i];
  graph->bound =
      SEER_GROW(graph->arena, seer_bound, graph->bound, graph->n_bound, &graph->cap_bound);
  graph->bound[graph->n_bound++] = (seer_bound){value->name, *tensor};
  value->is_input = false;
  seer_graph_set_constant(graph, input, tensor);
  graph->n_input--;
  memmove(&graph->input[index], &graph->input[index + 1],
      (graph->n_input - index) * sizeof *graph->input);
}

bool seer_graph_is_shared(const seer_graph *graph, seer_val value) {
  for (uint32_t k = 0; k < graph->n_shared; k++)
    if (graph->input[graph->shared[k].input].i == value.i) return true;
  return false;
}

const seer_bound *seer_graph_find_bound(const seer_graph *graph, const char *name) {
  for (uint32_t k = 0; k < graph->n_bound; k++)
    if (strcmp(graph->bound[k].name, name) == 0) return &graph->bound[k];
  return NULL;
}

void seer_graph_name_dim(seer_graph *graph, seer_val input, uint32_t dim, const char *name) {
  graph->dim_name = SEER_GROW(
      graph->arena, seer_dim_name, graph->dim_name, graph->n_dim_name, &graph->cap_dim_name);
  graph->dim_name[graph->n_dim_name++] =
      (seer_dim_name){input, dim, seer_arena_strdup(graph->arena, name)};
}

seer_node_id seer_graph_add_node(seer_graph *graph, const char *name, const char *domain,
    const char *op_type, int32_t opset, const seer_val *in, uint32_t n_in, const seer_val *out,
    uint32_t n_out, const seer_attr *attr, uint32_t n_attr) {
  seer_arena *arena = graph->arena;
  graph->node = SEER_GROW(arena, seer_node, graph->node, graph->n_node, &graph->cap_node);
  seer_node_id id = {(uint32_t)graph->n_node++};
  seer_node *node = &graph->node[id.i];
  *node = (seer_node){.domain = seer_arena_strdup(arena, domain ? domain : ""),
      .op_type = seer_arena_strdup(arena, op_type),
      .opset = opset,
      .n_in = n_in,
      .n_out = n_out,
      .n_attr = n_attr};
  node->name = name && name[0] ? seer_arena_strdup(arena, name)
                               : seer_arena_printf(arena, "%s_%u", op_type, id.i);
  if (n_in) node->in = seer_arena_memdup(arena, in, n_in * sizeof *in);
  if (n_out) node->out = seer_arena_memdup(arena, out, n_out * sizeof *out);
  if (n_attr) node->attr = seer_arena_memdup(arena, attr, n_attr * sizeof *attr);
  for (uint32_t k = 0; k < n_out; k++) {
    if (out[k].i) graph->value[out[k].i].producer = id;
  }
  return id;
}

uint32_t seer_graph_n_uses(const seer_graph *graph, seer_val value) {
  uint32_t n = 0;
  seer_recover_work(graph->n_node);
  for (size_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    if (node->is_dead) continue;
    for (uint32_t i = 0; i < node->n_in; i++) n += node->in[i].i == value.i;
  }
  for (uint32_t k = 0; k < graph->n_output; k++) n += graph->output[k].i == value.i;
  return n;
}

void seer_graph_replace_uses(seer_graph *graph, seer_val from, seer_val to) {
  seer_recover_work(graph->n_node);
  for (size_t k = 1; k < graph->n_node; k++) {
    seer_node *node = &graph->node[k];
    if (node->is_dead) continue;
    for (uint32_t i = 0; i < node->n_in; i++) {
      if (node->in[i].i == from.i) node->in[i] = to;
    }
  }
}

void seer_graph_kill_node(seer_graph *graph, seer_node_id id) {
  seer_node *node = &graph->node[id.i];
  node->is_dead = true;
  for (uint32_t k = 0; k < node->n_out; k++) {
    seer_val v = node->out[k];
    if (v.i && graph->value[v.i].producer.i == id.i) graph->value[v.i].producer = (seer_node_id){0};
  }
}

void seer_graph_swap_nodes(seer_graph *graph, seer_node_id before, seer_node_id behind,
    seer_dtype dtype, seer_val shaped, const char *suffix) {
  const seer_val x = graph->node[before.i].in[0], old = graph->node[before.i].out[0],
                 out = graph->node[behind.i].out[0];
  const seer_value like = graph->value[shaped.i];
  const char *name = seer_graph_fresh_name(
      graph, seer_arena_printf(graph->arena, "%s.%s", graph->value[out.i].name, suffix));
  seer_val between = seer_graph_add_value(graph, name, dtype, like.dim, like.rank);
  graph->node[behind.i].in[0] = x;
  graph->node[behind.i].out[0] = between;
  graph->node[before.i].in[0] = between;
  graph->node[before.i].out[0] = out;
  graph->value[between.i].producer = behind;
  graph->value[out.i].producer = before;
  graph->value[old.i].producer = (seer_node_id){0};
}

// For each name the number that is tried next behind it.
static void index_names(seer_graph *graph) {
  if (!graph->names) {
    graph->names = seer_map_create(graph->arena);
    graph->n_named = 1;
  }
  for (; graph->n_named < graph->n_value; graph->n_named++) {
    const char *name = graph->value[graph->n_named].name;
    if (!seer_map_get_str(graph->names, name, NULL)) seer_map_set_str(graph->names, name, 1);
  }
}

const char *seer_graph_fresh_name(seer_graph *graph, const char *base) {
  index_names(graph);
  const char *name = base;
  uint64_t next = 1;
  if (seer_map_get_str(graph->names, base, &next)) {
    do {
      name = seer_arena_printf(graph->arena, "%s.%" PRIu64, base, next++);
    } while (seer_map_get_str(graph->names, name, NULL));
    seer_map_set_str(graph->names, base, next);
  } else {
    name = seer_arena_strdup(graph->arena, base);
  }
  seer_map_set_str(graph->names, name, 1);
  return name;
}

const char *seer_graph_join_names(seer_arena *arena, const char *prefix, const char *name) {
  size_t n = strlen(prefix), m = strlen(name);
  if (n == 0) return name;
  if (n + 1 + m <= SEER_GRAPH_NAME_BYTES) return seer_arena_printf(arena, "%s/%s", prefix, name);
  return seer_arena_printf(arena, "%.*s...%016" PRIx64, (int)SEER_GRAPH_NAME_BYTES / 8, prefix,
      seer_hash_str(name, seer_hash_str(prefix, 1)));
}

seer_graph_uses seer_graph_index_uses(const seer_graph *graph, seer_arena *arena) {
  seer_graph_uses uses;
  uses.first = SEER_NEW_ARRAY(arena, uint32_t, graph->n_value + 2);
  for (size_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    for (uint32_t i = 0; !node->is_dead && i < node->n_in; i++) uses.first[node->in[i].i + 1]++;
  }
  for (size_t v = 0; v <= graph->n_value; v++) uses.first[v + 1] += uses.first[v];
  uses.node = SEER_NEW_ARRAY(arena, uint32_t, uses.first[graph->n_value] + 1);
  uint32_t *at = SEER_NEW_ARRAY(arena, uint32_t, graph->n_value);
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    for (uint32_t i = 0; !node->is_dead && i < node->n_in; i++) {
      uint32_t v = node->in[i].i;
      uses.node[uses.first[v] + at[v]++] = k;
    }
  }
  return uses;
}

// ---- sorting: depth-first from the nodes in their order, so that a sorted graph stays as it is

seer_status seer_graph_sort(seer_graph *graph) {
  seer_arena *scratch = seer_arena_create("graph-sort");
  enum { NEW, OPEN, DONE };
  uint8_t *state = SEER_NEW_ARRAY(scratch, uint8_t, graph->n_node);
  uint32_t *next_in = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_node);
  uint32_t *stack = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_node);
  uint32_t *order = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_node);
  size_t n_order = 0;
  seer_status status = SEER_OK;
  for (uint32_t root = 1; root < graph->n_node && !status; root++) {
    if (graph->node[root].is_dead || state[root] != NEW) continue;
    size_t depth = 0;
    stack[depth++] = root;
    state[root] = OPEN;
    while (depth > 0 && !status) {
      uint32_t k = stack[depth - 1];
      const seer_node *node = &graph->node[k];
      if (next_in[k] == node->n_in) {
        state[k] = DONE;
        order[n_order++] = k;
        depth--;
        continue;
      }
      uint32_t producer = graph->value[node->in[next_in[k]++].i].producer.i;
      if (producer == 0 || state[producer] == DONE) continue;
      if (state[producer] == OPEN) {
        status = SEER_FAIL(INVALID, "node '%s' (%s) is part of a cycle: it needs its own output",
            node->name, node->op_type);
        break;
      }
      state[producer] = OPEN;
      stack[depth++] = producer;
    }
  }
  if (!status) {
    seer_node *old = seer_arena_memdup(scratch, graph->node, graph->n_node * sizeof *old);
    for (size_t k = 0; k < n_order; k++) {
      seer_node *node = &graph->node[k + 1];
      *node = old[order[k]];
      for (uint32_t i = 0; i < node->n_out; i++) {
        if (node->out[i].i) graph->value[node->out[i].i].producer = (seer_node_id){(uint32_t)k + 1};
      }
    }
    graph->n_node = n_order + 1;
  }
  seer_arena_destroy(scratch);
  return status;
}

// ---- verify

// Its elements are some of the base's, and nobody else says where they are.
static seer_status verify_part(const seer_graph *graph, const seer_value *value) {
  if (value->base.i >= graph->n_value)
    return SEER_FAIL(INTERNAL, "%s: part of value %u", value->name, value->base.i);
  const seer_value *base = seer_graph_value(graph, value->base);
  if (base == value || base->base.i)
    return SEER_FAIL(INTERNAL, "%s: part of '%s', which is a part", value->name, base->name);
  if (base->constant || base->is_input || base->is_output || value->constant || value->is_input ||
      value->is_output)
    return SEER_FAIL(INTERNAL, "%s: part of '%s', and one is a constant, an input or an output",
        value->name, base->name);
  if (value->dtype != base->dtype || !value->has_shape || !base->has_shape || value->offset < 0 ||
      seer_value_span(value) < 0 || seer_value_span(base) < 0 ||
      value->offset > seer_value_span(base) - seer_value_span(value))
    return SEER_FAIL(
        INTERNAL, "%s: no part of '%s' at %" PRId64, value->name, base->name, value->offset);
  return SEER_OK;
}

static seer_status verify_value(const seer_graph *graph, uint32_t v) {
  const seer_value *value = &graph->value[v];
  if (!value->name || !value->name[0]) return SEER_FAIL(INTERNAL, "value %u has no name", v);
  if (value->dtype >= SEER_DTYPE_COUNT)
    return SEER_FAIL(INTERNAL, "%s: dtype %d", value->name, (int)value->dtype);
  if (value->rank > SEER_MAX_RANK)
    return SEER_FAIL(INTERNAL, "%s: rank %u", value->name, value->rank);
  if (value->producer.i >= graph->n_node) {
    return SEER_FAIL(
        INTERNAL, "%s: producer %u of %zu", value->name, value->producer.i, graph->n_node);
  }
  for (uint32_t k = 0; k < value->rank; k++) {
    if (value->dim[k] < -1)
      return SEER_FAIL(INTERNAL, "%s: dimension %u is %" PRId64, value->name, k, value->dim[k]);
  }
  if (value->constant) {
    const seer_tensor *tensor = value->constant;
    if (value->producer.i || value->is_input) {
      return SEER_FAIL(
          INTERNAL, "%s: a constant that is also made by a node or an input", value->name);
    }
    if (!seer_tensor_widens_to(tensor, value->dtype) || tensor->rank != value->rank ||
        memcmp(tensor->dim, value->dim, tensor->rank * sizeof tensor->dim[0]) != 0) {
      return SEER_FAIL(INTERNAL, "%s: constant of another type than its value", value->name);
    }
    int64_t n = seer_tensor_elems(tensor);
    if (n < 0 || (size_t)n * seer_dtype_bytes(tensor->dtype) != tensor->n_bytes ||
        (n > 0 && !tensor->data)) {
      return SEER_FAIL(
          INTERNAL, "%s: %" PRId64 " elements in %zu bytes", value->name, n, tensor->n_bytes);
    }
  }
  if (value->has_layout) {
    uint32_t seen = 0;
    for (uint32_t k = 0; k < value->rank; k++) seen |= 1u << value->order[k];
    if (seen != (1u << value->rank) - 1)
      return SEER_FAIL(INTERNAL, "%s: order is no permutation", value->name);
  }
  if (value->pitch && (value->rank == 0 || value->pitch < seer_value_row(value)))
    return SEER_FAIL(INTERNAL, "%s: pitch %" PRId64 " below its row", value->name, value->pitch);
  return value->base.i ? verify_part(graph, value) : SEER_OK;
}

static seer_status verify_node(const seer_graph *graph, uint32_t k) {
  const seer_node *node = &graph->node[k];
  if (!node->name || !node->name[0]) return SEER_FAIL(INTERNAL, "node %u has no name", k);
  for (uint32_t i = 0; i < node->n_in; i++) {
    uint32_t v = node->in[i].i;
    if (v >= graph->n_value)
      return SEER_FAIL(INTERNAL, "%s: input %u is value %u", node->name, i, v);
    if (v == 0) continue;
    const seer_value *value = &graph->value[v];
    if (value->producer.i >= k) {
      return SEER_FAIL(INTERNAL, "%s: input '%s' is made later, by '%s'", node->name, value->name,
          graph->node[value->producer.i].name);
    }
    if (!value->producer.i && !value->is_input && !value->constant) {
      return SEER_FAIL(INVALID,
          "node '%s' (%s): input '%s' is made by no node and is no input or constant", node->name,
          node->op_type, value->name);
    }
  }
  for (uint32_t i = 0; i < node->n_out; i++) {
    uint32_t v = node->out[i].i;
    if (v >= graph->n_value)
      return SEER_FAIL(INTERNAL, "%s: output %u is value %u", node->name, i, v);
    if (v && graph->value[v].producer.i != k) {
      return SEER_FAIL(INTERNAL, "%s: output '%s' has another producer (%u)", node->name,
          graph->value[v].name, graph->value[v].producer.i);
    }
  }
  return SEER_OK;
}

seer_status seer_graph_verify(const seer_graph *graph) {
  seer_arena *scratch = seer_arena_create("graph-verify");
  seer_map *names = seer_map_create(scratch);
  seer_status status = SEER_OK;
  for (uint32_t v = 1; v < graph->n_value && !status; v++) {
    status = verify_value(graph, v);
    if (!status && seer_map_get_str(names, graph->value[v].name, NULL)) {
      status = SEER_FAIL(INVALID, "two values are named '%s'", graph->value[v].name);
    }
    if (!status) seer_map_set_str(names, graph->value[v].name, v);
  }
  for (uint32_t k = 1; k < graph->n_node && !status; k++) {
    if (!graph->node[k].is_dead) status = verify_node(graph, k);
  }
  for (uint32_t k = 0; k < graph->n_output && !status; k++) {
    const seer_value *value = &graph->value[graph->output[k].i];
    if (!value->producer.i && !value->is_input && !value->constant) {
      status = SEER_FAIL(INVALID, "output '%s' is made by no node", value->name);
    }
  }
  seer_arena_destroy(scratch);
  return status;
}

// ---- attributes and sizes

const seer_attr *seer_node_attr(const seer_node *node, const char *name) {
  for (uint32_t k = 0; k < node->n_attr; k++) {
    if (strcmp(node->attr[k].name, name) == 0) return &node->attr[k];
  }
  return NULL;
}

int64_t seer_node_attr_i(const seer_node *node, const char *name, int64_t otherwise) {
  const seer_attr *attr = seer_node_attr(node, name);
  return attr && attr->kind == SEER_ATTR_INT ? attr->i : otherwise;
}

double seer_node_attr_f(const seer_node *node, const char *name, double otherwise) {
  const seer_attr *attr = seer_node_attr(node, name);
  return attr && attr->kind == SEER_ATTR_FLOAT ? attr->f : (double)(float)otherwise;
}

const char *seer_node_attr_s(const seer_node *node, const char *name, const char *otherwise) {
  const seer_attr *attr = seer_node_attr(node, name);
  return attr && attr->kind == SEER_ATTR_STRING ? attr->s : otherwise;
}

const seer_attr *seer_node_attr_ints(const seer_node *node, const char *name) {
  const seer_attr *attr = seer_node_attr(node, name);
  return attr && attr->kind == SEER_ATTR_INTS ? attr : NULL;
}

int64_t seer_dims_elems(const int64_t *dim, uint32_t rank) {
  int64_t n = 1;
  bool is_empty = false;
  for (uint32_t k = 0; k < rank; k++) {
    if (dim[k] < 0) return -1;
    if (dim[k] == 0) is_empty = true;
  }
  for (uint32_t k = 0; k < rank && !is_empty; k++) {
    if (__builtin_mul_overflow(n, dim[k], &n)) return -1;
  }
  return is_empty ? 0 : n;
}

int64_t seer_tensor_elems(const seer_tensor *tensor) {
  return seer_dims_elems(tensor->dim, tensor->rank);
}

bool seer_tensor_widens_to(const seer_tensor *tensor, seer_dtype dtype) {
  seer_dtype from = tensor->dtype;
  if (from == dtype) return true;
  if (seer_dtype_is_float(from) || seer_dtype_is_float(dtype)) return false;
  uint32_t bits = seer_dtype_bits(from), wide_bits = seer_dtype_bits(dtype);
  bool keeps_sign = seer_dtype_is_signed(dtype) || !seer_dtype_is_signed(from);
  return bits < wide_bits && keeps_sign;
}

int64_t seer_value_row(const seer_value *value) {
  if (value->rank == 0) return 1;
  return value->dim[value->has_layout ? value->order[value->rank - 1] : value->rank - 1u];
}

int64_t seer_value_pitch(const seer_value *value) {
  return value->pitch ? value->pitch : seer_value_row(value);
}

int64_t seer_value_span(const seer_value *value) {
  int64_t n = seer_value_elems(value), row = seer_value_row(value);
  if (n <= 0) return n;
  int64_t between = 0, span = 0;
  bool is_known = !__builtin_mul_overflow(n / row - 1, seer_value_pitch(value), &between) &&
      !__builtin_add_overflow(between, row, &span);
  return is_known ? span : -1;
}

bool seer_value_is_sized(const seer_value *value) {
  for (uint32_t d = 0; d < value->rank; d++)
    if (value->size[d].i) return true;
  return false;
}

int64_t seer_value_elems(const seer_value *value) {
  return value->has_shape ? seer_dims_elems(value->dim, value->rank) : -1;
}

const char *seer_value_type_text(const seer_value *value, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, value->dtype == SEER_DTYPE_NONE ? "?" : seer_dtype_name(value->dtype));
  if (!value->has_shape) return text.data;
  seer_text_put(&text, "[");
  for (uint32_t k = 0; k < value->rank; k++) {
    if (k) seer_text_put(&text, ",");
    if (value->dim[k] < 0) {
      seer_text_put(&text, "?");
    } else {
      seer_text_printf(&text, "%s%" PRId64, value->size[k].i ? "<=" : "", value->dim[k]);
    }
  }
  seer_text_put(&text, "]");
  return text.data;
}

const char *seer_graph_inputs_text(const seer_graph *graph, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  for (uint32_t k = 0; k < graph->n_input; k++) {
    const seer_value *value = seer_graph_value(graph, graph->input[k]);
    seer_text_printf(&text, "%s%s %s%s", k ? ", " : "", value->name,
        seer_value_type_text(value, arena), value->has_shape ? "" : " (no shape)");
  }
  return text.data;
}
