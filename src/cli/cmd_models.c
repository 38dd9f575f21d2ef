// cmd_models.c - familyseer models: the built-in networks; with --export, written as ONNX.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "cli/command.h"
#include "cli/json.h"
#include "front/front.h"
#include "models/models.h"

// What a network comes to, without its weights: parameters, work and tasks.
typedef struct {
  int64_t n_param;
  double gflop;
  uint32_t n_task;
} network_size;

static int64_t count_parameters(const seer_graph *graph) {
  int64_t n = 0;
  for (uint32_t v = 1; v < graph->n_value; v++) {
    const seer_tensor *tensor = graph->value[v].constant;
    bool is_statistic = strstr(graph->value[v].name, ".running_") != NULL;
    if (tensor && tensor->rank > 0 && seer_dtype_is_float(tensor->dtype) && !is_statistic)
      n += seer_tensor_elems(tensor);
  }
  return n;
}

static seer_status measure(
    const seer_context *context, const char *name, seer_arena *arena, network_size *out) {
  seer_graph *graph = NULL;
  seer_network *network = NULL;
  SEER_TRY(seer_model_outline(name, "", arena, &graph));
  out->n_param = count_parameters(graph);
  SEER_TRY(seer_front_resolve(graph, "", NULL));
  SEER_TRY(seer_front_run_passes(context, graph));
  SEER_TRY(seer_network_build(context, graph, arena, &network));
  out->n_task = network->n_task;
  out->gflop = seer_network_flops(network) * 1e-9;
  return SEER_OK;
}

static seer_status print_list(const seer_context *context, bool as_json) {
  json_t *array = as_json ? json_array() : NULL;
  if (!as_json) printf("%-18s %10s %8s %6s\n", "network", "parameters", "GFLOP", "tasks");
  for (size_t i = 0; i < seer_model_table_count; i++) {
    const seer_model_desc *model = seer_model_table[i];
    seer_arena *arena = seer_arena_create("models");
    network_size size;
    seer_status status = measure(context, model->name, arena, &size);
    seer_arena_destroy(arena);
    if (status) {
      json_decref(array);
      return seer_status_context(status, "building %s", model->name);
    }
    if (!as_json) {
      printf("%-18s %8.1f M %8.2f %6u  %s\n", model->name, (double)size.n_param * 1e-6, size.gflop,
          size.n_task, model->doc);
    } else {
      json_array_append_new(array,
          json_pack("{s:s, s:s, s:I, s:f, s:i}", "name", model->name, "doc", model->doc,
              "parameters", (json_int_t)size.n_param, "gflop", size.gflop, "tasks",
              (int)size.n_task));
    }
  }
  if (!as_json) return SEER_OK;
  return seer_cli_put_json(array);
}

static seer_status export_model(seer_context *context, const char *name, const char *folder) {
  const char *shapes;
  SEER_TRY(seer_cli_one_shape(context, &shapes));
  seer_arena *arena = seer_arena_create("export");
  seer_graph *graph = NULL;
  seer_status status = seer_model_build(name, shapes, NULL, arena, &graph);
  if (!status) {
    const char *path = seer_os_path_join(arena, folder, seer_arena_printf(arena, "%s.onnx", name));
    status = seer_onnx_write(graph, path);
    if (!status) printf("%s\n", path);
    seer_graph_close(graph);
  }
  seer_arena_destroy(arena);
  return seer_status_context(status, "exporting %s", name);
}

static seer_status run_models(seer_context *context, int argc, char **argv) {
  if (!seer_context_bool(context, SEER_OPT_EXPORT)) {
    if (argc > 0) return seer_usage_error("models takes a name only with --export");
    return print_list(context, seer_context_bool(context, SEER_OPT_JSON));
  }
  if (argc == 0) {
    return seer_usage_error(
        "models --export takes a name (familyseer models lists them), or 'all': more than 10 GB");
  }
  bool is_all = strcmp(argv[0], "all") == 0;
  const seer_model_desc *chosen = seer_model_find(argv[0]);
  if (!chosen && !is_all)
    return seer_usage_error("no built-in network '%s' (familyseer models lists them)", argv[0]);
  const char *folder = seer_context_str(context, SEER_OPT_OUTPUT);
  if (!folder[0]) folder = ".";
  SEER_TRY(seer_os_make_dirs(folder));
  for (size_t i = 0; i < seer_model_table_count; i++) {
    if (!is_all && seer_model_table[i] != chosen) continue;
    SEER_TRY(export_model(context, seer_model_table[i]->name, folder));
  }
  return SEER_OK;
}

const seer_command seer_command_models = {
    .name = "models",
    .args = "[--export NAME|all [-o DIR] [--input-shapes input:1x3x224x224]] [--json]",
    .doc =
        "the built-in networks, their parameters, work and tasks; --export writes one, or all, "
        "as ONNX",
    .example = "  familyseer models --export resnet18 -o .\n",
    .min_args = 0,
    .max_args = 1,
    .run = run_models,
};
