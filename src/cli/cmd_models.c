// cmd_models.c - familyseer models: the built-in networks; with --export, written as ONNX.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"
#include "cli/command.h"
#include "front/front.h"
#include "models/models.h"

static seer_status print_list(bool as_json) {
  json_t *array = as_json ? json_array() : NULL;
  for (size_t i = 0; i < seer_model_table_count; i++) {
    const seer_model_desc *model = seer_model_table[i];
    if (!as_json)
      printf("%-14s %s\n", model->name, model->doc);
    else
      json_array_append_new(array, json_pack("{s:s, s:s}", "name", model->name, "doc", model->doc));
  }
  if (!as_json) return SEER_OK;
  char *text = json_dumps(array, JSON_COMPACT);
  json_decref(array);
  if (!text) return SEER_FAIL(RESOURCE, "out of memory for JSON");
  puts(text);
  free(text);
  return SEER_OK;
}

static seer_status export_model(seer_context *context, const char *name, const char *folder) {
  seer_arena *arena = seer_arena_create("export");
  seer_graph *graph = NULL;
  const char *shapes = seer_context_str(context, SEER_OPT_INPUT_SHAPES);
  seer_status status = seer_model_build(name, shapes, arena, &graph);
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
    if (argc > 0) return seer_cli_usage_error("models takes a name only with --export");
    return print_list(seer_context_bool(context, SEER_OPT_JSON));
  }
  if (argc > 0 && !seer_model_find(argv[0])) {
    return seer_cli_usage_error("no built-in network '%s' (familyseer models lists them)", argv[0]);
  }
  const char *folder = seer_context_str(context, SEER_OPT_OUTPUT);
  if (!folder[0]) folder = ".";
  SEER_TRY(seer_os_make_dirs(folder));
  for (size_t i = 0; i < seer_model_table_count; i++) {
    if (argc > 0 && seer_model_table[i] != seer_model_find(argv[0])) continue;
    SEER_TRY(export_model(context, seer_model_table[i]->name, folder));
  }
  return SEER_OK;
}

const seer_command seer_command_models = {
    .name = "models",
    .args = "[--export [NAME] [-o DIR] [--input-shapes input:1x3x224x224]] [--json]",
    .doc = "the built-in networks; --export writes one or all of them as ONNX",
    .min_args = 0,
    .max_args = 1,
    .run = run_models,
};
