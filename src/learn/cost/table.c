// table.c - the list of cost models, and those that learn nothing: the random one (the control
// in every comparison) and the estimate itself.

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/near.h"
#include "learn/cost.h"
#include "learn/cost/xgboost.h"

struct seer_cost_model {
  uint64_t seed;
  size_t n_column;
};

static seer_status random_create(const seer_cost_options *options, seer_cost_model **out_model) {
  *out_model = malloc(sizeof(**out_model));
  if (!*out_model) return SEER_FAIL(RESOURCE, "no memory for a cost model");
  **out_model = (struct seer_cost_model){options->seed, options->n_column};
  return SEER_OK;
}

static void random_destroy(seer_cost_model *model) { free(model); }

static seer_status random_fit(
    seer_cost_model *model, const seer_cost_data *train, const seer_cost_data *held_out) {
  (void)model, (void)train, (void)held_out;
  return SEER_OK;
}

// A number in (0, 1) per row that depends on the row and the seed alone: equal candidates score
// equally.
static seer_status random_predict(
    seer_cost_model *model, const float *rows, size_t n_row, float *out) {
  for (size_t i = 0; i < n_row; i++) {
    uint64_t hash =
        seer_hash_bytes(rows + i * model->n_column, model->n_column * sizeof(float), model->seed);
    out[i] += (float)(hash >> 40) * 0x1p-24F;
  }
  return SEER_OK;
}

static seer_status random_save(
    const seer_cost_model *model, seer_arena *arena, const void **out_bytes, size_t *out_n_bytes) {
  *out_bytes = seer_arena_memdup(arena, &model->seed, sizeof model->seed);
  *out_n_bytes = sizeof model->seed;
  return SEER_OK;
}

static seer_status random_load(seer_cost_model *model, const void *bytes, size_t n_bytes) {
  if (n_bytes != sizeof model->seed) {
    return SEER_FAIL(
        CORRUPT, "a random model has %zu bytes, must have %zu", n_bytes, sizeof model->seed);
  }
  memcpy(&model->seed, bytes, n_bytes);
  return SEER_OK;
}

static const seer_cost_desc cost_random = {.name = "random",
    .doc = "uniform random scores: the control",
    .create = random_create,
    .destroy = random_destroy,
    .fit = random_fit,
    .predict = random_predict,
    .save = random_save,
    .load = random_load};

static const seer_cost_desc cost_analytic = {
    .name = "analytic", .doc = "the analytic estimate alone: learns nothing", .is_estimate = true};

// To add a model: its file, its line. Which one is used a policy says (tune/scheduler.h).
const seer_cost_desc *const seer_cost_table[] = {
    &seer_cost_xgboost_rank, &seer_cost_xgboost, &cost_analytic, &cost_random};
const size_t seer_cost_table_count = SEER_COUNT_OF(seer_cost_table);

seer_status seer_cost_find(const char *name, const seer_cost_desc **out_desc) {
  for (size_t i = 0; i < seer_cost_table_count; i++) {
    if (strcmp(seer_cost_table[i]->name, name) == 0) {
      *out_desc = seer_cost_table[i];
      return SEER_OK;
    }
  }
  char known[256] = "";
  for (size_t i = 0; i < seer_cost_table_count; i++)
    seer_words_add(known, sizeof known, seer_cost_table[i]->name);
  return SEER_FAIL(INVALID, "unknown cost model '%s'; allowed: %s", name, known);
}

seer_status seer_cost_probe(const seer_cost_desc *desc, seer_learn_device device) {
  if (device == SEER_LEARN_CPU) return SEER_OK;
  if (!desc->probe)
    return SEER_FAIL(INVALID, "cost model %s learns nothing that a device could fit", desc->name);
  return desc->probe(device);
}
