// swin.c - Swin transformers (arXiv 2103.14030) as torchvision exports them: attention within
// windows of 7x7 tokens, which every second block shifts by 3 (a roll, with a mask between what
// was not adjacent), and a learnt bias for each distance. Tokens are channels last, [batch, rows,
// columns, channels].
#include <math.h>

#include "models/builder.h"

enum { WINDOW = 7, TOKENS = WINDOW * WINDOW, SPAN = 2 * WINDOW - 1 };

typedef struct {
  int64_t channels, heads;  // of the first stage; twice as many in each further one
  int64_t depth[4];
} swin;

static const double epsilon = 1e-5;

typedef struct {
  seer_val value;
  int64_t channels, size;
} tokens;

// [batch, size, size, channels] with zeros behind the last row and column.
static seer_val pad(seer_builder *b, const char *name, tokens x, int64_t size) {
  const int64_t more = size - x.size, pads[8] = {0, 0, 0, 0, 0, more, more, 0};
  if (more == 0) return x.value;
  return seer_builder_binary(
      b, name, "Pad", x.value, seer_builder_ints(b, SEER_FMT(b, "%s.pads", name), pads, 8));
}

// Rows and columns turned round: what stood at `from` comes first.
static seer_val roll(seer_builder *b, const char *name, seer_val x, int64_t from) {
  for (int64_t axis = 1; axis <= 2; axis++) {
    const char *at = SEER_FMT(b, "%s.%" PRId64, name, axis);
    seer_val part[2] = {
        seer_builder_slice(b, SEER_FMT(b, "%s.end", at), x, axis, from, INT64_MAX, 1),
        seer_builder_slice(b, SEER_FMT(b, "%s.begin", at), x, axis, 0, from, 1)};
    x = seer_builder_with_int(b, at, "Concat", part, 2, "axis", axis);
  }
  return x;
}

// The bias of each pair of tokens in a window, from a table of distances: [1, heads, 49, 49].
static seer_val position_bias(seer_builder *b, const char *at, int64_t heads) {
  const int64_t table_dim[2] = {SPAN * SPAN, heads}, zero = 0, n = TOKENS * TOKENS;
  int64_t *index = SEER_NEW_ARRAY(b->arena, int64_t, n);
  for (int64_t i = 0; i < TOKENS; i++)
    for (int64_t j = 0; j < TOKENS; j++) {
      int64_t dy = i / WINDOW - j / WINDOW + WINDOW - 1, dx = i % WINDOW - j % WINDOW + WINDOW - 1;
      index[i * TOKENS + j] = dy * SPAN + dx;
    }
  seer_val operand[2] = {
      seer_builder_constant(
          b, SEER_FMT(b, "%s.relative_position_bias_table", at), table_dim, 2, 0, 1),
      seer_builder_ints(b, SEER_FMT(b, "%s.relative_position_index", at), index, (uint32_t)n)};
  const char *name = SEER_FMT(b, "%s.position_bias", at);
  seer_val bias = seer_builder_with_int(b, name, "Gather", operand, 2, "axis", 0);
  bias = seer_builder_reshape(
      b, SEER_FMT(b, "%s.pairs", name), bias, (int64_t[]){TOKENS, TOKENS, heads}, 3);
  bias = seer_builder_transpose(b, SEER_FMT(b, "%s.heads", name), bias, (int64_t[]){2, 0, 1}, 3);
  return seer_builder_binary(b, SEER_FMT(b, "%s.batch", name), "Unsqueeze", bias,
      seer_builder_ints(b, SEER_FMT(b, "%s.axes", name), &zero, 1));
}

// Of a shifted row or column: 0 far from the end, 1 in the last window, 2 what came from the begin.
static int64_t band(int64_t at, int64_t size, int64_t shift) {
  return at < size - WINDOW ? 0 : at < size - shift ? 1 : 2;
}

// -100 between tokens of a window that are not adjacent in the image: [1, windows, 1, 49, 49].
static seer_val shift_mask(seer_builder *b, const char *name, int64_t size, int64_t shift) {
  int64_t side = size / WINDOW, n = side * side;
  float *mask = SEER_NEW_ARRAY(b->arena, float, n *TOKENS *TOKENS);
  for (int64_t w = 0; w < n; w++) {
    int64_t region[TOKENS];
    for (int64_t i = 0; i < TOKENS; i++) {
      int64_t y = w / side * WINDOW + i / WINDOW, x = w % side * WINDOW + i % WINDOW;
      region[i] = band(y, size, shift) * 3 + band(x, size, shift);
    }
    for (int64_t i = 0; i < TOKENS; i++)
      for (int64_t j = 0; j < TOKENS; j++)
        mask[(w * TOKENS + i) * TOKENS + j] = region[i] == region[j] ? 0 : -100;
  }
  return seer_builder_f32(b, name, mask, (int64_t[]){1, n, 1, TOKENS, TOKENS}, 5);
}

// Attention among the tokens of each window; x [n, 49, channels], n windows of all images.
static seer_val attend(seer_builder *b, const char *at, seer_val x, int64_t n, int64_t channels,
    int64_t heads, seer_val mask) {
  const int64_t d = channels / heads, batch = b->options.batch;
  x = seer_builder_linear(b, SEER_FMT(b, "%s.qkv", at), x, channels, 3 * channels, true);
  x = seer_builder_reshape(
      b, SEER_FMT(b, "%s.split", at), x, (int64_t[]){n, TOKENS, 3, heads, d}, 5);
  x = seer_builder_transpose(b, SEER_FMT(b, "%s.parts", at), x, (int64_t[]){2, 0, 3, 1, 4}, 5);
  seer_val part[3];
  for (int64_t k = 0; k < 3; k++) {
    const char *name = SEER_FMT(b, "%s.part%" PRId64, at, k);
    seer_val operand[2] = {x, seer_builder_ints_of(b, SEER_FMT(b, "%s.index", name), &k, NULL, 0)};
    part[k] = seer_builder_with_int(b, name, "Gather", operand, 2, "axis", 0);
  }
  seer_val q = seer_builder_binary(b, SEER_FMT(b, "%s.scaled", at), "Mul", part[0],
      seer_builder_scalar(b, SEER_FMT(b, "%s.scale", at), 1 / sqrt((double)d)));
  seer_val k = seer_builder_transpose(
      b, SEER_FMT(b, "%s.transposed", at), part[1], (int64_t[]){0, 1, 3, 2}, 4);
  seer_val scores = seer_builder_binary(b, SEER_FMT(b, "%s.scores", at), "MatMul", q, k);
  scores = seer_builder_binary(
      b, SEER_FMT(b, "%s.biased", at), "Add", scores, position_bias(b, at, heads));
  if (mask.i) {
    scores = seer_builder_reshape(b, SEER_FMT(b, "%s.windows", at), scores,
        (int64_t[]){batch, n / batch, heads, TOKENS, TOKENS}, 5);
    scores = seer_builder_binary(b, SEER_FMT(b, "%s.masked", at), "Add", scores, mask);
    scores = seer_builder_reshape(
        b, SEER_FMT(b, "%s.joined", at), scores, (int64_t[]){n, heads, TOKENS, TOKENS}, 4);
  }
  scores =
      seer_builder_with_int(b, SEER_FMT(b, "%s.softmax", at), "Softmax", &scores, 1, "axis", -1);
  x = seer_builder_binary(b, SEER_FMT(b, "%s.weighted", at), "MatMul", scores, part[2]);
  x = seer_builder_transpose(b, SEER_FMT(b, "%s.back", at), x, (int64_t[]){0, 2, 1, 3}, 4);
  x = seer_builder_reshape(b, SEER_FMT(b, "%s.heads", at), x, (int64_t[]){n, TOKENS, channels}, 3);
  return seer_builder_linear(b, SEER_FMT(b, "%s.proj", at), x, channels, channels, true);
}

// Attention of x in windows, which begin `shift` rows and columns later.
static seer_val windowed(
    seer_builder *b, const char *at, tokens x, int64_t heads, bool is_shifted) {
  const int64_t side = (x.size + WINDOW - 1) / WINDOW, size = side * WINDOW, c = x.channels;
  const int64_t batch = b->options.batch, n = batch * side * side;
  const int64_t shift = is_shifted && size > WINDOW ? WINDOW / 2 : 0;
  seer_val y = pad(b, SEER_FMT(b, "%s.pad", at), x, size), mask = {0};
  if (shift) {
    y = roll(b, SEER_FMT(b, "%s.roll", at), y, shift);
    mask = shift_mask(b, SEER_FMT(b, "%s.mask", at), size, shift);
  }
  y = seer_builder_reshape(
      b, SEER_FMT(b, "%s.cut", at), y, (int64_t[]){batch, side, WINDOW, side, WINDOW, c}, 6);
  y = seer_builder_transpose(
      b, SEER_FMT(b, "%s.cut_order", at), y, (int64_t[]){0, 1, 3, 2, 4, 5}, 6);
  y = seer_builder_reshape(b, SEER_FMT(b, "%s.cut_flat", at), y, (int64_t[]){n, TOKENS, c}, 3);
  y = attend(b, at, y, n, c, heads, mask);
  y = seer_builder_reshape(
      b, SEER_FMT(b, "%s.paste", at), y, (int64_t[]){batch, side, side, WINDOW, WINDOW, c}, 6);
  y = seer_builder_transpose(
      b, SEER_FMT(b, "%s.paste_order", at), y, (int64_t[]){0, 1, 3, 2, 4, 5}, 6);
  y = seer_builder_reshape(
      b, SEER_FMT(b, "%s.paste_flat", at), y, (int64_t[]){batch, size, size, c}, 4);
  if (shift) y = roll(b, SEER_FMT(b, "%s.unroll", at), y, size - shift);
  for (int64_t axis = 1; axis <= 2 && size > x.size; axis++)
    y = seer_builder_slice(b, SEER_FMT(b, "%s.crop%" PRId64, at, axis), y, axis, 0, x.size, 1);
  return y;
}

static tokens block(seer_builder *b, const char *at, tokens x, int64_t heads, bool is_shifted) {
  tokens y = x;
  y.value = seer_builder_layer_norm(b, SEER_FMT(b, "%s.norm1", at), x.value, x.channels, epsilon);
  y.value = windowed(b, SEER_FMT(b, "%s.attn", at), y, heads, is_shifted);
  x.value = seer_builder_binary(b, SEER_FMT(b, "%s.add1", at), "Add", x.value, y.value);
  y.value = seer_builder_layer_norm(b, SEER_FMT(b, "%s.norm2", at), x.value, x.channels, epsilon);
  y.value = seer_builder_mlp(b, SEER_FMT(b, "%s.mlp", at), y.value, x.channels, 4 * x.channels);
  x.value = seer_builder_binary(b, SEER_FMT(b, "%s.add2", at), "Add", x.value, y.value);
  return x;
}

// Four neighbours become one token of twice the channels.
static tokens merge(seer_builder *b, const char *at, tokens x) {
  const int64_t half = (x.size + 1) / 2, c = x.channels;
  seer_val whole = pad(b, SEER_FMT(b, "%s.pad", at), x, 2 * half), part[4];
  for (int64_t k = 0; k < 4; k++) {
    const char *name = SEER_FMT(b, "%s.part%" PRId64, at, k);
    part[k] = seer_builder_slice(b, SEER_FMT(b, "%s.rows", name), whole, 1, k % 2, INT64_MAX, 2);
    part[k] = seer_builder_slice(b, name, part[k], 2, k / 2, INT64_MAX, 2);
  }
  seer_val y = seer_builder_with_int(b, SEER_FMT(b, "%s.concat", at), "Concat", part, 4, "axis", 3);
  y = seer_builder_layer_norm(b, SEER_FMT(b, "%s.norm", at), y, 4 * c, epsilon);
  y = seer_builder_linear(b, SEER_FMT(b, "%s.reduction", at), y, 4 * c, 2 * c, false);
  return (tokens){y, 2 * c, half};
}

static seer_status build(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  enum { PATCH = 4 };
  const swin *net = desc->config;
  seer_builder builder, *b = &builder;
  seer_builder_init(b, desc->name, options, arena);
  seer_builder_set_opset(b, 17);  // LayerNormalization
  const seer_conv patches = {.channels = net->channels,
      .kernel = PATCH,
      .stride = PATCH,
      .is_valid = true,
      .has_bias = true};
  seer_feature image = seer_builder_conv(b, "features.0.0", seer_builder_image(b, 3), patches);
  tokens x = {image.value, image.channels, image.size};
  x.value = seer_builder_transpose(b, "features.0.1", x.value, (int64_t[]){0, 2, 3, 1}, 4);
  x.value = seer_builder_layer_norm(b, "features.0.2", x.value, x.channels, epsilon);
  for (int g = 0; g < 4; g++) {
    if (g > 0) x = merge(b, SEER_FMT(b, "features.%d", 2 * g), x);
    for (int64_t k = 0; k < net->depth[g]; k++)
      x = block(b, SEER_FMT(b, "features.%d.%" PRId64, 2 * g + 1, k), x, net->heads << g, k % 2);
  }
  x.value = seer_builder_layer_norm(b, "norm", x.value, x.channels, epsilon);
  x.value = seer_builder_transpose(b, "permute", x.value, (int64_t[]){0, 3, 1, 2}, 4);
  *out_graph = seer_builder_finish_classifier(
      b, "avgpool", "head", seer_builder_feature(b, x.value, x.channels, x.size));
  return SEER_OK;
}

#define SWIN(id, text, ...)                   \
  static const swin net_##id = {__VA_ARGS__}; \
  SEER_IMAGE_MODEL(id, #id, text, 224, build, &net_##id)

SWIN(swin_t, "Swin tiny, windows of 7", .channels = 96, .heads = 3, .depth = {2, 2, 6, 2})
SWIN(swin_s, "Swin small, windows of 7", .channels = 96, .heads = 3, .depth = {2, 2, 18, 2})
SWIN(swin_b, "Swin base, windows of 7", .channels = 128, .heads = 4, .depth = {2, 2, 18, 2})
