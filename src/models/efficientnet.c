// efficientnet.c - EfficientNet B0 to B7 (arXiv 1905.11946, table 1) as torchvision has them:
// inverted bottlenecks with SiLU, and channels that are scaled by what their averages say
// (squeeze and excitation). Image sizes are those of torchvision's weights.
#include <math.h>

#include "models/builder.h"

typedef struct {
  double width, depth, norm_epsilon;
} efficientnet;

// x times sigmoid(W2 silu(W1 average(x)))
static seer_feature squeeze_excite(
    seer_builder *b, const char *at, seer_feature x, int64_t squeezed) {
  seer_feature gate = seer_builder_global_average(b, SEER_FMT(b, "%s.avgpool", at), x);
  gate = seer_builder_conv(
      b, SEER_FMT(b, "%s.fc1", at), gate, (seer_conv){.channels = squeezed, .has_bias = true});
  gate = seer_builder_activate(b, SEER_FMT(b, "%s.silu", at), gate, SEER_ACTIVATION_SILU);
  gate = seer_builder_conv(
      b, SEER_FMT(b, "%s.fc2", at), gate, (seer_conv){.channels = x.channels, .has_bias = true});
  gate = seer_builder_activate(b, SEER_FMT(b, "%s.sigmoid", at), gate, SEER_ACTIVATION_SIGMOID);
  return seer_builder_gate(b, SEER_FMT(b, "%s.mul", at), x, gate);
}

// Expand (1x1), depthwise, squeeze and excitation, project (1x1, linear); the input is added where
// shapes allow.
static seer_feature inverted_bottleneck(seer_builder *b, const char *at, seer_feature in,
    int64_t channels, int64_t kernel, int64_t stride, int64_t expansion) {
  seer_feature x = in;
  if (expansion != 1)
    x = seer_builder_unit(b, SEER_FMT(b, "%s.expand", at), x,
        (seer_conv){.channels = in.channels * expansion}, SEER_ACTIVATION_SILU);
  const seer_conv depthwise = {
      .channels = x.channels, .kernel = kernel, .stride = stride, .group = x.channels};
  x = seer_builder_unit(b, SEER_FMT(b, "%s.dw", at), x, depthwise, SEER_ACTIVATION_SILU);
  x = squeeze_excite(b, SEER_FMT(b, "%s.se", at), x, in.channels / 4);
  x = seer_builder_conv_norm(b, SEER_FMT(b, "%s.project.conv", at),
      SEER_FMT(b, "%s.project.bn", at), x, (seer_conv){.channels = channels});
  if (stride == 1 && in.channels == channels)
    x = seer_builder_add(b, SEER_FMT(b, "%s.add", at), x, in);
  return x;
}

static seer_status build(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  static const struct {
    int64_t expansion, kernel, stride, channels, repeats;
  } stages[7] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2}, {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
      {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
  const efficientnet *net = desc->config;
  seer_builder b;
  seer_builder_init(&b, desc->name, options, arena);
  b.norm_epsilon = net->norm_epsilon;
  const seer_conv stem = {
      .channels = seer_builder_scaled(32, net->width), .kernel = 3, .stride = 2};
  seer_feature x =
      seer_builder_unit(&b, "stem", seer_builder_image(&b, 3), stem, SEER_ACTIVATION_SILU);
  for (int s = 0; s < 7; s++) {
    int64_t repeats = (int64_t)ceil((double)stages[s].repeats * net->depth),
            channels = seer_builder_scaled(stages[s].channels, net->width);
    for (int64_t k = 0; k < repeats; k++)
      x = inverted_bottleneck(&b, SEER_FMT(&b, "features.%d.%" PRId64, s + 1, k), x, channels,
          stages[s].kernel, k == 0 ? stages[s].stride : 1, stages[s].expansion);
  }
  x = seer_builder_unit(
      &b, "head", x, (seer_conv){.channels = 4 * x.channels}, SEER_ACTIVATION_SILU);
  *out_graph = seer_builder_finish_classifier(&b, "avgpool", "classifier", x);
  return SEER_OK;
}

#define EFFICIENTNET(n, rows, ...)                    \
  static const efficientnet net_b##n = {__VA_ARGS__}; \
  SEER_IMAGE_MODEL(                                   \
      efficientnet_b##n, "efficientnet_b" #n, "EfficientNet-B" #n, rows, build, &net_b##n)

EFFICIENTNET(0, 224, .width = 1.0, .depth = 1.0, .norm_epsilon = 1e-5)
EFFICIENTNET(1, 240, .width = 1.0, .depth = 1.1, .norm_epsilon = 1e-5)
EFFICIENTNET(2, 288, .width = 1.1, .depth = 1.2, .norm_epsilon = 1e-5)
EFFICIENTNET(3, 300, .width = 1.2, .depth = 1.4, .norm_epsilon = 1e-5)
EFFICIENTNET(4, 380, .width = 1.4, .depth = 1.8, .norm_epsilon = 1e-5)
EFFICIENTNET(5, 456, .width = 1.6, .depth = 2.2, .norm_epsilon = 1e-3)
EFFICIENTNET(6, 528, .width = 1.8, .depth = 2.6, .norm_epsilon = 1e-3)
EFFICIENTNET(7, 600, .width = 2.0, .depth = 3.1, .norm_epsilon = 1e-3)
