// yolo.c - YOLOv8 detectors (Ultralytics 8.0, yolov8.yaml) as its exporter writes them: the output
// is [batch, 4 + classes, anchors], boxes as center and size in pixels, then the classes'
// probabilities; what removes overlapping boxes comes behind. n to x differ in width and depth.
#include <math.h>

#include "models/builder.h"

enum { LEVELS = 3, BINS = 16, SIDES = 4 };

typedef struct {
  double depth, width;
  int64_t max_channels;
} yolo;

typedef struct {
  seer_builder b;
  const yolo *scale;
  int64_t index;  // of the layer, as in the table of the original
} net;

static int64_t channels(const net *t, int64_t n) {
  return (int64_t)ceil((double)seer_min_i64(n, t->scale->max_channels) * t->scale->width / 8) * 8;
}
static int64_t repeats(const net *t, int64_t n) {
  int64_t scaled = (int64_t)nearbyint((double)n * t->scale->depth);
  return scaled < 1 ? 1 : scaled;
}

static const char *next_layer(net *t) { return SEER_FMT(&t->b, "model.%" PRId64, t->index++); }

static seer_feature unit(seer_builder *b, const char *name, seer_feature in, seer_conv conv) {
  return seer_builder_unit(b, name, in, conv, SEER_ACTIVATION_SILU);
}

// 3x3, stride 2
static seer_feature down(net *t, seer_feature in, int64_t n) {
  return unit(
      &t->b, next_layer(t), in, (seer_conv){.channels = channels(t, n), .kernel = 3, .stride = 2});
}

// Half of the channels go through `n` pairs of 3x3; every result is kept and joined ("C2f").
static seer_feature split_block(
    net *t, seer_feature in, int64_t n_channels, int64_t n, bool has_shortcut) {
  seer_builder *b = &t->b;
  const char *at = next_layer(t);
  int64_t n_pairs = repeats(t, n), out = channels(t, n_channels);
  seer_feature *kept = SEER_NEW_ARRAY(b->arena, seer_feature, n_pairs + 2);
  seer_feature x = unit(b, SEER_FMT(b, "%s.cv1", at), in, (seer_conv){.channels = out / 2 * 2});
  seer_builder_halve(b, SEER_FMT(b, "%s.split", at), x, kept);
  for (int64_t k = 0; k < n_pairs; k++) {
    const char *pair = SEER_FMT(b, "%s.m.%" PRId64, at, k);
    const seer_conv conv = {.channels = out / 2, .kernel = 3};
    x = unit(b, SEER_FMT(b, "%s.cv1", pair), kept[k + 1], conv);
    x = unit(b, SEER_FMT(b, "%s.cv2", pair), x, conv);
    kept[k + 2] =
        has_shortcut ? seer_builder_add(b, SEER_FMT(b, "%s.add", pair), kept[k + 1], x) : x;
  }
  x = seer_builder_concat(b, SEER_FMT(b, "%s.concat", at), kept, (uint32_t)n_pairs + 2);
  return unit(b, SEER_FMT(b, "%s.cv2", at), x, (seer_conv){.channels = out});
}

// Maxima over 5, 9 and 13 neighbours, as three poolings in a row ("SPPF").
static seer_feature pyramid(net *t, seer_feature in, int64_t n_channels) {
  seer_builder *b = &t->b;
  const char *at = next_layer(t);
  seer_feature x[4] = {
      unit(b, SEER_FMT(b, "%s.cv1", at), in, (seer_conv){.channels = in.channels / 2})};
  for (int k = 1; k < 4; k++)
    x[k] = seer_builder_max_pool(b, SEER_FMT(b, "%s.m.%d", at, k), x[k - 1],
        (seer_window){.kernel = 5, .stride = 1, .pad = 2});
  seer_feature all = seer_builder_concat(b, SEER_FMT(b, "%s.concat", at), x, 4);
  return unit(b, SEER_FMT(b, "%s.cv2", at), all, (seer_conv){.channels = channels(t, n_channels)});
}

static seer_feature upsample(net *t, seer_feature in) {
  return seer_builder_upsample(&t->b, next_layer(t), in);
}
static seer_feature concat(net *t, seer_feature x, seer_feature y) {
  return seer_builder_concat(&t->b, next_layer(t), (seer_feature[]){x, y}, 2);
}

// ---- the head

// 3x3, 3x3, 1x1 with bias
static seer_feature branch(
    seer_builder *b, const char *at, seer_feature x, int64_t inner, int64_t out) {
  const seer_conv conv = {.channels = inner, .kernel = 3};
  x = unit(b, SEER_FMT(b, "%s.0", at), x, conv);
  x = unit(b, SEER_FMT(b, "%s.1", at), x, conv);
  return seer_builder_conv(
      b, SEER_FMT(b, "%s.2", at), x, (seer_conv){.channels = out, .has_bias = true});
}

// Distances to the four sides [batch, 4, n], each the mean of a distribution over 16 bins.
static seer_val distances(seer_builder *b, const char *at, seer_val x, int64_t n) {
  const int64_t batch = b->options.batch;
  const char *weight = SEER_FMT(b, "%s.conv.weight", at);
  x = seer_builder_reshape(b, SEER_FMT(b, "%s.bins", at), x, (int64_t[]){batch, SIDES, BINS, n}, 4);
  x = seer_builder_transpose(b, SEER_FMT(b, "%s.order", at), x, (int64_t[]){0, 2, 1, 3}, 4);
  x = seer_builder_with_int(b, SEER_FMT(b, "%s.softmax", at), "Softmax", &x, 1, "axis", 1);
  float *bin = SEER_NEW_ARRAY(b->arena, float, BINS);
  for (int k = 0; k < BINS; k++) bin[k] = (float)k;
  x = seer_builder_binary(b, SEER_FMT(b, "%s.conv", at), "Conv", x,
      seer_builder_f32(b, weight, bin, (int64_t[]){1, BINS, 1, 1}, 4));
  return seer_builder_reshape(b, SEER_FMT(b, "%s.sides", at), x, (int64_t[]){batch, SIDES, n}, 3);
}

// Centers of all cells, in cells [1, 2, n], and the cells' sizes in pixels [1, n].
static void anchors(seer_builder *b, const char *at, const seer_feature *level, int64_t n,
    seer_val *out_center, seer_val *out_stride) {
  float *center = SEER_NEW_ARRAY(b->arena, float, 2 * n),
        *stride = SEER_NEW_ARRAY(b->arena, float, n);
  int64_t k = 0;
  for (int l = 0; l < LEVELS; l++) {
    for (int64_t i = 0; i < level[l].size * level[l].size; i++, k++) {
      int64_t column = i % level[l].size, row = i / level[l].size;
      int64_t pixels = b->options.size / level[l].size;
      center[k] = (float)column + 0.5f;
      center[n + k] = (float)row + 0.5f;
      stride[k] = (float)pixels;
    }
  }
  *out_center = seer_builder_f32(b, SEER_FMT(b, "%s.centers", at), center, (int64_t[]){1, 2, n}, 3);
  *out_stride = seer_builder_f32(b, SEER_FMT(b, "%s.strides", at), stride, (int64_t[]){1, n}, 2);
}

static seer_val boxes(
    seer_builder *b, const char *at, seer_val distance, seer_val center, seer_val stride) {
  const int64_t two[2] = {2, 2};
  seer_val side[2] = {{0}};
  seer_builder_split(b, SEER_FMT(b, "%s.corners", at), distance, 1, two, 2, side);
  seer_val low = seer_builder_binary(b, SEER_FMT(b, "%s.low", at), "Sub", center, side[0]);
  seer_val high = seer_builder_binary(b, SEER_FMT(b, "%s.high", at), "Add", center, side[1]);
  seer_val sum = seer_builder_binary(b, SEER_FMT(b, "%s.sum", at), "Add", low, high);
  seer_val box[2] = {seer_builder_binary(b, SEER_FMT(b, "%s.middle", at), "Div", sum,
                         seer_builder_scalar(b, SEER_FMT(b, "%s.two", at), 2)),
      seer_builder_binary(b, SEER_FMT(b, "%s.extent", at), "Sub", high, low)};
  seer_val both = seer_builder_with_int(b, SEER_FMT(b, "%s.box", at), "Concat", box, 2, "axis", 1);
  return seer_builder_binary(b, SEER_FMT(b, "%s.pixels", at), "Mul", both, stride);
}

static void detect(net *t, const seer_feature *level) {
  seer_builder *b = &t->b;
  const char *at = next_layer(t);
  const int64_t batch = b->options.batch, classes = b->options.classes, sides = SIDES * BINS;
  const int64_t box_inner = seer_max_i64(sides, level[0].channels / 4);
  const int64_t class_inner = seer_max_i64(level[0].channels, seer_min_i64(classes, 100));
  seer_val flat[LEVELS], part[2] = {{0}}, center, stride;
  int64_t n = 0;
  for (int l = 0; l < LEVELS; l++) {
    int64_t cells = level[l].size * level[l].size;
    seer_feature both[2] = {branch(b, SEER_FMT(b, "%s.cv2.%d", at, l), level[l], box_inner, sides),
        branch(b, SEER_FMT(b, "%s.cv3.%d", at, l), level[l], class_inner, classes)};
    seer_feature x = seer_builder_concat(b, SEER_FMT(b, "%s.level%d", at, l), both, 2);
    flat[l] = seer_builder_reshape(
        b, SEER_FMT(b, "%s.flat%d", at, l), x.value, (int64_t[]){batch, x.channels, cells}, 3);
    n += cells;
  }
  seer_val all =
      seer_builder_with_int(b, SEER_FMT(b, "%s.all", at), "Concat", flat, LEVELS, "axis", 2);
  seer_builder_split(b, SEER_FMT(b, "%s.split", at), all, 1, (int64_t[]){sides, classes}, 2, part);
  anchors(b, at, level, n, &center, &stride);
  seer_val distance = distances(b, SEER_FMT(b, "%s.dfl", at), part[0], n);
  seer_val out[2] = {boxes(b, at, distance, center, stride),
      seer_builder_unary(b, SEER_FMT(b, "%s.sigmoid", at), "Sigmoid", part[1])};
  seer_val y = seer_builder_with_int(b, SEER_FMT(b, "%s.out", at), "Concat", out, 2, "axis", 1);
  seer_builder_output(b, y, "output", (int64_t[]){batch, SIDES + classes, n}, 3);
}

static seer_status build(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  net t = {.scale = desc->config};
  seer_builder_init(&t.b, desc->name, options, arena);
  t.b.norm_epsilon = 1e-3;
  seer_feature x = down(&t, seer_builder_image(&t.b, 3), 64), level[LEVELS];
  x = split_block(&t, down(&t, x, 128), 128, 3, true);
  seer_feature p3 = split_block(&t, down(&t, x, 256), 256, 6, true);
  seer_feature p4 = split_block(&t, down(&t, p3, 512), 512, 6, true);
  x = split_block(&t, down(&t, p4, 1024), 1024, 3, true);
  seer_feature p5 = pyramid(&t, x, 1024);
  seer_feature n4 = split_block(&t, concat(&t, upsample(&t, p5), p4), 512, 3, false);
  level[0] = split_block(&t, concat(&t, upsample(&t, n4), p3), 256, 3, false);
  level[1] = split_block(&t, concat(&t, down(&t, level[0], 256), n4), 512, 3, false);
  level[2] = split_block(&t, concat(&t, down(&t, level[1], 512), p5), 1024, 3, false);
  detect(&t, level);
  *out_graph = t.b.graph;
  return SEER_OK;
}

#define YOLO(id, text, ...)                                            \
  static const yolo net_##id = {__VA_ARGS__};                          \
  const seer_model_desc seer_model_##id = {.name = #id,                \
      .doc = text,                                                     \
      .defaults = {.batch = 1, .size = 640, .classes = 80, .seed = 0}, \
      .build = build,                                                  \
      .config = &net_##id,                                             \
      .size_multiple = 32};

YOLO(yolov8n, "YOLOv8 nano, boxes and classes", 0.33, 0.25, 1024)
YOLO(yolov8s, "YOLOv8 small, boxes and classes", 0.33, 0.50, 1024)
YOLO(yolov8m, "YOLOv8 medium, boxes and classes", 0.67, 0.75, 768)
YOLO(yolov8l, "YOLOv8 large, boxes and classes", 1.00, 1.00, 512)
YOLO(yolov8x, "YOLOv8 extra large, boxes and classes", 1.00, 1.25, 512)
