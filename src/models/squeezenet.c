// squeezenet.c - SqueezeNet 1.0 (arXiv 1602.07360, table 1) and 1.1 (its authors' repository), as
// torchvision has them: convolutions with bias and Relu, a 1x1 convolution to the classes at the
// end.
#include "models/builder.h"

typedef struct {
  int64_t stem_channels, stem_kernel;
  int pool_before[2];  // fire modules that a pooling stands in front of, besides the first
} squeezenet;

static seer_feature conv_relu(seer_builder *b, const char *name, seer_feature in, seer_conv conv) {
  return seer_builder_activate(
      b, SEER_FMT(b, "%s.relu", name), seer_builder_conv(b, name, in, conv), SEER_ACTIVATION_RELU);
}

static seer_feature pool(seer_builder *b, int index, seer_feature in) {
  return seer_builder_max_pool(b, SEER_FMT(b, "pool%d", index), in,
      (seer_window){.kernel = 3, .stride = 2, .is_ceil = true});
}

// 1x1 to few channels, then 1x1 and 3x3 side by side.
static seer_feature fire(
    seer_builder *b, int index, seer_feature in, int64_t squeeze, int64_t expand) {
  const char *at = SEER_FMT(b, "fire%d", index);
  seer_feature x = conv_relu(
      b, SEER_FMT(b, "%s.squeeze", at), in, (seer_conv){.channels = squeeze, .has_bias = true});
  seer_feature both[2] = {conv_relu(b, SEER_FMT(b, "%s.expand1x1", at), x,
                              (seer_conv){.channels = expand, .has_bias = true}),
      conv_relu(b, SEER_FMT(b, "%s.expand3x3", at), x,
          (seer_conv){.channels = expand, .kernel = 3, .has_bias = true})};
  return seer_builder_concat(b, SEER_FMT(b, "%s.concat", at), both, 2);
}

static seer_status build(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  static const struct {
    int64_t squeeze, expand;
  } fires[8] = {
      {16, 64}, {16, 64}, {32, 128}, {32, 128}, {48, 192}, {48, 192}, {64, 256}, {64, 256}};
  const squeezenet *net = desc->config;
  seer_builder b;
  seer_builder_init(&b, desc->name, options, arena);
  const seer_conv stem = {.channels = net->stem_channels,
      .kernel = net->stem_kernel,
      .stride = 2,
      .is_valid = true,
      .has_bias = true};
  seer_feature x = pool(&b, 1, conv_relu(&b, "conv1", seer_builder_image(&b, 3), stem));
  for (int k = 2; k < 10; k++) {  // the paper counts from the first convolution
    for (int p = 0; p < 2; p++)
      if (net->pool_before[p] == k) x = pool(&b, k, x);
    x = fire(&b, k, x, fires[k - 2].squeeze, fires[k - 2].expand);
  }
  x = conv_relu(&b, "conv10", x, (seer_conv){.channels = options->classes, .has_bias = true});
  *out_graph = seer_builder_finish(
      &b, seer_builder_flatten(&b, "flatten", seer_builder_global_average(&b, "avgpool", x)));
  return SEER_OK;
}

#define SQUEEZENET(id, text, ...)                   \
  static const squeezenet net_##id = {__VA_ARGS__}; \
  SEER_IMAGE_MODEL(id, #id, text, 224, build, &net_##id)

SQUEEZENET(
    squeezenet1_0, "SqueezeNet 1.0", .stem_channels = 96, .stem_kernel = 7, .pool_before = {5, 9})
SQUEEZENET(
    squeezenet1_1, "SqueezeNet 1.1", .stem_channels = 64, .stem_kernel = 3, .pool_before = {4, 6})
