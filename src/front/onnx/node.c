// node.c - NodeProto -> nodes of the graph: attributes, Constant nodes (which become constants at
// once) and calls of the model's own functions, which are expanded in place, names prefixed by the
// call's.
#include <stdlib.h>
#include <string.h>

#include "front/limit.h"
#include "front/onnx/onnx.h"

// A function may call others; a chain of calls that doubles at each step must not fill the memory.
// No operator has more than a few dozen attributes; functions of exporters have fewer still.
enum { MAX_CALL_DEPTH = 32, MAX_NODES = 1000000, MAX_ATTRS = 1024 };

static const char *text_or(const char *text, const char *otherwise) {
  return text ? text : otherwise;
}

static const char *domain_of(const char *domain) {
  return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static int32_t opset_of(const seer_onnx_scope *scope, const char *domain) {
  for (size_t k = 0; k < scope->n_opset; k++) {
    if (strcmp(domain_of(scope->opset[k]->domain), domain) == 0) {
      int64_t version = scope->opset[k]->version;
      return version > 0 && version < 10000 ? (int32_t)version : 1;
    }
  }
  return scope->caller ? opset_of(scope->caller, domain) : 1;
}

static const char *prefixed(
    const seer_onnx_file *file, const seer_onnx_scope *scope, const char *name) {
  return seer_graph_join_names(file->graph->arena, scope->prefix, name);
}

seer_val seer_onnx_value(seer_onnx_file *file, seer_onnx_scope *scope, const char *name) {
  if (!name || !name[0]) return (seer_val){0};
  uint64_t id;
  if (seer_map_get_str(scope->names, name, &id)) return (seer_val){(uint32_t)id};
  seer_val value =
      seer_graph_add_value(scope->graph, prefixed(file, scope, name), SEER_DTYPE_NONE, NULL, -1);
  seer_map_set_str(scope->names, name, value.i);
  return value;
}

// A value that is known here or further out; 0 when there is none.
static seer_val known(seer_onnx_scope *scope, const char *name) {
  uint64_t id;
  if (seer_map_get_str(scope->names, name, &id)) return (seer_val){(uint32_t)id};
  seer_val from = scope->outer ? known(scope->outer, name) : (seer_val){0};
  if (from.i == 0) return from;
  seer_val here = seer_graph_add_value(scope->graph, name, SEER_DTYPE_NONE, NULL, -1);
  seer_graph_mark_input(scope->graph, here);
  scope->capture = SEER_GROW(
      scope->graph->arena, seer_val, scope->capture, scope->n_capture, &scope->cap_capture);
  scope->capture[scope->n_capture++] = from;
  seer_map_set_str(scope->names, name, here.i);
  return here;
}

seer_val seer_onnx_operand(seer_onnx_file *file, seer_onnx_scope *scope, const char *name) {
  if (!name || !name[0]) return (seer_val){0};
  seer_val value = known(scope, name);
  return value.i ? value : seer_onnx_value(file, scope, name);
}

// ---- attributes

static Onnx__AttributeProto__AttributeType type_of(const Onnx__AttributeProto *proto) {
  if (proto->has_type && proto->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED)
    return proto->type;
  // Files before IR version 2 have no type: whatever is there.
  if (proto->has_f) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
  if (proto->has_i) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
  if (proto->has_s) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
  if (proto->t) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
  if (proto->n_floats) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
  if (proto->n_ints) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
  if (proto->n_strings) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
  return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED;
}

static const char *bytes_text(seer_arena *arena, ProtobufCBinaryData bytes) {
  return seer_arena_strndup(arena, bytes.data ? (const char *)bytes.data : "", bytes.len);
}

static seer_status read_attr(seer_onnx_file *file, seer_onnx_scope *scope,
    const Onnx__AttributeProto *proto, const char *name, seer_attr *out_attr) {
  seer_arena *arena = file->graph->arena;
  *out_attr = (seer_attr){.name = seer_arena_strdup(arena, name)};
  Onnx__AttributeProto__AttributeType type = type_of(proto);
  switch ((int)type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
      out_attr->kind = SEER_ATTR_FLOAT;
      out_attr->f = (double)proto->f;
      return SEER_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
      out_attr->kind = SEER_ATTR_INT;
      out_attr->i = proto->i;
      return SEER_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
      out_attr->kind = SEER_ATTR_STRING;
      out_attr->s = bytes_text(arena, proto->s);
      return SEER_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS: {
      out_attr->kind = SEER_ATTR_INTS;
      out_attr->n = proto->n_ints;
      out_attr->ints = seer_arena_memdup(arena, proto->ints, proto->n_ints * sizeof *proto->ints);
      return SEER_OK;
    }
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS: {
      double *floats = SEER_NEW_ARRAY(arena, double, proto->n_floats);
      for (size_t k = 0; k < proto->n_floats; k++) floats[k] = (double)proto->floats[k];
      out_attr->kind = SEER_ATTR_FLOATS;
      out_attr->n = proto->n_floats;
      out_attr->floats = floats;
      return SEER_OK;
    }
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS: {
      const char **strings = SEER_NEW_ARRAY(arena, const char *, proto->n_strings);
      for (size_t k = 0; k < proto->n_strings; k++)
        strings[k] = bytes_text(arena, proto->strings[k]);
      out_attr->kind = SEER_ATTR_STRINGS;
      out_attr->n = proto->n_strings;
      out_attr->strings = strings;
      return SEER_OK;
    }
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR: {
      if (!proto->t)
        return SEER_FAIL(INVALID, "attribute '%s' should be a tensor and has none", name);
      seer_tensor *tensor = SEER_NEW(arena, seer_tensor);
      SEER_TRYF(seer_onnx_tensor(file, proto->t, tensor), "attribute '%s'", name);
      out_attr->kind = SEER_ATTR_TENSOR;
      out_attr->tensor = tensor;
      return SEER_OK;
    }
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR: {
      if (strcmp(name, "sparse_value") != 0) break;
      if (!proto->sparse_tensor)
        return SEER_FAIL(INVALID, "attribute '%s' should be a sparse tensor and has none", name);
      seer_tensor *tensor = SEER_NEW(arena, seer_tensor);
      SEER_TRYF(seer_onnx_sparse(file, proto->sparse_tensor, tensor), "attribute '%s'", name);
      out_attr->kind = SEER_ATTR_TENSOR;
      out_attr->tensor = tensor;
      return SEER_OK;
    }
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH:
      if (!proto->g)
        return SEER_FAIL(INVALID, "attribute '%s' should be a graph and has none", name);
      SEER_TRYF(seer_onnx_body(file, scope, proto->g, out_attr), "attribute '%s'", name);
      return SEER_OK;
    default:
      break;
  }
  return SEER_FAIL(
      UNSUPPORTED, "attribute '%s' is of kind %d, which is not supported", name, (int)type);
}

// The bytes of a field that is newer than the packaged onnx.proto: it arrives as an unknown one,
// undecoded, with its length in front.
static bool newer_field(
    const ProtobufCMessageUnknownField *field, uint32_t number, ProtobufCBinaryData *out_bytes) {
  uint64_t at = 0, n;
  if (field->tag != number || field->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
    return false;
  if (!seer_onnx_varint(field->data, field->len, &at, &n) || n != field->len - at) return false;
  *out_bytes = (ProtobufCBinaryData){(size_t)n, field->data + at};
  return true;
}

// The default of a function's attribute: field 11, attribute_proto.
static const Onnx__AttributeProto *default_of(
    seer_onnx_file *file, const Onnx__FunctionProto *function, const char *name) {
  for (unsigned k = 0; k < function->base.n_unknown_fields; k++) {
    ProtobufCBinaryData bytes;
    if (!newer_field(&function->base.unknown_fields[k], 11, &bytes)) continue;
    Onnx__AttributeProto *value =
        onnx__attribute_proto__unpack(&file->allocator, bytes.len, bytes.data);
    if (value && value->name && strcmp(value->name, name) == 0)
      return value->ref_attr_name && value->ref_attr_name[0] ? NULL : value;
  }
  return NULL;
}

// In a function's body an attribute may stand for one of the call's; then the call's, the
// function's default, or none.
static const Onnx__AttributeProto *referred(seer_onnx_file *file, const seer_onnx_scope *scope,
    const Onnx__AttributeProto *proto, const seer_onnx_scope **out_scope) {
  *out_scope = scope;
  while (proto && proto->ref_attr_name && proto->ref_attr_name[0]) {
    const char *name = proto->ref_attr_name;
    proto = NULL;
    if (!(*out_scope)->call) return NULL;
    const Onnx__NodeProto *call = (*out_scope)->call;
    for (size_t k = 0; k < call->n_attribute && !proto; k++) {
      if (call->attribute[k]->name && strcmp(call->attribute[k]->name, name) == 0)
        proto = call->attribute[k];
    }
    // A default that refers on would have nothing to refer to.
    if (!proto) return default_of(file, (*out_scope)->function, name);
    *out_scope = (*out_scope)->caller;
  }
  return proto;
}

static seer_status read_attrs(seer_onnx_file *file, seer_onnx_scope *scope,
    const Onnx__NodeProto *proto, seer_attr **out_attr, uint32_t *out_n) {
  if (proto->n_attribute > MAX_ATTRS)
    return SEER_FAIL(INVALID, "%zu attributes, at most %d", proto->n_attribute, MAX_ATTRS);
  *out_attr = SEER_NEW_ARRAY(file->graph->arena, seer_attr, proto->n_attribute);
  *out_n = 0;
  for (size_t k = 0; k < proto->n_attribute; k++) {
    const char *name = text_or(proto->attribute[k]->name, "");
    if (!name[0]) return SEER_FAIL(INVALID, "attribute %zu has no name", k);
    for (uint32_t j = 0; j < *out_n; j++) {
      if (strcmp((*out_attr)[j].name, name) == 0)
        return SEER_FAIL(INVALID, "two attributes are named '%s'", name);
    }
    const seer_onnx_scope *at;
    const Onnx__AttributeProto *value = referred(file, scope, proto->attribute[k], &at);
    // Optional's `type` says what is absent; nobody can read that.
    if (value && type_of(value) == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTO) continue;
    if (value) SEER_TRY(read_attr(file, scope, value, name, &(*out_attr)[(*out_n)++]));
  }
  return SEER_OK;
}

// ---- Constant: a node without inputs whose attribute is its value

static seer_status constant_node(
    seer_graph *graph, const seer_attr *attr, uint32_t n_attr, seer_val out) {
  seer_arena *arena = graph->arena;
  if (n_attr != 1) return SEER_FAIL(INVALID, "%u attributes, must be exactly one value", n_attr);
  seer_tensor tensor = {0};
  bool is_int = strcmp(attr->name, "value_int") == 0 && attr->kind == SEER_ATTR_INT;
  bool is_ints = strcmp(attr->name, "value_ints") == 0 && attr->kind == SEER_ATTR_INTS;
  bool is_float = strcmp(attr->name, "value_float") == 0 && attr->kind == SEER_ATTR_FLOAT;
  bool is_floats = strcmp(attr->name, "value_floats") == 0 && attr->kind == SEER_ATTR_FLOATS;
  bool is_tensor = strcmp(attr->name, "value") == 0 || strcmp(attr->name, "sparse_value") == 0;
  if (is_tensor && attr->kind == SEER_ATTR_TENSOR) {
    tensor = *attr->tensor;
  } else if (is_int || is_ints) {
    size_t n = is_int ? 1 : attr->n;
    tensor = (seer_tensor){
        .dtype = SEER_DTYPE_I64, .rank = is_ints, .dim = {(int64_t)n}, .n_bytes = n * 8};
    tensor.data = seer_arena_memdup(arena, is_int ? &attr->i : attr->ints, n * 8);
  } else if (is_float || is_floats) {
    size_t n = is_float ? 1 : attr->n;
    float *data = SEER_NEW_ARRAY(arena, float, n);
    for (size_t k = 0; k < n; k++) data[k] = (float)(is_float ? attr->f : attr->floats[k]);
    tensor = (seer_tensor){.dtype = SEER_DTYPE_F32,
        .rank = is_floats,
        .dim = {(int64_t)n},
        .data = data,
        .n_bytes = n * 4};
  } else {
    return SEER_FAIL(UNSUPPORTED,
        "attribute '%s' is not supported; value, sparse_value, value_int(s) and value_float(s) are",
        attr->name);
  }
  seer_graph_set_constant(graph, out, &tensor);
  return SEER_OK;
}

// ---- functions

// Of IR version 10: functions of one name may differ in this field, and a call says which it means.
enum { NODE_OVERLOAD = 8, FUNCTION_OVERLOAD = 13 };

static const char *overload_of(
    const seer_onnx_file *file, const ProtobufCMessage *message, uint32_t number) {
  ProtobufCBinaryData last = {0, NULL}, bytes;  // of a field that stands twice, the last counts
  for (unsigned k = 0; k < message->n_unknown_fields; k++) {
    if (newer_field(&message->unknown_fields[k], number, &bytes)) last = bytes;
  }
  return last.len ? bytes_text(file->graph->arena, last) : "";
}

// By hash of name, domain and overload; of equal ones the first. Without an overload: any of the
// name and domain, for messages.
static uint64_t function_key(const char *name, const char *domain, const char *overload) {
  uint64_t key = seer_hash_str(text_or(name, ""), seer_hash_str(domain_of(domain), 2));
  return overload ? seer_hash_str(overload, key) : key;
}

static void index_functions(seer_onnx_file *file) {
  file->functions = seer_map_create(file->graph->arena);
  for (size_t k = 0; k < file->model->n_functions; k++) {
    const Onnx__FunctionProto *function = file->model->functions[k];
    const char *overload = overload_of(file, &function->base, FUNCTION_OVERLOAD);
    for (int any = 0; any < 2 && function->name; any++) {
      uint64_t key = function_key(function->name, function->domain, any ? NULL : overload);
      if (!seer_map_get(file->functions, key, NULL)) seer_map_set(file->functions, key, k);
    }
  }
}

static const Onnx__FunctionProto *find_keyed(
    seer_onnx_file *file, const Onnx__NodeProto *proto, const char *overload) {
  uint64_t k;
  uint64_t key = function_key(proto->op_type, proto->domain, overload);
  if (!seer_map_get(file->functions, key, &k)) return NULL;
  const Onnx__FunctionProto *function = file->model->functions[k];
  bool is_it = strcmp(function->name, proto->op_type) == 0 &&
      strcmp(domain_of(function->domain), domain_of(proto->domain)) == 0 &&
      (!overload || strcmp(overload_of(file, &function->base, FUNCTION_OVERLOAD), overload) == 0);
  return is_it ? function : NULL;
}

// The function that a node calls; NULL: it is an operator.
static seer_status find_function(
    seer_onnx_file *file, const Onnx__NodeProto *proto, const Onnx__FunctionProto **out_function) {
  if (!file->functions) index_functions(file);
  const char *overload = overload_of(file, &proto->base, NODE_OVERLOAD);
  *out_function = find_keyed(file, proto, overload);
  if (*out_function) return SEER_OK;
  const Onnx__FunctionProto *other = find_keyed(file, proto, NULL);
  if (other)
    return SEER_FAIL(INVALID,
        "it calls overload '%s' of the function, which the model lacks; it has overload '%s'",
        overload, overload_of(file, &other->base, FUNCTION_OVERLOAD));
  if (overload[0])
    return SEER_FAIL(INVALID,
        "it calls overload '%s' of a function, but the model has no function of this name",
        overload);
  return SEER_OK;
}

static seer_status expand(seer_onnx_file *file, seer_onnx_scope *scope,
    const Onnx__NodeProto *proto, const Onnx__FunctionProto *function, const char *name) {
  if (scope->depth >= MAX_CALL_DEPTH)
    return SEER_FAIL(INVALID, "functions call each other deeper than %d", MAX_CALL_DEPTH);
  if (proto->n_input > function->n_input || proto->n_output > function->n_output) {
    return SEER_FAIL(INVALID, "%zu inputs and %zu outputs, the function has %zu and %zu",
        proto->n_input, proto->n_output, function->n_input, function->n_output);
  }
  seer_arena *arena = file->graph->arena;
  seer_onnx_scope inner = {.graph = scope->graph,
      .names = seer_map_create(arena),
      .prefix = name,
      .n_opset = function->n_opset_import,
      .opset = function->opset_import,
      .caller = scope,
      .call = proto,
      .function = function,
      .depth = scope->depth + 1};
  for (size_t k = 0; k < function->n_input; k++) {
    seer_val value =
        k < proto->n_input ? seer_onnx_operand(file, scope, proto->input[k]) : (seer_val){0};
    seer_map_set_str(inner.names, function->input[k], value.i);
  }
  for (size_t k = 0; k < proto->n_output; k++) {
    if (seer_map_get_str(inner.names, function->output[k], NULL)) {
      return SEER_FAIL(
          UNSUPPORTED, "function output '%s' is also one of its inputs", function->output[k]);
    }
    seer_val value = seer_onnx_value(file, scope, proto->output[k]);
    if (value.i) seer_map_set_str(inner.names, function->output[k], value.i);
  }
  return seer_onnx_nodes(file, &inner, function->n_node, function->node);
}

// ---- nodes

static seer_status read_node(
    seer_onnx_file *file, seer_onnx_scope *scope, const Onnx__NodeProto *proto, const char *name) {
  seer_graph *graph = scope->graph;
  if (!proto->op_type || !proto->op_type[0]) return SEER_FAIL(INVALID, "it has no operator");
  const Onnx__FunctionProto *function;
  SEER_TRY(find_function(file, proto, &function));
  if (function) return expand(file, scope, proto, function, name);
  if (proto->n_input > UINT16_MAX || proto->n_output > UINT16_MAX)
    return SEER_FAIL(INVALID, "too many operands");

  seer_attr *attr;
  uint32_t n_attr, n_in = (uint32_t)proto->n_input, n_out = (uint32_t)proto->n_output;
  SEER_TRY(read_attrs(file, scope, proto, &attr, &n_attr));
  size_t n_capture = 0;
  for (uint32_t k = 0; k < n_attr; k++)
    n_capture += attr[k].kind == SEER_ATTR_GRAPH ? attr[k].n : 0;
  if (n_capture > UINT16_MAX) return SEER_FAIL(INVALID, "its bodies read too much from outside");
  seer_val *in = SEER_NEW_ARRAY(graph->arena, seer_val, n_in + n_capture),
           *out = SEER_NEW_ARRAY(graph->arena, seer_val, n_out);
  for (uint32_t k = 0; k < n_in; k++) in[k] = seer_onnx_operand(file, scope, proto->input[k]);
  for (uint32_t k = 0; k < n_out; k++) {
    out[k] = seer_onnx_value(file, scope, proto->output[k]);
    const seer_value *value = seer_graph_value(graph, out[k]);
    bool is_twice = out[k].i && (value->producer.i || value->is_input || value->constant);
    // Until the node is there, its outputs say themselves that they have been named.
    if (out[k].i) seer_graph_value(graph, out[k])->producer.i = UINT32_MAX;
    if (is_twice) return SEER_FAIL(INVALID, "output '%s' is also made elsewhere", proto->output[k]);
  }
  while (n_in > 0 && in[n_in - 1].i == 0) n_in--;  // trailing absent operands say nothing
  for (uint32_t k = 0; k < n_attr; k++) {
    if (attr[k].kind != SEER_ATTR_GRAPH) continue;
    attr[k].i = n_in;
    for (size_t c = 0; c < attr[k].n; c++) in[n_in++] = (seer_val){(uint32_t)attr[k].ints[c]};
    attr[k].ints = NULL;
  }
  const char *domain = domain_of(proto->domain);
  if (strcmp(proto->op_type, "Constant") == 0 && !domain[0]) {
    if (n_out != 1 || n_in != 0)
      return SEER_FAIL(INVALID, "%u inputs and %u outputs, must be 0 and 1", n_in, n_out);
    seer_graph_value(graph, out[0])->producer.i = 0;
    return constant_node(graph, attr, n_attr, out[0]);
  }
  seer_graph_add_node(graph, name, domain, proto->op_type, opset_of(scope, domain), in, n_in, out,
      n_out, attr, n_attr);
  return SEER_OK;
}

// A node's own name, else its first output's.
static const char *name_of(const seer_onnx_file *file, const Onnx__NodeProto *proto, size_t index) {
  if (proto->name && proto->name[0]) return proto->name;
  for (size_t k = 0; k < proto->n_output; k++) {
    if (proto->output[k][0]) return proto->output[k];
  }
  return seer_arena_printf(file->graph->arena, "node%zu", index);
}

// A node on its own, so that what is too much is said of it.
typedef struct {
  seer_onnx_file *file;
  seer_onnx_scope *scope;
  const Onnx__NodeProto *proto;
  const char *name;  // with the scope's prefix
} reading;

static seer_status read_one(void *user) {
  const reading *r = user;
  return read_node(r->file, r->scope, r->proto, r->name);
}

seer_status seer_onnx_nodes(
    seer_onnx_file *file, seer_onnx_scope *scope, size_t n, Onnx__NodeProto *const *nodes) {
  for (size_t k = 0; k < n; k++) {
    if (file->n_nodes++ >= MAX_NODES)
      return SEER_FAIL(UNSUPPORTED, "more than %d nodes", MAX_NODES);
    // The name is made before: once a node has run out of memory, nothing is to be made that may
    // run out, too, while its status is nobody's.
    reading r = {file, scope, nodes[k], prefixed(file, scope, name_of(file, nodes[k], k))};
    seer_recover_work(SEER_FRONT_NODE_OPS);
    SEER_TRYF(seer_recover(read_one, &r), "reading node '%s' (%s)", r.name,
        text_or(nodes[k]->op_type, ""));
  }
  return SEER_OK;
}
