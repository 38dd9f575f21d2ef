// inception.c - Inception v3 (arXiv 1512.00567) as torchvision has it, without the auxiliary
// classifier that only training uses. Modules are named as there; A to E differ in their branches.
#include "models/builder.h"

// One branch: convolutions one after the other, up to the first without channels.
enum { MAX_CHAIN = 5, MAX_BRANCHES = 4 };
typedef struct {
  const char *name;
  seer_conv conv[MAX_CHAIN];
} branch;

static seer_feature unit(seer_builder *b, const char *name, seer_feature in, seer_conv conv) {
  return seer_builder_unit(b, name, in, conv, SEER_ACTIVATION_RELU);
}

static seer_feature run_branch(
    seer_builder *b, const char *at, const branch *chain, seer_feature x) {
  for (int k = 0; k < MAX_CHAIN && chain->conv[k].channels; k++)
    x = unit(b, SEER_FMT(b, "%s.%s_%d", at, chain->name, k + 1), x, chain->conv[k]);
  return x;
}

static seer_feature max_pool(seer_builder *b, const char *name, seer_feature in) {
  return seer_builder_max_pool(b, name, in, (seer_window){.kernel = 3, .stride = 2});
}

// Branches side by side; the last one begins with an average over 3x3.
static seer_feature module(
    seer_builder *b, const char *at, seer_feature in, const branch *branches, uint32_t n) {
  seer_feature part[MAX_BRANCHES];
  for (uint32_t k = 0; k < n; k++) {
    seer_feature x = in;
    if (k == n - 1)
      x = seer_builder_average_pool(
          b, SEER_FMT(b, "%s.avg_pool", at), in, (seer_window){.kernel = 3, .stride = 1, .pad = 1});
    part[k] = run_branch(b, at, &branches[k], x);
  }
  return seer_builder_concat(b, SEER_FMT(b, "%s.concat", at), part, n);
}

// Two branches of stride 2, and a maximum.
static seer_feature reduction(
    seer_builder *b, const char *at, seer_feature in, const branch *branches) {
  seer_feature part[3];
  for (int k = 0; k < 2; k++) part[k] = run_branch(b, at, &branches[k], in);
  part[2] = max_pool(b, SEER_FMT(b, "%s.max_pool", at), in);
  return seer_builder_concat(b, SEER_FMT(b, "%s.concat", at), part, 3);
}

static seer_feature module_a(seer_builder *b, const char *at, seer_feature in, int64_t pooled) {
  const branch branches[4] = {{"1x1", {{.channels = 64}}},
      {"5x5", {{.channels = 48}, {.channels = 64, .kernel = 5}}},
      {"3x3dbl", {{.channels = 64}, {.channels = 96, .kernel = 3}, {.channels = 96, .kernel = 3}}},
      {"pool", {{.channels = pooled}}}};
  return module(b, at, in, branches, 4);
}

static seer_feature module_b(seer_builder *b, const char *at, seer_feature in) {
  const seer_conv half = {.channels = 96, .kernel = 3, .stride = 2, .is_valid = true};
  const branch branches[2] = {
      {"3x3", {{.channels = 384, .kernel = 3, .stride = 2, .is_valid = true}}},
      {"3x3dbl", {{.channels = 64}, {.channels = 96, .kernel = 3}, half}}};
  return reduction(b, at, in, branches);
}

// 7x7 as 1x7 and 7x1
static seer_conv row(int64_t channels, int64_t n) {
  return (seer_conv){.channels = channels, .kernel = 1, .columns = n};
}
static seer_conv column(int64_t channels, int64_t n) {
  return (seer_conv){.channels = channels, .kernel = n, .columns = 1};
}

static seer_feature module_c(seer_builder *b, const char *at, seer_feature in, int64_t c) {
  const branch branches[4] = {{"1x1", {{.channels = 192}}},
      {"7x7", {{.channels = c}, row(c, 7), column(192, 7)}},
      {"7x7dbl", {{.channels = c}, column(c, 7), row(c, 7), column(c, 7), row(192, 7)}},
      {"pool", {{.channels = 192}}}};
  return module(b, at, in, branches, 4);
}

static seer_feature module_d(seer_builder *b, const char *at, seer_feature in) {
  const seer_conv half = {.kernel = 3, .stride = 2, .is_valid = true};
  seer_conv half320 = half, half192 = half;
  half320.channels = 320;
  half192.channels = 192;
  const branch branches[2] = {{"3x3", {{.channels = 192}, half320}},
      {"7x7x3", {{.channels = 192}, row(192, 7), column(192, 7), half192}}};
  return reduction(b, at, in, branches);
}

// As the others, but two branches end in 1x3 and 3x1 side by side.
static seer_feature module_e(seer_builder *b, const char *at, seer_feature in) {
  const branch straight[3] = {{"1x1", {{.channels = 320}}}, {"3x3", {{.channels = 384}}},
      {"3x3dbl", {{.channels = 448}, {.channels = 384, .kernel = 3}}}};
  seer_feature part[4];
  for (int k = 0; k < 3; k++) {
    part[k] = run_branch(b, at, &straight[k], in);
    if (k == 0) continue;
    const char *name = SEER_FMT(b, "%s.%s", at, straight[k].name);
    seer_feature both[2] = {unit(b, SEER_FMT(b, "%s.a", name), part[k], row(384, 3)),
        unit(b, SEER_FMT(b, "%s.b", name), part[k], column(384, 3))};
    part[k] = seer_builder_concat(b, SEER_FMT(b, "%s.concat", name), both, 2);
  }
  seer_feature average = seer_builder_average_pool(
      b, SEER_FMT(b, "%s.avg_pool", at), in, (seer_window){.kernel = 3, .stride = 1, .pad = 1});
  part[3] = unit(b, SEER_FMT(b, "%s.pool", at), average, (seer_conv){.channels = 192});
  return seer_builder_concat(b, SEER_FMT(b, "%s.concat", at), part, 4);
}

static seer_status build(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  seer_builder b;
  seer_builder_init(&b, desc->name, options, arena);
  b.norm_epsilon = 1e-3;
  seer_feature x = unit(&b, "Conv2d_1a_3x3", seer_builder_image(&b, 3),
      (seer_conv){.channels = 32, .kernel = 3, .stride = 2, .is_valid = true});
  x = unit(&b, "Conv2d_2a_3x3", x, (seer_conv){.channels = 32, .kernel = 3, .is_valid = true});
  x = unit(&b, "Conv2d_2b_3x3", x, (seer_conv){.channels = 64, .kernel = 3});
  x = max_pool(&b, "maxpool1", x);
  x = unit(&b, "Conv2d_3b_1x1", x, (seer_conv){.channels = 80});
  x = unit(&b, "Conv2d_4a_3x3", x, (seer_conv){.channels = 192, .kernel = 3, .is_valid = true});
  x = max_pool(&b, "maxpool2", x);
  x = module_a(&b, "Mixed_5b", x, 32);
  x = module_a(&b, "Mixed_5c", x, 64);
  x = module_a(&b, "Mixed_5d", x, 64);
  x = module_b(&b, "Mixed_6a", x);
  x = module_c(&b, "Mixed_6b", x, 128);
  x = module_c(&b, "Mixed_6c", x, 160);
  x = module_c(&b, "Mixed_6d", x, 160);
  x = module_c(&b, "Mixed_6e", x, 192);
  x = module_d(&b, "Mixed_7a", x);
  x = module_e(&b, "Mixed_7b", x);
  x = module_e(&b, "Mixed_7c", x);
  *out_graph = seer_builder_finish_classifier(&b, "avgpool", "fc", x);
  return SEER_OK;
}

const seer_model_desc seer_model_inception_v3 = {.name = "inception_v3",
    .doc = "Inception v3",
    .defaults = {.batch = 1, .size = 299, .classes = 1000, .seed = 0},
    .build = build,
    .min_size = 75};
