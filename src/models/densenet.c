// densenet.c - DenseNet-121 (arXiv 1608.06993, table 1, growth 32): each layer reads all earlier
// ones of its block.
#include "models/builder.h"

enum { GROWTH = 32 };

static seer_status build(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  static const int depth[4] = {6, 12, 24, 16};
  seer_builder b;
  seer_builder_init(&b, desc->name, options, arena);
  seer_feature x = seer_builder_image(&b, 3);
  x = seer_builder_conv_norm(
      &b, "conv0", "norm0", x, (seer_conv){.channels = 2 * GROWTH, .kernel = 7, .stride = 2});
  x = seer_builder_activate(&b, "norm0.relu", x, SEER_ACTIVATION_RELU);
  x = seer_builder_max_pool(&b, "pool0", x, (seer_window){.kernel = 3, .stride = 2, .pad = 1});
  for (int g = 0; g < 4; g++) {
    for (int k = 0; k < depth[g]; k++) {
      const char *at = SEER_FMT(&b, "block%d.layer%d", g + 1, k + 1);
      seer_feature y = seer_builder_norm_relu(&b, SEER_FMT(&b, "%s.norm1", at), x);
      y = seer_builder_conv(
          &b, SEER_FMT(&b, "%s.conv1", at), y, (seer_conv){.channels = 4 * GROWTH});
      y = seer_builder_norm_relu(&b, SEER_FMT(&b, "%s.norm2", at), y);
      y = seer_builder_conv(
          &b, SEER_FMT(&b, "%s.conv2", at), y, (seer_conv){.channels = GROWTH, .kernel = 3});
      x = seer_builder_concat(&b, SEER_FMT(&b, "%s.concat", at), (seer_feature[]){x, y}, 2);
    }
    if (g == 3) break;
    const char *at = SEER_FMT(&b, "transition%d", g + 1);
    x = seer_builder_norm_relu(&b, SEER_FMT(&b, "%s.norm", at), x);
    x = seer_builder_conv(
        &b, SEER_FMT(&b, "%s.conv", at), x, (seer_conv){.channels = x.channels / 2});
    x = seer_builder_average_pool(
        &b, SEER_FMT(&b, "%s.pool", at), x, (seer_window){.kernel = 2, .stride = 2});
  }
  x = seer_builder_norm_relu(&b, "norm5", x);
  *out_graph = seer_builder_finish_classifier(&b, "pool", "classifier", x);
  return SEER_OK;
}

SEER_IMAGE_MODEL(densenet121, "densenet121", "DenseNet-121", 224, build, NULL)
