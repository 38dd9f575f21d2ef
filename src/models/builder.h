// builder.h - writes a network as a graph. Private to src/models.
// Convolutional networks: every tensor that is built carries an estimate of its channels' mean and
// variance (inputs: 0 and 1). From these the BatchNormalization statistics are made, as training
// would have left them: so the activations of random weights stay of order 1 through any depth, and
// a wrong kernel anywhere shows in the output.
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
  int32_t opset;  // of the nodes, 13
  float *zeros;  // of an outline: what its large weights share
  int64_t n_zeros;
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
// BatchNormalization alone.
seer_feature seer_builder_norm(seer_builder *builder, const char *norm, seer_feature in);
// Convolution alone, "same" padding for stride 1; a bias where `has_bias`.
seer_feature seer_builder_plain_conv(seer_builder *builder, const char *name, seer_feature in,
    int64_t out_channels, int64_t kernel, int64_t stride, int64_t group, bool has_bias);
seer_feature seer_builder_relu(seer_builder *builder, const char *name, seer_feature in);
// Clip 0, 6
seer_feature seer_builder_relu6(seer_builder *builder, const char *name, seer_feature in);
seer_feature seer_builder_add(
    seer_builder *builder, const char *name, seer_feature x, seer_feature y);
seer_feature seer_builder_max_pool(seer_builder *builder, const char *name, seer_feature in,
    int64_t kernel, int64_t stride, int64_t pad);
seer_feature seer_builder_average_pool(  // without overlap
    seer_builder *builder, const char *name, seer_feature in, int64_t kernel);
// Channels of x, then those of y.
seer_feature seer_builder_concat(
    seer_builder *builder, const char *name, seer_feature x, seer_feature y);
seer_feature seer_builder_global_average(seer_builder *builder, const char *name, seer_feature in);
seer_feature seer_builder_flatten(seer_builder *builder, const char *name, seer_feature in);
seer_feature seer_builder_dense(
    seer_builder *builder, const char *name, seer_feature in, int64_t out_channels);
// Renames the last value "output" and marks it; returns the finished graph.
seer_graph *seer_builder_finish(seer_builder *builder, seer_feature last);

// ---- single nodes and tensors, for networks that need no statistics
seer_val seer_builder_input(
    seer_builder *builder, const char *name, seer_dtype dtype, const int64_t *dim, uint32_t rank);
// Of f32, with these dimensions.
void seer_builder_output(
    seer_builder *builder, seer_val value, const char *name, const int64_t *dim, uint32_t rank);
seer_val seer_builder_node(seer_builder *builder, const char *name, const char *op,
    const seer_val *in, uint32_t n_in, const seer_attr *attr, uint32_t n_attr);
// Weights: uniform in center +- half, seeded by their name. half 0: all equal.
seer_val seer_builder_constant(seer_builder *builder, const char *name, const int64_t *dim,
    uint32_t rank, double center, double half);
seer_val seer_builder_f32(seer_builder *builder, const char *name, const float *data,
    const int64_t *dim, uint32_t rank);  // data kept
seer_val seer_builder_ints(
    seer_builder *builder, const char *name, const int64_t *ints, uint32_t n);
seer_val seer_builder_ints_of(seer_builder *builder, const char *name, const int64_t *ints,
    const int64_t *dim, uint32_t rank);
// n equal parts of `extent` along `axis`.
void seer_builder_split(seer_builder *builder, const char *name, seer_val in, int64_t axis,
    int64_t extent, uint32_t n, seer_val *out);
// Convolution with bias, no padding.
seer_val seer_builder_conv(seer_builder *builder, const char *name, seer_val in, int64_t channels,
    int64_t out_channels, int64_t kernel, int64_t stride);

#define SEER_FMT(builder, ...) seer_arena_printf((builder)->arena, __VA_ARGS__)

#endif
