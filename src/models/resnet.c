// resnet.c - ResNet v1 (arXiv 1512.03385, table 1): basic blocks (18, 34) and bottlenecks. The
// stride of a bottleneck is in its first 1x1 convolution, as in the paper (later variants move it
// to the 3x3).
#include "models/builder.h"

static seer_feature shortcut(
    seer_builder *b, const char *at, seer_feature in, int64_t channels, int64_t stride) {
  if (stride == 1 && in.channels == channels) return in;
  return seer_builder_conv_norm(b, SEER_FMT(b, "%s.downsample.conv", at),
      SEER_FMT(b, "%s.downsample.bn", at), in, (seer_conv){.channels = channels, .stride = stride});
}

static seer_feature conv(seer_builder *b, const char *at, int k, seer_feature in, int64_t channels,
    int64_t kernel, int64_t stride, bool has_relu) {
  seer_feature x =
      seer_builder_conv_norm(b, SEER_FMT(b, "%s.conv%d", at, k), SEER_FMT(b, "%s.bn%d", at, k), in,
          (seer_conv){.channels = channels, .kernel = kernel, .stride = stride});
  return has_relu
      ? seer_builder_activate(b, SEER_FMT(b, "%s.relu%d", at, k), x, SEER_ACTIVATION_RELU)
      : x;
}

static seer_feature basic_block(
    seer_builder *b, const char *at, seer_feature in, int64_t channels, int64_t stride) {
  seer_feature x = conv(b, at, 1, in, channels, 3, stride, true);
  x = conv(b, at, 2, x, channels, 3, 1, false);
  x = seer_builder_add(b, SEER_FMT(b, "%s.add", at), x, shortcut(b, at, in, channels, stride));
  return seer_builder_activate(b, SEER_FMT(b, "%s.relu", at), x, SEER_ACTIVATION_RELU);
}

static seer_feature bottleneck(
    seer_builder *b, const char *at, seer_feature in, int64_t channels, int64_t stride) {
  seer_feature x = conv(b, at, 1, in, channels, 1, stride, true);
  x = conv(b, at, 2, x, channels, 3, 1, true);
  x = conv(b, at, 3, x, 4 * channels, 1, 1, false);
  x = seer_builder_add(b, SEER_FMT(b, "%s.add", at), x, shortcut(b, at, in, 4 * channels, stride));
  return seer_builder_activate(b, SEER_FMT(b, "%s.relu", at), x, SEER_ACTIVATION_RELU);
}

// ---- v2 (arXiv 1603.05027): normalisation and Relu come before each convolution, and the sums
// stay as they are. The stride of a bottleneck is in its 3x3.

static seer_feature norm_relu(seer_builder *b, const char *at, int k, seer_feature in) {
  return seer_builder_norm_relu(b, SEER_FMT(b, "%s.bn%d", at, k), in);
}

static seer_feature block_v2(seer_builder *b, const char *at, seer_feature in, int64_t channels,
    int64_t stride, bool is_bottleneck) {
  int64_t out = is_bottleneck ? 4 * channels : channels;
  seer_feature x = norm_relu(b, at, 1, in), past = in;
  if (stride != 1 || in.channels != out) {
    past = seer_builder_conv(
        b, SEER_FMT(b, "%s.downsample", at), x, (seer_conv){.channels = out, .stride = stride});
  }
  const seer_conv strided = {.channels = channels, .kernel = 3, .stride = stride};
  const char *names[3] = {
      SEER_FMT(b, "%s.conv1", at), SEER_FMT(b, "%s.conv2", at), SEER_FMT(b, "%s.conv3", at)};
  if (is_bottleneck) {
    x = seer_builder_conv(b, names[0], x, (seer_conv){.channels = channels});
    x = seer_builder_conv(b, names[1], norm_relu(b, at, 2, x), strided);
    x = seer_builder_conv(b, names[2], norm_relu(b, at, 3, x), (seer_conv){.channels = out});
  } else {
    x = seer_builder_conv(b, names[0], x, strided);
    x = seer_builder_conv(
        b, names[1], norm_relu(b, at, 2, x), (seer_conv){.channels = channels, .kernel = 3});
  }
  return seer_builder_add(b, SEER_FMT(b, "%s.add", at), x, past);
}

// ---- networks

typedef struct {
  bool is_v2, has_bottlenecks;
  int64_t depth[4];
} resnet;

static seer_status build(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  const resnet *net = desc->config;
  seer_builder b;
  seer_builder_init(&b, desc->name, options, arena);
  seer_feature x = seer_builder_image(&b, 3);
  x = seer_builder_conv_norm(
      &b, "conv1", "bn1", x, (seer_conv){.channels = 64, .kernel = 7, .stride = 2});
  x = seer_builder_activate(&b, "relu1", x, SEER_ACTIVATION_RELU);
  x = seer_builder_max_pool(&b, "maxpool", x, (seer_window){.kernel = 3, .stride = 2, .pad = 1});
  for (int g = 0; g < 4; g++) {
    for (int64_t k = 0; k < net->depth[g]; k++) {
      const char *at = SEER_FMT(&b, "layer%d.%" PRId64, g + 1, k);
      int64_t channels = INT64_C(64) << g, stride = k == 0 && g > 0 ? 2 : 1;
      if (net->is_v2)
        x = block_v2(&b, at, x, channels, stride, net->has_bottlenecks);
      else
        x = net->has_bottlenecks ? bottleneck(&b, at, x, channels, stride)
                                 : basic_block(&b, at, x, channels, stride);
    }
  }
  if (net->is_v2) x = norm_relu(&b, "last", 1, x);
  *out_graph = seer_builder_finish_classifier(&b, "avgpool", "fc", x);
  return SEER_OK;
}

#define RESNET(id, text, is_second, is_bottleneck, ...)                     \
  static const resnet net_##id = {is_second, is_bottleneck, {__VA_ARGS__}}; \
  SEER_IMAGE_MODEL(id, #id, text, 224, build, &net_##id)

RESNET(resnet18, "ResNet-18", false, false, 2, 2, 2, 2)
RESNET(resnet34, "ResNet-34", false, false, 3, 4, 6, 3)
RESNET(resnet50_v1, "ResNet-50 v1", false, true, 3, 4, 6, 3)
RESNET(resnet101_v1, "ResNet-101 v1", false, true, 3, 4, 23, 3)
RESNET(resnet152_v1, "ResNet-152 v1", false, true, 3, 8, 36, 3)
RESNET(resnet18_v2, "ResNet-18 v2", true, false, 2, 2, 2, 2)
RESNET(resnet34_v2, "ResNet-34 v2", true, false, 3, 4, 6, 3)
RESNET(resnet50_v2, "ResNet-50 v2", true, true, 3, 4, 6, 3)
RESNET(resnet101_v2, "ResNet-101 v2", true, true, 3, 4, 23, 3)
RESNET(resnet152_v2, "ResNet-152 v2", true, true, 3, 8, 36, 3)
