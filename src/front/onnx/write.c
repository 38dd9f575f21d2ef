// write.c - graph -> ONNX file. Messages are laid out in an arena, pointing at the constants' data,
// and packed once. Weights go into the file; when that would pass protocol buffers' 2 GB they go
// into FILE.data beside it.
#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "front/onnx/onnx.h"

enum { IR_VERSION = 8, DEFAULT_OPSET = 13, DATA_ALIGN = 64 };
static const uint64_t max_inline_bytes = (UINT64_C(1) << 31) - (UINT64_C(1) << 26);

typedef struct {
  const seer_graph *graph;
  seer_arena *arena;
  const char *location;  // of external data; NULL: inline
  uint64_t n_external_bytes;
} writer;

static void *new_message(seer_arena *arena, const ProtobufCMessageDescriptor *descriptor) {
  ProtobufCMessage *message = seer_arena_alloc(arena, descriptor->sizeof_message, 16);
  protobuf_c_message_init(descriptor, message);
  return message;
}

static char *own(const writer *w, const char *text) { return seer_arena_strdup(w->arena, text); }

static ProtobufCBinaryData bytes_of(const void *data, size_t n) {
  return (ProtobufCBinaryData){n, (uint8_t *)(uintptr_t)data};
}

static void add_entry(
    const writer *w, Onnx__TensorProto *proto, const char *key, const char *value) {
  Onnx__StringStringEntryProto *entry =
      new_message(w->arena, &onnx__string_string_entry_proto__descriptor);
  entry->key = own(w, key);
  entry->value = own(w, value);
  proto->external_data[proto->n_external_data++] = entry;
}

// Small tensors stay inside in any case: they are shapes and axes, which readers need at once.
static bool goes_out(const writer *w, const seer_tensor *tensor) {
  enum { MIN_BYTES = 1024 };
  return w->location && seer_onnx_file_bytes(tensor) >= MIN_BYTES;
}

static Onnx__TensorProto *write_tensor(
    writer *w, const seer_tensor *tensor, const char *name, bool can_be_external) {
  Onnx__TensorProto *proto = new_message(w->arena, &onnx__tensor_proto__descriptor);
  proto->name = own(w, name);
  proto->has_data_type = true;
  proto->data_type = seer_onnx_dtype_number(tensor->dtype);
  proto->n_dims = tensor->rank;
  proto->dims = seer_arena_memdup(w->arena, tensor->dim, tensor->rank * sizeof *tensor->dim);
  if (can_be_external && goes_out(w, tensor)) {
    proto->has_data_location = true;
    proto->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    proto->external_data = SEER_NEW_ARRAY(w->arena, Onnx__StringStringEntryProto *, 3);
    w->n_external_bytes = (w->n_external_bytes + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN;
    add_entry(w, proto, "location", w->location);
    add_entry(w, proto, "offset", seer_arena_printf(w->arena, "%" PRIu64, w->n_external_bytes));
    size_t n_bytes = seer_onnx_file_bytes(tensor);
    add_entry(w, proto, "length", seer_arena_printf(w->arena, "%zu", n_bytes));
    w->n_external_bytes += n_bytes;
  } else {
    proto->has_raw_data = true;
    proto->raw_data = bytes_of(seer_onnx_file_data(tensor, w->arena), seer_onnx_file_bytes(tensor));
  }
  return proto;
}

static seer_status write_attr(writer *w, const seer_attr *attr, Onnx__AttributeProto **out_proto) {
  Onnx__AttributeProto *proto = new_message(w->arena, &onnx__attribute_proto__descriptor);
  *out_proto = proto;
  proto->name = own(w, attr->name);
  proto->has_type = true;
  switch (attr->kind) {
    case SEER_ATTR_INT:
      proto->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
      proto->has_i = true;
      proto->i = attr->i;
      break;
    case SEER_ATTR_FLOAT:
      proto->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
      proto->has_f = true;
      proto->f = (float)attr->f;
      break;
    case SEER_ATTR_STRING:
      proto->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
      proto->has_s = true;
      proto->s = bytes_of(attr->s, strlen(attr->s));
      break;
    case SEER_ATTR_INTS:
      proto->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
      proto->n_ints = attr->n;
      proto->ints = (int64_t *)(uintptr_t)attr->ints;
      break;
    case SEER_ATTR_FLOATS:
      proto->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
      proto->n_floats = attr->n;
      proto->floats = SEER_NEW_ARRAY(w->arena, float, attr->n);
      for (size_t k = 0; k < attr->n; k++) proto->floats[k] = (float)attr->floats[k];
      break;
    case SEER_ATTR_STRINGS:
      proto->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
      proto->n_strings = attr->n;
      proto->strings = SEER_NEW_ARRAY(w->arena, ProtobufCBinaryData, attr->n);
      for (size_t k = 0; k < attr->n; k++)
        proto->strings[k] = bytes_of(attr->strings[k], strlen(attr->strings[k]));
      break;
    case SEER_ATTR_TENSOR:
      proto->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
      proto->t = write_tensor(w, attr->tensor, "", false);
      break;
    case SEER_ATTR_GRAPH:
      return SEER_FAIL(
          UNSUPPORTED, "attribute '%s' is a graph, which cannot be written", attr->name);
  }
  return SEER_OK;
}

static char *value_name(const writer *w, seer_val v) {
  return own(w, v.i ? seer_graph_value(w->graph, v)->name : "");
}

static seer_status write_node(writer *w, const seer_node *node, Onnx__NodeProto **out_proto) {
  Onnx__NodeProto *proto = new_message(w->arena, &onnx__node_proto__descriptor);
  *out_proto = proto;
  proto->name = own(w, node->name);
  proto->op_type = own(w, node->op_type);
  if (node->domain[0]) proto->domain = own(w, node->domain);
  proto->n_input = node->n_in;
  proto->input = SEER_NEW_ARRAY(w->arena, char *, node->n_in);
  for (uint32_t k = 0; k < node->n_in; k++) proto->input[k] = value_name(w, node->in[k]);
  proto->n_output = node->n_out;
  proto->output = SEER_NEW_ARRAY(w->arena, char *, node->n_out);
  for (uint32_t k = 0; k < node->n_out; k++) proto->output[k] = value_name(w, node->out[k]);
  proto->attribute = SEER_NEW_ARRAY(w->arena, Onnx__AttributeProto *, node->n_attr);
  for (uint32_t k = 0; k < node->n_attr; k++) {
    SEER_TRYF(write_attr(w, &node->attr[k], &proto->attribute[proto->n_attribute++]), "node '%s'",
        node->name);
  }
  return SEER_OK;
}

static Onnx__ValueInfoProto *write_value(const writer *w, const seer_value *value) {
  Onnx__ValueInfoProto *proto = new_message(w->arena, &onnx__value_info_proto__descriptor);
  proto->name = own(w, value->name);
  if (value->dtype == SEER_DTYPE_NONE) return proto;
  Onnx__TypeProto *type = new_message(w->arena, &onnx__type_proto__descriptor);
  Onnx__TypeProto__Tensor *tensor = new_message(w->arena, &onnx__type_proto__tensor__descriptor);
  proto->type = type;
  type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  type->tensor_type = tensor;
  tensor->has_elem_type = true;
  tensor->elem_type = seer_onnx_dtype_number(value->dtype);
  if (!value->has_shape) return proto;
  tensor->shape = new_message(w->arena, &onnx__tensor_shape_proto__descriptor);
  tensor->shape->dim = SEER_NEW_ARRAY(w->arena, Onnx__TensorShapeProto__Dimension *, value->rank);
  for (uint32_t k = 0; k < value->rank; k++) {
    Onnx__TensorShapeProto__Dimension *dim =
        new_message(w->arena, &onnx__tensor_shape_proto__dimension__descriptor);
    tensor->shape->dim[tensor->shape->n_dim++] = dim;
    if (value->dim[k] >= 0) {
      dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
      dim->dim_value = value->dim[k];
    } else {
      dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
      dim->dim_param = seer_arena_printf(w->arena, "%s_%u", value->name, k);
    }
  }
  return proto;
}

// One version per domain; nodes that passes made may have been looked up under another, equal one.
static seer_status write_opsets(writer *w, Onnx__ModelProto *model) {
  const seer_graph *graph = w->graph;
  model->opset_import = SEER_NEW_ARRAY(w->arena, Onnx__OperatorSetIdProto *, graph->n_node + 1);
  int64_t version = graph->opset;
  for (size_t k = 1; k < graph->n_node && !graph->opset; k++) {
    const seer_node *node = &graph->node[k];
    if (!node->is_dead && !node->domain[0]) version = seer_max_i64(version, node->opset);
  }
  if (version < SEER_OPSET_OLDEST) version = DEFAULT_OPSET;
  for (size_t k = 0; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    if (k > 0 && node->is_dead) continue;
    const char *domain = k == 0 ? "" : node->domain;
    int64_t wanted = k == 0 ? version : node->opset;
    size_t at = 0;
    while (at < model->n_opset_import && strcmp(model->opset_import[at]->domain, domain) != 0) at++;
    if (at == model->n_opset_import) {
      Onnx__OperatorSetIdProto *opset =
          new_message(w->arena, &onnx__operator_set_id_proto__descriptor);
      opset->domain = own(w, domain);
      opset->has_version = true;
      opset->version = wanted;
      model->opset_import[model->n_opset_import++] = opset;
    } else if (k > 0 && model->opset_import[at]->version != wanted) {
      int32_t other = (int32_t)model->opset_import[at]->version;
      const seer_op_desc *op = seer_op_find(domain, node->op_type, node->opset);
      if (!op || seer_op_find(domain, node->op_type, other) != op) {
        return SEER_FAIL(UNSUPPORTED, "node '%s' (%s) is of opset %d, the file would be of %d",
            node->name, node->op_type, node->opset, other);
      }
    }
  }
  return SEER_OK;
}

static seer_status write_graph(writer *w, Onnx__GraphProto **out_proto) {
  const seer_graph *graph = w->graph;
  Onnx__GraphProto *proto = new_message(w->arena, &onnx__graph_proto__descriptor);
  *out_proto = proto;
  proto->name = own(w, graph->name[0] ? graph->name : "graph");
  proto->node = SEER_NEW_ARRAY(w->arena, Onnx__NodeProto *, graph->n_node);
  for (size_t k = 1; k < graph->n_node; k++) {
    if (!graph->node[k].is_dead)
      SEER_TRY(write_node(w, &graph->node[k], &proto->node[proto->n_node++]));
  }
  proto->initializer = SEER_NEW_ARRAY(w->arena, Onnx__TensorProto *, graph->n_value);
  for (size_t v = 1; v < graph->n_value; v++) {
    const seer_value *value = &graph->value[v];
    if (value->constant)
      proto->initializer[proto->n_initializer++] =
          write_tensor(w, value->constant, value->name, true);
  }
  proto->input = SEER_NEW_ARRAY(w->arena, Onnx__ValueInfoProto *, graph->n_input);
  for (uint32_t k = 0; k < graph->n_input; k++) {
    proto->input[proto->n_input++] = write_value(w, seer_graph_value(graph, graph->input[k]));
  }
  proto->output = SEER_NEW_ARRAY(w->arena, Onnx__ValueInfoProto *, graph->n_output);
  for (uint32_t k = 0; k < graph->n_output; k++) {
    proto->output[proto->n_output++] = write_value(w, seer_graph_value(graph, graph->output[k]));
  }
  return SEER_OK;
}

static seer_status write_external(writer *w, const char *path) {
  uint8_t *bytes = calloc(1, w->n_external_bytes ? w->n_external_bytes : 1);
  if (!bytes)
    return SEER_FAIL(RESOURCE, "no memory for %" PRIu64 " bytes of weights", w->n_external_bytes);
  uint64_t at = 0;
  for (size_t v = 1; v < w->graph->n_value; v++) {
    const seer_tensor *tensor = w->graph->value[v].constant;
    if (!tensor || !goes_out(w, tensor)) continue;
    at = (at + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN;
    memcpy(bytes + at, seer_onnx_file_data(tensor, w->arena), seer_onnx_file_bytes(tensor));
    at += seer_onnx_file_bytes(tensor);
  }
  seer_status status =
      seer_os_write_file(seer_os_path_join(w->arena, seer_os_path_dir(w->arena, path), w->location),
          bytes, w->n_external_bytes);
  free(bytes);
  return status;
}

static seer_status write_model(writer *w, const char *path) {
  uint64_t n_weight_bytes = 0;
  for (size_t v = 1; v < w->graph->n_value; v++) {
    if (w->graph->value[v].constant)
      n_weight_bytes += seer_onnx_file_bytes(w->graph->value[v].constant);
  }
  if (n_weight_bytes > max_inline_bytes)
    w->location = seer_arena_printf(w->arena, "%s.data", seer_os_path_base(path));
  Onnx__ModelProto *model = new_message(w->arena, &onnx__model_proto__descriptor);
  model->has_ir_version = true;
  model->ir_version = IR_VERSION;
  model->producer_name = own(w, "familyseer");
  SEER_TRY(write_opsets(w, model));
  SEER_TRY(write_graph(w, &model->graph));
  size_t n_bytes = onnx__model_proto__get_packed_size(model);
  uint8_t *bytes = malloc(n_bytes);
  if (!bytes) return SEER_FAIL(RESOURCE, "no memory for %zu bytes of model", n_bytes);
  onnx__model_proto__pack(model, bytes);
  seer_status status = w->location ? write_external(w, path) : SEER_OK;
  if (!status) status = seer_os_write_file(path, bytes, n_bytes);
  free(bytes);
  return status;
}

seer_status seer_onnx_write(const seer_graph *graph, const char *path) {
  writer w = {.graph = graph, .arena = seer_arena_create("onnx-write")};
  seer_status status = write_model(&w, path);
  seer_arena_destroy(w.arena);
  return seer_status_context(status, "writing %s", path);
}
