// builder.h - writes a convolutional network as a graph. Private to src/models.
// Every tensor that is built carries an estimate of its channels' mean and variance (inputs: 0 and
// 1). From these the BatchNormalization statistics are made, as training would have left them: so
// the activations of random weights stay of order 1 through any depth, and a wrong kernel anywhere
// shows in the output.
#ifndef SEER_MODELS_BUILDER_H
#define SEER_MODELS_BUILDER_H

#include "base/rng.h"
#include "models/models.h"

typedef struct {
  seer_val value;
  int64_t channels, size;  // size: rows and columns; 1 for a matrix [batch, channels]
  double *mean, *var;  // by channel
} seer_feature;

typedef struct {
  seer_graph *graph;
  seer_arena *arena;
  seer_model_options options;
} seer_builder;

void seer_builder_init(
    seer_builder *builder, const char *name, const seer_model_options *options, seer_arena *arena);
// input [batch, channels, size, size]
seer_feature seer_builder_image(seer_builder *builder, int64_t channels);
// input [batch, channels]
seer_feature seer_builder_vector(seer_builder *builder, int64_t channels);
// Convolution without bias and its BatchNormalization; `name` as in "layer1.0.conv1", `norm` as in
// "layer1.0.bn1".
seer_feature seer_builder_conv_norm(seer_builder *builder, const char *name, const char *norm,
    seer_feature in, int64_t out_channels, int64_t kernel, int64_t stride, int64_t group);
seer_feature seer_builder_relu(seer_builder *builder, const char *name, seer_feature in);
// Clip 0, 6
seer_feature seer_builder_relu6(seer_builder *builder, const char *name, seer_feature in);
seer_feature seer_builder_add(
    seer_builder *builder, const char *name, seer_feature x, seer_feature y);
seer_feature seer_builder_max_pool(seer_builder *builder, const char *name, seer_feature in,
    int64_t kernel, int64_t stride, int64_t pad);
seer_feature seer_builder_global_average(seer_builder *builder, const char *name, seer_feature in);
seer_feature seer_builder_flatten(seer_builder *builder, const char *name, seer_feature in);
seer_feature seer_builder_dense(
    seer_builder *builder, const char *name, seer_feature in, int64_t out_channels);
// Renames the last value "output" and marks it; returns the finished graph.
seer_graph *seer_builder_finish(seer_builder *builder, seer_feature last);

#define SEER_FMT(builder, ...) seer_arena_printf((builder)->arena, __VA_ARGS__)

#endif
