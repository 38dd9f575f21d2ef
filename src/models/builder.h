// builder.h - writes a network as a graph. Private to src/models.
// Two ways, which may be mixed. Features (feature.c): every tensor carries an estimate of its
// channels' mean and variance (inputs: 0 and 1). From these the BatchNormalization statistics are
// made, as training would have left them: so the activations of random weights stay of order 1
// through any depth, and a wrong kernel anywhere shows in the output. Values (builder.c): nodes and
// tensors for networks that normalise what they compute, and need no statistics.
//
// Memory: all is in the builder's arena, names are copied. Threads: one at a time uses a builder.
// Errors: none; what a network's file gets wrong is an assertion.
#ifndef SEER_MODELS_BUILDER_H
#define SEER_MODELS_BUILDER_H

#include "base/map.h"
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
  int32_t opset;  // of the nodes, 13 (seer_builder_set_opset)
  double norm_epsilon;  // of BatchNormalization, 1e-5
  float *zeros;  // of an outline: what its large weights share
  int64_t n_zeros;
  seer_map *like;  // name -> value of options.like
} seer_builder;

void seer_builder_init(
    seer_builder *builder, const char *name, const seer_model_options *options, seer_arena *arena);
void seer_builder_set_opset(seer_builder *builder, int32_t opset);

// ---- features

// A convolution; what is 0 has its usual value.
typedef struct {
  int64_t channels;  // that come out
  int64_t kernel;  // rows and columns; 1
  int64_t columns;  // where there are not as many as rows
  int64_t stride, group;  // 1
  bool is_valid;  // no padding; else (kernel - 1) / 2 on each side, so stride 1 keeps the size
  bool has_bias;
} seer_conv;

typedef struct {
  int64_t kernel, stride, pad;
  bool is_ceil;  // a last window that begins inside counts
} seer_window;

typedef enum {
  SEER_ACTIVATION_RELU,
  SEER_ACTIVATION_RELU6,  // Clip 0, 6
  SEER_ACTIVATION_SILU,  // x * sigmoid(x)
  SEER_ACTIVATION_SIGMOID
} seer_activation;

// input [batch, channels, size, size]
seer_feature seer_builder_image(seer_builder *builder, int64_t channels);
// input [batch, channels]
seer_feature seer_builder_vector(seer_builder *builder, int64_t channels);
// A value of any origin, with mean 0 and variance 1.
seer_feature seer_builder_feature(
    seer_builder *builder, seer_val value, int64_t channels, int64_t size);
seer_feature seer_builder_conv(
    seer_builder *builder, const char *name, seer_feature in, seer_conv conv);
// BatchNormalization
seer_feature seer_builder_activate(
    seer_builder *builder, const char *name, seer_feature in, seer_activation activation);
// Convolution without bias and its BatchNormalization; `name` as in "layer1.0.conv1", `norm` as in
// "layer1.0.bn1".
seer_feature seer_builder_conv_norm(
    seer_builder *builder, const char *name, const char *norm, seer_feature in, seer_conv conv);
// All three: NAME.conv, NAME.bn, NAME.relu (clip, silu, sigmoid).
seer_feature seer_builder_unit(seer_builder *builder, const char *name, seer_feature in,
    seer_conv conv, seer_activation activation);
// BatchNormalization and Relu in front of a convolution: NORM, NORM.relu.
seer_feature seer_builder_norm_relu(seer_builder *builder, const char *norm, seer_feature in);
seer_feature seer_builder_add(
    seer_builder *builder, const char *name, seer_feature x, seer_feature y);
// x times a factor for each channel; `gate` has size 1.
seer_feature seer_builder_gate(
    seer_builder *builder, const char *name, seer_feature x, seer_feature gate);
seer_feature seer_builder_max_pool(
    seer_builder *builder, const char *name, seer_feature in, seer_window window);
// Padding counts.
seer_feature seer_builder_average_pool(
    seer_builder *builder, const char *name, seer_feature in, seer_window window);
seer_feature seer_builder_global_average(seer_builder *builder, const char *name, seer_feature in);
// Twice as many rows and columns, each element four times.
seer_feature seer_builder_upsample(seer_builder *builder, const char *name, seer_feature in);
// The channels of all, in order.
seer_feature seer_builder_concat(
    seer_builder *builder, const char *name, const seer_feature *in, uint32_t n);
// The channels' first and second half.
void seer_builder_halve(
    seer_builder *builder, const char *name, seer_feature in, seer_feature *out_halves);
seer_feature seer_builder_flatten(seer_builder *builder, const char *name, seer_feature in);
seer_feature seer_builder_dense(
    seer_builder *builder, const char *name, seer_feature in, int64_t out_channels);
// Renames the last value "output" and marks it; returns the finished graph.
seer_graph *seer_builder_finish(seer_builder *builder, seer_feature last);
// The end of a classifier: global average, flatten, dense layer `name` to the classes; finished.
seer_graph *seer_builder_finish_classifier(
    seer_builder *builder, const char *pool, const char *name, seer_feature last);

// Channels times width, to the nearest multiple of 8 that loses no more than a tenth: how
// MobileNets and EfficientNets are made narrower and wider.
int64_t seer_builder_scaled(int64_t channels, double width);

// ---- values

seer_val seer_builder_input(
    seer_builder *builder, const char *name, seer_dtype dtype, const int64_t *dim, uint32_t rank);
// Of f32, with these dimensions.
void seer_builder_output(
    seer_builder *builder, seer_val value, const char *name, const int64_t *dim, uint32_t rank);

// Uniform in center +- half, seeded by the name: a tensor is the same whatever else the network
// has. half 0: all equal. In the arena; not to be written to (an outline shares zeros).
const float *seer_builder_weights(
    seer_builder *builder, const char *name, int64_t n, double center, double half);
seer_val seer_builder_constant(seer_builder *builder, const char *name, const int64_t *dim,
    uint32_t rank, double center, double half);
seer_val seer_builder_scalar(seer_builder *builder, const char *name, double value);
seer_val seer_builder_f32(seer_builder *builder, const char *name, const float *data,
    const int64_t *dim, uint32_t rank);  // data kept
seer_val seer_builder_ints(
    seer_builder *builder, const char *name, const int64_t *ints, uint32_t n);
seer_val seer_builder_ints_of(seer_builder *builder, const char *name, const int64_t *ints,
    const int64_t *dim, uint32_t rank);

// Nodes with one output, whose name is the node's and ".out".
seer_attr seer_builder_ints_attr(
    seer_builder *builder, const char *name, const int64_t *ints, uint32_t n);
seer_val seer_builder_node(seer_builder *builder, const char *name, const char *op,
    const seer_val *in, uint32_t n_in, const seer_attr *attr, uint32_t n_attr);
seer_val seer_builder_unary(seer_builder *builder, const char *name, const char *op, seer_val x);
seer_val seer_builder_binary(
    seer_builder *builder, const char *name, const char *op, seer_val x, seer_val y);
// With one attribute, an integer.
seer_val seer_builder_with_int(seer_builder *builder, const char *name, const char *op,
    const seer_val *in, uint32_t n_in, const char *attribute, int64_t value);
seer_val seer_builder_reshape(
    seer_builder *builder, const char *name, seer_val x, const int64_t *dim, uint32_t rank);
seer_val seer_builder_transpose(
    seer_builder *builder, const char *name, seer_val x, const int64_t *perm, uint32_t rank);
// Elements from, from + step, ... before `to` along `axis`.
seer_val seer_builder_slice(seer_builder *builder, const char *name, seer_val x, int64_t axis,
    int64_t from, int64_t to, int64_t step);
// n parts of `extent[k]` along `axis`.
void seer_builder_split(seer_builder *builder, const char *name, seer_val in, int64_t axis,
    const int64_t *extent, uint32_t n, seer_val *out);

// x [..., in] -> [..., out], variance 1 / in of the weights: MatMul, and Add of a bias.
seer_val seer_builder_linear(
    seer_builder *builder, const char *name, seer_val x, int64_t in, int64_t out, bool has_bias);
// The same with weights and bias times `gain`.
seer_val seer_builder_linear_of(seer_builder *builder, const char *name, seer_val x, int64_t in,
    int64_t out, bool has_bias, double gain);
// Over the last dimension, of extent n. Opset 17.
seer_val seer_builder_layer_norm(
    seer_builder *builder, const char *name, seer_val x, int64_t n, double epsilon);
// x / 2 (1 + erf(x / sqrt 2)), as exports write it.
seer_val seer_builder_gelu(seer_builder *builder, const char *name, seer_val x);
// Linear, GELU, linear: NAME.fc1, NAME.act, NAME.fc2.
seer_val seer_builder_mlp(
    seer_builder *builder, const char *name, seer_val x, int64_t channels, int64_t inner);

// A table entry: 1000 classes of an image.
#define SEER_IMAGE_MODEL(id, name_, doc_, rows, build_, config_)          \
  const seer_model_desc seer_model_##id = {.name = name_,                 \
      .doc = doc_,                                                        \
      .defaults = {.batch = 1, .size = rows, .classes = 1000, .seed = 0}, \
      .build = build_,                                                    \
      .config = config_};

#define SEER_FMT(builder, ...) seer_arena_printf((builder)->arena, __VA_ARGS__)

#endif
