// share.c - --share: texts -> pairs of an input and an output, and whether they can be one memory.
#include "front/share.h"

#include <string.h>

static bool is_named(const seer_graph *graph, seer_val v, const char *name, size_t n) {
  const char *own = seer_graph_value(graph, v)->name;
  return strlen(own) == n && memcmp(own, name, n) == 0;
}

static uint32_t find(
    const seer_graph *graph, const seer_val *value, uint32_t n_value, const char *name, size_t n) {
  uint32_t k = 0;
  while (k < n_value && !is_named(graph, value[k], name, n)) k++;
  return k;
}

// The first colon that has an input in front and an output behind it.
static bool find_pair(const seer_graph *graph, const char *text, seer_shared *out) {
  for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
    out->input = find(graph, graph->input, graph->n_input, text, (size_t)(colon - text));
    out->output = find(graph, graph->output, graph->n_output, colon + 1, strlen(colon + 1));
    if (out->input < graph->n_input && out->output < graph->n_output) return true;
  }
  return false;
}

static const char *outputs_text(const seer_graph *graph, seer_arena *arena) {
  const char *text = "";
  for (uint32_t k = 0; k < graph->n_output; k++)
    text = seer_arena_printf(
        arena, "%s%s%s", text, k > 0 ? ", " : "", seer_graph_value(graph, graph->output[k])->name);
  return text;
}

seer_status seer_graph_share(const seer_context *context, seer_graph *graph) {
  size_t n = seer_context_n_values(context, SEER_OPT_SHARE);
  if (n == 0) return SEER_OK;
  graph->shared = SEER_NEW_ARRAY(graph->arena, seer_shared, n);
  graph->n_shared = 0;
  for (size_t i = 0; i < n; i++) {
    const char *text = seer_context_value(context, SEER_OPT_SHARE, i);
    seer_shared pair;
    if (!find_pair(graph, text, &pair))
      return SEER_FAIL(INVALID, "--share: '%s' must be INPUT:OUTPUT; inputs are %s, outputs %s",
          text, seer_graph_inputs_text(graph, graph->arena), outputs_text(graph, graph->arena));
    for (uint32_t k = 0; k < graph->n_shared; k++)
      if (graph->shared[k].input == pair.input || graph->shared[k].output == pair.output)
        return SEER_FAIL(INVALID, "--share: '%s' and '%s' have an input or output in common",
            seer_context_value(context, SEER_OPT_SHARE, k), text);
    graph->shared[graph->n_shared++] = pair;
  }
  return SEER_OK;
}

seer_status seer_graph_check_shared(const seer_graph *graph, seer_arena *scratch) {
  for (uint32_t k = 0; k < graph->n_shared; k++) {
    const seer_val out = graph->output[graph->shared[k].output];
    const seer_value *x = seer_graph_value(graph, graph->input[graph->shared[k].input]),
                     *y = seer_graph_value(graph, out);
    bool is_alike = x->dtype == y->dtype && x->rank == y->rank &&
        memcmp(x->dim, y->dim, x->rank * sizeof *x->dim) == 0;
    if (!is_alike)
      return SEER_FAIL(INVALID,
          "--share: input '%s' is %s and output '%s' is %s, must have one type and shape", x->name,
          seer_value_type_text(x, scratch), y->name, seer_value_type_text(y, scratch));
    if (seer_value_is_sized(y))
      return SEER_FAIL(UNSUPPORTED, "--share: output '%s' is %s, of a size that a run decides",
          y->name, seer_value_type_text(y, scratch));
  }
  return SEER_OK;
}
