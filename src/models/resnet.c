// resnet.c - ResNet v1 (arXiv 1512.03385, table 1): basic blocks (18) and bottlenecks (50). The
// stride of a bottleneck is in its first 1x1 convolution, as in the paper (later variants move it
// to the 3x3).
#include "models/builder.h"

static seer_feature shortcut(
    seer_builder *b, const char *at, seer_feature in, int64_t channels, int64_t stride) {
  if (stride == 1 && in.channels == channels) return in;
  return seer_builder_conv_norm(b, SEER_FMT(b, "%s.downsample.conv", at),
      SEER_FMT(b, "%s.downsample.bn", at), in, channels, 1, stride, 1);
}

static seer_feature conv(seer_builder *b, const char *at, int k, seer_feature in, int64_t channels,
    int64_t kernel, int64_t stride, bool has_relu) {
  seer_feature x = seer_builder_conv_norm(b, SEER_FMT(b, "%s.conv%d", at, k),
      SEER_FMT(b, "%s.bn%d", at, k), in, channels, kernel, stride, 1);
  return has_relu ? seer_builder_relu(b, SEER_FMT(b, "%s.relu%d", at, k), x) : x;
}

static seer_feature basic_block(
    seer_builder *b, const char *at, seer_feature in, int64_t channels, int64_t stride) {
  seer_feature x = conv(b, at, 1, in, channels, 3, stride, true);
  x = conv(b, at, 2, x, channels, 3, 1, false);
  x = seer_builder_add(b, SEER_FMT(b, "%s.add", at), x, shortcut(b, at, in, channels, stride));
  return seer_builder_relu(b, SEER_FMT(b, "%s.relu", at), x);
}

static seer_feature bottleneck(
    seer_builder *b, const char *at, seer_feature in, int64_t channels, int64_t stride) {
  seer_feature x = conv(b, at, 1, in, channels, 1, stride, true);
  x = conv(b, at, 2, x, channels, 3, 1, true);
  x = conv(b, at, 3, x, 4 * channels, 1, 1, false);
  x = seer_builder_add(b, SEER_FMT(b, "%s.add", at), x, shortcut(b, at, in, 4 * channels, stride));
  return seer_builder_relu(b, SEER_FMT(b, "%s.relu", at), x);
}

static seer_status build(const char *name, const int64_t *depth, bool has_bottlenecks,
    const seer_model_options *options, seer_arena *arena, seer_graph **out_graph) {
  seer_builder b;
  seer_builder_init(&b, name, options, arena);
  seer_feature x = seer_builder_image(&b, 3);
  x = seer_builder_relu(&b, "relu1", seer_builder_conv_norm(&b, "conv1", "bn1", x, 64, 7, 2, 1));
  x = seer_builder_max_pool(&b, "maxpool", x, 3, 2, 1);
  for (int g = 0; g < 4; g++) {
    for (int64_t k = 0; k < depth[g]; k++) {
      const char *at = SEER_FMT(&b, "layer%d.%" PRId64, g + 1, k);
      int64_t channels = INT64_C(64) << g, stride = k == 0 && g > 0 ? 2 : 1;
      x = has_bottlenecks ? bottleneck(&b, at, x, channels, stride)
                          : basic_block(&b, at, x, channels, stride);
    }
  }
  x = seer_builder_flatten(&b, "flatten", seer_builder_global_average(&b, "avgpool", x));
  *out_graph = seer_builder_finish(&b, seer_builder_dense(&b, "fc", x, options->classes));
  return SEER_OK;
}

static seer_status build_18(
    const seer_model_options *options, seer_arena *arena, seer_graph **out_graph) {
  static const int64_t depth[4] = {2, 2, 2, 2};
  return build("resnet18", depth, false, options, arena, out_graph);
}

static seer_status build_50(
    const seer_model_options *options, seer_arena *arena, seer_graph **out_graph) {
  static const int64_t depth[4] = {3, 4, 6, 3};
  return build("resnet50_v1", depth, true, options, arena, out_graph);
}

const seer_model_desc seer_model_resnet18 = {"resnet18", "ResNet-18; 11.69 M parameters",
    {.batch = 1, .size = 224, .classes = 1000, .seed = 0}, build_18};
const seer_model_desc seer_model_resnet50_v1 = {"resnet50_v1", "ResNet-50 v1; 25.56 M parameters",
    {.batch = 1, .size = 224, .classes = 1000, .seed = 0}, build_50};
