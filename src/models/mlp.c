// mlp.c - three dense layers with Relu between them: 784 -> 256 -> 128 -> classes. Small enough for
// any test.
#include "models/builder.h"

static seer_status build(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  (void)desc;
  seer_builder b;
  seer_builder_init(&b, "mlp", options, arena);
  seer_feature x = seer_builder_vector(&b, 784);
  x = seer_builder_relu(&b, "relu1", seer_builder_dense(&b, "fc1", x, 256));
  x = seer_builder_relu(&b, "relu2", seer_builder_dense(&b, "fc2", x, 128));
  *out_graph = seer_builder_finish(&b, seer_builder_dense(&b, "fc3", x, options->classes));
  return SEER_OK;
}

const seer_model_desc seer_model_mlp = {"mlp", "three dense layers, 784-256-128-10",
    {.batch = 1, .classes = 10, .seed = 0}, build, NULL};
