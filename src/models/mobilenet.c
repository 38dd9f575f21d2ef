// mobilenet.c - MobileNet v1 (arXiv 1704.04861, table 1) and v2 (arXiv 1801.04381, table 2), with
// widths of 0.25 to 1.
#include "models/builder.h"

// Depthwise 3x3 and pointwise 1x1, each with BatchNormalization and Relu.
static seer_status build_v1(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  double width = *(const double *)desc->config;
  static const struct {
    int64_t channels, stride;
  } blocks[13] = {{64, 1}, {128, 2}, {128, 1}, {256, 2}, {256, 1}, {512, 2}, {512, 1}, {512, 1},
      {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
  seer_builder b;
  seer_builder_init(&b, desc->name, options, arena);
  seer_feature x = seer_builder_image(&b, 3);
  const seer_conv stem = {.channels = seer_builder_scaled(32, width), .kernel = 3, .stride = 2};
  x = seer_builder_unit(&b, "stem", x, stem, SEER_ACTIVATION_RELU);
  for (int k = 0; k < 13; k++) {
    const seer_conv depthwise = {
        .channels = x.channels, .kernel = 3, .stride = blocks[k].stride, .group = x.channels};
    const seer_conv pointwise = {.channels = seer_builder_scaled(blocks[k].channels, width)};
    x = seer_builder_unit(&b, SEER_FMT(&b, "block%d.dw", k), x, depthwise, SEER_ACTIVATION_RELU);
    x = seer_builder_unit(&b, SEER_FMT(&b, "block%d.pw", k), x, pointwise, SEER_ACTIVATION_RELU);
  }
  *out_graph = seer_builder_finish_classifier(&b, "pool", "fc", x);
  return SEER_OK;
}

// Expand (1x1, Clip 0..6), depthwise 3x3 (Clip), project (1x1, linear); the input is added where
// shapes allow.
static seer_feature inverted_residual(seer_builder *b, int index, seer_feature in, int64_t channels,
    int64_t stride, int64_t expansion) {
  const char *at = SEER_FMT(b, "features.%d", index);
  seer_feature x = in;
  if (expansion != 1) {
    x = seer_builder_unit(b, SEER_FMT(b, "%s.expand", at), x,
        (seer_conv){.channels = in.channels * expansion}, SEER_ACTIVATION_RELU6);
  }
  const seer_conv depthwise = {
      .channels = x.channels, .kernel = 3, .stride = stride, .group = x.channels};
  x = seer_builder_unit(b, SEER_FMT(b, "%s.dw", at), x, depthwise, SEER_ACTIVATION_RELU6);
  x = seer_builder_conv_norm(b, SEER_FMT(b, "%s.project.conv", at),
      SEER_FMT(b, "%s.project.bn", at), x, (seer_conv){.channels = channels});
  if (stride == 1 && in.channels == channels)
    x = seer_builder_add(b, SEER_FMT(b, "%s.add", at), in, x);
  return x;
}

static seer_status build_v2(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  double width = *(const double *)desc->config;
  static const struct {
    int64_t expansion, channels, repeats, stride;
  } groups[7] = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1},
      {6, 160, 3, 2}, {6, 320, 1, 1}};
  seer_builder b;
  seer_builder_init(&b, desc->name, options, arena);
  seer_feature x = seer_builder_image(&b, 3);
  const seer_conv stem = {.channels = seer_builder_scaled(32, width), .kernel = 3, .stride = 2};
  x = seer_builder_unit(&b, "stem", x, stem, SEER_ACTIVATION_RELU6);
  int index = 0;
  for (int g = 0; g < 7; g++) {
    for (int64_t r = 0; r < groups[g].repeats; r++) {
      x = inverted_residual(&b, ++index, x, seer_builder_scaled(groups[g].channels, width),
          r == 0 ? groups[g].stride : 1, groups[g].expansion);
    }
  }
  x = seer_builder_unit(&b, "head", x, (seer_conv){.channels = 1280}, SEER_ACTIVATION_RELU6);
  *out_graph = seer_builder_finish_classifier(&b, "pool", "classifier", x);
  return SEER_OK;
}

#define MOBILENET(id, name, text, build_fn, width) \
  static const double width_##id = width;          \
  SEER_IMAGE_MODEL(id, name, text, 224, build_fn, &width_##id)

MOBILENET(mobilenet, "mobilenet", "MobileNet v1, width 1.0", build_v1, 1.0)
MOBILENET(mobilenet_075, "mobilenet_0.75", "MobileNet v1, width 0.75", build_v1, 0.75)
MOBILENET(mobilenet_050, "mobilenet_0.5", "MobileNet v1, width 0.5", build_v1, 0.5)
MOBILENET(mobilenet_025, "mobilenet_0.25", "MobileNet v1, width 0.25", build_v1, 0.25)
MOBILENET(mobilenet_v2, "mobilenet_v2", "MobileNet v2, width 1.0", build_v2, 1.0)
MOBILENET(mobilenet_v2_075, "mobilenet_v2_0.75", "MobileNet v2, width 0.75", build_v2, 0.75)
MOBILENET(mobilenet_v2_050, "mobilenet_v2_0.5", "MobileNet v2, width 0.5", build_v2, 0.5)
MOBILENET(mobilenet_v2_025, "mobilenet_v2_0.25", "MobileNet v2, width 0.25", build_v2, 0.25)
