// densenet.c - DenseNet-121 (arXiv 1608.06993, table 1, growth 32): each layer reads all earlier
// ones of its block.
#include "models/builder.h"

enum { GROWTH = 32 };

static seer_feature norm_relu(seer_builder *b, const char *at, int k, seer_feature in) {
  return seer_builder_relu(b, SEER_FMT(b, "%s.relu%d", at, k),
      seer_builder_norm(b, SEER_FMT(b, "%s.norm%d", at, k), in));
}

static seer_status build(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  static const int depth[4] = {6, 12, 24, 16};
  seer_builder b;
  seer_builder_init(&b, desc->name, options, arena);
  seer_feature x = seer_builder_image(&b, 3);
  x = seer_builder_relu(
      &b, "relu0", seer_builder_conv_norm(&b, "conv0", "norm0", x, 2 * GROWTH, 7, 2, 1));
  x = seer_builder_max_pool(&b, "pool0", x, 3, 2, 1);
  for (int g = 0; g < 4; g++) {
    for (int k = 0; k < depth[g]; k++) {
      const char *at = SEER_FMT(&b, "block%d.layer%d", g + 1, k + 1);
      seer_feature y = norm_relu(&b, at, 1, x);
      y = seer_builder_plain_conv(&b, SEER_FMT(&b, "%s.conv1", at), y, 4 * GROWTH, 1, 1, 1, false);
      y = norm_relu(&b, at, 2, y);
      y = seer_builder_plain_conv(&b, SEER_FMT(&b, "%s.conv2", at), y, GROWTH, 3, 1, 1, false);
      x = seer_builder_concat(&b, SEER_FMT(&b, "%s.concat", at), x, y);
    }
    if (g == 3) break;
    const char *at = SEER_FMT(&b, "transition%d", g + 1);
    x = norm_relu(&b, at, 1, x);
    x = seer_builder_plain_conv(&b, SEER_FMT(&b, "%s.conv", at), x, x.channels / 2, 1, 1, 1, false);
    x = seer_builder_average_pool(&b, SEER_FMT(&b, "%s.pool", at), x, 2);
  }
  x = norm_relu(&b, "last", 1, x);
  x = seer_builder_flatten(&b, "flatten", seer_builder_global_average(&b, "pool", x));
  *out_graph = seer_builder_finish(&b, seer_builder_dense(&b, "classifier", x, options->classes));
  return SEER_OK;
}

const seer_model_desc seer_model_densenet121 = {"densenet121", "DenseNet-121",
    {.batch = 1, .size = 224, .classes = 1000, .seed = 0}, build, NULL};
