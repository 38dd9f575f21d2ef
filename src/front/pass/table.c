// table.c - the graph passes in their order. To add one: write pass/<name>.c (width/<name>.c where
// it is about how many bytes an element takes) with its entry `const seer_pass_desc
// seer_pass_<name>`, add a line here (its place says what it may rely on), and a golden test named
// after it (doc/how-to/README.md).
#include <string.h>

#include "front/pass/pass.h"

// clang-format off
#define PASSES(X)                                                                                 \
  X(integers)  /* before fold, which makes floats of weights */                                   \
  X(weights)   /* behind integers, which take what is bytes on both sides; before fold, likewise */ \
  X(twin)      /* before fold: what is made of one constant is made once */                       \
  X(fold)      /* before simplify, which asks for constants */                                    \
  X(widen)     /* once constants are folded; before layout, as orders go through what it adds */  \
  X(lookup)    /* behind widen, which brings the ends of chains together; before simplify */      \
  X(steps)     /* behind lookup, whose tables are of the operators as they are */                 \
  X(sink)      /* before simplify: what it leaves are pairs of transposes */                      \
  X(simplify)  /* weights are rescaled here, so before anything looks at them */                  \
  X(precision) /* once weights are as they will be; before layout, as orders go through Casts */  \
  X(layout)    /* orders hold for the nodes that remain; the last that may change weights */      \
  X(part)      /* once orders are known, and what becomes a kernel */                             \
  X(narrow)    /* last: how constants are stored is no other pass's business */
// clang-format on

#define DECLARE(name) extern const seer_pass_desc seer_pass_##name;
PASSES(DECLARE)
#undef DECLARE

const seer_pass_desc *const seer_pass_table[] = {
#define ENTRY(name) &seer_pass_##name,
    PASSES(ENTRY)
#undef ENTRY
};
const size_t seer_pass_table_count = SEER_COUNT_OF(seer_pass_table);

const seer_tensor *seer_node_constant(const seer_graph *graph, const seer_node *node, uint32_t k) {
  if (k >= node->n_in || node->in[k].i == 0) return NULL;
  return seer_graph_value(graph, node->in[k])->constant;
}

uint32_t seer_pass_only_reader(const seer_graph *graph, const seer_graph_uses *uses, seer_val v) {
  if (seer_graph_value(graph, v)->is_output || uses->first[v.i + 1] - uses->first[v.i] != 1)
    return 0;
  return uses->node[uses->first[v.i]];
}

uint32_t seer_pass_maker(const seer_graph *graph, seer_val v, const seer_op_desc *op) {
  uint32_t maker = v.i ? seer_graph_value(graph, v)->producer.i : 0;
  return maker && graph->node[maker].op == op ? maker : 0;
}

seer_val seer_pass_before_turn(const seer_graph *graph, seer_val v, bool *io_is_turned) {
  uint32_t maker = seer_pass_maker(graph, v, &seer_op_transpose);
  uint8_t perm[SEER_MAX_RANK];
  if (!maker || seer_graph_value(graph, v)->rank != 2) return v;
  seer_transpose_perm(&graph->node[maker], 2, perm);
  if (perm[0] == 0) return v;
  *io_is_turned = !*io_is_turned;
  return graph->node[maker].in[0];
}

void seer_pass_order(const seer_value *value, uint8_t *out_order) {
  for (uint32_t k = 0; k < value->rank; k++)
    out_order[k] = value->has_layout ? value->order[k] : (uint8_t)k;
}

seer_val seer_pass_add_f32(seer_graph *graph, const char *base_name, const float *data,
    const int64_t *dim, uint32_t rank) {
  seer_tensor tensor = {.dtype = SEER_DTYPE_F32, .rank = (uint8_t)rank, .data = data};
  for (uint32_t k = 0; k < rank; k++) tensor.dim[k] = dim[k];
  tensor.n_bytes = (size_t)seer_tensor_elems(&tensor) * sizeof *data;
  return seer_graph_add_constant(graph, seer_graph_fresh_name(graph, base_name), &tensor);
}

void seer_pass_add_transpose(
    seer_graph *graph, const char *name, seer_val from, const int64_t *perm, seer_val to) {
  enum { OPSET = 13 };
  uint32_t rank = seer_graph_value(graph, from)->rank;
  seer_attr attr = {.name = "perm", .kind = SEER_ATTR_INTS, .n = rank};
  attr.ints = seer_arena_memdup(graph->arena, perm, rank * sizeof *perm);
  seer_node_id id =
      seer_graph_add_node(graph, name, "", "Transpose", OPSET, &from, 1, &to, 1, &attr, 1);
  seer_graph_node(graph, id)->op = seer_op_find("", "Transpose", OPSET);
}

void seer_pass_remove_dead(seer_graph *graph) {
  seer_arena *scratch = seer_arena_create("dead");
  uint32_t *n_uses = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_value);
  uint32_t *stack = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_node + graph->n_value);
  size_t depth = 0;
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    for (uint32_t i = 0; !node->is_dead && i < node->n_in; i++) n_uses[node->in[i].i]++;
  }
  for (uint32_t k = 0; k < graph->n_output; k++) n_uses[graph->output[k].i]++;
  for (uint32_t k = 1; k < graph->n_node; k++) {
    if (!graph->node[k].is_dead) stack[depth++] = k;
  }
  // Sizes of outputs: no node reads them.
  for (uint32_t v = 1; v < graph->n_value; v++) n_uses[v] += graph->value[v].is_output;
  while (depth > 0) {
    uint32_t k = stack[--depth];
    seer_node *node = &graph->node[k];
    bool is_used = false;
    for (uint32_t i = 0; i < node->n_out; i++) is_used |= node->out[i].i && n_uses[node->out[i].i];
    if (node->is_dead || is_used) continue;
    seer_graph_kill_node(graph, (seer_node_id){k});
    for (uint32_t i = 0; i < node->n_in; i++) {
      uint32_t v = node->in[i].i;
      // The producer has left the stack's part above it only if it was looked at before: look
      // again.
      if (v && --n_uses[v] == 0 && graph->value[v].producer.i)
        stack[depth++] = graph->value[v].producer.i;
    }
  }
  for (uint32_t k = 1; k < graph->n_node; k++) {
    seer_node *node = &graph->node[k];
    // its outputs say each other's size
    if (strcmp(node->domain, SEER_INNER_DOMAIN) == 0) continue;
    for (uint32_t i = 1; !node->is_dead && i < node->n_out; i++) {
      if (node->out[i].i && n_uses[node->out[i].i] == 0) {
        graph->value[node->out[i].i].producer = (seer_node_id){0};
        node->out[i] = (seer_val){0};
      }
    }
    // Optional outputs at the end go; of a list of outputs (Split) their number matters.
    enum { ANY_NUMBER = 255 };
    bool is_list = !node->op || node->op->n_out_max == ANY_NUMBER;
    while (!node->is_dead && !is_list && node->n_out > 1 && node->out[node->n_out - 1].i == 0) {
      node->n_out--;
    }
  }
  seer_arena_destroy(scratch);
}

static seer_status verify_after(const seer_context *context, seer_graph *graph, const char *name) {
  SEER_TRYF(seer_graph_verify(graph), "after pass %s", name);
  if (seer_context_i64(context, SEER_OPT_VERIFY) < 2) return SEER_OK;
  seer_arena *scratch = seer_arena_create("verify");
  const char *text = seer_graph_print(graph, scratch);
  seer_graph *again;
  seer_status status = seer_graph_parse(name, text, strlen(text), scratch, &again);
  if (!status && strcmp(seer_graph_print(again, scratch), text) != 0) {
    status = SEER_FAIL(INTERNAL, "after pass %s: the graph's text does not round-trip", name);
  }
  seer_arena_destroy(scratch);
  return status;
}

seer_status seer_front_run_pass(
    const seer_context *context, seer_graph *graph, const seer_pass_desc *pass) {
  SEER_TRYF(pass->run(context, graph), "pass %s", pass->name);
  seer_pass_remove_dead(graph);
  SEER_TRYF(seer_graph_sort(graph), "pass %s", pass->name);
  return seer_context_i64(context, SEER_OPT_VERIFY) >= 1 ? verify_after(context, graph, pass->name)
                                                         : SEER_OK;
}

seer_status seer_front_run_passes(const seer_context *context, seer_graph *graph) {
  for (size_t k = 0; k < seer_pass_table_count; k++) {
    SEER_TRY(seer_context_check_stop(context));
    SEER_TRY(seer_front_run_pass(context, graph, seer_pass_table[k]));
  }
  return seer_graph_verify(graph);
}
