// The ONNX reader and writer: round trips, everything that a tensor or an attribute can be,
// functions, external data; and hundreds of damaged files, each of which must be an error and
// nothing worse.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "front/front.h"
#include "front/op.h"
#include "onnx.pb-c.h"
#include "support/test.h"

static seer_arena *arena;
static const char *folder;
static seer_context *context;
static uint32_t n_wrong;  // reported so far: one run shows them all

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  n_wrong = 0;
  if (seer_context_create(&context)) return 1;
  return seer_os_temp_dir("test_onnx", arena, &folder) ? 1 : 0;
}

static int teardown(void **state) {
  (void)state;
  seer_status_free(seer_os_remove_tree(folder));
  seer_context_destroy(context);
  seer_arena_destroy(arena);
  return 0;
}

static const char conv_text[] =
    "graph \"net\" {\n"
    "  input %x f32[1,3,6,6]\n"
    "  const $w f32[4,3,3,3] = splat 0.5\n"
    "  const $b f32[4] = [1,2,3,4]\n"
    "  const $s f32[4] = splat 0.25\n"
    "  const $shape i64[2] = [1,-1]\n"
    "  const $d f32[16,3] = splat 0.125\n"
    "  %c ? = Conv \"conv\" v13 (%x, $w, $b) {group=1, pads=[1,1,1,1], strides=[1,1]}\n"
    "  %n ? = BatchNormalization \"norm\" v13 (%c, $s, $b, $s, $s) {epsilon=float "
    "0.0010000000474974513}\n"
    "  %r ? = Relu \"relu\" v13 (%n)\n"
    "  %p ? = MaxPool \"pool\" v13 (%r) {kernel_shape=[3,3], strides=[3,3]}\n"
    "  %k ? = Concat \"cat\" v13 (%p, %p) {axis=1}\n"
    "  %q ? = AveragePool \"mean\" v13 (%k) {auto_pad=\"VALID\", kernel_shape=[1,2]}\n"
    "  %f ? = Reshape \"reshape\" v13 (%q, $shape)\n"
    "  %g ? = Gemm \"gemm\" v13 (%f, $d) {alpha=float 1, transB=0}\n"
    "  output %g\n"
    "}\n";

static const uint8_t *write_text(const char *text, size_t *out_n) {
  seer_graph *graph;
  must(seer_graph_parse("test", text, strlen(text), arena, &graph));
  const char *path = seer_os_path_join(arena, folder, "net.onnx");
  must(seer_onnx_write(graph, path));
  char *bytes;
  must(seer_os_read_file(path, arena, 1 << 20, &bytes, out_n));
  return (uint8_t *)bytes;
}

// Everything that happens to a model before schedules.
static seer_status load(const void *bytes, size_t n, seer_arena *into, seer_network **out_network) {
  seer_graph *graph = seer_graph_create(into, "");
  seer_status status = seer_onnx_read_bytes("bytes", bytes, n, folder, graph);
  if (!status) status = seer_front_resolve(graph, "", NULL);
  if (!status) status = seer_front_run_passes(context, graph);
  if (!status) status = seer_network_build(context, graph, into, out_network);
  seer_graph_close(graph);
  return status;
}

static void round_trip(void **state) {
  (void)state;
  size_t n;
  const uint8_t *bytes = write_text(conv_text, &n);
  seer_graph *graph = seer_graph_create(arena, "");
  must(seer_onnx_read_bytes("bytes", bytes, n, NULL, graph));
  assert_string_equal(seer_graph_print(graph, arena), conv_text);
  assert_int_equal(graph->opset, 13);
  seer_network *network;
  must(load(bytes, n, arena, &network));
  // conv, 2 pools, 3 views for the concat's parts, 2 (memory's order, flat), gemm
  assert_int_equal(network->n_step, 9);
}

// ---- building messages by hand

static void *new_message(const ProtobufCMessageDescriptor *descriptor) {
  ProtobufCMessage *message = seer_arena_alloc(arena, descriptor->sizeof_message, 16);
  protobuf_c_message_init(descriptor, message);
  return message;
}

static void *arena_alloc(void *unused, size_t n) {
  (void)unused;
  return seer_arena_alloc(arena, n, 16);
}
static void arena_free(void *unused, void *memory) {
  (void)unused;
  (void)memory;
}

static Onnx__ModelProto *unpack(const char *text) {
  size_t n;
  const uint8_t *bytes = write_text(text, &n);
  ProtobufCAllocator allocator = {arena_alloc, arena_free, NULL};
  Onnx__ModelProto *model = onnx__model_proto__unpack(&allocator, n, bytes);
  assert_non_null(model);
  return model;
}

static seer_status load_model(
    const Onnx__ModelProto *model, seer_arena *into, seer_network **out_network) {
  size_t n = onnx__model_proto__get_packed_size(model);
  uint8_t *bytes = malloc(n + 1);
  assert_non_null(bytes);
  onnx__model_proto__pack(model, bytes);
  seer_status status = load(bytes, n, into, out_network);
  free(bytes);
  return status;
}

static seer_graph *read_model(const Onnx__ModelProto *model) {
  size_t n = onnx__model_proto__get_packed_size(model);
  uint8_t *bytes = seer_arena_alloc(arena, n, 64);
  onnx__model_proto__pack(model, bytes);
  seer_graph *graph = seer_graph_create(arena, "");
  must(seer_onnx_read_bytes("bytes", bytes, n, folder, graph));
  return graph;
}

static Onnx__TensorProto *tensor_of(int32_t dtype, int64_t n) {
  Onnx__TensorProto *tensor = new_message(&onnx__tensor_proto__descriptor);
  tensor->name = seer_arena_strdup(arena, "t");
  tensor->has_data_type = true;
  tensor->data_type = dtype;
  tensor->n_dims = 1;
  tensor->dims = seer_arena_memdup(arena, &n, sizeof n);
  return tensor;
}

// A model whose only content is one constant, which is its output.
static Onnx__ModelProto *constant_model(Onnx__TensorProto *tensor) {
  Onnx__ModelProto *model = new_message(&onnx__model_proto__descriptor);
  model->opset_import = SEER_NEW(arena, Onnx__OperatorSetIdProto *);
  model->opset_import[0] = new_message(&onnx__operator_set_id_proto__descriptor);
  model->n_opset_import = 1;
  model->opset_import[0]->has_version = true;
  model->opset_import[0]->version = 13;
  model->graph = new_message(&onnx__graph_proto__descriptor);
  model->graph->n_initializer = 1;
  model->graph->initializer = SEER_NEW(arena, Onnx__TensorProto *);
  model->graph->initializer[0] = tensor;
  model->graph->n_output = 1;
  model->graph->output = SEER_NEW(arena, Onnx__ValueInfoProto *);
  model->graph->output[0] = new_message(&onnx__value_info_proto__descriptor);
  model->graph->output[0]->name = tensor->name;
  return model;
}

static const seer_tensor *read_tensor(Onnx__TensorProto *proto) {
  seer_graph *graph = read_model(constant_model(proto));
  return graph->value[graph->output[0].i].constant;
}

static void tensors_of_every_kind(void **state) {
  (void)state;
  // Typed lists.
  static float floats[] = {1.5f, -2, 3};
  static int32_t ints[] = {-1, 0, 200};
  static int64_t longs[] = {-1, INT64_MAX, 7};
  static double doubles[] = {0.1, 1e300, -3};
  static uint64_t ulongs[] = {1, UINT32_MAX, 3};
  Onnx__TensorProto *t = tensor_of(1, 3);
  t->n_float_data = 3;
  t->float_data = floats;
  assert_memory_equal(read_tensor(t)->data, floats, sizeof floats);
  t = tensor_of(11, 3);
  t->n_double_data = 3;
  t->double_data = doubles;
  assert_memory_equal(read_tensor(t)->data, doubles, sizeof doubles);
  t = tensor_of(7, 3);
  t->n_int64_data = 3;
  t->int64_data = longs;
  assert_memory_equal(read_tensor(t)->data, longs, sizeof longs);
  t = tensor_of(12, 3);
  t->n_uint64_data = 3;
  t->uint64_data = ulongs;
  assert_int_equal(((const uint32_t *)read_tensor(t)->data)[1], UINT32_MAX);
  static const int32_t int_types[] = {2, 3, 4, 5, 6, 9, 10, 16};
  static const seer_dtype dtypes[] = {SEER_DTYPE_U8, SEER_DTYPE_I8, SEER_DTYPE_U16, SEER_DTYPE_I16,
      SEER_DTYPE_I32, SEER_DTYPE_BOOL, SEER_DTYPE_F16, SEER_DTYPE_BF16};
  for (size_t k = 0; k < SEER_COUNT_OF(int_types); k++) {
    t = tensor_of(int_types[k], 3);
    t->n_int32_data = 3;
    t->int32_data = ints;
    const seer_tensor *read = read_tensor(t);
    assert_int_equal(read->dtype, dtypes[k]);
    assert_int_equal(read->n_bytes, 3 * seer_dtype_bytes(dtypes[k]));
    if (dtypes[k] == SEER_DTYPE_I32) assert_memory_equal(read->data, ints, sizeof ints);
    if (dtypes[k] == SEER_DTYPE_BOOL) assert_memory_equal(read->data, "\1\0\1", 3);
    if (dtypes[k] == SEER_DTYPE_I8) assert_int_equal(((const int8_t *)read->data)[2], (int8_t)200);
  }
  // Raw data; a bool is 0 or 1 whatever the file says.
  t = tensor_of(9, 3);
  t->has_raw_data = true;
  t->raw_data = (ProtobufCBinaryData){3, (uint8_t *)(uintptr_t) "\5\0\1"};
  assert_memory_equal(read_tensor(t)->data, "\1\0\1", 3);
  // No elements, no data.
  assert_int_equal(read_tensor(tensor_of(1, 0))->n_bytes, 0);
}

static void external_data_stays_in_the_folder(void **state) {
  (void)state;
  static float floats[] = {1, 2, 3, 4, 5, 6};
  must(seer_os_write_file(seer_os_path_join(arena, folder, "weights.data"), floats, sizeof floats));
  Onnx__TensorProto *t = tensor_of(1, 2);
  t->has_data_location = true;
  t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  t->external_data = SEER_NEW_ARRAY(arena, Onnx__StringStringEntryProto *, 3);
  const char *keys[] = {"location", "offset", "length"};
  for (t->n_external_data = 0; t->n_external_data < 3; t->n_external_data++) {
    t->external_data[t->n_external_data] =
        new_message(&onnx__string_string_entry_proto__descriptor);
    t->external_data[t->n_external_data]->key = seer_arena_strdup(arena, keys[t->n_external_data]);
  }
  const struct {
    const char *location, *offset, *length, *error;
  } cases[] = {
      {"weights.data", "8", "8", NULL},
      {"./weights.data", "16", "8", NULL},
      {"weights.data", "4", "8", NULL},
      {"weights.data", "17", "8", "bytes 17 to 25 of a file of 24"},
      {"weights.data", "18446744073709551608", "8", "of a file of 24"},
      {"weights.data", "99999999999999999999999", "8", "is no number"},
      {"weights.data", "-8", "8", "is no number"},
      {"weights.data", "0", "9", "length 9"},
      {"weights.data", "0", "", "is no number"},
      {"missing.data", "0", "8", "missing.data"},
      {"../weights.data", "0", "8", "leaves the model's folder"},
      {"a/../../weights.data", "0", "8", "leaves the model's folder"},
      {"..", "0", "8", "leaves the model's folder"},
      {"/etc/hostname", "0", "8", "leaves the model's folder"},
      {"a\\..\\b", "0", "8", "leaves the model's folder"},
      {"", "0", "8", "leaves the model's folder"},
      {".", "0", "8", ""},
      {"link.data", "8", "8", NULL},
      {"out.data", "0", "8", "outside of the folder"},
      {"out/passwd", "0", "8", "outside of the folder"},
  };
  assert_int_equal(symlink("weights.data", seer_os_path_join(arena, folder, "link.data")), 0);
  assert_int_equal(symlink("/etc/passwd", seer_os_path_join(arena, folder, "out.data")), 0);
  assert_int_equal(symlink("/etc", seer_os_path_join(arena, folder, "out")), 0);
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    t->external_data[0]->value = seer_arena_strdup(arena, cases[k].location);
    t->external_data[1]->value = seer_arena_strdup(arena, cases[k].offset);
    t->external_data[2]->value = seer_arena_strdup(arena, cases[k].length);
    Onnx__ModelProto *model = constant_model(t);
    if (!cases[k].error) {
      seer_graph *graph = read_model(model);
      const seer_tensor *read = graph->value[graph->output[0].i].constant;
      assert_memory_equal(read->data, floats + atoi(cases[k].offset) / 4, 8);
      seer_graph_close(graph);
      continue;
    }
    seer_network *network;
    seer_status status = load_model(model, arena, &network);
    assert_non_null(status);
    if (!strstr(seer_status_message(status), cases[k].error)) {
      fail_msg("'%s' lacks '%s'", seer_status_message(status), cases[k].error);
    }
    seer_status_free(status);
  }
}

// twice(x) {scale} = x * scale + x * scale, with a default scale; four(x) = twice(twice(x)).
static Onnx__NodeProto *make_node(
    const char *op, const char *domain, size_t n_in, const char *const *in, const char *out) {
  Onnx__NodeProto *node = new_message(&onnx__node_proto__descriptor);
  node->op_type = seer_arena_strdup(arena, op);
  node->domain = seer_arena_strdup(arena, domain);
  node->n_input = n_in;
  node->input = SEER_NEW_ARRAY(arena, char *, n_in);
  for (size_t k = 0; k < n_in; k++) node->input[k] = seer_arena_strdup(arena, in[k]);
  node->n_output = 1;
  node->output = SEER_NEW_ARRAY(arena, char *, 1);
  node->output[0] = seer_arena_strdup(arena, out);
  node->attribute = SEER_NEW_ARRAY(arena, Onnx__AttributeProto *, 1);
  return node;
}

static Onnx__AttributeProto *make_attr(const char *name, float value) {
  Onnx__AttributeProto *attr = new_message(&onnx__attribute_proto__descriptor);
  attr->name = seer_arena_strdup(arena, name);
  attr->has_type = attr->has_f = true;
  attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
  attr->f = value;
  return attr;
}

static Onnx__FunctionProto *make_function(
    const char *name, size_t n_node, Onnx__NodeProto *const *nodes) {
  Onnx__FunctionProto *function = new_message(&onnx__function_proto__descriptor);
  function->name = seer_arena_strdup(arena, name);
  function->domain = seer_arena_strdup(arena, "local");
  function->n_input = function->n_output = 1;
  function->input = SEER_NEW_ARRAY(arena, char *, 1);
  function->output = SEER_NEW_ARRAY(arena, char *, 1);
  function->input[0] = seer_arena_strdup(arena, "a");
  function->output[0] = seer_arena_strdup(arena, "z");
  function->n_node = n_node;
  function->node = seer_arena_memdup(arena, nodes, n_node * sizeof *nodes);
  return function;
}

static Onnx__ModelProto *function_model(void) {
  Onnx__ModelProto *model = unpack(
      "graph \"f\" { input %x f32[2] %y f32 = four \"call\" v1 domain \"local\" (%x) output %y }");
  Onnx__NodeProto *scale = make_node("Constant", "", 0, NULL, "s");
  scale->attribute[0] = make_attr("value_float", 0);
  scale->attribute[0]->ref_attr_name = seer_arena_strdup(arena, "scale");
  scale->n_attribute = 1;
  Onnx__NodeProto *twice[] = {scale, make_node("Mul", "", 2, (const char *const[]){"a", "s"}, "m"),
      make_node("Add", "", 2, (const char *const[]){"m", "m"}, "z")};
  Onnx__NodeProto *four[] = {make_node("twice", "local", 1, (const char *const[]){"a"}, "t"),
      make_node("twice", "local", 1, (const char *const[]){"t"}, "z")};
  four[0]->attribute[0] = make_attr("scale", 3);
  four[0]->n_attribute = 1;
  model->functions = SEER_NEW_ARRAY(arena, Onnx__FunctionProto *, 3);
  model->functions[model->n_functions++] = make_function("twice", 3, twice);
  model->functions[model->n_functions++] = make_function("four", 2, four);
  // The default of `scale` is field 11, which the packaged onnx.proto does not know.
  Onnx__AttributeProto *otherwise = make_attr("scale", 5);
  size_t n = onnx__attribute_proto__get_packed_size(otherwise);
  uint8_t *bytes = seer_arena_alloc(arena, n + 1, 1);
  bytes[0] = (uint8_t)n;
  onnx__attribute_proto__pack(otherwise, bytes + 1);
  ProtobufCMessageUnknownField *field = SEER_NEW(arena, ProtobufCMessageUnknownField);
  *field = (ProtobufCMessageUnknownField){11, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, n + 1, bytes};
  model->functions[0]->base.n_unknown_fields = 1;
  model->functions[0]->base.unknown_fields = field;
  return model;
}

static void functions_are_expanded(void **state) {
  (void)state;
  seer_graph *graph = read_model(function_model());
  assert_string_equal(seer_graph_print(graph, arena),
      "graph \"f\" {\n"
      "  input %x f32[2]\n"
      "  const $\"call/t/s\" f32[] = [3]\n"
      "  const $\"call/z/s\" f32[] = [5]\n"
      "  %\"call/t/m\" ? = Mul \"call/t/m\" v13 (%x, $\"call/t/s\")\n"
      "  %\"call/t\" ? = Add \"call/t/z\" v13 (%\"call/t/m\", %\"call/t/m\")\n"
      "  %\"call/z/m\" ? = Mul \"call/z/m\" v13 (%\"call/t\", $\"call/z/s\")\n"
      "  %y ? = Add \"call/z/z\" v13 (%\"call/z/m\", %\"call/z/m\")\n"
      "  output %y\n"
      "}\n");
}

static void function_that_calls_itself(Onnx__ModelProto *model) {
  model->functions[0]->node[1]->op_type = model->functions[1]->name;
  model->functions[0]->node[1]->domain = model->functions[1]->domain;
  model->functions[0]->node[1]->n_input = 1;
}

// ---- damage

static Onnx__NodeProto *node_named(Onnx__ModelProto *m, const char *name) {
  for (size_t k = 0; k < m->graph->n_node; k++) {
    if (strcmp(m->graph->node[k]->name, name) == 0) return m->graph->node[k];
  }
  fail_msg("no node %s", name);
  return NULL;
}

static Onnx__AttributeProto *attr_named(Onnx__ModelProto *m, const char *node, const char *name) {
  Onnx__NodeProto *n = node_named(m, node);
  for (size_t k = 0; k < n->n_attribute; k++) {
    if (strcmp(n->attribute[k]->name, name) == 0) return n->attribute[k];
  }
  fail_msg("no attribute %s of %s", name, node);
  return NULL;
}

static Onnx__TensorProto *weight(Onnx__ModelProto *m, size_t k) { return m->graph->initializer[k]; }
static char *word(const char *text) { return seer_arena_strdup(arena, text); }

// Each breaks one thing and says what the error must mention.
#define DAMAGES(X)                                                                                \
  X("no graph", m->graph = NULL)                                                                  \
  X("imports no operator set", m->n_opset_import = 0)                                             \
  X("opset 0", m->opset_import[0]->version = 0)                                                   \
  X("opset 29", m->opset_import[0]->version = 29)                                                 \
  X("opset -1", m->opset_import[0]->version = -1)                                                 \
  X("no outputs", m->graph->n_output = 0)                                                         \
  X("made by no node", m->graph->output[0]->name = word("nothing"))                               \
  X("input '", m->graph->n_input = 0)                                                             \
  X("has no type", m->graph->input[0]->type = NULL)                                               \
  X("string", m->graph->input[0]->type->tensor_type->elem_type = 8)                               \
  X("?", m->graph->input[0]->type->tensor_type->elem_type = 77)                                   \
  X("pass --input-shapes 'x:", m->graph->input[0]->type->tensor_type->shape = NULL)               \
  X("pass --input-shapes 'x:1x3xSIZEx6'",                                                         \
      m->graph->input[0]->type->tensor_type->shape->dim[2]->dim_value = 0)                        \
  X("conv", m->graph->input[0]->type->tensor_type->shape->dim[1]->dim_value = 5)                  \
  X("conv", m->graph->input[0]->type->tensor_type->shape->n_dim = 2)                              \
  X("", m->graph->input[0]->type->tensor_type->shape->dim[2]->dim_value = INT64_MAX)              \
  X("", m->graph->input[0]->type->tensor_type->shape->dim[0]->dim_value = INT64_C(1) << 40)       \
  X("complex64", weight(m, 0)->data_type = 14)                                                    \
  X("float6e2m3)", (weight(m, 0)->data_type = 27))                                                \
  X("float6e3m2)", (weight(m, 0)->data_type = 28))                                                \
  X("undefined", weight(m, 0)->data_type = 0)                                                     \
  X("-7", weight(m, 0)->data_type = -7)                                                           \
  X("432 bytes of data", weight(m, 0)->data_type = 11)                                            \
  X("dimension 0 is -4", weight(m, 0)->dims[0] = -4)                                              \
  X("432 bytes of data", weight(m, 0)->dims[0] = 1000000)                                         \
  X("2^63", weight(m, 0)->dims[0] = INT64_MAX)                                                    \
  X("16 bytes of data", weight(m, 1)->n_dims = 0)                                                 \
  X("it has no data", weight(m, 0)->has_raw_data = false)                                         \
  X("431 bytes", weight(m, 0)->raw_data.len = 431)                                                \
  X("has no name", weight(m, 0)->name = word(""))                                                 \
  X("two initialisers are named 'w'", weight(m, 1)->name = word("w"))                             \
  X("made by no node", m->graph->n_initializer = 4)                                               \
  X("also made elsewhere", weight(m, 1)->name = word("c"))                                        \
  X("cycle", node_named(m, "conv")->input[0] = word("p"))                                         \
  X("cycle", node_named(m, "relu")->input[0] = word("r"))                                         \
  X("also made elsewhere", node_named(m, "relu")->output[0] = word("c"))                          \
  X("also made elsewhere", node_named(m, "relu")->output[0] = word("x"))                          \
  X("no operator", node_named(m, "relu")->op_type = word(""))                                     \
  X("node 'relu': Frobnicate", node_named(m, "relu")->op_type = word("Frobnicate"))               \
  X("node 'relu': my.domain.Relu", node_named(m, "relu")->domain = word("my.domain"))             \
  X("'conv'", node_named(m, "conv")->n_input = 1)                                                 \
  X("'conv'", node_named(m, "conv")->n_input = 0)                                                 \
  X("'conv'", node_named(m, "conv")->input[1] = word(""))                                         \
  X("'r' is made by no node", node_named(m, "relu")->n_output = 0)                                \
  X("'pool'", node_named(m, "pool")->n_attribute = 0)                                             \
  X("attribute 'grupp' is unknown", attr_named(m, "conv", "group")->name = word("grupp"))         \
  X("has no name", attr_named(m, "conv", "group")->name = word(""))                               \
  X("two attributes are named 'pads'", attr_named(m, "conv", "group")->name = word("pads"))       \
  X("'conv'", attr_named(m, "conv", "group")->i = 2)                                              \
  X("'conv'", attr_named(m, "conv", "group")->i = 0)                                              \
  X("'conv'", attr_named(m, "conv", "group")->i = INT64_MIN)                                      \
  X("'conv'", attr_named(m, "conv", "strides")->ints[0] = 0)                                      \
  X("'conv'", attr_named(m, "conv", "strides")->ints[0] = -1)                                     \
  X("'conv'", attr_named(m, "conv", "strides")->n_ints = 1)                                       \
  X("'conv'", attr_named(m, "conv", "pads")->n_ints = 3)                                          \
  X("'conv'", attr_named(m, "conv", "pads")->ints[1] = -100)                                      \
  X("", attr_named(m, "conv", "pads")->ints[1] = INT64_MAX)                                       \
  X("is of kind 99", attr_named(m, "conv", "pads")->type = 99)                                    \
  X("should be a tensor",                                                                         \
      attr_named(m, "conv", "pads")->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)        \
  X("not supported",                                                                              \
      attr_named(m, "conv", "pads")->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR) \
  X("'pool'", attr_named(m, "pool", "kernel_shape")->ints[0] = 0)                                 \
  X("'pool'", attr_named(m, "pool", "kernel_shape")->ints[0] = 100)                               \
  X("'pool'", attr_named(m, "pool", "kernel_shape")->n_ints = 1)                                  \
  X("'pool'", attr_named(m, "pool", "kernel_shape")->n_ints = 0)                                  \
  X("'cat'", attr_named(m, "cat", "axis")->i = 4)                                                 \
  X("'cat'", attr_named(m, "cat", "axis")->i = -5)                                                \
  X("'cat'", node_named(m, "cat")->input[1] = word("x"))                                          \
  X("'mean'",                                                                                     \
      attr_named(m, "mean", "auto_pad")->s = ((ProtobufCBinaryData){3, (uint8_t *)word("ODD")}))  \
  X("'gemm'", attr_named(m, "gemm", "transB")->i = 1)                                             \
  X("'norm'", node_named(m, "norm")->input[1] = word("d"))                                        \
  X("'norm'", node_named(m, "norm")->n_input = 4)                                                 \
  X("'reshape'", memset(weight(m, 3)->raw_data.data, 7, 8))                                       \
  X("'reshape'", memset(weight(m, 3)->raw_data.data, 0x80, 16))                                   \
  X("'reshape'", node_named(m, "reshape")->input[1] = word("b"))                                  \
  X("'reshape'", node_named(m, "reshape")->input[1] = word("q"))                                  \
  X("segments", weight(m, 0)->segment = new_message(&onnx__tensor_proto__segment__descriptor))

static void broken(const char *what, const char *wanted, seer_status status) {
  if (!status) {
    print_error("accepted: %s\n", what);
    n_wrong++;
  } else if (!strstr(seer_status_message(status), wanted)) {
    print_error("%s: '%s' lacks '%s'\n", what, seer_status_message(status), wanted);
    n_wrong++;
  }
  seer_status_free(status);
}

// Elements of a few bits are several a byte in the file and one a byte here; the writer packs them
// again.
static void four_bits_are_unpacked(void **state) {
  (void)state;
  static int32_t packed[] = {0x8F, 0xF7};  // the last four bits are nobody's
  static uint8_t raw[] = {0x8F, 0xF7};
  for (int is_raw = 0; is_raw < 2; is_raw++) {
    for (int is_signed = 0; is_signed < 2; is_signed++) {
      Onnx__TensorProto *t = tensor_of(is_signed ? 22 : 21, 3);
      if (is_raw) {
        t->has_raw_data = true;
        t->raw_data = (ProtobufCBinaryData){sizeof raw, raw};
      } else {
        t->n_int32_data = 2;
        t->int32_data = packed;
      }
      const seer_tensor *read = read_tensor(t);
      assert_int_equal(read->dtype, is_signed ? SEER_DTYPE_I4 : SEER_DTYPE_U4);
      assert_int_equal(read->n_bytes, 3);
      assert_memory_equal(read->data, is_signed ? "\xFF\xF8\x07" : "\x0F\x08\x07", 3);
    }
  }
  static uint8_t fours[] = {0x1B, 0x02};  // four a byte: 3, 2, 1, 0, then 2
  static const char *const wanted[] = {"\x03\x02\x01\x00\x02", "\xFF\xFE\x01\x00\xFE"};
  for (int is_signed = 0; is_signed < 2; is_signed++) {
    Onnx__TensorProto *two = tensor_of(is_signed ? 26 : 25, 5);
    two->has_raw_data = true;
    two->raw_data = (ProtobufCBinaryData){sizeof fours, fours};
    assert_memory_equal(read_tensor(two)->data, wanted[is_signed], 5);
  }
  Onnx__TensorProto *t = tensor_of(23, 3);  // floats of four bits are their bits
  t->has_raw_data = true;
  t->raw_data = (ProtobufCBinaryData){sizeof raw, raw};
  assert_memory_equal(read_tensor(t)->data, "\x0F\x08\x07", 3);
  t = tensor_of(22, 3);
  t->has_raw_data = true;
  t->raw_data = (ProtobufCBinaryData){1, raw};
  seer_network *network;
  broken("4-bit data", "1 bytes of data, the dimensions need 2",
      load_model(constant_model(t), arena, &network));
  t->raw_data.len = 0;
  t->has_raw_data = false;
  t->n_int32_data = 1;
  t->int32_data = packed;
  broken("4-bit list", "elements of data, the dimensions need 2",
      load_model(constant_model(t), arena, &network));
  assert_int_equal(n_wrong, 0);
  static const char text[] =
      "graph \"net\" {\n"
      "  input %x f8e4m3fn[2]\n"
      "  const $a i4[5] = [-8,7,0,-1,3]\n"
      "  const $b u4[2,2] = [15,0,8,1]\n"
      "  const $c f8e4m3fn[3] = [448,-0.001953125,nan]\n"
      "  const $d f8e5m2fnuz[2] = [57344,0.5]\n"
      "  const $e i2[5] = [-2,1,0,-1,1]\n"
      "  const $f u2[3] = [3,0,2]\n"
      "  const $g f4e2m1[3] = [6,-0.5,3]\n"
      "  %p ? = Cast \"p\" v21 ($a) {to=1}\n"
      "  %q ? = Cast \"q\" v21 ($b) {to=1}\n"
      "  %r ? = Cast \"r\" v21 ($c) {to=1}\n"
      "  %s ? = Cast \"s\" v21 ($d) {to=1}\n"
      "  %t ? = Cast \"t\" v21 (%x) {to=1}\n"
      "  output %p\n  output %q\n  output %r\n  output %s\n  output %t\n"
      "}\n";
  size_t n;
  const uint8_t *bytes = write_text(text, &n);
  seer_graph *graph = seer_graph_create(arena, "");
  must(seer_onnx_read_bytes("bytes", bytes, n, NULL, graph));
  assert_string_equal(seer_graph_print(graph, arena), text);
}

static void damage_is_named(void **state) {
  (void)state;
  seer_arena *into = seer_arena_create("load");
  seer_network *network;
  Onnx__ModelProto *m;
#define X(wanted, ...)                                         \
  m = unpack(conv_text);                                       \
  (void)(__VA_ARGS__);                                         \
  broken(#__VA_ARGS__, wanted, load_model(m, into, &network)); \
  seer_arena_reset(into);
  DAMAGES(X)
#undef X
  m = function_model();
  function_that_calls_itself(m);
  broken("recursion", "deeper than 32", load_model(m, into, &network));
  m = function_model();
  m->functions[1]->n_output = 0;
  broken("outputs of a function", "the function has", load_model(m, into, &network));
  seer_arena_destroy(into);
  assert_int_equal(n_wrong, 0);
}

// All operators without support are listed in one message.
static void operator_sets_are_read_up_to_the_newest(void **state) {
  (void)state;
  static const int64_t read[] = {22, 25, SEER_OPSET_NEWEST};
  Onnx__ModelProto *m = unpack(conv_text);
  seer_network *network;
  for (size_t i = 0; i < SEER_COUNT_OF(read); i++) {
    m->opset_import[0]->version = read[i];
    must(load_model(m, arena, &network));
  }
  m->opset_import[0]->version = SEER_OPSET_NEWEST + 1;
  seer_status status = load_model(m, arena, &network);
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  assert_non_null(strstr(seer_status_message(status), "opset 29, supported are 1 to 28"));
  seer_status_free(status);
}

static void unsupported_operators_are_listed(void **state) {
  (void)state;
  Onnx__ModelProto *m = unpack(conv_text);
  node_named(m, "relu")->op_type = word("Frobnicate");
  node_named(m, "pool")->op_type = word("Munge");
  seer_network *network;
  seer_status status = load_model(m, arena, &network);
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  assert_non_null(strstr(seer_status_message(status), "2 nodes"));
  assert_non_null(strstr(seer_status_message(status), "node 'relu': Frobnicate (opset 13)"));
  assert_non_null(strstr(seer_status_message(status), "node 'pool': Munge (opset 13)"));
  seer_status_free(status);
}

static void every_truncation_is_an_error(void **state) {
  (void)state;
  size_t n;
  const uint8_t *bytes = write_text(conv_text, &n);
  seer_arena *into = seer_arena_create("load");
  for (size_t cut = 0; cut < n; cut++) {
    seer_network *network;
    uint8_t *copy = malloc(cut ? cut : 1);  // so that a sanitizer sees reads beyond the end
    assert_non_null(copy);
    memcpy(copy, bytes, cut);
    broken("truncated", "", load(copy, cut, into, &network));
    free(copy);
    seer_arena_reset(into);
  }
  seer_arena_destroy(into);
  assert_int_equal(n_wrong, 0);
}

static uint64_t peak_rss_bytes(void) {
  struct rusage usage;
  assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
  return (uint64_t)usage.ru_maxrss * 1024;
}

// Flipped bits may be harmless; they must never crash, nor take much memory.
static void flipped_bits_are_survived(void **state) {
  (void)state;
  size_t n;
  const uint8_t *bytes = write_text(conv_text, &n);
  seer_arena *into = seer_arena_create("load");
  uint64_t before = peak_rss_bytes();
  uint32_t n_errors = 0;
  for (size_t at = 0; at < n; at++) {
    for (int bit = (int)(at % 3); bit < 8; bit += 3) {
      seer_network *network;
      uint8_t *copy = malloc(n);
      assert_non_null(copy);
      memcpy(copy, bytes, n);
      copy[at] = (uint8_t)(copy[at] ^ 1 << bit);
      seer_status status = load(copy, n, into, &network);
      n_errors += status != NULL;
      seer_status_free(status);
      free(copy);
      assert_true(seer_arena_bytes(into) < 100u << 20);
      seer_arena_reset(into);
    }
  }
  assert_true(n_errors > 200);
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory
  assert_true(peak_rss_bytes() - before < 200u << 20);
#endif
  (void)before;
  seer_arena_destroy(into);
}

// A message inside a message, 1000 deep: the decoder would recurse as deep.
static void deep_nesting_is_refused(void **state) {
  (void)state;
  enum { DEPTH = 1000, CAP = 32768 };
  uint8_t *bytes = seer_arena_alloc(arena, CAP, 1), *at = bytes + CAP;
  size_t n = 0;
  // graph.node.attribute.g.node.attribute.g ...
  static const uint8_t fields[] = {1, 5, 6};
  for (int k = 0; k < 3 * DEPTH; k++) {
    size_t before = n;
    uint8_t tag = (uint8_t)(fields[2 - k % 3] << 3 | 2);
    for (int b = 4; b >= 0; b--) *--at = (uint8_t)((before >> (7 * b) & 0x7f) | (b < 4 ? 0x80 : 0));
    *--at = tag;
    n += 6;
  }
  *--at = (uint8_t)(n & 0x7f) | 0x80;
  (void)at;
  uint8_t head[] = {7 << 3 | 2, (uint8_t)((n & 0x7f) | 0x80), (uint8_t)((n >> 7 & 0x7f) | 0x80),
      (uint8_t)(n >> 14)};
  uint8_t *full = seer_arena_alloc(arena, n + sizeof head, 1);
  memcpy(full, head, sizeof head);
  memcpy(full + sizeof head, bytes + CAP - n, n);
  seer_network *network;
  broken("nesting", "nest deeper than 64", load(full, n + sizeof head, arena, &network));
  assert_int_equal(n_wrong, 0);
}

static void input_shapes_fix_symbolic_dimensions(void **state) {
  (void)state;
  const char *text =
      "graph \"g\" { input %x f32[?,3,?,?] input %\"y:0\" f32[?,4] %a f32 = Relu \"a\" v13 (%x) %b "
      "f32 = Relu \"b\" v13 "
      "(%\"y:0\") output %a output %b }";
  const struct {
    const char *shapes, *error;
  } cases[] = {
      {"x:2x3x5x6", NULL},
      {"x:2x3x5x6,y:0:7x4", NULL},
      {"x:2x3x0x6,y:0:0x4", NULL},
      {"", "pass --input-shapes 'x:1x3xSIZExSIZE'"},
      {"z:1", "no input is named 'z'; inputs are x f32[?,3,?,?], y:0 f32[?,4]"},
      {"x", "must be NAME:"},
      {"x:2x4x5x6", "dimension 1 cannot be 4"},
      {"x:2x3x5", "4 dimensions"},
      {"x:2x3x5x", "no list of sizes"},
      {"x:2x3x5x-1", "no list of sizes"},
      {"x:2x3x5x,", "no list of sizes"},
      {"x:2x3x5x99999999999999999999", "no list of sizes"},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_graph *graph;
    must(seer_graph_parse("test", text, strlen(text), arena, &graph));
    const char *notice;
    seer_status status = seer_front_resolve(graph, cases[k].shapes, &notice);
    if (cases[k].error) {
      broken(cases[k].shapes, cases[k].error, status);
      continue;
    }
    must(status);
    bool is_empty = strstr(cases[k].shapes, "0x6") != NULL;
    assert_string_equal(seer_value_type_text(seer_graph_value(graph, graph->output[0]), arena),
        is_empty ? "f32[2,3,0,6]" : "f32[2,3,5,6]");
    assert_string_equal(seer_value_type_text(seer_graph_value(graph, graph->output[1]), arena),
        is_empty ? "f32[0,4]"
            : k  ? "f32[7,4]"
                 : "f32[1,4]");
    assert_int_equal(strstr(notice, "taken as 1") != NULL, k == 0);
  }
  assert_int_equal(n_wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(round_trip, setup, teardown),
      cmocka_unit_test_setup_teardown(tensors_of_every_kind, setup, teardown),
      cmocka_unit_test_setup_teardown(four_bits_are_unpacked, setup, teardown),
      cmocka_unit_test_setup_teardown(external_data_stays_in_the_folder, setup, teardown),
      cmocka_unit_test_setup_teardown(functions_are_expanded, setup, teardown),
      cmocka_unit_test_setup_teardown(damage_is_named, setup, teardown),
      cmocka_unit_test_setup_teardown(operator_sets_are_read_up_to_the_newest, setup, teardown),
      cmocka_unit_test_setup_teardown(unsupported_operators_are_listed, setup, teardown),
      cmocka_unit_test_setup_teardown(every_truncation_is_an_error, setup, teardown),
      cmocka_unit_test_setup_teardown(flipped_bits_are_survived, setup, teardown),
      cmocka_unit_test_setup_teardown(deep_nesting_is_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(input_shapes_fix_symbolic_dimensions, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
