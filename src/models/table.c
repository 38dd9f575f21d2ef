// table.c - the list of built-in networks, and building one by name. The first is what `make demo`
// tunes.
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "models/models.h"
#include "setup/shapes.h"

// clang-format off
#define MODELS(X)                                                                              \
  X(mobilenet_v2) X(mobilenet) X(resnet18) X(resnet50_v1) X(mlp)                               \
  X(resnet34) X(resnet101_v1) X(resnet152_v1)                                                  \
  X(resnet18_v2) X(resnet34_v2) X(resnet50_v2) X(resnet101_v2) X(resnet152_v2)                 \
  X(mobilenet_075) X(mobilenet_050) X(mobilenet_025)                                           \
  X(mobilenet_v2_075) X(mobilenet_v2_050) X(mobilenet_v2_025)                                  \
  X(vgg16) X(densenet121) X(squeezenet1_0) X(squeezenet1_1) X(inception_v3)                    \
  X(efficientnet_b0) X(efficientnet_b1) X(efficientnet_b2) X(efficientnet_b3)                  \
  X(efficientnet_b4) X(efficientnet_b5) X(efficientnet_b6) X(efficientnet_b7)                  \
  X(convnext_tiny) X(convnext_small) X(convnext_base) X(convnext_large)                        \
  X(swin_t) X(swin_s) X(swin_b)                                                                \
  X(yolov8n) X(yolov8s) X(yolov8m) X(yolov8l) X(yolov8x)                                       \
  X(vit_base) X(vit_large) X(vit_huge)                                                         \
  X(bert_base) X(bert_large) X(distilbert) X(roberta_base) X(roberta_large)                    \
  X(gpt2_small) X(t5_small) X(llama_small)
// clang-format on

#define DECLARE(id) extern const seer_model_desc seer_model_##id;
MODELS(DECLARE)
#undef DECLARE

const seer_model_desc *const seer_model_table[] = {
#define ENTRY(id) &seer_model_##id,
    MODELS(ENTRY)
#undef ENTRY
};
const size_t seer_model_table_count = SEER_COUNT_OF(seer_model_table);

// Names that FamilySeer's and other zoos' users know.
static const struct {
  const char *name, *is;
} aliases[] = {
    {"mobilenetv2", "mobilenet_v2"},
    {"mobilenetv2_1.0", "mobilenet_v2"},
    {"mobilenetv2_0.75", "mobilenet_v2_0.75"},
    {"mobilenetv2_0.5", "mobilenet_v2_0.5"},
    {"mobilenetv2_0.25", "mobilenet_v2_0.25"},
    {"mobilenet_1.0", "mobilenet"},
    {"mobilenet_v1", "mobilenet"},
    {"resnet18_v1", "resnet18"},
    {"resnet34_v1", "resnet34"},
    {"resnet50", "resnet50_v1"},
    {"resnet101", "resnet101_v1"},
    {"resnet152", "resnet152_v1"},
    {"gpt2", "gpt2_small"},
    {"squeezenet", "squeezenet1_0"},
    {"squeezenet1.0", "squeezenet1_0"},
    {"squeezenet1.1", "squeezenet1_1"},
    {"squeezenet_v1.0", "squeezenet1_0"},
    {"squeezenet_v1.1", "squeezenet1_1"},
    {"inceptionv3", "inception_v3"},
    {"inception", "inception_v3"},
    {"efficientnet", "efficientnet_b0"},
    {"efficientnetb0", "efficientnet_b0"},
    {"convnext", "convnext_tiny"},
    {"swin_tiny", "swin_t"},
    {"swin_small", "swin_s"},
    {"swin_base", "swin_b"},
    {"swin_transformer_small", "swin_s"},
    {"swin_transformer_base", "swin_b"},
    {"yolov8", "yolov8n"},
};

const seer_model_desc *seer_model_find(const char *name) {
  for (size_t i = 0; i < SEER_COUNT_OF(aliases); i++)
    if (strcmp(aliases[i].name, name) == 0) name = aliases[i].is;
  for (size_t i = 0; i < seer_model_table_count; i++) {
    if (strcmp(seer_model_table[i]->name, name) == 0) return seer_model_table[i];
  }
  return NULL;
}

typedef struct {
  const char *name;
  int64_t low, high, value;
  bool is_set;
} known_option;

enum { BATCH, SIZE, SEQUENCE, CLASSES, SEED, N_OPTION };

// "input:4x3x192x192" or "input_ids:4x384" as --input-shapes has it: batch, and size or sequence.
static seer_status read_input_shape(
    const seer_model_desc *model, const char **text, seer_arena *arena, known_option *known) {
  size_t n = strcspn(*text, ",;");
  const char *item = seer_arena_strndup(arena, *text, n);
  *text += n + ((*text)[n] != 0);
  bool is_image = model->defaults.size > 0, is_text = model->defaults.sequence > 0;
  seer_named_shape *shape = NULL;
  uint32_t n_shape = 0;
  seer_status status = seer_shapes_parse(item, arena, &shape, &n_shape);
  bool fits = !status && n_shape == 1;
  seer_status_free(status);
  int64_t dim[4] = {0};
  if (fits) memcpy(dim, shape->dim, sizeof dim);
  fits = fits && shape->rank == (is_image ? 4 : 2) && dim[0] >= known[BATCH].low &&
      dim[0] <= known[BATCH].high;
  const known_option *second = &known[is_image ? SIZE : SEQUENCE];
  int64_t extent = dim[is_image ? 2 : 1];
  if (is_image) fits = fits && dim[1] == 3 && dim[2] == dim[3];
  if (is_image || is_text)
    fits = fits && extent >= second->low && extent <= second->high;
  else
    fits = fits && dim[1] == 784;
  fits = fits && (strcmp(shape->name, "input_ids") == 0) == is_text;
  if (!fits) {
    return SEER_FAIL(INVALID, "model %s: shape '%s', must be %s", model->name, item,
        is_image ? seer_arena_printf(
                       arena, "input:Nx3xSIZExSIZE with SIZE in [%" PRId64 ", 4096]", second->low)
            : is_text ? "input_ids:NxSEQUENCE with SEQUENCE in [1, 65536]"
                      : "input:Nx784");
  }
  if (known[BATCH].is_set)
    return SEER_FAIL(INVALID, "model %s: the input's shape is given twice", model->name);
  known[BATCH].value = dim[0];
  known[BATCH].is_set = true;
  if (is_image || is_text) {
    known[is_image ? SIZE : SEQUENCE].value = extent;
    known[is_image ? SIZE : SEQUENCE].is_set = true;
  }
  return SEER_OK;
}

static bool has_option(const known_option *known, size_t k) {
  return k == BATCH || k == SEED || known[k].value > 0;
}

static const char *options_text(const known_option *known, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  for (size_t k = 0; k < N_OPTION; k++)
    if (has_option(known, k))
      seer_text_printf(&text, "%s%s=N", text.n_bytes ? ", " : "", known[k].name);
  return text.data;
}

static seer_status read_options(
    const seer_model_desc *model, const char *text, seer_arena *arena, seer_model_options *out) {
  known_option known[N_OPTION] = {
      {"batch", 1, 1024, model->defaults.batch, false},
      {"size", model->min_size ? model->min_size : 32, 4096, model->defaults.size, false},
      {"sequence", 1, 65536, model->defaults.sequence, false},
      {"classes", 1, 1000000, model->defaults.classes, false},
      {"seed", 0, INT64_MAX, (int64_t)model->defaults.seed, false},
  };
  while (text && *text) {
    if (strncmp(text, "input:", 6) == 0 || strncmp(text, "input_ids:", 10) == 0) {
      SEER_TRY(read_input_shape(model, &text, arena, known));
      continue;
    }
    size_t n = strcspn(text, ","), n_name = strcspn(text, "=");
    const char *item = seer_arena_strndup(arena, text, n);
    text += n + (text[n] == ',');
    size_t k = 0;
    while (k < N_OPTION &&
        !(strlen(known[k].name) == n_name && strncmp(item, known[k].name, n_name) == 0))
      k++;
    if (k == N_OPTION || n_name >= n || !has_option(known, k)) {
      return SEER_FAIL(INVALID, "model %s: option '%s', must be one of %s", model->name, item,
          options_text(known, arena));
    }
    if (known[k].is_set)
      return SEER_FAIL(INVALID, "model %s: option '%s' given twice", model->name, known[k].name);
    char *end = NULL;
    long long value = strtoll(item + n_name + 1, &end, 10);
    if (end == item + n_name + 1 || *end || value < known[k].low || value > known[k].high) {
      return SEER_FAIL(INVALID,
          "model %s: option '%s', must be an integer in [%" PRId64 ", %" PRId64 "]", model->name,
          item, known[k].low, known[k].high);
    }
    known[k].value = value;
    known[k].is_set = true;
  }
  int64_t multiple = model->size_multiple;
  if (multiple && known[SIZE].value % multiple)
    return SEER_FAIL(INVALID, "model %s: size %" PRId64 ", must be a multiple of %" PRId64,
        model->name, known[SIZE].value, multiple);
  *out = (seer_model_options){.batch = known[BATCH].value,
      .size = known[SIZE].value,
      .sequence = known[SEQUENCE].value,
      .classes = known[CLASSES].value,
      .seed = (uint64_t)known[SEED].value};
  return SEER_OK;
}

static seer_status build(const char *name, const char *options, bool is_outline,
    const seer_graph *like, seer_arena *arena, seer_graph **out_graph) {
  seer_model_options chosen;
  *out_graph = NULL;
  const seer_model_desc *model = seer_model_find(name);
  if (!model) {
    seer_near near = seer_near_to(name);
    for (size_t i = 0; i < seer_model_table_count; i++)
      seer_near_offer(&near, seer_model_table[i]->name);
    return SEER_FAIL(NOT_FOUND,
        "'%s' is neither a file nor a built-in network%s%s%s (`familyseer models` lists those)",
        name, near.best ? ", did you mean '" : "", near.best ? near.best : "",
        near.best ? "'?" : "");
  }
  SEER_TRY(read_options(model, options, arena, &chosen));
  chosen.is_outline = is_outline;
  chosen.like = like;
  return model->build(model, &chosen, arena, out_graph);
}

seer_status seer_model_build(const char *name, const char *options, const seer_graph *like,
    seer_arena *arena, seer_graph **out_graph) {
  return build(name, options, false, like, arena, out_graph);
}

seer_status seer_model_outline(
    const char *name, const char *options, seer_arena *arena, seer_graph **out_graph) {
  return build(name, options, true, NULL, arena, out_graph);
}
