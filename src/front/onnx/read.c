// read.c - ONNX file -> graph: the model's header, its inputs, constants and outputs, in the order
// in which names must be known. Nodes are read by node.c, payloads by tensor.c, after wire.c has
// been over the bytes.
#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "front/limit.h"
#include "front/onnx/onnx.h"

static seer_status check_opset(const seer_onnx_file *file, int64_t *out_opset) {
  const Onnx__ModelProto *model = file->model;
  if (!model->graph)
    return SEER_FAIL(INVALID, "%s is no ONNX model: it has no graph", file->source);
  for (size_t k = 0; k < model->n_opset_import; k++) {
    const char *domain = model->opset_import[k]->domain;
    if (domain && domain[0] && strcmp(domain, "ai.onnx") != 0) continue;
    int64_t version = model->opset_import[k]->version;
    if (version < SEER_OPSET_OLDEST || version > SEER_OPSET_NEWEST) {
      return SEER_FAIL(UNSUPPORTED, "%s: opset %" PRId64 ", supported are %d to %d", file->source,
          version, SEER_OPSET_OLDEST, SEER_OPSET_NEWEST);
    }
    *out_opset = version;
    return SEER_OK;
  }
  return SEER_FAIL(INVALID, "%s: it imports no operator set of ai.onnx", file->source);
}

static seer_status name_initializer(
    const seer_onnx_file *file, const seer_onnx_scope *scope, const char *name, size_t k) {
  if (!name || !name[0])
    return SEER_FAIL(INVALID, "%s: initialiser %zu has no name", file->source, k);
  if (seer_map_get_str(scope->names, name, NULL))
    return SEER_FAIL(INVALID, "%s: two initialisers are named '%s'", file->source, name);
  return SEER_OK;
}

static seer_status read_initializers(
    seer_onnx_file *file, seer_onnx_scope *scope, const Onnx__GraphProto *graph) {
  size_t n_dense = graph->n_initializer;
  for (size_t k = 0; k < n_dense + graph->n_sparse_initializer; k++) {
    const Onnx__SparseTensorProto *sparse =
        k < n_dense ? NULL : graph->sparse_initializer[k - n_dense];
    const char *name = sparse ? seer_onnx_sparse_name(sparse) : graph->initializer[k]->name;
    SEER_TRY(name_initializer(file, scope, name, k));
    seer_tensor tensor;
    SEER_TRY(sparse ? seer_onnx_sparse(file, sparse, &tensor)
                    : seer_onnx_tensor(file, graph->initializer[k], &tensor));
    seer_val value = seer_graph_add_constant(scope->graph, name, &tensor);
    seer_map_set_str(scope->names, name, value.i);
  }
  return SEER_OK;
}

static seer_status read_type(const Onnx__TypeProto *type, seer_value *out_value) {
  if (!type || type->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET)
    return SEER_FAIL(INVALID, "it has no type");
  if (type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
    return SEER_FAIL(
        UNSUPPORTED, "sequences, maps, optionals and sparse tensors are not supported");
  }
  const Onnx__TypeProto__Tensor *tensor = type->tensor_type;
  out_value->dtype = seer_onnx_dtype(tensor->elem_type);
  if (out_value->dtype == SEER_DTYPE_NONE) {
    return SEER_FAIL(UNSUPPORTED, "element type %d (%s) is not supported", tensor->elem_type,
        seer_onnx_dtype_name(tensor->elem_type));
  }
  out_value->has_shape = tensor->shape != NULL;
  if (!tensor->shape) return SEER_OK;
  if (tensor->shape->n_dim > SEER_MAX_RANK) {
    return SEER_FAIL(UNSUPPORTED, "%zu dimensions, at most %d are supported", tensor->shape->n_dim,
        SEER_MAX_RANK);
  }
  out_value->rank = (uint8_t)tensor->shape->n_dim;
  for (size_t k = 0; k < tensor->shape->n_dim; k++) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[k];
    bool is_fixed = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
        dim->dim_value > 0;
    out_value->dim[k] =
        is_fixed ? dim->dim_value : -1;  // old exporters write an unknown size as 0 or -1
  }
  return SEER_OK;
}

static void name_dims(seer_graph *graph, seer_val input, const Onnx__TensorShapeProto *shape) {
  for (uint32_t k = 0; shape && k < shape->n_dim; k++) {
    const Onnx__TensorShapeProto__Dimension *dim = shape->dim[k];
    bool is_named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    if (is_named && dim->dim_param && dim->dim_param[0])
      seer_graph_name_dim(graph, input, k, dim->dim_param);
  }
}

static seer_status read_inputs(seer_onnx_file *file, seer_onnx_scope *scope) {
  const Onnx__GraphProto *graph = file->model->graph;
  for (size_t k = 0; k < graph->n_input; k++) {
    const char *name = graph->input[k]->name;
    if (!name || !name[0]) return SEER_FAIL(INVALID, "%s: input %zu has no name", file->source, k);
    uint64_t id;
    if (seer_map_get_str(scope->names, name, &id)) {
      // Up to IR version 3 every initialiser had to be an input, too: a default that nobody
      // overrides here.
      if (file->graph->value[id].constant) continue;
      return SEER_FAIL(INVALID, "%s: two inputs are named '%s'", file->source, name);
    }
    seer_value type = {0};
    SEER_TRYF(
        read_type(graph->input[k]->type, &type), "reading input '%s' of %s", name, file->source);
    seer_val value = seer_graph_add_value(
        file->graph, name, type.dtype, type.dim, type.has_shape ? type.rank : -1);
    seer_map_set_str(scope->names, name, value.i);
    seer_graph_mark_input(file->graph, value);
    name_dims(file->graph, value, graph->input[k]->type->tensor_type->shape);
  }
  return SEER_OK;
}

// `v` once more, as a value of its own that the caller knows by the same name.
static seer_val copy_of(seer_graph *graph, seer_val v, const char *name) {
  enum { OPSET = 13 };
  const char *again =
      seer_graph_fresh_name(graph, seer_arena_printf(graph->arena, "%s.again", name));
  seer_val copy = seer_graph_add_value(graph, again, SEER_DTYPE_NONE, NULL, -1);
  seer_graph_value(graph, copy)->shown = seer_arena_strdup(graph->arena, name);
  seer_graph_add_node(graph, again, "", "Identity", OPSET, &v, 1, &copy, 1, NULL, 0);
  return copy;
}

static seer_status read_outputs(
    seer_onnx_file *file, seer_onnx_scope *scope, const Onnx__GraphProto *graph) {
  if (graph->n_output == 0) return SEER_FAIL(INVALID, "%s: it has no outputs", file->source);
  for (size_t k = 0; k < graph->n_output; k++) {
    const char *name = graph->output[k]->name;
    seer_val value = {0};
    if (name && (scope->outer || seer_map_get_str(scope->names, name, NULL)))
      value = seer_onnx_operand(file, scope, name);
    if (value.i == 0) {
      return SEER_FAIL(
          INVALID, "%s: output '%s' is made by no node", file->source, name ? name : "");
    }
    // A body may give the same value twice, or an input back.
    if (!scope->outer && scope->graph->value[value.i].is_output)
      value = copy_of(scope->graph, value, name);
    seer_graph_mark_output(scope->graph, value);
  }
  return SEER_OK;
}

// ---- bodies

seer_status seer_onnx_body(seer_onnx_file *file, seer_onnx_scope *scope,
    const Onnx__GraphProto *proto, seer_attr *out_attr) {
  seer_arena *arena = file->graph->arena;
  seer_onnx_scope inner = *scope;  // of a function's body: its attributes are known here, too
  inner.graph = seer_graph_create(arena, proto->name);
  inner.names = seer_map_create(arena);
  inner.prefix = "";
  inner.outer = scope;
  inner.capture = NULL;
  inner.n_capture = inner.cap_capture = 0;
  SEER_TRY(read_initializers(file, &inner, proto));
  for (size_t k = 0; k < proto->n_input; k++) {
    const char *name = proto->input[k]->name;
    if (!name || !name[0] || seer_map_get_str(inner.names, name, NULL))
      return SEER_FAIL(INVALID, "its input %zu has no name of its own", k);
    seer_graph_mark_input(inner.graph, seer_onnx_value(file, &inner, name));
  }
  SEER_TRY(seer_onnx_nodes(file, &inner, proto->n_node, proto->node));
  SEER_TRY(read_outputs(file, &inner, proto));
  SEER_TRY(seer_graph_sort(inner.graph));
  SEER_TRY(seer_graph_verify(inner.graph));
  int64_t *ids = SEER_NEW_ARRAY(arena, int64_t, inner.n_capture);
  for (size_t k = 0; k < inner.n_capture; k++) ids[k] = inner.capture[k].i;
  out_attr->kind = SEER_ATTR_GRAPH;
  out_attr->graph = inner.graph;
  out_attr->n = inner.n_capture;
  out_attr->ints = ids;
  return SEER_OK;
}

static seer_status read_model(seer_onnx_file *file) {
  SEER_TRY(check_opset(file, &file->graph->opset));
  const Onnx__ModelProto *model = file->model;
  seer_graph *graph = file->graph;
  graph->name = seer_arena_strdup(graph->arena, model->graph->name ? model->graph->name : "");
  graph->producer =
      seer_arena_strdup(graph->arena, model->producer_name ? model->producer_name : "");
  seer_onnx_scope scope = {.graph = graph,
      .names = seer_map_create(graph->arena),
      .prefix = "",
      .n_opset = model->n_opset_import,
      .opset = model->opset_import};
  SEER_TRY(read_initializers(file, &scope, model->graph));
  SEER_TRY(read_inputs(file, &scope));
  SEER_TRYF(seer_onnx_nodes(file, &scope, model->graph->n_node, model->graph->node), "reading %s",
      file->source);
  SEER_TRY(read_outputs(file, &scope, model->graph));
  SEER_TRYF(seer_graph_sort(graph), "reading %s", file->source);
  SEER_TRYF(seer_graph_verify(graph), "reading %s", file->source);
  return SEER_OK;
}

// Decoded messages live until the reading ends, or is left: nothing is freed one by one.
static void *decoded_alloc(void *arena, size_t n_bytes) {
  return seer_arena_alloc(arena, n_bytes, _Alignof(max_align_t));
}

static void decoded_free(void *arena, void *message) { (void)arena, (void)message; }

static seer_status decode_and_read(seer_onnx_file *file, seer_arena *decoded) {
  SEER_TRY(seer_onnx_check_kind(file->source, file->data, file->n_bytes));
  SEER_TRY(seer_onnx_walk(file->source, file->data, file->n_bytes, decoded, &file->wire));
  file->allocator = (ProtobufCAllocator){decoded_alloc, decoded_free, decoded};
  file->model =
      onnx__model_proto__unpack(&file->allocator, file->wire.n_bytes, file->wire.skeleton);
  if (!file->model)
    return SEER_FAIL(
        INVALID, "%s is no ONNX file, or damaged: its messages do not decode", file->source);
  return read_model(file);
}

static seer_status read_file(seer_onnx_file *file) {
  seer_graph *graph = file->graph;
  file->external = seer_map_create(graph->arena);
  graph->file_bytes += file->n_bytes;
  seer_front_allow(file->n_bytes);
  seer_arena *decoded = seer_arena_create("ONNX messages");
  seer_status status = decode_and_read(file, decoded);
  seer_arena_destroy(decoded);
  return status;
}

seer_status seer_onnx_read_bytes(
    const char *source, const void *data, size_t n_bytes, const char *folder, seer_graph *graph) {
  seer_onnx_file file = {
      .source = source, .folder = folder, .data = data, .n_bytes = n_bytes, .graph = graph};
  if (folder) file.real_folder = seer_os_real_folder(source, graph->arena);
  return read_file(&file);
}

static void close_graph(void *graph) { seer_graph_close(graph); }

seer_status seer_onnx_read(const char *path, seer_arena *arena, seer_graph **out_graph) {
  *out_graph = NULL;
  seer_graph *graph = seer_graph_create(arena, "");
  graph->map = SEER_GROW(arena, seer_os_map, graph->map, 0, &graph->cap_map);
  const char *folder = seer_os_path_dir(arena, path);
  SEER_TRY(seer_os_map_file(path, &graph->map[0]));
  graph->n_map = 1;
  seer_recover_own(&graph->owned, close_graph, graph);
  seer_status status =
      seer_onnx_read_bytes(path, graph->map[0].data, graph->map[0].n_bytes, folder, graph);
  if (!status) status = seer_graph_check_files(graph);
  if (status) {
    seer_graph_close(graph);
    return status;
  }
  *out_graph = graph;
  return SEER_OK;
}

seer_status seer_onnx_read_memory(
    const seer_front_source *source, seer_arena *arena, seer_graph **out_graph) {
  *out_graph = NULL;
  seer_graph *graph = seer_graph_create(arena, "");
  seer_recover_own(&graph->owned, close_graph, graph);  // of external data in files
  seer_onnx_file file = {.source = source->model,
      .folder = source->folder,
      .data = source->data,
      .n_bytes = source->n_bytes,
      .graph = graph,
      .given = source->tensor,
      .n_given = source->n_tensor};
  for (uint32_t k = 0; k < source->n_tensor; k++) {
    graph->file_bytes += source->tensor[k].n_bytes;
    seer_front_allow(source->tensor[k].n_bytes);
  }
  seer_status status = read_file(&file);
  if (!status) status = seer_graph_check_files(graph);
  if (status) {
    seer_graph_close(graph);
    return status;
  }
  *out_graph = graph;
  return SEER_OK;
}
