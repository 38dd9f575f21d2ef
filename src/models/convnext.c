// convnext.c - ConvNeXt (arXiv 2201.03545) as torchvision has it: depthwise 7x7, normalisation over
// channels, and an MLP on each position, between permutations to channels last and back.
#include "models/builder.h"

typedef struct {
  int64_t channels[4], depth[4];
} convnext;

static const double epsilon = 1e-6;

static seer_val channels_last(seer_builder *b, const char *name, seer_val x) {
  return seer_builder_transpose(b, name, x, (int64_t[]){0, 2, 3, 1}, 4);
}
static seer_val channels_first(seer_builder *b, const char *name, seer_val x) {
  return seer_builder_transpose(b, name, x, (int64_t[]){0, 3, 1, 2}, 4);
}

// LayerNormalization over the channels of an image.
static seer_feature norm(seer_builder *b, const char *name, seer_feature x) {
  seer_val y = channels_last(b, SEER_FMT(b, "%s.last", name), x.value);
  y = seer_builder_layer_norm(b, name, y, x.channels, epsilon);
  return seer_builder_feature(
      b, channels_first(b, SEER_FMT(b, "%s.first", name), y), x.channels, x.size);
}

static seer_feature block(seer_builder *b, const char *at, seer_feature in) {
  const seer_conv depthwise = {
      .channels = in.channels, .kernel = 7, .group = in.channels, .has_bias = true};
  const int64_t c = in.channels, scale_dim[3] = {c, 1, 1};
  seer_val x = seer_builder_conv(b, SEER_FMT(b, "%s.dwconv", at), in, depthwise).value;
  x = channels_last(b, SEER_FMT(b, "%s.last", at), x);
  x = seer_builder_layer_norm(b, SEER_FMT(b, "%s.norm", at), x, c, epsilon);
  x = seer_builder_mlp(b, SEER_FMT(b, "%s.mlp", at), x, c, 4 * c);
  x = channels_first(b, SEER_FMT(b, "%s.first", at), x);
  // Trained from 1e-6; here as large as to matter.
  seer_val scale =
      seer_builder_constant(b, SEER_FMT(b, "%s.layer_scale", at), scale_dim, 3, 0.5, 0.2);
  x = seer_builder_binary(b, SEER_FMT(b, "%s.scaled", at), "Mul", scale, x);
  x = seer_builder_binary(b, SEER_FMT(b, "%s.add", at), "Add", x, in.value);
  return seer_builder_feature(b, x, c, in.size);
}

static seer_status build(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  const convnext *net = desc->config;
  seer_builder b;
  seer_builder_init(&b, desc->name, options, arena);
  seer_builder_set_opset(&b, 17);  // LayerNormalization
  seer_feature x = seer_builder_image(&b, 3);
  for (int g = 0; g < 4; g++) {
    int64_t step = g == 0 ? 4 : 2;
    const seer_conv down = {.channels = net->channels[g],
        .kernel = step,
        .stride = step,
        .is_valid = true,
        .has_bias = true};
    if (g > 0) x = norm(&b, SEER_FMT(&b, "down%d.norm", g), x);
    x = seer_builder_conv(&b, g ? SEER_FMT(&b, "down%d.conv", g) : "stem.conv", x, down);
    if (g == 0) x = norm(&b, "stem.norm", x);
    for (int64_t k = 0; k < net->depth[g]; k++)
      x = block(&b, SEER_FMT(&b, "stage%d.%" PRId64, g + 1, k), x);
  }
  x = norm(&b, "norm", seer_builder_global_average(&b, "avgpool", x));
  x = seer_builder_dense(
      &b, "classifier", seer_builder_flatten(&b, "flatten", x), options->classes);
  *out_graph = seer_builder_finish(&b, x);
  return SEER_OK;
}

#define CONVNEXT(id, text, ...)                   \
  static const convnext net_##id = {__VA_ARGS__}; \
  SEER_IMAGE_MODEL(id, #id, text, 224, build, &net_##id)

CONVNEXT(convnext_tiny, "ConvNeXt tiny", {96, 192, 384, 768}, {3, 3, 9, 3})
CONVNEXT(convnext_small, "ConvNeXt small", {96, 192, 384, 768}, {3, 3, 27, 3})
CONVNEXT(convnext_base, "ConvNeXt base", {128, 256, 512, 1024}, {3, 3, 27, 3})
CONVNEXT(convnext_large, "ConvNeXt large", {192, 384, 768, 1536}, {3, 3, 27, 3})
