// vgg.c - VGG-16 (arXiv 1409.1556, configuration D): 3x3 convolutions with bias, and two wide dense
// layers.
#include "models/builder.h"

static seer_status build(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  static const int64_t channels[5] = {64, 128, 256, 512, 512}, depth[5] = {2, 2, 3, 3, 3};
  seer_builder b;
  seer_builder_init(&b, desc->name, options, arena);
  seer_feature x = seer_builder_image(&b, 3);
  for (int g = 0; g < 5; g++) {
    for (int64_t k = 0; k < depth[g]; k++) {
      const char *at = SEER_FMT(&b, "features.%d.%" PRId64, g, k);
      x = seer_builder_conv(&b, SEER_FMT(&b, "%s.conv", at), x,
          (seer_conv){.channels = channels[g], .kernel = 3, .has_bias = true});
      x = seer_builder_activate(&b, SEER_FMT(&b, "%s.relu", at), x, SEER_ACTIVATION_RELU);
    }
    x = seer_builder_max_pool(
        &b, SEER_FMT(&b, "features.%d.pool", g), x, (seer_window){.kernel = 2, .stride = 2});
  }
  x = seer_builder_flatten(&b, "flatten", x);
  for (int k = 0; k < 2; k++) {
    const char *at = SEER_FMT(&b, "classifier.%d", k);
    x = seer_builder_activate(
        &b, SEER_FMT(&b, "%s.relu", at), seer_builder_dense(&b, at, x, 4096), SEER_ACTIVATION_RELU);
  }
  *out_graph = seer_builder_finish(&b, seer_builder_dense(&b, "classifier.2", x, options->classes));
  return SEER_OK;
}

SEER_IMAGE_MODEL(vgg16, "vgg16", "VGG-16", 224, build, NULL)
