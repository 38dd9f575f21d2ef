// load.c - a model's name -> network: reading, resolving, passes and tasks in one call.
#include <string.h>

#include "front/front.h"

static bool has_suffix(const char *text, const char *suffix) {
  size_t n = strlen(text), m = strlen(suffix);
  return n >= m && strcmp(text + n - m, suffix) == 0;
}

static seer_status read_text(const char *path, seer_arena *arena, seer_graph **out_graph) {
  char *text;
  size_t n_bytes;
  SEER_TRY(seer_os_read_file(path, arena, (size_t)1 << 31, &text, &n_bytes));
  SEER_TRY(seer_graph_parse(path, text, n_bytes, arena, out_graph));
  return seer_graph_sort(*out_graph);
}

seer_status seer_front_read(const seer_context *context, const char *model,
    seer_builtin_model builtin, seer_arena *arena, seer_graph **out_graph) {
  *out_graph = NULL;
  if (seer_os_exists(model)) {
    if (seer_os_is_dir(model))
      return SEER_FAIL(INVALID, "%s is a folder, must be a model file", model);
    if (has_suffix(model, ".graph")) return read_text(model, arena, out_graph);
    return seer_onnx_read(model, arena, out_graph);
  }
  // "resnet18:batch=4,size=192": what stands behind the colon is the built-in network's, and so are
  // input shapes.
  size_t n_name = strcspn(model, ":");
  const char *options = model[n_name] ? model + n_name + 1 : "";
  const char *shapes = seer_context_str(context, SEER_OPT_INPUT_SHAPES);
  if (shapes[0]) options = options[0] ? seer_arena_printf(arena, "%s,%s", options, shapes) : shapes;
  if (builtin)
    SEER_TRY(builtin(seer_arena_strndup(arena, model, n_name), options, arena, out_graph));
  if (*out_graph) return SEER_OK;
  return SEER_FAIL(NOT_FOUND,
      "'%s' is neither a file nor a built-in network (`familyseer models` lists those)", model);
}

static seer_status resolve_and_build(
    const seer_context *context, seer_graph *graph, seer_arena *arena, seer_network **out_network) {
  const char *notice;
  SEER_TRY(seer_front_resolve(graph, seer_context_str(context, SEER_OPT_INPUT_SHAPES), &notice));
  SEER_TRY(seer_front_run_passes(context, graph));
  SEER_TRY(seer_network_build(context, graph, arena, out_network));
  (*out_network)->notice = notice;
  return SEER_OK;
}

seer_status seer_front_load(const seer_context *context, const char *model,
    seer_builtin_model builtin, seer_arena *arena, seer_network **out_network) {
  *out_network = NULL;
  seer_graph *graph;
  SEER_TRY(seer_front_read(context, model, builtin, arena, &graph));
  seer_status status = resolve_and_build(context, graph, arena, out_network);
  if (!status) return SEER_OK;
  seer_graph_close(graph);
  return seer_status_context(status, "loading %s", model);
}
