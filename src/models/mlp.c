// mlp.c - three dense layers with Relu between them: 784 -> 256 -> 128 -> classes. Small enough for
// any test.
#include "models/builder.h"

static seer_status build(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  seer_builder b;
  seer_builder_init(&b, desc->name, options, arena);
  seer_feature x = seer_builder_vector(&b, 784);
  x = seer_builder_activate(
      &b, "relu1", seer_builder_dense(&b, "fc1", x, 256), SEER_ACTIVATION_RELU);
  x = seer_builder_activate(
      &b, "relu2", seer_builder_dense(&b, "fc2", x, 128), SEER_ACTIVATION_RELU);
  *out_graph = seer_builder_finish(&b, seer_builder_dense(&b, "fc3", x, options->classes));
  return SEER_OK;
}

const seer_model_desc seer_model_mlp = {.name = "mlp",
    .doc = "three dense layers, 784-256-128-10",
    .defaults = {.batch = 1, .classes = 10, .seed = 0},
    .build = build};
