// info_network.c - familyseer info for a network: what goes in and out, which operators it has,
// whether it can be built.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/info.h"
#include "cli/json.h"
#include "cli/unbuilt.h"
#include "front/bind.h"
#include "front/front.h"
#include "front/limit.h"
#include "models/models.h"

typedef struct {
  const char *name;
  uint32_t count;
} op_count;

static int by_count(const void *a, const void *b) {
  const op_count *x = a, *y = b;
  if (x->count != y->count) return x->count > y->count ? -1 : 1;
  return strcmp(x->name, y->name);
}

static size_t count_ops(
    const seer_graph *graph, op_count *ops, int32_t *out_opset, seer_arena *arena) {
  seer_map *index = seer_map_create(arena);
  size_t n = 0;
  for (size_t i = 1; i < graph->n_node; i++) {
    const seer_node *node = &graph->node[i];
    if (node->is_dead) continue;
    if (!node->domain[0] && node->opset > *out_opset) *out_opset = node->opset;
    uint64_t k = n;
    if (!seer_map_get_str(index, node->op_type, &k)) {
      seer_map_set_str(index, node->op_type, n);
      ops[n++] = (op_count){node->op_type, 0};
    }
    ops[k].count++;
  }
  qsort(ops, n, sizeof *ops, by_count);
  return n;
}

static const char *shape_text(const seer_value *v, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, seer_dtype_name(v->dtype));
  if (!v->has_shape)
    return seer_arena_printf(arena, "%s of unknown shape", seer_dtype_name(v->dtype));
  seer_text_put(&text, "[");
  for (uint32_t k = 0; k < v->rank; k++) {
    if (v->dim[k] < 0)
      seer_text_put(&text, k > 0 ? ",?" : "?");
    else
      seer_text_printf(&text, "%s%" PRId64, k > 0 ? "," : "", v->dim[k]);
  }
  seer_text_put(&text, "]");
  return text.data;
}

static json_t *values_json(
    const seer_graph *graph, const seer_val *values, uint32_t n, seer_arena *arena) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < n; i++) {
    const seer_value *v = seer_graph_value(graph, values[i]);
    json_array_append_new(list,
        json_pack("{s:s, s:s}", "name", seer_text_safe_whole(arena, seer_value_shown(v)), "type",
            shape_text(v, arena)));
  }
  return list;
}

static void print_values(const seer_graph *graph, const seer_val *values, uint32_t n,
    const char *title, seer_arena *arena) {
  for (uint32_t i = 0; i < n; i++) {
    const seer_value *v = seer_graph_value(graph, values[i]);
    printf("%-12s%s %s\n", i == 0 ? title : "", seer_text_safe(arena, seer_value_shown(v)),
        shape_text(v, arena));
  }
}

// Names that look the same once they are safe to show keep keys of their own.
static void add_count(json_t *by_op, const op_count *op, seer_arena *arena) {
  const char *key = seer_text_safe_whole(arena, op->name);
  const char *name = key;
  for (size_t k = json_object_size(by_op); json_object_get(by_op, key); k++)
    key = seer_arena_printf(arena, "%s#%zu", name, k);
  json_object_set_new(by_op, key, json_integer(op->count));
}

static json_t *bound_json(const seer_graph *graph, seer_arena *arena) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < graph->n_bound; i++)
    json_array_append_new(
        list, json_string(seer_text_safe_whole(arena, seer_bound_text(&graph->bound[i], arena))));
  return list;
}

typedef struct {
  const char *shapes;
  seer_graph *graph;
  const char *notice;
} question;

static seer_status can_resolve(void *user) {
  question *q = user;
  return seer_front_resolve(q->graph, q->shapes, &q->notice);
}

static seer_status show(
    seer_context *context, const char *shapes, seer_graph *graph, seer_arena *arena) {
  op_count *ops = SEER_NEW_ARRAY(arena, op_count, graph->n_node + 1);
  int32_t opset = 0;
  uint64_t weight_bytes = 0;
  size_t n_op = count_ops(graph, ops, &opset, arena);
  for (size_t i = 1; i < graph->n_value; i++)
    if (graph->value[i].constant) weight_bytes += graph->value[i].constant->n_bytes;
  question q = {shapes, graph, ""};
  seer_status cannot = seer_front_limited(context, graph->file_bytes, can_resolve, &q);
  const char *notice = q.notice;
  seer_status status = SEER_OK;
  if (seer_context_bool(context, SEER_OPT_JSON)) {
    json_t *by_op = json_object(), *unbuilt = json_array();
    seer_unbuilt_list(graph, unbuilt, arena);
    for (size_t i = 0; i < n_op; i++) add_count(by_op, &ops[i], arena);
    json_t *info = json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:I, s:o, s:s}", "model",
        seer_text_safe_whole(arena, graph->name), "opset", (int)opset, "inputs",
        values_json(graph, graph->input, graph->n_input, arena), "outputs",
        values_json(graph, graph->output, graph->n_output, arena), "bound",
        bound_json(graph, arena), "operators", by_op, "weight_bytes", (json_int_t)weight_bytes,
        "not_built", unbuilt, "problem", cannot ? seer_status_message(cannot) : "");
    status = seer_cli_put_json(info);
  } else {
    printf("%-12s%s\n", "model", seer_text_safe(arena, graph->name));
    if (opset > 0) printf("%-12s%d\n", "opset", opset);
    print_values(graph, graph->input, graph->n_input, "inputs", arena);
    print_values(graph, graph->output, graph->n_output, "outputs", arena);
    for (uint32_t i = 0; i < graph->n_bound; i++)
      printf("%-12s%s\n", i == 0 ? "bound" : "",
          seer_text_safe(arena, seer_bound_text(&graph->bound[i], arena)));
    printf("%-12s%.1f MiB\n", "weights", (double)weight_bytes / 1048576);
    for (size_t i = 0; i < n_op; i++)
      printf("%-12s%u %s\n", i == 0 ? "operators" : "", ops[i].count,
          seer_text_safe(arena, ops[i].name));
    if (*notice) printf("%-12s%s\n", "note", seer_text_safe_whole(arena, notice));
    if (cannot) printf("%-12s%s\n", "problem", seer_status_message(cannot));
  }
  seer_status_free(cannot);
  return status;
}

seer_status seer_info_network(seer_context *context, const char *model) {
  const char *shapes;
  SEER_TRY(seer_cli_one_shape(context, &shapes));
  seer_arena *arena = seer_arena_create("info");
  seer_graph *graph = NULL;
  seer_status status = seer_front_read(context, model, seer_model_build, arena, &graph);
  if (!status) status = show(context, shapes, graph, arena);
  if (graph) seer_graph_close(graph);
  seer_arena_destroy(arena);
  return status;
}
