// load.c - a model's name -> network: reading, resolving, passes and tasks in one call, for each
// set of input shapes.
#include <string.h>

#include "front/bind.h"
#include "front/custom/custom.h"
#include "front/images.h"
#include "front/limit.h"
#include "front/pass/literal.h"
#include "front/range.h"
#include "front/sets.h"
#include "front/share.h"

#define MAX_TEXT_BYTES ((size_t)1 << 30)

static bool has_suffix(const char *text, const char *suffix) {
  size_t n = strlen(text), m = strlen(suffix);
  return n >= m && strcmp(text + n - m, suffix) == 0;
}

static seer_status check_bytes(const seer_context *context, const char *model, uint64_t n_bytes) {
  double limit = seer_context_f64(context, SEER_OPT_MODEL_LIMIT) * 0x1p30;
  if ((double)n_bytes <= limit) return SEER_OK;
  return SEER_FAIL(
      INVALID, "%s has %" PRIu64 " bytes, --model-limit allows %.0f", model, n_bytes, limit);
}

static seer_status check_size(
    const seer_context *context, const char *path, uint64_t *out_n_bytes) {
  SEER_TRY(seer_os_file_bytes(path, out_n_bytes));
  return check_bytes(context, path, *out_n_bytes);
}

seer_status seer_front_read_text(const seer_context *context, const char *path, seer_arena *arena,
    char **out_text, size_t *out_n_bytes) {
  uint64_t n_bytes;
  SEER_TRY(check_size(context, path, &n_bytes));
  if (n_bytes <= MAX_TEXT_BYTES) seer_front_allow(n_bytes);  // else it is refused below
  return seer_os_read_file(path, arena, MAX_TEXT_BYTES, out_text, out_n_bytes);
}

static seer_status read_graph_text(
    const seer_context *context, const char *path, seer_arena *arena, seer_graph **out_graph) {
  char *text;
  size_t n_bytes;
  SEER_TRY(seer_front_read_text(context, path, arena, &text, &n_bytes));
  SEER_TRY(seer_graph_parse(path, text, n_bytes, arena, out_graph));
  (*out_graph)->file_bytes = n_bytes;
  return seer_graph_sort(*out_graph);
}

// The n-th --input-shapes, "" when there is none.
static const char *input_shapes(const seer_context *context, uint32_t n) {
  return n < seer_context_n_values(context, SEER_OPT_INPUT_SHAPES)
      ? seer_context_value(context, SEER_OPT_INPUT_SHAPES, n)
      : "";
}

// With what people have in folders in mind.
static seer_status refuse_folder(const char *path, seer_arena *arena) {
  static const struct {
    const char *file, *what;
  } known[] = {
      {"model.so", "the folder of a library; `familyseer info` says what that was made of"},
      {"model.onnx", "a folder; the network in it is model.onnx"},
      {"saved_model.pb", "a network of TensorFlow; tf2onnx (PyPI) makes an ONNX file of it"},
      {"config.json", "a folder of transformers; optimum (PyPI) makes an ONNX file of it"}};
  for (size_t i = 0; i < SEER_COUNT_OF(known); i++)
    if (seer_os_exists(seer_os_path_join(arena, path, known[i].file)))
      return SEER_FAIL(INVALID, "%s must be a model file, and is %s", path, known[i].what);
  return SEER_FAIL(INVALID, "%s is a folder, must be a model file", path);
}

static seer_status read_model(const seer_context *context, const seer_front_source *source,
    const char *shapes, seer_builtin_model builtin, const seer_graph *like, seer_arena *arena,
    seer_graph **out_graph) {
  const char *model = source->model;
  *out_graph = NULL;
  if (source->is_bytes) {
    SEER_TRY(check_bytes(context, model, source->n_bytes));
    return seer_onnx_read_memory(source, arena, out_graph);
  }
  if (seer_os_exists(model)) {
    if (seer_os_is_dir(model)) return refuse_folder(model, arena);
    if (has_suffix(model, ".graph")) return read_graph_text(context, model, arena, out_graph);
    uint64_t n_bytes;
    SEER_TRY(check_size(context, model, &n_bytes));
    return seer_onnx_read(model, arena, out_graph);
  }
  // "resnet18:batch=4,size=192": what stands behind the colon is the built-in network's, and so are
  // input shapes.
  size_t n_name = strcspn(model, ":");
  const char *options = model[n_name] ? model + n_name + 1 : "";
  if (shapes[0]) options = options[0] ? seer_arena_printf(arena, "%s,%s", options, shapes) : shapes;
  seer_front_allow_all();
  if (builtin)
    SEER_TRY(builtin(seer_arena_strndup(arena, model, n_name), options, like, arena, out_graph));
  if (*out_graph) return SEER_OK;
  return SEER_FAIL(NOT_FOUND,
      "'%s' is neither a file nor a built-in network (`familyseer models` lists those)", model);
}

typedef struct {
  const seer_context *context;
  const seer_front_source *source;
  seer_builtin_model builtin;
  seer_arena *arena;
  seer_graph **out_graph;
  seer_network **out_network;
  bool is_literal;
  // What --input-shapes gives, in sets; none: "".
  const char *const *shapes;
  uint32_t n_set;
  seer_range *range;  // NULL: none, or nothing is run
} loading;

static seer_status read_and_bind(const loading *l, seer_graph **out_graph) {
  SEER_TRY(read_model(l->context, l->source, l->shapes[0], l->builtin, NULL, l->arena, out_graph));
  seer_status status = seer_custom_open(l->context, *out_graph);
  if (!status) status = seer_graph_bind(l->context, *out_graph);
  if (!status) status = seer_graph_share(l->context, *out_graph);
  if (!status) return SEER_OK;
  seer_graph_close(*out_graph);
  *out_graph = NULL;
  return SEER_STATUS_FAILED(seer_status_context(status, "reading %s", l->source->model));
}

static seer_status read_within(void *user) {
  const loading *l = user;
  return read_and_bind(l, l->out_graph);
}

// Files are at least one byte; what they have is added when they are opened.
seer_status seer_front_read(const seer_context *context, const char *model,
    seer_builtin_model builtin, seer_arena *arena, seer_graph **out_graph) {
  const seer_front_source source = {.model = model};
  const char *const shapes = input_shapes(context, 0);
  loading l = {.context = context,
      .source = &source,
      .builtin = builtin,
      .arena = arena,
      .out_graph = out_graph,
      .shapes = &shapes,
      .n_set = 1};
  *out_graph = NULL;
  return seer_front_limited(context, 1, read_within, &l);
}

// graph[0] is the model as read; the others are copies of it, or, of a built-in network, built for
// their shapes with its constants. All before one is resolved, which changes it.
static seer_status make_graphs(const loading *l, seer_graph **graph) {
  bool is_file = l->source->is_bytes || seer_os_exists(l->source->model);
  for (uint32_t s = 1; s < l->n_set; s++) {
    if (is_file) {
      graph[s] = seer_graph_copy(graph[0]);
      continue;
    }
    SEER_TRY(
        read_model(l->context, l->source, l->shapes[s], l->builtin, graph[0], l->arena, &graph[s]));
    graph[s]->permuted = graph[0]->permuted;
    SEER_TRY(seer_graph_bind(l->context, graph[s]));
    SEER_TRY(seer_graph_share(l->context, graph[s]));
  }
  return SEER_OK;
}

static seer_status with_shapes(const loading *l, uint32_t s, seer_status status) {
  if (!status || l->n_set == 1) return status;
  return seer_status_context(status, "for input shapes '%s'", l->shapes[s]);
}

static seer_status resolve(const loading *l, uint32_t s, seer_graph *graph, const char **notice) {
  SEER_TRY(seer_context_check_stop(l->context));
  seer_status status = seer_front_resolve(graph, l->shapes[s], notice);
  if (status && l->source->missing) *l->source->missing = graph->missing;
  SEER_TRY(status);
  return seer_graph_check_shared(graph, l->arena);
}

// The front end in order, behind resolving.
static seer_status build(
    const loading *l, uint32_t s, seer_graph *graph, seer_network **out_network) {
  SEER_TRY(seer_context_check_stop(l->context));
  if (l->is_literal)
    SEER_TRY(seer_literal_show(graph));
  else
    SEER_TRY(seer_front_run_passes(l->context, graph));
  SEER_TRY(seer_network_build(l->context, graph, l->arena, out_network));
  if (l->is_literal) return SEER_OK;
  if (l->range) SEER_TRY(seer_range_prove(l->range, *out_network, s));
  return seer_images_make(l->context, *out_network, l->arena);
}

// The same for all sets, over one list of tasks. Those of a range are compared as they are
// resolved, before a pass changes one.
static seer_status build_network(const loading *l, seer_graph *first, seer_network **out_network) {
  uint32_t n = l->n_set;
  seer_graph **graph = SEER_NEW_ARRAY(l->arena, seer_graph *, n);
  seer_network **network = SEER_NEW_ARRAY(l->arena, seer_network *, n);
  const char **notice = SEER_NEW_ARRAY(l->arena, const char *, n);
  SEER_TRY(seer_sets_check(l->shapes, n));
  graph[0] = first;
  SEER_TRY(make_graphs(l, graph));
  for (uint32_t s = 0; s < n; s++) SEER_TRY(with_shapes(l, s, resolve(l, s, graph[s], &notice[s])));
  for (uint32_t s = 1; s < n && l->range; s++)
    SEER_TRY(with_shapes(l, s, seer_range_check_same(l->range, graph[0], graph[s], s)));
  for (uint32_t s = 0; s < n; s++) {
    SEER_TRY(with_shapes(l, s, build(l, s, graph[s], &network[s])));
    network[s]->notice = notice[s];
  }
  SEER_TRY(seer_sets_join(network, n, l->arena));
  for (uint32_t s = 0; s < n; s++) network[s]->range = l->range;
  *out_network = network[0];
  return seer_graph_check_files(first);
}

// The sets of --input-shapes.
static seer_status find_sets(loading *l) {
  uint32_t n = (uint32_t)seer_context_n_values(l->context, SEER_OPT_INPUT_SHAPES);
  const char **given = SEER_NEW_ARRAY(l->arena, const char *, n + 1);
  for (uint32_t s = 0; s < n; s++) given[s] = input_shapes(l->context, s);
  given[n] = "";
  SEER_TRY(seer_range_expand(given, n > 0 ? n : 1, l->arena, &l->range, &l->shapes, &l->n_set));
  if (l->is_literal) l->range = NULL;  // a judge of sizes, each for itself
  const seer_target *target = seer_context_target(l->context);
  if (!l->range || !target || target->kind == SEER_TARGET_CPU) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED,
      "--input-shapes: a range of batches is for processors; for a GPU, list the sizes");
}

static seer_status load(void *user) {
  loading *l = user;
  seer_graph *graph = NULL;
  seer_network *network = NULL;
  SEER_TRY(find_sets(l));
  SEER_TRY(read_and_bind(l, &graph));
  seer_status status = build_network(l, graph, &network);
  if (status) {
    seer_graph_close(graph);
    return seer_status_context(status, "loading %s", l->source->model);
  }
  *l->out_network = network;
  return SEER_OK;
}

static seer_status load_within(const seer_context *context, const seer_front_source *source,
    seer_builtin_model builtin, bool is_literal, seer_arena *arena, seer_network **out_network) {
  loading l = {.context = context,
      .source = source,
      .builtin = builtin,
      .arena = arena,
      .out_network = out_network,
      .is_literal = is_literal};
  *out_network = NULL;
  if (!is_literal) SEER_TRY(seer_front_check_precision(context));
  return seer_front_limited(context, 1, load, &l);
}

seer_status seer_front_load_from(const seer_context *context, const seer_front_source *source,
    seer_builtin_model builtin, seer_arena *arena, seer_network **out_network) {
  return load_within(context, source, builtin, false, arena, out_network);
}

seer_status seer_front_load(const seer_context *context, const char *model,
    seer_builtin_model builtin, seer_arena *arena, seer_network **out_network) {
  const seer_front_source source = {.model = model};
  return load_within(context, &source, builtin, false, arena, out_network);
}

seer_status seer_front_load_literal(const seer_context *context, const char *model,
    seer_builtin_model builtin, seer_arena *arena, seer_network **out_network) {
  const seer_front_source source = {.model = model};
  return load_within(context, &source, builtin, true, arena, out_network);
}
