// The built-in networks: published numbers of parameters, sound graphs, repeatable weights,
// options.
#include <string.h>

#include "front/front.h"
#include "models/models.h"
#include "support/test.h"

static seer_graph *build(seer_arena *arena, const char *name, const char *options) {
  seer_graph *graph = NULL;
  must(seer_model_build(name, options, NULL, arena, &graph));
  return graph;
}

static seer_graph *outline(seer_arena *arena, const char *name, const char *options) {
  seer_graph *graph = NULL;
  must(seer_model_outline(name, options, arena, &graph));
  return graph;
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

// Trained parameters: running statistics, masks and tables of sines are none.
static int64_t n_params(const seer_graph *graph) {
  int64_t n = 0;
  for (size_t v = 1; v < graph->n_value; v++) {
    const seer_value *value = &graph->value[v];
    if (!value->constant) continue;
    static const char *const trained[] = {".weight", ".bias", "class_token", "pos_embed",
        ".layer_scale", ".relative_position_bias_table"};
    for (size_t k = 0; k < SEER_COUNT_OF(trained); k++)
      if (ends_with(value->name, trained[k])) n += seer_tensor_elems(value->constant);
  }
  return n;
}

// As torchvision, Keras (trainable ones) and the authors' repositories count them; the second
// versions of ResNet differ between these in biases and a few normalisations. torchvision's, the
// `num_params` of its weights: VGG, DenseNet, SqueezeNet, EfficientNet, ConvNeXt, Swin; Inception
// v3 is its 27161264 without the 3326696 of the auxiliary classifier (AuxLogits: 128 x 768 + 256,
// 768 x 128 x 25 + 1536, 1000 x 768 + 1000). YOLOv8: the parameters that Ultralytics' yolov8.yaml
// lists for 80 classes, before BatchNormalization is folded, with the 16 fixed weights of the
// expectation over bins (3157184 of yolov8n have gradients).
static void test_params(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int64_t n;
  } published[] = {{"mobilenet_v2", 3504872}, {"mobilenet", 4231976}, {"resnet18", 11689512},
      {"resnet50_v1", 25557032}, {"mlp", 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10},
      {"vgg16", 138357544}, {"densenet121", 7978856}, {"resnet34", 21797672},
      {"resnet101_v1", 44549160}, {"resnet152_v1", 60192808}, {"mobilenet_0.75", 2585560},
      {"mobilenet_0.5", 1331592}, {"mobilenet_0.25", 470072}, {"mobilenet_v2_0.75", 2636424},
      {"mobilenet_v2_0.5", 1968680}, {"vit_base", 86567656}, {"vit_large", 304326632},
      {"vit_huge", 632045800}, {"bert_base", 109482240}, {"bert_large", 335141888},
      {"distilbert", 66362880}, {"roberta_base", 124645632}, {"roberta_large", 355359744},
      {"gpt2_small", 124439808}, {"t5_small", 35330816}, {"squeezenet1_0", 1248424},
      {"squeezenet1_1", 1235496}, {"inception_v3", 27161264 - 3326696},
      {"efficientnet_b0", 5288548}, {"efficientnet_b1", 7794184}, {"efficientnet_b2", 9109994},
      {"efficientnet_b3", 12233232}, {"efficientnet_b4", 19341616}, {"efficientnet_b5", 30389784},
      {"efficientnet_b6", 43040704}, {"efficientnet_b7", 66347960}, {"convnext_tiny", 28589128},
      {"convnext_small", 50223688}, {"convnext_base", 88591464}, {"convnext_large", 197767336},
      {"swin_t", 28288354}, {"swin_s", 49606258}, {"swin_b", 87768224}, {"yolov8n", 3157200},
      {"yolov8s", 11166560}, {"yolov8m", 25902640}, {"yolov8l", 43691520}, {"yolov8x", 68229648}};
  for (size_t k = 0; k < SEER_COUNT_OF(published); k++) {
    seer_arena *arena = seer_arena_create("test");
    int64_t n = n_params(outline(arena, published[k].name, ""));
    if (n != published[k].n)
      fail_msg("%s: %" PRId64 " parameters, published are %" PRId64, published[k].name, n,
          published[k].n);
    seer_arena_destroy(arena);
  }
}

// What users of other zoos call them.
static void test_aliases(void **state) {
  (void)state;
  assert_ptr_equal(seer_model_find("mobilenetv2_0.5"), seer_model_find("mobilenet_v2_0.5"));
  assert_ptr_equal(seer_model_find("resnet50"), seer_model_find("resnet50_v1"));
  assert_non_null(seer_model_find("gpt2"));
  assert_ptr_equal(seer_model_find("squeezenet1.1"), seer_model_find("squeezenet1_1"));
  assert_ptr_equal(seer_model_find("swin_tiny"), seer_model_find("swin_t"));
  assert_null(seer_model_find("resnet"));
}

// Every node resolves; images give 1000 logits, sequences keep their tokens.
static void test_shapes(void **state) {
  (void)state;
  for (size_t k = 0; k < seer_model_table_count; k++) {
    const seer_model_desc *model = seer_model_table[k];
    seer_arena *arena = seer_arena_create("test");
    seer_graph *graph =
        outline(arena, model->name, model->defaults.sequence ? "batch=3,sequence=8" : "batch=3");
    assert_null(seer_graph_verify(graph));
    seer_status status = seer_front_resolve(graph, "", NULL);
    if (status) fail_msg("%s: %s", model->name, seer_status_message(status));
    const seer_value *out = seer_graph_value(graph, graph->output[0]);
    assert_string_equal(out->name, "output");
    assert_int_equal(out->dim[0], 3);
    if (model->defaults.sequence) {
      assert_int_equal(out->rank, 3);
      assert_int_equal(out->dim[1], strcmp(model->name, "llama_small") == 0 ? 1 : 8);
    } else if (model->size_multiple) {  // a detector: strides of 8, 16 and 32
      int64_t side = model->defaults.size / 32;
      assert_int_equal(out->rank, 3);
      assert_int_equal(out->dim[1], 4 + model->defaults.classes);
      assert_int_equal(out->dim[2], side * side * (1 + 4 + 16));
    } else {
      assert_int_equal(out->rank, 2);
      assert_int_equal(out->dim[1], model->defaults.classes);
    }
    seer_arena_destroy(arena);
  }
}

static const float *weights(const seer_graph *graph, const char *name, int64_t *out_n) {
  for (size_t v = 1; v < graph->n_value; v++) {
    if (strcmp(graph->value[v].name, name) != 0) continue;
    *out_n = seer_tensor_elems(graph->value[v].constant);
    return (const float *)graph->value[v].constant->data;
  }
  fail_msg("no value %s", name);
  return NULL;
}

static void test_weights(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  int64_t n = 0;
  const float *a = weights(build(arena, "mobilenet_v2", ""), "features.3.expand.conv.weight", &n);
  const float *b =
      weights(build(arena, "mobilenet_v2", "batch=2"), "features.3.expand.conv.weight", &n);
  const float *c =
      weights(build(arena, "mobilenet_v2", "seed=1"), "features.3.expand.conv.weight", &n);
  assert_int_equal(n, 144 * 24);
  assert_memory_equal(a, b, (size_t)n * sizeof(float));
  assert_true(memcmp(a, c, (size_t)n * sizeof(float)) != 0);
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += (double)a[i];
    squares += (double)a[i] * (double)a[i];
  }
  assert_true(sum / (double)n < 0.02 && sum / (double)n > -0.02);
  double he = 2.0 / 24;
  assert_true(squares / (double)n > 0.95 * he && squares / (double)n < 1.05 * he);
  const float *var = weights(build(arena, "resnet18", ""), "layer4.1.bn2.running_var", &n);
  // depth changes nothing
  for (int64_t i = 0; i < n; i++) assert_true(var[i] > 0.05f && var[i] < 50.0f);
  seer_arena_destroy(arena);
}

static void expect_error(const char *name, const char *options, const char *part) {
  seer_arena *arena = seer_arena_create("test");
  seer_graph *graph = NULL;
  seer_status status = seer_model_build(name, options, NULL, arena, &graph);
  assert_non_null(status);
  if (!strstr(seer_status_message(status), part)) fail_msg("%s", seer_status_message(status));
  assert_null(graph);
  seer_status_free(status);
  seer_arena_destroy(arena);
}

// Built for other shapes it has the first one's weights, unless they differ.
static void test_like(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_graph *first = build(arena, "mobilenet_v2_0.25", ""), *other, *reseeded;
  must(seer_model_build("mobilenet_v2_0.25", "batch=3,size=96", first, arena, &other));
  must(seer_model_build("mobilenet_v2_0.25", "batch=3,seed=5", first, arena, &reseeded));
  size_t n = 0;
  for (size_t v = 1; v < other->n_value; v++) {
    const seer_tensor *tensor = other->value[v].constant;
    if (!tensor || strstr(other->value[v].name, ".conv.weight") == NULL) continue;
    assert_string_equal(other->value[v].name, first->value[v].name);
    assert_ptr_equal(tensor->data, first->value[v].constant->data);
    assert_ptr_not_equal(reseeded->value[v].constant->data, tensor->data);
    n++;
  }
  assert_true(n > 20);
  seer_arena_destroy(arena);
}

static void test_options(void **state) {
  (void)state;
  expect_error(
      "resnet", "", "'resnet' is neither a file nor a built-in network, did you mean 'resnet18'?");
  expect_error(
      "x", "", "'x' is neither a file nor a built-in network (`familyseer models` lists those)");
  expect_error(
      "resnet18", "depth=3", "'depth=3', must be one of batch=N, size=N, classes=N, seed=N");
  expect_error("mlp", "size=64", "must be one of batch=N, classes=N, seed=N");
  expect_error("resnet18", "batch=0", "must be an integer in [1, 1024]");
  expect_error("resnet18", "batch=1x", "must be an integer");
  expect_error("resnet18", "batch", "'batch', must be one of");
  expect_error("resnet18", "batch=1,batch=2", "given twice");
  expect_error("resnet18", "input:1x3x224", "must be input:Nx3xSIZExSIZE");
  expect_error("resnet18", "input:1x3x224x192", "must be input:Nx3xSIZExSIZE");
  expect_error("mlp", "input:1x3", "must be input:Nx784");
  expect_error("mlp", "batch=2,input:1x784", "given twice");
  expect_error("inception_v3", "size=74", "must be an integer in [75, 4096]");
  expect_error("inception_v3", "input:1x3x64x64", "with SIZE in [75, 4096]");
  expect_error("yolov8n", "size=100", "size 100, must be a multiple of 32");
  expect_error("yolov8n", "input:1x3x100x100", "size 100, must be a multiple of 32");
  seer_arena *arena = seer_arena_create("test");
  seer_graph *graph = build(arena, "mobilenet", "input:2x3x96x96,classes=3");
  assert_int_equal(seer_graph_value(graph, graph->input[0])->dim[0], 2);
  assert_int_equal(seer_graph_value(graph, graph->input[0])->dim[3], 96);
  assert_int_equal(seer_graph_value(graph, graph->output[0])->dim[1], 3);
  graph = build(arena, "mobilenet", "batch=2,size=64,classes=7");
  assert_int_equal(seer_graph_value(graph, graph->input[0])->dim[0], 2);
  assert_int_equal(seer_graph_value(graph, graph->input[0])->dim[2], 64);
  assert_int_equal(seer_graph_value(graph, graph->output[0])->dim[1], 7);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_params),
      cmocka_unit_test(test_aliases),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_weights),
      cmocka_unit_test(test_like),
      cmocka_unit_test(test_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
