// transformer.c - BERT (arXiv 1810.04805), DistilBERT (1910.01108), RoBERTa (1907.11692), GPT-2,
// ViT (2010.11929), the encoder of T5 (1910.10683) and one step of a decoder as in LLaMA
// (2302.13971), in the form of an ONNX export: MatMul, Add, Reshape and Transpose around Softmax,
// constants for what the sizes decide. Normalisation keeps the activations of order 1 through any
// depth, so weights are seeded with variance 1 / fan-in and need no statistics.
#include <math.h>

#include "models/builder.h"

typedef struct {
  const char *name;
  int64_t hidden, layers, heads, inner, vocabulary, positions;
  int64_t types;  // of tokens: 0 without
  int64_t first_position;  // RoBERTa counts from 2
  bool has_pooler;
  int64_t patch;  // ViT
} transformer;

typedef struct {
  seer_builder b;
  const transformer *shape;
  int64_t batch, n;  // n: tokens
} net;

#define NO_MASK ((seer_val){0})

static seer_val layer_norm(net *t, const char *name, seer_val x, double epsilon) {
  return seer_builder_layer_norm(&t->b, name, x, t->shape->hidden, epsilon);
}

// x / sqrt(mean(x^2) + epsilon) * weight, as exports write it.
static seer_val rms_norm(net *t, const char *name, seer_val x, double epsilon) {
  seer_builder *b = &t->b;
  const int64_t n = t->shape->hidden, axis = -1;
  seer_attr axes = {.name = "axes", .kind = SEER_ATTR_INTS, .n = 1};
  axes.ints = seer_arena_memdup(b->arena, &axis, sizeof axis);
  seer_val square = seer_builder_binary(b, SEER_FMT(b, "%s.square", name), "Pow", x,
      seer_builder_scalar(b, SEER_FMT(b, "%s.two", name), 2));
  seer_val mean =
      seer_builder_node(b, SEER_FMT(b, "%s.mean", name), "ReduceMean", &square, 1, &axes, 1);
  mean = seer_builder_binary(b, SEER_FMT(b, "%s.eps", name), "Add", mean,
      seer_builder_scalar(b, SEER_FMT(b, "%s.epsilon", name), epsilon));
  seer_val root = seer_builder_unary(b, SEER_FMT(b, "%s.sqrt", name), "Sqrt", mean);
  seer_val y = seer_builder_binary(b, SEER_FMT(b, "%s.div", name), "Div", x, root);
  return seer_builder_binary(
      b, name, "Mul", seer_builder_constant(b, SEER_FMT(b, "%s.weight", name), &n, 1, 1, 0.2), y);
}

// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
static seer_val gelu_tanh(net *t, const char *at, seer_val x) {
  seer_builder *b = &t->b;
  seer_val y = seer_builder_binary(b, SEER_FMT(b, "%s.cube", at), "Pow", x,
      seer_builder_scalar(b, SEER_FMT(b, "%s.three", at), 3));
  y = seer_builder_binary(b, SEER_FMT(b, "%s.scaled", at), "Mul", y,
      seer_builder_scalar(b, SEER_FMT(b, "%s.c", at), 0.044715));
  y = seer_builder_binary(b, SEER_FMT(b, "%s.plus", at), "Add", x, y);
  y = seer_builder_binary(b, SEER_FMT(b, "%s.inner", at), "Mul", y,
      seer_builder_scalar(b, SEER_FMT(b, "%s.root", at), sqrt(M_2_PI)));
  y = seer_builder_unary(b, SEER_FMT(b, "%s.tanh", at), "Tanh", y);
  y = seer_builder_binary(b, SEER_FMT(b, "%s.one_more", at), "Add", y,
      seer_builder_scalar(b, SEER_FMT(b, "%s.one", at), 1));
  seer_val half = seer_builder_binary(b, SEER_FMT(b, "%s.half", at), "Mul", x,
      seer_builder_scalar(b, SEER_FMT(b, "%s.point5", at), 0.5));
  return seer_builder_binary(b, SEER_FMT(b, "%s.out", at), "Mul", half, y);
}

static seer_val swish(net *t, const char *at, seer_val x) {
  seer_val s = seer_builder_unary(&t->b, SEER_FMT(&t->b, "%s.sigmoid", at), "Sigmoid", x);
  return seer_builder_binary(&t->b, SEER_FMT(&t->b, "%s.swish", at), "Mul", x, s);
}

// ---- attention

// [batch, n, hidden] -> [batch, heads, n, hidden / heads]
static seer_val split_heads(net *t, const char *name, seer_val x, int64_t n) {
  int64_t heads = t->shape->heads;
  x = seer_builder_reshape(&t->b, SEER_FMT(&t->b, "%s.split", name), x,
      (int64_t[]){t->batch, n, heads, t->shape->hidden / heads}, 4);
  return seer_builder_transpose(
      &t->b, SEER_FMT(&t->b, "%s.heads", name), x, (int64_t[]){0, 2, 1, 3}, 4);
}

// Softmax(q k' * scale + mask) v, heads joined; q has n_q tokens. mask: 0 for none.
static seer_val attend(net *t, const char *at, seer_val q, seer_val k, seer_val v, int64_t n_q,
    double scale, seer_val mask) {
  seer_builder *b = &t->b;
  k = seer_builder_transpose(b, SEER_FMT(b, "%s.k.transposed", at), k, (int64_t[]){0, 1, 3, 2}, 4);
  seer_val scores = seer_builder_binary(b, SEER_FMT(b, "%s.scores", at), "MatMul", q, k);
  if (scale != 1)
    scores = seer_builder_binary(b, SEER_FMT(b, "%s.scaled", at), "Mul", scores,
        seer_builder_scalar(b, SEER_FMT(b, "%s.scale", at), scale));
  if (mask.i) scores = seer_builder_binary(b, SEER_FMT(b, "%s.masked", at), "Add", scores, mask);
  seer_val p = seer_builder_with_int(
      b, SEER_FMT(b, "%s.softmax", at), "Softmax", (seer_val[]){scores}, 1, "axis", -1);
  seer_val y = seer_builder_binary(b, SEER_FMT(b, "%s.weighted", at), "MatMul", p, v);
  y = seer_builder_transpose(b, SEER_FMT(b, "%s.back", at), y, (int64_t[]){0, 2, 1, 3}, 4);
  return seer_builder_reshape(
      b, SEER_FMT(b, "%s.joined", at), y, (int64_t[]){t->batch, n_q, t->shape->hidden}, 3);
}

typedef struct {
  double scale;  // of the scores
  bool has_bias;
  double gain;  // of what comes out, which goes beside x
} attention;

static seer_val self_attention(
    net *t, const char *at, seer_val x, seer_val mask, const attention *a) {
  static const char *const parts[3] = {"query", "key", "value"};
  int64_t h = t->shape->hidden;
  seer_val part[3];
  for (int k = 0; k < 3; k++) {
    const char *name = SEER_FMT(&t->b, "%s.%s", at, parts[k]);
    part[k] = split_heads(t, name, seer_builder_linear(&t->b, name, x, h, h, a->has_bias), t->n);
  }
  seer_val y = attend(t, at, part[0], part[1], part[2], t->n, a->scale, mask);
  return seer_builder_linear_of(
      &t->b, SEER_FMT(&t->b, "%s.output", at), y, h, h, a->has_bias, a->gain);
}

static double head_scale(const transformer *s) {
  return 1 / sqrt((double)s->hidden / (double)s->heads);
}

// ---- networks

static net start(const transformer *shape, const seer_model_options *options, seer_arena *arena) {
  net t = {.shape = shape, .batch = options->batch, .n = options->sequence};
  seer_builder_init(&t.b, shape->name, options, arena);
  seer_builder_set_opset(&t.b, 17);  // LayerNormalization
  return t;
}

static seer_val embedding(net *t, const char *name, int64_t rows, seer_val ids) {
  int64_t dim[2] = {rows, t->shape->hidden};
  seer_val table = seer_builder_constant(&t->b, SEER_FMT(&t->b, "%s.weight", name), dim, 2, 0, 1);
  return seer_builder_with_int(&t->b, name, "Gather", (seer_val[]){table, ids}, 2, "axis", 0);
}

// Rows [from, from + n) of a table of positions, as [1, n, hidden].
static seer_val positions(net *t, const char *name, int64_t rows, int64_t from) {
  seer_builder *b = &t->b;
  int64_t dim[2] = {rows, t->shape->hidden}, *at = SEER_NEW_ARRAY(b->arena, int64_t, t->n);
  for (int64_t i = 0; i < t->n; i++) at[i] = from + i;
  seer_val table = seer_builder_constant(b, SEER_FMT(b, "%s.weight", name), dim, 2, 0, 0.5);
  seer_val index =
      seer_builder_ints_of(b, SEER_FMT(b, "%s.ids", name), at, (int64_t[]){1, t->n}, 2);
  return seer_builder_with_int(b, name, "Gather", (seer_val[]){table, index}, 2, "axis", 0);
}

// 0 where a token counts, -10000 where it does not, as [batch, 1, 1, n].
static seer_val mask_of(net *t, seer_val tokens) {
  seer_builder *b = &t->b;
  const int64_t axes[2] = {1, 2};
  seer_val wide = seer_builder_binary(
      b, "mask.unsqueeze", "Unsqueeze", tokens, seer_builder_ints(b, "mask.axes", axes, 2));
  wide = seer_builder_with_int(b, "mask.cast", "Cast", (seer_val[]){wide}, 1, "to", 1);
  wide = seer_builder_binary(b, "mask.sub", "Sub", seer_builder_scalar(b, "mask.one", 1), wide);
  return seer_builder_binary(
      b, "mask.mul", "Mul", wide, seer_builder_scalar(b, "mask.low", -10000));
}

// Position of an encoder as in BERT: normalisation behind each half.
static seer_status build_bert(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  const transformer *s = desc->config;
  net t = start(s, options, arena);
  seer_builder *b = &t.b;
  const int64_t dim[2] = {t.batch, t.n}, h = s->hidden;
  seer_val ids = seer_builder_input(b, "input_ids", SEER_DTYPE_I64, dim, 2);
  seer_val mask = mask_of(&t, seer_builder_input(b, "attention_mask", SEER_DTYPE_I64, dim, 2));
  seer_val x = embedding(&t, "embeddings.word", s->vocabulary, ids);
  if (s->types > 1) {
    seer_val types = seer_builder_input(b, "token_type_ids", SEER_DTYPE_I64, dim, 2);
    x = seer_builder_binary(
        b, "embeddings.add1", "Add", x, embedding(&t, "embeddings.type", s->types, types));
  } else if (s->types == 1) {  // RoBERTa: one type, added all the same
    seer_val type = seer_builder_constant(b, "embeddings.type.weight", (int64_t[]){1, h}, 2, 0, 1);
    x = seer_builder_binary(b, "embeddings.add1", "Add", x, type);
  }
  x = seer_builder_binary(b, "embeddings.add2", "Add", x,
      positions(&t, "embeddings.position", s->positions, s->first_position));
  x = layer_norm(&t, "embeddings.norm", x, 1e-12);
  // Two branches a layer, each this much of x, as trained networks begin: with 1, random attention
  // makes all tokens one within ten layers, and a wrong query behind them would not show.
  const double gain = 1 / sqrt(2 * (double)s->layers);
  const attention form = {head_scale(s), true, gain};
  for (int64_t l = 0; l < s->layers; l++) {
    const char *at = SEER_FMT(b, "layer.%" PRId64, l);
    seer_val y = self_attention(&t, SEER_FMT(b, "%s.attention", at), x, mask, &form);
    x = layer_norm(&t, SEER_FMT(b, "%s.attention.norm", at),
        seer_builder_binary(b, SEER_FMT(b, "%s.add1", at), "Add", y, x), 1e-12);
    y = seer_builder_linear(b, SEER_FMT(b, "%s.intermediate", at), x, h, s->inner, true);
    y = seer_builder_gelu(b, SEER_FMT(b, "%s.gelu", at), y);
    y = seer_builder_linear_of(b, SEER_FMT(b, "%s.output", at), y, s->inner, h, true, gain);
    x = layer_norm(&t, SEER_FMT(b, "%s.norm", at),
        seer_builder_binary(b, SEER_FMT(b, "%s.add2", at), "Add", y, x), 1e-12);
  }
  seer_builder_output(b, x, "output", (int64_t[]){t.batch, t.n, h}, 3);
  if (s->has_pooler) {
    const int64_t zero = 0;
    seer_tensor first = {.dtype = SEER_DTYPE_I64, .n_bytes = 8};
    first.data = seer_arena_memdup(arena, &zero, 8);
    seer_val index = seer_graph_add_constant(b->graph, "pooler.first", &first);
    seer_val y =
        seer_builder_with_int(b, "pooler.token", "Gather", (seer_val[]){x, index}, 2, "axis", 1);
    y = seer_builder_unary(
        b, "pooler.tanh", "Tanh", seer_builder_linear(b, "pooler.dense", y, h, h, true));
    seer_builder_output(b, y, "pooled", (int64_t[]){t.batch, h}, 2);
  }
  *out_graph = b->graph;
  return SEER_OK;
}

// A mask that hides later tokens: [1, 1, n, n].
static seer_val causal_mask(net *t) {
  float *data = SEER_NEW_ARRAY(t->b.arena, float, t->n * t->n);
  for (int64_t i = 0; i < t->n; i++)
    for (int64_t j = i + 1; j < t->n; j++) data[i * t->n + j] = -10000;
  return seer_builder_f32(&t->b, "mask", data, (int64_t[]){1, 1, t->n, t->n}, 4);
}

static seer_status build_gpt2(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  const transformer *s = desc->config;
  net t = start(s, options, arena);
  seer_builder *b = &t.b;
  const int64_t dim[2] = {t.batch, t.n}, table_dim[2] = {s->vocabulary, s->hidden}, h = s->hidden;
  seer_val ids = seer_builder_input(b, "input_ids", SEER_DTYPE_I64, dim, 2), mask = causal_mask(&t);
  seer_val table = seer_builder_constant(b, "wte.weight", table_dim, 2, 0, sqrt(3.0 / (double)h));
  seer_val x = seer_builder_with_int(b, "wte", "Gather", (seer_val[]){table, ids}, 2, "axis", 0);
  x = seer_builder_binary(b, "embeddings.add", "Add", x, positions(&t, "wpe", s->positions, 0));
  for (int64_t l = 0; l < s->layers; l++) {
    const char *at = SEER_FMT(b, "h.%" PRId64, l);
    seer_val y = layer_norm(&t, SEER_FMT(b, "%s.ln_1", at), x, 1e-5);
    // One product for query, key and value, as the original has it.
    y = seer_builder_linear(b, SEER_FMT(b, "%s.attn.c_attn", at), y, h, 3 * h, true);
    seer_val part[3] = {{0}};
    seer_builder_split(b, SEER_FMT(b, "%s.attn.split", at), y, 2, (int64_t[]){h, h, h}, 3, part);
    for (int k = 0; k < 3; k++)
      part[k] = split_heads(&t, SEER_FMT(b, "%s.attn.%d", at, k), part[k], t.n);
    y = attend(&t, SEER_FMT(b, "%s.attn", at), part[0], part[1], part[2], t.n, head_scale(s), mask);
    y = seer_builder_linear(b, SEER_FMT(b, "%s.attn.c_proj", at), y, h, h, true);
    x = seer_builder_binary(b, SEER_FMT(b, "%s.add1", at), "Add", y, x);
    y = layer_norm(&t, SEER_FMT(b, "%s.ln_2", at), x, 1e-5);
    y = seer_builder_linear(b, SEER_FMT(b, "%s.mlp.c_fc", at), y, h, s->inner, true);
    y = gelu_tanh(&t, SEER_FMT(b, "%s.mlp.act", at), y);
    y = seer_builder_linear(b, SEER_FMT(b, "%s.mlp.c_proj", at), y, s->inner, h, true);
    x = seer_builder_binary(b, SEER_FMT(b, "%s.add2", at), "Add", x, y);
  }
  x = layer_norm(&t, "ln_f", x, 1e-5);
  seer_val head = seer_builder_transpose(b, "lm_head.transposed", table, (int64_t[]){1, 0}, 2);
  seer_builder_output(b, seer_builder_binary(b, "lm_head", "MatMul", x, head), "output",
      (int64_t[]){t.batch, t.n, s->vocabulary}, 3);
  *out_graph = b->graph;
  return SEER_OK;
}

static seer_status build_vit(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  const transformer *s = desc->config;
  net t = start(s, options, arena);
  seer_builder *b = &t.b;
  int64_t h = s->hidden, side = options->size / s->patch, patches = side * side;
  t.n = patches + 1;
  const seer_conv patches_of = {
      .channels = h, .kernel = s->patch, .stride = s->patch, .is_valid = true, .has_bias = true};
  seer_val x = seer_builder_conv(b, "patch_embed", seer_builder_image(b, 3), patches_of).value;
  x = seer_builder_reshape(b, "patch_embed.flat", x, (int64_t[]){t.batch, h, patches}, 3);
  x = seer_builder_transpose(b, "patch_embed.tokens", x, (int64_t[]){0, 2, 1}, 3);
  seer_val token = seer_builder_constant(b, "class_token", (int64_t[]){1, 1, h}, 3, 0, 1);
  token = seer_builder_binary(b, "class_token.expand", "Expand", token,
      seer_builder_ints(b, "class_token.shape", (int64_t[]){t.batch, 1, h}, 3));
  x = seer_builder_with_int(b, "tokens", "Concat", (seer_val[]){token, x}, 2, "axis", 1);
  seer_val position = seer_builder_constant(b, "pos_embed", (int64_t[]){1, t.n, h}, 3, 0, 0.5);
  x = seer_builder_binary(b, "pos_embed.add", "Add", x, position);
  const attention form = {head_scale(s), true, 1};
  for (int64_t l = 0; l < s->layers; l++) {
    const char *at = SEER_FMT(b, "blocks.%" PRId64, l);
    seer_val y = layer_norm(&t, SEER_FMT(b, "%s.norm1", at), x, 1e-6);
    y = self_attention(&t, SEER_FMT(b, "%s.attn", at), y, NO_MASK, &form);
    x = seer_builder_binary(b, SEER_FMT(b, "%s.add1", at), "Add", x, y);
    y = layer_norm(&t, SEER_FMT(b, "%s.norm2", at), x, 1e-6);
    y = seer_builder_mlp(b, SEER_FMT(b, "%s.mlp", at), y, h, s->inner);
    x = seer_builder_binary(b, SEER_FMT(b, "%s.add2", at), "Add", x, y);
  }
  x = layer_norm(&t, "norm", x, 1e-6);
  x = seer_builder_slice(b, "head.token", x, 1, 0, 1, 1);
  x = seer_builder_reshape(b, "head.flat", x, (int64_t[]){t.batch, h}, 2);
  seer_builder_output(b, seer_builder_linear(b, "head", x, h, options->classes, true), "output",
      (int64_t[]){t.batch, options->classes}, 2);
  *out_graph = b->graph;
  return SEER_OK;
}

// T5's buckets of distances, both directions: exact up to 8, then by logarithms up to 128.
static int64_t bucket_of(int64_t distance) {
  int64_t n = distance < 0 ? -distance : distance, base = distance > 0 ? 16 : 0;
  if (n < 8) return base + n;
  int64_t large = 8 + (int64_t)(log((double)n / 8) / log(128.0 / 8) * 8);
  return base + (large > 15 ? 15 : large);
}

static seer_status build_t5(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  enum { BUCKETS = 32 };
  const transformer *s = desc->config;
  net t = start(s, options, arena);
  seer_builder *b = &t.b;
  const int64_t dim[2] = {t.batch, t.n}, h = s->hidden;
  seer_val ids = seer_builder_input(b, "input_ids", SEER_DTYPE_I64, dim, 2);
  seer_val mask = mask_of(&t, seer_builder_input(b, "attention_mask", SEER_DTYPE_I64, dim, 2));
  seer_val x = embedding(&t, "embed_tokens", s->vocabulary, ids);
  int64_t *bucket = SEER_NEW_ARRAY(arena, int64_t, t.n * t.n);
  for (int64_t i = 0; i < t.n; i++)
    for (int64_t j = 0; j < t.n; j++) bucket[i * t.n + j] = bucket_of(j - i);
  seer_val table =
      seer_builder_constant(b, "relative_bias.weight", (int64_t[]){BUCKETS, s->heads}, 2, 0, 1);
  seer_val index =
      seer_builder_ints_of(b, "relative_bias.buckets", bucket, (int64_t[]){t.n, t.n}, 2);
  seer_val bias =
      seer_builder_with_int(b, "relative_bias", "Gather", (seer_val[]){table, index}, 2, "axis", 0);
  bias = seer_builder_transpose(b, "relative_bias.heads", bias, (int64_t[]){2, 0, 1}, 3);
  const int64_t zero = 0;
  bias = seer_builder_binary(b, "relative_bias.batch", "Unsqueeze", bias,
      seer_builder_ints(b, "relative_bias.axis", &zero, 1));
  mask = seer_builder_binary(b, "mask.bias", "Add", bias, mask);
  const attention form = {1, false, 1};
  for (int64_t l = 0; l < s->layers; l++) {
    const char *at = SEER_FMT(b, "block.%" PRId64, l);
    seer_val y = rms_norm(&t, SEER_FMT(b, "%s.norm1", at), x, 1e-6);
    y = self_attention(&t, SEER_FMT(b, "%s.attention", at), y, mask, &form);
    x = seer_builder_binary(b, SEER_FMT(b, "%s.add1", at), "Add", x, y);
    y = rms_norm(&t, SEER_FMT(b, "%s.norm2", at), x, 1e-6);
    y = seer_builder_linear(b, SEER_FMT(b, "%s.wi", at), y, h, s->inner, false);
    y = seer_builder_unary(b, SEER_FMT(b, "%s.relu", at), "Relu", y);
    y = seer_builder_linear(b, SEER_FMT(b, "%s.wo", at), y, s->inner, h, false);
    x = seer_builder_binary(b, SEER_FMT(b, "%s.add2", at), "Add", x, y);
  }
  seer_builder_output(
      b, rms_norm(&t, "final_norm", x, 1e-6), "output", (int64_t[]){t.batch, t.n, h}, 3);
  *out_graph = b->graph;
  return SEER_OK;
}

// Rotary embedding of [batch, heads, 1, d]: x cos + turned(x) sin, turned swapping the halves.
static seer_val rotate(net *t, const char *at, seer_val x, seer_val cosine, seer_val sine) {
  seer_builder *b = &t->b;
  seer_val half[2] = {{0}};
  const int64_t d = t->shape->hidden / t->shape->heads / 2, extent[2] = {d, d};
  seer_builder_split(b, SEER_FMT(b, "%s.halves", at), x, 3, extent, 2, half);
  seer_val negative = seer_builder_unary(b, SEER_FMT(b, "%s.neg", at), "Neg", half[1]);
  seer_val turned = seer_builder_with_int(
      b, SEER_FMT(b, "%s.turned", at), "Concat", (seer_val[]){negative, half[0]}, 2, "axis", -1);
  seer_val a = seer_builder_binary(b, SEER_FMT(b, "%s.cos", at), "Mul", x, cosine);
  return seer_builder_binary(b, SEER_FMT(b, "%s.out", at), "Add", a,
      seer_builder_binary(b, SEER_FMT(b, "%s.sin", at), "Mul", turned, sine));
}

// One new token after `sequence` earlier ones, whose keys and values are inputs; those of all come
// out.
static seer_status build_llama(const seer_model_desc *desc, const seer_model_options *options,
    seer_arena *arena, seer_graph **out_graph) {
  const transformer *s = desc->config;
  net t = start(s, options, arena);
  seer_builder *b = &t.b;
  const int64_t past = t.n, d = s->hidden / s->heads, h = s->hidden;
  t.n = 1;
  seer_val x = embedding(&t, "embed_tokens", s->vocabulary,
      seer_builder_input(b, "input_ids", SEER_DTYPE_I64, (int64_t[]){t.batch, 1}, 2));
  float *wave[2] = {SEER_NEW_ARRAY(arena, float, d), SEER_NEW_ARRAY(arena, float, d)};
  for (int64_t i = 0; i < d; i++) {
    double angle = (double)past * pow(10000, -2.0 * (double)(i % (d / 2)) / (double)d);
    wave[0][i] = (float)cos(angle);
    wave[1][i] = (float)sin(angle);
  }
  const int64_t wave_dim[4] = {1, 1, 1, d}, cache_dim[4] = {t.batch, s->heads, past, d};
  seer_val cosine = seer_builder_f32(b, "rotary.cos", wave[0], wave_dim, 4);
  seer_val sine = seer_builder_f32(b, "rotary.sin", wave[1], wave_dim, 4);
  seer_val *cache = SEER_NEW_ARRAY(arena, seer_val, 2 * s->layers);
  for (int64_t l = 0; l < s->layers; l++) {
    const char *at = SEER_FMT(b, "layers.%" PRId64, l);
    static const char *const parts[3] = {"query", "key", "value"};
    seer_val y = rms_norm(&t, SEER_FMT(b, "%s.norm1", at), x, 1e-6), part[3];
    for (int k = 0; k < 3; k++) {
      const char *name = SEER_FMT(b, "%s.%s", at, parts[k]);
      part[k] = split_heads(&t, name, seer_builder_linear(b, name, y, h, h, false), 1);
      if (k < 2) part[k] = rotate(&t, SEER_FMT(b, "%s.rotary", name), part[k], cosine, sine);
      if (k == 0) continue;
      seer_val before = seer_builder_input(
          b, SEER_FMT(b, "past_%s_%" PRId64, parts[k], l), SEER_DTYPE_F32, cache_dim, 4);
      part[k] = seer_builder_with_int(
          b, SEER_FMT(b, "%s.cache", name), "Concat", (seer_val[]){before, part[k]}, 2, "axis", 2);
      cache[2 * l + k - 1] = part[k];
    }
    y = attend(
        &t, SEER_FMT(b, "%s.attention", at), part[0], part[1], part[2], 1, head_scale(s), NO_MASK);
    x = seer_builder_binary(b, SEER_FMT(b, "%s.add1", at), "Add", x,
        seer_builder_linear(b, SEER_FMT(b, "%s.attention.output", at), y, h, h, false));
    y = rms_norm(&t, SEER_FMT(b, "%s.norm2", at), x, 1e-6);
    seer_val gate = swish(&t, SEER_FMT(b, "%s.act", at),
        seer_builder_linear(b, SEER_FMT(b, "%s.gate", at), y, h, s->inner, false));
    y = seer_builder_binary(b, SEER_FMT(b, "%s.gated", at), "Mul", gate,
        seer_builder_linear(b, SEER_FMT(b, "%s.up", at), y, h, s->inner, false));
    x = seer_builder_binary(b, SEER_FMT(b, "%s.add2", at), "Add", x,
        seer_builder_linear(b, SEER_FMT(b, "%s.down", at), y, s->inner, h, false));
  }
  x = rms_norm(&t, "norm", x, 1e-6);
  seer_builder_output(b, seer_builder_linear(b, "lm_head", x, h, s->vocabulary, false), "output",
      (int64_t[]){t.batch, 1, s->vocabulary}, 3);
  for (int64_t l = 0; l < 2 * s->layers; l++)
    seer_builder_output(b, cache[l],
        SEER_FMT(b, "present_%s_%" PRId64, l % 2 ? "value" : "key", l / 2),
        (int64_t[]){t.batch, s->heads, past + 1, d}, 4);
  *out_graph = b->graph;
  return SEER_OK;
}

#define TEXT_NETWORK(id, text, build_fn, ...)                       \
  static const transformer shape_##id = {.name = #id, __VA_ARGS__}; \
  const seer_model_desc seer_model_##id = {.name = #id,             \
      .doc = text,                                                  \
      .defaults = {.batch = 1, .sequence = 128, .seed = 0},         \
      .build = build_fn,                                            \
      .config = &shape_##id};
#define IMAGE_NETWORK(id, text, ...)                                \
  static const transformer shape_##id = {.name = #id, __VA_ARGS__}; \
  SEER_IMAGE_MODEL(id, #id, text, 224, build_vit, &shape_##id)

TEXT_NETWORK(bert_base, "BERT base", build_bert, .hidden = 768, .layers = 12, .heads = 12,
    .inner = 3072, .vocabulary = 30522, .positions = 512, .types = 2, .has_pooler = true)
TEXT_NETWORK(bert_large, "BERT large", build_bert, .hidden = 1024, .layers = 24, .heads = 16,
    .inner = 4096, .vocabulary = 30522, .positions = 512, .types = 2, .has_pooler = true)
TEXT_NETWORK(distilbert, "DistilBERT base", build_bert, .hidden = 768, .layers = 6, .heads = 12,
    .inner = 3072, .vocabulary = 30522, .positions = 512)
TEXT_NETWORK(roberta_base, "RoBERTa base", build_bert, .hidden = 768, .layers = 12, .heads = 12,
    .inner = 3072, .vocabulary = 50265, .positions = 514, .types = 1, .first_position = 2,
    .has_pooler = true)
TEXT_NETWORK(roberta_large, "RoBERTa large", build_bert, .hidden = 1024, .layers = 24, .heads = 16,
    .inner = 4096, .vocabulary = 50265, .positions = 514, .types = 1, .first_position = 2,
    .has_pooler = true)
TEXT_NETWORK(gpt2_small, "GPT-2 small with its head", build_gpt2, .hidden = 768, .layers = 12,
    .heads = 12, .inner = 3072, .vocabulary = 50257, .positions = 1024)
TEXT_NETWORK(t5_small, "encoder of T5 small", build_t5, .hidden = 512, .layers = 6, .heads = 8,
    .inner = 2048, .vocabulary = 32128, .positions = 1 << 20)
TEXT_NETWORK(llama_small, "one step of a small LLaMA-style decoder with its cache", build_llama,
    .hidden = 512, .layers = 8, .heads = 8, .inner = 1376, .vocabulary = 32000,
    .positions = 1 << 20)
IMAGE_NETWORK(vit_base, "ViT base, patches of 16", .hidden = 768, .layers = 12, .heads = 12,
    .inner = 3072, .patch = 16)
IMAGE_NETWORK(vit_large, "ViT large, patches of 16", .hidden = 1024, .layers = 24, .heads = 16,
    .inner = 4096, .patch = 16)
IMAGE_NETWORK(vit_huge, "ViT huge, patches of 14", .hidden = 1280, .layers = 32, .heads = 16,
    .inner = 5120, .patch = 14)
