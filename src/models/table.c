// table.c - the list of built-in networks, and building one by name. The first is what `make demo`
// tunes.
#include <stdlib.h>
#include <string.h>

#include "models/models.h"

#define MODELS(X) X(mobilenet_v2) X(mobilenet) X(resnet18) X(resnet50_v1) X(mlp)

#define DECLARE(id) extern const seer_model_desc seer_model_##id;
MODELS(DECLARE)
#undef DECLARE

const seer_model_desc *const seer_model_table[] = {
#define ENTRY(id) &seer_model_##id,
    MODELS(ENTRY)
#undef ENTRY
};
const size_t seer_model_table_count = SEER_COUNT_OF(seer_model_table);

const seer_model_desc *seer_model_find(const char *name) {
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

// "input:4x3x192x192" as --input-shapes has it: batch and size.
static seer_status read_input_shape(
    const seer_model_desc *model, const char **text, seer_arena *arena, known_option *known) {
  size_t n = strcspn(*text, ",;");
  const char *item = seer_arena_strndup(arena, *text, n), *at = item + strlen("input:");
  *text += n + ((*text)[n] != 0);
  int64_t dim[4] = {0}, rank = 0, want = model->defaults.size ? 4 : 2;
  while (*at && rank < 4) {
    char *end = NULL;
    long long value = strtoll(at, &end, 10);
    if (end == at || (*end && *end != 'x')) break;
    dim[rank++] = value;
    at = end + (*end == 'x');
  }
  bool fits = *at == 0 && rank == want && dim[0] >= known[0].low && dim[0] <= known[0].high;
  if (want == 4)
    fits = fits && dim[1] == 3 && dim[2] == dim[3] && dim[2] >= known[1].low &&
        dim[2] <= known[1].high;
  else
    fits = fits && dim[1] == 784;
  if (!fits) {
    return SEER_FAIL(INVALID, "model %s: shape '%s', must be input:%s", model->name, item,
        want == 4 ? "Nx3xSIZExSIZE with SIZE in [32, 4096]" : "Nx784");
  }
  if (known[0].is_set)
    return SEER_FAIL(INVALID, "model %s: the input's shape is given twice", model->name);
  known[0].value = dim[0];
  known[0].is_set = true;
  if (want == 4) {
    known[1].value = dim[2];
    known[1].is_set = true;
  }
  return SEER_OK;
}

static seer_status read_options(
    const seer_model_desc *model, const char *text, seer_arena *arena, seer_model_options *out) {
  known_option known[4] = {
      {"batch", 1, 1024, model->defaults.batch, false},
      {"size", 32, 4096, model->defaults.size, model->defaults.size == 0},
      {"classes", 1, 1000000, model->defaults.classes, false},
      {"seed", 0, INT64_MAX, (int64_t)model->defaults.seed, false},
  };
  while (text && *text) {
    if (strncmp(text, "input:", 6) == 0) {
      SEER_TRY(read_input_shape(model, &text, arena, known));
      continue;
    }
    size_t n = strcspn(text, ","), n_name = strcspn(text, "=");
    const char *item = seer_arena_strndup(arena, text, n);
    text += n + (text[n] == ',');
    size_t k = 0;
    while (k < 4 && !(strlen(known[k].name) == n_name && strncmp(item, known[k].name, n_name) == 0))
      k++;
    if (k == 4 || n_name >= n || (k == 1 && model->defaults.size == 0)) {
      return SEER_FAIL(INVALID,
          "model %s: option '%s', must be one of batch=N, %sclasses=N, seed=N", model->name, item,
          model->defaults.size ? "size=N, " : "");
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
  *out = (seer_model_options){
      known[0].value, known[1].value, known[2].value, (uint64_t)known[3].value};
  return SEER_OK;
}

seer_status seer_model_build(
    const char *name, const char *options, seer_arena *arena, seer_graph **out_graph) {
  seer_model_options chosen;
  *out_graph = NULL;
  const seer_model_desc *model = seer_model_find(name);
  if (!model) {
    seer_text text;
    seer_text_init(&text, arena);
    for (size_t i = 0; i < seer_model_table_count; i++) {
      seer_text_printf(&text, "%s%s", i ? ", " : "", seer_model_table[i]->name);
    }
    return SEER_FAIL(NOT_FOUND, "'%s' is neither a file nor a built-in network; built in are %s",
        name, text.data);
  }
  SEER_TRY(read_options(model, options, arena, &chosen));
  return model->build(&chosen, arena, out_graph);
}
