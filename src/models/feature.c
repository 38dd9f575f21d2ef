// feature.c - the layers of convolutional networks, with the channel statistics that their seeded
// weights lead to (see builder.h). Channels count as normal and independent.
#include <math.h>

#include "models/builder.h"

static seer_feature new_feature(seer_builder *b, seer_val value, int64_t channels, int64_t size) {
  seer_feature f = {value, channels, size, NULL, NULL};
  f.mean = SEER_NEW_ARRAY(b->arena, double, channels);
  f.var = SEER_NEW_ARRAY(b->arena, double, channels);
  return f;
}

seer_feature seer_builder_feature(seer_builder *b, seer_val value, int64_t channels, int64_t size) {
  seer_feature f = new_feature(b, value, channels, size);
  for (int64_t c = 0; c < channels; c++) f.var[c] = 1;
  return f;
}

static seer_feature like(seer_builder *b, const seer_feature *from, seer_val value) {
  seer_feature f = new_feature(b, value, from->channels, from->size);
  for (int64_t c = 0; c < f.channels; c++) {
    f.mean[c] = from->mean[c];
    f.var[c] = from->var[c];
  }
  return f;
}

static seer_feature input(seer_builder *b, int64_t channels, int64_t size, uint32_t rank) {
  int64_t dim[4] = {b->options.batch, channels, size, size};
  return seer_builder_feature(
      b, seer_builder_input(b, "input", SEER_DTYPE_F32, dim, rank), channels, size);
}

seer_feature seer_builder_image(seer_builder *b, int64_t channels) {
  return input(b, channels, b->options.size, 4);
}
seer_feature seer_builder_vector(seer_builder *b, int64_t channels) {
  return input(b, channels, 1, 2);
}

// ---- convolutions

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

seer_feature seer_builder_conv(seer_builder *b, const char *name, seer_feature in, seer_conv conv) {
  int64_t rows = conv.kernel ? conv.kernel : 1, columns = conv.columns ? conv.columns : rows;
  int64_t stride = conv.stride ? conv.stride : 1, group = conv.group ? conv.group : 1;
  int64_t in_group = in.channels / group, out_group = conv.channels / group,
          window = rows * columns;
  int64_t pad_y = conv.is_valid ? 0 : (rows - 1) / 2, pad_x = conv.is_valid ? 0 : (columns - 1) / 2;
  int64_t size = (in.size + 2 * pad_y - rows) / stride + 1;
  SEER_ASSERT(in.channels % group == 0 && conv.channels % group == 0 &&
          in.size + 2 * pad_y >= rows && (in.size + 2 * pad_x - columns) / stride + 1 == size,
      "%s: %" PRId64 "x%" PRId64 " over %" PRId64, name, rows, columns, in.size);
  int64_t dim[4] = {conv.channels, in_group, rows, columns};
  const char *w_name = SEER_FMT(b, "%s.weight", name), *bias_name = SEER_FMT(b, "%s.bias", name);
  double half = sqrt(6.0 / (double)(in_group * window));  // He: variance 2 / fan-in
  const float *w = seer_builder_weights(b, w_name, conv.channels * in_group * window, 0, half);
  const float *bias =
      conv.has_bias ? seer_builder_weights(b, bias_name, conv.channels, 0, 0.1) : NULL;
  seer_val operand[3] = {in.value, seer_builder_f32(b, w_name, w, dim, 4)};
  if (bias) operand[2] = seer_builder_f32(b, bias_name, bias, &conv.channels, 1);
  seer_attr attr[5] = {
      seer_builder_ints_attr(b, "dilations", (int64_t[]){1, 1}, 2),
      {.name = "group", .kind = SEER_ATTR_INT, .i = group},
      seer_builder_ints_attr(b, "kernel_shape", (int64_t[]){rows, columns}, 2),
      seer_builder_ints_attr(b, "pads", (int64_t[]){pad_y, pad_x, pad_y, pad_x}, 4),
      seer_builder_ints_attr(b, "strides", (int64_t[]){stride, stride}, 2),
  };
  seer_feature out = new_feature(
      b, seer_builder_node(b, name, "Conv", operand, bias ? 3 : 2, attr, 5), conv.channels, size);
  for (int64_t c = 0; c < out.channels; c++) {
    through_weights(&in, c / out_group * in_group, in_group, window, &w[c * in_group * window],
        &out.mean[c], &out.var[c]);
    if (bias) out.mean[c] += (double)bias[c];
  }
  return out;
}

seer_feature seer_builder_dense(
    seer_builder *b, const char *name, seer_feature in, int64_t out_channels) {
  const char *w_name = SEER_FMT(b, "%s.weight", name), *bias_name = SEER_FMT(b, "%s.bias", name);
  int64_t dim[2] = {out_channels, in.channels};
  const float *w = seer_builder_weights(
      b, w_name, out_channels * in.channels, 0, sqrt(6.0 / (double)in.channels));
  const float *bias = seer_builder_weights(b, bias_name, out_channels, 0, 0.1);
  seer_val operand[3] = {in.value, seer_builder_f32(b, w_name, w, dim, 2),
      seer_builder_f32(b, bias_name, bias, dim, 1)};
  seer_attr attr[3] = {
      {.name = "alpha", .kind = SEER_ATTR_FLOAT, .f = 1},
      {.name = "beta", .kind = SEER_ATTR_FLOAT, .f = 1},
      {.name = "transB", .kind = SEER_ATTR_INT, .i = 1},
  };
  seer_feature out =
      new_feature(b, seer_builder_node(b, name, "Gemm", operand, 3, attr, 3), out_channels, 1);
  for (int64_t c = 0; c < out_channels; c++) {
    through_weights(&in, 0, in.channels, 1, &w[c * in.channels], &out.mean[c], &out.var[c]);
    out.mean[c] += (double)bias[c];
  }
  return out;
}

// ---- normalisation and activation

static seer_feature normalise(seer_builder *b, const char *name, seer_feature in) {
  enum { SCALE, SHIFT, MEAN, VAR };
  static const struct {
    const char *name;
    double center, half;
  } part[4] = {
      {"weight", 1, 0.2}, {"bias", 0, 0.2}, {"running_mean", 0, 0.1}, {"running_var", 1, 0.2}};
  float *stat[4];
  const char *names[4];
  for (int k = 0; k < 4; k++) {
    names[k] = SEER_FMT(b, "%s.%s", name, part[k].name);
    const float *seeded =
        seer_builder_weights(b, names[k], in.channels, part[k].center, part[k].half);
    stat[k] = seer_arena_memdup(b->arena, seeded, (size_t)in.channels * sizeof(float));
  }
  seer_feature out = new_feature(b, in.value, in.channels, in.size);
  for (int64_t c = 0; c < in.channels; c++) {
    double mean = in.mean[c], var = in.var[c];
    // The statistics are off by up to 0.1 deviations and 20 % of the variance; what is left after
    // them:
    double given_mean = mean + (double)stat[MEAN][c] * sqrt(var),
           given_var = (double)stat[VAR][c] * var;
    double factor = (double)stat[SCALE][c] / sqrt(given_var + b->norm_epsilon);
    stat[MEAN][c] = (float)given_mean;
    stat[VAR][c] = (float)given_var;
    out.mean[c] = (mean - given_mean) * factor + (double)stat[SHIFT][c];
    out.var[c] = var * factor * factor;
  }
  seer_val operand[5] = {in.value};
  for (int k = 0; k < 4; k++)
    operand[k + 1] = seer_builder_f32(b, names[k], stat[k], &in.channels, 1);
  seer_attr epsilon = {
      .name = "epsilon", .kind = SEER_ATTR_FLOAT, .f = (double)(float)b->norm_epsilon};
  out.value = seer_builder_node(b, name, "BatchNormalization", operand, 5, &epsilon, 1);
  return out;
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

// Moments of sigmoid(x), or x sigmoid(x), for a normal x: by a sum over 5 deviations each way.
static void squash(seer_feature *f, bool times_x) {
  enum { N = 20 };
  double weight[2 * N + 1], total = 0;
  for (int k = -N; k <= N; k++) total += weight[k + N] = exp(-0.5 * (5.0 * k / N) * (5.0 * k / N));
  for (int64_t c = 0; c < f->channels; c++) {
    double m = f->mean[c], s = sqrt(f->var[c]), mean = 0, square = 0;
    for (int k = -N; k <= N; k++) {
      double x = m + s * 5.0 * k / N, y = (times_x ? x : 1) / (1 + exp(-x));
      mean += weight[k + N] / total * y;
      square += weight[k + N] / total * y * y;
    }
    f->mean[c] = mean;
    f->var[c] = square > mean * mean ? square - mean * mean : 0;
  }
}

seer_feature seer_builder_activate(
    seer_builder *b, const char *name, seer_feature in, seer_activation activation) {
  seer_feature out = like(b, &in, in.value);
  switch (activation) {
    case SEER_ACTIVATION_RELU:
      out.value = seer_builder_unary(b, name, "Relu", in.value);
      rectify(&out);
      break;
    case SEER_ACTIVATION_RELU6:
      out.value = seer_builder_node(b, name, "Clip",
          (seer_val[]){in.value, seer_builder_scalar(b, SEER_FMT(b, "%s.min", name), 0),
              seer_builder_scalar(b, SEER_FMT(b, "%s.max", name), 6)},
          3, NULL, 0);
      rectify(&out);  // 6 is beyond 5 deviations
      break;
    case SEER_ACTIVATION_SILU:
      out.value = seer_builder_binary(b, name, "Mul", in.value,
          seer_builder_unary(b, SEER_FMT(b, "%s.sigmoid", name), "Sigmoid", in.value));
      squash(&out, true);
      break;
    case SEER_ACTIVATION_SIGMOID:
      out.value = seer_builder_unary(b, name, "Sigmoid", in.value);
      squash(&out, false);
      break;
  }
  return out;
}

seer_feature seer_builder_conv_norm(
    seer_builder *b, const char *name, const char *norm, seer_feature in, seer_conv conv) {
  return normalise(b, norm, seer_builder_conv(b, name, in, conv));
}

seer_feature seer_builder_unit(seer_builder *b, const char *name, seer_feature in, seer_conv conv,
    seer_activation activation) {
  static const char *const words[] = {"relu", "clip", "silu", "sigmoid"};
  seer_feature x =
      seer_builder_conv_norm(b, SEER_FMT(b, "%s.conv", name), SEER_FMT(b, "%s.bn", name), in, conv);
  return seer_builder_activate(b, SEER_FMT(b, "%s.%s", name, words[activation]), x, activation);
}

seer_feature seer_builder_norm_relu(seer_builder *b, const char *norm, seer_feature in) {
  return seer_builder_activate(
      b, SEER_FMT(b, "%s.relu", norm), normalise(b, norm, in), SEER_ACTIVATION_RELU);
}

// ---- the rest

seer_feature seer_builder_add(seer_builder *b, const char *name, seer_feature x, seer_feature y) {
  SEER_ASSERT(x.channels == y.channels && x.size == y.size,
      "%s: %" PRId64 " and %" PRId64 " channels", name, x.channels, y.channels);
  seer_feature out = like(b, &x, seer_builder_binary(b, name, "Add", x.value, y.value));
  for (int64_t c = 0; c < out.channels; c++) {
    out.mean[c] += y.mean[c];
    out.var[c] += y.var[c];
  }
  return out;
}

seer_feature seer_builder_gate(
    seer_builder *b, const char *name, seer_feature x, seer_feature gate) {
  SEER_ASSERT(x.channels == gate.channels && gate.size == 1,
      "%s: %" PRId64 " and %" PRId64 " channels", name, x.channels, gate.channels);
  seer_feature out = like(b, &x, seer_builder_binary(b, name, "Mul", gate.value, x.value));
  for (int64_t c = 0; c < out.channels; c++) {
    double m = x.mean[c], g = gate.mean[c];
    out.mean[c] = m * g;
    out.var[c] = (x.var[c] + m * m) * (gate.var[c] + g * g) - m * m * g * g;
  }
  return out;
}

static int64_t windows(int64_t size, seer_window w) {
  int64_t room = size + 2 * w.pad - w.kernel, n = room / w.stride + 1;
  bool has_more = w.is_ceil && room % w.stride && n * w.stride < size + w.pad;
  return has_more ? n + 1 : n;
}

static seer_feature pool(seer_builder *b, const char *name, const char *op, seer_feature in,
    seer_window w, const char *extra) {
  seer_attr attr[4] = {
      seer_builder_ints_attr(b, "kernel_shape", (int64_t[]){w.kernel, w.kernel}, 2),
      seer_builder_ints_attr(b, "pads", (int64_t[]){w.pad, w.pad, w.pad, w.pad}, 4),
      seer_builder_ints_attr(b, "strides", (int64_t[]){w.stride, w.stride}, 2),
      {.name = extra, .kind = SEER_ATTR_INT, .i = 1},
  };
  seer_feature out =
      like(b, &in, seer_builder_node(b, name, op, &in.value, 1, attr, extra ? 4 : 3));
  out.size = windows(in.size, w);
  return out;
}

seer_feature seer_builder_max_pool(
    seer_builder *b, const char *name, seer_feature in, seer_window window) {
  seer_feature out = pool(b, name, "MaxPool", in, window, window.is_ceil ? "ceil_mode" : NULL);
  // The largest of n normal values is about sqrt(log n) deviations above their mean; the variance
  // of what a Relu left stays.
  double above = sqrt(log((double)(window.kernel * window.kernel)));
  for (int64_t c = 0; c < out.channels; c++) out.mean[c] += above * sqrt(out.var[c]);
  return out;
}

seer_feature seer_builder_average_pool(
    seer_builder *b, const char *name, seer_feature in, seer_window window) {
  seer_feature out =
      pool(b, name, "AveragePool", in, window, window.pad ? "count_include_pad" : NULL);
  // Neighbours are alike: not so much as to be one value, more than n.
  for (int64_t c = 0; c < out.channels; c++) out.var[c] /= (double)window.kernel;
  return out;
}

seer_feature seer_builder_global_average(seer_builder *b, const char *name, seer_feature in) {
  seer_feature out = like(b, &in, seer_builder_unary(b, name, "GlobalAveragePool", in.value));
  out.size = 1;
  for (int64_t c = 0; c < out.channels; c++) out.var[c] /= (double)(in.size * in.size);
  return out;
}

seer_feature seer_builder_upsample(seer_builder *b, const char *name, seer_feature in) {
  static const float twice[4] = {1, 1, 2, 2};
  const int64_t four = 4;
  seer_val operand[3] = {
      in.value, {0}, seer_builder_f32(b, SEER_FMT(b, "%s.scales", name), twice, &four, 1)};
  seer_attr attr[3] = {
      {.name = "coordinate_transformation_mode", .kind = SEER_ATTR_STRING, .s = "asymmetric"},
      {.name = "mode", .kind = SEER_ATTR_STRING, .s = "nearest"},
      {.name = "nearest_mode", .kind = SEER_ATTR_STRING, .s = "floor"}};
  seer_feature out = like(b, &in, seer_builder_node(b, name, "Resize", operand, 3, attr, 3));
  out.size = 2 * in.size;
  return out;
}

// Channels [first, first + n) of a value with statistics from `from`, beginning at channel `at`.
static void put_statistics(
    seer_feature *to, int64_t first, const seer_feature *from, int64_t at, int64_t n) {
  for (int64_t c = 0; c < n; c++) {
    to->mean[first + c] = from->mean[at + c];
    to->var[first + c] = from->var[at + c];
  }
}

seer_feature seer_builder_concat(
    seer_builder *b, const char *name, const seer_feature *in, uint32_t n) {
  seer_val *operand = SEER_NEW_ARRAY(b->arena, seer_val, n);
  int64_t channels = 0;
  for (uint32_t k = 0; k < n; k++) {
    SEER_ASSERT(in[k].size == in[0].size, "%s: sizes %" PRId64 " and %" PRId64, name, in[k].size,
        in[0].size);
    operand[k] = in[k].value;
    channels += in[k].channels;
  }
  seer_feature out = new_feature(
      b, seer_builder_with_int(b, name, "Concat", operand, n, "axis", 1), channels, in[0].size);
  int64_t first = 0;
  for (uint32_t k = 0; k < n; first += in[k++].channels)
    put_statistics(&out, first, &in[k], 0, in[k].channels);
  return out;
}

void seer_builder_halve(
    seer_builder *b, const char *name, seer_feature in, seer_feature *out_halves) {
  const int64_t half = in.channels / 2, extent[2] = {half, half};
  seer_val value[2] = {{0}};
  seer_builder_split(b, name, in.value, 1, extent, 2, value);
  for (int k = 0; k < 2; k++) {
    out_halves[k] = new_feature(b, value[k], half, in.size);
    put_statistics(&out_halves[k], 0, &in, k * half, half);
  }
}

seer_feature seer_builder_flatten(seer_builder *b, const char *name, seer_feature in) {
  int64_t area = in.size * in.size;
  seer_feature out = new_feature(
      b, seer_builder_with_int(b, name, "Flatten", &in.value, 1, "axis", 1), in.channels * area, 1);
  for (int64_t c = 0; c < out.channels; c++) {
    out.mean[c] = in.mean[c / area];
    out.var[c] = in.var[c / area];
  }
  return out;
}

seer_graph *seer_builder_finish(seer_builder *b, seer_feature last) {
  seer_builder_output(b, last.value, "output", (int64_t[]){b->options.batch, last.channels}, 2);
  return b->graph;
}

seer_graph *seer_builder_finish_classifier(
    seer_builder *b, const char *pool_name, const char *name, seer_feature last) {
  seer_feature x =
      seer_builder_flatten(b, "flatten", seer_builder_global_average(b, pool_name, last));
  return seer_builder_finish(b, seer_builder_dense(b, name, x, b->options.classes));
}

int64_t seer_builder_scaled(int64_t channels, double width) {
  double want = (double)channels * width;
  int64_t n = (int64_t)(want + 4) / 8 * 8;
  if (n < 8) n = 8;
  return (double)n < 0.9 * want ? n + 8 : n;
}
