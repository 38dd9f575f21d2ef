// builder.c - layers to nodes, with seeded weights and the channel statistics that they lead to
// (see builder.h).
#include "models/builder.h"

#include <math.h>

#include "base/map.h"

void seer_builder_init(
    seer_builder *b, const char *name, const seer_model_options *options, seer_arena *arena) {
  *b = (seer_builder){
      .graph = seer_graph_create(arena, name), .arena = arena, .options = *options, .opset = 13};
  b->graph->opset = b->opset;
  b->graph->producer = "familyseer";
}

// ---- tensors

static seer_feature new_feature(seer_builder *b, seer_val value, int64_t channels, int64_t size) {
  seer_feature f = {value, channels, size, NULL, NULL};
  f.mean = SEER_NEW_ARRAY(b->arena, double, channels);
  f.var = SEER_NEW_ARRAY(b->arena, double, channels);
  return f;
}

static seer_feature input(seer_builder *b, int64_t channels, int64_t size, int32_t rank) {
  int64_t dim[4] = {b->options.batch, channels, size, size};
  seer_val value = seer_graph_add_value(b->graph, "input", SEER_DTYPE_F32, dim, rank);
  seer_graph_mark_input(b->graph, value);
  seer_feature f = new_feature(b, value, channels, size);
  for (int64_t c = 0; c < channels; c++) f.var[c] = 1;
  return f;
}

seer_feature seer_builder_image(seer_builder *b, int64_t channels) {
  return input(b, channels, b->options.size, 4);
}
seer_feature seer_builder_vector(seer_builder *b, int64_t channels) {
  return input(b, channels, 1, 2);
}

static seer_val add_weight(
    seer_builder *b, const char *name, const float *data, const int64_t *dim, uint32_t rank) {
  seer_tensor tensor = {.dtype = SEER_DTYPE_F32, .rank = (uint8_t)rank, .data = data};
  for (uint32_t d = 0; d < rank; d++) tensor.dim[d] = dim[d];
  tensor.n_bytes = (size_t)seer_tensor_elems(&tensor) * sizeof(float);
  return seer_graph_add_constant(b->graph, name, &tensor);
}

// Uniform in center +- half, a stream of its own per name: a tensor is the same whatever else the
// network has.
static float *uniform(seer_builder *b, const char *name, int64_t n, double center, double half) {
  enum { LARGE = 65536 };
  if (b->options.is_outline && n > LARGE) {
    if (n > b->n_zeros) {
      b->zeros = SEER_NEW_ARRAY(b->arena, float, n);
      b->n_zeros = n;
    }
    return b->zeros;
  }
  float *data = seer_arena_alloc(b->arena, (size_t)n * sizeof(float), 64);
  seer_rng rng;
  seer_rng_init_stream(&rng, b->options.seed, seer_hash_str(name, 0));
  for (int64_t i = 0; i < n; i++) data[i] = (float)(center + half * (2 * seer_rng_f64(&rng) - 1));
  return data;
}

static seer_val add_node(seer_builder *b, const char *name, const char *op, const seer_val *in,
    uint32_t n_in, const seer_attr *attr, uint32_t n_attr) {
  seer_val out =
      seer_graph_add_value(b->graph, SEER_FMT(b, "%s.out", name), SEER_DTYPE_NONE, NULL, -1);
  seer_graph_add_node(b->graph, name, "", op, b->opset, in, n_in, &out, 1, attr, n_attr);
  return out;
}

static seer_attr ints_attr(seer_builder *b, const char *name, const int64_t *ints, uint32_t n) {
  return (seer_attr){.name = name,
      .kind = SEER_ATTR_INTS,
      .n = n,
      .ints = (const int64_t *)seer_arena_memdup(b->arena, ints, n * sizeof(int64_t))};
}

// ---- layers

// Mean and variance of sum w x for independent x: what a row of weights makes of its inputs.
static void through_weights(const seer_feature *in, int64_t first, int64_t n_in, int64_t window,
    const float *w, double *out_mean, double *out_var) {
  *out_mean = *out_var = 0;
  for (int64_t i = 0; i < n_in; i++) {
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < window; k++) {
      double x = (double)w[i * window + k];
      sum += x;
      squares += x * x;
    }
    *out_mean += in->mean[first + i] * sum;
    *out_var += in->var[first + i] * squares;
  }
}

seer_feature seer_builder_plain_conv(seer_builder *b, const char *name, seer_feature in,
    int64_t out_channels, int64_t kernel, int64_t stride, int64_t group, bool has_bias) {
  int64_t in_group = in.channels / group, out_group = out_channels / group,
          window = kernel * kernel;
  int64_t pad = (kernel - 1) / 2, dim[4] = {out_channels, in_group, kernel, kernel};
  const char *w_name = SEER_FMT(b, "%s.weight", name);
  double half = sqrt(6.0 / (double)(in_group * window));  // He: variance 2 / fan-in
  const float *w = uniform(b, w_name, out_channels * in_group * window, 0, half);
  const char *bias_name = SEER_FMT(b, "%s.bias", name);
  float *bias = has_bias ? uniform(b, bias_name, out_channels, 0, 0.1) : NULL;
  seer_val conv_in[3] = {in.value, add_weight(b, w_name, w, dim, 4)};
  if (has_bias) conv_in[2] = add_weight(b, bias_name, bias, &out_channels, 1);
  seer_attr attr[5] = {
      ints_attr(b, "dilations", (int64_t[]){1, 1}, 2),
      {.name = "group", .kind = SEER_ATTR_INT, .i = group},
      ints_attr(b, "kernel_shape", (int64_t[]){kernel, kernel}, 2),
      ints_attr(b, "pads", (int64_t[]){pad, pad, pad, pad}, 4),
      ints_attr(b, "strides", (int64_t[]){stride, stride}, 2),
  };
  seer_val conv = add_node(b, name, "Conv", conv_in, has_bias ? 3 : 2, attr, 5);
  seer_feature out = new_feature(b, conv, out_channels, (in.size + 2 * pad - kernel) / stride + 1);
  for (int64_t c = 0; c < out_channels; c++) {
    through_weights(&in, c / out_group * in_group, in_group, window, &w[c * in_group * window],
        &out.mean[c], &out.var[c]);
    if (has_bias) out.mean[c] += (double)bias[c];
  }
  return out;
}

seer_feature seer_builder_norm(seer_builder *b, const char *norm, seer_feature in) {
  const char *names[4] = {SEER_FMT(b, "%s.weight", norm), SEER_FMT(b, "%s.bias", norm),
      SEER_FMT(b, "%s.running_mean", norm), SEER_FMT(b, "%s.running_var", norm)};
  float *stat[4] = {uniform(b, names[0], in.channels, 1.0, 0.2),
      uniform(b, names[1], in.channels, 0, 0.2), uniform(b, names[2], in.channels, 0, 0.1),
      uniform(b, names[3], in.channels, 1.0, 0.2)};
  seer_feature out = new_feature(b, in.value, in.channels, in.size);
  seer_val norm_in[5] = {in.value};
  for (int64_t c = 0; c < in.channels; c++) {
    double mean = in.mean[c], var = in.var[c];
    // The statistics are off by up to 0.1 deviations and 20 % of the variance; what is left after
    // them:
    double given_mean = mean + (double)stat[2][c] * sqrt(var), given_var = (double)stat[3][c] * var;
    double factor = (double)stat[0][c] / sqrt(given_var + 1e-5);
    stat[2][c] = (float)given_mean;
    stat[3][c] = (float)given_var;
    out.mean[c] = (mean - given_mean) * factor + (double)stat[1][c];
    out.var[c] = var * factor * factor;
  }
  for (uint32_t k = 0; k < 4; k++)
    norm_in[k + 1] = add_weight(b, names[k], stat[k], &in.channels, 1);
  seer_attr epsilon = {.name = "epsilon", .kind = SEER_ATTR_FLOAT, .f = (double)1e-5f};
  out.value = add_node(b, norm, "BatchNormalization", norm_in, 5, &epsilon, 1);
  return out;
}

seer_feature seer_builder_conv_norm(seer_builder *b, const char *name, const char *norm,
    seer_feature in, int64_t out_channels, int64_t kernel, int64_t stride, int64_t group) {
  return seer_builder_norm(
      b, norm, seer_builder_plain_conv(b, name, in, out_channels, kernel, stride, group, false));
}

// Moments of max(x, 0) for a normal x.
static void rectify(seer_feature *f) {
  for (int64_t c = 0; c < f->channels; c++) {
    double m = f->mean[c], s = sqrt(f->var[c]) + 1e-12;
    double below = 0.5 * erfc(-m / s * 0.70710678118654752),
           density = 0.3989422804014327 * exp(-0.5 * m * m / (s * s));
    double mean = m * below + s * density, square = (m * m + s * s) * below + m * s * density;
    f->mean[c] = mean;
    f->var[c] = square > mean * mean ? square - mean * mean : 0;
  }
}

static seer_feature like(seer_builder *b, const seer_feature *from, seer_val value) {
  seer_feature f = new_feature(b, value, from->channels, from->size);
  for (int64_t c = 0; c < f.channels; c++) {
    f.mean[c] = from->mean[c];
    f.var[c] = from->var[c];
  }
  return f;
}

seer_feature seer_builder_relu(seer_builder *b, const char *name, seer_feature in) {
  seer_feature out = like(b, &in, add_node(b, name, "Relu", &in.value, 1, NULL, 0));
  rectify(&out);
  return out;
}

seer_feature seer_builder_relu6(seer_builder *b, const char *name, seer_feature in) {
  float *bound = SEER_NEW_ARRAY(b->arena, float, 2);
  bound[1] = 6;
  seer_val clip_in[3] = {in.value, add_weight(b, SEER_FMT(b, "%s.min", name), &bound[0], NULL, 0),
      add_weight(b, SEER_FMT(b, "%s.max", name), &bound[1], NULL, 0)};
  seer_feature out = like(b, &in, add_node(b, name, "Clip", clip_in, 3, NULL, 0));
  rectify(&out);  // 6 is beyond 5 deviations
  return out;
}

seer_feature seer_builder_add(seer_builder *b, const char *name, seer_feature x, seer_feature y) {
  SEER_ASSERT(x.channels == y.channels && x.size == y.size,
      "%s: %" PRId64 " and %" PRId64 " channels", name, x.channels, y.channels);
  seer_val in[2] = {x.value, y.value};
  seer_feature out = like(b, &x, add_node(b, name, "Add", in, 2, NULL, 0));
  for (int64_t c = 0; c < out.channels; c++) {
    out.mean[c] += y.mean[c];
    out.var[c] += y.var[c];
  }
  return out;
}

seer_feature seer_builder_max_pool(seer_builder *b, const char *name, seer_feature in,
    int64_t kernel, int64_t stride, int64_t pad) {
  seer_attr attr[3] = {
      ints_attr(b, "kernel_shape", (int64_t[]){kernel, kernel}, 2),
      ints_attr(b, "pads", (int64_t[]){pad, pad, pad, pad}, 4),
      ints_attr(b, "strides", (int64_t[]){stride, stride}, 2),
  };
  seer_feature out = like(b, &in, add_node(b, name, "MaxPool", &in.value, 1, attr, 3));
  out.size = (in.size + 2 * pad - kernel) / stride + 1;
  // the largest of 9 neighbours, that are alike: about a deviation more
  for (int64_t c = 0; c < out.channels; c++) {
    out.mean[c] += sqrt(out.var[c]);
    out.var[c] *= 0.7;
  }
  return out;
}

seer_feature seer_builder_global_average(seer_builder *b, const char *name, seer_feature in) {
  seer_feature out = like(b, &in, add_node(b, name, "GlobalAveragePool", &in.value, 1, NULL, 0));
  out.size = 1;
  for (int64_t c = 0; c < out.channels; c++) out.var[c] /= (double)(in.size * in.size);
  return out;
}

seer_feature seer_builder_average_pool(
    seer_builder *b, const char *name, seer_feature in, int64_t kernel) {
  seer_attr attr[2] = {ints_attr(b, "kernel_shape", (int64_t[]){kernel, kernel}, 2),
      ints_attr(b, "strides", (int64_t[]){kernel, kernel}, 2)};
  seer_feature out = like(b, &in, add_node(b, name, "AveragePool", &in.value, 1, attr, 2));
  out.size = in.size / kernel;
  for (int64_t c = 0; c < out.channels; c++) out.var[c] /= (double)(kernel * kernel);
  return out;
}

seer_feature seer_builder_concat(
    seer_builder *b, const char *name, seer_feature x, seer_feature y) {
  seer_val in[2] = {x.value, y.value};
  seer_attr axis = {.name = "axis", .kind = SEER_ATTR_INT, .i = 1};
  seer_feature out =
      new_feature(b, add_node(b, name, "Concat", in, 2, &axis, 1), x.channels + y.channels, x.size);
  for (int64_t c = 0; c < out.channels; c++) {
    const seer_feature *from = c < x.channels ? &x : &y;
    int64_t k = c < x.channels ? c : c - x.channels;
    out.mean[c] = from->mean[k];
    out.var[c] = from->var[k];
  }
  return out;
}

seer_feature seer_builder_flatten(seer_builder *b, const char *name, seer_feature in) {
  seer_attr axis = {.name = "axis", .kind = SEER_ATTR_INT, .i = 1};
  int64_t area = in.size * in.size;
  seer_feature out =
      new_feature(b, add_node(b, name, "Flatten", &in.value, 1, &axis, 1), in.channels * area, 1);
  for (int64_t c = 0; c < out.channels; c++) {
    out.mean[c] = in.mean[c / area];
    out.var[c] = in.var[c / area];
  }
  return out;
}

seer_feature seer_builder_dense(
    seer_builder *b, const char *name, seer_feature in, int64_t out_channels) {
  const char *w_name = SEER_FMT(b, "%s.weight", name), *bias_name = SEER_FMT(b, "%s.bias", name);
  int64_t dim[2] = {out_channels, in.channels};
  const float *w =
      uniform(b, w_name, out_channels * in.channels, 0, sqrt(6.0 / (double)in.channels));
  const float *bias = uniform(b, bias_name, out_channels, 0, 0.1);
  seer_val gemm_in[3] = {
      in.value, add_weight(b, w_name, w, dim, 2), add_weight(b, bias_name, bias, dim, 1)};
  seer_attr attr[3] = {
      {.name = "alpha", .kind = SEER_ATTR_FLOAT, .f = 1},
      {.name = "beta", .kind = SEER_ATTR_FLOAT, .f = 1},
      {.name = "transB", .kind = SEER_ATTR_INT, .i = 1},
  };
  seer_feature out =
      new_feature(b, add_node(b, name, "Gemm", gemm_in, 3, attr, 3), out_channels, 1);
  for (int64_t c = 0; c < out_channels; c++) {
    through_weights(&in, 0, in.channels, 1, &w[c * in.channels], &out.mean[c], &out.var[c]);
    out.mean[c] += (double)bias[c];
  }
  return out;
}

seer_graph *seer_builder_finish(seer_builder *b, seer_feature last) {
  seer_builder_output(b, last.value, "output", (int64_t[]){b->options.batch, last.channels}, 2);
  return b->graph;
}

// ---- single nodes and tensors

seer_val seer_builder_input(
    seer_builder *b, const char *name, seer_dtype dtype, const int64_t *dim, uint32_t rank) {
  seer_val value = seer_graph_add_value(b->graph, name, dtype, dim, (int32_t)rank);
  seer_graph_mark_input(b->graph, value);
  return value;
}

void seer_builder_output(
    seer_builder *b, seer_val v, const char *name, const int64_t *dim, uint32_t rank) {
  seer_value *value = seer_graph_value(b->graph, v);
  value->name = name;
  value->dtype = SEER_DTYPE_F32;
  value->rank = (uint8_t)rank;
  value->has_shape = true;
  for (uint32_t d = 0; d < rank; d++) value->dim[d] = dim[d];
  seer_graph_mark_output(b->graph, v);
}

seer_val seer_builder_node(seer_builder *b, const char *name, const char *op, const seer_val *in,
    uint32_t n_in, const seer_attr *attr, uint32_t n_attr) {
  return add_node(b, name, op, in, n_in, attr, n_attr);
}

seer_val seer_builder_constant(seer_builder *b, const char *name, const int64_t *dim, uint32_t rank,
    double center, double half) {
  return add_weight(b, name, uniform(b, name, seer_dims_elems(dim, rank), center, half), dim, rank);
}

seer_val seer_builder_f32(
    seer_builder *b, const char *name, const float *data, const int64_t *dim, uint32_t rank) {
  return add_weight(b, name, data, dim, rank);
}

seer_val seer_builder_ints_of(
    seer_builder *b, const char *name, const int64_t *ints, const int64_t *dim, uint32_t rank) {
  seer_tensor tensor = {.dtype = SEER_DTYPE_I64, .rank = (uint8_t)rank};
  for (uint32_t d = 0; d < rank; d++) tensor.dim[d] = dim[d];
  tensor.n_bytes = (size_t)seer_tensor_elems(&tensor) * sizeof *ints;
  tensor.data = seer_arena_memdup(b->arena, ints, tensor.n_bytes);
  return seer_graph_add_constant(b->graph, name, &tensor);
}

seer_val seer_builder_ints(seer_builder *b, const char *name, const int64_t *ints, uint32_t n) {
  const int64_t dim = n;
  return seer_builder_ints_of(b, name, ints, &dim, 1);
}

void seer_builder_split(seer_builder *b, const char *name, seer_val in, int64_t axis,
    int64_t extent, uint32_t n, seer_val *out) {
  int64_t *parts = SEER_NEW_ARRAY(b->arena, int64_t, n);
  for (uint32_t k = 0; k < n; k++) {
    parts[k] = extent;
    out[k] =
        seer_graph_add_value(b->graph, SEER_FMT(b, "%s.out%u", name, k), SEER_DTYPE_NONE, NULL, -1);
  }
  seer_val operands[2] = {in, seer_builder_ints(b, SEER_FMT(b, "%s.sizes", name), parts, n)};
  seer_attr attr = {.name = "axis", .kind = SEER_ATTR_INT, .i = axis};
  seer_graph_add_node(b->graph, name, "", "Split", b->opset, operands, 2, out, n, &attr, 1);
}

seer_val seer_builder_conv(seer_builder *b, const char *name, seer_val in, int64_t channels,
    int64_t out_channels, int64_t kernel, int64_t stride) {
  int64_t dim[4] = {out_channels, channels, kernel, kernel};
  double half = sqrt(3.0 / (double)(channels * kernel * kernel));
  seer_val operands[3] = {in,
      seer_builder_constant(b, SEER_FMT(b, "%s.weight", name), dim, 4, 0, half),
      seer_builder_constant(b, SEER_FMT(b, "%s.bias", name), &out_channels, 1, 0, 0.1)};
  seer_attr attr[2] = {ints_attr(b, "kernel_shape", (int64_t[]){kernel, kernel}, 2),
      ints_attr(b, "strides", (int64_t[]){stride, stride}, 2)};
  return add_node(b, name, "Conv", operands, 3, attr, 2);
}
